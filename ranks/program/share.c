/* SPDX-License-Identifier: MIT */
/* share.c: reads a rank's share of a file, by pread, so that ranks read a file on a shared disk
 * side by side. Shares are cut at multiples of TALLY_CHUNK items or rows, or between columns. */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
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
#define PATH_BYTES 4096

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
    if (good && from->is_fortran && !from->map) FAIL("%.900s: is in Fortran order, and cannot be mapped", path);
    if (good && !from->is_npy) from->shape = (npy_shape){.dimensions = 1, .lengths = {from->n}};
    return good;
}

/* Copies the items [first, first + count) in C order of an array in Fortran order. */
static bool read_fortran(const input *from, unsigned char *to, uint64_t first, uint64_t count, uint64_t done, problem *failed) {
    const uint64_t item = from->item_bytes, bytes = fortran_piece_bytes(&from->shape, item), end = first + count;
    unsigned char *piece = malloc(bytes);
    fortran_walk walk;
    if (!piece) FAIL("%s: out of memory for a piece of %" PRIu64 " bytes", from->name, bytes);
    fortran_begin(&walk, &from->shape, bytes / item);
    for (uint64_t at = fortran_seek(&walk, first), n; at < end; at += n) {
        n = fortran_next(&walk, from->map + from->data_offset, item, piece);
        const uint64_t begin = at < first ? first : at, stop = at + n < end ? at + n : end;
        memcpy(to + (begin - first) * item, piece + (begin - at) * item, (stop - begin) * item);
        progress_update(done + (stop - first) * item);
    }
    free(piece);
    return true;
}

/* Tells an input of shape () beside one that has items of its own: its item belongs to each of
 * them. */
static bool is_repeated(const share *s, const input *from) {
    return from->is_npy && from->shape.dimensions == 0 && s->shape.dimensions > 0;
}

/* Reads this rank's columns of all rows. */
static bool read_columns(const share *s, const input *from, unsigned char *to, problem *failed) {
    const uint64_t item = from->item_bytes, bytes = s->own * item;
    bool good = true;
    for (uint64_t row = 0; row < s->n && bytes && good; row++)
        good = read_at(from, to + row * bytes, from->data_offset + (row * s->columns + s->first) * item, bytes,
                       s->read + row * bytes, failed);
    return good;
}

static bool read_share(share *s, uint32_t k, const input *from, problem *failed) {
    const bool repeated = is_repeated(s, from);
    const uint64_t item = from->item_bytes, items = s->n * s->own, count = repeated ? 1 : items;
    const uint64_t at = repeated ? 0 : s->first * s->columns * item;
    unsigned char *to = malloc(items ? items * item : item);
    s->items[k] = to;
    if (!to) FAIL("%s: out of memory for a share of %" PRIu64 " bytes", from->name, items * item);
    const bool good = from->is_fortran             ? read_fortran(from, to, at / item, count, s->read, failed)
                      : s->by_columns && !repeated ? read_columns(s, from, to, failed)
                                                   : read_at(from, to, from->data_offset + at, count * item, s->read, failed);
    if (!good) return false;
    s->read += count * item;
    if (from->swapped) swap_parts(to, to, count * (item / from->part_bytes), from->part_bytes);
    for (uint64_t i = 1; repeated && i < items; i++) memcpy(to + i * item, to, item);
    return true;
}

/* Reports that inputs differ, in tally's words. */
static bool differ(const input *a, const input *b, const char *what, const char *its, const char *other, problem *failed) {
    FAIL("%.300s and %.300s: their %s differ: %.180s and %.180s", a->name, b->name, what, its, other);
}

/* Checks that an input fits the leader. Raw items have no shape, unless axes are reduced. */
static bool fits(const share *s, const input *leader, const input *from, bool by_axes, problem *failed) {
    char n[2][32];
    if (is_repeated(s, from)) return true;
    if ((by_axes || (from->is_npy && leader->is_npy)) && !shape_equal(&from->shape, &s->shape))
        return differ(leader, from, "shapes", shape_text(&s->shape).text, shape_text(&from->shape).text, failed);
    if (from->n == leader->n) return true;
    snprintf(n[0], sizeof(n[0]), "%" PRIu64 " items", leader->n);
    snprintf(n[1], sizeof(n[1]), "%" PRIu64, from->n);
    return differ(leader, from, "lengths", n[0], n[1], failed);
}

