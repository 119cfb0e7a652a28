/* SPDX-License-Identifier: MIT */
/*
 * sequential: the tree with halving strides: neither divergence nor bank conflicts.
 *
 * Why: document 000, version 2; 002, sharedReduceBlockSum; 003, reduction #5; 001. Half the items are idle from the first step on.
 */
PARTIALS {
    SOURCE_OPEN(in)
    __local ACC data[GROUP];
    const u32 item = get_local_id(0);
    const ACC a = tree(data, item, item_or_identity(in, get_global_id(0), n, base));
    if (item == 0) HAND_IN(a);
}
