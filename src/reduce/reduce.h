/* SPDX-License-Identifier: MIT */
/* reduce.h: variants, launches and plans of reductions; host arrays and feeds. */
#ifndef TALLY_SRC_REDUCE_H
#define TALLY_SRC_REDUCE_H

#include "program/program.h"

/* ---- variants.c ------------------------------------------------------------------------------ */

/* The tile of a group. */
typedef enum tally_shape {
    TALLY_SHAPE_CHUNKS, /* group_threads / tally_chunk_team() chunks */
    TALLY_SHAPE_RUN,    /* a run of chunks, chosen by the planner; the group is one thread */
    TALLY_SHAPE_TILE,   /* group_threads * thread_items * factor items */
    TALLY_SHAPE_GRID    /* the group's share of a grid that fills the device */
} tally_shape;

/* The way from the groups' partials to one. */
typedef enum tally_stage {
    TALLY_STAGE_SECOND,  /* each group writes a partial; a second launch combines them */
    TALLY_STAGE_SCRATCH, /* the same; an accumulator for each thread lies behind the partials */
    TALLY_STAGE_ATOMIC,  /* atomics on one accumulator */
    TALLY_STAGE_HOST     /* each group writes a partial; the host combines them: it blocks */
} tally_stage;

typedef struct tally_variant {
    tally_variant_info info;
    tally_shape shape;
    tally_stage stage;
    unsigned classes; /* bit 1 << tally_device_class: where it makes sense */
    uint32_t min_group_threads, max_group_threads;
    /* Classes where the last group finishes, without a second launch, if memory is ordered between
     * groups. */
    unsigned together;
    unsigned features;           /* bit i: its kernels use feature i if the device has it */
    uint32_t thread_items;       /* TALLY_SHAPE_TILE */
    uint32_t local_accumulators; /* accumulators of local memory for each 32 threads */
    bool overlaps;               /* tally_program_desc.overlaps */
    bool ladder;                 /* its kernels include the stem "ladder" */
} tally_variant;

const char *tally_stage_name(tally_stage stage);
const tally_variant *tally_variant_row(size_t index);
/* Finds a variant by name; NULL and "auto" give the default of the device's class. Errors:
 * E_ARGUMENT for an unknown name; the text lists the names. */
tally_status tally_variant_find(const char *name, const tally_device_info *device, const tally_variant **out);

/* ---- launch.c -------------------------------------------------------------------------------- */

/* How a reduction is launched; nothing about what it computes. */
typedef struct tally_launch {
    const tally_variant *variant;
    uint32_t group_threads, factor;
    tally_tuning tuning;
} tally_launch;

/* Copies a descriptor and fills missing members with defaults. Errors: E_ARGUMENT. */
tally_status tally_reduce_desc_copy(const tally_reduce_desc *given, tally_reduce_desc *desc);
/* Resolves a whole descriptor for a device with its own tunings (NULL: none). On success the caller
 * closes the terms. */
tally_status tally_reduce_resolve(const tally_device_info *device, const tally_tunings *tunings, tally_reduce_desc *desc,
                                  tally_terms *terms, tally_launch *launch);
/* Checks that the device can run the launch with the terms' accumulator. Errors: E_UNSUPPORTED with
 * the reason; E_ARGUMENT for a group of a wrong size. */
tally_status tally_launch_check(const tally_device_info *device, const tally_terms *terms, const tally_launch *launch);
/* Return the recipes of the programs with tally_partials (and tally_init) and with tally_finish. */
tally_recipe tally_launch_recipe(const tally_launch *launch);
tally_recipe tally_finish_recipe(const tally_launch *launch);
/* Returns how many threads share a chunk, so that each loads 16 bytes at a time. */
uint32_t tally_chunk_team(size_t item_bytes);

/* ---- plan.c, reduce.c ------------------------------------------------------------------------ */

extern const tally_plan_kind tally_reduce_kind;

typedef struct tally_reduce_plan {
    tally_plan base;
    tally_launch launch;
    uint64_t run; /* chunks of a group; 0: chosen for each n (TALLY_SHAPE_RUN) */
    /* The last group of a launch finishes: the first slots of the workspace count the groups that
     * have ended, and are 0 between launches. 0: there are none, and a second launch finishes. */
    uint64_t counter_slots;
    /* Items of a slice, a power of two of chunks; 0: no slices. Slices are reduced one after the
     * other, so that the workspace is bounded. */
    uint64_t slice;
    void *partials_kernel, *init_kernel;
    void *finish_kernel; /* NULL until it is needed, which most plans never do */
    tally_buffer *workspace;
    tally_buffer *slices;       /* an accumulator for each slice; NULL without slices */
    void *host;                 /* the partials, for TALLY_STAGE_HOST */
    struct tally_part_kit *kit; /* what parts need (src/parts/kit.c); NULL before the first */
    void (*close_kit)(struct tally_reduce_plan *plan);
    uint64_t kit_bytes; /* of device memory that the kit holds */
} tally_reduce_plan;

