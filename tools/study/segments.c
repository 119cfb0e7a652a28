/* SPDX-License-Identifier: MIT */
/*
 * segments.c: the rows of the study of segments. All items of the input are an array of rows of a
 * length that are reduced, or of columns of that height. A row of the study is called "rows_64" or
 * "columns_64".
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "items.h"

#define LENGTHS 12              /* 1, 4, 16, ..., 4^11 */
#define SAMPLE ((uint64_t)4096) /* segments to check where the oracle takes long */

bool study_segments_row(uint64_t n, size_t index, tally_variant_info *out) {
    static char names[2 * LENGTHS][24];
    if (index >= 2 * LENGTHS || UINT64_C(1) << index / 2 * 2 > n) return false;
    snprintf(names[index], sizeof(names[index]), "%s_%" PRIu64, index % 2 ? "columns" : "rows", UINT64_C(1) << index / 2 * 2);
    *out = (tally_variant_info){.name = names[index]};
    return true;
}

bool study_segments_are_rows(const char *row) {
    return *row == 'r';
}

uint64_t study_segments_length(const char *row) {
    return strtoull(strchr(row, '_') + 1, NULL, 10);
}

uint64_t study_segments_bytes(const study_request *request, const char *row, uint64_t n) {
    const uint64_t length = study_segments_length(row), values = tally_result_count(request->op, request->dtype);
    return n / length *
           (length * study_item_bytes(request) + values * tally_dtype_bytes(tally_result_dtype(request->op, request->dtype)));
}

/* ---- running --------------------------------------------------------------------------------- */

tally_status study_segments_plan(const study_memory *m, uint64_t max_n, tally_plan **out) {
    const tally_segments_desc desc = {.size = sizeof(desc),
                                      .by = TALLY_BY_AXES,
                                      .op = m->request->op,
                                      .in = m->request->dtype,
                                      .max_n = max_n,
                                      .max_segments = max_n};
    return tally_segments_plan_create(m->context, &desc, out);
}

tally_status study_segments_run(const study_memory *m, tally_plan *plan, const char *row, uint64_t n) {
    const uint64_t length = study_segments_length(row), count = n / length;
    const bool rows = study_segments_are_rows(row);
    const tally_axis along = {.extent = length, .reduced = 1, .in_stride = {rows ? 1 : (int64_t)count}};
    const tally_axis across = {.extent = count, .in_stride = {rows ? (int64_t)length : 1}};
    const tally_axis axes[2] = {rows ? across : along, rows ? along : across};
    const tally_axes_args args = {.size = sizeof(args), .axes = axes, .axis_count = 2, .in = {m->in}, .out = {m->out}};
    return tally_reduce_axes(plan, m->queue, &args);
}

/* ---- checking -------------------------------------------------------------------------------- */

/* Computes the value of a segment whose items are `stride` items apart. `room` holds its items. */
static void expect(const study_recipe *recipe, const unsigned char *items, uint64_t length, uint64_t stride,
                   unsigned char *room, oracle_result *value) {
    const size_t bytes = tally_dtype_bytes(recipe->what.in);
    oracle_acc all, next;
    for (uint64_t i = 0; i < length; i++) {
        const unsigned char *item = items + i * stride * bytes;
        if (recipe->rounds) {
            memcpy(room + i * bytes, item, bytes);
            continue;
        }
        /* Every order gives the same value, and one after the other is the fastest. */
        oracle_acc_load(&recipe->what, item, i, i ? &next : &all);
        if (i) oracle_acc_combine(&recipe->what, &all, &next);
    }
    if (recipe->rounds)
        oracle_reduce(recipe->what.op, recipe->what.in, room, length, value);
    else
        oracle_acc_finish(&recipe->what, &all, length, value);
}

bool study_segments_check(const study_memory *m, const char *row, uint64_t n, char *text, size_t bytes) {
    const study_request *r = m->request;
    const study_recipe *recipe = study_input_recipe(m->input);
    const uint64_t length = study_segments_length(row), count = n / length;
    const bool rows = study_segments_are_rows(row);
    const uint64_t step = recipe->rounds && count > SAMPLE ? count / SAMPLE : 1;
    const tally_dtype type = tally_result_dtype(r->op, r->dtype);
    const size_t value_bytes = tally_result_count(r->op, r->dtype) * tally_dtype_bytes(type);
    unsigned char *room = malloc(length * study_item_bytes(r));
    bool right = room || (snprintf(text, bytes, "out of memory"), false);
    for (uint64_t s = 0; s < count && right; s += step) {
        oracle_result want;
        const unsigned char *got = m->got + s * value_bytes;
        expect(recipe, study_input_items(m->input) + (rows ? s * length : s) * study_item_bytes(r), length, rows ? 1 : count,
               room, &want);
        right = memcmp(got, want.bytes, value_bytes) == 0;
        if (!right)
            snprintf(text, bytes, "segment %" PRIu64 " is %s, not %s", s, cli_value_text(type, got).text,
                     cli_value_text(type, want.bytes).text);
    }
    free(room);
    return right;
}
