/* SPDX-License-Identifier: MIT */
/* The steps of the ladder on the stub: results, failures, depth, factors, events. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/calls.h"
#include "core.h"
#include "oracle/oracle.h"
#include "oracle/patterns.h"

#define MAX_N UINT64_C(70001)
#define EACH_VARIANT(info)                                                                                                     \
    tally_variant_info info;                                                                                                   \
    for (size_t v_ = 0; tally_variant_row(v_) && tally_variant_get(v_, &info) == TALLY_OK; v_++)

/* ---- results --------------------------------------------------------------------------------- */

/* Returns whether no combination rounds. The items are few halves, so that sums of floats are exact
 * in any order. */
static bool is_free_of_order(const oracle_case *what) {
    static const tally_op sums[] = {TALLY_SUM,  TALLY_ASUM, TALLY_SUMSQ, TALLY_NRM2,
                                    TALLY_MEAN, TALLY_DOT,  TALLY_DOTC,  TALLY_DIST2};
    bool free_of_order = oracle_is_exact(what);
    for (size_t i = 0; i < TALLY_ARRAY_LENGTH(sums); i++) free_of_order = free_of_order || what->op == sums[i];
    return free_of_order;
}

/* Runs one variant, op and dtype. Returns false if no atomic takes its accumulator. */
static bool expect_results(side *s, const char *variant, const oracle_case *what, tally_buffer *from, tally_buffer *out,
                           const void *items) {
    static const uint64_t sizes[] = {0, 1, 255, 256, 257, 511, 513, 4097, MAX_N};
    const tally_reduce_desc desc = {.size = sizeof desc, .op = what->op, .in = what->in, .max_n = MAX_N, .variant = variant};
    const tally_buffer *both[] = {from, from};
    const void *host[] = {items, items};
    tally_plan *plan;
    const tally_status status = tally_plan_create(s->context, &desc, &plan);
    if (status == TALLY_E_UNSUPPORTED) {
        assert_non_null(strstr(tally_last_error(), "no atomic is as wide"));
        return false;
    }
    MUST(status);
    assert_string_equal(tally_plan_variant(plan), variant);
    for (size_t i = 0; i < TALLY_ARRAY_LENGTH(sizes); i++) {
        oracle_result result = {{0}}, expected = {{0}};
        MUST(reduce_inputs(plan, s->queue, both, NULL, sizes[i], out, 0));
        MUST(tally_buffer_read(s->queue, out, 0, &result, oracle_result_bytes(what)));
        MUST(tally_queue_wait(s->queue));
        oracle_reduce_inputs(what, host, sizes[i], &expected);
        if (memcmp(&result, &expected, sizeof result) != 0)
            fail_msg("%s %s %s, n=%llu: 0x%llx, should be 0x%llx", variant, tally_op_name(what->op), tally_dtype_name(what->in),
                     (unsigned long long)sizes[i], (unsigned long long)result.u64, (unsigned long long)expected.u64);
    }
    tally_plan_destroy(plan);
    return true;
}

static void test_every_step(void **unused) {
    (void)unused;
    void *items = malloc(MAX_N * 16);
    assert_non_null(items);
    int served = 0, too_wide = 0;
    for (tally_dtype in = TALLY_DTYPE_DEFAULT + 1; in < TALLY_DTYPE_END; in++) {
        side s;
        tally_buffer *from, *out;
        open_side(&s, "stub:alpha");
        pattern_fill(PATTERN_DUPLICATES, in, items, MAX_N);
        MUST(tally_buffer_create(s.context, sizeof(oracle_result), &out));
        MUST(tally_buffer_create(s.context, MAX_N * tally_dtype_bytes(in), &from));
        MUST(tally_buffer_write(s.queue, from, 0, items, MAX_N * tally_dtype_bytes(in)));
        EACH_VARIANT(info) {
            for (tally_op op = TALLY_OP_NONE + 1; !info.canonical && op < TALLY_OP_END; op++) {
                const oracle_case what = {.op = op, .in = in};
                if (!oracle_takes(&what) || !is_free_of_order(&what)) continue;
                *(expect_results(&s, info.name, &what, from, out, items) ? &served : &too_wide) += 1;
            }
        }
        tally_buffer_destroy(from);
        tally_buffer_destroy(out);
        close_side(&s);
        SOUND();
        stub_reset();
    }
    /* There are 14 steps. All of them serve the scalars. */
    assert_true(served >= 14 * 200 && too_wide >= 12 * 40);
    free(items);
}

