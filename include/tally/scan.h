/* SPDX-License-Identifier: MIT */
/* tally/scan.h: scans. Value i of a scan is the op's result for the items up to item i. */
#ifndef TALLY_API_SCAN_H
#define TALLY_API_SCAN_H

#include <tally/reduce.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- scans ----------------------------------------------------------------------------------- */

/* Bits of tally_scan_desc.flags. */
enum {
    TALLY_EXCLUSIVE = 1, /* out[i] is of the items before item i; without it, item i counts too */
    /* The items are taken from the last to the first; "before" and "first" mean that order. */
    TALLY_REVERSE = 2
};

/* How a call of tally_scan_with says where segments begin. Each segment is a scan of its own. */
typedef enum tally_segments {
    TALLY_SEGMENTS_NONE,
    /* A u8 for each item: nonzero at a segment's lowest item, also in a reverse scan. */
    TALLY_SEGMENTS_FLAGS,
    /* u64s: the indices of the segments' lowest items, in any order. Equal ones count once;
     * those from n on are ignored. */
    TALLY_SEGMENTS_OFFSETS
} tally_segments;

/* A scan to plan. A zeroed member means its default. Members named as in tally_reduce_desc mean the
 * same. */
typedef struct tally_scan_desc {
    size_t size; /* sizeof(tally_scan_desc) */
    tally_op op; /* an op of one input */
    tally_dtype in, out;
    uint64_t max_n;      /* most items of a call; offsets take a byte of memory for each */
    const char *variant; /* as tally_scan_variant_get names it; NULL or "auto": the default */
    tally_dtype acc;
    tally_accuracy accuracy;
    tally_custom_op *custom; /* replaces `op` */
    uint32_t flags;          /* TALLY_EXCLUSIVE and TALLY_REVERSE, or 0 */
    tally_segments segments;
    /* An item of type `in` that comes before the first item of each segment; NULL: none. It is the
     * first value of each segment. tally_scan_plan_create copies it. For exclusive scans only;
     * E_UNSUPPORTED with argmin, argmax and iamax. */
    const void *initial;
} tally_scan_desc;

/*
 * Compiles a scan, or finds it in the cache, and allocates all the memory that it needs
 * (tally_plan_workspace_bytes). Blocks. The caller destroys the plan with tally_plan_destroy.
 * tally_plan_variant, tally_plan_result (of one value), tally_plan_set_param and tally_plan_depth
 * take it too. Errors: as tally_plan_create; E_UNSUPPORTED for an op of two inputs, and for an
 * initial item with argmin, argmax or iamax.
 */
TALLY_API tally_status tally_scan_plan_create(tally_context *context, const tally_scan_desc *desc, tally_plan **out);

/* Where a scan's items are and where its values go. Offsets are in items and in values. */
typedef struct tally_scan_args {
    size_t size; /* sizeof(tally_scan_args) */
    const tally_buffer *in;
    uint64_t in_offset, n;
    const tally_buffer *segments; /* n flags or `count` offsets; NULL for a plan without */
    uint64_t segments_offset;     /* in flags or in offsets */
    uint64_t count;               /* number of offsets; ignored for flags */
    tally_buffer *out;
    uint64_t out_offset;
} tally_scan_args;

/*
 * Enqueues the scan of n items into n values. Allocates nothing and does not wait. The buffers stay
 * the caller's.
 *
 * out[i] is the op's result for the items up to item i. In an exclusive scan it is the result for
 * the items before item i; the first value of a segment is `initial`, or the op's value for
 * no items. docs/numerics.md has the order of combination: a function of the items' indices and of
 * where segments begin. Value i depends on no later item.
 *
 * `out` may be `in`, at the same byte, if a value is as wide as an item. Else they must not
 * overlap. `segments` and `out` must not overlap.
 *
 * Errors: E_ARGUMENT as tally_reduce_with, and for a plan that is no scan; E_DEVICE.
 */
TALLY_API tally_status tally_scan_with(tally_plan *plan, tally_queue *queue, const tally_scan_args *args);
/* Enqueues a scan without segments, from the first item of `in` to the first value of `out`.
 * Errors: as tally_scan_with. */
TALLY_API tally_status tally_scan(tally_plan *plan, tally_queue *queue, const tally_buffer *in, uint64_t n, tally_buffer *out);

/*
 * Continues a scan that does not fit the device's memory. The items of this call come after those
 * of the plan's calls since the last tally_scan or tally_scan_with, as if all were one input. The
 * number of items before this call must be a multiple of TALLY_SCAN_BLOCK. Segments are by flags
 * only. Errors: as tally_scan_with; also E_ARGUMENT where the items before are no multiple;
 * E_UNSUPPORTED for a reverse scan and for segments by offsets.
 */
#define TALLY_SCAN_BLOCK 131072
TALLY_API tally_status tally_scan_next(tally_plan *plan, tally_queue *queue, const tally_scan_args *args);

/* List the variants of scans, as tally_variant_count and tally_variant_get list those of
 * reductions. Static texts. Errors: E_ARGUMENT for NULL and for an index that is not below the
 * count. */
TALLY_API size_t tally_scan_variant_count(void);
TALLY_API tally_status tally_scan_variant_get(size_t index, tally_variant_info *out);

#ifdef __cplusplus
}
#endif

#endif
