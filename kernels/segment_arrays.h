/* SPDX-License-Identifier: MIT */
/*
 * segment_arrays: reductions of an array along axes on GPUs.
 *
 * Computes: the result of each segment (`last`), or a partial of each of its chunks.
 * tally_segments_fold combines these partials to results, or to partials of longer runs of chunks;
 * tally_segments_fold_each combines them to results only.
 * How: a unit is a chunk of a segment. Units are numbered so that neighbours are of neighbouring
 * segments. A unit is reduced by a team in tally_segments_teams, or in tally_segments_single if it
 * is a chunk row or less, and by a thread or several in tally_segments_threads. These take any
 * strides, masks and pivots. The other kernels take neither masks nor pivots. They are for rows
 * that are aligned quads (quad, quads, quad_chunks), for other rows of up to four chunk rows
 * (short, rows_2, rows_4), and for two reduced axes (planes).
 * Needs: kernels/segment_teams.h and kernels/segment_quads.h before it; HAS_TEAMS, HAS_THREADS and
 * HAS_ROWS where the program has those kernels (TALLY_SEGMENT_PROGRAMS in src/segments/segments.h).
 * Why: memory speed needs many loads at once, and few instructions for each.
 */

/* Stores the part of chunk k of segment i: the result, or a partial. */
#define STORE_PART(p, i, k)                                                                                                    \
    if (last)                                                                                                                  \
        put_part(p, segment.n, out, segment.out, initial, params);                                                             \
    else                                                                                                                       \
        part_store(p, partials, counts, (i)*leaves + (k));

/* Divides a unit by the units of a chunk, where segments have several chunks. */
#define PART_OF(unit, units) (leaves == 1 ? 0 : quotient(unit, units))

/* Unit u is chunk u / count of segment u % count, so that neighbours are neighbouring segments. */
#define TEAMS_KERNEL(NAME, BOUND, PART_OF_CHUNK)                                                                               \
    KERNEL BOUND void NAME(CALL_ARGS) {                                                                                        \
        OPEN;                                                                                                                  \
        OPEN_EXCHANGE;                                                                                                         \
        const u64 units = count * leaves;                                                                                      \
        for (u64 begin = GROUP_ID * (GROUP / team); begin < units; begin += GROUP_COUNT * (GROUP / team)) {                    \
            const u64 u = begin + thread / team, own = u < units ? u : 0, k = PART_OF(own, count), i = own - k * count;        \
            const SEGMENT segment = SEGMENT_OF(first + i);                                                                     \
            const PART p = PART_OF_CHUNK;                                                                                      \
            if (u < units && t == 0) {                                                                                         \
                STORE_PART(p, i, k)                                                                                            \
            }                                                                                                                  \
        }                                                                                                                      \
    }
#ifdef HAS_TEAMS
TEAMS_KERNEL(tally_segments_teams, BOUNDS, team_part(&segment, &shape, leaf + k, t, team, BY_STEPS, meet))
#ifdef PLAIN
TEAMS_KERNEL(tally_segments_planes, BOUNDS_OF(3), team_part(&segment, &shape, leaf + k, t, team, BY_PLANES, meet))
#endif
#ifdef QUADS
TEAMS_KERNEL(tally_segments_quad_chunks, BOUNDS_OF(QUAD_GROUPS), quads_part(&segment, &shape, leaf + k, t, meet))
#endif
#endif

#if defined(HAS_ROWS) && !defined(PLAIN)
/* Segments of up to a chunk row. */
TEAMS_KERNEL(tally_segments_single, BOUNDS, team_part(&segment, &shape, leaf + k, t, team, BY_ROWS, meet))
#endif

#ifdef HAS_THREADS
KERNEL BOUNDS void tally_segments_threads(CALL_ARGS) {
    OPEN;
#ifdef SHUFFLES
    SHARED EXCHANGE exchange;
    LOCAL EXCHANGE *meet = &exchange;
#else
    LOCAL EXCHANGE *meet = 0;
#endif
    const SHARES by = shares_of(thread, split);
    const u64 units = count * leaves;
    (void)t;
    KEEP_ROLLED
    for (u64 begin = GROUP_ID * by.each; begin < units; begin += GROUP_COUNT * by.each) {
        const u64 u = begin + thread % by.each, own = u < units ? u : begin, k = PART_OF(own, count), i = own - k * count;
        const SEGMENT segment = SEGMENT_OF(first + i);
        const PART p = shared_part(&segment, &shape, leaf + k, team, by, BY_STEPS, meet);
        if (u < units && by.share == 0) {
            STORE_PART(p, i, k)
        }
    }
}
#endif

#ifdef PLAIN
/* ---- several segments a thread --------------------------------------------------------------- */

/* Devices without shuffles take no quads, because the exchange between threads would have barriers
 * under a condition. They also leave out rows and columns that do not exist, so that tools find no
 * use of an item that was never loaded. Devices with shuffles compute these like the others, and no
 * result depends on them. */
