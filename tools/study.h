/* SPDX-License-Identifier: MIT */
/*
 * study.h: what the files of `tally study` share. The study runs its rows over the same items on one or more devices: the variants of reductions
 * or of scans, or gathers or scatters by maps of several kinds. A point is one row at one n; it is checked against the host before it is timed,
 * and only checked points have figures.
 */
#ifndef TALLY_STUDY_H
#define TALLY_STUDY_H

#include "cli.h"

#define STUDY_FIRST_TREE "interleaved_modulo" /* document 003's "Reduction", which its last column compares with */
#define STUDY_GLOBAL_TREE "tree_global"       /* document 002's two */
#define STUDY_LOCAL_TREE "sequential"
#define STUDY_FACTORED "coarsened" /* document 004's; a group owns group x 2 x factor items */
#define STUDY_AUTO "auto"

/* Sizes of the sweep. */
#define STUDY_SWEEP_LEAST ((uint64_t)1 << 10)
#define STUDY_SWEEP_MOST ((uint64_t)1 << 26)
#define STUDY_MAX_FACTOR 256

typedef struct study_request {
    cli_primitive primitive;
    tally_op op; /* of reductions and scans */
    tally_dtype dtype;
    uint64_t n, sweep_n;          /* sweep_n: the largest of the sweep; 0: none is wanted */
    uint32_t group, factor, runs; /* group and factor 0: the variant's */
    const char *variants;         /* the names of rows asked for, "a,b"; NULL: all */
    const char *plot;             /* a file, or NULL */
    bool json, csv;
} study_request;

typedef enum study_state { STUDY_SKIPPED, STUDY_FAILED, STUDY_CHECKED } study_state;

typedef struct study_point {
    tally_variant_info variant; /* or what stands for one, of a map */
    uint64_t n;
    uint32_t group, factor; /* 0: there is none */
    bool automatic;         /* what `auto` picks */
    study_state state;
    char text[512]; /* why it was skipped, or how it failed */
    unsigned runs;
    double median, least, most; /* seconds, by the device's clock */
} study_point;

typedef struct study_list {
    study_point *points;
    size_t count, room;
} study_list;

/* A device and what was measured on it. */
typedef struct study_device {
    char label[40]; /* opencl:0 */
    tally_device_info info;
    double ceiling; /* bytes per second that the device reads from its memory, or copies there: study_ceiling_of */
    char automatic[64];
    study_list ladder;  /* every row at n */
    study_list small;   /* document 002: the global and the local tree in turn, by n */
    study_list sizes;   /* sweep: by row, then n */
    study_list factors; /* sweep: by factor */
} study_device;

/* ---- study_input.c: the items, and what they must give -------------------------------------------------------------- */

typedef struct study_input study_input;

/* What all rows work on, with room for the largest n. */
typedef struct study_memory {
    const study_request *request;
    tally_context *context;
    tally_queue *queue;
    tally_buffer *in, *out, *map; /* map: of gathers and scatters */
    unsigned char *got;           /* `out`, read back */
    study_input *input;           /* of reductions and scans */
} study_memory;

/* Fills `buffer` with the items and computes what their first n give, for each n of the list. NULL: it has reported why. */
study_input *study_input_create(const study_request *request, tally_queue *queue, tally_buffer *buffer, const uint64_t *sizes,
                                size_t count);
void study_input_destroy(study_input *input);
/* Bytes of host memory that it keeps for inputs of up to n items. */
uint64_t study_input_bytes(const study_request *request, uint64_t n);
/* Looks at the result of the first n items, of a canonical variant or by tally_plan_depth. If it is
 * not STUDY_CHECKED, `text` says what was got and expected; STUDY_SKIPPED: no bound is known, so
 * that it cannot be checked. */
study_state study_input_check(const study_input *input, uint64_t n, bool canonical, uint64_t depth, const void *result,
                              char *text, size_t bytes);
/* The same of the n values of an inclusive scan, of any variant. */
study_state study_input_check_values(const study_input *input, uint64_t n, uint64_t depth, const void *values, char *text,
                                     size_t bytes);

/* ---- study_moves.c: gathers and scatters, whose rows are known by their names ----------------------------------------- */

