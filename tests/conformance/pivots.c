/* SPDX-License-Identifier: MIT */
/* Ops that have a pivot or a guess, by both canonical variants. Items that are far above the
 * first ones of their chunk make logsumexp's pivot no good, so that the chunk is taken again. A
 * NaN and zeros of both signs do so to the guess of minima and maxima, a number whose square
 * would not do as it is to that of norms, and items that are close but not equal to that of
 * closeness. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "direct.h"
#include "oracle/oracle.h"

#define ROOM (3 * TALLY_CHUNK_ITEMS + 77)

/* Kinds of items: what comes after a chunk's first row is far above it, or special. Zeros are of
 * both signs, or of one sign but for one item of each chunk. About half the items of NEAR_MODERATE
 * are moderate: below 2^16 in magnitude. */
enum {
    RISING,
    FALLING,
    LATE,
    AFTER_NONE,
    NONE,
    LATE_NAN,
    LATE_INFINITY,
    ONE_LANE,
    ZEROS,
    ONE_MINUS,
    ONE_PLUS,
    ONE_TINY,
    ONE_HUGE,
    NEAR_MODERATE,
    KINDS
};

static double item_of(int kind, uint64_t i, double step) {
    const uint64_t at = i % TALLY_CHUNK_ITEMS, row = at / TALLY_LANES;
    const double noise = (double)(i * 7919 % 1013) / 64;
    switch (kind) {
    case RISING:
        return noise + step * (double)row;
    case FALLING:
        return noise - step * (double)i / TALLY_LANES;
    case LATE:
        return at == TALLY_CHUNK_ITEMS - 1 ? 20 * step : noise;
    case AFTER_NONE:
        return row ? noise : (double)-INFINITY;
    case NONE:
        return (double)-INFINITY;
    case LATE_NAN:
        return i == 5000 ? (double)NAN : noise + step * (double)row;
    case LATE_INFINITY:
        return i == 5000 ? (double)INFINITY : noise + step * (double)row;
    case ZEROS:
        return i * 7919 % 1013 % 2 ? 0.0 : -0.0;
    case ONE_MINUS:
        return at == 1234 ? -0.0 : 0.0;
    case ONE_PLUS:
        return at == 1234 ? 0.0 : -0.0;
    case ONE_TINY:
        return i == 5000 ? -ldexp(3, (int)(-2 * step)) : row % 2 ? 0.0 : noise;
    case ONE_HUGE:
        return i == 5000 ? -ldexp(3, (int)(2 * step)) : noise;
    case NEAR_MODERATE:
        return (i % 5 ? 1 : -1) * (65528 + noise);
    default:
        return at % TALLY_LANES == 77 ? noise + step * (double)row : noise;
    }
}

static void store(tally_dtype in, double x, void *items, uint64_t i) {
    if (in == TALLY_F32)
        ((float *)items)[i] = (float)x;
    else if (in == TALLY_F64)
        ((double *)items)[i] = x;
    else
        ((int32_t *)items)[i] = fabs(x) < INT32_MAX ? (int32_t)x : INT32_MIN;
}

static void expect(tally_context *context, tally_op op, tally_dtype in, const char *variant, int kind, uint64_t n) {
    static double items[ROOM];
    const double step = in == TALLY_F32 ? 40 : 400;
    for (uint64_t i = 0; i < n; i++) store(in, item_of(kind, i, step), items, i);
    const void *const inputs[] = {items};
    const oracle_case what = {.op = op, .in = in};
    const tally_reduce_desc desc = {.op = op, .in = in, .variant = variant};
    oracle_result expected = {{0}};
    double got[2] = {-7, -7}; /* no result */
    oracle_reduce_inputs(&what, inputs, n, &expected);
    direct_reduce(context, &desc, NULL, inputs, n, got);
    if (memcmp(got, &expected, oracle_result_bytes(&what)))
        fail_msg("%s of %s by %s, %d items of kind %d: other bits than the oracle's", tally_op_name(op), tally_dtype_name(in),
                 variant ? variant : "auto", (int)n, kind);
}

/* Returns whether the backend has group_tree, whose threads share a chunk. */
static int has_teams(void **state) {
    return tally_kernel_text(((const place *)*state)->backend, "group_tree") != NULL;
}

static void expect_all(void **state, tally_op op) {
    tally_context *context = direct_context(state);
    static const tally_dtype types[] = {TALLY_F32, TALLY_F64, TALLY_I32};
    static const uint64_t lengths[] = {1, 127, 129, TALLY_CHUNK_ITEMS - 1, TALLY_CHUNK_ITEMS, ROOM};
    for (size_t t = 0; t < TALLY_ARRAY_LENGTH(types); t++)
        for (int by_teams = 0; by_teams <= has_teams(state); by_teams++)
            for (int kind = 0; kind < KINDS; kind++)
                for (size_t n = 0; n < TALLY_ARRAY_LENGTH(lengths); n++)
                    if (t == 0 || direct_has_f64(state))
                        expect(context, op, types[t], by_teams ? "group_tree" : NULL, kind, lengths[n]);
}

