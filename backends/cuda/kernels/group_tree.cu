/* SPDX-License-Identifier: MIT */
/*
 * group_tree: a reduction in the canonical order, for GPUs.
 *
 * Computes: one partial per group: the accumulator of its run of `run` = GROUP / TEAM chunks. Then
 * the last group to arrive makes the result of them (`last`: TOGETHER), or a second launch does
 * (finish).
 * How: a team of a warp's threads takes a chunk (kernels/team_rows.h). Each thread owns OWN lanes,
 * and has as many loads of 16 bytes in flight as the tuning says and its registers hold. Where a
 * term has a pivot (kernels/pivots.h), the team makes it before its lanes, and takes the chunk
 * again if it turns out to be no good. The lanes are then halved. Two lanes of one thread are
 * combined in registers, two of different threads by shuffles. The chunks are combined by shuffles
 * within a warp and through local memory across warps, neighbours first. If accumulators are so
 * wide that a thread's lanes would not fit its registers, they are computed lane by lane, and the
 * input is read from the cache again.
 * Needs: GROUP a power of two from 32 to 1024; local memory for GROUP / 32 accumulators.
 * Why: it is the default of GPUs: memory speed in the canonical order, with no barrier before a
 * chunk is done.
 */
#define FLIGHT_ROWS (IN_FLIGHT > ROW_LOADS ? IN_FLIGHT / ROW_LOADS : 1)
#define FLIGHT (FLIGHT_ROWS * ROW_LOADS)

/*
 * Bounds under which ptxas spills nothing (CUDA 13.0, sm_75 to sm_120): MOST_LOADS is the most
 * loads in flight, of all inputs together; LANES_REGISTERS the most bytes of registers for a
 * thread's lanes.
 */
template <typename T> constexpr bool IS_F64 = false;
template <> constexpr bool IS_F64<f64> = true;
#define LANES_BYTES (OWN * (int)sizeof(LANE))
#if GROUP > 512
#define MOST_LOADS (8 >> ((INPUTS > 1) + (ITEM_BYTES < 4) + (ITEM_BYTES < 4 && LANES_BYTES > 32)))
#elif GROUP > 256
#define MOST_LOADS (ITEM_BYTES >= 4 ? 16 : LANES_BYTES >= 128 || IS_F64<LANE> ? 4 : 8)
#else
#define MOST_LOADS (LANES_BYTES > 64 || (GROUP == 256 && ITEM_BYTES == 1) ? 8 : LANES_BYTES > 32 ? 16 : 32)
#endif
#define LOADS (FLIGHT_LOADS < MOST_LOADS ? FLIGHT_LOADS : MOST_LOADS)
#define IN_FLIGHT (INPUTS > 2 ? 2 : LOADS > INPUTS ? LOADS / INPUTS : 1) /* of each input */
#define LANES_REGISTERS (GROUP > 512 ? 64 : GROUP > 256 ? 192 : 384)
#define LANE_BY_LANE (LANES_BYTES > LANES_REGISTERS)

/*
 * Groups that a multiprocessor has room for. A tree of wide accumulators takes long, and nothing
 * but the loads of other groups hides it. So there are as many as have registers without a spill,
 * 64 for each of 1,024 threads or 85 for each of 768. With 64 ptxas loads items of 8 bytes late.
 * Chunks that are not whole, or not aligned, want more registers than the loop over whole ones,
 * and shall not take them from other groups: there are as many groups as that loop has room for.
 */
#ifdef PIVOT_MAY_MISS
#define WIDEST_LANES 64 /* exponentials take more registers */
#else
#define WIDEST_LANES 128
#endif
#define ARE_NARROW (ITEM_BYTES < 8 && sizeof(LANE) <= 12 && LANES_BYTES <= 64)
#if __CUDA_ARCH__ == 900 && GROUP <= 512 && ACC_BYTES > 8 && ITEM_BYTES >= 2 && (ITEM_BYTES >= 4 || INPUTS == 1)
#define ROOM (LOADS > 8 || LANES_BYTES > WIDEST_LANES ? 1 : (ARE_NARROW ? 1024 : 768) / GROUP)
#elif defined(TAKES_TABLE)
#define ROOM (768 / GROUP)
#elif __CUDA_ARCH__ == 900 && GROUP == 512 && ITEM_BYTES == 1 && INPUTS == 1
#define ROOM 2
#elif GROUP == 256 && ITEM_BYTES < 4 && INPUTS > 1
#define ROOM (LOADS > 8 || LANES_BYTES > 32 ? 2 : 4) /* allclose takes 186 registers otherwise */
#elif GROUP == 256 && ITEM_BYTES == 1
#define ROOM (LANES_BYTES == 128 ? 4 : 1)
#elif defined(PIVOT_MAY_MISS) && ACC_BYTES == 8 && GROUP >= 256 && GROUP <= 512
#define ROOM (LOADS <= 8 || ITEM_BYTES == 4 ? 1024 / GROUP : 1)
#elif GROUP == 256 && FLIGHT_LOADS == 8 && ITEM_BYTES == 4 && INPUTS == 1
#define ROOM (LANES_BYTES <= 16 ? 5 : 1)
#else
#define ROOM 1
#endif

