/* SPDX-License-Identifier: MIT */
/* Reductions of device memory: the stages of a plan, enqueued. */
#include <stdlib.h>

#include "core.h"

/* ---- launches ----------------------------------------------------------------------------------------------------- */

#define MEM(object) ((tally_arg){.mem = (object)})
#define VALUE(variable) ((tally_arg){.value = &(variable), .bytes = sizeof(variable)})

/* Both kernels take an accumulator slot and a result; the one that `last` rules out is never touched, so any memory will do. */

/* Inputs with their offsets, parameters, and what follows them in tally_partials. */
#define MAX_ARGS (2 * TALLY_MAX_INPUTS + 10)

tally_status tally_plan_partials(tally_plan *plan, void *queue, const tally_source *in, uint64_t n, tally_geometry geometry,
                                 tally_target to, const tally_target *together) {
    const tally_spec *spec = &plan->spec;
    const tally_target *result = together ? together : &to;
    const uint64_t first = to.result ? 0 : to.offset, out_offset = result->result ? result->offset : 0;
    const uint32_t last = together ? TALLY_LAST_TOGETHER : to.result ? TALLY_LAST_ALONE : TALLY_LAST_NONE;
    tally_arg args[MAX_ARGS];
    uint32_t count = 0;
    for (uint32_t k = 0; k < spec->inputs; k++) {
        args[count++] = MEM(in->mem[k]);
        args[count++] = VALUE(in->offset[k]);
    }
    args[count++] = (tally_arg){.value = plan->params, .bytes = spec->param.bytes};
    const tally_arg rest[] = {VALUE(in->base), VALUE(n),         VALUE(geometry.run), MEM(to.mem),
                              VALUE(first),    MEM(result->mem), VALUE(out_offset),   VALUE(last)};
    for (size_t i = 0; i < TALLY_ARRAY_LENGTH(rest); i++) args[count++] = rest[i];
    return plan->context->backend->launch(queue, plan->partials_kernel, geometry.groups, spec->group_items, count, args);
}

tally_status tally_plan_finish(tally_plan *plan, void *queue, void *partials, uint64_t count, uint64_t n, tally_target to) {
    const uint64_t slot = to.result ? 0 : to.offset, out_offset = to.result ? to.offset : 0;
    const uint32_t last = to.result;
    const tally_arg args[] = {MEM(partials), VALUE(count), MEM(to.mem),
                              VALUE(slot),   MEM(to.mem),  VALUE(out_offset),
                              VALUE(last),   VALUE(n),     {.value = plan->params, .bytes = plan->spec.param.bytes}};
    return plan->context->backend->launch(queue, plan->finish_kernel, 1, plan->spec.group_items, TALLY_ARRAY_LENGTH(args),
                                          args);
}

/* ---- the ways to finish -------------------------------------------------------------------------------------------- */

static tally_status finish_by_atomics(tally_plan *plan, void *queue, const tally_source *in, uint64_t n, tally_target result) {
    void *sum = plan->workspace->mem;
    const tally_arg args[] = {MEM(sum)};
    tally_status status = plan->context->backend->launch(queue, plan->init_kernel, 1, 1, TALLY_ARRAY_LENGTH(args), args);
    if (!status)
        status = tally_plan_partials(plan, queue, in, n, tally_plan_geometry(plan, n), (tally_target){.mem = sum}, NULL);
    return status ? status : tally_plan_finish(plan, queue, sum, n ? 1 : 0, n, result);
}

/* A value for each slice, then their tree: slices are aligned subtrees of the canonical order. */
static tally_status finish_by_slices(tally_plan *plan, void *queue, const tally_source *in, uint64_t n, tally_target result) {
    void *partials = plan->workspace->mem, *slices = plan->slices->mem;
    uint64_t count = 0;
    tally_status status = TALLY_OK;
    for (uint64_t done = 0; done < n && !status; done += plan->slice, count++) {
        const uint64_t items = n - done < plan->slice ? n - done : plan->slice;
        const tally_geometry geometry = tally_plan_geometry(plan, items);
        tally_source slice = *in;
        slice.base += done;
        for (uint32_t k = 0; k < plan->spec.inputs; k++) slice.offset[k] += done;
        status = tally_plan_partials(plan, queue, &slice, items, geometry, (tally_target){.mem = partials}, NULL);
        const tally_target slot = {.mem = slices, .offset = count};
        if (!status) status = tally_plan_finish(plan, queue, partials, geometry.groups, n, slot);
    }
    return status ? status : tally_plan_finish(plan, queue, slices, count, n, result);
}

static tally_status finish_by_launch(tally_plan *plan, void *queue, const tally_source *in, uint64_t n, tally_target result) {
    const tally_geometry geometry = tally_plan_geometry(plan, n);
    /* A single group writes the result itself. */
    if (geometry.groups == 1 && plan->spec.variant->stage != TALLY_STAGE_SCRATCH)
        return tally_plan_partials(plan, queue, in, n, geometry, result, NULL);
    if (plan->slice && n > plan->slice) return finish_by_slices(plan, queue, in, n, result);
    void *partials = plan->workspace->mem;
    /* The first slot counts the groups that are done. */
    if (plan->together)
        return tally_plan_partials(plan, queue, in, n, geometry, (tally_target){.mem = partials, .offset = 1}, &result);
    const tally_status status = tally_plan_partials(plan, queue, in, n, geometry, (tally_target){.mem = partials}, NULL);
    return status ? status : tally_plan_finish(plan, queue, partials, n ? geometry.groups : 0, n, result);
}

