/* SPDX-License-Identifier: MIT */
#include "oracle.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "items.h"

/* Each operation must round to its operands' type, and no other may take its place. */
_Static_assert(FLT_EVAL_METHOD == 0, "the host evaluates floats in a wider type: no oracle on this machine");
#ifdef __FAST_MATH__
#error "the oracle must not be compiled with -ffast-math"
#endif
_Static_assert(TALLY_DTYPE_END == TALLY_C128 + 1, "a new item type needs its reference here");

/* ---- ops and their ways ---------------------------------------------------------------------- */

static int is_real_float(tally_dtype in) {
    return item_kind_of(in) == ITEM_FLOAT;
}

static int is_float(tally_dtype in) {
    return is_real_float(in) || item_kind_of(in) == ITEM_COMPLEX;
}

uint32_t oracle_inputs(tally_op op) {
    return op == TALLY_DOT || op == TALLY_DOTC || op == TALLY_DIST2 || op == TALLY_ALLCLOSE ? 2 : 1;
}

static int takes_complex(tally_op op) {
    switch (op) {
    case TALLY_SUM:
    case TALLY_PROD:
    case TALLY_ASUM:
    case TALLY_SUMSQ:
    case TALLY_NRM2:
    case TALLY_MEAN:
    case TALLY_DOT:
    case TALLY_DOTC:
        return 1;
    default:
        return 0;
    }
}

static int takes_twofold(tally_op op) {
    return op == TALLY_SUM || op == TALLY_ASUM || op == TALLY_SUMSQ || op == TALLY_MEAN || op == TALLY_DOT;
}

static int is_bitwise(tally_op op) {
    return op == TALLY_BAND || op == TALLY_BOR || op == TALLY_BXOR;
}

int oracle_takes(const oracle_case *what) {
    if (what->op <= TALLY_OP_NONE || what->op >= TALLY_OP_END || !item_bytes_of(what->in)) return 0;
    if (what->accuracy && !(takes_twofold(what->op) && is_real_float(what->in))) return 0;
    if (what->acc && !(is_float(what->in) && what->acc == TALLY_F64)) return 0;
    if (item_kind_of(what->in) == ITEM_COMPLEX) return takes_complex(what->op);
    return !is_bitwise(what->op) || !is_real_float(what->in);
}

/* The kind of reference that an op of these items has. The compiler names a new row: way_of must
 * have it, and so must the code of its way. */
typedef enum way { IN_ORDER, OF_KEYS, OF_TRUTHS, OF_BITS, OF_SUMS, OF_PAIRS } way;

static way way_of(const oracle_case *what) {
    switch (what->op) {
    case TALLY_MIN:
    case TALLY_MAX:
    case TALLY_NANMIN:
    case TALLY_NANMAX:
    case TALLY_ARGMIN:
    case TALLY_ARGMAX:
    case TALLY_MINMAX:
    case TALLY_AMAX:
    case TALLY_IAMAX:
        return OF_KEYS;
    case TALLY_ANY:
    case TALLY_ALL:
    case TALLY_COUNT_NONZERO:
        return OF_TRUTHS;
    case TALLY_BAND:
    case TALLY_BOR:
    case TALLY_BXOR:
        return OF_BITS;
    case TALLY_ALLCLOSE:
        return OF_PAIRS;
    case TALLY_SUM:
    case TALLY_PROD:
    case TALLY_ASUM:
    case TALLY_SUMSQ:
    case TALLY_DOT:
    case TALLY_DOTC:
    case TALLY_DIST2:
        return is_float(what->in) ? IN_ORDER : OF_BITS;
    case TALLY_NRM2:
    case TALLY_MEAN:
    case TALLY_VAR:
    case TALLY_STD: /* in f64 for integers of 64 bits */
        return is_float(what->in) || item_bytes_of(what->in) == 8 ? IN_ORDER : OF_SUMS;
    case TALLY_LOGSUMEXP: /* in f64 for integers */
        return IN_ORDER;
    case TALLY_OP_NONE:
    case TALLY_OP_END:
        break;
    }
    abort();
}

/* Returns f32 or f64: the type for floats, and for integers where they become floats. */
static tally_dtype real_of(const oracle_case *what) {
    const int is_wide = what->in == TALLY_F64 || what->in == TALLY_C128 || !is_float(what->in);
    return is_wide || what->acc == TALLY_F64 ? TALLY_F64 : TALLY_F32;
}

tally_dtype oracle_float(const oracle_case *what) {
    return way_of(what) == IN_ORDER ? real_of(what) : TALLY_DTYPE_DEFAULT;
}

int oracle_is_exact(const oracle_case *what) {
    return way_of(what) != IN_ORDER;
}

