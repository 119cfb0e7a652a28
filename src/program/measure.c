/* SPDX-License-Identifier: MIT */
/* The rates at which a device reads and copies its memory: the kernels `read` and `copy` run
 * over a buffer, timed by the device's clock. */
#include <stdlib.h>
#include <string.h>

#include "program/program.h"

#define RUNS 15
#define DEFAULT_BYTES (UINT64_C(1) << 30)
#define VECTOR_BYTES 16
#define FLIGHT 8 /* vectors in flight; the kernels have the same number */

/* Both kernels take (in, run, out). */
typedef struct measure {
    const char *stem, *entry;
    bool copies;
} measure;
static const measure of_read = {"read", "tally_read", false};
static const measure of_copy = {"copy", "tally_copy", true};

/* The shape of a launch. A group of a GPU has 512 threads and reads 128 KiB, as much as one of
 * group_tree. A group of a CPU has one thread, and each core has 64 groups. */
typedef struct shape {
    uint32_t threads;
    uint64_t groups, run; /* run: 16-byte vectors of a group */
} shape;

static shape shape_for(const tally_device_info *device, uint64_t bytes) {
    const bool cpu = device->device_class == TALLY_CLASS_CPU;
    shape s = {.threads = cpu ? 1 : 512};
    if (s.threads > device->max_group_threads) s.threads = device->max_group_threads;
    const uint64_t step = (uint64_t)FLIGHT * s.threads, vectors = bytes / VECTOR_BYTES;
    s.run = cpu ? vectors / (64 * (uint64_t)device->compute_units) / step * step : 2 * step;
    if (s.run < step) s.run = step;
    s.groups = vectors / s.run;
    if (!s.groups) s.groups = 1;
    return s;
}

typedef struct trial {
    const measure *of;
    tally_buffer *in, *out;
    tally_queue *queue;
    tally_event *from, *to;
    void *kernel;
} trial;

/* Writes every page of the buffer. A CPU would read one page of zeros over and over otherwise. */
static tally_status fill(const trial *t, tally_buffer *buffer, uint64_t bytes) {
    const size_t piece = 16u << 20;
    unsigned char *data = malloc(piece);
    if (!data) return tally_fail(TALLY_E_MEMORY, "out of memory");
    for (size_t i = 0; i < piece; i++) data[i] = (unsigned char)(i * 31);
    tally_status status = TALLY_OK;
    for (uint64_t at = 0; at < bytes && !status; at += piece)
        status = tally_buffer_write(t->queue, buffer, at, data, bytes - at < piece ? bytes - at : piece);
    const tally_status waited = tally_queue_wait(t->queue);
    free(data);
    return status ? status : waited;
}

static int compare(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static tally_status time_runs(tally_context *context, trial *t, const shape *s, double *median) {
    double seconds[RUNS];
    const tally_arg args[] = {{.mem = t->in->mem}, {.value = &s->run, .bytes = sizeof(s->run)}, {.mem = t->out->mem}};
    tally_status status = TALLY_OK;
    /* The first run warms up. */
    for (int i = -1; i < RUNS && !status; i++) {
        status = tally_event_record(t->from, t->queue);
        if (!status)
            status =
                context->backend->launch(t->queue->handle, t->kernel, s->groups, s->threads, TALLY_ARRAY_LENGTH(args), args);
        if (!status) status = tally_event_record(t->to, t->queue);
        if (!status) status = tally_event_seconds(t->from, t->to, &seconds[i < 0 ? 0 : i]);
    }
    if (status) return status;
    qsort(seconds, RUNS, sizeof(seconds[0]), compare);
    *median = seconds[RUNS / 2];
    return TALLY_OK;
}

static tally_status run(tally_context *context, const measure *m, uint64_t bytes, double *bytes_per_second) {
    tally_status status = tally_check_context(context);
    if (!status) status = tally_check_pointer(bytes_per_second, "bytes_per_second");
    if (status) return status;
    if (!bytes) bytes = context->info.memory_bytes / 4 < DEFAULT_BYTES ? context->info.memory_bytes / 4 : DEFAULT_BYTES;
    const shape s = shape_for(&context->info, bytes);
    bytes = s.groups * s.run * VECTOR_BYTES;
    const uint64_t out_bytes = m->copies ? bytes : sizeof(uint32_t);
    trial t = {.of = m};
    void *program = NULL;
    double median = 0;
    status = tally_program_of_stem(context, m->stem, s.threads, "", &program);
    if (!status) status = context->backend->kernel_create(context->device, program, m->entry, &t.kernel);
    if (!status) status = tally_buffer_create(context, bytes, &t.in);
    if (!status) status = tally_buffer_create(context, out_bytes, &t.out);
    if (!status) status = tally_queue_create(context, &t.queue);
    if (!status) status = tally_event_create(context, &t.from);
    if (!status) status = tally_event_create(context, &t.to);
    if (!status) status = fill(&t, t.in, bytes);
    if (!status) status = fill(&t, t.out, out_bytes);
    if (!status) status = time_runs(context, &t, &s, &median);
    if (!status) *bytes_per_second = (double)(m->copies ? 2 * bytes : bytes) / median;
    tally_event_destroy(t.to);
    tally_event_destroy(t.from);
    tally_queue_destroy(t.queue);
    tally_buffer_destroy(t.out);
    tally_buffer_destroy(t.in);
    if (t.kernel) context->backend->kernel_close(context->device, t.kernel);
    return status;
}

tally_status tally_measure_read(tally_context *context, uint64_t bytes, double *bytes_per_second) {
    return TALLY_NAMED(run(context, &of_read, bytes, bytes_per_second));
}

tally_status tally_measure_copy(tally_context *context, uint64_t bytes, double *bytes_per_second) {
    return TALLY_NAMED(run(context, &of_copy, bytes, bytes_per_second));
}
