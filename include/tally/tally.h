/* SPDX-License-Identifier: MIT */
/*
 * tally: parallel reductions on any vendor's device through OpenCL and on NVIDIA through CUDA, with the same bits on all.
 *
 * Every function that can fail returns a tally_status; TALLY_OK is 0. After a failure tally_last_error() holds one line of
 * text for the calling thread, and what *_create and *_wrap_* make is NULL. The library never prints, never exits and never changes the
 * caller's data. (Drivers may print: POCL's compiler writes "1 error generated." to stderr.)
 *
 * Words: a *context* is an opened device; a *buffer* is device memory; a *queue* is a CUDA stream or an OpenCL command queue;
 * a *plan* is a reduction made ready to run (compiled, its workspace taken). Contexts may be shared between threads, plans may
 * be created from any thread; one plan or feed serves one queue and one thread at a time.
 *
 * Destroying: every *_destroy takes NULL. Buffers, queues, plans and feeds keep their context alive, so the order of
 * destruction is free; what is enqueued must have ended (tally_queue_wait) before its plan or buffers are destroyed.
 */
#ifndef TALLY_TALLY_H
#define TALLY_TALLY_H

#include <stddef.h>
#include <stdint.h>

#include <tally/tables.h>

#if defined(TALLY_STATIC) || !defined(__GNUC__)
#define TALLY_API
#else
#define TALLY_API __attribute__((visibility("default")))
#endif

#define TALLY_VERSION "0.1.0"

#ifdef __cplusplus
extern "C" {
#endif

#define TALLY_ROW(id, value, text) TALLY_##id = value,
typedef enum tally_status { TALLY_STATUS_TABLE(TALLY_ROW) TALLY_STATUS_END } tally_status;
#undef TALLY_ROW

#define TALLY_ROW(id, value, name, bytes, kind, compute, summary) TALLY_##id = value,
typedef enum tally_dtype { TALLY_DTYPE_DEFAULT = 0, TALLY_DTYPE_TABLE(TALLY_ROW) TALLY_DTYPE_END } tally_dtype;
#undef TALLY_ROW

#define TALLY_ROW(extra, id, value, name, takes, inputs, accumulate, gives, acc, identity, load, combine, first, second,       \
                  empty, second_empty, exact, additive, params, summary)                                                       \
    TALLY_##id = value,
typedef enum tally_op { TALLY_OP_NONE = 0, TALLY_OP_TABLE(TALLY_ROW, ) TALLY_OP_END } tally_op;
#undef TALLY_ROW

#define TALLY_ROW(id, value, name, summary) TALLY_ACCURACY_##id = value,
typedef enum tally_accuracy { TALLY_ACCURACY_TABLE(TALLY_ROW) TALLY_ACCURACY_END } tally_accuracy;
#undef TALLY_ROW

#define TALLY_ROW(id, value, name, summary) TALLY_CLASS_##id = value,
typedef enum tally_device_class { TALLY_DEVICE_CLASS_TABLE(TALLY_ROW) TALLY_CLASS_END } tally_device_class;
#undef TALLY_ROW

typedef struct tally_context tally_context;
typedef struct tally_buffer tally_buffer;
typedef struct tally_queue tally_queue;
typedef struct tally_plan tally_plan;
typedef struct tally_feed tally_feed;
typedef struct tally_custom_op tally_custom_op;
typedef struct tally_index_plan tally_index_plan;

/* The index that argmin, argmax and iamax of no items give. */
#define TALLY_NO_INDEX UINT64_MAX
/* The most inputs of a custom op, and the most ops of one plan. */
#define TALLY_MAX_INPUTS 4
#define TALLY_MAX_OPS 16

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
TALLY_API const char *tally_op_name(tally_op op);
TALLY_API const char *tally_op_summary(tally_op op);
TALLY_API const char *tally_device_class_name(tally_device_class device_class);
TALLY_API const char *tally_accuracy_name(tally_accuracy accuracy);

/* An item's size in bytes; 0 for a value that is no row. */
TALLY_API size_t tally_dtype_bytes(tally_dtype dtype);

/* Look a name up. Errors: E_ARGUMENT, whose text lists the names there are. */
TALLY_API tally_status tally_dtype_from_name(const char *name, tally_dtype *out);
TALLY_API tally_status tally_op_from_name(const char *name, tally_op *out);

/* The result's type when the caller names none (docs/semantics.md has the table). TALLY_DTYPE_DEFAULT for an op or dtype that is no
 * row, or an op that does not take the dtype: min of c64, say, or band of f32. */
