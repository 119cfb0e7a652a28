/* SPDX-License-Identifier: MIT */
/* Host arrays by variants that do not combine in the canonical order: results, inputs that do not
 * fit, and the failure of every call. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/calls.h"
#include "core.h"
#include "oracle/oracle.h"
#include "oracle/patterns.h"

#define MAX_N UINT64_C(70001)

static tally_status reduce(tally_context *context, const oracle_case *what, const char *variant, const void *const *items,
                           uint64_t n, void *result) {
    const tally_reduce_desc desc = {.size = sizeof desc, .op = what->op, .in = what->in, .variant = variant};
    return tally_reduce_host_inputs(context, &desc, items, n, result);
}

static void expect_results(const char *select, const char *variant, const oracle_case *what, const void *const *items) {
    static const uint64_t sizes[] = {0, 1, 257, MAX_N};
    tally_context *context;
    MUST(tally_context_create(select, &context));
    for (size_t i = 0; i < TALLY_ARRAY_LENGTH(sizes); i++) {
        oracle_result got = {{0}}, expected = {{0}};
        MUST(reduce(context, what, variant, items, sizes[i], &got));
        oracle_reduce_inputs(what, items, sizes[i], &expected);
        if (memcmp(&got, &expected, sizeof got) != 0)
            fail_msg("%s on %s: %s of %llu %s is 0x%llx, should be 0x%llx", variant, select, tally_op_name(what->op),
                     (unsigned long long)sizes[i], tally_dtype_name(what->in), (unsigned long long)got.u64,
                     (unsigned long long)expected.u64);
    }
    tally_context_destroy(context);
    SOUND();
    stub_reset();
}

/* Integers, whose sums are the same in any order. */
static void test_every_variant(void **unused) {
    (void)unused;
    static const oracle_case cases[] = {{.op = TALLY_SUM, .in = TALLY_I32}, {.op = TALLY_DOT, .in = TALLY_U16}};
    unsigned char *memory[2];
    for (int k = 0; k < 2; k++) {
        memory[k] = malloc(MAX_N * 4 + 1);
        assert_non_null(memory[k]);
    }
    /* Misaligned addresses. */
    const void *const items[] = {memory[0] + 1, memory[1] + 1};
    int served = 0;
    for (size_t v = 0; v < tally_variant_count(); v++)
        for (size_t c = 0; c < TALLY_ARRAY_LENGTH(cases); c++) {
            const tally_variant *variant = tally_variant_row(v);
            if (variant->info.canonical) continue;
            for (uint64_t i = 0; i < MAX_N * 4; i++)
                memory[0][i + 1] = (unsigned char)(pattern_random(i) >> 7), memory[1][i + 1] = (unsigned char)i;
            expect_results("stub:alpha", variant->info.name, &cases[c], items);
            served++;
        }
    assert_true(served > 20);
    for (int k = 0; k < 2; k++) free(memory[k]);
}

static void test_refused(void **unused) {
    (void)unused;
    tally_context *context;
    int32_t x[4] = {1, 2, 3, 4};
    int64_t result = 77;
    const void *const items[] = {x}, *const none[] = {NULL};
    const oracle_case sum = {.op = TALLY_SUM, .in = TALLY_I32};
    MUST(tally_context_create("stub:alpha", &context));
    MUST(reduce(context, &sum, "sequential", NULL, 0, &result)); /* the first call runs the device's trials */
    assert_int_equal(result, 0);
    result = 77;
    const uint64_t most = context->info.memory_bytes / sizeof x[0];
    const int copies = stub.copies;
    BAD(reduce(context, &sum, "sequential", none, 4, &result), "tally_reduce_host_inputs", "items");
    BAD(reduce(context, &sum, "sequential", NULL, 4, &result), "tally_reduce_host_inputs", "items");
    BAD(reduce(context, &sum, "sequential", items, UINT64_MAX, &result), "tally_reduce_host_inputs", "n is beyond any memory");
    BAD(reduce(context, &sum, "sequential", items, 4, NULL), "tally_reduce_host_inputs", "result");
    BAD(reduce(context, &sum, "nonsense", items, 4, &result), "nonsense", "sequential");
    REFUSED(reduce(context, &sum, "sequential", items, most + 1, &result), TALLY_E_MEMORY, "tally_reduce_host_inputs",
            "sequential", "canonical order", "Alpha One");
    REFUSED(reduce(context, &sum, "tree_global", items, most, &result), TALLY_E_MEMORY, "bytes", "Alpha One");
    REFUSED(reduce(context, &(oracle_case){.op = TALLY_PROD, .in = TALLY_C128}, "atomic_global", items, 1, &result),
            TALLY_E_UNSUPPORTED, "no atomic is as wide");
    assert_int_equal(result, 77);
    assert_int_equal(stub.copies, copies);
    tally_context_destroy(context);
    SOUND();
}

static tally_status use_two_inputs(void) {
    static const uint16_t x[] = {1, 2, 3}, y[] = {4, 5, 6};
    uint64_t result = 0;
    tally_context *context = NULL;
    tally_status status = tally_context_create("stub:alpha", &context);
    if (!status)
        status = reduce(context, &(oracle_case){.op = TALLY_DOT, .in = TALLY_U16}, "sequential", (const void *const[]){x, y}, 3,
                        &result);
    if (!status) assert_int_equal(result, 32);
    tally_context_destroy(context);
    return status;
}

static void test_failures(void **unused) {
    (void)unused;
    for (int lost = 0; lost < 2; lost++) fail_each_call(use_two_inputs, CACHE_OFF, lost);
}

const core_test host_plan_tests[] = {
    {"host arrays: every step of the ladder", test_every_variant},
    {"host arrays: refusals of a step", test_refused},
    {"host arrays: failures of a step", test_failures},
    {NULL, NULL},
};
