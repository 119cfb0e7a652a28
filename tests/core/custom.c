/* SPDX-License-Identifier: MIT */
/* Custom ops on the stub, which compiles them: results of plans and feeds. custom_text.c and
 * custom_refused.c test the refusals. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/calls.h"
#include "custom.h"
#include "tests/support/own_ops.h"

#define ITEMS 600001u /* more than a span of either device, so that a feed has several */

/* ---- results --------------------------------------------------------------------------------- */

/* Small whole numbers. Every order of combination gives the same sums. */
static float x_items[ITEMS], y_items[ITEMS], z_items[ITEMS], w_items[ITEMS];

static void make_items(void) {
    for (uint32_t i = 0; i < ITEMS; i++) {
        x_items[i] = (float)((int)(i * 2654435761u >> 20 & 15) - 7);
        y_items[i] = (float)(i * 2246822519u >> 21 & 7);
        z_items[i] = (float)(i % 5);
        w_items[i] = (float)(i % 3) - 1;
    }
    x_items[400000] = -99;
    x_items[450000] = 99;
}

/* Compiles one custom op, runs it as a plan and as a feed, and stores the result's bytes. */
static void reduce_custom(const char *select, const tally_op_desc *desc, tally_dtype in, const void *const *items, uint64_t n,
                          void *result, size_t bytes) {
    tally_context *context;
    tally_custom_op *op;
    tally_plan *plan;
    tally_queue *queue;
    tally_buffer *buffers[TALLY_MAX_INPUTS] = {NULL}, *out;
    unsigned char fed[32], hosted[32];
    assert_true(bytes <= sizeof fed);
    const uint32_t inputs = desc->inputs ? desc->inputs : 1;
    make_items();
    MUST(tally_context_create(select, &context));
    MUST(tally_op_create(desc, &op));
    const tally_reduce_desc what = {.size = sizeof what, .in = in, .custom = op, .max_n = ITEMS};
    MUST(tally_plan_create(context, &what, &plan));
    assert_int_equal(tally_plan_result_bytes(plan), bytes);
    MUST(tally_queue_create(context, &queue));
    MUST(tally_buffer_create(context, 3 * bytes, &out));
    for (uint32_t k = 0; k < inputs; k++) {
        MUST(tally_buffer_create(context, n * tally_dtype_bytes(in), &buffers[k]));
        MUST(tally_buffer_write(queue, buffers[k], 0, items[k], n * tally_dtype_bytes(in)));
    }
    MUST(reduce_inputs(plan, queue, (const tally_buffer *const *)buffers, NULL, n, out, 2));
    MUST(tally_buffer_read(queue, out, 2 * bytes, result, bytes));
    MUST(tally_queue_wait(queue));
    MUST(tally_reduce_host_inputs(context, &what, items, n, hosted));
    assert_memory_equal(hosted, result, bytes);
    tally_feed *feed;
    MUST(tally_feed_create(context, &what, &feed));
    const uint64_t half = n / 3;
    const void *rest[TALLY_MAX_INPUTS];
    for (uint32_t k = 0; k < inputs; k++) rest[k] = (const char *)items[k] + half * tally_dtype_bytes(in);
    tally_op_destroy(op); /* the plan and the feed keep it */
    MUST(tally_feed_push_inputs(feed, items, half));
    MUST(tally_feed_finish_inputs(feed, rest, n - half, fed));
    assert_memory_equal(fed, result, bytes);
    MUST(reduce_inputs(plan, queue, (const tally_buffer *const *)buffers, NULL, n, out, 0));
    MUST(tally_buffer_read(queue, out, 0, fed, bytes));
    MUST(tally_queue_wait(queue));
    assert_memory_equal(fed, result, bytes);
    tally_feed_destroy(feed);
    tally_plan_destroy(plan);
    tally_queue_destroy(queue);
    tally_buffer_destroy(out);
    for (uint32_t k = 0; k < inputs; k++) tally_buffer_destroy(buffers[k]);
    tally_context_destroy(context);
    SOUND();
}

static const char *const selects[] = {"stub:alpha", "stub:beta"};

