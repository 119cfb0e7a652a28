/* SPDX-License-Identifier: MIT */
/*
 * openmp.c: the peer on CPUs, the code that a C programmer writes. This file is compiled with
 * -O3 -march=native -ffast-math -fopenmp. The compiler may thus reorder the sum, use vectors and
 * split the sum among the cores.
 */
#include <math.h>
#include <omp.h>
#include <stdlib.h>

#include "bench/bench.h"

typedef double loop(const void *x, const void *y, uint64_t n);

typedef struct openmp_state {
    const bench_input *input;
    loop *loop;
    double value;
    uint64_t calls;
} openmp_state;

/* LOOP(type, acc, name, operator, identity, term): `term` is an expression of x[i] and y[i]. */
#define LOOP(type, acc, name, operation, identity, term)                                                                       \
    static double type##_##name(const void *first, const void *second, uint64_t n) {                                           \
        const type *x = first, *y = second;                                                                                    \
        acc r = identity;                                                                                                      \
        (void)y;                                                                                                               \
        _Pragma(OMP(operation)) for (uint64_t i = 0; i < n; i++) r = REDUCE_##operation(r, term);                              \
        return (double)r;                                                                                                      \
    }
#define TEXT(...) #__VA_ARGS__
#define OMP(operation) OMP_##operation
#define OMP_SUM TEXT(omp parallel for simd reduction(+ : r))
#define OMP_MIN TEXT(omp parallel for simd reduction(min : r))
#define OMP_MAX TEXT(omp parallel for simd reduction(max : r))
#define REDUCE_SUM(r, t) ((r) + (t))
#define REDUCE_MIN(r, t) ((t) < (r) ? (t) : (r))
#define REDUCE_MAX(r, t) ((t) > (r) ? (t) : (r))
#define MAGNITUDE(x) ((x) < 0 ? -(x) : (x))
/* The variance from the sums of the items and of their squares, and the index of the first largest
 * item, for which each thread looks by itself. */
#define LOOPS(type, acc)                                                                                                       \
    LOOP(type, acc, sum, SUM, 0, x[i])                                                                                         \
    LOOP(type, type, min, MIN, x[0], x[i])                                                                                     \
    LOOP(type, type, max, MAX, x[0], x[i])                                                                                     \
    LOOP(type, type, amax, MAX, 0, MAGNITUDE(x[i]))                                                                            \
    LOOP(type, acc, asum, SUM, 0, MAGNITUDE(x[i]))                                                                             \
    LOOP(type, acc, sumsq, SUM, 0, (acc)x[i] * x[i])                                                                           \
    LOOP(type, acc, dot, SUM, 0, (acc)x[i] * y[i])                                                                             \
    static double type##_nrm2(const void *x, const void *y, uint64_t n) {                                                      \
        return sqrt(type##_sumsq(x, y, n));                                                                                    \
    }                                                                                                                          \
    static double type##_var(const void *first, const void *second, uint64_t n) {                                              \
        const type *x = first;                                                                                                 \
        acc sum = 0, squares = 0;                                                                                              \
        (void)second;                                                                                                          \
        _Pragma("omp parallel for simd reduction(+ : sum, squares)") for (uint64_t i = 0; i < n; i++) {                        \
            sum += x[i];                                                                                                       \
            squares += (acc)x[i] * x[i];                                                                                       \
        }                                                                                                                      \
        const double mean = (double)sum / (double)n;                                                                           \
        return (double)squares / (double)n - mean * mean;                                                                      \
    }                                                                                                                          \
    static double type##_argmax(const void *first, const void *second, uint64_t n) {                                           \
        const type *x = first;                                                                                                 \
        uint64_t at = 0;                                                                                                       \
        (void)second;                                                                                                          \
        _Pragma("omp parallel") {                                                                                              \
            uint64_t own = 0;                                                                                                  \
            type most = x[0];                                                                                                  \
            _Pragma("omp for nowait") for (uint64_t i = 0; i < n; i++) if (x[i] > most) {                                      \
                most = x[i];                                                                                                   \
                own = i;                                                                                                       \
            }                                                                                                                  \
            _Pragma("omp critical") if (x[own] > x[at] || (x[own] == x[at] && own < at)) at = own;                             \
        }                                                                                                                      \
        return (double)at;                                                                                                     \
    }
LOOPS(float, float)
LOOPS(double, double)
typedef int32_t i32;
LOOPS(i32, int64_t)
typedef int8_t i8;
LOOPS(i8, int64_t)

static const tally_dtype types[] = {TALLY_F32, TALLY_F64, TALLY_I32, TALLY_I8};
#define ROW(id, name) {TALLY_##id, {float_##name, double_##name, i32_##name, i8_##name}},
static const struct {
    tally_op op;
    loop *loops[4];
} table[] = {ROW(SUM, sum) ROW(MIN, min) ROW(MAX, max) ROW(AMAX, amax) ROW(ASUM, asum) ROW(SUMSQ, sumsq) ROW(DOT, dot)
                 ROW(NRM2, nrm2) ROW(VAR, var) ROW(ARGMAX, argmax)};

static int run(void *pointer, int count) {
    openmp_state *state = pointer;
    const bench_input *in = state->input;
    const size_t bytes = tally_dtype_bytes(in->in);
    for (int call = 0; call < count; call++) {
        const size_t at = input_next(in, &state->calls) * bytes;
        state->value = state->loop((const char *)in->host[0] + at, (const char *)in->host[1] + at, in->n);
    }
    return 0;
}

static double value(void *pointer) {
    return ((openmp_state *)pointer)->value;
}

int openmp_threads(void) {
    return omp_get_max_threads();
}

int openmp_open(const bench_input *input, bench_engine *out) {
    size_t type = 0;
    while (type < sizeof(types) / sizeof(types[0]) && types[type] != input->in) type++;
    if (type == sizeof(types) / sizeof(types[0]) || input->device->device_class != TALLY_CLASS_CPU) return BENCH_ABSENT;
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        if (table[i].op != input->task->op) continue;
        openmp_state *state = malloc(sizeof(*state));
        if (!state) return 1;
        *state = (openmp_state){input, table[i].loops[type], 0, 0};
        *out = (bench_engine){.state = state, .run = run, .value = value, .close = free};
        return 0;
    }
    return BENCH_ABSENT;
}
