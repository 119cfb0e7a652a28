/* SPDX-License-Identifier: MIT */
/*
 * tally/segments.h: reductions of rows, columns, segments and runs of equal keys.
 *
 * A segment is a list of items that gives one value. Its value has the bits of reducing these items
 * alone (docs/numerics.md), wherever they lie and whatever else the call reduces.
 */
#ifndef TALLY_API_SEGMENTS_H
#define TALLY_API_SEGMENTS_H

#include <tally/move.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The most axes of an array. */
#define TALLY_MAX_AXES 16
/* The most bytes of a key. */
#define TALLY_MAX_KEY_BYTES 16

/* The ways to say what the segments are. */
typedef enum tally_segments_by {
    TALLY_BY_AXES = 1,    /* an array's axes: each segment runs along the reduced ones */
    TALLY_BY_OFFSETS = 2, /* the index of each segment's first item, and that behind its last */
    TALLY_BY_KEYS = 3     /* a key for each item: a segment is a run of equal keys */
} tally_segments_by;

/* Bits of tally_segments_desc.flags, besides TALLY_UNCHECKED. */
enum {
    /* The call has a mask: a u8 for each item. An item whose u8 is 0 is the op's identity at its
     * place. It does not count in n; an index counts it. */
    TALLY_WHERE = 16,
    /* The values of each op go to a buffer of their own, out[t]. Without it, a result holds the
     * values of all ops, as tally_plan_result says, and goes to out[0]. */
    TALLY_APART = 32
};

/* Segments to plan. Zeroed members mean their defaults. Members named as in tally_reduce_desc mean
 * the same. */
typedef struct tally_segments_desc {
    size_t size; /* sizeof(tally_segments_desc) */
    tally_segments_by by;
    tally_op op; /* 0, without custom and terms, by keys: the runs alone, without values */
    tally_dtype in, out, acc;
    tally_accuracy accuracy;
    tally_custom_op *custom;
    const tally_term_desc *terms;
    uint32_t term_count;
    uint32_t flags;        /* TALLY_WHERE, TALLY_APART; by offsets or keys TALLY_UNCHECKED */
    uint64_t max_n;        /* most items of a call: by axes of all segments, else of the input; 0: as many
                            * as the device can hold */
    uint64_t max_segments; /* most segments of a call; 0: max_n. By keys, if max_n is 0 too: a 16th of the
                            * items that the device can hold, but no more 8-byte words than fit
                            * one buffer and an eighth of its memory. 1, by axes: see
                            * tally_reduce_axes */
    tally_dtype offsets;   /* by offsets: i32, u32, i64 or u64; 0: u64 */
    uint32_t key_bytes;    /* by keys: 1 to 16 */
    const char *variant;   /* for tests: "teams", or on CPUs "blocks"; NULL, "auto": the device class's default */
    /* A result (tally_plan_result) that is combined last, on the left of each segment's items. It
     * does not count in n. NULL: none. Copied. E_ARGUMENT for a float that an op which computes in
     * integers cannot turn into one, and for -0 and below with amax and nrm2. E_UNSUPPORTED with
     * mean, var, std, the index ops, nrm2 of integers of up to 32 bits, and custom ops that have
     * fields or a finish. (The initial of a scan is an item, and counts.) */
    const void *initial;
    /* By offsets and keys: most items of a segment, a hint; 0: unknown. Where no segment has more
     * than 4,096, a call is fewer launches. A longer one has the same bits, but is slow. */
    uint64_t max_length;
} tally_segments_desc;

/*
 * Compiles the reduction of segments, or finds it in the cache, and takes all the memory that it
 * needs (tally_plan_workspace_bytes). Blocks. The caller destroys the plan with tally_plan_destroy.
 * Extents, strides, lengths and counts belong to the calls: another shape compiles nothing.
 * tally_plan_result, tally_plan_set_param and tally_plan_depth take the plan too.
 * Errors: E_ARGUMENT for a descriptor that makes no sense; E_UNSUPPORTED; E_BUILD; E_MEMORY;
 * E_DEVICE.
 */
