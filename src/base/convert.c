/* SPDX-License-Identifier: MIT */
/* convert.c: values of one type as those of another, as kernels store results. */
#include <math.h>
#include <string.h>

#include <tally/backend.h>

#include "base/base.h"

/* A value of any type: `real` of floats, else `whole`, whose upper bits are the sign's. */
typedef struct any_value {
    double real;
    uint64_t whole;
    bool is_float, is_negative;
} any_value;

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

/* Copies a value of up to 8 bytes. Low bytes come first: the library is for such machines only. A
 * memcpy of any size would be a call, and take longer than the conversion. */
static void copy_bits(void *to, const void *from, uint32_t bytes) {
    if (bytes == 1) memcpy(to, from, 1);
    if (bytes == 2) memcpy(to, from, 2);
    if (bytes == 4) memcpy(to, from, 4);
    if (bytes == 8) memcpy(to, from, 8);
}

static double value_of_half(uint32_t bits) {
    const int exponent = (int)(bits >> 10 & 31U);
    const double digits = (double)(bits & 1023U), sign = bits >> 15 ? -1.0 : 1.0;
    if (exponent == 31) return digits != 0.0 ? (double)NAN : sign * (double)INFINITY;
    return sign * (exponent ? ldexp(1024.0 + digits, exponent - 25) : ldexp(digits, -24));
}

static any_value read_value(const tally_dtype_row *type, tally_dtype dtype, const void *from) {
    any_value v = {.is_float = type->kind == TALLY_KIND_FLOAT};
    uint64_t bits = 0;
    copy_bits(&bits, from, type->bytes);
    const uint64_t sign = type->kind == TALLY_KIND_SIGNED ? UINT64_C(1) << (8 * type->bytes - 1) : 0;
    v.is_negative = bits & sign;
    v.whole = type->kind == TALLY_KIND_BOOL ? bits != 0 : (bits ^ sign) - sign;
    if (dtype == TALLY_F16) v.real = value_of_half((uint32_t)bits);
    if (dtype == TALLY_BF16) v.real = (double)float_of_bits((uint32_t)bits << 16);
    if (dtype == TALLY_F32) v.real = (double)float_of_bits((uint32_t)bits);
    if (dtype == TALLY_F64) memcpy(&v.real, &bits, sizeof(v.real));
    return v;
}

/* ---- writing --------------------------------------------------------------------------------- */

/* Rounds an integer to 53 digits by rounding to odd. A later rounding to 24 digits or fewer is then
 * the only one. */
static double odd_of_whole(any_value v) {
    const uint64_t size = v.is_negative ? 0 - v.whole : v.whole;
    const uint64_t odd = size >> 53 ? (size & ~UINT64_C(0x7ff)) | (size & 0x7ffU ? 0x800U : 0U) : size;
    return v.is_negative ? -(double)odd : (double)odd;
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

static uint64_t float_bits(any_value v, tally_dtype to) {
    const double wide = v.is_float ? v.real : odd_of_whole(v);
    if (to == TALLY_F16) return half_of(odd_float(wide));
    if (to == TALLY_BF16) return bfloat_of(odd_float(wide));
    if (to == TALLY_F32) return isnan(wide) ? 0x7fc00000U : bits_of_float((float)wide);
    const double near = v.is_float ? v.real : v.is_negative ? -(double)(0 - v.whole) : (double)v.whole;
    uint64_t bits;
    memcpy(&bits, &near, sizeof(bits));
    return isnan(near) ? UINT64_C(0x7ff8000000000000) : bits;
}

static tally_status whole_bits(any_value v, const tally_dtype_row *to, uint64_t *bits) {
    const bool is_signed = to->kind == TALLY_KIND_SIGNED;
    *bits = v.whole;
    if (!v.is_float) return TALLY_OK;
    const double end = ldexp(1.0, (int)(8 * to->bytes) - is_signed), cut = trunc(v.real);
    if (!(cut < end && cut >= (is_signed ? -end : 0.0)))
        return tally_fail(TALLY_E_ARGUMENT, "%.17g is beyond the range of %s", v.real, to->name);
    *bits = is_signed ? (uint64_t)(int64_t)cut : (uint64_t)cut;
    return TALLY_OK;
}

tally_status tally_value_convert(tally_dtype from, const void *value, tally_dtype to, void *out) {
    const tally_dtype_row *source = tally_dtype_find(from), *target = tally_dtype_find(to);
    if (source && from == to) return memcpy(out, value, source->bytes), TALLY_OK;
    if (!source || !target || source->kind == TALLY_KIND_COMPLEX || target->kind == TALLY_KIND_COMPLEX)
        return TALLY_NAMED(tally_fail(TALLY_E_ARGUMENT, "values of type %d to type %d: real types only", (int)from, (int)to));
    const any_value v = read_value(source, from, value);
    uint64_t bits = v.is_float ? v.real != 0.0 : v.whole != 0;
    tally_status status = TALLY_OK;
    if (target->kind == TALLY_KIND_FLOAT)
        bits = float_bits(v, to);
    else if (target->kind != TALLY_KIND_BOOL)
        status = whole_bits(v, target, &bits);
    if (!status) copy_bits(out, &bits, target->bytes);
    return TALLY_NAMED(status);
}
