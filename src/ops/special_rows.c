/* SPDX-License-Identifier: MIT */
/* The rows of ops for complex items, for integers of up to 32 bits and for the level `compensated`;
 * rows.c explains members. */
#include "ops/ops.h"

#define V TALLY_DTYPE_DEFAULT

/* The rows for complex items x (and y), in place of those of rows.c. The parts are x.re and x.im,
 * of type V. A result of ITEM is complex, two values; one of REAL is a V. */
const tally_op_row tally_complex_rows[TALLY_OP_END] = {
    [TALLY_SUM] = {.name = "sum",
                   .takes = TALLY_TAKES_COMPLEX,
                   .fields = {{V, "re"}, {V, "im"}},
                   .identity = "MAKE(NEG_ZERO, NEG_ZERO)",
                   .load = "MAKE(x.re, x.im)",
                   .combine = "MAKE(a.re + b.re, a.im + b.im)",
                   .first = "a.re",
                   .second = "a.im",
                   .empty = "ZERO",
                   .second_empty = "ZERO",
                   .initial = "MAKE(x, y)"},
    [TALLY_PROD] = {.name = "prod",
                    .takes = TALLY_TAKES_COMPLEX,
                    .fields = {{V, "re"}, {V, "im"}, {V, "count"}},
                    .identity = "MAKE(ONE, ZERO, ZERO)",
                    .load = "MAKE(x.re, x.im, ONE)",
                    .combine = "MERGE_PRODUCTS(a, b)",
                    .first = "a.re",
                    .second = "a.im",
                    .empty = "ONE",
                    .second_empty = "ZERO",
                    .initial = "MAKE(x, y, ONE)"},
    [TALLY_ASUM] = {.name = "asum",
                    .takes = TALLY_TAKES_COMPLEX,
                    .gives = TALLY_GIVES_REAL,
                    .identity = "NEG_ZERO",
                    .load = "fabs(x.re) + fabs(x.im)",
                    .combine = "a + b",
                    .empty = "ZERO",
                    .additive = TALLY_ADDITIVE_LINEAR},
    [TALLY_SUMSQ] = {.name = "sumsq",
                     .takes = TALLY_TAKES_COMPLEX,
                     .gives = TALLY_GIVES_REAL,
                     .identity = "NEG_ZERO",
                     .load = "SQUARE(x.re) + SQUARE(x.im)",
                     .combine = "a + b",
                     .empty = "ZERO",
                     .additive = TALLY_ADDITIVE_QUADRATIC},
    [TALLY_NRM2] = {.name = "nrm2",
                    .takes = TALLY_TAKES_COMPLEX,
                    .gives = TALLY_GIVES_REAL,
                    .fields = {{V, "small"}, {V, "medium"}, {V, "big"}},
                    .identity = "MAKE(ZERO, ZERO, ZERO)",
                    .load = "MAKE(SMALL_SQUARE(x.re) + SMALL_SQUARE(x.im), MEDIUM_SQUARE(x.re) + MEDIUM_SQUARE(x.im), "
                            "BIG_SQUARE(x.re) + BIG_SQUARE(x.im))",
                    .combine = "MAKE(a.small + b.small, a.medium + b.medium, a.big + b.big)",
                    .first = "SCALED_ROOT(a)",
                    .empty = "ZERO",
                    .initial = "MAKE(SMALL_SQUARE((V)(x)), MEDIUM_SQUARE((V)(x)), BIG_SQUARE((V)(x)))",
                    .usual = "MOSTLY_MEDIUM(a)",
                    .usually = "ROOT(a.medium)",
                    .guess = {.load = "MAKE(IF_SMALL(fabs(x.re)) + IF_SMALL(fabs(x.im)), SQUARE(x.re) + SQUARE(x.im), "
                                      "IF_BIG(fabs(x.re)) + IF_BIG(fabs(x.im)))",
                              .holds = "ALL_MEDIUM(a)",
                              .field = "medium"}},
    [TALLY_MEAN] = {.name = "mean",
                    .takes = TALLY_TAKES_COMPLEX,
                    .fields = {{V, "re"}, {V, "im"}},
                    .identity = "MAKE(NEG_ZERO, NEG_ZERO)",
                    .load = "MAKE(x.re, x.im)",
                    .combine = "MAKE(a.re + b.re, a.im + b.im)",
                    .first = "QUOTIENT(a.re, COUNTED(n))",
                    .second = "QUOTIENT(a.im, COUNTED(n))",
                    .empty = "NOT_A_NUMBER",
                    .second_empty = "NOT_A_NUMBER"},
    [TALLY_DOT] = {.name = "dot",
                   .takes = TALLY_TAKES_COMPLEX,
                   .inputs = 2,
                   .fields = {{V, "re"}, {V, "im"}},
                   .identity = "MAKE(NEG_ZERO, NEG_ZERO)",
                   .load = "MAKE(x.re * y.re - x.im * y.im, x.re * y.im + x.im * y.re)",
                   .combine = "MAKE(a.re + b.re, a.im + b.im)",
                   .first = "a.re",
                   .second = "a.im",
                   .empty = "ZERO",
                   .second_empty = "ZERO",
                   .initial = "MAKE(x, y)"},
    [TALLY_DOTC] = {.name = "dotc",
                    .takes = TALLY_TAKES_COMPLEX,
                    .inputs = 2,
                    .fields = {{V, "re"}, {V, "im"}},
                    .identity = "MAKE(NEG_ZERO, NEG_ZERO)",
                    .load = "MAKE(x.re * y.re + x.im * y.im, x.re * y.im - x.im * y.re)",
                    .combine = "MAKE(a.re + b.re, a.im + b.im)",
                    .first = "a.re",
                    .second = "a.im",
                    .empty = "ZERO",
                    .second_empty = "ZERO",
                    .initial = "MAKE(x, y)"},
};

