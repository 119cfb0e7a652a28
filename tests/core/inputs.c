/* SPDX-License-Identifier: MIT */
/* Results on the stub against the oracle: every op and dtype, several inputs, several ops over one
 * pass. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/calls.h"
#include "core.h"
#include "oracle/oracle.h"
#include "oracle/patterns.h"
#include "tests/support/sample.h"

#define MOST UINT64_C(700001)
#define ITEM_BYTES_MOST 16

static const char *const selects[] = {"stub:alpha", "stub:beta"};

/* Two inputs of one dtype. The second differs from the first in every third item, so that some
 * differences are zero. */
typedef struct inputs {
    void *of[2];
} inputs;

static inputs make_inputs(int pattern, tally_dtype in, uint64_t n) {
    inputs made = {{malloc(n * ITEM_BYTES_MOST + 1), malloc(n * ITEM_BYTES_MOST + 1)}};
    const size_t bytes = tally_dtype_bytes(in);
    assert_true(made.of[0] && made.of[1]);
    pattern_fill(pattern, in, made.of[0], n);
    pattern_fill(PATTERN_RAMP, in, made.of[1], n);
    for (uint64_t i = 0; i < n; i++)
        if (i % 3) memcpy((char *)made.of[1] + i * bytes, (char *)made.of[0] + i * bytes, bytes);
    return made;
}

static void free_inputs(inputs *made) {
    free(made->of[0]);
    free(made->of[1]);
}

static void expect_result(const oracle_case *what, const inputs *from, uint64_t n, const void *got, const char *where) {
    oracle_result expected = {{0}};
    const size_t bytes = oracle_result_bytes(what);
    oracle_reduce_inputs(what, (const void *const *)from->of, n, &expected);
    if (memcmp(got, &expected, bytes) == 0) return;
    uint64_t word = 0;
    memcpy(&word, got, bytes < 8 ? bytes : 8);
    fail_msg("%s: %s of %s, acc %d, %s, n=%llu: 0x%llx, should be 0x%llx", where, tally_op_name(what->op),
             tally_dtype_name(what->in), (int)what->acc, tally_accuracy_name(what->accuracy), (unsigned long long)n,
             (unsigned long long)word, (unsigned long long)expected.words[0]);
}

/* ---- one op ---------------------------------------------------------------------------------- */

static void expect_cell(tally_context *context, const char *select, const oracle_case *what, const inputs *from, uint64_t n) {
    oracle_result got = {{0}};
    const tally_reduce_desc desc = {.size = sizeof desc,
                                    .op = what->op,
                                    .in = what->in,
                                    .acc = what->acc,
                                    .out = what->out,
                                    .accuracy = what->accuracy,
                                    .variant = "auto"}; /* few items, but on the device */
    MUST(tally_reduce_host_inputs(context, &desc, (const void *const *)from->of, n, &got));
    expect_result(what, from, n, &got, select);
}

static void each_cell(tally_dtype acc, tally_accuracy accuracy, int least) {
    int cells = 0;
    for (tally_dtype in = TALLY_DTYPE_DEFAULT + 1; in < TALLY_DTYPE_END; in++) {
        /* Random numbers; a NaN last; the same extreme twice. */
        static const int patterns[] = {PATTERN_WIDE, PATTERN_NAN_LAST, PATTERN_DUPLICATES};
        for (size_t p = 0; p < TALLY_ARRAY_LENGTH(patterns); p++) {
            const uint64_t n = p ? 5003 : 70001;
            inputs from = make_inputs(patterns[p], in, n);
            for (size_t s = 0; s < TALLY_ARRAY_LENGTH(selects); s++) {
                tally_context *context;
                MUST(tally_context_create(selects[s], &context));
                for (tally_op op = TALLY_OP_NONE + 1; op < TALLY_OP_END; op++) {
                    const oracle_case what = {.op = op, .in = in, .acc = acc, .accuracy = accuracy};
                    const tally_kind kind = tally_dtype_find(in)->kind;
                    if (!tally_op_row_for(op, in, accuracy)) continue;
                    if (acc && kind != TALLY_KIND_FLOAT && kind != TALLY_KIND_COMPLEX) continue;
                    if (!sample_has((uint64_t)cells++, 7)) continue; /* patterns and devices take turns */
                    expect_cell(context, selects[s], &what, &from, n);
                    expect_cell(context, selects[s], &what, &from, 0);
                    expect_cell(context, selects[s], &what, &from, 1);
                }
                tally_context_destroy(context);
                SOUND();
                stub_reset(); /* else it would keep every object */
            }
            free_inputs(&from);
        }
    }
    assert_true(cells >= least * 6);
}

static void test_every_row(void **unused) {
    (void)unused;
    each_cell(TALLY_DTYPE_DEFAULT, TALLY_ACCURACY_DEFAULT, 28 * 13 - 3 * 4 + 8 * 2);
}

