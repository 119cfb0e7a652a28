/* SPDX-License-Identifier: MIT */
/*
 * scanning: the types and functions that all scans share, in CUDA C, OpenCL C and C.
 *
 * Computes: nothing by itself. The kernels of the stems call what stands here.
 * How: it stands in a scan's program after the specialised text and before the stems. The scan's
 * form is specialised by SEGMENTED, REVERSE, EXCLUSIVE and INITIAL. The order of combination is
 * scan order v1 (src/base/order.h): 4 items are a cell, 32 cells a row, 32 rows a tile, 32 tiles a
 * block.
 * Needs: nothing.
 * Why: the order and the form of a scan stand once, for all its variants and languages.
 *
 * Item k is the item at index k of the scanned sequence. A reverse scan begins with the last item
 * in memory, so its item 0 is that one. SCAN is the type that is combined: an accumulator, or in a
 * segmented scan an accumulator with a counter and a flag.
 *
 * The aggregate of a part (a cell, a row, a tile, a block) is the combination of all its items. Its
 * exclusive prefix is the combination of all items before the part, and its inclusive prefix also
 * has the part's own. No identity stands for absent items: where `has` is 0 nothing stands before
 * the part, and the exclusive prefix beside it has no meaning.
 */

#define CELL 4   /* items of a cell */
#define WIDTH 32 /* cells of a row, rows of a tile, tiles of a block */
#define CELL_BYTES (CELL * ITEM_BYTES)
#define ROW_ITEMS (CELL * WIDTH)
#define TILE_ITEMS ((u64)ROW_ITEMS * WIDTH)

#ifdef SEGMENTED
#define BEGINS ((u64)1 << 63)
typedef struct {
    ACC value; /* of the items since the last beginning of a segment */
    u64 count; /* how many items those are; with the bit BEGINS where a segment begins in the part */
} SCAN;

INLINE SCAN scan_combine(SCAN a, SCAN b) {
#ifdef ACCS /* without a branch, so that loops become vectors */
    const u32 begins = b.count >> 63;
    b.value = accs_choose(begins, b.value, op_join(a.value, b.value));
    b.count += begins ? 0 : a.count;
    return b;
#else
    if (!(b.count & BEGINS)) {
        b.value = op_join(a.value, b.value);
        b.count += a.count;
    }
    return b;
#endif
}
#else
typedef ACC SCAN;
#define scan_combine(a, b) op_join(a, b)
#endif

/*
 * scan_next combines a, the first j items of a cell, with the next item. scan_neighbours is step s
 * of Kogge and Stone's scan: it combines part l - s, a, with part l, b. Before the scan all parts
 * have the same number of items. Now b has s of them in it, and a the lesser of s and l + 1 - s. So
 * b's share of the items is s / (l + 1), or a half from l + 1 = 2 s on. The quotient is s times the
 * reciprocal of l + 1, which is not rounded again, as s is a power of two. So no step divides. In a
 * segmented scan the flags decide how many items a part has.
 */
#define RECIPROCAL_OF(count) SHARE_OF(1, count)
#ifdef SEGMENTED
#define scan_next(a, item, j) scan_combine(a, item)
#define scan_neighbours(a, b, s, l, reciprocal) scan_combine(a, b)
#else
#define scan_next(a, item, j) op_join_by(RECIPROCAL_OF((j) + 1), a, item)
#define scan_neighbours(a, b, s, l, reciprocal)                                                                                \
    op_join_by((u32)(l) + 1 < 2 * (u32)(s) ? (SHARE)(s) * (reciprocal) : (SHARE)0.5, a, b)
#endif

/* Combines a with b if `has` says that there is an a; else returns b. */
INLINE SCAN scan_join(u32 has, SCAN a, SCAN b) {
    return has ? scan_combine(a, b) : b;
}

/* The arguments of a call that do not change while it runs. */
typedef struct {
    SOURCE in;
    GLOBAL const u8 *heads; /* heads[i] != 0: a segment begins at index i in memory */
    u64 base;               /* items of the sequence before this call's first */
    u64 n;
    GLOBAL RESULT *out;
    ITEM initial;
    u32 wide_in, wide_out; /* 1: whole cells are aligned for wide loads, for wide stores */
} CALL;

