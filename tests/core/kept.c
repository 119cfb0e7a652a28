/* SPDX-License-Identifier: MIT */
/* Plans and memory that the context keeps between calls with host arrays (src/reduce/kept.c), and
 * when it releases them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core.h"
#include "host/host.h"
#include "oracle/oracle.h"
#include "oracle/patterns.h"

#define MANY UINT64_C(9000001) /* more than the 32 MiB of f32 that a call stages at a time */
#define SOME UINT64_C(150001)  /* more than the calling thread reduces by itself */

static float *items; /* MANY items, made once */

static tally_context *open_context(const char *select) {
    tally_context *context;
    if (!items) {
        items = malloc(MANY * sizeof *items);
        assert_non_null(items);
        pattern_fill(PATTERN_WIDE, TALLY_F32, items, MANY);
    }
    stub_reset();
    MUST(tally_context_create(select, &context));
    return context;
}

static tally_context_info info_of(tally_context *context) {
    tally_context_info info;
    MUST(tally_context_get_info(context, &info));
    return info;
}

/* Checks the counters of plans: made, reused and kept. */
static void expect_plans(tally_context *context, uint64_t made, uint64_t reused, uint64_t kept, int line) {
    const tally_context_info info = info_of(context);
    if (info.host_plans_made != made || info.host_plans_reused != reused || info.host_plans_kept != kept)
        fail_msg("line %d: %d plans made, %d reused, %d kept; should be %d, %d, %d", line, (int)info.host_plans_made,
                 (int)info.host_plans_reused, (int)info.host_plans_kept, (int)made, (int)reused, (int)kept);
    assert_int_equal(atomic_load(&context->references), 1); /* kept plans do not retain the context */
}
#define EXPECT_PLANS(made, reused, kept) expect_plans(context, made, reused, kept, __LINE__)

static void expect_result_of(tally_op op, const float *from, uint64_t n, const void *got) {
    oracle_result expected = {{0}};
    oracle_reduce(op, TALLY_F32, from, n, &expected);
    if (memcmp(got, &expected, sizeof(float)) != 0)
        fail_msg("%s of %llu items has other bits", tally_op_name(op), (unsigned long long)n);
}

/* With a variant the device reduces; else the library's own programs would, on a CPU. */
static void reduce(tally_context *context, tally_op op, const float *from, uint64_t n) {
    const tally_reduce_desc desc = {.size = sizeof desc, .op = op, .in = TALLY_F32, .variant = "auto"};
    float result = 77;
    MUST(tally_reduce_host_inputs(context, &desc, (const void *[]){from}, n, &result));
    expect_result_of(op, from, n, &result);
}

/* ---- objects of a repeated call -------------------------------------------------------------- */

typedef struct traffic {
    int opened[STUB_KIND_COUNT], programs, launches, waits;
} traffic;

static traffic traffic_now(void) {
    traffic now = {.programs = stub.sources + stub.binaries + stub.prebuilt, .launches = stub.launches, .waits = stub.waits};
    memcpy(now.opened, stub.opened, sizeof now.opened);
    return now;
}

/* A repeated call creates no object where the device has memory of its own. Elsewhere it wraps the
 * array. */
static void test_repeated(void **unused) {
    (void)unused;
    static const char *const selects[] = {"stub:alpha", "stub:beta"};
    static const uint64_t sizes[] = {SOME, SOME, SOME - 7, SOME + 100000, 140000};
    for (int beta = 0; beta < 2; beta++) {
        tally_context *context = open_context(selects[beta]);
        reduce(context, TALLY_SUM, items, SOME);
        EXPECT_PLANS(1, 0, 1);
        for (size_t s = 0; s < TALLY_ARRAY_LENGTH(sizes); s++) {
            const traffic before = traffic_now();
            reduce(context, TALLY_SUM, items + s, sizes[s]);
            const traffic now = traffic_now();
            for (int kind = 0; kind < STUB_KIND_COUNT; kind++)
                assert_int_equal(now.opened[kind] - before.opened[kind], beta && kind == STUB_MEMORY);
            assert_int_equal(now.programs, before.programs);
            assert_int_equal(now.launches - before.launches, 2); /* as in tally_reduce: the groups, then the finish */
            assert_int_equal(now.waits - before.waits, 1);
            EXPECT_PLANS(1, 1 + s, 1);
        }
        tally_context_destroy(context);
        SOUND();
    }
}

/* Both slots of staging are kept where items are streamed. So is the staging of misaligned
 * items. */
