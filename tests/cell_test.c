/* SPDX-License-Identifier: MIT */
/* The test of one cell of the matrix: see cells.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cells.h"
#include "oracle.h"
#include "patterns.h"

/* Items before and after the reduced range, and results before and after the one written. */
#define PAD 64
#define MAX_OFFSET 5
#define RESULTS (MAX_OFFSET + 1 + MAX_OFFSET)
/* With groups of 32, one group's item of the last stage then reads more than one block of partials. */
#define MAX_N (UINT64_C(3) * (1 << 20) + 4097)

typedef struct bench {
    cell *cell;
    tally_plan *plan;
    tally_queue *queue;
    tally_buffer *in, *out;
    unsigned char *host, *back; /* the input's items with their pads, as written and as read back */
    size_t item_bytes, result_bytes;
    uint64_t max_n;
    char failure[512];
} bench;

typedef struct trial {
    uint64_t n;
    int pattern;
    uint64_t in_offset, out_offset;
} trial;

/* ---- one trial ------------------------------------------------------------------------------------------------------ */

/* Pads are what a kernel that reads too far would notice: the NaN, or the extreme that wins; for integer sums, no zero. */
static void fill_pads(bench *b, unsigned char *items, uint64_t n) {
    const tally_dtype in = b->cell->in;
    const int highest = b->cell->op == TALLY_MAX;
    unsigned char pad[8] = {0};
    const uint64_t nan64 = UINT64_C(0x7ff8dead00000000), top = UINT64_C(1) << 63;
    const uint32_t nan32 = UINT32_C(0x7fc0dead);
    if (in == TALLY_F32)
        memcpy(pad, &nan32, sizeof nan32);
    else if (in == TALLY_F64)
        memcpy(pad, &nan64, sizeof nan64);
    else {
        const int is_signed = in == TALLY_I32 || in == TALLY_I64;
        uint64_t value = highest ? UINT64_MAX : 0;
        if (is_signed) value ^= top;
        if (b->cell->op == TALLY_SUM) value = UINT64_C(0x5a5a5a5a5a5a5a5a);
        /* The upper half is the 32-bit value with the same sign. */
        const uint32_t narrow = (uint32_t)(value >> 32);
        memcpy(pad, b->item_bytes == 4 ? (const void *)&narrow : (const void *)&value, b->item_bytes);
    }
    for (uint64_t i = 0; i < PAD + MAX_OFFSET; i++) memcpy(items + i * b->item_bytes, pad, b->item_bytes);
    for (uint64_t i = 0; i < PAD; i++) memcpy(items + (PAD + MAX_OFFSET + n + i) * b->item_bytes, pad, b->item_bytes);
}

/* Runs the plan once into poisoned memory; *result is what it wrote. Returns 0 with b->failure set when it wrote elsewhere. */
static int run_once(bench *b, const trial *t, unsigned char poison, oracle_result *result) {
    unsigned char results[RESULTS * 8];
    memset(results, poison, sizeof results);
    MUST(tally_buffer_write(b->queue, b->out, 0, results, RESULTS * b->result_bytes));
    MUST(tally_reduce_at(b->plan, b->queue, b->in, PAD + t->in_offset, t->n, b->out, t->out_offset));
    unsigned char got[RESULTS * 8];
    MUST(tally_buffer_read(b->queue, b->out, 0, got, RESULTS * b->result_bytes));
    MUST(tally_queue_wait(b->queue));
    memset(result, 0, sizeof *result);
    memcpy(result, got + t->out_offset * b->result_bytes, b->result_bytes);
    memcpy(got + t->out_offset * b->result_bytes, results, b->result_bytes);
    if (memcmp(got, results, RESULTS * b->result_bytes) == 0) return 1;
    snprintf(b->failure, sizeof b->failure, "wrote outside its result");
    return 0;
}

static void print_value(char *text, size_t bytes, tally_dtype dtype, const oracle_result *value) {
    switch (dtype) {
    case TALLY_F32:
        snprintf(text, bytes, "0x%08x (%a)", value->u32, (double)value->f32);
        break;
    case TALLY_F64:
        snprintf(text, bytes, "0x%016llx (%a)", (unsigned long long)value->u64, value->f64);
        break;
    case TALLY_I32:
        snprintf(text, bytes, "%d", value->i32);
        break;
    case TALLY_U32:
        snprintf(text, bytes, "%u", value->u32);
        break;
    case TALLY_I64:
        snprintf(text, bytes, "%lld", (long long)value->i64);
        break;
    default:
        snprintf(text, bytes, "%llu", (unsigned long long)value->u64);
        break;
    }
}

