# SPDX-License-Identifier: MIT
# The conformance tests are written once and run on every device of every backend.
file(GLOB conformance_tests CONFIGURE_DEPENDS conformance/*.c)
tally_test_program(conformance ${conformance_tests} LINK tally_test_golden)
foreach(backend IN ITEMS CUDA OPENCL)
  if(TALLY_WITH_${backend})
    target_compile_definitions(conformance PRIVATE TALLY_WITH_${backend})
  endif()
endforeach()
target_include_directories(conformance SYSTEM PRIVATE ${TALLY_CUDA_INCLUDE_DIR} ${OpenCL_INCLUDE_DIRS})
if(TALLY_WITH_OPENCL)
  target_link_libraries(conformance PRIVATE OpenCL::OpenCL) # for handles of its own
endif()
# The host must round as the devices do.
set_source_files_properties(conformance/custom_examples.c conformance/custom.c conformance/accuracy.c conformance/moments.c
                            PROPERTIES COMPILE_OPTIONS "-ffp-contract=off")

# The tests run once with the device as it is, in shares. A part of them runs again with POCL's
# other way to make loops of work-groups. POCL keeps programs by source and options alone, and so
# would tally, so each pass has caches of its own. tally's cache is off unless a preset wants it:
# asked for a binary, POCL compiles the program a second time, for groups of any size.
cmake_host_system_information(RESULT cores QUERY NUMBER_OF_LOGICAL_CORES)
set(TALLY_TEST_SHARES ${cores} CACHE STRING "Programs that share the conformance tests")
set(TALLY_TEST_CACHES ${CMAKE_CURRENT_BINARY_DIR}/caches CACHE PATH "Where OpenCL's compilers keep the conformance tests' programs")
set(TALLY_TEST_CACHE_DIR off CACHE STRING "The conformance tests' TALLY_CACHE_DIR")
# Of ENVIRONMENT each variable is an argument of its own: a semicolon within one would be escaped.
function(tally_conformance_test name caches)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "" "COMMAND;ENVIRONMENT")
  set(caches ${TALLY_TEST_CACHES}/${caches})
  file(MAKE_DIRECTORY ${caches}/pocl)
  add_test(NAME ${name} COMMAND conformance ${arg_COMMAND})
  # POCL only prints that it does not know a method, which would test nothing new, and that a text
  # has warnings, which users would see.
  set_tests_properties(${name} PROPERTIES
    LABELS conformance TIMEOUT 3600 COST 500
    ENVIRONMENT "TALLY_CACHE_DIR=${TALLY_TEST_CACHE_DIR};POCL_CACHE_DIR=${caches}/pocl;${arg_ENVIRONMENT}"
    FAIL_REGULAR_EXPRESSION "Unknown work.group generation method;warnings? generated")
endfunction()
math(EXPR last "${TALLY_TEST_SHARES} - 1")
foreach(share RANGE ${last})
  tally_conformance_test(conformance-${share} default ENVIRONMENT TALLY_TEST_SHARE=${share}/${TALLY_TEST_SHARES})
  list(APPEND shares conformance-${share})
endforeach()
# After them, what POCL has made of their programs.
add_test(NAME local-memory COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/conformance/local_memory.sh ${TALLY_TEST_CACHES}
                                   $<TARGET_FILE:conformance>)
set_tests_properties(local-memory PROPERTIES LABELS conformance DEPENDS "${shares}" SKIP_RETURN_CODE 77)
tally_conformance_test(conformance-pocl-cbs cbs ENVIRONMENT POCL_WORK_GROUP_METHOD=cbs TALLY_TEST_SHARE=turn/3
                                                            TALLY_TEST_DEVICE=opencl:pocl)
# Checks the method of that pass, and that this POCL knows it. It runs beside that pass, so its
# caches are its own: two processes would make the same programs at once.
tally_conformance_test(conformance-method method COMMAND --only-method ENVIRONMENT POCL_WORK_GROUP_METHOD=cbs)
set_tests_properties(conformance-pocl-cbs conformance-method PROPERTIES LABELS "conformance;rest" SKIP_RETURN_CODE 77)
