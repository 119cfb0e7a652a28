/* SPDX-License-Identifier: MIT */
/*
 * Scans: the kernel tally_scan_items, in scan order v1 (kernels/scanning.h), in one launch.
 *
 * A group computes the aggregates of its tiles and keeps the cells' partial combinations. It
 * publishes the aggregates, waits for the prefixes before its own, and computes the results from
 * what it has kept. Groups begin in the order of their numbers, so those that it waits for are
 * running or have ended.
 */
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "host/pool.h"
#include "scan/scan.h"
#include "scan_steps.h"

#define WIDTH TALLY_SCAN_WIDTH
#define CELLS TALLY_HOST_CELLS
#define TILE TALLY_TILE_ITEMS
#define ROW_ITEMS (WIDTH * TALLY_CELL_ITEMS)
#define MOST_TILES 4 /* of a group */
#define LINE 16      /* words in 128 bytes */

/* A launch. */
typedef struct scan_job {
    const tally_host_program *program;
    host_steps steps;
    unsigned flags; /* TALLY_SCAN_ */
    const unsigned char *in, *heads;
    unsigned char *out;
    const void *initial;
    uint64_t base, n, tiles;
    uint32_t group_tiles;
    /* The published words: a packed part. The last 4 bytes of its words are the call's number. */
    unsigned char *block_words, *tile_words;
    uint64_t block_bytes, tile_bytes;
    uint32_t call;
    unsigned char *carry; /* a packed part; NULL: the call continues from none */
    unsigned char *carry_to;
    unsigned char *scratch;
} scan_job;

/* A tile between its two passes. Part j * CELLS + c of `cells` is the first j + 1 items of cell c.
 * After the first pass part 1 + c of `ends` is the combination of cell c and the cells before it in
 * its row, and part r of `rows` that of row r and the rows before it. After join_tile part 0 of
 * `ends` is the tile's exclusive prefix, and part 1 + c the inclusive prefix of cell c. */
typedef struct scan_tile {
    host_parts cells, ends, rows;
    uint8_t *begins;
    uint32_t count; /* rows */
} scan_tile;

/* ---- scratch --------------------------------------------------------------------------------- */

/* A thread's scratch: items in the order of the sequence, results, CELLS parts, and its tiles. */
typedef struct scan_scratch {
    unsigned char *items, *results;
    host_parts parts;
    scan_tile tiles[MOST_TILES];
} scan_scratch;

/* Lays a thread's scratch out from `at` on. Returns its end. */
static unsigned char *lay_out(const host_steps *steps, uint32_t tiles, unsigned char *at, scan_scratch *scratch) {
    scratch->items = at;
    scratch->results = scratch->items + TILE * (uint64_t)steps->program->item_bytes;
    at = scratch->results + TILE * (uint64_t)steps->program->result_bytes;
    scratch->parts = host_parts_take(steps, &at, CELLS);
    for (uint32_t t = 0; t < tiles; t++) {
        scan_tile *tile = &scratch->tiles[t];
        tile->cells = host_parts_take(steps, &at, TALLY_CELL_ITEMS * CELLS);
        tile->ends = host_parts_take(steps, &at, CELLS + 1);
        tile->rows = host_parts_take(steps, &at, WIDTH);
        tile->begins = at;
        at += steps->segmented ? TILE : 0;
    }
    return at;
}

static uint64_t thread_bytes(const host_steps *steps, uint32_t tiles) {
    static _Alignas(64) unsigned char base[64];
    scan_scratch scratch;
    return ((uint64_t)(lay_out(steps, tiles, base, &scratch) - base) + 127) / 64 * 64;
}

/* ---- the first pass -------------------------------------------------------------------------- */

static host_parts from(const scan_job *job, host_parts parts, uint64_t i) {
    return host_parts_from(&job->steps, parts, i);
}

/* Copies a part. */
static void copy(const scan_job *job, host_parts to, host_parts part) {
    host_parts_copy(&job->steps, to, part, 1);
}

/* Scans each 32 of `count` parts by Kogge and Stone. The steps alternate between `a` and `to`, and
 * end in `to`. */
