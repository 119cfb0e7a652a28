/* SPDX-License-Identifier: MIT */
/*
 * segment_dense: rows that follow each other without a gap, where a warp can stage items.
 *
 * Computes: the result of each row. The planner takes rows of up to four chunk rows. With a mask,
 * its rows follow each other without a gap, too.
 * How: a warp takes `wide` neighbouring rows, and waits for no other warp. It copies their items to
 * its tile of local memory, 16 bytes a thread at a time, from the aligned address below the first
 * one on, and their mask's bytes behind them. Then `team` threads share a row (segment_tile). A
 * thread loads 16 bytes of an aligned row at once if it has the row alone, or if four items of a
 * byte may go to any lane, as the op says.
 * Needs: kernels/segment_tile.h before it.
 * Why: rows of 1, 5, 33 or 129 items fill half of the loads of a team, and the last half of its
 * shuffles. Rows of 100 bytes take a team as many instructions as rows of 100 words. A team whose
 * pivot or mask is in memory waits for one load after another.
 */
#if INPUTS == 1 && defined(SHUFFLES) && defined(BULK) && (ITEM_BYTES <= 4 || !defined(PLAIN))
/* The most lanes of a thread: wide ones take more registers. */
#define DENSE_LANES (ACC_BYTES <= 4 ? 32 : ACC_BYTES <= 8 ? 16 : 8)
#define VECTOR_BYTES 16
#define VECTOR_ITEMS ((u32)(VECTOR_BYTES / ITEM_BYTES))

/* A row may be of vectors. The mask of such a row is one, too, so that it has 16 items and more. */
#if defined(ADDS_WORDS) ||                                                                                                     \
    (!defined(TAKES_PIVOT) && ITEM_BYTES * DENSE_LANES >= VECTOR_BYTES && (!defined(WHERE) || DENSE_LANES >= VECTOR_BYTES))
#define TAKES_VECTORS 1
#endif

/* A warp's tile. Rows may begin up to 15 bytes behind an aligned address. */
typedef struct ALIGN(16) {
    u8 bytes[DENSE_BYTES + 3 * VECTOR_BYTES];
} DENSE_TILE;

/* Rows of an array in a tile: their bytes, the bytes from one to the next, and 2^32 / row_bytes. */
typedef struct {
    u32 row_bytes, stride, reciprocal;
} DENSE_SHAPE;

/* Rows are apart in the tile, by a vector, only if they are aligned. */
INLINE DENSE_SHAPE dense_shape(u32 row_bytes, u32 stride, u64 at) {
    DENSE_SHAPE shape;
    shape.row_bytes = row_bytes;
    shape.stride = at % VECTOR_BYTES ? row_bytes : stride;
    shape.reciprocal = ~0U / row_bytes + 1;
    return shape;
}

/* Begins to copy rows to a tile. Returns where the first of them is. Bytes below it are read up to
 * the aligned address, which is safe, because memory is allocated in units of 16 bytes and more. */
INLINE u32 copy_rows(u32 tile, GLOBAL const u8 *x, DENSE_SHAPE shape, u32 rows, u32 lane) {
    const u32 below = (u32)((u64)x & (VECTOR_BYTES - 1)), end = below + rows * shape.row_bytes;
    const u32 whole = end / VECTOR_BYTES * VECTOR_BYTES;
    GLOBAL const u8 *aligned = x - below;
    if (shape.stride != shape.row_bytes) {
#pragma unroll 3
        for (u32 at = lane * VECTOR_BYTES; at < end; at += WIDTH * VECTOR_BYTES)
            COPY_VECTOR(tile + at + HIGH_WORD(at, shape.reciprocal) * VECTOR_BYTES, aligned + at)
        return tile;
    }
#pragma unroll 3
    for (u32 at = lane * VECTOR_BYTES; at < whole; at += WIDTH * VECTOR_BYTES) COPY_VECTOR(tile + at, aligned + at)
    copy_rest(tile + whole, aligned + whole, end - whole, lane);
    return tile + below;
}

#ifdef TAKES_VECTORS
typedef union {
    u32 word[VECTOR_BYTES / 4];
    ITEM item[VECTOR_BYTES / ITEM_BYTES];
} TILE_VECTOR;

/* Returns the vector at an address, or zeros if `is` is 0. */
INLINE TILE_VECTOR staged_vector_if(u32 at, u32 is) {
    TILE_VECTOR v;
    v.word[0] = v.word[1] = v.word[2] = v.word[3] = 0;
    GET_VECTOR_IF(v.word, at, is)
    return v;
}
#endif

#ifdef ADDS_WORDS
/* Combines a row of up to 4 bytes, at any address. Rows of 4 by CUDA on an H200, December 2026, so
 * and by 8 words at once, share of a kernel that only reads: bor 0.83, 0.17; amax 0.76, 0.13; sum
 * 0.91, 0.60. */
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

