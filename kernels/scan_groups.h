/* SPDX-License-Identifier: MIT */
/*
 * scan_groups: what a group of many threads does with its tiles, in CUDA C and OpenCL C.
 *
 * Computes: nothing by itself. The kernels of GPUs' scans call what stands here.
 * How: a group owns TILES_EACH neighbouring tiles. A warp owns ROWS_EACH neighbouring rows of them,
 * and thread t of the warp owns cell t of each row. The group scans the cells of its rows and
 * leaves each row's aggregate in shared.rows (SCAN_TILE). The variant's kernel turns these into
 * prefixes. Then the threads store the results of their cells (STORE_TILE).
 * Needs: kernels/scanning.h and the stem "scan" before it. The stem says how threads exchange
 * values: by shuffles (SHUFFLES) or through local memory.
 * Why: the variants differ in how a tile gets its exclusive prefix, and in nothing else.
 *
 * The macros here expect these names in a kernel: `thread` (of the group), `t` (of the warp),
 * `begin` (the group's first item), `n`, `c` (the CALL), `shared` (TILE_SHARED); and `staged`,
 * `at_once` and KEPT_CELLS with STAGED, else `raw` and `part`.
 */
#ifndef TILES_EACH
#define TILES_EACH 1
#endif
#define ROWS_EACH (WIDTH * WIDTH * TILES_EACH / GROUP)

/*
 * SCAN_ACROSS(a) is the scan of Kogge and Stone: thread t's a becomes the combination of those of
 * the warp's threads 0 to t. FROM_LEFT(to, a) gives thread t what thread t - 1 has in a
 * (thread 0 its own), and FROM_LAST(to, a) what the warp's last thread has. All threads of the
 * group take part.
 */
#ifdef SHUFFLES
/* The steps stay a loop: written out they are most of a program, and take the compiler most of its
 * time. Accumulators of 8 bytes lose by a loop. Sums of 2^28 items, H200, CUDA, November 2026, us
 * as a loop and written out: f32 639 and 645, f64 1,380 and 1,333, i8 372 and 340. */
#if ACC_BYTES == 8
#define STEPS_ACROSS _Pragma("unroll")
#else
#define STEPS_ACROSS _Pragma("unroll 1")
#endif
/* Scans several rows side by side. */
INLINE void scan_rows_across(SCAN *a, const int rows, u32 t) {
    const SHARE reciprocal = RECIPROCAL_OF(t + 1);
    STEPS_ACROSS
    for (u32 s = 1; s < WIDTH; s *= 2)
#pragma unroll
        for (int w = 0; w < rows; w++) {
            const SCAN left = shuffle_up(a[w], s);
            if (t >= s) a[w] = scan_neighbours(left, a[w], s, t, reciprocal);
        }
}

INLINE SCAN scan_across(SCAN a, u32 t) {
    scan_rows_across(&a, 1, t);
    return a;
}
#define SCAN_ACROSS(a) a = scan_across(a, t);
#define FROM_LEFT(to, a) to = shuffle_up(a, 1);
#define FROM_LAST(to, a) to = shuffle_from(a, WIDTH - 1);
#else
/* The steps are written out: POCL has miscompiled barriers in loops. */
#define STEP_ACROSS(a, s)                                                                                                      \
    shared.exchange[thread] = a;                                                                                               \
    BARRIER                                                                                                                    \
    if (t >= s) a = scan_neighbours(shared.exchange[thread - s], a, s, t, reciprocal);                                         \
    BARRIER
#define SCAN_ACROSS(a)                                                                                                         \
    {                                                                                                                          \
        const SHARE reciprocal = RECIPROCAL_OF(t + 1);                                                                         \
        STEP_ACROSS(a, 1) STEP_ACROSS(a, 2) STEP_ACROSS(a, 4) STEP_ACROSS(a, 8) STEP_ACROSS(a, 16)                             \
    }
#define FROM(to, a, other)                                                                                                     \
    shared.exchange[thread] = a;                                                                                               \
    BARRIER                                                                                                                    \
    to = shared.exchange[other];                                                                                               \
    BARRIER
