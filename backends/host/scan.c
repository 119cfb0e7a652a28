/* SPDX-License-Identifier: MIT */
/*
 * Scans: the kernel tally_scan_items, in scan order v1 (kernels/scanning.h), in one launch.
 *
 * A group computes the aggregates of its tiles and keeps the cells' partial combinations. It
 * publishes the aggregates, waits for the prefixes before its own, and computes the results from
 * what it has kept. Groups begin in the order of their numbers, so those that it waits for are
 * running or have ended.
 *
 * A minimum and other idempotent operators take a shorter way. Where a batch does not change what
 * is before it, its results are one value. So the first pass is a reduction of each batch, and the
 * second one writes that value, or takes the batch by both passes. Such operators are exact, so the
 * bits are the same. Where a running minimum changes often this takes a quarter longer. So a thread
 * whose last group changed much takes the next one the other way.
 */
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "base/pool.h"
#include "scan/scan.h"
#include "scan_steps.h"

#define WIDTH TALLY_SCAN_WIDTH
#define ROWS HOST_BATCH_ROWS
#define TILE TALLY_TILE_ITEMS
#define BATCH HOST_BATCH_ITEMS
#define MOST_TILES 4 /* of a group */
#define LINE 16      /* words in 128 bytes */
/* Results of as many bytes and more go past the caches (kernels_cl/cpu_rows.cl has the figures). */
#define PASSING_BYTES (UINT64_C(16) << 20)

/* A tile between its two passes. After the first one part r of `rows` is the combination of row r
 * and the rows before it. In the second one it becomes the row's inclusive prefix. Part -1 then is
 * the tile's exclusive prefix. */
typedef struct scan_tile {
    host_batch batches[WIDTH / ROWS];
    host_parts rows;
    uint8_t *begins;
    host_packed_part totals[WIDTH / ROWS]; /* of the batches, where the operator is idempotent */
} scan_tile;

/* A thread's scratch. `lines` has room for the items or the results of a batch, `arrays` for
 * results as tally_host_batch_finish writes them. `parts` has the block's tiles. `scanned` has
 * their prefixes, and as part -1 that of the block. */
typedef struct scan_scratch {
    host_steps steps;
    host_streams streams;
    unsigned char *lines, *arrays;
    unsigned char *same; /* a batch of one value, if `has_same` */
    bool has_same;
    bool changes;            /* the last group changed what was before it */
    unsigned char first[64]; /* the result of an item that nothing is before */
    host_parts parts, scanned;
    scan_tile tiles[MOST_TILES];
} scan_scratch;

/* A launch. */
typedef struct scan_job {
    const tally_host_program *program;
    host_places places;
    unsigned flags; /* TALLY_SCAN_ */
    const unsigned char *in, *heads;
    unsigned char *out;
    const void *params, *initial;
    uint64_t base, n, tiles;
    bool passes; /* results go past the caches */
    uint32_t group_tiles, threads;
    /* The published words: a packed part. The last 4 bytes of its words are the call's number. */
    unsigned char *block_words, *tile_words;
    uint64_t block_bytes, tile_bytes;
    uint32_t call;
    unsigned char *carry; /* a packed part; NULL: the call continues from none */
    unsigned char *carry_to;
    scan_scratch *scratch; /* of each thread */
} scan_job;

/* ---- scratch --------------------------------------------------------------------------------- */

