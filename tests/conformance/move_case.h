/* SPDX-License-Identifier: MIT */
/* move_case.h: gathers and scatters on a device, compared with loops on the host, byte by byte. */
#ifndef TALLY_TESTS_MOVE_CASE_H
#define TALLY_TESTS_MOVE_CASE_H

#include "conformance.h"

/* What a map's entries are. */
typedef enum move_pattern {
    MOVE_IDENTITY,
    MOVE_REVERSED,
    MOVE_PERMUTED, /* each item once, far apart */
    MOVE_RANDOM,   /* with duplicates */
    MOVE_CONSTANT,
    MOVE_PATTERNS
} move_pattern;

typedef struct move_case {
    tally_move_desc desc; /* size, max_n and max_out are filled in where they are 0 */
    bool scatter;
    move_pattern pattern;
    uint64_t n, items; /* items: that the map may name */
    uint64_t map_offset, in_offset, stencil_offset, out_offset;
    const uint64_t *bad; /* positions whose entries are out of bounds, the lowest first; ended by TALLY_NO_INDEX; NULL: none */
    uint32_t skew; /* bytes that `in` and `out` begin off alignment: on CUDA, and on a device that uses host memory in place */
} move_case;

tally_plan *move_plan(tally_context *context, const move_case *c);
/* Runs the case twice through the plan; fails unless the output, all around it, and what was read
 * are as they should be, and the call tells of the lowest bad entry whose stencil is set. */
void move_run(tally_context *context, tally_plan *plan, const move_case *c);

#endif