/* Makes a reduction's plan. The same as tally_plan_create without the checks of handles. */
tally_status tally_reduce_plan_create(tally_context *context, const tally_reduce_desc *given, tally_plan **out);

/* Compiles the second stage, unless it is there. */
tally_status tally_reduce_open_finish(tally_reduce_plan *plan);

/* The groups for n items, and the chunks of each (canonical shapes). */
typedef struct tally_geometry {
    uint64_t groups, run;
} tally_geometry;

tally_geometry tally_reduce_geometry(const tally_reduce_plan *plan, uint64_t n);

/* The arguments of tally_partials behind the inputs and their offsets, in their order. */
enum {
    TALLY_REDUCE_ARG_PARAMS,
    TALLY_REDUCE_ARG_BASE,
    TALLY_REDUCE_ARG_N,
    TALLY_REDUCE_ARG_RUN,
    TALLY_REDUCE_ARG_PARTIALS,
    TALLY_REDUCE_ARG_FIRST,
    TALLY_REDUCE_ARG_OUT,
    TALLY_REDUCE_ARG_OUT_OFFSET,
    TALLY_REDUCE_ARG_LAST,
    TALLY_REDUCE_ARG_OUTCOME,
    TALLY_REDUCE_ARGS
};

/* The arguments of tally_finish, in their order. */
enum {
    TALLY_FINISH_ARG_PARTIALS,
    TALLY_FINISH_ARG_COUNT,
    TALLY_FINISH_ARG_COMBINED,
    TALLY_FINISH_ARG_SLOT,
    TALLY_FINISH_ARG_OUT,
    TALLY_FINISH_ARG_OUT_OFFSET,
    TALLY_FINISH_ARG_LAST,
    TALLY_FINISH_ARG_N,
    TALLY_FINISH_ARG_PARAMS,
    TALLY_FINISH_ARG_OUTCOME,
    TALLY_FINISH_ARGS
};

/* The kernels' argument `last`. NONE: each group leaves a partial. ALONE: the only group leaves the
 * outcome. TOGETHER: each group leaves a partial, and the last one to finish leaves the outcome. */
enum { TALLY_LAST_NONE, TALLY_LAST_ALONE, TALLY_LAST_TOGETHER };

/* Where accumulators have more than 8 bytes, more groups than TALLY_TREE_MANY finish by blocks of
 * TALLY_TREE_BLOCK, each with a counter of its own (kernels/warp_tree.h). */
#define TALLY_TREE_MANY 2048
#define TALLY_TREE_BLOCK 64

/* The words of 8 bytes before a packet's accumulators: its status; a key of its ops, its parameters
 * and the total; the chunks where its part begins and ends. */
#define TALLY_PACKET_WORDS 4

/* The outcome of a launch (kernels/outcome.h): the result of all items, or the accumulator of a
 * part's node. */
typedef struct tally_outcome {
    uint64_t header[TALLY_PACKET_WORDS]; /* of the part's packet */
    uint64_t header_at;                  /* its place, in words of 8 bytes */
    uint32_t is_node, has_header;        /* is_node 0: the result */
    uint32_t follows, zero;              /* follows: the launch before is of the same call */
} tally_outcome;

/* The place where a stage writes: a slot of accumulators, with `result` the finished value, with
 * `node` the accumulator of a part's node. `offset` is in accumulators, in results, or for a node
 * in words of 4 bytes. */
typedef struct tally_target {
    void *mem;
    uint64_t offset;
    bool result;
    const tally_outcome *node; /* NULL: no node */
} tally_target;

/* The place of the items: memory and offset of the first item, in items, for each input. `base` is
 * that item's index in the whole input. */
typedef struct tally_source {
    void *mem[TALLY_MAX_INPUTS];
    uint64_t offset[TALLY_MAX_INPUTS];
    uint64_t base;
} tally_source;

/* Enqueue one stage each. tally_reduce_partials with to.result or to.node needs a single group.
 * `together` is where the last group puts the outcome; NULL: nowhere. tally_reduce_finish takes the
 * items of the whole input as `n`. It compiles its program first if the plan has not needed it. */
