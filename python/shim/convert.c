/* SPDX-License-Identifier: MIT */
/* convert.c: values of one item type as those of another, rounded once, to nearest even, with one
 * NaN for each type: as devices store results and as the library converts those of the backend
 * host (src/parts/convert.c). */
#include "shim.h"

#include <math.h>
#include <string.h>

#include <tally/backend.h>

/* An item type whose items are real, or a complex type's parts. */
typedef struct part {
    tally_dtype type;
    tally_kind kind;
    size_t bytes;
    uint32_t count; /* of an item: 2 of complex types */
} part;

/* A real value of any type: `real` of floats, else `whole`, whose upper bits are the sign's. */
typedef struct value {
    double real;
    uint64_t whole;
    int is_float, is_signed;
} value;

static float float_of_bits(uint32_t bits) {
    float v;
    memcpy(&v, &bits, sizeof(v));
    return v;
}

static uint32_t bits_of_float(float v) {
    uint32_t bits;
    memcpy(&bits, &v, sizeof(bits));
    return bits;
}

/* ---- reading --------------------------------------------------------------------------------- */

static double value_of_half(uint32_t bits) {
    const int exponent = (int)(bits >> 10 & 31U);
    const double digits = (double)(bits & 1023U), sign = bits >> 15 ? -1.0 : 1.0;
    if (exponent == 31) return digits != 0.0 ? (double)NAN : sign * (double)INFINITY;
    return sign * (exponent ? ldexp(1024.0 + digits, exponent - 25) : ldexp(digits, -24));
}

static uint64_t read_bits(const char *from, size_t bytes) {
    uint64_t wide;
    uint32_t word;
    uint16_t half;
    if (bytes == 1) return (uint8_t)*from;
    if (bytes == 2) return memcpy(&half, from, sizeof(half)), half;
    if (bytes == 4) return memcpy(&word, from, sizeof(word)), word;
    return memcpy(&wide, from, sizeof(wide)), wide;
}

static value read_value(const part *of, const char *from) {
    const uint64_t bits = read_bits(from, of->bytes), sign = (uint64_t)1 << (8 * of->bytes - 1);
    value v = {.is_float = of->kind == TALLY_KIND_FLOAT, .is_signed = of->kind == TALLY_KIND_SIGNED};
    v.whole = v.is_signed ? (bits ^ sign) - sign : of->type == TALLY_BOOL ? bits != 0 : bits;
    if (of->type == TALLY_F16) v.real = value_of_half((uint32_t)bits);
    if (of->type == TALLY_BF16) v.real = float_of_bits((uint32_t)bits << 16);
    if (of->type == TALLY_F32) v.real = float_of_bits((uint32_t)bits);
    if (of->type == TALLY_F64) memcpy(&v.real, &bits, sizeof(v.real));
    return v;
}

/* ---- writing --------------------------------------------------------------------------------- */

/* Rounds an integer to odd: a later rounding to 24 digits or fewer is then the only one. */
static double odd_of_whole(value v) {
    const int is_negative = v.is_signed && v.whole >> 63;
    const uint64_t size = is_negative ? 0 - v.whole : v.whole;
    const uint64_t odd = size >> 53 ? (size & ~UINT64_C(0x7ff)) | (size & 0x7ffU ? 0x800U : 0U) : size;
    return is_negative ? -(double)odd : (double)odd;
}

/* Rounds to float by rounding to odd. */
static float odd_float(double v) {
    const float near = (float)v;
    const uint32_t bits = bits_of_float(near);
    return (double)near == v || isnan(v) ? near : float_of_bits((bits - (fabs((double)near) > fabs(v) ? 1U : 0U)) | 1U);
}

static uint32_t half_of(float v) {
    const uint32_t bits = bits_of_float(v), sign = bits >> 16 & 0x8000U, size = bits & 0x7fffffffU;
    if (size > 0x7f800000U) return 0x7e00U;
    if (size >= 0x477ff000U) return sign | 0x7c00U; /* 65,520 and above */
    if (size < 0x38800000U) return sign | (bits_of_float(float_of_bits(size) + 0.5f) - 0x3f000000U);
    return sign | (((size + 0xfffU + (size >> 13 & 1U)) >> 13) - (112U << 10));
}

static uint32_t bfloat_of(float v) {
    const uint32_t bits = bits_of_float(v);
    return isnan(v) ? 0x7fc0U : (bits + 0x7fffU + (bits >> 16 & 1U)) >> 16;
}

