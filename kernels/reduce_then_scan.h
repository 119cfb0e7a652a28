/* SPDX-License-Identifier: MIT */
/*
 * reduce_then_scan: a scan in three launches, in scan order v1, for GPUs: the tiles' totals, what is before each tile, the values.
 *
 * Computes n values. How: a group of 256 items has a tile of 4,096; the items are read twice.
 * Needs: local memory of some 35 accumulators, without shuffles 291.
 * Why: it needs nothing of the order in which groups run, nor of memory between them: the fallback where the look-back cannot be had.
 */

KERNEL BOUNDS void tally_scan_totals(SCAN_ARGS) {
    SHARED TILE_SHARED shared;
    SCAN_OPEN(c)
    const u64 begin = GROUP_ID * TILE_ITEMS;
    SCAN_TILE()
    SCAN_ROWS
    if (item == WIDTH - 1) values[TILE_TOTAL(GROUP_ID)] = rows_part;
}

/* By one group: each warp scans a block's tiles, item 0 goes along the blocks, 32 at a time, then all put together what is before each tile. */
KERNEL BOUNDS void tally_scan_tiles(SCAN_ARGS) {
    SHARED TILE_SHARED shared;
    const u32 item = THREAD_ID, t = item % WIDTH;
    const u64 tiles = TILES, blocks = (tiles + WIDTH - 1) / WIDTH;
    for (u64 first = 0; first < blocks; first += GROUP / WIDTH) {
        const u64 block = first + item / WIDTH, tile = block * WIDTH + t;
        SCAN a = values[TILE_TOTAL(tile < tiles ? tile : 0)];
        SCAN_ACROSS(a)
        if (tile < tiles) values[TILE_PREFIX(tile + 1)] = a;
        if (t == WIDTH - 1 && block < blocks) values[BLOCK_TOTAL(block)] = a;
    }
    BARRIER
    const SCAN carry = values[CONTINUES(flow) ? CARRY_FROM(flow) : TILE_TOTAL(0)]; /* what was written, though it be of no use */
    SCAN all = carry;
    u32 has = CONTINUES(flow);
    if (item == 0 && has) values[TILE_PREFIX(0)] = all;
    for (u64 first = 0; first < blocks; first += WIDTH) {
        if (item < WIDTH && first + item < blocks) shared.rows[item] = values[BLOCK_TOTAL(first + item)];
        BARRIER
        for (u32 b = 0; item == 0 && b < WIDTH && first + b < blocks; b++, has = 1) {
            all = scan_join(has, all, shared.rows[b]);
            shared.rows[b] = all;
        }
        BARRIER
        if (item < WIDTH && first + item < blocks) values[BLOCK_PREFIX(first + item)] = shared.rows[item];
        BARRIER
    }
    for (u64 tile = item; tile < tiles; tile += GROUP) {
        const u64 block = tile / WIDTH;
        const SCAN part = values[TILE_PREFIX(tile + 1)];
        const u32 has_before = block > 0 || CONTINUES(flow);
        const SCAN before = block ? values[BLOCK_PREFIX(block - 1)] : carry, end = scan_join(has_before, before, part);
        values[TILE_PREFIX(tile + 1)] = end;
        if (tile == tiles - 1) values[CARRY_TO(flow)] = end;
    }
}

KERNEL BOUNDS void tally_scan_items(SCAN_ARGS) {
    SHARED TILE_SHARED shared;
    SCAN_OPEN(c)
    const u64 tile = GROUP_ID, begin = tile * TILE_ITEMS;
    const u32 has = tile > 0 || CONTINUES(flow);
    SCAN_TILE()
    SCAN_ROWS
    if (item < WIDTH) { /* where nothing is before, what was written at least */
        const SCAN before = values[TILE_PREFIX(has ? tile : tile + 1)], end = values[TILE_PREFIX(tile + 1)];
        put_row(&shared, 0, t, has, before, end, rows_part);
    }
    BARRIER
    STORE_TILE
}
