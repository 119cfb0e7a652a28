/* SPDX-License-Identifier: MIT */
#include "scan_arrays.h"

#include <stdio.h>

#include "oracle/patterns.h"
#include "tests/support/sample.h"

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

/* ---- where elements lie ---------------------------------------------------------------------- */

int64_t array_stride(const array *a, uint32_t axis, int out) {
    int64_t stride = 1;
    if (!out || a->is_in_place) return a->axes[axis].in_stride[0];
    if (a->out_strided) return a->axes[axis].out_stride;
    for (uint32_t b = axis + 1; b < a->count; b++) stride *= (int64_t)a->axes[b].extent;
    return stride;
}

uint64_t array_items(const array *a) {
    uint64_t items = 1;
    for (uint32_t k = 0; k < a->count; k++) items *= a->axes[k].extent;
    return items;
}

reach array_reach(const array *a, int out) {
    reach r = {1, 0};
    if (!array_items(a)) return (reach){0, 0};
    for (uint32_t k = 0; k < a->count; k++) {
        const int64_t stride = array_stride(a, k, out);
        const uint64_t steps = (uint64_t)(stride < 0 ? -stride : stride) * (a->axes[k].extent - 1);
        r.count += steps;
        if (stride < 0) r.zero += steps;
    }
    return r;
}

int64_t array_list(const array *a, uint64_t s, int out) {
    int64_t at = 0;
    for (uint32_t k = a->count; k-- > 0;) {
        if (k == a->along) continue;
        at += (int64_t)(s % a->axes[k].extent) * array_stride(a, k, out);
        s /= a->axes[k].extent;
    }
    return at;
}

void array_describe(const array *a, const char *name, char *text, size_t size) {
    size_t used = (size_t)snprintf(text, size, "%s along axis %u of", name, a->along);
    for (uint32_t k = 0; k < a->count && used < size; k++)
        used += (size_t)snprintf(text + used, size - used, " (%llu by %lld to %lld)", (unsigned long long)a->axes[k].extent,
                                 (long long)array_stride(a, k, 0), (long long)array_stride(a, k, 1));
    if (used < size && a->is_in_place) snprintf(text + used, size - used, " in place");
}

/* ---- fixed arrays ---------------------------------------------------------------------------- */

array array_matrix(uint64_t n, uint64_t lists, layout which) {
    const int64_t width = (int64_t)n, height = (int64_t)lists;
    array a = {.count = 2, .along = 1, .axes = {{.extent = lists}, {.extent = n}}};
    const int64_t in[LAYOUTS][2] = {{width, 1}, {1, height}, {3 * width + 2, 3}, {-width - 1, -1}, {0, 1}, {1, height + 2}};
    const int64_t out[LAYOUTS][2] = {{0, 0}, {2, 2 * height + 1}, {-width, 1}, {width + 3, -1}, {0, 0}, {1, height + 2}};
    for (int k = 0; k < 2; k++) {
        a.axes[k].in_stride[0] = in[which][k];
        a.axes[k].out_stride = out[which][k];
    }
    a.out_strided = which != ROWS && which != BROADCAST;
    a.is_in_place = which == IN_PLACE;
    return a;
}

/* ---- arrays drawn at random ------------------------------------------------------------------ */

static uint64_t drawn;

static uint64_t below(uint64_t bound) {
    return pattern_random(sample_seed() * 1000003 + drawn++) % bound;
}

/* Strides of axes in any order, with gaps and both signs; with `may_repeat` zeros too. */
static void draw_strides(array *a, int out, int may_repeat) {
    uint32_t order[TALLY_MAX_AXES];
    int64_t step = 1 + (int64_t)(below(3) ? 0 : below(4));
    for (uint32_t k = 0; k < a->count; k++) order[k] = a->count - 1 - k;
    for (uint32_t k = 0; k < a->count && below(2); k++) {
        const uint32_t other = (uint32_t)below(a->count), kept = order[k];
        order[k] = order[other];
        order[other] = kept;
    }
    for (uint32_t k = 0; k < a->count; k++) {
        tally_axis *axis = &a->axes[order[k]];
        int64_t stride = below(4) ? step : -step;
        step = step * (int64_t)(axis->extent ? axis->extent : 1) + (below(3) ? 0 : (int64_t)below(9));
        if (may_repeat && below(9) == 0) stride = 0;
        *(out ? &axis->out_stride : &axis->in_stride[0]) = stride;
    }
}

array array_draw(void) {
    static const uint64_t usual[] = {1, 2, 3, 4, 5, 7, 8, 16, 31, 33, 64, 127, 129, 1000, 4096, 5000};
    array a = {.count = 1 + (uint32_t)below(6), .out_strided = below(2) == 0};
    uint64_t room = 30000;
    for (uint32_t k = 0; k < a.count; k++) {
        const uint64_t extent = below(40) == 0 ? 0 : usual[below(COUNT(usual))] + (below(4) == 0);
        a.axes[k].extent = extent > room ? room : extent;
        if (extent) room /= a.axes[k].extent;
    }
    a.along = (uint32_t)below(a.count);
    draw_strides(&a, 0, 1);
    draw_strides(&a, 1, 0);
    return a;
}