/* var, std and nrm2 of integers of up to 32 bits but for their names and lanes. */
#define SUMS "(a.sum, a.sum_high, a.squares, a.squares_high, n, p.ddof)"
#define VARIANCE_OF_SUMS "variance_of_whole" SUMS
#define USUAL_VARIANCE "usual_variance" SUMS
#define WHOLE_VARIANCE                                                                                                         \
    .takes = TALLY_TAKES_INTEGER, .accumulate = TALLY_ACCUMULATE_WIDE, .gives = TALLY_GIVES_REAL,                              \
    .fields = {{V, "sum"}, {V, "sum_high"}, {V, "squares"}, {V, "squares_high"}}, .identity = "MAKE(ZERO, ZERO, ZERO, ZERO)",  \
    .load = "MAKE((V)(x), SIGN_WORD(x), SQUARE((V)(x)), ZERO)", .combine = "ADD_SUMS(a, b)", .empty = "NAN",                   \
    .usual = USUAL_VARIANCE ".is_nearest", .exact = TALLY_EXACT, .text = "wholes", .params = {{"ddof", 0}}
#define WHOLE_NORM                                                                                                             \
    .takes = TALLY_TAKES_INTEGER, .accumulate = TALLY_ACCUMULATE_WIDE, .gives = TALLY_GIVES_REAL,                              \
    .fields = {{V, "squares"}, {V, "squares_high"}}, .identity = "MAKE(ZERO, ZERO)", .load = "MAKE(SQUARE((V)(x)), ZERO)",     \
    .combine = "MAKE(a.squares + b.squares, ADD_HIGH(a, b, squares))",                                                         \
    .first = "sqrt(float_of_whole(a.squares, a.squares_high))", .empty = "0", .usual = "IS_USUAL(a.squares_high)",             \
    .usually = "sqrt(USUALLY(a.squares, a.squares_high))", .exact = TALLY_EXACT, .text = "wholes"

/* Lanes of 32-bit items: the upper halves of squares have a sum of their own, so that none needs a
 * carry. */
#define VARIANCE_BY_HALVES                                                                                                     \
    .lane = {.fields = {{TALLY_ADDITIVE_UNIT, "low"},                                                                          \
                        {TALLY_ADDITIVE_UNIT, "high"},                                                                         \
                        {TALLY_ADDITIVE_NO, "squares"},                                                                        \
                        {TALLY_ADDITIVE_NO, "top"}},                                                                           \
             .identity = "MAKE(0, 0, ZERO, ZERO)",                                                                             \
             .load = "MAKE((u32)(x), UPPER_HALF(x), SQUARE((V)(x)), HIGH_HALF(SQUARE((V)(x))))",                               \
             .combine = "MAKE(a.low + b.low, a.high + b.high, a.squares + b.squares, a.top + b.top)",                          \
             .widen = "MAKE(SUM_OF_HALVES(a), SIGN_WORD(SUM_OF_HALVES(a)), a.squares, WORD_ABOVE(a.squares, a.top))"}
/* Lanes of items of up to 16 bits: a word for each sum. */
#define VARIANCE_BY_WORDS                                                                                                      \
    .lane = {.fields = {{TALLY_ADDITIVE_LINEAR, "sum"}, {TALLY_ADDITIVE_QUADRATIC, "squares"}},                                \
             .identity = "MAKE(ZERO, ZERO)",                                                                                   \
             .load = "MAKE(x, SQUARE((u32)(x)))",                                                                              \
             .combine = "MAKE(a.sum + b.sum, a.squares + b.squares)",                                                          \
             .widen = "MAKE((V)a.sum, SIGN_WORD(a.sum), a.squares, ZERO)"},                                                    \
    .bytes = "MAKE(SUM_OF_BYTES(w, a.sum), SUM_OF_SQUARES(w, a.squares))"