bool study_moves_row(cli_primitive of, size_t index, tally_variant_info *out); /* false beyond the last */
tally_status study_moves_plan(const study_memory *m, const char *row, uint64_t max_n, tally_plan **out);
tally_status study_moves_fill(const study_memory *m, uint64_t n); /* n items into m->in */
tally_status study_moves_map(const study_memory *m, const char *row, uint64_t n);
tally_status study_moves_run(const study_memory *m, tally_plan *plan, uint64_t n);
bool study_moves_check(const study_memory *m, const char *row, uint64_t n, char *text, size_t bytes);

/* ---- study_job.c: a row made ready to run --------------------------------------------------------------------------- */

/* Row `index` of what is studied; false beyond the last. */
bool study_row_get(const study_request *request, size_t index, tally_variant_info *out);

/* Takes all of m but its request, its context and its input, for n items; the caller closes it in any case. */
tally_status study_memory_open(study_memory *m, uint64_t n);
void study_memory_close(study_memory *m);

typedef struct study_job {
    const study_memory *on;
    const char *row;
    bool canonical;
    tally_plan *plan;  /* of a reduction or scan, */
    tally_plan *moves; /* or of a gather or scatter */
} study_job;

/* The caller closes it in any case. */
tally_status study_job_open(study_job *job, const study_memory *on, const tally_variant_info *row, uint32_t group,
                            uint32_t factor, uint64_t max_n);
void study_job_close(study_job *job);
/* Whatever depends on n but the run itself: the map. */
tally_status study_job_prepare(const study_job *job, uint64_t n);
tally_status study_job_run(const study_job *job, uint64_t n);
/* Looks at what it gives: of another run, or as it is there. If it is not STUDY_CHECKED, `text`
 * says why. */
study_state study_job_check(const study_job *job, uint64_t n, bool run, char *text, size_t bytes);

/* ---- study_measure.c ------------------------------------------------------------------------------------------------ */

/* Measures everything on the device of that selection (NULL: the default). CLI_FAILED: it could not be measured at all. Points that
 * failed are in the lists. The caller closes it in any case. */
cli_exit study_device_measure(const study_request *request, const char *selection, study_device *out);
void study_device_close(study_device *device);

/* ---- study_figures.c: what follows from the points ------------------------------------------------------------------ */

size_t study_item_bytes(const study_request *request);
/* The output of n items. */
uint64_t study_out_bytes(const study_request *request, uint64_t n);
/* The type of a map's entries: wide enough for the largest n. */
tally_dtype study_map_dtype(const study_request *request);
/* Bytes read and written per second; 0 for a point without figures. */
double study_speed(const study_request *request, const study_point *point);
/* Groups for each compute unit: of variants whose groups own a segment of factor x 2 items per item. */
double study_groups_per_unit(const study_device *device, const study_point *point);

/* Speedups within the ladder; 0: there is nothing to compare with. */
typedef struct study_speedup {
    double step, cumulative, to_tree;
} study_speedup;
study_speedup study_speedup_of(const study_list *ladder, size_t index);

/* One or two sentences for a person, or "". */
typedef struct study_text {
    char text[768];
} study_text;
study_text study_small_finding(const study_device *device);
study_text study_factor_finding(const study_request *request, const study_device *device);
/* "sum of 12582912 f32", "scan by sum of ...", "gather of 12582912 f32 by i32 maps"; n = 0: without a number. With the bytes: study_task. */
study_text study_what(const study_request *request, uint64_t n);
study_text study_task(const study_request *request);
/* What speeds are compared with: "read", "reads", and where. */
typedef struct study_ceiling {
    const char *noun, *verb, *where;
} study_ceiling;
study_ceiling study_ceiling_of(const study_request *request);
/* What a row is: "variant" or "map". */
const char *study_row_word(const study_request *request);
/* 37.53 ms */
cli_value study_time_text(double seconds);
/* 1.248 GB/s */
cli_value study_speed_text(double bytes_per_second);
/* 2026-11-21 */
cli_value study_date(void);

/* ---- study_print.c, study_data.c, study_plot.c ---------------------------------------------------------------------- */

void study_print(const study_request *request, const study_device *devices, size_t count);
void study_print_json(const study_request *request, const study_device *device);
void study_print_csv(const study_request *request, const study_device *devices, size_t count);
/* Writes the SVG file; false: it has reported why not. */
bool study_plot(const study_request *request, const study_device *devices, size_t count);

#endif
