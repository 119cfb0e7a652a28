/* SPDX-License-Identifier: MIT */
/* Scans of device memory: the launches of a plan. */
#include "core.h"

#define MEM(object) ((tally_arg){.mem = (object)})
#define VALUE(variable) ((tally_arg){.value = &(variable), .bytes = sizeof(variable)})

/* What one call scans. */
typedef struct request {
    const char *call; /* for error texts */
    const tally_buffer *in;
    uint64_t in_offset;
    const tally_buffer *segments; /* flags or offsets; NULL: none */
    uint64_t segments_offset, count;
    uint64_t n;
    tally_buffer *out;
    uint64_t out_offset;
    bool continues;
} request;

/* ---- launches ------------------------------------------------------------------------------------------------------- */

#define CLEARED_BYTES 64 /* by an item of a GPU */
/* Turns offsets into flags. */
static tally_status mark_heads(tally_plan *plan, void *queue, const request *r) {
    const tally_backend *backend = plan->context->backend;
    const tally_scan_state *scan = &plan->scan;
    const uint32_t items = plan->spec.group_items;
    const uint64_t cpu_run = r->n / (4 * (uint64_t)plan->context->info.compute_units) + 1,
                   run = items > 1 ? CLEARED_BYTES : cpu_run;
    const uint64_t groups = (r->n + run * items - 1) / (run * items);
    const tally_arg clear[] = {MEM(scan->heads->mem), VALUE(r->n), VALUE(run)};
    tally_status status = backend->launch(queue, scan->clear_kernel, groups, items, TALLY_ARRAY_LENGTH(clear), clear);
    if (status || !r->count) return status;
    const tally_arg set[] = {MEM(scan->heads->mem), VALUE(r->n), MEM(r->segments->mem), VALUE(r->segments_offset),
                             VALUE(r->count)};
    return backend->launch(queue, scan->set_kernel, (r->count + items - 1) / items, items, TALLY_ARRAY_LENGTH(set), set);
}

static tally_status launch_all(tally_plan *plan, void *queue, const request *r) {
    const tally_backend *backend = plan->context->backend;
    tally_scan_state *scan = &plan->scan;
    const bool by_offsets = scan->segments == TALLY_SEGMENTS_OFFSETS;
    tally_status status = by_offsets ? mark_heads(plan, queue, r) : TALLY_OK;
    if (status) return status;
    const uint64_t base = r->continues ? scan->done : 0, heads_offset = by_offsets ? 0 : r->segments_offset;
    const uint32_t flow = scan->turn | (r->continues ? 2u : 0u);
    const tally_geometry geometry = tally_scan_geometry(plan, r->n);
    /* Without segments nothing is read there. */
    void *heads = by_offsets ? scan->heads->mem : r->segments ? r->segments->mem : scan->words->mem;
    const tally_arg args[] = {MEM(r->in->mem),
                              VALUE(r->in_offset),
                              {.value = plan->params, .bytes = plan->spec.param.bytes},
                              MEM(heads),
                              VALUE(heads_offset),
                              VALUE(base),
                              VALUE(r->n),
                              VALUE(geometry.run),
                              VALUE(scan->capacity),
                              MEM(scan->words->mem),
                              MEM(scan->values->mem),
                              VALUE(flow),
                              MEM(r->out->mem),
                              VALUE(r->out_offset),
                              {.value = scan->initial, .bytes = tally_dtype_bytes(plan->spec.in)}};
    const uint32_t count = TALLY_ARRAY_LENGTH(args), items = plan->spec.group_items;
    if (scan->totals_kernel) status = backend->launch(queue, scan->totals_kernel, geometry.groups, items, count, args);
    if (!status && scan->tiles_kernel) status = backend->launch(queue, scan->tiles_kernel, 1, items, count, args);
    if (!status) status = backend->launch(queue, scan->items_kernel, geometry.groups, items, count, args);
    if (status) return status;
    scan->turn ^= 1;
    scan->done = base + r->n;
    return TALLY_OK;
}

/* ---- checks --------------------------------------------------------------------------------------------------------- */

static tally_status check_buffer(const tally_plan *plan, const tally_buffer *buffer, uint64_t offset, uint64_t n,
                                 uint64_t bytes, const char *call, const char *argument) {
    tally_status status = tally_check_buffer(buffer, plan->context, call, argument);
    return status ? status : tally_check_items(buffer, offset, n, bytes, call, argument);
}

static tally_status check_out(const tally_plan *plan, const request *r) {
    const uint64_t in_bytes = tally_dtype_bytes(plan->spec.in), out_bytes = plan->spec.result.bytes;
    const uint64_t in_begin = r->in_offset * in_bytes, out_begin = r->out_offset * out_bytes;
    const bool in_place = in_bytes == out_bytes && tally_is_same_place(r->in, in_begin, r->out, out_begin);
    tally_status status =
        in_place ? TALLY_OK
                 : tally_check_apart(r->in, in_begin, r->n * in_bytes, r->out, out_begin, r->n * out_bytes, r->call, "in");
    if (status || !r->segments) return status;
    const bool by_offsets = plan->scan.segments == TALLY_SEGMENTS_OFFSETS;
    const uint64_t bytes = by_offsets ? 8 : 1, count = by_offsets ? r->count : r->n;
    return tally_check_apart(r->segments, r->segments_offset * bytes, count * bytes, r->out, out_begin, r->n * out_bytes,
                             r->call, "segments");
}

