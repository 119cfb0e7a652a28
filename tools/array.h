/* SPDX-License-Identifier: MIT */
/* array.h: a file's items, all of them in memory. */
#ifndef TALLY_ARRAY_H
#define TALLY_ARRAY_H

#include <stdbool.h>
#include <stdint.h>

#include <tally/tally.h>

#include "npy.h"

typedef struct array {
    tally_dtype dtype;
    uint64_t n;
    npy_shape shape;      /* the file's; of raw items one dimension */
    unsigned char *items; /* freed by array_free */
} array;

uint64_t array_bytes(const array *a);
/* Reads a whole file ("-": standard input), flattened in C order, in this machine's byte order;
 * raw: as input_open. Reports what is wrong. */
bool array_load(array *a, const char *path, tally_dtype raw);
/* Items that are zero. Reports a lack of memory, in the name of `path`. */
bool array_make(array *a, tally_dtype dtype, uint64_t n, const char *path);
/* Writes a .npy file of one dimension: under another name, which then takes the place of `path`, so
 * that no file is ever there in part. Reports what is wrong; there is no trace then. */
bool array_save(const array *a, const char *path);
void array_free(array *a);

#endif
