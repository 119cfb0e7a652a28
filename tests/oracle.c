/* SPDX-License-Identifier: MIT */
#include "oracle.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* Sums must round to the item's type at every step. */
_Static_assert(FLT_EVAL_METHOD == 0, "the host evaluates floats in a wider type: no oracle on this machine");
#ifdef __FAST_MATH__
#error "the oracle must not be compiled with -ffast-math"
#endif
_Static_assert(TALLY_OP_END == TALLY_MAX + 1 && TALLY_DTYPE_END == TALLY_U64 + 1, "a new row needs its reference here");

/* ---- exact ops ------------------------------------------------------------------------------------------------------ */

/*
 * Signed 64-bit numbers that sort as the floats do, -0 below +0: for negative floats the magnitude's bits are inverted. A NaN takes
 * the end that wins.
 */
static int64_t key_f32(float x, int64_t nan_key) {
    int32_t bits;
    memcpy(&bits, &x, sizeof bits);
    const int32_t key = bits < 0 ? bits ^ INT32_MAX : bits;
    return x != x ? nan_key : key;
}

static int64_t key_f64(double x, int64_t nan_key) {
    int64_t bits;
    memcpy(&bits, &x, sizeof bits);
    const int64_t key = bits < 0 ? bits ^ INT64_MAX : bits;
    return x != x ? nan_key : key;
}

static void float_of_key(tally_dtype in, int64_t key, int64_t nan_key, void *result) {
    if (in == TALLY_F32) {
        const int32_t bits = key == nan_key ? INT32_C(0x7fc00000) : key < 0 ? (int32_t)key ^ INT32_MAX : (int32_t)key;
        memcpy(result, &bits, sizeof bits);
    } else {
        const int64_t bits = key == nan_key ? INT64_C(0x7ff8000000000000) : key < 0 ? key ^ INT64_MAX : key;
        memcpy(result, &bits, sizeof bits);
    }
}

/* u64 sorts as a signed number when its top bit is flipped. */
#define TOP_BIT (UINT64_C(1) << 63)
#define KEY_F32(x) key_f32(x, nan_key)
#define KEY_F64(x) key_f64(x, nan_key)
#define KEY_SIGNED(x) ((int64_t)(x))
#define KEY_U64(x) ((int64_t)((x) ^ TOP_BIT))

#define EXTREME(item, KEY)                                                                                                     \
    for (uint64_t i = 0; i < n; i++) {                                                                                         \
        const int64_t key = KEY(((const item *)items)[i]);                                                                     \
        best = (key < best) == least ? key : best;                                                                             \
    }                                                                                                                          \
    break

/* The smallest (least = 1) or largest key; equal keys are equal bits, so it does not matter which one stays. */
static int64_t extreme(tally_dtype in, const void *items, uint64_t n, int least, int64_t best) {
    const int64_t nan_key = least ? INT64_MIN : INT64_MAX;
    switch (in) {
    case TALLY_F32:
        EXTREME(float, KEY_F32);
    case TALLY_F64:
        EXTREME(double, KEY_F64);
    case TALLY_I32:
        EXTREME(int32_t, KEY_SIGNED);
    case TALLY_U32:
        EXTREME(uint32_t, KEY_SIGNED);
    case TALLY_I64:
        EXTREME(int64_t, KEY_SIGNED);
    case TALLY_U64:
        EXTREME(uint64_t, KEY_U64);
    case TALLY_DTYPE_DEFAULT:
    case TALLY_DTYPE_END:
        break;
    }
    return best;
}

/* The result for no items: the end that every item improves on; for floats the infinity. */
static int64_t extreme_of_none(tally_dtype in, int least) {
    switch (in) {
    case TALLY_F32:
        return key_f32(least ? INFINITY : -INFINITY, 0);
    case TALLY_F64:
        return key_f64(least ? INFINITY : -INFINITY, 0);
    case TALLY_I32:
        return least ? INT32_MAX : INT32_MIN;
    case TALLY_U32:
        return least ? UINT32_MAX : 0;
    case TALLY_I64:
    case TALLY_U64:
        return least ? INT64_MAX : INT64_MIN;
    case TALLY_DTYPE_DEFAULT:
    case TALLY_DTYPE_END:
        break;
    }
    return 0;
}

static uint64_t integer_sum(tally_dtype in, const void *items, uint64_t n) {
    uint64_t sum = 0;
    if (in == TALLY_I32)
        for (uint64_t i = 0; i < n; i++) sum += (uint64_t)(int64_t)((const int32_t *)items)[i];
    else if (in == TALLY_U32)
        for (uint64_t i = 0; i < n; i++) sum += ((const uint32_t *)items)[i];
    else
        for (uint64_t i = 0; i < n; i++) sum += ((const uint64_t *)items)[i];
    return sum;
}

/* ---- float sums ----------------------------------------------------------------------------------------------------- */

