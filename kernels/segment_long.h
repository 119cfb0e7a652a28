/* SPDX-License-Identifier: MIT */
/*
 * segment_long: reductions of few long rows in one launch, on GPUs.
 *
 * Computes: the result of each segment (`last` is ALONE or TOGETHER), or partials of its runs of
 * chunks. The items of each segment are side by side, and there are neither masks nor pivots.
 * How: a group takes a run of LONG_CHUNKS neighbouring chunks of one segment. LANES threads share a
 * chunk, a lane each, and a thread has up to LONG_ROWS loads in flight. A segment of one run is
 * done then (ALONE). Else (TOGETHER) each group stores the run's partial and adds 1 to its
 * segment's counter. The group that arrives last combines the segment's partials by the canonical
 * tree. The counters are u32s in `work`, and are 0 between launches.
 * Needs: kernels/segment_teams.h before it; GROUP from LANES on; a group for each run; ORDER for
 * TOGETHER.
 * Why: few rows are few chunks. A warp for each has 8 and more round trips to memory, and a launch
 * of its own for the partials takes as long as the rows (f32 sum of 3 rows of 8,192: 5.7 us on an
 * H100, where a whole input of as many items takes 1.3 to 2.7 us, November 2026).
 */
#if defined(PLAIN) && GROUP >= LANES
#define LONG_CHUNKS (GROUP / LANES) /* chunks of a run: a power of two, so that a run is a subtree */

/* Loads of a thread in flight, of each input: 32 registers of items, of which a narrow one takes a
 * whole one. Long steps are unrolled less, and so are all where POCL may compile them. */
#ifndef SHUFFLES
#define MOST_LONG_ROWS 4
#elif defined(TAKES_LONG)
#define MOST_LONG_ROWS 16
#else
#define MOST_LONG_ROWS 32
#endif
#define LONG_LOADS (128 / ((ITEM_BYTES < 4 ? 4 : ITEM_BYTES) * INPUTS))
#define LONG_ROWS (LONG_LOADS < MOST_LONG_ROWS ? LONG_LOADS : MOST_LONG_ROWS)

/* Adds up lane l of a chunk: its items of rows f with f * LANES < left, from `row` on. */
INLINE LANE long_lane(SOURCE in, CHUNK c, u32 l) {
    LANE own = lane_identity();
#define TO_LANE(name) in.name += c.index + l;
    EACH_INPUT(TO_LANE)
    KEEP_ROLLED
    for (u32 row = 0; row * LANES + l < c.count; row += LONG_ROWS) {
        ITEMS v[LONG_ROWS];
        const u32 left = c.count - row * LANES - l;
#pragma unroll
        for (int f = 0; f < LONG_ROWS; f++)
            if (f * LANES < left) v[f] = items_at(in, f * LANES);
#pragma unroll
        for (int f = 0; f < LONG_ROWS; f++)
            if (f * LANES < left) own = lane_step(own, v[f], c, row + f, l, in.p);
#define TO_NEXT_ROWS(name) in.name += LONG_ROWS * LANES;
        EACH_INPUT(TO_NEXT_ROWS)
    }
    return own;
}

/* Combines the lanes of the group's chunks. Thread l of the LANES threads that share a chunk has
 * `own`, and thread 0 of them gets the chunk's lane. */
#ifdef SHUFFLES
INLINE LANE halve_long(LANE own, LOCAL LANE *lanes, u32 thread, u32 l) {
    const u32 team = WIDTH;
    LOCAL EXCHANGE *meet = 0;
    lanes[thread] = own;
    BARRIER
    if (l >= WIDTH) return own;
    own = lane_combine(lane_combine(own, lanes[thread + 2 * WIDTH]),
                       lane_combine(lanes[thread + WIDTH], lanes[thread + 3 * WIDTH]));
    ACROSS_TEAM(LANE, own, lane_down, lane_combine)
    return own;
}
#else
#define HALVE_LONG(s)                                                                                                          \
    if (l < (s)) lanes[thread] = lane_combine(lanes[thread], lanes[thread + (s)]);                                             \
    BARRIER
