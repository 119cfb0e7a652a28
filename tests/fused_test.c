/* SPDX-License-Identifier: MIT */
/*
 * Several ops over one pass give the bits of each by itself, laid out as tally_plan_result says: of every type of items, up to sixteen
 * ops, in feeds, at each level of accuracy, and where local memory makes the groups smaller.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "direct.h"
#include "patterns.h"

#define N 50021
#define MAX_RESULT 512

typedef struct fusion {
    tally_dtype in;
    uint32_t count;
    tally_op ops[TALLY_MAX_OPS];
} fusion;

#define OPS(...)                                                                                                               \
    sizeof((tally_op[]){__VA_ARGS__}) / sizeof(tally_op), {                                                                    \
        __VA_ARGS__                                                                                                            \
    }
static const fusion fusions[] = {
    {TALLY_F32, OPS(TALLY_MIN, TALLY_MAX, TALLY_SUM, TALLY_SUMSQ)},
    {TALLY_F32, OPS(TALLY_MIN, TALLY_MAX, TALLY_MEAN, TALLY_STD)},
    {TALLY_F64, OPS(TALLY_MINMAX, TALLY_MEAN, TALLY_VAR, TALLY_ARGMAX)},
    {TALLY_I8, OPS(TALLY_SUM, TALLY_MIN, TALLY_MEAN)}, /* i64, i8, f64: holes between them */
    {TALLY_I8, OPS(TALLY_MIN, TALLY_SUM, TALLY_ANY, TALLY_SUMSQ, TALLY_AMAX, TALLY_BXOR)},
    {TALLY_U8, OPS(TALLY_ANY, TALLY_ALL, TALLY_COUNT_NONZERO, TALLY_MAX)},
    {TALLY_I16, OPS(TALLY_MINMAX, TALLY_SUM, TALLY_ASUM)},
    {TALLY_U16, OPS(TALLY_SUM, TALLY_SUMSQ)},
    {TALLY_F16, OPS(TALLY_SUM, TALLY_MIN, TALLY_NANMAX, TALLY_NRM2)},
    {TALLY_BF16, OPS(TALLY_MAX, TALLY_MEAN)},
    {TALLY_I32, OPS(TALLY_BAND, TALLY_BOR, TALLY_BXOR, TALLY_SUM)},
    {TALLY_U32, OPS(TALLY_MIN)}, /* a list of one */
    {TALLY_I64, OPS(TALLY_PROD, TALLY_IAMAX, TALLY_VAR)},
    {TALLY_U64, OPS(TALLY_SUM, TALLY_SUM)}, /* one twice */
    {TALLY_BOOL, OPS(TALLY_ANY, TALLY_SUM, TALLY_MEAN)},
    {TALLY_C64, OPS(TALLY_SUM, TALLY_ASUM, TALLY_MEAN, TALLY_NRM2, TALLY_PROD)},
    {TALLY_C128, OPS(TALLY_SUMSQ, TALLY_SUM)},
    {TALLY_F32, OPS(TALLY_DOT, TALLY_DIST2, TALLY_ALLCLOSE)},
    {TALLY_I16, OPS(TALLY_DIST2, TALLY_DOT)},
    {TALLY_C64, OPS(TALLY_DOT, TALLY_DOTC)},
    {TALLY_F32, OPS(TALLY_SUM, TALLY_PROD, TALLY_MIN, TALLY_MAX, TALLY_NANMIN, TALLY_NANMAX, TALLY_ARGMIN, TALLY_ARGMAX,
                    TALLY_MINMAX, TALLY_ANY, TALLY_ALL, TALLY_COUNT_NONZERO, TALLY_ASUM, TALLY_NRM2, TALLY_MEAN, TALLY_VAR)},
};

static int needs_f64(const fusion *f) {
    if (f->in == TALLY_F64 || f->in == TALLY_C128) return 1;
    for (uint32_t o = 0; o < f->count; o++)
        if (tally_accumulator_dtype(f->ops[o], f->in) == TALLY_F64) return 1;
    return 0;
}

static void *items_of(tally_dtype in, int pattern, uint64_t n) {
    void *items = malloc(n * tally_dtype_bytes(in));
    assert_non_null(items);
    pattern_fill(pattern, in, items, n);
    return items;
}

/* What lies between the values, and behind the last, is zeros. */
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

