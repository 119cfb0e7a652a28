/* SPDX-License-Identifier: MIT */
/*
 * row_statistics_plan.c: sums and largest items of the rows and of the columns of a matrix on the
 * device, by one plan. The shape belongs to the call, so that rows and columns compile nothing
 * more. The calls only enqueue. The sum of a column has the bits of reducing its items alone.
 */
#include <stdio.h>
#include <string.h>

#include <tally/tally.h>

enum { ROWS = 3000, COLUMNS = 100, N = ROWS * COLUMNS };

typedef struct work {
    tally_context *context;
    tally_queue *queue;
    tally_buffer *matrix, *sums, *largest;
    tally_plan *plan;
} work;

static float matrix[ROWS][COLUMNS], sums[ROWS + COLUMNS], largest[ROWS + COLUMNS];

/* Reduces along one axis. The results begin at `first`. */
static tally_status reduce_along(work *w, int axis, uint64_t first) {
    const tally_axis axes[] = {{.extent = ROWS, .in_stride = {COLUMNS}, .reduced = axis == 0},
                               {.extent = COLUMNS, .in_stride = {1}, .reduced = axis == 1}};
    const tally_axes_args args = {.size = sizeof(args),
                                  .axes = axes,
                                  .axis_count = 2,
                                  .in = {w->matrix},
                                  .out = {w->sums, w->largest},
                                  .out_offset = {first, first}};
    return tally_reduce_axes(w->plan, w->queue, &args);
}

static tally_status run(work *w) {
    const tally_term_desc terms[] = {{.op = TALLY_SUM}, {.op = TALLY_MAX}};
    const tally_segments_desc desc = {.size = sizeof(desc),
                                      .by = TALLY_BY_AXES,
                                      .in = TALLY_F32,
                                      .terms = terms,
                                      .term_count = 2,
                                      .flags = TALLY_APART, /* a buffer for each op's results */
                                      .max_n = N};
    tally_status status = tally_context_create(NULL, &w->context);
    if (!status) status = tally_segments_plan_create(w->context, &desc, &w->plan);
    if (!status) status = tally_queue_create(w->context, &w->queue);
    if (!status) status = tally_buffer_create(w->context, sizeof(matrix), &w->matrix);
    if (!status) status = tally_buffer_create(w->context, sizeof(sums), &w->sums);
    if (!status) status = tally_buffer_create(w->context, sizeof(largest), &w->largest);
    if (!status) status = tally_buffer_write(w->queue, w->matrix, 0, matrix, sizeof(matrix));
    if (!status) status = reduce_along(w, 1, 0);    /* ROWS results */
    if (!status) status = reduce_along(w, 0, ROWS); /* COLUMNS results behind them */
    if (!status) status = tally_buffer_read(w->queue, w->sums, 0, sums, sizeof(sums));
    if (!status) status = tally_buffer_read(w->queue, w->largest, 0, largest, sizeof(largest));
    return status ? status : tally_queue_wait(w->queue);
}

int main(void) {
    static float column[ROWS];
    float alone = 0;
    work w = {0};
    for (int i = 0; i < N; i++) matrix[i / COLUMNS][i % COLUMNS] = 1.0f / (float)(1 + i * 7919LL % N);
    for (int row = 0; row < ROWS; row++) column[row] = matrix[row][42];

    tally_status status = run(&w);
    if (!status) status = tally_reduce_host(w.context, TALLY_SUM, TALLY_F32, column, ROWS, &alone);
    if (status) fprintf(stderr, "row_statistics_plan: %s: %s\n", tally_status_name(status), tally_last_error());
    tally_plan_destroy(w.plan);
    tally_buffer_destroy(w.largest);
    tally_buffer_destroy(w.sums);
    tally_buffer_destroy(w.matrix);
    tally_queue_destroy(w.queue);
    tally_context_destroy(w.context);
    if (status) return 1;
    printf("column 42: sum %.9g, alone %.9g, largest %.9g\n", (double)sums[ROWS + 42], (double)alone,
           (double)largest[ROWS + 42]);
    /* The item 1 is the first one, in row 0 and column 0. */
    return memcmp(&sums[ROWS + 42], &alone, sizeof(alone)) == 0 && largest[0] == 1.0f && largest[ROWS] == 1.0f ? 0 : 1;
}