/* PLACE is the index in memory of item k of n, LOWEST_PLACE the lowest index of the `items` items
 * from k on. WITHIN is the place in memory of item j of a cell, counted from the cell's lowest. */
#ifdef REVERSE
#define PLACE(k, n) ((n)-1 - (k))
#define LOWEST_PLACE(k, items, n) ((n) - (items) - (k))
#define WITHIN(j) (CELL - 1 - (j))
#else
#define PLACE(k, n) (k)
#define LOWEST_PLACE(k, items, n) (k)
#define WITHIN(j) (j)
#endif

/* ---- cells in memory ------------------------------------------------------------------------- */

/* A cell is loaded and stored in the widest words that it divides into, at most 16 bytes each. */
#define WIDE_OF(bytes) ((bytes) < 16 ? (bytes) : 16)
/* Values of an op with several results may be of any size: four of 3 bytes are no such words. */
#define IS_WIDE(bytes) ((bytes) == 4 || (bytes) == 8 || (bytes) % 16 == 0)
typedef union {
    ITEM item[CELL];
    u32 word;
    u64 words;
    ITEM_VECTOR vector[CELL_BYTES / 16 + (CELL_BYTES < 16)];
} WIDE_ITEMS;

typedef union {
    RESULT result[CELL];
    u32 word;
    u64 words;
    uint4 vector[(CELL * sizeof(RESULT) + 15) / 16];
} WIDE_RESULTS;

#define READ_CELL(SPACE, w, from, BYTES, VECTOR)                                                                               \
    if ((BYTES) == 4)                                                                                                          \
        w.word = *(SPACE const u32 *)(from);                                                                                   \
    else if ((BYTES) == 8)                                                                                                     \
        w.words = *(SPACE const u64 *)(from);                                                                                  \
    else {                                                                                                                     \
        _Pragma("unroll") for (int v = 0; v < (int)(BYTES) / 16; v++) w.vector[v] = ((SPACE const VECTOR *)(from))[v];         \
    }

/* A cell's items in the order of the sequence. */
typedef struct {
    ITEM item[CELL];
#ifdef SEGMENTED
    u32 begins; /* bit j: a segment begins with item j */
#endif
} ITEM_CELL;

INLINE CALL call_of(SOURCE in, GLOBAL const u8 *heads, u64 base, u64 n, GLOBAL RESULT *out, ITEM initial) {
    CALL c;
    c.in = in;
    c.heads = heads;
    c.base = base;
    c.n = n;
    c.out = out;
    c.initial = initial;
    /* Item 0 begins a cell, and so does every CELLth item after it: if one whole cell is aligned,
     * all are. */
    c.wide_in = n >= CELL && (size_t)(in.x + LOWEST_PLACE(0, CELL, n)) % WIDE_OF(CELL_BYTES) == 0;
    c.wide_out = IS_WIDE(CELL * sizeof(RESULT)) && n >= CELL &&
                 (size_t)(out + LOWEST_PLACE(0, CELL, n)) % WIDE_OF(CELL * sizeof(RESULT)) == 0;
    return c;
}

#ifdef SEGMENTED
/* The flag that says whether a segment of the sequence begins with item k > 0. In a reverse scan it
 * is that of item k - 1, next in memory: the head of its segment. */
#ifdef REVERSE
#define FLAG_OF(c, k) ((c)->heads[(c)->n - (k)])
#else
#define FLAG_OF(c, k) ((c)->heads[k])
#endif

/* Returns 1 if a segment of the sequence begins with item k. */
INLINE u32 begins_at(const CALL *c, u64 k) {
#ifdef REVERSE
    if (k == 0) return 1;
#endif
    return FLAG_OF(c, k) != 0;
}
#endif

/*
 * Loads item k. In place a result takes the item's place, and may have another type (argmax of
 * f64). C lets a compiler assume that loads and stores of different types are independent, and
 * POCL 3.1's does: it could load the item after the result is stored. The attribute forbids that.
 * CUDA's compiler refuses the attribute for structs; there barriers and shuffles stand between.
 */
