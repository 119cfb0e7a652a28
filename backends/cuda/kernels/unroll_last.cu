/* SPDX-License-Identifier: MIT */
/*
 * unroll_last: the last warp's steps are unrolled, and need no barrier of the whole group.
 *
 * Computes: one accumulator per group of 2 x GROUP items.
 * How: as first_add, but from 64 accumulators on the steps are written out, and __syncwarp orders
 * them.
 * Needs: local memory for GROUP accumulators.
 * Why: document 000, version 4; 003, reduction #7. The lecture's `volatile` warp tail is undefined
 * on Volta and later.
 */
PARTIALS {
    SOURCE in = SOURCE_OF_ARGS;
    __shared__ ACC data[GROUP];
    const u32 thread = threadIdx.x;
    const u64 i = (u64)blockIdx.x * 2 * GROUP + thread;
    data[thread] = op_combine(item_or_identity(in, i, n, base), item_or_identity(in, i + GROUP, n, base));
    __syncthreads();
    for (u32 s = GROUP / 2; s > 32; s /= 2) {
        if (thread < s) data[thread] = op_combine(data[thread], data[thread + s]);
        __syncthreads();
    }
    LAST_STEPS(data, thread)
    if (thread == 0) HAND_IN(data[0]);
}