TALLY_API tally_dtype tally_result_dtype(tally_op op, tally_dtype in);

/* How many values of that type the result is, one after the other: 2 for minmax (smallest, largest), else 1; 0 where there is none. */
TALLY_API uint32_t tally_result_count(tally_op op, tally_dtype in);

/* How many inputs the op reads: 1, or 2 (dot, dotc, dist2, allclose); 0 for a value that is no row. */
TALLY_API uint32_t tally_op_inputs(tally_op op);

/* The op's parameter `index` (of var and std: ddof; of allclose: rtol, atol): its name (static text) and, if `value` is not NULL, its
 * default. NULL beyond the last. */
TALLY_API const char *tally_op_param_name(tally_op op, uint32_t index, double *value);

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

/* A variant: one way to reduce. */
typedef struct tally_variant_info {
    const char *name;     /* what tally_reduce_desc.variant takes */
    const char *stem;     /* its kernels: kernels_cl/STEM.cl and backends/cuda/kernels/STEM.cu */
    const char *step;     /* the step of the ladder of optimisations that it shows */
    const char *source;   /* the lecture documents' kernels that it is; "" for tally's own */
    const char *finish;   /* how the groups' values become one: "second stage", "atomic", "host" */
    const char *why;      /* why it exists */
    uint32_t group_items; /* items of a group */
    uint32_t factor;      /* its default factor; 0: it has none */
    int canonical;        /* 1 when it combines in the canonical order (docs/numerics.md) */
} tally_variant_info;

TALLY_API size_t tally_variant_count(void);
/* Errors: E_ARGUMENT for an index that is not below tally_variant_count(). Static texts. */
TALLY_API tally_status tally_variant_get(size_t index, tally_variant_info *out);

/* ---- contexts --------------------------------------------------------------------------------------------------- */

/*
 * Opens a device. What decides, in this order: `select`, if neither NULL nor ""; the environment's TALLY_BACKEND; the default
 * built in ("cuda,opencl"). A selection is a list, tried in order, of BACKEND or BACKEND:DEVICE, where DEVICE is an index or
 * a part of the device's or platform's name, in any case: "cuda:1", "opencl:pocl", "cuda,opencl".
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

/* Device memory of `bytes` bytes (0 is allowed), uninitialised. Errors: E_MEMORY; E_ARGUMENT. */
TALLY_API tally_status tally_buffer_create(tally_context *context, uint64_t bytes, tally_buffer **out);

/* Host memory as a buffer, without a copy, on a device whose info says host_memory. The memory stays the caller's and must
 * outlive the buffer; tally only reads it as input, and writes it only where it is given as output.
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

/* ---- reductions ------------------------------------------------------------------------------------------------- */

/* ---- an operator of one's own ------------------------------------------------------------------------------------- */

/* One field of an accumulator that is a struct. */
typedef struct tally_op_field {
    const char *name;     /* a C identifier */
    tally_dtype type;     /* f32, f64, i32, u32, i64 or u64; 0: as tally_op_desc.acc */
    const char *identity; /* the field's value that changes nothing when combined */
    const char *load;     /* its value for one item */
    const char *combine;  /* of the accumulators a and b, whose fields are a.name and b.name */
} tally_op_field;

/* A constant that the expressions read as p.name; its value is an argument of the kernel, so that a change compiles nothing. */
typedef struct tally_op_param {
    const char *name;
    tally_dtype type; /* f32, f64, i32, u32, i64 or u64; 0: f64 */
    double value;     /* unless tally_plan_set_param says otherwise; converted to the type, which must hold it */
} tally_op_param;

/*
 * An operator by C expressions that mean the same in CUDA C and OpenCL C: C's operators, ?:, casts to f32, f64, i32, u32, i64, u64, and
 * the functions that both have (fabs sqrt exp log fma fmin fmax floor ceil pow sin cos ..., INFINITY, NAN). No braces, no semicolons.
 *
 * Either identity, load and combine are given: the accumulator is one value; or fields: it is a struct. In `load`, x is the item (of
 * further inputs y, z, w) as f32 (also of f16 and bf16), f64, i32 (also of i8 and i16), u32 (u8, u16, bool), i64, u64, or a complex with x.re
 * and x.im; i is its index (u64). In `combine`, a and b are accumulators, a of the items with the lower indices where the order is
 * canonical. In `finish` and `empty`, a is the accumulator and n the number of items (u64). All of them see p, but combine and identity.
 * combine must be associative, or as good as; combine(identity, a) must be a to the bit, or bits may depend on the device.
 */
