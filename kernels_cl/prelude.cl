/* SPDX-License-Identifier: MIT */
/*
 * prelude: what every OpenCL kernel of tally starts with: names of types, constants and operators that mean the same as in the
 * CUDA prelude. The specialised text follows (ITEM, ACC, RESULT, the op's functions, the geometry), then the stems.
 */
#ifdef cl_khr_fp64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
/* The order and the rounding of every operation are part of the result: a * b + c must round twice. */
#pragma OPENCL FP_CONTRACT OFF

#define KERNEL __kernel
#define GLOBAL __global
#define INLINE static inline

/* T_VECTOR: 16 bytes of T. */
typedef uint u32;
typedef uint4 u32_VECTOR;
typedef int i32;
typedef int4 i32_VECTOR;
typedef ulong u64;
typedef ulong2 u64_VECTOR;
typedef long i64;
typedef long2 i64_VECTOR;
typedef float f32;
typedef float4 f32_VECTOR;
#ifdef cl_khr_fp64
typedef double f64;
typedef double2 f64_VECTOR;
#define f64_ZERO 0.0
#define f64_NEG_ZERO (-0.0)
#define f64_LOWEST (-(double)INFINITY)
#define f64_HIGHEST ((double)INFINITY)
#define f64_MIN(a, b) FLOAT_MIN(a, b)
#define f64_MAX(a, b) FLOAT_MAX(a, b)
#define f64_CANONICAL(r) ((r) == (r) ? (r) : as_double(0x7ff8000000000000UL))
#endif

/* IEEE 754-2019 minimum and maximum. No short-circuit operators: branches would keep a CPU's compiler from using vectors. */
#define FLOAT_MIN(a, b) (((a) < (b)) | ((a) != (a)) | (((a) == (b)) & (signbit(a) != 0)) ? (a) : (b))
#define FLOAT_MAX(a, b) (((a) > (b)) | ((a) != (a)) | (((a) == (b)) & (signbit(a) == 0)) ? (a) : (b))
#define INTEGER_MIN(a, b) ((a) < (b) ? (a) : (b))
#define INTEGER_MAX(a, b) ((a) > (b) ? (a) : (b))

/* Per type: +0, -0, the identities of max and min, both of them, and the one NaN that results use. */
#define f32_ZERO 0.0f
#define f32_NEG_ZERO (-0.0f)
#define f32_LOWEST (-INFINITY)
#define f32_HIGHEST INFINITY
#define f32_MIN(a, b) FLOAT_MIN(a, b)
#define f32_MAX(a, b) FLOAT_MAX(a, b)
#define f32_CANONICAL(r) ((r) == (r) ? (r) : as_float(0x7fc00000U))

#define i32_ZERO 0
#define i32_NEG_ZERO 0
#define i32_LOWEST INT_MIN
#define i32_HIGHEST INT_MAX
#define i32_MIN(a, b) INTEGER_MIN(a, b)
#define i32_MAX(a, b) INTEGER_MAX(a, b)
#define i32_CANONICAL(r) (r)

#define u32_ZERO 0U
#define u32_NEG_ZERO 0U
#define u32_LOWEST 0U
#define u32_HIGHEST UINT_MAX
#define u32_MIN(a, b) INTEGER_MIN(a, b)
#define u32_MAX(a, b) INTEGER_MAX(a, b)
#define u32_CANONICAL(r) (r)

#define i64_ZERO 0L
#define i64_NEG_ZERO 0L
#define i64_LOWEST LONG_MIN
#define i64_HIGHEST LONG_MAX
#define i64_MIN(a, b) INTEGER_MIN(a, b)
#define i64_MAX(a, b) INTEGER_MAX(a, b)
#define i64_CANONICAL(r) (r)

#define u64_ZERO 0UL
#define u64_NEG_ZERO 0UL
#define u64_LOWEST 0UL
#define u64_HIGHEST ULONG_MAX
#define u64_MIN(a, b) INTEGER_MIN(a, b)
#define u64_MAX(a, b) INTEGER_MAX(a, b)
#define u64_CANONICAL(r) (r)
