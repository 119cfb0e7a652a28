/* SPDX-License-Identifier: MIT */
/*
 * The accuracy of each level. Sums and dots of a chosen condition number (T. Ogita, S. M. Rump, S.
 * Oishi, Accurate sum and dot product, SIAM J. Sci. Comput. 26 (2005), algorithm 6.1) are compared
 * with exact sums of integers. The compensation is compared to the bit, so that no compiler has
 * removed it. docs/numerics.md has the figures that the tests print.
 */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/calls.h"
#include "direct.h"
#include "oracle/patterns.h"

#define U32 0x1p-24
#define U64 0x1p-53

/* ---- exact sums ------------------------------------------------------------------------------ */

/* A fixed-point number wide enough for every product of two f64. Digit i weighs 2^(32 i -
 * EXACT_BELOW). */
#define EXACT_BELOW 2176
#define EXACT_DIGITS 140
typedef struct exact {
    int64_t digit[EXACT_DIGITS];
    uint32_t added; /* a digit holds the sum of at most 2^31 parts */
} exact;

static void exact_carry(exact *e) {
    for (int i = 0; i + 1 < EXACT_DIGITS; i++) {
        const int64_t low = e->digit[i] & 0xffffffff;
        e->digit[i + 1] += (e->digit[i] - low) / ((int64_t)1 << 32);
        e->digit[i] = low;
    }
    e->added = 0;
}

static void exact_add(exact *e, double x) {
    int exponent;
    int64_t mantissa = (int64_t)ldexp(frexp(x, &exponent), 53);
    if (!mantissa) return;
    const int at = exponent - 53 + EXACT_BELOW, shift = at % 32;
    const int sign = mantissa < 0 ? -1 : 1;
    const uint64_t magnitude = (uint64_t)(sign * mantissa), low = (magnitude & 0xffffffff) << shift,
                   high = ((magnitude >> 32) << shift) + (low >> 32);
    int64_t *digit = e->digit + at / 32;
    digit[0] += sign * (int64_t)(low & 0xffffffff);
    digit[1] += sign * (int64_t)(high & 0xffffffff);
    digit[2] += sign * (int64_t)(high >> 32);
    if (++e->added > 1u << 30) exact_carry(e);
}

/* The product is two numbers. The products here neither overflow nor underflow. */
static void exact_add_product(exact *e, double x, double y) {
    const double p = x * y;
    exact_add(e, p);
    exact_add(e, fma(x, y, -p));
}

/* The value to some 60 bits. */
static long double exact_value(const exact *given) {
    exact e = *given;
    long double value = 0;
    exact_carry(&e);
    const int negative = e.digit[EXACT_DIGITS - 1] < 0;
    if (negative) {
        for (int i = 0; i < EXACT_DIGITS; i++) e.digit[i] = -e.digit[i];
        exact_carry(&e);
    }
    for (int i = EXACT_DIGITS - 1; i >= 0; i--) value += ldexpl((long double)e.digit[i], 32 * i - EXACT_BELOW);
    return negative ? -value : value;
}

/* Returns |computed - exact|. */
static double exact_error(const exact *e, double computed) {
    exact difference = *e;
    exact_add(&difference, -computed);
    return (double)fabsl(exact_value(&difference));
}

static void test_exact(void **state) {
    (void)state;
    static const double numbers[] = {1, 0x1p-1074, -1, 0x1.8p300, 3, -0x1.8p300, -3 + 0x1p-50, 0x1.fffffffffffffp1023};
    static exact e;
    memset(&e, 0, sizeof e);
    for (int i = 0; i < 7; i++) exact_add(&e, numbers[i]);
    assert_true(exact_value(&e) == 0x1p-50L); /* 2^-1074 is beyond the digits of the value */
    exact_add(&e, -0x1p-50);
    assert_true(exact_value(&e) == 0x1p-1074L);
    exact_add(&e, -0x1p-1073);
    assert_true(exact_value(&e) == -0x1p-1074L);
    exact_add(&e, 0x1p-1074);
    exact_add_product(&e, 1 + 0x1p-52, 1 - 0x1p-52);
    assert_true(exact_error(&e, 1) == 0x1p-104);
}

/* ---- data of a chosen condition -------------------------------------------------------------- */

