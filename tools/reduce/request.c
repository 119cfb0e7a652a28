/* SPDX-License-Identifier: MIT */
/* request.c: understanding the arguments of `tally reduce`. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "reduce.h"

/* ---- operators of the table ------------------------------------------------------------------ */

/* The op that gives the value at the index of an op that gives an index. */
static tally_op value_op(tally_op op) {
    switch ((int)op) {
    case TALLY_ARGMIN:
        return TALLY_MIN;
    case TALLY_ARGMAX:
        return TALLY_MAX;
    case TALLY_IAMAX:
        return TALLY_AMAX;
    default:
        return TALLY_OP_NONE;
    }
}

/* The op's place in the pass, to which it is added if need be; REDUCE_NO_TERM: there is no room. */
static uint32_t find_term(reduce_request *r, tally_op op) {
    for (uint32_t t = 0; t < r->term_count; t++)
        if (r->terms[t].op == op) return t;
    if (r->term_count == TALLY_MAX_TERMS) return REDUCE_NO_TERM;
    r->terms[r->term_count] =
        (tally_term_desc){.op = op, .out = r->types.out, .acc = r->types.acc, .accuracy = r->types.accuracy};
    return r->term_count++;
}

static cli_exit want_op(reduce_request *r, const char *list, const char *name) {
    tally_op op;
    if (!*name) return cli_usage("reduce '%s': an operator is empty; there are %s", list, cli_op_names().text);
    if (tally_op_from_name(name, &op) != TALLY_OK)
        return cli_usage("reduce: unknown operator %s; %s", name, cli_there_are(name, cli_op_names()).text);
    if (r->term_count && tally_op_inputs(op) != r->inputs)
        return cli_usage("reduce %s: %s reads %u files and %s %u: they cannot share a pass", list,
                         tally_op_name(r->terms[0].op), r->inputs, name, tally_op_inputs(op));
    r->inputs = tally_op_inputs(op);
    reduce_want want = {find_term(r, op), REDUCE_NO_TERM};
    /* Of segments an index stands alone. */
    const bool has_value = value_op(op) && r->form < REDUCE_AXES;
    const uint32_t value = has_value ? find_term(r, value_op(op)) : 0;
    if (r->want_count == TALLY_MAX_TERMS || want.term == REDUCE_NO_TERM || value == REDUCE_NO_TERM)
        return cli_usage("reduce %s: too many operators for a pass: at most %d, where argmin, argmax and iamax may count twice",
                         list, TALLY_MAX_TERMS);
    if (has_value) want.value_term = value;
    r->wants[r->want_count++] = want;
    return CLI_DONE;
}

static cli_exit want_list(reduce_request *r, const char *list) {
    char *copy = strdup(list), *at = copy;
    cli_exit code = copy ? CLI_DONE : CLI_FAILED;
    if (!copy) cli_report("out of memory");
    while (at && code == CLI_DONE) code = want_op(r, list, strsep(&at, ","));
    free(copy);
    return code;
}

/* Tells whether some op of the pass has the parameter. */
static bool has_param(const reduce_request *r, const char *name, cli_names *all) {
    const char *own;
    bool found = false;
    for (uint32_t t = 0; t < r->term_count; t++)
        for (uint32_t i = 0; (own = tally_op_param_name(r->terms[t].op, i, NULL)) != NULL; i++) {
            found = found || strcmp(own, name) == 0;
            if (!strstr(all->text, own)) cli_add_name(all, own);
        }
    return found;
}

static cli_exit check_params(const reduce_request *r, const char *list) {
    for (uint32_t i = 0; i < r->param_count; i++) {
        cli_names names = {""};
        if (has_param(r, r->params[i].name, &names)) continue;
        return cli_usage("--param %s: %s has no such parameter; %s", r->params[i].name, list,
                         cli_there_are(r->params[i].name, names).text);
    }
    return CLI_DONE;
}

