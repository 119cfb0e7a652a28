/* SPDX-License-Identifier: MIT */
#include "patterns.h"

#include <float.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

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

/* Random sign, significand and exponent; what is added rounds almost everywhere. */
static double wide(uint64_t i) {
    const uint64_t bits = pattern_random(i);
    const double significand = 1 + (double)(bits >> 12) * 0x1p-52;
    return ldexp(bits & 1 ? -significand : significand, (int)((bits >> 1) % 81) - 40);
}

/* Bits of a float that has no exact counterpart in the other type; 0: an ordinary value. */
static uint64_t special_bits(int pattern, tally_dtype dtype, uint64_t i, uint64_t n) {
    const int is_f32 = dtype == TALLY_F32;
    const uint64_t random = pattern_random(i);
    switch (pattern) {
    case PATTERN_NAN_FIRST:
        return i != 0 ? 0 : is_f32 ? 0x7fc12345 : UINT64_C(0x7ff8000012345678);
    case PATTERN_NAN_MIDDLE:
        return i != n / 2 ? 0 : is_f32 ? 0xffc54321 : UINT64_C(0xfff8000087654321);
    case PATTERN_NAN_LAST:
        return i != n - 1 ? 0 : is_f32 ? 0x7f800001 : UINT64_C(0x7ff0000000000001);
    case PATTERN_DENORMAL:
        /* The top bit moves to the sign; below it a nonzero significand under a zero exponent. */
        return is_f32 ? (random >> 63 << 31) | (random & 0x7fffff) | 1
                      : (random >> 63 << 63) | (random & UINT64_C(0xfffffffffffff)) | 1;
    default:
        return 0;
    }
}

static double float_value(int pattern, double largest, uint64_t i, uint64_t n) {
    switch (pattern) {
    case PATTERN_RAMP:
        return (double)i;
    case PATTERN_POWERS:
        return ldexp(1, (int)(i % 48) - 24);
    case PATTERN_ALTERNATING:
        return i % 2 ? -(double)(i + 1) : (double)(i + 1);
    case PATTERN_INFINITE:
        return i == n / 3 ? INFINITY : wide(i);
    case PATTERN_NEGATIVE_INFINITE:
        return i == n / 3 ? -INFINITY : wide(i);
    case PATTERN_BOTH_INFINITE:
        return i == n / 3 ? INFINITY : i == n - 1 ? -INFINITY : wide(i);
    case PATTERN_ALL_INFINITE:
        return INFINITY;
    case PATTERN_NEGATIVE_ZERO:
        return -0.0;
    case PATTERN_ZEROS:
        return i == n / 2 ? 0.0 : -0.0;
    case PATTERN_NEGATIVE_ONLY_ZERO:
        return i == n - 1 ? -0.0 : 0.0;
    case PATTERN_LIMITS:
        return pattern_random(i) % 4 ? largest : -largest;
    case PATTERN_ABSORBED:
        return i == 0 ? 1.0 : largest > (double)FLT_MAX ? 0x1.8p-54 : 0x1.8p-25;
    case PATTERN_DUPLICATES:
        return (double)(pattern_random(i) % 5) - 2.5;
    default:
        return wide(i);
    }
}

/* The integer's bits; `low` and `high` are the type's limits as 64 bits. */
static uint64_t integer_value(int pattern, unsigned width, uint64_t low, uint64_t high, uint64_t i, uint64_t n) {
    const uint64_t random = pattern_random(i);
    switch (pattern) {
    case PATTERN_RAMP:
        return i - 1000;
    case PATTERN_POWERS:
        return UINT64_C(1) << i % width;
    case PATTERN_ALTERNATING:
        return i % 2 ? 0 - (i + 1) : i + 1;
    case PATTERN_NAN_FIRST:
        return i == 0 ? (n % 2 ? low : high) : random;
    case PATTERN_NAN_MIDDLE:
        return i == n / 2 ? (n % 2 ? low : high) : random;
    case PATTERN_NAN_LAST:
        return i == n - 1 ? (n % 2 ? low : high) : random;
    case PATTERN_INFINITE:
        return i == n / 3 ? high : random;
    case PATTERN_NEGATIVE_INFINITE:
        return i == n / 3 ? low : random;
    case PATTERN_BOTH_INFINITE:
        return i == n / 3 ? high : i == n - 1 ? low : random;
    case PATTERN_ALL_INFINITE:
        return high;
    case PATTERN_NEGATIVE_ZERO:
        return 0;
    case PATTERN_ZEROS:
        return i == n / 2;
    case PATTERN_NEGATIVE_ONLY_ZERO:
        return i == n - 1 ? low : 0;
    case PATTERN_DENORMAL:
        return random % 31 - 15;
    case PATTERN_LIMITS:
        return random % 4 ? high : low;
    case PATTERN_DUPLICATES:
        return random % 5 == 0 ? low : random % 5 == 1 ? high : random % 5;
    default:
        return random;
    }
}

static void fill_f32(int pattern, float *x, uint64_t n) {
    for (uint64_t i = 0; i < n; i++) {
        const uint32_t bits = (uint32_t)special_bits(pattern, TALLY_F32, i, n);
        /* Copied, not assigned: moving a signalling NaN through a register may quieten it. */
        if (bits)
            memcpy(&x[i], &bits, sizeof bits);
        else
            x[i] = (float)float_value(pattern, FLT_MAX, i, n);
    }
}

static void fill_f64(int pattern, double *x, uint64_t n) {
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t bits = special_bits(pattern, TALLY_F64, i, n);
        if (bits)
            memcpy(&x[i], &bits, sizeof bits);
        else
            x[i] = float_value(pattern, DBL_MAX, i, n);
    }
}

void pattern_fill(int pattern, tally_dtype dtype, void *items, uint64_t n) {
    uint32_t *narrow = items;
    uint64_t *wide_items = items;
    switch (dtype) {
    case TALLY_F32:
        fill_f32(pattern, items, n);
        break;
    case TALLY_F64:
        fill_f64(pattern, items, n);
        break;
    case TALLY_I32:
        for (uint64_t i = 0; i < n; i++)
            narrow[i] = (uint32_t)integer_value(pattern, 32, (uint64_t)INT64_C(-0x80000000), INT32_MAX, i, n);
        break;
    case TALLY_U32:
        for (uint64_t i = 0; i < n; i++) narrow[i] = (uint32_t)integer_value(pattern, 32, 0, UINT32_MAX, i, n);
        break;
    case TALLY_I64:
        for (uint64_t i = 0; i < n; i++) wide_items[i] = integer_value(pattern, 64, UINT64_C(1) << 63, INT64_MAX, i, n);
        break;
    case TALLY_U64:
        for (uint64_t i = 0; i < n; i++) wide_items[i] = integer_value(pattern, 64, 0, UINT64_MAX, i, n);
        break;
    case TALLY_DTYPE_DEFAULT:
    case TALLY_DTYPE_END:
        break;
    }
}
