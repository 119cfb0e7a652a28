/* SPDX-License-Identifier: MIT */
/* The public functions on a real device, as an application uses them. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/calls.h"
#include "conformance.h"
#include "oracle/oracle.h"
#include "oracle/patterns.h"

static tally_context *context_of(void **state) {
    const place *at = *state;
    if (!at->context) fail_msg("%s did not open: %s", at->select, at->error);
    return at->context;
}

static void *items_of(int pattern, tally_dtype in, uint64_t n) {
    void *items = malloc(n * tally_dtype_bytes(in) + 64);
    assert_non_null(items);
    pattern_fill(pattern, in, items, n);
    return items;
}

static tally_device_info device_of(tally_context *context) {
    tally_context_info info;
    MUST(tally_context_get_info(context, &info));
    return info.device;
}

/* Calls tally_reduce_host, or tally_reduce_host_inputs for two inputs. The latter also takes a
 * named variant, so that the device reduces few items. */
static void reduce_host(tally_context *context, const oracle_case *of, const char *variant, const void *const inputs[],
                        uint64_t n, void *result) {
    const tally_reduce_desc desc = {.size = sizeof desc, .op = of->op, .in = of->in, .variant = variant};
    if (oracle_inputs(of->op) == 1 && !variant)
        MUST(tally_reduce_host(context, of->op, of->in, inputs[0], n, result));
    else
        MUST(tally_reduce_host_inputs(context, &desc, n || inputs[0] ? inputs : NULL, n, result));
}

/* At most 128 KiB of 8-byte items. More would have another launch shape on some devices, which
 * doubles the programs. */
#define HOST_N 15004

static void test_reduce_host_of(tally_context *context, const oracle_case *of) {
    static const uint64_t sizes[] = {0, 1, 127, 4097, HOST_N - 1};
    const size_t bytes = tally_dtype_bytes(of->in), result_bytes = oracle_result_bytes(of);
    char *items[2] = {items_of(PATTERN_WIDE, of->in, HOST_N), items_of(PATTERN_WIDE, of->in, HOST_N)}, *copies[2];
    pattern_fill_second(PATTERN_WIDE, of->op, of->in, items[0], items[1], HOST_N);
    for (int k = 0; k < 2; k++) {
        copies[k] = malloc(HOST_N * bytes);
        assert_non_null(copies[k]);
        memcpy(copies[k], items[k], HOST_N * bytes);
    }
    /* The items begin one item into the memory: aligned to the item's size and to nothing more. */
    const void *const inputs[2] = {items[0] + bytes, items[1] + bytes}, *const none[2] = {NULL, NULL};
    unsigned char result[16 + sizeof(oracle_result)];
    for (size_t s = 0; s < 2 * TALLY_ARRAY_LENGTH(sizes); s++) {
        const uint64_t n = sizes[s / 2];
        memset(result, 0xcd, sizeof result);
        reduce_host(context, of, s % 2 ? "auto" : NULL, inputs, n, result + 8);
        expect_result_inputs(of, inputs, n, result + 8, "tally_reduce_host");
        for (size_t i = 0; i < sizeof result; i++)
            if (i < 8 || i >= 8 + result_bytes) assert_int_equal(result[i], 0xcd);
    }
    reduce_host(context, of, NULL, none, 0, result);
    expect_result_inputs(of, none, 0, result, "tally_reduce_host of NULL");
    for (int k = 0; k < 2; k++) {
        assert_memory_equal(items[k], copies[k], HOST_N * bytes);
        free(items[k]);
        free(copies[k]);
    }
}

static void test_reduce_host(void **state) {
    tally_context *context = context_of(state);
    const tally_device_info device = device_of(context);
    oracle_case of = {0};
    for (of.op = TALLY_OP_NONE + 1; of.op < TALLY_OP_END; of.op++)
        for (of.in = TALLY_DTYPE_DEFAULT + 1; of.in < TALLY_DTYPE_END; of.in++)
            if (cells_want_pair(of.op, of.in) && !cells_lack_f64(&of, &device) && has_turn(*state, of.op + of.in))
                test_reduce_host_of(context, &of);
}