/* ---- failures -------------------------------------------------------------------------------- */

static const char *step; /* the sequence's variant: one for each way to finish and each shape */

static tally_status use_step(void) {
    static const float x[] = {-3, 1, 4, -1, 5, -9, 2, 6};
    enum { COPIES = 400, ITEMS = COPIES * TALLY_ARRAY_LENGTH(x) };
    static float items[ITEMS];
    for (size_t i = 0; i < ITEMS; i++) items[i] = x[i % TALLY_ARRAY_LENGTH(x)];
    tally_context *context = NULL;
    tally_buffer *in = NULL, *out = NULL;
    tally_queue *queue = NULL;
    tally_plan *plan = NULL;
    tally_event *from = NULL, *to = NULL;
    float sum = 0;
    double seconds = -1;
    const tally_reduce_desc desc = {
        .size = sizeof desc, .op = TALLY_SUM, .in = TALLY_F32, .max_n = ITEMS, .variant = step, .group_threads = 64};
    tally_status status = tally_context_create("stub:alpha", &context);
#define TRY(call)                                                                                                              \
    if (!status) status = (call)
    TRY(tally_plan_create(context, &desc, &plan));
    TRY(tally_buffer_create(context, sizeof items, &in));
    TRY(tally_buffer_create(context, sizeof sum, &out));
    TRY(tally_queue_create(context, &queue));
    TRY(tally_event_create(context, &from));
    TRY(tally_event_create(context, &to));
    TRY(tally_buffer_write(queue, in, 0, items, sizeof items));
    TRY(tally_event_record(from, queue));
    TRY(tally_reduce(plan, queue, in, ITEMS, out));
    TRY(tally_event_record(to, queue));
    TRY(tally_buffer_read(queue, out, 0, &sum, sizeof sum));
    const tally_status waited = queue ? tally_queue_wait(queue) : TALLY_OK;
    TRY(waited);
    TRY(tally_event_seconds(from, to, &seconds));
    if (!status && sum != 5 * COPIES) fail_msg("%s: the sum is %g, should be %d", step, (double)sum, 5 * COPIES);
    if (!status && seconds <= 0) fail_msg("%s: it took %g s", step, seconds);
    tally_context_destroy(context);
    tally_event_destroy(from);
    tally_queue_destroy(queue);
    tally_plan_destroy(plan);
    tally_event_destroy(to);
    tally_buffer_destroy(in);
    tally_buffer_destroy(out);
    return status;
}

static void test_failures(void **unused) {
    (void)unused;
    static const char *const steps[] = {"atomic_global", "sequential",  "coarsened",
                                        "grid_stride",   "tree_global", "host_finish"};
    for (size_t i = 0; i < TALLY_ARRAY_LENGTH(steps); i++)
        for (int lost = 0; lost < 2; lost++) {
            step = steps[i];
            fail_each_call(use_step, CACHE_OFF, lost);
            fail_each_call(use_step, CACHE_WARM, lost);
        }
}

/* Only host_finish waits. The others enqueue. */
static void test_blocking(void **unused) {
    (void)unused;
    side s;
    open_side(&s, "stub:alpha");
    EACH_VARIANT(info) {
        tally_plan *plan;
        tally_reduce_desc desc = side_desc;
        desc.variant = info.name;
        const tally_status status = tally_plan_create(s.context, &desc, &plan);
        if (status == TALLY_E_UNSUPPORTED) continue; /* a CPU's variant */
        MUST(status);
        const int waits = stub.waits;
        MUST(tally_reduce(plan, s.queue, s.in, SIDE_ITEMS, s.out));
        assert_int_equal(stub.waits > waits, strcmp(info.finish, "host") == 0);
        MUST(tally_queue_wait(s.queue));
        tally_plan_destroy(plan);
    }
    close_side(&s);
    SOUND();
}

/* ---- one launch ------------------------------------------------------------------------------ */

/* Where memory is ordered between groups, the last group finishes. There is one launch for any n,
 * and the counter returns to 0. */
