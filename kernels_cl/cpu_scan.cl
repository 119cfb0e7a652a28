/* SPDX-License-Identifier: MIT */
/*
 * cpu_scan: a scan in three launches, in scan order v1, for CPUs: the tiles' totals, what is before each tile, the values.
 *
 * Computes n values. How: one item per group, which walks its run of tiles. A row's 32 cells lie side by side in arrays, whose loops the compiler
 * turns into vectors. The items are read twice.
 * Needs: nothing; no local memory, no barrier.
 * Why: a work-group of many items becomes a loop between barriers on a CPU.
 */
/* Kogge and Stone's scan of the first `parts` of 32: what a part needs is to its left. */
INLINE void scan_parts(SCAN *a) {
    SCAN b[WIDTH];
#define STEP(to, from, s)                                                                                                      \
    for (int l = 0; l < (s); l++) to[l] = from[l];                                                                             \
    for (int l = (s); l < WIDTH; l++) to[l] = scan_combine(from[l - (s)], from[l]);
    STEP(b, a, 1)
    STEP(a, b, 2)
    STEP(b, a, 4)
    STEP(a, b, 8)
    STEP(b, a, 16)
    for (int l = 0; l < WIDTH; l++) a[l] = b[l];
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

/* What is kept of a tile between the looks at its items: each row's scan of its cells, and the rows' scan. */
typedef struct {
    SCAN cells[WIDTH][WIDTH], rows[WIDTH];
} KEPT;

INLINE void fold_tile(const CALL *c, u64 begin, KEPT *kept) {
    for (int row = 0; row < WIDTH; row++) {
        const u64 k = begin + row * ROW_ITEMS;
        if (k < c->n) {
            row_totals(c, k, kept->cells[row]);
            scan_parts(kept->cells[row]);
        }
        /* Of rows beyond n any: it leads to no value that is asked for. */
        kept->rows[row] = kept->cells[k < c->n ? row : 0][WIDTH - 1];
    }
    scan_parts(kept->rows);
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
        SCAN parts[WIDTH];
        for (int l = 0; l < WIDTH; l++) parts[l] = total_of_tile(c, state, b * WIDTH + l, patience);
        scan_parts(parts);
        all = scan_join(joins, all, parts[WIDTH - 1]);
        publish(words_of_block(state, b), all, state->tag, PREFIX);
    }
    return all;
}

/* ---- values ----------------------------------------------------------------------------------------------------------- */

/* The values of a row, of which `cells` are its cells' scan: any row. */
INLINE void scan_any_row(const CALL *c, u64 k, u32 has, SCAN before, const SCAN *cells, SCAN end) {
    for (int l = 0; l < WIDTH; l++) {
        const u64 first = k + (u64)l * CELL;
        if (first >= c->n) return;
        const ITEM_CELL cell = open_cell(c, first, load_cell(c, first));
        const SCAN left = l ? scan_join(has, before, cells[l - 1]) : before;
        scan_cell(c, &cell, first, has || l, left, l < WIDTH - 1 ? scan_join(has, before, cells[l]) : end, 0);
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
#define STREAMED_BYTES ((u64)32 << 20)
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
INLINE void scan_whole_row(const CALL *c, u64 k, SCAN before, const SCAN *cells, SCAN end) {
    SCAN own[CELL][WIDTH], left[WIDTH + 1];
    ROW_RESULTS r ALIGN(64);
    fold_row(c, k, own);
    left[0] = before;
    for (int l = 1; l < WIDTH; l++) left[l] = scan_combine(before, cells[l - 1]);
    left[WIDTH] = end;
    for (int l = 0; l < WIDTH; l++)
#pragma unroll
        for (int j = 0; j < CELL; j++) {
            const int i = l * CELL + j;
#ifdef EXCLUSIVE
            const SCAN all = j ? scan_combine(left[l], own[j - 1][l]) : left[l];
            r.result[PLACE(i, ROW_ITEMS)] = scan_result(c, all, c->base + k + i);
#else
            const SCAN all = j < CELL - 1 ? scan_combine(left[l], own[j][l]) : left[l + 1];
            r.result[PLACE(i, ROW_ITEMS)] = scan_result(c, all, c->base + k + i + 1);
#endif
        }
    store_row(c, k, &r);
}

/* An exclusive scan has another value where a segment begins. */
#if defined(SEGMENTED) && defined(EXCLUSIVE)
#define WHOLE_ROWS 0
#else
#define WHOLE_ROWS 1
#endif

INLINE void scan_row(const CALL *c, u64 k, u32 has, SCAN before, const SCAN *cells, SCAN end) {
    if (WHOLE_ROWS && has && k + ROW_ITEMS <= c->n)
        scan_whole_row(c, k, before, cells, end);
    else
        scan_any_row(c, k, has, before, cells, end);
}

INLINE void scan_tile(const CALL *c, u64 begin, u32 has, SCAN before, const KEPT *kept, SCAN end) {
    for (int row = 0; row < WIDTH && begin + row * ROW_ITEMS < c->n; row++)
        scan_row(c, begin + row * ROW_ITEMS, has || row, row ? scan_join(has, before, kept->rows[row - 1]) : before, kept->cells[row],
                 row < WIDTH - 1 ? scan_join(has, before, kept->rows[row]) : end);
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
    SCAN parts[WIDTH];
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
    for (u32 l = q + count; l < WIDTH; l++) parts[l] = parts[0]; /* any */
    scan_parts(parts);
    for (u32 l = 0; l < q + count; l++) parts[l] = scan_join(has, before, parts[l]);
    if (q + count == WIDTH) publish(words_of_block(&state, block), parts[WIDTH - 1], state.tag, PREFIX);
    if ((GLOBAL const void *)c.in.x == (GLOBAL const void *)c.out) FENCE /* in place the values come after the totals */
    for (u32 j = 0; j < count; j++)
        scan_tile(&c, (first + j) * TILE_ITEMS, has || q + j, q + j ? parts[q + j - 1] : before, &kept[j], parts[q + j]);
    if (first + count == TILES) values[CARRY_TO(flow)] = parts[q + count - 1];
}
