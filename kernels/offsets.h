/* SPDX-License-Identifier: MIT */
/*
 * offsets: checks the offsets of segments.
 *
 * Computes: bad[g], the lowest of group g's segments that ends before it begins, or beyond item n;
 * NO_SEGMENT if there is none.
 * How: group g takes `run` neighbouring segments, its threads in turns. Offsets are compared as
 * unsigned numbers. n is at most the largest number of the offsets' type, so a negative one is
 * beyond it.
 * Needs: OFFSET_BITS, the width of an offset.
 * Why: an offset that is wrong would be read as an address.
 */
#define NO_SEGMENT (~(u64)0)
#if OFFSET_BITS == 64
typedef u64 PLACE;
#else
typedef u32 PLACE;
#endif

KERNEL BOUNDS void tally_offsets_check(GLOBAL const PLACE *begins, u64 begins_offset, GLOBAL const PLACE *ends, u64 ends_offset,
                                       u64 count, u64 n, u64 run, GLOBAL u64 *bad) {
    SHARED u64 least[GROUP];
    const u64 first = GROUP_ID * run, end = min(count, first + run);
    u64 own = NO_SEGMENT;
    for (u64 s = first + THREAD_ID; s < end && own == NO_SEGMENT; s += GROUP) {
        const u64 from = begins[begins_offset + s], to = ends[ends_offset + s];
        if (from > to || to > n) own = s;
    }
    least[THREAD_ID] = own;
    BARRIER
    if (THREAD_ID == 0) {
        for (u32 t = 1; t < GROUP; t++) own = min(own, least[t]);
        bad[GROUP_ID] = own;
    }
}
