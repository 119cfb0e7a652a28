/* SPDX-License-Identifier: MIT */
/*
 * Parts: however an input is cut, and in whatever association the records are joined, the value has
 * the bits of one reduction of all items. The records of a part made in device memory and in host
 * memory are the same bytes, and so are those of the same items joined in different orders.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "direct.h"
#include "oracle/oracle.h"
#include "oracle/patterns.h"
#include "tests/support/own_ops.h"
#include "tests/support/sample.h"
#include "tests/support/test_main.h"

#define MAX_N UINT64_C(70001)
#define MOST_PARTS 16
#define MAX_RESULT 512
#define MAX_INPUTS 2

/* An input, and what it is reduced with. */
typedef struct whole {
    tally_context *context;
    tally_reduce_desc desc;
    tally_plan *plan;
    tally_queue *queue;
    tally_buffer *in[MAX_INPUTS], *out;
    char *items[MAX_INPUTS];
    uint32_t inputs;
    uint64_t bound; /* bytes of any record */
    int by_host;    /* the records are joined without a plan */
    uint64_t random;
} whole;

static uint64_t draw(whole *w, uint64_t below) {
    w->random = w->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (w->random >> 33) % below;
}

static void whole_open(whole *w, tally_context *context, const tally_reduce_desc *desc, uint32_t inputs, int pattern) {
    const tally_op op = desc->op ? desc->op : desc->term_count ? desc->terms[0].op : TALLY_SUM;
    *w = (whole){.context = context, .desc = *desc, .inputs = inputs, .by_host = 1, .random = 7};
    w->desc.size = sizeof w->desc;
    w->desc.max_n = MAX_N;
    MUST(tally_plan_create(context, &w->desc, &w->plan));
    MUST(tally_queue_create(context, &w->queue));
    MUST(tally_part_bound(&w->desc, 0, 0, &w->bound));
    MUST(tally_buffer_create(context, w->bound + 64, &w->out));
    const uint64_t bytes = tally_dtype_bytes(desc->in) * (MAX_N + 1);
    for (uint32_t k = 0; k < inputs; k++) assert_non_null(w->items[k] = malloc(bytes));
    pattern_fill(pattern, desc->in, w->items[0], MAX_N + 1);
    if (inputs > 1) pattern_fill_second(pattern, op, desc->in, w->items[0], w->items[1], MAX_N + 1);
    for (uint32_t k = 0; k < inputs; k++) {
        MUST(tally_buffer_create(context, bytes, &w->in[k]));
        MUST(tally_buffer_write(w->queue, w->in[k], 0, w->items[k], bytes));
    }
    MUST(tally_queue_wait(w->queue));
}

static void whole_close(whole *w) {
    for (uint32_t k = 0; k < w->inputs; k++) {
        tally_buffer_destroy(w->in[k]);
        free(w->items[k]);
    }
    tally_buffer_destroy(w->out);
    tally_queue_destroy(w->queue);
    tally_plan_destroy(w->plan);
}

/* One record. */
typedef struct record {
    unsigned char *at;
    uint64_t bytes;
} record;

/* Reduces items [first, first + n) in device memory, to a record at an odd place of a buffer. */
static record part_of_device(whole *w, uint64_t first, uint64_t n, uint64_t total) {
    record r;
    tally_part_args args = {
        .size = sizeof args, .first = first, .n = n, .total = total, .out = w->out, .out_offset = 8 * draw(w, 8)};
    for (uint32_t k = 0; k < w->inputs; k++) {
        args.in[k] = w->in[k];
        args.in_offset[k] = first;
    }
    MUST(tally_part_bytes(&w->desc, first, n, total, &r.bytes));
    assert_non_null(r.at = malloc(w->bound));
    MUST(tally_reduce_part(w->plan, w->queue, &args));
    MUST(tally_buffer_read(w->queue, w->out, args.out_offset, r.at, r.bytes));
    MUST(tally_queue_wait(w->queue));
    MUST(tally_part_check(r.at, r.bytes));
    return r;
}

static record part_of_host(whole *w, uint64_t first, uint64_t n, uint64_t total) {
    record r = {.bytes = 0};
    assert_non_null(r.at = malloc(w->bound));
    tally_part_host_args args = {
        .size = sizeof args, .first = first, .n = n, .total = total, .out = r.at, .out_bytes = w->bound};
    for (uint32_t k = 0; k < w->inputs; k++) args.items[k] = w->items[k] + first * tally_dtype_bytes(w->desc.in);
    MUST(tally_reduce_part_host(w->plan, &args, &r.bytes));
    return r;
}

static tally_plan *joiner(const whole *w) {
    return w->by_host ? NULL : w->plan;
}

