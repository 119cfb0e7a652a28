/* SPDX-License-Identifier: MIT */
/*
 * input.h: a file of items, as slices of items in this machine's byte order. A regular file is
 * mapped, and its items are handed out where they lie; what is in the other byte order or not
 * aligned, and what cannot be mapped (a pipe), goes through a buffer. An array in Fortran order is
 * handed out in C order, as all arrays: a buffer holds a piece of it. A stream of one is first
 * copied into a temporary file, for its items come in another order.
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

typedef struct input {
    const char *name; /* for messages: the path, or "-" */
    tally_dtype dtype;
    size_t item_bytes;
    size_t part_bytes; /* of complex items half of it: what is swapped, and what they are aligned to */
    uint64_t n;        /* items; INPUT_UNKNOWN for a raw stream */
    npy_shape shape;   /* of a .npy file, in C order; else it has no dimensions */
    bool is_npy;
    bool is_fortran; /* the items lie in another order than they are handed out */
    bool swapped;    /* the other byte order */
    uint64_t done;   /* items handed out */
    unsigned share;  /* of how many files that are read in step it is one: for the progress line */

    int fd;
    unsigned char *map; /* NULL: a stream */
    size_t map_bytes, data_offset;
    unsigned char *buffer; /* BUFFER_BYTES, when needed; a piece of a Fortran array */
    size_t held;           /* bytes in the buffer that belong to the next slice */
    bool ended;            /* the stream has */
    fortran_walk walk;     /* if is_fortran: from the first piece on */
} input;

/* Opens a file ("-": standard input). raw: the type given by --dtype; TALLY_DTYPE_DEFAULT: take it
 * from the .npy header. Reports what is wrong with the file. At most TALLY_MAX_INPUTS may be open
 * at a time. */
bool input_open(input *in, const char *path, tally_dtype raw);

/* The next slice; *last says that it is the last one (it may be of no items). The items stay valid
 * until the next call. Reports a file that is shorter or longer than it should be. */
bool input_next(input *in, const void **items, uint64_t *n, bool *last);

void input_close(input *in);

#endif
