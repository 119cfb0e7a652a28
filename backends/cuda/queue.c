/* SPDX-License-Identifier: MIT */
/* Queues: streams, copies, launches and time. Everything that is enqueued may be captured into a
 * CUDA graph. */
#include <stdlib.h>

#include "driver.h"

#define MAX_GROUPS UINT64_C(0x7fffffff) /* limit of a grid's first dimension */
/* A window is so much smaller than the driver's limit: one of that size has no effect (H200). */
#define WINDOW_MARGIN (UINT64_C(1) << 20)
/* Inputs up to this size are found in the cache as a whole (kernels/group_tree.cu). */
#define WHOLE_BYTES (UINT64_C(50) << 20)

/* Checks that the caller's stream belongs to the device's context. NULL is the context's default
 * stream. */
static tally_status check_native(const tally_cuda_device *device, CUstream stream) {
    CUcontext context = NULL;
    if (!stream) return TALLY_OK;
    const CUresult error = tally_cuda.cuStreamGetCtx(stream, &context);
    if (error) return tally_fail(TALLY_E_ARGUMENT, "cuStreamGetCtx: %s (%d)", tally_cuda_error_name(error), (int)error);
    if (context != device->context) return tally_fail(TALLY_E_ARGUMENT, "the stream is of another CUcontext");
    return TALLY_OK;
}

tally_status tally_cuda_queue_open(void *opaque, int wrap, void *native, void **out) {
    const tally_cuda_device *device = opaque;
    bool pushed;
    tally_status status = tally_cuda_enter(device, &pushed);
    if (status) return status;
    tally_cuda_queue *queue = calloc(1, sizeof(*queue));
    if (!queue) {
        status = tally_fail(TALLY_E_MEMORY, "out of memory");
    } else if (wrap) {
        *queue = (tally_cuda_queue){.device = device, .stream = native};
        status = check_native(device, native);
    } else {
        *queue = (tally_cuda_queue){.device = device, .own = true};
        /* The stream does not wait for the default stream, which anybody may use. */
        const CUresult error = tally_cuda.cuStreamCreate(&queue->stream, CU_STREAM_NON_BLOCKING);
        if (error) status = tally_cuda_fail(error, "cuStreamCreate");
    }
    tally_cuda_leave(pushed);
    if (status)
        free(queue);
    else
        *out = queue;
    return status;
}

void tally_cuda_queue_close(void *device, void *opaque) {
    tally_cuda_queue *queue = opaque;
    bool pushed;
    if (queue->own && !tally_cuda_enter(device, &pushed)) {
        tally_cuda.cuStreamDestroy(queue->stream);
        tally_cuda_leave(pushed);
    }
    free(queue);
}

tally_status tally_cuda_queue_wait(void *opaque) {
    const tally_cuda_queue *queue = opaque;
    bool pushed;
    const tally_status status = tally_cuda_enter(queue->device, &pushed);
    if (status) return status;
    const CUresult error = tally_cuda.cuStreamSynchronize(queue->stream);
    tally_cuda_leave(pushed);
    return error ? tally_cuda_fail(error, "cuStreamSynchronize") : TALLY_OK;
}

void *tally_cuda_queue_native(void *opaque) {
    return ((const tally_cuda_queue *)opaque)->stream;
}

/* ---- copies ---------------------------------------------------------------------------------- */

tally_status tally_cuda_copy_in(void *opaque, void *mem, uint64_t offset, const void *host, uint64_t bytes) {
    const tally_cuda_queue *queue = opaque;
    bool pushed;
    const tally_status status = tally_cuda_enter(queue->device, &pushed);
    if (status) return status;
    const CUdeviceptr to = ((const tally_cuda_mem *)mem)->address + offset;
    const CUresult error = tally_cuda.cuMemcpyHtoDAsync(to, host, bytes, queue->stream);
    tally_cuda_leave(pushed);
    return error ? tally_cuda_fail(error, "cuMemcpyHtoDAsync(%llu bytes)", (unsigned long long)bytes) : TALLY_OK;
}

