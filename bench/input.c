/* SPDX-License-Identifier: MIT */
/* The items that every engine reduces. Compiled with OpenMP where it is there: the pages are then touched by all cores. */
#include "bench.h"

void input_fill(float *items, uint64_t n) {
#pragma omp parallel for schedule(static)
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t hash = i * UINT64_C(0x9e3779b97f4a7c15); /* Knuth's multiplicative hash */
        items[i] = (float)((int)((hash >> 40) % 17) - 8);
    }
}

float input_sum(const float *items, uint64_t n) {
    int64_t sum = 0;
#pragma omp parallel for schedule(static) reduction(+ : sum)
    for (uint64_t i = 0; i < n; i++) sum += (int64_t)items[i];
    return (float)sum;
}