static void test_moments(void **state) {
    expect_all(state, TALLY_VAR);
}

static void test_far_apart(void **state) {
    expect_all(state, TALLY_LOGSUMEXP);
}

static void test_extremes(void **state) {
    static const tally_op ops[] = {TALLY_MIN, TALLY_MAX, TALLY_NANMIN, TALLY_NANMAX, TALLY_MINMAX, TALLY_AMAX};
    for (size_t i = 0; i < TALLY_ARRAY_LENGTH(ops); i++)
        if (has_turn(*state, i)) expect_all(state, ops[i]);
}

static void test_norms(void **state) {
    expect_all(state, TALLY_NRM2);
}

/* Values of floats in rising order: -infinity, -2, -0, 0, a subnormal number, 2, infinity; then a
 * NaN, and a negative one. */
enum { LOWEST, LOW, NEG_ZERO, ZERO, TINY, HIGH, HIGHEST, NOT_A_NUMBER, NEG_NAN, VALUES };
static const uint64_t value_bits[][1 + VALUES] = {
    {TALLY_F16, 0xfc00, 0xc000, 0x8000, 0, 1, 0x4000, 0x7c00, 0x7e00, 0xfe01},
    {TALLY_BF16, 0xff80, 0xc000, 0x8000, 0, 1, 0x4000, 0x7f80, 0x7fc0, 0xffc1},
    {TALLY_F32, 0xff800000, 0xc0000000, 0x80000000, 0, 1, 0x40000000, 0x7f800000, 0x7fc00000, 0xffc00001},
    {TALLY_F64, 0xfff0000000000000, 0xc000000000000000, 0x8000000000000000, 0, 1, 0x4000000000000000, 0x7ff0000000000000,
     0x7ff8000000000000, 0xfff8000000000001}};

/* All items but some have a value. The others' places are at the bounds of rows and chunks. */
typedef struct odd_items {
    int value, odd, later; /* of all; of one; of the next */
    uint64_t at, next;
} odd_items;

static void test_indices(void **state) {
    static const tally_op ops[] = {TALLY_ARGMAX, TALLY_ARGMIN, TALLY_IAMAX};
    static const odd_items kinds[] = {{ZERO, ZERO, ZERO, 0, 0},
                                      {LOWEST, LOWEST, LOWEST, 0, 0},
                                      {HIGHEST, HIGHEST, HIGHEST, 0, 0},
                                      {NEG_ZERO, ZERO, ZERO, 127, 4096},
                                      {ZERO, NEG_ZERO, NEG_ZERO, 128, 5000},
                                      {LOW, HIGH, HIGH, 4095, 8191},
                                      {HIGH, LOW, LOW, 4096, 4097},
                                      {TINY, HIGHEST, HIGHEST, 8192, 8200},
                                      {HIGH, LOWEST, LOWEST, 0, 4096},
                                      {LOW, NOT_A_NUMBER, HIGHEST, 6000, 7000},
                                      {LOW, NEG_NAN, NOT_A_NUMBER, 4095, 4096},
                                      {HIGH, LOW, NEG_NAN, 5, ROOM - 1}};
    static const uint64_t lengths[] = {1, 200, TALLY_CHUNK_ITEMS, ROOM};
    static uint64_t words[ROOM];
    for (size_t t = 0; t < TALLY_ARRAY_LENGTH(value_bits); t++)
        for (size_t o = 0; o < TALLY_ARRAY_LENGTH(ops); o++) {
            const oracle_case what = {.op = ops[o], .in = (tally_dtype)value_bits[t][0]};
            const tally_reduce_desc desc = {.op = what.op, .in = what.in};
            const uint64_t bytes = tally_dtype_bytes(what.in);
            if (!has_turn(*state, o + t) || (what.in == TALLY_F64 && !direct_has_f64(state))) continue;
            for (size_t k = 0; k < TALLY_ARRAY_LENGTH(kinds); k++)
                for (size_t n = 0; n < TALLY_ARRAY_LENGTH(lengths); n++) {
                    const void *const inputs[] = {words};
                    oracle_result expected = {{0}};
                    uint64_t got = 7;
                    for (uint64_t i = 0; i < ROOM; i++) {
                        const odd_items *kind = &kinds[k];
                        const int value = i == kind->at ? kind->odd : i == kind->next ? kind->later : kind->value;
                        memcpy((char *)words + i * bytes, &value_bits[t][1 + value], bytes);
                    }
                    oracle_reduce_inputs(&what, inputs, lengths[n], &expected);
                    direct_reduce(direct_context(state), &desc, NULL, inputs, lengths[n], &got);
                    if (memcmp(&got, &expected, sizeof got))
                        fail_msg("%s of %s, %d items of kind %d: %llu", tally_op_name(what.op), tally_dtype_name(what.in),
                                 (int)lengths[n], (int)k, (unsigned long long)got);
                }
        }
}

