/* SPDX-License-Identifier: MIT */
/* What the device reads from its memory: the kernel `read` over a buffer, timed by the device's clock. */
#include <stdlib.h>
#include <string.h>

#include "core.h"

#define RUNS 15
#define DEFAULT_BYTES (UINT64_C(1) << 30)
#define VECTOR_BYTES 16
#define FLIGHT 8 /* as in the kernel */

/* A GPU's groups have 512 items and read 128 KiB, as much as one of group_tree; a CPU's have one item, and there are 64 to a core. */
typedef struct read_shape {
    uint32_t items;
    uint64_t groups, run; /* run: vectors of a group */
} read_shape;

static read_shape shape_for(const tally_device_info *device, uint64_t bytes) {
    const bool cpu = device->device_class == TALLY_CLASS_CPU;
    read_shape shape = {.items = cpu ? 1 : 512};
    if (shape.items > device->max_group_items) shape.items = device->max_group_items;
    const uint64_t step = (uint64_t)FLIGHT * shape.items, vectors = bytes / VECTOR_BYTES;
    shape.run = cpu ? vectors / (64 * (uint64_t)device->compute_units) / step * step : 2 * step;
    if (shape.run < step) shape.run = step;
    shape.groups = vectors / shape.run;
    if (!shape.groups) shape.groups = 1;
    return shape;
}

typedef struct reading {
    tally_buffer *in, *out;
    tally_queue *queue;
    tally_event *from, *to;
    void *kernel;
} reading;

/* Every page is written, or a CPU would read one page of zeros over and over. */
static tally_status fill(reading *r, uint64_t bytes) {
    const size_t piece = 16u << 20;
    unsigned char *data = malloc(piece);
    if (!data) return tally_fail(TALLY_E_MEMORY, "tally_measure_read: out of memory");
    for (size_t i = 0; i < piece; i++) data[i] = (unsigned char)(i * 31);
    tally_status status = TALLY_OK;
    for (uint64_t at = 0; at < bytes && !status; at += piece)
        status = tally_buffer_write(r->queue, r->in, at, data, bytes - at < piece ? bytes - at : piece);
    const tally_status waited = tally_queue_wait(r->queue);
    free(data);
    return status ? status : waited;
}

static int compare(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static tally_status time_runs(tally_context *context, reading *r, const read_shape *shape, double *median) {
    double seconds[RUNS];
    const tally_arg args[] = {{.mem = r->in->mem}, {.value = &shape->run, .bytes = sizeof(shape->run)}, {.mem = r->out->mem}};
    tally_status status = TALLY_OK;
    /* The first run warms up. */
    for (int i = -1; i < RUNS && !status; i++) {
        status = tally_event_record(r->from, r->queue);
        if (!status)
            status = context->backend->launch(r->queue->handle, r->kernel, shape->groups, shape->items,
                                              TALLY_ARRAY_LENGTH(args), args);
        if (!status) status = tally_event_record(r->to, r->queue);
        if (!status) status = tally_event_seconds(r->from, r->to, &seconds[i < 0 ? 0 : i]);
    }
    if (status) return status;
    qsort(seconds, RUNS, sizeof(seconds[0]), compare);
    *median = seconds[RUNS / 2];
    return TALLY_OK;
}

tally_status tally_measure_read(tally_context *context, uint64_t bytes, double *bytes_per_second) {
    tally_status status = tally_check_context(context, "tally_measure_read");
    if (!status) status = tally_check_pointer(bytes_per_second, "tally_measure_read", "bytes_per_second");
    if (status) return status;
    if (!bytes) bytes = context->info.memory_bytes / 4 < DEFAULT_BYTES ? context->info.memory_bytes / 4 : DEFAULT_BYTES;
    const read_shape shape = shape_for(&context->info, bytes);
    bytes = shape.groups * shape.run * VECTOR_BYTES;
    reading r = {0};
    void *program = NULL;
    double median = 0;
    status = tally_program_of_stem(context, "read", shape.items, "", &program);
    if (!status) status = context->backend->kernel_create(context->device, program, "tally_read", &r.kernel);
    if (!status) status = tally_buffer_create(context, bytes, &r.in);
    if (!status) status = tally_buffer_create(context, sizeof(uint32_t), &r.out);
    if (!status) status = tally_queue_create(context, &r.queue);
    if (!status) status = tally_event_create(context, &r.from);
    if (!status) status = tally_event_create(context, &r.to);
    if (!status) status = fill(&r, bytes);
    if (!status) status = time_runs(context, &r, &shape, &median);
    if (!status) *bytes_per_second = (double)bytes / median;
    tally_event_destroy(r.to);
    tally_event_destroy(r.from);
    tally_queue_destroy(r.queue);
    tally_buffer_destroy(r.out);
    tally_buffer_destroy(r.in);
    if (r.kernel) context->backend->kernel_close(context->device, r.kernel);
    return status;
}
