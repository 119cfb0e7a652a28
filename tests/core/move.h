/* SPDX-License-Identifier: MIT */
/* move.h: a gather or scatter on the stub, with all its objects. */
#ifndef TALLY_TESTS_CORE_MOVE_H
#define TALLY_TESTS_CORE_MOVE_H

#include "core.h"

#define MOVE_N 5000
#define MOVE_BYTES 3

typedef struct move_parts {
    tally_context *context;
    tally_queue *queue;
    tally_buffer *map, *in, *stencil, *out; /* MOVE_N of each: i32 maps, items of MOVE_BYTES */
    tally_plan *plan;
    tally_move_args args;
} move_parts;

tally_move_desc move_desc(uint32_t flags);
/* Opens all objects. move_close closes them, after a failure too. */
tally_status move_open(move_parts *p, const char *select, int scatter, uint32_t flags);
void move_close(move_parts *p);
tally_status move_run_one(move_parts *p, int scatter);

#endif
