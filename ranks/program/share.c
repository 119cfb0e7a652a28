/* SPDX-License-Identifier: MIT */
/* share.c: reads a rank's share of a file, by pread, so that ranks read a file on a shared disk
 * side by side. Shares are cut at multiples of TALLY_CHUNK items. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "program.h"
#include "tools/files/input.h"
#include "tools/files/shape.h"
#include "tools/files/swap.h"
#include "tools/print/progress.h"

#define PIECE_BYTES ((uint64_t)64 << 20)

#define FAIL(...) return snprintf(failed->text, sizeof(failed->text), __VA_ARGS__), false

/* Reads `bytes` bytes at `offset`. Updates the progress line from `done` on. */
static bool read_at(const input *from, void *to, uint64_t offset, uint64_t bytes, uint64_t done, problem *failed) {
    for (uint64_t at = 0; at < bytes;) {
        const uint64_t piece = bytes - at < PIECE_BYTES ? bytes - at : PIECE_BYTES;
        const ssize_t got = pread(from->fd, (char *)to + at, piece, (off_t)(offset + at));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) FAIL("%s: %s", from->name, strerror(errno));
        if (got == 0) FAIL("%s: the file ends %" PRIu64 " bytes before its items do", from->name, bytes - at);
        at += (uint64_t)got;
        progress_update(done + at);
    }
    return true;
}

/* Opens the file as `tally` does, with the same checks of its start and its size. */
static bool open_input(input *from, const char *path, tally_dtype raw, problem *failed) {
    struct stat about = {0};
    const bool there = stat(path, &about) == 0;
    if (there && !S_ISREG(about.st_mode)) FAIL("%.900s: is no regular file, and ranks read their shares of a file", path);
    cli_capture(failed->text, sizeof(failed->text));
    const bool good = input_open(from, path, raw) && (from->map || input_check_bytes(from, (uint64_t)about.st_size));
    cli_capture(NULL, 0);
    if (good && from->is_fortran)
        FAIL("%.900s: is in Fortran order: a share of its items in C order is no run of its bytes; tally reduce takes it",
             path);
    return good;
}

/* Tells a further input of shape (), whose item belongs to every item of the first. */
static bool is_repeated(const share *s, const input *from) {
    return from->is_npy && from->shape.dimensions == 0 && s->shape.dimensions > 0;
}

static bool read_share(share *s, uint32_t k, const input *from, uint64_t first, problem *failed) {
    const bool repeated = is_repeated(s, from);
    const uint64_t item = from->item_bytes, items = s->n * s->columns, count = repeated ? 1 : items;
    const uint64_t at = repeated ? 0 : first * s->columns * item;
    unsigned char *to = malloc(items ? items * item : item);
    s->items[k] = to;
    if (!to) FAIL("%s: out of memory for a share of %" PRIu64 " bytes", from->name, items * item);
    if (!read_at(from, to, from->data_offset + at, count * item, k * items * item, failed)) return false;
    if (from->swapped) swap_parts(to, to, count * (item / from->part_bytes), from->part_bytes);
    for (uint64_t i = 1; repeated && i < items; i++) memcpy(to + i * item, to, item);
    return true;
}

/* Reports that a further input differs from the first, in tally's words. */
static bool differ(const share *s, const input *from, const char *what, const char *first, const char *its, problem *failed) {
    FAIL("%.300s and %.300s: their %s differ: %.180s and %.180s", s->first, from->name, what, first, its);
}

/* Checks that a further input fits the first. Raw items have no shape, unless axes are reduced. */
static bool fits(const share *s, const input *from, bool by_axes, problem *failed) {
    char n[2][32];
    if (from->dtype != s->dtype)
        return differ(s, from, "item types", tally_dtype_name(s->dtype), tally_dtype_name(from->dtype), failed);
    if (is_repeated(s, from)) return true;
    if ((by_axes || (from->is_npy && s->is_npy)) && !shape_equal(&from->shape, &s->shape))
        return differ(s, from, "shapes", shape_text(&s->shape).text, shape_text(&from->shape).text, failed);
    if (from->n == s->rows * s->columns) return true;
    snprintf(n[0], sizeof(n[0]), "%" PRIu64 " items", s->rows * s->columns);
    snprintf(n[1], sizeof(n[1]), "%" PRIu64, from->n);
    return differ(s, from, "lengths", n[0], n[1], failed);
}

/* Reads input k. The first decides type and number of items. */
static bool take(share *s, const world *w, uint32_t k, const char *path, input *from, const reduce_request *r,
                 problem *failed) {
    if (!open_input(from, path, r->types.raw, failed)) return false;
    if (!from->is_npy) from->shape = (npy_shape){.dimensions = 1, .lengths = {from->n}};
    if (k && !fits(s, from, r->form == REDUCE_AXES, failed)) return false;
    if (!k) {
        snprintf(s->first, sizeof(s->first), "%.500s", path);
        s->is_npy = from->is_npy;
        s->dtype = from->dtype;
        s->shape = from->shape;
        s->rows = from->n;
        s->columns = 1;
        if (r->form == REDUCE_AXES && !axes_divide(r, from->name, &from->shape, s, failed)) return false;
    }
    uint64_t first = 0;
    s->n = s->rows;
    if (!w->parts && tally_share(s->rows, (uint64_t)w->size, (uint64_t)w->rank, &first, &s->n) != TALLY_OK)
        FAIL("%s: %s", from->name, tally_last_error());
    return read_share(s, k, from, first, failed);
}

/* Puts the rank into the pattern in place of its first %d. */
static bool name_part(const char *pattern, int rank, char *path, size_t bytes, problem *failed) {
    const char *at = strstr(pattern, PART_RANK); /* check_request has found it */
    const int wanted = snprintf(path, bytes, "%.*s%d%s", (int)(at - pattern), pattern, rank, at + strlen(PART_RANK));
    if (wanted < 0 || (size_t)wanted >= bytes) FAIL("%.200s...: the name is too long", pattern);
    return true;
}

void share_open(share *s, const world *w, char *const *files, const reduce_request *r, problem *failed) {
    char part[4096];
    *s = (share){.n = 0};
    failed->text[0] = 0;
    for (uint32_t k = 0; k < r->inputs && !failed->text[0]; k++) {
        const char *path = w->parts ? part : files[k];
        input from = {.fd = -1};
        struct stat about;
        if (w->parts && !name_part(files[k], w->rank, part, sizeof(part), failed)) return;
        if (!r->quiet && !r->json && w->rank == 0 && !stat(path, &about))
            progress_begin(path, PROGRESS_BYTES, (uint64_t)about.st_size / (w->parts ? 1 : (uint64_t)w->size));
        take(s, w, k, path, &from, r, failed);
        progress_end();
        input_close(&from);
    }
}

void share_close(share *s) {
    for (uint32_t k = 0; k < TALLY_MAX_INPUTS; k++) free(s->items[k]);
    *s = (share){.n = 0};
}
