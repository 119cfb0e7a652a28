/* SPDX-License-Identifier: MIT */
#include "tests/support/calls.h"
#include "scan_run.h"

#include "scan/scan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "oracle/bound.h"

#define PAD_BYTES 64
#define POISON 0xa5

static void *must_alloc(uint64_t bytes) {
    void *memory = malloc(bytes ? (size_t)bytes : 1);
    if (!memory) abort();
    return memory;
}

/* ---- plans ----------------------------------------------------------------------------------- */

const char *scan_canonical_variant(size_t number) {
    tally_variant_info info;
    for (size_t v = 0; v < tally_scan_variant_count(); v++) {
        MUST(tally_scan_variant_get(v, &info));
        if (info.canonical && number-- == 0) return info.name;
    }
    return NULL;
}

static int is_canonical(const char *variant) {
    tally_variant_info info;
    for (size_t v = 0; v < tally_scan_variant_count(); v++) {
        MUST(tally_scan_variant_get(v, &info));
        if (strcmp(info.name, variant) == 0) return info.canonical;
    }
    fail_msg("the variant %s is in no row", variant);
    return 0;
}

static void name_run(scan_run *r) {
    const tally_scan_desc *d = &r->desc;
    static const char *const segments[] = {"", ", flags", ", offsets"};
    snprintf(r->name, sizeof r->name, "%s: %s %s%s%s%s%s%s%s", d->variant ? d->variant : "auto",
             d->custom ? "custom" : tally_op_name(d->op), tally_dtype_name(d->in), d->acc ? " in f64" : "",
             d->accuracy ? " compensated" : "", d->flags & TALLY_EXCLUSIVE ? ", exclusive" : "",
             d->flags & TALLY_REVERSE ? ", reverse" : "", d->initial ? ", initial" : "", segments[d->segments]);
}

/* Plans are made in turn for these items and for many more, which is another program on some
 * devices. */
#define MANY (UINT64_C(1) << 25)
static unsigned runs;

int scan_run_open_with(scan_run *r, tally_context *context, const tally_scan_desc *desc, unsigned extra, const scan_op *custom,
                       uint64_t room) {
    *r = (scan_run){.desc = *desc, .room = room};
    r->desc.size = sizeof r->desc;
    r->desc.max_n = runs++ % 2 ? MANY : room;
    r->of = (oracle_case){.op = desc->op, .in = desc->in, .acc = desc->acc, .accuracy = desc->accuracy, .out = desc->out};
    r->op = custom ? *custom : scan_oracle_op(&r->of);
    name_run(r);
    const tally_status status =
        extra ? tally_scan_plan_make(context, &r->desc, extra, &r->plan) : tally_scan_plan_create(context, &r->desc, &r->plan);
    if (status == TALLY_E_UNSUPPORTED && desc->variant) return 0;
    must(status, r->name, __FILE__, __LINE__);
    if (desc->variant) assert_string_equal(tally_plan_variant(r->plan), desc->variant);
    r->is_canonical = is_canonical(tally_plan_variant(r->plan));
    if (!desc->variant && !r->is_canonical) fail_msg("auto is %s, which is not canonical", tally_plan_variant(r->plan));
    const uint64_t most = room + SCAN_RUN_MOST_OFFSET;
    MUST(tally_queue_create(context, &r->queue));
    MUST(tally_buffer_create(context, most * r->op.item_bytes + PAD_BYTES, &r->in));
    MUST(tally_buffer_create(context, most * r->op.value_bytes + PAD_BYTES, &r->out));
    if (desc->segments) MUST(tally_buffer_create(context, most * sizeof(uint64_t) + PAD_BYTES, &r->segments));
    return 1;
}

int scan_run_open(scan_run *r, tally_context *context, const tally_scan_desc *desc, const scan_op *custom, uint64_t room) {
    return scan_run_open_with(r, context, desc, 0, custom, room);
}

void scan_run_close(scan_run *r) {
    tally_plan_destroy(r->plan);
    tally_buffer_destroy(r->in);
    tally_buffer_destroy(r->out);
    tally_buffer_destroy(r->segments);
    tally_queue_destroy(r->queue);
}

