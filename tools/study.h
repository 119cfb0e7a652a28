/* SPDX-License-Identifier: MIT */
/*
 * study.h: what the files of `tally study` share. The study runs the variants over the same items on one or more devices. A point is
 * one variant at one n; it is checked against the host before it is timed, and only checked points have figures.
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

/* Room for any result: two values of 8 bytes. */
#define STUDY_RESULT_BYTES 16

typedef struct study_request {
    tally_op op;
    tally_dtype dtype;
    uint64_t n, sweep_n;          /* sweep_n: the largest of the sweep; 0: none is wanted */
    uint32_t group, factor, runs; /* group and factor 0: the variant's */
    const char *variants;         /* the names asked for, "a,b"; NULL: all */
    const char *plot;             /* a file, or NULL */
    bool json, csv;
} study_request;

typedef enum study_state { STUDY_SKIPPED, STUDY_FAILED, STUDY_CHECKED } study_state;

typedef struct study_point {
    tally_variant_info variant;
    uint64_t n;
    uint32_t group, factor;
    bool automatic; /* what `auto` picks */
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
    double read; /* bytes per second that the device reads from its memory */
    char automatic[64];
    study_list ladder;  /* every variant at n */
    study_list small;   /* document 002: the global and the local tree in turn, by n */
    study_list sizes;   /* sweep: by variant, then n */
    study_list factors; /* sweep: by factor */
} study_device;

/* ---- study_input.c: the items, and what they must give -------------------------------------------------------------- */

typedef struct study_input study_input;

/* Fills `buffer` with the items and computes what their first n give, for each n of the list. NULL: it has reported why. */
study_input *study_input_create(const study_request *request, tally_queue *queue, tally_buffer *buffer, const uint64_t *sizes,
                                size_t count);
void study_input_destroy(study_input *input);
/* Whether `result` is right for the first n items; `depth` is tally_plan_depth. If not, `text` says what was got and expected. */
bool study_input_check(const study_input *input, uint64_t n, uint64_t depth, const void *result, char *text, size_t bytes);

/* ---- study_sums.c: of operators whose result depends on the order ---------------------------------------------------- */

/* The sums of the first n items, or what takes their place. */
typedef struct study_sums {
    uint64_t n;
    long double re, im, magnitude;
} study_sums;

/* One item in 2^thinning is kept, so that n of them can be added up exactly, if that can be. */
unsigned study_sums_thinning(tally_op op, tally_dtype in, uint64_t n);
/* The two parts of item i; of a real type the first counts. */
void study_sums_item(tally_op op, tally_dtype in, unsigned thinning, uint64_t i, double parts[2]);
void study_sums_take(tally_op op, tally_dtype in, const double parts[2], study_sums *sums);
/* As study_input_check. */
bool study_sums_check(tally_op op, tally_dtype in, const study_sums *sums, uint64_t depth, const void *result, char *text,
                      size_t bytes);

/* ---- study_measure.c ------------------------------------------------------------------------------------------------ */

/* Measures everything on the device of that selection (NULL: the default). CLI_FAILED: it could not be measured at all. Points that
 * failed are in the lists. The caller closes it in any case. */
cli_exit study_device_measure(const study_request *request, const char *selection, study_device *out);
void study_device_close(study_device *device);

/* ---- study_figures.c: what follows from the points ------------------------------------------------------------------ */

size_t study_item_bytes(const study_request *request);
/* Bytes read per second; 0 for a point without figures. */
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
/* "sum of 12582912 f32 (48.0 MiB)" */
study_text study_task(const study_request *request);
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
