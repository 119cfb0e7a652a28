/* SPDX-License-Identifier: MIT */
/*
 * A scan whose blocks lie on several devices, as plans of one device here: the aggregates of the
 * blocks before a plan, joined in sequence, are what it continues from. The values have the bits of
 * one scan, by every variant in scan order v1. Scans that cannot be cut are refused.
 */
#include <stdlib.h>
#include <string.h>

#include "direct.h"
#include "oracle/patterns.h"
#include "tests/support/own_ops.h"

#define BLOCKS 5
#define N (BLOCKS * (uint64_t)TALLY_SCAN_BLOCK + 777)
#define MOST_BYTES 128 /* of an accumulator */

static float items[N];
static const float initial = 0.3f;

typedef struct blocks {
    tally_queue *queue;
    tally_plan *plan;
    tally_buffer *in, *out;
    uint64_t value, prefix; /* bytes */
} blocks;

static void blocks_open(blocks *b, tally_context *context, const tally_scan_desc *desc) {
    pattern_fill(PATTERN_WIDE, TALLY_F32, items, N);
    MUST(tally_queue_create(context, &b->queue));
    MUST(tally_scan_plan_create(context, desc, &b->plan));
    MUST(tally_buffer_create(context, sizeof items, &b->in));
    MUST(tally_buffer_create(context, N * 8, &b->out));
    MUST(tally_buffer_write(b->queue, b->in, 0, items, sizeof items));
    b->value = tally_plan_result_bytes(b->plan);
    MUST(tally_scan_prefix_bytes(b->plan, &b->prefix));
    assert_true(b->prefix <= MOST_BYTES);
}

static void blocks_close(blocks *b) {
    tally_buffer_destroy(b->in);
    tally_buffer_destroy(b->out);
    tally_plan_destroy(b->plan);
    tally_queue_destroy(b->queue);
}

/* Scans items [first, first + n) after the prefix, or anew. */
static void scan(blocks *b, uint64_t first, uint64_t n, const void *prefix) {
    const tally_scan_args args = {
        .size = sizeof args, .in = b->in, .in_offset = first, .n = n, .out = b->out, .out_offset = first};
    MUST(tally_scan_prefix_set(b->plan, b->queue, first, prefix));
    MUST(tally_scan_next(b->plan, b->queue, &args));
}

static void check_scan(tally_context *context, tally_scan_desc desc, const char *what) {
    static unsigned char expected[N * 8], values[N * 8];
    unsigned char aggregates[BLOCKS][MOST_BYTES], prefix[MOST_BYTES];
    blocks b;
    desc.size = sizeof desc;
    desc.max_n = N;
    blocks_open(&b, context, &desc);
    MUST(tally_scan(b.plan, b.queue, b.in, N, b.out));
    MUST(tally_buffer_read(b.queue, b.out, 0, expected, N * b.value));
    for (uint64_t i = 0; i < BLOCKS; i++) {
        scan(&b, i * TALLY_SCAN_BLOCK, TALLY_SCAN_BLOCK, NULL);
        MUST(tally_scan_prefix_get(b.plan, b.queue, aggregates[0] + i * b.prefix));
    }
    MUST(tally_queue_wait(b.queue));
    /* The last share first: each needs nothing but its prefix. */
    for (uint64_t begin = BLOCKS - 1, end = N; end; end = begin * TALLY_SCAN_BLOCK, begin = begin > 2 ? begin - 2 : 0) {
        memcpy(prefix, aggregates, b.prefix);
        if (begin) MUST(tally_scan_prefix_join(b.plan, prefix, aggregates[0] + b.prefix, begin - 1));
        scan(&b, begin * TALLY_SCAN_BLOCK, end - begin * TALLY_SCAN_BLOCK, begin ? prefix : NULL);
        MUST(tally_queue_wait(b.queue));
    }
    MUST(tally_buffer_read(b.queue, b.out, 0, values, N * b.value));
    MUST(tally_queue_wait(b.queue));
    if (memcmp(values, expected, N * b.value) != 0) fail_msg("%s in blocks: other bits", what);
    /* A plain scan begins anew. */
    MUST(tally_scan_prefix_set(b.plan, b.queue, TALLY_SCAN_BLOCK, prefix));
    MUST(tally_scan(b.plan, b.queue, b.in, 1000, b.out));
    MUST(tally_buffer_read(b.queue, b.out, 0, values, 1000 * b.value));
    MUST(tally_queue_wait(b.queue));
    if (memcmp(values, expected, 1000 * b.value) != 0) fail_msg("%s: a scan after a prefix does not begin anew", what);
    blocks_close(&b);
}

