/* SPDX-License-Identifier: MIT */
/* study.h: looks at what `tally study` gives. */
#ifndef TALLY_TEST_CLI_STUDY_H
#define TALLY_TEST_CLI_STUDY_H

#include "cli.h"

/* Runs `words` with stdout in a file, which may be long; returns its text, to be freed. */
char *study_text(const char *words, int code, result *r);
json_object *study_json(const char *words);

/* How many of the rows have that name, as a variant or a map. */
unsigned study_rows_of(json_object *rows, const char *row);
double study_number(json_object *row, const char *name);
/* Checked, with figures that fit each other; so many bytes are counted for each item. */
void study_expect_rows(json_object *rows, const char *of_ceiling, double ceiling, size_t bytes_each);

/* Every element of an SVG file is closed, in order. */
void study_expect_elements(const char *text);

#endif
