/* SPDX-License-Identifier: MIT */
/*
 * No items, one and two, for every op, item type and result type, on the stub. The values of no
 * items are those of docs/semantics.md (empties.h), as a reduction's result and as an exclusive
 * scan's first value. Each triple is a program, so a run takes one in 23 (sample.h).
 */
#include <stdio.h>
#include <string.h>

#include "tests/support/calls.h"
#include "core.h"
#include "tests/support/empties.h"
#include "oracle/oracle.h"
#include "oracle/patterns.h"
#include "tests/support/sample.h"

#define PARTS 23
#define MOST_ITEMS 2

typedef struct bench {
    tally_context *context;
    tally_queue *queue;
    tally_buffer *in[2], *out;
    unsigned char items[2][MOST_ITEMS * 16];
} bench;

static void open_bench(bench *b, const char *select, tally_dtype in) {
    MUST(tally_context_create(select, &b->context));
    MUST(tally_queue_create(b->context, &b->queue));
    MUST(tally_buffer_create(b->context, 4 * EMPTIES_BYTES, &b->out));
    for (int k = 0; k < 2; k++) {
        pattern_fill(k ? PATTERN_RAMP : PATTERN_WIDE, in, b->items[k], MOST_ITEMS);
        MUST(tally_buffer_create(b->context, sizeof b->items[k], &b->in[k]));
        MUST(tally_buffer_write(b->queue, b->in[k], 0, b->items[k], MOST_ITEMS * tally_dtype_bytes(in)));
    }
    MUST(tally_queue_wait(b->queue));
}

static void close_bench(bench *b) {
    for (int k = 0; k < 2; k++) tally_buffer_destroy(b->in[k]);
    tally_buffer_destroy(b->out);
    tally_queue_destroy(b->queue);
    tally_context_destroy(b->context);
    SOUND();
    stub_reset(); /* else it would keep every object */
}

/* Checks the result of the first n items: for none against the document, else against the
 * oracle. */
static void check_value(const bench *b, const oracle_case *what, uint64_t n, const unsigned char *got, const char *where) {
    oracle_result expected = {{0}}, own = {{0}};
    oracle_reduce_inputs(what, (const void *const[]){b->items[0], b->items[1]}, n, &own);
    const size_t bytes = oracle_result_bytes(what);
    if (n)
        expected = own;
    else
        assert_int_equal(empties_value(what->op, what->in, what->out, &expected), bytes);
    if (memcmp(&expected, &own, bytes) != 0)
        fail_msg("the oracle's %s of no %s as %s is not the document's", tally_op_name(what->op), tally_dtype_name(what->in),
                 tally_dtype_name(what->out));
    if (memcmp(got, &expected, bytes) == 0) return;
    uint64_t word = 0;
    memcpy(&word, got, bytes < 8 ? bytes : 8);
    fail_msg("%s: %s of %llu %s as %s begins with 0x%llx, should be 0x%llx", where, tally_op_name(what->op),
             (unsigned long long)n, tally_dtype_name(what->in), tally_dtype_name(what->out), (unsigned long long)word,
             (unsigned long long)expected.words[0]);
}

static void expect_reduction(bench *b, const oracle_case *what) {
    const tally_reduce_desc desc = {.size = sizeof desc, .op = what->op, .in = what->in, .out = what->out, .max_n = MOST_ITEMS};
    const size_t bytes = oracle_result_bytes(what);
    unsigned char got[3 * EMPTIES_BYTES];
    tally_plan *plan;
    MUST(tally_plan_create(b->context, &desc, &plan));
    for (uint64_t n = 0; n <= MOST_ITEMS; n++)
        MUST(reduce_inputs(plan, b->queue, (const tally_buffer *const *)b->in, NULL, n, b->out, n));
    MUST(tally_buffer_read(b->queue, b->out, 0, got, 3 * bytes));
    MUST(tally_queue_wait(b->queue));
    for (uint64_t n = 0; n <= MOST_ITEMS; n++) check_value(b, what, n, got + n * bytes, "reduce");
    tally_plan_destroy(plan);
}

