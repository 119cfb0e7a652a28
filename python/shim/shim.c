/* SPDX-License-Identifier: MIT */
/* shim.c: reductions of arrays that are given by addresses and strides. */
#include "shim.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <tally/backend.h>
#include <tally/cuda.h>
#include <tally/opencl.h>

#define MOST_ARRAYS (TALLY_MAX_INPUTS + 1 + TALLY_MAX_TERMS)

struct tally_python_bound {
    tally_python_arrays of;
    tally_axis axes[TALLY_MAX_AXES];
    tally_axes_args args;
    tally_buffer *buffers[MOST_ARRAYS];
    uintptr_t address[MOST_ARRAYS]; /* of the first byte of each buffer */
    uint32_t count;
};

/* An array of a call. */
typedef struct array {
    uintptr_t address;
    int64_t offset, item;   /* bytes */
    const int64_t *strides; /* bytes */
} array;

/* ---- memory ---------------------------------------------------------------------------------- */

tally_status tally_python_wrap(uintptr_t context, int memory, uintptr_t address, uint64_t bytes, tally_buffer **out) {
    tally_context *of = (tally_context *)context;
    if (memory == TALLY_PYTHON_COPIED || !bytes) return tally_buffer_create(of, bytes, out);
    if (memory == TALLY_PYTHON_OPENCL) return tally_buffer_wrap_opencl(of, (struct _cl_mem *)address, out);
    if (memory == TALLY_PYTHON_CUDA) return tally_buffer_wrap_cuda(of, address, bytes, out);
    return tally_buffer_wrap_host(of, (const void *)address, bytes, out);
}

static int is_host(const tally_python_bound *b) {
    return b->of.memory == TALLY_PYTHON_IN_PLACE || b->of.memory == TALLY_PYTHON_COPIED;
}

/* Returns the number of bytes that an array spans, 0 if it has no items. *low becomes the distance
 * from its origin to the first of them, which is 0 or negative. */
static uint64_t span_of(const tally_python_bound *b, const array *a, int is_output, int64_t *low) {
    int64_t high = a->item;
    *low = 0;
    for (uint32_t i = 0; i < b->of.axis_count; i++) {
        if (is_output && b->axes[i].reduced) continue;
        if (!b->axes[i].extent) return 0;
        const int64_t last = a->strides[i] * (int64_t)(b->axes[i].extent - 1);
        if (last < 0)
            *low += last;
        else
            high += last;
    }
    return (uint64_t)(high - *low);
}

/* Wraps an array and gives the place of its origin in the buffer, in items. */
static tally_status bind_array(tally_python_bound *b, const array *a, int is_output, const tally_buffer **buffer,
                               uint64_t *offset) {
    int64_t low;
    const uint64_t bytes = span_of(b, a, is_output, &low);
    const uint32_t k = b->count;
    const int whole = b->of.memory == TALLY_PYTHON_OPENCL;
    b->address[k] = whole ? a->address : a->address + (uintptr_t)(a->offset + low);
    const tally_status status = tally_python_wrap(b->of.context, (int)b->of.memory, b->address[k], bytes, &b->buffers[k]);
    if (status) return status;
    b->count++;
    *buffer = b->buffers[k];
    *offset = (uint64_t)(whole ? a->offset : -low) / (uint64_t)a->item;
    if (b->of.memory != TALLY_PYTHON_COPIED || is_output || !bytes) return TALLY_OK;
    return tally_buffer_write((tally_queue *)b->of.queue, b->buffers[k], 0, (const void *)b->address[k], bytes);
}

/* Reads the next array from *numbers, which moves on. */
static array next_array(const tally_python_bound *b, const int64_t **numbers) {
    const array a = {(uintptr_t)(*numbers)[0], (*numbers)[1], (*numbers)[2], *numbers + 3};
    *numbers += 3 + b->of.axis_count;
    return a;
}

static tally_status bind(tally_python_bound *b, const int64_t *numbers) {
    const uint32_t axes = b->of.axis_count;
    tally_status status = TALLY_OK;
    for (uint32_t i = 0; i < axes; i++) {
        b->axes[i].extent = (uint64_t)numbers[i];
        b->axes[i].reduced = (int)numbers[axes + i];
    }
    numbers += 2 * axes;
    for (uint32_t k = 0; k < b->of.inputs && !status; k++) {
        const array a = next_array(b, &numbers);
        for (uint32_t i = 0; i < axes; i++) b->axes[i].in_stride[k] = a.strides[i] / a.item;
        status = bind_array(b, &a, 0, &b->args.in[k], &b->args.in_offset[k]);
    }
    if (b->of.masks && !status) {
        const array a = next_array(b, &numbers);
        for (uint32_t i = 0; i < axes; i++) b->axes[i].where_stride = a.strides[i];
        status = bind_array(b, &a, 0, &b->args.where, &b->args.where_offset);
    }
    for (uint32_t t = 0; t < b->of.outputs && !status; t++) {
        const array a = next_array(b, &numbers);
        const tally_buffer *out = NULL;
        for (uint32_t i = 0; i < axes && !t; i++) b->axes[i].out_stride = a.strides[i] / a.item;
        status = bind_array(b, &a, 1, &out, &b->args.out_offset[t]);
        b->args.out[t] = b->count ? b->buffers[b->count - 1] : NULL;
    }
    b->args.size = sizeof(b->args);
    b->args.axes = b->axes;
    b->args.axis_count = axes;
    b->args.out_strided = 1;
    /* Enqueued copies may still read the caller's items. */
    if (status && is_host(b)) tally_queue_wait((tally_queue *)b->of.queue);
    return status;
}