static void test_blocks(void **state) {
    static const tally_scan_desc descs[] = {{.op = TALLY_SUM, .in = TALLY_F32},
                                            {.op = TALLY_ARGMAX, .in = TALLY_F32},
                                            {.op = TALLY_VAR, .in = TALLY_F32, .flags = TALLY_EXCLUSIVE},
                                            {.op = TALLY_SUM, .in = TALLY_F32, .flags = TALLY_EXCLUSIVE, .initial = &initial}};
    tally_context *context = direct_context(state);
    unsigned ran = 0;
    for (size_t v = 0; v < tally_scan_variant_count(); v++) {
        tally_variant_info info;
        MUST(tally_scan_variant_get(v, &info));
        for (size_t d = 0; d < (info.canonical ? TALLY_ARRAY_LENGTH(descs) : 0); d++) {
            tally_scan_desc desc = descs[d];
            tally_plan *plan;
            if (ran && !has_turn(*state, v + d)) continue;
            desc.size = sizeof desc;
            desc.variant = info.name;
            desc.max_n = N;
            if (tally_scan_plan_create(context, &desc, &plan)) continue; /* the device has no such variant */
            tally_plan_destroy(plan);
            check_scan(context, desc, info.name);
            ran++;
        }
    }
    assert_true(ran >= 1);
}

static void expect_refused(tally_status got, tally_status wanted, const char *text) {
    assert_int_equal(got, wanted);
    if (!strstr(tally_last_error(), text)) fail_msg("the text is \"%s\", without \"%s\"", tally_last_error(), text);
}

static void test_refused(void **state) {
    static const tally_scan_desc none[] = {
        {.size = sizeof none[0], .op = TALLY_SUM, .in = TALLY_F32, .max_n = 1000, .flags = TALLY_REVERSE},
        {.size = sizeof none[0], .op = TALLY_SUM, .in = TALLY_F32, .max_n = 1000, .segments = TALLY_SEGMENTS_FLAGS}};
    static const char *const texts[] = {"a reverse scan", "has segments"};
    const tally_scan_desc desc = {.size = sizeof desc, .op = TALLY_SUM, .in = TALLY_F32, .max_n = N};
    tally_context *context = direct_context(state);
    unsigned char prefix[MOST_BYTES] = {0};
    uint64_t bytes;
    blocks b;
    blocks_open(&b, context, &desc);
    expect_refused(tally_scan_prefix_get(b.plan, b.queue, prefix), TALLY_E_ARGUMENT, "scanned nothing yet");
    expect_refused(tally_scan_prefix_set(b.plan, b.queue, 5, prefix), TALLY_E_ARGUMENT, "a multiple of 131072");
    expect_refused(tally_scan_prefix_set(b.plan, b.queue, 0, prefix), TALLY_E_ARGUMENT, "nothing is before");
    expect_refused(tally_scan_prefix_join(b.plan, NULL, prefix, 1), TALLY_E_ARGUMENT, "prefix is NULL");
    expect_refused(tally_scan_prefix_join(b.plan, prefix, NULL, 1), TALLY_E_ARGUMENT, "aggregates is NULL");
    expect_refused(tally_scan_prefix_bytes(b.plan, NULL), TALLY_E_ARGUMENT, "bytes is NULL");
    expect_refused(tally_scan_prefix_get(NULL, b.queue, prefix), TALLY_E_ARGUMENT, "NULL");
    scan(&b, 0, TALLY_SCAN_BLOCK + 10, NULL);
    expect_refused(tally_scan_prefix_get(b.plan, b.queue, prefix), TALLY_E_ARGUMENT, "131082 items so far");
    MUST(tally_queue_wait(b.queue));
    blocks_close(&b);
    for (size_t i = 0; i < TALLY_ARRAY_LENGTH(none); i++) {
        tally_plan *plan;
        MUST(tally_scan_plan_create(context, &none[i], &plan));
        expect_refused(tally_scan_prefix_bytes(plan, &bytes), TALLY_E_UNSUPPORTED, texts[i]);
        tally_plan_destroy(plan);
    }
}

const device_test scan_block_tests[] = {
    {"scan: blocks on several devices", test_blocks}, {"scan: blocks refused", test_refused}, {NULL, NULL}};
