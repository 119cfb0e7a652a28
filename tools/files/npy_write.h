/* SPDX-License-Identifier: MIT */
/*
 * npy_write.h: writes a .npy file. The file appears at its path only when it is complete
 * (tools/print/new_file.h). One file at a time.
 */
#ifndef TALLY_NPY_WRITE_H
#define TALLY_NPY_WRITE_H

#include <stdbool.h>
#include <stddef.h>

#include "npy.h"
#include "tools/print/new_file.h"

typedef struct npy_writer {
    const char *name; /* for messages: the path */
    tally_dtype dtype;
    size_t data_offset; /* room for the header, which is written last */
    new_file file;
} npy_writer;

/* Starts a file. `dimensions` is the upper limit of the shape's dimensions. Reports an error in the
 * path, and a type that .npy files lack. */
bool npy_write_open(npy_writer *w, const char *path, tally_dtype dtype, uint32_t dimensions);

/* Writes the next items. Reports an error such as a full disk. */
bool npy_write_items(npy_writer *w, const void *items, size_t bytes);

/* Finishes the file with this shape and renames it to its path. Reports an error, after which the
 * file is removed. */
bool npy_write_close(npy_writer *w, const npy_shape *shape);

/* Removes the unfinished file. A no-op after npy_write_close. */
void npy_write_abandon(npy_writer *w);

#endif
