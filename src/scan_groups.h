/* SPDX-License-Identifier: MIT */
/*
 * Scans by groups of 256 items (128 where they look back), the same in CUDA C and OpenCL C: part of the programs of GPUs' scans, after src/scanning.h and the stem "scan", which
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

/* A tile's items, in registers: all loads are under way before the first is used. */
#define ROW(w) (item / WIDTH * ROWS_EACH + (w))
#define CELL_OF(row) (begin + ((row)*WIDTH + t) * CELL)
#ifdef SHUFFLES
#define EACH_ROW(DO)                                                                                                           \
    _Pragma("unroll") for (int w = 0; w < ROWS_EACH; w++) {                                                                    \
        DO(w)                                                                                                                  \
    }
#else
#define EACH_ROW(DO) DO(0) DO(1) DO(2) DO(3)
#endif
#define LOAD_ROW(w) raw[w] = load_cell(&c, CELL_OF(ROW(w)) < n ? CELL_OF(ROW(w)) : begin);

/* The cells, scanned within their rows. Each row's total goes to `rows`. */
#define SCAN_ROW(w)                                                                                                            \
    {                                                                                                                          \
        const ITEM_CELL cell = open_cell(&c, CELL_OF(ROW(w)), raw[w]);                                                         \
        part[w] = cell_total(&c, &cell, CELL_OF(ROW(w)));                                                                      \
    }                                                                                                                          \
    SCAN_ACROSS(part[w])                                                                                                       \
    if (t == WIDTH - 1) shared.rows[ROW(w)] = part[w];
#define SCAN_TILE                                                                                                              \
    const u32 item = ITEM_ID, t = item % WIDTH;                                                                                \
    WIDE_ITEMS raw[ROWS_EACH];                                                                                                 \
    SCAN part[ROWS_EACH];                                                                                                      \
    EACH_ROW(LOAD_ROW)                                                                                                         \
    EACH_ROW(SCAN_ROW)                                                                                                         \
    BARRIER

/* Then the rows' totals, by the first 32 items: into `rows_part`, and to `rows`, which without barriers the others must not read. */
#ifdef SHUFFLES
#define SCAN_ROWS                                                                                                              \
    SCAN rows_part = part[0];                                                                                                  \
    if (item < WIDTH) shared.rows[t] = rows_part = scan_across(shared.rows[t], t);
#else
#define SCAN_ROWS                                                                                                              \
    SCAN rows_part = shared.rows[t];                                                                                           \
    SCAN_ACROSS(rows_part)                                                                                                     \
    if (item < WIDTH) shared.rows[item] = rows_part;
#endif

/* The values of the tile's items. `has`: whether anything is before the tile; before and end of it are in `shared`. */
INLINE void scan_row(const CALL *c, const WIDE_ITEMS raw, SCAN part, SCAN left, u64 k, u32 row, u32 t, u32 has,
                     LOCAL const TILE_SHARED *shared) {
    if (k >= c->n) return;
    const ITEM_CELL cell = open_cell(c, k, raw);
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
    scan_cell(c, &cell, k, has_row || t, before, end);
}

/* What item t - 1 of each row has, and then the values: no barrier between those. */
#define LEFT_OF_ROW(w) FROM_LEFT(left[w], part[w])
#define STORE_TILE                                                                                                             \
    SCAN left[ROWS_EACH];                                                                                                      \
    EACH_ROW(LEFT_OF_ROW)                                                                                                      \
    _Pragma("unroll") for (int w = 0; w < ROWS_EACH; w++)                                                                      \
        scan_row(&c, raw[w], part[w], left[w], CELL_OF(ROW(w)), ROW(w), t, has, &shared);
