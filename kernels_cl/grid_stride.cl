/* SPDX-License-Identifier: MIT */
/*
 * grid_stride: a fixed grid, whose items each loop over many items of the input.
 *
 * How: as many groups as fill the device; item k takes k, k + grid, k + 2 grid, ... Why: document 000, version 6; 003, reduction #10
 * (MultiSeq). The cost of the tree no longer grows with n.
 */
PARTIALS {
    SOURCE_OPEN(in)
    __local ACC data[GROUP];
    const u32 item = get_local_id(0);
    const u64 grid = get_global_size(0);
    ACC a = IDENTITY;
    for (u64 i = get_global_id(0); i < n; i += grid) a = op_combine(a, op_load(items_at(in, i), base + i, in.p));
    a = group_value(data, item, a);
    if (item == 0) HAND_IN(a);
}
