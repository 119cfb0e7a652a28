/* SPDX-License-Identifier: MIT */
/*
 * look_back_tiles: the kernel of the variant look_back, and how its groups look back at others.
 * CUDA C, and OpenCL C with NVIDIA's inline assembly.
 *
 * Computes: the scan of n items in one launch. It reads every item once.
 * How: each group publishes the aggregates of its tiles as soon as it has them. The first warp of a
 * group waits for the aggregates of the tiles before its own within the block and scans them. These
 * waits form no chain, because an aggregate depends on no other group. So the last group of a block
 * has the block's aggregate, and publishes it. The blocks' prefixes are a chain in sequence. A
 * group starts from the nearest earlier block that has published its inclusive prefix, and combines
 * it with the aggregates of the blocks between, from left to right. The bits are the same whichever
 * block that is.
 *
 * A wait is bounded. After SPINS polls the warp computes the missing aggregates from the items, as
 * J. Smith, S. Levine and J. Owens' decoupled fallback does. So no group needs another one to run,
 * and nothing hangs where groups are held back, however long. In place, a group publishes its
 * aggregates, then executes a fence, and then stores its results. So if a warp reads items and
 * still finds no aggregate published after that, no result has overwritten these items.
 * Needs: kernels/published.h and the stem "look_back" before it, and from the stem "scan"
 * shuffle_from and vote_of.
 * Why: memory speed. It stands once for both languages.
 */
#ifndef SPINS
#define SPINS 2048 /* polls, of about a microsecond each */
#endif

/* Adds 1 to a counter, which goes from `last` back to 0. Returns 1 in that case, else 0. */
INLINE u32 count_up(GLOBAL u64 *word, u32 last) {
    u32 before;
    asm volatile("atom.acq_rel.gpu.inc.u32 %0, [%1], %2;" : "=r"(before) : "l"((GLOBAL u32 *)word), "r"(last) : "memory");
    return before == last;
}

/* Counts a group that has read the tag; one thread of each group calls it. The last of all groups
 * raises the number of calls in memory, so that the next call gets the next tag. A block counts its
 * own groups, and its last one counts the block. */
INLINE void count_group(const STATE *state, u64 group, u64 groups) {
    const u64 each = WIDTH / TILES_EACH, block = group / each, last = (groups - 1) / each;
    const u32 members = (u32)(block < last ? each : (groups - 1) % each + 1);
    if (count_up(words_of_block(state, block + 1) - LINE, members - 1) && count_up(state->words + LINE, (u32)last))
        *(volatile GLOBAL u32 *)state->words = state->tag;
}

/* Computes a tile's aggregate from its items, by one warp. Every thread gets it. */
INLINE SCAN tile_aggregate(const CALL *c, u64 tile, u32 t) {
    SCAN mine;
#pragma unroll 1
    for (u32 row = 0; row < WIDTH; row++) {
        const u64 k = tile * TILE_ITEMS + (row * WIDTH + t) * CELL;
        const ITEM_CELL cell = open_cell(c, k, load_cell(c, k));
        const SCAN aggregate = shuffle_from(scan_across(cell_aggregate(c, &cell, k), t), WIDTH - 1);
        if (row == 0 || t == row) mine = aggregate;
    }
    return shuffle_from(scan_across(mine, t), WIDTH - 1);
}

/*
 * The fallback: scans the aggregates of a block's tiles without waiting. Thread t returns the
 * combination of the block's tiles 0 to t. A thread t that is `ready` has the aggregate of tile t
 * in `part`, or its result is not used. The other aggregates are taken if they are published, else
 * computed from the items.
 */
INLINE SCAN tiles_by_fallback(const CALL *c, const STATE *state, u64 block, u32 ready, SCAN part, u32 t) {
    GLOBAL u64 *words = words_of_tile(state, block * WIDTH + t);
    if (!ready) ready = look(see(words), state->tag, &part);
    for (u32 missing = ~vote_of(ready); missing; missing &= missing - 1) {
        const u32 who = 31U - LEADING_ZEROS(missing & (0U - missing));
        const SCAN aggregate = tile_aggregate(c, block * WIDTH + who, t);
        FENCE
        if (t == who && !look(see(words), state->tag, &part)) {
            part = aggregate;
            publish(words, aggregate, state->tag, AGGREGATE);
        }
    }
    return scan_across(part, t);
}

