/* SPDX-License-Identifier: MIT */
/* The oracle against values worked out by hand. */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/test_main.h"
#include "oracle/oracle.h"
#include "oracle/items.h"

/* Expects an op on literal lists of items, one or two, to give literal values, to the bit. */
static void expect_bytes(const oracle_case *what, const void *x, const void *y, uint64_t n, const void *want, size_t bytes,
                         const char *text) {
    oracle_result got = {{0}};
    const void *const inputs[2] = {x, y};
    assert_true(oracle_takes(what));
    assert_int_equal(oracle_result_bytes(what), bytes);
    oracle_reduce_inputs(what, inputs, n, &got);
    if (memcmp(&got, want, bytes) != 0)
        fail_msg("%s: is 0x%llx 0x%llx", text, (unsigned long long)got.words[0], (unsigned long long)got.words[1]);
}

#define VALUES(...) __VA_ARGS__
#define EXPECT_CASE(what, item, xs, ys, result, wanted)                                                                        \
    do {                                                                                                                       \
        const item x[] = {xs}, y[] = {ys};                                                                                     \
        const result want[] = {wanted};                                                                                        \
        const oracle_case of = what;                                                                                           \
        expect_bytes(&of, x, y, sizeof x / item_bytes_of(of.in), want, sizeof want, #what ": " #xs "; " #ys " -> " #wanted);   \
    } while (0)
#define CASE(op_, in_)                                                                                                         \
    { .op = TALLY_##op_, .in = TALLY_##in_ }
#define EXPECT(op, in, item, xs, result, wanted) EXPECT_CASE(VALUES(CASE(op, in)), item, VALUES(xs), 0, result, VALUES(wanted))
#define EXPECT2(op, in, item, xs, ys, result, wanted)                                                                          \
    EXPECT_CASE(VALUES(CASE(op, in)), item, VALUES(xs), VALUES(ys), result, VALUES(wanted))

#define NAN32 UINT32_C(0x7fc00000)
#define NAN64 UINT64_C(0x7ff8000000000000)

static void test_sums(void **unused) {
    (void)unused;
    EXPECT(SUM, F32, float, VALUES(1, 2, 3.5f), float, 6.5f);
    EXPECT(SUM, F32, float, VALUES(-0.0f, -0.0f), float, -0.0f);
    EXPECT(SUM, F32, float, VALUES(-0.0f, 0.0f), float, 0.0f);
    EXPECT(SUM, F32, float, VALUES(INFINITY, -INFINITY), uint32_t, NAN32);
    EXPECT(SUM, F32, uint32_t, VALUES(0x3f800000, 0xffc12345), uint32_t, NAN32);
    EXPECT(SUM, F64, double, VALUES((double)-NAN, 1), uint64_t, NAN64);
    EXPECT(SUM, F32, float, VALUES(FLT_MAX, FLT_MAX), float, INFINITY);
    EXPECT(SUM, F32, float, VALUES(0x1p-149f, 0x1p-149f), float, 0x1p-148f);
    EXPECT(SUM, F16, uint16_t, VALUES(0x7bff, 0x7bff), float, 131008);
    EXPECT(SUM, F16, uint16_t, VALUES(0x0001, 0x8002), float, -0x1p-24f);
    EXPECT(SUM, BF16, uint16_t, VALUES(0x3f80, 0xc000), float, -1);
    EXPECT(SUM, I8, int8_t, VALUES(-128, -128, 1), int64_t, -255);
    EXPECT(SUM, U8, uint8_t, VALUES(255, 255), uint64_t, 510);
    EXPECT(SUM, I16, int16_t, VALUES(-32768, -32768), int64_t, -65536);
    EXPECT(SUM, U16, uint16_t, VALUES(65535, 65535), uint64_t, 131070);
    EXPECT(SUM, I32, int32_t, VALUES(INT32_MIN, INT32_MIN), int64_t, INT64_C(-4294967296));
    EXPECT(SUM, U32, uint32_t, VALUES(UINT32_MAX, UINT32_MAX), uint64_t, UINT64_C(8589934590));
    EXPECT(SUM, I64, int64_t, VALUES(INT64_MAX, 1), int64_t, INT64_MIN);
    EXPECT(SUM, U64, uint64_t, VALUES(UINT64_MAX, 2), uint64_t, 1);
    EXPECT(SUM, BOOL, uint8_t, VALUES(0, 1, 255, 2), int64_t, 3);
    EXPECT(SUM, C64, float, VALUES(1, 2, 3, -4), float, VALUES(4, -2));
    EXPECT(SUM, C128, double, VALUES((double)INFINITY, 1, (double)-INFINITY, 2), uint64_t,
           VALUES(NAN64, UINT64_C(0x4008000000000000)));

    EXPECT(ASUM, F32, float, VALUES(-1, 2, -0.5f), float, 3.5f);
    EXPECT(ASUM, F32, float, -0.0f, float, 0.0f);
    EXPECT(ASUM, I8, int8_t, VALUES(-128, 127), uint64_t, 255);
    EXPECT(ASUM, I64, int64_t, VALUES(INT64_MIN, INT64_MIN, 1), uint64_t, 1);
    EXPECT(ASUM, C64, float, VALUES(3, -4, -1, 1), float, 9);
    EXPECT(SUMSQ, F32, float, VALUES(3, -4), float, 25);
    EXPECT(SUMSQ, I8, int8_t, VALUES(-128, 1), uint64_t, 16385);
    EXPECT(SUMSQ, U64, uint64_t, VALUES(UINT64_C(1) << 32, 5), uint64_t, 25);
    EXPECT(SUMSQ, C128, double, VALUES(3, -4, 1, 2), double, 30);
    EXPECT(MEAN, F32, float, VALUES(1, 2, 4, 5), float, 3);
    EXPECT(MEAN, F32, float, VALUES(-0.0f, -0.0f), float, -0.0f);
    EXPECT(MEAN, I8, int8_t, VALUES(-128, 127), double, -0.5);
    EXPECT(MEAN, U64, uint64_t, VALUES(UINT64_MAX, UINT64_MAX), double, 0x1p64);
    EXPECT(MEAN, BOOL, uint8_t, VALUES(7, 0, 0, 0), double, 0.25);
    EXPECT(MEAN, C64, float, VALUES(1, 2, 3, 4), float, VALUES(2, 3));
    EXPECT2(DOT, F32, float, VALUES(1, 2, 3), VALUES(4, 5, -6), float, -4);
    EXPECT2(DOT, F32, float, VALUES(INFINITY, 1), VALUES(0, 1), uint32_t, NAN32);
    EXPECT2(DOT, I8, int8_t, VALUES(-128, 127), VALUES(-128, 2), int64_t, 16638);
    EXPECT2(DOT, U64, uint64_t, VALUES(UINT64_MAX, 1), VALUES(UINT64_MAX, 1), uint64_t, 2);
    EXPECT2(DOT, C64, float, VALUES(1, 2), VALUES(3, 4), float, VALUES(-5, 10));
    EXPECT2(DOTC, C64, float, VALUES(1, 2), VALUES(3, 4), float, VALUES(11, -2));
    EXPECT2(DOTC, F64, double, VALUES(1, 2), VALUES(3, 4), double, 11);
    EXPECT2(DIST2, F32, float, VALUES(1, 5), VALUES(4, 1), float, 25);
    EXPECT2(DIST2, U8, uint8_t, VALUES(0, 9), VALUES(255, 8), uint64_t, 65026);
    EXPECT2(DIST2, I64, int64_t, VALUES(INT64_MIN, 0), VALUES(INT64_MAX, 3), uint64_t, 10);
    /* Each product rounds before the addition: 1 + 2^-11 + 2^-24 loses its last term. */
    EXPECT2(DOT, F32, float, VALUES(1 + 0x1p-12f, -1 - 0x1p-11f), VALUES(1 + 0x1p-12f, 1), float, 0.0f);
}

static void test_products(void **unused) {
    (void)unused;
    EXPECT(PROD, F32, float, VALUES(2, -3, 0.5f), float, -3);
    EXPECT(PROD, F32, float, VALUES(-0.0f, 5), float, -0.0f);
    EXPECT(PROD, F64, double, VALUES((double)INFINITY, 0), uint64_t, NAN64);
    EXPECT(PROD, F16, uint16_t, VALUES(0x4000, 0x7bff), float, 131008);
    EXPECT(PROD, I8, int8_t, VALUES(-128, -128, 2), int64_t, 32768);
    EXPECT(PROD, I64, int64_t, VALUES(INT64_MAX, 2), int64_t, -2);
    EXPECT(PROD, U32, uint32_t, VALUES(UINT32_MAX, UINT32_MAX), uint64_t, UINT64_C(0xfffffffe00000001));
    EXPECT(PROD, BOOL, uint8_t, VALUES(3, 1), int64_t, 1);
    EXPECT(PROD, C64, float, VALUES(1, 2, 3, 4), float, VALUES(-5, 10));
    /* A single factor stays as it is. A product with (1 + 0i) would make NaN of an infinity, and +0
     * of -0. */
    EXPECT(PROD, C64, float, VALUES(INFINITY, -0.0f), float, VALUES(INFINITY, -0.0f));
    EXPECT(PROD, C128, double, VALUES(0, 1, 0, 1, 0, 1), double, VALUES(-0.0, -1));
}

static void test_extremes(void **unused) {
    (void)unused;
    EXPECT(MIN, F32, float, VALUES(0.0f, -0.0f, 1), float, -0.0f);
    EXPECT(MAX, F32, float, VALUES(-0.0f, 0.0f, -1), float, 0.0f);
    EXPECT(MIN, F32, float, VALUES(2, -1, -3), float, -3);
    EXPECT(MAX, F32, float, VALUES(-2, -1, -3), float, -1);
    EXPECT(MIN, F32, float, VALUES(INFINITY, INFINITY), float, INFINITY);
    EXPECT(MAX, F64, double, (double)-INFINITY, double, (double)-INFINITY);
    EXPECT(MIN, F32, uint32_t, VALUES(0xff800000, 0xff800001), uint32_t, NAN32);
    EXPECT(MAX, F64, double, VALUES((double)INFINITY, (double)-NAN), uint64_t, NAN64);
    EXPECT(MIN, F16, uint16_t, VALUES(0x3c00, 0x8001), uint16_t, 0x8001);
    EXPECT(MAX, F16, uint16_t, VALUES(0x3c00, 0xfc01), uint16_t, 0x7e00);
    EXPECT(MAX, BF16, uint16_t, VALUES(0xff80, 0x0001), uint16_t, 0x0001);
    EXPECT(MIN, BF16, uint16_t, VALUES(0xff80, 0x7f81), uint16_t, 0x7fc0);
    EXPECT(MIN, I32, int32_t, VALUES(0, INT32_MIN, INT32_MAX), int32_t, INT32_MIN);
    EXPECT(MAX, I8, int8_t, VALUES(-1, -128), int8_t, -1);
    EXPECT(MIN, U32, uint32_t, VALUES(0x80000000, 1), uint32_t, 1);
    EXPECT(MAX, U64, uint64_t, VALUES(UINT64_C(1) << 63, 1), uint64_t, UINT64_C(1) << 63);
    EXPECT(MIN, I64, int64_t, VALUES(5, INT64_MIN), int64_t, INT64_MIN);
    EXPECT(MAX, BOOL, uint8_t, VALUES(0, 200), uint8_t, 1);
    EXPECT(MIN, BOOL, uint8_t, VALUES(7, 200), uint8_t, 1);
    EXPECT(NANMIN, F32, float, VALUES(NAN, 3, -NAN, 2), float, 2);
    EXPECT(NANMAX, F64, double, VALUES((double)NAN, -0.0, 0.0), double, 0.0);
    EXPECT(NANMIN, F32, float, VALUES(INFINITY, NAN), float, INFINITY);
    EXPECT(NANMAX, F16, uint16_t, VALUES(0x7c01, 0xfe00), uint16_t, 0x7e00);
    EXPECT(NANMAX, I16, int16_t, VALUES(-5, -32768), int16_t, -5);
    EXPECT(MINMAX, F32, float, VALUES(3, -1, 2), float, VALUES(-1, 3));
    EXPECT(MINMAX, F64, double, VALUES(1, (double)NAN), uint64_t, VALUES(NAN64, NAN64));
    EXPECT(MINMAX, U8, uint8_t, VALUES(9, 200, 3), uint8_t, VALUES(3, 200));
    EXPECT(AMAX, F32, float, VALUES(-3, 2), float, 3);
    EXPECT(AMAX, F32, float, VALUES(-INFINITY, NAN), uint32_t, NAN32);
    EXPECT(AMAX, I8, int8_t, VALUES(-128, 127), uint8_t, 128);
    EXPECT(AMAX, I64, int64_t, VALUES(INT64_MIN, 1), uint64_t, UINT64_C(1) << 63);
    EXPECT(AMAX, F16, uint16_t, VALUES(0xbc00, 0x0001), uint16_t, 0x3c00);
    EXPECT(AMAX, BOOL, uint8_t, VALUES(0, 5), uint8_t, 1);
}

static void test_indices(void **unused) {
    (void)unused;
    EXPECT(ARGMIN, F32, float, VALUES(2, 1, 1), uint64_t, 1);
    EXPECT(ARGMAX, F32, float, VALUES(1, 2, 2), uint64_t, 1);
    EXPECT(ARGMIN, F32, float, VALUES(0.0f, -0.0f), uint64_t, 0);
    EXPECT(ARGMAX, F32, float, VALUES(-0.0f, 0.0f), uint64_t, 0);
    EXPECT(ARGMIN, F32, float, VALUES(1, NAN, -INFINITY, NAN), uint64_t, 1);
    EXPECT(ARGMAX, F64, double, VALUES((double)INFINITY, 1, (double)-NAN), uint64_t, 2);
    EXPECT(ARGMIN, F32, float, VALUES(INFINITY, INFINITY), uint64_t, 0);
    EXPECT(ARGMAX, F16, uint16_t, VALUES(0xfc00, 0xfc00), uint64_t, 0);
    EXPECT(ARGMAX, I8, int8_t, VALUES(-128, -128), uint64_t, 0);
    EXPECT(ARGMIN, U64, uint64_t, VALUES(UINT64_MAX, UINT64_MAX), uint64_t, 0);
    EXPECT(ARGMIN, BOOL, uint8_t, VALUES(9, 1, 0, 0), uint64_t, 2);
    EXPECT(ARGMAX, BOOL, uint8_t, VALUES(0, 2, 1), uint64_t, 1);
    EXPECT(IAMAX, F32, float, VALUES(1, -3, 3), uint64_t, 1);
    EXPECT(IAMAX, F32, float, VALUES(0.0f, -0.0f), uint64_t, 0);
    EXPECT(IAMAX, I8, int8_t, VALUES(127, -128), uint64_t, 1);
    EXPECT(IAMAX, F32, float, VALUES(INFINITY, NAN), uint64_t, 1);
    /* Items beyond the first chunk. */
    float *x = calloc(5000, sizeof *x);
    assert_non_null(x);
    uint64_t index;
    x[4999] = 1;
    oracle_reduce(TALLY_ARGMAX, TALLY_F32, x, 5000, &index);
    assert_int_equal(index, 4999);
    x[4998] = NAN;
    oracle_reduce(TALLY_ARGMIN, TALLY_F32, x, 5000, &index);
    assert_int_equal(index, 4998);
    free(x);
}

static void test_truths_and_bits(void **unused) {
    (void)unused;
    EXPECT(ANY, F32, float, VALUES(-0.0f, 0.0f), uint8_t, 0);
    EXPECT(ANY, F32, float, VALUES(0, NAN), uint8_t, 1);
    EXPECT(ALL, F32, float, VALUES(NAN, 0x1p-149f), uint8_t, 1);
    EXPECT(ALL, F16, uint16_t, VALUES(0x0001, 0x8000), uint8_t, 0);
    EXPECT(COUNT_NONZERO, F64, double, VALUES(0, -0.0, 1, (double)NAN), uint64_t, 2);
    EXPECT(ANY, U64, uint64_t, VALUES(0, UINT64_C(1) << 63), uint8_t, 1);
    EXPECT(ALL, I16, int16_t, VALUES(1, 256, 0), uint8_t, 0);
    EXPECT(COUNT_NONZERO, BOOL, uint8_t, VALUES(0, 1, 2, 255), uint64_t, 3);
    EXPECT(BAND, I8, int8_t, VALUES(-1, 6, 3), int8_t, 2);
    EXPECT(BOR, U16, uint16_t, VALUES(0x8000, 1), uint16_t, 0x8001);
    EXPECT(BXOR, I64, int64_t, VALUES(-1, 1, -1), int64_t, 1);
    EXPECT(BAND, BOOL, uint8_t, VALUES(2, 1), uint8_t, 1);
    EXPECT(BXOR, BOOL, uint8_t, VALUES(2, 1, 255), uint8_t, 1);
    EXPECT(BOR, BOOL, uint8_t, VALUES(0, 0), uint8_t, 0);
}

static void test_closeness(void **unused) {
    (void)unused;
    /* The examples of numpy.allclose's manual. */
    EXPECT2(ALLCLOSE, F64, double, VALUES(1e10, 1e-7), VALUES(1.00001e10, 1e-8), uint8_t, 0);
    EXPECT2(ALLCLOSE, F64, double, VALUES(1e10, 1e-8), VALUES(1.00001e10, 1e-9), uint8_t, 1);
    EXPECT2(ALLCLOSE, F64, double, VALUES(1e10, 1e-8), VALUES(1.0001e10, 1e-9), uint8_t, 0);
    EXPECT2(ALLCLOSE, F64, double, VALUES(1, (double)NAN), VALUES(1, (double)NAN), uint8_t, 0);
    EXPECT2(ALLCLOSE, F32, float, VALUES(INFINITY, -INFINITY), VALUES(INFINITY, -INFINITY), uint8_t, 1);
    EXPECT2(ALLCLOSE, F32, float, INFINITY, FLT_MAX, uint8_t, 0);
    EXPECT2(ALLCLOSE, F32, float, FLT_MAX, INFINITY, uint8_t, 0);
    EXPECT2(ALLCLOSE, F32, float, VALUES(INFINITY), VALUES(-INFINITY), uint8_t, 0);
    EXPECT2(ALLCLOSE, F32, float, VALUES(FLT_MAX), VALUES(-FLT_MAX), uint8_t, 0);
    EXPECT2(ALLCLOSE, I32, int32_t, VALUES(100000, 7), VALUES(100001, 7), uint8_t, 1);
    EXPECT2(ALLCLOSE, I32, int32_t, VALUES(99998, 7), VALUES(99999, 7), uint8_t, 0);
    EXPECT2(ALLCLOSE, BOOL, uint8_t, VALUES(2, 0), VALUES(1, 0), uint8_t, 1);
    static const double wide[] = {0.5, 0};
    EXPECT_CASE(VALUES({.op = TALLY_ALLCLOSE, .in = TALLY_F32, .params = wide}), float, 1, 2, uint8_t, 1);
    static const double none[] = {0, 0};
    EXPECT_CASE(VALUES({.op = TALLY_ALLCLOSE, .in = TALLY_F32, .params = none}), float, 1, 1, uint8_t, 1);
    EXPECT_CASE(VALUES({.op = TALLY_ALLCLOSE, .in = TALLY_F32, .params = none}), float, 1, 1 + 0x1p-23f, uint8_t, 0);
}

static void test_norms(void **unused) {
    (void)unused;
    EXPECT(NRM2, F32, float, VALUES(3, -4), float, 5);
    EXPECT(NRM2, F32, float, VALUES(0x1.8p101f, 0x1p102f), float, 0x1.4p103f * 0.5f); /* 3, 4, 5 */
    EXPECT(NRM2, F32, float, VALUES(0x1.8p-121f, 0x1p-120f), float, 0x1.4p-120f);
    EXPECT(NRM2, F32, float, VALUES(0x1.8p-148f, 0x1p-147f), float, 0x1.4p-147f);
    EXPECT(NRM2, F64, double, VALUES(0x1.8p1001, 0x1p1002), double, 0x1.4p1002);
    EXPECT(NRM2, F64, double, VALUES(0x1.8p-1021, 0x1p-1020), double, 0x1.4p-1020);
    EXPECT(NRM2, F32, float, VALUES(FLT_MAX, FLT_MAX), float, INFINITY);
    EXPECT(NRM2, F32, float, VALUES(1, INFINITY), float, INFINITY);
    EXPECT(NRM2, F32, float, VALUES(INFINITY, NAN), uint32_t, NAN32);
    EXPECT(NRM2, F32, float, VALUES(0x1p-100f, NAN), uint32_t, NAN32);
    EXPECT(NRM2, F32, float, VALUES(-0.0f, -0.0f), float, 0.0f);
    EXPECT(NRM2, F32, float, VALUES(0x1p-64f, 0x1p-63f), float, 0x1.1e377ap-63f); /* small meets medium: sqrt(5) 2^-64 */
    EXPECT(NRM2, F32, float, VALUES(0x1p32f, 0x1p33f), float, 0x1.1e377ap33f);    /* medium meets big */
    EXPECT(NRM2, I8, int8_t, VALUES(-128, 96), double, 160);
    EXPECT(NRM2, C64, float, VALUES(1, 2, 2, 4), float, 5);
    EXPECT(NRM2, C128, double, VALUES(0x1.8p1001, 0x1p1002, 0, 0), double, 0x1.4p1002);
    EXPECT(NRM2, F16, uint16_t, VALUES(0x4200, 0x4400), float, 5);
}

static void test_moments(void **unused) {
    (void)unused;
    static const double one[] = {1}, five[] = {5};
    EXPECT(VAR, F32, float, VALUES(1, 2, 3, 4), float, 1.25f);
    EXPECT(STD, F64, double, VALUES(1, 1, 5, 5), double, 2);
    EXPECT(VAR, I32, int32_t, VALUES(1, 2, 3, 4), double, 1.25);
    EXPECT(VAR, BOOL, uint8_t, VALUES(0, 9), double, 0.25);
    EXPECT(VAR, F16, uint16_t, VALUES(0x3c00, 0x4200), float, 1);
    EXPECT_CASE(VALUES({.op = TALLY_VAR, .in = TALLY_F64, .params = one}), double, VALUES(1, 2, 3), 0, double, 1);
    EXPECT_CASE(VALUES({.op = TALLY_VAR, .in = TALLY_F64, .params = one}), double, 7, 0, uint64_t, NAN64);
    EXPECT_CASE(VALUES({.op = TALLY_VAR, .in = TALLY_F64, .params = five}), double, VALUES(1, 3), 0, double, (double)INFINITY);
    EXPECT(VAR, F64, double, VALUES(1, (double)NAN), uint64_t, NAN64);
    EXPECT(VAR, F32, float, NAN, uint32_t, NAN32);
    EXPECT(STD, F32, float, INFINITY, uint32_t, NAN32);
    EXPECT(VAR, F32, float, VALUES(1, -INFINITY), uint32_t, NAN32);
    EXPECT(VAR, F64, double, VALUES(1e9 + 4, 1e9 + 7, 1e9 + 13, 1e9 + 16), double, 22.5);
}

static void expect_near(tally_dtype in, const void *items, uint64_t n, double expected) {
    oracle_result got = {{0}};
    oracle_reduce(TALLY_LOGSUMEXP, in, items, n, &got);
    const double value = in == TALLY_F32 ? (double)got.f32 : got.f64;
    const double unit = in == TALLY_F32 ? FLT_EPSILON : DBL_EPSILON;
    if (!(fabs(value - expected) <= 8 * unit * (1 + fabs(expected))) && value != expected)
        fail_msg("logsumexp is %.17g, not %.17g", value, expected);
}

static void test_exponentials(void **unused) {
    (void)unused;
    expect_near(TALLY_F64, (const double[]){0, 0}, 2, 0.69314718055994530942);
    expect_near(TALLY_F64, (const double[]){1000, 1000}, 2, 1000.69314718055994530942);
    expect_near(TALLY_F64, (const double[]){-1000, -1001}, 2, -999.68673831248178);
    expect_near(TALLY_F64, (const double[]){1, 2, 3}, 3, 3.40760596444438);
    expect_near(TALLY_F32, (const float[]){1, 2, 3}, 3, 3.40760596444438);
    expect_near(TALLY_F64, (const double[]){(double)-INFINITY, 5}, 2, 5);
    EXPECT(LOGSUMEXP, F64, double, VALUES((double)-INFINITY, (double)-INFINITY), double, (double)-INFINITY);
    EXPECT(LOGSUMEXP, F32, float, VALUES(INFINITY, 1, INFINITY), float, INFINITY);
    EXPECT(LOGSUMEXP, F32, float, VALUES(INFINITY, NAN), uint32_t, NAN32);
    EXPECT(LOGSUMEXP, F32, float, VALUES(FLT_MAX, -FLT_MAX), float, FLT_MAX);
    EXPECT(LOGSUMEXP, I8, int8_t, 3, double, 3);
    expect_near(TALLY_BOOL, (const uint8_t[]){0, 0, 0}, 3, 1.09861228866810969140);
    expect_near(TALLY_BOOL, (const uint8_t[]){1, 0, 7, 0, 1}, 5, 2.3179509792964157);
    EXPECT(LOGSUMEXP, BOOL, uint8_t, 1, double, 1);
}

/* The levels of accuracy, and results of other types. */
static void test_other_types(void **unused) {
    (void)unused;
    EXPECT_CASE(VALUES({.op = TALLY_SUM, .in = TALLY_F32, .accuracy = TALLY_ACCURACY_COMPENSATED}), float,
                VALUES(1, 0x1p-30f, -1), 0, float, 0x1p-30f);
    EXPECT_CASE(VALUES({.op = TALLY_SUM, .in = TALLY_F32, .acc = TALLY_F64}), float, VALUES(1, 0x1p-30f, -1), 0, double,
                0x1p-30);
    EXPECT_CASE(VALUES({.op = TALLY_DOT, .in = TALLY_F32, .accuracy = TALLY_ACCURACY_COMPENSATED}), float,
                VALUES(1 + 0x1p-12f, -1 - 0x1p-11f), VALUES(1 + 0x1p-12f, 1), float, 0x1p-24f);
    EXPECT_CASE(VALUES({.op = TALLY_SUM, .in = TALLY_F32, .accuracy = TALLY_ACCURACY_COMPENSATED}), float, VALUES(INFINITY, 1),
                0, float, INFINITY);
    EXPECT_CASE(VALUES({.op = TALLY_SUM, .in = TALLY_F64, .accuracy = TALLY_ACCURACY_COMPENSATED}), double,
                VALUES((double)INFINITY, (double)-INFINITY), 0, uint64_t, NAN64);
    /* Other than at the default level, -0 and the identity make +0. */
    EXPECT_CASE(VALUES({.op = TALLY_SUM, .in = TALLY_F32, .accuracy = TALLY_ACCURACY_COMPENSATED}), float, -0.0f, 0, float,
                0.0f);
    EXPECT_CASE(VALUES({.op = TALLY_MEAN, .in = TALLY_C64, .acc = TALLY_F64}), float, VALUES(1, 2, 2, 3), 0, double,
                VALUES(1.5, 2.5));
    EXPECT_CASE(VALUES({.op = TALLY_SUM, .in = TALLY_F32, .out = TALLY_F16}), float, VALUES(65519, 0), 0, uint16_t, 0x7bff);
    EXPECT_CASE(VALUES({.op = TALLY_SUM, .in = TALLY_F32, .out = TALLY_F16}), float, VALUES(65519, 1), 0, uint16_t, 0x7c00);
    EXPECT_CASE(VALUES({.op = TALLY_SUM, .in = TALLY_F64, .out = TALLY_BF16}), double, VALUES((double)NAN), 0, uint16_t,
                0x7fc0);
    EXPECT_CASE(VALUES({.op = TALLY_SUM, .in = TALLY_I32, .out = TALLY_I8}), int32_t, VALUES(127, 1), 0, int8_t, -128);
    EXPECT_CASE(VALUES({.op = TALLY_SUM, .in = TALLY_I8, .out = TALLY_F32}), int8_t, VALUES(-128, 1), 0, float, -127);
    EXPECT_CASE(VALUES({.op = TALLY_MIN, .in = TALLY_I32, .out = TALLY_F64}), int32_t, VALUES(INT32_MIN), 0, double, -0x1p31);
    EXPECT_CASE(VALUES({.op = TALLY_MAX, .in = TALLY_U64, .out = TALLY_F32}), uint64_t, VALUES(UINT64_MAX), 0, float, 0x1p64f);
    EXPECT_CASE(VALUES({.op = TALLY_ANY, .in = TALLY_F32, .out = TALLY_I32}), float, VALUES(2), 0, int32_t, 1);
    EXPECT_CASE(VALUES({.op = TALLY_SUM, .in = TALLY_I32, .out = TALLY_BOOL}), int32_t, VALUES(256, 256), 0, uint8_t, 1);
    EXPECT_CASE(VALUES({.op = TALLY_SUM, .in = TALLY_C128, .out = TALLY_C64}), double, VALUES(1e300, 1), 0, float,
                VALUES(INFINITY, 1));
}

#define EXPECT_NONE(op_, in_, result, wanted)                                                                                  \
    do {                                                                                                                       \
        const result want[] = {wanted};                                                                                        \
        const oracle_case of = CASE(op_, in_);                                                                                 \
        expect_bytes(&of, NULL, NULL, 0, want, sizeof want, #op_ " " #in_ " of nothing");                                      \
    } while (0)

static void test_no_items(void **unused) {
    (void)unused;
    EXPECT_NONE(SUM, F32, float, 0.0f);
    EXPECT_NONE(SUM, F64, double, 0.0);
    EXPECT_NONE(SUM, I32, int64_t, 0);
    EXPECT_NONE(SUM, C64, float, VALUES(0.0f, 0.0f));
    EXPECT_NONE(PROD, F16, float, 1);
    EXPECT_NONE(PROD, U8, uint64_t, 1);
    EXPECT_NONE(PROD, C128, double, VALUES(1, 0));
    EXPECT_NONE(MIN, F32, float, INFINITY);
    EXPECT_NONE(MAX, F64, double, (double)-INFINITY);
    EXPECT_NONE(MIN, F16, uint16_t, 0x7c00);
    EXPECT_NONE(MAX, BF16, uint16_t, 0xff80);
    EXPECT_NONE(MIN, I8, int8_t, 127);
    EXPECT_NONE(MAX, I16, int16_t, -32768);
    EXPECT_NONE(MIN, U16, uint16_t, 65535);
    EXPECT_NONE(MAX, U32, uint32_t, 0);
    EXPECT_NONE(MIN, I64, int64_t, INT64_MAX);
    EXPECT_NONE(MIN, U64, uint64_t, UINT64_MAX);
    EXPECT_NONE(MIN, BOOL, uint8_t, 1);
    EXPECT_NONE(MAX, BOOL, uint8_t, 0);
    EXPECT_NONE(NANMIN, F32, float, INFINITY);
    EXPECT_NONE(NANMAX, F32, float, -INFINITY);
    EXPECT_NONE(ARGMIN, F32, uint64_t, TALLY_NO_INDEX);
    EXPECT_NONE(IAMAX, I8, uint64_t, TALLY_NO_INDEX);
    EXPECT_NONE(MINMAX, F32, float, VALUES(INFINITY, -INFINITY));
    EXPECT_NONE(MINMAX, I8, int8_t, VALUES(127, -128));
    EXPECT_NONE(ANY, F32, uint8_t, 0);
    EXPECT_NONE(ALL, F32, uint8_t, 1);
    EXPECT_NONE(COUNT_NONZERO, I8, uint64_t, 0);
    EXPECT_NONE(BAND, I8, int8_t, -1);
    EXPECT_NONE(BAND, BOOL, uint8_t, 1);
    EXPECT_NONE(BOR, U32, uint32_t, 0);
    EXPECT_NONE(BXOR, U64, uint64_t, 0);
    EXPECT_NONE(AMAX, F32, float, 0.0f);
    EXPECT_NONE(AMAX, I32, uint32_t, 0);
    EXPECT_NONE(ASUM, F32, float, 0.0f);
    EXPECT_NONE(SUMSQ, I8, uint64_t, 0);
    EXPECT_NONE(NRM2, F64, double, 0.0);
    EXPECT_NONE(MEAN, F32, uint32_t, NAN32);
    EXPECT_NONE(MEAN, C64, uint32_t, VALUES(NAN32, NAN32));
    EXPECT_NONE(VAR, I32, uint64_t, NAN64);
    EXPECT_NONE(STD, F64, uint64_t, NAN64);
    EXPECT_NONE(LOGSUMEXP, F32, float, -INFINITY);
    EXPECT_NONE(DOT, F32, float, 0.0f);
    EXPECT_NONE(DOTC, C64, float, VALUES(0.0f, 0.0f));
    EXPECT_NONE(DIST2, U8, uint64_t, 0);
    EXPECT_NONE(ALLCLOSE, F32, uint8_t, 1);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sums),        cmocka_unit_test(test_products),        cmocka_unit_test(test_extremes),
        cmocka_unit_test(test_indices),     cmocka_unit_test(test_truths_and_bits), cmocka_unit_test(test_closeness),
        cmocka_unit_test(test_norms),       cmocka_unit_test(test_moments),         cmocka_unit_test(test_exponentials),
        cmocka_unit_test(test_other_types), cmocka_unit_test(test_no_items),
    };
    return test_main(argc, argv, "Values that the oracle must give.", tests, sizeof tests / sizeof tests[0], NULL, NULL);
}