/* Joins `count` records from left to right, into the memory of the first. */
static record join(const whole *w, const record *records, uint32_t count) {
    const void *parts[MOST_PARTS];
    uint64_t bytes[MOST_PARTS];
    record r = {.at = records[0].at};
    for (uint32_t i = 0; i < count; i++) {
        parts[i] = records[i].at;
        bytes[i] = records[i].bytes;
    }
    MUST(tally_part_join(joiner(w), parts, bytes, count, r.at, w->bound, &r.bytes));
    return r;
}

/* Cuts n items into parts: as shares, or anywhere, with short and empty parts. */
static void cut(whole *w, uint64_t n, uint32_t count, int aligned, uint64_t *cuts) {
    for (uint32_t i = 0; i < count; i++) {
        uint64_t items;
        if (aligned) {
            MUST(tally_share(n, count, i, &cuts[i], &items));
            continue;
        }
        const uint64_t kind = draw(w, 4);
        cuts[i] = kind == 0 && i ? cuts[i - 1] : kind == 1 && i ? cuts[i - 1] + draw(w, 100) : draw(w, n + 1);
        if (cuts[i] > n || !i) cuts[i] = i ? n : 0;
    }
    cuts[count] = n;
    for (uint32_t i = 1; i < count; i++) /* sorted */
        for (uint32_t j = i; j > 1 && cuts[j] < cuts[j - 1]; j--) {
            const uint64_t swapped = cuts[j];
            cuts[j] = cuts[j - 1];
            cuts[j - 1] = swapped;
        }
}

/* Joins records in a random association, and at once, and gives the value. */
static void join_and_finish(whole *w, record *records, uint32_t count, void *result, const char *what) {
    record copies[MOST_PARTS];
    for (uint32_t i = 0; i < count; i++) {
        copies[i].bytes = records[i].bytes;
        assert_non_null(copies[i].at = malloc(w->bound));
        memcpy(copies[i].at, records[i].at, records[i].bytes);
    }
    for (uint32_t left = count; left > 1; left--) {
        const uint32_t i = (uint32_t)draw(w, left - 1);
        records[i] = join(w, &records[i], 2);
        free(records[i + 1].at);
        memmove(&records[i + 1], &records[i + 2], (left - i - 2) * sizeof(records[0]));
    }
    const record all = join(w, copies, count);
    if (all.bytes != records[0].bytes || memcmp(all.at, records[0].at, all.bytes) != 0)
        fail_msg("%s: joined one by one and at once, the records differ", what);
    MUST(tally_part_value(joiner(w), all.at, all.bytes, result));
    free(records[0].at);
    for (uint32_t i = 0; i < count; i++) free(copies[i].at);
}

/* Reduces the first n items in `count` parts. */
static void reduce_parts(whole *w, uint64_t n, uint32_t count, int form, void *result, const char *what) {
    const int aligned = form & 1, open = form & 2, by_device = form & 4;
    uint64_t cuts[MOST_PARTS + 1];
    record records[MOST_PARTS];
    cut(w, n, count, aligned, cuts);
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t items = cuts[i + 1] - cuts[i], total = open ? 0 : n;
        records[i] = by_device ? part_of_device(w, cuts[i], items, total) : part_of_host(w, cuts[i], items, total);
        const record other = by_device ? part_of_host(w, cuts[i], items, total) : part_of_device(w, cuts[i], items, total);
        if (i % 4 == 0 && (other.bytes != records[i].bytes || memcmp(other.at, records[i].at, other.bytes) != 0))
            fail_msg("%s: the record of items %llu to %llu differs between device and host", what, (unsigned long long)cuts[i],
                     (unsigned long long)cuts[i + 1]);
        free(other.at);
    }
    join_and_finish(w, records, count, result, what);
}

/* Reduces all of the first n items by one call. */
static void reduce_whole(whole *w, uint64_t n, unsigned char *result) {
    const uint64_t bytes = tally_plan_result_bytes(w->plan);
    tally_reduce_args args = {.size = sizeof args, .n = n, .out = w->out};
    for (uint32_t k = 0; k < w->inputs; k++) args.in[k] = w->in[k];
    assert_true(bytes <= MAX_RESULT);
    MUST(tally_reduce_with(w->plan, w->queue, &args));
    MUST(tally_buffer_read(w->queue, w->out, 0, result, bytes));
    MUST(tally_queue_wait(w->queue));
}

