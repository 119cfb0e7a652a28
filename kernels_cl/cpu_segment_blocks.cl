/* SPDX-License-Identifier: MIT */
/*
 * cpu_segment_blocks: a chunk of neighbouring segments on a CPU, for one thread.
 *
 * Computes: nothing by itself. cpu_segments calls what stands here.
 * How: a block is the same chunk of up to MOST_WIDTH segments that are neighbours in memory. A
 * structure of arrays (LANE_ARRAYS) has one lane of LANES of them, and the compiler turns the loop
 * over them into vectors. The lanes come in bit-reversed order, so that a binary counter combines
 * them as the halving does. Short segments that are no neighbours are copied first, so that they
 * are.
 * Needs: cpu_segment_rows before it.
 * Why: neighbours are what a vector loads, and a lane of each needs less room than all of one.
 */

#ifndef OFFSET
#define LANE_LEVELS 7 /* of LANES lanes */
/* The most pieces of LANES segments that a block has. GB/s of 67,108 columns of 1,000 f32 in blocks
 * of 128, 256 and 1,024, POCL 3.1, 2 cores of an EPYC (Zen 5), November 2026: 34, 39, 41; of 2^24
 * columns of 4: 53, 59, 44. */
#define PIECES (sizeof(LANE_ARRAYS) > 1024 ? 1 : ITEM_BYTES > 2 ? 2 : 4)
#define MOST_WIDTH (PIECES * LANES)

/* A chunk of `width` <= MOST_WIDTH neighbouring segments. Item i of the chunk, of segment j, is
 * `item` times i and `beside` times j beyond `in`. If it is not regular, the shape says instead how
 * far item chunk.index + i is from `in`. */
typedef struct {
    SOURCE in;
    GLOBAL const u8 *where;
    STEPS item, beside;
    u32 is_regular, width;
    CHUNK chunk;
#ifdef TAKES_PIVOT
    PIVOT pivot[MOST_WIDTH];
#endif
#ifdef WHERE
    u32 has[MOST_WIDTH];
#endif
} NEIGHBOURS;

/* One item of each segment: their first one's, and where its mask is. */
typedef struct {
    SOURCE in;
    GLOBAL const u8 *where;
} ROW;

INLINE ROW row_at(const NEIGHBOURS *b, const SHAPE *shape, u32 i) {
    ROW row;
    row.in = b->in;
    row.where = b->where;
    if (b->is_regular) {
#define TO_REGULAR(name) row.in.name += (i64)i * b->item.in[name##_NUMBER];
        EACH_INPUT(TO_REGULAR)
        row.where += (i64)i * b->item.where;
    } else {
        const STEPS place = item_steps(shape, b->chunk.index + i);
#define TO_ITEM(name) row.in.name += place.in[name##_NUMBER];
        EACH_INPUT(TO_ITEM)
        row.where += place.where;
    }
    return row;
}

/* The row's item of segment j. `side`: segments are side by side. */
INLINE ITEMS item_of(const NEIGHBOURS *b, ROW row, u32 j, u32 side) {
    ITEMS v;
    if (side) return items_at(row.in, j);
#define ITEM_BESIDE(name) v.name = row.in.name[(i64)j * b->beside.in[name##_NUMBER]];
    EACH_INPUT(ITEM_BESIDE)
    return v;
}

#ifdef WHERE
#define IF_HAS(row, j) if ((row).where[(i64)(j)*b->beside.where])
#else
#define IF_HAS(row, j)
#endif

INLINE CHUNK chunk_beside(const NEIGHBOURS *b, u32 j) {
    CHUNK c = b->chunk;
#ifdef TAKES_PIVOT
    c.pivot = b->pivot[j];
#endif
    return c;
}

#ifdef WHERE
#define HAS(b, j) (b)->has[j]
#else
#define HAS(b, j) (b)->chunk.count
#endif

/* The k-th of 2^bits lanes in bit-reversed order. */
INLINE u32 turn(u32 k, u32 bits) {
    u32 l = 0;
    for (u32 b = 0; b < bits; b++) l |= (k >> b & 1) << (bits - 1 - b);
    return l;
}

/* Visits `count` <= LANES lanes in bit-reversed order. MAKE_LANE(level, l) makes lane l in that
 * level of a counter. JOIN(left, right) combines two levels into the left one. Level 0 becomes the
 * tree over the lanes. Of a pair of lanes the right one may be absent. */
