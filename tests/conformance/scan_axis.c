/* SPDX-License-Identifier: MIT */
/*
 * Scans along an axis on a real device: every op, item type and form, over fixed arrays and over
 * arrays drawn at random, whose seed is printed. Each list of items is scanned by the oracle. The
 * whole memory of the values is compared, so that nothing is written between and around them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "direct.h"
#include "oracle/patterns.h"
#include "scan_affine.h"
#include "scan_arrays.h"
#include "scan_run.h"
#include "tests/support/calls.h"
#include "tests/support/sample.h"
#include "tests/support/test_main.h"

#define PAD 9 /* elements around those that the axes reach */
#define MOST_ITEMS UINT64_C(1300000)

static void *must_alloc(uint64_t bytes) {
    void *memory = malloc(bytes ? (size_t)bytes : 1);
    if (!memory) abort();
    return memory;
}

/* ---- plans ----------------------------------------------------------------------------------- */

typedef struct run {
    tally_scan_desc desc;
    oracle_case of;
    scan_op op;
    tally_context *context;
    tally_plan *plan;
    tally_queue *queue;
    char name[96];
    uint64_t checked;
} run;

/* `custom` computes what desc->custom does; NULL for the library's ops. Returns 0 if the variant is
 * not for this device. */
static int open_run(run *r, void **state, const tally_scan_desc *desc, const scan_op *custom) {
    *r = (run){.desc = *desc, .context = direct_context(state)};
    r->desc.size = sizeof r->desc;
    r->desc.max_n = MOST_ITEMS;
    r->desc.flags |= TALLY_ALONG_AXIS;
    r->of = (oracle_case){.op = desc->op, .in = desc->in, .acc = desc->acc, .accuracy = desc->accuracy, .out = desc->out};
    r->op = custom ? *custom : scan_oracle_op(&r->of);
    snprintf(r->name, sizeof r->name, "%s: %s %s%s%s%s%s", desc->variant ? desc->variant : "auto",
             desc->custom ? "custom" : tally_op_name(desc->op), tally_dtype_name(desc->in),
             desc->flags & TALLY_EXCLUSIVE ? ", exclusive" : "", desc->flags & TALLY_REVERSE ? ", reverse" : "",
             desc->initial ? ", initial" : "", desc->acc ? " in f64" : "");
    const tally_status status = tally_scan_plan_create(r->context, &r->desc, &r->plan);
    if (status == TALLY_E_UNSUPPORTED && desc->variant) return 0;
    must(status, r->name, __FILE__, __LINE__);
    MUST(tally_queue_create(r->context, &r->queue));
    return 1;
}

static void close_run(run *r) {
    tally_plan_destroy(r->plan);
    tally_queue_destroy(r->queue);
}

/* Returns the oracle's values of all lists, one list after the other. The caller frees them. */
static unsigned char *ask_oracle(const run *r, const array *a, const unsigned char *items) {
    const uint64_t n = a->axes[a->along].extent, lists = n ? array_items(a) / n : 0;
    const size_t item = r->op.item_bytes, value = r->op.value_bytes;
    unsigned char *list = must_alloc(n * item), *values = must_alloc(lists * n * value);
    const scan_form form = {.exclusive = (r->desc.flags & TALLY_EXCLUSIVE) != 0,
                            .reverse = (r->desc.flags & TALLY_REVERSE) != 0,
                            .initial = r->desc.initial};
    for (uint64_t s = 0; s < lists; s++) {
        const int64_t from = array_list(a, s, 0);
        for (uint64_t i = 0; i < n; i++)
            memcpy(list + i * item, items + (from + (int64_t)i * array_stride(a, a->along, 0)) * (int64_t)item, item);
        scan_oracle(&r->op, &form, list, n, values + s * n * value);
    }
    free(list);
    return values;
}

/* Puts these values into `image`, whose element 0 is that of the indices 0. */
static void put_values(const run *r, const array *a, const unsigned char *values, unsigned char *image) {
    const uint64_t n = a->axes[a->along].extent, lists = n ? array_items(a) / n : 0;
    const size_t value = r->op.value_bytes;
    for (uint64_t s = 0; s < lists; s++) {
        const int64_t to = array_list(a, s, 1);
        for (uint64_t i = 0; i < n; i++)
            memcpy(image + (to + (int64_t)i * array_stride(a, a->along, 1)) * (int64_t)value, values + (s * n + i) * value,
                   value);
    }
}

