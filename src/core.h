/* SPDX-License-Identifier: MIT */
/*
 * core.h: what the core's files share. Backends see <tally/backend.h> alone; tests and tools see the public headers, and tests
 * the functions below too.
 */
#ifndef TALLY_CORE_H
#define TALLY_CORE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include <tally/backend.h>
#include <tally/tally.h>

#include "order.h"

/* Functions that cross files inside the library but are not its interface. */
#define TALLY_ARRAY_LENGTH(array) (sizeof(array) / sizeof((array)[0]))

/* ---- tables.c, variants.c ---------------------------------------------------------------------------------------- */

typedef enum tally_kind { TALLY_KIND_FLOAT, TALLY_KIND_SIGNED, TALLY_KIND_UNSIGNED } tally_kind;
typedef enum tally_accumulate { TALLY_ACCUMULATE_SAME, TALLY_ACCUMULATE_WIDE } tally_accumulate;

typedef enum tally_atomic { TALLY_ATOMIC_NONE, TALLY_ATOMIC_ADD } tally_atomic;

typedef struct tally_dtype_row {
    const char *name;
    uint32_t bytes;
    tally_kind kind;
    const char *summary;
} tally_dtype_row;

typedef struct tally_op_row {
    const char *name;
    tally_accumulate accumulate;
    const char *identity, *load, *combine, *finish, *empty;
    bool exact;
    tally_atomic atomic;
    const char *summary;
} tally_op_row;

/* The rows; NULL for a value that is none. */
const tally_dtype_row *tally_dtype_find(tally_dtype dtype);
const tally_op_row *tally_op_find(tally_op op);
tally_dtype tally_accumulator_dtype(tally_op op, tally_dtype in);

/* What a group of a variant owns. */
typedef enum tally_shape {
    TALLY_SHAPE_CHUNKS,  /* group_items / 32 chunks */
    TALLY_SHAPE_RUN,     /* a run of chunks that the planner chooses; one item */
    TALLY_SHAPE_SEGMENT, /* a segment of group_items * items_per_item * factor items */
    TALLY_SHAPE_GRID     /* what a grid that fills the device leaves it */
} tally_shape;

/* How the groups' values become one. */
typedef enum tally_stage {
    TALLY_STAGE_SECOND,  /* a partial each, combined by a second launch */
    TALLY_STAGE_SCRATCH, /* the same, with workspace of an accumulator for each item behind the partials */
    TALLY_STAGE_ATOMIC,  /* by atomics on one accumulator */
    TALLY_STAGE_HOST     /* a partial each, combined on the host: the call blocks */
} tally_stage;

typedef struct tally_variant {
    tally_variant_info info;
    tally_shape shape;
    tally_stage stage;
    unsigned classes; /* bit 1 << tally_device_class: where it makes sense */
    uint32_t min_group_items, max_group_items;
    uint32_t items_per_item;     /* TALLY_SHAPE_SEGMENT */
    uint32_t local_accumulators; /* local memory: this many accumulators for each 32 items */
    bool ladder;                 /* its kernels build on the stem "ladder" */
} tally_variant;

const char *tally_stage_name(tally_stage stage);
const tally_variant *tally_variant_row(size_t index);
/* The row of that name; NULL and "auto" give the default of the device's class. */
tally_status tally_variant_find(const char *name, const tally_device_info *device, const tally_variant **out);
/* Whether the device can run the variant with this accumulator and group; E_UNSUPPORTED with the reason if not. */
tally_status tally_variant_check(const tally_variant *variant, const tally_device_info *device, tally_op op, tally_dtype in,
                                 uint32_t group_items);

/* ---- registry.c --------------------------------------------------------------------------------------------------- */

const tally_backend *tally_backend_at(size_t index);
/* Follows a selection; `by` names its origin in error texts. */
tally_status tally_select(const char *selection, const char *by, const tally_backend **backend, int *device);

/* ---- cache.c ------------------------------------------------------------------------------------------------------ */

typedef struct tally_cache tally_cache;

/* The disk cache; never fails: without a directory it is empty and `note` says why. */
tally_cache *tally_cache_open(char *dir, size_t dir_bytes, char *note, size_t note_bytes);
void tally_cache_close(tally_cache *cache);

typedef struct tally_key {
    uint64_t low, high;
} tally_key;

tally_key tally_cache_key(const tally_device_info *device, const char *source, size_t bytes);
/* A copy of the entry's payload, to be freed; NULL if there is none. *damaged tells an entry that failed its check. */
void *tally_cache_load(tally_cache *cache, tally_key key, size_t *bytes, bool *damaged);
void tally_cache_store(tally_cache *cache, tally_key key, const void *data, size_t bytes);
void tally_cache_drop(tally_cache *cache, tally_key key);

/* ---- objects ------------------------------------------------------------------------------------------------------- */

/* The first member of every object: tells a handle from garbage, and one kind from another. */
typedef enum tally_tag {
    TALLY_TAG_CONTEXT = 0x54435458,
    TALLY_TAG_BUFFER = 0x54425546,
    TALLY_TAG_QUEUE = 0x54515545,
    TALLY_TAG_PLAN = 0x54504c4e,
    TALLY_TAG_FEED = 0x54464545,
    TALLY_TAG_EVENT = 0x54455654
} tally_tag;

