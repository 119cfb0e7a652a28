# SPDX-License-Identifier: MIT
# Every C file and header must be as clang-format 14 writes it, by the .clang-format in the root.
# Other versions write differently, so the test is skipped without version 14. Variables:
# CLANG_FORMAT, SOURCE.
if(NOT CLANG_FORMAT)
  message(STATUS "skipped: there is no clang-format")
  return()
endif()
execute_process(COMMAND ${CLANG_FORMAT} --version OUTPUT_VARIABLE version OUTPUT_STRIP_TRAILING_WHITESPACE)
if(NOT version MATCHES "version 14\\.")
  message(STATUS "skipped: version 14 is needed; this is: ${version}")
  return()
endif()

# The files that git follows or would follow; without git, all files.
execute_process(COMMAND git -C ${SOURCE} ls-files --cached --others --exclude-standard -- *.c *.h
                RESULT_VARIABLE status OUTPUT_VARIABLE listing ERROR_QUIET)
if(status EQUAL 0)
  string(REGEX MATCHALL "[^\n]+" files "${listing}")
else()
  foreach(folder IN ITEMS backends bench ci examples include oracle src tests tools)
    file(GLOB_RECURSE found RELATIVE ${SOURCE} ${SOURCE}/${folder}/*.c ${SOURCE}/${folder}/*.h)
    list(APPEND files ${found})
  endforeach()
endif()
list(LENGTH files count)
if(count LESS 20)
  message(FATAL_ERROR "only ${count} C files were found in ${SOURCE}")
endif()

list(TRANSFORM files PREPEND ${SOURCE}/)
set(here "")
foreach(file IN LISTS files)
  if(EXISTS ${file}) # git still lists a file that was just deleted
    list(APPEND here ${file})
  endif()
endforeach()
execute_process(COMMAND ${CLANG_FORMAT} --dry-run --Werror ${here} RESULT_VARIABLE status ERROR_VARIABLE output)
if(NOT status EQUAL 0)
  string(REGEX MATCHALL "[^\n:]+:[0-9]+:[0-9]+: error" wrong "${output}")
  list(TRANSFORM wrong REPLACE ":.*" "")
  list(REMOVE_DUPLICATES wrong)
  list(JOIN wrong " " wrong)
  message(FATAL_ERROR "not as clang-format writes them (clang-format -i mends it): ${wrong}")
endif()
message(STATUS "${count} files")