/* The partials come to the host and go back as one, which the device turns into the result. Blocks. */
static tally_status finish_on_host(tally_plan *plan, void *queue, const tally_source *in, uint64_t n, tally_target result) {
    const tally_backend *backend = plan->context->backend;
    const tally_geometry geometry = tally_plan_geometry(plan, n);
    void *partials = plan->workspace->mem;
    const uint64_t acc_bytes = plan->spec.acc.bytes;
    tally_status status = tally_plan_partials(plan, queue, in, n, geometry, (tally_target){.mem = partials}, NULL);
    if (!status) status = backend->copy_out(queue, partials, 0, plan->host, geometry.groups * acc_bytes);
    if (!status) status = backend->queue_wait(queue);
    if (status) return status;
    tally_host_combine(&plan->spec, plan->host, geometry.groups);
    status = backend->copy_in(queue, partials, 0, plan->host, acc_bytes);
    if (!status) status = tally_plan_finish(plan, queue, partials, n ? 1 : 0, n, result);
    return status ? status : backend->queue_wait(queue);
}

/* ---- tally_reduce ------------------------------------------------------------------------------------------------- */

#define CALL "tally_reduce"

/* What the plan's input `k` is called in error texts. */
static const char *input_name(const tally_plan *plan, uint32_t k) {
    static const char *const names[TALLY_MAX_INPUTS] = {"in[0]", "in[1]", "in[2]", "in[3]"};
    return plan->spec.inputs == 1 ? "in" : names[k];
}

static tally_status check_input(const tally_plan *plan, const tally_buffer *in, uint64_t offset, uint64_t n,
                                const tally_buffer *out, uint64_t out_offset, const char *name) {
    const uint64_t bytes = tally_dtype_bytes(plan->spec.in);
    tally_status status = tally_check_buffer(in, plan->context, CALL, name);
    const uint64_t result_bytes = plan->spec.result.bytes;
    if (!status) status = tally_check_items(in, offset, n, bytes, CALL, name);
    if (!status)
        status = tally_check_apart(in, offset * bytes, n * bytes, out, out_offset * result_bytes, result_bytes, CALL, name);
    return status;
}

tally_status tally_reduce_inputs(tally_plan *plan, tally_queue *queue, const tally_buffer *const *in,
                                 const uint64_t *in_offsets, uint64_t n, tally_buffer *out, uint64_t out_offset) {
    tally_status status = tally_check_plan(plan, CALL);
    if (!status && plan->scan.variant) status = tally_fail(TALLY_E_ARGUMENT, CALL ": plan is a scan's");
    if (!status) status = tally_check_queue(queue, plan->context, CALL);
    if (!status) status = tally_check_pointer(in, CALL, "in");
    if (!status) status = tally_check_buffer(out, plan->context, CALL, "out");
    /* Before the overlap, which multiplies the offset. */
    if (!status) status = tally_check_items(out, out_offset, 1, plan->spec.result.bytes, CALL, "out");
    tally_source source = {.base = 0};
    for (uint32_t k = 0; !status && k < plan->spec.inputs; k++) {
        source.offset[k] = in_offsets ? in_offsets[k] : 0;
        status = check_input(plan, in[k], source.offset[k], n, out, out_offset, input_name(plan, k));
        if (!status) source.mem[k] = in[k]->mem;
    }
    if (!status && n > plan->max_n)
        status = tally_fail(TALLY_E_ARGUMENT, CALL ": n is %llu: the plan's max_n is %llu", (unsigned long long)n,
                            (unsigned long long)plan->max_n);
    if (status) return status;

    const tally_target result = {.mem = out->mem, .offset = out_offset, .result = true};
    switch (plan->spec.variant->stage) {
    case TALLY_STAGE_ATOMIC:
        return finish_by_atomics(plan, queue->handle, &source, n, result);
    case TALLY_STAGE_HOST:
        return finish_on_host(plan, queue->handle, &source, n, result);
    default:
        return finish_by_launch(plan, queue->handle, &source, n, result);
    }
}

tally_status tally_reduce_at(tally_plan *plan, tally_queue *queue, const tally_buffer *in, uint64_t in_offset, uint64_t n,
                             tally_buffer *out, uint64_t out_offset) {
    const tally_status status = tally_check_plan(plan, CALL);
    if (status) return status;
    if (plan->spec.inputs != 1)
        return tally_fail(TALLY_E_ARGUMENT, CALL ": %s has %u inputs: tally_reduce_inputs takes them", plan->spec.terms[0].name,
                          plan->spec.inputs);
    return tally_reduce_inputs(plan, queue, &in, &in_offset, n, out, out_offset);
}

tally_status tally_reduce(tally_plan *plan, tally_queue *queue, const tally_buffer *in, uint64_t n, tally_buffer *out) {
    return tally_reduce_at(plan, queue, in, 0, n, out, 0);
}
