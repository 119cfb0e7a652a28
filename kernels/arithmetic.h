/* SPDX-License-Identifier: MIT */
/*
 * arithmetic: the words that the ops' rows (src/ops/rows.c) are written with, and how items are
 * read and results written.
 *
 * Computes: nothing by itself. The rows' expressions use what stands here.
 * How: everything is a macro, because the three languages have no common way to overload a function
 * by the types of its arguments. A macro may evaluate an argument more than once. The text follows
 * the prelude in every program, and src/program/source.c writes the op's functions behind it.
 * Needs: a type V, which is computed in; a real type R, which the op's parameters have; MAKE(...),
 * which makes an accumulator's struct of its fields' values; SIGN(a), which is 1 if the sign bit of
 * a float is set; and words that depend on the types: ZERO, ONE, MIN, MAX, MAGNITUDE,
 * NO_INDEX and the limits below without the type in front. src/program/source.c defines all of them
 * but SIGN, which is the preludes'.
 * Why: the same C means the same in CUDA C, OpenCL C and C. So it stands once, and what is finished
 * on the host has the same bits.
 *
 * IN_LANE(next, any) tells two uses of a row's combination apart. It is `next` where a lane of a
 * chunk combines the `row` items it has so far with its next item b. It is `any` where any two
 * accumulators are combined.
 */

/* IEEE 754-2019 minimum and maximum, where the prelude has no instruction for them. There are no
 * short-circuit operators: branches would keep a CPU's compiler from using vectors. */
#define ORDERED_MIN(a, b) ((((a) < (b)) | ((a) != (a)) | (((a) == (b)) & (SIGN(b) == 0))) ? (a) : (b))
#define ORDERED_MAX(a, b) ((((a) > (b)) | ((a) != (a)) | (((a) == (b)) & (SIGN(a) == 0))) ? (a) : (b))
#ifdef MAX_NAN
INLINE f32 f32_MINIMUM(f32 a, f32 b) {
    f32 v;
    asm("min.NaN.f32 %0, %1, %2;" : "=f"(v) : "f"(a), "f"(b));
    return v;
}
INLINE f32 f32_MAXIMUM(f32 a, f32 b) {
    f32 v;
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(v) : "f"(a), "f"(b));
    return v;
}
#undef FLOAT_MIN
#undef FLOAT_MAX
#define FLOAT_MIN(a, b) (sizeof(a) > 4 ? ORDERED_MIN(a, b) : f32_MINIMUM((f32)(a), (f32)(b)))
#define FLOAT_MAX(a, b) (sizeof(a) > 4 ? ORDERED_MAX(a, b) : f32_MAXIMUM((f32)(a), (f32)(b)))
#endif
#ifndef FLOAT_MIN
#define FLOAT_MIN(a, b) ORDERED_MIN(a, b)
#define FLOAT_MAX(a, b) ORDERED_MAX(a, b)
#endif
/* Rounded to nearest. OpenCL's prelude has those of f32 where a device rounds them otherwise. */
#ifndef f32_QUOTIENT
#define f32_QUOTIENT(a, b) ((a) / (b))
#define f32_ROOT(a) sqrt(a)
#endif
#define f64_QUOTIENT(a, b) ((a) / (b))
#define f64_ROOT(a) sqrt(a)
/* A number of items. */
#ifndef COUNTED
#define COUNTED(n) ((V)(n))
#endif
#define INTEGER_MIN(a, b) ((a) < (b) ? (a) : (b))
#define INTEGER_MAX(a, b) ((a) > (b) ? (a) : (b))
/* The same of floats but for NaN and the sign of zero: one instruction on CPUs. A guess's words. */
#define QUICK_MIN(a, b) ((a) < (b) ? (a) : (b))
#define QUICK_MAX(a, b) ((a) > (b) ? (a) : (b))
/* The one of a and b that is a number; `both` if both are. */
#define NUMBER_OF(a, b, both) ((a) != (a) ? (b) : (b) != (b) ? (a) : (both))
#ifndef NUMBER_MIN
#define NUMBER_MIN(a, b) NUMBER_OF(a, b, FLOAT_MIN(a, b))
#define NUMBER_MAX(a, b) NUMBER_OF(a, b, FLOAT_MAX(a, b))
#endif

/* Magnitudes are computed in V, so that the lowest integer's magnitude is right: V is unsigned or
 * wide enough. */
