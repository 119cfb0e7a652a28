/* SPDX-License-Identifier: MIT */
/*
 * segment_flat: few columns side by side, whose rows follow each other without a gap, on GPUs with
 * shuffles.
 *
 * Computes: the result of each column (`last`), or a partial of each of its chunks. `wide` is the
 * number of columns.
 * How: a chunk of all columns is one run of items. A chunk row of it has 128 * `wide` places, and
 * place p is lane p / `wide` of column p % `wide`. A thread takes every GROUP-th place, and
 * combines the items that the chunk's rows have there. A halving of all columns' lanes combines the
 * first half of the places with the second half.
 * Needs: kernels/segment_columns.h before it.
 * Why: neighbouring threads load neighbouring items, however many columns there are.
 */
#if defined(HAS_COLUMNS) && defined(QUADS) && INPUTS == 1
#define FLAT_PLACES (FLAT_BYTES / (ACC_BYTES > 4 ? ACC_BYTES : 4))               /* the most of a chunk row */
#define FLAT_ROWS (IN_BYTES > 8 ? 4 : IN_BYTES > 4 ? 8 : IN_BYTES > 2 ? 16 : 32) /* loaded at once */
#define FLAT_GROUPS 4                                                            /* that a multiprocessor must have room for */

/* Combines the items that are `apart` items apart from x on: lane l of the chunk. */
INLINE LANE flat_lane(GLOBAL const ITEM *x, u32 apart, CHUNK c, u32 l, PARAMS p) {
    const u32 rows = (c.count + LANES - 1 - l) / LANES;
    LANE own = lane_identity();
    KEEP_ROLLED
    for (u32 row = 0; row < rows; row += FLAT_ROWS) {
        ITEMS v[FLAT_ROWS];
#pragma unroll
        for (u32 f = 0; f < FLAT_ROWS; f++, x += apart)
            if (row + f < rows) v[f].x = *x;
#pragma unroll
        for (u32 f = 0; f < FLAT_ROWS; f++)
            if (row + f < rows) own = lane_step(own, v[f], c, row + f, l, p);
    }
    return own;
}

KERNEL BOUNDS_OF(FLAT_GROUPS) void tally_segments_flat(CALL_ARGS) {
    OPEN;
    SHARED LANE lanes[FLAT_PLACES];
    const u64 rows = count / wide; /* of columns */
    const u32 places = LANES * wide;
    const i64 apart = shape.axis[shape.reduced + shape.kept - 1].out;
    CHUNK c;
    (void)t;
    KEEP_ROLLED
    for (u64 u = GROUP_ID; u < rows * leaves; u += GROUP_COUNT) {
        const u64 k = PART_OF(u, rows), i = (u - k * rows) * wide;
        SEGMENT segment = SEGMENT_OF(first + i);
        c.index = (leaf + k) * CHUNK_ITEMS;
        c.count = (u32)min((u64)CHUNK_ITEMS, shape.n - c.index);
        GLOBAL const ITEM *x = segment.in.x + c.index * wide;
        KEEP_ROLLED
        for (u32 place = thread; place < places; place += GROUP)
            lanes[place] = flat_lane(x + place, places, c, place / wide, in.p);
        KEEP_ROLLED
        for (u32 kept = places / 2; kept >= wide; kept /= 2) {
            BARRIER
            KEEP_ROLLED
            for (u32 place = thread; place < kept; place += GROUP)
                lanes[place] = lane_combine(lanes[place], lanes[place + kept]);
        }
        BARRIER
        segment.out += thread * apart;
        for (u32 j = thread; j < wide; j += GROUP, segment.out += GROUP * apart) {
            const PART p = part_of_lane(lanes[j], c, c.count);
            STORE_PART(p, i + j, k)
        }
        BARRIER /* the lanes were read */
    }
}
#endif
