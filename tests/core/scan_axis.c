/* SPDX-License-Identifier: MIT */
/* Scans along an axis on the stub: refusals, launches, and the failure of each of the backend's
 * calls. */
#define _XOPEN_SOURCE 700
#include <stdlib.h>
#include <string.h>

#include "tests/support/calls.h"
#include "core.h"
#include "scan/scan.h"

#define MAX_N 100000
#define CALL "tally_scan_axis"

static const tally_scan_desc sum_i32 = {
    .size = sizeof(tally_scan_desc), .op = TALLY_SUM, .in = TALLY_I32, .max_n = MAX_N, .flags = TALLY_ALONG_AXIS};

typedef struct setup {
    tally_context *context;
    tally_queue *queue;
    tally_buffer *in, *out; /* MAX_N of i32 and i64 */
    tally_plan *plan;
} setup;

static setup begin(const char *select, tally_scan_desc desc) {
    setup s;
    MUST(tally_context_create(select, &s.context));
    MUST(tally_queue_create(s.context, &s.queue));
    MUST(tally_buffer_create(s.context, MAX_N * 4, &s.in));
    MUST(tally_buffer_create(s.context, MAX_N * 8, &s.out));
    MUST(tally_scan_plan_create(s.context, &desc, &s.plan));
    return s;
}

static void end_within(setup *s) {
    MUST(tally_queue_wait(s->queue));
    tally_plan_destroy(s->plan);
    tally_buffer_destroy(s->in);
    tally_buffer_destroy(s->out);
    tally_queue_destroy(s->queue);
    tally_context_destroy(s->context);
}

static void end(setup *s) {
    end_within(s);
    SOUND();
}

/* A matrix of 30 rows of 40 items, its rows 50 apart, that is scanned along its rows. */
static tally_axis matrix[2];

static tally_scan_axis_args args_of(const setup *s) {
    matrix[0] = (tally_axis){.extent = 30, .in_stride = {50}, .out_stride = 40};
    matrix[1] = (tally_axis){.extent = 40, .in_stride = {1}, .out_stride = 1};
    return (tally_scan_axis_args){
        .size = sizeof(tally_scan_axis_args), .axes = matrix, .axis_count = 2, .axis = 1, .in = s->in, .out = s->out};
}

/* ---- refusals -------------------------------------------------------------------------------- */

static void test_descriptors(void **unused) {
    (void)unused;
    tally_context *context;
    tally_plan *plan;
    MUST(tally_context_create("stub:alpha", &context));
    tally_scan_desc desc = sum_i32;
    desc.segments = TALLY_SEGMENTS_FLAGS;
    REFUSED(tally_scan_plan_create(context, &desc, &plan), TALLY_E_UNSUPPORTED, "tally_scan_plan_create", "desc.segments",
            "TALLY_ALONG_AXIS");
    desc = sum_i32;
    desc.variant = "warp_carry";
    REFUSED(tally_scan_plan_create(context, &desc, &plan), TALLY_E_UNSUPPORTED, "variant warp_carry", "canonical",
            "TALLY_ALONG_AXIS");
    assert_null(plan);
    tally_context_destroy(context);
    SOUND();
}

