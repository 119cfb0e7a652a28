/* SPDX-License-Identifier: MIT */
/* foreign.h: files that the program does not read, and advice on how to convert them: compressed
 * files, archives and text. */
#ifndef TALLY_FOREIGN_H
#define TALLY_FOREIGN_H

#include <stdbool.h>
#include <stddef.h>

#define FOREIGN_BYTES 512 /* bytes of a file's start that identify its kind */

/* Returns true if the name ends like that of such a file: ".gz", ".csv" and similar. Raw items may
 * begin with any bytes, so a file that --dtype calls raw is inspected only if its name ends so. */
bool foreign_by_name(const char *name);

/* Reports a file that starts like one of these, and returns true. `type` is the value of --dtype,
 * or NULL. */
bool foreign_report(const char *name, const char *type, const unsigned char *start, size_t bytes);
/* As foreign_report, for compressed files and archives only. */
bool foreign_report_packed(const char *name, const char *type, const unsigned char *start, size_t bytes);

#endif
