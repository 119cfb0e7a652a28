/* SPDX-License-Identifier: MIT */
/*
 * cpu_segments: reductions of segments, for CPUs.
 *
 * Computes: by axes, tally_segments_teams and tally_segments_threads a result of each segment
 * (`last`), or a partial of each of its chunks, of which tally_segments_fold makes the results. By
 * offsets, tally_segments_teams the results of segments of up to a chunk, and a work list of the
 * others' chunks; tally_segments_chunks their partials, tally_segments_fold their results.
 * How: one thread per group, which takes a share of the units. tally_segments_teams takes chunks or
 * rows one by one (cpu_segment_rows.cl), tally_segments_threads blocks of neighbouring segments
 * (cpu_segment_blocks.cl), of which narrow columns are flat (cpu_segment_flat.cl).
 * Needs: cpu_segment_flat before it; GROUP is 1; no local memory and no barrier.
 * Why: a CPU's vectors want neighbours, whichever way they lie.
 */

/* A group's share of `units`: those from *begin to *end - 1. */
INLINE void share_of_group(u64 units, u64 *begin, u64 *end) {
    const u64 each = (units + GROUP_COUNT - 1) / GROUP_COUNT;
    *begin = min(units, GROUP_ID * each);
    *end = min(units, *begin + each);
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
/* ---- by axes --------------------------------------------------------------------------------- */

/* Stores the part of chunk k of segment i: the result, or a partial. */
#define STORE_PART(p, i, k, at)                                                                                                \
    if (last)                                                                                                                  \
        put_part(p, shape.n, out, at, initial, params);                                                                        \
    else                                                                                                                       \
        part_store(p, partials, counts, (i)*leaves + (k));

/* Unit u is chunk u % leaves of segment u / leaves. Where a chunk is pieces of many rows and those
 * of the next segment are beside them, it is chunk u / count of segment u % count: the next unit
 * finds the same pages. GB/s of the axes 0 and 2 of (5349, 256, 49) f32, POCL 3.1, 2 cores of an
 * EPYC (Zen 4), November 2026: 9, so 11. */
KERNEL void tally_segments_teams(CALL_ARGS) {
    OPEN
#ifdef TAKES_ROWS
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
            IN_VECTORS
            for (u32 j = 0; j < width; j++) {
                const PART p = part_of_lane(lanes_get(&lanes, j), c, c.count);
                STORE_PART(p, i + j, 0, segment.out + (i64)j * along->out)
            }
        }
        return;
    }
#endif
    share_of_group(count * leaves, &begin, &end);
    const i64 rows_apart = shape.axis[0].in[0], beside = shape.axis[shape.reduced + shape.kept - 1].in[0];
    const u32 in_turn = shape.reduced > 1 && abs(rows_apart) > abs(beside);
    for (u64 u = begin; u < end; u++) {
        const u64 i = in_turn ? u - quotient(u, count) * count : quotient(u, leaves);
        const u64 k = in_turn ? quotient(u, count) : u - i * leaves;
        const SEGMENT segment = SEGMENT_OF(first + i);
        const PART p = segment.n ? chunk_part(&segment, &shape, leaf + k) : part_identity();
        STORE_PART(p, i, k, segment.out)
    }
}

/* Stores the parts of a block, that of segment j `step` results beyond the first one's. */
#define STORE_BLOCK(step)                                                                                                      \
    for (u32 q = 0; q < b.pieces; q++) {                                                                                       \
        const u32 end_of_piece = min(width, (q + 1) * LANES), at = piece_begin(&b, q);                                         \
        for (u32 j = q * LANES; j < end_of_piece; j++) {                                                                       \
            const PART p = part_of_lane(lanes_get(&room[q], j - at), chunk_beside(&b, j), HAS(&b, j));                         \
            STORE_PART(p, i + j, k, segment.out + step)                                                                        \
        }                                                                                                                      \
    }

/* Unit u is chunk u / blocks of the segments of block u % blocks. A block is TEAM segments. They
 * are taken in pieces that lie along the last kept axis. */
KERNEL void tally_segments_threads(CALL_ARGS) {
    OPEN
    LANE_ARRAYS room[ROOM] ALIGN(64);
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
            take_neighbours(&b, &shape, is_staged, room);
            /* Results that are side by side become vectors. */
            if (b.beside.out == 1) {
                STORE_BLOCK((i64)j)
            } else {
                STORE_BLOCK((i64)j * b.beside.out)
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

#define RUN 64 /* neighbouring segments that a group takes */

KERNEL void tally_segments_clear(CALL_ARGS) {
    work[0] = 0;
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

/* A group takes RUN neighbouring segments at a time. Long ones get a place on the work list
 * (`lists`), or have one. */
KERNEL void tally_segments_teams(CALL_ARGS) {
    OPEN
    const u64 all = SEGMENTS;
    for (begin = GROUP_ID * RUN; begin < all; begin += GROUP_COUNT * RUN) {
        end = min(all, begin + RUN);
#ifdef TAKES_ROWS
        SEGMENT segments[RUN];
        LANE_ARRAYS lanes ALIGN(64);
        for (u64 s = begin; s < end; s++) segments[s - begin] = SEGMENT_OF(s);
        fold_segments(segments, (u32)(end - begin), &lanes);
#endif
        for (u64 s = begin; s < end; s++) {
            const SEGMENT segment = SEGMENT_OF(s);
            PART p;
            if (segment.n > CHUNK_ITEMS && (!lists || enlist(s, segment.n, work, capacity))) continue;
#ifdef TAKES_ROWS
            if (segment.n <= CHUNK_ITEMS)
                p.acc = lane_value(lanes_get(&lanes, (int)(s - begin)), chunk_of(segment.n, 0));
            else
#endif
                p = lone_part(&segment, &shape);
            put_part(p, segment.n, out, segment.out, initial, params);
        }
    }
}

KERNEL void tally_segments_chunks(CALL_ARGS) {
    OPEN
    share_of_group(LISTED(work, capacity), &begin, &end);
    for (u64 k = begin; k < end; k++) {
        if (work[CHUNKS + 2 * k] == NO_SEGMENT) continue;
        const SEGMENT segment = SEGMENT_OF(work[CHUNKS + 2 * k]);
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
