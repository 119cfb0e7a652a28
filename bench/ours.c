/* SPDX-License-Identifier: MIT */
/* ours.c: tally as an engine. It has a plan and a queue; calls are enqueued back to back, with one
 * wait. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tally/cuda.h>

#include "bench.h"

typedef struct ours_state {
    const bench_input *input;
    tally_plan *plan;
    tally_plan *move_plan;
    int is_unchecked;
    tally_queue *queue;
    tally_buffer *out;
    uint64_t calls;
    struct CUstream_st *stream; /* with CUDA peers: the stream that the queue wraps */
} ours_state;

static int complain(void) {
    fprintf(stderr, "tally_bench: %s\n", tally_last_error());
    return 1;
}

static tally_status reduce(ours_state *state, const bench_input *in) {
    const uint64_t at = input_next(in, &state->calls);
    const tally_reduce_args args = {
        .size = sizeof(args), .in = {in->buffer[0], in->buffer[1]}, .in_offset = {at, at}, .n = in->n, .out = state->out};
    return tally_reduce_with(state->plan, state->queue, &args);
}

static tally_status move(ours_state *state, const bench_input *in) {
    const tally_move_args args = {.size = sizeof(args),
                                  .map = in->buffer[ARRAY_MAP],
                                  .n = in->n,
                                  .in = in->buffer[ARRAY_X],
                                  .out = in->buffer[ARRAY_OUT],
                                  .items = in->n};
    return (in->task->primitive == BENCH_GATHER ? tally_gather : tally_scatter)(state->move_plan, state->queue, &args);
}

static int enqueue(void *pointer) {
    ours_state *state = pointer;
    const bench_input *in = state->input;
    tally_status status;
    if (in->task->primitive == BENCH_REDUCE)
        status = reduce(state, in);
    else if (in->task->primitive == BENCH_SCAN)
        status = tally_scan(state->plan, state->queue, in->buffer[ARRAY_X], in->n, in->buffer[ARRAY_OUT]);
    else
        status = move(state, in);
    return status ? complain() : 0;
}

static int run(void *pointer, int count) {
    ours_state *state = pointer;
    for (int call = 0; call < count; call++)
        if (enqueue(state)) return 1;
    return tally_queue_wait(state->queue) ? complain() : 0;
}

/* Reads the result's bytes and returns their number, or 0 on failure. */
static size_t read_result(const ours_state *state, unsigned char bytes[RESULT_BYTES]) {
    const size_t count = (size_t)tally_plan_result_bytes(state->plan);
    if (tally_buffer_read(state->queue, state->out, 0, bytes, count) || tally_queue_wait(state->queue)) return complain(), 0;
    return count;
}

/* Returns the result's first value. */
static double value(void *pointer) {
    const ours_state *state = pointer;
    unsigned char bytes[RESULT_BYTES];
    tally_result_info info;
    if (!tally_plan_result(state->plan, 0, &info) || !read_result(state, bytes)) return (double)NAN;
    return input_value(info.dtype, bytes);
}

static void close_state(void *pointer) {
    ours_state *state = pointer;
    tally_plan_destroy(state->plan);
    tally_plan_destroy(state->move_plan);
    tally_buffer_destroy(state->out);
    tally_queue_destroy(state->queue);
#ifdef TALLY_BENCH_CUDA
    if (state->stream) peer_stream_destroy(state->stream);
#endif
    free(state);
}

#ifdef TALLY_BENCH_CUDA
static double gpu_seconds(void *pointer, int count) {
    ours_state *state = pointer;
    return peer_graph_seconds(state->stream, enqueue, state, count);
}
#endif

static int open_queue(ours_state *state, bench_engine *out) {
    tally_context *context = state->input->context;
#ifdef TALLY_BENCH_CUDA
    const tally_device_info *device = state->input->device;
    if (!strcmp(device->backend, "cuda")) {
        /* A checked call waits, and a graph cannot hold a wait. */
        if (!state->move_plan || state->is_unchecked) out->gpu_seconds = gpu_seconds;
        if (peer_stream_create(device->index, &state->stream)) return 1;
        return tally_queue_wrap_cuda(context, state->stream, &state->queue) ? complain() : 0;
    }
#endif
    (void)out;
    return tally_queue_create(context, &state->queue) ? complain() : 0;
}

static tally_status open_plan(ours_state *state, const bench_input *in) {
    const tally_reduce_desc reduction = {.size = sizeof(reduction), .op = in->task->op, .in = in->in, .max_n = in->n};
    const tally_scan_desc scan = {.size = sizeof(scan), .op = in->task->op, .in = in->in, .out = in->in, .max_n = in->n};
    const tally_move_desc index = {.size = sizeof(index),
                                   .item_bytes = (uint32_t)tally_dtype_bytes(in->in),
                                   .map = TALLY_U32,
                                   .flags = state->is_unchecked ? TALLY_UNCHECKED : 0,
                                   .max_n = in->n};
    switch ((int)in->task->primitive) {
    case BENCH_REDUCE:
        return tally_plan_create(in->context, &reduction, &state->plan);
    case BENCH_SCAN:
        return tally_scan_plan_create(in->context, &scan, &state->plan);
    case BENCH_GATHER:
        return tally_gather_plan_create(in->context, &index, &state->move_plan);
    }
    return tally_scatter_plan_create(in->context, &index, &state->move_plan);
}

static int open_ours(const bench_input *input, int is_unchecked, bench_engine *out) {
    ours_state *state = calloc(1, sizeof(*state));
    if (!state) return 1;
    state->input = input;
    state->is_unchecked = is_unchecked;
    *out = (bench_engine){.name = "tally", .state = state, .run = run, .close = close_state};
    if (input->task->primitive == BENCH_REDUCE) out->value = value;
    if (open_plan(state, input) || tally_buffer_create(input->context, RESULT_BYTES, &state->out)) {
        complain();
        goto failed;
    }
    if (open_queue(state, out)) goto failed;
    return 0;
failed:
    close_state(state);
    return 1;
}

int ours_open(const bench_input *input, bench_engine *out) {
    return open_ours(input, 0, out);
}

int unchecked_open(const bench_input *input, bench_engine *out) {
    return open_ours(input, 1, out);
}

const char *ours_variant(const bench_engine *engine) {
    const ours_state *state = engine->state;
    return state->plan ? tally_plan_variant(state->plan) : "checked";
}

size_t ours_result(const bench_engine *engine, unsigned char *bytes) {
    return read_result(engine->state, bytes);
}
