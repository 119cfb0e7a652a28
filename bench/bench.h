/* SPDX-License-Identifier: MIT */
/*
 * bench.h: declarations shared by the benchmark's files. An engine is one implementation of one
 * case, ours or a peer's. All engines read the same memory, are checked against the same known
 * value, and are timed by the same code.
 */
#ifndef TALLY_BENCH_H
#define TALLY_BENCH_H

#include <stdint.h>
#include <stdio.h>

#include <tally/tally.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- tasks, engines and cases ---------------------------------------------------------------- */

typedef enum bench_primitive {
    BENCH_NONE,
    BENCH_REDUCE,
    BENCH_SCAN,
    BENCH_GATHER,
    BENCH_SCATTER,
    BENCH_SEGMENTS,
    BENCH_END
} bench_primitive;
/* Maps of a gather or scatter: permutations. */
typedef enum bench_map { MAP_NONE, MAP_IDENTITY, MAP_RANDOM, MAP_END } bench_map;

/* The arrays of a case: its inputs, its map, and the output of all primitives but reductions. */
enum { ARRAY_X, ARRAY_Y, ARRAY_MAP, ARRAY_OUT, ARRAYS };

/* A task is a primitive with an operator, or with a map. */
typedef struct bench_task {
    bench_primitive primitive;
    tally_op op;
    bench_map map;
} bench_task;

typedef struct bench_engine {
    const char *name; /* of a peer: set by the caller that opens it */
    void *state;
    /* Enqueues a call `count` times and waits for the last one. Returns 0 when done; otherwise it
     * has reported the error on stderr. */
    int (*run)(void *state, int count);
    /* Returns the last reduction's result, or NaN on failure. NULL: the output is in ARRAY_OUT. */
    double (*value)(void *state);
    /* Returns the GPU's own time of one of `count` calls, without the host's share; negative on
     * failure. NULL: the time is not available. */
    double (*gpu_seconds)(void *state, int count);
    void (*close)(void *state);
} bench_engine;

/* A case and its items: `copies` copies of the n items, one after another. */
typedef struct bench_input {
    tally_context *context;
    const tally_device_info *device;
    void *host[ARRAYS];
    /* The arrays on the device. NULL: no case uses the array. With host_memory, the host's own. */
    tally_buffer *buffer[ARRAYS];
    const bench_task *task; /* in bench_tasks() */
    tally_dtype in;         /* a scan's values have it too */
    uint64_t n;
    /* 1: warm, the caches keep as much as they hold. More: cold, each call takes the next copy,
     * which is in no cache. */
    uint64_t copies;
    const struct bench_segments *segments; /* of BENCH_SEGMENTS, and of forms (segments.h) */
    const struct bench_form *form;         /* of a cell of a grid; NULL: whole arrays (forms.h) */
    uint64_t bytes;                        /* what a call of a form reads and writes */
} bench_input;

/* Returns the first item of an engine's next call, by the engine's count of calls. */
static inline uint64_t input_next(const bench_input *in, uint64_t *calls) {
    return (*calls)++ % in->copies * in->n;
}

static inline int is_f32_or_f64(tally_dtype type) {
    return type == TALLY_F32 || type == TALLY_F64;
}

/* Returns true for a CPU, whose threads see the same arrays as the device. */
static inline int is_host(const tally_device_info *device) {
    return device->device_class == TALLY_CLASS_CPU && device->host_memory;
}

/* ---- input.c: the items ---------------------------------------------------------------------- */

/* Kinds of items. INPUT_WHOLE: numbers whose partials are exact in any order, with a known result.
 * INPUT_WALK: whole numbers whose running sums are small enough for every type. INPUT_ROUNDED:
 * fractions of f32 or f64, hardly two of them equal. Their sums depend on the order, which compares
 * devices. */
typedef enum input_kind { INPUT_WHOLE, INPUT_WALK, INPUT_ROUNDED } input_kind;

/* The arrays on the host and their contents. The items of n are the first items of any larger n, so
 * existing items are not made again. */
