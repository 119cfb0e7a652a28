/* SPDX-License-Identifier: MIT */
/*
 * Segments by axes on a real device: every op and item type over fixed shapes and shapes drawn at
 * random. A device that compiles has every op of f32, i32 and c64 here and every type of sum and
 * max; TALLY_TEST_FULL has all on every device.
 */
#include <string.h>

#include "direct.h"
#include "oracle/patterns.h"
#include "segments_walk.h"
#include "tests/support/sample.h"
#include "tests/support/test_main.h"

static int wants_pair(void **state, tally_op op, tally_dtype in) {
    const oracle_case of = {.op = op, .in = in};
    const int is_first = in == TALLY_F32 || in == TALLY_I32 || in == TALLY_C64 || op == TALLY_SUM || op == TALLY_MAX;
    return segments_is_here(state, &of) && cells_want_pair(op, in) && (is_first || full() || !has_compiler(*state));
}

/* ---- long segments --------------------------------------------------------------------------- */

/* A segment of more chunks than a plan has room for, over 2^30 items, which is cut in slices. An
 * axis of stride 0 makes it of few items: item k of them is items 4,096 k to 4,096 k + 4,095. */
static void test_slices(void **state) {
    enum { ITEMS = (1 << 18) + 77, TIMES = 4096, HIGHEST = (1 << 18) + 3 };
    if (has_compiler(*state) && !full()) test_skip("only with TALLY_TEST_FULL=1");
    tally_context *context = direct_context(state);
    static uint8_t items[ITEMS];
    const tally_axis axes[] = {{.extent = ITEMS, .reduced = 1, .in_stride = {1}}, {.extent = TIMES, .reduced = 1}};
    const tally_term_desc terms[] = {{.op = TALLY_SUM}, {.op = TALLY_ARGMAX}};
    struct {
        uint64_t sum, at;
    } result;
    const tally_segments_desc desc = {.size = sizeof desc, .in = TALLY_U8, .terms = terms, .term_count = 2};
    uint64_t sum = 0;
    for (uint64_t i = 0; i < ITEMS; i++) sum += items[i] = (uint8_t)(i == HIGHEST ? 255 : pattern_random(i) % 200);
    const tally_host_axes array = {.size = sizeof array, .axes = axes, .axis_count = 2, .in = {items}, .out = {&result}};
    MUST(tally_reduce_host_axes(context, &desc, &array));
    assert_int_equal(result.sum, sum * TIMES);
    assert_int_equal(result.at, (uint64_t)HIGHEST * TIMES);
}

/* ---- ops and types --------------------------------------------------------------------------- */

static void expect_ops(void **state, tally_dtype in) {
    for (tally_op op = TALLY_OP_NONE + 1; op < TALLY_OP_END; op++)
        if (sample_has_turn(op) && wants_pair(state, op, in))
            segments_expect_desc(state, &(tally_segments_desc){.op = op, .in = in}, NULL, MASK_ONES);
}

#define OPS_OF(dtype)                                                                                                          \
    static void test_##dtype(void **state) {                                                                                   \
        expect_ops(state, TALLY_##dtype);                                                                                      \
    }
OPS_OF(F32)
OPS_OF(F64)
OPS_OF(I32)
OPS_OF(U32)
OPS_OF(I64)
OPS_OF(U64)
OPS_OF(F16)
OPS_OF(BF16)
OPS_OF(I8)
OPS_OF(I16)
OPS_OF(U8)
OPS_OF(U16)
OPS_OF(BOOL)
OPS_OF(C64)
OPS_OF(C128)

