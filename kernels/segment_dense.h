/* SPDX-License-Identifier: MIT */
/*
 * segment_dense: rows that follow each other without a gap, where a warp can stage items.
 *
 * Computes: the result of each row. The planner takes rows of up to four chunk rows.
 * How: a warp takes `wide` neighbouring rows, and waits for no other warp. It copies their items to
 * its tile of local memory, 16 bytes a thread at a time, from the aligned address below the first
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
    const u32 below = (u32)((u64)x & 15), end = below + bytes, whole = end / 16 * 16;
    GLOBAL const u8 *aligned = (GLOBAL const u8 *)x - below;
#pragma unroll 3
    for (u32 at = lane * 16; at < whole; at += WIDTH * 16) COPY_VECTOR(tile + at, aligned + at)
    copy_rest(tile + whole, aligned + whole, end - whole, lane);
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
INLINE LANE dense_lane(u32 at, CHUNK c, u32 t, u32 team) {
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

/* The same of a row of up to 4 bytes, at any address. Rows of 4 by CUDA on an H200, so and by
 * dense_lane, share of a kernel that only reads: bor 0.83, 0.17; amax 0.76, 0.13; sum 0.91,
 * 0.60. */
INLINE LANE dense_word(u32 at, u32 n) {
    u32 word = 0;
#pragma unroll
    for (u32 j = 0; j < 4; j++) {
        u32 byte = 0;
        if (j < n) GET("u8", "=r", byte, at + j)
        word |= byte << 8 * j;
    }
    return lane_bytes(lane_identity(), word);
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

#endif

/* Rows of a tile, for a warp: teams of `team` threads take `here` of them, the first of which is at
 * address `at`, and has number `begin`. */
typedef struct {
    OUTS out;
    RESULT initial;
    PARAMS p;
    u64 begin;
    i64 apart; /* results of neighbouring rows */
    u32 at, here, lane;
} DENSE_ROWS;

/* Reduces rows of n items. A thread takes `most` lanes of a row, or (0) all words that it
 * shares. */
INLINE void reduce_rows(const DENSE_ROWS *r, u32 n, u32 team, u32 most) {
    const u32 t = r->lane % team, each = WIDTH / team, row_bytes = n * ITEM_BYTES;
    u32 at = r->at + r->lane / team * row_bytes;
    i64 place = (i64)(r->begin + r->lane / team) * r->apart;
    CHUNK c;
    c.index = 0;
    c.count = n;
    KEEP_ROLLED
    for (u32 i = r->lane / team, turn = 0; turn < r->here; turn += each, i += each) {
#ifdef PADS_BYTES
        LANE all = most ? dense_word(at, n) : dense_lane(at, c, t, team);
#else
        LANE all = some_lanes(at + t * ITEM_BYTES, c, most, t, team, r->p);
#endif
        if (team > 1) rows_across(&all, 1, team, 0);
        if (i < r->here && t == 0) put_part(part_of_lane(all, c, n), n, r->out, place, r->initial, r->p);
        at += each * row_bytes;
        place += (i64)each * r->apart;
    }
}

/* The same, with text of its own for rows of 1 and 4 items, of which there are so many that each
 * instruction counts, and for each number of lanes of a thread: DENSE_LANES at most. */
INLINE void reduce_rows_of(const DENSE_ROWS *r, u32 n, u32 team) {
#ifndef PADS_BYTES
    const u32 lanes = min(n, (u32)LANES);
#endif
    if (n == 1)
        reduce_rows(r, 1, 1, 1);
    else if (n == 4 && team == 1)
        reduce_rows(r, 4, 1, 4);
#ifdef PADS_BYTES
    else
        reduce_rows(r, n, team, 0);
#else
    else if (lanes <= 4 * team)
        reduce_rows(r, n, team, 4);
#if DENSE_LANES > 8
    else if (lanes <= 8 * team)
        reduce_rows(r, n, team, 8);
#endif
#if DENSE_LANES > 16
    else if (lanes <= 16 * team)
        reduce_rows(r, n, team, 16);
#endif
    else
        reduce_rows(r, n, team, DENSE_LANES);
#endif
}

/* Groups that a multiprocessor must have room for: 32 warps. */
#define DENSE_GROUPS (1024 / GROUP)

KERNEL BOUNDS_OF(DENSE_GROUPS) void tally_segments_dense(CALL_ARGS) {
    OPEN;
    SHARED DENSE_TILE tiles[WARPS];
    const u32 row_bytes = (u32)shape.n * ITEM_BYTES;
    DENSE_ROWS rows;
    u32 tile;
    rows.out = out;
    rows.initial = initial;
    rows.p = params;
    rows.apart = shape.axis[1].out;
    rows.lane = thread % WIDTH;
    (void)t;
    ADDRESS_OF(tile, &tiles[thread / WIDTH])
    KEEP_ROLLED
    for (u64 begin = (GROUP_ID * WARPS + thread / WIDTH) * wide; begin < count; begin += GROUP_COUNT * WARPS * wide) {
        rows.begin = first + begin;
        rows.here = (u32)min((u64)wide, count - begin);
        rows.at = copy_rows(tile, in.x + rows.begin * shape.n, rows.here * row_bytes, rows.lane);
        AWAIT_COPIES
        WARP_BARRIER
        reduce_rows_of(&rows, (u32)shape.n, team);
        WARP_BARRIER /* the tile was read */
    }
}
#endif
