/* SPDX-License-Identifier: MIT */
/*
 * The arithmetic of exact sums (kernels/wholes.h), as C: quotients against divisions bit by bit,
 * and results of sums that no test has the items for.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core.h"
#include "oracle/patterns.h"

typedef uint32_t u32;
typedef int64_t i64;
typedef uint64_t u64;
typedef float f32;
typedef double f64;
#define INLINE static inline
#define NOT_INLINED
#define COPIED
/* Words of kernels/arithmetic.h. */
#define f64_OF_i64(x) ((f64)(x))
#define f64_OF_u64(x) ((f64)(x))
#define SUM_ERROR(a, b) (((a) - (((a) + (b)) - (((a) + (b)) - (a)))) + ((b) - (((a) + (b)) - (a))))
#include "kernels/wholes.h"

/* The f64 nearest to a / d, by 64 bits of the quotient and whether anything is left. */
static double by_bits(WHOLE_3 a, WHOLE_2 d) {
    WHOLE_3 rest = {0, 0, 0};
    const WHOLE_3 divisor = {d.low, d.high, 0};
    uint64_t bits = 0, left = a.low | a.middle | a.high;
    int power = 192;
    if (!left) return 0;
    while (!(bits >> 63)) {
        power--;
        rest.high = rest.high << 1 | rest.middle >> 63;
        rest.middle = rest.middle << 1 | rest.low >> 63;
        rest.low = rest.low << 1 | a.high >> 63;
        a.high = a.high << 1 | a.middle >> 63;
        a.middle = a.middle << 1 | a.low >> 63;
        a.low <<= 1;
        const bool fits = rest.high || rest.middle > d.high || (rest.middle == d.high && rest.low >= d.low);
        if (fits) rest = whole_difference(rest, divisor);
        bits = bits << 1 | fits;
    }
    left = rest.low | rest.middle | rest.high | a.low | a.middle | a.high;
    return ldexp((double)(bits | (left != 0)), power);
}

/* A word of any size: some are 0, a power of two, or all ones. */
static u64 word(u64 i) {
    const u64 random = pattern_random(i), place = pattern_random(~i) % 64;
    const u64 words[] = {0, UINT64_C(1) << place, UINT64_MAX >> place, random, random};
    return i % 3 ? random >> place : words[random % 5];
}

static void expect_quotient(WHOLE_3 a, WHOLE_2 d) {
    const double got = whole_quotient(a, d), should = by_bits(a, d);
    if (memcmp(&got, &should, sizeof got) != 0)
        fail_msg("%llx %llx %llx / %llx %llx is %a, should be %a", (unsigned long long)a.high, (unsigned long long)a.middle,
                 (unsigned long long)a.low, (unsigned long long)d.high, (unsigned long long)d.low, got, should);
}

static void test_quotients(void **unused) {
    (void)unused;
    for (u64 i = 0; i < 200000; i++) {
        const WHOLE_2 d = {word(7 * i) | 1, i % 3 ? word(7 * i + 1) : 0};
        WHOLE_3 a = {word(7 * i + 2), i % 5 ? word(7 * i + 3) : 0, i % 2 ? word(7 * i + 4) >> 1 : 0};
        expect_quotient(a, d);
        /* Quotients of whole numbers and halves of their ulps, and beside these. */
        a = whole_multiple(d, word(7 * i + 5) >> (i % 2 ? 10 : 0));
        expect_quotient(a, d);
        a.low++;
        expect_quotient(a, d);
        a = whole_difference(a, (WHOLE_3){2, 0, 0});
        if (!(a.high >> 63)) expect_quotient(a, d);
    }
}

static void test_moments(void **unused) {
    (void)unused;
    /* -(2^94 + 1) over 2^63 - 1 items; sums that need the upper words. */
    assert_true(mean_of_whole(UINT64_MAX, UINT64_MAX - (UINT64_C(1) << 30), INT64_MAX) == -0x1p31);
    assert_true(mean_of_whole(UINT64_MAX, UINT64_MAX, 2) == -0.5);
    assert_true(mean_of_whole(0, 0, 3) == 0 && !signbit(mean_of_whole(0, 0, 3)));
    assert_true(mean_of_whole((UINT64_C(1) << 54) + 1, 0, 1) == 0x1p54 &&
                mean_of_whole((UINT64_C(1) << 54) + 3, 0, 1) == 0x1p54 + 4);
    /* 2^40 items, half of them -2^31, the others 2^31: Q is 2^102. */
    assert_true(variance_of_whole(0, 0, 0, UINT64_C(1) << 38, UINT64_C(1) << 40, 0) == 0x1p62);
    /* 2^40 items, half of them 2^32 - 1, the others 2^32 - 2: the variance is 1/4. */
    const u64 half = UINT64_C(1) << 39, most = UINT32_MAX;
    const WHOLE_2 sum = whole_product(2 * most - 1, half), large = whole_product(most * most, half),
                  other = whole_product((most - 1) * (most - 1), half);
    const u64 squares = large.low + other.low, high = large.high + other.high + (squares < other.low);
    assert_true(variance_of_whole(sum.low, sum.high, squares, high, 2 * half, 0) == 0.25);
    assert_true(variance_of_whole(sum.low, sum.high, squares, high, 2 * half, 0.5) == 0.25 * (1 + 0x1p-41));
    assert_true(isnan(variance_of_whole(5, 0, 25, 0, 1, 1)) && isinf(variance_of_whole(1, 0, 1, 0, 2, 2)));
    assert_true(isnan(variance_of_whole(1, 0, 1, 0, 2, (double)NAN)));
    assert_true(variance_of_whole(1, 0, 1, 0, 2, -(double)INFINITY) == 0);
}

