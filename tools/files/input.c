/* SPDX-License-Identifier: MIT */
/* input.c: see input.h. */
#include "input.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/cli.h"
#include "files.h"
#include "foreign.h"
#include "tools/guard.h"
#include "tools/print/output.h"
#include "tools/print/progress.h"
#include "swap.h"

/* Slice of a mapped file. It is small enough for a progress line on a slow disk, and large enough
 * that the cost of a launch does not show. */
#define SLICE_BYTES ((size_t)64 << 20)
/* Buffer for items that are read or swapped. */
#define BUFFER_BYTES ((size_t)8 << 20)

/* ---- opening --------------------------------------------------------------------------------- */

static bool wrong(const input *in, const char *problem) {
    cli_report("%s: %s", *in->name ? in->name : "''", problem);
    return false;
}

/* Reads until `bytes` bytes are there or the stream ends. A stream may be slow, so each read
 * updates the progress line. */
static bool read_up_to(input *in, unsigned char *to, size_t bytes, size_t *got) {
    *got = 0;
    while (*got < bytes && !in->ended) {
        const ssize_t n = read(in->fd, to + *got, bytes - *got);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return wrong(in, strerror(errno));
        in->ended = n == 0;
        *got += (size_t)n;
        progress_update((in->map_bytes + in->done * in->item_bytes + *got) * in->share);
    }
    return true;
}

static bool open_file(input *in, const char *path) {
    struct stat about;
    in->fd = strcmp(path, "-") == 0 ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (in->fd < 0) return wrong(in, strerror(errno));
    if (fstat(in->fd, &about)) return wrong(in, strerror(errno));
    if (S_ISDIR(about.st_mode)) return wrong(in, strerror(EISDIR));
    /* A larger pipe gives 3.1 GB/s instead of 0.9 (2 cores, `cat` of 1 GiB, November 2026). If the
     * system refuses, the pipe stays small. */
    if (S_ISFIFO(about.st_mode)) fcntl(in->fd, F_SETPIPE_SZ, 1 << 20);
    /* Files of /proc have size 0 but are not empty, so they are read as streams. So is standard
     * input, which may have been read in part. */
    if (in->fd == STDIN_FILENO || !S_ISREG(about.st_mode) || about.st_size == 0) return true;
    if ((uintmax_t)about.st_size > SIZE_MAX) return true;
    void *map = mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_SHARED, in->fd, 0);
    if (map == MAP_FAILED) return true; /* the file system cannot map: read it */
    in->map = map;
    in->map_bytes = (size_t)about.st_size;
    madvise(in->map, in->map_bytes, MADV_SEQUENTIAL);
    guard_begin(in->map, in->map_bytes, in->name);
    return true;
}

/* Makes the first `bytes` bytes of the file available at *start. *got is the number that exist. */
static bool look_ahead(input *in, size_t bytes, const unsigned char **start, size_t *got) {
    if (in->map) {
        *start = in->map;
        *got = in->map_bytes;
        return true;
    }
    if (!in->buffer && !(in->buffer = aligned_alloc(64, BUFFER_BYTES))) return wrong(in, strerror(ENOMEM));
    *start = in->buffer;
    if (bytes > in->held) {
        if (!read_up_to(in, in->buffer + in->held, bytes - in->held, got)) return false;
        in->held += *got;
    }
    *got = in->held;
    return true;
}

static bool read_npy_header(input *in, tally_dtype raw) {
    const unsigned char *start;
    size_t got, need = NPY_MAGIC_BYTES;
    char problem[256];
    npy_header header;
    npy_status status;
    do {
        const size_t wanted = need;
        if (!look_ahead(in, wanted, &start, &got)) return false;
        if (got < wanted) return wrong(in, "truncated: the file ends within its .npy header");
        status = npy_parse(start, got, &header, &need, problem, sizeof(problem));
    } while (status == NPY_SHORT);
    if (status == NPY_BAD) return wrong(in, problem);
    if (raw != TALLY_DTYPE_DEFAULT && raw != header.dtype) {
        cli_report("%s: --dtype %s contradicts the .npy header, which says %s", in->name, tally_dtype_name(raw),
                   tally_dtype_name(header.dtype));
        return false;
    }
    in->dtype = header.dtype;
    in->swapped = header.swapped;
    in->n = header.n;
    in->is_npy = true;
    in->shape = header.shape;
    in->is_fortran = fortran_differs(&header.shape);
    in->shape.is_fortran = false; /* the order in which items are handed out */
    in->data_offset = header.data_offset;
    return true;
}