TALLY_API tally_status tally_segments_plan_create(tally_context *context, const tally_segments_desc *desc, tally_plan **out);

/* ---- by axes --------------------------------------------------------------------------------- */

/* An axis of an array. Strides are in items, in bytes of the mask and in results. They may be
 * negative or 0. */
typedef struct tally_axis {
    uint64_t extent;
    int reduced; /* 1: the segments run along it; 0: it is kept */
    int64_t in_stride[TALLY_MAX_INPUTS];
    int64_t where_stride;
    int64_t out_stride; /* of a kept axis */
} tally_axis;

/*
 * An array to reduce. Item (i, j, ...) of input k is at in_offset[k] + i * axes[0].in_stride[k] + j
 * * axes[1].in_stride[k] + ... A segment takes its items in C order of the reduced axes, the last
 * one fastest; an index is counted in that order.
 */
typedef struct tally_axes_args {
    size_t size; /* sizeof(tally_axes_args) */
    const tally_axis *axes;
    uint32_t axis_count; /* 0: one item */
    /* 1: results lie as out_stride says. 0: they lie in C order of the kept axes. */
    int out_strided;
    const tally_buffer *in[TALLY_MAX_INPUTS];
    uint64_t in_offset[TALLY_MAX_INPUTS]; /* of the item whose indices are all 0 */
    const tally_buffer *where;            /* NULL without TALLY_WHERE */
    uint64_t where_offset;
    tally_buffer *out[TALLY_MAX_TERMS];
    uint64_t out_offset[TALLY_MAX_TERMS]; /* in results: of the segment whose indices are all 0 */
} tally_axes_args;

/*
 * Enqueues the reduction along the axes with `reduced`. Allocates nothing and does not wait. The
 * buffers stay the caller's; args and axes may go when it returns. A reduced axis of extent 0 gives
 * values for no items; a kept one gives nothing.
 * On a GPU a plan whose max_segments is 1 compiles tally_reduce's kernels too, unless it has flags
 * or an initial value. A call whose items lie side by side, in C order, from a multiple of 16 bytes
 * on, is then as fast as tally_reduce.
 * Errors: E_ARGUMENT as tally_reduce_with; for extents whose product overflows 64 bits, axes whose
 * items or results lie outside a buffer, results that overlap the input or each other (sorted by
 * stride, each stride must pass over all results of the smaller ones).
 */
TALLY_API tally_status tally_reduce_axes(tally_plan *plan, tally_queue *queue, const tally_axes_args *args);

/* ---- by offsets ------------------------------------------------------------------------------ */

/* Segments by offsets. Segment s is the items begins[s] to ends[s] - 1 of each input. */
typedef struct tally_offsets_args {
    size_t size; /* sizeof(tally_offsets_args) */
    uint64_t count;
    const tally_buffer *begins, *ends; /* ends NULL: begins has count + 1 entries, and segment s ends
                                        * where segment s + 1 begins; both NULL: the plan's own, of
                                        * tally_plan_keep_offsets */
    uint64_t begins_offset, ends_offset;
    const tally_buffer *in[TALLY_MAX_INPUTS];
    uint64_t in_offset[TALLY_MAX_INPUTS], n; /* n: items that the offsets may name */
    const tally_buffer *where;               /* n u8s; NULL without TALLY_WHERE */
    uint64_t where_offset;
    tally_buffer *out[TALLY_MAX_TERMS]; /* `count` results each */
    uint64_t out_offset[TALLY_MAX_TERMS];
} tally_offsets_args;

/*
 * Enqueues the reduction of `count` segments. They may be empty, overlap and come in any order. A
 * segment must not begin before item 0, end before it begins, nor end beyond n.
 * Checks the offsets first, and waits for that: E_ARGUMENT names the first segment that is wrong,
 * and nothing is written. With TALLY_UNCHECKED it does not wait, and such a segment is undefined
 * behaviour. Allocates nothing.
 * Errors: E_ARGUMENT as tally_reduce_with, and the above; E_DEVICE.
 */
