/* SPDX-License-Identifier: MIT */
/* grid.h: the reports of a run as tables of operators by item types, and as heat maps. */
#ifndef TALLY_BENCH_GRID_H
#define TALLY_BENCH_GRID_H

#include "bench.h"

#define GRID_BAR_TEXT "0.90" /* the share from which a cell is not marked */
/* A grid is of a device and a form. */
typedef struct grid_key {
    const tally_device_info *device;
    const struct bench_form *form; /* NULL: whole arrays */
} grid_key;
typedef enum grid_part { GRID_ALL, GRID_FLOATS, GRID_INTEGERS } grid_part; /* complex types are floats */
/* The rows and columns of a device's table: those with a cell, measured or missing. */
typedef struct grid_axes {
    tally_op ops[TALLY_OP_END];
    tally_dtype types[TALLY_DTYPE_END];
    int op_count, type_count;
} grid_axes;
grid_axes grid_axes_of(const bench_results *results, const grid_key *key, grid_part part);
/* Returns NULL if there is no such cell. */
const bench_report *grid_cell(const bench_results *results, const grid_key *key, tally_op op, tally_dtype in);
/* Returns tally's speed divided by that of the primitive's ceiling, by the GPU's clock if there is
 * one. */
double grid_share(const bench_report *report);
int grid_is_low(double share);
/* Returns tally's speed divided by that of the fastest peer, *which; 0: there is no peer. */
double grid_peer(const bench_report *report, int *which);
typedef struct grid_counts {
    int cells, low;
    int missing; /* cells that were not measured: the run stopped, or the case failed */
} grid_counts;
/* Returns true if the run has the cell, but no report of it. */
int grid_is_missing(const bench_results *results, const grid_key *key, tally_op op, tally_dtype in);
/* Formats the size of the inputs: "1 GiB each input". */
typedef struct grid_text {
    char text[64];
} grid_text;
grid_text grid_size(const bench_options *options, const bench_results *results, const grid_key *key);
grid_counts grid_count(const bench_results *results, const grid_key *key);
/* Prints the tables of one grid; or an object about them, after those of the cells. */
void grid_print(FILE *out, const bench_options *options, const bench_results *results, const grid_key *key);
void grid_json(const bench_options *options, const bench_results *results, const grid_key *key);
/* Returns what a grid is compared with: "a kernel that only reads the same bytes". */
const char *grid_beside(const grid_key *key);
/* grid_figure.c: draws a heat map for each grid, as SVG. Returns 0 when done; otherwise it has
 * reported the error on stderr. */
int grid_figure(const char *file, const bench_options *options, const bench_results *results, const grid_key *keys, int count);

#endif
