/* SPDX-License-Identifier: MIT */
/*
 * plot.h: charts as SVG, one below the other in one file. Text is kept as text. Nothing here knows what is drawn.
 */
#ifndef TALLY_PLOT_H
#define TALLY_PLOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define PLOT_WIDTH 1280.0 /* all lengths: pixels */

/* ---- plot.c: the page and what is put on it -------------------------------------------------------------------------- */

typedef struct plot {
    FILE *body; /* into text */
    char *text;
    size_t bytes;
    double y; /* where the next chart begins */
} plot;

typedef enum plot_anchor { PLOT_START, PLOT_MIDDLE, PLOT_END } plot_anchor;

typedef struct plot_style {
    const char *colour;
    double size; /* of text: its height; of lines: their width */
    plot_anchor anchor;
    bool bold, halo, dashed; /* halo: a white rim, for text over lines */
} plot_style;

bool plot_begin(plot *p); /* false: out of memory */
/* Writes the file and lets go of everything; false: errno says why not. */
bool plot_end(plot *p, const char *file, const char *title);

void plot_text(plot *p, double x, double y, plot_style style, const char *text);
void plot_text_upwards(plot *p, double x, double y, plot_style style, const char *text);
void plot_line(plot *p, double x1, double y1, double x2, double y2, plot_style style);
void plot_box(plot *p, double x, double y, double width, double height, const char *colour);
/* One of a few shapes, by number. */
void plot_marker(plot *p, double x, double y, double radius, unsigned shape, const char *colour);

/* A distinct colour for each of the first 16 numbers; and fewer, calmer ones for whole devices. */
const char *plot_colour(size_t index);
const char *plot_broad_colour(size_t index);

/* From values to pixels. */
typedef struct plot_axis {
    double least, most, from, to;
    bool logarithmic;
} plot_axis;

/* An axis that holds both values: from a decade to 1, 2 or 5 times one, or from 0 to a round number. */
plot_axis plot_axis_over(double least, double most, bool logarithmic, double from, double to);
double plot_at(const plot_axis *axis, double value);

typedef struct plot_tick {
    double value;
    bool major;
    char label[24];
} plot_tick;
#define PLOT_MAX_TICKS 128
size_t plot_axis_ticks(const plot_axis *axis, plot_tick *ticks);

/* A number of items: a power of two as one, any other in digits. */
void plot_write_size(char *text, size_t bytes, uint64_t n);

/* ---- plot_bars.c, plot_lines.c: charts ------------------------------------------------------------------------------- */

/* What a value is measured against: a dashed line. */
typedef struct plot_limit {
    double value; /* 0: none */
    char label[96];
} plot_limit;

typedef struct plot_bars {
    const char *title, *subtitle, *unit;
    size_t rows, series;
    const char *const *row_names;
    const bool *row_marked;   /* drawn bold, with a star */
    const char *marked_means; /* "* is ..."; NULL: no row is */
    const char *const *series_names;
    const plot_limit *limits;      /* by series */
    const double *values;          /* by row, then series; 0: none */
    const char (*value_texts)[64]; /* likewise: printed at the bars */
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
    char text[24], below[24]; /* below: a second row, or "" */
} plot_label;

typedef struct plot_lines {
    const char *title, *subtitle, *x_title, *below_title, *y_title;
    double height;
    bool y_logarithmic, values_shown; /* values_shown: printed at the points */
    size_t series_count, label_count;
    const plot_series *series;
    const plot_label *labels; /* of the x axis, which is logarithmic */
    plot_limit limit;
} plot_lines;
void plot_draw_lines(plot *p, const plot_lines *lines);

#endif
