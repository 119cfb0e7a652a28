/* SPDX-License-Identifier: MIT */
/*
 * unroll_last: the last warp's steps are unrolled and need no barrier of the whole group.
 *
 * How: below 64 values, the steps are written out; WARP_BARRIER orders a warp alone (inline PTX where a trial build took it), or else the
 * group. The lecture's `volatile` warp tail is undefined on Volta and later. Why: document 000, version 4; 003, reduction #7.
 */
PARTIALS {
    SOURCE_OPEN(in)
    __local ACC data[GROUP];
    const u32 item = get_local_id(0);
    const u64 i = (u64)get_group_id(0) * 2 * GROUP + item;
    data[item] = op_combine(item_or_identity(in, i, n, base), item_or_identity(in, i + GROUP, n, base));
    barrier(CLK_LOCAL_MEM_FENCE);
    for (u32 s = GROUP / 2; s > 32; s /= 2) {
        if (item < s) data[item] = op_combine(data[item], data[item + s]);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    LAST_STEPS(data, item)
    if (item == 0) HAND_IN(data[0]);
}
