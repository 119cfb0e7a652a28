/* SPDX-License-Identifier: MIT */
/* tally/core.h: statuses, types and names; backends and devices; contexts; buffers and queues;
 * time. */
#ifndef TALLY_API_CORE_H
#define TALLY_API_CORE_H

#include <stddef.h>
#include <stdint.h>

#if defined(TALLY_STATIC) || !defined(__GNUC__)
#define TALLY_API
#else
#define TALLY_API __attribute__((visibility("default")))
#endif

#define TALLY_VERSION "0.2.0"

#ifdef __cplusplus
extern "C" {
#endif

/* Every call that can fail returns one of these; tally_last_error() gives the details. */
typedef enum tally_status {
    TALLY_OK = 0,
    /* an argument is wrong: NULL, out of range, of another context, of no known name */
    TALLY_E_ARGUMENT = 1,
    TALLY_E_NO_DEVICE = 2,   /* the backend or device asked for is not here */
    TALLY_E_UNSUPPORTED = 3, /* a sound request that this device or this build cannot serve */
    TALLY_E_MEMORY = 4,      /* host or device memory ran out */
    TALLY_E_BUILD = 5,       /* a kernel did not compile */
    TALLY_E_DEVICE = 6,      /* a driver call failed */
    TALLY_E_INTERNAL = 7,    /* a defect of tally */
    TALLY_STATUS_END
} tally_status;

/* The types of items, accumulators and results. */
typedef enum tally_dtype {
    TALLY_DTYPE_DEFAULT = 0, /* in descriptors: the type that the op gives */
    TALLY_F32 = 1,           /* IEEE 754 binary32 */
    TALLY_F64 = 2,           /* IEEE 754 binary64 */
    TALLY_I32 = 3,           /* signed 32-bit integer */
    TALLY_U32 = 4,           /* unsigned 32-bit integer */
    TALLY_I64 = 5,           /* signed 64-bit integer */
    TALLY_U64 = 6,           /* unsigned 64-bit integer */
    TALLY_F16 = 7,           /* IEEE 754 binary16 */
    TALLY_BF16 = 8,          /* bfloat16: the upper half of an f32 */
    TALLY_I8 = 9,            /* signed 8-bit integer */
    TALLY_I16 = 10,          /* signed 16-bit integer */
    TALLY_U8 = 11,           /* unsigned 8-bit integer */
    TALLY_U16 = 12,          /* unsigned 16-bit integer */
    TALLY_BOOL = 13,         /* a byte: 0 is false, everything else true */
    TALLY_C64 = 14,          /* complex: two f32, real part first */
    TALLY_C128 = 15,         /* complex: two f64, real part first */
    TALLY_DTYPE_END
} tally_dtype;

/* The kind of a type. */
typedef enum tally_kind {
    TALLY_KIND_FLOAT = 0,
    TALLY_KIND_SIGNED = 1,   /* integer */
    TALLY_KIND_UNSIGNED = 2, /* integer */
    TALLY_KIND_BOOL = 3,
    TALLY_KIND_COMPLEX = 4
} tally_kind;

/* The class of a device. It decides which kernels run. */
typedef enum tally_device_class {
    TALLY_CLASS_GPU = 1,   /* many groups of many threads; local memory */
    TALLY_CLASS_CPU = 2,   /* few groups of one thread; wide vectors; host memory used in place */
    TALLY_CLASS_OTHER = 3, /* accelerators; served with the GPU's kernels */
    TALLY_CLASS_END
} tally_device_class;

typedef struct tally_context tally_context;
typedef struct tally_buffer tally_buffer;
typedef struct tally_queue tally_queue;
typedef struct tally_staging tally_staging;

/* ---- errors and names ------------------------------------------------------------------------ */

/* Returns the library's version: TALLY_VERSION as it was when the library was built. Static
 * text. */
TALLY_API const char *tally_version(void);

/* Returns the text of this thread's last failure: the call, the object, the driver's name and
 * number, the head of a build log. Returns "" before the first failure. The text is the library's
 * and stays valid until the thread's next failure. */
TALLY_API const char *tally_last_error(void);

/* Return the name or the text of a value. Static text; NULL for a value that the enum does not
 * have. */
TALLY_API const char *tally_status_name(tally_status status);
TALLY_API const char *tally_status_text(tally_status status);
TALLY_API const char *tally_dtype_name(tally_dtype dtype);
TALLY_API const char *tally_device_class_name(tally_device_class device_class);

/* Returns the size of an item in bytes; 0 for a value that is no dtype. */
TALLY_API size_t tally_dtype_bytes(tally_dtype dtype);
/* Returns the kind of a type. `dtype` must be one of tally_dtype. */
TALLY_API tally_kind tally_dtype_kind(tally_dtype dtype);

/* Finds the type that has the name, such as "f32", and writes it to *out. Errors: E_ARGUMENT for
 * NULL and for an unknown name; the text lists the names. */
TALLY_API tally_status tally_dtype_from_name(const char *name, tally_dtype *out);

/* ---- backends and devices -------------------------------------------------------------------- */

/* A device, as its driver describes it. */
typedef struct tally_device_info {
    char backend[16]; /* "cuda", "opencl", "host" or a registered name */
    int index;        /* number within its backend, as in opencl:1; GPUs first; -1: adopted */
    tally_device_class device_class;
    char name[128];
    char platform[128];         /* OpenCL: the platform's name; CUDA: "NVIDIA CUDA" */
    char driver[128];           /* the driver's version; part of the program cache's key */
    char build_options[160];    /* options that every kernel is compiled with; part of that key */
    uint32_t compute_units;     /* multiprocessors or cores */
    uint32_t max_group_threads; /* most threads in a group */
    uint64_t memory_bytes;
    uint64_t max_buffer_bytes; /* largest single buffer */
    uint64_t local_bytes;      /* local memory of one group */
    int has_atomic64;          /* 1: it has atomics on 64-bit words */
    int has_f64;               /* 1: it computes in f64 */
    int host_memory;           /* 1: it reads host memory in place, at full speed, without a copy */
    int staging_in_place;      /* 1: its kernels write staging in place (tally_staging_buffer) */
} tally_device_info;

/* A backend, built in or registered. */
typedef struct tally_backend_info {
    char name[16];
    int devices;      /* number of devices found here; 0 is no error */
    char reason[256]; /* why there are none; "" if there are some */
} tally_backend_info;

/* Returns the number of backends: those built in and those registered. */
TALLY_API size_t tally_backend_count(void);
/* Describes backend `index` in *out and starts its driver. A missing driver is no error:
 * `devices` is 0 and `reason` says why. Errors: E_ARGUMENT for NULL and for an index that is not
 * below tally_backend_count(); E_DEVICE if the driver fails. */
TALLY_API tally_status tally_backend_get(size_t index, tally_backend_info *out);
/* Describes device `index` of a backend in *out. Errors: E_ARGUMENT for NULL and for an unknown
 * backend; E_NO_DEVICE for an index that the backend does not have; E_DEVICE if the driver
 * fails. */
TALLY_API tally_status tally_device_get(const char *backend, int index, tally_device_info *out);

/* ---- contexts -------------------------------------------------------------------------------- */

/*
 * Opens a device as a context. The caller destroys the context. Blocks.
 *
 * The first of these that is set decides: `select`, if neither NULL nor ""; the environment's
 * TALLY_BACKEND; the default "cuda,opencl,host", or fewer if fewer backends are built in.
 *
 * A selection is a list that is tried in order. An entry is BACKEND or BACKEND:DEVICE. DEVICE is an
 * index or a part of the device's or platform's name: "cuda:1", "opencl:pocl", "cuda,opencl". Names
 * may be in any case: "CUDA:1". Spaces around an entry do not count.
 *
 * Errors: E_ARGUMENT for NULL, for a selection of another form and for an unknown backend;
 * E_NO_DEVICE when no entry of the list is here: the text lists the devices that are; E_DEVICE.
 */
TALLY_API tally_status tally_context_create(const char *select, tally_context **out);
/* Destroys the context. Objects made with it stay valid: the last of them closes the device. */
TALLY_API void tally_context_destroy(tally_context *context);

/* A context's device, how it was chosen, and its counters. */
typedef struct tally_context_info {
    tally_device_info device;
    char chosen_by[64];             /* "argument", "TALLY_BACKEND", "default", "native handles" */
    char selection[128];            /* the selection that decided */
    char cache_dir[512];            /* directory of the program cache; "" if there is none */
    char cache_note[256];           /* why there is none; "" if there is one */
    uint64_t programs_built;        /* compiled from source by this context */
    uint64_t programs_from_disk;    /* loaded from the cache on disk */
    uint64_t programs_from_memory;  /* found in this context's memory */
    uint64_t cache_entries_damaged; /* entries on disk that failed a check; compiled anew */
    uint64_t programs_prebuilt;     /* compiled when the library was built (docs/backends.md) */
    uint64_t host_plans_made;       /* by tally_reduce_host and tally_reduce_host_inputs */
    uint64_t host_plans_reused;     /* calls of these that reused an earlier one's plan */
    uint64_t host_plans_kept;       /* kept for later calls: 8 at most */
    uint64_t host_bytes_kept;       /* host and device memory of the kept plans: 320 MiB at most */
} tally_context_info;

/* Writes the context's facts and its counters, as they are now, to *out. Errors: E_ARGUMENT for
 * NULL. */
TALLY_API tally_status tally_context_get_info(tally_context *context, tally_context_info *out);

/* Writes the facts and counters as text, one "key: value" a line: the device, how it was chosen,
 * the caches. `size` is the bytes of `text`, which include the final 0; a longer text is cut.
 * Errors: E_ARGUMENT for NULL or size 0. */
TALLY_API tally_status tally_context_describe(tally_context *context, char *text, size_t size);

/*
 * Replaces the context's tunings by `rows`, a text of which tally keeps no pointer; "" removes
 * them.
 *
 * A tuning is a row of text that gives groups, threads and loads of a launch for a device and a
 * size. src/device/tunings.txt explains the form and has the built-in rows. The context's rows are
 * searched before those. They change the speed of a reduction, never its result. A new context
 * takes the rows of the file tunings.txt in the cache's directory, which `tally tune` writes. Plans
 * made after the call use the new rows.
 *
 * Errors: E_ARGUMENT for NULL, and for a line that is no row: the text has its number. E_MEMORY.
 * After an error nothing has changed.
 */
TALLY_API tally_status tally_context_set_tunings(tally_context *context, const char *rows);

/* ---- buffers and queues ---------------------------------------------------------------------- */

/* Allocates a buffer of `bytes` bytes of device memory (0 is allowed), uninitialised. The caller
 * destroys it. Errors: E_MEMORY, always for more than the device's memory_bytes, with both sizes in
 * the text; E_ARGUMENT. */
TALLY_API tally_status tally_buffer_create(tally_context *context, uint64_t bytes, tally_buffer **out);

/* Makes host memory a buffer, without a copy, on a device whose info says host_memory. The memory
 * stays the caller's and must outlive the buffer. tally reads it as input, and writes it only where
 * the buffer is given as output. `memory` may be NULL for 0 bytes. Errors: E_UNSUPPORTED on a
 * device without host_memory; E_MEMORY as tally_buffer_create; E_ARGUMENT. */
TALLY_API tally_status tally_buffer_wrap_host(tally_context *context, const void *memory, uint64_t bytes, tally_buffer **out);

/* Destroys the buffer. Wrapped memory stays the caller's. */
TALLY_API void tally_buffer_destroy(tally_buffer *buffer);
/* Returns the size of the buffer in bytes; 0 for NULL. */
TALLY_API uint64_t tally_buffer_bytes(const tally_buffer *buffer);

/* Allocates staging: `bytes` bytes of host memory that the device copies to and from at its full
 * speed, and on CUDA without blocking. The caller destroys it, after the copies have ended. Errors:
 * E_MEMORY; E_ARGUMENT. */
TALLY_API tally_status tally_staging_create(tally_context *context, uint64_t bytes, tally_staging **out);
TALLY_API void tally_staging_destroy(tally_staging *staging);
/* Returns the address of the memory; NULL for NULL. */
TALLY_API void *tally_staging_memory(const tally_staging *staging);
/* Returns the staging as a buffer, for results that the host reads without a copy as soon as the
 * queue has been waited for. It belongs to the staging. NULL for NULL, and on a device whose info
 * does not say staging_in_place. */
TALLY_API tally_buffer *tally_staging_buffer(const tally_staging *staging);

/* Creates an in-order queue of the context's device. The caller destroys it. Queues of the
 * caller's own can be wrapped: see tally/cuda.h and tally/opencl.h. Errors: E_ARGUMENT;
 * E_MEMORY; E_DEVICE. */
TALLY_API tally_status tally_queue_create(tally_context *context, tally_queue **out);
/* Destroys the queue. A wrapped queue stays the caller's. */
TALLY_API void tally_queue_destroy(tally_queue *queue);

/* Blocks until all enqueued work has ended. Errors: E_DEVICE if any of it failed; E_ARGUMENT. */
TALLY_API tally_status tally_queue_wait(tally_queue *queue);

/* Enqueue a copy of `bytes` bytes between host memory and the buffer; `offset` is in bytes from the
 * buffer's start. The host memory stays the caller's: it must stay valid and unchanged until the
 * queue has been waited for. On CUDA a copy blocks until it has ended, unless the host memory is
 * staging (tally_staging_create) or otherwise page-locked. Errors: E_ARGUMENT for NULL, for a range
 * outside the buffer and for handles of two contexts; E_DEVICE. */
TALLY_API tally_status tally_buffer_write(tally_queue *queue, tally_buffer *to, uint64_t offset, const void *from,
                                          uint64_t bytes);
TALLY_API tally_status tally_buffer_read(tally_queue *queue, const tally_buffer *from, uint64_t offset, void *to,
                                         uint64_t bytes);

/* ---- time ------------------------------------------------------------------------------------ */

/*
 * Measures how fast the device reads its memory, in bytes per second: the ceiling of every
 * reduction. A kernel that does nothing else reads `bytes` bytes (0: 1 GiB, or a quarter of the
 * memory if that is less). The device's clock times it; the result is the median of 15 runs. The
 * memory is allocated and freed by the call. Blocks. Errors: E_ARGUMENT, E_UNSUPPORTED, E_MEMORY,
 * E_BUILD, E_DEVICE.
 */
TALLY_API tally_status tally_measure_read(tally_context *context, uint64_t bytes, double *bytes_per_second);
/* Measures in the same way how fast the device copies within its memory: the ceiling of every scan.
 * Each of the `bytes` bytes counts twice, once as read and once as written. Errors: as
 * tally_measure_read. */
TALLY_API tally_status tally_measure_copy(tally_context *context, uint64_t bytes, double *bytes_per_second);

/* A mark on a queue. Two marks give the time between them by the device's clock. */
typedef struct tally_event tally_event;
/* Creates an event. The caller destroys it. Errors: E_ARGUMENT; E_MEMORY; E_DEVICE. */
TALLY_API tally_status tally_event_create(tally_context *context, tally_event **out);
/* Destroys the event. */
TALLY_API void tally_event_destroy(tally_event *event);
/* Enqueues the mark. An event may be recorded again. Errors: E_ARGUMENT for NULL and for handles
 * of two contexts; E_DEVICE. */
TALLY_API tally_status tally_event_record(tally_event *event, tally_queue *queue);
/* Blocks until both marks are reached and writes the seconds between them. Errors: E_ARGUMENT for
 * NULL, for an event that was never recorded and for events of two contexts; E_DEVICE on a wrapped
 * OpenCL queue without profiling. */
TALLY_API tally_status tally_event_seconds(tally_event *from, tally_event *to, double *seconds);

#ifdef __cplusplus
}
#endif

#endif