#ifdef __OPENCL_VERSION__
typedef ITEM ALIASING_ITEM __attribute__((may_alias));
#else
typedef ITEM ALIASING_ITEM;
#endif
INLINE ITEM load_item(const CALL *c, u64 k) {
    return *((GLOBAL const ALIASING_ITEM *)c->in.x + PLACE(k, c->n));
}

/* Loads the cell that begins with item k < n, in the order of memory. Places beyond n get item k
 * again; no result that is stored depends on them. */
INLINE WIDE_ITEMS load_cell(const CALL *c, u64 k) {
    WIDE_ITEMS w;
    if (c->wide_in && k + CELL <= c->n) {
        GLOBAL const ITEM *from = c->in.x + LOWEST_PLACE(k, CELL, c->n);
        READ_CELL(GLOBAL, w, from, CELL_BYTES, ITEM_VECTOR)
    } else {
#pragma unroll
        for (int j = 0; j < CELL; j++) w.item[WITHIN(j)] = load_item(c, k + j < c->n ? k + j : k);
    }
    return w;
}

/* Puts a cell's items into the order of the sequence, with the segments' beginnings. */
INLINE ITEM_CELL open_cell(const CALL *c, u64 k, const WIDE_ITEMS w) {
    ITEM_CELL cell;
#pragma unroll
    for (int j = 0; j < CELL; j++) cell.item[j] = w.item[WITHIN(j)];
#ifdef SEGMENTED
    cell.begins = 0;
#pragma unroll
    for (int j = 0; j < CELL; j++)
        if (k + j < c->n && begins_at(c, k + j)) cell.begins |= 1U << j;
#endif
    return cell;
}

/* Stores 16 bytes by one instruction. CUDA's compilers split a plain store of a vector whose parts
 * they know. Sums of 2^28 by look_back, H200, November 2026: i32 1,290 us split, 935 whole; f32
 * 670 and 655. */
#ifdef __CUDA_ARCH__
#define STORE_VECTOR(to, v) __stwb(to, v)
#else
#define STORE_VECTOR(to, v) (*(to) = (v))
#endif

/* Stores a whole, aligned cell of results, which are given in the order of the sequence. */
INLINE void store_wide(GLOBAL RESULT *to, const WIDE_RESULTS *r) {
    WIDE_RESULTS w;
#pragma unroll
    for (int j = 0; j < CELL; j++) w.result[WITHIN(j)] = r->result[j];
    if (sizeof(w.result) == 4)
        *(GLOBAL u32 *)to = w.word;
    else if (sizeof(w.result) == 8)
        *(GLOBAL u64 *)to = w.words;
    else {
#pragma unroll
        for (int v = 0; v < (int)(sizeof(w.result) / 16); v++) STORE_VECTOR((GLOBAL uint4 *)to + v, w.vector[v]);
    }
}

INLINE void store_cell(const CALL *c, u64 k, const WIDE_RESULTS *r) {
    if (c->wide_out && k + CELL <= c->n) {
        store_wide(c->out + LOWEST_PLACE(k, CELL, c->n), r);
    } else {
#pragma unroll
        for (int j = 0; j < CELL; j++)
            if (k + j < c->n) c->out[PLACE(k + j, c->n)] = r->result[j];
    }
}

/* ---- items combined, and results ------------------------------------------------------------- */

/* Item j of the cell that begins with item k, as a SCAN. */
INLINE SCAN cell_item(const CALL *c, const ITEM_CELL *cell, u64 k, int j) {
    ITEMS v;
    v.x = cell->item[j];
    const ACC a = op_load(v, PLACE(c->base + k + j, c->n), c->in.p);
#ifdef SEGMENTED
    SCAN s;
    s.value = a;
    s.count = 1 | (cell->begins >> j & 1 ? BEGINS : 0);
    return s;
#else
    return a;
#endif
}

INLINE SCAN cell_aggregate(const CALL *c, const ITEM_CELL *cell, u64 k) {
    SCAN s = cell_item(c, cell, k, 0);
#pragma unroll
    for (int j = 1; j < CELL; j++) s = scan_next(s, cell_item(c, cell, k, j), j);
    return s;
}

/* The accumulator and the number of items that the result of s is computed of, with the initial
 * item. s holds the first `count` items of the sequence; in a segmented scan it counts itself. */
