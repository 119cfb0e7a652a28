/* SPDX-License-Identifier: MIT */
/*
 * Segments by axes: the kernels tally_segments_teams, _threads, _fold and _fold_each. The argument
 * TEAM is ignored, since the shape decides how a chunk is taken. A unit of work is a chunk of a
 * block of neighbouring segments. There are four kinds of blocks:
 *
 * - alone: segments that are folded one after another. A chunk is copied if its items are no
 *   neighbours in memory.
 * - columns: as many segments as the scratch has room for. Rows of memory are read in order and
 *   transposed, and each segment is folded as if it were alone. With a mask short segments are
 *   copied too, and several are folded together.
 * - direct: 128 segments or more that are neighbours in memory, lane by lane (fold_block).
 * - transposed: short segments, some at a time, for fold_block.
 */
#include <string.h>

#include "base/pool.h"
#include "segments.h"

typedef enum axes_way { ALONE, COLUMNS, DIRECT, TRANSPOSED } axes_way;

typedef struct axes_job {
    const segments_job *job;
    axes_way way;
    uint64_t extent;      /* of the axis that a block lies in */
    uint64_t block;       /* segments of a block */
    uint64_t columns;     /* that are transposed at once */
    uint64_t pitch;       /* items from one of them to the next in the scratch */
    uint64_t turned;      /* TRANSPOSED: segments that are transposed together */
    uint32_t group;       /* lanes that are folded together */
    uint64_t row, blocks; /* the launch's first row of `extent` segments, and the blocks of a row */
    uint64_t units;       /* blocks of the launch */
    uint64_t span, run;   /* units and chunks of a group */
} axes_job;

