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

typedef enum tally_kind {
    TALLY_KIND_FLOAT,
    TALLY_KIND_SIGNED,
    TALLY_KIND_UNSIGNED,
    TALLY_KIND_BOOL,
    TALLY_KIND_COMPLEX
} tally_kind;

/* Bits 1 << tally_kind. */
enum {
    TALLY_TAKES_FLOAT = 1 << TALLY_KIND_FLOAT,
    TALLY_TAKES_INTEGER = 1 << TALLY_KIND_SIGNED | 1 << TALLY_KIND_UNSIGNED | 1 << TALLY_KIND_BOOL,
    TALLY_TAKES_ANY = TALLY_TAKES_FLOAT | TALLY_TAKES_INTEGER,
    TALLY_TAKES_COMPLEX = 1 << TALLY_KIND_COMPLEX
};

/* The words of the tables' columns: tables.h says what they mean. */
typedef enum tally_accumulate {
    TALLY_ACCUMULATE_SAME,
    TALLY_ACCUMULATE_WIDE,
    TALLY_ACCUMULATE_REAL,
    TALLY_ACCUMULATE_MAGNITUDE,
    TALLY_ACCUMULATE_COUNT,
    TALLY_ACCUMULATE_TRUTH
} tally_accumulate;

typedef enum tally_gives {
    TALLY_GIVES_ITEM,
    TALLY_GIVES_WIDE,
    TALLY_GIVES_UNSIGNED,
    TALLY_GIVES_REAL,
    TALLY_GIVES_MAGNITUDE,
    TALLY_GIVES_INDEX,
    TALLY_GIVES_COUNT,
    TALLY_GIVES_TRUTH
} tally_gives;

typedef enum tally_additive {
    TALLY_ADDITIVE_NO,
    TALLY_ADDITIVE_UNIT,
    TALLY_ADDITIVE_LINEAR,
    TALLY_ADDITIVE_QUADRATIC
} tally_additive;

typedef struct tally_dtype_row {
    const char *name;
    uint32_t bytes;
    tally_kind kind;
    tally_dtype compute;
    const char *summary;
} tally_dtype_row;

#define TALLY_ROW_FIELDS 5 /* with the end */
#define TALLY_ROW_PARAMS 3

typedef struct tally_op_row {
    const char *name;
    unsigned takes;
    uint32_t inputs;
    tally_accumulate accumulate;
    tally_gives gives;
    struct {
        tally_dtype type; /* TALLY_DTYPE_DEFAULT: V */
        const char *name;
    } fields[TALLY_ROW_FIELDS]; /* none: the accumulator is a V */
    const char *identity, *load, *combine, *first, *second, *empty, *second_empty;
    bool exact;
    tally_additive additive;
    struct {
        const char *name;
        double value;
    } params[TALLY_ROW_PARAMS];
    const char *summary;
} tally_op_row;

/* The rows; NULL for a value that is none. */
const tally_dtype_row *tally_dtype_find(tally_dtype dtype);
const tally_op_row *tally_op_find(tally_op op);
/* Whether it is a type to compute in: an accumulator's, a field's or a parameter's. */
bool tally_dtype_is_value(tally_dtype dtype);
/* The row that an op is for these items: complex and compensated ones have their own. NULL where there is none. */
const tally_op_row *tally_op_row_for(tally_op op, tally_dtype in, tally_accuracy accuracy);
/* V of the op's row, for the accuracy DEFAULT; TALLY_DTYPE_DEFAULT where the op does not take the dtype. */
tally_dtype tally_accumulator_dtype(tally_op op, tally_dtype in);

typedef struct tally_spec tally_spec;

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
    unsigned together; /* classes where, if memory is ordered between groups, the last of them finishes: no second launch */
    uint32_t items_per_item;     /* TALLY_SHAPE_SEGMENT */
    uint32_t local_accumulators; /* local memory: this many accumulators for each 32 items */
    bool ladder;                 /* its kernels build on the stem "ladder" */
} tally_variant;

