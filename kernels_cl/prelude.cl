/* SPDX-License-Identifier: MIT */
/*
 * prelude: the words that every OpenCL kernel of tally is written with.
 *
 * Computes: nothing by itself.
 * How: names of types, constants and conversions mean the same here as in the CUDA prelude. For
 * each item type T, T_ITEM is its storage, and T_VECTOR is 16 bytes of it. T_VALUE(x) is an item as
 * the type that it is computed in, and T_STORE(v) is a result as an item. Those that are casts in
 * every language are in kernels/arithmetic.h. f16 and bf16 are stored as 16 bits and computed in
 * f32, also where the device could compute in them.
 * Needs: OpenCL C 1.2. The specialised text follows (ITEM, ACC, RESULT, the op's functions, the
 * geometry), then the stems.
 * Why: a kernel or an op that is written with these words compiles in all languages.
 */
#ifdef cl_khr_fp64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
/* A compiler may leave a loop without the vectors or the unrolling that it asks for. POCL optimises
 * twice, and its second run makes vectors where the first did not. */
#if defined(__clang__) && !defined(__NV_CL_C_VERSION)
#pragma clang diagnostic ignored "-Wpass-failed"
#endif
/* The order and the rounding of every operation are part of the result: a * b + c rounds twice. */
#pragma OPENCL FP_CONTRACT OFF

#define KERNEL __kernel
#define BOUNDS __attribute__((reqd_work_group_size(GROUP, 1, 1)))
#define BOUNDS_OF(groups) BOUNDS
#define GLOBAL __global
#define ATOMIC volatile __global /* memory that atomics work on */
#define LOCAL __local            /* before the type that a pointer to the group's memory points to */
#define SHARED __local           /* before a variable that the group shares */
/* clang passes a struct of two floats as a vector of two. That is left of a function that is
 * inlined, and keeps the loop around from becoming vectors: POCL took the norm of c64 at 0.2 of
 * memory's speed. With this convention the struct stays what it is. Of a function with many
 * arguments that is not inlined LLVM 14 makes wrong code: the function changes r12, which the
 * caller takes for unchanged. Kernels of many threads have such functions, so they go without. */
#if defined(__x86_64__) && defined(__clang__) && GROUP == 1
#define INLINE static inline __attribute__((regcall))
#else
#define INLINE static inline
#endif
#define NOT_INLINED __attribute__((noinline, unused))
/* Before a function that CPUs have but once. POCL makes three copies of a kernel with all that is
 * inlined in it: it takes 250 ms for sum of f32 then, and 190 without. Without the width LLVM 15
 * halves vectors of 64 bytes in these functions, and their masks. f64, 2^22 items, POCL 3.1, a
 * core's ns an item, November 2026: var 3.6, with the width 2.8; argmax 2.2, 1.6. */
#if defined(__x86_64__) && defined(__clang__)
#define OUT_OF_LINE static __attribute__((noinline, min_vector_width(512), unused))
#else
#define OUT_OF_LINE static inline
#endif
/* Before a function that takes local memory and is called twice. Where the calls agree on an
 * argument, clang may put it in the place of the parameter. POCL then does not know the memory for
 * a group's: all groups, which run at once, had the same. (POCL fails if all functions that take
 * local memory are inlined so: segments by teams then divided by 0.) */
#define INLINE_LOCAL static inline __attribute__((always_inline))
/* Before a function of which each call has a copy of its own: a call would leave a loop without
 * vectors. POCL 3.1, 2 cores of a Xeon, December 2026, ns an item of scans of 2^20: logsumexp of
 * f32 7.6, with copies 1.9; var of i32 27, 3.4. Oclgrind, which optimises nothing, does not know
 * what clang makes of the attribute. */
#ifdef __OPTIMIZE__
#define COPIED __attribute__((always_inline))
#else
#define COPIED
#endif
#define ALIGN(n) __attribute__((aligned(n)))
#define KEEP_ROLLED /* before a loop that must stay a loop: CUDA's compiler would unroll it */

#define GROUP_ID ((u64)get_group_id(0))
#define GROUP_COUNT ((u64)get_num_groups(0))
#define THREAD_ID ((u32)get_local_id(0))
#define BARRIER barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
#define SHARED_ADDRESS(pointer) ((u32)(size_t)(pointer)) /* of NVIDIA's GPUs */

/* Is true if the sign bit of a float of either type is set. This is not signbit: POCL links its
 * functions in after the first run of the optimiser. */
#ifdef cl_khr_fp64
#define SIGN(a) (sizeof(a) == 4 ? as_int((float)(a)) < 0 : as_long((double)(a)) < 0)
#else
#define SIGN(a) (as_int(a) < 0)
#endif

/*
 * IEEE 754-2019 minimum and maximum of f32 by NVIDIA's instructions, in which -0 < +0 and a number
 * wins over a NaN. Scans of 2^28 minima, H200, November 2026: f32 774 us, f16 778; by the
 * comparisons of kernels/arithmetic.h 938 and 1,111.
 */
