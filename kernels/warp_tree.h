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
 * accumulator of a multiple of 4 bytes; where groups finish together TREE_MANY and TREE_BLOCK.
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

/* Computes the tree over `count` partials, `step` places apart, whose memory it may use. Thread 0
 * of the group has the result. */
INLINE ACC tree_of(GLOBAL ACC *partials, u32 step, u32 count, LOCAL ACC *values) {
    u32 tiles = (count + 31) / 32;
    ACC a = IDENTITY;
    if (count <= GROUP) {
        if (THREAD_ID < count) a = partials[THREAD_ID * step];
        a = combine_threads(a, count);
    } else {
        for (;;) {
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
    }
    return combine_warps(values, a, tiles);
}

INLINE ACC tree_value(GLOBAL ACC *partials, u32 count, LOCAL ACC *values) {
    return tree_of(partials, 1, count, values);
}

#ifdef ORDER
/* Counts up to `last`, then from 0 again. `before` gets the count before. */
#ifndef ARRIVE /* a test has its own */
#define ARRIVE(before, counter, last)                                                                                          \
    asm volatile("atom.acq_rel.gpu.inc.u32 %0, [%1], %2;" : "=r"(before) : "l"(counter), "r"(last) : "memory");
#endif

/* Returns true in the group that arrives last of `count`: it sees what thread 0 of the others has
 * stored. The counter is 0 before the first and after the last. */
INLINE bool arrives_last(GLOBAL u32 *counter, u32 count, LOCAL u32 *is_last) {
    if (THREAD_ID == 0) {
        u32 before;
        ARRIVE(before, counter, count - 1)
        *is_last = before == count - 1;
    }
    BARRIER
    return *is_last;
}

#ifdef TREE_BLOCK
/* Memory idles while the last group combines all partials: 8,192 of 32 bytes took 15 us of 266.
 * Share of the speed of memory so, and by blocks (H200, November 2026): var of i16 0.91, 0.96;
 * argmax of f32 0.96, 0.99. By OpenCL only variances and the widest accumulators have blocks. Of
 * others NVIDIA's compiler may make a slower loop over the items: argmax of f32 0.97, 0.90. */
#if defined(__CUDA_ARCH__) || (defined(TAKES_PIVOT) && !defined(PIVOT_MAY_MISS))
#define HAS_BLOCKS (ACC_BYTES > 8) /* the plan has counters for these (src/reduce/plan.c) */
#else
#define HAS_BLOCKS (ACC_BYTES > 24)
#endif
#if HAS_BLOCKS
#define ARE_MANY(groups) ((groups) > TREE_MANY)
#else
#define ARE_MANY(groups) false
#endif

/*
 * Computes the tree over the partials of a launch's groups, of which thread 0 of each group has
 * stored its own. Returns true in the group that arrives last: its thread 0 has the result. Of many
 * groups the last one of each block of TREE_BLOCK combines the block's partials into the first of
 * them, while other groups read items. `slots` has the counters of all groups and of each block,
 * and from slot `first` on the partials. is_last has two places.
 */
INLINE bool tree_of_groups(GLOBAL ACC *slots, u64 first, u32 group, u32 groups, LOCAL ACC *values, LOCAL u32 *is_last,
                           ACC *all) {
    const bool are_many = ARE_MANY(groups);
    GLOBAL u32 *const counters = (GLOBAL u32 *)slots;
    u32 begin = are_many ? group / TREE_BLOCK * TREE_BLOCK : 0, step = 1;
    u32 count = are_many ? min((u32)TREE_BLOCK, groups - begin) : groups;
    _Pragma("unroll 1") for (int level = are_many ? 0 : 1;; level++) {
        if (!arrives_last(counters + (level ? 0 : 1 + begin / TREE_BLOCK), count, is_last + level)) return false;
        *all = tree_of(slots + first + begin, step, count, values);
        if (level) return true;
        if (THREAD_ID == 0) slots[first + begin] = *all;
        begin = 0;
        step = TREE_BLOCK;
        count = (groups + TREE_BLOCK - 1) / TREE_BLOCK;
    }
}
#endif
#endif
#endif
