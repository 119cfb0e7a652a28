/* SPDX-License-Identifier: MIT */
/*
 * tree_global: a halving tree in global memory, in place on a scratch copy of the input.
 *
 * How: a group copies its GROUP items, as accumulators, behind the partials and halves them there. Needs: workspace of n accumulators.
 * Why: document 002, globalReduceBlockSum, which overwrites its input; ours never changes the caller's. The step that local memory removes.
 */
PARTIALS {
    SOURCE_OPEN(in)
    const u32 item = threadIdx.x;
    const u64 group = blockIdx.x;
    ACC *data = partials + first + gridDim.x + group * GROUP;
    data[item] = item_or_identity(in, group * GROUP + item, n, base);
    __syncthreads();
    for (u32 s = GROUP / 2; s > 0; s /= 2) {
        if (item < s) data[item] = op_combine(data[item], data[item + s]);
        __syncthreads();
    }
    if (item == 0) HAND_IN(data[0]);
}
