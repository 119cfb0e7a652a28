/* SPDX-License-Identifier: MIT */
/* races.h: what the files of the program `races` share. */
#ifndef TALLY_TESTS_RACES_H
#define TALLY_TESTS_RACES_H

#include "tests/support/test_main.h"

#include <tally/tally.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* A run and its counts. */
typedef struct running {
    test_choice choice;
    tally_context *context;
    tally_context_info about;
    int of_one; /* only variants whose groups have one thread */
    size_t ran, skipped, all, listed;
} running;

/* Item i of an input: a whole number that every type has. */
int item(tally_dtype in, uint32_t input, uint64_t i);

/* Returns whether the plan is to be created and run. Lists it if only the list is wanted. */
int is_wanted(running *r, const char *name);
/* Returns whether the plan was created. Counts a plan that the device cannot have; *bad if the
 * device was promised it. */
int has_plan(running *r, tally_status status, int is_promised, const char *name, int *bad);

/* Returns whether the call failed, and reports it. */
int fails(tally_status status, const char *name, const char *call);
/* Makes a buffer with this content. Returns whether that failed. */
int upload(tally_context *context, tally_queue *queue, const void *data, uint64_t bytes, const char *name, tally_buffer **out);
/* Reads and compares the result. Returns whether it is wrong. */
int is_wrong(tally_queue *queue, tally_buffer *from, void *out, const void *want, uint64_t bytes, uint64_t n, const char *name);

/* ---- arrays.c -------------------------------------------------------------------------------- */

/* Runs segments and scans of arrays. Returns whether something failed. */
int arrays_all(running *r);

#endif
