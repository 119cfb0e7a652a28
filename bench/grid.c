/* SPDX-License-Identifier: MIT */
/* grid.c: the reports of a run as tables of operators by item types: the share of the speed of a
 * kernel that only reads, tally beside its peers, and the seconds of compiling. */
#include <stdio.h>
#include <string.h>

#include "forms.h"
#include "grid.h"
#include "tools/print/units.h"
#include "tools/print/wrap.h"

double grid_share(const bench_report *r) {
    const bench_timing *t = &r->timings[0];
    const double seconds = t->gpu_seconds > 0 ? t->gpu_seconds : t->seconds;
    return r->ceiling > 0 && seconds > 0 ? (double)report_bytes(&r->input) / seconds / r->ceiling : 0;
}

int grid_is_low(double share) {
    char text[16];
    /* The share as it is printed: no cell is marked that shows the bar itself. */
    snprintf(text, sizeof(text), "%.2f", share);
    return strcmp(text, GRID_BAR_TEXT) < 0;
}

double grid_peer(const bench_report *r, int *which) {
    double least = 0;
    for (int e = 1; e < r->count; e++) {
        const int by_gpu = r->timings[e].gpu_seconds > 0 && r->timings[0].gpu_seconds > 0;
        const double ratio =
            by_gpu ? r->timings[e].gpu_seconds / r->timings[0].gpu_seconds : r->timings[e].seconds / r->timings[0].seconds;
        if (least > 0 && ratio >= least) continue;
        least = ratio;
        *which = e;
    }
    return least;
}

/* ---- axes ------------------------------------------------------------------------------------ */

/* Returns the type's place among the columns: floats and complex types first, narrow ones before
 * wide ones. */
static int rank_of(tally_dtype type) {
    static const int kinds[] = {[TALLY_KIND_FLOAT] = 0,
                                [TALLY_KIND_COMPLEX] = 1,
                                [TALLY_KIND_SIGNED] = 2,
                                [TALLY_KIND_UNSIGNED] = 3,
                                [TALLY_KIND_BOOL] = 4};
    return 64 * kinds[tally_dtype_kind(type)] + (int)tally_dtype_bytes(type);
}

static int is_integer(tally_dtype type) {
    return rank_of(type) >= 128;
}

static int is_of(const bench_input *input, const grid_key *key) {
    return input->device == key->device && input->form == key->form;
}

const bench_report *grid_cell(const bench_results *results, const grid_key *key, tally_op op, tally_dtype in) {
    for (size_t i = 0; i < results->report_count; i++) {
        const bench_input *input = &results->reports[i].input;
        if (is_of(input, key) && input->task->op == op && input->in == in) return &results->reports[i];
    }
    return NULL;
}

int grid_is_missing(const bench_results *results, const grid_key *key, tally_op op, tally_dtype in) {
    for (size_t i = 0; i < results->compile_count; i++) {
        const bench_compile *c = &results->compiles[i];
        if (c->device != key->device || c->form != key->form || c->task->op != op || c->in != in) continue;
        return c->status != TALLY_E_UNSUPPORTED && !grid_cell(results, key, op, in);
    }
    return 0;
}

/* Returns true if the run has the cell. */
static int is_there(const bench_results *results, const grid_key *key, tally_op op, tally_dtype in) {
    return grid_cell(results, key, op, in) || grid_is_missing(results, key, op, in);
}

grid_axes grid_axes_of(const bench_results *results, const grid_key *key, grid_part part) {
    grid_axes axes = {.op_count = 0};
    for (tally_dtype in = TALLY_DTYPE_DEFAULT + 1; in < TALLY_DTYPE_END; in++) {
        int has_any = 0, at = axes.type_count;
        for (tally_op op = TALLY_OP_NONE + 1; op < TALLY_OP_END; op++) has_any |= is_there(results, key, op, in);
        if (!has_any || (part == GRID_FLOATS && is_integer(in)) || (part == GRID_INTEGERS && !is_integer(in))) continue;
        for (; at && rank_of(axes.types[at - 1]) > rank_of(in); at--) axes.types[at] = axes.types[at - 1];
        axes.types[at] = in;
        axes.type_count++;
    }
    for (tally_op op = TALLY_OP_NONE + 1; op < TALLY_OP_END; op++) {
        int has_any = 0;
        for (int t = 0; t < axes.type_count; t++) has_any |= is_there(results, key, op, axes.types[t]);
        if (has_any) axes.ops[axes.op_count++] = op;
    }
    return axes;
}

