# SPDX-License-Identifier: MIT
# The test host-threads runs the backend `host` in threads under ThreadSanitizer (pool.c). The core
# and the backend are compiled with it.
if(NOT TALLY_HAS_TSAN OR TALLY_SANITIZE)
  return()
endif()
add_executable(host_threads races/pool.c ${core_sources} ${host_backend_sources} ${PROJECT_BINARY_DIR}/kernels_core.c
                            ${host_objects})
target_include_directories(host_threads PRIVATE ${PROJECT_SOURCE_DIR}/include)
target_include_directories(host_threads SYSTEM PRIVATE ${XXHASH_INCLUDE_DIR})
target_compile_definitions(host_threads PRIVATE $<FILTER:$<TARGET_PROPERTY:tally_objects,COMPILE_DEFINITIONS>,EXCLUDE,WITH>
                                                TALLY_STATIC)
target_compile_options(host_threads PRIVATE -fsanitize=thread $<$<C_COMPILER_ID:GNU>:-Wno-tsan>)
target_link_options(host_threads PRIVATE -fsanitize=thread)
target_link_libraries(host_threads PRIVATE Threads::Threads ${CMAKE_DL_LIBS} m)
add_test(NAME host-threads COMMAND ${not_at_random} $<TARGET_FILE:host_threads>)
set_tests_properties(host-threads PROPERTIES LABELS "races;rest" TIMEOUT 300 PROCESSORS 2
                                             ENVIRONMENT "TSAN_OPTIONS=exitcode=66:halt_on_error=1"
                                             SKIP_REGULAR_EXPRESSION "ThreadSanitizer: unexpected memory mapping")
