/* SPDX-License-Identifier: MIT */
/*
 * Segments by offsets: the kernels tally_segments_clear, _teams, _chunks and _fold. Segments of up
 * to a chunk are folded at once; the chunks of others go to the work list, whose places
 * kernels/segments.h describes.
 */
#include <stdatomic.h>
#include <string.h>

#include "host/host.h"
#include "base/pool.h"
#include "segments.h"

#define CHUNKS TALLY_LIST_CHUNKS
#define LONGS TALLY_LIST_LONGS

/* A segment's items from `begin` on. */
typedef struct item_list {
    uint64_t begin, n;
} item_list;

static item_list list_at(const segments_job *job, uint64_t s) {
    if (job->wide) {
        const uint64_t begin = ((const uint64_t *)(const void *)job->begins)[s];
        return (item_list){begin, ((const uint64_t *)(const void *)job->ends)[s] - begin};
    }
    const uint64_t begin = ((const uint32_t *)(const void *)job->begins)[s];
    return (item_list){begin, ((const uint32_t *)(const void *)job->ends)[s] - begin};
}

/* Folds the chunk of a list from item `index` on by op p. Returns the number of its items that are
 * not masked. */
static uint64_t fold_chunk(const segments_job *job, uint32_t p, item_list list, uint64_t index, const host_scratch *scratch,
                           unsigned char *acc) {
    const unsigned char *items[TALLY_MAX_INPUTS];
    const uint64_t at = list.begin + index, left = list.n - index;
    for (uint32_t k = 0; k < job->inputs; k++) items[k] = job->in[k] + at * job->item_bytes;
    return tally_host_fold_chunk(job, p, items, job->where ? job->where + at : NULL, index, left < CHUNK ? left : CHUNK,
                                 scratch, acc);
}

/* ---- the work list --------------------------------------------------------------------------- */

static _Atomic uint32_t *numbers_of(const segments_job *job) {
    return (_Atomic uint32_t *)(void *)job->work;
}

void tally_host_segments_clear(segments_job *job) {
    job->work[0] = 0;
}

/* Puts a segment on the list. Returns false if the list has no room. */
static bool enlist(const segments_job *job, uint64_t s, uint64_t n) {
    const uint64_t chunks = tally_ceil_div(n, CHUNK);
    uint32_t place = atomic_load(&numbers_of(job)[0]);
    do {
        if (place + chunks > job->capacity) return false;
    } while (!atomic_compare_exchange_weak(&numbers_of(job)[0], &place, (uint32_t)(place + chunks)));
    for (uint64_t k = 0; k < chunks; k++) {
        job->work[CHUNKS + 2 * (place + k)] = s;
        job->work[CHUNKS + 2 * (place + k) + 1] = k;
    }
    uint64_t *own = job->work + LONGS(job->capacity) + 3 * (uint64_t)atomic_fetch_add(&numbers_of(job)[1], 1);
    own[0] = s;
    own[1] = place;
    own[2] = chunks;
    return true;
}

/* ---- segments -------------------------------------------------------------------------------- */

/* Folds a segment by op p, in one thread. Returns the number of its items that are not masked. */
static uint64_t fold_list(const segments_job *job, uint32_t p, item_list list, const host_scratch *scratch,
                          unsigned char *acc) {
    if (list.n <= CHUNK) return fold_chunk(job, p, list, 0, scratch, acc);
    tally_host_counter counter;
    uint64_t has = 0;
    counter.count = 0;
    for (uint64_t index = 0; index < list.n; index += CHUNK) {
        has += fold_chunk(job, p, list, index, scratch, acc);
        tally_host_push(job->of->parts[p].program, &counter, acc);
    }
    tally_host_total(job->of->parts[p].program, &counter, acc);
    return has;
}

/* Short segments that are folded at once. Their items and masks are copied to the scratch, behind
 * those of a chunk. */
typedef struct short_lists {
    tally_host_masked masked;
    uint64_t at[TALLY_HOST_MASKED]; /* numbers of the segments */
} short_lists;

static short_lists open_short(const segments_job *job, const host_scratch *scratch) {
    short_lists lists = {.masked.pitch = TALLY_HOST_GROUP};
    for (uint32_t k = 0; k < job->inputs; k++) lists.masked.items[k] = scratch->items[k] + CHUNK * job->item_bytes;
    return lists;
}

static void fold_short(const segments_job *job, short_lists *lists) {
    _Alignas(64) unsigned char accs[TALLY_HOST_MASKED * TALLY_HOST_ACC_BYTES];
    for (uint32_t p = 0; p < job->of->part_count; p++) {
        const host_part *part = &job->of->parts[p];
        part->program->fold_masked(&lists->masked, job->params + part->param_offset, accs);
        for (uint32_t i = 0; i < lists->masked.segments; i++)
            tally_host_put_result(job, p, accs + i * part->program->acc_bytes, lists->masked.has[i], (int64_t)lists->at[i]);
    }
    lists->masked.segments = 0;
}

