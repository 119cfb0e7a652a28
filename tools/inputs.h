/* SPDX-License-Identifier: MIT */
/*
 * inputs.h: files that are read in step: item i of one belongs to item i of the others. Often it is
 * a single one. All .npy files have the same shape, but for scalars: the item of a .npy file of
 * shape () belongs to every item of the others. Raw files have no shape.
 */
#ifndef TALLY_INPUTS_H
#define TALLY_INPUTS_H

#include "input.h"

typedef struct inputs {
    uint32_t count;
    input files[TALLY_MAX_INPUTS];
    char name[512]; /* for messages: "a.npy", "a.npy and b.npy" */

    /* Of each file the slice that is being handed out. */
    const unsigned char *at[TALLY_MAX_INPUTS];
    uint64_t left[TALLY_MAX_INPUTS];
    bool last[TALLY_MAX_INPUTS];
    const void *pieces[TALLY_MAX_INPUTS]; /* what inputs_next returned */
    /* Copies of a scalar's item, a slice that is never used up. NULL for other files, and for all if
     * all are scalars. */
    unsigned char *repeated[TALLY_MAX_INPUTS];
} inputs;

/* Opens the files. Their types must be the same, their shapes, and their lengths as far as they are
 * known. Reports what is wrong. */
bool inputs_open(inputs *set, char *const *paths, uint32_t count, tally_dtype raw);

/* The next n items of each file; they stay valid until the next call. Reports a bad file, and one
 * that is longer than another. */
bool inputs_next(inputs *set, const void *const **items, uint64_t *n, bool *last);

void inputs_close(inputs *set);

tally_dtype inputs_dtype(const inputs *set);
size_t inputs_item_bytes(const inputs *set);
/* Items of each; INPUT_UNKNOWN when no file says. */
uint64_t inputs_n(const inputs *set);

#endif
