/* SPDX-License-Identifier: MIT */
/* The accuracy of mean, variance and standard deviation: NIST's data sets, and items far from
 * zero. docs/numerics.md has the figures that the tests print. */
#include <math.h>
#include <stdio.h>

#include "direct.h"
#include "oracle/patterns.h"

/* ---- NIST's data sets ------------------------------------------------------------------------ */

/* Statistical Reference Datasets, univariate summary statistics, NumAcc1 to NumAcc4. Item 0 is
 * `first`, odd items are `odd`, the others `even`. The certified standard deviation is that of a
 * sample: ddof is 1. */
typedef struct data_set {
    const char *name;
    int n;
    double first, odd, even, mean, std;
} data_set;

static const data_set data_sets[] = {
    {"NumAcc1", 3, 10000001, 10000003, 10000002, 10000002, 1},
    {"NumAcc2", 1001, 1.2, 1.1, 1.3, 1.2, 0.1},
    {"NumAcc3", 1001, 1000000.2, 1000000.1, 1000000.3, 1000000.2, 0.1},
    {"NumAcc4", 1001, 10000000.2, 10000000.1, 10000000.3, 10000000.2, 0.1},
};

/* The digits that agree with the certified value: NIST's log relative error, at most the 15
 * certified digits. */
static double agreement(long double value, double certified) {
    const long double relative = fabsl(value - (long double)certified) / (long double)certified;
    const double found = relative > 0 ? (double)-log10l(relative) : 15;
    return found < 15 ? found : 15;
}

/* The mean and standard deviation of the data as rounded to f64, in long double by two passes: the
 * best that f64 data allow. */
static void attainable(const double *x, int n, long double *mean, long double *std) {
    long double sum = 0, squares = 0;
    for (int i = 0; i < n; i++) sum += x[i];
    *mean = sum / n;
    for (int i = 0; i < n; i++) squares += (x[i] - *mean) * (x[i] - *mean);
    *std = sqrtl(squares / (n - 1));
}

static void test_nist(void **state) {
    if (!direct_has_f64(state)) return;
    tally_context *context = direct_context(state);
    static const tally_term_desc terms[] = {{.op = TALLY_MEAN}, {.op = TALLY_STD}};
    const tally_reduce_desc desc = {.in = TALLY_F64, .terms = terms, .term_count = 2};
    for (size_t d = 0; d < TALLY_ARRAY_LENGTH(data_sets); d++) {
        const data_set *set = &data_sets[d];
        double x[1001], got[2];
        long double best[2];
        for (int i = 0; i < set->n; i++) x[i] = i == 0 ? set->first : i % 2 ? set->odd : set->even;
        attainable(x, set->n, &best[0], &best[1]);
        direct_reduce(context, &desc, (direct_param[]){{"ddof", 1}, {NULL, 0}}, (const void *const[]){x}, (uint64_t)set->n,
                      got);
        const double certified[2] = {set->mean, set->std};
        for (int k = 0; k < 2; k++) {
            const double reached = agreement(got[k], certified[k]), possible = agreement(best[k], certified[k]);
            printf("%s %s: %.17g: %.1f digits; the data in f64 allow %.1f\n", set->name, tally_op_name(terms[k].op), got[k],
                   reached, possible);
            /* tally may lose a tenth of a digit. */
            if (!(reached >= (possible - 0.1 < 14 ? possible - 0.1 : 14)))
                fail_msg("%s: %s is %.17g: %.1f digits", set->name, tally_op_name(terms[k].op), got[k], reached);
        }
    }
}

/* ---- a variance far from zero ---------------------------------------------------------------- */

/* Items of a spread of 1 around a mean. The variance keeps its accuracy however large the mean
 * is. */
static void expect_variance(tally_context *context, tally_dtype in, double mean) {
    enum { N = 3 * TALLY_CHUNK_ITEMS + 1234 };
    static double f64[N];
    static float f32[N];
    long double sum = 0, squares = 0;
    for (int i = 0; i < N; i++) {
        f64[i] = mean + (double)(pattern_random((uint64_t)i) >> 11) * 0x1p-53;
        f32[i] = (float)f64[i];
        if (in == TALLY_F32) f64[i] = (double)f32[i];
        const long double off = (long double)f64[i] - (long double)f64[0]; /* exact: they are close */
        sum += off;
        squares += off * off;
    }
    squares -= sum * sum / N;
    const tally_reduce_desc desc = {.op = TALLY_VAR, .in = in};
    const void *const inputs[] = {in == TALLY_F32 ? (const void *)f32 : f64};
    union {
        float f32;
        double f64;
    } got;
    direct_reduce(context, &desc, NULL, inputs, N, &got);
    const double value = in == TALLY_F32 ? (double)got.f32 : got.f64, unit = in == TALLY_F32 ? 0x1p-24 : 0x1p-53;
    const double error = (double)(fabsl((long double)value * N - squares) / squares);
    if (!(error <= 64 * unit)) fail_msg("var of %s around %g is off by %g units", tally_dtype_name(in), mean, error / unit);
}