#define FROM_LEFT(to, a) FROM(to, a, t ? thread - 1 : thread)
#define FROM_LAST(to, a) FROM(to, a, thread | (WIDTH - 1))
#endif

typedef struct {
    /*
     * rows[r + 1] belongs to row r of the group's tiles. It holds, one after the other: the row's
     * aggregate; the combination of the tile's rows up to it; the row's inclusive prefix. At last
     * rows[r] is so the exclusive prefix of row r, and rows[0] that of the group's first tile.
     */
    SCAN rows[TILES_EACH * WIDTH + 1];
#ifndef SHUFFLES
    SCAN exchange[GROUP];
#endif
} TILE_SHARED;

/* ROW is the number of the warp's row w among the group's rows. CELL_OF is the first item of the
 * thread's cell in a row. */
#define ROW(w) (thread / WIDTH * ROWS_EACH + (w))
#define CELL_OF(row) (begin + ((row)*WIDTH + t) * CELL)

/* Sets `a` to the combination of the thread's cell of row w. */
#define TAKE_CELL(a, w)                                                                                                        \
    do {                                                                                                                       \
        const ITEM_CELL cell = open_cell(&c, CELL_OF(ROW(w)), RAW(w));                                                         \
        a = cell_aggregate(&c, &cell, CELL_OF(ROW(w)));                                                                        \
    } while (0)

/*
 * LOAD_TILE begins to load the group's items. SCAN_TILE waits for them, scans each row's cells and
 * leaves the rows' aggregates in shared.rows. STORE_TILE computes the results and stores them.
 * Loads between LOAD_TILE and SCAN_TILE are in flight together with the items.
 */
#ifdef STAGED
/*
 * The items wait in local memory, where each thread reads its own cells only. STORE_TILE scans the
 * rows a second time, unless combining takes long (TAKES_LONGEST, src/program/source.c): then a
 * thread keeps its scanned cells, in memory of its own. 2^28 items, H200, CUDA, November 2026, us
 * of a second scan and kept: var of f32 1,612, 1,350, of f64 3,973, 3,401; logsumexp of f32 1,834,
 * 1,484, of f64 4,610, 3,557; argmax of f32 1,394, 1,295; compensated sum of f32 2,375, 1,788; but
 * of 2^27 sum of f32 322, 336 and minmax of f64 1,476, 1,544. The kernel declares `SHARED
 * SHARED_TILES staged`, `u32 at_once` and KEPT_CELLS, for what is kept.
 */

/*
 * Rows that a warp scans at once, in SCAN_TILE and in STORE_TILE. More rows hide more of each
 * other's waits, but need more registers and a longer text. Where cells are not whole or not
 * aligned, STORE_TILE takes one row at a time. 2^28 items, H200, CUDA, November 2026, us with one,
 * two and four rows to store: sum of f32 660, 638, 631. 2^27 items with one row everywhere, and
 * with these: var of f32 738, 698, argmax of f32 685, 644. NVIDIA's OpenCL scans argmax of f32 one
 * row at a time: 752 us, with two 1,275.
 */
#define AT_MOST(rows) (ROWS_EACH < (rows) ? ROWS_EACH : (rows))
#if defined(PTX) && ACC_BYTES >= 16
#define FOLDED_ROWS AT_MOST(ITEM_BYTES < 8 ? 1 : 2)
#define STORED_ROWS FOLDED_ROWS
#else
#define FOLDED_ROWS AT_MOST(ITEM_BYTES < 8 ? 4 : 2)
#define STORED_ROWS AT_MOST(sizeof(SCAN) > 4 || ITEM_BYTES > 4 ? 2 : 4)
#endif
#define RAW(w) shared_cell(&staged, (ROW(w) * WIDTH + t) * CELL)
/* For `rows` rows at a time of the warp's: thread t's cells[i] becomes the combination of the cells
 * of row w + i up to its own. Then DO(w + i, cells[i]) is done for each. */