/* Combines the vectors of a row that are t modulo `team`, by all threads of the team. */
#define FLIGHT_VECTORS 2
INLINE LANE vector_lane(u32 at, u32 n, u32 t, u32 team) {
    LANE own = lane_identity();
    KEEP_ROLLED
    for (u32 from = t * VECTOR_BYTES; from < n; from += FLIGHT_VECTORS * team * VECTOR_BYTES) {
        TILE_VECTOR v[FLIGHT_VECTORS];
#pragma unroll
        for (u32 f = 0; f < FLIGHT_VECTORS; f++)
            v[f] = staged_vector_if(at + from + f * team * VECTOR_BYTES, from + f * team * VECTOR_BYTES < n);
#pragma unroll
        for (u32 f = 0; f < FLIGHT_VECTORS; f++) {
#pragma unroll
            for (u32 w = 0; w < VECTOR_BYTES / 4; w++) own = lane_bytes(own, v[f].word[w]);
        }
    }
    rows_across(&own, 1, team, 0);
    return own;
}
#elif defined(TAKES_VECTORS)
/* Adds the items of a vector to new lanes, those that the mask has. The vector begins with item
 * `first` of n. Returns their number. */
INLINE u32 add_vector(LANE *own, TILED from, u32 first, u32 n, CHUNK c, PARAMS p) {
    const TILE_VECTOR v = staged_vector_if(from.at + first * ITEM_BYTES, first < n);
    u32 has = 0;
#ifdef WHERE
    u32 mask[(VECTOR_BYTES / ITEM_BYTES + 3) / 4] = {0};
    if (VECTOR_ITEMS == 2) GET_IF("u16", "+r", mask[0], from.mask + first, (u32)(first < n))
#pragma unroll
    for (u32 w = 0; w < VECTOR_ITEMS / 4; w++) GET_IF("u32", "+r", mask[w], from.mask + first + 4 * w, (u32)(first < n))
#endif
#pragma unroll
    for (u32 j = 0; j < VECTOR_ITEMS; j++) {
        ITEMS items;
        u32 is = first < n;
#ifdef WHERE
        is = VECTOR_ITEMS == 1 ? staged_mask_if(from.mask + first, is) : mask[j / 4] >> 8 * (j % 4) & 0xff;
        has += is != 0;
#endif
        items.x = v.item[j];
        own[j] = lane_identity();
        if (is) own[j] = lane_step(own[j], items, c, 0, first + j, p);
    }
    return has;
}

/* Returns the part of a row of vectors, of up to DENSE_LANES items, by one thread. Vectors of both
 * halves are combined as they come, so that fewer lanes are kept. */
INLINE PART vector_part(TILED from, u32 n, PARAMS p) {
    const u32 most = DENSE_LANES, middle = most > VECTOR_ITEMS ? most / 2 : most;
    LANE own[DENSE_LANES];
    u32 has = 0;
    CHUNK c;
    c.index = 0;
    c.count = n;
#pragma unroll
    for (u32 first = 0; first < middle; first += VECTOR_ITEMS) {
        has += add_vector(own + first, from, first, n, c, p);
        if (middle == most || n <= middle) continue;
        LANE upper[VECTOR_ITEMS];
        has += add_vector(upper, from, middle + first, n, c, p);
#pragma unroll
        for (u32 j = 0; j < VECTOR_ITEMS; j++) own[first + j] = lane_combine(own[first + j], upper[j]);
    }
    if (n > 8) {
        if (middle > 8) _Pragma("unroll") for (u32 j = 0; j < 8; j++) own[j] = lane_combine(own[j], own[j + 8]);
    }
    if (middle > 4) _Pragma("unroll") for (u32 j = 0; j < 4; j++) own[j] = lane_combine(own[j], own[j + 4]);
    if (middle > 2) _Pragma("unroll") for (u32 j = 0; j < 2; j++) own[j] = lane_combine(own[j], own[j + 2]);
    own[0] = lane_combine(own[0], own[1]);
#ifndef WHERE
    has = n;
#endif
    return part_of_lane(own[0], c, has);
}
#endif

/* Rows of a tile, for a warp: teams of `team` threads take `here` of them, the first of which is at
 * `from`, and has number `begin`. */
typedef struct {
    OUTS out;
    RESULT initial;
    PARAMS p;
    u64 begin;
    i64 apart; /* results of neighbouring rows */
    DENSE_SHAPE items;
#ifdef WHERE
    DENSE_SHAPE mask;
#endif
    TILED from;
    u32 here, lane;
} DENSE_ROWS;

/* Reduces rows of n items. A thread takes `most` lanes of a row, or (BY_VECTORS) vectors. Where
 * words are added, `most` is 0 for words, or the row has up to 4 bytes. */
