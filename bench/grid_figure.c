/* SPDX-License-Identifier: MIT */
/* grid_figure.c: the grid of each device as a heat map. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "forms.h"
#include "grid.h"
#include "tools/print/plot.h"
#include "tools/print/units.h"

#define MOST_CELLS ((size_t)TALLY_OP_END * TALLY_DTYPE_END)

/* Fills in the cells. Returns true if some have a peer. */
static bool fill_cells(plot_cell *cells, const grid_axes *axes, const bench_results *results, const grid_key *key) {
    bool has_peers = false;
    for (int o = 0; o < axes->op_count; o++)
        for (int t = 0; t < axes->type_count; t++) {
            plot_cell *cell = &cells[o * axes->type_count + t];
            const bench_report *r = grid_cell(results, key, axes->ops[o], axes->types[t]);
            int which = 0;
            *cell = (plot_cell){.value = r ? grid_share(r) : -1};
            if (grid_is_missing(results, key, axes->ops[o], axes->types[t])) strcpy(cell->text, "?");
            if (!r) continue;
            cell->marked = grid_is_low(cell->value);
            snprintf(cell->text, sizeof(cell->text), "%.2f", cell->value);
            const double ratio = grid_peer(r, &which);
            if (ratio <= 0) continue;
            snprintf(cell->below, sizeof(cell->below), ratio < 10 ? "%.2fx" : "%.0fx", ratio);
            has_peers = true;
        }
    return has_peers;
}

static void draw(plot *p, plot_cell *cells, const bench_options *options, const bench_results *results, const grid_key *key) {
    const grid_axes axes = grid_axes_of(results, key, GRID_ALL);
    const grid_counts counts = grid_count(results, key);
    const char *rows[TALLY_OP_END], *columns[TALLY_DTYPE_END];
    char title[128], subtitle[400], note[240], missing[80] = "";
    if (!counts.cells) return;
    const bool has_peers = fill_cells(cells, &axes, results, key);
    for (int o = 0; o < axes.op_count; o++) rows[o] = tally_op_name(axes.ops[o]);
    for (int t = 0; t < axes.type_count; t++) columns[t] = tally_dtype_name(axes.types[t]);
    snprintf(title, sizeof(title), "Every operator and type by %s:%d, share of %s", key->device->backend, key->device->index,
             key->form && key->form->primitive == BENCH_SCAN ? "a copy" : "a kernel that only reads");
    snprintf(subtitle, sizeof(subtitle), "%s%s%s. %s, medians of %d blocks, results checked.", key->form ? key->form->text : "",
             key->form ? ". " : "", key->device->name, grid_size(options, results, key).text, options->blocks);
    if (counts.missing) snprintf(missing, sizeof(missing), " %d cells were not measured (?).", counts.missing);
    snprintf(note, sizeof(note), "%d of %d cells are below " GRID_BAR_TEXT " (bold).%s%s", counts.low, counts.cells, missing,
             has_peers ? " Small: times the speed of the fastest peer." : "");
    const plot_heat heat = {.title = title,
                            .subtitle = subtitle,
                            .note = note,
                            .rows = (size_t)axes.op_count,
                            .columns = (size_t)axes.type_count,
                            .row_names = rows,
                            .column_names = columns,
                            .steps = {{0, "below 0.25"},
                                      {0.25, "to 0.50"},
                                      {0.5, "to 0.75"},
                                      {0.75, "to 0.90"},
                                      {0.895, "0.90 to 1"},
                                      {0.995, "1 and more"}},
                            .none_means = "no such operation",
                            .cells = cells,
                            .has_below = has_peers};
    plot_draw_heat(p, &heat);
}

int grid_figure(const char *file, const bench_options *options, const bench_results *results, const grid_key *keys, int count) {
    plot p;
    plot_cell *cells = malloc(MOST_CELLS * sizeof(*cells));
    const char *wrong = cells && plot_begin(&p) ? NULL : "out of memory";
    for (int k = 0; k < count && !wrong; k++) draw(&p, cells, options, results, &keys[k]);
    if (!wrong) wrong = plot_end(&p, file, "tally bench --grid");
    if (wrong) fprintf(stderr, "tally_bench: %s: %s\n", file, wrong);
    free(cells);
    return wrong != NULL;
}
