/* SPDX-License-Identifier: MIT */
/*
 * inputs.h: files that are read in step: item i of one belongs to item i of the others. Often there
 * is only one file. All .npy files have the same shape, except for scalars: the item of a .npy file
 * of shape () belongs to every item of the others. Raw files have no shape.
 */
#ifndef TALLY_INPUTS_H
#define TALLY_INPUTS_H

#include "input.h"

typedef struct inputs {
    uint32_t count;
    input files[TALLY_MAX_INPUTS];
    char name[512]; /* for messages: "a.npy", "a.npy and b.npy" */

    /* The slice of each file that is being handed out. */
    const unsigned char *at[TALLY_MAX_INPUTS];
    uint64_t left[TALLY_MAX_INPUTS];
    bool last[TALLY_MAX_INPUTS];
    const void *pieces[TALLY_MAX_INPUTS]; /* result of inputs_next */
    /* Copies of a scalar's item, as a slice that never ends. NULL for other files, and for all
     * files if all are scalars. */
    unsigned char *repeated[TALLY_MAX_INPUTS];
} inputs;

/* Opens the files. They must have the same type, the same shape, and the same length as far as it
 * is known. Reports a difference. */
bool inputs_open(inputs *set, char *const *paths, uint32_t count, tally_dtype raw);

/* Gets the next n items of each file, which stay valid until the next call. Reports a bad file, and
 * a file that is longer than another. */
bool inputs_next(inputs *set, const void *const **items, uint64_t *n, bool *last);

void inputs_close(inputs *set);

tally_dtype inputs_dtype(const inputs *set);
size_t inputs_item_bytes(const inputs *set);
/* Returns the number of items of each file, or INPUT_UNKNOWN if no file has it. */
uint64_t inputs_n(const inputs *set);

#endif
