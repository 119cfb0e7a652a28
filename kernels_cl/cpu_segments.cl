/* SPDX-License-Identifier: MIT */
/*
 * cpu_segments: reductions of segments, for CPUs.
 *
 * Computes: by axes, tally_segments_teams and tally_segments_threads a result of each segment
 * (`last`), or a partial of each of its chunks, of which tally_segments_fold makes the results. By
 * offsets, tally_segments_teams the results of segments of up to a chunk, and a work list of the
 * others' chunks; tally_segments_chunks their partials, tally_segments_fold their results.
 * How: one thread per group. It takes the chunks of tally_segments_teams one by one, as cpu_chunks
 * does: in place where their items are side by side, else out of a copy. tally_segments_threads is
 * for segments that are neighbours in memory, and for short ones. It takes the same chunk of LANES
 * neighbouring segments at once. A structure of arrays (LANE_ARRAYS) has one lane of each of them,
 * and the compiler turns the loop over them into vectors. The lanes come in bit-reversed order, so
 * that a binary counter of 8 such structures combines them as the halving does. Short segments
 * whose items are side by side are transposed first.
 * Needs: the stems "finish", "segments" and "cpu_chunks" before it; GROUP is 1; no local memory and
 * no barrier. INLINE is to mean it (has_arrays).
 * Why: a CPU's vectors want neighbours, whichever way they lie.
 */

/* Functions with several callers are compiled once. Without the width LLVM 15 halves vectors of 64
 * bytes in them (cpu_rows.cl). */
#ifdef __clang__
#define OUT_OF_LINE static __attribute__((noinline, min_vector_width(512)))
#define PRAGMA(words) _Pragma(#words)
#define IN_VECTORS_OF(lanes) PRAGMA(clang loop vectorize_width(lanes))
#define IN_VECTORS IN_VECTORS_OF(LANES_AT_ONCE)
#define IN_VECTORS_ROLLED PRAGMA(clang loop unroll(disable)) IN_VECTORS
#define IN_NARROW PRAGMA(clang loop unroll(disable)) IN_VECTORS_OF(NARROW)
/* The same for loops of any length, whose last items are taken one by one. */
#define IN_VECTORS_ALONE PRAGMA(clang loop interleave_count(1)) IN_VECTORS
#else
#define OUT_OF_LINE static
#define IN_VECTORS
#define IN_VECTORS_ROLLED
#define IN_NARROW
#define IN_VECTORS_ALONE
#endif

/* On these processors all of OpenCL's address spaces are one. */
#define AS_GLOBAL(type, pointer) ((GLOBAL const type *)(size_t)(pointer))

INLINE CHUNK chunk_of(u64 n, u64 chunk) {
    CHUNK c;
    c.index = chunk * CHUNK_ITEMS;
    c.count = n <= c.index ? 0 : (u32)min((u64)CHUNK_ITEMS, n - c.index);
    return c;
}

/* A group's share of `units`: those from *begin to *end - 1. */
INLINE void share_of_group(u64 units, u64 *begin, u64 *end) {
    const u64 each = (units + GROUP_COUNT - 1) / GROUP_COUNT;
    *begin = min(units, GROUP_ID * each);
    *end = min(units, *begin + each);
}

/* ---- a chunk of one segment ------------------------------------------------------------------ */

/* The steps to item j. */
INLINE STEPS item_steps(const SHAPE *shape, u64 j) {
#ifdef OFFSET
    STEPS place;
    for (int k = 0; k < INPUTS; k++) place.in[k] = (i64)j;
    place.where = (i64)j;
    return place;
#else
    return steps_to(shape->axis, shape->reduced, j);
#endif
}

#ifdef OFFSET
#define IS_CONTIGUOUS(member) 1
#else
#define IS_CONTIGUOUS(member) (shape->reduced == 1 && shape->axis[0].member == 1)
#endif

/* COPY(name, type, member) makes a function that copies the chunk's items, or their mask, of a
 * segment that begins at `from`. `member` is their stride. It copies a run of the last axis at a
 * time. */
