# SPDX-License-Identifier: MIT
# Each public header must compile alone, included twice, as C99, C11 and, if there is a C++
# compiler, C++17, without a warning. Variables: CC, CXX (may be missing), INCLUDE (the folder),
# WORK (a folder of its own).
set(warnings -Wall -Wextra -pedantic -Werror -fsyntax-only -I${INCLUDE})
file(GLOB headers RELATIVE ${INCLUDE} ${INCLUDE}/tally/*.h)
list(LENGTH headers count)
if(count LESS 4)
  message(FATAL_ERROR "only ${count} headers in ${INCLUDE}/tally")
endif()

set(compilations 0)
function(compile header compiler language standard)
  # The last line is for headers of macros alone, as a C file must declare something.
  file(WRITE ${WORK}/alone.${language} "#include <${header}>\n#include <${header}>\ntypedef int something;\n")
  execute_process(COMMAND ${compiler} -std=${standard} ${warnings} ${WORK}/alone.${language}
                  RESULT_VARIABLE status ERROR_VARIABLE text OUTPUT_VARIABLE text)
  if(NOT status EQUAL 0)
    message(SEND_ERROR "${header} as ${standard}:\n${text}")
  endif()
  math(EXPR compilations "${compilations} + 1")
  set(compilations ${compilations} PARENT_SCOPE)
endfunction()

foreach(header IN LISTS headers)
  compile(${header} ${CC} c c99)
  compile(${header} ${CC} c c11)
  if(CXX)
    compile(${header} ${CXX} cc c++17)
  endif()
endforeach()
if(NOT CXX)
  message(STATUS "no C++ compiler: the headers were not tried as C++17")
endif()
message(STATUS "${count} headers, ${compilations} compilations")
