/* SPDX-License-Identifier: MIT */
/* Tunings: a canonical result has the same bits whatever the shape of a launch, and the workspace
 * is bounded. */
#include <stdlib.h>
#include <string.h>

#include "tests/support/calls.h"
#include "conformance.h"
#include "oracle/oracle.h"
#include "oracle/patterns.h"

#define MOST_N UINT64_C(500009)

/* Few items in many groups and many in few; no loads in flight and a whole chunk's; one group a
 * core and hundreds. */
static const char *const tunings[] = {
    "* * * * * 32 1 1 1",   "* * * * * 32 32 3 2",    "* * * * * 64 4 256 1",    "* * * * * 128 32 7 32",
    "* * * * * 512 2 64 4", "* * * * * 512 32 5 128", "* * * * * 1024 8 1024 1",
};
static const uint64_t sizes[] = {1, 4097, 70001, MOST_N};

static const struct {
    tally_op op;
    tally_dtype in;
    const char *variant;
} cases[] = {{TALLY_SUM, TALLY_F32, NULL},         {TALLY_VAR, TALLY_F32, NULL},        {TALLY_DOT, TALLY_F64, NULL},
             {TALLY_NRM2, TALLY_BF16, NULL},       {TALLY_SUM, TALLY_C128, NULL},       {TALLY_ARGMIN, TALLY_I8, NULL},
             {TALLY_SUM, TALLY_F32, "group_tree"}, {TALLY_VAR, TALLY_F32, "group_tree"}};

/* A device replaces a shape that it cannot run. Then the plan does not show it. */
static void expect_bits(tally_context *context, size_t c, const void *const inputs[]) {
    const tally_reduce_desc desc = {
        .size = sizeof desc, .op = cases[c].op, .in = cases[c].in, .max_n = MOST_N, .variant = cases[c].variant};
    const oracle_case of = {.op = cases[c].op, .in = cases[c].in};
    const uint64_t bytes = MOST_N * tally_dtype_bytes(desc.in);
    tally_plan *plan;
    tally_queue *queue;
    tally_buffer *in[2], *out;
    unsigned char result[64];
    MUST(tally_queue_create(context, &queue));
    MUST(tally_buffer_create(context, sizeof result, &out));
    for (int k = 0; k < 2; k++) {
        MUST(tally_buffer_create(context, bytes, &in[k]));
        MUST(tally_buffer_write(queue, in[k], 0, inputs[k], bytes));
    }
    for (size_t t = 0; t < TALLY_ARRAY_LENGTH(tunings); t++) {
        MUST(tally_context_set_tunings(context, tunings[t]));
        MUST(tally_plan_create(context, &desc, &plan));
        for (size_t i = 0; i < TALLY_ARRAY_LENGTH(sizes); i++) {
            memset(result, 0xa5, sizeof result);
            MUST(reduce_inputs(plan, queue, (const tally_buffer *const *)in, NULL, sizes[i], out, 0));
            MUST(tally_buffer_read(queue, out, 0, result, tally_plan_result_bytes(plan)));
            MUST(tally_queue_wait(queue));
            expect_result_inputs(&of, inputs, sizes[i], result, tunings[t]);
        }
        tally_plan_destroy(plan);
    }
    for (int k = 0; k < 2; k++) tally_buffer_destroy(in[k]);
    tally_buffer_destroy(out);
    tally_queue_destroy(queue);
}

static void test_bits(void **state) {
    need_compiler(*state);
    const place *at = *state;
    tally_context *context;
    void *inputs[2];
    for (int k = 0; k < 2; k++) assert_non_null(inputs[k] = malloc(MOST_N * 16));
    MUST(tally_context_create(at->select, &context));
    for (size_t c = 0; c < TALLY_ARRAY_LENGTH(cases); c++) {
        if (cases[c].in == TALLY_F64 && !at->info.has_f64) continue;
        if (cases[c].in == TALLY_C128 && !at->info.has_f64) continue;
        if (!has_turn(at, c)) continue;
        for (int k = 0; k < 2; k++) pattern_fill(PATTERN_WIDE, cases[c].in, inputs[k], MOST_N);
        expect_bits(context, c, (const void *const *)inputs);
    }
    tally_context_destroy(context);
    for (int k = 0; k < 2; k++) free(inputs[k]);
}