typedef struct random_source {
    uint64_t counter;
} random_source;

/* Returns a number from -1 to 1. */
static double uniform(random_source *r) {
    return (double)(int64_t)pattern_random(r->counter++) * 0x1p-63;
}

static double rounded(double x, tally_dtype in) {
    return in == TALLY_F32 ? (double)(float)x : x;
}

/*
 * Vectors of n items, n even, whose dot has the condition number 2 sum |x y| / |sum x y| of about
 * `condition`. In the first half the exponents spread over half of the condition's bits. In the
 * second half they come down again, and each y brings the dot so far close to 0.
 */
static void ill_conditioned_dot(tally_dtype in, double condition, uint64_t n, random_source *r, double *x, double *y) {
    const double half_bits = log2(condition) / 2;
    exact *dot = calloc(1, sizeof *dot);
    assert_non_null(dot);
    for (uint64_t i = 0; i < n / 2; i++) {
        double exponent = round(fabs(uniform(r)) * half_bits);
        if (i == 0) exponent = round(half_bits) + 1;
        if (i == n / 2 - 1) exponent = 0;
        x[i] = rounded(ldexp(uniform(r), (int)exponent), in);
        y[i] = rounded(ldexp(uniform(r), (int)exponent), in);
        exact_add_product(dot, x[i], y[i]);
    }
    for (uint64_t i = n / 2; i < n; i++) {
        const double exponent = round(half_bits * (double)(n - 1 - i) / (double)(n - n / 2 - 1));
        x[i] = rounded(ldexp(uniform(r), (int)exponent), in);
        y[i] = rounded((ldexp(uniform(r), (int)exponent) - (double)exact_value(dot)) / x[i], in);
        exact_add_product(dot, x[i], y[i]);
    }
    for (uint64_t i = n - 1; i > 0; i--) {
        const uint64_t j = pattern_random(r->counter++) % (i + 1);
        const double xi = x[i], yi = y[i];
        x[i] = x[j], y[i] = y[j], x[j] = xi, y[j] = yi;
    }
    free(dot);
}

/* Writes the products of a dot as a sum of twice as many items. Each product is exactly two of the
 * items. */
static void split_products(tally_dtype in, const double *x, const double *y, uint64_t n, double *items) {
    for (uint64_t i = 0; i < n; i++) {
        const double high = rounded(x[i] * y[i], in);
        items[i] = high;
        items[n + i] = fma(x[i], y[i], -high);
        assert_true(items[n + i] == rounded(items[n + i], in));
    }
}

/* ---- the accuracy of each level -------------------------------------------------------------- */

typedef struct problem {
    tally_op op;
    tally_dtype in;
    uint64_t n;
    double *x, *y;
    exact *exact;      /* the sum */
    double magnitudes; /* sum of the terms' magnitudes */
} problem;

typedef struct level {
    const char *name;
    tally_dtype acc;
    tally_accuracy accuracy;
} level;

static const level levels[] = {{"default", TALLY_DTYPE_DEFAULT, TALLY_ACCURACY_DEFAULT},
                               {"compensated", TALLY_DTYPE_DEFAULT, TALLY_ACCURACY_COMPENSATED},
                               {"f64", TALLY_F64, TALLY_ACCURACY_DEFAULT}};
#define LEVELS TALLY_ARRAY_LENGTH(levels)

static void *stored(tally_dtype in, const double *x, uint64_t n) {
    if (!x) return NULL;
    double *items = malloc((n + 1) * sizeof *items);
    assert_non_null(items);
    for (uint64_t i = 0; i < n; i++) {
        const float narrow = (float)x[i];
        if (in == TALLY_F32)
            memcpy((char *)items + i * sizeof narrow, &narrow, sizeof narrow);
        else
            items[i] = x[i];
    }
    return items;
}

/* Returns the level's result as a double. */
static double error_at(tally_context *context, const problem *p, const level *l) {
    const tally_reduce_desc desc = {.op = p->op, .in = p->in, .acc = l->acc, .accuracy = l->accuracy};
    void *const items[] = {stored(p->in, p->x, p->n), stored(p->in, p->y, p->n)};
    double wide;
    float narrow;
    if (p->in == TALLY_F64 || l->acc == TALLY_F64) {
        direct_reduce(context, &desc, NULL, (const void *const *)items, p->n, &wide);
    } else {
        direct_reduce(context, &desc, NULL, (const void *const *)items, p->n, &narrow);
        wide = narrow;
    }
    free(items[0]);
    free(items[1]);
    return wide;
}