static void test_streamed(void **unused) {
    (void)unused;
    tally_context *context = open_context("stub:alpha");
    for (int again = 0; again < 3; again++) {
        const traffic before = traffic_now();
        reduce(context, TALLY_SUM, items, MANY - (uint64_t)again);
        if (again) assert_memory_equal(traffic_now().opened, before.opened, sizeof before.opened);
        EXPECT_PLANS(1, (uint64_t)again, 1);
    }
    assert_in_range(info_of(context).host_bytes_kept, 128 << 20, 130 << 20);
    tally_context_destroy(context);
    SOUND();
    context = open_context("stub:beta");
    char *const odd = malloc((SOME + 1) * sizeof(float));
    assert_non_null(odd);
    memcpy(odd + 1, items, SOME * sizeof(float));
    for (int again = 0; again < 3; again++) {
        const traffic before = traffic_now();
        float result;
        MUST(tally_reduce_host(context, TALLY_MAX, TALLY_F32, odd + 1, SOME, &result));
        expect_result_of(TALLY_MAX, items, SOME, &result);
        if (again) assert_memory_equal(traffic_now().opened, before.opened, sizeof before.opened);
        EXPECT_PLANS(1, (uint64_t)again, 1);
    }
    assert_in_range(info_of(context).host_bytes_kept, 1 << 20, 2 << 20);
    free(odd);
    tally_context_destroy(context);
    SOUND();
}

static void test_described(void **unused) {
    (void)unused;
    char text[4096];
    tally_context *context = open_context("stub:beta");
    MUST(tally_context_describe(context, text, sizeof text));
    assert_non_null(strstr(text, "\nhost calls: 0 plans kept, 0 reused, 0.0 MiB\n"));
    for (int again = 0; again < 3; again++) reduce(context, TALLY_SUM, items, SOME);
    reduce(context, TALLY_MIN, items, SOME);
    MUST(tally_context_describe(context, text, sizeof text));
    /* Each plan has 1 MiB of staging, and 4 levels of 16 KiB. */
    assert_non_null(strstr(text, "\nhost calls: 2 plans kept, 2 reused, 2.1 MiB\n"));
    tally_context_destroy(context);
    SOUND();
}

/* The user's objects retain the context beyond its handle, and with it the kept plans. */
static void test_ends_with_the_last(void **unused) {
    (void)unused;
    tally_buffer *buffer;
    tally_context *context = open_context("stub:alpha");
    MUST(tally_buffer_create(context, 8, &buffer));
    reduce(context, TALLY_SUM, items, 1000);
    tally_context_destroy(context);
    assert_int_equal(stub.open[STUB_DEVICE], 1);
    assert_int_equal(info_of(context).host_plans_kept, 1);
    tally_buffer_destroy(buffer);
    SOUND();
}

/* ---- calls that share a plan ----------------------------------------------------------------- */

static void call(tally_context *context, tally_reduce_desc desc, uint64_t n) {
    unsigned char result[256];
    desc.size = sizeof desc;
    MUST(tally_reduce_host_inputs(context, &desc, (const void *[]){items, items}, n, result));
}

