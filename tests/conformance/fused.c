/* SPDX-License-Identifier: MIT */
/*
 * Several terms over one pass give the bits of each term alone, with the layout of
 * tally_plan_result: for every type of items, up to sixteen ops, built-in and custom ones, in
 * feeds, at each level of accuracy, and where local memory makes the groups smaller.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "direct.h"
#include "tests/support/own_ops.h"
#include "tests/support/sample.h"
#include "oracle/patterns.h"

#define N 50021
#define MAX_RESULT 512

typedef struct fusion {
    tally_dtype in;
    uint32_t count;
    tally_term_desc terms[TALLY_MAX_TERMS];
} fusion;

#define OP(op_)                                                                                                                \
    { .op = TALLY_##op_ }
#define TERMS(...)                                                                                                             \
    sizeof((tally_term_desc[]){__VA_ARGS__}) / sizeof(tally_term_desc), {                                                      \
        __VA_ARGS__                                                                                                            \
    }
static const fusion fusions[] = {
    {TALLY_F32, TERMS(OP(MIN), OP(MAX), OP(SUM), OP(SUMSQ))},
    {TALLY_F32, TERMS(OP(MIN), OP(MAX), OP(MEAN), OP(STD))},
    {TALLY_F64, TERMS(OP(MINMAX), OP(MEAN), OP(VAR), OP(ARGMAX))},
    {TALLY_I8, TERMS(OP(SUM), OP(MIN), OP(MEAN))}, /* i64, i8, f64, with gaps between them */
    {TALLY_I8, TERMS(OP(MIN), OP(SUM), OP(ANY), OP(SUMSQ), OP(AMAX), OP(BXOR))},
    {TALLY_U8, TERMS(OP(ANY), OP(ALL), OP(COUNT_NONZERO), OP(MAX))},
    {TALLY_I16, TERMS(OP(MINMAX), OP(SUM), OP(ASUM))},
    {TALLY_U16, TERMS(OP(SUM), OP(SUMSQ))},
    {TALLY_F16, TERMS(OP(SUM), OP(MIN), OP(NANMAX), OP(NRM2))},
    {TALLY_BF16, TERMS(OP(MAX), OP(MEAN))},
    {TALLY_I32, TERMS(OP(BAND), OP(BOR), OP(BXOR), OP(SUM))},
    {TALLY_U32, TERMS(OP(MIN))}, /* a list of one op */
    {TALLY_I64, TERMS(OP(PROD), OP(IAMAX), OP(VAR))},
    {TALLY_U64, TERMS(OP(SUM), OP(SUM))}, /* the same op twice */
    {TALLY_BOOL, TERMS(OP(ANY), OP(SUM), OP(MEAN))},
    {TALLY_C64, TERMS(OP(SUM), OP(ASUM), OP(MEAN), OP(NRM2), OP(PROD))},
    {TALLY_C128, TERMS(OP(SUMSQ), OP(SUM))},
    {TALLY_F32, TERMS(OP(DOT), OP(DIST2), OP(ALLCLOSE))},
    {TALLY_I16, TERMS(OP(DIST2), OP(DOT))},
    {TALLY_C64, TERMS(OP(DOT), OP(DOTC))},
    {TALLY_F32, TERMS(OP(SUM), OP(PROD), OP(MIN), OP(MAX), OP(NANMIN), OP(NANMAX), OP(ARGMIN), OP(ARGMAX), OP(MINMAX), OP(ANY),
                      OP(ALL), OP(COUNT_NONZERO), OP(ASUM), OP(NRM2), OP(MEAN), OP(VAR))},
};

static int needs_f64(const fusion *f) {
    if (f->in == TALLY_F64 || f->in == TALLY_C128) return 1;
    for (uint32_t o = 0; o < f->count; o++)
        if (tally_accumulator_dtype(f->terms[o].op, f->in) == TALLY_F64) return 1;
    return 0;
}

static void *items_of(tally_dtype in, int pattern, uint64_t n) {
    void *items = malloc(n * tally_dtype_bytes(in));
    assert_non_null(items);
    pattern_fill(pattern, in, items, n);
    return items;
}

