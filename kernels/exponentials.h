/* SPDX-License-Identifier: MIT */
/*
 * exponentials: e^x and logarithms that have the same bits on every device.
 *
 * Computes: nothing by itself. A program has this text once for each type that its terms'
 * exponentials are computed in (src/program/source.c): REAL is the type, OF(name) puts it in front.
 * How: e^x is SIGNIFICAND(x) * 2^EXPONENT(x), a polynomial and an integer. An accumulator has
 * `top`, the largest x, and `sum`, the sum of e^x / 2^EXPONENT(top). So two are merged by a power
 * of two, which rounds nothing, and an item takes one polynomial. (M. Dukhan and A. Ablavatski, The
 * Two-Pass Softmax Algorithm, 2020, add up such pairs.)
 * Needs: additions, products and fma that round once, as the self-test finds (probe.h), and the
 * bits of floats: OF(BITS), OF(OF_BITS).
 * Why: a library's exp and log differ from device to device. docs/numerics.md has the error.
 */
#define f32_LOG2_E 0x1.715476p0f
#define f32_LN2_HIGH 0x1.62e43p-1f
#define f32_LN2_LOW -0x1.05c61p-29f
#define f32_WHOLE 0x1p23f
#define f32_ONE_PLACE 0x1p-23f
#define f32_FRACTION 23
#define f32_MOST_REST 1
#define f32_BIAS 127
#define f32_AMID 0x1.8p23f
#define f32_MOST_ABOVE 64 /* doublings that an item may be above its chunk's pivot */
#define f32_ROOT_HALF 0x3f3504f3U
#define f32_WORD u32
#define f32_OF_PLACES(places) ((f32)(i32)(places))
#define f64_LOG2_E 0x1.71547652b82fep0
#define f64_LN2_HIGH 0x1.62e42fefa39efp-1
#define f64_LN2_LOW 0x1.abc9e3b39803fp-56
#define f64_WHOLE 0x1p52
#define f64_ONE_PLACE 0x1p-52
#define f64_FRACTION 52
#define f64_MOST_REST 0x1.00000ffffffffp0
#define f64_BIAS 1023
#define f64_AMID 0x1.8p52
#define f64_MOST_ABOVE 512
#define f64_ROOT_HALF 0x3fe6a09e667f3bcdU
#define f64_WORD u64
#define f64_OF_PLACES(places) f64_OF_i64((i64)(places))

/* Polynomials by Horner's scheme, from the highest power on: e^r for |r| below 0.35, and
 * (log(1 + z) - z) / z^2 for 1 + z between the roots of a half and of two. */
#define NEXT(c) v = fma(v, x, c)
#define f32_EXP_SERIES                                                                                                         \
    v = 0x1.6a813ap-10f, NEXT(0x1.124568p-7f), NEXT(0x1.555892p-5f), NEXT(0x1.555482p-3f), NEXT(0x1.fffffcp-2f), NEXT(1.0f),   \
    NEXT(1.0f)
#define f64_EXP_SERIES                                                                                                         \
    v = 0x1.ad8d443dd85dbp-26, NEXT(0x1.28b5e3645381p-22), NEXT(0x1.71df293739351p-19), NEXT(0x1.a019910fbcf6ap-16),           \
    NEXT(0x1.a01a0122dd405p-13), NEXT(0x1.6c16c1876966p-10), NEXT(0x1.111111112a2dap-7), NEXT(0x1.555555554fa01p-5),           \
    NEXT(0x1.55555555554ecp-3), NEXT(0x1.000000000000cp-1), NEXT(1.0), NEXT(1.0)
#define f32_LOG_SERIES                                                                                                         \
    v = -0x1.38356ap-4f, NEXT(0x1.085c1ep-3f), NEXT(-0x1.0f40a8p-3f), NEXT(0x1.226ea8p-3f), NEXT(-0x1.5425bep-3f),             \
    NEXT(0x1.99a414p-3f), NEXT(-0x1.000432p-2f), NEXT(0x1.55555p-2f), NEXT(-0x1.fffff8p-2f)
#define f64_LOG_SERIES                                                                                                         \
    v = 0x1.ab729baadaa9ap-6, NEXT(-0x1.eb02cbe17f212p-5), NEXT(0x1.0b548b6be48fp-4), NEXT(-0x1.d1741157440b3p-5),             \
    NEXT(0x1.cfbcf2cebba6p-5), NEXT(-0x1.fb6a25b8ae91p-5), NEXT(0x1.11d76fd9ba58bp-4), NEXT(-0x1.24dc7991d3c4dp-4),            \
    NEXT(0x1.3b0add51a7f3ep-4), NEXT(-0x1.555072212de56p-4), NEXT(0x1.745d43da6d4dep-4), NEXT(-0x1.9999c918afa03p-4),          \
    NEXT(0x1.c71c71e450056p-4), NEXT(-0x1.fffffef6774c9p-4), NEXT(0x1.2492492225485p-3), NEXT(-0x1.55555556e27b7p-3),          \
    NEXT(0x1.99999999a1dadp-3), NEXT(-0x1.fffffffffdee5p-3), NEXT(0x1.5555555555519p-2), NEXT(-0x1.0000000000003p-1)

/* The integer nearest to x log2(e). A sum with WHOLE, of x's sign, has no room for a fraction. */
INLINE REAL OF(EXPONENT)(REAL x) {
    const REAL whole = copysign(OF(WHOLE), x);
    return fma(x, OF(LOG2_E), whole) - whole;
}

