/* SPDX-License-Identifier: MIT */
/*
 * cpu_scan: a scan in one launch, in scan order v1, for CPUs.
 *
 * Computes: the scan of n items. It reads every item from memory once.
 * How: one thread per group, which looks at the items of a few tiles twice. The first look computes
 * the tiles' aggregates, publishes them, and brings the items into the core's caches. Then the
 * group waits for the aggregates of the tiles before its own within the block, and for the block's
 * exclusive prefix, which the group with the last tile of the block before publishes. The second
 * look computes the results. A row's 32 cells and a tile's 1,024 lie side by side in arrays, and
 * the compiler turns the loops over them into vectors. kernels/published.h has the words that
 * groups publish, kernels/look_back_tiles.h the same for GPUs.
 * Needs: words that other groups see (feature ORDER); no local memory and no barrier.
 * Why: memory speed. 2^26 f32, POCL 3.1, 2 cores, November 2026: 35 ms; in three launches, which
 * read the items twice, 68.
 *
 * Groups run in threads of the CPU, each to its end. The waits are bounded all the same: after
 * SPINS polls a group computes what is missing from the items.
 */
#ifdef __clang__
#pragma clang diagnostic ignored "-Wpass-failed" /* POCL's first run of the optimiser makes no vectors, its second does */
#endif

/* Asks for vectors of 64 bytes, counted by the widest field. By themselves compilers make other
 * vectors, or none. */
#define PRAGMA(words) _Pragma(#words)
#define IN_VECTORS_OF(bytes, type) PRAGMA(clang loop vectorize_width(bytes / __alignof__(type)))
#define IN_VECTORS IN_VECTORS_OF(64, ACC_ARRAYS)

/* Functions with several callers are compiled once. */
#define OUT_OF_LINE static __attribute__((noinline, min_vector_width(512)))

/* ---- 32 parts -------------------------------------------------------------------------------- */

/*
 * A structure of arrays, so that loops over the parts become vectors whatever SCAN is: the 32 cells
 * of a row, rows of a tile or tiles of a block. Part l is at BEFORE + l. The place before part 0
 * has the exclusive prefix of all of them, if it is known.
 */
#define BEFORE (ACCS - WIDTH)
typedef struct {
    ACC_ARRAYS values;
#ifdef SEGMENTED
    u64 counts[ACCS];
#endif
} SCANS;

INLINE SCAN get(const SCANS *parts, int l) {
#ifdef SEGMENTED
    SCAN s;
    s.value = accs_get(&parts->values, BEFORE + l);
    s.count = parts->counts[BEFORE + l];
    return s;
#else
    return accs_get(&parts->values, BEFORE + l);
#endif
}

INLINE void set(SCANS *parts, int l, SCAN s) {
#ifdef SEGMENTED
    accs_set(&parts->values, BEFORE + l, s.value);
    parts->counts[BEFORE + l] = s.count;
#else
    accs_set(&parts->values, BEFORE + l, s);
#endif
}

/* Gives the places before part 0 any value, because steps of a scan read them. */
INLINE void clear_before(SCANS *parts) {
    SCAN none;
#ifdef SEGMENTED
    none.value = IDENTITY;
    none.count = 0;
#else
    none = IDENTITY;
#endif
    for (int l = -BEFORE; l < 0; l++) set(parts, l, none);
}

/*
 * The scan of Kogge and Stone of each of `count` <= AT_ONCE arrays of parts. The steps go from `a`
 * to `b` and back; the last one stays in `a`. A step computes all parts, so that loops take whole
 * vectors, and then gives those below s back what they were. It begins with an array when it has
 * stored the others: no load has to wait for stores that it overlaps in part.
 */
#define AT_ONCE 8
#define STEP(to, from, s)                                                                                                      \
    for (int i = 0; i < count; i++) {                                                                                          \
        IN_VECTORS                                                                                                             \
        for (int l = 0; l < WIDTH; l++) set(&to[i], l, scan_combine(get(&from[i], l - (s)), get(&from[i], l)));                \
        for (int l = 0; l < (s); l++) set(&to[i], l, get(&from[i], l));                                                        \
    }
