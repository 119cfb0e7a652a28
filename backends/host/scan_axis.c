/* SPDX-License-Identifier: MIT */
/*
 * Scans along an axis, in scan order v1 (kernels/scanning.h): the kernels tally_scan_axis_lists and
 * tally_scan_axis_rows, which do the same here.
 *
 * A group has neighbouring lists, and goes along them by rows of 128 items. It gathers a row of
 * each list, scans the cells of all these rows together, and turns them into inclusive prefixes.
 * The rows of a tile come one after the other, and so do the tiles of a block. So step s of Kogge
 * and Stone's scan finds part l - s among the last s parts, which each step keeps as the step
 * before it left them.
 * Lists of up to 64 items have only the cells that they need, so that many of them make a row. An
 * op with an index always has rows, since `fold` counts along them.
 */
#include <stdlib.h>
#include <string.h>

#include "gather.h"
#include "host/pool.h"
#include "scan/scan.h"
#include "scan_steps.h"

#define WIDTH TALLY_SCAN_WIDTH
#define CELL TALLY_CELL_ITEMS
#define CELLS TALLY_HOST_CELLS
#define ROW_ITEMS TALLY_ROW_ITEMS
#define LEVELS (WIDTH - 1)

typedef struct axis_job {
    const tally_host_program *program;
    const tally_host_scan *steps;
    uint64_t bytes; /* of an accumulator */
    unsigned flags; /* TALLY_SCAN_ */
    const unsigned char *in;
    unsigned char *out;
    const void *params, *initial;
    tally_array_shape shape; /* axis[0] is scanned */
    uint32_t width, lists;   /* a list's cells at once; a group's lists; in all CELLS at most */
    unsigned char *scratch;
} axis_job;

/* A group's lists, and a thread's scratch. Arrays of SCAN have list after list, `width` cells each,
 * or one SCAN for each list. */
typedef struct axis_lists {
    uint32_t count;
    int64_t *in, *out; /* in bytes: the places of the lists' indices 0 */
    unsigned char *items, *results;
    unsigned char *cells;                      /* cells[j * CELLS + c]: the first j + 1 items of cell c */
    unsigned char *ends, *before, *parts;      /* of each cell */
    unsigned char *row, *tile, *block, *whole; /* of each list: the exclusive prefixes, and a part */
    unsigned char *row_levels, *tile_levels;
} axis_lists;

/* ---- scratch --------------------------------------------------------------------------------- */

static unsigned char *take(unsigned char **at, uint64_t bytes) {
    unsigned char *taken = *at;
    *at += (bytes + 63) / 64 * 64;
    return taken;
}

/* Lays a thread's scratch out from `at` on. Returns its end. */
static unsigned char *lay_out(const tally_host_program *p, unsigned char *at, axis_lists *lists) {
    const uint64_t bytes = p->acc_bytes;
    lists->in = (int64_t *)(void *)take(&at, CELLS * sizeof(int64_t));
    lists->out = (int64_t *)(void *)take(&at, CELLS * sizeof(int64_t));
    lists->items = take(&at, CELLS * CELL * (uint64_t)p->item_bytes);
    lists->results = take(&at, CELLS * CELL * (uint64_t)p->result_bytes);
    lists->cells = take(&at, CELL * CELLS * bytes);
    unsigned char **const of_cells[] = {&lists->ends, &lists->before, &lists->parts};
    for (size_t i = 0; i < TALLY_ARRAY_LENGTH(of_cells); i++) *of_cells[i] = take(&at, CELLS * bytes);
    unsigned char **const of_lists[] = {&lists->row, &lists->tile, &lists->block, &lists->whole};
    for (size_t i = 0; i < TALLY_ARRAY_LENGTH(of_lists); i++) *of_lists[i] = take(&at, WIDTH * bytes);
    lists->row_levels = take(&at, LEVELS * WIDTH * bytes);
    lists->tile_levels = take(&at, LEVELS * WIDTH * bytes);
    return at;
}

