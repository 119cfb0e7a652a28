/* SPDX-License-Identifier: MIT */
/* The items that every engine reduces. Compiled with OpenMP where it is there: the pages are then touched by all cores. */
#include <math.h>

#include "bench.h"

#define LARGEST 9
#define SMALLEST (-10)

static int item(uint64_t i, int which) {
    const uint64_t hash = (i + (uint64_t)which * 12345) * UINT64_C(0x9e3779b97f4a7c15); /* Knuth's multiplicative hash */
    return (int)((hash >> 40) % 17) - 8;
}

static uint64_t place_of_largest(uint64_t n) {
    return n / 3;
}

static uint64_t place_of_smallest(uint64_t n) {
    return 2 * n / 3;
}

static void put(tally_dtype in, void *items, uint64_t i, int value) {
    if (in == TALLY_F64)
        ((double *)items)[i] = value;
    else if (in == TALLY_F32)
        ((float *)items)[i] = (float)value;
    else
        ((int32_t *)items)[i] = value;
}

static int item_of_first(uint64_t i, uint64_t n) {
    return i == place_of_smallest(n) ? SMALLEST : i == place_of_largest(n) ? LARGEST : item(i, 0);
}

void input_fill(tally_dtype in, void *items, uint64_t n, uint64_t copies, int which) {
#pragma omp parallel for schedule(static)
    for (uint64_t i = 0; i < n * copies; i++) put(in, items, i, which ? item(i % n, which) : item_of_first(i % n, n));
}

double input_expected(const bench_input *input, double *tolerance) {
    const uint64_t n = input->n;
    int64_t sum = 0, magnitudes = 0, squares = 0, products = 0;
#pragma omp parallel for schedule(static) reduction(+ : sum, magnitudes, squares, products)
    for (uint64_t i = 0; i < n; i++) {
        const int x = item_of_first(i, n), y = item(i, 1);
        sum += x;
        magnitudes += x < 0 ? -x : x;
        squares += x * x;
        products += x * y;
    }
    *tolerance = 0;
    switch ((int)input->op) {
    case TALLY_SUM:
        return (double)sum;
    case TALLY_MIN:
        return SMALLEST;
    case TALLY_MAX:
        return LARGEST;
    case TALLY_AMAX:
        return -SMALLEST;
    case TALLY_ARGMIN:
    case TALLY_IAMAX:
        return (double)place_of_smallest(n);
    case TALLY_ARGMAX:
        return (double)place_of_largest(n);
    }
    /* Large sums of f32 are rounded, by some engines in one accumulator a thread. */
    *tolerance = 1e-3 * (input->op == TALLY_DOT ? (double)squares : 1);
    switch ((int)input->op) {
    case TALLY_ASUM:
        *tolerance *= (double)magnitudes;
        return (double)magnitudes;
    case TALLY_SUMSQ:
        *tolerance *= (double)squares;
        return (double)squares;
    case TALLY_NRM2:
        *tolerance *= sqrt((double)squares);
        return sqrt((double)squares);
    case TALLY_DOT:
        return (double)products;
    }
    return (double)NAN;
}
