/* SPDX-License-Identifier: MIT */
/* Host arrays, reduced along axes. A device with host memory reads the items in place; others get
 * copies. An array that the device cannot hold is cut in halves along its kept axes. */
#include <stdlib.h>
#include <string.h>

#include "segments/segments.h"

/* An array under way, or a piece of it. */
typedef struct job {
    tally_segments_plan *plan;
    tally_queue *queue;
    uint32_t axis_count;
    tally_axis axes[TALLY_MAX_AXES]; /* with the strides of the results */
    const unsigned char *in[TALLY_MAX_INPUTS], *where;
    unsigned char *out[TALLY_MAX_TERMS];
} job;

/* A span of host memory around an item: the items below it and above it. `any`: there are some. */
typedef struct span {
    bool any;
    uint64_t below, above;
} span;

#define ORIGIN (UINT64_C(1) << 58) /* items; their bytes fit 64 bits with a sign */

/* ---- sizes ----------------------------------------------------------------------------------- */

static uint64_t item_bytes(const job *j) {
    return tally_dtype_bytes(j->plan->base.terms.in);
}

/* Returns false where strides lead beyond any memory. */
static bool find_reach(const tally_array_shape *shape, size_t stride, bool with_reduced, span *of) {
    uint64_t low, high;
    if (!tally_shape_span(shape, stride, with_reduced, ORIGIN, &low, &high) || high > 2 * ORIGIN) return false;
    *of = (span){true, ORIGIN - low, high - ORIGIN};
    return true;
}

static bool find_span(const tally_array_shape *shape, size_t stride, span *of) {
    *of = (span){false, 0, 0};
    return !shape->n || !shape->count || find_reach(shape, stride, true, of);
}

static bool find_input(const tally_array_shape *shape, uint32_t input, span *of) {
    return find_span(shape, offsetof(tally_shape_axis, in) + input * sizeof(int64_t), of);
}

static uint64_t bytes_of(span of, uint64_t bytes) {
    return of.any ? (of.below + of.above + 1) * bytes : 0;
}

/* Tells whether a device holds a piece: the results and copies of the items, or, where it reads
 * them in place, the results, and a buffer each input. `reach` gets the bytes from the first to the
 * last item of an input, the most of all. */
static bool fits(const job *j, const tally_array_shape *shape, uint64_t *reach) {
    const tally_device_info *info = &j->plan->base.context->info;
    const tally_terms *terms = &j->plan->base.terms;
    const uint64_t half = info->memory_bytes / 2, buffer = info->max_buffer_bytes, room = half < buffer ? half : buffer;
    uint64_t items = 0;
    span of;
    *reach = 0;
    for (uint32_t k = 0; k <= terms->inputs; k++) {
        uint64_t bytes = 0;
        if (k < terms->inputs && find_input(shape, k, &of)) bytes = bytes_of(of, item_bytes(j));
        if (k == terms->inputs && j->where && find_span(shape, offsetof(tally_shape_axis, where), &of)) bytes = bytes_of(of, 1);
        items += bytes;
        if (bytes > *reach) *reach = bytes;
    }
    const uint64_t results = shape->count * terms->result.bytes;
    return info->host_memory ? results <= room && *reach <= buffer && *reach <= info->memory_bytes : results + items <= room;
}

/* ---- a piece --------------------------------------------------------------------------------- */

/* Makes the buffer of a span, and gives the place of its origin. */
static tally_status send(const job *j, const unsigned char *at, span of, uint64_t bytes, tally_buffer **buffer,
                         uint64_t *offset) {
    tally_context *context = j->plan->base.context;
    const uint64_t size = (of.below + of.above + 1) * bytes;
    void *first = (void *)(uintptr_t)(at - of.below * bytes);
    *offset = of.below;
    if (!of.any) return tally_buffer_open(context, TALLY_MEM_DEVICE, NULL, bytes, buffer);
    if (context->info.host_memory) return tally_buffer_open(context, TALLY_MEM_HOST, first, size, buffer);
    const tally_status status = tally_buffer_open(context, TALLY_MEM_DEVICE, NULL, size, buffer);
    return status ? status : context->backend->copy_in(j->queue->handle, (*buffer)->mem, 0, first, size);
}