INLINE LANE halve_long(LANE own, LOCAL LANE *lanes, u32 thread, u32 l) {
    lanes[thread] = own;
    BARRIER
    HALVE_LONG(64)
    HALVE_LONG(32)
    HALVE_LONG(16)
    HALVE_LONG(8)
    HALVE_LONG(4)
    HALVE_LONG(2)
    HALVE_LONG(1)
    return lanes[thread];
}
#endif

#ifdef ORDER
/* Returns 1 in the group that arrives last of `groups`: all others have stored their partials, and
 * this one sees them. The calling thread has stored its own group's before. The counter is 0 again
 * after the last one. */
INLINE u32 is_last_of(GLOBAL u32 *counter, u32 groups) {
    u32 before;
#ifdef __CUDA_ARCH__
    asm volatile("atom.acq_rel.gpu.global.inc.u32 %0, [%1], %2;"
                 : "=r"(before)
                 : "l"(__cvta_generic_to_global(counter)), "r"(groups - 1)
                 : "memory");
#elif defined(PTX)
    asm volatile("atom.acq_rel.gpu.global.inc.u32 %0, [%1], %2;" : "=r"(before) : "l"(counter), "r"(groups - 1) : "memory");
#else
    before = __atomic_fetch_add(counter, 1U, __ATOMIC_ACQ_REL);
    if (before == groups - 1) *counter = 0;
#endif
    return before == groups - 1;
}
#endif

/* Devices without shuffles fold in all groups, over no partials but in the last one, because POCL
 * has miscompiled barriers under a condition. */
#ifdef SHUFFLES
#define IF_TOGETHER if (last == TOGETHER)
#define IF_LAST if (is_last)
#else
#define IF_TOGETHER
#define IF_LAST
#endif

/* Groups that a multiprocessor must have room for: results of wide accumulators need registers. */
#define LONG_GROUPS (sizeof(ACC) > 16 ? 2 : 4)

KERNEL BOUNDS_OF(LONG_GROUPS) void tally_segments_long(CALL_ARGS) {
    OPEN;
    OPEN_FOLD;
    SHARED LANE lanes[GROUP];
    SHARED PART parts[LONG_CHUNKS];
    SHARED u32 group_is_last;
#ifdef __CUDA_ARCH__ /* not with items that just fit the cache: see group_tree */
    const u64 bytes = shape.n * count * ITEM_BYTES * INPUTS;
    if (bytes <= 32 << 20 || bytes > 50 << 20) ADMIT_NEXT
#endif
    const u64 runs = (leaves + LONG_CHUNKS - 1) / LONG_CHUNKS, i = quotient(GROUP_ID, runs);
    const u64 first_chunk = (GROUP_ID - i * runs) * LONG_CHUNKS;
    const SEGMENT segment = SEGMENT_OF(first + i);
    const CHUNK c = chunk_of(&segment, first_chunk + thread / LANES);
    const LANE all = halve_long(long_lane(segment.in, c, thread % LANES), lanes, thread, thread % LANES);
    (void)t;
    if (thread % LANES == 0) parts[thread / LANES] = part_of_lane(all, c, c.count);
#if GROUP > LANES
    BARRIER
#endif
    if (thread == 0) {
        for (u32 s = 1; s < LONG_CHUNKS; s *= 2)
            for (u32 k = 0; k + s < LONG_CHUNKS; k += 2 * s)
                if (first_chunk + k + s < leaves) parts[k] = part_combine(parts[k], parts[k + s]);
        if (last == ALONE)
            put_part(parts[0], segment.n, out, segment.out, initial, params);
        else
            part_store(parts[0], partials, counts, GROUP_ID);
    }
#ifdef ORDER
    IF_TOGETHER {
        if (thread == 0) group_is_last = last == TOGETHER && is_last_of((GLOBAL u32 *)work + i, (u32)runs);
        BARRIER
        const u32 is_last = group_is_last;
        IF_LAST {
            FOLD(p, partials + i * runs, counts, is_last ? runs : 0)
            if (thread == 0 && is_last) put_part(p, segment.n, out, segment.out, initial, params);
        }
    }
#endif
}
#endif
