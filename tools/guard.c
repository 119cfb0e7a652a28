/* SPDX-License-Identifier: MIT */
/* guard.c: see guard.h. */
#include "guard.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "tools/print/new_file.h"
#include "tools/print/progress.h"

static struct {
    const unsigned char *start, *end; /* NULL: no map */
    char message[512];
    size_t bytes;
} maps[GUARD_MAPS];

static struct sigaction before;

static void on_bus_error(int number, siginfo_t *info, void *context) {
    (void)context;
    const unsigned char *at = info->si_addr;
    for (size_t i = 0; i < sizeof(maps) / sizeof(maps[0]); i++) {
        if (at < maps[i].start || at >= maps[i].end) continue;
        static atomic_flag said = ATOMIC_FLAG_INIT;
        while (atomic_flag_test_and_set(&said)) pause(); /* only one faulting thread reports */
        progress_erase();
        const ssize_t written = write(STDERR_FILENO, maps[i].message, maps[i].bytes);
        (void)written;
        new_file_emergency();
        _exit(CLI_FAILED);
    }
    sigaction(number, &before, NULL); /* not in our maps: the faulting instruction runs again */
}

void guard_begin(const void *map, size_t bytes, const char *name) {
    size_t i = 0;
    while (i + 1 < sizeof(maps) / sizeof(maps[0]) && maps[i].start) i++;
    const int n = snprintf(maps[i].message, sizeof(maps[i].message),
                           "tally: %.300s: the file shrank, or its disk failed, while it was being read\n", name);
    maps[i].bytes = (size_t)n;
    for (size_t c = 0; c + 1 < maps[i].bytes; c++)
        if ((unsigned char)maps[i].message[c] < ' ') maps[i].message[c] = ' ';
    maps[i].start = map;
    maps[i].end = maps[i].start + bytes;
    const struct sigaction ours = {.sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO};
    struct sigaction now;
    if (sigaction(SIGBUS, NULL, &now) || now.sa_sigaction == on_bus_error) return;
    before = now;
    sigaction(SIGBUS, &ours, NULL);
}

void guard_end(const void *map) {
    for (size_t i = 0; i < sizeof(maps) / sizeof(maps[0]); i++)
        if (maps[i].start == map) maps[i].start = maps[i].end = NULL;
}
