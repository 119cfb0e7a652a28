/* SPDX-License-Identifier: MIT */
/* The oracle of segments: masks, initial results, gathering. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/test_main.h"
#include "oracle/items.h"
#include "oracle/patterns.h"
#include "oracle/segments.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))
#define N 9001

static _Alignas(16) unsigned char x[N * 16], y[N * 16];
static uint8_t mask[N];
static const void *const both[] = {x, y};

static void expect_equal(const void *got, const void *want, size_t bytes, const char *what, const oracle_case *of) {
    if (memcmp(got, want, bytes) != 0) fail_msg("%s: %s of %s differs", what, tally_op_name(of->op), tally_dtype_name(of->in));
}

/* ---- masks ----------------------------------------------------------------------------------- */

/* A mask of ones changes no bit, and a mask of zeros leaves no items. */
static void test_ones_and_zeros(void **unused) {
    (void)unused;
    static const uint64_t lengths[] = {1, 100, 129, 4097, N};
    oracle_case of = {0};
    for (of.op = TALLY_OP_NONE + 1; of.op < TALLY_OP_END; of.op++)
        for (of.in = TALLY_DTYPE_DEFAULT + 1; of.in < TALLY_DTYPE_END; of.in++)
            for (size_t l = 0; l < LENGTH(lengths) && oracle_takes(&of); l++) {
                oracle_result want = {{0}}, got = {{0}}, none = {{0}};
                pattern_fill(PATTERN_WIDE, of.in, x, lengths[l]);
                pattern_fill_second(PATTERN_WIDE, of.op, of.in, x, y, lengths[l]);
                oracle_reduce_inputs(&of, both, lengths[l], &want);
                memset(mask, 7, sizeof mask);
                oracle_reduce_where(&of, both, mask, lengths[l], &got);
                expect_equal(&got, &want, sizeof got, "a mask of ones", &of);
                oracle_reduce_inputs(&of, both, 0, &none);
                memset(mask, 0, sizeof mask);
                memset(&got, 0, sizeof got);
                oracle_reduce_where(&of, both, mask, lengths[l], &got);
                expect_equal(&got, &none, sizeof got, "a mask of zeros", &of);
            }
}

/* Masks two of three items, and whole rows and a chunk of them. */
static void fill_mask(void) {
    for (uint64_t i = 0; i < N; i++) mask[i] = i / 4096 != 1 && i / 200 % 3 != 1 && i % 3 == 1;
}

/* Fills floats, and a copy in which a number stands for each masked item. */
static void fill_replaced(float *copy, float number) {
    float *items = (float *)(void *)x;
    pattern_fill(PATTERN_NEAR_ONE, TALLY_F32, x, N);
    for (uint64_t i = 0; i < N; i++) copy[i] = mask[i] ? items[i] : number;
}

/* Items that are the identity stand for masked ones. */
static void test_identities(void **unused) {
    (void)unused;
    static const struct {
        oracle_case of;
        float identity;
    } cases[] = {{{.op = TALLY_SUM, .in = TALLY_F32}, -0.0f},
                 {{.op = TALLY_ASUM, .in = TALLY_F32}, 0},
                 {{.op = TALLY_NRM2, .in = TALLY_F32}, 0},
                 {{.op = TALLY_PROD, .in = TALLY_F32}, 1},
                 {{.op = TALLY_MIN, .in = TALLY_F32}, INFINITY},
                 {{.op = TALLY_ARGMAX, .in = TALLY_F32}, -INFINITY},
                 {{.op = TALLY_ANY, .in = TALLY_F32}, 0},
                 {{.op = TALLY_ALL, .in = TALLY_F32}, 1},
                 {{.op = TALLY_SUM, .in = TALLY_F32, .accuracy = TALLY_ACCURACY_COMPENSATED}, -0.0f}};
    static float copy[N];
    fill_mask();
    for (size_t c = 0; c < LENGTH(cases); c++) {
        oracle_result want = {{0}}, got = {{0}};
        const void *const from[] = {copy};
        fill_replaced(copy, cases[c].identity);
        oracle_reduce_inputs(&cases[c].of, from, N, &want);
        oracle_reduce_where(&cases[c].of, both, mask, N, &got);
        expect_equal(&got, &want, sizeof got, "identities", &cases[c].of);
    }
}