#define BY_VECTORS (~0U)
INLINE void reduce_rows(const DENSE_ROWS *r, u32 n, u32 team, u32 most, int how) {
    const u32 log = WIDTH - 1 - LEADING_ZEROS(team), t = r->lane & (team - 1), own = r->lane >> log, each = WIDTH >> log;
    TILED from = r->from;
    i64 place = (i64)(r->begin + own) * r->apart;
    from.at += own * r->items.stride + t * ITEM_BYTES;
#ifdef WHERE
    from.mask += own * r->mask.stride + t;
#endif
    KEEP_ROLLED
    for (u32 i = own, turn = 0; turn < r->here; turn += each, i += each) {
#ifdef ADDS_WORDS
        CHUNK c;
        c.index = 0;
        c.count = n;
        const PART p = most == BY_VECTORS ? part_of_lane(vector_lane(from.at - t, n, t, team), c, n)
                       : most             ? part_of_lane(dense_word(from.at, n), c, n)
                                          : tiled_part(from, n, 0, t, team, TILED_CHUNK, r->p);
#elif defined(TAKES_VECTORS)
        const PART p = most == BY_VECTORS ? vector_part(from, n, r->p) : tiled_part(from, n, most, t, team, how, r->p);
#else
        const PART p = tiled_part(from, n, most, t, team, how, r->p);
#endif
        if (i < r->here && t == 0) put_part(p, n, r->out, place, r->initial, r->p);
        from.at += each * r->items.stride;
#ifdef WHERE
        from.mask += each * r->mask.stride;
#endif
        place += (i64)each * r->apart;
    }
}

/* Tells whether rows are taken by vectors. */
INLINE u32 are_vectors(const DENSE_ROWS *r, u32 n, u32 team) {
#ifdef WHERE
    if (n % VECTOR_BYTES || r->from.mask % VECTOR_BYTES) return 0;
#endif
#ifndef ADDS_WORDS
    if (team > 1 || n > DENSE_LANES) return 0;
#endif
    return n * ITEM_BYTES % VECTOR_BYTES == 0 && r->from.at % VECTOR_BYTES == 0;
}

/* Reduces rows of n items. Rows of 1 and of 4 items, of which there are so many that each
 * instruction counts, have code of their own. So have rows of vectors, rows of more than a chunk
 * row, and each number of lanes of a thread. */
INLINE void reduce_rows_of(const DENSE_ROWS *r, u32 n, u32 team) {
    if (n == 1)
        reduce_rows(r, 1, 1, 1, TILED_ROW);
    else if (n == 4 && team == 1)
        reduce_rows(r, 4, 1, 4, TILED_ROW);
#ifdef TAKES_VECTORS
    else if (are_vectors(r, n, team))
        reduce_rows(r, n, team, BY_VECTORS, TILED_ROW);
#endif
#ifdef ADDS_WORDS
    else
        reduce_rows(r, n, team, 0, TILED_CHUNK);
#else
    else if (n > LANES)
        reduce_rows(r, n, LANES / 8, 8, TILED_CHUNK);
    else if (n <= 4 * team)
        reduce_rows(r, n, team, 4, TILED_ROW);
#if DENSE_LANES > 8
    else if (n <= 8 * team)
        reduce_rows(r, n, team, 8, TILED_ROW);
#endif
#if DENSE_LANES > 16
    else if (n <= 16 * team)
        reduce_rows(r, n, team, 16, TILED_ROW);
#endif
    else
        reduce_rows(r, n, team, DENSE_LANES, TILED_ROW);
#endif
}

/* Groups that a multiprocessor must have room for: 32 warps, or 24 that need more registers. */
#ifndef PLAIN
#define DENSE_GROUPS (768 / GROUP)
#else
#define DENSE_GROUPS (1024 / GROUP)
#endif

/* `split` has the bytes from a row to the next one in the tile, and those of the mask in its high
 * half. */
KERNEL BOUNDS_OF(DENSE_GROUPS) void tally_segments_dense(CALL_ARGS) {
    OPEN;
    SHARED DENSE_TILE tiles[WARPS];
    DENSE_ROWS rows;
    u32 tile;
    rows.out = out;
    rows.initial = initial;
    rows.p = params;
    rows.apart = shape.axis[1].out;
    rows.lane = thread % WIDTH;
    rows.items = dense_shape((u32)shape.n * ITEM_BYTES, split & 0xffff, (u64)in.x);
#ifdef WHERE
    GLOBAL const u8 *const masks = where + where_offset;
    rows.mask = dense_shape((u32)shape.n, split >> 16, (u64)masks);
    const u32 mask_tile = (wide * rows.items.stride + 2 * VECTOR_BYTES - 1) / VECTOR_BYTES * VECTOR_BYTES;
#endif
    (void)t;
    ADDRESS_OF(tile, &tiles[thread / WIDTH])
    KEEP_ROLLED
    for (u64 begin = (GROUP_ID * WARPS + thread / WIDTH) * wide; begin < count; begin += GROUP_COUNT * WARPS * wide) {
        rows.begin = first + begin;
        rows.here = (u32)min((u64)wide, count - begin);
        rows.from.at = copy_rows(tile, (GLOBAL const u8 *)(in.x + rows.begin * shape.n), rows.items, rows.here, rows.lane);
#ifdef WHERE
        rows.from.mask = copy_rows(tile + mask_tile, masks + rows.begin * shape.n, rows.mask, rows.here, rows.lane);
#endif
        AWAIT_COPIES
        WARP_BARRIER
        reduce_rows_of(&rows, (u32)shape.n, team);
        WARP_BARRIER /* the tile was read */
    }
}
#endif