grid_counts grid_count(const bench_results *results, const grid_key *key) {
    grid_counts counts = {0};
    for (size_t i = 0; i < results->report_count; i++) {
        if (!is_of(&results->reports[i].input, key)) continue;
        counts.cells++;
        counts.low += grid_is_low(grid_share(&results->reports[i]));
    }
    for (size_t i = 0; i < results->compile_count; i++) {
        const bench_compile *c = &results->compiles[i];
        counts.missing += c->device == key->device && c->form == key->form && grid_is_missing(results, key, c->task->op, c->in);
    }
    return counts;
}

/* ---- tables ---------------------------------------------------------------------------------- */

#define NAME_COLUMNS 13

/* Formats a cell in 7 columns. */
typedef void cell_text(char text[16], const bench_results *results, const bench_report *r);

static void share_text(char text[16], const bench_results *results, const bench_report *r) {
    const double share = grid_share(r);
    (void)results;
    snprintf(text, 16, "%6.2f%c", share, grid_is_low(share) ? '*' : ' ');
}

static void seconds_text(char text[16], const bench_results *results, const bench_report *r) {
    const bench_compile *c = compile_find(results, &r->input);
    snprintf(text, 16, "%6.2f ", c ? c->plan_seconds + c->call_seconds : 0);
}

/* Prints a line without the blanks at its end. */
static void print_line(FILE *out, char *line) {
    size_t length = strlen(line);
    while (length && line[length - 1] == ' ') length--;
    fprintf(out, "%.*s\n", (int)length, line);
}

static void print_table(FILE *out, const bench_results *results, const grid_key *key, grid_part part, cell_text *text_of) {
    const grid_axes axes = grid_axes_of(results, key, part);
    char line[256];
    if (!axes.op_count) return;
    int at = snprintf(line, sizeof(line), "%-*s", NAME_COLUMNS, part == GRID_FLOATS ? "floats" : "integers");
    for (int t = 0; t < axes.type_count; t++)
        at += snprintf(line + at, sizeof(line) - (size_t)at, "%6s ", tally_dtype_name(axes.types[t]));
    print_line(out, line);
    for (int o = 0; o < axes.op_count; o++) {
        at = snprintf(line, sizeof(line), "%-*s", NAME_COLUMNS, tally_op_name(axes.ops[o]));
        for (int t = 0; t < axes.type_count; t++) {
            const bench_report *r = grid_cell(results, key, axes.ops[o], axes.types[t]);
            char text[16] = "     - ";
            if (grid_is_missing(results, key, axes.ops[o], axes.types[t])) memcpy(text, "     ? ", 8);
            if (r) text_of(text, results, r);
            at += snprintf(line + at, sizeof(line) - (size_t)at, "%s", text);
        }
        print_line(out, line);
    }
    fputc('\n', out);
}

/* Prints a line for each cell that peers have too. */
static void print_peers(FILE *out, const bench_results *results, const grid_key *key) {
    const grid_axes axes = grid_axes_of(results, key, GRID_ALL);
    int count = 0;
    for (int o = 0; o < axes.op_count; o++)
        for (int t = 0; t < axes.type_count; t++) {
            const bench_report *r = grid_cell(results, key, axes.ops[o], axes.types[t]);
            if (!r || r->count < 2) continue;
            if (!count++) fputs("tally's speed by the peer's\n", out);
            fprintf(out, "%-*s%6s  ", NAME_COLUMNS, tally_op_name(axes.ops[o]), tally_dtype_name(axes.types[t]));
            for (int e = 1; e < r->count; e++) {
                bench_report one = *r;
                int which = 1;
                one.count = 2;
                one.timings[1] = r->timings[e];
                fprintf(out, "%s%s %.2f", e > 1 ? ", " : "", r->names[e], grid_peer(&one, &which));
            }
            fputc('\n', out);
        }
    if (count) fputc('\n', out);
}

