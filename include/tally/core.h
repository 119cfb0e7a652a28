/* SPDX-License-Identifier: MIT */
/*
 * tally/core.h: statuses and types; what is here; contexts, buffers, queues; time.
 */
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

/* Every call that can fail returns one of these; tally_last_error() has the particulars. */
typedef enum tally_status {
    TALLY_OK = 0,
    TALLY_E_ARGUMENT = 1,    /* an argument is wrong: NULL, out of range, of another context, of no known name */
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
    TALLY_DTYPE_DEFAULT = 0, /* in descriptors: what the op gives */
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

/* The kinds of types. */
typedef enum tally_kind {
    TALLY_KIND_FLOAT = 0,
    TALLY_KIND_SIGNED = 1,   /* integers */
    TALLY_KIND_UNSIGNED = 2, /* integers */
    TALLY_KIND_BOOL = 3,
    TALLY_KIND_COMPLEX = 4
} tally_kind;

/* The kinds of machines; they decide the shape of the kernels. */
typedef enum tally_device_class {
    TALLY_CLASS_GPU = 1,   /* many groups of many threads; local memory */
    TALLY_CLASS_CPU = 2,   /* few groups of one thread; wide vectors; host memory used in place */
    TALLY_CLASS_OTHER = 3, /* accelerators; served with the GPU's kernels */
    TALLY_CLASS_END
} tally_device_class;

typedef struct tally_context tally_context;
typedef struct tally_buffer tally_buffer;
typedef struct tally_queue tally_queue;

/* ---- errors and names ------------------------------------------------------------------------------------------- */

/* The library's version, as TALLY_VERSION was when it was built. Static text. */
TALLY_API const char *tally_version(void);

/* The last failure's text in this thread: the call, the object, the driver's name and number, the head of a build log. "" if
 * nothing has failed yet. The text lives until the thread's next failure. */
TALLY_API const char *tally_last_error(void);

/* Static names and summaries of the tables' rows; NULL for a value that is no row. */
TALLY_API const char *tally_status_name(tally_status status);
TALLY_API const char *tally_status_text(tally_status status);
TALLY_API const char *tally_dtype_name(tally_dtype dtype);
TALLY_API const char *tally_device_class_name(tally_device_class device_class);

/* An item's size in bytes; 0 for a value that is no dtype. */
TALLY_API size_t tally_dtype_bytes(tally_dtype dtype);
/* The type's kind. dtype must be one. */
TALLY_API tally_kind tally_dtype_kind(tally_dtype dtype);

/* Look a name up. Errors: E_ARGUMENT, whose text lists the names there are. */
TALLY_API tally_status tally_dtype_from_name(const char *name, tally_dtype *out);

/* ---- what is here ----------------------------------------------------------------------------------------------- */

/* A device as its driver describes it. */
typedef struct tally_device_info {
    char backend[16]; /* "cuda", "opencl" */
    int index;        /* within its backend, as in TALLY_BACKEND=opencl:1; GPUs come before CPUs; -1: adopted */
    tally_device_class device_class;
    char name[128];
    char platform[128];       /* OpenCL: the platform's name; CUDA: "NVIDIA CUDA" */
    char driver[128];         /* the driver's version: part of the key of the program cache */
    char build_options[160];  /* what every kernel is compiled with: likewise part of the key */
    uint32_t compute_units;   /* multiprocessors, cores */
    uint32_t max_group_items; /* the largest group */
    uint64_t memory_bytes;
    uint64_t max_buffer_bytes; /* the largest single buffer */
    uint64_t local_bytes;      /* local memory of a group */
    int has_atomic64;          /* 1 when it has atomics on 64-bit words */
    int has_f64;               /* 1 when the device computes in f64 */
    int host_memory;           /* 1 when the device reads host memory in place, at full speed, without a copy */
} tally_device_info;

/* A backend that this library was built with. */
typedef struct tally_backend_info {
    char name[16];
    int devices;      /* how many it has here; 0 is no error */
    char reason[256]; /* why there are none; "" otherwise */
} tally_backend_info;

TALLY_API size_t tally_backend_count(void);
/* Errors: E_ARGUMENT for an index that is not below tally_backend_count(). */
TALLY_API tally_status tally_backend_get(size_t index, tally_backend_info *out);
/* Errors: E_ARGUMENT for an unknown backend, E_NO_DEVICE for an index it does not have. */
TALLY_API tally_status tally_device_get(const char *backend, int index, tally_device_info *out);

/* ---- contexts --------------------------------------------------------------------------------------------------- */

/*
 * Opens a device. What decides, in this order: `select`, if neither NULL nor ""; the environment's TALLY_BACKEND; the default
 * built in ("cuda,opencl"). A selection is a list, tried in order, of BACKEND or BACKEND:DEVICE, where DEVICE is an index or
 * a part of the device's or platform's name: "cuda:1", "opencl:pocl", "cuda,opencl". All names may be in any case: "CUDA:1".
 * Errors: E_ARGUMENT for a selection that is not of this form or names an unknown backend; E_NO_DEVICE when nothing in the list
 * is here: the text says what is. The caller destroys the context.
 */
TALLY_API tally_status tally_context_create(const char *select, tally_context **out);
TALLY_API void tally_context_destroy(tally_context *context);

typedef struct tally_context_info {
    tally_device_info device;
    char chosen_by[64];             /* "argument", "TALLY_BACKEND", "default", "native handles" */
    char selection[128];            /* the selection that was followed */
    char cache_dir[512];            /* the program cache on disk; "" when there is none */
    char cache_note[256];           /* why there is none; "" otherwise */
    uint64_t programs_built;        /* compiled from source by this context */
    uint64_t programs_from_disk;    /* loaded from the cache on disk */
    uint64_t programs_from_memory;  /* found in this context */
    uint64_t cache_entries_damaged; /* entries on disk that failed their checksum or the driver, and were built anew */
    uint64_t programs_prebuilt;     /* compiled when the library was built (docs/backends.md) */
    uint64_t host_plans_made;       /* by tally_reduce_host and tally_reduce_host_inputs */
    uint64_t host_plans_reused;     /* calls of these that took plan and memory of an earlier one */
    uint64_t host_plans_kept;       /* for calls to come: 8 at most */
    uint64_t host_bytes_kept;       /* memory that these hold, host and device: 320 MiB at most */
} tally_context_info;

/* A snapshot of the context. Errors: E_ARGUMENT for NULL. */
TALLY_API tally_status tally_context_get_info(tally_context *context, tally_context_info *out);

/* The same as text, "key: value" lines: what was chosen and why, the device, the caches and their counters. Truncated to `size`
 * bytes with the final 0. Errors: E_ARGUMENT for NULL or size 0. */
TALLY_API tally_status tally_context_describe(tally_context *context, char *text, size_t size);

/*
 * Tunings: rows of text that say which shape of launch suits which plan, looked at before the library's own; src/tunings.txt has their form and
 * those. They change a reduction's speed and never its result. A context takes the rows of the file tunings.txt in the cache's directory,
 * which `tally tune` writes; this puts others in their place, for plans made from now on ("": none). Errors: E_ARGUMENT, with the number of the
 * first line that is no row; nothing is changed then.
 */
TALLY_API tally_status tally_context_set_tunings(tally_context *context, const char *rows);

/* ---- buffers and queues ----------------------------------------------------------------------------------------- */

/* Device memory of `bytes` bytes (0 is allowed), uninitialised. Errors: E_MEMORY, always for more
 * than the info's memory_bytes, with both sizes in the text; E_ARGUMENT. */
TALLY_API tally_status tally_buffer_create(tally_context *context, uint64_t bytes, tally_buffer **out);

/* Host memory as a buffer, without a copy, on a device whose info says host_memory. The memory stays the caller's and must
 * outlive the buffer; tally only reads it as input, and writes it only where it is given as output. `memory` may be NULL for 0 bytes.
 * Errors: E_UNSUPPORTED on another device. */
TALLY_API tally_status tally_buffer_wrap_host(tally_context *context, const void *memory, uint64_t bytes, tally_buffer **out);

TALLY_API void tally_buffer_destroy(tally_buffer *buffer);
TALLY_API uint64_t tally_buffer_bytes(const tally_buffer *buffer);

/* An in-order queue of the context's device. Queues may be wrapped too: tally/cuda.h, tally/opencl.h. */
TALLY_API tally_status tally_queue_create(tally_context *context, tally_queue **out);
TALLY_API void tally_queue_destroy(tally_queue *queue);

/* Blocks until everything enqueued has ended. Errors: E_DEVICE if any of it failed. */
TALLY_API tally_status tally_queue_wait(tally_queue *queue);

/* Enqueue a copy of `bytes` bytes; `offset` is in bytes. The host memory must stay valid and unchanged until the queue has been
 * waited for. Errors: E_ARGUMENT for a range outside the buffer or handles of two contexts. */
TALLY_API tally_status tally_buffer_write(tally_queue *queue, tally_buffer *to, uint64_t offset, const void *from,
                                          uint64_t bytes);
TALLY_API tally_status tally_buffer_read(tally_queue *queue, const tally_buffer *from, uint64_t offset, void *to,
                                         uint64_t bytes);

/* ---- time ------------------------------------------------------------------------------------------------------- */

/* What the device reads from its memory, in bytes per second: a kernel that does nothing else, over `bytes` bytes (0: 1 GiB, or a
 * quarter of the memory if that is less), timed by the device's clock; the median of 15 runs. Blocks. The ceiling of every reduction.
 * Errors: E_MEMORY, E_BUILD, E_DEVICE. */
TALLY_API tally_status tally_measure_read(tally_context *context, uint64_t bytes, double *bytes_per_second);
/* What it copies within its memory, `bytes` from one place to another, each counted twice: read and written. The ceiling of every scan. */
TALLY_API tally_status tally_measure_copy(tally_context *context, uint64_t bytes, double *bytes_per_second);

/* The time between two marks on a queue, by the device's clock. */
typedef struct tally_event tally_event;
TALLY_API tally_status tally_event_create(tally_context *context, tally_event **out);
TALLY_API void tally_event_destroy(tally_event *event);
/* Enqueues a mark. An event may be recorded again. */
TALLY_API tally_status tally_event_record(tally_event *event, tally_queue *queue);
/* Blocks until both marks are reached. Errors: E_DEVICE on a wrapped OpenCL queue without profiling. */
TALLY_API tally_status tally_event_seconds(tally_event *from, tally_event *to, double *seconds);

#ifdef __cplusplus
}
#endif

#endif