tally_status tally_cuda_copy_out(void *opaque, void *mem, uint64_t offset, void *host, uint64_t bytes) {
    const tally_cuda_queue *queue = opaque;
    bool pushed;
    const tally_status status = tally_cuda_enter(queue->device, &pushed);
    if (status) return status;
    const CUdeviceptr from = ((const tally_cuda_mem *)mem)->address + offset;
    const CUresult error = tally_cuda.cuMemcpyDtoHAsync(host, from, bytes, queue->stream);
    tally_cuda_leave(pushed);
    return error ? tally_cuda_fail(error, "cuMemcpyDtoHAsync(%llu bytes)", (unsigned long long)bytes) : TALLY_OK;
}

/* ---- launches -------------------------------------------------------------------------------- */

/* Returns the address of the first byte that a hint names. */
static CUdeviceptr read_at(const tally_arg *arg) {
    return ((const tally_cuda_mem *)arg->mem)->address + arg->read_from;
}

static bool overlap(const tally_arg *a, const tally_arg *b) {
    return b->read_bytes && read_at(a) < read_at(b) + b->read_bytes && read_at(b) < read_at(a) + a->read_bytes;
}

/* Returns the bytes of the device's memory that a launch reads, as the hints say, and the first of
 * the arguments with one. Memory that two of them name counts once. */
static uint64_t count_read(uint32_t count, const tally_arg *args, const tally_arg **first) {
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (!args[i].read_bytes || ((const tally_cuda_mem *)args[i].mem)->kind == TALLY_MEM_STAGING) continue;
        if (!bytes) *first = &args[i];
        bool counted = false;
        for (uint32_t j = 0; j < i; j++) counted = counted || overlap(&args[i], &args[j]);
        if (!counted) bytes += args[i].read_bytes;
    }
    return bytes;
}

/*
 * Makes a window over the first input that a kernel reads, if the kernel reads more than the
 * second-level cache holds. Lines of a window are of two kinds. Normal ones stay for the next
 * launch. The others are evicted first, so that what others have just written is still found. As
 * much stays as three tenths of the cache hold: all that is outside the window, then lines of it.
 * Repeated sums of 64 MiB of f32 take 15.2 us instead of 18.4, those of items that have just been
 * written 19.1 instead of 21.1 (H200, November 2026).
 */
static bool find_window(const tally_cuda_device *device, uint32_t count, const tally_arg *args, CUaccessPolicyWindow *window) {
    const uint64_t cache = device->cache_bytes, most = device->window_bytes;
    const tally_arg *first = NULL;
    const uint64_t bytes = count_read(count, args, &first);
    if (most <= WINDOW_MARGIN || bytes <= WHOLE_BYTES || bytes <= cache / 6 * 5) return false;
    const uint64_t size = first->read_bytes < most - WINDOW_MARGIN ? first->read_bytes : most - WINDOW_MARGIN;
    const uint64_t outside = bytes - size, stays = cache / 10 * 3;
    if (outside > cache / 5 * 3) return false; /* it would displace itself */
    *window = (CUaccessPolicyWindow){.base_ptr = (void *)(uintptr_t)read_at(first),
                                     .num_bytes = size,
                                     .hitRatio = outside < stays ? (float)(stays - outside) / (float)size : 0,
                                     .hitProp = CU_ACCESS_PROPERTY_NORMAL,
                                     .missProp = CU_ACCESS_PROPERTY_STREAMING};
    return true;
}

static CUresult launch_with(const CUlaunchConfig *config, const tally_cuda_kernel *kernel, void **values) {
    if (config->numAttrs) return tally_cuda.cuLaunchKernelEx(config, kernel->function, values, NULL);
    return tally_cuda.cuLaunchKernel(kernel->function, config->gridDimX, 1, 1, config->blockDimX, 1, 1, 0, config->hStream,
                                     values, NULL);
}

/* Launches with the attributes that apply. If the driver refuses a window, the queue has none from
 * then on. */
