/* SPDX-License-Identifier: MIT */
/*
 * bench.h: what the benchmark's files share. An engine is one implementation of one case: ours or a peer's. All read the same memory,
 * are checked against the same known value, and are timed by the same code.
 */
#ifndef TALLY_BENCH_H
#define TALLY_BENCH_H

#include <stdint.h>

#include <tally/tally.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct bench_engine {
    const char *name; /* of peers: set by who opens them */
    void *state;
    /* Enqueues a reduction `count` times and waits for the last one. 0 when done; else it has said why on stderr. */
    int (*run)(void *state, int count);
    /* The last run's result. NaN: it could not be had. */
    double (*value)(void *state);
    /* The GPU's own time of one of `count` reductions, without the host's share; NULL where it cannot be had. Negative: failed. */
    double (*gpu_seconds)(void *state, int count);
    void (*close)(void *state);
} bench_engine;

/* A case, and its items: `copies` of the n items, one after another. */
typedef struct bench_input {
    tally_context *context;
    const tally_device_info *device;
    const void *host[2];
    tally_buffer *buffer[2]; /* the same items, on the device */
    tally_op op;
    tally_dtype in; /* f32, f64 or i32 */
    uint64_t n;
    uint64_t
        copies; /* 1: the caches keep what they can hold (warm); else each call takes the next copy, which none of them has (cold) */
} bench_input;

/* Where the items of an engine's next call begin, by its own count of calls. */
static inline uint64_t input_next(const bench_input *in, uint64_t *calls) {
    return (*calls)++ % in->copies * in->n;
}

/* Sizes are powers of two up to this. */
#define MAX_EXPONENT 30

/* input.c: whole numbers from -8 to 8, so that each partial sum of any order is exact; the first input (`which` 0) has one 9 and one -10, so
 * that extremes are at one place. `copies` of them. */
void input_fill(tally_dtype in, void *items, uint64_t n, uint64_t copies, int which);
/* What must come out; *tolerance: how far off it may be, where an order that is free rounds. */
double input_expected(const bench_input *input, double *tolerance);

/* Each opens its engine for the case: 0 when done, 1 with its reason on stderr, BENCH_ABSENT when it has nothing like it on that device. */
#define BENCH_ABSENT (-1)
int ours_open(const bench_input *input, bench_engine *out);
const char *ours_variant(const bench_engine *engine); /* what `auto` chose */
int openmp_open(const bench_input *input, bench_engine *out);
int cblas_open(const bench_input *input, bench_engine *out);
int clblast_open(const bench_input *input, bench_engine *out);
int compute_open(const bench_input *input, bench_engine *out);
int cub_open(const bench_input *input, bench_engine *out);
int thrust_open(const bench_input *input, bench_engine *out);
int cublas_open(const bench_input *input, bench_engine *out);

/* bench.c: all that there can be; they end with a NULL name. */
typedef struct bench_peer {
    const char *name;
    int (*open)(const bench_input *input, bench_engine *out); /* NULL: it was not there when this was built */
} bench_peer;
extern const bench_peer bench_peers[];

int openmp_threads(void);

/* peer_cuda.cu, only where TALLY_BENCH_CUDA is defined. */
struct CUstream_st;
int peer_stream_create(int device, struct CUstream_st **out);
void peer_stream_destroy(struct CUstream_st *stream);
/* The time of one of `count` calls of enqueue(state), replayed as a CUDA graph on the stream. Negative: failed. */
double peer_graph_seconds(struct CUstream_st *stream, int (*enqueue)(void *state), void *state, int count);

/* measure.c: medians over alternating blocks. */
typedef struct bench_timing {
    double seconds;     /* one call's wall time, back to back */
    double gpu_seconds; /* 0 when it cannot be had */
} bench_timing;

#define MAX_ENGINES 8
/* Each engine runs in blocks, in turns; the block after a change of engine starts with a warm-up, because the other one's cache
 * contents and its threads that still spin disturb. `what` is named while it goes on. 0 when done. */
int measure(const char *what, bench_engine *engines, int engine_count, int blocks, uint64_t copies, bench_timing *out);

/* report.c: a case and what its engines took, tally first. */
typedef struct bench_report {
    const bench_input *input;
    const char *variant;
    const char *names[MAX_ENGINES];
    bench_timing timings[MAX_ENGINES];
    int count, blocks;
    double read; /* bytes per second of a kernel that only reads as many bytes, in the same run; 0: too few for a ceiling */
} bench_report;

/* Bytes of input per second. */
uint64_t report_bytes(const bench_input *input);
double report_speed(const bench_input *input, const bench_timing *timing);
void report_heading(void);
void report_rows(const bench_report *report);
void report_json(const bench_report *report);

/* figure.c: what was reported, as an SVG. Each 0 when done; else it has said why on stderr. */
int figure_add(const bench_report *report);
int figure_write(const char *file, int blocks);

/* options.c: what the command line says. */
#define MAX_SIZES 31
typedef struct bench_options {
    const char *select, *ops, *types, *peers, *caches; /* lists; NULL: every device, every peer */
    int exponents[MAX_SIZES], size_count;
    int blocks;
    int json, bar;
    const char *plot; /* a file; NULL: none */
} bench_options;

extern const tally_op bench_ops[];      /* which there are; they end with 0 */
extern const tally_dtype bench_types[]; /* likewise */
/* Whether the list, of names with commas between them, has this one. */
int is_listed(const char *list, const char *name);
/* 0: go on; else the exit status + 1. */
int options_parse(int argc, char **argv, bench_options *options);

/* bars.c: the speeds that --bar asks for. */
typedef struct bench_totals {
    int cases, failed_cases, checked_bars, failed_bars;
} bench_totals;

/* Whether some bar is for the device; has this size there, of 2^exponent items. */
int bars_apply(const tally_device_info *device);
int bars_have(const tally_device_info *device, int exponent);
void bars_check(const bench_report *report, bench_totals *totals);

#ifdef __cplusplus
}
#endif

#endif
