/* SPDX-License-Identifier: MIT */
/* The test of one cell of the matrix (cells.h). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/calls.h"
#include "cell_trial.h"
#include "oracle/oracle.h"
#include "oracle/items.h"
#include "oracle/patterns.h"
#include "tests/support/test_main.h"

/* ---- patterns for an op ---------------------------------------------------------------------- */

#define PATTERN_LIST_END PATTERNS
static const int of_sums[] = {PATTERN_BOTH_INFINITE, PATTERN_NEGATIVE_ZERO, PATTERN_DENORMAL,
                              PATTERN_LIMITS,        PATTERN_ABSORBED,      PATTERN_LIST_END};
static const int of_products[] = {PATTERN_NEAR_ONE, PATTERN_ZEROS, PATTERN_LIMITS, PATTERN_DUPLICATES, PATTERN_LIST_END};
static const int of_extremes[] = {PATTERN_ALL_NAN, PATTERN_BOTH_INFINITE, PATTERN_ALL_INFINITE,       PATTERN_NEGATIVE_ZERO,
                                  PATTERN_ZEROS,   PATTERN_DUPLICATES,    PATTERN_NEGATIVE_ONLY_ZERO, PATTERN_LIST_END};
static const int of_truths[] = {PATTERN_NEGATIVE_ZERO, PATTERN_ZEROS,     PATTERN_ONE_FIRST,
                                PATTERN_ONE_MIDDLE,    PATTERN_ONE_LAST,  PATTERN_LACK_FIRST,
                                PATTERN_LACK_MIDDLE,   PATTERN_LACK_LAST, PATTERN_LIST_END};
static const int of_norms[] = {PATTERN_MAGNITUDES, PATTERN_TINY,     PATTERN_BIG,    PATTERN_NEGATIVE_ZERO,
                               PATTERN_DENORMAL,   PATTERN_INFINITE, PATTERN_LIMITS, PATTERN_LIST_END};
static const int of_moments[] = {PATTERN_SHIFTED, PATTERN_RAMP,       PATTERN_DUPLICATES, PATTERN_NEGATIVE_ZERO,
                                 PATTERN_TINY,    PATTERN_MAGNITUDES, PATTERN_LIMITS,     PATTERN_LIST_END};
static const int of_exponentials[] = {PATTERN_SHIFTED, PATTERN_DUPLICATES, PATTERN_NEGATIVE_INFINITE,
                                      PATTERN_TINY,    PATTERN_INFINITE,   PATTERN_NEGATIVE_ZERO,
                                      PATTERN_LIMITS,  PATTERN_LIST_END};
static const int of_bits[] = {PATTERN_POWERS, PATTERN_LIMITS, PATTERN_ONE_LAST, PATTERN_LACK_MIDDLE, PATTERN_LIST_END};
static const int of_closeness[] = {PATTERN_SHIFTED,           PATTERN_ZEROS,      PATTERN_BOTH_INFINITE, PATTERN_MAGNITUDES,
                                   PATTERN_ONE_FIRST,         PATTERN_ONE_MIDDLE, PATTERN_ONE_LAST,      PATTERN_ALTERNATING,
                                   PATTERN_NEGATIVE_INFINITE, PATTERN_LIST_END};

static const int *patterns_of(tally_op op) {
    switch (op) {
    case TALLY_PROD:
        return of_products;
    case TALLY_NRM2:
        return of_norms;
    case TALLY_VAR:
    case TALLY_STD:
        return of_moments;
    case TALLY_LOGSUMEXP:
        return of_exponentials;
    case TALLY_ANY:
    case TALLY_ALL:
    case TALLY_COUNT_NONZERO:
        return of_truths;
    case TALLY_BAND:
    case TALLY_BOR:
    case TALLY_BXOR:
        return of_bits;
    case TALLY_ALLCLOSE:
        return of_closeness;
    default:
        return oracle_is_exact(&(oracle_case){.op = op, .in = TALLY_F32}) ? of_extremes : of_sums;
    }
}

/* The pattern for shapes that meet only one. Wide numbers would overflow or vanish in some ops;
 * those get numbers near one. */
static int usual_pattern(tally_op op) {
    return op == TALLY_PROD ? PATTERN_NEAR_ONE : op == TALLY_LOGSUMEXP ? PATTERN_SHIFTED : PATTERN_WIDE;
}

/* ---- the walk -------------------------------------------------------------------------------- */

/* Shapes that every pattern meets: around 0, a warp, the lanes, a row and a chunk; a prime; and a
 * tree of chunks that is neither full nor even. */
static const uint64_t small_shapes[] = {0, 1, 2, 3, 127, 128, 129, 997, 4095, 4096, 4097, 5 * 4096 + 1};
/* Shapes of many chunks: powers of two and their neighbours, trees of every fullness, an odd
 * million. */
