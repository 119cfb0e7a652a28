# SPDX-License-Identifier: MIT
# Prebuilt programs, compiled when the library is built (docs/backends.md). tally_prebuild is linked
# from the library's own objects and makes an archive of them. The archive becomes another object:
# prebuilt_objects. Without TALLY_CUDA_ARCHS it is empty.
set(prebuilt_objects "")
include(${CMAKE_CURRENT_LIST_DIR}/archs.cmake)
tally_check_archs("${TALLY_CUDA_ARCHS}")
if(NOT TALLY_WITH_CUDA)
  if(TALLY_CUDA_ARCHS)
    message(FATAL_ERROR "TALLY_CUDA_ARCHS=${TALLY_CUDA_ARCHS}: the CUDA backend is off")
  endif()
  return()
endif()

add_library(tally_archive OBJECT backends/cuda/prebuild/embed.c)
set(prebuilt_objects $<TARGET_OBJECTS:tally_archive>)
find_program(TALLY_FATBINARY fatbinary HINTS ${CUDAToolkit_BIN_DIR} DOC "The CUDA toolkit's program that packs machine code")

if(TALLY_CUDA_ARCHS OR TALLY_TESTS)
  set(prebuild_sources archive.c list.c pack.c)
  list(TRANSFORM prebuild_sources PREPEND ${PROJECT_SOURCE_DIR}/backends/cuda/prebuild/)
  add_executable(tally_prebuild backends/cuda/prebuild/main.c ${prebuild_sources} $<TARGET_OBJECTS:tally_objects>
                 ${host_objects})
  target_include_directories(tally_prebuild PRIVATE include src)
  target_include_directories(tally_prebuild SYSTEM PRIVATE ${XXHASH_INCLUDE_DIR})
  target_link_libraries(tally_prebuild PRIVATE Threads::Threads ${CMAKE_DL_LIBS} m)
endif()

if(TALLY_CUDA_ARCHS)
  set(help "")
  if(TALLY_FATBINARY)
    execute_process(COMMAND ${TALLY_FATBINARY} --help OUTPUT_VARIABLE help ERROR_QUIET)
  endif()
  if(NOT help MATCHES "compress-mode" OR NOT TARGET CUDA::nvrtc)
    message(FATAL_ERROR "TALLY_CUDA_ARCHS=${TALLY_CUDA_ARCHS}: a CUDA toolkit with NVRTC and a program fatbinary that knows "
                        "--compress-mode is needed")
  endif()
  set(archive ${PROJECT_BINARY_DIR}/prebuilt.archive)
  list(JOIN TALLY_CUDA_ARCHS "," archs)
  add_custom_command(
    OUTPUT ${archive}
    # CUDA_HOME is where NVRTC is searched after the loader's path.
    COMMAND ${CMAKE_COMMAND} -E env CUDA_HOME=${CUDAToolkit_BIN_DIR}/.. $<TARGET_FILE:tally_prebuild> --archs ${archs} --fatbinary
            ${TALLY_FATBINARY} --output ${archive}
    DEPENDS tally_prebuild
    COMMENT "Compiling the built-in ops for the architectures ${archs}: minutes for each"
    USES_TERMINAL VERBATIM)
  set_source_files_properties(backends/cuda/prebuild/embed.c PROPERTIES OBJECT_DEPENDS ${archive})
  target_compile_definitions(tally_archive PRIVATE TALLY_CUDA_ARCHIVE="${archive}")
endif()
