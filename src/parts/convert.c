/* SPDX-License-Identifier: MIT */
/* Results of the library's programs, which have their ops' own types, as other types. Each is
 * stored as the kernels store it (src/program/source_term.c). */
#ifdef __GNUC__
#pragma GCC diagnostic ignored "-Wparentheses" /* the prelude is for programs without warnings */
#endif
#include "host/prelude.h"

#include "parts/parts.h"

/* A value of any type: `real` of floats, else `whole`, whose upper bits are the sign's. */
typedef struct any_value {
    f64 real;
    u64 whole;
} any_value;

static any_value read_value(tally_dtype type, const void *from) {
    any_value v = {0};
    u64 bits = 0;
    memcpy(&bits, from, tally_dtype_bytes(type));
    const uint32_t unused = 64 - 8 * (uint32_t)tally_dtype_bytes(type);
    v.whole = tally_dtype_kind(type) == TALLY_KIND_SIGNED ? (u64)((i64)(bits << unused) >> unused) : bits;
    if (type == TALLY_F16) v.real = f16_VALUE((u16)bits);
    if (type == TALLY_BF16) v.real = f32_OF_BITS((u32)bits << 16);
    if (type == TALLY_F32) v.real = f32_OF_BITS((u32)bits);
    if (type == TALLY_F64) v.real = f64_OF_BITS(bits);
    return v;
}

void tally_part_convert(tally_dtype from, const void *value, tally_dtype out, void *to) {
    const size_t bytes = tally_dtype_bytes(out);
    if (from == out) {
        memcpy(to, value, bytes);
        return;
    }
    const any_value v = read_value(from, value);
    const bool is_float = tally_dtype_is_float(from), is_signed = tally_dtype_kind(from) == TALLY_KIND_SIGNED;
    const f64 wide = is_float ? v.real : is_signed ? (f64)(i64)v.whole : (f64)v.whole;
    /* An integer becomes an f32 in one rounding. */
    const f32 narrow = is_float ? (f32)v.real : is_signed ? (f32)(i64)v.whole : (f32)v.whole;
    u64 bits = v.whole;
    if (out == TALLY_F16) bits = f16_of_f32(round_to_odd(wide));
    if (out == TALLY_BF16) bits = bf16_of_f32(round_to_odd(wide));
    if (out == TALLY_F32) bits = f32_BITS(f32_canonical(narrow));
    if (out == TALLY_F64) bits = f64_BITS(f64_canonical(wide));
    if (out == TALLY_BOOL) bits = v.whole != 0;
    memcpy(to, &bits, bytes);
}