oracle_shape oracle_shape_of(const oracle_case *what) {
    const int is_complex = item_kind_of(what->in) == ITEM_COMPLEX;
    if (what->accuracy == TALLY_ACCURACY_COMPENSATED) return ORACLE_TWOFOLD;
    if (what->op == TALLY_PROD) return is_complex ? ORACLE_COMPLEX_PRODUCT : ORACLE_PRODUCT;
    if (what->op == TALLY_VAR || what->op == TALLY_STD) return ORACLE_MOMENTS;
    return what->op == TALLY_LOGSUMEXP ? ORACLE_EXPONENTIALS : ORACLE_ADDED;
}

static int is_complex_result(const oracle_case *what) {
    return item_kind_of(what->in) == ITEM_COMPLEX && what->op != TALLY_ASUM && what->op != TALLY_SUMSQ &&
           what->op != TALLY_NRM2;
}

/* Returns the fields of an accumulator that is added up. */
static uint32_t fields_of(const oracle_case *what) {
    return what->op == TALLY_NRM2 ? 3 : is_complex_result(what) ? 2 : 1;
}

static tally_dtype unsigned_of(tally_dtype in) {
    switch (in) {
    case TALLY_I8:
        return TALLY_U8;
    case TALLY_I16:
        return TALLY_U16;
    case TALLY_I32:
        return TALLY_U32;
    case TALLY_I64:
        return TALLY_U64;
    default:
        return in;
    }
}

static tally_dtype integer_result(const oracle_case *what) {
    const item_kind kind = item_kind_of(what->in);
    if (is_bitwise(what->op)) return what->in;
    if (what->op == TALLY_ASUM || what->op == TALLY_SUMSQ || what->op == TALLY_DIST2) return TALLY_U64;
    return kind == ITEM_UNSIGNED ? TALLY_U64 : TALLY_I64;
}

static tally_dtype default_result(const oracle_case *what) {
    switch (way_of(what)) {
    case OF_KEYS:
        if (what->op == TALLY_ARGMIN || what->op == TALLY_ARGMAX || what->op == TALLY_IAMAX) return TALLY_U64;
        return what->op == TALLY_AMAX ? unsigned_of(what->in) : what->in;
    case OF_TRUTHS:
        return what->op == TALLY_COUNT_NONZERO ? TALLY_U64 : TALLY_BOOL;
    case OF_PAIRS:
        return TALLY_BOOL;
    case OF_BITS:
        return integer_result(what);
    case OF_SUMS:
        return TALLY_F64;
    case IN_ORDER:
        break;
    }
    if (is_complex_result(what)) return real_of(what) == TALLY_F64 ? TALLY_C128 : TALLY_C64;
    return real_of(what);
}

tally_dtype oracle_result_dtype(const oracle_case *what) {
    return what->out ? what->out : default_result(what);
}

size_t oracle_result_bytes(const oracle_case *what) {
    return item_bytes_of(oracle_result_dtype(what)) * (what->op == TALLY_MINMAX ? 2 : 1);
}

/* ---- ops whose order counts ------------------------------------------------------------------ */

#define JOIN_NAMES(prefix, name) prefix##_##name
#define JOIN_PREFIX(prefix, name) JOIN_NAMES(prefix, name)
#define OWN(name) JOIN_PREFIX(PREFIX, name)

/* The coefficients of docs/numerics.md, from x^0 on. */
static const float f32_exp_terms[7] = {1, 1, 0x1.fffffcp-2f, 0x1.555482p-3f, 0x1.555892p-5f, 0x1.124568p-7f, 0x1.6a813ap-10f};
static const float f32_log_terms[9] = {-0x1.fffff8p-2f, 0x1.55555p-2f,   -0x1.000432p-2f, 0x1.99a414p-3f, -0x1.5425bep-3f,
                                       0x1.226ea8p-3f,  -0x1.0f40a8p-3f, 0x1.085c1ep-3f,  -0x1.38356ap-4f};
static const double f64_exp_terms[12] = {1,
                                         1,
                                         0x1.000000000000cp-1,
                                         0x1.55555555554ecp-3,
                                         0x1.555555554fa01p-5,
                                         0x1.111111112a2dap-7,
                                         0x1.6c16c1876966p-10,
                                         0x1.a01a0122dd405p-13,
                                         0x1.a019910fbcf6ap-16,
                                         0x1.71df293739351p-19,
                                         0x1.28b5e3645381p-22,
                                         0x1.ad8d443dd85dbp-26};
