/* SPDX-License-Identifier: MIT */
/* study.h: checks the output of `tally study`. */
#ifndef TALLY_TEST_CLI_STUDY_H
#define TALLY_TEST_CLI_STUDY_H

#include "cli.h"

/* Runs `words` with stdout in a file, which may be long. Returns its text, which the caller
 * frees. */
char *study_text(const char *words, int code, result *r);
json_object *study_json(const char *words);

/* Counts the rows with that name, as a variant or a map. */
unsigned study_rows_of(json_object *rows, const char *row);
double study_number(json_object *row, const char *name);
/* Expects a checked row with consistent figures, which counts this many bytes for each item. */
void study_expect_rows(json_object *rows, const char *of_ceiling, double ceiling, size_t bytes_each);

/* Expects every element of an SVG file to be closed, in order. */
void study_expect_elements(const char *text);

#endif