static uint64_t thread_bytes(const tally_host_program *p) {
    axis_lists lists;
    static _Alignas(64) unsigned char base[64];
    return (uint64_t)((uintptr_t)lay_out(p, base, &lists) - (uintptr_t)base);
}

/* ---- items and results in memory ------------------------------------------------------------- */

/* A copy of `items` items of each of `count` lists, between memory and an array. List s is at byte
 * at[s] from `memory` on, and its items are `step` bytes apart. In `array` its items are side by
 * side, and the lists are `pitch` items apart. */
typedef struct axis_copy {
    unsigned char *memory, *array;
    const int64_t *at;
    int64_t step;
    uint64_t count, items, pitch;
    bool to_memory, by_lists; /* by_lists: an item of each list, then the next one */
} axis_copy;

static inline void copy_one(const axis_copy *c, uint64_t s, uint64_t j, uint64_t size) {
    unsigned char *there = c->memory + c->at[s] + (int64_t)j * c->step, *here = c->array + (s * c->pitch + j) * size;
    memcpy(c->to_memory ? there : here, c->to_memory ? here : there, size);
}

static inline void copy_all(const axis_copy *c, uint64_t size) {
    if (c->by_lists)
        for (uint64_t j = 0; j < c->items; j++)
            for (uint64_t s = 0; s < c->count; s++) copy_one(c, s, j, size);
    else
        for (uint64_t s = 0; s < c->count; s++)
            for (uint64_t j = 0; j < c->items; j++) copy_one(c, s, j, size);
}

static void copy_side_by_side(const axis_copy *c, uint64_t size) {
    for (uint64_t s = 0; s < c->count; s++) {
        unsigned char *there = c->memory + c->at[s], *here = c->array + s * c->pitch * size;
        memcpy(c->to_memory ? there : here, c->to_memory ? here : there, c->items * size);
    }
}

static void copy(const axis_copy *c, uint64_t size) {
    if (c->step == (int64_t)size)
        copy_side_by_side(c, size);
    else if (size == 1)
        copy_all(c, 1);
    else if (size == 2)
        copy_all(c, 2);
    else if (size == 4)
        copy_all(c, 4);
    else if (size == 8)
        copy_all(c, 8);
    else
        copy_all(c, size);
}

/* Copies items k to k + items - 1 of the lists, or their results, in the order of the sequence. */
static void copy_items(const axis_job *job, const axis_lists *lists, uint64_t k, uint64_t items, bool results) {
    const tally_array_shape *shape = &job->shape;
    const bool reverse = job->flags & TALLY_SCAN_IS_REVERSE;
    const tally_shape_axis *along = &shape->axis[0], *across = &shape->axis[shape->kept];
    const int64_t size = results ? job->program->result_bytes : job->program->item_bytes;
    const int64_t step = (results ? along->out : along->in[0]) * size;
    unsigned char *memory = results ? job->out : (unsigned char *)(uintptr_t)job->in;
    const axis_copy c = {.memory = memory + (int64_t)(reverse ? shape->n - 1 - k : k) * step,
                         .array = results ? lists->results : lists->items,
                         .at = results ? lists->out : lists->in,
                         .step = reverse ? -step : step,
                         .count = lists->count,
                         .items = items,
                         .pitch = job->width * CELL,
                         .to_memory = results,
                         .by_lists = results ? tally_magnitude(across->out) < tally_magnitude(along->out)
                                             : tally_magnitude(across->in[0]) < tally_magnitude(along->in[0])};
    copy(&c, (uint64_t)size);
}

static void find_lists(const axis_job *job, uint64_t first, axis_lists *lists) {
    const tally_array_shape *shape = &job->shape;
    for (uint32_t i = 0; i < lists->count; i++) {
        uint64_t s = first + i;
        lists->in[i] = lists->out[i] = 0;
        for (uint32_t a = shape->kept; a > 0; a--) {
            const tally_shape_axis *axis = &shape->axis[a];
            const int64_t at = (int64_t)(s % axis->extent);
            lists->in[i] += at * axis->in[0] * (int64_t)job->program->item_bytes;
            lists->out[i] += at * axis->out * (int64_t)job->program->result_bytes;
            s /= axis->extent;
        }
    }
}

