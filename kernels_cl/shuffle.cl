/* SPDX-License-Identifier: MIT */
/*
 * shuffle: the threads of a warp (a sub-group) exchange registers.
 *
 * Computes: one accumulator per group of 2 x GROUP items.
 * How: two items per thread, then group_value of the stem "ladder": shuffles by PTX, or those of
 * sub-groups where a trial found them right. Local memory carries one accumulator of each warp.
 * Without shuffles the same exchange goes through local memory.
 * Needs: local memory for GROUP accumulators.
 * Why: document 003, reduction #9.
 */
PARTIALS {
    SOURCE in = SOURCE_OF_ARGS;
    __local ACC data[GROUP];
    const u32 thread = get_local_id(0);
    const u64 i = (u64)get_group_id(0) * 2 * GROUP + thread;
    const ACC own = op_combine(item_or_identity(in, i, n, base), item_or_identity(in, i + GROUP, n, base));
    const ACC a = group_value(data, thread, own);
    if (thread == 0) HAND_IN(a);
}
