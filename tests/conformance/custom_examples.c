/* SPDX-License-Identifier: MIT */
/*
 * Custom ops on a real device: the five of docs/custom-ops.md, compared with plain C in the
 * canonical order; with parameters, in feeds, by every variant.
 */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "direct.h"
#include "oracle/patterns.h"
#include "tests/support/sample.h"

#define N 100003

static const uint64_t sizes[] = {0, 1, 2, 127, 4096, 4097, 20000, N};

/* Ordinary numbers of both signs, none of them special. */
static void fill_f32(float *x, uint64_t n, uint64_t seed) {
    for (uint64_t i = 0; i < n; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        x[i] = ((float)(seed >> 40) - 0x1p23f) * 0x1p-21f;
    }
}

/* ---- the five examples ----------------------------------------------------------------------- */

static const float minus_zero = -0.0f;
static float threshold;

static void load_threshold(void *acc, const void *const *items, uint64_t i) {
    const float x = ((const float *)items[0])[i];
    *(float *)acc = x > threshold ? x * x : 0;
}

static void add_f32(void *a, const void *b) {
    *(float *)a += *(const float *)b;
}

static const tally_op_desc threshold_op = {.name = "squares above",
                                           .identity = "-0.0f",
                                           .load = "x > p.threshold ? x * x : 0",
                                           .combine = "a + b",
                                           .params = &(const tally_op_param){"threshold", TALLY_F32, 1},
                                           .param_count = 1};

/* A sum of squares above a threshold. The threshold changes from run to run. */
static void test_threshold(void **state) {
    tally_context *context = direct_context(state);
    float *x = malloc(N * sizeof *x), got, expected;
    const void *const items[] = {x};
    const canonical_op reference = {sizeof(float), &minus_zero, load_threshold, add_f32};
    tally_custom_op *op = direct_op(&threshold_op);
    const tally_reduce_desc desc = direct_desc(op, TALLY_F32);
    fill_f32(x, N, 1);
    for (size_t s = 0; s < TALLY_ARRAY_LENGTH(sizes); s++) {
        static const float thresholds[] = {1, -1000, 2.5f, 1000};
        for (size_t t = 0; t < TALLY_ARRAY_LENGTH(thresholds); t++) {
            const direct_param params[] = {{t ? "threshold" : NULL, thresholds[t]},
                                           {NULL, 0}}; /* the first threshold is the default */
            threshold = thresholds[t];
            direct_reduce(context, &desc, params, items, sizes[s], &got);
            canonical_reduce(&reference, items, sizes[s], &expected);
            direct_expect_bits(&got, &expected, sizeof got, "the sum of squares above a threshold", sizes[s]);
        }
    }
    tally_op_destroy(op);
    free(x);
}

typedef struct weighted {
    float sum, weight;
} weighted;

static void load_weighted(void *acc, const void *const *items, uint64_t i) {
    const float x = ((const float *)items[0])[i], y = ((const float *)items[1])[i];
    *(weighted *)acc = (weighted){x * y, y};
}

static void add_weighted(void *left, const void *right) {
    weighted *a = left;
    const weighted *b = right;
    *a = (weighted){a->sum + b->sum, a->weight + b->weight};
}

static const tally_op_field weighted_fields[] = {
    {.name = "sum", .identity = "-0.0f", .load = "x * y", .combine = "a.sum + b.sum"},
    {.name = "weight", .identity = "-0.0f", .load = "y", .combine = "a.weight + b.weight"},
};
static const tally_op_desc weighted_op = {.name = "weighted mean",
                                          .inputs = 2,
                                          .fields = weighted_fields,
                                          .field_count = 2,
                                          .finish = "a.sum / a.weight",
                                          .empty = "NAN"};

