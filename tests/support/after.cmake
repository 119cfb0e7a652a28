# SPDX-License-Identifier: MIT
# The labels after-op and after-variant have the tests that a new row of the ops or of a table of
# variants can fail. They take under 3 minutes on 2 cores. The targets check-op and check-variant
# build and run them.
set(after_op core oracle-order oracle-values oracle-items oracle-scan docs-tables semantics format)
set(after_variant core docs-tables format)

# tally_after(LABEL NAME PROGRAM ARGUMENT...) adds a part of a program's tests. Its label `part`
# keeps it out of whole runs, which have the program.
function(tally_after label name program)
  add_test(NAME ${name} COMMAND ${program} ${ARGN})
  set_tests_properties(${name} PROPERTIES LABELS "part;${label}" TIMEOUT 900 SKIP_RETURN_CODE 77
                       ENVIRONMENT "TALLY_CACHE_DIR=${TALLY_TEST_CACHE_DIR};POCL_CACHE_DIR=${TALLY_TEST_CACHES}/default/pocl")
endfunction()

# The new operator with every type, and tests that go through all operators.
tally_after(after-op op-cells conformance --last-op)
tally_after(after-op op-semantics conformance "*semantics:*")
tally_after(after-op op-scans conformance "*scan: ops of ?32")
# Every variant with sums of two types. A name chooses the cells of the new variant
# (CONTRIBUTING.md).
tally_after(after-variant variant-cells conformance "*sum ?[36][24]")
set_property(TEST variant-cells APPEND PROPERTY ENVIRONMENT TALLY_TEST_QUICK=1)
set(op_targets test_core conformance docs_tables)
set(variant_targets test_core conformance docs_tables)
if(TARGET test_nvrtc)
  tally_after(after-op op-nvrtc test_nvrtc --last-op)
  tally_after(after-op op-nvrtc-scan test_nvrtc_scan --last-op)
  tally_after(after-variant variant-nvrtc test_nvrtc "sm_90 */* sum f32")
  list(APPEND op_targets test_nvrtc test_nvrtc_scan)
  list(APPEND variant_targets test_nvrtc)
endif()
if(TEST races)
  list(APPEND after_variant races)
  list(APPEND variant_targets races)
endif()
if(TARGET test_study)
  list(APPEND after_op study)
  list(APPEND after_variant study)
  list(APPEND op_targets test_study)
  list(APPEND variant_targets test_study)
endif()
foreach(test IN LISTS after_op)
  set_property(TEST ${test} APPEND PROPERTY LABELS after-op)
endforeach()
foreach(test IN LISTS after_variant)
  set_property(TEST ${test} APPEND PROPERTY LABELS after-variant)
endforeach()
foreach(part IN ITEMS order values items scan)
  list(APPEND op_targets test_oracle_${part})
endforeach()
foreach(row IN ITEMS op variant)
  add_custom_target(check-${row}
    COMMAND ${CMAKE_CTEST_COMMAND} --test-dir ${PROJECT_BINARY_DIR} -L after-${row} --parallel ${cores} --output-on-failure
    DEPENDS ${${row}_targets}
    USES_TERMINAL VERBATIM)
endforeach()