static void test_sum_above(void **unused) {
    (void)unused;
    static const tally_op_param above[] = {{"least", TALLY_F32, 2}};
    tally_op_desc d = sum_of_squares;
    d.load = "x > p.least ? x * x : 0";
    d.params = above;
    d.param_count = 1;
    for (size_t s = 0; s < 2; s++) {
        float result, expected = 0;
        reduce_custom(selects[s], &d, TALLY_F32, (const void *[]){x_items}, ITEMS, &result, sizeof result);
        for (uint32_t i = 0; i < ITEMS; i++) expected += x_items[i] > 2 ? x_items[i] * x_items[i] : 0;
        assert_true(result == expected);
    }
}

static void test_weighted_mean(void **unused) {
    (void)unused;
    static const tally_op_field fields[] = {{"s", TALLY_F64, "0", "(f64)x * y", "a.s + b.s"},
                                            {"w", TALLY_F64, "0", "y", "a.w + b.w"}};
    tally_op_desc d = mean_by_fields;
    d.inputs = 2;
    d.fields = fields;
    d.finish = "a.s / a.w";
    d.out = TALLY_F64;
    for (size_t s = 0; s < 2; s++) {
        double result, sum = 0, weight = 0;
        reduce_custom(selects[s], &d, TALLY_F32, (const void *[]){x_items, y_items}, ITEMS, &result, sizeof result);
        for (uint32_t i = 0; i < ITEMS; i++) sum += (double)x_items[i] * y_items[i], weight += y_items[i];
        assert_true(result == sum / weight);
    }
}

/* The index counts from the first item of the whole input, in a feed too. */
static void test_argmax_of_magnitude(void **unused) {
    (void)unused;
    static const tally_op_field fields[] = {
        {"v", TALLY_F32, "-1", "fabs(x)", "b.v > a.v ? b.v : a.v"},
        {"at", TALLY_U64, "~(u64)0", "i", "b.v > a.v ? b.at : a.v > b.v ? a.at : a.at < b.at ? a.at : b.at"}};
    const tally_op_desc d = {
        .size = sizeof d, .name = "argmax_abs", .fields = fields, .field_count = 2, .finish = "a.at", .out = TALLY_U64};
    for (size_t s = 0; s < 2; s++) {
        uint64_t result;
        reduce_custom(selects[s], &d, TALLY_F32, (const void *[]){x_items}, ITEMS, &result, sizeof result);
        assert_int_equal(result, 400000);
    }
}

/* Four inputs; n and p in finish; an integer accumulator; a result of another type. */
static void test_four_inputs(void **unused) {
    (void)unused;
    static const tally_op_param p[] = {{"shift", TALLY_I32, 3}, {"scale", TALLY_F64, 0.5}};
    const tally_op_desc d = {.size = sizeof d,
                             .inputs = 4,
                             .acc = TALLY_I64,
                             .identity = "0",
                             .load = "(i64)(x * y + z * w) + p.shift",
                             .combine = "a + b",
                             .finish = "(f32)(a * p.scale) + (f32)n",
                             .out = TALLY_F32,
                             .params = p,
                             .param_count = 2,
                             .exact = 1};
    for (size_t s = 0; s < 2; s++) {
        float result;
        int64_t sum = 0;
        reduce_custom(selects[s], &d, TALLY_F32, (const void *[]){x_items, y_items, z_items, w_items}, ITEMS, &result,
                      sizeof result);
        for (uint32_t i = 0; i < ITEMS; i++) sum += (int64_t)(x_items[i] * y_items[i] + z_items[i] * w_items[i]) + 3;
        assert_true(result == (float)((double)sum * 0.5) + (float)ITEMS);
    }
}

/* Complex items have parts. Small types are loaded as a wider type. A result may be stored as any
 * real type. */