#define FLOAT_MAGNITUDE(x) fabs((V)(x))
#define SIGNED_MAGNITUDE(x) ((x) < 0 ? (V)(0 - (V)(x)) : (V)(x))
#define UNSIGNED_MAGNITUDE(x) ((V)(x))
#define SQUARE(x) ((x) * (x))

/* ---- a value and its index ------------------------------------------------------------------- */

#define IS_NAN(p) ((p).value != (p).value)
/*
 * p takes the place of q if its value is beyond q's, if it is the first NaN, or if it ties with q:
 * it is as extreme and has the lower index. An absent accumulator has the index NO_INDEX, which is
 * the highest. A lane's next item p is always later than q, so it wins a tie only over an absent q.
 */
#define TIE_ANYWHERE(p, q) ((((p).value == (q).value) | (IS_NAN(p) & IS_NAN(q))) & ((p).index < (q).index))
#define TIE_LATER(p, q) ((q).index == NO_INDEX)
#define TIE(p, q) IN_LANE(TIE_LATER(p, q), TIE_ANYWHERE(p, q))
#define BEYOND(p, q, is_beyond) ((is_beyond) | (IS_NAN(p) & !IS_NAN(q)) | TIE(p, q))
#define LESS(p, q) BEYOND(p, q, (p).value < (q).value)
#define GREATER(p, q) BEYOND(p, q, (p).value > (q).value)
#define TAKE(a, b, take_b) MAKE((take_b) ? (b).value : (a).value, (take_b) ? (b).index : (a).index)

/*
 * A lane of integers of up to 16 bits has the value and the index i within the chunk as one number,
 * a key. Its upper part is the value (TOP_KEY) or the value's complement (LOW_KEY). Its lower part
 * is larger for an earlier index, and 0 if there is no item. So the better of two keys is the
 * larger one. The complement of a LOW_KEY has the value as its upper part, and a lower part of
 * 0xffff if there is no item.
 */
#define TOP_KEY(value, i) ((value)*65536 + (V)(CHUNK_ITEMS - (i)))
#define LOW_KEY(value, i) ((V)0xffff0000U + (V)(CHUNK_ITEMS - (i)) - (value)*65536)
#define BELOW(key) ((u32)(key)&0xffffU)
#define OF_KEY(key, none, i) MAKE(((key) - (V)BELOW(key)) / 65536, BELOW(key) == (none) ? NO_INDEX : index + (i))

/* ---- the Euclidean norm ---------------------------------------------------------------------- */

/*
 * J. L. Blue's three sums (ACM TOMS 4, 1978). Squares of small numbers are scaled up and squares of
 * big ones down; the others are summed as they are. The limits are such that no sum of 2^43 squares
 * (f64: 2^63) overflows and no square of a small number is subnormal. What is squared is chosen
 * first: CPUs take long for subnormal squares, even of items that are left out.
 */
#define f32_SMALL_LIMIT 0x1p-63f
#define f32_SMALL_SCALE 0x1p86f
#define f32_SMALL_SHARE 0x1p73f
#define f32_BIG_LIMIT 0x1p32f
#define f32_BIG_SCALE 0x1p-86f
#define f64_SMALL_LIMIT 0x1p-511
#define f64_SMALL_SCALE 0x1p563
#define f64_SMALL_SHARE 0x1p535
#define f64_BIG_LIMIT 0x1p480
#define f64_BIG_SCALE 0x1p-560
#ifndef GIVEN_THAT
#define GIVEN_THAT(is, x) ((is) ? (x) : ZERO)
#endif
#define SMALL_SQUARE(x) SQUARE(GIVEN_THAT(fabs(x) < SMALL_LIMIT, (x)*SMALL_SCALE))
#define BIG_SQUARE(x) SQUARE(GIVEN_THAT(fabs(x) > BIG_LIMIT, (x)*BIG_SCALE))
#define MEDIUM_SQUARE(x) SQUARE(GIVEN_THAT(!((fabs(x) < SMALL_LIMIT) | (fabs(x) > BIG_LIMIT)), x))
/* Where no magnitude is big, nor small but 0, all squares are the medium sum's. A guess that it is
 * so loads by IF_SMALL and IF_BIG. */
