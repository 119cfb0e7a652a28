# SPDX-License-Identifier: MIT
# TALLY_CUDA_ARCHS of a wrong form stops CMake, which names the wrong entry. The script runs itself
# with ARCHS set. Variables: SOURCE.
cmake_policy(VERSION 3.25)
if(DEFINED ARCHS)
  include(${SOURCE}/cmake/archs.cmake)
  tally_check_archs("${ARCHS}")
  return()
endif()

function(expect archs text)
  execute_process(COMMAND ${CMAKE_COMMAND} -DSOURCE=${SOURCE} "-DARCHS=${archs}" -P ${CMAKE_CURRENT_LIST_FILE}
                  RESULT_VARIABLE status ERROR_VARIABLE errors)
  string(REGEX REPLACE "[ \n]+" " " errors "${errors}")
  string(FIND "${errors}" "${text}" at)
  if(text STREQUAL "" AND NOT status EQUAL 0 OR NOT text STREQUAL "" AND (status EQUAL 0 OR at EQUAL -1))
    message(FATAL_ERROR "'${archs}': status ${status}, not the error '${text}': ${errors}")
  endif()
endfunction()
expect("" "")
expect("90" "")
expect("75;80;90;100;120" "")
expect("foo" "TALLY_CUDA_ARCHS=foo: 'foo' is no architecture. 90 is sm_90")
foreach(wrong IN ITEMS sm_90 90a 9.0 90-real 80,90 "80 90" 9)
  expect("75;${wrong}" "'${wrong}' is no architecture")
endforeach()