typedef struct tally_program {
    struct tally_program *next;
    tally_key key;
    void *handle;
} tally_program;

struct tally_context {
    tally_tag tag;
    atomic_uint references;
    const tally_backend *backend;
    void *device;
    tally_device_info info;
    char chosen_by[64], selection[128];
    pthread_mutex_t lock; /* guards what follows */
    tally_program *programs;
    tally_cache *cache;
    char cache_dir[512], cache_note[256];
    bool probed;
    unsigned features; /* bit i: the device accepted the trial build of feature i */
    uint64_t built, from_disk, from_memory, damaged;
};

struct tally_buffer {
    tally_tag tag;
    tally_context *context;
    void *mem;
    uint64_t bytes;
    void *host; /* of host and staging memory: its address */
};

struct tally_queue {
    tally_tag tag;
    tally_context *context;
    void *handle;
};

struct tally_event {
    tally_tag tag;
    tally_context *context;
    void *handle;
    bool recorded;
};

/* Argument checks: E_ARGUMENT with a text naming `call` and `argument`. */
tally_status tally_check_context(const tally_context *context, const char *call);
tally_status tally_check_buffer(const tally_buffer *buffer, const tally_context *context, const char *call,
                                const char *argument);
tally_status tally_check_queue(const tally_queue *queue, const tally_context *context, const char *call);
tally_status tally_check_pointer(const void *pointer, const char *call, const char *argument);

void tally_context_retain(tally_context *context);
/* Opens a device of a backend; used by tally_context_create and the native entry points. */
tally_status tally_context_open(const tally_backend *backend, int index, void *native_context, void *native_device,
                                const char *chosen_by, const char *selection, tally_context **out);

tally_status tally_buffer_open(tally_context *context, tally_mem_kind kind, void *handle, uint64_t bytes, tally_buffer **out);
tally_status tally_queue_open(tally_context *context, int wrap, void *native, tally_queue **out);

/* ---- source.c, program.c -------------------------------------------------------------------------------------------- */

/* What a program is specialised for. */
typedef struct tally_spec {
    tally_op op;
    tally_dtype in, out;
    const tally_variant *variant;
    uint32_t group_items, factor;
    unsigned features; /* of the device: tally_features */
} tally_spec;

/* The whole source text, to be freed with free(). Errors: E_MEMORY, E_INTERNAL for a stem that the backend lacks. */
tally_status tally_source_create(const tally_backend *backend, const tally_spec *spec, char **text, size_t *bytes);

/* Prelude and stem alone, for kernels that reduce nothing; to be freed with free(). E_UNSUPPORTED where the backend lacks the stem. */
tally_status tally_source_of_stem(const tally_backend *backend, const char *stem, uint32_t group_items, char **text);
tally_status tally_program_of_stem(tally_context *context, const char *stem, uint32_t group_items, void **program);

/* The self-test of the context's device; E_UNSUPPORTED with the reason if it fails. Called with the context's lock held. */
tally_status tally_probe(tally_context *context);

/* What some devices of a backend have beyond the standard, told by a trial build of the stem; the name is defined in every program. */
typedef struct tally_feature {
    const char *name, *stem;
} tally_feature;
extern const tally_feature tally_features[];

/* Finds the context's features. Called with the context's lock held. */
void tally_find_features(tally_context *context);

/* The program for a spec: from memory, from disk, or compiled. It belongs to the context. */
tally_status tally_program_get(tally_context *context, const tally_spec *spec, void **program);

/* ---- plan.c, reduce.c ---------------------------------------------------------------------------------------------------------- */

struct tally_plan {
    tally_tag tag;
    tally_context *context;
    tally_spec spec;
    tally_dtype acc;
    uint64_t max_n;
    uint64_t run; /* chunks of a group; TALLY_SHAPE_RUN: 0 to choose by n */
    void *partials_kernel, *finish_kernel, *init_kernel;
    tally_buffer *workspace;
    void *host; /* TALLY_STAGE_HOST: the partials */
};

/* Groups and chunks per group (of the canonical shapes) for n items. */
typedef struct tally_geometry {
    uint64_t groups, run;
} tally_geometry;

tally_geometry tally_plan_geometry(const tally_plan *plan, uint64_t n);

/* Where a stage writes: a slot of accumulators, or (result) the finished value at an item offset. */
typedef struct tally_target {
    void *mem;
    uint64_t offset;
    bool result;
} tally_target;

/* Enqueue one stage each. to->result needs a single group in tally_plan_partials. */
tally_status tally_plan_partials(tally_plan *plan, void *queue, void *in, uint64_t in_offset, uint64_t n,
                                 tally_geometry geometry, tally_target to);
tally_status tally_plan_finish(tally_plan *plan, void *queue, void *partials, uint64_t count, tally_target to);

/* ---- host_ops.c ------------------------------------------------------------------------------------------------------ */

/* Combines `count` accumulators of a built-in op in sequence, into the first. */
void tally_host_combine(tally_op op, tally_dtype acc, void *accumulators, uint64_t count);

#endif
