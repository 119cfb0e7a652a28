/* SPDX-License-Identifier: MIT */
/*
 * warp_tree: the tree over partials by the warps of a group, in CUDA C and in OpenCL C for NVIDIA's
 * GPUs.
 *
 * Computes: the aligned binary tree over `count` partials (tree_value), or over one accumulator of
 * each warp (combine_warps).
 * How: if there are at most as many partials as threads, each thread takes one, and the steps end
 * where the partials do. Else each warp owns an aligned run of partials, a power of two of tiles. A
 * tile is READ times 32 partials, and a load takes 32 neighbours, so that it touches few lines of
 * the cache. Threads exchange them by shuffles. The accumulators of 32 tiles wait, one in each
 * thread, until that level is full and becomes one accumulator of the level above. That is a
 * counter of base 32, whose digits lie across the warp in registers. At last the warps'
 * accumulators are combined through local memory, neighbours first. Absent partials are the
 * identity.
 * Needs: local memory for TREE_SLOTS accumulators; GROUP a power of two from 32 to 1024; an
 * accumulator of a multiple of 4 bytes.
 * Why: the last group of a launch calls it, after arrives_last has ordered the others' partials
 * before its loads; and so does a launch of its own. All other groups have ended then: its time is
 * added to that of the reduction.
 */
#if defined(__CUDA_ARCH__) || defined(PTX)

/* Defines NAME(a, s), which returns the `a` of another thread of the warp: of thread t + s (down),
 * t ^ s (bfly) or s (idx). Beyond the warp it is of no use. All 32 threads take part. */
#define SHUFFLE(NAME, TYPE, MODE)                                                                                              \
    INLINE TYPE NAME(TYPE a, u32 s) {                                                                                          \
        union {                                                                                                                \
            TYPE value;                                                                                                        \
            u32 word[(sizeof(TYPE) + 3) / 4];                                                                                  \
        } from, to;                                                                                                            \
        from.value = a;                                                                                                        \
        _Pragma("unroll") for (int w = 0; w < (int)((sizeof(TYPE) + 3) / 4); w++) asm volatile(                                \
            "shfl.sync." MODE ".b32 %0, %1, %2, 0x1f, 0xffffffff;" : "=r"(to.word[w]) : "r"(from.word[w]), "r"(s));            \
        return to.value;                                                                                                       \
    }
#endif

#if (defined(__CUDA_ARCH__) || defined(PTX)) && GROUP >= 32
SHUFFLE(acc_down, ACC, "down")
SHUFFLE(acc_xor, ACC, "bfly")
SHUFFLE(acc_of, ACC, "idx")

#define TREE_SLOTS (GROUP / 32)
/* READ is the partials that a thread has in flight. TILE is the partials that a warp reads at once.
 * By CUDA more wide ones would take registers from the loads of items. */
#ifdef __CUDA_ARCH__
#define READ (ACC_BYTES > 32 ? 1 : ACC_BYTES > 16 ? 2 : ACC_BYTES > 8 ? 4 : 8)
#else
#define READ (ACC_BYTES > 32 ? 1 : ACC_BYTES > 8 ? 4 : 8)
#endif
#define TILE (32 * READ)
/* A long combination, unrolled, outgrows the instruction cache. */
#if ACC_BYTES > 8
#define TREE_LOOP _Pragma("unroll 1")
#else
#define TREE_LOOP
#endif
/*
 * A warp's counter holds 32^5 tiles. That is 2^33 partials, each of at least one chunk. Wide
 * accumulators need the registers. Theirs holds 2^25 partials in small groups, of 2^12 items each;
 * in groups of 256 threads or more 2^20, of 2^15 items each, for each of 8 warps: 2^38 items.
 */
#define LEVELS (ACC_BYTES <= 16 ? 5 : GROUP < 256 ? 4 : 3)

/* Combines the accumulators of the warp's threads, neighbours first, the lower one on the left.
 * Thread 0 has the result. */
INLINE ACC combine_threads(ACC a) {
    TREE_LOOP
    for (u32 s = 1; s < 32; s *= 2) a = op_combine(a, acc_down(a, s));
    return a;
}

/* Combines the accumulators that thread 0 of each of the group's first `warps` warps has,
 * neighbours first. Thread 0 of the group has the result. */
INLINE ACC combine_warps(LOCAL ACC *values, ACC a, u32 warps) {
#if GROUP > 32
    if (warps <= 1) return a;
    if (THREAD_ID % 32 == 0) values[THREAD_ID / 32] = a;
    BARRIER
    if (THREAD_ID < 32) {
        a = THREAD_ID < warps ? values[THREAD_ID] : IDENTITY;
        _Pragma("unroll 1") for (u32 s = 1; s < warps; s *= 2) a = op_combine(a, acc_down(a, s));
    }
#endif
    return a;
}