static bool check_size(const input *in, uint64_t bytes) {
    const uint64_t promised = in->n * in->item_bytes;
    if (bytes < promised)
        cli_report("%s: truncated: its header promises %" PRIu64 " bytes of data, there are %" PRIu64, in->name, promised,
                   bytes);
    if (bytes > promised)
        cli_report("%s: more follows the %" PRIu64 " bytes of data that its header promises", in->name, promised);
    return bytes == promised;
}

static bool check_whole_items(const input *in, uint64_t bytes) {
    if (bytes % in->item_bytes == 0) return true;
    cli_report("%s: its size, %" PRIu64 " bytes, is no multiple of %zu, the size of %s", in->name, bytes, in->item_bytes,
               tally_dtype_name(in->dtype));
    return false;
}

bool input_check_bytes(input *in, uint64_t file_bytes) {
    if (in->is_npy) return check_size(in, file_bytes - in->data_offset);
    in->n = file_bytes / in->item_bytes;
    return check_whole_items(in, file_bytes);
}

static bool ends_with_npy(const char *path) {
    const size_t n = strlen(path);
    return n >= 4 && strcmp(path + n - 4, ".npy") == 0;
}

static void set_dtype(input *in, tally_dtype dtype) {
    in->dtype = dtype;
    in->item_bytes = tally_dtype_bytes(dtype);
    in->part_bytes = tally_dtype_bytes(cli_part_dtype(dtype));
}

static bool identify(input *in, const char *path, tally_dtype raw) {
    const unsigned char *start = NULL;
    size_t got = 0;
    if (!look_ahead(in, NPY_MAGIC_BYTES, &start, &got)) return false;
    const bool named = ends_with_npy(path);
    if (npy_is_start(start, got) && (got >= NPY_MAGIC_BYTES || raw == TALLY_DTYPE_DEFAULT || named)) {
        if (!read_npy_header(in, raw)) return false;
        set_dtype(in, in->dtype);
        return !in->map || input_check_bytes(in, in->map_bytes);
    }
    if (named && !got) return wrong(in, "truncated: an empty .npy file");
    if (named || raw == TALLY_DTYPE_DEFAULT || foreign_by_name(path)) {
        const char *type = raw == TALLY_DTYPE_DEFAULT || named ? NULL : tally_dtype_name(raw);
        if (!look_ahead(in, FOREIGN_BYTES, &start, &got)) return false;
        if (got > FOREIGN_BYTES) got = FOREIGN_BYTES;
        if ((named ? foreign_report_packed : foreign_report)(in->name, type, start, got)) return false;
    }
    if (named) return wrong(in, "not a .npy file, in spite of its name");
    if (in->npy_only) return wrong(in, got ? "not a .npy file" : "empty: not a .npy file");
    if (raw == TALLY_DTYPE_DEFAULT) {
        cli_report("%s: %s: give the type of its items with --dtype (%s)", in->name, got ? "not a .npy file" : "empty",
                   cli_dtype_names().text);
        return false;
    }
    set_dtype(in, raw);
    in->n = INPUT_UNKNOWN;
    return !in->map || input_check_bytes(in, in->map_bytes);
}

bool input_open(input *in, const char *path, tally_dtype raw) {
    *in = (input){.name = path, .fd = -1, .share = 1, .npy_only = raw == INPUT_NPY_ONLY};
    if (in->npy_only) raw = TALLY_DTYPE_DEFAULT;
    if (!open_file(in, path) || !identify(in, path, raw)) return input_close(in), false;
    /* The bytes that were read beyond the header are the start of the data. */
    if (!in->map && in->data_offset) in->held -= in->data_offset;
    if (!in->map && in->held) memmove(in->buffer, in->buffer + in->data_offset, in->held);
    return true;
}

/* ---- slices ---------------------------------------------------------------------------------- */

static void swap_bytes(const input *in, void *to, const void *items, uint64_t n) {
    swap_parts(to, items, n * (in->item_bytes / in->part_bytes), in->part_bytes);
}

const unsigned char *input_in_place(const input *in) {
    const unsigned char *items = in->map ? in->map + in->data_offset : NULL;
    return in->swapped || in->is_fortran || (uintptr_t)items % in->part_bytes ? NULL : items;
}

