/* SPDX-License-Identifier: MIT */
/*
 * cpu_scan_axis: scans along an axis of an array on CPUs, in scan order v1.
 *
 * Computes: the scan of each of `count` lists of shape.n items.
 * How: a thread is a group. In `rows` it takes one list, tile by tile, whose items are neighbours
 * (cpu_tiles.cl). In `lists` it takes LISTS neighbouring lists at once, item by item. The loops
 * over the lists become vectors, whatever strides they have and however short they are. Kogge and
 * Stone's scan of 32 parts takes them one after the other: step s of part l needs part l - s as
 * step s / 2 left it, so the last s parts of each step are kept (LEVELS).
 * Needs: cpu_tiles.cl and kernels/scan_lists.h before it.
 * Why: one launch for all lists. Lists that are long and few leave threads idle; the planner scans
 * them one by one (src/scan/axis.c).
 */
#define EACH_LIST IN_VECTORS for (int i = 0; i < LISTS; i++)

/* ---- the order ------------------------------------------------------------------------------- */

/* The last s parts of the step before step s, from of[s - 1] on: part l is at l modulo s. */
typedef struct {
    ACC_ARRAYS of[WIDTH - 1];
} LEVELS;

/* Turns part l of each list into the combination of parts 0 to l. */
OUT_OF_LINE void take_part(LEVELS *restrict levels, u32 l, ACC_ARRAYS *restrict part) {
    const SHARE reciprocal = RECIPROCAL_OF(l + 1);
    for (u32 s = 1; s < WIDTH; s *= 2) {
        ACC_ARRAYS *kept = &levels->of[s - 1 + (l & (s - 1))];
        const ACC_ARRAYS before = *kept;
        *kept = *part;
        if (l < s) continue;
        EACH_LIST accs_set(part, i, scan_neighbours(accs_get(&before, i), accs_get(part, i), s, l, reciprocal));
    }
}

/* Combines each list's part with what stands before it, if `has` says that anything does. */
INLINE void join(u32 has, const ACC_ARRAYS *before, const ACC_ARRAYS *part, ACC_ARRAYS *to) {
    if (has) {
        EACH_LIST accs_set(to, i, scan_combine(accs_get(before, i), accs_get(part, i)));
    } else {
        *to = *part;
    }
}

/* The way along the lists: the exclusive prefixes of the cell, the row, the tile and the block. */
typedef struct {
    ACC_ARRAYS cell, row, tile, block;
    LEVELS cells, rows, tiles;
} WAY;

/* Takes the aggregates of the cell that begins with item k. way->cell becomes its inclusive
 * prefix. */
INLINE void end_cell(WAY *way, u64 k, ACC_ARRAYS *aggregate) {
    const u32 l = (u32)(k / CELL % WIDTH), row = (u32)(k / ROW_ITEMS % WIDTH), tile = (u32)(k / TILE_ITEMS % WIDTH);
    take_part(&way->cells, l, aggregate);
    if (l < WIDTH - 1) {
        join(k >= ROW_ITEMS, &way->row, aggregate, &way->cell);
        return;
    }
    take_part(&way->rows, row, aggregate);
    if (row < WIDTH - 1) {
        join(k >= TILE_ITEMS, &way->tile, aggregate, &way->cell);
    } else {
        take_part(&way->tiles, tile, aggregate);
        join(k >= TILE_ITEMS * WIDTH, &way->block, aggregate, &way->cell);
        way->tile = way->cell;
        if (tile == WIDTH - 1) way->block = way->cell;
    }
    way->row = way->cell;
}

/* ---- items and results ----------------------------------------------------------------------- */

/* Neighbouring lists: the places of their indices 0. Beyond the last list there are copies of the
 * first, of which nothing is stored. */
typedef struct {
    CALL c;
    i64 in_step, out_step;
    int lists, in_line, out_line; /* in_line: each list's items are beside those of the list before; out_line: its values */
    i64 in[LISTS], out[LISTS];
} SLAB;

INLINE SLAB slab_of(const CALL *c, const SCAN_SHAPE *shape, u64 first, u64 count) {
    SLAB slab;
    slab.c = *c;
    slab.in_step = shape->axis[0].in;
    slab.out_step = shape->axis[0].out;
    slab.lists = (int)min((u64)LISTS, count - first);
    slab.in_line = slab.out_line = slab.lists == LISTS;
    for (int i = 0; i < LISTS; i++) {
        const LIST_PLACE place = list_place(shape, first + (i < slab.lists ? i : 0));
        slab.in[i] = place.in;
        slab.out[i] = place.out;
        slab.in_line &= place.in == slab.in[0] + i;
        slab.out_line &= place.out == slab.out[0] + i;
    }
    return slab;
}

/* Prefetches the lines of item k + AHEAD_ITEMS of lists that lie side by side: no processor
 * foresees steps of pages. An address past the end is harmless (cpu_chunks.cl). */
#define AHEAD_ITEMS 16
INLINE void prefetch_items(const SLAB *slab, u64 k) {
#if defined(__x86_64__) || defined(__aarch64__)
    const i64 place = (i64)PLACE(k + AHEAD_ITEMS, slab->c.n);
    const size_t in = (size_t)slab->c.in.x + (slab->in[0] + place * slab->in_step) * ITEM_BYTES;
    const size_t out = (size_t)slab->c.out + (slab->out[0] + place * slab->out_step) * (i64)sizeof(RESULT);
    if (slab->in_line)
        for (int at = 0; at < LISTS * ITEM_BYTES; at += 64) __builtin_prefetch((const void *)(in + at));
    if (slab->out_line)
        for (int at = 0; at < LISTS * (int)sizeof(RESULT); at += 64) __builtin_prefetch((const void *)(out + at), 1);
#endif
}

