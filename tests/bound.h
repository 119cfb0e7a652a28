/* SPDX-License-Identifier: MIT */
/* bound.h: what a float sum in any order may be (docs/numerics.md). */
#ifndef TALLY_TESTS_BOUND_H
#define TALLY_TESTS_BOUND_H

#include <stdint.h>

#include <tally/tally.h>

#include "oracle.h"

/* BOUND_FREE: nothing can be said, because partial sums may overflow or depth * u is not below 1. */
typedef enum bound_verdict { BOUND_BROKEN, BOUND_KEPT, BOUND_FREE } bound_verdict;

/*
 * Whether `result` is a sum of these items in some order in which no item passes through more than `depth` additions: the one NaN and
 * the infinities as IEEE 754 says, zeros with their sign, else |result - exact| <= gamma(depth) * sum |x|. `may_flush`: additions may
 * take subnormals for zero, and give zero for them, as a GPU's atomics on f32 do: n times the smallest normal number is forgiven.
 */
bound_verdict bound_check(tally_dtype in, const void *items, uint64_t n, uint64_t depth, int may_flush,
                          const oracle_result *result);

#endif
