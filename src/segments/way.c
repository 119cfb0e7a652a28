/* SPDX-License-Identifier: MIT */
/* Which kernel takes an array's segments, with how many threads for each. */
#include "segments/segments.h"

#define THREAD_LANES 4 /* lanes of a chunk that a thread takes (kernels/segment_teams.h) */

/* Returns the threads that share a chunk of n items. */
static uint32_t team_of(uint64_t n) {
    uint32_t team = 1;
    while (team < TALLY_WARP && team * THREAD_LANES < n) team *= 2;
    return team;
}

/* Tells whether neighbours in memory are of neighbouring segments. */
static bool is_across(const tally_array_shape *shape) {
    const tally_shape_axis *along = &shape->axis[shape->reduced - 1], *across = &shape->axis[shape->reduced + shape->kept - 1];
    return across->extent > 1 && tally_magnitude(across->in[0]) < tally_magnitude(along->in[0]);
}

/* On CPUs: the most and the fewest segments of a block, and the most items of a short segment. */
#define MOST_BLOCK 8192
#define LEAST_BLOCK 32
#define SHORT_ITEMS 64
/* Fewest threads for each compute unit at which threads take chunks alone, or share them. */
#define LEAST_UNIT_THREADS 256

bool tally_are_rows(const tally_array_shape *shape, uint32_t inputs) {
    for (uint32_t k = 0; k < inputs; k++)
        if (shape->axis[0].in[k] != 1) return false;
    return shape->reduced == 1;
}

/* Tells whether so many chunks of blocks keep all compute units busy. */
static bool are_enough(const tally_segments_plan *plan, const tally_array_shape *shape, uint64_t chunks) {
    const uint64_t units = plan->base.context->info.compute_units;
    return chunks >= 4 * units || (shape->n % TALLY_CHUNK_ITEMS == 0 && chunks % units == 0);
}

/* On CPUs blocks of segments are for neighbours in memory, and for short segments that are no rows.
 * There are chunks of blocks for all compute units: 4 for each, or as many for each that are
 * alike. */
