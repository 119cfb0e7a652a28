/* SPDX-License-Identifier: MIT */
/*
 * finish: the second stage of a reduction in the canonical order, and what every such kernel shares.
 *
 * Computes the aligned binary tree over `count` partials, into the result (`last`) or into one more accumulator.
 * How: one group. Each warp owns an aligned run of partials, a power of two of tiles; an item reads 8 neighbours of a tile and
 * combines them, and the warp combines the items' values by shuffles. The values of 32 tiles wait one to an item, until a level
 * of them is full and becomes one value of the level above: a counter of base 32, whose digits lie across the warp, in
 * registers. Then the warps' values are combined through shared memory, neighbours first. Absent partials are the identity.
 * Needs: shared memory of GROUP / 32 accumulators; GROUP a power of two from 32 to 1024; an accumulator a multiple of 4 bytes.
 * Why: the end of the first launch orders its partials before this one's loads, with no atomics and no counter to reset. A
 * binary counter for each item (as on OpenCL) is an array indexed at run time: local memory.
 */
#define READ (ACC_BYTES > 32 ? 1 : ACC_BYTES > 16 ? 2 : ACC_BYTES > 8 ? 4 : 8) /* neighbours that an item reads: loads in flight */
#define TILE (WARP * READ)                                                     /* partials that a warp reads at once */
/* 32^5 tiles to a warp: 2^33 partials, each of at least one chunk. Wide accumulators need the registers: 2^25, of 2^12 items. */
#define LEVELS (ACC_BYTES > 16 ? 4 : 5)

/* The values of the warp's items, neighbours first, the lower on the left. In item 0; the others' are of no use. */
INLINE ACC combine_items(ACC a) {
#pragma unroll
    for (int s = 1; s < WARP; s *= 2) a = op_combine(a, shuffle_down(a, s));
    return a;
}

/* The values that item 0 of each of the group's warps holds, neighbours first. In item 0 of the group. */
INLINE ACC combine_warps(ACC a) {
#if GROUP > WARP
    __shared__ ACC values[GROUP / WARP];
    const u32 item = threadIdx.x;
    if (item % WARP == 0) values[item / WARP] = a;
    __syncthreads();
    if (item < WARP) {
        a = item < GROUP / WARP ? values[item] : IDENTITY;
        /* No further than there are warps. */
#pragma unroll
        for (int s = 1; s < GROUP / WARP; s *= 2) a = op_combine(a, shuffle_down(a, s));
    }
#endif
    return a;
}

INLINE void store(ACC a, u64 n, PARAMS params, GLOBAL ACC *partial, GLOBAL RESULT *out, u32 last) {
    if (last)
        *out = n ? op_result(a, n, params) : op_empty(params);
    else
        *partial = a;
}

/* In item 0 of the warp. */
INLINE ACC run_value(GLOBAL const ACC *partials, u64 begin, u64 end, u32 t) {
    ACC level[LEVELS];
#pragma unroll
    for (int k = 0; k < LEVELS; k++) level[k] = IDENTITY;
    u32 tiles = 0;
#pragma unroll 1
    for (u64 tile = begin; tile < end; tile += TILE, tiles++) {
        ACC a[READ];
        const u64 i = tile + t * READ;
#pragma unroll
        for (int j = 0; j < READ; j++) a[j] = i + j < end ? partials[i + j] : IDENTITY;
#pragma unroll
        for (int s = 1; s < READ; s *= 2)
#pragma unroll
            for (int j = 0; j < READ; j += 2 * s) a[j] = op_combine(a[j], a[j + s]);
        ACC digit = broadcast(combine_items(a[0]));
        u32 place = tiles;
#pragma unroll
        for (int k = 0; k < LEVELS; k++, place /= WARP) {
            if (t == place % WARP) level[k] = digit;
            if (place % WARP != WARP - 1) break;
            digit = broadcast(combine_items(level[k]));
            level[k] = IDENTITY;
        }
    }
    /* What a level still holds is the next, unfinished digit of the level above. */
#pragma unroll
    for (int k = 0; k < LEVELS - 1; k++) {
        const ACC digit = broadcast(combine_items(level[k]));
        tiles /= WARP;
        if (t == tiles % WARP) level[k + 1] = digit;
    }
    return combine_items(level[LEVELS - 1]);
}

KERNEL BOUNDS void tally_finish(GLOBAL const ACC *partials, u64 count, GLOBAL ACC *combined, u64 slot, GLOBAL RESULT *out,
                                u64 out_offset, u32 last, u64 n, const PARAMS params) {
    const u32 item = threadIdx.x;
    const u64 warp = item / WARP;
    u64 run = TILE;
    while (run * (GROUP / WARP) < count) run *= 2;
    ACC a = run_value(partials, min(count, warp * run), min(count, (warp + 1) * run), item % WARP);
    a = combine_warps(a);
    if (item == 0) store(a, n, params, combined + slot, out + out_offset, last);
}