/* A device without f64 refuses a computation in f64 with a clear text. */
static void test_f64_where_there_is_none(void **state) {
    tally_context *context = context_of(state);
    if (device_of(context).has_f64) return;
    double x = 1, result;
    assert_int_equal(tally_reduce_host(context, TALLY_SUM, TALLY_F64, &x, 1, &result), TALLY_E_UNSUPPORTED);
    assert_non_null(strstr(tally_last_error(), "f64"));
}

/* Values to convert: rounded up, down and at a tie, subnormals, limits. Some are at a tie in f16 or
 * bf16 only after a wrong first rounding to f32. */
enum { CONVERTED = 400 };

static void fill_converted(tally_dtype in, void *items) {
    static const double chosen[] = {1 + 0x1p-11,
                                    1 + 0x1p-11 + 0x1p-40,
                                    1 + 0x1p-11 - 0x1p-40,
                                    1 + 0x3p-11,
                                    1 + 0x1p-8,
                                    1 + 0x1p-8 + 0x1p-40,
                                    0x1p-25,
                                    0x1p-25 + 0x1p-60,
                                    0x3p-25,
                                    65504,
                                    65519.99,
                                    65520,
                                    -65536,
                                    0x1.ffp127,
                                    0x1.fefffffp127,
                                    0x1p-126,
                                    0x1p-133,
                                    0x1p-134,
                                    0x1.8p-134,
                                    0x1p-149,
                                    -0.0,
                                    1e300,
                                    (double)INFINITY,
                                    (double)-INFINITY};
    pattern_fill(PATTERN_MAGNITUDES, in, items, CONVERTED);
    if (in != TALLY_F32 && in != TALLY_F64) return;
    for (size_t i = 0; i < CONVERTED / 2; i++) {
        /* Values near f16's numbers. */
        const uint64_t random = pattern_random(i);
        const double x =
            i < TALLY_ARRAY_LENGTH(chosen) ? chosen[i] : ldexp((double)(random >> 40), (int)(random % 48) - 24 - 24);
        if (in == TALLY_F32)
            ((float *)items)[i] = (float)x;
        else
            ((double *)items)[i] = x;
    }
}

/* Results of another type than the op's own: of each item by itself, and of all items. */
static void test_result_types(void **state) {
    need_compiler(*state);
    static const oracle_case cases[] = {{.op = TALLY_SUM, .in = TALLY_F32, .out = TALLY_F16},
                                        {.op = TALLY_SUM, .in = TALLY_F32, .out = TALLY_BF16},
                                        {.op = TALLY_SUM, .in = TALLY_F64, .out = TALLY_F16},
                                        {.op = TALLY_MAX, .in = TALLY_F64, .out = TALLY_BF16},
                                        {.op = TALLY_SUM, .in = TALLY_F64, .out = TALLY_F32},
                                        {.op = TALLY_SUM, .in = TALLY_F32, .out = TALLY_F64},
                                        {.op = TALLY_MINMAX, .in = TALLY_F64, .out = TALLY_F16},
                                        {.op = TALLY_AMAX, .in = TALLY_F16, .out = TALLY_F64},
                                        {.op = TALLY_SUM, .in = TALLY_I64, .out = TALLY_F32},
                                        {.op = TALLY_MAX, .in = TALLY_U64, .out = TALLY_F64},
                                        {.op = TALLY_MIN, .in = TALLY_I32, .out = TALLY_F32},
                                        {.op = TALLY_SUM, .in = TALLY_I8, .out = TALLY_I8},
                                        {.op = TALLY_SUM, .in = TALLY_I32, .out = TALLY_U16},
                                        {.op = TALLY_MIN, .in = TALLY_I16, .out = TALLY_I64},
                                        {.op = TALLY_ANY, .in = TALLY_F32, .out = TALLY_I32},
                                        {.op = TALLY_MAX, .in = TALLY_BOOL, .out = TALLY_I32},
                                        {.op = TALLY_SUM, .in = TALLY_C128, .out = TALLY_C64},
                                        {.op = TALLY_ARGMIN, .in = TALLY_F32, .out = TALLY_I64},
                                        {.op = TALLY_NRM2, .in = TALLY_F32, .out = TALLY_F16, .acc = TALLY_F64}};
    tally_context *context = context_of(state);
    const tally_device_info device = device_of(context);
    for (size_t c = 0; c < TALLY_ARRAY_LENGTH(cases); c++) {
        const oracle_case *of = &cases[c];
        const size_t bytes = tally_dtype_bytes(of->in), result_bytes = oracle_result_bytes(of);
        if (cells_lack_f64(of, &device) || (!device.has_f64 && of->out == TALLY_F64) || !has_turn(*state, c)) continue;
        unsigned char *items = items_of(PATTERN_WIDE, of->in, CONVERTED), results[(CONVERTED + 1) * sizeof(oracle_result)];
        tally_queue *queue;
        tally_buffer *in, *out;
        tally_plan *plan;
        fill_converted(of->in, items);
        const tally_reduce_desc desc = {
            .size = sizeof desc, .op = of->op, .in = of->in, .out = of->out, .acc = of->acc, .max_n = CONVERTED};
        MUST(tally_plan_create(context, &desc, &plan));
        MUST(tally_queue_create(context, &queue));
        MUST(tally_buffer_create(context, CONVERTED * bytes, &in));
        MUST(tally_buffer_create(context, (CONVERTED + 1) * result_bytes, &out));
        MUST(tally_buffer_write(queue, in, 0, items, CONVERTED * bytes));
        for (uint64_t i = 0; i < CONVERTED; i++) MUST(reduce_at(plan, queue, in, i, 1, out, i));
        MUST(reduce_at(plan, queue, in, 0, CONVERTED, out, CONVERTED));
        MUST(tally_buffer_read(queue, out, 0, results, (CONVERTED + 1) * result_bytes));
        MUST(tally_queue_wait(queue));
        for (uint64_t i = 0; i <= CONVERTED; i++) {
            const void *const from = items + (i < CONVERTED ? i : 0) * bytes;
            expect_result_inputs(of, &from, i < CONVERTED ? 1 : CONVERTED, results + i * result_bytes,
                                 tally_dtype_name(of->out));
        }
        tally_plan_destroy(plan);
        tally_queue_destroy(queue);
        tally_buffer_destroy(in);
        tally_buffer_destroy(out);
        free(items);
    }
}

