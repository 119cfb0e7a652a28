/* SPDX-License-Identifier: MIT */
/*
 * The oracle against a second formulation of the same order, written as src/order.h says it and without a thought for speed, and
 * against values worked out by hand.
 */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "oracle.h"
#include "patterns.h"

/* Lane l of a chunk, then the lanes from `lane` by halving, then the chunks as an aligned tree. Absent items are -0.0. */
#define NAIVE(T, real)                                                                                                         \
    static real naive_lane_##T(const real *x, uint64_t n, uint64_t first) {                                                    \
        real sum = (real)-0.0;                                                                                                 \
        for (uint64_t r = 0; r < TALLY_ROWS; r++) {                                                                            \
            const uint64_t i = first + r * TALLY_LANES;                                                                        \
            sum = sum + (i < n ? x[i] : (real)-0.0);                                                                           \
        }                                                                                                                      \
        return sum;                                                                                                            \
    }                                                                                                                          \
    static real naive_lanes_##T(const real *x, uint64_t n, uint64_t first, uint64_t width) {                                   \
        if (width == TALLY_LANES) return naive_lane_##T(x, n, first);                                                          \
        return naive_lanes_##T(x, n, first, 2 * width) + naive_lanes_##T(x, n, first + width, 2 * width);                      \
    }                                                                                                                          \
    static real naive_tree_##T(const real *x, uint64_t n, uint64_t chunk, uint64_t chunks) {                                   \
        if (chunks == 1) return naive_lanes_##T(x, n, chunk * TALLY_CHUNK_ITEMS, 1);                                           \
        const real left = naive_tree_##T(x, n, chunk, chunks / 2);                                                             \
        const uint64_t right = chunk + chunks / 2;                                                                             \
        return right * TALLY_CHUNK_ITEMS < n ? left + naive_tree_##T(x, n, right, chunks / 2) : left;                          \
    }                                                                                                                          \
    static real naive_##T(const real *x, uint64_t n) {                                                                         \
        uint64_t chunks = 1;                                                                                                   \
        while (chunks * TALLY_CHUNK_ITEMS < n) chunks *= 2;                                                                    \
        const real sum = naive_tree_##T(x, n, 0, chunks);                                                                      \
        return n == 0 ? (real)0.0 : sum == sum ? sum : (real)NAN;                                                              \
    }
NAIVE(f32, float)
NAIVE(f64, double)

static const uint64_t sizes[] = {0,    1,    2,    3,     127,   128,      129,      997,          4095,          4096,
                                 4097, 8191, 8192, 12288, 12289, 5 * 4096, 7 * 4096, 8 * 4096 + 1, 33 * 4096 - 1, 100003};
#define SIZES (sizeof sizes / sizeof sizes[0])
#define MAX_N UINT64_C(135167) /* the largest of the sizes */

static void test_float_sums_are_in_order(void **unused) {
    (void)unused;
    float *f32 = malloc(MAX_N * sizeof *f32);
    double *f64 = malloc(MAX_N * sizeof *f64);
    assert_true(f32 && f64);
    for (int pattern = 0; pattern < PATTERNS; pattern++)
        for (size_t s = 0; s < SIZES; s++) {
            pattern_fill(pattern, TALLY_F32, f32, sizes[s]);
            pattern_fill(pattern, TALLY_F64, f64, sizes[s]);
            const float naive32 = naive_f32(f32, sizes[s]);
            const double naive64 = naive_f64(f64, sizes[s]);
            float got32;
            double got64;
            oracle_reduce(TALLY_SUM, TALLY_F32, f32, sizes[s], &got32);
            oracle_reduce(TALLY_SUM, TALLY_F64, f64, sizes[s], &got64);
            if (memcmp(&got32, &naive32, sizeof got32) != 0 || memcmp(&got64, &naive64, sizeof got64) != 0)
                fail_msg("%s, n=%llu: f32 %a, not %a; f64 %a, not %a", pattern_name(pattern), (unsigned long long)sizes[s],
                         (double)got32, (double)naive32, got64, naive64);
        }
    free(f32);
    free(f64);
}

