/* SPDX-License-Identifier: MIT */
/* The ops' rows, looked up by value and by name. */
#include <string.h>

#include "base/did_you_mean.h"
#include "ops/ops.h"

/*
 * The expressions are C that means the same in CUDA C, OpenCL C and C. kernels/arithmetic.h defines
 * the functions that they use. Kernels are compiled from them at run time. The defaults of a row's
 * members:
 *
 *   inputs      1: items x. Rows of 2 inputs read items x and y of the same index.
 *   accumulate  SAME: V is the type that the item is loaded as.
 *   gives       ITEM: the result has the item's type.
 *   fields      none: the accumulator is a V. MAKE(...) makes a struct from its fields' values.
 *   first       "a": the result is the accumulator.
 *   second      the result is one value.
 *   initial     "(V)(x)" where the result is the accumulator; else no initial result is taken.
 *   usual       no condition is known under which `usually` has the bits of `first` at less cost.
 *   exact       the result depends on the order of combination, unless the accumulator is one
 *               integer.
 *   additive    combine is not a + b.
 *   lane        a lane of a chunk is an accumulator, or a V that is narrower.
 *   guess       a chunk is taken by `load` and `combine` alone.
 *   bytes       no device takes four items of a byte at once. They may go to any lane,
 *               and bytes of 0 change none. `bytes_hold`: for all parameters.
 *               `takes_pairs`: it is for bytes alone.
 *   adds_products  `load` is no product of items. Vectors of 32-bit integers multiply every other
 *               one (src/host/products.h).
 *   plain       no short step is known for vectors whose words meet a condition.
 *   text        kernels/arithmetic.h defines all that the expressions use.
 *   alike       no other op has the same results. Of items of these kinds the op is that one: all
 *               else that its row says is for other items.
 *   params      none. Expressions read a parameter, of type R, as p.name.
 *
 * R is the float type of parameters, and R_OF(x) the item in it, rounded once. ZERO, ONE, NEG_ZERO
 * (-0.0; 0 for integers), LOWEST and HIGHEST (the infinities; the limits of integers) are of type
 * V. MIN and MAX are IEEE 754-2019 minimum and maximum: NaN wins, -0 < +0.
 * combine(identity, x) is x for every x, to the bit, since the identity stands for absent items.
 */
#define V TALLY_DTYPE_DEFAULT

/* var and std but for their names and results. The pivot is the mean of the chunk's first items,
 * which are scaled before they are added up: no sum overflows. */
#define MOMENTS                                                                                                                \
    .takes = TALLY_TAKES_ANY, .accumulate = TALLY_ACCUMULATE_REAL, .gives = TALLY_GIVES_REAL,                                  \
    .fields = {{V, "count"}, {V, "mean"}, {V, "low"}, {V, "deviations"}}, .identity = "MAKE(ZERO, ZERO, ZERO, ZERO)",          \
    .load = "MAKE(ONE, R_OF(x), ZERO, ZERO)", .combine = "MERGE_MOMENTS(a, b)", .share = "SHARE_OF_MOMENTS(a, b)",             \
    .by_share = "MERGED(share, a, b)", .empty = "NOT_A_NUMBER",                                                                \
    .lane = {.fields = {{TALLY_ADDITIVE_NO, "rest"}, {TALLY_ADDITIVE_NO, "squares"}},                                          \
             .identity = "MAKE(NEG_ZERO, NEG_ZERO)",                                                                           \
             .load = "MAKE(R_OF(x) - pivot, SQUARE(R_OF(x) - pivot))",                                                         \
             .combine = "MAKE(a.rest + b.rest, a.squares + b.squares)",                                                        \
             .widen = "CHUNK_MOMENTS(a, (V)(count), pivot)",                                                                   \
             .pivot = {.identity = "NEG_ZERO",                                                                                 \
                       .load = "R_OF(x) * (ONE / (V)LANES)",                                                                   \
                       .combine = "a + b",                                                                                     \
                       .finish = "a * (V)(1 << halvings)"}},                                                                   \
    .params = {{"ddof", 0}}

