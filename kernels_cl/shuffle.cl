/* SPDX-License-Identifier: MIT */
/*
 * shuffle: registers are exchanged within a warp (a sub-group); local memory only carries one value of each.
 *
 * How: group_value of ladder.cl: PTX shuffles, or those of sub-groups, where a trial found them right; else the same exchange through
 * local memory.
 * Why: document 003, reduction #9.
 */
PARTIALS {
    SOURCE_OPEN(in)
    __local ACC data[GROUP];
    const u32 item = get_local_id(0);
    const u64 i = (u64)get_group_id(0) * 2 * GROUP + item;
    const ACC a = group_value(data, item, op_combine(item_or_identity(in, i, n, base), item_or_identity(in, i + GROUP, n, base)));
    if (item == 0) HAND_IN(a);
}
