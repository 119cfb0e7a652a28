/* SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L
#include <stdlib.h>
#include <time.h>

#include "bench.h"
#include "progress.h"

#define MAX_BLOCKS 101
#define BLOCK_SECONDS 0.02 /* of calls in a block: far above the clock's and the wait's own cost */
#define MAX_CALLS 10000

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static int timed(bench_engine *engine, int count, double *seconds) {
    const double begin = now();
    if (engine->run(engine->state, count)) return 1;
    *seconds = (now() - begin) / count;
    return 0;
}

static int ascending(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, int count) {
    qsort(values, (size_t)count, sizeof(*values), ascending);
    return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

/* How many calls make a block, by the second of two trial runs. */
static int calls_of_block(bench_engine *engine, int *out) {
    double seconds = 0;
    if (timed(engine, 1, &seconds) || timed(engine, 4, &seconds)) return 1;
    const double calls = BLOCK_SECONDS / seconds;
    *out = calls < 1 ? 1 : calls > MAX_CALLS ? MAX_CALLS : (int)calls;
    return 0;
}

/* How many calls one graph has: every copy, or a replay would find some in a cache. */
static int calls_of_graph(int calls, uint64_t copies) {
    return copies > 1 ? (int)copies : calls < 50 ? calls : 50;
}

static int time_blocks(bench_engine *engines, int engine_count, int blocks, uint64_t copies, bench_timing *out) {
    double wall[MAX_ENGINES][MAX_BLOCKS], gpu[MAX_ENGINES][MAX_BLOCKS];
    int calls[MAX_ENGINES];
    if (engine_count > MAX_ENGINES || blocks > MAX_BLOCKS) return 1;
    for (int e = 0; e < engine_count; e++)
        if (calls_of_block(&engines[e], &calls[e])) return 1;
    for (int block = 0; block < blocks; block++)
        for (int e = 0; e < engine_count; e++) {
            double warm_up;
            progress_update((uint64_t)(block * engine_count + e));
            if (timed(&engines[e], 1 + calls[e] / 4, &warm_up) || timed(&engines[e], calls[e], &wall[e][block])) return 1;
            if (!engines[e].gpu_seconds) continue;
            gpu[e][block] = engines[e].gpu_seconds(engines[e].state, calls_of_graph(calls[e], copies));
            if (gpu[e][block] < 0) return 1;
        }
    for (int e = 0; e < engine_count; e++) {
        out[e].seconds = median(wall[e], blocks);
        out[e].gpu_seconds = engines[e].gpu_seconds ? median(gpu[e], blocks) : 0;
    }
    return 0;
}

int measure(const char *what, bench_engine *engines, int engine_count, int blocks, uint64_t copies, bench_timing *out) {
    progress_begin(what, PROGRESS_STEPS, (uint64_t)(blocks * engine_count));
    const int failed = time_blocks(engines, engine_count, blocks, copies, out);
    progress_end();
    return failed;
}
