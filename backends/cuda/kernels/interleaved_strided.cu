/* SPDX-License-Identifier: MIT */
/*
 * interleaved_strided: the same tree by the first items of the group: no divergence, but bank conflicts.
 *
 * Why: document 000, version 1, and 003, reduction #4. The items that work are neighbours, the words they touch are 2s apart: at s = 16 all
 * of a warp's are in one bank.
 */
PARTIALS {
    SOURCE_OPEN(in)
    __shared__ ACC data[GROUP];
    const u32 item = threadIdx.x;
    data[item] = item_or_identity(in, (u64)blockIdx.x * GROUP + threadIdx.x, n, base);
    __syncthreads();
    for (u32 s = 1; s < GROUP; s *= 2) {
        const u32 at = 2 * s * item;
        if (at < GROUP) data[at] = op_combine(data[at], data[at + s]);
        __syncthreads();
    }
    if (item == 0) HAND_IN(data[0]);
}
