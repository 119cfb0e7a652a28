/* SPDX-License-Identifier: MIT */
/* Segments by axes with all that a plan may have besides its op: masks, initial results,
 * accumulators, parameters, several terms, custom ops. */
#include <stdlib.h>
#include <string.h>

#include "direct.h"
#include "oracle/items.h"
#include "oracle/patterns.h"
#include "segments_walk.h"
#include "tests/support/own_ops.h"
#include "tests/support/sample.h"

/* ---- masks and initial results --------------------------------------------------------------- */

static void test_where(void **state) {
    for (size_t s = 0; s < SEGMENTS_SAMPLES; s++) {
        const oracle_case *of = segments_sample(state, s);
        segments_run r;
        if (!of) continue;
        const tally_segments_desc desc = {.by = TALLY_BY_AXES, .op = of->op, .in = of->in, .flags = TALLY_WHERE};
        segments_open(&r, direct_context(state), &desc, NULL);
        for (segments_mask mask = 0; mask < MASK_KINDS; mask++) segments_expect_fixed(&r, mask, s, mask == MASK_RANDOM ? 1 : 5);
        segments_expect_random(&r, MASK_RANDOM, quick() ? 10 : 60);
        segments_close(&r);
    }
}

/* Every op has its own way to leave an item out, and some have another for truth values. */
static void test_where_ops(void **state) {
    static const tally_dtype types[] = {TALLY_F32, TALLY_U8, TALLY_BOOL};
    for (tally_op op = TALLY_OP_NONE + 1; op < TALLY_OP_END; op++)
        for (unsigned t = 0; t < TALLY_ARRAY_LENGTH(types); t++) {
            const tally_dtype in = types[t];
            const oracle_case of = {.op = op, .in = in};
            segments_run r;
            if (!segments_is_here(state, &of) || !sample_has_turn(op + t) || !cells_want_pair(op, in)) continue;
            const tally_segments_desc desc = {.by = TALLY_BY_AXES, .op = op, .in = in, .flags = TALLY_WHERE};
            segments_open(&r, direct_context(state), &desc, NULL);
            segments_expect_random(&r, MASK_RANDOM, quick() ? 10 : 40);
            segments_expect_random(&r, MASK_ZEROS, 3);
            segments_close(&r);
        }
}

/* Chunks whose pivot is no good, or is made of other items beside a mask; on every variant. But
 * POCL 3.1 with two threads gives a wrong var or std of masked f32 by `teams` now and then, for
 * whole groups; with one thread never, and oclgrind finds no race. CPUs have `blocks`. */
static void test_pivots(void **state) {
    static const oracle_case cases[] = {{.op = TALLY_VAR, .in = TALLY_F32},       {.op = TALLY_LOGSUMEXP, .in = TALLY_F32},
                                        {.op = TALLY_LOGSUMEXP, .in = TALLY_F64}, {.op = TALLY_STD, .in = TALLY_F16},
                                        {.op = TALLY_VAR, .in = TALLY_I64},       {.op = TALLY_LOGSUMEXP, .in = TALLY_I16}};
    static const int patterns[] = {PATTERN_WIDE,     PATTERN_SHIFTED,           PATTERN_NAN_FIRST,     PATTERN_NAN_LAST,
                                   PATTERN_INFINITE, PATTERN_NEGATIVE_INFINITE, PATTERN_BOTH_INFINITE, PATTERN_ALL_INFINITE,
                                   PATTERN_DENORMAL, PATTERN_MAGNITUDES,        PATTERN_BIG,           PATTERN_ONE_LAST};
    static const segments_shape shapes[] = {{2, {30, 33}, 2},  {2, {129, 40}, 1},  {2, {3, 4500}, 2},
                                            {2, {4500, 3}, 1}, {2, {200, 140}, 1}, {2, {9000, 2}, 3}};
    for (size_t v = 0; v < SEGMENTS_VARIANTS; v++)
        for (size_t c = 0; c < (quick() ? 2 : TALLY_ARRAY_LENGTH(cases)); c++)
            for (uint32_t flags = 0; flags <= TALLY_WHERE; flags += TALLY_WHERE) {
                segments_run r;
                const tally_segments_desc desc = {
                    .by = TALLY_BY_AXES, .op = cases[c].op, .in = cases[c].in, .flags = flags, .variant = segments_variants[v]};
                if (!has_turn(*state, c + v) || (flags && !v && segments_on_cpu(state))) continue;
                if (!segments_is_here(state, &cases[c]) || !segments_open(&r, direct_context(state), &desc, NULL)) continue;
                for (size_t p = 0; p < TALLY_ARRAY_LENGTH(patterns); p++)
                    for (size_t s = 0; s < TALLY_ARRAY_LENGTH(shapes); s++) {
                        segments_axes array = segments_array(&shapes[s], (p + s) % LAYOUTS, 0);
                        array.items.pattern = patterns[p];
                        segments_run_axes(&r, &array);
                    }
                segments_close(&r);
            }
}

