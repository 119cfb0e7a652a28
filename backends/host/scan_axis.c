/* SPDX-License-Identifier: MIT */
/*
 * Scans along an axis, in scan order v1 (kernels/scanning.h): the kernels tally_scan_axis_lists and
 * tally_scan_axis_rows, which do the same here.
 *
 * A group has neighbouring lists, in batches of 8, and goes along them by rows of 128 items. It
 * gathers a row of each list, scans the cells of all these rows together, and turns them into
 * inclusive prefixes. The rows of a tile come one after the other, and so do the tiles of a
 * block. So step s of Kogge and Stone's scan finds part l - s among the last s parts, which each
 * step keeps as the step before it left them.
 * Lists of up to 64 items have only the cells that they need, so that many of them make a row.
 */
#include <stdlib.h>
#include <string.h>

#include "gather.h"
#include "base/pool.h"
#include "scan/scan.h"
#include "scan_steps.h"

#define WIDTH TALLY_SCAN_WIDTH
#define CELL TALLY_CELL_ITEMS
#define ROWS HOST_BATCH_ROWS
#define BATCHES 4 /* of a group */
#define MOST_LISTS (BATCHES * TALLY_HOST_CELLS)

typedef struct axis_job {
    const tally_host_program *program;
    host_places places;
    unsigned flags; /* TALLY_SCAN_ */
    const unsigned char *in;
    unsigned char *out;
    const void *params, *initial;
    tally_array_shape shape;     /* axis[0] is scanned */
    uint32_t lists, batch_lists; /* of a group, of a batch */
    unsigned char *scratch;
} axis_job;

/* A batch of lists. Columns of `state` have a part of each list: exclusive prefixes, and room.
 * Columns of the levels have the parts that steps of a scan keep. They are of use where a list is a
 * row. */
typedef struct axis_batch {
    host_batch cells;
    host_parts state, row_levels, tile_levels;
} axis_batch;
enum { OF_ROW, OF_TILE, OF_BLOCK, SPARE, WHOLE }; /* a step writes what follows WHOLE too */

/* A group's lists, and a thread's scratch. */
typedef struct axis_lists {
    host_steps steps;
    uint32_t count;
    int64_t *in, *out; /* in bytes: the places of the lists' indices 0 */
    unsigned char *items, *results, *first;
    unsigned char *arrays; /* the results of a batch */
    host_parts before;     /* what is before the cells of a batch, where a list is a row */
    axis_batch batches[BATCHES];
} axis_lists;

/* ---- scratch --------------------------------------------------------------------------------- */

