/* SPDX-License-Identifier: MIT */
/*
 * group_tree: a reduction in the canonical order, for GPUs: a local-memory tree per group, then a second stage (finish).
 *
 * Computes one partial per group: the accumulator of its run of GROUP / 32 chunks (`run` is that number).
 * How: 32 items share a chunk. Each owns 4 of its 128 lanes, so that the 32 load a row of f32 as 512 contiguous bytes in 16-byte
 * vectors; 8 loads are in flight per item. The lanes are then halved in local memory, and the chunks combined, neighbours first. Short
 * chunks and inputs that are not aligned to 16 bytes are loaded item by item.
 * Needs: GROUP a power of two from 32 to 1024; local memory of 4 * GROUP accumulators.
 * Why: the default of GPUs without device-scope ordering or sub-groups. No early return, no barrier in a loop.
 */
#define WARP 32
#define SPAN (GROUP / WARP)               /* chunks of a group */
#define OWN (LANES / WARP)                /* lanes of an item */
#define VECTOR (16 / ITEM_BYTES)          /* items of a 16-byte load */
#define VECTORS (OWN / VECTOR)            /* loads of a row */
#define FLIGHT 8                          /* loads in flight: 128 bytes an item */
#define FLIGHT_ROWS (FLIGHT / VECTORS)

typedef union {
    ITEM_VECTOR vector;
    ITEM item[VECTOR];
} items16;

/* The chunk's lane that an item's lane k * VECTOR + j is. */
#define LANE(t, k, j) ((k) * WARP * VECTOR + (t) * VECTOR + (j))

INLINE void load_chunk(ACC *lane, GLOBAL const ITEM *x, u64 index, u32 t) {
    for (int r = 0; r < ROWS; r += FLIGHT_ROWS) {
        items16 v[FLIGHT];
#pragma unroll
        for (int f = 0; f < FLIGHT; f++)
            v[f].vector = *(GLOBAL const ITEM_VECTOR *)(x + (r + f / VECTORS) * LANES + LANE(t, f % VECTORS, 0));
#pragma unroll
        for (int f = 0; f < FLIGHT; f++)
#pragma unroll
            for (int j = 0; j < VECTOR; j++) {
                const int own = f % VECTORS * VECTOR + j;
                const int at = (r + f / VECTORS) * LANES + LANE(t, f % VECTORS, j);
                lane[own] = op_combine(lane[own], op_load(v[f].item[j], index + at));
            }
    }
}

INLINE void load_items(ACC *lane, GLOBAL const ITEM *x, u64 index, u64 count, u32 t) {
    for (int r = 0; r < ROWS; r++)
#pragma unroll
        for (int own = 0; own < OWN; own++) {
            const u32 at = r * LANES + LANE(t, own / VECTOR, own % VECTOR);
            if (at < count) lane[own] = op_combine(lane[own], op_load(x[at], index + at));
        }
}

KERNEL void tally_partials(GLOBAL const ITEM *in, u64 in_offset, u64 n, u64 run, GLOBAL ACC *partials, u64 first,
                           GLOBAL RESULT *out, u64 out_offset, u32 last) {
    __local ACC lanes[SPAN * LANES];
    const u64 group = get_group_id(0);
    const u32 item = get_local_id(0);
    const u32 t = item % WARP;
    const u64 begin = (group * run + item / WARP) * CHUNK_ITEMS;
    const u64 count = begin < n ? min((u64)CHUNK_ITEMS, n - begin) : 0;
    GLOBAL const ITEM *x = in + in_offset + begin;

    ACC lane[OWN];
#pragma unroll
    for (int own = 0; own < OWN; own++) lane[own] = IDENTITY;
    if (count == CHUNK_ITEMS && ((size_t)x & 15) == 0)
        load_chunk(lane, x, begin, t);
    else
        load_items(lane, x, begin, count, t);
#pragma unroll
    for (int own = 0; own < OWN; own++) lanes[item / WARP * LANES + LANE(t, own / VECTOR, own % VECTOR)] = lane[own];
    barrier(CLK_LOCAL_MEM_FENCE);

    /* Pair p of step s: lane p % s of chunk p / s. */
#define LANE_STEP(s)                                                                                                            \
    for (u32 p = item; p < SPAN * (s); p += GROUP) {                                                                            \
        const u32 at = p / (s) * LANES + p % (s);                                                                               \
        lanes[at] = op_combine(lanes[at], lanes[at + (s)]);                                                                     \
    }                                                                                                                           \
    barrier(CLK_LOCAL_MEM_FENCE);
    LANE_STEP(64)
    LANE_STEP(32)
    LANE_STEP(16)
    LANE_STEP(8)
    LANE_STEP(4)
    LANE_STEP(2)
    LANE_STEP(1)

#define CHUNK_STEP(s)                                                                                                           \
    if (2 * (s) * item < SPAN) {                                                                                                \
        const u32 at = 2 * (s) * item * LANES;                                                                                  \
        lanes[at] = op_combine(lanes[at], lanes[at + (s) * LANES]);                                                             \
    }                                                                                                                           \
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
    if (item == 0) store(lanes[0], n, partials + first + group, out + out_offset, last);
}
