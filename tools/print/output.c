/* SPDX-License-Identifier: MIT */
/* Standard output, of the program and of the bench. */
#include "output.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

const char *output_flush(void) {
    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout)) return NULL;
    /* A driver's thread may have flushed stdout and met the error before. errno is then not set
     * here, and an empty write sets it. */
    const ssize_t nothing = errno ? 0 : write(STDOUT_FILENO, "", 0);
    (void)nothing;
    return errno ? strerror(errno) : "write error";
}