/* Lays a thread's scratch out from `at` on. Returns its end. */
static unsigned char *lay_out(const tally_host_program *p, unsigned char *at, axis_lists *lists) {
    lists->steps = tally_host_steps_take(p, false, &at);
    lists->in = (int64_t *)(void *)tally_host_take(&at, MOST_LISTS * sizeof(int64_t));
    lists->out = (int64_t *)(void *)tally_host_take(&at, MOST_LISTS * sizeof(int64_t));
    lists->items = tally_host_take(&at, BATCHES * HOST_BATCH_ITEMS * (uint64_t)p->item_bytes);
    lists->results = tally_host_take(&at, BATCHES * HOST_BATCH_ITEMS * (uint64_t)p->result_bytes);
    lists->arrays = tally_host_arrays_take(p, &at);
    lists->first = tally_host_take(&at, p->result_bytes);
    lists->before = tally_host_parts_take(&lists->steps, &at);
    for (uint32_t b = 0; b < BATCHES; b++) {
        axis_batch *batch = &lists->batches[b];
        batch->cells = tally_host_batch_take(&lists->steps, &at);
        batch->state = tally_host_parts_take(&lists->steps, &at);
        batch->row_levels = tally_host_parts_take(&lists->steps, &at);
        batch->tile_levels = tally_host_parts_take(&lists->steps, &at);
    }
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
 * side, from item s * pitch on. */
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
                         .pitch = job->places.width * (uint64_t)CELL,
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

static host_parts column(host_parts parts, uint32_t i) {
    return host_parts_from(parts, i * ROWS);
}

static void copy_column(const host_steps *steps, host_parts to, host_parts from) {
    tally_host_parts_copy(steps, to, from, ROWS);
}

/* Turns part l of each list, in `part`, into the combination of parts 0 to l. `levels` keeps the
 * parts that later ones need. */
static void take_part(const host_steps *steps, host_parts spare, host_parts levels, uint32_t l, host_parts part) {
    for (uint32_t s = 1; s < WIDTH; s *= 2) {
        const host_parts kept = column(levels, s - 1 + (l & (s - 1)));
        copy_column(steps, spare, part);
        if (l >= s) tally_host_parts_pairs(steps, kept, part, ROWS);
        copy_column(steps, kept, spare);
    }
}

/* Turns the scanned cells of the rows from item k on into inclusive prefixes, writes those before
 * the cells, and turns the state into that before the next rows. */
static void join_rows(const host_steps *steps, axis_batch *batch, uint64_t k, uint32_t lists, host_parts before) {
    const host_parts ends = batch->cells.ends, last = host_parts_from(ends, WIDTH - 1), state = batch->state;
    const host_parts whole = column(state, WHOLE), spare = column(state, SPARE), of_row = column(state, OF_ROW);
    const uint32_t row = (uint32_t)(k / HOST_ROW_ITEMS % WIDTH), tile = (uint32_t)(k / TALLY_TILE_ITEMS % WIDTH);
    tally_host_parts_copy_apart(steps, whole, 1, last, WIDTH, ROWS);
    take_part(steps, spare, batch->row_levels, row, whole);
    if (row < WIDTH - 1) {
        if (k >= TALLY_TILE_ITEMS) tally_host_parts_pairs(steps, column(state, OF_TILE), whole, ROWS);
    } else {
        take_part(steps, spare, batch->tile_levels, tile, whole);
        if (k >= TALLY_SCAN_BLOCK) tally_host_parts_pairs(steps, column(state, OF_BLOCK), whole, ROWS);
        copy_column(steps, column(state, OF_TILE), whole);
        if (tile == WIDTH - 1) copy_column(steps, column(state, OF_BLOCK), whole);
    }
    tally_host_batch_meet(steps, whole, lists, &batch->cells);
    const host_steps *own = batch->cells.steps;
    if (k)
        tally_host_parts_join(own, of_row, 1, ends, TALLY_HOST_CELLS);
    else
        copy_column(steps, of_row, whole); /* any value */
    tally_host_parts_copy_apart(own, last, WIDTH, whole, 1, ROWS);
    tally_host_parts_copy(own, before, host_parts_from(ends, -1), TALLY_HOST_CELLS);
    tally_host_parts_copy_apart(own, before, WIDTH, of_row, 1, ROWS);
    copy_column(steps, of_row, whole);
}

/* Scans the items from item k on: as many of each list as its cells have, but `items` at most. */
static void scan_items(const axis_job *job, axis_lists *lists, uint64_t k, uint64_t items) {
    const tally_host_program *p = job->program;
    const host_steps *steps = &lists->steps;
    const bool reverse = job->flags & TALLY_SCAN_IS_REVERSE, exclusive = job->flags & TALLY_SCAN_IS_EXCLUSIVE;
    const uint32_t width = job->places.width;
    const uint64_t index = reverse ? job->shape.n - 1 - k : k, pitch = width * (uint64_t)CELL;
    copy_items(job, lists, k, items, false);
    /* Items beyond the last are zeros: no result that is stored depends on them. */
    for (uint32_t s = 0; s < lists->count && items < pitch; s++)
        memset(lists->items + (s * pitch + items) * p->item_bytes, 0, (pitch - items) * p->item_bytes);
    for (uint32_t b = 0; b * job->batch_lists < lists->count; b++) {
        axis_batch *batch = &lists->batches[b];
        const uint32_t left = lists->count - b * job->batch_lists;
        const uint32_t cells = (left < job->batch_lists ? left : job->batch_lists) * width;
        tally_host_batch_fold(steps, lists->items + b * HOST_BATCH_ITEMS * (uint64_t)p->item_bytes, NULL, index, cells,
                              &batch->cells);
        const host_parts before = width == WIDTH ? lists->before : host_parts_from(batch->cells.ends, -1);
        if (width == WIDTH) join_rows(steps, batch, k, cells / width, before);
        tally_host_batch_prefix(before, cells, k ? 0 : cells / width, &batch->cells);
        tally_host_batch_finish(exclusive ? &before : NULL, k, cells, &batch->cells, lists->arrays);
        tally_host_arrays_join(steps, lists->arrays, cells, lists->results + b * HOST_BATCH_ITEMS * (uint64_t)p->result_bytes);
    }
    for (uint32_t s = 0; s < lists->count && exclusive && !k; s++)
        memcpy(lists->results + s * pitch * p->result_bytes, lists->first, p->result_bytes);
    copy_items(job, lists, k, items, true);
}

/* ---- the kernel ------------------------------------------------------------------------------ */

static void scan_group(void *opaque, uint64_t group, uint32_t worker) {
    const axis_job *job = opaque;
    const uint64_t first = group * job->lists, left = job->shape.count - first, step = job->places.width * (uint64_t)CELL;
    axis_lists lists;
    lay_out(job->program, job->scratch + worker * thread_bytes(job->program), &lists);
    lists.count = (uint32_t)(left < job->lists ? left : job->lists);
    tally_host_steps_begin(&lists.steps, &job->places, job->params, job->initial);
    tally_host_steps_first(&lists.steps, lists.first);
    find_lists(job, first, &lists);
    for (uint64_t k = 0; k < job->shape.n; k += step)
        scan_items(job, &lists, k, job->shape.n - k < step ? job->shape.n - k : step);
}

static void run_scan_axis(host_kernel *kernel, uint64_t groups, const tally_arg *args) {
    (void)groups;
    const tally_host_program *program = kernel->program;
    const unsigned flags = TALLY_HOST_SCAN_FLAGS(kernel->form);
    axis_job job = {
        .program = program,
        .flags = flags,
        .in = host_bytes(&args[TALLY_AXIS_ARG_IN]) + HOST_VALUE(uint64_t, args[TALLY_AXIS_ARG_IN_OFFSET]) * program->item_bytes,
        .out = host_bytes(&args[TALLY_AXIS_ARG_OUT]) +
               HOST_VALUE(uint64_t, args[TALLY_AXIS_ARG_OUT_OFFSET]) * program->result_bytes,
        .params = args[TALLY_AXIS_ARG_PARAMS].value,
        .initial = flags & TALLY_SCAN_HAS_INITIAL ? args[TALLY_AXIS_ARG_INITIAL].value : NULL,
        .places = {.step = flags & TALLY_SCAN_IS_REVERSE ? -1 : 1, .width = HOST_VALUE(uint32_t, args[TALLY_AXIS_ARG_TEAM])},
        .scratch = kernel->scratch};
    tally_host_read_shape(args[TALLY_AXIS_ARG_SHAPE].value, 1, &job.shape);
    job.shape.count = HOST_VALUE(uint64_t, args[TALLY_AXIS_ARG_COUNT]);
    while (job.places.width < WIDTH && job.places.width * CELL < job.shape.n) job.places.width *= 2;
    tally_host_places_fill(&job.places);
    job.batch_lists = TALLY_HOST_CELLS / job.places.width;
    /* Groups are small enough to keep all threads busy, but have 8 lists if a thread may. */
    uint64_t busy = tally_ceil_div(job.shape.count, 4 * (uint64_t)kernel->threads);
    const uint64_t most = tally_ceil_div(job.shape.count, kernel->threads);
    if (busy < ROWS) busy = most < ROWS ? most : ROWS;
    job.lists = BATCHES * job.batch_lists;
    if (busy < job.lists) job.lists = (uint32_t)busy;
    tally_pool_run(kernel->threads, tally_ceil_div(job.shape.count, job.lists), scan_group, &job);
}

tally_status tally_host_scan_axis_entry(host_kernel *kernel, const char *entry) {
    if (strcmp(entry, "tally_scan_axis_lists") && strcmp(entry, "tally_scan_axis_rows"))
        return tally_fail(TALLY_E_INTERNAL, "no kernel '%s'", entry);
    kernel->run = run_scan_axis;
    kernel->args = TALLY_AXIS_ARGS;
    const uint64_t bytes = kernel->threads * thread_bytes(kernel->program);
    kernel->scratch = aligned_alloc(64, bytes);
    if (!kernel->scratch) return tally_fail(TALLY_E_MEMORY, "out of memory");
    if (kernel->program->plain) memset(kernel->scratch, 0, bytes); /* host_mark */
    return TALLY_OK;
}
