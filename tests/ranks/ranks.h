/* SPDX-License-Identifier: MIT */
/* ranks.h: what the tests of libtally_mpi share. Every rank runs the same tests and has the whole
 * input, of which it reduces its share; a test fails if it fails on any rank. */
#ifndef TALLY_TESTS_RANKS_H
#define TALLY_TESTS_RANKS_H

#include <stdbool.h>

#include <tally/mpi.h>

/* This process. */
typedef struct tester {
    int rank, size;
    tally_context *context;
    tally_queue *queue;
    bool compiles; /* the device takes any op; `host` has only the built-in ones */
    bool crowded;  /* more ranks than cores: a call takes milliseconds, so shares are sampled */
    bool full;     /* TALLY_TEST_FULL */
} tester;

/* Counts a check. Prints one that fails, with the rank. Returns `good`. */
bool check(const tester *t, bool good, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* The failed checks of this rank. */
int failed_checks(void);
unsigned counted_checks(void);

/* A number that is the same on all ranks: a function of the seed and of the calls before. */
uint64_t draw(uint64_t below);
/* Calls that a collective of all ranks must not get out of step with. */
bool on_all(bool good);

#define MOST_RANKS 64
#define RESULT_BYTES 256 /* of any result */

/* Kinds of shares. */
typedef enum shape { EVEN, RANDOM, EMPTY, SHORT, ONE, SHAPES } shape;
/* Fills cuts[0..size]: rank r has the items from cuts[r] to cuts[r + 1]. Draws the same on all
 * ranks. */
void cut(int size, uint64_t n, shape of, uint64_t *cuts);
/* Writes items that are the same on all ranks: floats between -8 and 8 whose sums round. */
void fill(tally_dtype in, void *items, uint64_t n, uint64_t seed);

/* reductions.c: equal bits for all shares, ops and forms. */
void test_reductions(const tester *t);
/* columns.c: the same for the columns of an array whose rows are spread over the ranks. */
void test_columns(const tester *t);
/* scans.c: the same for scans, and their errors. */
void test_scans(const tester *t);
void test_scan_faults(const tester *t);
/* several.c: several reductions under way, tests in place of waits. */
void test_several(const tester *t);
/* faults.c: errors on one rank, agreed by all; the association of headers. */
void test_faults(const tester *t);
void test_headers(const tester *t);
/* Creating after MPI_Finalize. */
void test_finalised(const tester *t);
/* failing.c: calls of MPI that fail, and values that fail on one rank. */
void test_failing_calls(const tester *t);
/* A rank without a device: the last one has none. */
void test_no_device(const tester *t);
/* The last rank ends itself in the middle; the others must be ended by MPI. Does not return. */
void test_killed(const tester *t);

#endif
