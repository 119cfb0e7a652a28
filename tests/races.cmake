# SPDX-License-Identifier: MIT
# Runs races.c under oclgrind; fails unless every variant ran and nothing was printed but what races.c prints. Without oclgrind:
# skipped, unless TALLY_TEST_REQUIRE names it.
if(NOT OCLGRIND)
  if("$ENV{TALLY_TEST_REQUIRE}" MATCHES "oclgrind")
    message(FATAL_ERROR "TALLY_TEST_REQUIRE=$ENV{TALLY_TEST_REQUIRE}: oclgrind is not installed (Debian: oclgrind)")
  endif()
  message("skipped: no oclgrind")
  return()
endif()
# Without the compiler's optimisation: oclgrind 21.10 has no constants of 128 bits, into which LLVM merges vectors; and the kernels
# are watched as they are written. oclgrind is the OpenCL library for its child: no loader is asked for platforms.
set(ENV{TALLY_CACHE_DIR} off)
execute_process(
  COMMAND ${OCLGRIND} --build-options -cl-opt-disable --data-races --uninitialized --max-errors 50 ${RACES} opencl:oclgrind
  OUTPUT_VARIABLE output ERROR_VARIABLE errors RESULT_VARIABLE status)
message("${output}${errors}")
if(NOT status EQUAL 0)
  message(FATAL_ERROR "races failed: ${status}")
endif()
if(NOT output MATCHES "\nraces: ([0-9]+) ran, ([0-9]+) not for this device, of ([0-9]+)\n$")
  message(FATAL_ERROR "races did not end as it should")
endif()
if(CMAKE_MATCH_1 LESS 114 OR CMAKE_MATCH_2 GREATER 20)
  message(FATAL_ERROR "too few ran: 15 variants, with 8 ops and dtypes each, but for argmin in the 12 that end in atomics; cpu_chunks is "
                      "not for GPUs, which oclgrind is; and 6 of gather and scatter")
endif()
# Whatever else is printed is a report. The trial build for NVIDIA's assembly fails there, and oclgrind's compiler counts its errors.
string(REGEX REPLACE "(^|\n)(device|running|skipped|races): [^\n]*" "" rest "${output}")
string(REGEX REPLACE "(^|\n)[0-9]+ errors? generated\\." "" complaints "${errors}")
string(APPEND rest "${complaints}")
string(STRIP "${rest}" rest)
if(NOT rest STREQUAL "")
  message(FATAL_ERROR "oclgrind reports:\n${rest}")
endif()