/* A chunk's loads begin before its pivot is made (AHEAD), and the next ones as soon as there is
 * room (ROLLS). Exponentials do not roll: ptxas would take 220 registers instead of 64, or
 * spill. Of them f64 alone gains by AHEAD. */
#if defined(TAKES_TABLE) || defined(ZERO_SIGNS) ||                                                                             \
    (defined(TAKES_PIVOT) && (!defined(PIVOT_MAY_MISS) || (ITEM_BYTES >= 8 && defined(lane_plain))))
#define AHEAD
#endif
#if defined(AHEAD) && !defined(PIVOT_MAY_MISS)
#define ROLLS
#endif

INLINE void load_vectors(VECTORS *v, SOURCE in, int r, u32 t) {
#pragma unroll
    for (int f = 0; f < FLIGHT; f++) v[f] = load_vector(in, f, r, plain_place(t));
}

/* Vectors that are taken one way or the other: a row of narrow items, which a vector has many of,
 * else all that are in flight. */
#define ALIKE (ITEM_BYTES < 4 ? ROW_LOADS : FLIGHT)

/* Takes a whole chunk, 16 bytes at a time. With AHEAD v has the first vectors: they were loaded
 * before the pivot was made, which waits for memory too. The next ones are loaded as soon as there
 * is room. */
INLINE void take_vectors(LANE *lane, VECTORS *v, SOURCE in, CHUNK c, TABLE table, u32 t) {
#pragma unroll 1
    for (int r = 0; r < ROWS; r += FLIGHT_ROWS) {
#ifndef AHEAD
        load_vectors(v, in, r, t);
#endif
#ifdef lane_plain
#pragma unroll
        for (int f = 0; f < FLIGHT; f += ALIKE)
            if (are_plain(v + f, ALIKE)) {
#pragma unroll
                for (int k = 0; k < ALIKE; k++) take_plain(lane + k % ROW_LOADS * VECTOR, &v[f + k], c);
            } else {
                take_rows(lane, in, c, table, r + f / ROW_LOADS, ALIKE / ROW_LOADS, plain_place(t));
            }
#else
#pragma unroll
        for (int f = 0; f < FLIGHT; f++) {
            take_vector(lane, &v[f], f, c, table, r, plain_place(t), in.p);
#ifdef ROLLS
            if (r + FLIGHT_ROWS < ROWS) v[f] = load_vector(in, f, r + FLIGHT_ROWS, plain_place(t));
#endif
        }
#endif
#if defined(AHEAD) && !defined(ROLLS)
        if (r + FLIGHT_ROWS < ROWS) load_vectors(v, in, r + FLIGHT_ROWS, t);
#endif
    }
}

/*
 * Halves lanes where combining takes long. Threads t and t ^ S have HELD lanes each, and lane k of
 * the one is to be combined with lane k of the other. The thread whose bit S is 0 does so for the
 * first half of the lanes, the other thread for the second half: neither idles. For f32 a thread
 * makes 8 combinations instead of 23.
 */
template <int S, int HELD> INLINE void share_lanes(LANE *lane, u32 t) {
    if constexpr (S > 0 && HELD > 1) {
        const bool upper = t & S;
#pragma unroll
        for (int k = 0; k < HELD / 2; k++) {
            const LANE mine = upper ? lane[k + HELD / 2] : lane[k];
            const LANE other = shuffle_xor(upper ? lane[k] : lane[k + HELD / 2], S);
            lane[k] = lane_combine(upper ? other : mine, upper ? mine : other);
        }
        share_lanes<S / 2, HELD / 2>(lane, t);
    } else {
#pragma unroll 1
        for (int s = S; s > 0; s /= 2) lane[0] = lane_combine(lane[0], shuffle_down(lane[0], s));
    }
}

