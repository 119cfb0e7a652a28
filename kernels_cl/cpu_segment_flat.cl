/* SPDX-License-Identifier: MIT */
/*
 * cpu_segment_flat: a chunk of narrow columns on a CPU, for one thread.
 *
 * Computes: nothing by itself. cpu_segments calls what stands here.
 * How: the rows of `width` columns follow each other without a gap, so that a chunk row of all of
 * them is LANES * width items side by side. Position f has lane f / width of segment f % width.
 * Lanes that are s apart are s * width positions apart. So the steps of the halving are vectors of
 * neighbours too, however few columns there are.
 * Needs: cpu_segment_blocks before it.
 * Why: a vector of the columns alone is not full, and a lane of all rows skips most of each line.
 */

#ifndef OFFSET
#ifndef WHERE
#define TAKES_FLAT
/* The lanes of MOST_FLAT segments fit a CPU's first cache. */
#define FLAT_BYTES 32768
#define FLAT_ROOM (FLAT_BYTES / sizeof(LANE_ARRAYS))
#define MOST_FLAT (FLAT_ROOM > 64 ? 64 : FLAT_ROOM ? FLAT_ROOM : 1)

/* Positions: f is place f % LANES of entry f / LANES. */
typedef struct {
    LANE_ARRAYS lanes[MOST_FLAT];
    u8 lane[MOST_FLAT][LANES];
#ifdef TAKES_PIVOT
    PIVOT pivot[MOST_FLAT][LANES];
#endif
} FLAT;

INLINE u32 is_flat(const NEIGHBOURS *b) {
    u32 flat = b->is_regular && b->chunk.count && b->width <= MOST_FLAT;
#define IS_FLAT(name) flat &= b->beside.in[name##_NUMBER] == 1 && b->item.in[name##_NUMBER] == (i64)b->width;
    EACH_INPUT(IS_FLAT)
    return flat;
}

INLINE CHUNK chunk_flat(const NEIGHBOURS *b, const FLAT *flat, u32 q, u32 i) {
    CHUNK c = b->chunk;
#ifdef TAKES_PIVOT
    c.pivot = flat->pivot[q][i];
#endif
    return c;
}

/* Takes the items of chunk rows r to r + rows - 1 into the first `end` places of entry q. */
#define FLAT_STEP(m)                                                                                                           \
    if ((m) < rows)                                                                                                            \
        a = lane_step(a, items_at(in, (m) * LANES * b->width + i), chunk_flat(b, flat, q, i), r + (m), flat->lane[q][i], in.p);
#define PREFETCH_FLAT(name)                                                                                                    \
    for (u32 m = 0; m < rows; m++)                                                                                             \
        for (u32 i = 0; i < LANES; i += 64 / ITEM_BYTES) PREFETCH_LINE(&in.name[m * LANES * b->width + i], AHEAD);
INLINE void entry_rows(const NEIGHBOURS *b, u32 q, u32 rows, u32 r, u32 end, FLAT *flat) {
    SOURCE in = b->in;
#define TO_ENTRY(name) in.name += (r * b->width + q) * LANES;
    EACH_INPUT(TO_ENTRY)
    EACH_INPUT(PREFETCH_FLAT)
    IN_VECTORS
    for (u32 i = 0; i < end; i++) {
        LANE a = r ? lanes_get(&flat->lanes[q], i) : lane_identity();
        FLAT_STEP(0)
        FLAT_STEP(1)
        FLAT_STEP(2)
        FLAT_STEP(3)
        lanes_set(&flat->lanes[q], i, a);
    }
}

/* Takes `count` items of each segment, from chunk row r on: `rows` whole rows, or less than one. */
INLINE void flat_rows(const NEIGHBOURS *b, u32 count, u32 rows, u32 r, FLAT *flat) {
    const u32 places = count * b->width;
    u32 q = 0;
    for (; q < (rows ? b->width : places / LANES); q++) entry_rows(b, q, rows ? rows : 1, r, LANES, flat);
    if (!rows && places % LANES) entry_rows(b, q, 1, r, places % LANES, flat);
}

/* Combines position f with position f + step, for each f below `step`. */
INLINE void join_flat(FLAT *flat, u32 step) {
    u32 run;
    for (u32 f = 0; f < step; f += run) {
        const u32 g = f + step, at = f % LANES, from = g % LANES;
        LANE_ARRAYS *left = &flat->lanes[f / LANES];
        const LANE_ARRAYS *right = &flat->lanes[g / LANES];
        run = min(step - f, (u32)LANES - max(at, from));
        if (run == LANES) {
            join_piece(LANES, left, right);
            continue;
        }
        IN_SAFE_VECTORS
        for (u32 i = 0; i < run; i++) lanes_set(left, at + i, lane_combine(lanes_get(left, at + i), lanes_get(right, from + i)));
    }
}

/* Puts the lane of each segment into `to`. */
OUT_OF_LINE void fold_flat(const NEIGHBOURS *restrict b, LANE_ARRAYS *restrict to) {
    const u32 count = b->chunk.count, rows = count / LANES;
    u32 lanes = LANES, r = 0;
    FLAT flat ALIGN(64);
    while (lanes / 2 >= count) lanes /= 2;
    for (u32 l = 0, f = 0; l < LANES; l++)
        for (u32 j = 0; j < b->width; j++, f++) {
            flat.lane[f / LANES][f % LANES] = (u8)l;
#ifdef TAKES_PIVOT
            flat.pivot[f / LANES][f % LANES] = b->pivot[j];
#endif
        }
    if (count < lanes)
        for (u32 f = 0; f < lanes * b->width; f++) lanes_set(&flat.lanes[f / LANES], f % LANES, lane_identity());
    for (; r + ROWS_AT_ONCE <= rows; r += ROWS_AT_ONCE)
        if (r)
            flat_rows(b, 0, ROWS_AT_ONCE, r, &flat);
        else
            flat_rows(b, 0, ROWS_AT_ONCE, 0, &flat);
    for (; r < rows; r++) flat_rows(b, 0, 1, r, &flat);
    if (count % LANES) flat_rows(b, count % LANES, 0, r, &flat);
    for (u32 s = lanes / 2; s; s /= 2) join_flat(&flat, s * b->width);
    *to = flat.lanes[0];
}
#endif

/* Puts the lanes of a chunk of neighbouring segments into the first lane of the room, if there are
 * any. */
INLINE void fold_neighbours(NEIGHBOURS *b, const SHAPE *shape, LANE_ARRAYS *room) {
#ifdef TAKES_FLAT
    if (is_flat(b)) {
        fold_flat(b, room);
        return;
    }
#endif
    fold_block(b, shape, room);
}

INLINE void take_neighbours(NEIGHBOURS *b, const SHAPE *shape, u32 is_staged, LANE_ARRAYS *room) {
    STAGED staged;
    if (is_staged) stage(b, &staged);
#ifdef TAKES_PIVOT
    if (b->chunk.count) find_pivots(b, shape, (PIVOT(*)[MOST_WIDTH])room);
#endif
    fold_neighbours(b, shape, room);
#ifdef PIVOT_MAY_MISS
    while (b->chunk.count && pivots_change(b, room)) fold_neighbours(b, shape, room);
#endif
}
#endif