static bool next_of_map(input *in, const void **items, uint64_t *n, bool *last) {
    const unsigned char *from = in->map + in->data_offset + in->done * in->item_bytes;
    const bool in_place = input_in_place(in) != NULL;
    const uint64_t slice = (in_place ? SLICE_BYTES : BUFFER_BYTES) / in->item_bytes;
    const uint64_t left = in->n - in->done;
    *n = left < slice ? left : slice;
    *last = *n == left;
    *items = from;
    in->done += *n;
    if (in_place) return true;
    if (!in->buffer && !(in->buffer = aligned_alloc(64, BUFFER_BYTES))) return wrong(in, strerror(ENOMEM));
    if (in->swapped)
        swap_bytes(in, in->buffer, from, *n);
    else
        memcpy(in->buffer, from, *n * in->item_bytes);
    *items = in->buffer;
    return true;
}

static bool next_of_stream(input *in, const void **items, uint64_t *n, bool *last) {
    size_t got;
    if (!in->buffer && !(in->buffer = aligned_alloc(64, BUFFER_BYTES))) return wrong(in, strerror(ENOMEM));
    if (!read_up_to(in, in->buffer + in->held, BUFFER_BYTES - in->held, &got)) return false;
    got += in->held;
    in->held = 0;
    const uint64_t total = in->done * in->item_bytes + got; /* all slices but the last are whole */
    *last = in->ended;
    if (in->n != INPUT_UNKNOWN) {
        if ((in->ended || total > in->n * in->item_bytes) && !check_size(in, total)) return false;
    } else if (in->ended && !check_whole_items(in, total)) {
        return false;
    }
    *items = in->buffer;
    *n = got / in->item_bytes;
    in->done += *n;
    if (in->swapped) swap_bytes(in, in->buffer, in->buffer, *n);
    return true;
}

static bool wrong_copy(const input *in) {
    cli_report("%s: its Fortran order needs a copy of it in %s ($TMPDIR): %s", in->name, files_temporary_folder(),
               strerror(errno));
    return false;
}

/* Copies the rest of a stream to a temporary file. `map_bytes` counts the copied bytes. */
static bool copy_stream(input *in, int fd) {
    size_t got = in->held;
    in->held = 0;
    do {
        if (!output_write(fd, in->buffer, got)) return wrong_copy(in);
        in->map_bytes += got;
        if (in->map_bytes > in->n * in->item_bytes) break;
        if (!read_up_to(in, in->buffer, BUFFER_BYTES, &got)) return false;
    } while (got);
    return check_size(in, in->map_bytes);
}

/* Copies a stream to a temporary file and maps that file. */
static bool spool(input *in) {
    const int fd = files_temporary();
    if (fd < 0) return wrong_copy(in);
    const bool done = copy_stream(in, fd);
    void *map = done ? mmap(NULL, in->map_bytes, PROT_READ, MAP_SHARED, fd, 0) : MAP_FAILED;
    if (done && map == MAP_FAILED) wrong_copy(in);
    close(fd);
    if (map == MAP_FAILED) return false;
    in->map = map;
    in->data_offset = 0;
    guard_begin(in->map, in->map_bytes, in->name);
    return true;
}

static bool next_of_fortran(input *in, const void **items, uint64_t *n, bool *last) {
    if (!in->done) {
        if (!in->map && !spool(in)) return false;
        const size_t bytes = fortran_piece_bytes(&in->shape, in->item_bytes);
        free(in->buffer);
        if (!(in->buffer = aligned_alloc(64, bytes))) return wrong(in, strerror(ENOMEM));
        fortran_begin(&in->walk, &in->shape, bytes / in->item_bytes);
        madvise(in->map, in->map_bytes, MADV_NORMAL);
    }
    *n = fortran_next(&in->walk, in->map + in->data_offset, in->item_bytes, in->buffer);
    in->done += *n;
    *last = in->done == in->n;
    *items = in->buffer;
    if (in->swapped) swap_bytes(in, in->buffer, in->buffer, *n);
    return true;
}

bool input_next(input *in, const void **items, uint64_t *n, bool *last) {
    if (in->is_fortran) return next_of_fortran(in, items, n, last);
    return in->map ? next_of_map(in, items, n, last) : next_of_stream(in, items, n, last);
}

void input_close(input *in) {
    if (in->map) {
        guard_end(in->map);
        munmap(in->map, in->map_bytes);
    }
    free(in->buffer);
    if (in->fd > STDIN_FILENO) close(in->fd);
    *in = (input){.fd = -1};
}