/*
 * Rows for integers of up to 32 bits, whose sums are exact: in 128 bits no number of items
 * overflows them. The sum of the items is `sum` and `sum_high`, the sum of their squares `squares`
 * and `squares_high`. The result is rounded at the end (kernels/wholes.h).
 */
const tally_op_row tally_whole_rows[TALLY_OP_END] = {
    [TALLY_NRM2] = {WHOLE_NORM, .name = "nrm2",
                    .lane = {.fields = {{TALLY_ADDITIVE_NO, "squares"}, {TALLY_ADDITIVE_NO, "top"}},
                             .identity = "MAKE(ZERO, ZERO)",
                             .load = "MAKE(SQUARE((V)(x)), HIGH_HALF(SQUARE((V)(x))))",
                             .combine = "MAKE(a.squares + b.squares, a.top + b.top)",
                             .widen = "MAKE(a.squares, WORD_ABOVE(a.squares, a.top))"}},
    [TALLY_MEAN] = {.name = "mean",
                    .takes = TALLY_TAKES_INTEGER,
                    .accumulate = TALLY_ACCUMULATE_WIDE,
                    .gives = TALLY_GIVES_REAL,
                    .fields = {{V, "sum"}, {V, "sum_high"}},
                    .identity = "MAKE(ZERO, ZERO)",
                    .load = "MAKE((V)(x), SIGN_WORD(x))",
                    .combine = "MAKE(a.sum + b.sum, ADD_HIGH(a, b, sum))",
                    .first = "mean_of_whole(a.sum, a.sum_high, n)",
                    .empty = "NAN",
                    .usual = "IS_NARROW(a.sum, a.sum_high)",
                    .usually = "f64_OF_i64((i64)a.sum) / f64_OF_u64(n)",
                    .exact = TALLY_EXACT,
                    .lane = TALLY_SUM_BY_HALVES("x", "MAKE(SUM_OF_HALVES(a), SIGN_WORD(SUM_OF_HALVES(a)))"),
                    .text = "wholes"},
    [TALLY_VAR] = {WHOLE_VARIANCE, VARIANCE_BY_HALVES, .name = "var", .first = VARIANCE_OF_SUMS,
                   .usually = USUAL_VARIANCE ".value"},
    [TALLY_STD] = {WHOLE_VARIANCE, VARIANCE_BY_HALVES, .name = "std", .first = "sqrt(" VARIANCE_OF_SUMS ")",
                   .usually = "sqrt(" USUAL_VARIANCE ".value)"},
};

/* Rows for integers of up to 16 bits. The sum of a mean is one word, as that of `sum` is: fewer
 * than 2^47 items do not overflow it. Inputs that are close are mostly equal. */
const tally_op_row tally_narrow_rows[TALLY_OP_END] = {
    [TALLY_MEAN] = {.name = "mean",
                    .takes = TALLY_TAKES_INTEGER,
                    .accumulate = TALLY_ACCUMULATE_WIDE,
                    .gives = TALLY_GIVES_REAL,
                    .identity = "ZERO",
                    .load = "(V)(x)",
                    .combine = "a + b",
                    .first = "mean_of_whole(a, SIGN_WORD(a), n)",
                    .empty = "NAN",
                    .usual = "IS_NARROW(a, SIGN_WORD(a))",
                    .usually = "f64_OF_i64((i64)a) / f64_OF_u64(n)",
                    .additive = TALLY_ADDITIVE_LINEAR,
                    .bytes = "SUM_OF_BYTES(w, a)",
                    .text = "wholes"},
    [TALLY_NRM2] = {WHOLE_NORM, .name = "nrm2",
                    .lane = {.fields = {{TALLY_ADDITIVE_QUADRATIC, "squares"}},
                             .identity = "MAKE(ZERO)",
                             .load = "MAKE(SQUARE((u32)(x)))",
                             .combine = "MAKE(a.squares + b.squares)",
                             .widen = "MAKE(a.squares, ZERO)"},
                    .bytes = "MAKE(SUM_OF_SQUARES(w, a.squares))"},
    [TALLY_VAR] = {WHOLE_VARIANCE, VARIANCE_BY_WORDS, .name = "var", .first = VARIANCE_OF_SUMS,
                   .usually = USUAL_VARIANCE ".value"},
    [TALLY_STD] = {WHOLE_VARIANCE, VARIANCE_BY_WORDS, .name = "std", .first = "sqrt(" VARIANCE_OF_SUMS ")",
                   .usually = "sqrt(" USUAL_VARIANCE ".value)"},
    [TALLY_ALLCLOSE] = {.name = "allclose",
                        .takes = TALLY_TAKES_INTEGER,
                        .inputs = 2,
                        .accumulate = TALLY_ACCUMULATE_TRUTH,
                        .gives = TALLY_GIVES_TRUTH,
                        .identity = "ONE",
                        .load = "NARROW_CLOSE(x, y, p)",
                        .combine = "a & b",
                        .empty = "ONE",
                        .decided = "a == 0",
                        .initial = "x != 0",
                        .exact = TALLY_EXACT,
                        .guess = {.load = "x == y", .holds = "a != 0"},
                        .bytes = "a & (BYTES(w) == BYTES(v))",
                        .bytes_hold = "DIFFERENT_BYTES_ARE_FAR(p)",
                        .params = {{"rtol", 1e-5}, {"atol", 1e-8}}},
};

