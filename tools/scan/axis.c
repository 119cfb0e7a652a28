/* SPDX-License-Identifier: MIT */
/*
 * axis.c: `tally scan --axis`. The array is scanned in the order of its file: Fortran order only
 * changes the strides, and needs no copy. All items and their values are on the device at once.
 */
#include <stdio.h>
#include <stdlib.h>

#include "scan.h"
#include "tools/files/array.h"
#include "tools/files/npy_write.h"
#include "tools/files/shape.h"
#include "tools/print/progress.h"

/* Files of up to this size are scanned once before the clock starts, because some drivers (POCL)
 * compile at the first launch, and the shape decides what is launched. */
#define WARM_BYTES ((uint64_t)64 << 20)

typedef struct axis_job {
    const scan_request *r;
    scan_outcome *o;
    array in;
    npy_writer to;
    tally_axis axes[TALLY_MAX_AXES];
    uint32_t along;
    tally_plan *plan;
    tally_queue *queue;
    tally_buffer *in_buffer, *out_buffer;
    void *values;
    uint64_t value_bytes; /* of all */
} axis_job;

static bool failed(const axis_job *j) {
    cli_report("%s: %s", j->r->path, cli_last_error().text);
    return false;
}

/* Finds the scanned axis, and the axes' strides. */
static bool find_axes(axis_job *j) {
    const npy_shape *shape = &j->in.shape;
    const int dimensions = (int)shape->dimensions, axis = j->r->axis < 0 ? j->r->axis + dimensions : j->r->axis;
    uint64_t stride = 1; /* may wrap where the array has no items */
    if (axis < 0 || axis >= dimensions) {
        cli_report("%s: --axis %d: its shape %s has %d ax%s", j->r->path, j->r->axis, shape_text(shape).text, dimensions,
                   dimensions == 1 ? "is" : "es");
        return false;
    }
    if (dimensions > TALLY_MAX_AXES) {
        cli_report("%s: its shape has %d axes, and at most %d are taken", j->r->path, dimensions, TALLY_MAX_AXES);
        return false;
    }
    for (int i = 0; i < dimensions; i++) {
        const int d = shape->is_fortran ? i : dimensions - 1 - i;
        j->axes[d] = (tally_axis){.extent = shape->lengths[d], .in_stride = {(int64_t)stride}};
        stride *= shape->lengths[d];
    }
    j->along = (uint32_t)axis;
    return true;
}

static bool create_plan(axis_job *j) {
    const scan_request *r = j->r;
    _Alignas(16) unsigned char initial[16] = {0};
    tally_result_info value;
    if (r->initial && !scan_read_initial(r, j->in.dtype, initial)) return false;
    const tally_scan_desc desc = scan_desc(r, j->in.dtype, j->in.n ? j->in.n : 1, initial, TALLY_ALONG_AXIS);
    if (tally_scan_plan_create(r->context, &desc, &j->plan)) return failed(j);
    for (uint32_t i = 0; i < r->param_count; i++)
        if (tally_plan_set_param(j->plan, r->params[i].name, r->params[i].value)) return failed(j);
    if (!tally_plan_result(j->plan, 0, &value)) return failed(j);
    const uint64_t each = tally_plan_result_bytes(j->plan);
    j->value_bytes = j->in.n * each;
    *j->o = (scan_outcome){
        .n = j->in.n, .in = j->in.dtype, .out = value.dtype, .bytes = array_bytes(&j->in) + j->value_bytes, .along = j->along};
    snprintf(j->o->variant, sizeof(j->o->variant), "%s", tally_plan_variant(j->plan));
    j->values = j->in.n <= SIZE_MAX / 2 / each ? malloc(j->value_bytes + 1) : NULL;
    if (!j->values) cli_report("%s: out of memory", r->path);
    return j->values != NULL;
}

/* Makes a buffer of the items. On a device that uses host memory they stay where they are. */
static tally_status open_buffers(axis_job *j) {
    tally_context *context = j->r->context;
    const uint64_t bytes = array_bytes(&j->in);
    const bool lends = j->r->info.device.host_memory && bytes;
    tally_status status = tally_queue_create(context, &j->queue);
    if (!status && lends) status = tally_buffer_wrap_host(context, j->in.items, bytes, &j->in_buffer);
    if (!status && !lends) status = tally_buffer_create(context, bytes, &j->in_buffer);
    if (!status && !lends && bytes) status = tally_buffer_write(j->queue, j->in_buffer, 0, j->in.items, bytes);
    return status ? status : tally_buffer_create(context, j->value_bytes, &j->out_buffer);
}

static tally_status run(axis_job *j) {
    const tally_scan_axis_args args = {.size = sizeof(args),
                                       .axes = j->axes,
                                       .axis_count = j->in.shape.dimensions,
                                       .axis = j->along,
                                       .in = j->in_buffer,
                                       .out = j->out_buffer};
    tally_status status = tally_scan_axis(j->plan, j->queue, &args);
    if (!status && j->value_bytes) status = tally_buffer_read(j->queue, j->out_buffer, 0, j->values, j->value_bytes);
    return status ? status : tally_queue_wait(j->queue);
}

static bool scan(axis_job *j) {
    double begun = units_seconds();
    tally_status status = open_buffers(j);
    if (!status && j->o->bytes <= WARM_BYTES) {
        status = run(j);
        begun = units_seconds();
    }
    if (!status) status = run(j);
    j->o->seconds = units_seconds() - begun;
    return status == TALLY_OK || failed(j);
}

/* Writes the values in C order. Several values for each item add a dimension. */
static bool save(axis_job *j) {
    npy_shape shape = j->in.shape;
    const uint64_t values = tally_plan_result_bytes(j->plan) / tally_dtype_bytes(j->o->out);
    shape.is_fortran = false;
    if (values > 1) shape.lengths[shape.dimensions++] = values;
    return npy_write_items(&j->to, j->values, j->value_bytes) && npy_write_close(&j->to, &shape);
}

static void release(axis_job *j) {
    if (j->queue) (void)tally_queue_wait(j->queue); /* the error is reported already */
    npy_write_abandon(&j->to);
    tally_buffer_destroy(j->in_buffer);
    tally_buffer_destroy(j->out_buffer);
    tally_plan_destroy(j->plan);
    tally_queue_destroy(j->queue);
    array_free(&j->in);
    free(j->values);
}

bool scan_along_axis(const scan_request *r, scan_outcome *o) {
    axis_job j = {.r = r, .o = o};
    bool done = array_open(&j.in, r->path, r->types.raw, true) && find_axes(&j);
    if (done && !r->json) progress_wait(PROGRESS_COMPILING);
    done = done && create_plan(&j) && npy_write_open(&j.to, r->output, o->out, j.in.shape.dimensions + 1) && scan(&j);
    progress_end();
    done = done && save(&j);
    release(&j);
    return done;
}
