/* SPDX-License-Identifier: MIT */
#include "segments.h"

#include <stdlib.h>
#include <string.h>

#include "items.h"

/* ---- axes ------------------------------------------------------------------------------------ */

static uint64_t extents(const tally_axis *axes, uint32_t count, int reduced) {
    uint64_t product = 1;
    for (uint32_t a = 0; a < count; a++)
        if (!axes[a].reduced == !reduced) product *= axes[a].extent;
    return product;
}

uint64_t oracle_axes_segments(const tally_axis *axes, uint32_t count) {
    return extents(axes, count, 0);
}

uint64_t oracle_axes_length(const tally_axis *axes, uint32_t count) {
    return extents(axes, count, 1);
}

/* Distances from the item, byte and result whose indices are all 0. */
typedef struct distance {
    int64_t in[2], where, out;
} distance;

/* Returns that of the element of this number, in C order of the reduced or of the kept axes. */
static distance distance_of(const tally_axis *axes, uint32_t count, int reduced, uint64_t number) {
    distance d = {{0, 0}, 0, 0};
    for (uint32_t a = count; a-- > 0;) {
        if (!axes[a].reduced != !reduced) continue;
        const int64_t index = (int64_t)(number % axes[a].extent);
        number /= axes[a].extent;
        for (int k = 0; k < 2; k++) d.in[k] += index * axes[a].in_stride[k];
        d.where += index * axes[a].where_stride;
        d.out += index * axes[a].out_stride;
    }
    return d;
}

void oracle_axes_segment(const tally_axis *axes, uint32_t count, uint64_t s, int64_t at[2], int64_t *where) {
    const distance d = distance_of(axes, count, 0, s);
    for (int k = 0; k < 2; k++) at[k] = d.in[k];
    *where = d.where;
}

int64_t oracle_axes_place(const tally_axis *axes, uint32_t count, uint64_t s) {
    return distance_of(axes, count, 0, s).out;
}

/* ---- gathering ------------------------------------------------------------------------------- */

#define PIECE 1024

/* Items on their way to the oracle. */
typedef struct piece {
    const oracle_items *items;
    oracle state;
    uint32_t inputs, held;
    size_t bytes;
    _Alignas(16) unsigned char in[2][PIECE * 16];
    uint8_t where[PIECE];
} piece;

static piece *begin_pieces(const oracle_case *what, const oracle_items *items) {
    piece *p = malloc(sizeof *p);
    if (!p) abort();
    p->items = items;
    p->inputs = oracle_inputs(what->op);
    p->bytes = item_bytes_of(what->in);
    return p;
}

static void push(piece *p) {
    const void *const in[2] = {p->in[0], p->in[1]};
    oracle_push_where(&p->state, in, p->items->where ? p->where : NULL, p->held);
    p->held = 0;
}

static void gather(piece *p, const int64_t at[2], int64_t where) {
    for (uint32_t k = 0; k < p->inputs; k++)
        memcpy(p->in[k] + p->held * p->bytes, (const unsigned char *)p->items->in[k] + at[k] * (int64_t)p->bytes, p->bytes);
    if (p->items->where) p->where[p->held] = p->items->where[where];
    if (++p->held == PIECE) push(p);
}

static void begin_segment(piece *p, const oracle_case *what) {
    oracle_begin_case(&p->state, what);
    p->held = 0;
}

static void end_segment(piece *p, void *value) {
    push(p);
    oracle_end(&p->state, value);
}

/* Returns the distances of a segment's items from its first one. */
static distance *distances_within(const tally_axis *axes, uint32_t count, uint64_t length) {
    distance *within = malloc((length + 1) * sizeof *within);
    if (!within) abort();
    for (uint64_t i = 0; i < length; i++) within[i] = distance_of(axes, count, 1, i);
    return within;
}

void oracle_reduce_axes(const oracle_case *what, const oracle_items *items, const tally_axis *axes, uint32_t count,
                        void *values) {
    const uint64_t segments = oracle_axes_segments(axes, count), length = oracle_axes_length(axes, count);
    const size_t bytes = oracle_result_bytes(what);
    piece *p = begin_pieces(what, items);
    distance *within = distances_within(axes, count, length);
    for (uint64_t s = 0; s < segments; s++) {
        const distance first = distance_of(axes, count, 0, s);
        begin_segment(p, what);
        for (uint64_t i = 0; i < length; i++) {
            const int64_t at[2] = {first.in[0] + within[i].in[0], first.in[1] + within[i].in[1]};
            gather(p, at, first.where + within[i].where);
        }
        end_segment(p, (unsigned char *)values + s * bytes);
    }
    free(within);
    free(p);
}

void oracle_reduce_offsets(const oracle_case *what, const oracle_items *items, const uint64_t *begins, const uint64_t *ends,
                           uint64_t count, void *values) {
    const size_t bytes = oracle_result_bytes(what);
    piece *p = begin_pieces(what, items);
    for (uint64_t s = 0; s < count; s++) {
        begin_segment(p, what);
        for (uint64_t i = begins[s]; i < ends[s]; i++) {
            const int64_t at[2] = {(int64_t)i, (int64_t)i};
            gather(p, at, (int64_t)i);
        }
        end_segment(p, (unsigned char *)values + s * bytes);
    }
    free(p);
}

/* ---- keys ------------------------------------------------------------------------------------ */

uint64_t oracle_runs(const void *keys, uint32_t key_bytes, uint64_t n, uint64_t *begins) {
    const unsigned char *key = keys;
    uint64_t runs = 0;
    for (uint64_t i = 0; i < n; i++)
        if (i == 0 || memcmp(key + i * key_bytes, key + (i - 1) * key_bytes, key_bytes) != 0) begins[runs++] = i;
    begins[runs] = n;
    return runs;
}
