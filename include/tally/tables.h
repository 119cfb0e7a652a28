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
 * X(id, value, name, bytes, kind, c_type, summary): item types.
 * name is what the parser takes; kind is one of FLOAT, SIGNED, UNSIGNED; c_type is the host's C type.
 */
#define TALLY_DTYPE_TABLE(X)                                                                                                   \
    X(F32, 1, "f32", 4, FLOAT, float, "IEEE 754 binary32")                                                                     \
    X(F64, 2, "f64", 8, FLOAT, double, "IEEE 754 binary64")                                                                    \
    X(I32, 3, "i32", 4, SIGNED, int32_t, "signed 32-bit integer")                                                              \
    X(U32, 4, "u32", 4, UNSIGNED, uint32_t, "unsigned 32-bit integer")                                                         \
    X(I64, 5, "i64", 8, SIGNED, int64_t, "signed 64-bit integer")                                                              \
    X(U64, 6, "u64", 8, UNSIGNED, uint64_t, "unsigned 64-bit integer")

/*
 * X(extra, id, value, name, accumulate, identity, load, combine, finish, empty, exact, atomic, summary): operators. The
 * expressions are C that means the same in CUDA C, OpenCL C and C; kernels are compiled from them at run time.
 *
 * accumulate  the accumulator's type: SAME as the item's; WIDE: 64 unsigned bits for integers (so that a sum wraps modulo
 *             2^64 without undefined behaviour; the result is i64 or u64), the item's own type for floats.
 * identity    the accumulator that changes nothing: combine(identity, x) is x for every x, to the bit (-0.0 for a float
 *             sum). Absent items are padded with it.
 * load        the accumulator of the item x, whose index is i (64 bits); converted to the accumulator's type.
 * combine     of the accumulators a and b. ACC_MIN and ACC_MAX are IEEE 754-2019 minimum and maximum: NaN wins, -0 < +0.
 * finish      the result of the accumulator a; converted to the result's type; a NaN is made the canonical quiet one.
 * empty       the result for n = 0.
 * exact       1 when the result does not depend on the order of combination.
 * atomic      the atomic operation that combine is, where a device has it: ADD or NONE.
 *
 * ACC_ZERO, ACC_NEG_ZERO (-0.0, for integers 0), ACC_LOWEST and ACC_HIGHEST (the infinities, for integers the limits) are
 * constants of the accumulator's type. `extra` is whatever the user of the table passes.
 */
#define TALLY_OP_TABLE(X, extra)                                                                                               \
    X(extra, SUM, 1, "sum", WIDE, ACC_NEG_ZERO, x, a + b, a, ACC_ZERO, 0, ADD, "sum of all items")                             \
    X(extra, MIN, 2, "min", SAME, ACC_HIGHEST, x, ACC_MIN(a, b), a, ACC_HIGHEST, 1, NONE, "smallest item; NaN wins; -0 < +0")  \
    X(extra, MAX, 3, "max", SAME, ACC_LOWEST, x, ACC_MAX(a, b), a, ACC_LOWEST, 1, NONE, "largest item; NaN wins; -0 < +0")

/* X(id, value, name, summary): what kind of machine a device is; it decides the kernels' shape. */
#define TALLY_DEVICE_CLASS_TABLE(X)                                                                                            \
    X(GPU, 1, "gpu", "many groups of many items; local memory")                                                                \
    X(CPU, 2, "cpu", "few groups of one item; wide vectors; host memory used in place")                                        \
    X(OTHER, 3, "other", "accelerators; served with the GPU's kernels")

#endif
