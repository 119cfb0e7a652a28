/* SPDX-License-Identifier: MIT */
/* device.h: backends, contexts, memory and queues, and what is kept for a device: the cache on disk and the tunings. */
#ifndef TALLY_SRC_DEVICE_H
#define TALLY_SRC_DEVICE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "base/base.h"

/* ---- registry.c ---------------------------------------------------------------------------------------------------- */

const tally_backend *tally_backend_at(size_t index);
/* Follows a selection; `by` names its origin in error texts. */
tally_status tally_select(const char *selection, const char *by, const tally_backend **backend, int *device);

/* ---- features.c ---------------------------------------------------------------------------------------------------- */

/* What some devices of a backend have beyond the standard. A trial of the stem finds it: it is built, run and checked. */
typedef struct tally_feature {
    const char *name; /* defined in the programs that ask for the feature */
    const char *stem; /* the trial */
    unsigned classes; /* bit 1 << tally_device_class: where it is tried */
    bool always;      /* defined in every program, not only where it is asked for */
} tally_feature;
enum { TALLY_FEATURE_PTX, TALLY_FEATURE_SUBGROUPS, TALLY_FEATURE_ORDER, TALLY_FEATURE_BULK, TALLY_FEATURE_END };
extern const tally_feature tally_features[TALLY_FEATURE_END];

/* ---- cache.c ------------------------------------------------------------------------------------------------------- */

typedef struct tally_cache tally_cache;

/* Opens the disk cache. It never fails: without a directory it is NULL and `note` says why. */
tally_cache *tally_cache_open(char *dir, size_t dir_bytes, char *note, size_t note_bytes);
void tally_cache_close(tally_cache *cache);

typedef struct tally_key {
    uint64_t low, high;
} tally_key;

tally_key tally_cache_key(const tally_device_info *device, const char *source, size_t bytes);
/* Returns a copy of the entry's payload, to be freed; NULL if there is none. *damaged tells an entry that failed its check. */
void *tally_cache_load(tally_cache *cache, tally_key key, size_t *bytes, bool *damaged);
void tally_cache_store(tally_cache *cache, tally_key key, const void *data, size_t bytes);
void tally_cache_drop(tally_cache *cache, tally_key key);
/* Opens a regular file to read. NULL with errno on failure: ENXIO if something else is there, such as a pipe, for which
 * a read would wait. */
FILE *tally_file_open(const char *path);

/* ---- tuning.c ------------------------------------------------------------------------------------------------------ */

/* The shape of a launch: it changes a reduction's speed, and never its result. 0: as the variant has it. */
typedef struct tally_tuning {
    uint32_t group_items; /* of variants whose groups own chunks */
    uint32_t loads;       /* of those: loads of 16 bytes that a thread has in flight, at most */
    uint32_t unit_groups; /* of variants whose groups own runs: groups for each core, at most */
    uint32_t least_run;   /* of those: chunks of a group, at least */
} tally_tuning;

typedef struct tally_tuning_row tally_tuning_row;
typedef struct tally_tunings {
    tally_tuning_row *rows;
    size_t count;
} tally_tunings;

/* The launch that a tuning is looked up for. */
typedef struct tally_tuning_query {
    const char *ops;     /* "sum", "struct" or "pair" */
    uint64_t item_bytes; /* of an item */
    uint64_t bytes;      /* of each input */
    bool runs;           /* the variant's groups own runs; else chunks */
} tally_tuning_query;

/* Reads rows in the form that tunings.txt explains. Returns 0, or the number of the first line that is no row; *out is then empty. */
size_t tally_tunings_parse(const char *text, tally_tunings *out);
void tally_tunings_free(tally_tunings *tunings);
/* Searches `own` (may be NULL), then the built-in rows, and returns the first that matches the device and the query and sets a
 * field that the query's variant uses; all zeros if none does. */
tally_tuning tally_tuning_find(const tally_tunings *own, const tally_device_info *device, const tally_tuning_query *query);
/* Takes the rows of the file in the cache's directory, if there is one. */
#define TALLY_TUNINGS_FILE "tunings.txt"
void tally_tunings_load(tally_context *context);
/* Writes the device's name as a row has it. */
void tally_tuning_device(const tally_device_info *device, char *name, size_t bytes);

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
    tally_tunings tunings;
    char tunings_note[128]; /* what is wrong with the file of tunings; "" otherwise */
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

/* Argument checks. Errors: E_ARGUMENT naming the argument. */
tally_status tally_check_context(const tally_context *context);
tally_status tally_check_buffer(const tally_buffer *buffer, const tally_context *context, const char *argument);
tally_status tally_check_queue(const tally_queue *queue, const tally_context *context);
/* The buffer must hold n items of so many bytes at an item offset. */
tally_status tally_check_items(const tally_buffer *buffer, uint64_t offset, uint64_t n, uint64_t bytes, const char *argument);
/* What is read and what is written must not overlap; offsets and lengths in bytes. */
tally_status tally_check_apart(const tally_buffer *in, uint64_t in_begin, uint64_t in_bytes, const tally_buffer *out,
                               uint64_t out_begin, uint64_t out_bytes, const char *argument);
/* Tells whether they begin at the same byte. */
bool tally_is_same_place(const tally_buffer *in, uint64_t in_begin, const tally_buffer *out, uint64_t out_begin);

void tally_context_retain(tally_context *context);
/* Opens a device of a backend; used by tally_context_create and the native entry points. */
tally_status tally_context_open(const tally_backend *backend, int index, void *native_context, void *native_device,
                                const char *chosen_by, const char *selection, tally_context **out);

tally_status tally_buffer_open(tally_context *context, tally_mem_kind kind, void *handle, uint64_t bytes, tally_buffer **out);
/* Sets the first `bytes` to 0. Blocks. */
tally_status tally_buffer_clear(tally_buffer *buffer, uint64_t bytes);
tally_status tally_queue_open(tally_context *context, int wrap, void *native, tally_queue **out);

/* An argument of a launch: a memory object, or a variable's value. */
#define TALLY_MEM(object) ((tally_arg){.mem = (object)})
#define TALLY_VALUE(variable) ((tally_arg){.value = &(variable), .bytes = sizeof(variable)})

#endif