static uint64_t bytes_of(const bench_results *results, const grid_key *key) {
    for (size_t i = 0; i < results->report_count; i++) {
        const bench_input *input = &results->reports[i].input;
        if (is_of(input, key)) return input->n * tally_dtype_bytes(input->in);
    }
    return 0;
}

const char *grid_beside(const grid_key *key) {
    return key->form && key->form->primitive == BENCH_SCAN ? "a copy of as many bytes"
                                                           : "a kernel that only reads the same bytes";
}

grid_text grid_size(const bench_options *options, const bench_results *results, const grid_key *key) {
    grid_text out;
    if (options->sizes.count)
        snprintf(out.text, sizeof(out.text), "%s items", units_items(options->sizes.n[0]).text);
    else if (key->form)
        snprintf(out.text, sizeof(out.text), "arrays of up to %s",
                 units_bytes(options->bytes ? options->bytes : FORM_BYTES).text);
    else
        snprintf(out.text, sizeof(out.text), "%s each input", units_bytes(bytes_of(results, key)).text);
    return out;
}

void grid_print(FILE *out, const bench_options *options, const bench_results *results, const grid_key *key) {
    const grid_counts counts = grid_count(results, key);
    if (!counts.cells) return;
    const tally_device_info *device = key->device;
    wrap_printf(out, "%s:%d: %s, %s", device->backend, device->index, device->name, device->driver);
    if (key->form) wrap_printf(out, "%s: %s", key->form->name, key->form->text);
    wrap_printf(out, "share of the speed of %s; %s; medians of %d blocks", grid_beside(key),
                grid_size(options, results, key).text, options->blocks);
    fprintf(out, "* below " GRID_BAR_TEXT ": %d of %d cells\n", counts.low, counts.cells);
    if (counts.missing) fprintf(out, "? not measured: %d cells\n", counts.missing);
    fputc('\n', out);
    print_table(out, results, key, GRID_FLOATS, share_text);
    print_table(out, results, key, GRID_INTEGERS, share_text);
    print_peers(out, results, key);
    if (!options->compile) return;
    wrap_printf(out, "seconds of making the plan and of its first call, on %d threads at once (all devices: %.1f s)",
                results->compile_threads, results->compile_seconds);
    print_table(out, results, key, GRID_FLOATS, seconds_text);
    print_table(out, results, key, GRID_INTEGERS, seconds_text);
}

void grid_json(const bench_options *options, const bench_results *results, const grid_key *key) {
    const grid_counts counts = grid_count(results, key);
    const grid_axes axes = grid_axes_of(results, key, GRID_ALL);
    char select[64];
    snprintf(select, sizeof(select), "%s:%d", key->device->backend, key->device->index);
    printf("{");
    report_json_text("grid", select);
    printf(", ");
    if (key->form) report_json_text("form", key->form->name), printf(", ");
    report_json_text("device", key->device->name);
    printf(", \"bar\": " GRID_BAR_TEXT ", \"cells\": %d, \"below_bar\": %d, \"bytes\": %llu, \"blocks\": %d, ", counts.cells,
           counts.low, (unsigned long long)(key->form ? options->bytes ? options->bytes : FORM_BYTES : bytes_of(results, key)),
           options->blocks);
    printf("\"compile_threads\": %d, \"compile_seconds\": %.3f, \"dtypes\": [", results->compile_threads,
           results->compile_seconds);
    for (int t = 0; t < axes.type_count; t++) printf("%s\"%s\"", t ? ", " : "", tally_dtype_name(axes.types[t]));
    printf("], \"ops\": [");
    for (int o = 0; o < axes.op_count; o++) printf("%s\"%s\"", o ? ", " : "", tally_op_name(axes.ops[o]));
    printf("], \"not_measured\": [");
    int count = 0;
    for (int o = 0; o < axes.op_count; o++)
        for (int t = 0; t < axes.type_count; t++)
            if (grid_is_missing(results, key, axes.ops[o], axes.types[t]))
                printf("%s[\"%s\", \"%s\"]", count++ ? ", " : "", tally_op_name(axes.ops[o]), tally_dtype_name(axes.types[t]));
    printf("]}\n");
}