static uint64_t least(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

host_segment tally_host_segment_by_axes(const segments_job *job, uint64_t s) {
    const tally_array_shape *shape = &job->shape;
    host_segment segment = {.where = job->where, .out = 0};
    int64_t steps[TALLY_MAX_INPUTS] = {0}, where = 0;
    for (uint32_t a = shape->reduced + shape->kept; a-- > shape->reduced;) {
        const tally_shape_axis *axis = &shape->axis[a];
        const uint64_t rest = a > shape->reduced ? s / axis->extent : 0;
        const int64_t i = (int64_t)(s - rest * axis->extent);
        for (uint32_t k = 0; k < job->inputs; k++) steps[k] += i * axis->in[k];
        where += i * axis->where;
        segment.out += i * axis->out;
        s = rest;
    }
    for (uint32_t k = 0; k < job->inputs; k++) segment.in[k] = job->in[k] + steps[k] * (int64_t)job->item_bytes;
    if (job->where) segment.where = job->where + where;
    return segment;
}

/* ---- a chunk of a block ---------------------------------------------------------------------- */

/* A unit: `count` segments from segment s on, and their items [index, index + n). */
typedef struct axes_unit {
    uint64_t s, count, index, n, leaf; /* leaf: the chunk's number in the launch */
    uint64_t left;                     /* segments from s on to the end of the row */
    host_segment first;
    host_scratch scratch;
} axes_unit;

/* Stores op p's part of the unit's segment i. */
static void store(const segments_job *job, const axes_unit *unit, uint32_t p, uint64_t i, uint64_t n, unsigned char *acc) {
    const tally_array_shape *shape = &job->shape;
    const int64_t out = shape->axis[shape->reduced + shape->kept - 1].out;
    if (job->last)
        tally_host_put_result(job, p, acc, n, unit->first.out + (int64_t)i * out);
    else
        tally_host_put_partial(job, p, acc, n, (unit->s + i - job->first) * job->leaves + unit->leaf);
}

static void fold_segment(const segments_job *job, const axes_unit *unit, uint64_t i, const unsigned char *const *items,
                         const uint8_t *mask) {
    _Alignas(64) unsigned char acc[TALLY_HOST_ACC_BYTES];
    for (uint32_t p = 0; p < job->of->part_count; p++) {
        const uint64_t n = tally_host_fold_chunk(job, p, items, mask, unit->index, unit->n, &unit->scratch, acc);
        store(job, unit, p, i, n, acc);
    }
}

/* Returns a segment's chunk in one input, copied if it must be. */
static const unsigned char *chunk_of(const host_walk *walk, const unsigned char *from, const axes_unit *unit,
                                     unsigned char *scratch) {
    const unsigned char *at = tally_host_neighbours(walk, from, unit->index, unit->n);
    if (at) return at;
    tally_host_gather(walk, from, unit->index, unit->n, 1, scratch, 0, 1);
    return scratch;
}

static void fold_alone(const segments_job *job, const axes_unit *unit) {
    const host_walk *where = &job->where_walk;
    for (uint64_t i = 0; i < unit->count; i++) {
        const unsigned char *items[TALLY_MAX_INPUTS], *mask = NULL;
        for (uint32_t k = 0; k < job->inputs; k++) {
            const host_walk *walk = &job->walk[k];
            items[k] = chunk_of(walk, unit->first.in[k] + (int64_t)i * walk->across, unit, unit->scratch.items[k]);
        }
        if (job->where) mask = chunk_of(where, unit->first.where + (int64_t)i * where->across, unit, unit->scratch.where);
        fold_segment(job, unit, i, items, mask);
    }
}

/* Returns the lanes of a masked segment of n items. */
static uint32_t width_of(uint64_t n) {
    uint32_t width = TALLY_HOST_GROUP;
    while (width < TALLY_LANES && width < n) width *= 2;
    return width;
}

/* Returns how many masked segments of n items are folded at once. */
static uint32_t most_at_once(uint64_t n) {
    return (uint32_t)least(TALLY_LANES / width_of(n), TALLY_HOST_MASKED);
}

/* Folds masked segments of the scratch from segment `begin` on, as many as are folded at once. */
static void fold_masked(const axes_job *axes, const axes_unit *unit, uint64_t begin) {
    const segments_job *job = axes->job;
    const uint32_t n = (uint32_t)unit->n;
    tally_host_masked masked = {.index = unit->index,
                                .segments = (uint32_t)least(most_at_once(n), unit->count - begin),
                                .pitch = (uint32_t)axes->pitch};
    _Alignas(64) unsigned char accs[TALLY_HOST_MASKED * TALLY_HOST_ACC_BYTES];
    for (uint32_t k = 0; k < job->inputs; k++) masked.items[k] = unit->scratch.items[k] + begin * axes->pitch * job->item_bytes;
    for (uint32_t i = 0; i < masked.segments; i++) {
        uint32_t *mask = unit->scratch.mask + i * width_of(n);
        masked.n[i] = n;
        masked.has[i] = job->shared->widen_mask(unit->scratch.where + (begin + i) * axes->pitch, n, mask);
        masked.mask[i] = mask;
    }
    for (uint32_t p = 0; p < job->of->part_count; p++) {
        const tally_host_program *program = job->of->parts[p].program;
        program->fold_masked(&masked, job->params + job->of->parts[p].param_offset, accs);
        for (uint32_t i = 0; i < masked.segments; i++)
            store(job, unit, p, begin + i, masked.has[i], accs + i * program->acc_bytes);
    }
}

static void fold_column(const axes_job *axes, const axes_unit *unit, uint64_t i) {
    const segments_job *job = axes->job;
    const unsigned char *items[TALLY_MAX_INPUTS];
    for (uint32_t k = 0; k < job->inputs; k++) items[k] = unit->scratch.items[k] + i * axes->pitch * job->item_bytes;
    fold_segment(job, unit, i, items, NULL);
}

static void fold_columns(const axes_job *axes, axes_unit unit) {
    const segments_job *job = axes->job;
    const uint64_t pitch = axes->pitch, end = unit.s + unit.count;
    for (; unit.s < end; unit.s += unit.count) {
        unit.count = least(axes->columns, end - unit.s);
        unit.first = tally_host_segment_by_axes(job, unit.s);
        for (uint32_t k = 0; k < job->inputs; k++)
            tally_host_gather(&job->walk[k], unit.first.in[k], unit.index, unit.n, unit.count, unit.scratch.items[k], pitch, 1);
        if (job->where)
            tally_host_gather(&job->where_walk, unit.first.where, unit.index, unit.n, unit.count, unit.scratch.where, pitch, 1);
        if (job->where)
            for (uint64_t i = 0; i < unit.count; i += most_at_once(unit.n)) fold_masked(axes, &unit, i);
        else
            for (uint64_t i = 0; i < unit.count; i++) fold_column(axes, &unit, i);
    }
}

/* Stores op p's parts of the unit's segments, whose accumulators follow each other. */
static void store_block(const segments_job *job, const axes_unit *unit, uint32_t p, uint64_t skipped) {
    const host_part *part = &job->of->parts[p];
    const uint64_t bytes = part->program->result_bytes;
    const int64_t step = job->shape.axis[job->shape.reduced + job->shape.kept - 1].out;
    const bool has_gaps = job->of->part_count > 1 && !job->of->segments.apart;
    if (!job->last || job->initial || has_gaps) {
        for (uint64_t i = 0; i < unit->count; i++)
            store(job, unit, p, i, unit->n, unit->scratch.accs + (skipped + i) * part->program->acc_bytes);
        return;
    }
    part->program->finish_block(unit->scratch.accs, unit->n, skipped + unit->count, job->params + part->param_offset,
                                unit->scratch.results);
    const unsigned char *results = unit->scratch.results + skipped * bytes;
    if (step == 1)
        memcpy(tally_host_result_at(job, p, unit->first.out), results, unit->count * bytes);
    else
        for (uint64_t i = 0; i < unit->count; i++)
            memcpy(tally_host_result_at(job, p, unit->first.out + (int64_t)i * step), results + i * bytes, bytes);
}

/* Most bytes of a row's piece that are prefetched. The processor itself finds the next lines of
 * longer pieces in time, and the next rows of whole ones. us of the sum and the argmax along 3,000
 * rows of 2,000 f32, without and with it: 806, 499 and 2,067, 754. */
#define PIECE_BYTES 8192

/* Folds segments, `width` of them, of which the unit's are those from `skipped` on. Item j of
 * segment s is items[k][j * steps[k] + s]. */
static void fold_block(const axes_job *axes, const axes_unit *unit, const void *const *items, const int64_t *steps,
                       uint64_t skipped, uint64_t width, bool is_far) {
    const segments_job *job = axes->job;
    for (uint32_t p = 0; p < job->of->part_count; p++) {
        const host_part *part = &job->of->parts[p];
        part->program->fold_block(items, steps, job->params + part->param_offset, unit->index, unit->n, width, axes->group,
                                  is_far && p == 0, unit->scratch.lanes, unit->scratch.accs);
        store_block(job, unit, p, skipped);
    }
}

/* Folds the unit's segments where they lie, 128 or more with those that are skipped. */
static void fold_direct(const axes_job *axes, const axes_unit *unit, uint64_t skipped) {
    const segments_job *job = axes->job;
    const uint64_t width = skipped + unit->count > TALLY_LANES ? skipped + unit->count : TALLY_LANES;
    const void *items[TALLY_MAX_INPUTS];
    int64_t steps[TALLY_MAX_INPUTS];
    for (uint32_t k = 0; k < job->inputs; k++) {
        const host_walk *walk = &job->walk[k];
        items[k] = unit->first.in[k] + (int64_t)unit->index * walk->step[0] - skipped * walk->bytes;
        steps[k] = walk->step[0] / (int64_t)walk->bytes;
    }
    fold_block(axes, unit, items, steps, skipped, width,
               job->is_far && axes->block < axes->extent && width * job->item_bytes <= PIECE_BYTES);
}

/* Transposes the unit's segments, some at a time, and folds them. */
static void fold_transposed(const axes_job *axes, axes_unit unit) {
    const segments_job *job = axes->job;
    const uint64_t end = unit.s + unit.count, pitch = axes->turned + 64 / job->item_bytes; /* no power of two */
    const int64_t out = job->shape.axis[job->shape.reduced + job->shape.kept - 1].out;
    const void *items[TALLY_MAX_INPUTS];
    int64_t steps[TALLY_MAX_INPUTS];
    for (; unit.s < end; unit.s += unit.count, unit.first.out += (int64_t)unit.count * out) {
        unit.count = least(axes->turned, end - unit.s);
        for (uint32_t k = 0; k < job->inputs; k++) {
            const host_walk *walk = &job->walk[k];
            unsigned char *to = unit.scratch.items[k];
            tally_host_gather(walk, unit.first.in[k], unit.index, unit.n, unit.count, to, 1, pitch);
            for (uint64_t j = 0; j < unit.n && unit.count < TALLY_LANES; j++)
                memset(to + (j * pitch + unit.count) * walk->bytes, 0, (TALLY_LANES - unit.count) * walk->bytes);
            items[k] = to;
            steps[k] = (int64_t)pitch;
            unit.first.in[k] += (int64_t)unit.count * walk->across;
        }
        fold_block(axes, &unit, items, steps, 0, unit.count < TALLY_LANES ? TALLY_LANES : unit.count, false);
    }
}

/* ---- groups ---------------------------------------------------------------------------------- */

/* Returns the number of segments before the unit's that a direct block begins with. `left` segments
 * are left in the row. A block that would go beyond the row begins earlier, and ends with the
 * row. */
static uint64_t skipped_of(const axes_job *axes, uint64_t left) {
    return axes->extent >= TALLY_LANES && left < TALLY_LANES ? TALLY_LANES - left : 0;
}

/* Tells whether a direct block reads only memory of the array. A row of the array may be shorter
 * than the block. The block then reads items of the rows that follow as well. */
static bool has_window(const axes_job *axes, const axes_unit *unit) {
    const segments_job *job = axes->job;
    bool has = true;
    if (axes->extent >= TALLY_LANES) return true;
    for (uint32_t k = 0; k < job->inputs; k++) {
        const int64_t step = job->walk[k].step[0] / (int64_t)job->item_bytes;
        has = has && step > 0 && (uint64_t)step * (job->shape.n - unit->index - unit->n) + unit->left >= TALLY_LANES;
    }
    return has;
}

static void fold_unit(const axes_job *axes, uint64_t u, uint64_t leaf, const host_scratch *scratch) {
    const segments_job *job = axes->job;
    const uint64_t row = (axes->row + u / axes->blocks) * axes->extent, begin = u % axes->blocks * axes->block;
    const uint64_t end = axes->extent - begin < axes->block ? axes->extent : begin + axes->block;
    const uint64_t from = row + begin > job->first ? row + begin : job->first;
    const uint64_t to = row + end < job->first + job->count ? row + end : job->first + job->count;
    if (from >= to) return;
    axes_unit unit = {.s = from,
                      .count = to - from,
                      .left = row + axes->extent - from,
                      .index = (job->leaf + leaf) * CHUNK,
                      .leaf = leaf,
                      .first = tally_host_segment_by_axes(job, from),
                      .scratch = *scratch};
    unit.n = job->shape.n - unit.index < CHUNK ? job->shape.n - unit.index : CHUNK;
    if (axes->way == ALONE)
        fold_alone(job, &unit);
    else if (axes->way == TRANSPOSED)
        fold_transposed(axes, unit);
    else if (axes->way == DIRECT && has_window(axes, &unit))
        fold_direct(axes, &unit, skipped_of(axes, unit.left));
    else
        fold_columns(axes, unit);
}

static void fold_group(void *opaque, uint64_t group, uint32_t worker) {
    const axes_job *axes = opaque;
    const uint64_t runs = tally_ceil_div(axes->job->leaves, axes->run), leaf = group % runs * axes->run;
    const host_scratch scratch = tally_host_scratch_of(axes->job, worker);
    for (uint64_t u = group / runs * axes->span; u < axes->units && u < (group / runs + 1) * axes->span; u++)
        for (uint64_t k = leaf; k < axes->job->leaves && k < leaf + axes->run; k++) fold_unit(axes, u, k, &scratch);
}

/* ---- the way --------------------------------------------------------------------------------- */

/* Items of a group. It takes some microseconds, as much as handing it to a thread costs. Where
 * there are many, a group is larger: a thread then reads memory in order for longer. ms of the sum
 * of 2^26 f32 along rows, two cores of an EPYC (Zen 4), November 2026, groups of 32,768 and of
 * 131,072 items: rows of 8,192 11.9, 9.5, of 1,000 8.8, 6.4, of 333 9.1, 8.0. */
#define GROUP_ITEMS 32768
#define LARGE_GROUP_ITEMS 131072
/* Segments of fewer items than lanes, and of fewer bytes than this, are transposed for fold_block
 * if there are enough of them. GB/s of rows, two cores of an EPYC (Zen 5), November 2026, folded
 * alone and transposed: 50 f32, sum 15, 30, argmax 5, 23, var 8, 23; 100 f32, sum 27, 29, argmax
 * 15, 23; 100 i8, sum 7, 28; 50 f64, sum 25, 29, max 42, 26, var 11, 22. */
#define SHORT_BYTES 512
#define LEAST_BLOCK 32
/* Segments side by side that make a direct block of 128: this many and more, of more bytes than
 * this. Fewer are transposed. The vectors of the lanes that are computed for nothing may cost more
 * than that. GB/s of columns, two cores of an EPYC (Zen 5), November 2026, direct and transposed:
 * 31 columns of f32, sum 28, 32, var 19, 36, logsumexp 6, 21; 40 of f32, sum 31, 20, var 23, 19. */
#define NARROW 32
#define NARROW_BYTES 128

static uint64_t group_items(const segments_job *job) {
    const uint64_t share = job->count * job->shape.n / (8 * (uint64_t)job->threads);
    return share < GROUP_ITEMS ? GROUP_ITEMS : least(share, LARGE_GROUP_ITEMS);
}

/* Chooses how the columns of a row are cut into pieces, which are as large as each other. */
static void choose_columns(axes_job *axes) {
    const uint64_t n = least(axes->job->shape.n, CHUNK), item = axes->job->item_bytes, line = 64 / item;
    axes->pitch = tally_ceil_div(n, line) * line + line; /* lines of one item of each column lie apart */
    uint64_t most = GATHER_BYTES / item / axes->pitch;
    if (most > TALLY_LANES) most = TALLY_LANES;
    if (most > line) most -= most % line;
    axes->columns = tally_ceil_div(axes->extent, tally_ceil_div(axes->extent, most));
}

/* Returns the bytes that fold_block keeps: the accumulators of a group, and of one for each
 * level of the tree above groups, and pivots. */
static uint64_t kept_bytes(uint64_t bytes, uint32_t group) {
    uint64_t groups = 1;
    for (uint32_t lanes = group; lanes < TALLY_LANES; lanes *= 2) groups++;
    return (groups * group + 1) * bytes;
}

/* Returns the fewest pieces of a row, `least_pieces` or more, that keep all threads busy: 4 blocks
 * for each, or as many for each that are alike. GB/s of the sum along the first axis of
 * (8192, 8192) f32, two cores of an EPYC (Zen 5), November 2026, in 1, 2 and 4 pieces: 39, 28, 27.
 */
static uint64_t pieces_of(const segments_job *job, uint64_t rows, uint64_t least_pieces) {
    const uint64_t chunks = rows * job->leaves, enough = 4 * (uint64_t)job->threads;
    uint64_t pieces = least_pieces;
    while (pieces * chunks < enough && (job->shape.n % CHUNK || pieces * chunks % job->threads)) pieces++;
    return pieces;
}

/* Segments are transposed 128 at a time, so that memory idles for a short time only; but all of a
 * block at once where their rows have fewer bytes than this, or are of bytes: memory is not what
 * they wait for. GB/s of the sum of 2^26 items, two cores of an EPYC (Zen 5), November 2026, 128
 * and all: rows of f32, of 4 37, 33, of 16 44, 34; of f16, of 2 7, 11; of i8, of 8 10, 17, of 50
 * 18, 21. */
#define NARROW_ROW 16

/* Chooses the blocks of a row, and how many lanes are folded together. Rows of memory are read as
 * far as they go, and one after the other if there is room. */
static void choose_block(axes_job *axes) {
    const segments_job *job = axes->job;
    const bool direct = axes->way == DIRECT;
    const uint64_t rows = tally_ceil_div(job->count, axes->extent), bytes = tally_host_block_bytes(job->of);
    const uint64_t room = least(HOST_MOST_WIDE, HOST_BLOCK_ROOM / kept_bytes(bytes, 1) * TALLY_LANES);
    const uint64_t most = direct ? room : least(room, GROUP_ITEMS / job->shape.n);
    const uint64_t pieces = pieces_of(job, rows, tally_ceil_div(axes->extent, most));
    const uint64_t blocks = tally_ceil_div(tally_ceil_div(axes->extent, pieces), TALLY_LANES);
    const bool is_narrow = job->item_bytes == 1 || job->shape.n * job->item_bytes < NARROW_ROW;
    const uint64_t at_once = direct || is_narrow ? blocks : 1;
    axes->block = blocks * TALLY_LANES;
    axes->turned = at_once * TALLY_LANES;
    axes->group = TALLY_LANES;
    while (axes->group > 1 && kept_bytes(at_once * bytes, axes->group) > HOST_BLOCK_ROOM) axes->group /= 2;
}

static void choose_way(axes_job *axes) {
    const segments_job *job = axes->job;
    const tally_array_shape *shape = &job->shape;
    const tally_shape_axis *along = &shape->axis[shape->reduced - 1], *across = &shape->axis[shape->reduced + shape->kept - 1];
    const bool is_across = tally_magnitude(across->in[0]) < tally_magnitude(along->in[0]),
               blocks = !job->where && shape->n && tally_host_block_bytes(job->of);
    bool neighbours = shape->reduced == 1;
    for (uint32_t k = 0; k < job->inputs; k++) neighbours = neighbours && across->in[k] == 1;
    axes->way = ALONE;
    axes->extent = across->extent;
    const bool is_narrow = axes->extent < NARROW || axes->extent * job->item_bytes <= NARROW_BYTES;
    if (blocks && neighbours && (axes->extent >= TALLY_LANES || (!is_narrow && shape->n >= 2 * CHUNK))) {
        axes->way = DIRECT;
    } else if (blocks && shape->n < TALLY_LANES && shape->n * job->item_bytes < SHORT_BYTES && axes->extent >= LEAST_BLOCK) {
        axes->way = TRANSPOSED;
    } else if ((is_across && axes->extent > 1 && shape->n > 1) || (job->where && most_at_once(shape->n) > 1)) {
        axes->way = COLUMNS;
    }
    choose_columns(axes);
    axes->block = axes->columns;
    if (axes->way == DIRECT || axes->way == TRANSPOSED) choose_block(axes);
    /* Long segments are taken one by one, so that memory is read in its order. */
    if (axes->way == ALONE) axes->block = job->leaves > 1 ? 1 : least(axes->extent, group_items(job) / (shape->n + 16) + 1);
}

void tally_host_segments_axes(segments_job *job) {
    axes_job axes = {.job = job};
    choose_way(&axes);
    /* Other ways fold copies. */
    job->is_far = (axes.way == ALONE || axes.way == DIRECT) && tally_host_segments_are_far(job, job->count * job->shape.n);
    axes.row = job->first / axes.extent;
    axes.blocks = tally_ceil_div(axes.extent, axes.block);
    axes.units = (tally_ceil_div(job->first + job->count, axes.extent) - axes.row) * axes.blocks;
    const uint64_t n = least(job->shape.n, CHUNK), each = group_items(job) / (axes.block * n + 16) + 1;
    axes.run = job->leaves > 1 ? least(each, job->leaves) : 1;
    /* Groups are small enough to keep all threads busy. */
    axes.span = least(each / axes.run, tally_ceil_div(axes.units, 4 * (uint64_t)job->threads));
    tally_pool_run(job->threads, tally_ceil_div(axes.units, axes.span) * tally_ceil_div(job->leaves, axes.run), fold_group,
                   &axes);
}

/* ---- folds ----------------------------------------------------------------------------------- */

static void combine_group(void *opaque, uint64_t group, uint32_t worker) {
    (void)worker;
    const segments_job *job = opaque;
    for (uint64_t i = group * job->span; i < job->count && i < (group + 1) * job->span; i++) {
        const uint64_t n = tally_host_items_of(job, i * job->leaves, job->leaves, job->shape.n);
        const host_segment segment = tally_host_segment_by_axes(job, job->first + i);
        for (uint32_t p = 0; p < job->of->part_count; p++) {
            _Alignas(64) unsigned char acc[TALLY_HOST_ACC_BYTES];
            tally_host_combine_partials(job, p, i * job->leaves, job->leaves, acc);
            if (job->last) {
                tally_host_put_result(job, p, acc, n, segment.out);
                continue;
            }
            memcpy(job->slices + i * job->of->acc_bytes + job->of->parts[p].acc_offset, acc,
                   job->of->parts[p].program->acc_bytes);
            if (job->counts) job->slice_counts[i] = n;
        }
    }
}

void tally_host_segments_axes_fold(segments_job *job) {
    job->span = least(256 / job->leaves + 1, tally_ceil_div(job->count, 4 * (uint64_t)job->threads));
    tally_pool_run(job->threads, tally_ceil_div(job->count, job->span), combine_group, job);
}
