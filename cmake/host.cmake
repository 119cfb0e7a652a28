# SPDX-License-Identifier: MIT
# The programs of the backend `host` (src/host/programs.h): the built-in ops as C. The program
# tally_host_programs, which is linked from the library's own objects, writes them. They become
# objects of the library, host_objects, once for each instruction set: `base` is what the compiler
# targets by itself, `v3` has AVX2 and FMA. A cross build cannot run the program and has none of
# them: the backend then has no device.
set(host_folder ${PROJECT_BINARY_DIR}/host)
file(MAKE_DIRECTORY ${host_folder})

if(CMAKE_CROSSCOMPILING AND NOT CMAKE_CROSSCOMPILING_EMULATOR)
  file(CONFIGURE OUTPUT ${host_folder}/none.c @ONLY CONTENT "/* Made by cmake/host.cmake. */
#include \"host/host.h\"

const tally_host_code tally_host_code_base = {0};
const tally_host_key tally_host_keys[1] = {{0}};
const size_t tally_host_key_count = 0;
const uint16_t tally_host_numbers[TALLY_OP_END][TALLY_DTYPE_END] = {{0}};
const uint16_t tally_host_compensated[TALLY_OP_END][TALLY_DTYPE_END] = {{0}};
const tally_host_combiner tally_host_combiners[TALLY_ROW_LEVELS][TALLY_OP_END][TALLY_DTYPE_END] = {{{0}}};
")
  add_library(tally_host OBJECT ${host_folder}/none.c)
  target_include_directories(tally_host PRIVATE include src)
  set(host_objects $<TARGET_OBJECTS:tally_host>)
  return()
endif()

# Each op and dtype has a file, so that the files compile in parallel. The tables of ops and dtypes
# have the names.
function(tally_names output table pattern)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${table})
  file(READ ${table} text)
  string(REGEX MATCHALL "${pattern}" rows "${text}")
  list(TRANSFORM rows REPLACE "${pattern}" "\\1")
  set(${output} ${rows} PARENT_SCOPE)
endfunction()
tally_names(ops ${PROJECT_SOURCE_DIR}/src/ops/rows.c "\\.name = \"([a-z0-9_]+)")
tally_names(dtypes ${PROJECT_SOURCE_DIR}/src/base/tables.c "{\"([a-z0-9]+)\", [0-9]+, TALLY_KIND")
set(host_sources ${host_folder}/table.c)
foreach(op IN LISTS ops)
  foreach(dtype IN LISTS dtypes)
    list(APPEND host_sources ${host_folder}/${op}_${dtype}.c)
  endforeach()
  list(APPEND host_sources ${host_folder}/${op}_f32_compensated.c ${host_folder}/${op}_f64_compensated.c)
endforeach()

add_executable(tally_host_programs src/host/generate/main.c src/host/generate/programs.c src/host/generate/keys.c
                                   src/host/generate/combiners.c $<TARGET_OBJECTS:tally_objects>)
target_include_directories(tally_host_programs PRIVATE include src)
target_link_libraries(tally_host_programs PRIVATE Threads::Threads ${CMAKE_DL_LIBS} m)
if(TALLY_WITH_CUDA)
  target_compile_definitions(tally_host_programs PRIVATE TALLY_WITH_CUDA)
endif()

# The files are by-products, so an unchanged file is not compiled again.
add_custom_command(
  OUTPUT ${host_folder}/made
  BYPRODUCTS ${host_sources} ${host_folder}/keys.c ${host_folder}/combine.c
  COMMAND tally_host_programs ${host_folder}
  COMMAND ${CMAKE_COMMAND} -E touch ${host_folder}/made
  DEPENDS tally_host_programs
  COMMENT "Writing the built-in ops in C"
  VERBATIM)
add_custom_target(tally_host_sources DEPENDS ${host_folder}/made)

set(host_objects "")
# The options keep the order and the rounding of each operation, and thus the bits. The caller's
# items may have any type, so there is no strict aliasing. Warnings are off, as the kernels are
# written for other compilers.
function(tally_host_library target)
  cmake_parse_arguments(PARSE_ARGV 1 host "" "" "SOURCES;OPTIONS")
  add_library(${target} OBJECT ${host_SOURCES})
  target_include_directories(${target} PRIVATE include src)
  target_compile_options(${target} PRIVATE -w -ffp-contract=off -fno-fast-math -fno-strict-aliasing -fno-math-errno
                                           -fno-trapping-math ${host_OPTIONS})
  add_dependencies(${target} tally_host_sources)
  set(host_objects ${host_objects} $<TARGET_OBJECTS:${target}> PARENT_SCOPE)
endfunction()
tally_host_library(tally_host SOURCES ${host_folder}/keys.c ${host_folder}/combine.c OPTIONS -O2)
# Where v3 is compiled too, nearly every processor takes that, and `base` may be small.
set(base_options -DISA=base -O3)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|amd64|AMD64" AND CMAKE_C_COMPILER_ID MATCHES "GNU|Clang")
  set(base_options -DISA=base -O1)
  # gcc 12's vectors are all that its optimisation does here: -O2 is no faster and takes a half more
  # of time to compile, and its partial redundancy elimination leaves minima without vectors. It has
  # fma where it may (src/host/prelude.h).
  set(own_options -O1 -ftree-vectorize)
  if(CMAKE_C_COMPILER_ID MATCHES "Clang")
    set(own_options -O2 -mfma)
  endif()
  tally_host_library(tally_host_v3 SOURCES ${host_sources} OPTIONS -DISA=v3 -mavx2 -mbmi2 ${own_options})
  target_compile_definitions(tally_objects PRIVATE TALLY_HOST_V3)
endif()
tally_host_library(tally_host_base SOURCES ${host_sources} OPTIONS ${base_options})