/* Returns the block's state, and sets *v to what it has published. Thread 0 of the warp looks, and
 * all 32 threads get what it sees. */
INLINE u32 look_at_block(const STATE *state, u64 block, SCAN *v) {
    const u32 is = look(see(words_of_block(state, block)), state->tag, v);
    *v = shuffle_from(*v, 0);
    return shuffle_word(is, 0);
}

/*
 * Publishes the aggregates of the group's tiles, looks back, and turns shared->rows into the rows'
 * inclusive prefixes. The group's first warp calls it.
 *
 * On entry thread j has the aggregate of the group's tile j in `own`, and shared->rows has each
 * tile's scan of its rows. `tile` is the group's first tile, which is tile q of its block. Thread t
 * polls tile t of the block, and the block `block - 1 - t`. The call's carry counts as the
 * inclusive prefix of a block before block 0. With HOLD_BACK, which the fallback's test defines,
 * every fifth group sleeps for milliseconds first.
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
    /*
     * The values in thread t: `part` is the aggregate of tile t of the block, and `ready` is 1 once
     * it is known. `chain` is what the block `block - 1 - t` has published, and `is` its state.
     * `near` is the thread of the nearest block with an inclusive prefix.
     */
    SCAN part = shuffle_from(own, t - q), chain = *state->carry;
    u32 ready = t >= q, is = t == block ? PREFIX : 0, has_tiles = 0, has_chain = block == 0, near = 0;
    /* Nobody waits for the aggregate of a block's last tile, but a fallback must see it: in place
     * the tile's items are gone once its results are stored. */
    if (ready && t < q + TILES_EACH) publish(neighbour, part, state->tag, AGGREGATE);
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
            if (ends_block && block > 0) publish(block_words, part, state->tag, AGGREGATE);
        }
        const u32 prefixes = vote_of(is == PREFIX), some = vote_of(is != 0);
        if (!has_chain && prefixes) {
            near = 31U - LEADING_ZEROS(prefixes & (0U - prefixes));
            const u32 between = (1U << near) - 1;
            has_chain = (some & between) == between;
        }
    }
    SCAN exclusive = *state->carry; /* of the block */
    u32 has = state->continues;
    u64 b = block; /* the first block that `exclusive` lacks */
    if (block > 0 && has_chain) {
        exclusive = shuffle_from(chain, near);
        has = near != block || state->continues;
#pragma unroll 1
        for (u32 l = near; l-- > 0; has = 1) exclusive = scan_join(has, exclusive, shuffle_from(chain, l));
    } else if (block > 0) { /* the fallback begins at the nearest inclusive prefix, or else at the call's carry */
        while (b > 0 && look_at_block(state, b - 1, &chain) != PREFIX) b--;
        if (b > 0) exclusive = chain, has = 1;
    }
#pragma unroll 1
    for (; b < block || !has_tiles; b++, has = 1) {
        const u32 is = b < block ? look_at_block(state, b, &chain) : 0;
        SCAN tiles = part;
        if (!is) tiles = tiles_by_fallback(c, state, b, b == block && ready, part, t);
        if (b == block) {
            part = tiles;
            if (ends_block && block > 0) publish(block_words, part, state->tag, AGGREGATE);
            break;
        }
        if (!is) chain = shuffle_from(tiles, WIDTH - 1);
        exclusive = is == PREFIX ? chain : scan_join(has, exclusive, chain);
    }
    const SCAN inclusive = scan_join(has, exclusive, part); /* in thread t: of the block's tile t */
    if (ends_block) publish(block_words, inclusive, state->tag, PREFIX);
#pragma unroll
    for (u32 j = 0; j < TILES_EACH; j++) {
        const SCAN left = shuffle_from(inclusive, q + j - 1);
        put_row(shared, j, t, has || q + j, q + j ? left : exclusive, shuffle_from(inclusive, q + j),
                shared->rows[j * WIDTH + t + 1]);
    }
    /* The fence orders the aggregates before the results, which replace the items in place. */
    if ((GLOBAL const void *)c->in.x == (GLOBAL const void *)c->out) {
        FENCE
    }
}