/* Combines what share_lanes left: VECTOR neighbouring lanes, spread over the team. The bits of a
 * thread's number say which of them it has. */
template <int S, int LEFT> INLINE LANE gather_lanes(LANE *lane) {
    constexpr int held = VECTOR > TEAM ? VECTOR / TEAM : 1;
    if constexpr (LEFT > 1 && held == 1) {
#pragma unroll 1
        for (int s = S; s > S / LEFT; s /= 2) lane[0] = lane_combine(lane[0], shuffle_down(lane[0], s));
        return lane[0];
    } else if constexpr (LEFT > held) {
#pragma unroll
        for (int k = 0; k < held; k++) lane[k] = lane_combine(lane[k], shuffle_down(lane[k], S));
        return gather_lanes<S / 2, LEFT / 2>(lane);
    } else if constexpr (LEFT > 1) {
#pragma unroll
        for (int k = 0; k < LEFT / 2; k++) lane[k] = lane_combine(lane[k], lane[k + LEFT / 2]);
        return gather_lanes<S, LEFT / 2>(lane);
    } else {
        return lane[0];
    }
}

/*
 * Combines lane l with lane l + s for s = 64, 32, ... 1. Thread 0 of the team has the result. In
 * ANY_ORDER a thread's own lanes are combined first, which leaves one to exchange. The loops have
 * constant lengths, and NVRTC unrolls them whole.
 */
INLINE LANE halve_lanes(LANE *lane, u32 t) {
#ifdef ANY_ORDER
#pragma unroll
    for (int s = OWN / 2; s > 0; s /= 2)
#pragma unroll
        for (int own = 0; own < OWN / 2; own++)
            if (own < s) lane[own] = lane_combine(lane[own], lane[own + s]);
    TREE_LOOP
    for (int s = TEAM / 2; s > 0; s /= 2) lane[0] = lane_combine(lane[0], shuffle_down(lane[0], s));
#else
#pragma unroll
    for (int s = LANES / 2; s >= TEAM * VECTOR; s /= 2)
#pragma unroll
        for (int own = 0; own < OWN / 2; own++)
            if (own < s / TEAM) lane[own] = lane_combine(lane[own], lane[own + s / TEAM]);
#ifdef TAKES_LONG
    share_lanes<TEAM / 2, VECTOR>(lane, t);
    return gather_lanes<TEAM / 2, VECTOR>(lane);
#else
#pragma unroll
    for (int s = TEAM / 2; s > 0; s /= 2)
#pragma unroll
        for (int own = 0; own < VECTOR; own++) lane[own] = lane_combine(lane[own], shuffle_down(lane[own], s));
#pragma unroll
    for (int s = VECTOR / 2; s > 0; s /= 2)
#pragma unroll
        for (int own = 0; own < VECTOR / 2; own++)
            if (own < s) lane[own] = lane_combine(lane[own], lane[own + s]);
#endif
#endif
    return lane[0];
}

/* ---- f64 whose smallest or largest is wanted ------------------------------------------------- */

#ifdef ZERO_SIGNS
/*
 * The minimum or maximum of a chunk, of which v has the first vectors, for all threads of the team.
 * The lanes leave out NaN and the sign of zero: 8 instructions an item, not 13. A minimum of zero
 * is -0 if any item has its sign set, as no item is below zero; a maximum is -0 if all have.
 */
