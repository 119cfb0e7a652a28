/* SPDX-License-Identifier: MIT */
/* Plans of one segment by axes, on the stub's GPU. Calls whose items are side by side take the
 * reduction of whole inputs, which is all of segments that the stub runs. */
#include <string.h>

#include "core.h"
#include "segments/segments.h"

#define ITEMS 20000 /* several chunks */
#define MAX_N (1 << 20)

typedef struct parts {
    tally_context *context;
    tally_queue *queue;
    tally_buffer *in, *out;
    tally_plan *plan, *reference; /* var of f32: of one segment, and of whole inputs */
} parts;

static tally_segments_desc one_segment(tally_op op) {
    return (tally_segments_desc){
        .size = sizeof(tally_segments_desc), .by = TALLY_BY_AXES, .op = op, .in = TALLY_F32, .max_n = MAX_N, .max_segments = 1};
}

static void open_parts(parts *p) {
    static float items[ITEMS];
    const tally_segments_desc desc = one_segment(TALLY_VAR);
    const tally_reduce_desc whole = {.size = sizeof whole, .op = TALLY_VAR, .in = TALLY_F32, .max_n = MAX_N};
    for (int i = 0; i < ITEMS; i++) items[i] = (float)(i % 1009) * 0.37f;
    MUST(tally_context_create("stub", &p->context));
    MUST(tally_queue_create(p->context, &p->queue));
    MUST(tally_buffer_create(p->context, sizeof items, &p->in));
    MUST(tally_buffer_create(p->context, 4 * sizeof(float), &p->out));
    MUST(tally_buffer_write(p->queue, p->in, 0, items, sizeof items));
    MUST(tally_segments_plan_create(p->context, &desc, &p->plan));
    MUST(tally_plan_create(p->context, &whole, &p->reference));
    MUST(tally_queue_wait(p->queue));
}

static void close_parts(parts *p) {
    tally_plan_destroy(p->plan);
    tally_plan_destroy(p->reference);
    tally_buffer_destroy(p->in);
    tally_buffer_destroy(p->out);
    tally_queue_destroy(p->queue);
    tally_context_destroy(p->context);
    SOUND();
}

/* Reduces all items but the first four, as 4 rows that are reduced too, to result 2. */
static float by_axes(parts *p, int *launches) {
    const tally_axis axes[] = {{.extent = 4, .reduced = 1, .in_stride = {(ITEMS - 4) / 4}},
                               {.extent = 1, .in_stride = {7}, .out_stride = 3},
                               {.extent = (ITEMS - 4) / 4, .reduced = 1, .in_stride = {1}}};
    const tally_axes_args args = {.size = sizeof args,
                                  .axes = axes,
                                  .axis_count = 3,
                                  .out_strided = 1,
                                  .in = {p->in},
                                  .in_offset = {4},
                                  .out = {p->out},
                                  .out_offset = {2}};
    float results[4];
    const int before = stub.launches;
    MUST(tally_reduce_axes(p->plan, p->queue, &args));
    *launches = stub.launches - before;
    MUST(tally_buffer_read(p->queue, p->out, 0, results, sizeof results));
    MUST(tally_queue_wait(p->queue));
    return results[2];
}

static float by_whole(parts *p, int *launches) {
    const tally_reduce_args args = {
        .size = sizeof args, .in = {p->in}, .in_offset = {4}, .n = ITEMS - 4, .out = p->out, .out_offset = 1};
    float results[4];
    const int before = stub.launches;
    MUST(tally_reduce_with(p->reference, p->queue, &args));
    *launches = stub.launches - before;
    MUST(tally_buffer_read(p->queue, p->out, 0, results, sizeof results));
    MUST(tally_queue_wait(p->queue));
    return results[1];
}

/* The launches and the bits are those of tally_reduce, with parameters that change. */
static void test_is_taken(void **unused) {
    (void)unused;
    parts p;
    int launches, expected_launches;
    float last = -1;
    stub_reset();
    open_parts(&p);
    assert_string_equal(tally_plan_variant(p.plan), "teams");
    for (int hundreds = 0; hundreds < 3; hundreds++) {
        MUST(tally_plan_set_param(p.plan, "ddof", hundreds * 100));
        MUST(tally_plan_set_param(p.reference, "ddof", hundreds * 100));
        const float got = by_axes(&p, &launches), expected = by_whole(&p, &expected_launches);
        assert_memory_equal(&got, &expected, sizeof got);
        assert_int_equal(launches, expected_launches);
        assert_true(got > last);
        last = got;
    }
    close_parts(&p);
}

