/* SPDX-License-Identifier: MIT */
/*
 * plot.h: draws charts as SVG, one below the other in one file. Text stays text. The subject of the
 * charts is unknown here.
 */
#ifndef TALLY_PLOT_H
#define TALLY_PLOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define PLOT_WIDTH 1280.0 /* all lengths: pixels */

/* ---- plot.c: the page and its contents ------------------------------------------------------- */

typedef struct plot {
    FILE *body; /* stream that writes `text` */
    char *text;
    size_t bytes;
    double y; /* top of the next chart */
} plot;

typedef enum plot_anchor { PLOT_START, PLOT_MIDDLE, PLOT_END } plot_anchor;

typedef struct plot_style {
    const char *colour;
    double size; /* height of text, width of lines */
    plot_anchor anchor;
    bool bold, halo, dashed; /* halo: a white rim for text over lines */
} plot_style;

bool plot_begin(plot *p); /* returns false if memory is short */
/* Tells whether the file's name is one of an SVG file. */
bool plot_is_svg(const char *file);
#define PLOT_NEEDED "the plot is an SVG file, and its name ends in .svg"
/* Writes the file, whole or not at all (new_file.h), and frees the plot. Returns NULL, or what is
 * wrong. */
const char *plot_end(plot *p, const char *path, const char *title);

void plot_text(plot *p, double x, double y, plot_style style, const char *text);
void plot_text_upwards(plot *p, double x, double y, plot_style style, const char *text);
void plot_line(plot *p, double x1, double y1, double x2, double y2, plot_style style);
void plot_box(plot *p, double x, double y, double width, double height, const char *colour);
/* Draws one of a few shapes, by number. */
void plot_marker(plot *p, double x, double y, double radius, unsigned shape, const char *colour);

/* Returns a distinct colour for each of the first 16 numbers. Whole devices have fewer, calmer
 * ones. */
const char *plot_colour(size_t index);
const char *plot_broad_colour(size_t index);

/* An axis maps values to pixels. */
typedef struct plot_axis {
    double least, most, from, to;
    bool logarithmic;
} plot_axis;

/* Makes an axis that contains both values. A logarithmic axis runs from a decade to 1, 2 or 5 times
 * a decade; a linear one from 0 to a round number. */
plot_axis plot_axis_over(double least, double most, bool logarithmic, double from, double to);
double plot_at(const plot_axis *axis, double value);

typedef struct plot_tick {
    double value;
    bool major;
    char label[24];
} plot_tick;
#define PLOT_MAX_TICKS 128
size_t plot_axis_ticks(const plot_axis *axis, plot_tick *ticks);

/* Writes a number of items, a power of two as 2^k and any other number in digits. */
void plot_write_size(char *text, size_t bytes, uint64_t n);

/* ---- plot_bars.c, plot_lines.c, plot_heat.c: charts ------------------------------------------ */

/* A limit for comparison with the values, drawn as a dashed line. */
typedef struct plot_limit {
    double value; /* 0: none */
    char label[96];
} plot_limit;

typedef struct plot_bars {
    const char *title, *subtitle, *unit;
    size_t rows, series;
    const char *const *row_names;
    const bool *row_marked;   /* bold, with a star */
    const char *marked_means; /* "* is ..."; NULL: no row is marked */
    const char *const *series_names;
    const plot_limit *limits;      /* by series */
    const double *values;          /* by row, then series; 0: none */
    const char (*value_texts)[64]; /* also by row, then series: printed at the bars */
} plot_bars;
void plot_draw_bars(plot *p, const plot_bars *bars);

typedef struct plot_series {
    const char *name;
    const char *colour;
    bool strong;
    size_t count;
    const double *x, *y; /* y 0: no point */
} plot_series;

typedef struct plot_label {
    double x;
    char text[24], below[24]; /* `below` is a second row, or "" */
} plot_label;

typedef struct plot_lines {
    const char *title, *subtitle, *x_title, *below_title, *y_title;
    double height;
    bool y_logarithmic, values_shown; /* `values_shown`: printed at the points */
    size_t series_count, label_count;
    const plot_series *series;
    const plot_label *labels; /* of the x axis, which is logarithmic */
    plot_limit limit;
} plot_lines;
void plot_draw_lines(plot *p, const plot_lines *lines);

/* A step of a heat map's colours: the values from `from` to below the next step's. */
#define PLOT_HEAT_STEPS 6
typedef struct plot_step {
    double from; /* not of the first step, which has all lower values */
    const char *name;
} plot_step;

typedef struct plot_cell {
    double value; /* negative: none, with `text` or without */
    bool marked;  /* bold */
    char text[16], below[32];
} plot_cell;

typedef struct plot_heat {
    const char *title, *subtitle, *note;
    size_t rows, columns;
    const char *const *row_names, *const *column_names;
    plot_step steps[PLOT_HEAT_STEPS];
    const char *none_means;
    const plot_cell *cells; /* by row, then column */
    bool has_below;         /* some cell has a `below` */
} plot_heat;
void plot_draw_heat(plot *p, const plot_heat *heat);

#endif
