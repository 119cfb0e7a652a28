/* SPDX-License-Identifier: MIT */
/* array.c: see array.h. */
#include "array.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"
#include "input.h"
#include "npy.h"
#include "progress.h"

uint64_t array_bytes(const array *a) {
    return a->n * tally_dtype_bytes(a->dtype);
}

void array_free(array *a) {
    free(a->items);
    *a = (array){.n = 0};
}

static bool wrong(const char *path, int error) {
    cli_report("%s: %s", path, strerror(error));
    return false;
}

/* ---- reading ------------------------------------------------------------------------------------------------------- */

/* Makes room for n more items; a stream's number is not known. */
static bool grow(array *a, uint64_t n, uint64_t *room, const char *path) {
    const uint64_t bytes = tally_dtype_bytes(a->dtype);
    if (a->items && n <= *room - a->n) return true;
    const uint64_t wanted = 2 * a->n > a->n + n ? 2 * a->n : a->n + n;
    unsigned char *items = wanted <= SIZE_MAX / bytes ? realloc(a->items, wanted ? wanted * bytes : 1) : NULL;
    if (!items) return wrong(path, ENOMEM);
    a->items = items;
    *room = wanted;
    return true;
}

static bool read_items(array *a, input *in) {
    uint64_t room = 0, n;
    const void *items;
    bool last = false;
    a->dtype = in->dtype;
    if (in->n != INPUT_UNKNOWN && !grow(a, in->n, &room, in->name)) return false;
    while (!last) {
        if (!input_next(in, &items, &n, &last) || !grow(a, n, &room, in->name)) return false;
        memcpy(a->items + a->n * in->item_bytes, items, n * in->item_bytes);
        a->n += n;
        progress_update(array_bytes(a));
    }
    return true;
}

bool array_load(array *a, const char *path, tally_dtype raw) {
    input in;
    *a = (array){.n = 0};
    if (!input_open(&in, path, raw)) return false;
    progress_begin(path, PROGRESS_BYTES, in.n == INPUT_UNKNOWN ? 0 : in.n * in.item_bytes);
    const bool done = read_items(a, &in);
    progress_end();
    input_close(&in);
    if (!done) array_free(a);
    return done;
}

bool array_make(array *a, tally_dtype dtype, uint64_t n, const char *path) {
    const size_t bytes = tally_dtype_bytes(dtype);
    *a = (array){.dtype = dtype, .n = n, .items = n <= SIZE_MAX / bytes ? calloc(n ? n : 1, bytes) : NULL};
    return a->items || wrong(path, ENOMEM);
}

/* ---- writing ------------------------------------------------------------------------------------------------------- */

static bool write_all(FILE *file, const array *a) {
    unsigned char header[NPY_MADE_BYTES];
    const size_t header_bytes = npy_make(a->dtype, a->n, header);
    const size_t bytes = array_bytes(a);
    return fwrite(header, 1, header_bytes, file) == header_bytes && fwrite(a->items, 1, bytes, file) == bytes;
}

/* As open(2) would have made it. */
static void set_mode(int fd) {
    const mode_t mask = umask(0);
    umask(mask);
    const int ignored = fchmod(fd, 0666 & ~mask);
    (void)ignored;
}

bool array_save(const array *a, const char *path) {
    static const char ending[] = ".XXXXXX";
    unsigned char header[NPY_MADE_BYTES];
    struct stat about;
    if (!npy_make(a->dtype, a->n, header)) {
        cli_report("%s: there are no .npy files of %s", path, tally_dtype_name(a->dtype));
        return false;
    }
    /* A device or a pipe would be replaced, not written to. */
    if (stat(path, &about) == 0 && !S_ISREG(about.st_mode)) {
        cli_report("%s: %s", path, S_ISDIR(about.st_mode) ? strerror(EISDIR) : "it is no regular file");
        return false;
    }
    char *made = malloc(strlen(path) + sizeof(ending));
    if (!made) return wrong(path, ENOMEM);
    strcat(strcpy(made, path), ending);
    const int fd = mkstemp(made);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "wb");
    int error = file ? 0 : errno;
    if (file) set_mode(fd);
    errno = 0;
    if (file && !write_all(file, a)) error = errno ? errno : EIO;
    errno = 0;
    if (file && fclose(file) && !error) error = errno ? errno : EIO;
    if (!error && rename(made, path)) error = errno;
    if (error && fd >= 0) unlink(made);
    free(made);
    return !error || wrong(path, error);
}