static void test_keys(void **unused) {
    (void)unused;
    static const tally_op_desc own = {.size = sizeof own, .identity = "0", .load = "x", .combine = "a + b"};
    tally_custom_op *first, *second;
    MUST(tally_op_create(&own, &first));
    MUST(tally_op_create(&own, &second));
    /* Each list differs from the first by one member of the second term. */
    const tally_term_desc pairs[][2] = {
        {{.op = TALLY_SUM}, {.op = TALLY_ASUM}},
        {{.op = TALLY_SUM}, {.op = TALLY_MIN}},
        {{.op = TALLY_SUM}, {.op = TALLY_ASUM, .out = TALLY_F64}},
        {{.op = TALLY_SUM}, {.op = TALLY_ASUM, .acc = TALLY_F64}},
        {{.op = TALLY_SUM}, {.op = TALLY_ASUM, .accuracy = TALLY_ACCURACY_COMPENSATED}},
        {{.op = TALLY_SUM}, {.custom = first}},
        {{.op = TALLY_SUM}, {.custom = second}},
    };
    const tally_reduce_desc all[] = {{.op = TALLY_SUM, .in = TALLY_F32, .variant = "auto"},
                                     {.op = TALLY_MIN, .in = TALLY_F32, .variant = "auto"},
                                     {.op = TALLY_SUM, .in = TALLY_I32, .variant = "auto"},
                                     {.op = TALLY_SUM, .in = TALLY_F32, .out = TALLY_F64},
                                     {.op = TALLY_SUM, .in = TALLY_F32, .variant = "cpu_chunks"},
                                     {.op = TALLY_SUM, .in = TALLY_F32, .variant = "group_tree"},
                                     {.op = TALLY_SUM, .in = TALLY_F32, .variant = "group_tree", .group_threads = 64},
                                     {.op = TALLY_SUM, .in = TALLY_F32, .acc = TALLY_F64},
                                     {.op = TALLY_SUM, .in = TALLY_F32, .accuracy = TALLY_ACCURACY_COMPENSATED},
                                     {.terms = pairs[0], .term_count = 2, .in = TALLY_F32},
                                     {.terms = pairs[1], .term_count = 2, .in = TALLY_F32},
                                     {.terms = pairs[2], .term_count = 2, .in = TALLY_F32},
                                     {.terms = pairs[3], .term_count = 2, .in = TALLY_F32},
                                     {.terms = pairs[4], .term_count = 2, .in = TALLY_F32},
                                     {.terms = pairs[5], .term_count = 2, .in = TALLY_F32},
                                     {.terms = pairs[6], .term_count = 2, .in = TALLY_F32},
                                     {.terms = pairs[0], .term_count = 1, .in = TALLY_F32},
                                     {.custom = first, .in = TALLY_F32},
                                     {.custom = second, .in = TALLY_F32}};
    for (size_t a = 0; a < TALLY_ARRAY_LENGTH(all); a++)
        for (size_t b = 0; b < a; b++) {
            tally_context *context = open_context("stub:beta");
            call(context, all[a], SOME);
            call(context, all[b], SOME);
            EXPECT_PLANS(2, 0, 2);
            call(context, all[a], SOME);
            call(context, all[b], SOME);
            EXPECT_PLANS(2, 2, 2);
            tally_context_destroy(context);
            SOUND();
        }
    tally_op_destroy(first);
    tally_op_destroy(second);
}

/* Texts and lists are compared by their content. max_n, which is ignored, and "auto" make no
 * difference. */
static void test_same_keys(void **unused) {
    (void)unused;
    char name[] = "cpu_chunks";
    tally_term_desc terms[] = {{.op = TALLY_SUM}, {.op = TALLY_MAX}};
    tally_context *context = open_context("stub:beta");
    const tally_reduce_desc named = {.variant = name, .terms = terms, .term_count = 2, .in = TALLY_F32};
    call(context, named, SOME);
    memset(name, 'x', sizeof name - 1);
    terms[1].op = TALLY_MIN;
    const tally_term_desc again[] = {{.op = TALLY_SUM}, {.op = TALLY_MAX}};
    call(context, (tally_reduce_desc){.variant = "cpu_chunks", .terms = again, .term_count = 2, .in = TALLY_F32, .max_n = 5},
         SOME);
    EXPECT_PLANS(1, 1, 1);
    call(context, (tally_reduce_desc){.op = TALLY_SUM, .in = TALLY_F32, .out = TALLY_F32}, SOME);
    call(context, (tally_reduce_desc){.op = TALLY_SUM, .in = TALLY_F32, .out = TALLY_F32, .variant = "auto"}, SOME);
    EXPECT_PLANS(2, 2, 2);
    /* Far fewer items need a plan of another shape. */
    call(context, (tally_reduce_desc){.op = TALLY_SUM, .in = TALLY_F32, .out = TALLY_F32, .variant = "auto"}, 5000);
    EXPECT_PLANS(3, 2, 3);
    tally_context_destroy(context);
    SOUND();
}

/* A wrong descriptor is refused even if a kept plan would fit. */
static void test_refused(void **unused) {
    (void)unused;
    float result;
    tally_context *context = open_context("stub:beta");
    const tally_term_desc sum = {.op = TALLY_SUM};
    const tally_reduce_desc good = {.size = sizeof good, .terms = &sum, .term_count = 1, .in = TALLY_F32};
    const struct {
        tally_reduce_desc desc;
        uint64_t more;
    } later = {.desc = {.size = sizeof later, .terms = &sum, .term_count = 1, .in = TALLY_F32}, .more = 1};
    tally_reduce_desc bad = good;
    call(context, good, SOME);
    BAD(tally_reduce_host_inputs(context, &later.desc, (const void *[]){items}, SOME, &result), "desc.size");
    bad.terms = NULL;
    BAD(tally_reduce_host_inputs(context, &bad, (const void *[]){items}, SOME, &result), "desc.terms is NULL");
    bad = good, bad.term_count = 1000;
    BAD(tally_reduce_host_inputs(context, &bad, (const void *[]){items}, SOME, &result), "1000");
    bad = good, bad.size = 3;
    BAD(tally_reduce_host_inputs(context, &bad, (const void *[]){items}, SOME, &result), "desc.size is 3");
    bad = good, bad.variant = "a name that is longer than the name of any variant is";
    BAD(tally_reduce_host_inputs(context, &bad, (const void *[]){items}, SOME, &result), "variant");
    EXPECT_PLANS(1, 0, 1);
    BAD(tally_reduce_host_inputs(context, &good, (const void *[]){NULL}, SOME, &result), "items is NULL");
    call(context, good, SOME);
    tally_context_destroy(context);
    SOUND();
}

