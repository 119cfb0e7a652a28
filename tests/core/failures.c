/* SPDX-License-Identifier: MIT */
/* The sequences of public calls in which each call of the stub fails once (each_call.c). */
#define _XOPEN_SOURCE 700
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/calls.h"
#include "core.h"
#include "oracle/oracle.h"
#include "oracle/patterns.h"

/* More than the 32 MiB that a feed stages by default, so that tally_reduce_host needs pieces. */
#define MANY UINT64_C(9000001)
#define FEW UINT64_C(300007)

static float *items; /* MANY of them, made once */

static void expect_sum(uint64_t first, uint64_t n, float result) {
    float expected;
    oracle_reduce(TALLY_SUM, TALLY_F32, items + first, n, &expected);
    if (memcmp(&result, &expected, sizeof result) != 0)
        fail_msg("sum of %llu items from %llu: %a, should be %a", (unsigned long long)n, (unsigned long long)first,
                 (double)result, (double)expected);
}

static const tally_reduce_desc sum_f32 = {.size = sizeof(tally_reduce_desc), .op = TALLY_SUM, .in = TALLY_F32, .max_n = FEW};

#define TRY(call)                                                                                                              \
    if (!status) status = (call)

static tally_status use_devices(void) {
    tally_backend_info backend;
    tally_device_info device;
    tally_status status = tally_backend_get(tally_backend_count() - 1, &backend);
    TRY(tally_device_get("stub", STUB_BETA, &device));
    return status;
}

static tally_status use_context(void) {
    tally_context *context = NULL;
    tally_context_info info;
    char text[1024];
    tally_status status = tally_context_create("stub:gamma", &context);
    TRY(tally_context_get_info(context, &info));
    TRY(tally_context_describe(context, text, sizeof text));
    tally_context_destroy(context);
    return status;
}

static tally_status use_memory(void) {
    tally_context *context = NULL;
    tally_buffer *buffer = NULL, *wrapped = NULL;
    tally_staging *staging = NULL;
    tally_queue *queue = NULL;
    float back[3] = {0}, host[3] = {0};
    tally_status status = tally_context_create("stub:beta", &context);
    TRY(tally_buffer_create(context, 12, &buffer));
    TRY(tally_buffer_wrap_host(context, host, sizeof host, &wrapped));
    TRY(tally_staging_create(context, 12, &staging));
    TRY(tally_queue_create(context, &queue));
    TRY(tally_buffer_write(queue, buffer, 0, items, 12));
    TRY(tally_buffer_write(queue, wrapped, 4, items, 8));
    TRY(tally_buffer_read(queue, buffer, 0, back, 12));
    TRY(tally_buffer_read(queue, buffer, 0, tally_staging_memory(staging), 12));
    const tally_status waited = queue ? tally_queue_wait(queue) : TALLY_OK;
    TRY(waited);
    if (!status) assert_memory_equal(back, items, 12);
    if (!status) assert_memory_equal(tally_staging_memory(staging), items, 12);
    if (!status) assert_memory_equal(host + 1, items, 8);
    tally_context_destroy(context);
    tally_buffer_destroy(buffer);
    tally_buffer_destroy(wrapped);
    tally_staging_destroy(staging);
    tally_queue_destroy(queue);
    return status;
}

static tally_status use_plan(const char *select, const char *variant) {
    tally_context *context = NULL;
    tally_plan *plan = NULL, *second = NULL;
    tally_reduce_desc desc = sum_f32;
    desc.variant = variant;
    tally_status status = tally_context_create(select, &context);
    TRY(tally_plan_create(context, &desc, &plan));
    desc.op = TALLY_MAX;
    TRY(tally_plan_create(context, &desc, &second));
    if (!status && variant) assert_string_equal(tally_plan_variant(plan), variant);
    tally_plan_destroy(plan);
    tally_context_destroy(context);
    tally_plan_destroy(second);
    return status;
}

static tally_status use_plan_group(void) {
    return use_plan("stub:alpha", "group_tree");
}

static tally_status use_plan_single(void) {
    return use_plan("stub:beta", NULL);
}

static tally_status use_plan_prebuilt(void) {
    stub.has_prebuilt = 1;
    return use_plan("stub:alpha", NULL);
}