/* n counts the items that are not masked: a mean is the masked sum over it. */
static void test_count(void **unused) {
    (void)unused;
    const oracle_case mean = {.op = TALLY_MEAN, .in = TALLY_F32}, sum = {.op = TALLY_SUM, .in = TALLY_F32};
    oracle_result got = {{0}}, total = {{0}};
    uint64_t n = 0;
    fill_mask();
    pattern_fill(PATTERN_WIDE, TALLY_F32, x, N);
    for (uint64_t i = 0; i < N; i++) n += mask[i];
    oracle_reduce_where(&mean, both, mask, N, &got);
    oracle_reduce_where(&sum, both, mask, N, &total);
    assert_true(got.f32 == total.f32 / (float)n);
}

/* Sums distances and their squares as plain sums with -0 for masked items. */
static float variance(const float *items, uint64_t n, float place) {
    static float distances[4096], squares[4096];
    float rest, square;
    uint64_t count = 0;
    for (uint64_t i = 0; i < n; i++) {
        const float d = items[i] - place;
        distances[i] = mask[i] ? d : -0.0f;
        squares[i] = mask[i] ? d * d : -0.0f;
        count += mask[i] != 0;
    }
    oracle_reduce(TALLY_SUM, TALLY_F32, distances, n, &rest);
    oracle_reduce(TALLY_SUM, TALLY_F32, squares, n, &square);
    const float low = rest / (float)count, product = rest * low;
    return (square - product) / (float)count;
}

/* The place is the mean of the first row; if one of its items is masked, the first item that is
 * not. */
static void test_variance(void **unused) {
    (void)unused;
    static const uint64_t lengths[] = {3, 100, 128, 1000, 4096};
    const oracle_case var = {.op = TALLY_VAR, .in = TALLY_F32};
    float *items = (float *)(void *)x;
    for (size_t l = 0; l < LENGTH(lengths); l++) {
        const uint64_t n = lengths[l];
        float place = 0, parts[128];
        oracle_result got = {{0}};
        uint64_t front = 128;
        pattern_fill(PATTERN_SHIFTED, TALLY_F32, x, n);
        while (front > n) front /= 2;
        for (uint64_t i = 0; i < front; i++) parts[i] = items[i] / 128;
        oracle_reduce(TALLY_SUM, TALLY_F32, parts, front, &place);
        place *= (float)(128 / front);
        for (uint64_t i = 0; i < n; i++) mask[i] = i < front || i % 5 == 0;
        oracle_reduce_where(&var, both, mask, n, &got);
        assert_true(got.f32 == variance(items, n, place));
        mask[0] = mask[front - 1] = 0;
        if (front > 2) mask[1] = 0;
        oracle_reduce_where(&var, both, mask, n, &got);
        assert_true(n == 3 ? isnan(got.f32) || got.f32 == 0 : got.f32 == variance(items, n, items[front > 2 ? 2 : 1]));
    }
}

static void test_logsumexp(void **unused) {
    (void)unused;
    const oracle_case of = {.op = TALLY_LOGSUMEXP, .in = TALLY_F64};
    double *items = (double *)(void *)x, sum = 0;
    oracle_result got = {{0}};
    fill_mask();
    for (uint64_t i = 0; i < N; i++) {
        items[i] = mask[i] ? (double)(i % 17) : 600; /* a masked item takes no part in the scale */
        if (mask[i]) sum += exp(items[i]);
    }
    oracle_reduce_where(&of, both, mask, N, &got);
    assert_true(fabs(got.f64 - log(sum)) < 1e-12);
}

/* ---- initial results ------------------------------------------------------------------------- */

