/* SPDX-License-Identifier: MIT */
/*
 * segment_teams: reductions of segments on GPUs, in CUDA C and OpenCL C.
 *
 * Computes: nothing by itself. The kernels by axes (segment_arrays) and by offsets (segment_work)
 * call what stands here.
 * How: a team of threads, 1 to 32 of a warp, shares a chunk. Thread t has the four lanes t + j *
 * team, j from 0 to 3, so a team of fewer than 32 is for at most 4 * team items. Each thread
 * combines its four lanes, and the team combines the threads' lanes by shuffles or in local memory.
 * A thread takes a chunk alone if neighbouring segments are neighbours in memory, or shares it with
 * threads of its group if there are few segments. It takes the turns of a team's threads then, t in
 * bit-reversed order, so that a counter of 5 levels combines them as the halving does.
 * Needs: kernels/segment_exchange.h and kernels/segment_pivots.h before it.
 * Why: neighbouring threads load neighbouring items in each layout, and the order depends on the
 * items alone.
 */
/* ---- a thread's lanes ------------------------------------------------------------------------ */

/* Combined lanes, and the number of their items. */
typedef struct {
    LANE lane;
    u32 has;
} LANES_PART;

/* The items of up to FLIGHT_ROWS rows that a thread loads at once: lane t + j * team of row r is
 * v[r * OWN + j]. `left` is the number of items from the first of these rows on, or 0 if the rows
 * are whole. */
#define IS_HERE(f) (!left || (f) / OWN * LANES + t + (f) % OWN * team < left)

/* Loads the items of `rows` rows; `at` is thread t's first item. */
INLINE void load_rows(ITEMS *v, SOURCE at, STEPS step, int rows, u32 t, u32 team, u32 left) {
#pragma unroll
    for (int f = 0; f < rows * OWN; f += OWN) {
        SOURCE place = at;
#pragma unroll
        for (int j = 0; j < OWN; j++) {
            if (IS_HERE(f + j)) v[f + j] = items_at(place, 0);
            place = source_on(place, team, step);
        }
        at = source_on(at, LANES, step);
    }
}

/* The mask's bytes of these items: is[f] is that of v[f], and 0 where there is none. Masked items
 * are loaded too, so that no load waits for another one. */
#ifdef WHERE
#define WITH_MASK , const u32 *is
#define AND_MASK , is
#define TAKES(f) is[f]
#define OPEN_MASK                                                                                                              \
    GLOBAL const u8 *mask = s->where + (i64)(c.index + t) * step.where;                                                        \
    u32 is[FLIGHT_ROWS * OWN], has = 0;
#define LOAD_MASK(left)                                                                                                        \
    load_mask(is, mask, step.where, t, team, left);                                                                            \
    mask += FLIGHT_ROWS * LANES * step.where;                                                                                  \
    _Pragma("unroll") for (int f = 0; f < FLIGHT_ROWS * OWN; f++) has += is[f] != 0;
#define MASK_HAS has
INLINE void load_mask(u32 *is, GLOBAL const u8 *at, i64 step, u32 t, u32 team, u32 left) {
#pragma unroll
    for (int f = 0; f < FLIGHT_ROWS * OWN; f++) is[f] = IS_HERE(f) ? at[(f / OWN * LANES + f % OWN * team) * step] : 0;
}
#else
#define WITH_MASK
#define AND_MASK
#define TAKES(f) IS_HERE(f)
#define OPEN_MASK
#define LOAD_MASK(left)
#define MASK_HAS 0
#endif

/* Adds the items that load_rows loaded to the thread's lanes. Their first row is `row`. */
INLINE void step_rows(LANE *own, const ITEMS *v, CHUNK c, u32 row, int rows, u32 t, u32 team, u32 left, PARAMS p WITH_MASK) {
#pragma unroll
    for (int f = 0; f < rows * OWN; f++)
        if (TAKES(f)) own[f % OWN] = lane_step(own[f % OWN], v[f], c, row + f / OWN, t + f % OWN * team, p);
}

