/* SPDX-License-Identifier: MIT */
/*
 * cells.h: the test matrix. A cell is one (device, variant, group_items, op, dtype); its test walks shapes and value patterns and
 * compares with the oracle to the bit; float sums of variants that are not canonical with the bound on their error.
 */
#ifndef TALLY_TESTS_CELLS_H
#define TALLY_TESTS_CELLS_H

#include "places.h"

/* A cell is FAILED until it has shown otherwise: a crash or a longjmp out of it leaves it so. */
typedef enum cell_state { CELL_FAILED, CELL_RUN, CELL_SKIPPED } cell_state;

typedef struct cell {
    const place *at;
    const char *variant;
    uint32_t group_items; /* 0: the variant's */
    tally_op op;
    tally_dtype in;
    char name[96];
    cell_state state;
    size_t kept, unbounded; /* float sums within their bound; those of which it says nothing, because they may overflow */
    char cause[256];        /* of a skip */
} cell;

/* The cells of these devices; the array is the caller's to free. */
cell *cells_create(const place *places, int count, size_t *cells);

/* The test of one cell, for cmocka: *state is the cell. */
void cell_test(void **state);

/*
 * Prints causes of skips and, last, the table of cells run, skipped and failed per backend and variant. Returns 0 when no
 * device ran fewer cells than its floor: every op and dtype under every variant that applies to it.
 */
int cells_report(const cell *cells, size_t count, const place *places, int place_count);

#endif
