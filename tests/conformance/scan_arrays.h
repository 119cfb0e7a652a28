/* SPDX-License-Identifier: MIT */
/* scan_arrays.h: arrays for the tests of scans along an axis. */
#ifndef TALLY_TESTS_SCAN_ARRAYS_H
#define TALLY_TESTS_SCAN_ARRAYS_H

#include <stddef.h>
#include <stdint.h>

#include <tally/tally.h>

/* An array that is scanned along the axis `along`. In place the values have the items' strides. */
typedef struct array {
    uint32_t count, along;
    int out_strided, is_in_place;
    tally_axis axes[TALLY_MAX_AXES];
} array;

/* The elements that an array's axes reach: `count` of them, and the one whose indices are all 0. */
typedef struct reach {
    uint64_t count, zero;
} reach;

uint64_t array_items(const array *a);
/* The stride of an axis in items, or (out) in values. */
int64_t array_stride(const array *a, uint32_t axis, int out);
reach array_reach(const array *a, int out);
/* Returns where index 0 of list s lies from the element whose indices are all 0. */
int64_t array_list(const array *a, uint64_t s, int out);
/* Writes the name, and of each axis its extent and strides. */
void array_describe(const array *a, const char *name, char *text, size_t size);

/* `lists` lists of n items: rows and columns of a matrix without gaps, every third item of rows
 * with gaps, rows with both strides negative, one row for all lists, and columns in place. */
typedef enum layout { ROWS, COLUMNS, SLICES, BACKWARDS, BROADCAST, IN_PLACE, LAYOUTS } layout;
array array_matrix(uint64_t n, uint64_t lists, layout which);

/* Draws an array of up to 6 axes in any order, with gaps, both signs and zeros. Each call draws
 * another one; sample_seed prints the seed. */
array array_draw(void);

#endif
