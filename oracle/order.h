/* SPDX-License-Identifier: MIT */
/*
 * order.h: the canonical order for accumulators of one to four numbers. There is no header guard:
 * oracle.c includes it once with REAL float and once with REAL double. OWN(name) gives the names'
 * prefix, and MATH(name) the function of <math.h>. Field f of accumulator l is at [f][l], so that
 * the compiler can vectorise over accumulators.
 */

/* Converts items to numbers of this type. `im` is written for complex items alone. */
static void OWN(read)(tally_dtype in, const void *items, uint32_t count, REAL *restrict re, REAL *restrict im) {
#define READ(type, number)                                                                                                     \
    for (uint32_t i = 0; i < count; i++) {                                                                                     \
        const type x = ((const type *)items)[i];                                                                               \
        re[i] = (REAL)(number);                                                                                                \
    }                                                                                                                          \
    break
#define READ_COMPLEX(type)                                                                                                     \
    for (uint32_t i = 0; i < count; i++) {                                                                                     \
        re[i] = (REAL)((const type *)items)[2 * i];                                                                            \
        im[i] = (REAL)((const type *)items)[2 * i + 1];                                                                        \
    }                                                                                                                          \
    break
    switch (in) {
    case TALLY_F16:
        READ(uint16_t, float_of_f16(x));
    case TALLY_BF16:
        READ(uint16_t, float_of_bf16(x));
    case TALLY_F32:
        READ(float, x);
    case TALLY_F64:
        READ(double, x);
    case TALLY_I8:
        READ(int8_t, x);
    case TALLY_I16:
        READ(int16_t, x);
    case TALLY_I32:
        READ(int32_t, x);
    case TALLY_I64:
        READ(int64_t, x);
    case TALLY_U8:
        READ(uint8_t, x);
    case TALLY_U16:
        READ(uint16_t, x);
    case TALLY_U32:
        READ(uint32_t, x);
    case TALLY_U64:
        READ(uint64_t, x);
    case TALLY_BOOL:
        READ(uint8_t, x != 0);
    case TALLY_C64:
        READ_COMPLEX(float);
    case TALLY_C128:
        READ_COMPLEX(double);
    case TALLY_DTYPE_DEFAULT:
    case TALLY_DTYPE_END:
        break;
    }
#undef READ
#undef READ_COMPLEX
}

/* The three sums of nrm2: f is 0 for small numbers, 1 for ordinary ones, 2 for big ones. */
static REAL OWN(scaled_square)(REAL x, int f) {
    const REAL magnitude = MATH(fabs)(x);
    const int is_small = magnitude<SMALL_BELOW, is_big = magnitude> BIG_ABOVE;
    if (f == 0) return is_small ? (x * SMALL_TIMES) * (x * SMALL_TIMES) : 0;
    if (f == 2) return is_big ? (x * BIG_TIMES) * (x * BIG_TIMES) : 0;
    return is_small || is_big ? 0 : x * x; /* a NaN is neither */
}

static void OWN(load_square)(const REAL *xr, const REAL *xi, const REAL *yr, const REAL *yi, uint32_t count, int is_conjugate,
                             REAL *restrict re, REAL *restrict im) {
    for (uint32_t i = 0; i < count; i++) {
        const REAL rr = xr[i] * yr[i], ii = xi[i] * yi[i], ri = xr[i] * yi[i], ir = xi[i] * yr[i];
        re[i] = is_conjugate ? rr + ii : rr - ii;
        im[i] = is_conjugate ? ri - ir : ri + ir;
    }
}

/* Products and the error of their rounding, which is 0 beside an infinity. */
static void OWN(load_twofold)(const REAL *x, const REAL *y, uint32_t count, REAL *restrict high, REAL *restrict low) {
    for (uint32_t i = 0; i < count; i++) {
        const REAL product = x[i] * y[i];
        high[i] = product;
        low[i] = isfinite(product) ? MATH(fma)(x[i], y[i], -product) : 0;
    }
}

