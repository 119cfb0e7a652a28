# SPDX-License-Identifier: MIT
# Each line of the tables in docs/semantics.md has a name. Each name has a test, and each test's
# name has a line. A test is a row of semantics_lines.h, or a comment that begins with "line: NAME,
# NAME" in semantics.c, scan.c, scan_use.c or scan_axis.c. Variables: SOURCE.
file(READ ${SOURCE}/docs/semantics.md document)
file(READ ${SOURCE}/tests/conformance/semantics_lines.h rows)
set(code)
foreach(name IN ITEMS semantics scan scan_use scan_axis)
  file(READ ${SOURCE}/tests/conformance/${name}.c part)
  string(APPEND code "${part}")
endforeach()

string(REGEX MATCHALL "\n\\| `[a-z0-9]+-[a-z0-9-]+` \\|" written "${document}")
string(REGEX REPLACE "\n\\| `([a-z0-9-]+)` \\|" "\\1" written "${written}")
string(REGEX MATCHALL "LINE\\(\"[a-z0-9-]+\"" tested "${rows}")
string(REGEX REPLACE "LINE\\(\"([a-z0-9-]+)\"" "\\1" tested "${tested}")
string(REGEX MATCHALL "/\\* line: [^.*]+" comments "${code}")
string(REGEX MATCHALL "[a-z0-9]+-[a-z0-9-]+" named "${comments}")
list(APPEND tested ${named})
list(REMOVE_DUPLICATES tested)

list(LENGTH written count)
if(count LESS 50)
  message(FATAL_ERROR "only ${count} lines were found in docs/semantics.md")
endif()
set(untested ${written})
list(REMOVE_ITEM untested ${tested})
set(unwritten ${tested})
list(REMOVE_ITEM unwritten ${written})
if(untested OR unwritten)
  message(FATAL_ERROR "lines of docs/semantics.md without a test: ${untested}; tests without a line: ${unwritten}")
endif()
message(STATUS "${count} lines, each with a test")
