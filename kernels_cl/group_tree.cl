/* SPDX-License-Identifier: MIT */
/*
 * group_tree: a reduction in the canonical order, for GPUs.
 *
 * Computes: one partial per group: the accumulator of its run of `run` = GROUP / TEAM chunks. Then
 * a second launch (finish) makes the result of them, or the last group does, where PTX orders
 * memory between groups (`last`: TOGETHER).
 * How: a team of threads takes a chunk (kernels/team_rows.h). Each thread owns OWN lanes, and has
 * as many loads of 16 bytes in flight as the tuning says. The lanes are then halved. Two lanes of
 * one thread are combined in registers. Two lanes of different threads meet by shuffles where PTX
 * has them, else in local memory, EXCHANGED of a thread's lanes at a time. Where a term has a pivot
 * (kernels/pivots.h), the team makes it before its lanes, and takes the chunk again if it turns out
 * to be no good. At last the chunks are combined, neighbours first.
 * Needs: GROUP a power of two from 32 to 1024; local memory for TREE_SLOTS accumulators. Without
 * PTX also for GROUP lanes, or for 4 * GROUP if they have at most 8 bytes.
 * Why: it is the default of GPUs: memory speed in the canonical order, also without device-scope
 * ordering or sub-groups. There is no early return and no barrier in a loop.
 */
#define SPAN (GROUP / TEAM)                                /* chunks of a group */
#define IN_FLIGHT (INPUTS > 2 ? 2 : FLIGHT_LOADS / INPUTS) /* loads in flight, of each input */
#define FLIGHT_ROWS (IN_FLIGHT > ROW_LOADS ? IN_FLIGHT / ROW_LOADS : 1)
#define FLIGHT (FLIGHT_ROWS * ROW_LOADS)

/* A chunk's first loads begin before its pivot is made, as in backends/cuda/kernels/group_tree.cu.
 * Items of 2 bytes and exponentials leave no registers for that. */
#if defined(PTX) && defined(TAKES_PIVOT) && !defined(PIVOT_MAY_MISS) && ITEM_BYTES >= 4
#define AHEAD
#endif

/* The way that items are seldom taken by shall need few registers. */
#if defined(lane_bytes) && !defined(AHEAD)
#define STEP_ROWS 1
#else
#define STEP_ROWS FLIGHT_ROWS
#endif
#define STEP_LOADS (STEP_ROWS * ROW_LOADS)

/* Loads `count` vectors of a whole chunk, from row r on. */
INLINE void load_vectors(VECTORS *v, int count, SOURCE in, int r, u32 t) {
#pragma unroll
    for (int f = 0; f < count; f++) v[f] = load_vector(in, f, r, plain_place(t));
}

/* Ends a batch of loads: all begin before the first item is taken. Compilers move a load to where
 * its items are taken, so that few are in flight, but not over a warp's barrier. Share of the speed
 * of memory without and with it (H200, November 2026): nrm2 of i32 0.90, 0.97; logsumexp of i64
 * 0.74, 0.89. Where an item takes few instructions loads stay together, and a barrier only costs:
 * sum of f32 1.00, 0.93. */
#if defined(PTX) && (ACC_BYTES > 8 || defined(TAKES_PIVOT) || defined(lane_plain))
#define TEAM_BITS (TEAM < 32 ? (1u << TEAM % 32) - 1 : ~0u)
INLINE void hold_loads(u32 t) {
    asm volatile("bar.warp.sync %0;" ::"r"(TEAM_BITS << (THREAD_ID - t) % 32) : "memory");
}
#else
#define hold_loads(t)
#endif

#ifdef lane_bytes
/* Takes four items at once, which go to any lane of the thread. */
INLINE void take_bytes(LANE *lane, SOURCE in, u32 t) {
    for (int r = 0; r < ROWS; r += FLIGHT_ROWS) {
        VECTORS v[FLIGHT];
        load_vectors(v, FLIGHT, in, r, t);
        hold_loads(t);
#pragma unroll
        for (int f = 0; f < FLIGHT; f++)
#pragma unroll
            for (int w = 0; w < 4; w++) lane[w] = lane_bytes(lane[w], WORDS_OF(v[f], w));
    }
}
#endif

