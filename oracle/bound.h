/* SPDX-License-Identifier: MIT */
/* bound.h: the bound of a result whose bits depend on the order of combination
 * (docs/numerics.md). */
#ifndef TALLY_TESTS_BOUND_H
#define TALLY_TESTS_BOUND_H

#include <stdint.h>

#include <tally/tally.h>

#include "oracle.h"

/* BOUND_FREE: there is no bound, because something may overflow or vanish on the way, or depth * u
 * is too large. */
typedef enum bound_verdict { BOUND_BROKEN, BOUND_KEPT, BOUND_FREE } bound_verdict;

/*
 * Checks a result, of the case's default type, that some order gave in which no item passes through
 * more than `depth` combinations. NaN, infinities and signed zeros must be as IEEE 754 says. Any
 * other result must keep the op's bound around the exact value. `may_flush`: additions may take and
 * give zero for subnormals, as a GPU's atomics on f32 do, so n times the smallest normal number is
 * forgiven. Only for ops that are not exact (oracle_is_exact).
 */
bound_verdict bound_check(const oracle_case *what, const void *const inputs[], uint64_t n, uint64_t depth, int may_flush,
                          const oracle_result *result);

#endif
