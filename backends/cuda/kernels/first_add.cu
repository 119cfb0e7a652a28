/* SPDX-License-Identifier: MIT */
/*
 * first_add: two items are combined as they are loaded.
 *
 * Computes: one accumulator per group of 2 x GROUP items.
 * How: two items per thread, then the tree of `sequential`.
 * Needs: local memory for GROUP accumulators.
 * Why: document 000, version 3; 003, reduction #6 (DualLoad); 004, the segmented multiblock kernel
 * (Fig. 10.13). Half as many groups do the same work.
 */
PARTIALS {
    SOURCE in = SOURCE_OF_ARGS;
    __shared__ ACC data[GROUP];
    const u32 thread = threadIdx.x;
    const u64 i = (u64)blockIdx.x * 2 * GROUP + thread;
    const ACC own = op_combine(item_or_identity(in, i, n, base), item_or_identity(in, i + GROUP, n, base));
    const ACC a = tree(data, thread, own);
    if (thread == 0) HAND_IN(a);
}
