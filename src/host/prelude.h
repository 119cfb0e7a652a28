/* SPDX-License-Identifier: MIT */
/* prelude: the words of the other preludes (kernels_cl/prelude.cl), in C. The programs that the
 * build makes of the ops' rows (generate/) begin with it, then have their specialised text, and
 * end with entry.h. */

/*
 * gcc 12 fuses the products and sums of complex numbers into one rounding where its vectors have
 * such an instruction, -ffp-contract=off or not. So only programs that call fma have it (FUSES).
 * Where the user's options give it to all, complex items get no vectors.
 */
#if defined(__GNUC__) && !defined(__clang__)
#if defined(FUSES) && defined(__AVX2__)
#pragma GCC target("fma")
#elif defined(COMPLEX_ITEMS) && defined(__FMA__)
#pragma GCC optimize("no-tree-vectorize", "no-tree-slp-vectorize")
#endif
#endif

#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include <tgmath.h>

#include "host/programs.h"

#define HOST 1
#define UNUSED __attribute__((unused)) /* no op uses all of the words */
#define KERNEL static UNUSED
#define GLOBAL
#define INLINE static inline UNUSED
#define OUT_OF_LINE INLINE
#define NOT_INLINED __attribute__((noinline))
/* All calls of such a function are inlined: one would leave a loop without vectors. */
#define WHOLE_STEP __attribute__((flatten))
/* Each call of such a function has a copy of its own. */
#define COPIED __attribute__((always_inline))
#define ALIGN(n) __attribute__((aligned(n)))

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

/* A kernel runs as its only group. */
#define get_group_id(dimension) ((u64)0)
INLINE u64 min(u64 a, u64 b) {
    return a < b ? a : b;
}

#include "host/bits.h"

/* x or 0. gcc would square both and then choose, where one of them is squared (BIG_SQUARE). */
#define GIVEN_THAT(is, x) _Generic((x), f32 : f32_GIVEN_THAT, default : f64_GIVEN_THAT)(is, x)
INLINE f32 f32_GIVEN_THAT(bool is, f32 x) {
    return f32_OF_BITS(f32_BITS(x) & -(u32)is);
}
INLINE f64 f64_GIVEN_THAT(bool is, f64 x) {
    return f64_OF_BITS(f64_BITS(x) & -(u64)is);
}

/* a if `is` has all bits, b if it is 0. Of a choice by ?: gcc may make a branch that computes `a`,
 * which leaves a loop without vectors. */
#define SELECT(type, value)                                                                                                    \
    INLINE type type##_SELECT(u32 is, type a, type b) {                                                                        \
        return value;                                                                                                          \
    }
#define SELECT_WHOLE(type) SELECT(type, (type)(b ^ ((a ^ b) & (type)(i32)is)))
SELECT_WHOLE(i8)
SELECT_WHOLE(u8)
SELECT_WHOLE(i16)
SELECT_WHOLE(u16)
SELECT_WHOLE(i32)
SELECT_WHOLE(u32)
SELECT_WHOLE(i64)
SELECT_WHOLE(u64)
SELECT(f32, f32_OF_BITS(u32_SELECT(is, f32_BITS(a), f32_BITS(b))))
SELECT(f64, f64_OF_BITS(u64_SELECT(is, f64_BITS(a), f64_BITS(b))))

#define SIGN(a) (sizeof(a) == 4 ? (i32)f32_BITS((f32)(a)) < 0 : (i64)f64_BITS((f64)(a)) < 0)

/*
 * IEEE 754-2019 minimum and maximum, in which a NaN wins and -0 < +0, by the processor's, which
 * gives its second operand where neither is less. Taken both ways round the results differ for a
 * NaN and for zeros alone. Their bits together are a NaN, of any payload, or the zero that wins.
 */
#define LEAST_AND_MOST(f, u, sign)                                                                                             \
    INLINE f f##_LEAST(f a, f b) {                                                                                             \
        return f##_OF_BITS(f##_BITS(a < b ? a : b) | f##_BITS(b < a ? b : a));                                                 \
    }                                                                                                                          \
    INLINE f f##_MOST(f a, f b) {                                                                                              \
        const u x = f##_BITS(a > b ? a : b), y = f##_BITS(b > a ? b : a);                                                      \
        return f##_OF_BITS((x | y) ^ ((x ^ y) & (sign)));                                                                      \
    }
LEAST_AND_MOST(f32, u32, UINT32_C(1) << 31)
LEAST_AND_MOST(f64, u64, UINT64_C(1) << 63)
#define FLOAT_MIN(a, b) _Generic((a), f32 : f32_LEAST, default : f64_LEAST)(a, b)
#define FLOAT_MAX(a, b) _Generic((a), f32 : f32_MOST, default : f64_MOST)(a, b)

/* The one of a and b that is a number; of two, their minimum or maximum. That is a NaN beside one.
 * All is computed before it is chosen: gcc makes no vectors of two such steps with branches. */
