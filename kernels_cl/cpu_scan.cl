/* SPDX-License-Identifier: MIT */
/*
 * cpu_scan: a scan in one launch, in scan order v1, for CPUs.
 *
 * Computes: the scan of n items. It reads every item from memory once.
 * How: one thread per group, which looks at the items of a few tiles twice. The first look computes
 * the tiles' aggregates, publishes them, and brings the items into the core's caches. Then the
 * group waits for the aggregates of the tiles before its own within the block, and for the block's
 * exclusive prefix, which the group with the last tile of the block before publishes. The second
 * look computes the results. A row's 32 cells and a tile's 1,024 lie side by side in arrays, and
 * the compiler turns the loops over them into vectors. kernels/published.h has the words that
 * groups publish, kernels/look_back_tiles.h the same for GPUs.
 * Needs: words that other groups see (feature ORDER); no local memory and no barrier.
 * Why: memory speed. 2^26 f32, POCL 3.1, 2 cores, November 2026: 35 ms; in three launches, which
 * read the items twice, 68.
 *
 * Groups run in threads of the CPU, each to its end. The waits are bounded all the same: after
 * SPINS polls a group computes what is missing from the items.
 */
#ifdef __clang__
#pragma clang diagnostic ignored "-Wpass-failed" /* POCL's first run of the optimiser makes no vectors, its second does */
#endif

/*
 * Asks for vectors of 32 bytes, where a SCAN is no struct. By themselves compilers make other
 * vectors, or none. Sums of 2^26 f32, POCL 5.0 (LLVM 16), 16 cores, November 2026: 7 ms, without
 * this 21.
 */
#ifdef SCALAR_SCAN
#define IN_VECTORS _Pragma("clang loop vectorize_width(32 / __alignof__(SCAN))")
#else
#define IN_VECTORS
#endif

/* The scan of Kogge and Stone of each 32 of `count` parts. The steps go from `a` to `b` and back,
 * and end in `b`. */
#define STEP(to, from, s)                                                                                                      \
    for (int i = 0; i < (s); i++) to[i] = from[i];                                                                             \
    IN_VECTORS                                                                                                                 \
    for (int i = (s); i < count; i++) {                                                                                        \
        const SCAN left = from[i - (s)], own = from[i], both = scan_combine(left, own);                                        \
        to[i] = i % WIDTH < (s) ? own : both;                                                                                  \
    }
INLINE void scan_parts(SCAN *a, SCAN *b, int count) {
    STEP(b, a, 1)
    STEP(a, b, 2)
    STEP(b, a, 4)
    STEP(a, b, 8)
    STEP(b, a, 16)
}

/* Loads a whole row, from item k on. cells[j][l] becomes the combination of the first j + 1 items
 * of cell l. */
INLINE void fold_row(const CALL *c, u64 k, SCAN cells[CELL][WIDTH]) {
    IN_VECTORS
    for (int l = 0; l < WIDTH; l++)
#pragma unroll
        for (int j = 0; j < CELL; j++) {
            const u64 at = k + (u64)l * CELL + j;
            ITEM_CELL cell;
            cell.item[0] = load_item(c, at);
#ifdef SEGMENTED
            cell.begins = begins_at(c, at);
#endif
            const SCAN item = cell_item(c, &cell, at, 0);
            cells[j][l] = j ? scan_combine(cells[j - 1][l], item) : item;
        }
}

/* Computes the aggregates of a row's cells: aggregates[l] is that of cell l. The row may end beyond
 * n. */
INLINE void row_aggregates(const CALL *c, u64 k, SCAN *aggregates) {
    if (k + ROW_ITEMS <= c->n) {
        SCAN cells[CELL][WIDTH];
        fold_row(c, k, cells);
        for (int l = 0; l < WIDTH; l++) aggregates[l] = cells[CELL - 1][l];
    } else {
        for (int l = 0; l < WIDTH; l++) {
            const u64 first = k + (u64)l * CELL;
            const ITEM_CELL cell = open_cell(c, first, load_cell(c, first < c->n ? first : k));
            aggregates[l] = cell_aggregate(c, &cell, first);
        }
    }
}

