/* SPDX-License-Identifier: MIT */
/*
 * segment_teams: reductions of segments on GPUs, in CUDA C and OpenCL C.
 *
 * Computes: nothing by itself. The kernels by axes (segment_arrays) and by offsets (segment_work)
 * call what stands here.
 * How: a team of threads, 1 to 32 of a warp, shares a chunk. Thread t has the four lanes t + j *
 * team, j from 0 to 3, so a team of fewer than 32 is for at most 4 * team items. Each thread
 * combines its four lanes, and the team combines the threads' lanes by shuffles or in local memory.
 * A thread takes a chunk alone if neighbouring segments are neighbours in memory. It takes the
 * turns of a team's threads then, t in bit-reversed order, so that a counter of 5 levels combines
 * them as the halving does.
 * Needs: kernels/segments.h and the stem "finish" before it; GROUP a power of two from 32 on.
 * Why: neighbouring threads load neighbouring items in each layout, and the order depends on the
 * items alone.
 */
#define WIDTH 32
#define OWN 4         /* lanes of a thread */
#define TURN_LEVELS 5 /* of WIDTH turns */
#define LEAF_LEVELS 12

#if !defined(WHERE) && !defined(TAKES_PIVOT)
#define PLAIN 1 /* each item counts as it comes */
#endif

#define IN_BYTES (ITEM_BYTES * INPUTS)
/* Chunk rows whose items are loaded at once. */
#define FLIGHT_ROWS (IN_BYTES <= 4 ? 4 : IN_BYTES <= 8 ? 2 : 1)

#if defined(__CUDA_ARCH__) || defined(PTX)
#define SHUFFLES 1 /* threads of a warp exchange words; elsewhere in local memory */
#endif

/* ---- exchange -------------------------------------------------------------------------------- */

typedef union {
    LANE lane[GROUP];
#ifdef TAKES_PIVOT
    PIVOT pivot[GROUP];
#endif
    u32 word[GROUP];
} EXCHANGE;

/*
 * NAME(a, s, meet) returns the `a` of another thread of the warp: of thread t + s (down) or t ^ s
 * (bfly). All threads of the group take part.
 */
#ifdef SHUFFLES
#define EXCHANGE_BY(NAME, TYPE, MEMBER, MODE, OTHER)                                                                           \
    INLINE TYPE NAME(TYPE a, u32 s, LOCAL EXCHANGE *meet) {                                                                    \
        union {                                                                                                                \
            TYPE value;                                                                                                        \
            u32 word[(sizeof(TYPE) + 3) / 4];                                                                                  \
        } from, to;                                                                                                            \
        from.value = a;                                                                                                        \
        _Pragma("unroll") for (int w = 0; w < (int)((sizeof(TYPE) + 3) / 4); w++) asm volatile(                                \
            "shfl.sync." MODE ".b32 %0, %1, %2, 0x1f, 0xffffffff;" : "=r"(to.word[w]) : "r"(from.word[w]), "r"(s));            \
        return to.value;                                                                                                       \
    }
#else
#define EXCHANGE_BY(NAME, TYPE, MEMBER, MODE, OTHER)                                                                           \
    INLINE TYPE NAME(TYPE a, u32 s, LOCAL EXCHANGE *meet) {                                                                    \
        meet->MEMBER[THREAD_ID] = a;                                                                                           \
        BARRIER                                                                                                                \
        a = meet->MEMBER[(OTHER) % GROUP];                                                                                     \
        BARRIER                                                                                                                \
        return a;                                                                                                              \
    }
#endif
EXCHANGE_BY(lane_down, LANE, lane, "down", THREAD_ID + s)
EXCHANGE_BY(word_xor, u32, word, "bfly", THREAD_ID ^ s)
#ifdef TAKES_PIVOT
EXCHANGE_BY(pivot_xor, PIVOT, pivot, "bfly", THREAD_ID ^ s)
#endif

/* The steps of a team are written out, because POCL has miscompiled barriers in loops. A step that
 * is too wide for the team is left out; a step with barriers is done, and changes nothing. */
#ifdef SHUFFLES
#define IF_ACROSS(s) if (team > (s))
#else
#define IF_ACROSS(s)
#endif
#define ACROSS_TEAM(TYPE, a, exchange, combine)                                                                                \
    STEP_ACROSS(TYPE, a, 16, exchange, combine)                                                                                \
    STEP_ACROSS(TYPE, a, 8, exchange, combine)                                                                                 \
    STEP_ACROSS(TYPE, a, 4, exchange, combine)                                                                                 \
    STEP_ACROSS(TYPE, a, 2, exchange, combine)                                                                                 \
    STEP_ACROSS(TYPE, a, 1, exchange, combine)
