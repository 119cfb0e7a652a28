/* SPDX-License-Identifier: MIT */
/*
 * sample.h: samples of lists that are too long for every run. Each day another part is taken, so
 * that all are taken in turn. The tests print the seed that chooses the part.
 *
 *   TALLY_TEST_SEED=N   the seed; the default is the number of days since 1970
 *   TALLY_TEST_PART=N   1 of N of the entries that sample_takes is asked for; the default is all
 *   TALLY_TEST_QUICK=1  a quarter of the entries that sample_has would take
 *   TALLY_TEST_FULL=1   all
 */
#ifndef TALLY_TESTS_SAMPLE_H
#define TALLY_TESTS_SAMPLE_H

#include <stdint.h>

/* Returns the seed, the same for programs that share a run. The first call prints it. */
uint64_t sample_seed(void);

/* Returns 1 if this run takes the entry of this number, where it takes 1 of `parts`: a prime, so
 * that no column of a table is left out. */
int sample_has(uint64_t number, uint64_t parts);

/* Returns N of TALLY_TEST_PART, or 1. */
uint64_t sample_parts(void);
/* Returns 1 if this run takes the entry of this name. */
int sample_takes(const char *name);
/* Returns 1 if this run takes entry i of a short list: of a sampled run, 1 in 3. */
int sample_has_turn(uint64_t i);

#endif