INLINE LANE quick_chunk(VECTORS *v, SOURCE in, CHUNK c, bool are_vectors, u32 t) {
    LANE lane[OWN] = {lane_identity(), lane_identity(), lane_identity(), lane_identity()};
    i32 signs = __double2hiint(lane[0]);
    bool has_nan = false;
    const auto take = [&](int own, LANE x, LANE y) {
        lane[own] = guess_combine(lane[own], guess_combine(x, y)); /* two do not wait for what is before them */
        has_nan |= (x != x) | (y != y);
        signs = ZERO_SIGNS(signs, ZERO_SIGNS(__double2hiint(x), __double2hiint(y)));
    };
#pragma unroll 1
    for (int r = 0; are_vectors && r < ROWS; r += FLIGHT_ROWS)
#pragma unroll
        for (int f = 0; f < FLIGHT; f++) {
            take(f % OWN, op_load(items_of(&v[f], 0), 0, in.p), op_load(items_of(&v[f], 1), 0, in.p));
            if (r + FLIGHT_ROWS < ROWS) v[f] = load_vector(in, f, r + FLIGHT_ROWS, plain_place(t));
        }
#pragma unroll 1
    for (u32 at = t; !are_vectors && at < c.count; at += 16 * TEAM) {
        LANE x[16];
#pragma unroll
        for (int k = 0; k < 16; k++)
            x[k] = at + k * TEAM < c.count ? op_load(items_at(in, at + k * TEAM), 0, in.p) : lane_identity();
#pragma unroll
        for (int k = 0; k < 16; k += 2) take(k / 2 % OWN, x[k], x[k + 1]);
    }
#pragma unroll
    for (int own = 1; own < OWN; own++) lane[0] = guess_combine(lane[0], lane[own]);
#pragma unroll
    for (int s = TEAM / 2; s > 0; s /= 2) lane[0] = guess_combine(lane[0], shuffle_xor(lane[0], s));
    if (__any_sync(~0U, has_nan)) return NAN;
    if (lane[0] != 0) return lane[0];
    for (int s = TEAM / 2; s > 0; s /= 2) signs = ZERO_SIGNS(signs, shuffle_xor(signs, s));
    return signs < 0 ? -0.0 : 0.0;
}
#endif

/* ---- lane by lane ---------------------------------------------------------------------------- */

INLINE LANE load_lane(SOURCE in, CHUNK c, u32 l) {
    LANE a = lane_identity();
#pragma unroll 1
    for (u32 at = l; at < c.count; at += LANES) a = lane_step(a, items_at(in, at), c, at / LANES, l, in.p);
    return a;
}

/*
 * The halving, from its leaves. load_lanes combines the lanes J, J + S, J + 2S, ... of a thread's
 * VECTOR neighbours; load_rows does so with lane J of the loads K, K + S, K + 2S, ... of a chunk
 * row.
 */
template <int J, int K, int S> INLINE LANE load_rows(SOURCE in, CHUNK c, u32 t) {
    if constexpr (S == ROW_LOADS)
        return load_lane(in, c, lane_at(t, K, J));
    else
        return lane_combine(load_rows<J, K, 2 * S>(in, c, t), load_rows<J, K + S, 2 * S>(in, c, t));
}

template <int J, int S> INLINE LANE load_lanes(SOURCE in, CHUNK c, u32 t) {
    if constexpr (S == VECTOR) {
        LANE a = load_rows<J, 0, 1>(in, c, t);
#pragma unroll
        for (int s = TEAM / 2; s > 0; s /= 2) a = lane_combine(a, shuffle_down(a, s));
        return a;
    } else {
        const LANE a = load_lanes<J, 2 * S>(in, c, t);
        return lane_combine(a, load_lanes<J + S, 2 * S>(in, c, t));
    }
}

/* ---- pivots ---------------------------------------------------------------------------------- */

#ifdef TAKES_PIVOT
/* Combines the team's pivots. All its threads get the result. */
INLINE PIVOT team_pivot(PIVOT a) {
#pragma unroll
    for (int s = TEAM / 2; s > 0; s /= 2) a = pivot_combine(a, shuffle_xor(a, s));
    return a;
}

/* Halves the chunk's first row, which caches then have. Most chunks are whole: nothing is tested
 * for each of their items. */
INLINE PIVOT chunk_pivot(SOURCE in, u32 count, u32 t) {
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
    return pivot_value(team_pivot(a[0]), halvings);
}
#endif

#ifdef PIVOT_MAY_MISS
/* Takes the chunk again if the pivot turns out to be no good. That is rare: the text is short. */
INLINE void correct_lanes(LANE *lane, SOURCE in, CHUNK *c, u32 t) {
    PIVOT all = pivot_of_lane(lane[0]);
#pragma unroll
    for (int own = 1; own < OWN; own++) all = pivot_combine(all, pivot_of_lane(lane[own]));
    if (!pivot_changes(&c->pivot, pivot_value(team_pivot(all), 0))) return;
#pragma unroll
    for (int own = 0; own < OWN; own++) lane[own] = lane_identity();
#pragma unroll 1
    for (u32 r = 0; r * LANES < c->count; r++)
#pragma unroll
        for (int own = 0; own < OWN; own++) {
            const u32 l = lane_at(t, own / VECTOR, own % VECTOR), at = r * LANES + l;
            if (at < c->count) lane[own] = lane_step(lane[own], items_at(in, at), *c, r, l, in.p);
        }
}

