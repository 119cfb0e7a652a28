/* SPDX-License-Identifier: MIT */
/* Calls of segments by offsets. */
#include <string.h>

#include "segments/segments.h"

/* Waits until the offsets are checked. Errors: E_ARGUMENT for the first segment that is wrong. */
static tally_status check_offsets(tally_segments_plan *plan, void *queue, const tally_segments_call *call) {
    const tally_backend *backend = plan->base.context->backend;
    const uint64_t wanted = tally_ceil_div(call->count, plan->group_threads);
    const uint64_t groups = wanted < TALLY_CHECK_GROUPS ? wanted : TALLY_CHECK_GROUPS;
    const uint64_t run = tally_ceil_div(call->count, groups);
    const tally_arg args[] = {TALLY_MEM(call->begins),  TALLY_VALUE(call->begins_offset),
                              TALLY_MEM(call->ends),    TALLY_VALUE(call->ends_offset),
                              TALLY_VALUE(call->count), TALLY_VALUE(call->n),
                              TALLY_VALUE(run),         TALLY_MEM(plan->bad->mem)};
    const uint64_t *bad = backend->mem_pointer(plan->found->mem);
    uint64_t first = TALLY_NO_INDEX;
    tally_status status =
        backend->launch(queue, plan->check_offsets, groups, plan->group_threads, TALLY_ARRAY_LENGTH(args), args);
    if (!status) status = backend->copy_out(queue, plan->bad->mem, 0, (void *)(uintptr_t)bad, 8 * groups);
    const tally_status waited = backend->queue_wait(queue);
    if (status || waited) return status ? status : waited;
    for (uint64_t g = 0; g < groups; g++)
        if (bad[g] < first) first = bad[g];
    if (first == TALLY_NO_INDEX) return TALLY_OK;
    return tally_fail(TALLY_E_ARGUMENT, "segment %llu ends before it begins, or beyond the input's %llu items",
                      (unsigned long long)first, (unsigned long long)call->n);
}

/* Checks an array of offsets. */
static tally_status check_array(const tally_segments_plan *plan, const tally_buffer *buffer, uint64_t offset, uint64_t entries,
                                const tally_segments_given *given, const tally_segments_places *places, const char *name) {
    const uint64_t bytes = plan->offset_bytes;
    tally_status status = tally_check_buffer(buffer, plan->base.context, name);
    if (!status) status = tally_check_items(buffer, offset, entries, bytes, name);
    return status
               ? status
               : tally_segments_check_apart(plan, (tally_range){buffer, offset * bytes, entries * bytes, name}, given, places);
}

static tally_status check_sizes(const tally_segments_plan *plan, const tally_offsets_args *a) {
    const tally_status status = tally_check_n(&plan->base, a->n);
    if (status) return status;
    if (a->count > plan->max_segments)
        return tally_fail(TALLY_E_ARGUMENT, "count is %llu: the plan's max_segments is %llu", (unsigned long long)a->count,
                          (unsigned long long)plan->max_segments);
    return TALLY_OK;
}

static tally_status reduce_offsets(tally_plan *base, tally_queue *queue, const tally_offsets_args *a) {
    tally_segments_places places = {.where = {.any = false}};
    tally_segments_call call = {.n = 0};
    tally_status status = tally_check_pointer(a, "args");
    if (!status) status = tally_segments_check(base, queue, TALLY_BY_OFFSETS, a->size, sizeof(*a), "tally_offsets_args");
    if (status) return status;
    tally_segments_plan *plan = (tally_segments_plan *)base;
    const tally_segments_given given = TALLY_SEGMENTS_GIVEN(a);
    status = check_sizes(plan, a);
    if (!status) status = tally_segments_line_up(plan, &given, a->n, a->count, &places);
    if (!status) status = tally_segments_open_call(plan, &given, &places, &call);
    if (!status) status = check_array(plan, a->begins, a->begins_offset, a->count + !a->ends, &given, &places, "begins");
    if (!status && a->ends) status = check_array(plan, a->ends, a->ends_offset, a->count, &given, &places, "ends");
    if (status || !a->count) return status;
    call.n = a->n;
    call.count = a->count;
    call.begins = a->begins->mem;
    call.begins_offset = a->begins_offset;
    call.ends = a->ends ? a->ends->mem : call.begins;
    call.ends_offset = a->ends ? a->ends_offset : a->begins_offset + 1;
    if (plan->check_offsets) status = check_offsets(plan, queue->handle, &call);
    return status ? status : tally_segments_launch_offsets(plan, queue->handle, &call);
}

tally_status tally_reduce_offsets(tally_plan *plan, tally_queue *queue, const tally_offsets_args *args) {
    return TALLY_NAMED(reduce_offsets(plan, queue, args));
}
