/* SPDX-License-Identifier: MIT */
/* custom.c: a custom op, from C expressions in options. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "reduce.h"

#define OWN_NAME "custom" /* the library's name for an operator without a name */

/* The parts of a custom op: their words in the library's errors, and their options. */
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
cli_text reduce_custom_error(void) {
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
    uint64_t inputs = 1;
    if (cli_read_count("inputs", options->inputs, 1, TALLY_MAX_INPUTS, &inputs) != CLI_DONE) return CLI_USAGE;
    desc.inputs = (uint32_t)inputs;
    const tally_status status = tally_op_create(&desc, &r->custom);
    if (status == TALLY_E_ARGUMENT) return cli_usage("%s", reduce_custom_error().text);
    if (status) return cli_report("%s", reduce_custom_error().text), CLI_FAILED;
    r->inputs = desc.inputs;
    r->terms[0] = (tally_term_desc){.custom = r->custom};
    r->term_count = r->want_count = 1;
    r->wants[0] = (reduce_want){0, REDUCE_NO_TERM};
    return CLI_DONE;
}