/* The same before the chunk is taken: its items are read for the pivot alone. */
INLINE void correct_pivot(SOURCE in, CHUNK *c, u32 t) {
    PIVOT all = pivot_identity();
#pragma unroll 1
    for (u32 at = t; at < c->count; at += TEAM) all = pivot_combine(all, pivot_load(items_at(in, at)));
    pivot_changes(&c->pivot, pivot_value(team_pivot(all), 0));
}
#endif

/*
 * A launch may take its items while the one before ends (kernels/outcome.h). A share of 15,000
 * chunks of f32, of many nodes, takes 100 us by sum with it, 125 without (H100, November 2026).
 * Wider accumulators await at once: var of f16, bf16 and 64-bit integers lost 4 to 6% of all calls'
 * speed by a second wait, though their loops stayed the same.
 */
#define FOLLOWS(outcome) (ACC_BYTES <= 8 && (outcome).follows)

KERNEL BOUNDS_OF(ROOM) void tally_partials(SOURCE_ARGS, u64 base, u64 n, u64 run, GLOBAL ACC *partials, u64 first,
                                           GLOBAL RESULT *out, u64 out_offset, u32 last, const OUTCOME outcome) {
    SOURCE in = SOURCE_OF_ARGS;
    const u64 group = blockIdx.x;
    const u32 thread = threadIdx.x;
    const u32 t = thread % TEAM;
    const u64 begin = (group * run + thread / TEAM) * CHUNK_ITEMS;
    const u32 count = begin < n ? min((u64)CHUNK_ITEMS, n - begin) : 0;

    if (!FOLLOWS(outcome)) { AWAIT_PREVIOUS }
    /*
     * Inputs that just fit the second-level cache (50 MiB on an H100, 60 on an H200) are found
     * there if each multiprocessor gets the same items again. It does if the next launch begins
     * when all of them are free. 12M f32: 8.6 us instead of 16.7 (H200, November 2026).
     */
    const u64 bytes = n * ITEM_BYTES * INPUTS;
    if (bytes <= 32 << 20 || bytes > 50 << 20) ADMIT_NEXT
    u64 addresses = 0;
#define TO_CHUNK(name)                                                                                                         \
    in.name += begin;                                                                                                          \
    addresses |= (u64)in.name;
    EACH_INPUT(TO_CHUNK)
    CHUNK c;
    c.index = base + begin;
    c.count = count;
    const bool are_vectors = count == CHUNK_ITEMS && addresses % 16 == 0;
    VECTORS v[FLIGHT];
#ifdef AHEAD
    if (are_vectors && !LANE_BY_LANE) load_vectors(v, in, 0, t);
#endif
    TABLE table;
    TABLE_FILL(table)
#ifdef TAKES_PIVOT
    c.pivot = chunk_pivot(in, count, t);
#endif

    LANE chunk;
    if constexpr (LANE_BY_LANE) {
#ifdef PIVOT_MAY_MISS
        correct_pivot(in, &c, t);
#endif
        chunk = load_lanes<0, 1>(in, c, t);
    } else {
#ifdef ZERO_SIGNS
        chunk = quick_chunk(v, in, c, are_vectors, t);
#else
        LANE lane[OWN];
#pragma unroll
        for (int own = 0; own < OWN; own++) lane[own] = lane_identity();
        if (are_vectors)
            take_vectors(lane, v, in, c, table, t);
        else
            take_rest(lane, in, c, table, t);
#ifdef PIVOT_MAY_MISS
        correct_lanes(lane, in, &c, t);
#endif
        chunk = halve_lanes(lane, t);
#endif
    }
    SHARED ACC tree[TREE_SLOTS];
    ACC a = lane_value(chunk, c);
    TREE_LOOP
    for (int s = TEAM; s < WARP; s *= 2) a = op_combine(a, acc_down(a, s));
    const u64 left = n - min(n, group * run * CHUNK_ITEMS), warp_items = WARP / TEAM * CHUNK_ITEMS;
    a = combine_warps(tree, a, min((left + warp_items - 1) / warp_items, (u64)(GROUP / WARP)));
    if (FOLLOWS(outcome)) { AWAIT_PREVIOUS }
    if (thread == 0 && last != ALONE) partials[first + group] = a;
#ifdef ORDER
    if (last == TOGETHER) {
        SHARED u32 is_last[2];
        if (!tree_of_groups(partials, first, (u32)group, gridDim.x, tree, is_last, &a)) return;
    }
#endif
    if (thread == 0 && last) store_outcome(a, n, params, out, out_offset, outcome);
}
