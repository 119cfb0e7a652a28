/* SPDX-License-Identifier: MIT */
/*
 * The promise of segments: the same items give the same bits, whether they lie in a row, a column,
 * a middle axis, an F-ordered copy, a strided or reversed slice, between offsets, in a run of keys,
 * in a host array, or are reduced alone. No oracle takes part.
 */
#include <stdlib.h>
#include <string.h>

#include "direct.h"
#include "oracle/items.h"
#include "oracle/patterns.h"
#include "segments_walk.h"
#include "tests/support/sample.h"
#include "tests/support/test_main.h"

#define MOST_N UINT64_C(20000)
#define WIDTH 16 /* most bytes of an item, and of a value */

/* The items, and the value that they have alone. */
typedef struct given {
    tally_context *context;
    tally_queue *queue;
    tally_plan *by_axes, *by_offsets, *by_keys;
    tally_plan *by_axes_one;  /* of one segment: on GPUs it has the kernels of whole inputs too */
    tally_segments_desc desc; /* of by_axes */
    oracle_case of;
    size_t item_bytes, value_bytes;
    uint64_t n;
    const unsigned char *items;
    unsigned char alone[2 * WIDTH];
} given;

/* Makes device memory of random items, in which the items of `g` are every `stride`-th from `first`
 * on. */
static tally_buffer *spread(const given *g, uint64_t count, uint64_t first, int64_t stride) {
    unsigned char *memory = malloc((count + 1) * g->item_bytes);
    tally_buffer *buffer;
    assert_non_null(memory);
    pattern_fill(segments_usual_pattern(g->of.op), g->desc.in, memory, count);
    for (uint64_t i = 0; i < g->n; i++)
        memcpy(memory + ((int64_t)first + (int64_t)i * stride) * (int64_t)g->item_bytes, g->items + i * g->item_bytes,
               g->item_bytes);
    MUST(tally_buffer_create(g->context, count * g->item_bytes, &buffer));
    MUST(tally_buffer_write(g->queue, buffer, 0, memory, count * g->item_bytes));
    MUST(tally_queue_wait(g->queue));
    free(memory);
    return buffer;
}

/* Compares result `at` of the buffer with the value alone. */
static void expect_alone(const given *g, tally_buffer *out, uint64_t at, const char *form) {
    unsigned char got[2 * WIDTH];
    MUST(tally_buffer_read(g->queue, out, at * g->value_bytes, got, g->value_bytes));
    MUST(tally_queue_wait(g->queue));
    if (memcmp(got, g->alone, g->value_bytes) != 0)
        fail_msg("%s of %llu %s: as %s it has other bits than alone", tally_op_name(g->of.op), (unsigned long long)g->n,
                 tally_dtype_name(g->desc.in), form);
}

static tally_buffer *make_out(const given *g, uint64_t results) {
    tally_buffer *out;
    MUST(tally_buffer_create(g->context, results * g->value_bytes, &out));
    return out;
}

/* ---- by axes --------------------------------------------------------------------------------- */

/* An array in which the items are one segment, of number `at` among `results`. */
typedef struct form {
    const char *name;
    tally_axis axes[3];
    uint32_t count;
    uint64_t items, first; /* of the memory; the first of the segment's items */
    int64_t stride;        /* from one of them to the next in memory */
    uint64_t results, at, zero;
} form;

static tally_axis kept(uint64_t extent, int64_t stride) {
    return (tally_axis){.extent = extent, .in_stride = {stride, stride}};
}

static tally_axis reduced(uint64_t extent, int64_t stride) {
    return (tally_axis){.extent = extent, .reduced = 1, .in_stride = {stride, stride}};
}

#define FORMS 9
static form form_of(unsigned which, uint64_t n) {
    const int64_t s = (int64_t)n;
    switch (which) {
    case 0:
        return (form){"a whole input", {reduced(n, 1)}, 1, n + 3, 3, 1, 1, 0, 3};
    case 1:
        return (form){"a row", {kept(3, s), reduced(n, 1)}, 2, 3 * n, n, 1, 3, 1, 0};
    case 2:
        return (form){"a column", {reduced(n, 5), kept(5, 1)}, 2, 5 * n, 2, 5, 5, 2, 0};
    case 3:
        return (form){"a column among many", {reduced(n, 40), kept(40, 1)}, 2, 40 * n, 33, 40, 40, 33, 0};
    case 4:
        return (form){"a middle axis", {kept(2, 3 * s), reduced(n, 3), kept(3, 1)}, 3, 6 * n, 3 * n + 1, 3, 6, 4, 0};
    case 5:
        return (form){"a strided slice", {reduced(n, 7), kept(2, 3)}, 2, 7 * n + 4, 1, 7, 2, 0, 1};
    case 6:
        return (form){"a reversed row", {kept(2, s), reduced(n, -1)}, 2, 2 * n, 2 * n - 1, -1, 2, 1, n - 1};
    case 7:
        return (form){"a reversed column", {reduced(n, -4), kept(4, 1)}, 2, 4 * n, 4 * n - 2, -4, 4, 2, 4 * n - 4};
    default:
        return (form){"a row with a kept axis of stride 0", {kept(33, 0), reduced(n, 1)}, 2, n, 0, 1, 33, 32, 0};
    }
}