static void test_weighted_mean(void **state) {
    tally_context *context = direct_context(state);
    float *x = malloc(N * sizeof *x), *y = malloc(N * sizeof *y), got, expected;
    const void *const items[] = {x, y};
    const weighted identity = {-0.0f, -0.0f};
    const canonical_op reference = {sizeof identity, &identity, load_weighted, add_weighted};
    tally_custom_op *op = direct_op(&weighted_op);
    const tally_reduce_desc desc = direct_desc(op, TALLY_F32);
    fill_f32(x, N, 2);
    fill_f32(y, N, 3);
    for (uint64_t i = 0; i < N; i++) y[i] = fabsf(y[i]) + 1;
    for (size_t s = 0; s < TALLY_ARRAY_LENGTH(sizes); s++) {
        weighted acc;
        direct_reduce(context, &desc, NULL, items, sizes[s], &got);
        canonical_reduce(&reference, items, sizes[s], &acc);
        expected = sizes[s] ? acc.sum / acc.weight : NAN;
        if (isnan(expected)) memcpy(&expected, &(uint32_t){0x7fc00000}, sizeof expected);
        direct_expect_bits(&got, &expected, sizeof got, "the weighted mean", sizes[s]);
    }
    tally_op_destroy(op);
    free(x);
    free(y);
}

static const tally_op_field farthest_fields[] = {
    {.name = "size", .type = TALLY_F32, .identity = "-1", .load = "fabs(x)", .combine = "farther ? b.size : a.size"},
    {.name = "index", .type = TALLY_U64, .identity = "~(u64)0", .load = "i", .combine = "farther ? b.index : a.index"},
};
static const tally_op_let farthest_lets[] = {{.name = "farther",
                                              .part = TALLY_PART_COMBINE,
                                              .type = TALLY_I32,
                                              .value = "b.size > a.size || (b.size == a.size && b.index < a.index)"}};
static const tally_op_result farthest_results[] = {{.name = "size", .type = TALLY_F32, .finish = "a.size"},
                                                   {.name = "index", .type = TALLY_U64, .finish = "a.index"}};
static const tally_op_desc farthest_op = {.name = "argmax of |x|",
                                          .fields = farthest_fields,
                                          .field_count = 2,
                                          .results = farthest_results,
                                          .result_count = 2,
                                          .lets = farthest_lets,
                                          .let_count = 1,
                                          .exact = 1};

/* The results in their layout: 4 bytes between the two are zeros. */
typedef struct found_item {
    float size;
    uint64_t index;
} found_item;

static void expect_farthest(const found_item *got, const float *x, uint64_t n, const char *what) {
    found_item expected = {-1, UINT64_MAX};
    uint32_t hole;
    for (uint64_t i = 0; i < n; i++)
        if (fabsf(x[i]) > expected.size) expected = (found_item){fabsf(x[i]), i};
    memcpy(&hole, (const char *)got + sizeof(float), sizeof hole);
    if (got->size != expected.size || got->index != expected.index || hole != 0)
        fail_msg("%s of %llu items is %g at %llu, should be %g at %llu; between them is 0x%x", what, (unsigned long long)n,
                 (double)got->size, (unsigned long long)got->index, (double)expected.size, (unsigned long long)expected.index,
                 hole);
}

static void test_farthest(void **state) {
    tally_context *context = direct_context(state);
    float *x = malloc(N * sizeof *x);
    const void *const items[] = {x};
    tally_custom_op *op = direct_op(&farthest_op);
    const tally_reduce_desc desc = direct_desc(op, TALLY_F32);
    for (size_t s = 0; s < TALLY_ARRAY_LENGTH(sizes); s++) {
        const uint64_t n = sizes[s];
        found_item got;
        fill_f32(x, N, 4 + s);
        for (int tie = 0; tie < 2; tie++) {
            if (tie && n > 2) x[n - 1] = 1000, x[n / 2] = -1000; /* a tie, which the first wins */
            direct_reduce(context, &desc, NULL, items, n, &got);
            expect_farthest(&got, x, n, "the largest magnitude");
        }
    }
    tally_op_destroy(op);
    free(x);
}

static double mu, sigma;

static void load_likelihood(void *acc, const void *const *items, uint64_t i) {
    const double z = (((const double *)items[0])[i] - mu) / sigma;
    *(double *)acc = -0.5 * z * z - log(sigma) - 0.91893853320467274178;
}