#define ALL_MEDIUM(a) (((a).small == 0) & ((a).big == 0))
/* The root is that of the medium sum if no square is big, and the small ones, without their scale
 * of 2^172, are less than 2^-26 of it together (f64: 2^1126, 2^-56). SMALL_AND_MEDIUM_ROOT then
 * adds less than half an ulp to 1. */
#define MOSTLY_MEDIUM(a) (((a).big == 0) & (((a).small == 0) | ((a).small < (a).medium * SMALL_SHARE * SMALL_SHARE)))
#define IF_SMALL(size) ((size) < SMALL_LIMIT ? (size) : ZERO)
#define IF_BIG(size) ((size) > BIG_LIMIT ? ONE : ZERO)
/* Not 0 if one of the two bf16 items in a word is big, or is small and not 0. The sums of
 * magnitudes have 16 bits each. Their topmost bits tell if a magnitude is not 0, not small, big. */
INLINE u32 NOT_MEDIUM_OF_BF16(u32 w) {
    const u32 sizes = w & 0x7fff7fffU;
    const u32 some = sizes + 0x7fff7fffU, large = sizes + 0x60006000U, big = sizes + 0x307f307fU;
    return ((some & ~large) | big) & 0x80008000U;
}
/* Not 0 if one of the two items in a word, of 16 bits each, has a magnitude of the bits `end` or
 * above: of f16 the infinities and NaN, of bf16 all from 2^16 on. */
#define IS_BEYOND(w, end) ((((w)&0x7fff7fffU) + (0x8000U - (end)) * 0x10001U) & 0x80008000U)
#define f16_IMMODERATE(w) IS_BEYOND(w, 0x7c00U)
#define bf16_IMMODERATE(w) IS_BEYOND(w, 0x4780U)
#define f64_IMMODERATE(w) ((u32)(((w)&0x7fffffffU) >= 0x40f00000U)) /* of the upper half */
#define i16_IMMODERATE(w) 0U
#define u16_IMMODERATE(w) 0U
#define i32_IMMODERATE(w) (((w) + 0x10000U) >> 17)
#define u32_IMMODERATE(w) ((w) >> 16)
/* Big squares are 2^-108 and more (f64: 2^-160). What is less than 2^-25 of it (2^-54) changes no
 * sum with it, and is left out: CPUs take long for a product that is nearly 0. */
#define f32_BIG_SHARE 0x1p39f
#define f64_BIG_SHARE 0x1p906
#define BESIDE_BIG(medium) ((medium) < BIG_SHARE ? ZERO : (medium))
/* A NaN among the items is in the medium sum, and is "not zero" too. */
#define BIG_ROOT(a) QUOTIENT(ROOT((a).big + BESIDE_BIG((a).medium) * BIG_SCALE * BIG_SCALE), BIG_SCALE)
#define SMALL_ROOT(a) QUOTIENT(ROOT((a).small), SMALL_SCALE)
#define HYPOTENUSE(large, little) ((large)*ROOT(ONE + SQUARE(QUOTIENT(little, large))))
#define SMALL_AND_MEDIUM_ROOT(a)                                                                                               \
    (SMALL_ROOT(a) < ROOT((a).medium) ? HYPOTENUSE(ROOT((a).medium), SMALL_ROOT(a))                                            \
                                      : HYPOTENUSE(SMALL_ROOT(a), ROOT((a).medium)))
#define SCALED_ROOT(a)                                                                                                         \
    ((a).big > 0        ? BIG_ROOT(a)                                                                                          \
     : !((a).small > 0) ? ROOT((a).medium)                                                                                     \
     : (a).medium != 0  ? SMALL_AND_MEDIUM_ROOT(a)                                                                             \
                        : SMALL_ROOT(a))

/* ---- moments --------------------------------------------------------------------------------- */

/*
 * An accumulator of moments has the mean of `count` items as a twofold number, mean + low, and
 * `deviations`, the sum of their squared distances from it. A rounded mean would cause most of the
 * error near the root of the tree.
 * A chunk's `mean` is that of its first row, its pivot. The other items are about as far from it as
 * they are from each other. So nothing cancels, whatever the items' mean, and its lanes are plain
 * sums: `rest` of the distances from the pivot, and `squares` of their squares.
 * Two accumulators are merged as by T. F. Chan, G. H. Golub and R. J. LeVeque (Updating formulae
 * and a pairwise algorithm for computing sample variances, 1979). If one side is empty, the other
 * is the result. An infinity or a NaN shows in the mean.
 */
