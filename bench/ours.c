/* SPDX-License-Identifier: MIT */
/* tally as an engine: a plan and a queue, calls enqueued back to back, one wait. */
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
    struct CUstream_st *stream; /* CUDA with CUB's adapter: the stream that the queue wraps */
} ours_state;

static int complain(void) {
    fprintf(stderr, "tally_bench: %s\n", tally_last_error());
    return 1;
}

static int enqueue(void *pointer) {
    ours_state *state = pointer;
    return tally_reduce(state->plan, state->queue, state->input->buffer, state->input->n, state->out) ? complain() : 0;
}

static int run(void *pointer, int count) {
    ours_state *state = pointer;
    for (int call = 0; call < count; call++)
        if (enqueue(state)) return 1;
    return tally_queue_wait(state->queue) ? complain() : 0;
}

static float value(void *pointer) {
    ours_state *state = pointer;
    float result = 0;
    if (tally_buffer_read(state->queue, state->out, 0, &result, sizeof(result)) || tally_queue_wait(state->queue)) complain();
    return result;
}

static void close_state(void *pointer) {
    ours_state *state = pointer;
    tally_plan_destroy(state->plan);
    tally_buffer_destroy(state->out);
    tally_queue_destroy(state->queue);
#ifdef TALLY_BENCH_CUB
    if (state->stream) cub_stream_destroy(state->stream);
#endif
    free(state);
}

#ifdef TALLY_BENCH_CUB
static double gpu_seconds(void *pointer, int count) {
    ours_state *state = pointer;
    return cub_graph_seconds(state->stream, enqueue, state, count);
}
#endif

static int open_queue(ours_state *state, const tally_device_info *device, bench_engine *out) {
    tally_context *context = state->input->context;
#ifdef TALLY_BENCH_CUB
    if (!strcmp(device->backend, "cuda")) {
        out->gpu_seconds = gpu_seconds;
        if (cub_stream_create(device->index, &state->stream)) return 1;
        return tally_queue_wrap_cuda(context, state->stream, &state->queue) ? complain() : 0;
    }
#endif
    (void)device, (void)out;
    return tally_queue_create(context, &state->queue) ? complain() : 0;
}

int ours_open(const bench_input *input, const tally_device_info *device, bench_engine *out) {
    ours_state *state = calloc(1, sizeof(*state));
    if (!state) return 1;
    state->input = input;
    *out = (bench_engine){.name = "tally", .state = state, .run = run, .value = value, .close = close_state};
    const tally_reduce_desc desc = {.size = sizeof(desc), .op = TALLY_SUM, .in = TALLY_F32, .max_n = input->n};
    if (open_queue(state, device, out)) goto failed;
    if (tally_plan_create(input->context, &desc, &state->plan) ||
        tally_buffer_create(input->context, sizeof(float), &state->out)) {
        complain();
        goto failed;
    }
    return 0;
failed:
    close_state(state);
    return 1;
}
