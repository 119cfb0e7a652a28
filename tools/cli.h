/* SPDX-License-Identifier: MIT */
/*
 * cli.h: what the files of the program `tally` share. Results go to stdout; everything else is one line on stderr that starts with
 * "tally: " and names the file or argument.
 */
#ifndef TALLY_CLI_H
#define TALLY_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <json-c/json.h>

#include <tally/backend.h>
#include <tally/tally.h>

/* Exit codes. */
typedef enum cli_exit { CLI_DONE = 0, CLI_FAILED = 1, CLI_USAGE = 2 } cli_exit;

typedef struct cli_options {
    const char *backend; /* NULL when not given, like the others */
    const char *dtype;
    const char *variant;
    const char *op, *n, *group, *factor, *runs, *plot; /* of study */
    bool json, csv, sweep, help, version;
} cli_options;

/* The commands. `operands` are the arguments after the command's name that are no options. */
typedef cli_exit cli_command(const cli_options *options, int count, char **operands);
cli_command cli_devices, cli_variants, cli_reduce, cli_check, cli_study;

/* ---- messages ---------------------------------------------------------------------------------------------------- */

/* Prints one line on stderr; control characters in it become spaces. */
void cli_report(const char *format, ...) TALLY_PRINTF(1, 2);
/* The same, with a pointer to the help; returns CLI_USAGE. */
cli_exit cli_usage(const char *format, ...) TALLY_PRINTF(1, 2);

/* The names of a table's rows, "a, b, c". */
typedef struct cli_names {
    char text[512];
} cli_names;
cli_names cli_op_names(void);
cli_names cli_dtype_names(void);
cli_names cli_variant_names(void);

/* ---- output ------------------------------------------------------------------------------------------------------ */

/* Prints the object on one line and lets go of it. */
void cli_print_json(json_object *object);
/* Whether all output so far was really written; reports if not. */
bool cli_flush(void);
json_object *cli_json_text(const char *text); /* a string; null for NULL */

/* The value of that type in memory: as text that reads back to the same bits (in JSON: the strings "nan", "inf", "-inf" too). */
typedef struct cli_value {
    char text[40];
} cli_value;
cli_value cli_value_text(tally_dtype dtype, const void *value);
json_object *cli_value_json(tally_dtype dtype, const void *value);

/* 16.0 GiB */
cli_value cli_bytes_text(uint64_t bytes);
double cli_seconds(void); /* a monotonic clock */

/* ---- devices ----------------------------------------------------------------------------------------------------- */

/* Opens the device that --backend, TALLY_BACKEND or the default choose; reports a failure. */
cli_exit cli_open(const cli_options *options, tally_context **out);

#endif