static tally_status use_reduce(const char *select) {
    static const uint64_t sizes[] = {0, 1, 100, 4097, FEW - 2};
    tally_context *context = NULL;
    tally_buffer *in = NULL, *out = NULL;
    tally_queue *queue = NULL;
    tally_plan *plan = NULL;
    float results[TALLY_ARRAY_LENGTH(sizes)];
    tally_status status = tally_context_create(select, &context);
    TRY(tally_plan_create(context, &sum_f32, &plan));
    TRY(tally_buffer_create(context, FEW * sizeof(float), &in));
    TRY(tally_buffer_create(context, sizeof results, &out));
    TRY(tally_queue_create(context, &queue));
    TRY(tally_buffer_write(queue, in, 0, items, FEW * sizeof(float)));
    for (size_t s = 0; s < TALLY_ARRAY_LENGTH(sizes); s++) {
        int opened = 0, still = 0;
        for (int k = 0; k < STUB_KIND_COUNT; k++) opened += stub.opened[k];
        const int waits = stub.waits;
        TRY(reduce_at(plan, queue, in, 2, sizes[s], out, s));
        for (int k = 0; k < STUB_KIND_COUNT; k++) still += stub.opened[k];
        assert_int_equal(still, opened); /* no allocation */
        assert_int_equal(stub.waits, waits);
    }
    TRY(tally_buffer_read(queue, out, 0, results, sizeof results));
    const tally_status waited = queue ? tally_queue_wait(queue) : TALLY_OK;
    TRY(waited);
    for (size_t s = 0; !status && s < TALLY_ARRAY_LENGTH(sizes); s++) expect_sum(2, sizes[s], results[s]);
    tally_context_destroy(context);
    tally_queue_destroy(queue);
    tally_plan_destroy(plan);
    tally_buffer_destroy(in);
    tally_buffer_destroy(out);
    return status;
}

static tally_status use_reduce_group(void) {
    return use_reduce("stub:alpha");
}

static tally_status use_reduce_single(void) {
    return use_reduce("stub:beta");
}

/* The descriptor names a variant, or few items would be reduced without the device (few.c). */
static tally_status use_host(const char *select) {
    tally_context *context = NULL;
    float sum = 0;
    tally_status status = tally_context_create(select, &context);
    static const uint64_t sizes[] = {0, 5, MANY};
    const tally_reduce_desc desc = {.size = sizeof desc, .op = TALLY_SUM, .in = TALLY_F32, .variant = "auto"};
    for (size_t s = 0; s < TALLY_ARRAY_LENGTH(sizes); s++) {
        TRY(sizes[s] < MANY ? tally_reduce_host_inputs(context, &desc, (const void *[]){items}, sizes[s], &sum)
                            : tally_reduce_host(context, TALLY_SUM, TALLY_F32, items, sizes[s], &sum));
        if (!status) expect_sum(0, sizes[s], sum);
    }
    tally_context_destroy(context);
    return status;
}

static tally_status use_host_copied(void) {
    return use_host("stub:alpha");
}

static tally_status use_host_in_place(void) {
    return use_host("stub:beta");
}

/* Pieces smaller than, equal to and larger than the staging; two results; then a feed that is
 * destroyed before its end. */
static tally_status use_feed(const char *select) {
    tally_context *context = NULL;
    tally_feed *feed = NULL;
    tally_reduce_desc desc = sum_f32;
    desc.max_n = 10000;
    static float piece[30000];
    float sum = 0;
    tally_status status = tally_context_create(select, &context);
    TRY(tally_feed_create(context, &desc, &feed));
    for (int again = 0; again < 2; again++) {
        static const uint64_t pieces[] = {1, 4095, 10000, 30000, 7, 25000};
        uint64_t at = 0;
        for (size_t p = 0; p < TALLY_ARRAY_LENGTH(pieces); p++) {
            memcpy(piece, items + at, pieces[p] * sizeof(float));
            TRY(tally_feed_push(feed, piece, pieces[p]));
            memset(piece, 0x77, sizeof piece);
            at += pieces[p];
        }
        TRY(tally_feed_finish(feed, items + at, 3, &sum));
        if (!status) expect_sum(0, at + 3, sum);
    }
    TRY(tally_feed_push(feed, items, 100000)); /* some of it is in flight when the feed is destroyed */
    stub.in_void = 1;
    tally_context_destroy(context);
    tally_feed_destroy(feed);
    stub.in_void = 0;
    return status;
}

static tally_status use_feed_copied(void) {
    return use_feed("stub:alpha");
}