/* Loads item k of each list. */
INLINE void load_items(const SLAB *slab, u64 k, ACC_ARRAYS *to) {
    const u64 index = PLACE(k, slab->c.n);
    GLOBAL const ALIASING_ITEM *from = (GLOBAL const ALIASING_ITEM *)slab->c.in.x + (i64)index * slab->in_step;
    ITEM items[LISTS];
    prefetch_items(slab, k);
    if (slab->in_line) {
        from += slab->in[0];
        for (int i = 0; i < LISTS; i++) items[i] = from[i];
    } else {
        for (int i = 0; i < LISTS; i++) items[i] = from[slab->in[i]];
    }
    EACH_LIST {
        ITEMS v;
        v.x = items[i];
        accs_set(to, i, op_load(v, index, slab->c.in.p));
    }
}

INLINE void store_results(const SLAB *slab, u64 k, const RESULT *results) {
    GLOBAL RESULT *to = slab->c.out + (i64)PLACE(k, slab->c.n) * slab->out_step;
    if (slab->out_line) {
        to += slab->out[0];
        for (int i = 0; i < LISTS; i++) to[i] = results[i];
    } else {
        for (int i = 0; i < slab->lists; i++) to[slab->out[i]] = results[i];
    }
}

/* Stores the results of the prefixes of the first `count` items as those of item k. */
OUT_OF_LINE void store_prefixes(const SLAB *slab, u64 k, const ACC_ARRAYS *prefixes, u64 count) {
    RESULT results[LISTS];
    EACH_LIST results[i] = scan_result(&slab->c, accs_get(prefixes, i), count);
    store_results(slab, k, results);
}

#ifdef EXCLUSIVE
INLINE void store_firsts(const SLAB *slab) {
    RESULT results[LISTS];
    for (int i = 0; i < LISTS; i++) results[i] = scan_first(&slab->c);
    store_results(slab, 0, results);
}
#endif

/* Scans the cell of `count` items that begins with item k. */
INLINE void scan_cells(const SLAB *slab, WAY *way, u64 k, int count) {
    ACC_ARRAYS own, item, prefix;
    for (int j = 0; j < count; j++) {
        load_items(slab, k + j, &item);
#ifdef EXCLUSIVE
        if (j) join(k > 0, &way->cell, &own, &prefix);
        if (k + j)
            store_prefixes(slab, k + j, j ? &prefix : &way->cell, k + j);
        else
            store_firsts(slab);
#endif
        if (j) {
            EACH_LIST accs_set(&own, i, scan_next(accs_get(&own, i), accs_get(&item, i), j));
        } else {
            own = item;
        }
#ifndef EXCLUSIVE
        if (j < CELL - 1) {
            join(k > 0, &way->cell, &own, &prefix);
            store_prefixes(slab, k + j, &prefix, k + j + 1);
        }
#endif
    }
    if (count < CELL) return;
    end_cell(way, k, &own);
#ifndef EXCLUSIVE
    store_prefixes(slab, k + CELL - 1, &way->cell, k + CELL);
#endif
}

KERNEL void tally_scan_axis_lists(AXIS_ARGS) {
    const SOURCE in = SOURCE_OF_ARGS;
    const CALL c = call_of(in, 0, 0, shape.n, out + out_offset, initial);
    WAY way;
    for (u64 first = GROUP_ID * LISTS; first < count; first += GROUP_COUNT * LISTS) {
        const SLAB slab = slab_of(&c, &shape, first, count);
        for (u64 k = 0; k < shape.n; k += CELL) scan_cells(&slab, &way, k, (int)min((u64)CELL, shape.n - k));
    }
    (void)team;
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* Scans one list. `tiles` has the aggregates of a block's tiles; those that are not known yet are
 * any value. */
INLINE void scan_list(const CALL *c) {
    KEPT kept;
    SCANS tiles, prefixes;
    SCAN before = IDENTITY, block = IDENTITY; /* any value, until they are known */
    for (u64 tile = 0; tile * TILE_ITEMS < c->n; tile++) {
        const int q = (int)(tile % WIDTH);
        const SCAN aggregate = fold_tile(c, tile * TILE_ITEMS, &kept);
        for (int l = q; l < WIDTH; l++) set(&tiles, l, aggregate);
        prefixes = tiles;
        scan_parts(&prefixes, 1);
        const SCAN inclusive = scan_join(tile >= WIDTH, block, get(&prefixes, q));
        scan_tile(c, tile * TILE_ITEMS, tile > 0, before, inclusive, &kept);
        before = inclusive;
        if (q == WIDTH - 1) block = inclusive;
    }
    if (PASSES(c)) __atomic_thread_fence(__ATOMIC_SEQ_CST); /* stores past the caches keep no order with others */
}

KERNEL void tally_scan_axis_rows(AXIS_ARGS) {
    for (u64 s = GROUP_ID; s < count; s += GROUP_COUNT) {
        const LIST_PLACE place = list_place(&shape, s);
        SOURCE in = SOURCE_OF_ARGS;
        in.x += place.in;
        const CALL c = call_of(in, 0, 0, shape.n, out + out_offset + place.out, initial);
        scan_list(&c);
    }
    (void)team;
}