/* If the order did not matter to these data, agreeing on it would show nothing. */
static void test_order_matters(void **unused) {
    (void)unused;
    float *x = malloc(MAX_N * sizeof *x);
    assert_non_null(x);
    pattern_fill(PATTERN_WIDE, TALLY_F32, x, MAX_N);
    float ordered, plain = 0, pairs = 0;
    oracle_reduce(TALLY_SUM, TALLY_F32, x, MAX_N, &ordered);
    for (uint64_t i = 0; i < MAX_N; i++) plain += x[i];
    for (uint64_t i = 0; i + 1 < MAX_N; i += 2) pairs += x[i] + x[i + 1];
    assert_true(ordered != plain);
    assert_true(ordered != pairs);
    free(x);
}

static void test_pieces_do_not_matter(void **unused) {
    (void)unused;
    static const uint64_t pieces[] = {1, 3, 127, 4095, 4096, 4097, 20000};
    void *x = malloc(MAX_N * 8);
    assert_non_null(x);
    for (tally_op op = TALLY_OP_NONE + 1; op < TALLY_OP_END; op++)
        for (tally_dtype in = TALLY_DTYPE_DEFAULT + 1; in < TALLY_DTYPE_END; in++) {
            pattern_fill(PATTERN_WIDE, in, x, MAX_N);
            oracle_result whole = {0}, parts = {0};
            oracle_reduce(op, in, x, MAX_N, &whole);
            for (size_t p = 0; p < sizeof pieces / sizeof pieces[0]; p++) {
                oracle state;
                oracle_begin(&state, op, in);
                for (uint64_t i = 0; i < MAX_N; i += pieces[p])
                    oracle_push(&state, (const char *)x + i * tally_dtype_bytes(in),
                                MAX_N - i < pieces[p] ? MAX_N - i : pieces[p]);
                oracle_end(&state, &parts);
                assert_memory_equal(&whole, &parts, sizeof whole);
            }
        }
    free(x);
}

