/* SPDX-License-Identifier: MIT */
/* Enqueued work. Reductions, parts, scans, and unchecked gathers and scatters can be captured in a
 * CUDA graph and replayed. On OpenCL enqueuing waits for nothing. */
#define _XOPEN_SOURCE 700
#include <dlfcn.h>
#include <string.h>
#include <unistd.h>

#ifdef TALLY_WITH_CUDA
#include <cuda.h>
#include <tally/cuda.h>
#endif
#ifdef TALLY_WITH_OPENCL
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <tally/opencl.h>
#endif

#include "tests/support/calls.h"
#include "conformance.h"
#include "oracle/patterns.h"
#include "oracle/scan.h"
#include "tests/support/test_main.h"

#if defined(TALLY_WITH_CUDA) || defined(TALLY_WITH_OPENCL)
#define MOST_N UINT64_C(300007)
static const uint64_t sizes[] = {0, 1, 4096, 70001, MOST_N}; /* no group, one group, several */
#define SIZES TALLY_ARRAY_LENGTH(sizes)

static float items[MOST_N], values[MOST_N], expected[MOST_N];

/* Several scans of every variant that the device has. A scan must not depend on what the one before
 * left. */
#define MOST_SCANS 8
static const uint64_t scanned[] = {4097, MOST_N};

/* A gather of the first items in reverse, and a scatter of pairs of them, of which the last is
 * written. */
#define MOVED UINT64_C(70000)

/* Two parts, cut within a chunk, and the room of a record. */
#define CUT UINT64_C(5000)
#define RECORD_BYTES UINT64_C(40000)

typedef struct setup {
    tally_queue *queue;
    tally_buffer *in, *out; /* `out` has a result for each size */
    tally_buffer *parts;    /* the records of two parts */
    tally_plan *plan;
    tally_plan *scans[MOST_SCANS];
    tally_buffer *values[MOST_SCANS];
    size_t scan_count;
    tally_buffer *reverse, *pairs, *gathered, *scattered;
    tally_plan *gather, *scatter;
} setup;

static void begin_scans(tally_context *context, setup *s) {
    for (size_t v = 0; v < tally_scan_variant_count(); v++) {
        tally_variant_info info;
        MUST(tally_scan_variant_get(v, &info));
        const tally_scan_desc desc = {
            .size = sizeof desc, .op = TALLY_SUM, .in = TALLY_F32, .max_n = MOST_N, .variant = info.name};
        assert_true(s->scan_count < MOST_SCANS);
        if (!info.canonical || tally_scan_plan_create(context, &desc, &s->scans[s->scan_count]) == TALLY_E_UNSUPPORTED)
            continue;
        assert_non_null(s->scans[s->scan_count]);
        MUST(tally_buffer_create(context, sizeof values, &s->values[s->scan_count++]));
    }
    assert_true(s->scan_count > 0);
}

static tally_buffer *make_map(const setup *s, tally_context *context, int pairs) {
    static uint32_t map[MOVED];
    tally_buffer *buffer;
    for (uint32_t i = 0; i < MOVED; i++) map[i] = pairs ? i / 2 : (uint32_t)MOVED - 1 - i;
    MUST(tally_buffer_create(context, sizeof map, &buffer));
    MUST(tally_buffer_write(s->queue, buffer, 0, map, sizeof map));
    MUST(tally_queue_wait(s->queue));
    return buffer;
}

static void begin_moves(setup *s, tally_context *context) {
    tally_move_desc desc = {.size = sizeof desc,
                            .item_bytes = sizeof(float),
                            .map = TALLY_U32,
                            .flags = TALLY_UNCHECKED,
                            .max_n = MOVED,
                            .max_out = MOVED / 2};
    s->reverse = make_map(s, context, 0);
    s->pairs = make_map(s, context, 1);
    MUST(tally_buffer_create(context, MOVED * sizeof(float), &s->gathered));
    MUST(tally_buffer_create(context, MOVED / 2 * sizeof(float), &s->scattered));
    MUST(tally_gather_plan_create(context, &desc, &s->gather));
    desc.flags |= TALLY_SCATTER_LAST;
    MUST(tally_scatter_plan_create(context, &desc, &s->scatter));
}

static void enqueue_moves(const setup *s) {
    const tally_move_args gather = {
        .size = sizeof gather, .map = s->reverse, .n = MOVED, .in = s->in, .items = MOVED, .out = s->gathered};
    const tally_move_args scatter = {
        .size = sizeof scatter, .map = s->pairs, .n = MOVED, .in = s->in, .items = MOVED / 2, .out = s->scattered};
    MUST(tally_gather(s->gather, s->queue, &gather));
    MUST(tally_scatter(s->scatter, s->queue, &scatter));
}

