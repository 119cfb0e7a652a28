/* SPDX-License-Identifier: MIT */
/*
 * The look-back, the same in CUDA C and OpenCL C with NVIDIA's inline assembly: how a tile's group learns what is before its tile while other groups
 * still run. After src/scan_groups.h and the stem "scan", which says shuffle_from and vote_of.
 *
 * Each group publishes its tile's total as soon as it has it. The first warp of a group waits for the totals of the tiles before its own within the
 * block, and scans them: no chain of waits, for totals depend on no other group. The last tile of a block so has the block's total, and publishes
 * it. What is before the block is a chain, in sequence: from the nearest block before whose prefix is published, totals are added from the left to
 * the right, which are the same bits whichever block that is.
 *
 * A wait is bounded: after SPINS looks what is missing is computed from the items (as J. Smith, S. Levine and J. Owens call it, decoupled fallback):
 * the total of a tile by the warp itself. So a group needs no other group to run: there is no hang where groups are held back, however long. In
 * place, a group's values overwrite items only after its total is published, behind a fence: what was read before a look that finds no total was
 * items.
 *
 * A published word holds the call's tag: nothing is cleared between calls. The tag counts the calls in memory, where captured launches find it too.
 */
#ifndef SPINS
#define SPINS 2048 /* looks of about a microsecond */
#endif
#define TOTAL 1U  /* what a word says is there */
#define PREFIX 2U /* of a block: what is before and with it */

#if ACC_BYTES == 4 && !defined(SEGMENTED)
#define PACKED /* the word holds the value too */
#endif

typedef union {
    u64 word;
    struct {
        u32 state;
        u32 bits;
    } part;
#ifdef PACKED
    struct {
        u32 state;
        SCAN value;
    } packed;
#endif
} STATUS;

INLINE void publish(GLOBAL u64 *word, GLOBAL SCAN *value, SCAN v, u32 tag, u32 state) {
    STATUS s;
    s.part.state = tag << 2 | state;
#ifdef PACKED
    s.packed.value = v;
    asm volatile("st.relaxed.gpu.u64 [%0], %1;" ::"l"(word), "l"(s.word) : "memory");
#else
    *value = v;
    asm volatile("st.release.gpu.u32 [%0], %1;" ::"l"(word), "r"(s.part.state) : "memory");
#endif
}

/* What the word says is there, and the value; 0: nothing of this call. Of a block's two values the one that the word says. */
INLINE u32 look(GLOBAL u64 *word, GLOBAL const SCAN *total, GLOBAL const SCAN *prefix, u32 tag, SCAN *v) {
    STATUS s;
#ifdef PACKED
    asm volatile("ld.relaxed.gpu.u64 %0, [%1];" : "=l"(s.word) : "l"(word) : "memory");
    if (s.part.state >> 2 != tag) return 0;
    *v = s.packed.value;
#else
    asm volatile("ld.acquire.gpu.u32 %0, [%1];" : "=r"(s.part.state) : "l"(word) : "memory");
    if (s.part.state >> 2 != tag) return 0;
    *v = (s.part.state & 3) == PREFIX ? *prefix : *total;
#endif
    return s.part.state & 3;
}

typedef struct {
    GLOBAL u64 *tile, *block; /* words */
    GLOBAL SCAN *tile_total, *block_total, *block_prefix;
    const SCAN *carry;
    u32 continues, tag;
} STATE;

/* A tile's total, from its items, by one warp. */
INLINE SCAN total_of_tile(const CALL *c, u64 tile, u32 t) {
    SCAN mine;
#pragma unroll 1
    for (u32 row = 0; row < WIDTH; row++) {
        const u64 k = tile * TILE_ITEMS + (row * WIDTH + t) * CELL;
        const ITEM_CELL cell = load_cell(c, k);
        const SCAN total = shuffle_from(scan_across(cell_total(c, &cell, k), t), WIDTH - 1);
        if (row == 0 || t == row) mine = total;
    }
    return shuffle_from(scan_across(mine, t), WIDTH - 1);
}