/* The bytes between the values and behind the last are zeros. */
static void expect_zero_gaps(const tally_plan *plan, const unsigned char *result, const char *what) {
    unsigned char gaps[MAX_RESULT];
    const uint64_t bytes = tally_plan_result_bytes(plan);
    tally_result_info info;
    memcpy(gaps, result, bytes);
    for (uint32_t value = 0; tally_plan_result(plan, value, &info); value++)
        memset(gaps + info.offset, 0, tally_dtype_bytes(info.dtype));
    for (uint64_t i = 0; i < bytes; i++)
        if (gaps[i]) fail_msg("%s: byte %llu, which is padding, is 0x%02x", what, (unsigned long long)i, gaps[i]);
}

/* Compares a fused result with the results of the terms alone. `like` says how those are
 * launched. */
static void expect_singles(tally_context *context, const tally_plan *plan, const fusion *f, const tally_reduce_desc *like,
                           const void *const *items, uint64_t n, const unsigned char *result, const char *what) {
    uint32_t value = 0;
    tally_result_info info, own;
    for (uint32_t o = 0; o < f->count; o++) {
        const tally_term_desc *term = &f->terms[o];
        unsigned char alone[MAX_RESULT];
        tally_plan *single;
        uint32_t k = 0;
        const tally_reduce_desc desc = {.size = sizeof desc,
                                        .op = term->op,
                                        .in = f->in,
                                        .out = term->out,
                                        .acc = term->acc,
                                        .accuracy = term->accuracy,
                                        .custom = term->custom,
                                        .max_n = like->max_n};
        direct_reduce(context, &desc, NULL, items, n, alone);
        MUST(tally_plan_create(context, &desc, &single));
        for (; tally_plan_result(single, k, &own); k++, value++) {
            assert_true(tally_plan_result(plan, value, &info));
            const size_t bytes = tally_dtype_bytes(info.dtype);
            assert_int_equal(info.dtype, own.dtype);
            assert_int_equal(info.term, o);
            assert_int_equal(info.offset % (info.dtype == TALLY_C64 || info.dtype == TALLY_C128 ? bytes / 2 : bytes), 0);
            assert_true(info.offset + bytes <= tally_plan_result_bytes(plan));
            if (memcmp(result + info.offset, alone + own.offset, bytes) != 0)
                fail_msg("%s: term %u, %s of %llu %s, value %u differs from what it is alone", what, o,
                         term->op ? tally_op_name(term->op) : "a custom op", (unsigned long long)n, tally_dtype_name(f->in), k);
        }
        if (term->op) assert_int_equal(k, tally_result_count(term->op, f->in));
        tally_plan_destroy(single);
    }
    assert_false(tally_plan_result(plan, value, &info));
    expect_zero_gaps(plan, result, what);
}

static tally_reduce_desc fused_desc(const fusion *f) {
    return (tally_reduce_desc){.size = sizeof(tally_reduce_desc), .in = f->in, .terms = f->terms, .term_count = f->count};
}

static void run(tally_context *context, const fusion *f, const tally_reduce_desc *given, uint64_t n, int pattern,
                const char *what) {
    tally_reduce_desc desc = *given, like = *given;
    tally_plan *plan;
    unsigned char result[MAX_RESULT];
    void *x = items_of(f->in, pattern, n + 1), *y = items_of(f->in, PATTERN_WIDE, n + 1);
    /* The second input has the same values, from the second item on. */
    const void *const items[] = {x, (char *)y + tally_dtype_bytes(f->in)};
    desc.max_n = n + 1;
    like.variant = NULL;
    like.group_threads = 0;
    MUST(tally_plan_create(context, &desc, &plan));
    assert_true(tally_plan_result_bytes(plan) <= sizeof result);
    direct_reduce(context, &desc, NULL, items, n, result);
    expect_singles(context, plan, f, &like, items, n, result, what);
    tally_plan_destroy(plan);
    free(x);
    free(y);
}