/* Lays a thread's scratch out, its arrays from `at` on. Returns their end. */
static unsigned char *lay_out(const tally_host_program *program, bool segmented, uint32_t tiles, unsigned char *at,
                              scan_scratch *scratch) {
    host_steps *steps = &scratch->steps;
    *steps = tally_host_steps_take(program, segmented, &at);
    scratch->lines = tally_host_take(
        &at, BATCH * (uint64_t)(program->item_bytes > program->result_bytes ? program->item_bytes : program->result_bytes));
    scratch->arrays = tally_host_arrays_take(program, &at);
    scratch->streams = (host_streams){.arrays = tally_host_arrays_take(program, &at), .piece = scratch->lines};
    scratch->same = tally_host_take(&at, program->idempotent ? BATCH * (uint64_t)program->result_bytes : 0);
    scratch->has_same = scratch->changes = false;
    scratch->parts = tally_host_parts_take(steps, &at);
    scratch->scanned = tally_host_parts_take(steps, &at);
    for (uint32_t t = 0; t < tiles; t++) {
        scan_tile *tile = &scratch->tiles[t];
        for (uint32_t b = 0; b < WIDTH / ROWS; b++) tile->batches[b] = tally_host_batch_take(steps, &at);
        tile->rows = tally_host_parts_take(steps, &at);
        tile->begins = tally_host_take(&at, segmented ? TILE : 0);
    }
    return at;
}

/* Makes the scratch of a kernel: that of each thread, then their arrays. */
static bool make_scratch(host_kernel *kernel) {
    const bool segmented = TALLY_HOST_SCAN_FLAGS(kernel->form) & TALLY_SCAN_IS_SEGMENTED;
    const uint32_t tiles = TALLY_HOST_SCAN_TILES(kernel->form);
    static _Alignas(64) unsigned char base[64];
    scan_scratch one;
    const uint64_t each = (uint64_t)(lay_out(kernel->program, segmented, tiles, base, &one) - base);
    const uint64_t first = (kernel->threads * sizeof(one) + 63) / 64 * 64;
    unsigned char *at = kernel->scratch = aligned_alloc(64, first + kernel->threads * each);
    if (!at) return false;
    if (kernel->program->plain && !segmented) memset(at, 0, first + kernel->threads * each); /* host_mark */
    at += first;
    for (uint32_t w = 0; w < kernel->threads; w++)
        at = lay_out(kernel->program, segmented, tiles, at, (scan_scratch *)kernel->scratch + w);
    return true;
}

/* ---- the first pass -------------------------------------------------------------------------- */

/* A batch of a tile: items k to k + count - 1 of the sequence. */
typedef struct scan_span {
    uint64_t k, place; /* place: where the items begin in memory */
    uint32_t count, cells;
} scan_span;

static scan_span span_of(const scan_job *job, uint64_t k) {
    const uint64_t left = job->n - k;
    const uint32_t count = left < BATCH ? (uint32_t)left : BATCH;
    return (scan_span){.k = k,
                       .place = job->places.reverse ? left - count : k,
                       .count = count,
                       .cells = (count + HOST_ROW_ITEMS - 1) / HOST_ROW_ITEMS * WIDTH};
}

static uint64_t batches_of_tile(const scan_job *job, uint64_t k) {
    const uint64_t left = job->n - k;
    return ((left < TILE ? left : TILE) + BATCH - 1) / BATCH;
}

/* Returns the place of a span's items among those of its cells. */
static uint32_t offset_of(const scan_job *job, const scan_span *span) {
    return job->places.reverse ? span->cells * TALLY_CELL_ITEMS - span->count : 0;
}

/* Returns the items of a batch's cells. Those beyond the last are zeros: no result that is
 * stored depends on them. */
static const unsigned char *items_of(const scan_job *job, const scan_span *span, unsigned char *lines) {
    const uint64_t bytes = job->program->item_bytes;
    const unsigned char *items = job->in + span->place * bytes;
    if (span->count == BATCH) return items;
    memset(lines, 0, span->cells * TALLY_CELL_ITEMS * bytes);
    memcpy(lines + offset_of(job, span) * bytes, items, span->count * bytes);
    return lines;
}

/* Sets begins[i] for each item k + i of the sequence, i below `count`, and clears the rest of the
 * batch. In reverse the flag of an item is that of the one before it: the head of its segment. */
static void find_beginnings(const scan_job *job, const host_steps *steps, uint64_t k, uint32_t count, uint8_t *begins) {
    const bool reverse = job->places.reverse, is_first = reverse && !k;
    if (is_first) begins[0] = 1;
    steps->shared->find_flags(job->heads + (reverse ? job->n - k - is_first : k), reverse, begins + is_first, count - is_first);
    memset(begins + count, 0, BATCH - count);
}

