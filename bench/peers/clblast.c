/* SPDX-License-Identifier: MIT */
/* clblast.c: CLBlast on OpenCL devices. Its sum is its own routine, and its index operators
 * give 32 bits. */
#define CL_TARGET_OPENCL_VERSION 120
#include <clblast_c.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tally/opencl.h>

#include "bench/bench.h"

typedef struct clblast_state {
    const bench_input *input;
    tally_queue *queue;
    tally_buffer *result;
    cl_command_queue native;
    cl_mem x, y, out;
    uint64_t calls;
} clblast_state;

static int complain(const char *why) {
    fprintf(stderr, "tally_bench: CLBlast: %s\n", why);
    return 1;
}

#define ONE_INPUT(name) (is_single ? CLBlastS##name : CLBlastD##name)(n, s->out, 0, s->x, at, 1, &s->native, NULL)
#define INDEX(name) (is_single ? CLBlastiS##name : CLBlastiD##name)(n, s->out, 0, s->x, at, 1, &s->native, NULL)

static int enqueue(clblast_state *s) {
    const int is_single = s->input->in == TALLY_F32;
    const size_t n = s->input->n, at = input_next(s->input, &s->calls);
    CLBlastStatusCode status = CLBlastNotImplemented;
    switch ((int)s->input->task->op) {
    case TALLY_SUM:
        status = ONE_INPUT(sum);
        break;
    case TALLY_ASUM:
        status = ONE_INPUT(asum);
        break;
    case TALLY_NRM2:
        status = ONE_INPUT(nrm2);
        break;
    case TALLY_DOT:
        status = (is_single ? CLBlastSdot : CLBlastDdot)(n, s->out, 0, s->x, at, 1, s->y, at, 1, &s->native, NULL);
        break;
    case TALLY_IAMAX:
        status = INDEX(amax);
        break;
    case TALLY_ARGMAX:
        status = INDEX(max);
        break;
    case TALLY_ARGMIN:
        status = INDEX(min);
        break;
    }
    if (status == CLBlastSuccess) return 0;
    char text[32];
    snprintf(text, sizeof(text), "status %d", (int)status);
    return complain(text);
}

static int run(void *pointer, int count) {
    clblast_state *state = pointer;
    for (int call = 0; call < count; call++)
        if (enqueue(state)) return 1;
    return clFinish(state->native) ? complain("clFinish failed") : 0;
}

static double value(void *pointer) {
    const clblast_state *state = pointer;
    union {
        float f32;
        double f64;
        uint32_t u32;
    } result = {0};
    if (clEnqueueReadBuffer(state->native, state->out, CL_TRUE, 0, sizeof(result), &result, 0, NULL, NULL))
        return complain("no result can be read"), (double)NAN;
    const int is_index = state->input->task->op == TALLY_IAMAX || state->input->task->op == TALLY_ARGMAX ||
                         state->input->task->op == TALLY_ARGMIN;
    /* The place counts from the start of the memory and includes the copies before. */
    return is_index ? (double)(result.u32 % state->input->n) : state->input->in == TALLY_F32 ? (double)result.f32 : result.f64;
}

static void close_state(void *pointer) {
    clblast_state *state = pointer;
    tally_buffer_destroy(state->result);
    tally_queue_destroy(state->queue);
    free(state);
}

int clblast_open(const bench_input *input, bench_engine *out) {
    static const tally_op ops[] = {TALLY_SUM, TALLY_ASUM, TALLY_NRM2, TALLY_DOT, TALLY_IAMAX, TALLY_ARGMAX, TALLY_ARGMIN};
    int has_op = 0;
    for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) has_op |= ops[i] == input->task->op;
    if (!has_op || !is_f32_or_f64(input->in) || strcmp(input->device->backend, "opencl")) return BENCH_ABSENT;
    clblast_state *state = calloc(1, sizeof(*state));
    if (!state) return 1;
    state->input = input;
    if (tally_queue_create(input->context, &state->queue) || tally_queue_get_opencl(state->queue, &state->native) ||
        tally_buffer_create(input->context, sizeof(double), &state->result) ||
        tally_buffer_get_opencl(state->result, &state->out) || tally_buffer_get_opencl(input->buffer[0], &state->x) ||
        (input->buffer[1] && tally_buffer_get_opencl(input->buffer[1], &state->y))) {
        complain(tally_last_error());
        close_state(state);
        return 1;
    }
    *out = (bench_engine){.state = state, .run = run, .value = value, .close = close_state};
    return 0;
}
