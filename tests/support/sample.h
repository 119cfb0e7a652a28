/* SPDX-License-Identifier: MIT */
/*
 * sample.h: of a list that is too long for every run, a part: another one each day, all of them in
 * turn. TALLY_TEST_SEED=N, which is printed, chooses the part; TALLY_TEST_FULL=1 takes all;
 * TALLY_TEST_QUICK=1 takes a quarter of the part.
 */
#ifndef TALLY_TESTS_SAMPLE_H
#define TALLY_TESTS_SAMPLE_H

#include <stdint.h>

/* Whether this run has the entry of this number, where the part is one of `parts`, a prime, so that
 * no column of a table is left out. */
int sample_has(uint64_t number, uint64_t parts);

#endif