/* Prefetches the items of the next batch. An address past the end is harmless. */
static void prefetch(const scan_job *job, const scan_span *span) {
    const uint64_t bytes = job->program->item_bytes;
    const uintptr_t at = (uintptr_t)job->in + (job->places.reverse ? span->place - BATCH : span->place + BATCH) * bytes;
    for (uint64_t i = 0; i < BATCH * bytes; i += 64) __builtin_prefetch((const void *)(at + i));
}

/* Returns the parts from the last one of a batch's row 0 on. */
static host_parts last_of_row(host_parts ends) {
    return host_parts_from(ends, WIDTH - 1);
}

/* Does the first pass over a tile. */
static void fold_tile(const scan_job *job, uint64_t tile_k, scan_tile *tile, scan_scratch *scratch) {
    const host_steps *steps = &scratch->steps;
    const uint64_t batches = batches_of_tile(job, tile_k);
    const host_parts unscanned = scratch->scanned; /* it has nothing to keep in the first pass */
    for (uint64_t b = 0; b < batches; b++) {
        const scan_span span = span_of(job, tile_k + b * BATCH);
        const uint64_t index = job->places.reverse ? job->base + job->n - 1 - span.k : job->base + span.k;
        host_batch *batch = &tile->batches[b];
        uint8_t *begins = tile->begins + b * BATCH;
        if (steps->segmented) find_beginnings(job, steps, span.k, span.count, begins);
        tally_host_batch_fold(steps, items_of(job, &span, scratch->lines), begins, index, span.cells, batch);
        tally_host_parts_copy_apart(steps, host_parts_from(unscanned, (int64_t)b * ROWS), 1, last_of_row(batch->ends), WIDTH,
                                    ROWS);
    }
    tally_host_parts_scan(steps, unscanned, tile->rows, WIDTH, WIDTH);
}

/* Finds the totals of a tile's batches, and the tile's. */
static void total_tile(const scan_job *job, uint64_t tile_k, scan_tile *tile, scan_scratch *scratch) {
    const tally_host_program *program = job->program;
    const uint64_t batches = batches_of_tile(job, tile_k);
    host_packed_part all;
    for (uint64_t b = 0; b < batches; b++) {
        const scan_span span = span_of(job, tile_k + b * BATCH);
        const void *const items[] = {job->in + span.place * program->item_bytes};
        prefetch(job, &span);
        program->fold(items, job->params, job->base + span.place, span.count, false, tile->totals[b].bytes);
        if (b)
            program->combine(all.bytes, tile->totals[b].bytes);
        else
            all = tile->totals[b];
    }
    tally_host_parts_read(&scratch->steps, host_parts_from(tile->rows, WIDTH - 1), all.bytes);
}

/* ---- the look-back --------------------------------------------------------------------------- */

static atomic_uint *mark_of(unsigned char *words, uint64_t words_bytes) {
    return (atomic_uint *)(void *)(words + words_bytes - sizeof(uint32_t));
}

static void publish(const scan_job *job, const host_steps *steps, unsigned char *words, uint64_t words_bytes, host_parts part) {
    tally_host_parts_write(steps, words, part);
    atomic_store_explicit(mark_of(words, words_bytes), job->call, memory_order_release);
}

/* Waits for a published part. */
static const unsigned char *wait_for(const scan_job *job, unsigned char *words, uint64_t words_bytes) {
    for (uint32_t polls = 0; atomic_load_explicit(mark_of(words, words_bytes), memory_order_acquire) != job->call; polls++)
        if (polls > 1000) sched_yield();
    return words;
}

static unsigned char *words_of_tile(const scan_job *job, uint64_t tile) {
    return job->tile_words + tile * job->tile_bytes;
}

static unsigned char *words_of_block(const scan_job *job, uint64_t block) {
    return job->block_words + block * job->block_bytes;
}

