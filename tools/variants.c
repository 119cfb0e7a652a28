/* SPDX-License-Identifier: MIT */
/* variants.c: `tally variants`. It tests each variant on the device by making a plan for a sum of
 * f32, reduced or scanned. */
#include <stdio.h>
#include <string.h>

#include "cli.h"
#include "tools/print/progress.h"
#include "tools/print/wrap.h"

#define WITH_VARIANTS (CLI_SCAN + 1)

typedef struct device_view {
    tally_context *context; /* NULL: no device */
    char device[40];
    char automatic[WITH_VARIANTS][64];
    char reason[1024]; /* reason of the missing device */
} device_view;

static tally_status make_plan(tally_context *context, cli_primitive of, const char *variant, tally_plan **plan) {
    const tally_reduce_desc reduce = {.size = sizeof(reduce), .op = TALLY_SUM, .in = TALLY_F32, .max_n = 1, .variant = variant};
    const tally_scan_desc scan = {.size = sizeof(scan), .op = TALLY_SUM, .in = TALLY_F32, .max_n = 1, .variant = variant};
    return of == CLI_SCAN ? tally_scan_plan_create(context, &scan, plan) : tally_plan_create(context, &reduce, plan);
}

static bool try_variant(tally_context *context, cli_primitive of, const char *variant, char *used, size_t used_bytes) {
    tally_plan *plan = NULL;
    if (make_plan(context, of, variant, &plan) != TALLY_OK) return false;
    if (used) snprintf(used, used_bytes, "%s", tally_plan_variant(plan));
    tally_plan_destroy(plan);
    return true;
}

static cli_exit view_device(const cli_options *options, device_view *out) {
    tally_context_info info;
    if (options->backend) {
        const cli_exit code = cli_open(options, &out->context);
        if (code != CLI_DONE) return code;
    } else if (tally_context_create(NULL, &out->context) != TALLY_OK) {
        out->context = NULL;
        snprintf(out->reason, sizeof(out->reason), "%.1023s", cli_last_error().text);
        return CLI_DONE;
    }
    if (tally_context_get_info(out->context, &info) == TALLY_OK)
        snprintf(out->device, sizeof(out->device), "%s:%d", info.device.backend, info.device.index);
    return CLI_DONE;
}

/* Compiles every variant, which takes seconds without a cache. The plans that the rows are printed
 * by then have their programs. */
static void compile_all(device_view *view, bool quiet) {
    tally_variant_info v;
    if (!quiet) progress_wait(PROGRESS_COMPILING);
    for (cli_primitive of = 0; of < WITH_VARIANTS; of++) {
        try_variant(view->context, of, "auto", view->automatic[of], sizeof(view->automatic[of]));
        for (size_t i = 0; cli_variant_get(of, i, &v); i++) try_variant(view->context, of, v.name, NULL, 0);
    }
    progress_end();
}

static void add_rows(const device_view *view, cli_primitive of, json_object *rows) {
    tally_variant_info v;
    for (size_t i = 0; cli_variant_get(of, i, &v); i++) {
        json_object *o = json_object_new_object();
        const bool runs = view->context && try_variant(view->context, of, v.name, NULL, 0);
        json_object_object_add(o, "primitive", cli_json_text(cli_primitive_names[of]));
        json_object_object_add(o, "name", cli_json_text(v.name));
        json_object_object_add(o, "stem", cli_json_text(v.stem));
        json_object_object_add(o, "step", cli_json_text(v.step));
        json_object_object_add(o, "source", cli_json_text(v.source));
        json_object_object_add(o, "finish", cli_json_text(v.finish));
        json_object_object_add(o, "why", cli_json_text(v.why));
        json_object_object_add(o, "group_threads", json_object_new_int64(v.group_threads));
        json_object_object_add(o, "factor", v.factor ? json_object_new_int64(v.factor) : NULL);
        json_object_object_add(o, "canonical", json_object_new_boolean(v.canonical));
        json_object_object_add(o, "runs", view->context ? json_object_new_boolean(runs) : NULL);
        json_object_object_add(o, "reason", view->context && !runs ? cli_json_text(cli_last_error().text) : NULL);
        json_object_array_add(rows, o);
    }
}

static void print_json(const device_view *view) {
    json_object *all = json_object_new_object(), *rows = json_object_new_array();
    for (cli_primitive of = 0; of < WITH_VARIANTS; of++) add_rows(view, of, rows);
    json_object_object_add(all, "variants", rows);
    json_object_object_add(all, "device", view->context ? cli_json_text(view->device) : NULL);
    for (cli_primitive of = 0; of < WITH_VARIANTS; of++)
        json_object_object_add(all, of == CLI_SCAN ? "auto_scan" : "auto",
                               *view->automatic[of] ? cli_json_text(view->automatic[of]) : NULL);
    json_object_object_add(all, "reason", view->context ? NULL : cli_json_text(view->reason));
    cli_print_json(all);
}

#define ROW "%c %-19s %-19s %5s %6s  %-12s  %-9s  %s\n"

static void print_about(const char *word, const char *text) {
    printf("    %-5s ", word);
    wrap_print(stdout, 10, 10, WRAP_COLUMNS, text);
}

static void print_rows(const device_view *view, cli_primitive of) {
    tally_variant_info v;
    printf(ROW, ' ', cli_primitive_names[of], "stem", "group", "factor", "finish", "canonical",
           view->context ? view->device : "");
    for (size_t i = 0; cli_variant_get(of, i, &v); i++) {
        const bool runs = view->context && try_variant(view->context, of, v.name, NULL, 0);
        char group[16], factor[16] = "";
        snprintf(group, sizeof(group), "%u", v.group_threads);
        if (v.factor) snprintf(factor, sizeof(factor), "%u", v.factor);
        printf(ROW, strcmp(v.name, view->automatic[of]) ? ' ' : '*', v.name, v.stem, group, factor, v.finish,
               v.canonical ? "yes" : "no",
               !view->context ? ""
               : runs         ? "runs"
                              : "no");
        if (view->context && !runs) print_about("not:", tally_last_error());
        print_about("step:", v.step);
        print_about("why:", v.why);
        if (*v.source) printf("    from: document %s\n", v.source);
    }
}

static void print_table(const device_view *view) {
    for (cli_primitive of = 0; of < WITH_VARIANTS; of++) {
        if (of) printf("\n");
        print_rows(view, of);
    }
    if (!view->context)
        wrap_printf(stdout, "auto picks none: %s", view->reason);
    else
        printf("* is what auto picks on %s\n", view->device);
}

cli_exit cli_variants(const cli_options *options, int count, char **operands) {
    (void)count, (void)operands;
    device_view view = {0};
    const cli_exit code = view_device(options, &view);
    if (code != CLI_DONE) return code;
    if (view.context) compile_all(&view, options->json);
    if (options->json)
        print_json(&view);
    else
        print_table(&view);
    tally_context_destroy(view.context);
    return CLI_DONE;
}
