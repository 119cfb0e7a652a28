/* SPDX-License-Identifier: MIT */
/* generate.h: the parts of tally_host_programs, which writes the programs of the backend `host`
 * as C. */
#ifndef TALLY_SRC_HOST_GENERATE_H
#define TALLY_SRC_HOST_GENERATE_H

#include <stdio.h>

#include "reduce/reduce.h"

extern const tally_backend tally_backend_host;

/* ---- programs.c ------------------------------------------------------------------------------ */

/* Tells whether an op and a dtype have a program of that accuracy. Compensated ones are of f32 and
 * f64 alone, for parts (src/parts/fold.c). */
bool generate_is_program(tally_op op, tally_dtype in, tally_accuracy accuracy);
/* Returns what the name of a program ends with. */
const char *generate_suffix(tally_accuracy accuracy);
/* Writes the program of an op and a dtype; a file without one has a declaration, which ISO C
 * wants. */
tally_status generate_program(FILE *file, tally_op op, tally_dtype in, tally_accuracy accuracy);
/* Writes the table of the programs for an instruction set. */
tally_status generate_table(FILE *file);

/* ---- keys.c ---------------------------------------------------------------------------------- */

/* Writes the keys of all texts that the programs and moves are for. */
tally_status generate_keys(FILE *file);

/* ---- combiners.c ----------------------------------------------------------------------------- */

/* Writes the functions that combine accumulators on the host, and their table. */
tally_status generate_combiners(FILE *file);

#endif
