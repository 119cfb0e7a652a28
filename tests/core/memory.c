/* SPDX-License-Identifier: MIT */
/* Memory: sizes beyond the device, plans without max_n, arrays without an address, on the stub;
 * allocations that fail; small stacks. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core.h"
#include "parts/parts.h"
#include "scan/scan.h"

/* ---- sizes beyond the device ----------------------------------------------------------------- */

static void expect_refused(tally_context *context, tally_mem_kind kind, uint64_t bytes) {
    char asked[32], has[32];
    unsigned char byte = 0;
    tally_buffer *buffer = NULL;
    snprintf(asked, sizeof asked, "%llu bytes", (unsigned long long)bytes);
    snprintf(has, sizeof has, "%llu", (unsigned long long)context->info.memory_bytes);
    REFUSED(tally_buffer_open(context, kind, kind == TALLY_MEM_HOST ? &byte : NULL, bytes, &buffer), TALLY_E_MEMORY, asked,
            context->info.name, has);
    assert_null(buffer);
}

/* The backend is not asked, as it may accept any size. */
static void test_too_much(void **unused) {
    (void)unused;
    static const char *const selects[] = {"stub:alpha", "stub:beta"};
    for (size_t s = 0; s < TALLY_ARRAY_LENGTH(selects); s++) {
        tally_context *context;
        tally_buffer *buffer = NULL;
        MUST(tally_context_create(selects[s], &context));
        const uint64_t most = context->info.memory_bytes;
        const uint64_t sizes[] = {most + 1, UINT64_C(1) << 62, UINT64_MAX - 1, UINT64_MAX};
        const int calls = stub.calls;
        for (size_t i = 0; i < TALLY_ARRAY_LENGTH(sizes); i++) {
            expect_refused(context, TALLY_MEM_DEVICE, sizes[i]);
            expect_refused(context, TALLY_MEM_STAGING, sizes[i]);
            expect_refused(context, TALLY_MEM_HOST, sizes[i]);
            REFUSED(tally_buffer_create(context, sizes[i], &buffer), TALLY_E_MEMORY, "tally_buffer_create");
        }
        assert_int_equal(stub.calls, calls);
        MUST(tally_buffer_create(context, most, &buffer));
        assert_int_equal(tally_buffer_bytes(buffer), most);
        tally_buffer_destroy(buffer);
        tally_context_destroy(context);
    }
    SOUND();
}

/* An empty array may have no address, as in tally_reduce_host. */
static void test_wrapped_nothing(void **unused) {
    (void)unused;
    static const unsigned char one = 1;
    tally_context *context;
    tally_queue *queue;
    tally_buffer *in, *out, *also, *none = NULL;
    tally_plan *plan;
    float sum = 1;
    MUST(tally_context_create("stub:beta", &context));
    MUST(tally_queue_create(context, &queue));
    MUST(tally_plan_create(context, &side_desc, &plan));
    MUST(tally_buffer_wrap_host(context, NULL, 0, &in));
    MUST(tally_buffer_wrap_host(context, &one, 0, &also));
    MUST(tally_buffer_wrap_host(context, &sum, sizeof sum, &out));
    assert_int_equal(tally_buffer_bytes(in), 0);
    assert_int_equal(tally_buffer_bytes(also), 0);
    BAD(tally_reduce(plan, queue, in, 1, out), "in holds 0");
    MUST(tally_reduce(plan, queue, in, 0, out));
    MUST(tally_queue_wait(queue));
    assert_true(sum == 0);
    BAD(tally_buffer_wrap_host(context, NULL, 1, &none), "tally_buffer_wrap_host", "memory");
    tally_buffer_destroy(in);
    tally_buffer_destroy(also);
    tally_buffer_destroy(out);
    tally_plan_destroy(plan);
    tally_queue_destroy(queue);
    tally_context_destroy(context);
    MUST(tally_context_create("stub:alpha", &context));
    REFUSED(tally_buffer_wrap_host(context, NULL, 0, &none), TALLY_E_UNSUPPORTED, "tally_buffer_wrap_host");
    tally_context_destroy(context);
    SOUND();
}

