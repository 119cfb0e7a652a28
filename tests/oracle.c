/* SPDX-License-Identifier: MIT */
#include "oracle.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "oracle_items.h"

/* Each operation must round to its operands' type, and be the one that is written. */
_Static_assert(FLT_EVAL_METHOD == 0, "the host evaluates floats in a wider type: no oracle on this machine");
#ifdef __FAST_MATH__
#error "the oracle must not be compiled with -ffast-math"
#endif
_Static_assert(TALLY_OP_END == TALLY_ALLCLOSE + 1 && TALLY_DTYPE_END == TALLY_C128 + 1, "a new row needs its reference here");

/* ---- what there is -------------------------------------------------------------------------------------------------- */

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

/* What an op of these items does; each has its part of this file. */
typedef enum way { IN_ORDER, OF_KEYS, OF_TRUTHS, OF_BITS, OF_PAIRS } way;

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
    default: /* nrm2, mean, var, std, logsumexp: in f64 for integers */
        return IN_ORDER;
    }
}

/* f32 or f64: what floats, and integers where they become floats, are computed in. */
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

/* Of what is added up, the fields there are. */
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

/* ---- in order --------------------------------------------------------------------------------------------------------- */

#define JOIN_NAMES(prefix, name) prefix##_##name
#define JOIN_PREFIX(prefix, name) JOIN_NAMES(prefix, name)
#define OWN(name) JOIN_PREFIX(PREFIX, name)

#define REAL float
#define PREFIX f32
#define MATH(name) name##f
#define SMALL_BELOW 0x1p-63f
#define SMALL_TIMES 0x1p86f
#define BIG_ABOVE 0x1p32f
#define BIG_TIMES 0x1p-86f
#include "oracle_order.h"
#undef REAL
#undef PREFIX
#undef MATH
#undef SMALL_BELOW
#undef SMALL_TIMES
#undef BIG_ABOVE
#undef BIG_TIMES

#define REAL double
#define PREFIX f64
#define MATH(name) name
#define SMALL_BELOW 0x1p-511
#define SMALL_TIMES 0x1p563
#define BIG_ABOVE 0x1p480
#define BIG_TIMES 0x1p-560
#include "oracle_order.h"

/* What an op that gives a float or a complex number has for no items. */
static void finish_none(const oracle_case *what, double result[2]) {
    const double none = what->op == TALLY_MEAN || what->op == TALLY_VAR || what->op == TALLY_STD ? (double)NAN
                        : what->op == TALLY_PROD                                                 ? 1.0
                        : what->op == TALLY_LOGSUMEXP                                            ? (double)-INFINITY
                                                                                                 : 0.0;
    result[0] = none;
    result[1] = what->op == TALLY_PROD ? 0.0 : none;
}