typedef struct tally_op_desc {
    size_t size;      /* sizeof(tally_op_desc) */
    const char *name; /* for error texts; NULL: "custom" */
    uint32_t inputs;  /* 1 to TALLY_MAX_INPUTS; 0: 1. All are of the plan's item type */
    tally_dtype acc;  /* the accumulator's type; 0: f32 or f64 for floats, i64 or u64 for integers */
    const char *identity, *load, *combine;
    const tally_op_field *fields; /* NULL: a scalar accumulator */
    uint32_t field_count;         /* 16 at most */
    const tally_op_param *params;
    uint32_t param_count; /* 16 at most */
    const char *finish;   /* the result; NULL: a, of a scalar accumulator */
    const char *empty;    /* the result for n = 0; NULL: finish of the identity */
    tally_dtype out;      /* the result's type; 0: acc */
    int exact;            /* 1: the result does not depend on the order of combination */
} tally_op_desc;

/* Makes an operator; every text is copied. What a text lacks or has too much is told here, what does not compile by tally_plan_create,
 * with E_BUILD and the compiler's words about the expression. Errors: E_ARGUMENT; E_MEMORY. */
TALLY_API tally_status tally_op_create(const tally_op_desc *desc, tally_custom_op **out);
/* Plans made of it keep working. */
TALLY_API void tally_op_destroy(tally_custom_op *op);

/* ---- plans --------------------------------------------------------------------------------------------------------- */

/* What to reduce. Zeroed members mean their defaults; unknown larger sizes are refused, smaller ones filled with defaults. */
typedef struct tally_reduce_desc {
    size_t size; /* sizeof(tally_reduce_desc) */
    tally_op op;
    tally_dtype in; /* the items' type */
    tally_dtype
        out; /* the result's type, to which it is converted; 0: tally_result_dtype(op, in). Real and complex, and floats and
                      * integers, do not mix, but that an integer may become a float */
    uint64_t max_n;          /* the most items that tally_reduce will be given; 0: as many as the device's memory holds */
    const char *variant;     /* a row of tally_variant_get; NULL or "auto": the default for the device's class */
    uint32_t group_items;    /* items of a group, a power of two; 0: the variant's. A canonical result does not depend on it */
    uint32_t factor;         /* items that each item combines in sequence first, for variants with a factor; 0: the variant's */
    tally_dtype acc;         /* what floats accumulate in; 0: f32, or f64 for f64 and (mean, var, ...) integers; TALLY_F64 */
    tally_accuracy accuracy; /* of sum, asum, sumsq, mean and dot of floats */
    const tally_op *ops;     /* several ops over one pass, in place of `op`: op must be 0, out too */
    uint32_t op_count;       /* TALLY_MAX_OPS at most */
    const tally_custom_op *custom; /* an operator of one's own, in place of `op` */
} tally_reduce_desc;

/*
 * Compiles the reduction, or finds it in the cache, and takes all the memory that it will need: for a canonical variant at most
 * 4 MiB + max_n / 512 bytes of device memory; tree_global takes an accumulator for each item, host_finish one for each group. Blocks.
 * Errors: E_ARGUMENT for a descriptor that makes no sense, an unknown variant (the text lists them); E_UNSUPPORTED when the device
 * cannot run it (no f64, groups too large, too little local memory, no such atomics); E_BUILD; E_MEMORY.
 */
TALLY_API tally_status tally_plan_create(tally_context *context, const tally_reduce_desc *desc, tally_plan **out);
TALLY_API void tally_plan_destroy(tally_plan *plan);

/* The variant that the plan runs: static text. */
TALLY_API const char *tally_plan_variant(const tally_plan *plan);
/* The most combinations that any one of n items passes through: the k of the bound on a float sum's error (docs/numerics.md). */
TALLY_API uint64_t tally_plan_depth(const tally_plan *plan, uint64_t n);
/* The result's bytes, and where in it the value `index` is: values are laid out as the members of a C struct, in the order of the ops,
 * a result of two values as two members. result: its dtype, its offset in bytes; the op that it is of. 0 beyond the last. */
