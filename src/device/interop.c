/* SPDX-License-Identifier: MIT */
/* Native handles wrapped and given out: tally/cuda.h and tally/opencl.h. This file knows only
 * the handles' types. */
#include <string.h>

#include <tally/cuda.h>
#include <tally/opencl.h>

#include "device/device.h"

static tally_status open_native(const char *name, void *native_context, void *native_device, tally_context **out) {
    if (out) *out = NULL;
    tally_status status = tally_check_pointer(native_context, "native");
    if (!status) status = tally_check_pointer(out, "out");
    if (status) return status;
    for (size_t i = 0; i < tally_backend_count(); i++) {
        const tally_backend *backend = tally_backend_at(i);
        if (strcmp(backend->name, name)) continue;
        int count = 0;
        char reason[256] = "";
        status = backend->device_count(&count, reason, sizeof(reason));
        if (status) return status;
        if (!count) return tally_fail(TALLY_E_NO_DEVICE, "%s has no devices: %s", name, reason);
        return tally_context_open(backend, -1, native_context, native_device, "native handles", name, out);
    }
    return tally_fail(TALLY_E_UNSUPPORTED, "this library was built without %s", name);
}

/* Checks that the context is one of that backend. */
static tally_status check_backend(const tally_context *context, const char *name) {
    const tally_status status = tally_check_context(context);
    if (status) return status;
    if (strcmp(context->backend->name, name))
        return tally_fail(TALLY_E_ARGUMENT, "the context is of backend %s", context->backend->name);
    return TALLY_OK;
}

static tally_status wrap_buffer(tally_context *context, const char *name, void *handle, uint64_t bytes, tally_buffer **out) {
    if (out) *out = NULL;
    tally_status status = check_backend(context, name);
    if (!status) status = tally_check_pointer(out, "out");
    return status ? status : tally_buffer_open(context, TALLY_MEM_NATIVE, handle, bytes, out);
}

static tally_status wrap_queue(tally_context *context, const char *name, void *handle, tally_queue **out) {
    if (out) *out = NULL;
    tally_status status = check_backend(context, name);
    if (!status) status = tally_check_pointer(out, "out");
    return status ? status : tally_queue_open(context, 1, handle, out);
}

static tally_status get_buffer(const tally_buffer *buffer, const char *name, const void *out, void **handle) {
    tally_status status = tally_check_buffer(buffer, buffer ? buffer->context : NULL, "buffer");
    if (!status) status = check_backend(buffer->context, name);
    if (!status) status = tally_check_pointer(out, "out");
    if (!status) *handle = buffer->context->backend->mem_pointer(buffer->mem);
    return status;
}

static tally_status get_queue(const tally_queue *queue, const char *name, const void *out, void **handle) {
    tally_status status = tally_check_queue(queue, NULL);
    if (!status) status = check_backend(queue->context, name);
    if (!status) status = tally_check_pointer(out, "out");
    if (!status) *handle = queue->context->backend->queue_native(queue->handle);
    return status;
}

/* ---- CUDA ------------------------------------------------------------------------------------ */

tally_status tally_context_create_cuda(struct CUctx_st *native, tally_context **out) {
    return TALLY_NAMED(open_native("cuda", native, NULL, out));
}

tally_status tally_buffer_wrap_cuda(tally_context *context, unsigned long long pointer, uint64_t bytes, tally_buffer **out) {
    if (out) *out = NULL;
    const tally_status status = tally_check_pointer((void *)(uintptr_t)pointer, "pointer");
    return TALLY_NAMED(status ? status : wrap_buffer(context, "cuda", (void *)(uintptr_t)pointer, bytes, out));
}

tally_status tally_queue_wrap_cuda(tally_context *context, struct CUstream_st *stream, tally_queue **out) {
    return TALLY_NAMED(wrap_queue(context, "cuda", stream, out));
}

tally_status tally_buffer_get_cuda(const tally_buffer *buffer, unsigned long long *pointer) {
    void *handle = NULL;
    const tally_status status = get_buffer(buffer, "cuda", pointer, &handle);
    if (!status) *pointer = (unsigned long long)(uintptr_t)handle;
    return TALLY_NAMED(status);
}

tally_status tally_queue_get_cuda(const tally_queue *queue, struct CUstream_st **stream) {
    void *handle = NULL;
    const tally_status status = get_queue(queue, "cuda", stream, &handle);
    if (!status) *stream = handle;
    return TALLY_NAMED(status);
}

/* ---- OpenCL ---------------------------------------------------------------------------------- */

tally_status tally_context_create_opencl(struct _cl_context *native, struct _cl_device_id *device, tally_context **out) {
    if (out) *out = NULL;
    const tally_status status = tally_check_pointer(device, "device");
    return TALLY_NAMED(status ? status : open_native("opencl", native, device, out));
}

tally_status tally_buffer_wrap_opencl(tally_context *context, struct _cl_mem *memory, tally_buffer **out) {
    if (out) *out = NULL;
    const tally_status status = tally_check_pointer(memory, "memory");
    return TALLY_NAMED(status ? status : wrap_buffer(context, "opencl", memory, 0, out));
}

tally_status tally_queue_wrap_opencl(tally_context *context, struct _cl_command_queue *native, tally_queue **out) {
    if (out) *out = NULL;
    const tally_status status = tally_check_pointer(native, "native");
    return TALLY_NAMED(status ? status : wrap_queue(context, "opencl", native, out));
}

tally_status tally_buffer_get_opencl(const tally_buffer *buffer, struct _cl_mem **memory) {
    void *handle = NULL;
    const tally_status status = get_buffer(buffer, "opencl", memory, &handle);
    if (!status) *memory = handle;
    return TALLY_NAMED(status);
}

tally_status tally_queue_get_opencl(const tally_queue *queue, struct _cl_command_queue **native) {
    void *handle = NULL;
    const tally_status status = get_queue(queue, "opencl", native, &handle);
    if (!status) *native = handle;
    return TALLY_NAMED(status);
}
