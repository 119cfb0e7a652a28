/* SPDX-License-Identifier: MIT */
/*
 * cpu_scan: a scan in one launch, in scan order v1, for CPUs: each group learns what is before its tiles from what other groups publish.
 *
 * Computes n values. How: one item per group, which looks twice at the items of a few tiles: for their totals, which bring them into its core's caches, and,
 * once it knows what is before them, for their values. It waits for the totals of the tiles before its own within the block, which their groups publish as
 * soon as they have them, and for what is before the block, which whoever has the block's last tile publishes: kernels/published.h has the words, and
 * kernels/look_back.h the same for GPUs. A row's 32 cells, and a tile's 1,024, lie side by side in arrays, whose loops the compiler turns into vectors.
 *
 * Groups run in threads, to their end; the waits are bounded all the same: after SPINS looks what is missing is computed from the items.
 * Needs: words that other groups see (feature ORDER); no local memory, no barrier.
 * Why: items are read from memory once. 2^26 f32, POCL 3.1, 2 cores, November 2026: 35 ms; in three launches, which read them twice, 68.
 */
#ifdef __clang__
#pragma clang diagnostic ignored "-Wpass-failed" /* POCL's first run of the optimiser makes no vectors, its second does */
#endif

/* Loops of vectors of 32 bytes, where a SCAN is no struct. By themselves compilers make others, or none. Sums of 2^26 f32, POCL 5.0 (LLVM 16), 16 cores,
 * November 2026: 7 ms, without 21. */
#ifdef SCALAR_SCAN
#define IN_VECTORS _Pragma("clang loop vectorize_width(32 / __alignof__(SCAN))")
#else
#define IN_VECTORS
#endif

/* Kogge and Stone's scan of each 32 of `count` parts, from `a` over `b` and back, to `b` at last. */
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

/* The cells of a whole row, each item with those of its cell before it: cells[j][l] is of the cell l's first j + 1 items. */
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

/* The cells' totals of a row that may end beyond n. */
INLINE void row_totals(const CALL *c, u64 k, SCAN *totals) {
    if (k + ROW_ITEMS <= c->n) {
        SCAN cells[CELL][WIDTH];
        fold_row(c, k, cells);
        for (int l = 0; l < WIDTH; l++) totals[l] = cells[CELL - 1][l];
    } else {
        for (int l = 0; l < WIDTH; l++) {
            const u64 first = k + (u64)l * CELL;
            const ITEM_CELL cell = open_cell(c, first, load_cell(c, first < c->n ? first : k));
            totals[l] = cell_total(c, &cell, first);
        }
    }
}

/* What is kept of a tile between the looks at its items: each row's scan of its cells' totals, behind the first of `ends`, and the rows' scan. At last `ends`
 * has what is before the tile, and what is before and with each cell. */
typedef struct {
    SCAN ends[1 + WIDTH * WIDTH], rows[WIDTH];
} KEPT;

INLINE int rows_of_tile(const CALL *c, u64 begin) {
    return (int)min((c->n - begin + ROW_ITEMS - 1) / ROW_ITEMS, (u64)WIDTH);
}

INLINE void fold_tile(const CALL *c, u64 begin, KEPT *kept) {
    SCAN totals[WIDTH * WIDTH], rows[WIDTH], *cells = kept->ends + 1;
    const int count = rows_of_tile(c, begin);
    for (int row = 0; row < count; row++) row_totals(c, begin + row * ROW_ITEMS, totals + row * WIDTH);
    scan_parts(totals, cells, count * WIDTH);
    /* Beyond n any: it leads to no value that is asked for. */
    for (int row = 0; row < WIDTH; row++) rows[row] = cells[(row < count ? row : 0) * WIDTH + WIDTH - 1];
    scan_parts(rows, kept->rows, WIDTH);
}

/* ---- what is before --------------------------------------------------------------------------------------------------- */

#ifndef SPINS
#define SPINS 65536 /* looks, of some nanoseconds, for all that a group waits for */
#endif
#define FENCE __atomic_thread_fence(__ATOMIC_SEQ_CST);

