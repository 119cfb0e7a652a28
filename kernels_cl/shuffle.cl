/* SPDX-License-Identifier: MIT */
/*
 * shuffle: registers are exchanged within a warp; local memory only carries one value of each.
 *
 * How: group_value of ladder.cl: PTX shuffles where a trial build took them, else the same exchange through local memory.
 * Why: document 003, reduction #9.
 */
PARTIALS {
    __local ACC data[GROUP];
    const u32 item = get_local_id(0);
    const u64 i = (u64)get_group_id(0) * 2 * GROUP + item;
    GLOBAL const ITEM *x = in + in_offset;
    const ACC a = group_value(data, item, op_combine(item_or_identity(x, i, n), item_or_identity(x, i + GROUP, n)));
    if (item == 0) HAND_IN(a);
}
