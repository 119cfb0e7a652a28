/* SPDX-License-Identifier: MIT */
/*
 * cells.h: the test matrix. A cell is one (device, variant, group_threads, op, dtype, accumulator,
 * accuracy); its test walks shapes and value patterns and compares with the oracle to the bit;
 * where the order of combination shows in the bits and is not the canonical one, and where exp and
 * log are in play, with a bound.
 */
#ifndef TALLY_TESTS_CELLS_H
#define TALLY_TESTS_CELLS_H

#include "oracle/oracle.h"
#include "tests/support/places.h"

/* A cell is FAILED until it has shown otherwise: a crash or a longjmp out of it leaves it so. */
typedef enum cell_state { CELL_FAILED, CELL_RUN, CELL_SKIPPED } cell_state;

typedef struct cell {
    const place *at;
    const char *variant;
    uint32_t group_threads; /* 0: the variant's */
    oracle_case what;
    char name[96];
    cell_state state;
    size_t kept, unbounded; /* results within their bound; those of which it says nothing */
    char cause[256];        /* of a skip */
} cell;

/* The cells of these devices; the array is the caller's to free. TALLY_TEST_SHARE=K/N in the
 * environment makes them each Nth of those there would be, from the Kth on, so that several
 * programs can share a long run. */
cell *cells_create(const place *places, int count, size_t *cells);
/* Whether this run has the test of this number: those that are no cells are shared out too. */
int cells_share_has(size_t test);

/* Whether the tests that go through ops and dtypes on the default variant take this pair too: all
 * do, but in a run that must be short. */
int cells_want_pair(tally_op op, tally_dtype in);
/* Whether the device lacks the f64 that the case needs. */
int cells_lack_f64(const oracle_case *what, const tally_device_info *info);

/* Its program into the cache; of one that does not compile, the test tells. */
void cell_compile(const cell *c);
/* The test of one cell, for cmocka: *state is the cell. */
void cell_test(void **state);
/* Whether it walks all shapes and patterns, or those that matter most. */
int cell_is_deep(const cell *c);

/*
 * Prints causes of skips and, last, the tables of cells run, skipped and failed by op, and per
 * backend and variant. Returns 0 when no device ran fewer cells than its floor: every cell of a
 * variant that applies to the device, with the variant's own group.
 */
int cells_report(const cell *cells, size_t count, const place *places, int place_count);

#endif
