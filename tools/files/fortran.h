/* SPDX-License-Identifier: MIT */
/*
 * fortran.h: copies an array from Fortran order into C order, piece by piece. A piece is a box: its
 * first indices are fixed, the next index takes a range, and the others take all their values. The
 * pieces of a walk, in turn, are the array in C order without gaps.
 */
#ifndef TALLY_FORTRAN_H
#define TALLY_FORTRAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "npy.h"

typedef struct fortran_walk {
    uint32_t dimensions;                   /* dimensions longer than 1 */
    uint64_t lengths[NPY_DIMENSION_LIMIT]; /* of these dimensions */
    uint64_t strides[NPY_DIMENSION_LIMIT]; /* items in memory from one index to the next */
    uint64_t room;                         /* most items of a piece */
    uint64_t done;                         /* items copied so far */
} fortran_walk;

/* Returns true if the array lies in Fortran order and C order differs. Two or more dimensions are
 * then longer than 1, and none is 0. */
bool fortran_differs(const npy_shape *shape);

/* Starts a walk through an array that is not empty. A piece has at most `room` items; `room` is 1
 * or more. */
void fortran_begin(fortran_walk *w, const npy_shape *shape, uint64_t room);

/* Moves the walk to a piece that has item `item` of C order. Returns the piece's first item. */
uint64_t fortran_seek(fortran_walk *w, uint64_t item);

/* Copies the next piece of the array `from`, which need not be aligned. Returns the number of
 * items, which is 0 at the end. */
uint64_t fortran_next(fortran_walk *w, const void *from, size_t item_bytes, void *to);

/* Returns the bytes of a piece: a multiple of 64 and enough to read whole pages, but at most 256
 * MiB. */
size_t fortran_piece_bytes(const npy_shape *shape, size_t item_bytes);

#endif
