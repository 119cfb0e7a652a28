/* SPDX-License-Identifier: MIT */
/*
 * cpu_segment_rows: a chunk of a segment on a CPU, for one thread.
 *
 * Computes: nothing by itself. cpu_segments calls what stands here.
 * How: chunk_part takes a chunk as cpu_chunks does: in place where its items are side by side, else
 * out of a copy. Of rows of up to a chunk, each is halved by itself until it has WIDE lanes; those
 * of ROWS_TOGETHER rows are halved together, and the compiler makes vectors over rows.
 * Needs: the stems "finish", "cpu_chunks" and "segments" before it; functions that are inlined in
 * loops (has_arrays).
 * Why: the last steps of a halving are no vectors. 2^26 f32, POCL 3.1, 2 cores of an EPYC (Zen 5),
 * November 2026, GB/s of rows of 32, 128 and 1,000: by cpu_chunks 17, 49, 58, so 60, 75, 74. Here
 * and below these are bytes over half of the process's own time, on a machine that others used.
 */

#ifdef __clang__
/* For loops of one vector, which would be unrolled before there are vectors. */
#define IN_VECTORS_ROLLED PRAGMA(clang loop unroll(disable)) IN_VECTORS
#define IN_NARROW PRAGMA(clang loop unroll(disable)) IN_VECTORS_OF(NARROW)
/* For loops whose iterations never meet in memory. */
#define IN_SAFE_VECTORS PRAGMA(clang loop vectorize(assume_safety)) IN_VECTORS
#else
#define IN_VECTORS_ROLLED
#define IN_NARROW
#define IN_SAFE_VECTORS
#endif

/* On these processors all of OpenCL's address spaces are one. */
#define AS_GLOBAL(type, pointer) ((GLOBAL const type *)(size_t)(pointer))

