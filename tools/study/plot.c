/* SPDX-License-Identifier: MIT */
/* plot.c: charts of the study: bandwidth by row, and in a sweep by n and by factor, for each
 * device. */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/print/plot.h"
#include "study.h"

#define MOST_ROWS 64
#define MOST_SERIES 16

static double giga(double bytes_per_second) {
    return 1e-9 * bytes_per_second;
}

static plot_limit limit_of(const study_request *r, const study_device *d) {
    plot_limit limit = {.value = giga(d->ceiling)};
    snprintf(limit.label, sizeof(limit.label), "%s %s %.39s", d->label, study_ceiling_of(r).verb,
             study_speed_text(d->ceiling).text);
    return limit;
}

static const study_point *find_point(const study_list *list, const char *variant) {
    for (size_t i = 0; i < list->count; i++)
        if (list->points[i].state == STUDY_CHECKED && strcmp(list->points[i].variant.name, variant) == 0)
            return &list->points[i];
    return NULL;
}

/* ---- by variant ------------------------------------------------------------------------------ */

typedef struct bar_data {
    const char *rows[MOST_ROWS], *series[MOST_SERIES];
    char series_text[MOST_SERIES][192];
    bool marked[MOST_ROWS];
    plot_limit limits[MOST_SERIES];
    double values[MOST_ROWS * MOST_SERIES];
    char texts[MOST_ROWS * MOST_SERIES][64];
} bar_data;

/* Adds every row that has a figure on some device. */
static size_t fill_rows(bar_data *b, const study_request *r, const study_device *devices, size_t count) {
    tally_variant_info v;
    size_t rows = 0;
    for (size_t i = 0; study_row_get(r, i, &v) && rows < MOST_ROWS; i++) {
        bool any = false;
        for (size_t d = 0; d < count; d++) {
            const study_point *p = find_point(&devices[d].ladder, v.name);
            const size_t at = rows * count + d;
            b->values[at] = p ? giga(study_speed(r, p)) : 0;
            if (!p) continue;
            any = true;
            b->marked[rows] |= p->automatic;
            snprintf(b->texts[at], sizeof(b->texts[at]), "%.39s  (%.1f%%)", study_speed_text(study_speed(r, p)).text,
                     100 * study_speed(r, p) / devices[d].ceiling);
        }
        if (any) b->rows[rows++] = v.name;
    }
    return rows;
}

static void draw_variants(plot *p, const study_request *r, const study_device *devices, size_t count) {
    char title[256], subtitle[512];
    bar_data *b = calloc(1, sizeof(*b));
    if (!b) return;
    const size_t rows = fill_rows(b, r, devices, count);
    bool marked = false;
    for (size_t i = 0; i < rows; i++) marked |= b->marked[i];
    for (size_t d = 0; d < count; d++) {
        snprintf(b->series_text[d], sizeof(b->series_text[d]), "%s %s", devices[d].label, devices[d].info.name);
        b->series[d] = b->series_text[d];
        b->limits[d] = limit_of(r, &devices[d]);
    }
    snprintf(title, sizeof(title), "%s%.200s", r->primitive == CLI_REDUCE ? "The ladder of reductions: " : "",
             study_what(r, r->n).text);
    title[0] = (char)toupper((unsigned char)title[0]);
    snprintf(subtitle, sizeof(subtitle),
             "%s, %s. Medians by the device's clock, results checked; in brackets: %% of what the device %s.",
             count == 1 ? b->series[0] : "Devices side by side", study_date().text, study_ceiling_of(r).verb);
    plot_draw_bars(p, &(plot_bars){.title = title,
                                   .subtitle = subtitle,
                                   .unit = "bandwidth, GB/s",
                                   .rows = rows,
                                   .series = count,
                                   .row_names = b->rows,
                                   .row_marked = b->marked,
                                   .marked_means = marked ? "* what auto picks" : NULL,
                                   .series_names = b->series,
                                   .limits = b->limits,
                                   .values = b->values,
                                   .value_texts = (const char(*)[64])b->texts});
    free(b);
}

/* ---- by n and by factor ---------------------------------------------------------------------- */

static size_t points_of_first(const study_list *list) {
    size_t count = 0;
    while (count < list->count && strcmp(list->points[count].variant.name, list->points[0].variant.name) == 0) count++;
    return count;
}

static void write_headings(const study_request *r, const study_device *d, uint64_t n, char *subtitle, size_t bytes) {
    snprintf(subtitle, bytes, "%s %s, %.200s, %s. Medians by the device's clock, results checked.", d->label, d->info.name,
             study_what(r, n).text, study_date().text);
}

static void draw_sizes(plot *p, const study_request *r, const study_device *d) {
    const study_list *list = &d->sizes;
    const size_t per = points_of_first(list), count = per ? list->count / per : 0;
    double *x = calloc(list->count + 1, sizeof(*x)), *y = calloc(list->count + 1, sizeof(*y));
    plot_series *series = calloc(count + 1, sizeof(*series));
    plot_label *labels = calloc(per + 1, sizeof(*labels));
    char subtitle[512];
    if (x && y && series && labels && count) {
        for (size_t i = 0; i < list->count; i++) {
            x[i] = (double)list->points[i].n;
            y[i] = giga(study_speed(r, &list->points[i]));
        }
        for (size_t s = 0; s < count; s++) {
            const study_point *first = &list->points[s * per];
            series[s] = (plot_series){.name = first->variant.name,
                                      .colour = plot_colour(s),
                                      .strong = first->automatic,
                                      .count = per,
                                      .x = x + s * per,
                                      .y = y + s * per};
        }
        for (size_t i = 0; i < per; i++) {
            labels[i].x = x[i];
            plot_write_size(labels[i].text, sizeof(labels[i].text), list->points[i].n);
        }
        write_headings(r, d, 0, subtitle, sizeof(subtitle));
        plot_draw_lines(p, &(plot_lines){.title = "Bandwidth by the number of items",
                                         .subtitle = subtitle,
                                         .x_title = "items, n (logarithmic)",
                                         .y_title = "bandwidth, GB/s (logarithmic)",
                                         .height = 560,
                                         .y_logarithmic = true,
                                         .series_count = count,
                                         .series = series,
                                         .label_count = per,
                                         .labels = labels,
                                         .limit = limit_of(r, d)});
    }
    free(x);
    free(y);
    free(series);
    free(labels);
}

