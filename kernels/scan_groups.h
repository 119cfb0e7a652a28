/* SPDX-License-Identifier: MIT */
/*
 * Scans by groups, the same in CUDA C and OpenCL C: part of the programs of GPUs' scans, after kernels/scanning.h and the stem "scan", which
 * says what the languages differ in: GROUP_ID, THREAD_ID, LOCAL, SHARED, BARRIER, and shuffles, where there are any (SHUFFLES).
 *
 * A group has TILES_EACH neighbouring tiles. Of their rows a warp has ROWS_EACH neighbours: in each an item has one cell.
 */
#ifndef TILES_EACH
#define TILES_EACH 1
#endif
#define ROWS_EACH (WIDTH * WIDTH * TILES_EACH / GROUP)

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
    /* Behind the first: the rows' totals, then, tile by tile, what they come to, at last with what is before them. The first: what is before them all. */
    SCAN rows[TILES_EACH * WIDTH + 1];
#ifndef SHUFFLES
    SCAN exchange[GROUP];
#endif
} TILE_SHARED;

#define ROW(w) (item / WIDTH * ROWS_EACH + (w))
#define CELL_OF(row) (begin + ((row)*WIDTH + t) * CELL)

/* The cell's items of row w, scanned within the row: `a`. */
#define SCAN_CELLS(a, w)                                                                                                       \
    {                                                                                                                          \
        const ITEM_CELL cell = open_cell(&c, CELL_OF(ROW(w)), RAW(w));                                                         \
        a = cell_total(&c, &cell, CELL_OF(ROW(w)));                                                                            \
    }                                                                                                                          \
    SCAN_ACROSS(a)

/* The cells are scanned within their rows, of which each one's total goes to `rows`. MEANWHILE: what is loaded while the items are. */
#ifdef STAGED
/* The items wait in shared memory, where each looks at its own cells only. What rows come to is computed again for the values: registers are dearer. */
#if ITEM_BYTES < 8 /* 2^28 f64, H200, CUDA: by one row 1,345 us, two 1,339, four 1,390, which leaves too few registers */
#define ROWS_AT_ONCE _Pragma("unroll 4")
#else
#define ROWS_AT_ONCE _Pragma("unroll 2")
#endif
#define EACH_ROW ROWS_AT_ONCE for (int w = 0; w < ROWS_EACH; w++)
#define RAW(w) shared_cell(&staged, (ROW(w) * WIDTH + t) * CELL)
#define SCAN_TILE(MEANWHILE)                                                                                                   \
    const u32 item = THREAD_ID, t = item % WIDTH;                                                                                \
    SHARED SHARED_TILES staged;                                                                                                \
    const u32 at_once = begin_copy(&c, begin, &staged, item);                                                                  \
    MEANWHILE                                                                                                                  \
    end_copy(&staged, at_once);                                                                                                \
    EACH_ROW {                                                                                                                 \
        SCAN part;                                                                                                             \
        SCAN_CELLS(part, w)                                                                                                    \
        if (t == WIDTH - 1) shared.rows[ROW(w) + 1] = part;                                                                    \
    }                                                                                                                          \
    BARRIER
#define STORE_ROWS(has, plain)                                                                                                 \
    EACH_ROW {                                                                                                                 \
        SCAN part;                                                                                                             \
        SCAN_CELLS(part, w)                                                                                                    \
        scan_row(&c, RAW(w), part, shuffle_up(part, 1), CELL_OF(ROW(w)), ROW(w), t, has, plain, &shared);                      \
    }
/* Most groups' items are all there, and others before them. */
#define STORE_TILE                                                                                                             \
    if (has && c.wide_out && begin + TILES_EACH * TILE_ITEMS <= n) {                                                           \
        STORE_ROWS(1, 1)                                                                                                       \
    } else {                                                                                                                   \
        STORE_ROWS(has, 0)                                                                                                     \
    }
#else
/* The items are in registers: all loads are under way before the first is used. */
#ifdef SHUFFLES
#define EACH_ROW(DO)                                                                                                           \
    _Pragma("unroll") for (int w = 0; w < ROWS_EACH; w++) {                                                                    \
        DO(w)                                                                                                                  \
    }
#else
#define EACH_ROW(DO) DO(0) DO(1) DO(2) DO(3)
#endif
#define RAW(w) raw[w]
#define LOAD_ROW(w) raw[w] = load_cell(&c, CELL_OF(ROW(w)) < n ? CELL_OF(ROW(w)) : begin);
#define SCAN_ROW(w)                                                                                                            \
    SCAN_CELLS(part[w], w)                                                                                                     \
    if (t == WIDTH - 1) shared.rows[ROW(w) + 1] = part[w];
