/* SPDX-License-Identifier: MIT */
/*
 * pivots: the number that a chunk's items are taken relative to.
 *
 * Computes: the pivot of a chunk, from its first row.
 * How: the row's items are halved as the lanes of a chunk are. They are a power of two, so that a
 * mean of them needs no division: as many as there are, at most 128. Here one thread does it;
 * kernels whose threads share a chunk have a way of their own.
 * Needs: PIVOT and its functions (src/program/source.c).
 * Why: only some ops have a pivot, and the text is the same for CPUs and the tests' devices.
 */

/* The items that the pivot of a chunk of `count` items is made of, from its first on. Of no items it
 * would be one, which is not there. */
INLINE u32 pivot_items(u32 count) {
    u32 items = LANES;
    while (items > count && items > 1) items /= 2;
    return items;
}

/* Each loop has a constant length, so that no branch is mispredicted. */
#define HALVE_ROW(s)                                                                                                           \
    for (int l = 0; l < (s); l++) row[l] = pivot_combine(row[l], row[l + (s)]);
INLINE PIVOT row_pivot(SOURCE in, u32 count) {
    const u32 items = pivot_items(count);
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
    return pivot_value(row[0], items);
}
#undef HALVE_ROW