typedef struct input_items {
    void *host[ARRAYS];
    uint64_t bytes; /* size of each array */
    input_kind kind;
    tally_dtype in;
    uint64_t period;    /* distance of copies, in items; 0: one copy */
    uint64_t filled[2]; /* items made */
    unsigned version;   /* changes when existing items change */
    bench_map map;
    uint64_t map_n;
} input_items;

/* Returns 0 when done; otherwise errno has the reason. */
int input_open(input_items *items, uint64_t bytes);
void input_close(input_items *items);
/* Makes `copies` copies of n items, for the first input or for both. */
void input_fill(input_items *items, input_kind kind, tally_dtype in, uint64_t n, uint64_t copies, int inputs);
/* Makes the map of n u32 entries. */
void input_fill_map(input_items *items, bench_map map, uint64_t n);
/* Returns true if input_expected has the result of the reduction: of those that peers offer too.
 * expect.c has the others. */
int input_is_known(const bench_input *input);
/* Returns the expected result of a reduction of whole numbers. *tolerance is the largest allowed
 * error, for ops whose order is free and rounds. */
double input_expected(const bench_input *input, double *tolerance);
/* Reads a result of any type. */
double input_value(tally_dtype type, const void *value);

/* ---- expect.c: the oracle's results ---------------------------------------------------------- */

/* Computes the expected results of all these reductions of the first n items, which the host has.
 * Threads share out the tasks and the blocks of items; equal blocks are reduced once. The results
 * are kept until the type or n changes. Returns 0 when done. */
int expect_all(const bench_input *input, const bench_task *const *tasks, int count);
/* Returns the bytes of a result that was computed last for the task. */
const void *expect_result_of(const bench_task *task);
/* Returns true if a result of `bytes` bytes is the one that the oracle expects. A result that
 * rounds may be off by 1e-4 of its largest part. Reports any other. */
int is_expected(const bench_input *input, const char *engine, const void *value, size_t bytes);
/* The same for a peer's value, which is a double. */
int is_near_expected(const bench_input *input, const char *engine, double found);

/* ---- output.c: outputs of all primitives but reductions -------------------------------------- */

/* Fills ARRAY_OUT with a value that no call gives. Like the functions below, returns 0 when done;
 * otherwise it has reported the error on stderr. */
int output_poison(const bench_input *input);
/* Checks that every item is the task's result for its inputs; a scan's input is INPUT_WALK.
 * `is_copy`: checks a copy instead. */
int output_check(const bench_input *input, const char *engine, int is_copy);
/* Returns the first wrong item on the host, or UINT64_MAX if all are right. */
uint64_t output_wrong(const bench_input *input, int is_copy);
/* Computes a hash of all bytes. */
int output_hash(const bench_input *input, uint64_t *out);

/* ---- the engines ----------------------------------------------------------------------------- */

/* Functions that open an engine for the case. They return 0 when done, 1 with the reason on stderr,
 * or BENCH_ABSENT if the engine has no such case on that device. */
#define BENCH_ABSENT (-1)
int ours_open(const bench_input *input, bench_engine *out);
const char *ours_variant(const bench_engine *engine); /* the choice of `auto` */
#define RESULT_BYTES 32                               /* the most of any reduction */
/* Copies the bytes of the last reduction's result. Returns their number, or 0 on failure. */
size_t ours_result(const bench_engine *engine, unsigned char *bytes);
int unchecked_open(const bench_input *input, bench_engine *out); /* tally with TALLY_UNCHECKED */
int openmp_open(const bench_input *input, bench_engine *out);
int openmp_scan_open(const bench_input *input, bench_engine *out);
int openmp_move_open(const bench_input *input, bench_engine *out); /* for gathers and scatters */
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
int launch_open(const bench_input *input, bench_engine *out); /* PEER_LAUNCH */

/* case.c: all peers. A NULL name ends them. */
typedef int engine_open(const bench_input *input, bench_engine *out);
typedef struct bench_peer {
    const char *name;
    engine_open *open[BENCH_END]; /* by primitive; NULL: no such case, or not built in */
} bench_peer;
extern const bench_peer bench_peers[];

/* Copies ARRAY_X to ARRAY_OUT, the ceiling for primitives that read and write. The driver copies;
 * on a CPU device OpenMP's threads do. */
