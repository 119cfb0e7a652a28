/* SPDX-License-Identifier: MIT */
/*
 * unroll_all: every step of the tree is unrolled for the group's size.
 *
 * Computes: one accumulator per group of 2 x GROUP items.
 * How: as unroll_last. GROUP is a constant of the program, so the preprocessor leaves out the steps
 * that it does not need.
 * Needs: local memory for GROUP accumulators.
 * Why: document 000, version 5; 003, reduction #8; 001. No loop is left.
 */
#define STEP(s)                                                                                                                \
    if (thread < (s)) data[thread] = op_combine(data[thread], data[thread + (s)]);                                             \
    __syncthreads();

PARTIALS {
    SOURCE in = SOURCE_OF_ARGS;
    __shared__ ACC data[GROUP];
    const u32 thread = threadIdx.x;
    const u64 i = (u64)blockIdx.x * 2 * GROUP + thread;
    data[thread] = op_combine(item_or_identity(in, i, n, base), item_or_identity(in, i + GROUP, n, base));
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
    LAST_STEPS(data, thread)
    if (thread == 0) HAND_IN(data[0]);
}
