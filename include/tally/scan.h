/* SPDX-License-Identifier: MIT */
/* tally/scan.h: scans. Value i of a scan is the op's result for the items up to item i. */
#ifndef TALLY_API_SCAN_H
#define TALLY_API_SCAN_H

#include <tally/segments.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- scans ----------------------------------------------------------------------------------- */

/* Bits of tally_scan_desc.flags. */
enum {
    TALLY_EXCLUSIVE = 1, /* out[i] is of the items before item i; without it, item i counts too */
    /* The items are taken from the last to the first; "before" and "first" mean that order. */
    TALLY_REVERSE = 2,
    /* The plan is for tally_scan_axis. */
    TALLY_ALONG_AXIS = 4
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
    uint64_t max_n;      /* most items of a call; 0: as many as the device can hold. A plan of segments by
                          * offsets takes max_n bytes of memory, so do not leave it 0 there */
    const char *variant; /* as tally_scan_variant_get names it; NULL or "auto": the default */
    tally_dtype acc;
    tally_accuracy accuracy;
    tally_custom_op *custom; /* replaces `op` */
    uint32_t flags;          /* TALLY_EXCLUSIVE, TALLY_REVERSE and TALLY_ALONG_AXIS, or 0 */
    tally_segments segments;
    /* An item of type `in` that comes before the first item of each segment; NULL: none. It counts
     * as an item: the first value of a segment is the op's result for this item alone. (The initial
     * of a reduction by segments is a result.) tally_scan_plan_create copies it. For exclusive
     * scans only; E_UNSUPPORTED with argmin, argmax and iamax. */
    const void *initial;
} tally_scan_desc;

/*
 * Compiles a scan, or finds it in the cache, and allocates all the memory that it needs
 * (tally_plan_workspace_bytes). Blocks. The caller destroys the plan with tally_plan_destroy.
 * tally_plan_variant, tally_plan_result (of one value), tally_plan_set_param and tally_plan_depth
 * take it too. Errors: as tally_plan_create; E_UNSUPPORTED for an op of two inputs, for an
 * initial item with argmin, argmax or iamax, and with TALLY_ALONG_AXIS for segments and for a
 * variant whose order is not the canonical one.
 */
TALLY_API tally_status tally_scan_plan_create(tally_context *context, const tally_scan_desc *desc, tally_plan **out);

/* The places of a scan's items and of its values. Offsets are in items and in values; the two
 * values of minmax for an item count as one. */
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
 * the items before item i; the first value of a segment is that of `initial` alone, or the op's
 * value for no items. docs/numerics.md has the order of combination: a function of the items'
 * indices and of where segments begin. Value i depends on no later item.
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

/* ---- along an axis --------------------------------------------------------------------------- */

/*
 * An array to scan along one of its axes. Item (i, j, ...) is at in_offset + i *
 * axes[0].in_stride[0] + j * axes[1].in_stride[0] + ..., and its value at out_offset + i *
 * axes[0].out_stride + ... The strides in are in items and may be negative or 0; those out are in
 * values. The members `reduced` and `where_stride` of an axis are ignored.
 */
typedef struct tally_scan_axis_args {
    size_t size; /* sizeof(tally_scan_axis_args) */
    const tally_axis *axes;
    uint32_t axis_count; /* 1 to TALLY_MAX_AXES */
    uint32_t axis;       /* the index of the axis that is scanned */
    int out_strided;     /* 1: values lie as out_stride says. 0: they lie in C order of the axes */
    const tally_buffer *in;
    uint64_t in_offset; /* in items: of the item whose indices are all 0 */
    tally_buffer *out;
    uint64_t out_offset; /* in values: of the value whose indices are all 0 */
} tally_scan_axis_args;

/*
 * Enqueues a scan of each list of items along axes[axis], by a plan with TALLY_ALONG_AXIS. The
 * values of a list have the bits of tally_scan of its items alone. Extents and strides belong to
 * the call: another shape compiles nothing. max_n of the plan bounds the items of the whole array.
 * Allocates nothing and does not wait. The buffers stay the caller's; args and axes may go when it
 * returns. An array with an extent of 0 gives nothing.
 *
 * `out` may be `in` if a value is as wide as an item and each value lies at its item's byte. Else
 * they must not overlap.
 *
 * Errors: E_ARGUMENT as tally_reduce_with; for a plan without TALLY_ALONG_AXIS, and for a plan with
 * it in the calls above; for extents whose product overflows 64 bits, axes whose items or values
 * lie outside a buffer, values that overlap the input or each other (sorted by stride, each stride
 * must pass over all values of the smaller ones). E_DEVICE.
 */
TALLY_API tally_status tally_scan_axis(tally_plan *plan, tally_queue *queue, const tally_scan_axis_args *args);

/* ---- blocks on several devices -------------------------------------------------------------- */

/*
 * A scan whose items lie on several devices: each has whole blocks of TALLY_SCAN_BLOCK items, and a
 * plan. The *aggregate* of a block is the accumulator of its items, the *prefix* of a block that of
 * all blocks before it. The values have the bits of one scan:
 *
 * 1. Each device gets the aggregate of each of its blocks by three calls: tally_scan_prefix_set
 *    with NULL, tally_scan_next of the block, tally_scan_prefix_get.
 * 2. The host joins the aggregates of all blocks before a device's first one, in sequence, to its
 *    prefix: tally_scan_prefix_join.
 * 3. Each device begins at its prefix, by tally_scan_prefix_set, and scans its blocks in sequence,
 *    by tally_scan_next.
 *
 * tally_mpi_scan (tally/mpi.h) does all of that over the ranks of MPI.
 *
 * The calls are for scans without segments, in the items' order, by a canonical variant; others are
 * E_UNSUPPORTED.
 */

/* Gives the bytes of a prefix or an aggregate. Errors: E_ARGUMENT; E_UNSUPPORTED. */
TALLY_API tally_status tally_scan_prefix_bytes(const tally_plan *plan, uint64_t *bytes);
/* Enqueues the copy of the prefix after the plan's last call to host memory, which must stay valid
 * until the queue has come to it. Errors: E_ARGUMENT, also before the first call, and if the items
 * so far are no multiple of TALLY_SCAN_BLOCK; E_UNSUPPORTED; E_DEVICE. */
TALLY_API tally_status tally_scan_prefix_get(const tally_plan *plan, tally_queue *queue, void *prefix);
/* Makes the next tally_scan_next of the plan continue after `items` items, a multiple of
 * TALLY_SCAN_BLOCK, with this prefix. NULL: it begins anew, with the item of that index. Enqueues a
 * copy from host memory, which must stay valid until the queue has come to it. Errors: E_ARGUMENT;
 * E_UNSUPPORTED; E_DEVICE. */
TALLY_API tally_status tally_scan_prefix_set(tally_plan *plan, tally_queue *queue, uint64_t items, const void *prefix);
/* Combines `count` aggregates in sequence behind a prefix, in host memory. Blocks. Errors:
 * E_ARGUMENT; E_UNSUPPORTED, also for a custom op, which the host does not have. */
TALLY_API tally_status tally_scan_prefix_join(const tally_plan *plan, void *prefix, const void *aggregates, uint64_t count);

/* List the variants of scans, as tally_variant_count and tally_variant_get list those of
 * reductions. Static texts. Errors: E_ARGUMENT for NULL and for an index that is not below the
 * count. */
TALLY_API size_t tally_scan_variant_count(void);
TALLY_API tally_status tally_scan_variant_get(size_t index, tally_variant_info *out);

#ifdef __cplusplus
}
#endif

#endif
