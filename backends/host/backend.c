/* SPDX-License-Identifier: MIT */
/*
 * The backend `host`: the processor that the library runs on, with no driver. Its programs are
 * compiled with the library (src/host/programs.h), and its threads are those of src/base/pool.h. A
 * launch or a copy has ended when the call returns; the calling thread takes part in it.
 */
#define _GNU_SOURCE
#include <fenv.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "host.h"
#include "host/cpu.h"
#include "base/pool.h"
#include "scan/scan.h"

extern const tally_backend tally_backend_host;

/* ---- devices: an open one is the number of its threads --------------------------------------- */

static tally_status device_count(int *count, char *reason, size_t reason_bytes) {
    *count = tally_host_code_here()->programs != NULL;
    snprintf(reason, reason_bytes, "%s", *count ? "" : "the library was built for another machine, without programs for it");
    return TALLY_OK;
}

/* Copies the processor's name from a line "model name : ..." of Linux. */
static void name_processor(char *name, size_t bytes) {
    char line[256];
    FILE *file = fopen("/proc/cpuinfo", "r");
    snprintf(name, bytes, "CPU");
    while (file && fgets(line, sizeof(line), file)) {
        const char *value = strstr(line, ": ");
        if (strncmp(line, "model name", strlen("model name")) || !value) continue;
        line[strcspn(line, "\n")] = 0;
        snprintf(name, bytes, "%s", value + 2);
        break;
    }
    if (file) fclose(file);
}

static tally_status device_info(int index, tally_device_info *info) {
    (void)index;
    uint32_t threads;
    const tally_status status = tally_pool_threads(&threads);
    const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    if (status) return status;
    *info = tally_host_cpu;
    name_processor(info->name, sizeof(info->name));
    snprintf(info->platform, sizeof(info->platform), "tally");
    snprintf(info->driver, sizeof(info->driver), "%s", TALLY_VERSION);
    snprintf(info->build_options, sizeof(info->build_options), "%s", tally_host_code_name());
    info->compute_units = threads;
    if (pages > 0 && page > 0) info->memory_bytes = info->max_buffer_bytes = (uint64_t)pages * (uint64_t)page;
    return TALLY_OK;
}

static tally_status device_open(int index, void *native_context, void *native_device, tally_device_info *info, void **device) {
    (void)native_context, (void)native_device; /* there are no such handles */
    const tally_status status = device_info(index, info);
    uint32_t *threads = status ? NULL : malloc(sizeof(*threads));
    if (!status && !threads) return tally_fail(TALLY_E_MEMORY, "out of memory");
    if (status) return status;
    *threads = info->compute_units;
    *device = threads;
    return TALLY_OK;
}

static void device_close(void *device) {
    free(device);
}

/* ---- memory ---------------------------------------------------------------------------------- */

static tally_status mem_open(void *device, tally_mem_kind kind, void *handle, uint64_t *bytes, void **out) {
    (void)device;
    host_mem *mem = malloc(sizeof(*mem));
    if (kind == TALLY_MEM_NATIVE) return free(mem), tally_fail(TALLY_E_UNSUPPORTED, "host has no memory objects of a driver");
    if (mem) *mem = (host_mem){.bytes = handle};
    if (mem && kind != TALLY_MEM_HOST) mem->bytes = mem->own = aligned_alloc(64, *bytes / 64 * 64 + 64);
    if (!mem || (kind != TALLY_MEM_HOST && !mem->own))
        return free(mem), tally_fail(TALLY_E_MEMORY, "aligned_alloc(%llu bytes) failed", (unsigned long long)*bytes);
    *out = mem;
    return TALLY_OK;
}

static void mem_close(void *device, void *opaque) {
    (void)device;
    host_mem *mem = opaque;
    free(mem->own);
    free(mem);
}

static void *mem_pointer(void *mem) {
    return ((host_mem *)mem)->bytes;
}

static tally_mem_place mem_place(void *mem) {
    return (tally_mem_place){NULL, (uintptr_t)mem_pointer(mem)};
}

/* ---- queues: nothing is ever under way ------------------------------------------------------- */

static tally_status queue_open(void *device, int wrap, void *native, void **queue) {
    (void)native;
    if (wrap) return tally_fail(TALLY_E_UNSUPPORTED, "host has no queues of a driver");
    *queue = device;
    return TALLY_OK;
}

static void queue_close(void *device, void *queue) {
    (void)device, (void)queue;
}

static tally_status queue_wait(void *queue) {
    (void)queue;
    return TALLY_OK;
}

static void *queue_native(void *queue) {
    (void)queue;
    return NULL;
}