/* Copies results, which are in C order of the kept axes, to their places. */
static void place_results(const job *j, const unsigned char *from, unsigned char *to, uint64_t bytes, uint64_t count) {
    uint64_t index[TALLY_MAX_AXES] = {0};
    int64_t at = 0;
    for (uint64_t i = 0; i < count; i++) {
        memcpy(to + at * (int64_t)bytes, from + i * bytes, bytes);
        for (uint32_t a = j->axis_count; a-- > 0;) {
            const tally_axis *axis = &j->axes[a];
            if (axis->reduced) continue;
            at += axis->out_stride;
            if (++index[a] < axis->extent) break;
            at -= (int64_t)axis->extent * axis->out_stride;
            index[a] = 0;
        }
    }
}

/* Tells whether the results lie in C order of the kept axes. */
static bool is_in_order(const job *j) {
    uint64_t stride = 1;
    for (uint32_t a = j->axis_count; a-- > 0;) {
        const tally_axis *axis = &j->axes[a];
        if (axis->reduced || axis->extent == 1) continue;
        if ((uint64_t)axis->out_stride != stride) return false;
        stride *= axis->extent;
    }
    return true;
}

/* Waits, and brings the results to their places. */
static tally_status receive(const job *j, tally_buffer *const *out, const tally_array_shape *shape) {
    const tally_backend *backend = j->plan->base.context->backend;
    const bool in_order = is_in_order(j);
    tally_status status = TALLY_OK;
    for (uint32_t t = 0; t < j->plan->outs && !status; t++) {
        const uint64_t bytes = j->plan->out[t].bytes;
        unsigned char *host = in_order ? j->out[t] : malloc(shape->count * bytes);
        if (!host) return tally_fail(TALLY_E_MEMORY, "out of memory");
        status = backend->copy_out(j->queue->handle, out[t]->mem, 0, host, shape->count * bytes);
        const tally_status waited = backend->queue_wait(j->queue->handle);
        if (!status) status = waited;
        if (!status && !in_order) place_results(j, host, j->out[t], bytes, shape->count);
        if (!in_order) free(host);
    }
    return status;
}

static tally_status run_piece(const job *j, const tally_array_shape *shape) {
    tally_segments_plan *plan = j->plan;
    tally_buffer *in[TALLY_MAX_INPUTS] = {NULL}, *where = NULL, *out[TALLY_MAX_TERMS] = {NULL};
    tally_axes_args args = {.size = sizeof(args), .axes = j->axes, .axis_count = j->axis_count};
    tally_status status = TALLY_OK;
    span of;
    for (uint32_t k = 0; k < plan->base.terms.inputs && !status; k++) {
        find_input(shape, k, &of);
        status = send(j, j->in[k], of, item_bytes(j), &in[k], &args.in_offset[k]);
        args.in[k] = in[k];
    }
    if (!status && j->where) {
        find_span(shape, offsetof(tally_shape_axis, where), &of);
        status = send(j, j->where, of, 1, &where, &args.where_offset);
        args.where = where;
    }
    for (uint32_t t = 0; t < plan->outs && !status; t++) {
        status = tally_buffer_open(plan->base.context, TALLY_MEM_DEVICE, NULL, shape->count * plan->out[t].bytes, &out[t]);
        args.out[t] = out[t];
    }
    if (!status) status = tally_reduce_axes(&plan->base, j->queue, &args);
    if (!status) status = receive(j, out, shape);
    /* The wait comes after a failure too: enqueued work may still read the caller's items. */
    const tally_status waited = plan->base.context->backend->queue_wait(j->queue->handle);
    for (int k = 0; k < TALLY_MAX_INPUTS; k++) tally_buffer_destroy(in[k]);
    for (int t = 0; t < TALLY_MAX_TERMS; t++) tally_buffer_destroy(out[t]);
    tally_buffer_destroy(where);
    return status ? status : waited;
}

/* ---- pieces ---------------------------------------------------------------------------------- */