/* A whole tile's total: what is published, or, without patience, what its items come to. */
INLINE SCAN total_of_tile(const CALL *c, const STATE *state, u64 tile, u32 *patience) {
    GLOBAL u64 *words = words_of_tile(state, tile);
    SCAN total;
    do
        if (look(see(words), state->tag, &total)) return total;
    while (*patience && --*patience);
    KEPT kept;
    fold_tile(c, tile * TILE_ITEMS, &kept);
    FENCE
    if (look(see(words), state->tag, &total)) return total;
    publish(words, kept.rows[WIDTH - 1], state->tag, TOTAL);
    return kept.rows[WIDTH - 1];
}

/* What is before the block, if `has` comes to say that there is anything. */
INLINE SCAN before_block(const CALL *c, const STATE *state, u64 block, u32 *has, u32 *patience) {
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
        for (int l = 0; l < WIDTH; l++) parts[l] = total_of_tile(c, state, b * WIDTH + l, patience);
        scan_parts(parts, scanned, WIDTH);
        all = scan_join(joins, all, scanned[WIDTH - 1]);
        publish(words_of_block(state, b), all, state->tag, PREFIX);
    }
    return all;
}

/* ---- values ----------------------------------------------------------------------------------------------------------- */

/* `before` is before the tile, if `has` says that anything is; `end` with it. */
INLINE void join_tile(const CALL *c, u64 begin, KEPT *kept, u32 has, SCAN before, SCAN end) {
    const int count = rows_of_tile(c, begin);
    kept->ends[0] = before;
    for (int row = 0; row < count; row++) {
        SCAN *cells = kept->ends + 1 + row * WIDTH;
        if (has || row) {
            const SCAN left = row ? scan_join(has, before, kept->rows[row - 1]) : before;
            IN_VECTORS
            for (int l = 0; l < WIDTH; l++) cells[l] = scan_combine(left, cells[l]);
        }
        cells[WIDTH - 1] = row < WIDTH - 1 ? scan_join(has, before, kept->rows[row]) : end;
    }
}

/* The values of a row, of which ends[l] and ends[l + 1] are what is before cell l, and with it: any row. */
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

/* A row's results, as they lie in memory. */
typedef union {
    RESULT result[ROW_ITEMS];
    uint4 vector[ROW_ITEMS * sizeof(RESULT) / 16];
} ROW_RESULTS;

/*
 * Many results pass the caches by: they have no room for them, and would read what is about to be overwritten. f32, POCL 3.1, 2 cores, November 2026,
 * ms with and without: 2^22 1.4, 1.4; 2^23 2.9, 4.4; 2^24 8.5, 11.6; 2^26 35, 46.
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

/* Of a whole row that something is before: loops that become vectors. */
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

/* An exclusive scan has another value where a segment begins. */
#if defined(SEGMENTED) && defined(EXCLUSIVE)
#define WHOLE_ROWS 0
#else
#define WHOLE_ROWS 1
#endif

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

/* ---- the kernel ------------------------------------------------------------------------------------------------------- */

/* Groups are numbered as they begin: whoever waits for a lower number waits for one that runs. The last resets what is counted, when all have read the
 * tag and what the call continues from: in this order, by ACQ_REL. */
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
    SCAN_OPEN(c)
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
        publish(words_of_tile(&state, first + j), parts[q + j], state.tag, TOTAL);
    }
    u32 has, patience = SPINS;
    for (u32 l = 0; l < q; l++) parts[l] = total_of_tile(&c, &state, block * WIDTH + l, &patience);
    const SCAN before = before_block(&c, &state, block, &has, &patience);
    scan_parts(parts, scanned, q + count);
    for (u32 l = 0; l < q + count; l++) scanned[l] = scan_join(has, before, scanned[l]);
    if (q + count == WIDTH) publish(words_of_block(&state, block), scanned[WIDTH - 1], state.tag, PREFIX);
    if ((GLOBAL const void *)c.in.x == (GLOBAL const void *)c.out) FENCE /* in place the values come after the totals */
    for (u32 j = 0; j < count; j++) {
        const u64 begin = (first + j) * TILE_ITEMS;
        const u32 has_tile = has || q + j;
        join_tile(&c, begin, &kept[j], has_tile, q + j ? scanned[q + j - 1] : before, scanned[q + j]);
        scan_tile(&c, begin, has_tile, &kept[j]);
    }
    if (PASSES(&c)) FENCE /* no order is kept with what passes the caches by */
    if (first + count == TILES) values[CARRY_TO(flow)] = scanned[q + count - 1];
}