int scan_run_fits_in_place(const scan_run *r) {
    return r->op.item_bytes == r->op.value_bytes;
}

/* ---- memory with pads ------------------------------------------------------------------------ */

/* Makes a buffer's content: `before` bytes of poison, the bytes themselves, and PAD_BYTES of
 * poison. */
static unsigned char *surround(const void *bytes, uint64_t before, uint64_t count) {
    unsigned char *all = must_alloc(before + count + PAD_BYTES);
    memset(all, POISON, before + count + PAD_BYTES);
    if (bytes && count) memcpy(all + before, bytes, count);
    return all;
}

static void expect_around(const scan_run *r, const unsigned char *all, uint64_t before, uint64_t count) {
    for (uint64_t b = 0; b < before; b++)
        if (all[b] != POISON) fail_msg("%s: byte %llu before the values is written", r->name, (unsigned long long)(before - b));
    for (uint64_t b = 0; b < PAD_BYTES; b++)
        if (all[before + count + b] != POISON)
            fail_msg("%s: byte %llu after the values is written", r->name, (unsigned long long)b);
}

/* ---- running --------------------------------------------------------------------------------- */

static void enqueue_piece(const scan_run *r, const scan_given *g, uint64_t at, uint64_t n, tally_buffer *out,
                          uint64_t out_offset) {
    const uint64_t in_offset = g->in_offset + at, count = g->offsets ? g->count : 0;
    if (at)
        MUST(scan_next(r->plan, r->queue, r->in, in_offset, r->segments, g->segments_offset + at, n, out, out_offset + at));
    else if (r->segments)
        MUST(scan_segments(r->plan, r->queue, r->in, in_offset, r->segments, g->segments_offset, count, n, out, out_offset));
    else if (in_offset || out_offset)
        MUST(scan_at(r->plan, r->queue, r->in, in_offset, n, out, out_offset));
    else
        MUST(tally_scan(r->plan, r->queue, r->in, n, out));
}

static void enqueue(const scan_run *r, const scan_given *g, tally_buffer *out, uint64_t out_offset) {
    const uint64_t all[] = {g->n, 0}, *pieces = g->pieces ? g->pieces : all;
    uint64_t at = 0;
    do {
        enqueue_piece(r, g, at, *pieces, out, out_offset);
        at += *pieces;
    } while (*pieces && *++pieces);
    assert_true(at == g->n);
}

static void write_segments(const scan_run *r, const scan_given *g) {
    const void *from = g->offsets ? (const void *)g->offsets : g->flags;
    const uint64_t width = g->offsets ? sizeof *g->offsets : sizeof *g->flags, count = g->offsets ? g->count : g->n;
    if (r->segments && count) MUST(tally_buffer_write(r->queue, r->segments, g->segments_offset * width, from, count * width));
}

/* Returns the n values, after a check of the memory around them. */
static void run_once(const scan_run *r, const scan_given *g, unsigned char *values) {
    const uint64_t item = r->op.item_bytes, value = r->op.value_bytes,
                   out_offset = g->is_in_place ? g->in_offset : g->out_offset;
    const uint64_t in_before = g->in_offset * item, in_bytes = g->n * item;
    const uint64_t out_before = out_offset * value, out_bytes = g->n * value;
    unsigned char *given = surround(g->items, in_before, in_bytes), *got = surround(NULL, out_before, out_bytes);
    tally_buffer *out = g->is_in_place ? r->in : r->out;
    assert_true(g->n <= r->room && g->in_offset <= SCAN_RUN_MOST_OFFSET && out_offset <= SCAN_RUN_MOST_OFFSET);
    MUST(tally_buffer_write(r->queue, r->out, 0, got, out_before + out_bytes + PAD_BYTES));
    MUST(tally_buffer_write(r->queue, r->in, 0, given, in_before + in_bytes + PAD_BYTES));
    write_segments(r, g);
    enqueue(r, g, out, out_offset);
    MUST(tally_buffer_read(r->queue, out, 0, got, out_before + out_bytes + PAD_BYTES));
    MUST(tally_queue_wait(r->queue));
    expect_around(r, got, out_before, out_bytes);
    if (out_bytes) memcpy(values, got + out_before, out_bytes);
    if (!g->is_in_place) {
        unsigned char *kept = must_alloc(in_before + in_bytes + PAD_BYTES);
        MUST(tally_buffer_read(r->queue, r->in, 0, kept, in_before + in_bytes + PAD_BYTES));
        MUST(tally_queue_wait(r->queue));
        if (memcmp(kept, given, in_before + in_bytes + PAD_BYTES) != 0) fail_msg("%s: the input is written", r->name);
        free(kept);
    }
    free(given);
    free(got);
}