/* Vectors that are taken one way or the other: a row of narrow items, which a vector has many of,
 * else all that are in flight. */
#define ALIKE (ITEM_BYTES < 4 ? ROW_LOADS : STEP_LOADS)

/* Takes a whole chunk. With AHEAD v has the first vectors. */
INLINE void take_vectors(LANE *lane, VECTORS *v, SOURCE in, CHUNK c, TABLE table, u32 t) {
#ifdef lane_bytes
    if (BYTES_HOLD(in.p)) {
        take_bytes(lane, in, t);
        return;
    }
#endif
    for (int r = 0; r < ROWS; r += STEP_ROWS) {
#ifndef AHEAD
        load_vectors(v, STEP_LOADS, in, r, t);
        hold_loads(t);
#endif
#ifdef lane_plain
#pragma unroll
        for (int f = 0; f < STEP_LOADS; f += ALIKE)
            if (are_plain(v + f, ALIKE)) {
#pragma unroll
                for (int k = 0; k < ALIKE; k++) take_plain(lane + k % ROW_LOADS * VECTOR, &v[f + k], c);
            } else {
                take_rows(lane, in, c, table, r + f / ROW_LOADS, ALIKE / ROW_LOADS, plain_place(t));
            }
#else
#pragma unroll
        for (int f = 0; f < STEP_LOADS; f++) take_vector(lane, &v[f], f, c, table, r, plain_place(t), in.p);
#endif
#ifdef AHEAD
        if (r + STEP_ROWS < ROWS) load_vectors(v, STEP_LOADS, in, r + STEP_ROWS, t);
#endif
    }
}

/* Steps of a tree over a team's threads, written out: POCL has miscompiled barriers in loops. */
#if TEAM > 16
#define TEAM_STEPS(STEP) STEP(16) STEP(8) STEP(4) STEP(2) STEP(1)
#elif TEAM > 8
#define TEAM_STEPS(STEP) STEP(8) STEP(4) STEP(2) STEP(1)
#else
#define TEAM_STEPS(STEP) STEP(4) STEP(2) STEP(1)
#endif

/* Values of a warp's threads are exchanged by NVIDIA's shuffles. */
#ifdef PTX
#define SHUFFLES
SHUFFLE(lane_down, LANE, "down")
SHUFFLE(lane_xor, LANE, "bfly")
#ifdef TAKES_PIVOT
SHUFFLE(pivot_xor, PIVOT, "bfly")
#endif
#endif

/* Lanes of a thread that are in local memory at a time. */
#if defined(SHUFFLES)
#define EXCHANGED 0
#elif ACC_BYTES * GROUP <= 8192 && VECTOR >= 4 && !defined(ANY_ORDER)
#define EXCHANGED 4
#else
#define EXCHANGED 1
#endif

typedef union {
#ifdef SHUFFLES
    ACC tree[TREE_SLOTS];
#else
    LANE lane[GROUP * EXCHANGED];
#ifdef TAKES_PIVOT
    PIVOT pivot[GROUP];
#endif
    ACC chunk[SPAN];
#endif
} shared;

#ifdef SHUFFLES
#define EXCHANGE_LANES(count)                                                                                                  \
    _Pragma("unroll") for (int s = TEAM / 2; s > 0; s /= 2)                                                                    \
        _Pragma("unroll") for (int own = 0; own < (count); own++) lane[own] = lane_combine(lane[own], lane_down(lane[own], s));
#define EXCHANGE_FIRST EXCHANGE_LANES(1)
#ifdef TAKES_LONG
#define HELD_LAST (VECTOR > TEAM ? VECTOR / TEAM : 1)
/*
 * Threads t and t ^ s have `held` lanes each. The thread whose bit s is 0 combines the first half
 * of them, the other thread the second half. Then the lanes that are spread over the team are
 * combined. backends/cuda/kernels/group_tree.cu does the same.
 */