#define COPY(name, type, member)                                                                                               \
    INLINE void name(GLOBAL const type *from, const SHAPE *shape, int input, CHUNK c, type *to) {                              \
        const AXIS *last = &shape->axis[shape->reduced - 1];                                                                   \
        const i64 stride = last->member;                                                                                       \
        u32 run;                                                                                                               \
        for (u32 done = 0; done < c.count; done += run) {                                                                      \
            const u64 j = c.index + done, along = shape->reduced > 1 ? j % last->extent : j;                                   \
            GLOBAL const type *at = from + item_steps(shape, j).member;                                                        \
            run = (u32)min((u64)(c.count - done), last->extent - along);                                                       \
            if (stride == 1)                                                                                                   \
                for (u32 i = 0; i < run; i++) to[done + i] = at[i];                                                            \
            else                                                                                                               \
                for (u32 i = 0; i < run; i++) to[done + i] = at[(i64)i * stride];                                              \
        }                                                                                                                      \
    }
COPY(copy_items, ITEM, in[input])
#ifdef WHERE
COPY(copy_mask, u8, where)
#endif

#ifdef WHERE
/* As chunk_lane, of the items whose u8 in `mask` is not 0. */
INLINE LANE masked_lane(SOURCE in, GLOBAL const u8 *mask, CHUNK c) {
    LANE_ARRAYS lanes ALIGN(64);
    for (int l = 0; l < LANES; l++) lanes_set(&lanes, l, lane_identity());
    for (u32 r = 0; r * LANES < c.count; r++) {
        const u32 items = min(c.count - r * LANES, (u32)LANES);
        IN_VECTORS
        for (u32 l = 0; l < items; l++)
            if (mask[r * LANES + l])
                lanes_set(&lanes, l, lane_step(lanes_get(&lanes, l), items_at(in, r * LANES + l), c, r, l, in.p));
    }
    HALVE(LANE_STEP)
    return lanes_get(&lanes, 0);
}

#ifdef TAKES_PIVOT
/* The pivot of a chunk that has an unmasked item: that of the chunk's first row, or of the first
 * such item alone if one of that row is masked. */
INLINE PIVOT masked_pivot(SOURCE in, GLOBAL const u8 *mask, CHUNK c) {
    const u32 items = LANES >> pivot_halvings(c.count);
    u32 i = 0, first = 0;
    while (i < items && mask[i]) i++;
    if (i == items) return row_pivot(in, c.count);
    while (!mask[first]) first++;
    return pivot_value(pivot_load(items_at(in, first)), 7);
}
#endif

INLINE PART masked_part(SOURCE in, GLOBAL const u8 *mask, CHUNK c) {
    u32 has = 0;
    for (u32 i = 0; i < c.count; i++) has += mask[i] != 0;
    if (!has) return part_identity();
#ifdef TAKES_PIVOT
    c.pivot = masked_pivot(in, mask, c);
#endif
    LANE lane = masked_lane(in, mask, c);
#ifdef PIVOT_MAY_MISS
    while (pivot_changes(&c.pivot, pivot_value(pivot_of_lane(lane), 0))) lane = masked_lane(in, mask, c);
#endif
    return part_of_lane(lane, c, has);
}
#endif

/*
 * Prefetches lines that are AHEAD bytes beyond those that are taken. GB/s of rows of 65,536 and
 * 1,000 f32, POCL 3.1, 2 cores of an EPYC (Zen 5), November 2026: without it 35, 43; 1 KiB ahead
 * 46; 4 KiB 62; 16 KiB 62. An address past the end is harmless (cpu_chunks.cl).
 */
#ifndef AHEAD
#define AHEAD 8192
#endif
#if defined(__x86_64__) || defined(__aarch64__)
#define PREFETCH_LINE(pointer, ahead) __builtin_prefetch((const void *)((size_t)(pointer) + (ahead)))
#else
#define PREFETCH_LINE(pointer, ahead)
#endif

/* Takes rows r to r + rows - 1 of a chunk. */
#define PREFETCH_ROWS(name)                                                                                                    \
    for (u32 l = 0; l < rows * LANES; l += 64 / ITEM_BYTES) PREFETCH_LINE(&in.name[r * LANES + l], AHEAD);
INLINE void take_rows(SOURCE in, CHUNK c, u32 r, u32 rows, LANE_ARRAYS *lanes) {
    EACH_INPUT(PREFETCH_ROWS)
    IN_VECTORS
    for (u32 l = 0; l < LANES; l++) {
        LANE a = lanes_get(lanes, l);
        STEP_ROW(0)
        if (rows > 1) STEP_ROW(1)
        if (rows > 2) STEP_PAIR(2)
        lanes_set(lanes, l, a);
    }
}