static void test_copies(void **state) {
    tally_context *context = context_of(state);
    unsigned char host[1000], expected[1000], back[1000];
    for (int i = 0; i < 1000; i++) host[i] = (unsigned char)(i * 7);
    tally_queue *queue;
    tally_buffer *buffer, *empty;
    MUST(tally_queue_create(context, &queue));
    MUST(tally_buffer_create(context, 1000, &buffer));
    MUST(tally_buffer_create(context, 0, &empty));
    assert_int_equal(tally_buffer_bytes(buffer), 1000);
    assert_int_equal(tally_buffer_bytes(empty), 0);
    MUST(tally_buffer_write(queue, buffer, 0, host, 1000));
    MUST(tally_buffer_write(queue, buffer, 13, host, 101));
    MUST(tally_buffer_write(queue, buffer, 999, host + 5, 1));
    MUST(tally_buffer_write(queue, buffer, 1000, host, 0));
    MUST(tally_buffer_write(queue, empty, 0, host, 0));
    memcpy(expected, host, 1000);
    memcpy(expected + 13, host, 101);
    expected[999] = host[5];
    memset(back, 0, sizeof back);
    MUST(tally_buffer_read(queue, buffer, 0, back, 1000));
    MUST(tally_queue_wait(queue));
    assert_memory_equal(back, expected, 1000);
    memset(back, 0, sizeof back);
    MUST(tally_buffer_read(queue, buffer, 17, back + 3, 901));
    MUST(tally_buffer_read(queue, buffer, 1000, back, 0));
    MUST(tally_queue_wait(queue));
    assert_memory_equal(back + 3, expected + 17, 901);
    assert_int_equal(back[2], 0);
    assert_int_equal(back[904], 0);
    tally_buffer_destroy(empty);
    tally_buffer_destroy(buffer);
    tally_queue_destroy(queue);
}

/* Many reductions on one plan, enqueued without waiting. Each has the workspace to itself in its
 * turn. */