#define VISIT_LANES(count, MAKE_LANE, JOIN)                                                                                    \
    {                                                                                                                          \
        u32 bits = 0, top = 0;                                                                                                 \
        while ((count) >> bits && (count) != 1U << bits) bits++;                                                               \
        for (u32 k = 0; !(k >> bits); k++) {                                                                                   \
            const u32 l = turn(k, bits), is = l < (count);                                                                     \
            if (is) {                                                                                                          \
                MAKE_LANE(top, l)                                                                                              \
                top++;                                                                                                         \
            }                                                                                                                  \
            for (u32 m = k, joins = is; m & 1; m >>= 1, joins = 1)                                                             \
                if (joins) {                                                                                                   \
                    top--;                                                                                                     \
                    JOIN(top - 1, top)                                                                                         \
                }                                                                                                              \
        }                                                                                                                      \
    }

/* The way to what comes AHEAD bytes later. */
typedef struct {
    i64 items, segments;
} LATER;

/* Takes the items of chunk rows r to r + rows - 1 into lane l of the segments of a piece, which
 * begins with segment `first`. */
#define NEXT_OF_SIDE(m)                                                                                                        \
    if ((m) < rows) IF_HAS(row[m], first + j) a = lane_step(a, items_at(row[m].in, first + j), c, r + (m), l, p);
#define NEXT_OF(m)                                                                                                             \
    if ((m) < rows) IF_HAS(row[m], first + j) a = lane_step(a, item_of(b, row[m], first + j, side), c, r + (m), l, p);
#define AHEAD_OF(name) ((later.items * b->item.in[name##_NUMBER] + later.segments) * ITEM_BYTES)
#define PREFETCH_PIECE(name)                                                                                                   \
    for (u32 j = 0; j < LANES; j += 64 / ITEM_BYTES) PREFETCH_LINE(&row[m].in.name[first + j], AHEAD_OF(name));
INLINE void piece_rows(const NEIGHBOURS *b, const ROW *row, LATER later, u32 rows, u32 r, u32 l, u32 first, u32 width,
                       u32 side, LANE_ARRAYS *to) {
    const PARAMS p = b->in.p;
    if (side)
        for (u32 m = 0; m < rows; m++) {
            EACH_INPUT(PREFETCH_PIECE)
        }
    IN_VECTORS
    for (u32 j = 0; j < width; j++) {
        const CHUNK c = chunk_beside(b, first + j);
        LANE a = r ? lanes_get(to, j) : lane_identity();
        NEXT_OF(0)
        NEXT_OF(1)
        NEXT_OF(2)
        NEXT_OF(3)
        lanes_set(to, j, a);
    }
}

/* The same of WIDE segments of a piece that are side by side, from its segment `part` on. Some may
 * be beyond the block. */
#define PREFETCH_PART(name)                                                                                                    \
    for (u32 j = 0; j < WIDE; j += 64 / ITEM_BYTES) PREFETCH_LINE(&row[m].in.name[first + j], AHEAD_OF(name));
INLINE void part_rows(const NEIGHBOURS *b, const ROW *row, LATER later, u32 rows, u32 r, u32 l, u32 first, u32 part,
                      LANE_ARRAYS *to) {
    const PARAMS p = b->in.p;
    const u32 left = b->width - first - part;
    first += part;
    for (u32 m = 0; m < rows; m++) {
        EACH_INPUT(PREFETCH_PART)
    }
    IN_VECTORS_ROLLED
    for (u32 i = 0; i < WIDE; i++) {
        LANE a = r ? lanes_get(to, part + i) : lane_identity();
        if (i < left) {
            const u32 j = i;
            const CHUNK c = chunk_beside(b, first + i);
            NEXT_OF_SIDE(0)
            NEXT_OF_SIDE(1)
            NEXT_OF_SIDE(2)
            NEXT_OF_SIDE(3)
        }
        lanes_set(to, part + i, a);
    }
}

/* The loops of pieces that are whole and side by side have constant lengths and steps. */
INLINE void block_rows(const NEIGHBOURS *b, const ROW *row, LATER later, u32 rows, u32 r, u32 l, LANE_ARRAYS *to,
                       u32 side) {
    for (u32 q = 0; q * LANES < b->width; q++) {
        const u32 width = min(b->width - q * LANES, (u32)LANES);
        if (side && width == LANES)
            piece_rows(b, row, later, rows, r, l, q * LANES, LANES, 1, &to[q]);
        else if (side)
            for (u32 first = 0; first < width; first += WIDE)
                part_rows(b, row, later, rows, r, l, q * LANES, first, &to[q]);
        else
            piece_rows(b, row, later, rows, r, l, q * LANES, width, 0, &to[q]);
    }
}

