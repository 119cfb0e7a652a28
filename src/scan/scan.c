/* SPDX-License-Identifier: MIT */
/* The launches of a scan's plan. */
#include "scan/scan.h"

/* ---- launches -------------------------------------------------------------------------------- */

#define CLEARED_BYTES 64 /* bytes that a thread of a GPU clears */
/* Enqueues the kernels that turn offsets into flags. */
static tally_status mark_heads(tally_scan_plan *plan, void *queue, const tally_scan_args *r) {
    const tally_backend *backend = plan->base.context->backend;
    const uint32_t threads = plan->launch.group_threads;
    const uint64_t cpu_run = r->n / (4 * (uint64_t)plan->base.context->info.compute_units) + 1,
                   run = threads > 1 ? CLEARED_BYTES : cpu_run;
    const uint64_t groups = (r->n + run * threads - 1) / (run * threads);
    const tally_arg clear[] = {TALLY_MEM(plan->heads->mem), TALLY_VALUE(r->n), TALLY_VALUE(run)};
    tally_status status = backend->launch(queue, plan->clear_kernel, groups, threads, TALLY_ARRAY_LENGTH(clear), clear);
    if (status || !r->count) return status;
    const tally_arg set[] = {TALLY_MEM(plan->heads->mem), TALLY_VALUE(r->n), TALLY_MEM(r->segments->mem),
                             TALLY_VALUE(r->segments_offset), TALLY_VALUE(r->count)};
    return backend->launch(queue, plan->set_kernel, (r->count + threads - 1) / threads, threads, TALLY_ARRAY_LENGTH(set), set);
}

tally_status tally_scan_launch_all(tally_scan_plan *plan, void *queue, const tally_scan_args *r, bool continues) {
    const tally_backend *backend = plan->base.context->backend;
    const bool by_offsets = plan->segments == TALLY_SEGMENTS_OFFSETS;
    tally_status status = by_offsets ? mark_heads(plan, queue, r) : TALLY_OK;
    if (status) return status;
    const uint64_t base = continues || plan->anew ? plan->done : 0,
                   heads_offset = plan->segments == TALLY_SEGMENTS_FLAGS ? r->segments_offset : 0;
    const uint32_t flow = plan->turn | (continues ? 2u : 0u);
    const tally_scan_geometry geometry = tally_scan_plan_geometry(plan, r->n);
    /* The kernels of scans without segments read no flags. */
    void *heads = by_offsets ? plan->heads->mem : r->segments ? r->segments->mem : plan->words->mem;
    const tally_arg args[TALLY_SCAN_ARGS] = {
        [TALLY_SCAN_ARG_IN] = TALLY_MEM(r->in->mem),
        [TALLY_SCAN_ARG_IN_OFFSET] = TALLY_VALUE(r->in_offset),
        [TALLY_SCAN_ARG_PARAMS] = {.value = plan->base.params, .bytes = plan->base.terms.param.bytes},
        [TALLY_SCAN_ARG_HEADS] = TALLY_MEM(heads),
        [TALLY_SCAN_ARG_HEADS_OFFSET] = TALLY_VALUE(heads_offset),
        [TALLY_SCAN_ARG_BASE] = TALLY_VALUE(base),
        [TALLY_SCAN_ARG_N] = TALLY_VALUE(r->n),
        [TALLY_SCAN_ARG_RUN] = TALLY_VALUE(geometry.run),
        [TALLY_SCAN_ARG_CAPACITY] = TALLY_VALUE(plan->capacity),
        [TALLY_SCAN_ARG_WORDS] = TALLY_MEM(plan->words->mem),
        [TALLY_SCAN_ARG_VALUES] = TALLY_MEM(plan->values->mem),
        [TALLY_SCAN_ARG_FLOW] = TALLY_VALUE(flow),
        [TALLY_SCAN_ARG_OUT] = TALLY_MEM(r->out->mem),
        [TALLY_SCAN_ARG_OUT_OFFSET] = TALLY_VALUE(r->out_offset),
        [TALLY_SCAN_ARG_INITIAL] = {.value = plan->initial, .bytes = tally_dtype_bytes(plan->base.terms.in)}};
    const uint32_t count = TALLY_ARRAY_LENGTH(args), threads = plan->launch.group_threads;
    if (plan->totals_kernel) status = backend->launch(queue, plan->totals_kernel, geometry.groups, threads, count, args);
    if (!status && plan->tiles_kernel) status = backend->launch(queue, plan->tiles_kernel, 1, threads, count, args);
    if (!status) status = backend->launch(queue, plan->items_kernel, geometry.groups, threads, count, args);
    if (status) return status;
    plan->turn ^= 1;
    plan->anew = false;
    plan->done = base + r->n;
    return TALLY_OK;
}

/* ---- checks ---------------------------------------------------------------------------------- */

static tally_status check_buffer(const tally_scan_plan *plan, const tally_buffer *buffer, uint64_t offset, uint64_t n,
                                 uint64_t bytes, const char *argument) {
    tally_status status = tally_check_buffer(buffer, plan->base.context, argument);
    return status ? status : tally_check_items(buffer, offset, n, bytes, argument);
}