#define SCAN_TILE(MEANWHILE)                                                                                                   \
    const u32 item = THREAD_ID, t = item % WIDTH;                                                                                \
    WIDE_ITEMS raw[ROWS_EACH];                                                                                                 \
    SCAN part[ROWS_EACH];                                                                                                      \
    EACH_ROW(LOAD_ROW)                                                                                                         \
    MEANWHILE                                                                                                                  \
    EACH_ROW(SCAN_ROW)                                                                                                         \
    BARRIER
/* What item t - 1 of each row has, and then the values: no barrier between those. */
#define LEFT_OF_ROW(w) FROM_LEFT(left[w], part[w])
#define STORE_TILE                                                                                                             \
    SCAN left[ROWS_EACH];                                                                                                      \
    EACH_ROW(LEFT_OF_ROW)                                                                                                      \
    _Pragma("unroll") for (int w = 0; w < ROWS_EACH; w++)                                                                      \
        scan_row(&c, RAW(w), part[w], left[w], CELL_OF(ROW(w)), ROW(w), t, has, 0, &shared);
#endif

/* Then a tile's rows, by the first 32 items: `rows_part`. Without barriers the others must not read `rows`. */
#ifdef SHUFFLES
#define SCAN_ROWS                                                                                                              \
    SCAN rows_part = part[0];                                                                                                  \
    if (item < WIDTH) rows_part = scan_across(shared.rows[t + 1], t);
#else
#define SCAN_ROWS                                                                                                              \
    SCAN rows_part = shared.rows[t + 1];                                                                                       \
    SCAN_ACROSS(rows_part)
#endif

/* By item t of the first 32: row t of tile j with what is before the tile, if `has` says that there is anything; what is before and with the tile is
 * `end`. */
INLINE void put_row(LOCAL TILE_SHARED *shared, u32 j, u32 t, u32 has, SCAN before, SCAN end, SCAN rows_part) {
    shared->rows[j * WIDTH + t + 1] = t < WIDTH - 1 ? scan_join(has, before, rows_part) : end;
    if (j == 0 && t == 0) shared->rows[0] = before;
}

/*
 * All of a warp's cells are whole, and aligned. Of 32 bytes, two neighbours store each one's together: else every store fills the halves of sectors, which
 * those of other rows come between. 2^28 f64, H200, CUDA, November 2026: 1,360 us, without 1,410, of two rows at once 1,540.
 */
INLINE void store_plain_cell(const CALL *c, u64 k, const WIDE_RESULTS *r, u32 t) {
    GLOBAL RESULT *to = c->out + LOWEST_PLACE(k, CELL, c->n);
#ifdef STAGED
    if (sizeof(r->result) == 32) {
        WIDE_RESULTS w;
#pragma unroll
        for (int j = 0; j < CELL; j++) w.result[WITHIN(j)] = r->result[j];
        const u32 high = PLACE(t, WIDTH) & 1; /* its cell lies behind the other's */
        const uint4 stays = high ? w.vector[1] : w.vector[0], goes = high ? w.vector[0] : w.vector[1];
        uint4 comes;
        comes.x = shuffle_word(goes.x, t ^ 1);
        comes.y = shuffle_word(goes.y, t ^ 1);
        comes.z = shuffle_word(goes.z, t ^ 1);
        comes.w = shuffle_word(goes.w, t ^ 1);
        GLOBAL uint4 *first = (GLOBAL uint4 *)to - (high ? 2 : 0) + high;
        STORE_VECTOR(first, high ? comes : stays);
        STORE_VECTOR(first + 2, high ? stays : comes);
        return;
    }
#endif
    store_wide(to, r);
}

/* The values of a row's items. `has`: whether anything is before the group's tiles. `plain`: it is known that the cell is whole, and aligned. */
INLINE void scan_row(const CALL *c, const WIDE_ITEMS raw, SCAN part, SCAN left, u64 k, u32 row, u32 t, u32 has, u32 plain,
                     LOCAL const TILE_SHARED *shared) {
    if (!plain && k >= c->n) return;
    const ITEM_CELL cell = open_cell(c, k, raw);
    const u32 has_row = has || row;
    const SCAN before = shared->rows[row], end = t < WIDTH - 1 ? scan_join(has_row, before, part) : shared->rows[row + 1];
    WIDE_RESULTS r;
    scan_cell(c, &cell, k, has_row || t, t ? scan_join(has_row, before, left) : before, end, &r);
    if (plain)
        store_plain_cell(c, k, &r, t);
    else
        store_cell(c, k, &r);
}
