/* SPDX-License-Identifier: MIT */
/*
 * prelude.h: the stub backend's language, C, with the words that the preludes of the real backends
 * define. Only programs of the stub include it. It shares nothing with the other preludes.
 */
#include <stdint.h>
#include <string.h>

#include <math.h>
#include <tgmath.h>

#define KERNEL
#define GLOBAL
#define BOUNDS
#define INLINE static inline __attribute__((unused))
#define NOT_INLINED __attribute__((unused))
#define COPIED
#define ALIGN(n) __attribute__((aligned(n)))
#define SIGN(a) signbit(a)

typedef int8_t i8;
typedef uint8_t u8;
typedef int16_t i16;
typedef uint16_t u16;
typedef int32_t i32;
typedef uint32_t u32;
typedef int64_t i64;
typedef uint64_t u64;
typedef float f32;
typedef double f64;

typedef u16 f16_ITEM;
typedef u16 bf16_ITEM;
typedef f32 f32_ITEM;
typedef f64 f64_ITEM;
typedef i8 i8_ITEM;
typedef i16 i16_ITEM;
typedef i32 i32_ITEM;
typedef i64 i64_ITEM;
typedef u8 u8_ITEM;
typedef u16 u16_ITEM;
typedef u32 u32_ITEM;
typedef u64 u64_ITEM;
typedef u8 bool_ITEM;
typedef struct {
    f32 re, im;
} c64_ITEM;
typedef struct {
    f64 re, im;
} c128_ITEM;

typedef struct {
    u64 words[2];
} f16_VECTOR, bf16_VECTOR, f32_VECTOR, f64_VECTOR, i8_VECTOR, i16_VECTOR, i32_VECTOR, i64_VECTOR, u8_VECTOR, u16_VECTOR,
    u32_VECTOR, u64_VECTOR, bool_VECTOR, c64_VECTOR, c128_VECTOR;

/* ---- the bits of floats ---------------------------------------------------------------------- */

INLINE u32 f32_BITS(f32 v) {
    u32 bits;
    memcpy(&bits, &v, sizeof(v));
    return bits;
}

INLINE f32 f32_OF_BITS(u32 bits) {
    f32 v;
    memcpy(&v, &bits, sizeof(v));
    return v;
}

INLINE u64 f64_BITS(f64 v) {
    u64 bits;
    memcpy(&bits, &v, sizeof(v));
    return bits;
}

INLINE f64 f64_OF_BITS(u64 bits) {
    f64 v;
    memcpy(&v, &bits, sizeof(v));
    return v;
}

/* ---- from storage ---------------------------------------------------------------------------- */

INLINE f32 f16_VALUE(u16 h) {
    const u32 sign = (u32)(h & 0x8000) << 16, exponent = h >> 10 & 31, fraction = h & 1023;
    if (exponent == 31) return f32_OF_BITS(sign | 0x7f800000u | fraction << 13);
    if (exponent) return f32_OF_BITS(sign | (exponent + 112) << 23 | fraction << 13);
    return sign ? -(f32)fraction * 0x1p-24f : (f32)fraction * 0x1p-24f;
}

#define bf16_VALUE(x) f32_OF_BITS((u32)(x) << 16)

/* ---- to storage ------------------------------------------------------------------------------ */

/* Rounds to `bits` of significand, no finer than 2^least, ties to even. */
INLINE f64 rounded(f64 v, int bits, int least) {
    int exponent;
    frexp(v, &exponent);
    const f64 unit = ldexp(1.0, exponent - bits > least ? exponent - bits : least);
    return rint(v / unit) * unit;
}

INLINE u16 f16_STORE(f64 v) {
    if (v != v) return 0x7e00;
    const u16 sign = signbit(v) ? 0x8000 : 0;
    const f64 size = isinf(v) ? v : rounded(fabs(v), 11, -24);
    if (fabs(size) >= 0x1p16) return sign | 0x7c00;
    if (size < 0x1p-14) return sign | (u16)(size * 0x1p24);
    int exponent;
    const f64 fraction = frexp(size, &exponent);
    return sign | (u16)((exponent + 14) << 10) | (u16)(fraction * 0x1p11 - 1024);
}

INLINE u16 bf16_STORE(f64 v) {
    if (v != v) return 0x7fc0;
    const f32 value = (f32)(isinf(v) ? v : rounded(v, 8, -133));
    u32 bits;
    memcpy(&bits, &value, sizeof bits);
    return (u16)(bits >> 16);
}

INLINE f32 f32_STORE_value(f32 v) {
    return v == v ? v : f32_OF_BITS(0x7fc00000u);
}

INLINE f64 f64_STORE(f64 v) {
    const u64 bits = UINT64_C(0x7ff8000000000000);
    if (v != v) memcpy(&v, &bits, sizeof v);
    return v;
}

#define f32_STORE(v) f32_STORE_value((f32)(v))

/* ---- the constants of the value types -------------------------------------------------------- */

#define f32_ZERO 0.0f
#define f32_NEG_ZERO (-0.0f)
#define f32_LOWEST (-INFINITY)
#define f32_HIGHEST INFINITY
#define f64_ZERO 0.0
#define f64_NEG_ZERO (-0.0)
#define f64_LOWEST (-(f64)INFINITY)
#define f64_HIGHEST ((f64)INFINITY)
#define i32_ZERO 0
#define i32_NEG_ZERO 0
#define i32_LOWEST INT32_MIN
#define i32_HIGHEST INT32_MAX
#define u32_ZERO 0u
#define u32_NEG_ZERO 0u
#define u32_LOWEST 0u
#define u32_HIGHEST UINT32_MAX
#define i64_ZERO INT64_C(0)
#define i64_NEG_ZERO INT64_C(0)
#define i64_LOWEST INT64_MIN
#define i64_HIGHEST INT64_MAX
#define u64_ZERO UINT64_C(0)
#define u64_NEG_ZERO UINT64_C(0)
#define u64_LOWEST UINT64_C(0)
#define u64_HIGHEST UINT64_MAX
