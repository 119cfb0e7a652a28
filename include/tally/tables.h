/* SPDX-License-Identifier: MIT */
/*
 * tally/tables.h: the tables that the public names come from. Each list is here once: enums, names, parsers, the test
 * matrix, the command line's listings and the tables in docs/ are all made from these rows.
 */
#ifndef TALLY_TABLES_H
#define TALLY_TABLES_H

/* X(id, value, text): every call returns one of these; tally_last_error() has the particulars. */
#define TALLY_STATUS_TABLE(X)                                                                                                  \
    X(OK, 0, "done")                                                                                                           \
    X(E_ARGUMENT, 1, "an argument is wrong: NULL, out of range, of another context, of no known name")                         \
    X(E_NO_DEVICE, 2, "the backend or device asked for is not here")                                                           \
    X(E_UNSUPPORTED, 3, "a sound request that this device or this build cannot serve")                                         \
    X(E_MEMORY, 4, "host or device memory ran out")                                                                            \
    X(E_BUILD, 5, "a kernel did not compile")                                                                                  \
    X(E_DEVICE, 6, "a driver call failed")                                                                                     \
    X(E_INTERNAL, 7, "a defect of tally")

/*
 * X(id, value, name, bytes, kind, compute, summary): item types.
 * name     what the parser takes.
 * kind     one of FLOAT, SIGNED, UNSIGNED, BOOL, COMPLEX.
 * compute  the type that an item is loaded as, a row of TALLY_VALUE_TABLE; of complex items, that of the parts.
 */
#define TALLY_DTYPE_TABLE(X)                                                                                                   \
    X(F16, 7, "f16", 2, FLOAT, F32, "IEEE 754 binary16")                                                                       \
    X(BF16, 8, "bf16", 2, FLOAT, F32, "bfloat16: the upper half of an f32")                                                    \
    X(F32, 1, "f32", 4, FLOAT, F32, "IEEE 754 binary32")                                                                       \
    X(F64, 2, "f64", 8, FLOAT, F64, "IEEE 754 binary64")                                                                       \
    X(I8, 9, "i8", 1, SIGNED, I32, "signed 8-bit integer")                                                                     \
    X(I16, 10, "i16", 2, SIGNED, I32, "signed 16-bit integer")                                                                 \
    X(I32, 3, "i32", 4, SIGNED, I32, "signed 32-bit integer")                                                                  \
    X(I64, 5, "i64", 8, SIGNED, I64, "signed 64-bit integer")                                                                  \
    X(U8, 11, "u8", 1, UNSIGNED, U32, "unsigned 8-bit integer")                                                                \
    X(U16, 12, "u16", 2, UNSIGNED, U32, "unsigned 16-bit integer")                                                             \
    X(U32, 4, "u32", 4, UNSIGNED, U32, "unsigned 32-bit integer")                                                              \
    X(U64, 6, "u64", 8, UNSIGNED, U64, "unsigned 64-bit integer")                                                              \
    X(BOOL, 13, "bool", 1, BOOL, U32, "a byte: 0 is false, everything else true")                                              \
    X(C64, 14, "c64", 8, COMPLEX, F32, "complex: two f32, real part first")                                                    \
    X(C128, 15, "c128", 16, COMPLEX, F64, "complex: two f64, real part first")

/* X(id, name, kind, c_type): the types that accumulators are made of; each is a dtype too. */
#define TALLY_VALUE_TABLE(X)                                                                                                   \
    X(F32, "f32", FLOAT, float)                                                                                                \
    X(F64, "f64", FLOAT, double)                                                                                               \
    X(I32, "i32", INTEGER, int32_t)                                                                                            \
    X(U32, "u32", INTEGER, uint32_t)                                                                                           \
    X(I64, "i64", INTEGER, int64_t)                                                                                            \
    X(U64, "u64", INTEGER, uint64_t)

