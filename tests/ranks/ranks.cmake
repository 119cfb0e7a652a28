# SPDX-License-Identifier: MIT
# libtally_mpi under each MPI that is here, started by its mpiexec: on POCL, on `host`, and on both
# mixed. More ranks than cores share them. ci/test says which MPIs they are.
set(TALLY_TEST_RANKS 1 2 3 5 CACHE STRING "Numbers of ranks that the tests of libtally_mpi start")
file(GLOB ranks_tests CONFIGURE_DEPENDS ranks/*.c)

# Open MPI wants to be told that it may share cores, and that root may start it.
set(mpiexec_openmpi --oversubscribe --allow-run-as-root)

# A rank needs few threads where many share the cores.
set(ranks_environment TALLY_CACHE_DIR=off POCL_MAX_PTHREAD_COUNT=1 OMPI_MCA_btl_vader_single_copy_mechanism=none
    MPIR_CVAR_POLLS_BEFORE_YIELD=1 ASAN_OPTIONS=detect_leaks=0)

# tally_ranks_test(MPI RANKS LABEL SELECTION WHAT) adds the test ranks-MPI-RANKS-WHAT...
function(tally_ranks_test mpi ranks label selection what)
  string(REGEX REPLACE "[:,]" "-" place ${selection})
  set(name ranks-${mpi}-${ranks}-${place}-${what})
  add_test(NAME ${name} COMMAND ${TALLY_MPIEXEC_${mpi}} ${mpiexec_${mpi}} -n ${ranks} $<TARGET_FILE:test_ranks_${mpi}> ${selection}
                                ${what})
  set_tests_properties(${name} PROPERTIES LABELS "${label}" TIMEOUT 900 PROCESSORS 2 ENVIRONMENT "${ranks_environment}")
  if(TALLY_TEST_CACHES)
    set_property(TEST ${name} APPEND PROPERTY ENVIRONMENT POCL_CACHE_DIR=${TALLY_TEST_CACHES}/default/pocl)
  endif()
endfunction()

foreach(mpi IN LISTS TALLY_MPIS)
  add_executable(test_ranks_${mpi} ${ranks_tests} ${PROJECT_SOURCE_DIR}/ranks/mpi/messages.c)
  target_link_libraries(test_ranks_${mpi} PRIVATE tally_mpi_${mpi})
  foreach(ranks IN LISTS TALLY_TEST_RANKS)
    # MPICH's ranks poll: on 2 cores `bits` takes 13 s on `host` with 3 of them, 30 s with 5, 86 s with
    # 16; under Open MPI 1 s (November 2026).
    if(mpi STREQUAL "mpich" AND ranks GREATER 16)
      continue()
    endif()
    set(label ranks)
    if(mpi STREQUAL "mpich" AND ranks GREATER 2)
      set(label "ranks;rest")
    endif()
    tally_ranks_test(${mpi} ${ranks} "${label}" host bits)
    tally_ranks_test(${mpi} ${ranks} ranks host faults)
    # A process with POCL takes 100 MB.
    if(TALLY_WITH_OPENCL AND ranks LESS_EQUAL 16)
      tally_ranks_test(${mpi} ${ranks} "ranks;rest" opencl:0 bits)
      tally_ranks_test(${mpi} ${ranks} "${label}" opencl:0,host bits)
    endif()
  endforeach()
  if(TALLY_WITH_OPENCL)
    tally_ranks_test(${mpi} 3 ranks opencl:0 faults)
  endif()
  tally_ranks_test(${mpi} 1 ranks host no-device)
  tally_ranks_test(${mpi} 3 ranks host no-device)
  tally_ranks_test(${mpi} 2 ranks host speed)
  # A rank is killed: mpiexec must say so and end the others, long before the time-out.
  tally_ranks_test(${mpi} 3 ranks host killed)
  set_tests_properties(ranks-${mpi}-3-host-killed PROPERTIES TIMEOUT 60 FAIL_REGULAR_EXPRESSION survived
                       PASS_REGULAR_EXPRESSION "on signal 9|SIGNAL: 9|EXIT CODE: 9")
endforeach()

# A program in C++ links libtally_mpi alone.
file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/ranks.cc "#include <tally/mpi.h>\nint main() {\n    tally_mpi_destroy(NULL);\n}\n")
foreach(mpi IN LISTS TALLY_MPIS)
  if(NOT TALLY_CXX OR TALLY_SANITIZE) # a sanitized library needs the compiler's own runtime
    break()
  endif()
  set(folders $<TARGET_PROPERTY:test_ranks_${mpi},INCLUDE_DIRECTORIES>)
  add_test(NAME ranks-${mpi}-cxx COMMAND ${TALLY_CXX} -I$<JOIN:${folders},$<SEMICOLON>-I> ${CMAKE_CURRENT_BINARY_DIR}/ranks.cc
                                         $<TARGET_FILE:tally_mpi_${mpi}> $<TARGET_FILE:tally> -o
                                         ${CMAKE_CURRENT_BINARY_DIR}/ranks_${mpi}_cxx COMMAND_EXPAND_LISTS)
  set_tests_properties(ranks-${mpi}-cxx PROPERTIES LABELS ranks)
endforeach()

# The program tally-mpi beside tally, on `host` but where a program is compiled.
foreach(mpi IN LISTS TALLY_MPIS)
  if(NOT TALLY_TOOLS OR NOT TALLY_PYTHON)
    break()
  endif()
  add_test(NAME ranks-${mpi}-program COMMAND ${TALLY_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/ranks/program.py $<TARGET_FILE:tally_cli>
                                             $<TARGET_FILE:tally_mpi_cli_${mpi}> 3 ${TALLY_MPIEXEC_${mpi}} ${mpiexec_${mpi}})
  set(label ranks)
  if(mpi STREQUAL "mpich") # the program is the same
    set(label "ranks;rest")
  endif()
  set_tests_properties(ranks-${mpi}-program PROPERTIES LABELS "${label}" TIMEOUT 600 PROCESSORS 2 ENVIRONMENT
                       "${ranks_environment};TALLY_BACKEND=host;POCL_CACHE_DIR=${TALLY_TEST_CACHES}/default/pocl")
endforeach()

# The example with mpi4py, which Debian builds with Open MPI. Python cannot load a library that has
# the sanitizers.
find_program(TALLY_MPI4PY_PYTHON NAMES python3 PATHS /usr/bin NO_DEFAULT_PATH DOC "The Python that has mpi4py")
if("openmpi" IN_LIST TALLY_MPIS AND TALLY_MPI4PY_PYTHON AND NOT TALLY_SANITIZE)
  add_test(NAME ranks-openmpi-mpi4py COMMAND ${TALLY_MPIEXEC_openmpi} ${mpiexec_openmpi} -n 2 ${TALLY_MPI4PY_PYTHON}
                                             ${PROJECT_SOURCE_DIR}/examples/mpi4py_sum.py $<TARGET_FILE:tally_mpi_openmpi>)
  set_tests_properties(ranks-openmpi-mpi4py PROPERTIES LABELS "ranks;examples" TIMEOUT 60 SKIP_REGULAR_EXPRESSION "skipped: "
                                                       ENVIRONMENT "${ranks_environment};TALLY_BACKEND=host")
endif()
