/* SPDX-License-Identifier: MIT */
/*
 * segment_tile: a segment of up to a chunk in local memory, by a team.
 *
 * Computes: nothing by itself. segment_dense and segment_stage call what stands here.
 * How: thread t of a team has the lanes that are t modulo `team`. It combines them by halvings, and
 * then the team combines its threads' lanes by shuffles. A segment's items follow each other, and
 * its mask's bytes do, too.
 * Needs: kernels/segment_teams.h and kernels/staging.h before it.
 * Why: items are there at once, so a pivot, a mask and each step wait for local memory alone.
 */
#ifdef SHUFFLES
/* An item, as the words that it is loaded in. Bytes are in little-endian order. Numbers of two
 * halves are aligned as their halves. */
typedef union {
    ITEM item;
    u32 word[ITEM_BYTES / 4 + 1];
    u64 eight[ITEM_BYTES / 8 + 1];
} STAGED;
typedef struct {
    u8 before;
    ITEM item;
} ALIGNED_ITEM;
#define HAS_EIGHTS (ITEM_BYTES >= 8 && sizeof(ALIGNED_ITEM) - ITEM_BYTES >= 8)

/* Returns the item at an address, or 0 if `is` is 0. */
INLINE ITEMS staged_items_if(u32 at, u32 is) {
    STAGED v;
    ITEMS items;
    v.word[0] = 0;
    if (ITEM_BYTES == 1) GET_IF("u8", "+r", v.word[0], at, is)
    if (ITEM_BYTES == 2) GET_IF("u16", "+r", v.word[0], at, is)
#pragma unroll
    for (u32 w = 0; w < ITEM_BYTES / 4 && !HAS_EIGHTS; w++) {
        v.word[w] = 0;
        GET_IF("u32", "+r", v.word[w], at + 4 * w, is)
    }
#pragma unroll
    for (u32 w = 0; w < ITEM_BYTES / 8 && HAS_EIGHTS; w++) {
        v.eight[w] = 0;
        GET_IF("u64", "+l", v.eight[w], at + 8 * w, is)
    }
    items.x = v.item;
    return items;
}

/* Returns the item at an address. */
INLINE ITEMS staged_items(u32 at) {
    STAGED v;
    ITEMS items;
    if (ITEM_BYTES == 1) GET("u8", "=r", v.word[0], at)
    if (ITEM_BYTES == 2) GET("u16", "=r", v.word[0], at)
#pragma unroll
    for (u32 w = 0; w < ITEM_BYTES / 4 && !HAS_EIGHTS; w++) GET("u32", "=r", v.word[w], at + 4 * w)
#pragma unroll
    for (u32 w = 0; w < ITEM_BYTES / 8 && HAS_EIGHTS; w++) GET("u64", "=l", v.eight[w], at + 8 * w)
    items.x = v.item;
    return items;
}

/* Returns the mask's byte at an address, or 0 if `is` is 0. */
INLINE u32 staged_mask_if(u32 at, u32 is) {
    u32 byte = 0;
    GET_IF("u8", "+r", byte, at, is)
    return byte;
}

/* The addresses of item t of a segment, and of its mask's byte. */
typedef struct {
    u32 at;
#ifdef WHERE
    u32 mask;
#endif
} TILED;

INLINE TILED tiled_on(TILED place, u32 items) {
    place.at += items * ITEM_BYTES;
#ifdef WHERE
    place.mask += items;
#endif
    return place;
}

/* ---- a thread's lanes ------------------------------------------------------------------------ */

/* Adds the items of TILE_STEP lanes of thread t, from lane `first` on. A lane has an item if its
 * number is below `mine`, or, if `whole`, always. With a mask, returns the number of items. */
#define TILE_STEP 8
/* Narrow items behind a segment's end may be loaded where WIDTH * TILE_STEP words have room behind
 * a tile's items, as in STAGE. */
