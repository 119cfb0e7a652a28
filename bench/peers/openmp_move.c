/* SPDX-License-Identifier: MIT */
/* openmp_move.c: the peer of gathers and scatters on CPUs, plain loops compiled like
 * openmp.c, and a copy by all threads. */
#include <string.h>

#include "bench/bench.h"

static void gather(const bench_input *in) {
    const uint32_t *map = in->host[ARRAY_MAP];
    const float *x = in->host[ARRAY_X];
    float *out = in->host[ARRAY_OUT];
#pragma omp parallel for simd schedule(static)
    for (uint64_t i = 0; i < in->n; i++) out[i] = x[map[i]];
}

static void scatter(const bench_input *in) {
    const uint32_t *map = in->host[ARRAY_MAP];
    const float *x = in->host[ARRAY_X];
    float *out = in->host[ARRAY_OUT];
#pragma omp parallel for schedule(static)
    for (uint64_t i = 0; i < in->n; i++) out[map[i]] = x[i];
}

static void copy(const bench_input *in) {
    const uint64_t bytes = array_bytes(ARRAY_X, in->in, in->n), piece = 1u << 20;
    const char *x = in->host[ARRAY_X];
    char *out = in->host[ARRAY_OUT];
#pragma omp parallel for schedule(static)
    for (uint64_t at = 0; at < bytes; at += piece) memcpy(out + at, x + at, bytes - at < piece ? bytes - at : piece);
}

/* The case itself is the engine's state. */
#define RUN(name)                                                                                                              \
    static int run_##name(void *input, int count) {                                                                            \
        for (int call = 0; call < count; call++) name(input);                                                                  \
        return 0;                                                                                                              \
    }
RUN(gather)
RUN(scatter)
RUN(copy)

static void leave(void *input) {
    (void)input;
}

static int open_loop(const bench_input *input, int (*run)(void *input, int count), bench_engine *out) {
    if (!is_host(input->device)) return BENCH_ABSENT;
    *out = (bench_engine){.state = (void *)input, .run = run, .close = leave};
    return 0;
}

int openmp_move_open(const bench_input *input, bench_engine *out) {
    return open_loop(input, input->task->primitive == BENCH_GATHER ? run_gather : run_scatter, out);
}

int openmp_copy_open(const bench_input *input, bench_engine *out) {
    return open_loop(input, run_copy, out);
}
