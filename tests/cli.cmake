# SPDX-License-Identifier: MIT
# The tests of the program and of its parser.
tally_test_program(test_npy test_npy.c ${PROJECT_SOURCE_DIR}/tools/npy.c)
target_include_directories(test_npy PRIVATE ${PROJECT_SOURCE_DIR}/tools)
add_test(NAME npy COMMAND test_npy)
tally_test_program(test_fortran test_fortran.c ${PROJECT_SOURCE_DIR}/tools/fortran.c)
target_include_directories(test_fortran PRIVATE ${PROJECT_SOURCE_DIR}/tools)
add_test(NAME fortran COMMAND test_fortran)
set_tests_properties(npy fortran PROPERTIES LABELS unit)

if(TARGET tally_cli)
  find_package(PkgConfig REQUIRED)
  pkg_check_modules(JSON_C REQUIRED IMPORTED_TARGET json-c)
  tally_test_program(test_cli test_cli.c test_cli_bad.c test_cli_bad_ops.c test_cli_bench.c test_cli_devices.c test_cli_good.c test_cli_lines.c test_cli_move.c test_cli_ops.c
                     test_cli_order.c test_cli_pairs.c test_cli_primitives.c test_cli_run.c test_cli_scan.c test_cli_study.c test_cli_tune.c test_cli_terminal.c test_cli_words.c folders.c)
  target_compile_definitions(test_cli PRIVATE _GNU_SOURCE TALLY_PROGRAM="$<TARGET_FILE:tally_cli>" NILE="${PROJECT_SOURCE_DIR}/examples/nile.npy")
  add_dependencies(test_cli tally_cli)
  target_link_libraries(test_cli PRIVATE PkgConfig::JSON_C)
  # The study, on the stub: the program's own objects.
  tally_test_program(test_study test_study.c stub_backend.c stub_move.c stub_launch.c stub_module.c stub_scan.c folders.c
                     $<FILTER:$<TARGET_OBJECTS:tally_cli>,EXCLUDE,main\\.c>)
  target_include_directories(test_study PRIVATE ${PROJECT_SOURCE_DIR}/tools)
  target_compile_definitions(test_study PRIVATE STUB_COMPILER="${CMAKE_C_COMPILER}" STUB_FOLDER="${CMAKE_CURRENT_SOURCE_DIR}")
  target_link_libraries(test_study PRIVATE PkgConfig::JSON_C ${CMAKE_DL_LIBS})
  add_test(NAME study COMMAND test_study)
  set_tests_properties(study PROPERTIES LABELS unit TIMEOUT 300)
  add_test(NAME cli COMMAND test_cli)
  set(caches ${CMAKE_CURRENT_BINARY_DIR}/caches/cli)
  file(MAKE_DIRECTORY ${TALLY_TEST_CACHES}/cli/pocl)
  set_tests_properties(cli PROPERTIES LABELS cli TIMEOUT 1800
                                      ENVIRONMENT "TALLY_CACHE_DIR=${caches}/tally;POCL_CACHE_DIR=${TALLY_TEST_CACHES}/cli/pocl")
endif()
