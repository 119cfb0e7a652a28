# SPDX-License-Identifier: MIT
# The tests scan-threads-NAME run forms of cpu_scan in C (scan_threads_program.c) in threads under
# ThreadSanitizer (scan_threads.c), if the compiler has it. It excludes AddressSanitizer.
include(CheckCSourceCompiles)
set(CMAKE_REQUIRED_FLAGS -fsanitize=thread)
check_c_source_compiles("int main(void) { return 0; }" TALLY_HAS_TSAN)
unset(CMAKE_REQUIRED_FLAGS)
if(TALLY_SANITIZE OR CMAKE_CROSSCOMPILING OR NOT TALLY_HAS_TSAN)
  message(STATUS "tally: no tests scan-threads: they need ThreadSanitizer, alone, and what is built must run here")
  return()
endif()

# Where Linux places memory by 32 random bits, the runtimes before LLVM 18's mostly end at once
# (github.com/google/sanitizers/issues/1716). A container may forbid to switch that off.
find_program(TALLY_SETARCH setarch DOC "setarch, of util-linux")
set(not_at_random "")
if(TALLY_SETARCH)
  execute_process(COMMAND ${TALLY_SETARCH} -R true RESULT_VARIABLE status OUTPUT_QUIET ERROR_QUIET)
  if(status EQUAL 0)
    set(not_at_random ${TALLY_SETARCH} -R)
  endif()
endif()

tally_embed(${CMAKE_CURRENT_BINARY_DIR}/kernels_threads.c tally_kernel_source_threads ${PROJECT_SOURCE_DIR}/src/host/prelude.h
            ${PROJECT_SOURCE_DIR}/kernels_cl/cpu_rows.cl
            ${PROJECT_SOURCE_DIR}/kernels_cl/cpu_tiles.cl ${PROJECT_SOURCE_DIR}/kernels_cl/cpu_scan.cl)
tally_test_tool(scan_threads_program races/scan_threads_program.c ${CMAKE_CURRENT_BINARY_DIR}/kernels_threads.c)

# tally_scan_threads(NAME OP DTYPE WORD...) adds a test of a form.
function(tally_scan_threads name)
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/scan_threads/${name})
  file(MAKE_DIRECTORY ${folder})
  add_custom_command(
    OUTPUT ${folder}/scan_program.h
    COMMAND scan_threads_program ${folder}/scan_program.h ${ARGN}
    DEPENDS scan_threads_program
    COMMENT "Writing cpu_scan in C: ${name}"
    VERBATIM)
  add_executable(scan_threads_${name} races/scan_threads.c ${folder}/scan_program.h)
  # Included as a system header, because the kernels are written for compilers with other warnings.
  target_include_directories(scan_threads_${name} SYSTEM PRIVATE ${folder} ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
  target_compile_options(scan_threads_${name} PRIVATE -O2 -fsanitize=thread -ffp-contract=off -fno-strict-aliasing
                                                      $<$<C_COMPILER_ID:GNU>:-Wno-tsan>) # of fences
  target_link_options(scan_threads_${name} PRIVATE -fsanitize=thread)
  target_link_libraries(scan_threads_${name} PRIVATE Threads::Threads m)
  add_test(NAME scan-threads-${name} COMMAND ${not_at_random} $<TARGET_FILE:scan_threads_${name}>)
  set_tests_properties(scan-threads-${name} PROPERTIES LABELS "races;rest" TIMEOUT 300 PROCESSORS 2
                                                       ENVIRONMENT "TSAN_OPTIONS=exitcode=66:halt_on_error=1"
                                                       SKIP_REGULAR_EXPRESSION "ThreadSanitizer: unexpected memory mapping")
endfunction()

# Scalars and structs; a tile for each group and more; groups that find the prefix that they wait
# for, and groups that compute it in the fallback.
tally_scan_threads(many sum f32)
tally_scan_threads(few sum f32 few held)
tally_scan_threads(exclusive sum i64 exclusive held)
tally_scan_threads(segmented sum f32 segmented held)
tally_scan_threads(reverse var f32 exclusive reverse segmented held)
tally_scan_threads(in_place sum f32)
target_compile_definitions(scan_threads_in_place PRIVATE IN_PLACE=1)
