/* SPDX-License-Identifier: MIT */
#include "patterns.h"

#include <float.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "items.h"

const char *pattern_name(int pattern) {
#define PATTERN_ROW(id, name, text) [PATTERN_##id] = name,
    static const char *const names[] = {PATTERN_TABLE(PATTERN_ROW)};
#undef PATTERN_ROW
    return pattern >= 0 && pattern < PATTERNS ? names[pattern] : NULL;
}

uint64_t pattern_random(uint64_t counter) {
    uint64_t z = (counter + 1) * UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* A place in an input of n items. The second input counts its items backwards and has other random
 * numbers. */
typedef struct place_in {
    uint64_t i, n, random;
} place_in;

/* Returns whether the pattern stands out at this place. `first` is the first of three patterns in a
 * row. */
static int is_there(int pattern, int first, place_in at) {
    return at.i == (pattern == first ? 0 : pattern == first + 1 ? at.n / 2 : at.n - 1);
}

/* ---- floats ---------------------------------------------------------------------------------- */

/* The fields of a float type's bits, and the numbers that the patterns need. The parts of complex
 * items are floats too. */
typedef struct float_type {
    int exponent_bits, fraction_bits;
    int wide; /* exponents of ordinary numbers reach from -wide to wide */
    double largest;
} float_type;

static float_type float_type_of(tally_dtype dtype) {
    switch (dtype) {
    case TALLY_F16:
        return (float_type){5, 10, 12, 65504};
    case TALLY_BF16:
        return (float_type){8, 7, 40, 0x1.fep127};
    case TALLY_F32:
    case TALLY_C64:
        return (float_type){8, 23, 40, (double)FLT_MAX};
    default:
        return (float_type){11, 52, 40, DBL_MAX};
    }
}

/* A random sign and significand, and an exponent from `least` to `most`. Sums of such numbers round
 * almost everywhere. */
static double spread(uint64_t random, int least, int most) {
    const double significand = 1 + (double)(random >> 12) * 0x1p-52;
    return ldexp(random & 1 ? -significand : significand, least + (int)((random >> 1) % (uint64_t)(most - least + 1)));
}

/* The bits of a special value, or 0 for an ordinary one. */
static uint64_t special_bits(int pattern, const float_type *type, place_in at) {
    const int fraction = type->fraction_bits, width = 1 + type->exponent_bits + fraction;
    const uint64_t sign = UINT64_C(1) << (width - 1), one = UINT64_C(1) << fraction,
                   payload = UINT64_C(0x12345678) & (one / 4 - 1);
    const uint64_t infinity = sign - one, quiet = infinity | one / 2;
    switch (pattern) {
    case PATTERN_NAN_FIRST:
        return at.i == 0 ? quiet | payload : 0;
    case PATTERN_NAN_MIDDLE:
        return at.i == at.n / 2 ? sign | quiet | (payload / 2) : 0;
    case PATTERN_NAN_LAST:
        return at.i == at.n - 1 ? infinity | 1 : 0;
    case PATTERN_ALL_NAN:
        return (at.random & 1 ? sign : 0) | quiet | (payload & at.random);
    case PATTERN_DENORMAL:
        return (at.random >> 63 ? sign : 0) | (at.random & (one - 1)) | 1;
    default:
        return 0;
    }
}

static double float_value(int pattern, const float_type *type, place_in at) {
    /* Whole numbers below the type's largest. */
    const double i = type->largest < 1e6 ? (double)(at.i % 60000) : (double)at.i;
    const int least = 2 - (1 << (type->exponent_bits - 1)), most = 1 - least;
    switch (pattern) {
    case PATTERN_RAMP:
        return i;
    case PATTERN_POWERS:
        return ldexp(1, (int)(at.i % (type->wide < 40 ? 40 : 48)) - 24);
    case PATTERN_ALTERNATING:
        return at.i % 2 ? -(i + 1) : i + 1;
    case PATTERN_INFINITE:
        return at.i == at.n / 3 ? (double)INFINITY : spread(at.random, -type->wide, type->wide);
    case PATTERN_NEGATIVE_INFINITE:
        return at.i == at.n / 3 ? (double)-INFINITY : spread(at.random, -type->wide, type->wide);
    case PATTERN_BOTH_INFINITE:
        if (at.i == at.n / 3) return (double)INFINITY;
        return at.i == at.n - 1 ? (double)-INFINITY : spread(at.random, -type->wide, type->wide);
    case PATTERN_ALL_INFINITE:
        return (double)INFINITY;
    case PATTERN_NEGATIVE_ZERO:
        return -0.0;
    case PATTERN_ZEROS:
        return at.i == at.n / 2 ? 0.0 : -0.0;
    case PATTERN_NEGATIVE_ONLY_ZERO:
        return at.i == at.n - 1 ? -0.0 : 0.0;
    case PATTERN_LIMITS:
        return at.random % 4 ? type->largest : -type->largest;
    case PATTERN_ABSORBED:
        return at.i == 0 ? 1.0 : type->fraction_bits > 23 ? 0x1.8p-54 : 0x1.8p-25;
    case PATTERN_DUPLICATES:
        return (double)(at.random % 5) - 2.5;
    case PATTERN_ONE_FIRST:
    case PATTERN_ONE_MIDDLE:
    case PATTERN_ONE_LAST:
        return is_there(pattern, PATTERN_ONE_FIRST, at) ? 0.375 : 0;
    case PATTERN_LACK_FIRST:
    case PATTERN_LACK_MIDDLE:
    case PATTERN_LACK_LAST:
        return is_there(pattern, PATTERN_LACK_FIRST, at) ? 0 : (double)(at.random % 7) - 3.5;
    case PATTERN_MAGNITUDES:
        return spread(at.random, least - type->fraction_bits, most - (most - least) / 16);
    case PATTERN_TINY:
        return spread(at.random, least, least + (most - least) / 4);
    case PATTERN_BIG:
        return spread(at.random, most - (most - least) / 4, most - (most - least) / 16);
    case PATTERN_NEAR_ONE:
        /* Narrow types have no other number near enough to 1, so few items differ from 1. */
        if (type->fraction_bits > 10) return 1 + ((double)(at.random >> 11) * 0x1p-52 - 1) * 0x1p-14;
        return (at.random >> 20) % 256 ? 1
               : at.random & 1         ? 1 + ldexp(1, -type->fraction_bits)
                                       : 1 - ldexp(1, -type->fraction_bits - 1);
    case PATTERN_SHIFTED:
        return 1000 + (double)(at.random >> 11) * 0x1p-53;
    default:
        return spread(at.random, -type->wide, type->wide);
    }
}

/* Complex numbers of modulus 1, except for rounding. */
static void fill_circle(tally_dtype dtype, unsigned char *to, uint64_t n, uint64_t seed) {
    const size_t bytes = item_bytes_of(dtype) / 2;
    for (uint64_t i = 0; i < n; i++) {
        const double angle = (double)(pattern_random(i ^ seed) >> 11) * 0x1p-53 * 6.283185307179586;
        store_float(dtype, cos(angle), to + 2 * i * bytes);
        store_float(dtype, sin(angle), to + (2 * i + 1) * bytes);
    }
}

/* Fills n floats, or parts of complex items. */
static void fill_floats(int pattern, tally_dtype dtype, unsigned char *to, uint64_t n, uint64_t seed) {
    const float_type type = float_type_of(dtype);
    const size_t bytes = (size_t)(1 + type.exponent_bits + type.fraction_bits) / 8;
    for (uint64_t i = 0; i < n; i++) {
        const place_in at = {seed ? n - 1 - i : i, n, pattern_random(i ^ seed)};
        const uint64_t bits = special_bits(pattern, &type, at);
        /* Copies the bits, not the number: moving a signalling NaN through a register may quieten
         * it. */
        if (bits)
            store_integer(bytes == 2 ? TALLY_U16 : bytes == 4 ? TALLY_U32 : TALLY_U64, bits, to + i * bytes);
        else
            store_float(dtype, float_value(pattern, &type, at), to + i * bytes);
    }
}

/* ---- integers -------------------------------------------------------------------------------- */

/* Returns the integer's bits. `low` and `high` are the type's limits as 64 bits. */
static uint64_t integer_value(int pattern, unsigned width, uint64_t low, uint64_t high, place_in at) {
    const uint64_t limit = at.n % 2 ? low : high;
    switch (pattern) {
    case PATTERN_RAMP:
        return at.i - 1000;
    case PATTERN_POWERS:
        return UINT64_C(1) << at.i % width;
    case PATTERN_ALTERNATING:
        return at.i % 2 ? 0 - (at.i + 1) : at.i + 1;
    case PATTERN_NAN_FIRST:
    case PATTERN_NAN_MIDDLE:
    case PATTERN_NAN_LAST:
        return is_there(pattern, PATTERN_NAN_FIRST, at) ? limit : at.random;
    case PATTERN_ALL_NAN:
        return low;
    case PATTERN_INFINITE:
        return at.i == at.n / 3 ? high : at.random;
    case PATTERN_NEGATIVE_INFINITE:
        return at.i == at.n / 3 ? low : at.random;
    case PATTERN_BOTH_INFINITE:
        return at.i == at.n / 3 ? high : at.i == at.n - 1 ? low : at.random;
    case PATTERN_ALL_INFINITE:
        return high;
    case PATTERN_NEGATIVE_ZERO:
        return 0;
    case PATTERN_ZEROS:
        return at.i == at.n / 2;
    case PATTERN_NEGATIVE_ONLY_ZERO:
        return at.i == at.n - 1 ? low : 0;
    case PATTERN_DENORMAL:
        return at.random % 31 - 15;
    case PATTERN_LIMITS:
        return at.random % 4 ? high : low;
    case PATTERN_DUPLICATES:
        return at.random % 5 == 0 ? low : at.random % 5 == 1 ? high : at.random % 5;
    case PATTERN_ONE_FIRST:
    case PATTERN_ONE_MIDDLE:
    case PATTERN_ONE_LAST:
        return is_there(pattern, PATTERN_ONE_FIRST, at) ? 100 : 0;
    case PATTERN_LACK_FIRST:
    case PATTERN_LACK_MIDDLE:
    case PATTERN_LACK_LAST:
        return is_there(pattern, PATTERN_LACK_FIRST, at) ? 0 : at.random % 100 + 1;
    case PATTERN_MAGNITUDES:
        return at.random >> (at.random >> 58) % width;
    case PATTERN_TINY:
        return at.random % 3 - 1;
    case PATTERN_BIG:
        return at.random & 1 ? high - (at.random >> 1) % 4 : low + (at.random >> 1) % 4;
    case PATTERN_NEAR_ONE:
        return at.random | 1;
    case PATTERN_SHIFTED:
        return 100 + at.random % 4;
    default:
        return at.random;
    }
}

static void fill_integers(int pattern, tally_dtype dtype, unsigned char *to, uint64_t n, uint64_t seed) {
    const size_t bytes = item_bytes_of(dtype);
    const unsigned width = 8 * (unsigned)bytes;
    const uint64_t top = UINT64_C(1) << (width - 1);
    const int is_signed = item_kind_of(dtype) == ITEM_SIGNED;
    const tally_dtype stored = dtype == TALLY_BOOL ? TALLY_U8 : dtype; /* any byte */
    for (uint64_t i = 0; i < n; i++) {
        const place_in at = {seed ? n - 1 - i : i, n, pattern_random(i ^ seed)};
        uint64_t value = integer_value(pattern, width, is_signed ? 0 - top : 0, is_signed ? top - 1 : top - 1 + top, at);
        if (dtype == TALLY_BOOL && value == at.random && pattern == PATTERN_WIDE) value = at.random >> 63 ? value | 1 : 0;
        store_integer(stored, value, to + i * bytes);
    }
}

/* ---- inputs ---------------------------------------------------------------------------------- */

static void fill(int pattern, tally_dtype dtype, void *items, uint64_t n, uint64_t seed) {
    switch (item_kind_of(dtype)) {
    case ITEM_FLOAT:
        fill_floats(pattern, dtype, items, n, seed);
        break;
    case ITEM_COMPLEX:
        if (pattern == PATTERN_NEAR_ONE)
            fill_circle(dtype, items, n, seed);
        else
            fill_floats(pattern, dtype, items, 2 * n, seed);
        break;
    default:
        fill_integers(pattern, dtype, items, n, seed);
        break;
    }
}

void pattern_fill(int pattern, tally_dtype dtype, void *items, uint64_t n) {
    fill(pattern, dtype, items, n, 0);
}

/* Changes every third float by up to `most` of itself. Narrow types, which have no number so near,
 * are not changed. */
static void disturb(tally_dtype dtype, void *items, uint64_t n, double most) {
    float *narrow = items;
    double *wide = items;
    for (uint64_t i = 0; i < n; i += 3) {
        const double factor = 1 + most * ((double)(pattern_random(~i) >> 11) * 0x1p-53);
        if (dtype == TALLY_F32 && narrow[i] == narrow[i]) narrow[i] = (float)((double)narrow[i] * factor);
        if (dtype == TALLY_F64 && wide[i] == wide[i]) wide[i] *= factor;
    }
}

/* Pairs that only a careful rule gets right: items that are close by a tolerance of the second's
 * magnitude, not of the first's; and infinities of two signs, whose distance is at most an infinite
 * tolerance. */
static void disturb_f64(int pattern, double *items, uint64_t n) {
    for (uint64_t i = 0; i < n; i++) {
        if (pattern == PATTERN_ALTERNATING) items[i] /= 1 - 1e-5;
        if (pattern == PATTERN_NEGATIVE_INFINITE && isinf(items[i])) items[i] = -items[i];
    }
}

void pattern_fill_second(int pattern, tally_op op, tally_dtype dtype, const void *first, void *second, uint64_t n) {
    if (op != TALLY_ALLCLOSE) {
        fill(pattern, dtype, second, n, UINT64_C(0x5851f42d4c957f2d));
    } else if (pattern == PATTERN_ONE_FIRST || pattern == PATTERN_ONE_MIDDLE || pattern == PATTERN_ONE_LAST) {
        memset(second, 0, n * item_bytes_of(dtype));
    } else {
        memcpy(second, first, n * item_bytes_of(dtype));
        if (dtype == TALLY_F64 && (pattern == PATTERN_ALTERNATING || pattern == PATTERN_NEGATIVE_INFINITE))
            disturb_f64(pattern, second, n);
        else if (pattern != PATTERN_NAN_LAST)
            disturb(dtype, second, n, pattern == PATTERN_SHIFTED ? 2e-5 : 9e-6);
    }
}