static void reduce_axes(const given *g, const tally_axis *axes, uint32_t count, tally_buffer *in, uint64_t in_offset,
                        tally_buffer *out) {
    const tally_axes_args args = {.size = sizeof args,
                                  .axes = axes,
                                  .axis_count = count,
                                  .in = {in, g->of.op && oracle_inputs(g->of.op) > 1 ? in : NULL},
                                  .in_offset = {in_offset, in_offset},
                                  .out = {out}};
    MUST(tally_reduce_axes(g->by_axes, g->queue, &args));
}

static void expect_form(const given *g, unsigned which) {
    const form f = form_of(which, g->n);
    tally_buffer *in = spread(g, f.items, f.first, f.stride), *out = make_out(g, f.results);
    reduce_axes(g, f.axes, f.count, in, f.zero, out);
    expect_alone(g, out, f.at, f.name);
    tally_buffer_destroy(in);
    tally_buffer_destroy(out);
}

/* Several reduced axes, in C order and as an F-ordered copy: the items' order is that of the axes,
 * not of memory. */
static void expect_axes(const given *g) {
    uint64_t factor = 1;
    for (uint64_t k = 2; k * k <= g->n; k++)
        if (g->n % k == 0) factor = k;
    const uint64_t m = factor, rest = g->n / factor;
    unsigned char *copy = malloc(g->n * g->item_bytes);
    given turned = *g;
    assert_non_null(copy);
    for (uint64_t i = 0; i < g->n; i++)
        memcpy(copy + (i / rest + i % rest * m) * g->item_bytes, g->items + i * g->item_bytes, g->item_bytes);
    turned.items = copy;
    const tally_axis in_order[] = {reduced(m, (int64_t)rest), kept(1, 0), reduced(rest, 1)};
    const tally_axis by_columns[] = {reduced(m, 1), reduced(rest, (int64_t)m)};
    tally_buffer *in = spread(g, g->n, 0, 1), *f_ordered = spread(&turned, g->n, 0, 1), *out = make_out(g, 1);
    reduce_axes(g, in_order, 3, in, 0, out);
    expect_alone(g, out, 0, "several axes");
    reduce_axes(g, by_columns, 2, f_ordered, 0, out);
    expect_alone(g, out, 0, "an F-ordered copy");
    tally_buffer_destroy(in);
    tally_buffer_destroy(f_ordered);
    tally_buffer_destroy(out);
    free(copy);
}

static void expect_host(const given *g) {
    const tally_axis axes[] = {reduced(g->n, 1)};
    unsigned char got[2 * WIDTH];
    const tally_host_axes array = {.size = sizeof array,
                                   .axes = axes,
                                   .axis_count = 1,
                                   .in = {g->items, oracle_inputs(g->of.op) > 1 ? g->items : NULL},
                                   .out = {got}};
    MUST(tally_reduce_host_axes(g->context, &g->desc, &array));
    if (memcmp(got, g->alone, g->value_bytes) != 0) fail_msg("%s: as a host array it has other bits", tally_op_name(g->of.op));
}

/* ---- by offsets and by keys ------------------------------------------------------------------ */

static tally_buffer *upload(const given *g, const void *from, uint64_t bytes) {
    tally_buffer *buffer;
    MUST(tally_buffer_create(g->context, bytes, &buffer));
    MUST(tally_buffer_write(g->queue, buffer, 0, from, bytes));
    MUST(tally_queue_wait(g->queue));
    return buffer;
}

/* The items are segment 2 of 4, between others. */
static void expect_offsets(const given *g) {
    const uint64_t begins[] = {0, 5, 13, 13 + g->n, 20 + g->n};
    tally_buffer *offsets = upload(g, begins, sizeof begins), *in = spread(g, begins[4], 13, 1), *out = make_out(g, 4);
    const tally_offsets_args args = {.size = sizeof args,
                                     .count = 4,
                                     .begins = offsets,
                                     .in = {in, oracle_inputs(g->of.op) > 1 ? in : NULL},
                                     .n = begins[4],
                                     .out = {out}};
    MUST(tally_reduce_offsets(g->by_offsets, g->queue, &args));
    expect_alone(g, out, 2, "a segment by offsets");
    tally_buffer_destroy(offsets);
    tally_buffer_destroy(in);
    tally_buffer_destroy(out);
}

/* The items are run 1 of 3. */
static void expect_keys(const given *g) {
    const uint64_t n = g->n + 20;
    uint32_t *keys = malloc(n * sizeof *keys);
    assert_non_null(keys);
    for (uint64_t i = 0; i < n; i++) keys[i] = i < 11 ? 7 : i < 11 + g->n ? 3 : 7;
    tally_buffer *by = upload(g, keys, n * sizeof *keys), *in = spread(g, n, 11, 1), *out = make_out(g, 3);
    tally_buffer *runs = upload(g, &n, sizeof n);
    const tally_keys_args args = {.size = sizeof args,
                                  .keys = by,
                                  .in = {in, oracle_inputs(g->of.op) > 1 ? in : NULL},
                                  .n = n,
                                  .capacity = 3,
                                  .out = {out},
                                  .runs = runs};
    MUST(tally_reduce_keys(g->by_keys, g->queue, &args));
    expect_alone(g, out, 1, "a run of keys");
    tally_buffer *const all[] = {by, in, out, runs};
    for (size_t b = 0; b < TALLY_ARRAY_LENGTH(all); b++) tally_buffer_destroy(all[b]);
    free(keys);
}

