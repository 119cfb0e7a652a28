/* SPDX-License-Identifier: MIT */
/* Buffers and queues: own ones and wrapped ones. */
#include <stdlib.h>

#include "core.h"

/* ---- buffers ------------------------------------------------------------------------------------------------------ */

tally_status tally_check_buffer(const tally_buffer *buffer, const tally_context *context, const char *call,
                                const char *argument) {
    if (!buffer) return tally_fail(TALLY_E_ARGUMENT, "%s: %s is NULL", call, argument);
    if (buffer->tag != TALLY_TAG_BUFFER) return tally_fail(TALLY_E_ARGUMENT, "%s: %s is no buffer", call, argument);
    if (buffer->context != context) return tally_fail(TALLY_E_ARGUMENT, "%s: %s belongs to another context", call, argument);
    return TALLY_OK;
}

tally_status tally_check_items(const tally_buffer *buffer, uint64_t offset, uint64_t n, uint64_t bytes, const char *call,
                               const char *argument) {
    const uint64_t items = buffer->bytes / bytes;
    if (offset > items || n > items - offset)
        return tally_fail(TALLY_E_ARGUMENT, "%s: %llu items at offset %llu: %s holds %llu", call, (unsigned long long)n,
                          (unsigned long long)offset, argument, (unsigned long long)items);
    return TALLY_OK;
}

/* Whether two buffers are one memory: one object, or host memory, perhaps wrapped twice. Then the places in it are told. */
static bool is_one_memory(const tally_buffer *in, uint64_t *in_begin, const tally_buffer *out, uint64_t *out_begin) {
    const tally_backend *backend = in->context->backend;
    if (!in->host || !out->host) return in == out || backend->mem_pointer(in->mem) == backend->mem_pointer(out->mem);
    *in_begin += (uintptr_t)in->host;
    *out_begin += (uintptr_t)out->host;
    return true;
}

bool tally_is_same_place(const tally_buffer *in, uint64_t in_begin, const tally_buffer *out, uint64_t out_begin) {
    return is_one_memory(in, &in_begin, out, &out_begin) && in_begin == out_begin;
}

tally_status tally_check_apart(const tally_buffer *in, uint64_t in_begin, uint64_t in_bytes, const tally_buffer *out,
                               uint64_t out_begin, uint64_t out_bytes, const char *call, const char *argument) {
    if (!in_bytes || !out_bytes || !is_one_memory(in, &in_begin, out, &out_begin)) return TALLY_OK;
    if (in_begin + in_bytes <= out_begin || out_begin + out_bytes <= in_begin) return TALLY_OK;
    return tally_fail(TALLY_E_ARGUMENT, "%s: %s and out overlap", call, argument);
}

tally_status tally_buffer_open(tally_context *context, tally_mem_kind kind, void *handle, uint64_t bytes, tally_buffer **out) {
    /* Some drivers accept any size and fail where the memory is first used. A wrapped handle's size is the backend's to check. */
    if (kind != TALLY_MEM_NATIVE && bytes > context->info.memory_bytes)
        return tally_fail(TALLY_E_MEMORY, "%s: %llu bytes: %s has %llu",
                          kind == TALLY_MEM_HOST ? "tally_buffer_wrap_host" : "tally_buffer_create", (unsigned long long)bytes,
                          context->info.name, (unsigned long long)context->info.memory_bytes);
    tally_buffer *buffer = calloc(1, sizeof(*buffer));
    if (!buffer) return tally_fail(TALLY_E_MEMORY, "tally_buffer_create: out of memory");
    *buffer = (tally_buffer){.tag = TALLY_TAG_BUFFER, .context = context, .bytes = bytes};
    const tally_backend *backend = context->backend;
    const tally_status status = backend->mem_open(context->device, kind, handle, &buffer->bytes, &buffer->mem);
    if (status) {
        free(buffer);
        return status;
    }
    if (kind == TALLY_MEM_STAGING) buffer->host = backend->mem_pointer(buffer->mem);
    if (kind == TALLY_MEM_HOST) buffer->host = handle;
    tally_context_retain(context);
    *out = buffer;
    return TALLY_OK;
}

