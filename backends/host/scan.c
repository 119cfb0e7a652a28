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

#include "host.h"
#include "host/pool.h"
#include "scan/scan.h"

#define WIDTH TALLY_SCAN_WIDTH
#define CELLS TALLY_HOST_CELLS
#define TILE TALLY_TILE_ITEMS
#define ROW_ITEMS (WIDTH * TALLY_CELL_ITEMS)
#define MOST_TILES 4 /* of a group */
#define LINE 16      /* words in 128 bytes */

/* A launch. */
typedef struct scan_job {
    const tally_host_program *program;
    const tally_host_scan *steps;
    unsigned flags; /* TALLY_SCAN_ */
    const unsigned char *in, *heads;
    unsigned char *out;
    const void *params, *initial;
    uint64_t base, n, tiles;
    uint32_t group_tiles;
    /* The published words: a value, with the call's number in the last 4 bytes of its words. */
    unsigned char *block_words, *tile_words;
    uint64_t block_bytes, tile_bytes;
    uint32_t call;
    const unsigned char *carry; /* NULL: the call continues from none */
    unsigned char *carry_to;
    unsigned char *scratch;
} scan_job;

/* A tile between its two passes. After the first pass ends[1 + l] is the combination of cell l and
 * the cells before it in its row, and rows[r] that of row r and the rows before it. After join_tile
 * ends[0] is the tile's exclusive prefix, and ends[1 + l] the inclusive prefix of cell l. */
typedef struct scan_tile {
    unsigned char *cells, *ends, *rows; /* arrays of SCAN */
    uint8_t *begins;
    uint32_t count; /* rows */
} scan_tile;

/* ---- scratch --------------------------------------------------------------------------------- */

/* A thread's scratch: items in the order of the sequence, results, two arrays of parts, and its
 * tiles. */
static uint64_t shared_bytes(const tally_host_program *p, const tally_host_scan *steps) {
    return TILE * (uint64_t)(p->item_bytes + p->result_bytes) + 2 * CELLS * (uint64_t)steps->bytes;
}

static unsigned char *results_in(const scan_job *job, unsigned char *scratch) {
    return scratch + TILE * (uint64_t)job->program->item_bytes;
}

static unsigned char *parts_in(const scan_job *job, unsigned char *scratch, uint32_t array) {
    return results_in(job, scratch) + TILE * (uint64_t)job->program->result_bytes + array * CELLS * (uint64_t)job->steps->bytes;
}

static uint64_t each_tile_bytes(const tally_host_scan *steps) {
    return (TALLY_CELL_ITEMS * CELLS + CELLS + WIDTH + 16) * (uint64_t)steps->bytes + TILE;
}

static uint64_t thread_bytes(const tally_host_program *p, const tally_host_scan *steps, uint32_t tiles) {
    return (shared_bytes(p, steps) + tiles * each_tile_bytes(steps) + 127) / 64 * 64;
}

static scan_tile tile_of(const scan_job *job, unsigned char *scratch, uint32_t tile) {
    const uint64_t bytes = job->steps->bytes;
    unsigned char *at = scratch + shared_bytes(job->program, job->steps) + tile * each_tile_bytes(job->steps);
    scan_tile t = {.cells = at};
    t.ends = t.cells + TALLY_CELL_ITEMS * CELLS * bytes;
    t.rows = t.ends + (CELLS + 1) * bytes;
    t.begins = t.rows + (WIDTH + 15) * bytes;
    return t;
}

/* ---- the first pass -------------------------------------------------------------------------- */

/* Scans each 32 of `count` parts by Kogge and Stone. The steps alternate between `a` and `to`, and
 * end in `to`. */
