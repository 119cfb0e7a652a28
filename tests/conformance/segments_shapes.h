/* SPDX-License-Identifier: MIT */
/* segments_shapes.h: arrays for the tests of segments by axes. */
#ifndef TALLY_TESTS_SEGMENTS_SHAPES_H
#define TALLY_TESTS_SEGMENTS_SHAPES_H

#include "segments_run.h"

/* How the elements of an array lie. */
typedef enum segments_layout {
    LAYOUT_C,        /* C order, without gaps */
    LAYOUT_F,        /* the first axis has the stride 1 */
    LAYOUT_SWAPPED,  /* neighbouring axes have each other's place */
    LAYOUT_GAPS,     /* C order with gaps between all elements */
    LAYOUT_NEGATIVE, /* C order, every other stride negative */
    LAYOUT_ZERO,     /* every other stride 0 */
    LAYOUTS
} segments_layout;

/* Extents of axes. Bit a of `reduced` is set if axis a is reduced. */
typedef struct segments_shape {
    uint32_t count;
    uint64_t extents[TALLY_MAX_AXES];
    uint32_t reduced;
} segments_shape;

/* Finds a fixed shape: rows, columns, middle axes and whole inputs of every length where lanes,
 * rows and chunks end, several reduced axes, extents 0 and 1, 16 axes. Returns 0 beyond the
 * last. */
int segments_fixed_shape(size_t number, segments_shape *shape);

/* Lays out the first input as `in`. The second input, the mask and the results have layouts that
 * follow from it. `strided`: results with strides. */
segments_axes segments_array(const segments_shape *shape, segments_layout in, int strided);

/* A shape and strides that follow from the number: up to 6 axes, in any order, with gaps, negative
 * and zero strides. */
segments_axes segments_random_array(uint64_t number);

#endif
