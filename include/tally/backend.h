/* SPDX-License-Identifier: MIT */
/*
 * tally/backend.h: the vtable, for authors of backends. A backend is one const tally_backend: a
 * small interface to devices, memory, queues, programs and launches. It knows nothing of operators,
 * types, variants or primitives: the core plans and specialises those, so a new one needs no new
 * slot.
 *
 * Rules:
 * - No slot is optional: a slot answers TALLY_E_UNSUPPORTED, with a text, for what the device
 *   cannot do.
 * - The object comes first among the arguments, outputs last. Outputs are written only on TALLY_OK.
 * - Objects are opaque pointers of the backend.
 * - A slot that fails calls tally_fail() once, with the driver's call, name and number, and returns
 *   its code. The core passes both on unchanged.
 * - The core has checked the arguments.
 * - A program of several ops comes with the texts that each op would have alone, for a backend that
 *   puts it together from these.
 * - "No driver" and "no device" are a count of zero with a reason, never an error.
 * - Any thread may call a slot. Calls on one queue, kernel or event come from one thread at a time.
 * - A slot leaves the thread's driver state (CUDA's current context) as it found it.
 * - The ABI number is first. New slots are added at the end and none is removed; each raises it.
 */
#ifndef TALLY_BACKEND_H
#define TALLY_BACKEND_H

#include <tally/tally.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TALLY_BACKEND_ABI 5

#if defined(__GNUC__)
#define TALLY_PRINTF(text, rest) __attribute__((format(printf, text, rest)))
#else
#define TALLY_PRINTF(text, rest)
#endif

/* Sets the thread's error text and returns `status`, so that one line fails: return
 * tally_fail(TALLY_E_DEVICE, "cuLaunchKernel: %s (%d)", ...); */
TALLY_API tally_status tally_fail(tally_status status, const char *format, ...) TALLY_PRINTF(2, 3);

/*
 * Converts a value of a real type to another. To a float it rounds once, to nearest even, with one
 * NaN for each type, as kernels store results. To an integer it drops a float's fraction, and takes
 * an integer modulo the type's range. True is what is not 0. A value of the same type, which may be
 * complex, is copied. The pointers need no alignment. Errors: E_ARGUMENT for a float beyond an
 * integer type's range, and for complex types that differ.
 */
TALLY_API tally_status tally_value_convert(tally_dtype from, const void *value, tally_dtype to, void *out);

/* The kinds of memory that mem_open takes; each says what `handle` is. */
typedef enum tally_mem_kind {
    TALLY_MEM_DEVICE = 1, /* ignored; new device memory */
    TALLY_MEM_NATIVE = 2, /* the caller's memory object of the driver; bytes 0: ask the driver */
    TALLY_MEM_HOST = 3,   /* the caller's host memory, used in place; needs host_memory */
    TALLY_MEM_STAGING = 4 /* ignored; new host memory that copies fast to the device. With
                             staging_in_place kernels take it as they take device memory */
} tally_mem_kind;

/* Where memory lies. Two of them share bytes only if `memory` is equal and their ranges from
 * `offset` on overlap. With NULL for `memory`, `offset` is an address. */
typedef struct tally_mem_place {
    const void *memory;
    uint64_t offset; /* in bytes */
} tally_mem_place;

/* The forms of a program; each says what `data` is. */
typedef enum tally_program_form {
    TALLY_PROGRAM_SOURCE = 1,  /* source in the backend's kernel language */
    TALLY_PROGRAM_BINARY = 2,  /* the bytes that program_binary gave */
    TALLY_PROGRAM_PREBUILT = 3 /* source; the backend may have its machine code from the build */
} tally_program_form;

/* An op of a program of several ops over the same items: the text of the program that it would have
 * alone, and where its own lies in an accumulator, a result and the parameters of all, in bytes. */
typedef struct tally_program_part {
    const char *text;
    size_t bytes;
    uint32_t acc_offset, result_offset, param_offset;
} tally_program_part;

/* The form of a program of segments, for a backend that puts it together from parts. */
typedef struct tally_segment_form {
    uint32_t offset_bytes; /* by offsets: 4 or 8; 0: by axes */
    uint32_t has_number;   /* the number of segments is in the device's memory */
    uint32_t has_where;
    uint32_t has_initial;
    uint32_t apart; /* each op has an output of its own */
    uint32_t axes;  /* of a SHAPE */
    uint32_t inputs;
} tally_segment_form;

/* A program to make, and its needs beyond the language. */
typedef struct tally_program_desc {
    tally_program_form form;
    const void *data;
    size_t bytes;
    int sub_groups; /* 1: its kernels exchange values within OpenCL sub-groups */
    /* 1: its kernels wait by themselves for the work before them, so a launch may begin before that
     * has ended. */
    int overlaps;
    /* The ops, where there are several, or of a program of segments; else 0. Those of segments have
     * the texts of plain reductions. */
    uint32_t part_count;
    const tally_program_part *parts;
    const tally_segment_form *segments; /* NULL: no program of segments */
    uint32_t acc_bytes, result_bytes;   /* of all parts */
} tally_program_desc;

