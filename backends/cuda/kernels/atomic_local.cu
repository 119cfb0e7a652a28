/* SPDX-License-Identifier: MIT */
/*
 * atomic_local: atomics on one word of local memory per group, then one atomic per group on the result.
 *
 * Needs: an atomic of the accumulator's width, in local memory too. Why: document 003, reduction #2: the contention moves on chip, where it
 * still serialises the group.
 */
PARTIALS {
    SOURCE_OPEN(in)
    __shared__ ACC sum;
    const u32 item = threadIdx.x;
    const u64 i = (u64)blockIdx.x * GROUP + threadIdx.x;
    if (item == 0) sum = IDENTITY;
    __syncthreads();
    if (i < n) combine_at(&sum, op_load(items_at(in, i), base + i, in.p));
    __syncthreads();
    if (item == 0) HAND_IN(sum);
}