static const double f64_log_terms[20] = {
    -0x1.0000000000003p-1, 0x1.5555555555519p-2,  -0x1.fffffffffdee5p-3, 0x1.99999999a1dadp-3,  -0x1.55555556e27b7p-3,
    0x1.2492492225485p-3,  -0x1.fffffef6774c9p-4, 0x1.c71c71e450056p-4,  -0x1.9999c918afa03p-4, 0x1.745d43da6d4dep-4,
    -0x1.555072212de56p-4, 0x1.3b0add51a7f3ep-4,  -0x1.24dc7991d3c4dp-4, 0x1.11d76fd9ba58bp-4,  -0x1.fb6a25b8ae91p-5,
    0x1.cfbcf2cebba6p-5,   -0x1.d1741157440b3p-5, 0x1.0b548b6be48fp-4,   -0x1.eb02cbe17f212p-5, 0x1.ab729baadaa9ap-6};

#define REAL float
#define PREFIX f32
#define MATH(name) name##f
#define SMALL_BELOW 0x1p-63f
#define SMALL_TIMES 0x1p86f
#define BIG_ABOVE 0x1p32f
#define BIG_TIMES 0x1p-86f
#define LOG2_OF_E 0x1.715476p0f
#define LOG_OF_2 0x1.62e43p-1f
#define LOG_OF_2_REST (-0x1.05c61p-29f)
#define ROUNDER 0x1p23f
#define ROOT_OF_HALF 0x1.6a09e6p-1f
#define MOST_HALVINGS 126
#define ROOM_ABOVE 64
#define EXP_LAST 6
#define LOG_LAST 8
#include "order.h"
#undef REAL
#undef PREFIX
#undef MATH
#undef SMALL_BELOW
#undef SMALL_TIMES
#undef BIG_ABOVE
#undef BIG_TIMES
#undef LOG2_OF_E
#undef LOG_OF_2
#undef LOG_OF_2_REST
#undef ROUNDER
#undef ROOT_OF_HALF
#undef MOST_HALVINGS
#undef ROOM_ABOVE
#undef EXP_LAST
#undef LOG_LAST

#define REAL double
#define PREFIX f64
#define MATH(name) name
#define SMALL_BELOW 0x1p-511
#define SMALL_TIMES 0x1p563
#define BIG_ABOVE 0x1p480
#define BIG_TIMES 0x1p-560
#define LOG2_OF_E 0x1.71547652b82fep0
#define LOG_OF_2 0x1.62e42fefa39efp-1
#define LOG_OF_2_REST 0x1.abc9e3b39803fp-56
#define ROUNDER 0x1p52
#define ROOT_OF_HALF 0x1.6a09e667f3bcdp-1
#define MOST_HALVINGS 1022
#define ROOM_ABOVE 512
#define EXP_LAST 11
#define LOG_LAST 19
#include "order.h"

/* Stores the value of no items for an op that gives a float or a complex number. */
static void finish_none(const oracle_case *what, double result[2]) {
    const double none = what->op == TALLY_MEAN || what->op == TALLY_VAR || what->op == TALLY_STD ? (double)NAN
                        : what->op == TALLY_PROD                                                 ? 1.0
                        : what->op == TALLY_LOGSUMEXP                                            ? (double)-INFINITY
                                                                                                 : 0.0;
    result[0] = none;
    result[1] = what->op == TALLY_PROD ? 0.0 : none;
}

void oracle_load(const oracle_case *what, const void *const inputs[], uint32_t count,
                 double fields[ORACLE_FIELDS][TALLY_CHUNK_ITEMS]) {
    if (real_of(what) == TALLY_F64) {
        f64_load(what, inputs, count, fields);
        return;
    }
    float narrow[ORACLE_FIELDS][TALLY_CHUNK_ITEMS] = {{0}};
    f32_load(what, inputs, count, narrow);
    for (int f = 0; f < ORACLE_FIELDS; f++)
        for (uint32_t i = 0; i < count; i++) fields[f][i] = (double)narrow[f][i];
}

#include "survey.h"
#include "sums.h"
#include "accumulators.h"

/* ---- the interface --------------------------------------------------------------------------- */

void oracle_begin_case(oracle *state, const oracle_case *what) {
    const int count = what->op == TALLY_ALLCLOSE ? 2 : what->op == TALLY_VAR || what->op == TALLY_STD;
    state->what = *what;
    memcpy(state->params, default_params(what->op), sizeof state->params);
    if (what->params) memcpy(state->params, what->params, (size_t)count * sizeof state->params[0]);
    state->n = 0;
    state->counted = 0;
    state->has_where = 0;
    state->survey = survey_of_none(what);
}

/* Takes up items whose order is free, at most a chunk. `at` is the index of the first. */
static void take_freely(oracle *state, const void *const inputs[], uint32_t count, uint64_t at) {
    switch (way_of(&state->what)) {
    case IN_ORDER:
        break;
    case OF_KEYS:
        take_keys(&state->what, &state->survey, inputs[0], count, at);
        break;
    case OF_TRUTHS:
        take_truths(&state->what, &state->survey, inputs[0], count);
        break;
    case OF_BITS:
        take_bits(&state->what, &state->survey, inputs, count);
        break;
    case OF_SUMS:
        take_sums(state->what.in, &state->survey, inputs[0], count);
        break;
    case OF_PAIRS:
        state->survey.far +=
            real_of(&state->what) == TALLY_F32 ? f32_far(&state->what, inputs, count) : f64_far(&state->what, inputs, count);
        break;
    }
}

