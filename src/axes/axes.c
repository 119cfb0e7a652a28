/* SPDX-License-Identifier: MIT */
/* The shape of an array's axes: which are reduced and which are kept, merged where their strides
 * allow. */
#include <stdlib.h>
#include <string.h>

#include "axes/axes.h"

/* ---- axes ------------------------------------------------------------------------------------ */

/* A product of extents. An extent of 0 makes it 0, wherever it stands; `overflows` then means
 * nothing. */
typedef struct product {
    uint64_t value;
    bool overflows;
} product;

static void multiply(product *of, uint64_t extent) {
    if (extent && of->value > UINT64_MAX / extent)
        of->overflows = true;
    else
        of->value *= extent;
}

/* Writes the product. Errors: E_ARGUMENT if it overflows 64 bits. */
static tally_status take_product(product of, const char *axes, uint64_t *value) {
    *value = of.value;
    if (!of.overflows || !of.value) return TALLY_OK;
    return tally_fail(TALLY_E_ARGUMENT, "the extents of the %s axes multiply to more than 64 bits hold", axes);
}

static tally_shape_axis axis_of(const tally_axis *given, uint32_t inputs, bool where) {
    tally_shape_axis axis = {.extent = given->extent, .where = where ? given->where_stride : 0, .out = given->out_stride};
    for (uint32_t k = 0; k < inputs; k++) axis.in[k] = given->in_stride[k];
    return axis;
}

/* The distance between neighbours of an axis in the inputs' memory. */
static uint64_t distance(const tally_shape_axis *axis) {
    uint64_t sum = 0;
    for (int k = 0; k < TALLY_MAX_INPUTS; k++) sum += tally_magnitude(axis->in[k]);
    return sum;
}

/* Compares two axes for qsort, by falling distance: neighbours along the last axis lie closest. */
static int by_distance(const void *left, const void *right) {
    const uint64_t a = distance(left), b = distance(right);
    return (a < b) - (a > b);
}

static int by_result(const void *left, const void *right) {
    const uint64_t a = tally_magnitude(((const tally_shape_axis *)left)->out),
                   b = tally_magnitude(((const tally_shape_axis *)right)->out);
    return (a > b) - (a < b);
}

/* Tells whether one step along `outer` is as long as all of `inner`, in every array. */
static bool is_one_axis(const tally_shape_axis *outer, const tally_shape_axis *inner) {
    const uint64_t extent = inner->extent;
    bool is_one =
        (uint64_t)outer->where == extent * (uint64_t)inner->where && (uint64_t)outer->out == extent * (uint64_t)inner->out;
    for (int k = 0; k < TALLY_MAX_INPUTS; k++) is_one &= (uint64_t)outer->in[k] == extent * (uint64_t)inner->in[k];
    return is_one;
}

/* Merges neighbouring axes; returns how many are left, at least one. */
static uint32_t merge(tally_shape_axis *axes, uint32_t count) {
    uint32_t left = 0;
    for (uint32_t a = 0; a < count; a++) {
        tally_shape_axis axis = axes[a];
        if (axis.extent == 1) continue;
        if (left && is_one_axis(&axes[left - 1], &axis)) axis.extent *= axes[--left].extent;
        axes[left++] = axis;
    }
    if (!left) axes[left++] = (tally_shape_axis){.extent = 1};
    return left;
}

/* Makes a shape's two lists of axes: the first of the `first` axes in shape->axis, the second of
 * `kept`, which is reordered. n and count are set before. */
static void make_lists(tally_array_shape *shape, uint32_t first, tally_shape_axis *kept, uint32_t others) {
    /* Strides are not checked if there are no items, so they are cleared. */
    for (uint32_t a = 0; a < first && !shape->n; a++) shape->axis[a] = (tally_shape_axis){.extent = shape->axis[a].extent};
    for (uint32_t a = 0; a < others && !shape->n; a++)
        kept[a] = (tally_shape_axis){.extent = kept[a].extent, .out = kept[a].out};
    shape->reduced = merge(shape->axis, first);
    /* Results have strides of their own, so the kept axes may come in any order. */
    qsort(kept, others, sizeof(*kept), by_distance);
    memcpy(shape->axis + shape->reduced, kept, others * sizeof(*kept));
    shape->kept = merge(shape->axis + shape->reduced, others);
}