static void test_variance(void **state) {
    tally_context *context = direct_context(state);
    static const double means[] = {0, 1e3, -1e5, 1e6, -1e9, 1e12};
    for (size_t m = 0; m < TALLY_ARRAY_LENGTH(means); m++) {
        if (fabs(means[m]) < 1e7) expect_variance(context, TALLY_F32, means[m]);
        if (direct_has_f64(state)) expect_variance(context, TALLY_F64, means[m]);
    }
}

/* ---- a variance beside outliers -------------------------------------------------------------- */

/* Items of a chunk's first row that are nothing like the others make its pivot a bad one. */
typedef struct outliers {
    int row_items;    /* the first items of every chunk's first row that are outliers */
    int all_chunks;   /* 0: those of the first chunk alone */
    double is, other; /* the outliers, and what is added to the other items */
} outliers;

static void expect_beside(tally_context *context, tally_dtype in, const outliers *o) {
    enum { N = 4 * TALLY_CHUNK_ITEMS + 321 };
    static double f64[N];
    static float f32[N];
    long double mean = 0, squares = 0;
    for (int i = 0; i < N; i++) {
        const int is_outlier = i % TALLY_CHUNK_ITEMS < o->row_items && (o->all_chunks || i < TALLY_CHUNK_ITEMS);
        f64[i] = is_outlier ? o->is : o->other + (double)(pattern_random((uint64_t)i) >> 11) * 0x1p-53;
        f32[i] = (float)f64[i];
        if (in == TALLY_F32) f64[i] = (double)f32[i];
        mean += (long double)f64[i] / N;
    }
    for (int i = 0; i < N; i++) squares += ((long double)f64[i] - mean) * ((long double)f64[i] - mean);
    const tally_reduce_desc desc = {.op = TALLY_VAR, .in = in};
    const void *const inputs[] = {in == TALLY_F32 ? (const void *)f32 : f64};
    union {
        float f32;
        double f64;
    } got;
    direct_reduce(context, &desc, NULL, inputs, N, &got);
    const double value = in == TALLY_F32 ? (double)got.f32 : got.f64, unit = in == TALLY_F32 ? 0x1p-24 : 0x1p-53;
    const double error = (double)(fabsl((long double)value * N - squares) / squares);
    if (!(error <= 256 * unit))
        fail_msg("var of %s with %d outliers %g is off by %g units", tally_dtype_name(in), o->row_items, o->is, error / unit);
}

static void test_outliers(void **state) {
    tally_context *context = direct_context(state);
    static const outliers sets[] = {
        {1, 0, 1e8, 0},   {1, 1, 1e8, 0},    {16, 0, 0, 1e6},  {128, 0, 0, 1e6},
        {128, 1, 1e4, 0}, {128, 0, -1e8, 0}, {200, 1, 1e8, 3},
    };
    for (size_t s = 0; s < TALLY_ARRAY_LENGTH(sets); s++) {
        expect_beside(context, TALLY_F32, &sets[s]);
        if (direct_has_f64(state)) expect_beside(context, TALLY_F64, &sets[s]);
    }
}

/* Equal items have no variance, however large they are and however many are in the last chunk. */
static void test_equal(void **state) {
    tally_context *context = direct_context(state);
    static const float values[] = {0.1F, -7.3e-39F, 3.3e38F, 1e-45F, 16777213};
    static const uint64_t lengths[] = {1, 2, 3, 7, 100, 127, 129, 4095, 4097, 4123, 9000};
    static float items[9000];
    const tally_reduce_desc desc = {.op = TALLY_VAR, .in = TALLY_F32};
    for (size_t v = 0; v < TALLY_ARRAY_LENGTH(values); v++) {
        for (size_t i = 0; i < TALLY_ARRAY_LENGTH(items); i++) items[i] = values[v];
        for (size_t n = 0; n < TALLY_ARRAY_LENGTH(lengths); n++) {
            float got = -1;
            direct_reduce(context, &desc, NULL, (const void *const[]){items}, lengths[n], &got);
            if (got != 0) fail_msg("var of %d times %g is %g", (int)lengths[n], (double)values[v], (double)got);
        }
    }
}

const device_test moment_tests[] = {
    {"accuracy: NIST NumAcc1 to 4", test_nist},
    {"accuracy: a variance far from zero", test_variance},
    {"accuracy: a variance beside outliers", test_outliers},
    {"accuracy: a variance of equals", test_equal},
    {NULL, NULL},
};