/* ---- plans without max_n --------------------------------------------------------------------- */

/* The workspace leaves room for the items, and at most 1 MiB is left of the memory or of one
 * buffer. */
static void expect_room(const tally_plan *plan, uint64_t single, const char *what) {
    const tally_device_info *info = &plan->context->info;
    const uint64_t workspace = tally_plan_workspace_bytes(plan), items = plan->max_n * tally_dtype_bytes(plan->terms.in);
    if (single > info->max_buffer_bytes || workspace > info->memory_bytes - items)
        fail_msg("%s: %llu items of %zu bytes beside %llu bytes of workspace", what, (unsigned long long)plan->max_n,
                 tally_dtype_bytes(plan->terms.in), (unsigned long long)workspace);
    const uint64_t left = info->memory_bytes - items - workspace, left_single = info->max_buffer_bytes - single;
    if (left > (UINT64_C(1) << 20) && left_single > (UINT64_C(1) << 20))
        fail_msg("%s: %llu bytes are left", what, (unsigned long long)left);
}

static void test_default_of_reductions(void **unused) {
    (void)unused;
    static const tally_dtype types[] = {TALLY_U8, TALLY_I16, TALLY_F32, TALLY_F64};
    for (size_t v = 0; v < tally_variant_count(); v++)
        for (size_t t = 0; t < TALLY_ARRAY_LENGTH(types); t++) {
            const tally_variant *variant = tally_variant_row(v);
            const char *select = variant->classes & 1u << TALLY_CLASS_GPU ? "stub:alpha" : "stub:beta";
            const tally_reduce_desc desc = {
                .size = sizeof desc, .op = TALLY_SUM, .in = types[t], .variant = variant->info.name};
            tally_context *context;
            tally_plan *plan;
            MUST(tally_context_create(select, &context));
            MUST(tally_plan_create(context, &desc, &plan));
            expect_room(plan, ((const tally_reduce_plan *)plan)->workspace->bytes, variant->info.name);
            /* Every variant leaves at least nine tenths of the memory to the items, except
             * tree_global, whose workspace is as large as its input. */
            if (strcmp(variant->info.name, "tree_global") != 0)
                assert_true(plan->max_n * tally_dtype_bytes(types[t]) > context->info.memory_bytes / 10 * 9);
            tally_plan_destroy(plan);
            tally_context_destroy(context);
            SOUND();
            stub_reset();
        }
}

/* The bytes of an accumulator for each item do not wrap around either. */
static void test_workspace_beyond_memory(void **unused) {
    (void)unused;
    tally_context *context;
    tally_plan *plan = NULL;
    tally_reduce_desc desc = {.size = sizeof desc, .op = TALLY_VAR, .in = TALLY_F64, .variant = "tree_global"};
    MUST(tally_context_create("stub:alpha", &context));
    for (int k = 30; k < 60; k++) {
        desc.max_n = UINT64_C(1) << k;
        REFUSED(tally_plan_create(context, &desc, &plan), TALLY_E_MEMORY, "bytes", "Alpha One");
        desc.max_n -= 512; /* the accumulators of whole groups and of the partials are then 2^(k + 5) bytes */
        REFUSED(tally_plan_create(context, &desc, &plan), TALLY_E_MEMORY, "bytes", "Alpha One");
    }
    assert_null(plan);
    tally_context_destroy(context);
    SOUND();
}