/* Puts lane l of each segment into `to`, and adds the numbers of their items to b->has. */
#define ROWS_AT_ONCE 4
INLINE void block_lane(NEIGHBOURS *b, const SHAPE *shape, u32 l, LATER later, LANE_ARRAYS *to, u32 side) {
    const u32 rows = (b->chunk.count - l + LANES - 1) / LANES;
    ROW row[ROWS_AT_ONCE];
    u32 r = 0;
    for (; r + ROWS_AT_ONCE <= rows; r += ROWS_AT_ONCE) {
        for (u32 m = 0; m < ROWS_AT_ONCE; m++) row[m] = row_at(b, shape, (r + m) * LANES + l);
        if (r)
            block_rows(b, row, later, ROWS_AT_ONCE, r, l, to, side);
        else
            block_rows(b, row, later, ROWS_AT_ONCE, 0, l, to, side);
    }
    for (; r < rows; r++) {
        row[0] = row_at(b, shape, r * LANES + l);
        if (r)
            block_rows(b, row, later, 1, r, l, to, side);
        else
            block_rows(b, row, later, 1, 0, l, to, side);
    }
#ifdef WHERE
    for (u32 i = l; i < b->chunk.count; i += LANES) {
        row[0] = row_at(b, shape, i);
        for (u32 j = 0; j < b->width; j++) b->has[j] += row[0].where[(i64)j * b->beside.where] != 0;
    }
#endif
}

/* Combines the lanes of each segment in `left` and `right`, into `left`. */
INLINE void join_piece(u32 width, LANE_ARRAYS *left, const LANE_ARRAYS *right) {
    IN_VECTORS
    for (u32 j = 0; j < width; j++) lanes_set(left, j, lane_combine(lanes_get(left, j), lanes_get(right, j)));
}

INLINE void join_lanes(u32 width, LANE_ARRAYS *left, const LANE_ARRAYS *right) {
    for (u32 q = 0; q * LANES < width; q++)
        if (width - q * LANES >= LANES)
            join_piece(LANES, &left[q], &right[q]);
        else
            join_piece(width - q * LANES, &left[q], &right[q]);
}

/* Puts the lane of each segment into level 0. */
OUT_OF_LINE void fold_block(NEIGHBOURS *restrict b, const SHAPE *restrict shape, LANE_ARRAYS (*restrict level)[PIECES]) {
    const u32 lanes = min(b->chunk.count, (u32)LANES);
    u32 side = 1;
#define IS_SIDE(name) side &= b->beside.in[name##_NUMBER] == 1;
    EACH_INPUT(IS_SIDE)
#ifdef WHERE
    for (u32 j = 0; j < b->width; j++) b->has[j] = 0;
#endif
    /* The bytes AHEAD are another lane of the same block, or of the next one. */
    const u32 lane_bytes = b->width * ITEM_BYTES * ((b->chunk.count + LANES - 1) / LANES);
    const u32 turns = (AHEAD + lane_bytes - 1) / (lane_bytes + !lane_bytes);
#define MAKE_LANES(top, l)                                                                                                     \
    const LATER later = {(i64)turn(k + turns, bits) - l, (i64)((k + turns) >> bits) * b->width};                               \
    block_lane(b, shape, l, later, level[top], side);
#define JOIN_LANES(left, right) join_lanes(b->width, level[left], level[right]);
    VISIT_LANES(lanes, MAKE_LANES, JOIN_LANES)
}