static int is_whole(tally_plan *plan, tally_axis axis, uint32_t kept, uint64_t offset) {
    const tally_axis axes[] = {{.extent = kept, .in_stride = {1000}, .out_stride = 1}, axis};
    const tally_segments_call call = {.in_offset = {offset}};
    tally_array_shape shape;
    MUST(tally_shape_make(axes, 2, 1, false, true, &shape));
    return tally_segments_is_whole((tally_segments_plan *)plan, &call, &shape);
}

/* Other calls take the plan's own kernels. */
static void test_is_not_taken(void **unused) {
    (void)unused;
    parts p;
    stub_reset();
    open_parts(&p);
    assert_true(is_whole(p.plan, (tally_axis){.extent = 10, .reduced = 1, .in_stride = {1}}, 1, 0));
    assert_true(is_whole(p.plan, (tally_axis){.extent = 1, .reduced = 1, .in_stride = {9}}, 1, 8));
    assert_false(is_whole(p.plan, (tally_axis){.extent = 10, .reduced = 1, .in_stride = {1}}, 1, 5));
    assert_false(is_whole(p.plan, (tally_axis){.extent = 10, .reduced = 1, .in_stride = {2}}, 1, 0));
    assert_false(is_whole(p.plan, (tally_axis){.extent = 10, .reduced = 1, .in_stride = {-1}}, 1, 12));
    assert_false(is_whole(p.plan, (tally_axis){.extent = 0, .reduced = 1, .in_stride = {1}}, 1, 0));
    assert_false(is_whole(p.plan, (tally_axis){.extent = 10, .reduced = 1, .in_stride = {1}}, 2, 0));
    close_parts(&p);
}

/* Tells whether a plan of the descriptor has a reduction of whole inputs, whose memory counts. */
static int has_whole(tally_context *context, const tally_segments_desc *desc) {
    tally_plan *plan;
    MUST(tally_segments_plan_create(context, desc, &plan));
    const tally_segments_plan *segments = (const tally_segments_plan *)plan;
    const int has = segments->whole != NULL;
    uint64_t own = tally_buffer_bytes(segments->partials) + tally_buffer_bytes(segments->slices);
    own += tally_buffer_bytes(segments->counts) + tally_buffer_bytes(segments->slice_counts);
    if (has) own += tally_plan_workspace_bytes(&segments->whole->base);
    assert_int_equal(tally_plan_workspace_bytes(plan), own);
    tally_plan_destroy(plan);
    return has;
}

static void test_plans(void **unused) {
    (void)unused;
    static const float initial = 1;
    tally_context *context;
    tally_segments_desc desc = one_segment(TALLY_SUM);
    stub_reset();
    MUST(tally_context_create("stub", &context));
    assert_true(has_whole(context, &desc));
    desc.max_segments = 2;
    assert_false(has_whole(context, &desc));
    desc.max_segments = 1;
    desc.flags = TALLY_WHERE;
    assert_false(has_whole(context, &desc));
    desc.flags = TALLY_APART;
    assert_false(has_whole(context, &desc));
    desc.flags = 0;
    desc.initial = &initial;
    assert_false(has_whole(context, &desc));
    tally_context_destroy(context);
    SOUND();
}

static tally_status use_one_segment(void) {
    const tally_segments_desc desc = one_segment(TALLY_SUM);
    const tally_axis axis = {.extent = 10000, .reduced = 1, .in_stride = {1}};
    tally_context *context = NULL;
    tally_queue *queue = NULL;
    tally_buffer *in = NULL, *out = NULL;
    tally_plan *plan = NULL;
    tally_status status = tally_context_create("stub", &context);
    if (!status) status = tally_queue_create(context, &queue);
    if (!status) status = tally_buffer_create(context, 40000, &in);
    if (!status) status = tally_buffer_create(context, 4, &out);
    if (!status) status = tally_segments_plan_create(context, &desc, &plan);
    const tally_axes_args args = {.size = sizeof args, .axes = &axis, .axis_count = 1, .in = {in}, .out = {out}};
    if (!status) status = tally_reduce_axes(plan, queue, &args);
    if (!status) status = tally_queue_wait(queue);
    tally_plan_destroy(plan);
    tally_buffer_destroy(in);
    tally_buffer_destroy(out);
    tally_queue_destroy(queue);
    tally_context_destroy(context);
    return status;
}

static void test_failures(void **unused) {
    (void)unused;
    for (int lost = 0; lost < 2; lost++) fail_each_call(use_one_segment, CACHE_OFF, lost);
}

const core_test segments_whole_tests[] = {
    {"segments: one that is side by side", test_is_taken},
    {"segments: one that is not side by side", test_is_not_taken},
    {"segments: plans of one", test_plans},
    {"segments: one, each call fails", test_failures},
    {NULL, NULL},
};
