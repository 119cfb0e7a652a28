/* SPDX-License-Identifier: MIT */
/*
 * cpu_rows: the rows of a scan on a CPU, for one thread.
 *
 * Computes: nothing by itself. cpu_scan calls what stands here.
 * How: what is combined stands in structures of arrays (ACC_ARRAYS, src/program/source.c), one
 * place for each of the 32 cells of a row, rows of a tile or tiles of a block. The compiler turns
 * the loops over them into vectors, whatever an accumulator is. Items come from memory and results
 * go there by the words that they are made of, four of a cell side by side.
 * Needs: kernels/scanning.h before it; op_is_usual and op_usual where USUAL is defined.
 * Why: a loop over structs becomes no vectors. 2^22 items, POCL 3.1, a core's ns an item, structs
 * and arrays, November 2026: nrm2 of f64 19.1 and 1.6, argmax of f32 8.3 and 1.3, var of f64 9.7
 * and 2.7.
 */

/* Asks for vectors of 64 bytes, counted by the widest field. By themselves compilers make other
 * vectors, or none. */
#define PRAGMA(words) _Pragma(#words)
#define IN_VECTORS_OF(bytes, type) PRAGMA(clang loop vectorize_width(bytes / __alignof__(type)))
#define IN_VECTORS IN_VECTORS_OF(64, ACC_ARRAYS)

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
 * vectors, and then gives those below s back what they were. Eight arrays take a step together: the
 * loads of the next step overlap stores that were made long before, and need not wait for them.
 */
#define AT_ONCE 8
#define STEP(to, from, s)                                                                                                      \
    for (int i = 0; i < count; i++) {                                                                                          \
        IN_VECTORS                                                                                                             \
        for (int l = 0; l < WIDTH; l++)                                                                                        \
            set(&to[i], l, scan_neighbours(get(&from[i], l - (s)), get(&from[i], l), s, l, reciprocals[l]));                   \
        for (int l = 0; l < (s); l++) set(&to[i], l, get(&from[i], l));                                                        \
    }
OUT_OF_LINE void scan_parts(SCANS *a, int count) {
    SCANS b[AT_ONCE];
    SHARE reciprocals[WIDTH];
    for (int l = 0; l < WIDTH; l++) reciprocals[l] = RECIPROCAL_OF(l + 1);
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
        for (int l = 16; l < WIDTH; l++)
            set(&a[i], l, scan_neighbours(get(&a[i], l - 16), get(&a[i], l), 16, l, reciprocals[l]));
    }
}

/* Turns scanned parts into inclusive prefixes: combines each with the exclusive prefix of all of
 * them, if `has` says that there is one. */
OUT_OF_LINE void join_parts(SCANS *parts, u32 has, SCAN exclusive) {
    if (has) {
        IN_VECTORS
        for (int l = 0; l < WIDTH; l++) set(parts, l, scan_combine(exclusive, get(parts, l)));
    }
    set(parts, -1, exclusive);
}

/* ---- a row's items --------------------------------------------------------------------------- */

/* The items of a row: word[j][w][l] is word w of item j of cell l. A struct of two floats is copied
 * as one vector, which would keep loops from becoming vectors. Words do not. */
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

/* Folds the cells of the row from item k on. Part l of parts[j] becomes the combination of the
 * first j + 1 items of cell l. A caller takes some of parts[j]. Inlined there, without the other
 * stores, POCL's first run of the optimiser joins items in pairs, and its second makes no
 * vectors. */
OUT_OF_LINE void fold_row(const CALL *restrict c, u64 k, const ROW *restrict row, SCANS *restrict parts) {
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
            s = j ? scan_next(s, item, j) : item;
            set(&parts[j], l, s);
        }
    }
}

/*
 * Prefetches the items and the flags that are AHEAD bytes and as many flags beyond the row from
 * item k on. Sums of 2^22 f64, POCL 3.1, a core's ns an item, November 2026: 1.1, with this 0.7. An
 * address past the end is harmless (cpu_chunks.cl).
 */
#ifdef REVERSE
#define AHEAD -8192
#else
#define AHEAD 8192
#endif
INLINE void prefetch_row(const CALL *c, u64 k) {
#if defined(__x86_64__) || defined(__aarch64__)
    const u64 place = LOWEST_PLACE(k, ROW_ITEMS, c->n);
    for (int at = 0; at < ROW_ITEMS * ITEM_BYTES; at += 64)
        __builtin_prefetch((const void *)((size_t)(c->in.x + place) + at + AHEAD));
#ifdef SEGMENTED
    for (int at = 0; at < ROW_ITEMS; at += 64)
        __builtin_prefetch((const void *)((size_t)(c->heads + place) + at + AHEAD / ITEM_BYTES));
#endif
#endif
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

/* In an exclusive scan nothing of its segment stands before an item that begins one. */
#if defined(EXCLUSIVE) && defined(SEGMENTED)
#define FIRST_ELSE(other) (row->begins[j][l] ? none.word[w] : (other))
#else
#define FIRST_ELSE(other) (other)
#endif
/* Computes the results of the items j of all cells. `value` is that of the prefix s. */
#define RESULTS(value)                                                                                                         \
    IN_VECTORS                                                                                                                 \
    for (int l = 0; l < WIDTH; l++) {                                                                                          \
        const SCAN s = get(of, l - shift);                                                                                     \
        IN_WORDS result;                                                                                                       \
        result.result = value;                                                                                                 \
        _Pragma("unroll") for (int w = 0; w < RESULT_WORDS; w++) words[j][w][l] = FIRST_ELSE(result.word[w]);                  \
    }
/* Computes and stores the results of the row from item k on. */
INLINE void scan_row(const CALL *c, u64 k, u32 has, const ROW *row, const SCANS *cells) {
    SCANS parts[CELL];
    RESULT_WORD words[CELL][RESULT_WORDS][WIDTH]; /* words[j][w][l]: word w of the result of item j of cell l */
    ROW_RESULTS r ALIGN(64);
#ifdef EXCLUSIVE
    IN_WORDS none;
    none.result = scan_first(c);
#endif
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
        const ACC f = scan_value(c, get(of, -shift));
        u32 unusual = 0;
        IN_VECTORS
        for (int l = 0; l < WIDTH; l++) {
            const SCAN s = get(of, l - shift);
            unusual |= !op_is_usual(scan_value(c, s), f, scan_count(s, count + l * CELL), c->in.p);
        }
        if (!unusual) {
            RESULTS(op_usual(scan_value(c, s), f, scan_count(s, count + l * CELL), c->in.p))
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
            for (int w = 0; w < RESULT_WORDS; w++) r.word[PLACE(l * CELL + j, ROW_ITEMS) * RESULT_WORDS + w] = words[j][w][l];
        }
    }
#ifdef EXCLUSIVE
    if (!has) r.result[PLACE(0, ROW_ITEMS)] = none.result;
#endif
    store_row(c, k, &r);
}