/* ---- results --------------------------------------------------------------------------------- */

/* Lays the results out in C order of the kept axes. */
static void lay_out(tally_shape_axis *kept, uint32_t count) {
    uint64_t stride = 1; /* may wrap where the array has no items */
    for (uint32_t a = count; a-- > 0;) {
        kept[a].out = (int64_t)stride;
        stride *= kept[a].extent;
    }
}

/* Checks the results' strides. Errors: E_ARGUMENT if two results could share a place. */
static tally_status check_results(const tally_shape_axis *kept, uint32_t count) {
    tally_shape_axis sorted[TALLY_MAX_AXES];
    uint64_t reach = 0;
    memcpy(sorted, kept, count * sizeof(*kept));
    qsort(sorted, count, sizeof(*sorted), by_result);
    for (uint32_t a = 0; a < count; a++) {
        const uint64_t stride = tally_magnitude(sorted[a].out), steps = sorted[a].extent - 1;
        if (!steps) continue;
        if (stride <= reach)
            return tally_fail(TALLY_E_ARGUMENT,
                              "results would overlap: out_stride %lld reaches no further than those of smaller strides",
                              (long long)sorted[a].out);
        if (steps > (UINT64_MAX / 2 - reach) / stride)
            return tally_fail(TALLY_E_ARGUMENT, "out_stride %lld times its extent is beyond any memory",
                              (long long)sorted[a].out);
        reach += steps * stride;
    }
    return TALLY_OK;
}

/* ---- the shape ------------------------------------------------------------------------------- */

tally_status tally_shape_make(const tally_axis *axes, uint32_t axis_count, uint32_t inputs, bool where, bool out_strided,
                              tally_array_shape *shape) {
    tally_shape_axis kept[TALLY_MAX_AXES];
    product of_reduced = {1, false}, of_kept = {1, false};
    uint64_t n, count;
    uint32_t reduced = 0, others = 0;
    if (axis_count > TALLY_MAX_AXES)
        return tally_fail(TALLY_E_ARGUMENT, "axis_count is %u: at most %d", axis_count, TALLY_MAX_AXES);
    for (uint32_t a = 0; a < axis_count; a++) {
        const bool is_reduced = axes[a].reduced;
        const tally_shape_axis axis = axis_of(&axes[a], inputs, where);
        multiply(is_reduced ? &of_reduced : &of_kept, axis.extent);
        if (is_reduced) {
            shape->axis[reduced] = axis;
            shape->axis[reduced++].out = 0;
        } else {
            kept[others++] = axis;
        }
    }
    tally_status status = take_product(of_reduced, "reduced", &n);
    if (!status) status = take_product(of_kept, "kept", &count);
    if (!status && n > 1 && count > UINT64_MAX / n)
        status = tally_fail(TALLY_E_ARGUMENT, "the extents of all axes multiply to more than 64 bits hold");
    if (!status && !out_strided) lay_out(kept, others);
    if (!status && count) status = check_results(kept, others);
    if (status) return status;
    shape->n = n;
    shape->count = count;
    make_lists(shape, reduced, kept, others);
    return TALLY_OK;
}

