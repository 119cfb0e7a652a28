/* SPDX-License-Identifier: MIT */
/*
 * sequential: the tree with strides that halve.
 *
 * Computes: one accumulator per group of GROUP items.
 * How: one thread per item. Accumulators GROUP / 2 apart are combined first (`tree` of the stem
 * "ladder").
 * Needs: local memory for GROUP accumulators.
 * Why: document 000, version 2; 002, sharedReduceBlockSum; 003, reduction #5; 001. There are
 * neither divergence nor bank conflicts, but half of the threads are idle from the first step on.
 */
PARTIALS {
    SOURCE in = SOURCE_OF_ARGS;
    __shared__ ACC data[GROUP];
    const u32 thread = threadIdx.x;
    const ACC a = tree(data, thread, item_or_identity(in, (u64)blockIdx.x * GROUP + threadIdx.x, n, base));
    if (thread == 0) HAND_IN(a);
}
