/* SPDX-License-Identifier: MIT */
/*
 * tally/reduce.h: plans, reductions of device memory and of host arrays, feeds.
 */
#ifndef TALLY_API_REDUCE_H
#define TALLY_API_REDUCE_H

#include <tally/ops.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tally_plan tally_plan;
typedef struct tally_feed tally_feed;

/* ---- variants -------------------------------------------------------------------------------- */

/* A variant: one way to reduce. */
typedef struct tally_variant_info {
    const char *name;       /* what tally_reduce_desc.variant takes */
    const char *stem;       /* its kernels: kernels_cl/STEM.cl and backends/cuda/kernels/STEM.cu */
    const char *step;       /* the step of the ladder of optimisations that it shows */
    const char *source;     /* the lecture documents' kernels that it is; "" for tally's own */
    const char *finish;     /* how the groups' values become one: "second stage", "atomic", "host" */
    const char *why;        /* why it exists */
    uint32_t group_threads; /* threads of a group */
    uint32_t factor;        /* its default factor; 0: it has none */
    int canonical;          /* 1 when it combines in the canonical order (docs/numerics.md) */
} tally_variant_info;

TALLY_API size_t tally_variant_count(void);
/* Errors: E_ARGUMENT for an index that is not below tally_variant_count(). Static texts. */
TALLY_API tally_status tally_variant_get(size_t index, tally_variant_info *out);

/* ---- plans ----------------------------------------------------------------------------------- */

/*
 * The descriptor of a reduction. Zeroed members mean their defaults. A larger size is refused, a
 * smaller one filled with defaults. One op takes op (or custom), out, acc and accuracy, which have
 * the meaning of tally_term_desc. Several ops that share a pass, built-in or custom, take terms.
 */
typedef struct tally_reduce_desc {
    size_t size; /* sizeof(tally_reduce_desc) */
    tally_op op;
    tally_dtype in; /* the items' type */
    tally_dtype out;
    uint64_t max_n;         /* the most items of a call; 0: as many as the device can hold */
    const char *variant;    /* a name of tally_variant_get; NULL, "auto": the device class's default */
    uint32_t group_threads; /* threads of a group, a power of two; 0: the variant's. A canonical
                           * variant's results do not depend on it */
    uint32_t factor;        /* items that each thread combines first, for variants with a factor; 0:
                           * the variant's */
    tally_dtype acc;
    tally_accuracy accuracy;
    tally_custom_op *custom;
    const tally_term_desc *terms; /* of as many inputs each; op, custom, out, acc, accuracy: then 0 */
    uint32_t term_count;          /* TALLY_MAX_TERMS at most */
} tally_reduce_desc;

/*
 * Compiles the reduction, or finds it in the cache, and takes all the memory that it will need: for
 * a canonical variant at most 4 MiB + max_n / 512 bytes of device memory; tree_global takes an
 * accumulator for each item, most of the memory where max_n is 0; host_finish takes one for each
 * group. Blocks.
 * Errors: E_ARGUMENT for a descriptor that makes no sense, an unknown variant (the text lists
 * them); E_UNSUPPORTED when the device cannot run it (no f64, groups too large, too little local
 * memory, no such atomics); E_BUILD; E_MEMORY.
 */
TALLY_API tally_status tally_plan_create(tally_context *context, const tally_reduce_desc *desc, tally_plan **out);
TALLY_API void tally_plan_destroy(tally_plan *plan);

/* The variant that the plan runs: static text. */
TALLY_API const char *tally_plan_variant(const tally_plan *plan);
/* The most combinations that any one of n items passes through: the k of the bound on a float sum's
 * error (docs/numerics.md). */
TALLY_API uint64_t tally_plan_depth(const tally_plan *plan, uint64_t n);
/* The result's bytes, and where in it the value `index` is. Values are laid out as the members of a
 * C struct, in the order of the terms; a result of several values is a struct itself, in the order
 * of its values. Padding is zeros. 0 beyond the last value. */
TALLY_API uint64_t tally_plan_result_bytes(const tally_plan *plan);
typedef struct tally_result_info {
    tally_dtype dtype;
    uint32_t offset; /* bytes */
    uint32_t term;   /* the index of its term in desc.terms; 0 for a single op */
} tally_result_info;
TALLY_API int tally_plan_result(const tally_plan *plan, uint32_t index, tally_result_info *result);
/* Sets a parameter of all the plan's ops that have one of this name, for the calls that follow;
 * nothing is compiled. Errors: E_ARGUMENT for a name that none of them has (the text lists those
 * there are), and for a value that one of the parameters cannot hold, being an integer: none is
 * changed then. */
