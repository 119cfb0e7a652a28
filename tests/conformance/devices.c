/* SPDX-License-Identifier: MIT */
/* devices.c: one reduction over several devices has the bits of one device's. The devices are the
 * tested one, twice, and between them `host`, where the op needs no compiler. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conformance.h"
#include "oracle/patterns.h"
#include "tests/support/own_ops.h"

#define MAX_N UINT64_C(30011)
#define DEVICES 3
#define MAX_RESULT 256

/* A reduction over the devices, beside one device's. */
typedef struct spread {
    tally_context *contexts[DEVICES];
    tally_queue *queues[DEVICES];
    tally_buffer *in[DEVICES], *out;
    tally_devices *devices;
    tally_plan *plan;
    uint64_t result_bytes;
    char *items;
} spread;

static void spread_open(spread *s, tally_context *context, tally_context *between, const tally_reduce_desc *desc) {
    const uint64_t bytes = tally_dtype_bytes(desc->in) * MAX_N;
    *s = (spread){.contexts = {context, between, context}};
    assert_non_null(s->items = malloc(bytes));
    pattern_fill(PATTERN_WIDE, desc->in, s->items, MAX_N);
    MUST(tally_devices_create(s->contexts, DEVICES, desc, &s->devices));
    MUST(tally_plan_create(context, desc, &s->plan));
    s->result_bytes = tally_plan_result_bytes(s->plan);
    MUST(tally_buffer_create(context, 2 * MAX_RESULT, &s->out));
    for (int i = 0; i < DEVICES; i++) {
        MUST(tally_queue_create(s->contexts[i], &s->queues[i]));
        MUST(tally_buffer_create(s->contexts[i], bytes, &s->in[i]));
        MUST(tally_buffer_write(s->queues[i], s->in[i], 0, s->items, bytes));
        MUST(tally_queue_wait(s->queues[i]));
    }
}

static void spread_close(spread *s) {
    tally_devices_destroy(s->devices);
    tally_plan_destroy(s->plan);
    tally_buffer_destroy(s->out);
    for (int i = 0; i < DEVICES; i++) {
        tally_buffer_destroy(s->in[i]);
        tally_queue_destroy(s->queues[i]);
    }
    free(s->items);
}

/* Compares both ways to finish with one device's result. */
static void try_cuts(spread *s, uint64_t n, uint64_t first, uint64_t second) {
    const uint64_t cuts[DEVICES + 1] = {0, first, second, n};
    unsigned char expected[MAX_RESULT] = {0}, result[MAX_RESULT] = {0}, other[MAX_RESULT] = {0};
    tally_devices_share shares[DEVICES];
    for (int i = 0; i < DEVICES; i++)
        shares[i] =
            (tally_devices_share){.queue = s->queues[i], .in = {s->in[i]}, .in_offset = {cuts[i]}, .n = cuts[i + 1] - cuts[i]};
    MUST(tally_reduce(s->plan, s->queues[0], s->in[0], n, s->out));
    MUST(tally_buffer_read(s->queues[0], s->out, 0, expected, s->result_bytes));
    MUST(tally_queue_wait(s->queues[0]));
    MUST(tally_devices_reduce(s->devices, shares, sizeof shares[0]));
    MUST(tally_devices_finish(s->devices, result));
    MUST(tally_devices_reduce(s->devices, shares, sizeof shares[0]));
    MUST(tally_devices_finish_to(s->devices, s->queues[0], s->out, MAX_RESULT));
    MUST(tally_buffer_read(s->queues[0], s->out, MAX_RESULT, other, s->result_bytes));
    MUST(tally_queue_wait(s->queues[0]));
    if (memcmp(result, expected, s->result_bytes) != 0 || memcmp(other, expected, s->result_bytes) != 0)
        fail_msg("%llu items, cut at %llu and %llu: other bits", (unsigned long long)n, (unsigned long long)first,
                 (unsigned long long)second);
}

static void try_desc(tally_context *context, tally_context *between, const tally_reduce_desc *desc) {
    static const uint64_t lengths[] = {0, 1, 4096, 5000, 12288, MAX_N};
    spread s;
    spread_open(&s, context, between, desc);
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        const uint64_t n = lengths[i], chunk = n / 2 / TALLY_CHUNK * TALLY_CHUNK;
        try_cuts(&s, n, n / 3, n / 2);
        try_cuts(&s, n, chunk, chunk);
        try_cuts(&s, n, 0, n);
    }
    spread_close(&s);
}

static void test_devices_mixed(void **state) {
    static const struct {
        tally_op op;
        tally_dtype in;
    } cases[] = {{TALLY_SUM, TALLY_F32},    {TALLY_NRM2, TALLY_F32}, {TALLY_VAR, TALLY_F32}, {TALLY_LOGSUMEXP, TALLY_F32},
                 {TALLY_ARGMAX, TALLY_F32}, {TALLY_SUM, TALLY_I32},  {TALLY_SUM, TALLY_C64}, {TALLY_SUM, TALLY_F64}};
    const place *at = *state;
    tally_context *host = NULL;
    MUST(tally_context_create("host", &host));
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        if (cases[i].in == TALLY_F64 && !at->info.has_f64) continue;
        const tally_reduce_desc desc = {.size = sizeof desc, .op = cases[i].op, .in = cases[i].in, .max_n = MAX_N};
        try_desc(at->context, host, &desc);
    }
    tally_context_destroy(host);
}

static void test_devices_own(void **state) {
    const place *at = *state;
    tally_custom_op *own = NULL;
    need_compiler(at);
    MUST(tally_op_create(&own_twofold, &own));
    const tally_reduce_desc desc = {.size = sizeof desc, .custom = own, .in = TALLY_F32, .max_n = MAX_N};
    try_desc(at->context, at->context, &desc);
    const tally_term_desc terms[] = {{.op = TALLY_SUM}, {.op = TALLY_VAR}, {.custom = own}};
    const tally_reduce_desc fused = {.size = sizeof fused, .in = TALLY_F32, .terms = terms, .term_count = 3, .max_n = MAX_N};
    try_desc(at->context, at->context, &fused);
    tally_op_destroy(own);
}

const device_test devices_tests[] = {
    {"devices: shared with the host", test_devices_mixed}, {"devices: own operators, fused", test_devices_own}, {NULL, NULL}};