#define IF_BOTH(a, b, field, merged) ((b).count == 0 ? (a).field : (a).count == 0 ? (b).field : (merged))
#define SHARE_OF_MOMENTS(a, b) QUOTIENT((b).count, (a).count + (b).count)
#define APART(a, b) (((b).mean - (a).mean) + ((b).low - (a).low))
#define STEP_OF_MEAN(t, a, b) ((a).low + APART(a, b) * (t))
#define NEW_MEAN(t, a, b) ((a).mean + STEP_OF_MEAN(t, a, b))
#define NEW_LOW(t, a, b) SUM_ERROR((a).mean, STEP_OF_MEAN(t, a, b))
#define NEW_DEVIATIONS(t, a, b) (((a).deviations + (b).deviations) + SQUARE(APART(a, b)) * ((a).count * (t)))
#define MERGED(t, a, b) MAKE((a).count + (b).count, NEW_MEAN(t, a, b), NEW_LOW(t, a, b), NEW_DEVIATIONS(t, a, b))
/*
 * NVIDIA's GPUs divide in a dozen dependent steps. Whole chunks have the same count, a power of
 * two: their means are products by its reciprocal, which round as quotients do, and the share of
 * one of two is a half. One condition for all fields, so whole chunks need no quotient. On CPUs
 * each field keeps its condition, so that vectors can take the merge.
 */
#define f32_IS_POWER(count) (!(f32_BITS(count) & 0x7fffffU))
#define f64_IS_POWER(count) (!(f64_BITS(count) << 12))
#define f32_RECIPROCAL(power) f32_OF_BITS(0x7f000000U - f32_BITS(power))
#define f64_RECIPROCAL(power) f64_OF_BITS(((u64)0x7fe << 52) - f64_BITS(power))
#if defined(__CUDA_ARCH__) || defined(__NV_CL_C_VERSION)
#define PER_ITEM(sum, count) (IS_POWER(count) ? (sum)*RECIPROCAL(count) : QUOTIENT(sum, count))
#define MERGE_MOMENTS(a, b)                                                                                                    \
    ((b).count == 0           ? (a)                                                                                            \
     : (a).count == 0         ? (b)                                                                                            \
     : (a).count == (b).count ? MERGED(ONE / 2, a, b)                                                                          \
                              : MERGED(SHARE_OF_MOMENTS(a, b), a, b))
#else
#define PER_ITEM(sum, count) QUOTIENT(sum, count)
#define MERGE_MOMENTS(a, b)                                                                                                    \
    MAKE((a).count + (b).count, IF_BOTH(a, b, mean, NEW_MEAN(SHARE_OF_MOMENTS(a, b), a, b)),                                   \
         IF_BOTH(a, b, low, NEW_LOW(SHARE_OF_MOMENTS(a, b), a, b)),                                                            \
         IF_BOTH(a, b, deviations, NEW_DEVIATIONS(SHARE_OF_MOMENTS(a, b), a, b)))
#endif
#define CHUNK_MOMENTS(a, count, pivot)                                                                                         \
    MAKE(count, pivot, PER_ITEM((a).rest, count), (a).squares - (a).rest * PER_ITEM((a).rest, count))
#define VARIANCE(a, n, p)                                                                                                      \
    QUOTIENT((a).deviations + ((a).mean - (a).mean), COUNTED(n) <= (p).ddof ? ZERO : COUNTED(n) - (p).ddof)

/* ---- a product of complex numbers; an empty side leaves the other as it is ------------------- */

#define MERGE_PRODUCTS(a, b)                                                                                                   \
    MAKE(IF_BOTH(a, b, re, (a).re *(b).re - (a).im * (b).im), IF_BOTH(a, b, im, (a).re *(b).im + (a).im * (b).re),             \
         (a).count == 0 ? (b).count : (a).count)

/* ---- exponentials relative to the largest one; exponentials.h has the functions -------------- */

#define EXPONENTS_APART(a, b) fabs(EXPONENT((a).top) - EXPONENT((b).top))
#define MERGE_EXPONENTIALS(a, b)                                                                                               \
    MAKE(MAX((a).top, (b).top),                                                                                                \
         fma((a).top > (b).top ? (b).sum : (a).sum, TWO_TO(-EXPONENTS_APART(a, b)), (a).top > (b).top ? (a).sum : (b).sum))
