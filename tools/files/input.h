/* SPDX-License-Identifier: MIT */
/*
 * input.h: a file of items, read as slices in this machine's byte order. A regular file is mapped,
 * and its items are handed out in place. Items go through a buffer if they have the other byte
 * order, are not aligned, or cannot be mapped (a pipe).
 *
 * All arrays are handed out in C order. For an array in Fortran order the buffer holds one piece. A
 * stream of such an array is first copied to a temporary file, because a piece takes items from all
 * over the array.
 */
#ifndef TALLY_INPUT_H
#define TALLY_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tally/tally.h>

#include "fortran.h"
#include "npy.h"

#define INPUT_UNKNOWN UINT64_MAX
#define INPUT_NPY_ONLY TALLY_DTYPE_END /* in place of a type */

typedef struct input {
    const char *name; /* for messages: the path, or "-" */
    tally_dtype dtype;
    size_t item_bytes;
    size_t part_bytes; /* half of a complex item: the unit of swapping and of alignment */
    uint64_t n;        /* INPUT_UNKNOWN for a raw stream */
    npy_shape shape;   /* of a .npy file, in C order; others have no dimensions */
    bool is_npy;
    bool npy_only;   /* no raw items are taken */
    bool is_fortran; /* items lie in another order than they are handed out */
    bool swapped;    /* the file has the other byte order */
    uint64_t done;   /* items handed out */
    unsigned share;  /* number of files read in step with this one, for the progress line */

    int fd;
    unsigned char *map; /* NULL for a stream */
    size_t map_bytes, data_offset;
    unsigned char *buffer; /* BUFFER_BYTES if needed; a piece of a Fortran array */
    size_t held;           /* bytes in the buffer that belong to the next slice */
    bool ended;            /* the stream has ended */
    fortran_walk walk;     /* used if is_fortran, from the first piece on */
} input;

/* Opens a file; "-" is standard input. `raw` is the type given by --dtype. With TALLY_DTYPE_DEFAULT
 * the type comes from the .npy header. INPUT_NPY_ONLY does the same for a file that --dtype does
 * not apply to. Reports an error in the file. At most GUARD_MAPS may be open at a time. */
bool input_open(input *in, const char *path, tally_dtype raw);

/* Checks the header, or the type of raw items, against the file's size, and sets `n` of a raw file.
 * Reports a contradiction. input_open does so for a file that it maps. */
bool input_check_bytes(input *in, uint64_t file_bytes);

/* Gets the next slice. *last is set for the last slice, which may have no items. The items stay
 * valid until the next call. Reports a file that is shorter or longer than expected. */
bool input_next(input *in, const void **items, uint64_t *n, bool *last);

/* Returns all items of a mapped file that are handed out in place, else NULL. They stay valid until
 * input_close. */
const unsigned char *input_in_place(const input *in);

void input_close(input *in);

#endif
