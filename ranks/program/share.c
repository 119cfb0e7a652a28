/* SPDX-License-Identifier: MIT */
/* share.c: reads a rank's share of a file, by pread, so that ranks read a file on a shared disk
 * side by side. Shares are cut at multiples of TALLY_CHUNK items. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "program.h"
#include "tools/files/npy.h"
#include "tools/files/shape.h"
#include "tools/files/swap.h"
#include "tools/print/progress.h"

#define PIECE_BYTES ((uint64_t)64 << 20)

/* A file that is open. */
typedef struct source {
    const char *path;
    int fd;
    uint64_t bytes; /* of the file */
    npy_header header;
} source;

#define FAIL(...) return snprintf(failed->text, sizeof(failed->text), __VA_ARGS__), false

/* Reads `bytes` bytes at `offset`. Updates the progress line from `done` on. */
static bool read_at(const source *from, void *to, uint64_t offset, uint64_t bytes, uint64_t done, problem *failed) {
    for (uint64_t at = 0; at < bytes;) {
        const uint64_t piece = bytes - at < PIECE_BYTES ? bytes - at : PIECE_BYTES;
        const ssize_t got = pread(from->fd, (char *)to + at, piece, (off_t)(offset + at));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) FAIL("%s: %s", from->path, strerror(errno));
        if (got == 0) FAIL("%s: the file ends %" PRIu64 " bytes before its items do", from->path, bytes - at);
        at += (uint64_t)got;
        progress_update(done + at);
    }
    return true;
}

/* Reads a .npy file's header. */
static bool read_header(source *from, problem *failed) {
    size_t need = 128;
    while (true) {
        if (need > from->bytes) need = (size_t)from->bytes;
        unsigned char *start = malloc(need + 1);
        if (!start) FAIL("%s: out of memory", from->path);
        bool good = read_at(from, start, 0, need, 0, failed);
        if (good && !npy_is_start(start, need)) {
            snprintf(failed->text, sizeof(failed->text), "%s: is no .npy file; --dtype says what raw items are", from->path);
            good = false;
        }
        const size_t had = need;
        char text[512];
        npy_status status = good ? npy_parse(start, had, &from->header, &need, text, sizeof(text)) : NPY_BAD;
        free(start);
        if (status == NPY_OK) return true;
        if (status == NPY_SHORT && had < from->bytes) continue;
        if (good)
            snprintf(failed->text, sizeof(failed->text), "%s: %s", from->path,
                     status == NPY_SHORT ? "the header is cut" : text);
        return false;
    }
}

static bool open_source(source *from, tally_dtype raw, problem *failed) {
    struct stat about;
    from->fd = open(from->path, O_RDONLY | O_CLOEXEC);
    if (from->fd < 0 || fstat(from->fd, &about)) FAIL("%s: %s", from->path, strerror(errno));
    if (!S_ISREG(about.st_mode)) FAIL("%s: is no regular file, and ranks read their shares of a file", from->path);
    from->bytes = (uint64_t)about.st_size;
    if (!raw) {
        if (!read_header(from, failed)) return false;
    } else {
        const size_t item = tally_dtype_bytes(raw);
        from->header = (npy_header){.dtype = raw, .n = from->bytes / item};
        if (from->bytes % item)
            FAIL("%s: %" PRIu64 " bytes are no whole number of %s", from->path, from->bytes, tally_dtype_name(raw));
    }
    if (from->header.shape.is_fortran && from->header.shape.dimensions > 1)
        FAIL("%s: is in Fortran order: a share of its items in C order is no run of its bytes; tally reduce takes it",
             from->path);
    return true;
}

static bool read_share(share *s, uint32_t k, const source *from, uint64_t first, problem *failed) {
    const npy_header *header = &from->header;
    const uint64_t item = tally_dtype_bytes(header->dtype), items = s->n * s->columns, bytes = items * item;
    s->items[k] = malloc(bytes ? bytes : 1);
    if (!s->items[k]) FAIL("%s: out of memory for a share of %" PRIu64 " bytes", from->path, bytes);
    if (!read_at(from, s->items[k], header->data_offset + first * s->columns * item, bytes, k * bytes, failed)) return false;
    const uint64_t parts = tally_dtype_kind(header->dtype) == TALLY_KIND_COMPLEX ? 2 : 1;
    if (header->swapped) swap_parts(s->items[k], s->items[k], items * parts, (size_t)(item / parts));
    return true;
}

/* Checks that a further input fits the first. */
static bool fits(const share *s, const source *from, problem *failed) {
    const npy_header *header = &from->header;
    if (header->dtype != s->dtype)
        FAIL("%s: has items of %s, and the file before %s", from->path, tally_dtype_name(header->dtype),
             tally_dtype_name(s->dtype));
    if (header->n != s->rows * s->columns)
        FAIL("%s: has %" PRIu64 " items, and the file before %" PRIu64, from->path, header->n, s->rows * s->columns);
    if (!shape_equal(&header->shape, &s->shape))
        FAIL("%s: has the shape %s, and the file before %s", from->path, shape_text(&header->shape).text,
             shape_text(&s->shape).text);
    return true;
}

/* Reads input k. The first decides type and number of items. */
static bool take(share *s, const world *w, uint32_t k, source *from, const reduce_request *r, problem *failed) {
    if (!open_source(from, r->types.raw, failed)) return false;
    const npy_header *header = &from->header;
    if (k && !fits(s, from, failed)) return false;
    if (!k) {
        s->dtype = header->dtype;
        s->shape = header->shape;
        s->rows = header->n;
        s->columns = 1;
        if (r->form == REDUCE_AXES && !axes_divide(r, from->path, &header->shape, s, failed)) return false;
    }
    uint64_t first = 0;
    s->n = s->rows;
    if (!w->parts && tally_share(s->rows, (uint64_t)w->size, (uint64_t)w->rank, &first, &s->n) != TALLY_OK)
        FAIL("%s: %s", from->path, tally_last_error());
    return read_share(s, k, from, first, failed);
}

/* Puts the rank into the pattern in place of its %d. */
static bool name_part(const char *pattern, int rank, char *path, size_t bytes, problem *failed) {
    const char *at = strstr(pattern, "%d");
    if (!at) FAIL("--parts %s: has no %%d, which stands for the rank", pattern);
    snprintf(path, bytes, "%.*s%d%s", (int)(at - pattern), pattern, rank, at + 2);
    return true;
}

void share_open(share *s, const world *w, char *const *files, const reduce_request *r, problem *failed) {
    char path[4096];
    *s = (share){.n = 0};
    failed->text[0] = 0;
    for (uint32_t k = 0; k < r->inputs && !failed->text[0]; k++) {
        source from = {.path = w->parts ? path : files[k], .fd = -1};
        struct stat about;
        if (w->parts && !name_part(w->parts, w->rank, path, sizeof(path), failed)) return;
        if (!r->quiet && !r->json && w->rank == 0 && !stat(from.path, &about))
            progress_begin(from.path, PROGRESS_BYTES, (uint64_t)about.st_size / (w->parts ? 1 : (uint64_t)w->size));
        take(s, w, k, &from, r, failed);
        progress_end();
        if (from.fd >= 0) close(from.fd);
    }
}

void share_close(share *s) {
    for (uint32_t k = 0; k < TALLY_MAX_INPUTS; k++) free(s->items[k]);
    *s = (share){.n = 0};
}