static double gamma_of(double k, double u) {
    return k * u / (1 - k * u);
}

/* The bounds of docs/numerics.md. */
static double bound_of(const problem *p, const level *l) {
    const double chunks = ceil((double)p->n / TALLY_CHUNK_ITEMS);
    const double k = 38 + ceil(log2(chunks > 1 ? chunks : 1)), u = p->in == TALLY_F64 || l->acc == TALLY_F64 ? U64 : U32;
    const double sum = fabs((double)exact_value(p->exact));
    if (l->accuracy == TALLY_ACCURACY_COMPENSATED) return u * sum * (1 + 1e-4) + 6 * (k + 1) * u * u * p->magnitudes;
    /* The product is one more rounding. A product of two f32 in f64 is exact. */
    return gamma_of(k + (p->op == TALLY_DOT && p->in == TALLY_F64) + (p->op == TALLY_DOT && !l->acc), u) * p->magnitudes;
}

/* Returns the error relative to the sum, at most 1: no digit is right. */
static double check_level(tally_context *context, const problem *p, const level *l, double condition) {
    const double got = error_at(context, p, l), error = exact_error(p->exact, got), bound = bound_of(p, l);
    if (!(error <= bound))
        fail_msg("%s of %llu %s, condition %.1e, %s: %.17g is off by %.3g: the bound is %.3g", tally_op_name(p->op),
                 (unsigned long long)p->n, tally_dtype_name(p->in), condition, l->name, got, error, bound);
    const double relative = error / fabs((double)exact_value(p->exact));
    return relative < 1 ? relative : 1;
}

static void fill_problem(problem *p, double condition, random_source *r) {
    const uint64_t pairs = p->op == TALLY_DOT ? p->n : p->n / 2;
    double *x = malloc(pairs * sizeof *x), *y = malloc(pairs * sizeof *y);
    assert_true(x && y);
    ill_conditioned_dot(p->in, condition, pairs, r, x, y);
    p->exact = calloc(1, sizeof *p->exact);
    p->magnitudes = 0;
    for (uint64_t i = 0; i < pairs; i++) {
        exact_add_product(p->exact, x[i], y[i]);
        p->magnitudes += fabs(x[i] * y[i]);
    }
    if (p->op == TALLY_DOT) {
        p->x = x;
        p->y = y;
        return;
    }
    p->x = malloc(p->n * sizeof *p->x);
    p->y = NULL;
    split_products(p->in, x, y, pairs, p->x);
    p->magnitudes = 0;
    for (uint64_t i = 0; i < p->n; i++) p->magnitudes += fabs(p->x[i]);
    free(x);
    free(y);
}

/* Returns the digits that an error leaves. */
static double digits(double relative) {
    return relative > 0 ? fabs(log10(relative)) : 99;
}

static void run_conditions(void **state, tally_op op, tally_dtype in, const double *conditions, size_t count) {
    tally_context *context = direct_context(state);
    static const uint64_t sizes[] = {1000, 100000};
    random_source r = {1000 * (uint64_t)op + (uint64_t)in};
    for (size_t s = 0; s < (quick() ? 1 : TALLY_ARRAY_LENGTH(sizes)); s++)
        for (size_t c = 0; c < count; c++) {
            problem p = {.op = op, .in = in, .n = sizes[s]};
            double relative[LEVELS] = {0};
            fill_problem(&p, conditions[c], &r);
            const double condition = (op == TALLY_DOT ? 2 : 1) * p.magnitudes / fabs((double)exact_value(p.exact));
            printf("%s %s, n = %llu, condition %.1e: digits kept:", tally_op_name(op), tally_dtype_name(in),
                   (unsigned long long)p.n, condition);
            for (size_t l = 0; l < LEVELS; l++) {
                if (levels[l].acc == TALLY_F64 && (in == TALLY_F64 || !direct_has_f64(state))) continue;
                relative[l] = check_level(context, &p, &levels[l], condition);
                printf(" %s %.1f", levels[l].name, digits(relative[l]));
            }
            printf("\n");
            /* The data are as ill-conditioned as intended: the default level loses the digits that
             * the compensated sum keeps. */
            const double u = in == TALLY_F64 ? U64 : U32;
            if (condition * u > 10 && condition * u < 1e3) assert_true(relative[0] > 1e-3 && relative[1] < 1e-2);
            if (condition * u * u < 1e-5 * u) assert_true(relative[1] <= u * (1 + 1e-2));
            free(p.x);
            free(p.y);
            free(p.exact);
        }
}