#define STEP_ACROSS(TYPE, a, s, exchange, combine)                                                                             \
    IF_ACROSS(s) {                                                                                                             \
        const TYPE other = exchange(a, s, meet);                                                                               \
        if (team > (s)) a = combine(a, other);                                                                                 \
    }

INLINE u32 word_add(u32 a, u32 b) {
    return a + b;
}

/* Returns the sum of a team's words. */
INLINE u32 team_sum(u32 a, u32 team, LOCAL EXCHANGE *meet) {
    ACROSS_TEAM(u32, a, word_xor, word_add)
    return a;
}

/* ---- a thread's lanes ------------------------------------------------------------------------ */

/* Combined lanes, and the number of their items. */
typedef struct {
    LANE lane;
    u32 has;
} LANES_PART;

#ifndef WHERE
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

/* Adds the items that load_rows loaded to the thread's lanes. Their first row is `row`. */
INLINE void step_rows(LANE *own, const ITEMS *v, CHUNK c, u32 row, int rows, u32 t, u32 team, u32 left, PARAMS p) {
#pragma unroll
    for (int f = 0; f < rows * OWN; f++)
        if (IS_HERE(f)) own[f % OWN] = lane_step(own[f % OWN], v[f], c, row + f / OWN, t + f % OWN * team, p);
}

/* Sets items that may not be loaded. Without it ptxas keeps their registers in all of a kernel by
 * offsets. */
#ifdef OFFSET
#define NO_ITEMS(v) _Pragma("unroll") for (int f = 0; f < FLIGHT_ROWS * OWN; f++) v[f] = none;
#else
#define NO_ITEMS(v)
#endif

/* Adds up thread t's lanes, for a segment with one step from item to item. */
INLINE void walk_lanes(LANE *own, const SEGMENT *s, STEPS step, CHUNK c, u32 t, u32 team) {
    SOURCE at = source_on(s->in, (i64)(c.index + t), step);
    ITEMS v[FLIGHT_ROWS * OWN];
    const ITEMS none = {0};
    u32 row = 0;
    KEEP_ROLLED
    for (; (row + FLIGHT_ROWS) * LANES <= c.count; row += FLIGHT_ROWS) {
        load_rows(v, at, step, FLIGHT_ROWS, t, team, 0);
        step_rows(own, v, c, row, FLIGHT_ROWS, t, team, 0, at.p);
        at = source_on(at, FLIGHT_ROWS * LANES, step);
    }
    if (row * LANES >= c.count) return;
    NO_ITEMS(v)
    load_rows(v, at, step, FLIGHT_ROWS, t, team, c.count - row * LANES);
    step_rows(own, v, c, row, FLIGHT_ROWS, t, team, c.count - row * LANES, at.p);
}

#if defined(SHUFFLES) && !defined(OFFSET)
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
            is[j] = i < c.count;
            if (is[j]) is[j] = segment_has(s, shape, c.index + i);
            if (is[j]) v[j] = segment_items(s, shape, c.index + i);
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

/* Combines the four lanes of thread t. `has` is for callers with a mask only. `planes`: two axes
 * are reduced. */
INLINE LANES_PART own_lane(const SEGMENT *s, const SHAPE *shape, CHUNK c, u32 t, u32 team, int planes) {
    LANES_PART part;
    LANE own[OWN];
#pragma unroll
    for (int j = 0; j < OWN; j++) own[j] = lane_identity();
    part.has = 0;
#ifndef WHERE
#ifdef PLANES
    if (planes)
        walk_planes(own, s, shape, c, t, team);
    else
#endif
        if (ONE_STEP(shape))
        walk_lanes(own, s, item_step(shape), c, t, team);
    else
#endif
        part.has = find_lanes(own, s, shape, c, t, team);
    part.lane = four_lanes(own);
    return part;
}

#ifdef TAKES_PIVOT
/* Combines those items of the chunk's pivot that thread t has. Sets *masked if one of them is
 * masked. */
INLINE PIVOT own_pivot(const SEGMENT *s, const SHAPE *shape, CHUNK c, u32 t, u32 team, u32 *masked) {
    const u32 items = LANES >> pivot_halvings(c.count);
    PIVOT own[OWN];
#pragma unroll
    for (int j = 0; j < OWN; j++) {
        const u32 l = t + j * team;
        own[j] = pivot_identity();
        if (l < items && l < c.count) {
            if (segment_has(s, shape, c.index + l))
                own[j] = pivot_load(segment_items(s, shape, c.index + l));
            else
                *masked = 1;
        }
    }
    own[0] = pivot_combine(own[0], own[2]);
    own[1] = pivot_combine(own[1], own[3]);
    return pivot_combine(own[0], own[1]);
}

/* Returns the pivot of a chunk if items of its usual pivot are masked: that of its first item that
 * is not masked, or `none` without such an item. */