static void check(whole *w, uint64_t n, uint32_t count, int form, const char *what) {
    unsigned char expected[MAX_RESULT], result[MAX_RESULT];
    const uint64_t bytes = tally_plan_result_bytes(w->plan);
    char where[160];
    snprintf(where, sizeof where, "%s, %llu items in %u %s parts, %s end", what, (unsigned long long)n, count,
             form & 1 ? "aligned" : "any", form & 2 ? "an open" : "a known");
    memset(result, 0xee, sizeof result);
    reduce_whole(w, n, expected);
    reduce_parts(w, n, count, form, result, where);
    if (memcmp(result, expected, bytes) == 0) return;
    for (uint64_t i = 0; i < bytes; i++)
        if (result[i] != expected[i])
            fail_msg("%s: byte %llu of %llu of the value is 0x%02x, should be 0x%02x", where, (unsigned long long)i,
                     (unsigned long long)bytes, result[i], expected[i]);
}

/* Checks several lengths and cuts. Each takes every form in turn. */
static void check_all(whole *w, int turn, const char *what) {
    static const uint64_t lengths[] = {MAX_N, 0, 1, 4095, 4096, 8192, 12289, 40960, 65536};
    const int steps = quick() ? 4 : 18;
    for (int i = 0; i < steps; i++) {
        const size_t l = (size_t)(i ? i + turn : 0) % TALLY_ARRAY_LENGTH(lengths);
        check(w, lengths[l], 1 + (uint32_t)draw(w, MOST_PARTS), i + turn, what);
    }
}

static void test_part_ops(void **state) {
    const place *at = *state;
    tally_context *context = direct_context(state);
    int turn = 0;
    for (tally_op op = TALLY_OP_NONE + 1; op < TALLY_OP_END; op++)
        for (tally_dtype in = TALLY_DTYPE_DEFAULT + 1; in < TALLY_DTYPE_END; in++) {
            const oracle_case of = {.op = op, .in = in};
            if (!cells_want_pair(op, in) || cells_lack_f64(&of, &at->info)) continue;
            const tally_reduce_desc desc = {.op = op, .in = in};
            char what[64];
            whole w;
            snprintf(what, sizeof what, "%s of %s", tally_op_name(op), tally_dtype_name(in));
            whole_open(&w, context, &desc, oracle_inputs(op), op == TALLY_PROD ? PATTERN_NEAR_ONE : PATTERN_WIDE);
            check_all(&w, turn++, what);
            whole_close(&w);
        }
}

/* Special values in any part: a NaN, infinities, signed zeros. */
static void test_part_patterns(void **state) {
    static const tally_op ops[] = {TALLY_MIN, TALLY_ARGMAX, TALLY_SUM, TALLY_VAR, TALLY_LOGSUMEXP};
    tally_context *context = direct_context(state);
    for (size_t o = 0; o < TALLY_ARRAY_LENGTH(ops); o++)
        for (int pattern = 0; pattern < PATTERNS; pattern += quick() ? 5 : 1) {
            const tally_reduce_desc desc = {.op = ops[o], .in = TALLY_F32};
            unsigned char expected[MAX_RESULT], result[MAX_RESULT];
            uint64_t cuts[4];
            record records[3];
            whole w;
            whole_open(&w, context, &desc, 1, pattern);
            reduce_whole(&w, MAX_N, expected);
            cut(&w, MAX_N, 3, 0, cuts);
            for (uint32_t i = 0; i < 3; i++) records[i] = part_of_device(&w, cuts[i], cuts[i + 1] - cuts[i], MAX_N);
            join_and_finish(&w, records, 3, result, pattern_name(pattern));
            direct_expect_bits(result, expected, tally_plan_result_bytes(w.plan), pattern_name(pattern), MAX_N);
            whole_close(&w);
        }
}

/* Several ops, with results of other types, and of two inputs. */
static void test_part_fused(void **state) {
    static const tally_term_desc mixed[] = {
        {.op = TALLY_MIN, .out = TALLY_F16},  {.op = TALLY_ARGMAX}, {.op = TALLY_VAR},      {.op = TALLY_ANY, .out = TALLY_I32},
        {.op = TALLY_SUM, .out = TALLY_BF16}, {.op = TALLY_NRM2},   {.op = TALLY_LOGSUMEXP}};
    static const tally_term_desc narrow[] = {{.op = TALLY_SUM, .out = TALLY_F32},
                                             {.op = TALLY_MIN, .out = TALLY_I64},
                                             {.op = TALLY_IAMAX, .out = TALLY_I64},
                                             {.op = TALLY_AMAX, .out = TALLY_U32},
                                             {.op = TALLY_ANY}};
    static const tally_term_desc pairs[] = {{.op = TALLY_DOT}, {.op = TALLY_ALLCLOSE}, {.op = TALLY_DIST2}};
    static const tally_term_desc complexes[] = {{.op = TALLY_SUM}, {.op = TALLY_MEAN}, {.op = TALLY_NRM2}};
    static const tally_reduce_desc descs[] = {{.in = TALLY_F32, .terms = mixed, .term_count = 7},
                                              {.in = TALLY_I8, .terms = narrow, .term_count = 5},
                                              {.in = TALLY_F32, .terms = pairs, .term_count = 3},
                                              {.in = TALLY_C64, .terms = complexes, .term_count = 3}};
    tally_context *context = direct_context(state);
    /* The backend host has no results of other types. */
    for (size_t d = !has_compiler(*state) ? 2 : 0; d < TALLY_ARRAY_LENGTH(descs); d++) {
        whole w;
        whole_open(&w, context, &descs[d], d == 2 ? 2 : 1, PATTERN_WIDE);
        check_all(&w, (int)d, "fused");
        whole_close(&w);
    }
}