static void expect_one_launch(const char *select) {
    enum { ITEMS = 300007 };
    static const uint64_t sizes[] = {0, 1, 4096, 8 * 4096, 8 * 4096 + 1, ITEMS};
    const oracle_case what = {.op = TALLY_SUM, .in = TALLY_F32};
    const tally_reduce_desc desc = {.size = sizeof desc, .op = TALLY_SUM, .in = TALLY_F32, .max_n = ITEMS};
    float verdicts[64], *items = malloc(ITEMS * sizeof *items);
    const void *const host[] = {items};
    assert_non_null(items);
    pattern_fill(PATTERN_WIDE, TALLY_F32, items, ITEMS);
    for (int i = 0; i < 64; i++) verdicts[i] = 1;
    stub.verdicts = verdicts;
    side s;
    tally_buffer *from, *out;
    tally_plan *plan;
    open_side(&s, select);
    MUST(tally_buffer_create(s.context, ITEMS * sizeof *items, &from));
    MUST(tally_buffer_create(s.context, sizeof(float), &out));
    MUST(tally_buffer_write(s.queue, from, 0, items, ITEMS * sizeof *items));
    MUST(tally_queue_wait(s.queue));
    MUST(tally_plan_create(s.context, &desc, &plan));
    assert_true(tally_plan_workspace_bytes(plan) <= 64 * 1024 + ITEMS / 512);
    for (size_t i = 0; i < 2 * TALLY_ARRAY_LENGTH(sizes); i++) {
        const uint64_t n = sizes[i % TALLY_ARRAY_LENGTH(sizes)];
        oracle_result result = {{0}}, expected = {{0}};
        const int calls = stub.calls;
        MUST(tally_reduce(plan, s.queue, from, n, out));
        assert_int_equal(stub.calls, calls + 1);
        MUST(tally_buffer_read(s.queue, out, 0, &result, sizeof(float)));
        MUST(tally_queue_wait(s.queue));
        oracle_reduce_inputs(&what, host, n, &expected);
        assert_memory_equal(&result, &expected, sizeof(float));
    }
    tally_plan_destroy(plan);
    tally_buffer_destroy(from);
    tally_buffer_destroy(out);
    free(items);
    /* Each call that a plan makes may fail. */
    int failed = 0;
    for (int call = 1; call < 100; call++) {
        stub.calls = 0;
        stub.fail_at = call;
        stub.fail_with = TALLY_E_DEVICE;
        const tally_status status = tally_plan_create(s.context, &desc, &plan);
        stub.fail_at = 0;
        failed += status != TALLY_OK;
        if (status) assert_null(plan);
        tally_plan_destroy(plan);
    }
    assert_true(failed >= 5); /* a kernel, memory, a queue, a copy, a wait */
    close_side(&s);
    stub.verdicts = NULL;
    SOUND();
}

static void test_one_launch(void **unused) {
    (void)unused;
    expect_one_launch("stub:alpha"); /* a GPU */
    expect_one_launch("stub:beta");  /* a CPU */
}

/* ---- depth and factors ----------------------------------------------------------------------- */

static uint64_t ceil_div(uint64_t a, uint64_t b) {
    return a / b + (a % b != 0);
}

static uint64_t log2_up(uint64_t n) {
    uint64_t k = 0;
    for (uint64_t power = 1; power < n; power *= 2) k++;
    return k;
}

/* The most roundings that an item can meet, by the text of the kernels. A combination with an
 * identity rounds nothing. */
static uint64_t longest_path(const char *variant, uint64_t n, uint64_t group, uint64_t factor, uint64_t units) {
    const uint64_t tree = log2_up(group), groups = ceil_div(n, group), pairs = ceil_div(n, 2 * group);
    const uint64_t most = ceil_div(2048 * units, group), fixed = groups < most ? groups : most, grid = fixed * group;
#define IS(name) (strcmp(variant, name) == 0)
    if (IS("atomic_global")) return n - 1;
    if (IS("atomic_local")) return group - 1 + groups - 1;
    if (IS("tree_global")) return tree + log2_up(groups);
    if (IS("interleaved_modulo") || IS("interleaved_strided") || IS("sequential") || IS("host_finish"))
        return tree + groups - 1;
    if (IS("first_add") || IS("unroll_last") || IS("unroll_all") || IS("shuffle")) return 1 + tree + pairs - 1;
    if (IS("coarsened")) return 2 * factor - 1 + tree + ceil_div(n, 2 * factor * group) - 1;
    if (IS("grid_stride")) return ceil_div(n, grid) - 1 + tree + fixed - 1;
    /* One item before the first aligned one, whole vectors of 4, one item behind the last. */
    if (IS("vectorized")) return 1 + 4 * ceil_div(n / 4, grid) + 1 - 1 + tree + fixed - 1;
    if (IS("group_tree") || IS("cpu_chunks")) return 31 + 7 + log2_up(ceil_div(n, 4096));
    fail_msg("a new variant, %s, needs its path here", variant);
    return 0;
}