static tally_status check_out(const tally_scan_plan *plan, const tally_scan_args *r) {
    const uint64_t in_bytes = tally_dtype_bytes(plan->base.terms.in), out_bytes = plan->base.terms.result.bytes;
    const tally_range in = {r->in, r->in_offset * in_bytes, r->n * in_bytes, "in"};
    const tally_range out = {r->out, r->out_offset * out_bytes, r->n * out_bytes, "out"};
    const bool in_place = in_bytes == out_bytes && tally_is_same_place(in.buffer, in.begin, out.buffer, out.begin);
    tally_status status = in_place ? TALLY_OK : tally_check_apart(in, out);
    if (status || !r->segments) return status;
    const bool by_offsets = plan->segments == TALLY_SEGMENTS_OFFSETS;
    const uint64_t bytes = by_offsets ? 8 : 1, count = by_offsets ? r->count : r->n;
    return tally_check_apart((tally_range){r->segments, r->segments_offset * bytes, count * bytes, "segments"}, out);
}

static tally_status check(const tally_scan_plan *plan, const tally_queue *queue, const tally_scan_args *r) {
    const tally_plan *base = &plan->base;
    if (plan->axis.variant) return tally_fail(TALLY_E_ARGUMENT, "the plan has TALLY_ALONG_AXIS: it is for tally_scan_axis");
    if (!r->segments && plan->segments)
        return tally_fail(TALLY_E_ARGUMENT, "segments is NULL, and the plan has segments: tally_scan_with takes them");
    if (r->segments && !plan->segments) return tally_fail(TALLY_E_ARGUMENT, "the plan has no segments");
    const bool by_offsets = plan->segments == TALLY_SEGMENTS_OFFSETS;
    tally_status status = tally_check_queue(queue, base->context);
    if (!status) status = tally_check_n(base, r->n);
    if (!status) status = check_buffer(plan, r->in, r->in_offset, r->n, tally_dtype_bytes(base->terms.in), "in");
    if (!status) status = check_buffer(plan, r->out, r->out_offset, r->n, base->terms.result.bytes, "out");
    if (!status && r->segments)
        status =
            check_buffer(plan, r->segments, r->segments_offset, by_offsets ? r->count : r->n, by_offsets ? 8 : 1, "segments");
    return status ? status : check_out(plan, r);
}

/* Checks and enqueues a call. `continues`: its items come after those of the plan's earlier calls,
 * if there are any. */
static tally_status run(tally_plan *base, tally_queue *queue, const tally_scan_args *args, bool continues) {
    tally_scan_plan *plan = (tally_scan_plan *)base;
    tally_status status = tally_check_plan(base, &tally_scan_kind);
    if (!status) status = tally_check_pointer(args, "args");
    if (!status && args->size != sizeof(*args))
        status = tally_fail(TALLY_E_ARGUMENT, "args.size is %zu: sizeof(tally_scan_args) is %zu", args->size, sizeof(*args));
    if (!status) status = check(plan, queue, args);
    if (status) return status;
    if (!continues) plan->anew = false;
    if (args->n) return tally_scan_launch_all(plan, queue->handle, args, continues && plan->done && !plan->anew);
    if (!continues) plan->done = 0;
    return TALLY_OK;
}

/* ---- the calls ------------------------------------------------------------------------------- */

tally_status tally_scan_with(tally_plan *plan, tally_queue *queue, const tally_scan_args *args) {
    return TALLY_NAMED(run(plan, queue, args, false));
}

tally_status tally_scan(tally_plan *plan, tally_queue *queue, const tally_buffer *in, uint64_t n, tally_buffer *out) {
    const tally_scan_args args = {.size = sizeof(args), .in = in, .n = n, .out = out};
    return TALLY_NAMED(run(plan, queue, &args, false));
}

tally_status tally_scan_check_blocks(const tally_scan_plan *plan) {
    if (plan->done % TALLY_SCAN_BLOCK == 0) return TALLY_OK;
    return tally_fail(TALLY_E_ARGUMENT, "there were %llu items so far: no multiple of %d", (unsigned long long)plan->done,
                      TALLY_SCAN_BLOCK);
}

/* Checks that the plan's scan can continue after its calls so far. */
static tally_status check_next(const tally_plan *base) {
    const tally_scan_plan *plan = (const tally_scan_plan *)base;
    const tally_status status = tally_check_plan(base, &tally_scan_kind);
    if (status) return status;
    if (plan->launch.flags & TALLY_SCAN_IS_REVERSE)
        return tally_fail(TALLY_E_UNSUPPORTED, "a reverse scan begins with the last item");
    if (plan->segments == TALLY_SEGMENTS_OFFSETS)
        return tally_fail(TALLY_E_UNSUPPORTED, "segments by offsets: flags can be given in pieces");
    return tally_scan_check_blocks(plan);
}

tally_status tally_scan_next(tally_plan *plan, tally_queue *queue, const tally_scan_args *args) {
    const tally_status status = check_next(plan);
    return TALLY_NAMED(status ? status : run(plan, queue, args, true));
}