/* ---- the order ------------------------------------------------------------------------------- */

/* Folds the cells of the items from item k on. Items beyond the last are zeros: no result that is
 * stored depends on them. */
static void fold_cells(const axis_job *job, const axis_lists *lists, uint64_t k, uint64_t items) {
    const tally_host_program *p = job->program;
    const bool reverse = job->flags & TALLY_SCAN_IS_REVERSE;
    const uint64_t pitch = job->width * (uint64_t)CELL, index = reverse ? job->shape.n - 1 - k : k;
    const uint64_t used = lists->count * pitch, rows = tally_ceil_div(used, ROW_ITEMS);
    copy_items(job, lists, k, items, false);
    for (uint32_t s = 0; s < lists->count && items < pitch; s++)
        memset(lists->items + (s * pitch + items) * p->item_bytes, 0, (pitch - items) * p->item_bytes);
    memset(lists->items + used * p->item_bytes, 0, (rows * ROW_ITEMS - used) * p->item_bytes);
    const uint64_t calls = job->width == WIDTH ? rows : 1; /* in one call the lists' indices would go on */
    const host_steps steps = host_steps_of(p, false, job->params);
    for (uint64_t call = 0; call < calls; call++)
        host_steps_fold(&steps, lists->items + call * ROW_ITEMS * p->item_bytes, NULL, index, reverse ? -1 : 1,
                        (uint32_t)(rows / calls), (host_parts){.accs = lists->parts},
                        (host_parts){.accs = lists->cells + call * WIDTH * job->bytes});
}

/* The scan of Kogge and Stone of each list's cells, from lists->cells into lists->ends. */
static void scan_cells(const axis_job *job, axis_lists *lists) {
    const uint64_t bytes = job->bytes, count = lists->count * (uint64_t)job->width;
    memcpy(lists->ends, lists->cells + (CELL - 1) * CELLS * bytes, count * bytes);
    for (uint32_t s = 1; s < job->width; s *= 2) {
        unsigned char *from = lists->ends, *into = lists->parts;
        job->steps->pairs(from, from + s * bytes, into + s * bytes, (uint32_t)(count - s));
        for (uint64_t list = 0; list < count; list += job->width) memcpy(into + list * bytes, from + list * bytes, s * bytes);
        lists->ends = into;
        lists->parts = from;
    }
}

/* Turns part l of each list, in `part`, into the combination of parts 0 to l. `levels` keeps the
 * parts that later ones need. */
static void take_part(const axis_job *job, const axis_lists *lists, unsigned char *levels, uint32_t l, unsigned char *part) {
    const uint64_t all = lists->count * job->bytes;
    for (uint32_t s = 1; s < WIDTH; s *= 2) {
        unsigned char *kept = levels + (s - 1 + (l & (s - 1))) * WIDTH * job->bytes;
        if (l >= s) job->steps->pairs(kept, part, lists->parts, lists->count);
        memcpy(kept, part, all);
        if (l >= s) memcpy(part, lists->parts, all);
    }
}

/* Combines each list's part with the prefix in `before`, if `has`. */
static void join_lists(const axis_job *job, const axis_lists *lists, bool has, const unsigned char *before,
                       unsigned char *part) {
    if (!has) return;
    job->steps->pairs(before, part, lists->parts, lists->count);
    memcpy(part, lists->parts, lists->count * job->bytes);
}

/* Turns the scanned cells of the rows from item k on into inclusive prefixes. lists->row has the
 * rows' exclusive prefixes; lists->whole gets their inclusive ones. */
