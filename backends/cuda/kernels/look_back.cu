/* SPDX-License-Identifier: MIT */
/*
 * look_back: a scan in one launch, in scan order v1, for NVIDIA's GPUs: each group learns what is before its tile from what other groups publish.
 *
 * Computes n values. How: a group has a tile of 4,096, in registers; the items are read once. src/look_back.h has the look-back.
 * Needs: shared memory of some 35 accumulators; words that other groups see in order (feature ORDER).
 * Why: memory speed: nothing is read twice. (Launches that overlap gain nothing here, and lose at 2^22: 17.9 instead of 13.9 us, H200, November 2026.)
 */

KERNEL BOUNDS void tally_scan_items(SCAN_ARGS) {
    SHARED TILE_SHARED shared;
    SCAN_OPEN(c)
    const u64 tile = GROUP_ID, begin = tile * TILE_ITEMS;
    const SCAN carry = values[CARRY_FROM(flow)];
    const u32 has = tile > 0 || CONTINUES(flow);
    volatile GLOBAL u32 *calls = (volatile GLOBAL u32 *)words;
    SCAN_TILE
    if (item < WIDTH) {
        const STATE state = {words + 1,
                             words + 1 + capacity,
                             values + TILE_TOTAL(0),
                             values + BLOCK_TOTAL(0),
                             values + BLOCK_PREFIX(0),
                             &carry,
                             CONTINUES(flow),
                             (calls[0] + 1) & 0x3fffffffU};
        const SCAN rows_part = scan_across(shared.rows[t], t);
        shared.rows[t] = rows_part;
        look_back(&c, &state, tile, rows_part, t, &shared);
        if (t == 0 && tile == GROUP_COUNT - 1) values[CARRY_TO(flow)] = shared.end;
    }
    BARRIER
    STORE_TILE
    if (item == 0) {
        u32 before;
        asm volatile("atom.acq_rel.gpu.inc.u32 %0, [%1], %2;" : "=r"(before) : "l"((u32 *)words + 1), "r"((u32)GROUP_COUNT - 1) : "memory");
        if (before == (u32)GROUP_COUNT - 1) calls[0] = (calls[0] + 1) & 0x3fffffffU;
    }
}
