/* SPDX-License-Identifier: MIT */
/* npy_write.c: see npy_write.h. */
#include "npy_write.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/cli.h"
#include "tools/print/output.h"

static bool failed(const npy_writer *w, const char *wrong) {
    cli_report("%s: %s", *w->name ? w->name : "''", wrong);
    return false;
}

bool npy_write_open(npy_writer *w, const char *path, tally_dtype dtype, uint32_t dimensions) {
    *w = (npy_writer){.name = path, .dtype = dtype, .data_offset = npy_room(dimensions), .file.fd = -1};
    if (!npy_make(dtype, NULL, NULL, 0))
        return cli_report("%s: there are no .npy files of %s", path, tally_dtype_name(dtype)), false;
    const char *wrong = new_file_open(&w->file, path);
    if (!wrong && lseek(w->file.fd, (off_t)w->data_offset, SEEK_SET) < 0) wrong = strerror(errno);
    if (!wrong) return true;
    npy_write_abandon(w);
    return failed(w, wrong);
}

bool npy_write_items(npy_writer *w, const void *items, size_t bytes) {
    return output_write(w->file.fd, items, bytes) || failed(w, strerror(errno));
}

static bool write_header(npy_writer *w, const npy_shape *shape) {
    unsigned char *header = malloc(w->data_offset);
    if (!header) return failed(w, strerror(ENOMEM));
    npy_make(w->dtype, shape, header, w->data_offset);
    const bool done =
        (lseek(w->file.fd, 0, SEEK_SET) == 0 || failed(w, strerror(errno))) && npy_write_items(w, header, w->data_offset);
    free(header);
    return done;
}

bool npy_write_close(npy_writer *w, const npy_shape *shape) {
    const char *wrong = NULL;
    const bool done = write_header(w, shape) && (!(wrong = new_file_close(&w->file)) || failed(w, wrong));
    npy_write_abandon(w);
    return done;
}

void npy_write_abandon(npy_writer *w) {
    new_file_abandon(&w->file);
}
