/* SPDX-License-Identifier: MIT */
/*
 * segments.h: the cases of rows, columns, segments and keys. A case's engines read the same items
 * (ARRAY_X, from `first` on) and the same offsets or keys (ARRAY_MAP), and write a result for each
 * segment to ARRAY_OUT. bench_input.segments is the case.
 */
#ifndef TALLY_BENCH_SEGMENTS_H
#define TALLY_BENCH_SEGMENTS_H

#include "bench.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The ways to cut the items. */
typedef enum segments_cut {
    CUT_ONE,      /* all items are one segment */
    CUT_ROWS,     /* rows of `size` */
    CUT_SHIFTED,  /* rows of `size`, from item 1 on, so that no row is aligned to 16 bytes */
    CUT_COLUMNS,  /* columns of height `size` */
    CUT_WIDTHS,   /* columns of an array that is `size` wide */
    CUT_LONG,     /* `count` rows of `size`, fewer than all items */
    CUT_MIDDLE,   /* axis 1 of (outer, length, inner) */
    CUT_CHANNELS, /* axes 0 and 2 of (outer, 256, size) */
    /* By offsets, or (group "keys") by runs of u32 keys: */
    CUT_LENGTHS, /* random lengths of mean `size` */
    CUT_POWER,   /* lengths by a power law: r to the power of -size / 10, r random */
    CUT_HALF     /* segments of `size`, but half of all items in the last one */
} segments_cut;

typedef struct bench_segments {
    const char *group; /* "rows" */
    char name[64];     /* "rows of 1024" */
    uint64_t size;
    segments_cut cut;
    tally_segments_by by;
    tally_op op, also; /* also: a second op in the same pass; 0: none */
    tally_dtype in;
    int is_masked;     /* ARRAY_MAP is a mask */
    int is_scan;       /* each segment is scanned; CUT_LENGTHS: by flags, in ARRAY_MAP */
    double bar;        /* least share of a kernel that only reads, on an H200; 0: none */
    uint64_t n, count; /* items, segments */
    uint64_t first;    /* the place of item 0 */
    /* By axes: the array is (outer, length, inner) in C order. Axis 1 is reduced; by CUT_CHANNELS
     * axes 0 and 2 are. */
    uint64_t outer, length, inner;
    /* By offsets: count + 1 u64s. By keys ARRAY_MAP has n u32s, and these are their runs. */
    const uint64_t *offsets;
} bench_segments;

/* segments_cases.c: the table of cases, and how each cuts the items. Returns 1 with case `index`
 * for `items` f32 items, of other types as many bytes; 0 if it needs more, or `groups` (a list;
 * NULL: all) leaves it out; -1 behind the last. By offsets and keys, segments_cut_items sets the
 * count. */
int segments_case(size_t index, uint64_t items, const char *groups, bench_segments *out);
/* Returns the name of group `index`, or NULL behind the last. */
const char *segments_group(size_t index);
/* Sets the shape by the cut, but for CUT_LONG, CUT_MIDDLE and CUT_CHANNELS. `items` are at hand; by
 * offsets and keys, s->group says which. */
void segments_shape(bench_segments *s, uint64_t items);
/* Makes the offsets, of at most `room` entries. Returns 0 when done. */
int segments_cut_items(bench_segments *s, uint64_t *to, uint64_t room);

/* Sets the axes of the array, of which some are reduced. */
void segments_axes(const bench_segments *s, tally_axis axes[3]);
static inline int segments_is_along_axis(const bench_segments *s) {
    return s->cut == CUT_ROWS || s->cut == CUT_COLUMNS;
}

/* A result: the values of the case's ops. */
typedef struct segments_result {
    uint64_t bytes;
    tally_result_info values[2];
} segments_result;

/* segments_check.c: the values that are expected, as two numbers a segment: of both ops, or of a
 * complex value. The others return 0 when done; otherwise they have reported the error on
 * stderr. */
void segments_expect(const bench_input *input, double *expected);
int segments_poison(const bench_input *input, const segments_result *result);
int segments_check(const bench_input *input, const char *engine, const segments_result *result, const double *expected);

/* segments_ours.c: tally as an engine, unchecked by offsets and keys. Its value is the number of
 * segments. segments_ours_plan makes its plan alone, and leaves the error to the caller. */
tally_status segments_ours_plan(const bench_input *input, tally_plan **out);
int segments_ours_open(const bench_input *input, bench_engine *out);
segments_result segments_ours_result(const bench_engine *engine);
const char *segments_ours_variant(const bench_engine *engine);

/* peers/cuda_segments.cu: CUB's sums of f32, as an engine. */
int cub_segments_open(const bench_input *input, bench_engine *out);

/* segments_report.c: prints a line of the table or of JSON. */
typedef struct segments_report {
    const bench_segments *segments;
    const tally_device_info *device;
    const char *variant;
    uint64_t bytes; /* items, offsets or keys, results */
    double ceiling; /* bytes per second of a kernel that only reads as many; 0: too few for one */
    int count, blocks;
    const bench_engine *engines; /* tally first */
    const bench_timing *timings;
} segments_report;
void segments_report_heading(const tally_device_info *device, uint64_t items);
void segments_report_row(const segments_report *r);
void segments_report_json(const segments_report *r);

/* segments.c: runs the cases on a device and adds their number to *cases. Returns the number of
 * those that failed. */
int segments_run(const bench_options *options, tally_context *context, const tally_device_info *device, int *cases);

#ifdef __cplusplus
}
#endif

#endif