/* NaN, infinities, zeros and limits, at places that differ from segment to segment. */
static void test_patterns(void **state) {
    static const segments_shape shapes[] = {{2, {70, 33}, 2}, {2, {129, 40}, 1}, {3, {5, 4097, 2}, 2}};
    for (size_t s = 0; s < SEGMENTS_SAMPLES; s++)
        for (uint32_t flags = 0; flags <= TALLY_WHERE; flags += TALLY_WHERE) {
            const oracle_case *of = segments_sample(state, s);
            segments_run r;
            if (!of || !has_turn(*state, s + flags)) continue;
            const tally_segments_desc desc = {.by = TALLY_BY_AXES, .op = of->op, .in = of->in, .flags = flags};
            segments_open(&r, direct_context(state), &desc, NULL);
            for (int pattern = 0; pattern < PATTERNS; pattern++)
                for (size_t k = 0; k < TALLY_ARRAY_LENGTH(shapes); k++) {
                    segments_axes c = segments_array(&shapes[k], LAYOUT_C, 0);
                    c.items = (segments_items){pattern, MASK_RANDOM, (uint32_t)pattern % 4, 0};
                    segments_run_axes(&r, &c);
                }
            segments_close(&r);
        }
}

static void test_random(void **state) {
    for (size_t s = 0; s < SEGMENTS_SAMPLES; s++) {
        const oracle_case *of = segments_sample(state, s);
        segments_run r;
        if (!of) continue;
        segments_open(&r, direct_context(state), &(tally_segments_desc){.by = TALLY_BY_AXES, .op = of->op, .in = of->in}, NULL);
        segments_expect_random(&r, MASK_ONES, quick() ? 30 : 150);
        segments_close(&r);
    }
}

/* Every variant by its name, without and with a mask. */
static void test_variants(void **state) {
    unsigned ran = 0;
    for (size_t v = 0; v < SEGMENTS_VARIANTS; v++)
        for (size_t s = 0; s < SEGMENTS_SAMPLES; s++) {
            const oracle_case *of = segments_sample(state, s);
            if (!of || (ran && !has_turn(*state, v + s))) continue;
            const tally_segments_desc desc = {
                .op = of->op, .in = of->in, .flags = s % 3 == 1 ? TALLY_WHERE : 0, .variant = segments_variants[v]};
            ran += (unsigned)segments_expect_desc(state, &desc, NULL, MASK_RANDOM);
        }
    assert_true(ran >= 1);
}

/* Extents, strides and lengths are no part of the text. A plan's largest size may be. */
static void test_no_compilation(void **state) {
    tally_context *context = direct_context(state);
    tally_context_info before, after;
    segments_run r;
    segments_open(&r, context, &(tally_segments_desc){.by = TALLY_BY_AXES, .op = TALLY_SUM, .in = TALLY_F32}, NULL);
    MUST(tally_context_get_info(context, &before));
    segments_expect_fixed(&r, MASK_ONES, 0, 1);
    MUST(tally_context_get_info(context, &after));
    assert_int_equal(after.programs_built + after.programs_from_disk, before.programs_built + before.programs_from_disk);
    segments_close(&r);
}

/* Plans for few and for many items may have programs of their own. */
static void test_sizes_of_plans(void **state) {
    static const uint64_t most[][2] = {{1, 1}, {4096, 4096}, {4096, 1}, {70000, 300}, {UINT64_C(1) << 33, 70000}};
    for (size_t m = 0; m < TALLY_ARRAY_LENGTH(most); m++) {
        segments_run r;
        segments_shape shape;
        const tally_segments_desc desc = {
            .by = TALLY_BY_AXES, .op = TALLY_SUM, .in = TALLY_F32, .max_n = most[m][0], .max_segments = most[m][1]};
        segments_open(&r, direct_context(state), &desc, NULL);
        for (size_t s = 0; segments_fixed_shape(s, &shape); s++) {
            const segments_axes c = segments_array(&shape, LAYOUT_C, 0);
            const uint64_t segments = oracle_axes_segments(c.axes, c.count), length = oracle_axes_length(c.axes, c.count);
            if (segments <= most[m][1] && segments * length <= most[m][0]) segments_run_axes(&r, &c);
        }
        segments_close(&r);
    }
}

/* ---- columns --------------------------------------------------------------------------------- */