/* Within a chunk sums are relative to 2^pivot, the power of two of one of its larger items. No
 * result depends on the sign of a top that is 0: of two such items the sum is 2. */
#ifdef WHOLE_ITEMS /* none is a NaN */
#undef LARGER
#define LARGER(a, b) ((a) > (b) ? (a) : (b))
#endif
#define COMPARED_LARGER(a, b) ((((a) > (b)) | ((a) != (a))) ? (a) : (b))
#if !defined(LARGER) && defined(MAX_NAN)
#define LARGER(a, b) (sizeof(a) > 4 ? COMPARED_LARGER(a, b) : f32_MAXIMUM((f32)(a), (f32)(b)))
#elif !defined(LARGER)
#define LARGER(a, b) COMPARED_LARGER(a, b)
#endif
#define NEXT_EXPONENTIAL(a, b) fma((b).sum, TWO_TO(EXPONENT((b).top) - pivot), (a).sum)

/* ---- twofold numbers ------------------------------------------------------------------------- */

/* SUM_ERROR is the rounding error of a + b (D. E. Knuth). MULTIPLY_TWOFOLD gets that of a * b by a
 * fused multiply-add (T. J. Dekker's product). Beside an infinity the error is 0. */
#define IF_FINITE(value, error) ((value) - (value) == 0 ? (error) : ZERO)
#define SUM_ERROR(a, b) (((a) - (((a) + (b)) - (((a) + (b)) - (a)))) + ((b) - (((a) + (b)) - (a))))
#define MULTIPLY_TWOFOLD(x, y) MAKE((x) * (y), IF_FINITE((x) * (y), fma(x, y, -((x) * (y)))))
#define TWOFOLD_ERROR(a, b) IF_FINITE((a).high + (b).high, SUM_ERROR((a).high, (b).high) + ((a).low + (b).low))
#define TWOFOLD_HIGH(a, b) (((a).high + (b).high) + TWOFOLD_ERROR(a, b))
#define ADD_TWOFOLD(a, b)                                                                                                      \
    MAKE(TWOFOLD_HIGH(a, b), IF_FINITE(TWOFOLD_HIGH(a, b), TWOFOLD_ERROR(a, b) - (TWOFOLD_HIGH(a, b) - ((a).high + (b).high))))

/* ---- sums of 32-bit integers of a chunk ------------------------------------------------------ */

/* `low` is the sum modulo 2^32, `high` the sum of the upper halves, which 31 bits hold. */
#define UPPER_HALF(x) ((u32)((x) >> 16))
#define SUM_OF_HALVES(a) (((u64)(i64)(i32)(a).high << 16) + (u32)((a).low - ((a).high << 16)))

/* ---- closeness, as numpy.isclose ------------------------------------------------------------- */

#define TOLERANCE(y, p) ((p).atol + (p).rtol * (y))
#define CLOSE(x, y, p) (((fabs((x) - (y)) <= TOLERANCE(fabs(y), p)) & ((y) - (y) == 0)) | ((x) == (y)))
/*
 * NARROW_CLOSE is the same for integers of up to 16 bits, with fewer operations of R, which is f64.
 * NVIDIA's GPUs convert an integer in the time of four additions.
 */
#if defined(PTX) || defined(__CUDA_ARCH__)
#define REAL_MAGNITUDE(x) (f64_OF_BITS((u64)0x43300000 << 32 | (u32)((x) < 0 ? 0 - (x) : (x))) - 0x1p52)
#else
#define REAL_MAGNITUDE(x) ((R)((x) < 0 ? 0 - (x) : (x)))
#endif
#define NARROW_CLOSE(x, y, p) ((REAL_MAGNITUDE((i32)(x) - (i32)(y)) <= TOLERANCE(REAL_MAGNITUDE((i32)(y)), p)) | ((x) == (y)))

/* The tolerance grows or falls with |y|: those of 0 and 255 bound that of any byte. */
#define DIFFERENT_BYTES_ARE_FAR(p) ((TOLERANCE((R)0, p) < 1) & (TOLERANCE((R)255, p) < 1))

/* ---- four items of a byte at once ------------------------------------------------------------ */

