/* SPDX-License-Identifier: MIT */
/*
 * shuffle: the threads of a warp exchange registers.
 *
 * Computes: one accumulator per group of 2 x GROUP items.
 * How: two items per thread, then group_value of the stem "ladder", by __shfl_down_sync over the
 * whole warp. Local memory carries one accumulator of each warp.
 * Needs: local memory for GROUP accumulators.
 * Why: document 003, reduction #9.
 */
PARTIALS {
    SOURCE in = SOURCE_OF_ARGS;
    __shared__ ACC data[GROUP];
    const u32 thread = threadIdx.x;
    const u64 i = (u64)blockIdx.x * 2 * GROUP + thread;
    const ACC own = op_combine(item_or_identity(in, i, n, base), item_or_identity(in, i + GROUP, n, base));
    const ACC a = group_value(data, thread, own);
    if (thread == 0) HAND_IN(a);
}
