/* SPDX-License-Identifier: MIT */
/*
 * segments_openmp.c: the peer of segments on CPUs, a loop for each shape. It is compiled like
 * openmp.c. Loops over short rows and columns know their length.
 */
#include <string.h>

#include "bench/peers/segments_openmp.h"

#define TEXT(...) #__VA_ARGS__
#define PRAGMA(...) _Pragma(TEXT(__VA_ARGS__))

/* SHORT_ROWS(n) and SHORT_COLUMNS(n) make the loops for segments of n items. */
#define SHORT_ROWS(n)                                                                                                          \
    static void sum_rows_##n(const float *restrict x, uint64_t rows, float *restrict out) {                                    \
        PRAGMA(omp parallel for simd schedule(static))                                                                         \
        for (uint64_t i = 0; i < rows; i++) {                                                                                  \
            float sum = 0;                                                                                                     \
            for (int j = 0; j < (n); j++) sum += x[i * (n) + j];                                                               \
            out[i] = sum;                                                                                                      \
        }                                                                                                                      \
    }
#define SHORT_COLUMNS(n)                                                                                                       \
    static void sum_columns_##n(const float *restrict x, uint64_t columns, float *restrict out) {                              \
        PRAGMA(omp parallel for simd schedule(static))                                                                         \
        for (uint64_t j = 0; j < columns; j++) {                                                                               \
            float sum = 0;                                                                                                     \
            for (int i = 0; i < (n); i++) sum += x[i * columns + j];                                                           \
            out[j] = sum;                                                                                                      \
        }                                                                                                                      \
    }
SHORT_ROWS(4)
SHORT_ROWS(32)
SHORT_COLUMNS(4)

/* Each row in vectors. */
static void sum_rows(const float *restrict x, uint64_t rows, uint64_t n, float *restrict out) {
#pragma omp parallel for schedule(static)
    for (uint64_t i = 0; i < rows; i++) {
        const float *row = x + i * n;
        float sum = 0;
#pragma omp simd reduction(+ : sum)
        for (uint64_t j = 0; j < n; j++) sum += row[j];
        out[i] = sum;
    }
}

/* Each thread takes slabs of columns, row by row; the slab's sums stay in its first cache. */
#define SLAB 256
static void sum_columns(const float *restrict x, uint64_t n, uint64_t columns, float *restrict out) {
#pragma omp parallel for schedule(dynamic)
    for (uint64_t first = 0; first < columns; first += SLAB) {
        const uint64_t width = columns - first < SLAB ? columns - first : SLAB;
        float sums[SLAB] = {0};
        for (uint64_t i = 0; i < n; i++) {
            const float *row = x + i * columns + first;
            for (uint64_t j = 0; j < width; j++) sums[j] += row[j];
        }
        memcpy(out + first, sums, width * sizeof(float));
    }
}

void openmp_sum_rows(const float *x, uint64_t rows, uint64_t n, float *out) {
    if (n == 4)
        sum_rows_4(x, rows, out);
    else if (n == 32)
        sum_rows_32(x, rows, out);
    else
        sum_rows(x, rows, n, out);
}

void openmp_sum_columns(const float *x, uint64_t n, uint64_t columns, float *out) {
    if (n == 4)
        sum_columns_4(x, columns, out);
    else
        sum_columns(x, n, columns, out);
}
