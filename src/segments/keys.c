/* SPDX-License-Identifier: MIT */
/* Calls of segments by keys: the runs of equal keys, then segments by offsets. */
#include "segments/segments.h"

/* ---- checks ---------------------------------------------------------------------------------- */

static void find_spans(const tally_segments_plan *plan, const tally_keys_args *a, tally_segments_spans *spans) {
    spans->results = a->capacity > 0;
    spans->items = a->n > 0;
    for (uint32_t k = 0; k < plan->base.terms.inputs; k++) {
        spans->low[k] = a->in_offset[k];
        spans->high[k] = a->in_offset[k] + a->n - 1;
    }
    spans->where_low = a->where_offset;
    spans->where_high = a->where_offset + a->n - 1;
    for (uint32_t t = 0; t < plan->outs; t++) {
        spans->out_low[t] = a->out_offset[t];
        spans->out_high[t] = a->out_offset[t] + a->capacity - 1;
    }
}

/* An array of a call: what each entry has, and where they are. */
typedef struct array {
    const char *name;
    const tally_buffer *buffer;
    uint64_t offset, entries, bytes;
} array;

/* Checks the arrays beside the inputs and the results: each lies in its buffer, the outputs apart
 * from all others. The first is read, the others are written. */
static tally_status check_arrays(const tally_segments_plan *plan, const tally_keys_args *a, const tally_segments_given *given,
                                 const tally_segments_spans *spans) {
    const uint64_t item = plan->base.terms.count ? tally_dtype_bytes(plan->base.terms.in) : 0;
    const array arrays[] = {{"keys", a->keys, a->keys_offset, a->n, plan->key_bytes},
                            {"out_keys", a->out_keys, a->out_keys_offset, a->capacity, plan->key_bytes},
                            {"lengths", a->lengths, a->lengths_offset, a->capacity, 8},
                            {"runs", a->runs, a->runs_offset, 1, 8}};
    tally_status status = TALLY_OK;
    for (size_t i = 0; i < TALLY_ARRAY_LENGTH(arrays) && !status; i++) {
        const array *own = &arrays[i];
        const uint64_t begin = own->offset * own->bytes, bytes = own->entries * own->bytes;
        if (!own->buffer && (i == 1 || i == 2)) continue;
        status = tally_check_buffer(own->buffer, plan->base.context, own->name);
        if (!status) status = tally_check_items(own->buffer, own->offset, own->entries, own->bytes, own->name);
        if (!status) status = tally_segments_check_apart(plan, own->buffer, begin, bytes, given, spans, own->name);
        for (size_t j = 0; j < i && !status; j++)
            if (arrays[j].buffer)
                status = tally_check_apart(arrays[j].buffer, arrays[j].offset * arrays[j].bytes,
                                           arrays[j].entries * arrays[j].bytes, own->buffer, begin, bytes, arrays[j].name);
        for (uint32_t k = 0; i && k < plan->base.terms.inputs && !status; k++)
            status = tally_check_apart(a->in[k], a->in_offset[k] * item, a->n * item, own->buffer, begin, bytes, "in");
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
    if (!status) status = backend->launch(queue, plan->place_runs, 1, threads, TALLY_ARRAY_LENGTH(place), place);
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
    tally_segments_spans spans = {false, false, {0}, {0}, 0, 0, {0}, {0}};
    tally_segments_call call = {.n = 0};
    tally_status status = tally_check_pointer(a, "args");
    if (!status) status = tally_segments_check(base, queue, TALLY_BY_KEYS, a->size, sizeof(*a), "tally_keys_args");
    if (status) return status;
    tally_segments_plan *plan = (tally_segments_plan *)base;
    const tally_segments_given given = {.in = a->in,
                                        .in_offset = a->in_offset,
                                        .where = a->where,
                                        .where_offset = a->where_offset,
                                        .out = a->out,
                                        .out_offset = a->out_offset};
    status = check_sizes(plan, a);
    find_spans(plan, a, &spans);
    if (!status) status = tally_segments_open_call(plan, &given, &spans, &call);
    if (!status) status = check_arrays(plan, a, &given, &spans);
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
