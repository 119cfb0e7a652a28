# SPDX-License-Identifier: MIT
# The programs of the backend `host` (src/host/programs.h): the built-in ops as C. The program
# tally_host_programs, which is linked from the library's own objects, writes them. They become
# objects of the library, host_objects, once for each instruction set: `base` is what the compiler
# targets by itself, `v3` has AVX2, FMA and F16C, `v4` has AVX-512 for what v3's programs fold and
# scan.
# TALLY_HOST_LEVELS may leave some out, for a build that runs on one machine alone. A cross build
# cannot run the program and has none of them. Without programs for its processor the backend has no
# device.
set(host_folder ${PROJECT_BINARY_DIR}/host)
file(MAKE_DIRECTORY ${host_folder})

if(CMAKE_CROSSCOMPILING AND NOT CMAKE_CROSSCOMPILING_EMULATOR)
  file(CONFIGURE OUTPUT ${host_folder}/none.c @ONLY CONTENT "/* Made by cmake/host.cmake. */
#include \"host/host.h\"

const tally_host_key tally_host_keys[1] = {{0}};
const size_t tally_host_key_count = 0;
const uint16_t tally_host_numbers[TALLY_OP_END][TALLY_DTYPE_END] = {{0}};
const uint16_t tally_host_compensated[TALLY_OP_END][TALLY_DTYPE_END] = {{0}};
")
  add_library(tally_host OBJECT ${host_folder}/none.c)
  target_include_directories(tally_host PRIVATE include src)
  set(host_objects $<TARGET_OBJECTS:tally_host>)
  return()
endif()

# Each op has a file for each kind of items, so that the files compile in parallel. The table of ops
# has the names.
set(ops_table ${PROJECT_SOURCE_DIR}/src/ops/rows.c)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${ops_table})
file(READ ${ops_table} rows)
string(REGEX MATCHALL "\\.name = \"[a-z0-9_]+" ops "${rows}")
list(TRANSFORM ops REPLACE ".*\"" "")
set(host_sources ${host_folder}/table.c)
foreach(op IN LISTS ops)
  foreach(kind IN ITEMS wholes reals complexes)
    list(APPEND host_sources ${host_folder}/${op}_${kind}.c)
  endforeach()
endforeach()

add_executable(tally_host_programs src/host/generate/main.c src/host/generate/programs.c src/host/generate/keys.c
                                   src/host/generate/names.c $<TARGET_OBJECTS:tally_objects>)
target_include_directories(tally_host_programs PRIVATE include src)
target_link_libraries(tally_host_programs PRIVATE Threads::Threads ${CMAKE_DL_LIBS} m)
if(TALLY_WITH_CUDA)
  target_compile_definitions(tally_host_programs PRIVATE TALLY_WITH_CUDA)
endif()

# The files are by-products, so an unchanged file is not compiled again.
file(GLOB host_headers CONFIGURE_DEPENDS src/host/*.h)
add_custom_command(
  OUTPUT ${host_folder}/made
  BYPRODUCTS ${host_sources} ${host_folder}/keys.c
  COMMAND tally_host_programs ${host_folder} ${PROJECT_SOURCE_DIR}
  COMMAND ${CMAKE_COMMAND} -E touch ${host_folder}/made
  DEPENDS tally_host_programs ${host_headers} kernels_cl/finish.cl kernels_cl/cpu_chunks.cl
  COMMENT "Writing the built-in ops in C"
  VERBATIM)
add_custom_target(tally_host_sources DEPENDS ${host_folder}/made)

set(host_objects "")
# The options keep the order and the rounding of each operation, and thus the bits. The caller's
# items may have any type, so there is no strict aliasing. Warnings are off, as the kernels are
# written for other compilers. A debugger sees functions and lines alone: variables take a fifth of
# the time to compile, and under the sanitizers a third (gcc 12, November 2026).
set(host_options -w -ffp-contract=off -fno-fast-math -fno-strict-aliasing -fno-math-errno -fno-trapping-math
                 $<$<CONFIG:Debug>:-g1>)
function(tally_host_library target)
  cmake_parse_arguments(PARSE_ARGV 1 host "" "" "SOURCES;OPTIONS")
  add_library(${target} OBJECT ${host_SOURCES})
  target_include_directories(${target} PRIVATE include src)
  target_compile_options(${target} PRIVATE ${host_options} ${host_OPTIONS})
  add_dependencies(${target} tally_host_sources)
  set(host_objects ${host_objects} $<TARGET_OBJECTS:${target}> PARENT_SCOPE)
endfunction()
tally_host_library(tally_host SOURCES ${host_folder}/keys.c OPTIONS -O2)

set(levels base)
set(base_options -O3)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|amd64|AMD64" AND CMAKE_C_COMPILER_ID MATCHES "GNU|Clang")
  set(levels v3 v4 base)
  # Nearly every processor takes v3, so `base` may be small.
  set(base_options -O1)
  # gcc 12's vectors are all that its optimisation does here: -O2 is no faster and takes a half more
  # of time to compile, and its partial redundancy elimination leaves minima without vectors. It has
  # fma where it may (src/host/prelude.h).
  set(v3_options -mavx2 -mbmi2 -mf16c -O1 -ftree-vectorize)
  if(CMAKE_C_COMPILER_ID MATCHES "Clang")
    set(v3_options -mavx2 -mbmi2 -mf16c -O2 -mfma)
  endif()
  set(v4_options ${v3_options} -DFOLDS_AND_SCANS -mavx512f -mavx512bw -mavx512dq -mavx512vl -mprefer-vector-width=512)
endif()
# gcc 12 makes a tree of the steps of a minimum, a part of it of 32-bit numbers. GB/s of a core of
# an EPYC (Zen 4), November 2026, of 16 KiB with such trees and without: max of i8 44, 140; minmax of
# i8 26, 85; min of i16 85, 130.
if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
  set(extremes ${host_sources})
  list(FILTER extremes INCLUDE REGEX "/((nan)?(min|max)|minmax|amax)_[a-z0-9]+\\.c$")
  set_source_files_properties(${extremes} PROPERTIES COMPILE_OPTIONS -fno-tree-reassoc)
endif()
foreach(level IN LISTS TALLY_HOST_LEVELS)
  if(NOT level MATCHES "^(base|v3|v4)$")
    message(FATAL_ERROR "TALLY_HOST_LEVELS=${TALLY_HOST_LEVELS}: there are base, v3 and v4")
  endif()
  if(level STREQUAL "v4" AND NOT "v3" IN_LIST TALLY_HOST_LEVELS)
    message(FATAL_ERROR "TALLY_HOST_LEVELS=${TALLY_HOST_LEVELS}: v4 needs v3")
  endif()
endforeach()
foreach(level IN LISTS levels)
  if(NOT TALLY_HOST_LEVELS OR level IN_LIST TALLY_HOST_LEVELS OR levels STREQUAL "base")
    tally_host_library(tally_host_${level} SOURCES ${host_sources} OPTIONS -DISA=${level} ${${level}_options})
    string(TOUPPER ${level} upper)
    target_compile_definitions(tally_objects PRIVATE TALLY_HOST_${upper})
  endif()
endforeach()
