/* SPDX-License-Identifier: MIT */
/* The launches of a reduction's plan. */
#include "reduce/reduce.h"

/* ---- launches -------------------------------------------------------------------------------- */

/* Both kernels take an accumulator slot and the place of the outcome. `last` rules one of them out,
 * which is then never touched, so any memory serves for it. */

static const tally_outcome no_node;

/* Tells whether the target is the outcome of a launch. */
static bool is_outcome(const tally_target *to) {
    return to->result || to->node;
}

static tally_arg outcome_arg(const tally_target *to) {
    return (tally_arg){.value = to->node ? to->node : &no_node, .bytes = sizeof(tally_outcome)};
}

tally_status tally_reduce_partials(tally_reduce_plan *plan, void *queue, const tally_source *in, uint64_t n,
                                   tally_geometry geometry, tally_target to, const tally_target *together) {
    const tally_terms *terms = &plan->base.terms;
    const tally_target *outcome = together ? together : &to;
    const uint64_t first = is_outcome(&to) ? 0 : to.offset, out_offset = is_outcome(outcome) ? outcome->offset : 0;
    const uint32_t last = together ? TALLY_LAST_TOGETHER : is_outcome(&to) ? TALLY_LAST_ALONE : TALLY_LAST_NONE;
    const uint64_t item_bytes = tally_dtype_bytes(terms->in);
    tally_arg args[2 * TALLY_MAX_INPUTS + TALLY_REDUCE_ARGS], *rest = args + 2 * terms->inputs;
    for (uint32_t k = 0; k < terms->inputs; k++) {
        const uint64_t from = in->offset[k] * item_bytes;
        args[2 * k] = (tally_arg){.mem = in->mem[k], .read_from = from, .read_bytes = n * item_bytes};
        args[2 * k + 1] = TALLY_VALUE(in->offset[k]);
    }
    rest[TALLY_REDUCE_ARG_PARAMS] = (tally_arg){.value = plan->base.params, .bytes = terms->param.bytes};
    rest[TALLY_REDUCE_ARG_BASE] = TALLY_VALUE(in->base);
    rest[TALLY_REDUCE_ARG_N] = TALLY_VALUE(n);
    rest[TALLY_REDUCE_ARG_RUN] = TALLY_VALUE(geometry.run);
    rest[TALLY_REDUCE_ARG_PARTIALS] = TALLY_MEM(to.mem);
    rest[TALLY_REDUCE_ARG_FIRST] = TALLY_VALUE(first);
    rest[TALLY_REDUCE_ARG_OUT] = TALLY_MEM(outcome->mem);
    rest[TALLY_REDUCE_ARG_OUT_OFFSET] = TALLY_VALUE(out_offset);
    rest[TALLY_REDUCE_ARG_LAST] = TALLY_VALUE(last);
    rest[TALLY_REDUCE_ARG_OUTCOME] = outcome_arg(outcome);
    return plan->base.context->backend->launch(queue, plan->partials_kernel, geometry.groups, plan->launch.group_threads,
                                               2 * terms->inputs + TALLY_REDUCE_ARGS, args);
}

tally_status tally_reduce_finish(tally_reduce_plan *plan, void *queue, void *partials, uint64_t count, uint64_t n,
                                 tally_target to) {
    const uint32_t last = is_outcome(&to);
    const uint64_t slot = last ? 0 : to.offset, out_offset = last ? to.offset : 0;
    const tally_status status = tally_reduce_open_finish(plan);
    if (status) return status;
    const tally_arg args[TALLY_FINISH_ARGS] = {
        [TALLY_FINISH_ARG_PARTIALS] = TALLY_MEM(partials),
        [TALLY_FINISH_ARG_COUNT] = TALLY_VALUE(count),
        [TALLY_FINISH_ARG_COMBINED] = TALLY_MEM(to.mem),
        [TALLY_FINISH_ARG_SLOT] = TALLY_VALUE(slot),
        [TALLY_FINISH_ARG_OUT] = TALLY_MEM(to.mem),
        [TALLY_FINISH_ARG_OUT_OFFSET] = TALLY_VALUE(out_offset),
        [TALLY_FINISH_ARG_LAST] = TALLY_VALUE(last),
        [TALLY_FINISH_ARG_N] = TALLY_VALUE(n),
        [TALLY_FINISH_ARG_PARAMS] = {.value = plan->base.params, .bytes = plan->base.terms.param.bytes},
        [TALLY_FINISH_ARG_OUTCOME] = outcome_arg(&to)};
    return plan->base.context->backend->launch(queue, plan->finish_kernel, 1, plan->launch.group_threads,
                                               TALLY_ARRAY_LENGTH(args), args);
}