static void join_rows(const axis_job *job, const axis_lists *lists, uint64_t k) {
    const uint64_t bytes = job->bytes, all = lists->count * bytes;
    const uint32_t row = (uint32_t)(k / ROW_ITEMS % WIDTH), tile = (uint32_t)(k / TALLY_TILE_ITEMS % WIDTH);
    for (uint32_t s = 0; s < lists->count; s++)
        memcpy(lists->whole + s * bytes, lists->ends + ((s + 1) * WIDTH - 1) * bytes, bytes);
    take_part(job, lists, lists->row_levels, row, lists->whole);
    if (row < WIDTH - 1) {
        join_lists(job, lists, k >= TALLY_TILE_ITEMS, lists->tile, lists->whole);
    } else {
        take_part(job, lists, lists->tile_levels, tile, lists->whole);
        join_lists(job, lists, k >= TALLY_SCAN_BLOCK, lists->block, lists->whole);
        memcpy(lists->tile, lists->whole, all);
        if (tile == WIDTH - 1) memcpy(lists->block, lists->whole, all);
    }
    for (uint32_t s = 0; s < lists->count; s++) {
        unsigned char *ends = lists->ends + s * WIDTH * bytes;
        if (k) job->steps->join(lists->row + s * bytes, ends, WIDTH);
        memcpy(ends + (WIDTH - 1) * bytes, lists->whole + s * bytes, bytes);
    }
}

/* ---- results --------------------------------------------------------------------------------- */

/* Writes the result of item j of each cell. It is that of the cell's exclusive prefix and the first
 * `items` items of the cell. */
static void write_items(const axis_job *job, const axis_lists *lists, uint64_t k, uint32_t j, uint32_t items, uint32_t cells) {
    const tally_host_scan *steps = job->steps;
    const uint64_t bytes = job->bytes, width = job->width, count = lists->count * width;
    const unsigned char *own = items ? lists->cells + (items - 1) * CELLS * bytes : NULL;
    const unsigned char *whole = items == CELL ? lists->ends : items ? lists->parts : lists->before;
    if (whole == lists->parts) {
        steps->pairs(lists->before, own, lists->parts, (uint32_t)count);
        for (uint64_t c = 0; c < count && !k; c += width) memcpy(lists->parts + c * bytes, own + c * bytes, bytes);
    }
    if (job->initial) {
        _Alignas(64) unsigned char initial[TALLY_HOST_ACC_BYTES];
        if (whole != lists->parts) memcpy(lists->parts, whole, count * bytes);
        steps->load(job->initial, 0, 0, 1, job->params, initial);
        steps->join(initial, lists->parts, (uint32_t)count);
        whole = lists->parts;
    }
    for (uint32_t s = 0; s < lists->count; s++)
        steps->finish(whole + s * width * bytes, CELL, k + items, cells, job->initial != NULL, job->params,
                      lists->results + (s * width * CELL + j) * job->program->result_bytes);
}

/* Writes the first result of each list in an exclusive scan: nothing is before it. */
static void write_firsts(const axis_job *job, const axis_lists *lists) {
    const uint64_t step = job->width * (uint64_t)CELL * job->program->result_bytes;
    _Alignas(64) unsigned char initial[TALLY_HOST_ACC_BYTES];
    if (job->initial) job->steps->load(job->initial, 0, 0, 1, job->params, initial);
    for (uint32_t s = 0; s < lists->count; s++)
        job->program->finish(initial, job->initial != NULL, job->params, lists->results + s * step);
}

static void write_results(const axis_job *job, const axis_lists *lists, uint64_t k, uint64_t items) {
    const bool exclusive = job->flags & TALLY_SCAN_IS_EXCLUSIVE;
    const uint64_t bytes = job->bytes, width = job->width;
    for (uint32_t s = 0; s < lists->count; s++) {
        unsigned char *before = lists->before + s * width * bytes;
        const unsigned char *ends = lists->ends + s * width * bytes;
        memcpy(before, k ? lists->row + s * bytes : ends, bytes); /* nothing is before item 0: any value */
        memcpy(before + bytes, ends, (width - 1) * bytes);
    }
    for (uint32_t j = 0; j < CELL; j++)
        write_items(job, lists, k, j, exclusive ? j : j + 1, (uint32_t)tally_ceil_div(items, CELL));
    if (exclusive && !k) write_firsts(job, lists);
    copy_items(job, lists, k, items, true);
}

