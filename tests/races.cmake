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
# oclgrind is the OpenCL library for its child: no loader is asked for platforms. The backend turns the compiler's
# optimisation off there, so the kernels are watched as they are written.
set(ENV{TALLY_CACHE_DIR} off)

# watch(RAN SKIPPED ARGUMENT...): under oclgrind, with so many plans at least and at most.
function(watch least most)
  execute_process(
    COMMAND ${OCLGRIND} --data-races --uninitialized --max-errors 50 ${RACES} opencl:oclgrind
            ${ARGN}
    OUTPUT_VARIABLE output ERROR_VARIABLE errors RESULT_VARIABLE status)
  message("${output}${errors}")
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "races ${ARGN} failed: ${status}")
  endif()
  if(NOT output MATCHES "\nraces: ([0-9]+) ran, ([0-9]+) not for this device, of ([0-9]+)\n$")
    message(FATAL_ERROR "races ${ARGN} did not end as it should")
  endif()
  if(CMAKE_MATCH_1 LESS least OR CMAKE_MATCH_2 GREATER most)
    message(FATAL_ERROR "races ${ARGN}: ${least} should run, and ${most} be skipped")
  endif()
  # Whatever else is printed is a report. The trial build for NVIDIA's assembly fails there, and oclgrind's compiler counts its errors.
  string(REGEX REPLACE "(^|\n)(device|running|skipped|races): [^\n]*" "" rest "${output}")
  string(REGEX REPLACE "(^|\n)[0-9]+ errors? generated\\." "" complaints "${errors}")
  string(APPEND rest "${complaints}")
  string(STRIP "${rest}" rest)
  if(NOT rest STREQUAL "")
    message(FATAL_ERROR "oclgrind reports:\n${rest}")
  endif()
endfunction()

# oclgrind says that it is a GPU: 15 variants, with 8 ops and dtypes each, but for argmin in the 12 that end in atomics; 6 of gather and scatter; 2
# variants of scans in 5 forms. Skipped are, with those 12, cpu_chunks and cpu_scan, and look_back, which needs NVIDIA's assembly.
watch(124 30)
# cpu_chunks with 8, gather and scatter with one item to a group. Skipped is cpu_scan in 5 forms, which needs atomics that oclgrind has not: the tests
# scan-threads watch it (scan_threads.c).
watch(14 5 as-cpu)