static void expect_moves(const setup *s, const char *what) {
    static uint32_t gathered[MOVED], scattered[MOVED / 2], from[MOVED]; /* their bits */
    memcpy(from, items, sizeof from);
    MUST(tally_buffer_read(s->queue, s->gathered, 0, gathered, sizeof gathered));
    MUST(tally_buffer_read(s->queue, s->scattered, 0, scattered, sizeof scattered));
    MUST(tally_queue_wait(s->queue));
    for (uint64_t i = 0; i < MOVED; i++)
        if (gathered[i] != from[MOVED - 1 - i]) fail_msg("%s: gathered item %llu is wrong", what, (unsigned long long)i);
    for (uint64_t i = 0; i < MOVED / 2; i++)
        if (scattered[i] != from[2 * i + 1]) fail_msg("%s: scattered item %llu is wrong", what, (unsigned long long)i);
}

static void end_moves(const setup *s) {
    tally_buffer *const buffers[] = {s->reverse, s->pairs, s->gathered, s->scattered};
    tally_plan_destroy(s->gather);
    tally_plan_destroy(s->scatter);
    for (size_t i = 0; i < TALLY_ARRAY_LENGTH(buffers); i++) tally_buffer_destroy(buffers[i]);
}

static void enqueue_parts(const setup *s) {
    tally_part_args args = {.size = sizeof args, .in = {s->in}, .n = CUT, .total = MOST_N, .out = s->parts};
    MUST(tally_reduce_part(s->plan, s->queue, &args));
    args.in_offset[0] = args.first = CUT;
    args.n = MOST_N - CUT;
    args.out_offset = RECORD_BYTES;
    MUST(tally_reduce_part(s->plan, s->queue, &args));
}

static void expect_parts(const setup *s, const char *what) {
    static unsigned char records[2][RECORD_BYTES];
    const void *const parts[] = {records[0], records[1]};
    uint64_t bytes[] = {RECORD_BYTES, RECORD_BYTES};
    float result;
    MUST(tally_buffer_read(s->queue, s->parts, 0, records, sizeof records));
    MUST(tally_queue_wait(s->queue));
    MUST(tally_part_join(NULL, parts, bytes, 2, records[0], sizeof records[0], &bytes[0]));
    MUST(tally_part_value(NULL, records[0], bytes[0], &result));
    expect_result(TALLY_SUM, TALLY_F32, items, MOST_N, &result, what);
}

static setup begin(tally_context *context) {
    setup s = {0};
    const tally_reduce_desc desc = {.size = sizeof desc, .op = TALLY_SUM, .in = TALLY_F32, .max_n = MOST_N};
    MUST(tally_queue_create(context, &s.queue));
    MUST(tally_buffer_create(context, sizeof items, &s.in));
    MUST(tally_buffer_create(context, SIZES * sizeof(float), &s.out));
    MUST(tally_buffer_create(context, 2 * RECORD_BYTES, &s.parts));
    MUST(tally_plan_create(context, &desc, &s.plan));
    /* The first part of a plan compiles and allocates. */
    enqueue_parts(&s);
    MUST(tally_queue_wait(s.queue));
    begin_scans(context, &s);
    begin_moves(&s, context);
    return s;
}

static void end(setup *s) {
    for (size_t k = 0; k < s->scan_count; k++) {
        tally_plan_destroy(s->scans[k]);
        tally_buffer_destroy(s->values[k]);
    }
    end_moves(s);
    tally_plan_destroy(s->plan);
    tally_buffer_destroy(s->parts);
    tally_buffer_destroy(s->in);
    tally_buffer_destroy(s->out);
    tally_queue_destroy(s->queue);
}

static void write_items(const setup *s, int pattern) {
    pattern_fill(pattern, TALLY_F32, items, MOST_N);
    MUST(tally_buffer_write(s->queue, s->in, 0, items, sizeof items));
    memset(values, 0xa5, sizeof values);
    for (size_t k = 0; k < s->scan_count; k++) MUST(tally_buffer_write(s->queue, s->values[k], 0, values, sizeof values));
    MUST(tally_queue_wait(s->queue));
}

static void enqueue_all(const setup *s) {
    for (size_t i = 0; i < SIZES; i++) MUST(reduce_at(s->plan, s->queue, s->in, 0, sizes[i], s->out, i));
    enqueue_moves(s);
    enqueue_parts(s);
    for (size_t k = 0; k < s->scan_count; k++)
        for (size_t i = 0; i < TALLY_ARRAY_LENGTH(scanned); i++)
            MUST(tally_scan(s->scans[k], s->queue, s->in, scanned[i], s->values[k]));
}

static void expect_scans(const setup *s, const char *what) {
    const oracle_case of = {.op = TALLY_SUM, .in = TALLY_F32};
    const scan_op op = scan_oracle_op(&of);
    scan_oracle(&op, &(scan_form){0}, items, MOST_N, expected);
    for (size_t k = 0; k < s->scan_count; k++) {
        memset(values, 0xa5, sizeof values);
        MUST(tally_buffer_read(s->queue, s->values[k], 0, values, sizeof values));
        MUST(tally_queue_wait(s->queue));
        if (memcmp(values, expected, sizeof values) != 0) fail_msg("%s: the scan by %s", what, tally_plan_variant(s->scans[k]));
    }
}