static void test_fused(void **state) {
    static const uint64_t sizes[] = {0, 1, 4097, N};
    tally_context *context = direct_context(state);
    for (size_t c = 0; c < TALLY_ARRAY_LENGTH(fusions); c++) {
        const fusion *f = &fusions[c];
        const tally_reduce_desc desc = fused_desc(f);
        if ((needs_f64(f) && !direct_has_f64(state)) || (quick() && c % 4) || !sample_has_turn(c)) continue;
        for (size_t s = 0; s < TALLY_ARRAY_LENGTH(sizes); s++) run(context, f, &desc, sizes[s], PATTERN_WIDE, "fused");
    }
}

/* NaN, infinities and other special values give each op its result alone. */
static void test_fused_patterns(void **state) {
    tally_context *context = direct_context(state);
    const fusion *f = &fusions[TALLY_ARRAY_LENGTH(fusions) - 1];
    const tally_reduce_desc desc = fused_desc(f);
    for (int pattern = 0; pattern < PATTERNS; pattern++) run(context, f, &desc, 5003, pattern, pattern_name(pattern));
}

/* The items before and behind the result in `out` stay as they are. A host call gives the same
 * result. */
static void test_fused_host(void **state) {
    tally_context *context = direct_context(state);
    static const tally_term_desc terms[] = {OP(MIN), OP(SUM), OP(ANY)};
    const tally_reduce_desc desc = {.size = sizeof desc, .in = TALLY_I8, .terms = terms, .term_count = 3};
    struct {
        int8_t min;
        int64_t sum;
        unsigned char any;
    } all[3];
    int8_t x[1000];
    for (int i = 0; i < 1000; i++) x[i] = (int8_t)(i % 200 - 100);
    memset(all, 0x5a, sizeof all);
    MUST(tally_reduce_host_inputs(context, &desc, (const void *const[]){x}, 1000, &all[1]));
    assert_int_equal(all[1].min, -100);
    assert_int_equal(all[1].sum, -500);
    assert_int_equal(all[1].any, 1);
    for (size_t i = 0; i < sizeof all[0]; i++) {
        assert_int_equal(((unsigned char *)&all[0])[i], 0x5a);
        assert_int_equal(((unsigned char *)&all[2])[i], 0x5a);
    }
}

static void test_fused_feed(void **state) {
    tally_context *context = direct_context(state);
    static const size_t chosen[] = {0, 3, 9, 17};
    for (size_t c = 0; c < TALLY_ARRAY_LENGTH(chosen); c++) {
        const fusion *f = &fusions[chosen[c]];
        if (needs_f64(f) && !direct_has_f64(state)) continue;
        tally_reduce_desc desc = fused_desc(f);
        tally_feed *feed;
        unsigned char result[MAX_RESULT];
        const size_t bytes = tally_dtype_bytes(f->in);
        char *x = items_of(f->in, PATTERN_WIDE, N), *y = items_of(f->in, PATTERN_WIDE, N + 3);
        const void *const items[] = {x, y + 3 * bytes};
        desc.max_n = 5000;
        MUST(tally_feed_create(context, &desc, &feed));
        for (int again = 0; again < 2; again++) {
            uint64_t done = 0;
            for (uint64_t piece = 1; done + piece < N; done += piece, piece = 3 * piece % 20011) {
                const void *const from[] = {(const char *)items[0] + done * bytes, (const char *)items[1] + done * bytes};
                MUST(tally_feed_push_inputs(feed, from, piece));
            }
            const void *const rest[] = {(const char *)items[0] + done * bytes, (const char *)items[1] + done * bytes};
            MUST(tally_feed_finish_inputs(feed, rest, N - done, result));
            desc.max_n = 0;
            expect_singles(context, tally_feed_plan(feed), f, &desc, items, N, result, "a fused feed");
        }
        tally_feed_destroy(feed);
        free(x);
        free(y);
    }
}

