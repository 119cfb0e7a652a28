/* SPDX-License-Identifier: MIT */
/*
 * unroll_all: every step of the tree is unrolled for the group's size.
 *
 * Why: document 000, version 5; 003, reduction #8; 001. GROUP is a constant of the program, so the steps that it does not need are not
 * there at all.
 */
#define STEP(s)                                                                                                                \
    if (item < (s)) data[item] = op_combine(data[item], data[item + (s)]);                                                     \
    __syncthreads();

PARTIALS {
    SOURCE_OPEN(in)
    __shared__ ACC data[GROUP];
    const u32 item = threadIdx.x;
    const u64 i = (u64)blockIdx.x * 2 * GROUP + item;
    data[item] = op_combine(item_or_identity(in, i, n, base), item_or_identity(in, i + GROUP, n, base));
    __syncthreads();
#if GROUP >= 1024
    STEP(512)
#endif
#if GROUP >= 512
    STEP(256)
#endif
#if GROUP >= 256
    STEP(128)
#endif
#if GROUP >= 128
    STEP(64)
#endif
    LAST_STEPS(data, item)
    if (item == 0) HAND_IN(data[0]);
}
