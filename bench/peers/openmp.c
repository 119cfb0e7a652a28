/* SPDX-License-Identifier: MIT */
/*
 * openmp.c: the peer on CPUs, the code that a C programmer writes. This file is compiled with
 * -O3 -march=native -ffast-math -fopenmp. The compiler may thus reorder the sum, use vectors and
 * split the sum among the cores.
 */
#include <complex.h>
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

/* ---- loops ----------------------------------------------------------------------------------- */

#ifdef __FLT16_MAX__ /* gcc has the type from version 12 on */
__extension__ typedef _Float16 f16;
#define HALVES(X) X(f16, F16, f32, f64, f64, f32)
#else
#define HALVES(X)
#endif
typedef uint16_t bf16;
typedef float f32;
typedef double f64;
typedef int8_t i8;
typedef int16_t i16;
typedef int32_t i32;
typedef int64_t i64;
typedef uint8_t u8, truth;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef float complex c64;
typedef double complex c128;

/* The type of an array's items; what they are computed as, one by one; sums; norms, of which f32
 * would lose too many digits; exponentials. */
#define FLOATS(X)                                                                                                              \
    HALVES(X)                                                                                                                  \
    X(bf16, BF16, f32, f32, f32, f32)                                                                                          \
    X(f32, F32, f32, f32, f64, f32)                                                                                            \
    X(f64, F64, f64, f64, f64, f64)
#define INTEGERS(X)                                                                                                            \
    X(i8, I8, i8, i64, i64, f64)                                                                                               \
    X(i16, I16, i16, i64, i64, f64)                                                                                            \
    X(i32, I32, i32, i64, i64, f64)                                                                                            \
    X(i64, I64, i64, i64, i64, f64)                                                                                            \
    X(u8, U8, u8, u64, u64, f64)                                                                                               \
    X(u16, U16, u16, u64, u64, f64)                                                                                            \
    X(u32, U32, u32, u64, u64, f64)                                                                                            \
    X(u64, U64, u64, u64, u64, f64)
#define TRUTHS(X) X(truth, BOOL, u8, u64, u64, f64)
#define COMPLEX(X)                                                                                                             \
    X(c64, C64, c64, c64, f64, f32)                                                                                            \
    X(c128, C128, c128, c128, f64, f64)

static inline f32 widen(bf16 bits) {
    const union {
        u32 bits;
        f32 value;
    } wide = {(u32)bits << 16};
    return wide.value;
}
#define ITEM_OF(type, item, x)                                                                                                 \
    _Generic((type *)0, bf16 * : _Generic((item)0, f32 : widen(x), default : (x)), default : (item)(x))
#define EXP(x) _Generic((x), f32 : expf(x), default : exp(x))
#define MAGNITUDE(x) ((x) < 0 ? -(x) : (x))
#define TEXT(...) #__VA_ARGS__
#define OMP(operation) OMP_##operation
#define OMP_SUM TEXT(omp parallel for simd reduction(+ : r))
#define OMP_PROD TEXT(omp parallel for simd reduction(* : r))
#define OMP_MIN TEXT(omp parallel for simd reduction(min : r))
#define OMP_MAX TEXT(omp parallel for simd reduction(max : r))
#define OMP_ALL TEXT(omp parallel for simd reduction(&& : r))
#define OMP_ANY TEXT(omp parallel for simd reduction(|| : r))
#define OMP_AND TEXT(omp parallel for simd reduction(& : r))
#define OMP_OR TEXT(omp parallel for simd reduction(| : r))
#define OMP_XOR TEXT(omp parallel for simd reduction(^ : r))
#define REDUCE_SUM(r, t) ((r) + (t))
#define REDUCE_PROD(r, t) ((r) * (t))
#define REDUCE_MIN(r, t) ((t) < (r) ? (t) : (r))
#define REDUCE_MAX(r, t) ((t) > (r) ? (t) : (r))
#define REDUCE_ALL(r, t) ((r) && (t))
#define REDUCE_ANY(r, t) ((r) || (t))
#define REDUCE_AND(r, t) ((r) & (t))
#define REDUCE_OR(r, t) ((r) | (t))
#define REDUCE_XOR(r, t) ((r) ^ (t))