const char *tally_stage_name(tally_stage stage);
const tally_variant *tally_variant_row(size_t index);
/* The row of that name; NULL and "auto" give the default of the device's class. */
tally_status tally_variant_find(const char *name, const tally_device_info *device, const tally_variant **out);
/* Whether the device can run the spec's variant with its accumulator and group; E_UNSUPPORTED with the reason if not. */
tally_status tally_variant_check(const tally_device_info *device, const tally_spec *spec);

/* ---- scan_variants.c --------------------------------------------------------------------------------------------- */

typedef struct tally_scan_variant {
    tally_variant_info info;
    unsigned classes; /* bit 1 << tally_device_class: where it makes sense */
    unsigned needs;   /* bit i: feature i */
    bool one_launch;  /* else three: totals, tiles, items */
    bool intervals;   /* each warp owns one: its order is not the canonical one */
} tally_scan_variant;

/* The row of that name; NULL and "auto" give the default. E_UNSUPPORTED where the context's device cannot run it; it has been probed. */
tally_status tally_scan_variant_find(const char *name, const tally_context *context, const tally_scan_variant **out);

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

/* ---- tuning.c ------------------------------------------------------------------------------------------------------- */

/* The shape of a launch: changes its speed, and never a result. 0: as the variant has it. */
typedef struct tally_tuning {
    uint32_t group_items; /* TALLY_SHAPE_CHUNKS */
    uint32_t loads;       /* TALLY_SHAPE_CHUNKS: of 16 bytes that an item has in flight, at most */
    uint32_t unit_groups; /* TALLY_SHAPE_RUN: groups for each core, at most */
    uint32_t least_run;   /* TALLY_SHAPE_RUN: chunks of a group, at least */
} tally_tuning;

typedef struct tally_tuning_row tally_tuning_row;
typedef struct tally_tunings {
    tally_tuning_row *rows;
    size_t count;
} tally_tunings;

/* Reads rows, as src/tunings.txt says what they are: 0, or the number of the first line that is none; *out is then empty. */
size_t tally_tunings_parse(const char *text, tally_tunings *out);
void tally_tunings_free(tally_tunings *tunings);
/* For a plan of so many bytes of each input: the first row that fits and says anything of the variant's shape, of `own` (NULL: none), then of the library's; zeros if none does. */
tally_tuning tally_tuning_find(const tally_tunings *own, const tally_device_info *device, const tally_spec *spec,
                               uint64_t bytes);
/* Takes the rows that the cache's directory has, which is no failure if there are none. */
#define TALLY_TUNINGS_FILE "tunings.txt"
void tally_tunings_load(tally_context *context);
/* The device's name as a row has it. */
void tally_tuning_device(const tally_device_info *device, char *name, size_t bytes);

/* ---- objects ------------------------------------------------------------------------------------------------------- */

/* The first member of every object: tells a handle from garbage, and one kind from another. */
typedef enum tally_tag {
    TALLY_TAG_CONTEXT = 0x54435458,
    TALLY_TAG_BUFFER = 0x54425546,
    TALLY_TAG_QUEUE = 0x54515545,
    TALLY_TAG_PLAN = 0x54504c4e,
    TALLY_TAG_FEED = 0x54464545,
    TALLY_TAG_EVENT = 0x54455654,
    TALLY_TAG_OP = 0x544f5043,
    TALLY_TAG_INDEX_PLAN = 0x54494458
} tally_tag;

typedef struct tally_program {
    struct tally_program *next;
    tally_key key;
    void *handle;
} tally_program;

