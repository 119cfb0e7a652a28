/* SPDX-License-Identifier: MIT */
/* reduce.h: reductions: their variants, how they are launched, their plans. */
#ifndef TALLY_SRC_REDUCE_H
#define TALLY_SRC_REDUCE_H

#include "program/program.h"

/* ---- variants.c ---------------------------------------------------------------------------------------------------- */

/* What a group of a variant owns. */
typedef enum tally_shape {
    TALLY_SHAPE_CHUNKS,  /* group_items / 32 chunks */
    TALLY_SHAPE_RUN,     /* a run of chunks that the planner chooses; one thread */
    TALLY_SHAPE_SEGMENT, /* a tile of group_items * items_per_item * factor items */
    TALLY_SHAPE_GRID     /* what a grid that fills the device leaves it */
} tally_shape;

/* How the groups' partials become one. */
typedef enum tally_stage {
    TALLY_STAGE_SECOND,  /* a partial each, combined by a second launch */
    TALLY_STAGE_SCRATCH, /* the same, with workspace of an accumulator for each thread behind the partials */
    TALLY_STAGE_ATOMIC,  /* by atomics on one accumulator */
    TALLY_STAGE_HOST     /* a partial each, combined on the host: the call blocks */
} tally_stage;

typedef struct tally_variant {
    tally_variant_info info;
    tally_shape shape;
    tally_stage stage;
    unsigned classes; /* bit 1 << tally_device_class: where it makes sense */
    uint32_t min_group_items, max_group_items;
    unsigned together; /* classes where, if memory is ordered between groups, the last of them finishes: no second launch */
    unsigned features; /* bit i: its kernels use feature i, where the device has it */
    uint32_t items_per_item;     /* TALLY_SHAPE_SEGMENT */
    uint32_t local_accumulators; /* local memory: this many accumulators for each 32 threads */
    bool overlaps;               /* tally_program_desc.overlaps */
    bool ladder;                 /* its kernels build on the stem "ladder" */
} tally_variant;

const char *tally_stage_name(tally_stage stage);
const tally_variant *tally_variant_row(size_t index);
/* The row of that name; NULL and "auto" give the default of the device's class. */
tally_status tally_variant_find(const char *name, const tally_device_info *device, const tally_variant **out);

/* ---- launch.c ------------------------------------------------------------------------------------------------------ */

/* How a reduction is launched: nothing of what it computes. */
typedef struct tally_launch {
    const tally_variant *variant;
    uint32_t group_items, factor;
    tally_tuning tuning;
} tally_launch;

/* Copies a descriptor, filling what it lacks with defaults. Errors: E_ARGUMENT. */
tally_status tally_reduce_desc_copy(const tally_reduce_desc *given, tally_reduce_desc *desc);
/* Resolves a whole descriptor for a device and its own tunings (NULL: none). On success the caller closes the terms. */
tally_status tally_reduce_resolve(const tally_device_info *device, const tally_tunings *tunings, tally_reduce_desc *desc,
                                  tally_terms *terms, tally_launch *launch);
/* Errors: E_UNSUPPORTED, with the reason, when the device cannot run the launch with the terms' accumulator. */
tally_status tally_launch_check(const tally_device_info *device, const tally_terms *terms, const tally_launch *launch);
tally_recipe tally_launch_recipe(const tally_launch *launch);
/* Threads of a group that share a chunk, so that each loads 16 bytes. */
uint32_t tally_chunk_team(size_t item_bytes);

/* ---- plan.c, reduce.c ---------------------------------------------------------------------------------------------- */

extern const tally_plan_kind tally_reduce_kind;

typedef struct tally_reduce_plan {
    tally_plan base;
    tally_launch launch;
    uint64_t run;   /* chunks of a group; TALLY_SHAPE_RUN: 0 to choose by n */
    bool together;  /* the last group of a launch finishes; the workspace's first slot counts them, and is 0 between launches */
    uint64_t slice; /* items reduced at a time, a power of two of chunks, so that the workspace is bounded; 0: all */
    void *partials_kernel, *finish_kernel, *init_kernel;
    tally_buffer *workspace;
    tally_buffer *slices; /* an accumulator for each slice; NULL: there are none */
    void *host;           /* TALLY_STAGE_HOST: the partials */
} tally_reduce_plan;

/* Makes a reduction's plan: tally_plan_create without the checks of handles. */
tally_status tally_reduce_plan_create(tally_context *context, const tally_reduce_desc *given, tally_reduce_plan **out);

/* Groups and chunks per group (of the canonical shapes) for n items. */
typedef struct tally_geometry {
    uint64_t groups, run;
} tally_geometry;

tally_geometry tally_reduce_geometry(const tally_reduce_plan *plan, uint64_t n);