/*
 * X(extra, id, value, name, takes, inputs, accumulate, gives, acc, identity, load, combine, first, second, empty, second_empty,
 *   exact, additive, params, summary): operators. The expressions are C that means the same in CUDA C, OpenCL C and C (src/
 * arithmetic.h defines what they use); kernels are compiled from them at run time.
 *
 * takes       the items' kinds: ANY (real), INTEGER (bool too). Rows for complex items are in TALLY_COMPLEX_OP_TABLE.
 * inputs      1, or 2: items x and y of the same index.
 * accumulate  V, the type that it computes in: SAME as the item's; WIDE: u64 for integers (so that a sum wraps modulo 2^64 without
 *             undefined behaviour); REAL: f64 for integers; MAGNITUDE: unsigned for integers; COUNT: u64; TRUTH: u32. Floats are f32 or
 *             f64 in the first four.
 * gives       the result's type: ITEM; WIDE: i64 or u64 for integers, V for floats; UNSIGNED: u64 for integers, V for floats; REAL: V;
 *             MAGNITUDE: the item's, unsigned for integers; INDEX and COUNT: u64; TRUTH: bool.
 * acc         SCALAR: the accumulator is a V. Otherwise a struct of these fields, F(type, name).
 * identity    the accumulator that changes nothing: combine(identity, x) is x for every x, to the bit (-0.0 for a float sum). Absent
 *             items are padded with it. MAKE(...) makes a struct from its fields' values.
 * load        the accumulator of the items x (and y), whose index is i (64 bits).
 * combine     of the accumulators a and b. MIN and MAX are IEEE 754-2019 minimum and maximum: NaN wins, -0 < +0.
 * first       the result, of the accumulator a of n items; a NaN is made the canonical quiet one. second: of results that are two
 *             values (complex ones, a minimum and a maximum); NONE of others.
 * empty       the result for n = 0; second_empty likewise.
 * exact       1 when the result does not depend on the order of combination. That of a scalar integer never does.
 * additive    what combine is when it is a + b, which devices have as an atomic: of UNIT, LINEAR or QUADRATIC terms of the items (which
 *             bounds what a chunk of narrow integers can add up to); NO for other ops.
 * params      P(name, default): constants of type R (REAL's type) that the expressions read as p.name; set per plan, without
 *             compiling. NONE: there are none.
 *
 * ZERO, ONE, NEG_ZERO (-0.0, for integers 0), LOWEST and HIGHEST (the infinities, for integers the limits) are of type V. `extra` is
 * whatever the user of the table passes.
 */
