/* SPDX-License-Identifier: MIT */
/*
 * sequential: the tree with halving strides: neither divergence nor bank conflicts.
 *
 * Why: document 000, version 2; 002, sharedReduceBlockSum; 003, reduction #5; 001. Half the items are idle from the first step on.
 */
PARTIALS {
    SOURCE_OPEN(in)
    __shared__ ACC data[GROUP];
    const u32 item = threadIdx.x;
    const ACC a = tree(data, item, item_or_identity(in, (u64)blockIdx.x * GROUP + threadIdx.x, n, base));
    if (item == 0) HAND_IN(a);
}
