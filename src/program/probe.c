/* SPDX-License-Identifier: MIT */
/* The self-test of a device and the trials of its features. A device that fails the self-test is
 * refused with the reason; kernels/probe.h says what it finds. The test runs once for a device,
 * driver and version: the cache on disk remembers that it passed. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "program/program.h"

#define STEPS 100000u /* above 65,535, after which some drivers end a loop */

/* The inputs: 1 + 2^-12, whose square needs more bits than f32 has; -(1 + 2^-11), which leaves 0
 * of the rounded square and 2^-24 of the exact one; 1 and 2^25, whose sum loses the 1; two
 * subnormals; two factors of 2^6 - 2^-40, and 2^30 + 2^7. Of these, the exact sum is just below the
 * middle of two f32. Rounded to f32 or f64 before, it is the middle, and goes up. */
static const float inputs[] = {0x1.001p0f, -0x1.002p0f,   1.0f,          0x1p25f,       0x1p-140f,
                               0x1p-141f,  0x1.000002p3f, 0x1.fffffcp2f, 0x1.000002p30f};
static const float expected[] = {0.0f, 0.0f, 0x1.8p-140f, 0x1.000002p30f};
static const char *const defects[] = {"fuses a product and a sum into one rounding", "reorders sums",
                                      "flushes subnormals to zero", "rounds a fused multiply-add twice"};

/* The objects that a run opens. The program is not among them. */
typedef struct probe_run {
    void *kernel, *queue, *in, *state, *out;
} probe_run;

static tally_status execute(tally_context *context, void *program, probe_run *run, float *out, uint32_t state[3]) {
    const tally_backend *backend = context->backend;
    uint64_t in_bytes = sizeof(inputs), state_bytes = 3 * sizeof(uint32_t), out_bytes = sizeof(expected);
    void *device = context->device;
    tally_status status = backend->kernel_create(device, program, "tally_probe", &run->kernel);
    if (!status) status = backend->queue_open(device, 0, NULL, &run->queue);
    if (!status) status = backend->mem_open(device, TALLY_MEM_DEVICE, NULL, &in_bytes, &run->in);
    if (!status) status = backend->mem_open(device, TALLY_MEM_DEVICE, NULL, &state_bytes, &run->state);
    if (!status) status = backend->mem_open(device, TALLY_MEM_DEVICE, NULL, &out_bytes, &run->out);
    if (!status) status = backend->copy_in(run->queue, run->in, 0, inputs, in_bytes);
    if (!status) status = backend->copy_in(run->queue, run->state, 0, state, state_bytes);
    const tally_arg args[] = {{.mem = run->in}, {.mem = run->state}, {.mem = run->out}};
    if (!status) status = backend->launch(run->queue, run->kernel, 1, TALLY_PROBE_THREADS, TALLY_ARRAY_LENGTH(args), args);
    if (!status) status = backend->copy_out(run->queue, run->out, 0, out, out_bytes);
    if (!status) status = backend->copy_out(run->queue, run->state, 0, state, state_bytes);
    if (run->queue) {
        const tally_status waited = backend->queue_wait(run->queue);
        if (!status) status = waited;
    }
    return status;
}

static void close_run(tally_context *context, probe_run *run) {
    const tally_backend *backend = context->backend;
    if (run->out) backend->mem_close(context->device, run->out);
    if (run->state) backend->mem_close(context->device, run->state);
    if (run->in) backend->mem_close(context->device, run->in);
    if (run->queue) backend->queue_close(context->device, run->queue);
    if (run->kernel) backend->kernel_close(context->device, run->kernel);
}

static tally_status judge(const tally_context *context, const float *out, const uint32_t state[3]) {
    const char *name = context->info.name;
    for (size_t i = 0; i < TALLY_ARRAY_LENGTH(expected); i++)
        if (memcmp(&out[i], &expected[i], sizeof(out[i])))
            return tally_fail(TALLY_E_UNSUPPORTED, "%s failed the self-test: it %s, so its bits would differ", name,
                              defects[i]);
    uint32_t x = 1;
    for (uint32_t i = 0; i < STEPS; i++) x = x * 1664525u + 1013904223u;
    if (state[2] != x)
        return tally_fail(TALLY_E_UNSUPPORTED, "%s failed the self-test: a loop of %u rounds ended early", name, STEPS);
    return TALLY_OK;
}

/* ---- features -------------------------------------------------------------------------------- */

/* Runs a trial in one group. */
static tally_status run_trial(tally_context *context, void *program, probe_run *run, float verdicts[TALLY_TRIAL_THREADS]) {
    const tally_backend *backend = context->backend;
    void *device = context->device;
    uint64_t bytes = TALLY_TRIAL_THREADS * sizeof(verdicts[0]);
    tally_status status = backend->kernel_create(device, program, "tally_feature", &run->kernel);
    if (!status) status = backend->queue_open(device, 0, NULL, &run->queue);
    if (!status) status = backend->mem_open(device, TALLY_MEM_DEVICE, NULL, &bytes, &run->out);
    if (!status) status = backend->copy_in(run->queue, run->out, 0, verdicts, bytes);
    const bool is_ready = !status;
    if (!status) status = backend->launch(run->queue, run->kernel, 1, TALLY_TRIAL_THREADS, 1, &(tally_arg){.mem = run->out});
    if (!status) status = backend->copy_out(run->queue, run->out, 0, verdicts, bytes);
    if (run->queue) {
        const tally_status waited = backend->queue_wait(run->queue);
        if (!status) status = waited;
    }
    /* Drivers call a kernel that cannot run a lack of resources too. */
    return is_ready && status == TALLY_E_MEMORY ? TALLY_E_DEVICE : status;
}