#define TALLY_OP_TABLE(X, extra)                                                                                               \
    X(extra, SUM, 1, "sum", ANY, 1, WIDE, WIDE, SCALAR, NEG_ZERO, (V)(x), a + b, a, NONE, ZERO, NONE, 0, LINEAR, NONE,         \
      "sum of all items")                                                                                                      \
    X(extra, PROD, 4, "prod", ANY, 1, WIDE, WIDE, SCALAR, ONE, (V)(x), a *b, a, NONE, ONE, NONE, 0, NO, NONE,                  \
      "product of all items")                                                                                                  \
    X(extra, MIN, 2, "min", ANY, 1, SAME, ITEM, SCALAR, HIGHEST, (V)(x), MIN(a, b), a, NONE, HIGHEST, NONE, 1, NO, NONE,       \
      "smallest item; NaN wins; -0 < +0")                                                                                      \
    X(extra, MAX, 3, "max", ANY, 1, SAME, ITEM, SCALAR, LOWEST, (V)(x), MAX(a, b), a, NONE, LOWEST, NONE, 1, NO, NONE,         \
      "largest item; NaN wins; -0 < +0")                                                                                       \
    X(extra, NANMIN, 5, "nanmin", ANY, 1, SAME, ITEM, SCALAR, NAN_ELSE(HIGHEST), (V)(x), NUMBER_OF(a, b, MIN(a, b)), a, NONE,  \
      HIGHEST, NONE, 1, NO, NONE, "smallest item that is no NaN; NaN if there is none")                                        \
    X(extra, NANMAX, 6, "nanmax", ANY, 1, SAME, ITEM, SCALAR, NAN_ELSE(LOWEST), (V)(x), NUMBER_OF(a, b, MAX(a, b)), a, NONE,   \
      LOWEST, NONE, 1, NO, NONE, "largest item that is no NaN; NaN if there is none")                                          \
    X(extra, ARGMIN, 7, "argmin", ANY, 1, SAME, INDEX, F(V, value) F(u64, index), MAKE(HIGHEST, NO_INDEX), MAKE((V)(x), i),    \
      TAKE(a, b, LESS(b, a)), a.index, NONE, NO_INDEX, NONE, 1, NO, NONE,                                                      \
      "index of the first smallest item; of the first NaN")                                                                    \
    X(extra, ARGMAX, 8, "argmax", ANY, 1, SAME, INDEX, F(V, value) F(u64, index), MAKE(LOWEST, NO_INDEX), MAKE((V)(x), i),     \
      TAKE(a, b, GREATER(b, a)), a.index, NONE, NO_INDEX, NONE, 1, NO, NONE,                                                   \
      "index of the first largest item; of the first NaN")                                                                     \
    X(extra, MINMAX, 9, "minmax", ANY, 1, SAME, ITEM, F(V, low) F(V, high), MAKE(HIGHEST, LOWEST), MAKE((V)(x), (V)(x)),       \
      MAKE(MIN(a.low, b.low), MAX(a.high, b.high)), a.low, a.high, HIGHEST, LOWEST, 1, NO, NONE,                               \
      "smallest and largest item, two values; NaN wins")                                                                       \
    X(extra, ANY, 10, "any", ANY, 1, TRUTH, TRUTH, SCALAR, ZERO, x != 0, a | b, a, NONE, ZERO, NONE, 1, NO, NONE,              \
      "whether any item is nonzero; NaN is")                                                                                   \
    X(extra, ALL, 11, "all", ANY, 1, TRUTH, TRUTH, SCALAR, ONE, x != 0, a & b, a, NONE, ONE, NONE, 1, NO, NONE,                \
      "whether all items are nonzero; NaN is")                                                                                 \
    X(extra, COUNT_NONZERO, 12, "count_nonzero", ANY, 1, COUNT, COUNT, SCALAR, ZERO, x != 0, a + b, a, NONE, ZERO, NONE, 1,    \
      UNIT, NONE, "how many items are nonzero; NaN is")                                                                        \
    X(extra, BAND, 13, "band", INTEGER, 1, SAME, ITEM, SCALAR, ~ZERO, (V)(x), a &b, a, NONE, ~ZERO, NONE, 1, NO, NONE,         \
      "bitwise and")                                                                                                           \
    X(extra, BOR, 14, "bor", INTEGER, 1, SAME, ITEM, SCALAR, ZERO, (V)(x), a | b, a, NONE, ZERO, NONE, 1, NO, NONE,            \
      "bitwise or")                                                                                                            \
    X(extra, BXOR, 15, "bxor", INTEGER, 1, SAME, ITEM, SCALAR, ZERO, (V)(x), a ^ b, a, NONE, ZERO, NONE, 1, NO, NONE,          \
      "bitwise exclusive or")                                                                                                  \
    X(extra, ASUM, 16, "asum", ANY, 1, WIDE, UNSIGNED, SCALAR, NEG_ZERO, MAGNITUDE(x), a + b, a, NONE, ZERO, NONE, 0, LINEAR,  \
      NONE, "sum of magnitudes (L1 norm)")                                                                                     \
    X(extra, SUMSQ, 17, "sumsq", ANY, 1, WIDE, UNSIGNED, SCALAR, NEG_ZERO, SQUARE((V)(x)), a + b, a, NONE, ZERO, NONE, 0,      \
      QUADRATIC, NONE, "sum of squares")                                                                                       \
    X(extra, NRM2, 18, "nrm2", ANY, 1, REAL, REAL, F(V, small) F(V, medium) F(V, big), MAKE(ZERO, ZERO, ZERO),                 \
      MAKE(SMALL_SQUARE((V)(x)), MEDIUM_SQUARE((V)(x)), BIG_SQUARE((V)(x))),                                                   \
      MAKE(a.small + b.small, a.medium + b.medium, a.big + b.big), SCALED_ROOT(a), NONE, ZERO, NONE, 0, NO, NONE,              \
      "square root of the sum of squares (L2 norm), scaled: no overflow, no underflow")                                        \
    X(extra, AMAX, 19, "amax", ANY, 1, MAGNITUDE, MAGNITUDE, SCALAR, ZERO, MAGNITUDE(x), MAX(a, b), a, NONE, ZERO, NONE, 1,    \
      NO, NONE, "largest magnitude; NaN wins")                                                                                 \
    X(extra, IAMAX, 20, "iamax", ANY, 1, MAGNITUDE, INDEX, F(V, value) F(u64, index), MAKE(ZERO, NO_INDEX),                    \
      MAKE(MAGNITUDE(x), i), TAKE(a, b, GREATER(b, a)), a.index, NONE, NO_INDEX, NONE, 1, NO, NONE,                            \
      "index of the first largest magnitude; of the first NaN")                                                                \
    X(extra, MEAN, 21, "mean", ANY, 1, REAL, REAL, SCALAR, NEG_ZERO, (V)(x), a + b, a / (V)(n), NONE, NOT_A_NUMBER, NONE, 0,   \
      LINEAR, NONE, "arithmetic mean")                                                                                         \
    X(extra, VAR, 22, "var", ANY, 1, REAL, REAL, F(V, count) F(V, mean) F(V, rest) F(V, squares),                              \
      MAKE(ZERO, ZERO, ZERO, ZERO), MAKE(ONE, (V)(x), ZERO, ZERO), MOMENTS(a, b), VARIANCE(a, n, p), NONE, NOT_A_NUMBER, NONE, \
      0, NO, P(ddof, 0), "variance: of squared deviations, divided by n - ddof (a parameter, 0)")                              \
    X(extra, STD, 23, "std", ANY, 1, REAL, REAL, F(V, count) F(V, mean) F(V, rest) F(V, squares),                              \
      MAKE(ZERO, ZERO, ZERO, ZERO), MAKE(ONE, (V)(x), ZERO, ZERO), MOMENTS(a, b), sqrt(VARIANCE(a, n, p)), NONE, NOT_A_NUMBER, \
      NONE, 0, NO, P(ddof, 0), "standard deviation: the root of the variance")                                                 \
    X(extra, LOGSUMEXP, 24, "logsumexp", ANY, 1, REAL, REAL, F(V, top) F(V, sum), MAKE(LOWEST, ZERO), MAKE((V)(x), ONE),       \
      MERGE_EXPONENTIALS(a, b), a.top + log(a.sum), NONE, LOWEST, NONE, 0, NO, NONE,                                           \
      "logarithm of the sum of exponentials, without overflow")                                                                \
    X(extra, DOT, 25, "dot", ANY, 2, WIDE, WIDE, SCALAR, NEG_ZERO, (V)(x) * (V)(y), a + b, a, NONE, ZERO, NONE, 0, QUADRATIC,  \
      NONE, "sum of products of two inputs")                                                                                   \
    X(extra, DOTC, 26, "dotc", ANY, 2, WIDE, WIDE, SCALAR, NEG_ZERO, (V)(x) * (V)(y), a + b, a, NONE, ZERO, NONE, 0,           \
      QUADRATIC, NONE, "dot with the first input conjugated")                                                                  \
    X(extra, DIST2, 27, "dist2", ANY, 2, WIDE, UNSIGNED, SCALAR, NEG_ZERO, SQUARE((V)(x) - (V)(y)), a + b, a, NONE, ZERO,      \
      NONE, 0, QUADRATIC, NONE, "sum of squared differences of two inputs")                                                    \
    X(extra, ALLCLOSE, 28, "allclose", ANY, 2, TRUTH, TRUTH, SCALAR, ONE, CLOSE((R)(x), (R)(y), p), a &b, a, NONE, ONE, NONE,  \
      1, NO, P(rtol, 1e-5) P(atol, 1e-8), "whether |x - y| <= atol + rtol |y| for all items of two inputs")