/* Sets items that may not be loaded. Without it ptxas keeps their registers in all of a kernel by
 * offsets. */
#ifdef OFFSET
#define NO_ITEMS(v) _Pragma("unroll") for (int f = 0; f < FLIGHT_ROWS * OWN; f++) v[f] = none;
#else
#define NO_ITEMS(v)
#endif

/* Adds up thread t's lanes, for a segment with one step from item to item. With a mask it returns
 * the number of their items. */
INLINE u32 walk_lanes(LANE *own, const SEGMENT *s, STEPS step, CHUNK c, u32 t, u32 team) {
    SOURCE at = source_on(s->in, (i64)(c.index + t), step);
    ITEMS v[FLIGHT_ROWS * OWN];
    const ITEMS none = {0};
    u32 row = 0;
    OPEN_MASK
    KEEP_ROLLED
    for (; (row + FLIGHT_ROWS) * LANES <= c.count; row += FLIGHT_ROWS) {
        load_rows(v, at, step, FLIGHT_ROWS, t, team, 0);
        LOAD_MASK(0)
        step_rows(own, v, c, row, FLIGHT_ROWS, t, team, 0, at.p AND_MASK);
        at = source_on(at, FLIGHT_ROWS * LANES, step);
    }
    if (row * LANES >= c.count) return MASK_HAS;
    NO_ITEMS(v)
    load_rows(v, at, step, FLIGHT_ROWS, t, team, c.count - row * LANES);
    LOAD_MASK(c.count - row * LANES)
    step_rows(own, v, c, row, FLIGHT_ROWS, t, team, c.count - row * LANES, at.p AND_MASK);
    return MASK_HAS;
}

#if defined(SHUFFLES) && !defined(OFFSET) && !defined(WHERE)
#define PLANES 1 /* POCL takes minutes to compile what follows */
/* Loads the lanes of FLIGHT_ROWS rows at once and adds them up. A lane counts if IN is true. */
#define ADD_PLANES(IN)                                                                                                         \
    {                                                                                                                          \
        ITEMS v[FLIGHT_ROWS * OWN];                                                                                            \
        _Pragma("unroll") for (int f = 0; f < FLIGHT_ROWS * OWN; f++) {                                                        \
            const int j = f % OWN;                                                                                             \
            if (IN) {                                                                                                          \
                EACH_INPUT(LOAD_AT)                                                                                            \
            }                                                                                                                  \
            inner[j] += LANES % extent;                                                                                        \
            const u32 over = inner[j] >= extent;                                                                               \
            inner[j] -= over ? extent : 0;                                                                                     \
            EACH_INPUT(MOVE_AT)                                                                                                \
        }                                                                                                                      \
        _Pragma("unroll") for (int f = 0; f < FLIGHT_ROWS * OWN; f++) if (IN) own[f % OWN] =                                   \
            lane_step(own[f % OWN], v[f], c, row + f / OWN, t + f % OWN * team, s->in.p);                                      \
    }
#define LOAD_AT(name) v[f].name = s->in.name[at[j].in[name##_NUMBER]];
#define MOVE_AT(name) at[j].in[name##_NUMBER] += step.in[name##_NUMBER] + (over ? carry.in[name##_NUMBER] : 0);

/* Adds up thread t's lanes along two axes. The place of a lane moves on by a chunk row of items at
 * a time, and carries at the end of the inner axis. */
INLINE void walk_planes(LANE *own, const SEGMENT *s, const SHAPE *shape, CHUNK c, u32 t, u32 team) {
    const u32 extent = (u32)shape->axis[1].extent;
    const STEPS step = steps_to(shape->axis, 2, LANES);
    STEPS at[OWN], carry;
    u32 inner[OWN];
#define CARRY(name) carry.in[name##_NUMBER] = shape->axis[0].in[name##_NUMBER] - (i64)extent * shape->axis[1].in[name##_NUMBER];
    EACH_INPUT(CARRY)
#pragma unroll
    for (int j = 0; j < OWN; j++) {
        const u64 i = c.index + t + j * team;
        at[j] = steps_to(shape->axis, 2, i);
        inner[j] = (u32)(i - quotient(i, extent) * extent);
    }
    u32 row = 0;
    KEEP_ROLLED
    for (; (row + FLIGHT_ROWS) * LANES <= c.count; row += FLIGHT_ROWS) ADD_PLANES(1)
    KEEP_ROLLED
    for (; row * LANES < c.count; row += FLIGHT_ROWS)
        ADD_PLANES(row * LANES + (f) / OWN * LANES + t + (f) % OWN * team < c.count)
}
#endif

