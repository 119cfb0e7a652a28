/* SPDX-License-Identifier: MIT */
/*
 * prelude: the words that every CUDA kernel of tally is written with.
 *
 * Computes: nothing by itself.
 * How: names of types, constants and conversions mean the same here as in the OpenCL prelude; and
 * threads of a warp exchange values. For each item type T, T_ITEM is its storage, and T_VECTOR is
 * 16 bytes of it. T_VALUE(x) is an item as the type that it is computed in, and T_STORE(v) is a
 * result as an item. Those that are casts in every language are in kernels/arithmetic.h. f16 and
 * bf16 are stored as 16 bits and computed in f32.
 * Needs: NVRTC, which compiles it without any include and with --fmad=false: the order and the
 * rounding of every operation are part of the result. The specialised text follows (ITEM, ACC,
 * RESULT, the op's functions, the geometry), then the stems.
 * Why: a kernel or an op that is written with these words compiles in all languages.
 */
#define KERNEL extern "C" __global__
/*
 * Bounds of a kernel that is launched with GROUP threads. They ask for room for one group on a
 * multiprocessor, and not for more. Otherwise ptxas saves registers for sm_80 to sm_120 (32 instead
 * of 48, CUDA 13.0) and has 4 of group_tree's 8 loads in flight.
 */
#define BOUNDS __launch_bounds__(GROUP, 1)
/* Bounds that leave room for `groups` groups: for kernels that wait for memory. */
#define BOUNDS_OF(groups) __launch_bounds__(GROUP, groups)
#define GLOBAL
#define ATOMIC
#define LOCAL
#define SHARED __shared__
#define INLINE static __device__ __forceinline__
#define NOT_INLINED __device__ __noinline__
#define COPIED
#define ALIGN(n) __align__(n)
#define KEEP_ROLLED _Pragma("unroll 1")

#define GROUP_ID ((u64)blockIdx.x)
#define GROUP_COUNT ((u64)gridDim.x)
#define THREAD_ID threadIdx.x
#define BARRIER __syncthreads();
#define SHARED_ADDRESS(pointer) ((u32)__cvta_generic_to_shared(pointer))

typedef signed char i8;
typedef unsigned char u8;
typedef short i16;
typedef unsigned short u16;
typedef int i32;
typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;
typedef float f32;
typedef double f64;

#ifndef INFINITY
#define INFINITY __int_as_float(0x7f800000)
#endif
#ifndef NAN
#define NAN __int_as_float(0x7fc00000)
#endif

INLINE bool SIGN(f32 a) {
    return __float_as_int(a) < 0;
}

INLINE bool SIGN(f64 a) {
    return __double2hiint(a) < 0;
}

/* IEEE 754-2019 minimum and maximum: an instruction for f32 from sm_80 on. f64 has one that a NaN
 * loses. Beside it a comparison finds NaNs, and a select puts one in the result. The compiler would
 * make the one wait for the other. For f64, comparing the bits as integers takes longer. */
#if __CUDA_ARCH__ >= 800
INLINE f32 minimum(f32 a, f32 b) {
    f32 v;
    asm("min.NaN.f32 %0, %1, %2;" : "=f"(v) : "f"(a), "f"(b));
    return v;
}

INLINE f32 maximum(f32 a, f32 b) {
    f32 v;
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(v) : "f"(a), "f"(b));
    return v;
}

#define NAN_ELSE_F64(name, instruction)                                                                                        \
    INLINE f64 name(f64 a, f64 b) {                                                                                            \
        f64 v;                                                                                                                 \
        asm("{\n\t.reg .pred unordered;\n\t.reg .u32 low, high;\n\t.reg .f64 v;\n\t" instruction                                \
            ".f64 v, %1, %2;\n\tsetp.nan.f64 unordered, %1, %2;\n\tmov.b64 {low, high}, v;\n\t"                               \
            "selp.u32 high, 0x7ff80000, high, unordered;\n\tmov.b64 %0, {low, high};\n\t}"                                    \
            : "=d"(v)                                                                                                          \
            : "d"(a), "d"(b));                                                                                                 \
        return v;                                                                                                              \
    }