/* Sums of k items a and l items b, k + l = n. */
typedef struct {
    u64 n, sum, sign, squares, high;
} sums_of_two;

static sums_of_two sums_of(u64 i) {
    const u64 random = pattern_random(3 * i), places = pattern_random(3 * i + 1), more = pattern_random(3 * i + 2);
    const u64 k = (random & 0x3fffffff) >> places % 30, l = (random >> 32 & 0x3fffffff) >> places / 32 % 30;
    const i64 x = (i64)(more & 0xffffffff) - INT64_C(0x80000000), y = (i64)(more >> 32) - INT64_C(0x80000000);
    const i64 a = x >> places / 1024 % 33, b = i % 4 ? y >> places / 32768 % 33 : a + 1;
    const WHOLE_2 of_a = whole_product((u64)(a * a), k), of_b = whole_product((u64)(b * b), l);
    const u64 sum = (u64)a * k + (u64)b * l, squares = of_a.low + of_b.low;
    return (sums_of_two){.n = k + l,
                         .sum = sum,
                         .sign = (u64) - (i64)(sum >> 63),
                         .squares = squares,
                         .high = of_a.high + of_b.high + (squares < of_b.low)};
}

static void expect_near(const char *what, const sums_of_two *s, NEAR near, f64 exact) {
    if (near.is_nearest && memcmp(&near.value, &exact, sizeof exact) != 0)
        fail_msg("%s of %llu items, S %lld, Q %llx %016llx: %a, should be %a", what, (unsigned long long)s->n,
                 (long long)s->sum, (unsigned long long)s->high, (unsigned long long)s->squares, near.value, exact);
}

/* The usual results are the exact ones where they say so. They say so of most within their limits.
 * Some quotients lie amid two f64 and prove nothing. */
static void test_usual(void **unused) {
    (void)unused;
    unsigned means = 0, variances = 0, all = 0, within = 0, far = 0;
    for (u64 i = 0; i < 1000000; i++) {
        const sums_of_two s = sums_of(i);
        const f64 ddof = i % 3 ? 0 : i % 2 ? 1 : 0.5;
        if (!s.n) continue;
        const NEAR mean = usual_mean(s.sum, s.sign, s.n);
        const NEAR near = usual_variance(s.sum, s.sign, s.squares, s.high, s.n, ddof);
        const f64 exact = exact_variance(s.sum, s.sign, s.squares, s.high, s.n, ddof);
        const f64 square = USUALLY(s.squares, s.high) / (f64)s.n, is_large = (f64)s.n * (f64)s.n * square >= 0x1p96;
        const bool may = (f64)s.n > ddof && ddof != 0.5 && (!is_large || exact >= 0x1p-23 * square);
        expect_near("mean", &s, mean, exact_mean(s.sum, s.sign, s.n));
        expect_near("variance", &s, near, exact);
        assert_false(near.is_nearest && ddof == 0.5);
        assert_true(USUALLY(s.squares, s.high) == exact_mean(s.squares, s.high, 1));
        means += mean.is_nearest;
        variances += near.is_nearest && may;
        within += may;
        far += may && is_large;
        all++;
    }
    printf("%u means of %u, %u variances of %u, %u of these large\n", means, all, variances, within, far);
    assert_true(within > 400000 && far > 20000);
    assert_true(means > all / 100 * 98 && variances < within && variances > within / 100 * 98);
}

/* Quotients so close to the middle between two f64 that q + step alone is rounded the wrong way.
 * They come from a search by integers of any length. n Q is above 2^95 in all variances. */
static void test_near_middles(void **unused) {
    (void)unused;
    static const struct {
        i64 sum;
        u64 high, squares, n;
        f64 ddof, variance;
    } rows[] = {
        {INT64_C(5751215176092591584), 0x54aaeb07U, UINT64_C(0xec3e5a2291cf7bf3), 1973229591, 1, 0x1.0996b2a8fd5e5p+62},
        {INT64_C(-7862588126227197121), 0xac73f1feU, UINT64_C(0xdfe2f1956221aa58), 1910176117, 7, 0x1.3140cb9aa2ae9p+63},
        {INT64_C(-5397041973912307991), 0x42c8f2aeU, UINT64_C(0xf0adb106ec0a6296), 1945200302, 7, 0x1.45052da48d665p+61},
        {INT64_C(-2474459238892547653), 0x1ab70e76U, UINT64_C(0x8af8a5de734f1014), 865623570, 0, 0x1.32652eb48735dp+60},
    };
    const u64 most = (UINT64_C(1) << 53) - 1;
    assert_true(mean_of_whole(1, 0, most) == 0x1.0000000000001p-53);
    assert_true(mean_of_whole(UINT64_MAX, UINT64_MAX, most) == -0x1.0000000000001p-53);
    assert_true(mean_of_whole(UINT64_C(1) << 63, UINT64_MAX, most) == -0x1.0000000000001p10);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_true(variance_of_whole((u64)rows[i].sum, SIGN_WORD(rows[i].sum), rows[i].squares, rows[i].high, rows[i].n,
                                      rows[i].ddof) == rows[i].variance);
    /* Sums of two words of every length. */
    for (u64 i = 0; i < 100000; i++) {
        const u64 low = word(2 * i), high = pattern_random(2 * i + 1) >> 1 >> i % 63;
        assert_true(float_of_whole(low, high) == exact_mean(low, high, 1));
    }
}

const core_test whole_tests[] = {
    {"wholes: quotients", test_quotients},
    {"wholes: moments", test_moments},
    {"wholes: usual results", test_usual},
    {"wholes: near the middle between two f64", test_near_middles},
    {NULL, NULL},
};