/* ---- comparing ------------------------------------------------------------------------------- */

static void differ(const scan_run *r, const scan_given *g, uint64_t i, const unsigned char *got, const unsigned char *wanted) {
    char texts[2][80];
    for (int t = 0; t < 2; t++) {
        size_t used = 0;
        for (size_t byte = r->op.value_bytes; byte-- > 0;)
            used += (size_t)snprintf(texts[t] + used, sizeof texts[t] - used, "%02x%s", (t ? wanted : got)[byte],
                                     byte && byte % 8 == 0 ? " " : "");
    }
    fail_msg("%s: value %llu of %llu (offsets %llu, %llu%s%s) is 0x%s, should be 0x%s", r->name, (unsigned long long)i,
             (unsigned long long)g->n, (unsigned long long)g->in_offset, (unsigned long long)g->out_offset,
             g->is_in_place ? ", in place" : "", g->pieces ? ", in pieces" : "", texts[0], texts[1]);
}

static void expect_bits(scan_run *r, const scan_given *g, const unsigned char *got, const unsigned char *expected) {
    const size_t bytes = r->op.value_bytes;
    r->checked += g->n;
    if (g->n == 0 || memcmp(got, expected, g->n * bytes) == 0) return;
    for (uint64_t i = 0; i < g->n; i++)
        if (memcmp(got + i * bytes, expected + i * bytes, bytes) != 0) differ(r, g, i, got + i * bytes, expected + i * bytes);
}

/* Compares some values of an inclusive scan with a reduction of the items up to each. */
static void expect_bounds(scan_run *r, const scan_given *g, const unsigned char *got, const unsigned char *expected) {
    const void *const inputs[] = {g->items};
    const size_t bytes = r->op.value_bytes;
    if (r->desc.flags || r->desc.segments) return;
    for (uint64_t i = 0; i < g->n; i = i < 5 || i + 1 == g->n ? i + 1 : i * 2 < g->n ? i * 2 - 1 : g->n - 1) {
        oracle_result value = {{0}}, wanted = {{0}};
        memcpy(&value, got + i * bytes, bytes);
        memcpy(&wanted, expected + i * bytes, bytes);
        if (bound_check(&r->of, inputs, i + 1, i + 1, 0, &value) == BOUND_BROKEN) differ(r, g, i, value.bytes, wanted.bytes);
        r->checked++;
    }
}

void scan_run_expect(scan_run *r, const scan_given *g) {
    const uint64_t bytes = g->n * r->op.value_bytes;
    unsigned char *expected = must_alloc(bytes), *got = must_alloc(bytes), *again = must_alloc(bytes);
    uint8_t *flags = must_alloc(g->n);
    const int is_reverse = (r->desc.flags & TALLY_REVERSE) != 0;
    if (g->offsets) scan_oracle_flags(g->offsets, g->count, g->n, flags);
    const scan_form form = {.exclusive = (r->desc.flags & TALLY_EXCLUSIVE) != 0,
                            .reverse = is_reverse,
                            .initial = r->desc.initial,
                            .flags = g->offsets ? flags : g->flags};
    scan_oracle(&r->op, &form, g->items, g->n, expected);
    run_once(r, g, got);
    if (r->desc.custom || oracle_is_exact(&r->of) || r->is_canonical)
        expect_bits(r, g, got, expected);
    else
        expect_bounds(r, g, got, expected);
    run_once(r, g, again);
    if (bytes && memcmp(got, again, bytes) != 0)
        fail_msg("%s: another run over %llu items gave other bits", r->name, (unsigned long long)g->n);
    free(expected);
    free(got);
    free(again);
    free(flags);
}