static void test_types_of_items(void **unused) {
    (void)unused;
    const tally_op_desc parts = {.size = sizeof parts, .identity = "0", .load = "x.re - x.im", .combine = "a + b"};
    float sum, expected = 0;
    make_items();
    for (uint32_t i = 0; i + 1 < ITEMS; i += 2) expected += x_items[i] - x_items[i + 1];
    reduce_custom("stub:alpha", &parts, TALLY_C64, (const void *[]){x_items}, ITEMS / 2, &sum, sizeof sum);
    assert_true(sum == expected);

    static int8_t small[ITEMS];
    int64_t wide, wide_expected = 0;
    for (uint32_t i = 0; i < ITEMS; i++) small[i] = (int8_t)(i * 7), wide_expected += small[i] * small[i];
    reduce_custom("stub:alpha", &(tally_op_desc){.size = sizeof parts, .identity = "0", .load = "x * x", .combine = "a + b"},
                  TALLY_I8, (const void *[]){small}, ITEMS, &wide, sizeof wide);
    assert_int_equal(wide, wide_expected);

    uint8_t flag = 9;
    reduce_custom(
        "stub:beta",
        &(tally_op_desc){
            .size = sizeof parts, .identity = "0", .load = "x > 90", .combine = "a + b", .finish = "a == 1", .out = TALLY_BOOL},
        TALLY_F32, (const void *[]){x_items}, ITEMS, &flag, sizeof flag);
    assert_int_equal(flag, 1);
    uint16_t half = 0;
    reduce_custom("stub:beta",
                  &(tally_op_desc){.size = sizeof parts,
                                   .identity = "0",
                                   .load = "x > 90",
                                   .combine = "a + b",
                                   .finish = "a + 0.5f",
                                   .out = TALLY_F16},
                  TALLY_F32, (const void *[]){x_items}, ITEMS, &half, sizeof half);
    assert_int_equal(half, 0x3e00); /* 1.5 */
}

/* With no items the result is `empty`, or the finish of the identity. */
static void test_empty(void **unused) {
    (void)unused;
    float result;
    tally_op_desc d = sum_of_squares;
    d.identity = "5";
    d.combine = "a > b ? a : b";
    d.finish = "a + n";
    reduce_custom("stub:alpha", &d, TALLY_F32, (const void *[]){x_items}, 0, &result, sizeof result);
    assert_true(result == 5);
    d.empty = "a - 7";
    reduce_custom("stub:beta", &d, TALLY_F32, (const void *[]){x_items}, 0, &result, sizeof result);
    assert_true(result == -2);
}

/* ---- several results, temporaries ------------------------------------------------------------ */

/* Bytes between the values are zeros. */
static void test_least_with_place(void **unused) {
    (void)unused;
    for (size_t s = 0; s < 2; s++) {
        own_least_result result, expected;
        memset(&expected, 0, sizeof expected);
        expected.value = -99;
        expected.place = 400000;
        memset(&result, 0x5a, sizeof result);
        reduce_custom(selects[s], &own_least, TALLY_F32, (const void *[]){x_items}, ITEMS, &result, sizeof result);
        assert_memory_equal(&result, &expected, sizeof result);
        /* One value has an `empty`. The other is finished from the identity. */
        memset(&result, 0x5a, sizeof result);
        reduce_custom(selects[s], &own_least, TALLY_F32, (const void *[]){x_items}, 0, &result, sizeof result);
        assert_true(isnan(result.value) && result.place == UINT64_MAX);
    }
}

/* A compensated sum in four temporaries gives the bits of the library's. */
static void test_twofold(void **unused) {
    (void)unused;
    static float x[ITEMS];
    for (uint32_t i = 0; i < ITEMS; i++) x[i] = ldexpf((float)(int32_t)(i * 2654435761u), (int)(i % 60) - 30);
    tally_context *context;
    tally_custom_op *op;
    MUST(tally_context_create("stub:alpha", &context));
    MUST(tally_op_create(&own_twofold, &op));
    const tally_reduce_desc own = {.size = sizeof own, .in = TALLY_F32, .custom = op};
    const tally_reduce_desc library = {
        .size = sizeof own, .in = TALLY_F32, .op = TALLY_SUM, .accuracy = TALLY_ACCURACY_COMPENSATED};
    static const uint64_t sizes[] = {0, 1, 2, 129, 4097, ITEMS};
    for (size_t n = 0; n < TALLY_ARRAY_LENGTH(sizes); n++) {
        uint32_t got = 1, expected = 2;
        MUST(tally_reduce_host_inputs(context, &own, (const void *const[]){x}, sizes[n], &got));
        MUST(tally_reduce_host_inputs(context, &library, (const void *const[]){x}, sizes[n], &expected));
        assert_int_equal(got, expected);
    }
    tally_op_destroy(op);
    tally_context_destroy(context);
    SOUND();
}

