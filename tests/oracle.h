/* SPDX-License-Identifier: MIT */
/*
 * oracle.h: what every reduction must return, to the bit, computed on the host in plain C and independently of the kernels.
 *
 * Float sums follow the canonical order (src/order.h). Everything else is exact, so that its order is free: integers are summed in
 * 64 unsigned bits, and floats are compared as the integers that sort as they do, with NaN beyond either end. A NaN result is the
 * canonical quiet one. No items give what docs/semantics.md says of the empty input.
 */
#ifndef TALLY_TESTS_ORACLE_H
#define TALLY_TESTS_ORACLE_H

#include <stdint.h>

#include <tally/tally.h>

#include "order.h"

/* Room for a result of any type. */
typedef union oracle_result {
    float f32;
    double f64;
    int32_t i32;
    uint32_t u32;
    int64_t i64;
    uint64_t u64;
    unsigned char bytes[8];
} oracle_result;

/* A reduction under way, for items that come in pieces: n is bounded by 64 bits, not by the host's memory. */
typedef struct oracle {
    tally_op op;
    tally_dtype in;
    uint64_t n;
    uint64_t integer; /* exact ops: the sum, the smallest or the largest so far */
    union {
        float f32[TALLY_CHUNK_ITEMS];
        double f64[TALLY_CHUNK_ITEMS];
    } chunk; /* float sums: the n % TALLY_CHUNK_ITEMS items that fill no chunk yet */
    union {
        float f32[64];
        double f64[64];
    } level; /* float sums: level k holds the subtree of 2^k chunks that waits for its right neighbour */
} oracle;

void oracle_begin(oracle *state, tally_op op, tally_dtype in);
/* Items are aligned to their own size. */
void oracle_push(oracle *state, const void *items, uint64_t n);
/* `result` is of type tally_result_dtype(op, in). */
void oracle_end(oracle *state, void *result);

/* The three together. */
void oracle_reduce(tally_op op, tally_dtype in, const void *items, uint64_t n, void *result);

#endif