/* Moves the origin to index `at` of an axis. */
static void move_origin(job *j, const tally_axis *axis, uint64_t at) {
    for (uint32_t k = 0; k < j->plan->base.terms.inputs; k++)
        j->in[k] += (int64_t)at * axis->in_stride[k] * (int64_t)item_bytes(j);
    if (j->where) j->where += (int64_t)at * axis->where_stride;
    for (uint32_t t = 0; t < j->plan->outs; t++) j->out[t] += (int64_t)at * axis->out_stride * (int64_t)j->plan->out[t].bytes;
}

/* Returns the items that an axis reaches over, in the first input. */
static uint64_t reach_of(const tally_axis *axis) {
    return (axis->extent - 1) * tally_magnitude(axis->in_stride[0]);
}

/* Returns the kept axis to cut: the one that reaches farthest, and of equal ones the longest. NULL:
 * there is none of two or more. */
static tally_axis *axis_to_cut(job *j) {
    tally_axis *best = NULL;
    for (uint32_t a = 0; a < j->axis_count; a++) {
        tally_axis *axis = &j->axes[a];
        if (axis->reduced || axis->extent < 2) continue;
        if (!best || reach_of(axis) > reach_of(best) || (reach_of(axis) == reach_of(best) && axis->extent > best->extent))
            best = axis;
    }
    return best;
}

/* Runs an array, in halves where it does not fit. */
static tally_status run_array(const job *whole) {
    const tally_plan *base = &whole->plan->base;
    tally_array_shape shape;
    uint64_t reach;
    tally_status status =
        tally_shape_make(whole->axes, whole->axis_count, base->terms.inputs, whole->where != NULL, true, &shape);
    if (status || !shape.count) return status;
    if (fits(whole, &shape, &reach)) return run_piece(whole, &shape);
    job half = *whole;
    tally_axis *cut = axis_to_cut(&half);
    if (!cut)
        return tally_fail(TALLY_E_MEMORY, "a segment's %llu items, which reach over %llu bytes, do not fit %s",
                          (unsigned long long)shape.n, (unsigned long long)reach, base->context->info.name);
    const uint64_t extent = cut->extent, first = extent / 2;
    cut->extent = first;
    status = run_array(&half);
    cut->extent = extent - first;
    move_origin(&half, cut, first);
    return status ? status : run_array(&half);
}

/* ---- the call -------------------------------------------------------------------------------- */

/* Copies the array's description, with the results' strides. */
static tally_status open_job(const tally_host_axes *a, job *j) {
    const tally_terms *terms = &j->plan->base.terms;
    const bool where = j->plan->flags & TALLY_WHERE;
    bool has_results = true, has_items = true;
    int64_t stride = 1;
    tally_status status = TALLY_OK;
    for (uint32_t i = 0; i < a->axis_count; i++) {
        has_items &= a->axes[i].extent > 0;
        has_results &= a->axes[i].reduced || a->axes[i].extent > 0;
    }
    j->axis_count = a->axis_count;
    if (a->axis_count) memcpy(j->axes, a->axes, a->axis_count * sizeof(*a->axes));
    for (uint32_t i = a->axis_count; i-- > 0 && !a->out_strided;) {
        if (j->axes[i].reduced) continue;
        j->axes[i].out_stride = stride;
        stride *= (int64_t)j->axes[i].extent;
    }
    for (uint32_t k = 0; k < terms->inputs && !status; k++) {
        j->in[k] = a->in[k];
        if (has_items) status = tally_check_pointer(a->in[k], terms->inputs > 1 ? "in[]" : "in");
    }
    for (uint32_t t = 0; t < j->plan->outs && !status; t++) {
        j->out[t] = a->out[t];
        if (has_results) status = tally_check_pointer(a->out[t], j->plan->outs > 1 ? "out[]" : "out");
    }
    if (!status && where && has_items) status = tally_check_pointer(a->where, "where");
    if (!status && !where && a->where) status = tally_fail(TALLY_E_ARGUMENT, "where is for desc.flags with TALLY_WHERE");
    j->where = where ? a->where : NULL;
    return status;
}

/* A range of host memory, and the name of the argument that it is. */
typedef struct extent {
    uintptr_t begin, end;
    const char *name;
} extent;

static extent extent_of(const void *origin, span of, uint64_t bytes, const char *name) {
    const uintptr_t at = (uintptr_t)origin;
    return (extent){of.any ? at - of.below * bytes : 0, of.any ? at + (of.above + 1) * bytes : 0, name};
}