static void test_every_row_in_f64(void **unused) {
    (void)unused;
    each_cell(TALLY_F64, TALLY_ACCURACY_DEFAULT, 25 * 4 + 8 * 2);
}

static void test_every_compensated_row(void **unused) {
    (void)unused;
    each_cell(TALLY_DTYPE_DEFAULT, TALLY_ACCURACY_COMPENSATED, 5 * 4);
}

/* Results stored as another type. */
static void test_conversions(void **unused) {
    (void)unused;
    static const struct {
        tally_op op;
        tally_dtype in, out;
    } known[] = {
        {TALLY_SUM, TALLY_F32, TALLY_F16},    {TALLY_SUM, TALLY_F32, TALLY_BF16},   {TALLY_SUM, TALLY_F32, TALLY_F64},
        {TALLY_MEAN, TALLY_F64, TALLY_F32},   {TALLY_MEAN, TALLY_I32, TALLY_F16},   {TALLY_SUM, TALLY_I32, TALLY_I16},
        {TALLY_SUM, TALLY_U8, TALLY_I8},      {TALLY_SUM, TALLY_I64, TALLY_F32},    {TALLY_ANY, TALLY_F32, TALLY_I64},
        {TALLY_MIN, TALLY_I8, TALLY_F64},     {TALLY_SUM, TALLY_C64, TALLY_C128},   {TALLY_SUM, TALLY_C128, TALLY_C64},
        {TALLY_MINMAX, TALLY_I16, TALLY_I64}, {TALLY_ARGMAX, TALLY_F32, TALLY_I64}, {TALLY_COUNT_NONZERO, TALLY_U8, TALLY_U16},
    };
    tally_context *context;
    MUST(tally_context_create("stub:alpha", &context));
    for (size_t i = 0; i < TALLY_ARRAY_LENGTH(known); i++) {
        const oracle_case what = {.op = known[i].op, .in = known[i].in, .out = known[i].out};
        inputs from = make_inputs(PATTERN_WIDE, known[i].in, 5003);
        expect_cell(context, "conversions", &what, &from, 5003);
        expect_cell(context, "conversions", &what, &from, 0);
        free_inputs(&from);
    }
    tally_context_destroy(context);
    SOUND();
}

/* ---- buffers --------------------------------------------------------------------------------- */

typedef struct pair {
    tally_context *context;
    tally_queue *queue;
    tally_buffer *in[2], *out;
    inputs from;
    uint64_t n;
} pair;

static void open_pair(pair *p, const char *select, tally_dtype in, uint64_t n) {
    const uint64_t bytes = n * tally_dtype_bytes(in);
    *p = (pair){.n = n};
    p->from = make_inputs(PATTERN_WIDE, in, n);
    MUST(tally_context_create(select, &p->context));
    MUST(tally_queue_create(p->context, &p->queue));
    MUST(tally_buffer_create(p->context, 512, &p->out));
    for (int k = 0; k < 2; k++) {
        MUST(tally_buffer_create(p->context, bytes, &p->in[k]));
        MUST(tally_buffer_write(p->queue, p->in[k], 0, p->from.of[k], bytes));
    }
    MUST(tally_queue_wait(p->queue));
}

static void close_pair(pair *p) {
    tally_context_destroy(p->context);
    tally_queue_destroy(p->queue);
    tally_buffer_destroy(p->out);
    for (int k = 0; k < 2; k++) tally_buffer_destroy(p->in[k]);
    free_inputs(&p->from);
}

/* Each input has an offset of its own, in items. The output's offset counts results. */
static void test_offsets(void **unused) {
    (void)unused;
    static const tally_op ops[] = {TALLY_DOT, TALLY_DIST2, TALLY_ALLCLOSE};
    static const uint64_t offsets[][2] = {{0, 0}, {1, 0}, {0, 3}, {129, 7}};
    static const uint64_t sizes[] = {0, 1, 4096, 4097, 60000};
    for (size_t s = 0; s < 2; s++)
        for (tally_dtype in = TALLY_F32; in <= TALLY_F64; in++) {
            pair p;
            open_pair(&p, selects[s], in, 70001);
            const size_t bytes = tally_dtype_bytes(in);
            for (size_t o = 0; o < TALLY_ARRAY_LENGTH(ops); o++) {
                tally_plan *plan;
                const oracle_case what = {.op = ops[o], .in = in};
                MUST(tally_plan_create(p.context,
                                       &(tally_reduce_desc){.size = sizeof(tally_reduce_desc), .op = ops[o], .in = in}, &plan));
                const uint64_t width = tally_plan_result_bytes(plan);
                assert_int_equal(width, oracle_result_bytes(&what));
                for (size_t k = 0; k < TALLY_ARRAY_LENGTH(offsets); k++)
                    for (size_t n = 0; n < TALLY_ARRAY_LENGTH(sizes); n++) {
                        unsigned char got[16];
                        const inputs at = {
                            {(char *)p.from.of[0] + offsets[k][0] * bytes, (char *)p.from.of[1] + offsets[k][1] * bytes}};
                        MUST(reduce_inputs(plan, p.queue, (const tally_buffer *const *)p.in, offsets[k], sizes[n], p.out, 5));
                        MUST(tally_buffer_read(p.queue, p.out, 5 * width, got, width));
                        MUST(tally_queue_wait(p.queue));
                        expect_result(&what, &at, sizes[n], got, selects[s]);
                    }
                tally_plan_destroy(plan);
            }
            close_pair(&p);
        }
    SOUND();
}

