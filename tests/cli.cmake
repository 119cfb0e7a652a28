# SPDX-License-Identifier: MIT
# The tests of the program and of its parser.
tally_test_program(test_npy test_npy.c ${PROJECT_SOURCE_DIR}/tools/npy.c)
target_include_directories(test_npy PRIVATE ${PROJECT_SOURCE_DIR}/tools)
add_test(NAME npy COMMAND test_npy)
set_tests_properties(npy PROPERTIES LABELS unit)

if(TARGET tally_cli)
  find_package(PkgConfig REQUIRED)
  pkg_check_modules(JSON_C REQUIRED IMPORTED_TARGET json-c)
  tally_test_program(test_cli test_cli.c test_cli_bad.c test_cli_bad_ops.c test_cli_bench.c test_cli_devices.c test_cli_good.c test_cli_lines.c test_cli_move.c test_cli_ops.c
                     test_cli_pairs.c test_cli_primitives.c test_cli_run.c test_cli_scan.c test_cli_study.c test_cli_tune.c test_cli_terminal.c test_cli_words.c folders.c)
  target_compile_definitions(test_cli PRIVATE _GNU_SOURCE)
  target_link_libraries(test_cli PRIVATE PkgConfig::JSON_C)
  add_test(NAME cli COMMAND test_cli $<TARGET_FILE:tally_cli> ${PROJECT_SOURCE_DIR}/examples/nile.npy)
  set(caches ${CMAKE_CURRENT_BINARY_DIR}/caches/cli)
  file(MAKE_DIRECTORY ${TALLY_TEST_CACHES}/cli/pocl)
  set_tests_properties(cli PROPERTIES LABELS cli TIMEOUT 1800
                                      ENVIRONMENT "TALLY_CACHE_DIR=${caches}/tally;POCL_CACHE_DIR=${TALLY_TEST_CACHES}/cli/pocl")
endif()