static tally_status use_feed_in_place(void) {
    return use_feed("stub:beta");
}

/* A custom op with two inputs, destroyed before its plan; then a feed of it, in pieces. */
static tally_status use_custom(const char *select) {
    static const tally_op_field fields[] = {{"s", TALLY_F64, "0", "(f64)x * y * p.k", "a.s + b.s"},
                                            {"n", TALLY_U64, "0", "1", "a.n + b.n"}};
    static const tally_op_param params[] = {{"k", TALLY_F64, 2}};
    const tally_op_desc own = {.size = sizeof own,
                               .name = "own",
                               .inputs = 2,
                               .fields = fields,
                               .field_count = 2,
                               .params = params,
                               .param_count = 1,
                               .finish = "a.n == n ? a.s : -1",
                               .out = TALLY_F64};
    enum { PAIRS = 40000 };
    static float x[PAIRS], y[PAIRS];
    double expected = 0, result = 0;
    for (int i = 0; i < PAIRS; i++) x[i] = (float)(i % 7), y[i] = (float)(i % 5), expected += 2.0 * x[i] * y[i];
    tally_context *context = NULL;
    tally_custom_op *op = NULL;
    tally_plan *plan = NULL;
    tally_feed *feed = NULL;
    tally_queue *queue = NULL;
    tally_buffer *in[2] = {NULL, NULL}, *out = NULL;
    tally_status status = tally_context_create(select, &context);
    TRY(tally_op_create(&own, &op));
    const tally_reduce_desc desc = {.size = sizeof desc, .custom = op, .in = TALLY_F32, .max_n = PAIRS};
    TRY(tally_plan_create(context, &desc, &plan));
    TRY(tally_feed_create(context, &desc, &feed));
    tally_op_destroy(op);
    TRY(tally_queue_create(context, &queue));
    TRY(tally_buffer_create(context, sizeof result, &out));
    for (int k = 0; k < 2; k++) {
        TRY(tally_buffer_create(context, sizeof x, &in[k]));
        TRY(tally_buffer_write(queue, in[k], 0, k ? y : x, sizeof x));
    }
    TRY(reduce_inputs(plan, queue, (const tally_buffer *const *)in, NULL, PAIRS, out, 0));
    TRY(tally_buffer_read(queue, out, 0, &result, sizeof result));
    const tally_status waited = queue ? tally_queue_wait(queue) : TALLY_OK;
    TRY(waited);
    if (!status && result != expected) fail_msg("own: %g, should be %g", result, expected);
    for (int again = 0; again < 2; again++) {
        result = 0;
        TRY(tally_feed_push_inputs(feed, (const void *[]){x, y}, 1000));
        TRY(tally_feed_push_inputs(feed, (const void *[]){x + 1000, y + 1000}, 35000));
        TRY(tally_feed_finish_inputs(feed, (const void *[]){x + 36000, y + 36000}, PAIRS - 36000, &result));
        if (!status && result != expected) fail_msg("own, fed: %g, should be %g", result, expected);
    }
    tally_context_destroy(context);
    tally_feed_destroy(feed);
    tally_plan_destroy(plan);
    tally_queue_destroy(queue);
    tally_buffer_destroy(in[0]);
    tally_buffer_destroy(in[1]);
    tally_buffer_destroy(out);
    return status;
}

static tally_status use_custom_copied(void) {
    return use_custom("stub:alpha");
}

static tally_status use_custom_in_place(void) {
    return use_custom("stub:beta");
}

/* Two inputs, several ops, host arrays. */
static tally_status use_pairs(const char *select) {
    enum { PAIRS = 300001 };
    static const tally_term_desc ops[] = {{.op = TALLY_DOT}, {.op = TALLY_ALLCLOSE}};
    struct {
        double dot;
        uint8_t close;
    } result = {0, 9};
    static double x[PAIRS], y[PAIRS];
    for (int i = 0; i < PAIRS; i++) x[i] = y[i] = i % 5;
    y[250000] = 7;
    tally_context *context = NULL;
    tally_status status = tally_context_create(select, &context);
    const tally_reduce_desc desc = {.size = sizeof desc, .terms = ops, .term_count = 2, .in = TALLY_F64};
    TRY(tally_reduce_host_inputs(context, &desc, (const void *[]){x, y}, PAIRS, &result));
    if (!status) assert_true(result.dot == 6 * (PAIRS - 1) / 1.0 && result.close == 0);
    tally_context_destroy(context);
    return status;
}

