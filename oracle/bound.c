/* SPDX-License-Identifier: MIT */
/* The formulas are derived in docs/numerics.md. The terms are what the oracle loads the items as.
 * They do not depend on the order, so the bounds cover only the roundings of combinations. */
#include "bound.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "items.h"

/* The type of the computation: its unit roundoff, its largest, smallest normal and smallest number,
 * and the exponents of the first two. */
typedef struct arithmetic {
    double unit, largest, normal, smallest;
    int most, least;
} arithmetic;

static const arithmetic f32_arithmetic = {FLT_EPSILON / 2, FLT_MAX, FLT_MIN, 0x1p-149, 128, 126};
static const arithmetic f64_arithmetic = {DBL_EPSILON / 2, DBL_MAX, DBL_MIN, 0x1p-1074, 1024, 1022};

/* The roundings of the check itself, which computes in the widest type there is. */
#define OWN_UNIT ((double)LDBL_EPSILON)
#define SLACK (1 + 0x1p-30)

/* A check in progress. */
typedef struct check {
    const oracle_case *what;
    const void *const *inputs;
    uint64_t n, depth;
    const arithmetic *in;
    double got[2]; /* the result's parts */
    int may_flush;
} check;

static bound_verdict verdict(int kept) {
    return kept ? BOUND_KEPT : BOUND_BROKEN;
}

/* Returns k u / (1 - k u), or infinity where that bounds nothing. */
static double gamma_of(double k, double unit) {
    return k * unit < 1 ? k * unit / (1 - k * unit) : (double)INFINITY;
}

/* The terms of one chunk's items. */
typedef struct terms {
    uint64_t first;
    uint32_t count;
    double field[ORACLE_FIELDS][TALLY_CHUNK_ITEMS];
} terms;

static int next_terms(const check *c, terms *t) {
    t->first += t->count;
    if (t->first >= c->n) return 0;
    const uint64_t left = c->n - t->first, bytes = item_bytes_of(c->what->in);
    const void *from[2] = {(const char *)c->inputs[0] + t->first * bytes, NULL};
    if (oracle_inputs(c->what->op) == 2) from[1] = (const char *)c->inputs[1] + t->first * bytes;
    t->count = left < TALLY_CHUNK_ITEMS ? (uint32_t)left : TALLY_CHUNK_ITEMS;
    oracle_load(c->what, from, t->count, t->field);
    return 1;
}

/* A sum as two numbers, by error-free additions (Knuth's two-sum). It is exact to about n times the
 * square of OWN_UNIT. */
typedef struct twofold {
    long double high, low;
} twofold;

static twofold add(twofold a, long double x) {
    const long double sum = a.high + x, back = sum - a.high;
    const long double error = (a.high - (sum - back)) + (x - back) + a.low;
    const long double high = sum + error;
    return (twofold){high, error - (high - sum)};
}

/* ---- sums ------------------------------------------------------------------------------------ */

/* The terms of a sum: their special values, the sum of the finite ones and of their magnitudes. */
typedef struct survey {
    int nan, plus_infinite, minus_infinite, only_minus_zero;
    twofold sum;
    long double magnitude;
} survey;

static void survey_term(survey *s, double x) {
    s->only_minus_zero &= x == 0 && signbit(x);
    s->nan |= isnan(x);
    s->plus_infinite |= x == (double)INFINITY;
    s->minus_infinite |= x == (double)-INFINITY;
    if (!isfinite(x)) return;
    s->sum = add(s->sum, (long double)x);
    s->magnitude += fabsl((long double)x);
}

static bound_verdict check_sum(const check *c, const survey *s, double got) {
    const double unit = c->in->unit, k = (double)c->depth, n = (double)c->n, magnitude = (double)s->magnitude;
    const int is_twofold = c->what->accuracy == TALLY_ACCURACY_COMPENSATED, is_mean = c->what->op == TALLY_MEAN;
    const double sum = fabs((double)s->sum.high);
    double most = gamma_of(k, unit) * magnitude;
    if (is_twofold) most = unit * sum + 6 * (k + 1) * unit * unit * magnitude;
    if (s->nan || (s->plus_infinite && s->minus_infinite)) return verdict(isnan(got));
    if (!(magnitude + most <= c->in->largest)) return BOUND_FREE;
    if (s->plus_infinite || s->minus_infinite) return verdict(got == (double)(s->plus_infinite ? INFINITY : -INFINITY));
    if (magnitude == 0) return verdict(got == 0 && (is_twofold || !signbit(got) == !s->only_minus_zero));
    if (c->may_flush) most += n * c->in->normal;
    most += 4 * n * OWN_UNIT * OWN_UNIT * magnitude;
    if (!is_mean) return verdict(fabsl((s->sum.high - (long double)got) + s->sum.low) <= (long double)(most * SLACK));
    /* Two more roundings: n itself, and the division. */
    const long double mean = (s->sum.high + s->sum.low) / (long double)c->n;
    most = (most + (2.5 * unit + OWN_UNIT) * (sum + most)) / n + c->in->smallest;
    return verdict(fabsl(mean - (long double)got) <= (long double)(most * SLACK));
}

