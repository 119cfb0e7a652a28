# SPDX-License-Identifier: MIT
# CUDA without a GPU: the kernels compiled by NVRTC, launches, and the archive of prebuilt programs.
set(nvrtc_cells cuda/nvrtc_cells.c)
foreach(name IN ITEMS nvrtc nvrtc_fold nvrtc_move nvrtc_scan nvrtc_segments)
  tally_test_program(test_${name} cuda/${name}.c cuda/report.c ${${name}_cells})
  target_include_directories(test_${name} SYSTEM PRIVATE ${TALLY_CUDA_INCLUDE_DIR})
  string(REPLACE _ - test ${name})
  add_test(NAME ${test} COMMAND test_${name})
  # They take minutes; with TALLY_TEST_FULL=1 hours.
  set_tests_properties(${test} PROPERTIES LABELS unit TIMEOUT 14400 SKIP_RETURN_CODE 77)
endforeach()

tally_test_program(test_launches cuda/launches.c)
target_include_directories(test_launches SYSTEM PRIVATE ${TALLY_CUDA_INCLUDE_DIR})
add_test(NAME cuda-launches COMMAND test_launches)
set_tests_properties(cuda-launches PROPERTIES LABELS unit)

tally_test_program(test_prebuilt cuda/prebuilt.c ${prebuild_sources} LINK tally_test_stub)
target_include_directories(test_prebuilt SYSTEM PRIVATE ${XXHASH_INCLUDE_DIR})
target_compile_definitions(test_prebuilt PRIVATE TALLY_PREBUILD="$<TARGET_FILE:tally_prebuild>"
                           FATBINARY="$<$<BOOL:${TALLY_FATBINARY}>:${TALLY_FATBINARY}>")
add_dependencies(test_prebuilt tally_prebuild)
add_test(NAME prebuilt COMMAND test_prebuilt)
set_tests_properties(prebuilt PROPERTIES LABELS unit TIMEOUT 600 SKIP_RETURN_CODE 77)
add_test(NAME prebuilt-archs COMMAND ${CMAKE_COMMAND} -DSOURCE=${PROJECT_SOURCE_DIR} -P ${CMAKE_CURRENT_LIST_DIR}/archs.cmake)
set_tests_properties(prebuilt-archs PROPERTIES LABELS unit)