/* ---- many groups ----------------------------------------------------------------------------- */

/* A group of 32 threads takes a chunk here. GPUs combine the partials of so many groups by blocks
 * of 64 where accumulators are wide. The last block of the first two calls has one group, that of
 * the last call 35. The third call has too few groups for blocks. */
#define MANY_CHUNKS UINT64_C(2113)
static const uint64_t many[] = {MANY_CHUNKS * 4096, 2048 * 4096 + 1, 700 * 4096, MANY_CHUNKS * 4096 - 30 * 4096 - 5};

static void expect_many(tally_context *context, tally_op op, tally_dtype in) {
    const tally_reduce_desc desc = {.size = sizeof desc, .op = op, .in = in, .max_n = many[0]};
    const uint64_t bytes = many[0] * tally_dtype_bytes(in);
    void *items = malloc(bytes);
    tally_plan *plan;
    tally_queue *queue;
    tally_buffer *from, *out;
    unsigned char result[64];
    assert_non_null(items);
    pattern_fill(PATTERN_WIDE, in, items, many[0]);
    MUST(tally_plan_create(context, &desc, &plan));
    MUST(tally_queue_create(context, &queue));
    MUST(tally_buffer_create(context, bytes, &from));
    MUST(tally_buffer_create(context, sizeof result, &out));
    MUST(tally_buffer_write(queue, from, 0, items, bytes));
    for (size_t i = 0; i < TALLY_ARRAY_LENGTH(many); i++) {
        memset(result, 0xa5, sizeof result);
        MUST(reduce_at(plan, queue, from, 0, many[i], out, 0));
        MUST(tally_buffer_read(queue, out, 0, result, tally_plan_result_bytes(plan)));
        MUST(tally_queue_wait(queue));
        expect_result(op, in, items, many[i], result, "of many groups");
    }
    tally_plan_destroy(plan);
    tally_buffer_destroy(from);
    tally_buffer_destroy(out);
    tally_queue_destroy(queue);
    free(items);
}

static void test_many_groups(void **state) {
    const place *at = *state;
    tally_context *context;
    MUST(tally_context_create(at->select, &context));
    MUST(tally_context_set_tunings(context, "* * * * * 32 8 1 1"));
    expect_many(context, TALLY_VAR, TALLY_F32);
    expect_many(context, TALLY_ARGMAX, TALLY_F32);
    expect_many(context, TALLY_SUM, TALLY_F32);
    tally_context_destroy(context);
}

/* ---- the workspace --------------------------------------------------------------------------- */

/* A plan's own shapes take at most 4 MiB and a byte for 512 items, for any n. */
static void test_workspace(void **state) {
    const place *at = *state;
    static const struct {
        tally_op op;
        tally_dtype in;
    } wide[] = {{TALLY_SUM, TALLY_F32}, {TALLY_ARGMAX, TALLY_I8}};
    tally_context *context;
    MUST(tally_context_create(at->select, &context));
    for (size_t c = 0; c < TALLY_ARRAY_LENGTH(wide); c++)
        for (uint64_t n = 1; n <= UINT64_C(1) << 34; n *= 16) {
            const tally_reduce_desc desc = {.size = sizeof desc, .op = wide[c].op, .in = wide[c].in, .max_n = n};
            tally_plan *plan;
            MUST(tally_plan_create(context, &desc, &plan));
            assert_true(tally_plan_workspace_bytes(plan) <= (UINT64_C(4) << 20) + n / 512);
            tally_plan_destroy(plan);
        }
    tally_context_destroy(context);
}

const device_test tuning_tests[] = {
    {"tunings change no bit", test_bits}, {"many groups", test_many_groups}, {"workspace", test_workspace}, {NULL, NULL}};