static void expect_exclusive_scan(bench *b, const oracle_case *what) {
    const tally_scan_desc desc = {
        .size = sizeof desc, .op = what->op, .in = what->in, .out = what->out, .max_n = MOST_ITEMS, .flags = TALLY_EXCLUSIVE};
    const size_t bytes = oracle_result_bytes(what);
    unsigned char got[2 * EMPTIES_BYTES];
    tally_plan *plan;
    MUST(tally_scan_plan_create(b->context, &desc, &plan));
    MUST(tally_scan(plan, b->queue, b->in[0], MOST_ITEMS, b->out));
    MUST(tally_buffer_read(b->queue, b->out, 0, got, MOST_ITEMS * bytes));
    MUST(tally_queue_wait(b->queue));
    for (uint64_t n = 0; n < MOST_ITEMS; n++) check_value(b, what, n, got + n * bytes, "an exclusive scan");
    tally_plan_destroy(plan);
}

static void test_every_triple(void **unused) {
    (void)unused;
    uint64_t triples = 0, run = 0;
    for (tally_dtype in = TALLY_DTYPE_DEFAULT + 1; in < TALLY_DTYPE_END; in++) {
        bench b;
        open_bench(&b, in % 2 ? "stub:alpha" : "stub:beta", in);
        for (tally_op op = TALLY_OP_NONE + 1; op < TALLY_OP_END; op++)
            for (tally_dtype out = TALLY_DTYPE_DEFAULT + 1; out < TALLY_DTYPE_END; out++) {
                const oracle_case what = {.op = op, .in = in, .out = out};
                if (!oracle_takes(&what)) continue;
                if (!empties_takes(op, in, out)) {
                    const tally_reduce_desc desc = {.op = op, .in = in, .out = out};
                    REFUSED(try_desc(&made_up_device, desc), TALLY_E_ARGUMENT, "desc.out", tally_dtype_name(out));
                    continue;
                }
                if (!sample_has(triples++, PARTS)) continue;
                expect_reduction(&b, &what);
                if (oracle_inputs(op) == 1) expect_exclusive_scan(&b, &what);
                run++;
            }
        close_bench(&b);
    }
    printf("%llu of %llu triples of op, item type and result type\n", (unsigned long long)run, (unsigned long long)triples);
    assert_true(run >= triples / PARTS / 4 && run > 20);
}

/* The values of no items for all triples, by the oracle alone, which compiles nothing. */
static void test_oracle(void **unused) {
    (void)unused;
    uint64_t triples = 0;
    for (tally_dtype in = TALLY_DTYPE_DEFAULT + 1; in < TALLY_DTYPE_END; in++)
        for (tally_op op = TALLY_OP_NONE + 1; op < TALLY_OP_END; op++)
            for (tally_dtype out = TALLY_DTYPE_DEFAULT + 1; out < TALLY_DTYPE_END; out++) {
                const oracle_case what = {.op = op, .in = in, .out = out};
                unsigned char value[EMPTIES_BYTES];
                if (!oracle_takes(&what) || !empties_takes(op, in, out)) continue;
                empties_value(op, in, out, value);
                check_value(&(bench){NULL}, &what, 0, value, "the oracle");
                triples++;
            }
    assert_true(triples > 2000);
}

/* Triples that a wider result once made wrong. Every run has them. */
static void test_narrow_items(void **unused) {
    (void)unused;
    static const tally_op ops[] = {TALLY_BAND, TALLY_MIN, TALLY_MAX};
    static const tally_dtype types[] = {TALLY_U8, TALLY_U16, TALLY_I8, TALLY_I16, TALLY_BOOL};
    for (size_t t = 0; t < TALLY_ARRAY_LENGTH(types); t++) {
        bench b;
        open_bench(&b, "stub:beta", types[t]);
        for (size_t o = 0; o < TALLY_ARRAY_LENGTH(ops); o++) {
            const oracle_case what = {.op = ops[o], .in = types[t], .out = t % 2 ? TALLY_I64 : TALLY_U32};
            expect_reduction(&b, &what);
            expect_exclusive_scan(&b, &what);
        }
        close_bench(&b);
    }
}

const core_test empty_tests[] = {
    {"values of none: narrow items", test_narrow_items},
    {"values of none: the oracle", test_oracle},
    {"none, one and two of every op and type", test_every_triple},
    {NULL, NULL},
};
