/* SPDX-License-Identifier: MIT */
/*
 * heads: a flag for each item, 1 where a segment begins, from the segments' offsets: for scans, which take flags.
 *
 * Computes n bytes: tally_heads_clear makes them 0, `run` neighbours by an item, tally_heads_set the wanted ones 1. Offsets from n on are ignored.
 * Needs: nothing. Why: a search of the offsets by every tile would be a loop that depends on the data.
 */
KERNEL BOUNDS void tally_heads_clear(GLOBAL u8 *heads, u64 n, u64 run) {
    const u64 begin = (GROUP_ID * GROUP + THREAD_ID) * run, end = begin + run < n ? begin + run : n;
    for (u64 i = begin; i < end; i++) heads[i] = 0;
}

KERNEL BOUNDS void tally_heads_set(GLOBAL u8 *heads, u64 n, GLOBAL const u64 *offsets, u64 first, u64 count) {
    const u64 i = GROUP_ID * GROUP + THREAD_ID;
    if (i < count && offsets[first + i] < n) heads[offsets[first + i]] = 1;
}