/* Adds up thread t's lanes, item by item; returns how many there are. */
INLINE u32 find_lanes(LANE *own, const SEGMENT *s, const SHAPE *shape, CHUNK c, u32 t, u32 team) {
    u32 has = 0;
    KEEP_ROLLED
    for (u32 row = 0; row * LANES < c.count; row++) {
        ITEMS v[OWN];
        u32 is[OWN];
#pragma unroll
        for (int j = 0; j < OWN; j++) {
            const u32 i = row * LANES + t + j * team;
            is[j] = 0;
            if (i < c.count) {
                v[j] = segment_items(s, shape, c.index + i);
                is[j] = segment_has(s, shape, c.index + i);
            }
        }
#pragma unroll
        for (int j = 0; j < OWN; j++)
            if (is[j]) {
                own[j] = lane_step(own[j], v[j], c, row, t + j * team, s->in.p);
                has++;
            }
    }
    return has;
}

/* Combines a thread's four lanes. */
INLINE LANE four_lanes(const LANE *own) {
    return lane_combine(lane_combine(own[0], own[2]), lane_combine(own[1], own[3]));
}

/* A thread finds its items in one of three ways: several chunk rows at once, where one step leads
 * from item to item (BY_STEPS); likewise along two axes (BY_PLANES); or one row at a time
 * (BY_ROWS), which takes fewer registers. The sum of 2^21 masked rows of 32 f32 takes an H200 248
 * us by rows, and 396 in a kernel that also has the steps (December 2026). */
#define BY_STEPS 0
#define BY_PLANES 1
#define BY_ROWS 2

/* Combines the four lanes of thread t. `has` is for callers with a mask only. */
INLINE LANES_PART own_lane(const SEGMENT *s, const SHAPE *shape, CHUNK c, u32 t, u32 team, int how) {
    LANES_PART part;
    LANE own[OWN];
#pragma unroll
    for (int j = 0; j < OWN; j++) own[j] = lane_identity();
    part.has = 0;
#ifdef PLANES
    if (how == BY_PLANES)
        walk_planes(own, s, shape, c, t, team);
    else
#endif
        if (how == BY_STEPS && ONE_STEP(shape))
        part.has = walk_lanes(own, s, item_step(shape), c, t, team);
    else
        part.has = find_lanes(own, s, shape, c, t, team);
    part.lane = four_lanes(own);
    return part;
}

INLINE CHUNK chunk_of(const SEGMENT *s, u64 chunk) {
    CHUNK c;
    c.index = chunk * CHUNK_ITEMS;
    c.count = s->n <= c.index ? 0 : (u32)min((u64)CHUNK_ITEMS, s->n - c.index);
    return c;
}

/* ---- a chunk by a team ----------------------------------------------------------------------- */

/* Returns, in thread 0 of the team, the part of a chunk. All threads of the group take part. */
INLINE PART team_part(const SEGMENT *s, const SHAPE *shape, u64 chunk, u32 t, u32 team, int how, LOCAL EXCHANGE *meet) {
    CHUNK c = chunk_of(s, chunk);
#ifdef TAKES_PIVOT
    c.pivot = team_pivot(s, shape, c, t, team, meet);
#endif
    LANES_PART own = own_lane(s, shape, c, t, team, how);
#ifdef PIVOT_MAY_MISS
    /* Threads take their lanes again if the pivot misses. The second pivot never misses. */
    PIVOT pivot = pivot_of_lane(own.lane);
    ACROSS_TEAM(PIVOT, pivot, pivot_xor, pivot_combine)
    if (pivot_changes(&c.pivot, pivot_value(pivot, 0))) own = own_lane(s, shape, c, t, team, how);
#endif
    ACROSS_TEAM(LANE, own.lane, lane_down, lane_combine)
#ifdef WHERE
    return part_of_lane(own.lane, c, team_sum(own.has, team, meet));
#else
    return part_of_lane(own.lane, c, c.count);
#endif
}