/* The plan of one segment, with a first item that is aligned to 16 bytes, and with others. */
static void expect_one(const given *g) {
    static const uint64_t first[] = {0, 16, 3};
    given one = *g;
    one.by_axes = g->by_axes_one;
    for (size_t f = 0; f < TALLY_ARRAY_LENGTH(first); f++) {
        const tally_axis axes[] = {kept(1, 0), reduced(g->n, 1)};
        tally_buffer *in = spread(g, g->n + first[f], first[f], 1), *out = make_out(g, 1);
        reduce_axes(&one, axes, 2, in, first[f], out);
        expect_alone(g, out, 0, "the only segment");
        tally_buffer_destroy(in);
        tally_buffer_destroy(out);
    }
}

/* ---- the promise ----------------------------------------------------------------------------- */

static void open_plans(given *g, const oracle_case *of) {
    g->of = *of;
    g->item_bytes = item_bytes_of(of->in);
    g->value_bytes = oracle_result_bytes(of);
    g->desc = (tally_segments_desc){
        .size = sizeof g->desc, .by = TALLY_BY_AXES, .op = of->op, .in = of->in, .max_n = 40 * MOST_N, .max_segments = 100};
    tally_segments_desc desc = g->desc;
    MUST(tally_segments_plan_create(g->context, &desc, &g->by_axes));
    desc.max_segments = 1;
    MUST(tally_segments_plan_create(g->context, &desc, &g->by_axes_one));
    desc.max_segments = g->desc.max_segments;
    desc.by = TALLY_BY_OFFSETS;
    MUST(tally_segments_plan_create(g->context, &desc, &g->by_offsets));
    desc.by = TALLY_BY_KEYS;
    desc.key_bytes = sizeof(uint32_t);
    MUST(tally_segments_plan_create(g->context, &desc, &g->by_keys));
    MUST(tally_queue_create(g->context, &g->queue));
}

static void close_plans(given *g) {
    tally_plan_destroy(g->by_axes);
    tally_plan_destroy(g->by_axes_one);
    tally_plan_destroy(g->by_offsets);
    tally_plan_destroy(g->by_keys);
    tally_queue_destroy(g->queue);
}

/* Takes 1 of `parts` of the lengths. */
static void expect_same(tally_context *context, const oracle_case *of, size_t parts) {
    static const uint64_t lengths[] = {1, 2, 3, 30, 32, 33, 100, 128, 129, 1000, 4096, 4097, 8200, MOST_N};
    unsigned char *items = malloc(MOST_N * WIDTH);
    given g = {.context = context, .items = items};
    assert_non_null(items);
    open_plans(&g, of);
    for (size_t l = 0; l < TALLY_ARRAY_LENGTH(lengths); l++) {
        const tally_reduce_desc desc = {.op = of->op, .in = of->in};
        const void *const both[] = {items, items};
        if ((l + of->op + of->in) % (quick() ? 3 : parts)) continue;
        g.n = lengths[l];
        pattern_fill(segments_usual_pattern(of->op), of->in, items, g.n);
        direct_reduce(context, &desc, NULL, both, g.n, g.alone);
        for (unsigned which = 0; which < FORMS; which++) expect_form(&g, which);
        expect_one(&g);
        expect_axes(&g);
        expect_offsets(&g);
        expect_keys(&g);
        expect_host(&g);
    }
    close_plans(&g);
    free(items);
}

static void test_same_bits(void **state) {
    for (size_t s = 0; s < SEGMENTS_SAMPLES; s++) {
        const oracle_case *of = segments_sample(state, s);
        if (of) expect_same(direct_context(state), of, 1);
    }
}

/* A backend without a compiler has every op and type. */
static void test_same_bits_of_all(void **state) {
    if (has_compiler(*state) && !full()) test_skip("of all ops and types: TALLY_TEST_FULL=1 asks for them");
    for (tally_op op = TALLY_OP_NONE + 1; op < TALLY_OP_END; op++)
        for (tally_dtype in = TALLY_DTYPE_DEFAULT + 1; in < TALLY_DTYPE_END; in++) {
            const oracle_case of = {.op = op, .in = in};
            if (segments_is_here(state, &of) && cells_want_pair(op, in) && sample_has_turn(op + in))
                expect_same(direct_context(state), &of, 3);
        }
}

const device_test segments_same_tests[] = {
    {"segments: the same items, the same bits", test_same_bits},
    {"segments: the same items, the same bits, every op and type", test_same_bits_of_all},
    {NULL, NULL},
};