static tally_way choose_cpu_way(const tally_segments_plan *plan, const tally_array_shape *shape, uint64_t leaves) {
    const bool rows = tally_are_rows(shape, plan->base.terms.inputs) && tally_segments_are_plain(plan);
    const bool blocks = is_across(shape) || (shape->n <= SHORT_ITEMS && !rows);
    const uint64_t extent = shape->axis[shape->reduced + shape->kept - 1].extent;
    uint32_t block = MOST_BLOCK;
    while (block > LEAST_BLOCK && !are_enough(plan, shape, tally_ceil_div(shape->count, block) * leaves)) block /= 2;
    if (extent && extent < block) block -= block % extent; /* no row of columns is cut */
    if (extent == 1 || !blocks) return (tally_way){plan->teams, 1, 1, 1, 1};
    return (tally_way){plan->threads, block, 1, 1, block};
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
 * 8: with 4, columns of 1,000 side by side were a third slower on an H200. */
#define WHOLE_ITEMS 256
#define HALVED_ITEMS 2048
#define LOW_LANES 16 /* that a thread takes of columns of up to a chunk row at once */

/* Returns the columns of a thread: COLUMNS of kernels/segment_columns.h. */
static uint32_t columns_of(const tally_segments_plan *plan) {
    const uint32_t acc_bytes = plan->base.terms.acc.bytes, inputs = plan->base.terms.inputs;
    const uint64_t in_bytes = inputs * tally_dtype_bytes(plan->base.terms.in);
    if (acc_bytes > 8 || in_bytes > 8) return 1;
    return inputs == 1 && in_bytes <= (acc_bytes <= 4 ? 4 : 2) ? TALLY_MOST_COLUMNS : 2;
}

/* Returns the fewest threads that share a chunk of n items of columns. */
static uint32_t least_split(uint64_t n) {
    return n <= WHOLE_ITEMS ? 1 : n <= HALVED_ITEMS ? 2 : 8;
}

/* A chunk of columns is split further where there are few columns, or too few threads. */
static tally_way choose_columns(const tally_segments_plan *plan, const tally_array_shape *shape, uint32_t team,
                                uint64_t leaves) {
    const uint32_t group = plan->group_threads, columns = columns_of(plan);
    const uint64_t extent = shape->axis[shape->reduced + shape->kept - 1].extent;
    const uint64_t enough = (uint64_t)BUSY_THREADS * plan->base.context->info.compute_units;
    /* Tiles of a single row of columns are no wider than it. */
    const uint64_t tile = shape->kept == 1 ? columns : 1;
    uint32_t wide = 1, split = least_split(shape->n);
    while (wide < TALLY_WARP && wide * tile < extent && 2 * wide * split <= group) wide *= 2;
    const uint64_t threads = tally_ceil_div(shape->count, wide * columns) * wide * leaves;
    if (plan->low && shape->n <= TALLY_LANES && threads >= enough) {
        const uint32_t turns = team > LOW_LANES / THREAD_LANES ? team / (LOW_LANES / THREAD_LANES) : 1;
        return (tally_way){plan->low, turns, wide, 1, (uint64_t)group * columns};
    }
    while (split < team && 2 * wide * split <= group && (wide < TALLY_WARP || threads * split < enough)) split *= 2;
    return (tally_way){plan->columns, team, wide, split, (uint64_t)group / split * columns};
}

/* Returns the threads that share a chunk of segments side by side, where there is no kernel of
 * columns (shared_part of kernels/segment_teams.h). A group has a warp of segments or more. */
static uint32_t threads_of_chunk(const tally_segments_plan *plan, uint64_t units, uint32_t team) {
    const uint64_t enough = (uint64_t)BUSY_THREADS * plan->base.context->info.compute_units;
    uint32_t split = 1;
    if (tally_lacking_feature(plan->base.context, 1u << TALLY_FEATURE_PTX) != TALLY_FEATURE_END) return 1;
    while (split < team && 2 * split * TALLY_WARP <= plan->group_threads && units * split < enough) split *= 2;
    return split;
}

/* Fewest chunks of all columns for each compute unit at which a group takes one. */
#define LEAST_FLAT 4

/* Tells whether groups take a chunk of all columns as one run: few columns, whose rows follow each
 * other without a gap, and of which the threads' columns would fill no tile. */
static bool are_flat(const tally_segments_plan *plan, const tally_array_shape *shape, uint64_t leaves) {
    const uint64_t extent = shape->axis[shape->reduced + shape->kept - 1].extent, acc_bytes = plan->base.terms.acc.bytes;
    const uint64_t most = TALLY_FLAT_BYTES / (acc_bytes > 4 ? acc_bytes : 4) / TALLY_LANES;
    if (!plan->flat || extent > most || shape->n < TALLY_LANES || shape->axis[0].in[0] != (int64_t)extent) return false;
    if (!(extent & (extent - 1)) && extent % columns_of(plan) == 0) return false;
    if (shape->count / extent * leaves < (uint64_t)LEAST_FLAT * plan->base.context->info.compute_units) return false;
    return leaves == 1 || leaves * extent <= plan->capacity;
}

/* A kernel that takes FLIGHT_ROWS chunk rows at once: of segments of up to `rows` rows. */
static tally_way take_rows(const tally_segments_plan *plan, void *kernel, uint32_t rows, uint32_t team) {
    return (tally_way){kernel, team, 1, 1, plan->group_threads / team * (tally_segments_flight(&plan->base.terms) / rows)};
}

/* Items of a quad, which a thread loads at once; bytes of a lane's items on their way; the most
 * quads of a row that a thread has (kernels/segment_quads.h). Bytes that memory gives at once. */
#define QUAD_ITEMS 4
#define LANE_BYTES 16
#define MOST_SLOTS 8
#define SECTOR_BYTES 32

/* Tells whether rows are aligned quads, if the inputs' buffers are. */
static bool are_quads(const tally_segments_plan *plan, const tally_segments_call *call, const tally_array_shape *shape) {
    bool are = tally_are_rows(shape, plan->base.terms.inputs) && shape->n % QUAD_ITEMS == 0;
    for (uint32_t k = 0; k < plan->base.terms.inputs; k++) {
        are = are && call->in_offset[k] % QUAD_ITEMS == 0;
        for (uint32_t a = 1; a <= shape->kept; a++) are = are && shape->axis[a].in[k] % QUAD_ITEMS == 0;
    }
    return are;
}

/* Chooses a team for rows of quads. A thread has a quad of each of several rows if rows are short,
 * and several slots of a row if they are longer. Returns false if a row has too many quads. */
static bool take_quads(const tally_segments_plan *plan, uint64_t n, tally_way *by) {
    const uint64_t bytes = plan->base.terms.inputs * tally_dtype_bytes(plan->base.terms.in), quad = QUAD_ITEMS * bytes;
    const uint32_t least = quad < SECTOR_BYTES ? (uint32_t)(SECTOR_BYTES / quad) : 1, group = plan->group_threads;
    uint32_t flight = LANE_BYTES;
    while (flight > 1 && flight * bytes > LANE_BYTES) flight /= 2;
    const uint32_t slots = flight < MOST_SLOTS ? flight : MOST_SLOTS;
    const uint32_t each = n <= 2 * QUAD_ITEMS * least || !plan->quads ? 1 : slots; /* slots of a thread for a row */
    uint32_t team = each > 1 ? least : 1;
    while (team < TALLY_WARP && (uint64_t)QUAD_ITEMS * each * team < n) team *= 2;
    *by = (tally_way){each > 1 ? plan->quads : plan->quad, team, 1, 1, (uint64_t)group / team * (flight / each)};
    return (uint64_t)QUAD_ITEMS * each * team >= n;
}

/* The most chunk rows of a row that is staged; warps of a compute unit that have rows each. */
#define MOST_DENSE_ROWS 4
#define BUSY_WARPS 32
#define VECTOR_BYTES UINT64_C(16) /* that a thread copies at once */

/* Rows of quads of so many items of 2 bytes, and more, are loaded from memory. `argmax` of rows of
 * 128 f16 had 0.53 of memory speed so, and 0.32 staged; of 64 0.29 and 0.35 (H200, December
 * 2026). */
#define FILLED_PAIRS 128
/* Rows of quads of up to so many items of 4 bytes are staged if accumulators are wide. `argmax` of
 * rows of 16 f32 had 0.68 of memory speed so, and 0.49 loaded; of 32 0.65 and 0.88. */
#define STAGED_WIDE 16

/* Tells whether plain rows of n items are loaded from memory, not staged. Other rows than quads are
 * if teams use most of what they have room for. */
static bool are_loaded(const tally_segments_plan *plan, uint64_t n, uint32_t team, bool quads) {
    const uint64_t bytes = tally_dtype_bytes(plan->base.terms.in);
    uint64_t room = (uint64_t)team * THREAD_LANES;
    while (room < n) room *= 2;
    if (!quads) return bytes == 4 && 4 * n >= 3 * room;
    if (bytes == 2) return n >= FILLED_PAIRS && n * bytes % SECTOR_BYTES == 0;
    return bytes == 4 && (plan->base.terms.acc.bytes <= 8 || n > STAGED_WIDE);
}

/* Returns the most lanes of a row of n items that a thread takes: DENSE_LANES of
 * kernels/segment_dense.h. Of rows of more than a chunk row it takes 8. Items of a byte that go to
 * any lane need one. */
static uint64_t dense_lanes(const tally_segments_plan *plan, uint64_t n) {
    const tally_terms *terms = &plan->base.terms;
    if (!(plan->flags & TALLY_WHERE) && tally_terms_pad_bytes(terms)) return TALLY_LANES;
    if (n > TALLY_LANES) return 8;
    return terms->acc.bytes <= 4 ? 32 : terms->acc.bytes <= 8 ? 16 : 8;
}

/* Returns the bytes from a row to the next one in a tile. Rows of 4, 6, 8, ... vectors have another
 * one between them, so that threads that load from several rows meet in few banks. So have rows of
 * 2 vectors, unless a thread may load vectors. */
static uint64_t dense_stride(const tally_segments_plan *plan, uint64_t bytes) {
    const uint64_t lanes = dense_lanes(plan, TALLY_LANES), item_bytes = tally_dtype_bytes(plan->base.terms.in);
    const bool has_vectors = plan->flags & TALLY_WHERE ? lanes >= VECTOR_BYTES : lanes * item_bytes >= VECTOR_BYTES;
    const bool takes_vectors = has_vectors && !tally_segments_take_pivot(plan);
    if (bytes % (2 * VECTOR_BYTES) || (takes_vectors && bytes == 2 * VECTOR_BYTES)) return bytes;
    return bytes + VECTOR_BYTES;
}

/* Takes rows that follow each other without a gap, a tile of them for each warp. `team` threads
 * share a row, so that a tile has one for each team. */
static bool take_dense(const tally_segments_plan *plan, const tally_array_shape *shape, tally_way *by) {
    const bool has_where = plan->flags & TALLY_WHERE;
    const uint64_t warps = (uint64_t)BUSY_WARPS * plan->base.context->info.compute_units;
    const uint64_t lanes = shape->n < TALLY_LANES ? shape->n : TALLY_LANES;
    const uint64_t stride = dense_stride(plan, shape->n * tally_dtype_bytes(plan->base.terms.in));
    const uint64_t mask = has_where ? dense_stride(plan, shape->n) : 0, bytes = stride + mask;
    const uint64_t most = dense_lanes(plan, shape->n);
    uint32_t team = 1;
    if (!plan->dense || (shape->n > 1 && !tally_are_rows(shape, 1)) || shape->n > MOST_DENSE_ROWS * TALLY_LANES) return false;
    if (shape->axis[1].in[0] < 0 || (uint64_t)shape->axis[1].in[0] != shape->n) return false;
    if (has_where && ((shape->n > 1 && shape->axis[0].where != 1) || shape->axis[1].where != shape->axis[1].in[0]))
        return false;
    while (TALLY_WARP / team * bytes > TALLY_DENSE_BYTES || team * most < lanes) {
        if (team == TALLY_WARP) return false;
        team *= 2;
    }
    /* Rows of more than a chunk row need all lanes of a team. */
    if (shape->n > TALLY_LANES && most < TALLY_LANES && team * most > TALLY_LANES) return false;
    uint64_t each = TALLY_DENSE_BYTES / (TALLY_WARP / team * bytes); /* rows of a team */
    while (each > 1 && shape->count / (TALLY_WARP / team * each) < warps) each /= 2;
    const uint64_t wide = TALLY_WARP / team * each;
    *by = (tally_way){plan->dense, team, (uint32_t)wide, (uint32_t)(stride | mask << 16),
                      plan->group_threads / TALLY_WARP * wide};
    return true;
}

/* Upper limit on the items of columns that are taken as rows. */
#define FEW_ROWS 8

tally_way tally_segments_way(const tally_segments_plan *plan, const tally_segments_call *call, const tally_array_shape *shape,
                             uint64_t leaves) {
    tally_way by;
    const uint64_t fastest = shape->axis[shape->reduced + shape->kept - 1].extent;
    if (!plan->variant->has_teams) return choose_cpu_way(plan, shape, leaves);
    const uint32_t team = team_of(shape->n), group = plan->group_threads;
    const uint64_t units = shape->count * leaves;
    const bool planes = plan->planes && shape->reduced == 2 && shape->axis[1].extent < MOST_PLANE;
    const uint32_t split = planes ? 1 : threads_of_chunk(plan, units, team);
    const bool threads = is_across(shape) && fastest >= TALLY_WARP / 4 &&
                         (units * split >= (uint64_t)LEAST_UNIT_THREADS * plan->base.context->info.compute_units || team == 1);
    const uint64_t few = is_across(shape) ? FEW_ROWS : TALLY_LANES;
    const bool quads = plan->quad && are_quads(plan, call, shape);
    if (shape->reduced == 1 && shape->kept == 1 && shape->n) {
        const bool plain = tally_segments_are_plain(plan);
        if (!(plain && are_loaded(plan, shape->n, team, quads)) && take_dense(plan, shape, &by)) return by;
        if (quads && take_quads(plan, shape->n, &by)) return by;
        if (plan->few && shape->n <= few) return take_rows(plan, plan->few, 1, team);
        if (plan->rows_2 && !is_across(shape) && shape->n <= 2 * TALLY_LANES) return take_rows(plan, plan->rows_2, 2, team);
        if (plan->rows_4 && !is_across(shape) && shape->n <= 4 * TALLY_LANES) return take_rows(plan, plan->rows_4, 4, team);
    }
    if (plan->columns && are_columns(shape, plan->base.terms.inputs)) {
        if (!are_flat(plan, shape, leaves)) return choose_columns(plan, shape, team, leaves);
        return (tally_way){plan->flat, team, (uint32_t)fastest, 1, fastest};
    }
    if (threads) return (tally_way){plan->threads, team, 1, split, group / split};
    if (quads && team == TALLY_WARP) return (tally_way){plan->quad_chunks, team, 1, 1, group / team};
    if (plan->single && shape->reduced == 1 && shape->n <= TALLY_LANES)
        return (tally_way){plan->single, team, 1, 1, group / team};
    return (tally_way){planes ? plan->planes : plan->teams, team, 1, 1, group / team};
}