static void test_default_of_scans(void **unused) {
    (void)unused;
    static const tally_dtype types[] = {TALLY_U8, TALLY_I32, TALLY_C128};
    static const tally_segments segments[] = {TALLY_SEGMENTS_NONE, TALLY_SEGMENTS_FLAGS, TALLY_SEGMENTS_OFFSETS};
    for (size_t t = 0; t < TALLY_ARRAY_LENGTH(types); t++)
        for (size_t s = 0; s < TALLY_ARRAY_LENGTH(segments); s++) {
            const tally_scan_desc desc = {.size = sizeof desc, .op = TALLY_SUM, .in = types[t], .segments = segments[s]};
            tally_context *context;
            tally_plan *plan;
            MUST(tally_context_create(t % 2 ? "stub:alpha" : "stub:beta", &context));
            MUST(tally_scan_plan_create(context, &desc, &plan));
            expect_room(plan, ((const tally_scan_plan *)plan)->heads ? ((const tally_scan_plan *)plan)->heads->bytes : 0,
                        tally_plan_variant(plan));
            assert_int_equal(((const tally_scan_plan *)plan)->heads ? ((const tally_scan_plan *)plan)->heads->bytes : 0,
                             segments[s] == TALLY_SEGMENTS_OFFSETS ? plan->max_n : 0);
            tally_plan_destroy(plan);
            tally_context_destroy(context);
            SOUND();
            stub_reset();
        }
}

/* ---- allocations that fail ------------------------------------------------------------------- */

/* The linker puts __wrap_malloc in the place of malloc, and so on. */
void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *memory, size_t bytes);
void *__real_aligned_alloc(size_t alignment, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *memory, size_t bytes);
void *__wrap_aligned_alloc(size_t alignment, size_t bytes);

static int calls_left; /* until the call that fails; 0: none fails */

static int fails(void) {
    return calls_left > 0 && --calls_left == 0;
}

void *__wrap_malloc(size_t bytes) {
    return fails() ? NULL : __real_malloc(bytes);
}
void *__wrap_calloc(size_t count, size_t bytes) {
    return fails() ? NULL : __real_calloc(count, bytes);
}
void *__wrap_realloc(void *memory, size_t bytes) {
    return fails() ? NULL : __real_realloc(memory, bytes);
}
void *__wrap_aligned_alloc(size_t alignment, size_t bytes) {
    return fails() ? NULL : __real_aligned_alloc(alignment, bytes);
}

static tally_status end(tally_status status, tally_plan *const *plan) {
    tally_plan_destroy(*plan);
    return status;
}

static tally_status reduce(tally_context *context) {
    static const tally_term_desc terms[] = {{.op = TALLY_SUM}, {.op = TALLY_VAR}};
    const tally_reduce_desc desc = {.size = sizeof desc, .in = TALLY_F32, .max_n = 100000, .terms = terms, .term_count = 2};
    tally_plan *plan = NULL;
    return end(tally_plan_create(context, &desc, &plan), &plan);
}

static tally_status scan(tally_context *context) {
    const tally_scan_desc desc = {.size = sizeof desc, .op = TALLY_SUM, .in = TALLY_F32, .max_n = 100000};
    tally_plan *plan = NULL;
    return end(tally_scan_plan_create(context, &desc, &plan), &plan);
}

static tally_status segments(tally_context *context) {
    const tally_segments_desc desc = {
        .size = sizeof desc, .by = TALLY_BY_OFFSETS, .op = TALLY_SUM, .in = TALLY_F32, .max_n = 100000};
    tally_plan *plan = NULL;
    return end(tally_segments_plan_create(context, &desc, &plan), &plan);
}

static tally_status gather(tally_context *context) {
    const tally_move_desc desc = {.size = sizeof desc, .item_bytes = 4, .map = TALLY_U32, .max_n = 1000};
    tally_plan *plan = NULL;
    return end(tally_gather_plan_create(context, &desc, &plan), &plan);
}

static tally_status host_array(tally_context *context) {
    static const float items[] = {1, 2, 3};
    static const void *const inputs[] = {items};
    const tally_reduce_desc desc = {.size = sizeof desc, .op = TALLY_SUM, .in = TALLY_F32, .variant = "auto"};
    float sum = 0;
    const tally_status status = tally_reduce_host_inputs(context, &desc, inputs, 3, &sum);
    if (!status) assert_true(sum == 6);
    return status;
}

