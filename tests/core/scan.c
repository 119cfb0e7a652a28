/* SPDX-License-Identifier: MIT */
/* Scans on the stub: refusals, launches, memory, and the failure of each of the backend's calls. */
#define _XOPEN_SOURCE 700
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/calls.h"
#include "core.h"
#include "scan/scan.h"

#define BLOCK ((uint64_t)TALLY_SCAN_BLOCK)
#define MAX_N (2 * BLOCK)

static const tally_scan_desc sum_i32 = {.size = sizeof(tally_scan_desc), .op = TALLY_SUM, .in = TALLY_I32, .max_n = MAX_N};

/* ---- variants -------------------------------------------------------------------------------- */

static void test_variants(void **unused) {
    (void)unused;
    tally_variant_info info, other;
    unsigned canonical = 0;
    const size_t count = tally_scan_variant_count();
    assert_true(count >= 2);
    for (size_t v = 0; v < count; v++) {
        MUST(tally_scan_variant_get(v, &info));
        assert_true(*info.name && *info.stem && *info.step && *info.finish && *info.why && info.group_threads);
        canonical += info.canonical == 1;
        for (size_t w = 0; w < v; w++) {
            MUST(tally_scan_variant_get(w, &other));
            assert_string_not_equal(info.name, other.name);
        }
    }
    assert_true(canonical >= 2);
    BAD(tally_scan_variant_get(count, &info), "tally_scan_variant_get");
    BAD(tally_scan_variant_get(SIZE_MAX, &info), "tally_scan_variant_get");
    BAD(tally_scan_variant_get(0, NULL), "tally_scan_variant_get", "out");
}

/* ---- descriptors ----------------------------------------------------------------------------- */

static tally_context *open_context(const char *select) {
    tally_context *context;
    MUST(tally_context_create(select, &context));
    return context;
}

#define CREATE "tally_scan_plan_create"

