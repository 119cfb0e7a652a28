/* SPDX-License-Identifier: MIT */
/*
 * segment_steps: the same chunk of neighbouring segments, 128 or more, as programs.h describes it.
 * entry.h includes it.
 *
 * The vectors are neighbours of one lane, and memory is read by rows. The lanes are taken in groups
 * of neighbours. A group's rows are neighbours too, and the accumulators of a few groups stay in
 * the cache.
 */
/* Without vectors nothing is gained by neighbours. */
#ifndef HAS_VECTORS
#define BLOCK_STEPS .block_bytes = 0
#else
#define BLOCK_STEPS .block_bytes = sizeof(LANE_ARRAYS), .fold_block = OF_FIRST(fold_chunks), .finish_block = finish_accs

/* `pivots` has LANES of them for each block. */
#ifdef TAKES_PIVOT
#define PIVOTS_OF(b) , &pivots[(b)*LANES]
#else
#define PIVOTS_OF(b)
#endif

INLINE void clear_block(LANE_ARRAYS *lanes) {
    SIDE_BY_SIDE
    for (int s = 0; s < LANES; s++) lanes_set(lanes, s, lane_identity());
}

/* Rows that are taken at once. */
#define ROWS 4
#define LOAD_ROW(m) const LOADED_SOURCE row##m = load_some(in[(m) % rows], LANES, 0, room[(m) % rows]);
#define LOAD_ROWS                                                                                                              \
    LOADED room[ROWS][ROOM_ITEMS(LANES)];                                                                                      \
    LOAD_ROW(0)                                                                                                                \
    LOAD_ROW(1)                                                                                                                \
    LOAD_ROW(2)                                                                                                                \
    LOAD_ROW(3)

