/* SPDX-License-Identifier: MIT */
/* segments_ours.c: tally's reductions of segments, and its scans, as an engine. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tally/cuda.h>

#include "segments.h"

typedef struct ours_state {
    const bench_input *input;
    tally_plan *plan;
    tally_queue *queue;
    tally_buffer *keys, *runs;  /* by keys: each run's key, and the number of runs */
    struct CUstream_st *stream; /* with CUDA peers: the stream that the queue wraps */
} ours_state;

static int complain(void) {
    fprintf(stderr, "tally_bench: %s\n", tally_last_error());
    return 1;
}

/* Returns the second input, or NULL if the operator takes one. */
static tally_buffer *second_of(const bench_input *in) {
    return tally_op_inputs(in->segments->op) > 1 ? in->buffer[ARRAY_Y] : NULL;
}

static tally_status by_axes(const ours_state *state, const bench_segments *s) {
    tally_axis axes[3];
    segments_axes(s, axes);
    const tally_axes_args args = {.size = sizeof(args),
                                  .axes = axes,
                                  .axis_count = 3,
                                  .in = {state->input->buffer[ARRAY_X], second_of(state->input)},
                                  .in_offset = {s->first},
                                  .where = s->is_masked ? state->input->buffer[ARRAY_MAP] : NULL,
                                  .out = {state->input->buffer[ARRAY_OUT]}};
    return tally_reduce_axes(state->plan, state->queue, &args);
}

static tally_status by_offsets(const ours_state *state, const bench_segments *s) {
    const tally_offsets_args args = {.size = sizeof(args),
                                     .count = s->count,
                                     .begins = state->input->buffer[ARRAY_MAP],
                                     .in = {state->input->buffer[ARRAY_X], second_of(state->input)},
                                     .n = s->n,
                                     .out = {state->input->buffer[ARRAY_OUT]}};
    return tally_reduce_offsets(state->plan, state->queue, &args);
}

static tally_status by_keys(const ours_state *state, const bench_segments *s) {
    const tally_keys_args args = {.size = sizeof(args),
                                  .keys = state->input->buffer[ARRAY_MAP],
                                  .in = {state->input->buffer[ARRAY_X]},
                                  .n = s->n,
                                  .capacity = s->count,
                                  .out_keys = state->keys,
                                  .out = {state->input->buffer[ARRAY_OUT]},
                                  .runs = state->runs};
    return tally_reduce_keys(state->plan, state->queue, &args);
}

static tally_status scan_axis(const ours_state *state, const bench_segments *s) {
    tally_axis axes[3];
    segments_axes(s, axes);
    const tally_scan_axis_args args = {.size = sizeof(args),
                                       .axes = axes,
                                       .axis_count = 3,
                                       .axis = 1,
                                       .in = state->input->buffer[ARRAY_X],
                                       .out = state->input->buffer[ARRAY_OUT]};
    return tally_scan_axis(state->plan, state->queue, &args);
}

static tally_status scan(const ours_state *state, const bench_segments *s) {
    const tally_scan_args args = {.size = sizeof(args),
                                  .in = state->input->buffer[ARRAY_X],
                                  .n = s->n,
                                  .segments = s->cut == CUT_LENGTHS ? state->input->buffer[ARRAY_MAP] : NULL,
                                  .out = state->input->buffer[ARRAY_OUT]};
    return segments_is_along_axis(s) ? scan_axis(state, s) : tally_scan_with(state->plan, state->queue, &args);
}

static int enqueue(void *pointer) {
    const ours_state *state = pointer;
    const bench_segments *s = state->input->segments;
    const tally_status status = s->is_scan                  ? scan(state, s)
                                : s->by == TALLY_BY_AXES    ? by_axes(state, s)
                                : s->by == TALLY_BY_OFFSETS ? by_offsets(state, s)
                                                            : by_keys(state, s);
    return status ? complain() : 0;
}

static int run(void *pointer, int count) {
    const ours_state *state = pointer;
    for (int call = 0; call < count; call++)
        if (enqueue(pointer)) return 1;
    return tally_queue_wait(state->queue) ? complain() : 0;
}