/*
 * A group's state of a tile between its two looks. First ends[1 + i] is the combination of cell
 * i and the cells before it in its row, and rows[r] that of row r and the rows before it in the
 * tile. At last ends[0] is the tile's exclusive prefix, and ends[1 + i] the inclusive prefix of
 * cell i.
 */
typedef struct {
    SCAN ends[1 + WIDTH * WIDTH], rows[WIDTH];
} KEPT;

INLINE int rows_of_tile(const CALL *c, u64 begin) {
    return (int)min((c->n - begin + ROW_ITEMS - 1) / ROW_ITEMS, (u64)WIDTH);
}

/* Takes the first look at a tile. */
INLINE void fold_tile(const CALL *c, u64 begin, KEPT *kept) {
    SCAN aggregates[WIDTH * WIDTH], rows[WIDTH], *cells = kept->ends + 1;
    const int count = rows_of_tile(c, begin);
    for (int row = 0; row < count; row++) row_aggregates(c, begin + row * ROW_ITEMS, aggregates + row * WIDTH);
    scan_parts(aggregates, cells, count * WIDTH);
    /* Rows beyond n take any aggregate: no result that is stored depends on it. */
    for (int row = 0; row < WIDTH; row++) rows[row] = cells[(row < count ? row : 0) * WIDTH + WIDTH - 1];
    scan_parts(rows, kept->rows, WIDTH);
}

/* ---- exclusive prefixes ---------------------------------------------------------------------- */

#ifndef SPINS
#define SPINS 65536 /* polls, of some nanoseconds each, for all that a group waits for */
#endif
#define FENCE __atomic_thread_fence(__ATOMIC_SEQ_CST);

/*
 * Returns the aggregate of a whole tile. It polls for the published one while *patience, the number
 * of polls that are left, is not 0. Then it computes the aggregate from the items (the fallback).
 */
INLINE SCAN tile_aggregate(const CALL *c, const STATE *state, u64 tile, u32 *patience) {
    GLOBAL u64 *words = words_of_tile(state, tile);
    SCAN aggregate;
    do
        if (look(see(words), state->tag, &aggregate)) return aggregate;
    while (*patience && --*patience);
    KEPT kept;
    fold_tile(c, tile * TILE_ITEMS, &kept);
    FENCE
    if (look(see(words), state->tag, &aggregate)) return aggregate;
    publish(words, kept.rows[WIDTH - 1], state->tag, AGGREGATE);
    return kept.rows[WIDTH - 1];
}

/*
 * Returns the exclusive prefix of a block; *has becomes 1 if anything stands before it. It polls
 * for the inclusive prefix of the block before while *patience is not 0. Then it goes on from the
 * nearest prefix that is published (the fallback).
 */
INLINE SCAN prefix_of_block(const CALL *c, const STATE *state, u64 block, u32 *has, u32 *patience) {
    SCAN all = *state->carry;
    *has = state->continues;
    if (block == 0) return all;
    *has = 1;
    do
        if (look(see(words_of_block(state, block - 1)), state->tag, &all)) return all;
    while (*patience && --*patience);
    u64 b = block;
    while (b > 0 && !look(see(words_of_block(state, b - 1)), state->tag, &all)) b--;
    for (u32 joins = b > 0 || state->continues; b < block; b++, joins = 1) {
        SCAN parts[WIDTH], scanned[WIDTH];
        for (int l = 0; l < WIDTH; l++) parts[l] = tile_aggregate(c, state, b * WIDTH + l, patience);
        scan_parts(parts, scanned, WIDTH);
        all = scan_join(joins, all, scanned[WIDTH - 1]);
        publish(words_of_block(state, b), all, state->tag, PREFIX);
    }
    return all;
}

/* ---- results --------------------------------------------------------------------------------- */

/*
 * Turns kept->ends into the tile's exclusive prefix and the cells' inclusive prefixes. `exclusive`
 * and `inclusive` are the tile's prefixes; `has` is 1 if anything stands before the tile.
 */
