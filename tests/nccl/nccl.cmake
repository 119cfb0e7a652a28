# SPDX-License-Identifier: MIT
# libtally_nccl without GPUs: its sources in a test program whose ranks are threads, with stand-ins
# for libnccl.so.2 and for libcuda.so.1. On a machine with GPUs and NCCL the program `nccl_gpus` runs it as it is.
file(GLOB nccl_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/ranks/nccl/*.c)

add_library(cuda_standin SHARED nccl/driver.c)
set_target_properties(cuda_standin PROPERTIES LIBRARY_OUTPUT_NAME cuda SUFFIX .so.1
                                              LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/nccl_standin)
add_library(nccl_standin SHARED nccl/standin.c)
target_link_libraries(nccl_standin PRIVATE cuda_standin Threads::Threads)
set_target_properties(nccl_standin PROPERTIES LIBRARY_OUTPUT_NAME nccl SUFFIX .so.2
                                              LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/nccl_standin)
tally_test_program(test_nccl nccl/threads.c ${nccl_sources})
target_include_directories(test_nccl PRIVATE ${PROJECT_SOURCE_DIR}/ranks/include)
add_dependencies(test_nccl nccl_standin)
add_test(NAME nccl COMMAND test_nccl)
set_tests_properties(nccl PROPERTIES LABELS unit TIMEOUT 120 ENVIRONMENT
                     "TALLY_CACHE_DIR=off;LD_LIBRARY_PATH=${CMAKE_CURRENT_BINARY_DIR}/nccl_standin")

# A library of that name which is none.
file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/nccl_broken/libnccl.so.2 "no library\n")
add_test(NAME nccl-no-library COMMAND test_nccl no-library)
set_tests_properties(nccl-no-library PROPERTIES LABELS unit TIMEOUT 60 ENVIRONMENT
                     "TALLY_CACHE_DIR=off;LD_LIBRARY_PATH=${CMAKE_CURRENT_BINARY_DIR}/nccl_broken")

# Where NCCL's header is here, its types are compared with ours.
find_path(TALLY_NCCL_INCLUDE_DIR nccl.h HINTS ${TALLY_CUDA_INCLUDE_DIR} DOC "NCCL's header, for a test of types")
if(TALLY_NCCL_INCLUDE_DIR AND EXISTS ${TALLY_CUDA_INCLUDE_DIR}/cuda_runtime.h)
  add_library(nccl_types OBJECT nccl/types.c)
  target_include_directories(nccl_types PRIVATE ${PROJECT_SOURCE_DIR}/ranks/include ${PROJECT_SOURCE_DIR}/include)
  target_include_directories(nccl_types SYSTEM PRIVATE ${TALLY_NCCL_INCLUDE_DIR} ${TALLY_CUDA_INCLUDE_DIR})
endif()

tally_test_tool(nccl_gpus nccl/gpus.c ${nccl_sources})
target_include_directories(nccl_gpus PRIVATE ${PROJECT_SOURCE_DIR}/ranks/include)
target_include_directories(nccl_gpus SYSTEM PRIVATE ${TALLY_CUDA_INCLUDE_DIR})
add_test(NAME nccl-gpus COMMAND nccl_gpus)
set_tests_properties(nccl-gpus PROPERTIES LABELS unit TIMEOUT 600 RUN_SERIAL ON SKIP_RETURN_CODE 77)