static void add_f64(void *a, const void *b) {
    *(double *)a += *(const double *)b;
}

static const tally_op_param normal_params[] = {{"mu", TALLY_F64, 0}, {"sigma", TALLY_F64, 1}};
static const tally_op_desc likelihood_op = {
    .name = "log-likelihood",
    .identity = "-0.0",
    .load = "-0.5 * ((x - p.mu) / p.sigma) * ((x - p.mu) / p.sigma) - log(p.sigma) - 0.91893853320467274178",
    .combine = "a + b",
    .params = normal_params,
    .param_count = 2};

/* log differs from device to device by 1 to 3 ulp (OpenCL C, table of ULP values; CUDA: 1), so the
 * test has a bound. */
static void test_likelihood(void **state) {
    if (!direct_has_f64(state)) return;
    tally_context *context = direct_context(state);
    float *normal = malloc(N * sizeof *normal);
    double *x = malloc(N * sizeof *x), got;
    const void *const items[] = {x};
    const double identity = -0.0;
    const canonical_op reference = {sizeof(double), &identity, load_likelihood, add_f64};
    tally_custom_op *op = direct_op(&likelihood_op);
    const tally_reduce_desc desc = direct_desc(op, TALLY_F64);
    fill_f32(normal, N, 5);
    for (uint64_t i = 0; i < N; i++) x[i] = normal[i];
    for (int k = 0; k < 3; k++) {
        mu = 0.25 * k;
        sigma = 1 + k;
        const direct_param params[] = {{"mu", mu}, {"sigma", sigma}, {NULL, 0}};
        for (size_t s = 0; s < TALLY_ARRAY_LENGTH(sizes); s++) {
            double expected, terms = 0;
            direct_reduce(context, &desc, params, items, sizes[s], &got);
            canonical_reduce(&reference, items, sizes[s], &expected);
            for (uint64_t i = 0; i < sizes[s]; i++) terms += fabs((x[i] - mu) * (x[i] - mu) / (sigma * sigma)) + log(sigma) + 1;
            /* Each term has some 10 roundings of u = 2^-53, of log 3 ulp. The sum's roundings
             * follow, on both sides. */
            const double bound = terms * 0x1p-53 * (16 + 2 * 60);
            if (!(fabs(got - expected) <= bound))
                fail_msg("the log-likelihood of %llu items: %.17g, should be %.17g +- %.3g", (unsigned long long)sizes[s], got,
                         expected, bound);
        }
    }
    tally_op_destroy(op);
    free(normal);
    free(x);
}

typedef struct trimmed {
    int64_t sum;
    uint32_t count;
    int32_t largest;
} trimmed;

/* The mean of all items but the largest: a struct of three fields of three types. */
static const tally_op_field trimmed_fields[] = {
    {.name = "sum", .type = TALLY_I64, .identity = "0", .load = "x", .combine = "a.sum + b.sum"},
    {.name = "count", .type = TALLY_U32, .identity = "0", .load = "1", .combine = "a.count + b.count"},
    {.name = "largest",
     .type = TALLY_I32,
     .identity = "-2147483647 - 1",
     .load = "x",
     .combine = "a.largest > b.largest ? a.largest : b.largest"},
};
static const tally_op_desc trimmed_op = {.name = "mean but the largest",
                                         .fields = trimmed_fields,
                                         .field_count = 3,
                                         .finish = "a.count > 1 ? (f32)(a.sum - a.largest) / (f32)(n - 1) : 0",
                                         .out = TALLY_F32,
                                         .exact = 1};

static float trimmed_mean(const int32_t *x, uint64_t n) {
    trimmed all = {0, 0, INT32_MIN};
    for (uint64_t i = 0; i < n; i++) all = (trimmed){all.sum + x[i], 0, x[i] > all.largest ? x[i] : all.largest};
    return n > 1 ? (float)(all.sum - all.largest) / (float)(n - 1) : 0;
}

