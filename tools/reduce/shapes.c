/* SPDX-License-Identifier: MIT */
/* shapes.c: which files fit each other, and what segments they make. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "segments.h"
#include "tools/files/shape.h"

static bool differ(const char *path, const npy_shape *shape, const char *other, const npy_shape *other_shape) {
    cli_report("%s and %s: their shapes differ: %s and %s", path, other, shape_text(shape).text, shape_text(other_shape).text);
    return false;
}

/* Reports a mask of another shape, with the shapes that fit. Along axes a mask is repeated. */
static bool misfit(const segments *s, bool is_repeated) {
    const npy_shape *own = &s->shape, *mask = &s->where.shape;
    const uint32_t last = own->dimensions - 1;
    npy_shape column = *own, row = {.dimensions = 1};
    char repeated[2 * sizeof(shape_text(own).text) + 64] = "";
    if (is_repeated && own->dimensions > 1) {
        row.lengths[0] = own->lengths[last];
        column.lengths[last] = 1;
        snprintf(repeated, sizeof(repeated), ", or one that is repeated to it, as %s or %s", shape_text(&row).text,
                 shape_text(&column).text);
    }
    cli_report("%s and %s: their shapes differ: %s and %s: a mask of %s fits%s", s->files[0], s->r->where, shape_text(own).text,
               shape_text(mask).text, shape_text(own).text, repeated);
    return false;
}

/* ---- axes ------------------------------------------------------------------------------------ */

/* Makes `all` the shape that both have when extents of 1 are repeated. Axes are paired from the
 * last one on, as in NumPy; those that a shape lacks are repeated. */
static bool join(npy_shape *all, const npy_shape *one) {
    const npy_shape wide = all->dimensions >= one->dimensions ? *all : *one;
    const npy_shape narrow = all->dimensions >= one->dimensions ? *one : *all;
    const uint32_t apart = wide.dimensions - narrow.dimensions;
    *all = wide;
    all->is_fortran = false;
    for (uint32_t d = 0; d < narrow.dimensions; d++) {
        uint64_t *length = &all->lengths[apart + d];
        if (*length == 1) *length = narrow.lengths[d];
        if (*length != narrow.lengths[d] && narrow.lengths[d] != 1) return false;
    }
    return true;
}

/* Finds the shape of all files. A mask is repeated too, but it repeats no item. */
static bool join_all(segments *s) {
    const reduce_request *r = s->r;
    s->shape = s->in[0].shape;
    for (uint32_t k = 0; k < r->inputs; k++) {
        const npy_shape before = s->shape;
        if (!join(&s->shape, &s->in[k].shape)) return differ(s->files[0], &before, s->files[k], &s->in[k].shape);
    }
    npy_shape all = s->shape;
    if (!r->where || (join(&all, &s->where.shape) && shape_equal(&all, &s->shape))) return true;
    return misfit(s, true);
}

/* Returns the distance between neighbours along axis d of `shape`, in items of an array that is
 * repeated to have it. */
static int64_t stride_of(const array *a, const npy_shape *shape, uint32_t d) {
    const npy_shape *own = &a->shape;
    const uint32_t apart = shape->dimensions - own->dimensions;
    uint64_t stride = 1;
    if (d < apart || own->lengths[d - apart] == 1) return 0;
    if (own->is_fortran)
        for (uint32_t i = 0; i < d - apart; i++) stride *= own->lengths[i];
    else
        for (uint32_t i = d - apart + 1; i < own->dimensions; i++) stride *= own->lengths[i];
    return (int64_t)stride;
}

static bool choose_axes(segments *s) {
    const reduce_request *r = s->r;
    const int dimensions = (int)s->shape.dimensions;
    for (uint32_t i = 0; i < r->axis_count; i++) {
        const int axis = r->axes[i] < 0 ? r->axes[i] + dimensions : r->axes[i];
        if (axis < 0 || axis >= dimensions) {
            cli_report("%s: --axis %d: its shape %s has %d ax%s", s->files[0], r->axes[i], shape_text(&s->shape).text,
                       dimensions, dimensions == 1 ? "is" : "es");
            return false;
        }
        if (s->reduced[axis]) return cli_report("%s: --axis: axis %d is named twice", s->files[0], axis), false;
        s->reduced[axis] = true;
    }
    for (int d = 0; d < dimensions && r->form == REDUCE_WHOLE; d++) s->reduced[d] = true;
    return true;
}

