/* SPDX-License-Identifier: MIT */
/* array.c: see array.h. */
#include "array.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/cli.h"
#include "input.h"
#include "npy_write.h"
#include "tools/print/progress.h"

uint64_t array_bytes(const array *a) {
    return a->n * tally_dtype_bytes(a->dtype);
}

void array_free(array *a) {
    if (a->file)
        input_close(a->file);
    else
        free(a->items);
    free(a->file);
    *a = (array){.n = 0};
}

static bool wrong(const char *path, int error) {
    cli_report("%s: %s", *path ? path : "''", strerror(error));
    return false;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Grows the array's memory by n items. The length of a stream is unknown until its end. */
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

static npy_shape shape_of(const input *in, uint64_t n) {
    return in->is_npy ? in->shape : (npy_shape){.dimensions = 1, .lengths = {n}};
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
    a->shape = shape_of(in, a->n);
    a->is_npy = in->is_npy;
    return true;
}

static bool load(array *a, input *in) {
    progress_begin(in->name, PROGRESS_BYTES, in->n == INPUT_UNKNOWN ? 0 : in->n * in->item_bytes);
    const bool done = read_items(a, in);
    progress_end();
    input_close(in);
    if (!done) array_free(a);
    return done;
}

bool array_load(array *a, const char *path, tally_dtype raw) {
    input in;
    *a = (array){.n = 0};
    return input_open(&in, path, raw) && load(a, &in);
}

bool array_open(array *a, const char *path, tally_dtype raw, bool any_order) {
    input in;
    *a = (array){.n = 0};
    if (!input_open(&in, path, raw)) return false;
    const bool is_fortran = any_order && in.is_fortran;
    if (is_fortran) in.is_fortran = false; /* items are handed out as they lie */
    unsigned char *const items = (unsigned char *)(uintptr_t)input_in_place(&in);
    const bool in_place = items && (uintptr_t)items % in.item_bytes == 0;
    if (!in_place) {
        if (!load(a, &in)) return false;
    } else {
        *a = (array){.dtype = in.dtype,
                     .n = in.n,
                     .shape = shape_of(&in, in.n),
                     .is_npy = in.is_npy,
                     .items = items,
                     .file = malloc(sizeof(in))};
        if (!a->file) return input_close(&in), wrong(path, ENOMEM);
        *a->file = in;
    }
    a->shape.is_fortran = is_fortran;
    return true;
}

bool array_make(array *a, tally_dtype dtype, const npy_shape *shape, uint64_t n, const char *path) {
    const size_t bytes = tally_dtype_bytes(dtype);
    *a = (array){.dtype = dtype,
                 .n = n,
                 .shape = *shape,
                 .is_npy = true,
                 .items = n <= SIZE_MAX / bytes ? calloc(n ? n : 1, bytes) : NULL};
    return a->items || wrong(path, ENOMEM);
}

bool array_repeat(array *a, const array *other, const char *path) {
    const size_t bytes = tally_dtype_bytes(a->dtype);
    array all;
    if (!a->is_npy || a->shape.dimensions) return true;
    if (!array_make(&all, a->dtype, &other->shape, other->n, path)) return false;
    for (uint64_t i = 0; i < all.n; i++) memcpy(all.items + i * bytes, a->items, bytes);
    array_free(a);
    *a = all;
    return true;
}

/* ---- writing --------------------------------------------------------------------------------- */

bool array_save(const array *a, const char *path) {
    npy_writer to;
    if (!npy_write_open(&to, path, a->dtype, a->shape.dimensions)) return false;
    if (npy_write_items(&to, a->items, array_bytes(a))) return npy_write_close(&to, &a->shape);
    npy_write_abandon(&to);
    return false;
}