static void test_three_fields(void **state) {
    tally_context *context = direct_context(state);
    int32_t *x = malloc(N * sizeof *x);
    const void *const items[] = {x};
    tally_custom_op *op = direct_op(&trimmed_op);
    const tally_reduce_desc desc = direct_desc(op, TALLY_I32);
    pattern_fill(PATTERN_WIDE, TALLY_I32, x, N);
    for (size_t s = 0; s < TALLY_ARRAY_LENGTH(sizes); s++) {
        float got;
        const float expected = trimmed_mean(x, sizes[s]);
        direct_reduce(context, &desc, NULL, items, sizes[s], &got);
        direct_expect_bits(&got, &expected, sizeof got, "the mean of all but the largest", sizes[s]);
    }
    tally_op_destroy(op);
    free(x);
}

/* ---- parameters, feeds, variants ------------------------------------------------------------- */

static uint64_t programs_built(tally_context *context) {
    tally_context_info info;
    MUST(tally_context_get_info(context, &info));
    return info.programs_built + info.programs_from_disk;
}

static void test_params_compile_nothing(void **state) {
    tally_context *context = direct_context(state);
    float x[1000], got;
    const void *const items[] = {x};
    tally_custom_op *op = direct_op(&threshold_op);
    tally_reduce_desc desc = direct_desc(op, TALLY_F32);
    fill_f32(x, 1000, 6);
    direct_reduce(context, &desc, NULL, items, 1000, &got);
    const uint64_t before = programs_built(context);
    for (int k = 0; k < 20; k++)
        direct_reduce(context, &desc, (direct_param[]){{"threshold", k}, {NULL, 0}}, items, 1000, &got);
    assert_int_equal(programs_built(context), before);
    /* Another default needs no program either. It is a value, not a part of the program. */
    const tally_op_param other = {"threshold", TALLY_F32, 3};
    tally_op_desc changed = threshold_op;
    changed.params = &other;
    tally_custom_op *again = direct_op(&changed);
    desc.custom = again;
    direct_reduce(context, &desc, NULL, items, 1000, &got);
    assert_int_equal(programs_built(context), before);
    /* A parameter that does not exist. */
    tally_plan *plan;
    MUST(tally_plan_create(context, &desc, &plan));
    assert_int_equal(tally_plan_set_param(plan, "treshold", 1), TALLY_E_ARGUMENT);
    if (!strstr(tally_last_error(), "treshold") || !strstr(tally_last_error(), " threshold"))
        fail_msg("not the parameters that there are: %s", tally_last_error());
    tally_plan_destroy(plan);
    tally_op_destroy(again);
    tally_op_destroy(op);
}

/* In pieces the index continues, the parameters hold, and the bits are those of a single
 * reduction. */
static void test_feed(void **state) {
    tally_context *context = direct_context(state);
    float *x = malloc(N * sizeof *x), *y = malloc(N * sizeof *y), one, fed;
    found_item at;
    tally_custom_op *ops[] = {direct_op(&weighted_op), direct_op(&farthest_op), direct_op(&threshold_op)};
    fill_f32(x, N, 7);
    fill_f32(y, N, 8);
    x[N - 5] = -1000;
    for (int o = 0; o < 3; o++) {
        tally_reduce_desc desc = direct_desc(ops[o], TALLY_F32);
        tally_feed *feed;
        desc.max_n = 5000;
        MUST(tally_feed_create(context, &desc, &feed));
        if (o == 2) MUST(tally_plan_set_param(tally_feed_plan(feed), "threshold", 2));
        uint64_t done = 0;
        for (uint64_t piece = 777; done + piece < N; done += piece, piece = piece * 5 % 9001 + 1) {
            const void *const from[] = {x + done, y + done};
            MUST(tally_feed_push_inputs(feed, from, piece));
        }
        const void *const rest[] = {x + done, y + done}, *const all[] = {x, y};
        if (o == 1) {
            MUST(tally_feed_finish_inputs(feed, rest, N - done, &at));
            expect_farthest(&at, x, N, "fed, the largest magnitude");
        } else {
            MUST(tally_feed_finish_inputs(feed, rest, N - done, &fed));
            direct_reduce(context, &desc, o ? (direct_param[]){{"threshold", 2}, {NULL, 0}} : NULL, all, N, &one);
            direct_expect_bits(&fed, &one, sizeof fed, o ? "the fed sum" : "the fed mean", N);
        }
        tally_feed_destroy(feed);
        tally_op_destroy(ops[o]);
    }
    free(x);
    free(y);
}

