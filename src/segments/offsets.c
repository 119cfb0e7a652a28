/* SPDX-License-Identifier: MIT */
/* Calls of segments by offsets. */
#include <stdio.h>
#include <string.h>

#include "segments/segments.h"

uint64_t tally_segments_end(const tally_segments_plan *plan, uint64_t n) {
    return n < plan->last_offset ? n : plan->last_offset;
}

/* Reads an entry of an array of offsets. Only enqueues the copy: the caller waits. */
static tally_status read_offset(const tally_segments_plan *plan, void *queue, void *mem, uint64_t index, uint64_t *out) {
    const uint64_t bytes = plan->offset_bytes;
    *out = 0; /* the low bytes come first */
    return plan->base.context->backend->copy_out(queue, mem, index * bytes, out, bytes);
}

/* Fails for segment s, whose offsets it reads. */
static tally_status fail_at(const tally_segments_plan *plan, void *queue, const tally_segments_call *call, bool has_ends,
                            uint64_t s) {
    uint64_t begin, end;
    tally_status status = read_offset(plan, queue, call->begins, call->begins_offset + s, &begin);
    if (!status) status = read_offset(plan, queue, call->ends, call->ends_offset + s, &end);
    const tally_status waited = plan->base.context->backend->queue_wait(queue);
    if (status || waited) return status ? status : waited;
    return tally_offsets_fail(plan, &(tally_bad_segment){s, begin, end, call->n, has_ends});
}

/* Waits until the offsets are checked. Errors: E_ARGUMENT for the first segment that is wrong. */
static tally_status check_offsets(tally_segments_plan *plan, void *queue, const tally_segments_call *call, bool has_ends) {
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
    return first == TALLY_NO_INDEX ? TALLY_OK : fail_at(plan, queue, call, has_ends, first);
}

/* Returns an offset as a signed number of its width. */
static int64_t signed_offset(const tally_segments_plan *plan, uint64_t offset) {
    return plan->offset_bytes == 4 ? (int64_t)(int32_t)(uint32_t)offset : (int64_t)offset;
}

tally_status tally_offsets_fail(const tally_segments_plan *plan, const tally_bad_segment *bad) {
    const bool begins_below = plan->has_signed_offsets && signed_offset(plan, bad->begin) < 0;
    const bool ends_below = plan->has_signed_offsets && signed_offset(plan, bad->end) < 0;
    const unsigned long long segment = bad->segment, wrong = begins_below ? bad->begin : bad->end;
    char place[40], value[24], why[64];
    if (bad->has_ends)
        snprintf(place, sizeof(place), "%s[%llu]", begins_below ? "begins" : "ends", segment);
    else
        snprintf(place, sizeof(place), "offset %llu", segment + !begins_below);
    if (begins_below || ends_below)
        snprintf(value, sizeof(value), "%lld", (long long)signed_offset(plan, wrong));
    else
        snprintf(value, sizeof(value), "%llu", wrong);
    if (begins_below || ends_below)
        snprintf(why, sizeof(why), "%s before item 0", begins_below ? "begins" : "ends");
    else if (bad->end < bad->begin)
        snprintf(why, sizeof(why), "ends before it begins, at %llu", (unsigned long long)bad->begin);
    else
        snprintf(why, sizeof(why), "ends beyond the input's %llu items", (unsigned long long)bad->n);
    return tally_fail(TALLY_E_ARGUMENT, "%s is %s: segment %llu %s", place, value, segment, why);
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
    if (plan->check_offsets && !call.kept) status = check_offsets(plan, queue->handle, &call, a->ends != NULL);
    return status ? status : tally_segments_launch_offsets(plan, queue->handle, &call);
}

tally_status tally_reduce_offsets(tally_plan *plan, tally_queue *queue, const tally_offsets_args *args) {
    return TALLY_NAMED(reduce_offsets(plan, queue, args));
}
