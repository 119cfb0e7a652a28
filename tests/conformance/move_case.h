/* SPDX-License-Identifier: MIT */
/* move_case.h: gathers and scatters on a device, compared with loops on the host, byte by byte. */
#ifndef TALLY_TESTS_MOVE_CASE_H
#define TALLY_TESTS_MOVE_CASE_H

#include "conformance.h"

/* The pattern of a map's entries. */
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
    uint64_t n, items; /* items: the number that the map may name */
    uint64_t map_offset, in_offset, stencil_offset, out_offset;
    const uint64_t *bad; /* positions of entries out of bounds, ascending, ended by TALLY_NO_INDEX; NULL: none */
    uint32_t skew; /* bytes by which `in` and `out` are misaligned: on CUDA, and on a device that uses host memory in place */
} move_case;

tally_plan *move_plan(tally_context *context, const move_case *c);
/* Runs the case twice through the plan. Fails unless the output, the memory around it and the
 * inputs are as they should be, and the call reports the lowest bad entry whose stencil is set. */
void move_run(tally_context *context, tally_plan *plan, const move_case *c);

#endif