/* ---- several ops over one pass --------------------------------------------------------------- */

static void expect_values(const tally_plan *plan, const tally_term_desc *terms, tally_dtype in, const inputs *from, uint64_t n,
                          const unsigned char *got, const char *where) {
    tally_result_info info;
    uint32_t values = 0;
    for (; tally_plan_result(plan, values, &info); values++) {
        const oracle_case what = {.op = terms[info.term].op, .in = in};
        oracle_result result = {{0}};
        if (terms[info.term].op == TALLY_MINMAX) {
            /* The second value follows the first. */
            tally_result_info second;
            assert_true(tally_plan_result(plan, ++values, &second));
            assert_int_equal(second.offset, info.offset + tally_dtype_bytes(in));
            assert_int_equal(second.term, info.term);
        }
        assert_int_equal(info.dtype, oracle_result_dtype(&what));
        memcpy(&result, got + info.offset, oracle_result_bytes(&what));
        expect_result(&what, from, n, &result, where);
    }
    assert_false(tally_plan_result(plan, values + 1, &info));
    assert_false(tally_plan_result(plan, UINT32_MAX, &info));
    expect_zero_gaps(plan, got, where);
}

static void expect_fused(const char *select, const tally_term_desc *terms, uint32_t count, tally_dtype in,
                         const char *variant) {
    static const uint64_t sizes[] = {0, 1, 4097, MOST - 3};
    const uint32_t input_count = tally_op_inputs(terms[0].op);
    pair p;
    tally_plan *plan;
    open_pair(&p, select, in, MOST);
    const tally_reduce_desc desc = {
        .size = sizeof desc, .terms = terms, .term_count = count, .in = in, .max_n = MOST, .variant = variant};
    MUST(tally_plan_create(p.context, &desc, &plan));
    const uint64_t bytes = tally_plan_result_bytes(plan);
    unsigned char got[256], fed[256];
    assert_true(bytes > 0 && 2 * bytes <= 512 && bytes <= sizeof got);
    for (size_t n = 0; n < TALLY_ARRAY_LENGTH(sizes); n++) {
        MUST(reduce_inputs(plan, p.queue, (const tally_buffer *const *)p.in, NULL, sizes[n], p.out, 1));
        MUST(tally_buffer_read(p.queue, p.out, bytes, got, bytes));
        MUST(tally_queue_wait(p.queue));
        expect_values(plan, terms, in, &p.from, sizes[n], got, select);
        if (variant) continue;
        /* The pieces of a feed: less than a span, whole spans and more. */
        tally_feed *feed;
        MUST(tally_feed_create(p.context, &desc, &feed));
        static const uint64_t pieces[] = {1, 4095, 32768, 100000, 262144, 7};
        uint64_t at = 0;
        for (size_t k = 0; at < sizes[n]; k = (k + 1) % TALLY_ARRAY_LENGTH(pieces)) {
            const uint64_t take = pieces[k] < sizes[n] - at ? pieces[k] : sizes[n] - at;
            const size_t item = tally_dtype_bytes(in);
            const void *from[] = {(char *)p.from.of[0] + at * item, (char *)p.from.of[1] + at * item};
            if (input_count == 1)
                MUST(tally_feed_push(feed, from[0], take));
            else
                MUST(tally_feed_push_inputs(feed, from, take));
            at += take;
        }
        memset(fed, 0, sizeof fed);
        if (input_count == 1)
            MUST(tally_feed_finish(feed, NULL, 0, fed));
        else
            MUST(tally_feed_finish_inputs(feed, NULL, 0, fed));
        expect_values(plan, terms, in, &p.from, sizes[n], fed, "a feed");
        tally_feed_destroy(feed);
    }
    tally_plan_destroy(plan);
    close_pair(&p);
    SOUND();
}