/* A result that shows if it is forgotten or taken twice: small whole numbers, below 0 where a float
 * may have to become an unsigned integer, and truths that the op's identity is not. */
static void fill_initial(const oracle_case *of, unsigned char *initial) {
    const tally_dtype out = oracle_result_dtype(of);
    const size_t bytes = item_bytes_of(out), part = bytes / 2;
    const uint32_t count = (uint32_t)(oracle_result_bytes(of) / bytes);
    for (uint32_t k = 0; k < count; k++) {
        unsigned char *to = initial + k * bytes;
        switch (item_kind_of(out)) {
        case ITEM_COMPLEX:
            store_float(out, 3, to);
            store_float(out, -2, to + part);
            break;
        case ITEM_FLOAT:
            store_float(out, of->out ? -3 : 3 + 2.0 * k, to);
            break;
        default:
            store_integer(out, out == TALLY_BOOL ? of->op != TALLY_ALL && of->op != TALLY_ALLCLOSE : 5 + k, to);
            break;
        }
    }
}

static int has_initial(const oracle_case *of) {
    switch (of->op) {
    case TALLY_MEAN:
    case TALLY_VAR:
    case TALLY_STD:
    case TALLY_ARGMIN:
    case TALLY_ARGMAX:
    case TALLY_IAMAX:
        return 0;
    case TALLY_NRM2:
        return item_kind_of(of->in) == ITEM_FLOAT || item_kind_of(of->in) == ITEM_COMPLEX;
    default:
        return 1;
    }
}

/* The initial value is read when the plan is created, and not later. */
static void expect_initial(void **state, const oracle_case *of, uint32_t flags) {
    unsigned char initial[32], given[32];
    tally_segments_desc desc = {.by = TALLY_BY_AXES,
                                .op = of->op,
                                .in = of->in,
                                .out = of->out,
                                .acc = of->acc,
                                .accuracy = of->accuracy,
                                .flags = flags};
    segments_run r;
    fill_initial(of, initial);
    memcpy(given, initial, sizeof given);
    desc.initial = given;
    segments_open(&r, direct_context(state), &desc, NULL);
    memset(given, 0x3b, sizeof given);
    r.values[0].of.initial = initial;
    if (r.value_count > 1) r.values[1].of.initial = initial;
    segments_expect_random(&r, MASK_RANDOM, quick() ? 10 : 30);
    segments_expect_fixed(&r, MASK_RANDOM, of->op + of->in, 7);
    segments_close(&r);
}

