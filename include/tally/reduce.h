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
    const char *source;     /* the kernels of the lecture documents that it follows; "": tally's own */
    const char *finish;     /* how groups' partials are combined: "second stage", "atomic", "host" */
    const char *why;        /* why it exists */
    uint32_t group_threads; /* threads of a group */
    uint32_t factor;        /* its default factor; 0: it has none */
    int canonical;          /* 1 when it combines in the canonical order (docs/numerics.md) */
} tally_variant_info;

/* Returns the number of variants of reductions. */
TALLY_API size_t tally_variant_count(void);
/* Describes variant `index` in *out. Static texts. Errors: E_ARGUMENT for NULL and for an index
 * that is not below tally_variant_count(). */
TALLY_API tally_status tally_variant_get(size_t index, tally_variant_info *out);

/* ---- plans ----------------------------------------------------------------------------------- */

/*
 * A reduction to plan. A zeroed member means its default, and so does a member beyond `size`. One
 * op is given by op (or custom), out, acc and accuracy, as in tally_term_desc. Several ops in one
 * pass, built-in or custom, are given by terms.
 */
typedef struct tally_reduce_desc {
    size_t size; /* sizeof(tally_reduce_desc) */
    tally_op op;
    tally_dtype in; /* the items' type */
    tally_dtype out;
    uint64_t max_n;         /* the most items of a call; 0: as many as the device can hold. It also chooses
                           * groups and loads of launches: for small inputs give their size */
    const char *variant;    /* a name of tally_variant_get; NULL, "auto": the device class's default */
    uint32_t group_threads; /* threads of a group: a power of two from 32 to 1,024, on CPUs 1 for the
                           * default variant; 0: the variant's. A canonical variant's results do not
                           * depend on it */
    uint32_t factor;        /* for variants with a factor: items that each thread combines first; 0:
                           * the variant's */
    tally_dtype acc;
    tally_accuracy accuracy;
    tally_custom_op *custom;
    const tally_term_desc *terms; /* of as many inputs each; op, custom, out, acc, accuracy: then 0 */
    uint32_t term_count;          /* TALLY_MAX_TERMS at most */
} tally_reduce_desc;

/*
 * Compiles the reduction, or finds it in the cache, and allocates all the memory that it needs. A
 * canonical variant takes at most 4 MiB + max_n / 512 bytes of device memory. tree_global takes an
 * accumulator for each item, which is most of the memory where max_n is 0; host_finish takes one
 * for each group. Blocks. The caller destroys the plan.
 * Errors: E_ARGUMENT for a descriptor that makes no sense and for an unknown variant (the text
 * lists the variants); E_UNSUPPORTED if the device cannot run it (no f64, groups too large, too
 * little local memory, atomics missing); E_BUILD; E_MEMORY; E_DEVICE.
 */
TALLY_API tally_status tally_plan_create(tally_context *context, const tally_reduce_desc *desc, tally_plan **out);
/* Destroys a plan of any kind. Its enqueued work must have ended. */
TALLY_API void tally_plan_destroy(tally_plan *plan);

/* Returns the name of the variant that the plan runs. Static text. */
TALLY_API const char *tally_plan_variant(const tally_plan *plan);
/* Returns the most combinations that any one of n items passes through: the k of the bound on a
 * float sum's error (docs/numerics.md). */
TALLY_API uint64_t tally_plan_depth(const tally_plan *plan, uint64_t n);
/* Returns the bytes of a result. */
TALLY_API uint64_t tally_plan_result_bytes(const tally_plan *plan);
/* The place of a value in a result. */
typedef struct tally_result_info {
    tally_dtype dtype;
    uint32_t offset; /* in bytes */
    uint32_t term;   /* the index of its term in desc.terms; 0 for a single op */
} tally_result_info;
/* Finds value `index` of a result, and returns 1; 0 beyond the last value. Values lie as the
 * members of a C struct, in the order of the terms. A term with several values is a struct itself.
 * Padding is zeros. */
TALLY_API int tally_plan_result(const tally_plan *plan, uint32_t index, tally_result_info *result);
/* Sets the parameter `name` for later calls, in all ops of the plan that have it. Compiles nothing.
 * A parameter of an integer type drops the fraction; integers beyond 2^53 are rounded, as an f64
 * is. Errors: E_ARGUMENT for a name that no op has (the text lists the names), and for a value
 * beyond an integer type's range. After an error no parameter has changed. */
TALLY_API tally_status tally_plan_set_param(tally_plan *plan, const char *name, double value);
/* Returns the device memory that the plan holds, in bytes. */
TALLY_API uint64_t tally_plan_workspace_bytes(const tally_plan *plan);

/* The places of a reduction's items and of its result. Offsets are in items and in results; any
 * offset is allowed. A result of several values (minmax) is one result. */