/* ---- the ways to finish ---------------------------------------------------------------------- */

static tally_status finish_by_atomics(tally_reduce_plan *plan, void *queue, const tally_source *in, uint64_t n,
                                      tally_target result) {
    void *sum = plan->workspace->mem;
    const tally_arg args[] = {TALLY_MEM(sum)};
    tally_status status = plan->base.context->backend->launch(queue, plan->init_kernel, 1, 1, TALLY_ARRAY_LENGTH(args), args);
    if (!status)
        status = tally_reduce_partials(plan, queue, in, n, tally_reduce_geometry(plan, n), (tally_target){.mem = sum}, NULL);
    return status ? status : tally_reduce_finish(plan, queue, sum, n ? 1 : 0, n, result);
}

/* Reduces each slice to an accumulator, then these. Slices are aligned subtrees of the canonical
 * order. */
static tally_status finish_by_slices(tally_reduce_plan *plan, void *queue, const tally_source *in, uint64_t n,
                                     tally_target to) {
    void *partials = plan->workspace->mem, *slices = plan->slices->mem;
    uint64_t count = 0;
    tally_status status = TALLY_OK;
    for (uint64_t done = 0; done < n && !status; done += plan->slice, count++) {
        const uint64_t items = n - done < plan->slice ? n - done : plan->slice;
        const tally_geometry geometry = tally_reduce_geometry(plan, items);
        tally_source slice = *in;
        slice.base += done;
        for (uint32_t k = 0; k < plan->base.terms.inputs; k++) slice.offset[k] += done;
        status = tally_reduce_partials(plan, queue, &slice, items, geometry, (tally_target){.mem = partials}, NULL);
        const tally_target slot = {.mem = slices, .offset = count};
        if (!status) status = tally_reduce_finish(plan, queue, partials, geometry.groups, n, slot);
    }
    return status ? status : tally_reduce_finish(plan, queue, slices, count, n, to);
}

tally_status tally_reduce_tree(tally_reduce_plan *plan, void *queue, const tally_source *in, uint64_t n, tally_target to) {
    const tally_geometry geometry = tally_reduce_geometry(plan, n);
    void *partials = plan->workspace->mem;
    /* A single group writes the outcome itself. */
    if (geometry.groups == 1 && plan->launch.variant->stage != TALLY_STAGE_SCRATCH)
        return tally_reduce_partials(plan, queue, in, n, geometry, to, NULL);
    if (plan->counter_slots) {
        const tally_target slots = {.mem = partials, .offset = plan->counter_slots};
        return tally_reduce_partials(plan, queue, in, n, geometry, slots, &to);
    }
    if (plan->slice && n > plan->slice) return finish_by_slices(plan, queue, in, n, to);
    const tally_status status = tally_reduce_partials(plan, queue, in, n, geometry, (tally_target){.mem = partials}, NULL);
    return status ? status : tally_reduce_finish(plan, queue, partials, n ? geometry.groups : 0, n, to);
}

/* Copies the partials to the host and combines them there. The device turns the one accumulator
 * into the result. Blocks. */
static tally_status finish_on_host(tally_reduce_plan *plan, void *queue, const tally_source *in, uint64_t n,
                                   tally_target result) {
    const tally_backend *backend = plan->base.context->backend;
    const tally_geometry geometry = tally_reduce_geometry(plan, n);
    void *partials = plan->workspace->mem;
    const uint64_t acc_bytes = plan->base.terms.acc.bytes;
    tally_status status = tally_reduce_partials(plan, queue, in, n, geometry, (tally_target){.mem = partials}, NULL);
    if (!status) status = backend->copy_out(queue, partials, 0, plan->host, geometry.groups * acc_bytes);
    if (!status) status = backend->queue_wait(queue);
    if (status) return status;
    tally_host_combine(&plan->base.terms, plan->host, geometry.groups);
    status = backend->copy_in(queue, partials, 0, plan->host, acc_bytes);
    if (!status) status = tally_reduce_finish(plan, queue, partials, n ? 1 : 0, n, result);
    return status ? status : backend->queue_wait(queue);
}