TALLY_API uint64_t tally_plan_result_bytes(const tally_plan *plan);
typedef struct tally_result_info {
    tally_dtype dtype;
    uint32_t offset; /* bytes */
    uint32_t op;     /* the index of its op in desc.ops; 0 for a single op */
} tally_result_info;
TALLY_API int tally_plan_result(const tally_plan *plan, uint32_t index, tally_result_info *result);
/* Sets a parameter of the plan's op (or of all its ops that have it) for the calls that follow; nothing is compiled.
 * Errors: E_ARGUMENT for a name that none of them has: the text lists those there are; for a value that the parameter's integer
 * type cannot hold. */
TALLY_API tally_status tally_plan_set_param(tally_plan *plan, const char *name, double value);
/* Device memory that the plan holds, in bytes. */
TALLY_API uint64_t tally_plan_workspace_bytes(const tally_plan *plan);

/*
 * Enqueues the reduction of n items of `in` into one value of the result's type in `out`: no allocation, no synchronisation (but the
 * variant host_finish waits for its partials).
 * The offsets of tally_reduce_at are in items of the input's and of the result's type; no alignment beyond the item's own is needed.
 * The same plan must not run on two queues at once. n = 0 gives the op's value for no items.
 * Errors: E_ARGUMENT for NULL, handles of another context, n above max_n, a range outside a buffer, input and output that overlap.
 */
TALLY_API tally_status tally_reduce(tally_plan *plan, tally_queue *queue, const tally_buffer *in, uint64_t n,
                                    tally_buffer *out);
TALLY_API tally_status tally_reduce_at(tally_plan *plan, tally_queue *queue, const tally_buffer *in, uint64_t in_offset,
                                       uint64_t n, tally_buffer *out, uint64_t out_offset);

/* The same for a plan of several inputs: as many buffers (and offsets; NULL: all 0) as the op has inputs.
 * Errors also: E_ARGUMENT when one of the inputs holds fewer than n items. */
TALLY_API tally_status tally_reduce_inputs(tally_plan *plan, tally_queue *queue, const tally_buffer *const *in,
                                           const uint64_t *in_offsets, uint64_t n, tally_buffer *out, uint64_t out_offset);

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

/* Host array in, value out: *result is of type tally_result_dtype(op, dtype), tally_result_count of
 * them. Blocks. Any n; items that the device cannot hold are streamed through it. A device with
 * host_memory uses the array in place. On a CPU the calling thread itself reduces few items of f32,
 * f64, i32 or i64 (4,096 to 131,072 at most, by what they cost), to the same bits, without a call of
 * the driver. The context keeps plan, queue and memory of the last calls (8 at most, of 320 MiB;
 * tally_context_describe tells) until it goes or gets new tunings: a call of the same kind, of about
 * as many items, makes nothing. Threads may share the context. */
TALLY_API tally_status tally_reduce_host(tally_context *context, tally_op op, tally_dtype dtype, const void *items, uint64_t n,
                                         void *result);

/* The same for any descriptor (max_n is ignored): one array for each input, the result laid out as tally_plan_result says. What says more than op
 * and in (variant "auto", say) is always the device's. */
TALLY_API tally_status tally_reduce_host_inputs(tally_context *context, const tally_reduce_desc *desc, const void *const *items,
                                                uint64_t n, void *result);

/*
 * A feed reduces host items that come in pieces, in order, of any lengths: a file, a pipe, more than the device can hold. The
 * bits are those of one tally_reduce over all of them. Copies overlap kernels. desc->max_n is the number of items that
 * the staging holds (0: 32 MiB worth); desc->variant must be canonical.
 */
TALLY_API tally_status tally_feed_create(tally_context *context, const tally_reduce_desc *desc, tally_feed **out);
/* Adds n items; `items` may be reused when it returns. */
TALLY_API tally_status tally_feed_push(tally_feed *feed, const void *items, uint64_t n);
/* Adds the last n items (NULL and 0 if there are none), waits, writes the result, and makes the feed ready for a new start. */
TALLY_API tally_status tally_feed_finish(tally_feed *feed, const void *items, uint64_t n, void *result);
/* The same for several inputs: one array for each, n items of each. */
TALLY_API tally_status tally_feed_push_inputs(tally_feed *feed, const void *const *items, uint64_t n);
TALLY_API tally_status tally_feed_finish_inputs(tally_feed *feed, const void *const *items, uint64_t n, void *result);
/* The feed's plan, for tally_plan_result, tally_plan_set_param and the like; it stays the feed's. */
TALLY_API tally_plan *tally_feed_plan(tally_feed *feed);
TALLY_API void tally_feed_destroy(tally_feed *feed);

