/* SPDX-License-Identifier: MIT */
/*
 * move: gather, out[i] = in[map[i]], and scatter, out[map[i]] = in[i].
 *
 * Computes: tally_move moves n items. CHECKED: *bad becomes the lowest position whose entry is out
 * of bounds. STENCIL: only entries whose stencil is not zero count. LAST: a scatter in which the
 * last entry that names an item wins. For that, tally_clear sets a word to 0 for each item of
 * `out`, tally_claim raises it to 1 + the highest position that names the item, and tally_move
 * moves the entries at those positions.
 * How: group g takes the entries [g * run, g * run + run), in tiles of GROUP * FLIGHT. Thread l
 * takes the entries l, l + GROUP, ... of each tile, so that neighbours read and write neighbours,
 * and FLIGHT of its loads are in flight at once. The rest of a tile is moved entry by entry. An
 * item is copied as words of WORD_BYTES, or as bytes where the caller's memory is not aligned to
 * such words.
 * Needs: 64-bit atomics for positions of 8 bytes (cl_khr_int64_base_atomics). GROUP is 1 on CPUs,
 * whose groups walk long runs.
 * Why: each item takes two loads, one after the other: the map's and its own. So many must be in
 * flight.
 */
#if POSITION_BYTES == 8
typedef u64 POSITION;
#else
typedef u32 POSITION;
#endif
#define NONE (~(POSITION)0)
#define TILE (GROUP * FLIGHT)

/*
 * Threads that a multiprocessor shall have room for. With 1,536 each has 40 registers, and 8 loads
 * of 4 bytes in each of them are 48 KiB in flight. A predicate for each entry takes more registers,
 * and some sizes of items would spill: it gets 1,024 threads. Turing's multiprocessors hold 1,024.
 */
#ifndef __CUDA_ARCH__
#define MOVE_BOUNDS BOUNDS
#elif STENCIL || LAST || __CUDA_ARCH__ < 800
#define MOVE_BOUNDS __launch_bounds__(GROUP, 1024 / GROUP)
#else
#define MOVE_BOUNDS __launch_bounds__(GROUP, 1536 / GROUP)
#endif

#if WORD_BYTES == 16
typedef uint4 WORD;
#elif WORD_BYTES == 8
typedef u64 WORD;
#elif WORD_BYTES == 4
typedef u32 WORD;
#elif WORD_BYTES == 2
typedef u16 WORD;
#else
typedef u8 WORD;
#endif

#if WORD_BYTES == ITEM_BYTES
typedef WORD MOVED;
#else
typedef struct {
    WORD words[ITEM_BYTES / WORD_BYTES];
} MOVED;
#endif

/* An entry as an index. It has 32 bits where the map's have no more, which saves registers. The
 * host makes sure that a map of i32 is for at most 2^31 items. */
#if MAP_BYTES == 8
typedef u64 INDEX;
#else
typedef u32 INDEX;
#endif

/* ---- the atomics ----------------------------------------------------------------------------- */

#ifdef __CUDA_ARCH__
INLINE void lower_to(POSITION *at, POSITION value) {
    atomicMin(at, value);
}
INLINE void raise_to(POSITION *at, POSITION value) {
    atomicMax(at, value);
}
#elif POSITION_BYTES == 8 && (CHECKED || LAST)
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
/* The atomic minimum and maximum belong to another extension, cl_khr_int64_extended_atomics. So
 * these are loops of compare-and-swap. They begin without a plain read, which would be a race. */
INLINE void lower_to(ATOMIC u64 *at, u64 value) {
    u64 seen = NONE, before;
    while (value < seen && (before = atom_cmpxchg(at, seen, value)) != seen) seen = before;
}
INLINE void raise_to(ATOMIC u64 *at, u64 value) {
    u64 seen = 0, before;
    while (value > seen && (before = atom_cmpxchg(at, seen, value)) != seen) seen = before;
}
#else
#define lower_to(at, value) atomic_min(at, value)
#define raise_to(at, value) atomic_max(at, value)
#endif

/* ---- entries --------------------------------------------------------------------------------- */

/* The arrays that say which entries count, and the number of items that they may name. */
typedef struct {
    GLOBAL const MAP *map;
    GLOBAL const u8 *stencil;
    GLOBAL const POSITION *winners;
    u64 items;
} ENTRIES;

/*
 * Returns true if entry i is to be moved, and sets *index to the item that it names. A negative
 * entry is beyond all items as an unsigned index. Lowers *bad to i if the entry is out of bounds.
 */
INLINE bool heeded(ENTRIES e, u64 i, INDEX *index, POSITION *bad) {
    *index = (INDEX)e.map[i];
#if STENCIL
    const bool wanted = e.stencil[i] != 0;
#else
    const bool wanted = true;
#endif
#if CHECKED
    const bool inside = *index < e.items;
    if (wanted && !inside && (POSITION)i < *bad) *bad = (POSITION)i;
    return wanted && inside;
#else
    return wanted;
#endif
}

/* ---- moving ---------------------------------------------------------------------------------- */

/* Moves entry i alone. */
INLINE void move_one(ENTRIES e, GLOBAL const MOVED *in, GLOBAL MOVED *out, u64 i, POSITION *bad) {
    INDEX index;
    if (!heeded(e, i, &index, bad)) return;
#if LAST
    if (e.winners[index] != (POSITION)(i + 1)) return;
#endif
    out[SCATTER ? index : i] = in[SCATTER ? i : index];
}

