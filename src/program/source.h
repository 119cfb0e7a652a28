/* SPDX-License-Identifier: MIT */
/* source.h: what the files that make specialised texts share. */
#ifndef TALLY_SRC_SOURCE_H
#define TALLY_SRC_SOURCE_H

#include <stdio.h>

#include "program/program.h"

/* The inputs' names in expressions. */
extern const char *const tally_source_inputs[TALLY_MAX_INPUTS];

bool tally_source_is_float(tally_dtype value);
/* The fields of a lane of the term, and how many there are. */
const tally_op_field *tally_source_lane_fields(const tally_term *term, uint32_t *count);
/*
 * Padding is written as zeros: a copy of a struct may leave bytes that are no member as they were.
 * So it is a member, GAPn.
 * Writes the member for `gap` bytes of padding before member `at`, or (set) the statements that
 * give it zeros. Nothing if gap is 0.
 */
void tally_source_gap(FILE *file, uint32_t at, uint32_t gap, bool set);
/* Writes what scans on CPUs need: ACC_ARRAYS, ACCS accumulators as a structure of arrays, and the
 * functions of tally_source_usual. accs_get and accs_set read and write accumulator l. */
void tally_source_arrays(FILE *file, const tally_terms *terms);
/* Writes op_join, which combines two accumulators of which neither is empty, and op_join_by, which
 * does so by a SHARE (ops.h). SHARE_OF makes one of two counts. HAS_SHARE says that the op asks for
 * it; otherwise op_join_by is op_combine. */
void tally_source_join(FILE *file, const tally_terms *terms);
/* Writes op_is_usual and op_usual, of a plan of one term that has a usual case. */
void tally_source_usual(FILE *file, const tally_terms *terms);
/* Writes the functions of a guess that has a combination of its own. */
void tally_source_guess_combine(FILE *file, const tally_terms *terms);
/* Writes the functions of a guess, of a plan of one term that has one, and lane_decides. */
void tally_source_guess(FILE *file, const tally_terms *terms);
/* Writes tT_initial, the accumulator of an initial result of term t, which has one. */
void tally_source_initial(FILE *file, const tally_terms *terms, uint32_t t);
/* Writes what kernels/segments.h needs. */
void tally_source_segments(FILE *file, const tally_terms *terms, const tally_segment_form *form);
/* Writes the types and functions of term t. */
void tally_source_term(FILE *file, const tally_terms *terms, uint32_t t);

#endif
