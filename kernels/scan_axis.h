/* SPDX-License-Identifier: MIT */
/*
 * scan_axis: scans along an axis of an array on GPUs, in scan order v1, in CUDA C and OpenCL C.
 *
 * Computes: the scan of each of `count` lists of shape.n items.
 * How: a team of threads scans a list, and several teams share a group. A thread takes a cell at a
 * time. The kernels `short` are for lists of up to a row, and a team has a thread for each cell.
 * The kernels `long` are for longer lists. A team of theirs has whole warps, takes a row for each
 * of them, and walks along the list. It keeps the aggregates of the rows of its tile and of the
 * tiles of its block, one of each in each thread.
 * In the kernels `across` neighbouring threads have neighbouring lists, whose items lie side by
 * side, and a team has 32 threads at most. In the others neighbouring threads have neighbouring
 * cells of one list.
 * Needs: kernels/scanning.h, the stem "scan" and kernels/scan_lists.h before it; local memory for
 * two SCANs a thread.
 * Why: one launch for all lists, whatever their strides are.
 */

/* ---- lists in memory ------------------------------------------------------------------------- */

/* A list. `in` and `out` of its CALL are the places of index 0; the steps lead from one index to
 * the next. */
typedef struct {
    CALL c;
    i64 in_step, out_step;
} LIST;

INLINE LIST list_at(SOURCE in, const SCAN_SHAPE *shape, u64 s, GLOBAL RESULT *out, ITEM initial) {
    const LIST_PLACE place = list_place(shape, s);
    LIST list;
    in.x += place.in;
    list.in_step = shape->axis[0].in;
    list.out_step = shape->axis[0].out;
    list.c = call_of(in, 0, 0, shape->n, out + place.out, initial);
    list.c.wide_in = list.c.wide_in && list.in_step == 1;
    list.c.wide_out = list.c.wide_out && list.out_step == 1;
    return list;
}

/* Loads a cell, as load_cell does. A k from n on gets the cell of item 0. */
INLINE WIDE_ITEMS list_cell(const LIST *list, u64 k) {
    const u64 n = list->c.n, at = k < n ? k : 0;
    WIDE_ITEMS w;
    if (list->c.wide_in && at + CELL <= n) {
        GLOBAL const ITEM *from = list->c.in.x + LOWEST_PLACE(at, CELL, n);
        READ_CELL(GLOBAL, w, from, CELL_BYTES, ITEM_VECTOR)
    } else {
#pragma unroll
        for (int j = 0; j < CELL; j++) {
            const u64 own = at + j < n ? at + j : at;
            w.item[WITHIN(j)] = *((GLOBAL const ALIASING_ITEM *)list->c.in.x + (i64)PLACE(own, n) * list->in_step);
        }
    }
    return w;
}

INLINE void store_list_cell(const LIST *list, u64 k, const WIDE_RESULTS *r) {
    const u64 n = list->c.n;
    if (list->c.wide_out && k + CELL <= n) {
        store_wide(list->c.out + LOWEST_PLACE(k, CELL, n), r);
    } else {
#pragma unroll
        for (int j = 0; j < CELL; j++)
            if (k + j < n) list->c.out[(i64)PLACE(k + j, n) * list->out_step] = r->result[j];
    }
}

/* ---- exchanges ------------------------------------------------------------------------------- */

/*
 * Exchanges through local memory, between the threads of a warp or (across) of a list. Thread t of
 * them is t * pitch threads after thread 0. An exchange writes one half of the memory and waits
 * once. The next exchange writes the other half, so that no value is overwritten while it is read.
 * The steps are written out, because POCL has miscompiled barriers in loops.
 */
typedef struct {
    SCAN part[2][GROUP];
} EXCHANGE;

#define PUT(number, value)                                                                                                     \
    meet->part[number][thread] = value;                                                                                        \
    BARRIER
#define STEP_ACROSS(number, a, s)                                                                                              \
    PUT(number, a)                                                                                                             \
    if (t >= (s)) a = scan_neighbours(meet->part[number][thread - (s)*pitch], a, s, t, reciprocal);

/* Scans by Kogge and Stone. The value of thread t becomes the combination of those of threads 0 to
 * t. The next exchange may write half 1. `t` is below 32. */
INLINE SCAN meet_across(SCAN a, u32 thread, u32 t, u32 pitch, LOCAL EXCHANGE *meet) {
    const SHARE reciprocal = RECIPROCAL_OF(t + 1);
    STEP_ACROSS(0, a, 1)
    STEP_ACROSS(1, a, 2)
    STEP_ACROSS(0, a, 4)
    STEP_ACROSS(1, a, 8)
    STEP_ACROSS(0, a, 16)
    return a;
}

