/* SPDX-License-Identifier: MIT */
#include "bound.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* A sum as two doubles: error-free additions (Knuth's two-sum), so that it is exact to about 2^-104 of the sum of magnitudes. */
typedef struct twofold {
    double high, low;
} twofold;

static twofold add(twofold a, double x) {
    const double sum = a.high + x, back = sum - a.high;
    const double error = (a.high - (sum - back)) + (x - back) + a.low;
    const double high = sum + error;
    return (twofold){high, error - (high - sum)};
}

/* What the items are; their sum and that of their magnitudes. */
typedef struct survey {
    int nan, plus_infinite, minus_infinite, only_minus_zero;
    twofold sum, magnitude;
} survey;

static survey survey_of(tally_dtype in, const void *items, uint64_t n) {
    survey s = {.only_minus_zero = 1};
    for (uint64_t i = 0; i < n; i++) {
        const double x = in == TALLY_F32 ? (double)((const float *)items)[i] : ((const double *)items)[i];
        s.only_minus_zero &= x == 0 && signbit(x);
        s.nan |= isnan(x);
        s.plus_infinite |= x == INFINITY;
        s.minus_infinite |= x == -INFINITY;
        if (!isfinite(x)) continue;
        s.sum = add(s.sum, x);
        s.magnitude = add(s.magnitude, fabs(x));
    }
    return s;
}

static bound_verdict verdict(int kept) {
    return kept ? BOUND_KEPT : BOUND_BROKEN;
}

bound_verdict bound_check(tally_dtype in, const void *items, uint64_t n, uint64_t depth, int may_flush,
                          const oracle_result *result) {
    const survey s = survey_of(in, items, n);
    const double got = in == TALLY_F32 ? (double)result->f32 : result->f64;
    const double unit = in == TALLY_F32 ? FLT_EPSILON / 2 : DBL_EPSILON / 2, largest = in == TALLY_F32 ? FLT_MAX : DBL_MAX;
    const uint64_t bits = in == TALLY_F32 ? result->u32 : result->u64;
    const uint64_t canonical_nan = in == TALLY_F32 ? UINT64_C(0x7fc00000) : UINT64_C(0x7ff8000000000000);
    if (isnan(got) && bits != canonical_nan) return BOUND_BROKEN;
    if (s.nan || (s.plus_infinite && s.minus_infinite)) return verdict(isnan(got));
    if (!(s.magnitude.high <= largest)) return BOUND_FREE;
    if (s.plus_infinite || s.minus_infinite) return verdict(got == (s.plus_infinite ? INFINITY : -INFINITY));
    if (n == 0) return verdict(bits == 0);
    if (s.magnitude.high == 0) return verdict(got == 0 && !signbit(got) == !s.only_minus_zero);
    const double k_u = (double)depth * unit;
    if (k_u >= 1) return BOUND_FREE;
    const double flushed = may_flush ? (double)n * (in == TALLY_F32 ? (double)FLT_MIN : DBL_MIN) : 0;
    /* The last factor is for the roundings of this comparison itself. */
    return verdict(fabs((s.sum.high - got) + s.sum.low) <= (k_u / (1 - k_u) * s.magnitude.high + flushed) * (1 + 0x1p-40));
}