static const double conditions_f32[] = {1e2, 1e4, 1e6, 1e8, 1e10, 1e12, 1e14};
static const double conditions_f64[] = {1e4, 1e8, 1e12, 1e16, 1e20, 1e24, 1e28};
#define COUNT(array) (array), TALLY_ARRAY_LENGTH(array)

static void test_ill_conditioned(void **state) {
    need_compiler(*state);
    run_conditions(state, TALLY_SUM, TALLY_F32, COUNT(conditions_f32));
    run_conditions(state, TALLY_DOT, TALLY_F32, COUNT(conditions_f32));
    if (!direct_has_f64(state)) return;
    run_conditions(state, TALLY_SUM, TALLY_F64, COUNT(conditions_f64));
    run_conditions(state, TALLY_DOT, TALLY_F64, COUNT(conditions_f64));
}

/* ---- the compensation to the bit ------------------------------------------------------------- */

/* Twofold numbers in plain C. Each operation is a statement of its own. */
#define TWOFOLD(T, real)                                                                                                       \
    typedef struct twofold_##T {                                                                                               \
        real high, low;                                                                                                        \
    } twofold_##T;                                                                                                             \
    static void add_twofold_##T(void *left, const void *right) {                                                               \
        twofold_##T *a = left;                                                                                                 \
        const twofold_##T *b = right;                                                                                          \
        const volatile real s = a->high + b->high, t = s - a->high, back = s - t, from_a = a->high - back;                     \
        const volatile real from_b = b->high - t, lost = from_a + from_b, lows = a->low + b->low;                              \
        const volatile real error = lost + lows, high = s + error, kept = high - s;                                            \
        *a = (twofold_##T){high, error - kept};                                                                                \
    }                                                                                                                          \
    static void load_sum_##T(void *acc, const void *const *items, uint64_t i) {                                                \
        *(twofold_##T *)acc = (twofold_##T){((const real *)items[0])[i], -0.0f};                                               \
    }                                                                                                                          \
    static void load_dot_##T(void *acc, const void *const *items, uint64_t i) {                                                \
        const real x = ((const real *)items[0])[i], y = ((const real *)items[1])[i];                                           \
        const volatile real p = x * y;                                                                                         \
        *(twofold_##T *)acc = (twofold_##T){p, FMA_##T(x, y, -p)};                                                             \
    }                                                                                                                          \
    static double host_twofold_##T(tally_op op, const void *const *items, uint64_t n) {                                        \
        const twofold_##T identity = {-0.0f, -0.0f};                                                                           \
        const canonical_op reference = {sizeof identity, &identity, op == TALLY_DOT ? load_dot_##T : load_sum_##T,             \
                                        add_twofold_##T};                                                                      \
        twofold_##T acc;                                                                                                       \
        canonical_reduce(&reference, items, n, &acc);                                                                          \
        const volatile real sum = acc.high + acc.low;                                                                          \
        return sum;                                                                                                            \
    }
#define FMA_f32 fmaf
#define FMA_f64 fma
TWOFOLD(f32, float)
TWOFOLD(f64, double)