#define EXPECT_INITIAL(case_, item, items_, start_type, start_, count, want_type, want_)                                       \
    do {                                                                                                                       \
        const item items[] = {items_};                                                                                         \
        const start_type start[] = {start_};                                                                                   \
        const want_type want[] = {want_};                                                                                      \
        oracle_case of = {case_};                                                                                              \
        oracle_result got = {{0}};                                                                                             \
        const void *const from[] = {items, items};                                                                             \
        of.initial = start;                                                                                                    \
        oracle_reduce_inputs(&of, from, count, &got);                                                                          \
        expect_equal(&got, want, sizeof want, "initial " #start_, &of);                                                        \
    } while (0)
#define LIST(...) __VA_ARGS__
#define CASE(op_, in_) LIST(.op = TALLY_##op_, .in = TALLY_##in_)

static void test_initial(void **unused) {
    (void)unused;
    EXPECT_INITIAL(CASE(SUM, F32), float, LIST(1, 2), float, 0x1p-3f, 2, float, 3.125f);
    EXPECT_INITIAL(CASE(SUM, F32), float, LIST(1, 2), float, -0.0f, 0, float, -0.0f);
    EXPECT_INITIAL(CASE(SUM, F16), uint16_t, 0x3c00, float, 0x1p20f, 1, float, 0x1p20f + 1);
    EXPECT_INITIAL(CASE(SUM, I8), int8_t, LIST(-1, -2), int64_t, INT64_C(-1000), 2, int64_t, INT64_C(-1003));
    EXPECT_INITIAL(CASE(PROD, U8), uint8_t, LIST(3, 5), uint64_t, 7, 2, uint64_t, 105);
    EXPECT_INITIAL(CASE(PROD, C64), float, LIST(0, 1), float, LIST(2, 3), 1, float, LIST(-3, 2));
    EXPECT_INITIAL(CASE(MIN, F32), float, LIST(4, 9), float, 5, 2, float, 4);
    EXPECT_INITIAL(CASE(MIN, F32), float, LIST(4, 9), float, 5, 0, float, 5);
    EXPECT_INITIAL(CASE(MAX, F32), uint32_t, 0x7fc00000, float, 5, 1, uint32_t, 0x7fc00000);
    EXPECT_INITIAL(CASE(NANMAX, F32), uint32_t, 0x7fc00000, float, 5, 1, float, 5);
    EXPECT_INITIAL(CASE(MINMAX, I16), int16_t, LIST(4, 9), int16_t, LIST(5, 12), 2, int16_t, LIST(4, 12));
    EXPECT_INITIAL(CASE(AMAX, I8), int8_t, LIST(-128, 9), uint8_t, 200, 2, uint8_t, 200);
    EXPECT_INITIAL(CASE(AMAX, F32), float, LIST(0.5f, -1), float, -3, 2, float, 1);
    EXPECT_INITIAL(CASE(ANY, I32), int32_t, LIST(0, 0), uint8_t, 1, 2, uint8_t, 1);
    EXPECT_INITIAL(CASE(ALL, I32), int32_t, LIST(1, 1), uint8_t, 0, 2, uint8_t, 0);
    EXPECT_INITIAL(CASE(ALL, I32), int32_t, LIST(1, 1), uint8_t, 1, 2, uint8_t, 1);
    EXPECT_INITIAL(CASE(ALL, I32), int32_t, LIST(1, 0), uint8_t, 1, 2, uint8_t, 0);
    EXPECT_INITIAL(CASE(COUNT_NONZERO, I32), int32_t, LIST(1, 0), uint64_t, 41, 2, uint64_t, 42);
    EXPECT_INITIAL(CASE(BAND, U8), uint8_t, LIST(15, 7), uint8_t, 6, 2, uint8_t, 6);
    EXPECT_INITIAL(CASE(BXOR, U8), uint8_t, LIST(15, 7), uint8_t, 6, 2, uint8_t, 14);
    EXPECT_INITIAL(CASE(SUMSQ, F32), float, LIST(3, 4), float, -5, 2, float, 20);
    EXPECT_INITIAL(CASE(NRM2, F32), float, 3, float, 4, 1, float, 5);
    EXPECT_INITIAL(CASE(NRM2, C128), double, LIST(2, 2), double, 1, 1, double, 3);
    EXPECT_INITIAL(CASE(DOT, I16), int16_t, LIST(3, 4), int64_t, -5, 2, int64_t, 20);
    EXPECT_INITIAL(CASE(ALLCLOSE, F32), float, LIST(3, 4), uint8_t, 0, 2, uint8_t, 0);
    EXPECT_INITIAL(CASE(ALLCLOSE, F32), float, LIST(3, 4), uint8_t, 1, 2, uint8_t, 1);
    EXPECT_INITIAL(LIST(CASE(SUM, F32), .accuracy = TALLY_ACCURACY_COMPENSATED), float, LIST(0x1p-30f, -1), float, 1, 2, float,
                   0x1p-30f);
    EXPECT_INITIAL(CASE(LOGSUMEXP, F64), double, (double)-INFINITY, double, 0, 1, double, 0);
}

/* The initial result is on the left: combined after the items, and not as their first. */
static void test_last(void **unused) {
    (void)unused;
    EXPECT_INITIAL(CASE(SUM, F32), float, LIST(1, 0x1p-24f), float, 0x1p-24f, 2, float, 1);
    EXPECT_INITIAL(CASE(SUM, F32), float, LIST(0x1p-24f, 0x1p-24f), float, 1, 2, float, 1 + 0x1p-23f);
    EXPECT_INITIAL(CASE(PROD, C64), uint32_t, LIST(0x7f800000, 0), float, LIST(0, 0), 1, uint32_t,
                   LIST(0x7fc00000, 0x7fc00000));
}

/* ---- gathering ------------------------------------------------------------------------------- */

static void test_axes(void **unused) {
    (void)unused;
    static const int32_t items[] = {1, 2, 3, 10, 20, 30};
    static const uint8_t where[] = {1, 0, 1, 1, 1, 0};
    const oracle_case sum = {.op = TALLY_SUM, .in = TALLY_I32}, index = {.op = TALLY_ARGMAX, .in = TALLY_I32};
    const tally_axis rows[] = {{.extent = 2, .in_stride = {3}, .where_stride = 3, .out_stride = -5},
                               {.extent = 3, .reduced = 1, .in_stride = {1}, .where_stride = 1}};
    const tally_axis all[] = {{.extent = 2, .reduced = 1, .in_stride = {-3}}, {.extent = 3, .reduced = 1, .in_stride = {1}}};
    oracle_items from = {.in = {items}};
    int64_t sums[2];
    uint64_t at;
    assert_int_equal(oracle_axes_segments(rows, 2), 2);
    assert_int_equal(oracle_axes_length(rows, 2), 3);
    assert_int_equal(oracle_axes_place(rows, 2, 1), -5);
    oracle_reduce_axes(&sum, &from, rows, 2, sums);
    assert_true(sums[0] == 6 && sums[1] == 60);
    from.where = where;
    oracle_reduce_axes(&sum, &from, rows, 2, sums);
    assert_true(sums[0] == 4 && sums[1] == 30);
    from = (oracle_items){.in = {items + 3}};
    oracle_reduce_axes(&index, &from, all, 2, &at);
    assert_int_equal(at, 2);
    oracle_reduce_axes(&sum, &from, NULL, 0, sums);
    assert_int_equal(sums[0], 10);
}

static void test_lists(void **unused) {
    (void)unused;
    static const int32_t items[] = {1, 2, 3, 10, 20, 30};
    static const uint64_t begins[] = {4, 0, 2, 2}, ends[] = {6, 4, 2, 3};
    static const unsigned char keys[] = {1, 2, 1, 2, 1, 3, 1, 3, 1, 3, 1, 2};
    const oracle_case sum = {.op = TALLY_SUM, .in = TALLY_I32};
    const oracle_items from = {.in = {items}};
    int64_t sums[4];
    uint64_t runs[7];
    oracle_reduce_offsets(&sum, &from, begins, ends, 4, sums);
    assert_true(sums[0] == 50 && sums[1] == 16 && sums[2] == 0 && sums[3] == 3);
    assert_int_equal(oracle_runs(keys, 2, 6, runs), 3);
    assert_true(runs[0] == 0 && runs[1] == 2 && runs[2] == 5 && runs[3] == 6);
    assert_int_equal(oracle_runs(keys, 2, 0, runs), 0);
    assert_int_equal(runs[0], 0);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ones_and_zeros), cmocka_unit_test(test_identities), cmocka_unit_test(test_count),
        cmocka_unit_test(test_variance),       cmocka_unit_test(test_logsumexp),  cmocka_unit_test(test_initial),
        cmocka_unit_test(test_last),           cmocka_unit_test(test_axes),       cmocka_unit_test(test_lists),
    };
    return test_main(argc, argv, "The oracle of segments.", tests, LENGTH(tests), NULL, NULL);
}