/* Columns of n items: `before` kept arrays of n rows of `behind` x width items. `gap` is the number
 * of items behind each row of `width`, in each input. */
typedef struct columns {
    uint64_t before, n, behind, width;
    int64_t gap[2];
    uint32_t skew;
} columns;

/* With this skew the first item is aligned: regions have 5 items before it. */
#define ALIGNED 11

static segments_axes columns_array(const columns *c, int strided) {
    segments_axes array = {.items.skew = c->skew, .out_strided = strided, .count = 4};
    const uint64_t extents[] = {c->before, c->n, c->behind, c->width};
    for (int k = 3; k >= 0; k--) {
        tally_axis *axis = &array.axes[k];
        axis->extent = extents[k];
        axis->reduced = k == 1;
        for (int x = 0; x < 2; x++) {
            const int64_t inner = k < 3 ? axis[1].in_stride[x] * (int64_t)extents[k + 1] : 1;
            axis->in_stride[x] = inner + (k == 2 ? c->gap[x] : 0);
        }
    }
    array.axes[3].out_stride = 2;
    array.axes[2].out_stride = -2 * (int64_t)c->width;
    array.axes[0].out_stride = 2 * (int64_t)(c->width * c->behind) + 1;
    return array;
}

/* Neighbouring columns that one load may take, and columns that it may not. */
static void test_columns(void **state) {
    static const columns arrays[] = {
        {1, 100, 1, 256, {0, 0}, ALIGNED},  {1, 33, 1, 257, {3, 7}, ALIGNED},   {1, 33, 1, 258, {2, 2}, ALIGNED},
        {1, 130, 1, 135, {1, 9}, ALIGNED},  {1, 40, 1, 128, {0, 0}, 0},         {1, 40, 1, 128, {0, 0}, 1},
        {1, 40, 1, 128, {1, 1}, ALIGNED},   {1, 40, 1, 128, {2, 2}, ALIGNED},   {1, 40, 1, 132, {0, 1}, ALIGNED},
        {1, 40, 1, 132, {1, 0}, ALIGNED},   {3, 40, 1, 132, {0, 4}, ALIGNED},   {1, 40, 3, 132, {4, 0}, ALIGNED},
        {3, 40, 2, 130, {2, 2}, ALIGNED},   {3, 40, 2, 7, {1, 1}, ALIGNED},     {2, 4100, 1, 8, {4, 0}, ALIGNED},
        {1, 4100, 1, 27, {1, 5}, ALIGNED},  {1, 2100, 1, 36, {0, 0}, ALIGNED},  {1, 20, 1, 3601, {3, 3}, ALIGNED},
        {1, 130, 1, 3586, {2, 6}, ALIGNED}, {1, 130, 1, 3585, {0, 0}, ALIGNED}, {5, 70, 2, 360, {0, 0}, ALIGNED},
    };
    static const oracle_case cases[] = {
        {.op = TALLY_SUM, .in = TALLY_F32}, {.op = TALLY_DOT, .in = TALLY_F32}, {.op = TALLY_SUM, .in = TALLY_F16},
        {.op = TALLY_SUM, .in = TALLY_F64}, {.op = TALLY_SUM, .in = TALLY_I8},  {.op = TALLY_SUM, .in = TALLY_C128},
        {.op = TALLY_MAX, .in = TALLY_U8},  {.op = TALLY_DOT, .in = TALLY_F16}, {.op = TALLY_NRM2, .in = TALLY_F32},
        {.op = TALLY_DOT, .in = TALLY_F64}, {.op = TALLY_SUM, .in = TALLY_I64}, {.op = TALLY_ALL, .in = TALLY_F64},
    };
    for (size_t v = 0; v < SEGMENTS_VARIANTS; v++)
        for (size_t k = 0; k < TALLY_ARRAY_LENGTH(cases); k++) {
            const tally_segments_desc desc = {.by = TALLY_BY_AXES,
                                              .op = cases[k].op,
                                              .in = cases[k].in,
                                              .max_n = UINT64_C(1) << 19,
                                              .variant = segments_variants[v]};
            segments_run r;
            if ((v || k) && !has_turn(*state, k + v)) continue;
            if (!segments_is_here(state, &cases[k]) || !segments_open(&r, direct_context(state), &desc, NULL)) continue;
            for (size_t a = 0; a < TALLY_ARRAY_LENGTH(arrays); a++) {
                segments_axes array = columns_array(&arrays[a], (a + k) % 2 == 0);
                array.items.pattern = segments_usual_pattern(cases[k].op);
                segments_run_axes(&r, &array);
            }
            segments_close(&r);
        }
}