/* Tells whether two items are close, as numpy.isclose. A truth value that is not 0 is 1. */
static int are_close(tally_dtype in, int x, int y, double rtol, double atol) {
    if (in == TALLY_BOOL) x = x != 0, y = y != 0;
    return x == y || abs(x - y) <= atol + rtol * abs(y);
}

/* Narrow integers are equal but at one place, or at many, where they differ by `apart`. The
 * tolerances say whether they are close. Equality alone is the guess, and where no two different
 * bytes are close it is all that devices with instructions for bytes compute. */
static void expect_closeness(tally_context *context, tally_dtype in, const char *variant, int apart, int many, double rtol,
                             double atol) {
    static uint16_t x[ROOM], y[ROOM];
    uint8_t *const narrow_x = (uint8_t *)x, *const narrow_y = (uint8_t *)y;
    int expected = 1;
    for (uint64_t i = 0; i < ROOM; i++) {
        const uint16_t item = (uint16_t)(i * 7919 % 101), other = (uint16_t)(item + (many || i == 5000 ? apart : 0));
        expected &= are_close(in, item, other, rtol, atol);
        if (tally_dtype_bytes(in) == 1)
            narrow_x[i] = (uint8_t)item, narrow_y[i] = (uint8_t)other;
        else
            x[i] = item, y[i] = other;
    }
    const tally_reduce_desc desc = {.op = TALLY_ALLCLOSE, .in = in, .variant = variant};
    const direct_param params[] = {{"rtol", rtol}, {"atol", atol}, {NULL, 0}};
    uint8_t close = 7;
    direct_reduce(context, &desc, params, (const void *const[]){x, y}, ROOM, &close);
    if (close != expected)
        fail_msg("allclose of %s by %s, %d apart at %s, rtol %g, atol %g: %d", tally_dtype_name(in), variant ? variant : "auto",
                 apart, many ? "all places" : "one place", rtol, atol, close);
}

static void test_closeness(void **state) {
    static const tally_dtype types[] = {TALLY_I8, TALLY_U8, TALLY_BOOL, TALLY_I16, TALLY_U16};
    static const double tolerances[][2] = {{0, 0}, {0, 0.5}, {0, 1}, {0, 1.5}, {1e-5, 1e-8}, {0.01, 0.5}, {1, 0}, {-1, 0}};
    if (!direct_has_f64(state)) return;
    for (size_t t = 0; t < TALLY_ARRAY_LENGTH(types); t++)
        for (int by_teams = 0; by_teams <= has_teams(state) && has_turn(*state, t); by_teams++)
            for (int apart = 0; apart < 3; apart++)
                for (int many = 0; many < 2; many++)
                    for (size_t k = 0; k < TALLY_ARRAY_LENGTH(tolerances); k++)
                        expect_closeness(direct_context(state), types[t], by_teams ? "group_tree" : NULL, apart, many,
                                         tolerances[k][0], tolerances[k][1]);
}

/* Ops that share a pass have pivots of their own. */
static void test_together(void **state) {
    tally_context *context = direct_context(state);
    static const tally_term_desc terms[] = {{.op = TALLY_VAR}, {.op = TALLY_LOGSUMEXP}, {.op = TALLY_MAX}};
    static float items[ROOM];
    for (int by_teams = 0; by_teams <= has_teams(state); by_teams++)
        for (int kind = RISING; kind <= LATE; kind++) {
            const char *variant = by_teams ? "group_tree" : NULL;
            for (uint64_t i = 0; i < ROOM; i++) store(TALLY_F32, item_of(kind, i, 40), items, i);
            float got[3], expected;
            const tally_reduce_desc all = {.in = TALLY_F32, .terms = terms, .term_count = 3, .variant = variant};
            direct_reduce(context, &all, NULL, (const void *const[]){items}, ROOM, got);
            for (int t = 0; t < 3; t++) {
                const tally_reduce_desc one = {.op = terms[t].op, .in = TALLY_F32, .variant = variant};
                direct_reduce(context, &one, NULL, (const void *const[]){items}, ROOM, &expected);
                direct_expect_bits(&got[t], &expected, sizeof(float), tally_op_name(terms[t].op), ROOM);
            }
        }
}

const device_test pivot_tests[] = {
    {"pivots: moments", test_moments},
    {"pivots: exponentials far apart", test_far_apart},
    {"pivots: ops in one pass", test_together},
    {"guesses: extremes", test_extremes},
    {"guesses: norms", test_norms},
    {"guesses: closeness", test_closeness},
    {"guesses: indices", test_indices},
    {NULL, NULL},
};
