/* SPDX-License-Identifier: MIT */
/*
 * tally/backend.h: the vtable, for authors of backends. A backend is one const tally_backend: a small device interface. It knows
 * devices, memory, queues, programs and launches; it knows nothing of operators, types, variants or primitives, which the core
 * plans and specialises, so that a new one of those needs no new slot.
 *
 * Rules. No slot is optional. What a slot works on comes first, its outputs last; outputs are written only on TALLY_OK. Objects are
 * opaque pointers of the backend. A slot that fails calls tally_fail() once, with the driver's call, name and number, and returns
 * its code; the core passes both on unmasked. Arguments were checked by the core. "No driver" and "no device" are a count of zero
 * with a reason, never an error. Slots may be called from any thread; calls on one queue, kernel or event come from one at a time.
 * A slot leaves the calling thread's driver state (CUDA's current context) as it found it. Slots are added at the end, never
 * removed, and the ABI number grows with them.
 */
#ifndef TALLY_BACKEND_H
#define TALLY_BACKEND_H

#include <tally/tally.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TALLY_BACKEND_ABI 3

#if defined(__GNUC__)
#define TALLY_PRINTF(text, rest) __attribute__((format(printf, text, rest)))
#else
#define TALLY_PRINTF(text, rest)
#endif

/* Sets the thread's error text and returns `status`: return tally_fail(TALLY_E_DEVICE, "cuLaunchKernel: %s (%d)", ...); */
TALLY_API tally_status tally_fail(tally_status status, const char *format, ...) TALLY_PRINTF(2, 3);

typedef enum tally_mem_kind {
    TALLY_MEM_DEVICE = 1, /* handle is ignored: new device memory */
    TALLY_MEM_NATIVE = 2, /* handle: the driver's own memory object of the caller's; bytes 0: ask the driver */
    TALLY_MEM_HOST = 3,   /* handle: host memory of the caller's, used in place (devices with host_memory only) */
    TALLY_MEM_STAGING = 4 /* handle is ignored: new host memory that copies fast to the device; see mem_pointer */
} tally_mem_kind;

typedef enum tally_program_form {
    TALLY_PROGRAM_SOURCE = 1,  /* data: source in the backend's kernel language */
    TALLY_PROGRAM_BINARY = 2,  /* data: what program_binary gave */
    TALLY_PROGRAM_PREBUILT = 3 /* data: source, whose machine code the backend may have from its own build */
} tally_program_form;

/* A program to make, and what it needs of the backend beyond the language. */
typedef struct tally_program_desc {
    tally_program_form form;
    const void *data;
    size_t bytes;
    int sub_groups; /* 1: its kernels exchange values within OpenCL sub-groups */
    int overlaps;   /* 1: its kernels wait by themselves for what is before them: launches may begin before that has ended */
} tally_program_desc;

/* A kernel's argument: memory, or a value of `bytes` bytes. */
typedef struct tally_arg {
    void *mem; /* a memory object of the backend; NULL: a value */
    const void *value;
    size_t bytes;
} tally_arg;

typedef struct tally_backend {
    uint32_t abi;     /* TALLY_BACKEND_ABI */
    const char *name; /* lower case, as in TALLY_BACKEND */

    /* Devices. device_count also initialises the driver, once; `reason` says why there are none. GPUs come before CPUs. */
    tally_status (*device_count)(int *count, char *reason, size_t reason_bytes);
    tally_status (*device_info)(int index, tally_device_info *info);
    /* Opens device `index`, or, if native_context is not NULL, adopts the caller's native context and device handles (CUDA: the
	 * device is the context's own and native_device NULL), and describes it in `info`. */
    tally_status (*device_open)(int index, void *native_context, void *native_device, tally_device_info *info, void **device);
    void (*device_close)(void *device);

    /* Memory. mem_pointer gives the native handle of DEVICE, NATIVE and HOST memory (CUDA: the address; OpenCL: the cl_mem), the
	 * host address of STAGING memory. `bytes` returns the size (as asked for; of NATIVE with 0, the driver's). */
    tally_status (*mem_open)(void *device, tally_mem_kind kind, void *handle, uint64_t *bytes, void **mem);
    void (*mem_close)(void *device, void *mem);
    void *(*mem_pointer)(void *mem);

    /* Queues, in order. native: the caller's, or NULL for a new one (`wrap` tells CUDA's NULL stream from that). */
    tally_status (*queue_open)(void *device, int wrap, void *native, void **queue);
    void (*queue_close)(void *device, void *queue);
    tally_status (*queue_wait)(void *queue);
    void *(*queue_native)(void *queue);

    /* Enqueue copies; offsets and lengths in bytes. The host memory stays valid until the queue was waited for. */
    tally_status (*copy_in)(void *queue, void *mem, uint64_t offset, const void *host, uint64_t bytes);
    tally_status (*copy_out)(void *queue, void *mem, uint64_t offset, void *host, uint64_t bytes);

    /* Programs. kernel_source: the text of a stem (0-terminated), NULL if there is none. program_create of PREBUILT must be cheap, and
	 * where nothing is prebuilt it returns E_UNSUPPORTED without a text: that is an answer, no failure. program_binary is not called for
	 * such programs; its memory is freed by the caller with free(). */
    const char *(*kernel_source)(const char *stem);
    tally_status (*program_create)(void *device, const tally_program_desc *desc, void **program);
    tally_status (*program_binary)(void *device, void *program, void **data, size_t *bytes);
    void (*program_close)(void *device, void *program);

    /* Kernels. A kernel object belongs to one plan. launch enqueues `groups` groups of `items` items. */
    tally_status (*kernel_create)(void *device, void *program, const char *entry, void **kernel);
    void (*kernel_close)(void *device, void *kernel);
    tally_status (*launch)(void *queue, void *kernel, uint64_t groups, uint32_t items, uint32_t count, const tally_arg *args);

    /* Time by the device's clock: event_record enqueues a mark; event_seconds waits for both marks. */
    tally_status (*event_create)(void *device, void **event);
    void (*event_close)(void *device, void *event);
    tally_status (*event_record)(void *queue, void *event);
    tally_status (*event_seconds)(void *from, void *to, double *seconds);
} tally_backend;

/* Adds a backend to those built in; it must stay valid. Not thread-safe against other calls: register before using the library.
 * Errors: E_ARGUMENT for another ABI, a missing slot, or a name already taken. */
TALLY_API tally_status tally_backend_register(const tally_backend *backend);

#ifdef __cplusplus
}
#endif

#endif