/* Computes the prefixes of `count` tiles, the first of which is tile q of the block, from their
 * aggregates in scratch->parts. Returns false if nothing is before the block. */
static bool find_prefixes(const scan_job *job, uint64_t block, uint32_t q, uint32_t count, scan_scratch *scratch) {
    const host_steps *steps = &scratch->steps;
    const host_parts tiles = scratch->parts, prefixes = scratch->scanned, before = host_parts_from(prefixes, -1);
    const unsigned char *carry = job->carry;
    for (uint32_t l = 0; l < q; l++)
        tally_host_parts_read(steps, host_parts_from(tiles, l),
                              wait_for(job, words_of_tile(job, block * WIDTH + l), job->tile_bytes));
    if (block) carry = wait_for(job, words_of_block(job, block - 1), job->block_bytes);
    tally_host_parts_scan(steps, tiles, prefixes, WIDTH, WIDTH);
    if (carry) {
        tally_host_parts_read(steps, before, carry);
        tally_host_parts_join(steps, before, 0, prefixes, WIDTH);
    } else {
        tally_host_parts_copy(steps, before, prefixes, 1); /* any value */
    }
    if (q + count == WIDTH)
        publish(job, steps, words_of_block(job, block), job->block_bytes, host_parts_from(prefixes, WIDTH - 1));
    return carry;
}

/* ---- the second pass ------------------------------------------------------------------------- */

/* Turns a batch's cells into inclusive prefixes, and the part before them into what is before.
 * `rows` has the inclusive prefixes of the rows, and as part -1 that of the row before if `has`. */
static void join_batch(const host_steps *all, uint32_t cells, bool has, host_batch *batch, host_parts rows) {
    const host_parts ends = batch->ends, before = host_parts_from(rows, -1);
    const uint32_t first = has ? 0 : WIDTH; /* row 0 has nothing before it */
    tally_host_batch_meet(all, host_parts_from(rows, cells / WIDTH - 1), 1, batch);
    const host_steps *steps = batch->steps;
    tally_host_parts_join(steps, host_parts_from(before, !has), 1, host_parts_from(ends, first), cells - first);
    tally_host_parts_copy_apart(steps, last_of_row(ends), WIDTH, rows, 1, cells / WIDTH);
    tally_host_parts_copy(steps, host_parts_from(ends, -1), before, 1);
    tally_host_batch_prefix(host_parts_from(ends, -1), cells, !has, batch);
}

/* Writes the results of a batch, or gives them to the streams. `has` is false if nothing is before
 * it. */
static void store_batch(const scan_job *job, const scan_span *span, bool has, const host_batch *batch, const uint8_t *begins,
                        scan_scratch *scratch) {
    const host_steps *steps = &scratch->steps;
    const bool exclusive = job->flags & TALLY_SCAN_IS_EXCLUSIVE;
    const uint64_t bytes = job->program->result_bytes;
    unsigned char *to = job->out + span->place * bytes, *arrays = scratch->arrays;
    const host_parts before = host_parts_from(batch->ends, -1);
    tally_host_batch_finish(exclusive ? &before : NULL, job->base + span->k, span->cells, batch, arrays);
    for (uint32_t i = 0; i < span->count && exclusive && (steps->segmented || !has); i++)
        if ((!i && !has) || (steps->segmented && begins[i]))
            memcpy(tally_host_arrays_at(steps, arrays, i), scratch->first, bytes);
    if (span->count < BATCH) {
        tally_host_arrays_join(steps, arrays, span->cells, scratch->lines);
        memcpy(to, scratch->lines + offset_of(job, span) * bytes, span->count * bytes);
    } else if (job->passes) {
        scratch->arrays = tally_host_streams_store(steps, arrays, to);
    } else {
        tally_host_arrays_join(steps, arrays, span->cells, to);
    }
}

/* Does the second pass over a tile. The prefixes are the tile's inclusive one, and as part -1 its
 * exclusive one. `has` is false if nothing is before it. */
