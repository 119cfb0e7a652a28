/* SPDX-License-Identifier: MIT */
/* axes.h: the axes of arrays that are reduced or scanned along some of them. */
#ifndef TALLY_SRC_AXES_H
#define TALLY_SRC_AXES_H

#include "base/base.h"

/* An axis as the kernels have it (kernels/segments.h). Strides are in items and in results. */
typedef struct tally_shape_axis {
    uint64_t extent;
    int64_t in[TALLY_MAX_INPUTS], where, out;
} tally_shape_axis;

/* Most axes of a SHAPE: one more than an array's, because each of its two lists has at least
 * one. */
#define TALLY_SHAPE_AXES (TALLY_MAX_AXES + 1)

/* A regular array of segments: the list of its reduced axes, then the list of its kept axes. The
 * fastest axis of a list is its last. Axes of extent 1 are left out. Neighbouring axes are merged
 * where their strides allow. A list without axes gets one of extent 1. */
typedef struct tally_array_shape {
    uint64_t n, count; /* items of a segment, segments */
    uint32_t reduced, kept;
    tally_shape_axis axis[TALLY_SHAPE_AXES];
} tally_array_shape;

static inline uint64_t tally_magnitude(int64_t stride) {
    return stride < 0 ? 0 - (uint64_t)stride : (uint64_t)stride;
}

/* The kernels' SHAPE: tally_shape_bytes returns its bytes, and tally_shape_pack writes it. */
#define TALLY_SHAPE_MOST_BYTES (16 + TALLY_SHAPE_AXES * sizeof(tally_shape_axis))
uint32_t tally_shape_bytes(uint32_t inputs);
void tally_shape_pack(const tally_array_shape *shape, uint32_t inputs, void *to);

/* Makes the shape of an array's axes. `inputs` is the number of inputs that have strides; `where`
 * tells whether there is a mask. Errors: E_ARGUMENT for too many axes, extents whose product
 * overflows 64 bits, results that would overlap. */
tally_status tally_shape_make(const tally_axis *axes, uint32_t axis_count, uint32_t inputs, bool where, bool out_strided,
                              tally_array_shape *shape);
/* Makes the shape of a scan along axes[along]: the scanned axis is the only one of the first list,
 * and has an `out`. Errors: as above; E_ARGUMENT for no axes, and for `along` beyond them. */
tally_status tally_shape_make_scan(const tally_axis *axes, uint32_t axis_count, uint32_t along, bool out_strided,
                                   tally_array_shape *shape);
/* Finds the lowest and the highest place that the axes reach from `offset` on. `stride` is the
 * offset of their strides in a tally_shape_axis. Returns false if a place is below 0 or beyond 63
 * bits. */
bool tally_shape_span(const tally_array_shape *shape, size_t stride, bool with_reduced, uint64_t offset, uint64_t *low,
                      uint64_t *high);
/* Tells whether the axes reach as many places, side by side, as there are items. */
bool tally_shape_is_dense(const tally_array_shape *shape, size_t stride);

#endif
