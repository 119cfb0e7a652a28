/* SPDX-License-Identifier: MIT */
/* figure.c: the figures of a run as charts. Each device, primitive, operator, type and cache has
 * one, with the engines' bandwidth by the number of items. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "tools/print/plot.h"
#include "tools/print/units.h"

/* A line of an engine, by the wall clock or by the GPU's clock. */
typedef struct figure_line {
    char name[48];
    size_t count;
    double x[MAX_SIZES], y[MAX_SIZES];
} figure_line;

typedef struct figure_chart {
    char title[96], device[224];
    size_t count;
    figure_line lines[MAX_ENGINES];
    double ceiling; /* at the largest size; 0: not measured */
    const char *ceiling_name;
    struct figure_chart *next;
} figure_chart;

static figure_chart *charts;

/* Finds the chart with that name, or makes one. Returns NULL if memory is short. */
static figure_chart *find_chart(const figure_chart *name) {
    figure_chart **at = &charts;
    while (*at && (strcmp((*at)->title, name->title) || strcmp((*at)->device, name->device))) at = &(*at)->next;
    if (!*at && (*at = malloc(sizeof(**at)))) **at = *name;
    return *at;
}

static figure_line *find_line(figure_chart *chart, const char *name) {
    size_t l = 0;
    while (l < chart->count && strcmp(chart->lines[l].name, name)) l++;
    if (l == MAX_ENGINES) return NULL;
    if (l == chart->count) snprintf(chart->lines[chart->count++].name, sizeof(chart->lines[l].name), "%s", name);
    return &chart->lines[l];
}

/* Adds the points of one case, by the GPU's clock if `is_gpu`. */
static int add_points(const bench_report *r, int is_gpu) {
    const bench_input *in = &r->input;
    figure_chart name = {0};
    snprintf(name.title, sizeof(name.title), "%s of %s, %s, %s", task_name(in->task).text, tally_dtype_name(in->in),
             in->copies > 1 ? "cold" : "warm", is_gpu ? "GPU time" : "host included");
    snprintf(name.device, sizeof(name.device), "%s:%d %s", in->device->backend, in->device->index, in->device->name);
    name.ceiling_name = bench_primitives[in->task->primitive].ceiling;
    figure_chart *chart = find_chart(&name);
    if (!chart) return 1;
    for (int e = 0; e < r->count; e++) {
        const double seconds = is_gpu ? r->timings[e].gpu_seconds : r->timings[e].seconds;
        figure_line *line = find_line(chart, r->names[e]);
        if (!line || line->count == MAX_SIZES || seconds <= 0) continue;
        line->x[line->count] = (double)in->n;
        line->y[line->count++] = 1e-9 * (double)report_bytes(in) / seconds;
    }
    if (r->ceiling > 0) chart->ceiling = 1e-9 * r->ceiling;
    return 0;
}

int figure_add(const bench_report *r) {
    if (add_points(r, 0) || (r->timings[0].gpu_seconds > 0 && add_points(r, 1)))
        return fprintf(stderr, "tally_bench: out of memory\n"), 1;
    return 0;
}

static void draw(plot *p, const figure_chart *chart, int blocks) {
    char subtitle[320];
    plot_series series[MAX_ENGINES];
    plot_label labels[MAX_SIZES] = {0};
    size_t count = 0, used = 0, next = 1;
    snprintf(subtitle, sizeof(subtitle), "%s. Medians of %d alternating blocks of calls, results checked.", chart->device,
             blocks);
    for (size_t l = 0; l < chart->count; l++) {
        const figure_line *line = &chart->lines[l];
        if (!line->count) continue;
        /* tally is first and highlighted. */
        series[used++] = (plot_series){.name = line->name,
                                       .colour = plot_colour(l ? next++ : 0),
                                       .strong = l == 0,
                                       .count = line->count,
                                       .x = line->x,
                                       .y = line->y};
    }
    for (; count < chart->lines[0].count; count++) {
        labels[count].x = chart->lines[0].x[count];
        const uint64_t n = (uint64_t)labels[count].x;
        plot_write_size(labels[count].text, sizeof(labels[count].text), n);
        if (n & (n - 1)) snprintf(labels[count].text, sizeof(labels[count].text), "%.16s", units_items(n).text);
    }
    plot_lines lines = {.title = chart->title,
                        .subtitle = subtitle,
                        .x_title = "items, n (logarithmic)",
                        .y_title = "bandwidth, GB/s (logarithmic)",
                        .height = 480,
                        .y_logarithmic = true,
                        .series_count = used,
                        .series = series,
                        .label_count = count,
                        .labels = labels,
                        .limit = {.value = chart->ceiling}};
    snprintf(lines.limit.label, sizeof(lines.limit.label), "%s, largest n: %.4g GB/s", chart->ceiling_name, chart->ceiling);
    plot_draw_lines(p, &lines);
}

int figure_write(const char *file, int blocks) {
    plot p;
    const char *wrong = plot_begin(&p) ? NULL : "out of memory";
    for (const figure_chart *chart = charts; chart && !wrong; chart = chart->next) draw(&p, chart, blocks);
    if (!wrong) wrong = plot_end(&p, file, "tally bench");
    if (wrong) fprintf(stderr, "tally_bench: %s: %s\n", file, wrong);
    while (charts) {
        figure_chart *next = charts->next;
        free(charts);
        charts = next;
    }
    return wrong != NULL;
}
