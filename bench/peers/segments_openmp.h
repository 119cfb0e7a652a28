/* SPDX-License-Identifier: MIT */
/* segments_openmp.h: sums of rows and columns of f32 as a C programmer writes them. */
#ifndef TALLY_BENCH_SEGMENTS_OPENMP_H
#define TALLY_BENCH_SEGMENTS_OPENMP_H

#include <stdint.h>

/* Sums each of `rows` rows of n items. */
void openmp_sum_rows(const float *x, uint64_t rows, uint64_t n, float *out);
/* Sums each of `columns` columns of n items, which are `columns` items apart. */
void openmp_sum_columns(const float *x, uint64_t n, uint64_t columns, float *out);

#endif
