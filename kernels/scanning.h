/* SPDX-License-Identifier: MIT */
/*
 * Scans, the same in CUDA C and OpenCL C: part of a scan's program, after the specialised text and before its stems. Scan order v1 is in
 * src/base/order.h. What is specialised: SEGMENTED, REVERSE, EXCLUSIVE, INITIAL.
 *
 * Items have a number k in the sequence that is scanned, of which a reverse scan begins with the last item. SCAN is what is combined: an
 * accumulator or, of segments, one with the items since the last beginning of a segment and whether there is one.
 */

#define CELL 4   /* items of a cell */
#define WIDTH 32 /* cells of a row, rows of a tile, tiles of a block */
#define CELL_BYTES (CELL * ITEM_BYTES)
#define ROW_ITEMS (CELL * WIDTH)
#define TILE_ITEMS ((u64)ROW_ITEMS * WIDTH)

#ifdef SEGMENTED
#define BEGINS ((u64)1 << 63)
typedef struct {
    ACC value;
    u64 count; /* with BEGINS */
} SCAN;

INLINE SCAN scan_combine(SCAN a, SCAN b) {
    if (!(b.count & BEGINS)) {
        b.value = op_combine(a.value, b.value);
        b.count += a.count;
    }
    return b;
}
#else
typedef ACC SCAN;
#define scan_combine(a, b) op_combine(a, b)
#endif

/* a before b, where there is an a. */
INLINE SCAN scan_join(u32 has, SCAN a, SCAN b) {
    return has ? scan_combine(a, b) : b;
}

/* What a call scans. */
typedef struct {
    SOURCE in;
    GLOBAL const u8 *heads; /* where segments begin */
    u64 base;               /* the number of the first item */
    u64 n;
    GLOBAL RESULT *out;
    ITEM initial;
    u32 wide_in, wide_out; /* whether cells are aligned to what they are loaded and stored by */
} CALL;

#ifdef REVERSE
#define PLACE(k, n) ((n)-1 - (k))
#define LOWEST_PLACE(k, items, n) ((n) - (items) - (k)) /* of so many from k on */
#define WITHIN(j) (CELL - 1 - (j))
#else
#define PLACE(k, n) (k)
#define LOWEST_PLACE(k, items, n) (k)
#define WITHIN(j) (j)
#endif

/* ---- cells in memory ---------------------------------------------------------------------------------------------------- */

/* By the widest words that a cell is made of, 16 bytes at most. */
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
/* A cell's items, in the order of the sequence. */
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
    /* Whole cells begin at every CELLth item from the first of the sequence. */
    c.wide_in = n >= CELL && (size_t)(in.x + LOWEST_PLACE(0, CELL, n)) % WIDE_OF(CELL_BYTES) == 0;
    c.wide_out = IS_WIDE(CELL * sizeof(RESULT)) && n >= CELL &&
                 (size_t)(out + LOWEST_PLACE(0, CELL, n)) % WIDE_OF(CELL * sizeof(RESULT)) == 0;
    return c;
}

#ifdef SEGMENTED
INLINE u32 begins_at(const CALL *c, u64 k) {
#ifdef REVERSE
    return k == 0 || c->heads[c->n - k] != 0; /* the next higher item begins one */
#else
    return c->heads[k] != 0;
#endif
}
#endif

/*
 * Item k. In place a value takes an item's place, and may be of another type (argmax of f64): a compiler that holds loads and stores of different
 * types for independent, as C allows and POCL 3.1's does, could load the item after that. In CUDA, whose compiler refuses the attribute for structs,
 * barriers and shuffles are between.
 */
#ifdef __OPENCL_VERSION__
typedef ITEM ALIASING_ITEM __attribute__((may_alias));
#else
typedef ITEM ALIASING_ITEM;
#endif
INLINE ITEM load_item(const CALL *c, u64 k) {
    return *((GLOBAL const ALIASING_ITEM *)c->in.x + PLACE(k, c->n));
}

/* The cell that begins with item k < n, as it lies in memory. Where it ends beyond n, its last items are others: they come into no value that is
 * asked for. */
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

/* As one: CUDA's compilers store a vector that they know the parts of part by part. Sums of 2^28 by look_back, H200, November 2026: i32 1,290 us, as one
 * 935; f32 670 and 655. */
