/* SPDX-License-Identifier: MIT */
/* Reductions over several devices: calls that are refused, and failures of a device. The values are
 * tested by conformance (tests/conformance/devices.c). */
#include <stdio.h>
#include <string.h>

#include "core.h"
#include "oracle/oracle.h"
#include "oracle/patterns.h"

#define N UINT64_C(9001)

static float items[N];
static const tally_reduce_desc var_f32 = {.size = sizeof(tally_reduce_desc), .op = TALLY_VAR, .in = TALLY_F32, .max_n = N};

/* Checks that the call fails with the status and that the text has `part`. */
static void expect(tally_status status, tally_status wanted, const char *part) {
    if (status != wanted || !strstr(tally_last_error(), part))
        fail_msg("%s, \"%s\", instead of %s with \"%s\"", tally_status_name(status), tally_last_error(),
                 tally_status_name(wanted), part);
}

static void test_create(void **state) {
    (void)state;
    tally_context *contexts[2];
    tally_devices *devices = (tally_devices *)items;
    MUST(tally_context_create("stub:alpha", &contexts[0]));
    contexts[1] = contexts[0];
    expect(tally_devices_create(NULL, 1, &var_f32, &devices), TALLY_E_ARGUMENT, "contexts is NULL");
    assert_null(devices);
    expect(tally_devices_create(contexts, 2, NULL, &devices), TALLY_E_ARGUMENT, "desc is NULL");
    expect(tally_devices_create(contexts, 2, &var_f32, NULL), TALLY_E_ARGUMENT, "out is NULL");
    expect(tally_devices_create(contexts, 0, &var_f32, &devices), TALLY_E_ARGUMENT, "count is 0");
    expect(tally_devices_create(contexts, 65, &var_f32, &devices), TALLY_E_ARGUMENT, "count is 65");
    tally_reduce_desc desc = var_f32;
    desc.variant = "tree_global";
    expect(tally_devices_create(contexts, 2, &desc, &devices), TALLY_E_UNSUPPORTED, "device 0: ");
    contexts[1] = NULL;
    expect(tally_devices_create(contexts, 2, &var_f32, &devices), TALLY_E_ARGUMENT, "device 1: ");
    assert_null(devices);
    tally_devices_destroy(NULL);
    assert_null(tally_devices_plan(NULL, 0));
    tally_context_destroy(contexts[0]);
}

/* A share of no items needs no buffers. */
static void expect_empty_share(tally_devices *devices, tally_devices_share *shares) {
    float result = -1;
    shares[1] = (tally_devices_share){.queue = shares[1].queue};
    MUST(tally_devices_set_param(devices, "ddof", 0));
    MUST(tally_devices_reduce(devices, shares, sizeof(*shares)));
    MUST(tally_devices_finish(devices, &result));
    assert_true(result == 1);
}

