/* SPDX-License-Identifier: MIT */
/*
 * interleaved_modulo: a tree in local memory, neighbours first, by the items whose index divides.
 *
 * Why: document 000, reduce0, and 003, reduction #3: the first tree. Every second, then every fourth item of each warp works: the warps
 * diverge, and the remainder is slow to compute.
 */
PARTIALS {
    SOURCE_OPEN(in)
    __shared__ ACC data[GROUP];
    const u32 item = threadIdx.x;
    data[item] = item_or_identity(in, (u64)blockIdx.x * GROUP + threadIdx.x, n, base);
    __syncthreads();
    for (u32 s = 1; s < GROUP; s *= 2) {
        if (item % (2 * s) == 0) data[item] = op_combine(data[item], data[item + s]);
        __syncthreads();
    }
    if (item == 0) HAND_IN(data[0]);
}
