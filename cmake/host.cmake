# SPDX-License-Identifier: MIT
# The built-in ops as C, for few items on a CPU device (src/host/host.c). The program
# tally_host_programs, which is linked from the library's own objects, writes them. Its output
# becomes objects of the library: host_objects. A cross build cannot run the program and has none of
# them; few items then take the same path as many.
set(host_dtypes f32 f64 i32 i64)
set(host_folder ${PROJECT_BINARY_DIR}/host)
file(MAKE_DIRECTORY ${host_folder})

set(host_sources ${host_folder}/table.c ${host_folder}/combine.c)
if(CMAKE_CROSSCOMPILING AND NOT CMAKE_CROSSCOMPILING_EMULATOR)
  file(CONFIGURE OUTPUT ${host_folder}/table.c @ONLY CONTENT "/* Made by cmake/host.cmake. */
#include \"host/host.h\"

const tally_host_function tally_host_functions[TALLY_OP_END][TALLY_DTYPE_END] = {{0}};
const tally_host_combiner tally_host_combiners[TALLY_ROW_LEVELS][TALLY_OP_END][TALLY_DTYPE_END] = {{{0}}};
")
  list(REMOVE_ITEM host_sources ${host_folder}/combine.c)
else()
  # Each op and dtype has a file, so that the files compile in parallel. The table of ops has the
  # names.
  set(table ${PROJECT_SOURCE_DIR}/src/ops/rows.c)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${table})
  file(READ ${table} rows)
  string(REGEX MATCHALL "\\.name = \"[a-z0-9_]+" rows "${rows}")
  foreach(row IN LISTS rows)
    string(REGEX REPLACE ".*\"" "" op "${row}")
    foreach(dtype IN LISTS host_dtypes)
      list(APPEND host_sources ${host_folder}/${op}_${dtype}.c)
    endforeach()
  endforeach()

  set(stems ${PROJECT_SOURCE_DIR}/src/host/prelude.h ${PROJECT_SOURCE_DIR}/src/host/entry.h ${PROJECT_SOURCE_DIR}/kernels_cl/finish.cl
            ${PROJECT_SOURCE_DIR}/kernels_cl/cpu_chunks.cl)
  tally_embed(${PROJECT_BINARY_DIR}/kernels_host.c tally_kernel_source_host ${stems})
  add_executable(tally_host_programs src/host/main.c ${PROJECT_BINARY_DIR}/kernels_host.c $<TARGET_OBJECTS:tally_objects>)
  target_include_directories(tally_host_programs PRIVATE include src)
  target_link_libraries(tally_host_programs PRIVATE Threads::Threads ${CMAKE_DL_LIBS} m)
  if(TALLY_WITH_OPENCL)
    target_link_libraries(tally_host_programs PRIVATE OpenCL::OpenCL)
  endif()
  if(TALLY_WITH_CUDA)
    target_compile_definitions(tally_host_programs PRIVATE TALLY_WITH_CUDA)
  endif()

  # The files are by-products, so an unchanged file is not compiled again.
  add_custom_command(
    OUTPUT ${host_folder}/made
    BYPRODUCTS ${host_sources}
    COMMAND tally_host_programs ${host_folder} ${host_dtypes}
    COMMAND ${CMAKE_COMMAND} -E touch ${host_folder}/made
    DEPENDS tally_host_programs
    COMMENT "Writing the built-in ops in C"
    VERBATIM)
  add_custom_target(tally_host_sources DEPENDS ${host_folder}/made)
endif()

add_library(tally_host OBJECT ${host_sources})
target_include_directories(tally_host PRIVATE include src)
# The options keep the order and the rounding of each operation, and thus the bits. The caller's
# items may have any type, so there is no strict aliasing. Warnings are off, as the kernels are
# written for other compilers. All functions take 169 KB with gcc 12 and 207 KB with clang 15; with
# unrolled loops clang needs 460 KB (x86-64, November 2026).
target_compile_options(tally_host PRIVATE -w -O2 -fno-unroll-loops -ffp-contract=off -fno-fast-math -fno-strict-aliasing
                                          -fno-math-errno)
if(TARGET tally_host_sources)
  add_dependencies(tally_host tally_host_sources)
endif()
set(host_objects $<TARGET_OBJECTS:tally_host>)