static void unbind(tally_python_bound *b) {
    for (uint32_t k = 0; k < b->count; k++) tally_buffer_destroy(b->buffers[k]);
}

static tally_status out_of_memory(const char *what, size_t bytes) {
    return tally_fail(TALLY_E_MEMORY, "no host memory for %s (%zu bytes)", what, bytes);
}

/* ---- calls ----------------------------------------------------------------------------------- */

/* Enqueues a call, by a plan of either kind. */
static tally_status enqueue(uintptr_t plan, tally_queue *queue, const tally_axes_args *a, uint32_t whole) {
    tally_reduce_args args = {.size = sizeof(args), .n = 1, .out = a->out[0], .out_offset = a->out_offset[0]};
    if (!whole) return tally_reduce_axes((tally_plan *)plan, queue, a);
    for (uint32_t i = 0; i < a->axis_count; i++) args.n *= a->axes[i].extent;
    for (int k = 0; k < TALLY_MAX_INPUTS; k++) {
        args.in[k] = a->in[k];
        args.in_offset[k] = a->in_offset[k];
    }
    return tally_reduce_with((tally_plan *)plan, queue, &args);
}

tally_status tally_python_run(tally_python_bound *b) {
    tally_queue *queue = (tally_queue *)b->of.queue;
    tally_status status = enqueue(b->of.plan, queue, &b->args, b->of.whole);
    const uint32_t first = b->count - b->of.outputs;
    if (!is_host(b)) return status;
    for (uint32_t t = 0; t < b->of.outputs && !status && b->of.memory == TALLY_PYTHON_COPIED; t++) {
        const uint64_t bytes = tally_buffer_bytes(b->buffers[first + t]);
        if (bytes) status = tally_buffer_read(queue, b->buffers[first + t], 0, (void *)b->address[first + t], bytes);
    }
    /* Enqueued work may still read the caller's items, after a failure too. */
    const tally_status waited = tally_queue_wait(queue);
    return status ? status : waited;
}

tally_status tally_python_bind(const tally_python_arrays *arrays, const int64_t *numbers, tally_python_bound **out) {
    tally_python_bound *b = calloc(1, sizeof(*b));
    *out = NULL;
    if (!b) return out_of_memory("a bound reduction", sizeof(*b));
    b->of = *arrays;
    const tally_status status = bind(b, numbers);
    if (status) return tally_python_unbind(b), status;
    *out = b;
    return TALLY_OK;
}

void tally_python_unbind(tally_python_bound *b) {
    if (!b) return;
    unbind(b);
    free(b);
}

tally_status tally_python_reduce(uintptr_t context, uintptr_t plan, uintptr_t queue, int memory, uint32_t axis_count,
                                 uint32_t inputs, uint32_t masks, uint32_t outputs, uint32_t whole, const int64_t *numbers) {
    tally_python_bound b = {
        .of = {context, plan, queue, (tally_python_memory)memory, axis_count, inputs, masks, outputs, whole}};
    tally_status status = bind(&b, numbers);
    if (!status) status = tally_python_run(&b);
    unbind(&b);
    return status;
}

/* ---- forms ----------------------------------------------------------------------------------- */

enum { IN, WHERE, OUT, FORM_ARRAYS };

/* Buffers of a form's arrays, and what they wrap. */
typedef struct wrapped {
    uintptr_t address[FORM_ARRAYS];
    tally_buffer *buffer[FORM_ARRAYS]; /* NULL: none */
} wrapped;

struct tally_python_form {
    tally_python_arrays of;
    tally_axis axes[TALLY_MAX_AXES];
    tally_axes_args args;
    int64_t low[FORM_ARRAYS];    /* from an array's origin to its first byte */
    uint64_t bytes[FORM_ARRAYS]; /* that the arrays take */
    _Atomic(wrapped *) kept;     /* of the last call. NULL: none, or a thread has it */
};

