/* SPDX-License-Identifier: MIT */
/*
 * npy.h: the header of NumPy's .npy files, versions 1.0, 2.0 and 3.0. Source: numpy.lib.format,
 * from "Format Version 1.0" on. The parser reads from memory that the caller provides. It allocates
 * nothing and trusts no claim of the header.
 */
#ifndef TALLY_NPY_H
#define TALLY_NPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tally/tally.h>

#define NPY_MAGIC "\x93NUMPY"
#define NPY_MAGIC_BYTES 6
#define NPY_HEADER_LIMIT ((size_t)1 << 20) /* NumPy itself refuses more than 10,000 */
#define NPY_DIMENSION_LIMIT 64             /* same as NumPy 2 */

typedef struct npy_shape {
    bool is_fortran; /* the first index varies fastest in memory */
    uint32_t dimensions;
    uint64_t lengths[NPY_DIMENSION_LIMIT];
} npy_shape;

typedef struct npy_header {
    tally_dtype dtype;
    npy_shape shape;
    bool swapped;       /* the items have the other byte order */
    uint64_t n;         /* items, in memory order; their bytes fit 63 bits */
    size_t data_offset; /* bytes before the first item */
} npy_header;

typedef enum npy_status {
    NPY_OK,    /* *header is filled in */
    NPY_SHORT, /* *need bytes from the file's start are needed */
    NPY_BAD    /* `problem` has the error, in a line that follows a file's name */
} npy_status;

/* Parses the first `bytes` bytes of a file. The file starts with NPY_MAGIC, or with a part of it if
 * `bytes` is less. */
npy_status npy_parse(const void *start, size_t bytes, npy_header *header, size_t *need, char *problem, size_t problem_bytes);

/* Returns true if the first `bytes` bytes may start a .npy file. Returns false for no bytes. */
bool npy_is_start(const void *start, size_t bytes);

/* Returns the bytes to reserve for the header of a file whose shape has at most `dimensions`
 * dimensions: a multiple of 64, as in NumPy's files. */
size_t npy_room(uint32_t dimensions);

/* Writes a header of `room` bytes, version 1.0, in this machine's byte order. Returns false for a
 * type that NumPy lacks. With `to` = NULL it only tests the type. */
bool npy_make(tally_dtype dtype, const npy_shape *shape, unsigned char *to, size_t room);

#endif
