/* SPDX-License-Identifier: MIT */
/* Offsets that a plan has of its own, checked once, with the work list of their long segments. */
#include <stdlib.h>

#include "segments/segments.h"

/* Offsets on the host: count begins and ends, or (ends NULL) count + 1 begins. */
typedef struct host_offsets {
    void *begins, *ends;
    uint64_t count, n, end; /* end: the largest that is allowed */
    bool wide;              /* of 8 bytes */
} host_offsets;

static uint64_t offset_at(const host_offsets *o, const void *array, uint64_t i) {
    return o->wide ? ((const uint64_t *)array)[i] : ((const uint32_t *)array)[i];
}

static uint64_t begin_of(const host_offsets *o, uint64_t s) {
    return offset_at(o, o->begins, s);
}

static uint64_t end_of(const host_offsets *o, uint64_t s) {
    return o->ends ? offset_at(o, o->ends, s) : offset_at(o, o->begins, s + 1);
}

/* Returns the chunks of segment s that belong on the list: of one that is long. */
static uint64_t listed_of(const host_offsets *o, uint64_t s) {
    const uint64_t length = end_of(o, s) - begin_of(o, s);
    return length > TALLY_CHUNK_ITEMS ? tally_ceil_div(length, TALLY_CHUNK_ITEMS) : 0;
}

/* Checks the offsets, and counts the long segments and their chunks. */
static tally_status count_long(const tally_segments_plan *plan, const host_offsets *o, tally_kept_offsets *kept) {
    for (uint64_t s = 0; s < o->count; s++) {
        if (begin_of(o, s) > end_of(o, s) || end_of(o, s) > o->end)
            return tally_offsets_fail(plan, &(tally_bad_segment){s, begin_of(o, s), end_of(o, s), o->n, o->ends != NULL});
        const uint64_t chunks = listed_of(o, s);
        kept->chunks += chunks;
        kept->longs += chunks > 0;
        if (kept->chunks > UINT32_MAX)
            return tally_fail(TALLY_E_MEMORY, "the segments overlap so much that over 2^32 chunks would be listed");
    }
    return TALLY_OK;
}

/* Fills a work list (kernels/segments.h). */
static void fill_list(const host_offsets *o, const tally_kept_offsets *kept, uint64_t *list) {
    uint64_t place = 0, *chunk = list + TALLY_LIST_CHUNKS, *own = list + TALLY_LIST_LONGS(kept->chunks);
    ((uint32_t *)(void *)list)[0] = (uint32_t)kept->chunks;
    ((uint32_t *)(void *)list)[1] = (uint32_t)kept->longs;
    for (uint64_t s = 0; s < o->count; s++) {
        const uint64_t chunks = listed_of(o, s);
        if (!chunks) continue;
        *own++ = s;
        *own++ = place;
        *own++ = chunks;
        for (uint64_t k = 0; k < chunks; k++) {
            *chunk++ = s;
            *chunk++ = k;
        }
        place += chunks;
    }
}

/* ---- copies ---------------------------------------------------------------------------------- */

static void *take(uint64_t bytes, tally_status *status) {
    void *memory = *status || bytes > SIZE_MAX ? NULL : malloc(bytes ? (size_t)bytes : 1);
    if (!memory && !*status) *status = tally_fail(TALLY_E_MEMORY, "no host memory for %llu bytes", (unsigned long long)bytes);
    return memory;
}

/* Reads an array of offsets. Returns its copy, which the caller frees. */
static void *read_array(const tally_segments_plan *plan, void *queue, const tally_buffer *from, uint64_t offset, uint64_t count,
                        tally_status *status) {
    const uint64_t bytes = plan->offset_bytes;
    void *to = take(count * bytes, status);
    if (to && count) *status = plan->base.context->backend->copy_out(queue, from->mem, offset * bytes, to, count * bytes);
    return to;
}

