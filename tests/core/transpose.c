/* SPDX-License-Identifier: MIT */
/* The transposition of the backend host (src/host/transpose.h): all small shapes, against items
 * copied one by one. The arrays end with the last item, so that a sanitizer finds what reads or
 * writes beyond it. */
#include <stdlib.h>
#include <string.h>

#include "core.h"
#include "host/programs.h"
#include "tests/support/test_main.h"

#define MOST 40 /* rows and columns: more than a tile of bytes has */

/* A shape. Steps are in bytes; a step of rows below 0 begins with the last row in memory. */
typedef struct shape {
    uint64_t rows, columns;
    int64_t from_step;
    uint64_t to_step;
} shape;

static unsigned char *take_bytes(uint64_t bytes, unsigned char first) {
    unsigned char *taken = malloc(bytes);
    assert_non_null(taken);
    for (uint64_t i = 0; i < bytes; i++) taken[i] = (unsigned char)(first + i * 167 + i / 251);
    return taken;
}

static void check_shape(uint32_t log, shape s) {
    const uint64_t item = UINT64_C(1) << log, step = (uint64_t)(s.from_step < 0 ? -s.from_step : s.from_step);
    const uint64_t bytes = (s.rows - 1) * step + s.columns * item, to_bytes = (s.columns - 1) * s.to_step + s.rows * item;
    unsigned char *items = take_bytes(bytes, 0), *expected = take_bytes(to_bytes, 99), *to = take_bytes(to_bytes, 99);
    const unsigned char *from = s.from_step < 0 ? items + (s.rows - 1) * step : items;
    for (uint64_t r = 0; r < s.rows; r++)
        for (uint64_t c = 0; c < s.columns; c++)
            memcpy(expected + c * s.to_step + r * item, from + (int64_t)r * s.from_step + c * item, item);
    tally_host_code_here()->shared.transpose[log](from, s.from_step, to, s.to_step, s.rows, s.columns);
    if (memcmp(to, expected, to_bytes) != 0)
        fail_msg("%llu rows of %llu items of %llu bytes, %lld bytes apart", (unsigned long long)s.rows,
                 (unsigned long long)s.columns, (unsigned long long)item, (long long)s.from_step);
    free(to);
    free(expected);
    free(items);
}

static void all_shapes(void **state) {
    (void)state;
    if (!tally_host_code_here()->programs) test_skip("the library has no programs of its own");
    for (uint32_t log = 0; log < 4; log++)
        for (uint64_t rows = 1; rows <= MOST; rows++)
            for (uint64_t columns = 1; columns <= MOST; columns++) {
                const uint64_t row = columns << log, column = rows << log;
                const int64_t apart = (int64_t)row + 3;
                check_shape(log, (shape){rows, columns, (int64_t)row, column});
                check_shape(log, (shape){rows, columns, apart, column + 5});
                check_shape(log, (shape){rows, columns, -apart, column});
            }
}

/* One row that all rows are, as a stride of 0 has it. */
static void equal_rows(void **state) {
    (void)state;
    if (!tally_host_code_here()->programs) test_skip("the library has no programs of its own");
    for (uint32_t log = 0; log < 4; log++)
        for (uint64_t columns = 1; columns <= MOST; columns++)
            check_shape(log, (shape){MOST, columns, 0, (uint64_t)MOST << log});
}

const core_test transpose_tests[] = {
    {"transpose: all small shapes", all_shapes}, {"transpose: rows that are one", equal_rows}, {NULL, NULL}};