static void test_calls(void **state) {
    (void)state;
    tally_context *contexts[2];
    tally_devices *devices;
    tally_queue *queues[2];
    tally_buffer *in[2], *out;
    float result = -1;
    for (uint64_t i = 0; i < N; i++) items[i] = i % 2 ? 1 : -1;
    for (int i = 0; i < 2; i++) {
        MUST(tally_context_create(i ? "stub:beta" : "stub:alpha", &contexts[i]));
        MUST(tally_queue_create(contexts[i], &queues[i]));
        MUST(tally_buffer_create(contexts[i], sizeof items, &in[i]));
        MUST(tally_buffer_write(queues[i], in[i], 0, items, sizeof items));
    }
    MUST(tally_buffer_create(contexts[1], 16, &out));
    MUST(tally_devices_create(contexts, 2, &var_f32, &devices));
    assert_true(tally_devices_plan(devices, 1) && !tally_devices_plan(devices, 2));
    const size_t size = sizeof(tally_devices_share);
    tally_devices_share shares[2];
    for (int i = 0; i < 2; i++) shares[i] = (tally_devices_share){.queue = queues[i], .in = {in[i]}, .n = 3000};
    expect(tally_devices_finish(devices, &result), TALLY_E_ARGUMENT, "nothing is enqueued");
    expect(tally_devices_reduce(NULL, shares, size), TALLY_E_ARGUMENT, "devices is NULL");
    expect(tally_devices_reduce((tally_devices *)items, shares, size), TALLY_E_ARGUMENT, "no tally_devices");
    expect(tally_devices_reduce(devices, NULL, size), TALLY_E_ARGUMENT, "shares is NULL");
    expect(tally_devices_reduce(devices, shares, 8), TALLY_E_ARGUMENT, "size is 8");
    expect(tally_devices_set_param(devices, "dof", 1), TALLY_E_ARGUMENT, "ddof");
    shares[1].in_offset[0] = N;
    expect(tally_devices_reduce(devices, shares, size), TALLY_E_ARGUMENT, "device 1: ");
    shares[1] = (tally_devices_share){.queue = queues[0], .in = {in[1]}, .n = 3000};
    expect(tally_devices_reduce(devices, shares, size), TALLY_E_ARGUMENT, "device 1: ");
    shares[1].queue = queues[1];
    shares[0].n = UINT64_MAX;
    expect(tally_devices_reduce(devices, shares, size), TALLY_E_ARGUMENT, "device 0: ");
    shares[0].n = 3000;
    MUST(tally_devices_reduce(devices, shares, size));
    expect(tally_devices_reduce(devices, shares, size), TALLY_E_ARGUMENT, "has not been finished");
    expect(tally_devices_set_param(devices, "ddof", 3000), TALLY_E_ARGUMENT, "has not been finished");
    expect(tally_devices_finish(devices, NULL), TALLY_E_ARGUMENT, "result is NULL");
    MUST(tally_devices_finish(devices, &result));
    assert_true(result == 1);
    MUST(tally_devices_set_param(devices, "ddof", 3000));
    MUST(tally_devices_reduce(devices, shares, size));
    /* A wrong place leaves the call to be finished. */
    expect(tally_devices_finish_to(devices, NULL, out, 0), TALLY_E_ARGUMENT, "queue is NULL");
    expect(tally_devices_finish_to(devices, queues[0], out, 0), TALLY_E_ARGUMENT, "out belongs to another context");
    expect(tally_devices_finish_to(devices, queues[1], out, 16), TALLY_E_ARGUMENT, "out");
    MUST(tally_devices_finish_to(devices, queues[1], out, 4));
    MUST(tally_buffer_read(queues[1], out, 4, &result, sizeof result));
    MUST(tally_queue_wait(queues[1]));
    assert_true(result == 2);
    expect_empty_share(devices, shares);
    MUST(tally_devices_reduce(devices, shares, size)); /* destroyed while it is under way */
    tally_devices_destroy(devices);
    tally_buffer_destroy(out);
    for (int i = 0; i < 2; i++) {
        tally_buffer_destroy(in[i]);
        tally_queue_destroy(queues[i]);
        tally_context_destroy(contexts[i]);
    }
}

#define TRY(call)                                                                                                              \
    if (!status) status = (call)

/* Reduces over two devices, and finishes. */
static tally_status use_devices(void) {
    tally_context *contexts[2] = {NULL};
    tally_devices *devices = NULL;
    tally_queue *queues[2] = {NULL};
    tally_buffer *in[2] = {NULL};
    tally_devices_share shares[2];
    float result = -1;
    tally_status status = TALLY_OK;
    const tally_reduce_desc desc = {.size = sizeof desc, .op = TALLY_SUM, .in = TALLY_F32, .max_n = N};
    for (int i = 0; i < 2; i++) {
        TRY(tally_context_create(i ? "stub:beta" : "stub:alpha", &contexts[i]));
        TRY(tally_queue_create(contexts[i], &queues[i]));
        TRY(tally_buffer_create(contexts[i], sizeof items, &in[i]));
        TRY(tally_buffer_write(queues[i], in[i], 0, items, sizeof items));
        shares[i] = (tally_devices_share){.queue = queues[i], .in = {in[i]}, .in_offset = {i ? 5000 : 0}, .n = i ? 4001 : 5000};
    }
    TRY(tally_devices_create(contexts, 2, &desc, &devices));
    TRY(tally_devices_reduce(devices, shares, sizeof shares[0]));
    TRY(tally_devices_finish(devices, &result));
    if (!status) {
        float expected;
        oracle_reduce(TALLY_SUM, TALLY_F32, items, N, &expected);
        assert_memory_equal(&result, &expected, sizeof expected);
    }
    tally_devices_destroy(devices);
    for (int i = 0; i < 2; i++) {
        if (queues[i]) tally_queue_wait(queues[i]);
        tally_buffer_destroy(in[i]);
        tally_queue_destroy(queues[i]);
        tally_context_destroy(contexts[i]);
    }
    return status;
}

static void test_failures(void **state) {
    (void)state;
    pattern_fill(PATTERN_WIDE, TALLY_F32, items, N);
    for (int lost = 0; lost < 2; lost++) fail_each_call(use_devices, CACHE_OFF, lost);
}

const core_test devices_tests[] = {{"devices: making refused", test_create},
                                   {"devices: calls refused", test_calls},
                                   {"devices: each call fails once", test_failures},
                                   {NULL, NULL}};