/* Every canonical variant: its groups' shapes divide the nodes in ways of their own. */
static void test_part_variants(void **state) {
    static const tally_reduce_desc descs[] = {{.op = TALLY_SUM, .in = TALLY_F32, .group_threads = 64},
                                              {.op = TALLY_ARGMAX, .in = TALLY_I8},
                                              {.op = TALLY_VAR, .in = TALLY_F32}};
    tally_context *context = direct_context(state);
    for (size_t v = 0; v < tally_variant_count(); v++)
        for (size_t d = 0; d < TALLY_ARRAY_LENGTH(descs); d++) {
            tally_variant_info info;
            tally_plan *plan;
            whole w;
            tally_reduce_desc desc = descs[d];
            MUST(tally_variant_get(v, &info));
            desc.size = sizeof desc;
            desc.variant = info.name;
            desc.max_n = MAX_N;
            if (info.group_threads == 1) desc.group_threads = 0;
            if (!info.canonical || tally_plan_create(context, &desc, &plan)) continue;
            tally_plan_destroy(plan);
            whole_open(&w, context, &desc, 1, PATTERN_WIDE);
            check_all(&w, (int)d, info.name);
            whole_close(&w);
        }
}

/* A parameter goes with the record: ddof is applied by the value, wherever that is computed. */
static void test_part_params(void **state) {
    const tally_reduce_desc var = {.op = TALLY_VAR, .in = TALLY_F32}, close = {.op = TALLY_ALLCLOSE, .in = TALLY_F32};
    tally_context *context = direct_context(state);
    whole w;
    whole_open(&w, context, &var, 1, PATTERN_WIDE);
    MUST(tally_plan_set_param(w.plan, "ddof", 1));
    check_all(&w, 0, "var with ddof 1");
    const record one = part_of_host(&w, 0, 5000, 0);
    MUST(tally_plan_set_param(w.plan, "ddof", 2));
    const record two = part_of_host(&w, 5000, 5000, 0);
    uint64_t bytes = 0;
    const tally_status status =
        tally_part_join(NULL, (const void *[]){one.at, two.at}, (uint64_t[]){one.bytes, two.bytes}, 2, one.at, w.bound, &bytes);
    assert_int_equal(status, TALLY_E_ARGUMENT);
    assert_non_null(strstr(tally_last_error(), "other parameters"));
    free(one.at);
    free(two.at);
    whole_close(&w);
    whole_open(&w, context, &close, 2, PATTERN_WIDE);
    MUST(tally_plan_set_param(w.plan, "rtol", 0.5));
    check_all(&w, 1, "allclose with rtol 0.5");
    whole_close(&w);
}

/* Maps y -> m y + c modulo 2^32, one after the other: left and right matter. */
static const tally_op_field map_fields[] = {
    {.name = "m", .type = TALLY_U32, .identity = "1u", .load = "2u * (u32)i + 3u", .combine = "a.m * b.m"},
    {.name = "c", .type = TALLY_U32, .identity = "0u", .load = "x > 0 ? 5u : (u32)i", .combine = "a.c * b.m + b.c"}};
static const tally_op_desc maps = {
    .size = sizeof maps, .name = "maps", .fields = map_fields, .field_count = 2, .finish = "a.m ^ a.c", .out = TALLY_U32};