static void scan_parts(const scan_job *job, host_parts a, host_parts to, uint32_t count) {
    for (uint32_t s = 1; s < WIDTH; s *= 2) {
        if (s < count) host_steps_pairs(&job->steps, a, from(job, a, s), from(job, to, s), count - s);
        for (uint32_t row = 0; row < count; row += WIDTH)
            host_parts_copy(&job->steps, from(job, to, row), from(job, a, row), count - row < s ? count - row : s);
        const host_parts next = a;
        a = to;
        to = next;
    }
}

/* Copies items in reverse order. */
static void reverse_items(unsigned char *to, const unsigned char *from, uint64_t count, uint32_t bytes) {
    for (uint64_t i = 0; i < count; i++) memcpy(to + i * bytes, from + (count - 1 - i) * bytes, bytes);
}

/* Sets begins[i] for each item k + i of the sequence, i below `count`, and clears the rest of the
 * tile. */
static void find_beginnings(const scan_job *job, uint64_t k, uint64_t count, uint8_t *begins) {
    for (uint64_t i = 0; i < count; i++)
        begins[i] =
            !(job->flags & TALLY_SCAN_IS_REVERSE) ? job->heads[k + i] != 0 : k + i == 0 || job->heads[job->n - k - i] != 0;
    memset(begins + count, 0, TILE - count);
}

/* Does the first pass over a tile. Items beyond the last are zeros: no result that is stored
 * depends on them. */
static void fold_tile(const scan_job *job, uint64_t k, scan_tile *tile, scan_scratch *scratch) {
    const tally_host_program *p = job->program;
    const bool reverse = job->flags & TALLY_SCAN_IS_REVERSE;
    const uint64_t count = job->n - k < TILE ? job->n - k : TILE;
    const uint64_t first = reverse ? job->n - k - count : k, index = reverse ? job->base + job->n - 1 - k : job->base + k;
    const unsigned char *items = job->in + first * p->item_bytes;
    tile->count = (uint32_t)((count + ROW_ITEMS - 1) / ROW_ITEMS);
    if (reverse || count % ROW_ITEMS || (uintptr_t)items % p->item_bytes) {
        if (reverse)
            reverse_items(scratch->items, items, count, p->item_bytes);
        else
            memcpy(scratch->items, items, count * p->item_bytes);
        memset(scratch->items + count * p->item_bytes, 0, (tile->count * ROW_ITEMS - count) * p->item_bytes);
        items = scratch->items;
    }
    if (job->steps.segmented) find_beginnings(job, k, count, tile->begins);
    host_steps_fold(&job->steps, items, tile->begins, index, reverse ? -1 : 1, tile->count, scratch->parts, tile->cells);
    const host_parts parts = scratch->parts, ends = from(job, tile->ends, 1);
    host_parts_copy(&job->steps, parts, from(job, tile->cells, (TALLY_CELL_ITEMS - 1) * CELLS), tile->count * WIDTH);
    scan_parts(job, parts, ends, tile->count * WIDTH);
    /* Rows beyond the last take any aggregate. */
    for (uint32_t row = 0; row < WIDTH; row++)
        copy(job, from(job, parts, row), from(job, ends, (row < tile->count ? row : 0) * WIDTH + WIDTH - 1));
    scan_parts(job, parts, tile->rows, WIDTH);
}

/* ---- the look-back --------------------------------------------------------------------------- */

static atomic_uint *mark_of(unsigned char *words, uint64_t words_bytes) {
    return (atomic_uint *)(void *)(words + words_bytes - sizeof(uint32_t));
}

static void publish(const scan_job *job, unsigned char *words, uint64_t words_bytes, host_parts part) {
    copy(job, host_parts_packed(&job->steps, words), part);
    atomic_store_explicit(mark_of(words, words_bytes), job->call, memory_order_release);
}

static host_parts wait_for(const scan_job *job, unsigned char *words, uint64_t words_bytes) {
    for (uint32_t polls = 0; atomic_load_explicit(mark_of(words, words_bytes), memory_order_acquire) != job->call; polls++)
        if (polls > 1000) sched_yield();
    return host_parts_packed(&job->steps, words);
}