NAN_ELSE_F64(minimum, "min")
NAN_ELSE_F64(maximum, "max")

/* A NaN loses. */
INLINE f32 least_number(f32 a, f32 b) {
    return fminf(a, b);
}

INLINE f32 largest_number(f32 a, f32 b) {
    return fmaxf(a, b);
}

INLINE f64 least_number(f64 a, f64 b) {
    return fmin(a, b);
}

INLINE f64 largest_number(f64 a, f64 b) {
    return fmax(a, b);
}

#define FLOAT_MIN(a, b) minimum(a, b)
#define NUMBER_MIN(a, b) least_number(a, b)
#define NUMBER_MAX(a, b) largest_number(a, b)
/* The maximum where the signs of zeros do not matter. */
INLINE f32 larger(f32 a, f32 b) {
    return maximum(a, b);
}

INLINE f64 larger(f64 a, f64 b) {
    return (a > b) | (a != a) ? a : b;
}

#define FLOAT_MAX(a, b) maximum(a, b)
#define LARGER(a, b) larger(a, b)
#endif

/* ---- the bits of floats ---------------------------------------------------------------------- */

#define f32_BITS(v) __float_as_uint(v)
#define f32_OF_BITS(bits) __uint_as_float(bits)
#define f64_BITS(v) ((u64)__double_as_longlong(v))
#define f64_OF_BITS(bits) __longlong_as_double((i64)(bits))

/* ---- storage --------------------------------------------------------------------------------- */

typedef i8 i8_ITEM;
typedef uint4 i8_VECTOR;
typedef u8 u8_ITEM;
typedef uint4 u8_VECTOR;
typedef u8 bool_ITEM;
typedef uint4 bool_VECTOR;
typedef i16 i16_ITEM;
typedef uint4 i16_VECTOR;
typedef u16 u16_ITEM;
typedef uint4 u16_VECTOR;
typedef u16 f16_ITEM;
typedef uint4 f16_VECTOR;
typedef u16 bf16_ITEM;
typedef uint4 bf16_VECTOR;
typedef i32 i32_ITEM;
typedef int4 i32_VECTOR;
typedef u32 u32_ITEM;
typedef uint4 u32_VECTOR;
typedef f32 f32_ITEM;
typedef float4 f32_VECTOR;
typedef i64 i64_ITEM;
typedef longlong2 i64_VECTOR;
typedef u64 u64_ITEM;
typedef ulonglong2 u64_VECTOR;
typedef f64 f64_ITEM;
typedef double2 f64_VECTOR;
typedef struct {
    f32 re, im;
} c64_ITEM;
typedef float4 c64_VECTOR;
typedef struct {
    f64 re, im;
} c128_ITEM;
typedef double2 c128_VECTOR;

/* ---- items to values ------------------------------------------------------------------------- */

INLINE f32 f16_VALUE(u16 x) {
    f32 v;
    asm("cvt.f32.f16 %0, %1;" : "=f"(v) : "h"(x));
    return v;
}
#define bf16_VALUE(x) __uint_as_float((u32)(x) << 16)

/* ---- results to items: rounded once, to nearest even; one NaN for each type ------------------ */

/* Rounds to f32 by rounding to odd. The result, rounded to nearest at 22 bits or fewer, is what v
 * itself gives when it is rounded so. */
INLINE f32 round_to_odd(f64 v) {
    const f32 near = (f32)v;
    const u32 bits = __float_as_uint(near);
    return (f64)near == v ? near : __uint_as_float((bits - (fabs((f64)near) > fabs(v) ? 1U : 0U)) | 1U);
}

INLINE f32 round_to_odd(f32 v) {
    return v;
}

INLINE u16 f16_of_f32(f32 v) {
    u16 x;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(x) : "f"(v));
    return v == v ? x : (u16)0x7e00U;
}