tally_status tally_reduce_partials(tally_reduce_plan *plan, void *queue, const tally_source *in, uint64_t n,
                                   tally_geometry geometry, tally_target to, const tally_target *together);
tally_status tally_reduce_finish(tally_reduce_plan *plan, void *queue, void *partials, uint64_t count, uint64_t n,
                                 tally_target to);

/* Enqueues the reduction of n items, at most max_n, to a result. Blocks with TALLY_STAGE_HOST. */
tally_status tally_reduce_enqueue(tally_reduce_plan *plan, void *queue, const tally_source *in, uint64_t n,
                                  tally_target result);
/* Enqueues the reduction of n items, a subtree of the canonical order, to the result or to a node.
 * The variant has a stage of launches. */
tally_status tally_reduce_tree(tally_reduce_plan *plan, void *queue, const tally_source *in, uint64_t n, tally_target to);

/* ---- feed.c, kept.c -------------------------------------------------------------------------- */

#define TALLY_FEED_ITEMS (UINT64_MAX / 16)   /* most items of a call */
#define TALLY_FEED_STAGING_BYTES (32u << 20) /* for each input, if the descriptor does not say */

/* Makes a feed that uses a plan of the caller's, which is canonical and outlives it. */
tally_status tally_feed_open(tally_reduce_plan *plan, uint64_t max_n, tally_feed **out);
/* Reduces n > 0 host items of each input, which are a subtree of the canonical order, to an
 * accumulator in host memory. Item 0 has the index `base`. The feed is empty before and after. */
tally_status tally_feed_fold(tally_feed *feed, const void *const *items, uint64_t n, uint64_t base, void *acc);
/* Counts the feed's objects that hold the context, and their bytes. */
void tally_feed_measure(const tally_feed *feed, uint32_t *references, uint64_t *bytes);

/* A feed of calls with host arrays, and the descriptor that it was made for. */
typedef struct tally_kept {
    tally_feed *feed;
    tally_reduce_desc desc; /* pointers are NULL, except `custom`, which the plan retains */
    tally_term_desc terms[TALLY_MAX_TERMS];
    char variant[32];
    uint64_t tunings;    /* value of the set's `tunings` when it was made */
    uint32_t references; /* its objects that hold the context */
    uint64_t bytes;
} tally_kept;

/* The feeds that no call uses; the one used last is at the end. The limits are on their number
 * and their bytes. A feed of two inputs that streams takes 257 MiB if the device has memory of
 * its own. */
#define TALLY_KEPT_FEEDS 8
#define TALLY_KEPT_BYTES (UINT64_C(320) << 20)
typedef struct tally_kept_set {
    pthread_mutex_t lock; /* guards the other members */
    tally_kept idle[TALLY_KEPT_FEEDS];
    uint32_t count;
    uint64_t bytes, tunings, made, reused;
} tally_kept_set;

/* Takes a kept feed for the descriptor, or makes one. desc->max_n must be set. The call gives the
 * feed back. */
tally_status tally_kept_take(tally_context *context, const tally_reduce_desc *desc, tally_kept *out);
/* Gives a feed back. A sound one is kept, and the oldest ones make room for it; another is
 * destroyed. */
void tally_kept_give(tally_context *context, tally_kept *kept, bool sound);

/* ---- host_plan.c ----------------------------------------------------------------------------- */

/* Tells whether the descriptor names a variant that is not canonical. No feed takes it. */
bool tally_host_needs_plan(const tally_context *context, const tally_reduce_desc *desc);
/* Reduces host arrays, one for each input, by a plan, with the whole input in the device's
 * memory. Blocks. Errors: E_MEMORY if it does not fit. */
tally_status tally_host_by_plan(tally_context *context, const tally_reduce_desc *desc, const void *const *items, uint64_t n,
                                void *result);

/* ---- host functions: made by the build and by src/host --------------------------------------- */

/* Tells whether every term has a program. Custom ops have none. */
bool tally_host_can_combine(const tally_terms *terms);
/* Combines `count` accumulators in sequence into the first. */
void tally_host_combine(const tally_terms *terms, void *accumulators, uint64_t count);
/* Reduces few items on the calling thread. Returns false, with nothing done, if the reduction is
 * not one of those. */
bool tally_host_reduce(const tally_context *context, const tally_reduce_desc *desc, const void *const *items, uint64_t n,
                       void *result);

#endif
