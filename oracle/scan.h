/* SPDX-License-Identifier: MIT */
/*
 * scan.h: the values that every scan must return, to the bit, computed on the host: scan order v1
 * of docs/numerics.md, for any accumulator. It shares nothing with the library. Loads, combinations
 * and results are those of the reductions' oracle.
 */
#ifndef TALLY_TESTS_SCAN_ORACLE_H
#define TALLY_TESTS_SCAN_ORACLE_H

#include "oracle.h"

/* An operator with accumulators of up to SCAN_ACC_BYTES. */
#define SCAN_ACC_BYTES 160
typedef struct scan_op {
    size_t item_bytes, acc_bytes, value_bytes;
    void (*load)(const void *self, const void *item, uint64_t index, void *acc);
    void (*combine)(const void *self, void *left, const void *right);           /* into left */
    void (*finish)(const void *self, const void *acc, uint64_t n, void *value); /* n = 0: acc is not read */
    const void *self;
} scan_op;

/* The form of a scan. */
typedef struct scan_form {
    int exclusive, reverse;
    const void *initial;  /* an item; NULL: none */
    const uint8_t *flags; /* nonzero at each segment's lowest item, in reverse scans too; NULL: one segment */
} scan_form;

/* Computes the n values. */
void scan_oracle(const scan_op *op, const scan_form *form, const void *items, uint64_t n, void *values);

/* One of the library's operators. `what` must outlive it. */
scan_op scan_oracle_op(const oracle_case *what);

/* The flags of segments whose lowest items are at these offsets. The offsets are in any order. */
void scan_oracle_flags(const uint64_t *offsets, uint64_t count, uint64_t n, uint8_t *flags);

#endif
