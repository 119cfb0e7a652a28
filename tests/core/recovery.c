/* SPDX-License-Identifier: MIT */
/* After a failure: plans and contexts stay usable, and so do programs that the driver refuses. */
#define _XOPEN_SOURCE 700
#include <stdlib.h>
#include <string.h>

#include "core.h"
#include "oracle/oracle.h"
#include "oracle/patterns.h"
#include "tests/support/folders.h"

#define ITEMS 300007

static const tally_reduce_desc sum_f32 = {.size = sizeof(tally_reduce_desc), .op = TALLY_SUM, .in = TALLY_F32, .max_n = ITEMS};

static float items[ITEMS];

static void fill_items(void) {
    pattern_fill(PATTERN_WIDE, TALLY_F32, items, ITEMS);
}

static void expect_sum(uint64_t n, float result) {
    float expected;
    oracle_reduce(TALLY_SUM, TALLY_F32, items, n, &expected);
    if (memcmp(&result, &expected, sizeof result) != 0)
        fail_msg("sum of %llu items: %a, should be %a", (unsigned long long)n, (double)result, (double)expected);
}

/* A reduction that could not be enqueued leaves its plan as it was. */
static void test_reduce_again(void **unused) {
    (void)unused;
    fill_items();
    for (int k = 1, failed = 1; failed; k++) {
        tally_context *context;
        tally_buffer *in, *out;
        tally_queue *queue;
        tally_plan *plan;
        float sum = 0;
        stub_reset();
        MUST(tally_context_create("stub:alpha", &context));
        MUST(tally_plan_create(context, &sum_f32, &plan));
        MUST(tally_buffer_create(context, sizeof items, &in));
        MUST(tally_buffer_create(context, sizeof sum, &out));
        MUST(tally_queue_create(context, &queue));
        MUST(tally_buffer_write(queue, in, 0, items, sizeof items));
        stub.fail_at = stub.calls + k;
        stub.fail_with = TALLY_E_DEVICE;
        failed = tally_reduce(plan, queue, in, ITEMS, out) != TALLY_OK;
        stub.fail_at = 0;
        MUST(tally_queue_wait(queue));
        MUST(tally_reduce(plan, queue, in, ITEMS - 1, out));
        MUST(tally_buffer_read(queue, out, 0, &sum, sizeof sum));
        MUST(tally_queue_wait(queue));
        expect_sum(ITEMS - 1, sum);
        tally_plan_destroy(plan);
        tally_buffer_destroy(in);
        tally_buffer_destroy(out);
        tally_queue_destroy(queue);
        tally_context_destroy(context);
        SOUND();
        assert_true(k > 1 || failed);
    }
}

/* A plan that could not be made does not spoil the context for the next one. */
static void test_plan_again(void **unused) {
    (void)unused;
    fill_items();
    for (int k = 1, failed = 1; failed; k++) {
        tally_context *context;
        tally_plan *plan = NULL;
        float sum;
        stub_reset();
        MUST(tally_context_create("stub:alpha", &context));
        stub.fail_at = stub.calls + k;
        stub.fail_with = TALLY_E_BUILD;
        failed = tally_plan_create(context, &sum_f32, &plan) != TALLY_OK;
        if (failed) assert_null(plan);
        tally_plan_destroy(plan);
        stub.fail_at = 0;
        MUST(tally_reduce_host(context, TALLY_SUM, TALLY_F32, items, 5000, &sum));
        expect_sum(5000, sum);
        tally_context_destroy(context);
        SOUND();
    }
}

/* The driver has changed and its version has not. Its binaries are refused, which only the counters
 * show. */
static void test_refused_binaries(void **unused) {
    (void)unused;
    fill_items();
    char dir[512];
    folder_make(dir, sizeof dir);
    setenv("TALLY_CACHE_DIR", dir, 1);
    for (int pass = 0; pass < 3; pass++) {
        tally_context *context;
        tally_context_info info;
        float sum;
        stub_reset();
        stub.refuse_binaries = pass == 1;
        MUST(tally_context_create("stub:alpha", &context));
        MUST(tally_reduce_host(context, TALLY_SUM, TALLY_F32, items, 5000, &sum));
        expect_sum(5000, sum);
        MUST(tally_context_get_info(context, &info));
        tally_context_destroy(context);
        assert_int_equal(info.programs_built, pass == 2 ? 0 : 1);
        assert_int_equal(info.programs_from_disk, pass == 2 ? 1 : 0);
        assert_int_equal(info.cache_entries_damaged, pass == 1 ? 1 : 0);
        SOUND();
    }
    folder_remove(dir);
    setenv("TALLY_CACHE_DIR", "off", 1);
}

static void ignore_file(const char *file, void *data) {
    (void)file, (void)data;
}

/* Prebuilt programs, of both stages and the self-test's too, are not cached on disk. The disk gets
 * only the self-test's verdict. */
static void test_prebuilt(void **unused) {
    (void)unused;
    tally_context *context;
    tally_context_info info;
    tally_plan *plan, *second;
    char dir[512], text[4096];
    folder_make(dir, sizeof dir);
    setenv("TALLY_CACHE_DIR", dir, 1);
    stub_reset();
    stub.has_prebuilt = 1;
    MUST(tally_context_create("stub:alpha", &context));
    MUST(tally_plan_create(context, &sum_f32, &plan));
    MUST(tally_plan_create(context, &sum_f32, &second));
    MUST(tally_context_get_info(context, &info));
    MUST(tally_context_describe(context, text, sizeof text));
    assert_non_null(strstr(text, "programs: 0 built, 2 prebuilt, 0 from disk, 2 from memory, 0 damaged entries\n"));
    assert_int_equal(info.programs_prebuilt, 2);
    assert_int_equal(stub.prebuilt, 3);
    assert_int_equal(stub.sources + stub.binaries, 0);
    assert_int_equal(folder_walk(dir, ignore_file, NULL), 1);
    tally_plan_destroy(plan);
    tally_plan_destroy(second);
    tally_context_destroy(context);
    SOUND();
    folder_remove(dir);
    setenv("TALLY_CACHE_DIR", "off", 1);
}

const core_test recovery_tests[] = {
    {"reduce again after a failure", test_reduce_again},
    {"plan again after a failure", test_plan_again},
    {"binaries refused", test_refused_binaries},
    {"prebuilt programs", test_prebuilt},
    {NULL, NULL},
};