/* A reduction of `term`, an expression of an item `a`, and `b` of the second array. */
#define LOOP(type, item, acc, name, operation, identity, term)                                                                 \
    static double type##_##name(const void *first, const void *second, uint64_t n) {                                           \
        const type *x = first;                                                                                                 \
        acc r = identity;                                                                                                      \
        (void)second;                                                                                                          \
        _Pragma(OMP(operation)) for (uint64_t i = 0; i < n; i++) {                                                             \
            const item a = ITEM_OF(type, item, x[i]);                                                                          \
            r = REDUCE_##operation(r, term);                                                                                   \
        }                                                                                                                      \
        return (double)r;                                                                                                      \
    }
#define LOOP_OF_TWO(type, item, acc, name, operation, identity, term)                                                          \
    static double type##_##name(const void *first, const void *second, uint64_t n) {                                           \
        const type *x = first, *y = second;                                                                                    \
        acc r = identity;                                                                                                      \
        _Pragma(OMP(operation)) for (uint64_t i = 0; i < n; i++) {                                                             \
            const item a = ITEM_OF(type, item, x[i]), b = ITEM_OF(type, item, y[i]);                                           \
            r = REDUCE_##operation(r, term);                                                                                   \
        }                                                                                                                      \
        return (double)r;                                                                                                      \
    }
/* A function of another loop's value `v`. */
#define OF_VALUE(type, name, from, expression)                                                                                 \
    static double type##_##name(const void *x, const void *y, uint64_t n) {                                                    \
        const double v = type##_##from(x, y, n);                                                                               \
        (void)n;                                                                                                               \
        return expression;                                                                                                     \
    }
/* The index of the first item whose `key` is `above` that of the others. Each thread looks by
 * itself. */
#define INDEX(type, item, name, above, key)                                                                                    \
    static double type##_##name(const void *first, const void *second, uint64_t n) {                                           \
        const type *x = first;                                                                                                 \
        uint64_t at = 0;                                                                                                       \
        (void)second;                                                                                                          \
        item a = ITEM_OF(type, item, x[0]);                                                                                    \
        const item begin = key;                                                                                                \
        item best = begin;                                                                                                     \
        _Pragma("omp parallel private(a)") {                                                                                   \
            uint64_t own = 0;                                                                                                  \
            item most = begin;                                                                                                 \
            _Pragma("omp for nowait") for (uint64_t i = 0; i < n; i++) {                                                       \
                a = ITEM_OF(type, item, x[i]);                                                                                 \
                const item k = key;                                                                                            \
                if (k above most) {                                                                                            \
                    most = k;                                                                                                  \
                    own = i;                                                                                                   \
                }                                                                                                              \
            }                                                                                                                  \
            _Pragma("omp critical") if (most above best || (most == best && own < at)) {                                       \
                best = most;                                                                                                   \
                at = own;                                                                                                      \
            }                                                                                                                  \
        }                                                                                                                      \
        return (double)at;                                                                                                     \
    }
#define SUMS(type, item, acc)                                                                                                  \
    LOOP(type, item, acc, sum, SUM, 0, a)                                                                                      \
    LOOP(type, item, acc, prod, PROD, 1, a)                                                                                    \
    LOOP_OF_TWO(type, item, acc, dot, SUM, 0, (acc)a *b)                                                                       \
    OF_VALUE(type, mean, sum, v / (double)n)                                                                                   \
    OF_VALUE(type, nrm2, sumsq, sqrt(v))
#define LOOPS_OF_COMPLEX(type, dtype, item, acc, squares, real)                                                                \
    LOOP(type, item, squares, sumsq, SUM, 0, creal(a) * creal(a) + cimag(a) * cimag(a))                                        \
    LOOP(type, item, squares, asum, SUM, 0, fabs(creal(a)) + fabs(cimag(a)))                                                   \
    LOOP_OF_TWO(type, item, acc, dotc, SUM, 0, conj(a) * b)                                                                    \
    SUMS(type, item, acc)
