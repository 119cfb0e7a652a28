/* SPDX-License-Identifier: MIT */
/*
 * pivots: the number that a chunk's items are taken relative to.
 *
 * Computes: the pivot of a chunk, from its first row.
 * How: items of the row are halved as the lanes of a chunk are. There are 128 of them, or, where
 * there are not so many, 128 halved until there are: a mean of them needs no division. Here one
 * thread does it; kernels whose threads share a chunk have a way of their own.
 * Needs: PIVOT and its functions (src/program/source.c).
 * Why: only some ops have a pivot, and the text is the same for CPUs and the tests' devices.
 */

/* How often 128 is halved for a chunk of `count` items. Of no items one would be left. A loop would
 * do, but POCL 3.1 then gives all threads the value of one. */
INLINE u32 pivot_halvings(u32 count) {
    return (count < 128) + (count < 64) + (count < 32) + (count < 16) + (count < 8) + (count < 4) + (count < 2);
}

/* Each loop has a constant length, so that no branch is mispredicted. */
#define HALVE_ROW(s)                                                                                                           \
    for (int l = 0; l < (s); l++) row[l] = pivot_combine(row[l], row[l + (s)]);
INLINE PIVOT row_pivot(SOURCE in, u32 count) {
    const u32 halvings = pivot_halvings(count), items = LANES >> halvings;
    PIVOT row[LANES];
    if (items == LANES) {
        for (int l = 0; l < LANES; l++) row[l] = pivot_load(items_at(in, l));
    } else {
        for (u32 l = 0; l < LANES; l++) row[l] = l < items ? pivot_load(items_at(in, l)) : pivot_identity();
    }
    HALVE_ROW(64)
    HALVE_ROW(32)
    HALVE_ROW(16)
    HALVE_ROW(8)
    HALVE_ROW(4)
    HALVE_ROW(2)
    HALVE_ROW(1)
    return pivot_value(row[0], halvings);
}
#undef HALVE_ROW