/* Sums of one part or two. */
static bound_verdict check_sums(const check *c, int parts) {
    survey s[2] = {{.only_minus_zero = 1}, {.only_minus_zero = 1}};
    const int is_twofold = c->what->accuracy == TALLY_ACCURACY_COMPENSATED;
    terms t = {0};
    while (next_terms(c, &t))
        for (int p = 0; p < parts; p++)
            for (uint32_t i = 0; i < t.count; i++) {
                survey_term(&s[p], t.field[p][i]);
                if (is_twofold) survey_term(&s[p], t.field[1][i]);
            }
    bound_verdict worst = check_sum(c, &s[0], c->got[0]);
    if (parts == 1 || worst == BOUND_BROKEN) return worst;
    const bound_verdict other = check_sum(c, &s[1], c->got[1]);
    return other == BOUND_FREE ? worst : other == BOUND_BROKEN || worst == BOUND_FREE ? other : worst;
}

/* ---- products -------------------------------------------------------------------------------- */

/* The factors: their special values, and how far from 1 a product of any of them may go. `up` and
 * `down` are powers of two. */
typedef struct factors {
    int nan, infinite, zero, negative;
    double up, down;
    long double re, im; /* the product of the finite nonzero factors, times 2^-exponent */
    int exponent;
} factors;

static void take_factor(factors *f, double re, double im) {
    f->negative ^= signbit(re) != 0;
    f->nan |= isnan(re) || isnan(im);
    f->infinite |= isinf(re) || isinf(im);
    f->zero |= re == 0 && im == 0;
    if (!isfinite(re) || !isfinite(im) || (re == 0 && im == 0)) return;
    const double larger = fmax(fabs(re), fabs(im)), ratio = fmin(fabs(re), fabs(im)) / larger;
    const double size = log2(larger) + log2(1 + ratio * ratio) / 2; /* of the modulus, which may exceed the largest number */
    if (size > 0)
        f->up += size;
    else
        f->down -= size;
    const long double x = f->re * (long double)re - f->im * (long double)im;
    f->im = f->re * (long double)im + f->im * (long double)re;
    f->re = x;
    int exponent;
    frexpl(fabsl(f->re) + fabsl(f->im), &exponent);
    f->re = ldexpl(f->re, -exponent);
    f->im = ldexpl(f->im, -exponent);
    f->exponent += exponent;
}

static bound_verdict check_special_product(const check *c, const factors *f, int is_complex) {
    if (f->nan) return verdict(isnan(c->got[0]) && (!is_complex || isnan(c->got[1])));
    if (is_complex && f->infinite) return BOUND_FREE; /* NaN or not depends on the order */
    if (is_complex) return f->up < c->in->most - 1 ? verdict(c->got[0] == 0 && c->got[1] == 0) : BOUND_FREE;
    if (f->infinite && f->zero) return verdict(isnan(c->got[0]));
    if (f->infinite && f->down >= c->in->least) return BOUND_FREE;
    if (f->zero && f->up >= c->in->most - 1) return BOUND_FREE;
    const int has_sign = (signbit(c->got[0]) != 0) == f->negative;
    return verdict(has_sign && (f->zero ? c->got[0] == 0 : isinf(c->got[0]) != 0));
}

static bound_verdict check_product(const check *c, int is_complex) {
    factors f = {.re = 1};
    terms t = {0};
    while (next_terms(c, &t))
        for (uint32_t i = 0; i < t.count; i++) take_factor(&f, t.field[0][i], is_complex ? t.field[1][i] : 0);
    if (f.nan || f.infinite || f.zero) return check_special_product(c, &f, is_complex);
    /* A product of complex numbers is two roundings and the square root of two. A part that
     * vanishes must not matter to the whole. */
    const double n = (double)c->n, each = is_complex ? 3 : 1;
    const double relative = gamma_of(n * each, c->in->unit) + 8 * n * OWN_UNIT;
    const int least = is_complex ? c->in->least - 60 : c->in->least;
    if (f.up >= c->in->most - 2 || f.down >= least || !isfinite(relative)) return BOUND_FREE;
    const long double re = ldexpl(f.re, f.exponent), im = ldexpl(f.im, f.exponent);
    const long double off = hypotl(re - (long double)c->got[0], is_complex ? im - (long double)c->got[1] : 0);
    return verdict(off <= (long double)(relative * SLACK) * hypotl(re, im));
}