/*
 * By NVIDIA's instructions. PRODUCTS(x, y, sum) is sum and the products of the bytes of the words x
 * and y. Byte k of BYTES_OF(a, b, which) is that byte of a (0 to 3) or b (4 to 7) that the k-th
 * digit of `which` names, from the right; a digit of 8 and more names its sign. TYPE_OF_WORD is the
 * item that begins at byte `at` of a word: compilers take four instructions for it, and these
 * devices make 64 such a clock. Bytes of truth values are 0 and 1, made by TRUTHS.
 */
#if defined(PTX) || __CUDA_ARCH__ >= 610
#define TAKES_BYTES
INLINE u32 i8_PRODUCTS(u32 x, u32 y, u32 sum) {
    asm("dp4a.s32.s32 %0, %1, %2, %0;" : "+r"(sum) : "r"(x), "r"(y));
    return sum;
}

INLINE u32 u8_PRODUCTS(u32 x, u32 y, u32 sum) {
    asm("dp4a.u32.u32 %0, %1, %2, %0;" : "+r"(sum) : "r"(x), "r"(y));
    return sum;
}
INLINE u32 BYTES_OF(u32 a, u32 b, u32 which) {
    u32 v;
    asm("prmt.b32 %0, %1, %2, %3;" : "=r"(v) : "r"(a), "r"(b), "r"(which));
    return v;
}
#define bool_PRODUCTS u8_PRODUCTS
/* Compilers make two instructions of x != 0. */
INLINE u32 ONE_AT_MOST(u32 x) {
    u32 v;
    asm("min.u32 %0, %1, 1;" : "=r"(v) : "r"(x));
    return v;
}
#define TRUTHS(w) (((((w)&0x7f7f7f7fU) + 0x7f7f7f7fU) | (w)) >> 7 & 0x01010101U)
#define HAS_ZERO(w) (((w)-0x01010101U) & ~(w)&0x80808080U)
/* Bytes that are 1 or -1, as the signs of the word's. */
#define SIGNS(w) (((w) >> 7 & 0x01010101U) * 0xfeU | 0x01010101U)
#define i8_BYTES(w) (w)
#define u8_BYTES(w) (w)
#define bool_BYTES(w) TRUTHS(w)
#define i8_SUM_OF_MAGNITUDES(w, sum) i8_PRODUCTS(w, SIGNS(w), sum)
#define u8_SUM_OF_MAGNITUDES(w, sum) SUM_OF_BYTES(w, sum)
#define bool_SUM_OF_MAGNITUDES(w, sum) SUM_OF_BYTES(w, sum)
#define SUM_OF_BYTES(w, sum) PRODUCTS(BYTES(w), 0x01010101U, sum)
#define SUM_OF_SQUARES(w, sum) PRODUCTS(BYTES(w), BYTES(w), sum)
#define SUM_OF_TRUTHS(w, sum) u8_PRODUCTS(TRUTHS(w), 0x01010101U, sum)
#define ITEM_OF_BYTES(w, at) ITEM_OF_WORD(BYTES(w), at)
#define PRODUCT_OF_BYTES(w) (ITEM_OF_BYTES(w, 0) * ITEM_OF_BYTES(w, 1) * (ITEM_OF_BYTES(w, 2) * ITEM_OF_BYTES(w, 3)))
#define PRODUCT_OF_PAIR(w) (ITEM_OF_WORD(w, 0) * ITEM_OF_WORD(w, 2))
#define i8_PRODUCT_OF_WORD PRODUCT_OF_BYTES
#define u8_PRODUCT_OF_WORD PRODUCT_OF_BYTES
#define bool_PRODUCT_OF_WORD bool_BYTES_MIN
#define i16_PRODUCT_OF_WORD PRODUCT_OF_PAIR
#define u16_PRODUCT_OF_WORD PRODUCT_OF_PAIR
#define i8_OF_WORD(w, at) ((i32)BYTES_OF(w, 0, 0x8880 + 0x1111 * (at)))
#define u8_OF_WORD(w, at) BYTES_OF(w, 0, 0x4440 + (at))
#define bool_OF_WORD(w, at) u8_OF_WORD(w, at)
#define i16_OF_WORD(w, at) ((i32)BYTES_OF(w, 0, 0x9910 + 0x1111 * (at)))
#define u16_OF_WORD(w, at) BYTES_OF(w, 0, 0x4410 + 0x11 * (at))

/* The same of a vector whose items' magnitudes are compared. Three bytes of four come from
 * products, by units that such a step leaves idle. The number of layers of groups is 1, which the
 * compiler cannot tell: it would take the bytes of words again. */
