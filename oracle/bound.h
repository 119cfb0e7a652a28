/* SPDX-License-Identifier: MIT */
/* bound.h: what a result may be whose bits depend on the order of combination, or on the device's
 * exp and log (docs/numerics.md). */
#ifndef TALLY_TESTS_BOUND_H
#define TALLY_TESTS_BOUND_H

#include <stdint.h>

#include <tally/tally.h>

#include "oracle.h"

/* BOUND_FREE: nothing can be said, because something may overflow or vanish on the way, or depth *
 * u is too large. */
typedef enum bound_verdict { BOUND_BROKEN, BOUND_KEPT, BOUND_FREE } bound_verdict;

/*
 * Whether `result`, of the case's default type, may come of these items by some order in which no
 * item passes through more than `depth` combinations: the one NaN, infinities and signed zeros as
 * IEEE 754 says, else within the op's bound of what exact arithmetic gives. `may_flush`: additions
 * may take subnormals for zero, and give zero for them, as a GPU's atomics on f32 do: n times the
 * smallest normal number is forgiven. Only for what is not exact (oracle_is_exact).
 */
bound_verdict bound_check(const oracle_case *what, const void *const inputs[], uint64_t n, uint64_t depth, int may_flush,
                          const oracle_result *result);

/* Whether `result` is right in the canonical order: the oracle's to the bit, but within the bound
 * for logsumexp. */
int bound_is_canonical(const oracle_case *what, const void *const inputs[], uint64_t n, const oracle_result *result,
                       const oracle_result *expected);

#endif
