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
    __shared__ ACC sum;
    const u32 thread = threadIdx.x;
    const u64 i = (u64)blockIdx.x * GROUP + threadIdx.x;
    if (thread == 0) sum = IDENTITY;
    __syncthreads();
    if (i < n) combine_at(&sum, op_load(items_at(in, i), base + i, in.p));
    __syncthreads();
    if (thread == 0) HAND_IN(sum);
}
