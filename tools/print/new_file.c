/* SPDX-License-Identifier: MIT */
/* new_file.c: see new_file.h. */
#include "new_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "progress.h"

#define SUFFIX ".tally-XXXXXX"

/* The file being written, or NULL. */
static const char *volatile under_way;

void new_file_emergency(void) {
    if (under_way) unlink(under_way);
    under_way = NULL;
}

/* Reads the permissions of a regular file at the path. Any other kind of file must not be
 * replaced. */
static const char *look_at(const char *place, mode_t *mode) {
    struct stat about;
    const mode_t mask = umask(0);
    umask(mask);
    *mode = 0666 & ~mask;
    if (stat(place, &about)) {
        if (errno != ENOENT) return strerror(errno);
        return lstat(place, &about) ? NULL : "a link to a file that is not there";
    }
    if (S_ISDIR(about.st_mode)) return strerror(EISDIR);
    if (!S_ISREG(about.st_mode)) return "no regular file: it cannot be replaced";
    if (access(place, W_OK)) return strerror(errno);
    *mode = about.st_mode & 0777;
    return NULL;
}

/* Returns the path with its links followed, which a rename would replace. The file need not be
 * there. The caller frees it; NULL: out of memory. */
static char *resolve(const char *path) {
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    char *place = realpath(path, NULL);
    if (place || !*name) return place ? place : strdup(path);
    char *folder = slash ? strndup(path, (size_t)(name - path)) : strdup(".");
    char *real = folder ? realpath(folder, NULL) : NULL;
    if (real && asprintf(&place, "%s/%s", real, name) < 0) place = NULL;
    free(folder);
    free(real);
    return place ? place : strdup(path);
}

bool new_file_is_same(const char *path, const char *other) {
    char *place = resolve(path), *other_place = resolve(other);
    const bool same = place && other_place && strcmp(place, other_place) == 0;
    free(place);
    free(other_place);
    return same;
}

/* A name that leaves no room for the suffix is cut. */
static const char *open_temporary(new_file *f, mode_t mode) {
    const char *slash = strrchr(f->place, '/'), *name = slash ? slash + 1 : f->place;
    const size_t most = NAME_MAX - strlen(SUFFIX), length = strlen(name) < most ? strlen(name) : most;
    f->temporary = malloc(strlen(f->place) + sizeof(SUFFIX));
    if (!f->temporary) return strerror(ENOMEM);
    sprintf(f->temporary, "%.*s" SUFFIX, (int)(name - f->place + (ptrdiff_t)length), f->place);
    f->fd = mkostemp(f->temporary, O_CLOEXEC);
    if (f->fd < 0) return strerror(errno);
    under_way = f->temporary;
    progress_at_signals(new_file_emergency);
    return fchmod(f->fd, mode) ? strerror(errno) : NULL;
}

const char *new_file_open(new_file *f, const char *path) {
    mode_t mode = 0;
    *f = (new_file){.fd = -1};
    f->place = resolve(path);
    const char *wrong = f->place ? look_at(f->place, &mode) : strerror(ENOMEM);
    if (!wrong) wrong = open_temporary(f, mode);
    if (wrong) new_file_abandon(f);
    return wrong;
}

const char *new_file_close(new_file *f) {
    const int fd = f->fd;
    f->fd = -1;
    /* Some file systems report a full disk only at close. */
    const char *wrong = close(fd) || rename(f->temporary, f->place) ? strerror(errno) : NULL;
    if (!wrong) under_way = NULL;
    new_file_abandon(f);
    return wrong;
}

void new_file_abandon(new_file *f) {
    if (f->place && f->fd >= 0) close(f->fd);
    if (f->temporary && under_way == f->temporary) new_file_emergency();
    if (f->temporary) progress_at_signals(NULL);
    free(f->temporary);
    free(f->place);
    *f = (new_file){.fd = -1};
}

const char *new_file_check(const char *path) {
    new_file file;
    const char *wrong = new_file_open(&file, path);
    new_file_abandon(&file);
    return wrong;
}
