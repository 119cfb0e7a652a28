/* SPDX-License-Identifier: MIT */
/* The test of one cell of the matrix: see cells.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bound.h"
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
    int is_exact;      /* the result must be the oracle's, to the bit; else it keeps the bound on a float sum's error */
    int is_repeatable; /* and the same in every run */
    int may_flush;     /* atomics on f32 may take subnormals for zero */
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

/* Compares two runs with each other and with the oracle, or with what a float sum in another order may be. */
static int check_results(bench *b, const trial *t, const void *items, const oracle_result runs[2],
                         const oracle_result *expected) {
    const tally_dtype out = tally_result_dtype(b->cell->op, b->cell->in);
    char got[2][48], want[48];
    const uint64_t depth = b->is_exact ? 0 : tally_plan_depth(b->plan, t->n);
    int good = !b->is_repeatable || memcmp(&runs[0], &runs[1], b->result_bytes) == 0;
    for (int r = 0; r < 2 && good; r++) {
        if (b->is_exact) {
            good = memcmp(&runs[r], expected, b->result_bytes) == 0;
            continue;
        }
        const bound_verdict verdict = bound_check(b->cell->in, items, t->n, depth, b->may_flush, &runs[r]);
        good = verdict != BOUND_BROKEN;
        b->cell->kept += verdict == BOUND_KEPT;
        b->cell->unbounded += verdict == BOUND_FREE;
    }
    if (good) return 1;
    print_value(got[0], sizeof got[0], out, &runs[0]);
    print_value(got[1], sizeof got[1], out, &runs[1]);
    print_value(want, sizeof want, out, expected);
    snprintf(b->failure, sizeof b->failure, "is %s, the second time %s; should be %s", got[0], got[1], want);
    const size_t used = strlen(b->failure);
    if (!b->is_exact)
        snprintf(b->failure + used, sizeof b->failure - used, " or within the bound for a depth of %llu",
                 (unsigned long long)depth);
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
    return check_results(b, t, first, runs, &expected);
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

/* For the steps of the ladder, of which there are many: the edges of a group and of two, the special values, a tree that is not full,
 * and alignments. */
static void walk_ladder(bench *b, uint32_t group) {
    static const int patterns[] = {PATTERN_WIDE,          PATTERN_ALTERNATING, PATTERN_ABSORBED, PATTERN_NAN_FIRST,
                                   PATTERN_NAN_MIDDLE,    PATTERN_NAN_LAST,    PATTERN_INFINITE, PATTERN_BOTH_INFINITE,
                                   PATTERN_NEGATIVE_ZERO, PATTERN_ZEROS,       PATTERN_DENORMAL, PATTERN_LIMITS};
    static const int many_patterns[] = {PATTERN_WIDE, PATTERN_ABSORBED, PATTERN_NAN_LAST};
    const uint64_t shapes[] = {0, 1, 2, group - 1, group, group + 1, 2 * group + 1, 4097};
    const uint64_t shifted[] = {1, group + 1, 4097};
    EACH(uint64_t, n, shapes) EACH(int, pattern, patterns) expect(b, *n, *pattern, 0, 0);
    EACH(int, pattern, many_patterns) expect(b, 1000003, *pattern, 0, 0);
    EACH(uint64_t, n, shifted) EACH(uint64_t, in_offset, offsets) {
        expect(b, *n, PATTERN_WIDE, *in_offset, 1);
        expect(b, *n, PATTERN_NAN_LAST, *in_offset, 2);
    }
}

/* ---- the test ------------------------------------------------------------------------------------------------------- */

/* What a plan says of itself: the variant asked for, and no more memory than the header allows a canonical one. Of the others, those
 * that end in atomics need a word, a partial for each group is less than an accumulator for each item, and a scratch copy is hardly more. */
static void check_plan(bench *b, const tally_variant_info *info) {
    const char *variant = tally_plan_variant(b->plan);
    assert_non_null(variant);
    if (strcmp(b->cell->variant, "auto") != 0)
        assert_string_equal(variant, b->cell->variant);
    else
        assert_true(info->canonical);
    const size_t acc_bytes = tally_dtype_bytes(tally_accumulator_dtype(b->cell->op, b->cell->in));
    const uint64_t bytes = tally_plan_workspace_bytes(b->plan), rounded = b->max_n + 2 * 1024;
    uint64_t allowed = 64 * 1024 + b->max_n / 512;
    if (!info->canonical) allowed = strcmp(info->finish, "atomic") ? (rounded + rounded / 32) * acc_bytes : acc_bytes;
    if (bytes > allowed || bytes < acc_bytes)
        fail_msg("%s: a workspace of %llu bytes for %llu items: at most %llu", b->cell->name, (unsigned long long)bytes,
                 (unsigned long long)b->max_n, (unsigned long long)allowed);
}

/* Another plan of this cell, and one trial with it. */
static void expect_planned(bench *b, const tally_reduce_desc *desc, uint64_t max_n, uint32_t factor, uint64_t n) {
    tally_reduce_desc planned = *desc;
    planned.max_n = max_n;
    planned.factor = factor;
    tally_plan_destroy(b->plan);
    b->plan = NULL;
    MUST(tally_plan_create(b->cell->at->context, &planned, &b->plan));
    expect(b, n, PATTERN_WIDE, 0, 0);
}

/* Plans for exactly n items, where a workspace that is a little too small shows; for as many as the device holds; other factors. */
static void check_other_plans(bench *b, const tally_reduce_desc *desc, const tally_variant_info *info) {
    static const uint64_t shapes[] = {1, 4096, 4097, 33 * 4096 - 1, 3 * 4096 * 32 + 17};
    static const uint32_t factors[] = {1, 3, 64};
    EACH(uint64_t, n, shapes) expect_planned(b, desc, *n, 0, *n);
    expect_planned(b, desc, 1, 0, 0);
    if (info->canonical) expect_planned(b, desc, 0, 0, 4097);
    const int sample = b->cell->op == TALLY_SUM && (b->cell->in == TALLY_F32 || b->cell->in == TALLY_I64);
    if (info->factor && (sample || full()))
        EACH(uint32_t, factor, factors) expect_planned(b, desc, b->max_n, *factor, 33 * 4096 - 1);
}

static void walk(bench *b, const tally_reduce_desc *desc) {
    tally_variant_info info = {0};
    for (size_t v = 0; v < tally_variant_count(); v++) {
        MUST(tally_variant_get(v, &info));
        if (strcmp(info.name, tally_plan_variant(b->plan)) == 0) break;
    }
    const uint32_t group = b->cell->group_items ? b->cell->group_items : info.group_items;
    const int is_float = b->cell->in == TALLY_F32 || b->cell->in == TALLY_F64;
    b->is_exact = info.canonical || b->cell->op != TALLY_SUM || !is_float;
    b->is_repeatable = b->is_exact || strcmp(info.finish, "atomic") != 0;
    b->may_flush = b->cell->in == TALLY_F32 && !b->is_repeatable && b->cell->at->info.device_class == TALLY_CLASS_GPU;
    check_plan(b, &info);
    if (!info.canonical)
        walk_ladder(b, group);
    else if (quick() || b->cell->group_items)
        walk_few(b, group);
    else
        walk_all(b, group);
    if (!b->cell->group_items) check_other_plans(b, desc, &info);
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