engine_open openmp_copy_open, opencl_copy_open, cuda_copy_open;

int openmp_threads(void);

/* bench/peers/cuda.cu, only if TALLY_BENCH_CUDA is defined. */
struct CUstream_st;
int peer_stream_create(int device, struct CUstream_st **out);
void peer_stream_destroy(struct CUstream_st *stream);
/* Returns the time of one of `count` calls of enqueue(state), replayed as a CUDA graph on the
 * stream. Negative on failure. */
double peer_graph_seconds(struct CUstream_st *stream, int (*enqueue)(void *state), void *state, int count);

/* ---- lists.c --------------------------------------------------------------------------------- */

/* Fewer bytes have no ceiling: they stay in a cache, or the time is that of the launch. */
#define LEAST_CEILING (UINT64_C(64) << 20)
#define PEER_READ "a kernel that only reads"
#define PEER_COPY "a copy"
#define PEER_LAUNCH "empty-kernel" /* which has no result to check */

typedef struct primitive_row {
    const char *name, *types; /* `types` is a list; NULL: all */
    unsigned arrays;          /* bits: 1 << ARRAY_X, ...; the operator adds ARRAY_Y */
    input_kind kind;          /* the items for its timing */
    const char *ceiling;      /* PEER_READ or PEER_COPY */
} primitive_row;
extern const primitive_row bench_primitives[BENCH_END];
/* Returns true if the task's ceiling is a copy. */
int is_copied(const bench_task *task);
/* Returns all tasks: reductions by every operator, in its order, and the others. BENCH_NONE ends
 * them. */
const bench_task *bench_tasks(void);
/* Returns true if there is such a task with items of this type. */
int task_takes(const bench_task *task, tally_dtype in);
extern const char *const bench_maps[MAP_END];

/* Returns the name of the operator or of the map. */
const char *task_with(const bench_task *task);
/* Names a task: "sum", "scan sum", "gather random". */
typedef struct task_text {
    char text[32];
} task_text;
task_text task_name(const bench_task *task);
/* Returns the task's arrays as bits, and the number of inputs among them. */
unsigned task_arrays(const bench_task *task);
int arrays_inputs(unsigned arrays);
/* Returns the bytes of an array of n items or entries. */
uint64_t array_bytes(int which, tally_dtype in, uint64_t n);

#define LEAST_ITEMS UINT64_C(4) /* the extremes need 4 */
#define MOST_ITEMS (UINT64_C(1) << 32)
#define LEAST_BYTES UINT64_C(64) /* 4 items of the widest type */
#define MOST_BYTES MOST_ITEMS    /* as many items of the narrowest */
#define MAX_SIZES 64
typedef struct bench_sizes {
    uint64_t n[MAX_SIZES];
    int count;
} bench_sizes;

/* Returns true if the list, names with commas between them, has this name. NULL is a list of
 * all. */
int is_listed(const char *list, const char *name);
/* Adds the numbers of items in the text that are not in the list yet: "2^20,12M,1e6"
 * (tools/print/units.h). Returns 0 when done. */
int sizes_add(bench_sizes *sizes, const char *text);
int sizes_have(const bench_sizes *sizes, uint64_t n);

/* ---- options.c: the command line ------------------------------------------------------------- */

#define LEAST_BLOCKS 7
#define MOST_BLOCKS 101
#define BLOCK_SECONDS 0.02
#define GRID_BLOCK_SECONDS 0.005 /* a grid has hundreds of cells, and calls of 0.05 ms and more */
#define MOST_SECONDS 86400
typedef struct bench_options {
    /* Lists. NULL: every device, primitive, ... */
    const char *select, *primitives, *ops, *maps, *types, *peers, *caches, *cases;
    const char *forms; /* of a grid, a list; NULL: whole arrays alone */
    bench_sizes sizes;
    int has_sizes;    /* sizes were given */
    int has_segments; /* the cases of segments are asked for */
    int blocks;
    double block_seconds; /* of a block's calls: far above the cost of clock and wait */
    int json, bar, bits, progress;
    int grid, compile; /* compile: print the seconds of compiling too */
    uint64_t bytes;    /* of each input of a grid; 0: by the device's class, unless there are sizes */
    uint64_t seconds;  /* after which a grid ends with the cells it has; 0: no limit */
    const char *plot;  /* file; NULL: none */
} bench_options;