static const uint64_t large_shapes[] = {8191,  8192,  8193,   7 * 4096,           9 * 4096 - 1, 33 * 4096 - 1, 65535,
                                        65536, 65537, 131071, 3 * 4096 * 32 + 17, 1000003,      MAX_N};
static const uint64_t offset_shapes[] = {1, 129, 4079, 4097, 9 * 4096 + 5};
static const uint64_t offsets[] = {1, 2, 7, 13};

#define EACH(type, value, array) for (const type *value = (array); value < (array) + TALLY_ARRAY_LENGTH(array); value++)
#define EACH_PATTERN_OF(pattern, op) for (const int *pattern = patterns_of(op); *pattern != PATTERN_LIST_END; pattern++)

static void walk_patterns(bench *b, uint32_t group) {
    const uint64_t around_group[] = {group - 1, group, group + 1};
    for (int pattern = 0; pattern < PATTERNS; pattern++) {
        EACH(uint64_t, n, small_shapes) expect(b, *n, pattern, 0, 0);
        if (group > 1) EACH(uint64_t, n, around_group) expect(b, *n, pattern, 0, 0);
    }
}

static void walk_all(bench *b, uint32_t group) {
    const int usual = usual_pattern(b->what->op), large_patterns[] = {usual, PATTERN_ALTERNATING, PATTERN_NAN_LAST};
    walk_patterns(b, group);
    EACH(uint64_t, n, large_shapes) {
        /* The largest shape runs once, as it costs as much as all others. */
        if (*n == MAX_N)
            expect(b, *n, usual, 0, 0);
        else
            EACH(int, pattern, large_patterns) expect(b, *n, *pattern, 0, 0);
    }
    EACH(uint64_t, n, offset_shapes) EACH(uint64_t, in_offset, offsets) EACH(uint64_t, out_offset, offsets) {
        expect(b, *n, usual, *in_offset, *out_offset);
    }
}

/* For the many cells of a canonical variant: the edges, a NaN at each end and in the middle, the
 * op's patterns, one large shape. */
static void walk_part(bench *b) {
    static const uint64_t edges[] = {0, 1, 2, 127, 128, 129, 4095, 4096, 4097, 5 * 4096 + 1},
                          some[] = {1, 2, 129, 4097, 5 * 4096 + 1};
    const int usual = usual_pattern(b->what->op);
    EACH(uint64_t, n, edges) expect(b, *n, usual, 0, 0);
    for (int nan = PATTERN_NAN_FIRST; nan <= PATTERN_NAN_LAST; nan++) EACH(uint64_t, n, some) expect(b, *n, nan, 0, 0);
    EACH_PATTERN_OF(pattern, b->what->op) EACH(uint64_t, n, some) expect(b, *n, *pattern, 0, 0);
    expect(b, 4097, usual, 1, 3);
    expect(b, 9 * 4096 + 5, usual, 3, 1);
    expect(b, 300007, usual, 0, 0);
}

/* For items of a byte, several of which a device takes at once: the patterns have an item that
 * decides the result in the middle, which is at each place of 16 bytes here. */
static void walk_bytes(bench *b) {
    static const int patterns[] = {PATTERN_ZEROS, PATTERN_LACK_MIDDLE};
    static const uint64_t middles[] = {2048, 32 * 4096};
    for (uint64_t k = 0; k < 16; k++)
        EACH(uint64_t, middle, middles) EACH(int, pattern, patterns) expect(b, 2 * (*middle + k), *pattern, 0, 0);
}

/* For other group sizes, and for short runs. */
static void walk_few(bench *b, uint32_t group) {
    const int patterns[] = {usual_pattern(b->what->op), PATTERN_NAN_MIDDLE, PATTERN_NEGATIVE_ZERO, PATTERN_LIMITS};
    const uint64_t shapes[] = {0, 1, group - 1, group, group + 1, 997, 4095, 4096, 4097, 33 * 4096 - 1};
    EACH(uint64_t, n, shapes) EACH(int, pattern, patterns) expect(b, *n, *pattern, 0, 0);
    expect(b, 3 * 4096 * 32 + 17, patterns[0], 3, 1);
    expect(b, group == 32 ? MAX_N : 1000003, patterns[0], 0, 0);
}

/* Returns whether every item does a compare-and-swap on one word, on a GPU. A million of them take
 * an H200 up to 10 s. */
static int swaps_one_word(const bench *b) {
    const tally_terms *terms = &b->plan->terms;
    const tally_variant *variant = ((const tally_reduce_plan *)b->plan)->launch.variant;
    const int is_native = terms->count == 1 && terms->list[0].additive && !terms->list[0].field_count;
    return variant->stage == TALLY_STAGE_ATOMIC && !variant->local_accumulators && !is_native &&
           b->cell->at->info.device_class == TALLY_CLASS_GPU;
}