/* Reduces the columns of each array, by plans for `max_n` items and as many segments as wanted. A
 * device that compiles has some of the ops in turn. */
static void expect_columns(void **state, const columns *arrays, size_t count, uint64_t max_n, uint64_t max_segments) {
    static const oracle_case cases[] = {
        {.op = TALLY_SUM, .in = TALLY_F32}, {.op = TALLY_SUM, .in = TALLY_F16},    {.op = TALLY_SUM, .in = TALLY_I8},
        {.op = TALLY_DOT, .in = TALLY_F32}, {.op = TALLY_NRM2, .in = TALLY_F32},   {.op = TALLY_ARGMAX, .in = TALLY_I8},
        {.op = TALLY_MAX, .in = TALLY_F64}, {.op = TALLY_ARGMIN, .in = TALLY_F16}, {.op = TALLY_PROD, .in = TALLY_U8}};
    if (segments_on_cpu(state)) test_skip("a CPU has blocks of columns");
    for (size_t k = 0; k < TALLY_ARRAY_LENGTH(cases); k++) {
        const tally_segments_desc desc = {
            .by = TALLY_BY_AXES, .op = cases[k].op, .in = cases[k].in, .max_n = max_n, .max_segments = max_segments};
        segments_run r;
        if (k && !has_turn(*state, k)) continue;
        if (!segments_is_here(state, &cases[k]) || !segments_open(&r, direct_context(state), &desc, NULL)) continue;
        for (size_t a = 0; a < count; a++) {
            segments_axes array = columns_array(&arrays[a], (a + k) % 2 == 0);
            array.items.pattern = segments_usual_pattern(cases[k].op);
            segments_run_axes(&r, &array);
        }
        segments_close(&r);
    }
}

/* Columns of up to a chunk row, so many that a thread takes some alone (tally_segments_low). */
static void test_low_columns(void **state) {
    static const columns arrays[] = {{1, 16, 1, 256000, {0, 0}, ALIGNED},
                                     {1, 37, 1, 240003, {0, 1}, ALIGNED},
                                     {1, 9, 1, 250000, {0, 0}, 1},
                                     {2, 70, 1, 124000, {4, 0}, ALIGNED}};
    expect_columns(state, arrays, TALLY_ARRAY_LENGTH(arrays), UINT64_C(1) << 25, 256000);
}

/* Few columns whose rows follow each other, of one chunk or several, and so many chunks that groups
 * take one each (kernels/segment_flat.h); widths that they take, and others. */