/* Takes up to WIDE items of row r into the lanes from `first` on; if it `opens` them, these have
 * none yet. */
#define WIDE 16
#define TAKE_WIDE(CONDITION)                                                                                                   \
    IN_VECTORS_ROLLED                                                                                                          \
    for (u32 i = 0; i < WIDE; i++) {                                                                                           \
        LANE a = opens ? lane_identity() : lanes_get(lanes, first + i);                                                        \
        CONDITION a = lane_step(a, items_at(in, i), c, r, first + i, in.p);                                                    \
        lanes_set(lanes, first + i, a);                                                                                        \
    }
INLINE void take_wide(SOURCE in, CHUNK c, u32 r, u32 first, u32 opens, LANE_ARRAYS *lanes) {
    const u32 before = r * LANES + first, left = c.count > before ? c.count - before : 0;
#define TO_WIDE(name)                                                                                                          \
    in.name += before;                                                                                                         \
    PREFETCH_LINE(in.name, AHEAD);
    EACH_INPUT(TO_WIDE)
    if (left >= WIDE)
        TAKE_WIDE()
    else
        TAKE_WIDE(if (i < left))
}

/* As chunk_lane, for chunks of any length and memory's speed. */
INLINE void row_lanes(SOURCE in, CHUNK c, LANE_ARRAYS *lanes) {
    const u32 whole = c.count / LANES, rest = c.count % LANES;
    u32 r = 0;
    IN_VECTORS
    for (u32 l = 0; l < LANES; l++) lanes_set(lanes, l, lane_identity());
    for (; r + 4 <= whole; r += 4) take_rows(in, c, r, 4, lanes);
    if (r + 2 <= whole) {
        take_rows(in, c, r, 2, lanes);
        r += 2;
    }
    if (r < whole) take_rows(in, c, r, 1, lanes);
    for (u32 l = 0; l < rest; l += WIDE) take_wide(in, c, whole, l, 0, lanes);
}

INLINE LANE row_lane(SOURCE in, CHUNK c) {
    LANE_ARRAYS lanes ALIGN(64);
    row_lanes(in, c, &lanes);
    HALVE(LANE_STEP)
    return lanes_get(&lanes, 0);
}

INLINE ACC row_partial(SOURCE in, CHUNK c) {
#ifdef TAKES_PIVOT
    c.pivot = row_pivot(in, c.count);
#endif
    LANE lane = row_lane(in, c);
#ifdef PIVOT_MAY_MISS
    while (pivot_changes(&c.pivot, pivot_value(pivot_of_lane(lane), 0))) lane = row_lane(in, c);
#endif
    return lane_value(lane, c);
}