static void test_initial(void **state) {
    static const tally_dtype types[] = {TALLY_F32, TALLY_I16, TALLY_BOOL, TALLY_C64, TALLY_F16, TALLY_U32};
    for (tally_op op = TALLY_OP_NONE + 1; op < TALLY_OP_END; op++)
        for (size_t t = 0; t < TALLY_ARRAY_LENGTH(types); t++) {
            const oracle_case of = {.op = op, .in = types[t]};
            if (!segments_is_here(state, &of) || !has_initial(&of) || !sample_has_turn(op + t)) continue;
            if (cells_want_pair(op, types[t]) && (!has_compiler(*state) || full() || (op + t) % 3 == 0))
                expect_initial(state, &of, t % 2 ? TALLY_WHERE : 0);
        }
}

/* Tells whether a device has a case's types and accuracy. `host` has the op's own types, and
 * compensated of f32 and f64. */
static int has_level(const place *at, const oracle_case *of) {
    return has_compiler(at) || (!of->acc && !of->out && (!of->accuracy || of->in == TALLY_F32 || of->in == TALLY_F64));
}

static void test_initial_levels(void **state) {
    static const oracle_case cases[] = {{.op = TALLY_SUM, .in = TALLY_F32, .accuracy = TALLY_ACCURACY_COMPENSATED},
                                        {.op = TALLY_DOT, .in = TALLY_F32, .accuracy = TALLY_ACCURACY_COMPENSATED},
                                        {.op = TALLY_NRM2, .in = TALLY_C64, .acc = TALLY_F64},
                                        {.op = TALLY_SUM, .in = TALLY_F16, .acc = TALLY_F64},
                                        {.op = TALLY_SUM, .in = TALLY_I16, .out = TALLY_F64}};
    for (size_t c = 0; c < TALLY_ARRAY_LENGTH(cases); c++)
        if (has_level(*state, &cases[c]) && has_turn(*state, c) && segments_is_here(state, &cases[c]))
            expect_initial(state, &cases[c], 0);
}

/* Accumulators and accuracies other than the default, and types of results. */
static void test_accumulators(void **state) {
    static const oracle_case cases[] = {
        {.op = TALLY_SUM, .in = TALLY_F32, .acc = TALLY_F64},
        {.op = TALLY_PROD, .in = TALLY_C64, .acc = TALLY_F64},
        {.op = TALLY_SUM, .in = TALLY_F32, .accuracy = TALLY_ACCURACY_COMPENSATED},
        {.op = TALLY_MEAN, .in = TALLY_BF16, .accuracy = TALLY_ACCURACY_COMPENSATED},
        {.op = TALLY_DOT, .in = TALLY_F64, .accuracy = TALLY_ACCURACY_COMPENSATED},
        {.op = TALLY_SUM, .in = TALLY_F16, .out = TALLY_F16},
        {.op = TALLY_SUM, .in = TALLY_I8, .out = TALLY_I8},
        {.op = TALLY_SUM, .in = TALLY_U32, .out = TALLY_F32},
    };
    for (size_t c = 0; c < TALLY_ARRAY_LENGTH(cases); c++) {
        const oracle_case *of = &cases[c];
        const tally_segments_desc desc = {.op = of->op,
                                          .in = of->in,
                                          .acc = of->acc,
                                          .accuracy = of->accuracy,
                                          .out = of->out,
                                          .flags = c % 2 ? TALLY_WHERE : 0};
        if (has_level(*state, of) && has_turn(*state, c) && segments_is_here(state, of) && (!quick() || c % 3 == 0))
            segments_expect_desc(state, &desc, NULL, MASK_RANDOM);
    }
}

/* line: params. */
static void test_params(void **state) {
    static const double ddof[] = {1, 0}, loose[] = {0.25, 0.5};
    static const struct {
        tally_op op;
        tally_dtype in;
        const double *params;
        uint32_t flags;
    } cases[] = {{TALLY_VAR, TALLY_F32, ddof, 0},
                 {TALLY_STD, TALLY_U8, ddof, TALLY_WHERE},
                 {TALLY_VAR, TALLY_I64, ddof, TALLY_WHERE},
                 {TALLY_ALLCLOSE, TALLY_F32, loose, 0}};
    for (size_t c = 0; c < TALLY_ARRAY_LENGTH(cases); c++) {
        const tally_segments_desc desc = {.op = cases[c].op, .in = cases[c].in, .flags = cases[c].flags};
        const segments_also also = {.params = cases[c].params};
        const oracle_case of = {.op = desc.op, .in = desc.in};
        if (segments_is_here(state, &of) && has_turn(*state, c)) segments_expect_desc(state, &desc, &also, MASK_RANDOM);
    }
}

