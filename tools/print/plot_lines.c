/* SPDX-License-Identifier: MIT */
/* plot_lines.c: lines over a logarithmic axis. Each line has its name at its end, so no chart needs
 * a legend. */
#include <math.h>
#include <stdlib.h>

#include "plot.h"

#define LEFT 100.0
#define RIGHT 250.0      /* room for the names */
#define NAME_HEIGHT 22.0 /* height of a name with the space around it */
#define LABEL_WIDTH 26.0 /* a label that is nearer to the next one is left out */
#define MOST_SERIES 64

typedef struct name_place {
    size_t series;
    double point_x, point_y, y;
} name_place;

static plot_axis y_axis(const plot_lines *l, double top, double bottom) {
    double least = 0, most = l->limit.value;
    for (size_t s = 0; s < l->series_count; s++)
        for (size_t i = 0; i < l->series[s].count; i++) {
            const double y = l->series[s].y[i];
            if (y > most) most = y;
            if (y > 0 && (!least || y < least)) least = y;
        }
    return plot_axis_over(least, l->values_shown ? 1.08 * most : most, l->y_logarithmic, bottom, top);
}

static plot_axis x_axis(const plot_lines *l) {
    plot_axis axis = {.from = LEFT + 24, .to = PLOT_WIDTH - RIGHT - 16, .logarithmic = true};
    if (l->label_count) axis.least = l->labels[0].x, axis.most = l->labels[l->label_count - 1].x;
    if (!(axis.most > axis.least)) axis.most = 2 * axis.least;
    return axis;
}

static void draw_grid(plot *p, const plot_lines *l, const plot_axis *x, const plot_axis *y) {
    plot_tick ticks[PLOT_MAX_TICKS];
    const size_t count = plot_axis_ticks(y, ticks);
    const plot_style text = {.colour = "#374151", .size = 14, .anchor = PLOT_MIDDLE};
    const double right = PLOT_WIDTH - RIGHT;
    for (size_t i = 0; i < count; i++) {
        const double at = plot_at(y, ticks[i].value);
        plot_line(p, LEFT, at, right, at, (plot_style){.colour = ticks[i].major ? "#d1d5db" : "#eef0f3", .size = 1});
        if (ticks[i].major)
            plot_text(p, LEFT - 10, at + 5, (plot_style){.colour = "#374151", .size = 14, .anchor = PLOT_END}, ticks[i].label);
    }
    for (size_t i = 0; i < l->label_count; i++) {
        const double at = plot_at(x, l->labels[i].x);
        plot_line(p, at, y->to, at, y->from, (plot_style){.colour = "#eef0f3", .size = 1});
        if (i + 1 < l->label_count && plot_at(x, l->labels[i + 1].x) - at < LABEL_WIDTH) continue;
        plot_text(p, at, y->from + 21, text, l->labels[i].text);
        plot_text(p, at, y->from + 64, text, l->labels[i].below);
    }
    plot_line(p, LEFT, y->from, right, y->from, (plot_style){.colour = "#374151", .size = 1.5});
    plot_line(p, LEFT, y->to, LEFT, y->from, (plot_style){.colour = "#374151", .size = 1.5});
    const plot_style title = {.colour = "#111827", .size = 16, .anchor = PLOT_MIDDLE};
    plot_text(p, (LEFT + right) / 2, y->from + 44, title, l->x_title);
    if (l->below_title) plot_text(p, (LEFT + right) / 2, y->from + 87, title, l->below_title);
    plot_text_upwards(p, 36, (y->from + y->to) / 2, title, l->y_title);
}

static void draw_series(plot *p, const plot_lines *l, size_t index, const plot_axis *x, const plot_axis *y) {
    const plot_series *s = &l->series[index];
    const plot_style style = {.colour = s->colour, .size = s->strong ? 4 : 2.2};
    for (size_t i = 1; i < s->count; i++)
        if (s->y[i - 1] > 0 && s->y[i] > 0)
            plot_line(p, plot_at(x, s->x[i - 1]), plot_at(y, s->y[i - 1]), plot_at(x, s->x[i]), plot_at(y, s->y[i]), style);
    double highest = 0;
    for (size_t i = 0; i < s->count; i++)
        if (s->y[i] > highest) highest = s->y[i];
    for (size_t i = 0; i < s->count; i++) {
        char text[32];
        if (!(s->y[i] > 0)) continue;
        plot_marker(p, plot_at(x, s->x[i]), plot_at(y, s->y[i]), s->strong ? 6 : 4.5, (unsigned)index, s->colour);
        snprintf(text, sizeof(text), "%.4g", s->y[i]);
        if (l->values_shown)
            plot_text(p, plot_at(x, s->x[i]), plot_at(y, s->y[i]) - 14,
                      (plot_style){.colour = "#111827",
                                   .size = s->y[i] == highest ? 17 : 14,
                                   .anchor = PLOT_MIDDLE,
                                   .bold = s->y[i] == highest,
                                   .halo = true},
                      text);
    }
}

