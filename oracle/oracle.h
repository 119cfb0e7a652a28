/* SPDX-License-Identifier: MIT */
/*
 * oracle.h: what every reduction must return, to the bit, computed on the host in plain C. It is a
 * second opinion: it shares nothing with the kernels, neither the rows' expressions nor what they
 * are written with, only the table of names and the canonical order's numbers.
 *
 * What rounds at each combination (sums, products, moments of floats) follows the canonical order
 * (src/base/order.h). Everything else is exact, so that its order is free: integers in 64 unsigned
 * bits, and numbers compared as the integers that sort as they do. A NaN result is the canonical
 * quiet one. logsumexp alone is no more than near: exp and log are not the same on every device
 * (bound.h).
 */
#ifndef TALLY_TESTS_ORACLE_H
#define TALLY_TESTS_ORACLE_H

#include <stdint.h>

#include <tally/tally.h>

#include "base/order.h"

/* Room for a result of any type: two values of 8 bytes, or a complex one. */
typedef union oracle_result {
    uint64_t words[4];
    float f32;
    double f64;
    int32_t i32;
    uint32_t u32;
    int64_t i64;
    uint64_t u64;
    unsigned char bytes[32];
} oracle_result;

/* What to reduce. Zeroed members mean the defaults. */
typedef struct oracle_case {
    tally_op op;
    tally_dtype in;
    tally_dtype acc; /* TALLY_F64: floats accumulate in f64 */
    tally_accuracy accuracy;
    tally_dtype out;      /* the result's type */
    const double *params; /* the op's, in their order; NULL: the defaults */
} oracle_case;

/* Whether there is such a reduction. */
int oracle_takes(const oracle_case *what);
uint32_t oracle_inputs(tally_op op);
/* The type of each value of the result, and the bytes of all. */
tally_dtype oracle_result_dtype(const oracle_case *what);
size_t oracle_result_bytes(const oracle_case *what);
/* What it computes in: f32, f64, or something that never rounds (TALLY_DTYPE_DEFAULT). */
tally_dtype oracle_float(const oracle_case *what);
/* Whether every order of combination gives the same bits. */
int oracle_is_exact(const oracle_case *what);

/* How accumulators of what rounds are combined. */
typedef enum oracle_shape {
    ORACLE_ADDED,   /* 1 to 3 fields, each added up */
    ORACLE_PRODUCT, /* multiplied */
    ORACLE_COMPLEX_PRODUCT,
    ORACLE_MOMENTS,      /* count, a place near the mean, sums of distances from it and of their squares */
    ORACLE_EXPONENTIALS, /* largest exponent, sum relative to it */
    ORACLE_TWOFOLD       /* an unevaluated sum of two */
} oracle_shape;
#define ORACLE_FIELDS 4

oracle_shape oracle_shape_of(const oracle_case *what);
/* The accumulators that these items, 4096 at most, are loaded as, before any is combined: field f
 * of item i is at [f][i]. */
void oracle_load(const oracle_case *what, const void *const inputs[], uint32_t count,
                 double fields[ORACLE_FIELDS][TALLY_CHUNK_ITEMS]);

/* What is known of items whose order is free. Numbers are compared by 64-bit keys. */
typedef struct oracle_survey {
    int64_t low, high; /* keys of the extremes among the numbers */
    uint64_t low_at, high_at;
    uint64_t numbers; /* how many are no NaN */
    uint64_t first_nan;
    uint64_t nonzero, far; /* far: pairs that are not close */
    uint64_t bits;         /* of what is computed modulo 2^64, or bit by bit */
} oracle_survey;

/*
 * The accumulator of one item after the other, for orders other than reduce's (scan.h); ops
 * of one input. f32 or f64 of what rounds (the one that oracle_float tells), else the survey.
 */
typedef struct oracle_acc {
    float f32[ORACLE_FIELDS];
    double f64[ORACLE_FIELDS];
    oracle_survey survey;
} oracle_acc;
void oracle_acc_load(const oracle_case *what, const void *item, uint64_t index, oracle_acc *acc);
/* *left becomes left combined with right. */
void oracle_acc_combine(const oracle_case *what, oracle_acc *left, const oracle_acc *right);
/* The result of n items; of none `acc` is not read. */
void oracle_acc_finish(const oracle_case *what, const oracle_acc *acc, uint64_t n, void *result);

/* A reduction under way, for items that come in pieces: n is bounded by 64 bits, not by the host's
 * memory. */
typedef struct oracle {
    oracle_case what;
    double params[2];
    uint64_t n;
    oracle_survey survey;
    _Alignas(16) unsigned char chunk[2][TALLY_CHUNK_ITEMS *
                                        16]; /* of each input the n % TALLY_CHUNK_ITEMS items that fill no chunk yet */
    union {
        float f32[64][ORACLE_FIELDS];
        double f64[64][ORACLE_FIELDS];
    } level; /* level k holds the subtree of 2^k chunks that waits for its right neighbour */
} oracle;

void oracle_begin_case(oracle *state, const oracle_case *what);
/* n items of each input, aligned to their own size. */
void oracle_push_inputs(oracle *state, const void *const inputs[], uint64_t n);
void oracle_end(oracle *state, void *result);
/* The three together. */
void oracle_reduce_inputs(const oracle_case *what, const void *const inputs[], uint64_t n, void *result);

/* The same for ops of one input with everything else at its default. */
void oracle_begin(oracle *state, tally_op op, tally_dtype in);
void oracle_push(oracle *state, const void *items, uint64_t n);
void oracle_reduce(tally_op op, tally_dtype in, const void *items, uint64_t n, void *result);

#endif