static const tally_op_row ops[TALLY_OP_END] = {
    [TALLY_SUM] = {.name = "sum",
                   .summary = "sum of all items",
                   .takes = TALLY_TAKES_ANY,
                   .accumulate = TALLY_ACCUMULATE_WIDE,
                   .gives = TALLY_GIVES_WIDE,
                   .identity = "NEG_ZERO",
                   .load = "(V)(x)",
                   .combine = "a + b",
                   .empty = "ZERO",
                   .additive = TALLY_ADDITIVE_LINEAR,
                   .lane = TALLY_SUM_BY_HALVES("x", "SUM_OF_HALVES(a)"),
                   .bytes = "SUM_OF_BYTES(w, a)"},
    [TALLY_PROD] = {.name = "prod",
                    .summary = "product of all items",
                    .takes = TALLY_TAKES_ANY,
                    .accumulate = TALLY_ACCUMULATE_WIDE,
                    .gives = TALLY_GIVES_WIDE,
                    .identity = "ONE",
                    .load = "(V)(x)",
                    .combine = "a * b",
                    .empty = "ONE",
                    .bytes = "a * (V)PRODUCT_OF_WORD(w)",
                    .counts_zeros = true,
                    .takes_pairs = true},
    [TALLY_MIN] = {.name = "min",
                   .summary = "smallest item; NaN wins; -0 < +0",
                   .takes = TALLY_TAKES_ANY,
                   .identity = "HIGHEST",
                   .load = "(V)(x)",
                   .combine = "MIN(a, b)",
                   .empty = "HIGHEST",
                   .exact = TALLY_IDEMPOTENT,
                   .bytes = "min(a, (V)BYTES_MIN(w))",
                   .counts_zeros = true,
                   .guess = {.combine = "QUICK_MIN(a, b)", .holds = "a != 0", .signs = "(a) | (b)"}},
    [TALLY_MAX] = {.name = "max",
                   .summary = "largest item; NaN wins; -0 < +0",
                   .takes = TALLY_TAKES_ANY,
                   .identity = "LOWEST",
                   .load = "(V)(x)",
                   .combine = "MAX(a, b)",
                   .empty = "LOWEST",
                   .exact = TALLY_IDEMPOTENT,
                   .bytes = "max(a, (V)BYTES_MAX(w))",
                   .counts_zeros = true,
                   .guess = {.combine = "QUICK_MAX(a, b)", .holds = "a != 0", .signs = "(a) & (b)"}},
    [TALLY_NANMIN] = {.name = "nanmin",
                      .summary = "smallest item that is no NaN; NaN if there is none",
                      .takes = TALLY_TAKES_ANY,
                      .alike = {TALLY_MIN, TALLY_TAKES_INTEGER},
                      .identity = "NOT_A_NUMBER",
                      .load = "(V)(x)",
                      .combine = "NUMBER_MIN(a, b)",
                      .empty = "HIGHEST",
                      .exact = TALLY_IDEMPOTENT,
                      .guess = {.combine = "QUICK_MIN(a, b)", .holds = "a != 0"}},
    [TALLY_NANMAX] = {.name = "nanmax",
                      .summary = "largest item that is no NaN; NaN if there is none",
                      .takes = TALLY_TAKES_ANY,
                      .alike = {TALLY_MAX, TALLY_TAKES_INTEGER},
                      .identity = "NOT_A_NUMBER",
                      .load = "(V)(x)",
                      .combine = "NUMBER_MAX(a, b)",
                      .empty = "LOWEST",
                      .exact = TALLY_IDEMPOTENT,
                      .guess = {.combine = "QUICK_MAX(a, b)", .holds = "a != 0"}},
    [TALLY_ARGMIN] = {.name = "argmin",
                      .summary = "index of the first smallest item; of the first NaN",
                      .takes = TALLY_TAKES_ANY,
                      .gives = TALLY_GIVES_INDEX,
                      .fields = {{V, "value"}, {TALLY_U64, "index"}},
                      .identity = "MAKE(HIGHEST, NO_INDEX)",
                      .load = "MAKE((V)(x), i)",
                      .combine = "TAKE(a, b, LESS(b, a))",
                      .first = "a.index",
                      .empty = "NO_INDEX",
                      .exact = TALLY_IDEMPOTENT,
                      .lane = {.of = TALLY_LANE_OF_NARROW,
                               .identity = "LOW_KEY(HIGHEST, CHUNK_ITEMS)",
                               .load = "LOW_KEY((V)(x), i)",
                               .combine = "MAX(a, b)",
                               .widen = "OF_KEY(~a, 0xffff, CHUNK_ITEMS - BELOW(a))"},
                      .guess = {.combine = "MAKE(QUICK_MIN(a.value, b.value), 0)", .holds = "1"}},
    [TALLY_ARGMAX] = {.name = "argmax",
                      .summary = "index of the first largest item; of the first NaN",
                      .takes = TALLY_TAKES_ANY,
                      .gives = TALLY_GIVES_INDEX,
                      .fields = {{V, "value"}, {TALLY_U64, "index"}},
                      .identity = "MAKE(LOWEST, NO_INDEX)",
                      .load = "MAKE((V)(x), i)",
                      .combine = "TAKE(a, b, GREATER(b, a))",
                      .first = "a.index",
                      .empty = "NO_INDEX",
                      .exact = TALLY_IDEMPOTENT,
                      .lane = {.of = TALLY_LANE_OF_NARROW,
                               .identity = "TOP_KEY(LOWEST, CHUNK_ITEMS)",
                               .load = "TOP_KEY((V)(x), i)",
                               .combine = "MAX(a, b)",
                               .widen = "OF_KEY(a, 0, CHUNK_ITEMS - BELOW(a))"},
                      .guess = {.combine = "MAKE(QUICK_MAX(a.value, b.value), 0)", .holds = "1"}},
    [TALLY_MINMAX] = {.name = "minmax",
                      .summary = "smallest and largest item, two values; NaN wins",
                      .takes = TALLY_TAKES_ANY,
                      .fields = {{V, "low"}, {V, "high"}},
                      .identity = "MAKE(HIGHEST, LOWEST)",
                      .load = "MAKE((V)(x), (V)(x))",
                      .combine = "MAKE(MIN(a.low, b.low), MAX(a.high, b.high))",
                      .first = "a.low",
                      .second = "a.high",
                      .empty = "HIGHEST",
                      .second_empty = "LOWEST",
                      .initial = "MAKE((V)(x), (V)(y))",
                      .exact = TALLY_IDEMPOTENT,
                      .bytes = "MAKE(min(a.low, (V)BYTES_MIN(w)), max(a.high, (V)BYTES_MAX(w)))",
                      .counts_zeros = true,
                      .guess = {.combine = "MAKE(QUICK_MIN(a.low, b.low), QUICK_MAX(a.high, b.high))",
                                .holds = "(a.low != 0) & (a.high != 0)"}},
    [TALLY_ANY] = {.name = "any",
                   .summary = "whether any item is nonzero; NaN counts as nonzero",
                   .takes = TALLY_TAKES_ANY,
                   .accumulate = TALLY_ACCUMULATE_TRUTH,
                   .gives = TALLY_GIVES_TRUTH,
                   .identity = "ZERO",
                   .load = "x != 0",
                   .combine = "a | b",
                   .empty = "ZERO",
                   .initial = "x != 0",
                   .exact = TALLY_IDEMPOTENT,
                   .bytes = "a | ONE_AT_MOST(w)"},
    [TALLY_ALL] = {.name = "all",
                   .summary = "whether all items are nonzero; NaN counts as nonzero",
                   .takes = TALLY_TAKES_ANY,
                   .accumulate = TALLY_ACCUMULATE_TRUTH,
                   .gives = TALLY_GIVES_TRUTH,
                   .identity = "ONE",
                   .load = "x != 0",
                   .combine = "a & b",
                   .empty = "ONE",
                   .initial = "x != 0",
                   .exact = TALLY_IDEMPOTENT,
                   .bytes = "HAS_ZERO(w) ? ZERO : a",
                   .counts_zeros = true},
    [TALLY_COUNT_NONZERO] = {.name = "count_nonzero",
                             .summary = "how many items are nonzero; NaN counts as nonzero",
                             .takes = TALLY_TAKES_ANY,
                             .accumulate = TALLY_ACCUMULATE_COUNT,
                             .gives = TALLY_GIVES_COUNT,
                             .identity = "ZERO",
                             .load = "x != 0",
                             .combine = "a + b",
                             .empty = "ZERO",
                             .exact = TALLY_EXACT,
                             .additive = TALLY_ADDITIVE_UNIT,
                             .bytes = "SUM_OF_TRUTHS(w, a)"},
    [TALLY_BAND] = {.name = "band",
                    .summary = "bitwise and",
                    .takes = TALLY_TAKES_INTEGER,
                    .identity = "~ZERO",
                    .load = "(V)(x)",
                    .combine = "a & b",
                    .empty = "~ZERO",
                    .exact = TALLY_IDEMPOTENT,
                    .bytes = "a & (V)BYTES_AND(w)",
                    .counts_zeros = true},
    [TALLY_BOR] = {.name = "bor",
                   .summary = "bitwise or",
                   .takes = TALLY_TAKES_INTEGER,
                   .identity = "ZERO",
                   .load = "(V)(x)",
                   .combine = "a | b",
                   .empty = "ZERO",
                   .exact = TALLY_IDEMPOTENT,
                   .bytes = "a | (V)BYTES_OR(w)"},
    [TALLY_BXOR] = {.name = "bxor",
                    .summary = "bitwise exclusive or",
                    .takes = TALLY_TAKES_INTEGER,
                    .identity = "ZERO",
                    .load = "(V)(x)",
                    .combine = "a ^ b",
                    .empty = "ZERO",
                    .exact = TALLY_EXACT,
                    .bytes = "a ^ (V)BYTES_XOR(w)"},
    [TALLY_ASUM] = {.name = "asum",
                    .summary = "sum of magnitudes (L1 norm)",
                    .takes = TALLY_TAKES_ANY,
                    .alike = {TALLY_SUM, TALLY_TAKES_UNSIGNED},
                    .accumulate = TALLY_ACCUMULATE_WIDE,
                    .gives = TALLY_GIVES_UNSIGNED,
                    .identity = "NEG_ZERO",
                    .load = "MAGNITUDE(x)",
                    .combine = "a + b",
                    .empty = "ZERO",
                    .additive = TALLY_ADDITIVE_LINEAR,
                    .lane = TALLY_SUM_BY_HALVES("MAGNITUDE(x)", "SUM_OF_HALVES(a)"),
                    .bytes = "SUM_OF_MAGNITUDES(w, a)"},
    [TALLY_SUMSQ] = {.name = "sumsq",
                     .summary = "sum of squares",
                     .takes = TALLY_TAKES_ANY,
                     .accumulate = TALLY_ACCUMULATE_WIDE,
                     .gives = TALLY_GIVES_UNSIGNED,
                     .identity = "NEG_ZERO",
                     .load = "SQUARE((V)(x))",
                     .combine = "a + b",
                     .empty = "ZERO",
                     .additive = TALLY_ADDITIVE_QUADRATIC,
                     .adds_products = true,
                     .bytes = "SUM_OF_SQUARES(w, a)"},
    [TALLY_NRM2] = {.name = "nrm2",
                    .summary = "square root of the sum of squares (L2 norm), scaled: no overflow, no underflow",
                    .takes = TALLY_TAKES_ANY,
                    .accumulate = TALLY_ACCUMULATE_REAL,
                    .gives = TALLY_GIVES_REAL,
                    .fields = {{V, "small"}, {V, "medium"}, {V, "big"}},
                    .identity = "MAKE(ZERO, ZERO, ZERO)",
                    .load = "MAKE(SMALL_SQUARE(R_OF(x)), MEDIUM_SQUARE(R_OF(x)), BIG_SQUARE(R_OF(x)))",
                    .combine = "MAKE(a.small + b.small, a.medium + b.medium, a.big + b.big)",
                    .first = "SCALED_ROOT(a)",
                    .empty = "ZERO",
                    .initial = "MAKE(SMALL_SQUARE((V)(x)), MEDIUM_SQUARE((V)(x)), BIG_SQUARE((V)(x)))",
                    .usual = "MOSTLY_MEDIUM(a)",
                    .usually = "ROOT(a.medium)",
                    .lane = {.of = TALLY_LANE_OF_F16, /* no square of a finite number needs scaling */
                             .fields = {{TALLY_ADDITIVE_NO, "medium"}},
                             .identity = "MAKE(ZERO)",
                             .load = "MAKE(SQUARE((V)(x)))",
                             .combine = "MAKE(a.medium + b.medium)",
                             .widen = "MAKE(ZERO, a.medium, ZERO)"},
                    .guess = {.load = "MAKE(IF_SMALL(fabs(R_OF(x))), SQUARE(R_OF(x)), IF_BIG(fabs(R_OF(x))))",
                              .holds = "ALL_MEDIUM(a)",
                              .field = "medium"},
                    .plain = {.not_plain = "NOT_MEDIUM_OF_BF16(w)", .step = "MAKE(a.small, a.medium + SQUARE((V)(x)), a.big)"}},
    [TALLY_AMAX] = {.name = "amax",
                    .summary = "largest magnitude; NaN wins",
                    .takes = TALLY_TAKES_ANY,
                    .alike = {TALLY_MAX, TALLY_TAKES_UNSIGNED | TALLY_TAKES_BOOL},
                    .accumulate = TALLY_ACCUMULATE_MAGNITUDE,
                    .gives = TALLY_GIVES_MAGNITUDE,
                    .identity = "ZERO",
                    .load = "MAGNITUDE(x)",
                    .combine = "MAX(a, b)",
                    .empty = "ZERO",
                    .exact = TALLY_IDEMPOTENT,
                    .bytes = "max(a, (V)BYTES_AMAX(w))",
                    .guess = {.combine = "QUICK_MAX(a, b)", .holds = "1"}},
    [TALLY_IAMAX] = {.name = "iamax",
                     .summary = "index of the first largest magnitude; of the first NaN",
                     .takes = TALLY_TAKES_ANY,
                     .alike = {TALLY_ARGMAX, TALLY_TAKES_UNSIGNED | TALLY_TAKES_BOOL},
                     .accumulate = TALLY_ACCUMULATE_MAGNITUDE,
                     .gives = TALLY_GIVES_INDEX,
                     .fields = {{V, "value"}, {TALLY_U64, "index"}},
                     .identity = "MAKE(ZERO, NO_INDEX)",
                     .load = "MAKE(MAGNITUDE(x), i)",
                     .combine = "TAKE(a, b, GREATER(b, a))",
                     .first = "a.index",
                     .empty = "NO_INDEX",
                     .exact = TALLY_IDEMPOTENT,
                     .lane = {.of = TALLY_LANE_OF_NARROW,
                              .identity = "TOP_KEY(ZERO, CHUNK_ITEMS)",
                              .load = "TOP_KEY(MAGNITUDE(x), i)",
                              .combine = "MAX(a, b)",
                              .widen = "OF_KEY(a, 0, CHUNK_ITEMS - BELOW(a))"},
                     .guess = {.combine = "MAKE(QUICK_MAX(a.value, b.value), 0)", .holds = "1"}},
    [TALLY_MEAN] = {.name = "mean",
                    .summary = "arithmetic mean",
                    .takes = TALLY_TAKES_ANY,
                    .accumulate = TALLY_ACCUMULATE_REAL,
                    .gives = TALLY_GIVES_REAL,
                    .identity = "NEG_ZERO",
                    .load = "(V)(x)",
                    .combine = "a + b",
                    .first = "QUOTIENT(a, COUNTED(n))",
                    .empty = "NOT_A_NUMBER",
                    .additive = TALLY_ADDITIVE_LINEAR},
    [TALLY_VAR] = {MOMENTS, .name = "var", .summary = "variance: sum of squared deviations over n - ddof (a parameter, 0)",
                   .first = "VARIANCE(a, n, p)"},
    [TALLY_STD] = {MOMENTS, .name = "std", .summary = "standard deviation: the root of the variance",
                   .first = "ROOT(VARIANCE(a, n, p))"},
    [TALLY_LOGSUMEXP] = {.name = "logsumexp",
                         .summary = "logarithm of the sum of exponentials, without overflow",
                         .takes = TALLY_TAKES_ANY,
                         .accumulate = TALLY_ACCUMULATE_REAL,
                         .gives = TALLY_GIVES_REAL,
                         .fields = {{V, "top"}, {V, "sum"}},
                         .identity = "MAKE(LOWEST, ZERO)",
                         .load = "MAKE(R_OF(x), SIGNIFICAND(R_OF(x)))",
                         .combine = "MERGE_EXPONENTIALS(a, b)",
                         .first = "LOG_OF_SUM(a.top, a.sum)",
                         .usual = "a.top == f.top", /* what is made of f.top alone is made once */
                         .usually = "LOG_OF_SUM(f.top, a.sum)",
                         .empty = "LOWEST",
                         .initial = "MAKE((V)(x), SIGNIFICAND((V)(x)))",
                         .lane = {.fields = {{TALLY_ADDITIVE_NO, "top"}, {TALLY_ADDITIVE_NO, "sum"}},
                                  .identity = "MAKE(LOWEST, ZERO)",
                                  .load = "MAKE(R_OF(x), SIGNIFICAND(R_OF(x)))",
                                  .combine = "MAKE(LARGER(a.top, b.top), IN_LANE(NEXT_EXPONENTIAL(a, b), a.sum + b.sum))",
                                  .widen = "MAKE(a.top, a.sum * TWO_TO(pivot - EXPONENT(a.top)))",
                                  .pivot = {.identity = "LOWEST",
                                            .load = "R_OF(x)",
                                            .combine = "LARGER(a, b)",
                                            .finish = "EXPONENT(a)",
                                            .of_lane = "a.top",
                                            .holds = "!(all - pivot > MOST_ABOVE)"}},
                         .plain = {.not_plain = "IMMODERATE(w)",
                                   .step = "MAKE(LARGER(a.top, R_OF(x)), ADD_MODERATE(R_OF(x), pivot, a.sum))",
                                   .of_all = true},
                         /* f64 holds e^x: no pivot is needed. A sum of 0 has no items. */
                         .byte_lane = {.fields = {{TALLY_ADDITIVE_NO, "top", TALLY_I32}, {TALLY_ADDITIVE_NO, "sum"}},
                                       .identity = "MAKE(-256, ZERO)",
                                       .load = "MAKE((i32)(x), ITEM_NUMBER)",
                                       .combine = "MAKE(INTEGER_MAX(a.top, b.top), a.sum + b.sum)",
                                       .widen = "MAKE(a.sum > 0 ? (V)a.top : LOWEST, a.sum * TWO_TO(-EXPONENT((V)a.top)))",
                                       .table = {.number = "SIGNIFICAND(R_OF(x)) * TWO_TO(EXPONENT(R_OF(x)))",
                                                 .take = "MAKE(a.top, a.sum + number)",
                                                 .take_word = "MAKE(max(a.top, (i32)BYTES_MAX(w)), a.sum)"}},
                         /* Truth values are counted: 1 and e times as many. */
                         .truth_lane = {.fields = {{TALLY_ADDITIVE_UNIT, "ones"}},
                                        .identity = "MAKE(0)",
                                        .load = "MAKE(x != 0)",
                                        .combine = "MAKE(a.ones + b.ones)",
                                        .widen = "MAKE(a.ones ? ONE : count ? ZERO : LOWEST, fma((V)a.ones, SIGNIFICAND(ONE), "
                                                 "(V)(count - a.ones) * (a.ones ? TWO_TO(-EXPONENT(ONE)) : ONE)))",
                                        .bytes = "MAKE(SUM_OF_TRUTHS(w, a.ones))"},
                         .text = "exponentials"},
    [TALLY_DOT] = {.name = "dot",
                   .summary = "sum of products of two inputs",
                   .takes = TALLY_TAKES_ANY,
                   .inputs = 2,
                   .accumulate = TALLY_ACCUMULATE_WIDE,
                   .gives = TALLY_GIVES_WIDE,
                   .identity = "NEG_ZERO",
                   .load = "(V)(x) * (V)(y)",
                   .combine = "a + b",
                   .empty = "ZERO",
                   .additive = TALLY_ADDITIVE_QUADRATIC,
                   .adds_products = true,
                   .bytes = "PRODUCTS(BYTES(w), BYTES(v), a)"},
    [TALLY_DOTC] = {.name = "dotc",
                    .summary = "dot with the first input conjugated",
                    .takes = TALLY_TAKES_ANY,
                    .inputs = 2,
                    .alike = {TALLY_DOT, TALLY_TAKES_ANY}},
    [TALLY_DIST2] = {.name = "dist2",
                     .summary = "sum of squared differences of two inputs",
                     .takes = TALLY_TAKES_ANY,
                     .inputs = 2,
                     .accumulate = TALLY_ACCUMULATE_WIDE,
                     .gives = TALLY_GIVES_UNSIGNED,
                     .identity = "NEG_ZERO",
                     .load = "SQUARE((V)(x) - (V)(y))",
                     .combine = "a + b",
                     .empty = "ZERO",
                     .additive = TALLY_ADDITIVE_QUADRATIC,
                     .bytes = "SUM_OF_SQUARES(w, SUM_OF_SQUARES(v, a - 2 * PRODUCTS(BYTES(w), BYTES(v), 0)))"},
    [TALLY_ALLCLOSE] = {.name = "allclose",
                        .summary = "whether |x - y| <= atol + rtol |y| for all items of two inputs",
                        .takes = TALLY_TAKES_ANY,
                        .inputs = 2,
                        .accumulate = TALLY_ACCUMULATE_TRUTH,
                        .gives = TALLY_GIVES_TRUTH,
                        .identity = "ONE",
                        .load = "CLOSE(R_OF(x), R_OF(y), p)",
                        .combine = "a & b",
                        .empty = "ONE",
                        .decided = "a == 0",
                        .initial = "x != 0",
                        .exact = TALLY_EXACT,
                        .params = {{"rtol", 1e-5}, {"atol", 1e-8}}},
};

