/* SPDX-License-Identifier: MIT */
/* wrap.h: lines of a terminal's width. */
#ifndef TALLY_WRAP_H
#define TALLY_WRAP_H

#include <stddef.h>
#include <stdio.h>

#define WRAP_COLUMNS 99 /* the most columns of a line of output */
#define WRAP_JOINT '\1' /* in a text: a space that no line ends at */

/*
 * Prints `text` and ends the line. It breaks the text at spaces so that lines have at most `width`
 * columns; a longer word has a line of its own. `column` columns are printed already; further lines
 * are indented by `indent`.
 */
void wrap_print(FILE *to, size_t column, size_t indent, size_t width, const char *text);
/* Prints a formatted text from the start of a line, in WRAP_COLUMNS; further lines are indented
 * by 4. */
void wrap_printf(FILE *to, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
