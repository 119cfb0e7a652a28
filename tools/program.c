/* SPDX-License-Identifier: MIT */
/* program.c: runs commands that are separate programs. They link libraries that `tally` does
 * not. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "options.h"

/* Folders relative to this program's: of an installation, of a build. */
static const char *const folders[] = {TALLY_PROGRAMS, "bench"};

cli_exit program_run(const char *name, char **words) {
    char self[4096], path[sizeof(self) + 64];
    const ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
    self[length < 0 ? 0 : length] = '\0';
    char *slash = strrchr(self, '/');
    if (slash) *slash = '\0';
    for (size_t f = 0; f < sizeof(folders) / sizeof(folders[0]); f++) {
        snprintf(path, sizeof(path), "%s/%s/tally_%s", self, folders[f], name);
        execv(path, words);
        if (errno != ENOENT) return cli_report("%s: %s", path, strerror(errno)), CLI_FAILED;
    }
    return cli_report("tally %s is not installed here: tally_%s is neither in %s/" TALLY_PROGRAMS
                      " nor in %s/bench. TALLY_BENCH=ON builds it; Python's package has none",
                      name, name, self, self),
           CLI_FAILED;
}
