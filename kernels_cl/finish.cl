/* SPDX-License-Identifier: MIT */
/*
 * finish: the second stage of a reduction in the canonical order, and what all kernels of
 * reductions share.
 *
 * Computes: the aligned binary tree over `count` partials, into the result (`last`) or into one
 * more accumulator. It may use the partials' memory. The kernel is in a program of its own
 * (FINISHES).
 * How: by one group. On NVIDIA's GPUs its warps do it (kernels/warp_tree.h). Elsewhere each thread
 * owns an aligned run of partials, a power of two of them. It reads 8 at a time and combines them
 * as a binary counter. Then the threads' accumulators are combined in local memory, neighbours
 * first. Absent partials are the identity.
 * Needs: local memory for TREE_SLOTS accumulators; none when GROUP is 1.
 * Why: OpenCL 1.2 orders memory between groups at the end of a launch and not before, so a second
 * launch finishes. Where the device does more (ORDER), the last group of the first launch calls the
 * same functions. The tree's steps are written out: POCL has miscompiled barriers in loops.
 */

/* NVIDIA's compiler gives a thread as many registers as it likes. Without a bound a group of more
 * than 256 threads may not fit (CL_OUT_OF_RESOURCES: prod of c128 in groups of 1,024). Smaller
 * groups of reductions have none. */
#undef BOUNDS
#if GROUP > 256
#define BOUNDS __attribute__((reqd_work_group_size(GROUP, 1, 1)))
#else
#define BOUNDS
#endif

#ifndef TREE_SLOTS /* kernels/warp_tree.h has defined the tree where PTX is */
/* A binary counter of subtrees. level[k] holds a finished subtree of 2^k leaves, which waits for
 * its right neighbour. */
#define COUNTER_LEVELS 48 /* for 2^48 chunks of 2^12 items */

INLINE void counter_push(ACC *level, u64 leaves_before, ACC a) {
    int k = 0;
    for (; (leaves_before >> k) & 1; k++) a = op_combine(level[k], a);
    level[k] = a;
}

INLINE ACC counter_value(const ACC *level, u64 leaves) {
    ACC a = IDENTITY;
    for (int k = 0; leaves >> k; k++)
        if ((leaves >> k) & 1) a = op_combine(level[k], a);
    return a;
}

#define READ 8 /* independent loads in flight */

INLINE ACC block_value(GLOBAL const ACC *partials, u64 begin, u64 end) {
    ACC a[READ];
    for (int j = 0; j < READ; j++) {
        a[j] = IDENTITY;
        if (begin + j < end) a[j] = partials[begin + j];
    }
    for (int s = 1; s < READ; s *= 2)
        for (int j = 0; j < READ; j += 2 * s) a[j] = op_combine(a[j], a[j + s]);
    return a[0];
}

OUT_OF_LINE ACC run_value(GLOBAL const ACC *partials, u64 begin, u64 end) {
    ACC level[COUNTER_LEVELS];
    u64 blocks = 0;
    if (end - begin <= READ) return block_value(partials, begin, end);
    for (u64 i = begin; i < end; i += READ) counter_push(level, blocks++, block_value(partials, i, end));
    return counter_value(level, blocks);
}

#endif

#if defined(ORDER) && !defined(TREE_SLOTS)
/*
 * Returns true in the group that arrives last: all other groups have stored their partials, and
 * this one sees them. The calling thread has stored its own group's before. Slot 0 counts the
 * groups, and is 0 between launches.
 */
INLINE bool arrives_last(GLOBAL ACC *partials) {
    GLOBAL u32 *arrived = (GLOBAL u32 *)partials;
    const u32 last = (u32)get_num_groups(0) - 1U, before = __atomic_fetch_add(arrived, 1U, __ATOMIC_ACQ_REL);
    if (before == last) *arrived = 0;
    return before == last;
}
#endif

#if GROUP > 1 && !defined(TREE_SLOTS)
#define TREE_SLOTS GROUP
#define TREE_STEP(s)                                                                                                           \
    if (2 * (s) * thread < GROUP) tree[2 * (s) * thread] = op_combine(tree[2 * (s) * thread], tree[2 * (s) * thread + (s)]);   \
    barrier(CLK_LOCAL_MEM_FENCE);

/* Computes the tree over `count` partials. All threads have the result. */
INLINE ACC tree_value(GLOBAL ACC *partials, u64 count, __local ACC *tree) {
    const u64 thread = get_local_id(0);
    u64 run = 1;
    while (run * GROUP < count) run *= 2;
    tree[thread] = run_value(partials, min(count, thread * run), min(count, (thread + 1) * run));
    barrier(CLK_LOCAL_MEM_FENCE);
    TREE_STEP(1)
#if GROUP > 2
    TREE_STEP(2)
#endif
#if GROUP > 4
    TREE_STEP(4)
#endif
#if GROUP > 8
    TREE_STEP(8)
#endif
#if GROUP > 16
    TREE_STEP(16)
#endif
#if GROUP > 32
    TREE_STEP(32)
#endif
#if GROUP > 64
    TREE_STEP(64)
#endif
#if GROUP > 128
    TREE_STEP(128)
#endif
#if GROUP > 256
    TREE_STEP(256)
#endif
#if GROUP > 512
    TREE_STEP(512)
#endif
    return tree[0];
}
#endif

#ifdef FINISHES
KERNEL BOUNDS void tally_finish(GLOBAL ACC *partials, u64 count, GLOBAL ACC *combined, u64 slot, GLOBAL RESULT *out,
                         u64 out_offset, u32 last, u64 n, const PARAMS params, const OUTCOME outcome) {
#if GROUP > 1
    __local ACC tree[TREE_SLOTS];
    const ACC a = tree_value(partials, count, tree);
    if (get_local_id(0) == 0) store(a, n, params, combined + slot, out, out_offset, outcome, last);
#else
    store(run_value(partials, 0, count), n, params, combined + slot, out, out_offset, outcome, last);
#endif
}
#endif
