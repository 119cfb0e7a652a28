/* SPDX-License-Identifier: MIT */
/* The launches of segments. */
#include <string.h>

#include "segments/segments.h"

/* ---- arguments ------------------------------------------------------------------------------- */

_Static_assert(2 * TALLY_MAX_INPUTS + TALLY_SEGMENT_ARGS + 2 * TALLY_MAX_TERMS <= TALLY_MAX_ARGS, "arguments of a launch");

/* The numbers of a launch, which its arguments point to. */
typedef struct launch {
    tally_segments_plan *plan;
    void *queue;
    tally_arg args[TALLY_MAX_ARGS], *own; /* own: those behind the inputs */
    uint32_t count;
    uint64_t first, segments, leaf, leaves, slice, capacity;
    uint32_t team, wide, split, last, lists;
    unsigned char shape[TALLY_SHAPE_MOST_BYTES];
} launch;

static tally_arg memory(void *mem) {
    return (tally_arg){.mem = mem};
}

static tally_arg buffer(const tally_buffer *buffer, void *other) {
    return (tally_arg){.mem = buffer ? buffer->mem : other};
}

#define VALUE(variable) ((tally_arg){.value = &(variable), .bytes = sizeof(variable)})

/* Fills the arguments of all kernels of a call. */
static void open_launch(launch *l, tally_segments_plan *plan, void *queue, const tally_segments_call *call,
                        const tally_array_shape *shape) {
    const tally_terms *terms = &plan->base.terms;
    void *any = plan->partials->mem;
    *l = (launch){.plan = plan, .queue = queue, .capacity = plan->capacity, .team = 1, .wide = 1, .split = 1};
    l->own = l->args + 2 * terms->inputs;
    if (shape) tally_shape_pack(shape, terms->inputs, l->shape);
    for (uint32_t k = 0; k < terms->inputs; k++) {
        l->args[2 * k] = memory(call->in[k]);
        l->args[2 * k + 1] = VALUE(call->in_offset[k]);
    }
    l->own[TALLY_SEGMENT_ARG_PARAMS] = (tally_arg){.value = plan->base.params, .bytes = terms->param.bytes};
    l->own[TALLY_SEGMENT_ARG_WHERE] = memory(call->where ? call->where : any);
    l->own[TALLY_SEGMENT_ARG_WHERE_OFFSET] = VALUE(call->where_offset);
    l->own[TALLY_SEGMENT_ARG_BEGINS] = memory(call->begins ? call->begins : any);
    l->own[TALLY_SEGMENT_ARG_BEGINS_OFFSET] = VALUE(call->begins_offset);
    l->own[TALLY_SEGMENT_ARG_ENDS] = memory(call->ends ? call->ends : any);
    l->own[TALLY_SEGMENT_ARG_ENDS_OFFSET] = VALUE(call->ends_offset);
    l->own[TALLY_SEGMENT_ARG_NUMBER] = memory(call->number ? call->number : any);
    l->own[TALLY_SEGMENT_ARG_NUMBER_OFFSET] = VALUE(call->number_offset);
    l->own[TALLY_SEGMENT_ARG_SHAPE] = (tally_arg){.value = l->shape, .bytes = tally_shape_bytes(terms->inputs)};
    l->own[TALLY_SEGMENT_ARG_FIRST] = VALUE(l->first);
    l->own[TALLY_SEGMENT_ARG_COUNT] = VALUE(l->segments);
    l->own[TALLY_SEGMENT_ARG_LEAF] = VALUE(l->leaf);
    l->own[TALLY_SEGMENT_ARG_LEAVES] = VALUE(l->leaves);
    l->own[TALLY_SEGMENT_ARG_TEAM] = VALUE(l->team);
    l->own[TALLY_SEGMENT_ARG_WIDE] = VALUE(l->wide);
    l->own[TALLY_SEGMENT_ARG_SPLIT] = VALUE(l->split);
    l->own[TALLY_SEGMENT_ARG_LAST] = VALUE(l->last);
    l->own[TALLY_SEGMENT_ARG_PARTIALS] = memory(any);
    l->own[TALLY_SEGMENT_ARG_COUNTS] = buffer(plan->counts, any);
    l->own[TALLY_SEGMENT_ARG_SLICES] = buffer(plan->slices, any);
    l->own[TALLY_SEGMENT_ARG_SLICE_COUNTS] = buffer(plan->slice_counts, any);
    l->own[TALLY_SEGMENT_ARG_SLICE] = VALUE(l->slice);
    l->own[TALLY_SEGMENT_ARG_WORK] = buffer(plan->work, any);
    l->own[TALLY_SEGMENT_ARG_CAPACITY] = VALUE(l->capacity);
    l->own[TALLY_SEGMENT_ARG_LISTS] = VALUE(l->lists);
    l->own[TALLY_SEGMENT_ARG_INITIAL] = (tally_arg){.value = plan->initial, .bytes = terms->result.bytes};
    for (uint32_t t = 0; t < plan->outs; t++) {
        l->own[TALLY_SEGMENT_ARGS + 2 * t] = memory(call->out[t]);
        l->own[TALLY_SEGMENT_ARGS + 2 * t + 1] = VALUE(call->out_offset[t]);
    }
    l->count = 2 * terms->inputs + TALLY_SEGMENT_ARGS + 2 * plan->outs;
}