static tally_status use_pairs_copied(void) {
    return use_pairs("stub:alpha");
}

static tally_status use_pairs_in_place(void) {
    return use_pairs("stub:beta");
}

/* ---- the tests ------------------------------------------------------------------------------ */

static void make_items(void) {
    if (items) return;
    items = malloc(MANY * sizeof *items);
    assert_non_null(items);
    pattern_fill(PATTERN_WIDE, TALLY_F32, items, MANY);
}

#define FAILURE_TEST(name, mode)                                                                                               \
    static void test_##name##_##mode(void **unused) {                                                                          \
        (void)unused;                                                                                                          \
        make_items();                                                                                                          \
        for (int lost = 0; lost < 2; lost++) fail_each_call(use_##name, mode, lost);                                           \
    }
FAILURE_TEST(devices, CACHE_OFF)
FAILURE_TEST(context, CACHE_OFF)
FAILURE_TEST(memory, CACHE_OFF)
FAILURE_TEST(plan_group, CACHE_OFF)
FAILURE_TEST(plan_group, CACHE_COLD)
FAILURE_TEST(plan_group, CACHE_WARM)
FAILURE_TEST(plan_prebuilt, CACHE_OFF)
FAILURE_TEST(plan_prebuilt, CACHE_COLD)
FAILURE_TEST(plan_single, CACHE_COLD)
FAILURE_TEST(plan_single, CACHE_WARM)
FAILURE_TEST(reduce_group, CACHE_OFF)
FAILURE_TEST(reduce_group, CACHE_WARM)
FAILURE_TEST(reduce_single, CACHE_OFF)
FAILURE_TEST(host_copied, CACHE_OFF)
FAILURE_TEST(host_in_place, CACHE_OFF)
FAILURE_TEST(host_in_place, CACHE_WARM)
FAILURE_TEST(feed_copied, CACHE_OFF)
FAILURE_TEST(feed_in_place, CACHE_OFF)
FAILURE_TEST(custom_copied, CACHE_OFF)
FAILURE_TEST(custom_copied, CACHE_WARM)
FAILURE_TEST(custom_in_place, CACHE_OFF)
FAILURE_TEST(pairs_copied, CACHE_OFF)
FAILURE_TEST(pairs_in_place, CACHE_OFF)

static void test_free_items(void **unused) {
    (void)unused;
    free(items);
    items = NULL;
}

const core_test failure_tests[] = {
    {"each call fails: devices", test_devices_CACHE_OFF},
    {"each call fails: context", test_context_CACHE_OFF},
    {"each call fails: memory", test_memory_CACHE_OFF},
    {"each call fails: plan", test_plan_group_CACHE_OFF},
    {"each call fails: plan, cold cache", test_plan_group_CACHE_COLD},
    {"each call fails: plan, warm cache", test_plan_group_CACHE_WARM},
    {"each call fails: prebuilt plan", test_plan_prebuilt_CACHE_OFF},
    {"each call fails: prebuilt plan, cold cache", test_plan_prebuilt_CACHE_COLD},
    {"each call fails: CPU plan, cold cache", test_plan_single_CACHE_COLD},
    {"each call fails: CPU plan, warm cache", test_plan_single_CACHE_WARM},
    {"each call fails: reduce", test_reduce_group_CACHE_OFF},
    {"each call fails: reduce, warm cache", test_reduce_group_CACHE_WARM},
    {"each call fails: CPU reduce", test_reduce_single_CACHE_OFF},
    {"each call fails: reduce_host", test_host_copied_CACHE_OFF},
    {"each call fails: reduce_host in place", test_host_in_place_CACHE_OFF},
    {"each call fails: reduce_host in place, warm cache", test_host_in_place_CACHE_WARM},
    {"each call fails: feed", test_feed_copied_CACHE_OFF},
    {"each call fails: CPU feed", test_feed_in_place_CACHE_OFF},
    {"each call fails: a custom op", test_custom_copied_CACHE_OFF},
    {"each call fails: a custom op, warm cache", test_custom_copied_CACHE_WARM},
    {"each call fails: a custom op on a CPU", test_custom_in_place_CACHE_OFF},
    {"each call fails: two inputs", test_pairs_copied_CACHE_OFF},
    {"each call fails: two inputs in place", test_pairs_in_place_CACHE_OFF},
    {"the items are freed", test_free_items},
    {NULL, NULL},
};
