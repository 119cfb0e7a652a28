/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "golden.h"
#include "oracle/items.h"

const char *golden_items_name(golden_items items) {
#define GOLDEN_ITEMS_ROW(id, name, text) name,
    static const char *const names[] = {GOLDEN_ITEMS_TABLE(GOLDEN_ITEMS_ROW)};
#undef GOLDEN_ITEMS_ROW
    return names[items];
}

/* splitmix64's mix (G. Steele, D. Lea, C. Flood, 2014). */
static uint64_t mix(uint64_t z) {
    z += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

uint64_t golden_random(uint64_t counter) {
    return mix(counter);
}

static uint64_t low_bits(unsigned count) {
    return (UINT64_C(1) << count) - 1;
}

/* ---- floats ---------------------------------------------------------------------------------- */

/* An IEEE 754 format, by the bits of its fields. */
typedef struct format {
    unsigned fraction, exponent, wide; /* wide: the greatest exponent of wide items */
} format;

static format format_of(tally_dtype in) {
    switch (in) {
    case TALLY_F16:
        return (format){10, 5, 12};
    case TALLY_BF16:
        return (format){7, 8, 40};
    case TALLY_F64:
    case TALLY_C128:
        return (format){52, 11, 40};
    default:
        return (format){23, 8, 40};
    }
}

/* Returns the bits of sign, exponent and fraction. The exponent of 1 is 0. */
static uint64_t compose(format f, uint64_t sign, int64_t exponent, uint64_t fraction) {
    const uint64_t biased = (uint64_t)(exponent + (int64_t)low_bits(f.exponent - 1));
    return (sign & 1) << (f.fraction + f.exponent) | biased << f.fraction | (fraction & low_bits(f.fraction));
}

static uint64_t wide(format f, uint64_t r) {
    return compose(f, r >> 63, (int64_t)((r >> 32 & 0xffff) % (2 * f.wide + 1)) - f.wide, mix(r));
}

/* Numbers from 1 - 2^-9 to 1 + 2^-8. A format of few bits gives 1 and its neighbours. The share of
 * numbers above 1 (5 of 15, or 9 of 15) keeps the mean at 1. */
static uint64_t near(format f, uint64_t r) {
    const int is_narrow = f.fraction <= 10;
    const uint64_t fraction = mix(r) & low_bits(is_narrow ? 1 : f.fraction - 8);
    const int is_above = (r >> 32 & 0xffff) % 15 < (is_narrow ? 9 : 5);
    return is_above ? compose(f, r >> 63, 0, fraction) : compose(f, r >> 63, -1, ~fraction);
}

/* In each pair one part is near 1 and the other below 2^-9. */
static uint64_t near_circle(format f, uint64_t i, uint64_t r, uint64_t pair) {
    return (pair >> 40 & 1) == (i & 1) ? near(f, r) : compose(f, r >> 63, -10 - (int64_t)(r >> 32 & 3), mix(r));
}

/* 1000 is (1 + 61/64) 2^9. The fraction's bits below the ninth are less than 1. A format without
 * such bits uses its last two. */
static uint64_t shifted(format f, uint64_t r) {
    return compose(f, 0, 9, (UINT64_C(61) << f.fraction >> 6) + (mix(r) & low_bits(f.fraction > 10 ? f.fraction - 9 : 2)));
}

static uint64_t special(format f, uint64_t i, uint64_t r) {
    const int64_t top = (int64_t)low_bits(f.exponent - 1) + 1; /* exponent of infinities and NaNs */
    const int64_t none = -(int64_t)low_bits(f.exponent - 1);   /* exponent of zeros */
    switch (i) {
    case 0:
        return compose(f, 1, none, 0);
    case 1:
        return compose(f, 0, none, 0);
    case 100:
        return compose(f, 0, top, 0);
    case 128:
        return compose(f, 1, top, 0);
    case 4000:
        return compose(f, 1, top, low_bits(f.fraction - 1) & 0x2d); /* signalling */
    case 100000:
        return compose(f, 0, top, UINT64_C(1) << (f.fraction - 1) | 3);
    default:
        return wide(f, r);
    }
}

static uint64_t float_bits(golden_items items, tally_dtype in, uint32_t input, uint64_t i, uint64_t r) {
    const format f = format_of(in);
    const int is_complex = item_kind_of(in) == ITEM_COMPLEX;
    switch (items) {
    case GOLDEN_SPECIAL:
        return special(f, i + 3 * input, r);
    case GOLDEN_NEAR:
        return is_complex ? near_circle(f, i, r, mix((uint64_t)input << 48 | (i & ~UINT64_C(1)))) : near(f, r);
    case GOLDEN_SHIFTED:
        return shifted(f, r);
    case GOLDEN_MAGNITUDES:
        return compose(f, r >> 63, 1 - (int64_t)low_bits(f.exponent - 1) + (int64_t)((r >> 32) % (low_bits(f.exponent) - 1)),
                       mix(r));
    case GOLDEN_FEW:
        return i % 64 == 62 ? wide(f, r) : 0;
    case GOLDEN_LACKING:
        return i == 5000 ? 0 : compose(f, 0, 0, 0);
    default:
        return wide(f, r);
    }
}

/* ---- integers -------------------------------------------------------------------------------- */

static uint64_t integer_bits(golden_items items, tally_dtype in, uint64_t i, uint64_t r) {
    switch (items) {
    case GOLDEN_NEAR:
        return r | 1;
    case GOLDEN_SHIFTED:
        return 100 + (r & 3);
    case GOLDEN_FEW:
        return i % 64 == 62 ? r | 1 : 0;
    case GOLDEN_LACKING:
        return i == 5000 ? 0 : i % 200 == 150 ? ~(UINT64_C(1) << r % (8 * item_bytes_of(in))) : UINT64_MAX;
    default:
        return in == TALLY_BOOL && r >> 63 ? 0 : r;
    }
}

/* ---- both ------------------------------------------------------------------------------------ */

void golden_fill(golden_items items, tally_dtype in, uint32_t input, void *to, uint64_t n) {
    const item_kind kind = item_kind_of(in);
    const int is_complex = kind == ITEM_COMPLEX;
    const size_t bytes = item_bytes_of(in) / (is_complex ? 2 : 1);
    for (uint64_t i = 0; i < (is_complex ? 2 * n : n); i++) {
        const uint64_t r = mix((uint64_t)input << 48 | i);
        const uint64_t bits =
            is_complex || kind == ITEM_FLOAT ? float_bits(items, in, input, i, r) : integer_bits(items, in, i, r);
        memcpy((unsigned char *)to + i * bytes, &bits, bytes); /* little-endian, like the library */
    }
}

static int is_normal(tally_dtype in, uint64_t bits) {
    const format f = format_of(in);
    const uint64_t exponent = bits >> f.fraction & low_bits(f.exponent);
    return exponent && exponent < low_bits(f.exponent);
}

void golden_fill_close(tally_dtype in, const void *first, void *to, uint64_t n) {
    const item_kind kind = item_kind_of(in);
    const size_t bytes = item_bytes_of(in);
    const uint64_t top = UINT64_C(1) << (8 * bytes - 1);
    for (uint64_t i = 0; i < n; i++) {
        uint64_t bits = 0;
        memcpy(&bits, (const unsigned char *)first + i * bytes, bytes);
        if (in == TALLY_F32 && is_normal(in, bits)) bits ^= golden_random(i) & 15;
        if (in == TALLY_F64 && is_normal(in, bits)) bits ^= (golden_random(i) & 15) << 29;
        if (i == 4096) bits = kind == ITEM_BOOL ? !bits : bits ^ top;
        memcpy((unsigned char *)to + i * bytes, &bits, bytes);
    }
}
