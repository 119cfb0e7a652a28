/* SPDX-License-Identifier: MIT */
/*
 * The peer on CPUs: what a C programmer writes. This file alone is compiled with -O3 -march=native -ffast-math -fopenmp, so that the
 * compiler may reorder the sum, use vectors and split it among the cores.
 */
#include <omp.h>
#include <stdlib.h>

#include "bench.h"

typedef struct openmp_state {
    const float *items;
    uint64_t n;
    float sum;
} openmp_state;

static int run(void *pointer, int count) {
    openmp_state *state = pointer;
    for (int call = 0; call < count; call++) {
        const float *x = state->items;
        float sum = 0;
#pragma omp parallel for simd reduction(+ : sum)
        for (uint64_t i = 0; i < state->n; i++) sum += x[i];
        state->sum = sum;
    }
    return 0;
}

static float value(void *pointer) {
    return ((openmp_state *)pointer)->sum;
}

int openmp_threads(void) {
    return omp_get_max_threads();
}

int openmp_open(const bench_input *input, bench_engine *out) {
    openmp_state *state = malloc(sizeof(*state));
    if (!state) return 1;
    *state = (openmp_state){.items = input->host, .n = input->n};
    *out = (bench_engine){.name = "OpenMP", .state = state, .run = run, .value = value, .close = free};
    return 0;
}
