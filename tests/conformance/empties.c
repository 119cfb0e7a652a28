/* SPDX-License-Identifier: MIT */
/*
 * No items, one and two, for every op, item type and result type, on a real device. The values of
 * no items are those of docs/semantics.md (empties.h), as a reduction's result and as an exclusive
 * scan's first value. Each triple is a program, which takes a device's compiler up to a second, so
 * a run has a few of them (sample.h).
 */
#include <stdio.h>
#include <string.h>

#include "direct.h"
#include "tests/support/empties.h"
#include "oracle/patterns.h"
#include "tests/support/sample.h"

#define PARTS 499
#define MOST_ITEMS 2

typedef struct pair {
    unsigned char of[2][MOST_ITEMS * 16];
} pair;

/* Checks the result of the first n items: for none against the document, else against the
 * oracle. */
static void check_value(const oracle_case *what, const pair *items, uint64_t n, const unsigned char *got, const char *where) {
    unsigned char none[EMPTIES_BYTES];
    uint64_t words[2] = {0};
    const size_t bytes = oracle_result_bytes(what);
    if (n) {
        expect_result_inputs(what, (const void *const[]){items->of[0], items->of[1]}, n, got, where);
        return;
    }
    assert_int_equal(empties_value(what->op, what->in, what->out, none), bytes);
    if (memcmp(got, none, bytes) == 0) return;
    memcpy(&words[0], got, bytes < 8 ? bytes : 8);
    memcpy(&words[1], none, bytes < 8 ? bytes : 8);
    fail_msg("%s: %s of no %s as %s begins with 0x%llx, should be 0x%llx", where, tally_op_name(what->op),
             tally_dtype_name(what->in), tally_dtype_name(what->out), (unsigned long long)words[0],
             (unsigned long long)words[1]);
}

static void expect_reduction(void **state, const oracle_case *what, const pair *items) {
    const tally_reduce_desc desc = {.op = what->op, .in = what->in, .out = what->out};
    for (uint64_t n = 0; n <= MOST_ITEMS; n++) {
        unsigned char got[EMPTIES_BYTES];
        direct_reduce(direct_context(state), &desc, NULL, (const void *const[]){items->of[0], items->of[1]}, n, got);
        check_value(what, items, n, got, "reduce");
    }
}

static void expect_exclusive_scan(void **state, const oracle_case *what, const pair *items) {
    tally_context *context = direct_context(state);
    const tally_scan_desc desc = {
        .size = sizeof desc, .op = what->op, .in = what->in, .out = what->out, .max_n = MOST_ITEMS, .flags = TALLY_EXCLUSIVE};
    const size_t bytes = oracle_result_bytes(what), items_bytes = MOST_ITEMS * tally_dtype_bytes(what->in);
    unsigned char got[MOST_ITEMS * EMPTIES_BYTES];
    tally_plan *plan;
    tally_queue *queue;
    tally_buffer *in, *out;
    MUST(tally_scan_plan_create(context, &desc, &plan));
    MUST(tally_queue_create(context, &queue));
    MUST(tally_buffer_create(context, items_bytes, &in));
    MUST(tally_buffer_create(context, MOST_ITEMS * bytes, &out));
    MUST(tally_buffer_write(queue, in, 0, items->of[0], items_bytes));
    MUST(tally_scan(plan, queue, in, MOST_ITEMS, out));
    MUST(tally_buffer_read(queue, out, 0, got, MOST_ITEMS * bytes));
    MUST(tally_queue_wait(queue));
    for (uint64_t n = 0; n < MOST_ITEMS; n++) check_value(what, items, n, got + n * bytes, "an exclusive scan");
    tally_plan_destroy(plan);
    tally_buffer_destroy(in);
    tally_buffer_destroy(out);
    tally_queue_destroy(queue);
}

static pair items_of(tally_dtype in) {
    pair items;
    for (int k = 0; k < 2; k++) pattern_fill(k ? PATTERN_RAMP : PATTERN_WIDE, in, items.of[k], MOST_ITEMS);
    return items;
}

/* Runs the triples of this run. Returns their number. */
static uint64_t run_sample(void **state, uint64_t parts,
                           void (*expect)(void **state, const oracle_case *what, const pair *items), uint32_t most_inputs) {
    const place *at = *state;
    uint64_t triples = 0, run = 0;
    oracle_case what = {0};
    for (what.in = TALLY_DTYPE_DEFAULT + 1; what.in < TALLY_DTYPE_END; what.in++)
        for (what.op = TALLY_OP_NONE + 1; what.op < TALLY_OP_END; what.op++)
            for (what.out = TALLY_DTYPE_DEFAULT + 1; what.out < TALLY_DTYPE_END; what.out++) {
                if (!oracle_takes(&what) || !empties_takes(what.op, what.in, what.out)) continue;
                if (oracle_inputs(what.op) > most_inputs || !sample_has(triples++, parts)) continue;
                const int is_wide = what.out == TALLY_F64 || what.out == TALLY_C128;
                if (cells_lack_f64(&what, &at->info) || (is_wide && !at->info.has_f64)) continue;
                const pair items = items_of(what.in);
                expect(state, &what, &items);
                run++;
            }
    printf("%llu of %llu triples of op, item type and result type\n", (unsigned long long)run, (unsigned long long)triples);
    return run;
}

static void test_reductions(void **state) {
    need_compiler(*state);
    assert_true(run_sample(state, PARTS, expect_reduction, 2) > 0 || quick());
}

/* A triple that a wider result once made wrong. Every run has it. */
static void test_scans(void **state) {
    need_compiler(*state);
    const oracle_case what = {.op = TALLY_BAND, .in = TALLY_U8, .out = TALLY_U64};
    const pair items = items_of(what.in);
    expect_exclusive_scan(state, &what, &items);
    assert_true(run_sample(state, PARTS, expect_exclusive_scan, 1) > 0 || quick());
}

const device_test empty_tests[] = {
    {"none, one and two items", test_reductions},
    {"first values of exclusive scans", test_scans},
    {NULL, NULL},
};