/* Compares a fused result with those of the ops by themselves. */
static void expect_singles(tally_context *context, const tally_plan *plan, const fusion *f, const tally_reduce_desc *like,
                           const void *const *items, uint64_t n, const unsigned char *result, const char *what) {
    uint32_t value = 0;
    tally_result_info info;
    for (uint32_t o = 0; o < f->count; o++) {
        unsigned char alone[MAX_RESULT];
        tally_reduce_desc desc = *like;
        desc.ops = NULL;
        desc.op_count = 0;
        desc.op = f->ops[o];
        direct_reduce(context, &desc, NULL, items, n, alone);
        const tally_dtype dtype = like->acc ? 0 : tally_result_dtype(f->ops[o], f->in);
        for (uint32_t k = 0; k < tally_result_count(f->ops[o], f->in); k++, value++) {
            assert_true(tally_plan_result(plan, value, &info));
            const size_t bytes = tally_dtype_bytes(info.dtype);
            if (dtype) assert_int_equal(info.dtype, dtype);
            assert_int_equal(info.op, o);
            assert_int_equal(info.offset % (info.dtype == TALLY_C64 || info.dtype == TALLY_C128 ? bytes / 2 : bytes), 0);
            assert_true(info.offset + bytes <= tally_plan_result_bytes(plan));
            if (memcmp(result + info.offset, alone + k * bytes, bytes) != 0)
                fail_msg("%s: op %u, %s of %llu %s, differs from what it is alone", what, o, tally_op_name(f->ops[o]),
                         (unsigned long long)n, tally_dtype_name(f->in));
        }
    }
    assert_false(tally_plan_result(plan, value, &info));
    expect_zero_gaps(plan, result, what);
}

static tally_reduce_desc fused_desc(const fusion *f) {
    return (tally_reduce_desc){.size = sizeof(tally_reduce_desc), .in = f->in, .ops = f->ops, .op_count = f->count};
}

static void run(tally_context *context, const fusion *f, const tally_reduce_desc *given, uint64_t n, int pattern,
                const char *what) {
    tally_reduce_desc desc = *given, like = *given;
    tally_plan *plan;
    unsigned char result[MAX_RESULT];
    void *x = items_of(f->in, pattern, n + 1), *y = items_of(f->in, PATTERN_WIDE, n + 1);
    /* The second input is another: the same values, from the second on. */
    const void *const items[] = {x, (char *)y + tally_dtype_bytes(f->in)};
    desc.max_n = n + 1;
    like.variant = NULL;
    like.group_items = 0;
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
        if ((needs_f64(f) && !direct_has_f64(state)) || (quick() && c % 4)) continue;
        for (size_t s = 0; s < TALLY_ARRAY_LENGTH(sizes); s++) run(context, f, &desc, sizes[s], PATTERN_WIDE, "fused");
    }
}

/* NaN, infinities and the like go to each op as if it were alone. */
static void test_fused_patterns(void **state) {
    tally_context *context = direct_context(state);
    const fusion *f = &fusions[TALLY_ARRAY_LENGTH(fusions) - 1];
    const tally_reduce_desc desc = fused_desc(f);
    for (int pattern = 0; pattern < PATTERNS; pattern++) run(context, f, &desc, 5003, pattern, pattern_name(pattern));
}