static tally_status check(const tally_plan *plan, const tally_queue *queue, const request *r) {
    tally_status status = tally_check_plan(plan, r->call);
    if (status) return status;
    const tally_scan_state *scan = &plan->scan;
    if (!scan->variant) return tally_fail(TALLY_E_ARGUMENT, "%s: plan is a reduction's", r->call);
    if (!r->segments && scan->segments)
        return tally_fail(TALLY_E_ARGUMENT, "%s: the plan has segments: tally_scan_segments takes them", r->call);
    if (r->segments && !scan->segments) return tally_fail(TALLY_E_ARGUMENT, "%s: the plan has no segments", r->call);
    status = tally_check_queue(queue, plan->context, r->call);
    if (!status && r->n > plan->max_n)
        status = tally_fail(TALLY_E_ARGUMENT, "%s: n is %llu: the plan's max_n is %llu", r->call, (unsigned long long)r->n,
                            (unsigned long long)plan->max_n);
    if (!status) status = check_buffer(plan, r->in, r->in_offset, r->n, tally_dtype_bytes(plan->spec.in), r->call, "in");
    if (!status) status = check_buffer(plan, r->out, r->out_offset, r->n, plan->spec.result.bytes, r->call, "out");
    if (!status && r->segments)
        status = scan->segments == TALLY_SEGMENTS_OFFSETS
                     ? check_buffer(plan, r->segments, r->segments_offset, r->count, 8, r->call, "segments")
                     : check_buffer(plan, r->segments, r->segments_offset, r->n, 1, r->call, "segments");
    return status ? status : check_out(plan, r);
}

static tally_status run(tally_plan *plan, tally_queue *queue, const request *r) {
    const tally_status status = check(plan, queue, r);
    if (status) return status;
    if (r->n) return launch_all(plan, queue->handle, r);
    if (!r->continues) plan->scan.done = 0;
    return TALLY_OK;
}

/* ---- the calls ------------------------------------------------------------------------------------------------------ */

tally_status tally_scan_at(tally_plan *plan, tally_queue *queue, const tally_buffer *in, uint64_t in_offset, uint64_t n,
                           tally_buffer *out, uint64_t out_offset) {
    const request r = {.call = "tally_scan", .in = in, .in_offset = in_offset, .n = n, .out = out, .out_offset = out_offset};
    return run(plan, queue, &r);
}

tally_status tally_scan(tally_plan *plan, tally_queue *queue, const tally_buffer *in, uint64_t n, tally_buffer *out) {
    return tally_scan_at(plan, queue, in, 0, n, out, 0);
}

tally_status tally_scan_segments(tally_plan *plan, tally_queue *queue, const tally_buffer *in, uint64_t in_offset,
                                 const tally_buffer *segments, uint64_t segments_offset, uint64_t count, uint64_t n,
                                 tally_buffer *out, uint64_t out_offset) {
    const char *call = "tally_scan_segments";
    const tally_status status = tally_check_pointer(segments, call, "segments");
    const request r = {.call = call,
                       .in = in,
                       .in_offset = in_offset,
                       .segments = segments,
                       .segments_offset = segments_offset,
                       .count = count,
                       .n = n,
                       .out = out,
                       .out_offset = out_offset};
    return status ? status : run(plan, queue, &r);
}

tally_status tally_scan_next(tally_plan *plan, tally_queue *queue, const tally_buffer *in, uint64_t in_offset,
                             const tally_buffer *segments, uint64_t segments_offset, uint64_t n, tally_buffer *out,
                             uint64_t out_offset) {
    const char *call = "tally_scan_next";
    const tally_status status = tally_check_plan(plan, call);
    if (status) return status;
    const tally_scan_state *scan = &plan->scan;
    if (scan->variant && (plan->spec.scan_flags & TALLY_SCAN_IS_REVERSE))
        return tally_fail(TALLY_E_UNSUPPORTED, "%s: a reverse scan begins with the last item", call);
    if (scan->variant && scan->segments == TALLY_SEGMENTS_OFFSETS)
        return tally_fail(TALLY_E_UNSUPPORTED, "%s: segments by offsets: flags can be given in pieces", call);
    if (scan->done % TALLY_SCAN_BLOCK)
        return tally_fail(TALLY_E_ARGUMENT, "%s: there were %llu items so far: no multiple of %d", call,
                          (unsigned long long)scan->done, TALLY_SCAN_BLOCK);
    const request r = {.call = call,
                       .in = in,
                       .in_offset = in_offset,
                       .segments = segments,
                       .segments_offset = segments_offset,
                       .n = n,
                       .out = out,
                       .out_offset = out_offset,
                       .continues = scan->done > 0};
    return run(plan, queue, &r);
}
