/* SPDX-License-Identifier: MIT */
/* gather.h: items that lie anywhere, copied so that programs can read them. */
#ifndef TALLY_BACKENDS_HOST_GATHER_H
#define TALLY_BACKENDS_HOST_GATHER_H

#include "host.h"
#include "axes/axes.h"

/* Reads a SHAPE that tally_shape_pack has written. It has no count. */
void tally_host_read_shape(const unsigned char *from, uint32_t inputs, tally_array_shape *shape);

/* The places of the segments' items in one input, or in the mask. Steps are in bytes. */
typedef struct host_walk {
    uint32_t bytes; /* of an item */
    uint32_t reduced;
    uint64_t extent[TALLY_MAX_AXES + 1];
    int64_t step[TALLY_MAX_AXES + 1];
    int64_t across; /* from a segment to its neighbour */
} host_walk;

/* Returns the address of `count` items from item `first` on if they are neighbours in memory, else
 * NULL. `from` is the segment's item 0. A count of 0 gives `from`. */
const unsigned char *tally_host_neighbours(const host_walk *walk, const unsigned char *from, uint64_t first, uint64_t count);

/* Copies `count` items of each of `segments` neighbouring segments, from item `first` on. Item
 * first + j of segment s becomes item s * to_segment + j * to_item of `to`. */
void tally_host_gather(const host_walk *walk, const unsigned char *from, uint64_t first, uint64_t count, uint64_t segments,
                       unsigned char *to, uint64_t to_segment, uint64_t to_item);

#endif