/* ---- scans ------------------------------------------------------------------------------------------------------------ */

/* tally_scan_desc.flags */
enum {
    TALLY_EXCLUSIVE = 1, /* out[i] is of the items before item i; else item i is among them */
    TALLY_REVERSE = 2    /* the items are taken from the last to the first: `before` and `first` below then mean that order */
};

/* How tally_scan is told where segments begin, each of which is a scan of its own. */
typedef enum tally_segments {
    TALLY_SEGMENTS_NONE,
    TALLY_SEGMENTS_FLAGS, /* a u8 for each item: nonzero at each segment's lowest item, in a reverse scan too */
    TALLY_SEGMENTS_OFFSETS /* u64s: the indices of segments' lowest items, in any order; equal ones are one, those from n on are ignored */
} tally_segments;

/* What to scan. Zeroed members mean their defaults; members with the names of tally_reduce_desc's mean the same. */
typedef struct tally_scan_desc {
    size_t size; /* sizeof(tally_scan_desc) */
    tally_op op; /* of one input */
    tally_dtype in, out;
    uint64_t max_n;
    const char *variant; /* a row of tally_scan_variant_get; NULL or "auto": the default for the device */
    tally_dtype acc;
    tally_accuracy accuracy;
    const tally_custom_op *custom; /* in place of `op` */
    uint32_t flags;                /* TALLY_EXCLUSIVE, TALLY_REVERSE */
    tally_segments segments;
    const void *
        initial; /* an item (of type `in`, read by tally_scan_plan_create) that comes before the first of each segment; NULL: none. Only
                          * of exclusive scans, whose first value it is; E_UNSUPPORTED with argmin, argmax, iamax */
} tally_scan_desc;

/*
 * Compiles a scan, or finds it in the cache, and takes all the memory that it will need (tally_plan_workspace_bytes). Blocks. What is made is
 * a plan: tally_plan_variant, tally_plan_result (of each value), tally_plan_set_param, tally_plan_depth and tally_plan_destroy take it.
 * Errors: as tally_plan_create; E_UNSUPPORTED for an op of two inputs, and for an initial value with argmin, argmax or iamax.
 */
TALLY_API tally_status tally_scan_plan_create(tally_context *context, const tally_scan_desc *desc, tally_plan **out);

/*
 * Enqueues the scan of n items of `in` into n values of the result's type in `out`: out[i] is the op's result of the items up to item i (an
 * exclusive scan: of those before it; of none it is `initial`, or what the op gives for n = 0). No allocation, no synchronisation.
 * In place: `out` may be `in`, at the same byte, if a value is as wide as an item; else they must not overlap. Bits: docs/numerics.md has the
 * order of combination, a function of the items' indices (and of where segments begin); value i depends on no later item.
 * Errors: E_ARGUMENT as tally_reduce, for a plan that is no scan's, and for one with segments.
 */
TALLY_API tally_status tally_scan(tally_plan *plan, tally_queue *queue, const tally_buffer *in, uint64_t n, tally_buffer *out);
TALLY_API tally_status tally_scan_at(tally_plan *plan, tally_queue *queue, const tally_buffer *in, uint64_t in_offset,
                                     uint64_t n, tally_buffer *out, uint64_t out_offset);
/* The same for a plan with segments: `segments` holds n flags, or `count` offsets (count is ignored for flags); its offset is in u8s or u64s. It
 * must not overlap `out`. */
TALLY_API tally_status tally_scan_segments(tally_plan *plan, tally_queue *queue, const tally_buffer *in, uint64_t in_offset,
                                           const tally_buffer *segments, uint64_t segments_offset, uint64_t count, uint64_t n,
                                           tally_buffer *out, uint64_t out_offset);

/* Continues: the items of this call come after those of the plan's calls before it, since the last tally_scan, as if all were one input; so far
 * they must be whole blocks of TALLY_SCAN_BLOCK items. For what does not fit the device's memory. Errors also: E_ARGUMENT where they are not;
 * E_UNSUPPORTED for a reverse scan. `segments`: NULL for a plan without; flags alone. */
#define TALLY_SCAN_BLOCK 131072
TALLY_API tally_status tally_scan_next(tally_plan *plan, tally_queue *queue, const tally_buffer *in, uint64_t in_offset,
                                       const tally_buffer *segments, uint64_t segments_offset, uint64_t n, tally_buffer *out,
                                       uint64_t out_offset);