static void store_tile(const scan_job *job, uint64_t k, scan_tile *tile, bool has, host_parts prefixes, scan_scratch *scratch) {
    const host_steps *steps = &scratch->steps;
    const host_parts before = host_parts_from(prefixes, -1);
    if (has) tally_host_parts_join(steps, before, 0, tile->rows, WIDTH);
    tally_host_parts_copy(steps, host_parts_from(tile->rows, -1), before, 1);
    tally_host_parts_copy(steps, host_parts_from(tile->rows, WIDTH - 1), prefixes, 1);
    const uint32_t batches = (uint32_t)batches_of_tile(job, k);
    for (uint32_t b = 0; b < batches; b++) {
        const scan_span span = span_of(job, k + b * BATCH);
        host_batch *batch = &tile->batches[b];
        join_batch(steps, span.cells, has || b, batch, host_parts_from(tile->rows, (int64_t)b * ROWS));
        store_batch(job, &span, has || b, batch, tile->begins + b * BATCH, scratch);
    }
}

/* ---- the second pass of idempotent operators ------------------------------------------------- */

static bool are_equal(const host_steps *steps, const host_packed_part *a, const host_packed_part *b) {
    bool are = true;
    for (uint32_t f = 0; f < steps->field_count && are; f++) {
        const host_field *field = &steps->fields[f];
        are = memcmp(a->bytes + field->offset, b->bytes + field->offset, field->bytes) == 0;
    }
    return are;
}

/* Writes the results of a batch that changes nothing of the prefix before it. */
static void store_same(const scan_job *job, const scan_span *span, host_packed_part prefix, scan_scratch *scratch) {
    const tally_host_program *program = job->program;
    const uint64_t bytes = program->result_bytes;
    unsigned char result[64], *to = job->out + span->place * bytes;
    if (scratch->steps.has_initial) {
        const host_packed_part before = prefix;
        tally_host_parts_write(&scratch->steps, prefix.bytes, scratch->steps.initial);
        program->combine(prefix.bytes, before.bytes);
    }
    program->finish(prefix.bytes, 1, job->params, result);
    if (!scratch->has_same || memcmp(scratch->same, result, bytes) != 0) {
        memcpy(scratch->same, result, bytes);
        for (uint64_t n = bytes; n < BATCH * bytes; n *= 2) memcpy(scratch->same + n, scratch->same, n);
        scratch->has_same = true;
    }
    if (job->passes)
        scratch->steps.shared->pass(to, scratch->same, span->count * bytes);
    else
        memcpy(to, scratch->same, span->count * bytes);
}

/* Does both passes over a batch. `prefix` is before it if `has`. */
static void scan_batch(const scan_job *job, const scan_span *span, bool has, const host_packed_part *prefix, scan_tile *tile,
                       scan_scratch *scratch) {
    const host_steps *steps = &scratch->steps;
    const uint64_t index = job->places.reverse ? job->base + job->n - 1 - span->k : job->base + span->k;
    host_batch *batch = &tile->batches[0];
    const host_parts before = host_parts_from(tile->rows, -1), unscanned = scratch->parts; /* they are published */
    tally_host_batch_fold(steps, items_of(job, span, scratch->lines), NULL, index, span->cells, batch);
    tally_host_parts_copy_apart(steps, unscanned, 1, last_of_row(batch->ends), WIDTH, ROWS);
    tally_host_parts_scan(steps, unscanned, tile->rows, ROWS, WIDTH);
    if (has) {
        tally_host_parts_read(steps, before, prefix->bytes);
        tally_host_parts_join(steps, before, 0, tile->rows, WIDTH);
    } else {
        tally_host_parts_copy(steps, before, tile->rows, 1); /* any value */
    }
    join_batch(steps, span->cells, has, batch, tile->rows);
    store_batch(job, span, has, batch, NULL, scratch);
}

/* Does the second pass over a tile, whose exclusive prefix is before `prefixes`, if `has`. Returns
 * whether half of its batches change what is before them. */