/* sum_T: the canonical order for type T. A lane that has no items is -0.0, which adds nothing to any float. */
#define FLOAT_SUM(T, real)                                                                                                       \
    static real T##_chunk(const real *x, uint32_t count) {                                                                       \
        real lane[TALLY_LANES];                                                                                                  \
        const uint32_t rows = count / TALLY_LANES;                                                                               \
        for (uint32_t l = 0; l < TALLY_LANES; l++) lane[l] = (real)-0.0;                                                         \
        for (uint32_t r = 0; r < rows; r++)                                                                                      \
            for (uint32_t l = 0; l < TALLY_LANES; l++) lane[l] += x[r * TALLY_LANES + l];                                        \
        for (uint32_t l = 0; l < count % TALLY_LANES; l++) lane[l] += x[rows * TALLY_LANES + l];                                 \
        for (uint32_t half = TALLY_LANES / 2; half > 0; half /= 2)                                                               \
            for (uint32_t l = 0; l < half; l++) lane[l] += lane[l + half];                                                       \
        return lane[0];                                                                                                          \
    }                                                                                                                            \
                                                                                                                                 \
    /* Adds a chunk's sum; `chunks` are there already. Each trailing one of their number is a left subtree that it completes. */ \
    static void T##_add(real *level, uint64_t chunks, real sum) {                                                                \
        unsigned k = 0;                                                                                                          \
        for (; chunks >> k & 1; k++) sum = level[k] + sum;                                                                       \
        level[k] = sum;                                                                                                          \
    }                                                                                                                            \
                                                                                                                                 \
    static void T##_push(oracle *state, const real *items, uint64_t n) {                                                         \
        while (n > 0) {                                                                                                          \
            const uint32_t held = (uint32_t)(state->n % TALLY_CHUNK_ITEMS);                                                      \
            const uint64_t room = TALLY_CHUNK_ITEMS - held, count = n < room ? n : room;                                         \
            const real *chunk = items;                                                                                           \
            if (count < TALLY_CHUNK_ITEMS) {                                                                                     \
                memcpy(state->chunk.T + held, items, count * sizeof(real));                                                      \
                chunk = state->chunk.T;                                                                                          \
            }                                                                                                                    \
            if (count == room) T##_add(state->level.T, state->n / TALLY_CHUNK_ITEMS, T##_chunk(chunk, TALLY_CHUNK_ITEMS));       \
            state->n += count, items += count, n -= count;                                                                       \
        }                                                                                                                        \
    }                                                                                                                            \
                                                                                                                                 \
    static void T##_end(oracle *state, real *result) {                                                                           \
        uint64_t chunks = state->n / TALLY_CHUNK_ITEMS;                                                                          \
        const uint32_t held = (uint32_t)(state->n % TALLY_CHUNK_ITEMS);                                                          \
        if (held > 0) T##_add(state->level.T, chunks++, T##_chunk(state->chunk.T, held));                                        \
        real sum = state->n ? (real)-0.0 : (real)0.0;                                                                            \
        for (unsigned k = 0; k < 64 && chunks >> k; k++)                                                                         \
            if (chunks >> k & 1) sum = state->level.T[k] + sum;                                                                  \
        *result = sum;                                                                                                           \
    }

FLOAT_SUM(f32, float)
FLOAT_SUM(f64, double)

static void float_sum_end(oracle *state, void *result) {
    if (state->in == TALLY_F32) {
        float sum;
        f32_end(state, &sum);
        const uint32_t nan = UINT32_C(0x7fc00000);
        memcpy(result, sum == sum ? (const void *)&sum : (const void *)&nan, sizeof sum);
    } else {
        double sum;
        f64_end(state, &sum);
        const uint64_t nan = UINT64_C(0x7ff8000000000000);
        memcpy(result, sum == sum ? (const void *)&sum : (const void *)&nan, sizeof sum);
    }
}

/* ---- the interface -------------------------------------------------------------------------------------------------- */

static int is_float(tally_dtype in) {
    return in == TALLY_F32 || in == TALLY_F64;
}

void oracle_begin(oracle *state, tally_op op, tally_dtype in) {
    state->op = op;
    state->in = in;
    state->n = 0;
    state->integer = op == TALLY_SUM ? 0 : (uint64_t)extreme_of_none(in, op == TALLY_MIN);
}

void oracle_push(oracle *state, const void *items, uint64_t n) {
    if (n == 0) return;
    if (state->op != TALLY_SUM) {
        state->integer = (uint64_t)extreme(state->in, items, n, state->op == TALLY_MIN, (int64_t)state->integer);
        state->n += n;
    } else if (!is_float(state->in)) {
        state->integer += integer_sum(state->in, items, n);
        state->n += n;
    } else if (state->in == TALLY_F32) {
        f32_push(state, items, n);
    } else {
        f64_push(state, items, n);
    }
}

void oracle_end(oracle *state, void *result) {
    if (state->op == TALLY_SUM && is_float(state->in)) {
        float_sum_end(state, result);
    } else if (state->op == TALLY_SUM) {
        memcpy(result, &state->integer, sizeof state->integer);
    } else if (is_float(state->in)) {
        float_of_key(state->in, (int64_t)state->integer, state->op == TALLY_MIN ? INT64_MIN : INT64_MAX, result);
    } else if (state->in == TALLY_I32 || state->in == TALLY_U32) {
        const uint32_t value = (uint32_t)state->integer;
        memcpy(result, &value, sizeof value);
    } else {
        const uint64_t value = state->in == TALLY_U64 ? state->integer ^ TOP_BIT : state->integer;
        memcpy(result, &value, sizeof value);
    }
}

void oracle_reduce(tally_op op, tally_dtype in, const void *items, uint64_t n, void *result) {
    oracle state;
    oracle_begin(&state, op, in);
    oracle_push(&state, items, n);
    oracle_end(&state, result);
}