static void compare(const unsigned char *got, const unsigned char *wanted, uint64_t bytes, size_t each, const char *what,
                    const char *about) {
    for (uint64_t b = 0; b < bytes; b++)
        if (got[b] != wanted[b])
            fail_msg("%s: %s at place %lld (of the pad, if below 0 or too high) has byte %02x, should have %02x", about, what,
                     (long long)(b / each) - PAD, got[b], wanted[b]);
}

/* A pattern besides those of the oracle: near one, but for items in the middle whose squares
 * overflow. */
#define SOME_BIG PATTERNS

static void fill(int pattern, tally_dtype in, unsigned char *items, uint64_t count) {
    pattern_fill(pattern == SOME_BIG ? PATTERN_NEAR_ONE : pattern, in, items, count);
    if (pattern == SOME_BIG) pattern_fill(PATTERN_BIG, in, items + count / 2 * tally_dtype_bytes(in), count / 2 < 3 ? 0 : 3);
}

/* line: scan-axis. Scans an array, with poison of two kinds around its values. */
static void expect_array(run *r, const array *a, int pattern) {
    const reach in = array_reach(a, 0), out = array_reach(a, 1);
    const size_t item = r->op.item_bytes, value = r->op.value_bytes;
    const uint64_t in_bytes = (in.count + 2 * PAD) * item, out_bytes = (out.count + 2 * PAD) * value;
    unsigned char *items = must_alloc(in_bytes), *image = must_alloc(out_bytes), *got = must_alloc(out_bytes);
    tally_buffer *in_buffer, *out_buffer = NULL;
    char about[1200];
    array_describe(a, r->name, about, sizeof about);
    assert_true(in_bytes <= UINT64_C(1) << 28 && array_items(a) <= MOST_ITEMS && (!a->is_in_place || item == value));
    fill(pattern, r->desc.in, items, in.count + 2 * PAD);
    unsigned char *values = ask_oracle(r, a, items + (PAD + in.zero) * item);
    MUST(tally_buffer_create(r->context, in_bytes, &in_buffer));
    if (!a->is_in_place) MUST(tally_buffer_create(r->context, out_bytes, &out_buffer));
    tally_buffer *const written = a->is_in_place ? in_buffer : out_buffer;
    const tally_scan_axis_args args = {.size = sizeof args,
                                       .axes = a->axes,
                                       .axis_count = a->count,
                                       .axis = a->along,
                                       .out_strided = a->out_strided,
                                       .in = in_buffer,
                                       .in_offset = PAD + in.zero,
                                       .out = written,
                                       .out_offset = PAD + out.zero};
    for (int pass = 0; pass < 2; pass++) {
        memset(image, pass ? 0x5a : 0xa5, out_bytes);
        if (a->is_in_place) memcpy(image, items, out_bytes);
        MUST(tally_buffer_write(r->queue, written, 0, image, out_bytes));
        MUST(tally_buffer_write(r->queue, in_buffer, 0, items, in_bytes));
        must(tally_scan_axis(r->plan, r->queue, &args), about, __FILE__, __LINE__);
        MUST(tally_buffer_read(r->queue, written, 0, got, out_bytes));
        MUST(tally_queue_wait(r->queue));
        put_values(r, a, values, image + (PAD + out.zero) * value);
        compare(got, image, out_bytes, value, "the value", about);
    }
    unsigned char *kept = must_alloc(in_bytes);
    MUST(tally_buffer_read(r->queue, in_buffer, 0, kept, in_bytes));
    MUST(tally_queue_wait(r->queue));
    if (!a->is_in_place) compare(kept, items, in_bytes, item, "the item", about);
    r->checked += array_items(a);
    tally_buffer_destroy(in_buffer);
    tally_buffer_destroy(out_buffer);
    free(values);
    free(items);
    free(image);
    free(got);
    free(kept);
}

/* ---- fixed arrays ---------------------------------------------------------------------------- */

/* The lengths where cells, rows, tiles and blocks end, and numbers of lists with which a list has
 * from one to eight warps of a GPU. */
static const struct {
    uint64_t n, lists;
} sizes[] = {{0, 3},    {5, 0},     {1, 1},    {1, 300},   {2, 70},    {3, 33},     {4, 1000},   {5, 129},    {31, 20},
             {64, 40},  {65, 17},   {127, 3},  {128, 260}, {129, 65},  {300, 70},   {1000, 33},  {4095, 3},   {4096, 17},
             {4097, 2}, {9000, 20}, {8193, 1}, {40, 40},   {33000, 2}, {131072, 1}, {131073, 1}, {140000, 2}, {266000, 1}};

