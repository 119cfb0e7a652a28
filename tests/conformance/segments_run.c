/* SPDX-License-Identifier: MIT */
#include "segments_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "oracle/items.h"
#include "oracle/patterns.h"
#include "tests/support/test_main.h"

#define PAD 5
static const unsigned char poisons[2] = {0xa5, 0x5a};

/* ---- layouts --------------------------------------------------------------------------------- */

static uint32_t alignment_of(tally_dtype dtype) {
    const uint32_t bytes = (uint32_t)item_bytes_of(dtype);
    return item_kind_of(dtype) == ITEM_COMPLEX ? bytes / 2 : bytes;
}

static uint32_t rounded(uint32_t bytes, uint32_t alignment) {
    return (bytes + alignment - 1) / alignment * alignment;
}

/* Lays the values out as the members of structs: one for each term, and one of those. */
static void lay_out(segments_run *r) {
    uint32_t widest = 1, alignments[TALLY_MAX_TERMS];
    for (uint32_t t = 0; t < r->term_count; t++) alignments[t] = 1;
    for (uint32_t v = 0; v < r->value_count; v++) {
        segments_value *value = &r->values[v];
        const tally_dtype dtype = oracle_result_dtype(&value->of);
        const uint32_t alignment = alignment_of(dtype), t = value->term;
        value->offset = rounded(r->term_bytes[t], alignment);
        r->term_bytes[t] = value->offset + (uint32_t)item_bytes_of(dtype);
        if (alignment > alignments[t]) alignments[t] = alignment;
    }
    for (uint32_t t = 0; t < r->term_count; t++) {
        r->term_bytes[t] = rounded(r->term_bytes[t], alignments[t]);
        r->term_offset[t] = rounded(r->result_bytes, alignments[t]);
        r->result_bytes = r->term_offset[t] + r->term_bytes[t];
        if (alignments[t] > widest) widest = alignments[t];
    }
    r->result_bytes = rounded(r->result_bytes, widest);
}

/* The plan must say the same. */
static void expect_layout(const segments_run *r) {
    tally_result_info info;
    for (uint32_t v = 0; v < r->value_count; v++) {
        const segments_value *value = &r->values[v];
        if (!tally_plan_result(r->plan, v, &info)) fail_msg("%s: tally_plan_result has no value %u", r->name, v);
        assert_int_equal(info.dtype, oracle_result_dtype(&value->of));
        assert_int_equal(info.term, value->term);
        if (!(r->desc.flags & TALLY_APART)) assert_int_equal(info.offset, r->term_offset[value->term] + value->offset);
    }
    assert_false(tally_plan_result(r->plan, r->value_count, &info));
    if (!(r->desc.flags & TALLY_APART)) assert_int_equal(tally_plan_result_bytes(r->plan), r->result_bytes);
}

static void add_values(segments_run *r, const tally_term_desc *term, const segments_also *also) {
    const oracle_case of = {.op = term->op,
                            .in = r->desc.in,
                            .acc = term->acc,
                            .accuracy = term->accuracy,
                            .out = term->out,
                            .params = also->params ? r->params : NULL};
    const uint32_t count = term->custom ? also->own_count : tally_result_count(term->op, r->desc.in);
    for (uint32_t k = 0; k < count; k++) {
        assert_true(r->value_count < SEGMENTS_MAX_VALUES);
        r->values[r->value_count++] =
            (segments_value){term->custom ? also->own[k] : of, term->custom ? 0 : k, r->term_count, 0};
    }
    r->inputs = oracle_inputs(r->values[r->value_count - 1].of.op);
    r->term_count++;
}

static void resolve(segments_run *r, const segments_also *also) {
    const tally_segments_desc *d = &r->desc;
    const tally_term_desc one = {.op = d->op, .out = d->out, .acc = d->acc, .accuracy = d->accuracy, .custom = d->custom};
    for (uint32_t t = 0; t < d->term_count; t++) add_values(r, &d->terms[t], also);
    if (d->op || d->custom) add_values(r, &one, also);
    lay_out(r);
    for (uint32_t v = 0; v < r->value_count && d->initial; v++)
        r->values[v].of.initial = (const unsigned char *)d->initial + r->term_offset[r->values[v].term];
}

/* ---- plans ----------------------------------------------------------------------------------- */

