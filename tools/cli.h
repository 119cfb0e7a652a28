/* SPDX-License-Identifier: MIT */
/*
 * cli.h: declarations shared by the files of the program `tally`. Results go to stdout. Every other
 * message is one line on stderr that starts with "tally: " and names the file or argument.
 */
#ifndef TALLY_CLI_H
#define TALLY_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <json-c/json.h>

#include <tally/backend.h>
#include <tally/tally.h>

#include "tools/print/units.h"

/* Exit codes. */
typedef enum cli_exit { CLI_DONE = 0, CLI_FAILED = 1, CLI_USAGE = 2 } cli_exit;

#define CLI_MAX_PARAMS 16

typedef struct cli_options {
    const char *backend; /* NULL if not given, like all others */
    const char *dtype;
    const char *variant;
    const char *acc, *accuracy, *out;                        /* of reduce */
    const char *load, *combine, *identity, *finish, *inputs; /* of reduce: a custom op */
    const char *params[CLI_MAX_PARAMS];                      /* of reduce, NAME=VALUE */
    int param_count;
    const char *primitive, *op, *n, *group, *factor, *runs, *plot; /* of study */
    const char *output;                                            /* of reduce, scan, gather and scatter */
    const char *initial;                                           /* of reduce and scan */
    const char *axis, *offsets, *by, *keys_out, *where;            /* of reduce: segments */
    const char *index, *stencil, *into, *count;                    /* of gather and scatter */
    bool exclusive, reverse;                                       /* of scan */
    bool quiet, keepdims, each_run;                                /* of reduce */
    bool json, csv, sweep, dry, last, help, version;
} cli_options;

/* Commands. `operands` are the arguments after the command's name that are not options. */
typedef cli_exit cli_command(const cli_options *options, int count, char **operands);
cli_command cli_devices, cli_variants, cli_list_ops, cli_reduce, cli_scan, cli_check, cli_study, cli_tune, cli_gather,
    cli_scatter, cli_help;

/* ---- messages -------------------------------------------------------------------------------- */

/* Prints one line on stderr; control characters in it become spaces. */
void cli_report(const char *format, ...) TALLY_PRINTF(1, 2);
/* Prints a line like cli_report, with a pointer to the help. Returns CLI_USAGE. */
cli_exit cli_usage(const char *format, ...) TALLY_PRINTF(1, 2);
/* Sets the words before --help in cli_usage's pointer: "tally reduce". They are "tally" before. */
void cli_set_help(const char *words);
/* From now on cli_report and cli_usage store the bare message in `text` instead of printing it, and
 * cut it to `bytes` bytes with its final 0. NULL ends this. */
void cli_capture(char *text, size_t bytes);

/* The rows of a table in their order, with 0 at the end. */
/* Types that accumulators may have. */
#define CLI_ACCS 6
extern const tally_dtype cli_accs[CLI_ACCS];

/* The names of a table's rows: "a, b, c". */
typedef struct cli_names {
    char text[2048];
} cli_names;
void cli_add_name(cli_names *names, const char *name);
cli_names cli_op_names(void);
cli_names cli_dtype_names(void);
cli_names cli_acc_names(void); /* types of accumulators */
cli_names cli_accuracy_names(void);

/* The library's primitives. The first two have variants. */
typedef enum cli_primitive { CLI_REDUCE, CLI_SCAN, CLI_SEGMENTS, CLI_GATHER, CLI_SCATTER, CLI_PRIMITIVES } cli_primitive;
extern const char *const cli_primitive_names[CLI_PRIMITIVES];
/* Gets a variant by its index. Returns false beyond the last one. */
bool cli_variant_get(cli_primitive of, size_t index, tally_variant_info *out);
cli_names cli_variant_names(cli_primitive of); /* includes auto */

/* The answer to an unknown name: "did you mean sum? there are sum, prod, ..." */
typedef struct cli_listing {
    char text[sizeof(cli_names) + 128];
} cli_listing;
cli_listing cli_there_are(const char *name, cli_names names);

/* Reads the count that an option gives. `out` keeps its default if `text` is NULL. */
#define CLI_MOST_COUNT (UINT64_C(1) << 63)
cli_exit cli_read_count(const char *option, const char *text, uint64_t least, uint64_t most, uint64_t *out);

/* The library's last error in the words of the program's user, without the name of the call. */
typedef struct cli_text {
    char text[2048];
} cli_text;
cli_text cli_last_error(void);
/* The summary of an operator with its parameters, for wrap_print. */
cli_text cli_op_text(tally_op op);

/* Types from options that several commands take: --dtype, --acc, --out, --accuracy. 0: not
 * given. */
typedef struct cli_types {
    tally_dtype raw, acc, out;
    tally_accuracy accuracy;
} cli_types;
cli_exit cli_read_types(const cli_options *options, cli_types *types);
/* Reads a --param and appends it to `params`. The form is NAME=VALUE, or NAME:TYPE=VALUE for a
 * custom op. The caller frees the name. */
cli_exit cli_read_param(const char *text, bool is_custom, tally_op_param *params, uint32_t *count);

/* ---- output ---------------------------------------------------------------------------------- */

/* Prints the object on one line and frees it. */
void cli_print_json(json_object *object);
/* Flushes stdout. Returns false, and reports the error, if some output was not written. */
bool cli_flush(void);
/* A file's name as it is printed (tally_text_print): on one line, as UTF-8. */
typedef struct cli_shown_name {
    char text[4096];
} cli_shown_name;
cli_shown_name cli_shown(const char *name);
json_object *cli_json_text(const char *text); /* a string; null for NULL */
/* Adds members that several commands have: backend, device and device_index, or seconds and
 * bytes_per_second. */
void cli_json_device(json_object *o, const tally_device_info *device);
void cli_json_speed(json_object *o, double seconds, double bytes);
/* Prints a line about the run: "by VARIANT on opencl:0 (NAME), 0.001000 s, 1.00 GB/s". `variant` is
 * NULL for gathers and scatters. */
void cli_print_run(const char *variant, const tally_device_info *device, double seconds, double bytes);

/* A value in memory as text that reads back to the same bits. JSON has the strings "nan", "inf"
 * and "-inf". A complex value is 1.5+2j, and an array of two in JSON. A truth value is true or
 * false. */
typedef struct cli_value {
    char text[64];
} cli_value;
cli_value cli_value_text(tally_dtype dtype, const void *value);
json_object *cli_value_json(tally_dtype dtype, const void *value);
/* Reads a value of the type; X+Yj too for complex ones. Returns false for any other text. */
bool cli_value_read(tally_dtype dtype, const char *text, void *value);
/* The values that cli_value_read takes: "a whole number from 0 to 255 is needed". */
typedef struct cli_needed {
    char text[96];
} cli_needed;
cli_needed cli_value_needed(tally_dtype dtype);

/* Parts of a value. A complex type has two parts, whose type cli_part_dtype returns. A real type is
 * its own only part. cli_part_number returns a part as a number. cli_part_store stores the part
 * that is nearest to a number; for an integer type the number must be in its range. */
tally_dtype cli_part_dtype(tally_dtype dtype);
double cli_part_number(tally_dtype part, const void *value);
void cli_part_store(tally_dtype part, double number, void *to);

/* ---- devices --------------------------------------------------------------------------------- */

/* Opens the device that --backend, TALLY_BACKEND or the default chooses. Reports a failure. */
cli_exit cli_open(const cli_options *options, tally_context **out);

#endif