static CUresult launch(tally_cuda_queue *queue, const tally_cuda_kernel *kernel, unsigned groups, unsigned threads,
                       uint32_t count, const tally_arg *args) {
    /* The driver copies the values before it returns, but takes them through pointers to
     * non-const. */
    void *values[TALLY_MAX_ARGS];
    for (uint32_t i = 0; i < count; i++)
        values[i] = args[i].mem ? (void *)&((tally_cuda_mem *)args[i].mem)->address : (void *)(uintptr_t)args[i].value;
    CUlaunchAttribute attributes[2] = {
        {.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION, .value = {.programmaticStreamSerializationAllowed = 1}}};
    CUlaunchConfig config = {.gridDimX = groups,
                             .gridDimY = 1,
                             .gridDimZ = 1,
                             .blockDimX = threads,
                             .blockDimY = 1,
                             .blockDimZ = 1,
                             .hStream = queue->stream,
                             .attrs = attributes,
                             .numAttrs = kernel->overlaps};
    CUaccessPolicyWindow window;
    if (tally_cuda.has_newer && !queue->refuses_windows && find_window(queue->device, count, args, &window)) {
        attributes[config.numAttrs++] =
            (CUlaunchAttribute){.id = CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW, .value = {.accessPolicyWindow = window}};
        const CUresult error = launch_with(&config, kernel, values);
        if (error != CUDA_ERROR_INVALID_VALUE && error != CUDA_ERROR_NOT_SUPPORTED) return error;
        queue->refuses_windows = true;
        config.numAttrs--;
    }
    return launch_with(&config, kernel, values);
}

tally_status tally_cuda_launch(void *opaque, void *kernel, uint64_t groups, uint32_t threads, uint32_t count,
                               const tally_arg *args) {
    tally_cuda_queue *queue = opaque;
    if (groups > MAX_GROUPS)
        return tally_fail(TALLY_E_UNSUPPORTED, "cuda: %llu groups in one launch: %llu at most", (unsigned long long)groups,
                          (unsigned long long)MAX_GROUPS);
    if (count > TALLY_MAX_ARGS)
        return tally_fail(TALLY_E_INTERNAL, "cuda: %u kernel arguments: %d at most", count, TALLY_MAX_ARGS);
    bool pushed;
    const tally_status status = tally_cuda_enter(queue->device, &pushed);
    if (status) return status;
    const CUresult error = launch(queue, kernel, (unsigned)groups, threads, count, args);
    tally_cuda_leave(pushed);
    if (error) return tally_cuda_fail(error, "cuLaunchKernel(%llu groups of %u)", (unsigned long long)groups, threads);
    return TALLY_OK;
}

/* ---- time ------------------------------------------------------------------------------------ */

tally_status tally_cuda_event_create(void *opaque, void **out) {
    const tally_cuda_device *device = opaque;
    bool pushed;
    const tally_status status = tally_cuda_enter(device, &pushed);
    if (status) return status;
    CUresult error = CUDA_SUCCESS;
    tally_cuda_event *event = calloc(1, sizeof(*event));
    if (event) {
        event->device = device;
        error = tally_cuda.cuEventCreate(&event->handle, CU_EVENT_DEFAULT);
    }
    tally_cuda_leave(pushed);
    if (!event) return tally_fail(TALLY_E_MEMORY, "event: out of memory");
    if (error) return free(event), tally_cuda_fail(error, "cuEventCreate");
    *out = event;
    return TALLY_OK;
}

void tally_cuda_event_close(void *device, void *opaque) {
    tally_cuda_event *event = opaque;
    bool pushed;
    if (!tally_cuda_enter(device, &pushed)) {
        tally_cuda.cuEventDestroy(event->handle);
        tally_cuda_leave(pushed);
    }
    free(event);
}

tally_status tally_cuda_event_record(void *opaque, void *event) {
    const tally_cuda_queue *queue = opaque;
    bool pushed;
    const tally_status status = tally_cuda_enter(queue->device, &pushed);
    if (status) return status;
    const CUresult error = tally_cuda.cuEventRecord(((const tally_cuda_event *)event)->handle, queue->stream);
    tally_cuda_leave(pushed);
    return error ? tally_cuda_fail(error, "cuEventRecord") : TALLY_OK;
}

tally_status tally_cuda_event_seconds(void *from, void *to, double *seconds) {
    const tally_cuda_event *begin = from, *end = to;
    bool pushed;
    const tally_status status = tally_cuda_enter(begin->device, &pushed);
    if (status) return status;
    float milliseconds = 0;
    CUresult error = tally_cuda.cuEventSynchronize(begin->handle);
    if (!error) error = tally_cuda.cuEventSynchronize(end->handle);
    if (!error) error = tally_cuda.cuEventElapsedTime(&milliseconds, begin->handle, end->handle);
    tally_cuda_leave(pushed);
    if (error) return tally_cuda_fail(error, "cuEventElapsedTime");
    *seconds = milliseconds * 1e-3;
    return TALLY_OK;
}
