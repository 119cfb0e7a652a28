/* SPDX-License-Identifier: MIT */
/*
 * group_tree: a reduction in the canonical order, for GPUs.
 *
 * Computes: one partial per group: the accumulator of its run of `run` = GROUP / TEAM chunks. Then
 * a second launch (finish) makes the result of them, or the last group does, where PTX orders
 * memory between groups (`last`: TOGETHER).
 * How: a team of threads takes a chunk. It has so many threads that with 16 bytes each they load a
 * chunk row: 32 for items of 4 bytes, 8 for bytes. Each thread owns OWN lanes, VECTOR neighbours of
 * each load, and has as many loads in flight as the tuning says. The lanes are then halved. Two
 * lanes of one thread are combined in registers. Two lanes of different threads meet by shuffles
 * where PTX has them, else in local memory, EXCHANGED of a thread's lanes at a time. Where a term
 * has a pivot (kernels/pivots.h), the team makes it before its lanes, and takes the chunk again if
 * it turns out to be no good. At last the chunks are combined, neighbours first. Chunks that are
 * not whole, and inputs of which one is not aligned to 16 bytes, are loaded item by item.
 * Needs: GROUP a power of two from 32 to 1024; local memory for GROUP accumulators, or for 4 *
 * GROUP if they have at most 8 bytes.
 * Why: it is the default of GPUs: memory speed in the canonical order, also without device-scope
 * ordering or sub-groups. There is no early return and no barrier in a loop.
 */
#define ROW_BYTES (LANES * ITEM_BYTES)
#define TEAM (ROW_BYTES < 512 ? ROW_BYTES / 16 : 32) /* threads that share a chunk */
#define SPAN (GROUP / TEAM)                          /* chunks of a group */
#define OWN (LANES / TEAM)                           /* lanes of a thread */
#define ROW_LOADS (OWN / VECTOR)                     /* loads of a chunk row, of each input */
#define IN_FLIGHT (INPUTS > 2 ? 2 : FLIGHT_LOADS / INPUTS) /* loads in flight, of each input */
#define FLIGHT_ROWS (IN_FLIGHT > ROW_LOADS ? IN_FLIGHT / ROW_LOADS : 1)
#define FLIGHT (FLIGHT_ROWS * ROW_LOADS)

/* The lane of the chunk that lane k * VECTOR + j of thread t of the team is. */
#define LANE_AT(t, k, j) ((k)*TEAM * VECTOR + (t)*VECTOR + (j))

/* Loads `rows` rows of vectors, from row r on. */
#define LOAD_ROWS(v, r, rows)                                                                                                  \
    _Pragma("unroll") for (int f = 0; f < (rows)*ROW_LOADS; f++) v[f] =                                                        \
        vectors_at(in, (r + f / ROW_LOADS) * LANES + LANE_AT(t, f % ROW_LOADS, 0));

#ifdef lane_bytes
/* Takes four items at once, which go to any lane of the thread. */
INLINE void load_bytes(LANE *lane, SOURCE in, u32 t) {
    for (int r = 0; r < ROWS; r += FLIGHT_ROWS) {
        VECTORS v[FLIGHT];
        LOAD_ROWS(v, r, FLIGHT_ROWS)
#pragma unroll
        for (int f = 0; f < FLIGHT; f++)
#pragma unroll
            for (int w = 0; w < 4; w++) lane[w] = lane_bytes(lane[w], WORDS_OF(v[f], w));
    }
}
#define STEP_ROWS 1 /* the way that calls seldom take shall need few registers */
#else
#define STEP_ROWS FLIGHT_ROWS
#endif

INLINE void load_chunk(LANE *lane, SOURCE in, CHUNK c, TABLE table, u32 t) {
#ifdef lane_bytes
    if (BYTES_HOLD(in.p)) {
        load_bytes(lane, in, t);
        return;
    }
#endif
    for (int r = 0; r < ROWS; r += STEP_ROWS) {
        VECTORS v[STEP_ROWS * ROW_LOADS];
        LOAD_ROWS(v, r, STEP_ROWS)
#pragma unroll
        for (int f = 0; f < STEP_ROWS * ROW_LOADS; f++) {
            if (take_by_table(lane + f % ROW_LOADS * VECTOR, &v[f], table)) continue;
            if (take_plain(lane + f % ROW_LOADS * VECTOR, &v[f], c)) continue;
#pragma unroll
            for (int j = 0; j < VECTOR; j++) {
                const int own = f % ROW_LOADS * VECTOR + j;
                const u32 l = LANE_AT(t, f % ROW_LOADS, j);
                lane[own] = lane_step(lane[own], items_of(&v[f], j), c, r + f / ROW_LOADS, l, in.p);
            }
        }
    }
}

