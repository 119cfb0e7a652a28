/* SPDX-License-Identifier: MIT */
#include "scan.h"

#include <stdlib.h>
#include <string.h>

#include "items.h"

#define WIDTH TALLY_SCAN_WIDTH
#define CELL TALLY_CELL_ITEMS
#define BLOCK_CELLS (WIDTH * WIDTH * WIDTH)

/* An accumulator of a segmented scan over `count` items. If a segment begins among them, it holds
 * the items from the last such beginning on. */
typedef struct node {
    uint64_t count; /* 0: no items */
    int begins;
    _Alignas(16) unsigned char acc[SCAN_ACC_BYTES];
} node;

typedef struct scan {
    const scan_op *op;
    const scan_form *form;
    const unsigned char *items;
    uint64_t n;
    unsigned char *values;
} scan;

/* ---- nodes ----------------------------------------------------------------------------------- */

/* Returns the index of the item at place i of the scan. */
static uint64_t index_of(const scan *s, uint64_t i) {
    return s->form->reverse ? s->n - 1 - i : i;
}

/* In reverse a segment begins at its highest item. The next higher item is the lowest of another
 * segment. */
static int begins_at(const scan *s, uint64_t i) {
    if (!s->form->flags) return 0;
    return s->form->reverse ? i > 0 && s->form->flags[index_of(s, i - 1)] != 0 : s->form->flags[i] != 0;
}

static void load(const scan *s, uint64_t i, node *to) {
    const uint64_t index = index_of(s, i);
    to->count = 1;
    to->begins = begins_at(s, i);
    s->op->load(s->op->self, s->items + index * s->op->item_bytes, index, to->acc);
}

static void copy(const scan *s, node *to, const node *from) {
    to->count = from->count;
    to->begins = from->begins;
    if (from->count) memcpy(to->acc, from->acc, s->op->acc_bytes);
}

/* *left becomes left combined with right. A node of no items is not combined. */
static void combine(const scan *s, node *left, const node *right) {
    if (right->count == 0) return;
    if (left->count == 0 || right->begins) {
        copy(s, left, right);
        return;
    }
    s->op->combine(s->op->self, left->acc, right->acc);
    left->count += right->count;
}

/* ---- the order ------------------------------------------------------------------------------- */

/* The parts of a block's prefixes. Each part of a level is combined with those before it in its
 * group of 32. */
typedef struct block {
    node *cells, *rows; /* as many as the items need: short scans are many */
    node tiles[WIDTH];
} block;

static void kogge_stone(const scan *s, node *parts, size_t count) {
    for (size_t step = 1; step < WIDTH; step *= 2)
        for (size_t l = count; l-- > step;) { /* downwards, so that part l - step is still the last step's */
            node joined;
            copy(s, &joined, &parts[l - step]);
            combine(s, &joined, &parts[l]);
            copy(s, &parts[l], &joined);
        }
}

/* Scans `count` parts in groups of 32 and stores the totals of the whole groups. Returns the number
 * of totals. */
static size_t scan_level(const scan *s, node *parts, size_t count, node *totals) {
    for (size_t first = 0; first < count; first += WIDTH)
        kogge_stone(s, parts + first, count - first < WIDTH ? count - first : WIDTH);
    for (size_t group = 0; group < count / WIDTH; group++) copy(s, &totals[group], &parts[group * WIDTH + WIDTH - 1]);
    return count / WIDTH;
}

/* Fills the block whose first item is at `first`, and its total if the block is whole. */
static void fill_block(const scan *s, uint64_t first, uint64_t count, block *b, node *total) {
    const size_t cells = (size_t)(count / CELL);
    for (size_t c = 0; c < cells; c++)
        for (uint64_t j = 0; j < CELL; j++) {
            node item;
            load(s, first + c * CELL + j, j ? &item : &b->cells[c]);
            if (j) combine(s, &b->cells[c], &item);
        }
    const size_t rows = scan_level(s, b->cells, cells, b->rows);
    const size_t tiles = scan_level(s, b->rows, rows, b->tiles);
    scan_level(s, b->tiles, tiles, total);
}

/* The prefix of the blocks before and the first c cells of this one. */
static void prefix_of_cells(const scan *s, const node *before, const block *b, size_t c, node *to) {
    const size_t row = c / WIDTH, tile = row / WIDTH;
    copy(s, to, before);
    if (tile) combine(s, to, &b->tiles[tile - 1]);
    if (row % WIDTH) combine(s, to, &b->rows[row - 1]);
    if (c % WIDTH) combine(s, to, &b->cells[c - 1]);
}

