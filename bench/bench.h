/* SPDX-License-Identifier: MIT */
/*
 * bench.h: what the benchmark's files share. An engine is one implementation of one case: ours or a peer's. All read the same memory,
 * are checked against the same known value, and are timed by the same code.
 */
#ifndef TALLY_BENCH_H
#define TALLY_BENCH_H

#include <stdint.h>
#include <stdio.h>

#include <tally/tally.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- what is measured ------------------------------------------------------------------------ */

typedef enum bench_primitive { BENCH_NONE, BENCH_REDUCE, BENCH_SCAN, BENCH_GATHER, BENCH_SCATTER, BENCH_END } bench_primitive;
typedef enum bench_map { MAP_NONE, MAP_IDENTITY, MAP_RANDOM, MAP_END } bench_map; /* of a gather or scatter: permutations */

/* The arrays of a case: its inputs, its map, and what comes out of all but reductions. */
enum { ARRAY_X, ARRAY_Y, ARRAY_MAP, ARRAY_OUT, ARRAYS };

/* A primitive with an operator, or by a map. */
typedef struct bench_task {
    bench_primitive primitive;
    tally_op op;
    bench_map map;
} bench_task;

typedef struct bench_engine {
    const char *name; /* of peers: set by who opens them */
    void *state;
    /* Enqueues a call `count` times and waits for the last one. 0 when done; else it has said why on stderr. */
    int (*run)(void *state, int count);
    /* The last reduction's result. NaN: it could not be had. Else NULL: what comes out is in ARRAY_OUT. */
    double (*value)(void *state);
    /* The GPU's own time of one of `count` calls, without the host's share; NULL where it cannot be had. Negative: failed. */
    double (*gpu_seconds)(void *state, int count);
    void (*close)(void *state);
} bench_engine;

/* A case, and its items: `copies` of the n items, one after another. */
typedef struct bench_input {
    tally_context *context;
    const tally_device_info *device;
    void *host[ARRAYS];
    tally_buffer
        *buffer[ARRAYS]; /* the same, on the device; NULL: of no use to any case. On a device with host_memory the host's own */
    const bench_task *task; /* in bench_tasks */
    tally_dtype in;         /* of a scan's values too */
    uint64_t n;
    uint64_t
        copies; /* 1: the caches keep what they can hold (warm); else each call takes the next copy, which none of them has (cold) */
} bench_input;

/* Where the items of an engine's next call begin, by its own count of calls. */
static inline uint64_t input_next(const bench_input *in, uint64_t *calls) {
    return (*calls)++ % in->copies * in->n;
}

static inline int is_f32_or_f64(tally_dtype type) {
    return type == TALLY_F32 || type == TALLY_F64;
}

/* A CPU whose threads see the arrays that the device has. */
static inline int is_host(const tally_device_info *device) {
    return device->device_class == TALLY_CLASS_CPU && device->host_memory;
}

/* ---- input.c: the items ---------------------------------------------------------------------- */

/* Whole: numbers of which each partial sum of any order is exact, and what must come out is known. Walk: whole numbers whose running sums
 * stay so small that every type holds them. Rounded: fractions, of f32 or f64, whose sums depend on the order, to compare devices; hardly two
 * are the same. */
typedef enum input_kind { INPUT_WHOLE, INPUT_WALK, INPUT_ROUNDED } input_kind;

/* The arrays on the host, and what they hold. The items of n are the first of those of any larger n: what is there is not made again. */
typedef struct input_items {
    void *host[ARRAYS];
    uint64_t bytes; /* room of each */
    input_kind kind;
    tally_dtype in;
    uint64_t period;    /* of copies; 0: there is one */
    uint64_t filled[2]; /* items */
    unsigned version;   /* another one when items that were there have changed */
    bench_map map;
    uint64_t map_n;
} input_items;

/* 0 when done; else errno says why not. */
int input_open(input_items *items, uint64_t bytes);
void input_close(input_items *items);
/* `copies` of n items, of the first input, or of both. */
void input_fill(input_items *items, input_kind kind, tally_dtype in, uint64_t n, uint64_t copies, int inputs);
/* The map of n u32 entries. */
void input_fill_map(input_items *items, bench_map map, uint64_t n);
/* What must come out of a reduction of whole numbers; *tolerance: how far off it may be, where an order that is free rounds. */
double input_expected(const bench_input *input, double *tolerance);
/* A result of one of the types that there are. */
double input_value(tally_dtype type, const void *value);

/* ---- output.c: what comes out of all but reductions ------------------------------------------ */

/* Writes what no call gives into ARRAY_OUT. Like those below 0 when done; else it has said why on stderr. */
int output_poison(const bench_input *input);
/* Whether every item is what the task makes of its inputs, of a scan those of INPUT_WALK; `is_copy`: what a copy does. */
int output_check(const bench_input *input, const char *engine, int is_copy);
/* The first item that is not, on the host; UINT64_MAX: there is none. */
uint64_t output_wrong(const bench_input *input, int is_copy);
/* A hash of all bytes. */
int output_hash(const bench_input *input, uint64_t *out);

