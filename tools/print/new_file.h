/* SPDX-License-Identifier: MIT */
/*
 * new_file.h: writes a file that appears at its path only when it is complete. It grows in the same
 * folder under a temporary name, and is then renamed. An error or a signal leaves the path as it
 * was. One file at a time.
 */
#ifndef TALLY_TOOLS_PRINT_NEW_FILE_H
#define TALLY_TOOLS_PRINT_NEW_FILE_H

#include <stdbool.h>

typedef struct new_file {
    char *place, *temporary;
    int fd; /* to write to, by output_write; its position may be set */
} new_file;

/* Starts a file. A regular file at the path is replaced, and its permissions are kept. Any other
 * kind of file is refused. Returns NULL, or what is wrong; then nothing is left to close. */
const char *new_file_open(new_file *f, const char *path);

/* Renames the file to its path. Returns NULL, or what is wrong; then the file is removed. */
const char *new_file_close(new_file *f);

/* Removes the unfinished file. A no-op after new_file_close, and on a struct of zeros. */
void new_file_abandon(new_file *f);

/* Tests that a file can be written before long work starts. Returns NULL, or what is wrong. */
const char *new_file_check(const char *path);

/* Tells whether two paths lead to one file, which need not be there yet. */
bool new_file_is_same(const char *path, const char *other);

/* Removes the unfinished file. Safe in a signal handler that ends the program. */
void new_file_emergency(void);

#endif