#ifdef PLAIN
/* ---- a row by a team ------------------------------------------------------------------------- */

/* Loads the lanes t + j team of a segment of up to a chunk's row; `at` is item t. */
INLINE void row_items(ITEMS *v, SOURCE at, STEPS step, u32 n, u32 t, u32 team) {
#pragma unroll
    for (int j = 0; j < OWN; j++) {
        if (t + j * team < n) v[j] = items_at(at, 0);
        at = source_on(at, team, step);
    }
}

/* Combines the lanes that row_items loaded, in each thread. */
INLINE LANE row_lane(const ITEMS *v, u32 n, u32 t, u32 team, PARAMS p) {
    LANE own[OWN];
    CHUNK c;
    c.index = 0;
    c.count = n;
#pragma unroll
    for (int j = 0; j < OWN; j++) {
        own[j] = lane_identity();
        if (t + j * team < n) own[j] = lane_step(own[j], v[j], c, 0, t + j * team, p);
    }
    return four_lanes(own);
}

/* Combines the lanes of `count` segments, in thread 0 of each team. */
INLINE void rows_across(LANE *lanes, int count, u32 team, LOCAL EXCHANGE *meet) {
#define ROWS_STEP(s)                                                                                                           \
    IF_ACROSS(s) {                                                                                                             \
        _Pragma("unroll") for (int f = 0; f < count; f++) {                                                                    \
            const LANE other = lane_down(lanes[f], s, meet);                                                                   \
            if (team > (s)) lanes[f] = lane_combine(lanes[f], other);                                                          \
        }                                                                                                                      \
    }
    ROWS_STEP(16)
    ROWS_STEP(8)
    ROWS_STEP(4)
    ROWS_STEP(2)
    ROWS_STEP(1)
}
#endif

/* ---- a chunk by threads that share it -------------------------------------------------------- */

/* `split` threads share a chunk. They are `each` threads apart. Share s has the lanes that are s
 * modulo `split`. Only devices with shuffles split chunks here, because POCL 3.1 miscompiles two
 * exchanges in a row. */
typedef struct {
    u32 thread, share, split, each;
} SHARES;

INLINE SHARES shares_of(u32 thread, u32 split) {
    SHARES shares;
    shares.thread = thread;
    shares.split = split;
    shares.each = GROUP / split;
    shares.share = thread / shares.each;
    return shares;
}

/* Combines the lanes of a share. */
INLINE LANES_PART share_lane(const SEGMENT *s, const SHAPE *shape, CHUNK c, u32 team, SHARES by, int how) {
    LANE level[TURN_LEVELS];
    LANES_PART all;
    u32 has = 0;
    KEEP_ROLLED
    for (u32 k = 0; k < team / by.split; k++) {
        all = own_lane(s, shape, c, by.share + by.split * turn_of(k, team / by.split), team, how);
        has += all.has;
        COUNTER_PUSH(TURN_LEVELS, level, k, all.lane, lane_combine)
    }
    all.has = has;
    return all;
}

#ifdef SHUFFLES
/* Combines the lanes of all shares, for each of them. */
#define HALVE_SHARES(s)                                                                                                        \
    BARRIER                                                                                                                    \
    if (by.split > (s) && by.share < (s))                                                                                      \
        meet->lane[by.thread] = lane_combine(meet->lane[by.thread], meet->lane[by.thread + (s)*by.each]);
INLINE LANE across_shares(LANE a, SHARES by, LOCAL EXCHANGE *meet) {
    BARRIER
    meet->lane[by.thread] = a;
    HALVE_SHARES(16)
    HALVE_SHARES(8)
    HALVE_SHARES(4)
    HALVE_SHARES(2)
    HALVE_SHARES(1)
    BARRIER
    return meet->lane[by.thread % by.each];
}