#ifdef STAGES
#define MAY_PASS_END (ITEM_BYTES <= 4)
#else
#define MAY_PASS_END 0
#endif
INLINE u32 add_lanes(LANE *own, TILED from, CHUNK c, u32 row, u32 first, u32 most, u32 t, u32 team, u32 mine, u32 whole,
                     PARAMS p) {
    ITEMS v[TILE_STEP];
    u32 is[TILE_STEP], has = 0;
    from = tiled_on(from, first * team);
#pragma unroll
    for (u32 j = 0; j < TILE_STEP; j++) {
        is[j] = first + j < most && (whole || first + j < mine);
        if (first + j < most) v[j] = whole || MAY_PASS_END ? staged_items(from.at) : staged_items_if(from.at, is[j]);
#ifdef WHERE
        is[j] = staged_mask_if(from.mask, is[j]);
        has += is[j] != 0;
#endif
        from = tiled_on(from, team);
    }
#pragma unroll
    for (u32 j = 0; j < TILE_STEP; j++)
        if (is[j]) own[first + j] = lane_step(own[first + j], v[j], c, row, t + (first + j) * team, p);
    return has;
}

#define HALVE_TILED(s, combine)                                                                                                \
    if (most > (s)) _Pragma("unroll") for (u32 j = 0; j < (s); j++) own[j] = combine(own[j], own[j + (s)]);

/* Four items of a byte are added as one word. */
#if defined(PADS_BYTES) && !defined(WHERE)
#define ADDS_WORDS 1
#endif

/* The ways of a team. TILED_CHUNK: the team has all lanes of a chunk row, and the segment up to a
 * chunk. TILED_ROW: up to a chunk row, of one length for the whole warp. TILED_SHORT: up to a chunk
 * row, of any length. */
#define TILED_CHUNK 0
#define TILED_ROW 1
#define TILED_SHORT 2
/* Whole chunk rows have code of their own. Ops with a pivot have none: their steps are long. */
#ifdef TAKES_PIVOT
#define HAS_WHOLE_ROWS 0
#else
#define HAS_WHOLE_ROWS 1
#endif

#ifdef ADDS_WORDS
/* Combines the words of a segment's bytes that are t modulo `team`. Bytes of the first and the last
 * word that are not the segment's become 0, which changes no lane. */
#define FLIGHT_WORDS 4
INLINE LANES_PART tiled_lanes(TILED from, CHUNK c, u32 most, u32 t, u32 team, int how, PARAMS p) {
    const u32 at = from.at - t, end = at + c.count - 1, last = end & ~3U;
    LANES_PART all;
    all.lane = lane_identity();
    all.has = 0;
    if (!c.count) return all;
    KEEP_ROLLED
    for (u32 next = (at & ~3U) + 4 * t; next <= last; next += 4 * FLIGHT_WORDS * team) {
        u32 word[FLIGHT_WORDS];
#pragma unroll
        for (u32 f = 0; f < FLIGHT_WORDS; f++) {
            word[f] = 0;
            GET_IF("u32", "+r", word[f], next + 4 * f * team, (u32)(next + 4 * f * team <= last))
        }
        if (next < at) word[0] &= ~0U << 8 * (at & 3);
#pragma unroll
        for (u32 f = 0; f < FLIGHT_WORDS; f++) {
            if (next + 4 * f * team == last) word[f] &= ~0U >> 8 * (3 - (end & 3));
            all.lane = lane_bytes(all.lane, word[f]);
        }
    }
    return all;
}
#else
/* Combines the lanes t, t + team, ... of a segment, `most` of them. */
INLINE LANES_PART tiled_lanes(TILED from, CHUNK c, u32 most, u32 t, u32 team, int how, PARAMS p) {
    const u32 log = WIDTH - 1 - LEADING_ZEROS(team);
    LANE own[WIDTH];
    LANES_PART all;
    u32 row = 0;
    all.has = 0;
#pragma unroll
    for (u32 j = 0; j < most; j++) own[j] = lane_identity();
    if (HAS_WHOLE_ROWS && how == TILED_CHUNK) {
#pragma unroll 2
        for (; (row + 1) * LANES <= c.count; row++) {
#pragma unroll
            for (u32 first = 0; first < most; first += TILE_STEP)
                all.has += add_lanes(own, from, c, row, first, most, t, team, 0, 1, p);
            from = tiled_on(from, LANES);
        }
    }
    KEEP_ROLLED
    do {
        const u32 left = c.count - row * LANES, mine = (left + team - 1 - t) >> log;
#pragma unroll
        for (u32 first = 0; first < most; first += TILE_STEP) {
            if (HAS_WHOLE_ROWS && how == TILED_ROW && min(most, first + TILE_STEP) * team <= left)
                all.has += add_lanes(own, from, c, row, first, most, t, team, 0, 1, p);
            else if (first < mine)
                all.has += add_lanes(own, from, c, row, first, most, t, team, mine, 0, p);
        }
        from = tiled_on(from, LANES);
    } while (!HAS_WHOLE_ROWS && how == TILED_CHUNK && ++row * LANES < c.count);
    HALVE_TILED(16, lane_combine)
    HALVE_TILED(8, lane_combine)
    HALVE_TILED(4, lane_combine)
    HALVE_TILED(2, lane_combine)
    HALVE_TILED(1, lane_combine)
    all.lane = own[0];
    return all;
}
#endif

