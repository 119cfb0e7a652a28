/* SPDX-License-Identifier: MIT */
/*
 * fortran.h: an array in Fortran order, copied piece by piece into C order. A piece is a box: the
 * first indices are fixed, the next one takes a range, and the others take all their values. Thus
 * the pieces of a walk are the array in C order, without gaps.
 */
#ifndef TALLY_FORTRAN_H
#define TALLY_FORTRAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "npy.h"

typedef struct fortran_walk {
    uint32_t dimensions;                   /* those longer than 1 */
    uint64_t lengths[NPY_DIMENSION_LIMIT]; /* of these dimensions */
    uint64_t strides[NPY_DIMENSION_LIMIT]; /* items in memory from an index to the next one */
    uint64_t room;                         /* items of the largest piece */
    uint64_t done;                         /* items copied so far */
} fortran_walk;

/* Returns true if the array lies in Fortran order, and C order is another one: two dimensions or
 * more are longer than 1, and none is 0. */
bool fortran_differs(const npy_shape *shape);

/* Starts a walk through an array, which has items, in pieces of at most `room` items, 1 or more. */
void fortran_begin(fortran_walk *w, const npy_shape *shape, uint64_t room);

/* Copies the next piece of the array `from`, which need not be aligned. Returns its number of
 * items: 0 at the end. */
uint64_t fortran_next(fortran_walk *w, const void *from, size_t item_bytes, void *to);

/* Returns the bytes to give to a piece: a multiple of 64, enough to read whole pages, but at most
 * 256 MiB. */
size_t fortran_piece_bytes(const npy_shape *shape, size_t item_bytes);

#endif