/* Returns 0 to go on; otherwise the exit status + 1. */
int options_parse(int argc, char **argv, bench_options *options);

/* ---- stop.c: the early end of a grid --------------------------------------------------------- */

/* From here on SIGINT, SIGTERM and the end of `seconds` (0: no limit) stop the run, between two
 * cells. The second signal ends the program. */
void stop_prepare(uint64_t seconds);
/* Returns the reason to stop, or NULL. */
const char *stop_reason(void);

/* ---- measure.c: medians over alternating blocks ---------------------------------------------- */

typedef struct bench_timing {
    double seconds;     /* wall time of one call, back to back */
    double gpu_seconds; /* 0: not available */
} bench_timing;

#define MAX_ENGINES 8
/* Times the engines. Each runs in blocks, in turns. A block after a change of engine starts with a
 * warm-up, as the other engine leaves its cache contents and threads that still spin. The progress
 * line has `what`; NULL: the caller has a line of its own. Returns 0 when done. */
int measure(const char *what, bench_engine *engines, int engine_count, const bench_options *options, uint64_t copies,
            bench_timing *out);

/* ---- measurements ---------------------------------------------------------------------------- */

/* A case and the times of its engines, tally first. The input's memory may be gone. */
typedef struct bench_report {
    bench_input input;
    const char *variant;
    const char *names[MAX_ENGINES];
    bench_timing timings[MAX_ENGINES];
    int count, blocks;
    /* Bytes per second of the primitive's ceiling in the same run. 0: too few items for one. */
    double ceiling;
} bench_report;

/* The result for a rounded input, or its hash for a scan. */
typedef struct bench_result {
    const tally_device_info *device;
    const bench_task *task;
    tally_dtype in;
    uint64_t n;
    size_t bytes;
    unsigned char value[RESULT_BYTES];
} bench_result;

/* A plan of a grid, and how long its making and its first call took. */
typedef struct bench_compile {
    const tally_device_info *device;
    tally_context *context;
    const struct bench_form *form; /* NULL: the whole array */
    const bench_task *task;
    tally_dtype in;
    uint64_t n;
    tally_status status;
    double plan_seconds, call_seconds;
} bench_compile;

/* All results of a run. */
typedef struct bench_results {
    bench_report *reports;
    bench_result *results;
    bench_compile *compiles; /* of a grid */
    size_t report_count, result_count, compile_count;
    double compile_seconds; /* wall time of all compiles */
    int compile_threads;
    uint64_t cells_done; /* of a grid */
    const char *stopped; /* the reason for cells that were left out; NULL: none were */
} bench_results;

/* stop.c: returns true if the grid is to leave out its other cells, and keeps the reason. */
int is_stopped(bench_results *results);

/* bench.c: memory of a case. The host's array is used in place if the device reads host memory. */
tally_status bench_open_buffer(bench_input *input, int which, uint64_t bytes);
/* Returns true if the device has room for an array of so many bytes. */
int bench_fits(const tally_device_info *device, uint64_t bytes);
/* The part of the items and of the map that a device already has. */
typedef struct sent_items {
    unsigned version;
    uint64_t bytes[2];
    bench_map map;
    uint64_t map_n;
} sent_items;
/* Sends the items of the inputs that the device does not have yet. */
tally_status bench_send_items(const input_items *items, bench_input *input, int inputs, sent_items *sent);
/* Copies bytes `from` to `to` - 1 of an array to the device. */
tally_status bench_send(bench_input *input, int which, uint64_t from, uint64_t to);

/* case.c: returns 0 if the result of one call is right. */
int case_check(const bench_input *input, bench_engine *engine, int is_ours);
/* Runs a case, and reports and keeps its outcome. Returns 0 when done; otherwise it has
 * reported the error on stderr. */
