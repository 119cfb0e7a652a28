/* SPDX-License-Identifier: MIT */
/*
 * cells.h: the test matrix. A cell is one (device, variant, group_threads, op, dtype, accumulator,
 * accuracy). Its test walks shapes and value patterns and compares with the oracle to the bit. A
 * bound replaces the comparison to the bit where exp and log are used, and where a variant's order
 * is not the canonical one and shows in the bits.
 */
#ifndef TALLY_TESTS_CELLS_H
#define TALLY_TESTS_CELLS_H

#include "oracle/oracle.h"
#include "tests/support/places.h"

/* A cell is FAILED until it has shown otherwise, so a crash or a longjmp leaves it FAILED. */
typedef enum cell_state { CELL_FAILED, CELL_RUN, CELL_SKIPPED } cell_state;

typedef struct cell {
    const place *at;
    const char *variant;
    uint32_t group_threads; /* 0: the variant's own */
    oracle_case what;
    char name[96];
    cell_state state;
    size_t kept, unbounded; /* results within their bound; results that have no bound */
    char cause[256];        /* cause of a skip */
} cell;

/* The cells of these devices. The caller frees the array. With TALLY_TEST_SHARE=K/N in the
 * environment it has each Nth cell, from the Kth on, so that several programs can share a long
 * run. */
cell *cells_create(const place *places, int count, size_t *cells);
/* Returns whether this run has the test of this number. Tests that are no cells are shared out
 * too. */
int cells_share_has(size_t test);

/* Returns whether this run has the pair in tests that go through ops and dtypes on the default
 * variant. All runs do, except short ones. */
int cells_want_pair(tally_op op, tally_dtype in);
/* Returns whether the case needs f64 and the device lacks it. */
int cells_lack_f64(const oracle_case *what, const tally_device_info *info);

/* Compiles the cell's program into the cache. If that fails, the cell's test reports it. */
void cell_compile(const cell *c);
/* The test of one cell, for cmocka. *state is the cell. */
void cell_test(void **state);
/* Returns whether the test walks all shapes and patterns, or only the most important ones. */
int cell_is_deep(const cell *c);

/*
 * Prints causes of skips and, last, the tables of cells run, skipped and failed by op, and per
 * backend and variant. Returns 0 unless a device ran fewer cells than its floor: every cell of a
 * variant that applies to the device, with the variant's own group.
 */
int cells_report(const cell *cells, size_t count, const place *places, int place_count);

#endif
