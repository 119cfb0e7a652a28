/* SPDX-License-Identifier: MIT */
/* Buffers on a real device: sizes beyond the device or beyond a cache, and host memory in place. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "direct.h"
#include "oracle/patterns.h"
#include "tests/support/calls.h"

/* A size beyond the device is refused at creation, not at the first use. The text names both
 * sizes. */
static void test_too_much_memory(void **state) {
    const place *at = *state;
    tally_context *context = direct_context(state);
    const tally_device_info device = at->info;
    const uint64_t sizes[] = {device.memory_bytes + 1, UINT64_C(1) << 62, UINT64_MAX - 1, UINT64_MAX};
    unsigned char byte = 0;
    for (size_t s = 0; s < TALLY_ARRAY_LENGTH(sizes); s++)
        for (int is_wrapped = 0; is_wrapped <= device.host_memory; is_wrapped++) {
            tally_buffer *buffer = NULL;
            char asked[32], has[32];
            snprintf(asked, sizeof asked, "%llu bytes", (unsigned long long)sizes[s]);
            snprintf(has, sizeof has, "%llu", (unsigned long long)device.memory_bytes);
            const tally_status status = is_wrapped ? tally_buffer_wrap_host(context, &byte, sizes[s], &buffer)
                                                   : tally_buffer_create(context, sizes[s], &buffer);
            if (status != TALLY_E_MEMORY || !strstr(tally_last_error(), asked) || !strstr(tally_last_error(), has))
                fail_msg("%s: %s: %s", asked, tally_status_name(status), status ? tally_last_error() : "");
            assert_null(buffer);
        }
}

static void test_wrap_host(void **state) {
    tally_context *context = direct_context(state);
    tally_context_info info;
    MUST(tally_context_get_info(context, &info));
    const uint64_t n = 50021;
    float *items = malloc((n + 1) * sizeof *items), result = 0;
    tally_buffer *in = NULL, *out;
    assert_non_null(items);
    pattern_fill(PATTERN_WIDE, TALLY_F32, items, n + 1);
    if (!info.device.host_memory) {
        assert_int_equal(tally_buffer_wrap_host(context, items, n * sizeof *items, &in), TALLY_E_UNSUPPORTED);
        assert_int_equal(tally_buffer_wrap_host(context, NULL, 0, &in), TALLY_E_UNSUPPORTED);
        assert_string_not_equal(tally_last_error(), "");
        free(items);
        return;
    }
    tally_queue *queue;
    tally_plan *plan;
    const tally_reduce_desc desc = {.size = sizeof desc, .op = TALLY_SUM, .in = TALLY_F32, .max_n = n};
    MUST(tally_queue_create(context, &queue));
    MUST(tally_plan_create(context, &desc, &plan));
    MUST(tally_buffer_wrap_host(context, &result, sizeof result, &out));
    for (uint64_t shift = 0; shift < 2; shift++) { /* the second time aligned to 4 bytes only */
        MUST(tally_buffer_wrap_host(context, items + shift, n * sizeof *items, &in));
        assert_int_equal(tally_buffer_bytes(in), n * sizeof *items);
        MUST(tally_reduce(plan, queue, in, n, out));
        float read;
        MUST(tally_buffer_read(queue, out, 0, &read, sizeof read));
        MUST(tally_queue_wait(queue));
        expect_result(TALLY_SUM, TALLY_F32, items + shift, n, &read, "of wrapped host memory, read");
        tally_buffer_destroy(in);
    }
    expect_result(TALLY_SUM, TALLY_F32, items + 1, n, &result, "of wrapped host memory, in place");
    MUST(tally_buffer_wrap_host(context, NULL, 0, &in)); /* an empty array has no address */
    assert_int_equal(tally_buffer_bytes(in), 0);
    MUST(tally_reduce(plan, queue, in, 0, out));
    MUST(tally_queue_wait(queue));
    expect_result(TALLY_SUM, TALLY_F32, items, 0, &result, "of wrapped host memory, empty");
    tally_buffer_destroy(in);
    tally_buffer_destroy(out);
    tally_plan_destroy(plan);
    tally_queue_destroy(queue);
    free(items);
}

/* Items go to the device and back through staging, two copies at a time. */
static void test_staging(void **state) {
    tally_context *context = direct_context(state);
    const uint64_t n = 70001, bytes = n * sizeof(uint32_t);
    tally_staging *from, *to, *empty;
    tally_buffer *buffer;
    tally_queue *queue;
    MUST(tally_staging_create(context, bytes, &from));
    MUST(tally_staging_create(context, bytes, &to));
    MUST(tally_staging_create(context, 0, &empty));
    MUST(tally_buffer_create(context, bytes, &buffer));
    MUST(tally_queue_create(context, &queue));
    uint32_t *items = tally_staging_memory(from), *back = tally_staging_memory(to);
    assert_true(items && back && items != back);
    pattern_fill(PATTERN_WIDE, TALLY_U32, items, n);
    memset(back, 0x5a, bytes);
    MUST(tally_buffer_write(queue, buffer, 0, items, bytes));
    MUST(tally_buffer_read(queue, buffer, 4, back, bytes - 4));
    MUST(tally_queue_wait(queue));
    assert_memory_equal(back, items + 1, bytes - 4);
    assert_int_equal(back[n - 1], 0x5a5a5a5a);
    tally_queue_destroy(queue);
    tally_buffer_destroy(buffer);
    tally_staging_destroy(empty);
    tally_staging_destroy(to);
    tally_staging_destroy(from);
}