/* Reads array k and sets its strides and its place. */
static void form_array(tally_python_form *form, tally_python_bound *b, int k, const int64_t **numbers) {
    const array a = next_array(b, numbers);
    form->bytes[k] = span_of(b, &a, k == OUT, &form->low[k]);
    const uint64_t place = (uint64_t)-form->low[k] / (uint64_t)a.item;
    *(k == IN ? &form->args.in_offset[0] : k == OUT ? &form->args.out_offset[0] : &form->args.where_offset) = place;
    for (uint32_t i = 0; i < form->of.axis_count; i++)
        *(k == IN    ? &form->axes[i].in_stride[0]
          : k == OUT ? &form->axes[i].out_stride
                     : &form->axes[i].where_stride) = a.strides[i] / a.item;
}

tally_status tally_python_form_make(const tally_python_arrays *arrays, const int64_t *numbers, tally_python_form **out) {
    tally_python_bound b = {.of = *arrays};
    const uint32_t axes = arrays->axis_count;
    tally_python_form *made = *out = calloc(1, sizeof(*made));
    if (!made) return out_of_memory("a form", sizeof(*made));
    made->of = *arrays;
    made->args = (tally_axes_args){.size = sizeof(made->args), .axes = made->axes, .axis_count = axes, .out_strided = 1};
    for (uint32_t i = 0; i < axes; i++) {
        made->axes[i].extent = (uint64_t)numbers[i];
        made->axes[i].reduced = (int)numbers[axes + i];
    }
    memcpy(b.axes, made->axes, sizeof(b.axes));
    numbers += 2 * axes;
    form_array(made, &b, IN, &numbers);
    if (arrays->masks) form_array(made, &b, WHERE, &numbers);
    form_array(made, &b, OUT, &numbers);
    return TALLY_OK;
}

static void unwrap(wrapped *w) {
    for (int k = 0; k < FORM_ARRAYS; k++) tally_buffer_destroy(w->buffer[k]);
}

void tally_python_form_end(tally_python_form *form) {
    wrapped *kept = form ? atomic_load(&form->kept) : NULL;
    if (kept) unwrap(kept);
    free(kept);
    free(form);
}

/* Wraps array k, unless it is wrapped. */
static tally_status form_wrap(const tally_python_form *form, wrapped *w, int k, uintptr_t address) {
    if (w->buffer[k] && w->address[k] == address) return TALLY_OK;
    tally_buffer_destroy(w->buffer[k]);
    w->buffer[k] = NULL;
    w->address[k] = address;
    return tally_python_wrap(form->of.context, (int)form->of.memory, address + (uintptr_t)form->low[k], form->bytes[k],
                             &w->buffer[k]);
}

static tally_status form_run(const tally_python_form *form, uintptr_t plan, uintptr_t queue, const wrapped *w) {
    tally_axes_args args = form->args;
    args.in[0] = w->buffer[IN];
    args.where = w->buffer[WHERE];
    args.out[0] = w->buffer[OUT];
    tally_status status = enqueue(plan, (tally_queue *)queue, &args, form->of.whole);
    if (form->of.memory == TALLY_PYTHON_IN_PLACE) {
        const tally_status waited = tally_queue_wait((tally_queue *)queue);
        status = status ? status : waited;
    }
    return status;
}

/* Host memory is not kept wrapped: a driver may have pages of it pinned. */
tally_status tally_python_form_run(tally_python_form *form, uintptr_t plan, uintptr_t queue, uintptr_t in, uintptr_t where,
                                   uintptr_t out) {
    const int keeps = form->of.memory == TALLY_PYTHON_CUDA;
    wrapped now = {{0}, {NULL}}, *room = keeps ? atomic_exchange(&form->kept, NULL) : NULL;
    if (room) now = *room;
    tally_status status = form_wrap(form, &now, IN, in);
    if (!status && form->of.masks) status = form_wrap(form, &now, WHERE, where);
    if (!status) status = form_wrap(form, &now, OUT, out);
    if (!status) status = form_run(form, plan, queue, &now);
    if (keeps && !status && !room) room = malloc(sizeof(*room));
    if (keeps && !status && room) {
        *room = now;
        room = atomic_exchange(&form->kept, room);
        if (room) unwrap(room); /* another thread's */
    } else {
        unwrap(&now);
    }
    free(room);
    return status;
}

tally_status tally_python_whole(uintptr_t context, int op, int dtype, uintptr_t items, uint64_t n, uintptr_t result) {
    return tally_reduce_host((tally_context *)context, (tally_op)op, (tally_dtype)dtype, (const void *)items, n,
                             (void *)result);
}

void tally_python_end_plan(tally_plan **plan) {
    tally_plan_destroy(*plan);
    *plan = NULL;
}

void tally_python_end_queue(tally_queue **queue) {
    tally_queue_destroy(*queue);
    *queue = NULL;
}

void tally_python_end_buffer(tally_buffer **buffer) {
    tally_buffer_destroy(*buffer);
    *buffer = NULL;
}

uint64_t tally_python_no_index(void) {
    return TALLY_NO_INDEX;
}
