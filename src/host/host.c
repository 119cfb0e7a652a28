/* SPDX-License-Identifier: MIT */
/*
 * Reductions of host arrays on a CPU device, by the op's program (programs.h) in the pool's
 * threads. That needs no plan, no memory and no call of a driver. The order is the same, and so are
 * the bits.
 */
#include <float.h>
#include <string.h>
#ifdef __SSE2__
#include <xmmintrin.h>
#endif

#include "host/host.h"
#include "base/pool.h"

/* Tells whether the descriptor gives only an op and a dtype. The programs are for these. */
static bool is_plain(const tally_reduce_desc *desc) {
    const bool whole = desc->size >= offsetof(tally_reduce_desc, out) && desc->size <= sizeof(*desc);
    return whole && !desc->out && !desc->variant && !desc->group_threads && !desc->factor && !desc->acc && !desc->accuracy &&
           !desc->custom && !desc->terms && !desc->term_count;
}

/* Tells whether this thread's arithmetic is the default, as that of the devices is, which are
 * tested for it (probe.c). A program linked with -ffast-math flushes subnormals, for example,
 * and others trap at a NaN. Those that are not sound take a launch, which puts their environment
 * aside. */
static bool is_sound(void) {
#ifdef __SSE2__
    const unsigned all_masked_to_nearest = 0x1f80, raised = 0x3f;
    return FLT_EVAL_METHOD == 0 && (_mm_getcsr() & ~raised & 0xffff) == all_masked_to_nearest;
#else
    static const volatile float one = 1, half_ulp = 0x1p-24f, more = 0x1.8p-24f, small = 0x1.8p-126f, least = 0x1p-126f;
    const volatile float subnormal = small - least;
    return FLT_EVAL_METHOD == 0 && one + half_ulp == one && -one - half_ulp == -one && one + more > one && -one - more < -one &&
           subnormal + least == small;
#endif
}

static bool is_readable(const void *const *items, uint32_t inputs, size_t item_bytes) {
    bool readable = items != NULL;
    for (uint32_t k = 0; readable && k < inputs; k++) readable = items[k] && (uintptr_t)items[k] % item_bytes == 0;
    return readable;
}

void tally_host_push(const tally_host_program *program, tally_host_counter *counter, unsigned char *acc) {
    unsigned k = 0;
    for (; counter->count >> k & 1; k++) {
        program->combine(counter->level[k], acc);
        memcpy(acc, counter->level[k], program->acc_bytes);
    }
    memcpy(counter->level[k], acc, program->acc_bytes);
    counter->count++;
}

void tally_host_total(const tally_host_program *program, tally_host_counter *counter, unsigned char *to) {
    _Alignas(64) unsigned char own[TALLY_HOST_ACC_BYTES];
    bool has = false;
    for (unsigned k = 0; counter->count >> k; k++) {
        if (!(counter->count >> k & 1)) continue;
        if (has) program->combine(counter->level[k], own);
        memcpy(own, counter->level[k], program->acc_bytes);
        has = true;
    }
    memcpy(to, own, program->acc_bytes);
}

/* The runs of an array, each an aligned subtree. A run takes some microseconds, which is what it
 * costs to hand it to another thread. */
#define LEAST_RUN (8 * TALLY_CHUNK_ITEMS) /* items */
#define MOST_RUNS 256

bool tally_host_are_far(const tally_host_program *program, uint64_t n, uint32_t threads) {
    return n / (threads > 1 ? threads / 2 : 1) >= program->far_items;
}

typedef struct array_job {
    const tally_host_program *program;
    const void *const *items;
    const void *params;
    uint64_t base, n, run;
    bool is_far;
    _Alignas(64) unsigned char partials[MOST_RUNS * TALLY_HOST_ACC_BYTES];
} array_job;

static void fold_run(void *opaque, uint64_t group, uint32_t worker) {
    (void)worker;
    array_job *job = opaque;
    const tally_host_program *program = job->program;
    const uint64_t begin = group * job->run, left = job->n - begin;
    const void *items[TALLY_MAX_INPUTS];
    for (uint32_t k = 0; k < program->inputs; k++)
        items[k] = (const unsigned char *)job->items[k] + begin * program->item_bytes;
    program->fold(items, job->params, job->base + begin, left < job->run ? left : job->run, job->is_far,
                  job->partials + group * program->acc_bytes);
}

void tally_host_fold(const tally_host_program *program, const void *const *items, const void *params, uint64_t base, uint64_t n,
                     uint32_t threads, unsigned char *acc) {
    if (n <= LEAST_RUN) {
        program->fold(items, params, base, n, false, acc);
        return;
    }
    array_job job = {.program = program, .items = items, .params = params, .base = base, .n = n, .run = LEAST_RUN};
    job.is_far = tally_host_are_far(program, n, threads);
    while (tally_ceil_div(n, job.run) > MOST_RUNS) job.run *= 2;
    tally_pool_run(threads, tally_ceil_div(n, job.run), fold_run, &job);
    program->combine_all(job.partials, program->acc_bytes, tally_ceil_div(n, job.run), acc);
}

bool tally_host_reduce(const tally_context *context, const tally_reduce_desc *desc, const void *const *items, uint64_t n,
                       void *result) {
    const tally_device_info *device = &context->info;
    if (device->device_class != TALLY_CLASS_CPU || !device->host_memory || !device->has_f64 || !is_plain(desc)) return false;
    const tally_host_program *program = tally_host_program_for(desc->op, desc->in);
    if (!program || !is_sound() || (n && !is_readable(items, program->inputs, program->item_bytes))) return false;
    _Alignas(64) unsigned char acc[TALLY_HOST_ACC_BYTES];
    if (n) tally_host_fold(program, items, program->defaults, 0, n, device->compute_units, acc);
    program->finish(acc, n, program->defaults, result);
    return true;
}