static tally_status tunings(tally_context *context) {
    return tally_context_set_tunings(context, "* * * * * 32 8 - -\n* * sum * * 64 8 - -\n");
}

/* Lets each allocation of a call on `host` fail in turn, each in a new context. The call says so,
 * and the same call succeeds afterwards. */
static void test_each_allocation(void **unused) {
    (void)unused;
    static tally_status (*const calls[])(tally_context *) = {reduce, scan, segments, gather, host_array, tunings};
    for (size_t c = 0; c < TALLY_ARRAY_LENGTH(calls); c++) {
        int refused = 0;
        for (int at = 1, has_failed = 1; has_failed; at++) {
            tally_context *context;
            MUST(tally_context_create("host", &context));
            calls_left = at;
            const tally_status status = calls[c](context);
            has_failed = calls_left == 0;
            calls_left = 0;
            if (status && status != TALLY_E_MEMORY)
                fail_msg("call %zu, allocation %d: %s, should be E_MEMORY", c, at, tally_last_error());
            refused += status == TALLY_E_MEMORY;
            MUST(calls[c](context));
            tally_context_destroy(context);
        }
        if (!refused) fail_msg("call %zu: no allocation failed", c);
    }
}

/* ---- small stacks ---------------------------------------------------------------------------- */

#define PART_ITEMS 100
#define RECORD_BYTES 4096

typedef struct record {
    unsigned char at[RECORD_BYTES];
    uint64_t bytes;
} record;

static void *join_two(void *opaque) {
    record *r = opaque;
    const void *const parts[] = {r[0].at, r[1].at};
    const uint64_t bytes[] = {r[0].bytes, r[1].bytes};
    return tally_part_join(NULL, parts, bytes, 2, r[2].at, RECORD_BYTES, &r[2].bytes) ? r : NULL;
}

/* A join that converts items needs less stack than threads have by default on musl: 128 KiB. */
static void test_small_stack(void **unused) {
    (void)unused;
    static const float items[PART_ITEMS];
    static record records[3];
    const tally_reduce_desc desc = {.size = sizeof desc, .op = TALLY_SUM, .in = TALLY_F32, .acc = TALLY_F64, .max_n = 1000};
    tally_context *context;
    tally_plan *plan;
    pthread_attr_t attributes;
    pthread_t thread;
    void *failed = NULL;
    MUST(tally_context_create("stub:alpha", &context));
    MUST(tally_plan_create(context, &desc, &plan));
    for (uint64_t i = 0; i < 2; i++) {
        const tally_part_host_args args = {.size = sizeof args,
                                           .items = {items},
                                           .first = i * PART_ITEMS,
                                           .n = PART_ITEMS,
                                           .total = 2 * PART_ITEMS,
                                           .out = records[i].at,
                                           .out_bytes = RECORD_BYTES};
        MUST(tally_reduce_part_host(plan, &args, &records[i].bytes));
    }
    pthread_attr_init(&attributes);
    assert_int_equal(pthread_attr_setstacksize(&attributes, 128 * 1024), 0);
    assert_int_equal(pthread_create(&thread, &attributes, join_two, records), 0);
    assert_int_equal(pthread_join(thread, &failed), 0);
    pthread_attr_destroy(&attributes);
    assert_null(failed);
    tally_plan_destroy(plan);
    tally_context_destroy(context);
    SOUND();
}

const core_test memory_tests[] = {
    {"memory: beyond the device", test_too_much},
    {"memory: an empty array", test_wrapped_nothing},
    {"memory: reductions without max_n", test_default_of_reductions},
    {"memory: a workspace beyond the device", test_workspace_beyond_memory},
    {"memory: scans without max_n", test_default_of_scans},
    {"memory: each allocation fails", test_each_allocation},
    {"memory: a small stack", test_small_stack},
    {NULL, NULL},
};
