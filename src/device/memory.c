/* SPDX-License-Identifier: MIT */
/* Buffers, queues, copies and events. Memory and queues are tally's own, or wrapped. */
#include <stdlib.h>

#include "device/device.h"

/* ---- buffers --------------------------------------------------------------------------------- */

tally_status tally_check_buffer(const tally_buffer *buffer, const tally_context *context, const char *argument) {
    if (!buffer) return tally_fail(TALLY_E_ARGUMENT, "%s is NULL", argument);
    if (buffer->tag != TALLY_TAG_BUFFER) return tally_fail(TALLY_E_ARGUMENT, "%s is no buffer", argument);
    if (buffer->context != context) return tally_fail(TALLY_E_ARGUMENT, "%s belongs to another context", argument);
    return TALLY_OK;
}

tally_status tally_check_items(const tally_buffer *buffer, uint64_t offset, uint64_t n, uint64_t bytes, const char *argument) {
    const uint64_t items = buffer->bytes / bytes;
    if (offset > items || n > items - offset)
        return tally_fail(TALLY_E_ARGUMENT, "%llu items at offset %llu: %s holds %llu", (unsigned long long)n,
                          (unsigned long long)offset, argument, (unsigned long long)items);
    return TALLY_OK;
}

/* Returns where byte `begin` of a buffer lies in its memory. */
static uint64_t begin_of(const tally_buffer *buffer, uint64_t begin) {
    return buffer->place.offset + begin;
}

bool tally_is_same_place(const tally_buffer *in, uint64_t in_begin, const tally_buffer *out, uint64_t out_begin) {
    return in->place.memory == out->place.memory && begin_of(in, in_begin) == begin_of(out, out_begin);
}

tally_status tally_check_apart(tally_range a, tally_range b) {
    if (!a.bytes || !b.bytes || a.buffer->place.memory != b.buffer->place.memory) return TALLY_OK;
    const uint64_t a_begin = begin_of(a.buffer, a.begin), b_begin = begin_of(b.buffer, b.begin);
    if (a_begin + a.bytes <= b_begin || b_begin + b.bytes <= a_begin) return TALLY_OK;
    return tally_fail(TALLY_E_ARGUMENT, "%s and %s overlap", a.name, b.name);
}

tally_status tally_buffer_open(tally_context *context, tally_mem_kind kind, void *handle, uint64_t bytes, tally_buffer **out) {
    /* Some drivers accept any size and fail at the first use. The backend checks wrapped
     * handles. */
    if (kind != TALLY_MEM_NATIVE && bytes > context->info.memory_bytes)
        return tally_fail(TALLY_E_MEMORY, "%llu bytes: %s has %llu", (unsigned long long)bytes, context->info.name,
                          (unsigned long long)context->info.memory_bytes);
    tally_buffer *buffer = calloc(1, sizeof(*buffer));
    if (!buffer) return tally_fail(TALLY_E_MEMORY, "out of memory");
    *buffer = (tally_buffer){.tag = TALLY_TAG_BUFFER, .context = context, .bytes = bytes};
    const tally_backend *backend = context->backend;
    const tally_status status = backend->mem_open(context->device, kind, handle, &buffer->bytes, &buffer->mem);
    if (status) {
        free(buffer);
        return status;
    }
    buffer->place = backend->mem_place(buffer->mem);
    if (kind == TALLY_MEM_STAGING) buffer->host = backend->mem_pointer(buffer->mem);
    if (kind == TALLY_MEM_HOST) buffer->host = handle;
    tally_context_retain(context);
    *out = buffer;
    return TALLY_OK;
}

tally_status tally_buffer_clear(tally_buffer *buffer, uint64_t bytes) {
    const tally_backend *backend = buffer->context->backend;
    void *device = buffer->context->device, *queue = NULL, *zeros = calloc(1, bytes);
    tally_status status = zeros ? TALLY_OK : tally_fail(TALLY_E_MEMORY, "out of memory");
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
    tally_status status = tally_check_context(context);
    if (!status) status = tally_check_pointer(out, "out");
    return TALLY_NAMED(status ? status : tally_buffer_open(context, TALLY_MEM_DEVICE, NULL, bytes, out));
}

