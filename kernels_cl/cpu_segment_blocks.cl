/* SPDX-License-Identifier: MIT */
/*
 * cpu_segment_blocks: a chunk of neighbouring segments on a CPU, for one thread.
 *
 * Computes: nothing by itself. cpu_segments calls what stands here.
 * How: a block is the same chunk of up to MOST_WIDTH segments that are neighbours in memory. It has
 * pieces of LANES segments. A structure of arrays (LANE_ARRAYS) has one lane of a piece, and the
 * compiler turns the loop over its segments into vectors. Neighbouring lanes are folded together,
 * as many as the room has place for, since their rows are neighbours in memory. Such groups come in
 * bit-reversed order, so that a binary counter combines them as the halving does. Short segments
 * that are no neighbours are copied first, so that they are.
 * Needs: cpu_segment_rows before it.
 * Why: neighbours are what a vector loads, and a lane of each needs less room than all of one.
 */

#ifndef OFFSET
/* The most pieces of a block: the accumulators of a lane of all pieces fit a CPU's first cache.
 * The room for lanes fits its second one. GB/s of the sum along the first axis of (8192, 8192) f32,
 * POCL 3.1, 2 cores of an EPYC (Zen 5), November 2026, in blocks of 256, 2,048 and 8,192 segments:
 * 32, 40, 48. */
#define PIECES (sizeof(LANE_ARRAYS) < 16384 ? 32768 / sizeof(LANE_ARRAYS) : 1)
#define MOST_WIDTH (PIECES * LANES)
#define ROOM (24 * PIECES)

/* A chunk of `width` <= MOST_WIDTH neighbouring segments. Item i of the chunk, of segment j, is
 * `item` times i and `beside` times j beyond `in`. If it is not regular, the shape says instead how
 * far item chunk.index + i is from `in`. */
typedef struct {
    SOURCE in;
    GLOBAL const u8 *where;
    STEPS item, beside;
    u32 is_regular, width, pieces;
    u32 group; /* lanes that are folded together, a power of two */
    CHUNK chunk;
#ifdef TAKES_PIVOT
    PIVOT pivot[MOST_WIDTH];
#endif
#ifdef WHERE
    u32 has[MOST_WIDTH];
#endif
} NEIGHBOURS;

#define ROWS_AT_ONCE 4 /* of a lane, so that its accumulators are loaded and stored once */

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

/* Visits `count` lanes, or groups of them, in bit-reversed order. MAKE(level, l) makes number l in
 * that level of a counter. JOIN(left, right, r) combines two levels into the left one, of which the
 * right one begins with number r. Level 0 becomes the tree. Of a pair the right one may be
 * absent. */
#define VISIT_LANES(count, MAKE, JOIN)                                                                                         \
    {                                                                                                                          \
        u32 bits = 0, top = 0;                                                                                                 \
        while ((count) >> bits && (count) != 1U << bits) bits++;                                                               \
        for (u32 k = 0; !(k >> bits); k++) {                                                                                   \
            const u32 l = turn(k, bits), is = l < (count);                                                                     \
            if (is) {                                                                                                          \
                MAKE(top, l)                                                                                                   \
                top++;                                                                                                         \
            }                                                                                                                  \
            for (u32 m = 0, joins = is; k >> m & 1; m++, joins = 1)                                                            \
                if (joins) {                                                                                                   \
                    top--;                                                                                                     \
                    JOIN(top - 1, top, l & ((1U << bits >> m) - 1))                                                            \
                }                                                                                                              \
        }                                                                                                                      \
    }

/* Tells whether segments are side by side. */
INLINE u32 are_side(const NEIGHBOURS *b) {
    u32 side = 1;
#define IS_SIDE(name) side &= b->beside.in[name##_NUMBER] == 1;
    EACH_INPUT(IS_SIDE)
    return side;
}

/* Chooses the group of lanes: with a level for each halving of the lanes outside, it has room. */
INLINE u32 group_of(u32 pieces) {
    u32 group = LANES, levels = 1;
    for (; group > 1 && levels * group * pieces > ROOM; levels++) group /= 2;
    return group;
}

