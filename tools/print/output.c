/* SPDX-License-Identifier: MIT */
/* output.c: see output.h. */
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

bool output_write(int fd, const void *data, size_t bytes) {
    const unsigned char *at = data;
    while (bytes) {
        const ssize_t n = write(fd, at, bytes);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return false;
        at += n;
        bytes -= (size_t)n;
    }
    return true;
}
