/* SPDX-License-Identifier: MIT */
/* Cases of segments by axes, in device memory and in host arrays (segments_run.h). */
#include "segments_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *must_alloc(uint64_t bytes) {
    void *memory = malloc(bytes ? (size_t)bytes : 1);
    if (!memory) abort();
    return memory;
}

/* Names the array: of each axis its extent, its strides and whether it is reduced. */
static void describe(const segments_run *r, const segments_axes *c, char *text, size_t size) {
    size_t used = (size_t)snprintf(text, size, "%s, pattern %d, mask %d, skew %u, axes", r->name, c->items.pattern,
                                   c->items.mask, c->items.skew);
    for (uint32_t a = 0; a < c->count && used < size; a++) {
        const tally_axis *axis = &c->axes[a];
        used += (size_t)snprintf(text + used, size - used, " (%llu by %lld", (unsigned long long)axis->extent,
                                 (long long)axis->in_stride[0]);
        if (used < size && r->inputs > 1)
            used += (size_t)snprintf(text + used, size - used, ",%lld", (long long)axis->in_stride[1]);
        if (used < size && r->desc.flags & TALLY_WHERE)
            used += (size_t)snprintf(text + used, size - used, " where %lld", (long long)axis->where_stride);
        if (used < size && axis->reduced) used += (size_t)snprintf(text + used, size - used, " reduced)");
        if (used < size && !axis->reduced)
            used += (size_t)snprintf(text + used, size - used, c->out_strided ? " to %lld)" : ")", (long long)axis->out_stride);
    }
}

/* Returns the extent in memory of an array with the strides that stride_of gives, of its kept axes
 * or of all. */
static segments_extent extent_of(const segments_axes *c, int reduced_too, int64_t (*stride_of)(const tally_axis *, uint32_t),
                                 uint32_t k) {
    segments_extent e = {0, 1};
    for (uint32_t a = 0; a < c->count; a++) {
        if (c->axes[a].reduced && !reduced_too) continue;
        if (c->axes[a].extent == 0) return (segments_extent){0, 0};
        const int64_t stride = stride_of(&c->axes[a], k);
        const uint64_t reach = (uint64_t)(stride < 0 ? -stride : stride) * (c->axes[a].extent - 1);
        if (stride < 0) e.first += reach;
        e.count += reach;
    }
    return e;
}

static int64_t in_stride(const tally_axis *axis, uint32_t k) {
    return axis->in_stride[k];
}

static int64_t where_stride(const tally_axis *axis, uint32_t k) {
    (void)k;
    return axis->where_stride;
}

static int64_t out_stride(const tally_axis *axis, uint32_t k) {
    (void)k;
    return axis->out_stride;
}

static segments_memory make_memory(segments_run *r, const segments_axes *c) {
    const segments_extent in[2] = {extent_of(c, 1, in_stride, 0), extent_of(c, 1, in_stride, 1)};
    const segments_extent plain = {0, oracle_axes_segments(c->axes, c->count)};
    return segments_memory_make(r, &c->items, in, extent_of(c, 1, where_stride, 0),
                                c->out_strided ? extent_of(c, 0, out_stride, 0) : plain);
}

/* The oracle's values, for two passes. */
typedef struct wanted {
    unsigned char *values[SEGMENTS_MAX_VALUES];
    int64_t *places;
    uint64_t segments;
} wanted;

static wanted ask_oracle(const segments_run *r, const segments_axes *c, const segments_memory *m) {
    wanted w = {.segments = oracle_axes_segments(c->axes, c->count)};
    w.places = must_alloc(w.segments * sizeof *w.places);
    for (uint64_t s = 0; s < w.segments; s++)
        w.places[s] = c->out_strided ? oracle_axes_place(c->axes, c->count, s) : (int64_t)s;
    for (uint32_t v = 0; v < r->value_count; v++) {
        const oracle_case *of = &r->values[v].of;
        w.values[v] = must_alloc(w.segments * oracle_result_bytes(of));
        oracle_reduce_axes(of, &m->items, c->axes, c->count, w.values[v]);
    }
    return w;
}

static void put_all(const segments_run *r, segments_memory *m, const wanted *w) {
    for (uint32_t v = 0; v < r->value_count; v++) segments_put(r, m, v, w->values[v], w->segments, w->places);
}

static void drop_wanted(const segments_run *r, wanted *w) {
    for (uint32_t v = 0; v < r->value_count; v++) free(w->values[v]);
    free(w->places);
}

static void call(segments_run *r, const segments_axes *c, segments_memory *m, const char *about) {
    tally_axes_args args = {.size = sizeof args, .axes = c->axes, .axis_count = c->count, .out_strided = c->out_strided};
    for (uint32_t k = 0; k < r->inputs; k++) {
        args.in[k] = m->in[k].buffer;
        args.in_offset[k] = m->in[k].base;
    }
    args.where = m->where.buffer;
    args.where_offset = m->where.base;
    for (uint32_t t = 0; t < m->outs; t++) {
        args.out[t] = m->out[t].buffer;
        args.out_offset[t] = m->out[t].base;
    }
    must(tally_reduce_axes(r->plan, r->queue, &args), about, __FILE__, __LINE__);
}

void segments_run_axes(segments_run *r, const segments_axes *c) {
    char about[1200];
    describe(r, c, about, sizeof about);
    segments_memory m = make_memory(r, c);
    wanted w = ask_oracle(r, c, &m);
    for (int pass = 0; pass < 2; pass++) {
        segments_poison(&m, pass);
        for (uint32_t t = 0; t < m.outs; t++) segments_upload(r, &m.out[t]);
        call(r, c, &m, about);
        put_all(r, &m, &w);
        for (uint32_t t = 0; t < m.outs; t++) segments_expect(r, &m.out[t], "the result", about);
    }
    segments_expect_inputs(r, &m, about);
    drop_wanted(r, &w);
    segments_memory_drop(&m);
}

void segments_run_host_axes(segments_run *r, const segments_axes *c) {
    char about[1200];
    describe(r, c, about, sizeof about);
    segments_memory m = make_memory(r, c);
    wanted w = ask_oracle(r, c, &m);
    unsigned char *got[TALLY_MAX_TERMS];
    tally_host_axes array = {
        .size = sizeof array, .axes = c->axes, .axis_count = c->count, .out_strided = c->out_strided, .where = m.items.where};
    segments_poison(&m, 0);
    for (uint32_t k = 0; k < r->inputs; k++) array.in[k] = m.items.in[k];
    for (uint32_t t = 0; t < m.outs; t++) {
        got[t] = must_alloc(m.out[t].bytes);
        memcpy(got[t], m.out[t].data, m.out[t].bytes);
        array.out[t] = got[t] + m.out[t].base * m.out[t].element;
    }
    must(tally_reduce_host_axes(r->context, &r->desc, &array), about, __FILE__, __LINE__);
    put_all(r, &m, &w);
    for (uint32_t t = 0; t < m.outs; t++) {
        segments_compare(&m.out[t], got[t], "the host's result", about);
        free(got[t]);
    }
    for (uint32_t k = 0; k < r->inputs; k++) segments_expect(r, &m.in[k], "the host's item", about); /* both copies */
    drop_wanted(r, &w);
    segments_memory_drop(&m);
}
