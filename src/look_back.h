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

INLINE STATUS read_word(GLOBAL u64 *word) {
    STATUS s;
#ifdef PACKED
    asm volatile("ld.relaxed.gpu.u64 %0, [%1];" : "=l"(s.word) : "l"(word) : "memory");
#else
    asm volatile("ld.acquire.gpu.u32 %0, [%1];" : "=r"(s.part.state) : "l"(word) : "memory");
#endif
    return s;
}

/* What a word that was read says is there, and the value; 0: nothing of this call. Of a block's two values the one that the word says. */
INLINE u32 look(STATUS s, GLOBAL const SCAN *total, GLOBAL const SCAN *prefix, u32 tag, SCAN *v) {
    if (s.part.state >> 2 != tag) return 0;
#ifdef PACKED
    *v = s.packed.value;
#else
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
        const ITEM_CELL cell = open_cell(c, k, load_cell(c, k));
        const SCAN total = shuffle_from(scan_across(cell_total(c, &cell, k), t), WIDTH - 1);
        if (row == 0 || t == row) mine = total;
    }
    return shuffle_from(scan_across(mine, t), WIDTH - 1);
}

/* The scan of the totals of a block's first tiles, without waiting: `own` is that of the last of them, if `has_own`. */
INLINE SCAN tiles_by_hand(const CALL *c, const STATE *state, u64 block, u32 count, u32 has_own, SCAN own, u32 t) {
    SCAN part = own;
    const u64 tile = block * WIDTH + t;
    u32 ready = t + has_own >= count;
    if (!ready) ready = look(read_word(state->tile + tile), state->tile_total + tile, state->tile_total, state->tag, &part);
    for (u32 missing = ~vote_of(ready); missing; missing &= missing - 1) {
        const u32 who = 31U - LEADING_ZEROS(missing & (0U - missing));
        const SCAN total = total_of_tile(c, block * WIDTH + who, t);
        FENCE
        if (t == who && !look(read_word(state->tile + tile), state->tile_total + tile, state->tile_total, state->tag, &part)) {
            part = total;
#ifdef PACKED
            publish(state->tile + tile, state->tile_total + tile, total, state->tag, TOTAL);
#endif
        }
    }
    return scan_across(part, t);
}

/* All 32 items see what item 0 does. */
INLINE u32 look_at_block(const STATE *state, u64 block, SCAN *v) {
    const u32 is =
        look(read_word(state->block + block), state->block_total + block, state->block_prefix + block, state->tag, v);
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
        if (is == 0) v = shuffle_from(tiles_by_hand(c, state, b, WIDTH, 0, all, t), WIDTH - 1);
        all = is == PREFIX ? v : scan_join(has, all, v);
    }
    return all;
}

/*
 * By the first warp: what is before the tile and what is before and with it, of which `own` is the total (in item 31). Item t looks at the block's tile
 * t, and at the block t + 1 before; beyond the first one is what the call continues from. The test of the fallback holds every fifth group back for
 * milliseconds.
 */
INLINE void look_back(const CALL *c, const STATE *state, u64 tile, SCAN own, u32 t, LOCAL TILE_SHARED *shared) {
    const u64 block = tile / WIDTH, neighbour = tile - tile % WIDTH + t, other = block - 1 - t;
    const u32 q = (u32)(tile % WIDTH);
    own = shuffle_from(own, WIDTH - 1);
#ifdef HOLD_BACK
    if (tile % 5 == 3)
        for (int i = 0; i < 4; i++) asm volatile("nanosleep.u32 1000000;");
#endif
    /* A block's last tile too: in place its items are gone once its values are there, which who computes its total must find out. */
    if (t == 0) publish(state->tile + tile, state->tile_total + tile, own, state->tag, TOTAL);

    SCAN part = own, chain = *state->carry; /* of the tile and of the block that the item looks at */
    u32 ready = t >= q, is = t == block ? PREFIX : 0, has_tiles = 0, has_chain = block == 0, near = 0;
    for (u32 looks = 0; looks < SPINS && !(has_tiles && has_chain); looks++) {
        const u32 wants_tile = !ready, wants_block = !has_chain && t < block && is != PREFIX;
        STATUS a, b;
        if (wants_tile) a = read_word(state->tile + neighbour);
        if (wants_block) b = read_word(state->block + other);
        if (wants_tile) ready = look(a, state->tile_total + neighbour, state->tile_total, state->tag, &part);
        if (wants_block) is = look(b, state->block_total + other, state->block_prefix + other, state->tag, &chain);
        if (!has_tiles && vote_of(ready) == 0xffffffffU) {
            has_tiles = 1;
            part = scan_across(part, t);
            if (t == WIDTH - 1 && q == WIDTH - 1 && block > 0)
                publish(state->block + block, state->block_total + block, part, state->tag, TOTAL);
        }
        const u32 prefixes = vote_of(is == PREFIX), some = vote_of(is != 0);
        if (!has_chain && prefixes) {
            near = 31U - LEADING_ZEROS(prefixes & (0U - prefixes));
            const u32 between = (1U << near) - 1;
            has_chain = (some & between) == between;
        }
    }
    if (!has_tiles) {
        part = tiles_by_hand(c, state, block, q + 1, 1, own, t);
        if (t == WIDTH - 1 && q == WIDTH - 1 && block > 0)
            publish(state->block + block, state->block_total + block, part, state->tag, TOTAL);
    }
    SCAN before = *state->carry;
    u32 has = state->continues;
    if (block > 0 && has_chain) {
        before = shuffle_from(chain, near);
        has = near != block || state->continues;
#pragma unroll 1
        for (u32 l = near; l-- > 0; has = 1) before = scan_join(has, before, shuffle_from(chain, l));
    } else if (block > 0) {
        before = prefix_by_hand(c, state, block, t);
        has = 1;
    }
    const SCAN end = scan_join(has, before, shuffle_from(part, q)), left = shuffle_from(part, q ? q - 1 : 0);
    if (t == 0) {
        if (q == WIDTH - 1) publish(state->block + block, state->block_prefix + block, end, state->tag, PREFIX);
        shared->before = q ? scan_join(has, before, left) : before;
        shared->end = end;
        if ((GLOBAL const void *)c->in.x == (GLOBAL const void *)c->out) FENCE /* in place the values come after the total */
    }
}