OUT_OF_LINE void scan_parts(SCANS *a, int count) {
    SCANS b[AT_ONCE];
    for (int i = 0; i < count; i++) {
        clear_before(&a[i]);
        clear_before(&b[i]);
    }
    STEP(b, a, 1)
    STEP(a, b, 2)
    STEP(b, a, 4)
    STEP(a, b, 8)
    for (int i = 0; i < count; i++) {
        IN_VECTORS
        for (int l = 16; l < WIDTH; l++) set(&a[i], l, scan_combine(get(&a[i], l - 16), get(&a[i], l)));
    }
}

/* Turns scanned parts into inclusive prefixes: combines each with the exclusive prefix of all of
 * them, if `has` says that there is one. */
INLINE void join_parts(SCANS *parts, u32 has, SCAN exclusive) {
    if (has) {
        IN_VECTORS
        for (int l = 0; l < WIDTH; l++) set(parts, l, scan_combine(exclusive, get(parts, l)));
    }
    set(parts, -1, exclusive);
}

/* ---- the first look -------------------------------------------------------------------------- */

/* The items of a row: word[j][w][l] is word w of item j of cell l. Words, because a struct of two
 * floats, which is copied as one vector, would keep loops from becoming vectors. */
#define ITEM_WORDS ((int)(ITEM_BYTES / sizeof(ITEM_WORD)))
typedef struct {
    ITEM_WORD word[CELL][ITEM_WORDS][WIDTH];
#ifdef SEGMENTED
    u8 begins[CELL][WIDTH];
#endif
} ROW;

/* As load_item. */
typedef ITEM_WORD ALIASING_WORD __attribute__((may_alias));
INLINE void load_words(const CALL *c, u64 k, ROW *row, int j, int l) {
    GLOBAL const ALIASING_WORD *from = (GLOBAL const ALIASING_WORD *)(c->in.x + PLACE(k, c->n));
#pragma unroll
    for (int w = 0; w < ITEM_WORDS; w++) row->word[j][w][l] = from[w];
}

/* Loads the row from item k on. Places beyond n get item k again; no result that is stored depends
 * on them. */
INLINE void load_row(const CALL *c, u64 k, ROW *row) {
    if (k > 0 && k + ROW_ITEMS <= c->n) {
        IN_VECTORS_OF(32, ITEM_WORD)
        for (int l = 0; l < WIDTH; l++) {
#pragma unroll
            for (int j = 0; j < CELL; j++) load_words(c, k + l * CELL + j, row, j, l);
        }
#ifdef SEGMENTED
        IN_VECTORS_OF(32, u8)
        for (int l = 0; l < WIDTH; l++) {
#pragma unroll
            for (int j = 0; j < CELL; j++) row->begins[j][l] = FLAG_OF(c, k + l * CELL + j) != 0;
        }
#endif
    } else {
        for (int i = 0; i < ROW_ITEMS; i++) {
            const u64 at = k + i < c->n ? k + i : k;
            load_words(c, at, row, i % CELL, i / CELL);
#ifdef SEGMENTED
            row->begins[i % CELL][i / CELL] = begins_at(c, at);
#endif
        }
    }
}

/* Folds the cells of the row from item k on. Part l of parts[j] becomes the combination of the first
 * j + 1 items of cell l. */
INLINE void fold_row(const CALL *c, u64 k, const ROW *row, SCANS parts[CELL]) {
    IN_VECTORS
    for (int l = 0; l < WIDTH; l++) {
        SCAN s;
#pragma unroll
        for (int j = 0; j < CELL; j++) {
            ITEM_CELL cell;
            union {
                ITEM item;
                ITEM_WORD word[ITEM_WORDS];
            } own;
#pragma unroll
            for (int w = 0; w < ITEM_WORDS; w++) own.word[w] = row->word[j][w][l];
            cell.item[0] = own.item;
#ifdef SEGMENTED
            cell.begins = row->begins[j][l];
#endif
            const SCAN item = cell_item(c, &cell, k + (u64)l * CELL + j, 0);
            s = j ? scan_combine(s, item) : item;
            set(&parts[j], l, s);
        }
    }
}

#ifdef REVERSE
#define AHEAD -8192
#else
#define AHEAD 8192
#endif

/* Asks for the items, and the flags, that are AHEAD of the row from item k on. */
INLINE void prefetch_row(const CALL *c, u64 k) {
#if defined(__x86_64__) || defined(__aarch64__)
    const u64 place = LOWEST_PLACE(k, ROW_ITEMS, c->n);
    for (int at = 0; at < ROW_ITEMS * ITEM_BYTES; at += 64)
        __builtin_prefetch((const void *)((size_t)(c->in.x + place) + at + AHEAD));
#ifdef SEGMENTED
    for (int at = 0; at < ROW_ITEMS; at += 64) __builtin_prefetch((const void *)((size_t)(c->heads + place) + at + AHEAD / 4));
#endif
#endif
}