/* Runs 1 of `parts` of the fixed arrays. */
static void expect_fixed(run *r, uint64_t parts) {
    for (size_t s = 0; s < TALLY_ARRAY_LENGTH(sizes); s++)
        for (int which = 0; which < LAYOUTS; which++) {
            const array a = array_matrix(sizes[s].n, sizes[s].lists, (layout)which);
            if (a.is_in_place && r->op.item_bytes != r->op.value_bytes) continue;
            if (sizes[s].n > 100000 && parts > 2 && which != (int)(s % LAYOUTS)) continue;
            if ((s * LAYOUTS + (size_t)which + sample_seed()) % parts == 0)
                expect_array(r, &a, r->desc.op == TALLY_PROD ? PATTERN_NEAR_ONE : PATTERN_WIDE);
        }
}

static void expect_random(run *r, unsigned count) {
    for (unsigned i = 0; i < count; i++) {
        const array a = array_draw();
        expect_array(r, &a, r->desc.op == TALLY_PROD ? PATTERN_NEAR_ONE : (int)((i + sample_seed()) % PATTERNS));
    }
}

/* ---- ops, types and forms -------------------------------------------------------------------- */

/* Returns whether the reductions' oracle has the case, and the device the needed features. */
static int is_here(void **state, const tally_scan_desc *d) {
    const place *at = *state;
    const oracle_case of = {.op = d->op, .in = d->in, .acc = d->acc, .accuracy = d->accuracy, .out = d->out};
    return oracle_takes(&of) && oracle_inputs(d->op) == 1 && !cells_lack_f64(&of, &at->info);
}

/* Returns 0 if the variant is not for this device. */
static int expect_scan(void **state, const tally_scan_desc *desc, uint64_t parts, unsigned random) {
    run r;
    if (!open_run(&r, state, desc, NULL)) return 0;
    expect_fixed(&r, parts);
    expect_random(&r, random);
    assert_true(r.checked > 1000);
    close_run(&r);
    return 1;
}

static void test_ops(void **state) {
    static const tally_dtype types[] = {TALLY_F32, TALLY_I32, TALLY_C64};
    for (size_t t = 0; t < TALLY_ARRAY_LENGTH(types); t++)
        for (tally_op op = TALLY_OP_NONE + 1; op < TALLY_OP_END; op++) {
            const tally_scan_desc desc = {.op = op, .in = types[t]};
            if (!sample_has_turn(op + t) || !is_here(state, &desc) || !cells_want_pair(op, desc.in)) continue;
            expect_scan(state, &desc, 13, 4);
        }
}

static void test_types(void **state) {
    static const tally_op ops[] = {TALLY_SUM, TALLY_ARGMAX};
    for (size_t o = 0; o < TALLY_ARRAY_LENGTH(ops); o++)
        for (tally_dtype in = TALLY_DTYPE_DEFAULT + 1; in < TALLY_DTYPE_END; in++) {
            const tally_scan_desc desc = {.op = ops[o], .in = in};
            if (!sample_has_turn(in + o) || !is_here(state, &desc) || !cells_want_pair(ops[o], in)) continue;
            expect_scan(state, &desc, 13, 4);
        }
}

static void test_accumulators(void **state) {
    need_compiler(*state);
    static const tally_scan_desc descs[] = {{.op = TALLY_SUM, .in = TALLY_F32, .acc = TALLY_F64},
                                            {.op = TALLY_SUM, .in = TALLY_F32, .accuracy = TALLY_ACCURACY_COMPENSATED},
                                            {.op = TALLY_SUM, .in = TALLY_F16, .out = TALLY_F16},
                                            {.op = TALLY_SUM, .in = TALLY_I8, .out = TALLY_I8}};
    for (size_t d = 0; d < TALLY_ARRAY_LENGTH(descs); d++)
        if (is_here(state, &descs[d]) && (!quick() || d % 2 == 0)) expect_scan(state, &descs[d], 13, 4);
}

/* Narrow and wide items and accumulators on every variant: those of GPUs too, on any device. */
static void test_variants(void **state) {
    static const tally_scan_desc samples[] = {{.op = TALLY_SUM, .in = TALLY_F32},
                                              {.op = TALLY_ARGMAX, .in = TALLY_I8},
                                              {.op = TALLY_VAR, .in = TALLY_F64},
                                              {.op = TALLY_PROD, .in = TALLY_C64},
                                              {.op = TALLY_MINMAX, .in = TALLY_I64}};
    const int is_sampled = quick() || sample_parts() > 1;
    unsigned ran = 0;
    const char *variant;
    for (size_t v = 0; (variant = scan_canonical_variant(v)) != NULL; v++)
        for (size_t s = 0; s < TALLY_ARRAY_LENGTH(samples); s++) {
            tally_scan_desc desc = samples[s];
            desc.variant = variant;
            if ((s && is_sampled && !sample_has_turn(s + v)) || !is_here(state, &desc)) continue;
            ran += (unsigned)expect_scan(state, &desc, s ? 7 : is_sampled ? 3 : 1, s || is_sampled ? 10 : 60);
        }
    assert_true(ran >= 1);
}