static unsigned char *words_of_tile(const scan_job *job, uint64_t tile) {
    return job->tile_words + tile * job->tile_bytes;
}

static unsigned char *words_of_block(const scan_job *job, uint64_t block) {
    return job->block_words + block * job->block_bytes;
}

/* ---- the second pass ------------------------------------------------------------------------- */

/* Turns tile->ends into the tile's exclusive prefix and the cells' inclusive prefixes. `exclusive`
 * is NULL if nothing is before the tile. */
static void join_tile(const scan_job *job, scan_tile *tile, const host_parts *exclusive, host_parts inclusive) {
    const host_steps *steps = &job->steps;
    if (exclusive) copy(job, tile->ends, *exclusive);
    if (exclusive) host_steps_join(steps, *exclusive, tile->rows, WIDTH);
    for (uint32_t row = 0; row < tile->count; row++) {
        const host_parts cells = from(job, tile->ends, 1 + row * WIDTH);
        if (row || exclusive) host_steps_join(steps, row ? from(job, tile->rows, row - 1) : *exclusive, cells, WIDTH);
        copy(job, from(job, cells, WIDTH - 1), row < WIDTH - 1 ? from(job, tile->rows, row) : inclusive);
    }
}

/* Room for a part. */
typedef struct scan_part {
    _Alignas(64) unsigned char acc[TALLY_HOST_ACC_BYTES];
    uint64_t counter;
} scan_part;

static host_parts part_of(const scan_job *job, scan_part *part) {
    return (host_parts){part->acc, job->steps.segmented ? &part->counter : NULL};
}

/* Combines the initial item with each part: op(initial, part). The beginnings of segments are
 * cleared first, as they would drop the initial item. */
static void join_initial(const scan_job *job, host_parts parts, uint32_t count) {
    scan_part initial;
    host_steps_load(&job->steps, job->initial, part_of(job, &initial));
    host_steps_clear_beginnings(parts, count);
    host_steps_join(&job->steps, part_of(job, &initial), parts, count);
}

/* Writes the first result of an exclusive scan or of a segment in it: nothing is before it. */
static void write_first(const scan_job *job, unsigned char *result) {
    scan_part initial;
    if (job->initial) host_steps_load(&job->steps, job->initial, part_of(job, &initial));
    job->program->finish(initial.acc, job->initial != NULL, job->steps.params, result);
}

/* Writes the result of item `j` of each cell. It is that of the cell's exclusive prefix and the
 * first `items` items of the cell. `has` is false if nothing is before cell 0. */
static void write_items(const scan_job *job, uint64_t k, const scan_tile *tile, bool has, uint32_t j, uint32_t items,
                        const scan_scratch *scratch, unsigned char *results) {
    const host_steps *steps = &job->steps;
    const uint32_t count = tile->count * WIDTH;
    const host_parts parts = scratch->parts;
    host_parts whole = tile->ends;
    if (items == TALLY_CELL_ITEMS) {
        whole = from(job, tile->ends, 1);
    } else if (items) {
        const host_parts cells = from(job, tile->cells, (items - 1) * CELLS);
        host_steps_pairs(steps, tile->ends, cells, parts, count);
        if (!has) copy(job, parts, cells);
        whole = parts;
    }
    if (job->initial) {
        if (whole.accs != parts.accs) host_parts_copy(steps, parts, whole, count);
        join_initial(job, parts, count);
        whole = parts;
    }
    const bool counts_initial = job->initial && !steps->segmented;
    host_steps_finish(steps, whole, TALLY_CELL_ITEMS, job->base + k + items, count, counts_initial,
                      results + j * job->program->result_bytes);
}

static void write_results(const scan_job *job, uint64_t k, const scan_tile *tile, bool has, const scan_scratch *scratch,
                          unsigned char *results) {
    const bool exclusive = job->flags & TALLY_SCAN_IS_EXCLUSIVE, segmented = job->steps.segmented;
    const uint32_t bytes = job->program->result_bytes;
    for (uint32_t j = 0; j < TALLY_CELL_ITEMS; j++) write_items(job, k, tile, has, j, exclusive ? j : j + 1, scratch, results);
    if (exclusive && !has) write_first(job, results);
    for (uint32_t i = 0; exclusive && segmented && i < tile->count * ROW_ITEMS; i++)
        if (tile->begins[i]) write_first(job, results + i * bytes);
}

