# SPDX-License-Identifier: MIT
# Kernels under tools that find races. `races` runs under oclgrind here, and under compute-sanitizer
# in ci/gpu.
tally_test_tool(races races/races.c races/arrays.c)
find_program(TALLY_OCLGRIND oclgrind DOC "oclgrind, which watches OpenCL kernels for races")
# oclgrind and the sanitizers both must be loaded first, so they exclude each other.
if(NOT TALLY_SANITIZE)
  add_test(NAME races COMMAND ${CMAKE_COMMAND} -D OCLGRIND=${TALLY_OCLGRIND} -D RACES=$<TARGET_FILE:races> -P
                              ${CMAKE_CURRENT_SOURCE_DIR}/races/run.cmake)
  set_tests_properties(races PROPERTIES LABELS "races;rest" TIMEOUT 1200 SKIP_REGULAR_EXPRESSION "skipped: no oclgrind")
endif()
include(races/scan_threads.cmake)
include(races/tree_threads.cmake)
include(races/pool.cmake)

# The shared library, closed while its threads are there.
add_executable(unload races/unload.c)
target_include_directories(unload PRIVATE ${PROJECT_SOURCE_DIR}/include)
target_link_libraries(unload PRIVATE ${CMAKE_DL_LIBS})
add_test(NAME unload COMMAND unload $<TARGET_FILE:tally>)
set_tests_properties(unload PROPERTIES LABELS unit)
