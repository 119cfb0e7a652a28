# SPDX-License-Identifier: MIT
# Runs races.c under oclgrind. Fails if races.c does, or if anything but races.c prints. Without
# oclgrind it is skipped, unless TALLY_TEST_REQUIRE names it.
if(NOT OCLGRIND)
  if("$ENV{TALLY_TEST_REQUIRE}" MATCHES "oclgrind")
    message(FATAL_ERROR "TALLY_TEST_REQUIRE=$ENV{TALLY_TEST_REQUIRE}: oclgrind is not installed (Debian: oclgrind)")
  endif()
  message("skipped: no oclgrind")
  return()
endif()
# oclgrind is the OpenCL library of its child, so no loader is asked for platforms. The backend
# turns the compiler's optimisation off there, so the kernels are watched as they are written.
set(ENV{TALLY_CACHE_DIR} off)

# watch(ARGUMENT...) runs races.c under oclgrind.
function(watch)
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
  # All other output is a report. The trial build for NVIDIA's assembly fails there, and oclgrind's
  # compiler counts its errors.
  string(REGEX REPLACE "(^|\n)(device|running|skipped|races): [^\n]*" "" rest "${output}")
  string(REGEX REPLACE "(^|\n)[0-9]+ errors? generated\\." "" complaints "${errors}")
  string(APPEND rest "${complaints}")
  string(STRIP "${rest}" rest)
  if(NOT rest STREQUAL "")
    message(FATAL_ERROR "oclgrind reports:\n${rest}")
  endif()
endfunction()

# oclgrind calls itself a GPU. Variants for CPUs are skipped, and look_back, which needs NVIDIA's
# assembly.
watch()
# Variants with one thread a group. cpu_scan is skipped, as it needs atomics that oclgrind does not
# have. The tests scan-threads watch it (scan_threads.c).
watch(as-cpu)
