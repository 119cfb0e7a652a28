/* SPDX-License-Identifier: MIT */
/* Calls of segments by keys: the runs of equal keys, then segments by offsets. */
#include "segments/segments.h"

/* ---- checks ---------------------------------------------------------------------------------- */

/* Checks the arrays beside the inputs and the results: each lies in its buffer, and apart from all
 * others. The first is read, the others are written; the two in the middle may be missing. */
static tally_status check_arrays(const tally_segments_plan *plan, const tally_keys_args *a, const tally_segments_given *given,
                                 const tally_segments_places *places) {
    const uint64_t item = plan->base.terms.count ? tally_dtype_bytes(plan->base.terms.in) : 0;
    enum { KEYS, OUT_KEYS, LENGTHS, RUNS, ARRAYS };
    const tally_range arrays[ARRAYS] = {[KEYS] = {a->keys, a->keys_offset, a->n, "keys"},
                                        [OUT_KEYS] = {a->out_keys, a->out_keys_offset, a->capacity, "out_keys"},
                                        [LENGTHS] = {a->lengths, a->lengths_offset, a->capacity, "lengths"},
                                        [RUNS] = {a->runs, a->runs_offset, 1, "runs"}};
    tally_range ranges[ARRAYS];
    tally_status status = TALLY_OK;
    for (size_t i = 0; i < ARRAYS && !status; i++) {
        const tally_range *own = &arrays[i];
        const uint64_t bytes = i == KEYS || i == OUT_KEYS ? plan->key_bytes : 8;
        ranges[i] = (tally_range){own->buffer, own->begin * bytes, own->buffer ? own->bytes * bytes : 0, own->name};
        if (!own->buffer && (i == OUT_KEYS || i == LENGTHS)) continue;
        status = tally_check_buffer(own->buffer, plan->base.context, own->name);
        if (!status) status = tally_check_items(own->buffer, own->begin, own->bytes, bytes, own->name);
        if (!status) status = tally_segments_check_apart(plan, ranges[i], given, places);
        for (size_t j = 0; j < i && !status; j++) status = tally_check_apart(ranges[j], ranges[i]);
        if (i == KEYS) continue;
        for (uint32_t k = 0; k < plan->base.terms.inputs && !status; k++)
            status = tally_check_apart(
                (tally_range){a->in[k], a->in_offset[k] * item, a->n * item, tally_segments_in_name(plan, k)}, ranges[i]);
        if (!status && plan->flags & TALLY_WHERE)
            status = tally_check_apart((tally_range){a->where, a->where_offset, a->n, "where"}, ranges[i]);
    }
    return status;
}

static tally_status check_sizes(const tally_segments_plan *plan, const tally_keys_args *a) {
    const tally_status status = tally_check_n(&plan->base, a->n);
    if (status) return status;
    if (a->capacity > plan->max_segments)
        return tally_fail(TALLY_E_ARGUMENT, "capacity is %llu: the plan's max_segments is %llu",
                          (unsigned long long)a->capacity, (unsigned long long)plan->max_segments);
    return TALLY_OK;
}

/* ---- runs ------------------------------------------------------------------------------------ */

/* Groups that write lengths, for each compute unit. */
#define UNIT_GROUPS 16

