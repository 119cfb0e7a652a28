/* SPDX-License-Identifier: MIT */
/*
 * warp_carry: a scan in three launches, as the first lecture document has it: each warp owns an interval, which it scans 32 items at a time, carrying
 * the sum; the carries are scanned in the same way, and added.
 *
 * Computes n values. How: `run` items an interval, a multiple of 32. The order depends on the number of warps. In place.
 * Needs: local memory of 291 accumulators, where there are no shuffles.
 * Why: the step between a scan in sequence and one at memory speed: it is in place, and a group waits for no other.
 */

/* Item k of the sequence. */
INLINE SCAN item_value(const CALL *c, u64 k) {
    ITEM_CELL cell;
    cell.item[0] = load_item(c, k);
#ifdef SEGMENTED
    cell.begins = begins_at(c, k);
#endif
    return cell_item(c, &cell, k, 0);
}

/* `a` becomes what the interval's items up to this one come to; `carry` that of the 32 of this step and those before, if `has` says there are any. */
#define STEP(a)                                                                                                                \
    SCAN_ACROSS(a)                                                                                                             \
    a = scan_join(has, carry, a);                                                                                              \
    FROM_LAST(carry, a)                                                                                                        \
    has = 1;

/* The intervals' totals. Beyond the last item another comes in, which leads to no value that is asked for. */
KERNEL BOUNDS void tally_scan_totals(SCAN_ARGS) {
    SHARED TILE_SHARED shared;
    SCAN_OPEN(c)
    const u32 item = THREAD_ID, t = item % WIDTH;
    const u64 warp = GROUP_ID * (GROUP / WIDTH) + item / WIDTH, begin = warp * run, other = begin < n ? begin : 0;
    SCAN carry = item_value(&c, other);
    u32 has = 0;
    for (u64 i = 0; i < run; i += WIDTH) {
        const u64 k = begin + i + t;
        SCAN a = item_value(&c, k < n ? k : other);
        STEP(a)
    }
    if (t == 0) values[TILE_TOTAL(warp)] = carry;
    (void)shared;
}

/* By one warp: the scan of the totals, in the same way. */
KERNEL BOUNDS void tally_scan_tiles(SCAN_ARGS) {
    SHARED TILE_SHARED shared;
    const u32 item = THREAD_ID, t = item % WIDTH;
    const u64 warps = (n + run - 1) / run;
    SCAN carry = values[CONTINUES(flow) ? CARRY_FROM(flow) : TILE_TOTAL(0)]; /* what was written, though it be of no use */
    u32 has = CONTINUES(flow);
    if (item == 0 && has) values[TILE_PREFIX(0)] = carry;
    for (u64 warp = t; warp < (warps + WIDTH - 1) / WIDTH * WIDTH; warp += WIDTH) {
        SCAN a = values[TILE_TOTAL(warp < warps ? warp : 0)];
        STEP(a)
        if (item < WIDTH && warp < warps) values[TILE_PREFIX(warp + 1)] = a;
    }
    (void)shared;
}

/* The intervals again, each with what is before it. Beyond the last item `other` comes in: in place any item may have another warp's value by then. */
KERNEL BOUNDS void tally_scan_items(SCAN_ARGS) {
    SHARED TILE_SHARED shared;
    SCAN_OPEN(c)
    const u32 item = THREAD_ID, t = item % WIDTH;
    const u64 warp = GROUP_ID * (GROUP / WIDTH) + item / WIDTH, begin = warp * run, end = begin + run < n ? begin + run : n;
    const u32 has_before = begin < n && (warp > 0 || CONTINUES(flow));
    const SCAN other = values[TILE_TOTAL(0)], before = has_before ? values[TILE_PREFIX(warp)] : other;
    SCAN carry = other;
    u32 has = 0;
    for (u64 i = 0; i < run; i += WIDTH) {
        const u64 k = begin + i + t;
        SCAN a = k < n ? item_value(&c, k) : other;
        const SCAN left_carry = carry;
        const u32 has_left = has;
        STEP(a)
        const SCAN with = scan_join(has_before, before, a);
#ifdef EXCLUSIVE
        SCAN left;
        FROM_LEFT(left, a)
        if (t == 0) left = left_carry;
        const u32 some = t > 0 || has_left;
        if (some) left = scan_join(has_before, before, left);
        if (!some && has_before) left = before;
#ifdef SEGMENTED
        const u32 first = k < end && begins_at(&c, k);
#else
        const u32 first = 0;
#endif
        if (k < end) c.out[PLACE(k, n)] = first || !(some || has_before) ? scan_first(&c) : scan_result(&c, left, base + k);
#else
        if (k < end) c.out[PLACE(k, n)] = scan_result(&c, with, base + k + 1);
        (void)left_carry;
        (void)has_left;
#endif
        if (k == n - 1) values[CARRY_TO(flow)] = with;
    }
    (void)shared;
}
