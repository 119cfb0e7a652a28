/* SPDX-License-Identifier: MIT */
/* speed.h: the time of a reduction over ranks beside that of MPI_Allreduce. */
#ifndef TALLY_TESTS_RANKS_SPEED_H
#define TALLY_TESTS_RANKS_SPEED_H

#include "ranks.h"

void test_speed(const tester *t);
/* Needs 16 GiB of memory on the device of rank 0. */
void test_large_speed(const tester *t);

#endif
