/* SPDX-License-Identifier: MIT */
/* Handles that are NULL, garbage, of another kind or of another context. Every public function
 * refuses them by name. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tally/cuda.h>
#include <tally/opencl.h>

#include "tests/support/calls.h"
#include "core.h"

/* ---- NULL ------------------------------------------------------------------------------------ */

static void test_null_of_names_and_contexts(void **unused) {
    (void)unused;
    tally_op op;
    tally_dtype dtype;
    tally_device_info device;
    tally_context *context;
    tally_context_info info;
    char text[64];
    BAD(tally_dtype_from_name(NULL, &dtype), "tally_dtype_from_name", "name");
    BAD(tally_dtype_from_name("f32", NULL), "tally_dtype_from_name", "out");
    BAD(tally_dtype_from_name("f33", &dtype), "tally_dtype_from_name: unknown dtype 'f33'");
    BAD(tally_op_from_name(NULL, &op), "tally_op_from_name", "name");
    BAD(tally_op_from_name("sum", NULL), "tally_op_from_name", "out");
    BAD(tally_op_from_name("summ", &op), "tally_op_from_name: unknown op 'summ'");
    BAD(tally_value_convert(TALLY_C64, text, TALLY_F32, text), "tally_value_convert: values of type");
    BAD(tally_backend_get(0, NULL), "tally_backend_get", "out");
    BAD(tally_device_get(NULL, 0, &device), "tally_device_get", "backend");
    BAD(tally_device_get("stub", 0, NULL), "tally_device_get", "out");
    BAD(tally_variant_get(0, NULL), "tally_variant_get", "out");
    BAD(tally_context_create("stub", NULL), "tally_context_create", "out");
    MUST(tally_context_create("stub", &context));
    BAD(tally_context_get_info(NULL, &info), "tally_context_get_info", "context");
    BAD(tally_context_get_info(context, NULL), "tally_context_get_info", "out");
    BAD(tally_context_describe(NULL, text, sizeof text), "tally_context_describe", "context");
    BAD(tally_context_describe(context, NULL, sizeof text), "tally_context_describe", "text");
    BAD(tally_context_describe(context, text, 0), "tally_context_describe", "size");
    tally_context_destroy(context);
    tally_context_destroy(NULL);
    tally_buffer_destroy(NULL);
    tally_staging_destroy(NULL);
    tally_queue_destroy(NULL);
    tally_plan_destroy(NULL);
    tally_feed_destroy(NULL);
    SOUND();
}