tally_status tally_buffer_wrap_host(tally_context *context, const void *memory, uint64_t bytes, tally_buffer **out) {
    if (out) *out = NULL;
    tally_status status = tally_check_context(context);
    if (!status && bytes) status = tally_check_pointer(memory, "memory");
    if (!status) status = tally_check_pointer(out, "out");
    if (status) return TALLY_NAMED(status);
    if (!context->info.host_memory)
        return TALLY_NAMED(tally_fail(TALLY_E_UNSUPPORTED, "%s does not use host memory in place", context->info.name));
    return TALLY_NAMED(tally_buffer_open(context, TALLY_MEM_HOST, (void *)(uintptr_t)memory, bytes, out));
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

/* ---- staging --------------------------------------------------------------------------------- */

struct tally_staging {
    uint64_t tag;
    tally_buffer *buffer;
};

tally_status tally_staging_create(tally_context *context, uint64_t bytes, tally_staging **out) {
    if (out) *out = NULL;
    tally_status status = tally_check_context(context);
    if (!status) status = tally_check_pointer(out, "out");
    if (status) return TALLY_NAMED(status);
    tally_staging *staging = calloc(1, sizeof(*staging));
    if (!staging) return TALLY_NAMED(tally_fail(TALLY_E_MEMORY, "out of memory"));
    staging->tag = TALLY_TAG_STAGING;
    status = tally_buffer_open(context, TALLY_MEM_STAGING, NULL, bytes, &staging->buffer);
    if (status)
        free(staging);
    else
        *out = staging;
    return TALLY_NAMED(status);
}

void tally_staging_destroy(tally_staging *staging) {
    if (!staging || staging->tag != TALLY_TAG_STAGING) return;
    tally_buffer_destroy(staging->buffer);
    staging->tag = 0;
    free(staging);
}

void *tally_staging_memory(const tally_staging *staging) {
    return staging && staging->tag == TALLY_TAG_STAGING ? staging->buffer->host : NULL;
}

tally_buffer *tally_staging_buffer(const tally_staging *staging) {
    if (!staging || staging->tag != TALLY_TAG_STAGING) return NULL;
    return staging->buffer->context->info.staging_in_place ? staging->buffer : NULL;
}

/* ---- queues ---------------------------------------------------------------------------------- */

tally_status tally_check_queue(const tally_queue *queue, const tally_context *context) {
    if (!queue) return tally_fail(TALLY_E_ARGUMENT, "queue is NULL");
    if (queue->tag != TALLY_TAG_QUEUE) return tally_fail(TALLY_E_ARGUMENT, "queue is no queue");
    if (context && queue->context != context) return tally_fail(TALLY_E_ARGUMENT, "queue belongs to another context");
    return TALLY_OK;
}

tally_status tally_queue_open(tally_context *context, int wrap, void *native, tally_queue **out) {
    tally_queue *queue = calloc(1, sizeof(*queue));
    if (!queue) return tally_fail(TALLY_E_MEMORY, "out of memory");
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
    tally_status status = tally_check_context(context);
    if (!status) status = tally_check_pointer(out, "out");
    return TALLY_NAMED(status ? status : tally_queue_open(context, 0, NULL, out));
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
    const tally_status status = tally_check_queue(queue, NULL);
    return TALLY_NAMED(status ? status : queue->context->backend->queue_wait(queue->handle));
}

/* ---- copies ---------------------------------------------------------------------------------- */

static tally_status check_copy(const tally_queue *queue, const tally_buffer *buffer, uint64_t offset, const void *host,
                               uint64_t bytes, const char *buffer_argument, const char *host_argument) {
    tally_status status = tally_check_queue(queue, NULL);
    if (!status) status = tally_check_buffer(buffer, queue->context, buffer_argument);
    if (!status && bytes) status = tally_check_pointer(host, host_argument);
    if (status) return status;
    if (offset > buffer->bytes || bytes > buffer->bytes - offset)
        return tally_fail(TALLY_E_ARGUMENT, "%llu bytes at offset %llu: the buffer has %llu", (unsigned long long)bytes,
                          (unsigned long long)offset, (unsigned long long)buffer->bytes);
    return TALLY_OK;
}

tally_status tally_buffer_write(tally_queue *queue, tally_buffer *to, uint64_t offset, const void *from, uint64_t bytes) {
    const tally_status status = check_copy(queue, to, offset, from, bytes, "to", "from");
    if (status || !bytes) return TALLY_NAMED(status);
    return TALLY_NAMED(queue->context->backend->copy_in(queue->handle, to->mem, offset, from, bytes));
}

tally_status tally_buffer_read(tally_queue *queue, const tally_buffer *from, uint64_t offset, void *to, uint64_t bytes) {
    const tally_status status = check_copy(queue, from, offset, to, bytes, "from", "to");
    if (status || !bytes) return TALLY_NAMED(status);
    return TALLY_NAMED(queue->context->backend->copy_out(queue->handle, from->mem, offset, to, bytes));
}

/* ---- time ------------------------------------------------------------------------------------ */

static tally_status check_event(const tally_event *event, const tally_context *context) {
    if (!event) return tally_fail(TALLY_E_ARGUMENT, "event is NULL");
    if (event->tag != TALLY_TAG_EVENT) return tally_fail(TALLY_E_ARGUMENT, "event is no event");
    if (context && event->context != context) return tally_fail(TALLY_E_ARGUMENT, "event belongs to another context");
    return TALLY_OK;
}

tally_status tally_event_create(tally_context *context, tally_event **out) {
    if (out) *out = NULL;
    tally_status status = tally_check_context(context);
    if (!status) status = tally_check_pointer(out, "out");
    if (status) return TALLY_NAMED(status);
    tally_event *event = calloc(1, sizeof(*event));
    if (!event) return TALLY_NAMED(tally_fail(TALLY_E_MEMORY, "out of memory"));
    *event = (tally_event){.tag = TALLY_TAG_EVENT, .context = context};
    status = context->backend->event_create(context->device, &event->handle);
    if (status) {
        free(event);
        return TALLY_NAMED(status);
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
    tally_status status = check_event(event, NULL);
    if (!status) status = tally_check_queue(queue, event->context);
    if (status) return TALLY_NAMED(status);
    status = event->context->backend->event_record(queue->handle, event->handle);
    if (!status) event->recorded = true;
    return TALLY_NAMED(status);
}

tally_status tally_event_seconds(tally_event *from, tally_event *to, double *seconds) {
    tally_status status = check_event(from, NULL);
    if (!status) status = check_event(to, from->context);
    if (!status) status = tally_check_pointer(seconds, "seconds");
    if (status) return TALLY_NAMED(status);
    if (!from->recorded || !to->recorded) return TALLY_NAMED(tally_fail(TALLY_E_ARGUMENT, "an event was never recorded"));
    return TALLY_NAMED(from->context->backend->event_seconds(from->handle, to->handle, seconds));
}