INLINE u32 LAYERS(void) {
    u32 v;
    asm("mov.u32 %0, %%nctaid.z;" : "=r"(v));
    return v;
}
#define i8_OF_VECTOR(w, at) ((at) == 1 ? i8_OF_WORD(w, at) : (i32)i8_PRODUCTS(w, LAYERS() << 8 * (at), 0))

/* A word's bytes by a bitwise operator: the result is the lowest byte. Its others are of no use. */
#define IN_LOWEST_BYTE(BY, w) (((w)BY((w) >> 16)) BY(((w)BY((w) >> 16)) >> 8))
#define i8_BYTES_AND(w) i8_OF_WORD(IN_LOWEST_BYTE(&, w), 0)
#define i8_BYTES_OR(w) i8_OF_WORD(IN_LOWEST_BYTE(|, w), 0)
#define i8_BYTES_XOR(w) i8_OF_WORD(IN_LOWEST_BYTE(^, w), 0)
#define u8_BYTES_AND(w) u8_OF_WORD(IN_LOWEST_BYTE(&, w), 0)
#define u8_BYTES_OR(w) u8_OF_WORD(IN_LOWEST_BYTE(|, w), 0)
#define u8_BYTES_XOR(w) u8_OF_WORD(IN_LOWEST_BYTE(^, w), 0)
#define bool_BYTES_AND(w) bool_BYTES_MIN(w)
#define bool_BYTES_OR(w) ONE_AT_MOST(w)
#define bool_BYTES_XOR(w) (SUM_OF_TRUTHS(w, 0) & 1U)

/* The least and the greatest of a word's bytes. */
#define OF_FOUR_BYTES(BY, ITEM_AT, w) BY(BY(BY(ITEM_AT(w, 0), ITEM_AT(w, 1)), ITEM_AT(w, 2)), ITEM_AT(w, 3))
#define i8_BYTES_MIN(w) OF_FOUR_BYTES(min, i8_OF_WORD, w)
#define u8_BYTES_MIN(w) OF_FOUR_BYTES(min, u8_OF_WORD, w)
#define i8_BYTES_MAX(w) OF_FOUR_BYTES(max, i8_OF_WORD, w)
#define u8_BYTES_MAX(w) OF_FOUR_BYTES(max, u8_OF_WORD, w)
#define i8_MAGNITUDE_OF_WORD(w, at) ((u32)abs(i8_OF_WORD(w, at)))
#define i8_BYTES_AMAX(w) OF_FOUR_BYTES(max, i8_MAGNITUDE_OF_WORD, w)
#define bool_BYTES_MIN(w) (HAS_ZERO(w) ? 0U : 1U)
#define bool_BYTES_MAX(w) ONE_AT_MOST(w)
#define u8_BYTES_AMAX(w) u8_BYTES_MAX(w)
#define bool_BYTES_AMAX(w) bool_BYTES_MAX(w)
#endif

/* ---- casts from items to values and from results to items; the preludes have the others ------ */

#ifndef f64_OF_i64
#define f64_OF_i64(x) ((f64)(x))
#define f64_OF_u64(x) ((f64)(x))
#endif
#define f32_VALUE(x) (x)
#define f64_VALUE(x) (x)
#define i8_VALUE(x) ((i32)(x))
#define i16_VALUE(x) ((i32)(x))
#define i32_VALUE(x) (x)
#define i64_VALUE(x) (x)
#define u8_VALUE(x) ((u32)(x))
#define u16_VALUE(x) ((u32)(x))
#define u32_VALUE(x) (x)
#define u64_VALUE(x) (x)
#ifdef TAKES_BYTES
#define bool_VALUE(x) ONE_AT_MOST(x)
#else
#define bool_VALUE(x) ((u32)((x) != 0))
#endif
#define c64_VALUE(x) (x)
#define c128_VALUE(x) (x)
#define i8_STORE(v) ((i8)(v))
#define i16_STORE(v) ((i16)(v))
#define i32_STORE(v) ((i32)(v))
#define i64_STORE(v) ((i64)(v))
#define u8_STORE(v) ((u8)(v))
#define u16_STORE(v) ((u16)(v))
#define u32_STORE(v) ((u32)(v))
#define u64_STORE(v) ((u64)(v))
#define bool_STORE(v) ((u8)((v) != 0))
