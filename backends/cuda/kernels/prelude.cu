/* SPDX-License-Identifier: MIT */
/*
 * prelude: what every CUDA kernel of tally starts with: names of types, constants and operators that mean the same as in the
 * OpenCL prelude, and the exchange between the items of a warp. The specialised text follows (ITEM, ACC, RESULT, the op's
 * functions, the geometry), then the stems. NVRTC compiles it without any include, with --fmad=false: the order and the
 * rounding of every operation are part of the result.
 */
#define KERNEL extern "C" __global__
/* Of a kernel that is launched with GROUP items. One group to a multiprocessor is all that is asked for: otherwise ptxas saves
 * registers for sm_80 to sm_120 (32 instead of 48, CUDA 13.0) by having 4 of group_tree's 8 loads in flight. */
#define BOUNDS __launch_bounds__(GROUP, 1)
#define GLOBAL
#define INLINE static __device__ __forceinline__

/* T_VECTOR: 16 bytes of T. */
typedef unsigned int u32;
typedef uint4 u32_VECTOR;
typedef int i32;
typedef int4 i32_VECTOR;
typedef unsigned long long u64;
typedef ulonglong2 u64_VECTOR;
typedef long long i64;
typedef longlong2 i64_VECTOR;
typedef float f32;
typedef float4 f32_VECTOR;
typedef double f64;
typedef double2 f64_VECTOR;

/* IEEE 754-2019 minimum and maximum. */
#define FLOAT_MIN(a, b, negative) (((a) < (b)) | ((a) != (a)) | (((a) == (b)) & negative(a)) ? (a) : (b))
#define FLOAT_MAX(a, b, negative) (((a) > (b)) | ((a) != (a)) | (((a) == (b)) & !negative(a)) ? (a) : (b))
#define INTEGER_MIN(a, b) ((a) < (b) ? (a) : (b))
#define INTEGER_MAX(a, b) ((a) > (b) ? (a) : (b))

/* Per type: +0, -0, the identities of max and min, both of them, and the one NaN that results use. */
#define f32_NEGATIVE(a) (__float_as_int(a) < 0)
#define f32_ZERO 0.0f
#define f32_NEG_ZERO (-0.0f)
#define f32_LOWEST __int_as_float(0xff800000)
#define f32_HIGHEST __int_as_float(0x7f800000)
#define f32_MIN(a, b) FLOAT_MIN(a, b, f32_NEGATIVE)
#define f32_MAX(a, b) FLOAT_MAX(a, b, f32_NEGATIVE)
#define f32_CANONICAL(r) ((r) == (r) ? (r) : __int_as_float(0x7fc00000))

#define f64_NEGATIVE(a) (__double2hiint(a) < 0)
#define f64_ZERO 0.0
#define f64_NEG_ZERO (-0.0)
#define f64_LOWEST __longlong_as_double(0xfff0000000000000LL)
#define f64_HIGHEST __longlong_as_double(0x7ff0000000000000LL)
#define f64_MIN(a, b) FLOAT_MIN(a, b, f64_NEGATIVE)
#define f64_MAX(a, b) FLOAT_MAX(a, b, f64_NEGATIVE)
#define f64_CANONICAL(r) ((r) == (r) ? (r) : __longlong_as_double(0x7ff8000000000000LL))

#define i32_ZERO 0
#define i32_NEG_ZERO 0
#define i32_LOWEST (-2147483647 - 1)
#define i32_HIGHEST 2147483647
#define i32_MIN(a, b) INTEGER_MIN(a, b)
#define i32_MAX(a, b) INTEGER_MAX(a, b)
#define i32_CANONICAL(r) (r)

#define u32_ZERO 0U
#define u32_NEG_ZERO 0U
#define u32_LOWEST 0U
#define u32_HIGHEST 0xffffffffU
#define u32_MIN(a, b) INTEGER_MIN(a, b)
#define u32_MAX(a, b) INTEGER_MAX(a, b)
#define u32_CANONICAL(r) (r)

#define i64_ZERO 0LL
#define i64_NEG_ZERO 0LL
#define i64_LOWEST (-9223372036854775807LL - 1)
#define i64_HIGHEST 9223372036854775807LL
#define i64_MIN(a, b) INTEGER_MIN(a, b)
#define i64_MAX(a, b) INTEGER_MAX(a, b)
#define i64_CANONICAL(r) (r)

#define u64_ZERO 0ULL
#define u64_NEG_ZERO 0ULL
#define u64_LOWEST 0ULL
#define u64_HIGHEST 0xffffffffffffffffULL
#define u64_MIN(a, b) INTEGER_MIN(a, b)
#define u64_MAX(a, b) INTEGER_MAX(a, b)
#define u64_CANONICAL(r) (r)

/* ---- within a warp ------------------------------------------------------------------------------------------------ */

#define WARP 32
#define FULL_MASK 0xffffffffU

/* A value of any type as the 32-bit words that the shuffles exchange. */
template <typename T> union words {
    T value;
    u32 word[(sizeof(T) + 3) / 4];
};

/* The value `distance` items up the warp; an item's own where that is beyond the warp. All 32 items take part. */
template <typename T> INLINE T shuffle_down(T value, u32 distance) {
    words<T> w;
    w.value = value;
#pragma unroll
    for (int i = 0; i < (int)((sizeof(T) + 3) / 4); i++) w.word[i] = __shfl_down_sync(FULL_MASK, w.word[i], distance);
    return w.value;
}

/* Item 0's value, for all 32. */
template <typename T> INLINE T broadcast(T value) {
    words<T> w;
    w.value = value;
#pragma unroll
    for (int i = 0; i < (int)((sizeof(T) + 3) / 4); i++) w.word[i] = __shfl_sync(FULL_MASK, w.word[i], 0);
    return w.value;
}
