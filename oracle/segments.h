/* SPDX-License-Identifier: MIT */
/*
 * segments.h: the values that every reduction of segments must return, to the bit. Each segment's
 * items are gathered into a list, which the oracle of whole inputs reduces.
 */
#ifndef TALLY_TESTS_SEGMENTS_ORACLE_H
#define TALLY_TESTS_SEGMENTS_ORACLE_H

#include "oracle.h"

/* Where the items of segments are. A position is counted from `in` and `where`, in items and in
 * bytes, and may be negative. */
typedef struct oracle_items {
    const void *in[2];
    const uint8_t *where; /* NULL: no item is masked */
} oracle_items;

/* Returns the number of segments of an array, and of the items of each. */
uint64_t oracle_axes_segments(const tally_axis *axes, uint32_t count);
uint64_t oracle_axes_length(const tally_axis *axes, uint32_t count);
/* Sets at[k] to the position of the first item of segment s, of input k, and *where to that of its
 * byte in the mask. */
void oracle_axes_segment(const tally_axis *axes, uint32_t count, uint64_t s, int64_t at[2], int64_t *where);
/* Returns the place of segment s among results with strides. */
int64_t oracle_axes_place(const tally_axis *axes, uint32_t count, uint64_t s);

/* Writes the value of each segment, oracle_result_bytes apart, in C order of the kept axes. */
void oracle_reduce_axes(const oracle_case *what, const oracle_items *items, const tally_axis *axes, uint32_t count,
                        void *values);
/* Writes the value of the items begins[s] to ends[s] - 1, for each s. */
void oracle_reduce_offsets(const oracle_case *what, const oracle_items *items, const uint64_t *begins, const uint64_t *ends,
                           uint64_t count, void *values);

/* Returns the number of runs of equal neighbouring keys, and writes where each begins, and n behind
 * the last one. There is room for n + 1. */
uint64_t oracle_runs(const void *keys, uint32_t key_bytes, uint64_t n, uint64_t *begins);

#endif
