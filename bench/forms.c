/* SPDX-License-Identifier: MIT */
/* forms.c: the table of a grid's forms, the shapes of their cells, and what lies in ARRAY_MAP. It
 * is compiled with OpenMP. */
#include <stdio.h>
#include <string.h>

#include "bench/forms.h"
#include "oracle/oracle.h"

const bench_form bench_forms[BENCH_FORMS + 1] = {
    {"whole", "whole arrays", BENCH_REDUCE, CUT_ONE, 0, 0},
    {"rows-4", "rows of 4", BENCH_SEGMENTS, CUT_ROWS, 4, 0},
    {"rows-32", "rows of 32", BENCH_SEGMENTS, CUT_ROWS, 32, 0},
    {"rows-1000", "rows of 1,000", BENCH_SEGMENTS, CUT_ROWS, 1000, 0},
    {"columns-256", "columns of 256 items", BENCH_SEGMENTS, CUT_COLUMNS, 256, 0},
    {"wide-256", "256 columns", BENCH_SEGMENTS, CUT_WIDTHS, 256, 0},
    {"offsets-8", "segments of mean 8, by offsets", BENCH_SEGMENTS, CUT_LENGTHS, 8, 0},
    {"offsets-100", "segments of mean 100, by offsets", BENCH_SEGMENTS, CUT_LENGTHS, 100, 0},
    {"masked", "rows of 2^18, with a mask", BENCH_SEGMENTS, CUT_ROWS, 1 << 18, 1},
    {"masked-rows-32", "rows of 32, with a mask", BENCH_SEGMENTS, CUT_ROWS, 32, 1},
    {"masked-rows-1000", "rows of 1,000, with a mask", BENCH_SEGMENTS, CUT_ROWS, 1000, 1},
    {"masked-columns-256", "columns of 256 items, with a mask", BENCH_SEGMENTS, CUT_COLUMNS, 256, 1},
    {"scan", "scans of the whole array", BENCH_SCAN, CUT_ONE, 0, 0},
    {"scan-segments-100", "scans of segments of mean 100, by flags", BENCH_SCAN, CUT_LENGTHS, 100, 0},
    {"scan-rows-1000", "scans along rows of 1,000", BENCH_SCAN, CUT_ROWS, 1000, 0},
    {"scan-columns-1000", "scans along columns of 1,000 items", BENCH_SCAN, CUT_COLUMNS, 1000, 0},
    {NULL, NULL, BENCH_NONE, CUT_ONE, 0, 0},
};

const bench_task *form_task(const bench_form *form, tally_op op) {
    static bench_task tasks[BENCH_END][TALLY_OP_END];
    bench_task *task = &tasks[form->primitive][op];
    if (!task->primitive) *task = (bench_task){form->primitive, op, MAP_NONE};
    return task;
}

int form_takes(const bench_form *form, tally_op op, tally_dtype in) {
    return tally_result_dtype(op, in) && (form->primitive != BENCH_SCAN || tally_op_inputs(op) == 1);
}

/* ---- shapes ---------------------------------------------------------------------------------- */

uint64_t form_result_bytes(tally_op op, tally_dtype in) {
    return oracle_result_bytes(&(oracle_case){.op = op, .in = in});
}

/* Returns the items that arrays of `bytes` bytes have room for. */
static uint64_t items_of(const bench_form *form, tally_op op, tally_dtype in, uint64_t bytes) {
    const uint64_t per_result = form->primitive == BENCH_SCAN ? 1 : form->size;
    const uint64_t by_items = bytes / tally_dtype_bytes(in), by_results = bytes / form_result_bytes(op, in) * per_result;
    return by_items < by_results ? by_items : by_results;
}

void form_shape(const bench_form *form, tally_op op, tally_dtype in, uint64_t items, uint64_t bytes, bench_segments *out) {
    *out = (bench_segments){.group = form->name, .size = form->size, .cut = form->cut, .op = op, .in = in};
    out->is_masked = form->is_masked;
    out->is_scan = form->primitive == BENCH_SCAN;
    snprintf(out->name, sizeof(out->name), "%s", form->text);
    segments_shape(out, items ? items : items_of(form, op, in, bytes));
    if (form->cut == CUT_LENGTHS) out->count = out->n / form->size * 5 / 4 + 64;
}

uint64_t form_array_bytes(const bench_segments *s, int which) {
    if (which == ARRAY_X) return s->n * tally_dtype_bytes(s->in);
    if (which == ARRAY_Y) return tally_op_inputs(s->op) > 1 ? s->n * tally_dtype_bytes(s->in) : 0;
    if (which == ARRAY_OUT) return (s->is_scan ? s->n : s->count) * form_result_bytes(s->op, s->in);
    if (s->cut == CUT_LENGTHS && !s->is_scan) return (s->count + 1) * sizeof(uint64_t);
    return s->is_masked || s->cut == CUT_LENGTHS ? s->n : 0;
}

uint64_t form_bytes(const bench_segments *s) {
    uint64_t bytes = 0;
    for (int a = 0; a < ARRAYS; a++) bytes += form_array_bytes(s, a);
    return bytes;
}

/* ---- masks, offsets and flags ---------------------------------------------------------------- */

/* Masks half of the items, by Knuth's multiplicative hash. */
static void fill_mask(uint8_t *mask, uint64_t n) {
#pragma omp parallel for schedule(static)
    for (uint64_t i = 0; i < n; i++) mask[i] = (uint8_t)(i * UINT64_C(0x9e3779b97f4a7c15) >> 63);
}

int form_fill_map(bench_segments *s, void *map, uint64_t *offsets, uint64_t room) {
    if (s->is_masked) fill_mask(map, s->n);
    if (s->cut != CUT_LENGTHS) return 0;
    if (segments_cut_items(s, offsets, room)) return 1;
    if (!s->is_scan) {
        memcpy(map, offsets, (s->count + 1) * sizeof(*offsets));
        return 0;
    }
    memset(map, 0, s->n);
    for (uint64_t k = 0; k < s->count; k++) ((uint8_t *)map)[offsets[k]] = 1;
    return 0;
}