/* Does the second pass over a tile. */
static void store_tile(const scan_job *job, uint64_t k, const scan_tile *tile, bool has, const scan_scratch *scratch) {
    const uint32_t bytes = job->program->result_bytes;
    const bool reverse = job->flags & TALLY_SCAN_IS_REVERSE;
    const uint64_t count = job->n - k < TILE ? job->n - k : TILE;
    unsigned char *to = job->out + (reverse ? job->n - k - count : k) * bytes;
    const bool direct = !reverse && count % ROW_ITEMS == 0;
    unsigned char *results = direct ? to : scratch->results;
    write_results(job, k, tile, has, scratch, results);
    if (reverse)
        reverse_items(to, results, count, bytes);
    else if (!direct)
        memcpy(to, results, count * bytes);
}

/* ---- a group --------------------------------------------------------------------------------- */

/* The prefixes of the tiles from the block's first to the group's last. */
typedef struct scan_prefixes {
    host_parts parts, scanned, before; /* before: the block's exclusive prefix */
    bool has;                          /* something is before the block */
    _Alignas(64) unsigned char room[(2 * WIDTH + 1) * (TALLY_HOST_ACC_BYTES + sizeof(uint64_t)) + 6 * HOST_PARTS_ALIGN];
} scan_prefixes;

static void lay_out_prefixes(const scan_job *job, scan_prefixes *p) {
    unsigned char *at = p->room;
    p->parts = host_parts_take(&job->steps, &at, WIDTH);
    p->scanned = host_parts_take(&job->steps, &at, WIDTH);
    p->before = host_parts_take(&job->steps, &at, 1);
}

/* Computes the prefixes of `count` tiles, the first of which is tile q of the block. Their own
 * aggregates are in p->parts. */
static void find_prefixes(const scan_job *job, uint64_t block, uint32_t q, uint32_t count, scan_prefixes *p) {
    for (uint32_t l = 0; l < q; l++)
        copy(job, from(job, p->parts, l), wait_for(job, words_of_tile(job, block * WIDTH + l), job->tile_bytes));
    p->has = block || job->carry;
    if (p->has)
        copy(job, p->before,
             block ? wait_for(job, words_of_block(job, block - 1), job->block_bytes)
                   : host_parts_packed(&job->steps, job->carry));
    scan_parts(job, p->parts, p->scanned, q + count);
    if (p->has) host_steps_join(&job->steps, p->before, p->scanned, q + count);
    if (q + count == WIDTH) publish(job, words_of_block(job, block), job->block_bytes, from(job, p->scanned, WIDTH - 1));
}

static void scan_group(void *opaque, uint64_t group, uint32_t worker) {
    const scan_job *job = opaque;
    const uint64_t first = group * job->group_tiles, block = first / WIDTH;
    const uint32_t q = (uint32_t)(first % WIDTH);
    const uint32_t count = (uint32_t)(job->tiles - first < job->group_tiles ? job->tiles - first : job->group_tiles);
    scan_scratch scratch;
    scan_prefixes p;
    lay_out(&job->steps, job->group_tiles, job->scratch + worker * thread_bytes(&job->steps, job->group_tiles), &scratch);
    lay_out_prefixes(job, &p);
    for (uint32_t j = 0; j < count; j++) {
        const scan_tile *tile = &scratch.tiles[j];
        fold_tile(job, (first + j) * TILE, &scratch.tiles[j], &scratch);
        copy(job, from(job, p.parts, q + j), from(job, tile->rows, WIDTH - 1));
        publish(job, words_of_tile(job, first + j), job->tile_bytes, from(job, p.parts, q + j));
    }
    find_prefixes(job, block, q, count, &p);
    for (uint32_t j = 0; j < count; j++) {
        const host_parts before = q + j ? from(job, p.scanned, q + j - 1) : p.before;
        const host_parts *exclusive = q + j || p.has ? &before : NULL;
        join_tile(job, &scratch.tiles[j], exclusive, from(job, p.scanned, q + j));
        store_tile(job, (first + j) * TILE, &scratch.tiles[j], exclusive != NULL, &scratch);
    }
    if (first + count == job->tiles)
        copy(job, host_parts_packed(&job->steps, job->carry_to), from(job, p.scanned, q + count - 1));
}