/* Launch `kernel` with up to `wanted` groups, as many as fill the device several times. run_list is
 * for work lists, whose length the device knows: groups without work take 1 ns each. */
#define UNIT_GROUPS 64
#define LIST_UNIT_GROUPS 16
#define CPU_UNIT_GROUPS 16
static tally_status run_some(launch *l, void *kernel, uint64_t wanted, uint64_t unit_groups) {
    const tally_context *context = l->plan->base.context;
    const uint64_t each = l->plan->variant->has_teams ? unit_groups : CPU_UNIT_GROUPS;
    const uint64_t most = each * context->info.compute_units;
    const uint64_t groups = !wanted ? 1 : wanted < most ? wanted : most;
    return context->backend->launch(l->queue, kernel, groups, l->plan->group_threads, l->count, l->args);
}

static tally_status run(launch *l, void *kernel, uint64_t wanted) {
    return run_some(l, kernel, wanted, UNIT_GROUPS);
}

static tally_status run_list(launch *l, void *kernel, uint64_t wanted) {
    return run_some(l, kernel, wanted, LIST_UNIT_GROUPS);
}

/* ---- by axes --------------------------------------------------------------------------------- */

#define WARP 32
#define THREAD_LANES 4 /* lanes of a chunk that a thread takes (kernels/segment_teams.h) */

/* Returns the threads that share a chunk of n items. */
static uint32_t team_of(uint64_t n) {
    uint32_t team = 1;
    while (team < WARP && team * THREAD_LANES < n) team *= 2;
    return team;
}

/* Tells whether neighbours in memory are of neighbouring segments. */
static bool is_across(const tally_array_shape *shape) {
    const tally_shape_axis *along = &shape->axis[shape->reduced - 1], *across = &shape->axis[shape->reduced + shape->kept - 1];
    return across->extent > 1 && tally_magnitude(across->in[0]) < tally_magnitude(along->in[0]);
}

/* A way to launch: the kernel, its TEAM, WIDE and SPLIT, and how many chunks of segments a group
 * takes at once. */
typedef struct way {
    void *kernel;
    uint32_t team, wide, split;
    uint64_t units;
} way;

/* On CPUs: the most and the fewest segments of a block, and the most items of a short segment. */
#define MOST_BLOCK 256
#define LEAST_BLOCK 32
#define SHORT_ITEMS 64
/* Fewest chunks for each compute unit at which a thread takes a chunk of its own. */
#define LEAST_UNIT_THREADS 256

/* Tells whether the items of each segment are side by side. */
static bool are_rows(const tally_array_shape *shape, uint32_t inputs) {
    for (uint32_t k = 0; k < inputs; k++)
        if (shape->axis[0].in[k] != 1) return false;
    return shape->reduced == 1;
}

/* On CPUs blocks of segments are for neighbours in memory, and for short segments that are no rows.
 * There are blocks for all groups. */
