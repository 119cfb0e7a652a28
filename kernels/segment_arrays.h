/* SPDX-License-Identifier: MIT */
/*
 * segment_arrays: reductions of an array along axes on GPUs.
 *
 * Computes: the result of each segment (`last`), or a partial of each of its chunks.
 * tally_segments_fold combines these partials to results, or to partials of longer runs of chunks;
 * tally_segments_fold_each combines them to results only.
 * How: a unit is a chunk of a segment. Units are numbered so that neighbours are of neighbouring
 * segments. A unit is reduced by a team in tally_segments_teams, and by a thread in
 * tally_segments_threads. Both take any strides, masks and pivots. The other kernels take neither
 * masks nor pivots. They are for rows that are aligned quads (quad, quads, quad_chunks), for other
 * rows of up to four chunk rows (short, rows_2, rows_4), for segments that lie side by side
 * (columns), and for two reduced axes (planes).
 * Needs: kernels/segment_teams.h and kernels/segment_quads.h before it.
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
TEAMS_KERNEL(tally_segments_teams, BOUNDS, team_part(&segment, &shape, leaf + k, t, team, 0, meet))
#ifdef PLAIN
TEAMS_KERNEL(tally_segments_planes, BOUNDS_OF(3), team_part(&segment, &shape, leaf + k, t, team, 1, meet))
#endif
#ifdef QUADS
TEAMS_KERNEL(tally_segments_quad_chunks, BOUNDS_OF(QUAD_GROUPS), quads_part(&segment, &shape, leaf + k, t, meet))
#endif

KERNEL BOUNDS void tally_segments_threads(CALL_ARGS) {
    OPEN;
    const u64 units = count * leaves;
    KEEP_ROLLED
    for (u64 u = GROUP_ID * GROUP + thread; u < units; u += GROUP_COUNT * GROUP) {
        const u64 k = PART_OF(u, count), i = u - k * count;
        const SEGMENT segment = SEGMENT_OF(first + i);
        const PART p = thread_part(&segment, &shape, leaf + k, team);
        STORE_PART(p, i, k)
    }
}

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

/* ---- columns --------------------------------------------------------------------------------- */

/* Segments that a thread takes at once: neighbours if one load may take them, else `wide` segments
 * apart. */
#define TAKES_FOUR (INPUTS == 1 && IN_BYTES <= (sizeof(ACC) <= 4 ? 4 : 2))
#define COLUMNS ((int)(sizeof(ACC) > 8 || IN_BYTES > 8 ? 1 : TAKES_FOUR ? 4 : 2))
#define SPLIT_LEVELS ((int)(sizeof(ACC) <= 8 ? TURN_LEVELS : 2)) /* of the turns of a thread */

/* An item of each column, loaded at once if the columns are neighbours. */
#define ABREAST_BYTES (COLUMNS * ITEM_BYTES) /* 16 at most */
typedef struct ALIGN(ABREAST_BYTES) {
    ITEM item[COLUMNS];
} COLUMN_ITEMS;
#define COLUMNS_OF(name) COLUMN_ITEMS name;
typedef struct {
    EACH_INPUT(COLUMNS_OF)
} ABREAST;
/* Chunk rows that a thread loads at once of neighbouring columns: 64 bytes. With fewer bytes on
 * their way columns of narrow items were slower by as much on an H200. */
#define ROWS_ABREAST ((int)(COLUMNS * IN_BYTES < 16 ? 16 / (COLUMNS * IN_BYTES) : 1))

/* Tells whether COLUMNS segments from any multiple of COLUMNS on are neighbours in memory, and each
 * of their rows is aligned, in all inputs. */
INLINE u32 are_abreast(SOURCE in, const SHAPE *shape, u64 first) {
    const u32 across = shape->reduced + shape->kept - 1;
    u32 is = first % COLUMNS == 0 && (shape->kept == 1 || shape->axis[across].extent % COLUMNS == 0);
#define IS_ABREAST(name) is = is && shape->axis[across].in[name##_NUMBER] == 1 && (u64)in.name % ABREAST_BYTES == 0;
    EACH_INPUT(IS_ABREAST)
    for (u32 k = 0; k < across; k++) {
#define IS_STEP_ABREAST(name) is = is && shape->axis[k].in[name##_NUMBER] % COLUMNS == 0;
        EACH_INPUT(IS_STEP_ABREAST)
    }
    return is;
}

/* Loads an item of each column; `at` is the first column's. */
INLINE void load_abreast(ABREAST *v, SOURCE at) {
#define LOAD_ABREAST(name) v->name = *(GLOBAL const COLUMN_ITEMS *)at.name;
    EACH_INPUT(LOAD_ABREAST)
}

/* Loads column k's item. */
INLINE void load_column(ABREAST *v, int k, SOURCE at) {
#define LOAD_COLUMN(name) v->name.item[k] = at.name[0];
    EACH_INPUT(LOAD_COLUMN)
}

INLINE ITEMS column_items(const ABREAST *v, int k) {
    ITEMS items;
#define ITEM_OF_COLUMN(name) items.name = v->name.item[k];
    EACH_INPUT(ITEM_OF_COLUMN)
    return items;
}