/* Values come from callers, who can put any number into an enum: compare as unsigned. */
#define IN_TABLE(value, end) ((unsigned)(value) < (unsigned)(end))

const tally_op_row *tally_op_find(tally_op op) {
    return IN_TABLE(op, TALLY_OP_END) && ops[op].name ? &ops[op] : NULL;
}

tally_row_level tally_op_row_level(tally_op op, tally_dtype in, tally_accuracy accuracy) {
    const tally_dtype_row *type = tally_dtype_find(in);
    if (accuracy == TALLY_ACCURACY_COMPENSATED) return TALLY_ROW_COMPENSATED;
    if (type->kind == TALLY_KIND_COMPLEX) return TALLY_ROW_COMPLEX;
    if (type->kind == TALLY_KIND_FLOAT) return TALLY_ROW_PLAIN;
    if (tally_dtype_is_narrow(in) && tally_narrow_rows[op].name) return TALLY_ROW_NARROW;
    return type->bytes <= 4 && tally_whole_rows[op].name ? TALLY_ROW_WHOLE : TALLY_ROW_PLAIN;
}

tally_op tally_op_alike(tally_op op, tally_dtype in, tally_accuracy accuracy) {
    const bool is_alike = accuracy == TALLY_ACCURACY_DEFAULT && ops[op].alike.of >> tally_dtype_find(in)->kind & 1;
    return is_alike ? ops[op].alike.op : op;
}