TALLY_API tally_status tally_reduce_offsets(tally_plan *plan, tally_queue *queue, const tally_offsets_args *args);

/*
 * Gives the plan offsets of its own, for many calls with the same ones: copies and checks them, and
 * lists the chunks of long segments. A later tally_reduce_offsets with `begins` and `ends` NULL
 * takes them, and neither checks nor waits. Its count and n must be the same.
 * This call reads count, n, begins, ends and their offsets from args. The caller's buffers may
 * change afterwards. Earlier offsets of the plan are replaced; if the call fails they stay. Graphs
 * that were captured before it must not be launched again.
 * Blocks: waits for the queue. Takes device memory for the offsets and the list
 * (tally_plan_workspace_bytes), and host memory for the time of the call.
 * Errors: E_ARGUMENT as tally_reduce_offsets, also with TALLY_UNCHECKED; E_MEMORY; E_DEVICE.
 */
TALLY_API tally_status tally_plan_keep_offsets(tally_plan *plan, tally_queue *queue, const tally_offsets_args *args);

/* ---- by keys --------------------------------------------------------------------------------- */

/* Runs of equal neighbouring keys. Keys are equal if their bytes are. */
typedef struct tally_keys_args {
    size_t size;              /* sizeof(tally_keys_args) */
    const tally_buffer *keys; /* n keys, at any address */
    uint64_t keys_offset;     /* in keys */
    const tally_buffer *in[TALLY_MAX_INPUTS];
    uint64_t in_offset[TALLY_MAX_INPUTS], n;
    const tally_buffer *where;
    uint64_t where_offset;
    uint64_t capacity;      /* runs that the outputs have room for; max_segments at most */
    tally_buffer *out_keys; /* each run's key; NULL: not wanted */
    uint64_t out_keys_offset;
    tally_buffer *out[TALLY_MAX_TERMS]; /* each run's result */
    uint64_t out_offset[TALLY_MAX_TERMS];
    tally_buffer *lengths; /* each run's number of items, a u64; NULL: not wanted */
    uint64_t lengths_offset;
    tally_buffer *runs; /* the number of runs, one u64, also where it is above the capacity */
    uint64_t runs_offset;
} tally_keys_args;

/*
 * Enqueues the reduction of each run of equal keys, in the order of the runs. Runs beyond the
 * capacity are not written, but `runs` counts them. Allocates nothing.
 * Without TALLY_UNCHECKED it waits. It then fails with E_ARGUMENT if the capacity is too small: the
 * text has the number of runs, and the runs that fit are written.
 * Errors: E_ARGUMENT as tally_reduce_with, and the above; E_DEVICE.
 */
TALLY_API tally_status tally_reduce_keys(tally_plan *plan, tally_queue *queue, const tally_keys_args *args);

/* ---- host arrays ----------------------------------------------------------------------------- */

/* A host array to reduce: pointers to the items whose indices are all 0. */
typedef struct tally_host_axes {
    size_t size; /* sizeof(tally_host_axes) */
    const tally_axis *axes;
    uint32_t axis_count;
    int out_strided;
    const void *in[TALLY_MAX_INPUTS];
    const uint8_t *where;
    void *out[TALLY_MAX_TERMS];
} tally_host_axes;

/*
 * Reduces a host array along axes. desc->by may be 0; max_n and max_segments are ignored. Blocks.
 * An array that the device cannot hold goes through it in pieces along the kept axes.
 * Errors: as tally_segments_plan_create and tally_reduce_axes; E_MEMORY where the bytes from the
 * first to the last item of one segment do not fit.
 */
TALLY_API tally_status tally_reduce_host_axes(tally_context *context, const tally_segments_desc *desc,
                                              const tally_host_axes *array);

#ifdef __cplusplus
}
#endif

#endif
