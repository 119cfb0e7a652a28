/* SPDX-License-Identifier: MIT */
/*
 * wholes: mean, variance and norm of whole numbers, from their exact sums.
 *
 * Computes: what the rows for integers of up to 32 bits need (src/ops/special_rows.c): sums of two
 * words, and the quotient of two whole numbers as the nearest f64.
 * How: a sum is the words `low` and `high` modulo 2^128. With the sum S and the sum of squares Q
 * the variance is (n Q - S^2) / (n (n - ddof)): a whole number of three words over one of two.
 * Twofold numbers give most quotients, and prove that they are nearest. The others are divided at
 * length, to 64 bits: two quotients of f64 give them, and exact remainders correct these. The last
 * bit is set if anything is left, so that its conversion to f64 is the only rounding. One function
 * for all calls does that: in a scan NVRTC took 2.8 s for a variance of i32, and takes 1.1 s.
 * Needs: f64; the words of kernels/arithmetic.h. It follows that text where a term asks for it.
 * Why: each item costs a few operations on integers, in any order, and the result is rounded once.
 */

/* The upper word of a sum whose lower word has its sign. */
#define SIGN_WORD(sum) ((u64)((i64)(sum) >> 63))
/* Is true of a sum of two words that an f64 holds, so that it can be divided, and rounded, once. */
#define IS_NARROW(low, high) (((low) + ((u64)1 << 53) <= (u64)1 << 54) & ((high) == SIGN_WORD(low)))
/* A sum of two words without a sign, in two f64 without rounding, if the upper word is below 2^42.
 * So their sum is the nearest f64. */
#define IS_USUAL(high) ((high) >> 42 == 0)
#define UPPER_BITS(low, high) (f64_OF_u64((high) << 11 | (low) >> 53) * 9007199254740992.0)
#define LOWER_BITS(low) f64_OF_u64((low) & (((u64)1 << 53) - 1))
#define USUALLY(low, high) (UPPER_BITS(low, high) + LOWER_BITS(low))
/* A sum of two words that has the sign of its lower one, in two f64 without rounding. */
#define IS_ONE_WORD(low, high) ((high) == SIGN_WORD(low))
#define UPPER_OF_WORD(low) f64_OF_i64((i64)((low) & ~(u64)2047))
#define LOWER_OF_WORD(low) f64_OF_u64((low)&2047)
/* The rounding error of the sum of such a pair. */
#define REST_OF(upper, lower) ((lower) - (((upper) + (lower)) - (upper)))
/* The upper word of the sum of two fields of two words. */
#define ADD_HIGH(a, b, field) ((a).field##_high + (b).field##_high + ((a).field + (b).field < (b).field))
#define ADD_SUMS(a, b) MAKE((a).sum + (b).sum, ADD_HIGH(a, b, sum), (a).squares + (b).squares, ADD_HIGH(a, b, squares))
/* The word above a sum of words modulo 2^64, by the sum of their upper halves. The sum of the lower
 * halves, of up to 2^32 words, is what the upper ones leave. */
#define HIGH_HALF(word) ((word) >> 32)
#define WORD_ABOVE(sum, high) (((high) >> 32) + ((sum) < (sum) - ((high) << 32)))

/* A whole number of two words, or of three. */
typedef struct {
    u64 low, high;
} WHOLE_2;
typedef struct {
    u64 low, middle, high;
} WHOLE_3;

INLINE WHOLE_2 whole_product(u64 a, u64 b) {
    const u64 a_low = (u32)a, a_high = a >> 32, b_low = (u32)b, b_high = b >> 32;
    const u64 least = a_low * b_low, cross = a_high * b_low;
    const u64 middle = (least >> 32) + (u32)cross + a_low * b_high;
    WHOLE_2 product;
    product.low = middle << 32 | (u32)least;
    product.high = a_high * b_high + (cross >> 32) + (middle >> 32);
    return product;
}

INLINE WHOLE_3 whole_multiple(WHOLE_2 a, u64 times) {
    const WHOLE_2 low = whole_product(a.low, times), high = whole_product(a.high, times);
    WHOLE_3 product;
    product.low = low.low;
    product.middle = low.high + high.low;
    product.high = high.high + (product.middle < high.low);
    return product;
}

INLINE WHOLE_3 whole_difference(WHOLE_3 a, WHOLE_3 b) {
    const u64 borrow = a.low < b.low, middle = a.middle - b.middle;
    a.low -= b.low;
    a.high -= b.high + (a.middle < b.middle) + (middle < borrow);
    a.middle = middle - borrow;
    return a;
}

