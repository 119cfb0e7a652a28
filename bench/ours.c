/* SPDX-License-Identifier: MIT */
/* tally as an engine: a plan and a queue, calls enqueued back to back, one wait. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tally/cuda.h>

#include "bench.h"

typedef struct ours_state {
    const bench_input *input;
    tally_plan *plan;
    tally_queue *queue;
    tally_buffer *out;
    uint64_t calls;
    struct CUstream_st *stream; /* CUDA, where its peers were built: the stream that the queue wraps */
} ours_state;

static int complain(void) {
    fprintf(stderr, "tally_bench: %s\n", tally_last_error());
    return 1;
}

static int enqueue(void *pointer) {
    ours_state *state = pointer;
    const bench_input *in = state->input;
    const uint64_t at = input_next(in, &state->calls);
    const tally_status status = tally_reduce_inputs(state->plan, state->queue, (const tally_buffer *const *)in->buffer,
                                                    (const uint64_t[]){at, at}, in->n, state->out, 0);
    return status ? complain() : 0;
}

static int run(void *pointer, int count) {
    ours_state *state = pointer;
    for (int call = 0; call < count; call++)
        if (enqueue(state)) return 1;
    return tally_queue_wait(state->queue) ? complain() : 0;
}

static double value(void *pointer) {
    ours_state *state = pointer;
    union {
        float f32;
        double f64;
        int32_t i32;
        uint32_t u32;
        int64_t i64;
        uint64_t u64;
    } result = {0};
    tally_result_info info;
    if (!tally_plan_result(state->plan, 0, &info)) return (double)NAN;
    if (tally_buffer_read(state->queue, state->out, 0, &result, tally_dtype_bytes(info.dtype)) ||
        tally_queue_wait(state->queue))
        return complain(), (double)NAN;
    switch ((int)info.dtype) {
    case TALLY_F32:
        return (double)result.f32;
    case TALLY_F64:
        return result.f64;
    case TALLY_I32:
        return result.i32;
    case TALLY_U32:
        return result.u32;
    case TALLY_I64:
        return (double)result.i64;
    case TALLY_U64:
        return (double)result.u64;
    }
    return (double)NAN;
}

static void close_state(void *pointer) {
    ours_state *state = pointer;
    tally_plan_destroy(state->plan);
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
        out->gpu_seconds = gpu_seconds;
        if (peer_stream_create(device->index, &state->stream)) return 1;
        return tally_queue_wrap_cuda(context, state->stream, &state->queue) ? complain() : 0;
    }
#endif
    (void)out;
    return tally_queue_create(context, &state->queue) ? complain() : 0;
}

int ours_open(const bench_input *input, bench_engine *out) {
    ours_state *state = calloc(1, sizeof(*state));
    if (!state) return 1;
    state->input = input;
    *out = (bench_engine){.name = "tally", .state = state, .run = run, .value = value, .close = close_state};
    const tally_reduce_desc desc = {.size = sizeof(desc), .op = input->op, .in = input->in, .max_n = input->n};
    if (open_queue(state, out)) goto failed;
    if (tally_plan_create(input->context, &desc, &state->plan) ||
        tally_buffer_create(input->context, sizeof(uint64_t), &state->out)) {
        complain();
        goto failed;
    }
    return 0;
failed:
    close_state(state);
    return 1;
}

const char *ours_variant(const bench_engine *engine) {
    return tally_plan_variant(((const ours_state *)engine->state)->plan);
}