static void test_descriptors(void **unused) {
    (void)unused;
    static const float initial = 1;
    const struct {
        tally_scan_desc desc;
        tally_status status;
        const char *words[3];
    } rows[] = {
        {{.op = 0, .in = TALLY_F32}, TALLY_E_ARGUMENT, {"desc.op"}},
        {{.op = 999, .in = TALLY_F32}, TALLY_E_ARGUMENT, {"desc.op"}},
        {{.op = TALLY_SUM, .in = 0}, TALLY_E_ARGUMENT, {"desc.in"}},
        {{.op = TALLY_SUM, .in = TALLY_F32, .flags = 8}, TALLY_E_ARGUMENT, {"desc.flags", "TALLY_ALONG_AXIS"}},
        {{.op = TALLY_SUM, .in = TALLY_F32, .segments = 3}, TALLY_E_ARGUMENT, {"desc.segments", "3"}},
        {{.op = TALLY_SUM, .in = TALLY_F32, .initial = &initial}, TALLY_E_ARGUMENT, {"desc.initial", "exclusive"}},
        {{.op = TALLY_SUM, .in = TALLY_F32, .initial = &initial, .flags = TALLY_REVERSE}, TALLY_E_ARGUMENT, {"desc.initial"}},
        {{.op = TALLY_SUM, .in = TALLY_F32, .variant = "fast"}, TALLY_E_ARGUMENT, {"fast", "auto", "reduce_then_scan"}},
        {{.op = TALLY_SUM, .in = TALLY_F32, .out = TALLY_I32}, TALLY_E_ARGUMENT, {"desc.out"}},
        {{.op = TALLY_SUM, .in = TALLY_I32, .acc = TALLY_F64}, TALLY_E_ARGUMENT, {"desc.acc"}},
        {{.op = TALLY_DOT, .in = TALLY_F32}, TALLY_E_UNSUPPORTED, {"dot", "2 inputs"}},
        {{.op = TALLY_ALLCLOSE, .in = TALLY_F32}, TALLY_E_UNSUPPORTED, {"allclose", "2 inputs"}},
        {{.op = TALLY_ARGMIN, .in = TALLY_F32, .initial = &initial, .flags = TALLY_EXCLUSIVE},
         TALLY_E_UNSUPPORTED,
         {"argmin", "desc.initial"}},
        {{.op = TALLY_IAMAX, .in = TALLY_F32, .initial = &initial, .flags = TALLY_EXCLUSIVE},
         TALLY_E_UNSUPPORTED,
         {"iamax", "desc.initial"}},
        {{.op = TALLY_SUM, .in = TALLY_F32, .variant = "cpu_scan"}, TALLY_E_UNSUPPORTED, {"cpu_scan", "gpu"}},
    };
    tally_context *context = open_context("stub:alpha");
    for (size_t i = 0; i < TALLY_ARRAY_LENGTH(rows); i++) {
        tally_scan_desc desc = rows[i].desc;
        tally_plan *plan = (tally_plan *)(uintptr_t)1;
        desc.size = sizeof desc;
        desc.max_n = desc.max_n ? desc.max_n : 100;
        /* A text about a variant begins with the variant, as for reductions. */
        const char *const words[] = {desc.variant ? "variant" : CREATE, rows[i].words[0], rows[i].words[1], rows[i].words[2],
                                     NULL};
        char what[32];
        snprintf(what, sizeof what, "row %zu", i);
        refused(tally_scan_plan_create(context, &desc, &plan), rows[i].status, what, __FILE__, __LINE__, words);
        assert_null(plan);
    }
    tally_plan *plan;
    tally_scan_desc desc = sum_i32;
    BAD(tally_scan_plan_create(NULL, &sum_i32, &plan), CREATE, "context");
    BAD(tally_scan_plan_create(context, NULL, &plan), CREATE, "desc");
    BAD(tally_scan_plan_create(context, &sum_i32, NULL), CREATE, "out");
    desc.size = sizeof desc + 1;
    BAD(tally_scan_plan_create(context, &desc, &plan), CREATE, "desc.size");
    desc.size = 0;
    BAD(tally_scan_plan_create(context, &desc, &plan), CREATE, "desc.size");
    stub.missing = "look_back";
    desc = sum_i32;
    desc.variant = "look_back";
    REFUSED(tally_scan_plan_create(context, &desc, &plan), TALLY_E_UNSUPPORTED, "look_back", "kernels");
    tally_context_destroy(context);
    SOUND();
}

/* ---- calls ----------------------------------------------------------------------------------- */

typedef struct setup {
    tally_context *context;
    tally_queue *queue;
    tally_buffer *in, *out, *segments; /* MAX_N of i32 and i64; of u64s */
    tally_plan *plan;
} setup;

static setup begin(const char *select, tally_scan_desc desc) {
    setup s = {.context = open_context(select)};
    MUST(tally_queue_create(s.context, &s.queue));
    MUST(tally_buffer_create(s.context, MAX_N * 4, &s.in));
    MUST(tally_buffer_create(s.context, MAX_N * 8, &s.out));
    MUST(tally_buffer_create(s.context, 100 * 8, &s.segments));
    MUST(tally_scan_plan_create(s.context, &desc, &s.plan));
    return s;
}

static void end(setup *s) {
    MUST(tally_queue_wait(s->queue));
    tally_plan_destroy(s->plan);
    tally_buffer_destroy(s->in);
    tally_buffer_destroy(s->out);
    tally_buffer_destroy(s->segments);
    tally_queue_destroy(s->queue);
    tally_context_destroy(s->context);
    SOUND();
}

