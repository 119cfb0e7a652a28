/* SPDX-License-Identifier: MIT */
/*
 * tree_global: a halving tree in global memory, on a scratch copy of the input.
 *
 * Computes: one accumulator per group of GROUP items.
 * How: a group copies its items, as accumulators, behind the partials and halves them there.
 * Needs: workspace for n accumulators.
 * Why: document 002, globalReduceBlockSum, which overwrites its input; this one does not. It shows
 * what local memory saves.
 */
PARTIALS {
    SOURCE in = SOURCE_OF_ARGS;
    const u32 thread = threadIdx.x;
    const u64 group = blockIdx.x;
    ACC *data = partials + first + gridDim.x + group * GROUP;
    data[thread] = item_or_identity(in, group * GROUP + thread, n, base);
    __syncthreads();
    for (u32 s = GROUP / 2; s > 0; s /= 2) {
        if (thread < s) data[thread] = op_combine(data[thread], data[thread + s]);
        __syncthreads();
    }
    if (thread == 0) HAND_IN(data[0]);
}