#ifdef __NV_CL_C_VERSION
#define FLOAT_MIN(a, b) (sizeof(a) > 4 ? ORDERED_MIN(a, b) : isunordered((a), (b)) ? NAN : fmin((a), (b)))
#define FLOAT_MAX(a, b) (sizeof(a) > 4 ? ORDERED_MAX(a, b) : isunordered((a), (b)) ? NAN : fmax((a), (b)))
#define NUMBER_MIN(a, b) (sizeof(a) > 4 ? NUMBER_OF(a, b, ORDERED_MIN(a, b)) : fmin((a), (b)))
#define NUMBER_MAX(a, b) (sizeof(a) > 4 ? NUMBER_OF(a, b, ORDERED_MAX(a, b)) : fmax((a), (b)))
#endif

typedef char i8;
typedef uchar u8;
typedef short i16;
typedef ushort u16;
typedef int i32;
typedef uint u32;
typedef long i64;
typedef ulong u64;
typedef float f32;
#ifdef cl_khr_fp64
typedef double f64;
#endif

/* ---- the bits of floats ---------------------------------------------------------------------- */

#define f32_BITS(v) as_uint(v)
#define f32_OF_BITS(bits) as_float(bits)
#ifdef cl_khr_fp64
#define f64_BITS(v) as_ulong(v)
#define f64_OF_BITS(bits) as_double(bits)
#endif

/* ---- quotients and roots of f32 -------------------------------------------------------------- */

/*
 * Where the device rounds them otherwise (backends/opencl/device.c), they are made of integers. A
 * significand of 27 bits, the last of which is set if more would follow, is rounded to nearest
 * even.
 */
#ifdef OWN_QUOTIENTS
/* Returns the f32 nearest to significand * 2^(exponent - 26), for a significand from 2^26 to
 * 2^27 - 1. */
INLINE f32 f32_nearest(u32 sign, u32 significand, i32 exponent) {
    const i32 shift = exponent < -126 ? -126 - exponent : 0; /* of a subnormal */
    const u32 kept = shift > 26 ? 1U : significand >> shift | (significand << (31 - shift) << 1 ? 1U : 0U);
    if (exponent > 127) return as_float(sign | 0x7f800000U);
    /* The topmost bit of a normal number's adds 1 to the exponent; so may rounding. */
    const u32 bits = (u32)(exponent + shift + 126) << 23;
    return as_float(sign | (bits + (kept >> 3) + ((kept & 7U) + (kept >> 3 & 1U) > 4U ? 1U : 0U)));
}

/* The significand of a positive number's bits, from 2^23 to 2^24 - 1, and the exponent of 2 that
 * goes with it, plus 150. */
#define RISE_OF(bits) ((bits) >> 23 ? 0 : (i32)clz(bits) - 8) /* of a subnormal */
#define SIGNIFICAND_OF(bits) (((bits) << RISE_OF(bits) & 0x7fffffU) | 0x800000U)
#define EXPONENT_OF(bits) ((i32)((bits) >> 23) - RISE_OF(bits) + ((bits) >> 23 ? 0 : 1))

INLINE f32 f32_quotient(f32 a, f32 b) {
    const u32 x = as_uint(a) & 0x7fffffffU, y = as_uint(b) & 0x7fffffffU, sign = (as_uint(a) ^ as_uint(b)) & 0x80000000U;
    if (x > 0x7f800000U || y > 0x7f800000U || (x == y && (x == 0 || x == 0x7f800000U))) return NAN;
    if (x == 0x7f800000U || y == 0) return as_float(sign | 0x7f800000U);
    if (x == 0 || y == 0x7f800000U) return as_float(sign);
    const u32 divisor = SIGNIFICAND_OF(y);
    const u32 less = SIGNIFICAND_OF(x) < divisor ? 1U : 0U; /* the quotient is below 1 */
    const u64 dividend = (u64)SIGNIFICAND_OF(x) << (26U + less);
    const u32 whole = (u32)(dividend / divisor);
    return f32_nearest(sign, whole | ((u64)whole * divisor != dividend ? 1U : 0U),
                       EXPONENT_OF(x) - EXPONENT_OF(y) - (i32)less);
}

INLINE f32 f32_root(f32 a) {
    const u32 x = as_uint(a);
    if (!(a > 0) || x == 0x7f800000U) return x == 0 || x == 0x80000000U || x == 0x7f800000U ? a : NAN;
    const i32 exponent = EXPONENT_OF(x) - 150, odd = exponent & 1;
    const u64 square = (u64)SIGNIFICAND_OF(x) << (30 - odd); /* times a power of 4 */
    u32 root = 1U << 26;
    for (u32 bit = 1U << 25; bit; bit >>= 1)
        if ((u64)(root | bit) * (root | bit) <= square) root |= bit;
    return f32_nearest(0, root | ((u64)root * root != square ? 1U : 0U), (exponent + odd - 30) / 2 + 26);
}

#define f32_QUOTIENT(a, b) f32_quotient((a), (b))
#define f32_ROOT(a) f32_root(a)
#endif

/* ---- storage --------------------------------------------------------------------------------- */