static tally_status copy_in(void *queue, void *mem, uint64_t offset, const void *host, uint64_t bytes) {
    (void)queue;
    if (bytes) memmove(((host_mem *)mem)->bytes + offset, host, bytes);
    return TALLY_OK;
}

static tally_status copy_out(void *queue, void *mem, uint64_t offset, void *host, uint64_t bytes) {
    (void)queue;
    if (bytes) memmove(host, ((host_mem *)mem)->bytes + offset, bytes);
    return TALLY_OK;
}

/* ---- programs and kernels -------------------------------------------------------------------- */

/* Makes the program of one text: an op, a scan or a stem. */
static tally_status open_program(const tally_host_key *key, uint32_t parts, host_program **out) {
    host_program *program = *out = calloc(1, sizeof(*program) + parts * sizeof(program->parts[0]));
    if (!program) return tally_fail(TALLY_E_MEMORY, "out of memory");
    program->key = key;
    if (key->program >= TALLY_HOST_MOVE) return TALLY_OK;
    program->part_count = 1;
    program->parts[0].program = tally_host_code_here()->programs[key->program];
    program->acc_bytes = program->parts[0].program->acc_bytes;
    program->result_bytes = program->parts[0].program->result_bytes;
    return TALLY_OK;
}

/* Makes a reduction by several ops, or of segments, from the programs that each op has alone. */
static tally_status open_parts(const tally_program_desc *desc, host_program **out) {
    host_program *program = NULL;
    for (uint32_t p = 0; p < desc->part_count; p++) {
        const tally_program_part *given = &desc->parts[p];
        const tally_host_key *key = tally_host_find(given->text, given->bytes);
        if (!key || TALLY_HOST_IS_SCAN(key->form)) return free(program), TALLY_E_UNSUPPORTED;
        const tally_status status = program ? TALLY_OK : open_program(key, desc->part_count, &program);
        if (status) return status;
        const tally_host_program *own = tally_host_code_here()->programs[key->program];
        if (desc->segments && desc->segments->has_initial && !own->initial) return free(program), TALLY_E_UNSUPPORTED;
        program->parts[p] = (host_part){.program = own,
                                        .acc_offset = given->acc_offset,
                                        .result_offset = given->result_offset,
                                        .param_offset = given->param_offset};
    }
    program->part_count = desc->part_count;
    program->acc_bytes = desc->acc_bytes;
    program->result_bytes = desc->result_bytes;
    program->has_segments = desc->segments != NULL;
    if (desc->segments) program->segments = *desc->segments;
    *out = program;
    return TALLY_OK;
}

/* The program of a source is the prebuilt one. One that is not there, or for which memory
 * is lacking, is asked for again as a source. That fails with the reason. */
static tally_status program_create(void *device, const tally_program_desc *desc, void **program) {
    (void)device;
    host_program *own = NULL;
    const tally_host_key *key = desc->part_count ? NULL : tally_host_find(desc->data, desc->bytes);
    tally_status status = TALLY_E_UNSUPPORTED;
    if (desc->part_count)
        status = open_parts(desc, &own);
    else if (key)
        status = open_program(key, 1, &own);
    if (!status) *program = own;
    if (status != TALLY_E_UNSUPPORTED) return status;
    return tally_fail(status, "host compiles nothing: it has the built-in ops with their default accumulators and results, "
                              "and compensated sums of f32 and f64; OpenCL and CUDA have the rest, and custom ops");
}

static tally_status program_binary(void *device, void *program, void **data, size_t *bytes) {
    (void)device, (void)program, (void)data, (void)bytes;
    return tally_fail(TALLY_E_UNSUPPORTED, "host has no binaries");
}

static void program_close(void *device, void *program) {
    (void)device;
    free(program);
}

/* tally_probe(in, state, out) */
static void run_probe(host_kernel *kernel, uint64_t groups, const tally_arg *args) {
    (void)kernel, (void)groups;
    tally_host_code_here()->probe((const float *)(const void *)host_bytes(&args[0]), (uint32_t *)(void *)host_bytes(&args[1]),
                                  (float *)(void *)host_bytes(&args[2]));
}

/* The trial of ORDER: C11 has atomics that order memory. */
static void run_trial(host_kernel *kernel, uint64_t groups, const tally_arg *args) {
    (void)kernel, (void)groups;
    float *verdicts = (float *)(void *)host_bytes(&args[0]);
    for (int i = 0; i < 64; i++) verdicts[i] = 1;
}