static void name_run(segments_run *r) {
    static const char *const kinds[] = {"", "axes", "offsets", "keys"};
    const tally_segments_desc *d = &r->desc;
    size_t used = (size_t)snprintf(r->name, sizeof r->name, "%s%sby %s:", d->variant ? d->variant : "", d->variant ? " " : "",
                                   kinds[d->by]);
    for (uint32_t t = 0; t < r->term_count && used < sizeof r->name; t++) {
        const tally_term_desc *term = d->terms ? &d->terms[t] : NULL;
        const tally_op op = term ? term->op : d->op;
        used += (size_t)snprintf(r->name + used, sizeof r->name - used, " %s", op ? tally_op_name(op) : "own");
    }
    if (used >= sizeof r->name) return;
    snprintf(r->name + used, sizeof r->name - used, " of %s%s%s%s%s%s%s", d->in ? tally_dtype_name(d->in) : "nothing",
             d->acc ? " in f64" : "", d->accuracy ? ", compensated" : "", d->flags & TALLY_WHERE ? ", where" : "",
             d->flags & TALLY_APART ? ", apart" : "", d->flags & TALLY_UNCHECKED ? ", unchecked" : "",
             d->initial ? ", initial" : "");
}

static void set_params(segments_run *r, const double *params) {
    for (uint32_t v = 0; v < r->value_count; v++) {
        const char *name;
        const tally_op op = r->values[v].of.op;
        for (uint32_t p = 0; (name = tally_op_param_name(op, p, NULL)) != NULL; p++)
            MUST(tally_plan_set_param(r->plan, name, params[p]));
    }
}

int segments_open(segments_run *r, tally_context *context, const tally_segments_desc *desc, const segments_also *given) {
    static const segments_also none;
    const segments_also *also = given ? given : &none;
    *r = (segments_run){.context = context, .desc = *desc, .inputs = 0, .item_bytes = item_bytes_of(desc->in)};
    r->desc.size = sizeof r->desc;
    if (!r->desc.max_n) r->desc.max_n = SEGMENTS_MAX_N;
    if (!r->desc.max_segments) r->desc.max_segments = SEGMENTS_MAX_SEGMENTS;
    if (also->params) memcpy(r->params, also->params, sizeof r->params);
    resolve(r, also);
    name_run(r);
    const tally_status status = tally_segments_plan_create(context, &r->desc, &r->plan);
    if (status == TALLY_E_UNSUPPORTED && desc->variant) return 0;
    must(status, r->name, __FILE__, __LINE__);
    if (desc->variant) assert_string_equal(tally_plan_variant(r->plan), desc->variant);
    expect_layout(r);
    if (also->params) set_params(r, also->params);
    MUST(tally_queue_create(context, &r->queue));
    return 1;
}

void segments_close(segments_run *r) {
    tally_plan_destroy(r->plan);
    tally_queue_destroy(r->queue);
}

int segments_usual_pattern(tally_op op) {
    return op == TALLY_PROD ? PATTERN_NEAR_ONE : op == TALLY_LOGSUMEXP ? PATTERN_SHIFTED : PATTERN_WIDE;
}

/* ---- memory ---------------------------------------------------------------------------------- */

segments_region segments_region_make(size_t element, uint32_t skew, uint64_t first, uint64_t count) {
    segments_region g = {.element = element, .base = PAD + skew + first, .bytes = (PAD + skew + count + PAD) * element};
    g.data = malloc(g.bytes);
    if (!g.data) abort();
    memset(g.data, 0xff, g.bytes); /* NaN, or a limit */
    return g;
}

void segments_region_drop(segments_region *g) {
    free(g->data);
    tally_buffer_destroy(g->buffer);
}

unsigned char *segments_at(const segments_region *g, int64_t element) {
    return g->data + ((int64_t)g->base + element) * (int64_t)g->element;
}

void segments_upload(segments_run *r, segments_region *g) {
    if (!g->buffer) MUST(tally_buffer_create(r->context, g->bytes, &g->buffer));
    MUST(tally_buffer_write(r->queue, g->buffer, 0, g->data, g->bytes));
    MUST(tally_queue_wait(r->queue));
}

/* The second input follows from the first, where they have as many items. */
static void fill_inputs(const segments_run *r, segments_memory *m, const segments_items *items, const segments_extent in[2]) {
    const tally_op op = r->values[0].of.op;
    unsigned char *x = segments_at(&m->in[0], -(int64_t)in[0].first);
    pattern_fill(items->pattern, r->desc.in, x, in[0].count);
    if (r->inputs < 2) return;
    unsigned char *y = segments_at(&m->in[1], -(int64_t)in[1].first);
    if (in[0].count == in[1].count)
        pattern_fill_second(items->pattern, op, r->desc.in, x, y, in[1].count);
    else
        pattern_fill(items->pattern, r->desc.in, y, in[1].count);
}