/* `var` takes the sums of the items and of their squares; `logsumexp` takes two passes. */
#define LOOPS(type, dtype, item, acc, squares, real)                                                                           \
    LOOP(type, item, squares, sumsq, SUM, 0, (squares)a *a)                                                                    \
    SUMS(type, item, acc)                                                                                                      \
    LOOP(type, item, item, min, MIN, ITEM_OF(type, item, x[0]), a)                                                             \
    LOOP(type, item, item, max, MAX, ITEM_OF(type, item, x[0]), a)                                                             \
    LOOP(type, item, item, amax, MAX, 0, MAGNITUDE(a))                                                                         \
    LOOP(type, item, int, any, ANY, 0, a != 0)                                                                                 \
    LOOP(type, item, int, all, ALL, 1, a != 0)                                                                                 \
    LOOP(type, item, uint64_t, count_nonzero, SUM, 0, a != 0)                                                                  \
    LOOP(type, item, acc, asum, SUM, 0, MAGNITUDE(a))                                                                          \
    LOOP_OF_TWO(type, item, acc, dist2, SUM, 0, ((acc)a - (acc)b) * ((acc)a - (acc)b))                                         \
    LOOP_OF_TWO(type, item, int, allclose, ALL, 1, MAGNITUDE((f64)a - (f64)b) <= 1e-8 + 1e-5 * MAGNITUDE((f64)b))              \
    INDEX(type, item, argmin, <, a)                                                                                            \
    INDEX(type, item, argmax, >, a)                                                                                            \
    INDEX(type, item, iamax, >, MAGNITUDE(a))                                                                                  \
    static double type##_minmax(const void *first, const void *second, uint64_t n) {                                           \
        const type *x = first;                                                                                                 \
        item least = ITEM_OF(type, item, x[0]), most = least;                                                                  \
        (void)second;                                                                                                          \
        _Pragma("omp parallel for simd reduction(min : least) reduction(max : most)") for (uint64_t i = 0; i < n; i++) {       \
            const item a = ITEM_OF(type, item, x[i]);                                                                          \
            least = a < least ? a : least;                                                                                     \
            most = a > most ? a : most;                                                                                        \
        }                                                                                                                      \
        return most < least ? 0 : (double)least;                                                                               \
    }                                                                                                                          \
    static double type##_var(const void *first, const void *second, uint64_t n) {                                              \
        const type *x = first;                                                                                                 \
        acc sum = 0;                                                                                                           \
        acc of_squares = 0;                                                                                                    \
        (void)second;                                                                                                          \
        _Pragma("omp parallel for simd reduction(+ : sum, of_squares)") for (uint64_t i = 0; i < n; i++) {                     \
            const item a = ITEM_OF(type, item, x[i]);                                                                          \
            sum += a;                                                                                                          \
            of_squares += (acc)a * a;                                                                                          \
        }                                                                                                                      \
        const double mean = (double)sum / (double)n;                                                                           \
        return (double)of_squares / (double)n - mean * mean;                                                                   \
    }                                                                                                                          \
    OF_VALUE(type, std, var, sqrt(v))                                                                                          \
    static double type##_logsumexp(const void *first, const void *second, uint64_t n) {                                        \
        const type *x = first;                                                                                                 \
        const real most = (real)type##_max(first, second, n);                                                                  \
        real sum = 0;                                                                                                          \
        _Pragma("omp parallel for simd reduction(+ : sum)") for (uint64_t i = 0; i < n; i++) {                                 \
            const item a = ITEM_OF(type, item, x[i]);                                                                          \
            sum += EXP((real)a - most);                                                                                        \
        }                                                                                                                      \
        return (double)most + log((double)sum);                                                                                \
    }
