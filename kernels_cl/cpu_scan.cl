/* SPDX-License-Identifier: MIT */
/*
 * cpu_scan: a scan in one launch, in scan order v1, for CPUs.
 *
 * Computes: the scan of n items. It reads every item from memory once.
 * How: one thread per group, which looks at the items of a few tiles twice. The first look computes
 * the tiles' aggregates, publishes them, and brings the items into the core's caches. Then the
 * group waits for the aggregates of the tiles before its own within the block, and for the block's
 * exclusive prefix, which the group with the last tile of the block before publishes. The second
 * look computes the results. cpu_tiles.cl has both looks, kernels/published.h the words that groups
 * publish, kernels/look_back_tiles.h the same for GPUs.
 * Needs: cpu_tiles.cl and kernels/published.h before it; words that other groups see (feature
 * ORDER); no local memory and no barrier.
 * Why: memory speed. 2^26 f32, POCL 3.1, 2 cores, November 2026: 35 ms; in three launches, which
 * read the items twice, 68.
 *
 * Groups run in threads of the CPU, each to its end. The waits are bounded all the same: after
 * SPINS polls a group computes what is missing from the items.
 */

/* ---- exclusive prefixes ---------------------------------------------------------------------- */

#ifndef SPINS
#define SPINS 65536 /* polls, of some nanoseconds each, for all that a group waits for */
#endif
#define FENCE __atomic_thread_fence(__ATOMIC_SEQ_CST);

/*
 * Returns the aggregate of a whole tile. It polls for the published one while *patience, the number
 * of polls that are left, is not 0. Then it computes the aggregate from the items (the fallback).
 */
INLINE SCAN tile_aggregate(const CALL *c, const STATE *state, u64 tile, u32 *patience) {
    GLOBAL u64 *words = words_of_tile(state, tile);
    SCAN aggregate;
    do
        if (look(see(words), state->tag, &aggregate)) return aggregate;
    while (*patience && --*patience);
    KEPT kept;
    const SCAN folded = fold_tile(c, tile * TILE_ITEMS, &kept);
    FENCE
    if (look(see(words), state->tag, &aggregate)) return aggregate;
    publish(words, folded, state->tag, AGGREGATE);
    return folded;
}

/*
 * Computes the inclusive prefixes of a block's tiles. Up to tile q - 1 the aggregates are those of
 * other groups, from tile q on those in `own`. Part -1 becomes the block's exclusive prefix.
 * Returns 1 if anything stands before the block.
 * It polls for the inclusive prefix of the block before until its patience is at an end. Then it
 * goes on from the nearest prefix that is published (the fallback).
 */
OUT_OF_LINE u32 prefixes_in_block(const CALL *c, const STATE *state, u64 block, u32 q, const SCANS *own, SCANS *tiles) {
    u32 patience = SPINS;
    u64 b = block;
    SCAN all = *state->carry;
    while (b > 0 && !look(see(words_of_block(state, b - 1)), state->tag, &all)) {
        if (patience)
            patience--;
        else
            b--;
    }
    for (;; b++) {
        const u32 has = b > 0 || state->continues, others = b < block ? WIDTH : q;
        for (u32 l = 0; l < WIDTH; l++)
            set(tiles, l, l < others ? tile_aggregate(c, state, b * WIDTH + l, &patience) : get(own, l));
        scan_parts(tiles, 1);
        join_parts(tiles, has, all);
        if (b == block) return has;
        all = get(tiles, WIDTH - 1);
        publish(words_of_block(state, b), all, state->tag, PREFIX);
    }
}

/* ---- the kernel ------------------------------------------------------------------------------ */

/*
 * Groups are numbered in the order in which they begin. So a group that waits for a lower number
 * waits for one that runs. The last group resets the counter and raises the number of calls. By
 * then all groups have read that number and the carry: ACQ_REL orders it so.
 */
INLINE u64 number_of_group(const STATE *state) {
    GLOBAL u32 *next = (GLOBAL u32 *)(state->words + LINE);
    const u32 number = __atomic_fetch_add(next, 1U, __ATOMIC_ACQ_REL);
    if (number == get_num_groups(0) - 1) {
        __atomic_store_n(next, 0U, __ATOMIC_RELAXED);
        __atomic_store_n((GLOBAL u32 *)state->words, state->tag, __ATOMIC_RELAXED);
    }
    return number;
}

KERNEL void tally_scan_items(SCAN_ARGS) {
    const SOURCE in = SOURCE_OF_ARGS;
    const CALL c = CALL_OF(in);
    const SCAN carry = values[CARRY_FROM(flow)];
    const STATE state =
        state_of(words, capacity, &carry, CONTINUES(flow), __atomic_load_n((GLOBAL u32 *)words, __ATOMIC_RELAXED));
    const u64 first = number_of_group(&state) * TILES_EACH, block = first / WIDTH;
    const u32 q = (u32)(first % WIDTH), count = (u32)min((u64)TILES_EACH, TILES - first);
    KEPT kept[TILES_EACH];
    SCANS own, tiles;
#ifdef HOLD_BACK
    if (first / TILES_EACH % 5 == 3)
        for (volatile u32 i = 0; i < 4000000;) i++;
#endif
    for (u32 j = 0; j < count; j++) {
        const SCAN aggregate = fold_tile(&c, (first + j) * TILE_ITEMS, &kept[j]);
        publish(words_of_tile(&state, first + j), aggregate, state.tag, AGGREGATE);
        for (u32 l = j ? q + j : 0; l < WIDTH; l++) set(&own, l, aggregate);
    }
    const u32 has = prefixes_in_block(&c, &state, block, q, &own, &tiles);
    if (q + count == WIDTH) publish(words_of_block(&state, block), get(&tiles, WIDTH - 1), state.tag, PREFIX);
    /* In place the results are stored after the aggregates are published. */
    if ((GLOBAL const void *)c.in.x == (GLOBAL const void *)c.out) {
        FENCE
    }
    for (u32 j = 0; j < count; j++)
        scan_tile(&c, (first + j) * TILE_ITEMS, has || q + j, get(&tiles, (int)(q + j) - 1), get(&tiles, q + j), &kept[j]);
    if (PASSES(&c)) { /* stores past the caches keep no order with others */
        FENCE
    }
    if (first + count == TILES) values[CARRY_TO(flow)] = get(&tiles, q + count - 1);
}
