/* SPDX-License-Identifier: MIT */
/*
 * atomic_global: every item does one atomic on the result.
 *
 * Computes the accumulator of all items, in no fixed order. How: one item of the grid per item of the input. Needs: an atomic of the
 * accumulator's width. Why: the first step of the ladder (document 003, reduction #1): right, and as slow as the one word is.
 */
PARTIALS {
    SOURCE_OPEN(in)
    const u64 i = get_global_id(0);
    if (i < n) HAND_IN(op_load(items_at(in, i), base + i, in.p));
}
