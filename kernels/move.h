/* SPDX-License-Identifier: MIT */
/*
 * move: gather, out[i] = in[map[i]], and scatter, out[map[i]] = in[i].
 *
 * Computes: tally_move moves n items; the lowest position out of bounds goes to *bad (CHECKED), entries are heeded only where the stencil is not
 * zero (STENCIL). LAST, a scatter whose last entry wins: tally_clear sets a word for each item of `out` to 0, tally_claim raises it to
 * 1 + the highest position that names the item, and tally_move moves those that are it.
 * How: group g takes the entries [g * run, g * run + run), in tiles of GROUP * FLIGHT: item l of a group takes the entries l, l + GROUP, ... of
 * each, so that neighbours read and write neighbours, whatever the offsets; FLIGHT of an item's loads are under way at once. What is left of
 * a tile is moved entry by entry. An item is copied as words of WORD_BYTES, or, should wrapped memory not be aligned to them, as bytes.
 * Needs: for positions of 8 bytes, 64-bit atomics (cl_khr_int64_base_atomics). GROUP is 1 on CPUs, whose groups walk long runs.
 * Why: map and item are two loads, one after the other, for each item: many must be in flight.
 */
#if POSITION_BYTES == 8
typedef u64 POSITION;
#else
typedef u32 POSITION;
#endif
#define NONE (~(POSITION)0)
#define TILE (GROUP * FLIGHT)

/* Threads that a multiprocessor shall hold. 1,536 leave each 40 registers, and 8 loads of 4 bytes are 48 KiB in flight. With a
 * predicate for each entry that is too few for some sizes of items, which would spill; Turing's multiprocessors hold 1,024. */
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

/* What an entry is as an index: of 32 bits where the map has no more, for the registers. The host says that of i32 there are 2^31 at most. */
#if MAP_BYTES == 8
typedef u64 INDEX;
#else
typedef u32 INDEX;
#endif

/* ---- the atomics ---------------------------------------------------------------------------------------------------- */

#ifdef __CUDA_ARCH__
INLINE void lower_to(POSITION *at, POSITION value) {
    atomicMin(at, value);
}
INLINE void raise_to(POSITION *at, POSITION value) {
    atomicMax(at, value);
}
#elif POSITION_BYTES == 8 && (CHECKED || LAST)
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
/* cl_khr_int64_extended_atomics, which have the minimum and the maximum, are another extension. No plain read: it would be a race. */
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

/* ---- entries -------------------------------------------------------------------------------------------------------- */

/* What the entries are told by. */
typedef struct {
    GLOBAL const MAP *map;
    GLOBAL const u8 *stencil;
    GLOBAL const POSITION *winners;
    u64 items;
} ENTRIES;

/* Whether entry i is to be moved, and the item that it names. Of a negative one that is beyond all. */
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

/* ---- moving --------------------------------------------------------------------------------------------------------- */

/* Entry i by itself. */
INLINE void move_one(ENTRIES e, GLOBAL const MOVED *in, GLOBAL MOVED *out, u64 i, POSITION *bad) {
    INDEX index;
    if (!heeded(e, i, &index, bad)) return;
#if LAST
    if (e.winners[index] != (POSITION)(i + 1)) return;
#endif
    out[SCATTER ? index : i] = in[SCATTER ? i : index];
}

/* A tile from entry `begin` on, none of it beyond the last: the item's entries are begin, begin + GROUP, ... */
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
    /* Mostly all are moved: a predicate for each would only cost. */
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
/* The entries [begin, end), byte by byte. */
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

KERNEL MOVE_BOUNDS void tally_move(GLOBAL const MAP *map, u64 map_offset, u64 n, u64 run, GLOBAL const u8 *in, u64 in_offset, u64 items,
                       GLOBAL const u8 *stencil, u64 stencil_offset, GLOBAL u8 *out, u64 out_offset,
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

/* ---- the last entry wins ---------------------------------------------------------------------------------------------- */

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
