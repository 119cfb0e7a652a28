/* SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700 /* nftw */
#include "folders.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

void folder_make(char *path, size_t bytes) {
    const char *parent = getenv("TMPDIR");
    snprintf(path, bytes, "%s/tally-test.XXXXXX", parent && *parent ? parent : "/tmp");
    if (!mkdtemp(path)) {
        perror(path);
        abort();
    }
}

static int remove_one(const char *path, const struct stat *info, int type, struct FTW *where) {
    (void)info, (void)type, (void)where;
    return remove(path);
}

void folder_remove(const char *path) {
    nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* nftw has no argument for its visitor. */
static void (*walk_visit)(const char *file, void *data);
static void *walk_data;
static int walk_count;

static int walk_one(const char *path, const struct stat *info, int type, struct FTW *where) {
    (void)info, (void)where;
    if (type != FTW_F) return 0;
    walk_count++;
    if (walk_visit) walk_visit(path, walk_data);
    return 0;
}

int folder_walk(const char *path, void (*visit)(const char *file, void *data), void *data) {
    walk_visit = visit, walk_data = data, walk_count = 0;
    nftw(path, walk_one, 16, FTW_PHYS);
    return walk_count;
}
