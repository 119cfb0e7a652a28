# SPDX-License-Identifier: MIT
# The program: its readers of files, its commands, and the study on the stub. The study's test is
# linked with the program's own objects.
find_package(PkgConfig REQUIRED)
pkg_check_modules(JSON_C REQUIRED IMPORTED_TARGET json-c)

foreach(reader IN ITEMS npy fortran)
  tally_test_program(test_${reader} cli/test_${reader}.c $<FILTER:$<TARGET_OBJECTS:tally_cli>,INCLUDE,/files/${reader}\\.c>)
  add_test(NAME ${reader} COMMAND test_${reader})
  set_tests_properties(${reader} PROPERTIES LABELS unit)
endforeach()

tally_test_program(test_study cli/test_study.c $<FILTER:$<TARGET_OBJECTS:tally_cli>,EXCLUDE,/main\\.c> LINK tally_test_stub tally_print
                   PkgConfig::JSON_C)
add_test(NAME study COMMAND test_study)
set_tests_properties(study PROPERTIES LABELS unit TIMEOUT 300)

file(GLOB cli_tests CONFIGURE_DEPENDS cli/*.c)
list(FILTER cli_tests EXCLUDE REGEX "/test_[a-z]*\\.c$")
tally_test_program(test_cli ${cli_tests} LINK PkgConfig::JSON_C)
target_compile_definitions(test_cli PRIVATE _GNU_SOURCE TALLY_PROGRAM="$<TARGET_FILE:tally_cli>" NILE="${PROJECT_SOURCE_DIR}/examples/nile.npy")
add_dependencies(test_cli tally_cli)
add_test(NAME cli COMMAND test_cli)
# It takes longest and on one core, so it starts first.
set_tests_properties(cli PROPERTIES LABELS cli TIMEOUT 1800 COST 1000
  ENVIRONMENT "TALLY_CACHE_DIR=${CMAKE_CURRENT_BINARY_DIR}/caches/cli/tally;POCL_CACHE_DIR=${TALLY_TEST_CACHES}/default/pocl")