static void test_flat_columns(void **state) {
    static const columns arrays[] = {
        {800, 128, 1, 3, {0, 0}, ALIGNED},  {801, 131, 1, 33, {0, 0}, 1},      {750, 257, 1, 5, {0, 0}, 0},
        {700, 129, 1, 72, {0, 0}, ALIGNED}, {700, 130, 1, 36, {0, 0}, 2},      {700, 200, 1, 18, {0, 0}, 1},
        {300, 8200, 1, 3, {0, 0}, ALIGNED}, {1, 2900001, 1, 2, {0, 0}, 1},     {720, 128, 1, 12, {0, 0}, ALIGNED},
        {2, 1500000, 1, 1, {0, 0}, 1},      {750, 140, 1, 8, {0, 0}, ALIGNED}, {720, 140, 1, 73, {0, 0}, 0}};
    expect_columns(state, arrays, TALLY_ARRAY_LENGTH(arrays), UINT64_C(1) << 23, 60000);
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* An array of rows: `gap` items between them, `step` from item to item. */
typedef struct rows_array {
    uint64_t rows, length;
    int64_t gap, step;
    uint32_t skew;
} rows_array;

/* Reduces the rows of each array, by the same plan for up to max_n items (0: the usual), so that
 * each call finds its memory as the last one left it. `flags` are TALLY_WHERE or 0: the mask's rows
 * follow each other. A device that compiles has some of the descriptors in turn. */
static void expect_rows(void **state, const rows_array *arrays, size_t count, uint64_t max_n, uint32_t flags) {
    static const tally_term_desc all[] = {{.op = TALLY_SUM}, {.op = TALLY_ARGMAX}, {.op = TALLY_NRM2}};
    static const tally_segments_desc descs[] = {
        {.op = TALLY_SUM, .in = TALLY_F32},
        {.op = TALLY_DOT, .in = TALLY_F32},
        {.terms = all, .term_count = 3, .in = TALLY_F32},
        {.op = TALLY_SUM, .in = TALLY_F16},
        {.op = TALLY_ARGMAX, .in = TALLY_I8},
        {.op = TALLY_SUM, .in = TALLY_I8},
        {.op = TALLY_SUM, .in = TALLY_C128},
        {.op = TALLY_DOT, .in = TALLY_C64},
        {.op = TALLY_PROD, .in = TALLY_F64},
        {.op = TALLY_MINMAX, .in = TALLY_U16},
        {.op = TALLY_MEAN, .in = TALLY_I32},
        {.op = TALLY_ALLCLOSE, .in = TALLY_F32},
        {.op = TALLY_VAR, .in = TALLY_F32},
        {.op = TALLY_MAX, .in = TALLY_I8},
        {.op = TALLY_LOGSUMEXP, .in = TALLY_F32},
        {.op = TALLY_VAR, .in = TALLY_F16},
        {.op = TALLY_ARGMIN, .in = TALLY_F64},
        {.op = TALLY_LOGSUMEXP, .in = TALLY_F64},
    };
    for (size_t v = 0; v < SEGMENTS_VARIANTS; v++)
        for (size_t k = 0; k < TALLY_ARRAY_LENGTH(descs); k++) {
            const oracle_case of = {.op = descs[k].op, .in = descs[k].in};
            tally_segments_desc desc = descs[k];
            segments_run r;
            if ((v || k) && !has_turn(*state, k + v)) continue;
            desc.by = TALLY_BY_AXES;
            desc.variant = segments_variants[v];
            desc.max_n = max_n;
            desc.max_segments = max_n / 4;
            desc.flags = flags;
            if (desc.op && !segments_is_here(state, &of)) continue;
            if (!segments_open(&r, direct_context(state), &desc, NULL)) continue;
            for (size_t a = 0; a < count; a++) {
                const rows_array *of_rows = &arrays[a];
                const int64_t step = of_rows->step, row = (int64_t)of_rows->length * (step < 0 ? -step : step) + of_rows->gap;
                const size_t turn = (a + 2 * a / count) % 9;
                const segments_mask mask = !flags || turn == 4 ? MASK_ONES : turn == 7 ? MASK_ZEROS : MASK_RANDOM;
                segments_axes array = {.items = {segments_usual_pattern(desc.op), mask, of_rows->skew, 0}, .count = 2};
                if (of_rows->skew == ALIGNED && turn != 3) array.items.mask_skew = ALIGNED;
                array.axes[0] = (tally_axis){.extent = of_rows->rows, .in_stride = {row, row}, .out_stride = -3};
                array.axes[1] = (tally_axis){.extent = of_rows->length, .reduced = 1, .in_stride = {step, step}};
                array.axes[0].where_stride = (int64_t)of_rows->length;
                array.axes[1].where_stride = 1;
                array.out_strided = a % 2 == 0;
                segments_run_axes(&r, &array);
            }
            segments_close(&r);
        }
}

/* Few rows of more than one chunk, which one launch takes: aligned or not, with gaps, reversed, and
 * of another order of results. */
static void test_few_rows(void **state) {
    static const rows_array arrays[] = {{2, 8192, 0, 1, ALIGNED},  {3, 8192, 0, 1, 0},        {8, 8192, 0, 1, 1},
                                        {2, 4097, 0, 1, ALIGNED},  {3, 4097, 1, 1, 2},        {8, 4097, 0, 1, 0},
                                        {3, 8193, 5, 1, ALIGNED},  {1, 65537, 0, 1, 0},       {2, 16000, 0, -1, 3},
                                        {3, 12289, 7, 2, 1},       {8, 12288, 0, 1, ALIGNED}, {2, 65536, 0, 1, ALIGNED},
                                        {5, 20001, 0, 1, ALIGNED}, {15, 8191, 1, 1, 0},       {31, 4200, 0, 1, 5}};
    expect_rows(state, arrays, TALLY_ARRAY_LENGTH(arrays), 0, 0);
}

/* Rows of up to a chunk: of few of them 128 threads share one, of many a warp has one. The numbers
 * are near the limits of an H200. */
static void test_rows_of_a_chunk(void **state) {
    static const rows_array arrays[] = {{1, 4096, 0, 1, ALIGNED},   {37, 3000, 1, 1, 2},        {130, 768, 0, 1, ALIGNED},
                                        {264, 1028, 0, -1, 1},      {265, 1028, 0, 1, ALIGNED}, {528, 2052, 0, 1, ALIGNED},
                                        {529, 4096, 0, 1, ALIGNED}, {530, 3001, 0, 1, 1},       {70, 4095, 7, 2, 0}};
    if (segments_on_cpu(state)) test_skip("a CPU has no such limits");
    expect_rows(state, arrays, TALLY_ARRAY_LENGTH(arrays), UINT64_C(1) << 22, 0);
}

/* Rows of quads of every size of team and number of slots (kernels/segment_quads.h): aligned, at an
 * offset that is and one that is not, and with gaps of whole quads and others. */
static void test_quads(void **state) {
    static const uint64_t lengths[] = {4,   8,   12,  16,  20,  32,  36,  64,   68,   96,   100,  104,  128, 132,
                                       200, 256, 260, 400, 512, 516, 640, 1000, 1024, 1028, 2048, 2052, 4096};
    enum { LENGTHS = TALLY_ARRAY_LENGTH(lengths) };
    static const rows_array forms[] = {
        {37, 0, 0, 1, ALIGNED}, {70, 0, 4, 1, ALIGNED + 4}, {9, 0, 8, 1, 1}, {300, 0, 1, 1, ALIGNED}};
    enum { MOST_ITEMS = 120000 };
    if (segments_on_cpu(state)) test_skip("a CPU takes no quads");
    rows_array arrays[2 * LENGTHS];
    for (size_t k = 0; k < 2 * LENGTHS; k++) {
        const uint64_t length = lengths[k % LENGTHS];
        arrays[k] = forms[k < LENGTHS ? 0 : k % TALLY_ARRAY_LENGTH(forms)];
        arrays[k].length = length;
        if (arrays[k].rows * length > MOST_ITEMS) arrays[k].rows = MOST_ITEMS / length;
    }
    expect_rows(state, arrays, 2 * LENGTHS, 0, 0);
}

/* Rows that follow each other, of every size of team and number of lanes (kernels/segment_dense.h):
 * aligned, at offsets that are not, few and many of them, and results apart. */
static void expect_dense_rows(void **state, uint32_t flags) {
    static const uint64_t lengths[] = {1,   2,   3,   4,   5,   6,   7,   8,   9,   15,  16,  17,  18,  24,  32,
                                       33,  34,  37,  48,  64,  65,  66,  72,  73,  80,  81,  96,  97,  98,  99,
                                       100, 128, 129, 130, 131, 145, 160, 161, 255, 256, 257, 300, 385, 511, 512};
    enum { LENGTHS = TALLY_ARRAY_LENGTH(lengths) };
    static const rows_array forms[] = {{3000, 0, 0, 1, ALIGNED}, {130, 0, 0, 1, 1}, {31, 0, 0, 1, 2}, {1001, 0, 0, 1, 3}};
    enum { MOST_ITEMS = 120000 };
    if (segments_on_cpu(state)) test_skip("a CPU stages no rows");
    rows_array arrays[2 * LENGTHS];
    for (size_t k = 0; k < 2 * LENGTHS; k++) {
        arrays[k] = forms[k < LENGTHS ? 0 : (k + k / 4) % TALLY_ARRAY_LENGTH(forms)];
        arrays[k].length = lengths[k % LENGTHS];
        if (arrays[k].rows * arrays[k].length > MOST_ITEMS) arrays[k].rows = MOST_ITEMS / arrays[k].length;
    }
    expect_rows(state, arrays, 2 * LENGTHS, 0, flags);
}

/* Warps have several turns of a tile, and several tiles, where rows are so many. */
static void expect_many_rows(void **state, uint32_t flags) {
    static const rows_array arrays[] = {{600000, 5, 0, 1, ALIGNED}, {300001, 16, 0, 1, ALIGNED}, {300000, 9, 0, 1, 1},
                                        {20000, 129, 0, 1, 2},      {20000, 160, 0, 1, ALIGNED}, {70000, 32, 0, 1, ALIGNED}};
    if (segments_on_cpu(state)) test_skip("a CPU stages no rows");
    expect_rows(state, arrays, TALLY_ARRAY_LENGTH(arrays), UINT64_C(1) << 23, flags);
}

static void test_many_dense_rows(void **state) {
    expect_many_rows(state, 0);
}

static void test_many_masked_rows(void **state) {
    expect_many_rows(state, TALLY_WHERE);
}

static void test_dense_rows(void **state) {
    expect_dense_rows(state, 0);
}

static void test_masked_dense_rows(void **state) {
    expect_dense_rows(state, TALLY_WHERE);
}

#define ROW(dtype, name)                                                                                                       \
    { "segments: axes, ops of " name, test_##dtype }
const device_test segments_tests[] = {
    ROW(F32, "f32"),
    ROW(F64, "f64"),
    ROW(I32, "i32"),
    ROW(U32, "u32"),
    ROW(I64, "i64"),
    ROW(U64, "u64"),
    ROW(F16, "f16"),
    ROW(BF16, "bf16"),
    ROW(I8, "i8"),
    ROW(I16, "i16"),
    ROW(U8, "u8"),
    ROW(U16, "u16"),
    ROW(BOOL, "bool"),
    ROW(C64, "c64"),
    ROW(C128, "c128"),
    {"segments: patterns", test_patterns},
    {"segments: random arrays", test_random},
    {"segments: slices", test_slices},
    {"segments: variants", test_variants},
    {"segments: another shape compiles nothing", test_no_compilation},
    {"segments: sizes of plans", test_sizes_of_plans},
    {"segments: columns", test_columns},
    {"segments: low columns", test_low_columns},
    {"segments: flat columns", test_flat_columns},
    {"segments: few long rows", test_few_rows},
    {"segments: rows of a chunk", test_rows_of_a_chunk},
    {"segments: rows of quads", test_quads},
    {"segments: rows without gaps", test_dense_rows},
    {"segments: masked rows without gaps", test_masked_dense_rows},
    {"segments: many rows without gaps", test_many_dense_rows},
    {"segments: many masked rows without gaps", test_many_masked_rows},
    {NULL, NULL},
};
