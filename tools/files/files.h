/* SPDX-License-Identifier: MIT */
/* files.h: small tasks with descriptors. On failure errno has the reason. */
#ifndef TALLY_FILES_H
#define TALLY_FILES_H

#include <stdbool.h>
#include <stddef.h>

/* Writes all bytes. */
bool files_write(int fd, const void *data, size_t bytes);

/* Returns the folder of temporary files: $TMPDIR, or /tmp. */
const char *files_temporary_folder(void);
/* Opens a temporary file without a name. The file disappears with its descriptor and its maps.
 * Returns the descriptor, or -1 on failure. */
int files_temporary(void);

#endif