static void test_enqueue_many(void **state) {
    tally_context *context = context_of(state);
    const uint64_t n = 300007, runs = 40;
    float *items = items_of(PATTERN_WIDE, TALLY_F32, n), results[40];
    tally_queue *queue;
    tally_buffer *in, *out;
    tally_plan *plan;
    MUST(tally_queue_create(context, &queue));
    MUST(tally_buffer_create(context, n * sizeof *items, &in));
    MUST(tally_buffer_create(context, sizeof results, &out));
    const tally_reduce_desc desc = {.size = sizeof desc, .op = TALLY_SUM, .in = TALLY_F32, .max_n = n};
    MUST(tally_plan_create(context, &desc, &plan));
    MUST(tally_buffer_write(queue, in, 0, items, n * sizeof *items));
    for (uint64_t r = 0; r < runs; r++) MUST(reduce_at(plan, queue, in, r, n - 7001 * r, out, r));
    MUST(tally_buffer_read(queue, out, 0, results, sizeof results));
    MUST(tally_queue_wait(queue));
    for (uint64_t r = 0; r < runs; r++)
        expect_result(TALLY_SUM, TALLY_F32, items + r, n - 7001 * r, &results[r], "one of many enqueued");
    tally_plan_destroy(plan);
    tally_buffer_destroy(in);
    tally_buffer_destroy(out);
    tally_queue_destroy(queue);
    free(items);
}

/* Results of one plan are items of another, in the order of the queue. */
static void test_chained(void **state) {
    tally_context *context = context_of(state);
    enum { PARTS = 8, PART = 5000 };
    int32_t *items = items_of(PATTERN_WIDE, TALLY_I32, PARTS * PART);
    int64_t sums[PARTS], got;
    tally_queue *queue;
    tally_buffer *in, *between, *out;
    tally_plan *sum, *max;
    const tally_reduce_desc first = {.size = sizeof first, .op = TALLY_SUM, .in = TALLY_I32, .max_n = PART};
    const tally_reduce_desc second = {.size = sizeof second, .op = TALLY_MAX, .in = TALLY_I64, .max_n = PARTS};
    MUST(tally_queue_create(context, &queue));
    MUST(tally_buffer_create(context, PARTS * PART * sizeof *items, &in));
    MUST(tally_buffer_create(context, sizeof sums, &between));
    MUST(tally_buffer_create(context, sizeof got, &out));
    MUST(tally_plan_create(context, &first, &sum));
    MUST(tally_plan_create(context, &second, &max));
    MUST(tally_buffer_write(queue, in, 0, items, PARTS * PART * sizeof *items));
    for (uint64_t p = 0; p < PARTS; p++) MUST(reduce_at(sum, queue, in, p * PART, PART, between, p));
    MUST(tally_reduce(max, queue, between, PARTS, out));
    MUST(tally_buffer_read(queue, out, 0, &got, sizeof got));
    MUST(tally_queue_wait(queue));
    for (uint64_t p = 0; p < PARTS; p++) oracle_reduce(TALLY_SUM, TALLY_I32, items + p * PART, PART, &sums[p]);
    expect_result(TALLY_MAX, TALLY_I64, sums, PARTS, &got, "a max of sums");
    /* The result may lie in the items' memory, beside the items. */
    MUST(reduce_at(max, queue, between, 0, PARTS - 1, between, PARTS - 1));
    MUST(tally_buffer_read(queue, between, (PARTS - 1) * sizeof got, &got, sizeof got));
    MUST(tally_queue_wait(queue));
    expect_result(TALLY_MAX, TALLY_I64, sums, PARTS - 1, &got, "a result beside its items");
    tally_plan_destroy(sum);
    tally_plan_destroy(max);
    tally_buffer_destroy(in);
    tally_buffer_destroy(between);
    tally_buffer_destroy(out);
    tally_queue_destroy(queue);
    free(items);
}

/* Plans, buffers and queues retain their context. */
static void test_destroy_in_any_order(void **state) {
    const place *at = *state;
    tally_context *context;
    tally_queue *queue;
    tally_buffer *in, *out;
    tally_plan *plan;
    const float items[3] = {1, 2, 4};
    float result = 0;
    const tally_reduce_desc desc = {.size = sizeof desc, .op = TALLY_SUM, .in = TALLY_F32, .max_n = 3};
    MUST(tally_context_create(at->select, &context));
    MUST(tally_queue_create(context, &queue));
    MUST(tally_buffer_create(context, sizeof items, &in));
    MUST(tally_buffer_create(context, sizeof result, &out));
    MUST(tally_plan_create(context, &desc, &plan));
    tally_context_destroy(context);
    MUST(tally_buffer_write(queue, in, 0, items, sizeof items));
    MUST(tally_reduce(plan, queue, in, 3, out));
    MUST(tally_queue_wait(queue));
    tally_plan_destroy(plan);
    tally_buffer_destroy(in);
    MUST(tally_buffer_read(queue, out, 0, &result, sizeof result));
    MUST(tally_queue_wait(queue));
    tally_queue_destroy(queue);
    assert_int_equal(tally_buffer_bytes(out), sizeof result);
    tally_buffer_destroy(out);
    assert_true(result == 7);
}