tally_status tally_buffer_clear(tally_buffer *buffer, uint64_t bytes) {
    const tally_backend *backend = buffer->context->backend;
    void *device = buffer->context->device, *queue = NULL, *zeros = calloc(1, bytes);
    tally_status status = zeros ? TALLY_OK : tally_fail(TALLY_E_MEMORY, "tally_buffer_clear: out of memory");
    if (!status) status = backend->queue_open(device, 0, NULL, &queue);
    if (!status) {
        status = backend->copy_in(queue, buffer->mem, 0, zeros, bytes);
        const tally_status waited = backend->queue_wait(queue);
        if (!status) status = waited;
        backend->queue_close(device, queue);
    }
    free(zeros);
    return status;
}

tally_status tally_buffer_create(tally_context *context, uint64_t bytes, tally_buffer **out) {
    if (out) *out = NULL;
    tally_status status = tally_check_context(context, "tally_buffer_create");
    if (!status) status = tally_check_pointer(out, "tally_buffer_create", "out");
    return status ? status : tally_buffer_open(context, TALLY_MEM_DEVICE, NULL, bytes, out);
}

tally_status tally_buffer_wrap_host(tally_context *context, const void *memory, uint64_t bytes, tally_buffer **out) {
    if (out) *out = NULL;
    tally_status status = tally_check_context(context, "tally_buffer_wrap_host");
    if (!status && bytes) status = tally_check_pointer(memory, "tally_buffer_wrap_host", "memory");
    if (!status) status = tally_check_pointer(out, "tally_buffer_wrap_host", "out");
    if (status) return status;
    if (!context->info.host_memory)
        return tally_fail(TALLY_E_UNSUPPORTED, "tally_buffer_wrap_host: %s does not use host memory in place",
                          context->info.name);
    return tally_buffer_open(context, TALLY_MEM_HOST, (void *)(uintptr_t)memory, bytes, out);
}

void tally_buffer_destroy(tally_buffer *buffer) {
    if (!buffer || buffer->tag != TALLY_TAG_BUFFER) return;
    tally_context *context = buffer->context;
    context->backend->mem_close(context->device, buffer->mem);
    buffer->tag = 0;
    free(buffer);
    tally_context_destroy(context);
}

uint64_t tally_buffer_bytes(const tally_buffer *buffer) {
    return buffer && buffer->tag == TALLY_TAG_BUFFER ? buffer->bytes : 0;
}

/* ---- queues ------------------------------------------------------------------------------------------------------- */

tally_status tally_check_queue(const tally_queue *queue, const tally_context *context, const char *call) {
    if (!queue) return tally_fail(TALLY_E_ARGUMENT, "%s: queue is NULL", call);
    if (queue->tag != TALLY_TAG_QUEUE) return tally_fail(TALLY_E_ARGUMENT, "%s: queue is no queue", call);
    if (context && queue->context != context) return tally_fail(TALLY_E_ARGUMENT, "%s: queue belongs to another context", call);
    return TALLY_OK;
}

tally_status tally_queue_open(tally_context *context, int wrap, void *native, tally_queue **out) {
    tally_queue *queue = calloc(1, sizeof(*queue));
    if (!queue) return tally_fail(TALLY_E_MEMORY, "tally_queue_create: out of memory");
    *queue = (tally_queue){.tag = TALLY_TAG_QUEUE, .context = context};
    const tally_status status = context->backend->queue_open(context->device, wrap, native, &queue->handle);
    if (status) {
        free(queue);
        return status;
    }
    tally_context_retain(context);
    *out = queue;
    return TALLY_OK;
}

tally_status tally_queue_create(tally_context *context, tally_queue **out) {
    if (out) *out = NULL;
    tally_status status = tally_check_context(context, "tally_queue_create");
    if (!status) status = tally_check_pointer(out, "tally_queue_create", "out");
    return status ? status : tally_queue_open(context, 0, NULL, out);
}

void tally_queue_destroy(tally_queue *queue) {
    if (!queue || queue->tag != TALLY_TAG_QUEUE) return;
    tally_context *context = queue->context;
    context->backend->queue_close(context->device, queue->handle);
    queue->tag = 0;
    free(queue);
    tally_context_destroy(context);
}

