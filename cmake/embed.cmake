# SPDX-License-Identifier: MIT
# Writes a C file with the kernel sources as byte arrays, and a function that finds a source by its
# stem. Comments are removed: the text is the key of the caches and of the prebuilt programs, and a
# changed comment changes no program.
# cmake -DOUTPUT=FILE -DFUNCTION=NAME -DSOURCES=a.cl;b.cl -P embed.cmake
set(text "/* Made by cmake/embed.cmake. */\n#include <string.h>\n\n")
set(rows "")
foreach(source IN LISTS SOURCES)
  get_filename_component(stem "${source}" NAME_WE)
  file(READ "${source}" kernel)
  string(REGEX REPLACE "/\\*[^*]*\\*+([^/*][^*]*\\*+)*/" " " kernel "${kernel}")
  string(REGEX REPLACE "[ \t]+\n" "\n" kernel "${kernel}")
  string(REGEX REPLACE "\n\n+" "\n" kernel "${kernel}")
  string(HEX "${kernel}" hex)
  string(REGEX REPLACE "(................................)" "\\1\n" hex "${hex}")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
  string(APPEND text "static const char text_${stem}[] = {\n${bytes}0};\n")
  string(APPEND rows "    {\"${stem}\", text_${stem}},\n")
endforeach()
string(APPEND text "\nstatic const struct {\n    const char *stem, *text;\n} sources[] = {\n${rows}};\n\n"
  "const char *${FUNCTION}(const char *stem);\n\n"
  "const char *${FUNCTION}(const char *stem) {\n"
  "    for (unsigned i = 0; i < sizeof(sources) / sizeof(sources[0]); i++)\n"
  "        if (!strcmp(sources[i].stem, stem)) return sources[i].text;\n"
  "    return 0;\n}\n")
file(WRITE "${OUTPUT}" "${text}")