/* Events around no work, some work, and a hundred times as much. The device's clock must tell them
 * apart. */
static void test_events(void **state) {
    tally_context *context = context_of(state);
    enum { N = 1 << 20, MANY = 100 };
    int32_t *items = items_of(PATTERN_WIDE, TALLY_I32, N);
    tally_plan *plan;
    tally_queue *queue;
    tally_buffer *in, *out;
    tally_event *marks[4];
    double nothing = -1, once = -1, often = -1, all = -1;
    const tally_reduce_desc desc = {.size = sizeof desc, .op = TALLY_MAX, .in = TALLY_I32, .max_n = N};
    MUST(tally_plan_create(context, &desc, &plan));
    MUST(tally_queue_create(context, &queue));
    MUST(tally_buffer_create(context, N * sizeof *items, &in));
    MUST(tally_buffer_create(context, sizeof *items, &out));
    MUST(tally_buffer_write(queue, in, 0, items, N * sizeof *items));
    for (size_t m = 0; m < TALLY_ARRAY_LENGTH(marks); m++) MUST(tally_event_create(context, &marks[m]));
    MUST(tally_reduce(plan, queue, in, N, out)); /* the first run is slower */
    MUST(tally_queue_wait(queue));
    if (tally_event_seconds(marks[0], marks[1], &nothing) != TALLY_E_ARGUMENT) fail_msg("an event that was never recorded");
    /* The least of several times: on a busy machine a single time may be late. */
    double least = 1e9;
    for (int i = 0; i < 9; i++) {
        MUST(tally_event_record(marks[1], queue));
        MUST(tally_reduce(plan, queue, in, N, out));
        MUST(tally_event_record(marks[2], queue));
        MUST(tally_event_seconds(marks[1], marks[2], &once));
        least = once < least ? once : least;
    }
    MUST(tally_event_record(marks[0], queue));
    MUST(tally_event_record(marks[1], queue));
    MUST(tally_reduce(plan, queue, in, N, out));
    MUST(tally_event_record(marks[2], queue));
    for (int i = 0; i < MANY; i++) MUST(tally_reduce(plan, queue, in, N, out));
    MUST(tally_event_record(marks[3], queue));
    MUST(tally_event_seconds(marks[0], marks[1], &nothing));
    MUST(tally_event_seconds(marks[1], marks[2], &once));
    MUST(tally_event_seconds(marks[2], marks[3], &often)); /* this call waits */
    MUST(tally_event_seconds(marks[0], marks[3], &all));
    assert_true(nothing >= 0 && once > 0);
    double back = 0;
    MUST(tally_event_seconds(marks[2], marks[1], &back)); /* from the later mark to the earlier one */
    assert_true(back == -once);
    if (often < 10 * least) fail_msg("%d reductions took %g s, one %g s", MANY, often, least);
    if (fabs(all - (nothing + once + often)) > 1e-3 * all) fail_msg("%g + %g + %g s are %g s", nothing, once, often, all);
    MUST(tally_event_record(marks[3], queue)); /* recorded again */
    MUST(tally_event_seconds(marks[2], marks[3], &all));
    assert_true(all >= often);
    for (size_t m = 0; m < TALLY_ARRAY_LENGTH(marks); m++) tally_event_destroy(marks[m]);
    tally_plan_destroy(plan);
    tally_queue_destroy(queue);
    tally_buffer_destroy(in);
    tally_buffer_destroy(out);
    free(items);
}

