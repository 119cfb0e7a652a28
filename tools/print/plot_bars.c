/* SPDX-License-Identifier: MIT */
/* plot_bars.c: horizontal bars, several series a row. The axis is logarithmic where a linear one
 * would hide the short bars. */
#include <string.h>

#include "plot.h"

#define LEFT 210.0
#define RIGHT 215.0 /* room for the values */
#define ROW_GAP 12.0
#define HIDES 30.0 /* ratio of longest to shortest bar from which the axis is logarithmic */

static const plot_style title_style = {.colour = "#111827", .size = 25, .bold = true};
static const plot_style subtitle_style = {.colour = "#4b5563", .size = 15};

/* Draws the colours and names of several series. */
static double draw_legend(plot *p, const plot_bars *b, double y) {
    if (b->series < 2) return y;
    double x = LEFT;
    for (size_t s = 0; s < b->series; s++) {
        plot_box(p, x, y - 12, 18, 14, plot_broad_colour(s));
        plot_text(p, x + 26, y, (plot_style){.colour = "#111827", .size = 15}, b->series_names[s]);
        x += 60 + 8.2 * (double)strlen(b->series_names[s]);
        if (s + 1 < b->series && x + 8.2 * (double)strlen(b->series_names[s + 1]) > PLOT_WIDTH) x = LEFT, y += 22;
    }
    return y + 18;
}

static plot_axis value_axis(const plot_bars *b) {
    double least = 0, most = 0;
    for (size_t i = 0; i < b->rows * b->series; i++) {
        if (b->values[i] > most) most = b->values[i];
        if (b->values[i] > 0 && (!least || b->values[i] < least)) least = b->values[i];
    }
    const bool logarithmic = least > 0 && most / least > HIDES;
    for (size_t s = 0; s < b->series; s++)
        if (b->limits[s].value > most) most = b->limits[s].value;
    return plot_axis_over(least, most, logarithmic, LEFT, PLOT_WIDTH - RIGHT);
}

static void draw_grid(plot *p, const plot_bars *b, const plot_axis *axis, double top, double bottom) {
    plot_tick ticks[PLOT_MAX_TICKS];
    const size_t count = plot_axis_ticks(axis, ticks);
    for (size_t i = 0; i < count; i++) {
        const double x = plot_at(axis, ticks[i].value);
        plot_line(p, x, top, x, bottom, (plot_style){.colour = ticks[i].major ? "#d1d5db" : "#eef0f3", .size = 1});
        if (ticks[i].major)
            plot_text(p, x, bottom + 20, (plot_style){.colour = "#374151", .size = 14, .anchor = PLOT_MIDDLE}, ticks[i].label);
    }
    char unit[96];
    snprintf(unit, sizeof(unit), "%s%s", b->unit, axis->logarithmic ? ", logarithmic" : "");
    plot_text(p, (axis->from + axis->to) / 2, bottom + 44, (plot_style){.colour = "#111827", .size = 16, .anchor = PLOT_MIDDLE},
              unit);
}

/* Draws the limits. Their labels stand above the chart, in rows so that they do not overlap. */
static void draw_limits(plot *p, const plot_bars *b, const plot_axis *axis, double top, double bottom) {
    for (size_t s = 0; s < b->series; s++) {
        if (!(b->limits[s].value > 0)) continue;
        const double x = plot_at(axis, b->limits[s].value), y = top - 8 - 18 * (double)s;
        const char *colour = plot_broad_colour(s);
        const bool right = x > (axis->from + axis->to) / 2;
        plot_line(p, x, y - 10, x, bottom, (plot_style){.colour = colour, .size = 2, .dashed = true});
        plot_text(
            p, right ? x - 8 : x + 8, y,
            (plot_style){.colour = colour, .size = 14, .bold = true, .halo = true, .anchor = right ? PLOT_END : PLOT_START},
            b->limits[s].label);
    }
}

void plot_draw_bars(plot *p, const plot_bars *b) {
    const double bar = b->series < 2 ? 22 : b->series == 2 ? 18 : 15, row = bar * (double)b->series + ROW_GAP;
    const plot_axis axis = value_axis(b);
    plot_text(p, 32, p->y + 46, title_style, b->title);
    plot_text(p, 32, p->y + 72, subtitle_style, b->subtitle);
    const double top = draw_legend(p, b, p->y + 108) + 18 * (double)b->series + 8,
                 bottom = top + row * (double)b->rows + ROW_GAP / 2;
    draw_grid(p, b, &axis, top, bottom);
    for (size_t r = 0; r < b->rows; r++) {
        const double y = top + row * (double)r + ROW_GAP / 2 + 3;
        char name[80];
        snprintf(name, sizeof(name), "%s%s", b->row_marked[r] ? "* " : "", b->row_names[r]);
        plot_text(p, LEFT - 12, y + bar * (double)b->series / 2 + 5,
                  (plot_style){.colour = "#111827", .size = 16, .anchor = PLOT_END, .bold = b->row_marked[r]}, name);
        for (size_t s = 0; s < b->series; s++)
            if (b->values[r * b->series + s] > 0)
                plot_box(p, LEFT, y + bar * (double)s, plot_at(&axis, b->values[r * b->series + s]) - LEFT, bar - 2,
                         plot_broad_colour(s));
    }
    draw_limits(p, b, &axis, top, bottom);
    /* Texts cover the dashed lines. */
    for (size_t i = 0; i < b->rows * b->series; i++) {
        const double y = top + row * (double)(i / b->series) + ROW_GAP / 2 + 3 + bar * (double)(i % b->series);
        if (b->values[i] > 0)
            plot_text(p, plot_at(&axis, b->values[i]) + 8, y + bar / 2 + 4,
                      (plot_style){
                          .colour = "#111827", .size = bar > 16 ? 14 : 12, .halo = true, .bold = b->row_marked[i / b->series]},
                      b->value_texts[i]);
        else
            plot_text(p, LEFT + 8, y + bar / 2 + 4, (plot_style){.colour = "#6b7280", .size = 12, .halo = true}, "no figure");
    }
    plot_line(p, LEFT, top, LEFT, bottom, (plot_style){.colour = "#374151", .size = 1.5});
    if (b->marked_means) plot_text(p, 32, bottom + 44, subtitle_style, b->marked_means);
    p->y = bottom + 60;
}
