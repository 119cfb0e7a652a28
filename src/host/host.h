/* SPDX-License-Identifier: MIT */
/* host.h: the built-in ops, compiled for the host when the library is built. */
#ifndef TALLY_SRC_HOST_H
#define TALLY_SRC_HOST_H

#include "reduce/reduce.h"

/* A built-in op for the host. Reduces n items of each input, writes the result and returns its
 * bytes. */
typedef size_t (*tally_host_function)(const void *const *items, uint64_t n, void *result);
/* Indexed by op and dtype; NULL if there is none. */
extern const tally_host_function tally_host_functions[TALLY_OP_END][TALLY_DTYPE_END];

/*
 * Most items that the calling thread reduces on a CPU device. It reduces about as many while the
 * device would wake, start and be waited for. The limit is a chunk for a combination with
 * exponentials, TALLY_HOST_SUM_BYTES where floats are summed in their own type, and
 * TALLY_HOST_ITEMS elsewhere.
 *
 * us of a call, first by the thread, then by a kept plan; medians, POCL 3.1, 2 cores of a Xeon,
 * 2026-11-22:
 *   sum of f32         65,536 items 12 and 25, 131,072 24 and 32, 262,144 53 and 46
 *   sum of f64         65,536 17 and 56
 *   max of f32         32,768 18 and 30, 65,536 35 and 36, 131,072 70 and 42
 *   max of f64         16,384 39 and 25, 32,768 80 and 26 to 80
 *   logsumexp of f32   4,096 26 and 14, 8,192 70 and 33
 *   logsumexp of i32   4,096 49 and 79
 */
#define TALLY_HOST_ITEMS (8 * TALLY_CHUNK_ITEMS)
#define TALLY_HOST_SUM_BYTES (512 << 10)
#define TALLY_HOST_MOST_ITEMS (TALLY_HOST_SUM_BYTES / 4)
/* Returns the most items for that op and dtype; 0 if there is no function. */
uint64_t tally_host_items(tally_op op, tally_dtype in);

#endif
