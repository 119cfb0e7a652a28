/* SPDX-License-Identifier: MIT */
/*
 * warp_carry: a scan in three launches, as the first lecture document has it.
 *
 * Computes: the scan of n items. In place is allowed. The order of combination depends on the
 * number of warps.
 * How: each warp owns an interval of `run` items, a multiple of 32. It scans 32 of them at a time
 * and carries the combination of those so far. The first launch computes the intervals' aggregates,
 * the second scans these in the same way, the third scans the intervals again, each with its
 * exclusive prefix.
 * Needs: local memory for 291 accumulators, where there are no shuffles.
 * Why: it is the step between a scan in sequence and one at memory speed. No group waits for
 * another.
 */

/* Item k of the sequence, as a SCAN. */
INLINE SCAN item_value(const CALL *c, u64 k) {
    ITEM_CELL cell;
    cell.item[0] = load_item(c, k);
#ifdef SEGMENTED
    cell.begins = begins_at(c, k);
#endif
    return cell_item(c, &cell, k, 0);
}

/*
 * Scans 32 neighbours, one per thread: a becomes the combination of the interval's items up to the
 * thread's own. `carry` is the combination of the earlier 32s if `has` is 1; then of these 32 too.
 */
#define STEP(a)                                                                                                                \
    SCAN_ACROSS(a)                                                                                                             \
    a = scan_join(has, carry, a);                                                                                              \
    FROM_LAST(carry, a)                                                                                                        \
    has = 1;

/* Computes the intervals' aggregates. Threads beyond the last item take item `other`. So the
 * aggregate of the last interval may be wrong, but no exclusive prefix is made of that one. */
KERNEL BOUNDS void tally_scan_totals(SCAN_ARGS) {
    SHARED TILE_SHARED shared;
    const SOURCE in = SOURCE_OF_ARGS;
    const CALL c = CALL_OF(in);
    const u32 thread = THREAD_ID, t = thread % WIDTH;
    const u64 warp = GROUP_ID * (GROUP / WIDTH) + thread / WIDTH, begin = warp * run, other = begin < n ? begin : 0;
    SCAN carry = item_value(&c, other);
    u32 has = 0;
    for (u64 i = 0; i < run; i += WIDTH) {
        const u64 k = begin + i + t;
        SCAN a = item_value(&c, k < n ? k : other);
        STEP(a)
    }
    if (t == 0) values[TILE_AGGREGATE(warp)] = carry;
    (void)shared;
}

/* Scans the aggregates in the same way, in one group, whose first warp stores the result:
 * values[TILE_PREFIX(warp)] becomes the exclusive prefix of interval `warp`. */
KERNEL BOUNDS void tally_scan_tiles(SCAN_ARGS) {
    SHARED TILE_SHARED shared;
    const u32 thread = THREAD_ID, t = thread % WIDTH;
    const u64 warps = (n + run - 1) / run;
    /* A call that continues from none reads something that was written, and does not use it. */
    SCAN carry = values[CONTINUES(flow) ? CARRY_FROM(flow) : TILE_AGGREGATE(0)];
    u32 has = CONTINUES(flow);
    if (thread == 0 && has) values[TILE_PREFIX(0)] = carry;
    for (u64 warp = t; warp < (warps + WIDTH - 1) / WIDTH * WIDTH; warp += WIDTH) {
        SCAN a = values[TILE_AGGREGATE(warp < warps ? warp : 0)];
        STEP(a)
        if (thread < WIDTH && warp < warps) values[TILE_PREFIX(warp + 1)] = a;
    }
    (void)shared;
}

/* Scans the intervals again and stores the results. Threads beyond the last item take `other`, an
 * aggregate: in place any item may already be overwritten by another warp's result. */
KERNEL BOUNDS void tally_scan_items(SCAN_ARGS) {
    SHARED TILE_SHARED shared;
    const SOURCE in = SOURCE_OF_ARGS;
    const CALL c = CALL_OF(in);
    const u32 thread = THREAD_ID, t = thread % WIDTH;
    const u64 warp = GROUP_ID * (GROUP / WIDTH) + thread / WIDTH, begin = warp * run, end = begin + run < n ? begin + run : n;
    const u32 has_before = begin < n && (warp > 0 || CONTINUES(flow));
    const SCAN other = values[TILE_AGGREGATE(0)], exclusive = has_before ? values[TILE_PREFIX(warp)] : other;
    SCAN carry = other;
    u32 has = 0;
    for (u64 i = 0; i < run; i += WIDTH) {
        const u64 k = begin + i + t;
        SCAN a = k < n ? item_value(&c, k) : other;
        const SCAN left_carry = carry;
        const u32 has_left = has;
        STEP(a)
        const SCAN inclusive = scan_join(has_before, exclusive, a);
#ifdef EXCLUSIVE
        SCAN left;
        FROM_LEFT(left, a)
        if (t == 0) left = left_carry;
        const u32 some = t > 0 || has_left;
        if (some) left = scan_join(has_before, exclusive, left);
        if (!some && has_before) left = exclusive;
#ifdef SEGMENTED
        const u32 first = k < end && begins_at(&c, k);
#else
        const u32 first = 0;
#endif
        if (k < end) c.out[PLACE(k, n)] = first || !(some || has_before) ? scan_first(&c) : scan_result(&c, left, base + k);
#else
        if (k < end) c.out[PLACE(k, n)] = scan_result(&c, inclusive, base + k + 1);
        (void)left_carry;
        (void)has_left;
#endif
        if (k == n - 1) values[CARRY_TO(flow)] = inclusive;
    }
    (void)shared;
}