/* The bits of a float type's value. */
static uint64_t float_bits(value v, tally_dtype out) {
    const double wide = v.is_float ? v.real : odd_of_whole(v);
    if (out == TALLY_F16) return half_of(odd_float(wide));
    if (out == TALLY_BF16) return bfloat_of(odd_float(wide));
    if (out == TALLY_F32) return isnan(wide) ? 0x7fc00000U : bits_of_float((float)wide);
    const double exact = v.is_float ? v.real : v.is_signed ? (double)(int64_t)v.whole : (double)v.whole;
    uint64_t bits;
    memcpy(&bits, &exact, sizeof(bits));
    return isnan(exact) ? UINT64_C(0x7ff8000000000000) : bits;
}

/* The bits of an integer type's value: of an integer modulo its range, of a float without the
 * fraction. Errors: E_ARGUMENT for a float beyond the range. */
static tally_status whole_bits(value v, const part *out, uint64_t *bits) {
    const int is_signed = out->kind == TALLY_KIND_SIGNED;
    *bits = v.whole;
    if (!v.is_float) return TALLY_OK;
    const double end = ldexp(1.0, (int)(8 * out->bytes) - is_signed), cut = trunc(v.real);
    if (!(cut < end && cut >= (is_signed ? -end : 0.0)))
        return tally_fail(TALLY_E_ARGUMENT, "%.17g is beyond the range of %s", v.real, tally_dtype_name(out->type));
    *bits = is_signed ? (uint64_t)(int64_t)cut : (uint64_t)cut;
    return TALLY_OK;
}

static void write_bits(uint64_t bits, char *to, size_t bytes) {
    const uint32_t word = (uint32_t)bits;
    const uint16_t half = (uint16_t)bits;
    if (bytes == 1) *to = (char)bits;
    if (bytes == 2) memcpy(to, &half, sizeof(half));
    if (bytes == 4) memcpy(to, &word, sizeof(word));
    if (bytes == 8) memcpy(to, &bits, sizeof(bits));
}

static tally_status write_value(value v, const part *out, char *to) {
    uint64_t bits = 0;
    tally_status status = TALLY_OK;
    if (out->kind == TALLY_KIND_BOOL)
        bits = v.is_float ? v.real != 0.0 : v.whole != 0;
    else if (out->kind == TALLY_KIND_FLOAT)
        bits = float_bits(v, out->type);
    else
        status = whole_bits(v, out, &bits);
    write_bits(bits, to, out->bytes);
    return status;
}

/* ---- arrays ---------------------------------------------------------------------------------- */

/* The arrays of a conversion. `numbers` is as tally_python_convert takes it. */
typedef struct conversion {
    part from, to;
    uint32_t axis_count;
    const int64_t *numbers;
    int is_copy; /* between equal types, whose NaN stay as they are */
} conversion;

static part part_of(int type) {
    part p = {(tally_dtype)type, TALLY_KIND_FLOAT, 0, 1};
    if (type == TALLY_C64 || type == TALLY_C128) {
        p.type = type == TALLY_C64 ? TALLY_F32 : TALLY_F64;
        p.count = 2;
    }
    p.kind = tally_dtype_kind(p.type);
    p.bytes = tally_dtype_bytes(p.type);
    return p;
}

/* Complex items lose their imaginary part to real types, and are true if either part is. */
static tally_status convert_item(const conversion *c, const char *item, char *to) {
    if (c->is_copy) {
        for (uint32_t i = 0; i < c->to.count; i++)
            write_bits(read_bits(item + i * c->from.bytes, c->from.bytes), to + i * c->to.bytes, c->to.bytes);
        return TALLY_OK;
    }
    const value first = read_value(&c->from, item);
    value second = {.is_float = 1};
    if (c->from.count == 2) second = read_value(&c->from, item + c->from.bytes);
    if (c->to.kind == TALLY_KIND_BOOL && second.real != 0.0) return write_value(second, &c->to, to);
    if (c->to.count == 2) write_value(second, &c->to, to + c->to.bytes);
    return write_value(first, &c->to, to);
}

/* Converts along the axes from `axis` on. */
static tally_status convert_axes(const conversion *c, uint32_t axis, const char *item, char *to) {
    if (axis == c->axis_count) return convert_item(c, item, to);
    const int64_t *extents = c->numbers, *steps = extents + c->axis_count, *out_steps = steps + c->axis_count;
    const int64_t n = extents[axis], step = steps[axis], out_step = out_steps[axis];
    const int is_last = axis + 1 == c->axis_count;
    tally_status status = TALLY_OK;
    for (int64_t i = 0; i < n && !status; i++, item += step, to += out_step)
        status = is_last ? convert_item(c, item, to) : convert_axes(c, axis + 1, item, to);
    return status;
}

tally_status tally_python_convert(int from, uintptr_t items, int to, uintptr_t values, uint32_t axis_count,
                                  const int64_t *numbers) {
    const conversion c = {part_of(from), part_of(to), axis_count, numbers, from == to};
    return convert_axes(&c, 0, (const char *)items, (char *)values);
}