/* Any nonzero byte keeps its item. A random mask has runs of ones and of zeros too. */
static void fill_mask(const segments_run *r, unsigned char *bytes, uint64_t count, segments_mask mask) {
    for (uint64_t i = 0; i < count; i++) {
        const uint64_t x = pattern_random(i + (r->runs << 32)), block = pattern_random(i / 300 + (r->runs << 40)) % 4;
        const int is_one = mask == MASK_ONES || (mask == MASK_RANDOM && (block == 0 || (block > 1 && x % 3)));
        bytes[i] = is_one ? (unsigned char)(1 + x / 3 % 255) : 0;
    }
}

segments_memory segments_memory_make(segments_run *r, const segments_items *items, const segments_extent in[2],
                                     segments_extent where, segments_extent out) {
    segments_memory m = {.outs = r->desc.flags & TALLY_APART ? r->term_count : r->value_count > 0};
    const uint32_t skew = items->skew;
    for (uint32_t k = 0; k < r->inputs; k++)
        m.in[k] = segments_region_make(r->item_bytes, skew + 2 * k, in[k].first, in[k].count);
    if (r->inputs) fill_inputs(r, &m, items, in);
    if (r->desc.flags & TALLY_WHERE) {
        m.where = segments_region_make(1, items->mask_skew ? items->mask_skew : skew + 1, where.first, where.count);
        fill_mask(r, segments_at(&m.where, -(int64_t)where.first), where.count, items->mask);
        m.items.where = segments_at(&m.where, 0);
        segments_upload(r, &m.where);
    }
    for (uint32_t k = 0; k < r->inputs; k++) {
        m.items.in[k] = segments_at(&m.in[k], 0);
        segments_upload(r, &m.in[k]);
    }
    for (uint32_t t = 0; t < m.outs; t++)
        m.out[t] = segments_region_make(r->desc.flags & TALLY_APART ? r->term_bytes[t] : r->result_bytes, skew + t, out.first,
                                        out.count);
    r->runs++;
    return m;
}

void segments_memory_drop(segments_memory *m) {
    for (int k = 0; k < 2; k++) segments_region_drop(&m->in[k]);
    segments_region_drop(&m->where);
    for (uint32_t t = 0; t < m->outs; t++) segments_region_drop(&m->out[t]);
}

void segments_poison(segments_memory *m, int pass) {
    for (uint32_t t = 0; t < m->outs; t++) memset(m->out[t].data, poisons[pass % 2], m->out[t].bytes);
}

void segments_put(const segments_run *r, segments_memory *m, uint32_t v, const void *values, uint64_t count,
                  const int64_t *places) {
    const segments_value *value = &r->values[v];
    const int apart = (r->desc.flags & TALLY_APART) != 0;
    const size_t bytes = item_bytes_of(oracle_result_dtype(&value->of)), all = oracle_result_bytes(&value->of);
    for (uint64_t s = 0; s < count; s++) {
        unsigned char *result = segments_at(&m->out[apart ? value->term : 0], places ? places[s] : (int64_t)s);
        if (v == 0 || (apart && r->values[v - 1].term != value->term))
            memset(result, 0, m->out[apart ? value->term : 0].element);
        memcpy(result + (apart ? 0 : r->term_offset[value->term]) + value->offset,
               (const unsigned char *)values + s * all + value->part * bytes, bytes);
    }
}

/* ---- comparing ------------------------------------------------------------------------------- */

void segments_compare(const segments_region *g, const unsigned char *got, const char *what, const char *about) {
    char texts[2][140];
    uint64_t byte = 0;
    if (memcmp(got, g->data, g->bytes) == 0) return;
    while (got[byte] == g->data[byte]) byte++;
    const uint64_t element = byte / g->element;
    for (int t = 0; t < 2; t++) {
        size_t used = 0;
        for (size_t b = g->element; b-- > 0 && used < 128;)
            used += (size_t)snprintf(texts[t] + used, sizeof texts[t] - used, "%02x%s",
                                     (t ? g->data : got)[element * g->element + b], b && b % 8 == 0 ? " " : "");
    }
    fail_msg("%s: %s %lld (byte %llu) is 0x%s, should be 0x%s", about, what, (long long)element - (long long)g->base,
             (unsigned long long)(byte % g->element), texts[0], texts[1]);
}

void segments_expect(segments_run *r, const segments_region *g, const char *what, const char *about) {
    unsigned char *got = malloc(g->bytes);
    if (!got) abort();
    MUST(tally_buffer_read(r->queue, g->buffer, 0, got, g->bytes));
    MUST(tally_queue_wait(r->queue));
    segments_compare(g, got, what, about);
    free(got);
}

void segments_expect_inputs(segments_run *r, const segments_memory *m, const char *about) {
    for (uint32_t k = 0; k < r->inputs; k++) segments_expect(r, &m->in[k], "the input's item", about);
    if (m->where.data) segments_expect(r, &m->where, "the mask's byte", about);
}
