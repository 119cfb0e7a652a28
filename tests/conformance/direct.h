/* SPDX-License-Identifier: MIT */
/* direct.h: shared by the tests of one's own operators, of several ops in one pass, of accuracy and
 * of the semantics. */
#ifndef TALLY_TESTS_DIRECT_H
#define TALLY_TESTS_DIRECT_H

#include "conformance.h"

/* Returns the place's context. Fails the test if it did not open. */
tally_context *direct_context(void **state);

/* Returns whether the device of the test computes in f64. */
int direct_has_f64(void **state);

/* Reduces host items through buffers and a plan of this descriptor, whose max_n and size are filled
 * in. `params` ends with a NULL name, or is NULL. */
typedef struct direct_param {
    const char *name;
    double value;
} direct_param;
void direct_reduce(tally_context *context, const tally_reduce_desc *desc, const direct_param *params, const void *const *items,
                   uint64_t n, void *result);

/* Creates a custom op from a descriptor whose size is filled in, and the descriptor of its
 * reduction. */
tally_custom_op *direct_op(const tally_op_desc *given);
tally_reduce_desc direct_desc(tally_custom_op *op, tally_dtype in);

/* Fails unless the bytes, at most 8, are equal. `what` is reduced over n items. */
void direct_expect_bits(const void *got, const void *expected, size_t bytes, const char *what, uint64_t n);

/*
 * Reads items written as words: numbers as in C, inf, nan (the canonical one), #BITS in
 * hexadecimal. A complex item is two words. The numbers must be exact in the type. Returns the
 * number of items.
 */
#define DIRECT_MAX_ITEMS 64
uint64_t direct_parse(tally_dtype dtype, const char *text, void *items);

/* Returns any f16 as a double. */
double direct_of_f16(uint16_t bits);

/* The canonical order (src/base/order.h) for any accumulator of up to CANONICAL_BYTES, with
 * functions instead of expressions. */
#define CANONICAL_BYTES 32
typedef struct canonical_op {
    size_t bytes;
    const void *identity;
    void (*load)(void *acc, const void *const *items, uint64_t i);
    void (*combine)(void *a, const void *b); /* stores into a */
} canonical_op;
void canonical_reduce(const canonical_op *op, const void *const *items, uint64_t n, void *acc);

#endif