/* For the many steps of the ladder: the edges of a group and of two, special values, a tree that is
 * not full, alignments. */
static void walk_ladder(bench *b, uint32_t group) {
    const uint64_t large = swaps_one_word(b) ? 100003 : 1000003;
    const int usual = usual_pattern(b->what->op);
    const int patterns[] = {usual, PATTERN_ALTERNATING, PATTERN_NAN_FIRST, PATTERN_NAN_MIDDLE, PATTERN_NAN_LAST, PATTERN_ZEROS};
    const uint64_t shapes[] = {0, 1, 2, group - 1, group, group + 1, 2 * group + 1, 4097};
    const uint64_t shifted[] = {1, group + 1, 4097};
    EACH(uint64_t, n, shapes) {
        EACH(int, pattern, patterns) expect(b, *n, *pattern, 0, 0);
        EACH_PATTERN_OF(pattern, b->what->op) expect(b, *n, *pattern, 0, 0);
    }
    expect(b, large, usual, 0, 0);
    expect(b, large, PATTERN_NAN_LAST, 0, 0);
    if (cell_is_deep(b->cell)) expect(b, large, PATTERN_ABSORBED, 0, 0);
    EACH(uint64_t, n, shifted) EACH(uint64_t, in_offset, offsets) {
        expect(b, *n, usual, *in_offset, 1);
        expect(b, *n, PATTERN_NAN_LAST, *in_offset, 2);
    }
}

/* ---- the test -------------------------------------------------------------------------------- */

/* Checks the plan: its variant, the places of the result's values, and its memory. The header
 * limits the memory of a canonical variant. A variant that ends in atomics needs one accumulator.
 * Any other needs at most an accumulator for each item and a little more. */
static void check_plan(bench *b, const tally_variant_info *info) {
    const char *variant = tally_plan_variant(b->plan);
    assert_non_null(variant);
    if (strcmp(b->cell->variant, "auto") != 0)
        assert_string_equal(variant, b->cell->variant);
    else
        assert_true(info->canonical);
    const size_t acc_bytes = b->plan->terms.acc.bytes;
    const uint64_t bytes = tally_plan_workspace_bytes(b->plan), rounded = b->max_n + 2 * 1024;
    uint64_t allowed = 64 * 1024 + b->max_n / 512;
    if (!info->canonical) allowed = strcmp(info->finish, "atomic") ? (rounded + rounded / 32) * acc_bytes : acc_bytes;
    if (bytes > allowed || bytes < acc_bytes)
        fail_msg("%s: a workspace of %llu bytes for %llu items: at most %llu", b->cell->name, (unsigned long long)bytes,
                 (unsigned long long)b->max_n, (unsigned long long)allowed);

    const tally_dtype out = oracle_result_dtype(b->what);
    const uint32_t values = (uint32_t)(b->result_bytes / item_bytes_of(out));
    tally_result_info result;
    assert_int_equal(tally_plan_result_bytes(b->plan), b->result_bytes);
    for (uint32_t v = 0; v < values; v++) {
        assert_true(tally_plan_result(b->plan, v, &result));
        assert_int_equal(result.dtype, out);
        assert_int_equal(result.offset, v * item_bytes_of(out));
        assert_int_equal(result.term, 0);
    }
    assert_false(tally_plan_result(b->plan, values, &result));
}

/* Makes another plan of this cell and runs one trial with it. */
static void expect_planned(bench *b, const tally_reduce_desc *desc, uint64_t max_n, uint32_t factor, uint64_t n) {
    tally_reduce_desc planned = *desc;
    planned.max_n = max_n;
    planned.factor = factor;
    tally_plan_destroy(b->plan);
    b->plan = NULL;
    MUST(tally_plan_create(b->cell->at->context, &planned, &b->plan));
    expect(b, n, usual_pattern(b->what->op), 0, 0);
}

/* Plans for exactly n items, where a workspace that is a little too small shows; plans for as many
 * as the device holds; other factors. */
static void check_other_plans(bench *b, const tally_reduce_desc *desc, const tally_variant_info *info) {
    static const uint64_t shapes[] = {1, 4096, 4097, 33 * 4096 - 1, 3 * 4096 * 32 + 17};
    static const uint32_t factors[] = {1, 3, 64};
    const int is_deep = cell_is_deep(b->cell);
    EACH(uint64_t, n, shapes) if (is_deep || *n == 33 * 4096 - 1) expect_planned(b, desc, *n, 0, *n);
    if (is_deep) expect_planned(b, desc, 1, 0, 0);
    if (is_deep && info->canonical) expect_planned(b, desc, 0, 0, 4097);
    const int sample = b->what->op == TALLY_SUM && (b->what->in == TALLY_F32 || b->what->in == TALLY_I64);
    if (info->factor && !b->what->acc && !b->what->accuracy && (sample || full()))
        EACH(uint32_t, factor, factors) expect_planned(b, desc, b->max_n, *factor, 33 * 4096 - 1);
}