static void test_arguments(void **unused) {
    (void)unused;
    setup s = begin("stub", sum_i32), other = begin("stub", sum_i32);
    tally_scan_axis_args a = args_of(&s);
    const int launches = stub.launches;
    BAD(tally_scan_axis(NULL, s.queue, &a), CALL, "plan");
    BAD(tally_scan_axis(s.plan, NULL, &a), CALL, "queue");
    BAD(tally_scan_axis(s.plan, other.queue, &a), CALL, "queue");
    BAD(tally_scan_axis(s.plan, s.queue, NULL), CALL, "args is NULL");
    a.size = 8;
    BAD(tally_scan_axis(s.plan, s.queue, &a), CALL, "args.size is 8", "tally_scan_axis_args");
    a = args_of(&s), a.axes = NULL;
    BAD(tally_scan_axis(s.plan, s.queue, &a), CALL, "axes is NULL");
    a = args_of(&s), a.in = NULL;
    BAD(tally_scan_axis(s.plan, s.queue, &a), CALL, "in is NULL");
    a = args_of(&s), a.out = NULL;
    BAD(tally_scan_axis(s.plan, s.queue, &a), CALL, "out is NULL");
    a = args_of(&s), a.in = other.in;
    BAD(tally_scan_axis(s.plan, s.queue, &a), CALL, "in");
    a = args_of(&s), a.axis_count = 0;
    BAD(tally_scan_axis(s.plan, s.queue, &a), CALL, "axis_count is 0");
    a = args_of(&s), a.axis_count = TALLY_MAX_AXES + 1;
    BAD(tally_scan_axis(s.plan, s.queue, &a), CALL, "axis_count is 17");
    a = args_of(&s), a.axis = 2;
    BAD(tally_scan_axis(s.plan, s.queue, &a), CALL, "axis is 2", "2 axes");
    assert_int_equal(stub.launches, launches);
    end_within(&other);
    end(&s);
}

/* A plan serves tally_scan_axis or the other calls. */
static void test_kinds(void **unused) {
    (void)unused;
    setup s = begin("stub", sum_i32);
    tally_scan_desc desc = sum_i32;
    tally_plan *plan;
    desc.flags = 0;
    const tally_scan_axis_args a = args_of(&s);
    BAD(tally_scan(s.plan, s.queue, s.in, 10, s.out), "tally_scan", "TALLY_ALONG_AXIS");
    BAD(scan_at(s.plan, s.queue, s.in, 0, 10, s.out, 0), "tally_scan_with", "TALLY_ALONG_AXIS");
    BAD(scan_next(s.plan, s.queue, s.in, 0, NULL, 0, 10, s.out, 0), "tally_scan_next", "TALLY_ALONG_AXIS");
    MUST(tally_scan_plan_create(s.context, &desc, &plan));
    BAD(tally_scan_axis(plan, s.queue, &a), CALL, "lacks TALLY_ALONG_AXIS");
    tally_plan_destroy(plan);
    const tally_reduce_desc reduction = {.size = sizeof reduction, .op = TALLY_SUM, .in = TALLY_I32, .max_n = 100};
    MUST(tally_plan_create(s.context, &reduction, &plan));
    BAD(tally_scan_axis(plan, s.queue, &a), CALL, "reduction");
    tally_plan_destroy(plan);
    end(&s);
}