/* Loads lanes turn + j * team, j below OWN, of a row of all columns, or of ROWS_ABREAST rows of
 * columns `abreast`, and adds them to `own`. `at` has item `turn` of the row in each column, or in
 * the first of columns `abreast`. `left` is the number of items from the row on, or 0 if these
 * lanes are all there. */
INLINE void add_columns(LANE own[][OWN], const SOURCE *at, const u32 *is, int abreast, STEPS step, CHUNK c, u32 row, u32 turn,
                        u32 team, u32 left) {
    ABREAST v[ROWS_ABREAST * OWN];
#define ROW_PLACE(f) ((f) / OWN * LANES + (f) % OWN * team)
#define IS_IN_ROW(f) ((abreast || (f) < OWN) && (!left || turn + ROW_PLACE(f) < left))
#pragma unroll
    for (int f = 0; f < ROWS_ABREAST * OWN; f++) {
        if (abreast && IS_IN_ROW(f)) load_abreast(&v[f], source_on(at[0], ROW_PLACE(f), step));
#pragma unroll
        for (int k = 0; k < COLUMNS; k++)
            if (!abreast && is[k] && IS_IN_ROW(f)) load_column(&v[f], k, source_on(at[k], ROW_PLACE(f), step));
    }
#pragma unroll
    for (int f = 0; f < ROWS_ABREAST * OWN; f++)
#pragma unroll
        for (int k = 0; k < COLUMNS; k++)
            if ((abreast || IS_THERE(is[k])) && IS_IN_ROW(f))
                own[k][f % OWN] =
                    lane_step(own[k][f % OWN], column_items(&v[f], k), c, row + f / OWN, turn + f % OWN * team, at[0].p);
}

/* Combines the lanes of a chunk that are `share` modulo `split`, for each column. `from` has the
 * chunk's first item in each column, or in the first of columns `abreast`. */
INLINE void share_of_columns(LANE *all, const SOURCE *from, const u32 *is, int abreast, STEPS step, CHUNK c, u32 share,
                             u32 split, u32 team) {
    LANE level[COLUMNS][SPLIT_LEVELS + 1];
    const u32 turns = team / split, rows = abreast ? ROWS_ABREAST : 1, whole = (rows - 1) * LANES + OWN * team;
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
        for (; row * LANES + whole <= c.count; row += rows) {
            add_columns(own, at, is, abreast, step, c, row, turn, team, 0);
#pragma unroll
            for (int f = 0; f < (abreast ? 1 : COLUMNS); f++) at[f] = source_on(at[f], rows * LANES, step);
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
    const AXIS *across = &shape.axis[shape.reduced + shape.kept - 1];
    const u32 in_line = abreast || shape.kept == 1; /* one step leads from column to column */
    const STEPS step = item_step(&shape);
    STEPS next;
    (void)t;
#define NEXT_COLUMN(name) next.in[name##_NUMBER] = (i64)apart * across->in[name##_NUMBER];
    EACH_INPUT(NEXT_COLUMN)
    KEEP_ROLLED
    for (u64 begin = GROUP_ID * each; begin < units; begin += GROUP_COUNT * each) {
        const u64 u = begin + own_unit < units ? begin + own_unit : begin, k = PART_OF(u, tiles);
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
        if (is[0]) from[0] = source_on(SEGMENT_OF(first + i).in, (i64)c.index, step);
        if (abreast && is[COLUMNS - 1]) {
            share_of_columns(all, from, is, 1, step, c, share, split, team);
        } else if (is[0]) {
#pragma unroll
            for (int f = 1; f < COLUMNS; f++) {
                from[f] = source_on(from[0], f, next);
                if (!in_line) from[f] = source_on(SEGMENT_OF(first + (is[f] ? i + f * apart : 0)).in, (i64)c.index, step);
            }
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
        SEGMENT segment = SEGMENT_OF(first + (is[0] ? i : 0));
#pragma unroll
        for (int f = 0; f < COLUMNS; f++) {
            if (f && in_line) segment.out += apart * across->out;
            if (f && !in_line && is[f]) segment = SEGMENT_OF(first + i + f * apart);
            if (is[f] && share == 0) {
                const PART p = part_of_lane(all[f], c, c.count);
                STORE_PART(p, i + f * apart, k)
            }
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

/* Combines the partials of each segment by a thread, which loads FEW_LEAVES of them at once; they
 * are 2^LEAF_LEVELS at most. */
#define FEW_LEAVES 8
KERNEL BOUNDS void tally_segments_fold_each(CALL_ARGS) {
    OPEN;
    for (u64 i = GROUP_ID * GROUP + thread; i < count; i += GROUP_COUNT * GROUP) {
        const SEGMENT segment = SEGMENT_OF(first + i);
        PART level[LEAF_LEVELS + 1], some[FEW_LEAVES];
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
        for (int b = 0; b <= LEAF_LEVELS; b++)
            if (leaves >> b & 1) all = part_combine(level[b], all);
        put_part(all, segment.n, out, segment.out, initial, params);
    }
}
