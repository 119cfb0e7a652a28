/* SPDX-License-Identifier: MIT */
/*
 * atomic_local: atomics in local memory, then one atomic per group on the result.
 *
 * Computes: the accumulator of all items, in no fixed order.
 * How: one thread per item. The threads of a group combine their items with one word of local
 * memory.
 * Needs: an atomic of the accumulator's width, in local memory too.
 * Why: document 003, reduction #2. The contention moves on chip, where it still serialises the
 * group.
 */
PARTIALS {
    SOURCE in = SOURCE_OF_ARGS;
    __local ACC sum;
    const u32 thread = get_local_id(0);
    const u64 i = get_global_id(0);
    if (thread == 0) sum = IDENTITY;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (i < n) combine_at_local(&sum, op_load(items_at(in, i), base + i, in.p));
    barrier(CLK_LOCAL_MEM_FENCE);
    if (thread == 0) HAND_IN(sum);
}
