/* SPDX-License-Identifier: MIT */
/* speed.c: microseconds of a call, host arrays of 4,096 f32 each: the median of rounds in which
 * MPI_Allreduce of one double and tally take turns. */
#include <stdio.h>
#include <stdlib.h>

#include "speed.h"

#define ROUNDS 101
#define CALLS 100
#define ITEMS 4096

static int ascending(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *list) {
    qsort(list, ROUNDS, sizeof(*list), ascending);
    return list[ROUNDS / 2];
}

void test_speed(const tester *t) {
    static float items[ITEMS];
    static double plain[ROUNDS], whole[ROUNDS], alone[ROUNDS];
    const tally_reduce_desc desc = {.size = sizeof(desc), .op = TALLY_SUM, .in = TALLY_F32};
    const tally_mpi_args args = {.size = sizeof(args), .n = ITEMS, .items = {items}};
    tally_mpi *mpi = NULL;
    for (int i = 0; i < ITEMS; i++) items[i] = 1;
    if (!on_all(check(t, !tally_mpi_create(MPI_COMM_WORLD, t->context, &desc, &mpi), "%s", tally_last_error()))) return;
    float sum = 0;
    double one = 1, two = 0;
    bool good = true;
    for (int round = -1; round < ROUNDS && on_all(good); round++) { /* round -1 warms up */
        const double begun = MPI_Wtime();
        for (int i = 0; i < CALLS; i++) MPI_Allreduce(&one, &two, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        const double middle = MPI_Wtime();
        for (int i = 0; i < CALLS && good; i++) good = !tally_mpi_allreduce(mpi, &args, &sum);
        const double ended = MPI_Wtime();
        for (int i = 0; i < CALLS && good; i++) good = !tally_reduce_host(t->context, TALLY_SUM, TALLY_F32, items, ITEMS, &sum);
        if (round < 0) continue;
        plain[round] = (middle - begun) / CALLS * 1e6;
        whole[round] = (ended - middle) / CALLS * 1e6;
        alone[round] = (MPI_Wtime() - ended) / CALLS * 1e6;
    }
    check(t, good, "%s", tally_last_error());
    check(t, !tally_mpi_allreduce(mpi, &args, &sum) && sum == (float)(ITEMS * t->size), "the sum is %g", (double)sum);
    if (t->rank == 0)
        printf("us a call: MPI_Allreduce %.2f, tally_mpi_allreduce %.2f, tally_reduce_host of a share %.2f\n", median(plain),
               median(whole), median(alone));
    tally_mpi_destroy(mpi);
}