typedef i8 i8_ITEM;
typedef char16 i8_VECTOR;
typedef u8 u8_ITEM;
typedef uchar16 u8_VECTOR;
typedef u8 bool_ITEM;
typedef uchar16 bool_VECTOR;
typedef i16 i16_ITEM;
typedef short8 i16_VECTOR;
typedef u16 u16_ITEM;
typedef ushort8 u16_VECTOR;
typedef u16 f16_ITEM;
typedef ushort8 f16_VECTOR;
typedef u16 bf16_ITEM;
typedef ushort8 bf16_VECTOR;
typedef i32 i32_ITEM;
typedef int4 i32_VECTOR;
typedef u32 u32_ITEM;
typedef uint4 u32_VECTOR;
typedef f32 f32_ITEM;
typedef float4 f32_VECTOR;
typedef i64 i64_ITEM;
typedef long2 i64_VECTOR;
typedef u64 u64_ITEM;
typedef ulong2 u64_VECTOR;
typedef struct {
    f32 re, im;
} c64_ITEM;
typedef float4 c64_VECTOR;
#ifdef cl_khr_fp64
typedef f64 f64_ITEM;
typedef double2 f64_VECTOR;
typedef struct {
    f64 re, im;
} c128_ITEM;
typedef double2 c128_VECTOR;
#endif

/* ---- items to values ------------------------------------------------------------------------- */

/*
 * Exact; a NaN stays a NaN. Every OpenCL has vload_half, for any device. POCL 3.1 does it in
 * integers, 9 vector instructions for 16 items. The processor's own conversion (by
 * __builtin_load_halff) makes sums a fifth faster. But LLVM 15 then compares in half precision,
 * item by item: argmax took 8 times as long (November 2026).
 */
INLINE f32 f16_VALUE(u16 x) {
    return vload_half(0, (const half *)&x);
}
#define bf16_VALUE(x) as_float((u32)(x) << 16)

/* ---- results to items: rounded once, to nearest even; one NaN for each type ------------------ */

#ifdef cl_khr_fp64
/* Rounds to f32 by rounding to odd. The result, rounded to nearest at 22 bits or fewer, is what v
 * itself gives when it is rounded so. */
INLINE f32 round_to_odd(f64 v) {
    const f32 near = (f32)v;
    const u32 bits = as_uint(near);
    return (f64)near == v ? near : as_float((bits - (fabs((f64)near) > fabs(v) ? 1U : 0U)) | 1U);
}
#else
#define round_to_odd(v) (v)
#endif

INLINE u16 f16_of_f32(f32 v) {
    const u32 bits = as_uint(v), sign = bits >> 16 & 0x8000U, size = bits & 0x7fffffffU;
    if (size > 0x7f800000U) return (u16)0x7e00U;
    if (size >= 0x477ff000U) return (u16)(sign | 0x7c00U); /* 65,520 and above */
    /* A subnormal: the last bit of the sum is worth 2^-24, as a subnormal's is. */
    if (size < 0x38800000U) return (u16)(sign | (as_uint(as_float(size) + 0.5f) - 0x3f000000U));
    return (u16)(sign | ((size + 0xfffU + (size >> 13 & 1U)) >> 13) - (112U << 10));
}

INLINE u16 bf16_of_f32(f32 v) {
    const u32 bits = as_uint(v);
    return (bits & 0x7fffffffU) > 0x7f800000U ? (u16)0x7fc0U : (u16)((bits + 0x7fffU + (bits >> 16 & 1U)) >> 16);
}

INLINE f32 f32_canonical(f32 v) {
    return v == v ? v : as_float(0x7fc00000U);
}

#define f16_STORE(v) f16_of_f32(round_to_odd(v))
#define bf16_STORE(v) bf16_of_f32(round_to_odd(v))
#define f32_STORE(v) f32_canonical((f32)(v))
#ifdef cl_khr_fp64
INLINE f64 f64_canonical(f64 v) {
    return v == v ? v : as_double(0x7ff8000000000000UL);
}
#define f64_STORE(v) f64_canonical((f64)(v))
#endif

/* ---- constants: +0, -0, the identities of max and min ---------------------------------------- */

#define f32_ZERO 0.0f
#define f32_NEG_ZERO (-0.0f)
#define f32_LOWEST (-INFINITY)
#define f32_HIGHEST INFINITY

#ifdef cl_khr_fp64
#define f64_ZERO 0.0
#define f64_NEG_ZERO (-0.0)
#define f64_LOWEST (-(double)INFINITY)
#define f64_HIGHEST ((double)INFINITY)
#endif

#define i32_ZERO 0
#define i32_NEG_ZERO 0
#define i32_LOWEST INT_MIN
#define i32_HIGHEST INT_MAX

#define u32_ZERO 0U
#define u32_NEG_ZERO 0U
#define u32_LOWEST 0U
#define u32_HIGHEST UINT_MAX

#define i64_ZERO 0L
#define i64_NEG_ZERO 0L
#define i64_LOWEST LONG_MIN
#define i64_HIGHEST LONG_MAX

#define u64_ZERO 0UL
#define u64_NEG_ZERO 0UL
#define u64_LOWEST 0UL
#define u64_HIGHEST ULONG_MAX
