/* SPDX-License-Identifier: MIT */
/* driver.h: the driver's entry points, opened at run time, and the objects of the CUDA backend. */
#ifndef TALLY_BACKENDS_CUDA_DRIVER_H
#define TALLY_BACKENDS_CUDA_DRIVER_H

#include <stdbool.h>

#include <cuda.h> /* for its types and constants: nothing is linked */

#include <tally/backend.h>

/*
 * X(name, symbol): the calls that are used. <cuda.h> makes macros of names whose functions have
 * newer versions (cuMemAlloc is cuMemAlloc_v2). So `symbol` is the version that every driver of
 * CUDA 11 and later exports with the type that is used here.
 */
#define TALLY_CUDA_CALLS(X)                                                                                                    \
    X(cuInit, "cuInit")                                                                                                        \
    X(cuDriverGetVersion, "cuDriverGetVersion")                                                                                \
    X(cuGetErrorName, "cuGetErrorName")                                                                                        \
    X(cuDeviceGetCount, "cuDeviceGetCount")                                                                                    \
    X(cuDeviceGet, "cuDeviceGet")                                                                                              \
    X(cuDeviceGetName, "cuDeviceGetName")                                                                                      \
    X(cuDeviceGetAttribute, "cuDeviceGetAttribute")                                                                            \
    X(cuDeviceTotalMem, "cuDeviceTotalMem_v2")                                                                                 \
    X(cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain")                                                                    \
    X(cuDevicePrimaryCtxRelease, "cuDevicePrimaryCtxRelease_v2")                                                               \
    X(cuCtxGetCurrent, "cuCtxGetCurrent")                                                                                      \
    X(cuCtxGetDevice, "cuCtxGetDevice")                                                                                        \
    X(cuCtxPushCurrent, "cuCtxPushCurrent_v2")                                                                                 \
    X(cuCtxPopCurrent, "cuCtxPopCurrent_v2")                                                                                   \
    X(cuMemAlloc, "cuMemAlloc_v2")                                                                                             \
    X(cuMemFree, "cuMemFree_v2")                                                                                               \
    X(cuMemHostAlloc, "cuMemHostAlloc")                                                                                        \
    X(cuMemFreeHost, "cuMemFreeHost")                                                                                          \
    X(cuMemcpyHtoDAsync, "cuMemcpyHtoDAsync_v2")                                                                               \
    X(cuMemcpyDtoHAsync, "cuMemcpyDtoHAsync_v2")                                                                               \
    X(cuPointerGetAttributes, "cuPointerGetAttributes")                                                                        \
    X(cuStreamCreate, "cuStreamCreate")                                                                                        \
    X(cuStreamDestroy, "cuStreamDestroy_v2")                                                                                   \
    X(cuStreamGetCtx, "cuStreamGetCtx")                                                                                        \
    X(cuStreamSynchronize, "cuStreamSynchronize")                                                                              \
    X(cuModuleLoadDataEx, "cuModuleLoadDataEx")                                                                                \
    X(cuModuleUnload, "cuModuleUnload")                                                                                        \
    X(cuModuleGetFunction, "cuModuleGetFunction")                                                                              \
    X(cuLaunchKernel, "cuLaunchKernel")                                                                                        \
    X(cuEventCreate, "cuEventCreate")                                                                                          \
    X(cuEventDestroy, "cuEventDestroy_v2")                                                                                     \
    X(cuEventRecord, "cuEventRecord")                                                                                          \
    X(cuEventSynchronize, "cuEventSynchronize")                                                                                \
    X(cuEventElapsedTime, "cuEventElapsedTime")

/* X(name, parameters): the call that launches with attributes. Drivers before CUDA 11.8 lack it,
 * and so may the headers. */
#define TALLY_CUDA_NEWER_CALLS(X) X(cuLaunchKernelEx, (const CUlaunchConfig *, CUfunction, void **, void **))

/* The driver. tally_cuda_open sets it. */
typedef struct tally_cuda_driver {
#define FIELD(name, symbol) __typeof__(name) *name;
    TALLY_CUDA_CALLS(FIELD)
#undef FIELD
#define FIELD(name, parameters) CUresult(CUDAAPI *name) parameters;
    TALLY_CUDA_NEWER_CALLS(FIELD)
#undef FIELD
    bool has_newer;        /* the driver has all of the newer calls */
    int version;           /* as cuDriverGetVersion gives it (13000 is 13.0); 0: no driver */
    char version_text[96]; /* "CUDA 13.0, libcuda 580.95.05" */
    int devices;
    char reason[256]; /* why there are no devices */
} tally_cuda_driver;

/* Opens libcuda and counts the devices, once per process. */
const tally_cuda_driver *tally_cuda_open(void);
/* The same driver, for slots that run only after tally_cuda_open. */
extern tally_cuda_driver tally_cuda;

typedef struct tally_cuda_device {
    CUdevice id;
    CUcontext context;
    bool primary;          /* the context was retained, and is to be released */
    int arch;              /* compute capability; 90 is 9.0 */
    uint64_t cache_bytes;  /* the second-level cache */
    uint64_t window_bytes; /* the largest access policy window; 0: the device has none */
} tally_cuda_device;

typedef struct tally_cuda_mem {
    CUdeviceptr address;
    void *host; /* the address of staging memory */
    tally_mem_kind kind;
} tally_cuda_mem;

typedef struct tally_cuda_queue {
    const tally_cuda_device *device;
    CUstream stream; /* NULL: the default stream */
    bool own;
    bool refuses_windows; /* the driver has refused one */
} tally_cuda_queue;

typedef struct tally_cuda_program {
    CUmodule module;
    const void *image; /* the cubin, PTX or fat binary that the module was loaded from */
    void *own;         /* the image's memory, to be freed; NULL: it is the library's */
    size_t bytes;
    bool overlaps; /* a launch may begin before the last has ended: kernels wait by themselves */
} tally_cuda_program;

typedef struct tally_cuda_kernel {
    CUfunction function;
    bool overlaps; /* as its program */
} tally_cuda_kernel;

typedef struct tally_cuda_event {
    const tally_cuda_device *device;
    CUevent handle;
} tally_cuda_event;

/* Sets the error text "WHAT: CUDA_ERROR_NAME (number)" and returns E_MEMORY or E_DEVICE. */
tally_status tally_cuda_fail(CUresult error, const char *format, ...) TALLY_PRINTF(2, 3);
/* Returns "CUDA_ERROR_NAME", for texts of another form. */
const char *tally_cuda_error_name(CUresult error);

/* Makes the device's context the thread's current one, unless it is that already. tally_cuda_leave
 * restores the context that was current before. */
tally_status tally_cuda_enter(const tally_cuda_device *device, bool *pushed);
void tally_cuda_leave(bool pushed);

/* The slots of the backend, by file: device.c, memory.c, queue.c, program.c. */
tally_status tally_cuda_device_count(int *count, char *reason, size_t reason_bytes);
tally_status tally_cuda_device_info(int index, tally_device_info *info);
tally_status tally_cuda_device_open(int index, void *native_context, void *native_device, tally_device_info *info,
                                    void **device);
void tally_cuda_device_close(void *device);

tally_status tally_cuda_mem_open(void *device, tally_mem_kind kind, void *handle, uint64_t *bytes, void **mem);
void tally_cuda_mem_close(void *device, void *mem);
void *tally_cuda_mem_pointer(void *mem);
tally_mem_place tally_cuda_mem_place(void *mem);

tally_status tally_cuda_queue_open(void *device, int wrap, void *native, void **queue);
void tally_cuda_queue_close(void *device, void *queue);
tally_status tally_cuda_queue_wait(void *queue);
void *tally_cuda_queue_native(void *queue);
tally_status tally_cuda_copy_in(void *queue, void *mem, uint64_t offset, const void *host, uint64_t bytes);
tally_status tally_cuda_copy_out(void *queue, void *mem, uint64_t offset, void *host, uint64_t bytes);
tally_status tally_cuda_launch(void *queue, void *kernel, uint64_t groups, uint32_t threads, uint32_t count,
                               const tally_arg *args);
tally_status tally_cuda_event_create(void *device, void **event);
void tally_cuda_event_close(void *device, void *event);
tally_status tally_cuda_event_record(void *queue, void *event);
tally_status tally_cuda_event_seconds(void *from, void *to, double *seconds);

const char *tally_kernel_source_cuda(const char *stem); /* embedded by the build */
tally_status tally_cuda_program_create(void *device, const tally_program_desc *desc, void **program);
tally_status tally_cuda_program_binary(void *device, void *program, void **data, size_t *bytes);
void tally_cuda_program_close(void *device, void *program);
tally_status tally_cuda_kernel_create(void *device, void *program, const char *entry, void **kernel);
void tally_cuda_kernel_close(void *device, void *kernel);

#endif
