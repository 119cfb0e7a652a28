/* SPDX-License-Identifier: MIT */
/* device.h: backends, contexts, memory and queues; the cache on disk and the tunings of a
 * device. */
#ifndef TALLY_SRC_DEVICE_H
#define TALLY_SRC_DEVICE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "base/base.h"

/* ---- registry.c ------------------------------------------------------------------------------ */

/* Returns a backend; NULL for an index beyond the last. */
const tally_backend *tally_backend_at(size_t index);
/* Finds the device that a selection names. `by` is its origin, for error texts. */
tally_status tally_select(const char *selection, const char *by, const tally_backend **backend, int *device);

/* ---- features.c ------------------------------------------------------------------------------ */

/* A feature: something that some devices of a backend have beyond the standard. Its trial is a
 * program that is built, run and checked. */
typedef struct tally_feature {
    const char *name; /* macro that the programs that ask for the feature define */
    const char *stem; /* kernel text of the trial */
    unsigned classes; /* where it is tried: bit 1 << tally_device_class */
    bool always;      /* every program defines the macro, asked for or not */
} tally_feature;
enum {
    TALLY_FEATURE_PTX,
    TALLY_FEATURE_SUBGROUPS,
    TALLY_FEATURE_ORDER,
    TALLY_FEATURE_BULK,
    TALLY_FEATURE_MAX_NAN,
    TALLY_FEATURE_END
};
extern const tally_feature tally_features[TALLY_FEATURE_END];

/* Returns the first of `needs`, bits 1 << feature, that the context's device lacks;
 * TALLY_FEATURE_END if it has them all. A backend without a trial of a feature needs none: CUDA's
 * kernels have inline assembly of their own. The features must have been tried. */
size_t tally_lacking_feature(const tally_context *context, unsigned needs);

/* ---- cache.c --------------------------------------------------------------------------------- */

typedef struct tally_cache tally_cache;

/* Opens the cache on disk. Never fails: without a directory it returns NULL, and `note` says
 * why. */
tally_cache *tally_cache_open(char *dir, size_t dir_bytes, char *note, size_t note_bytes);
void tally_cache_close(tally_cache *cache);

typedef struct tally_key {
    uint64_t low, high;
} tally_key;

/* Makes the key of a program: a hash of its text, the library's version and the device. */
tally_key tally_cache_key(const tally_device_info *device, const char *source, size_t bytes);
/* Returns a copy of the entry's payload, which the caller frees; NULL if there is none. *damaged
 * tells that an entry failed its check. */
void *tally_cache_load(tally_cache *cache, tally_key key, size_t *bytes, bool *damaged);
/* Writes an entry, if it can. */
void tally_cache_store(tally_cache *cache, tally_key key, const void *data, size_t bytes);
/* Removes an entry. */
void tally_cache_drop(tally_cache *cache, tally_key key);
/* Opens a regular file to read. On failure it returns NULL and sets errno; ENXIO stands for
 * anything but a file, such as a pipe, on which a read would wait. */
FILE *tally_file_open(const char *path);

/* ---- tuning.c -------------------------------------------------------------------------------- */

/* The shape of a launch. It changes a reduction's speed, never its result. 0: the variant's own. */
typedef struct tally_tuning {
    uint32_t group_threads; /* chunk variants: threads of a group */
    uint32_t loads;         /* chunk variants: most 16-byte loads that a thread has in flight */
    uint32_t unit_groups;   /* run variants: most groups for each core */
    uint32_t least_run;     /* run variants: fewest chunks of a group */
} tally_tuning;

typedef struct tally_tuning_row tally_tuning_row;
typedef struct tally_tunings {
    tally_tuning_row *rows;
    size_t count;
} tally_tunings;

/* The launch that a tuning is searched for. */
typedef struct tally_tuning_query {
    const char *ops;     /* "sum", "struct" or "pair" */
    const char *op;      /* the op's name; "" for several and for custom ops */
    uint64_t item_bytes; /* size of an item */
    uint64_t bytes;      /* size of one input */
    bool runs;           /* the variant's groups own runs; false: chunks */
} tally_tuning_query;

#define TALLY_NO_MEMORY SIZE_MAX
/* Reads rows of the form that tunings.txt explains. Returns 0; the number of the first line that is
 * no row; or TALLY_NO_MEMORY. *out is empty unless it returns 0. */
size_t tally_tunings_parse(const char *text, tally_tunings *out);
void tally_tunings_free(tally_tunings *tunings);
/* Searches `own` (may be NULL), then the built-in rows. Returns the first row that matches the
 * device and the query and sets a field that the query's variant uses; all zeros if none does. */
