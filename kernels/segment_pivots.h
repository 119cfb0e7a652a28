/* SPDX-License-Identifier: MIT */
/*
 * segment_pivots: the pivot of a chunk of a segment, on GPUs.
 *
 * Computes: nothing by itself. The kernels of segments call what stands here.
 * How: a team's threads have four items of the chunk's first row each, as they have lanes. A thread
 * that takes a chunk alone has all of them.
 * Needs: kernels/pivots.h and kernels/segment_exchange.h before it.
 * Why: masks, and any strides.
 */
#ifdef TAKES_PIVOT
INLINE PIVOT four_pivots(const PIVOT *own) {
    return pivot_combine(pivot_combine(own[0], own[2]), pivot_combine(own[1], own[3]));
}

/* Combines those items of the chunk's pivot that thread t has. Sets *masked if one of them is
 * masked. */
INLINE PIVOT own_pivot(const SEGMENT *s, const SHAPE *shape, CHUNK c, u32 t, u32 team, u32 *masked) {
    const u32 items = min((u32)LANES >> pivot_halvings(c.count), c.count);
    PIVOT own[OWN];
#ifndef WHERE
    if (ONE_STEP(shape)) {
        const STEPS step = item_step(shape);
        SOURCE at = source_on(s->in, (i64)(c.index + t), step);
        ITEMS v[OWN];
#pragma unroll
        for (int j = 0; j < OWN; j++) {
            if (t + j * team < items) v[j] = items_at(at, 0);
            at = source_on(at, team, step);
        }
#pragma unroll
        for (int j = 0; j < OWN; j++) {
            own[j] = pivot_identity();
            if (t + j * team < items) own[j] = pivot_load(v[j]);
        }
        return four_pivots(own);
    }
#endif
#pragma unroll
    for (int j = 0; j < OWN; j++) {
        const u32 l = t + j * team;
        own[j] = pivot_identity();
        if (l < items) {
            const ITEMS v = segment_items(s, shape, c.index + l);
            if (segment_has(s, shape, c.index + l))
                own[j] = pivot_load(v);
            else
                *masked = 1;
        }
    }
    return four_pivots(own);
}

/* Returns the pivot of a chunk if items of its usual pivot are masked: that of its first item that
 * is not masked, or `none` without such an item. */
INLINE PIVOT lone_pivot(const SEGMENT *s, const SHAPE *shape, CHUNK c, PIVOT none) {
    for (u32 i = 0; i < c.count; i++)
        if (segment_has(s, shape, c.index + i)) return pivot_value(pivot_load(segment_items(s, shape, c.index + i)), 7);
    return none;
}

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

#if defined(SHUFFLES) && !defined(OFFSET) && !defined(WHERE)
#define WALKS_PIVOT 1
#define PIVOT_FLIGHT 16
#define PIVOT_LEVELS 3 /* of LANES / PIVOT_FLIGHT turns */
#define HALVE_PIVOT(s) _Pragma("unroll") for (u32 j = 0; j < (s); j++) own[j] = pivot_combine(own[j], own[j + (s)]);
/* Combines the items of a chunk's pivot by one thread, PIVOT_FLIGHT of them at once. */
INLINE PIVOT walked_pivot(const SEGMENT *s, STEPS step, CHUNK c) {
    const u32 items = LANES >> pivot_halvings(c.count), turns = items > PIVOT_FLIGHT ? items / PIVOT_FLIGHT : 1;
    PIVOT level[PIVOT_LEVELS], own[PIVOT_FLIGHT];
    KEEP_ROLLED
    for (u32 q = 0; q < turns; q++) {
        SOURCE at = source_on(s->in, (i64)(c.index + turn_of(q, turns)), step);
        ITEMS v[PIVOT_FLIGHT];
#pragma unroll
        for (u32 j = 0; j < PIVOT_FLIGHT; j++) {
            if (j < items && j < c.count) v[j] = items_at(at, 0);
            at = source_on(at, turns, step);
        }
#pragma unroll
        for (u32 j = 0; j < PIVOT_FLIGHT; j++) {
            own[j] = pivot_identity();
            if (j < items && j < c.count) own[j] = pivot_load(v[j]);
        }
        HALVE_PIVOT(8)
        HALVE_PIVOT(4)
        HALVE_PIVOT(2)
        HALVE_PIVOT(1)
        COUNTER_PUSH(PIVOT_LEVELS, level, q, own[0], pivot_combine)
    }
    return own[0];
}
#endif

/* Returns the pivot of a chunk, by one thread. */
INLINE PIVOT thread_pivot(const SEGMENT *s, const SHAPE *shape, CHUNK c, u32 team) {
    u32 masked = 0;
    PIVOT level[TURN_LEVELS], pivot;
#ifdef WALKS_PIVOT
    if (ONE_STEP(shape)) return pivot_value(walked_pivot(s, item_step(shape), c), pivot_halvings(c.count));
#endif
    KEEP_ROLLED
    for (u32 k = 0; k < team; k++) {
        pivot = own_pivot(s, shape, c, turn_of(k, team), team, &masked);
        COUNTER_PUSH(TURN_LEVELS, level, k, pivot, pivot_combine)
    }
    pivot = pivot_value(pivot, pivot_halvings(c.count));
    return masked ? lone_pivot(s, shape, c, pivot) : pivot;
}
#endif