/* Every variant of the device. All give the exact ops' results, canonical ones the sum's bits
 * too. */
static void test_variants(void **state) {
    tally_context *context = direct_context(state);
    float *x = malloc(N * sizeof *x), sum, expected_sum;
    int32_t *integers = (int32_t *)x;
    const void *const items[] = {x};
    uint64_t ran = 0;
    tally_custom_op *farthest_one = direct_op(&farthest_op), *squares = direct_op(&threshold_op);
    tally_custom_op *largest = direct_op(&(tally_op_desc){
        .name = "largest square", .identity = "0", .load = "(i64)x * x", .combine = "a > b ? a : b", .exact = 1});
    const canonical_op reference = {sizeof(float), &minus_zero, load_threshold, add_f32};
    for (size_t v = 0; v < tally_variant_count(); v++) {
        tally_variant_info info;
        MUST(tally_variant_get(v, &info));
        struct {
            tally_custom_op *op;
            tally_dtype in;
        } runs[] = {{farthest_one, TALLY_F32}, {squares, TALLY_F32}, {largest, TALLY_I32}};
        for (int r = 0; r < 3; r++) {
            if ((r == 1 && !info.canonical) || !has_turn(*state, r + v)) continue;
            tally_reduce_desc desc = direct_desc(runs[r].op, runs[r].in);
            tally_plan *plan;
            desc.variant = info.name;
            desc.max_n = N;
            const tally_status status = tally_plan_create(context, &desc, &plan);
            if (status == TALLY_E_UNSUPPORTED) continue;
            MUST(status);
            tally_plan_destroy(plan);
            ran++;
            fill_f32(x, N, 9);
            if (r == 0) {
                found_item found;
                direct_reduce(context, &desc, NULL, items, N, &found);
                expect_farthest(&found, x, N, info.name);
                x[N - 1] = -FLT_MAX; /* in the last chunk, which is short */
                direct_reduce(context, &desc, NULL, items, N, &found);
                expect_farthest(&found, x, N, info.name);
            } else if (r == 1) {
                threshold = 1;
                direct_reduce(context, &desc, NULL, items, N, &sum);
                canonical_reduce(&reference, items, N, &expected_sum);
                direct_expect_bits(&sum, &expected_sum, sizeof sum, info.name, N);
            } else {
                int64_t got, expected = 0;
                pattern_fill(PATTERN_WIDE, TALLY_I32, integers, N);
                for (int i = 0; i < N; i++) {
                    const int64_t square = (int64_t)integers[i] * integers[i];
                    expected = square > expected ? square : expected;
                }
                direct_reduce(context, &desc, NULL, items, N, &got);
                direct_expect_bits(&got, &expected, sizeof got, info.name, N);
            }
        }
    }
    assert_true(ran >= (sample_parts() > 1 ? 3 : 10));
    tally_op_destroy(farthest_one);
    tally_op_destroy(squares);
    tally_op_destroy(largest);
    free(x);
}

const device_test custom_example_tests[] = {
    {"custom: squares above a threshold", test_threshold},
    {"custom: weighted mean", test_weighted_mean},
    {"custom: argmax of |x|", test_farthest},
    {"custom: log-likelihood", test_likelihood},
    {"custom: three fields", test_three_fields},
    {"custom: parameters compile nothing", test_params_compile_nothing},
    {"custom: feeds", test_feed},
    {"custom: variants", test_variants},
    {NULL, NULL},
};
