/* SPDX-License-Identifier: MIT */
/* Calls with two inputs that are refused: buffers, items on the host, feeds. */
#include "core.h"
#include "tests/support/calls.h"

/* A context with two inputs of 1,000 f32, and an output of 128. */
typedef struct pair {
    tally_context *context;
    tally_queue *queue;
    tally_buffer *in[2], *out;
} pair;

static void open_pair(pair *p, const char *select) {
    MUST(tally_context_create(select, &p->context));
    MUST(tally_queue_create(p->context, &p->queue));
    for (int k = 0; k < 2; k++) MUST(tally_buffer_create(p->context, 1000 * sizeof(float), &p->in[k]));
    MUST(tally_buffer_create(p->context, 128 * sizeof(float), &p->out));
}

static void close_pair(pair *p) {
    tally_context_destroy(p->context);
    tally_queue_destroy(p->queue);
    tally_buffer_destroy(p->out);
    for (int k = 0; k < 2; k++) tally_buffer_destroy(p->in[k]);
}

static void test_buffers_refused(void **unused) {
    (void)unused;
    pair p;
    tally_plan *plan;
    tally_buffer *brief;
    open_pair(&p, "stub:alpha");
    MUST(tally_buffer_create(p.context, 999 * sizeof(float), &brief));
    const tally_reduce_desc desc = {.size = sizeof desc, .op = TALLY_DOT, .in = TALLY_F32, .max_n = 2000};
    MUST(tally_plan_create(p.context, &desc, &plan));
    const tally_buffer *both[] = {p.in[0], p.in[1]}, *shorter[] = {p.in[0], brief}, *shorter_first[] = {brief, p.in[1]};
    const tally_buffer *none[] = {p.in[0], NULL}, *none_first[] = {NULL, p.in[1]}, *same[] = {p.in[0], p.in[0]};
    tally_buffer *out = p.out;
    const int launches = stub.launches;
    /* Lengths. */
    BAD(reduce_inputs(plan, p.queue, shorter, NULL, 1000, out, 0), "tally_reduce", "1000 items", "in[1] holds 999");
    BAD(reduce_inputs(plan, p.queue, shorter_first, NULL, 1000, out, 0), "in[0] holds 999");
    BAD(reduce_inputs(plan, p.queue, both, (const uint64_t[]){0, 1}, 1000, out, 0), "offset 1", "in[1] holds 1000");
    BAD(reduce_inputs(plan, p.queue, both, (const uint64_t[]){1, 0}, 1000, out, 0), "offset 1", "in[0] holds 1000");
    BAD(reduce_inputs(plan, p.queue, both, (const uint64_t[]){0, UINT64_MAX}, 1, out, 0), "in[1]");
    BAD(reduce_inputs(plan, p.queue, both, NULL, 1000, out, 128), "out holds 128");
    /* Handles. */
    BAD(reduce_inputs(plan, p.queue, none, NULL, 1, out, 0), "in[1] is NULL");
    BAD(reduce_inputs(plan, p.queue, none_first, NULL, 1, out, 0), "in[0] is NULL");
    BAD(reduce_inputs(plan, p.queue, NULL, NULL, 1, out, 0), "in[0] is NULL");
    BAD(tally_reduce_with(plan, p.queue, NULL), "args is NULL");
    BAD(tally_reduce_with(plan, p.queue, &(tally_reduce_args){.size = 8}), "args.size is 8");
    BAD(reduce_inputs(plan, p.queue, both, NULL, 1, NULL, 0), "out");
    BAD(reduce_inputs(NULL, p.queue, both, NULL, 1, out, 0), "plan is NULL");
    BAD(reduce_inputs(plan, NULL, both, NULL, 1, out, 0), "queue");
    /* An output that is one of the inputs. */
    BAD(reduce_inputs(plan, p.queue, both, NULL, 1000, p.in[0], 10), "in[0] and out overlap");
    BAD(reduce_inputs(plan, p.queue, both, NULL, 1000, p.in[1], 10), "in[1] and out overlap");
    BAD(reduce_inputs(plan, p.queue, both, (const uint64_t[]){0, 20}, 10, p.in[1], 29), "in[1] and out overlap");
    /* Calls for one input. */
    BAD(tally_reduce(plan, p.queue, p.in[0], 10, out), "dot has 2 inputs", "tally_reduce_with");
    BAD(reduce_at(plan, p.queue, p.in[0], 0, 10, out, 0), "tally_reduce_with", "in[1] is NULL");
    assert_int_equal(stub.launches, launches);
    /* Allowed: the same input twice, and an output beside the items that are read. */
    MUST(reduce_inputs(plan, p.queue, same, NULL, 1000, out, 0));
    MUST(reduce_inputs(plan, p.queue, both, (const uint64_t[]){0, 20}, 10, p.in[1], 30));
    MUST(reduce_inputs(plan, p.queue, both, (const uint64_t[]){0, 20}, 10, p.in[1], 19));
    MUST(tally_queue_wait(p.queue));
    tally_buffer_destroy(brief);
    tally_plan_destroy(plan);
    close_pair(&p);
    SOUND();
}