static void test_places(void **unused) {
    (void)unused;
    setup s = begin("stub", sum_i32);
    const int launches = stub.launches;
    tally_scan_axis_args a = args_of(&s);
    matrix[0].extent = 2501;
    BAD(tally_scan_axis(s.plan, s.queue, &a), CALL, "max_n", "100040", "100000");
    a = args_of(&s), matrix[0].extent = UINT64_MAX / 2;
    BAD(tally_scan_axis(s.plan, s.queue, &a), CALL, "64 bits");
    a = args_of(&s), matrix[0].extent = matrix[1].extent = (uint64_t)1 << 32;
    BAD(tally_scan_axis(s.plan, s.queue, &a), CALL, "64 bits");
    a = args_of(&s), a.in_offset = MAX_N - 29 * 50 - 39;
    BAD(tally_scan_axis(s.plan, s.queue, &a), CALL, "of in are needed", "100000");
    a = args_of(&s), a.out_offset = MAX_N - 30 * 40 + 1;
    BAD(tally_scan_axis(s.plan, s.queue, &a), CALL, "of out are needed", "100000");
    a = args_of(&s), matrix[1].in_stride[0] = -1, a.in_offset = 38;
    BAD(tally_scan_axis(s.plan, s.queue, &a), CALL, "strides of in", "below place 0");
    a = args_of(&s), matrix[0].in_stride[0] = INT64_MIN;
    BAD(tally_scan_axis(s.plan, s.queue, &a), CALL, "strides of in");
    a = args_of(&s), matrix[0].out_stride = -40, a.out_strided = 1, a.out_offset = 29 * 40 - 1;
    BAD(tally_scan_axis(s.plan, s.queue, &a), CALL, "strides of out", "below place 0");
    a = args_of(&s), matrix[0].out_stride = 39, a.out_strided = 1;
    BAD(tally_scan_axis(s.plan, s.queue, &a), CALL, "results would overlap", "39");
    a = args_of(&s), matrix[1].out_stride = 0, a.out_strided = 1;
    BAD(tally_scan_axis(s.plan, s.queue, &a), CALL, "results would overlap", "0");
    a = args_of(&s), a.out = s.in;
    BAD(tally_scan_axis(s.plan, s.queue, &a), CALL, "overlap"); /* i64 values over i32 items */
    assert_int_equal(stub.launches, launches);
    /* No items: nothing is checked of strides and offsets, and nothing is launched. */
    a = args_of(&s), matrix[0].extent = 0, matrix[0].in_stride[0] = INT64_MIN, a.out_offset = MAX_N;
    MUST(tally_scan_axis(s.plan, s.queue, &a));
    a = args_of(&s), matrix[1].extent = 0, matrix[1].out_stride = 0, a.out_strided = 1;
    MUST(tally_scan_axis(s.plan, s.queue, &a));
    const tally_axis empty[] = {{.extent = 3}, {.extent = UINT64_C(1) << 40}, {.extent = UINT64_C(1) << 40}, {.extent = 0}};
    a = args_of(&s), a.axes = empty, a.axis_count = 4, a.axis = 0;
    MUST(tally_scan_axis(s.plan, s.queue, &a));
    assert_int_equal(stub.launches, launches);
    end(&s);
}

/* In place: each value at its item's byte. Otherwise the ranges must be apart. */
static void test_in_place(void **unused) {
    (void)unused;
    tally_scan_desc desc = sum_i32;
    desc.op = TALLY_MAX;
    setup s = begin("stub", desc);
    tally_scan_axis_args a = args_of(&s);
    a.out = s.in, a.out_strided = 1, matrix[0].out_stride = 50;
    MUST(tally_scan_axis(s.plan, s.queue, &a));
    a.in_offset = a.out_offset = 7;
    MUST(tally_scan_axis(s.plan, s.queue, &a));
    a.out_offset = 8;
    BAD(tally_scan_axis(s.plan, s.queue, &a), CALL, "overlap");
    a.out_offset = 7, matrix[0].out_stride = 51;
    BAD(tally_scan_axis(s.plan, s.queue, &a), CALL, "overlap");
    a.out_offset = 29 * 50 + 40 + 7, matrix[0].out_stride = 50;
    MUST(tally_scan_axis(s.plan, s.queue, &a));
    end(&s);
}

/* ---- launches -------------------------------------------------------------------------------- */

/* Returns the launches of a call over `lists` lists of n items that lie side by side, which
 * allocates nothing and does not wait. */
static int launches_of(setup *s, uint64_t n, uint64_t lists, bool columns) {
    int opened = 0, still = 0;
    const int launches = stub.launches, waits = stub.waits;
    tally_scan_axis_args a = args_of(s);
    matrix[0] = (tally_axis){.extent = lists, .in_stride = {columns ? 1 : (int64_t)n}};
    matrix[1] = (tally_axis){.extent = n, .in_stride = {columns ? (int64_t)lists : 1}};
    for (int k = 0; k < STUB_KIND_COUNT; k++) opened += stub.opened[k];
    MUST(tally_scan_axis(s->plan, s->queue, &a));
    for (int k = 0; k < STUB_KIND_COUNT; k++) still += stub.opened[k];
    assert_int_equal(still, opened);
    assert_int_equal(stub.waits, waits);
    return stub.launches - launches;
}

