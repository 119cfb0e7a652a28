/* SPDX-License-Identifier: MIT */
/* shape.h: compares and names the shapes of arrays. */
#ifndef TALLY_SHAPE_H
#define TALLY_SHAPE_H

#include "npy.h"

bool shape_equal(const npy_shape *a, const npy_shape *b);

/* A shape in Python's notation: "(5, 1)", "(7,)", "()". A long one is cut and ends in "...)". */
typedef struct shape_name {
    char text[256];
} shape_name;
shape_name shape_text(const npy_shape *shape);

#endif
