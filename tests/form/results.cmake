# SPDX-License-Identifier: MIT
# ci/performance --merge renews the measured part of the pages in docs/results/ and keeps the rest.
# A page without a measured part is kept as a whole. It also writes the
# page of the grid and the segments' section; a made-up program answers it here. Variables: PYTHON, SOURCE, WORK.
if(NOT PYTHON)
  message(STATUS "skipped: there is no python3")
  return()
endif()
file(REMOVE_RECURSE ${WORK})
file(COPY ${SOURCE}/ci/performance DESTINATION ${WORK}/ci)
set(end "<!-- end measured: ci/performance renews the page above this line -->\n")
set(results ${WORK}/docs/results)
file(WRITE ${results}/renewed.md "# old\n\n${end}\nkept\n")
file(WRITE ${results}/by-hand.md "# by hand\n")
foreach(name IN ITEMS renewed by-hand new)
  file(WRITE ${WORK}/output/${name}.md "# measured\n")
endforeach()
file(WRITE ${WORK}/output/performance-new.svg "chart")

foreach(turn RANGE 1) # the second turn changes nothing
  execute_process(COMMAND ${PYTHON} ${WORK}/ci/performance --merge ${WORK}/output COMMAND_ERROR_IS_FATAL ANY)
endforeach()
set(expected_renewed "# measured\n\n${end}\nkept\n")
set(expected_by-hand "# measured\n\n${end}\n# by hand\n")
set(expected_new "# measured\n\n${end}")
foreach(name IN ITEMS renewed by-hand new)
  file(READ ${results}/${name}.md text)
  if(NOT text STREQUAL expected_${name})
    message(FATAL_ERROR "${name}.md is:\n${text}")
  endif()
endforeach()
if(NOT EXISTS ${results}/performance-new.svg)
  message(FATAL_ERROR "the chart is not in docs/results/")
endif()
# The measured part ends in the same line on the pages of the repository.
file(STRINGS ${SOURCE}/docs/results/h200.md lines REGEX "^<!-- end measured")
string(STRIP "${end}" line)
if(NOT lines STREQUAL line)
  message(FATAL_ERROR "docs/results/h200.md: the line of ci/performance is not there once: ${lines}")
endif()

# A program with one device by two backends. The grid of the first has three cells, one of them below
# the bar and one with a peer. That of the second was ended early.
set(device "{\"index\": 0, \"name\": \"NVIDIA X1\", \"platform\": \"CUDA\", \"driver\": \"1\", \"class\": \"gpu\", \"compute_units\": 2}")
set(engine "{\"name\": \"tally\", \"seconds\": 1, \"bytes_per_second\": 4, \"tally_is\": 1}")
set(peer "{\"name\": \"CUB\", \"seconds\": 1, \"bytes_per_second\": 4, \"tally_is\": 1.25}")
set(cuda "\"backend\": \"cuda\", \"index\": 0")
set(opencl "\"backend\": \"opencl\", \"index\": 0")
set(grid "\"bar\": 0.90, \"bytes\": 1073741824, \"compile_threads\": 2, \"compile_seconds\": 1.5, \"dtypes\": [\"f16\", \"f32\"], \"ops\": [\"sum\", \"var\"]")
set(times "\"plan_seconds\": 0.5, \"first_call_seconds\": 0.25")
file(WRITE ${WORK}/build/tally "#!/bin/sh
case \"$*\" in
devices*) cat <<'.'
{\"backends\": [{\"backend\": \"cuda\", \"devices\": [${device}]}, {\"backend\": \"opencl\", \"devices\": [${device}]}]}
.
;;
*--primitive\\ segments*) cat <<'.'
{\"primitive\": \"segments\", \"group\": \"rows\", \"segments\": \"rows of 4\", \"op\": \"sum\", \"dtype\": \"f32\", \"bytes\": 4, \"of_read\": 0.844, \"bar\": 0.85, \"engines\": [${engine}, ${peer}]}
.
;;
*--ops\\ all*) cat <<'.'
{\"op\": \"sum\", \"dtype\": \"f32\", ${cuda}, \"of_read\": 0.98, ${times}, \"engines\": [${engine}, ${peer}]}
{\"op\": \"var\", \"dtype\": \"f32\", ${cuda}, \"of_read\": 0.43, ${times}, \"engines\": [${engine}]}
{\"op\": \"sum\", \"dtype\": \"f16\", ${cuda}, \"of_read\": 0.896, ${times}, \"engines\": [${engine}]}
{\"op\": \"sum\", \"dtype\": \"f32\", ${opencl}, \"of_read\": 0.97, ${times}, \"engines\": [${engine}]}
{\"grid\": \"cuda:0\", ${grid}, \"cells\": 3, \"below_bar\": 1, \"not_measured\": []}
{\"grid\": \"opencl:0\", ${grid}, \"cells\": 1, \"below_bar\": 0, \"not_measured\": [[\"var\", \"f32\"], [\"sum\", \"f16\"]]}
.
;;
esac
")
file(CHMOD ${WORK}/build/tally PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
execute_process(COMMAND ${PYTHON} ${WORK}/ci/performance --build ${WORK}/build ${WORK}/grid COMMAND_ERROR_IS_FATAL ANY
                OUTPUT_QUIET ERROR_QUIET)
file(READ ${WORK}/grid/x1.md text)
file(READ ${WORK}/grid/grid-x1.md grid)
string(APPEND text "${grid}")
foreach(part IN ITEMS "    tally bench --backend cuda:0,opencl:0 --ops all --dtypes all\n" "1024 MiB each input" "1 of 3 cells"
                      "### By opencl:0\n\n0 of 1 cells are below 0.90 (bold). 2 cells were not measured (?).\n"
                      "|  | f16 | f32 |\n| --- | --- | --- |\n| sum | ? | 0.97 |\n| var |  | ? |\n" "(grid-x1.svg)" "(grid-x1.md)" "|  | f16 | f32 |\n| --- | --- | --- |\n| sum | 0.90 | 0.98 |\n| var |  | **0.43** |\n"
                      "|  | f32 |\n| --- | --- |\n| sum | CUB 1.25 |\n" "| rows | rows of 4 | sum | f32 | 1000000.00 | 0.0 | **0.84** | 0.85 | CUB 1.25 |" "| sum | 0.75 | 0.75 |")
  string(FIND "${text}" "${part}" at)
  if(at EQUAL -1)
    message(FATAL_ERROR "The pages of x1 have no\n${part}\nThey are:\n${text}")
  endif()
endforeach()
