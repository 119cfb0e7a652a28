/* SPDX-License-Identifier: MIT */
/*
 * group_tree: a reduction in the canonical order, for GPUs: shuffles within a warp, shared memory across warps, then a second
 * stage (finish).
 *
 * Computes one partial per group: the accumulator of its run of GROUP / 32 chunks (`run` is that number).
 * How: a warp takes a chunk. Each item owns 4 of its 128 lanes, so that the warp loads a row of f32 as 512 contiguous bytes in
 * 16-byte vectors; 8 loads are in flight per item. The lanes are then halved: by shuffles where the two belong to different
 * items, in registers where they belong to one. The chunks are combined through shared memory, neighbours first. Inputs that
 * are not aligned to 16 bytes are loaded item by item, as many bytes in flight; short chunks likewise, with a test for each.
 * Needs: GROUP a power of two from 32 to 1024; shared memory of GROUP / 32 accumulators.
 * Why: the default of GPUs: memory speed in the canonical order, with no barrier before a chunk is done.
 */
#define OWN (LANES / WARP)       /* lanes of an item */
#define VECTOR (16 / ITEM_BYTES) /* items of a 16-byte load */
#define VECTORS (OWN / VECTOR)   /* loads of a row */
#define FLIGHT 8                 /* loads in flight: 128 bytes an item */
#define FLIGHT_ROWS (FLIGHT / VECTORS)

typedef union {
    ITEM_VECTOR vector;
    ITEM item[VECTOR];
} items16;

/* The chunk's lane that an item's lane k * VECTOR + j is. */
#define LANE(t, k, j) ((k) * WARP * VECTOR + (t) * VECTOR + (j))

template <bool ALIGNED> INLINE void load_chunk(ACC *lane, GLOBAL const ITEM *x, u64 index, u32 t) {
#pragma unroll 1
    for (int r = 0; r < ROWS; r += FLIGHT_ROWS) {
        items16 v[FLIGHT];
#pragma unroll
        for (int f = 0; f < FLIGHT; f++) {
            GLOBAL const ITEM *from = x + (r + f / VECTORS) * LANES + LANE(t, f % VECTORS, 0);
            if (ALIGNED) {
                v[f].vector = *(GLOBAL const ITEM_VECTOR *)from;
            } else {
#pragma unroll
                for (int j = 0; j < VECTOR; j++) v[f].item[j] = from[j];
            }
        }
#pragma unroll
        for (int f = 0; f < FLIGHT; f++)
#pragma unroll
            for (int j = 0; j < VECTOR; j++) {
                const int own = f % VECTORS * VECTOR + j;
                const u32 at = (r + f / VECTORS) * LANES + LANE(t, f % VECTORS, j);
                lane[own] = op_combine(lane[own], op_load(v[f].item[j], index + at));
            }
    }
}

INLINE void load_items(ACC *lane, GLOBAL const ITEM *x, u64 index, u32 count, u32 t) {
#pragma unroll 1
    for (int r = 0; r < ROWS; r++)
#pragma unroll
        for (int own = 0; own < OWN; own++) {
            const u32 at = r * LANES + LANE(t, own / VECTOR, own % VECTOR);
            if (at < count) lane[own] = op_combine(lane[own], op_load(x[at], index + at));
        }
}

/* Lane l with lane l + s, for s = 64, 32, ... 1. In item 0 of the warp. */
INLINE ACC halve_lanes(ACC *lane) {
#pragma unroll
    for (int s = LANES / 2; s >= WARP * VECTOR; s /= 2)
#pragma unroll
        for (int own = 0; own < s / WARP; own++) lane[own] = op_combine(lane[own], lane[own + s / WARP]);
#pragma unroll
    for (int s = WARP / 2; s > 0; s /= 2)
#pragma unroll
        for (int own = 0; own < VECTOR; own++) lane[own] = op_combine(lane[own], shuffle_down(lane[own], s));
#pragma unroll
    for (int s = VECTOR / 2; s > 0; s /= 2)
#pragma unroll
        for (int own = 0; own < s; own++) lane[own] = op_combine(lane[own], lane[own + s]);
    return lane[0];
}

KERNEL BOUNDS void tally_partials(GLOBAL const ITEM *in, u64 in_offset, u64 n, u64 run, GLOBAL ACC *partials, u64 first,
                           GLOBAL RESULT *out, u64 out_offset, u32 last) {
    const u64 group = blockIdx.x;
    const u32 item = threadIdx.x;
    const u32 t = item % WARP;
    const u64 begin = (group * run + item / WARP) * CHUNK_ITEMS;
    const u32 count = begin < n ? min((u64)CHUNK_ITEMS, n - begin) : 0;
    GLOBAL const ITEM *x = in + in_offset + begin;

    ACC lane[OWN];
#pragma unroll
    for (int own = 0; own < OWN; own++) lane[own] = IDENTITY;
    if (count < CHUNK_ITEMS)
        load_items(lane, x, begin, count, t);
    else if (((u64)x & 15) == 0)
        load_chunk<true>(lane, x, begin, t);
    else
        load_chunk<false>(lane, x, begin, t);
    const ACC a = combine_warps(halve_lanes(lane));
    if (item == 0) store(a, n, partials + first + group, out + out_offset, last);
}