static way choose_cpu_way(const tally_segments_plan *plan, const tally_array_shape *shape, uint64_t leaves) {
    const bool rows = are_rows(shape, plan->base.terms.inputs) && tally_segments_are_plain(plan);
    const bool blocks = is_across(shape) || (shape->n <= SHORT_ITEMS && !rows);
    const uint64_t groups = (uint64_t)CPU_UNIT_GROUPS * plan->base.context->info.compute_units;
    const uint64_t extent = shape->axis[shape->reduced + shape->kept - 1].extent;
    uint32_t block = MOST_BLOCK;
    while (block > LEAST_BLOCK && shape->count * leaves / block < groups) block /= 2;
    if (extent && extent < block) block -= block % extent; /* no row of columns is cut */
    if (extent == 1 || !blocks) return (way){plan->teams, 1, 1, 1, 1};
    return (way){plan->threads, block, 1, 1, block};
}

/* The fewest threads of a compute unit that keep its memory busy. In a trial on an H200 496 threads
 * of 64 bytes in flight each read 2^28 f32 items of columns at 4,500 GB/s; more were no better. */
#define BUSY_THREADS 448

/* The most items of the inner of two reduced axes: a thread counts them in 32 bits. */
#define MOST_PLANE (1u << 30)

/* Tells whether the segments lie side by side, so that the kernel of columns takes them. */
static bool are_columns(const tally_array_shape *shape, uint32_t inputs) {
    const tally_shape_axis *across = &shape->axis[shape->reduced + shape->kept - 1];
    for (uint32_t k = 0; k < inputs; k++)
        if (across->in[k] != 1) return false;
    return shape->reduced == 1 && across->extent > 1 && is_across(shape);
}

/* Most items of a column that one thread takes, and most that two share; longer ones are split in
 * 8: with 4, columns of 1,000 side by side were a third slower on an H200. Most of the neighbouring
 * columns that a load takes. */
#define WHOLE_ITEMS 256
#define HALVED_ITEMS 2048
#define MOST_COLUMNS 4
#define LOW_LANES 16 /* that a thread takes of columns of up to a chunk row at once */

/* Returns the columns of a thread: COLUMNS of kernels/segment_arrays.h. */
static uint32_t columns_of(const tally_segments_plan *plan) {
    const uint32_t acc_bytes = plan->base.terms.acc.bytes, inputs = plan->base.terms.inputs;
    const uint64_t in_bytes = inputs * tally_dtype_bytes(plan->base.terms.in);
    if (acc_bytes > 8 || in_bytes > 8) return 1;
    return inputs == 1 && in_bytes <= (acc_bytes <= 4 ? 4 : 2) ? MOST_COLUMNS : 2;
}

/* Returns the fewest threads that share a chunk of n items of columns. A thread that has wide
 * accumulators counts 4 turns at most. */
static uint32_t least_split(const tally_segments_plan *plan, uint64_t n, uint32_t team) {
    const uint32_t split = n <= WHOLE_ITEMS ? 1 : n <= HALVED_ITEMS ? 2 : 8;
    return plan->base.terms.acc.bytes > 8 && split < team / 4 ? team / 4 : split;
}

/* A chunk of columns is split further where there are few columns, or too few threads. */
static way choose_columns(const tally_segments_plan *plan, const tally_array_shape *shape, uint32_t team, uint64_t leaves) {
    const uint32_t group = plan->group_threads, columns = columns_of(plan);
    const uint64_t extent = shape->axis[shape->reduced + shape->kept - 1].extent;
    const uint64_t enough = (uint64_t)BUSY_THREADS * plan->base.context->info.compute_units;
    /* Tiles of a single row of columns are no wider than it. */
    const uint64_t tile = shape->kept == 1 ? columns : 1;
    uint32_t wide = 1, split = least_split(plan, shape->n, team);
    while (wide < WARP && wide * tile < extent && 2 * wide * split <= group) wide *= 2;
    const uint64_t threads = tally_ceil_div(shape->count, wide * columns) * wide * leaves;
    if (plan->low && shape->n <= TALLY_LANES && threads >= enough) {
        const uint32_t turns = team > LOW_LANES / THREAD_LANES ? team / (LOW_LANES / THREAD_LANES) : 1;
        return (way){plan->low, turns, wide, 1, (uint64_t)group * columns};
    }
    while (split < team && 2 * wide * split <= group && (wide < WARP || threads * split < enough)) split *= 2;
    return (way){plan->columns, team, wide, split, (uint64_t)group / split * columns};
}