#define LOOPS_OF_BITS(type, dtype, item, acc, squares, real)                                                                   \
    LOOP(type, item, item, band, AND, (item)~0, a)                                                                             \
    LOOP(type, item, item, bor, OR, 0, a)                                                                                      \
    LOOP(type, item, item, bxor, XOR, 0, a)
#pragma GCC diagnostic ignored "-Wtype-limits" /* the magnitude of what has no sign */
FLOATS(LOOPS)
INTEGERS(LOOPS)
TRUTHS(LOOPS)
INTEGERS(LOOPS_OF_BITS)
COMPLEX(LOOPS_OF_COMPLEX)

/* ---- the engine ------------------------------------------------------------------------------ */

typedef struct row {
    tally_op op;
    tally_dtype in;
    loop *loop;
} row;
#define ROW(op, type, dtype, name) {TALLY_##op, TALLY_##dtype, type##_##name},
#define ROWS_OF_SUMS(type, dtype, item, acc, squares, real)                                                                    \
    ROW(SUM, type, dtype, sum)                                                                                                 \
    ROW(PROD, type, dtype, prod)                                                                                               \
    ROW(SUMSQ, type, dtype, sumsq)                                                                                             \
    ROW(NRM2, type, dtype, nrm2)                                                                                               \
    ROW(MEAN, type, dtype, mean)                                                                                               \
    ROW(DOT, type, dtype, dot)
#define ROWS(type, dtype, item, acc, squares, real)                                                                            \
    ROW(MIN, type, dtype, min)                                                                                                 \
    ROW(MAX, type, dtype, max)                                                                                                 \
    ROW(NANMIN, type, dtype, min)                                                                                              \
    ROW(NANMAX, type, dtype, max)                                                                                              \
    ROW(AMAX, type, dtype, amax)                                                                                               \
    ROW(ANY, type, dtype, any)                                                                                                 \
    ROW(ALL, type, dtype, all)                                                                                                 \
    ROW(COUNT_NONZERO, type, dtype, count_nonzero)                                                                             \
    ROW(ASUM, type, dtype, asum)                                                                                               \
    ROW(VAR, type, dtype, var)                                                                                                 \
    ROW(STD, type, dtype, std)                                                                                                 \
    ROW(ARGMIN, type, dtype, argmin)                                                                                           \
    ROW(ARGMAX, type, dtype, argmax)                                                                                           \
    ROW(IAMAX, type, dtype, iamax)                                                                                             \
    ROW(MINMAX, type, dtype, minmax)                                                                                           \
    ROW(LOGSUMEXP, type, dtype, logsumexp)                                                                                     \
    ROW(DIST2, type, dtype, dist2)                                                                                             \
    ROW(ALLCLOSE, type, dtype, allclose)                                                                                       \
    ROW(DOTC, type, dtype, dot)
#define ROWS_OF_BITS(type, dtype, item, acc, squares, real)                                                                    \
    ROW(BAND, type, dtype, band)                                                                                               \
    ROW(BOR, type, dtype, bor)                                                                                                 \
    ROW(BXOR, type, dtype, bxor)
#define ROWS_OF_COMPLEX(type, dtype, item, acc, squares, real) ROW(DOTC, type, dtype, dotc) ROW(ASUM, type, dtype, asum)
static const row rows[] = {FLOATS(ROWS) FLOATS(ROWS_OF_SUMS) INTEGERS(ROWS) INTEGERS(ROWS_OF_SUMS) TRUTHS(ROWS)
                               TRUTHS(ROWS_OF_SUMS) INTEGERS(ROWS_OF_BITS) COMPLEX(ROWS_OF_SUMS) COMPLEX(ROWS_OF_COMPLEX)};

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
    if (input->device->device_class != TALLY_CLASS_CPU) return BENCH_ABSENT;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (rows[i].op != input->task->op || rows[i].in != input->in) continue;
        openmp_state *state = malloc(sizeof(*state));
        if (!state) return 1;
        *state = (openmp_state){input, rows[i].loop, 0, 0};
        *out = (bench_engine){.state = state, .run = run, .value = value, .close = free};
        return 0;
    }
    return BENCH_ABSENT;
}