/* Refused calls whose items are on the host. */
static void test_host_refused(void **unused) {
    (void)unused;
    tally_context *context;
    float x[10] = {0}, result;
    MUST(tally_context_create("stub:alpha", &context));
    const tally_reduce_desc desc = {.size = sizeof desc, .op = TALLY_DOT, .in = TALLY_F32, .max_n = 2000};
    tally_plan *plan; /* the first plan of a context launches the self-test */
    MUST(tally_plan_create(context, &desc, &plan));
    const int launches = stub.launches;
    BAD(tally_reduce_host(context, TALLY_DOT, TALLY_F32, x, 10, &result), "tally_reduce_host", "dot has 2 inputs",
        "tally_reduce_host_inputs");
    const void *arrays[] = {x, NULL};
    BAD(tally_reduce_host_inputs(context, &desc, arrays, 10, &result), "items");
    BAD(tally_reduce_host_inputs(context, &desc, NULL, 10, &result), "items");
    BAD(tally_reduce_host_inputs(context, NULL, arrays, 10, &result), "tally_reduce_host_inputs", "desc");
    BAD(tally_reduce_host_inputs(context, &desc, arrays, 10, NULL), "tally_reduce_host_inputs", "result");
    BAD(tally_reduce_host_inputs(context, &desc, arrays, UINT64_MAX, &result), "n is beyond any memory");
    BAD(tally_reduce_host_inputs(NULL, &desc, arrays, 10, &result), "tally_reduce_host_inputs", "context");
    tally_reduce_desc strange = desc;
    strange.size = 0;
    BAD(tally_reduce_host_inputs(context, &strange, (const void *[]){x, x}, 10, &result), "desc.size");
    strange.size = SIZE_MAX;
    BAD(tally_reduce_host_inputs(context, &strange, (const void *[]){x, x}, 10, &result), "desc.size");
    assert_int_equal(stub.launches, launches);
    tally_plan_destroy(plan);
    tally_context_destroy(context);
    SOUND();
}

/* Two wrappers of the same host memory overlap. */
static void test_overlap_of_wrapped(void **unused) {
    (void)unused;
    static float memory[64], other[64];
    tally_context *context;
    tally_queue *queue;
    tally_plan *plan;
    tally_buffer *x, *y, *out;
    MUST(tally_context_create("stub:beta", &context));
    MUST(tally_queue_create(context, &queue));
    const tally_reduce_desc desc = {.size = sizeof desc, .op = TALLY_DOT, .in = TALLY_F32};
    MUST(tally_plan_create(context, &desc, &plan));
    MUST(tally_buffer_wrap_host(context, other, sizeof other, &x));
    MUST(tally_buffer_wrap_host(context, memory, 32 * sizeof(float), &y));
    MUST(tally_buffer_wrap_host(context, memory + 16, 32 * sizeof(float), &out));
    const tally_buffer *both[] = {x, y};
    BAD(reduce_inputs(plan, queue, both, NULL, 32, out, 15), "in[1] and out overlap");
    MUST(reduce_inputs(plan, queue, both, NULL, 32, out, 16));
    MUST(reduce_inputs(plan, queue, both, NULL, 31, out, 15));
    MUST(tally_queue_wait(queue));
    tally_buffer_destroy(x);
    tally_buffer_destroy(y);
    tally_buffer_destroy(out);
    tally_plan_destroy(plan);
    tally_queue_destroy(queue);
    tally_context_destroy(context);
    SOUND();
}

static void test_feeds_refused(void **unused) {
    (void)unused;
    pair p;
    tally_feed *feed;
    float x[4] = {1, 2, 3, 4}, result = 0;
    open_pair(&p, "stub:beta");
    const tally_reduce_desc desc = {.size = sizeof desc, .op = TALLY_DOT, .in = TALLY_F32};
    MUST(tally_feed_create(p.context, &desc, &feed));
    BAD(tally_feed_push(feed, x, 4), "tally_feed_push", "dot has 2 inputs", "tally_feed_push_inputs");
    BAD(tally_feed_finish(feed, x, 4, &result), "tally_feed_finish", "dot has 2 inputs", "tally_feed_finish_inputs");
    const void *both[] = {x, x}, *none[] = {x, NULL}, *none_first[] = {NULL, x};
    BAD(tally_feed_push_inputs(feed, NULL, 4), "tally_feed_push", "items");
    BAD(tally_feed_push_inputs(feed, none, 4), "tally_feed_push", "items");
    BAD(tally_feed_push_inputs(feed, none_first, 4), "tally_feed_push", "items");
    BAD(tally_feed_push_inputs(NULL, both, 4), "tally_feed_push", "feed");
    BAD(tally_feed_push_inputs(feed, both, UINT64_MAX), "tally_feed_push", "n");
    BAD(tally_feed_finish_inputs(feed, none, 4, &result), "tally_feed_finish", "items");
    BAD(tally_feed_finish_inputs(feed, both, 4, NULL), "tally_feed_finish", "result");
    BAD(tally_feed_finish_inputs((tally_feed *)(void *)p.queue, both, 4, &result), "tally_feed_finish", "feed");
    MUST(tally_feed_push_inputs(feed, both, 4));
    MUST(tally_feed_push_inputs(feed, NULL, 0));
    MUST(tally_feed_finish_inputs(feed, both, 2, &result));
    assert_true(result == 35);
    tally_feed_destroy(feed);
    close_pair(&p);
    SOUND();
}

const core_test input_refused_tests[] = {
    {"two inputs refused", test_buffers_refused},
    {"two inputs on the host refused", test_host_refused},
    {"overlap of wrapped memory", test_overlap_of_wrapped},
    {"feeds of two inputs refused", test_feeds_refused},
    {NULL, NULL},
};
