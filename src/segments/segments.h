/* SPDX-License-Identifier: MIT */
/* segments.h: plans of segments: by axes, by offsets, by keys. */
#ifndef TALLY_SRC_SEGMENTS_H
#define TALLY_SRC_SEGMENTS_H

#include "program/program.h"

/* ---- shape.c --------------------------------------------------------------------------------- */

/* An axis as the kernels have it (kernels/segments.h). Strides are in items and in results. */
typedef struct tally_shape_axis {
    uint64_t extent;
    int64_t in[TALLY_MAX_INPUTS], where, out;
} tally_shape_axis;

/* A regular array of segments: the reduced axes, then the kept ones, each list with its fastest
 * axis last. Axes of extent 1 are left out, and neighbours are one where their strides allow. With
 * no axis left in a list it has one of extent 1. */
typedef struct tally_array_shape {
    uint64_t n, count; /* items of a segment, segments */
    uint32_t reduced, kept;
    tally_shape_axis axis[TALLY_MAX_AXES + 2];
} tally_array_shape;

/* The bytes of the kernels' SHAPE, and the SHAPE. */
#define TALLY_SHAPE_MOST_BYTES (24 + (TALLY_MAX_AXES + 2) * sizeof(tally_shape_axis))
uint32_t tally_shape_bytes(uint32_t inputs);
void tally_shape_pack(const tally_array_shape *shape, uint32_t inputs, void *to);

/* Makes the shape of an array's axes. Errors: E_ARGUMENT for too many axes, extents whose product
 * overflows 64 bits, results that would overlap. `inputs` have strides; `where` tells whether the
 * mask has. */
tally_status tally_shape_make(const tally_axis *axes, uint32_t axis_count, uint32_t inputs, bool where, bool out_strided,
                              tally_array_shape *shape);
/* The lowest and the highest place that the axes reach from `offset` on, for strides given by
 * their offset in a tally_shape_axis. Returns false if one is below 0 or beyond 63 bits. */
bool tally_shape_span(const tally_array_shape *shape, size_t stride, bool with_reduced, uint64_t offset, uint64_t *low,
                      uint64_t *high);

/* ---- the kernels' arguments ------------------------------------------------------------------ */

/*
 * The arguments of all kernels of segments behind the inputs and their offsets, in their order.
 * Each kernel takes all of them. Memory that a plan does not have is any memory, which is not
 * touched.
 */
enum {
    TALLY_SEGMENT_ARG_PARAMS,
    TALLY_SEGMENT_ARG_WHERE,
    TALLY_SEGMENT_ARG_WHERE_OFFSET,
    TALLY_SEGMENT_ARG_BEGINS,
    TALLY_SEGMENT_ARG_BEGINS_OFFSET,
    TALLY_SEGMENT_ARG_ENDS,
    TALLY_SEGMENT_ARG_ENDS_OFFSET,
    TALLY_SEGMENT_ARG_NUMBER,        /* by keys: the number of segments, a u64; the least of it and COUNT counts */
    TALLY_SEGMENT_ARG_NUMBER_OFFSET, /* in u64s */
    TALLY_SEGMENT_ARG_SHAPE,         /* by axes: a SHAPE */
    TALLY_SEGMENT_ARG_FIRST,         /* u64: the launch's first segment */
    TALLY_SEGMENT_ARG_COUNT,         /* u64: its segments */
    TALLY_SEGMENT_ARG_LEAF,          /* u64: by axes: the first chunk of each segment */
    TALLY_SEGMENT_ARG_LEAVES,        /* u64: its chunks; of a fold: its partials */
    TALLY_SEGMENT_ARG_TEAM,          /* u32: threads that share a chunk; on CPUs the segments of a block */
    TALLY_SEGMENT_ARG_LAST,          /* u32: 1: the launch writes results; 0: partials */
    TALLY_SEGMENT_ARG_PARTIALS,      /* ACCs: the LEAVES of the first segment, of the next one, ... */
    TALLY_SEGMENT_ARG_COUNTS,        /* u64s: their items, with a mask */
    TALLY_SEGMENT_ARG_SLICES,        /* ACCs: a fold that is not LAST writes one for each segment, from SLICE on */
    TALLY_SEGMENT_ARG_SLICE_COUNTS,  /* u64s */
    TALLY_SEGMENT_ARG_SLICE,         /* u64 */
    TALLY_SEGMENT_ARG_WORK,          /* u64s: the work list of long segments */
    TALLY_SEGMENT_ARG_CAPACITY,      /* u64: the chunks that it has room for */
    TALLY_SEGMENT_ARG_INITIAL,       /* a RESULT */
    TALLY_SEGMENT_ARGS               /* then each output and its offset (u64, in results) */
};

#endif