/*
 * A group's state of a tile between its two looks. First part l of cells[r] is the combination of
 * cell l and the cells before it in row r, and part r of `rows` that of row r and the rows before it
 * in the tile. At last they are inclusive prefixes.
 */
typedef struct {
    SCANS cells[WIDTH], rows;
} KEPT;

INLINE int rows_of_tile(const CALL *c, u64 begin) {
    return (int)min((c->n - begin + ROW_ITEMS - 1) / ROW_ITEMS, (u64)WIDTH);
}

/* Takes the first look at a tile, and returns its aggregate. */
OUT_OF_LINE SCAN fold_tile(const CALL *c, u64 begin, KEPT *kept) {
    const int count = rows_of_tile(c, begin);
    for (int first = 0; first < count; first += AT_ONCE) {
        const int rows = min(count - first, AT_ONCE);
        const u64 k = begin + first * ROW_ITEMS;
        ROW row[AT_ONCE];
        for (int i = 0; i < rows; i++) {
            prefetch_row(c, k + i * ROW_ITEMS);
            load_row(c, k + i * ROW_ITEMS, &row[i]);
        }
        for (int i = 0; i < rows; i++) {
            SCANS parts[CELL];
            fold_row(c, k + i * ROW_ITEMS, &row[i], parts);
            for (int l = 0; l < WIDTH; l++) set(&kept->cells[first + i], l, get(&parts[CELL - 1], l));
        }
        scan_parts(&kept->cells[first], rows);
    }
    /* Rows beyond n take any aggregate: no result that is stored depends on it. */
    for (int row = 0; row < WIDTH; row++) set(&kept->rows, row, get(&kept->cells[row < count ? row : 0], WIDTH - 1));
    scan_parts(&kept->rows, 1);
    return get(&kept->rows, WIDTH - 1);
}

/* ---- exclusive prefixes ---------------------------------------------------------------------- */

#ifndef SPINS
#define SPINS 65536 /* polls, of some nanoseconds each, for all that a group waits for */
#endif
#define FENCE __atomic_thread_fence(__ATOMIC_SEQ_CST);

/*
 * Returns the aggregate of a whole tile. It polls for the published one while *patience, the number
 * of polls that are left, is not 0. Then it computes the aggregate from the items (the fallback).
 */
INLINE SCAN tile_aggregate(const CALL *c, const STATE *state, u64 tile, u32 *patience) {
    GLOBAL u64 *words = words_of_tile(state, tile);
    SCAN aggregate;
    do
        if (look(see(words), state->tag, &aggregate)) return aggregate;
    while (*patience && --*patience);
    KEPT kept;
    const SCAN folded = fold_tile(c, tile * TILE_ITEMS, &kept);
    FENCE
    if (look(see(words), state->tag, &aggregate)) return aggregate;
    publish(words, folded, state->tag, AGGREGATE);
    return folded;
}

/*
 * Computes the inclusive prefixes of a block's tiles. Up to tile q - 1 the aggregates are those of
 * other groups, from tile q on those in `own`. Part -1 becomes the block's exclusive prefix. Returns
 * 1 if anything stands before the block.
 * It polls for the inclusive prefix of the block before until its patience is at an end. Then it
 * goes on from the nearest prefix that is published (the fallback).
 */
INLINE u32 prefixes_in_block(const CALL *c, const STATE *state, u64 block, u32 q, const SCANS *own, SCANS *tiles) {
    u32 patience = SPINS;
    u64 b = block;
    SCAN all = *state->carry;
    while (b > 0 && !look(see(words_of_block(state, b - 1)), state->tag, &all)) {
        if (patience)
            patience--;
        else
            b--;
    }
    for (;; b++) {
        const u32 has = b > 0 || state->continues, others = b < block ? WIDTH : q;
        for (u32 l = 0; l < WIDTH; l++)
            set(tiles, l, l < others ? tile_aggregate(c, state, b * WIDTH + l, &patience) : get(own, l));
        scan_parts(tiles, 1);
        join_parts(tiles, has, all);
        if (b == block) return has;
        all = get(tiles, WIDTH - 1);
        publish(words_of_block(state, b), all, state->tag, PREFIX);
    }
}

