/* SPDX-License-Identifier: MIT */
/*
 * The look-back, the same in CUDA C and OpenCL C with NVIDIA's inline assembly: how a group learns what is before its tiles while other groups
 * still run, and the kernel. After kernels/scan_groups.h, the stem "scan", which says shuffle_from and vote_of, kernels/published.h and the
 * stem "look_back".
 *
 * Each group publishes its tiles' totals as soon as it has them. The first warp of a group waits for the totals of the tiles before its own within the
 * block, and scans them: no chain of waits, for totals depend on no other group. The last group of a block so has the block's total, and publishes
 * it. What is before the block is a chain, in sequence: from the nearest block before whose prefix is published, totals are added from the left to
 * the right, which are the same bits whichever block that is.
 *
 * A wait is bounded: after SPINS looks what is missing is computed from the items (as J. Smith, S. Levine and J. Owens call it, decoupled fallback):
 * the total of a tile by the warp itself. So a group needs no other group to run: there is no hang where groups are held back, however long. In
 * place, a group's values overwrite items only after its total is published, behind a fence: what was read before a look that finds no total was
 * items.
 */
#ifndef SPINS
#define SPINS 2048 /* looks of about a microsecond */
#endif

INLINE u32 count_up(GLOBAL u64 *word, u32 last) {
    u32 before;
    asm volatile("atom.acq_rel.gpu.inc.u32 %0, [%1], %2;" : "=r"(before) : "l"((GLOBAL u32 *)word), "r"(last) : "memory");
    return before == last;
}

/* By one item of each group, once it has read the tag: when all have, the next call's tag is this one's successor. */
INLINE void count_group(const STATE *state, u64 group, u64 groups) {
    const u64 each = WIDTH / TILES_EACH, block = group / each, last = (groups - 1) / each;
    const u32 members = (u32)(block < last ? each : (groups - 1) % each + 1);
    if (count_up(words_of_block(state, block + 1) - LINE, members - 1) && count_up(state->words + LINE, (u32)last))
        *(volatile GLOBAL u32 *)state->words = state->tag;
}

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

/* The scan of the totals of a block's tiles, without waiting. Item t has that of tile t already (`ready`, `part`), or its tile is not asked for. */
INLINE SCAN tiles_by_hand(const CALL *c, const STATE *state, u64 block, u32 ready, SCAN part, u32 t) {
    GLOBAL u64 *words = words_of_tile(state, block * WIDTH + t);
    if (!ready) ready = look(see(words), state->tag, &part);
    for (u32 missing = ~vote_of(ready); missing; missing &= missing - 1) {
        const u32 who = 31U - LEADING_ZEROS(missing & (0U - missing));
        const SCAN total = total_of_tile(c, block * WIDTH + who, t);
        FENCE
        if (t == who && !look(see(words), state->tag, &part)) {
            part = total;
            publish(words, total, state->tag, TOTAL);
        }
    }
    return scan_across(part, t);
}

/* All 32 items see what item 0 does. */
INLINE u32 look_at_block(const STATE *state, u64 block, SCAN *v) {
    const u32 is = look(see(words_of_block(state, block)), state->tag, v);
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
        if (is == 0) v = shuffle_from(tiles_by_hand(c, state, b, 0, all, t), WIDTH - 1);
        all = is == PREFIX ? v : scan_join(has, all, v);
    }
    return all;
}

/*
 * By the first warp: what is before each of the group's tiles and what is before and with it, of which `own` is the totals (in items 0, 1, ...), and
 * so for their rows, which `shared` has the scans of. Item t looks at the block's tile t, and at the block t + 1 before; beyond the first one is what
 * the call continues from. The test of the fallback holds every fifth group back for milliseconds.
 */