INLINE void join_tile(const CALL *c, u64 begin, KEPT *kept, u32 has, SCAN exclusive, SCAN inclusive) {
    const int count = rows_of_tile(c, begin);
    kept->ends[0] = exclusive;
    for (int row = 0; row < count; row++) {
        SCAN *cells = kept->ends + 1 + row * WIDTH;
        if (has || row) {
            const SCAN left = row ? scan_join(has, exclusive, kept->rows[row - 1]) : exclusive;
            IN_VECTORS
            for (int l = 0; l < WIDTH; l++) cells[l] = scan_combine(left, cells[l]);
        }
        cells[WIDTH - 1] = row < WIDTH - 1 ? scan_join(has, exclusive, kept->rows[row]) : inclusive;
    }
}

/* Computes and stores the results of any row. Cell l has the exclusive prefix ends[l] and the
 * inclusive prefix ends[l + 1]. */
INLINE void scan_any_row(const CALL *c, u64 k, u32 has, const SCAN *ends) {
    for (int l = 0; l < WIDTH; l++) {
        const u64 first = k + (u64)l * CELL;
        if (first >= c->n) return;
        const ITEM_CELL cell = open_cell(c, first, load_cell(c, first));
        WIDE_RESULTS r;
        scan_cell(c, &cell, first, has || l, ends[l], ends[l + 1], &r);
        store_cell(c, first, &r);
    }
}

/* A row's results, in the order of memory. */
typedef union {
    RESULT result[ROW_ITEMS];
    uint4 vector[ROW_ITEMS * sizeof(RESULT) / 16];
} ROW_RESULTS;

/*
 * Many results are stored past the caches. The caches have no room for them, and would read what is
 * about to be overwritten. f32, POCL 3.1, 2 cores, November 2026, ms past the caches and through
 * them: 2^22 1.4, 1.4; 2^23 2.9, 4.4; 2^24 8.5, 11.6; 2^26 35, 46.
 */
#define PASSES(c) ((c)->n * sizeof(RESULT) >= (u64)16 << 20)
#ifdef __has_builtin
#if __has_builtin(__builtin_nontemporal_store)
#define PASS(to, from) __builtin_nontemporal_store(from, to);
#endif
#endif
#ifndef PASS
#define PASS(to, from) *(to) = from;
#endif
INLINE void store_row(const CALL *c, u64 k, const ROW_RESULTS *r) {
    GLOBAL RESULT *to = c->out + LOWEST_PLACE(k, ROW_ITEMS, c->n);
    if (PASSES(c) && (size_t)to % 16 == 0) {
        for (int v = 0; v < (int)(ROW_ITEMS * sizeof(RESULT) / 16); v++) {
            PASS((GLOBAL uint4 *)to + v, r->vector[v])
        }
    } else {
        for (int i = 0; i < ROW_ITEMS; i++) to[i] = r->result[i];
    }
}

/* Computes and stores the results of a whole row with something before it, in loops that become
 * vectors. */
INLINE void scan_whole_row(const CALL *c, u64 k, const SCAN *ends) {
    SCAN own[CELL][WIDTH];
    RESULT results[CELL][WIDTH];
    ROW_RESULTS r ALIGN(64);
    fold_row(c, k, own);
#pragma unroll
    for (int j = 0; j < CELL; j++) {
        IN_VECTORS
        for (int l = 0; l < WIDTH; l++) {
            const u64 count = c->base + k + l * CELL + j;
#ifdef EXCLUSIVE
            results[j][l] = scan_result(c, j ? scan_combine(ends[l], own[j - 1][l]) : ends[l], count);
#else
            results[j][l] = scan_result(c, j < CELL - 1 ? scan_combine(ends[l], own[j][l]) : ends[l + 1], count + 1);
#endif
        }
    }
    IN_VECTORS
    for (int l = 0; l < WIDTH; l++)
#pragma unroll
        for (int j = 0; j < CELL; j++) r.result[PLACE(l * CELL + j, ROW_ITEMS)] = results[j][l];
    store_row(c, k, &r);
}