/* ---- results --------------------------------------------------------------------------------- */

/* Results are written as words too. */
#define RESULT_WORDS ((int)(sizeof(RESULT) / sizeof(RESULT_WORD)))
typedef union {
    RESULT result;
    RESULT_WORD word[RESULT_WORDS];
} IN_WORDS;

/* A row's results, in the order of memory. */
typedef union {
    RESULT result[ROW_ITEMS];
    RESULT_WORD word[ROW_ITEMS * RESULT_WORDS];
    uint4 vector[ROW_ITEMS * sizeof(RESULT) / 16];
    uint16 line[ROW_ITEMS * sizeof(RESULT) / 64];
} ROW_RESULTS;

/*
 * Many results are stored past the caches. The caches have no room for them, and would read what is
 * about to be overwritten. f32, POCL 3.1, 2 cores, November 2026, ms past the caches and through
 * them: 2^22 1.4, 1.4; 2^23 2.9, 4.4; 2^24 8.5, 11.6; 2^26 35, 46.
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
    if (k + ROW_ITEMS > c->n) {
        for (int i = 0; i < (int)(c->n - k); i++) c->out[PLACE(k + i, c->n)] = r->result[PLACE(i, ROW_ITEMS)];
        return;
    }
    GLOBAL RESULT *to = c->out + LOWEST_PLACE(k, ROW_ITEMS, c->n);
    if (PASSES(c) && (size_t)to % 64 == 0) {
        for (int v = 0; v < (int)(ROW_ITEMS * sizeof(RESULT) / 64); v++) {
            PASS((GLOBAL uint16 *)to + v, r->line[v])
        }
    } else if (PASSES(c) && (size_t)to % 16 == 0) {
        for (int v = 0; v < (int)(ROW_ITEMS * sizeof(RESULT) / 16); v++) {
            PASS((GLOBAL uint4 *)to + v, r->vector[v])
        }
    } else {
        for (int i = 0; i < ROW_ITEMS; i++) to[i] = r->result[i];
    }
}

/* Computes the prefixes in the cells of the row from item k on: part l of parts[j] becomes that of
 * item j < CELL - 1 of cell l. `cells` has the cells' inclusive prefixes. If `has` is 0 nothing
 * stands before cell 0. */
INLINE void row_prefixes(const CALL *c, u64 k, u32 has, const ROW *row, const SCANS *cells, SCANS parts[CELL]) {
    fold_row(c, k, row, parts);
#pragma unroll
    for (int j = 0; j < CELL - 1; j++) {
        const SCAN own = get(&parts[j], 0);
        IN_VECTORS
        for (int l = 0; l < WIDTH; l++) set(&parts[j], l, scan_combine(get(cells, l - 1), get(&parts[j], l)));
        if (!has) set(&parts[j], 0, own);
    }
}

/* Computes and stores the results of the row from item k on. */
#define RESULTS(value)                                                                                                         \
    IN_VECTORS                                                                                                                 \
    for (int l = 0; l < WIDTH; l++) {                                                                                          \
        const SCAN s = get(of, l - shift);                                                                                     \
        IN_WORDS result;                                                                                                       \
        result.result = value;                                                                                                 \
        _Pragma("unroll") for (int w = 0; w < RESULT_WORDS; w++) words[j][w][l] = result.word[w];                              \
    }
INLINE void scan_row(const CALL *c, u64 k, u32 has, const ROW *row, const SCANS *cells) {
    SCANS parts[CELL];
    RESULT_WORD words[CELL][RESULT_WORDS][WIDTH]; /* words[j][w][l]: word w of the result of item j of cell l */
    ROW_RESULTS r ALIGN(64);
    row_prefixes(c, k, has, row, cells, parts);
#pragma unroll 1
    for (int j = 0; j < CELL; j++) {
#ifdef EXCLUSIVE
        const SCANS *of = j ? &parts[j - 1] : cells;
        const int shift = j == 0;
        const u64 count = c->base + k + j;
#else
        const SCANS *of = j < CELL - 1 ? &parts[j] : cells;
        const int shift = 0;
        const u64 count = c->base + k + j + 1;
#endif
#ifdef USUAL
        u32 unusual = 0;
        IN_VECTORS
        for (int l = 0; l < WIDTH; l++) unusual |= !op_is_usual(scan_value(c, get(of, l - shift)));
        if (!unusual) {
            RESULTS(op_usual(scan_value(c, s), scan_count(s, count + l * CELL)))
            continue;
        }
#endif
        RESULTS(scan_result(c, s, count + l * CELL))
    }
    IN_VECTORS_OF(32, RESULT_WORD)
    for (int l = 0; l < WIDTH; l++) {
#pragma unroll
        for (int j = 0; j < CELL; j++) {
#pragma unroll
            for (int w = 0; w < RESULT_WORDS; w++)
                r.word[PLACE(l * CELL + j, ROW_ITEMS) * RESULT_WORDS + w] = words[j][w][l];
        }
    }
#ifdef EXCLUSIVE
    if (!has) r.result[PLACE(0, ROW_ITEMS)] = scan_first(c);
#ifdef SEGMENTED
    for (int i = 0; i < ROW_ITEMS; i++)
        if (row->begins[i % CELL][i / CELL]) r.result[PLACE(i, ROW_ITEMS)] = scan_first(c);
#endif
#endif
    store_row(c, k, &r);
}

