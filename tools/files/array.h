/* SPDX-License-Identifier: MIT */
/* array.h: all items of a file, held in memory. */
#ifndef TALLY_ARRAY_H
#define TALLY_ARRAY_H

#include <stdbool.h>
#include <stdint.h>

#include <tally/tally.h>

#include "npy.h"

typedef struct array {
    tally_dtype dtype;
    uint64_t n;
    npy_shape shape; /* of the file; one dimension for raw items */
    bool is_npy;     /* false: raw items, which have no shape */
    unsigned char *items;
    struct input *file; /* the open file that the items lie in; NULL: they are allocated */
} array;

uint64_t array_bytes(const array *a);
/* Reads a whole file; "-" is standard input. Items come in C order and in this machine's byte
 * order. `raw` is as in input_open. Reports an error. */
bool array_load(array *a, const char *path, tally_dtype raw);
/* Opens a file to read its items. Copies only items of a stream, and those that have the other byte
 * order or are not aligned. With `any_order` an array in Fortran order stays so, and
 * shape.is_fortran is set. */
bool array_open(array *a, const char *path, tally_dtype raw, bool any_order);
/* Makes an array of n zeros, as many as the shape has. Reports a lack of memory under the name
 * `path`. */
bool array_make(array *a, tally_dtype dtype, const npy_shape *shape, uint64_t n, const char *path);
/* Repeats the item of a .npy file of shape () for each item of `other`, with its shape. Any other
 * array stays as it is. Reports a lack of memory under the name `path`. */
bool array_repeat(array *a, const array *other, const char *path);
/* Writes a .npy file of the array's shape. The file is written under a temporary name and then
 * renamed to `path`, so a partial file never exists. Reports an error and then leaves no file
 * behind. */
bool array_save(const array *a, const char *path);
void array_free(array *a);

#endif