static void OWN(fill)(REAL *restrict to, uint32_t count, REAL value) {
    for (uint32_t i = 0; i < count; i++) to[i] = value;
}

/* The two parts of complex items are two fields, or become one. */
static void OWN(load_complex)(const oracle_case *what, const void *const inputs[], uint32_t count,
                              REAL (*restrict field)[TALLY_CHUNK_ITEMS]) {
    REAL x[2][TALLY_CHUNK_ITEMS], y[2][TALLY_CHUNK_ITEMS];
    OWN(read)(what->in, inputs[0], count, x[0], x[1]);
    switch (what->op) {
    case TALLY_ASUM:
        for (uint32_t i = 0; i < count; i++) field[0][i] = MATH(fabs)(x[0][i]) + MATH(fabs)(x[1][i]);
        break;
    case TALLY_SUMSQ:
        for (uint32_t i = 0; i < count; i++) field[0][i] = x[0][i] * x[0][i] + x[1][i] * x[1][i];
        break;
    case TALLY_NRM2:
        for (int f = 0; f < 3; f++)
            for (uint32_t i = 0; i < count; i++) field[f][i] = OWN(scaled_square)(x[0][i], f) + OWN(scaled_square)(x[1][i], f);
        break;
    case TALLY_DOT:
    case TALLY_DOTC:
        OWN(read)(what->in, inputs[1], count, y[0], y[1]);
        OWN(load_square)(x[0], x[1], y[0], y[1], count, what->op == TALLY_DOTC, field[0], field[1]);
        break;
    default:
        memcpy(field[0], x[0], count * sizeof(REAL));
        memcpy(field[1], x[1], count * sizeof(REAL));
        OWN(fill)(field[2], count, 1); /* of a product: the number of its factors */
        break;
    }
}

/* ---- powers of e and logarithms, by the formulas of docs/numerics.md ------------------------- */

/* c[0] + c[1] x + c[2] x^2 + ..., where each step is a fused multiply-add. */
static REAL OWN(polynomial)(const REAL *c, int last, REAL x) {
    REAL value = c[last];
    for (int i = last - 1; i >= 0; i--) value = MATH(fma)(value, x, c[i]);
    return value;
}

/* n(x): the exponent of 2 in e^x, an integer. */
static REAL OWN(doublings)(REAL x) {
    const REAL n = MATH(fma)(MATH(fabs)(x), LOG2_OF_E, ROUNDER) - ROUNDER;
    return signbit(x) ? -n : n;
}

/* s(x): e^x / 2^n(x). An infinity has a rest that is NaN. */
static REAL OWN(undoubled)(REAL x) {
    const REAL n = OWN(doublings)(x);
    const REAL upper = MATH(fma)(n, -LOG_OF_2, x), rest = MATH(fma)(n, -LOG_OF_2_REST, upper);
    const int is_usual = rest >= -1 && rest <= 1;
    return OWN(polynomial)(OWN(exp_terms), EXP_LAST, is_usual ? rest : 0);
}

/* Takes powers of 2 out of a positive number, until it is from the root of a half to twice that.
 * Returns its logarithm then. */
static REAL OWN(small_logarithm)(REAL x, int *doublings) {
    REAL part = MATH(frexp)(x, doublings);
    if (part < ROOT_OF_HALF) {
        part *= 2;
        (*doublings)--;
    }
    const REAL z = part - 1;
    return MATH(fma)(z * z, OWN(polynomial)(OWN(log_terms), LOG_LAST, z), z);
}

static REAL OWN(logarithm_of_sum)(REAL top, REAL sum) {
    int of_sum, of_top;
    const REAL l = OWN(small_logarithm)(sum, &of_sum), l_top = OWN(small_logarithm)(OWN(undoubled)(top), &of_top);
    const REAL n = (REAL)(of_sum - of_top), p = n * LOG_OF_2, near = top + p;
    const REAL rest = MATH(fma)(n, LOG_OF_2_REST, MATH(fma)(n, LOG_OF_2, -p) + (l - l_top));
    const REAL p_taken = near - top, top_taken = near - p_taken;
    const REAL lost = (top - top_taken) + (p - p_taken);
    return isfinite(near) ? near + (lost + rest) : near;
}

