/* SPDX-License-Identifier: MIT */
/*
 * study.h: declarations shared by the files of `tally study`. The study runs its rows over the same
 * items on one or more devices. Rows are the variants of reductions or of scans, or kinds of maps
 * for gathers or scatters. A point is one row at one n. It is checked against the host before it is
 * timed, and only checked points have figures.
 */
#ifndef TALLY_STUDY_H
#define TALLY_STUDY_H

#include "tools/cli.h"

#define STUDY_FIRST_TREE "interleaved_modulo" /* document 003's "Reduction": the reference */
#define STUDY_GLOBAL_TREE "tree_global"       /* the two trees of document 002 */
#define STUDY_LOCAL_TREE "sequential"
#define STUDY_FACTORED "coarsened" /* of document 004; a group owns group x 2 x factor items */
#define STUDY_AUTO "auto"

/* Sizes of the sweep. */
#define STUDY_SWEEP_LEAST ((uint64_t)1 << 10)
#define STUDY_SWEEP_MOST ((uint64_t)1 << 26)
#define STUDY_MAX_FACTOR 256

typedef struct study_request {
    cli_primitive primitive;
    tally_op op; /* for reductions and scans */
    tally_dtype dtype;
    uint64_t n, sweep_n;          /* `sweep_n`: the largest of the sweep; 0: no sweep */
    uint32_t group, factor, runs; /* group and factor 0: the variant's */
    const char *variants;         /* names of the requested rows, "a,b"; NULL: all */
    const char *plot;             /* a file, or NULL */
    bool json, csv;
} study_request;

typedef enum study_state { STUDY_SKIPPED, STUDY_FAILED, STUDY_CHECKED } study_state;

typedef struct study_point {
    tally_variant_info variant; /* for maps: an entry in place of a variant */
    uint64_t n;
    uint32_t group, factor; /* 0: none */
    bool automatic;         /* the row that `auto` picks */
    study_state state;
    char text[512]; /* reason of a skip or failure */
    unsigned runs;
    double median, least, most; /* in seconds, by the device's clock */
} study_point;

typedef struct study_list {
    study_point *points;
    size_t count, room;
} study_list;

/* A device and its measurements. */
typedef struct study_device {
    char label[40]; /* opencl:0 */
    tally_device_info info;
    /* Bytes per second that the device reads from its memory, or copies in it: study_ceiling_of. */
    double ceiling;
    char automatic[64];
    study_list ladder;  /* every row at n */
    study_list small;   /* document 002: global and local tree alternate, by n */
    study_list sizes;   /* sweep: by row, then n */
    study_list factors; /* sweep: by factor */
} study_device;

/* ---- input.c: items and expected results ----------------------------------------------- */

typedef struct study_input study_input;

/* The memory that all rows use, with room for the largest n. */
typedef struct study_memory {
    const study_request *request;
    tally_context *context;
    tally_queue *queue;
    tally_buffer *in, *out, *map; /* `map` for gathers and scatters */
    unsigned char *got;           /* copy of `out` */
    study_input *input;           /* for reductions, scans and segments */
} study_memory;

/* Fills `buffer` with the items, and computes the results of their first n for each n of the list.
 * Reports an error and then returns NULL. */
study_input *study_input_create(const study_request *request, tally_queue *queue, tally_buffer *buffer, const uint64_t *sizes,
                                size_t count);
void study_input_destroy(study_input *input);
/* Returns the bytes of host memory that it keeps for inputs of up to n items. */
uint64_t study_input_bytes(const study_request *request, uint64_t n);
/* Checks the result of the first n items. A canonical variant must match the order v1. Others must
 * match a bound by tally_plan_depth. Unless it returns STUDY_CHECKED, `text` has the result and the
 * expected value. STUDY_SKIPPED means that no bound is known. */
study_state study_input_check(const study_input *input, uint64_t n, bool canonical, uint64_t depth, const void *result,
                              char *text, size_t bytes);
/* Checks the n values of an inclusive scan, of any variant. */
study_state study_input_check_values(const study_input *input, uint64_t n, uint64_t depth, const void *values, char *text,
                                     size_t bytes);

/* ---- moves.c: gathers and scatters, whose rows are known by their names ---------------- */

/* Returns false beyond the last row. */
bool study_moves_row(cli_primitive of, size_t index, tally_variant_info *out);
tally_status study_moves_plan(const study_memory *m, const char *row, uint64_t max_n, tally_plan **out);
tally_status study_moves_fill(const study_memory *m, uint64_t n); /* writes n items to m->in */
tally_status study_moves_map(const study_memory *m, const char *row, uint64_t n);
tally_status study_moves_run(const study_memory *m, tally_plan *plan, uint64_t n);
bool study_moves_check(const study_memory *m, const char *row, uint64_t n, char *text, size_t bytes);