/* What the groups of tally_partials leave: a partial each; the result, by the only group there is; a partial each and, by the last
 * of them that is done, the result. The kernels' argument `last`. */
enum { TALLY_LAST_NONE, TALLY_LAST_ALONE, TALLY_LAST_TOGETHER };

/* Where a stage writes: a slot of accumulators, or (result) the finished value at an item offset. */
typedef struct tally_target {
    void *mem;
    uint64_t offset;
    bool result;
} tally_target;

/* Where items are: of each input the memory and the offset of the first, in items. `base` is that item's index in the whole input. */
typedef struct tally_source {
    void *mem[TALLY_MAX_INPUTS];
    uint64_t offset[TALLY_MAX_INPUTS];
    uint64_t base;
} tally_source;

/* Enqueue one stage each. to.result needs a single group in tally_reduce_partials. `together`: where the last of the groups puts the
 * result; NULL: nowhere. `n` of tally_reduce_finish: items in the whole input. */
tally_status tally_reduce_partials(tally_reduce_plan *plan, void *queue, const tally_source *in, uint64_t n,
                                   tally_geometry geometry, tally_target to, const tally_target *together);
tally_status tally_reduce_finish(tally_reduce_plan *plan, void *queue, void *partials, uint64_t count, uint64_t n,
                                 tally_target to);

/* ---- feed.c, kept.c ------------------------------------------------------------------------------------------------- */

#define TALLY_FEED_ITEMS (UINT64_MAX / 16)   /* that a call takes at most */
#define TALLY_FEED_STAGING_BYTES (32u << 20) /* of each input, where the descriptor does not say */

/* Counts the feed's objects, each of which holds the context, and their bytes. */
void tally_feed_measure(const tally_feed *feed, uint32_t *references, uint64_t *bytes);

/* A feed of calls with host arrays, and the descriptor that it was made for. */
typedef struct tally_kept {
    tally_feed *feed;
    tally_reduce_desc desc; /* its pointers are NULL but `custom`, which the plan retains */
    tally_term_desc terms[TALLY_MAX_TERMS];
    char variant[32];
    uint64_t tunings;    /* changes of the context's tunings before it was made */
    uint32_t references; /* its objects: each holds the context */
    uint64_t bytes;
} tally_kept;

/* The set holds the feeds that no call uses, the one used last at the end: so many at most, of so
 * many bytes. A feed of two inputs that streams takes 257 MiB where memory is the device's own. */
#define TALLY_KEPT_FEEDS 8
#define TALLY_KEPT_BYTES (UINT64_C(320) << 20)
typedef struct tally_kept_set {
    pthread_mutex_t lock; /* guards the rest */
    tally_kept idle[TALLY_KEPT_FEEDS];
    uint32_t count;
    uint64_t bytes, tunings, made, reused;
} tally_kept_set;

/* Takes a feed for the descriptor, whose max_n is no default: a kept one, or a new one. The call gives it back. */
tally_status tally_kept_take(tally_context *context, const tally_reduce_desc *desc, tally_kept *out);
/* Keeps the feed for calls to come if it is sound; the oldest ones make room for it. */
void tally_kept_give(tally_context *context, tally_kept *kept, bool sound);

/* ---- host_plan.c --------------------------------------------------------------------------------------------------- */

/* Tells whether the descriptor names a variant that does not combine in the canonical order, which no feed takes. */
bool tally_host_needs_plan(const tally_context *context, const tally_reduce_desc *desc);
/* Reduces host arrays, one for each input, by a plan, with the whole input in the device's memory.
 * Blocks. Errors: E_MEMORY where it does not fit. */
tally_status tally_host_by_plan(tally_context *context, const tally_reduce_desc *desc, const void *const *items, uint64_t n,
                                void *result);

/* ---- host functions: made by the build and by src/host ------------------------------------------------------------- */

/* Which of an op's rows. */
typedef enum tally_row_level { TALLY_ROW_PLAIN, TALLY_ROW_COMPLEX, TALLY_ROW_COMPENSATED, TALLY_ROW_LEVELS } tally_row_level;
/* Combines two accumulators of a row into the left one. */
typedef void (*tally_host_combiner)(void *left, const void *right);
/* By level, op and V; NULL: there is none. */
extern const tally_host_combiner tally_host_combiners[TALLY_ROW_LEVELS][TALLY_OP_END][TALLY_DTYPE_END];
/* Tells whether there are functions for all terms: not for custom ops. */
bool tally_host_can_combine(const tally_terms *terms);
/* Combines `count` accumulators in sequence, into the first. */
void tally_host_combine(const tally_terms *terms, void *accumulators, uint64_t count);
/* Reduces few items on the calling thread; false: this is not such a reduction, and nothing was done. */
bool tally_host_reduce(const tally_context *context, const tally_reduce_desc *desc, const void *const *items, uint64_t n,
                       void *result);

#endif
