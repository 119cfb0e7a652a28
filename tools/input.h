/* SPDX-License-Identifier: MIT */
/*
 * input.h: a file of items, as slices of items in this machine's byte order. A regular file is mapped, and its items are handed out
 * where they lie; what is in the other byte order or not aligned, and what cannot be mapped (a pipe), goes through a buffer.
 */
#ifndef TALLY_INPUT_H
#define TALLY_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tally/tally.h>

#include "npy.h"

#define INPUT_UNKNOWN UINT64_MAX

typedef struct input {
    const char *name; /* for messages: the path, or "-" */
    tally_dtype dtype;
    size_t item_bytes;
    size_t part_bytes; /* of complex items half of it: what is swapped, and what they are aligned to */
    uint64_t n;        /* items; INPUT_UNKNOWN for a raw stream */
    npy_shape shape;   /* of a .npy file; else it has no dimensions */
    bool is_npy;
    bool swapped;   /* the other byte order */
    uint64_t done;  /* items handed out */
    unsigned share; /* of how many files that are read in step it is one: for the progress line */

    int fd;
    unsigned char *map; /* NULL: a stream */
    size_t map_bytes, data_offset;
    unsigned char *buffer; /* BUFFER_BYTES, when needed */
    size_t held;           /* bytes in the buffer that belong to the next slice */
    bool ended;            /* the stream has */
} input;

/* Opens a file ("-": standard input). raw: the type given by --dtype; TALLY_DTYPE_DEFAULT: take it from the .npy header. Reports
 * what is wrong with the file. At most TALLY_MAX_INPUTS may be open at a time. */
bool input_open(input *in, const char *path, tally_dtype raw);

/* The next slice; *last says that it is the last one (it may be of no items). The items stay valid until the next call. Reports a
 * file that is shorter or longer than it should be. */
bool input_next(input *in, const void **items, uint64_t *n, bool *last);

void input_close(input *in);

#endif
