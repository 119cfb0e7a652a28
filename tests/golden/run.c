/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>

#include <cmocka.h>

#include "tests/support/calls.h"
#include "host/host.h"
#include "golden.h"
#include "oracle/items.h"
#include "oracle/scan.h"

static void *must_alloc(uint64_t bytes) {
    void *memory = calloc(bytes ? (size_t)bytes : 1, 1);
    if (!memory) abort();
    return memory;
}

static void must(tally_status status, const golden_case *c, const char *call) {
    if (status) fail_msg("golden bits: %s: %s: %s: %s", c->key, call, tally_status_name(status), tally_last_error());
}
#define MUST(call) must(call, c, #call)

/* ---- values as text -------------------------------------------------------------------------- */

/* Copies a result's values one after the other, without the gaps. */
typedef struct packed {
    uint32_t bytes, parts;
    unsigned char data[16 * TALLY_MAX_TERMS * 2];
    size_t part_bytes[4 * TALLY_MAX_TERMS];
} packed;

static void pack(packed *p, tally_dtype dtype, const void *value) {
    const size_t bytes = item_bytes_of(dtype), parts = item_kind_of(dtype) == ITEM_COMPLEX ? 2 : 1;
    memcpy(p->data + p->bytes, value, bytes);
    p->bytes += (uint32_t)bytes;
    for (size_t part = 0; part < parts; part++) p->part_bytes[p->parts++] = bytes / parts;
}

static uint64_t hash_of(const unsigned char *bytes, uint64_t count) {
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (uint64_t b = 0; b < count; b++) hash = (hash ^ bytes[b]) * UINT64_C(0x100000001b3);
    return hash;
}

static void print_hash(char *text, size_t bytes, const void *values, uint64_t count) {
    snprintf(text, bytes, "#%016llx", (unsigned long long)hash_of(values, count));
    if (count == 0) snprintf(text, bytes, "-");
}

static void print_packed(char *text, size_t bytes, const packed *p) {
    size_t used = 0, at = 0;
    if (p->bytes > 16) {
        print_hash(text, bytes, p->data, p->bytes);
        return;
    }
    for (uint32_t part = 0; part < p->parts; at += p->part_bytes[part++]) {
        uint64_t bits = 0;
        memcpy(&bits, p->data + at, p->part_bytes[part]);
        used += (size_t)snprintf(text + used, bytes - used, "%s%0*llx", part ? "," : "", (int)(2 * p->part_bytes[part]),
                                 (unsigned long long)bits);
    }
}

/* ---- inputs ---------------------------------------------------------------------------------- */

typedef struct given {
    void *items[TALLY_MAX_INPUTS]; /* GOLDEN_ROOM items of each input */
    uint8_t *flags;
    uint64_t *offsets;
    uint64_t count; /* number of offsets */
    unsigned char initial[16];
} given;

static int has_op(const golden_case *c, tally_op op) {
    return c->what.op == op || (c->fusion && c->fusion->ops[c->fusion->count - 1] == op);
}

/* A segment begins at item 0 and at about one of 300 others. The offsets are those items' indices
 * in descending order. */
static void make_segments(given *g) {
    g->flags = must_alloc(GOLDEN_ROOM);
    g->offsets = must_alloc(GOLDEN_ROOM * sizeof *g->offsets);
    for (uint64_t i = GOLDEN_ROOM; i-- > 0;) {
        if (i && golden_random(UINT64_C(7) << 48 | i) % 300) continue;
        g->flags[i] = (uint8_t)(1 + i % 255);
        g->offsets[g->count++] = i;
    }
}

static given make_given(const golden_case *c) {
    given g = {{NULL}, NULL, NULL, 0, {0}};
    for (uint32_t k = 0; k < golden_inputs(c); k++) {
        g.items[k] = must_alloc(GOLDEN_ROOM * item_bytes_of(c->what.in));
        if (k && has_op(c, TALLY_ALLCLOSE))
            golden_fill_close(c->what.in, g.items[0], g.items[k], GOLDEN_ROOM);
        else
            golden_fill(c->items, c->what.in, k, g.items[k], GOLDEN_ROOM);
    }
    if (c->segments) make_segments(&g);
    golden_fill(GOLDEN_NEAR, c->what.in, 5, g.initial, 1);
    return g;
}

static void free_given(given *g) {
    for (uint32_t k = 0; k < TALLY_MAX_INPUTS; k++) free(g->items[k]);
    free(g->flags);
    free(g->offsets);
}

/* ---- by a plan ------------------------------------------------------------------------------- */

typedef struct handles {
    tally_custom_op *custom;
    tally_plan *plan;
    tally_queue *queue;
    tally_buffer *in[TALLY_MAX_INPUTS], *out, *segments;
} handles;

