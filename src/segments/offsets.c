/* SPDX-License-Identifier: MIT */
/* Calls of segments by offsets. */
#include <string.h>

#include "segments/segments.h"

uint64_t tally_segments_end(const tally_segments_plan *plan, uint64_t n) {
    return n < plan->last_offset ? n : plan->last_offset;
}

/* Waits until the offsets are checked. Errors: E_ARGUMENT for the first segment that is wrong. */
static tally_status check_offsets(tally_segments_plan *plan, void *queue, const tally_segments_call *call) {
    const tally_backend *backend = plan->base.context->backend;
    const uint64_t wanted = tally_ceil_div(call->count, plan->group_threads);
    const uint64_t groups = wanted < TALLY_CHECK_GROUPS ? wanted : TALLY_CHECK_GROUPS;
    const uint64_t run = tally_ceil_div(call->count, groups), end = tally_segments_end(plan, call->n);
    const tally_arg args[] = {TALLY_MEM(call->begins),  TALLY_VALUE(call->begins_offset),
                              TALLY_MEM(call->ends),    TALLY_VALUE(call->ends_offset),
                              TALLY_VALUE(call->count), TALLY_VALUE(end),
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
    return first == TALLY_NO_INDEX ? TALLY_OK : tally_offsets_fail(first, call->n);
}

tally_status tally_offsets_fail(uint64_t s, uint64_t n) {
    return tally_fail(TALLY_E_ARGUMENT,
                      "segment %llu ends before it begins, or beyond the input's %llu items, or begins before item 0",
                      (unsigned long long)s, (unsigned long long)n);
}

static tally_status check_sizes(const tally_segments_plan *plan, const tally_offsets_args *a) {
    const tally_status status = tally_check_n(&plan->base, a->n);
    if (status) return status;
    if (a->count > plan->max_segments)
        return tally_fail(TALLY_E_ARGUMENT, "count is %llu: the plan's max_segments is %llu", (unsigned long long)a->count,
                          (unsigned long long)plan->max_segments);
    return TALLY_OK;
}

/* An array of offsets. `count` is of its entries. */
typedef struct offsets_array {
    const tally_buffer *buffer;
    uint64_t offset, count;
    const char *name;
} offsets_array;

#define MOST_ARRAYS 2
/* The arrays of a call: one or two, or none where the plan's own are taken. */
static size_t arrays_of(const tally_offsets_args *a, offsets_array arrays[MOST_ARRAYS]) {
    arrays[0] = (offsets_array){a->begins, a->begins_offset, a->count + !a->ends, "begins"};
    arrays[1] = (offsets_array){a->ends, a->ends_offset, a->count, "ends"};
    return a->ends ? 2 : a->begins ? 1 : 0;
}

/* Checks a call that takes the plan's own offsets. */
static tally_status check_kept(const tally_segments_plan *plan, const tally_offsets_args *a) {
    const tally_kept_offsets *kept = &plan->kept;
    if (!kept->work)
        return tally_fail(TALLY_E_ARGUMENT, "begins is NULL, and the plan has no offsets of its own: tally_plan_keep_offsets");
    if (a->count == kept->count && a->n == kept->n) return TALLY_OK;
    return tally_fail(TALLY_E_ARGUMENT, "count is %llu and n %llu: the plan's own offsets are of %llu segments and %llu items",
                      (unsigned long long)a->count, (unsigned long long)a->n, (unsigned long long)kept->count,
                      (unsigned long long)kept->n);
}

tally_status tally_offsets_check(tally_plan *base, const tally_queue *queue, const tally_offsets_args *a) {
    offsets_array arrays[MOST_ARRAYS];
    tally_status status = tally_check_pointer(a, "args");
    if (!status) status = tally_segments_check(base, queue, TALLY_BY_OFFSETS, a->size, sizeof(*a), "tally_offsets_args");
    if (status) return status;
    const tally_segments_plan *plan = (const tally_segments_plan *)base;
    status = check_sizes(plan, a);
    const size_t count = arrays_of(a, arrays);
    for (size_t i = 0; i < count && !status; i++) {
        status = tally_check_buffer(arrays[i].buffer, base->context, arrays[i].name);
        if (!status)
            status = tally_check_items(arrays[i].buffer, arrays[i].offset, arrays[i].count, plan->offset_bytes, arrays[i].name);
    }
    return status;
}

/* Checks that the offsets and the outputs are apart. */
static tally_status check_apart(const tally_segments_plan *plan, const tally_offsets_args *a, const tally_segments_given *given,
                                const tally_segments_places *places) {
    const uint64_t bytes = plan->offset_bytes;
    offsets_array arrays[MOST_ARRAYS];
    const size_t count = arrays_of(a, arrays);
    tally_status status = TALLY_OK;
    for (size_t i = 0; i < count && !status; i++) {
        const tally_range range = {arrays[i].buffer, arrays[i].offset * bytes, arrays[i].count * bytes, arrays[i].name};
        status = tally_segments_check_apart(plan, range, given, places);
    }
    return status;
}

/* Fills the call's offsets: the plan's own, or the caller's. */
static void take_offsets(const tally_segments_plan *plan, const tally_offsets_args *a, tally_segments_call *call) {
    const tally_kept_offsets *kept = a->begins ? NULL : &plan->kept;
    const tally_buffer *ends = kept ? kept->ends : a->ends;
    call->n = a->n;
    call->count = a->count;
    call->kept = kept;
    call->begins = (kept ? kept->begins : a->begins)->mem;
    call->begins_offset = kept ? 0 : a->begins_offset;
    call->ends = ends ? ends->mem : call->begins;
    call->ends_offset = !ends ? call->begins_offset + 1 : kept ? 0 : a->ends_offset;
}

static tally_status reduce_offsets(tally_plan *base, tally_queue *queue, const tally_offsets_args *a) {
    tally_segments_places places = {.where = {.any = false}};
    tally_segments_call call = {.n = 0};
    tally_segments_plan *plan = (tally_segments_plan *)base;
    tally_status status = tally_offsets_check(base, queue, a);
    if (status) return status;
    const tally_segments_given given = TALLY_SEGMENTS_GIVEN(a);
    if (!a->begins) status = check_kept(plan, a);
    if (!status) status = tally_segments_line_up(plan, &given, a->n, a->count, &places);
    if (!status) status = tally_segments_open_call(plan, &given, &places, &call);
    if (!status) status = check_apart(plan, a, &given, &places);
    if (status || !a->count) return status;
    take_offsets(plan, a, &call);
    if (plan->check_offsets && !call.kept) status = check_offsets(plan, queue->handle, &call);
    return status ? status : tally_segments_launch_offsets(plan, queue->handle, &call);
}

tally_status tally_reduce_offsets(tally_plan *plan, tally_queue *queue, const tally_offsets_args *args) {
    return TALLY_NAMED(reduce_offsets(plan, queue, args));
}
