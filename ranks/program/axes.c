/* SPDX-License-Identifier: MIT */
/* axes.c: `tally-mpi reduce --axis`, where the reduced axes come first, and columns are reduced.
 * The ranks share the rows in whole chunks, or the columns where there are fewer chunks than
 * ranks. */
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
            FAIL("%s: --axis %d: its shape %s has %d ax%s", path, r->axes[i], shape_text(shape).text, dimensions,
                 dimensions == 1 ? "is" : "es");
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

/* Returns the first column of a rank. The first ranks have one more than the others. */
static uint64_t column_of(const world *w, const share *s, int rank) {
    const uint64_t each = s->columns / (uint64_t)w->size, longer = s->columns % (uint64_t)w->size, before = (uint64_t)rank;
    return each * before + (before < longer ? before : longer);
}

void axes_share_columns(const world *w, share *s) {
    s->by_columns = true;
    s->n = s->rows;
    s->first = column_of(w, s, w->rank);
    s->own = column_of(w, s, w->rank + 1) - s->first;
}

/* Gathers the results of all ranks' columns on rank 0. `counts` has place for two numbers of each
 * rank. */
static void gather(const world *w, const share *s, const void *mine, void *all, size_t result_bytes, int *counts) {
    int *places = counts + w->size;
    MPI_Datatype result;
    for (int i = 0; i < w->size; i++) {
        places[i] = (int)column_of(w, s, i);
        counts[i] = (int)column_of(w, s, i + 1) - places[i];
    }
    MPI_Type_contiguous((int)result_bytes, MPI_BYTE, &result);
    MPI_Type_commit(&result);
    MPI_Gatherv(mine, (int)s->own, result, all, counts, places, result, 0, MPI_COMM_WORLD);
    MPI_Type_free(&result);
}

bool axes_reduce(const world *w, const reduce_request *r, const share *s, tally_mpi *mpi, reduce_outcome *o) {
    tally_mpi_columns_args args = {.size = sizeof(args), .n = s->n, .columns = s->own};
    const size_t result_bytes = tally_plan_result_bytes(tally_mpi_plan(mpi));
    for (uint32_t k = 0; k < r->inputs; k++) args.items[k] = s->items[k];
    if (w->rank == 0) {
        free(o->result);
        o->result = malloc(s->columns * result_bytes + 1);
    }
    if (!s->by_columns) return world_has(w, tally_mpi_reduce_columns(mpi, &args, 0, o->result), false);
    void *mine = malloc(s->own * result_bytes + 1);
    int *counts = malloc(2 * (size_t)w->size * sizeof(*counts));
    problem failed = {""};
    if (!mine || !counts || (w->rank == 0 && !o->result)) snprintf(failed.text, sizeof(failed.text), "out of memory");
    bool done = world_is_well(w, &failed) && world_has(w, tally_mpi_reduce_columns(mpi, &args, 0, mine), true);
    if (done) gather(w, s, mine, o->result, result_bytes, counts);
    free(counts);
    free(mine);
    return done;
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
