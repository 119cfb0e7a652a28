/* SPDX-License-Identifier: MIT */
/*
 * grid_stride: a fixed grid, whose items each loop over many items of the input.
 *
 * How: as many groups as fill the device; item k takes k, k + grid, k + 2 grid, ... Why: document 000, version 6; 003, reduction #10
 * (MultiSeq). The cost of the tree no longer grows with n.
 */
PARTIALS {
    SOURCE_OPEN(in)
    __shared__ ACC data[GROUP];
    const u32 item = threadIdx.x;
    const u64 grid = (u64)gridDim.x * GROUP;
    ACC a = IDENTITY;
    for (u64 i = (u64)blockIdx.x * GROUP + threadIdx.x; i < n; i += grid) a = op_combine(a, op_load(items_at(in, i), base + i, in.p));
    a = group_value(data, item, a);
    if (item == 0) HAND_IN(a);
}