/* Expects an op on a literal list of items to give a literal result, to the bit. */
#define EXPECT(op, in, item, result, expected, ...)                                                                            \
    do {                                                                                                                       \
        const item items[] = {__VA_ARGS__};                                                                                    \
        const result want = expected;                                                                                          \
        result got;                                                                                                            \
        oracle_reduce(op, in, items, sizeof items / sizeof items[0], &got);                                                    \
        if (memcmp(&got, &want, sizeof got) != 0) fail_msg("%s of (%s) is not %s", #op, #__VA_ARGS__, #expected);              \
    } while (0)

#define EXPECT_NONE(op, in, result, expected)                                                                                  \
    do {                                                                                                                       \
        const result want = expected;                                                                                          \
        result got;                                                                                                            \
        oracle_reduce(op, in, NULL, 0, &got);                                                                                  \
        if (memcmp(&got, &want, sizeof got) != 0) fail_msg("%s of nothing is not %s", #op, #expected);                         \
    } while (0)

static float float_of_bits(uint32_t bits) {
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static void test_values_worked_by_hand(void **unused) {
    (void)unused;
    EXPECT(TALLY_SUM, TALLY_F32, float, float, 6.5f, 1, 2, 3.5f);
    EXPECT(TALLY_SUM, TALLY_F32, float, float, -0.0f, -0.0f, -0.0f);
    EXPECT(TALLY_SUM, TALLY_F32, float, float, 0.0f, -0.0f, 0.0f);
    EXPECT(TALLY_SUM, TALLY_F32, float, uint32_t, 0x7fc00000, INFINITY, -INFINITY);
    EXPECT(TALLY_SUM, TALLY_F32, float, uint32_t, 0x7fc00000, 1, float_of_bits(0xffc12345));
    EXPECT(TALLY_SUM, TALLY_F64, double, uint64_t, 0x7ff8000000000000, -NAN, 1);
    EXPECT(TALLY_SUM, TALLY_F32, float, float, INFINITY, FLT_MAX, FLT_MAX);
    EXPECT(TALLY_SUM, TALLY_F32, float, float, 0x1p-148f, 0x1p-149f, 0x1p-149f);
    EXPECT(TALLY_SUM, TALLY_I32, int32_t, int64_t, INT64_C(-4294967296), INT32_MIN, INT32_MIN);
    EXPECT(TALLY_SUM, TALLY_U32, uint32_t, uint64_t, UINT64_C(8589934590), UINT32_MAX, UINT32_MAX);
    EXPECT(TALLY_SUM, TALLY_I64, int64_t, int64_t, INT64_MIN, INT64_MAX, 1);
    EXPECT(TALLY_SUM, TALLY_U64, uint64_t, uint64_t, 1, UINT64_MAX, 2);

    EXPECT(TALLY_MIN, TALLY_F32, float, float, -0.0f, 0.0f, -0.0f, 1);
    EXPECT(TALLY_MAX, TALLY_F32, float, float, 0.0f, -0.0f, 0.0f, -1);
    EXPECT(TALLY_MIN, TALLY_F32, float, float, -3, 2, -1, -3);
    EXPECT(TALLY_MAX, TALLY_F32, float, float, -1, -2, -1, -3);
    EXPECT(TALLY_MIN, TALLY_F32, float, float, INFINITY, INFINITY, INFINITY);
    EXPECT(TALLY_MAX, TALLY_F64, double, double, -INFINITY, -INFINITY);
    EXPECT(TALLY_MIN, TALLY_F32, float, uint32_t, 0x7fc00000, -INFINITY, float_of_bits(0xff800001));
    EXPECT(TALLY_MAX, TALLY_F64, double, uint64_t, 0x7ff8000000000000, INFINITY, -NAN);
    EXPECT(TALLY_MIN, TALLY_I32, int32_t, int32_t, INT32_MIN, 0, INT32_MIN, INT32_MAX);
    EXPECT(TALLY_MAX, TALLY_I32, int32_t, int32_t, -1, -1, -2);
    EXPECT(TALLY_MIN, TALLY_U32, uint32_t, uint32_t, 1, 0x80000000, 1);
    EXPECT(TALLY_MAX, TALLY_U32, uint32_t, uint32_t, 0x80000000, 0x80000000, 1);
    EXPECT(TALLY_MAX, TALLY_U64, uint64_t, uint64_t, UINT64_C(1) << 63, UINT64_C(1) << 63, 1);
    EXPECT(TALLY_MIN, TALLY_U64, uint64_t, uint64_t, 1, UINT64_C(1) << 63, 1);
    EXPECT(TALLY_MIN, TALLY_I64, int64_t, int64_t, INT64_MIN, 5, INT64_MIN);
}

static void test_no_items(void **unused) {
    (void)unused;
    EXPECT_NONE(TALLY_SUM, TALLY_F32, float, 0.0f);
    EXPECT_NONE(TALLY_SUM, TALLY_F64, double, 0.0);
    EXPECT_NONE(TALLY_SUM, TALLY_I32, int64_t, 0);
    EXPECT_NONE(TALLY_SUM, TALLY_U64, uint64_t, 0);
    EXPECT_NONE(TALLY_MIN, TALLY_F32, float, INFINITY);
    EXPECT_NONE(TALLY_MAX, TALLY_F64, double, -INFINITY);
    EXPECT_NONE(TALLY_MIN, TALLY_I32, int32_t, INT32_MAX);
    EXPECT_NONE(TALLY_MAX, TALLY_I32, int32_t, INT32_MIN);
    EXPECT_NONE(TALLY_MIN, TALLY_U32, uint32_t, UINT32_MAX);
    EXPECT_NONE(TALLY_MAX, TALLY_U32, uint32_t, 0);
    EXPECT_NONE(TALLY_MIN, TALLY_I64, int64_t, INT64_MAX);
    EXPECT_NONE(TALLY_MAX, TALLY_I64, int64_t, INT64_MIN);
    EXPECT_NONE(TALLY_MIN, TALLY_U64, uint64_t, UINT64_MAX);
    EXPECT_NONE(TALLY_MAX, TALLY_U64, uint64_t, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_float_sums_are_in_order),
        cmocka_unit_test(test_order_matters),
        cmocka_unit_test(test_pieces_do_not_matter),
        cmocka_unit_test(test_values_worked_by_hand),
        cmocka_unit_test(test_no_items),
    };
    return cmocka_run_group_tests(tests, NULL, NULL) != 0;
}