/* The same columns: the rows that take the place of those above for complex items x (and y), whose parts are x.re and x.im, of type V.
 * gives: ITEM is complex, two values; REAL is V. */
#define TALLY_COMPLEX_OP_TABLE(X, extra)                                                                                       \
    X(extra, SUM, 1, "sum", COMPLEX, 1, SAME, ITEM, F(V, re) F(V, im), MAKE(NEG_ZERO, NEG_ZERO), MAKE(x.re, x.im),             \
      MAKE(a.re + b.re, a.im + b.im), a.re, a.im, ZERO, ZERO, 0, NO, NONE, "")                                                 \
    X(extra, PROD, 4, "prod", COMPLEX, 1, SAME, ITEM, F(V, re) F(V, im) F(V, count), MAKE(ONE, ZERO, ZERO),                    \
      MAKE(x.re, x.im, ONE), MERGE_PRODUCTS(a, b), a.re, a.im, ONE, ZERO, 0, NO, NONE, "")                                     \
    X(extra, ASUM, 16, "asum", COMPLEX, 1, SAME, REAL, SCALAR, NEG_ZERO, fabs(x.re) + fabs(x.im), a + b, a, NONE, ZERO, NONE,  \
      0, LINEAR, NONE, "")                                                                                                     \
    X(extra, SUMSQ, 17, "sumsq", COMPLEX, 1, SAME, REAL, SCALAR, NEG_ZERO, SQUARE(x.re) + SQUARE(x.im), a + b, a, NONE, ZERO,  \
      NONE, 0, QUADRATIC, NONE, "")                                                                                            \
    X(extra, NRM2, 18, "nrm2", COMPLEX, 1, SAME, REAL, F(V, small) F(V, medium) F(V, big), MAKE(ZERO, ZERO, ZERO),             \
      MAKE(SMALL_SQUARE(x.re) + SMALL_SQUARE(x.im), MEDIUM_SQUARE(x.re) + MEDIUM_SQUARE(x.im),                                 \
           BIG_SQUARE(x.re) + BIG_SQUARE(x.im)),                                                                               \
      MAKE(a.small + b.small, a.medium + b.medium, a.big + b.big), SCALED_ROOT(a), NONE, ZERO, NONE, 0, NO, NONE, "")          \
    X(extra, MEAN, 21, "mean", COMPLEX, 1, SAME, ITEM, F(V, re) F(V, im), MAKE(NEG_ZERO, NEG_ZERO), MAKE(x.re, x.im),          \
      MAKE(a.re + b.re, a.im + b.im), a.re / (V)(n), a.im / (V)(n), NOT_A_NUMBER, NOT_A_NUMBER, 0, NO, NONE, "")               \
    X(extra, DOT, 25, "dot", COMPLEX, 2, SAME, ITEM, F(V, re) F(V, im), MAKE(NEG_ZERO, NEG_ZERO),                              \
      MAKE(x.re *y.re - x.im * y.im, x.re * y.im + x.im * y.re), MAKE(a.re + b.re, a.im + b.im), a.re, a.im, ZERO, ZERO, 0,    \
      NO, NONE, "")                                                                                                            \
    X(extra, DOTC, 26, "dotc", COMPLEX, 2, SAME, ITEM, F(V, re) F(V, im), MAKE(NEG_ZERO, NEG_ZERO),                            \
      MAKE(x.re *y.re + x.im * y.im, x.re * y.im - x.im * y.re), MAKE(a.re + b.re, a.im + b.im), a.re, a.im, ZERO, ZERO, 0,    \
      NO, NONE, "")