/* ---- the Euclidean norm ---------------------------------------------------------------------- */

static bound_verdict check_norm(const check *c) {
    const int is_f32 = c->in == &f32_arithmetic;
    const long double small_times = is_f32 ? 0x1p86L : 0x1p563L, big_times = is_f32 ? 0x1p-86L : 0x1p-560L;
    long double sums[3] = {0, 0, 0};
    terms t = {0};
    while (next_terms(c, &t))
        for (int f = 0; f < 3; f++)
            for (uint32_t i = 0; i < t.count; i++) sums[f] += (long double)t.field[f][i];
    const double got = c->got[0];
    if (isnan(sums[1])) return verdict(isnan(got));
    if (isinf(sums[2])) return verdict(got == (double)INFINITY);
    /* Small numbers do not count beside big ones. The other two sums meet without their scales. */
    const long double exact = sums[2] > 0 ? sqrtl(sums[2] + sums[1] * big_times * big_times) / big_times
                                          : hypotl(sqrtl(sums[1]), sqrtl(sums[0]) / small_times);
    const double relative = gamma_of((double)c->depth + 16, c->in->unit) + 2 * (double)c->n * OWN_UNIT;
    if (!isfinite(relative)) return BOUND_FREE;
    if (exact * (1 + (long double)relative) > (long double)c->in->largest)
        return exact * (1 - (long double)relative) > (long double)c->in->largest ? verdict(got == (double)INFINITY)
                                                                                 : BOUND_FREE;
    return verdict(fabsl(exact - (long double)got) <= (long double)(relative * SLACK) * exact + (long double)c->in->smallest);
}

/* ---- moments --------------------------------------------------------------------------------- */

typedef struct spread {
    int nan, infinite;
    double largest;      /* magnitude */
    double low, high;    /* the extremes */
    long double squares; /* the sum of squared deviations from the mean */
} spread;

static spread spread_of(const check *c) {
    spread s = {.low = (double)INFINITY, .high = (double)-INFINITY};
    twofold sum = {0, 0};
    terms t = {0};
    while (next_terms(c, &t))
        for (uint32_t i = 0; i < t.count; i++) {
            const double x = t.field[1][i];
            s.nan |= isnan(x);
            s.infinite |= isinf(x);
            s.largest = fabs(x) > s.largest ? fabs(x) : s.largest;
            s.low = x < s.low ? x : s.low;
            s.high = x > s.high ? x : s.high;
            sum = add(sum, (long double)x);
        }
    const long double mean = (sum.high + sum.low) / (long double)c->n;
    t = (terms){0};
    while (next_terms(c, &t))
        for (uint32_t i = 0; i < t.count; i++) {
            const long double off = (long double)t.field[1][i] - mean;
            s.squares += off * off;
        }
    return s;
}

static bound_verdict check_variance(const check *c) {
    const double unit = c->in->unit, k = (double)c->depth, n = (double)c->n, got = c->got[0];
    const double left = n - (c->what->params ? c->what->params[0] : 0);
    const spread s = spread_of(c);
    if (s.nan || s.infinite) return verdict(isnan(got));
    if (left <= 0 || n * unit >= 1 || k * unit >= 0.02) return BOUND_FREE;
    if (4 * n * s.largest * s.largest > c->in->largest / 2) return BOUND_FREE;
    const double squares = (double)s.squares;
    const double off =
        6 * k * unit * (s.high - s.low + unit * s.largest) + 2 * k * c->in->smallest; /* error of any node's mean */
    const double weight = n * (k < log2(n) + 1 ? k : log2(n) + 1);                    /* of all merges */
    const double moved = 4 * off * sqrt(squares * weight) + 4 * off * off * weight;   /* loss by wrong means */
    const double lost = moved + 2 * weight * c->in->smallest;
    double most = gamma_of(2 * k + 7, unit) * (squares + lost) + lost + 4 * n * OWN_UNIT * squares;
    most += 8 * unit * (squares + most) + left * c->in->smallest;
    const double value = c->what->op == TALLY_STD ? got * got : got;
    return verdict(fabs(value * left - squares) <= most * SLACK);
}

