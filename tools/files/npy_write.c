/* SPDX-License-Identifier: MIT */
/* npy_write.c: see npy_write.h. */
#include "npy_write.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/cli.h"
#include "files.h"
#include "tools/print/progress.h"

#define SUFFIX ".tally-XXXXXX"

static bool failed(const npy_writer *w, int error) {
    cli_report("%s: %s", *w->name ? w->name : "''", strerror(error));
    return false;
}

/* The file being written, or NULL. */
static const char *volatile under_way;

void npy_write_emergency(void) {
    if (under_way) unlink(under_way);
    under_way = NULL;
}

/* ---- the file -------------------------------------------------------------------------------- */

/* Reads the permissions of a regular file at the path. Any other kind of file must not be
 * replaced. */
static bool look_at(const npy_writer *w, mode_t *mode) {
    struct stat about;
    const mode_t mask = umask(0);
    umask(mask);
    *mode = 0666 & ~mask;
    if (stat(w->place, &about)) {
        if (errno != ENOENT) return failed(w, errno);
        return lstat(w->place, &about) != 0 || (cli_report("%s: a link to a file that is not there", w->name), false);
    }
    if (S_ISDIR(about.st_mode)) return failed(w, EISDIR);
    if (!S_ISREG(about.st_mode)) return cli_report("%s: no regular file: a .npy file cannot be written to it", w->name), false;
    if (access(w->place, W_OK)) return failed(w, errno);
    *mode = about.st_mode & 0777;
    return true;
}

/* A name that leaves no room for the suffix is cut. */
static bool open_temporary(npy_writer *w, mode_t mode) {
    const char *slash = strrchr(w->place, '/'), *name = slash ? slash + 1 : w->place;
    const size_t most = NAME_MAX - strlen(SUFFIX), length = strlen(name) < most ? strlen(name) : most;
    w->temporary = malloc(strlen(w->place) + sizeof(SUFFIX));
    if (!w->temporary) return failed(w, ENOMEM);
    sprintf(w->temporary, "%.*s" SUFFIX, (int)(name - w->place + (ptrdiff_t)length), w->place);
    w->fd = mkostemp(w->temporary, O_CLOEXEC);
    if (w->fd < 0) return failed(w, errno);
    under_way = w->temporary;
    progress_at_signals(npy_write_emergency);
    if (fchmod(w->fd, mode) || lseek(w->fd, (off_t)w->data_offset, SEEK_SET) < 0) return failed(w, errno);
    return true;
}

bool npy_write_open(npy_writer *w, const char *path, tally_dtype dtype, uint32_t dimensions) {
    mode_t mode;
    *w = (npy_writer){.name = path, .dtype = dtype, .data_offset = npy_room(dimensions), .fd = -1};
    if (!npy_make(dtype, NULL, NULL, 0))
        return cli_report("%s: there are no .npy files of %s", path, tally_dtype_name(dtype)), false;
    /* The target of a link is replaced, not the link. */
    w->place = realpath(path, NULL);
    if (!w->place) w->place = strdup(path);
    if (w->place ? look_at(w, &mode) && open_temporary(w, mode) : failed(w, ENOMEM)) return true;
    npy_write_abandon(w);
    return false;
}

bool npy_write_items(npy_writer *w, const void *items, size_t bytes) {
    return files_write(w->fd, items, bytes) || failed(w, errno);
}

static bool finish(npy_writer *w, const npy_shape *shape) {
    unsigned char *header = malloc(w->data_offset);
    if (!header) return failed(w, ENOMEM);
    npy_make(w->dtype, shape, header, w->data_offset);
    bool done = lseek(w->fd, 0, SEEK_SET) == 0 || failed(w, errno);
    done = done && npy_write_items(w, header, w->data_offset);
    free(header);
    const int fd = w->fd;
    w->fd = -1;
    if (close(fd) && done) return failed(w, errno); /* some file systems report a full disk here */
    if (done && rename(w->temporary, w->place)) return failed(w, errno);
    if (done) under_way = NULL;
    return done;
}

bool npy_write_close(npy_writer *w, const npy_shape *shape) {
    const bool done = finish(w, shape);
    npy_write_abandon(w);
    return done;
}

void npy_write_abandon(npy_writer *w) {
    if (w->fd >= 0) close(w->fd);
    if (w->temporary && under_way == w->temporary) npy_write_emergency();
    free(w->temporary);
    free(w->place);
    *w = (npy_writer){.fd = -1};
}
