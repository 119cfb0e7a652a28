/* SPDX-License-Identifier: MIT */
/* host.h: the built-in ops, compiled for the host when the library is built. */
#ifndef TALLY_SRC_HOST_H
#define TALLY_SRC_HOST_H

#include "reduce/reduce.h"

/* A built-in op: reduces n items of each input, writes the result and returns its bytes. */
typedef size_t (*tally_host_function)(const void *const *items, uint64_t n, void *result);
/* By op and dtype; NULL: there is none. */
extern const tally_host_function tally_host_functions[TALLY_OP_END][TALLY_DTYPE_END];

/* The most items that the calling thread reduces on a CPU device. us a call of tally_reduce_host by the device and by the thread, at 16,384, 32,768
 * and 65,536 items, POCL 3.1, 2 cores of a Xeon, November 2026: sum of f32 173, 155, 167 and 1.8, 3.4, 6.8; max of f64 213, 196, 216 and 42, 93,
 * 214; logsumexp of f32, the slowest float op, 246, 296, 322 and 154, 330, 704. */
#define TALLY_HOST_ITEMS (8 * TALLY_CHUNK_ITEMS)

#endif