#define LEAST_AND_MOST_NUMBER(f)                                                                                               \
    INLINE f f##_LEAST_NUMBER(f a, f b) {                                                                                      \
        const f least = f##_LEAST(a, b), other = b != b ? a : b;                                                               \
        return least != least ? other : least;                                                                                 \
    }                                                                                                                          \
    INLINE f f##_MOST_NUMBER(f a, f b) {                                                                                       \
        const f most = f##_MOST(a, b), other = b != b ? a : b;                                                                 \
        return most != most ? other : most;                                                                                    \
    }
LEAST_AND_MOST_NUMBER(f32)
LEAST_AND_MOST_NUMBER(f64)
#define NUMBER_MIN(a, b) _Generic((a), f32 : f32_LEAST_NUMBER, default : f64_LEAST_NUMBER)(a, b)
#define NUMBER_MAX(a, b) _Generic((a), f32 : f32_MOST_NUMBER, default : f64_MOST_NUMBER)(a, b)

/* ---- storage --------------------------------------------------------------------------------- */

typedef i8 i8_ITEM;
typedef u8 u8_ITEM;
typedef u8 bool_ITEM;
typedef i16 i16_ITEM;
typedef u16 u16_ITEM;
typedef u16 f16_ITEM;
typedef u16 bf16_ITEM;
typedef i32 i32_ITEM;
typedef u32 u32_ITEM;
typedef f32 f32_ITEM;
typedef i64 i64_ITEM;
typedef u64 u64_ITEM;
typedef f64 f64_ITEM;
typedef struct {
    f32 re, im;
} c64_ITEM;
typedef struct {
    f64 re, im;
} c128_ITEM;
typedef struct {
    u64 words[2];
} i8_VECTOR, u8_VECTOR, bool_VECTOR, i16_VECTOR, u16_VECTOR, f16_VECTOR, bf16_VECTOR, i32_VECTOR, u32_VECTOR, f32_VECTOR,
    i64_VECTOR, u64_VECTOR, f64_VECTOR, c64_VECTOR, c128_VECTOR;

/* ---- items to values ------------------------------------------------------------------------- */

/* Exact; a NaN stays a NaN. A subnormal's fraction is put behind the point of 2^-14, which is then
 * subtracted. There is no branch, so that loops become vectors. */
INLINE f32 f16_value(u16 x) {
    const u32 size = (u32)(x & 0x7fffU) << 13, sign = (u32)(x & 0x8000U) << 16;
    const u32 wide = size + (size >= 0x0f800000U ? 0x70000000U : 0x38000000U);
    const u32 subnormal = f32_BITS(f32_OF_BITS(size + 0x38800000U) - 0x1p-14f);
    return f32_OF_BITS((size < 0x00800000U ? subnormal : wide) | sign);
}
#define f16_VALUE(x) _Generic((x), f32 : (x), default : f16_value((u16)(x)))
#define bf16_VALUE(x) f32_OF_BITS((u32)(x) << 16)

/* Halves are loaded as floats. gcc 12 makes no vectors of the processor's conversion. The byte
 * `ahead` of each is prefetched; 0: none is. */
#define f16_LOADED f32
INLINE void f16_values(const u16 *from, int count, int ahead, f32 *to) {
    int i = 0;
    (void)ahead;
#ifdef __AVX512F__
    for (; i + 16 <= count; i += 16) {
        short halves __attribute__((vector_size(32)));
        float values __attribute__((vector_size(64))) = {0};
        if (ahead && i % 32 == 0) __builtin_prefetch((const char *)(from + i) + ahead);
        memcpy(&halves, from + i, sizeof(halves));
        values = __builtin_ia32_vcvtph2ps512_mask(halves, values, -1, 4 /* rounds as the thread does */);
        memcpy(to + i, &values, sizeof(values));
    }
#elif defined(__F16C__)
    for (; i + 8 <= count; i += 8) {
        short halves __attribute__((vector_size(16)));
        float values __attribute__((vector_size(32)));
        if (ahead && i % 32 == 0) __builtin_prefetch((const char *)(from + i) + ahead);
        memcpy(&halves, from + i, sizeof(halves));
        values = __builtin_ia32_vcvtph2ps256(halves);
        memcpy(to + i, &values, sizeof(values));
    }
#endif
    for (; i < count; i++) to[i] = f16_value(from[i]);
}

/*
 * Stands at the end of a program's functions that have vectors. Code without AVX that comes next
 * otherwise awaits the upper halves of the vectors. gcc puts it there by itself from -O2 on. Of
 * groups of two chunks each then awaited the one before: a dot of 2^16 f32 took 6.6 us of one core
 * of a Xeon, and takes 4.7 (November 2026).
 */
#ifdef __AVX__
#define LEAVE_VECTORS __builtin_ia32_vzeroupper();
#else
#define LEAVE_VECTORS
#endif

