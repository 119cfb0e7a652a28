# SPDX-License-Identifier: MIT
# Checks the arguments of each of PROGRAMS, as test_main.h describes them, those of COUNTERS, which
# take numbers instead, and the output of a run of SAMPLE.

# expect(STATUS TEXT PROGRAM ARGUMENT...) compares the program's status, and looks for TEXT in its
# output.
function(expect status text)
  execute_process(COMMAND ${ARGN} OUTPUT_VARIABLE output ERROR_VARIABLE errors RESULT_VARIABLE result TIMEOUT 60)
  string(FIND "${output}${errors}" "${text}" at)
  if(NOT result STREQUAL status OR at EQUAL -1)
    message(FATAL_ERROR "${ARGN}: status ${result}, not ${status}, or no '${text}' in:\n${output}${errors}")
  endif()
endfunction()

foreach(program IN LISTS PROGRAMS)
  get_filename_component(name ${program} NAME)
  expect(0 "usage: ${name}" ${program} --help)
  expect(2 "there is no option '--frob'" ${program} --frob)
  expect(2 "a second pattern, 'b'" ${program} a b)
  # Status 77: the compiler that the program needs is not here.
  execute_process(COMMAND ${program} --list OUTPUT_VARIABLE listed RESULT_VARIABLE result)
  if(result EQUAL 77)
    continue()
  endif()
  if(NOT result EQUAL 0 OR listed STREQUAL "")
    message(FATAL_ERROR "${name} --list: status ${result}: ${listed}")
  endif()
  expect(2 "no test is called 'nothing is called so'" ${program} "nothing is called so")
endforeach()

foreach(program IN LISTS COUNTERS)
  get_filename_component(name ${program} NAME)
  expect(0 "usage: ${name} [" ${program} --help)
  foreach(wrong IN ITEMS nothing 1e6 -1 99999999999999999999)
    expect(2 "usage: ${name} [" ${program} ${wrong})
  endforeach()
  expect(2 "usage: ${name} [" ${program} 1 2 3)
endforeach()

expect(0 "1 test(s) run" ${SAMPLE} good)
expect(0 "1 test(s) run" ${SAMPLE} "*_go?d")
expect(2 "no test is called 'go?d'" ${SAMPLE} "go?d")
expect(1 "test_bad" ${SAMPLE} bad)
expect(1 "3 test(s) run" ${SAMPLE})
expect(0 "[  SKIPPED ] test_absent: there is no unicorn" ${SAMPLE} absent)