tally_tuning tally_tuning_find(const tally_tunings *own, const tally_device_info *device, const tally_tuning_query *query);
/* Reads the rows of the file in the cache's directory, if there is one. */
#define TALLY_TUNINGS_FILE "tunings.txt"
void tally_tunings_load(tally_context *context);
/* Writes the device's name in the form of a row. */
void tally_tuning_device(const tally_device_info *device, char *name, size_t bytes);

/* ---- objects --------------------------------------------------------------------------------- */

/* The first member of every object. It tells a handle from garbage and one kind from another. */
typedef enum tally_tag {
    TALLY_TAG_CONTEXT = 0x54435458,
    TALLY_TAG_BUFFER = 0x54425546,
    TALLY_TAG_QUEUE = 0x54515545,
    TALLY_TAG_PLAN = 0x54504c4e,
    TALLY_TAG_FEED = 0x54464545,
    TALLY_TAG_EVENT = 0x54455654,
    TALLY_TAG_DEVICES = 0x54444556,
    TALLY_TAG_STAGING = 0x54535447
} tally_tag;

typedef struct tally_program {
    struct tally_program *next;
    tally_key key;
    void *handle;
    bool in_work; /* a thread is making it; there is no handle yet */
} tally_program;

/* An upper room's way to keep objects in a context between calls. The room sets the context's
 * keeper when it first keeps one. */
typedef struct tally_keeper {
    /* The tunings have changed: what is kept is void. */
    void (*renew)(tally_context *context);
    /* Fills in the members on host calls. */
    void (*count)(tally_context *context, tally_context_info *info);
    /* The last reference has gone. */
    void (*close)(tally_context *context);
} tally_keeper;

struct tally_context {
    tally_tag tag;
    atomic_uint references; /* the user's handle and every object but the kept ones */
    const tally_backend *backend;
    void *device;
    tally_device_info info;
    char chosen_by[64], selection[128];
    pthread_cond_t program_ready; /* a program is no longer in work */
    pthread_mutex_t lock;         /* guards the members below */
    tally_tunings tunings;
    char tunings_note[128];     /* the fault of the tunings' file; "" if there is none */
    const tally_keeper *keeper; /* NULL: nothing is kept */
    void *kept;                 /* the keeper's data */
    tally_program *programs;
    tally_cache *cache;
    char cache_dir[512], cache_note[256];
    bool probed;
    unsigned tried;            /* bit i: feature i has been tried. The lock is held */
    _Atomic unsigned features; /* bit i: the device has feature i */
    uint64_t built, prebuilt, from_disk, from_memory, damaged;
};

struct tally_buffer {
    tally_tag tag;
    tally_context *context;
    void *mem;
    uint64_t bytes;
    tally_mem_place place;
    void *host; /* host and staging memory: the address */
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

/* Check the handles of a call. Errors: E_ARGUMENT; the text names the argument. */
tally_status tally_check_context(const tally_context *context);
tally_status tally_check_buffer(const tally_buffer *buffer, const tally_context *context, const char *argument);
tally_status tally_check_queue(const tally_queue *queue, const tally_context *context);
/* Checks that the buffer holds n items of `bytes` bytes each from the item `offset` on. */
tally_status tally_check_items(const tally_buffer *buffer, uint64_t offset, uint64_t n, uint64_t bytes, const char *argument);
/* A range of a buffer, in bytes, and the name of the argument that it is. */
typedef struct tally_range {
    const tally_buffer *buffer;
    uint64_t begin, bytes;
    const char *name;
} tally_range;
/* Checks that two ranges, one of which is to be written, do not overlap. */
tally_status tally_check_apart(tally_range a, tally_range b);
/* Tells whether two ranges begin at the same byte. */
bool tally_is_same_place(const tally_buffer *in, uint64_t in_begin, const tally_buffer *out, uint64_t out_begin);

/* Adds a reference; tally_context_destroy takes one away. */
void tally_context_retain(tally_context *context);
/* Opens a device of a backend. tally_context_create and the calls for native handles use it. */
tally_status tally_context_open(const tally_backend *backend, int index, void *native_context, void *native_device,
                                const char *chosen_by, const char *selection, tally_context **out);

/* Opens memory of a kind as a buffer. The buffer holds the context. */
tally_status tally_buffer_open(tally_context *context, tally_mem_kind kind, void *handle, uint64_t bytes, tally_buffer **out);
/* Sets the first `bytes` bytes to 0. Blocks. */
tally_status tally_buffer_clear(tally_buffer *buffer, uint64_t bytes);
/* Opens a queue: a new one, or with `wrap` the caller's. The queue holds the context. */
tally_status tally_queue_open(tally_context *context, int wrap, void *native, tally_queue **out);

/* An argument of a launch: a memory object, or the value of a variable. */
#define TALLY_MEM(object) ((tally_arg){.mem = (object)})
#define TALLY_VALUE(variable) ((tally_arg){.value = &(variable), .bytes = sizeof(variable)})

#endif