tally_status tally_reduce_enqueue(tally_reduce_plan *plan, void *queue, const tally_source *in, uint64_t n,
                                  tally_target result) {
    switch (plan->launch.variant->stage) {
    case TALLY_STAGE_ATOMIC:
        return finish_by_atomics(plan, queue, in, n, result);
    case TALLY_STAGE_HOST:
        return finish_on_host(plan, queue, in, n, result);
    default:
        return tally_reduce_tree(plan, queue, in, n, result);
    }
}

/* ---- tally_reduce ---------------------------------------------------------------------------- */

/* Returns the name of input k for error texts. */
static const char *input_name(const tally_plan *plan, uint32_t k) {
    static const char *const names[TALLY_MAX_INPUTS] = {"in[0]", "in[1]", "in[2]", "in[3]"};
    return plan->terms.inputs == 1 ? "in" : names[k];
}

static tally_status check_input(const tally_plan *plan, const tally_buffer *in, uint64_t offset, uint64_t n,
                                const tally_buffer *out, uint64_t out_offset, const char *name) {
    const uint64_t bytes = tally_dtype_bytes(plan->terms.in), result_bytes = plan->terms.result.bytes;
    tally_status status = tally_check_buffer(in, plan->context, name);
    if (!status) status = tally_check_items(in, offset, n, bytes, name);
    if (!status)
        status = tally_check_apart((tally_range){in, offset * bytes, n * bytes, name},
                                   (tally_range){out, out_offset * result_bytes, result_bytes, "out"});
    return status;
}

static tally_status check_args(const tally_plan *plan, const tally_queue *queue, const tally_reduce_args *a) {
    tally_status status = tally_check_queue(queue, plan->context);
    if (!status) status = tally_check_pointer(a, "args");
    if (!status && a->size != sizeof(*a))
        status = tally_fail(TALLY_E_ARGUMENT, "args.size is %zu: sizeof(tally_reduce_args) is %zu", a->size, sizeof(*a));
    if (!status) status = tally_check_buffer(a->out, plan->context, "out");
    if (!status) status = tally_check_items(a->out, a->out_offset, 1, plan->terms.result.bytes, "out");
    for (uint32_t k = 0; !status && k < plan->terms.inputs; k++)
        status = check_input(plan, a->in[k], a->in_offset[k], a->n, a->out, a->out_offset, input_name(plan, k));
    return status ? status : tally_check_n(plan, a->n);
}

static tally_status reduce(tally_plan *base, tally_queue *queue, const tally_reduce_args *args) {
    tally_status status = tally_check_plan(base, &tally_reduce_kind);
    if (!status) status = check_args(base, queue, args);
    if (status) return status;

    tally_reduce_plan *plan = (tally_reduce_plan *)base;
    tally_source source = {.base = 0};
    for (uint32_t k = 0; k < base->terms.inputs; k++) {
        source.mem[k] = args->in[k]->mem;
        source.offset[k] = args->in_offset[k];
    }
    const tally_target result = {.mem = args->out->mem, .offset = args->out_offset, .result = true};
    return tally_reduce_enqueue(plan, queue->handle, &source, args->n, result);
}

static tally_status check_single(const tally_plan *plan) {
    const tally_status status = tally_check_plan(plan, &tally_reduce_kind);
    if (status || plan->terms.inputs == 1) return status;
    return tally_fail(TALLY_E_ARGUMENT, "%s has %u inputs: tally_reduce_with takes them", plan->terms.list[0].name,
                      plan->terms.inputs);
}

tally_status tally_reduce_with(tally_plan *plan, tally_queue *queue, const tally_reduce_args *args) {
    return TALLY_NAMED(reduce(plan, queue, args));
}

tally_status tally_reduce(tally_plan *plan, tally_queue *queue, const tally_buffer *in, uint64_t n, tally_buffer *out) {
    const tally_reduce_args args = {.size = sizeof(args), .in = {in}, .n = n, .out = out};
    const tally_status status = check_single(plan);
    return TALLY_NAMED(status ? status : reduce(plan, queue, &args));
}