/* The level, f64 for f32, and the result's type belong to the term. */
static void test_fused_levels(void **state) {
    need_compiler(*state);
    tally_context *context = direct_context(state);
    static const fusion sums = {TALLY_F32, TERMS({.op = TALLY_SUM, .accuracy = TALLY_ACCURACY_COMPENSATED}, OP(MIN), OP(SUM),
                                                 {.op = TALLY_SUMSQ, .accuracy = TALLY_ACCURACY_COMPENSATED},
                                                 {.op = TALLY_MEAN, .out = TALLY_F16})};
    static const fusion wide = {TALLY_F32, TERMS({.op = TALLY_SUM, .acc = TALLY_F64}, OP(SUM),
                                                 {.op = TALLY_MEAN, .out = TALLY_F64}, {.op = TALLY_MINMAX, .out = TALLY_F64})};
    tally_reduce_desc desc = fused_desc(&sums);
    run(context, &sums, &desc, N, PATTERN_WIDE, "fused, some compensated");
    desc = fused_desc(&wide);
    if (direct_has_f64(state)) run(context, &wide, &desc, N, PATTERN_WIDE, "fused, some in f64");
    /* The op has no such level. */
    tally_plan *plan = NULL;
    static const tally_term_desc none[] = {{.op = TALLY_SUM}, {.op = TALLY_MIN, .accuracy = TALLY_ACCURACY_COMPENSATED}};
    desc = (tally_reduce_desc){.size = sizeof desc, .in = TALLY_F32, .terms = none, .term_count = 2};
    assert_int_equal(tally_plan_create(context, &desc, &plan), TALLY_E_UNSUPPORTED);
    assert_null(plan);
    assert_non_null(strstr(tally_last_error(), "min of f32"));
}

/* Custom ops beside the library's, one of them twice. */
static void test_fused_own(void **state) {
    need_compiler(*state);
    static const uint64_t sizes[] = {0, 1, 4097, N};
    tally_context *context = direct_context(state);
    tally_custom_op *least = direct_op(&own_least), *twofold = direct_op(&own_twofold);
    const fusion mixed = {TALLY_F32, TERMS(OP(SUM), {.custom = least}, OP(ARGMIN), {.custom = twofold},
                                           {.op = TALLY_SUM, .accuracy = TALLY_ACCURACY_COMPENSATED},
                                           {.custom = twofold, .out = TALLY_F16}, OP(ANY), {.custom = least})};
    const fusion small = {TALLY_F16, TERMS({.custom = twofold}, OP(MIN))};
    for (size_t s = 0; s < TALLY_ARRAY_LENGTH(sizes); s++) {
        tally_reduce_desc desc = fused_desc(&mixed);
        run(context, &mixed, &desc, sizes[s], PATTERN_RAMP, "fused with custom ops");
        desc = fused_desc(&small);
        run(context, &small, &desc, sizes[s], PATTERN_WIDE, "fused with custom ops");
    }
    tally_op_destroy(least);
    tally_op_destroy(twofold);
}

/* A parameter that two ops share. */
static void test_fused_params(void **state) {
    tally_context *context = direct_context(state);
    static const tally_term_desc terms[] = {OP(VAR), OP(SUM), OP(STD)};
    const float x[4] = {1, 2, 3, 4};
    float result[3], alone;
    const direct_param ddof[] = {{"ddof", 1}, {NULL, 0}};
    const tally_reduce_desc desc = {.in = TALLY_F32, .terms = terms, .term_count = 3};
    direct_reduce(context, &desc, ddof, (const void *const[]){x}, 4, result);
    for (int o = 0; o < 3; o++) {
        const tally_reduce_desc single = {.in = TALLY_F32, .op = terms[o].op};
        direct_reduce(context, &single, terms[o].op == TALLY_SUM ? NULL : ddof, (const void *const[]){x}, 4, &alone);
        assert_memory_equal(&result[o], &alone, sizeof alone);
    }
    assert_true(result[0] == 5.0f / 3);
    direct_reduce(context, &desc, NULL, (const void *const[]){x}, 4, result);
    assert_true(result[0] == 1.25f);
}

/* Sixteen wide accumulators make the groups of a GPU's kernel smaller. A group size in the
 * descriptor that does not fit is refused. */