static tally_status beyond_memory(void) {
    return tally_fail(TALLY_E_ARGUMENT, "axes: strides lead beyond any memory");
}

/* Checks that the outputs are apart from the inputs, the mask and each other. */
static tally_status check_apart(const job *j) {
    const tally_segments_plan *plan = j->plan;
    const uint32_t inputs = plan->base.terms.inputs;
    extent extents[TALLY_MAX_INPUTS + 1 + TALLY_MAX_TERMS];
    uint32_t read = 0, all;
    tally_array_shape shape;
    span of;
    tally_status status = tally_shape_make(j->axes, j->axis_count, inputs, j->where != NULL, true, &shape);
    if (status) return status;
    for (uint32_t k = 0; k < inputs; k++) {
        if (!find_input(&shape, k, &of)) return beyond_memory();
        extents[read++] = extent_of(j->in[k], of, item_bytes(j), tally_segments_in_name(plan, k));
    }
    if (!find_span(&shape, offsetof(tally_shape_axis, where), &of)) return beyond_memory();
    if (j->where) extents[read++] = extent_of(j->where, of, 1, "where");
    all = read;
    for (uint32_t t = 0; t < plan->outs; t++) {
        of = (span){false, 0, 0};
        if (shape.count && !find_reach(&shape, offsetof(tally_shape_axis, out), false, &of)) return beyond_memory();
        extents[all] = extent_of(j->out[t], of, plan->out[t].bytes, tally_segments_out_name(plan, t));
        for (uint32_t e = 0; e < all; e++)
            if (extents[e].begin < extents[all].end && extents[all].begin < extents[e].end)
                return tally_fail(TALLY_E_ARGUMENT, "%s and %s overlap", extents[e].name, extents[all].name);
        all++;
    }
    return TALLY_OK;
}

/* Finds the sizes of the plan, and checks the axes. */
static tally_status measure(const tally_host_axes *a, tally_segments_desc *desc) {
    tally_array_shape shape;
    tally_status status = tally_check_pointer(a, "array");
    if (!status && a->size != sizeof(*a))
        status = tally_fail(TALLY_E_ARGUMENT, "array.size is %zu: sizeof(tally_host_axes) is %zu", a->size, sizeof(*a));
    if (!status && a->axis_count) status = tally_check_pointer(a->axes, "axes");
    if (!status && desc->by && desc->by != TALLY_BY_AXES)
        status = tally_fail(TALLY_E_ARGUMENT, "desc.by is %d: a host array is reduced by axes", (int)desc->by);
    if (!status) status = tally_shape_make(a->axes, a->axis_count, 0, false, a->out_strided, &shape);
    if (status) return status;
    desc->by = TALLY_BY_AXES;
    desc->max_n = shape.n * shape.count;
    /* 0 would be the default, and 1 would compile the reduction of whole inputs too. */
    desc->max_segments = shape.count < 2 ? 2 : shape.count;
    if (!desc->max_n) desc->max_n = 1;
    return TALLY_OK;
}

static tally_status reduce_host_axes(tally_context *context, const tally_segments_desc *given, const tally_host_axes *array) {
    tally_segments_desc desc = {0};
    tally_plan *plan = NULL;
    job j = {.plan = NULL};
    tally_status status = tally_segments_copy_desc(given, &desc);
    if (!status) status = measure(array, &desc);
    desc.size = sizeof(desc);
    if (!status) status = tally_segments_plan_create(context, &desc, &plan);
    if (status) return status;
    j.plan = (tally_segments_plan *)plan;
    status = open_job(array, &j);
    if (!status) status = check_apart(&j);
    if (!status) status = tally_queue_open(context, 0, NULL, &j.queue);
    if (!status) status = run_array(&j);
    tally_queue_destroy(j.queue);
    tally_plan_destroy(plan);
    return status;
}

tally_status tally_reduce_host_axes(tally_context *context, const tally_segments_desc *desc, const tally_host_axes *array) {
    tally_status status = tally_check_context(context);
    if (!status) status = tally_check_pointer(desc, "desc");
    return TALLY_NAMED(status ? status : reduce_host_axes(context, desc, array));
}