/* Moves the thread's entries of a whole tile: begin, begin + GROUP, ... */
INLINE void move_tile(ENTRIES e, GLOBAL const MOVED *in, GLOBAL MOVED *out, u64 begin, POSITION *bad) {
    INDEX index[FLIGHT];
    MOVED item[FLIGHT];
#if STENCIL || LAST
    bool take[FLIGHT];
#pragma unroll
    for (int f = 0; f < FLIGHT; f++) take[f] = heeded(e, begin + f * GROUP, &index[f], bad);
#if LAST
#pragma unroll
    for (int f = 0; f < FLIGHT; f++)
        if (take[f]) take[f] = e.winners[index[f]] == (POSITION)(begin + f * GROUP + 1);
#endif
#pragma unroll
    for (int f = 0; f < FLIGHT; f++)
        if (take[f]) item[f] = in[SCATTER ? begin + f * GROUP : index[f]];
#pragma unroll
    for (int f = 0; f < FLIGHT; f++)
        if (take[f]) out[SCATTER ? index[f] : begin + f * GROUP] = item[f];
#else
    /* All entries are moved in most tiles, so one test for all is cheaper than a predicate for
     * each. */
    bool every = true;
#pragma unroll
    for (int f = 0; f < FLIGHT; f++) index[f] = (INDEX)e.map[begin + f * GROUP];
#if CHECKED
#pragma unroll
    for (int f = 0; f < FLIGHT; f++) every = every & (index[f] < e.items);
#endif
    if (every) {
#pragma unroll
        for (int f = 0; f < FLIGHT; f++) item[f] = in[SCATTER ? begin + f * GROUP : index[f]];
#pragma unroll
        for (int f = 0; f < FLIGHT; f++) out[SCATTER ? index[f] : begin + f * GROUP] = item[f];
    } else {
        KEEP_ROLLED
        for (int f = 0; f < FLIGHT; f++) move_one(e, in, out, begin + f * GROUP, bad);
    }
#endif
}

#if WORD_BYTES > 1
/* Moves the entries [begin, end) byte by byte. */
INLINE void move_bytes(ENTRIES e, GLOBAL const u8 *in, GLOBAL u8 *out, u64 begin, u64 end, POSITION *bad) {
    for (u64 i = begin + THREAD_ID; i < end; i += GROUP) {
        INDEX index;
        if (!heeded(e, i, &index, bad)) continue;
#if LAST
        if (e.winners[index] != (POSITION)(i + 1)) continue;
#endif
        GLOBAL const u8 *from = in + (SCATTER ? i : (u64)index) * ITEM_BYTES;
        GLOBAL u8 *to = out + (SCATTER ? (u64)index : i) * ITEM_BYTES;
        for (int b = 0; b < ITEM_BYTES; b++) to[b] = from[b];
    }
}
#endif

KERNEL MOVE_BOUNDS void tally_move(GLOBAL const MAP *map, u64 map_offset, u64 n, u64 run, GLOBAL const u8 *in, u64 in_offset,
                                   u64 items, GLOBAL const u8 *stencil, u64 stencil_offset, GLOBAL u8 *out, u64 out_offset,
                                   ATOMIC POSITION *bad, GLOBAL const POSITION *winners) {
    const u64 begin = GROUP_ID * run, end = min(n, begin + run);
    ENTRIES e;
    e.map = map + map_offset;
    e.stencil = stencil + stencil_offset;
    e.winners = winners;
    e.items = items;
    in += in_offset * ITEM_BYTES;
    out += out_offset * ITEM_BYTES;
    POSITION lowest = NONE;
#if WORD_BYTES > 1
    if (((size_t)in | (size_t)out) % WORD_BYTES != 0) {
        move_bytes(e, in, out, begin, end, &lowest);
    } else
#endif
    {
        GLOBAL const MOVED *from = (GLOBAL const MOVED *)in;
        GLOBAL MOVED *to = (GLOBAL MOVED *)out;
        u64 i = begin + THREAD_ID;
        for (; i + (TILE - GROUP) < end; i += TILE) move_tile(e, from, to, i, &lowest);
        for (; i < end; i += GROUP) move_one(e, from, to, i, &lowest);
    }
#if CHECKED
    if (lowest != NONE) lower_to(bad, lowest);
#endif
}

/* ---- the last entry wins --------------------------------------------------------------------- */

#if LAST
KERNEL MOVE_BOUNDS void tally_clear(GLOBAL POSITION *winners, u64 count, u64 run) {
    const u64 begin = GROUP_ID * run, end = min(count, begin + run);
    for (u64 i = begin + THREAD_ID; i < end; i += GROUP) winners[i] = 0;
}

KERNEL MOVE_BOUNDS void tally_claim(GLOBAL const MAP *map, u64 map_offset, u64 n, u64 run, u64 items, GLOBAL const u8 *stencil,
                                    u64 stencil_offset, ATOMIC POSITION *winners) {
    const u64 begin = GROUP_ID * run, end = min(n, begin + run);
    ENTRIES e;
    e.map = map + map_offset;
    e.stencil = stencil + stencil_offset;
    e.items = items;
    POSITION lowest = NONE;
    for (u64 i = begin + THREAD_ID; i < end; i += GROUP) {
        INDEX index;
        if (heeded(e, i, &index, &lowest)) raise_to(&winners[index], (POSITION)(i + 1));
    }
}
#endif