static cli_exit understand_ops(const cli_options *options, const char *list, reduce_request *r) {
    const struct {
        const char *name, *value;
    } own[] = {{"combine", options->combine},
               {"identity", options->identity},
               {"finish", options->finish},
               {"inputs", options->inputs}};
    for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
        if (own[i].value) return cli_usage("--%s belongs to a custom op, and --load is missing", own[i].name);
    cli_exit code = want_list(r, list);
    if (code == CLI_DONE) code = check_params(r, list);
    if (code == CLI_DONE && r->types.out && r->want_count > 1)
        code = cli_usage("--out %s: the results of several operators keep their types", tally_dtype_name(r->types.out));
    if (code == CLI_DONE && r->types.out && value_op(r->terms[0].op))
        code = cli_usage("--out %s: %s gives an index, and keeps its type", tally_dtype_name(r->types.out), list);
    return code;
}

/* ---- the rest -------------------------------------------------------------------------------- */

static bool variant_exists(const char *name) {
    tally_variant_info info;
    for (size_t i = 0; tally_variant_get(i, &info) == TALLY_OK; i++)
        if (strcmp(info.name, name) == 0) return true;
    return strcmp(name, "auto") == 0;
}

static cli_exit understand_names(const cli_options *o, reduce_request *r) {
    const cli_exit code = cli_read_types(o, &r->types);
    if (code != CLI_DONE) return code;
    if (o->variant && !variant_exists(o->variant))
        return cli_usage("--variant %s: unknown variant; %s", o->variant,
                         cli_there_are(o->variant, cli_variant_names(CLI_REDUCE)).text);
    tally_variant_info info;
    for (size_t i = 0; o->variant && tally_variant_get(i, &info) == TALLY_OK; i++)
        if (strcmp(info.name, o->variant) == 0 && !info.canonical)
            return cli_usage(
                "--variant %s: does not combine in the canonical order, which files are reduced in; study takes it",
                o->variant);
    return CLI_DONE;
}

static cli_exit check_files(const reduce_request *r, const char *what) {
    int streams = 0;
    if (r->file_count == 0) return cli_usage("reduce %s: no file; - is standard input", what);
    if (r->file_count % (int)r->inputs)
        return cli_usage("reduce %s: each result needs %u files, and %d %s named", what, r->inputs, r->file_count,
                         r->file_count == 1 ? "is" : "are");
    for (int i = 0; i < r->file_count; i++) streams += strcmp(r->files[i], "-") == 0;
    streams += (r->by && strcmp(r->by, "-") == 0) + (r->where && strcmp(r->where, "-") == 0);
    if (streams > 1) return cli_usage("reduce: standard input, -, can be named only once");
    if (r->output && r->want_count > 1) return cli_usage("--output %s: a file has the values of one operator", r->output);
    if (r->output && r->file_count > (int)r->inputs)
        return cli_usage("--output %s: one result is written, and %d are asked for", r->output, r->file_count / (int)r->inputs);
    return CLI_DONE;
}

cli_exit reduce_understand(const cli_options *options, int count, char *const *operands, reduce_request *r) {
    tally_op op;
    const bool custom = options->load != NULL;
    *r = (reduce_request){.variant = options->variant, .json = options->json, .quiet = options->quiet};
    if (r->json && r->quiet) return cli_usage("reduce: --json and --quiet exclude each other");
    if (!custom && count == 0) return cli_usage("reduce: no operator; there are %s", cli_op_names().text);
    if (custom && count && tally_op_from_name(operands[0], &op) == TALLY_OK && access(operands[0], F_OK))
        return cli_usage("reduce %s: with --load there is no other operator, and there is no file of that name", operands[0]);
    cli_exit code = understand_names(options, r);
    if (code == CLI_DONE) code = reduce_understand_form(options, r);
    for (int i = 0; i < options->param_count && code == CLI_DONE; i++)
        code = cli_read_param(options->params[i], custom, r->params, &r->param_count);
    if (code == CLI_DONE) code = custom ? reduce_understand_custom(options, r) : understand_ops(options, operands[0], r);
    r->file_count = custom ? count : count - 1;
    r->files = custom ? operands : operands + 1;
    return code == CLI_DONE ? check_files(r, custom ? "--load" : operands[0]) : code;
}

void reduce_forget(reduce_request *r) {
    tally_op_destroy(r->custom);
    for (uint32_t i = 0; i < r->param_count; i++) free((char *)(uintptr_t)r->params[i].name);
    *r = (reduce_request){0};
}