/* Results written to staging in place, without a copy, and read by one. */
static void test_staging_in_place(void **state) {
    const place *at = *state;
    tally_context *context = direct_context(state);
    enum { N = 70001 };
    tally_staging *staging;
    tally_queue *queue;
    tally_plan *plan;
    tally_buffer *in;
    float items[N], read = 0;
    MUST(tally_staging_create(context, 2 * sizeof(float), &staging));
    tally_buffer *const out = tally_staging_buffer(staging);
    if (!out) {
        assert_int_equal(at->info.staging_in_place, 0);
        tally_staging_destroy(staging);
        return;
    }
    float *const results = tally_staging_memory(staging);
    const tally_reduce_desc desc = {.size = sizeof desc, .op = TALLY_SUM, .in = TALLY_F32, .max_n = N};
    pattern_fill(PATTERN_WIDE, TALLY_F32, items, N);
    results[0] = 42;
    MUST(tally_queue_create(context, &queue));
    MUST(tally_plan_create(context, &desc, &plan));
    MUST(tally_buffer_create(context, sizeof items, &in));
    MUST(tally_buffer_write(queue, in, 0, items, sizeof items));
    for (uint64_t n = N; n > N - 3; n--) {
        MUST(reduce_at(plan, queue, in, 0, n, out, 1));
        MUST(tally_queue_wait(queue));
        expect_result(TALLY_SUM, TALLY_F32, items, n, &results[1], "in staging, in place");
        MUST(tally_buffer_read(queue, out, sizeof(float), &read, sizeof read));
        MUST(tally_queue_wait(queue));
        assert_memory_equal(&read, &results[1], sizeof read);
    }
    assert_true(results[0] == 42);
    tally_buffer_destroy(in);
    tally_plan_destroy(plan);
    tally_queue_destroy(queue);
    tally_staging_destroy(staging);
}

/* ---- inputs larger than a cache -------------------------------------------------------------- */

/* A GPU may keep a part of such an input from call to call, so items change between them. */
#define LARGE_ROWS UINT64_C(17)
#define LARGE_ROW (UINT64_C(1) << 20)
#define LARGE (LARGE_ROWS * LARGE_ROW)
#define LARGE_OFFSET 3

static void expect_large(tally_context *context, tally_queue *queue, const tally_buffer *in, const float *items,
                         const char *what) {
    const tally_reduce_desc desc = {.size = sizeof desc, .op = TALLY_SUM, .in = TALLY_F32, .max_n = LARGE};
    tally_plan *plan;
    tally_buffer *out;
    float got;
    MUST(tally_plan_create(context, &desc, &plan));
    MUST(tally_buffer_create(context, sizeof got, &out));
    for (uint64_t offset = 0; offset <= LARGE_OFFSET; offset += LARGE_OFFSET) {
        MUST(reduce_at(plan, queue, in, offset, LARGE, out, 0));
        MUST(tally_buffer_read(queue, out, 0, &got, sizeof got));
        MUST(tally_queue_wait(queue));
        expect_result(TALLY_SUM, TALLY_F32, items + offset, LARGE, &got, what);
    }
    tally_plan_destroy(plan);
    tally_buffer_destroy(out);
}

static void expect_large_rows(tally_context *context, tally_queue *queue, const tally_buffer *in, const float *items) {
    const tally_segments_desc desc = {
        .size = sizeof desc, .by = TALLY_BY_AXES, .op = TALLY_SUM, .in = TALLY_F32, .max_n = LARGE, .max_segments = LARGE_ROWS};
    const tally_axis axes[] = {{.extent = LARGE_ROWS, .in_stride = {LARGE_ROW}},
                               {.extent = LARGE_ROW, .in_stride = {1}, .reduced = 1}};
    float got[LARGE_ROWS];
    tally_plan *plan;
    tally_buffer *out;
    MUST(tally_segments_plan_create(context, &desc, &plan));
    MUST(tally_buffer_create(context, sizeof got, &out));
    const tally_axes_args args = {.size = sizeof args, .axes = axes, .axis_count = 2, .in = {in}, .out = {out}};
    MUST(tally_reduce_axes(plan, queue, &args));
    MUST(tally_buffer_read(queue, out, 0, got, sizeof got));
    MUST(tally_queue_wait(queue));
    for (uint64_t r = 0; r < LARGE_ROWS; r++)
        expect_result(TALLY_SUM, TALLY_F32, items + r * LARGE_ROW, LARGE_ROW, &got[r], "of a row of a large input");
    tally_plan_destroy(plan);
    tally_buffer_destroy(out);
}

static void test_large_input(void **state) {
    tally_context *context = direct_context(state);
    const uint64_t count = LARGE + LARGE_OFFSET, bytes = count * sizeof(float);
    float *items = malloc(bytes);
    tally_queue *queue;
    tally_buffer *in;
    assert_non_null(items);
    pattern_fill(PATTERN_WIDE, TALLY_F32, items, count);
    MUST(tally_queue_create(context, &queue));
    MUST(tally_buffer_create(context, bytes, &in));
    MUST(tally_buffer_write(queue, in, 0, items, bytes));
    MUST(tally_queue_wait(queue));
    expect_large(context, queue, in, items, "of a large input");
    for (uint64_t i = 5; i < count; i += LARGE / 3) { /* near the beginning, in the middle, near the end */
        items[i] = items[i] / 3 + 1;
        MUST(tally_buffer_write(queue, in, i * sizeof(float), &items[i], sizeof(float)));
    }
    expect_large(context, queue, in, items, "of a large input that has changed");
    expect_large_rows(context, queue, in, items);
    MUST(tally_queue_wait(queue));
    tally_buffer_destroy(in);
    tally_queue_destroy(queue);
    free(items);
}

const device_test memory_tests[] = {
    {"too much memory", test_too_much_memory},          {"staging", test_staging},
    {"staging in place", test_staging_in_place},        {"wrap_host", test_wrap_host},
    {"an input larger than a cache", test_large_input}, {NULL, NULL},
};