/* The part of chunk `chunk` of a segment of which it has an item. */
OUT_OF_LINE PART chunk_part(const SEGMENT *s, const SHAPE *shape, u64 chunk) {
    const CHUNK c = chunk_of(s->n, chunk);
    SOURCE in = s->in;
#ifdef OFFSET
#define TO_CHUNK(name) in.name += c.index;
#else
    ITEM copies[INPUTS][CHUNK_ITEMS] ALIGN(64);
#define TO_CHUNK(name)                                                                                                         \
    if (IS_CONTIGUOUS(in[name##_NUMBER])) {                                                                                    \
        in.name += c.index;                                                                                                    \
    } else {                                                                                                                   \
        copy_items(in.name, shape, name##_NUMBER, c, copies[name##_NUMBER]);                                                   \
        in.name = AS_GLOBAL(ITEM, copies[name##_NUMBER]);                                                                      \
    }
#endif
    EACH_INPUT(TO_CHUNK)
#ifdef WHERE
    GLOBAL const u8 *mask = s->where;
#ifndef OFFSET
    u8 copy[CHUNK_ITEMS] ALIGN(64);
    if (!IS_CONTIGUOUS(where)) {
        copy_mask(mask, shape, 0, c, copy);
        return masked_part(in, AS_GLOBAL(u8, copy), c);
    }
#endif
    return masked_part(in, mask + c.index, c);
#else
    PART p;
    p.acc = row_partial(in, c);
    return p;
#endif
}

/* The tree over `leaves` partials. */
INLINE PART fold_part(GLOBAL const ACC *partials, GLOBAL const u64 *counts, u64 leaves) {
    PART p;
    p.acc = run_value(partials, 0, leaves);
#ifdef WHERE
    p.n = 0;
    for (u64 k = 0; k < leaves; k++) p.n += counts[k];
#endif
    return p;
}

#define OPEN                                                                                                                   \
    SOURCE in = SOURCE_OF_ARGS;                                                                                                \
    const OUTS out = OUTS_OF_ARGS;                                                                                             \
    u64 begin, end;

#ifndef OFFSET
/* ---- a chunk of neighbouring segments -------------------------------------------------------- */

#define LANE_LEVELS 7 /* of LANES lanes */
/* Pieces of LANES segments that a block has at most: those whose levels take 32 KiB. So a row of
 * f32 is a page. */
#define PIECES (sizeof(LANE_ARRAYS) > 1024 ? 1 : ITEM_BYTES > 2 ? 2 : 4)
#define MOST_WIDTH (PIECES * LANES)

/* A chunk of `width` <= MOST_WIDTH neighbouring segments. Item i of the chunk, of segment j, is `item`
 * times i and `beside` times j beyond `in`; or, if the items are not regular, as far beyond as
 * item chunk.index + i is by the shape. */
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

/* Visits `count` <= LANES lanes in bit-reversed order. MAKE(level, l) makes lane l in that level of
 * a counter, JOIN(left, right) combines two levels into the left one. Level 0 becomes the tree over
 * the lanes. Of a pair of lanes the right one may be absent. */
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

/* Takes the items of chunk rows r to r + rows - 1 into lane l of the segments of a piece, which
 * begins with segment `first`. */
#define NEXT_OF(m)                                                                                                             \
    if ((m) < rows) IF_HAS(row[m], first + j) a = lane_step(a, item_of(b, row[m], first + j, side), c, r + (m), l, p);
INLINE void piece_rows(const NEIGHBOURS *b, const ROW *row, i64 ahead, u32 rows, u32 r, u32 l, u32 first, u32 width, u32 side,
                       LANE_ARRAYS *to) {
    const PARAMS p = b->in.p;
    if (side)
        for (u32 m = 0; m < rows; m++)
            for (u32 j = 0; j < LANES; j += 64 / ITEM_BYTES) __builtin_prefetch((const void *)((size_t)(row[m].in.x + first + j) + ahead));
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

/* The loops of pieces that are whole and side by side have constant lengths and steps. */
INLINE void block_rows(const NEIGHBOURS *b, const ROW *row, i64 ahead, u32 rows, u32 r, u32 l, LANE_ARRAYS *to, u32 side) {
    for (u32 q = 0; q * LANES < b->width; q++) {
        const u32 width = min(b->width - q * LANES, (u32)LANES);
        if (side && width == LANES)
            piece_rows(b, row, ahead, rows, r, l, q * LANES, LANES, 1, &to[q]);
        else
            piece_rows(b, row, ahead, rows, r, l, q * LANES, width, 0, &to[q]);
    }
}

/* Puts lane l of each segment into `to`, and adds the numbers of their items to b->has. */
#define ROWS_AT_ONCE 4
INLINE void block_lane(NEIGHBOURS *b, const SHAPE *shape, u32 l, i64 ahead, LANE_ARRAYS *to, u32 side) {
    const u32 rows = (b->chunk.count - l + LANES - 1) / LANES;
    ROW row[ROWS_AT_ONCE];
    u32 r = 0;
    for (; r + ROWS_AT_ONCE <= rows; r += ROWS_AT_ONCE) {
        for (u32 m = 0; m < ROWS_AT_ONCE; m++) row[m] = row_at(b, shape, (r + m) * LANES + l);
        if (r)
            block_rows(b, row, ahead, ROWS_AT_ONCE, r, l, to, side);
        else
            block_rows(b, row, ahead, ROWS_AT_ONCE, 0, l, to, side);
    }
    for (; r < rows; r++) {
        row[0] = row_at(b, shape, r * LANES + l);
        if (r)
            block_rows(b, row, ahead, 1, r, l, to, side);
        else
            block_rows(b, row, ahead, 1, 0, l, to, side);
    }
#ifdef WHERE
    for (u32 i = l; i < b->chunk.count; i += LANES) {
        row[0] = row_at(b, shape, i);
        for (u32 j = 0; j < b->width; j++) b->has[j] += row[0].where[(i64)j * b->beside.where] != 0;
    }
#endif
}

/* Combines the lanes of each segment in `left` and `right`, into `left`. All places of a piece are
 * computed, so that loops have constant lengths. */
INLINE void join_lanes(u32 width, LANE_ARRAYS *left, const LANE_ARRAYS *right) {
    for (u32 q = 0; q * LANES < width; q++) {
        IN_VECTORS
        for (u32 j = 0; j < LANES; j++) lanes_set(&left[q], j, lane_combine(lanes_get(&left[q], j), lanes_get(&right[q], j)));
    }
}

/* Puts the lane of each segment into level 0. */
OUT_OF_LINE void fold_block(NEIGHBOURS *restrict b, const SHAPE *restrict shape, LANE_ARRAYS (*restrict level)[PIECES]) {
    const u32 lanes = min(b->chunk.count, (u32)LANES), row_bytes = b->width * ITEM_BYTES * ((b->chunk.count + LANES - 1) / LANES);
    u32 side = 1;
#define IS_SIDE(name) side &= b->beside.in[name##_NUMBER] == 1;
    EACH_INPUT(IS_SIDE)
#ifdef WHERE
    for (u32 j = 0; j < b->width; j++) b->has[j] = 0;
#endif
    const u32 later = (AHEAD + row_bytes - 1) / row_bytes;
#define MAKE_LANES(top, l)                                                                                                     \
    const i64 ahead = ((i64)turn(k + later, bits) - l) * b->item.in[0] * ITEM_BYTES + (i64)((k + later) >> bits) * b->width * ITEM_BYTES;  \
    block_lane(b, shape, l, ahead, level[top], side);
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

/* Puts the lanes of a chunk of neighbouring segments into level 0. */
INLINE void take_neighbours(NEIGHBOURS *b, const SHAPE *shape, u32 is_staged, LANE_ARRAYS (*level)[PIECES]) {
    STAGED staged;
    if (is_staged) stage(b, &staged);
#ifdef TAKES_PIVOT
    find_pivots(b, shape);
#endif
    fold_block(b, shape, level);
#ifdef PIVOT_MAY_MISS
    while (pivots_change(b, level[0])) fold_block(b, shape, level);
#endif
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* A row's lanes are halved by itself until there are WIDE of them, which are a vector of 4-byte
 * fields. Those of ROWS_TOGETHER rows are halved together. */
#define NARROW 8
#define ROWS_TOGETHER (LANES / NARROW)

/* A row of more than NARROW items and up to WIDE * `vectors`: puts WIDE lanes into `to` from place
 * `at` on. */
INLINE void short_row(SOURCE in, CHUNK c, u32 vectors, LANE_ARRAYS *to, u32 at) {
    LANE_ARRAYS lanes ALIGN(64);
    for (u32 v = 0; v < vectors; v++) take_wide(in, c, 0, v * WIDE, 1, &lanes);
    IN_VECTORS_ROLLED
    for (u32 l = 0; l < WIDE; l++) {
        LANE a = lanes_get(&lanes, l), b;
        if (vectors > 1) b = lanes_get(&lanes, l + WIDE);
        if (vectors > 2) a = lane_combine(a, lanes_get(&lanes, l + 2 * WIDE));
        if (vectors > 2) b = lane_combine(b, lanes_get(&lanes, l + 3 * WIDE));
        if (vectors > 1) a = lane_combine(a, b);
        lanes_set(to, at + l, a);
    }
}

/* The same of any longer row. */
INLINE void long_row(SOURCE in, CHUNK c, LANE_ARRAYS *to, u32 at) {
    LANE_ARRAYS lanes ALIGN(64);
    row_lanes(in, c, &lanes);
    IN_VECTORS_ROLLED
    for (u32 l = 0; l < WIDE; l++) {
#define LANE_AT(s) lanes_get(&lanes, l + (s))
        const LANE a = lane_combine(lane_combine(LANE_AT(0), LANE_AT(64)), lane_combine(LANE_AT(32), LANE_AT(96)));
        const LANE b = lane_combine(lane_combine(LANE_AT(16), LANE_AT(80)), lane_combine(LANE_AT(48), LANE_AT(112)));
        lanes_set(to, at + l, lane_combine(a, b));
    }
}

INLINE void wide_row(SOURCE in, CHUNK c, LANE_ARRAYS *to, u32 at) {
    if (c.count > 4 * WIDE)
        long_row(in, c, to, at);
    else if (c.count > 2 * WIDE)
        short_row(in, c, 4, to, at);
    else if (c.count > WIDE)
        short_row(in, c, 2, to, at);
    else
        short_row(in, c, 1, to, at);
}

/* A row of up to NARROW items. */
INLINE void narrow_row(SOURCE in, CHUNK c, LANE_ARRAYS *to, u32 at) {
#define PREFETCH_ROW(name) PREFETCH_LINE(in.name, AHEAD);
    EACH_INPUT(PREFETCH_ROW)
    IN_NARROW
    for (u32 l = 0; l < NARROW; l++) {
        LANE a = lane_identity();
        if (l < c.count) a = lane_step(a, items_at(in, l), c, 0, l, in.p);
        lanes_set(to, at + l, a);
    }
}

/* Rows of four items that follow each other. */
INLINE void rows_of_4(SOURCE in, CHUNK c, u32 width, LANE_ARRAYS *to) {
#define PREFETCH_ROWS_OF_4(name)                                                                                               \
    for (u32 j = 0; j < width; j += 16 / ITEM_BYTES) PREFETCH_LINE(&in.name[4 * j], AHEAD);
    EACH_INPUT(PREFETCH_ROWS_OF_4)
    IN_VECTORS
    for (u32 j = 0; j < width; j++) {
#define LANE_OF(l) lane_step(lane_identity(), items_at(in, 4 * j + (l)), c, 0, l, in.p)
        lanes_set(to, j, lane_combine(lane_combine(LANE_OF(0), LANE_OF(2)), lane_combine(LANE_OF(1), LANE_OF(3))));
    }
}

/* Puts the lane of each of `width` <= LANES rows into `to`. The rows begin `beside` apart. */
OUT_OF_LINE void fold_rows(SOURCE in, const STEPS *beside, CHUNK c, u32 width, LANE_ARRAYS *restrict to) {
    LANE_ARRAYS wide[2] ALIGN(64), narrow ALIGN(64);
    u32 follow = 1;
#define FOLLOWS(name) follow &= beside->in[name##_NUMBER] == 4;
    EACH_INPUT(FOLLOWS)
    if (c.count == 4 && follow) {
        if (width == LANES)
            rows_of_4(in, c, LANES, to);
        else
            rows_of_4(in, c, width, to);
        return;
    }
    for (u32 first = 0; first < width; first += ROWS_TOGETHER) {
        const u32 rows = min(width - first, (u32)ROWS_TOGETHER);
        for (u32 r = 0; r < rows; r++) {
            if (c.count > NARROW)
                wide_row(in, c, &wide[r / (LANES / WIDE)], r % (LANES / WIDE) * WIDE);
            else
                narrow_row(in, c, &narrow, r * NARROW);
#define TO_ROW(name) in.name += beside->in[name##_NUMBER];
            EACH_INPUT(TO_ROW)
        }
        for (u32 r = 0; r < rows && c.count > NARROW; r++) {
            const LANE_ARRAYS *from = &wide[r / (LANES / WIDE)];
            const u32 at = r % (LANES / WIDE) * WIDE;
            IN_NARROW
            for (u32 l = 0; l < NARROW; l++)
                lanes_set(&narrow, r * NARROW + l, lane_combine(lanes_get(from, at + l), lanes_get(from, at + NARROW + l)));
        }
        IN_VECTORS
        for (u32 r = 0; r < ROWS_TOGETHER; r++) {
#define NARROW_AT(l) lanes_get(&narrow, r * NARROW + (l))
            const LANE a = lane_combine(lane_combine(NARROW_AT(0), NARROW_AT(4)), lane_combine(NARROW_AT(2), NARROW_AT(6)));
            const LANE b = lane_combine(lane_combine(NARROW_AT(1), NARROW_AT(5)), lane_combine(NARROW_AT(3), NARROW_AT(7)));
            lanes_set(to, first + r, lane_combine(a, b));
        }
    }
}

/* ---- by axes --------------------------------------------------------------------------------- */

/* Stores the part of chunk k of segment i: the result, or a partial. */
#define STORE_PART(p, i, k, at)                                                                                                \
    if (last)                                                                                                                  \
        put_part(p, shape.n, out, at, initial, params);                                                                        \
    else                                                                                                                       \
        part_store(p, partials, counts, (i)*leaves + (k));

/* Unit u is chunk u % leaves of segment u / leaves. */
KERNEL void tally_segments_teams(CALL_ARGS) {
    OPEN
#if !defined(TAKES_PIVOT) && !defined(WHERE)
    u32 rows = shape.reduced == 1 && leaves == 1 && shape.n && shape.n <= CHUNK_ITEMS;
#define IS_ROW(name) rows &= shape.axis[0].in[name##_NUMBER] == 1;
    EACH_INPUT(IS_ROW)
    if (rows) {
        const AXIS *along = &shape.axis[shape.reduced + shape.kept - 1];
        const CHUNK c = chunk_of(shape.n, leaf);
        LANE_ARRAYS lanes ALIGN(64);
        STEPS beside;
        u32 width;
        for (int n = 0; n < INPUTS; n++) beside.in[n] = along->in[n];
        share_of_group(count, &begin, &end);
        for (u64 i = begin; i < end; i += width) {
            const SEGMENT segment = SEGMENT_OF(first + i);
            width = (u32)min(min(end - i, (u64)LANES), along->extent - (first + i) % along->extent);
            fold_rows(segment.in, &beside, c, width, &lanes);
            for (u32 j = 0; j < width; j++) {
                const PART p = part_of_lane(lanes_get(&lanes, j), c, c.count);
                STORE_PART(p, i + j, 0, segment.out + (i64)j * along->out)
            }
        }
        return;
    }
#endif
    share_of_group(count * leaves, &begin, &end);
    u64 i = begin / leaves, k = begin - i * leaves;
    for (u64 u = begin; u < end; u++, i += k + 1 == leaves, k = k + 1 == leaves ? 0 : k + 1) {
        const SEGMENT segment = SEGMENT_OF(first + i);
        const PART p = segment.n ? chunk_part(&segment, &shape, leaf + k) : part_identity();
        STORE_PART(p, i, k, segment.out)
    }
}

/* Unit u is chunk u / blocks of the segments of block u % blocks. A block is TEAM segments. They are
 * taken in pieces that lie along the last kept axis. */
KERNEL void tally_segments_threads(CALL_ARGS) {
    OPEN
    LANE_ARRAYS level[LANE_LEVELS + 1][PIECES] ALIGN(64);
    const u64 blocks = (count + team - 1) / team, extent = shape.axis[shape.reduced + shape.kept - 1].extent;
    /* Short segments are staged, LANES at a time. */
    const u32 is_staged = shape.n <= STAGED_ITEMS && shape.reduced == 1 && !are_beside(&shape);
    const u64 most = is_staged ? LANES : MOST_WIDTH;
    share_of_group(blocks * leaves, &begin, &end);
    for (u64 u = begin; u < end; u++) {
        const u64 k = u / blocks, from = (u - k * blocks) * team, to = min(count, from + team);
        u32 width;
        for (u64 i = from; i < to; i += width) {
            width = (u32)min(min(to - i, most), extent - (first + i) % extent);
            const SEGMENT segment = SEGMENT_OF(first + i);
            NEIGHBOURS b = neighbours_of(&segment, &shape, leaf + k, width);
            if (segment.n) take_neighbours(&b, &shape, is_staged, level);
            for (u32 q = 0; q * LANES < width; q++) {
                const LANE_ARRAYS *lanes = &level[0][q];
                const u32 own = min(width - q * LANES, (u32)LANES);
                for (u32 j = 0; j < own; j++) {
                    PART p = part_identity();
                    const CHUNK c = chunk_beside(&b, q * LANES + j);
                    if (segment.n) p = part_of_lane(lanes_get(lanes, j), c, HAS(&b, q * LANES + j));
                    STORE_PART(p, i + q * LANES + j, k, segment.out + (i64)(q * LANES + j) * b.beside.out)
                }
            }
        }
    }
}

KERNEL void tally_segments_fold(CALL_ARGS) {
    OPEN
    share_of_group(count, &begin, &end);
    for (u64 i = begin; i < end; i++) {
        const SEGMENT segment = SEGMENT_OF(first + i);
        const PART p = fold_part(partials + i * leaves, counts + i * leaves, leaves);
        if (last)
            put_part(p, segment.n, out, segment.out, initial, params);
        else
            part_store(p, slices, slice_counts, slice + i);
    }
}

/* The same where it is the last. */
KERNEL void tally_segments_fold_each(CALL_ARGS) {
    OPEN
    share_of_group(count, &begin, &end);
    for (u64 i = begin; i < end; i++) {
        const SEGMENT segment = SEGMENT_OF(first + i);
        put_part(fold_part(partials + i * leaves, counts + i * leaves, leaves), segment.n, out, segment.out, initial, params);
    }
}
#else
/* ---- by offsets ------------------------------------------------------------------------------ */

#define ADD_GLOBAL(at, by) atomic_add((ATOMIC u32 *)(at), by)

/*
 * The work list: the numbers of chunks and of long segments, which are u32; from word CHUNKS on
 * the segment and the number of each chunk; from LONGS(capacity) on each long segment, its
 * first chunk's place in the list, and how many chunks it has.
 */
#define CHUNKS 2
#define LONGS(capacity) (CHUNKS + 2 * (capacity))
#define NO_SEGMENT (~(u64)0)
#define RUN 32 /* neighbouring segments that a group takes */

/* By keys the number of segments is in the device's memory. */
#ifdef NUMBER
#define SEGMENTS min(count, number[number_offset])
#else
#define SEGMENTS count
#endif

KERNEL void tally_segments_clear(CALL_ARGS) {
    work[0] = 0;
}

/* Puts segment s on the work list. Returns 0 if the list has no room. */
INLINE u32 enlist(u64 s, u64 n, GLOBAL u64 *work, u64 capacity) {
    GLOBAL u32 *numbers = (GLOBAL u32 *)work;
    const u64 chunks = (n + CHUNK_ITEMS - 1) / CHUNK_ITEMS;
    if (chunks > capacity) return 0;
    const u64 place = ADD_GLOBAL(&numbers[0], (u32)chunks), end = place + chunks;
    const u32 fits = end <= capacity;
    for (u64 k = place; k < end && k < capacity; k++) {
        work[CHUNKS + 2 * k] = fits ? s : NO_SEGMENT;
        work[CHUNKS + 2 * k + 1] = k - place;
    }
    if (!fits) return 0;
    GLOBAL u64 *own = work + LONGS(capacity) + 3 * (u64)ADD_GLOBAL(&numbers[1], 1U);
    own[0] = s;
    own[1] = place;
    own[2] = chunks;
    return 1;
}

/* A segment by one thread: a short one, or where segments overlap so much that the list is full. */
INLINE PART lone_part(const SEGMENT *s, const SHAPE *shape) {
    PART level[COUNTER_LEVELS], all = part_identity();
    const u64 chunks = (s->n + CHUNK_ITEMS - 1) / CHUNK_ITEMS;
    for (u64 k = 0; k < chunks; k++) {
        PART p = chunk_part(s, shape, k);
        int b = 0;
        for (; k >> b & 1; b++) p = part_combine(level[b], p);
        level[b] = p;
    }
    for (int b = 0; chunks >> b; b++)
        if (chunks >> b & 1) all = part_combine(level[b], all);
    return all;
}

/* A group takes RUN neighbouring segments at a time. Long ones get a place on the work list. */
KERNEL void tally_segments_teams(CALL_ARGS) {
    OPEN
    const u64 segments = SEGMENTS;
    for (begin = GROUP_ID * RUN; begin < segments; begin += GROUP_COUNT * RUN) {
        end = min(segments, begin + RUN);
        for (u64 s = begin; s < end; s++) {
            const SEGMENT segment = SEGMENT_OF(s);
            if (segment.n > CHUNK_ITEMS && enlist(s, segment.n, work, capacity)) continue;
            put_part(lone_part(&segment, &shape), segment.n, out, segment.out, initial, params);
        }
    }
}

KERNEL void tally_segments_chunks(CALL_ARGS) {
    OPEN
    share_of_group(min(capacity, (u64)((GLOBAL u32 *)work)[0]), &begin, &end);
    for (u64 k = begin; k < end; k++) {
        const u64 s = work[CHUNKS + 2 * k];
        if (s == NO_SEGMENT) continue;
        const SEGMENT segment = SEGMENT_OF(s);
        part_store(chunk_part(&segment, &shape, work[CHUNKS + 2 * k + 1]), partials, counts, k);
    }
}

KERNEL void tally_segments_fold(CALL_ARGS) {
    OPEN
    const u64 longs = ((GLOBAL u32 *)work)[1];
    for (u64 i = GROUP_ID; i < longs; i += GROUP_COUNT) {
        GLOBAL const u64 *own = work + LONGS(capacity) + 3 * i;
        const SEGMENT segment = SEGMENT_OF(own[0]);
        put_part(fold_part(partials + own[1], counts + own[1], own[2]), segment.n, out, segment.out, initial, params);
    }
}
#endif
