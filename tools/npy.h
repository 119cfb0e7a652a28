/* SPDX-License-Identifier: MIT */
/*
 * npy.h: the header of NumPy's .npy files, versions 1.0, 2.0 and 3.0. Source: numpy.lib.format, "Format Version 1.0" and after.
 * The parser reads from memory that it is given, allocates nothing and trusts nothing that the header claims.
 */
#ifndef TALLY_NPY_H
#define TALLY_NPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tally/tally.h>

#define NPY_MAGIC "\x93NUMPY"
#define NPY_MAGIC_BYTES 6
#define NPY_HEADER_LIMIT ((size_t)1 << 20) /* numpy itself refuses more than 10,000 unless told to trust the file */
#define NPY_DIMENSION_LIMIT 64             /* as NumPy 2 */

typedef struct npy_shape {
    bool is_fortran; /* the first index varies fastest in memory */
    uint32_t dimensions;
    uint64_t lengths[NPY_DIMENSION_LIMIT];
} npy_shape;

typedef struct npy_header {
    tally_dtype dtype;
    npy_shape shape;
    bool swapped;       /* the items' bytes are in the other order than this machine's */
    uint64_t n;         /* items, in memory order; n times the item's bytes fits 63 bits */
    size_t data_offset; /* bytes before the first item */
} npy_header;

typedef enum npy_status {
    NPY_OK,    /* *header is filled in */
    NPY_SHORT, /* more of the file is needed: *need bytes from its start */
    NPY_BAD    /* `problem` says what is wrong, in one line that follows a file's name */
} npy_status;

/* Parses the first `bytes` bytes of a file that starts with NPY_MAGIC (or with a part of it, if `bytes` is less). */
npy_status npy_parse(const void *start, size_t bytes, npy_header *header, size_t *need, char *problem, size_t problem_bytes);

/* Whether the first `bytes` bytes are the start of a .npy file, as far as they go; no bytes are not. */
bool npy_is_start(const void *start, size_t bytes);

/* The bytes to leave for the header of a file whose shape will have at most so many dimensions: a multiple of 64, as NumPy's are. */
size_t npy_room(uint32_t dimensions);

/* Writes a header of `room` bytes, in this machine's byte order: version 1.0. False for a type that NumPy lacks; a NULL `to` asks for that alone. */
bool npy_make(tally_dtype dtype, const npy_shape *shape, unsigned char *to, size_t room);

#endif
