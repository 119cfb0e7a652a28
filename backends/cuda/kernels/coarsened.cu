/* SPDX-License-Identifier: MIT */
/*
 * coarsened: 2 x FACTOR items per item of the group are combined in sequence before the tree.
 *
 * How: a group covers a segment of 2 x FACTOR x GROUP items; no barrier and no local memory until each has its own value. Why: document
 * 004, Fig. 10.15: fewer groups pay for the tree; too large a factor leaves the device without enough groups. FACTOR is a parameter.
 */
PARTIALS {
    SOURCE_OPEN(in)
    __shared__ ACC data[GROUP];
    const u32 item = threadIdx.x;
    const u64 i = (u64)blockIdx.x * 2 * FACTOR * GROUP + item;
    ACC a = item_or_identity(in, i, n, base);
    for (u32 tile = 1; tile < 2 * FACTOR; tile++) a = op_combine(a, item_or_identity(in, i + (u64)tile * GROUP, n, base));
    a = tree(data, item, a);
    if (item == 0) HAND_IN(a);
}