/* Several blocks of more rows than are scanned one by one, in either direction. */
static void test_long_rows(void **state) {
    const place *at = *state;
    const uint64_t lists = at->info.device_class == TALLY_CLASS_CPU ? 4 * at->info.compute_units + 1 : 9;
    if (lists * 140000 > MOST_ITEMS) test_skip("too many processors");
    for (uint32_t flags = 0; flags <= TALLY_REVERSE; flags += TALLY_REVERSE) {
        run r;
        const tally_scan_desc desc = {.op = TALLY_SUM, .in = TALLY_F32, .flags = flags};
        if (!open_run(&r, state, &desc, NULL)) fail_msg("no variant");
        for (uint64_t n = 131071; n <= 140000; n += 8929) {
            const array a = array_matrix(n, lists, ROWS);
            expect_array(&r, &a, PATTERN_WIDE);
        }
        close_run(&r);
    }
}

static void test_forms(void **state) {
    static const tally_scan_desc ops[] = {
        {.op = TALLY_SUM, .in = TALLY_F32}, {.op = TALLY_ARGMIN, .in = TALLY_F32}, {.op = TALLY_MEAN, .in = TALLY_F64}};
    enum { E = TALLY_EXCLUSIVE, R = TALLY_REVERSE };
    static const struct {
        uint32_t flags;
        int has_initial;
    } forms[] = {{E, 0}, {R, 0}, {E | R, 0}, {E, 1}, {E | R, 1}};
    unsigned char initial[16];
    const char *variant;
    unsigned ran = 0;
    for (size_t v = 0; (variant = scan_canonical_variant(v)) != NULL; v++)
        for (size_t o = 0; o < TALLY_ARRAY_LENGTH(ops); o++)
            for (size_t f = 0; f < TALLY_ARRAY_LENGTH(forms); f++) {
                tally_scan_desc desc = ops[o];
                pattern_fill(PATTERN_SHIFTED, desc.in, initial, 1);
                desc.variant = variant;
                desc.flags = forms[f].flags;
                desc.initial = forms[f].has_initial ? initial : NULL;
                if (!is_here(state, &desc) || (desc.initial && desc.op == TALLY_ARGMIN)) continue;
                if ((quick() || sample_parts() > 1) && (o ? f != o : (v || f) && !sample_has_turn(v + f))) continue;
                ran += (unsigned)expect_scan(state, &desc, 11, 6);
            }
    assert_true(ran >= 1);
}

/* Norms of items whose squares are ordinary, and of arrays with others among them. */
static void test_norms(void **state) {
    static const tally_dtype types[] = {TALLY_F32, TALLY_F64, TALLY_C64};
    static const int patterns[] = {PATTERN_NEAR_ONE, SOME_BIG, PATTERN_TINY, PATTERN_NEAR_ONE, SOME_BIG};
    static const struct { uint64_t n, lists; } matrices[] = {{4, 1000}, {40, 40}, {300, 70}, {9000, 20}};
    for (size_t t = 0; t < TALLY_ARRAY_LENGTH(types); t++)
        for (uint32_t flags = 0; flags <= TALLY_EXCLUSIVE; flags += TALLY_EXCLUSIVE) {
            run r;
            unsigned char initial[16];
            pattern_fill(t ? PATTERN_NEAR_ONE : PATTERN_BIG, types[t], initial, 1);
            const tally_scan_desc desc = {.op = TALLY_NRM2, .in = types[t], .flags = flags, .initial = flags ? initial : NULL};
            if ((t && !sample_has_turn(t)) || !is_here(state, &desc) || !open_run(&r, state, &desc, NULL)) continue;
            for (size_t m = 0; m < TALLY_ARRAY_LENGTH(matrices); m++)
                for (size_t p = 0; p < TALLY_ARRAY_LENGTH(patterns); p++) {
                    const array a = array_matrix(matrices[m].n, matrices[m].lists, p % 2 ? COLUMNS : ROWS);
                    expect_array(&r, &a, patterns[p]);
                }
            close_run(&r);
        }
}

/* ---- custom ops ------------------------------------------------------------------------------ */