static int by_height(const void *a, const void *b) {
    const double x = ((const name_place *)a)->point_y, y = ((const name_place *)b)->point_y;
    return (x > y) - (x < y);
}

/* Places the names from top to bottom in the order of the lines' ends, each as near to its end as
 * possible. */
static void place_names(name_place *names, size_t count, double top, double bottom) {
    qsort(names, count, sizeof(*names), by_height);
    for (size_t i = 0; i < count; i++) {
        names[i].y = names[i].point_y;
        if (i && names[i].y < names[i - 1].y + NAME_HEIGHT) names[i].y = names[i - 1].y + NAME_HEIGHT;
    }
    for (size_t i = count; i--;) {
        const double most = i + 1 < count ? names[i + 1].y - NAME_HEIGHT : bottom;
        if (names[i].y > most) names[i].y = most;
    }
    for (size_t i = 0; i < count; i++) {
        const double least = i ? names[i - 1].y + NAME_HEIGHT : top;
        if (names[i].y < least) names[i].y = least;
    }
}

static void draw_names(plot *p, const plot_lines *l, const plot_axis *x, const plot_axis *y) {
    name_place names[MOST_SERIES];
    size_t count = 0;
    for (size_t s = 0; s < l->series_count && count < MOST_SERIES; s++)
        for (size_t i = l->series[s].count; i--;) {
            if (!(l->series[s].y[i] > 0)) continue;
            const double at = plot_at(y, l->series[s].y[i]);
            names[count++] = (name_place){.series = s, .point_x = plot_at(x, l->series[s].x[i]), .point_y = at};
            break;
        }
    place_names(names, count, y->to, y->from);
    for (size_t i = 0; i < count; i++) {
        const plot_series *s = &l->series[names[i].series];
        const double left = PLOT_WIDTH - RIGHT + 14;
        plot_line(p, names[i].point_x + 6, names[i].point_y, left, names[i].y, (plot_style){.colour = s->colour, .size = 0.8});
        plot_line(p, left, names[i].y, left + 30, names[i].y, (plot_style){.colour = s->colour, .size = s->strong ? 4 : 2.2});
        plot_marker(p, left + 15, names[i].y, s->strong ? 6 : 4.5, (unsigned)names[i].series, s->colour);
        plot_text(p, left + 40, names[i].y + 5, (plot_style){.colour = s->colour, .size = 16, .bold = s->strong}, s->name);
    }
}

void plot_draw_lines(plot *p, const plot_lines *l) {
    const double top = p->y + 110, bottom = top + l->height;
    const plot_axis x = x_axis(l), y = y_axis(l, top, bottom);
    plot_text(p, 32, p->y + 46, (plot_style){.colour = "#111827", .size = 25, .bold = true}, l->title);
    plot_text(p, 32, p->y + 72, (plot_style){.colour = "#4b5563", .size = 15}, l->subtitle);
    draw_grid(p, l, &x, &y);
    if (l->limit.value > 0) {
        const double at = plot_at(&y, l->limit.value);
        plot_line(p, LEFT, at, PLOT_WIDTH - RIGHT, at, (plot_style){.colour = "#374151", .size = 2, .dashed = true});
        plot_text(p, LEFT + 10, at - 7, (plot_style){.colour = "#374151", .size = 14, .bold = true, .halo = true},
                  l->limit.label);
    }
    for (size_t s = 0; s < l->series_count; s++) draw_series(p, l, s, &x, &y);
    if (!l->values_shown) draw_names(p, l, &x, &y);
    p->y = bottom + (l->below_title ? 100 : 60);
}