INLINE u16 bf16_of_f32(f32 v) {
    const u32 bits = __float_as_uint(v);
    return v == v ? (u16)((bits + 0x7fffU + (bits >> 16 & 1U)) >> 16) : (u16)0x7fc0U;
}

INLINE f32 f32_canonical(f32 v) {
    return v == v ? v : __uint_as_float(0x7fc00000U);
}

INLINE f64 f64_canonical(f64 v) {
    return v == v ? v : __longlong_as_double(0x7ff8000000000000LL);
}

#define f16_STORE(v) f16_of_f32(round_to_odd(v))
#define bf16_STORE(v) bf16_of_f32(round_to_odd(v))
#define f32_STORE(v) f32_canonical((f32)(v))
#define f64_STORE(v) f64_canonical((f64)(v))

/* ---- constants: +0, -0, the identities of max and min ---------------------------------------- */

#define f32_ZERO 0.0f
#define f32_NEG_ZERO (-0.0f)
#define f32_LOWEST __int_as_float(0xff800000)
#define f32_HIGHEST __int_as_float(0x7f800000)

#define f64_ZERO 0.0
#define f64_NEG_ZERO (-0.0)
#define f64_LOWEST __longlong_as_double(0xfff0000000000000LL)
#define f64_HIGHEST __longlong_as_double(0x7ff0000000000000LL)

#define i32_ZERO 0
#define i32_NEG_ZERO 0
#define i32_LOWEST (-2147483647 - 1)
#define i32_HIGHEST 2147483647

#define u32_ZERO 0U
#define u32_NEG_ZERO 0U
#define u32_LOWEST 0U
#define u32_HIGHEST 0xffffffffU

#define i64_ZERO 0LL
#define i64_NEG_ZERO 0LL
#define i64_LOWEST (-9223372036854775807LL - 1)
#define i64_HIGHEST 9223372036854775807LL

#define u64_ZERO 0ULL
#define u64_NEG_ZERO 0ULL
#define u64_LOWEST 0ULL
#define u64_HIGHEST 0xffffffffffffffffULL

/* ---- launches that overlap ------------------------------------------------------------------- */

/*
 * From sm_90 on a launch may begin while the one before it ends. Its kernel then waits for the end
 * of that one before it touches memory, and lets the next one begin. A variant whose kernels all do
 * so has `overlaps` in its row.
 */
#if __CUDA_ARCH__ >= 900
#define AWAIT_PREVIOUS asm volatile("griddepcontrol.wait;" ::: "memory");
#define ADMIT_NEXT asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#else
#define AWAIT_PREVIOUS
#define ADMIT_NEXT ;
#endif

/* ---- within a warp --------------------------------------------------------------------------- */

#define WARP 32
#define FULL_MASK 0xffffffffU

/* A value of any type, as the 32-bit words that shuffles exchange. */
template <typename T> union words {
    T value;
    u32 word[(sizeof(T) + 3) / 4];
};

/* Returns in thread t the value of thread t + distance of the warp, or t's own where there is none.
 * All 32 threads take part. */
template <typename T> INLINE T shuffle_down(T value, u32 distance) {
    words<T> w;
    w.value = value;
#pragma unroll
    for (int i = 0; i < (int)((sizeof(T) + 3) / 4); i++) w.word[i] = __shfl_down_sync(FULL_MASK, w.word[i], distance);
    return w.value;
}

/* Returns in thread t the value of thread t ^ bit of the warp. All 32 threads take part. */
template <typename T> INLINE T shuffle_xor(T value, u32 bit) {
    words<T> w;
    w.value = value;
#pragma unroll
    for (int i = 0; i < (int)((sizeof(T) + 3) / 4); i++) w.word[i] = __shfl_xor_sync(FULL_MASK, w.word[i], bit);
    return w.value;
}

/* Returns thread 0's value. All 32 threads take part. */
template <typename T> INLINE T broadcast(T value) {
    words<T> w;
    w.value = value;
#pragma unroll
    for (int i = 0; i < (int)((sizeof(T) + 3) / 4); i++) w.word[i] = __shfl_sync(FULL_MASK, w.word[i], 0);
    return w.value;
}
