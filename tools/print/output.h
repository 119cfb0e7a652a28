/* SPDX-License-Identifier: MIT */
/* output.h: standard output, of the program and of the bench. */
#ifndef TALLY_TOOLS_PRINT_OUTPUT_H
#define TALLY_TOOLS_PRINT_OUTPUT_H

/* Writes what is buffered. Returns NULL, or what was wrong with any of the output so far. */
const char *output_flush(void);

#endif