static void OWN(load)(const oracle_case *what, const void *const inputs[], uint32_t count,
                      REAL (*restrict field)[TALLY_CHUNK_ITEMS]) {
    const int is_twofold = what->accuracy == TALLY_ACCURACY_COMPENSATED;
    if (item_kind_of(what->in) == ITEM_COMPLEX) {
        OWN(load_complex)(what, inputs, count, field);
        return;
    }
    REAL x[TALLY_CHUNK_ITEMS], y[TALLY_CHUNK_ITEMS];
    OWN(read)(what->in, inputs[0], count, x, NULL);
    switch (what->op) {
    case TALLY_ASUM:
        for (uint32_t i = 0; i < count; i++) field[0][i] = MATH(fabs)(x[i]);
        OWN(fill)(field[1], count, (REAL)-0.0);
        break;
    case TALLY_SUMSQ:
    case TALLY_DOT:
    case TALLY_DOTC:
        if (what->op == TALLY_SUMSQ)
            memcpy(y, x, count * sizeof(REAL));
        else
            OWN(read)(what->in, inputs[1], count, y, NULL);
        if (is_twofold)
            OWN(load_twofold)(x, y, count, field[0], field[1]);
        else
            for (uint32_t i = 0; i < count; i++) field[0][i] = x[i] * y[i];
        break;
    case TALLY_DIST2:
        OWN(read)(what->in, inputs[1], count, y, NULL);
        for (uint32_t i = 0; i < count; i++) {
            const REAL difference = x[i] - y[i];
            field[0][i] = difference * difference;
        }
        break;
    case TALLY_NRM2:
        for (int f = 0; f < 3; f++)
            for (uint32_t i = 0; i < count; i++) field[f][i] = OWN(scaled_square)(x[i], f);
        break;
    case TALLY_VAR:
    case TALLY_STD:
        OWN(fill)(field[0], count, 1);
        memcpy(field[1], x, count * sizeof(REAL));
        OWN(fill)(field[2], count, 0);
        OWN(fill)(field[3], count, 0);
        break;
    case TALLY_LOGSUMEXP:
        memcpy(field[0], x, count * sizeof(REAL));
        for (uint32_t i = 0; i < count; i++) field[1][i] = OWN(undoubled)(x[i]);
        break;
    default: /* sum, prod, mean */
        memcpy(field[0], x, count * sizeof(REAL));
        OWN(fill)(field[1], count, (REAL)-0.0);
        break;
    }
}

/* ---- combination: accumulators a become a with b on the right -------------------------------- */

static void OWN(add)(REAL *restrict a, const REAL *restrict b, uint32_t width) {
    for (uint32_t l = 0; l < width; l++) a[l] = a[l] + b[l];
}

static void OWN(multiply)(REAL *restrict a, const REAL *restrict b, uint32_t width) {
    for (uint32_t l = 0; l < width; l++) a[l] = a[l] * b[l];
}

static void OWN(multiply_complex)(REAL *restrict a, size_t a_next, const REAL *restrict b, size_t b_next, uint32_t width) {
    REAL *a_im = a + a_next, *a_count = a + 2 * a_next;
    const REAL *b_im = b + b_next, *b_count = b + 2 * b_next;
    for (uint32_t l = 0; l < width; l++) {
        if (b_count[l] == 0) continue;
        const int is_first = a_count[l] == 0;
        const REAL re = a[l] * b[l] - a_im[l] * b_im[l], im = a[l] * b_im[l] + a_im[l] * b[l];
        a[l] = is_first ? b[l] : re;
        a_im[l] = is_first ? b_im[l] : im;
        a_count[l] = 1;
    }
}

/*
 * Fields: the number of items, a place near their mean, the part of the mean that the place lacks,
 * and the sum of squared deviations from the mean.
 */
