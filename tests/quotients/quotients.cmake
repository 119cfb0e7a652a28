# SPDX-License-Identifier: MIT
# Quotients and roots of f32 by OpenCL on devices that do not round them: behind a layer that hides
# that they do.
find_path(TALLY_CL_LAYER CL/cl_layer.h HINTS ${OpenCL_INCLUDE_DIRS})
mark_as_advanced(TALLY_CL_LAYER)
if(TALLY_CL_LAYER AND TALLY_WITH_OPENCL AND NOT TALLY_SANITIZE)
  add_library(tally_test_layer MODULE quotients/layer.c)
  set_target_properties(tally_test_layer PROPERTIES C_VISIBILITY_PRESET default)
  target_include_directories(tally_test_layer SYSTEM PRIVATE ${TALLY_CL_LAYER})
  add_test(NAME quotients COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/quotients/run.sh $<TARGET_FILE:conformance>
                                  $<TARGET_FILE:tally_test_layer>)
  set_tests_properties(quotients PROPERTIES LABELS conformance TIMEOUT 900 SKIP_RETURN_CODE 77
                       ENVIRONMENT "TALLY_CACHE_DIR=off;POCL_CACHE_DIR=${TALLY_TEST_CACHES}/quotients")
endif()