/* ---- a team ---------------------------------------------------------------------------------- */

#ifdef TAKES_PIVOT
/* Returns the pivot of a chunk. */
INLINE PIVOT tiled_pivot(TILED from, CHUNK c, u32 most, u32 t, u32 team) {
    const u32 halvings = pivot_halvings(c.count), items = min((u32)LANES >> halvings, c.count);
    const u32 mine = (items + team - 1 - t) >> (WIDTH - 1 - LEADING_ZEROS(team));
    LOCAL EXCHANGE *meet = 0;
    PIVOT own[WIDTH], pivot;
    TILED at = from;
    u32 masked = 0;
#pragma unroll
    for (u32 j = 0; j < most; j++) {
        u32 is = j < mine;
        const ITEMS v = staged_items_if(at.at, is);
#ifdef WHERE
        const u32 takes = staged_mask_if(at.mask, is);
        masked |= is && !takes;
        is = takes;
#endif
        own[j] = pivot_identity();
        if (is) own[j] = pivot_load(v);
        at = tiled_on(at, team);
    }
    HALVE_TILED(16, pivot_combine)
    HALVE_TILED(8, pivot_combine)
    HALVE_TILED(4, pivot_combine)
    HALVE_TILED(2, pivot_combine)
    HALVE_TILED(1, pivot_combine)
    pivot = own[0];
    ACROSS_TEAM(PIVOT, pivot, pivot_xor, pivot_combine)
    pivot = pivot_value(pivot, halvings);
#ifdef WHERE
    /* The first item that is not masked is the pivot then, as lone_pivot has it. */
    if (team_sum(masked, team, meet)) {
        from.at -= t * ITEM_BYTES;
        from.mask -= t;
        u32 i = 0;
        while (i < c.count && !staged_mask_if(from.mask + i, 1)) i++;
        if (i < c.count) pivot = pivot_value(pivot_load(staged_items(from.at + i * ITEM_BYTES)), 7);
    }
#endif
    return pivot;
}
#endif

/* Returns, in thread 0 of the team, the part of a segment of n items. A thread has `most` lanes.
 * All threads of the warp take part, unless `team` is 1. */
INLINE PART tiled_part(TILED from, u32 n, u32 most, u32 t, u32 team, int how, PARAMS p) {
    LOCAL EXCHANGE *meet = 0;
    CHUNK c;
    c.index = 0;
    c.count = n;
#ifdef TAKES_PIVOT
    c.pivot = tiled_pivot(from, c, most, t, team);
#endif
    LANES_PART own = tiled_lanes(from, c, most, t, team, how, p);
#ifdef PIVOT_MAY_MISS
    PIVOT pivot = pivot_of_lane(own.lane);
    ACROSS_TEAM(PIVOT, pivot, pivot_xor, pivot_combine)
    if (pivot_changes(&c.pivot, pivot_value(pivot, 0))) own = tiled_lanes(from, c, most, t, team, how, p);
#endif
    ACROSS_TEAM(LANE, own.lane, lane_down, lane_combine)
#ifdef WHERE
    return part_of_lane(own.lane, c, team_sum(own.has, team, meet));
#else
    return part_of_lane(own.lane, c, n);
#endif
}
#endif
