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

/* The last of 32 parts after that scan: their aligned tree. */
INLINE SCAN last_part(SCAN *a) {
#define HALVE(s)                                                                                                               \
    for (int l = 0; l < (s); l++) a[l] = scan_combine(a[2 * l], a[2 * l + 1]);
    HALVE(16)
    HALVE(8)
    HALVE(4)
    HALVE(2)
    HALVE(1)
    return a[0];
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

KERNEL void tally_scan_totals(SCAN_ARGS) {
    SCAN_OPEN(c)
    const u64 from = get_group_id(0) * run, to = min(from + run, (u64)(n / TILE_ITEMS));
    for (u64 tile = from; tile < to; tile++) {
        SCAN rows[WIDTH], cells[WIDTH];
        for (int row = 0; row < WIDTH; row++) {
            row_totals(&c, tile * TILE_ITEMS + row * ROW_ITEMS, cells);
            rows[row] = last_part(cells);
        }
        values[TILE_TOTAL(tile)] = last_part(rows);
    }
}

/* One item. What is before the last tile needs no total of it; so only whole tiles have one. */
KERNEL void tally_scan_tiles(SCAN_ARGS) {
    const u64 whole = n / TILE_ITEMS;
    SCAN all = values[CARRY_FROM(flow)];
    u32 has = CONTINUES(flow);
    if (has) values[TILE_PREFIX(0)] = all;
    for (u64 first = 0; first < whole; first += WIDTH) {
        SCAN parts[WIDTH];
        for (u32 q = 0; q < WIDTH; q++) parts[q] = values[TILE_TOTAL(min(first + q, whole - 1))];
        scan_parts(parts);
        for (u32 q = 0; q < WIDTH && first + q < whole; q++) values[TILE_PREFIX(first + q + 1)] = scan_join(has, all, parts[q]);
        all = scan_join(has, all, parts[WIDTH - 1]);
        has = 1;
    }
    if (whole * TILE_ITEMS == n) values[CARRY_TO(flow)] = values[TILE_PREFIX(whole)];
}

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

/* Of a whole row that something is before: loops that become vectors. */
INLINE void scan_whole_row(const CALL *c, u64 k, SCAN before, const SCAN *cells, SCAN end) {
    SCAN own[CELL][WIDTH], left[WIDTH + 1];
    fold_row(c, k, own);
    left[0] = before;
    for (int l = 1; l < WIDTH; l++) left[l] = scan_combine(before, cells[l - 1]);
    left[WIDTH] = end;
    for (int l = 0; l < WIDTH; l++)
#pragma unroll
        for (int j = 0; j < CELL; j++) {
            const u64 at = k + (u64)l * CELL + j;
#ifdef EXCLUSIVE
            c->out[PLACE(at, c->n)] = scan_result(c, j ? scan_combine(left[l], own[j - 1][l]) : left[l], c->base + at);
#else
            c->out[PLACE(at, c->n)] =
                scan_result(c, j < CELL - 1 ? scan_combine(left[l], own[j][l]) : left[l + 1], c->base + at + 1);
#endif
        }
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

KERNEL void tally_scan_items(SCAN_ARGS) {
    SCAN_OPEN(c)
    const u64 from = get_group_id(0) * run, to = min(from + run, TILES);
    for (u64 tile = from; tile < to; tile++) {
        SCAN rows[WIDTH], cells[WIDTH][WIDTH];
        const u64 begin = tile * TILE_ITEMS;
        const u32 has = tile > 0 || CONTINUES(flow);
        for (int row = 0; row < WIDTH; row++) {
            const u64 k = begin + row * ROW_ITEMS;
            if (k >= n) {
                rows[row] = rows[0]; /* any: it leads to no value that is asked for */
                continue;
            }
            row_totals(&c, k, cells[row]);
            scan_parts(cells[row]);
            rows[row] = cells[row][WIDTH - 1];
        }
        scan_parts(rows);
        /* Where there is none, any: ops get nothing but what items came to. */
        const SCAN before = has ? values[TILE_PREFIX(tile)] : rows[0],
                   end = begin + TILE_ITEMS <= n ? values[TILE_PREFIX(tile + 1)] : before;
        for (int row = 0; row < WIDTH && begin + row * ROW_ITEMS < n; row++)
            scan_row(&c, begin + row * ROW_ITEMS, has || row, row ? scan_join(has, before, rows[row - 1]) : before, cells[row],
                     row < WIDTH - 1 ? scan_join(has, before, rows[row]) : end);
    }
}
