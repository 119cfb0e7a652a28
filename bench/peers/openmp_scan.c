/* SPDX-License-Identifier: MIT */
/*
 * openmp_scan.c: the peer of scans on CPUs. It has two passes: each thread combines its part,
 * then scans it item by item from the exclusive prefix of the parts before it. It is compiled like
 * openmp.c.
 */
#include <omp.h>
#include <stdlib.h>

#include "bench/bench.h"

#define MAX_THREADS 1024

typedef void scan_loop(const void *x, void *out, uint64_t n);

#define TEXT(...) #__VA_ARGS__
#define ADD(r, x) ((r) + (x))
#define LESS(r, x) ((x) < (r) ? (x) : (r))
#define MORE(r, x) ((x) > (r) ? (x) : (r))
/* SCAN(type, name, sign, combine, identity): `sign` is that of an OpenMP reduction. */
#define SCAN(type, name, sign, combine, identity)                                                                              \
    static void type##_##name(const void *first, void *to, uint64_t n) {                                                       \
        static type totals[MAX_THREADS];                                                                                       \
        const type *x = first;                                                                                                 \
        type *out = to;                                                                                                        \
        _Pragma("omp parallel num_threads(openmp_threads() < MAX_THREADS ? openmp_threads() : MAX_THREADS)") {                 \
            const uint64_t t = (uint64_t)omp_get_thread_num(), threads = (uint64_t)omp_get_num_threads();                      \
            const uint64_t begin = n / threads * t, end = t + 1 == threads ? n : begin + n / threads;                          \
            type r = identity;                                                                                                 \
            _Pragma(TEXT(omp simd reduction(sign : r))) for (uint64_t i = begin; i < end; i++) r = combine(r, x[i]);           \
            totals[t] = r;                                                                                                     \
            _Pragma("omp barrier") r = identity;                                                                               \
            for (uint64_t before = 0; before < t; before++) r = combine(r, totals[before]);                                    \
            for (uint64_t i = begin; i < end; i++) out[i] = r = combine(r, x[i]);                                              \
        }                                                                                                                      \
    }
#define SCANS(type) SCAN(type, sum, +, ADD, 0) SCAN(type, min, min, LESS, x[0]) SCAN(type, max, max, MORE, x[0])
SCANS(float)
SCANS(double)
SCANS(int32_t)
SCANS(int64_t)

#define ROW(id, type)                                                                                                          \
    {                                                                                                                          \
        TALLY_##id, {                                                                                                          \
            type##_sum, type##_min, type##_max                                                                                 \
        }                                                                                                                      \
    }
static const struct {
    tally_dtype in;
    scan_loop *loops[3];
} table[] = {ROW(F32, float), ROW(F64, double), ROW(I32, int32_t), ROW(I64, int64_t)};

typedef struct scan_state {
    const bench_input *input;
    scan_loop *loop;
} scan_state;

static int run(void *pointer, int count) {
    const scan_state *state = pointer;
    const bench_input *in = state->input;
    for (int call = 0; call < count; call++) state->loop(in->host[ARRAY_X], in->host[ARRAY_OUT], in->n);
    return 0;
}

int openmp_scan_open(const bench_input *input, bench_engine *out) {
    const int which = input->task->op == TALLY_SUM ? 0 : input->task->op == TALLY_MIN ? 1 : 2;
    if (!is_host(input->device)) return BENCH_ABSENT;
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        if (table[i].in != input->in) continue;
        scan_state *state = malloc(sizeof(*state));
        if (!state) return 1;
        *state = (scan_state){input, table[i].loops[which]};
        *out = (bench_engine){.state = state, .run = run, .close = free};
        return 0;
    }
    return BENCH_ABSENT;
}
