/* SPDX-License-Identifier: MIT */
/* cell_trial.h: one trial of a cell: a number of items, a pattern and offsets. */
#ifndef TALLY_TESTS_CELL_TRIAL_H
#define TALLY_TESTS_CELL_TRIAL_H

#include "cells.h"

/* The items before and after the reduced range. */
#define PAD 64
#define MAX_OFFSET 13
/* The results that the output has room for; a trial writes one of them. */
#define RESULTS (MAX_OFFSET + 1 + MAX_OFFSET)
#define MAX_INPUTS 2
/* The most items. With groups of 32, a thread of the last stage then reads more than one block of
 * partials. */
#define MAX_N (UINT64_C(3) * (1 << 20) + 4097)

typedef struct bench {
    cell *cell;
    const oracle_case *what;
    tally_plan *plan;
    tally_queue *queue;
    tally_buffer *in[MAX_INPUTS], *out;
    unsigned char *host[MAX_INPUTS], *back[MAX_INPUTS]; /* the inputs' items with their pads, as written and as read back */
    uint32_t inputs;
    size_t item_bytes, result_bytes;
    uint64_t max_n;
    int is_exact;      /* the result must be the oracle's, to the bit; else it keeps the op's bound */
    int is_repeatable; /* and the same in every run */
    int may_flush;     /* atomics on f32 may take subnormals for zero */
    char failure[512];
} bench;

/* Reduces n items of this pattern twice and fails the test unless both results are right and
 * nothing else was written. Does nothing beyond max_n. */
void expect(bench *b, uint64_t n, int pattern, uint64_t in_offset, uint64_t out_offset);

#endif