static void walk(bench *b, const tally_reduce_desc *desc) {
    tally_variant_info info = {0};
    for (size_t v = 0; v < tally_variant_count(); v++) {
        MUST(tally_variant_get(v, &info));
        if (strcmp(info.name, tally_plan_variant(b->plan)) == 0) break;
    }
    const uint32_t group = ((const tally_reduce_plan *)b->plan)->launch.group_threads;
    const int is_additive = oracle_shape_of(b->what) == ORACLE_ADDED && b->plan->terms.acc.bytes == 4;
    b->is_exact = oracle_is_exact(b->what) || info.canonical;
    b->is_repeatable = b->is_exact || strcmp(info.finish, "atomic") != 0;
    b->may_flush = is_additive && !b->is_repeatable && b->cell->at->info.device_class == TALLY_CLASS_GPU;
    if (b->cell->group_threads) assert_int_equal(group, b->cell->group_threads);
    check_plan(b, &info);
    if (!info.canonical)
        walk_ladder(b, group);
    else if (quick() || b->cell->group_threads)
        walk_few(b, group);
    else if (cell_is_deep(b->cell))
        walk_all(b, group);
    else
        walk_part(b);
    if (info.canonical && b->item_bytes == 1 && oracle_is_exact(b->what)) walk_bytes(b);
    if (!b->cell->group_threads) check_other_plans(b, desc, &info);
}

/* The one bench. cmocka leaves a failed test's function, so the next test frees what the failed one
 * left. */
static bench one;

static void open_bench(bench *b) {
    tally_context *context = b->cell->at->context;
    const uint64_t bytes = (PAD + MAX_OFFSET + b->max_n + PAD) * b->item_bytes;
    MUST(tally_queue_create(context, &b->queue));
    for (uint32_t k = 0; k < b->inputs; k++) {
        b->host[k] = malloc(bytes);
        b->back[k] = malloc(bytes);
        assert_true(b->host[k] && b->back[k]);
        MUST(tally_buffer_create(context, bytes, &b->in[k]));
    }
    MUST(tally_buffer_create(context, 2 * RESULTS * b->result_bytes, &b->out));
}

static void close_bench(bench *b) {
    tally_plan_destroy(b->plan);
    for (uint32_t k = 0; k < b->inputs; k++) {
        tally_buffer_destroy(b->in[k]);
        free(b->host[k]);
        free(b->back[k]);
    }
    tally_buffer_destroy(b->out);
    tally_queue_destroy(b->queue);
    *b = (bench){0};
}

static tally_reduce_desc desc_of(const cell *c) {
    return (tally_reduce_desc){.size = sizeof(tally_reduce_desc),
                               .op = c->what.op,
                               .in = c->what.in,
                               .max_n = MAX_N,
                               .variant = c->variant,
                               .group_threads = c->group_threads,
                               .acc = c->what.acc,
                               .accuracy = c->what.accuracy};
}

/* Compiles the cell's program and, where tally_reduce_host is tried too, the program for a small
 * array. */
void cell_compile(const cell *c) {
    tally_reduce_desc desc = desc_of(c);
    const int is_of_host = strcmp(c->variant, "auto") == 0 && !c->group_threads && !c->what.acc && !c->what.accuracy;
    for (int small = 0; small <= is_of_host; small++) {
        tally_plan *plan = NULL;
        if (small) desc.max_n = 1;
        if (c->at->context && tally_plan_create(c->at->context, &desc, &plan) == TALLY_OK) tally_plan_destroy(plan);
    }
}

void cell_test(void **state) {
    cell *c = *state;
    if (!c->at->context) fail_msg("%s did not open: %s", c->at->select, c->at->error);
    bench *b = &one;
    close_bench(b);
    *b = (bench){.cell = c, .what = &c->what, .max_n = MAX_N};
    b->inputs = oracle_inputs(c->what.op);
    b->item_bytes = item_bytes_of(c->what.in);
    b->result_bytes = oracle_result_bytes(&c->what);
    const tally_reduce_desc desc = desc_of(c);
    const tally_status status = tally_plan_create(c->at->context, &desc, &b->plan);
    if (status == TALLY_E_UNSUPPORTED) {
        c->state = CELL_SKIPPED;
        snprintf(c->cause, sizeof c->cause, "%s", tally_last_error());
        test_skip("%s", c->cause);
    }
    must(status, "tally_plan_create", __FILE__, __LINE__);
    open_bench(b);
    walk(b, &desc);
    close_bench(b);
    c->state = CELL_RUN;
}