INLINE void share_lanes(LANE *lane, u32 t) {
    int held = VECTOR;
#pragma unroll
    for (int s = TEAM / 2; s > 0; s /= 2) {
        if (held == 1) lane[0] = lane_combine(lane[0], lane_down(lane[0], s));
#pragma unroll
        for (int k = 0; k < VECTOR / 2; k++)
            if (k < held / 2) {
                LANE mine = lane[k], give = lane[k + held / 2];
                if (t & s) {
                    mine = lane[k + held / 2];
                    give = lane[k];
                }
                const LANE other = lane_xor(give, s);
                lane[k] = t & s ? lane_combine(other, mine) : lane_combine(mine, other);
            }
        held = held > 1 ? held / 2 : 1;
    }
#pragma unroll
    for (int s = TEAM / 2; s * VECTOR > TEAM / 2 * HELD_LAST; s /= 2)
#pragma unroll
        for (int k = 0; k < HELD_LAST; k++) lane[k] = lane_combine(lane[k], lane_down(lane[k], s));
}
#define EXCHANGE_ALL share_lanes(lane, t);
#define LEFT_LANES HELD_LAST
#else
#define EXCHANGE_ALL EXCHANGE_LANES(VECTOR)
#endif
#else
/* Combines the lanes of threads t and t + s of every team, for t < s. Pair p of lanes is of team p
 * / (s * EXCHANGED). */
#define THREAD_STEP(s)                                                                                                         \
    for (u32 p = thread; p < SPAN * (s)*EXCHANGED; p += GROUP) {                                                               \
        const u32 at = (p / ((s)*EXCHANGED) * TEAM * EXCHANGED) + p % ((s)*EXCHANGED);                                         \
        data.lane[at] = lane_combine(data.lane[at], data.lane[at + (s)*EXCHANGED]);                                            \
    }                                                                                                                          \
    barrier(CLK_LOCAL_MEM_FENCE);

/* Combines lanes `from`, `from` + 1, ... of all threads of a team, EXCHANGED of them, into its
 * thread 0. */
#define EXCHANGE(from)                                                                                                         \
    for (int j = 0; j < EXCHANGED; j++) data.lane[thread * EXCHANGED + j] = lane[(from) + j];                                  \
    barrier(CLK_LOCAL_MEM_FENCE);                                                                                              \
    TEAM_STEPS(THREAD_STEP)                                                                                                    \
    if (t == 0)                                                                                                                \
        for (int j = 0; j < EXCHANGED; j++) lane[(from) + j] = data.lane[thread * EXCHANGED + j];                              \
    barrier(CLK_LOCAL_MEM_FENCE);
/* EXCHANGE_FIRST does so with a thread's first lane, EXCHANGE_ALL with all VECTOR lanes. */
#define EXCHANGE_FIRST EXCHANGE(0)
#define EXCHANGE_2(from) EXCHANGE(from) EXCHANGE((from) + EXCHANGED)
#define EXCHANGE_4(from) EXCHANGE_2(from) EXCHANGE_2((from) + 2 * EXCHANGED)
#define EXCHANGE_8(from) EXCHANGE_4(from) EXCHANGE_4((from) + 4 * EXCHANGED)
#define EXCHANGE_16(from) EXCHANGE_8(from) EXCHANGE_8((from) + 8 * EXCHANGED)
#if VECTOR == EXCHANGED
#define EXCHANGE_ALL EXCHANGE(0)
#elif VECTOR == 2 * EXCHANGED
#define EXCHANGE_ALL EXCHANGE_2(0)
#elif VECTOR == 4 * EXCHANGED
#define EXCHANGE_ALL EXCHANGE_4(0)
#elif VECTOR == 8 * EXCHANGED
#define EXCHANGE_ALL EXCHANGE_8(0)
#else
#define EXCHANGE_ALL EXCHANGE_16(0)
#endif
#endif

