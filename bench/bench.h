/* SPDX-License-Identifier: MIT */
/*
 * bench.h: what the benchmark's files share. An engine is one implementation of one case: ours or a peer's. Both read the same
 * memory, are checked against the same known value, and are timed by the same code.
 */
#ifndef TALLY_BENCH_H
#define TALLY_BENCH_H

#include <stdint.h>

#include <tally/tally.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct bench_engine {
    const char *name;
    void *state;
    /* Enqueues a reduction `count` times and waits for the last one. 0 when done; else it has said why on stderr. */
    int (*run)(void *state, int count);
    /* The last run's result. */
    float (*value)(void *state);
    /* The GPU's own time of one of `count` reductions, without the host's share; NULL where it cannot be had. Negative: failed. */
    double (*gpu_seconds)(void *state, int count);
    void (*close)(void *state);
} bench_engine;

/* The items of every case: integers from -8 to 8 in f32, so that each partial sum of any order is exact and all engines must
 * give the same value, which must be the known one. */
typedef struct bench_input {
    tally_context *context;
    const float *host;
    tally_buffer *buffer; /* the same items, on the device */
    uint64_t n;
} bench_input;

/* Sizes are powers of two up to this. */
#define MAX_EXPONENT 30

/* input.c */
void input_fill(float *items, uint64_t n);
float input_sum(const float *items, uint64_t n);

/* ours.c. Each opens one engine; 0 when done, 1 with its reason on stderr. */
int ours_open(const bench_input *input, const tally_device_info *device, bench_engine *out);

/* peer_openmp.c */
int openmp_open(const bench_input *input, bench_engine *out);
int openmp_threads(void);

/* peer_cub.cu, only where TALLY_BENCH_CUB is defined. */
struct CUstream_st;
int cub_open(const bench_input *input, int device, bench_engine *out);
int cub_stream_create(int device, struct CUstream_st **out);
void cub_stream_destroy(struct CUstream_st *stream);
/* The time of one of `count` calls of enqueue(state), replayed as a CUDA graph on the stream. Negative: failed. */
double cub_graph_seconds(struct CUstream_st *stream, int (*enqueue)(void *state), void *state, int count);

/* measure.c: medians over alternating blocks. */
typedef struct bench_timing {
    double seconds;     /* one call's wall time, back to back */
    double gpu_seconds; /* 0 when it cannot be had */
} bench_timing;

/* Each engine runs in blocks, in turns; the block after a change of engine starts with a warm-up, because the other one's cache
 * contents and its threads that still spin disturb. 0 when done. */
int measure(bench_engine *engines, int engine_count, int blocks, bench_timing *out);

/* report.c */
typedef struct bench_report {
    const tally_device_info *device;
    const char *variant, *peer; /* peer NULL: none */
    uint64_t n;
    bench_timing ours, theirs;
} bench_report;

/* Bytes read per second. */
double report_speed(uint64_t n, const bench_timing *timing);
void report_heading(void);
void report_row(const bench_report *report);
void report_json(const bench_report *report, int blocks);

#ifdef __cplusplus
}
#endif

#endif
