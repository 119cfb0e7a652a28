/* SPDX-License-Identifier: MIT */
/*
 * segment_arrays: reductions of an array along axes on GPUs.
 *
 * Computes: the result of each segment (`last`), or a partial of each of its chunks.
 * tally_segments_fold combines these partials to results, or to partials of longer runs of chunks;
 * tally_segments_fold_each combines them to results only.
 * How: a unit is a chunk of a segment. Units are numbered so that neighbours are of neighbouring
 * segments. A unit is reduced by a team in tally_segments_teams, and by a thread in
 * tally_segments_threads. Both take any strides, masks and pivots. Three more kernels take neither
 * masks nor pivots: for segments of up to a chunk row (short), for segments that lie side by side
 * (columns), for two reduced axes (planes).
 * Needs: kernels/segment_teams.h before it.
 * Why: memory speed needs many loads at once, and few instructions for each.
 */

/* Stores the part of chunk k of segment i: the result, or a partial. */
#define STORE_PART(p, i, k)                                                                                                    \
    if (last)                                                                                                                  \
        put_part(p, segment.n, out, segment.out, initial, params);                                                             \
    else                                                                                                                       \
        part_store(p, partials, counts, (i)*leaves + (k));

/* Unit u is chunk u / count of segment u % count, so that neighbours are neighbouring segments. */
#define TEAMS_KERNEL(NAME, planes)                                                                                             \
    KERNEL BOUNDS void NAME(CALL_ARGS) {                                                                                       \
        OPEN;                                                                                                                  \
        OPEN_EXCHANGE;                                                                                                         \
        const u64 units = count * leaves;                                                                                      \
        for (u64 begin = GROUP_ID * (GROUP / team); begin < units; begin += GROUP_COUNT * (GROUP / team)) {                    \
            const u64 u = begin + thread / team, own = u < units ? u : 0, k = quotient(own, count), i = own - k * count;       \
            const SEGMENT segment = SEGMENT_OF(first + i);                                                                     \
            const PART p = team_part(&segment, &shape, leaf + k, t, team, planes, meet);                                       \
            if (u < units && t == 0) {                                                                                         \
                STORE_PART(p, i, k)                                                                                            \
            }                                                                                                                  \
        }                                                                                                                      \
    }
TEAMS_KERNEL(tally_segments_teams, 0)
#ifdef PLAIN
TEAMS_KERNEL(tally_segments_planes, 1)
#endif

KERNEL BOUNDS void tally_segments_threads(CALL_ARGS) {
    OPEN;
    const u64 units = count * leaves;
    KEEP_ROLLED
    for (u64 u = GROUP_ID * GROUP + thread; u < units; u += GROUP_COUNT * GROUP) {
        const u64 k = quotient(u, count), i = u - k * count;
        const SEGMENT segment = SEGMENT_OF(first + i);
        const PART p = thread_part(&segment, &shape, leaf + k, team);
        STORE_PART(p, i, k)
    }
}

#ifdef PLAIN
/* ---- several segments a thread --------------------------------------------------------------- */

/* Four neighbouring items, loaded at once. */
typedef union {
    ITEM item[OWN];
    struct ALIGN(ITEM_BYTES <= 4 ? OWN * ITEM_BYTES : 16) {
        ITEM item[OWN];
    } whole;
} QUAD;

