/* SPDX-License-Identifier: MIT */
/* prelude: the words of the other preludes (kernels_cl/prelude.cl), in C. tally_host_programs
 * (main.c) puts it before an op's specialised text and the stems of kernels_cl, so that a CPU's
 * kernel becomes a function of the library. It has the item types that need no conversion, and
 * those of their results. */
#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include <tgmath.h>

#define HOST 1
#define UNUSED __attribute__((unused)) /* no op uses all of the words */
#define KERNEL static UNUSED
#define GLOBAL
#define INLINE static inline UNUSED
#define ALIGN(n) __attribute__((aligned(n)))
#define SIGN(a) (signbit(a) != 0)

typedef uint8_t u8;
typedef int32_t i32;
typedef uint32_t u32;
typedef int64_t i64;
typedef uint64_t u64;
typedef float f32;
typedef double f64;

/* One group of one thread. */
#define get_group_id(dimension) ((u64)0)
INLINE u64 min(u64 a, u64 b) {
    return a < b ? a : b;
}

#include "host/bits.h"

/* ---- storage --------------------------------------------------------------------------------- */

typedef f32 f32_ITEM;
typedef f64 f64_ITEM;
typedef i32 i32_ITEM;
typedef u32 u32_ITEM;
typedef i64 i64_ITEM;
typedef u64 u64_ITEM;
typedef u8 bool_ITEM;
typedef struct {
    u64 words[2];
} f32_VECTOR, f64_VECTOR, i32_VECTOR, u32_VECTOR, i64_VECTOR, u64_VECTOR;

/* Each type has one NaN. */
INLINE f32 f32_canonical(f32 v) {
    const u32 bits = 0x7fc00000U;
    if (v != v) memcpy(&v, &bits, sizeof(v));
    return v;
}

INLINE f64 f64_canonical(f64 v) {
    const u64 bits = UINT64_C(0x7ff8000000000000);
    if (v != v) memcpy(&v, &bits, sizeof(v));
    return v;
}

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