/* ---- the engines ----------------------------------------------------------------------------- */

/* Each opens its engine for the case: 0 when done, 1 with its reason on stderr, BENCH_ABSENT when it has nothing like it on that device. */
#define BENCH_ABSENT (-1)
int ours_open(const bench_input *input, bench_engine *out);
const char *ours_variant(const bench_engine *engine); /* what `auto` chose */
/* The last reduction's result as it is: its bytes, 8 at most; 0: it could not be had. */
size_t ours_result(const bench_engine *engine, unsigned char *bytes);
int unchecked_open(const bench_input *input, bench_engine *out); /* tally with TALLY_UNCHECKED */
int openmp_open(const bench_input *input, bench_engine *out);
int openmp_scan_open(const bench_input *input, bench_engine *out);
int openmp_move_open(const bench_input *input, bench_engine *out); /* gathers and scatters */
int cblas_open(const bench_input *input, bench_engine *out);
int clblast_open(const bench_input *input, bench_engine *out);
int compute_open(const bench_input *input, bench_engine *out);
int compute_scan_open(const bench_input *input, bench_engine *out);
int compute_move_open(const bench_input *input, bench_engine *out);
int cub_open(const bench_input *input, bench_engine *out);
int cub_scan_open(const bench_input *input, bench_engine *out);
int thrust_open(const bench_input *input, bench_engine *out);
int thrust_move_open(const bench_input *input, bench_engine *out);
int cublas_open(const bench_input *input, bench_engine *out);

/* case.c: all that there can be; they end with a NULL name. */
typedef int engine_open(const bench_input *input, bench_engine *out);
typedef struct bench_peer {
    const char *name;
    engine_open *open[BENCH_END]; /* by primitive; NULL: it has none, or was not there when this was built */
} bench_peer;
extern const bench_peer bench_peers[];

/* A copy of ARRAY_X to ARRAY_OUT, the ceiling of what reads and writes: by the driver, on a CPU device by OpenMP's threads. */
engine_open openmp_copy_open, opencl_copy_open, cuda_copy_open;

int openmp_threads(void);

/* peer_cuda.cu, only where TALLY_BENCH_CUDA is defined. */
struct CUstream_st;
int peer_stream_create(int device, struct CUstream_st **out);
void peer_stream_destroy(struct CUstream_st *stream);
/* The time of one of `count` calls of enqueue(state), replayed as a CUDA graph on the stream. Negative: failed. */
double peer_graph_seconds(struct CUstream_st *stream, int (*enqueue)(void *state), void *state, int count);

/* ---- lists.c --------------------------------------------------------------------------------- */

#define PEER_READ "a kernel that only reads"
#define PEER_COPY "a copy"

typedef struct primitive_row {
    const char *name, *types; /* types: a list; NULL: all */
    unsigned arrays;          /* bits: 1 << ARRAY_X, ...; ARRAY_Y by the operator */
    input_kind kind;          /* of the items that it is timed on */
    const char *ceiling;      /* PEER_READ or PEER_COPY */
} primitive_row;
extern const primitive_row bench_primitives[BENCH_END];
extern const bench_task bench_tasks[];  /* which there are; they end with BENCH_NONE */
extern const tally_dtype bench_types[]; /* they end with 0 */
extern const char *const bench_maps[MAP_END];

/* The operator's or the map's name. */
const char *task_with(const bench_task *task);
/* "sum", "scan sum", "gather random". */
typedef struct task_text {
    char text[32];
} task_text;
task_text task_name(const bench_task *task);
/* The arrays that it takes, as bits; how many inputs these are. */
unsigned task_arrays(const bench_task *task);
int arrays_inputs(unsigned arrays);
/* Bytes of an array of n items, or entries. */
uint64_t array_bytes(int which, tally_dtype in, uint64_t n);

#define LEAST_ITEMS UINT64_C(4) /* the extremes need as many */
#define MOST_ITEMS (UINT64_C(1) << 32)
#define MAX_SIZES 64
typedef struct bench_sizes {
    uint64_t n[MAX_SIZES];
    int count;
} bench_sizes;

/* Whether the list, of names with commas between them, has this one; NULL is a list of all. */
int is_listed(const char *list, const char *name);
/* Adds the numbers of items that the text lists and are not there yet: "2^20,12M,1e6"
 * (tools/units.h). 0 when done. */
int sizes_add(bench_sizes *sizes, const char *text);
int sizes_have(const bench_sizes *sizes, uint64_t n);

/* ---- options.c: what the command line says --------------------------------------------------- */

#define LEAST_BLOCKS 7
#define MOST_BLOCKS 101
typedef struct bench_options {
    const char *select, *primitives, *ops, *maps, *types, *peers, *caches; /* lists; NULL: every device, primitive, ... */
    bench_sizes sizes;
    int blocks;
    int json, bar, bits;
    const char *plot; /* a file; NULL: none */
} bench_options;