static bool store_totalled(const scan_job *job, uint64_t k, scan_tile *tile, bool has, host_parts prefixes,
                           scan_scratch *scratch) {
    const host_steps *steps = &scratch->steps;
    const uint64_t batches = batches_of_tile(job, k);
    host_packed_part prefix, next;
    uint64_t changes = 0;
    if (has) tally_host_parts_write(steps, prefix.bytes, host_parts_from(prefixes, -1));
    for (uint64_t b = 0; b < batches; b++, has = true, prefix = next) {
        const scan_span span = span_of(job, k + b * BATCH);
        next = has ? prefix : tile->totals[b];
        if (has) job->program->combine(next.bytes, tile->totals[b].bytes);
        if (has && are_equal(steps, &next, &prefix)) {
            store_same(job, &span, prefix, scratch);
        } else {
            scan_batch(job, &span, has, &prefix, tile, scratch);
            changes++;
        }
    }
    return 2 * changes >= batches;
}

/* Tells whether a group changed what was before its `count` tiles from tile q of the block on. */
static bool has_changed(const host_steps *steps, bool has, host_parts prefixes, uint32_t q, uint32_t count) {
    host_packed_part first, last;
    if (!has && !q) return true;
    tally_host_parts_write(steps, first.bytes, host_parts_from(prefixes, (int64_t)q - 1));
    tally_host_parts_write(steps, last.bytes, host_parts_from(prefixes, q + count - 1));
    return !are_equal(steps, &first, &last);
}

/* ---- groups ---------------------------------------------------------------------------------- */

/* Has the streams prefetch the items of a group, if there is such a group. A batch has two passes
 * of four steps. */
static void prefetch_group(const scan_job *job, uint64_t group, host_streams *streams) {
    const uint64_t items = job->group_tiles * (uint64_t)TILE, k = group * items, bytes = job->program->item_bytes;
    streams->piece_bytes = k < job->n ? BATCH * bytes / 8 : 0;
    streams->items = (uintptr_t)job->in + (job->places.reverse ? job->n - k - items : k) * bytes;
}

static void scan_group(void *opaque, uint64_t group, uint32_t worker) {
    const scan_job *job = opaque;
    const uint64_t first = group * job->group_tiles, block = first / WIDTH;
    const uint32_t q = (uint32_t)(first % WIDTH);
    const uint32_t count = (uint32_t)(job->tiles - first < job->group_tiles ? job->tiles - first : job->group_tiles);
    scan_scratch *scratch = &job->scratch[worker];
    host_steps *steps = &scratch->steps;
    const bool is_idempotent = job->program->idempotent && !steps->segmented, totals = is_idempotent && !scratch->changes;
    steps->streams = &scratch->streams;
    prefetch_group(job, totals ? job->tiles : group + job->threads, &scratch->streams);
    tally_host_steps_begin(steps, &job->places, job->params, job->initial);
    if (job->flags & TALLY_SCAN_IS_EXCLUSIVE) tally_host_steps_first(steps, scratch->first);
    for (uint32_t j = 0; j < count; j++) {
        const host_parts own = host_parts_from(scratch->parts, q + j);
        (totals ? total_tile : fold_tile)(job, (first + j) * TILE, &scratch->tiles[j], scratch);
        tally_host_parts_copy(steps, own, host_parts_from(scratch->tiles[j].rows, WIDTH - 1), 1);
        publish(job, steps, words_of_tile(job, first + j), job->tile_bytes, own);
    }
    const bool has = find_prefixes(job, block, q, count, scratch);
    for (uint32_t j = 0; j < count; j++) {
        const host_parts prefixes = host_parts_from(scratch->scanned, q + j);
        if (totals)
            scratch->changes = store_totalled(job, (first + j) * TILE, &scratch->tiles[j], has || q + j, prefixes, scratch);
        else
            store_tile(job, (first + j) * TILE, &scratch->tiles[j], has || q + j, prefixes, scratch);
    }
    tally_host_streams_end(steps);
    if (is_idempotent && !totals) scratch->changes = has_changed(steps, has, scratch->scanned, q, count);
#ifdef __SSE2__
    _mm_sfence(); /* stores past the caches keep no order with others */
#endif
    if (first + count == job->tiles)
        tally_host_parts_write(steps, job->carry_to, host_parts_from(scratch->scanned, q + count - 1));
}