/* A kernel that takes FLIGHT_ROWS chunk rows at once: of segments of up to `rows` rows. */
static way take_rows(const tally_segments_plan *plan, void *kernel, uint32_t rows, uint32_t team) {
    return (way){kernel, team, 1, 1, plan->group_threads / team * (tally_segments_flight(&plan->base.terms) / rows)};
}

/* Items of a quad, which a thread loads at once; bytes of a lane's items on their way; the most
 * quads of a row that a thread has (kernels/segment_quads.h). Bytes that memory gives at once. */
#define QUAD_ITEMS 4
#define LANE_BYTES 16
#define MOST_SLOTS 8
#define SECTOR_BYTES 32

/* Tells whether rows are aligned quads, if the inputs' buffers are. */
static bool are_quads(const tally_segments_plan *plan, const tally_segments_call *call, const tally_array_shape *shape) {
    bool are = are_rows(shape, plan->base.terms.inputs) && shape->n % QUAD_ITEMS == 0;
    for (uint32_t k = 0; k < plan->base.terms.inputs; k++) {
        are = are && call->in_offset[k] % QUAD_ITEMS == 0;
        for (uint32_t a = 1; a <= shape->kept; a++) are = are && shape->axis[a].in[k] % QUAD_ITEMS == 0;
    }
    return are;
}

/* Chooses a team for rows of quads. A thread has a quad of each of several rows if rows are short,
 * and several slots of a row if they are longer. Returns false if a row has too many quads. */
static bool take_quads(const tally_segments_plan *plan, uint64_t n, way *by) {
    const uint64_t bytes = plan->base.terms.inputs * tally_dtype_bytes(plan->base.terms.in), quad = QUAD_ITEMS * bytes;
    const uint32_t least = quad < SECTOR_BYTES ? (uint32_t)(SECTOR_BYTES / quad) : 1, group = plan->group_threads;
    uint32_t flight = LANE_BYTES;
    while (flight > 1 && flight * bytes > LANE_BYTES) flight /= 2;
    const uint32_t slots = flight < MOST_SLOTS ? flight : MOST_SLOTS;
    const uint32_t each = n <= 2 * QUAD_ITEMS * least || !plan->quads ? 1 : slots; /* slots of a thread for a row */
    uint32_t team = each > 1 ? least : 1;
    while (team < WARP && (uint64_t)QUAD_ITEMS * each * team < n) team *= 2;
    *by = (way){each > 1 ? plan->quads : plan->quad, team, 1, 1, (uint64_t)group / team * (flight / each)};
    return (uint64_t)QUAD_ITEMS * each * team >= n;
}

/* The most chunk rows of a row that is staged; warps of a compute unit that have rows each. */
#define MOST_DENSE_ROWS 4
#define BUSY_WARPS 32

/* Tells whether teams that load rows of n items from memory use most of what they have room for. */
static bool are_filled(const tally_segments_plan *plan, uint64_t n, uint32_t team, bool quads) {
    const uint64_t bytes = tally_dtype_bytes(plan->base.terms.in);
    uint64_t room = (uint64_t)team * THREAD_LANES;
    while (room < n) room *= 2;
    if (quads) return bytes == 4 || n * bytes % SECTOR_BYTES == 0;
    return bytes == 4 && 4 * n >= 3 * room;
}

/* Returns the most lanes of a row that a thread takes: DENSE_LANES of kernels/segment_dense.h.
 * Items of a byte that go to any lane need one. */
static uint64_t dense_lanes(const tally_segments_plan *plan) {
    const tally_terms *terms = &plan->base.terms;
    if (terms->count == 1 && terms->list[0].lane.bytes && !terms->list[0].lane.counts_zeros) return TALLY_LANES;
    return terms->acc.bytes <= 4 ? 32 : terms->acc.bytes <= 8 ? 16 : 8;
}

