/* SPDX-License-Identifier: MIT */
/*
 * tree_global: a halving tree in global memory, in place on a scratch copy of the input.
 *
 * How: a group copies its GROUP items, as accumulators, behind the partials and halves them there. Needs: workspace of n accumulators.
 * Why: document 002, globalReduceBlockSum, which overwrites its input; ours never changes the caller's. The step that local memory removes.
 */
PARTIALS {
    SOURCE_OPEN(in)
    const u32 item = get_local_id(0);
    const u64 group = get_group_id(0);
    GLOBAL ACC *data = partials + first + get_num_groups(0) + group * GROUP;
    data[item] = item_or_identity(in, group * GROUP + item, n, base);
    barrier(CLK_GLOBAL_MEM_FENCE);
    for (u32 s = GROUP / 2; s > 0; s /= 2) {
        if (item < s) data[item] = op_combine(data[item], data[item + s]);
        barrier(CLK_GLOBAL_MEM_FENCE);
    }
    if (item == 0) HAND_IN(data[0]);
}