/* ---- exponentials ---------------------------------------------------------------------------- */

/* One unit in the last place of x. */
static double last_place(const arithmetic *in, double x) {
    int exponent;
    frexp(x, &exponent);
    return fmax(ldexp(in->unit, exponent), in->smallest);
}

static bound_verdict check_exponentials(const check *c) {
    const double n = (double)c->n, got = c->got[0];
    const int is_f32 = c->in == &f32_arithmetic;
    double top = (double)-INFINITY;
    int nan = 0;
    terms t = {0};
    while (next_terms(c, &t))
        for (uint32_t i = 0; i < t.count; i++) {
            nan |= isnan(t.field[0][i]);
            top = t.field[0][i] > top ? t.field[0][i] : top;
        }
    if (nan) return verdict(isnan(got));
    if (isinf(top)) return verdict(got == top);
    long double sum = 0;
    t = (terms){0};
    while (next_terms(c, &t))
        for (uint32_t i = 0; i < t.count; i++) {
            const long double drop = (long double)top - (long double)t.field[0][i];
            if (drop > 12000) continue;
            sum += is_f32 ? (long double)exp((double)-drop) : expl(-drop);
        }
    const double relative = gamma_of((double)c->depth + 6, c->in->unit) + 2 * n * (c->in->normal + OWN_UNIT);
    if (!(relative < 0.5)) return BOUND_FREE;
    const long double exact = (long double)top + logl(sum);
    const double most = relative / (1 - relative) + 2 * last_place(c->in, (double)exact) + 4 * OWN_UNIT * fabs((double)exact);
    return verdict(fabsl(exact - (long double)got) <= (long double)(most * SLACK));
}

/* ---- the interface --------------------------------------------------------------------------- */

/* Takes the parts of the result as numbers. Returns 0 if one is a NaN other than the canonical
 * one. */
static int read_result(tally_dtype dtype, const oracle_result *result, double got[2]) {
    const int is_narrow = dtype == TALLY_F32 || dtype == TALLY_C64;
    const int parts = dtype == TALLY_C64 || dtype == TALLY_C128 ? 2 : 1;
    int good = 1;
    got[1] = 0;
    for (int p = 0; p < parts; p++) {
        float narrow;
        unsigned char canonical[8];
        const size_t bytes = is_narrow ? 4 : 8;
        memcpy(&narrow, result->bytes + 4 * p, sizeof narrow);
        memcpy(&got[p], result->bytes + 8 * p, sizeof got[p]);
        if (is_narrow) got[p] = (double)narrow;
        store_float(dtype, (double)NAN, canonical);
        good = good && (!isnan(got[p]) || memcmp(result->bytes + (size_t)p * bytes, canonical, bytes) == 0);
    }
    return good;
}

/* With at most one item nothing rounds, except where the item is combined with the identity. */
static int is_trivial(const oracle_case *what, uint64_t n, int may_flush) {
    const int meets = may_flush || what->accuracy == TALLY_ACCURACY_COMPENSATED;
    return n == 0 || (n == 1 && !meets);
}

bound_verdict bound_check(const oracle_case *what, const void *const inputs[], uint64_t n, uint64_t depth, int may_flush,
                          const oracle_result *result) {
    check c = {what, inputs, n, depth, oracle_float(what) == TALLY_F32 ? &f32_arithmetic : &f64_arithmetic, {0, 0}, may_flush};
    const tally_dtype out = oracle_result_dtype(what);
    if (!read_result(out, result, c.got)) return BOUND_BROKEN;
    if (is_trivial(what, n, may_flush)) {
        oracle_result expected = {{0}};
        oracle_reduce_inputs(what, inputs, n, &expected);
        return verdict(memcmp(&expected, result, oracle_result_bytes(what)) == 0);
    }
    switch (oracle_shape_of(what)) {
    case ORACLE_PRODUCT:
        return check_product(&c, 0);
    case ORACLE_COMPLEX_PRODUCT:
        return check_product(&c, 1);
    case ORACLE_MOMENTS:
        return check_variance(&c);
    case ORACLE_EXPONENTIALS:
        return check_exponentials(&c);
    default:
        break;
    }
    return what->op == TALLY_NRM2 ? check_norm(&c) : check_sums(&c, out == TALLY_C64 || out == TALLY_C128 ? 2 : 1);
}