/* An argument of a kernel: memory, or a value of `bytes` bytes. Memory may have a hint for caches:
 * the launch, or all launches of its call together, read `read_bytes` bytes from byte `read_from`
 * on, most of them once, and write none of them. Without a hint both are 0. */
typedef struct tally_arg {
    void *mem; /* the backend's memory object; NULL: a value */
    const void *value;
    size_t bytes;
    uint64_t read_from, read_bytes;
} tally_arg;

/* The most arguments of a launch: four inputs and sixteen outputs, each with its offset, and what a
 * reduction of segments takes besides. */
#define TALLY_MAX_ARGS 72

/* A backend: its name and its slots. */
typedef struct tally_backend {
    uint32_t abi;     /* TALLY_BACKEND_ABI */
    const char *name; /* lower case, as in TALLY_BACKEND */

    /* Devices. device_count gives the number of devices, GPUs before CPUs; with none, `reason` says
     * why. It starts the driver once. */
    tally_status (*device_count)(int *count, char *reason, size_t reason_bytes);
    tally_status (*device_info)(int index, tally_device_info *info);
    /* Opens device `index` and describes it in `info`. If native_context is not NULL, the device
     * adopts the caller's native handles instead (CUDA: the device is the context's own and
     * native_device is NULL). */
    tally_status (*device_open)(int index, void *native_context, void *native_device, tally_device_info *info, void **device);
    void (*device_close)(void *device);

    /* Memory. mem_open writes the size to *bytes: the size asked for, or the driver's for NATIVE
     * with 0. mem_pointer returns the native handle of DEVICE, NATIVE and HOST memory (CUDA: the
     * address; OpenCL: the cl_mem), and the host address of STAGING memory. mem_place tells wrapped
     * memory that lies within other memory. */
    tally_status (*mem_open)(void *device, tally_mem_kind kind, void *handle, uint64_t *bytes, void **mem);
    void (*mem_close)(void *device, void *mem);
    void *(*mem_pointer)(void *mem);
    tally_mem_place (*mem_place)(void *mem);

    /* Queues, all in order. With `wrap`, `native` is the caller's queue, and NULL is CUDA's default
     * stream. Without it, native is NULL and a new queue is made. */
    tally_status (*queue_open)(void *device, int wrap, void *native, void **queue);
    void (*queue_close)(void *device, void *queue);
    tally_status (*queue_wait)(void *queue);
    void *(*queue_native)(void *queue);

    /* Copies; both enqueue. Offsets and lengths are in bytes. The host memory stays valid until the
     * queue has been waited for. */
    tally_status (*copy_in)(void *queue, void *mem, uint64_t offset, const void *host, uint64_t bytes);
    tally_status (*copy_out)(void *queue, void *mem, uint64_t offset, void *host, uint64_t bytes);

    /* Programs. kernel_source returns the text of a stem, 0-terminated, or NULL if there is none.
     * program_create with PREBUILT must be cheap; if nothing is prebuilt, it returns E_UNSUPPORTED
     * without a text, which is no failure. program_binary is not called for prebuilt programs; the
     * caller frees its memory with free(). */
    const char *(*kernel_source)(const char *stem);
    tally_status (*program_create)(void *device, const tally_program_desc *desc, void **program);
    tally_status (*program_binary)(void *device, void *program, void **data, size_t *bytes);
    void (*program_close)(void *device, void *program);

    /* Kernels. A kernel object belongs to one plan. launch enqueues `groups` groups of `threads`
     * threads, with TALLY_MAX_ARGS arguments at most. */
    tally_status (*kernel_create)(void *device, void *program, const char *entry, void **kernel);
    void (*kernel_close)(void *device, void *kernel);
    tally_status (*launch)(void *queue, void *kernel, uint64_t groups, uint32_t threads, uint32_t count, const tally_arg *args);

    /* Time, by the device's clock. event_record enqueues a mark. event_seconds waits for both
     * marks. */
    tally_status (*event_create)(void *device, void **event);
    void (*event_close)(void *device, void *event);
    tally_status (*event_record)(void *queue, void *event);
    tally_status (*event_seconds)(void *from, void *to, double *seconds);
} tally_backend;

/* Adds a backend to those built in. It stays the caller's and must stay valid. Call it before all
 * other calls: it is not thread-safe. Errors: E_ARGUMENT for NULL, another ABI, a missing slot, a
 * name of a wrong length or already taken, and for more than 8 backends. */
TALLY_API tally_status tally_backend_register(const tally_backend *backend);

#ifdef __cplusplus
}
#endif

#endif