/* Finds whether every thread of a feature's trial finds the right value, and has the cache keep the
 * verdict. `status` is that of the making of the trial's program. If the trial fails for a reason
 * that may pass, nothing is kept and this context goes without the feature. Errors: E_MEMORY. */
static tally_status try_program(tally_context *context, tally_key key, tally_status status, void *program, bool *has) {
    probe_run run = {0};
    float verdicts[TALLY_TRIAL_THREADS] = {0};
    if (!status) status = run_trial(context, program, &run, verdicts);
    close_run(context, &run);
    *has = !status;
    for (size_t i = 0; i < TALLY_TRIAL_THREADS; i++) *has = *has && verdicts[i] == 1;
    if (!status || status == TALLY_E_BUILD) tally_cache_store(context->cache, key, *has ? "y" : "n", 1);
    return status == TALLY_E_MEMORY ? status : TALLY_OK;
}

/* Finds whether the device has a feature. `with` is a program that has its trial; NULL: there is
 * none yet. Errors: E_MEMORY. */
static tally_status find_feature(tally_context *context, size_t feature, void *with, bool *has) {
    char *source;
    tally_status status =
        tally_source_of_stem(context->backend, tally_features[feature].stem, TALLY_TRIAL_THREADS, "", &source);
    if (status) return status == TALLY_E_MEMORY ? status : TALLY_OK;
    const size_t source_bytes = strlen(source);
    const tally_key key = tally_cache_key(&context->info, source, source_bytes);
    bool damaged = false;
    size_t bytes = 0;
    char *verdict = tally_cache_load(context->cache, key, &bytes, &damaged);
    if (verdict) {
        *has = bytes == 1 && verdict[0] == 'y';
    } else if (with) {
        status = try_program(context, key, TALLY_OK, with, has);
    } else {
        void *program = NULL;
        const tally_program_desc desc = {.form = TALLY_PROGRAM_SOURCE,
                                         .data = source,
                                         .bytes = source_bytes,
                                         .sub_groups = feature == TALLY_FEATURE_SUBGROUPS};
        const tally_status made = tally_program_make(context, &desc, &program);
        status = try_program(context, key, made, program, has);
        if (program) context->backend->program_close(context->device, program);
    }
    context->damaged += damaged;
    free(verdict);
    free(source);
    return status;
}

/* A trial that finds no memory is tried again with the next plan. */
static tally_status try_feature(tally_context *context, size_t feature, void *with) {
    const bool is_for_class = tally_features[feature].classes & 1u << context->info.device_class;
    bool has = false;
    const tally_status status = is_for_class ? find_feature(context, feature, with, &has) : TALLY_OK;
    if (status) return status;
    context->tried |= 1u << feature;
    if (has) context->features |= 1u << feature;
    return TALLY_OK;
}

tally_status tally_try_features(tally_context *context, unsigned features) {
    tally_status status = TALLY_OK;
    for (size_t i = 0; i < TALLY_FEATURE_END && !status; i++)
        if (!(context->tried & 1u << i) && (tally_features[i].always || features & 1u << i))
            status = try_feature(context, i, NULL);
    return status;
}

/* ---- the self-test --------------------------------------------------------------------------- */

/* Makes the program of the self-test. Where it is compiled, the trial of ORDER is in it if it
 * compiles: *with_order. A program more takes POCL 0.25 s (Debian 12, EPYC). */
static tally_status make_program(tally_context *context, const char *source, bool *with_order, void **program) {
    const char *trial = tally_kernel_text(context->backend, tally_features[TALLY_FEATURE_ORDER].stem);
    char *both = NULL;
    tally_program_desc desc = {.form = TALLY_PROGRAM_SOURCE, .data = source, .bytes = strlen(source)};
    *with_order = false;
    if ((*program = tally_program_prebuilt(context, &desc))) return TALLY_OK;
    if (trial && asprintf(&both, "%s%s", source, trial) >= 0) {
        const tally_program_desc more = {.form = TALLY_PROGRAM_SOURCE, .data = both, .bytes = strlen(both)};
        *with_order = !tally_program_make(context, &more, program);
        free(both);
    }
    return *with_order ? TALLY_OK : tally_program_make(context, &desc, program);
}

static tally_status run_probe(tally_context *context, const char *source, unsigned features) {
    probe_run run = {0};
    bool with_order;
    void *program = NULL;
    float out[TALLY_ARRAY_LENGTH(expected)] = {-1, -1, -1, -1};
    uint32_t state[3] = {1, STEPS, 0};
    tally_status status = make_program(context, source, &with_order, &program);
    if (!status) status = execute(context, program, &run, out, state);
    close_run(context, &run);
    if (!status) status = judge(context, out, state);
    if (!status && with_order && features & 1u << TALLY_FEATURE_ORDER)
        status = try_feature(context, TALLY_FEATURE_ORDER, program);
    if (program) context->backend->program_close(context->device, program);
    return status;
}

tally_status tally_probe(tally_context *context, unsigned features) {
    char *source;
    tally_status status = tally_source_of_stem(context->backend, "probe", TALLY_PROBE_THREADS, "", &source);
    if (status) return status;
    const tally_key key = tally_cache_key(&context->info, source, strlen(source));
    bool damaged = false;
    size_t bytes = 0;
    void *verdict = tally_cache_load(context->cache, key, &bytes, &damaged);
    if (!verdict) {
        status = run_probe(context, source, features);
        if (!status) tally_cache_store(context->cache, key, "passed", sizeof("passed"));
    }
    context->damaged += damaged;
    free(verdict);
    free(source);
    return status;
}