/* Rows for floats at the level `compensated`. The accumulator is the unevaluated sum high + low. */
const tally_op_row tally_compensated_rows[TALLY_OP_END] = {
    [TALLY_SUM] = {.name = "sum",
                   .takes = TALLY_TAKES_FLOAT,
                   .accumulate = TALLY_ACCUMULATE_WIDE,
                   .gives = TALLY_GIVES_WIDE,
                   .fields = {{V, "high"}, {V, "low"}},
                   .identity = "MAKE(NEG_ZERO, NEG_ZERO)",
                   .load = "MAKE((V)(x), NEG_ZERO)",
                   .combine = "ADD_TWOFOLD(a, b)",
                   .first = "a.high + a.low",
                   .empty = "ZERO",
                   .initial = "MAKE((V)(x), NEG_ZERO)"},
    [TALLY_ASUM] = {.name = "asum",
                    .takes = TALLY_TAKES_FLOAT,
                    .accumulate = TALLY_ACCUMULATE_WIDE,
                    .gives = TALLY_GIVES_WIDE,
                    .fields = {{V, "high"}, {V, "low"}},
                    .identity = "MAKE(NEG_ZERO, NEG_ZERO)",
                    .load = "MAKE(MAGNITUDE(x), NEG_ZERO)",
                    .combine = "ADD_TWOFOLD(a, b)",
                    .first = "a.high + a.low",
                    .empty = "ZERO",
                    .initial = "MAKE((V)(x), NEG_ZERO)"},
    [TALLY_SUMSQ] = {.name = "sumsq",
                     .takes = TALLY_TAKES_FLOAT,
                     .accumulate = TALLY_ACCUMULATE_WIDE,
                     .gives = TALLY_GIVES_WIDE,
                     .fields = {{V, "high"}, {V, "low"}},
                     .identity = "MAKE(NEG_ZERO, NEG_ZERO)",
                     .load = "MULTIPLY_TWOFOLD((V)(x), (V)(x))",
                     .combine = "ADD_TWOFOLD(a, b)",
                     .first = "a.high + a.low",
                     .empty = "ZERO",
                     .initial = "MAKE((V)(x), NEG_ZERO)"},
    [TALLY_MEAN] = {.name = "mean",
                    .takes = TALLY_TAKES_FLOAT,
                    .accumulate = TALLY_ACCUMULATE_REAL,
                    .gives = TALLY_GIVES_REAL,
                    .fields = {{V, "high"}, {V, "low"}},
                    .identity = "MAKE(NEG_ZERO, NEG_ZERO)",
                    .load = "MAKE((V)(x), NEG_ZERO)",
                    .combine = "ADD_TWOFOLD(a, b)",
                    .first = "QUOTIENT(a.high + a.low, COUNTED(n))",
                    .empty = "NOT_A_NUMBER"},
    [TALLY_DOT] = {.name = "dot",
                   .takes = TALLY_TAKES_FLOAT,
                   .inputs = 2,
                   .accumulate = TALLY_ACCUMULATE_WIDE,
                   .gives = TALLY_GIVES_WIDE,
                   .fields = {{V, "high"}, {V, "low"}},
                   .identity = "MAKE(NEG_ZERO, NEG_ZERO)",
                   .load = "MULTIPLY_TWOFOLD((V)(x), (V)(y))",
                   .combine = "ADD_TWOFOLD(a, b)",
                   .first = "a.high + a.low",
                   .empty = "ZERO",
                   .initial = "MAKE((V)(x), NEG_ZERO)"},
};
