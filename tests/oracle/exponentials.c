/* SPDX-License-Identifier: MIT */
/*
 * logsumexp's error against arithmetic of 113 bits: that of its exponentials, of its logarithms and
 * of results (docs/numerics.md). The devices' bits are the oracle's, so this holds for them too.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/support/test_main.h"
#include "oracle/oracle.h"
#include "oracle/patterns.h"

#ifdef __SIZEOF_FLOAT128__
__extension__ typedef __float128 quad;
#else
typedef long double quad;
#endif

#define MOST 20000

/* log(2): f64 x 3, the rest is below 2^-160. */
static const double log2_parts[] = {0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56, 0x1.7b57a079a1934p-111};

static quad times_log2(double n) {
    return (quad)n * (quad)log2_parts[0] + ((quad)n * (quad)log2_parts[1] + (quad)n * (quad)log2_parts[2]);
}

/* e^x / 2^n, for an x near n log(2). */
static quad quad_exp(quad x, double n) {
    const quad r = (x - times_log2(n)) / 16;
    quad sum = 1, term = 1;
    for (int i = 1; i < 18; i++) sum += term = term * r / i;
    for (int i = 0; i < 4; i++) sum *= sum;
    return sum;
}

/* By Newton's steps on exp, from the nearest f64. */
static quad quad_log(quad x) {
    int n;
    const double part = frexp((double)x, &n);
    quad y = (quad)log(part);
    for (int i = 0; i < 3; i++) y += (x / (quad)ldexp(1, n)) * quad_exp(-y, 0) - 1;
    return y + times_log2(n);
}

/* One unit in the last place of x, in the type with this unit roundoff. */
static double last_place(double unit, double x) {
    int exponent;
    frexp(x, &exponent);
    return fmax(ldexp(unit, exponent), unit == 0x1p-24 ? 0x1p-149 : 0x1p-1074);
}

static double magnitude(quad x) {
    return (double)(x < 0 ? -x : x);
}

/* ---- powers and logarithms ------------------------------------------------------------------- */

static double number_of(int is_f32, float narrow, double wide) {
    return is_f32 ? (double)narrow : wide;
}

static double random_item(uint64_t i, int exponent) {
    const uint64_t bits = pattern_random(i);
    return ldexp((double)(int64_t)bits, exponent - 63);
}

/* An item's accumulator has e^x without its power of two. A logarithm, of what is between the roots
 * of a half and of two, is the result of a sum with a top of 0. */
static void expect_words(int is_f32) {
    const oracle_case what = {.op = TALLY_LOGSUMEXP, .in = is_f32 ? TALLY_F32 : TALLY_F64};
    const double unit = is_f32 ? 0x1p-24 : 0x1p-53;
    double worst_exp = 0, worst_log = 0;
    for (uint64_t i = 0; i < 60000; i++) {
        const double given = random_item(i, (int)(i % 24) - 12), x = is_f32 ? (double)(float)given : given;
        const float narrow = (float)x;
        oracle_acc acc;
        oracle_result result = {{0}};
        oracle_acc_load(&what, is_f32 ? (const void *)&narrow : (const void *)&x, 0, &acc);
        const double n = rint(x * 1.4426950408889634), got = number_of(is_f32, acc.f32[1], acc.f64[1]);
        const quad power = quad_exp((quad)x, n);
        worst_exp = fmax(worst_exp, magnitude((quad)got - power) / last_place(unit, (double)power));
        const double near_one = 1 + (i % 2 ? 0.414 : -0.292) * ldexp(fabs(random_item(i, 0)), -(int)(i % 16));
        if (!((float)near_one < 1) && !((float)near_one > 1)) continue;
        acc.f32[0] = 0, acc.f64[0] = 0;
        acc.f32[1] = (float)near_one, acc.f64[1] = near_one;
        oracle_acc_finish(&what, &acc, 2, &result);
        const quad logarithm = quad_log((quad)(is_f32 ? (double)acc.f32[1] : near_one));
        const double off = magnitude((quad)number_of(is_f32, result.f32, result.f64) - logarithm);
        worst_log = fmax(worst_log, off / last_place(unit, (double)logarithm));
    }
    printf("%s: exp within %.3f ulp, log within %.3f ulp\n", is_f32 ? "f32" : "f64", worst_exp, worst_log);
    assert_true(worst_exp > 0.4 && worst_exp <= 1);
    assert_true(worst_log > 0.4 && worst_log <= 1);
}

static void test_words(void **unused) {
    (void)unused;
    expect_words(1);
    expect_words(0);
}