/* Takes `rows` rows: the next items of lane l of each segment. */
#define NEXT_ROW(m)                                                                                                            \
    if ((m) < rows) a = lane_step(a, loaded_at(row##m, s), c, row + (m), l, in->p);
INLINE COPIED void step_block(LANE_ARRAYS *restrict lanes, const SOURCE *in, CHUNK c, u32 rows, u32 row, u32 l WITH_PIVOTS) {
    LOAD_ROWS
    SIDE_BY_SIDE
    for (int s = 0; s < LANES; s++) {
        LANE a = lanes_get(lanes, s);
        TAKE_PIVOT(s)
        NEXT_ROW(0)
        NEXT_ROW(1)
        NEXT_ROW(2)
        NEXT_ROW(3)
        lanes_set(lanes, s, a);
    }
}

/* Takes the first rows of a quad: `rows` of them, `apart` rows apart. They are the only ones of
 * four lanes, those of two lanes, or the first two of one. Combines these lanes. To inline this
 * would take the compiler 5% longer. */
#define FIRST_ROW(m) lane_step(lane_identity(), loaded_at(row##m, s), c, 0, l + (m)*apart, in->p)
#define NEXT_OF(a, m, first) lane_step(a, loaded_at(row##m, s), c, 1, l + (first)*apart, in->p)
#define SET_LANES(last, even, odd)                                                                                             \
    SIDE_BY_SIDE                                                                                                               \
    for (int s = 0; s < LANES; s++) {                                                                                          \
        TAKE_PIVOT(s)                                                                                                          \
        const LANE first = FIRST_ROW(0), later = last;                                                                         \
        lanes_set(lanes, s, lane_combine(even, odd));                                                                          \
    }
static NOT_INLINED WHOLE_STEP void quad_block(LANE_ARRAYS *restrict lanes, const SOURCE *in, CHUNK c, u32 rows, u32 apart,
                                              u32 l WITH_PIVOTS) {
    LOAD_ROWS
    if (apart == LANES) {
        SIDE_BY_SIDE
        for (int s = 0; s < LANES; s++) {
            TAKE_PIVOT(s)
            lanes_set(lanes, s, NEXT_OF(FIRST_ROW(0), 1, 0));
        }
    } else if (apart == LANES / 2 && rows == ROWS) {
        SET_LANES(FIRST_ROW(1), NEXT_OF(first, 2, 0), NEXT_OF(later, 3, 1))
    } else if (apart == LANES / 2 && rows == 3) {
        SET_LANES(FIRST_ROW(1), NEXT_OF(first, 2, 0), later)
    } else if (rows == ROWS) {
        SET_LANES(FIRST_ROW(2), lane_combine(first, later), lane_combine(FIRST_ROW(1), FIRST_ROW(3)))
    } else {
        const bool has_third = rows > 2;
        SET_LANES(FIRST_ROW(2), lane_combine(first, has_third ? later : lane_identity()), FIRST_ROW(1))
    }
}

static NOT_INLINED void combine_blocks(LANE_ARRAYS *restrict lanes, const LANE_ARRAYS *restrict right) {
    SIDE_BY_SIDE
    for (int s = 0; s < LANES; s++) lanes_set(lanes, s, lane_combine(lanes_get(lanes, s), lanes_get(right, s)));
}

/* Rows ahead that are prefetched: the next row is in another page, of which the processor does not
 * know. GB/s of a core, columns of 4,096 f32 in rows of 8,192, 128 at once, without and with it, by
 * an EPYC (Zen 4), November 2026: sum 9.3, 12.9; max 6.2, 11.5; argmax 2.8, 8.6. 8 to 32 rows were
 * no better. */
#define ROWS_AHEAD 4
#define PREFETCH_ROW(name)                                                                                                     \
    for (u64 s = 0; s < width; s += 64 / ITEM_BYTES)                                                                           \
        PREFETCH_LINE(&in[m].name[s], steps[name##_INDEX] * (ROWS_AHEAD * ITEM_BYTES));

/* Returns the first segment of block b. The last block ends with the segments, and may have some of
 * the block before it. */
INLINE u64 block_begin(u64 b, u64 width) {
    return (b + 1) * LANES <= width ? b * LANES : width - LANES;
}

/* Returns the first of the j-th group of `all` lanes. Two groups that follow each other are
 * combined next. */
INLINE u32 group_begin(u32 j, u32 group, u32 all) {
    u32 lane = 0;
    for (u32 bit = all / 2; bit >= group; bit /= 2, j /= 2) lane += j % 2 * bit;
    return lane;
}

/* The places of later rows. */
#define BY_ROWS(name) .name = in.name + steps[name##_INDEX] * rows,
INLINE SOURCE rows_on(SOURCE in, const i64 *steps, i64 rows) {
    enum { x_INDEX, y_INDEX, z_INDEX, w_INDEX };
    return (SOURCE){EACH_INPUT(BY_ROWS).p = in.p};
}

/* Finds `rows` rows, which are `apart` rows apart. */
static NOT_INLINED void find_rows(SOURCE from, const i64 *steps, u32 rows, u32 i, u32 apart, u64 width, bool is_far,
                                  SOURCE *in) {
    enum { x_INDEX, y_INDEX, z_INDEX, w_INDEX };
    for (u32 m = 0; m < rows; m++) {
        in[m] = rows_on(from, steps, i + m * apart);
        if (is_far) {
            EACH_INPUT(PREFETCH_ROW)
        }
    }
}

/* Calls STEP for each block b, of which in[m] is row m. */
#define EACH_BLOCK(rows, apart, STEP)                                                                                          \
    SOURCE row_at[ROWS], in[ROWS];                                                                                             \
    find_rows(from, steps, rows, i, apart, width, is_far, row_at);                                                             \
    for (u64 b = 0; b * LANES < width; b++) {                                                                                  \
        for (u32 m = 0; m < (rows); m++) in[m] = segments_on(row_at[m], block_begin(b, width));                                \
        STEP;                                                                                                                  \
    }

/* Takes `rows` rows from row i on, of all blocks. */
INLINE COPIED void step_blocks(LANE_ARRAYS *lanes, SOURCE from, const i64 *steps, CHUNK c, u32 rows, u32 i, u64 width,
                               bool is_far WITH_PIVOTS) {
    const u32 row = i / LANES, l = i % LANES;
    EACH_BLOCK(rows, LANES, step_block(&lanes[b], in, c, rows, row, l PIVOTS_OF(b)))
}

/* Takes the first rows of each of the `used` quads of a group, `apart` quads in all, from quad
 * `begin` on. lanes[k * blocks + b] becomes what quad k gives of each segment of block b. */
INLINE void fold_quads(LANE_ARRAYS *lanes, SOURCE from, const i64 *steps, CHUNK c, u32 apart, u32 begin, u32 used, u64 width,
                       bool is_far WITH_PIVOTS) {
    const u64 blocks = (width + LANES - 1) / LANES;
    const u32 most = apart < LANES ? ROWS : 2;
    for (u32 i = begin; i < begin + used; i++, lanes += blocks) {
        const u32 left = (c.count - i + apart - 1) / apart, rows = left < most ? left : most;
        EACH_BLOCK(rows, apart, quad_block(&lanes[b], in, c, rows, apart, i PIVOTS_OF(b)))
    }
}

/* Takes the rows of `used` lanes from row i on. */
INLINE void fold_rows(LANE_ARRAYS *lanes, SOURCE in, const i64 *steps, CHUNK c, u32 i, u32 used, u64 width,
                      bool is_far WITH_PIVOTS) {
    const u64 blocks = (width + LANES - 1) / LANES;
    for (; i + used + (ROWS - 1) * LANES <= c.count; i += ROWS * LANES)
        for (u32 k = 0; k < used; k++) step_blocks(&lanes[k * blocks], in, steps, c, ROWS, i + k, width, is_far AND_PIVOTS);
    for (; i < c.count; i += LANES)
        for (u32 k = 0; k < used && i + k < c.count; k++)
            step_blocks(&lanes[k * blocks], in, steps, c, 1, i + k, width, is_far AND_PIVOTS);
}

/* Folds all lanes: lanes[b] becomes that of block b's segments. If no lane has more than three
 * rows, the first rows of `all` quads are taken. A quad is one lane in what follows. */
INLINE void fold_lanes(LANE_ARRAYS *const first, SOURCE in, const i64 *steps, CHUNK c, u64 width, u32 group,
                       bool is_far WITH_PIVOTS) {
    const bool quads = c.count > 1 && c.count <= (ROWS - 1) * LANES;
    u32 all = LANES;
    while (all > 1 && all * (ROWS / 2) >= c.count) all /= 2;
    if (group > all) group = all;
    const u64 blocks = (width + LANES - 1) / LANES, node = group * blocks;
    LANE_ARRAYS *lanes = first;
    for (u32 j = 0; j < all / group; j++, lanes += node) {
        const u32 begin = group_begin(j, group, all);
        if (quads)
            fold_quads(lanes, in, steps, c, all, begin, group, width, is_far AND_PIVOTS);
        else
            for (u64 b = 0; b < node; b++) clear_block(&lanes[b]);
        fold_rows(lanes, in, steps, c, quads ? begin + 2 * LANES : begin, group, width, is_far AND_PIVOTS);
        for (u32 t = 1; j & t; t *= 2) { /* the right one of a pair */
            lanes -= node;
            for (u64 a = 0; a < node; a++) combine_blocks(&lanes[a], &lanes[a + node]);
        }
    }
    for (u32 s = group / 2; s; s /= 2)
        for (u32 l = 0; l < s; l++)
            for (u64 b = 0; b < blocks; b++) combine_blocks(&first[l * blocks + b], &first[(l + s) * blocks + b]);
}

#ifdef TAKES_PIVOT
_Static_assert(sizeof(LANE_ARRAYS) >= LANES * sizeof(PIVOT), "a lane's place holds its pivots");

/* Finds the pivots of all segments. The first rows come in bit-reversed order, so that a binary
 * counter combines them as the halving does. `room` has 8 levels of a pivot for each segment. */
static void find_pivots(SOURCE in, const i64 *steps, u32 count, u64 width, PIVOT *restrict room, PIVOT *restrict pivots) {
    const u32 halvings = pivot_halvings(count), rows = LANES >> halvings;
    const u64 blocks = (width + LANES - 1) / LANES, all = blocks * LANES;
    PIVOT *restrict top = room;
    for (u32 k = 0; k < rows; k++, top += all) {
        const SOURCE row = rows_on(in, steps, group_begin(k, 1, rows));
        for (u64 b = 0; b < blocks; b++) {
            LOADED space[ROOM_ITEMS(LANES)];
            const LOADED_SOURCE items = load_some(segments_on(row, block_begin(b, width)), LANES, 0, space);
            SIDE_BY_SIDE
            for (int s = 0; s < LANES; s++) top[b * LANES + s] = pivot_load(loaded_at(items, s));
        }
        for (u32 m = k; m & 1; m >>= 1) {
            top -= all;
            SIDE_BY_SIDE
            for (u64 s = 0; s < all; s++) top[s] = pivot_combine(top[s], top[s + all]);
        }
    }
    for (u64 s = 0; s < all; s++) pivots[s] = pivot_value(room[s], halvings);
}
#endif

#ifdef PIVOT_MAY_MISS
INLINE u32 pivots_change(PIVOT *pivots, const LANE_ARRAYS *lanes, u64 blocks) {
    u32 changes = 0;
    for (u64 b = 0; b < blocks; b++) SIDE_BY_SIDE
    for (int s = 0; s < LANES; s++)
        changes |= pivot_changes(&pivots[b * LANES + s], pivot_value(pivot_of_lane(lanes_get(&lanes[b], s)), 0));
    return changes;
}
#define PIVOTS_CHANGE pivots_change(pivots, lanes, blocks)
#else
#define PIVOTS_CHANGE 0
#endif

static void fold_chunks(const void *const *items, const i64 *steps, const void *params, u64 base, u64 n, u64 width, u32 group,
                        bool is_far, void *scratch, void *accs) {
    const SOURCE in = source_at(items, params);
    CHUNK c = {.index = base, .count = (u32)n};
    const u64 blocks = (width + LANES - 1) / LANES;
    LANE_ARRAYS *lanes = (LANE_ARRAYS *)scratch + blocks;
#ifdef TAKES_PIVOT
    PIVOT *pivots = scratch;
    find_pivots(in, steps, c.count, width, (PIVOT *)lanes, pivots);
#endif
    do {
        fold_lanes(lanes, in, steps, c, width, group, is_far AND_PIVOTS);
    } while (PIVOTS_CHANGE);
    for (u64 b = 0; b < blocks; b++) SIDE_BY_SIDE
    for (int s = 0; s < LANES; s++) {
        TAKE_PIVOT(b * LANES + s)
        ((ACC *)accs)[block_begin(b, width) + s] = lane_value(lanes_get(&lanes[b], s), c);
    }
    LEAVE_VECTORS
}

/* Where the op has usual results, which become vectors, they are taken if all are usual. */
static WHOLE_STEP void finish_accs(const void *given, u64 n, u64 width, const void *params, void *to) {
    const PARAMS p = params_at(params);
    const ACC *restrict accs = given;
    RESULT *restrict results = to;
    u32 is_unusual = 1;
#ifdef USUAL
    const ACC f = accs[0];
    is_unusual = 0;
    for (u64 s = 0; s < width; s++) is_unusual |= !op_is_usual(accs[s], f, n, p);
    for (u64 s = 0; s < width && !is_unusual; s++) results[s] = op_usual(accs[s], f, n, p);
#endif
    for (u64 s = 0; s < width && is_unusual; s++) results[s] = op_result(accs[s], n, p);
    LEAVE_VECTORS
}
#endif

/* ---- an initial result ----------------------------------------------------------------------- */

#ifdef HAS_INITIAL
static void begin_with(const void *result, void *acc) {
    RESULT given;
    memcpy(&given, result, sizeof(given));
    *(ACC *)acc = op_initial(given);
    LEAVE_VECTORS
}
#define INITIAL_STEP begin_with
#else
#define INITIAL_STEP 0
#endif