/* ---- the kernel ------------------------------------------------------------------------------ */

static void scan_group(void *opaque, uint64_t group, uint32_t worker) {
    const axis_job *job = opaque;
    const uint64_t first = group * job->lists, left = job->shape.count - first, step = job->width * (uint64_t)CELL;
    axis_lists lists = {.count = (uint32_t)(left < job->lists ? left : job->lists)};
    lay_out(job->program, job->scratch + worker * thread_bytes(job->program), &lists);
    find_lists(job, first, &lists);
    for (uint64_t k = 0; k < job->shape.n; k += step) {
        const uint64_t items = job->shape.n - k < step ? job->shape.n - k : step;
        fold_cells(job, &lists, k, items);
        scan_cells(job, &lists);
        if (job->width == WIDTH) join_rows(job, &lists, k);
        write_results(job, &lists, k, items);
        if (job->width == WIDTH) memcpy(lists.row, lists.whole, lists.count * job->bytes);
    }
}

static void run_scan_axis(host_kernel *kernel, uint64_t groups, const tally_arg *args) {
    (void)groups;
    const tally_host_program *program = kernel->program;
    const unsigned flags = TALLY_HOST_SCAN_FLAGS(kernel->form);
    axis_job job = {.program = program,
                    .steps = &program->scan,
                    .bytes = program->acc_bytes,
                    .flags = flags,
                    .in = host_bytes(&args[TALLY_AXIS_ARG_IN]) +
                          HOST_VALUE(uint64_t, args[TALLY_AXIS_ARG_IN_OFFSET]) * program->item_bytes,
                    .out = host_bytes(&args[TALLY_AXIS_ARG_OUT]) +
                           HOST_VALUE(uint64_t, args[TALLY_AXIS_ARG_OUT_OFFSET]) * program->result_bytes,
                    .params = args[TALLY_AXIS_ARG_PARAMS].value,
                    .initial = flags & TALLY_SCAN_HAS_INITIAL ? args[TALLY_AXIS_ARG_INITIAL].value : NULL,
                    .width = HOST_VALUE(uint32_t, args[TALLY_AXIS_ARG_TEAM]),
                    .scratch = kernel->scratch};
    host_read_shape(args[TALLY_AXIS_ARG_SHAPE].value, 1, &job.shape);
    job.shape.count = HOST_VALUE(uint64_t, args[TALLY_AXIS_ARG_COUNT]);
    while (job.width < WIDTH && job.width * CELL < job.shape.n) job.width *= 2;
    /* Groups are small enough to keep all threads busy. */
    const uint64_t busy = tally_ceil_div(job.shape.count, 4 * (uint64_t)kernel->threads);
    job.lists = CELLS / job.width;
    if (busy < job.lists) job.lists = (uint32_t)busy;
    tally_pool_run(kernel->threads, tally_ceil_div(job.shape.count, job.lists), scan_group, &job);
}

tally_status host_scan_axis_entry(host_kernel *kernel, const char *entry) {
    if (strcmp(entry, "tally_scan_axis_lists") && strcmp(entry, "tally_scan_axis_rows"))
        return tally_fail(TALLY_E_INTERNAL, "no kernel '%s'", entry);
    kernel->run = run_scan_axis;
    kernel->args = TALLY_AXIS_ARGS;
    kernel->scratch = aligned_alloc(64, kernel->threads * thread_bytes(kernel->program));
    return kernel->scratch ? TALLY_OK : tally_fail(TALLY_E_MEMORY, "out of memory");
}