/* Returns how many zeros lead; 63 for 0. */
INLINE u32 whole_zeros(u64 a) {
    u32 zeros = 0;
    for (u32 s = 32; s > 0; s /= 2)
        if (!(a >> (64 - s))) {
            a <<= s;
            zeros += s;
        }
    return zeros;
}

/* Moves a's bits up, so that the top one is set if a is not 0. *places becomes less by as many. */
INLINE WHOLE_3 whole_normal(WHOLE_3 a, int *places) {
    for (int word = 0; word < 2; word++)
        if (!a.high) {
            a.high = a.middle;
            a.middle = a.low;
            a.low = 0;
            *places -= 64;
        }
    const u32 s = whole_zeros(a.high);
    if (s) {
        a.high = a.high << s | a.middle >> (64 - s);
        a.middle = a.middle << s | a.low >> (64 - s);
        a.low <<= s;
        *places -= (int)s;
    }
    return a;
}

/* Returns the f64 nearest to a / d, which is below 2^128; d is not 0. */
INLINE f64 whole_quotient(WHOLE_3 a, WHOLE_2 d) {
    /* One rounding: both are f64. */
    if (!(a.high | a.middle | d.high) && !((a.low | d.low) >> 53)) return (f64)a.low / (f64)d.low;
    int places = 0, d_places = 0;
    WHOLE_3 wide;
    wide.high = d.high;
    wide.middle = d.low;
    wide.low = 0;
    wide = whole_normal(wide, &d_places);
    d.high = wide.high;
    d.low = wide.middle;
    a = whole_normal(a, &places);
    u64 rest = 0; /* is not 0 if a / d is not the quotient */
    if (a.high > d.high || (a.high == d.high && a.middle >= d.low)) {
        rest = a.low & 1;
        a.low = a.low >> 1 | a.middle << 63;
        a.middle = a.middle >> 1 | a.high << 63;
        a.high >>= 1;
        places++;
    }
    /* Each quotient has four relative errors of 2^-53 at most, and is taken 2^-50 lower. So the
     * first is at most 2^15 too low, the second at most 1. The factor is 2^64 (1 - 2^-50). */
    const u64 first = (u64)((f64)a.high / (f64)d.high * 18446744073709535232.0);
    a = whole_difference(a, whole_multiple(d, first));
    const f64 left = (f64)a.high * 18446744073709551616.0 + (f64)a.middle;
    const u64 second = (u64)(left / (f64)d.high * (1.0 - 1.0 / 1125899906842624.0));
    a = whole_difference(a, whole_multiple(d, second));
    u64 quotient = first + second;
    if (a.high | (a.middle > d.high) | ((a.middle == d.high) & (a.low >= d.low))) {
        quotient++;
        rest |= a.high | (a.middle ^ d.high) | (a.low ^ d.low);
    } else {
        rest |= a.middle | a.low;
    }
    union {
        u64 bits;
        f64 value;
    } power;
    power.bits = (u64)(1023 + places - d_places) << 52;
    return (f64)(quotient | (rest != 0)) * power.value;
}

/* The nearest f64 to the sum of two words over n. */
static NOT_INLINED f64 exact_mean(u64 low, u64 high, u64 n) {
    const u64 is_negative = high >> 63;
    WHOLE_3 sum;
    WHOLE_2 count;
    sum.low = is_negative ? 0 - low : low;
    sum.middle = is_negative ? ~high + (low == 0) : high;
    sum.high = 0;
    count.low = n;
    count.high = 0;
    const f64 mean = whole_quotient(sum, count);
    return is_negative ? -mean : mean;
}

/* The nearest f64 to the variance, where n - ddof is a whole number below 2^53. Else the sum of
 * squared deviations is rounded before it is divided. */
static NOT_INLINED f64 exact_variance(u64 low, u64 high, u64 squares, u64 squares_high, u64 n, f64 ddof) {
    const u64 is_negative = high >> 63;
    WHOLE_2 sum, all, divisor;
    WHOLE_3 rest;
    sum.low = is_negative ? 0 - low : low;
    sum.high = is_negative ? ~high + (low == 0) : high;
    all.low = squares;
    all.high = squares_high;
    /* S^2, of which S.high^2 has one word. */
    const WHOLE_3 of_low = whole_multiple(sum, sum.low), of_high = whole_multiple(sum, sum.high);
    rest.low = of_low.low;
    rest.middle = of_low.middle + of_high.low;
    rest.high = of_low.high + of_high.middle + (rest.middle < of_high.low);
    rest = whole_difference(whole_multiple(all, n), rest);
    const f64 left = (f64)n <= ddof ? 0.0 : (f64)n - ddof;
    if (left >= 1.0 && left < 9007199254740992.0 && left == (f64)(u64)left)
        return whole_quotient(rest, whole_product(n, (u64)left));
    divisor.low = n;
    divisor.high = 0;
    return whole_quotient(rest, divisor) / left;
}

