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

/* ---- many rows of few items ------------------------------------------------------------------ */

#define ROWS UINT64_C(1000000)
#define MOST_N 3
#define SOME 100 /* rows that are checked, of each STEP rows */
#define STEP 4999
#define RESULT_BYTES 8 /* of each of the ops */

typedef struct rows_work {
    tally_context *context;
    tally_queue *queue;
    tally_plan *plan;
    tally_buffer *in, *out;
} rows_work;

/* Reduces all rows, which have n items each and begin MOST_N items apart. */
static void reduce_rows(const rows_work *w, uint64_t n) {
    const tally_axis axes[] = {{.extent = ROWS, .in_stride = {MOST_N}}, {.extent = n, .in_stride = {1}, .reduced = 1}};
    const tally_axes_args args = {.size = sizeof(args), .axes = axes, .axis_count = 2, .in = {w->in}, .out = {w->out}};
    MUST(tally_reduce_axes(w->plan, w->queue, &args));
}

/* Compares the results of some rows with those of the same items by tally_reduce_host. */
static void check_rows(const rows_work *w, tally_op op, tally_dtype in, const unsigned char *items, uint64_t n) {
    unsigned char got[SOME * RESULT_BYTES], expected[RESULT_BYTES];
    for (uint64_t first = 0; first + SOME <= ROWS; first += STEP) {
        MUST(tally_buffer_read(w->queue, w->out, first * RESULT_BYTES, got, sizeof got));
        MUST(tally_queue_wait(w->queue));
        for (uint64_t r = 0; r < SOME; r++) {
            const unsigned char *row = items + (first + r) * MOST_N * tally_dtype_bytes(in);
            MUST(tally_reduce_host(w->context, op, in, row, n, expected));
            if (memcmp(got + r * RESULT_BYTES, expected, RESULT_BYTES) != 0)
                fail_msg("%s: row %llu of %llu items", tally_op_name(op), (unsigned long long)(first + r),
                         (unsigned long long)n);
        }
    }
}

/* Reduces so many rows that all of a block may not be transposed at once. */
static void many_rows(tally_op op, tally_dtype in) {
    const tally_segments_desc desc = {
        .size = sizeof(desc), .by = TALLY_BY_AXES, .op = op, .in = in, .max_n = ROWS * MOST_N, .max_segments = ROWS};
    const size_t bytes = ROWS * MOST_N * tally_dtype_bytes(in);
    unsigned char *items = take_bytes(bytes, 1);
    rows_work w;
    MUST(tally_context_create("host", &w.context));
    MUST(tally_queue_create(w.context, &w.queue));
    MUST(tally_segments_plan_create(w.context, &desc, &w.plan));
    MUST(tally_buffer_create(w.context, bytes, &w.in));
    MUST(tally_buffer_create(w.context, ROWS * RESULT_BYTES, &w.out));
    MUST(tally_buffer_write(w.queue, w.in, 0, items, bytes));
    for (uint64_t n = 1; n <= MOST_N; n++) {
        reduce_rows(&w, n);
        check_rows(&w, op, in, items, n);
    }
    tally_buffer_destroy(w.out);
    tally_buffer_destroy(w.in);
    tally_plan_destroy(w.plan);
    tally_queue_destroy(w.queue);
    tally_context_destroy(w.context);
    free(items);
}

static void tiny_rows(void **state) {
    (void)state;
    if (!tally_host_code_here()->programs) test_skip("the library has no programs of its own");
    many_rows(TALLY_SUM, TALLY_I8);
    many_rows(TALLY_ARGMAX, TALLY_F32);
    many_rows(TALLY_VAR, TALLY_F64);
}

const core_test transpose_tests[] = {{"transpose: all small shapes", all_shapes},
                                     {"transpose: rows that are one", equal_rows},
                                     {"transpose: a million rows of few items", tiny_rows},
                                     {NULL, NULL}};