/* The same columns: the rows for floats at the level `compensated`. The accumulator is the unevaluated sum high + low. */
#define TALLY_COMPENSATED_OP_TABLE(X, extra)                                                                                   \
    X(extra, SUM, 1, "sum", FLOAT, 1, WIDE, WIDE, F(V, high) F(V, low), MAKE(NEG_ZERO, NEG_ZERO), MAKE((V)(x), NEG_ZERO),      \
      ADD_TWOFOLD(a, b), a.high + a.low, NONE, ZERO, NONE, 0, NO, NONE, "")                                                    \
    X(extra, ASUM, 16, "asum", FLOAT, 1, WIDE, WIDE, F(V, high) F(V, low), MAKE(NEG_ZERO, NEG_ZERO),                           \
      MAKE(MAGNITUDE(x), NEG_ZERO), ADD_TWOFOLD(a, b), a.high + a.low, NONE, ZERO, NONE, 0, NO, NONE, "")                      \
    X(extra, SUMSQ, 17, "sumsq", FLOAT, 1, WIDE, WIDE, F(V, high) F(V, low), MAKE(NEG_ZERO, NEG_ZERO),                         \
      MULTIPLY_TWOFOLD((V)(x), (V)(x)), ADD_TWOFOLD(a, b), a.high + a.low, NONE, ZERO, NONE, 0, NO, NONE, "")                  \
    X(extra, MEAN, 21, "mean", FLOAT, 1, REAL, REAL, F(V, high) F(V, low), MAKE(NEG_ZERO, NEG_ZERO), MAKE((V)(x), NEG_ZERO),   \
      ADD_TWOFOLD(a, b), (a.high + a.low) / (V)(n), NONE, NOT_A_NUMBER, NONE, 0, NO, NONE, "")                                 \
    X(extra, DOT, 25, "dot", FLOAT, 2, WIDE, WIDE, F(V, high) F(V, low), MAKE(NEG_ZERO, NEG_ZERO),                             \
      MULTIPLY_TWOFOLD((V)(x), (V)(y)), ADD_TWOFOLD(a, b), a.high + a.low, NONE, ZERO, NONE, 0, NO, NONE, "")

/* X(id, value, name, summary): how accurately floats are summed. */
#define TALLY_ACCURACY_TABLE(X)                                                                                                \
    X(DEFAULT, 0, "default", "the canonical order: an error that grows with log n")                                            \
    X(COMPENSATED, 1, "compensated", "twofold accumulators: the rounding error of each addition is kept; independent of n")

/* X(id, value, name, summary): what kind of machine a device is; it decides the kernels' shape. */
#define TALLY_DEVICE_CLASS_TABLE(X)                                                                                            \
    X(GPU, 1, "gpu", "many groups of many items; local memory")                                                                \
    X(CPU, 2, "cpu", "few groups of one item; wide vectors; host memory used in place")                                        \
    X(OTHER, 3, "other", "accelerators; served with the GPU's kernels")

#endif
