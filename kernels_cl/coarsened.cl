/* SPDX-License-Identifier: MIT */
/*
 * coarsened: each thread combines 2 x FACTOR items in sequence before the tree.
 *
 * Computes: one accumulator per group of 2 x FACTOR x GROUP items.
 * How: a thread takes items GROUP apart. There is no barrier and no local memory until it has its
 * accumulator.
 * Needs: local memory for GROUP accumulators.
 * Why: document 004, Fig. 10.15. Fewer groups pay for the tree; too large a factor leaves the
 * device without enough groups. FACTOR is a parameter.
 */
PARTIALS {
    SOURCE in = SOURCE_OF_ARGS;
    __local ACC data[GROUP];
    const u32 thread = get_local_id(0);
    const u64 i = (u64)get_group_id(0) * 2 * FACTOR * GROUP + thread;
    ACC a = item_or_identity(in, i, n, base);
    for (u32 tile = 1; tile < 2 * FACTOR; tile++) a = op_combine(a, item_or_identity(in, i + (u64)tile * GROUP, n, base));
    a = tree(data, thread, a);
    if (thread == 0) HAND_IN(a);
}
