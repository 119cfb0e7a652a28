/* SPDX-License-Identifier: MIT */
/*
 * survey.h: ops that are exact, so that their order is free: whole numbers and truth values modulo
 * 2^64, and extremes compared by keys. oracle.c includes it after order.h.
 */

/* ---- whole numbers --------------------------------------------------------------------------- */

/* Integers modulo 2^64; truth values are 0 and 1. */
/* Reads items at any address: a host array may not be aligned for the type. */
static void read_integers(tally_dtype in, const void *items, uint32_t count, uint64_t *to) {
#define READ(type, number)                                                                                                     \
    for (uint32_t i = 0; i < count; i++) {                                                                                     \
        type x;                                                                                                                \
        memcpy(&x, (const unsigned char *)items + i * sizeof x, sizeof x);                                                     \
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

/* Returns the value of no items. For band it has as many ones as the item has bits, and is -1 for
 * signed items. */
static uint64_t bits_of_none(const oracle_case *what) {
    if (what->op != TALLY_BAND) return what->op == TALLY_PROD;
    if (what->in == TALLY_BOOL) return 1;
    return item_kind_of(what->in) == ITEM_SIGNED ? UINT64_MAX : UINT64_MAX >> (64 - 8 * item_bytes_of(what->in));
}

static void take_bits(const oracle_case *what, oracle_survey *s, const void *const inputs[], uint32_t count) {
    uint64_t x[TALLY_CHUNK_ITEMS], y[TALLY_CHUNK_ITEMS], bits = s->bits;
    const tally_dtype in = what->in;
    read_integers(in, inputs[0], count, x);
    y[0] = 0; /* for compilers that cannot tell that it is not read */
    if (oracle_inputs(what->op) == 2) read_integers(in, inputs[1], count, y);
#define EACH(step)                                                                                                             \
    for (uint32_t i = 0; i < count; i++) bits = step;                                                                          \
    break
    switch (what->op) {
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
    s->bits = bits;
}

static void take_truths(const oracle_case *what, oracle_survey *s, const void *items, uint32_t count) {
    if (is_float(what->in)) {
        double x[TALLY_CHUNK_ITEMS];
        f64_read(what->in, items, count, x, NULL);
        for (uint32_t i = 0; i < count; i++) s->nonzero += x[i] != 0;
    } else {
        uint64_t x[TALLY_CHUNK_ITEMS];
        read_integers(what->in, items, count, x);
        for (uint32_t i = 0; i < count; i++) s->nonzero += x[i] != 0;
    }
}

/* ---- keys ------------------------------------------------------------------------------------ */

/*
 * Signed 64-bit numbers that sort as the items do. The key of a float is its bits as an f64, which
 * holds any float. Below zero the bits of the magnitude are inverted, which puts -0 below +0. The
 * key of an unsigned number has the top bit flipped.
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

/* Returns whether the keys of this op are those of unsigned numbers. */
static int has_unsigned_keys(const oracle_case *what) {
    return item_kind_of(what->in) != ITEM_SIGNED || is_of_magnitudes(what->op);
}

static void survey_key(oracle_survey *s, int64_t key, uint64_t at) {
    if (s->numbers == 0 || key < s->low) s->low = key, s->low_at = at;
    if (s->numbers == 0 || key > s->high) s->high = key, s->high_at = at;
    s->numbers++;
}

/* Equal items keep the first index. An index takes -0 and +0 as equal. */
static void take_keys(const oracle_case *what, oracle_survey *s, const void *items, uint32_t count, uint64_t at) {
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

/* The key that every item improves on: an infinity, or the type's limit. No magnitude is below
 * 0. */
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

/* The smallest or largest. A NaN wins, or for nanmin and nanmax counts only if there is nothing
 * else. */
static void store_extreme(const oracle_case *what, const oracle_survey *s, int is_least, tally_dtype out, void *result) {
    const int skips_nan = what->op == TALLY_NANMIN || what->op == TALLY_NANMAX;
    const int has_nan = s->first_nan != UINT64_MAX;
    if (s->numbers == 0 && !has_nan)
        store_extreme_of_none(what, is_least, out, result);
    else if (has_nan && (!skips_nan || s->numbers == 0))
        store_float(out, (double)NAN, result);
    else
        store_key(what, is_least ? s->low : s->high, out, result);
}

static void finish_keys(const oracle_case *what, const oracle_survey *s, uint64_t n, tally_dtype out, unsigned char *result) {
    switch (what->op) {
    case TALLY_ARGMIN:
    case TALLY_ARGMAX:
    case TALLY_IAMAX: {
        uint64_t index = what->op == TALLY_ARGMIN ? s->low_at : s->high_at;
        if (s->first_nan != UINT64_MAX) index = s->first_nan;
        store_integer(out, n ? index : TALLY_NO_INDEX, result);
        break;
    }
    case TALLY_MIN:
    case TALLY_NANMIN:
        store_extreme(what, s, 1, out, result);
        break;
    case TALLY_MINMAX:
        store_extreme(what, s, 1, out, result);
        store_extreme(what, s, 0, out, result + item_bytes_of(out));
        break;
    default:
        store_extreme(what, s, 0, out, result);
        break;
    }
}

/* ---- two surveys as one ---------------------------------------------------------------------- */

/* Equal extremes keep the lower index. */
static void join_extreme(int is_beyond, int is_equal, int64_t key, uint64_t at, int64_t *to_key, uint64_t *to_at) {
    if (is_beyond || (is_equal && at < *to_at)) *to_at = at;
    if (is_beyond) *to_key = key;
}

static uint64_t join_bits(tally_op op, uint64_t a, uint64_t b) {
    switch (op) {
    case TALLY_PROD:
        return a * b;
    case TALLY_BAND:
        return a & b;
    case TALLY_BOR:
        return a | b;
    case TALLY_BXOR:
        return a ^ b;
    default:
        return a + b;
    }
}

static void join_surveys(tally_op op, oracle_survey *a, const oracle_survey *b) {
    a->nonzero += b->nonzero;
    a->far += b->far;
    a->bits = join_bits(op, a->bits, b->bits);
    a->sum += b->sum;
    a->squares += b->squares;
    if (b->first_nan < a->first_nan) a->first_nan = b->first_nan;
    if (b->numbers == 0) return;
    const int is_first = a->numbers == 0;
    join_extreme(is_first || b->low < a->low, b->low == a->low, b->low, b->low_at, &a->low, &a->low_at);
    join_extreme(is_first || b->high > a->high, b->high == a->high, b->high, b->high_at, &a->high, &a->high_at);
    a->numbers += b->numbers;
}