static tally_reduce_desc reduce_desc(const golden_case *c, tally_custom_op *custom) {
    tally_reduce_desc desc = {.size = sizeof desc,
                              .op = c->what.op,
                              .in = c->what.in,
                              .out = c->what.out,
                              .acc = c->what.acc,
                              .accuracy = c->what.accuracy,
                              .max_n = GOLDEN_ROOM,
                              .custom = custom};
    return desc;
}

static tally_status create_plan(tally_context *context, const golden_case *c, const given *g, handles *h) {
    if (c->custom) {
        tally_op_desc desc = c->custom->desc;
        desc.size = sizeof desc;
        MUST(tally_op_create(&desc, &h->custom));
    }
    tally_reduce_desc reduce = reduce_desc(c, h->custom);
    tally_term_desc terms[TALLY_MAX_TERMS] = {{0}};
    for (uint32_t o = 0; c->fusion && o < c->fusion->count; o++) terms[o].op = c->fusion->ops[o];
    if (c->fusion) reduce.terms = terms, reduce.term_count = c->fusion->count;
    const tally_scan_desc scan = {.size = sizeof scan,
                                  .op = reduce.op,
                                  .in = reduce.in,
                                  .out = reduce.out,
                                  .acc = reduce.acc,
                                  .accuracy = reduce.accuracy,
                                  .max_n = GOLDEN_ROOM,
                                  .custom = h->custom,
                                  .flags = c->flags,
                                  .segments = c->segments,
                                  .initial = c->has_initial ? g->initial : NULL};
    return c->is_scan ? tally_scan_plan_create(context, &scan, &h->plan) : tally_plan_create(context, &reduce, &h->plan);
}

static void open_buffers(tally_context *context, const golden_case *c, const given *g, handles *h) {
    const uint64_t bytes = GOLDEN_ROOM * item_bytes_of(c->what.in), results = c->is_scan ? GOLDEN_ROOM : GOLDEN_LENGTHS;
    MUST(tally_queue_create(context, &h->queue));
    for (uint32_t k = 0; k < golden_inputs(c); k++) {
        MUST(tally_buffer_create(context, bytes, &h->in[k]));
        MUST(tally_buffer_write(h->queue, h->in[k], 0, g->items[k], bytes));
    }
    MUST(tally_buffer_create(context, results * tally_plan_result_bytes(h->plan), &h->out));
    if (!c->segments) return;
    const int is_flags = c->segments == TALLY_SEGMENTS_FLAGS;
    const uint64_t segment_bytes = is_flags ? GOLDEN_ROOM : g->count * sizeof *g->offsets;
    MUST(tally_buffer_create(context, segment_bytes, &h->segments));
    MUST(tally_buffer_write(h->queue, h->segments, 0, is_flags ? (const void *)g->flags : g->offsets, segment_bytes));
}

static void close_handles(handles *h) {
    tally_plan_destroy(h->plan);
    tally_op_destroy(h->custom);
    for (uint32_t k = 0; k < TALLY_MAX_INPUTS; k++) tally_buffer_destroy(h->in[k]);
    tally_buffer_destroy(h->out);
    tally_buffer_destroy(h->segments);
    tally_queue_destroy(h->queue);
}

/* `out` has the results of all lengths one after the other. */
static void reduce(const golden_case *c, const handles *h, golden_line *line) {
    const uint64_t bytes = tally_plan_result_bytes(h->plan);
    unsigned char *results = must_alloc(GOLDEN_LENGTHS * bytes);
    for (uint64_t l = 0; l < GOLDEN_LENGTHS; l++)
        MUST(reduce_inputs(h->plan, h->queue, (const tally_buffer *const *)h->in, NULL, golden_lengths[l], h->out, l));
    MUST(tally_buffer_read(h->queue, h->out, 0, results, GOLDEN_LENGTHS * bytes));
    MUST(tally_queue_wait(h->queue));
    for (uint64_t l = 0; l < GOLDEN_LENGTHS; l++) {
        packed p = {0};
        tally_result_info info;
        for (uint32_t v = 0; tally_plan_result(h->plan, v, &info); v++) pack(&p, info.dtype, results + l * bytes + info.offset);
        print_packed(line->values[l], sizeof line->values[l], &p);
    }
    free(results);
}

