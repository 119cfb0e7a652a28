/* SPDX-License-Identifier: MIT */
/* cblas.c: a BLAS on CPUs, such as OpenBLAS, which uses a thread for each core. */
#include <cblas.h>
#include <limits.h>
#include <stdlib.h>

#include "bench/bench.h"

typedef struct cblas_state {
    const bench_input *input;
    double value;
    uint64_t calls;
} cblas_state;

static double call(const bench_input *in, uint64_t at) {
    const int n = (int)in->n;
    const float *sx = (const float *)in->host[0] + at, *sy = (const float *)in->host[1] + at;
    const double *dx = (const double *)in->host[0] + at, *dy = (const double *)in->host[1] + at;
    const int is_single = in->in == TALLY_F32;
    switch ((int)in->task->op) {
    case TALLY_ASUM:
        return is_single ? (double)cblas_sasum(n, sx, 1) : cblas_dasum(n, dx, 1);
    case TALLY_NRM2:
        return is_single ? (double)cblas_snrm2(n, sx, 1) : cblas_dnrm2(n, dx, 1);
    case TALLY_DOT:
        return is_single ? (double)cblas_sdot(n, sx, 1, sy, 1) : cblas_ddot(n, dx, 1, dy, 1);
    default:
        return (double)(is_single ? cblas_isamax(n, sx, 1) : cblas_idamax(n, dx, 1));
    }
}

static int run(void *pointer, int count) {
    cblas_state *state = pointer;
    for (int i = 0; i < count; i++) state->value = call(state->input, input_next(state->input, &state->calls));
    return 0;
}

static double value(void *pointer) {
    return ((cblas_state *)pointer)->value;
}

int cblas_open(const bench_input *input, bench_engine *out) {
    const int has_op = input->task->op == TALLY_ASUM || input->task->op == TALLY_NRM2 || input->task->op == TALLY_DOT ||
                       input->task->op == TALLY_IAMAX;
    if (!has_op || !is_f32_or_f64(input->in) || input->n > INT_MAX || input->device->device_class != TALLY_CLASS_CPU)
        return BENCH_ABSENT;
    cblas_state *state = calloc(1, sizeof(*state));
    if (!state) return 1;
    state->input = input;
    *out = (bench_engine){.state = state, .run = run, .value = value, .close = free};
    return 0;
}
