# SPDX-License-Identifier: MIT
# Every C file and header is as clang-format 14 writes it, by the .clang-format in the root. Other versions write differently, so without
# version 14 the test is skipped. Variables: CLANG_FORMAT, SOURCE.
if(NOT CLANG_FORMAT)
  message(STATUS "skipped: there is no clang-format")
  return()
endif()
execute_process(COMMAND ${CLANG_FORMAT} --version OUTPUT_VARIABLE version OUTPUT_STRIP_TRAILING_WHITESPACE)
if(NOT version MATCHES "version 14\\.")
  message(STATUS "skipped: version 14 is needed; this is: ${version}")
  return()
endif()

# What git follows or would; without git, what is there.
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

set(wrong "")
foreach(file IN LISTS files)
  if(EXISTS ${SOURCE}/${file}) # git still lists a file that was just deleted
    execute_process(COMMAND ${CLANG_FORMAT} --dry-run --Werror ${SOURCE}/${file} RESULT_VARIABLE status OUTPUT_QUIET ERROR_QUIET)
    if(NOT status EQUAL 0)
      list(APPEND wrong ${file})
    endif()
  endif()
endforeach()
if(wrong)
  list(JOIN wrong " " wrong)
  message(FATAL_ERROR "not as clang-format writes them (clang-format -i mends it): ${wrong}")
endif()
message(STATUS "${count} files")