/* A feed of calls with host arrays, and the descriptor that it was made for. */
typedef struct tally_kept {
    tally_feed *feed;
    tally_reduce_desc desc; /* its pointers are NULL but `custom`, which the plan retains */
    tally_op ops[TALLY_MAX_OPS];
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

struct tally_context {
    tally_tag tag;
    atomic_uint references; /* the user's handle and every object, but those in `kept` */
    tally_kept_set kept;
    const tally_backend *backend;
    void *device;
    tally_device_info info;
    char chosen_by[64], selection[128];
    pthread_mutex_t lock; /* guards what follows */
    tally_tunings tunings;
    char tunings_note[128]; /* what the file of tunings has that is none; "" otherwise */
    tally_program *programs;
    tally_cache *cache;
    char cache_dir[512], cache_note[256];
    bool probed;
    unsigned features; /* bit i: the device passed the trial of feature i */
    uint64_t built, prebuilt, from_disk, from_memory, damaged;
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
/* Whether the buffer holds n items of so many bytes at an item offset. */
tally_status tally_check_items(const tally_buffer *buffer, uint64_t offset, uint64_t n, uint64_t bytes, const char *call,
                               const char *argument);
/* Whether what is read and what is written are apart; offsets and lengths in bytes. */
tally_status tally_check_apart(const tally_buffer *in, uint64_t in_begin, uint64_t in_bytes, const tally_buffer *out,
                               uint64_t out_begin, uint64_t out_bytes, const char *call, const char *argument);
/* Whether they begin at the same byte. */
bool tally_is_same_place(const tally_buffer *in, uint64_t in_begin, const tally_buffer *out, uint64_t out_begin);

void tally_context_retain(tally_context *context);
/* Opens a device of a backend; used by tally_context_create and the native entry points. */
tally_status tally_context_open(const tally_backend *backend, int index, void *native_context, void *native_device,
                                const char *chosen_by, const char *selection, tally_context **out);

tally_status tally_buffer_open(tally_context *context, tally_mem_kind kind, void *handle, uint64_t bytes, tally_buffer **out);
/* The first `bytes` become 0. Blocks. */
tally_status tally_buffer_clear(tally_buffer *buffer, uint64_t bytes);
tally_status tally_queue_open(tally_context *context, int wrap, void *native, tally_queue **out);

/* ---- feed.c, kept.c ------------------------------------------------------------------------------------------------ */

/* *references are the feed's objects, of which each holds the context; *bytes are its memory's. */
void tally_feed_measure(const tally_feed *feed, uint32_t *references, uint64_t *bytes);

/* *out is a feed for the descriptor, whose max_n is no default: a kept one, or a new one. The call
 * gives it back. */
tally_status tally_kept_take(tally_context *context, const tally_reduce_desc *desc, tally_kept *out);
/* The feed stays for calls to come if it is sound; the oldest ones make room for it. */
void tally_kept_give(tally_context *context, tally_kept *kept, bool sound);
/* All feeds end; those in use end when they are given back. */
void tally_kept_renew(tally_context *context);
/* The set ends, with all in it: the last reference has gone. */
void tally_kept_close(tally_context *context);

/* ---- op.c ---------------------------------------------------------------------------------------------------------- */

#define TALLY_MAX_FIELDS 16
#define TALLY_MAX_PARAMS 16

/* A user's operator: a copy of the descriptor and its texts. Plans share it. */
struct tally_custom_op {
    tally_tag tag;
    atomic_int references;
    tally_op_desc desc;
    tally_op_field fields[TALLY_MAX_FIELDS];
    tally_op_param params[TALLY_MAX_PARAMS];
    char *texts; /* what all of them point into */
};

void tally_op_retain(tally_custom_op *op);

/* ---- spec.c --------------------------------------------------------------------------------------------------------- */

/* A type's size and alignment in a C struct. */
typedef struct tally_layout {
    uint32_t bytes, align;
} tally_layout;

/* One op of a plan, resolved for its items: what a row or a custom op says, with every type decided. */
typedef struct tally_term {
    const char *name;
    tally_op op;                             /* TALLY_OP_NONE: a custom one */
    tally_dtype value;                       /* V */
    tally_dtype real;                        /* R */
    tally_dtype natural;                     /* the result's type before it is converted; its parts' of a complex one */
    tally_dtype out;                         /* each value of the result */
    tally_dtype lane;                        /* a lane's accumulator within a chunk; TALLY_DTYPE_DEFAULT: as the rest */
    uint32_t out_count;                      /* values of the result: 1 or 2 */
    uint32_t field_count;                    /* 0: the accumulator is a V */
    tally_op_field fields[TALLY_MAX_FIELDS]; /* of a row: names and types alone */
    const char *identity, *load, *combine, *first, *second, *empty, *second_empty;
    bool is_custom; /* its texts are the user's: of fields, those of each field */
    uint32_t param_count;
    tally_op_param params[TALLY_MAX_PARAMS];
    bool exact;
    tally_additive additive;
    tally_layout acc, result, param;
    uint32_t acc_offset; /* in the accumulator of all terms */
} tally_term;

/* What a program is specialised for. */
struct tally_spec {
    tally_dtype in;
    uint32_t inputs, term_count;
    tally_term *terms; /* freed by tally_spec_free */
    tally_layout acc, result, param;
    tally_custom_op *custom; /* retained; NULL: the ops are rows */
    tally_accuracy accuracy;
    const tally_variant *variant;
    uint32_t group_items, factor;
    tally_tuning tuning;
    unsigned features;              /* of the device: tally_features */
    const tally_scan_variant *scan; /* NULL: a reduction */
    unsigned scan_flags;            /* what its kernels are specialised for */
    uint32_t scan_tiles;            /* of a group, where scan->one_launch */
};
enum {
    TALLY_SCAN_IS_EXCLUSIVE = 1,
    TALLY_SCAN_IS_REVERSE = 2,
    TALLY_SCAN_IS_SEGMENTED = 4,
    TALLY_SCAN_HAS_INITIAL = 8,
    TALLY_SCAN_IS_STAGED = 16
};

/* Checks a descriptor, of which `desc` becomes the whole with defaults put in, and resolves it for a device and its own tunings (NULL: none). */
tally_status tally_spec_resolve(const tally_device_info *device, const tally_tunings *tunings, const tally_reduce_desc *given,
                                tally_reduce_desc *desc, tally_spec *spec);
void tally_spec_free(tally_spec *spec);
/* Where the result's value `index` is; false beyond the last. */
bool tally_spec_result(const tally_spec *spec, uint32_t index, tally_result_info *info);
/* Whether a parameter's type (0: f64) holds the value, of which an integer drops the fraction; E_ARGUMENT naming `call` and `op` if not. */
tally_status tally_check_param(const char *call, const char *op, const tally_op_param *param, double value);
/* Writes the parameters, which their types hold, as the kernels' PARAMS, of spec->param.bytes. */
void tally_spec_pack_params(const tally_spec *spec, void *to);
/* Items of a group that share a chunk, so that each loads 16 bytes. */
uint32_t tally_chunk_team(size_t item_bytes);
/* Whether the op combines to the same bits in any order. */
bool tally_spec_exact(const tally_spec *spec);

/* ---- source.c, program.c -------------------------------------------------------------------------------------------- */

/* The whole source text, to be freed with free(). Errors: E_MEMORY, E_INTERNAL for a stem that the backend lacks. */
tally_status tally_source_create(const tally_backend *backend, const tally_spec *spec, char **text, size_t *bytes);

/* For the tests of the look-back: scans' programs made from now on hold every fifth group back. */
extern bool tally_scan_holds_back;

/* Prelude and stem alone, for kernels that reduce nothing; to be freed with free(). `defines`: lines before them, "" for none.
 * E_UNSUPPORTED where the backend lacks the stem. */
tally_status tally_source_of_stem(const tally_backend *backend, const char *stem, uint32_t group_items, const char *defines,
                                  char **text);
tally_status tally_program_of_stem(tally_context *context, const char *stem, uint32_t group_items, const char *defines,
                                   void **program);

/* Items of the one group that runs the self-test, or a feature's trial. */
enum { TALLY_PROBE_ITEMS = 1, TALLY_TRIAL_ITEMS = 64 };

/* The self-test of the context's device; E_UNSUPPORTED with the reason if it fails. Called with the context's lock held. */
tally_status tally_probe(tally_context *context);

/* What some devices of a backend have beyond the standard, told by a trial of the stem: it is built, run and checked. The name is
 * defined in the programs of the variants whose stem says `used`; NULL: in every program. */
typedef struct tally_feature {
    const char *name, *stem, *used;
    unsigned classes; /* bit 1 << tally_device_class: where it is tried */
} tally_feature;
enum { TALLY_FEATURE_PTX, TALLY_FEATURE_SUBGROUPS, TALLY_FEATURE_ORDER, TALLY_FEATURE_BULK };
extern const tally_feature tally_features[];

/* Finds the context's features. Called with the context's lock held. */
void tally_find_features(tally_context *context);

/* Self-test and features, once for a context, before anything is compiled for it. */
tally_status tally_context_probe(tally_context *context);

/* A program that the caller closes: prebuilt, or compiled. */
tally_status tally_program_make(const tally_context *context, const char *source, size_t bytes, void **program);
/* The program for a spec: from memory, prebuilt, from disk, or compiled. It belongs to the context. */
tally_status tally_program_get(tally_context *context, const tally_spec *spec, void **program);

/* ---- scan_plan.c, scan.c ------------------------------------------------------------------------------------------- */

/* A plan's, of a scan. */
typedef struct tally_scan_state {
    const tally_scan_variant *variant; /* NULL: the plan is a reduction's */
    tally_segments segments;
    unsigned char initial[16]; /* an item */
    uint64_t capacity;         /* tiles, or intervals, that the workspace is for */
    uint64_t done;             /* items since the last tally_scan: where tally_scan_next goes on */
    uint32_t turn;             /* which of two carries the next call writes */
    void *totals_kernel, *tiles_kernel, *items_kernel, *clear_kernel, *set_kernel;
    tally_buffer *words, *values; /* src/scanning.h */
    tally_buffer *heads;          /* flags made of offsets */
} tally_scan_state;

/* ---- plan.c, reduce.c ---------------------------------------------------------------------------------------------------------- */

struct tally_plan {
    tally_tag tag;
    tally_context *context;
    tally_spec spec;
    uint64_t max_n;
    uint64_t run;   /* chunks of a group; TALLY_SHAPE_RUN: 0 to choose by n */
    bool together;  /* the last group of a launch finishes; the workspace's first slot counts them, and is 0 between launches */
    uint64_t slice; /* items that are reduced at a time, a power of two of chunks, so that the workspace is bounded; 0: all */
    void *partials_kernel, *finish_kernel, *init_kernel;
    tally_buffer *workspace;
    tally_buffer *slices; /* an accumulator for each slice; NULL: there are none */
    void *host;           /* TALLY_STAGE_HOST: the partials */
    void *params;         /* the kernels' PARAMS */
    tally_scan_state scan;
};

/* Groups and chunks per group (of the canonical shapes) for n items. */
typedef struct tally_geometry {
    uint64_t groups, run;
} tally_geometry;

tally_geometry tally_plan_geometry(const tally_plan *plan, uint64_t n);
/* The group's items and tiles, of a spec whose `scan` and `scan_flags` are set, for up to so many items on a device with so many units and those
 * features. */
void tally_scan_shape(tally_spec *spec, unsigned features, uint64_t max_n, uint32_t units);
tally_geometry tally_scan_geometry(const tally_plan *plan, uint64_t n);
uint64_t tally_scan_depth(const tally_plan *plan, uint64_t n);
uint64_t tally_scan_workspace_bytes(const tally_plan *plan);
/* What a scan's plan holds besides what all do. */
void tally_scan_close(tally_plan *plan);

/* What the groups of tally_partials leave: a partial each; the result, by the only group there is; a partial each and, by the last of them
 * that is done, the result. The kernels' argument `last`. */
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

/* Enqueue one stage each. to.result needs a single group in tally_plan_partials. `together`: where the last of the groups puts the result;
 * NULL: nowhere. `n` of tally_plan_finish: items in the whole input. */
tally_status tally_plan_partials(tally_plan *plan, void *queue, const tally_source *in, uint64_t n, tally_geometry geometry,
                                 tally_target to, const tally_target *together);
tally_status tally_plan_finish(tally_plan *plan, void *queue, void *partials, uint64_t count, uint64_t n, tally_target to);

/* Errors: E_ARGUMENT naming `call`. */
tally_status tally_check_plan(const tally_plan *plan, const char *call);

/* ---- index.c -------------------------------------------------------------------------------------------------------- */

/* What the program of a gather or scatter is specialised for. */
typedef struct tally_index_spec {
    bool scatter;
    uint32_t item_bytes, flags; /* TALLY_UNCHECKED and the like */
    tally_dtype map;
    bool wide; /* positions in the map take 8 bytes, else 4 */
    uint32_t group_items;
    uint32_t flight; /* entries that an item has in flight */
} tally_index_spec;

/* Checks a descriptor, of which `desc` becomes the whole with defaults put in, and resolves it for a device. */
tally_status tally_index_resolve(const tally_device_info *device, bool scatter, const tally_index_desc *given,
                                 tally_index_desc *desc, tally_index_spec *spec);
/* The stem, and the lines before it in the program's text. */
#define TALLY_INDEX_STEM "index"
typedef struct tally_index_text {
    char text[512];
} tally_index_text;
tally_index_text tally_index_defines(const tally_index_spec *spec);

/* ---- host_ops.c ------------------------------------------------------------------------------------------------------ */

/* Combines `count` accumulators of rows in sequence, into the first. Custom ops are not compiled for the host. */
void tally_host_combine(const tally_spec *spec, void *accumulators, uint64_t count);

/* ---- host.c, host/ ---------------------------------------------------------------------------------------------------- */

/* A built-in op, compiled for the host: reduces n items of each input, writes the result and returns its bytes. */
typedef size_t (*tally_host_function)(const void *const *items, uint64_t n, void *result);
/* Of each op and dtype; NULL: there is none. */
extern const tally_host_function tally_host_functions[TALLY_OP_END][TALLY_DTYPE_END];

/* The calling thread reduces so many items at most on a CPU device: about as many as it reduces while
 * the device wakes, starts and is waited for. A chunk is the most where a combination takes an
 * exponential, so many bytes where floats are summed in their own type, so many items elsewhere.
 * us a call by the thread and by a kept plan, medians, POCL 3.1, 2 cores of a Xeon, 2026-11-22:
 * sum of f32, 65,536 items 12 and 25, 131,072 24 and 32, 262,144 53 and 46; sum of f64, 65,536 17
 * and 56; max of f32, 32,768 18 and 30, 65,536 35 and 36, 131,072 70 and 42; max of f64, 16,384 39
 * and 25, 32,768 80 and 26 to 80; logsumexp of f32, 4,096 26 and 14, 8,192 70 and 33; logsumexp of
 * i32, 4,096 49 and 79. */
#define TALLY_HOST_ITEMS (8 * TALLY_CHUNK_ITEMS)
#define TALLY_HOST_SUM_BYTES (512 << 10)
#define TALLY_HOST_MOST_ITEMS (TALLY_HOST_SUM_BYTES / 4)
/* The most items of that op and dtype; 0: there is no function. */
uint64_t tally_host_items(tally_op op, tally_dtype in);

/* Reduces few items on the calling thread; false: this is not such a reduction, and nothing was done. */
bool tally_host_reduce(const tally_context *context, const tally_reduce_desc *desc, const void *const *items, uint64_t n,
                       void *result);

#endif