INLINE u32 sum_of_shares(u32 has, SHARES by, LOCAL EXCHANGE *meet) {
    u32 sum = 0;
    BARRIER
    meet->word[by.thread] = has;
    BARRIER
    for (u32 k = 0; k < by.split; k++) sum += meet->word[by.thread % by.each + k * by.each];
    return sum;
}

#define ACROSS_SHARES(all)                                                                                                     \
    if (by.split > 1) all.lane = across_shares(all.lane, by, meet);
#define SUM_OF_SHARES(has) (by.split > 1 ? sum_of_shares(has, by, meet) : (has))
#else
#define ACROSS_SHARES(all)
#define SUM_OF_SHARES(has) (has)
#endif

/* Returns the part of a chunk, in each of its threads. If they are several, all threads of the
 * group take part. */
INLINE PART shared_part(const SEGMENT *s, const SHAPE *shape, u64 chunk, u32 team, SHARES by, int how, LOCAL EXCHANGE *meet) {
    CHUNK c = chunk_of(s, chunk);
#ifdef TAKES_PIVOT
    c.pivot = thread_pivot(s, shape, c, team);
#endif
    LANES_PART all = share_lane(s, shape, c, team, by, how);
    ACROSS_SHARES(all)
#ifdef PIVOT_MAY_MISS
    LANES_PART again = all;
    const u32 misses = pivot_changes(&c.pivot, pivot_value(pivot_of_lane(all.lane), 0));
    if (misses) again = share_lane(s, shape, c, team, by, how);
    ACROSS_SHARES(again)
    if (misses) all = again;
#endif
#ifdef WHERE
    return part_of_lane(all.lane, c, SUM_OF_SHARES(all.has));
#else
    return part_of_lane(all.lane, c, c.count);
#endif
}

/* ---- kernels --------------------------------------------------------------------------------- */

/* Every kernel by axes begins with OPEN, because its launch may overlap the one before. */
#ifndef __CUDA_ARCH__
#define AWAIT_PREVIOUS
#endif
#define OPEN                                                                                                                   \
    AWAIT_PREVIOUS                                                                                                             \
    SOURCE in = SOURCE_OF_ARGS;                                                                                                \
    const OUTS out = OUTS_OF_ARGS;                                                                                             \
    const u32 thread = THREAD_ID, t = thread % team;
/* Threads exchange in local memory on devices without shuffles. */
#ifdef SHUFFLES
#define OPEN_EXCHANGE LOCAL EXCHANGE *meet = 0;
#else
#define OPEN_EXCHANGE                                                                                                          \
    SHARED EXCHANGE exchange;                                                                                                  \
    LOCAL EXCHANGE *meet = &exchange;
#endif

/* Combines `leaves` partials by the canonical tree, by the whole group. With a mask it also adds up
 * their items. Thread 0 gets all of it in `p`. */
#define OPEN_TREE SHARED ACC tree[TREE_SLOTS];
#ifdef WHERE
#define OPEN_FOLD                                                                                                              \
    OPEN_TREE                                                                                                                  \
    SHARED u64 items[GROUP];
#define ADD_ITEMS(p, from, leaves)                                                                                             \
    items[thread] = 0;                                                                                                         \
    for (u64 k = thread; k < (leaves); k += GROUP) items[thread] += (from)[k];                                                 \
    BARRIER                                                                                                                    \
    p.n = 0;                                                                                                                   \
    for (u32 k = 0; k < GROUP; k++) p.n += items[k];
#else
#define OPEN_FOLD OPEN_TREE
#define ADD_ITEMS(p, from, leaves)
#endif
#define FOLD(p, from, from_counts, leaves)                                                                                     \
    PART p;                                                                                                                    \
    ADD_ITEMS(p, from_counts, leaves)                                                                                          \
    p.acc = tree_value(from, leaves, tree);                                                                                    \
    BARRIER