static void expect_all(const setup *s, const char *what) {
    float results[SIZES];
    memset(results, 0xa5, sizeof results);
    MUST(tally_buffer_read(s->queue, s->out, 0, results, sizeof results));
    MUST(tally_queue_wait(s->queue));
    for (size_t i = 0; i < SIZES; i++) expect_result(TALLY_SUM, TALLY_F32, items, sizes[i], &results[i], what);
    expect_scans(s, what);
    expect_moves(s, what);
    expect_parts(s, what);
}
#endif

#ifdef TALLY_WITH_CUDA
/* The driver's call, from the library that the test has opened. */
static void *driver_call(const char *symbol) {
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    void *call = library ? dlsym(library, symbol) : NULL;
    if (!call) fail_msg("libcuda.so.1 has no %s", symbol);
    return call;
}

#define CALL(name, symbol, ...)                                                                                                \
    do {                                                                                                                       \
        __typeof__(name) *call;                                                                                                \
        void *address = driver_call(symbol);                                                                                   \
        memcpy(&call, &address, sizeof call);                                                                                  \
        const CUresult error = call(__VA_ARGS__);                                                                              \
        if (error) fail_msg(#name ": %d", (int)error);                                                                         \
    } while (0)

/* Records once, then replays over other items each time. */
static void test_capture(void **state) {
    const place *at = *state;
    CUcontext context;
    CUstream stream;
    CUgraph graph;
    CUgraphExec exec;
    if (!at->context) fail_msg("%s did not open: %s", at->select, at->error);
    if (strcmp(at->info.backend, "cuda") != 0) test_skip("graphs are CUDA's");
    setup s = begin(at->context);
    MUST(tally_queue_get_cuda(s.queue, &stream));
    CALL(cuStreamGetCtx, "cuStreamGetCtx", stream, &context);
    CALL(cuCtxPushCurrent, "cuCtxPushCurrent_v2", context);
    CALL(cuStreamBeginCapture, "cuStreamBeginCapture_v2", stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
    enqueue_all(&s);
    CALL(cuStreamEndCapture, "cuStreamEndCapture", stream, &graph);
    CALL(cuGraphInstantiateWithFlags, "cuGraphInstantiateWithFlags", &exec, graph, 0);
    static const int patterns[] = {PATTERN_WIDE, PATTERN_ALTERNATING, PATTERN_WIDE};
    for (size_t i = 0; i < TALLY_ARRAY_LENGTH(patterns); i++) {
        write_items(&s, patterns[i]);
        for (int replay = 0; replay < 3; replay++) CALL(cuGraphLaunch, "cuGraphLaunch", exec, stream);
        expect_all(&s, "replayed");
    }
    CALL(cuGraphExecDestroy, "cuGraphExecDestroy", exec);
    CALL(cuGraphDestroy, "cuGraphDestroy", graph);
    CALL(cuCtxPopCurrent, "cuCtxPopCurrent_v2", &context);
    enqueue_all(&s); /* enqueued without the graph again */
    expect_all(&s, "after the capture");
    end(&s);
}
#else
static void test_capture(void **state) {
    (void)state;
    test_skip("built without CUDA");
}
#endif

#ifdef TALLY_WITH_OPENCL
/* The queue waits for an event that comes after all calls. A call that waited would wait for
 * ever. */
static void test_no_wait(void **state) {
    const place *at = *state;
    cl_command_queue native;
    cl_context context;
    cl_int error;
    if (!at->context) fail_msg("%s did not open: %s", at->select, at->error);
    if (strcmp(at->info.backend, "opencl") != 0) test_skip("events that hold a queue back are OpenCL's");
    setup s = begin(at->context);
    write_items(&s, PATTERN_WIDE);
    MUST(tally_queue_get_opencl(s.queue, &native));
    assert_int_equal(clGetCommandQueueInfo(native, CL_QUEUE_CONTEXT, sizeof context, &context, NULL), CL_SUCCESS);
    cl_event gate = clCreateUserEvent(context, &error), done;
    assert_int_equal(error, CL_SUCCESS);
    assert_int_equal(clEnqueueMarkerWithWaitList(native, 1, &gate, NULL), CL_SUCCESS);
    alarm(60);
    enqueue_all(&s);
    assert_int_equal(clEnqueueMarkerWithWaitList(native, 0, NULL, &done), CL_SUCCESS);
    assert_int_equal(clFlush(native), CL_SUCCESS);
    alarm(0);
    cl_int status = CL_COMPLETE;
    assert_int_equal(clGetEventInfo(done, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL), CL_SUCCESS);
    assert_int_not_equal(status, CL_COMPLETE);
    assert_int_equal(clSetUserEventStatus(gate, CL_COMPLETE), CL_SUCCESS);
    expect_all(&s, "behind an event");
    clReleaseEvent(gate);
    clReleaseEvent(done);
    end(&s);
}
#else
static void test_no_wait(void **state) {
    (void)state;
    test_skip("built without OpenCL");
}
#endif

const device_test enqueue_tests[] = {
    {"captured in a graph", test_capture}, {"enqueuing waits for nothing", test_no_wait}, {NULL, NULL}};
