/* SPDX-License-Identifier: MIT */
/*
 * host_finish: one partial per group, finished on the host.
 *
 * How: the `sequential` step's groups leave a partial each; the core copies them to the host, combines them there in sequence, and
 * sends one accumulator back. The call blocks: a step of the ladder, not a way to work. Why: documents 001 and 002 end so.
 */
PARTIALS {
    SOURCE_OPEN(in)
    __shared__ ACC data[GROUP];
    const u32 item = threadIdx.x;
    const ACC a = tree(data, item, item_or_identity(in, (u64)blockIdx.x * GROUP + threadIdx.x, n, base));
    if (item == 0) HAND_IN(a);
}