static void test_custom(void **state) {
    static const uint32_t flags[] = {0, TALLY_EXCLUSIVE, TALLY_REVERSE}, initial = 77777;
    need_compiler(*state);
    tally_custom_op *op = scan_affine_op();
    const char *variant;
    unsigned ran = 0;
    for (size_t v = 0; (variant = scan_canonical_variant(v)) != NULL; v++)
        for (size_t f = 0; f < TALLY_ARRAY_LENGTH(flags); f++) {
            run r;
            const tally_scan_desc desc = {.custom = op,
                                          .in = TALLY_U32,
                                          .variant = variant,
                                          .flags = flags[f],
                                          .initial = flags[f] == TALLY_EXCLUSIVE ? &initial : NULL};
            if (ran >= TALLY_ARRAY_LENGTH(flags) && !has_turn(*state, v + f)) continue;
            if (!open_run(&r, state, &desc, &scan_affine_maps)) continue;
            expect_fixed(&r, 7);
            expect_random(&r, 6);
            close_run(&r);
            ran++;
        }
    assert_true(ran >= 3);
    tally_op_destroy(op);
}

/* ---- the same items -------------------------------------------------------------------------- */

/* line: scan-axis-same. The same items as each list of an array in every layout have the bits of
 * tally_scan of them alone. */
static void test_same(void **state) {
    enum { N = 9001, LISTS = 5 };
    tally_context *context = direct_context(state);
    const tally_scan_desc desc = {.size = sizeof desc, .op = TALLY_SUM, .in = TALLY_F32, .max_n = N};
    static float items[N], alone[N], got[LISTS * (3 * N + 20)], array_items[LISTS * (3 * N + 20)];
    tally_plan *plan;
    run r;
    pattern_fill(PATTERN_WIDE, TALLY_F32, items, N);
    if (!open_run(&r, state, &desc, NULL)) fail_msg("no variant");
    tally_buffer *in, *out;
    MUST(tally_buffer_create(context, sizeof array_items, &in));
    MUST(tally_buffer_create(context, sizeof got, &out));
    MUST(tally_scan_plan_create(context, &desc, &plan));
    MUST(tally_buffer_write(r.queue, in, 0, items, sizeof items));
    MUST(tally_scan(plan, r.queue, in, N, out));
    MUST(tally_buffer_read(r.queue, out, 0, alone, sizeof alone));
    MUST(tally_queue_wait(r.queue));
    for (int which = 0; which < IN_PLACE; which++) {
        const array a = array_matrix(N, LISTS, (layout)which);
        const reach reached = array_reach(&a, 0), written = array_reach(&a, 1);
        for (uint64_t s = 0; s < LISTS; s++)
            for (int64_t i = 0; i < N; i++)
                array_items[(int64_t)reached.zero + array_list(&a, s, 0) + i * array_stride(&a, 1, 0)] = items[i];
        const tally_scan_axis_args args = {.size = sizeof args,
                                           .axes = a.axes,
                                           .axis_count = 2,
                                           .axis = 1,
                                           .out_strided = a.out_strided,
                                           .in = in,
                                           .in_offset = reached.zero,
                                           .out = out,
                                           .out_offset = written.zero};
        MUST(tally_buffer_write(r.queue, in, 0, array_items, sizeof array_items));
        MUST(tally_scan_axis(r.plan, r.queue, &args));
        MUST(tally_buffer_read(r.queue, out, 0, got, sizeof got));
        MUST(tally_queue_wait(r.queue));
        for (uint64_t s = 0; s < LISTS; s++)
            for (int64_t i = 0; i < N; i++) {
                const float *value = &got[(int64_t)written.zero + array_list(&a, s, 1) + i * array_stride(&a, 1, 1)];
                if (memcmp(value, &alone[i], sizeof *value) != 0)
                    fail_msg("layout %d, list %d, value %d: %a, alone %a", which, (int)s, (int)i, (double)*value,
                             (double)alone[i]);
            }
    }
    tally_buffer_destroy(in);
    tally_buffer_destroy(out);
    tally_plan_destroy(plan);
    close_run(&r);
}

const device_test scan_axis_tests[] = {
    {"scan axis: ops", test_ops},
    {"scan axis: types", test_types},
    {"scan axis: accumulators", test_accumulators},
    {"scan axis: variants", test_variants},
    {"scan axis: forms", test_forms},
    {"scan axis: long rows", test_long_rows},
    {"scan axis: norms", test_norms},
    {"scan axis: custom", test_custom},
    {"scan axis: the same items", test_same},
    {NULL, NULL},
};