/* Copies to new memory of the device. `from` must stay until the queue was waited for. */
static tally_status give(const tally_segments_plan *plan, void *queue, const void *from, uint64_t bytes, tally_buffer **out) {
    const tally_status status = tally_segments_open_buffer(plan, bytes, out);
    return status || !bytes ? status : plan->base.context->backend->copy_in(queue, (*out)->mem, 0, from, bytes);
}

/* Makes room for more partials than a list of the plan's capacity has. */
static tally_status grow(tally_segments_plan *plan, uint64_t chunks) {
    const uint64_t acc = plan->base.terms.acc.bytes;
    tally_buffer *partials = NULL, *counts = NULL;
    const bool has_counts = !plan->counts || tally_buffer_bytes(plan->counts) >= chunks * 8;
    if (has_counts && tally_buffer_bytes(plan->partials) >= chunks * acc) return TALLY_OK;
    tally_status status = tally_segments_open_buffer(plan, chunks * acc, &partials);
    if (!status && plan->counts) status = tally_segments_open_buffer(plan, chunks * 8, &counts);
    if (status) return tally_buffer_destroy(partials), status;
    tally_buffer_destroy(plan->partials);
    tally_buffer_destroy(plan->counts);
    plan->partials = partials;
    plan->counts = counts;
    return TALLY_OK;
}

/* ---- the call -------------------------------------------------------------------------------- */

void tally_kept_offsets_close(tally_kept_offsets *kept) {
    tally_buffer_destroy(kept->begins);
    tally_buffer_destroy(kept->ends);
    tally_buffer_destroy(kept->work);
    *kept = (tally_kept_offsets){0};
}

/* Copies the offsets and the list to the device. Waits. */
static tally_status upload(const tally_segments_plan *plan, void *queue, const host_offsets *o, tally_kept_offsets *kept) {
    const uint64_t bytes = plan->offset_bytes, list_bytes = TALLY_LIST_BYTES(kept->chunks);
    tally_status status = TALLY_OK;
    uint64_t *list = take(list_bytes, &status);
    if (list) fill_list(o, kept, list);
    if (!status) status = give(plan, queue, o->begins, (o->count + !o->ends) * bytes, &kept->begins);
    if (!status && o->ends) status = give(plan, queue, o->ends, o->count * bytes, &kept->ends);
    if (!status) status = give(plan, queue, list, list_bytes, &kept->work);
    const tally_status waited = plan->base.context->backend->queue_wait(queue);
    free(list);
    return status ? status : waited;
}

static tally_status keep_offsets(tally_plan *base, tally_queue *queue, const tally_offsets_args *a) {
    tally_segments_plan *plan = (tally_segments_plan *)base;
    tally_status status = tally_offsets_check(base, queue, a);
    if (!status) status = tally_check_pointer(a->begins, "begins");
    if (status) return status;
    host_offsets o = {.count = a->count, .n = a->n, .end = tally_segments_end(plan, a->n), .wide = plan->offset_bytes == 8};
    tally_kept_offsets kept = {.count = a->count, .n = a->n};
    o.begins = read_array(plan, queue->handle, a->begins, a->begins_offset, a->count + !a->ends, &status);
    if (a->ends) o.ends = read_array(plan, queue->handle, a->ends, a->ends_offset, a->count, &status);
    const tally_status waited = base->context->backend->queue_wait(queue->handle);
    if (!status) status = waited;
    if (!status) status = count_long(plan, &o, &kept);
    if (!status) status = upload(plan, queue->handle, &o, &kept);
    if (!status) status = grow(plan, kept.chunks);
    free(o.begins);
    free(o.ends);
    if (status) return tally_kept_offsets_close(&kept), status;
    tally_kept_offsets_close(&plan->kept);
    plan->kept = kept;
    return TALLY_OK;
}

tally_status tally_plan_keep_offsets(tally_plan *plan, tally_queue *queue, const tally_offsets_args *args) {
    return TALLY_NAMED(keep_offsets(plan, queue, args));
}