/* ---- several terms, and custom ops ----------------------------------------------------- */

#define OP(op_)                                                                                                                \
    { .op = TALLY_##op_ }

/* Results in one struct, and each in an array of its own. */
static void test_terms(void **state) {
    static const tally_term_desc few[] = {OP(MIN), OP(MAX), OP(MEAN), OP(STD)}, gaps[] = {OP(MINMAX), OP(SUM), OP(ANY)};
    static const tally_term_desc pairs[] = {OP(DOT), OP(DIST2), OP(ALLCLOSE)}, complex[] = {OP(SUM), OP(NRM2)};
    static const struct {
        tally_dtype in;
        uint32_t count;
        const tally_term_desc *terms;
    } fused[] = {{TALLY_F32, 4, few}, {TALLY_I8, 3, gaps}, {TALLY_F32, 3, pairs}, {TALLY_C64, 2, complex}};
    for (size_t f = 0; f < TALLY_ARRAY_LENGTH(fused); f++)
        for (uint32_t form = 0; form < 4; form++) {
            const tally_segments_desc desc = {.in = fused[f].in,
                                              .terms = fused[f].terms,
                                              .term_count = fused[f].count,
                                              .flags = (form & 1 ? TALLY_APART : 0) | (form & 2 ? TALLY_WHERE : 0)};
            if (!has_turn(*state, f + form) || (quick() && f > 1)) continue;
            if (form < 2 || f == 0 || full()) segments_expect_desc(state, &desc, NULL, MASK_RANDOM);
        }
}

static void test_terms_initial(void **state) {
    static const tally_term_desc terms[] = {OP(MINMAX), OP(SUM), OP(ALL)};
    struct {
        int8_t low, high;
        int64_t sum;
        uint8_t all;
    } initial;
    memset(&initial, 0, sizeof initial);
    initial.low = -3, initial.high = 4, initial.sum = -1000, initial.all = 1;
    tally_segments_desc desc = {.in = TALLY_I8, .terms = terms, .term_count = 3, .initial = &initial};
    segments_expect_desc(state, &desc, NULL, MASK_ONES);
    desc.flags = TALLY_APART | TALLY_WHERE;
    segments_expect_desc(state, &desc, NULL, MASK_RANDOM);
}

/* A plain op, one with a parameter's place for a field, and one with fields and two results, each
 * with the values of built-in ops. */
static void test_own(void **state) {
    need_compiler(*state);
    static const tally_op_desc plain = {.name = "plain", .identity = "-0.0f", .load = "x", .combine = "a + b", .empty = "0"};
    static const oracle_case sum = {.op = TALLY_SUM, .in = TALLY_F32};
    static const oracle_case twofold = {.op = TALLY_SUM, .in = TALLY_F32, .accuracy = TALLY_ACCURACY_COMPENSATED};
    static const struct {
        const tally_op_desc *op;
        const oracle_case *of;
    } cases[] = {{&plain, &sum}, {&own_twofold, &twofold}};
    for (size_t c = 0; c < TALLY_ARRAY_LENGTH(cases); c++)
        for (uint32_t flags = 0; flags <= TALLY_WHERE; flags += TALLY_WHERE) {
            tally_custom_op *op = direct_op(cases[c].op);
            const segments_also also = {.own = cases[c].of, .own_count = 1};
            segments_expect_desc(state, &(tally_segments_desc){.custom = op, .in = TALLY_F32, .flags = flags}, &also,
                                 MASK_RANDOM);
            tally_op_destroy(op);
        }
}

/* The initial result is on the left: of an op that keeps its right side unless that is 0, it is
 * the value of rows of zeros alone. Every third row is one, others have one item that is not 0. */
static void expect_left(tally_context *context, tally_custom_op *op, uint64_t n) {
    enum { ROWS = 64 };
    static const int64_t initial = -5;
    const tally_axis axes[] = {{.extent = ROWS, .in_stride = {(int64_t)n}}, {.extent = n, .reduced = 1, .in_stride = {1}}};
    const tally_segments_desc desc = {.size = sizeof desc, .custom = op, .in = TALLY_I32, .initial = &initial};
    int32_t *items = calloc(ROWS * n, sizeof *items);
    int64_t values[ROWS];
    assert_non_null(items);
    for (uint64_t r = 0; r < ROWS; r++) items[r * n + r * 37 % n] = r % 3 ? (int32_t)r : 0;
    const tally_host_axes array = {.size = sizeof array, .axes = axes, .axis_count = 2, .in = {items}, .out = {values}};
    MUST(tally_reduce_host_axes(context, &desc, &array));
    for (int r = 0; r < ROWS; r++)
        if (values[r] != (r % 3 ? r : initial))
            fail_msg("row %d of %llu items gives %lld", r, (unsigned long long)n, (long long)values[r]);
    free(items);
}

static void test_initial_left(void **state) {
    need_compiler(*state);
    static const uint64_t lengths[] = {1, 3, 33, 200, 4096, 9000};
    static const tally_op_desc last = {.name = "last", .identity = "0", .load = "x", .combine = "b != 0 ? b : a"};
    tally_custom_op *op = direct_op(&last);
    for (size_t l = 0; l < TALLY_ARRAY_LENGTH(lengths); l++) expect_left(direct_context(state), op, lengths[l]);
    tally_op_destroy(op);
}

/* The smallest item and its place: argmin and min agree with it where items are not empty. Beside a
 * built-in op. */
static void test_own_fields(void **state) {
    need_compiler(*state);
    static const oracle_case least[] = {{.op = TALLY_MIN, .in = TALLY_F32}, {.op = TALLY_ARGMIN, .in = TALLY_F32}};
    static const segments_shape shapes[] = {{2, {50, 31}, 2}, {2, {300, 40}, 1}, {3, {3, 5000, 2}, 2}};
    tally_custom_op *op = direct_op(&own_least);
    const tally_term_desc terms[] = {{.custom = op}, OP(SUM)};
    const segments_also also = {.own = least, .own_count = 2};
    for (uint32_t flags = 0; flags <= TALLY_APART; flags += TALLY_APART) {
        segments_run r;
        const tally_segments_desc desc = {
            .by = TALLY_BY_AXES, .in = TALLY_F32, .terms = terms, .term_count = 2, .flags = flags};
        segments_open(&r, direct_context(state), &desc, &also);
        for (size_t s = 0; s < TALLY_ARRAY_LENGTH(shapes); s++)
            for (segments_layout layout = 0; layout < LAYOUTS; layout++) {
                segments_axes c = segments_array(&shapes[s], layout, s % 2);
                c.items.pattern = layout % 2 ? PATTERN_WIDE : PATTERN_DUPLICATES;
                segments_run_axes(&r, &c);
            }
        segments_close(&r);
    }
    tally_op_destroy(op);
}

const device_test segments_form_tests[] = {
    {"segments: where", test_where},
    {"segments: where of every op", test_where_ops},
    {"segments: pivots", test_pivots},
    {"segments: initial", test_initial},
    {"segments: initial at other levels", test_initial_levels},
    {"segments: initial on the left", test_initial_left},
    {"segments: accumulators", test_accumulators},
    {"segments: parameters", test_params},
    {"segments: several terms", test_terms},
    {"segments: several terms, initial", test_terms_initial},
    {"segments: custom ops", test_own},
    {"segments: custom fields", test_own_fields},
    {NULL, NULL},
};