/* All lists in one launch, but for few and long ones, which have `each` launches. */
static void expect_launches(const char *select, const char *variant, int each) {
    tally_scan_desc desc = sum_i32;
    desc.variant = variant;
    setup s = begin(select, desc);
    assert_string_equal(tally_plan_variant(s.plan), variant);
    assert_int_equal(launches_of(&s, 1, 5000, false), 1);
    assert_int_equal(launches_of(&s, 100, 1000, false), 1);
    assert_int_equal(launches_of(&s, 1000, 100, true), 1);
    assert_int_equal(launches_of(&s, 4000, 3, false), 1);
    assert_int_equal(launches_of(&s, 40000, 2, false), 2 * each);
    assert_int_equal(launches_of(&s, 40000, 2, true), 1);
    end(&s);
}

static void test_launches(void **unused) {
    (void)unused;
    expect_launches("stub:alpha", "look_back", 1);
    expect_launches("stub:alpha", "reduce_then_scan", 3);
    expect_launches("stub:beta", "cpu_scan", 1);
}

/* ---- values and failures --------------------------------------------------------------------- */

#define TRY(call)                                                                                                              \
    if (!status) status = (call)

/* Scans the columns of a matrix, in sequence as the stub does. */
static tally_status use_axis(void) {
    enum { HEIGHT = 300, WIDTH = 7 };
    static int32_t x[HEIGHT * WIDTH];
    static int64_t got[HEIGHT * WIDTH];
    for (int i = 0; i < HEIGHT * WIDTH; i++) x[i] = i % 13 - 5;
    tally_context *context = NULL;
    tally_plan *plan = NULL;
    tally_queue *queue = NULL;
    tally_buffer *in = NULL, *out = NULL;
    const tally_axis axes[] = {{.extent = HEIGHT, .in_stride = {WIDTH}}, {.extent = WIDTH, .in_stride = {1}}};
    tally_status status = tally_context_create("stub:alpha", &context);
    TRY(tally_scan_plan_create(context, &sum_i32, &plan));
    TRY(tally_queue_create(context, &queue));
    TRY(tally_buffer_create(context, sizeof x, &in));
    TRY(tally_buffer_create(context, sizeof got, &out));
    TRY(tally_buffer_write(queue, in, 0, x, sizeof x));
    const tally_scan_axis_args args = {.size = sizeof args, .axes = axes, .axis_count = 2, .axis = 0, .in = in, .out = out};
    TRY(tally_scan_axis(plan, queue, &args));
    TRY(tally_buffer_read(queue, out, 0, got, sizeof got));
    const tally_status waited = queue ? tally_queue_wait(queue) : TALLY_OK;
    TRY(waited);
    for (int column = 0; !status && column < WIDTH; column++) {
        int64_t sum = 0;
        for (int row = 0; row < HEIGHT; row++) assert_int_equal(got[row * WIDTH + column], sum += x[row * WIDTH + column]);
    }
    tally_context_destroy(context);
    tally_plan_destroy(plan);
    tally_queue_destroy(queue);
    tally_buffer_destroy(in);
    tally_buffer_destroy(out);
    return status;
}

static void test_failures(void **unused) {
    (void)unused;
    for (int lost = 0; lost < 2; lost++) fail_each_call(use_axis, CACHE_OFF, lost);
}

const core_test scan_axis_tests[] = {
    {"scan axis: descriptors", test_descriptors},  {"scan axis: arguments", test_arguments},
    {"scan axis: kinds of plans", test_kinds},     {"scan axis: places", test_places},
    {"scan axis: in place", test_in_place},        {"scan axis: launches", test_launches},
    {"scan axis: each call fails", test_failures}, {NULL, NULL},
};