static void test_null_of_objects(void **unused) {
    (void)unused;
    side s;
    tally_buffer *buffer;
    tally_staging *staging;
    tally_queue *queue;
    tally_plan *plan;
    tally_feed *feed;
    float x[4] = {1, 2, 3, 4}, result;
    open_side(&s, "stub:beta");
    BAD(tally_buffer_create(NULL, 8, &buffer), "tally_buffer_create", "context");
    BAD(tally_buffer_create(s.context, 8, NULL), "tally_buffer_create", "out");
    BAD(tally_buffer_wrap_host(NULL, x, 8, &buffer), "tally_buffer_wrap_host", "context");
    BAD(tally_buffer_wrap_host(s.context, NULL, 8, &buffer), "tally_buffer_wrap_host", "memory");
    BAD(tally_buffer_wrap_host(s.context, x, 8, NULL), "tally_buffer_wrap_host", "out");
    BAD(tally_staging_create(NULL, 8, &staging), "tally_staging_create", "context");
    BAD(tally_staging_create(s.context, 8, NULL), "tally_staging_create", "out");
    BAD(tally_queue_create(NULL, &queue), "tally_queue_create", "context");
    BAD(tally_queue_create(s.context, NULL), "tally_queue_create", "out");
    BAD(tally_queue_wait(NULL), "tally_queue_wait", "queue");
    BAD(tally_buffer_write(NULL, s.in, 0, x, 4), "tally_buffer_write", "queue");
    BAD(tally_buffer_write(s.queue, NULL, 0, x, 4), "tally_buffer_write", "to");
    BAD(tally_buffer_write(s.queue, s.in, 0, NULL, 4), "tally_buffer_write", "from");
    BAD(tally_buffer_read(NULL, s.in, 0, x, 4), "tally_buffer_read", "queue");
    BAD(tally_buffer_read(s.queue, NULL, 0, x, 4), "tally_buffer_read", "from");
    BAD(tally_buffer_read(s.queue, s.in, 0, NULL, 4), "tally_buffer_read", "to");
    BAD(tally_plan_create(NULL, &side_desc, &plan), "tally_plan_create", "context");
    BAD(tally_plan_create(s.context, NULL, &plan), "tally_plan_create", "desc");
    BAD(tally_plan_create(s.context, &side_desc, NULL), "tally_plan_create", "out");
    BAD(tally_reduce(NULL, s.queue, s.in, 1, s.out), "tally_reduce", "plan");
    BAD(tally_reduce(s.plan, NULL, s.in, 1, s.out), "tally_reduce", "queue");
    BAD(tally_reduce(s.plan, s.queue, NULL, 1, s.out), "tally_reduce", "in");
    BAD(tally_reduce(s.plan, s.queue, s.in, 1, NULL), "tally_reduce", "out");
    BAD(reduce_at(NULL, s.queue, s.in, 0, 1, s.out, 0), "tally_reduce", "plan");
    BAD(reduce_at(s.plan, NULL, s.in, 0, 1, s.out, 0), "tally_reduce", "queue");
    BAD(reduce_at(s.plan, s.queue, NULL, 0, 1, s.out, 0), "tally_reduce", "in");
    BAD(reduce_at(s.plan, s.queue, s.in, 0, 1, NULL, 0), "tally_reduce", "out");
    BAD(tally_reduce_host(NULL, TALLY_SUM, TALLY_F32, x, 4, &result), "tally_reduce_host", "context");
    BAD(tally_reduce_host(s.context, TALLY_SUM, TALLY_F32, NULL, 4, &result), "tally_reduce_host", "items");
    BAD(tally_reduce_host(s.context, TALLY_SUM, TALLY_F32, x, 4, NULL), "tally_reduce_host", "result");
    BAD(tally_feed_create(NULL, &side_desc, &feed), "tally_feed_create", "context");
    BAD(tally_feed_create(s.context, NULL, &feed), "tally_feed_create", "desc");
    BAD(tally_feed_create(s.context, &side_desc, NULL), "tally_feed_create", "out");
    BAD(tally_feed_push(NULL, x, 4), "tally_feed_push", "feed");
    BAD(tally_feed_push(s.feed, NULL, 4), "tally_feed_push", "items");
    BAD(tally_feed_finish(NULL, x, 4, &result), "tally_feed_finish", "feed");
    BAD(tally_feed_finish(s.feed, NULL, 4, &result), "tally_feed_finish", "items");
    BAD(tally_feed_finish(s.feed, x, 4, NULL), "tally_feed_finish", "result");
    assert_int_equal(tally_buffer_bytes(NULL), 0);
    assert_null(tally_staging_memory(NULL));
    assert_null(tally_staging_buffer(NULL));
    assert_null(tally_plan_variant(NULL));
    assert_int_equal(tally_plan_workspace_bytes(NULL), 0);
    close_side(&s);
    SOUND();
}

/* ---- garbage, and handles of another kind ---------------------------------------------------- */

/* Replaces each handle of a call in turn by `bad`. */
static void refuse_handles(side *s, void *bad, const char *word) {
    tally_buffer *buffer = NULL;
    tally_queue *queue = NULL;
    tally_plan *plan = NULL;
    tally_feed *feed = NULL;
    tally_context_info info;
    char text[64];
    float x = 1;
    BAD(tally_context_get_info(bad, &info), "tally_context_get_info", "context", word);
    BAD(tally_context_describe(bad, text, sizeof text), "tally_context_describe", "context", word);
    BAD(tally_buffer_create(bad, 8, &buffer), "tally_buffer_create", "context", word);
    BAD(tally_buffer_wrap_host(bad, &x, 4, &buffer), "tally_buffer_wrap_host", "context", word);
    BAD(tally_queue_create(bad, &queue), "tally_queue_create", "context", word);
    BAD(tally_queue_wait(bad), "tally_queue_wait", "queue", word);
    BAD(tally_buffer_write(bad, s->in, 0, &x, 4), "tally_buffer_write", "queue", word);
    BAD(tally_buffer_write(s->queue, bad, 0, &x, 4), "tally_buffer_write", "to", word);
    BAD(tally_buffer_read(bad, s->in, 0, &x, 4), "tally_buffer_read", "queue", word);
    BAD(tally_buffer_read(s->queue, bad, 0, &x, 4), "tally_buffer_read", "from", word);
    BAD(tally_plan_create(bad, &side_desc, &plan), "tally_plan_create", "context", word);
    BAD(tally_reduce(bad, s->queue, s->in, 1, s->out), "tally_reduce", "plan", word);
    BAD(tally_reduce(s->plan, bad, s->in, 1, s->out), "tally_reduce", "queue", word);
    BAD(tally_reduce(s->plan, s->queue, bad, 1, s->out), "tally_reduce", "in", word);
    BAD(tally_reduce(s->plan, s->queue, s->in, 1, bad), "tally_reduce", "out", word);
    BAD(tally_reduce_host(bad, TALLY_SUM, TALLY_F32, &x, 1, &x), "tally_reduce_host", "context", word);
    BAD(tally_feed_create(bad, &side_desc, &feed), "tally_feed_create", "context", word);
    BAD(tally_feed_push(bad, &x, 1), "tally_feed_push", "feed", word);
    BAD(tally_feed_finish(bad, &x, 1, &x), "tally_feed_finish", "feed", word);
    assert_true(!buffer && !queue && !plan && !feed);
}