INLINE void look_back(const CALL *c, const STATE *state, u64 tile, SCAN own, u32 t, LOCAL TILE_SHARED *shared) {
    const u64 block = tile / WIDTH;
    const u32 q = (u32)(tile % WIDTH), ends_block = t == WIDTH - 1 && q + TILES_EACH == WIDTH;
    GLOBAL u64 *neighbour = words_of_tile(state, block * WIDTH + t);
    GLOBAL u64 *other = words_of_block(state, block - 1 - t), *block_words = words_of_block(state, block);
#ifdef HOLD_BACK
    if (tile / TILES_EACH % 5 == 3)
        for (int i = 0; i < 4; i++) asm volatile("nanosleep.u32 1000000;");
#endif
    SCAN part = shuffle_from(own, t - q), chain = *state->carry; /* of the tile and of the block that the item looks at */
    u32 ready = t >= q, is = t == block ? PREFIX : 0, has_tiles = 0, has_chain = block == 0, near = 0;
    /* A block's last tile too: in place its items are gone once its values are there, which who computes its total must find out. */
    if (ready && t < q + TILES_EACH) publish(neighbour, part, state->tag, TOTAL);
    for (u32 looks = 0; looks < SPINS && !(has_tiles && has_chain); looks++) {
        const u32 wants_tile = !ready, wants_block = !has_chain && t < block && is != PREFIX;
        SEEN a, b;
        if (wants_tile) a = see(neighbour);
        if (wants_block) b = see(other);
        if (wants_tile) ready = look(a, state->tag, &part);
        if (wants_block) is = look(b, state->tag, &chain);
        if (!has_tiles && vote_of(ready) == 0xffffffffU) {
            has_tiles = 1;
            part = scan_across(part, t);
            if (ends_block && block > 0) publish(block_words, part, state->tag, TOTAL);
        }
        const u32 prefixes = vote_of(is == PREFIX), some = vote_of(is != 0);
        if (!has_chain && prefixes) {
            near = 31U - LEADING_ZEROS(prefixes & (0U - prefixes));
            const u32 between = (1U << near) - 1;
            has_chain = (some & between) == between;
        }
    }
    if (!has_tiles) {
        part = tiles_by_hand(c, state, block, ready, part, t);
        if (ends_block && block > 0) publish(block_words, part, state->tag, TOTAL);
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
    const SCAN end = scan_join(has, before, part);
    if (ends_block) publish(block_words, end, state->tag, PREFIX);
#pragma unroll
    for (u32 j = 0; j < TILES_EACH; j++) {
        const SCAN left = shuffle_from(end, q + j - 1);
        put_row(shared, j, t, has || q + j, q + j ? left : before, shuffle_from(end, q + j), shared->rows[j * WIDTH + t + 1]);
    }
    if ((GLOBAL const void *)c->in.x == (GLOBAL const void *)c->out) FENCE /* in place the values come after the totals */
}

/* ---- items in shared memory --------------------------------------------------------------------------------------------- */

/*
 * Where the device has an engine for copies (sm_90), a group's items wait in shared memory: fewer registers, so more groups, and loads and stores
 * that queue for memory are no longer before the looks. 2^28 f32, H200, CUDA, November 2026: 617 us, from registers 664; f16 342 and 402.
 */
#ifdef STAGED
#define SHARED_ITEMS (TILES_EACH * (u32)TILE_ITEMS)

/* The items as they lie in memory, of a reverse scan too. */
typedef struct ALIGN(16) {
    ITEM item[SHARED_ITEMS];
    u64 arrived;
} SHARED_TILES;

/* Begins to copy all at once, where all are there and aligned: 1; else each item of the group copies its own cells. */
INLINE u32 begin_copy(const CALL *c, u64 begin, LOCAL SHARED_TILES *to, u32 item) {
    GLOBAL const ITEM *from = c->in.x + LOWEST_PLACE(begin, SHARED_ITEMS, c->n);
    if (begin + SHARED_ITEMS <= c->n && (size_t)from % 16 == 0) {
        const u32 arrived = SHARED_ADDRESS(&to->arrived), bytes = SHARED_ITEMS * ITEM_BYTES;
        if (item == 0) {
            asm volatile("mbarrier.init.shared.b64 [%0], 1;\n\tfence.mbarrier_init.release.cluster;" ::"r"(arrived) : "memory");
            asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(arrived), "r"(bytes) : "memory");
            asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                             SHARED_ADDRESS(to->item)),
                         "l"(from), "r"(bytes), "r"(arrived)
                         : "memory");
        }
        return 1;
    }
#pragma unroll 1
    for (u32 w = 0; w < ROWS_EACH; w++) {
        const u32 at = (ROW(w) * WIDTH + item % WIDTH) * CELL;
        const WIDE_ITEMS raw = load_cell(c, begin + at < c->n ? begin + at : begin);
#pragma unroll
        for (int j = 0; j < CELL; j++) to->item[LOWEST_PLACE(at, CELL, SHARED_ITEMS) + j] = raw.item[j];
    }
    return 0;
}

INLINE void end_copy(LOCAL SHARED_TILES *to, u32 at_once) {
    u32 done = !at_once;
    BARRIER
    while (!done)
        asm volatile("{.reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], 0; selp.u32 %0, 1, 0, p;}"
                     : "=r"(done)
                     : "r"(SHARED_ADDRESS(&to->arrived))
                     : "memory");
}

INLINE WIDE_ITEMS shared_cell(LOCAL const SHARED_TILES *from, u32 at) {
    WIDE_ITEMS w;
    LOCAL const ITEM *cell = from->item + LOWEST_PLACE(at, CELL, SHARED_ITEMS);
    if (CELL_BYTES == 32) { /* four items and the next four begin with different halves, which are in different banks */
        LOCAL const ITEM_VECTOR *halves = (LOCAL const ITEM_VECTOR *)cell;
        const u32 second = at / (4 * CELL) & 1;
        const ITEM_VECTOR one = halves[second], other = halves[second ^ 1];
        w.vector[0] = second ? other : one;
        w.vector[1] = second ? one : other;
    } else {
        READ_CELL(LOCAL, w, cell, CELL_BYTES, ITEM_VECTOR)
    }
    return w;
}
#endif

/* ---- the kernel --------------------------------------------------------------------------------------------------------- */

KERNEL LOOK_BACK_BOUNDS void tally_scan_items(SCAN_ARGS) {
    SHARED TILE_SHARED shared;
    SCAN_OPEN(c)
    const u64 tile = GROUP_ID * TILES_EACH, begin = tile * TILE_ITEMS;
    const u32 has = tile > 0 || CONTINUES(flow);
    SCAN_TILE(const SCAN carry = values[CARRY_FROM(flow)]; const u32 calls = *(volatile GLOBAL u32 *)words;)
    const STATE state = state_of(words, capacity, &carry, CONTINUES(flow), calls);
    if (item == GROUP - WIDTH) count_group(&state, GROUP_ID, GROUP_COUNT);
    if (item < WIDTH) {
        SCAN own = carry;
#pragma unroll
        for (int j = 0; j < TILES_EACH; j++) {
            const SCAN rows_part = scan_across(shared.rows[j * WIDTH + t + 1], t), total = shuffle_from(rows_part, WIDTH - 1);
            shared.rows[j * WIDTH + t + 1] = rows_part;
            if (t == j) own = total;
        }
        look_back(&c, &state, tile, own, t, &shared);
        const u64 last = TILES - 1 - tile;
        if (t == WIDTH - 1 && last < TILES_EACH) values[CARRY_TO(flow)] = shared.rows[(last + 1) * WIDTH];
    }
    BARRIER
    STORE_TILE
}