#define EACH_ROW(rows, DO)                                                                                                     \
    _Pragma("unroll 1") for (int w = 0; w < ROWS_EACH; w += (int)(rows)) {                                                     \
        SCAN cells[rows];                                                                                                      \
        _Pragma("unroll") for (int i = 0; i < (int)(rows); i++) TAKE_CELL(cells[i], w + i);                                    \
        scan_rows_across(cells, rows, t);                                                                                      \
        _Pragma("unroll") for (int i = 0; i < (int)(rows); i++) {                                                              \
            DO(w + i, cells[i])                                                                                                \
        }                                                                                                                      \
    }
#ifdef TAKES_LONGEST
#define KEPT_CELLS SCAN kept[ROWS_EACH];
#define KEEP(w, a) kept[w] = a;
#define EACH_KEPT(rows, DO)                                                                                                    \
    _Pragma("unroll 1") for (int w = 0; w < ROWS_EACH; w += (int)(rows)) {                                                     \
        _Pragma("unroll") for (int i = 0; i < (int)(rows); i++) {                                                              \
            const SCAN cells = kept[w + i];                                                                                    \
            DO(w + i, cells)                                                                                                   \
        }                                                                                                                      \
    }
#else
#define KEPT_CELLS
#define KEEP(w, a)
#define EACH_KEPT EACH_ROW
#endif
#define LOAD_TILE at_once = begin_copy(&c, begin, &staged, thread);
#define LEAVE_AGGREGATE(w, a)                                                                                                  \
    KEEP(w, a)                                                                                                                 \
    if (t == WIDTH - 1) shared.rows[ROW(w) + 1] = a;
#define SCAN_TILE                                                                                                              \
    end_copy(&staged, at_once);                                                                                                \
    EACH_ROW(FOLDED_ROWS, LEAVE_AGGREGATE)                                                                                     \
    BARRIER
#define STORE_PLAIN(w, a) scan_row(&c, RAW(w), a, shuffle_up(a, 1), CELL_OF(ROW(w)), ROW(w), t, 1, 1, &shared);
#define STORE_ANY(w, a) scan_row(&c, RAW(w), a, shuffle_up(a, 1), CELL_OF(ROW(w)), ROW(w), t, has, 0, &shared);
/* The first branch serves most groups: their tiles are whole, and something stands before them. */
#define STORE_TILE                                                                                                             \
    if (has && c.wide_out && begin + TILES_EACH * TILE_ITEMS <= n) {                                                           \
        EACH_KEPT(STORED_ROWS, STORE_PLAIN)                                                                                    \
    } else {                                                                                                                   \
        EACH_KEPT(1, STORE_ANY)                                                                                                \
    }
#else
/*
 * The items are in registers: all loads are in flight before the first is used. The kernel declares
 * `WIDE_ITEMS raw[ROWS_EACH]`, the thread's cells, and `SCAN part[ROWS_EACH]`, their rows' scans.
 */
#ifdef SHUFFLES
#define EACH_ROW(DO)                                                                                                           \
    _Pragma("unroll") for (int w = 0; w < ROWS_EACH; w++) {                                                                    \
        DO(w)                                                                                                                  \
    }
#define SCAN_CELLS                                                                                                             \
    EACH_ROW(TAKE_ROW)                                                                                                         \
    scan_rows_across(part, ROWS_EACH, t);
#else
#define EACH_ROW(DO) DO(0) DO(1) DO(2) DO(3)
#define SCAN_ROW(w)                                                                                                            \
    TAKE_ROW(w)                                                                                                                \
    SCAN_ACROSS(part[w])
#define SCAN_CELLS EACH_ROW(SCAN_ROW)
#endif
#define RAW(w) raw[w]
#define LOAD_ROW(w) raw[w] = load_cell(&c, CELL_OF(ROW(w)) < n ? CELL_OF(ROW(w)) : begin);
#define TAKE_ROW(w) TAKE_CELL(part[w], w);
#define LEAVE_AGGREGATE(w)                                                                                                     \
    if (t == WIDTH - 1) shared.rows[ROW(w) + 1] = part[w];
#define LOAD_TILE EACH_ROW(LOAD_ROW)
#define SCAN_TILE                                                                                                              \
    SCAN_CELLS                                                                                                                 \
    EACH_ROW(LEAVE_AGGREGATE)                                                                                                  \
    BARRIER