/* Compares two runs with each other and with the oracle. */
static int check_results(bench *b, const oracle_result runs[2], const oracle_result *expected) {
    const tally_dtype out = tally_result_dtype(b->cell->op, b->cell->in);
    char got[2][48], want[48];
    if (memcmp(&runs[0], &runs[1], b->result_bytes) == 0 && memcmp(&runs[0], expected, b->result_bytes) == 0) return 1;
    print_value(got[0], sizeof got[0], out, &runs[0]);
    print_value(got[1], sizeof got[1], out, &runs[1]);
    print_value(want, sizeof want, out, expected);
    snprintf(b->failure, sizeof b->failure, "is %s, the second time %s; should be %s", got[0], got[1], want);
    return 0;
}

static int run_trial(bench *b, const trial *t) {
    /* The offset moves the items within the memory that is written, so that every trial has its pads next to its items. */
    unsigned char *first = b->host + (PAD + t->in_offset) * b->item_bytes;
    const uint64_t bytes = (PAD + MAX_OFFSET + t->n + PAD) * b->item_bytes;
    fill_pads(b, b->host, t->n);
    pattern_fill(t->pattern, b->cell->in, first, t->n);
    if (t->in_offset < MAX_OFFSET) /* what lies between the items and their right pad */
        memcpy(first + t->n * b->item_bytes, b->host, (MAX_OFFSET - t->in_offset) * b->item_bytes);
    oracle_result expected = {0}, runs[2];
    oracle_reduce(b->cell->op, b->cell->in, first, t->n, &expected);

    MUST(tally_buffer_write(b->queue, b->in, 0, b->host, bytes));
    if (!run_once(b, t, 0xa5, &runs[0]) || !run_once(b, t, 0x5a, &runs[1])) return 0;
    MUST(tally_buffer_read(b->queue, b->in, 0, b->back, bytes));
    MUST(tally_queue_wait(b->queue));
    if (memcmp(b->host, b->back, bytes) != 0) {
        snprintf(b->failure, sizeof b->failure, "changed its input or what surrounds it");
        return 0;
    }
    return check_results(b, runs, &expected);
}

static void expect(bench *b, uint64_t n, int pattern, uint64_t in_offset, uint64_t out_offset) {
    const trial t = {n, pattern, in_offset, out_offset};
    if (n > b->max_n || run_trial(b, &t)) return;
    fail_msg("%s: n=%llu, \"%s\", in_offset=%llu, out_offset=%llu: %s", b->cell->name, (unsigned long long)n,
             pattern_name(pattern), (unsigned long long)in_offset, (unsigned long long)out_offset, b->failure);
}

/* ---- the walk ------------------------------------------------------------------------------------------------------- */

/* Shapes that every pattern meets: around nothing, a warp, the lanes, a row and a chunk, a prime, and a tree of chunks that is
 * neither full nor even. */
static const uint64_t small_shapes[] = {0, 1, 2, 3, 127, 128, 129, 997, 4095, 4096, 4097, 5 * 4096 + 1};
/* Shapes of many chunks: powers of two and beside them, trees of every fullness, an odd million. */
static const uint64_t large_shapes[] = {8191,  8192,  8193,   7 * 4096,           9 * 4096 - 1, 33 * 4096 - 1, 65535,
                                        65536, 65537, 131071, 3 * 4096 * 32 + 17, 1000003,      MAX_N};
static const int large_patterns[] = {PATTERN_WIDE, PATTERN_ALTERNATING, PATTERN_NAN_LAST};
static const uint64_t offset_shapes[] = {1, 129, 4097, 8 * 4096, 9 * 4096 + 5};
static const uint64_t offsets[] = {1, 2, 3, 5};

#define EACH(type, value, array) for (const type *value = (array); value < (array) + TALLY_ARRAY_LENGTH(array); value++)

static void walk_patterns(bench *b, uint32_t group) {
    const uint64_t around_group[] = {group - 1, group, group + 1};
    for (int pattern = 0; pattern < PATTERNS; pattern++) {
        EACH(uint64_t, n, small_shapes) expect(b, *n, pattern, 0, 0);
        if (group > 1) EACH(uint64_t, n, around_group) expect(b, *n, pattern, 0, 0);
    }
}

static void walk_all(bench *b, uint32_t group) {
    walk_patterns(b, group);
    EACH(uint64_t, n, large_shapes) {
        /* The largest shape once: it costs as much as all the others. */
        if (*n == MAX_N)
            expect(b, *n, PATTERN_WIDE, 0, 0);
        else
            EACH(int, pattern, large_patterns) expect(b, *n, *pattern, 0, 0);
    }
    EACH(uint64_t, n, offset_shapes) EACH(uint64_t, in_offset, offsets) EACH(uint64_t, out_offset, offsets) {
        expect(b, *n, PATTERN_WIDE, *in_offset, *out_offset);
    }
}