static void test_ranges(void **unused) {
    (void)unused;
    tally_scan_desc desc = sum_i32;
    desc.max_n = MAX_N - 1;
    setup s = begin("stub", desc);
    const uint64_t all = UINT64_MAX;
    const int launches = stub.launches;
    BAD(tally_scan(NULL, s.queue, s.in, 1, s.out), "tally_scan", "plan");
    BAD(tally_scan(s.plan, NULL, s.in, 1, s.out), "tally_scan", "queue");
    BAD(tally_scan(s.plan, s.queue, NULL, 1, s.out), "tally_scan", "in");
    BAD(tally_scan(s.plan, s.queue, s.in, 1, NULL), "tally_scan", "out");
    BAD(tally_scan(s.plan, s.queue, s.in, MAX_N, s.out), "tally_scan", "max_n", "262144", "262143");
    BAD(scan_at(s.plan, s.queue, s.in, 3, MAX_N - 2, s.out, 0), "tally_scan", "in", "262142 items at offset 3");
    BAD(scan_at(s.plan, s.queue, s.in, all, 1, s.out, 0), "tally_scan", "in");
    BAD(scan_at(s.plan, s.queue, s.in, all, all, s.out, 0), "tally_scan");
    BAD(scan_at(s.plan, s.queue, s.in, 0, 2, s.out, MAX_N - 1), "tally_scan", "out");
    BAD(scan_at(s.plan, s.queue, s.in, 0, 1, s.out, (uint64_t)1 << 61), "tally_scan", "out"); /* times 8 bytes: 0 */
    BAD(tally_scan(s.plan, s.queue, s.out, 1, s.out), "tally_scan", "overlap");               /* i64 results over i32 items */
    BAD(scan_segments(s.plan, s.queue, s.in, 0, s.segments, 0, 0, 1, s.out, 0), "tally_scan_with", "no segments");
    BAD(tally_scan_with(s.plan, s.queue, NULL), "tally_scan_with", "args is NULL");
    BAD(tally_scan_with(s.plan, s.queue, &(tally_scan_args){.size = 8}), "args.size is 8");
    assert_int_equal(stub.launches, launches);
    MUST(scan_at(s.plan, s.queue, s.in, MAX_N, 0, s.out, MAX_N));
    assert_int_equal(stub.launches, launches);
    setup other = begin("stub", sum_i32);
    BAD(tally_scan(s.plan, other.queue, s.in, 1, s.out), "tally_scan", "queue");
    BAD(tally_scan(s.plan, s.queue, other.in, 1, s.out), "tally_scan", "in");
    BAD(tally_scan(s.plan, s.queue, s.in, 1, other.out), "tally_scan", "out");
    MUST(tally_queue_wait(other.queue));
    tally_plan_destroy(other.plan);
    tally_buffer_destroy(other.in);
    tally_buffer_destroy(other.out);
    tally_buffer_destroy(other.segments);
    tally_queue_destroy(other.queue);
    tally_context_destroy(other.context);
    end(&s);
}

/* In place: the same bytes if the widths are equal. Otherwise the ranges must be apart. */
static void test_in_place(void **unused) {
    (void)unused;
    tally_scan_desc desc = sum_i32;
    desc.op = TALLY_MAX;
    setup s = begin("stub", desc);
    MUST(tally_scan(s.plan, s.queue, s.in, 1000, s.in));
    MUST(scan_at(s.plan, s.queue, s.in, 7, 1000, s.in, 7));
    MUST(scan_at(s.plan, s.queue, s.in, 0, 1000, s.in, 1000));
    MUST(scan_at(s.plan, s.queue, s.in, 1000, 1000, s.in, 0));
    BAD(scan_at(s.plan, s.queue, s.in, 0, 1000, s.in, 999), "overlap");
    BAD(scan_at(s.plan, s.queue, s.in, 1, 1000, s.in, 0), "overlap");
    BAD(scan_at(s.plan, s.queue, s.in, 999, 1000, s.in, 0), "overlap");
    end(&s);
    desc.segments = TALLY_SEGMENTS_FLAGS;
    s = begin("stub", desc);
    BAD(tally_scan(s.plan, s.queue, s.in, 100, s.out), "tally_scan", "tally_scan_with");
    BAD(scan_segments(s.plan, s.queue, s.in, 0, s.segments, 1, 0, 800, s.out, 0), "segments", "800 items at offset 1");
    BAD(scan_segments(s.plan, s.queue, s.in, 0, s.out, 0, 0, 1, s.out, 0), "segments and out overlap");
    MUST(scan_segments(s.plan, s.queue, s.in, 0, s.segments, 1, UINT64_MAX, 799, s.in, 0)); /* flags have no count */
    BAD(scan_next(s.plan, s.queue, s.in, 0, NULL, 0, 1, s.out, 0), "tally_scan_next");
    end(&s);
}