/* The scan of the totals of a block's first tiles: `own` is that of the last of them, if `has_own`; the others are waited for, `spins` looks. */
INLINE SCAN scan_tiles(const CALL *c, const STATE *state, u64 block, u32 count, u32 has_own, SCAN own, u32 spins, u32 t) {
    SCAN part = own;
    u32 ready = t + has_own >= count;
    const u64 tile = block * WIDTH + t;
    for (u32 looks = 0;; looks++) {
        if (!ready) ready = look(state->tile + tile, state->tile_total + tile, state->tile_total, state->tag, &part);
        const u32 missing = ~vote_of(ready);
        if (!missing) break;
        if (looks < spins) continue;
        const u32 who = 31U - LEADING_ZEROS(missing);
        const SCAN total = total_of_tile(c, block * WIDTH + who, t);
        FENCE
        if (t == who && !look(state->tile + tile, state->tile_total + tile, state->tile_total, state->tag, &part)) {
            part = total;
#ifdef PACKED
            publish(state->tile + tile, state->tile_total + tile, total, state->tag, TOTAL);
#endif
        }
        if (t == who) ready = 1;
    }
    return scan_across(part, t);
}

/* All 32 items see what item 0 does. */
INLINE u32 look_at_block(const STATE *state, u64 block, SCAN *v) {
    const u32 is = look(state->block + block, state->block_total + block, state->block_prefix + block, state->tag, v);
    *v = shuffle_from(*v, 0);
    return shuffle_word(is, 0);
}

/* What is before the block: without waiting for anybody. */
INLINE SCAN prefix_by_hand(const CALL *c, const STATE *state, u64 block, u32 t) {
    SCAN all = *state->carry, v = all;
    u32 has = state->continues;
    u64 b = block;
    while (b > 0 && look_at_block(state, b - 1, &v) != PREFIX) b--;
    if (b > 0) {
        all = v;
        has = 1;
    }
#pragma unroll 1
    for (; b < block; b++, has = 1) {
        const u32 is = look_at_block(state, b, &v);
        if (is == 0) v = shuffle_from(scan_tiles(c, state, b, WIDTH, 0, all, 0, t), WIDTH - 1);
        all = is == PREFIX ? v : scan_join(has, all, v);
    }
    return all;
}

/* What is before the block; it is no first one. Item t looks at the block t + 1 before; beyond the first one is what the call continues from. */
INLINE SCAN prefix_of_block(const CALL *c, const STATE *state, u64 block, u32 t) {
    SCAN v = *state->carry;
    const u64 other = block - 1 - t;
    u32 is = t == block ? PREFIX : 0, near = 0;
    for (u32 looks = 0;; looks++) {
        if (t < block && is != PREFIX)
            is = look(state->block + other, state->block_total + other, state->block_prefix + other, state->tag, &v);
        const u32 prefixes = vote_of(is == PREFIX), some = vote_of(is != 0);
        if (prefixes) {
            near = 31U - LEADING_ZEROS(prefixes & (0U - prefixes));
            const u32 between = (1U << near) - 1;
            if ((some & between) == between) break;
        }
        if (looks >= SPINS) return prefix_by_hand(c, state, block, t);
    }
    SCAN all = shuffle_from(v, near);
    u32 has = near != block || state->continues;
#pragma unroll 1
    for (u32 l = near; l-- > 0; has = 1) all = scan_join(has, all, shuffle_from(v, l));
    return all;
}

/*
 * By the first warp: what is before the tile and what is before and with it, of which `own` is the total (in item 31). The test of the fallback holds
 * every fifth group back for milliseconds.
 */
INLINE void look_back(const CALL *c, const STATE *state, u64 tile, SCAN own, u32 t, LOCAL TILE_SHARED *shared) {
    const u64 block = tile / WIDTH;
    const u32 q = (u32)(tile % WIDTH);
    own = shuffle_from(own, WIDTH - 1);
#ifdef HOLD_BACK
    if (tile % 5 == 3)
        for (int i = 0; i < 4; i++) asm volatile("nanosleep.u32 1000000;");
#endif
    if (t == 0 && q < WIDTH - 1) publish(state->tile + tile, state->tile_total + tile, own, state->tag, TOTAL);
    const SCAN tiles = scan_tiles(c, state, block, q + 1, 1, own, SPINS, t);
    const SCAN with = shuffle_from(tiles, q), left = shuffle_from(tiles, q ? q - 1 : 0);
    if (t == 0 && q == WIDTH - 1 && block > 0) publish(state->block + block, state->block_total + block, with, state->tag, TOTAL);
    const u32 has = block > 0 || state->continues;
    SCAN before = *state->carry;
    if (block > 0) before = prefix_of_block(c, state, block, t);
    const SCAN end = scan_join(has, before, with);
    if (t == 0) {
        if (q == WIDTH - 1) publish(state->block + block, state->block_prefix + block, end, state->tag, PREFIX);
        shared->before = q ? scan_join(has, before, left) : before;
        shared->end = end;
        FENCE /* in place: the values come after the total */
    }
}