/* Threads of a warp exchange values by shuffles if the device has them. Such a device also takes
 * barriers under a condition that the whole group shares. */
#ifdef SHUFFLES
INLINE SCAN list_across(SCAN a, u32 t) {
    const SHARE reciprocal = RECIPROCAL_OF(t + 1);
#pragma unroll
    for (u32 s = 1; s < WIDTH; s *= 2) {
        const SCAN left = shuffle_up(a, s);
        if (t >= s) a = scan_neighbours(left, a, s, t, reciprocal);
    }
    return a;
}
#define BY_SHUFFLES(across) (!(across))
#define IF_LAST(is_last) if (is_last)
#else
#define BY_SHUFFLES(across) 0
#define IF_LAST(is_last)
#endif

/* ---- lists of up to a row -------------------------------------------------------------------- */

INLINE void scan_short(const LIST *list, u32 is, u32 thread, u32 t, u32 pitch, u32 across, LOCAL EXCHANGE *meet) {
    const u64 k = (u64)t * CELL;
    const ITEM_CELL cell = open_cell(&list->c, k, list_cell(list, k));
    SCAN part = cell_aggregate(&list->c, &cell, k), left;
#ifdef SHUFFLES
    if (BY_SHUFFLES(across)) {
        part = list_across(part, t);
        left = shuffle_up(part, 1);
    } else
#endif
    {
        part = meet_across(part, thread, t, pitch, meet);
        PUT(1, part)
        left = meet->part[1][t ? thread - pitch : thread];
    }
    if (is && k < list->c.n) {
        WIDE_RESULTS r;
        scan_cell(&list->c, &cell, k, t > 0, left, part, &r);
        store_list_cell(list, k, &r);
    }
}

/* ---- lists of any length --------------------------------------------------------------------- */

/* The state of a team on its way along a list; each of its threads has a copy. `tile` and `block`
 * are the exclusive prefixes of the current tile and block, if has_tile and has_block. Thread t of
 * each warp has in `rows` the aggregate of row t of the tile, and in `tiles` that of tile t of the
 * block, as far as they are known. */
typedef struct {
    SCAN tile, block, rows, tiles;
    u32 has_tile, has_block;
} WAY;

/*
 * Scans `warps` rows from row `first` on, one in each warp of the team. `w` is the number of the
 * thread's warp in the team, and `raw` the thread's cell.
 */
INLINE void scan_step(const LIST *list, WAY *way, const WIDE_ITEMS raw, u32 is, u64 first, u32 w, u32 warps, u32 thread, u32 t,
                      u32 pitch, u32 across, LOCAL EXCHANGE *meet) {
    const u64 k = ((first + w) * WIDTH + t) * CELL;
    const u32 low = (u32)(first % WIDTH), row = low + w, tile = (u32)(first / WIDTH % WIDTH);
    const u32 own = thread - t * pitch; /* thread 0 of the warp, or of the list */
    const ITEM_CELL cell = open_cell(&list->c, k, raw);
    SCAN part = cell_aggregate(&list->c, &cell, k), left, before, with, whole, tiles;
#ifdef SHUFFLES
    if (BY_SHUFFLES(across)) {
        part = list_across(part, t);
        left = shuffle_up(part, 1);
        if (warps == 1) {
            const SCAN aggregate = shuffle_from(part, WIDTH - 1);
            if (t == row) way->rows = aggregate;
        } else {
            BARRIER
            PUT(0, part)
            if (t >= low && t < low + warps) way->rows = meet->part[0][own + (t - row) * WIDTH + WIDTH - 1];
        }
        const SCAN rows = list_across(way->rows, t);
        before = shuffle_from(rows, row ? row - 1 : 0);
        with = shuffle_from(rows, row);
        whole = shuffle_from(rows, WIDTH - 1);
    } else
#endif
    {
        part = meet_across(part, thread, t, pitch, meet);
        PUT(1, part)
        left = meet->part[1][t ? thread - pitch : thread];
        if (t >= low && t < low + warps) way->rows = meet->part[1][own + (t - row) * WIDTH + (WIDTH - 1) * pitch];
        const SCAN rows = meet_across(way->rows, thread, t, pitch, meet);
        PUT(1, rows)
        before = meet->part[1][own + (row ? row - 1 : 0) * pitch];
        with = meet->part[1][own + row * pitch];
        whole = meet->part[1][own + (WIDTH - 1) * pitch];
    }
    SCAN tile_inclusive = way->tile;
    IF_LAST(low + warps == WIDTH) {
        if (t == tile) way->tiles = whole;
#ifdef SHUFFLES
        if (BY_SHUFFLES(across)) {
            tiles = shuffle_from(list_across(way->tiles, t), tile);
        } else
#endif
        {
            tiles = meet_across(way->tiles, thread, t, pitch, meet);
            PUT(1, tiles)
            tiles = meet->part[1][own + tile * pitch];
        }
        tile_inclusive = scan_join(way->has_block, way->block, tiles);
    }
    const u32 has_row = first + w > 0;
    const SCAN exclusive = row ? scan_join(way->has_tile, way->tile, before) : way->tile;
    const SCAN inclusive = row < WIDTH - 1 ? scan_join(way->has_tile, way->tile, with) : tile_inclusive;
    if (is && k < list->c.n) {
        WIDE_RESULTS r;
        scan_cell(&list->c, &cell, k, has_row || t, t ? scan_join(has_row, exclusive, left) : exclusive,
                  t < WIDTH - 1 ? scan_join(has_row, exclusive, part) : inclusive, &r);
        store_list_cell(list, k, &r);
    }
    if (low + warps == WIDTH) {
        way->tile = tile_inclusive;
        way->has_tile = 1;
    }
    if (low + warps == WIDTH && tile == WIDTH - 1) {
        way->block = tile_inclusive;
        way->has_block = 1;
    }
}

