/* SPDX-License-Identifier: MIT */
/*
 * items.h: the item types in plain C, for the oracle and the patterns: from storage to numbers and
 * back. f16 and bf16 are converted by their bits, so that no compiler's own types are needed.
 * tests/oracle/items.c tests all of them.
 */
#ifndef TALLY_TESTS_ORACLE_ITEMS_H
#define TALLY_TESTS_ORACLE_ITEMS_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include <tally/tally.h>

typedef enum item_kind { ITEM_FLOAT, ITEM_SIGNED, ITEM_UNSIGNED, ITEM_BOOL, ITEM_COMPLEX } item_kind;

static inline item_kind item_kind_of(tally_dtype dtype) {
    switch ((int)dtype) {
    case TALLY_F16:
    case TALLY_BF16:
    case TALLY_F32:
    case TALLY_F64:
        return ITEM_FLOAT;
    case TALLY_C64:
    case TALLY_C128:
        return ITEM_COMPLEX;
    case TALLY_BOOL:
        return ITEM_BOOL;
    case TALLY_U8:
    case TALLY_U16:
    case TALLY_U32:
    case TALLY_U64:
        return ITEM_UNSIGNED;
    default:
        return ITEM_SIGNED;
    }
}

static inline size_t item_bytes_of(tally_dtype dtype) {
    static const size_t sizes[TALLY_DTYPE_END] = {
        [TALLY_I8] = 1,  [TALLY_U8] = 1,   [TALLY_BOOL] = 1, [TALLY_I16] = 2, [TALLY_U16] = 2,
        [TALLY_F16] = 2, [TALLY_BF16] = 2, [TALLY_I32] = 4,  [TALLY_U32] = 4, [TALLY_F32] = 4,
        [TALLY_I64] = 8, [TALLY_U64] = 8,  [TALLY_F64] = 8,  [TALLY_C64] = 8, [TALLY_C128] = 16};
    return sizes[dtype];
}

static inline float float_of_bits(uint32_t bits) {
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* A bf16 is the upper half of an f32. */
static inline float float_of_bf16(uint16_t bits) {
    return float_of_bits((uint32_t)bits << 16);
}

/* The fields of an f16, moved to their places in an f32, make a number whose exponent is 127 - 15
 * too small. That holds for subnormals too. */
static inline float float_of_f16(uint16_t bits) {
    const uint32_t magnitude = (uint32_t)(bits & 0x7fff) << 13, sign = (uint32_t)(bits & 0x8000) << 16;
    const float finite = float_of_bits(sign | magnitude) * 0x1p112f;
    return (bits & 0x7c00) == 0x7c00 ? float_of_bits(sign | magnitude | 0x7f800000) : finite;
}

/* Returns the bits of the nearest float with these fields, ties to even. Every NaN becomes the
 * quiet positive one without a payload. */
static inline uint32_t bits_of_float(double x, int exponent_bits, int fraction_bits) {
    const uint32_t infinity = ((UINT32_C(1) << exponent_bits) - 1) << fraction_bits;
    const uint32_t sign = signbit(x) ? UINT32_C(1) << (exponent_bits + fraction_bits) : 0;
    if (x != x) return infinity | UINT32_C(1) << (fraction_bits - 1);
    if (isinf(x)) return sign | infinity;
    if (x == 0) return sign;
    int exponent;
    frexp(x, &exponent);
    /* x is 1.f times 2 to this power. Subnormals have a smaller significand and the least power. */
    const int least = 2 - (1 << (exponent_bits - 1)), power = exponent - 1 < least ? least : exponent - 1;
    const double quanta = rint(ldexp(fabs(x), fraction_bits - power));
    /* The leading bit of quanta, if there is one, adds 1 to the exponent's field. So does a
     * carry. */
    const double bits = ldexp((double)(power - least), fraction_bits) + quanta;
    return sign | (bits < (double)infinity ? (uint32_t)bits : infinity);
}

static inline uint16_t f16_of_double(double x) {
    return (uint16_t)bits_of_float(x, 5, 10);
}

static inline uint16_t bf16_of_double(double x) {
    return (uint16_t)bits_of_float(x, 8, 7);
}

/* Stores a number as a float of a type, or as one part of a complex item. A NaN is stored as the
 * canonical one. */
static inline void store_float(tally_dtype dtype, double x, void *to) {
    switch (dtype) {
    case TALLY_F16: {
        const uint16_t bits = f16_of_double(x);
        memcpy(to, &bits, sizeof bits);
        break;
    }
    case TALLY_BF16: {
        const uint16_t bits = bf16_of_double(x);
        memcpy(to, &bits, sizeof bits);
        break;
    }
    case TALLY_F32:
    case TALLY_C64: {
        const float rounded = x != x ? float_of_bits(0x7fc00000) : (float)x;
        memcpy(to, &rounded, sizeof rounded);
        break;
    }
    default: {
        const uint64_t nan = UINT64_C(0x7ff8000000000000);
        memcpy(to, x != x ? (const void *)&nan : (const void *)&x, sizeof x);
        break;
    }
    }
}

/* Stores the low bits of a number modulo 2^64. A truth value is stored as 0 or 1. */
static inline void store_integer(tally_dtype dtype, uint64_t x, void *to) {
    const uint8_t x8 = dtype == TALLY_BOOL ? x != 0 : (uint8_t)x;
    const uint16_t x16 = (uint16_t)x;
    const uint32_t x32 = (uint32_t)x;
    switch (item_bytes_of(dtype)) {
    case 1:
        memcpy(to, &x8, 1);
        break;
    case 2:
        memcpy(to, &x16, 2);
        break;
    case 4:
        memcpy(to, &x32, 4);
        break;
    default:
        memcpy(to, &x, 8);
        break;
    }
}

#endif