/* ---- items in local memory ------------------------------------------------------------------- */

/*
 * STAGED: the device has an engine for copies (sm_90), and a group's items wait in local memory.
 * That takes fewer registers, so more groups run at once. It also keeps polls from waiting behind
 * loads and stores. 2^28 items, H200, CUDA, November 2026: f32 617 us, from registers 664; f16 342
 * and 402.
 */
#ifdef STAGED
#define SHARED_ITEMS (TILES_EACH * (u32)TILE_ITEMS)

/* The group's items in the order of memory, in a reverse scan too. `arrived` is the barrier object
 * that counts the copied bytes. */
typedef struct ALIGN(16) {
    ITEM item[SHARED_ITEMS];
    u64 arrived;
} SHARED_TILES;

/* Begins to copy the group's items. Returns 1 if the engine copies them all, which needs whole
 * tiles and an aligned address. Else each thread copies its own cells here, and the result is 0. */
INLINE u32 begin_copy(const CALL *c, u64 begin, LOCAL SHARED_TILES *to, u32 thread) {
    GLOBAL const ITEM *from = c->in.x + LOWEST_PLACE(begin, SHARED_ITEMS, c->n);
    if (begin + SHARED_ITEMS <= c->n && (size_t)from % 16 == 0) {
        const u32 arrived = SHARED_ADDRESS(&to->arrived), bytes = SHARED_ITEMS * ITEM_BYTES;
        if (thread == 0) {
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
        const u32 at = (ROW(w) * WIDTH + thread % WIDTH) * CELL;
        const WIDE_ITEMS raw = load_cell(c, begin + at < c->n ? begin + at : begin);
#pragma unroll
        for (int j = 0; j < CELL; j++) to->item[LOWEST_PLACE(at, CELL, SHARED_ITEMS) + j] = raw.item[j];
    }
    return 0;
}

/* Waits for the copies. The barrier comes first, so that all threads see `arrived` as thread 0 has
 * set it up. */
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
    /* Threads 0 to 3 begin with the first half of their cells, 4 to 7 with the second, and so on:
     * the halves that are read at once are in different banks. */
    if (CELL_BYTES == 32) {
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

/* ---- the kernel ------------------------------------------------------------------------------ */

KERNEL LOOK_BACK_BOUNDS void tally_scan_items(SCAN_ARGS) {
    SHARED TILE_SHARED shared;
#ifdef STAGED
    SHARED SHARED_TILES staged;
    u32 at_once;
    KEPT_CELLS
#else
    WIDE_ITEMS raw[ROWS_EACH];
    SCAN part[ROWS_EACH];
#endif
    const SOURCE in = SOURCE_OF_ARGS;
    const CALL c = CALL_OF(in);
    const u32 thread = THREAD_ID, t = thread % WIDTH;
    const u64 tile = GROUP_ID * TILES_EACH, begin = tile * TILE_ITEMS;
    const u32 has = tile > 0 || CONTINUES(flow);
    LOAD_TILE
    const SCAN carry = values[CARRY_FROM(flow)];
    const u32 calls = *(volatile GLOBAL u32 *)words;
    SCAN_TILE
    const STATE state = state_of(words, capacity, &carry, CONTINUES(flow), calls);
    if (thread == GROUP - WIDTH) count_group(&state, GROUP_ID, GROUP_COUNT);
    if (thread < WIDTH) {
        SCAN own = carry;
#pragma unroll
        for (int j = 0; j < TILES_EACH; j++) {
            const SCAN rows = scan_across(shared.rows[j * WIDTH + t + 1], t), aggregate = shuffle_from(rows, WIDTH - 1);
            shared.rows[j * WIDTH + t + 1] = rows;
            if (t == j) own = aggregate;
        }
        look_back(&c, &state, tile, own, t, &shared);
        const u64 last = TILES - 1 - tile;
        if (t == WIDTH - 1 && last < TILES_EACH) values[CARRY_TO(flow)] = shared.rows[(last + 1) * WIDTH];
    }
    BARRIER
    STORE_TILE
}