/* Lanes that thread 0 of a team then has. */
#ifndef LEFT_LANES
#define LEFT_LANES VECTOR
#endif

#ifdef TAKES_PIVOT
#ifdef SHUFFLES
/* Combines the team's pivots. All its threads get the result. */
#define team_pivot(data, a, thread, t) pivot_of_team(a)
INLINE PIVOT pivot_of_team(PIVOT a) {
#pragma unroll
    for (int s = TEAM / 2; s > 0; s /= 2) a = pivot_combine(a, pivot_xor(a, s));
    return a;
}
#else
#define PIVOT_STEP(s)                                                                                                          \
    if (t < (s)) parts[thread] = pivot_combine(parts[thread], parts[thread + (s)]);                                            \
    barrier(CLK_LOCAL_MEM_FENCE);
#define team_pivot(data, a, thread, t) pivot_in_memory((data)->pivot, a, thread, t)
INLINE_LOCAL PIVOT pivot_in_memory(__local PIVOT *parts, PIVOT a, u32 thread, u32 t) {
    parts[thread] = a;
    barrier(CLK_LOCAL_MEM_FENCE);
    TEAM_STEPS(PIVOT_STEP)
    const PIVOT all = parts[thread - t];
    barrier(CLK_LOCAL_MEM_FENCE);
    return all;
}
#endif

/* Halves the chunk's first row, which caches then have. Most chunks are whole: nothing is tested
 * for each of their items. */
INLINE_LOCAL PIVOT chunk_pivot(SOURCE in, u32 count, __local shared *data, u32 thread, u32 t) {
    u32 halvings = 0;
    PIVOT a[LANES / TEAM];
    if (count == CHUNK_ITEMS) {
#pragma unroll
        for (int k = 0; k < LANES / TEAM; k++) a[k] = pivot_load(items_at(in, k * TEAM + t));
    } else {
        halvings = pivot_halvings(count);
        const u32 items = min((u32)LANES >> halvings, count);
#pragma unroll
        for (int k = 0; k < LANES / TEAM; k++)
            a[k] = k * TEAM + t < items ? pivot_load(items_at(in, k * TEAM + t)) : pivot_identity();
    }
#pragma unroll
    for (int s = LANES / TEAM / 2; s > 0; s /= 2)
#pragma unroll
        for (int k = 0; k < LANES / TEAM / 2; k++)
            if (k < s) a[k] = pivot_combine(a[k], a[k + s]);
    return pivot_value(team_pivot(data, a[0], thread, t), halvings);
}
#endif

/* Combines the accumulators of a group's chunks, neighbours first. Thread 0 has the result. */
#ifdef SHUFFLES
INLINE ACC combine_chunks(__local shared *data, ACC a, u32 thread) {
    TREE_LOOP
    for (u32 s = TEAM; s < 32; s *= 2) a = op_combine(a, acc_down(a, s));
    return combine_warps(data->tree, a, GROUP / 32);
}
#else
#define CHUNK_STEP(s)                                                                                                          \
    if (2 * (s)*thread < SPAN)                                                                                                 \
        data->chunk[2 * (s)*thread] = op_combine(data->chunk[2 * (s)*thread], data->chunk[2 * (s)*thread + (s)]);              \
    barrier(CLK_LOCAL_MEM_FENCE);
INLINE ACC combine_chunks(__local shared *data, ACC a, u32 thread) {
    if (thread % TEAM == 0) data->chunk[thread / TEAM] = a;
    barrier(CLK_LOCAL_MEM_FENCE);
#if SPAN > 1
    CHUNK_STEP(1)
#endif
#if SPAN > 2
    CHUNK_STEP(2)
#endif
#if SPAN > 4
    CHUNK_STEP(4)
#endif
#if SPAN > 8
    CHUNK_STEP(8)
#endif
#if SPAN > 16
    CHUNK_STEP(16)
#endif
#if SPAN > 32
    CHUNK_STEP(32)
#endif
#if SPAN > 64
    CHUNK_STEP(64)
#endif
    return data->chunk[0];
}
#endif