/* Returns the input that decides the shape: the first that is not of shape (). */
static const input *find_leader(const input *from, uint32_t count) {
    for (uint32_t k = 0; k < count; k++)
        if (!from[k].is_npy || from[k].shape.dimensions) return &from[k];
    return from;
}

/* Tells whether the ranks share the columns, as some would have no rows. A file in Fortran order is
 * read in pieces of all columns, and MPI counts columns by int. */
static bool take_columns(const share *s, const world *w, const input *from, const reduce_request *r) {
    bool apart = r->form == REDUCE_AXES && s->columns > 1 && s->columns <= INT_MAX;
    for (uint32_t k = 0; k < r->inputs; k++) apart = apart && !from[k].is_fortran;
    return apart && s->rows <= (uint64_t)(w->size - 1) * TALLY_CHUNK;
}

/* Checks that the inputs fit each other, and finds this rank's rows or columns. */
static bool divide(share *s, const world *w, const input *from, const reduce_request *r, problem *failed) {
    const input *leader = find_leader(from, r->inputs);
    s->dtype = from->dtype;
    s->shape = leader->shape;
    s->rows = leader->n;
    s->columns = 1;
    for (uint32_t k = 1; k < r->inputs; k++)
        if (from[k].dtype != s->dtype)
            return differ(from, &from[k], "item types", tally_dtype_name(s->dtype), tally_dtype_name(from[k].dtype), failed);
    for (uint32_t k = 0; k < r->inputs; k++)
        if (!fits(s, leader, &from[k], r->form == REDUCE_AXES, failed)) return false;
    if (r->form == REDUCE_AXES && !axes_divide(r, leader->name, &leader->shape, s, failed)) return false;
    s->n = s->rows;
    s->own = s->columns;
    if (take_columns(s, w, from, r))
        axes_share_columns(w, s);
    else if (!w->parts && tally_share(s->rows, (uint64_t)w->size, (uint64_t)w->rank, &s->first, &s->n) != TALLY_OK)
        FAIL("%s: %s", leader->name, tally_last_error());
    return true;
}

/* Puts the rank into the pattern in place of its first %d. */
static bool name_part(const char *pattern, int rank, char *path, size_t bytes, problem *failed) {
    const char *at = strstr(pattern, PART_RANK); /* check_request has found it */
    const int wanted = snprintf(path, bytes, "%.*s%d%s", (int)(at - pattern), pattern, rank, at + strlen(PART_RANK));
    if (wanted < 0 || (size_t)wanted >= bytes) FAIL("%.200s...: the name is too long", pattern);
    return true;
}

/* Opens this rank's files, whose names are kept in `parts` if they are patterns. */
static bool open_all(const world *w, char *const *files, const reduce_request *r, input *from, char (*parts)[PATH_BYTES],
                     problem *failed) {
    for (uint32_t k = 0; k < r->inputs; k++) {
        if (w->parts && !name_part(files[k], w->rank, parts[k], sizeof(parts[k]), failed)) return false;
        if (!open_input(&from[k], w->parts ? parts[k] : files[k], r->types.raw, failed)) return false;
    }
    return true;
}

void share_open(share *s, const world *w, char *const *files, const reduce_request *r, problem *failed) {
    char parts[TALLY_MAX_INPUTS][PATH_BYTES];
    input from[TALLY_MAX_INPUTS];
    for (uint32_t k = 0; k < r->inputs; k++) from[k] = (input){.fd = -1};
    *s = (share){.n = 0};
    failed->text[0] = 0;
    bool good = open_all(w, files, r, from, parts, failed) && divide(s, w, from, r, failed);
    if (good && (w->progress || (!r->quiet && !r->json)) && w->rank == 0)
        progress_begin(find_leader(from, r->inputs)->name, PROGRESS_BYTES, s->n * s->own * from[0].item_bytes * r->inputs);
    for (uint32_t k = 0; k < r->inputs && good; k++) good = read_share(s, k, &from[k], failed);
    progress_end();
    for (uint32_t k = 0; k < r->inputs; k++) input_close(&from[k]);
}

void share_close(share *s) {
    for (uint32_t k = 0; k < TALLY_MAX_INPUTS; k++) free(s->items[k]);
    *s = (share){.n = 0};
}