/* Returns the number of segments. */
static double value(void *pointer) {
    const ours_state *state = pointer;
    uint64_t runs = state->input->segments->count;
    if (state->runs && (tally_buffer_read(state->queue, state->runs, 0, &runs, sizeof(runs)) || tally_queue_wait(state->queue)))
        return complain(), (double)NAN;
    return (double)runs;
}

static void close_state(void *pointer) {
    ours_state *state = pointer;
    tally_plan_destroy(state->plan);
    tally_buffer_destroy(state->keys);
    tally_buffer_destroy(state->runs);
    tally_queue_destroy(state->queue);
#ifdef TALLY_BENCH_CUDA
    if (state->stream) peer_stream_destroy(state->stream);
#endif
    free(state);
}

#ifdef TALLY_BENCH_CUDA
static double gpu_seconds(void *pointer, int count) {
    return peer_graph_seconds(((ours_state *)pointer)->stream, enqueue, pointer, count);
}
#endif

static int open_queue(ours_state *state, bench_engine *out) {
#ifdef TALLY_BENCH_CUDA
    const tally_device_info *device = state->input->device;
    if (!strcmp(device->backend, "cuda")) {
        out->gpu_seconds = gpu_seconds;
        if (peer_stream_create(device->index, &state->stream)) return 1;
        return tally_queue_wrap_cuda(state->input->context, state->stream, &state->queue) ? complain() : 0;
    }
#endif
    (void)out;
    return tally_queue_create(state->input->context, &state->queue) ? complain() : 0;
}

static tally_status scan_plan(const bench_input *in, tally_plan **out) {
    const bench_segments *s = in->segments;
    const tally_scan_desc desc = {.size = sizeof(desc),
                                  .op = s->op,
                                  .in = s->in,
                                  .max_n = s->n,
                                  .flags = segments_is_along_axis(s) ? TALLY_ALONG_AXIS : 0,
                                  .segments = s->cut == CUT_LENGTHS ? TALLY_SEGMENTS_FLAGS : TALLY_SEGMENTS_NONE};
    return tally_scan_plan_create(in->context, &desc, out);
}

tally_status segments_ours_plan(const bench_input *in, tally_plan **out) {
    const bench_segments *s = in->segments;
    const tally_term_desc terms[] = {{.op = s->op}, {.op = s->also}};
    const tally_segments_desc desc = {.size = sizeof(desc),
                                      .by = s->by,
                                      .in = s->in,
                                      .terms = terms,
                                      .term_count = s->also ? 2 : 1,
                                      .flags =
                                          (s->by == TALLY_BY_AXES ? 0 : TALLY_UNCHECKED) | (s->is_masked ? TALLY_WHERE : 0),
                                      .max_n = s->n,
                                      .max_segments = s->count,
                                      .key_bytes = s->by == TALLY_BY_KEYS ? sizeof(uint32_t) : 0};
    return s->is_scan ? scan_plan(in, out) : tally_segments_plan_create(in->context, &desc, out);
}

static tally_status open_plan(ours_state *state, const bench_input *in) {
    const bench_segments *s = in->segments;
    const int is_by_keys = s->by == TALLY_BY_KEYS;
    tally_status status = segments_ours_plan(in, &state->plan);
    if (!status && is_by_keys) status = tally_buffer_create(in->context, s->count * sizeof(uint32_t), &state->keys);
    if (!status && is_by_keys) status = tally_buffer_create(in->context, sizeof(uint64_t), &state->runs);
    return status;
}

int segments_ours_open(const bench_input *input, bench_engine *out) {
    ours_state *state = calloc(1, sizeof(*state));
    if (!state) return 1;
    state->input = input;
    *out = (bench_engine){.name = "tally", .state = state, .run = run, .value = value, .close = close_state};
    if (open_plan(state, input) ? complain() : open_queue(state, out)) return close_state(state), 1;
    return 0;
}

const char *segments_ours_variant(const bench_engine *engine) {
    return tally_plan_variant(((const ours_state *)engine->state)->plan);
}

segments_result segments_ours_result(const bench_engine *engine) {
    const ours_state *state = engine->state;
    segments_result result = {.bytes = tally_plan_result_bytes(state->plan)};
    for (uint32_t v = 0; v < 2; v++) tally_plan_result(state->plan, v, &result.values[v]);
    return result;
}
