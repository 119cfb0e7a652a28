/* SPDX-License-Identifier: MIT */
/* files.c: see files.h. */
#include "files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

const char *files_temporary_folder(void) {
    const char *folder = getenv("TMPDIR");
    return folder && *folder ? folder : "/tmp";
}

int files_temporary(void) {
    char path[4096];
    const int n = snprintf(path, sizeof(path), "%s/tally-XXXXXX", files_temporary_folder());
    if (n < 0 || (size_t)n >= sizeof(path)) return errno = ENAMETOOLONG, -1;
    const int fd = mkostemp(path, O_CLOEXEC);
    if (fd >= 0) unlink(path);
    return fd;
}
