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

/* Gives the inputs hints, where the items are all that lies between the first and the last, and
 * nothing else of that length is read. */
static void hint_inputs(launch *l, const tally_segments_call *call, const tally_array_shape *shape) {
    const uint32_t inputs = l->plan->base.terms.inputs;
    const uint64_t items = shape ? shape->n * shape->count : call->n, item_bytes = tally_dtype_bytes(l->plan->base.terms.in);
    const bool adjacent = call->ends == call->begins && call->ends_offset == call->begins_offset + 1;
    if (call->where || call->number || !items || (!shape && !adjacent)) return;
    for (uint32_t k = 0; k < inputs && shape; k++)
        if (!tally_shape_is_dense(shape, offsetof(tally_shape_axis, in) + k * sizeof(int64_t))) return;
    for (uint32_t k = 0; k < inputs; k++) {
        uint64_t first = call->in_offset[k], last;
        if (shape) tally_shape_span(shape, offsetof(tally_shape_axis, in) + k * sizeof(int64_t), true, first, &first, &last);
        l->args[2 * k].read_from = first * item_bytes;
        l->args[2 * k].read_bytes = items * item_bytes;
    }
}

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
    hint_inputs(l, call, shape);
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
static tally_status run_some(launch *l, void *kernel, uint64_t wanted, uint64_t unit_groups) {
    const tally_context *context = l->plan->base.context;
    const uint64_t each = l->plan->variant->has_teams ? unit_groups : TALLY_CPU_UNIT_GROUPS;
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

static tally_status run_leaves(launch *l, const tally_way *by, uint32_t last) {
    l->team = by->team;
    l->wide = by->wide;
    l->split = by->split;
    l->last = last;
    /* A CPU's blocks do not cross the extent of the fastest axis, so there may be more of them. */
    return run(l, by->kernel, tally_ceil_div(l->segments * l->leaves, by->units));
}

/* Reduces one segment of more chunks than there is room for, in slices, which are subtrees. */
static tally_status run_slices(launch *l, const tally_way *by, uint64_t leaves) {
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

/* Rows of up to a chunk are long from LONG_BYTES on, if they are few: at most a row a compute unit
 * for each LONG_UNIT_BYTES of its bytes, and at most LONG_UNIT_ROWS. A warp would take each row
 * alone, with one round trip to memory after another: 256 rows of 4,096 f32 took 3.4 us, and take
 * 2.0 as long ones; but 1,024 rows 3.9 and 4.0 (H200, November 2026). */
#define LONG_BYTES 3072
#define LONG_UNIT_BYTES 1536
#define LONG_UNIT_ROWS 4

/* Returns the runs of chunks that groups take of each segment in one launch, or 0 for calls that
 * are no few long rows. Rows of more than a chunk are few if no group has more than one run. */
static uint64_t runs_of_long(const tally_segments_plan *plan, const tally_array_shape *shape, uint64_t leaves) {
    if (!plan->longs || !tally_are_rows(shape, plan->base.terms.inputs)) return 0;
    const uint64_t runs = tally_ceil_div(leaves, plan->group_threads / TALLY_LANES), groups = shape->count * runs;
    const uint64_t units = plan->base.context->info.compute_units;
    if (leaves == 1) {
        const uint64_t bytes = shape->n * plan->base.terms.inputs * tally_dtype_bytes(plan->base.terms.in);
        const uint64_t rows = bytes / LONG_UNIT_BYTES < LONG_UNIT_ROWS ? bytes / LONG_UNIT_BYTES : LONG_UNIT_ROWS;
        return bytes >= LONG_BYTES && groups <= rows * units ? runs : 0;
    }
    const uint64_t counters = tally_buffer_bytes(plan->work) / sizeof(uint32_t);
    if (plan->work && runs > 1 && shape->count > counters) return 0;
    return groups <= plan->capacity && groups <= UNIT_GROUPS * units ? runs : 0;
}

/* Reduces few long rows. A second launch folds the partials where groups cannot finish together. */
static tally_status run_long(launch *l, uint64_t runs) {
    l->team = TALLY_WARP;
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
    const tally_way by = tally_segments_way(plan, call, shape, leaves);
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
    const uint64_t whole = by.kernel == plan->flat ? by.wide : TALLY_MOST_COLUMNS; /* loads of columns stay aligned */
    if (most > whole) most -= most % whole;
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
 * least: so many segments, and so many bytes. Groups that mostly list what is long are fewer. */
#define BUSY_GROUPS 8
#define LISTING_GROUPS 2
#define LEAST_BYTES 4096
/* Returns the neighbouring segments that a group takes at once, a power of two. */
static uint32_t batch_of(const tally_segments_plan *plan, uint64_t count, uint64_t mean) {
    const uint64_t each = mean > TALLY_CHUNK_ITEMS ? LISTING_GROUPS : BUSY_GROUPS;
    const uint64_t groups = each * plan->base.context->info.compute_units;
    const uint64_t bytes = mean * tally_dtype_bytes(plan->base.terms.in), most = TALLY_BATCH_BYTES(plan->group_threads);
    const uint32_t least = bytes > LEAST_BYTES / TALLY_LEAST_BATCH ? 1 : TALLY_LEAST_BATCH;
    uint32_t batch = MOST_EACH * plan->group_threads;
    while (batch > TALLY_LEAST_BATCH && batch * bytes > most) batch /= 2;
    while (batch > least && count / batch < groups) batch /= 2;
    return batch;
}

/* Tells whether each warp reduces a segment straight from memory. Segments then have ALONE_BYTES of
 * an input on average, or more, where an item of one byte counts as two, and at most a chunk. A
 * tile would have few of them (docs/results/h200.md has figures of several means). */
#define ALONE_BYTES 2000
static bool are_alone(const tally_segments_plan *plan, uint64_t mean) {
    const uint64_t bytes = tally_dtype_bytes(plan->base.terms.in);
    return plan->alone && mean * (bytes > 1 ? bytes : 2) >= ALONE_BYTES && mean <= TALLY_CHUNK_ITEMS;
}

tally_status tally_segments_launch_offsets(tally_segments_plan *plan, void *queue, const tally_segments_call *call) {
    const uint64_t mean = call->count ? tally_ceil_div(call->n, call->count) : 0;
    const uint64_t teams = plan->variant->has_teams ? plan->group_threads / TALLY_WARP : 1; /* warps of a group */
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
    if (!status && are_alone(plan, mean)) {
        l.team = TALLY_WARP;
        status = run(&l, plan->alone, tally_ceil_div(call->count, teams));
    } else if (!status) {
        status = run(&l, plan->teams, tally_ceil_div(call->count, l.team));
    }
    if (!chunks || status) return status;
    l.team = TALLY_WARP;
    status = run_list(&l, plan->chunks, tally_ceil_div(chunks, teams));
    return status ? status : run_list(&l, plan->fold, longs);
}