int case_times(const bench_options *options, const bench_input *input, bench_results *results);
int case_bits(const bench_options *options, const bench_input *input, bench_results *results);
/* Measures the bytes per second of the ceiling of the input's primitive. */
int measure_ceiling(const bench_options *options, const bench_input *input, double *out);
int keep_report(bench_results *all, const bench_report *report);

/* report.c: prints rows of the table, or a JSON object a line. */
uint64_t report_bytes(const bench_input *input); /* read and written */
/* Prints each device's name once. */
void report_heading(const tally_device_info *const *devices, int count);
void report_rows(const bench_report *report);
/* `compile`: of a cell of a grid, which also has its share; NULL: of no grid. */
void report_json(const bench_report *report, const bench_compile *compile);
void report_result(const bench_result *result, int json);
void report_json_text(const char *key, const char *text);

/* compile.c: the plans of a grid. compile_add and compile_all return 0 when done; otherwise they
 * have reported the error on stderr. */
int compile_add(bench_results *results, const bench_compile *compile);
/* Makes all plans that were added, on up to `threads` threads at once, until there is a reason to
 * stop. */
int compile_all(bench_results *results, int threads);
/* Returns the compile of a case, or NULL if the run is no grid. */
const bench_compile *compile_find(const bench_results *results, const bench_input *input);

/* figure.c: draws the reports as SVG. Returns 0 when done; otherwise it has reported the error on
 * stderr. */
int figure_add(const bench_report *report);
int figure_write(const char *file, int blocks);

/* bits.c: returns true if all devices with the case of that result have the same bits. *devices is
 * their number. */
int bits_compare(const bench_results *all, const bench_result *of, int *devices);
/* Prints the cases that differ. Returns their number. */
int bits_print(const bench_results *all, FILE *out);

/* ---- bars.c: tally's promises ---------------------------------------------------------------- */

typedef enum bar_kind {
    BAR_TIMES,   /* at least `limit` times the speed of `peer` */
    BAR_WITHIN,  /* at most `limit` seconds more than `peer` */
    BAR_SECONDS, /* at most `limit` seconds */
    BAR_BITS     /* results of rounded inputs have the same bits on all devices */
} bar_kind;

#define PEER_OURS "tally on CUDA" /* on the same GPU, in the same run */

/* A bar is one promise. It holds for each of these operators (or maps), types and numbers of items,
 * on each device that has `where` in its name or platform. */
typedef struct bench_bar {
    const char *where, *backend; /* NULL: any */
    bench_primitive primitive;
    const char *ops, *types, *sizes; /* lists */
    bar_kind kind;
    double limit;
    const char *peer; /* name of an engine, PEER_OURS, or the ceiling */
    int gpu;          /* GPU's clock; otherwise includes the host's share */
    uint32_t units;   /* most compute units of the device; 0: any number */
} bench_bar;
extern const bench_bar bench_bars[]; /* NULL ops end them */

/* Adds the bars' numbers of items in order. */
void bars_sizes(bench_sizes *sizes);
/* Return true if a bar needs the case (its bits or its time), or the peer or ceiling in it. A
 * search is fast enough, as there are few cases and devices. */
int bars_need(const tally_device_info *device, int is_bits, const bench_task *task, tally_dtype in, uint64_t n);
int bars_need_peer(const bench_input *input, const char *peer);

/* The verdict of a run on a bar. */
typedef struct bar_verdict {
    int wanted, shown, failed; /* cases */
    int devices;               /* devices whose bits were compared, the fewest of a case */
    double worst;              /* times the peer's speed; seconds; or 0 or 1 for bits */
    const bench_task *task;    /* the case of `worst` */
    tally_dtype in;
    uint64_t n;
} bar_verdict;
/* Judges a bar. `misses` gets a line for each case that failed; NULL: none. */
bar_verdict bars_judge(const bench_bar *bar, const tally_device_info *const *devices, int device_count,
                       const bench_results *results, FILE *misses);
/* Prints a line for each bar. Returns 0 if one passed and none failed. */
int bars_print(const tally_device_info *const *devices, int device_count, const bench_results *results, int json);
/* Prints the bars as a table in Markdown. */
void bars_print_table(FILE *out);

#ifdef __cplusplus
}
#endif

#endif