/* ---- segments.c: rows and columns of several lengths, known by their names -------------- */

/* Returns false beyond the last row: no segment is longer than n. */
bool study_segments_row(uint64_t n, size_t index, tally_variant_info *out);
bool study_segments_are_rows(const char *row); /* or columns */
uint64_t study_segments_length(const char *row);
/* Returns the bytes read and written. */
uint64_t study_segments_bytes(const study_request *request, const char *row, uint64_t n);
tally_status study_segments_plan(const study_memory *m, uint64_t max_n, tally_plan **out);
tally_status study_segments_run(const study_memory *m, tally_plan *plan, const char *row, uint64_t n);
bool study_segments_check(const study_memory *m, const char *row, uint64_t n, char *text, size_t bytes);

/* ---- job.c: a row made ready to run ---------------------------------------------------- */

/* Gets row `index` of the study. Returns false beyond the last one. */
bool study_row_get(const study_request *request, size_t index, tally_variant_info *out);

/* Allocates the members of m for n items. The caller provides the request, the context and the
 * input. The caller always closes the memory. */
tally_status study_memory_open(study_memory *m, uint64_t n);
void study_memory_close(study_memory *m);

typedef struct study_job {
    const study_memory *on;
    const char *row;
    bool canonical;
    tally_plan *plan;  /* for reductions, scans and segments */
    tally_plan *moves; /* for a gather or scatter */
} study_job;

/* Opens a job. The caller always closes it. */
tally_status study_job_open(study_job *job, const study_memory *on, const tally_variant_info *row, uint32_t group,
                            uint32_t factor, uint64_t max_n);
void study_job_close(study_job *job);
/* Prepares everything that depends on n, except the run: the map. */
tally_status study_job_prepare(const study_job *job, uint64_t n);
tally_status study_job_run(const study_job *job, uint64_t n);
/* Checks the result, after another run if `run` is true. Unless it returns STUDY_CHECKED, `text`
 * has the reason. */
study_state study_job_check(const study_job *job, uint64_t n, bool run, char *text, size_t bytes);

/* ---- measure.c ------------------------------------------------------------------------- */

/* Measures everything on the selected device; NULL is the default. Returns CLI_FAILED if nothing
 * could be measured. Points that failed are in the lists. The caller always closes the device. */
cli_exit study_device_measure(const study_request *request, const char *selection, study_device *out);
void study_device_close(study_device *device);

/* ---- figures.c: derived figures -------------------------------------------------------- */

size_t study_item_bytes(const study_request *request);
/* Bytes of the output of n items. */
uint64_t study_out_bytes(const study_request *request, uint64_t n);
/* Returns the type of a map's entries, which is wide enough for the largest n. */
tally_dtype study_map_dtype(const study_request *request);
/* Returns the bytes read and written per second, or 0 for a point without figures. */
double study_speed(const study_request *request, const study_point *point);
/* Returns the groups for each compute unit, for variants whose groups own factor x 2 items per
 * thread. */
double study_groups_per_unit(const study_device *device, const study_point *point);

/* Speedups within the ladder. 0 means that there is no reference. */
typedef struct study_speedup {
    double step, cumulative, to_tree;
} study_speedup;
study_speedup study_speedup_of(const study_list *ladder, size_t index);

/* One or two sentences, or "". */
typedef struct study_text {
    char text[768];
} study_text;
study_text study_small_finding(const study_device *device);
study_text study_factor_finding(const study_request *request, const study_device *device);
/* Names the work: "sum of 12582912 f32", "scan by sum of ...", "gather of 12582912 f32 by i32
 * maps". With n = 0 it has no number. study_task adds the bytes. */
study_text study_what(const study_request *request, uint64_t n);
study_text study_task(const study_request *request);
/* The ceiling that speeds are compared with, in words: "read", "reads", and the place. */
typedef struct study_ceiling {
    const char *noun, *verb, *where;
} study_ceiling;
study_ceiling study_ceiling_of(const study_request *request);
/* Returns the word for a row: "variant" or "map". */
const char *study_row_word(const study_request *request);
/* Formats "37.53 ms". */
cli_value study_time_text(double seconds);
/* Formats "1.248 GB/s". */
cli_value study_speed_text(double bytes_per_second);
/* Formats "2026-11-21". */
cli_value study_date(void);

/* ---- print.c, data.c, plot.c ----------------------------------------------- */

void study_print(const study_request *request, const study_device *devices, size_t count);
void study_print_json(const study_request *request, const study_device *device);
void study_print_csv(const study_request *request, const study_device *devices, size_t count);
/* Writes the SVG file. Reports an error and then returns false. */
bool study_plot(const study_request *request, const study_device *devices, size_t count);

#endif
