/* SPDX-License-Identifier: MIT */
/* core_index.h: a gather or scatter on the stub, with everything that it needs. */
#ifndef TALLY_TESTS_CORE_INDEX_H
#define TALLY_TESTS_CORE_INDEX_H

#include "core_tests.h"

#define INDEX_N 5000
#define INDEX_BYTES 3

typedef struct index_parts {
    tally_context *context;
    tally_queue *queue;
    tally_buffer *map, *in, *stencil, *out; /* INDEX_N of each; i32s, and items of INDEX_BYTES */
    tally_index_plan *plan;
    tally_index_args args;
} index_parts;

tally_index_desc index_desc(uint32_t flags);
/* Opens all of it, which index_close closes even where that failed. */
tally_status index_open(index_parts *p, const char *select, int scatter, uint32_t flags);
void index_close(index_parts *p);
tally_status index_move(index_parts *p, int scatter);

#endif
