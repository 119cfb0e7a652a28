/* SPDX-License-Identifier: MIT */
/* axes.c: `tally-mpi reduce --axis`, where the reduced axes come first: rows are spread over the
 * ranks in whole chunks, and columns are reduced. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "program.h"
#include "tools/files/shape.h"

#define FAIL(...) return snprintf(failed->text, sizeof(failed->text), __VA_ARGS__), false

/* Marks the reduced axes. */
static bool choose(const reduce_request *r, const char *path, const npy_shape *shape, bool *reduced, problem *failed) {
    const int dimensions = (int)shape->dimensions;
    for (uint32_t i = 0; i < r->axis_count; i++) {
        const int axis = r->axes[i] < 0 ? r->axes[i] + dimensions : r->axes[i];
        if (axis < 0 || axis >= dimensions)
            FAIL("%s: --axis %d: its shape %s has %d axes", path, r->axes[i], shape_text(shape).text, dimensions);
        if (reduced[axis]) FAIL("%s: --axis: axis %d is named twice", path, axis);
        reduced[axis] = true;
    }
    return true;
}

bool axes_divide(const reduce_request *r, const char *path, const npy_shape *shape, share *s, problem *failed) {
    bool reduced[NPY_DIMENSION_LIMIT] = {false};
    if (shape->dimensions > TALLY_MAX_AXES) FAIL("%s: its shape has more than %d axes", path, TALLY_MAX_AXES);
    if (!choose(r, path, shape, reduced, failed)) return false;
    s->rows = s->columns = 1;
    for (uint32_t d = 0; d < shape->dimensions; d++) {
        if (reduced[d] && d && !reduced[d - 1])
            FAIL("%s: --axis: ranks share the leading axes, and axis %u is reduced behind one that is kept; tally reduce takes "
                 "it",
                 path, d);
        *(reduced[d] ? &s->rows : &s->columns) *= shape->lengths[d];
    }
    return true;
}

tally_status axes_reduce(const world *w, const reduce_request *r, const share *s, tally_mpi *mpi, reduce_outcome *o) {
    tally_mpi_columns_args args = {.size = sizeof(args), .n = s->n, .columns = s->columns};
    for (uint32_t k = 0; k < r->inputs; k++) args.items[k] = s->items[k];
    if (w->rank == 0) {
        free(o->result);
        o->result = malloc(s->columns * tally_plan_result_bytes(tally_mpi_plan(mpi)) + 1);
    }
    return tally_mpi_reduce_columns(mpi, &args, 0, o->result);
}

void axes_print(const reduce_request *r, char *const *files, const share *s, const reduce_outcome *o, size_t result_bytes) {
    static segments all; /* tens of kilobytes */
    problem none;
    all = (segments){.r = r, .files = files, .shape = s->shape, .count = s->columns, .result_bytes = result_bytes, .o = *o};
    if (!choose(r, files[0], &s->shape, all.reduced, &none)) return; /* it has been checked */
    for (uint32_t d = 0; d < s->shape.dimensions; d++) {
        all.axes[d] = (tally_axis){.extent = s->shape.lengths[d], .reduced = all.reduced[d]};
        if (all.reduced[d] && !r->keepdims) continue;
        all.out.lengths[all.out.dimensions++] = all.reduced[d] ? 1 : s->shape.lengths[d];
    }
    segments_print(&all);
}
