/* SPDX-License-Identifier: MIT */
/*
 * grid_stride: a fixed grid, whose threads each loop over many items.
 *
 * Computes: one accumulator per group.
 * How: there are as many groups as fill the device. Thread k of the grid takes the items k, k +
 * grid, k + 2 grid, ...
 * Needs: local memory for GROUP accumulators.
 * Why: document 000, version 6; 003, reduction #10 (MultiSeq). The cost of the trees no longer
 * grows with n.
 */
PARTIALS {
    SOURCE in = SOURCE_OF_ARGS;
    __shared__ ACC data[GROUP];
    const u32 thread = threadIdx.x;
    const u64 grid = (u64)gridDim.x * GROUP;
    ACC a = IDENTITY;
    for (u64 i = (u64)blockIdx.x * GROUP + threadIdx.x; i < n; i += grid)
        a = op_combine(a, op_load(items_at(in, i), base + i, in.p));
    a = group_value(data, thread, a);
    if (thread == 0) HAND_IN(a);
}