/* A destroyed op of one's own lives as long as its plan, so that no other op gets its address. */
static void test_custom_identity(void **unused) {
    (void)unused;
    static const char *const loads[] = {"x", "x * 0 + 1", "x * 0 + 2"};
    tally_context *context = open_context("stub:beta");
    for (int i = 0; i < 3; i++) {
        const tally_op_desc own = {
            .size = sizeof own, .acc = TALLY_F64, .identity = "0", .load = loads[i], .combine = "a + b", .out = TALLY_F64};
        tally_custom_op *op;
        double result[2] = {-1, -1};
        MUST(tally_op_create(&own, &op));
        const tally_reduce_desc desc = {.size = sizeof desc, .custom = op, .in = TALLY_F32};
        for (int k = 0; k < 2; k++)
            MUST(tally_reduce_host_inputs(context, &desc, (const void *[]){items}, 1 + 5999 * (uint64_t)k, &result[k]));
        tally_op_destroy(op);
        if (i) assert_true(result[0] == i && result[1] == 6000 * i);
    }
    EXPECT_PLANS(6, 0, 6);
    tally_context_destroy(context);
    SOUND();
}

/* ---- limits ---------------------------------------------------------------------------------- */

static void test_eviction(void **unused) {
    (void)unused;
    static const tally_op ops[] = {TALLY_SUM,    TALLY_MIN,    TALLY_MAX,   TALLY_PROD, TALLY_ASUM,
                                   TALLY_NANMIN, TALLY_NANMAX, TALLY_SUMSQ, TALLY_AMAX};
    enum { COUNT = TALLY_ARRAY_LENGTH(ops) };
    assert_int_equal(COUNT, TALLY_KEPT_FEEDS + 1);
    tally_context *context = open_context("stub:beta");
    for (int i = 0; i < TALLY_KEPT_FEEDS; i++) reduce(context, ops[i], items, SOME);
    EXPECT_PLANS(TALLY_KEPT_FEEDS, 0, TALLY_KEPT_FEEDS);
    reduce(context, ops[0], items, SOME); /* now the second is the oldest */
    reduce(context, ops[COUNT - 1], items, SOME);
    EXPECT_PLANS(COUNT, 1, TALLY_KEPT_FEEDS);
    reduce(context, ops[0], items, SOME);
    reduce(context, ops[2], items, SOME);
    EXPECT_PLANS(COUNT, 3, TALLY_KEPT_FEEDS);
    reduce(context, ops[1], items, SOME);
    EXPECT_PLANS(COUNT + 1, 3, TALLY_KEPT_FEEDS);
    tally_context_destroy(context);
    SOUND();
}

/* Two plans that stream take 257 MiB. A third would make it 385. One of two inputs takes 257 MiB
 * alone. */
static void test_bytes(void **unused) {
    (void)unused;
    float result;
    const tally_reduce_desc dot = {.size = sizeof dot, .op = TALLY_DOT, .in = TALLY_F32};
    tally_context *context = open_context("stub:alpha");
    static const tally_op ops[] = {TALLY_SUM, TALLY_MAX, TALLY_MIN, TALLY_MAX, TALLY_SUM};
    static const uint64_t made[] = {1, 2, 3, 3, 4}, reused[] = {0, 0, 0, 1, 1}, kept[] = {1, 2, 2, 2, 2};
    for (size_t i = 0; i < TALLY_ARRAY_LENGTH(ops); i++) {
        reduce(context, ops[i], items, MANY);
        EXPECT_PLANS(made[i], reused[i], kept[i]);
        assert_true(info_of(context).host_bytes_kept <= TALLY_KEPT_BYTES);
    }
    for (uint64_t i = 0; i < 2; i++) {
        MUST(tally_reduce_host_inputs(context, &dot, (const void *[]){items, items}, MANY, &result));
        EXPECT_PLANS(5, 1 + i, 1);
    }
    assert_in_range(info_of(context).host_bytes_kept, 256 << 20, TALLY_KEPT_BYTES);
    tally_context_destroy(context);
    SOUND();
}

/* ---- their end ------------------------------------------------------------------------------- */