/* Tells whether each row is one or two aligned quads, one for each thread of its team. */
INLINE u32 takes_quads(SOURCE in, const SHAPE *shape, u32 team) {
    u32 is = team <= 2 && shape->n == team * OWN;
#define IS_ALIGNED(name)                                                                                                       \
    is = is && shape->axis[0].in[name##_NUMBER] == 1 && shape->axis[1].in[name##_NUMBER] % OWN == 0 &&                         \
         (u64)in.name % (OWN * ITEM_BYTES) == 0;
    EACH_INPUT(IS_ALIGNED)
    return is;
}

/* Devices without shuffles take no quads, because the exchange between the two threads would have
 * barriers under a condition. They also leave out rows and columns that do not exist, so that tools
 * find no use of an item that was never loaded. Devices with shuffles compute these like the
 * others, and no result depends on them. */
#ifdef SHUFFLES
#define TAKES_QUADS(in) takes_quads(in, &shape, team)
#define IS_THERE(is) 1
#else
#define TAKES_QUADS(in) 0
#define IS_THERE(is) (is)
#endif

/* Loads a quad of each input. */
INLINE void quads_at(ITEMS *v, SOURCE at){
#define LOAD_QUAD(name)                                                                                                        \
    {                                                                                                                          \
        QUAD quad;                                                                                                             \
        quad.whole = ((GLOBAL const QUAD *)at.name)->whole;                                                                    \
        _Pragma("unroll") for (int j = 0; j < OWN; j++) v[j].name = quad.item[j];                                              \
    }
    EACH_INPUT(LOAD_QUAD)}

/* Combines a row of one or two quads, one in each thread of the team. */
INLINE LANE quads_lane(const ITEMS *v, CHUNK c, u32 t, u32 team, PARAMS p, LOCAL EXCHANGE *meet) {
    LANE own[OWN];
#pragma unroll
    for (int j = 0; j < OWN; j++) {
        own[j] = lane_step(lane_identity(), v[j], c, 0, OWN * t + j, p);
        if (team > 1) own[j] = lane_combine(own[j], lane_down(own[j], 1, meet));
    }
    return four_lanes(own);
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

/* Reduces segments of up to a chunk row, with one reduced and one kept axis. A team takes
 * FLIGHT_ROWS of them at once. */
KERNEL BOUNDS_OF(4) void tally_segments_short(CALL_ARGS) {
    OPEN;
    OPEN_EXCHANGE;
    OPEN_FLIGHT(FLIGHT_ROWS)
    const u32 by_quads = TAKES_QUADS(SEGMENT_OF(0).in);
    KEEP_ROLLED
    for (u64 begin = GROUP_ID * flight; begin < count; begin += GROUP_COUNT * flight) {
        const u64 i = begin + thread / team;
        const SEGMENT segment = SEGMENT_OF(first + i);
        SOURCE from = source_on(segment.in, by_quads ? OWN * t : t, step);
        ITEMS v[FLIGHT_ROWS][OWN];
#pragma unroll
        for (int f = 0; f < FLIGHT_ROWS; f++) {
            const u32 n = i + f * each < count ? c.count : 0;
            if (by_quads) {
                if (n) quads_at(v[f], from);
            } else {
                row_items(v[f], from, step, n, t, team);
            }
            from = source_on(from, (i64)each, next);
        }
        LANE lanes[FLIGHT_ROWS];
#pragma unroll
        for (int f = 0; f < FLIGHT_ROWS; f++)
            lanes[f] = by_quads ? quads_lane(v[f], c, t, team, from.p, meet)
                                : row_lane(v[f], IS_THERE(i + f * each < count) ? c.count : 0, t, team, from.p);
        if (!by_quads) rows_across(lanes, FLIGHT_ROWS, team, meet);
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
            const SEGMENT segment = SEGMENT_OF(first + i);                                                                     \
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

/* ---- columns --------------------------------------------------------------------------------- */

/* Segments that a thread takes at once: neighbours if one load may take them, else `wide` segments
 * apart. */
#define IN_BYTES (ITEM_BYTES * INPUTS)
#define IS_NARROW (INPUTS == 1 && IN_BYTES <= (sizeof(ACC) <= 4 ? 4 : 2))
#define COLUMNS ((int)(sizeof(ACC) > 8 || IN_BYTES > 8 ? 1 : IS_NARROW ? 4 : 2))
#define SPLIT_LEVELS ((int)(sizeof(ACC) <= 8 ? TURN_LEVELS : 2)) /* of the turns of a thread */

/* The items of neighbouring columns, loaded at once. */
#define ABREAST_BYTES (COLUMNS * ITEM_BYTES) /* 16 at most */
typedef union {
    ITEM item[COLUMNS];
    struct ALIGN(ABREAST_BYTES) {
        ITEM item[COLUMNS];
    } whole;
} ABREAST;

/* Tells whether COLUMNS segments from any multiple of COLUMNS on are neighbours in memory, and each
 * of their rows is aligned, in all inputs. */
INLINE u32 are_abreast(SOURCE in, const SHAPE *shape, u64 first) {
    const u32 across = shape->reduced + shape->kept - 1;
    u32 is = COLUMNS > 1 && first % COLUMNS == 0 && (shape->kept == 1 || shape->axis[across].extent % COLUMNS == 0);
#define IS_ABREAST(name) is = is && shape->axis[across].in[name##_NUMBER] == 1 && (u64)in.name % ABREAST_BYTES == 0;
    EACH_INPUT(IS_ABREAST)
    for (u32 k = 0; k < across; k++) {
#define IS_STEP_ABREAST(name) is = is && shape->axis[k].in[name##_NUMBER] % COLUMNS == 0;
        EACH_INPUT(IS_STEP_ABREAST)
    }
    return is;
}

/* Loads an item of each column, lane j of a row. `at` is the item of the first column. */
INLINE void abreast_at(ITEMS v[][OWN], int j, SOURCE at){
#define LOAD_ABREAST(name)                                                                                                     \
    {                                                                                                                          \
        ABREAST items;                                                                                                         \
        items.whole = ((GLOBAL const ABREAST *)at.name)->whole;                                                                \
        _Pragma("unroll") for (int k = 0; k < COLUMNS; k++) v[k][j].name = items.item[k];                                      \
    }
    EACH_INPUT(LOAD_ABREAST)}

/* Loads lanes turn + j * team of a row, j below OWN, of all columns at once, and adds them to
 * `own`. `at` has item `turn` of the row in each column, or in the first of columns `abreast`;
 * `left` is as in add_rows. */
INLINE void add_columns(LANE own[][OWN], const SOURCE *at, const u32 *is, int abreast, STEPS step, CHUNK c, u32 row, u32 turn,
                        u32 team, u32 left) {
    ITEMS v[COLUMNS][OWN];
#define IS_IN_ROW(j) (!left || turn + (j)*team < left)
#pragma unroll
    for (int j = 0; j < OWN; j++) {
        if (abreast && IS_IN_ROW(j)) abreast_at(v, j, source_on(at[0], j * (i64)team, step));
#pragma unroll
        for (int k = 0; k < COLUMNS; k++)
            if (!abreast && is[k] && IS_IN_ROW(j)) v[k][j] = items_at(source_on(at[k], j * (i64)team, step), 0);
    }
#pragma unroll
    for (int j = 0; j < OWN; j++)
#pragma unroll
        for (int k = 0; k < COLUMNS; k++)
            if ((abreast || IS_THERE(is[k])) && IS_IN_ROW(j))
                own[k][j] = lane_step(own[k][j], v[k][j], c, row, turn + j * team, at[0].p);
}

/* Combines the lanes of a chunk that are `share` modulo `split`, for each column. `from` has the
 * chunk's first item in each column, or in the first of columns `abreast`. */
INLINE void share_of_columns(LANE *all, const SOURCE *from, const u32 *is, int abreast, STEPS step, CHUNK c, u32 share,
                             u32 split, u32 team) {
    LANE level[COLUMNS][SPLIT_LEVELS + 1];
    const u32 turns = team / split;
    KEEP_ROLLED
    for (u32 q = 0; q < turns; q++) {
        const u32 turn = share + split * turn_of(q, turns);
        LANE own[COLUMNS][OWN];
        SOURCE at[COLUMNS];
        u32 row = 0;
#pragma unroll
        for (int f = 0; f < (abreast ? 1 : COLUMNS); f++) at[f] = source_on(from[f], turn, step);
#pragma unroll
        for (int f = 0; f < COLUMNS * OWN; f++) own[f / OWN][f % OWN] = lane_identity();
        KEEP_ROLLED
        for (; (row + 1) * LANES <= c.count; row++) {
            add_columns(own, at, is, abreast, step, c, row, turn, team, 0);
#pragma unroll
            for (int f = 0; f < (abreast ? 1 : COLUMNS); f++) at[f] = source_on(at[f], LANES, step);
        }
        if (row * LANES < c.count) add_columns(own, at, is, abreast, step, c, row, turn, team, c.count - row * LANES);
#pragma unroll
        for (int f = 0; f < COLUMNS; f++) {
            all[f] = four_lanes(own[f]);
            COUNTER_PUSH(SPLIT_LEVELS, level[f], q, all[f], lane_combine)
        }
    }
}

/* Devices without shuffles do the halvings even if there is nothing to halve, because POCL has
 * miscompiled barriers under a condition. */
#ifdef SHUFFLES
#define IF_SPLIT if (split > 1)
#else
#define IF_SPLIT
#endif
/* A step of halving among the `split` threads that share a chunk of columns. */
#define HALVE(s)                                                                                                               \
    BARRIER                                                                                                                    \
    if (split > (s) && share < (s))                                                                                            \
        _Pragma("unroll") for (int k = 0; k < COLUMNS; k++) halves[thread + k * GROUP] =                                       \
            lane_combine(halves[thread + k * GROUP], halves[thread + (s)*wide + k * GROUP]);

/*
 * Reduces segments that lie side by side, along one axis. `wide` threads have neighbouring columns.
 * `split` threads share a chunk of a column: share s has the lanes that are s modulo `split`, and
 * the last halvings combine the shares. A thread whose columns are not all there loads them one by
 * one.
 */
KERNEL BOUNDS_OF(2) void tally_segments_columns(CALL_ARGS) {
    OPEN;
    SHARED LANE halves[GROUP * COLUMNS];
    const u32 abreast = are_abreast(in, &shape, first), apart = abreast ? 1 : wide;
    const u32 column = thread % wide, share = thread / wide % split, own_unit = thread / (wide * split);
    const u32 each = GROUP / (wide * split);
    const u64 tiles = (count + wide * COLUMNS - 1) / (wide * COLUMNS), units = tiles * leaves;
    const STEPS step = item_step(&shape);
    (void)t;
    KEEP_ROLLED
    for (u64 begin = GROUP_ID * each; begin < units; begin += GROUP_COUNT * each) {
        const u64 u = begin + own_unit < units ? begin + own_unit : begin, k = quotient(u, tiles);
        const u64 i = (u - k * tiles) * (wide * COLUMNS) + (abreast ? column * COLUMNS : column);
        SOURCE from[COLUMNS];
        LANE all[COLUMNS];
        u32 is[COLUMNS];
        CHUNK c;
        c.index = (leaf + k) * CHUNK_ITEMS;
        c.count = (u32)min((u64)CHUNK_ITEMS, shape.n - c.index);
#pragma unroll
        for (int f = 0; f < COLUMNS; f++) {
            is[f] = i + f * apart < count && begin + own_unit < units;
            all[f] = lane_identity();
        }
        if (abreast && is[COLUMNS - 1]) {
            from[0] = source_on(SEGMENT_OF(first + i).in, (i64)c.index, step);
            share_of_columns(all, from, is, 1, step, c, share, split, team);
        } else if (is[0]) {
#pragma unroll
            for (int f = 0; f < COLUMNS; f++)
                from[f] = source_on(SEGMENT_OF(first + (is[f] ? i + f * apart : 0)).in, (i64)c.index, step);
            share_of_columns(all, from, is, 0, step, c, share, split, team);
        }
        IF_SPLIT {
            BARRIER
#pragma unroll
            for (int f = 0; f < COLUMNS; f++) halves[thread + f * GROUP] = all[f];
            HALVE(16)
            HALVE(8)
            HALVE(4)
            HALVE(2)
            HALVE(1)
#pragma unroll
            for (int f = 0; f < COLUMNS; f++) all[f] = halves[thread + f * GROUP];
        }
#pragma unroll
        for (int f = 0; f < COLUMNS; f++)
            if (is[f] && share == 0) {
                const PART p = part_of_lane(all[f], c, c.count);
                const SEGMENT segment = SEGMENT_OF(first + i + f * apart);
                STORE_PART(p, i + f * apart, k)
            }
    }
}
#endif

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

/* Combines the partials of each segment by a thread; they are 2^LEAF_LEVELS at most. */
KERNEL BOUNDS void tally_segments_fold_each(CALL_ARGS) {
    OPEN;
    for (u64 i = GROUP_ID * GROUP + thread; i < count; i += GROUP_COUNT * GROUP) {
        const SEGMENT segment = SEGMENT_OF(first + i);
        PART level[LEAF_LEVELS + 1];
        for (u32 k = 0; k < leaves; k++) {
            PART p = part_at(partials, counts, i * leaves + k);
            COUNTER_PUSH(LEAF_LEVELS, level, k, p, part_combine)
        }
        PART all = part_identity();
        for (int b = 0; b <= LEAF_LEVELS; b++)
            if (leaves >> b & 1) all = part_combine(level[b], all);
        put_part(all, segment.n, out, segment.out, initial, params);
    }
}
