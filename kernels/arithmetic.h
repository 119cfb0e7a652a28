/* SPDX-License-Identifier: MIT */
/*
 * What the rows of tables.h are written with, and how items are read and written: C that means the same in CUDA C, OpenCL C and C, so
 * that it is there once. It follows the prelude in every program's text, and the core compiles it for what is finished on the host.
 * Macros, because the three languages share no way to overload a function by its arguments' type; arguments are evaluated more than once.
 *
 * Where they are used, V is the type computed in, R the real type of the op's parameters, MAKE(...) makes an accumulator's struct from its
 * fields' values, SIGN(a) is whether a float's sign bit is set. ZERO, ONE, ..., MIN, MAX, MAGNITUDE, NAN_ELSE, NO_INDEX and the limits
 * below without their type's name depend on the types: the specialised text defines them (src/program/source.c). IN_LANE(next, any) is `next` where a
 * lane of a chunk takes up its next item, b, to the `row` items that it has, and `any` where two accumulators of whatever are combined.
 */

/* IEEE 754-2019 minimum and maximum, where the prelude has no instruction for them. No short-circuit operators: branches would keep a CPU's
 * compiler from using vectors. */
#define ORDERED_MIN(a, b) ((((a) < (b)) | ((a) != (a)) | (((a) == (b)) & (SIGN(b) == 0))) ? (a) : (b))
#define ORDERED_MAX(a, b) ((((a) > (b)) | ((a) != (a)) | (((a) == (b)) & (SIGN(a) == 0))) ? (a) : (b))
#ifndef FLOAT_MIN
#define FLOAT_MIN(a, b) ORDERED_MIN(a, b)
#define FLOAT_MAX(a, b) ORDERED_MAX(a, b)
#endif
#define INTEGER_MIN(a, b) ((a) < (b) ? (a) : (b))
#define INTEGER_MAX(a, b) ((a) > (b) ? (a) : (b))
/* The one that is a number, or `both` of them. */
#define NUMBER_OF(a, b, both) ((a) != (a) ? (b) : (b) != (b) ? (a) : (both))

/* In V, so that the lowest integer's magnitude is right: V is unsigned, or wide enough. */
#define FLOAT_MAGNITUDE(x) fabs((V)(x))
#define SIGNED_MAGNITUDE(x) ((x) < 0 ? (V)(0 - (V)(x)) : (V)(x))
#define UNSIGNED_MAGNITUDE(x) ((V)(x))
#define SQUARE(x) ((x) * (x))

/* ---- a value and its index ------------------------------------------------------------------------------------------------------ */

#define IS_NAN(p) ((p).value != (p).value)
/*
 * Whether p takes the place of q: its value is beyond q's, or the first NaN, or `tie`: as extreme and earlier. An absent one has the index
 * NO_INDEX, the last of all. A lane's next item p is known to be later than q: a tie is won over an absent one alone.
 */
#define TIE_ANYWHERE(p, q) ((((p).value == (q).value) | (IS_NAN(p) & IS_NAN(q))) & ((p).index < (q).index))
#define TIE_LATER(p, q) ((q).index == NO_INDEX)
#define TIE(p, q) IN_LANE(TIE_LATER(p, q), TIE_ANYWHERE(p, q))
#define BEYOND(p, q, is_beyond) ((is_beyond) | (IS_NAN(p) & !IS_NAN(q)) | TIE(p, q))
#define LESS(p, q) BEYOND(p, q, (p).value < (q).value)
#define GREATER(p, q) BEYOND(p, q, (p).value > (q).value)
#define TAKE(a, b, take_b) MAKE((take_b) ? (b).value : (a).value, (take_b) ? (b).index : (a).index)

/* ---- the Euclidean norm --------------------------------------------------------------------------------------------------------- */

