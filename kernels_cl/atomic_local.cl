/* SPDX-License-Identifier: MIT */
/*
 * atomic_local: atomics on one word of local memory per group, then one atomic per group on the result.
 *
 * Needs: an atomic of the accumulator's width, in local memory too. Why: document 003, reduction #2: the contention moves on chip, where it
 * still serialises the group.
 */
PARTIALS {
    SOURCE_OPEN(in)
    __local ACC sum;
    const u32 item = get_local_id(0);
    const u64 i = get_global_id(0);
    if (item == 0) sum = IDENTITY;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (i < n) combine_at_local(&sum, op_load(items_at(in, i), base + i, in.p));
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item == 0) HAND_IN(sum);
}
