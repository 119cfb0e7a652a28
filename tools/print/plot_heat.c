/* SPDX-License-Identifier: MIT */
/* plot_heat.c: a heat map, a table whose cells have colours by their values and the values in
 * them. */
#include <stdio.h>
#include <string.h>

#include "plot.h"

#define LEFT 168.0 /* room for the rows' names */
#define MARGIN 32.0
#define MOST_CELL 92.0
#define ROW 34.0
#define LOW_ROW 26.0 /* without a second figure in the cells */
#define GAP 2.0

static const plot_style title_style = {.colour = "#111827", .size = 25, .bold = true};
static const plot_style subtitle_style = {.colour = "#4b5563", .size = 15};

/* From low to high: reds and oranges, then blues, which differ for the colour-blind too. The text
 * on each has a contrast of at least 4.5. */
static const struct {
    const char *fill, *text;
} shades[PLOT_HEAT_STEPS] = {{"#991b1b", "#ffffff"}, {"#ef7b5a", "#111827"}, {"#fdb97d", "#111827"},
                             {"#fde3c2", "#111827"}, {"#bfdcf2", "#111827"}, {"#1d5fa6", "#ffffff"}};
#define NO_FILL "#f3f4f6"

static size_t step_of(const plot_heat *h, double value) {
    size_t step = 0;
    while (step + 1 < PLOT_HEAT_STEPS && value >= h->steps[step + 1].from) step++;
    return step;
}

static void draw_legend(plot *p, const plot_heat *h, double y) {
    double x = LEFT;
    for (size_t s = 0; s < PLOT_HEAT_STEPS; s++) {
        plot_box(p, x, y - 13, 22, 16, shades[s].fill);
        plot_text(p, x + 29, y, (plot_style){.colour = "#111827", .size = 14}, h->steps[s].name);
        x += 48 + 8.0 * (double)strlen(h->steps[s].name);
    }
    plot_box(p, x, y - 13, 22, 16, NO_FILL);
    plot_text(p, x + 29, y, (plot_style){.colour = "#111827", .size = 14}, h->none_means);
}

static void draw_cell(plot *p, const plot_heat *h, const plot_cell *cell, double x, double y, double width, double height) {
    const bool is_none = cell->value < 0;
    const size_t step = step_of(h, cell->value);
    const char *colour = shades[step].text;
    const double middle = x + width / 2;
    plot_box(p, x, y, width, height, is_none ? NO_FILL : shades[step].fill);
    if (is_none) {
        plot_text(p, middle, y + height / 2 + 5, (plot_style){.colour = "#4b5563", .size = 15, .anchor = PLOT_MIDDLE},
                  cell->text);
        return;
    }
    plot_text(p, middle, y + (*cell->below ? 15 : height / 2 + 5),
              (plot_style){.colour = colour, .size = 15, .anchor = PLOT_MIDDLE, .bold = cell->marked}, cell->text);
    if (*cell->below)
        plot_text(p, middle, y + 28, (plot_style){.colour = colour, .size = 11, .anchor = PLOT_MIDDLE}, cell->below);
}

void plot_draw_heat(plot *p, const plot_heat *h) {
    const double room = (PLOT_WIDTH - LEFT - MARGIN) / (double)h->columns;
    const double width = room < MOST_CELL ? room : MOST_CELL, height = h->has_below ? ROW : LOW_ROW;
    const double top = p->y + 182;
    plot_text(p, MARGIN, p->y + 46, title_style, h->title);
    plot_text(p, MARGIN, p->y + 72, subtitle_style, h->subtitle);
    plot_text(p, MARGIN, p->y + 94, subtitle_style, h->note);
    draw_legend(p, h, p->y + 128);
    for (size_t c = 0; c < h->columns; c++)
        plot_text(p, LEFT + width * ((double)c + 0.5), top - 10,
                  (plot_style){.colour = "#111827", .size = 15, .bold = true, .anchor = PLOT_MIDDLE}, h->column_names[c]);
    for (size_t r = 0; r < h->rows; r++) {
        const double y = top + height * (double)r;
        plot_text(p, LEFT - 12, y + height / 2 + 5, (plot_style){.colour = "#111827", .size = 15, .anchor = PLOT_END},
                  h->row_names[r]);
        for (size_t c = 0; c < h->columns; c++)
            draw_cell(p, h, &h->cells[r * h->columns + c], LEFT + width * (double)c, y, width - GAP, height - GAP);
    }
    p->y = top + height * (double)h->rows + 24;
}
