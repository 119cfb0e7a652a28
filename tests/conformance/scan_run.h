/* SPDX-License-Identifier: MIT */
/* scan_run.h: a scan's plan on a device with its buffers, whose results are compared with the
 * oracle. */
#ifndef TALLY_TESTS_SCAN_RUN_H
#define TALLY_TESTS_SCAN_RUN_H

#include "conformance.h"
#include "oracle/scan.h"

typedef struct scan_run {
    tally_scan_desc desc;
    oracle_case of; /* unused for a custom op */
    scan_op op;
    int is_canonical;
    uint64_t room; /* the number of items that fit */
    char name[128];
    tally_plan *plan;
    tally_queue *queue;
    tally_buffer *in, *out, *segments;
    uint64_t checked; /* values compared to the bit or with a bound */
} scan_run;

/*
 * Opens a scan. The descriptor's size and max_n are filled in. `custom` computes what desc->custom
 * does; NULL for the library's ops. Returns 0 if the variant, which must then be named, is not for
 * this device.
 */
/* `extra` are flags of src/scan/scan.h beyond the descriptor's, 0 for none. */
int scan_run_open_with(scan_run *r, tally_context *context, const tally_scan_desc *desc, unsigned extra, const scan_op *custom,
                       uint64_t room);
int scan_run_open(scan_run *r, tally_context *context, const tally_scan_desc *desc, const scan_op *custom, uint64_t room);
void scan_run_close(scan_run *r);

/* The items of a scan, and their places. */
typedef struct scan_given {
    const void *items;
    uint64_t n;
    const uint8_t *flags;    /* n flags, for TALLY_SEGMENTS_FLAGS */
    const uint64_t *offsets; /* `count` offsets, for TALLY_SEGMENTS_OFFSETS */
    uint64_t count;
    uint64_t in_offset, out_offset, segments_offset; /* at most SCAN_RUN_MOST_OFFSET */
    int is_in_place;                                 /* then out_offset is in_offset */
    const uint64_t
        *pieces; /* sizes of pieces: tally_scan takes the first, tally_scan_next the others; ends with 0; NULL: one piece */
} scan_given;
#define SCAN_RUN_MOST_OFFSET 15

/* Runs the scan twice. Fails unless each value is right, both runs give the same bits, and the
 * input and all memory around stay as they were. */
void scan_run_expect(scan_run *r, const scan_given *g);

/* Returns whether a value is as wide as an item. */
int scan_run_fits_in_place(const scan_run *r);

/* Returns the name of the canonical variant of this number, from 0 on; NULL beyond the last. */
const char *scan_canonical_variant(size_t number);

#endif
