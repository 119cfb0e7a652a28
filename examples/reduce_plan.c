/* SPDX-License-Identifier: MIT */
/*
 * reduce_plan.c: a reduction that is prepared once and runs often. The plan compiles the kernels
 * and allocates all its memory. After that, tally_reduce only enqueues: it neither allocates nor
 * waits. The example sums each row of a matrix on the device, by a call each;
 * row_statistics_plan.c does it by one call.
 */
#include <stdint.h>
#include <stdio.h>

#include <tally/tally.h>

enum { ROWS = 64, COLUMNS = 10000 };

typedef struct work {
    tally_context *context;
    tally_queue *queue;
    tally_buffer *matrix, *sums;
    tally_plan *plan;
} work;

static int32_t matrix[ROWS][COLUMNS];

static tally_status run(work *w, int64_t *sums) {
    const tally_reduce_desc desc = {.size = sizeof(desc), .op = TALLY_SUM, .in = TALLY_I32, .max_n = COLUMNS};
    tally_status status = tally_context_create(NULL, &w->context);
    if (!status) status = tally_plan_create(w->context, &desc, &w->plan);
    if (!status) status = tally_queue_create(w->context, &w->queue);
    if (!status) status = tally_buffer_create(w->context, sizeof(matrix), &w->matrix);
    /* The result of summing i32 is i64: see tally_result_dtype(). */
    if (!status) status = tally_buffer_create(w->context, ROWS * sizeof(*sums), &w->sums);

    /* A queue runs its commands in order, so only the results need a wait. */
    if (!status) status = tally_buffer_write(w->queue, w->matrix, 0, matrix, sizeof(matrix));
    for (uint64_t row = 0; row < ROWS && !status; row++) {
        const tally_reduce_args args = {.size = sizeof(args),
                                        .in = {w->matrix},
                                        .in_offset = {row * COLUMNS},
                                        .n = COLUMNS,
                                        .out = w->sums,
                                        .out_offset = row};
        status = tally_reduce_with(w->plan, w->queue, &args);
    }
    if (!status) status = tally_buffer_read(w->queue, w->sums, 0, sums, ROWS * sizeof(*sums));
    return status ? status : tally_queue_wait(w->queue);
}

int main(void) {
    work w = {0};
    int64_t sums[ROWS];
    for (int row = 0; row < ROWS; row++)
        for (int column = 0; column < COLUMNS; column++) matrix[row][column] = row * 1000000 - column;

    const tally_status status = run(&w, sums);
    if (status) fprintf(stderr, "reduce_plan: %s: %s\n", tally_status_name(status), tally_last_error());
    if (!status) printf("%s: %d row sums, the last is %lld\n", tally_plan_variant(w.plan), ROWS, (long long)sums[ROWS - 1]);
    /* Objects can be destroyed in any order after the work has ended. NULL is accepted. */
    tally_plan_destroy(w.plan);
    tally_buffer_destroy(w.sums);
    tally_buffer_destroy(w.matrix);
    tally_queue_destroy(w.queue);
    tally_context_destroy(w.context);
    if (status) return 1;
    for (int64_t row = 0; row < ROWS; row++)
        if (sums[row] != row * 1000000 * COLUMNS - (int64_t)COLUMNS * (COLUMNS - 1) / 2) return 1;
    return 0;
}