/* The depth is not below the longest path, or the bound may be broken. It is hardly above it, or
 * the bound says too little. */
static void expect_depth(side *s, const char *variant, uint32_t group, uint32_t factor, uint64_t units) {
    static const uint64_t sizes[] = {2, 100, 256, 257, 513, 4097, 65536, 1000003, (UINT64_C(1) << 33) + 5};
    const uint64_t most_n = UINT64_C(1) << 34;
    tally_reduce_desc desc = side_desc;
    desc.variant = variant;
    desc.group_threads = group;
    desc.factor = factor;
    desc.max_n = strcmp(variant, "tree_global") && strcmp(variant, "host_finish") ? most_n : 1000003;
    tally_plan *plan;
    MUST(tally_plan_create(s->context, &desc, &plan));
    for (size_t i = 0; i < TALLY_ARRAY_LENGTH(sizes) && sizes[i] <= desc.max_n; i++) {
        const uint64_t depth = tally_plan_depth(plan, sizes[i]);
        const uint64_t path = longest_path(variant, sizes[i], group, factor, units);
        if (depth < path || depth > path + 8)
            fail_msg("%s/%u, factor %u, n=%llu: the depth is %llu, should be %llu or a few more", variant, group, factor,
                     (unsigned long long)sizes[i], (unsigned long long)depth, (unsigned long long)path);
    }
    tally_plan_destroy(plan);
}

static void test_depth(void **unused) {
    (void)unused;
    static const uint32_t groups[] = {32, 256, 1024}, factors[] = {1, 8, 64};
    side s;
    tally_context_info about;
    open_side(&s, "stub:alpha");
    MUST(tally_context_get_info(s.context, &about));
    EACH_VARIANT(info) {
        if (info.group_threads == 1) continue; /* a CPU's variant */
        for (size_t g = 0; g < TALLY_ARRAY_LENGTH(groups); g++)
            for (size_t f = 0; f < (info.factor ? TALLY_ARRAY_LENGTH(factors) : 1); f++)
                expect_depth(&s, info.name, groups[g], info.factor ? factors[f] : 0, about.device.compute_units);
    }
    assert_int_equal(tally_plan_depth(NULL, 100), 0);
    static const uint64_t garbage[64];
    assert_int_equal(tally_plan_depth((const tally_plan *)(const void *)garbage, 100), 0);
    assert_int_equal(tally_plan_depth((const tally_plan *)(const void *)s.queue, 100), 0);
    close_side(&s);
    open_side(&s, "stub:beta");
    expect_depth(&s, "cpu_chunks", 1, 0, 2);
    close_side(&s);
    SOUND();
}

static void test_factors(void **unused) {
    (void)unused;
    side s;
    tally_plan *plan = NULL;
    tally_reduce_desc desc = side_desc;
    open_side(&s, "stub:alpha");
    EACH_VARIANT(info) {
        if (info.group_threads == 1) continue;
        desc.variant = info.name;
        desc.factor = 2;
        if (info.factor) {
            MUST(tally_plan_create(s.context, &desc, &plan));
            tally_plan_destroy(plan);
            desc.factor = 65536;
            MUST(tally_plan_create(s.context, &desc, &plan));
            tally_plan_destroy(plan);
            plan = NULL;
            desc.factor = 65537;
            BAD(tally_plan_create(s.context, &desc, &plan), "desc.factor", "65537", "65536");
            desc.factor = UINT32_MAX;
            BAD(tally_plan_create(s.context, &desc, &plan), "desc.factor", "4294967295");
        } else {
            BAD(tally_plan_create(s.context, &desc, &plan), "desc.factor", "2", info.name);
        }
        assert_null(plan);
    }
    close_side(&s);
    SOUND();
}

/* Refused: steps that the device or the backend lacks, and steps without the order that a feed
 * needs. */
