/* SPDX-License-Identifier: MIT */
/* fortran.c: see fortran.h. */
#include "fortran.h"

#include <string.h>

/* Rows and columns of a tile. The cache lines that it reads and writes stay in L1. */
#define TILE 32

/* Least and most bytes of a piece. A piece that takes m indices of the first dimension reads runs
 * of m items, one run for each combination of the other indices. Beyond 65,536 combinations the
 * upper limit is too small for runs of a page. Each page is then read several times, from the disk
 * if the file does not fit into memory. */
#define LEAST_BYTES ((uint64_t)8 << 20)
#define MOST_BYTES ((uint64_t)256 << 20)
#define PAGE_BYTES 4096

bool fortran_differs(const npy_shape *shape) {
    uint32_t longer = 0;
    for (uint32_t d = 0; d < shape->dimensions; d++) {
        if (shape->lengths[d] == 0) return false;
        longer += shape->lengths[d] > 1;
    }
    return shape->is_fortran && longer > 1;
}

void fortran_begin(fortran_walk *w, const npy_shape *shape, uint64_t room) {
    uint64_t stride = 1;
    *w = (fortran_walk){.room = room};
    for (uint32_t d = 0; d < shape->dimensions; d++) {
        if (shape->lengths[d] == 1) continue;
        w->lengths[w->dimensions] = shape->lengths[d];
        w->strides[w->dimensions++] = stride;
        stride *= shape->lengths[d];
    }
    if (w->dimensions) return;
    w->dimensions = w->lengths[0] = w->strides[0] = 1; /* a single item */
}

size_t fortran_piece_bytes(const npy_shape *shape, size_t item_bytes) {
    uint64_t n = 1, first = 1;
    for (uint32_t d = 0; d < shape->dimensions; d++) {
        if (first == 1) first = shape->lengths[d];
        n *= shape->lengths[d];
    }
    const uint64_t runs = n / first, all = n * item_bytes;
    uint64_t bytes = runs < MOST_BYTES / PAGE_BYTES ? runs * PAGE_BYTES : MOST_BYTES;
    if (bytes < LEAST_BYTES) bytes = LEAST_BYTES;
    if (bytes > all) bytes = all;
    return (bytes + 63) / 64 * 64;
}

/* An axis joins several dimensions of a box. Its index runs from 0 to `n` - 1. The first dimension
 * varies fastest. */
typedef struct axis {
    uint32_t dimensions;
    uint64_t n;
    uint64_t lengths[NPY_DIMENSION_LIMIT];
    uint64_t from[NPY_DIMENSION_LIMIT], to[NPY_DIMENSION_LIMIT]; /* bytes between indices */
} axis;

static void add_dimension(axis *x, uint64_t length, uint64_t from, uint64_t to) {
    x->lengths[x->dimensions] = length;
    x->from[x->dimensions] = from;
    x->to[x->dimensions++] = to;
    x->n *= length;
}

/* A run is up to TILE indices of an axis. Each entry is the distance in bytes from the item of
 * index 0. */
typedef struct run {
    uint32_t n;
    uint64_t from[TILE], to[TILE];
} run;

static void locate(const axis *x, uint64_t first, run *r) {
    uint64_t index[NPY_DIMENSION_LIMIT], from = 0, to = 0;
    r->n = x->n - first < TILE ? (uint32_t)(x->n - first) : TILE;
    for (uint32_t d = 0; d < x->dimensions; first /= x->lengths[d++]) {
        index[d] = first % x->lengths[d];
        from += index[d] * x->from[d];
        to += index[d] * x->to[d];
    }
    for (uint32_t i = 0; i < r->n; i++) {
        r->from[i] = from;
        r->to[i] = to;
        for (uint32_t d = 0; d < x->dimensions; d++) {
            from += x->from[d];
            to += x->to[d];
            if (++index[d] < x->lengths[d]) break;
            index[d] = 0;
            from -= x->lengths[d] * x->from[d];
            to -= x->lengths[d] * x->to[d];
        }
    }
}

#define COPY(bytes)                                                                                                            \
    for (uint32_t c = 0; c < columns->n; c++)                                                                                  \
        for (uint32_t r = 0; r < rows->n; r++)                                                                                 \
            memcpy(to + columns->to[c] + rows->to[r], from + columns->from[c] + rows->from[r], bytes);

static void copy_tile(const run *restrict rows, const run *restrict columns, const unsigned char *restrict from,
                      unsigned char *restrict to, size_t item_bytes) {
    switch (item_bytes) {
    case 1:
        COPY(1)
        break;
    case 2:
        COPY(2)
        break;
    case 4:
        COPY(4)
        break;
    case 8:
        COPY(8)
        break;
    default:
        COPY(16)
        break;
    }
}

/* Copies the box that takes `length` indices of dimension `a` and all indices of the later ones.
 * The rows are the dimensions that vary fastest in `from`, as many as fill a tile. The columns are
 * the other dimensions, of which the last varies fastest in `to`. */
static void copy_box(const fortran_walk *w, uint32_t a, uint64_t length, const unsigned char *from, unsigned char *to,
                     size_t item_bytes) {
    axis rows = {.n = 1}, columns = {.n = 1};
    run r, c;
    uint64_t steps[NPY_DIMENSION_LIMIT], step = item_bytes;
    for (uint32_t d = w->dimensions; d-- > a; step *= w->lengths[d]) steps[d] = step;
    add_dimension(&rows, length, w->strides[a] * item_bytes, steps[a]);
    uint32_t split = a + 1;
    for (; rows.n < TILE && split + 1 < w->dimensions; split++)
        add_dimension(&rows, w->lengths[split], w->strides[split] * item_bytes, steps[split]);
    for (uint32_t d = w->dimensions; d-- > split;) add_dimension(&columns, w->lengths[d], w->strides[d] * item_bytes, steps[d]);
    for (uint64_t i = 0; i < rows.n; i += TILE) {
        locate(&rows, i, &r);
        for (uint64_t k = 0; k < columns.n; k += TILE) {
            locate(&columns, k, &c);
            copy_tile(&r, &c, from, to, item_bytes);
        }
    }
}

/* Returns the dimension that a piece takes a range of, and the items of one of its indices. */
static uint32_t find_dimension(const fortran_walk *w, uint64_t *step) {
    uint32_t a = w->dimensions - 1;
    for (*step = 1; a > 0 && *step * w->lengths[a] <= w->room; a--) *step *= w->lengths[a];
    return a;
}

uint64_t fortran_seek(fortran_walk *w, uint64_t item) {
    uint64_t step;
    find_dimension(w, &step);
    return w->done = item / step * step;
}

uint64_t fortran_next(fortran_walk *w, const void *from, size_t item_bytes, void *to) {
    uint64_t step, at = 0;
    const uint32_t a = find_dimension(w, &step);
    uint64_t rest = w->done / step;
    const uint64_t left = w->lengths[a] - rest % w->lengths[a];
    const uint64_t length = w->room / step < left ? w->room / step : left;
    for (uint32_t d = a + 1; d-- > 0; rest /= w->lengths[d]) at += rest % w->lengths[d] * w->strides[d];
    if (rest) return 0; /* the walk is done */
    copy_box(w, a, length, (const unsigned char *)from + at * item_bytes, to, item_bytes);
    w->done += length * step;
    return length * step;
}