/* Where the result lies in `out`, the item before and the item behind stay as they are; and a host call gives the same. */
static void test_fused_host(void **state) {
    tally_context *context = direct_context(state);
    static const tally_op ops[] = {TALLY_MIN, TALLY_SUM, TALLY_ANY};
    const tally_reduce_desc desc = {.size = sizeof desc, .in = TALLY_I8, .ops = ops, .op_count = 3};
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

/* Both levels, and f64 for f32, hold for every op of the pass. */
static void test_fused_levels(void **state) {
    tally_context *context = direct_context(state);
    static const fusion sums = {TALLY_F32, OPS(TALLY_SUM, TALLY_ASUM, TALLY_SUMSQ, TALLY_MEAN)};
    tally_reduce_desc desc = fused_desc(&sums);
    desc.accuracy = TALLY_ACCURACY_COMPENSATED;
    run(context, &sums, &desc, N, PATTERN_WIDE, "fused, compensated");
    if (direct_has_f64(state)) {
        desc.accuracy = TALLY_ACCURACY_DEFAULT;
        desc.acc = TALLY_F64;
        run(context, &sums, &desc, N, PATTERN_WIDE, "fused, in f64");
    }
    /* One that has no such level. */
    tally_plan *plan = NULL;
    static const tally_op mixed[] = {TALLY_SUM, TALLY_MIN};
    desc = (tally_reduce_desc){
        .size = sizeof desc, .in = TALLY_F32, .ops = mixed, .op_count = 2, .accuracy = TALLY_ACCURACY_COMPENSATED};
    assert_int_equal(tally_plan_create(context, &desc, &plan), TALLY_E_UNSUPPORTED);
    assert_null(plan);
    assert_non_null(strstr(tally_last_error(), "min of f32"));
}

/* One parameter of two ops. */
static void test_fused_params(void **state) {
    tally_context *context = direct_context(state);
    static const tally_op ops[] = {TALLY_VAR, TALLY_SUM, TALLY_STD};
    const float x[4] = {1, 2, 3, 4};
    float result[3], alone;
    const direct_param ddof[] = {{"ddof", 1}, {NULL, 0}};
    const tally_reduce_desc desc = {.in = TALLY_F32, .ops = ops, .op_count = 3};
    direct_reduce(context, &desc, ddof, (const void *const[]){x}, 4, result);
    for (int o = 0; o < 3; o++) {
        const tally_reduce_desc single = {.in = TALLY_F32, .op = ops[o]};
        direct_reduce(context, &single, ops[o] == TALLY_SUM ? NULL : ddof, (const void *const[]){x}, 4, &alone);
        assert_memory_equal(&result[o], &alone, sizeof alone);
    }
    assert_true(result[0] == 5.0f / 3);
    direct_reduce(context, &desc, NULL, (const void *const[]){x}, 4, result);
    assert_true(result[0] == 1.25f);
}

/* Sixteen wide accumulators: the groups of a GPU's kernel become smaller; a group that is asked for and does not fit is refused. */
static void test_fused_local_memory(void **state) {
    const place *at = *state;
    tally_context *context = direct_context(state);
    if (!at->info.has_f64) return;
    static const fusion wide = {TALLY_F64, OPS(TALLY_VAR, TALLY_STD, TALLY_NRM2, TALLY_ARGMIN, TALLY_ARGMAX, TALLY_IAMAX,
                                               TALLY_MINMAX, TALLY_SUM, TALLY_ASUM, TALLY_SUMSQ, TALLY_MEAN, TALLY_PROD,
                                               TALLY_MIN, TALLY_MAX, TALLY_NANMIN, TALLY_VAR)};
    tally_reduce_desc desc = fused_desc(&wide);
    desc.variant = "group_tree";
    run(context, &wide, &desc, N, PATTERN_WIDE, "group_tree, sixteen ops");
    desc.max_n = N;
    desc.group_items = 1024;
    tally_plan *plan = NULL;
    /* 32 chunks of 128 lanes, each of at least 16 accumulators of 8 bytes. */
    if (at->info.local_bytes >= UINT64_C(32) * 128 * 256) return;
    assert_int_equal(tally_plan_create(context, &desc, &plan), TALLY_E_UNSUPPORTED);
    assert_null(plan);
}

static void test_fused_refused(void **state) {
    tally_context *context = direct_context(state);
    static const tally_op inputs[] = {TALLY_SUM, TALLY_DOT}, floats[] = {TALLY_SUM, TALLY_BAND};
    const tally_op many[TALLY_MAX_OPS + 1] = {TALLY_SUM, TALLY_SUM, TALLY_SUM, TALLY_SUM, TALLY_SUM, TALLY_SUM,
                                              TALLY_SUM, TALLY_SUM, TALLY_SUM, TALLY_SUM, TALLY_SUM, TALLY_SUM,
                                              TALLY_SUM, TALLY_SUM, TALLY_SUM, TALLY_SUM, TALLY_SUM};
    const struct {
        tally_reduce_desc desc;
        tally_status status;
        const char *word;
    } refused[] = {
        {{.in = TALLY_F32, .ops = inputs, .op_count = 2}, TALLY_E_ARGUMENT, "cannot share a pass"},
        {{.in = TALLY_F32, .ops = floats, .op_count = 2}, TALLY_E_UNSUPPORTED, "band does not take f32"},
        {{.in = TALLY_F32, .ops = many, .op_count = TALLY_MAX_OPS + 1}, TALLY_E_ARGUMENT, "at most 16"},
        {{.in = TALLY_F32, .ops = inputs, .op_count = 1, .out = TALLY_F64}, TALLY_E_ARGUMENT, "keep their types"},
        {{.in = TALLY_F32, .ops = inputs, .op_count = 1, .op = TALLY_SUM}, TALLY_E_ARGUMENT, "give one of them"},
        {{.in = TALLY_F32, .op_count = 1}, TALLY_E_ARGUMENT, "desc.ops is NULL"},
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
    {"fused: parameters", test_fused_params},
    {"fused: local memory", test_fused_local_memory},
    {"fused: refused", test_fused_refused},
    {NULL, NULL},
};