const tally_op_row *tally_op_row_for(tally_op op, tally_dtype in, tally_accuracy accuracy) {
    static const tally_op_row *const tables[TALLY_ROW_LEVELS] = {[TALLY_ROW_PLAIN] = ops,
                                                                 [TALLY_ROW_NARROW] = tally_narrow_rows,
                                                                 [TALLY_ROW_WHOLE] = tally_whole_rows,
                                                                 [TALLY_ROW_COMPLEX] = tally_complex_rows,
                                                                 [TALLY_ROW_COMPENSATED] = tally_compensated_rows};
    const tally_dtype_row *type = tally_dtype_find(in);
    if (!tally_op_find(op) || !type) return NULL;
    op = tally_op_alike(op, in, accuracy);
    const tally_op_row *row = &tables[tally_op_row_level(op, in, accuracy)][op];
    return row->name && row->takes & 1u << type->kind ? row : NULL;
}

const char *tally_op_name(tally_op op) {
    const tally_op_row *row = tally_op_find(op);
    return row ? row->name : NULL;
}

const char *tally_op_summary(tally_op op) {
    const tally_op_row *row = tally_op_find(op);
    return row ? row->summary : NULL;
}

tally_status tally_op_from_name(const char *name, tally_op *out) {
    if (!name || !out) return TALLY_NAMED(tally_fail(TALLY_E_ARGUMENT, "%s is NULL", name ? "out" : "name"));
    for (int i = 0; i < TALLY_OP_END; i++)
        if (ops[i].name && !strcmp(name, ops[i].name)) return *out = (tally_op)i, TALLY_OK;
    char names[512];
    tally_list_names(ops, sizeof(ops[0]), TALLY_OP_END, names, sizeof(names));
    return TALLY_NAMED(tally_fail(TALLY_E_ARGUMENT, "unknown op '%s': %sthere are %s", name,
                                  tally_did_you_mean(name, strlen(name), names).text, names));
}

uint32_t tally_op_inputs(tally_op op) {
    const tally_op_row *row = tally_op_find(op);
    return !row ? 0 : row->inputs ? row->inputs : 1;
}

const char *tally_op_param_name(tally_op op, uint32_t index, double *value) {
    const tally_op_row *row = tally_op_find(op);
    for (uint32_t i = 0; row && row->params[i].name; i++) {
        if (i < index) continue;
        if (value) *value = row->params[i].value;
        return row->params[i].name;
    }
    return NULL;
}
