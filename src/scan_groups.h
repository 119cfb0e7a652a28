/* SPDX-License-Identifier: MIT */
/*
 * Scans by groups of 256 items, the same in CUDA C and OpenCL C: part of the programs of GPUs' scans, after src/scanning.h and the stem "scan", which
 * says what the languages differ in: GROUP_ID, ITEM_ID, LOCAL, SHARED, BARRIER, and shuffles, where there are any (SHUFFLES).
 *
 * A tile is a group's. Of its rows a warp has ROWS_EACH neighbours: in each an item has one cell.
 */
#define ROWS_EACH (WIDTH * WIDTH / GROUP)

/* Kogge and Stone's scan of 32 neighbouring items' a; and what the item on the left has. All of a group's items take part. */
#ifdef SHUFFLES
INLINE SCAN scan_across(SCAN a, u32 t) {
#pragma unroll
    for (u32 s = 1; s < WIDTH; s *= 2) {
        const SCAN left = shuffle_up(a, s);
        if (t >= s) a = scan_combine(left, a);
    }
    return a;
}
#define SCAN_ACROSS(a) a = scan_across(a, t);
#define FROM_LEFT(to, a) to = shuffle_up(a, 1);
#define FROM_LAST(to, a) to = shuffle_from(a, WIDTH - 1);
#else
/* Written out: POCL has miscompiled barriers in loops. */
#define STEP_ACROSS(a, s)                                                                                                      \
    shared.exchange[item] = a;                                                                                                 \
    BARRIER                                                                                                                    \
    if (t >= s) a = scan_combine(shared.exchange[item - s], a);                                                                \
    BARRIER
#define SCAN_ACROSS(a) STEP_ACROSS(a, 1) STEP_ACROSS(a, 2) STEP_ACROSS(a, 4) STEP_ACROSS(a, 8) STEP_ACROSS(a, 16)
#define FROM(to, a, other)                                                                                                     \
    shared.exchange[item] = a;                                                                                                 \
    BARRIER                                                                                                                    \
    to = shared.exchange[other];                                                                                               \
    BARRIER
#define FROM_LEFT(to, a) FROM(to, a, t ? item - 1 : item)
#define FROM_LAST(to, a) FROM(to, a, item | (WIDTH - 1))
#endif

typedef struct {
    SCAN rows[WIDTH]; /* their scan */
    SCAN before, end; /* of the tile */
#ifndef SHUFFLES
    SCAN exchange[GROUP];
#endif
} TILE_SHARED;

/* The tile's cells: loaded, and scanned within their rows. Each row's total goes to `rows`. */
#define LOAD_ROW(w)                                                                                                            \
    {                                                                                                                          \
        const u32 row = item / WIDTH * ROWS_EACH + (w);                                                                        \
        const u64 k = begin + (row * WIDTH + t) * CELL;                                                                        \
        cell[w] = load_cell(&c, k < n ? k : begin);                                                                            \
    }
#define SCAN_ROW(w)                                                                                                            \
    {                                                                                                                          \
        const u32 row = item / WIDTH * ROWS_EACH + (w);                                                                        \
        part[w] = cell_total(&c, &cell[w], begin + (row * WIDTH + t) * CELL);                                                  \
        SCAN_ACROSS(part[w])                                                                                                   \
        if (t == WIDTH - 1) shared.rows[row] = part[w];                                                                        \
    }
#define LOAD_TILE                                                                                                              \
    const u32 item = ITEM_ID, t = item % WIDTH;                                                                                \
    ITEM_CELL cell[ROWS_EACH];                                                                                                 \
    SCAN part[ROWS_EACH];                                                                                                      \
    LOAD_ROW(0) LOAD_ROW(1) LOAD_ROW(2) LOAD_ROW(3) SCAN_ROW(0) SCAN_ROW(1) SCAN_ROW(2) SCAN_ROW(3) BARRIER

/* Then the rows' totals, by the first 32 items: into `rows_part`, and to `rows`. */
#define SCAN_ROWS                                                                                                              \
    SCAN rows_part = shared.rows[t];                                                                                           \
    SCAN_ACROSS(rows_part)                                                                                                     \
    if (item < WIDTH) shared.rows[item] = rows_part;

/* The values of the tile's items. `has`: whether anything is before the tile; before and end of it are in `shared`. */
INLINE void scan_row(const CALL *c, const ITEM_CELL *cell, SCAN part, SCAN left, u64 begin, u32 row, u32 t, u32 has,
                     LOCAL const TILE_SHARED *shared) {
    const u64 k = begin + (row * WIDTH + t) * CELL;
    if (k >= c->n) return;
    SCAN before = shared->before;
    if (row) before = scan_join(has, before, shared->rows[row - 1]);
    const u32 has_row = has || row;
    SCAN end;
    if (t < WIDTH - 1)
        end = scan_join(has_row, before, part);
    else if (row < WIDTH - 1)
        end = scan_join(has, shared->before, shared->rows[row]);
    else
        end = shared->end;
    if (t) before = scan_join(has_row, before, left);
    scan_cell(c, cell, k, has_row || t, before, end);
}

/* What item t - 1 of each row has, and then the values: no barrier between those. */
#define STORE_TILE                                                                                                             \
    SCAN left[ROWS_EACH];                                                                                                      \
    FROM_LEFT(left[0], part[0])                                                                                                \
    FROM_LEFT(left[1], part[1])                                                                                                \
    FROM_LEFT(left[2], part[2])                                                                                                \
    FROM_LEFT(left[3], part[3])                                                                                                \
    _Pragma("unroll") for (int w = 0; w < ROWS_EACH; w++)                                                                      \
        scan_row(&c, &cell[w], part[w], left[w], begin, item / WIDTH * ROWS_EACH + w, t, has, &shared);