/* Takes the second look at a tile, whose prefixes are `exclusive` and `inclusive`. `has` is 1 if
 * anything stands before it. */
INLINE void scan_tile(const CALL *c, u64 begin, u32 has, SCAN exclusive, SCAN inclusive, KEPT *kept) {
    const int count = rows_of_tile(c, begin);
    join_parts(&kept->rows, has, exclusive);
    set(&kept->rows, WIDTH - 1, inclusive);
    for (int first = 0; first < count; first += AT_ONCE) {
        const int rows = min(count - first, AT_ONCE);
        const u64 k = begin + first * ROW_ITEMS;
        SCANS *cells = &kept->cells[first];
        ROW row[AT_ONCE];
        for (int i = 0; i < rows; i++) {
            join_parts(&cells[i], has || first + i, get(&kept->rows, first + i - 1));
            set(&cells[i], WIDTH - 1, get(&kept->rows, first + i));
            load_row(c, k + i * ROW_ITEMS, &row[i]);
        }
        for (int i = 0; i < rows; i++) scan_row(c, k + i * ROW_ITEMS, has || first + i, &row[i], &cells[i]);
    }
}

/* ---- the kernel ------------------------------------------------------------------------------ */

/*
 * Groups are numbered in the order in which they begin. So a group that waits for a lower number
 * waits for one that runs. The last group resets the counter and raises the number of calls. By
 * then all groups have read that number and the carry: ACQ_REL orders it so.
 */
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
    const SOURCE in = SOURCE_OF_ARGS;
    const CALL c = CALL_OF(in);
    const SCAN carry = values[CARRY_FROM(flow)];
    const STATE state =
        state_of(words, capacity, &carry, CONTINUES(flow), __atomic_load_n((GLOBAL u32 *)words, __ATOMIC_RELAXED));
    const u64 first = number_of_group(&state) * TILES_EACH, block = first / WIDTH;
    const u32 q = (u32)(first % WIDTH), count = (u32)min((u64)TILES_EACH, TILES - first);
    KEPT kept[TILES_EACH];
    SCANS own, tiles;
#ifdef HOLD_BACK
    if (first / TILES_EACH % 5 == 3)
        for (volatile u32 i = 0; i < 4000000;) i++;
#endif
    for (u32 j = 0; j < count; j++) {
        const SCAN aggregate = fold_tile(&c, (first + j) * TILE_ITEMS, &kept[j]);
        publish(words_of_tile(&state, first + j), aggregate, state.tag, AGGREGATE);
        for (u32 l = j ? q + j : 0; l < WIDTH; l++) set(&own, l, aggregate);
    }
    const u32 has = prefixes_in_block(&c, &state, block, q, &own, &tiles);
    if (q + count == WIDTH) publish(words_of_block(&state, block), get(&tiles, WIDTH - 1), state.tag, PREFIX);
    /* In place the results are stored after the aggregates are published. */
    if ((GLOBAL const void *)c.in.x == (GLOBAL const void *)c.out) FENCE
    for (u32 j = 0; j < count; j++)
        scan_tile(&c, (first + j) * TILE_ITEMS, has || q + j, get(&tiles, q + j - 1), get(&tiles, q + j), &kept[j]);
    if (PASSES(&c)) FENCE /* stores past the caches keep no order with others */
    if (first + count == TILES) values[CARRY_TO(flow)] = get(&tiles, q + count - 1);
}
