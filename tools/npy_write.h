/* SPDX-License-Identifier: MIT */
/*
 * npy_write.h: a .npy file that is being written. It grows beside its place under another name, and gets its own when it is whole: nothing half
 * written is left behind by an error or a signal. One at a time.
 */
#ifndef TALLY_NPY_WRITE_H
#define TALLY_NPY_WRITE_H

#include <stdbool.h>
#include <stddef.h>

#include "npy.h"

typedef struct npy_writer {
    const char *name; /* for messages: the path */
    tally_dtype dtype;
    size_t data_offset; /* room for the header, which is written last */
    char *place, *temporary;
    int fd;
} npy_writer;

/* `dimensions`: at most so many will be in the shape. Reports what is wrong with the path, and a type that .npy files do not have. */
bool npy_write_open(npy_writer *w, const char *path, tally_dtype dtype, uint32_t dimensions);

/* The next items. Reports a full disk and the like. */
bool npy_write_items(npy_writer *w, const void *items, size_t bytes);

/* The file is whole, has this shape, and takes its place. Where that fails it is reported and the file is gone. */
bool npy_write_close(npy_writer *w, const npy_shape *shape);

/* There is to be no file. Does nothing after npy_write_close. */
void npy_write_abandon(npy_writer *w);

/* Removes the file that is under way; safe in a signal handler that ends the program. */
void npy_write_emergency(void);

#endif
