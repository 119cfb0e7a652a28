/* SPDX-License-Identifier: MIT */
/* generate.h: the parts of tally_host_programs, which writes the programs of the backend `host`
 * as C. */
#ifndef TALLY_SRC_HOST_GENERATE_H
#define TALLY_SRC_HOST_GENERATE_H

#include <stdio.h>

#include "reduce/reduce.h"

extern const tally_backend tally_backend_host;

/* ---- programs.c ------------------------------------------------------------------------------ */

/* The programs of an op stand in a file for each kind of items. So the time that the compiler takes
 * to begin is not paid for each program, and the files are small enough to compile side by side. */
typedef enum generate_kind { GENERATE_WHOLES, GENERATE_REALS, GENERATE_COMPLEXES, GENERATE_KINDS } generate_kind;
/* Returns what the name of a file ends with. */
const char *generate_kind_name(generate_kind kind);

/* Tells whether an op and a dtype have a program of their own of that accuracy. Compensated ones
 * are of f32 and f64 alone, for parts (src/parts/fold.c). */
bool generate_is_program(tally_op op, tally_dtype in, tally_accuracy accuracy);
/* Writes the programs of an op; a file without any has a declaration, which ISO C wants. `source`
 * is the folder of tally's sources. */
tally_status generate_programs(FILE *file, const char *source, tally_op op, generate_kind kind);
/* Writes the table of the programs for an instruction set. */
tally_status generate_table(FILE *file);

/* ---- names.c --------------------------------------------------------------------------------- */

typedef struct generate_names generate_names;
/* Collects the names that a text declares, and the headers which it includes. NULL: an error. */
generate_names *generate_names_of(const char *source, const char *text);
void generate_names_close(generate_names *names);
/* Writes the macros that put `program` before the names. */
void generate_names_begin(FILE *file, const generate_names *names, const char *program);
/* Takes these macros back, and all that the text defined but for those of `kept`. */
void generate_names_end(FILE *file, const generate_names *names, const generate_names *kept);

/* ---- keys.c ---------------------------------------------------------------------------------- */

/* Writes the keys of all texts that the programs and moves are for. */
tally_status generate_keys(FILE *file);

#endif