/* Scans a list. The loads of the next step are in flight while a step is computed. */
INLINE void scan_long(const LIST *list, u32 is, u32 w, u32 warps, u32 thread, u32 t, u32 pitch, u32 across,
                      LOCAL EXCHANGE *meet) {
    const u64 n = list->c.n, rows = (n + ROW_ITEMS - 1) / ROW_ITEMS;
    WAY way;
    way.tile = way.block = way.rows = way.tiles = IDENTITY; /* any value: none of these is read before it is known */
    way.has_tile = way.has_block = 0;
    WIDE_ITEMS next = list_cell(list, ((u64)w * WIDTH + t) * CELL);
    KEEP_ROLLED
    for (u64 first = 0; first < rows; first += warps) {
        const WIDE_ITEMS raw = next;
        next = list_cell(list, ((first + warps + w) * WIDTH + t) * CELL);
        scan_step(list, &way, raw, is, first, w, warps, thread, t, pitch, across, meet);
    }
}

/* ---- the kernels ----------------------------------------------------------------------------- */

/* A group takes GROUP / team lists at once. `own` is the number of the thread's list among them.
 * `t` is the thread's number in its warp, or (across) in its team. `w` is the number of the warp in
 * the team. */
#define AXIS_KERNEL(NAME, across, DO)                                                                                          \
    KERNEL BOUNDS void NAME(AXIS_ARGS) {                                                                                       \
        SHARED EXCHANGE exchange;                                                                                              \
        LOCAL EXCHANGE *meet = &exchange;                                                                                      \
        const SOURCE in = SOURCE_OF_ARGS;                                                                                      \
        const u32 thread = THREAD_ID, each = GROUP / team, pitch = across ? each : 1;                                          \
        const u32 own = across ? thread % each : thread / team, place = across ? thread / each : thread % team;                \
        const u32 t = place % WIDTH, w = place / WIDTH, warps = (team + WIDTH - 1) / WIDTH;                                    \
        KEEP_ROLLED                                                                                                            \
        for (u64 begin = GROUP_ID * each; begin < count; begin += GROUP_COUNT * each) {                                        \
            const u32 is = begin + own < count;                                                                                \
            const LIST list = list_at(in, &shape, is ? begin + own : begin, out + out_offset, initial);                        \
            DO;                                                                                                                \
        }                                                                                                                      \
        (void)w, (void)warps, (void)meet;                                                                                      \
    }
AXIS_KERNEL(tally_scan_axis_short, 0, scan_short(&list, is, thread, t, pitch, 0, meet))
AXIS_KERNEL(tally_scan_axis_short_across, 1, scan_short(&list, is, thread, t, pitch, 1, meet))
AXIS_KERNEL(tally_scan_axis_long, 0, scan_long(&list, is, w, warps, thread, t, pitch, 0, meet))
AXIS_KERNEL(tally_scan_axis_long_across, 1, scan_long(&list, is, w, warps, thread, t, pitch, 1, meet))