/* A plan is of one kind. */
static void test_kinds(void **unused) {
    (void)unused;
    setup s = begin("stub", sum_i32);
    const tally_reduce_desc reduction = {.size = sizeof reduction, .op = TALLY_SUM, .in = TALLY_I32, .max_n = 100};
    tally_plan *plan;
    MUST(tally_plan_create(s.context, &reduction, &plan));
    BAD(tally_scan(plan, s.queue, s.in, 1, s.out), "tally_scan", "reduction");
    BAD(scan_segments(plan, s.queue, s.in, 0, s.segments, 0, 0, 1, s.out, 0), "reduction");
    BAD(scan_next(plan, s.queue, s.in, 0, NULL, 0, 1, s.out, 0), "reduction");
    BAD(tally_reduce(s.plan, s.queue, s.in, 1, s.out), "tally_reduce", "scan");
    tally_plan_destroy(plan);
    end(&s);
}

static void test_next(void **unused) {
    (void)unused;
    tally_scan_desc desc = sum_i32;
    setup s = begin("stub", desc);
    MUST(scan_next(s.plan, s.queue, s.in, 0, NULL, 0, BLOCK, s.out, 0));
    MUST(scan_next(s.plan, s.queue, s.in, 0, NULL, 0, 0, s.out, 0));
    MUST(scan_next(s.plan, s.queue, s.in, BLOCK, NULL, 0, 5, s.out, BLOCK));
    BAD(scan_next(s.plan, s.queue, s.in, 0, NULL, 0, 1, s.out, 0), "tally_scan_next", "131077");
    MUST(tally_scan(s.plan, s.queue, s.in, 3, s.out));
    BAD(scan_next(s.plan, s.queue, s.in, 0, NULL, 0, 1, s.out, 0), "tally_scan_next", "3 items");
    BAD(scan_next(NULL, s.queue, s.in, 0, NULL, 0, 1, s.out, 0), "tally_scan_next", "plan");
    MUST(tally_scan(s.plan, s.queue, s.in, 2 * BLOCK, s.out));
    BAD(scan_next(s.plan, s.queue, s.in, 0, s.segments, 0, 1, s.out, 0), "no segments");
    end(&s);
    desc.flags = TALLY_REVERSE;
    s = begin("stub", desc);
    REFUSED(scan_next(s.plan, s.queue, s.in, 0, NULL, 0, 1, s.out, 0), TALLY_E_UNSUPPORTED, "tally_scan_next", "reverse");
    end(&s);
    desc.flags = 0;
    desc.segments = TALLY_SEGMENTS_OFFSETS;
    s = begin("stub", desc);
    REFUSED(scan_next(s.plan, s.queue, s.in, 0, s.segments, 0, 1, s.out, 0), TALLY_E_UNSUPPORTED, "offsets");
    end(&s);
}

/* ---- launches -------------------------------------------------------------------------------- */

/* Returns the launches of a call, which allocates nothing and does not wait. */
static int launches_of(setup *s, uint64_t n, uint64_t count) {
    int opened = 0, still = 0;
    const int launches = stub.launches, waits = stub.waits;
    for (int k = 0; k < STUB_KIND_COUNT; k++) opened += stub.opened[k];
    if (((const tally_scan_plan *)s->plan)->segments)
        MUST(scan_segments(s->plan, s->queue, s->in, 0, s->segments, 0, count, n, s->out, 0));
    else
        MUST(tally_scan(s->plan, s->queue, s->in, n, s->out));
    for (int k = 0; k < STUB_KIND_COUNT; k++) still += stub.opened[k];
    assert_int_equal(still, opened);
    assert_int_equal(stub.waits, waits);
    return stub.launches - launches;
}

