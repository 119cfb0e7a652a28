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

/* The result's type, and its bytes; TALLY_DTYPE_DEFAULT: it could not be had. */
static tally_dtype read_result(ours_state *state, unsigned char *bytes) {
    tally_result_info info;
    if (!tally_plan_result(state->plan, 0, &info)) return TALLY_DTYPE_DEFAULT;
    if (tally_buffer_read(state->queue, state->out, 0, bytes, tally_dtype_bytes(info.dtype)) || tally_queue_wait(state->queue))
        return complain(), TALLY_DTYPE_DEFAULT;
    return info.dtype;
}

static double value(void *pointer) {
    unsigned char bytes[8];
    const tally_dtype type = read_result(pointer, bytes);
    return type ? input_value(type, bytes) : (double)NAN;
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

size_t ours_result(const bench_engine *engine, unsigned char *bytes) {
    return tally_dtype_bytes(read_result(engine->state, bytes));
}
