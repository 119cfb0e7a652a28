/* SPDX-License-Identifier: MIT */
/* host.h: the built-in ops, compiled for the host when the library is built. */
#ifndef TALLY_SRC_HOST_H
#define TALLY_SRC_HOST_H

#include "reduce/reduce.h"

/* A built-in op: reduces n items of each input, writes the result and returns its bytes. */
typedef size_t (*tally_host_function)(const void *const *items, uint64_t n, void *result);
/* By op and dtype; NULL: there is none. */
extern const tally_host_function tally_host_functions[TALLY_OP_END][TALLY_DTYPE_END];

/* The calling thread reduces so many items at most on a CPU device: about as many as it reduces while
 * the device wakes, starts and is waited for. A chunk is the most where a combination takes an
 * exponential, so many bytes where floats are summed in their own type, so many items elsewhere.
 * us a call by the thread and by a kept plan, medians, POCL 3.1, 2 cores of a Xeon, 2026-11-22:
 * sum of f32, 65,536 items 12 and 25, 131,072 24 and 32, 262,144 53 and 46; sum of f64, 65,536 17
 * and 56; max of f32, 32,768 18 and 30, 65,536 35 and 36, 131,072 70 and 42; max of f64, 16,384 39
 * and 25, 32,768 80 and 26 to 80; logsumexp of f32, 4,096 26 and 14, 8,192 70 and 33; logsumexp of
 * i32, 4,096 49 and 79. */
#define TALLY_HOST_ITEMS (8 * TALLY_CHUNK_ITEMS)
#define TALLY_HOST_SUM_BYTES (512 << 10)
#define TALLY_HOST_MOST_ITEMS (TALLY_HOST_SUM_BYTES / 4)
/* The most items of that op and dtype; 0: there is no function. */
uint64_t tally_host_items(tally_op op, tally_dtype in);

#endif