/* Lane k of a level: an entry for each piece. */
#define ROOM_LANE(level, k) (&room[((level)*b->group + (k)) * b->pieces])

/* The first segment of piece q. The last piece ends with the block, and may have segments of the
 * one before. */
INLINE u32 piece_begin(const NEIGHBOURS *b, u32 q) {
    return b->width < LANES ? 0 : min(q * LANES, b->width - LANES);
}

/* The lane of segment j. */
#define PIECE_LANE(lanes, j) lanes_get(&(lanes)[(j) / LANES], (j)-piece_begin(b, (j) / LANES))

/* Takes the items of chunk rows r to r + rows - 1 into lane l of the segments of a piece, which
 * begins with segment `first`. */
#define NEXT_OF_SIDE(m)                                                                                                        \
    if ((m) < rows) IF_HAS(row[m], first + j) a = lane_step(a, items_at(row[m].in, first + j), c, r + (m), l, p);
#define NEXT_OF(m)                                                                                                             \
    if ((m) < rows) IF_HAS(row[m], first + j) a = lane_step(a, item_of(b, row[m], first + j, side), c, r + (m), l, p);
INLINE void piece_rows(const NEIGHBOURS *b, const ROW *row, u32 rows, u32 r, u32 l, u32 first, u32 width, u32 side,
                       LANE_ARRAYS *to) {
    const PARAMS p = b->in.p;
    IN_VECTORS
    for (u32 j = 0; j < width; j++) {
        const CHUNK c = chunk_beside(b, first + j);
        LANE a = lanes_get(to, j);
        NEXT_OF(0)
        NEXT_OF(1)
        NEXT_OF(2)
        NEXT_OF(3)
        lanes_set(to, j, a);
    }
}

/* The same of WIDE segments that are side by side, of a block of one piece, from its segment
 * `first` on. Some may be beyond the block. */
INLINE void part_rows(const NEIGHBOURS *b, const ROW *row, u32 rows, u32 r, u32 l, u32 first, LANE_ARRAYS *to) {
    const PARAMS p = b->in.p;
    const u32 left = b->width - first;
    IN_VECTORS_ROLLED
    for (u32 i = 0; i < WIDE; i++) {
        LANE a = lanes_get(to, first + i);
        if (i < left) {
            const u32 j = i;
            const CHUNK c = chunk_beside(b, first + i);
            NEXT_OF_SIDE(0)
            NEXT_OF_SIDE(1)
            NEXT_OF_SIDE(2)
            NEXT_OF_SIDE(3)
        }
        lanes_set(to, first + i, a);
    }
}

/* Takes a quad of rows, the only ones of lanes l, l + apart, ..., of a whole piece whose
 * segments are side by side, and combines the lanes. The last rows beyond `have` are none. */
#define QUAD_LANE(m)                                                                                                           \
    LANE a##m = lane_identity();                                                                                               \
    if ((m) < have) IF_HAS(row[m], first + j) a##m = lane_step(a##m, items_at(row[m].in, first + j), c, 0, l + (m)*apart, p);
INLINE void piece_quad(const NEIGHBOURS *b, const ROW *row, u32 have, u32 l, u32 apart, u32 first, LANE_ARRAYS *to) {
    const PARAMS p = b->in.p;
    IN_VECTORS
    for (u32 j = 0; j < LANES; j++) {
        const CHUNK c = chunk_beside(b, first + j);
        QUAD_LANE(0)
        QUAD_LANE(1)
        QUAD_LANE(2)
        QUAD_LANE(3)
        lanes_set(to, j, lane_combine(lane_combine(a0, a2), lane_combine(a1, a3)));
    }
}

/* The loop of a piece that is whole and side by side has a constant length and constant steps. */
INLINE void block_rows(const NEIGHBOURS *b, const ROW *row, u32 rows, u32 r, u32 l, u32 side, LANE_ARRAYS *to) {
    if (side && b->width < LANES)
        for (u32 first = 0; first < b->width; first += WIDE) part_rows(b, row, rows, r, l, first, to);
    else
        for (u32 q = 0; q < b->pieces; q++) {
            if (side)
                piece_rows(b, row, rows, r, l, piece_begin(b, q), LANES, 1, &to[q]);
            else
                piece_rows(b, row, rows, r, l, piece_begin(b, q), min(b->width, (u32)LANES), 0, &to[q]);
        }
}