bool segments_fit_axes(segments *s) {
    if (!join_all(s) || !choose_axes(s)) return false;
    if (s->shape.dimensions > TALLY_MAX_AXES)
        return cli_report("%s: its shape has %u axes, and at most %d are taken", s->files[0], s->shape.dimensions,
                          TALLY_MAX_AXES),
               false;
    s->count = 1;
    for (uint32_t d = 0; d < s->shape.dimensions; d++) {
        tally_axis *axis = &s->axes[d];
        *axis = (tally_axis){.extent = s->shape.lengths[d], .reduced = s->reduced[d]};
        for (uint32_t k = 0; k < s->r->inputs; k++) axis->in_stride[k] = stride_of(&s->in[k], &s->shape, d);
        if (s->r->where) axis->where_stride = stride_of(&s->where, &s->shape, d);
        if (s->reduced[d] && !s->r->keepdims) continue;
        const uint64_t length = s->reduced[d] ? 1 : axis->extent;
        s->out.lengths[s->out.dimensions++] = length;
        if (__builtin_mul_overflow(s->count, length, &s->count)) s->count = UINT64_MAX;
    }
    return true;
}

/* ---- offsets and keys ------------------------------------------------------------------------ */

/* Items are counted in C order, and belong to those of the other files one by one. */
static bool fit_equal(segments *s, const char *path, const array *a) {
    s->shape = s->in[0].shape;
    return shape_equal(&s->shape, &a->shape) || differ(s->files[0], &s->shape, path, &a->shape);
}

static bool fit_all(segments *s) {
    for (uint32_t k = 0; k < s->r->inputs; k++)
        if (!fit_equal(s, s->files[k], &s->in[k])) return false;
    return !s->r->where || shape_equal(&s->shape, &s->where.shape) || misfit(s, false);
}

static void set_out(segments *s, uint64_t count) {
    s->count = count;
    s->out = (npy_shape){.dimensions = 1, .lengths = {count}};
}

bool segments_fit_offsets(segments *s) {
    const array *by = &s->by;
    const tally_dtype t = by->dtype;
    if (!fit_all(s)) return false;
    if (t != TALLY_I32 && t != TALLY_U32 && t != TALLY_I64 && t != TALLY_U64)
        return cli_report("%s: its items are %s: offsets are i32, u32, i64 or u64", s->r->by, tally_dtype_name(t)), false;
    if (by->shape.dimensions != 1 || by->n == 0)
        return cli_report("%s: its shape is %s: offsets are a list, of one more than there are segments", s->r->by,
                          shape_text(&by->shape).text),
               false;
    set_out(s, by->n - 1);
    return true;
}

bool segments_fit_keys(segments *s) {
    const array *by = &s->by;
    const size_t bytes = tally_dtype_bytes(by->dtype);
    if (!fit_all(s) || !fit_equal(s, s->r->by, by)) return false;
    uint64_t runs = by->n > 0;
    for (uint64_t i = 1; i < by->n; i++) runs += memcmp(by->items + (i - 1) * bytes, by->items + i * bytes, bytes) != 0;
    set_out(s, runs);
    return true;
}

/* ---- keys that come again -------------------------------------------------------------------- */

static uint64_t hash_of(const unsigned char *key, size_t bytes) {
    uint64_t words[2] = {0};
    memcpy(words, key, bytes);
    const uint64_t mixed = (words[0] ^ words[1] * UINT64_C(0x94d049bb133111eb)) * UINT64_C(0x9e3779b97f4a7c15);
    return mixed ^ mixed >> 32;
}

/* Returns the first run whose key an earlier run has, or `runs` if there is none. `slots` is a
 * power of two above `runs`. `table` has that many zeros: a run's number plus 1 is stored at its
 * key's hash. */
static uint64_t find_again(const unsigned char *keys, size_t bytes, uint64_t runs, uint64_t *table, uint64_t slots) {
    for (uint64_t run = 0; run < runs; run++) {
        const unsigned char *key = keys + run * bytes;
        uint64_t at = hash_of(key, bytes) & (slots - 1);
        for (; table[at]; at = (at + 1) & (slots - 1))
            if (memcmp(keys + (table[at] - 1) * bytes, key, bytes) == 0) return run;
        table[at] = run + 1;
    }
    return runs;
}

/* Returns the first item of a run. */
static uint64_t find_item(const array *keys, uint64_t run) {
    const size_t bytes = tally_dtype_bytes(keys->dtype);
    uint64_t i = 0;
    for (; run; i++) run -= memcmp(keys->items + i * bytes, keys->items + (i + 1) * bytes, bytes) != 0;
    return i;
}

bool segments_check_keys(const segments *s) {
    const tally_dtype dtype = s->by.dtype;
    const size_t bytes = tally_dtype_bytes(dtype);
    uint64_t slots = 2;
    while (slots < 2 * s->count) slots *= 2;
    uint64_t *table = calloc(slots, sizeof(*table));
    if (!table) return cli_report("%s: out of memory", s->r->by), false;
    const uint64_t again = find_again(s->keys, bytes, s->count, table, slots);
    free(table);
    if (again == s->count) return true;
    cli_report("%s: the key %s comes again at item %" PRIu64 ", after others: sort the items by key first, or ask for a value "
               "of each run with --each-run",
               s->r->by, cli_value_text(dtype, s->keys + again * bytes).text, find_item(&s->by, again));
    return false;
}
