/* SPDX-License-Identifier: MIT */
/*
 * empties.h: the value of no items of every op, item type and result type, as docs/semantics.md
 * defines it. It shares nothing with the library's rows, and with the oracle only the types of
 * results.
 */
#ifndef TALLY_TESTS_EMPTIES_H
#define TALLY_TESTS_EMPTIES_H

#include <stddef.h>

#include <tally/tally.h>

/* Returns whether the result of an existing reduction may be stored as `out` (the lines out-* of
 * the document). */
int empties_takes(tally_op op, tally_dtype in, tally_dtype out);
/* Writes the value of no items, stored as `out`, and returns its bytes. */
#define EMPTIES_BYTES 32
size_t empties_value(tally_op op, tally_dtype in, tally_dtype out, void *value);

#endif