static void test_not_removed(void **state) {
    tally_context *context = direct_context(state);
    static const tally_op ops[] = {TALLY_SUM, TALLY_DOT};
    static const tally_dtype types[] = {TALLY_F32, TALLY_F64};
    for (size_t t = 0; t < TALLY_ARRAY_LENGTH(types); t++)
        for (size_t o = 0; o < TALLY_ARRAY_LENGTH(ops); o++) {
            if (types[t] == TALLY_F64 && !direct_has_f64(state)) continue;
            random_source r = {77};
            problem p = {.op = ops[o], .in = types[t], .n = 50000};
            fill_problem(&p, types[t] == TALLY_F32 ? 1e9 : 1e18, &r);
            void *const items[] = {stored(p.in, p.x, p.n), stored(p.in, p.y, p.n)};
            const double plain = error_at(context, &p, &levels[0]), kept = error_at(context, &p, &levels[1]);
            const double expected =
                (types[t] == TALLY_F32 ? host_twofold_f32 : host_twofold_f64)(ops[o], (const void *const *)items, p.n);
            if (kept == plain) fail_msg("%s of %s: the compensation is gone", tally_op_name(ops[o]), tally_dtype_name(p.in));
            if (memcmp(&kept, &expected, sizeof kept) != 0)
                fail_msg("compensated %s of %s is %a, in C %a", tally_op_name(ops[o]), tally_dtype_name(p.in), kept, expected);
            free(items[0]);
            free(items[1]);
            free(p.x);
            free(p.y);
            free(p.exact);
        }
}

/* n times 0.1f. The exact sum is n times the f32 nearest to 0.1. */
static void test_independent_of_n(void **state) {
    need_compiler(*state);
    tally_context *context = direct_context(state);
    const uint64_t most = (UINT64_C(1) << 22) + (1 << 15);
    problem p = {.op = TALLY_SUM, .in = TALLY_F32};
    p.x = malloc(most * sizeof *p.x);
    p.exact = malloc(sizeof *p.exact);
    assert_true(p.x && p.exact);
    for (uint64_t i = 0; i < most; i++) p.x[i] = 0.1f;
    printf("n times 0.1f: the relative error, in units of 2^-24:\n");
    for (uint64_t base = 1 << 10; base <= 1 << 22; base *= 4) {
        p.n = base + (base >> 9) * 3 + 5;
        memset(p.exact, 0, sizeof *p.exact);
        exact_add_product(p.exact, (double)p.n, 0.1f);
        p.magnitudes = (double)exact_value(p.exact);
        printf("  n = %llu:", (unsigned long long)p.n);
        for (size_t l = 0; l < LEVELS; l++) {
            if (levels[l].acc == TALLY_F64 && !direct_has_f64(state)) continue;
            const double relative = check_level(context, &p, &levels[l], 1);
            printf(" %s %.3g", levels[l].name, relative / U32);
            if (l == 1) assert_true(relative <= U32 * (1 + 1e-4));
        }
        printf("\n");
    }
    free(p.x);
    free(p.exact);
}

/* Beside an infinity the error term is no NaN. Overflow gives an infinity, as without
 * compensation. */
static void test_infinities(void **state) {
    tally_context *context = direct_context(state);
    static const struct {
        const char *items, *expected;
    } cases[] = {{"1 inf 2", "inf"},
                 {"1 -inf 2", "-inf"},
                 {"inf -inf", "nan"},
                 {"1 nan 2", "nan"},
                 {"0x1.fffffep127 0x1p127", "inf"},
                 {"-0 -0", "0"},
                 {"", "0"},
                 {"0x1p-149 0x1p-149", "0x1p-148"}};
    for (size_t c = 0; c < TALLY_ARRAY_LENGTH(cases); c++) {
        uint64_t items[DIRECT_MAX_ITEMS], expected = 0, got = 0;
        const uint64_t n = direct_parse(TALLY_F32, cases[c].items, items);
        direct_parse(TALLY_F32, cases[c].expected, &expected);
        const tally_reduce_desc desc = {.op = TALLY_SUM, .in = TALLY_F32, .accuracy = TALLY_ACCURACY_COMPENSATED};
        direct_reduce(context, &desc, NULL, (const void *const[]){items}, n, &got);
        if ((uint32_t)got != (uint32_t)expected)
            fail_msg("the compensated sum of \"%s\" is 0x%x", cases[c].items, (unsigned)got);
    }
}

const device_test accuracy_tests[] = {
    {"accuracy: the exact sum", test_exact},
    {"accuracy: ill-conditioned", test_ill_conditioned},
    {"accuracy: compensation to the bit", test_not_removed},
    {"accuracy: independent of n", test_independent_of_n},
    {"accuracy: infinities", test_infinities},
    {NULL, NULL},
};
