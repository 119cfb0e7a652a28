/* SPDX-License-Identifier: MIT */
/*
 * interleaved_strided: the same tree by the first threads of the group.
 *
 * Computes: one accumulator per group of GROUP items.
 * How: as interleaved_modulo, but the threads that work are neighbours, so the warps do not
 * diverge.
 * Needs: local memory for GROUP accumulators.
 * Why: document 000, version 1, and 003, reduction #4. The words that neighbours touch are 2s
 * apart, which makes bank conflicts: at s = 16 all words of a warp are in one bank.
 */
PARTIALS {
    SOURCE in = SOURCE_OF_ARGS;
    __shared__ ACC data[GROUP];
    const u32 thread = threadIdx.x;
    data[thread] = item_or_identity(in, (u64)blockIdx.x * GROUP + threadIdx.x, n, base);
    __syncthreads();
    for (u32 s = 1; s < GROUP; s *= 2) {
        const u32 at = 2 * s * thread;
        if (at < GROUP) data[at] = op_combine(data[at], data[at + s]);
        __syncthreads();
    }
    if (thread == 0) HAND_IN(data[0]);
}
