/* SPDX-License-Identifier: MIT */
/*
 * finish: the second stage of a reduction in the canonical order, and what all kernels of
 * reductions share.
 *
 * Computes: the aligned binary tree over `count` partials, into the result (`last`) or into one
 * more accumulator.
 * How: by one group. If there are at most as many partials as threads, each thread takes one, and
 * the steps end where the partials do. Else each warp owns an aligned run of partials, a power of
 * two of tiles. A thread reads 8 neighbours of a tile and combines them, and the warp combines its
 * threads' accumulators by shuffles. The accumulators of 32 tiles wait, one in each thread, until
 * that level is full and becomes one accumulator of the level above. That is a counter of base 32,
 * whose digits lie across the warp in registers. At last the warps' accumulators are combined
 * through local memory, neighbours first. Absent partials are the identity.
 * Needs: local memory for GROUP / 32 accumulators; GROUP a power of two from 32 to 1024; an
 * accumulator of a multiple of 4 bytes.
 * Why: the last group of a launch calls it, after arrives_last has ordered the others' partials
 * before its loads; and so does a launch of its own. A binary counter in each thread, as OpenCL's
 * finish has, would be an array indexed at run time, which spills.
 */
/* READ is the neighbours that a thread reads: loads in flight. TILE is the partials that a warp
 * reads at once. */
#define READ (ACC_BYTES > 32 ? 1 : ACC_BYTES > 16 ? 2 : ACC_BYTES > 8 ? 4 : 8)
#define TILE (WARP * READ)
/* A long combination, unrolled, outgrows the instruction cache. */
constexpr int UNROLL = ACC_BYTES > 8 ? 1 : WARP;
/*
 * A warp's counter holds 32^5 tiles. That is 2^33 partials, each of at least one chunk. Wide
 * accumulators need the registers. Theirs holds 2^25 partials in small groups, of 2^12 items each;
 * in groups of 256 threads or more 2^20, of 2^15 items each, for each of 8 warps: 2^38 items.
 */
#define LEVELS (ACC_BYTES <= 16 ? 5 : GROUP < 256 ? 4 : 3)

/* Combines the accumulators of the warp's threads, neighbours first, the lower one on the left.
 * Thread 0 has the result; what the others have is of no use. */
INLINE ACC combine_threads(ACC a) {
#pragma unroll UNROLL
    for (int s = 1; s < WARP; s *= 2) a = op_combine(a, shuffle_down(a, s));
    return a;
}

/* Combines the accumulators that thread 0 of each of the group's first `warps` warps has,
 * neighbours first. Thread 0 of the group has the result. */
INLINE ACC combine_warps(ACC a, u32 warps) {
#if GROUP > WARP
    if (warps <= 1) return a;
    __shared__ ACC values[GROUP / WARP];
    const u32 thread = threadIdx.x;
    if (thread % WARP == 0) values[thread / WARP] = a;
    __syncthreads();
    if (thread < WARP) {
        a = thread < warps ? values[thread] : IDENTITY;
#pragma unroll 1
        for (u32 s = 1; s < warps; s *= 2) a = op_combine(a, shuffle_down(a, s));
    }
#endif
    return a;
}

/* Computes the tile of partials from `begin` on. `end` is the end of all partials. Thread 0 of the
 * warp has the result. */
INLINE ACC tile_value(GLOBAL const ACC *partials, u64 begin, u64 end, u32 t) {
    ACC a[READ];
    const u64 i = begin + t * READ;
#pragma unroll
    for (int j = 0; j < READ; j++) a[j] = i + j < end ? partials[i + j] : IDENTITY;
#pragma unroll
    for (int s = 1; s < READ; s *= 2)
#pragma unroll
        for (int j = 0; j < READ; j += 2 * s) a[j] = op_combine(a[j], a[j + s]);
    return combine_threads(a[0]);
}

/* Computes the run of partials [begin, end). Thread 0 of the warp has the result. */
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
            digit = broadcast(combine_threads(level[k]));
            level[k] = IDENTITY;
        }
    }
    /* A few tiles are the digits of the lowest level alone, and take as many steps as they need. */
    if (tiles < WARP) {
        ACC a = level[0];
#pragma unroll 1
        for (u32 s = 1; s < tiles; s *= 2) a = op_combine(a, shuffle_down(a, s));
        return a;
    }
    /* A level's rest is the next digit of the level above, though not full. */
#pragma unroll
    for (int k = 0; k < LEVELS - 1; k++) {
        const ACC digit = broadcast(combine_threads(level[k]));
        tiles /= WARP;
        if (t == tiles % WARP) level[k + 1] = digit;
    }
    return combine_threads(level[LEVELS - 1]);
}

/* Computes the tree over at most GROUP partials. The steps end where the partials do. Thread 0 of
 * the group has the result. */
INLINE ACC few_value(GLOBAL const ACC *partials, u32 count) {
    ACC a = threadIdx.x < count ? partials[threadIdx.x] : IDENTITY;
#pragma unroll 1
    for (u32 s = 1; s < WARP && s < count; s *= 2) a = op_combine(a, shuffle_down(a, s));
    return combine_warps(a, (count + WARP - 1) / WARP);
}

/* Computes the tree over `count` partials. Thread 0 of the group has the result. */
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
/*
 * Returns true, in all threads, in the group that arrives last: all other groups have stored their
 * partials, and this one sees them. Its thread 0 has stored its own group's before. Slot 0 counts
 * the groups, and is 0 again after the last.
 */
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
                                u64 out_offset, u32 last, u64 n, const PARAMS params, const OUTCOME outcome) {
    AWAIT_PREVIOUS
    ADMIT_NEXT
    const ACC a = tree_value(partials, count);
    if (threadIdx.x == 0) store(a, n, params, combined + slot, out, out_offset, outcome, last);
}