INLINE void load_items(LANE *lane, SOURCE in, CHUNK c, u32 t) {
    for (int r = 0; r < ROWS; r++)
#pragma unroll
        for (int own = 0; own < OWN; own++) {
            const u32 l = LANE_AT(t, own / VECTOR, own % VECTOR), at = r * LANES + l;
            if (at < c.count) lane[own] = lane_step(lane[own], items_at(in, at), c, r, l, in.p);
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

/* Lanes are exchanged by NVIDIA's shuffles. */
#ifdef PTX
#define SHUFFLES
#define SHUFFLE(name, mode)                                                                                                    \
    INLINE LANE name(LANE a, u32 s) {                                                                                          \
        union {                                                                                                                \
            LANE lane;                                                                                                         \
            u32 word[(sizeof(LANE) + 3) / 4];                                                                                  \
        } from, to;                                                                                                            \
        from.lane = a;                                                                                                         \
        _Pragma("unroll") for (int w = 0; w < (int)((sizeof(LANE) + 3) / 4); w++)                                              \
            asm volatile("shfl.sync." mode ".b32 %0, %1, %2, 0x1f, 0xffffffff;"                                                \
                         : "=r"(to.word[w])                                                                                    \
                         : "r"(from.word[w]), "r"(s));                                                                         \
        return to.lane;                                                                                                        \
    }
SHUFFLE(lane_down, "down")
SHUFFLE(lane_xor, "bfly")
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
#ifndef SHUFFLES
    LANE lane[GROUP * EXCHANGED];
#endif
#ifdef TAKES_PIVOT
    PIVOT pivot[GROUP];
#endif
    ACC chunk[SPAN];
#if defined(ORDER) && defined(PTX)
    ACC tree[GROUP];
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
#define PIVOT_STEP(s)                                                                                                          \
    if (t < (s)) parts[thread] = pivot_combine(parts[thread], parts[thread + (s)]);                                            \
    barrier(CLK_LOCAL_MEM_FENCE);
/* Combines the team's pivots. All its threads get the result. */
INLINE_LOCAL PIVOT team_pivot(__local PIVOT *parts, PIVOT a, u32 thread, u32 t) {
    parts[thread] = a;
    barrier(CLK_LOCAL_MEM_FENCE);
    TEAM_STEPS(PIVOT_STEP)
    const PIVOT all = parts[thread - t];
    barrier(CLK_LOCAL_MEM_FENCE);
    return all;
}

/* Halves the chunk's first row, which caches then have. */
INLINE_LOCAL PIVOT chunk_pivot(SOURCE in, u32 count, __local PIVOT *parts, u32 thread, u32 t) {
    const u32 halvings = pivot_halvings(count), items = min((u32)LANES >> halvings, count);
    PIVOT a[LANES / TEAM];
#pragma unroll
    for (int k = 0; k < LANES / TEAM; k++)
        a[k] = k * TEAM + t < items ? pivot_load(items_at(in, k * TEAM + t)) : pivot_identity();
#pragma unroll
    for (int s = LANES / TEAM / 2; s > 0; s /= 2)
#pragma unroll
        for (int k = 0; k < LANES / TEAM / 2; k++)
            if (k < s) a[k] = pivot_combine(a[k], a[k + s]);
    return pivot_value(team_pivot(parts, a[0], thread, t), halvings);
}
#endif

KERNEL BOUNDS void tally_partials(SOURCE_ARGS, u64 base, u64 n, u64 run, GLOBAL ACC *partials, u64 first, GLOBAL RESULT *out,
                                  u64 out_offset, u32 last, const OUTCOME outcome) {
    SOURCE in = SOURCE_OF_ARGS;
    __local shared data;
#if defined(ORDER) && defined(PTX)
    __local u32 is_last;
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

    TABLE table;
    TABLE_FILL(table)
#ifdef TAKES_PIVOT
    c.pivot = chunk_pivot(in, c.count, data.pivot, thread, t);
#endif
    LANE lane[OWN];
#pragma unroll
    for (int own = 0; own < OWN; own++) lane[own] = lane_identity();
    if (c.count == CHUNK_ITEMS && addresses % 16 == 0)
        load_chunk(lane, in, c, table, t);
    else
        load_items(lane, in, c, t);
#ifdef PIVOT_MAY_MISS /* if the pivot turns out to be no good, the chunk is taken again */
    PIVOT all = pivot_of_lane(lane[0]);
#pragma unroll
    for (int own = 1; own < OWN; own++) all = pivot_combine(all, pivot_of_lane(lane[own]));
    if (pivot_changes(&c.pivot, pivot_value(team_pivot(data.pivot, all, thread, t), 0))) {
#pragma unroll
        for (int own = 0; own < OWN; own++) lane[own] = lane_identity();
        load_items(lane, in, c, t);
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
    if (t == 0) {
#else
#pragma unroll
    for (int s = OWN / 2; s >= VECTOR; s /= 2)
#pragma unroll
        for (int own = 0; own < OWN / 2; own++)
            if (own < s) lane[own] = lane_combine(lane[own], lane[own + s]);
    EXCHANGE_ALL
    if (t == 0) {
#pragma unroll
        for (int s = LEFT_LANES / 2; s > 0; s /= 2)
#pragma unroll
            for (int own = 0; own < LEFT_LANES / 2; own++)
                if (own < s) lane[own] = lane_combine(lane[own], lane[own + s]);
#endif
        data.chunk[thread / TEAM] = lane_value(lane[0], c);
    }
    barrier(CLK_LOCAL_MEM_FENCE);

#define CHUNK_STEP(s)                                                                                                          \
    if (2 * (s)*thread < SPAN)                                                                                                 \
        data.chunk[2 * (s)*thread] = op_combine(data.chunk[2 * (s)*thread], data.chunk[2 * (s)*thread + (s)]);                 \
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
    if (thread == 0) store(data.chunk[0], n, params, partials + first + group, out, out_offset, outcome, last == ALONE);
#if defined(ORDER) && defined(PTX)
    if (last == TOGETHER) {
        if (thread == 0) is_last = arrives_last(partials);
        barrier(CLK_LOCAL_MEM_FENCE);
        if (is_last) {
            tree_value(partials + first, get_num_groups(0), data.tree);
            if (thread == 0) store(data.tree[0], n, params, partials, out, out_offset, outcome, ALONE);
        }
    }
#endif
}