static void scan(const golden_case *c, const given *g, const handles *h, golden_line *line) {
    const uint64_t bytes = tally_plan_result_bytes(h->plan);
    unsigned char *values = must_alloc(GOLDEN_ROOM * bytes);
    for (uint64_t l = 0; l < GOLDEN_LENGTHS; l++) {
        const uint64_t n = golden_lengths[l], count = c->segments == TALLY_SEGMENTS_OFFSETS ? g->count : 0;
        if (c->segments)
            MUST(scan_segments(h->plan, h->queue, h->in[0], 0, h->segments, 0, count, n, h->out, 0));
        else
            MUST(tally_scan(h->plan, h->queue, h->in[0], n, h->out));
        MUST(tally_buffer_read(h->queue, h->out, 0, values, n * bytes));
        MUST(tally_queue_wait(h->queue));
        print_hash(line->values[l], sizeof line->values[l], values, n * bytes);
    }
    free(values);
}

int golden_run(tally_context *context, const golden_case *c, golden_line *line) {
    given g = make_given(c);
    handles h = {0};
    tally_context_info info;
    *line = (golden_line){{{0}}};
    MUST(tally_context_get_info(context, &info));
    const tally_status status = create_plan(context, c, &g, &h);
    /* The backend `host` has the built-in ops alone, with their own types and accuracy. */
    const int has_all = info.device.has_f64 && strcmp(info.device.backend, "host") != 0;
    const int is_own = !c->custom && !c->what.acc && !c->what.accuracy && !c->what.out;
    const int is_here = status != TALLY_E_UNSUPPORTED || has_all || (is_own && info.device.has_f64);
    if (is_here) {
        must(status, c, "a plan");
        for (uint32_t p = 0; c->what.params && golden_param(c->what.op, p); p++)
            MUST(tally_plan_set_param(h.plan, golden_param(c->what.op, p), c->what.params[p]));
        open_buffers(context, c, &g, &h);
        if (c->is_scan)
            scan(c, &g, &h, line);
        else
            reduce(c, &h, line);
    }
    close_handles(&h);
    free_given(&g);
    return is_here;
}

/* ---- on the host ----------------------------------------------------------------------------- */

void golden_run_host(tally_context *context, const golden_case *c, golden_line *line) {
    given g = make_given(c);
    const tally_reduce_desc desc = reduce_desc(c, NULL);
    *line = (golden_line){{{0}}};
    for (uint64_t l = 0; l < GOLDEN_LENGTHS; l++) {
        const tally_dtype out = tally_result_dtype(c->what.op, c->what.in);
        oracle_result result = {{0}};
        packed p = {0};
        MUST(tally_reduce_host_inputs(context, &desc, (const void *const *)g.items, golden_lengths[l], &result));
        for (uint32_t v = 0; v < tally_result_count(c->what.op, c->what.in); v++)
            pack(&p, out, result.bytes + v * item_bytes_of(out));
        print_packed(line->values[l], sizeof line->values[l], &p);
    }
    free_given(&g);
}

/* ---- by the oracle --------------------------------------------------------------------------- */

static void oracle_reduction(const golden_case *c, const given *g, oracle_case of, uint64_t n, packed *p) {
    const uint32_t count = c->fusion ? c->fusion->count : 1;
    for (uint32_t o = 0; o < count; o++) {
        oracle_result result = {{0}};
        if (c->fusion) of.op = c->fusion->ops[o];
        const tally_dtype out = oracle_result_dtype(&of);
        oracle_reduce_inputs(&of, (const void *const *)g->items, n, &result);
        for (size_t at = 0; at < oracle_result_bytes(&of); at += item_bytes_of(out)) pack(p, out, result.bytes + at);
    }
}

static void oracle_scan(const golden_case *c, const given *g, const oracle_case *of, golden_line *line) {
    const scan_op op = scan_oracle_op(of);
    unsigned char *values = must_alloc(GOLDEN_ROOM * op.value_bytes);
    const scan_form form = {.exclusive = (c->flags & TALLY_EXCLUSIVE) != 0,
                            .reverse = (c->flags & TALLY_REVERSE) != 0,
                            .initial = c->has_initial ? g->initial : NULL,
                            .flags = c->segments ? g->flags : NULL};
    for (uint64_t l = 0; l < GOLDEN_LENGTHS; l++) {
        scan_oracle(&op, &form, g->items[0], golden_lengths[l], values);
        print_hash(line->values[l], sizeof line->values[l], values, golden_lengths[l] * op.value_bytes);
    }
    free(values);
}

int golden_oracle(const golden_case *c, golden_line *line) {
    oracle_case of = c->what;
    if (c->custom && !c->custom->twin) return 0;
    given g = make_given(c);
    if (c->custom) of.op = c->custom->twin;
    *line = (golden_line){{{0}}};
    if (c->is_scan) oracle_scan(c, &g, &of, line);
    for (uint64_t l = 0; l < GOLDEN_LENGTHS && !c->is_scan; l++) {
        packed p = {0};
        oracle_reduction(c, &g, of, golden_lengths[l], &p);
        print_packed(line->values[l], sizeof line->values[l], &p);
    }
    free_given(&g);
    return 1;
}