static void expect_launches(const char *select, const char *variant, int each) {
    tally_scan_desc desc = sum_i32;
    desc.variant = variant;
    setup s = begin(select, desc);
    assert_string_equal(tally_plan_variant(s.plan), variant);
    assert_int_equal(launches_of(&s, 0, 0), 0);
    assert_int_equal(launches_of(&s, 1, 0), each);
    assert_int_equal(launches_of(&s, MAX_N, 0), each);
    assert_true(tally_plan_workspace_bytes(s.plan) > 0);
    end(&s);
    desc.segments = TALLY_SEGMENTS_OFFSETS;
    s = begin(select, desc);
    assert_int_equal(launches_of(&s, 5000, 100), each + 2);
    assert_int_equal(launches_of(&s, 5000, 0), each + 1); /* there are no flags to set */
    assert_int_equal(launches_of(&s, 0, 100), 0);
    BAD(scan_segments(s.plan, s.queue, s.in, 0, s.segments, 0, 101, 5, s.out, 0), "segments", "101 items");
    BAD(scan_segments(s.plan, s.queue, s.in, 0, s.segments, 1, 100, 5, s.out, 0), "segments");
    assert_true(tally_plan_workspace_bytes(s.plan) >= MAX_N);
    end(&s);
}

static void test_launches(void **unused) {
    (void)unused;
    expect_launches("stub:alpha", "look_back", 1);
    expect_launches("stub:alpha", "reduce_then_scan", 3);
    expect_launches("stub:alpha", "warp_carry", 3);
    expect_launches("stub:beta", "cpu_scan", 1);
}

/* ---- failures -------------------------------------------------------------------------------- */

#define TRY(call)                                                                                                              \
    if (!status) status = (call)

static tally_status use_scan(const char *select, const char *variant, tally_segments segments) {
    enum { COUNT = 9001 };
    static int32_t x[COUNT];
    static int64_t got[COUNT];
    for (int i = 0; i < COUNT; i++) x[i] = i % 13 - 5;
    tally_context *context = NULL;
    tally_plan *plan = NULL;
    tally_queue *queue = NULL;
    tally_buffer *in = NULL, *out = NULL, *offsets = NULL;
    tally_scan_desc desc = sum_i32;
    desc.variant = variant;
    desc.segments = segments;
    tally_status status = tally_context_create(select, &context);
    TRY(tally_scan_plan_create(context, &desc, &plan));
    TRY(tally_queue_create(context, &queue));
    TRY(tally_buffer_create(context, sizeof x, &in));
    TRY(tally_buffer_create(context, sizeof got, &out));
    TRY(tally_buffer_create(context, 80, &offsets));
    TRY(tally_buffer_write(queue, in, 0, x, sizeof x));
    TRY(segments ? scan_segments(plan, queue, in, 0, offsets, 0, 10, COUNT, out, 0) : tally_scan(plan, queue, in, COUNT, out));
    TRY(tally_buffer_read(queue, out, 0, got, sizeof got));
    const tally_status waited = queue ? tally_queue_wait(queue) : TALLY_OK;
    TRY(waited);
    int64_t sum = 0;
    for (int i = 0; !status && !segments && i < COUNT; i++) assert_int_equal(got[i], sum += x[i]);
    tally_context_destroy(context);
    tally_plan_destroy(plan);
    tally_queue_destroy(queue);
    tally_buffer_destroy(in);
    tally_buffer_destroy(out);
    tally_buffer_destroy(offsets);
    return status;
}

static tally_status use_look_back(void) {
    return use_scan("stub:alpha", "look_back", TALLY_SEGMENTS_NONE);
}

