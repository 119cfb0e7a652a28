/* SPDX-License-Identifier: MIT */
/* study.c: `tally study` checks, times and compares the ladder of variants, or the rows of another
 * primitive, on one or more devices. */
#include "study.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/print/new_file.h"
#include "tools/print/plot.h"

#define DEFAULT_N ((uint64_t)3 << 22) /* document 003's */
#define DEFAULT_RUNS 15
#define LEAST_RUNS 7
#define MOST_RUNS 1000
#define LEAST_GROUP 32
#define MOST_GROUP 1024
#define MOST_FACTOR 65536
#define MOST_N (UINT64_C(1) << 40)
#define MOST_DEVICES 16

/* ---- arguments ------------------------------------------------------------------------------- */

static cli_exit read_primitive(const char *name, cli_primitive *out) {
    cli_names names = {""};
    *out = CLI_REDUCE;
    for (int p = 0; p < CLI_PRIMITIVES; p++) {
        cli_add_name(&names, cli_primitive_names[p]);
        if (name && strcmp(name, cli_primitive_names[p]) == 0) *out = (cli_primitive)p, name = NULL;
    }
    return name ? cli_usage("--primitive %s: the study is of one; %s", name, cli_there_are(name, names).text) : CLI_DONE;
}

static cli_names row_names(const study_request *r) {
    cli_names names = {""};
    tally_variant_info v;
    if (r->primitive <= CLI_SCAN) cli_add_name(&names, STUDY_AUTO);
    for (size_t i = 0; study_row_get(r, i, &v); i++) cli_add_name(&names, v.name);
    return names;
}

static bool row_exists(const study_request *r, const char *name) {
    tally_variant_info v;
    for (size_t i = 0; study_row_get(r, i, &v); i++)
        if (strcmp(v.name, name) == 0) return true;
    return r->primitive <= CLI_SCAN && strcmp(name, STUDY_AUTO) == 0;
}

static cli_exit check_rows(const study_request *r) {
    for (const char *at = r->variants; at;) {
        const size_t length = strcspn(at, ",");
        cli_value name; /* a truncated name matches no row's name */
        snprintf(name.text, sizeof(name.text), "%.*s", (int)length, at);
        if (!row_exists(r, name.text))
            return cli_usage("--variant %s: unknown %s of %s; %s", name.text, study_row_word(r),
                             cli_primitive_names[r->primitive], cli_there_are(name.text, row_names(r)).text);
        at = at[length] ? at + length + 1 : NULL;
    }
    return CLI_DONE;
}

static cli_exit check_plot(const char *file) {
    return !file || plot_is_svg(file) ? CLI_DONE : cli_usage("--plot %s: " PLOT_NEEDED, file);
}

/* Checks the options that only some primitives have. */
static cli_exit check_primitive(const cli_options *options, const study_request *r) {
    const char *of = cli_primitive_names[r->primitive];
    if (r->primitive != CLI_REDUCE && (options->group || options->factor))
        return cli_usage("--%s %s: of reductions alone, not of %s", options->group ? "group" : "factor",
                         options->group ? options->group : options->factor, of);
    if (r->primitive == CLI_SEGMENTS && options->sweep)
        return cli_usage("--sweep: of segments the lengths are swept in any case, and all items are reduced");
    if (r->primitive > CLI_SEGMENTS)
        return options->op ? cli_usage("--op %s: a %s has no operator", options->op, of) : CLI_DONE;
    if (tally_op_inputs(r->op) > 1) return cli_usage("--op %s: the study is of operators of one input", options->op);
    if (tally_result_dtype(r->op, r->dtype) == TALLY_DTYPE_DEFAULT)
        return cli_usage("--op %s --dtype %s: %s does not take these items", tally_op_name(r->op), tally_dtype_name(r->dtype),
                         tally_op_name(r->op));
    return CLI_DONE;
}

