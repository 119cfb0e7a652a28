/* SPDX-License-Identifier: MIT */
/*
 * reduce_then_scan: a scan in three launches, in scan order v1, for GPUs.
 *
 * Computes: the scan of n items.
 * How: a group of 256 threads owns a tile of 4,096 items. The first launch computes the tiles'
 * aggregates, the second their exclusive prefixes, the third the results. The items are read twice.
 * Needs: local memory for some 35 accumulators, or 291 without shuffles.
 * Why: it needs no order among groups that run, nor among their accesses to memory. It is the
 * fallback where look_back cannot run.
 */

KERNEL BOUNDS void tally_scan_totals(SCAN_ARGS) {
    SHARED TILE_SHARED shared;
    WIDE_ITEMS raw[ROWS_EACH];
    SCAN part[ROWS_EACH];
    const SOURCE in = SOURCE_OF_ARGS;
    const CALL c = CALL_OF(in);
    const u32 thread = THREAD_ID, t = thread % WIDTH;
    const u64 begin = GROUP_ID * TILE_ITEMS;
    LOAD_TILE
    SCAN_TILE
    SCAN rows = part[0];
    SCAN_ROWS(rows)
    if (thread == WIDTH - 1) values[TILE_AGGREGATE(GROUP_ID)] = rows;
}

/*
 * Runs in one group. First each warp scans the tiles of a block: values[TILE_PREFIX(tile + 1)]
 * becomes the combination of the block's tiles up to `tile`. Then thread 0 walks the blocks, 32 at
 * a time, for their inclusive prefixes. At last all threads combine the two, so that
 * values[TILE_PREFIX(tile + 1)] is the inclusive prefix of `tile`.
 */
KERNEL BOUNDS void tally_scan_tiles(SCAN_ARGS) {
    SHARED TILE_SHARED shared;
    const u32 thread = THREAD_ID, t = thread % WIDTH;
    const u64 tiles = TILES, blocks = (tiles + WIDTH - 1) / WIDTH;
    for (u64 first = 0; first < blocks; first += GROUP / WIDTH) {
        const u64 block = first + thread / WIDTH, tile = block * WIDTH + t;
        SCAN a = values[TILE_AGGREGATE(tile < tiles ? tile : 0)];
        SCAN_ACROSS(a)
        if (tile < tiles) values[TILE_PREFIX(tile + 1)] = a;
        if (t == WIDTH - 1 && block < blocks) values[BLOCK_AGGREGATE(block)] = a;
    }
    BARRIER
    /* A call that continues from none reads something that was written, and does not use it. */
    const SCAN carry = values[CONTINUES(flow) ? CARRY_FROM(flow) : TILE_AGGREGATE(0)];
    SCAN all = carry;
    u32 has = CONTINUES(flow);
    if (thread == 0 && has) values[TILE_PREFIX(0)] = all;
    for (u64 first = 0; first < blocks; first += WIDTH) {
        if (thread < WIDTH && first + thread < blocks) shared.rows[thread] = values[BLOCK_AGGREGATE(first + thread)];
        BARRIER
        for (u32 b = 0; thread == 0 && b < WIDTH && first + b < blocks; b++, has = 1) {
            all = scan_join(has, all, shared.rows[b]);
            shared.rows[b] = all;
        }
        BARRIER
        if (thread < WIDTH && first + thread < blocks) values[BLOCK_PREFIX(first + thread)] = shared.rows[thread];
        BARRIER
    }
    for (u64 tile = thread; tile < tiles; tile += GROUP) {
        const u64 block = tile / WIDTH;
        const SCAN part = values[TILE_PREFIX(tile + 1)];
        const u32 has_before = block > 0 || CONTINUES(flow);
        const SCAN before_block = block ? values[BLOCK_PREFIX(block - 1)] : carry;
        const SCAN inclusive = scan_join(has_before, before_block, part);
        values[TILE_PREFIX(tile + 1)] = inclusive;
        if (tile == tiles - 1) values[CARRY_TO(flow)] = inclusive;
    }
}

KERNEL BOUNDS void tally_scan_items(SCAN_ARGS) {
    SHARED TILE_SHARED shared;
    WIDE_ITEMS raw[ROWS_EACH];
    SCAN part[ROWS_EACH];
    const SOURCE in = SOURCE_OF_ARGS;
    const CALL c = CALL_OF(in);
    const u32 thread = THREAD_ID, t = thread % WIDTH;
    const u64 tile = GROUP_ID, begin = tile * TILE_ITEMS;
    const u32 has = tile > 0 || CONTINUES(flow);
    LOAD_TILE
    SCAN_TILE
    SCAN rows = part[0];
    SCAN_ROWS(rows)
    if (thread < WIDTH) { /* with nothing before the tile, its exclusive prefix was never written: the other is read */
        const SCAN exclusive = values[TILE_PREFIX(has ? tile : tile + 1)], inclusive = values[TILE_PREFIX(tile + 1)];
        put_row(&shared, 0, t, has, exclusive, inclusive, rows);
    }
    BARRIER
    STORE_TILE
}