/* In an exclusive scan an item that begins a segment has another result. scan_whole_row does not
 * know it. */
#if defined(SEGMENTED) && defined(EXCLUSIVE)
#define WHOLE_ROWS 0
#else
#define WHOLE_ROWS 1
#endif

/* Takes the second look at a tile. */
INLINE void scan_tile(const CALL *c, u64 begin, u32 has, const KEPT *kept) {
    const int count = rows_of_tile(c, begin);
    for (int row = 0; row < count; row++) {
        const u64 k = begin + row * ROW_ITEMS;
        if (WHOLE_ROWS && (has || row) && k + ROW_ITEMS <= c->n)
            scan_whole_row(c, k, kept->ends + row * WIDTH);
        else
            scan_any_row(c, k, has || row, kept->ends + row * WIDTH);
    }
}

/* ---- the kernel ------------------------------------------------------------------------------ */

/*
 * Groups are numbered in the order in which they begin. So a group that waits for a lower number
 * waits for one that runs. The last group resets the counter and raises the number of calls. By
 * then all groups have read that number and the carry: ACQ_REL orders it so.
 */
INLINE u64 number_of_group(const STATE *state) {
    GLOBAL u32 *next = (GLOBAL u32 *)(state->words + LINE);
    const u32 number = __atomic_fetch_add(next, 1U, __ATOMIC_ACQ_REL);
    if (number == get_num_groups(0) - 1) {
        __atomic_store_n(next, 0U, __ATOMIC_RELAXED);
        __atomic_store_n((GLOBAL u32 *)state->words, state->tag, __ATOMIC_RELAXED);
    }
    return number;
}

KERNEL void tally_scan_items(SCAN_ARGS) {
    const SOURCE in = SOURCE_OF_ARGS;
    const CALL c = CALL_OF(in);
    const SCAN carry = values[CARRY_FROM(flow)];
    const STATE state =
        state_of(words, capacity, &carry, CONTINUES(flow), __atomic_load_n((GLOBAL u32 *)words, __ATOMIC_RELAXED));
    const u64 first = number_of_group(&state) * TILES_EACH, block = first / WIDTH;
    const u32 q = (u32)(first % WIDTH), count = (u32)min((u64)TILES_EACH, TILES - first);
    KEPT kept[TILES_EACH];
    SCAN parts[WIDTH], scanned[WIDTH];
#ifdef HOLD_BACK
    if (first / TILES_EACH % 5 == 3)
        for (volatile u32 i = 0; i < 4000000;) i++;
#endif
    for (u32 j = 0; j < count; j++) {
        fold_tile(&c, (first + j) * TILE_ITEMS, &kept[j]);
        parts[q + j] = kept[j].rows[WIDTH - 1];
        publish(words_of_tile(&state, first + j), parts[q + j], state.tag, AGGREGATE);
    }
    u32 has, patience = SPINS;
    for (u32 l = 0; l < q; l++) parts[l] = tile_aggregate(&c, &state, block * WIDTH + l, &patience);
    const SCAN exclusive = prefix_of_block(&c, &state, block, &has, &patience);
    scan_parts(parts, scanned, q + count);
    for (u32 l = 0; l < q + count; l++) scanned[l] = scan_join(has, exclusive, scanned[l]);
    if (q + count == WIDTH) publish(words_of_block(&state, block), scanned[WIDTH - 1], state.tag, PREFIX);
    /* In place the results are stored after the aggregates are published. */
    if ((GLOBAL const void *)c.in.x == (GLOBAL const void *)c.out) FENCE
    for (u32 j = 0; j < count; j++) {
        const u64 begin = (first + j) * TILE_ITEMS;
        const u32 has_tile = has || q + j;
        join_tile(&c, begin, &kept[j], has_tile, q + j ? scanned[q + j - 1] : exclusive, scanned[q + j]);
        scan_tile(&c, begin, has_tile, &kept[j]);
    }
    if (PASSES(&c)) FENCE /* stores past the caches keep no order with others */
    if (first + count == TILES) values[CARRY_TO(flow)] = scanned[q + count - 1];
}
