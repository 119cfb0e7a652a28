/* SPDX-License-Identifier: MIT */
/* columns.c: the columns of an array whose rows are spread over the ranks, beside
 * tally_reduce_host_axes of the whole array on one device. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ranks.h"

#define MOST_ROWS 9000
#define STRIDE 21 /* items of a row in memory */
#define MOST_COLUMNS 19

static const tally_op_desc squares = {
    .size = sizeof(tally_op_desc), .name = "squares", .identity = "-0.0f", .load = "x * x", .combine = "a + b"};

typedef struct columns_case {
    const char *name;
    tally_dtype in;
    tally_op op;
    bool custom;
} columns_case;
static const columns_case cases[] = {{"f32 sum", TALLY_F32, TALLY_SUM, false},       {"f64 mean", TALLY_F64, TALLY_MEAN, false},
                                     {"f32 argmax", TALLY_F32, TALLY_ARGMAX, false}, {"f32 var", TALLY_F32, TALLY_VAR, false},
                                     {"i32 minmax", TALLY_I32, TALLY_MINMAX, false}, {"f32 squares", TALLY_F32, 0, true}};

typedef struct columns_trial {
    const tester *t;
    const columns_case *c;
    tally_mpi *mpi;
    tally_custom_op *own;
    tally_buffer *buffer; /* an item, and the items */
    unsigned char *items, expected[MOST_COLUMNS * RESULT_BYTES];
    uint64_t rows, columns, result_bytes, cuts[MOST_RANKS + 1];
} columns_trial;

/* Reduces the columns of the whole array. */
static tally_status expect(columns_trial *x) {
    const tally_segments_desc desc = {
        .size = sizeof(desc), .by = TALLY_BY_AXES, .op = x->c->op, .custom = x->own, .in = x->c->in};
    const tally_axis axes[] = {{.extent = x->rows, .in_stride = {STRIDE}, .reduced = 1},
                               {.extent = x->columns, .in_stride = {1}}};
    const tally_host_axes args = {.size = sizeof(args), .axes = axes, .axis_count = 2, .in = {x->items}, .out = {x->expected}};
    return tally_reduce_host_axes(x->t->context, &desc, &args);
}

static void try_columns(columns_trial *x, shape of) {
    unsigned char results[MOST_COLUMNS * RESULT_BYTES];
    const int rank = x->t->rank, root = (int)draw((uint64_t)x->t->size);
    cut(x->t->size, x->rows, of, x->cuts);
    tally_mpi_columns_args args = {.size = sizeof(args),
                                   .n = x->cuts[rank + 1] - x->cuts[rank],
                                   .columns = x->columns,
                                   .row_stride = STRIDE,
                                   .items = {x->items + x->cuts[rank] * STRIDE * tally_dtype_bytes(x->c->in)}};
    for (int form = 0; form < 4; form++) {
        /* Also rows in a buffer, behind an item that is none of theirs. */
        if (form == 2) {
            args.items[0] = NULL;
            args.queue = x->t->queue;
            args.in[0] = x->buffer;
            args.in_offset[0] = 1 + x->cuts[rank] * STRIDE;
        }
        memset(results, 0x5a, sizeof(results));
        const tally_status status = form % 2 ? tally_mpi_reduce_columns(x->mpi, &args, root, rank == root ? results : NULL)
                                             : tally_mpi_allreduce_columns(x->mpi, &args, results);
        if (!check(x->t, !status, "%s of %llu columns: %s", x->c->name, (unsigned long long)x->columns, tally_last_error()))
            return;
        if (form % 2 == 0 || rank == root)
            check(x->t, memcmp(results, x->expected, x->columns * x->result_bytes) == 0,
                  "%s of %llu rows, %llu columns: other bits", x->c->name, (unsigned long long)x->rows,
                  (unsigned long long)x->columns);
    }
}

static void try_case(const tester *t, const columns_case *c) {
    static const uint64_t rows[] = {0, 5, 4096, 8999}, columns[] = {1, 3, MOST_COLUMNS};
    columns_trial x = {.t = t, .c = c, .items = malloc((uint64_t)MOST_ROWS * STRIDE * 8)};
    fill(c->in, x.items, (uint64_t)MOST_ROWS * STRIDE, 5);
    tally_status status = c->custom ? tally_op_create(&squares, &x.own) : TALLY_OK;
    const tally_reduce_desc desc = {.size = sizeof(desc), .op = c->op, .custom = x.own, .in = c->in};
    const uint64_t item = tally_dtype_bytes(c->in), bytes = (uint64_t)MOST_ROWS * STRIDE * item;
    if (!status) status = tally_buffer_create(t->context, item + bytes, &x.buffer);
    if (!status) status = tally_buffer_write(t->queue, x.buffer, item, x.items, bytes);
    if (!status) status = tally_queue_wait(t->queue);
    if (!on_all(check(t, !status, "%s: %s", c->name, tally_last_error()))) return;
    status = tally_mpi_create(MPI_COMM_WORLD, t->context, &desc, &x.mpi);
    if (on_all(check(t, !status, "%s: %s", c->name, tally_last_error()))) {
        x.result_bytes = tally_plan_result_bytes(tally_mpi_plan(x.mpi));
        for (size_t i = 0; i < 4; i++)
            for (size_t j = 0; j < 3; j++) {
                x.rows = rows[i];
                x.columns = columns[j];
                if (!on_all(check(t, !expect(&x), "%s: %s", c->name, tally_last_error()))) break;
                try_columns(&x, (shape)draw(SHAPES));
            }
    }
    tally_mpi_destroy(x.mpi);
    tally_op_destroy(x.own);
    tally_buffer_destroy(x.buffer);
    free(x.items);
}

/* Errors of one rank are all ranks' errors. */
static void test_refused(const tester *t) {
    const tally_reduce_desc desc = {.size = sizeof(desc), .op = TALLY_SUM, .in = TALLY_F32};
    const bool bad = t->rank == t->size - 1;
    float items[4] = {1, 2, 3, 4}, results[4];
    tally_mpi *mpi = NULL;
    if (!on_all(check(t, !tally_mpi_create(MPI_COMM_WORLD, t->context, &desc, &mpi), "%s", tally_last_error()))) return;
    char name[32];
    snprintf(name, sizeof(name), "rank %d: ", t->size - 1);
    for (int fault = 0; fault < 5; fault++) {
        tally_mpi_columns_args args = {.size = sizeof(args), .n = 2, .columns = 2, .items = {items}};
        if (bad && fault == 0) args.items[0] = NULL;
        if (bad && fault == 1) args.row_stride = 1;
        if (bad && fault == 2) args.size = 0;
        if (bad && fault == 4) args.queue = t->queue; /* and no buffer */
        if (bad && fault == 3) args.columns = t->size > 1 ? 1 : UINT64_MAX;
        const tally_status status = tally_mpi_allreduce_columns(mpi, &args, results);
        check(t, status == TALLY_E_ARGUMENT && strncmp(tally_last_error(), name, strlen(name)) == 0, "fault %d: %d, %s", fault,
              (int)status, tally_last_error());
    }
    const tally_mpi_columns_args args = {.size = sizeof(args), .n = 2, .columns = 2, .items = {items}};
    check(t, !tally_mpi_allreduce_columns(mpi, &args, results) && results[1] == 6 * (float)t->size, "after an error");
    tally_mpi_destroy(mpi);
}

void test_columns(const tester *t) {
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        if (t->compiles || !cases[i].custom) try_case(t, &cases[i]);
    test_refused(t);
}