/* Takes rows that follow each other without a gap, a tile of them for each warp. `team` threads
 * share a row, so that a tile has one for each team. */
static bool take_dense(const tally_segments_plan *plan, const tally_array_shape *shape, way *by) {
    const uint64_t bytes = shape->n * tally_dtype_bytes(plan->base.terms.in);
    const uint64_t warps = (uint64_t)BUSY_WARPS * plan->base.context->info.compute_units;
    const uint64_t lanes = shape->n < TALLY_LANES ? shape->n : TALLY_LANES;
    uint32_t team = 1;
    if (!plan->dense || !are_rows(shape, 1) || shape->n > MOST_DENSE_ROWS * TALLY_LANES) return false;
    if (shape->axis[1].in[0] < 0 || (uint64_t)shape->axis[1].in[0] != shape->n) return false;
    while (WARP / team * bytes > TALLY_DENSE_BYTES || team * dense_lanes(plan) < lanes) team *= 2;
    uint64_t each = TALLY_DENSE_BYTES / (WARP / team * bytes); /* rows of a team */
    while (each > 1 && shape->count / (WARP / team * each) < warps) each /= 2;
    const uint64_t wide = WARP / team * each;
    *by = (way){plan->dense, team, (uint32_t)wide, 1, plan->group_threads / WARP * wide};
    return true;
}

/* Upper limit on the items of columns that are taken as rows. */
#define FEW_ROWS 8

static way choose_way(const tally_segments_plan *plan, const tally_segments_call *call, const tally_array_shape *shape,
                      uint64_t leaves) {
    way by;
    const uint64_t fastest = shape->axis[shape->reduced + shape->kept - 1].extent;
    if (!plan->variant->has_teams) return choose_cpu_way(plan, shape, leaves);
    const uint32_t team = team_of(shape->n), group = plan->group_threads;
    const uint64_t units = shape->count * leaves;
    const bool threads = is_across(shape) && fastest >= WARP / 4 &&
                         (units >= (uint64_t)LEAST_UNIT_THREADS * plan->base.context->info.compute_units || team == 1);
    const bool planes = plan->planes && shape->reduced == 2 && shape->axis[1].extent < MOST_PLANE;
    const uint64_t few = is_across(shape) ? FEW_ROWS : TALLY_LANES;
    const bool quads = plan->quad && are_quads(plan, call, shape);
    if (shape->reduced == 1 && shape->kept == 1 && shape->n) {
        if (!are_filled(plan, shape->n, team, quads) && take_dense(plan, shape, &by)) return by;
        if (quads && take_quads(plan, shape->n, &by)) return by;
        if (plan->few && shape->n <= few) return take_rows(plan, plan->few, 1, team);
        if (plan->rows_2 && !is_across(shape) && shape->n <= 2 * TALLY_LANES) return take_rows(plan, plan->rows_2, 2, team);
        if (plan->rows_4 && !is_across(shape) && shape->n <= 4 * TALLY_LANES) return take_rows(plan, plan->rows_4, 4, team);
    }
    if (plan->columns && are_columns(shape, plan->base.terms.inputs)) return choose_columns(plan, shape, team, leaves);
    if (threads) return (way){plan->threads, team, 1, 1, group};
    if (quads && team == WARP) return (way){plan->quad_chunks, team, 1, 1, group / team};
    return (way){planes ? plan->planes : plan->teams, team, 1, 1, group / team};
}

/* Partials that a group folds at once where there are many of few segments. */
#define FOLD_RUN 1024

/* Swaps the partials for the slices, which a fold has made of them. */
static void swap_slices(launch *l) {
    static const int pairs[][2] = {{TALLY_SEGMENT_ARG_PARTIALS, TALLY_SEGMENT_ARG_SLICES},
                                   {TALLY_SEGMENT_ARG_COUNTS, TALLY_SEGMENT_ARG_SLICE_COUNTS}};
    for (size_t p = 0; p < TALLY_ARRAY_LENGTH(pairs); p++) {
        const tally_arg arg = l->own[pairs[p][0]];
        l->own[pairs[p][0]] = l->own[pairs[p][1]];
        l->own[pairs[p][1]] = arg;
    }
}