static void test_tunings(void **unused) {
    (void)unused;
    tally_context *context = open_context("stub:alpha");
    reduce(context, TALLY_SUM, items, SOME);
    MUST(tally_context_set_tunings(context, "* * * * * 256 4 - -"));
    EXPECT_PLANS(1, 0, 0);
    assert_int_equal(info_of(context).host_bytes_kept, 0);
    assert_int_equal(stub.open[STUB_QUEUE], 0);
    reduce(context, TALLY_SUM, items, SOME);
    EXPECT_PLANS(2, 0, 1);
    assert_int_equal(((tally_kept_set *)context->kept)->idle[0].desc.in, TALLY_F32);
    assert_int_equal(
        ((tally_reduce_plan *)tally_feed_plan(((tally_kept_set *)context->kept)->idle[0].feed))->launch.group_threads, 256);
    tally_context_destroy(context);
    SOUND();
}

static tally_kept take(tally_context *context) {
    const tally_reduce_desc desc = {.size = sizeof desc, .op = TALLY_SUM, .in = TALLY_F32, .max_n = 4096};
    tally_kept kept;
    MUST(tally_kept_take(context, &desc, &kept));
    return kept;
}

static void finish(tally_kept *kept, uint64_t n) {
    float result;
    MUST(tally_feed_finish(kept->feed, items, n, &result));
    expect_result_of(TALLY_SUM, items, n, &result);
}

/* Calls at the same time have a feed each. After new tunings a feed in use ends when it comes
 * back. */
static void test_in_use(void **unused) {
    (void)unused;
    tally_context *context = open_context("stub:alpha");
    tally_kept first = take(context), second = take(context);
    assert_ptr_not_equal(first.feed, second.feed);
    finish(&first, 1000);
    finish(&second, 2000);
    tally_kept_give(context, &first, true);
    tally_kept_give(context, &second, true);
    EXPECT_PLANS(2, 0, 2);
    first = take(context);
    second = take(context);
    MUST(tally_context_set_tunings(context, ""));
    finish(&first, 4000);
    tally_kept_give(context, &first, true);
    tally_kept third = take(context);
    tally_kept_give(context, &second, true);
    tally_kept_give(context, &third, true);
    EXPECT_PLANS(3, 2, 1);
    first = take(context);
    tally_kept_give(context, &first, false);
    EXPECT_PLANS(3, 3, 0);
    tally_context_destroy(context);
    SOUND();
}

/* Each of the backend's calls fails once, in the first use or in a later one. The call reports it,
 * and later calls are right. */
static void test_failures(void **unused) {
    (void)unused;
    static const char *const selects[] = {"stub:alpha", "stub:beta"};
    static const uint64_t sizes[] = {SOME, SOME, MANY, SOME - 1, MANY - 1};
    for (int k = 1, beta = 0; beta < 2; k++) {
        int failures = 0;
        tally_context *context = open_context(selects[beta]);
        stub.fail_at = stub.calls + k;
        stub.fail_with = TALLY_E_DEVICE;
        for (size_t s = 0; s < TALLY_ARRAY_LENGTH(sizes); s++) {
            float sum = 0;
            const uint64_t kept = info_of(context).host_plans_kept;
            const tally_status status = tally_reduce_host(context, TALLY_SUM, TALLY_F32, items, sizes[s], &sum);
            if (status == TALLY_OK) {
                expect_result_of(TALLY_SUM, items, sizes[s], &sum);
                continue;
            }
            failures++;
            assert_int_equal(status, TALLY_E_DEVICE);
            assert_non_null(strstr(tally_last_error(), stub.text));
            assert_true(info_of(context).host_plans_kept <= kept);
        }
        assert_int_equal(atomic_load(&context->references), 1);
        assert_in_range(failures, 0, 1);
        tally_context_destroy(context);
        SOUND();
        if (!stub.failed[0]) beta++, k = 0;
    }
}

const core_test kept_tests[] = {
    {"kept plans: a repeated call", test_repeated},
    {"kept plans: streamed and misaligned items", test_streamed},
    {"kept plans: described", test_described},
    {"kept plans: end with the last reference", test_ends_with_the_last},
    {"kept plans: every member of the descriptor", test_keys},
    {"kept plans: the same descriptor", test_same_keys},
    {"kept plans: refusals", test_refused},
    {"kept plans: custom ops", test_custom_identity},
    {"kept plans: eviction", test_eviction},
    {"kept plans: bytes", test_bytes},
    {"kept plans: tunings", test_tunings},
    {"kept plans: in use", test_in_use},
    {"kept plans: failures", test_failures},
    {NULL, NULL},
};