/*
 * J. L. Blue's three sums (ACM TOMS 4, 1978): squares of small numbers are scaled up, of big ones down, the rest is taken as it is. The
 * limits are set so that no sum of 2^43 (f32; f64: 2^63) squares overflows and no square of a small number is subnormal.
 */
#define f32_SMALL_LIMIT 0x1p-63f
#define f32_SMALL_SCALE 0x1p86f
#define f32_BIG_LIMIT 0x1p32f
#define f32_BIG_SCALE 0x1p-86f
#define f64_SMALL_LIMIT 0x1p-511
#define f64_SMALL_SCALE 0x1p563
#define f64_BIG_LIMIT 0x1p480
#define f64_BIG_SCALE 0x1p-560
#define SMALL_SQUARE(x) (fabs(x) < SMALL_LIMIT ? SQUARE((x)*SMALL_SCALE) : ZERO)
#define BIG_SQUARE(x) (fabs(x) > BIG_LIMIT ? SQUARE((x)*BIG_SCALE) : ZERO)
#define MEDIUM_SQUARE(x) (((fabs(x) < SMALL_LIMIT) | (fabs(x) > BIG_LIMIT)) ? ZERO : SQUARE(x))
/* A NaN among the items is in the medium sum; "not zero" holds for it too. */
#define BIG_ROOT(a) (sqrt((a).big + (a).medium * BIG_SCALE * BIG_SCALE) / BIG_SCALE)
#define SMALL_ROOT(a) (sqrt((a).small) / SMALL_SCALE)
#define HYPOTENUSE(large, little) ((large)*sqrt(ONE + SQUARE((little) / (large))))
#define SMALL_AND_MEDIUM_ROOT(a)                                                                                               \
    (SMALL_ROOT(a) < sqrt((a).medium) ? HYPOTENUSE(sqrt((a).medium), SMALL_ROOT(a))                                            \
                                      : HYPOTENUSE(SMALL_ROOT(a), sqrt((a).medium)))
#define SCALED_ROOT(a)                                                                                                         \
    ((a).big > 0        ? BIG_ROOT(a)                                                                                          \
     : !((a).small > 0) ? sqrt((a).medium)                                                                                     \
     : (a).medium != 0  ? SMALL_AND_MEDIUM_ROOT(a)                                                                             \
                        : SMALL_ROOT(a))

/* ---- moments -------------------------------------------------------------------------------------------------------------------- */

/*
 * `squares` is the sum of (x - mean)^2, `rest` that of x - mean, where `mean` is near the items' mean but need not be it: it is mean + LOW. So
 * a mean is a twofold number (a rounded one would be most of the error near the root), and a lane's is its first item, from which the others
 * are as far as they are from each other: whatever the items' mean, nothing cancels, and no item needs a division. Merged as T. F. Chan,
 * G. H. Golub and R. J. LeVeque do (Updating formulae and a pairwise algorithm for computing sample variances, 1979); of an empty side the
 * other is taken as it is. An infinity or NaN shows in the mean.
 */
#define IF_BOTH(a, b, field, merged) ((b).count == 0 ? (a).field : (a).count == 0 ? (b).field : (merged))
#define SHARE(a, b) ((b).count / ((a).count + (b).count))
#define LOW(a) ((a).rest / (a).count)
#define DEVIATIONS(a) ((a).squares - (a).rest * LOW(a))
#define APART(a, b) (((b).mean - (a).mean) + (LOW(b) - LOW(a)))
#define STEP_OF_MEAN(a, b) (LOW(a) + APART(a, b) * SHARE(a, b))
#define NEW_LOW(a, b) SUM_ERROR((a).mean, STEP_OF_MEAN(a, b))
#define NEW_REST(a, b) (NEW_LOW(a, b) * ((a).count + (b).count))
#define NEW_DEVIATIONS(a, b) ((DEVIATIONS(a) + DEVIATIONS(b)) + SQUARE(APART(a, b)) * ((a).count * SHARE(a, b)))
#define MERGE_MOMENTS(a, b)                                                                                                    \
    MAKE((a).count + (b).count, IF_BOTH(a, b, mean, (a).mean + STEP_OF_MEAN(a, b)), IF_BOTH(a, b, rest, NEW_REST(a, b)),       \
         IF_BOTH(a, b, squares, NEW_DEVIATIONS(a, b) + NEW_REST(a, b) * NEW_LOW(a, b)))
