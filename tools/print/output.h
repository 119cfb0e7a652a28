/* SPDX-License-Identifier: MIT */
/* output.h: standard output, of the program and of the bench; bytes to any descriptor. */
#ifndef TALLY_TOOLS_PRINT_OUTPUT_H
#define TALLY_TOOLS_PRINT_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>

/* Writes what is buffered. Returns NULL, or what was wrong with any of the output so far. */
const char *output_flush(void);

/* Writes all bytes. On failure returns false with errno set. */
bool output_write(int fd, const void *data, size_t bytes);

#endif