/* Temporaries in every part, of each type, and with names that the generated text uses too. */
static void test_temporaries(void **unused) {
    (void)unused;
    static const tally_op_param p[] = {{"k", TALLY_F32, 2}};
    static const tally_op_let lets[] = {{"r", TALLY_PART_LOAD, TALLY_F32, "x * p.k"},
                                        {"v", TALLY_PART_COMBINE, TALLY_I64, "a + b"},
                                        {"value", TALLY_PART_FINISH, TALLY_F64, "a + n"},
                                        {"index", TALLY_PART_LOAD, TALLY_U64, "i & 3"},
                                        {"r", TALLY_PART_COMBINE, 0, "v"},
                                        {"r", TALLY_PART_FINISH, TALLY_F32, "value * p.k"},
                                        {"l", TALLY_PART_LOAD, TALLY_U32, "r < 0"},
                                        {"row", TALLY_PART_LOAD, TALLY_I32, "l ? -1 : 1"}};
    static const tally_op_result results[] = {{"value", TALLY_F64, "value", "-1"}, {"r", TALLY_F32, "r", "-2"}};
    const tally_op_desc d = {.size = sizeof d,
                             .acc = TALLY_I64,
                             .identity = "0",
                             .load = "row * (i64)r + index",
                             .combine = "r",
                             .params = p,
                             .param_count = 1,
                             .results = results,
                             .result_count = 2,
                             .lets = lets,
                             .let_count = TALLY_ARRAY_LENGTH(lets)};
    struct {
        double value;
        float r;
    } result;
    make_items();
    int64_t sum = 0;
    for (uint32_t i = 0; i < ITEMS; i++) sum += (int64_t)fabsf(2 * x_items[i]) + (i & 3);
    reduce_custom("stub:beta", &d, TALLY_F32, (const void *[]){x_items}, ITEMS, &result, sizeof result);
    assert_true(result.value == (double)(sum + ITEMS) && result.r == (float)(2 * result.value));
    reduce_custom("stub:alpha", &d, TALLY_F32, (const void *[]){x_items}, 0, &result, sizeof result);
    assert_true(result.value == -1 && result.r == -2);
}

/* ---- parameters, programs -------------------------------------------------------------------- */

/* Set parameters hold for later calls. Enqueued work keeps the old ones. Nothing is compiled. */
static void test_set_param(void **unused) {
    (void)unused;
    static const tally_op_param p[] = {{"scale", TALLY_F32, 2}, {"base", TALLY_I64, 100}};
    tally_op_desc d = sum_of_squares;
    d.load = "x * p.scale";
    d.finish = "a + p.base";
    d.params = p;
    d.param_count = 2;
    make_items();
    float sum = 0, results[3];
    for (uint32_t i = 0; i < ITEMS; i++) sum += x_items[i];
    tally_context *context;
    tally_context_info before, after;
    tally_custom_op *op;
    tally_plan *plan;
    tally_queue *queue;
    tally_buffer *in, *out;
    MUST(tally_context_create("stub:alpha", &context));
    MUST(tally_op_create(&d, &op));
    MUST(tally_plan_create(context, &(tally_reduce_desc){.size = sizeof(tally_reduce_desc), .in = TALLY_F32, .custom = op},
                           &plan));
    tally_op_destroy(op);
    MUST(tally_queue_create(context, &queue));
    MUST(tally_buffer_create(context, sizeof x_items, &in));
    MUST(tally_buffer_create(context, sizeof results, &out));
    MUST(tally_buffer_write(queue, in, 0, x_items, sizeof x_items));
    MUST(tally_context_get_info(context, &before));
    MUST(reduce_at(plan, queue, in, 0, ITEMS, out, 0));
    MUST(tally_plan_set_param(plan, "scale", -3));
    MUST(reduce_at(plan, queue, in, 0, ITEMS, out, 1));
    MUST(tally_plan_set_param(plan, "base", 0x1p20));
    MUST(reduce_at(plan, queue, in, 0, ITEMS, out, 2));
    MUST(tally_buffer_read(queue, out, 0, results, sizeof results));
    MUST(tally_queue_wait(queue));
    assert_true(results[0] == 2 * sum + 100 && results[1] == -3 * sum + 100 && results[2] == -3 * sum + 0x1p20f);
    MUST(tally_context_get_info(context, &after));
    assert_int_equal(after.programs_built, before.programs_built);
    BAD(tally_plan_set_param(plan, "scales", 1), "tally_plan_set_param", "'scales'",
        "did you mean scale? there are scale, base");
    BAD(tally_plan_set_param(plan, "", 1), "there are scale, base");
    BAD(tally_plan_set_param(plan, NULL, 1), "tally_plan_set_param", "name");
    BAD(tally_plan_set_param(NULL, "scale", 1), "tally_plan_set_param", "plan");
    BAD(tally_plan_set_param((tally_plan *)(void *)queue, "scale", 1), "tally_plan_set_param", "plan");
    tally_plan_destroy(plan);
    MUST(tally_plan_create(context, &side_desc, &plan));
    BAD(tally_plan_set_param(plan, "scale", 1), "'scale'", "there is none");
    tally_plan_destroy(plan);
    tally_buffer_destroy(in);
    tally_buffer_destroy(out);
    tally_queue_destroy(queue);
    tally_context_destroy(context);
    SOUND();
}

