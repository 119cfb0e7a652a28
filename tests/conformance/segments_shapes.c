/* SPDX-License-Identifier: MIT */
#include "segments_shapes.h"

#include <string.h>

#include "oracle/patterns.h"

/* ---- fixed shapes ---------------------------------------------------------------------------- */

static const uint64_t lengths[] = {1, 2, 3, 31, 32, 33, 100, 127, 128, 129, 4095, 4096, 4097, 20000};

/* Forms of an array for a length n. An extent 0 stands for it. */
static const segments_shape forms[] = {
    {1, {0}, 1},       {2, {37, 0}, 2},     {2, {0, 1}, 1}, {2, {0, 2}, 1},    {2, {0, 3}, 1},    {2, {0, 34}, 1},
    {3, {2, 0, 3}, 2}, {3, {3, 0, 130}, 2}, {2, {3, 0}, 2}, {2, {0, 1030}, 1}, {3, {2, 2, 0}, 5}, {3, {0, 3, 2}, 5},
};
#define MOST_ITEMS UINT64_C(70000)

static const segments_shape others[] = {
    {0, {0}, 0},
    {1, {7}, 0},
    {1, {0}, 1},
    {1, {0}, 0},
    {2, {0, 5}, 1},
    {2, {5, 0}, 1},
    {3, {3, 0, 4}, 2},
    {3, {0, 0, 4}, 3},
    {3, {1, 1, 7}, 3},
    {3, {1, 9, 1}, 2},
    {4, {1, 1, 1, 1}, 5},
    {2, {300, 2}, 2},
    {2, {2, 3000}, 1},
    {2, {170, 130}, 1},
    {2, {250, 131}, 1},
    {2, {330, 129}, 1},
    {2, {40, 50}, 3},
    {2, {40, 50}, 0},
    {3, {20, 30, 40}, 5},
    {4, {4, 33, 5, 7}, 5},
    {4, {4, 33, 5, 7}, 10},
    {4, {3, 64, 2, 65}, 10},
    {4, {65, 2, 64, 2}, 5},
    {5, {2, 3, 4, 5, 6}, 21},
    {5, {3, 2, 50, 7, 29}, 28},
    {6, {2, 3, 2, 3, 2, 3}, 42},
    {16, {2, 1, 2, 1, 3, 1, 2, 1, 1, 2, 1, 3, 1, 2, 1, 2}, 0xaaaa},
    {16, {2, 2, 2, 1, 3, 1, 2, 2, 1, 2, 1, 3, 1, 2, 1, 2}, 0x5555},
    {16, {1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2}, 0xffff},
};

int segments_fixed_shape(size_t number, segments_shape *shape) {
    const size_t with_length = TALLY_ARRAY_LENGTH(lengths) * TALLY_ARRAY_LENGTH(forms);
    if (number >= with_length) {
        if (number - with_length >= TALLY_ARRAY_LENGTH(others)) return 0;
        *shape = others[number - with_length];
        return 1;
    }
    uint64_t items = 1;
    *shape = forms[number / TALLY_ARRAY_LENGTH(lengths)];
    for (uint32_t a = 0; a < shape->count; a++) {
        if (shape->extents[a] == 0) shape->extents[a] = lengths[number % TALLY_ARRAY_LENGTH(lengths)];
        items *= shape->extents[a];
    }
    /* Fewer segments of a great length. */
    for (uint32_t a = 0; a < shape->count; a++)
        while (items > MOST_ITEMS && !(shape->reduced >> a & 1) && shape->extents[a] > 1) {
            items = items / shape->extents[a] * (shape->extents[a] / 2);
            shape->extents[a] /= 2;
        }
    return 1;
}

/* ---- layouts --------------------------------------------------------------------------------- */

/* Writes the strides of the axes of which `which` has the bit. Others get 0. */
static void lay_out(const segments_shape *shape, uint32_t which, segments_layout layout, int64_t *strides) {
    const uint32_t count = shape->count;
    int64_t step = layout == LAYOUT_GAPS ? 3 : 1;
    for (uint32_t k = 0; k < count; k++) {
        uint32_t a = layout == LAYOUT_F ? k : count - 1 - k;
        if (layout == LAYOUT_SWAPPED && (a ^ 1) < count) a ^= 1;
        strides[a] = 0;
        if (!(which >> a & 1) || (layout == LAYOUT_ZERO && a % 2)) continue;
        strides[a] = layout == LAYOUT_NEGATIVE && a % 2 == 0 ? -step : step;
        step = step * (int64_t)(shape->extents[a] ? shape->extents[a] : 1) + (layout == LAYOUT_GAPS ? 2 : 0);
    }
}

