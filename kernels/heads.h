/* SPDX-License-Identifier: MIT */
/*
 * heads: flags at the items where segments begin, made of the segments' offsets.
 *
 * Computes: heads[i] is 1 if a segment begins with item i, else 0, for n items. Offsets from n on
 * are ignored.
 * How: tally_heads_clear sets all flags to 0, `run` neighbours per thread. tally_heads_set then
 * sets one to 1 for each offset.
 * Needs: nothing.
 * Why: scans take flags. If each tile searched the offsets, it would run a loop whose length
 * depends on the data.
 */
KERNEL BOUNDS void tally_heads_clear(GLOBAL u8 *heads, u64 n, u64 run) {
    const u64 begin = (GROUP_ID * GROUP + THREAD_ID) * run, end = begin + run < n ? begin + run : n;
    for (u64 i = begin; i < end; i++) heads[i] = 0;
}

KERNEL BOUNDS void tally_heads_set(GLOBAL u8 *heads, u64 n, GLOBAL const u64 *offsets, u64 first, u64 count) {
    const u64 i = GROUP_ID * GROUP + THREAD_ID;
    if (i < count && offsets[first + i] < n) heads[offsets[first + i]] = 1;
}