static void scan_parts(const tally_host_scan *steps, unsigned char *a, unsigned char *to, uint32_t count) {
    const uint64_t bytes = steps->bytes;
    unsigned char *from = a, *into = to;
    for (uint32_t s = 1; s < WIDTH; s *= 2) {
        if (s < count) steps->pairs(from, from + s * bytes, into + s * bytes, count - s);
        for (uint32_t row = 0; row < count; row += WIDTH)
            memcpy(into + row * bytes, from + row * bytes, (count - row < s ? count - row : s) * bytes);
        unsigned char *const next = from;
        from = into;
        into = next;
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
static void fold_tile(const scan_job *job, uint64_t k, scan_tile *tile, unsigned char *scratch) {
    const tally_host_program *p = job->program;
    const tally_host_scan *steps = job->steps;
    const bool reverse = job->flags & TALLY_SCAN_IS_REVERSE, segmented = job->flags & TALLY_SCAN_IS_SEGMENTED;
    const uint64_t bytes = steps->bytes, count = job->n - k < TILE ? job->n - k : TILE;
    const uint64_t first = reverse ? job->n - k - count : k, index = reverse ? job->base + job->n - 1 - k : job->base + k;
    const unsigned char *items = job->in + first * p->item_bytes;
    tile->count = (uint32_t)((count + ROW_ITEMS - 1) / ROW_ITEMS);
    if (reverse || count % ROW_ITEMS || (uintptr_t)items % p->item_bytes) {
        if (reverse)
            reverse_items(scratch, items, count, p->item_bytes);
        else
            memcpy(scratch, items, count * p->item_bytes);
        memset(scratch + count * p->item_bytes, 0, (tile->count * ROW_ITEMS - count) * p->item_bytes);
        items = scratch;
    }
    if (segmented) find_beginnings(job, k, count, tile->begins);
    steps->fold(items, segmented ? tile->begins : NULL, index, reverse ? -1 : 1, tile->count, job->params, tile->cells);
    unsigned char *parts = parts_in(job, scratch, 0), *ends = tile->ends + bytes;
    memcpy(parts, tile->cells + (TALLY_CELL_ITEMS - 1) * CELLS * bytes, tile->count * WIDTH * bytes);
    scan_parts(steps, parts, ends, tile->count * WIDTH);
    /* Rows beyond the last take any aggregate. */
    for (uint32_t row = 0; row < WIDTH; row++)
        memcpy(parts + row * bytes, ends + ((row < tile->count ? row : 0) * WIDTH + WIDTH - 1) * bytes, bytes);
    scan_parts(steps, parts, tile->rows, WIDTH);
}

/* ---- the look-back --------------------------------------------------------------------------- */

static atomic_uint *mark_of(unsigned char *words, uint64_t words_bytes) {
    return (atomic_uint *)(void *)(words + words_bytes - sizeof(uint32_t));
}

static void publish(const scan_job *job, unsigned char *words, uint64_t words_bytes, const unsigned char *value) {
    memcpy(words, value, job->steps->bytes);
    atomic_store_explicit(mark_of(words, words_bytes), job->call, memory_order_release);
}

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

/* ---- the second pass ------------------------------------------------------------------------- */

/* Turns tile->ends into the tile's exclusive prefix and the cells' inclusive prefixes. `exclusive`
 * is NULL if nothing is before the tile. */
static void join_tile(const scan_job *job, scan_tile *tile, const unsigned char *exclusive, const unsigned char *inclusive) {
    const tally_host_scan *steps = job->steps;
    const uint64_t bytes = steps->bytes;
    if (exclusive) memcpy(tile->ends, exclusive, bytes);
    if (exclusive) steps->join(exclusive, tile->rows, WIDTH);
    for (uint32_t row = 0; row < tile->count; row++) {
        unsigned char *cells = tile->ends + bytes + row * WIDTH * bytes;
        if (row || exclusive) steps->join(row ? tile->rows + (row - 1) * bytes : exclusive, cells, WIDTH);
        memcpy(cells + (WIDTH - 1) * bytes, row < WIDTH - 1 ? tile->rows + row * bytes : inclusive, bytes);
    }
}

/* Combines the initial item with each part: op(initial, part). The flag of a segment's beginning is
 * cleared first, as it would drop the initial item. */
static void join_initial(const scan_job *job, unsigned char *parts, uint32_t count) {
    const uint64_t bytes = job->steps->bytes;
    _Alignas(64) unsigned char initial[TALLY_HOST_ACC_BYTES];
    job->steps->load(job->initial, job->params, initial);
    for (uint32_t i = 0; job->flags & TALLY_SCAN_IS_SEGMENTED && i < count; i++) {
        unsigned char *top = parts + i * bytes + bytes - 1; /* of the counter, which is little-endian */
        *top &= 0x7f;
    }
    job->steps->join(initial, parts, count);
}

/* Writes the first result of an exclusive scan or of a segment in it: nothing is before it. */
static void write_first(const scan_job *job, unsigned char *result) {
    _Alignas(64) unsigned char initial[TALLY_HOST_ACC_BYTES];
    if (job->initial) job->program->scan.load(job->initial, job->params, initial);
    job->program->finish(initial, job->initial != NULL, job->params, result);
}

/* Writes the result of item `j` of each cell. It is that of the cell's exclusive prefix and the
 * first `items` items of the cell. `has` is false if nothing is before cell 0. */
static void write_items(const scan_job *job, uint64_t k, const scan_tile *tile, bool has, uint32_t j, uint32_t items,
                        unsigned char *scratch, unsigned char *results) {
    const tally_host_scan *steps = job->steps;
    const uint64_t bytes = steps->bytes;
    const uint32_t count = tile->count * WIDTH;
    unsigned char *parts = parts_in(job, scratch, 0);
    const unsigned char *cells = items ? tile->cells + (items - 1) * CELLS * bytes : NULL;
    const unsigned char *whole = items == TALLY_CELL_ITEMS ? tile->ends + bytes : items ? parts : tile->ends;
    if (whole == parts) {
        steps->pairs(tile->ends, cells, parts, count);
        if (!has) memcpy(parts, cells, bytes);
    }
    if (job->initial) {
        if (whole != parts) memcpy(parts, whole, count * bytes);
        join_initial(job, parts, count);
        whole = parts;
    }
    const bool counts_initial = job->initial && !(job->flags & TALLY_SCAN_IS_SEGMENTED);
    steps->finish(whole, TALLY_CELL_ITEMS, job->base + k + items, count, counts_initial, job->params,
                  results + j * job->program->result_bytes);
}

static void write_results(const scan_job *job, uint64_t k, const scan_tile *tile, bool has, unsigned char *scratch,
                          unsigned char *results) {
    const bool exclusive = job->flags & TALLY_SCAN_IS_EXCLUSIVE, segmented = job->flags & TALLY_SCAN_IS_SEGMENTED;
    const uint32_t bytes = job->program->result_bytes;
    for (uint32_t j = 0; j < TALLY_CELL_ITEMS; j++) write_items(job, k, tile, has, j, exclusive ? j : j + 1, scratch, results);
    if (exclusive && !has) write_first(job, results);
    for (uint32_t i = 0; exclusive && segmented && i < tile->count * ROW_ITEMS; i++)
        if (tile->begins[i]) write_first(job, results + i * bytes);
}

/* Does the second pass over a tile. */
static void store_tile(const scan_job *job, uint64_t k, const scan_tile *tile, bool has, unsigned char *scratch) {
    const uint32_t bytes = job->program->result_bytes;
    const bool reverse = job->flags & TALLY_SCAN_IS_REVERSE;
    const uint64_t count = job->n - k < TILE ? job->n - k : TILE;
    unsigned char *to = job->out + (reverse ? job->n - k - count : k) * bytes;
    const bool direct = !reverse && count % ROW_ITEMS == 0;
    unsigned char *results = direct ? to : results_in(job, scratch);
    write_results(job, k, tile, has, scratch, results);
    if (reverse)
        reverse_items(to, results, count, bytes);
    else if (!direct)
        memcpy(to, results, count * bytes);
}

/* ---- a group --------------------------------------------------------------------------------- */

/* The prefixes of the tiles from the block's first to the group's last. */
typedef struct scan_prefixes {
    _Alignas(64) unsigned char parts[WIDTH * TALLY_HOST_ACC_BYTES], scanned[WIDTH * TALLY_HOST_ACC_BYTES];
    _Alignas(64) unsigned char before[TALLY_HOST_ACC_BYTES]; /* the block's exclusive prefix */
    bool has;                                                /* something is before the block */
} scan_prefixes;

/* Computes the prefixes of `count` tiles, the first of which is tile q of the block. Their own
 * aggregates are in p->parts. */
static void find_prefixes(const scan_job *job, uint64_t block, uint32_t q, uint32_t count, scan_prefixes *p) {
    const uint64_t bytes = job->steps->bytes;
    for (uint32_t l = 0; l < q; l++)
        memcpy(p->parts + l * bytes, wait_for(job, words_of_tile(job, block * WIDTH + l), job->tile_bytes), bytes);
    const unsigned char *before = block ? wait_for(job, words_of_block(job, block - 1), job->block_bytes) : job->carry;
    p->has = before != NULL;
    if (before) memcpy(p->before, before, bytes);
    scan_parts(job->steps, p->parts, p->scanned, q + count);
    if (before) job->steps->join(p->before, p->scanned, q + count);
    if (q + count == WIDTH) publish(job, words_of_block(job, block), job->block_bytes, p->scanned + (WIDTH - 1) * bytes);
}

static void scan_group(void *opaque, uint64_t group, uint32_t worker) {
    const scan_job *job = opaque;
    const uint64_t bytes = job->steps->bytes, first = group * job->group_tiles, block = first / WIDTH;
    const uint32_t q = (uint32_t)(first % WIDTH);
    const uint32_t count = (uint32_t)(job->tiles - first < job->group_tiles ? job->tiles - first : job->group_tiles);
    unsigned char *scratch = job->scratch + worker * thread_bytes(job->program, job->steps, job->group_tiles);
    scan_tile tiles[MOST_TILES];
    scan_prefixes p;
    for (uint32_t j = 0; j < count; j++) {
        tiles[j] = tile_of(job, scratch, j);
        fold_tile(job, (first + j) * TILE, &tiles[j], scratch);
        memcpy(p.parts + (q + j) * bytes, tiles[j].rows + (WIDTH - 1) * bytes, bytes);
        publish(job, words_of_tile(job, first + j), job->tile_bytes, p.parts + (q + j) * bytes);
    }
    find_prefixes(job, block, q, count, &p);
    for (uint32_t j = 0; j < count; j++) {
        const unsigned char *exclusive = q + j ? p.scanned + (q + j - 1) * bytes : p.has ? p.before : NULL;
        join_tile(job, &tiles[j], exclusive, p.scanned + (q + j) * bytes);
        store_tile(job, (first + j) * TILE, &tiles[j], exclusive != NULL, scratch);
    }
    if (first + count == job->tiles) memcpy(job->carry_to, p.scanned + (q + count - 1) * bytes, bytes);
}

/* ---- the kernel ------------------------------------------------------------------------------ */

static void run_scan(host_kernel *kernel, uint64_t groups, const tally_arg *args) {
    const tally_host_program *program = kernel->program;
    const unsigned flags = TALLY_HOST_SCAN_FLAGS(kernel->form);
    const tally_host_scan *steps = flags & TALLY_SCAN_IS_SEGMENTED ? &program->segmented : &program->scan;
    const uint32_t flow = HOST_VALUE(uint32_t, args[TALLY_SCAN_ARG_FLOW]);
    const uint64_t parts = (steps->bytes + 3) / 4, capacity = HOST_VALUE(uint64_t, args[TALLY_SCAN_ARG_CAPACITY]);
    unsigned char *words = host_bytes(&args[TALLY_SCAN_ARG_WORDS]), *values = host_bytes(&args[TALLY_SCAN_ARG_VALUES]);
    scan_job job = {.program = program,
                    .steps = steps,
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
                    .block_words = words + 2 * LINE * 8,
                    .block_bytes = ((parts + LINE - 1) / LINE * LINE + LINE) * 8,
                    .tile_bytes = parts * 8,
                    .call = *(uint32_t *)(void *)words + 1,
                    .carry = flow & 2 ? values + ((flow & 1) ^ 1) * steps->bytes : NULL,
                    .carry_to = values + (flow & 1) * steps->bytes,
                    .scratch = kernel->scratch};
    job.tiles = (job.n + TILE - 1) / TILE;
    job.tile_words = job.block_words + (capacity + WIDTH - 1) / WIDTH * job.block_bytes;
    if (!job.call) job.call = 1; /* 0 says that nothing is published */
    *(uint32_t *)(void *)words = job.call;
    tally_pool_run(kernel->threads, groups, scan_group, &job);
}

tally_status host_scan_entry(host_kernel *kernel, const char *entry) {
    const bool segmented = TALLY_HOST_SCAN_FLAGS(kernel->form) & TALLY_SCAN_IS_SEGMENTED;
    const tally_host_scan *steps = segmented ? &kernel->program->segmented : &kernel->program->scan;
    if (strcmp(entry, "tally_scan_items")) return tally_fail(TALLY_E_INTERNAL, "no kernel '%s'", entry);
    kernel->run = run_scan;
    kernel->args = TALLY_SCAN_ARGS;
    const uint64_t bytes = thread_bytes(kernel->program, steps, TALLY_HOST_SCAN_TILES(kernel->form));
    kernel->scratch = aligned_alloc(64, kernel->threads * bytes);
    return kernel->scratch ? TALLY_OK : tally_fail(TALLY_E_MEMORY, "out of memory");
}