/* A text that tally_op_create takes for an expression and the compiler does not. The compiler's
 * message names the user's text by its part. */
static void test_wrong_expressions(void **unused) {
    (void)unused;
    tally_op_field fields[2] = {two_fields[0], two_fields[1]};
    fields[1].combine = "a.w + b.nothing";
    tally_op_desc of_field = mean_by_fields;
    of_field.fields = fields;
    tally_op_let lets[] = {own_least_lets[0]};
    tally_op_result results[] = {own_least_results[0], own_least_results[1]};
    lets[0].value = "a.value < other";
    results[1].finish = "a.plaice";
    tally_op_desc of_let = own_least, of_result = own_least;
    of_let.lets = lets;
    of_result.results = results;
    tally_op_desc descs[] = {sum_of_squares, sum_of_squares, sum_of_squares, sum_of_squares, of_field, of_let, of_result};
    static const char *const words[][2] = {
        {"load of op squares", "unknown_name"},       {"combine of op squares", "b"},
        {"finish of op squares", "nothing"},          {"identity of op squares", "elsewhere"},
        {"combine of field w of op mean", "nothing"}, {"temporary closer of combine of op least", "other"},
        {"finish of result at of op least", "plaice"}};
    descs[0].load = "x + unknown_name";
    descs[1].combine = "a + + * b";
    descs[2].finish = "a.nothing";
    descs[3].identity = "elsewhere";
    tally_context *context;
    MUST(tally_context_create("stub:alpha", &context));
    for (size_t i = 0; i < TALLY_ARRAY_LENGTH(descs); i++) {
        tally_custom_op *op;
        tally_plan *plan = NULL;
        MUST(tally_op_create(&descs[i], &op));
        const tally_reduce_desc what = {.size = sizeof what, .in = TALLY_F32, .custom = op};
        REFUSED(tally_plan_create(context, &what, &plan), TALLY_E_BUILD, words[i][0], words[i][1]);
        assert_null(plan);
        tally_op_destroy(op);
    }
    tally_context_destroy(context);
    SOUND();
}

/* Two ops that differ only in parameters' values share their programs, on a device without ORDER
 * one for each stage. Others do not. */
static void test_programs(void **unused) {
    (void)unused;
    tally_op_param p[] = {{"k", 0, 1}};
    tally_op_desc d = sum_of_squares;
    d.load = "x * p.k";
    d.params = p;
    d.param_count = 1;
    tally_context *context;
    MUST(tally_context_create("stub:alpha", &context));
    static const uint64_t built[] = {2, 2, 4};
    for (int i = 0; i < 3; i++) {
        tally_custom_op *op;
        tally_plan *plan;
        tally_context_info info;
        p[0].value = i;
        if (i == 2) d.load = "x / p.k";
        MUST(tally_op_create(&d, &op));
        const tally_reduce_desc what = {.size = sizeof what, .in = TALLY_F32, .custom = op};
        MUST(tally_plan_create(context, &what, &plan));
        MUST(tally_context_get_info(context, &info));
        assert_int_equal(info.programs_built, built[i]);
        tally_op_destroy(op);
        tally_plan_destroy(plan);
    }
    tally_context_destroy(context);
    SOUND();
}

const core_test custom_tests[] = {
    {"custom: squares above a threshold", test_sum_above},
    {"custom: weighted mean", test_weighted_mean},
    {"custom: argmax of magnitudes", test_argmax_of_magnitude},
    {"custom: four inputs", test_four_inputs},
    {"custom: types of items", test_types_of_items},
    {"custom: no items", test_empty},
    {"custom: a minimum with its place", test_least_with_place},
    {"custom: a TwoSum written once", test_twofold},
    {"custom: temporaries", test_temporaries},
    {"custom: parameters", test_set_param},
    {"custom: wrong expressions", test_wrong_expressions},
    {"custom: programs", test_programs},
    {NULL, NULL},
};