/*
 * Computes the tile of partials from `begin` on. `end` is the end of all partials. Thread t loads
 * partials t, t + 32, t + 64, ... of the tile: neighbours are in neighbouring threads. While
 * threads t and t ^ s have several each, one of them combines the first half of these, the other
 * the second half. Then each has one, whose block of 32 the last bits of t tell. Blocks are
 * combined last. Thread 0 of the warp has the result.
 */
INLINE ACC tile_value(GLOBAL const ACC *partials, u64 begin, u64 end, u32 t) {
    ACC a[READ];
#pragma unroll
    for (int j = 0; j < READ; j++) a[j] = begin + 32 * j + t < end ? partials[begin + 32 * j + t] : IDENTITY;
#pragma unroll
    for (int s = 1; s < READ; s *= 2)
#pragma unroll
        for (int j = 0; j < READ / 2; j++)
            if (j < READ / 2 / s) {
                const u32 is_upper = t & s;
                const ACC mine = is_upper ? a[j + READ / 2 / s] : a[j];
                const ACC other = acc_xor(is_upper ? a[j] : a[j + READ / 2 / s], s);
                a[j] = op_combine(is_upper ? other : mine, is_upper ? mine : other);
            }
    TREE_LOOP
    for (u32 s = READ; s < 32; s *= 2) a[0] = op_combine(a[0], acc_down(a[0], s));
    TREE_LOOP
    for (u32 s = READ / 2; s > 0; s /= 2) a[0] = op_combine(a[0], acc_down(a[0], s));
    return a[0];
}

/* Computes the run of partials [begin, end). Thread 0 of the warp has the result. */
INLINE ACC run_value(GLOBAL const ACC *partials, u64 begin, u64 end, u32 t) {
    ACC level[LEVELS];
#pragma unroll
    for (int k = 0; k < LEVELS; k++) level[k] = IDENTITY;
    u32 tiles = 0;
    _Pragma("unroll 1") for (u64 tile = begin; tile < end; tile += TILE, tiles++) {
        ACC digit = acc_of(tile_value(partials, tile, end, t), 0);
        u32 place = tiles, is_full = 1;
#pragma unroll
        for (int k = 0; k < LEVELS; k++)
            if (is_full) {
                if (t == place % 32) level[k] = digit;
                is_full = place % 32 == 31;
                place /= 32;
                if (is_full) {
                    digit = acc_of(combine_threads(level[k]), 0);
                    level[k] = IDENTITY;
                }
            }
    }
    /* A few tiles are the digits of the lowest level alone, and take as many steps as they need. */
    if (tiles < 32) {
        ACC a = level[0];
        _Pragma("unroll 1") for (u32 s = 1; s < tiles; s *= 2) a = op_combine(a, acc_down(a, s));
        return a;
    }
    /* A level's rest is the next digit of the level above, though not full. */
#pragma unroll
    for (int k = 0; k < LEVELS - 1; k++) {
        const ACC digit = acc_of(combine_threads(level[k]), 0);
        tiles /= 32;
        if (t == tiles % 32) level[k + 1] = digit;
    }
    return combine_threads(level[LEVELS - 1]);
}

/* Computes the tree over at most GROUP partials. The steps end where the partials do. Thread 0 of
 * the group has the result. */
INLINE ACC few_value(GLOBAL const ACC *partials, u32 count, LOCAL ACC *values) {
    ACC a = THREAD_ID < count ? partials[THREAD_ID] : IDENTITY;
    _Pragma("unroll 1") for (u32 s = 1; s < 32 && s < count; s *= 2) a = op_combine(a, acc_down(a, s));
    return combine_warps(values, a, (count + 31) / 32);
}

/* Computes the tree over `count` partials. Thread 0 of the group has the result. */
INLINE ACC tree_value(GLOBAL const ACC *partials, u64 count, LOCAL ACC *values) {
    const u64 warp = THREAD_ID / 32;
    if (count <= GROUP) return few_value(partials, count, values);
    u64 run = TILE;
    while (run * (GROUP / 32) < count) run *= 2;
    const ACC a = run == TILE ? tile_value(partials, warp * TILE, count, THREAD_ID % 32)
                              : run_value(partials, min(count, warp * run), min(count, (warp + 1) * run), THREAD_ID % 32);
    return combine_warps(values, a, GROUP / 32);
}
#endif