/* A factor changes the plan's depth, only where the variant has a factor. */
static void test_factor(void **state) {
    need_compiler(*state);
    tally_context *context = context_of(state);
    tally_plan *plan = NULL;
    tally_reduce_desc desc = {
        .size = sizeof desc, .op = TALLY_MAX, .in = TALLY_I32, .max_n = 100000, .variant = "coarsened", .factor = 3};
    MUST(tally_plan_create(context, &desc, &plan));
    const uint64_t depth = tally_plan_depth(plan, 1000);
    tally_plan_destroy(plan);
    desc.factor = 64;
    MUST(tally_plan_create(context, &desc, &plan));
    assert_true(tally_plan_depth(plan, 1000) > depth);
    tally_plan_destroy(plan);
    plan = NULL;
    desc.factor = 1u << 20;
    assert_int_equal(tally_plan_create(context, &desc, &plan), TALLY_E_ARGUMENT);
    desc.factor = 3;
    desc.variant = NULL;
    assert_int_equal(tally_plan_create(context, &desc, &plan), TALLY_E_ARGUMENT);
    assert_null(plan);
}

static void test_describe(void **state) {
    tally_context *context = context_of(state);
    tally_context_info info;
    char text[4096], piece[16];
    MUST(tally_context_get_info(context, &info));
    MUST(tally_context_describe(context, text, sizeof text));
    const char *const contents[] = {info.device.backend, info.device.name, info.device.platform,
                                    info.device.driver,  info.chosen_by,   info.selection,
                                    "argument"};
    for (size_t i = 0; i < TALLY_ARRAY_LENGTH(contents); i++) {
        assert_string_not_equal(contents[i], "");
        if (!strstr(text, contents[i])) fail_msg("\"%s\" is not in the description:\n%s", contents[i], text);
    }
    assert_true(info.device.compute_units > 0 && info.device.max_group_threads > 0 && info.device.memory_bytes > 0);
    assert_true(info.device.max_buffer_bytes > 0 && info.device.max_buffer_bytes <= info.device.memory_bytes);
    memset(piece, 'x', sizeof piece);
    MUST(tally_context_describe(context, piece, 10));
    assert_memory_equal(piece, text, 9);
    assert_int_equal(piece[9], 0);
    assert_int_equal(piece[10], 'x');
}

/* The features that the kernels use where the device has them. POCL has sub-groups from version 4.0
 * on (its release notes), but not with its method cbs. On these processors its compiler has atomics
 * that order memory between groups. */
static void test_features(void **state) {
    need_compiler(*state);
    tally_context *context = context_of(state);
    tally_context_info info;
    tally_plan *plan;
    char text[4096];
    tally_reduce_desc desc = {.size = sizeof desc, .op = TALLY_SUM, .in = TALLY_F32, .max_n = 1000};
    MUST(tally_plan_create(context, &desc, &plan)); /* uses ORDER */
    tally_plan_destroy(plan);
    desc.variant = "shuffle"; /* uses SUBGROUPS */
    desc.group_threads = 32;
    MUST(tally_plan_create(context, &desc, &plan));
    tally_plan_destroy(plan);
    MUST(tally_context_get_info(context, &info));
    MUST(tally_context_describe(context, text, sizeof text));
    const char *line = strstr(text, "features: "), *pocl = strstr(info.device.platform, "PoCL ");
    const char *method = getenv("POCL_WORK_GROUP_METHOD"), *expected = "";
    if (!line) fail_msg("no features in the description:\n%s", text);
    printf("%s, %s: %.*s\n", info.device.name, info.device.platform, (int)strcspn(line, "\n"), line);
    if (strcmp(info.device.backend, "cuda") == 0) expected = "features: ORDER"; /* and BULK from sm_90 on */
    if (pocl && info.device.device_class == TALLY_CLASS_CPU) {
        const int has = atoi(pocl + strlen("PoCL ")) >= 4 && !(method && strcmp(method, "cbs") == 0);
#if defined(__x86_64__) || defined(__aarch64__)
        expected = has ? "features: SUBGROUPS, ORDER\n" : "features: ORDER\n";
#else
        expected = has ? "features: SUBGROUPS\n" : "features: none\n";
#endif
    }
    if (strncmp(line, expected, strlen(expected)) != 0) fail_msg("it should be \"%s\":\n%s", expected, line);
}

const device_test api_tests[] = {
    {"reduce_host", test_reduce_host},
    {"a device without f64", test_f64_where_there_is_none},
    {"results of other types", test_result_types},
    {"copies", test_copies},
    {"many enqueued", test_enqueue_many},
    {"chained", test_chained},
    {"destroyed in any order", test_destroy_in_any_order},
    {"events", test_events},
    {"factors", test_factor},
    {"describe", test_describe},
    {"features", test_features},
    {NULL, NULL},
};
