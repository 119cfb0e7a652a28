/* SPDX-License-Identifier: MIT */
/*
 * first_add: two items are combined on load, so that a group covers a segment of 2 x GROUP.
 *
 * Why: document 000, version 3; 003, reduction #6 (DualLoad); 004, the segmented multiblock kernel (Fig. 10.13). Half as many groups.
 */
PARTIALS {
    SOURCE_OPEN(in)
    __shared__ ACC data[GROUP];
    const u32 item = threadIdx.x;
    const u64 i = (u64)blockIdx.x * 2 * GROUP + item;
    const ACC a = tree(data, item, op_combine(item_or_identity(in, i, n, base), item_or_identity(in, i + GROUP, n, base)));
    if (item == 0) HAND_IN(a);
}
