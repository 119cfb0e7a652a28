/* SPDX-License-Identifier: MIT */
/*
 * study_sums.c: what the operators give whose result depends on the order of combination: sums and products of floats, and what is made
 * of them. Items are chosen so that the order matters as little as it can.
 *
 * Items are whole numbers from -2 to 2, thinned out so that the sum of their terms' magnitudes stays below 2^24 as long as it can: then no
 * partial sum of any order is rounded, and every variant must give the exact value. Random fractions would be checked by the bound of
 * docs/numerics.md alone, which lets anything pass where one word takes up all items (gamma(n), n = 3 * 2^22: 3). Of a product they are
 * 1 and -1 and some powers of two. The variance and logsumexp are held to a bound.
 */
#include <float.h>
#include <math.h>
#include <stdio.h>

#include "patterns.h"
#include "study.h"

#define MOST_THINNING 3 /* one item in 8; beyond 2^26 items of f32 the bound decides */

/* What is added up, and of which size it is on average. */
typedef enum term { TERM_ITEM, TERM_MAGNITUDE, TERM_SQUARE, TERM_FACTOR, TERM_MOMENTS, TERM_EXPONENTIAL } term;

static term term_of(tally_op op) {
    switch ((int)op) {
    case TALLY_ASUM:
        return TERM_MAGNITUDE;
    case TALLY_SUMSQ:
    case TALLY_NRM2:
        return TERM_SQUARE;
    case TALLY_PROD:
        return TERM_FACTOR;
    case TALLY_VAR:
    case TALLY_STD:
        return TERM_MOMENTS;
    case TALLY_LOGSUMEXP:
        return TERM_EXPONENTIAL;
    default:
        return TERM_ITEM;
    }
}

static bool is_wide(tally_dtype in) {
    const tally_dtype part = cli_part_dtype(in);
    return part != TALLY_F16 && part != TALLY_BF16 && part != TALLY_F32;
}

/* Whether sums up to this are held without rounding. */
static bool is_exact(tally_dtype in, long double magnitude) {
    return magnitude <= (is_wide(in) ? 0x1p53L : 0x1p24L);
}

static bool is_complex(tally_dtype in) {
    return cli_part_dtype(in) != in;
}

unsigned study_sums_thinning(tally_op op, tally_dtype in, uint64_t n) {
    const term t = term_of(op);
    const long double mean = t == TERM_ITEM ? 1.2L : (t == TERM_MAGNITUDE ? 1.2L : 2) * (is_complex(in) ? 2 : 1);
    unsigned thinning = 0;
    if (t > TERM_SQUARE) return 0;
    while (thinning < MOST_THINNING && !is_exact(in, ldexpl((long double)n * mean * 1.01L, -(int)thinning))) thinning++;
    return thinning;
}

void study_sums_item(tally_op op, tally_dtype in, unsigned thinning, uint64_t i, double parts[2]) {
    const uint64_t random = pattern_random(i);
    const bool factor = op == TALLY_PROD;
    for (int k = 0; k < 2; k++) {
        const uint64_t bits = random >> 8 * k;
        parts[k] = random >> 40 & ((UINT64_C(1) << thinning) - 1) ? 0 : (double)((int)(bits % 5) - 2);
    }
    if (factor && is_complex(in)) { /* 1, i, -1, -i */
        const double unit = random & 1 ? 1 : -1;
        parts[0] = random & 2 ? unit : 0;
        parts[1] = random & 2 ? 0 : unit;
    } else if (factor) {
        parts[0] = (random & 1 ? 1 : -1) * (i & (i - 1) ? 1.0 : 2.0);
    }
    /* Of integers only what computes in floats comes here. */
    if (in == TALLY_BOOL)
        parts[0] = parts[0] != 0;
    else if (in == TALLY_U8 || in == TALLY_U16 || in == TALLY_U32 || in == TALLY_U64)
        parts[0] = fabs(parts[0]);
}

