/* SPDX-License-Identifier: MIT */
/* Host arrays on a CPU device: the library's own programs give the oracle's bits, and the device
 * gets no work. */
#include <stdlib.h>
#include <string.h>

#include "conformance.h"
#include "host/host.h"
#include "oracle/oracle.h"
#include "oracle/patterns.h"

enum { RUN = 8 * TALLY_CHUNK_ITEMS, MANY = 70001, MOST = 131073 };

/* The small sizes have every pattern. The larger ones, which combine more than a chunk, have a
 * few. */
static const uint64_t small_sizes[] = {0, 1, 2, 127, 128, 129, 4095, 4096, 4097};
static const int large_patterns[] = {PATTERN_WIDE, PATTERN_NAN_MIDDLE, PATTERN_DUPLICATES, PATTERN_SHIFTED};

typedef struct arrays {
    unsigned char *of[2];
} arrays;

/* Returns the plans of calls with host arrays. */
static uint64_t count_plans(tally_context *context) {
    tally_context_info info;
    MUST(tally_context_get_info(context, &info));
    return info.host_plans_made + info.host_plans_reused;
}

/* The items end with their arrays, so that a sanitizer sees a read behind them. The result lies at
 * any address. */
static void expect_one(tally_context *context, const oracle_case *of, const arrays *a, int pattern, uint64_t n) {
    const size_t bytes = tally_dtype_bytes(of->in), result_bytes = oracle_result_bytes(of);
    const tally_reduce_desc desc = {.size = sizeof desc, .op = of->op, .in = of->in};
    unsigned char *const first = a->of[0] + (MOST - n) * bytes, *const second = a->of[1] + (MOST - n) * bytes;
    const void *const inputs[] = {first, second};
    unsigned char result[sizeof(oracle_result) + 16];
    pattern_fill(pattern, of->in, first, n);
    pattern_fill_second(pattern, of->op, of->in, first, second, n);
    memset(result, 0xcd, sizeof result);
    const uint64_t plans = count_plans(context);
    if (oracle_inputs(of->op) == 1)
        MUST(tally_reduce_host(context, of->op, of->in, first, n, result + 1));
    else
        MUST(tally_reduce_host_inputs(context, &desc, inputs, n, result + 1));
    expect_result_inputs(of, inputs, n, result + 1, pattern_name(pattern));
    for (size_t i = 0; i < sizeof result; i++)
        if (i < 1 || i >= 1 + result_bytes) assert_int_equal(result[i], 0xcd);
    if (count_plans(context) != plans)
        fail_msg("%s of %llu %s: a plan was used", tally_op_name(of->op), (unsigned long long)n, tally_dtype_name(of->in));
}

static void expect_all(tally_context *context, const oracle_case *of, const arrays *a) {
    static const uint64_t large_sizes[] = {12289, RUN, RUN + 1, MANY, MOST};
    for (int pattern = 0; pattern < PATTERNS; pattern++)
        for (size_t s = 0; s < TALLY_ARRAY_LENGTH(small_sizes); s++) expect_one(context, of, a, pattern, small_sizes[s]);
    for (size_t p = 0; p < TALLY_ARRAY_LENGTH(large_patterns); p++)
        for (size_t s = 0; s < TALLY_ARRAY_LENGTH(large_sizes); s++)
            expect_one(context, of, a, large_patterns[p], large_sizes[s]);
}

static void test_own_programs(void **state) {
    tally_context *const context = ((place *)*state)->context;
    tally_context_info info;
    arrays a;
    oracle_case of = {0};
    MUST(tally_context_get_info(context, &info));
    if (info.device.device_class != TALLY_CLASS_CPU || !info.device.host_memory || !info.device.has_f64) return;
    for (int k = 0; k < 2; k++) {
        a.of[k] = malloc(MOST * 2 * sizeof(uint64_t));
        assert_non_null(a.of[k]);
    }
    for (of.op = TALLY_OP_NONE + 1; of.op < TALLY_OP_END; of.op++)
        for (of.in = TALLY_DTYPE_DEFAULT + 1; of.in < TALLY_DTYPE_END; of.in++)
            if (tally_host_program_for(of.op, of.in) && cells_want_pair(of.op, of.in)) expect_all(context, &of, &a);
    for (int k = 0; k < 2; k++) free(a.of[k]);
}

const device_test host_tests[] = {
    {"reduce_host: own programs", test_own_programs},
    {NULL, NULL},
};
