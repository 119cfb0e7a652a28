/* SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L
#include <stdlib.h>
#include <time.h>

#include "bench.h"
#include "tools/print/progress.h"

#define MAX_CALLS 10000
#define MAX_GRAPH 200 /* calls; more are slow to instantiate, and the clock needs no more */

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

/* Finds the number of calls in a block, by the second of two trial runs, and the number of warm-up
 * calls. A call so long that it is a block alone needs no warm-up: it outlasts the disturbance at
 * its beginning. */
static int calls_of_block(bench_engine *engine, double block_seconds, int *out, int *warm_up) {
    double seconds = 0;
    if (timed(engine, 1, &seconds)) return 1;
    if (seconds < 5 * block_seconds && timed(engine, 4, &seconds)) return 1;
    const double calls = block_seconds / seconds;
    *out = calls < 1 ? 1 : calls > MAX_CALLS ? MAX_CALLS : (int)calls;
    *warm_up = calls < 0.2 ? 0 : 1 + *out / 4;
    return 0;
}

/* Returns the calls of one graph. Cold calls need every copy, or a replay would find some in a
 * cache. */
static int calls_of_graph(int calls, uint64_t copies) {
    return copies > 1 ? (int)copies : calls < MAX_GRAPH ? calls : MAX_GRAPH;
}

static int time_blocks(const char *what, bench_engine *engines, int engine_count, const bench_options *options, uint64_t copies,
                       bench_timing *out) {
    double wall[MAX_ENGINES][MOST_BLOCKS], gpu[MAX_ENGINES][MOST_BLOCKS], unused;
    int calls[MAX_ENGINES], warm_up[MAX_ENGINES];
    if (engine_count > MAX_ENGINES || options->blocks > MOST_BLOCKS) return 1;
    for (int e = 0; e < engine_count; e++)
        if (calls_of_block(&engines[e], options->block_seconds, &calls[e], &warm_up[e])) return 1;
    for (int block = 0; block < options->blocks; block++)
        for (int e = 0; e < engine_count; e++) {
            if (what) progress_update((uint64_t)(block * engine_count + e));
            const int is_change = engine_count > 1 || !block;
            if (is_change && warm_up[e] && timed(&engines[e], warm_up[e], &unused)) return 1;
            if (timed(&engines[e], calls[e], &wall[e][block])) return 1;
            if (!engines[e].gpu_seconds) continue;
            gpu[e][block] = engines[e].gpu_seconds(engines[e].state, calls_of_graph(calls[e], copies));
            if (gpu[e][block] < 0) return 1;
        }
    for (int e = 0; e < engine_count; e++) {
        out[e].seconds = median(wall[e], options->blocks);
        out[e].gpu_seconds = engines[e].gpu_seconds ? median(gpu[e], options->blocks) : 0;
    }
    return 0;
}

int measure(const char *what, bench_engine *engines, int engine_count, const bench_options *options, uint64_t copies,
            bench_timing *out) {
    if (what) progress_begin(what, PROGRESS_STEPS, (uint64_t)(options->blocks * engine_count));
    const int failed = time_blocks(what, engines, engine_count, options, copies, out);
    if (what) progress_end();
    return failed;
}
