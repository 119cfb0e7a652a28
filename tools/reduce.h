/* SPDX-License-Identifier: MIT */
/* reduce.h: what the files of `tally reduce` share. */
#ifndef TALLY_REDUCE_H
#define TALLY_REDUCE_H

#include "cli.h"

#define REDUCE_NO_TERM UINT32_MAX

/* A result that was asked for: which ops of the pass it is made of. */
typedef struct reduce_want {
    uint32_t term;       /* the op itself */
    uint32_t value_term; /* of an index: the op that gives the value there, which shares the pass; REDUCE_NO_TERM of others */
} reduce_want;

/* What the command line asks for. */
typedef struct reduce_request {
    tally_term_desc terms[TALLY_MAX_TERMS]; /* of the pass */
    uint32_t term_count;
    reduce_want wants[TALLY_MAX_TERMS]; /* in the order given */
    uint32_t want_count;
    tally_custom_op *custom;               /* the only term; NULL: they are operators of the table */
    uint32_t inputs;                       /* files for each result */
    cli_types types;                       /* the accumulator's and the result's are in the terms */
    tally_op_param params[CLI_MAX_PARAMS]; /* the names are freed by reduce_forget */
    uint32_t param_count;
    const char *variant; /* as asked for */
    bool json, quiet;
    int file_count;
    char *const *files;

    tally_context *context;
    tally_context_info info;
} reduce_request;

/* reduce_request.c. Reports what is wrong. The caller calls reduce_forget in any case. */
cli_exit reduce_understand(const cli_options *options, int count, char *const *operands, reduce_request *r);
void reduce_forget(reduce_request *r);

/* reduce_custom.c: makes r->custom of the options. */
cli_exit reduce_understand_custom(const cli_options *options, reduce_request *r);
/* The library's last error, in terms of the options. */
cli_text reduce_custom_error(void);
/* Some compilers (clang in POCL) count a wrong expression's errors on stderr, beside telling them: what happens between these two is
 * not heard. Returns what reduce_unsilence takes. */
int reduce_silence(void);
void reduce_unsilence(int kept);

/* What a pass over one file, or one pair of files, gave. */
typedef struct reduce_outcome {
    uint64_t n;
    tally_dtype in;
    char variant[64];
    double seconds;
    uint64_t bytes;                                /* read, of all inputs */
    unsigned char *result;                         /* as the plan lays it out */
    tally_result_info values[2 * TALLY_MAX_TERMS]; /* where in it what is */
    uint32_t value_count;
} reduce_outcome;

/* The sums over all passes of the run. */
typedef struct reduce_total {
    cli_names variants;
    double seconds;
    uint64_t bytes;
} reduce_total;

/* reduce_print.c: a line for each result; for people one about the run in the end. */
void reduce_print(const reduce_request *r, char *const *files, const reduce_outcome *o);
void reduce_print_total(const reduce_request *r, const reduce_total *total);

#endif