static void test_fused_local_memory(void **state) {
    need_compiler(*state);
    const place *at = *state;
    tally_context *context = direct_context(state);
    if (!at->info.has_f64) return;
    static const fusion wide = {TALLY_F64,
                                TERMS(OP(VAR), OP(STD), OP(NRM2), OP(ARGMIN), OP(ARGMAX), OP(IAMAX), OP(MINMAX), OP(SUM),
                                      OP(ASUM), OP(SUMSQ), OP(MEAN), OP(PROD), OP(MIN), OP(MAX), OP(NANMIN), OP(VAR))};
    tally_reduce_desc desc = fused_desc(&wide);
    desc.variant = "group_tree";
    run(context, &wide, &desc, N, PATTERN_WIDE, "group_tree, sixteen ops");
    desc.max_n = N;
    desc.group_threads = 1024;
    tally_plan *plan = NULL;
    /* Each of the 1,024 threads has 16 accumulators, of 32 bytes at most. */
    const bool fits = at->info.local_bytes >= UINT64_C(1024) * 16 * 32;
    assert_int_equal(tally_plan_create(context, &desc, &plan), fits ? TALLY_OK : TALLY_E_UNSUPPORTED);
    assert_int_equal(plan != NULL, fits);
    tally_plan_destroy(plan);
}

static void test_fused_refused(void **state) {
    tally_context *context = direct_context(state);
    static const tally_term_desc inputs[] = {OP(SUM), OP(DOT)}, floats[] = {OP(SUM), OP(BAND)};
    static const tally_term_desc index[] = {OP(SUM), {.op = TALLY_ARGMIN, .out = TALLY_U32}};
    tally_term_desc many[TALLY_MAX_TERMS + 1];
    for (int t = 0; t <= TALLY_MAX_TERMS; t++) many[t] = (tally_term_desc)OP(SUM);
    const struct {
        tally_reduce_desc desc;
        tally_status status;
        const char *word;
    } refused[] = {
        {{.in = TALLY_F32, .terms = inputs, .term_count = 2}, TALLY_E_ARGUMENT, "cannot share a pass"},
        {{.in = TALLY_F32, .terms = floats, .term_count = 2}, TALLY_E_UNSUPPORTED, "band does not take f32"},
        {{.in = TALLY_F32, .terms = many, .term_count = TALLY_MAX_TERMS + 1}, TALLY_E_ARGUMENT, "at most 16"},
        {{.in = TALLY_F32, .terms = inputs, .term_count = 1, .out = TALLY_F64}, TALLY_E_ARGUMENT, "desc.terms and desc.out"},
        {{.in = TALLY_F32, .terms = inputs, .term_count = 1, .op = TALLY_SUM}, TALLY_E_ARGUMENT, "desc.terms and desc.op"},
        {{.in = TALLY_F32, .terms = index, .term_count = 2}, TALLY_E_ARGUMENT, "desc.terms[1].out is u32"},
        {{.in = TALLY_F32, .term_count = 1}, TALLY_E_ARGUMENT, "desc.terms is NULL"},
    };
    for (size_t r = 0; r < TALLY_ARRAY_LENGTH(refused); r++) {
        tally_reduce_desc desc = refused[r].desc;
        tally_plan *plan = NULL;
        desc.size = sizeof desc;
        const tally_status status = tally_plan_create(context, &desc, &plan);
        if (status != refused[r].status || plan || !strstr(tally_last_error(), refused[r].word))
            fail_msg("row %zu: %s: %s", r, tally_status_name(status), tally_last_error());
    }
}

const device_test fused_tests[] = {
    {"fused: as each alone", test_fused},
    {"fused: patterns", test_fused_patterns},
    {"fused: host call", test_fused_host},
    {"fused: feeds", test_fused_feed},
    {"fused: levels of accuracy", test_fused_levels},
    {"fused: with custom ops", test_fused_own},
    {"fused: parameters", test_fused_params},
    {"fused: local memory", test_fused_local_memory},
    {"fused: refused", test_fused_refused},
    {NULL, NULL},
};
