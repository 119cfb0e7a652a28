/* SPDX-License-Identifier: MIT */
/*
 * cpu_scan: a scan in three launches, in scan order v1, for CPUs: the tiles' totals, what is before each tile, the values.
 *
 * Computes n values. How: one item per group, which walks its run of tiles. A row's 32 cells lie side by side in arrays, whose loops the compiler
 * turns into vectors. The items are read twice.
 * Needs: nothing; no local memory, no barrier.
 * Why: a work-group of many items becomes a loop between barriers on a CPU.
 */
/* Kogge and Stone's scan of each 32 of `count` parts, from `a` over `b` and back, to `b` at last. */
#define STEP(to, from, s)                                                                                                      \
    for (int i = 0; i < (s); i++) to[i] = from[i];                                                                             \
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

/* What is kept of a tile between the looks at its items: each row's scan of its cells, and the rows' scan; then what is before the tile, and what is before
 * and with each of its cells. */
typedef struct {
    SCAN before, cells[WIDTH * WIDTH], rows[WIDTH];
} KEPT;

INLINE void fold_tile(const CALL *c, u64 begin, KEPT *kept) {
    SCAN cells[WIDTH * WIDTH], rows[WIDTH];
    const int count = (int)min((c->n - begin + ROW_ITEMS - 1) / ROW_ITEMS, (u64)WIDTH);
    for (int row = 0; row < count; row++) row_totals(c, begin + row * ROW_ITEMS, cells + row * WIDTH);
    scan_parts(cells, kept->cells, count * WIDTH);
    for (int row = 0; row < count; row++) rows[row] = kept->cells[row * WIDTH + WIDTH - 1];
    scan_parts(rows, kept->rows, count);
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

/* What is before and with the cells: `before` is before the tile, if `has` says that anything is; `end` with it. */
INLINE void join_tile(KEPT *kept, u32 has, SCAN before, SCAN end) {
    kept->before = before;
    for (int row = 0; row < WIDTH; row++) {
        SCAN *cells = kept->cells + row * WIDTH;
        if (has || row) {
            const SCAN left = row ? scan_join(has, before, kept->rows[row - 1]) : before;
            for (int l = 0; l < WIDTH; l++) cells[l] = scan_combine(left, cells[l]);
        }
        cells[WIDTH - 1] = row < WIDTH - 1 ? scan_join(has, before, kept->rows[row]) : end;
    }
}

/* The values of a row, of which ends[l] is what is before and with the cell l: any row. */
INLINE void scan_any_row(const CALL *c, u64 k, u32 has, const SCAN *ends) {
    for (int l = 0; l < WIDTH; l++) {
        const u64 first = k + (u64)l * CELL;
        if (first >= c->n) return;
        const ITEM_CELL cell = open_cell(c, first, load_cell(c, first));
        scan_cell(c, &cell, first, has || l, ends[l - 1], ends[l], 0);
    }
}

/* A row's results, as they lie in memory. */
typedef union {
    RESULT result[ROW_ITEMS];
    uint4 vector[ROW_ITEMS * sizeof(RESULT) / 16];
} ROW_RESULTS;

/*
 * Results that no cache will have room for pass by all of them: a store through the caches reads the line first.
 */
#ifndef STREAMED_BYTES
#define STREAMED_BYTES ((u64)16 << 20)
#endif
INLINE void store_row(const CALL *c, u64 k, const ROW_RESULTS *r) {
    GLOBAL RESULT *to = c->out + LOWEST_PLACE(k, ROW_ITEMS, c->n);
    if (c->n * sizeof(RESULT) >= STREAMED_BYTES && (size_t)to % 16 == 0)
        for (int v = 0; v < (int)(ROW_ITEMS * sizeof(RESULT) / 16); v++)
            __builtin_nontemporal_store(r->vector[v], (GLOBAL uint4 *)to + v);
    else
        for (int i = 0; i < ROW_ITEMS; i++) to[i] = r->result[i];
}

/* Of a whole row that something is before: loops that become vectors. */
INLINE void scan_whole_row(const CALL *c, u64 k, const SCAN *ends) {
    SCAN own[CELL][WIDTH];
    RESULT results[CELL][WIDTH];
    ROW_RESULTS r ALIGN(64);
    fold_row(c, k, own);
#pragma unroll
    for (int j = 0; j < CELL; j++)
        for (int l = 0; l < WIDTH; l++) {
            const u64 count = c->base + k + l * CELL + j;
#ifdef EXCLUSIVE
            results[j][l] = scan_result(c, j ? scan_combine(ends[l - 1], own[j - 1][l]) : ends[l - 1], count);
#else
            results[j][l] = scan_result(c, j < CELL - 1 ? scan_combine(ends[l - 1], own[j][l]) : ends[l], count + 1);
#endif
        }
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
    for (int row = 0; row < WIDTH && begin + row * ROW_ITEMS < c->n; row++) {
        const u64 k = begin + row * ROW_ITEMS;
        if (WHOLE_ROWS && (has || row) && k + ROW_ITEMS <= c->n)
            scan_whole_row(c, k, kept->cells + row * WIDTH);
        else
            scan_any_row(c, k, has || row, kept->cells + row * WIDTH);
    }
}

/* ---- the kernel ------------------------------------------------------------------------------------------------------- */

/* Groups are numbered as they begin: whoever waits for a lower number waits for one that runs. The last resets what is counted, when all have read the
 * tag. */
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
        const u32 has_tile = has || q + j;
        join_tile(&kept[j], has_tile, q + j ? scanned[q + j - 1] : before, scanned[q + j]);
        scan_tile(&c, (first + j) * TILE_ITEMS, has_tile, &kept[j]);
    }
    if (first + count == TILES) values[CARRY_TO(flow)] = scanned[q + count - 1];
}
