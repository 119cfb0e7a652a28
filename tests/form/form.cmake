# SPDX-License-Identifier: MIT
# The form of the tree: headers, symbols, docs, links, prose, folders, formatting.
set(form ${CMAKE_CURRENT_SOURCE_DIR}/form)
find_program(TALLY_CLANG_FORMAT NAMES clang-format-14 clang-format DOC "clang-format, version 14")

# tally_form_test(NAME LABEL VARIABLE=VALUE...) adds a test that runs the script form/NAME.cmake.
function(tally_form_test name label)
  list(TRANSFORM ARGN PREPEND -D)
  add_test(NAME ${name} COMMAND ${CMAKE_COMMAND} -DSOURCE=${PROJECT_SOURCE_DIR} ${ARGN} -P ${form}/${name}.cmake)
  set_tests_properties(${name} PROPERTIES LABELS ${label} SKIP_REGULAR_EXPRESSION "skipped: ")
endfunction()
tally_form_test(headers unit CC=${CMAKE_C_COMPILER} CXX=${TALLY_CXX} INCLUDE=${PROJECT_SOURCE_DIR}/include
                WORK=${CMAKE_CURRENT_BINARY_DIR}/headers)
tally_form_test(symbols unit NM=${CMAKE_NM} LIBRARY=$<TARGET_FILE:tally>
                STATIC=$<TARGET_FILE:tally_static> INCLUDE=${PROJECT_SOURCE_DIR}/include)
tally_form_test(semantics docs)
tally_form_test(prose docs)
tally_form_test(results docs PYTHON=${TALLY_PYTHON} WORK=${CMAKE_CURRENT_BINARY_DIR}/results)
tally_form_test(format docs CLANG_FORMAT=${TALLY_CLANG_FORMAT})

tally_test_tool(docs_tables form/docs_tables.c LINK tally_bench_parts)
add_test(NAME docs-tables COMMAND docs_tables ${PROJECT_SOURCE_DIR})
set_tests_properties(docs-tables PROPERTIES LABELS docs)

if(TALLY_PYTHON)
  add_test(NAME structure COMMAND ${TALLY_PYTHON} ${form}/structure.py ${PROJECT_SOURCE_DIR})
  add_test(NAME declarations COMMAND ${TALLY_PYTHON} ${form}/declarations.py ${PROJECT_SOURCE_DIR})
  add_test(NAME links COMMAND ${TALLY_PYTHON} ${form}/links.py ${PROJECT_SOURCE_DIR})
  add_test(NAME snippets COMMAND ${TALLY_PYTHON} ${form}/snippets.py ${PROJECT_SOURCE_DIR} ${CMAKE_C_COMPILER})
  set_tests_properties(structure declarations links snippets PROPERTIES LABELS docs SKIP_REGULAR_EXPRESSION "skipped: ")
endif()