/* ---- the kernel ------------------------------------------------------------------------------ */

static void run_scan(host_kernel *kernel, uint64_t groups, const tally_arg *args) {
    const tally_host_program *program = kernel->program;
    const unsigned flags = TALLY_HOST_SCAN_FLAGS(kernel->form);
    const host_steps steps = host_steps_of(program, flags & TALLY_SCAN_IS_SEGMENTED, args[TALLY_SCAN_ARG_PARAMS].value);
    const uint32_t flow = HOST_VALUE(uint32_t, args[TALLY_SCAN_ARG_FLOW]);
    const uint64_t parts = (steps.packed_bytes + 3) / 4, capacity = HOST_VALUE(uint64_t, args[TALLY_SCAN_ARG_CAPACITY]);
    unsigned char *words = host_bytes(&args[TALLY_SCAN_ARG_WORDS]), *values = host_bytes(&args[TALLY_SCAN_ARG_VALUES]);
    scan_job job = {.program = program,
                    .steps = steps,
                    .flags = flags,
                    .in = host_bytes(&args[TALLY_SCAN_ARG_IN]) +
                          HOST_VALUE(uint64_t, args[TALLY_SCAN_ARG_IN_OFFSET]) * program->item_bytes,
                    .heads = host_bytes(&args[TALLY_SCAN_ARG_HEADS]) + HOST_VALUE(uint64_t, args[TALLY_SCAN_ARG_HEADS_OFFSET]),
                    .out = host_bytes(&args[TALLY_SCAN_ARG_OUT]) +
                           HOST_VALUE(uint64_t, args[TALLY_SCAN_ARG_OUT_OFFSET]) * program->result_bytes,
                    .initial = flags & TALLY_SCAN_HAS_INITIAL ? args[TALLY_SCAN_ARG_INITIAL].value : NULL,
                    .base = HOST_VALUE(uint64_t, args[TALLY_SCAN_ARG_BASE]),
                    .n = HOST_VALUE(uint64_t, args[TALLY_SCAN_ARG_N]),
                    .group_tiles = TALLY_HOST_SCAN_TILES(kernel->form),
                    .block_words = words + 2 * LINE * 8,
                    .block_bytes = ((parts + LINE - 1) / LINE * LINE + LINE) * 8,
                    .tile_bytes = parts * 8,
                    .call = *(uint32_t *)(void *)words + 1,
                    .carry = flow & 2 ? values + ((flow & 1) ^ 1) * steps.packed_bytes : NULL,
                    .carry_to = values + (flow & 1) * steps.packed_bytes,
                    .scratch = kernel->scratch};
    job.tiles = (job.n + TILE - 1) / TILE;
    job.tile_words = job.block_words + (capacity + WIDTH - 1) / WIDTH * job.block_bytes;
    if (!job.call) job.call = 1; /* 0 says that nothing is published */
    *(uint32_t *)(void *)words = job.call;
    tally_pool_run_in_order(kernel->threads, groups, scan_group, &job);
}

tally_status host_scan_entry(host_kernel *kernel, const char *entry) {
    const bool segmented = TALLY_HOST_SCAN_FLAGS(kernel->form) & TALLY_SCAN_IS_SEGMENTED;
    const host_steps steps = host_steps_of(kernel->program, segmented, NULL);
    if (strcmp(entry, "tally_scan_items")) return tally_fail(TALLY_E_INTERNAL, "no kernel '%s'", entry);
    kernel->run = run_scan;
    kernel->args = TALLY_SCAN_ARGS;
    const uint64_t bytes = thread_bytes(&steps, TALLY_HOST_SCAN_TILES(kernel->form));
    kernel->scratch = aligned_alloc(64, kernel->threads * bytes);
    return kernel->scratch ? TALLY_OK : tally_fail(TALLY_E_MEMORY, "out of memory");
}