INLINE PIVOT lone_pivot(const SEGMENT *s, const SHAPE *shape, CHUNK c, PIVOT none) {
    for (u32 i = 0; i < c.count; i++)
        if (segment_has(s, shape, c.index + i)) return pivot_value(pivot_load(segment_items(s, shape, c.index + i)), 7);
    return none;
}
#endif

INLINE CHUNK chunk_of(const SEGMENT *s, u64 chunk) {
    CHUNK c;
    c.index = chunk * CHUNK_ITEMS;
    c.count = s->n <= c.index ? 0 : (u32)min((u64)CHUNK_ITEMS, s->n - c.index);
    return c;
}

/* ---- a chunk by a team ----------------------------------------------------------------------- */

#ifdef TAKES_PIVOT
INLINE PIVOT team_pivot(const SEGMENT *s, const SHAPE *shape, CHUNK c, u32 t, u32 team, LOCAL EXCHANGE *meet) {
    u32 masked = 0;
    PIVOT pivot = own_pivot(s, shape, c, t, team, &masked);
    ACROSS_TEAM(PIVOT, pivot, pivot_xor, pivot_combine)
    pivot = pivot_value(pivot, pivot_halvings(c.count));
#ifdef WHERE
    if (team_sum(masked, team, meet)) pivot = lone_pivot(s, shape, c, pivot);
#endif
    return pivot;
}
#endif

/* Returns, in thread 0 of the team, the part of a chunk. All threads of the group take part. */
INLINE PART team_part(const SEGMENT *s, const SHAPE *shape, u64 chunk, u32 t, u32 team, int planes, LOCAL EXCHANGE *meet) {
    CHUNK c = chunk_of(s, chunk);
#ifdef TAKES_PIVOT
    c.pivot = team_pivot(s, shape, c, t, team, meet);
#endif
    LANES_PART own = own_lane(s, shape, c, t, team, planes);
#ifdef PIVOT_MAY_MISS
    /* Threads take their lanes again if the pivot misses. The second pivot never misses. */
    PIVOT pivot = pivot_of_lane(own.lane);
    ACROSS_TEAM(PIVOT, pivot, pivot_xor, pivot_combine)
    if (pivot_changes(&c.pivot, pivot_value(pivot, 0))) own = own_lane(s, shape, c, t, team, planes);
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

/* ---- a chunk by a thread --------------------------------------------------------------------- */

/* Returns the thread of a team whose turn is the k-th: k with its bits in reverse. */
INLINE u32 turn_of(u32 k, u32 team) {
    const u32 reversed = (k & 1) << 4 | (k & 2) << 2 | (k & 4) | (k & 8) >> 2 | (k & 16) >> 4;
    return reversed * team / WIDTH;
}

INLINE LANES_PART thread_lane(const SEGMENT *s, const SHAPE *shape, CHUNK c, u32 team) {
    LANE level[TURN_LEVELS + 1];
    LANES_PART all;
    u32 has = 0;
    KEEP_ROLLED
    for (u32 k = 0; k < team; k++) {
        all = own_lane(s, shape, c, turn_of(k, team), team, 0);
        has += all.has;
        COUNTER_PUSH(TURN_LEVELS, level, k, all.lane, lane_combine)
    }
    all.has = has;
    return all;
}

INLINE PART thread_part(const SEGMENT *s, const SHAPE *shape, u64 chunk, u32 team) {
    CHUNK c = chunk_of(s, chunk);
#ifdef TAKES_PIVOT
    u32 masked = 0;
    PIVOT level[TURN_LEVELS + 1], pivot;
    KEEP_ROLLED
    for (u32 k = 0; k < team; k++) {
        pivot = own_pivot(s, shape, c, turn_of(k, team), team, &masked);
        COUNTER_PUSH(TURN_LEVELS, level, k, pivot, pivot_combine)
    }
    c.pivot = pivot_value(pivot, pivot_halvings(c.count));
    if (masked) c.pivot = lone_pivot(s, shape, c, c.pivot);
#endif
    LANES_PART all = thread_lane(s, shape, c, team);
#ifdef PIVOT_MAY_MISS
    if (pivot_changes(&c.pivot, pivot_value(pivot_of_lane(all.lane), 0))) all = thread_lane(s, shape, c, team);
#endif
#ifdef WHERE
    return part_of_lane(all.lane, c, all.has);
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
#ifdef __CUDA_ARCH__
#define OPEN_TREE
#define TREE_OF(from, leaves) tree_value(from, leaves)
#else
#define OPEN_TREE SHARED ACC tree[GROUP];
#define TREE_OF(from, leaves) (tree_value(from, leaves, tree), tree[0])
#endif
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
    p.acc = TREE_OF(from, leaves);                                                                                             \
    BARRIER