INLINE CHUNK chunk_of(u64 n, u64 chunk) {
    CHUNK c;
    c.index = chunk * CHUNK_ITEMS;
    c.count = n <= c.index ? 0 : (u32)min((u64)CHUNK_ITEMS, n - c.index);
    return c;
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
 * time. Of two axes the next run is a step of the first one away, which takes no division. */
#define COPY(name, type, member)                                                                                               \
    INLINE void name(GLOBAL const type *from, const SHAPE *shape, int input, CHUNK c, type *to) {                              \
        const AXIS *last = &shape->axis[shape->reduced - 1];                                                                   \
        const i64 stride = last->member;                                                                                       \
        u64 along = shape->reduced > 1 ? c.index % last->extent : c.index;                                                     \
        i64 place = item_steps(shape, c.index).member;                                                                         \
        for (u32 done = 0; done < c.count;) {                                                                                  \
            GLOBAL const type *at = from + place;                                                                              \
            const u32 run = (u32)min((u64)(c.count - done), last->extent - along);                                             \
            if (stride == 1)                                                                                                   \
                for (u32 i = 0; i < run; i++) to[done + i] = at[i];                                                            \
            else                                                                                                               \
                for (u32 i = 0; i < run; i++) to[done + i] = at[(i64)i * stride];                                              \
            done += run;                                                                                                       \
            if (shape->reduced == 2)                                                                                           \
                place += shape->axis[0].member - (i64)along * stride;                                                          \
            else if (done < c.count)                                                                                           \
                place = item_steps(shape, c.index + done).member;                                                              \
            along = 0;                                                                                                         \
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

/* Takes row r of a chunk, of which the last may have fewer than LANES items. Each line is
 * prefetched beside the items that are taken: a burst of them would fill the queue of loads. Rows
 * of 1,000 f32 then have 46 GB/s instead of 76. */
#define WIDE 16 /* places of a vector of 4-byte fields */
#define PREFETCH_WIDE(name)                                                                                                    \
    for (u32 i = 0; i < WIDE; i += 64 / ITEM_BYTES) PREFETCH_LINE(&in.name[first + i], AHEAD);
INLINE void take_row(SOURCE in, CHUNK c, u32 r, u32 is_whole, LANE_ARRAYS *lanes) {
    const u32 left = c.count - r * LANES;
#define TO_ROW(name) in.name += r * LANES;
    EACH_INPUT(TO_ROW)
    _Pragma("unroll") for (u32 first = 0; first < LANES; first += WIDE) {
        EACH_INPUT(PREFETCH_WIDE)
        IN_VECTORS_ROLLED
        for (u32 l = first; l < first + WIDE; l++) {
            LANE a = lanes_get(lanes, l);
            if (is_whole || l < left) a = lane_step(a, items_at(in, l), c, r, l, in.p);
            lanes_set(lanes, l, a);
        }
    }
}
#undef TO_ROW

/* As chunk_lane, for chunks of any length and memory's speed. */
INLINE void row_lanes(SOURCE in, CHUNK c, LANE_ARRAYS *lanes) {
    const u32 whole = c.count / LANES;
    IN_VECTORS_ROLLED
    for (u32 l = 0; l < LANES; l++) lanes_set(lanes, l, lane_identity());
    for (u32 r = 0; r < whole; r++) take_row(in, c, r, 1, lanes);
    if (whole * LANES < c.count) take_row(in, c, whole, 0, lanes);
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

/* Plans without masks and pivots take rows together. */
#if !defined(TAKES_PIVOT) && !defined(WHERE)
#define TAKES_ROWS
/* ---- rows ------------------------------------------------------------------------------------ */

/* A row's lanes are halved by itself until there are WIDE of them, which are a vector of 4-byte
 * fields. Those of ROWS_TOGETHER rows are halved together. */
#define NARROW 8
#define ROWS_TOGETHER (LANES / NARROW)

/* Opens the lanes from `first` on, with the first row's items. */
#define OPEN_WIDE(CONDITION)                                                                                                   \
    IN_VECTORS_ROLLED                                                                                                          \
    for (u32 i = 0; i < WIDE; i++) {                                                                                           \
        LANE a = lane_identity();                                                                                              \
        CONDITION a = lane_step(a, items_at(in, i), c, 0, first + i, in.p);                                                    \
        lanes_set(lanes, first + i, a);                                                                                        \
    }
INLINE void open_wide(SOURCE in, CHUNK c, u32 first, LANE_ARRAYS *lanes) {
    const u32 left = c.count > first ? c.count - first : 0;
#define TO_WIDE(name)                                                                                                          \
    in.name += first;                                                                                                          \
    PREFETCH_LINE(in.name, AHEAD);
    EACH_INPUT(TO_WIDE)
    if (left >= WIDE)
        OPEN_WIDE()
    else
        OPEN_WIDE(if (i < left))
}

/* A row of more than NARROW items and up to WIDE * `vectors`: puts WIDE lanes into `to` from place
 * `at` on. */
INLINE void short_row(SOURCE in, CHUNK c, u32 vectors, LANE_ARRAYS *to, u32 at) {
    LANE_ARRAYS lanes ALIGN(64);
    for (u32 v = 0; v < vectors; v++) open_wide(in, c, v * WIDE, &lanes);
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
#define PREFETCH_NARROW(name) PREFETCH_LINE(in.name, AHEAD);
    EACH_INPUT(PREFETCH_NARROW)
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

/* Up to ROWS_TOGETHER rows. Row r has NARROW lanes in `narrow`, from place r * NARROW on; or WIDE
 * lanes in `wide`. */
typedef struct {
    LANE_ARRAYS wide[2] ALIGN(64), narrow ALIGN(64);
} ROWS_OPEN;
#define WIDE_OF(r) wide[(r) / (LANES / WIDE)]
#define WIDE_AT(r) ((r) % (LANES / WIDE) * WIDE)

/* Opens row r. Returns bit r if it has WIDE lanes. */
INLINE u32 open_row(ROWS_OPEN *open, u32 r, SOURCE in, CHUNK c) {
    if (c.count > NARROW)
        wide_row(in, c, &open->WIDE_OF(r), WIDE_AT(r));
    else
        narrow_row(in, c, &open->narrow, r * NARROW);
    return (c.count > NARROW ? 1U : 0U) << r;
}

/* Puts the lanes of the first `rows` rows into `to` from place `first` on. Bits of `are_wide` tell
 * which rows have WIDE lanes. The other rows are combined too, as identities: a user's op may
 * divide. */
INLINE void close_rows(ROWS_OPEN *open, u32 rows, u32 are_wide, LANE_ARRAYS *to, u32 first) {
    LANE_ARRAYS *narrow = &open->narrow;
    for (u32 l = rows * NARROW; l < LANES; l++) lanes_set(narrow, l, lane_identity());
    for (u32 r = 0; r < rows; r++) {
        const LANE_ARRAYS *from = &open->WIDE_OF(r);
        const u32 at = WIDE_AT(r);
        if (!(are_wide >> r & 1)) continue;
        IN_NARROW
        for (u32 l = 0; l < NARROW; l++)
            lanes_set(narrow, r * NARROW + l, lane_combine(lanes_get(from, at + l), lanes_get(from, at + NARROW + l)));
    }
    IN_VECTORS
    for (u32 r = 0; r < ROWS_TOGETHER; r++) {
#define NARROW_AT(l) lanes_get(narrow, r * NARROW + (l))
        const LANE a = lane_combine(lane_combine(NARROW_AT(0), NARROW_AT(4)), lane_combine(NARROW_AT(2), NARROW_AT(6)));
        const LANE b = lane_combine(lane_combine(NARROW_AT(1), NARROW_AT(5)), lane_combine(NARROW_AT(3), NARROW_AT(7)));
        lanes_set(to, first + r, lane_combine(a, b));
    }
}

#ifdef OFFSET
/* Puts the lane of each of `count` <= LANES segments into `to`; the identity where it has more than
 * a chunk. */
OUT_OF_LINE void fold_segments(const SEGMENT *segments, u32 count, LANE_ARRAYS *restrict to) {
    ROWS_OPEN open;
    for (u32 first = 0; first < count; first += ROWS_TOGETHER) {
        u32 are_wide = 0;
        const u32 rows = min(count - first, (u32)ROWS_TOGETHER);
        for (u32 r = 0; r < rows; r++) {
            const SEGMENT *s = &segments[first + r];
            are_wide |= open_row(&open, r, s->in, chunk_of(s->n > CHUNK_ITEMS ? 0 : s->n, 0));
        }
        close_rows(&open, rows, are_wide, to, first);
    }
}
#else
/* Puts the lane of each of `width` <= LANES rows into `to`. The rows begin `beside` apart. */
OUT_OF_LINE void fold_rows(SOURCE in, const STEPS *beside, CHUNK c, u32 width, LANE_ARRAYS *restrict to) {
    ROWS_OPEN open;
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
        const u32 are_wide = c.count > NARROW ? ~0U : 0;
        const u32 rows = min(width - first, (u32)ROWS_TOGETHER);
        for (u32 r = 0; r < rows; r++) {
            SOURCE row = in;
#define TO_ROW(name) row.name += (i64)(first + r) * beside->in[name##_NUMBER];
            EACH_INPUT(TO_ROW)
            open_row(&open, r, row, c);
        }
        close_rows(&open, rows, are_wide, to, first);
    }
}
#endif
#endif