INLINE ACC scan_value(const CALL *c, SCAN s) {
#ifdef SEGMENTED
    const ACC a = s.value;
#else
    const ACC a = s;
#endif
#ifdef INITIAL
    ITEMS v;
    v.x = c->initial;
    return op_join(op_load(v, 0, c->in.p), a);
#else
    return a;
#endif
}

INLINE u64 scan_count(SCAN s, u64 count) {
#ifdef SEGMENTED
    count = s.count & ~BEGINS;
#endif
#ifdef INITIAL
    count++;
#endif
    return count;
}

INLINE RESULT scan_result(const CALL *c, SCAN s, u64 count) {
    return op_result(scan_value(c, s), scan_count(s, count), c->in.p);
}

/* The result of an exclusive scan where nothing stands before: the initial item or the op's result
 * of no items. */
INLINE RESULT scan_first(const CALL *c) {
#ifdef INITIAL
    ITEMS v;
    v.x = c->initial;
    return op_result(op_load(v, 0, c->in.p), 1, c->in.p);
#else
    return op_empty(c->in.p);
#endif
}

/*
 * Computes the results of the cell that begins with item k: r->result[j] is that of its item j.
 * `exclusive` and `inclusive` are the cell's prefixes. `has` is 1 if anything stands before the
 * cell; else `exclusive` is ignored.
 */
INLINE void scan_cell(const CALL *c, const ITEM_CELL *cell, u64 k, u32 has, SCAN exclusive, SCAN inclusive, WIDE_RESULTS *r) {
    SCAN own = exclusive; /* from j = 1 on: the cell's items before item j */
#pragma unroll
    for (int j = 0; j < CELL; j++) {
        const SCAN item = cell_item(c, cell, k, j);
#ifdef EXCLUSIVE
#ifdef SEGMENTED
        const u32 first = cell->begins >> j & 1;
#else
        const u32 first = 0;
#endif
        const SCAN all = j == 0 ? exclusive : scan_join(has, exclusive, own);
        r->result[j] = first || (j == 0 && !has) ? scan_first(c) : scan_result(c, all, c->base + k + j);
        own = j == 0 ? item : scan_next(own, item, j);
#else
        own = j == 0 ? item : scan_next(own, item, j);
        const SCAN all = j == CELL - 1 ? inclusive : scan_join(has, exclusive, own);
        r->result[j] = scan_result(c, all, c->base + k + j + 1);
#endif
    }
}

/* ---- what a scan keeps between groups, launches and calls ------------------------------------ */

/*
 * `values` is an array of SCAN for a workspace of `capacity` tiles and ceil(capacity / 32) blocks:
 * - two carries: the inclusive prefix of a call's last item. The calls write them in turn. `flow`
 *   says which: bit 0 is the index of the carry that this call writes; bit 1 is set if the call
 *   continues from the other one;
 * and, with three launches,
 * - the tiles' aggregates;
 * - the tiles' exclusive prefixes, and the last tile's inclusive one behind them;
 * - the blocks' aggregates;
 * - the blocks' inclusive prefixes.
 */
#define CARRY_TO(flow) ((flow)&1U)
#define CARRY_FROM(flow) (((flow)&1U) ^ 1U)
#define CONTINUES(flow) ((flow) >> 1 & 1U)
#define TILE_AGGREGATE(tile) (2 + (tile))
#define TILE_PREFIX(tile) (2 + capacity + (tile))
#define BLOCK_AGGREGATE(block) (3 + 2 * capacity + (block))
#define BLOCK_PREFIX(block) (3 + 2 * capacity + (capacity + WIDTH - 1) / WIDTH + (block))

/* The arguments of every kernel of a scan. CALL_OF makes a CALL of them and of their SOURCE. */
#define SCAN_ARGS                                                                                                              \
    SOURCE_ARGS, GLOBAL const u8 *heads, u64 heads_offset, u64 base, u64 n, u64 run, u64 capacity, GLOBAL u64 *words,          \
        GLOBAL SCAN *values, u32 flow, GLOBAL RESULT *out, u64 out_offset, const ITEM initial
#define CALL_OF(source) call_of(source, heads + heads_offset, base, n, out + out_offset, initial)
#define TILES ((n + TILE_ITEMS - 1) / TILE_ITEMS)