/* ---- results --------------------------------------------------------------------------------- */

/* Items of many kinds: all the same, of steps up and down, random about a place, one large. */
static double item_of(int kind, double place, double width, uint64_t i, uint64_t n) {
    const double at = (double)i / (double)n;
    return kind == 0   ? place
           : kind == 1 ? place + width * at
           : kind == 2 ? place - width * at
           : kind == 3 ? place + width * random_item(i, 0)
                       : (i == n / 2 ? place + width : place);
}

/* |computed - exact| over what it may be: (k + 6) u and two units in the last place. */
static double error_of(int is_f32, const void *items, uint64_t n) {
    const oracle_case what = {.op = TALLY_LOGSUMEXP, .in = is_f32 ? TALLY_F32 : TALLY_F64};
    const float *narrow = items;
    const double *wide = items, unit = is_f32 ? 0x1p-24 : 0x1p-53;
    double top = -(double)INFINITY, k = 39;
    oracle_result result = {{0}};
    quad sum = 0;
    for (uint64_t chunks = 1; chunks * TALLY_CHUNK_ITEMS < n; chunks *= 2) k++;
    for (uint64_t i = 0; i < n; i++) top = fmax(top, is_f32 ? (double)narrow[i] : wide[i]);
    for (uint64_t i = 0; i < n; i++) {
        const quad apart = (quad)(is_f32 ? (double)narrow[i] : wide[i]) - (quad)top;
        const double power = rint((double)apart * 1.4426950408889634);
        if (power > -300) sum += quad_exp(apart, power) * (quad)ldexp(1, (int)power);
    }
    oracle_reduce_inputs(&what, &items, n, &result);
    const quad exact = (quad)top + quad_log(sum);
    const double off = magnitude((quad)number_of(is_f32, result.f32, result.f64) - exact);
    return off / ((k + 6) * unit + 2 * last_place(unit, (double)exact));
}

static void test_bound(void **unused) {
    (void)unused;
    static const double places[] = {0,      -4.85, -9.9,    1,        -1,      88,       1e3,     -1e3,   1e5,
                                    0x1p21, -3e6,  0x1p22,  0x1p23,   -0x1p24, 0x1.8p24, -0x1p25, 0x1p28, 0x1p31,
                                    1e30,   -1e37, 0x1p-30, 0x1p-130, 0x1p50,  0x1p51,   -0x1p52, 0x1p54, -0x1.1p53};
    static const double widths[] = {0.3, 3, 24, 200, 3000}; /* the last: pivots that do not hold */
    static const uint64_t lengths[] = {1, 2, 3, 128, 4097, MOST};
    double *wide = malloc(MOST * sizeof *wide);
    float *narrow = malloc(MOST * sizeof *narrow);
    assert_true(wide && narrow);
    for (int is_f32 = 0; is_f32 < 2; is_f32++) {
        double worst = 0;
        for (size_t p = 0; p < sizeof places / sizeof places[0]; p++)
            for (int kind = 0; kind < 5; kind++)
                for (size_t w = 0; w < 5; w++)
                    for (size_t l = 0; l < sizeof lengths / sizeof lengths[0]; l++) {
                        const uint64_t n = lengths[l];
                        if (n > 4096 && (p + w) % (n == MOST ? 7 : 3)) continue;
                        const double most = fmax(widths[w], 40 * last_place(is_f32 ? 0x1p-24 : 0x1p-53, places[p]));
                        for (uint64_t i = 0; i < n; i++) wide[i] = item_of(kind, places[p], w ? widths[w] : most, i, n);
                        for (uint64_t i = 0; i < n; i++) narrow[i] = (float)wide[i];
                        const double ratio = error_of(is_f32, is_f32 ? (const void *)narrow : wide, n);
                        if (!(ratio <= 1))
                            fail_msg("%s, %llu items of kind %d about %a, %g wide: %g of the bound", is_f32 ? "f32" : "f64",
                                     (unsigned long long)n, kind, places[p], widths[w], ratio);
                        if (n == 1) assert_true(ratio < 0x1p-40); /* the item itself */
                        worst = fmax(worst, ratio);
                    }
        printf("%s: results within %.3f of the bound\n", is_f32 ? "f32" : "f64", worst);
        assert_true(worst > 0.01);
    }
    free(wide);
    free(narrow);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_bound),
    };
    return test_main(argc, argv, "The oracle's exponentials and logarithms.", tests, sizeof tests / sizeof tests[0], NULL,
                     NULL);
}