/* Takes `rows` rows, LANES rows apart, from row i on, into a lane. A processor does not look ahead
 * into other pages, where the next rows are, unless rows are long: these are prefetched as far as
 * the group's lanes go. */
#define ROWS_AHEAD 4
#define SHORT_ROW_BYTES 8192
#define PREFETCH_ROW(name)                                                                                                     \
    for (u32 j = 0; j < b->width; j += 64 / ITEM_BYTES)                                                                        \
        PREFETCH_LINE(&row[m].in.name[j], ROWS_AHEAD * ITEM_BYTES * b->item.in[name##_NUMBER]);
INLINE void lane_rows(const NEIGHBOURS *b, const SHAPE *shape, u32 rows, u32 i, u32 side, u32 lanes_left, LANE_ARRAYS *to) {
    ROW row[ROWS_AT_ONCE];
    for (u32 m = 0; m < rows; m++) {
        row[m] = row_at(b, shape, i + m * LANES);
        if (side && b->is_regular && lanes_left > ROWS_AHEAD && b->width * ITEM_BYTES <= SHORT_ROW_BYTES) {
            EACH_INPUT(PREFETCH_ROW)
        }
    }
    block_rows(b, row, rows, i / LANES, i % LANES, side, to);
}

/* Folds `used` lanes of each segment, from lane l on. */
INLINE void fold_group(const NEIGHBOURS *b, const SHAPE *shape, u32 l, u32 used, u32 side, LANE_ARRAYS *to) {
    const u32 count = b->chunk.count;
    u32 i = l;
    for (u32 q = 0; q < used * b->pieces; q++)
        for (u32 j = 0; j < LANES; j++) lanes_set(&to[q], j, lane_identity());
    for (; i + (ROWS_AT_ONCE - 1) * LANES + used <= count; i += ROWS_AT_ONCE * LANES)
        for (u32 k = 0; k < used; k++) lane_rows(b, shape, ROWS_AT_ONCE, i + k, side, used - k, &to[k * b->pieces]);
    for (; i < count; i += LANES)
        for (u32 k = 0; k < used && i + k < count; k++) lane_rows(b, shape, 1, i + k, side, used - k, &to[k * b->pieces]);
}

/* The same of `used` quads of a chunk of 4 to LANES rows, which have 2 rows or more each. */
INLINE void fold_quads(const NEIGHBOURS *b, const SHAPE *shape, u32 l, u32 used, u32 apart, LANE_ARRAYS *to) {
    const u32 last = b->chunk.count - 1;
    for (u32 end = l + used; l < end; l++, to += b->pieces) {
        ROW row[ROWS_AT_ONCE];
        for (u32 m = 0; m < ROWS_AT_ONCE; m++) row[m] = row_at(b, shape, min(l + m * apart, last));
        for (u32 q = 0; q < b->pieces; q++) {
            const u32 have = (last - l) / apart + 1;
#define QUAD_OF(rows)                                                                                                          \
    if (have == (rows)) piece_quad(b, row, rows, l, apart, piece_begin(b, q), &to[q]);
            QUAD_OF(4)
            QUAD_OF(3)
            QUAD_OF(2)
        }
    }
}

/* Combines the lanes of each segment in `left` and `right`, into `left`. */
INLINE void join_piece(u32 width, LANE_ARRAYS *left, const LANE_ARRAYS *right) {
    IN_VECTORS
    for (u32 j = 0; j < width; j++) lanes_set(left, j, lane_combine(lanes_get(left, j), lanes_get(right, j)));
}

INLINE void join_lanes(const NEIGHBOURS *b, LANE_ARRAYS *left, const LANE_ARRAYS *right) {
    for (u32 q = 0; q < b->pieces; q++)
        if (b->width >= LANES)
            join_piece(LANES, &left[q], &right[q]);
        else
            join_piece(b->width, &left[q], &right[q]);
}

#ifdef WHERE
/* Counts the segments' items. */
INLINE void count_block(NEIGHBOURS *b, const SHAPE *shape) {
    for (u32 j = 0; j < b->width; j++) b->has[j] = 0;
    for (u32 i = 0; i < b->chunk.count; i++) {
        const ROW row = row_at(b, shape, i);
        for (u32 j = 0; j < b->width; j++) b->has[j] += row.where[(i64)j * b->beside.where] != 0;
    }
}
#endif

/* Puts the lane of each segment into the first lane of the room. A quad of lanes that have a row
 * each is one. */
OUT_OF_LINE void fold_block(NEIGHBOURS *restrict b, const SHAPE *restrict shape, LANE_ARRAYS *restrict room) {
    u32 lanes = min(b->chunk.count, (u32)LANES), apart = 1;
    const u32 side = are_side(b), quads = side && b->width >= LANES && b->chunk.count <= LANES && lanes >= 4;
    while (quads && 4 * apart < lanes) apart *= 2;
    if (quads) lanes = min(lanes, apart);
    const u32 group = b->group, groups = (lanes + group - 1) / group;
#define MAKE_GROUP(top, g)                                                                                                     \
    if (quads)                                                                                                                 \
        fold_quads(b, shape, (g)*group, min(lanes - (g)*group, group), apart, ROOM_LANE(top, 0));                              \
    else                                                                                                                       \
        fold_group(b, shape, (g)*group, min(lanes - (g)*group, group), side, ROOM_LANE(top, 0));
#define JOIN_GROUPS(left, right, g)                                                                                            \
    for (u32 i = 0; i < group && (g)*group + i < lanes; i++) join_lanes(b, ROOM_LANE(left, i), ROOM_LANE(right, i));
    VISIT_LANES(groups, MAKE_GROUP, JOIN_GROUPS)
    for (u32 s = group / 2; s; s /= 2)
        for (u32 i = 0; i < s && i + s < lanes; i++) join_lanes(b, ROOM_LANE(0, i), ROOM_LANE(0, i + s));
#ifdef WHERE
    count_block(b, shape);
#endif
}

#ifdef TAKES_PIVOT
#define PIVOT_IN(m) pivot_load(items_at(row[m].in, j))
/* Finds the segments' pivots. `level` is for those of LANES lanes, and one more. */
OUT_OF_LINE void find_pivots(NEIGHBOURS *restrict b, const SHAPE *restrict shape, PIVOT (*restrict level)[MOST_WIDTH]) {
    const u32 halvings = pivot_halvings(b->chunk.count), items = LANES >> halvings;
    const u32 apart = items >= 4 && are_side(b) ? items / 4 : items; /* quads of rows that are side by side */
    ROW row[4];
#ifdef WHERE
    u32 masked[MOST_WIDTH];
    for (u32 j = 0; j < b->width; j++) masked[j] = 0;
#define SEE_MASK                                                                                                               \
    for (u32 m = 0; m < 4; m++)                                                                                                \
        for (u32 j = 0; j < b->width; j++) masked[j] |= row[m].where[(i64)j * b->beside.where] == 0;
#else
#define SEE_MASK
#endif
#define LOAD_PIVOTS(top, l)                                                                                                    \
    for (u32 m = 0; m < 4; m++) row[m] = row_at(b, shape, m * apart < items ? (l) + m * apart : (l));                          \
    if (apart < items)                                                                                                         \
        for (u32 j = 0; j < b->width; j++)                                                                                     \
            level[top][j] = pivot_combine(pivot_combine(PIVOT_IN(0), PIVOT_IN(2)), pivot_combine(PIVOT_IN(1), PIVOT_IN(3)));   \
    else                                                                                                                       \
        for (u32 j = 0; j < b->width; j++) level[top][j] = pivot_load(item_of(b, row[0], j, 0));                               \
    SEE_MASK
#define JOIN_PIVOTS(left, right, r)                                                                                            \
    for (u32 j = 0; j < b->width; j++) level[left][j] = pivot_combine(level[left][j], level[right][j]);
    VISIT_LANES(apart, LOAD_PIVOTS, JOIN_PIVOTS)
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
        changes |= pivot_changes(&b->pivot[j], pivot_value(pivot_of_lane(PIECE_LANE(lanes, j)), 0));
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

/* Items of four segments, as words of their size. */
#if ITEM_BYTES == 1
typedef u8 WORD;
typedef uchar4 WORDS;
#elif ITEM_BYTES == 2
typedef u16 WORD;
typedef ushort4 WORDS;
#elif ITEM_BYTES == 4
typedef u32 WORD;
typedef uint4 WORDS;
#elif ITEM_BYTES == 8
typedef u64 WORD;
typedef ulong4 WORDS;
#endif

/* Copies the first items of rows, 4 of each of 4 rows at once, and returns how many. Clang makes
 * stores one by one of a plain loop: GB/s of var of 2^20 rows of 64 f32, POCL 3.1, 2 cores of an
 * EPYC (Zen 5), November 2026: 12, so 24. */
INLINE u32 stage_rows(GLOBAL const ITEM *from, i64 beside, u32 width, u32 count, ITEM (*to)[LANES]) {
#if ITEM_BYTES <= 8
    const i64 last = width - 1;
    for (u32 j = 0; j < width; j += 4) {
        GLOBAL const ITEM *r0 = from + j * beside, *r1 = from + min((i64)j + 1, last) * beside,
                          *r2 = from + min((i64)j + 2, last) * beside, *r3 = from + min((i64)j + 3, last) * beside;
        for (u32 i = 0; i < count; i += 64 / ITEM_BYTES) {
            PREFETCH_LINE(r0 + i, AHEAD);
            PREFETCH_LINE(r1 + i, AHEAD);
            PREFETCH_LINE(r2 + i, AHEAD);
            PREFETCH_LINE(r3 + i, AHEAD);
        }
        for (u32 i = 0; i + 4 <= count; i += 4) {
            const WORDS a = vload4(0, (GLOBAL const WORD *)(r0 + i)), b = vload4(0, (GLOBAL const WORD *)(r1 + i)),
                        c = vload4(0, (GLOBAL const WORD *)(r2 + i)), d = vload4(0, (GLOBAL const WORD *)(r3 + i));
            *(WORDS *)&to[i][j] = (WORDS)(a.x, b.x, c.x, d.x);
            *(WORDS *)&to[i + 1][j] = (WORDS)(a.y, b.y, c.y, d.y);
            *(WORDS *)&to[i + 2][j] = (WORDS)(a.z, b.z, c.z, d.z);
            *(WORDS *)&to[i + 3][j] = (WORDS)(a.w, b.w, c.w, d.w);
        }
    }
    return count / 4 * 4;
#else
    return 0;
#endif
}

#define STAGE(to, from, member, begin)                                                                                         \
    for (u32 j = 0; j < b->width; j++)                                                                                         \
        for (u32 i = begin; i < b->chunk.count; i++) (to)[i][j] = (from)[(i64)j * b->beside.member + (i64)i * b->item.member];
INLINE void stage(NEIGHBOURS *b, STAGED *staged) {
    u32 done;
#define STAGE_INPUT(name)                                                                                                      \
    done = b->item.in[name##_NUMBER] == 1 ? stage_rows(b->in.name, b->beside.in[name##_NUMBER], b->width, b->chunk.count,      \
                                                       staged->items[name##_NUMBER])                                           \
                                          : 0;                                                                                 \
    STAGE(staged->items[name##_NUMBER], b->in.name, in[name##_NUMBER], done)                                                   \
    b->in.name = AS_GLOBAL(ITEM, staged->items[name##_NUMBER]);                                                                \
    b->item.in[name##_NUMBER] = LANES;                                                                                         \
    b->beside.in[name##_NUMBER] = 1;
    EACH_INPUT(STAGE_INPUT)
#ifdef WHERE
    STAGE(staged->mask, b->where, where, 0)
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
    b.pieces = (width + LANES - 1) / LANES;
    b.group = group_of(b.pieces);
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
