/* SPDX-License-Identifier: MIT */
/* scan_run.h: one scan's plan on a device with its buffers, and what it gives held to the oracle's
 * values. */
#ifndef TALLY_TESTS_SCAN_RUN_H
#define TALLY_TESTS_SCAN_RUN_H

#include "conformance.h"
#include "oracle/scan.h"

typedef struct scan_run {
    tally_scan_desc desc;
    oracle_case of; /* of a custom op: nothing */
    scan_op op;
    int is_canonical;
    uint64_t room; /* items that fit */
    char name[128];
    tally_plan *plan;
    tally_queue *queue;
    tally_buffer *in, *out, *segments;
    uint64_t checked; /* values that were held to the bit or to a bound */
} scan_run;

/*
 * The descriptor's size and max_n are filled in. custom: what desc->custom does; NULL for the
 * library's ops. 0: the variant, which must then be a named one, is not for this device.
 */
/* extra: flags of src/scan/scan.h beyond the descriptor's, 0 for none. */
int scan_run_open_with(scan_run *r, tally_context *context, const tally_scan_desc *desc, unsigned extra, const scan_op *custom,
                       uint64_t room);
int scan_run_open(scan_run *r, tally_context *context, const tally_scan_desc *desc, const scan_op *custom, uint64_t room);
void scan_run_close(scan_run *r);

/* What is scanned, and where it lies. */
typedef struct scan_given {
    const void *items;
    uint64_t n;
    const uint8_t *flags;    /* n, of TALLY_SEGMENTS_FLAGS */
    const uint64_t *offsets; /* `count`, of TALLY_SEGMENTS_OFFSETS */
    uint64_t count;
    uint64_t in_offset, out_offset, segments_offset; /* SCAN_RUN_MOST_OFFSET at most */
    int is_in_place;                                 /* the out_offset is then the in_offset */
    const uint64_t *
        pieces; /* that n is scanned in, the first by tally_scan, the others by tally_scan_next; ends with 0; NULL: all at once */
} scan_given;
#define SCAN_RUN_MOST_OFFSET 15

/* Runs it twice. Fails unless each value is right, both runs gave the same bits, the input is as it
 * was, and so is all memory around. */
void scan_run_expect(scan_run *r, const scan_given *g);

/* Whether a value is as wide as an item. */
int scan_run_fits_in_place(const scan_run *r);

/* The name of the canonical variant of this number, from 0 on; NULL beyond the last. */
const char *scan_canonical_variant(size_t number);

#endif
