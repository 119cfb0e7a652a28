/* SPDX-License-Identifier: MIT */
/* forms_run.c: the cells of a grid's forms on a device. One form comes after another, and within it
 * one type, so that the arrays are filled few times. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/forms.h"
#include "tools/print/progress.h"
#include "tools/print/units.h"

/* Sets a cell's shape. Returns 0 if the options leave it out, if it has no segment, or if it does
 * not fit the device. */
static int cell_shape(const bench_options *o, const tally_device_info *device, const bench_form *form, tally_op op,
                      tally_dtype in, bench_segments *out) {
    if (!is_listed(o->ops, tally_op_name(op)) || !is_listed(o->types, tally_dtype_name(in))) return 0;
    if (((in == TALLY_F64 || in == TALLY_C128) && !device->has_f64) || !form_takes(form, op, in)) return 0;
    form_shape(form, op, in, o->sizes.count ? o->sizes.n[0] : 0, o->bytes ? o->bytes : FORM_BYTES, out);
    for (int a = 0; a < ARRAYS && out->n; a++)
        if (!bench_fits(device, form_array_bytes(out, a))) return 0;
    return out->n > 0;
}

/* Returns true if the form is listed, and no whole array. */
static int has_form(const bench_options *o, const bench_form *form) {
    return form->primitive != BENCH_REDUCE && o->forms && is_listed(o->forms, form->name);
}

/* ---- plans ----------------------------------------------------------------------------------- */

int forms_add(const bench_options *o, tally_context *context, const tally_device_info *device, bench_results *results) {
    bench_segments s;
    int failed = 0;
    for (const bench_form *form = bench_forms; form->name; form++) {
        const size_t before = results->compile_count;
        if (!has_form(o, form)) continue;
        for (tally_dtype in = TALLY_DTYPE_DEFAULT + 1; in < TALLY_DTYPE_END; in++)
            for (tally_op op = TALLY_OP_NONE + 1; op < TALLY_OP_END; op++)
                if (cell_shape(o, device, form, op, in, &s))
                    failed += compile_add(results, &(bench_compile){.device = device,
                                                                    .context = context,
                                                                    .form = form,
                                                                    .task = form_task(form, op),
                                                                    .in = in,
                                                                    .n = s.n});
        if (results->compile_count == before)
            fprintf(stderr, "tally_bench: %s by %s:%d: no cell: too few or too many items, or no operator that it takes\n",
                    form->name, device->backend, device->index);
    }
    return failed;
}

/* ---- timing ---------------------------------------------------------------------------------- */

typedef struct forms_bench {
    const bench_options *options;
    bench_results *results;
    bench_input input;
    bench_segments segments;
    input_items items;
    sent_items sent;
    uint64_t *offsets, room;
    const bench_form *map_form; /* what ARRAY_MAP has, and for how many items */
    uint64_t map_n, map_count;
} forms_bench;

static int complain(void) {
    progress_erase();
    fprintf(stderr, "tally_bench: %s\n", tally_last_error());
    return 1;
}

/* Fills the inputs, and the map, and sends to the device what it does not have. */
static int make_input(forms_bench *b, const bench_form *form) {
    bench_segments *s = &b->segments;
    const int inputs = (int)tally_op_inputs(s->op);
    input_fill(&b->items, INPUT_WHOLE, s->in, s->n, 1, inputs);
    if (bench_send_items(&b->items, &b->input, inputs, &b->sent)) return complain();
    if (b->map_form == form && b->map_n == s->n) {
        if (s->cut == CUT_LENGTHS) s->count = b->map_count, s->offsets = b->offsets;
        return 0;
    }
    b->map_form = NULL;
    if (form_fill_map(s, b->items.host[ARRAY_MAP], b->offsets, b->room))
        return fprintf(stderr, "tally_bench: %s: there are too many segments\n", s->name), 1;
    if (bench_send(&b->input, ARRAY_MAP, 0, form_array_bytes(s, ARRAY_MAP))) return complain();
    b->map_form = form;
    b->map_n = s->n;
    b->map_count = s->count;
    return 0;
}

/* Times a cell, and keeps its report. */
static int time_cell(forms_bench *b) {
    bench_engine ours;
    bench_report report = {.input = b->input, .blocks = b->options->blocks, .count = 1, .names = {"tally"}};
    if (segments_ours_open(&b->input, &ours)) return 1;
    const int failed = form_check(&b->input, &ours) || measure(NULL, &ours, 1, b->options, 1, report.timings) ||
                       form_check(&b->input, &ours) || measure_ceiling(b->options, &b->input, &report.ceiling);
    report.variant = segments_ours_variant(&ours);
    if (!failed && b->options->json) report_json(&report, compile_find(b->results, &b->input));
    fflush(stdout);
    ours.close(ours.state);
    return failed || keep_report(b->results, &report);
}

/* Returns the failures of one compile's cell: 0 or 1. */
static int run_cell(forms_bench *b, const bench_compile *c) {
    bench_segments *s = &b->segments;
    form_shape(c->form, c->task->op, c->in, c->n, 0, s);
    b->input.form = c->form;
    b->input.task = c->task;
    b->input.in = c->in;
    b->input.n = c->n;
    if (make_input(b, c->form)) return 1;
    b->input.bytes = form_bytes(s);
    return time_cell(b);
}

/* Opens arrays that have room for every cell of the device. None, if it has no cells. */
static int open_arrays(forms_bench *b) {
    uint64_t bytes[ARRAYS] = {0}, most = 0;
    bench_segments s;
    for (size_t i = 0; i < b->results->compile_count; i++) {
        const bench_compile *c = &b->results->compiles[i];
        if (c->device != b->input.device || !c->form) continue;
        form_shape(c->form, c->task->op, c->in, c->n, 0, &s);
        if (s.count + 2 > b->room && s.cut == CUT_LENGTHS) b->room = s.count + 2;
        for (int a = 0; a < ARRAYS; a++) {
            const uint64_t needed = form_array_bytes(&s, a);
            if (needed > bytes[a]) bytes[a] = needed;
            if (needed > most) most = needed;
        }
    }
    if (!most) return 0;
    b->offsets = malloc(b->room * sizeof(*b->offsets) + 1);
    if (!b->offsets || input_open(&b->items, most)) return fprintf(stderr, "tally_bench: the items: %s\n", strerror(errno)), 1;
    for (int a = 0; a < ARRAYS; a++) {
        b->input.host[a] = b->items.host[a];
        if (bytes[a] && bench_open_buffer(&b->input, a, bytes[a])) return complain();
    }
    return 0;
}

int forms_run(const bench_options *options, tally_context *context, const tally_device_info *device, bench_results *results,
              int *cases) {
    forms_bench b = {.options = options,
                     .results = results,
                     .input = {.context = context, .device = device, .copies = 1, .segments = &b.segments}};
    int failed = open_arrays(&b);
    for (size_t i = 0; i < results->compile_count && b.input.buffer[ARRAY_OUT]; i++) {
        const bench_compile *c = &results->compiles[i];
        if (c->device != device || !c->form || is_stopped(results)) continue;
        progress_update(results->cells_done++);
        if (c->status == TALLY_E_UNSUPPORTED) continue;
        ++*cases;
        failed += run_cell(&b, c);
    }
    for (int a = 0; a < ARRAYS; a++) tally_buffer_destroy(b.input.buffer[a]);
    input_close(&b.items);
    free(b.offsets);
    return failed;
}