#ifdef TAKES_PIVOT
/* Finds the segments' pivots. */
OUT_OF_LINE void find_pivots(NEIGHBOURS *restrict b, const SHAPE *restrict shape) {
    const u32 halvings = pivot_halvings(b->chunk.count), items = LANES >> halvings;
    PIVOT level[LANE_LEVELS + 1][MOST_WIDTH] ALIGN(64);
#ifdef WHERE
    u32 masked[MOST_WIDTH];
    for (u32 j = 0; j < b->width; j++) masked[j] = 0;
#define SEE_MASK                                                                                                               \
    for (u32 j = 0; j < b->width; j++) masked[j] |= row.where[(i64)j * b->beside.where] == 0;
#else
#define SEE_MASK
#endif
#define LOAD_PIVOTS(top, l)                                                                                                    \
    const ROW row = row_at(b, shape, l);                                                                                       \
    for (u32 j = 0; j < b->width; j++) level[top][j] = pivot_load(item_of(b, row, j, 0));                                      \
    SEE_MASK
#define JOIN_PIVOTS(left, right)                                                                                               \
    for (u32 j = 0; j < b->width; j++) level[left][j] = pivot_combine(level[left][j], level[right][j]);
    VISIT_LANES(items, LOAD_PIVOTS, JOIN_PIVOTS)
    for (u32 j = 0; j < b->width; j++) b->pivot[j] = pivot_value(level[0][j], halvings);
#ifdef WHERE
    for (u32 j = 0; j < b->width; j++)
        for (u32 i = 0; masked[j] && i < b->chunk.count; i++) {
            const ROW row = row_at(b, shape, i);
            IF_HAS(row, j) {
                b->pivot[j] = pivot_value(pivot_load(item_of(b, row, j, 0)), 7);
                masked[j] = 0;
            }
        }
#endif
}
#endif

#ifdef PIVOT_MAY_MISS
INLINE u32 pivots_change(NEIGHBOURS *b, const LANE_ARRAYS *lanes) {
    u32 changes = 0;
    for (u32 j = 0; j < b->width; j++)
        changes |= pivot_changes(&b->pivot[j], pivot_value(pivot_of_lane(lanes_get(&lanes[j / LANES], j % LANES)), 0));
    return changes;
}
#endif

/* Copies the chunk so that neighbours are side by side. */
#define STAGED_ITEMS (ITEM_BYTES < 4 ? 128 : 256 / ITEM_BYTES)
typedef struct {
    ITEM items[INPUTS][STAGED_ITEMS][LANES] ALIGN(64);
#ifdef WHERE
    u8 mask[STAGED_ITEMS][LANES];
#endif
} STAGED;

#define STAGE(to, from, member)                                                                                                \
    for (u32 j = 0; j < b->width; j++)                                                                                         \
        for (u32 i = 0; i < b->chunk.count; i++) (to)[i][j] = (from)[(i64)j * b->beside.member + (i64)i * b->item.member];
INLINE void stage(NEIGHBOURS *b, STAGED *staged) {
#define STAGE_INPUT(name)                                                                                                      \
    STAGE(staged->items[name##_NUMBER], b->in.name, in[name##_NUMBER])                                                         \
    b->in.name = AS_GLOBAL(ITEM, staged->items[name##_NUMBER]);                                                                \
    b->item.in[name##_NUMBER] = LANES;                                                                                         \
    b->beside.in[name##_NUMBER] = 1;
    EACH_INPUT(STAGE_INPUT)
#ifdef WHERE
    STAGE(staged->mask, b->where, where)
    b->where = AS_GLOBAL(u8, staged->mask);
    b->item.where = LANES;
    b->beside.where = 1;
#endif
}

/* Opens chunk `chunk` of `width` segments from s on, which lie along the last kept axis. */
INLINE NEIGHBOURS neighbours_of(const SEGMENT *s, const SHAPE *shape, u64 chunk, u32 width) {
    const AXIS *along = &shape->axis[shape->reduced + shape->kept - 1], *a = &shape->axis[0];
    NEIGHBOURS b;
    b.in = s->in;
    b.where = s->where;
    b.is_regular = shape->reduced == 1;
    b.width = width;
    b.chunk = chunk_of(s->n, chunk);
    const u64 i = b.is_regular ? b.chunk.index : 0;
#define OPEN_INPUT(name)                                                                                                       \
    b.item.in[name##_NUMBER] = a->in[name##_NUMBER];                                                                           \
    b.beside.in[name##_NUMBER] = along->in[name##_NUMBER];                                                                     \
    b.in.name += (i64)i * a->in[name##_NUMBER];
    EACH_INPUT(OPEN_INPUT)
    b.item.where = a->where;
    b.beside.where = along->where;
    b.beside.out = along->out;
    b.where += (i64)i * a->where;
    return b;
}

/* Tells whether neighbouring segments are side by side. */
INLINE u32 are_beside(const SHAPE *shape) {
    u32 beside = 1;
#define IS_BESIDE(name) beside &= shape->axis[shape->reduced + shape->kept - 1].in[name##_NUMBER] == 1;
    EACH_INPUT(IS_BESIDE)
    return beside;
}

#endif
