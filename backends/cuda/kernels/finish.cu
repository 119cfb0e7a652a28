/* SPDX-License-Identifier: MIT */
/*
 * finish: the second stage of a reduction in the canonical order, and what all kernels of
 * reductions share.
 *
 * Computes: the aligned binary tree over `count` partials, into the result (`last`) or into one
 * more accumulator. It may use the partials' memory.
 * How: by one group (kernels/warp_tree.h). The kernel is in a program of its own (FINISHES), since
 * a launch whose last group finishes does not need it.
 * Why: a binary counter in each thread, as OpenCL's finish has for other devices, would be an array
 * indexed at run time, which spills.
 */
#ifdef FINISHES
KERNEL BOUNDS void tally_finish(GLOBAL ACC *partials, u64 count, GLOBAL ACC *combined, u64 slot, GLOBAL RESULT *out,
                                u64 out_offset, u32 last, u64 n, const PARAMS params, const OUTCOME outcome) {
    AWAIT_PREVIOUS
    ADMIT_NEXT
    SHARED ACC tree[TREE_SLOTS];
    const ACC a = tree_value(partials, count, tree);
    if (threadIdx.x == 0) store(a, n, params, combined + slot, out, out_offset, outcome, last);
}
#endif
