/* SPDX-License-Identifier: MIT */
/* row_statistics.c: mean, standard deviation and place of the largest item of each row of a matrix
 * in the host's memory, in one pass. */
#include <stdio.h>

#include <tally/tally.h>

enum { ROWS = 1000, COLUMNS = 365 };
static float matrix[ROWS][COLUMNS], mean[ROWS], deviation[ROWS];
static uint64_t largest[ROWS];

int main(void) {
    for (int row = 0; row < ROWS; row++) /* row + 1 and row - 1 in turn; one item is larger */
        for (int column = 0; column < COLUMNS; column++)
            matrix[row][column] = column == row % COLUMNS ? (float)row + 20 : (float)(row + 1 - column % 2 * 2);

    const tally_term_desc terms[] = {{.op = TALLY_MEAN}, {.op = TALLY_STD}, {.op = TALLY_ARGMAX}};
    const tally_segments_desc desc = {
        .size = sizeof(desc), .in = TALLY_F32, .terms = terms, .term_count = 3, .flags = TALLY_APART};
    /* Axis 1 is reduced. For statistics of the columns it would be axis 0. */
    const tally_axis axes[] = {{.extent = ROWS, .in_stride = {COLUMNS}}, {.extent = COLUMNS, .in_stride = {1}, .reduced = 1}};
    const tally_host_axes array = {
        .size = sizeof(array), .axes = axes, .axis_count = 2, .in = {matrix}, .out = {mean, deviation, largest}};
    tally_context *context = NULL;
    const int failed = tally_context_create(NULL, &context) || tally_reduce_host_axes(context, &desc, &array);
    if (failed) fprintf(stderr, "row_statistics: %s\n", tally_last_error());
    tally_context_destroy(context);
    if (failed) return 1;

    for (int row = 0; row < ROWS; row += 333)
        printf("row %3d: mean %.6g, deviation %.6g, largest at %d\n", row, (double)mean[row], (double)deviation[row],
               (int)largest[row]);
    for (int row = 0; row < ROWS; row++) {
        /* Of 365 items 183 are row + 1. The large item replaces one of them, or of the others. */
        const double above = row % COLUMNS % 2 ? (20.0 + 183 - 181) / 365 : (20.0 + 182 - 182) / 365;
        const double variance = (400.0 + 364) / 365 - above * above;
        const double off = mean[row] - (row + above), square = (double)deviation[row] * (double)deviation[row];
        if (largest[row] != (uint64_t)(row % COLUMNS) || off * off > 1e-6 || square > variance * 1.001 ||
            square < variance * 0.999)
            return 1;
    }
    return 0;
}