#ifdef QUADS
#define IS_THERE(is) 1
#else
#define IS_THERE(is) (is)
#endif

#ifdef HAS_ROWS
/* Segment s along the only kept axis. */
#define ROW_OF(s) row_at(in, &shape, s)
INLINE SEGMENT row_at(SOURCE in, const SHAPE *shape, u64 s) {
    SEGMENT row;
    row.in = in;
    row.where = 0;
    row.out = (i64)s * shape->axis[1].out;
    row.n = shape->n;
#define TO_ROW(name) row.in.name += (i64)s * shape->axis[1].in[name##_NUMBER];
    EACH_INPUT(TO_ROW)
    return row;
}

/* A team takes AT_ONCE segments, which are `each` segments apart. */
#define NEXT_SEGMENT(name) next.in[name##_NUMBER] = shape.axis[1].in[name##_NUMBER];
#define OPEN_FLIGHT(AT_ONCE)                                                                                                   \
    const u64 each = GROUP / team, flight = each * (AT_ONCE);                                                                  \
    const STEPS step = item_step(&shape);                                                                                      \
    STEPS next;                                                                                                                \
    CHUNK c;                                                                                                                   \
    c.index = 0;                                                                                                               \
    c.count = (u32)shape.n;                                                                                                    \
    EACH_INPUT(NEXT_SEGMENT)
/* Stores the results of the segments from i on, which thread 0 of each team has. */
#define PUT_FLIGHT(AT_ONCE)                                                                                                    \
    _Pragma("unroll") for (int f = 0; f < (AT_ONCE); f++) if (i + f * each < count && t == 0) put_part(                        \
        part_of_lane(lanes[f], c, c.count), c.count, out, segment.out + (i64)(f * each) * shape.axis[1].out, initial, params);

#ifdef QUADS
/* Reduces segments that are rows of aligned quads, with one reduced and one kept axis. A thread
 * takes PER quads of each of AT_ONCE segments. */
#define QUADS_KERNEL(NAME, PER, AT_ONCE)                                                                                       \
    KERNEL BOUNDS_OF(QUAD_GROUPS) void NAME(CALL_ARGS) {                                                                       \
        OPEN;                                                                                                                  \
        OPEN_EXCHANGE;                                                                                                         \
        OPEN_FLIGHT(AT_ONCE)                                                                                                   \
        const u32 aligned = are_aligned(in);                                                                                   \
        KEEP_ROLLED                                                                                                            \
        for (u64 begin = GROUP_ID * flight; begin < count; begin += GROUP_COUNT * flight) {                                    \
            const u64 i = begin + thread / team;                                                                               \
            const SEGMENT segment = ROW_OF(first + i);                                                                         \
            SOURCE from = source_on(segment.in, OWN * t, step);                                                                \
            QUAD v[AT_ONCE][PER];                                                                                              \
            LANE lanes[AT_ONCE];                                                                                               \
            _Pragma("unroll") for (int f = 0; f < AT_ONCE; f++) {                                                              \
                NO_QUADS(v[f], PER)                                                                                            \
                if (i + f * each < count) load_slots(v[f], PER, from, aligned, step, t, team, c.count);                        \
                from = source_on(from, (i64)each, next);                                                                       \
            }                                                                                                                  \
            _Pragma("unroll") for (int f = 0; f < AT_ONCE; f++) lanes[f] = slots_lane(v[f], PER, c, t, team, from.p, meet);    \
            PUT_FLIGHT(AT_ONCE)                                                                                                \
        }                                                                                                                      \
    }
QUADS_KERNEL(tally_segments_quad, 1, FLIGHT_QUADS)
#if IN_BYTES <= 8
QUADS_KERNEL(tally_segments_quads, SLOTS, FLIGHT_QUADS / SLOTS)
#endif
#endif

/* Reduces segments of up to a chunk row, with one reduced and one kept axis. A team takes
 * FLIGHT_ROWS of them at once. */
KERNEL BOUNDS_OF(4) void tally_segments_short(CALL_ARGS) {
    OPEN;
    OPEN_EXCHANGE;
    OPEN_FLIGHT(FLIGHT_ROWS)
    KEEP_ROLLED
    for (u64 begin = GROUP_ID * flight; begin < count; begin += GROUP_COUNT * flight) {
        const u64 i = begin + thread / team;
        const SEGMENT segment = ROW_OF(first + i);
        SOURCE from = source_on(segment.in, t, step);
        ITEMS v[FLIGHT_ROWS][OWN];
#pragma unroll
        for (int f = 0; f < FLIGHT_ROWS; f++) {
            row_items(v[f], from, step, i + f * each < count ? c.count : 0, t, team);
            from = source_on(from, (i64)each, next);
        }
        LANE lanes[FLIGHT_ROWS];
#pragma unroll
        for (int f = 0; f < FLIGHT_ROWS; f++)
            lanes[f] = row_lane(v[f], IS_THERE(i + f * each < count) ? c.count : 0, t, team, from.p);
        rows_across(lanes, FLIGHT_ROWS, team, meet);
        PUT_FLIGHT(FLIGHT_ROWS)
    }
}