static void test_garbage_handles(void **unused) {
    (void)unused;
    static union {
        max_align_t align;
        unsigned char bytes[1024];
    } garbage;
    side s;
    open_side(&s, "stub");
    static const unsigned char fills[] = {0, 0xab, 0xff};
    for (size_t f = 0; f < sizeof fills; f++) {
        memset(&garbage, fills[f], sizeof garbage);
        refuse_handles(&s, &garbage, "");
        assert_int_equal(tally_buffer_bytes((const tally_buffer *)&garbage), 0);
    }
    close_side(&s);
    SOUND();
}

/* An object whose creation failed is NULL, so that it can be destroyed. */
static void test_null_after_failure(void **unused) {
    (void)unused;
    float x = 1;
    void *const garbage = &x;
    union {
        void *any;
        tally_context *context;
        tally_buffer *buffer;
        tally_staging *staging;
        tally_queue *queue;
        tally_plan *plan;
        tally_event *event;
        tally_feed *feed;
        tally_custom_op *op;
    } made;
#define EXPECT_NULL(member, call)                                                                                              \
    made.any = garbage;                                                                                                        \
    assert_true((call) != TALLY_OK);                                                                                           \
    assert_null(made.member)
    EXPECT_NULL(context, tally_context_create("none such", &made.context));
    EXPECT_NULL(buffer, tally_buffer_create(NULL, 4, &made.buffer));
    EXPECT_NULL(buffer, tally_buffer_wrap_host(NULL, &x, 4, &made.buffer));
    EXPECT_NULL(staging, tally_staging_create(NULL, 4, &made.staging));
    EXPECT_NULL(queue, tally_queue_create(NULL, &made.queue));
    EXPECT_NULL(event, tally_event_create(NULL, &made.event));
    EXPECT_NULL(plan, tally_plan_create(NULL, NULL, &made.plan));
    EXPECT_NULL(feed, tally_feed_create(NULL, NULL, &made.feed));
    EXPECT_NULL(op, tally_op_create(NULL, &made.op));
    EXPECT_NULL(context, tally_context_create_cuda(NULL, &made.context));
    EXPECT_NULL(buffer, tally_buffer_wrap_cuda(NULL, 0, 4, &made.buffer));
    EXPECT_NULL(queue, tally_queue_wrap_cuda(NULL, NULL, &made.queue));
    EXPECT_NULL(context, tally_context_create_opencl(NULL, NULL, &made.context));
    EXPECT_NULL(buffer, tally_buffer_wrap_opencl(NULL, NULL, &made.buffer));
    EXPECT_NULL(queue, tally_queue_wrap_opencl(NULL, NULL, &made.queue));
}

/* Handles of one kind in the place of another. */
static void test_handles_of_another_kind(void **unused) {
    (void)unused;
    side s, made = {0};
    float x = 1;
    open_side(&s, "stub");
    BAD(tally_queue_wait((tally_queue *)s.in), "tally_queue_wait", "queue");
    BAD(tally_queue_create((tally_context *)s.queue, &made.queue), "tally_queue_create", "context");
    BAD(tally_reduce((tally_plan *)s.feed, s.queue, s.in, 1, s.out), "tally_reduce", "plan");
    BAD(tally_reduce(s.plan, (tally_queue *)s.plan, s.in, 1, s.out), "tally_reduce", "queue");
    BAD(tally_reduce(s.plan, s.queue, (tally_buffer *)s.queue, 1, s.out), "tally_reduce", "in");
    BAD(tally_reduce(s.plan, s.queue, s.in, 1, (tally_buffer *)s.context), "tally_reduce", "out");
    BAD(tally_feed_push((tally_feed *)s.plan, &x, 1), "tally_feed_push", "feed");
    BAD(tally_buffer_write(s.queue, (tally_buffer *)s.context, 0, &x, 4), "tally_buffer_write", "to");
    assert_null(tally_staging_memory((const tally_staging *)s.in));
    assert_null(tally_staging_buffer((const tally_staging *)s.in));
    close_side(&s);
    SOUND();
}

