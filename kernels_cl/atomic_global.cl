/* SPDX-License-Identifier: MIT */
/*
 * atomic_global: every thread combines an item with the result by an atomic.
 *
 * Computes: the accumulator of all items, in no fixed order.
 * How: one thread per item.
 * Needs: an atomic of the accumulator's width.
 * Why: the first step of the ladder (document 003, reduction #1). It is right, and as slow as the
 * one word that all threads wait for.
 */
PARTIALS {
    SOURCE in = SOURCE_OF_ARGS;
    const u64 i = get_global_id(0);
    if (i < n) HAND_IN(op_load(items_at(in, i), base + i, in.p));
}
