/* SPDX-License-Identifier: MIT */
/*
 * shuffle: registers are exchanged within a warp; local memory only carries one value of each.
 *
 * How: group_value of ladder.cu: __shfl_down_sync over the whole warp. Why: document 003, reduction #9.
 */
PARTIALS {
    SOURCE_OPEN(in)
    __shared__ ACC data[GROUP];
    const u32 item = threadIdx.x;
    const u64 i = (u64)blockIdx.x * 2 * GROUP + item;
    const ACC a = group_value(data, item, op_combine(item_or_identity(in, i, n, base), item_or_identity(in, i + GROUP, n, base)));
    if (item == 0) HAND_IN(a);
}