static void test_handles_of_another_context(void **unused) {
    (void)unused;
    side ours, theirs;
    float x = 1;
    open_side(&ours, "stub:0");
    open_side(&theirs, "stub:0");
    const int launches = stub.launches, copies = stub.copies;
    BAD(tally_buffer_write(ours.queue, theirs.in, 0, &x, 4), "tally_buffer_write", "context");
    BAD(tally_buffer_read(ours.queue, theirs.in, 0, &x, 4), "tally_buffer_read", "context");
    BAD(tally_reduce(ours.plan, theirs.queue, ours.in, 1, ours.out), "tally_reduce", "queue", "context");
    BAD(tally_reduce(ours.plan, ours.queue, theirs.in, 1, ours.out), "tally_reduce", "in", "context");
    BAD(tally_reduce(ours.plan, ours.queue, ours.in, 1, theirs.out), "tally_reduce", "out", "context");
    BAD(tally_reduce(theirs.plan, ours.queue, ours.in, 1, ours.out), "tally_reduce", "context");
    assert_int_equal(stub.launches, launches);
    assert_int_equal(stub.copies, copies);
    close_side(&ours);
    close_side(&theirs);
    SOUND();
}

/* The entry points of cuda.h and opencl.h, in every build. They refuse a context of another
 * backend. */
static void test_native_handles(void **unused) {
    (void)unused;
    side s;
    tally_context *context = NULL;
    tally_buffer *buffer = NULL;
    tally_queue *queue = NULL;
    unsigned long long pointer = 0;
    struct CUstream_st *stream = NULL;
    struct _cl_mem *cl_mem = NULL;
    struct _cl_command_queue *cl_queue = NULL;
    void *something = &s;
    open_side(&s, "stub");
    assert_int_not_equal(tally_context_create_cuda(NULL, &context), TALLY_OK);
    assert_int_not_equal(tally_context_create_cuda(NULL, NULL), TALLY_OK);
    REFUSED_EITHER(tally_buffer_wrap_cuda(NULL, 4096, 8, &buffer), "tally_buffer_wrap_cuda");
    REFUSED_EITHER(tally_buffer_wrap_cuda(s.context, 4096, 8, &buffer), "tally_buffer_wrap_cuda");
    REFUSED_EITHER(tally_queue_wrap_cuda(s.context, NULL, &queue), "tally_queue_wrap_cuda");
    REFUSED_EITHER(tally_buffer_get_cuda(s.in, &pointer), "tally_buffer_get_cuda");
    REFUSED_EITHER(tally_buffer_get_cuda(NULL, &pointer), "tally_buffer_get_cuda");
    REFUSED_EITHER(tally_queue_get_cuda(s.queue, &stream), "tally_queue_get_cuda");
    REFUSED_EITHER(tally_context_create_opencl(NULL, NULL, &context), "tally_context_create_opencl");
    REFUSED_EITHER(tally_context_create_opencl(something, NULL, &context), "tally_context_create_opencl");
    REFUSED_EITHER(tally_buffer_wrap_opencl(s.context, something, &buffer), "tally_buffer_wrap_opencl");
    REFUSED_EITHER(tally_buffer_wrap_opencl(s.context, NULL, &buffer), "tally_buffer_wrap_opencl");
    REFUSED_EITHER(tally_queue_wrap_opencl(s.context, something, &queue), "tally_queue_wrap_opencl");
    REFUSED_EITHER(tally_buffer_get_opencl(s.in, &cl_mem), "tally_buffer_get_opencl");
    REFUSED_EITHER(tally_buffer_get_opencl(s.in, NULL), "tally_buffer_get_opencl");
    REFUSED_EITHER(tally_queue_get_opencl(s.queue, &cl_queue), "tally_queue_get_opencl");
    assert_true(!context && !buffer && !queue && !pointer && !cl_mem && !cl_queue);
    close_side(&s);
    SOUND();
}

const core_test handle_tests[] = {
    {"NULL: names and contexts", test_null_of_names_and_contexts},
    {"NULL: objects", test_null_of_objects},
    {"garbage handles", test_garbage_handles},
    {"NULL after a failure", test_null_after_failure},
    {"handles of another kind", test_handles_of_another_kind},
    {"handles of another context", test_handles_of_another_context},
    {"native handles", test_native_handles},
    {NULL, NULL},
};