/* Folds the partials of the launch's segments into results, or (not `last`) into a slice. */
static tally_status fold(launch *l, uint32_t last) {
    const uint32_t group = l->plan->group_threads;
    const uint64_t leaves = l->leaves, pieces = tally_ceil_div(leaves, FOLD_RUN);
    tally_status status = TALLY_OK;
    l->last = last;
    l->wide = 0;
    if (!l->plan->variant->has_teams || !last) return run(l, l->plan->fold, l->segments);
    if (leaves <= 64 && l->segments >= group) return run(l, l->plan->fold_each, tally_ceil_div(l->segments, group));
    if (leaves <= 4 * FOLD_RUN) return run(l, l->plan->fold, l->segments);
    l->wide = FOLD_RUN;
    l->last = 0;
    l->slice = 0;
    status = run(l, l->plan->fold, l->segments * pieces);
    swap_slices(l);
    l->wide = 0;
    l->last = 1;
    l->leaves = pieces;
    if (!status) status = run(l, l->plan->fold, l->segments);
    swap_slices(l);
    l->leaves = leaves;
    return status;
}

static tally_status run_leaves(launch *l, const way *by, uint32_t last) {
    l->team = by->team;
    l->wide = by->wide;
    l->split = by->split;
    l->last = last;
    /* A CPU's blocks do not cross the extent of the fastest axis, so there may be more of them. */
    return run(l, by->kernel, tally_ceil_div(l->segments * l->leaves, by->units));
}

/* Reduces one segment of more chunks than there is room for, in slices, which are subtrees. */
static tally_status run_slices(launch *l, const way *by, uint64_t leaves) {
    tally_status status = TALLY_OK;
    l->segments = 1;
    for (l->leaf = l->slice = 0; l->leaf < leaves && !status; l->leaf += l->leaves, l->slice++) {
        l->leaves = leaves - l->leaf < l->capacity ? leaves - l->leaf : l->capacity;
        status = run_leaves(l, by, 0);
        if (!status) status = fold(l, 0);
    }
    if (status) return status;
    swap_slices(l);
    l->leaves = l->slice;
    l->last = 1;
    l->wide = 0;
    status = run(l, l->plan->fold, 1);
    swap_slices(l);
    return status;
}

/* Returns the runs of chunks that groups take of each segment in one launch, or 0 for calls that
 * are no few long rows. Few are as many as there are groups for without a loop. */
static uint64_t runs_of_long(const tally_segments_plan *plan, const tally_array_shape *shape, uint64_t leaves) {
    if (!plan->longs || leaves == 1 || !are_rows(shape, plan->base.terms.inputs)) return 0;
    const uint64_t runs = tally_ceil_div(leaves, plan->group_threads / TALLY_LANES), groups = shape->count * runs;
    const uint64_t counters = tally_buffer_bytes(plan->work) / sizeof(uint32_t);
    if (plan->work && runs > 1 && shape->count > counters) return 0;
    if (groups > plan->capacity || groups > (uint64_t)UNIT_GROUPS * plan->base.context->info.compute_units) return 0;
    return runs;
}

/* Reduces few long rows. A second launch folds the partials where groups cannot finish together. */
static tally_status run_long(launch *l, uint64_t runs) {
    l->team = WARP;
    l->last = runs == 1 ? TALLY_LAST_ALONE : l->plan->work ? TALLY_LAST_TOGETHER : TALLY_LAST_NONE;
    const tally_status status = run(l, l->plan->longs, l->segments * runs);
    if (status || l->last != TALLY_LAST_NONE) return status;
    l->leaves = runs;
    return fold(l, 1);
}

