/* SPDX-License-Identifier: MIT */
/*
 * interleaved_modulo: a tree in local memory by the threads whose index divides.
 *
 * Computes: one accumulator per group of GROUP items.
 * How: one thread per item. Neighbours are combined first, then accumulators 2, 4, 8, ... apart.
 * Needs: local memory for GROUP accumulators.
 * Why: document 000, reduce0, and 003, reduction #3: the first tree. Every second, then every
 * fourth thread of a warp works, so the warps diverge, and the remainder is slow to compute.
 */
PARTIALS {
    SOURCE in = SOURCE_OF_ARGS;
    __shared__ ACC data[GROUP];
    const u32 thread = threadIdx.x;
    data[thread] = item_or_identity(in, (u64)blockIdx.x * GROUP + threadIdx.x, n, base);
    __syncthreads();
    for (u32 s = 1; s < GROUP; s *= 2) {
        if (thread % (2 * s) == 0) data[thread] = op_combine(data[thread], data[thread + s]);
        __syncthreads();
    }
    if (thread == 0) HAND_IN(data[0]);
}