static void test_fused(void **unused) {
    (void)unused;
    static const tally_term_desc summary[] = {{.op = TALLY_MIN}, {.op = TALLY_MAX}, {.op = TALLY_MEAN}, {.op = TALLY_STD}};
    static const tally_term_desc mixed[] = {{.op = TALLY_ANY},    {.op = TALLY_SUM},           {.op = TALLY_MINMAX},
                                            {.op = TALLY_ARGMAX}, {.op = TALLY_COUNT_NONZERO}, {.op = TALLY_IAMAX},
                                            {.op = TALLY_ALL},    {.op = TALLY_PROD}};
    static const tally_term_desc pairs[] = {{.op = TALLY_ALLCLOSE}, {.op = TALLY_DOT}, {.op = TALLY_DIST2}};
    static const tally_term_desc complex_ops[] = {{.op = TALLY_NRM2}, {.op = TALLY_SUM}, {.op = TALLY_MEAN}};
    for (size_t s = 0; s < 2; s++) {
        expect_fused(selects[s], summary, 4, TALLY_F32, NULL);
        expect_fused(selects[s], mixed, 8, TALLY_I8, NULL);
        expect_fused(selects[s], mixed, 8, TALLY_F64, NULL);
        expect_fused(selects[s], pairs, 3, TALLY_F32, NULL);
        expect_fused(selects[s], pairs, 3, TALLY_U16, NULL);
        expect_fused(selects[s], complex_ops, 3, TALLY_C64, NULL);
    }
    static const tally_term_desc exact[] = {{.op = TALLY_MIN}, {.op = TALLY_ARGMIN}, {.op = TALLY_SUM}};
    expect_fused("stub:alpha", exact, 3, TALLY_I32, "tree_global");
    expect_fused("stub:alpha", exact, 3, TALLY_I32, "host_finish");
    /* Two accumulators of 4 bytes fit one atomic. */
    static const tally_term_desc small[] = {{.op = TALLY_MIN}, {.op = TALLY_MAX}};
    expect_fused("stub:alpha", small, 2, TALLY_F32, "sequential");
}

/* A parameter of one op, or of all ops that have it. */
static void test_params(void **unused) {
    (void)unused;
    static const tally_term_desc terms[] = {{.op = TALLY_VAR}, {.op = TALLY_MEAN}, {.op = TALLY_STD}};
    static const double one[] = {1};
    pair p;
    tally_plan *plan;
    double got[3];
    open_pair(&p, "stub:alpha", TALLY_F64, 5003);
    const tally_reduce_desc desc = {.size = sizeof desc, .terms = terms, .term_count = 3, .in = TALLY_F64};
    MUST(tally_plan_create(p.context, &desc, &plan));
    BAD(tally_plan_set_param(plan, "rtol", 1), "tally_plan_set_param", "'rtol'", "there is ddof");
    MUST(tally_plan_set_param(plan, "ddof", 1));
    MUST(tally_reduce(plan, p.queue, p.in[0], 5003, p.out));
    MUST(tally_buffer_read(p.queue, p.out, 0, got, sizeof got));
    MUST(tally_queue_wait(p.queue));
    for (int i = 0; i < 3; i++)
        expect_result(&(oracle_case){.op = terms[i].op, .in = TALLY_F64, .params = i == 1 ? NULL : one}, &p.from, 5003, &got[i],
                      "ddof");
    tally_plan_destroy(plan);

    /* A feed's parameters are set through its plan. NULL has no plan. */
    static const double loose[] = {0.5, 1e30};
    tally_feed *feed;
    uint8_t close;
    const tally_reduce_desc near = {.size = sizeof near, .op = TALLY_ALLCLOSE, .in = TALLY_F64};
    MUST(tally_feed_create(p.context, &near, &feed));
    assert_null(tally_feed_plan(NULL));
    assert_null(tally_feed_plan((tally_feed *)(void *)p.queue));
    for (int set = 0; set < 2; set++) {
        if (set) MUST(tally_plan_set_param(tally_feed_plan(feed), "rtol", loose[0]));
        if (set) MUST(tally_plan_set_param(tally_feed_plan(feed), "atol", loose[1]));
        MUST(tally_feed_finish_inputs(feed, (const void *const *)p.from.of, 5003, &close));
        expect_result(&(oracle_case){.op = TALLY_ALLCLOSE, .in = TALLY_F64, .params = set ? loose : NULL}, &p.from, 5003,
                      &close, "allclose");
        assert_int_equal(close, set);
    }
    tally_feed_destroy(feed);
    close_pair(&p);
    SOUND();
}

const core_test input_tests[] = {
    {"every op and dtype", test_every_row},
    {"every op of floats in f64", test_every_row_in_f64},
    {"every op compensated", test_every_compensated_row},
    {"results of other types", test_conversions},
    {"offsets of two inputs", test_offsets},
    {"several ops over one pass", test_fused},
    {"parameters of rows", test_params},
    {NULL, NULL},
};
