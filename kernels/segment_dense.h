/* SPDX-License-Identifier: MIT */
/*
 * segment_dense: rows that follow each other without a gap, where a warp can stage items.
 *
 * Computes: the result of each row. The planner takes rows of up to four chunk rows.
 * How: a warp takes `wide` neighbouring rows, and waits for no other warp. It copies their items to
 * its tile of shared memory, 16 bytes a thread at a time, from the aligned address below the first
 * one on. Then `team` threads share a row: thread t has the lanes that are t modulo `team`, and
 * combines them by halvings. Four items of a byte may go to any lane where the op says so.
 * Needs: kernels/segment_teams.h and kernels/staging.h before it.
 * Why: rows of 1, 5, 33 or 129 items fill half of the loads of a team, and the last half of its
 * shuffles. Rows of 100 bytes take a team as many instructions as rows of 100 words.
 */
#if defined(PLAIN) && INPUTS == 1 && ITEM_BYTES <= 4 && defined(SHUFFLES) && defined(BULK)
#define DENSE 1
/* The most lanes of a thread: wide ones take more registers. */
#define DENSE_LANES (ACC_BYTES <= 4 ? 32 : ACC_BYTES <= 8 ? 16 : 8)

/* A warp's tile. A row may begin up to 15 bytes behind an aligned address. */
typedef struct ALIGN(16) {
    u8 bytes[DENSE_BYTES + 16];
} DENSE_TILE;

/* Copies bytes to a tile. Returns where the first of them is. Bytes below it are read up to the
 * aligned address, which is safe, because memory is allocated in units of 16 bytes and more. */
INLINE u32 copy_rows(u32 tile, GLOBAL const ITEM *x, u32 bytes, u32 lane) {
    const u32 below = (u32)((u64)x & 15), end = below + bytes;
    GLOBAL const u8 *from = (GLOBAL const u8 *)x - below + lane * 16;
    KEEP_ROLLED
    for (u32 at = lane * 16; at < end; at += WIDTH * 16, from += WIDTH * 16) COPY_VECTOR(tile + at, from, min(16U, end - at))
    return tile + below;
}

INLINE ITEMS staged_item(u32 at) {
    union {
        ITEM item;
        u8 byte;
        u16 two;
        u32 word;
    } v;
    ITEMS items;
    u32 word;
    if (ITEM_BYTES == 1) {
        GET("u8", "=r", word, at)
        v.byte = (u8)word;
    } else if (ITEM_BYTES == 2) {
        GET("u16", "=r", word, at)
        v.two = (u16)word;
    } else {
        GET("u32", "=r", v.word, at)
    }
    items.x = v.item;
    return items;
}

#ifdef PADS_BYTES
/* Combines the words of a row's bytes that are t modulo `team`. Bytes of the first and the last
 * word that are not the row's become 0, which changes no lane. */
#define FLIGHT_WORDS 8
INLINE LANE dense_lane(u32 at, CHUNK c, u32 t, u32 team, PARAMS p) {
    const u32 end = at + c.count - 1, last = end & ~3U;
    LANE own = lane_identity();
    KEEP_ROLLED
    for (u32 from = (at & ~3U) + 4 * t; from <= last; from += 4 * FLIGHT_WORDS * team) {
        u32 word[FLIGHT_WORDS];
#pragma unroll
        for (u32 f = 0; f < FLIGHT_WORDS; f++) {
            word[f] = 0;
            if (from + 4 * f * team <= last) GET("u32", "=r", word[f], from + 4 * f * team)
        }
        if (from < at) word[0] &= ~0U << 8 * (at & 3);
#pragma unroll
        for (u32 f = 0; f < FLIGHT_WORDS; f++) {
            if (from + 4 * f * team == last) word[f] &= ~0U >> 8 * (3 - (end & 3));
            own = lane_bytes(own, word[f]);
        }
    }
    return own;
}
#else
/* Loads lanes first, first + 1, ... of a thread, DENSE_STEP of them, and adds them. `left` items
 * are there from the thread's first lane of the chunk row on, or (0) all that are asked for. */
