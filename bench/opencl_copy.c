/* SPDX-License-Identifier: MIT */
/* opencl_copy.c: a copy by the driver of an OpenCL device. */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>

#include <tally/opencl.h>

#include "bench.h"

typedef struct copy_state {
    const bench_input *input;
    tally_queue *queue;
    cl_command_queue native;
    cl_mem x, out;
} copy_state;

static int complain(const char *why) {
    fprintf(stderr, "tally_bench: " PEER_COPY ": %s\n", why);
    return 1;
}

static int run(void *pointer, int count) {
    const copy_state *s = pointer;
    const size_t bytes = array_bytes(ARRAY_X, s->input->in, s->input->n);
    for (int call = 0; call < count; call++)
        if (clEnqueueCopyBuffer(s->native, s->x, s->out, 0, 0, bytes, 0, NULL, NULL))
            return complain("clEnqueueCopyBuffer failed");
    return clFinish(s->native) ? complain("clFinish failed") : 0;
}

static void close_state(void *pointer) {
    copy_state *state = pointer;
    tally_queue_destroy(state->queue);
    free(state);
}

int opencl_copy_open(const bench_input *input, bench_engine *out) {
    copy_state *state = calloc(1, sizeof(*state));
    if (!state) return 1;
    state->input = input;
    if (tally_queue_create(input->context, &state->queue) || tally_queue_get_opencl(state->queue, &state->native) ||
        tally_buffer_get_opencl(input->buffer[ARRAY_X], &state->x) ||
        tally_buffer_get_opencl(input->buffer[ARRAY_OUT], &state->out)) {
        complain(tally_last_error());
        close_state(state);
        return 1;
    }
    *out = (bench_engine){.state = state, .run = run, .close = close_state};
    return 0;
}
