/* SPDX-License-Identifier: MIT */
/* custom.c: a custom op, from C expressions in options. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "reduce.h"

#define OWN_NAME "custom" /* the library's name for an operator without a name */

#define MOST_SHOWN 120 /* characters of an expression in an error */

/* The parts of a custom op: their words in the library's errors, and their options. The first ones
 * are expressions. */
#define EXPRESSIONS 4
static const struct {
    const char *word, *option;
} parts[] = {{"load", "load"},     {"combine", "combine"}, {"identity", "identity"},
             {"finish", "finish"}, {"parameter", "param"}, {"out", "out"}};

/* Replaces each `what` by `instead`, which is not longer and may be empty. */
static void replace(char *text, const char *what, const char *instead) {
    const size_t old = strlen(what), new = strlen(instead);
    for (char *at = text; (at = strstr(at, what)) != NULL; at += new) {
        memcpy(at, instead, new);
        memmove(at + new, at + old, strlen(at + old) + 1);
    }
}

/* Rewrites the library's error in terms of options. The library writes "op custom: load: ...", and
 * a compiler's message has "load of op custom:1:3: ...". */
static cli_text error_of_options(void) {
    cli_text error = cli_last_error();
    char what[64], instead[32];
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        snprintf(instead, sizeof(instead), "--%s", parts[i].option);
        snprintf(what, sizeof(what), "op " OWN_NAME ": %s", parts[i].word);
        replace(error.text, what, instead);
        snprintf(what, sizeof(what), "%s of op " OWN_NAME, parts[i].word);
        replace(error.text, what, instead);
    }
    replace(error.text, "op " OWN_NAME ": ", "");
    return error;
}

/* Finds where a compiler names the option as the place of an error: "--load:1:3" or "--load(1)".
 * NULL: nowhere. */
static const char *find_place(const char *text, const char *option) {
    char name[32];
    const int length = snprintf(name, sizeof(name), "--%s", option);
    for (const char *at = text; (at = strstr(at, name)) != NULL; at += length)
        if ((at[length] == ':' || at[length] == '(') && at[length + 1] >= '0' && at[length + 1] <= '9') return at;
    return NULL;
}

cli_text reduce_custom_error(const reduce_request *r) {
    const cli_text error = error_of_options();
    const char *const expressions[EXPRESSIONS] = {r->load, r->combine, r->identity, r->finish};
    const char *first = NULL, *option = NULL, *expression = NULL;
    for (size_t i = 0; i < EXPRESSIONS; i++) {
        const char *const at = find_place(error.text, parts[i].option);
        if (!at || (first && first < at)) continue;
        first = at;
        option = parts[i].option;
        expression = expressions[i];
    }
    if (!expression) return error;
    cli_text out;
    snprintf(out.text, sizeof(out.text), "--%s '%.*s%s' does not compile: %.*s", option, MOST_SHOWN, expression,
             strlen(expression) > MOST_SHOWN ? "..." : "", (int)sizeof(out.text) - MOST_SHOWN - 64, error.text);
    return out;
}

int reduce_silence(void) {
    fflush(stderr);
    const int nothing = open("/dev/null", O_WRONLY | O_CLOEXEC), kept = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
    if (kept >= 0 && nothing >= 0) dup2(nothing, STDERR_FILENO);
    if (nothing >= 0) close(nothing);
    return kept;
}

void reduce_unsilence(int kept) {
    if (kept < 0) return;
    dup2(kept, STDERR_FILENO);
    close(kept);
}

cli_exit reduce_understand_custom(const cli_options *options, reduce_request *r) {
    tally_op_desc desc = {.size = sizeof(desc),
                          .acc = r->types.acc,
                          .identity = options->identity,
                          .load = options->load,
                          .combine = options->combine,
                          .params = r->params,
                          .param_count = r->param_count,
                          .finish = options->finish,
                          .out = r->types.out};
    if (!options->combine || !options->identity)
        return cli_usage("--load: a custom op needs %s%s%s too", options->combine ? "" : "--combine",
                         options->combine || options->identity ? "" : " and ", options->identity ? "" : "--identity");
    if (options->accuracy) return cli_usage("--accuracy is of the operators sum, asum, sumsq, mean and dot, not of --load");
    r->load = options->load;
    r->combine = options->combine;
    r->identity = options->identity;
    r->finish = options->finish;
    uint64_t inputs = 1;
    if (cli_read_count("inputs", options->inputs, 1, TALLY_MAX_INPUTS, &inputs) != CLI_DONE) return CLI_USAGE;
    desc.inputs = (uint32_t)inputs;
    const tally_status status = tally_op_create(&desc, &r->custom);
    if (status == TALLY_E_ARGUMENT) return cli_usage("%s", reduce_custom_error(r).text);
    if (status) return cli_report("%s", reduce_custom_error(r).text), CLI_FAILED;
    r->inputs = desc.inputs;
    r->terms[0] = (tally_term_desc){.custom = r->custom};
    r->term_count = r->want_count = 1;
    r->wants[0] = (reduce_want){0, REDUCE_NO_TERM};
    return CLI_DONE;
}