/* The ways to scan, as tally_variant_get has those to reduce. Errors: E_ARGUMENT for an index that is not below the count. Static texts. */
TALLY_API size_t tally_scan_variant_count(void);
TALLY_API tally_status tally_scan_variant_get(size_t index, tally_variant_info *out);

/* ---- gather and scatter ------------------------------------------------------------------------------------------------- */

/* tally_index_desc.flags */
enum {
    TALLY_UNCHECKED = 1,    /* entries are not compared with what there is: one out of bounds is undefined behaviour */
    TALLY_SCATTER_LAST = 2, /* of entries that name the same item of `out` the last one's is written; takes max_out */
    TALLY_STENCIL = 4       /* the calls bring a stencil: entry i is heeded only where stencil[i], a u8, is not zero */
};

/* How items are to be moved. Zeroed members mean their defaults. */
typedef struct tally_index_desc {
    size_t size;         /* sizeof(tally_index_desc) */
    uint32_t item_bytes; /* of an item: 1 to 16, any whole number */
    tally_dtype map;     /* i32, u32, i64 or u64; an entry below 0 is out of bounds */
    uint32_t flags;
    uint64_t max_n;   /* the most entries of a call; 0: as many as the device's memory holds */
    uint64_t max_out; /* TALLY_SCATTER_LAST: the most items of `out` of a call; else ignored */
} tally_index_desc;

/*
 * Compile a gather or a scatter, or find it in the cache, and take all the memory that it will need: a word unless UNCHECKED; for SCATTER_LAST
 * 4 bytes for each of max_out items, or 8 if max_n is above 2^32 - 1. Block. A plan serves one queue and one thread at a time.
 * Errors: E_ARGUMENT for a descriptor that makes no sense; E_UNSUPPORTED where positions need 8 bytes and the device has no atomics on
 * such words (UNCHECKED without SCATTER_LAST needs none), or fails its self-test; E_BUILD; E_MEMORY.
 */
TALLY_API tally_status tally_gather_plan_create(tally_context *context, const tally_index_desc *desc, tally_index_plan **out);
TALLY_API tally_status tally_scatter_plan_create(tally_context *context, const tally_index_desc *desc, tally_index_plan **out);
TALLY_API void tally_index_plan_destroy(tally_index_plan *plan);
/* Device memory that the plan holds, in bytes. */
TALLY_API uint64_t tally_index_plan_workspace_bytes(const tally_index_plan *plan);
/* The position in the map, from map_offset on, of the lowest entry out of bounds of the plan's last call; TALLY_NO_INDEX: there was none. */
TALLY_API uint64_t tally_index_plan_bad(const tally_index_plan *plan);

/* What to move. Offsets are in items, of the map in entries; no alignment is needed beyond that of an entry. */
typedef struct tally_index_args {
    size_t size; /* sizeof(tally_index_args) */
    const tally_buffer *map;
    uint64_t map_offset, n; /* n entries */
    const tally_buffer *in;
    uint64_t in_offset;
    const tally_buffer *stencil; /* n u8s; NULL for a plan without TALLY_STENCIL, and only then */
    uint64_t stencil_offset;
    tally_buffer *out;
    uint64_t out_offset;
    uint64_t items; /* of `in` (gather) or `out` (scatter) that the map may name: entries from it on are out of bounds */
} tally_index_args;

/*
 * Gather: out[i] = in[map[i]]; scatter: out[map[i]] = in[i]; for i from 0 to n - 1. What no entry names stays as it was. A scatter's entries may name an
 * item twice: it gets one of the values written, and with TALLY_SCATTER_LAST that of the highest i; without, an item that is not one word (of
 * 1, 2, 4 or 8 bytes, at an address that is a multiple of its size) may get some words of each (docs/primitives.md).
 *
 * With TALLY_UNCHECKED: enqueued; no allocation, no synchronisation. Else the call blocks until it is done: entries out of bounds move
 * nothing, nothing outside is read or written, the others are moved all the same, and the call fails with E_ARGUMENT, whose text has the
 * first position that is out of bounds, and the entry there.
 * Errors: E_ARGUMENT for NULL, handles of another context, the other kind of plan, n or items above the plan's, a range outside a buffer,
 * `out` that overlaps what is read.
 */
TALLY_API tally_status tally_gather(tally_index_plan *plan, tally_queue *queue, const tally_index_args *args);
TALLY_API tally_status tally_scatter(tally_index_plan *plan, tally_queue *queue, const tally_index_args *args);

#ifdef __cplusplus
}
#endif

#endif
