/* SPDX-License-Identifier: MIT */
/* scan.h: declarations shared by the files of `tally scan`. */
#ifndef TALLY_TOOLS_SCAN_H
#define TALLY_TOOLS_SCAN_H

#include "tools/cli.h"

/* The request on the command line. */
typedef struct scan_request {
    tally_op op;
    cli_types types;
    uint32_t flags;      /* TALLY_EXCLUSIVE, TALLY_REVERSE */
    const char *initial; /* as given; NULL: none */
    bool has_axis;
    int axis;                              /* as given: below 0 from the last one on */
    tally_op_param params[CLI_MAX_PARAMS]; /* names are freed by scan_forget */
    uint32_t param_count;
    const char *variant;
    const char *path, *output;
    bool json;

    tally_context *context;
    tally_context_info info;
} scan_request;

/* request.c: parses the arguments. Reports an error. The caller always calls scan_forget. */
cli_exit scan_understand(const cli_options *options, int count, char *const *operands, scan_request *r);
void scan_forget(scan_request *r);
/* Reads the initial value as an item of the file's type. Reports a text that is not such an
 * item. */
bool scan_read_initial(const scan_request *r, tally_dtype dtype, void *item);

typedef struct scan_outcome {
    uint64_t n;
    tally_dtype in, out;
    char variant[64];
    double seconds;
    uint64_t bytes; /* read and written */
    uint32_t along; /* the axis, counted from the first */
} scan_outcome;

/* Returns the descriptor of the plan for up to max_n items of a type, with the additional flags
 * `also`. `initial` is an item; it is ignored without --initial. */
tally_scan_desc scan_desc(const scan_request *r, tally_dtype dtype, uint64_t max_n, const void *initial, uint32_t also);

/* axis.c: scans a file along an axis. Reports an error. */
bool scan_along_axis(const scan_request *r, scan_outcome *o);

/* print.c: prints the line about the run. */
void scan_print(const scan_request *r, const scan_outcome *o);

#endif