static void OWN(merge_moments)(REAL *restrict a, size_t a_next, const REAL *restrict b, size_t b_next, uint32_t width) {
    REAL *a_place = a + a_next, *a_low = a + 2 * a_next, *a_spread = a + 3 * a_next;
    const REAL *b_place = b + b_next, *b_low = b + 2 * b_next, *b_spread = b + 3 * b_next;
    for (uint32_t l = 0; l < width; l++) {
        const REAL n = a[l] + b[l], t = b[l] / n, d = (b_place[l] - a_place[l]) + (b_low[l] - a_low[l]);
        const REAL step = a_low[l] + d * t, place = a_place[l] + step, taken = place - a_place[l], left = place - taken;
        const REAL low = (a_place[l] - left) + (step - taken);
        const REAL spread = (a_spread[l] + b_spread[l]) + (d * d) * (a[l] * t);
        const int no_a = a[l] == 0, no_b = b[l] == 0;
        a_place[l] = no_b ? a_place[l] : no_a ? b_place[l] : place;
        a_low[l] = no_b ? a_low[l] : no_a ? b_low[l] : low;
        a_spread[l] = no_b ? a_spread[l] : no_a ? b_spread[l] : spread;
        a[l] = n;
    }
}

static void OWN(merge_exponentials)(REAL *restrict a, size_t a_next, const REAL *restrict b, size_t b_next, uint32_t width) {
    REAL *a_sum = a + a_next;
    const REAL *b_sum = b + b_next;
    for (uint32_t l = 0; l < width; l++) {
        const int keeps = a[l] > b[l] || a[l] != a[l];
        const REAL top = keeps ? a[l] : b[l], other = keeps ? b[l] : a[l];
        const REAL top_sum = keeps ? a_sum[l] : b_sum[l], other_sum = keeps ? b_sum[l] : a_sum[l];
        const REAL apart = MATH(fabs)(OWN(doublings)(top) - OWN(doublings)(other));
        const int halvings = apart < MOST_HALVINGS ? (int)apart : MOST_HALVINGS; /* of a NaN too */
        a_sum[l] = MATH(fma)(other_sum, MATH(ldexp)(1, -halvings), top_sum);
        a[l] = top;
    }
}

/* The error of adding the high parts is added to the low parts. Then the sum of the two is split
 * anew. */
static void OWN(add_twofold)(REAL *restrict a, size_t a_next, const REAL *restrict b, size_t b_next, uint32_t width) {
    REAL *a_low = a + a_next;
    const REAL *b_low = b + b_next;
    for (uint32_t l = 0; l < width; l++) {
        const REAL sum = a[l] + b[l], b_taken = sum - a[l], a_taken = sum - b_taken;
        const REAL lost = (a[l] - a_taken) + (b[l] - b_taken), rest = lost + (a_low[l] + b_low[l]);
        const REAL error = isfinite(sum) ? rest : 0, high = sum + error;
        a_low[l] = isfinite(high) ? error - (high - sum) : 0;
        a[l] = high;
    }
}

static void OWN(combine)(const oracle_case *what, REAL *restrict a, size_t a_next, const REAL *restrict b, size_t b_next,
                         uint32_t width) {
    switch (oracle_shape_of(what)) {
    case ORACLE_ADDED:
        for (uint32_t f = 0; f < fields_of(what); f++) OWN(add)(a + f * a_next, b + f * b_next, width);
        break;
    case ORACLE_PRODUCT:
        OWN(multiply)(a, b, width);
        break;
    case ORACLE_COMPLEX_PRODUCT:
        OWN(multiply_complex)(a, a_next, b, b_next, width);
        break;
    case ORACLE_MOMENTS:
        OWN(merge_moments)(a, a_next, b, b_next, width);
        break;
    case ORACLE_EXPONENTIALS:
        OWN(merge_exponentials)(a, a_next, b, b_next, width);
        break;
    case ORACLE_TWOFOLD:
        OWN(add_twofold)(a, a_next, b, b_next, width);
        break;
    }
}

