# SPDX-License-Identifier: MIT
# The tests tree-threads-GROUP run kernels/warp_tree.h in threads under ThreadSanitizer
# (tree_threads.c).
if(NOT TALLY_HAS_TSAN OR TALLY_SANITIZE)
  return()
endif()

# tally_tree_threads(GROUP WORDS) adds a test of a group and the words of 8 bytes of an accumulator.
function(tally_tree_threads group words)
  add_executable(tree_threads_${group} races/tree_threads.c)
  # A system header, because the kernels are written for compilers with other warnings.
  target_include_directories(tree_threads_${group} SYSTEM PRIVATE ${PROJECT_SOURCE_DIR}/kernels)
  target_compile_definitions(tree_threads_${group} PRIVATE GROUP=${group} WORDS=${words})
  target_compile_options(tree_threads_${group} PRIVATE -fsanitize=thread)
  target_link_options(tree_threads_${group} PRIVATE -fsanitize=thread)
  target_link_libraries(tree_threads_${group} PRIVATE Threads::Threads)
  add_test(NAME tree-threads-${group} COMMAND ${not_at_random} $<TARGET_FILE:tree_threads_${group}>)
  set_tests_properties(tree-threads-${group} PROPERTIES LABELS "races;rest" TIMEOUT 300 PROCESSORS 2
                                                        ENVIRONMENT "TSAN_OPTIONS=exitcode=66:halt_on_error=1"
                                                        SKIP_REGULAR_EXPRESSION "ThreadSanitizer: unexpected memory mapping")
endfunction()

tally_tree_threads(32 1)
tally_tree_threads(128 3)
tally_tree_threads(64 4)
