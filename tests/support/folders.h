/* SPDX-License-Identifier: MIT */
/* folders.h: temporary folders. */
#ifndef TALLY_TESTS_FOLDERS_H
#define TALLY_TESTS_FOLDERS_H

#include <stddef.h>

/* Makes a new folder below $TMPDIR or /tmp. */
void folder_make(char *path, size_t bytes);
/* Removes the folder and everything in it. */
void folder_remove(const char *path);
/* Calls `visit` for each file below the folder. Returns their number. */
int folder_walk(const char *path, void (*visit)(const char *file, void *data), void *data);

#endif