tally_status tally_queue_wait(tally_queue *queue) {
    const tally_status status = tally_check_queue(queue, NULL, "tally_queue_wait");
    return status ? status : queue->context->backend->queue_wait(queue->handle);
}

/* ---- copies ------------------------------------------------------------------------------------------------------- */

static tally_status check_copy(const tally_queue *queue, const tally_buffer *buffer, uint64_t offset, const void *host,
                               uint64_t bytes, const char *call, const char *buffer_argument, const char *host_argument) {
    tally_status status = tally_check_queue(queue, NULL, call);
    if (!status) status = tally_check_buffer(buffer, queue->context, call, buffer_argument);
    if (!status && bytes) status = tally_check_pointer(host, call, host_argument);
    if (status) return status;
    if (offset > buffer->bytes || bytes > buffer->bytes - offset)
        return tally_fail(TALLY_E_ARGUMENT, "%s: %llu bytes at offset %llu: the buffer has %llu", call,
                          (unsigned long long)bytes, (unsigned long long)offset, (unsigned long long)buffer->bytes);
    return TALLY_OK;
}

tally_status tally_buffer_write(tally_queue *queue, tally_buffer *to, uint64_t offset, const void *from, uint64_t bytes) {
    const tally_status status = check_copy(queue, to, offset, from, bytes, "tally_buffer_write", "to", "from");
    if (status || !bytes) return status;
    return queue->context->backend->copy_in(queue->handle, to->mem, offset, from, bytes);
}

tally_status tally_buffer_read(tally_queue *queue, const tally_buffer *from, uint64_t offset, void *to, uint64_t bytes) {
    const tally_status status = check_copy(queue, from, offset, to, bytes, "tally_buffer_read", "from", "to");
    if (status || !bytes) return status;
    return queue->context->backend->copy_out(queue->handle, from->mem, offset, to, bytes);
}

/* ---- time --------------------------------------------------------------------------------------------------------- */

static tally_status check_event(const tally_event *event, const tally_context *context, const char *call) {
    if (!event) return tally_fail(TALLY_E_ARGUMENT, "%s: event is NULL", call);
    if (event->tag != TALLY_TAG_EVENT) return tally_fail(TALLY_E_ARGUMENT, "%s: event is no event", call);
    if (context && event->context != context) return tally_fail(TALLY_E_ARGUMENT, "%s: event belongs to another context", call);
    return TALLY_OK;
}

tally_status tally_event_create(tally_context *context, tally_event **out) {
    if (out) *out = NULL;
    tally_status status = tally_check_context(context, "tally_event_create");
    if (!status) status = tally_check_pointer(out, "tally_event_create", "out");
    if (status) return status;
    tally_event *event = calloc(1, sizeof(*event));
    if (!event) return tally_fail(TALLY_E_MEMORY, "tally_event_create: out of memory");
    *event = (tally_event){.tag = TALLY_TAG_EVENT, .context = context};
    status = context->backend->event_create(context->device, &event->handle);
    if (status) {
        free(event);
        return status;
    }
    tally_context_retain(context);
    *out = event;
    return TALLY_OK;
}

void tally_event_destroy(tally_event *event) {
    if (!event || event->tag != TALLY_TAG_EVENT) return;
    tally_context *context = event->context;
    context->backend->event_close(context->device, event->handle);
    event->tag = 0;
    free(event);
    tally_context_destroy(context);
}

tally_status tally_event_record(tally_event *event, tally_queue *queue) {
    tally_status status = check_event(event, NULL, "tally_event_record");
    if (!status) status = tally_check_queue(queue, event->context, "tally_event_record");
    if (status) return status;
    status = event->context->backend->event_record(queue->handle, event->handle);
    if (!status) event->recorded = true;
    return status;
}

tally_status tally_event_seconds(tally_event *from, tally_event *to, double *seconds) {
    tally_status status = check_event(from, NULL, "tally_event_seconds");
    if (!status) status = check_event(to, from->context, "tally_event_seconds");
    if (!status) status = tally_check_pointer(seconds, "tally_event_seconds", "seconds");
    if (status) return status;
    if (!from->recorded || !to->recorded)
        return tally_fail(TALLY_E_ARGUMENT, "tally_event_seconds: an event was never recorded");
    return from->context->backend->event_seconds(from->handle, to->handle, seconds);
}