/* Vectors whose products of 32-bit integers are those of every other one, in 64 bits. */
#if defined(__AVX2__) && defined(__GNUC__) && !defined(__clang__)
#ifdef __AVX512F__
#define WIDE_BYTES 64
#define EVEN_PRODUCTS(u, x, y) __builtin_ia32_pmul##u##dq512_mask((i32_WIDE)(x), (i32_WIDE)(y), (i64_WIDE){0}, -1)
#else
#define WIDE_BYTES 32
#define EVEN_PRODUCTS(u, x, y) __builtin_ia32_pmul##u##dq256((i32_WIDE)(x), (i32_WIDE)(y))
#endif
#define WIDE __attribute__((vector_size(WIDE_BYTES)))
typedef i32 i32_WIDE WIDE;
typedef u32 u32_WIDE WIDE;
typedef long long i64_WIDE WIDE;
typedef u64 u64_WIDE WIDE;
INLINE u64_WIDE i32_even_products(u32_WIDE x, u32_WIDE y) {
    return (u64_WIDE)EVEN_PRODUCTS(, x, y);
}
INLINE u64_WIDE u32_even_products(u32_WIDE x, u32_WIDE y) {
    return (u64_WIDE)EVEN_PRODUCTS(u, x, y);
}
/* The others in their place. */
INLINE u32_WIDE odd_items(u32_WIDE x) {
    return (u32_WIDE)((u64_WIDE)x >> 32);
}
#endif

/*
 * Rounded once. AVX-512 has an instruction for vectors of 64-bit integers. Without it gcc 12
 * converts one by one, and unsigned ones with a branch that is often mispredicted. 2^84 plus the
 * upper half at 2^32, and 2^52 plus the lower half, are numbers whose bits hold the halves. GB/s of
 * a core of an EPYC (Zen 5), November 2026, of 512 KiB, one by one and by these: var of i64 16, 40,
 * of u64 3, 42, mean of u64 3, 69.
 */
#define OF_HALVES(upper, lower, offset)                                                                                        \
    ((f64_OF_BITS((upper) | UINT64_C(0x4530000000000000)) - (offset)) + f64_OF_BITS((lower) | UINT64_C(0x4330000000000000)))
INLINE f64 f64_of_u64(u64 x) {
    return OF_HALVES(x >> 32, x & 0xffffffffU, 0x1p84 + 0x1p52);
}
INLINE f64 f64_of_i64(i64 x) {
    return OF_HALVES(((u64)x >> 32) ^ 0x80000000U, (u64)x & 0xffffffffU, 0x1p84 + 0x1p63 + 0x1p52);
}
#ifdef __AVX512DQ__
#define f64_OF_u64(x) ((f64)(x))
#define f64_OF_i64(x) ((f64)(x))
#define COUNTED(n) ((V)(n))
#else
#define f64_OF_u64(x) f64_of_u64(x)
#define f64_OF_i64(x) f64_of_i64(x)
#define COUNTED(n) ((V)f64_of_u64(n)) /* below 2^53: rounded once */
#endif

/* ---- results to items: rounded once, to nearest even; one NaN for each type ------------------ */

/* Rounds to f32 by rounding to odd, as the other preludes do. */
INLINE f32 round_to_odd(f64 v) {
    const f32 near = (f32)v;
    const u32 bits = f32_BITS(near);
    return (f64)near == v ? near : f32_OF_BITS((bits - (fabs((f64)near) > fabs(v) ? 1U : 0U)) | 1U);
}

INLINE u16 f16_of_f32(f32 v) {
    const u32 bits = f32_BITS(v), sign = bits >> 16 & 0x8000U, size = bits & 0x7fffffffU;
    if (size > 0x7f800000U) return 0x7e00U;
    if (size >= 0x477ff000U) return (u16)(sign | 0x7c00U); /* 65,520 and above */
    if (size < 0x38800000U) return (u16)(sign | (f32_BITS(f32_OF_BITS(size) + 0.5f) - 0x3f000000U));
    return (u16)(sign | ((size + 0xfffU + (size >> 13 & 1U)) >> 13) - (112U << 10));
}

INLINE u16 bf16_of_f32(f32 v) {
    const u32 bits = f32_BITS(v);
    return (bits & 0x7fffffffU) > 0x7f800000U ? 0x7fc0U : (u16)((bits + 0x7fffU + (bits >> 16 & 1U)) >> 16);
}

INLINE f32 f32_canonical(f32 v) {
    return v == v ? v : f32_OF_BITS(0x7fc00000U);
}

INLINE f64 f64_canonical(f64 v) {
    return v == v ? v : f64_OF_BITS(UINT64_C(0x7ff8000000000000));
}

#define f16_STORE(v) f16_of_f32(round_to_odd(v))
#define bf16_STORE(v) bf16_of_f32(round_to_odd(v))
#define f32_STORE(v) f32_canonical((f32)(v))
#define f64_STORE(v) f64_canonical((f64)(v))

/* ---- constants: +0, -0, the identities of max and min ---------------------------------------- */

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
#define u32_ZERO 0U
#define u32_NEG_ZERO 0U
#define u32_LOWEST 0U
#define u32_HIGHEST UINT32_MAX
#define i64_ZERO INT64_C(0)
#define i64_NEG_ZERO INT64_C(0)
#define i64_LOWEST INT64_MIN
#define i64_HIGHEST INT64_MAX
#define u64_ZERO UINT64_C(0)
#define u64_NEG_ZERO UINT64_C(0)
#define u64_LOWEST UINT64_C(0)
#define u64_HIGHEST UINT64_MAX
