# SPDX-License-Identifier: MIT
# Records of parts: changed ones (fuzz.c), and those of 100,000 parts joined (many.c). A million
# inputs under the sanitizers take a minute:
#   cmake --preset asan && cmake --build --preset asan --target fuzz_parts
#   build/asan/tests/fuzz_parts 1000000
foreach(name IN ITEMS fuzz many)
  tally_test_tool(${name}_parts parts/${name}.c)
  add_test(NAME parts-${name} COMMAND ${name}_parts)
  set_tests_properties(parts-${name} PROPERTIES LABELS unit TIMEOUT 300 ENVIRONMENT TALLY_CACHE_DIR=off)
endforeach()