#define DENSE_STEP 8
INLINE void add_lanes(LANE *own, u32 at, CHUNK c, u32 row, u32 first, u32 most, u32 t, u32 team, u32 left, PARAMS p) {
    ITEMS v[DENSE_STEP];
#pragma unroll
    for (u32 j = 0; j < DENSE_STEP; j++)
        if (j < most && (!left || (first + j) * team < left)) v[j] = staged_item(at + (first + j) * team * ITEM_BYTES);
#pragma unroll
    for (u32 j = 0; j < DENSE_STEP; j++)
        if (j < most && (!left || (first + j) * team < left))
            own[first + j] = lane_step(own[first + j], v[j], c, row, t + (first + j) * team, p);
}

#define HALVE_OWN(s)                                                                                                           \
    if (most > (s)) _Pragma("unroll") for (u32 j = 0; j < (s); j++) own[j] = lane_combine(own[j], own[j + (s)]);

/* Combines the lanes t, t + team, ... of a row, `most` of them. `at` is the address of item t. */
INLINE LANE some_lanes(u32 at, CHUNK c, u32 most, u32 t, u32 team, PARAMS p) {
    LANE own[WIDTH];
#pragma unroll
    for (u32 j = 0; j < most; j++) own[j] = lane_identity();
    KEEP_ROLLED
    for (u32 row = 0; row * LANES < c.count; row++, at += LANES * ITEM_BYTES) {
        const u32 left = c.count - row * LANES;
#pragma unroll
        for (u32 first = 0; first < most; first += DENSE_STEP) {
            if ((first + min(most, (u32)DENSE_STEP)) * team <= left)
                add_lanes(own, at, c, row, first, most, t, team, 0, p);
            else if (first * team + t < left)
                add_lanes(own, at, c, row, first, most, t, team, left - t, p);
        }
    }
    HALVE_OWN(16)
    HALVE_OWN(8)
    HALVE_OWN(4)
    HALVE_OWN(2)
    HALVE_OWN(1)
    return own[0];
}

/* Combines the lanes of a row that are t modulo `team`: DENSE_LANES at most. */
INLINE LANE dense_lane(u32 at, CHUNK c, u32 t, u32 team, PARAMS p) {
    const u32 lanes = min(c.count, (u32)LANES);
    at += t * ITEM_BYTES;
    if (c.count == 1) return some_lanes(at, c, 1, t, team, p);
    if (lanes <= 4 * team) return some_lanes(at, c, 4, t, team, p);
#if DENSE_LANES > 8
    if (lanes <= 8 * team) return some_lanes(at, c, 8, t, team, p);
#endif
#if DENSE_LANES > 16
    if (lanes <= 16 * team) return some_lanes(at, c, 16, t, team, p);
#endif
    return some_lanes(at, c, DENSE_LANES, t, team, p);
}
#endif

/* Groups that a multiprocessor must have room for: 32 warps. */
#define DENSE_GROUPS (1024 / GROUP)

KERNEL BOUNDS_OF(DENSE_GROUPS) void tally_segments_dense(CALL_ARGS) {
    OPEN;
    SHARED DENSE_TILE tiles[WARPS];
    const u32 lane = thread % WIDTH, row_bytes = (u32)shape.n * ITEM_BYTES;
    const i64 apart = shape.axis[1].out;
    u32 tile;
    CHUNK c;
    c.index = 0;
    c.count = (u32)shape.n;
    ADDRESS_OF(tile, &tiles[thread / WIDTH])
    KEEP_ROLLED
    for (u64 begin = (GROUP_ID * WARPS + thread / WIDTH) * wide; begin < count; begin += GROUP_COUNT * WARPS * wide) {
        const u32 here = (u32)min((u64)wide, count - begin);
        const u32 at = copy_rows(tile, in.x + (first + begin) * shape.n, here * row_bytes, lane);
        AWAIT_COPIES
        WARP_BARRIER
        KEEP_ROLLED
        for (u32 turn = 0; turn < here; turn += WIDTH / team) {
            const u32 i = turn + lane / team;
            LANE all = dense_lane(at + min(i, here - 1) * row_bytes, c, t, team, in.p);
            if (team > 1) rows_across(&all, 1, team, 0);
            if (i < here && t == 0)
                put_part(part_of_lane(all, c, c.count), c.count, out, (i64)(first + begin + i) * apart, initial, params);
        }
        WARP_BARRIER /* the tile was read */
    }
}
#endif