TALLY_API tally_status tally_plan_set_param(tally_plan *plan, const char *name, double value);
/* Device memory that the plan holds, in bytes. */
TALLY_API uint64_t tally_plan_workspace_bytes(const tally_plan *plan);

/* Where a reduction's items are, and where its result goes. Offsets are in items and in results: no
 * alignment beyond an item's own is needed. A result of several values (minmax) is one result. */
typedef struct tally_reduce_args {
    size_t size;                              /* sizeof(tally_reduce_args) */
    const tally_buffer *in[TALLY_MAX_INPUTS]; /* as many as the plan has inputs; n items of each */
    uint64_t in_offset[TALLY_MAX_INPUTS];
    uint64_t n;
    tally_buffer *out;
    uint64_t out_offset;
} tally_reduce_args;

/*
 * Enqueues the reduction of n items into one result: no allocation, no waiting (but the variant
 * host_finish waits for its partials). n = 0 gives the op's value for no items. A plan must not run
 * on two queues at once.
 * Errors: E_ARGUMENT for NULL, handles of another context, n above max_n, a range outside a buffer,
 * input and output that overlap.
 */
TALLY_API tally_status tally_reduce_with(tally_plan *plan, tally_queue *queue, const tally_reduce_args *args);
/* The same for one input, from its first item on, and the first result of `out`. */
TALLY_API tally_status tally_reduce(tally_plan *plan, tally_queue *queue, const tally_buffer *in, uint64_t n,
                                    tally_buffer *out);

/* ---- host arrays and feeds ------------------------------------------------------------------- */

/*
 * Reduces a host array of n items, for any n. *result is tally_result_count values of type
 * tally_result_dtype(op, dtype). Blocks. Items that the device cannot hold are streamed through it.
 * A device with host_memory uses the array in place. On a CPU the library's own programs and
 * threads reduce it (docs/backends.md, "The backend host"), to the same bits, without a call of the
 * driver. Elsewhere the context keeps plan, queue and memory of the last calls (at most 8, of 320
 * MiB; tally_context_describe counts them) until it is destroyed or gets new tunings. A later call
 * of the same kind and of about as many items then makes nothing. Threads may share the context.
 */
TALLY_API tally_status tally_reduce_host(tally_context *context, tally_op op, tally_dtype dtype, const void *items, uint64_t n,
                                         void *result);

/* The same for any descriptor (max_n is ignored): one array for each input, the result laid out as
 * tally_plan_result says. The device reduces it wherever the descriptor has more than op and in
 * (variant "auto", say). A variant that is not canonical takes no input in pieces: all of it must
 * fit the device. Errors also: E_MEMORY where it does not. */
TALLY_API tally_status tally_reduce_host_inputs(tally_context *context, const tally_reduce_desc *desc, const void *const *items,
                                                uint64_t n, void *result);

/*
 * A feed reduces host items that come in pieces, in order, of any lengths: a file, a pipe, more
 * than the device can hold. The bits are those of one tally_reduce over all of them. Copies overlap
 * kernels. desc->max_n is the number of items that the staging holds (0: 32 MiB worth);
 * desc->variant must be canonical.
 */
TALLY_API tally_status tally_feed_create(tally_context *context, const tally_reduce_desc *desc, tally_feed **out);
/* Adds n items; `items` may be reused when it returns. */
TALLY_API tally_status tally_feed_push(tally_feed *feed, const void *items, uint64_t n);
/* Adds the last n items (NULL and 0 if there are none), waits, writes the result, and makes the
 * feed ready for a new start. */
TALLY_API tally_status tally_feed_finish(tally_feed *feed, const void *items, uint64_t n, void *result);
/* The same for several inputs: one array for each, n items of each. */
TALLY_API tally_status tally_feed_push_inputs(tally_feed *feed, const void *const *items, uint64_t n);
TALLY_API tally_status tally_feed_finish_inputs(tally_feed *feed, const void *const *items, uint64_t n, void *result);
/* The feed's plan, for tally_plan_result, tally_plan_set_param and the like; it stays the
 * feed's. */
TALLY_API tally_plan *tally_feed_plan(tally_feed *feed);
TALLY_API void tally_feed_destroy(tally_feed *feed);

#ifdef __cplusplus
}
#endif

#endif
