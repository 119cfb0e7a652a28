/* SPDX-License-Identifier: MIT */
/*
 * docs/semantics.md, line by line. Each line of its tables has a name, and a test of that name is
 * here: a row of semantics_lines.h, or a function whose comment begins with "line".
 * tests/form/semantics.cmake compares the two lists.
 */
#define _XOPEN_SOURCE 700
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/calls.h"
#include "direct.h"
#include "oracle/patterns.h"
#include "tests/support/sample.h"

typedef struct line {
    const char *name;
    tally_op op;
    tally_dtype in;
    const char *x, *expected;
    const char *y;
    tally_dtype out, acc;
    tally_dtype result; /* the result's type if acc decides it */
    tally_accuracy accuracy;
    direct_param param;
} line;

#define LINE(name_, op_, in_, ...)                                                                                             \
    { .name = name_, .op = TALLY_##op_, .in = TALLY_##in_, __VA_ARGS__ }
static const line lines[] = {
#include "semantics_lines.h"
};

static tally_dtype result_type(const line *l) {
    return l->out ? l->out : l->result ? l->result : tally_result_dtype(l->op, l->in);
}

static int needs_f64(const line *l) {
    const tally_dtype types[] = {l->in, l->acc, result_type(l), tally_accumulator_dtype(l->op, l->in)};
    for (size_t i = 0; i < TALLY_ARRAY_LENGTH(types); i++)
        if (types[i] == TALLY_F64 || types[i] == TALLY_C128) return 1;
    return l->op == TALLY_ALLCLOSE && l->in != TALLY_F32; /* the tolerances of allclose are f64 */
}

static void run_line(tally_context *context, const line *l) {
    uint64_t x[2 * DIRECT_MAX_ITEMS], y[2 * DIRECT_MAX_ITEMS];
    unsigned char expected[2 * DIRECT_MAX_ITEMS * 8] = {0}, got[64];
    const uint64_t n = direct_parse(l->in, l->x, x);
    const tally_dtype type = result_type(l);
    const size_t bytes = tally_result_count(l->op, l->in) * tally_dtype_bytes(type);
    const tally_reduce_desc desc = {.op = l->op, .in = l->in, .out = l->out, .acc = l->acc, .accuracy = l->accuracy};
    const direct_param params[] = {l->param, {NULL, 0}};
    if (l->y) assert_int_equal(direct_parse(l->in, l->y, y), n);
    direct_parse(type, l->expected, expected);
    direct_reduce(context, &desc, params, (const void *const[]){x, y}, n, got);
    if (memcmp(got, expected, bytes) == 0) return;
    char text[64] = "";
    for (size_t i = bytes; i-- > 0;) snprintf(text + strlen(text), sizeof text - strlen(text), "%02x", got[i]);
    fail_msg("%s: %s of %s \"%s\"%s%s is 0x%s, should be %s", l->name, tally_op_name(l->op), tally_dtype_name(l->in), l->x,
             l->y ? " and " : "", l->y ? l->y : "", text, l->expected);
}

static void test_lines(void **state) {
    need_compiler(*state);
    size_t ran = 0;
    for (size_t i = 0; i < TALLY_ARRAY_LENGTH(lines); i++) {
        /* Lines of one program have one turn. */
        if (!sample_has_turn(lines[i].op + lines[i].in)) continue;
        if (needs_f64(&lines[i]) && !direct_has_f64(state)) continue;
        run_line(direct_context(state), &lines[i]);
        ran++;
    }
    assert_true(ran > (sample_parts() > 1 ? 30 : 100));
}

/* Every operator must have its lines in docs/semantics.md. */
static void test_every_op(void **state) {
    (void)state;
    for (tally_op op = TALLY_OP_NONE + 1; op < TALLY_OP_END; op++) {
        size_t count = 0;
        for (size_t i = 0; i < TALLY_ARRAY_LENGTH(lines); i++) count += lines[i].op == op;
        if (!count) fail_msg("%s has no line in semantics_lines.h", tally_op_name(op));
    }
}

/* ---- lines of several results ---------------------------------------------------------------- */

/* line: items-n, items-offset, items-kept, result-repeated. More than 2^32 items are in large.c. */
static void test_buffers(void **state) {
    tally_context *context = direct_context(state);
    enum { ITEMS = 10007 };
    static const tally_dtype types[] = {TALLY_I8, TALLY_F16, TALLY_F32, TALLY_C64};
    for (size_t t = 0; t < TALLY_ARRAY_LENGTH(types); t++) {
        const size_t bytes = tally_dtype_bytes(types[t]);
        const tally_reduce_desc desc = {.size = sizeof desc, .op = TALLY_SUM, .in = types[t], .max_n = ITEMS};
        unsigned char *items = malloc(ITEMS * bytes), *back = malloc(ITEMS * bytes), alone[16], got[2][16];
        tally_plan *plan;
        tally_queue *queue;
        tally_buffer *in, *out;
        pattern_fill(PATTERN_WIDE, types[t], items, ITEMS);
        MUST(tally_plan_create(context, &desc, &plan));
        const uint64_t result_bytes = tally_plan_result_bytes(plan);
        MUST(tally_queue_create(context, &queue));
        MUST(tally_buffer_create(context, ITEMS * bytes, &in));
        MUST(tally_buffer_create(context, sizeof got, &out));
        MUST(tally_buffer_write(queue, in, 0, items, ITEMS * bytes));
        for (uint64_t offset = 0; offset < 17; offset++) {
            for (int again = 0; again < 2; again++) {
                MUST(reduce_at(plan, queue, in, offset, ITEMS - 17, out, 0));
                MUST(tally_buffer_read(queue, out, 0, got[again], result_bytes));
                MUST(tally_queue_wait(queue));
            }
            direct_reduce(context, &desc, NULL, (const void *const[]){items + offset * bytes}, ITEMS - 17, alone);
            assert_memory_equal(got[0], alone, result_bytes);
            assert_memory_equal(got[0], got[1], result_bytes);
        }
        MUST(tally_buffer_read(queue, in, 0, back, ITEMS * bytes));
        MUST(tally_queue_wait(queue));
        assert_memory_equal(items, back, ITEMS * bytes);
        if (reduce_at(plan, queue, in, 0, ITEMS, in, 0) != TALLY_E_ARGUMENT || !strstr(tally_last_error(), "overlap"))
            fail_msg("a result on its items");
        tally_plan_destroy(plan);
        tally_buffer_destroy(in);
        tally_buffer_destroy(out);
        tally_queue_destroy(queue);
        free(items);
        free(back);
    }
}

/* line: logsumexp-bound. Large exponents do not overflow. Small ones are not lost. */
static void test_logsumexp(void **state) {
    tally_context *context = direct_context(state);
    static const struct {
        const char *x;
        double expected;
    } cases[] = {
        {"1000 1000", 1000.693147180559945}, {"-1000 -1000 -1000", -998.901387711331890}, {"0 1 2", 2.407605964444380}};
    for (size_t c = 0; c < TALLY_ARRAY_LENGTH(cases); c++) {
        uint64_t x[DIRECT_MAX_ITEMS];
        float got;
        const uint64_t n = direct_parse(TALLY_F32, cases[c].x, x);
        const tally_reduce_desc desc = {.op = TALLY_LOGSUMEXP, .in = TALLY_F32};
        direct_reduce(context, &desc, NULL, (const void *const[]){x}, n, &got);
        if (!(fabs(got - cases[c].expected) <= 0x1p-22 * fabs(cases[c].expected)))
            fail_msg("logsumexp of %s is %.9g, should be %.9g", cases[c].x, got, cases[c].expected);
    }
}

/* Expects the descriptor to be refused with this status and the word in the text. */
static void expect_refused(tally_context *context, tally_reduce_desc desc, tally_status status, const char *word) {
    tally_plan *plan = NULL;
    desc.size = sizeof desc;
    desc.max_n = 1;
    const tally_status got = tally_plan_create(context, &desc, &plan);
    if (got == status && !plan && strstr(tally_last_error(), word)) return;
    fail_msg("%s of %s, out %s, acc %s: %s: %s", tally_op_name(desc.op), tally_dtype_name(desc.in),
             desc.out ? tally_dtype_name(desc.out) : "-", desc.acc ? tally_dtype_name(desc.acc) : "-", tally_status_name(got),
             got ? tally_last_error() : "");
}

/* line: pairs-complex, pairs-bits. Exactly the ops and dtypes that do not go together are
 * refused. */
static void test_pairs(void **state) {
    tally_context *context = direct_context(state);
    for (tally_op op = TALLY_OP_NONE + 1; op < TALLY_OP_END; op++)
        for (tally_dtype in = TALLY_DTYPE_DEFAULT + 1; in < TALLY_DTYPE_END; in++) {
            const int taken = oracle_takes(&(oracle_case){.op = op, .in = in});
            assert_int_equal(tally_result_dtype(op, in) != TALLY_DTYPE_DEFAULT, taken);
            if (!taken) expect_refused(context, (tally_reduce_desc){.op = op, .in = in}, TALLY_E_UNSUPPORTED, "does not take");
        }
}

/* line: out-refused, acc-refused, compensated-ops */
static void test_refused(void **state) {
    tally_context *context = direct_context(state);
    static const struct {
        tally_op op;
        tally_dtype in, out;
    } out[] = {{TALLY_SUM, TALLY_F32, TALLY_I32},  {TALLY_SUM, TALLY_F32, TALLY_BOOL},   {TALLY_SUM, TALLY_F32, TALLY_C64},
               {TALLY_SUM, TALLY_C64, TALLY_F32},  {TALLY_SUM, TALLY_I32, TALLY_F16},    {TALLY_SUM, TALLY_I32, TALLY_BOOL},
               {TALLY_ANY, TALLY_F32, TALLY_F32},  {TALLY_ARGMIN, TALLY_F32, TALLY_U32}, {TALLY_ARGMIN, TALLY_F32, TALLY_F64},
               {TALLY_IAMAX, TALLY_I8, TALLY_I32}, {TALLY_NRM2, TALLY_C64, TALLY_C64},   {TALLY_MIN, TALLY_I8, TALLY_C64}};
    for (size_t i = 0; i < TALLY_ARRAY_LENGTH(out); i++)
        expect_refused(context, (tally_reduce_desc){.op = out[i].op, .in = out[i].in, .out = out[i].out}, TALLY_E_ARGUMENT,
                       "desc.out");
    static const struct {
        tally_dtype in, acc;
    } acc[] = {{TALLY_F64, TALLY_F32}, {TALLY_I32, TALLY_F64}, {TALLY_F32, TALLY_I64}, {TALLY_C128, TALLY_F32}};
    for (size_t i = 0; i < TALLY_ARRAY_LENGTH(acc); i++)
        expect_refused(context, (tally_reduce_desc){.op = TALLY_SUM, .in = acc[i].in, .acc = acc[i].acc}, TALLY_E_ARGUMENT,
                       "desc.acc");
    for (tally_op op = TALLY_OP_NONE + 1; op < TALLY_OP_END; op++) {
        const int has = oracle_takes(&(oracle_case){.op = op, .in = TALLY_F32, .accuracy = TALLY_ACCURACY_COMPENSATED});
        const tally_reduce_desc desc = {.op = op, .in = TALLY_F32, .accuracy = TALLY_ACCURACY_COMPENSATED};
        if (!has && tally_result_dtype(op, TALLY_F32)) expect_refused(context, desc, TALLY_E_UNSUPPORTED, "compensated");
    }
    static const tally_dtype others[] = {TALLY_I32, TALLY_C64};
    for (size_t i = 0; i < TALLY_ARRAY_LENGTH(others); i++)
        expect_refused(context, (tally_reduce_desc){.op = TALLY_SUM, .in = others[i], .accuracy = TALLY_ACCURACY_COMPENSATED},
                       TALLY_E_UNSUPPORTED, "compensated");
}

const device_test semantics_tests[] = {
    {"semantics: lines", test_lines},
    {"semantics: every op", test_every_op},
    {"semantics: buffers", test_buffers},
    {"semantics: logsumexp", test_logsumexp},
    {"semantics: pairs", test_pairs},
    {"semantics: refused", test_refused},
    {NULL, NULL},
};