/* Custom ops: their plan joins them. */
static void test_part_own(void **state) {
    static const tally_op_desc *const own[] = {&own_least, &own_twofold, &maps};
    tally_context *context = direct_context(state);
    need_compiler(*state);
    for (size_t i = 0; i < TALLY_ARRAY_LENGTH(own); i++) {
        unsigned char result[MAX_RESULT];
        whole w;
        const tally_reduce_desc desc = {.in = TALLY_F32, .custom = direct_op(own[i])};
        whole_open(&w, context, &desc, 1, PATTERN_WIDE);
        w.by_host = 0;
        check_all(&w, (int)i, "an own operator");
        const record r = part_of_device(&w, 0, 4096, 0);
        assert_int_equal(tally_part_value(NULL, r.at, r.bytes, result), TALLY_E_ARGUMENT);
        assert_non_null(strstr(tally_last_error(), "a plan of it is needed"));
        free(r.at);
        whole_close(&w);
        tally_op_destroy(desc.custom);
    }
}

/* Accumulators and levels that are not the op's own: the host joins them too. */
static void test_part_levels(void **state) {
    static const tally_term_desc mixed[] = {{.op = TALLY_SUM, .acc = TALLY_F64, .out = TALLY_BF16},
                                            {.op = TALLY_ARGMIN},
                                            {.op = TALLY_MEAN, .accuracy = TALLY_ACCURACY_COMPENSATED},
                                            {.op = TALLY_MINMAX, .acc = TALLY_F64}};
    static const tally_reduce_desc descs[] = {
        {.op = TALLY_SUM, .in = TALLY_F32, .accuracy = TALLY_ACCURACY_COMPENSATED},
        {.op = TALLY_DOT, .in = TALLY_F16, .accuracy = TALLY_ACCURACY_COMPENSATED},
        {.op = TALLY_VAR, .in = TALLY_F32, .acc = TALLY_F64},
        {.op = TALLY_LOGSUMEXP, .in = TALLY_F32, .acc = TALLY_F64, .out = TALLY_F32},
        {.op = TALLY_SUM, .in = TALLY_F16, .acc = TALLY_F64, .out = TALLY_F16},
        {.op = TALLY_NRM2, .in = TALLY_C64, .acc = TALLY_F64},
        {.op = TALLY_SUM, .in = TALLY_C64, .acc = TALLY_F64, .out = TALLY_C64},
        {.op = TALLY_SUMSQ, .in = TALLY_F64, .accuracy = TALLY_ACCURACY_COMPENSATED},
        {.op = TALLY_DOT, .in = TALLY_F32, .acc = TALLY_F64, .accuracy = TALLY_ACCURACY_COMPENSATED},
        {.op = TALLY_ALLCLOSE, .in = TALLY_F32, .acc = TALLY_F64},
        {.in = TALLY_F32, .terms = mixed, .term_count = 4}};
    tally_context *context = direct_context(state);
    need_compiler(*state);
    for (size_t i = 0; i < TALLY_ARRAY_LENGTH(descs); i++) {
        const uint32_t inputs = descs[i].op ? oracle_inputs(descs[i].op) : 1;
        whole w;
        if (i > 1 && !direct_has_f64(state)) continue;
        whole_open(&w, context, &descs[i], inputs, PATTERN_WIDE);
        check_all(&w, (int)i, descs[i].op ? tally_op_name(descs[i].op) : "mixed levels");
        whole_close(&w);
    }
}

/* Every op whose items are floats, with accumulators of f64. */
static void test_part_wide(void **state) {
    static const tally_dtype types[] = {TALLY_F32, TALLY_F16, TALLY_BF16, TALLY_C64};
    tally_context *context = direct_context(state);
    need_compiler(*state);
    if (!direct_has_f64(state)) test_skip("the device has no f64");
    int turn = 0;
    for (tally_op op = TALLY_OP_NONE + 1; op < TALLY_OP_END; op++)
        for (size_t t = 0; t < TALLY_ARRAY_LENGTH(types); t++) {
            const tally_reduce_desc desc = {.op = op, .in = types[t], .acc = TALLY_F64};
            whole w;
            if (!tally_result_dtype(op, types[t]) || !sample_has((uint64_t)++turn, quick() || sample_parts() > 1 ? 11 : 3))
                continue;
            whole_open(&w, context, &desc, oracle_inputs(op), op == TALLY_PROD ? PATTERN_NEAR_ONE : PATTERN_WIDE);
            check_all(&w, turn, tally_op_name(op));
            whole_close(&w);
        }
}

const device_test part_tests[] = {{"part: every op and type in parts", test_part_ops},
                                  {"part: special values in parts", test_part_patterns},
                                  {"part: several ops in parts", test_part_fused},
                                  {"part: variants in parts", test_part_variants},
                                  {"part: parameters go with a record", test_part_params},
                                  {"part: own operators in parts", test_part_own},
                                  {"part: accumulators and levels in parts", test_part_levels},
                                  {"part: wide accumulators in parts", test_part_wide},
                                  {NULL, NULL}};
