/* SPDX-License-Identifier: MIT */
/* reduce.h: declarations shared by the files of `tally reduce`. */
#ifndef TALLY_REDUCE_H
#define TALLY_REDUCE_H

#include "tools/cli.h"

#define REDUCE_NO_TERM UINT32_MAX

/* A requested result, with the ops of the pass that give it. */
typedef struct reduce_want {
    uint32_t term; /* the op itself */
    /* For an index: the op, in the same pass, that gives the value at the index. Else
     * REDUCE_NO_TERM. */
    uint32_t value_term;
} reduce_want;

/* How the items of a result are named. */
typedef enum reduce_form {
    REDUCE_STREAM,  /* a whole file, in pieces */
    REDUCE_WHOLE,   /* a whole file, with a mask or an initial value */
    REDUCE_AXES,    /* --axis */
    REDUCE_OFFSETS, /* --offsets */
    REDUCE_KEYS     /* --by */
} reduce_form;

/* The request on the command line. */
typedef struct reduce_request {
    tally_term_desc terms[TALLY_MAX_TERMS]; /* of the pass */
    uint32_t term_count;
    reduce_want wants[TALLY_MAX_TERMS]; /* in the order given */
    uint32_t want_count;
    tally_custom_op *custom;                        /* the only term; NULL: the terms are built-in ops */
    const char *load, *combine, *identity, *finish; /* expressions of the custom op, as given */
    uint32_t inputs;                                /* files for each result */
    cli_types types;                                /* accumulator and result are in the terms */
    tally_op_param params[CLI_MAX_PARAMS];          /* names are freed by reduce_forget */
    uint32_t param_count;
    const char *variant; /* as given */
    bool json, quiet;
    reduce_form form;
    int axes[TALLY_MAX_AXES]; /* of --axis, as given */
    uint32_t axis_count;
    const char *by; /* the file of offsets or keys */
    const char *where, *initial, *output, *keys_out;
    bool keepdims, each_run;
    int file_count;
    char *const *files;

    tally_context *context;
    tally_context_info info;
} reduce_request;

/* request.c: parses the arguments. Reports an error. The caller always calls
 * reduce_forget. */
cli_exit reduce_understand(const cli_options *options, int count, char *const *operands, reduce_request *r);
void reduce_forget(reduce_request *r);

/* form.c: reads what the segments are. Reports an error. */
cli_exit reduce_understand_form(const cli_options *options, reduce_request *r);

/* custom.c: fills r->custom from the options. */
cli_exit reduce_understand_custom(const cli_options *options, reduce_request *r);
/* The library's last error in terms of the options. An expression that a compiler refuses comes
 * first, in front of the compiler's words. */
cli_text reduce_custom_error(const reduce_request *r);
/* Silences stderr between the two calls. Some compilers (clang in POCL) print the number of a wrong
 * expression's errors on stderr, in addition to reporting them. Returns the argument of
 * reduce_unsilence. */
int reduce_silence(void);
void reduce_unsilence(int kept);

/* The outcome of a pass over one file, or over one pair of files. */
typedef struct reduce_outcome {
    uint64_t n;
    tally_dtype in;
    char variant[64];
    double seconds;
    uint64_t bytes;                                /* read, of all inputs */
    unsigned char *result;                         /* in the plan's layout */
    tally_result_info values[2 * TALLY_MAX_TERMS]; /* places of the values in it */
    uint32_t value_count;
} reduce_outcome;

/* Sums over all passes of the run. */
typedef struct reduce_total {
    unsigned results;
    cli_names variants;
    double seconds;
    uint64_t bytes;
} reduce_total;

/* print.c: prints a line for each result, and, in text output, one about the run at the
 * end. */
void reduce_print(const reduce_request *r, char *const *files, const reduce_outcome *o);
const char *reduce_name(const reduce_request *r, const reduce_want *want); /* the op's */
json_object *reduce_files_json(const reduce_request *r, char *const *files);
void reduce_print_total(const reduce_request *r, const reduce_total *total);

/* segments.c: reduces the segments of one file, or of one set of inputs, and prints or writes the
 * results. Reports an error. */
bool reduce_segments(const reduce_request *r, char *const *files, reduce_total *total);

#endif