void study_sums_take(tally_op op, tally_dtype in, const double parts[2], study_sums *sums) {
    const long double re = parts[0], im = is_complex(in) ? parts[1] : 0, before = sums->re;
    sums->n++;
    switch (term_of(op)) {
    case TERM_ITEM:
        sums->re += re;
        sums->im += im;
        sums->magnitude += fmaxl(fabsl(re), fabsl(im));
        break;
    case TERM_MAGNITUDE:
        sums->re += fabsl(re) + fabsl(im);
        sums->magnitude = sums->re;
        break;
    case TERM_SQUARE:
        sums->re += re * re + im * im;
        sums->magnitude = sums->re;
        break;
    case TERM_FACTOR:
        sums->re = (sums->n == 1 ? 1 : before) * re - sums->im * im;
        sums->im = (sums->n == 1 ? 1 : before) * im + sums->im * re;
        break;
    case TERM_MOMENTS:
        sums->re += re;
        sums->im += re * re;
        break;
    case TERM_EXPONENTIAL:
        sums->re += expl(re);
        break;
    }
}

/* ---- what is expected -------------------------------------------------------------------------------------------------- */

typedef struct expectation {
    long double re, im, most; /* most: how far each part may be off; below 0: nothing can be said */
} expectation;

static long double gamma_of(long double k, long double u) {
    return k * u < 1 ? k * u / (1 - k * u) : -1;
}

static expectation expect(tally_op op, tally_dtype in, const study_sums *s, uint64_t depth) {
    const long double u = is_wide(in) ? DBL_EPSILON / 2 : FLT_EPSILON / 2, n = (long double)s->n;
    const long double gamma = gamma_of((long double)depth, u);
    const bool exact = is_exact(in, s->magnitude);
    expectation e = {s->re, s->im, exact ? 0 : gamma * s->magnitude};
    switch ((int)op) {
    case TALLY_PROD:
        e.most = 0;
        break;
    case TALLY_MEAN: /* n and the quotient are rounded */
        e.re /= n;
        e.im /= n;
        if (e.most >= 0) e.most = e.most / n + 4 * u * fmaxl(fabsl(e.re), fabsl(e.im));
        break;
    case TALLY_NRM2: /* the root halves the error, and is rounded */
        e.re = sqrtl(e.re);
        if (e.most >= 0) e.most = (exact ? 0 : gamma * e.re) + 4 * u * e.re;
        break;
    case TALLY_VAR:
    case TALLY_STD: /* some eight roundings a merge; the mean is near 0, so that none is amplified */
        e.re = (s->im - s->re * s->re / n) / n;
        e.im = 0;
        e.most = gamma_of(8 * (long double)depth + 16, u) * e.re;
        if (op == TALLY_STD && e.most > 0) e.most /= sqrtl(e.re);
        if (op == TALLY_STD) e.re = sqrtl(e.re);
        break;
    case TALLY_LOGSUMEXP: /* OpenCL allows exp and log 3 ulps; each of the five exponents is left at most once */
        e.re = logl(e.re);
        e.most = gamma_of(2 * (long double)depth + 64, u);
        if (e.most >= 0) e.most *= fmaxl(1, fabsl(e.re));
        break;
    }
    return e;
}

bool study_sums_check(tally_op op, tally_dtype in, const study_sums *sums, uint64_t depth, const void *result, char *text,
                      size_t bytes) {
    const tally_dtype out = tally_result_dtype(op, in), part = cli_part_dtype(out);
    const expectation e = expect(op, in, sums, depth);
    const long double re = cli_part_number(part, result);
    const long double im = is_complex(out) ? cli_part_number(part, (const char *)result + tally_dtype_bytes(part)) : 0;
    /* Not so for a NaN. */
    if (fabsl(re - e.re) <= e.most && (!is_complex(out) || fabsl(im - e.im) <= e.most)) return true;
    if (e.most < 0)
        snprintf(text, bytes, "cannot be checked: there is no bound on the error of %llu combinations in a row",
                 (unsigned long long)depth);
    else if (is_complex(out))
        snprintf(text, bytes, "got %.17Lg%+.17Lgj, expected %.17Lg%+.17Lgj, within %.3Lg", re, im, e.re, e.im, e.most);
    else
        snprintf(text, bytes, "got %.17Lg, expected %.17Lg, within %.3Lg", re, e.re, e.most);
    return false;
}