static cli_exit understand(const cli_options *options, study_request *r) {
    uint64_t n = DEFAULT_N, group = 0, factor = 0, runs = DEFAULT_RUNS;
    *r = (study_request){.op = TALLY_SUM,
                         .dtype = TALLY_F32,
                         .variants = options->variant,
                         .plot = options->plot,
                         .json = options->json,
                         .csv = options->csv};
    cli_exit code = read_primitive(options->primitive, &r->primitive);
    if (code != CLI_DONE) return code;
    if (options->op && tally_op_from_name(options->op, &r->op) != TALLY_OK)
        return cli_usage("--op %s: unknown operator; %s", options->op, cli_there_are(options->op, cli_op_names()).text);
    if (options->dtype && tally_dtype_from_name(options->dtype, &r->dtype) != TALLY_OK)
        return cli_usage("--dtype %s: unknown item type; %s", options->dtype,
                         cli_there_are(options->dtype, cli_dtype_names()).text);
    code = check_primitive(options, r);
    if (options->json && options->csv) return cli_usage("study: --json and --csv exclude each other");
    if (code == CLI_DONE) code = cli_read_count("n", options->n, 1, MOST_N, &n);
    if (code == CLI_DONE) code = cli_read_count("group", options->group, LEAST_GROUP, MOST_GROUP, &group);
    if (code == CLI_DONE && (group & (group - 1)))
        code = cli_usage("--group %s: a power of two from %d to %d is needed", options->group, LEAST_GROUP, MOST_GROUP);
    if (code == CLI_DONE) code = cli_read_count("factor", options->factor, 1, MOST_FACTOR, &factor);
    if (code == CLI_DONE) code = cli_read_count("runs", options->runs, LEAST_RUNS, MOST_RUNS, &runs);
    r->n = n;
    if (code == CLI_DONE) code = check_rows(r);
    if (code == CLI_DONE) code = check_plot(options->plot);
    r->group = (uint32_t)group;
    r->factor = (uint32_t)factor;
    r->runs = (uint32_t)runs;
    if (options->sweep) r->sweep_n = options->n ? n : STUDY_SWEEP_MOST;
    return code;
}

/* ---- the command ----------------------------------------------------------------------------- */

static size_t count_failed(const study_list *list) {
    size_t failed = 0;
    for (size_t i = 0; i < list->count; i++) failed += list->points[i].state == STUDY_FAILED;
    return failed;
}

static cli_exit judge(const study_device *d) {
    const size_t failed =
        count_failed(&d->ladder) + count_failed(&d->small) + count_failed(&d->sizes) + count_failed(&d->factors);
    if (!failed) return CLI_DONE;
    cli_report("study on %s: %zu results are wrong or missing, and have no figures", d->label, failed);
    return CLI_FAILED;
}

static void print(const study_request *r, const study_device *devices, size_t count) {
    if (r->csv) {
        study_print_csv(r, devices, count);
        return;
    }
    if (!r->json) study_print(r, devices, count);
    for (size_t i = 0; r->json && i < count; i++) study_print_json(r, &devices[i]);
}

/* Tests that a device is present before others are measured. */
static cli_exit try_device(const char *selection) {
    const cli_options options = {.backend = selection};
    tally_context *context = NULL;
    const cli_exit code = cli_open(&options, &context);
    tally_context_destroy(context);
    return code;
}

cli_exit cli_study(const cli_options *options, int count, char **operands) {
    (void)count, (void)operands;
    study_request request;
    study_device devices[MOST_DEVICES];
    size_t used = 0;
    char *copy = NULL, *selections[MOST_DEVICES] = {NULL};
    memset(devices, 0, sizeof(devices));
    cli_exit code = understand(options, &request);
    if (code != CLI_DONE) return code;
    if (options->backend && !(copy = strdup(options->backend))) return cli_report("out of memory"), CLI_FAILED;
    for (char *at = copy; at && code == CLI_DONE;) {
        if (used == MOST_DEVICES) code = cli_usage("--backend %s: at most %d devices", options->backend, MOST_DEVICES);
        char *end = strchr(at, ',');
        if (code == CLI_DONE && (!*at || at == end))
            code = cli_usage("--backend '%s': an entry is empty; for study the list means side by side", options->backend);
        if (end) *end++ = 0;
        if (code == CLI_DONE) selections[used++] = at;
        at = end;
    }
    if (!copy) used = 1;
    const char *wrong = code == CLI_DONE && request.plot ? new_file_check(request.plot) : NULL;
    if (wrong) {
        cli_report("%s: %s", request.plot, wrong);
        code = CLI_FAILED;
    }
    for (size_t i = 0; i < used && code == CLI_DONE && used > 1; i++) code = try_device(selections[i]);
    for (size_t i = 0; i < used && code == CLI_DONE; i++) code = study_device_measure(&request, selections[i], &devices[i]);
    if (code == CLI_DONE) {
        print(&request, devices, used);
        if (!cli_flush() || (request.plot && !study_plot(&request, devices, used))) code = CLI_FAILED;
        for (size_t i = 0; i < used; i++)
            if (judge(&devices[i]) != CLI_DONE) code = CLI_FAILED;
    }
    for (size_t i = 0; i < used; i++) study_device_close(&devices[i]);
    free(copy);
    return code;
}