/* The identities. -0.0 adds nothing to any float, +0.0 nothing to a square. */
static void OWN(identity)(const oracle_case *what, REAL identity[ORACLE_FIELDS]) {
    const REAL sum = what->op == TALLY_NRM2 ? 0 : (REAL)-0.0;
    for (int f = 0; f < ORACLE_FIELDS; f++) identity[f] = 0;
    switch (oracle_shape_of(what)) {
    case ORACLE_ADDED:
    case ORACLE_TWOFOLD:
        for (int f = 0; f < ORACLE_FIELDS; f++) identity[f] = sum;
        break;
    case ORACLE_PRODUCT:
    case ORACLE_COMPLEX_PRODUCT:
        identity[0] = 1;
        break;
    case ORACLE_EXPONENTIALS:
        identity[0] = (REAL)-INFINITY;
        break;
    case ORACLE_MOMENTS:
        break;
    }
}

#include "pivots.h"

/* ---- the order ------------------------------------------------------------------------------- */

/* Combines the items of one row of a chunk with their lanes. valid: NULL, or 0 for each item that
 * does not count. */
static void OWN(step)(const oracle_case *what, REAL lane[ORACLE_FIELDS][TALLY_LANES],
                      REAL field[ORACLE_FIELDS][TALLY_CHUNK_ITEMS], const uint8_t *valid, uint32_t at, uint32_t width) {
    if (!valid) OWN(combine)(what, lane[0], TALLY_LANES, field[0] + at, TALLY_CHUNK_ITEMS, width);
    for (uint32_t l = 0; valid && l < width; l++)
        if (valid[at + l]) OWN(combine)(what, lane[0] + l, TALLY_LANES, field[0] + at + l, TALLY_CHUNK_ITEMS, 1);
}

static void OWN(chunk)(const oracle_case *what, const void *const inputs[], const uint8_t *valid, uint32_t count,
                       REAL result[ORACLE_FIELDS]) {
    REAL field[ORACLE_FIELDS][TALLY_CHUNK_ITEMS], lane[ORACLE_FIELDS][TALLY_LANES], identity[ORACLE_FIELDS];
    OWN(load)(what, inputs, count, field);
    if (oracle_shape_of(what) == ORACLE_MOMENTS) {
        OWN(chunk_moments)(field[1], valid, count, result);
        return;
    }
    if (oracle_shape_of(what) == ORACLE_EXPONENTIALS) {
        if (what->in == TALLY_BOOL)
            OWN(chunk_truths)(field[0], valid, count, result);
        else
            OWN(chunk_exponentials)(field[0], valid, count, result);
        return;
    }
    OWN(identity)(what, identity);
    for (int f = 0; f < ORACLE_FIELDS; f++) OWN(fill)(lane[f], TALLY_LANES, identity[f]);
    for (uint32_t at = 0; at < count; at += TALLY_LANES) {
        const uint32_t width = count - at < TALLY_LANES ? count - at : TALLY_LANES;
        OWN(step)(what, lane, field, valid, at, width);
    }
    for (uint32_t half = TALLY_LANES / 2; half > 0; half /= 2)
        OWN(combine)(what, lane[0], TALLY_LANES, lane[0] + half, TALLY_LANES, half);
    for (int f = 0; f < ORACLE_FIELDS; f++) result[f] = lane[f][0];
}

/* *right becomes left combined with *right. */
static void OWN(join)(const oracle_case *what, const REAL left[ORACLE_FIELDS], REAL right[ORACLE_FIELDS]) {
    REAL joined[ORACLE_FIELDS];
    memcpy(joined, left, sizeof joined);
    OWN(combine)(what, joined, 1, right, 1, 1);
    memcpy(right, joined, sizeof joined);
}

/* Puts the subtree of 2^k chunks after `chunks` others. Each one bit of `chunks` from bit k on, up
 * to the first zero bit, is a left subtree that it completes. */
