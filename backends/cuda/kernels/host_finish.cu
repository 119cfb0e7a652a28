/* SPDX-License-Identifier: MIT */
/*
 * host_finish: one partial per group, finished on the host.
 *
 * Computes: one partial per group of GROUP items.
 * How: as `sequential`. The core copies the partials to the host, combines them there in sequence,
 * and sends one accumulator back.
 * Needs: local memory for GROUP accumulators.
 * Why: documents 001 and 002 end so. The call blocks, so it is a step of the ladder and not a way
 * to work.
 */
PARTIALS {
    SOURCE in = SOURCE_OF_ARGS;
    __shared__ ACC data[GROUP];
    const u32 thread = threadIdx.x;
    const ACC a = tree(data, thread, item_or_identity(in, (u64)blockIdx.x * GROUP + threadIdx.x, n, base));
    if (thread == 0) HAND_IN(a);
}