/* For other group sizes, and for runs that must be short. */
static void walk_few(bench *b, uint32_t group) {
    static const int patterns[] = {PATTERN_WIDE, PATTERN_NAN_MIDDLE, PATTERN_NEGATIVE_ZERO, PATTERN_LIMITS};
    const uint64_t shapes[] = {0, 1, group - 1, group, group + 1, 997, 4095, 4096, 4097, 33 * 4096 - 1};
    EACH(uint64_t, n, shapes) EACH(int, pattern, patterns) expect(b, *n, *pattern, 0, 0);
    expect(b, 3 * 4096 * 32 + 17, PATTERN_WIDE, 3, 1);
    expect(b, group == 32 ? MAX_N : 1000003, PATTERN_WIDE, 0, 0);
}

/* ---- the test ------------------------------------------------------------------------------------------------------- */

/* What a plan says of itself: the variant asked for, and no more memory than the header allows. */
static void check_plan(bench *b) {
    const char *variant = tally_plan_variant(b->plan);
    assert_non_null(variant);
    if (strcmp(b->cell->variant, "auto") != 0) assert_string_equal(variant, b->cell->variant);
    const uint64_t bytes = tally_plan_workspace_bytes(b->plan), allowed = 64 * 1024 + b->max_n / 512;
    if (bytes > allowed)
        fail_msg("%s: a workspace of %llu bytes for %llu items: at most %llu", b->cell->name, (unsigned long long)bytes,
                 (unsigned long long)b->max_n, (unsigned long long)allowed);
}

/* Another plan of this cell for at most max_n items, and one trial with it. */
static void expect_planned(bench *b, const tally_reduce_desc *desc, uint64_t max_n, uint64_t n) {
    tally_reduce_desc planned = *desc;
    planned.max_n = max_n;
    tally_plan_destroy(b->plan);
    b->plan = NULL;
    MUST(tally_plan_create(b->cell->at->context, &planned, &b->plan));
    expect(b, n, PATTERN_WIDE, 0, 0);
}

/* Plans for exactly n items, where a workspace that is a little too small shows; and one for as many as the device holds. */
static void check_plan_sizes(bench *b, const tally_reduce_desc *desc) {
    static const uint64_t shapes[] = {1, 4096, 4097, 33 * 4096 - 1, 3 * 4096 * 32 + 17};
    EACH(uint64_t, n, shapes) expect_planned(b, desc, *n, *n);
    expect_planned(b, desc, 1, 0);
    expect_planned(b, desc, 0, 4097);
}

static void walk(bench *b, const tally_reduce_desc *desc) {
    tally_variant_info info = {0};
    for (size_t v = 0; v < tally_variant_count(); v++) {
        MUST(tally_variant_get(v, &info));
        if (strcmp(info.name, tally_plan_variant(b->plan)) == 0) break;
    }
    const uint32_t group = b->cell->group_items ? b->cell->group_items : info.group_items;
    check_plan(b);
    if (quick() || b->cell->group_items)
        walk_few(b, group);
    else
        walk_all(b, group);
    if (!b->cell->group_items) check_plan_sizes(b, desc);
}

static void open_bench(bench *b) {
    tally_context *context = b->cell->at->context;
    const uint64_t bytes = (PAD + MAX_OFFSET + b->max_n + PAD) * b->item_bytes;
    b->host = malloc(bytes);
    b->back = malloc(bytes);
    assert_true(b->host && b->back);
    MUST(tally_queue_create(context, &b->queue));
    MUST(tally_buffer_create(context, bytes, &b->in));
    MUST(tally_buffer_create(context, RESULTS * b->result_bytes, &b->out));
}

static void close_bench(bench *b) {
    tally_plan_destroy(b->plan);
    tally_buffer_destroy(b->in);
    tally_buffer_destroy(b->out);
    tally_queue_destroy(b->queue);
    free(b->host);
    free(b->back);
}

void cell_test(void **state) {
    cell *c = *state;
    if (!c->at->context) fail_msg("%s did not open: %s", c->at->select, c->at->error);
    bench b = {.cell = c, .max_n = MAX_N};
    b.item_bytes = tally_dtype_bytes(c->in);
    b.result_bytes = tally_dtype_bytes(tally_result_dtype(c->op, c->in));
    const tally_reduce_desc desc = {
        .size = sizeof desc, .op = c->op, .in = c->in, .max_n = b.max_n, .variant = c->variant, .group_items = c->group_items};
    const tally_status status = tally_plan_create(c->at->context, &desc, &b.plan);
    if (status == TALLY_E_UNSUPPORTED) {
        c->state = CELL_SKIPPED;
        snprintf(c->cause, sizeof c->cause, "%s", tally_last_error());
        skip();
    }
    must(status, "tally_plan_create", __FILE__, __LINE__);
    open_bench(&b);
    walk(&b, &desc);
    close_bench(&b); /* a failed test leaves them: cmocka has left the function */
    c->state = CELL_RUN;
}