/* Reduces segments of 2 or 4 chunk rows at most, with one reduced and one kept axis. A warp takes
 * FLIGHT_ROWS rows at once, of one segment or several. */
#define ROWS_KERNEL(NAME, ROWS)                                                                                                \
    KERNEL BOUNDS_OF(4) void NAME(CALL_ARGS) {                                                                                 \
        OPEN;                                                                                                                  \
        OPEN_EXCHANGE;                                                                                                         \
        OPEN_FLIGHT(FLIGHT_ROWS / (ROWS))                                                                                      \
        KEEP_ROLLED                                                                                                            \
        for (u64 begin = GROUP_ID * flight; begin < count; begin += GROUP_COUNT * flight) {                                    \
            const u64 i = begin + thread / team;                                                                               \
            const SEGMENT segment = ROW_OF(first + i);                                                                         \
            SOURCE from = source_on(segment.in, t, step);                                                                      \
            ITEMS v[FLIGHT_ROWS / (ROWS)][(ROWS)*OWN];                                                                         \
            LANE lanes[FLIGHT_ROWS / (ROWS)];                                                                                  \
            _Pragma("unroll") for (int f = 0; f < FLIGHT_ROWS / (ROWS); f++) {                                                 \
                if (i + f * each < count) load_rows(v[f], from, step, ROWS, t, WIDTH, c.count);                                \
                from = source_on(from, (i64)each, next);                                                                       \
            }                                                                                                                  \
            _Pragma("unroll") for (int f = 0; f < FLIGHT_ROWS / (ROWS); f++) {                                                 \
                LANE own[OWN];                                                                                                 \
                _Pragma("unroll") for (int j = 0; j < OWN; j++) own[j] = lane_identity();                                      \
                if (IS_THERE(i + f * each < count)) step_rows(own, v[f], c, 0, ROWS, t, WIDTH, c.count, from.p);               \
                lanes[f] = four_lanes(own);                                                                                    \
            }                                                                                                                  \
            rows_across(lanes, FLIGHT_ROWS / (ROWS), WIDTH, meet);                                                             \
            PUT_FLIGHT(FLIGHT_ROWS / (ROWS))                                                                                   \
        }                                                                                                                      \
    }
#if FLIGHT_ROWS >= 2
ROWS_KERNEL(tally_segments_rows_2, 2)
#endif
#if FLIGHT_ROWS >= 4
ROWS_KERNEL(tally_segments_rows_4, 4)
#endif
#endif
#endif

#ifdef HAS_THREADS
/* Combines partials by groups: one for each segment, or, if `wide` is not 0, one for each `wide`
 * partials of a segment. */
KERNEL BOUNDS void tally_segments_fold(CALL_ARGS) {
    OPEN;
    OPEN_FOLD;
    const u64 run = wide ? wide : leaves, pieces = (leaves + run - 1) / run;
    for (u64 u = GROUP_ID; u < count * pieces; u += GROUP_COUNT) {
        const u64 i = quotient(u, pieces), from = (u - i * pieces) * run, here = min(run, leaves - from);
        const SEGMENT segment = SEGMENT_OF(first + i);
        FOLD(p, partials + i * leaves + from, counts + i * leaves + from, here)
        if (thread) continue;
        if (last)
            put_part(p, segment.n, out, segment.out, initial, params);
        else
            part_store(p, slices, slice_counts, slice + u);
    }
}

/* Combines the partials of each segment by a thread, which loads FEW_LEAVES of them at once. There
 * are 64 at most (src/segments/launch.c). */
#define FEW_LEAVES 8
#define LEAF_LEVELS 7
KERNEL BOUNDS void tally_segments_fold_each(CALL_ARGS) {
    OPEN;
    for (u64 i = GROUP_ID * GROUP + thread; i < count; i += GROUP_COUNT * GROUP) {
        const SEGMENT segment = SEGMENT_OF(first + i);
        PART level[LEAF_LEVELS], some[FEW_LEAVES];
        for (u32 k = 0; k < leaves; k++) {
            if (k % FEW_LEAVES == 0)
#pragma unroll
                for (u32 f = 0; f < FEW_LEAVES; f++)
                    if (k + f < leaves) some[f] = part_at(partials, counts, i * leaves + k + f);
            PART p = some[0];
#pragma unroll
            for (u32 f = 1; f < FEW_LEAVES; f++) some[f - 1] = some[f];
            COUNTER_PUSH(LEAF_LEVELS, level, k, p, part_combine)
        }
        PART all = part_identity();
#pragma unroll
        for (int b = 0; b < LEAF_LEVELS; b++)
            if (leaves >> b & 1) all = part_combine(level[b], all);
        put_part(all, segment.n, out, segment.out, initial, params);
    }
}
#endif