#define FIRST_MEAN(a, b) (row ? (a).mean : (b).mean)
#define OFF_FIRST(a, b) ((b).mean - FIRST_MEAN(a, b))
#define NEXT_MOMENTS(a, b)                                                                                                     \
    MAKE((V)(row + 1), FIRST_MEAN(a, b), (a).rest + OFF_FIRST(a, b), (a).squares + SQUARE(OFF_FIRST(a, b)))
#define MOMENTS(a, b) IN_LANE(NEXT_MOMENTS(a, b), MERGE_MOMENTS(a, b))
#define VARIANCE(a, n, p) ((DEVIATIONS(a) + ((a).mean - (a).mean)) / ((V)(n) <= (p).ddof ? ZERO : (V)(n) - (p).ddof))

/* ---- a product of complex numbers, whose first factor is taken as it is ----------------------------------------------------------- */

#define MERGE_PRODUCTS(a, b)                                                                                                   \
    MAKE(IF_BOTH(a, b, re, (a).re *(b).re - (a).im * (b).im), IF_BOTH(a, b, im, (a).re *(b).im + (a).im * (b).re),             \
         (a).count == 0 ? (b).count : (a).count)

/* ---- exponentials relative to the largest exponent ------------------------------------------------------------------------------- */

#define SCALE_OF(a, b) ((a).top == (b).top ? ONE : exp((a).top > (b).top ? (b).top - (a).top : (a).top - (b).top))
#define MERGE_EXPONENTIALS(a, b)                                                                                               \
    MAKE(MAX((a).top, (b).top),                                                                                                \
         ((a).top > (b).top ? (a).sum : (b).sum) + ((a).top > (b).top ? (b).sum : (a).sum) * SCALE_OF(a, b))

/* ---- twofold numbers --------------------------------------------------------------------------------------------------------------- */

/* The rounding error of a + b (D. E. Knuth), of a * b (T. J. Dekker's product by a fused multiply-add); 0 beside an infinity. */
#define IF_FINITE(value, error) ((value) - (value) == 0 ? (error) : ZERO)
#define SUM_ERROR(a, b) (((a) - (((a) + (b)) - (((a) + (b)) - (a)))) + ((b) - (((a) + (b)) - (a))))
#define MULTIPLY_TWOFOLD(x, y) MAKE((x) * (y), IF_FINITE((x) * (y), fma(x, y, -((x) * (y)))))
#define TWOFOLD_ERROR(a, b) IF_FINITE((a).high + (b).high, SUM_ERROR((a).high, (b).high) + ((a).low + (b).low))
#define TWOFOLD_HIGH(a, b) (((a).high + (b).high) + TWOFOLD_ERROR(a, b))
#define ADD_TWOFOLD(a, b)                                                                                                      \
    MAKE(TWOFOLD_HIGH(a, b), IF_FINITE(TWOFOLD_HIGH(a, b), TWOFOLD_ERROR(a, b) - (TWOFOLD_HIGH(a, b) - ((a).high + (b).high))))

/* ---- closeness, as numpy.isclose ---------------------------------------------------------------------------------------------------- */

#define CLOSE(x, y, p) (((fabs((x) - (y)) <= (p).atol + (p).rtol * fabs(y)) & ((y) - (y) == 0)) | ((x) == (y)))

/* ---- items to values, results to items: casts; the preludes have the rest -------------------------------------------------------------- */

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
#define bool_VALUE(x) ((u32)((x) != 0))
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