tally_status tally_segments_launch_axes(tally_segments_plan *plan, void *queue, const tally_segments_call *call,
                                        const tally_array_shape *shape) {
    const uint64_t leaves = shape->n ? tally_ceil_div(shape->n, TALLY_CHUNK_ITEMS) : 1;
    const uint64_t runs = runs_of_long(plan, shape, leaves);
    const way by = choose_way(plan, call, shape, leaves);
    tally_status status = TALLY_OK;
    launch l;
    open_launch(&l, plan, queue, call, shape);
    l.leaves = leaves;
    l.segments = shape->count;
    if (runs && shape->count) return run_long(&l, runs);
    if (leaves == 1) return shape->count ? run_leaves(&l, &by, 1) : TALLY_OK;
    if (leaves > plan->capacity) {
        for (; l.first < shape->count && !status; l.first++) status = run_slices(&l, &by, leaves);
        return status;
    }
    uint64_t most = plan->capacity / leaves;
    if (most > MOST_COLUMNS) most -= most % MOST_COLUMNS; /* loads of columns stay aligned */
    for (; l.first < shape->count && !status; l.first += l.segments) {
        l.segments = shape->count - l.first < most ? shape->count - l.first : most;
        status = run_leaves(&l, &by, 0);
        if (!status) status = fold(&l, 1);
    }
    return status;
}

/* ---- by offsets ------------------------------------------------------------------------------ */

/* Returns the neighbouring segments of a thread that a group takes at once: more of short ones, as
 * far as all groups have some. */
#define MOST_EACH 4
#define FEW_ITEMS 16
static uint32_t segments_each(const tally_segments_plan *plan, uint64_t count, uint64_t mean) {
    const uint64_t groups = (uint64_t)2 * plan->base.context->info.compute_units;
    uint32_t each = 1;
    if (mean > FEW_ITEMS) return each;
    while (each < MOST_EACH && count / (2 * each * plan->group_threads) >= groups) each *= 2;
    return each;
}

/* The fewest groups of a compute unit that have a batch each, as far as batches are more than the
 * least: so many segments, and so many bytes. */
#define BUSY_GROUPS 8
#define LEAST_BYTES 4096
/* Returns the neighbouring segments that a group takes at once, a power of two. */
static uint32_t batch_of(const tally_segments_plan *plan, uint64_t count, uint64_t mean) {
    const uint64_t groups = (uint64_t)BUSY_GROUPS * plan->base.context->info.compute_units;
    const uint64_t bytes = mean * tally_dtype_bytes(plan->base.terms.in), most = TALLY_BATCH_BYTES(plan->group_threads);
    const uint32_t least = bytes > LEAST_BYTES / TALLY_LEAST_BATCH ? 1 : TALLY_LEAST_BATCH;
    uint32_t batch = MOST_EACH * plan->group_threads;
    while (batch > TALLY_LEAST_BATCH && batch * bytes > most) batch /= 2;
    while (batch > least && count / batch < groups) batch /= 2;
    return batch;
}

tally_status tally_segments_launch_offsets(tally_segments_plan *plan, void *queue, const tally_segments_call *call) {
    const uint64_t mean = call->count ? tally_ceil_div(call->n, call->count) : 0;
    const uint64_t teams = plan->variant->has_teams ? plan->group_threads / WARP : 1; /* of the chunks */
    const tally_kept_offsets *kept = call->kept;
    uint64_t chunks = plan->capacity, longs = plan->capacity; /* the most */
    launch l;
    open_launch(&l, plan, queue, call, NULL);
    l.segments = call->count;
    l.leaves = 1;
    l.last = 1;
    l.lists = !kept;
    if (kept) {
        l.own[TALLY_SEGMENT_ARG_WORK] = memory(kept->work->mem);
        l.capacity = chunks = kept->chunks;
        longs = kept->longs;
    } else if (call->n <= TALLY_CHUNK_ITEMS) {
        chunks = 0;
    }
    if (plan->variant->has_teams) {
        /* The kernel is one of two. Groups that have no segments do nothing. */
        l.wide = segments_each(plan, call->count, mean);
        l.team = batch_of(plan, call->count, mean);
    }
    if (!call->count) return TALLY_OK;
    tally_status status = chunks && l.lists ? run(&l, plan->clear, 1) : TALLY_OK;
    if (!status) status = run(&l, plan->teams, tally_ceil_div(call->count, l.team));
    if (!chunks || status) return status;
    l.team = WARP;
    status = run_list(&l, plan->chunks, tally_ceil_div(chunks, teams));
    return status ? status : run_list(&l, plan->fold, longs);
}