/* NVIDIA's GPUs compare f64 by the units that polynomials keep busy, and integers by others. */
#if defined(__CUDA_ARCH__) || defined(__NV_CL_C_VERSION)
#define COMPARES_BITS (sizeof(REAL) == 8)
#else
#define COMPARES_BITS 0
#endif

/* A rest above 1 is below the last place of so large an x. It counts as 0, as does a NaN beside an
 * infinity. Of an f64 the upper half alone decides: MOST_REST is the largest with that of 1. The
 * lower half alone is a number so small that it changes no polynomial. */
INLINE REAL OF(SMALL_REST)(REAL rest) {
    if (!COMPARES_BITS) return fabs(rest) <= OF(MOST_REST) ? rest : 0;
    const u64 bits = OF(BITS)(rest);
    const u32 upper = (u32)(bits >> 32);
    const u32 kept = (upper & 0x7fffffffU) <= 0x3ff00000U ? upper : 0;
    return OF(OF_BITS)((OF(WORD))((u64)kept << 32 | (u32)bits));
}

INLINE REAL OF(SIGNIFICAND)(REAL given) {
    const REAL n = OF(EXPONENT)(given);
    const REAL x = OF(SMALL_REST)(fma(-n, OF(LN2_LOW), fma(-n, OF(LN2_HIGH), given)));
    REAL v;
    OF(EXP_SERIES);
    return v;
}

/* 2^n of an integer n up to MOST_ABOVE, but at least the smallest normal number, for a NaN too. A
 * maximum is one instruction of NVIDIA's for f32, and seven for f64. */
INLINE REAL OF(TWO_TO)(REAL n) {
    const REAL least = 1 - OF(BIAS), zero = OF(WHOLE) + OF(BIAS);
    if (sizeof(REAL) == 4) return OF(OF_BITS)(OF(BITS)(zero + (n > least ? n : least)) << OF(FRACTION));
    if (COMPARES_BITS) {
        /* The lower half of 2^32 + k is k * 2^20 and the upper half is this, for k below 2^12. */
        const u64 sum = OF(BITS)(n + (REAL)(0x1p32 + OF(BIAS)));
        const u32 upper = (u32)sum > 1U << 20 ? (u32)sum : 1U << 20;
        return OF(OF_BITS)((OF(WORD))((u64)(sum >> 32 == 0x41f00000U ? upper : 1U << 20) << 32));
    }
    return OF(OF_BITS)(n > least ? OF(BITS)(zero + n) << OF(FRACTION) : (OF(WORD))1 << OF(FRACTION));
}

/* sum + e^x / 2^pivot of a moderate x, |x| <= 2^16, to the bits of NEXT_EXPONENTIAL, by fewer
 * operations. AMID is amid the floats that have no fraction. So a sum with it is rounded to an
 * integer, and ends in the bits of one: here the biased exponent of e^x / 2^pivot, by which AMID's
 * own bits end in those of 0. A pivot beyond 2^21 may be taken for 2^21. Either e^x / 2^pivot is
 * less than the least number, or the chunk is taken again. */
INLINE REAL OF(ADD_MODERATE)(REAL given, REAL pivot, REAL sum) {
    const REAL amid = OF(AMID) + OF(BIAS) - fmin(fmax(pivot, -(REAL)(1 << 21)), (REAL)(1 << 21));
    const REAL rounded = fma(given, OF(LOG2_E), amid), n = rounded - amid;
    const REAL x = fma(-n, OF(LN2_LOW), fma(-n, OF(LN2_HIGH), given));
    const i32 exponent = max((i32)OF(BITS)(rounded), (i32)OF(BITS)(OF(AMID)) + 1);
    REAL v;
    OF(EXP_SERIES);
    return fma(v, OF(OF_BITS)((OF(WORD))(u32)exponent << OF(FRACTION)), sum);
}

/* The bits that the exponent adds to those of v / 2^exponent, which is between the roots of a half
 * and of two. */
INLINE OF(WORD) OF(PLACE)(REAL v) {
    return (OF(BITS)(v) - OF(ROOT_HALF)) & ~(((OF(WORD))1 << OF(FRACTION)) - 1);
}

/* The logarithm of 1 + x. */
INLINE REAL OF(LOG)(REAL x) {
    REAL v;
    OF(LOG_SERIES);
    return fma(x * x, v, x);
}

/* top + log(sum / SIGNIFICAND(top)), which is top itself for one item: two logarithms of numbers
 * near 1, and n times that of 2. The rounding error of top + n log(2) is added at the end. */
INLINE COPIED REAL OF(LOG_OF_SUM)(REAL top, REAL sum) {
    const REAL own = OF(SIGNIFICAND)(top);
    const OF(WORD) place = OF(PLACE)(sum), own_place = OF(PLACE)(own);
    const REAL between = OF(LOG)(OF(OF_BITS)(OF(BITS)(sum) - place) - 1) - OF(LOG)(OF(OF_BITS)(OF(BITS)(own) - own_place) - 1);
    const REAL n = OF(OF_PLACES)(place - own_place) * OF(ONE_PLACE);
    const REAL high = n * OF(LN2_HIGH), near = top + high;
    const REAL low = fma(n, OF(LN2_LOW), fma(n, OF(LN2_HIGH), -high) + between);
    return near - near == 0 ? near + (SUM_ERROR(top, high) + low) : near;
}
#undef NEXT
#undef COMPARES_BITS