/* Takes up a whole chunk, or the last one. `at` is the index of its first item. */
static void take(oracle *state, const void *const inputs[], uint32_t count, uint64_t at) {
    const uint8_t *valid = state->has_where ? state->valid : NULL;
    const size_t bytes = item_bytes_of(state->what.in);
    state->what.params = state->params; /* set here, because a state may be copied */
    if (way_of(&state->what) == IN_ORDER && real_of(&state->what) == TALLY_F32)
        f32_take(state, inputs, valid, count, at / TALLY_CHUNK_ITEMS);
    else if (way_of(&state->what) == IN_ORDER)
        f64_take(state, inputs, valid, count, at / TALLY_CHUNK_ITEMS);
    else if (!valid)
        take_freely(state, inputs, count, at);
    for (uint32_t i = 0; valid && way_of(&state->what) != IN_ORDER && i < count; i++) {
        const void *const one[2] = {(const unsigned char *)inputs[0] + i * bytes,
                                    inputs[1] ? (const unsigned char *)inputs[1] + i * bytes : NULL};
        if (valid[i]) take_freely(state, one, 1, at + i);
    }
}

void oracle_push_where(oracle *state, const void *const inputs[], const uint8_t *where, uint64_t n) {
    const uint32_t count = oracle_inputs(state->what.op);
    const size_t bytes = item_bytes_of(state->what.in);
    for (uint64_t done = 0; done < n;) {
        const uint32_t held = (uint32_t)(state->n % TALLY_CHUNK_ITEMS), room = TALLY_CHUNK_ITEMS - held;
        const uint32_t some = n - done < room ? (uint32_t)(n - done) : room;
        const void *from[2] = {NULL, NULL};
        for (uint32_t i = 0; i < count; i++) {
            from[i] = (const unsigned char *)inputs[i] + done * bytes;
            if (some == TALLY_CHUNK_ITEMS) continue;
            memcpy(state->chunk[i] + held * bytes, from[i], some * bytes);
            from[i] = state->chunk[i];
        }
        state->has_where = where != NULL;
        for (uint32_t i = 0; where && i < some; i++) state->counted += state->valid[held + i] = where[done + i] != 0;
        if (!where) state->counted += some;
        if (some == room) take(state, from, TALLY_CHUNK_ITEMS, state->n - held);
        state->n += some;
        done += some;
    }
}

void oracle_end(oracle *state, void *result) {
    const uint32_t held = (uint32_t)(state->n % TALLY_CHUNK_ITEMS);
    const uint64_t chunks = state->n / TALLY_CHUNK_ITEMS + (held > 0);
    const void *const from[2] = {state->chunk[0], state->chunk[1]};
    oracle_acc acc = {.survey = state->survey};
    state->what.params = state->params;
    if (held > 0) take(state, from, held, state->n - held);
    if (way_of(&state->what) != IN_ORDER)
        acc.survey = state->survey;
    else if (chunks && real_of(&state->what) == TALLY_F32)
        f32_fold(state, chunks, acc.f32);
    else if (chunks)
        f64_fold(state, chunks, acc.f64);
    if (state->what.initial) put_initial(&state->what, state->counted, &acc);
    oracle_acc_finish(&state->what, &acc, state->counted + (state->what.initial != NULL), result);
}

void oracle_push_inputs(oracle *state, const void *const inputs[], uint64_t n) {
    oracle_push_where(state, inputs, NULL, n);
}

void oracle_reduce_where(const oracle_case *what, const void *const inputs[], const uint8_t *where, uint64_t n, void *result) {
    oracle state;
    oracle_begin_case(&state, what);
    oracle_push_where(&state, inputs, where, n);
    oracle_end(&state, result);
}

void oracle_reduce_inputs(const oracle_case *what, const void *const inputs[], uint64_t n, void *result) {
    oracle_reduce_where(what, inputs, NULL, n, result);
}

void oracle_begin(oracle *state, tally_op op, tally_dtype in) {
    const oracle_case what = {.op = op, .in = in};
    oracle_begin_case(state, &what);
}

void oracle_push(oracle *state, const void *items, uint64_t n) {
    oracle_push_inputs(state, &items, n);
}

void oracle_reduce(tally_op op, tally_dtype in, const void *items, uint64_t n, void *result) {
    const oracle_case what = {.op = op, .in = in};
    oracle_reduce_inputs(&what, &items, n, result);
}