/* ---- the values ------------------------------------------------------------------------------ */

/* Stores the value of item i, whose segment's items are in `prefix`. */
static void store(const scan *s, uint64_t i, const node *prefix) {
    void *value = s->values + index_of(s, i) * s->op->value_bytes;
    node all = {0};
    if (s->form->initial) {
        all.count = 1;
        s->op->load(s->op->self, s->form->initial, 0, all.acc);
    }
    if (all.count && prefix->count) {
        s->op->combine(s->op->self, all.acc, prefix->acc);
        all.count += prefix->count;
    } else if (prefix->count) {
        copy(s, &all, prefix);
    }
    s->op->finish(s->op->self, all.acc, all.count, value);
}

/* Stores the values of a cell's items, at most four. `before` is the prefix before the cell,
 * `whole` the prefix that ends with it. */
static void store_cell(const scan *s, uint64_t first, uint64_t count, const node *before, const node *whole) {
    static const node none;
    node inside, prefix;
    copy(s, &prefix, before);
    for (uint64_t j = 0; j < count; j++) {
        node item;
        if (s->form->exclusive) store(s, first + j, begins_at(s, first + j) ? &none : &prefix);
        load(s, first + j, &item);
        if (j)
            combine(s, &inside, &item);
        else
            copy(s, &inside, &item);
        copy(s, &prefix, j + 1 == CELL ? whole : before);
        if (j + 1 < CELL) combine(s, &prefix, &inside);
        if (!s->form->exclusive) store(s, first + j, &prefix);
    }
}

static void store_block(const scan *s, uint64_t first, uint64_t count, const node *blocks_before, const block *b,
                        const node *through) {
    node before, whole;
    copy(s, &before, blocks_before);
    for (uint64_t done = 0; done < count; done += CELL) {
        const size_t next = (size_t)(done / CELL) + 1;
        const int is_whole = done + CELL <= count;
        if (is_whole && next == BLOCK_CELLS)
            copy(s, &whole, through);
        else if (is_whole)
            prefix_of_cells(s, blocks_before, b, next, &whole);
        store_cell(s, first + done, is_whole ? CELL : count - done, &before, &whole);
        if (is_whole) copy(s, &before, &whole);
    }
}

void scan_oracle(const scan_op *op, const scan_form *form, const void *items, uint64_t n, void *values) {
    const uint64_t most = TALLY_SCAN_BLOCK;
    const scan s = {op, form, items, n, values};
    const size_t cells = (size_t)((n < most ? n : most) / CELL), rows = cells / WIDTH;
    node *nodes = malloc((cells + rows + 1) * sizeof *nodes);
    block b = {.cells = nodes, .rows = nodes + cells};
    node before = {0}, through = {0}, total = {0};
    if (!nodes || op->acc_bytes > SCAN_ACC_BYTES) abort();
    for (uint64_t first = 0; first < n; first += most) {
        const uint64_t count = n - first < most ? n - first : most;
        total.count = 0;
        fill_block(&s, first, count, &b, &total);
        combine(&s, &through, &total); /* the blocks in sequence */
        store_block(&s, first, count, &before, &b, &through);
        copy(&s, &before, &through);
    }
    free(nodes);
}

void scan_oracle_flags(const uint64_t *offsets, uint64_t count, uint64_t n, uint8_t *flags) {
    memset(flags, 0, (size_t)n);
    for (uint64_t k = 0; k < count; k++)
        if (offsets[k] < n) flags[offsets[k]] = 1;
}

/* ---- the library's operators ----------------------------------------------------------------- */

_Static_assert(sizeof(oracle_acc) <= SCAN_ACC_BYTES, "SCAN_ACC_BYTES is too small");

static void case_load(const void *self, const void *item, uint64_t index, void *acc) {
    oracle_acc_load(self, item, index, acc);
}

static void case_combine(const void *self, void *left, const void *right) {
    oracle_acc_combine(self, left, right);
}

static void case_finish(const void *self, const void *acc, uint64_t n, void *value) {
    oracle_acc_finish(self, acc, n, value);
}

scan_op scan_oracle_op(const oracle_case *what) {
    return (scan_op){.item_bytes = item_bytes_of(what->in),
                     .acc_bytes = sizeof(oracle_acc),
                     .value_bytes = oracle_result_bytes(what),
                     .load = case_load,
                     .combine = case_combine,
                     .finish = case_finish,
                     .self = what};
}
