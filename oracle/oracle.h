/* SPDX-License-Identifier: MIT */
/*
 * oracle.h: the value that every reduction must return, to the bit, computed on the host in plain
 * C. It is a second opinion. It shares nothing with the kernels, neither the rows' expressions nor
 * the code around them, only the table of names and the canonical order's numbers.
 *
 * Ops that round at each combination (sums, products, moments of floats) follow the canonical order
 * (src/base/order.h). All other ops are exact, so that their order is free: integers in 64 unsigned
 * bits, sums of narrow ones and of their squares in 128, and numbers compared as integers that sort
 * as they do. A NaN result is the canonical quiet one.
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

/* A reduction. Zeroed members mean the defaults. */
typedef struct oracle_case {
    tally_op op;
    tally_dtype in;
    tally_dtype acc; /* TALLY_F64: floats accumulate in f64 */
    tally_accuracy accuracy;
    tally_dtype out;      /* the result's type */
    const double *params; /* the op's, in their order; NULL: the defaults */
    const void *initial;  /* a result, combined last, on the left; NULL: none */
} oracle_case;

/* Returns whether there is such a reduction. */
int oracle_takes(const oracle_case *what);
uint32_t oracle_inputs(tally_op op);
/* The type of each value of the result, and the bytes of all values. */
tally_dtype oracle_result_dtype(const oracle_case *what);
size_t oracle_result_bytes(const oracle_case *what);
/* The type of the computation: f32, f64, or TALLY_DTYPE_DEFAULT if it never rounds. */
tally_dtype oracle_float(const oracle_case *what);
/* Returns whether every order of combination gives the same bits. */
int oracle_is_exact(const oracle_case *what);

/* How the accumulators of an op that rounds are combined. */
typedef enum oracle_shape {
    ORACLE_ADDED,   /* 1 to 3 fields, each added up */
    ORACLE_PRODUCT, /* multiplied */
    ORACLE_COMPLEX_PRODUCT,
    ORACLE_MOMENTS,      /* count, the rounded mean, the rest of the mean, sum of squared deviations */
    ORACLE_EXPONENTIALS, /* largest exponent, sum relative to it */
    ORACLE_TWOFOLD       /* an unevaluated sum of two */
} oracle_shape;
#define ORACLE_FIELDS 4

oracle_shape oracle_shape_of(const oracle_case *what);
/* Loads at most 4096 items as accumulators, which are not combined. Field f of item i is at
 * [f][i]. */
void oracle_load(const oracle_case *what, const void *const inputs[], uint32_t count,
                 double fields[ORACLE_FIELDS][TALLY_CHUNK_ITEMS]);

/* Sums that no number of items of 32 bits overflows. */
__extension__ typedef __int128 oracle_wide;
__extension__ typedef unsigned __int128 oracle_unsigned_wide;

/* The survey of items whose order is free. Numbers are compared by 64-bit keys. */
typedef struct oracle_survey {
    int64_t low, high; /* keys of the extremes among the numbers */
    uint64_t low_at, high_at;
    uint64_t numbers; /* the numbers among the items: all but NaN */
    uint64_t first_nan;
    uint64_t nonzero, far; /* far: pairs that are not close */
    uint64_t bits;         /* the accumulator modulo 2^64, or bit by bit */
    oracle_wide sum;
    oracle_unsigned_wide squares; /* the sum of the items' squares */
} oracle_survey;

/*
 * An accumulator that takes one item after the other, for other orders than reduce's (scan.h), and
 * for ops of one input. An op that rounds uses f32 or f64, as oracle_float says. Other ops use the
 * survey.
 */
typedef struct oracle_acc {
    float f32[ORACLE_FIELDS];
    double f64[ORACLE_FIELDS];
    oracle_survey survey;
} oracle_acc;
void oracle_acc_load(const oracle_case *what, const void *item, uint64_t index, oracle_acc *acc);
/* *left becomes left combined with right. */
void oracle_acc_combine(const oracle_case *what, oracle_acc *left, const oracle_acc *right);
/* Stores the result of n items. With n = 0 `acc` is not read. */
void oracle_acc_finish(const oracle_case *what, const oracle_acc *acc, uint64_t n, void *result);

/* A reduction in progress, for items that come in pieces. n is bounded by 64 bits, not by the
 * host's memory. */
typedef struct oracle {
    oracle_case what;
    double params[2];
    uint64_t n, counted; /* the items, and those of them that `where` does not mask */
    oracle_survey survey;
    int has_where;
    uint8_t valid[TALLY_CHUNK_ITEMS]; /* with has_where: 0 for each masked item of the chunk */
    _Alignas(16) unsigned char chunk[2][TALLY_CHUNK_ITEMS *
                                        16]; /* the last n % TALLY_CHUNK_ITEMS items of each input, which fill no chunk yet */
    union {
        float f32[64][ORACLE_FIELDS];
        double f64[64][ORACLE_FIELDS];
    } level; /* level k holds the subtree of 2^k chunks that waits for its right neighbour */
} oracle;

void oracle_begin_case(oracle *state, const oracle_case *what);
/* n items of each input, aligned to their own size. */
void oracle_push_inputs(oracle *state, const void *const inputs[], uint64_t n);
/*
 * The same with a mask of n bytes, or NULL. An item whose byte is 0 is the identity at its place.
 * It does not count in n; an index counts it. Where a chunk's number (pivots.h) is made of several
 * items and one of them is masked, it is made of the chunk's first item that is not masked. All
 * pushes of a reduction have a mask, or none has.
 */
void oracle_push_where(oracle *state, const void *const inputs[], const uint8_t *where, uint64_t n);
void oracle_end(oracle *state, void *result);
/* Gives the accumulator of the items so far, which are 2^k chunks without a mask. An index counts
 * from the first of them. */
void oracle_get_partial(const oracle *state, oracle_acc *partial);
/* Appends the n items of a partial. n divides the number of items so far. The result is to the bit
 * that of the items themselves. */
void oracle_push_partial(oracle *state, const oracle_acc *partial, uint64_t n);
/* oracle_begin_case, oracle_push_inputs and oracle_end in one call. */
void oracle_reduce_inputs(const oracle_case *what, const void *const inputs[], uint64_t n, void *result);
void oracle_reduce_where(const oracle_case *what, const void *const inputs[], const uint8_t *where, uint64_t n, void *result);

/* The same for ops of one input with all other members at their default. */
void oracle_begin(oracle *state, tally_op op, tally_dtype in);
void oracle_push(oracle *state, const void *items, uint64_t n);
void oracle_reduce(tally_op op, tally_dtype in, const void *items, uint64_t n, void *result);

#endif
