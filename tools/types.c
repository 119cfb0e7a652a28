/* SPDX-License-Identifier: MIT */
/* types.c: options that several commands take: types, the accuracy, parameters. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

static bool accumulator_exists(const char *name, tally_dtype *out) {
    for (size_t i = 0; i < CLI_ACCS; i++)
        if (strcmp(name, tally_dtype_name(cli_accs[i])) == 0) return *out = cli_accs[i], true;
    return false;
}

static bool accuracy_exists(const char *name, tally_accuracy *out) {
    for (int level = 0; level < TALLY_ACCURACY_END; level++)
        if (strcmp(name, tally_accuracy_name((tally_accuracy)level)) == 0) return *out = (tally_accuracy)level, true;
    return false;
}

cli_exit cli_read_types(const cli_options *o, cli_types *t) {
    *t = (cli_types){0};
    if (o->dtype && tally_dtype_from_name(o->dtype, &t->raw) != TALLY_OK)
        return cli_usage("--dtype %s: unknown item type; %s", o->dtype, cli_there_are(o->dtype, cli_dtype_names()).text);
    if (o->out && tally_dtype_from_name(o->out, &t->out) != TALLY_OK)
        return cli_usage("--out %s: unknown type; %s", o->out, cli_there_are(o->out, cli_dtype_names()).text);
    if (o->acc && !accumulator_exists(o->acc, &t->acc))
        return cli_usage("--acc %s: unknown type of an accumulator; %s", o->acc, cli_there_are(o->acc, cli_acc_names()).text);
    if (o->accuracy && !accuracy_exists(o->accuracy, &t->accuracy))
        return cli_usage("--accuracy %s: unknown level; %s", o->accuracy,
                         cli_there_are(o->accuracy, cli_accuracy_names()).text);
    return CLI_DONE;
}

#define BEYOND_INTEGERS 18446744073709551616.0 /* 2^64 */

/* Tells whether `value`, the f64 that the library takes, is the whole number that an integer type
 * would hold. The library itself refuses NaN and what is beyond every integer type. A long double
 * has the digits of these types where it is wider than an f64; elsewhere nothing is refused. */
static bool is_kept_by_f64(const char *number, double value, tally_dtype type) {
    return tally_dtype_kind(type) == TALLY_KIND_FLOAT || !(fabs(value) <= BEYOND_INTEGERS) ||
           truncl(strtold(number, NULL)) == (long double)trunc(value);
}

/* Tells whether a text begins with a name as C has them, and = or : after it. */
static bool begins_with_name(const char *text) {
    const size_t bytes = strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz0123456789");
    return bytes && !(text[0] >= '0' && text[0] <= '9') && (text[bytes] == '=' || text[bytes] == ':');
}

/* Reads NAME=VALUE or NAME:TYPE=VALUE. */
cli_exit cli_read_param(const char *text, bool is_custom, tally_op_param *params, uint32_t *count) {
    const char *equals = strchr(text, '=');
    char *end = NULL;
    errno = 0;
    const double value = equals ? strtod(equals + 1, &end) : 0;
    if (!equals || !begins_with_name(text) || end == equals + 1 || *end || (errno == ERANGE && isinf(value)))
        return cli_usage("--param %s: a name, =, and a number are needed, such as ddof=1", text);
    char *name = strndup(text, (size_t)(equals - text)), *type = name ? strchr(name, ':') : NULL;
    if (!name) return cli_report("out of memory"), CLI_FAILED;
    tally_op_param *param = &params[(*count)++];
    *param = (tally_op_param){.name = name, .value = value};
    if (type) *type++ = 0;
    if (type && !is_custom) return cli_usage("--param %s: only parameters of --load have a type", text);
    if (type && !accumulator_exists(type, &param->type))
        return cli_usage("--param %s: unknown type of a parameter; %s", text, cli_there_are(type, cli_acc_names()).text);
    if (type && !is_kept_by_f64(equals + 1, value, param->type))
        return cli_usage("--param %s: parameters are passed as f64, and this one would be %.0f; write it in the expression",
                         text, value);
    for (uint32_t i = 0; i + 1 < *count; i++)
        if (strcmp(params[i].name, name) == 0) return cli_usage("--param %s is given twice", name);
    return CLI_DONE;
}
