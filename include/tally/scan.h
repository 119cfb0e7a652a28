/* SPDX-License-Identifier: MIT */
/*
 * tally/scan.h: scans: the result of the items up to each one.
 */
#ifndef TALLY_API_SCAN_H
#define TALLY_API_SCAN_H

#include <tally/reduce.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- scans ------------------------------------------------------------------------------------------------------------ */

/* tally_scan_desc.flags */
enum {
    TALLY_EXCLUSIVE = 1, /* out[i] is of the items before item i; else item i is among them */
    TALLY_REVERSE = 2    /* the items are taken from the last to the first: `before` and `first` below then mean that order */
};

/* How tally_scan is told where segments begin, each of which is a scan of its own. */
typedef enum tally_segments {
    TALLY_SEGMENTS_NONE,
    TALLY_SEGMENTS_FLAGS, /* a u8 for each item: nonzero at each segment's lowest item, in a reverse scan too */
    TALLY_SEGMENTS_OFFSETS /* u64s: the indices of segments' lowest items, in any order; equal ones are one, those from n on are ignored */
} tally_segments;

/* What to scan. Zeroed members mean their defaults; members with the names of tally_reduce_desc's mean the same. */
typedef struct tally_scan_desc {
    size_t size; /* sizeof(tally_scan_desc) */
    tally_op op; /* of one input */
    tally_dtype in, out;
    uint64_t max_n;      /* segments by offsets take a byte of device memory for each item of it */
    const char *variant; /* a row of tally_scan_variant_get; NULL or "auto": the default for the device */
    tally_dtype acc;
    tally_accuracy accuracy;
    tally_custom_op *custom; /* in place of `op` */
    uint32_t flags;          /* TALLY_EXCLUSIVE, TALLY_REVERSE */
    tally_segments segments;
    const void *
        initial; /* an item (of type `in`, read by tally_scan_plan_create) that comes before the first of each segment; NULL: none. Only
                          * of exclusive scans, whose first value it is; E_UNSUPPORTED with argmin, argmax, iamax */
} tally_scan_desc;

/*
 * Compiles a scan, or finds it in the cache, and takes all the memory that it will need (tally_plan_workspace_bytes). Blocks. What is made is
 * a plan: tally_plan_variant, tally_plan_result (of each value), tally_plan_set_param, tally_plan_depth and tally_plan_destroy take it.
 * Errors: as tally_plan_create; E_UNSUPPORTED for an op of two inputs, and for an initial value with argmin, argmax or iamax.
 */
TALLY_API tally_status tally_scan_plan_create(tally_context *context, const tally_scan_desc *desc, tally_plan **out);

/* Where a scan's items are, and where its values go. Offsets are in items and in values. */
typedef struct tally_scan_args {
    size_t size; /* sizeof(tally_scan_args) */
    const tally_buffer *in;
    uint64_t in_offset, n;
    const tally_buffer *segments; /* n flags, or `count` offsets; NULL for a plan without segments, and only then */
    uint64_t segments_offset;     /* in flags or offsets */
    uint64_t count;               /* of offsets; ignored for flags */
    tally_buffer *out;
    uint64_t out_offset;
} tally_scan_args;

/*
 * Enqueues the scan of n items into n values: out[i] is the op's result of the items up to item i (an
 * exclusive scan: of those before it; of none it is `initial`, or the op's value for no items). No
 * allocation, no waiting. In place: `out` may be `in`, at the same byte, if a value is as wide as an
 * item; else they must not overlap, nor `segments` and `out`. docs/numerics.md has the order of
 * combination, a function of the items' indices (and of where segments begin); value i depends on no
 * later item.
 * Errors: E_ARGUMENT as tally_reduce_with, and for a plan that is no scan's.
 */
TALLY_API tally_status tally_scan_with(tally_plan *plan, tally_queue *queue, const tally_scan_args *args);
/* The same without segments and offsets. */
TALLY_API tally_status tally_scan(tally_plan *plan, tally_queue *queue, const tally_buffer *in, uint64_t n, tally_buffer *out);

/* Continues: the items of this call come after those of the plan's calls before it, since the last
 * tally_scan or tally_scan_with, as if all were one input. So far they must be whole blocks of
 * TALLY_SCAN_BLOCK items. For what does not fit the device's memory. Segments by flags alone.
 * Errors also: E_ARGUMENT where they are not whole blocks; E_UNSUPPORTED for a reverse scan. */
#define TALLY_SCAN_BLOCK 131072
TALLY_API tally_status tally_scan_next(tally_plan *plan, tally_queue *queue, const tally_scan_args *args);

/* The ways to scan, as tally_variant_get has those to reduce. Errors: E_ARGUMENT for an index that is not below the count. Static texts. */
TALLY_API size_t tally_scan_variant_count(void);
TALLY_API tally_status tally_scan_variant_get(size_t index, tally_variant_info *out);

#ifdef __cplusplus
}
#endif

#endif
