/* SPDX-License-Identifier: MIT */
/*
 * warp_tree: the tree over partials by the warps of a group, in CUDA C and in OpenCL C for NVIDIA's
 * GPUs.
 *
 * Computes: the aligned binary tree over `count` partials (tree_value), or over one accumulator of
 * each warp (combine_warps).
 * How: a warp takes a tile of partials at a time: one partial for each thread, or READ neighbours
 * if there are more partials than threads. A thread combines its own in registers. Then threads
 * exchange by shuffles. If there are more tiles than warps, a tile's accumulator replaces its first
 * partial, and the group goes on with these. At last the warps' accumulators are combined through
 * local memory, neighbours first. Absent partials are the identity.
 * Needs: local memory for TREE_SLOTS accumulators; GROUP a power of two from 32 to 1024; an
 * accumulator of a multiple of 4 bytes.
 * Why: the last group of a launch calls it, after arrives_last has ordered the others' partials
 * before its loads; and so does a launch of its own. All other groups have ended then: its time is
 * added to that of the reduction.
 */
#if (defined(__CUDA_ARCH__) || defined(PTX)) && !defined(SHUFFLE) /* a test has its own */

/* Defines NAME(a, s), which returns the `a` of another thread of the warp: of thread t + s (down),
 * or of t ^ s (bfly). Beyond the warp it is of no use. All 32 threads take part. */
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

#define TREE_SLOTS (GROUP / 32)
/* READ is the partials that a thread has in flight, TILE those of a warp. By CUDA more wide ones
 * would take registers from the loads of items. */
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

/* Combines the accumulators of the warp's threads, neighbours first, up to thread `count`. Thread 0
 * has the result. */
INLINE ACC combine_threads(ACC a, u32 count) {
    _Pragma("unroll 1") for (u32 s = 1; s < 32 && s < count; s *= 2) a = op_combine(a, acc_down(a, s));
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
        a = combine_threads(a, warps);
    }
#endif
    return a;
}

/* Computes the tree over `count` partials, whose memory it may use. Thread 0 of the group has the
 * result. */
INLINE ACC tree_value(GLOBAL ACC *partials, u32 count, LOCAL ACC *values) {
    u32 tiles = (count + 31) / 32, step = 1; /* step: between neighbours that are left */
    ACC a = IDENTITY;
    if (count <= GROUP) {
        if (THREAD_ID < count) a = partials[THREAD_ID];
        a = combine_threads(a, count);
    }
    while (count > GROUP || step > 1) {
        tiles = (count + TILE - 1) / TILE;
        _Pragma("unroll 1") for (u32 tile = THREAD_ID / 32; tile < tiles; tile += GROUP / 32) {
            const u32 own = tile * TILE + THREAD_ID % 32 * READ;
            ACC leaf[READ];
#pragma unroll
            for (int j = 0; j < READ; j++) leaf[j] = own + j < count ? partials[(own + j) * step] : IDENTITY;
#pragma unroll
            for (int s = 1; s < READ; s *= 2)
#pragma unroll
                for (int j = 0; j < READ; j += 2 * s) leaf[j] = op_combine(leaf[j], leaf[j + s]);
            a = combine_threads(leaf[0], 32);
            if (tiles > GROUP / 32 && THREAD_ID % 32 == 0) partials[tile * TILE * step] = a;
        }
        if (tiles <= GROUP / 32) break;
        BARRIER
        count = tiles;
        step *= TILE;
    }
    return combine_warps(values, a, tiles);
}
#endif