/* Enqueues the search for runs. */
static tally_status find_runs(tally_segments_plan *plan, void *queue, const tally_keys_args *a) {
    const tally_backend *backend = plan->base.context->backend;
    const uint64_t run = tally_keys_run(plan), tiles = tally_ceil_div(a->n, run * plan->group_threads);
    const uint32_t threads = plan->group_threads, wants_keys = a->out_keys != NULL;
    void *out_keys = wants_keys ? a->out_keys->mem : plan->begins->mem;
    const tally_arg count[] = {TALLY_MEM(a->keys->mem), TALLY_VALUE(a->keys_offset), TALLY_VALUE(a->n), TALLY_VALUE(run),
                               TALLY_MEM(plan->tiles->mem)};
    const tally_arg place[] = {TALLY_MEM(plan->tiles->mem), TALLY_VALUE(tiles),           TALLY_VALUE(a->n),
                               TALLY_VALUE(a->capacity),    TALLY_MEM(plan->begins->mem), TALLY_MEM(a->runs->mem),
                               TALLY_VALUE(a->runs_offset)};
    const tally_arg write[] = {TALLY_MEM(a->keys->mem),
                               TALLY_VALUE(a->keys_offset),
                               TALLY_VALUE(a->n),
                               TALLY_VALUE(run),
                               TALLY_MEM(plan->tiles->mem),
                               TALLY_VALUE(a->capacity),
                               TALLY_MEM(plan->begins->mem),
                               TALLY_MEM(out_keys),
                               TALLY_VALUE(a->out_keys_offset),
                               TALLY_VALUE(wants_keys)};
    tally_status status = TALLY_OK;
    if (tiles) status = backend->launch(queue, plan->count_runs, tiles, threads, TALLY_ARRAY_LENGTH(count), count);
    const uint64_t placing = threads > 1 && tiles ? tally_ceil_div(tiles, threads * TALLY_PLACED_TILES) : 1;
    if (!status) status = backend->launch(queue, plan->place_runs, placing, threads, TALLY_ARRAY_LENGTH(place), place);
    if (!status && tiles) status = backend->launch(queue, plan->write_runs, tiles, threads, TALLY_ARRAY_LENGTH(write), write);
    if (status || !a->lengths || !tiles) return status;
    const tally_arg lengths[] = {TALLY_MEM(plan->begins->mem), TALLY_MEM(a->runs->mem),    TALLY_VALUE(a->runs_offset),
                                 TALLY_VALUE(a->capacity),     TALLY_MEM(a->lengths->mem), TALLY_VALUE(a->lengths_offset)};
    const uint64_t most = (uint64_t)UNIT_GROUPS * plan->base.context->info.compute_units;
    const uint64_t wanted = tally_ceil_div(a->n, threads);
    return backend->launch(queue, plan->write_lengths, wanted < most ? wanted : most, threads, TALLY_ARRAY_LENGTH(lengths),
                           lengths);
}

/* Waits for the number of runs. Errors: E_ARGUMENT if it is above the capacity. */
static tally_status check_runs(tally_segments_plan *plan, void *queue, const tally_keys_args *a) {
    const tally_backend *backend = plan->base.context->backend;
    uint64_t *runs = backend->mem_pointer(plan->found->mem);
    const tally_status status = backend->copy_out(queue, a->runs->mem, 8 * a->runs_offset, runs, 8);
    const tally_status waited = backend->queue_wait(queue);
    if (status || waited) return status ? status : waited;
    if (*runs <= a->capacity) return TALLY_OK;
    return tally_fail(TALLY_E_ARGUMENT, "there are %llu runs: capacity is %llu", (unsigned long long)*runs,
                      (unsigned long long)a->capacity);
}

/* ---- the call -------------------------------------------------------------------------------- */

static tally_status reduce_keys(tally_plan *base, tally_queue *queue, const tally_keys_args *a) {
    tally_segments_places places = {.where = {.any = false}};
    tally_segments_call call = {.n = 0};
    tally_status status = tally_check_pointer(a, "args");
    if (!status) status = tally_segments_check(base, queue, TALLY_BY_KEYS, a->size, sizeof(*a), "tally_keys_args");
    if (status) return status;
    tally_segments_plan *plan = (tally_segments_plan *)base;
    const tally_segments_given given = TALLY_SEGMENTS_GIVEN(a);
    status = check_sizes(plan, a);
    if (!status) status = tally_segments_line_up(plan, &given, a->n, a->capacity, &places);
    if (!status) status = tally_segments_open_call(plan, &given, &places, &call);
    if (!status) status = check_arrays(plan, a, &given, &places);
    if (status) return status;
    status = find_runs(plan, queue->handle, a);
    call.n = a->n;
    call.count = a->capacity < a->n ? a->capacity : a->n;
    call.begins = call.ends = plan->begins->mem;
    call.ends_offset = 1;
    call.number = a->runs->mem;
    call.number_offset = a->runs_offset;
    if (!status && base->terms.count) status = tally_segments_launch_offsets(plan, queue->handle, &call);
    return status || plan->flags & TALLY_UNCHECKED ? status : check_runs(plan, queue->handle, a);
}

tally_status tally_reduce_keys(tally_plan *plan, tally_queue *queue, const tally_keys_args *args) {
    return TALLY_NAMED(reduce_keys(plan, queue, args));
}