typedef struct tally_reduce_args {
    size_t size;                              /* sizeof(tally_reduce_args) */
    const tally_buffer *in[TALLY_MAX_INPUTS]; /* as many as the plan has inputs; n items of each */
    uint64_t in_offset[TALLY_MAX_INPUTS];
    uint64_t n;
    tally_buffer *out; /* one result, tally_plan_result_bytes bytes */
    uint64_t out_offset;
} tally_reduce_args;

/*
 * Enqueues the reduction of n items into one result. Allocates nothing and does not wait, except
 * that the variant host_finish waits for its partials. The buffers stay the caller's. n = 0 gives
 * the op's value for no items. A plan must not run on two queues at once.
 * Errors: E_ARGUMENT for NULL, handles of another context, n above max_n, a range outside a buffer,
 * and an input that overlaps the output; E_DEVICE.
 */
TALLY_API tally_status tally_reduce_with(tally_plan *plan, tally_queue *queue, const tally_reduce_args *args);
/* Enqueues the reduction of the first n items of `in` into the first result of `out`, for a plan of
 * one input. Errors: as tally_reduce_with. */
TALLY_API tally_status tally_reduce(tally_plan *plan, tally_queue *queue, const tally_buffer *in, uint64_t n,
                                    tally_buffer *out);

/* ---- host arrays and feeds ------------------------------------------------------------------- */

/*
 * Reduces a host array of n items, for any n. `result` gets tally_result_count(op, dtype) values of
 * type tally_result_dtype(op, dtype). Blocks. Threads may share the context.
 *
 * On a CPU device with host_memory, programs and threads of the library's own reduce the array in
 * place (docs/backends.md, "The backend host"), to the same bits, without a call of the driver. On
 * other devices, items that do not fit the device are streamed through it. The context keeps plan,
 * queue and memory of the last calls, at most 8 and at most 320 MiB (tally_context_describe counts
 * them), until it is destroyed or gets new tunings. A later call of the same kind and of about as
 * many items reuses them.
 *
 * Errors: as tally_plan_create; E_ARGUMENT for NULL and for an op of two inputs; E_DEVICE.
 */
TALLY_API tally_status tally_reduce_host(tally_context *context, tally_op op, tally_dtype dtype, const void *items, uint64_t n,
                                         void *result);

/* Reduces host arrays by any descriptor, as tally_reduce_host does: one array of n items for each
 * input. max_n is ignored. `result` is laid out as tally_plan_result says. Blocks. If the
 * descriptor gives more than op and in (even variant "auto"), the device reduces. A variant that is
 * not canonical takes no input in pieces. Errors: as tally_reduce_host; E_MEMORY also if such a
 * variant's input does not fit the device. */
TALLY_API tally_status tally_reduce_host_inputs(tally_context *context, const tally_reduce_desc *desc, const void *const *items,
                                                uint64_t n, void *result);

/*
 * Makes a feed. It reduces host items that come in pieces of any length, in order: a file, a pipe,
 * more items than the device can hold. The result has the bits of one tally_reduce over all of
 * them. Copies overlap kernels. desc->max_n is the number of items that the staging holds (0: 32
 * MiB worth). Blocks. The caller destroys the feed.
 * Errors: as tally_plan_create; E_UNSUPPORTED for a variant that is not canonical.
 */
TALLY_API tally_status tally_feed_create(tally_context *context, const tally_reduce_desc *desc, tally_feed **out);
/* Adds n items to a feed of one input. `items` may be reused when it returns. It may wait for
 * earlier pieces. Errors: E_ARGUMENT; E_MEMORY and E_DEVICE, after which the feed is empty. */
TALLY_API tally_status tally_feed_push(tally_feed *feed, const void *items, uint64_t n);
/* Adds the last n items (NULL and 0 if there are none), and writes the result, laid out as
 * tally_plan_result says. Blocks. The feed is then empty, and may be used again. Errors: as
 * tally_feed_push. */
TALLY_API tally_status tally_feed_finish(tally_feed *feed, const void *items, uint64_t n, void *result);
/* Do the same for several inputs: one array for each, n items of each. */
TALLY_API tally_status tally_feed_push_inputs(tally_feed *feed, const void *const *items, uint64_t n);
TALLY_API tally_status tally_feed_finish_inputs(tally_feed *feed, const void *const *items, uint64_t n, void *result);
/* Returns the feed's plan, for tally_plan_result, tally_plan_set_param and the like. It stays the
 * feed's. NULL for NULL. */
TALLY_API tally_plan *tally_feed_plan(tally_feed *feed);
/* Destroys the feed. */
TALLY_API void tally_feed_destroy(tally_feed *feed);

#ifdef __cplusplus
}
#endif

#endif