/* Adds segment s, of TALLY_HOST_GROUP items at most. */
static void add_short(const segments_job *job, short_lists *lists, uint64_t s, item_list list, const host_scratch *scratch) {
    static const uint32_t all_ones[2 * TALLY_HOST_GROUP] = {~0U, ~0U, ~0U, ~0U, ~0U, ~0U, ~0U, ~0U,
                                                            ~0U, ~0U, ~0U, ~0U, ~0U, ~0U, ~0U, ~0U};
    tally_host_masked *masked = &lists->masked;
    const uint32_t i = masked->segments++, n = (uint32_t)list.n, bytes = job->item_bytes;
    const uint64_t place = CHUNK + i * TALLY_HOST_GROUP;
    for (uint32_t k = 0; k < job->inputs; k++)
        memcpy(scratch->items[k] + place * bytes, job->in[k] + list.begin * bytes, n * bytes);
    lists->at[i] = s;
    masked->n[i] = masked->has[i] = n;
    masked->mask[i] = &all_ones[TALLY_HOST_GROUP - n];
    if (job->where) {
        masked->mask[i] = scratch->mask + place;
        masked->has[i] = job->shared->widen_mask(job->where + list.begin, n, scratch->mask + place);
    }
    if (masked->segments == TALLY_HOST_MASKED) fold_short(job, lists);
}

static void fold_group(void *opaque, uint64_t group, uint32_t worker) {
    const segments_job *job = opaque;
    const host_scratch scratch = tally_host_scratch_of(job, worker);
    _Alignas(64) unsigned char acc[TALLY_HOST_ACC_BYTES];
    short_lists lists = open_short(job, &scratch);
    for (uint64_t s = group * job->span; s < job->count && s < (group + 1) * job->span; s++) {
        const item_list list = list_at(job, s);
        if (list.n <= TALLY_HOST_GROUP) {
            add_short(job, &lists, s, list, &scratch);
            continue;
        }
        if (list.n > CHUNK && (!job->lists || enlist(job, s, list.n))) continue;
        for (uint32_t p = 0; p < job->of->part_count; p++) {
            const uint64_t n = fold_list(job, p, list, &scratch, acc);
            tally_host_put_result(job, p, acc, n, (int64_t)s);
        }
    }
    if (lists.masked.segments) fold_short(job, &lists);
}

#define GROUP_SEGMENTS 256

void tally_host_segments_offsets(segments_job *job) {
    if (!job->count) return;
    job->span = tally_ceil_div(job->count, 16 * (uint64_t)job->threads);
    if (job->span > GROUP_SEGMENTS) job->span = GROUP_SEGMENTS;
    tally_pool_run(job->threads, tally_ceil_div(job->count, job->span), fold_group, job);
}

/* ---- long segments --------------------------------------------------------------------------- */

#define GROUP_CHUNKS 8

static uint64_t listed_chunks(const segments_job *job) {
    return atomic_load(&numbers_of(job)[0]);
}

static void chunk_group(void *opaque, uint64_t group, uint32_t worker) {
    const segments_job *job = opaque;
    const host_scratch scratch = tally_host_scratch_of(job, worker);
    const uint64_t chunks = listed_chunks(job);
    _Alignas(64) unsigned char acc[TALLY_HOST_ACC_BYTES];
    for (uint64_t k = group * GROUP_CHUNKS; k < chunks && k < (group + 1) * GROUP_CHUNKS; k++) {
        const uint64_t s = job->work[CHUNKS + 2 * k], index = job->work[CHUNKS + 2 * k + 1] * CHUNK;
        for (uint32_t p = 0; p < job->of->part_count; p++) {
            const uint64_t n = fold_chunk(job, p, list_at(job, s), index, &scratch, acc);
            tally_host_put_partial(job, p, acc, n, k);
        }
    }
}

void tally_host_segments_chunks(segments_job *job) {
    const uint64_t groups = tally_ceil_div(listed_chunks(job), GROUP_CHUNKS);
    job->is_far = tally_host_segments_are_far(job, listed_chunks(job) * CHUNK);
    if (groups) tally_pool_run(job->threads, groups, chunk_group, job);
}

static void long_group(void *opaque, uint64_t group, uint32_t worker) {
    (void)worker;
    const segments_job *job = opaque;
    const uint64_t *own = job->work + LONGS(job->capacity) + 3 * group;
    const uint64_t n = tally_host_items_of(job, own[1], own[2], list_at(job, own[0]).n);
    _Alignas(64) unsigned char acc[TALLY_HOST_ACC_BYTES];
    for (uint32_t p = 0; p < job->of->part_count; p++) {
        tally_host_combine_partials(job, p, own[1], own[2], acc);
        tally_host_put_result(job, p, acc, n, (int64_t)own[0]);
    }
}

void tally_host_segments_offsets_fold(segments_job *job) {
    const uint64_t longs = atomic_load(&numbers_of(job)[1]);
    if (longs) tally_pool_run(job->threads, longs, long_group, job);
}
