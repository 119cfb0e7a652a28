/* SPDX-License-Identifier: MIT */
/* wrap.h: wraps text to the width of a terminal. */
#ifndef TALLY_WRAP_H
#define TALLY_WRAP_H

#include <stddef.h>
#include <stdio.h>

#define WRAP_COLUMNS 99 /* upper limit of an output line's columns */
#define WRAP_JOINT '\1' /* in a text: a space where no line ends */

/*
 * Prints `text` and ends the line. Lines break at spaces and have at most `width` columns. A longer
 * word has a line of its own. The current line already has `column` columns. Further lines are
 * indented by `indent`.
 */
void wrap_print(FILE *to, size_t column, size_t indent, size_t width, const char *text);
/* Prints a formatted text from the start of a line, in WRAP_COLUMNS. Further lines are indented by
 * 4. */
void wrap_printf(FILE *to, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
