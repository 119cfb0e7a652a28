/* SPDX-License-Identifier: MIT */
/* request.c: parses the arguments of `tally scan`. */
#include <stdlib.h>
#include <string.h>

#include "scan.h"
#include "tools/files/npy.h"

/* ---- names ----------------------------------------------------------------------------------- */

static cli_names op_names(void) {
    cli_names names = {""};
    for (tally_op op = 1; op < TALLY_OP_END; op++)
        if (tally_op_inputs(op) == 1) cli_add_name(&names, tally_op_name(op));
    return names;
}

static cli_exit check_variant(const char *name) {
    tally_variant_info info;
    if (!name || strcmp(name, "auto") == 0) return CLI_DONE;
    for (size_t i = 0; cli_variant_get(CLI_SCAN, i, &info); i++) {
        if (strcmp(info.name, name) != 0) continue;
        return info.canonical
                   ? CLI_DONE
                   : cli_usage("--variant %s: does not combine in the canonical order, which files are scanned in", name);
    }
    return cli_usage("--variant %s: unknown variant of scans; %s", name, cli_there_are(name, cli_variant_names(CLI_SCAN)).text);
}

static cli_exit check_params(const scan_request *r) {
    for (uint32_t i = 0; i < r->param_count; i++) {
        const char *own, *name = r->params[i].name;
        cli_names names = {""};
        uint32_t p = 0;
        for (; (own = tally_op_param_name(r->op, p, NULL)) != NULL && strcmp(own, name) != 0; p++) cli_add_name(&names, own);
        if (!own)
            return cli_usage("--param %s: %s has no such parameter; %s", name, tally_op_name(r->op),
                             cli_there_are(name, names).text);
    }
    return CLI_DONE;
}

static cli_exit read_op(const char *name, tally_op *op) {
    if (tally_op_from_name(name, op) != TALLY_OK)
        return cli_usage("scan: unknown operator %s; %s", name, cli_there_are(name, op_names()).text);
    if (tally_op_inputs(*op) != 1)
        return cli_usage("scan %s: it reads %u files, and a scan reads one; there are %s", name, tally_op_inputs(*op),
                         op_names().text);
    return CLI_DONE;
}

/* ---- the axis -------------------------------------------------------------------------------- */

static cli_exit read_axis(const char *text, scan_request *r) {
    char *end;
    r->has_axis = text != NULL;
    if (!text) return CLI_DONE;
    const long axis = strtol(text, &end, 10);
    if (end == text || *end || axis < -NPY_DIMENSION_LIMIT || axis >= NPY_DIMENSION_LIMIT)
        return cli_usage("--axis %s: a scan is along one axis, a whole number: 0, or -1 for the last", text);
    r->axis = (int)axis;
    return CLI_DONE;
}

/* ---- the initial value ----------------------------------------------------------------------- */

bool scan_read_initial(const scan_request *r, tally_dtype dtype, void *item) {
    if (cli_value_read(dtype, r->initial, item)) return true;
    cli_report("--initial %s: this is no %s, the type of the items in %s: %s", r->initial, tally_dtype_name(dtype), r->path,
               cli_value_needed(dtype).text);
    return false;
}

/* ---- all arguments --------------------------------------------------------------------------- */

cli_exit scan_understand(const cli_options *options, int count, char *const *operands, scan_request *r) {
    *r = (scan_request){.variant = options->variant,
                        .output = options->output,
                        .initial = options->initial,
                        .json = options->json,
                        .flags = (options->exclusive ? (uint32_t)TALLY_EXCLUSIVE : 0) |
                                 (options->reverse ? (uint32_t)TALLY_REVERSE : 0)};
    if (count == 0) return cli_usage("scan: no operator; there are %s", op_names().text);
    cli_exit code = read_op(operands[0], &r->op);
    if (code == CLI_DONE) code = cli_read_types(options, &r->types);
    if (code == CLI_DONE) code = check_variant(options->variant);
    if (code == CLI_DONE) code = read_axis(options->axis, r);
    for (int i = 0; i < options->param_count && code == CLI_DONE; i++)
        code = cli_read_param(options->params[i], false, r->params, &r->param_count);
    if (code == CLI_DONE) code = check_params(r);
    if (code != CLI_DONE) return code;
    if (count == 1) return cli_usage("scan %s: no file; - is standard input", operands[0]);
    if (count > 2) return cli_usage("scan %s: one file, and %d are named", operands[0], count - 1);
    if (!r->output) return cli_usage("scan %s: where the values go is missing: -o OUT.npy", operands[0]);
    if (strcmp(r->output, "-") == 0) return cli_usage("-o -: a file must be named: scan writes no standard output");
    if (r->initial && !options->exclusive) return cli_usage("--initial %s: only with --exclusive", r->initial);
    r->path = operands[1];
    return CLI_DONE;
}

void scan_forget(scan_request *r) {
    for (uint32_t i = 0; i < r->param_count; i++) free((char *)(uintptr_t)r->params[i].name);
    *r = (scan_request){0};
}