static void OWN(put)(oracle *state, REAL node[ORACLE_FIELDS], uint64_t chunks, unsigned k) {
    for (; chunks >> k & 1; k++) OWN(join)(&state->what, state->level.PREFIX[k], node);
    memcpy(state->level.PREFIX[k], node, ORACLE_FIELDS * sizeof *node);
}

/* Takes up a chunk after `chunks` others. */
static void OWN(take)(oracle *state, const void *const inputs[], const uint8_t *valid, uint32_t count, uint64_t chunks) {
    REAL node[ORACLE_FIELDS];
    OWN(chunk)(&state->what, inputs, valid, count, node);
    OWN(put)(state, node, chunks, 0);
}

/* Combines the waiting subtrees from the right. There is at least one. */
static void OWN(fold)(const oracle *state, uint64_t chunks, REAL result[ORACLE_FIELDS]) {
    unsigned k = 0;
    while (!(chunks >> k & 1)) k++;
    memcpy(result, state->level.PREFIX[k], ORACLE_FIELDS * sizeof *result);
    for (k++; k < 64; k++)
        if (chunks >> k & 1) OWN(join)(&state->what, state->level.PREFIX[k], result);
}

/* ---- the result ------------------------------------------------------------------------------ */

/* The root of the three sums of squares, without their scales. */
static REAL OWN(root)(const REAL a[ORACLE_FIELDS]) {
    const REAL small = a[0], medium = a[1], big = a[2];
    const int has_medium = medium > 0 || medium != medium;
    if (big > 0) return MATH(sqrt)(big + (has_medium ? medium * BIG_TIMES * BIG_TIMES : 0)) / BIG_TIMES;
    if (!(small > 0)) return MATH(sqrt)(medium);
    const REAL p = MATH(sqrt)(medium), q = MATH(sqrt)(small) / SMALL_TIMES;
    if (!has_medium) return q;
    const REAL larger = p > q ? p : q, smaller = p > q ? q : p, ratio = smaller / larger;
    return p != p ? p : larger * MATH(sqrt)(1 + ratio * ratio);
}

/* The result of n items, at least one. */
static void OWN(finish)(const oracle_case *what, const REAL a[ORACLE_FIELDS], uint64_t n, double result[2]) {
    const REAL count = (REAL)n;
    REAL first = a[0], second = a[1];
    if (oracle_shape_of(what) == ORACLE_TWOFOLD) first = a[0] + a[1];
    switch (what->op) {
    case TALLY_MEAN:
        first /= count;
        second /= count;
        break;
    case TALLY_NRM2:
        first = OWN(root)(a);
        break;
    case TALLY_VAR:
    case TALLY_STD: {
        const REAL ddof = (REAL)what->params[0], left = count - ddof;
        first = isfinite(a[1]) ? a[3] / (left <= 0 ? 0 : left) : (REAL)NAN;
        if (what->op == TALLY_STD) first = MATH(sqrt)(first);
        break;
    }
    case TALLY_LOGSUMEXP:
        first = OWN(logarithm_of_sum)(a[0], a[1]);
        break;
    default:
        break;
    }
    result[0] = (double)first;
    result[1] = (double)second;
}

/* ---- comparisons in this type ---------------------------------------------------------------- */

/* Counts the pairs that are not close, as numpy.isclose defines it. */
static uint64_t OWN(far)(const oracle_case *what, const void *const inputs[], uint32_t count) {
    REAL x[TALLY_CHUNK_ITEMS], y[TALLY_CHUNK_ITEMS];
    const REAL relative = (REAL)what->params[0], absolute = (REAL)what->params[1];
    uint64_t far = 0;
    OWN(read)(what->in, inputs[0], count, x, NULL);
    OWN(read)(what->in, inputs[1], count, y, NULL);
    for (uint32_t i = 0; i < count; i++) {
        const int is_near = isfinite(y[i]) && MATH(fabs)(x[i] - y[i]) <= absolute + relative * MATH(fabs)(y[i]);
        far += !(is_near || x[i] == y[i]);
    }
    return far;
}