#ifdef __CUDA_ARCH__
#define STORE_VECTOR(to, v) __stwb(to, v)
#else
#define STORE_VECTOR(to, v) (*(to) = (v))
#endif

/* A cell's results, given in the order of the sequence. */
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

/* ---- values ------------------------------------------------------------------------------------------------------------- */

/* Item j of the cell that begins with item k. */
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

/* The whole cell. */
INLINE SCAN cell_total(const CALL *c, const ITEM_CELL *cell, u64 k) {
    SCAN s = cell_item(c, cell, k, 0);
#pragma unroll
    for (int j = 1; j < CELL; j++) s = scan_combine(s, cell_item(c, cell, k, j));
    return s;
}

/* The result of `count` items, all those of the sequence so far. */
INLINE RESULT scan_result(const CALL *c, SCAN s, u64 count) {
#ifdef SEGMENTED
    ACC a = s.value;
    count = s.count & ~BEGINS;
#else
    ACC a = s;
#endif
#ifdef INITIAL
    ITEMS v;
    v.x = c->initial;
    a = op_combine(op_load(v, 0, c->in.p), a);
    count++;
#endif
    return op_result(a, count, c->in.p);
}

/* What stands where nothing is before. */
INLINE RESULT scan_first(const CALL *c) {
#ifdef INITIAL
    ITEMS v;
    v.x = c->initial;
    return op_result(op_load(v, 0, c->in.p), 1, c->in.p);
#else
    return op_empty(c->in.p);
#endif
}

/* The cell's values, item by item: `before` is that of all items before it, if `has` says that there are any; `end` that with all of its items. */
INLINE void scan_cell(const CALL *c, const ITEM_CELL *cell, u64 k, u32 has, SCAN before, SCAN end, WIDE_RESULTS *r) {
    SCAN own = before; /* the items of the cell so far */
#pragma unroll
    for (int j = 0; j < CELL; j++) {
        const SCAN item = cell_item(c, cell, k, j);
#ifdef EXCLUSIVE
#ifdef SEGMENTED
        const u32 first = cell->begins >> j & 1;
#else
        const u32 first = 0;
#endif
        const SCAN all = j == 0 ? before : scan_join(has, before, own);
        r->result[j] = first || (j == 0 && !has) ? scan_first(c) : scan_result(c, all, c->base + k + j);
        own = j == 0 ? item : scan_combine(own, item);
#else
        own = j == 0 ? item : scan_combine(own, item);
        const SCAN all = j == CELL - 1 ? end : scan_join(has, before, own);
        r->result[j] = scan_result(c, all, c->base + k + j + 1);
#endif
    }
}

/* ---- what a scan keeps between groups, launches and calls ------------------------------------------------------------------- */

/*
 * `values`, for a capacity of so many tiles and ceil(capacity / 32) blocks: two carries, what all blocks so far came to after a call, which calls
 * write in turn (`flow`, bit 0: the one to write; bit 1: whether the call continues from the other); then the tiles' totals, what is before each tile and
 * after the last (with three launches), the blocks' totals and what is before and with each block.
 */
#define CARRY_TO(flow) ((flow)&1U)
#define CARRY_FROM(flow) (((flow)&1U) ^ 1U)
#define CONTINUES(flow) ((flow) >> 1 & 1U)
#define TILE_TOTAL(tile) (2 + (tile))
#define TILE_PREFIX(tile) (2 + capacity + (tile))
#define BLOCK_TOTAL(block) (3 + 2 * capacity + (block))
#define BLOCK_PREFIX(block) (3 + 2 * capacity + (capacity + WIDTH - 1) / WIDTH + (block))

#define SCAN_ARGS                                                                                                              \
    SOURCE_ARGS, GLOBAL const u8 *heads, u64 heads_offset, u64 base, u64 n, u64 run, u64 capacity, GLOBAL u64 *words,          \
        GLOBAL SCAN *values, u32 flow, GLOBAL RESULT *out, u64 out_offset, const ITEM initial
#define SCAN_OPEN(c)                                                                                                           \
    SOURCE_OPEN(source)                                                                                                        \
    const CALL c = call_of(source, heads + heads_offset, base, n, out + out_offset, initial);
#define TILES ((n + TILE_ITEMS - 1) / TILE_ITEMS)