/* A number that is the nearest f64 to what it stands for, if is_nearest. */
typedef struct {
    f64 value;
    u32 is_nearest;
} NEAR;

/* q + step, which is nearest if so are all numbers that are `margin` away at most. */
INLINE NEAR near_sum(f64 q, f64 step, f64 margin, u32 is_within) {
    NEAR near;
    near.value = q + step;
    near.is_nearest = is_within & (q + (step + margin) == q + (step - margin));
    return near;
}

/* 1 / x with a relative error below 2^-42, from 1 to 2^62: a quotient of f32 and a step of Newton's
 * method. */
INLINE f64 near_reciprocal(f64 x) {
    const f64 near = (f64)(1.0f / (f32)x);
    return near + near * fma(-x, near, 1.0);
}

/* The mean by twofold numbers, in a few operations that vectors have. The sum has one word, and n
 * is below 2^53. The error is below 2^-83 of the mean, most of it the reciprocal's, squared. */
INLINE NEAR usual_mean(u64 low, u64 high, u64 n) {
    const f64 upper = UPPER_OF_WORD(low), lower = LOWER_OF_WORD(low), sum = upper + lower;
    const f64 count = f64_OF_u64(n), reciprocal = near_reciprocal(count), q = sum * reciprocal;
    const f64 step = (fma(-q, count, sum) + REST_OF(upper, lower)) * reciprocal;
    return near_sum(q, step, q * (1.0 / 9671406556917033397649408.0), IS_ONE_WORD(low, high) & (n >> 53 == 0));
}

/*
 * The variance by twofold numbers, in a few operations that vectors have. S has one word, Q is
 * below 2^106, and n and n - ddof are whole numbers below 2^31. Then top + rest is n Q - S^2:
 * exactly where n Q is below 2^95, as what is added are whole numbers below 2^53, and else with an
 * error below 2^-101 n Q. The quotient q + step adds an error below 2^-83 q. So the margin is that
 * or, where n Q is 2^24 times top or less, 2^-75 q.
 */
INLINE COPIED NEAR usual_variance(u64 low, u64 high, u64 squares, u64 squares_high, u64 n, f64 ddof) {
    const f64 count = f64_OF_u64(n), left = count - ddof, word = UPPER_OF_WORD(low), word_rest = LOWER_OF_WORD(low);
    const f64 upper = UPPER_BITS(squares, squares_high), lower = LOWER_BITS(squares);
    const f64 sum = word + word_rest, of_squares = upper + lower, all = count * of_squares, square = sum * sum;
    const f64 errors = (fma(count, of_squares, -all) - fma(sum, sum, -square)) + SUM_ERROR(all, -square);
    const f64 rests = count * REST_OF(upper, lower) - 2.0 * sum * REST_OF(word, word_rest);
    const f64 apart = all - square, more = errors + rests, top = apart + more, rest = SUM_ERROR(apart, more);
    const f64 divisor = count * left, divisor_rest = fma(count, left, -divisor);
    const f64 reciprocal = near_reciprocal(divisor), q = top * reciprocal;
    const f64 step = (fma(-q, divisor, top) + (rest - q * divisor_rest)) * reciprocal;
    const u32 is_exact = all < 39614081257132168796771975168.0;
    const f64 margin = q * (is_exact ? 1.0 / 9671406556917033397649408.0 : 1.0 / 37778931862957161709568.0);
    const f64 whole = (left + 6755399441055744.0) - 6755399441055744.0; /* of 3 * 2^51: left without its fraction */
    return near_sum(q, step, margin,
                    IS_ONE_WORD(low, high) & IS_USUAL(squares_high) & (n >> 31 == 0) & (left >= 1.0) & (left < 2147483648.0) &
                        (left == whole) & (is_exact | (top * 16777216.0 >= all)));
}

/* ---- results --------------------------------------------------------------------------------- */

INLINE f64 float_of_whole(u64 low, u64 high) {
    return IS_USUAL(high) ? USUALLY(low, high) : exact_mean(low, high, 1);
}

INLINE f64 mean_of_whole(u64 low, u64 high, u64 n) {
    const NEAR near = usual_mean(low, high, n);
    return near.is_nearest ? near.value : exact_mean(low, high, n);
}

INLINE f64 variance_of_whole(u64 low, u64 high, u64 squares, u64 squares_high, u64 n, f64 ddof) {
    const NEAR near = usual_variance(low, high, squares, squares_high, n, ddof);
    return near.is_nearest ? near.value : exact_variance(low, high, squares, squares_high, n, ddof);
}
