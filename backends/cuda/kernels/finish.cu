/* SPDX-License-Identifier: MIT */
/*
 * finish: the second stage of a reduction in the canonical order, and what every such kernel shares.
 *
 * Computes the aligned binary tree over `count` partials, into the result (`last`) or into one more accumulator.
 * How: one group. Few partials: an item each, and no step further than they go. Else each warp owns an aligned run of partials, a power of two of tiles; an item reads 8 neighbours of a tile and
 * combines them, and the warp combines the items' values by shuffles. The values of 32 tiles wait one to an item, until a level
 * of them is full and becomes one value of the level above: a counter of base 32, whose digits lie across the warp, in
 * registers. Then the warps' values are combined through shared memory, neighbours first. Absent partials are the identity.
 * Needs: shared memory of GROUP / 32 accumulators; GROUP a power of two from 32 to 1024; an accumulator a multiple of 4 bytes.
 * Why: it is run by the last group of a launch, whose counter (`arrives_last`) orders the others' partials before its loads, and by a launch of
 * its own. A binary counter for each item (as on OpenCL) is an array indexed at run time: local memory.
 */
#define READ (ACC_BYTES > 32 ? 1 : ACC_BYTES > 8 ? 2 : 8) /* neighbours that an item reads: loads in flight */
#define TILE (WARP * READ)                                /* partials that a warp reads at once */
constexpr int UNROLL = ACC_BYTES > 8 ? 1 : WARP;          /* what is long to combine, unrolled, would leave the instruction cache */
/* 32^5 tiles to a warp: 2^33 partials, each of at least one chunk. Wide accumulators need the registers: 2^25, of 2^12 items. */
#define LEVELS (ACC_BYTES > 16 ? 4 : 5)

/* The values of the warp's items, neighbours first, the lower on the left. In item 0; the others' are of no use. */
INLINE ACC combine_items(ACC a) {
#pragma unroll UNROLL
    for (int s = 1; s < WARP; s *= 2) a = op_combine(a, shuffle_down(a, s));
    return a;
}

/* The values that item 0 of each of the group's first warps holds, neighbours first. In item 0 of the group. */
INLINE ACC combine_warps(ACC a, u32 warps) {
#if GROUP > WARP
    if (warps <= 1) return a;
    __shared__ ACC values[GROUP / WARP];
    const u32 item = threadIdx.x;
    if (item % WARP == 0) values[item / WARP] = a;
    __syncthreads();
    if (item < WARP) {
        a = item < warps ? values[item] : IDENTITY;
#pragma unroll 1
        for (u32 s = 1; s < warps; s *= 2) a = op_combine(a, shuffle_down(a, s));
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

/* The tile of partials from `begin` on, of which there are `end`. In item 0 of the warp. */
INLINE ACC tile_value(GLOBAL const ACC *partials, u64 begin, u64 end, u32 t) {
    ACC a[READ];
    const u64 i = begin + t * READ;
#pragma unroll
    for (int j = 0; j < READ; j++) a[j] = i + j < end ? partials[i + j] : IDENTITY;
#pragma unroll
    for (int s = 1; s < READ; s *= 2)
#pragma unroll
        for (int j = 0; j < READ; j += 2 * s) a[j] = op_combine(a[j], a[j + s]);
    return combine_items(a[0]);
}

/* In item 0 of the warp. */
INLINE ACC run_value(GLOBAL const ACC *partials, u64 begin, u64 end, u32 t) {
    ACC level[LEVELS];
#pragma unroll
    for (int k = 0; k < LEVELS; k++) level[k] = IDENTITY;
    u32 tiles = 0;
#pragma unroll 1
    for (u64 tile = begin; tile < end; tile += TILE, tiles++) {
        ACC digit = broadcast(tile_value(partials, tile, end, t));
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

/* As many partials as the group has items at most: no step further than they go. In item 0 of the group. */
INLINE ACC few_value(GLOBAL const ACC *partials, u32 count) {
    ACC a = threadIdx.x < count ? partials[threadIdx.x] : IDENTITY;
#pragma unroll 1
    for (u32 s = 1; s < WARP && s < count; s *= 2) a = op_combine(a, shuffle_down(a, s));
    return combine_warps(a, (count + WARP - 1) / WARP);
}

/* The tree over `count` partials. In item 0 of the group. */
INLINE ACC tree_value(GLOBAL const ACC *partials, u64 count) {
    const u64 warp = threadIdx.x / WARP;
    const u32 t = threadIdx.x % WARP;
    if (count <= GROUP) return few_value(partials, count);
    u64 run = TILE;
    while (run * (GROUP / WARP) < count) run *= 2;
    const ACC a = run == TILE ? tile_value(partials, warp * TILE, count, t)
                              : run_value(partials, min(count, warp * run), min(count, (warp + 1) * run), t);
    return combine_warps(a, GROUP / WARP);
}

#ifdef ORDER
/* Whether all other groups have stored their partials (item 0 has stored this one's): then this one sees them, and no group after it. Slot 0
 * counts them, and is 0 again after the last. In all items. */
INLINE bool arrives_last(GLOBAL ACC *partials) {
    __shared__ bool is_last;
    if (threadIdx.x == 0) {
        u32 before;
        asm volatile("atom.acq_rel.gpu.global.inc.u32 %0, [%1], %2;"
                     : "=r"(before)
                     : "l"(__cvta_generic_to_global(partials)), "r"(gridDim.x - 1)
                     : "memory");
        is_last = before == gridDim.x - 1;
    }
    __syncthreads();
    return is_last;
}
#endif

KERNEL BOUNDS void tally_finish(GLOBAL const ACC *partials, u64 count, GLOBAL ACC *combined, u64 slot, GLOBAL RESULT *out,
                                u64 out_offset, u32 last, u64 n, const PARAMS params) {
    AWAIT_PREVIOUS
    ADMIT_NEXT
    const ACC a = tree_value(partials, count);
    if (threadIdx.x == 0) store(a, n, params, combined + slot, out + out_offset, last);
}