static void take_strides(segments_axes *c, const segments_shape *shape, const segments_layout layouts[4]) {
    int64_t strides[4][TALLY_MAX_AXES];
    const uint32_t all = (1u << TALLY_MAX_AXES) - 1;
    for (int k = 0; k < 4; k++) lay_out(shape, k < 3 ? all : all & ~shape->reduced, layouts[k], strides[k]);
    c->count = shape->count;
    for (uint32_t a = 0; a < shape->count; a++)
        c->axes[a] = (tally_axis){.extent = shape->extents[a],
                                  .reduced = (int)(shape->reduced >> a & 1),
                                  .in_stride = {strides[0][a], strides[1][a]},
                                  .where_stride = strides[2][a],
                                  .out_stride = strides[3][a]};
}

segments_axes segments_array(const segments_shape *shape, segments_layout in, int strided) {
    /* Results with strides of 0 would overlap. */
    static const segments_layout results[] = {LAYOUT_GAPS, LAYOUT_F, LAYOUT_NEGATIVE, LAYOUT_SWAPPED, LAYOUT_GAPS, LAYOUT_C};
    const segments_layout layouts[4] = {in, (in * 5 + 3) % LAYOUTS, (in * 5 + 4) % LAYOUTS, results[in]};
    segments_axes c = {.out_strided = strided};
    take_strides(&c, shape, layouts);
    return c;
}

/* ---- shapes drawn at random ------------------------------------------------------------------ */

typedef struct draw {
    uint64_t state;
} draw;

static uint64_t below(draw *d, uint64_t bound) {
    return pattern_random(d->state++) % bound;
}

/* Most extents are small, some are near a power of two. */
static uint64_t random_extent(draw *d, uint64_t room) {
    static const uint64_t usual[] = {1, 2, 3, 4, 5, 7, 8, 16, 31, 33, 64, 127, 129, 1000, 4096, 5000};
    uint64_t extent = below(d, 40) == 0 ? 0 : usual[below(d, TALLY_ARRAY_LENGTH(usual))] + (below(d, 4) == 0);
    return extent > room ? room : extent;
}

/* The axes of `which` in any order, with gaps, both signs and, where they may, zeros. */
static void random_strides(draw *d, const segments_shape *shape, uint32_t which, int may_repeat, int64_t *strides) {
    uint32_t order[TALLY_MAX_AXES];
    int64_t step = 1 + (int64_t)(below(d, 3) ? 0 : below(d, 4));
    for (uint32_t a = 0; a < shape->count; a++) order[a] = shape->count - 1 - a, strides[a] = 0;
    for (uint32_t a = 0; a < shape->count && below(d, 2); a++) {
        const uint32_t other = (uint32_t)below(d, shape->count), kept = order[a];
        order[a] = order[other];
        order[other] = kept;
    }
    for (uint32_t k = 0; k < shape->count; k++) {
        const uint32_t a = order[k];
        if (!(which >> a & 1) || (may_repeat && below(d, 8) == 0)) continue;
        strides[a] = below(d, 4) ? step : -step;
        step *= (int64_t)(shape->extents[a] ? shape->extents[a] : 1);
        if (below(d, 3) == 0) step += (int64_t)below(d, 9);
    }
}

segments_axes segments_random_array(uint64_t number) {
    draw d = {number << 20};
    segments_shape shape = {.count = 1 + (uint32_t)below(&d, 6), .reduced = (uint32_t)below(&d, 64)};
    segments_axes c = {.out_strided = below(&d, 2) == 0, .items.skew = (uint32_t)below(&d, 9)};
    int64_t strides[4][TALLY_MAX_AXES];
    uint64_t room = 30000;
    for (uint32_t a = 0; a < shape.count; a++) {
        shape.extents[a] = random_extent(&d, room);
        if (shape.extents[a]) room /= shape.extents[a];
    }
    for (int k = 0; k < 4; k++) random_strides(&d, &shape, k < 3 ? 63 : 63 & ~shape.reduced, k < 3, strides[k]);
    take_strides(&c, &shape, (const segments_layout[4]){LAYOUT_C, LAYOUT_C, LAYOUT_C, LAYOUT_C});
    for (uint32_t a = 0; a < shape.count; a++) {
        c.axes[a].in_stride[0] = strides[0][a];
        c.axes[a].in_stride[1] = strides[1][a];
        c.axes[a].where_stride = strides[2][a];
        c.axes[a].out_stride = strides[3][a];
    }
    return c;
}