static void test_refused_steps(void **unused) {
    (void)unused;
    tally_context *context;
    tally_plan *plan = NULL;
    tally_feed *feed = NULL;
    tally_reduce_desc desc = {.size = sizeof desc, .op = TALLY_SUM, .in = TALLY_I64, .max_n = 100, .group_threads = 64};
    MUST(tally_context_create("stub:gamma", &context));
    desc.variant = "sequential";
    REFUSED(tally_plan_create(context, &desc, &plan), TALLY_E_UNSUPPORTED, "sequential", "64-bit atomics", "Gamma Three");
    assert_null(plan);
    desc.variant = "tree_global"; /* needs no feature */
    MUST(tally_plan_create(context, &desc, &plan));
    tally_plan_destroy(plan);
    plan = NULL;
    desc.in = TALLY_F32;
    EACH_VARIANT(info) {
        desc.variant = info.name;
        if (!info.canonical) REFUSED_EITHER(tally_feed_create(context, &desc, &feed), info.name, "canonical");
    }
    assert_null(feed);
    stub.missing = "ladder";
    desc.variant = "shuffle";
    REFUSED(tally_plan_create(context, &desc, &plan), TALLY_E_UNSUPPORTED, "shuffle", "ladder");
    assert_null(plan);
    tally_context_destroy(context);
    SOUND();
}

/* ---- events ---------------------------------------------------------------------------------- */

static void test_events(void **unused) {
    (void)unused;
    side s, other;
    tally_event *from, *to, *foreign, *none = NULL;
    static uint64_t garbage[64];
    void *bad = garbage;
    double seconds = -1;
    open_side(&s, "stub:alpha");
    open_side(&other, "stub:alpha");
    BAD(tally_event_create(NULL, &none), "tally_event_create", "context");
    BAD(tally_event_create(bad, &none), "tally_event_create", "context");
    BAD(tally_event_create(s.context, NULL), "tally_event_create", "out");
    assert_null(none);
    tally_event_destroy(NULL);
    tally_event_destroy(bad);
    MUST(tally_event_create(s.context, &from));
    MUST(tally_event_create(s.context, &to));
    MUST(tally_event_create(other.context, &foreign));
    BAD(tally_event_record(NULL, s.queue), "tally_event_record", "event");
    BAD(tally_event_record(bad, s.queue), "tally_event_record", "event");
    BAD(tally_event_record((tally_event *)s.queue, s.queue), "tally_event_record", "event");
    BAD(tally_event_record(from, NULL), "tally_event_record", "queue");
    BAD(tally_event_record(from, bad), "tally_event_record", "queue");
    BAD(tally_event_record(from, other.queue), "tally_event_record", "context");
    BAD(tally_event_seconds(from, to, &seconds), "tally_event_seconds", "recorded");
    MUST(tally_event_record(from, s.queue));
    BAD(tally_event_seconds(from, to, &seconds), "tally_event_seconds", "recorded");
    BAD(tally_event_seconds(to, from, &seconds), "tally_event_seconds", "recorded");
    MUST(tally_event_record(foreign, other.queue));
    MUST(tally_reduce(s.plan, s.queue, s.in, SIDE_ITEMS, s.out));
    MUST(tally_event_record(to, s.queue));
    BAD(tally_event_seconds(NULL, to, &seconds), "tally_event_seconds", "event");
    BAD(tally_event_seconds(from, NULL, &seconds), "tally_event_seconds", "event");
    BAD(tally_event_seconds(bad, to, &seconds), "tally_event_seconds", "event");
    BAD(tally_event_seconds(from, bad, &seconds), "tally_event_seconds", "event");
    BAD(tally_event_seconds(from, foreign, &seconds), "tally_event_seconds", "context");
    BAD(tally_event_seconds(from, to, NULL), "tally_event_seconds", "seconds");
    assert_true(seconds == -1);
    MUST(tally_event_seconds(from, to, &seconds));
    assert_true(seconds == 1e-3);
    MUST(tally_event_record(to, s.queue)); /* recorded again, later */
    MUST(tally_queue_wait(s.queue));
    MUST(tally_event_seconds(from, to, &seconds));
    assert_true(seconds == 1e-3);
    MUST(tally_event_seconds(from, from, &seconds));
    assert_true(seconds == 0);
    close_side(&s); /* the events retain the context */
    tally_event_destroy(from);
    tally_event_destroy(to);
    tally_event_destroy(foreign);
    close_side(&other);
    SOUND();
}

const core_test ladder_tests[] = {
    {"every step of the ladder", test_every_step},
    {"each call fails: steps and events", test_failures},
    {"host_finish alone blocks", test_blocking},
    {"one launch", test_one_launch},
    {"depth", test_depth},
    {"factors", test_factors},
    {"refused steps", test_refused_steps},
    {"events", test_events},
    {NULL, NULL},
};