/* ---- the kernel ------------------------------------------------------------------------------ */

static void run_scan(host_kernel *kernel, uint64_t groups, const tally_arg *args) {
    const tally_host_program *program = kernel->program;
    const unsigned flags = TALLY_HOST_SCAN_FLAGS(kernel->form);
    const uint32_t part_bytes = tally_host_packed_bytes(program, flags & TALLY_SCAN_IS_SEGMENTED);
    const uint32_t flow = HOST_VALUE(uint32_t, args[TALLY_SCAN_ARG_FLOW]);
    const uint64_t parts = (part_bytes + 3) / 4, capacity = HOST_VALUE(uint64_t, args[TALLY_SCAN_ARG_CAPACITY]);
    unsigned char *words = host_bytes(&args[TALLY_SCAN_ARG_WORDS]), *values = host_bytes(&args[TALLY_SCAN_ARG_VALUES]);
    scan_job job = {.program = program,
                    .flags = flags,
                    .in = host_bytes(&args[TALLY_SCAN_ARG_IN]) +
                          HOST_VALUE(uint64_t, args[TALLY_SCAN_ARG_IN_OFFSET]) * program->item_bytes,
                    .heads = host_bytes(&args[TALLY_SCAN_ARG_HEADS]) + HOST_VALUE(uint64_t, args[TALLY_SCAN_ARG_HEADS_OFFSET]),
                    .out = host_bytes(&args[TALLY_SCAN_ARG_OUT]) +
                           HOST_VALUE(uint64_t, args[TALLY_SCAN_ARG_OUT_OFFSET]) * program->result_bytes,
                    .params = args[TALLY_SCAN_ARG_PARAMS].value,
                    .initial = flags & TALLY_SCAN_HAS_INITIAL ? args[TALLY_SCAN_ARG_INITIAL].value : NULL,
                    .base = HOST_VALUE(uint64_t, args[TALLY_SCAN_ARG_BASE]),
                    .n = HOST_VALUE(uint64_t, args[TALLY_SCAN_ARG_N]),
                    .group_tiles = TALLY_HOST_SCAN_TILES(kernel->form),
                    .threads = kernel->threads,
                    .block_words = words + 2 * LINE * 8,
                    .block_bytes = ((parts + LINE - 1) / LINE * LINE + LINE) * 8,
                    .tile_bytes = parts * 8,
                    .call = *(uint32_t *)(void *)words + 1,
                    .carry = flow & 2 ? values + ((flow & 1) ^ 1) * part_bytes : NULL,
                    .carry_to = values + (flow & 1) * part_bytes,
                    .scratch = kernel->scratch};
    job.tiles = (job.n + TILE - 1) / TILE;
    job.passes = job.n * program->result_bytes >= PASSING_BYTES;
    job.places.reverse = flags & TALLY_SCAN_IS_REVERSE;
    job.places.step = job.places.reverse ? -1 : 1;
    job.places.width = WIDTH;
    job.places.is_whole = true;
    tally_host_places_fill(&job.places);
    job.tile_words = job.block_words + (capacity + WIDTH - 1) / WIDTH * job.block_bytes;
    if (!job.call) job.call = 1; /* 0 says that nothing is published */
    *(uint32_t *)(void *)words = job.call;
    tally_pool_run_in_order(kernel->threads, groups, scan_group, &job);
}

tally_status tally_host_scan_entry(host_kernel *kernel, const char *entry) {
    if (strcmp(entry, "tally_scan_items")) return tally_fail(TALLY_E_INTERNAL, "no kernel '%s'", entry);
    kernel->run = run_scan;
    kernel->args = TALLY_SCAN_ARGS;
    return make_scratch(kernel) ? TALLY_OK : tally_fail(TALLY_E_MEMORY, "out of memory");
}
