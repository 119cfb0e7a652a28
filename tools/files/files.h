/* SPDX-License-Identifier: MIT */
/* files.h: temporary files. On failure errno has the reason. */
#ifndef TALLY_FILES_H
#define TALLY_FILES_H

/* Returns the folder of temporary files: $TMPDIR, or /tmp. */
const char *files_temporary_folder(void);
/* Opens a temporary file without a name. The file disappears with its descriptor and its maps.
 * Returns the descriptor, or -1 on failure. */
int files_temporary(void);

#endif