static tally_status use_three(void) {
    return use_scan("stub:alpha", "reduce_then_scan", TALLY_SEGMENTS_NONE);
}

static tally_status use_cpu(void) {
    return use_scan("stub:beta", "cpu_scan", TALLY_SEGMENTS_NONE);
}

static tally_status use_offsets(void) {
    return use_scan("stub:alpha", "look_back", TALLY_SEGMENTS_OFFSETS);
}

static void test_failures(void **unused) {
    (void)unused;
    static const sequence sequences[] = {use_look_back, use_three, use_cpu, use_offsets};
    for (size_t i = 0; i < TALLY_ARRAY_LENGTH(sequences); i++)
        for (int lost = 0; lost < 2; lost++) fail_each_call(sequences[i], CACHE_OFF, lost);
}

static void test_failures_cached(void **unused) {
    (void)unused;
    for (int lost = 0; lost < 2; lost++) {
        fail_each_call(use_three, CACHE_COLD, lost);
        fail_each_call(use_look_back, CACHE_WARM, lost);
    }
}

/* A failed call changes nothing: the next piece continues where the last good call ended. */
static void test_next_after_failure(void **unused) {
    (void)unused;
    tally_scan_desc desc = sum_i32;
    desc.variant = "reduce_then_scan";
    setup s = begin("stub:alpha", desc);
    MUST(tally_scan(s.plan, s.queue, s.in, BLOCK, s.out));
    for (int k = 1; k <= 3; k++) {
        stub.fail_at = stub.calls + k;
        stub.fail_with = TALLY_E_DEVICE;
        REFUSED(scan_next(s.plan, s.queue, s.in, BLOCK, NULL, 0, 7, s.out, BLOCK), TALLY_E_DEVICE, "stub: launch");
    }
    MUST(scan_next(s.plan, s.queue, s.in, BLOCK, NULL, 0, 7, s.out, BLOCK));
    BAD(scan_next(s.plan, s.queue, s.in, 0, NULL, 0, 1, s.out, 0), "131079");
    end(&s);
}

/* A scan that a device cannot run is refused with the device's limit. */
static void test_limits(void **unused) {
    (void)unused;
    static const struct {
        const char *select, *variant;
        tally_op op;
        tally_dtype in;
        const char *words[2];
    } cases[] = {{"stub:gamma", NULL, TALLY_SUM, TALLY_F64, {"Gamma Three", "does not compute in f64"}},
                 {"stub:gamma", NULL, TALLY_MEAN, TALLY_I32, {"Gamma Three", "does not compute in f64"}},
                 {"stub:beta", "reduce_then_scan", TALLY_SUM, TALLY_F32, {"groups of 256", "at most 64"}},
                 {"stub:gamma", "reduce_then_scan", TALLY_SUM, TALLY_I64, {"local memory", "has 2048"}}};
    for (size_t i = 0; i < TALLY_ARRAY_LENGTH(cases); i++) {
        tally_context *context;
        tally_plan *plan = NULL;
        const tally_scan_desc desc = {
            .size = sizeof desc, .op = cases[i].op, .in = cases[i].in, .max_n = 100, .variant = cases[i].variant};
        MUST(tally_context_create(cases[i].select, &context));
        REFUSED(tally_scan_plan_create(context, &desc, &plan), TALLY_E_UNSUPPORTED,
                "tally_scan_plan_create: ", cases[i].words[0], cases[i].words[1]);
        assert_null(plan);
        tally_context_destroy(context);
    }
    SOUND();
}

const core_test scan_tests[] = {
    {"scan limits", test_limits},
    {"scan variants", test_variants},
    {"scan descriptors", test_descriptors},
    {"scan ranges", test_ranges},
    {"scan in place", test_in_place},
    {"scan kinds of plans", test_kinds},
    {"scan next", test_next},
    {"scan launches", test_launches},
    {"scan failures", test_failures},
    {"scan failures, cached", test_failures_cached},
    {"scan next after a failure", test_next_after_failure},
    {NULL, NULL},
};