static tally_status find_entry(host_kernel *kernel, const char *entry) {
    const unsigned program = kernel->of->key->program;
    bool found = true;
    if (program == TALLY_HOST_MOVE || program == TALLY_HOST_STEM) {
        found = tally_host_move_entry(kernel, entry) || tally_host_part_entry(kernel, entry);
    } else if (program == TALLY_HOST_OFFSETS || program == TALLY_HOST_KEYS) {
        found = tally_host_keys_entry(kernel, entry);
    } else if (program == TALLY_HOST_PROBE || program == TALLY_HOST_TRIAL) {
        kernel->run = program == TALLY_HOST_PROBE ? run_probe : run_trial;
        kernel->args = program == TALLY_HOST_PROBE ? 3 : 1;
    } else {
        kernel->program = kernel->of->parts[0].program;
        for (uint32_t p = 0; p < kernel->of->part_count; p++)
            if (kernel->of->parts[p].program->inputs > kernel->inputs) kernel->inputs = kernel->of->parts[p].program->inputs;
        if (kernel->of->has_segments) return tally_host_segments_entry(kernel, entry);
        if (TALLY_HOST_IS_SCAN(kernel->form) && TALLY_HOST_SCAN_FLAGS(kernel->form) & TALLY_SCAN_IS_AXIS)
            return tally_host_scan_axis_entry(kernel, entry);
        if (TALLY_HOST_IS_SCAN(kernel->form)) return tally_host_scan_entry(kernel, entry);
        found = tally_host_fold_entry(kernel, entry) || tally_host_reduce_entry(kernel, entry);
    }
    return found ? TALLY_OK : tally_fail(TALLY_E_INTERNAL, "no kernel '%s'", entry);
}

static void kernel_close(void *device, void *opaque) {
    (void)device;
    host_kernel *kernel = opaque;
    free(kernel->scratch);
    free(kernel);
}

static tally_status kernel_create(void *device, void *program, const char *entry, void **out) {
    host_kernel *kernel = calloc(1, sizeof(*kernel));
    if (!kernel) return tally_fail(TALLY_E_MEMORY, "out of memory");
    kernel->of = program;
    kernel->form = kernel->of->key->form;
    kernel->threads = *(const uint32_t *)device;
    const tally_status status = find_entry(kernel, entry);
    if (status)
        kernel_close(device, kernel);
    else
        *out = kernel;
    return status;
}

static tally_status launch(void *queue, void *opaque, uint64_t groups, uint32_t threads, uint32_t count,
                           const tally_arg *args) {
    (void)queue, (void)threads;
    host_kernel *kernel = opaque;
    fenv_t caller;
    if (count != kernel->args) return tally_fail(TALLY_E_INTERNAL, "%u arguments, %u are needed", count, kernel->args);
    /* The caller's rounding mode would change bits. */
    fegetenv(&caller);
    fesetenv(FE_DFL_ENV);
    kernel->run(kernel, groups, args);
    fesetenv(&caller);
    return TALLY_OK;
}

/* ---- time ------------------------------------------------------------------------------------ */

static tally_status event_create(void *device, void **event) {
    (void)device;
    *event = calloc(1, sizeof(struct timespec));
    return *event ? TALLY_OK : tally_fail(TALLY_E_MEMORY, "event: out of memory");
}

static void event_close(void *device, void *event) {
    (void)device;
    free(event);
}

static tally_status event_record(void *queue, void *event) {
    (void)queue;
    clock_gettime(CLOCK_MONOTONIC, event);
    return TALLY_OK;
}

static tally_status event_seconds(void *from, void *to, double *seconds) {
    const struct timespec *begin = from, *end = to;
    if (!begin->tv_sec || !end->tv_sec) return tally_fail(TALLY_E_ARGUMENT, "event: not recorded");
    *seconds = (double)(end->tv_sec - begin->tv_sec) + (double)(end->tv_nsec - begin->tv_nsec) * 1e-9;
    return TALLY_OK;
}

const tally_backend tally_backend_host = {
    .abi = TALLY_BACKEND_ABI,
    .name = "host",
    .device_count = device_count,
    .device_info = device_info,
    .device_open = device_open,
    .device_close = device_close,
    .mem_open = mem_open,
    .mem_close = mem_close,
    .mem_pointer = mem_pointer,
    .mem_place = mem_place,
    .queue_open = queue_open,
    .queue_close = queue_close,
    .queue_wait = queue_wait,
    .queue_native = queue_native,
    .copy_in = copy_in,
    .copy_out = copy_out,
    .kernel_source = tally_host_stem,
    .program_create = program_create,
    .program_binary = program_binary,
    .program_close = program_close,
    .kernel_create = kernel_create,
    .kernel_close = kernel_close,
    .launch = launch,
    .event_create = event_create,
    .event_close = event_close,
    .event_record = event_record,
    .event_seconds = event_seconds,
};