tally_status tally_shape_make_scan(const tally_axis *axes, uint32_t axis_count, uint32_t along, bool out_strided,
                                   tally_array_shape *shape) {
    tally_shape_axis all[TALLY_MAX_AXES], kept[TALLY_MAX_AXES];
    product of_scanned = {1, false}, of_others = {1, false};
    uint32_t others = 0;
    if (!axis_count || axis_count > TALLY_MAX_AXES)
        return tally_fail(TALLY_E_ARGUMENT, "axis_count is %u: an array has 1 to %d axes", axis_count, TALLY_MAX_AXES);
    if (along >= axis_count)
        return tally_fail(TALLY_E_ARGUMENT, "axis is %u: the array has %u axes, from 0 on", along, axis_count);
    for (uint32_t a = 0; a < axis_count; a++) {
        all[a] = axis_of(&axes[a], 1, false);
        multiply(a == along ? &of_scanned : &of_others, axes[a].extent);
    }
    tally_status status = take_product(of_scanned, "scanned", &shape->n);
    if (!status) status = take_product(of_others, "other", &shape->count);
    if (!status && shape->n > 1 && shape->count > UINT64_MAX / shape->n)
        status = tally_fail(TALLY_E_ARGUMENT, "the extents of all axes multiply to more than 64 bits hold");
    if (!status && !out_strided) lay_out(all, axis_count);
    if (!status && shape->n && shape->count) status = check_results(all, axis_count);
    for (uint32_t a = 0; a < axis_count && !status; a++)
        if (a != along) kept[others++] = all[a];
    if (status) return status;
    shape->axis[0] = all[along];
    make_lists(shape, 1, kept, others);
    return TALLY_OK;
}

static int64_t step_of(const tally_shape_axis *axis, size_t stride) {
    int64_t step;
    memcpy(&step, (const char *)axis + stride, sizeof(step));
    return step;
}

bool tally_shape_span(const tally_array_shape *shape, size_t stride, bool with_reduced, uint64_t offset, uint64_t *low,
                      uint64_t *high) {
    uint64_t below = 0, above = 0;
    for (uint32_t a = with_reduced ? 0 : shape->reduced; a < shape->reduced + shape->kept; a++) {
        const int64_t step = step_of(&shape->axis[a], stride);
        const uint64_t size = tally_magnitude(step), steps = shape->axis[a].extent - 1;
        uint64_t *reach = step < 0 ? &below : &above;
        if (!size || !steps) continue;
        if (steps > (UINT64_MAX / 2 - *reach) / size) return false;
        *reach += steps * size;
    }
    if (below > offset || offset > UINT64_MAX / 2) return false;
    *low = offset - below;
    *high = offset + above;
    return true;
}

bool tally_shape_is_dense(const tally_array_shape *shape, size_t stride) {
    uint64_t side_by_side = 1; /* items of the axes that were found, from the fastest on */
    for (uint32_t found = 0; found < shape->reduced + shape->kept; found++) {
        uint32_t a = 0;
        while (a < shape->reduced + shape->kept &&
               (shape->axis[a].extent == 1 || tally_magnitude(step_of(&shape->axis[a], stride)) != side_by_side))
            a++;
        if (a == shape->reduced + shape->kept) break;
        side_by_side *= shape->axis[a].extent;
    }
    return side_by_side == shape->n * shape->count;
}

/* ---- the kernels' SHAPE ---------------------------------------------------------------------- */

uint32_t tally_shape_bytes(uint32_t inputs) {
    return (uint32_t)(16 + TALLY_SHAPE_AXES * 8 * (inputs + 3));
}

void tally_shape_pack(const tally_array_shape *shape, uint32_t inputs, void *to) {
    unsigned char *at = to;
    memset(to, 0, tally_shape_bytes(inputs));
    memcpy(at, &shape->n, 8);
    memcpy(at + 8, &shape->reduced, 4);
    memcpy(at + 12, &shape->kept, 4);
    at += 16;
    for (uint32_t a = 0; a < shape->reduced + shape->kept; a++) {
        const tally_shape_axis *axis = &shape->axis[a];
        memcpy(at, &axis->extent, 8);
        memcpy(at + 8, axis->in, 8 * inputs);
        memcpy(at + 8 + 8 * inputs, &axis->where, 8);
        memcpy(at + 16 + 8 * inputs, &axis->out, 8);
        at += 8 * (inputs + 3);
    }
}