KERNEL BOUNDS void tally_partials(SOURCE_ARGS, u64 base, u64 n, u64 run, GLOBAL ACC *partials, u64 first, GLOBAL RESULT *out,
                                  u64 out_offset, u32 last, const OUTCOME outcome) {
    SOURCE in = SOURCE_OF_ARGS;
    __local shared data;
#if defined(ORDER) && defined(PTX)
    __local u32 is_last[2];
#endif
    const u64 group = get_group_id(0);
    const u32 thread = get_local_id(0);
    const u32 t = thread % TEAM;
    const u64 begin = (group * run + thread / TEAM) * CHUNK_ITEMS;
    CHUNK c;
    c.index = base + begin;
    c.count = begin < n ? min((u64)CHUNK_ITEMS, n - begin) : 0;
    size_t addresses = 0;
#define TO_CHUNK(name)                                                                                                         \
    in.name += begin;                                                                                                          \
    addresses |= (size_t)in.name;
    EACH_INPUT(TO_CHUNK)

    const bool are_vectors = c.count == CHUNK_ITEMS && addresses % 16 == 0;
    VECTORS v[STEP_LOADS];
#ifdef AHEAD
    if (are_vectors) load_vectors(v, STEP_LOADS, in, 0, t);
#endif
    TABLE table;
    TABLE_FILL(table)
#ifdef TAKES_PIVOT
    c.pivot = chunk_pivot(in, c.count, &data, thread, t);
#endif
    LANE lane[OWN];
#pragma unroll
    for (int own = 0; own < OWN; own++) lane[own] = lane_identity();
    if (are_vectors)
        take_vectors(lane, v, in, c, table, t);
    else
        take_rest(lane, in, c, table, t);
#ifdef PIVOT_MAY_MISS /* if the pivot turns out to be no good, the chunk is taken again */
    PIVOT best = pivot_of_lane(lane[0]);
#pragma unroll
    for (int own = 1; own < OWN; own++) best = pivot_combine(best, pivot_of_lane(lane[own]));
    if (pivot_changes(&c.pivot, pivot_value(team_pivot(&data, best, thread, t), 0))) {
#pragma unroll
        for (int own = 0; own < OWN; own++) lane[own] = lane_identity();
        take_rest(lane, in, c, table, t);
    }
#endif

#ifdef ANY_ORDER
        /* A thread's own lanes are combined first, which leaves one to exchange. */
#pragma unroll
    for (int s = OWN / 2; s > 0; s /= 2)
#pragma unroll
        for (int own = 0; own < OWN / 2; own++)
            if (own < s) lane[own] = lane_combine(lane[own], lane[own + s]);
    EXCHANGE_FIRST
#else
#pragma unroll
    for (int s = OWN / 2; s >= VECTOR; s /= 2)
#pragma unroll
        for (int own = 0; own < OWN / 2; own++)
            if (own < s) lane[own] = lane_combine(lane[own], lane[own + s]);
    EXCHANGE_ALL
#pragma unroll
    for (int s = LEFT_LANES / 2; s > 0; s /= 2)
#pragma unroll
        for (int own = 0; own < LEFT_LANES / 2; own++)
            if (own < s) lane[own] = lane_combine(lane[own], lane[own + s]);
#endif
    ACC all = combine_chunks(&data, lane_value(lane[0], c), thread);
    if (thread == 0 && last != ALONE) partials[first + group] = all;
#if defined(ORDER) && defined(PTX)
    if (last == TOGETHER && !tree_of_groups(partials, first, (u32)group, (u32)get_num_groups(0), data.tree, is_last, &all))
        return;
#endif
    if (thread == 0 && last) store_outcome(all, n, params, out, out_offset, outcome);
}