/* left[w] is what thread t - 1 has in part[w]. All are exchanged first, so that no barrier stands
 * between the stores. */
#define LEFT_OF_ROW(w) FROM_LEFT(left[w], part[w])
#define STORE_TILE                                                                                                             \
    {                                                                                                                          \
        SCAN left[ROWS_EACH];                                                                                                  \
        EACH_ROW(LEFT_OF_ROW)                                                                                                  \
        _Pragma("unroll") for (int w = 0; w < ROWS_EACH; w++)                                                                  \
            scan_row(&c, RAW(w), part[w], left[w], CELL_OF(ROW(w)), ROW(w), t, has, 0, &shared);                               \
    }
#endif

/* Scans the rows of a group with one tile: in thread t < 32, a becomes the combination of rows 0 to
 * t. With shuffles the other threads keep their a, because they may not read `rows` without a
 * barrier. */
#ifdef SHUFFLES
#define SCAN_ROWS(a)                                                                                                           \
    if (thread < WIDTH) a = scan_across(shared.rows[t + 1], t);
#else
#define SCAN_ROWS(a)                                                                                                           \
    a = shared.rows[t + 1];                                                                                                    \
    SCAN_ACROSS(a)
#endif

/*
 * Puts the inclusive prefix of row t of tile j into shared->rows. The group's first 32 threads call
 * it. `exclusive` and `inclusive` are the tile's prefixes, and `has` is 1 if anything stands before
 * the tile. `rows` is the combination of the tile's rows 0 to t.
 */
INLINE void put_row(LOCAL TILE_SHARED *shared, u32 j, u32 t, u32 has, SCAN exclusive, SCAN inclusive, SCAN rows) {
    shared->rows[j * WIDTH + t + 1] = t < WIDTH - 1 ? scan_join(has, exclusive, rows) : inclusive;
    if (j == 0 && t == 0) shared->rows[0] = exclusive;
}

/*
 * Stores the results of a cell where all of the warp's cells are whole and aligned. Two neighbours
 * store cells of 32 bytes together, first one cell and then the other. If each stored its own, a
 * store would fill halves of sectors, and stores of other rows would come between. 2^28 f64, H200,
 * CUDA, November 2026: 1,360 us; if each stores its own 1,410, then with two rows at once 1,540.
 */
INLINE void store_plain_cell(const CALL *c, u64 k, const WIDE_RESULTS *r, u32 t) {
    GLOBAL RESULT *to = c->out + LOWEST_PLACE(k, CELL, c->n);
#ifdef STAGED
    if (sizeof(r->result) == 32) {
        WIDE_RESULTS w;
#pragma unroll
        for (int j = 0; j < CELL; j++) w.result[WITHIN(j)] = r->result[j];
        const u32 high = PLACE(t, WIDTH) & 1; /* 1: this thread's cell is behind its neighbour's */
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

/*
 * Computes and stores the results of the thread's cell, which begins with item k, in row `row`.
 * `cells` is the combination of the row's cells up to this one, and `left` of those before it.
 * `has` is 1 if anything stands before the group's tiles. `plain` is 1 if the caller knows that the
 * cell is whole and aligned.
 */
INLINE void scan_row(const CALL *c, const WIDE_ITEMS raw, SCAN cells, SCAN left, u64 k, u32 row, u32 t, u32 has, u32 plain,
                     LOCAL const TILE_SHARED *shared) {
    if (!plain && k >= c->n) return;
    const ITEM_CELL cell = open_cell(c, k, raw);
    const u32 has_row = has || row;
    const SCAN before_row = shared->rows[row];
    const SCAN inclusive = t < WIDTH - 1 ? scan_join(has_row, before_row, cells) : shared->rows[row + 1];
    WIDE_RESULTS r;
    scan_cell(c, &cell, k, has_row || t, t ? scan_join(has_row, before_row, left) : before_row, inclusive, &r);
    if (plain)
        store_plain_cell(c, k, &r, t);
    else
        store_cell(c, k, &r);
}
