/* SPDX-License-Identifier: MIT */
/*
 * unroll_last: the last warp's steps are unrolled and need no barrier of the whole group.
 *
 * How: below 64 values the steps are written out, and __syncwarp orders them: the lecture's `volatile` warp tail is undefined since Volta.
 * Why: document 000, version 4; 003, reduction #7.
 */
PARTIALS {
    SOURCE_OPEN(in)
    __shared__ ACC data[GROUP];
    const u32 item = threadIdx.x;
    const u64 i = (u64)blockIdx.x * 2 * GROUP + item;
    data[item] = op_combine(item_or_identity(in, i, n, base), item_or_identity(in, i + GROUP, n, base));
    __syncthreads();
    for (u32 s = GROUP / 2; s > 32; s /= 2) {
        if (item < s) data[item] = op_combine(data[item], data[item + s]);
        __syncthreads();
    }
    LAST_STEPS(data, item)
    if (item == 0) HAND_IN(data[0]);
}