static void finish_ordered(const oracle *state, double result[2]) {
    const uint64_t chunks = state->n / TALLY_CHUNK_ITEMS + (state->n % TALLY_CHUNK_ITEMS != 0);
    if (real_of(&state->what) == TALLY_F32) {
        float acc[ORACLE_FIELDS];
        f32_fold(state, chunks, acc);
        f32_finish(&state->what, acc, state->n, result);
    } else {
        double acc[ORACLE_FIELDS];
        f64_fold(state, chunks, acc);
        f64_finish(&state->what, acc, state->n, result);
    }
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

/* ---- whole numbers ------------------------------------------------------------------------------------------------------ */

/* Integers modulo 2^64; truth values are 0 and 1. */
static void read_integers(tally_dtype in, const void *items, uint32_t count, uint64_t *to) {
#define READ(type, number)                                                                                                     \
    for (uint32_t i = 0; i < count; i++) {                                                                                     \
        const type x = ((const type *)items)[i];                                                                               \
        to[i] = (uint64_t)(number);                                                                                            \
    }                                                                                                                          \
    break
    switch (in) {
    case TALLY_I8:
        READ(int8_t, (int64_t)x);
    case TALLY_I16:
        READ(int16_t, (int64_t)x);
    case TALLY_I32:
        READ(int32_t, (int64_t)x);
    case TALLY_U8:
        READ(uint8_t, x);
    case TALLY_U16:
        READ(uint16_t, x);
    case TALLY_U32:
        READ(uint32_t, x);
    case TALLY_BOOL:
        READ(uint8_t, x != 0);
    default:
        READ(uint64_t, x);
    }
#undef READ
}

#define IS_NEGATIVE(x) ((int64_t)(x) < 0)

/* Stores a whole number of type `natural`, given modulo 2^64, as `out`. */
static void store_whole(tally_dtype natural, uint64_t value, tally_dtype out, void *result) {
    const int is_signed = item_kind_of(natural) == ITEM_SIGNED;
    if (!is_float(out))
        store_integer(out, value, result);
    else if (out == TALLY_F64)
        store_float(out, is_signed ? (double)(int64_t)value : (double)value, result);
    else
        store_float(out, is_signed ? (double)(float)(int64_t)value : (double)(float)value, result);
}

static uint64_t magnitude_of(tally_dtype in, uint64_t x) {
    return item_kind_of(in) == ITEM_SIGNED && IS_NEGATIVE(x) ? 0 - x : x;
}

static uint64_t bits_of_none(tally_op op) {
    return op == TALLY_BAND ? UINT64_MAX : op == TALLY_PROD;
}

static void take_bits(oracle *state, const void *const inputs[], uint32_t count) {
    uint64_t x[TALLY_CHUNK_ITEMS], y[TALLY_CHUNK_ITEMS], bits = state->survey.bits;
    const tally_dtype in = state->what.in;
    read_integers(in, inputs[0], count, x);
    if (oracle_inputs(state->what.op) == 2) read_integers(in, inputs[1], count, y);
#define EACH(step)                                                                                                             \
    for (uint32_t i = 0; i < count; i++) bits = step;                                                                          \
    break
    switch (state->what.op) {
    case TALLY_PROD:
        EACH(bits * x[i]);
    case TALLY_ASUM:
        EACH(bits + magnitude_of(in, x[i]));
    case TALLY_SUMSQ:
        EACH(bits + x[i] * x[i]);
    case TALLY_DOT:
    case TALLY_DOTC:
        EACH(bits + x[i] * y[i]);
    case TALLY_DIST2:
        EACH(bits + (x[i] - y[i]) * (x[i] - y[i]));
    case TALLY_BAND:
        EACH(bits & x[i]);
    case TALLY_BOR:
        EACH(bits | x[i]);
    case TALLY_BXOR:
        EACH(bits ^ x[i]);
    default: /* sum */
        EACH(bits + x[i]);
    }
#undef EACH
    state->survey.bits = bits;
}

static void take_truths(oracle *state, const void *items, uint32_t count) {
    if (is_float(state->what.in)) {
        double x[TALLY_CHUNK_ITEMS];
        f64_read(state->what.in, items, count, x, NULL);
        for (uint32_t i = 0; i < count; i++) state->survey.nonzero += x[i] != 0;
    } else {
        uint64_t x[TALLY_CHUNK_ITEMS];
        read_integers(state->what.in, items, count, x);
        for (uint32_t i = 0; i < count; i++) state->survey.nonzero += x[i] != 0;
    }
}

/* ---- keys ----------------------------------------------------------------------------------------------------------------- */

/*
 * Signed 64-bit numbers that sort as the items do. Of floats, all of which an f64 holds: the bits, those of the magnitude inverted below
 * zero, which puts -0 below +0. Unsigned ones: the top bit flipped.
 */
#define TOP_BIT (UINT64_C(1) << 63)

static int64_t key_of_double(double x) {
    int64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits < 0 ? bits ^ INT64_MAX : bits;
}

static double double_of_key(int64_t key) {
    const int64_t bits = key < 0 ? key ^ INT64_MAX : key;
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static int is_of_magnitudes(tally_op op) {
    return op == TALLY_AMAX || op == TALLY_IAMAX;
}

static int is_of_indices(tally_op op) {
    return op == TALLY_ARGMIN || op == TALLY_ARGMAX || op == TALLY_IAMAX;
}

/* Whether keys of this op are unsigned numbers'. */
static int has_unsigned_keys(const oracle_case *what) {
    return item_kind_of(what->in) != ITEM_SIGNED || is_of_magnitudes(what->op);
}

static void survey_key(oracle_survey *s, int64_t key, uint64_t at) {
    if (s->numbers == 0 || key < s->low) s->low = key, s->low_at = at;
    if (s->numbers == 0 || key > s->high) s->high = key, s->high_at = at;
    s->numbers++;
}

/* The first of equal ones counts; to an index -0 and +0 are equal. */
static void take_keys(oracle *state, const void *items, uint32_t count, uint64_t at) {
    const oracle_case *what = &state->what;
    oracle_survey *s = &state->survey;
    if (is_float(what->in)) {
        double x[TALLY_CHUNK_ITEMS];
        f64_read(what->in, items, count, x, NULL);
        for (uint32_t i = 0; i < count; i++) {
            double number = is_of_magnitudes(what->op) ? fabs(x[i]) : x[i];
            if (is_of_indices(what->op) && number == 0) number = 0;
            if (number == number)
                survey_key(s, key_of_double(number), at + i);
            else if (s->first_nan == UINT64_MAX)
                s->first_nan = at + i;
        }
    } else {
        uint64_t x[TALLY_CHUNK_ITEMS];
        read_integers(what->in, items, count, x);
        for (uint32_t i = 0; i < count; i++) {
            const uint64_t number = is_of_magnitudes(what->op) ? magnitude_of(what->in, x[i]) : x[i];
            survey_key(s, (int64_t)(has_unsigned_keys(what) ? number ^ TOP_BIT : number), at + i);
        }
    }
}

static void store_key(const oracle_case *what, int64_t key, tally_dtype out, void *result) {
    if (is_float(what->in))
        store_float(out, double_of_key(key), result);
    else
        store_whole(default_result(what), has_unsigned_keys(what) ? (uint64_t)key ^ TOP_BIT : (uint64_t)key, out, result);
}

/* What every item improves on: the infinities, or the type's limits; no magnitude is below 0. */
static void store_extreme_of_none(const oracle_case *what, int is_least, tally_dtype out, void *result) {
    const unsigned bits = 8 * (unsigned)item_bytes_of(what->in);
    if (is_of_magnitudes(what->op)) {
        memset(result, 0, item_bytes_of(out));
        return;
    }
    const uint64_t top = UINT64_C(1) << (bits - 1);
    switch (item_kind_of(what->in)) {
    case ITEM_SIGNED:
        store_whole(what->in, is_least ? top - 1 : 0 - top, out, result);
        break;
    case ITEM_UNSIGNED:
        store_whole(what->in, is_least ? top - 1 + top : 0, out, result);
        break;
    case ITEM_BOOL:
        store_whole(what->in, (uint64_t)is_least, out, result);
        break;
    case ITEM_FLOAT:
    case ITEM_COMPLEX:
        store_float(out, is_least ? (double)INFINITY : (double)-INFINITY, result);
        break;
    }
}

/* The smallest or largest; a NaN wins, or counts only where there is nothing else. */
static void store_extreme(const oracle *state, int is_least, tally_dtype out, void *result) {
    const oracle_survey *s = &state->survey;
    const int skips_nan = state->what.op == TALLY_NANMIN || state->what.op == TALLY_NANMAX;
    const int has_nan = s->first_nan != UINT64_MAX;
    if (state->n == 0)
        store_extreme_of_none(&state->what, is_least, out, result);
    else if (has_nan && (!skips_nan || s->numbers == 0))
        store_float(out, (double)NAN, result);
    else
        store_key(&state->what, is_least ? s->low : s->high, out, result);
}

static void finish_keys(const oracle *state, tally_dtype out, unsigned char *result) {
    const oracle_survey *s = &state->survey;
    switch (state->what.op) {
    case TALLY_ARGMIN:
    case TALLY_ARGMAX:
    case TALLY_IAMAX: {
        uint64_t index = state->what.op == TALLY_ARGMIN ? s->low_at : s->high_at;
        if (s->first_nan != UINT64_MAX) index = s->first_nan;
        store_integer(out, state->n ? index : TALLY_NO_INDEX, result);
        break;
    }
    case TALLY_MIN:
    case TALLY_NANMIN:
        store_extreme(state, 1, out, result);
        break;
    case TALLY_MINMAX:
        store_extreme(state, 1, out, result);
        store_extreme(state, 0, out, result + item_bytes_of(out));
        break;
    default:
        store_extreme(state, 0, out, result);
        break;
    }
}

/* ---- the interface ------------------------------------------------------------------------------------------------------ */

/* The parameters that are none of the case's. */
static const double *default_params(tally_op op) {
    static const double closeness[2] = {1e-5, 1e-8}, none[2] = {0, 0};
    return op == TALLY_ALLCLOSE ? closeness : none;
}

void oracle_begin_case(oracle *state, const oracle_case *what) {
    const int count = what->op == TALLY_ALLCLOSE ? 2 : what->op == TALLY_VAR || what->op == TALLY_STD;
    state->what = *what;
    memcpy(state->params, default_params(what->op), sizeof state->params);
    if (what->params) memcpy(state->params, what->params, (size_t)count * sizeof state->params[0]);
    state->n = 0;
    state->survey = (oracle_survey){.first_nan = UINT64_MAX, .bits = bits_of_none(what->op)};
}

/* A whole chunk, or the last one, of which `at` is the index of the first item. */
static void take(oracle *state, const void *const inputs[], uint32_t count, uint64_t at) {
    state->what.params = state->params; /* here, because a state may be copied */
    switch (way_of(&state->what)) {
    case IN_ORDER:
        if (real_of(&state->what) == TALLY_F32)
            f32_take(state, inputs, count, at / TALLY_CHUNK_ITEMS);
        else
            f64_take(state, inputs, count, at / TALLY_CHUNK_ITEMS);
        break;
    case OF_KEYS:
        take_keys(state, inputs[0], count, at);
        break;
    case OF_TRUTHS:
        take_truths(state, inputs[0], count);
        break;
    case OF_BITS:
        take_bits(state, inputs, count);
        break;
    case OF_PAIRS:
        state->survey.far +=
            real_of(&state->what) == TALLY_F32 ? f32_far(&state->what, inputs, count) : f64_far(&state->what, inputs, count);
        break;
    }
}

void oracle_push_inputs(oracle *state, const void *const inputs[], uint64_t n) {
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
        if (some == room) take(state, from, TALLY_CHUNK_ITEMS, state->n - held);
        state->n += some;
        done += some;
    }
}

/* Stores what was computed as floats, or modulo 2^64, as the type asked for. */
static void finish_numbers(oracle *state, tally_dtype out, unsigned char *result) {
    const oracle_case *what = &state->what;
    if (way_of(what) == IN_ORDER) {
        double parts[2];
        if (state->n)
            finish_ordered(state, parts);
        else
            finish_none(what, parts);
        store_float(out, parts[0], result);
        if (is_complex_result(what)) store_float(out, parts[1], result + item_bytes_of(out) / 2);
        return;
    }
    const oracle_survey *s = &state->survey;
    uint64_t value = s->bits;
    if (what->op == TALLY_ANY) value = s->nonzero > 0;
    if (what->op == TALLY_ALL) value = s->nonzero == state->n;
    if (what->op == TALLY_COUNT_NONZERO) value = s->nonzero;
    if (what->op == TALLY_ALLCLOSE) value = s->far == 0;
    store_whole(default_result(what), value, out, result);
}

void oracle_end(oracle *state, void *result) {
    const tally_dtype out = oracle_result_dtype(&state->what);
    const uint32_t held = (uint32_t)(state->n % TALLY_CHUNK_ITEMS);
    const void *const from[2] = {state->chunk[0], state->chunk[1]};
    state->what.params = state->params;
    if (held > 0) take(state, from, held, state->n - held);
    if (way_of(&state->what) == OF_KEYS)
        finish_keys(state, out, result);
    else
        finish_numbers(state, out, result);
}

void oracle_reduce_inputs(const oracle_case *what, const void *const inputs[], uint64_t n, void *result) {
    oracle state;
    oracle_begin_case(&state, what);
    oracle_push_inputs(&state, inputs, n);
    oracle_end(&state, result);
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