/* Draws the time of rows and of columns over their length. */
static void draw_lengths(plot *p, const study_request *r, const study_device *d) {
    enum { MOST = 32 };
    double x[2][MOST], y[2][MOST];
    plot_label labels[2 * MOST];
    plot_series series[2] = {{.name = "rows"}, {.name = "columns"}};
    char subtitle[512];
    size_t label_count = 0;
    for (size_t i = 0; i < d->ladder.count; i++) {
        const study_point *point = &d->ladder.points[i];
        plot_series *to = &series[study_segments_are_rows(point->variant.name) ? 0 : 1];
        const uint64_t length = study_segments_length(point->variant.name);
        if (point->state != STUDY_CHECKED || to->count == MOST) continue;
        x[to - series][to->count] = (double)length;
        y[to - series][to->count++] = 1e3 * point->median;
        if (label_count && labels[label_count - 1].x == (double)length) continue;
        labels[label_count] = (plot_label){.x = (double)length};
        plot_write_size(labels[label_count].text, sizeof(labels[label_count].text), length);
        label_count++;
    }
    for (size_t s = 0; s < 2; s++) {
        series[s].colour = plot_colour(s);
        series[s].x = x[s];
        series[s].y = y[s];
    }
    write_headings(r, d, r->n, subtitle, sizeof(subtitle));
    plot_limit limit = {.value = 1e3 * (double)(r->n * study_item_bytes(r)) / d->ceiling};
    snprintf(limit.label, sizeof(limit.label), "%s reads the items in %.32s", d->label,
             study_time_text(limit.value * 1e-3).text);
    plot_draw_lines(p, &(plot_lines){.title = "Time by the length of a row, by the height of a column",
                                     .subtitle = subtitle,
                                     .x_title = "items of a segment (logarithmic)",
                                     .y_title = "time of all segments, ms (logarithmic)",
                                     .height = 560,
                                     .y_logarithmic = true,
                                     .series_count = 2,
                                     .series = series,
                                     .label_count = label_count,
                                     .labels = labels,
                                     .limit = limit});
}

static void draw_factors(plot *p, const study_request *r, const study_device *d) {
    enum { MOST = 32 };
    const study_list *list = &d->factors;
    double x[MOST], y[MOST];
    plot_label labels[MOST];
    double best = 0;
    char subtitle[512];
    const size_t count = list->count < MOST ? list->count : MOST;
    if (!count) return;
    for (size_t i = 0; i < count; i++) {
        const study_point *point = &list->points[i];
        x[i] = point->factor;
        y[i] = giga(study_speed(r, point));
        if (y[i] > best) best = y[i];
        labels[i] = (plot_label){.x = x[i]};
        snprintf(labels[i].text, sizeof(labels[i].text), "%" PRIu32, point->factor);
        snprintf(labels[i].below, sizeof(labels[i].below), "%.4g", study_groups_per_unit(d, point));
    }
    const plot_series series = {
        .name = STUDY_FACTORED, .colour = plot_broad_colour(0), .strong = true, .count = count, .x = x, .y = y};
    write_headings(r, d, r->n, subtitle, sizeof(subtitle));
    plot_draw_lines(p, &(plot_lines){.title = "Thread coarsening (" STUDY_FACTORED "): bandwidth by the factor",
                                     .subtitle = subtitle,
                                     .x_title = "factor: a group owns group x 2 x factor items",
                                     .below_title = "groups for each compute unit",
                                     .y_title = "bandwidth, GB/s",
                                     .height = 320,
                                     .values_shown = true,
                                     .series_count = 1,
                                     .series = &series,
                                     .label_count = count,
                                     .labels = labels,
                                     /* A limit far above the line would flatten it. */
                                     .limit = 4 * best > giga(d->ceiling) ? limit_of(r, d) : (plot_limit){0}});
}

bool study_plot(const study_request *request, const study_device *devices, size_t count) {
    plot p;
    char title[128];
    if (!plot_begin(&p)) return cli_report("%s: out of memory", request->plot), false;
    draw_variants(&p, request, devices, count);
    for (size_t i = 0; i < count; i++) draw_sizes(&p, request, &devices[i]);
    for (size_t i = 0; i < count && request->primitive == CLI_SEGMENTS; i++) draw_lengths(&p, request, &devices[i]);
    for (size_t i = 0; i < count; i++) draw_factors(&p, request, &devices[i]);
    snprintf(title, sizeof(title), "tally study: %.100s", study_what(request, 0).text);
    const char *wrong = plot_end(&p, request->plot, title);
    return !wrong || (cli_report("%s: %s", request->plot, wrong), false);
}