/* 0: go on; else the exit status + 1. */
int options_parse(int argc, char **argv, bench_options *options);

/* ---- measure.c: medians over alternating blocks ---------------------------------------------- */

typedef struct bench_timing {
    double seconds;     /* one call's wall time, back to back */
    double gpu_seconds; /* 0 when it cannot be had */
} bench_timing;

#define MAX_ENGINES 8
/* Each engine runs in blocks, in turns; the block after a change of engine starts with a warm-up, because the other one's cache
 * contents and its threads that still spin disturb. `what` is named while it goes on. 0 when done. */
int measure(const char *what, bench_engine *engines, int engine_count, const bench_options *options, uint64_t copies,
            bench_timing *out);

/* ---- what was found -------------------------------------------------------------------------- */

/* A case and what its engines took, tally first. Of the input only what it is, not where. */
typedef struct bench_report {
    bench_input input;
    const char *variant;
    const char *names[MAX_ENGINES];
    bench_timing timings[MAX_ENGINES];
    int count, blocks;
    double ceiling; /* bytes per second of the primitive's, in the same run; 0: too few for one */
} bench_report;

/* The result of a rounded input; of a scan the hash of it. */
typedef struct bench_result {
    const tally_device_info *device;
    const bench_task *task;
    tally_dtype in;
    uint64_t n;
    size_t bytes;
    unsigned char value[8];
} bench_result;

/* All of a run. */
typedef struct bench_results {
    bench_report *reports;
    bench_result *results;
    size_t report_count, result_count;
} bench_results;

/* case.c: runs a case, reports and keeps what comes of it. 0 when done; else it has said why on stderr. */
int case_times(const bench_options *options, const bench_input *input, bench_results *results);
int case_bits(const bench_options *options, const bench_input *input, bench_results *results);

/* report.c: as rows of the table, or a JSON object a line. */
uint64_t report_bytes(const bench_input *input); /* read and written */
/* Names each device once. */
void report_heading(const tally_device_info *const *devices, int count);
void report_rows(const bench_report *report);
void report_json(const bench_report *report);
void report_result(const bench_result *result, int json);
void report_json_text(const char *key, const char *text);

/* figure.c: what was reported, as an SVG. Each 0 when done; else it has said why on stderr. */
int figure_add(const bench_report *report);
int figure_write(const char *file, int blocks);

/* bits.c: whether all devices that have the case of that result got the same bits; and how many they are. */
int bits_compare(const bench_results *all, const bench_result *of, int *devices);
/* Says which cases differ; their number. */
int bits_print(const bench_results *all, FILE *out);

/* ---- bars.c: what tally promises ------------------------------------------------------------- */

typedef enum bar_kind {
    BAR_TIMES,   /* at least `limit` times the speed of `peer` */
    BAR_WITHIN,  /* at most `limit` seconds more than `peer` */
    BAR_SECONDS, /* at most `limit` seconds */
    BAR_BITS     /* the results of rounded inputs have the same bits on all devices */
} bar_kind;

#define PEER_OURS "tally on CUDA" /* on the same GPU, in the same run */

/* One promise: for each of these operators (or maps), types and numbers of items, on each device whose name or platform has `where` in it. */
typedef struct bench_bar {
    const char *where, *backend; /* NULL: any */
    bench_primitive primitive;
    const char *ops, *types, *sizes; /* lists */
    bar_kind kind;
    double limit;
    const char *peer; /* an engine's name, PEER_OURS or the primitive's ceiling */
    int gpu;          /* by the GPU's clock; else the host's share is included */
    uint32_t units;   /* the most that the device may have; 0: any number */
} bench_bar;
extern const bench_bar bench_bars[]; /* they end with NULL ops */

/* Adds the numbers of items that the bars have, in order. */
void bars_sizes(bench_sizes *sizes);
/* Whether a bar wants that case (its bits, or its time); that peer in it (or ceiling). The numbers of cases and devices are small. */
int bars_need(const tally_device_info *device, int is_bits, const bench_task *task, tally_dtype in, uint64_t n);
int bars_need_peer(const bench_input *input, const char *peer);

/* What a run shows of a bar. */
typedef struct bar_verdict {
    int wanted, shown, failed; /* cases */
    int devices;               /* whose bits were compared, the fewest of a case */
    double worst;              /* times the peer's speed; seconds; of bits 0 or 1 */
    const bench_task *task;    /* where that is */
    tally_dtype in;
    uint64_t n;
} bar_verdict;
/* misses: where to write a line for each case that failed; NULL: nowhere. */
bar_verdict bars_judge(const bench_bar *bar, const tally_device_info *const *devices, int device_count,
                       const bench_results *results, FILE *misses);
/* A line for each bar; 0: none failed, and some case was shown. */
int bars_print(const tally_device_info *const *devices, int device_count, const bench_results *results, int json);
/* The bars as a table in Markdown. */
void bars_print_table(FILE *out);

#ifdef __cplusplus
}
#endif

#endif
