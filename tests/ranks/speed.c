/* SPDX-License-Identifier: MIT */
/* speed.c: the time of a call. Of host arrays of 4,096 f32 each: the median of rounds in which
 * MPI_Allreduce of one double and tally take turns. Of 2^32 f32 in the devices' memory: the median
 * of rounds in which the first device alone and all of them take turns, for one call each, and for
 * some calls in a row each: devices that have been idle begin slowly. */
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

static double median_of(double *list, int count) {
    qsort(list, (size_t)count, sizeof(*list), ascending);
    return list[count / 2];
}

static double median(double *list) {
    return median_of(list, ROUNDS);
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

#define MANY (UINT64_C(1) << 32)
#define PIECE (UINT64_C(1) << 24)
#define FEW_ROUNDS 15
#define FEW_CALLS 4

/* Fills a buffer with ones. */
static bool fill_ones(const tester *t, tally_buffer *in, uint64_t n) {
    float *ones = malloc(PIECE * sizeof(*ones));
    bool good = ones != NULL;
    for (uint64_t i = 0; good && i < PIECE; i++) ones[i] = 1;
    for (uint64_t i = 0, step = 0; good && i < n; i += step) {
        step = n - i < PIECE ? n - i : PIECE;
        good = !tally_buffer_write(t->queue, in, i * sizeof(*ones), ones, step * sizeof(*ones));
    }
    good = !tally_queue_wait(t->queue) && good;
    free(ones);
    return good;
}

/* Reduces all items on this device alone. */
static bool reduce_alone(const tester *t, tally_plan *plan, const tally_buffer *in, tally_buffer *out) {
    float sum = 0;
    return !tally_reduce(plan, t->queue, in, MANY, out) && !tally_buffer_read(t->queue, out, 0, &sum, sizeof(sum)) &&
           !tally_queue_wait(t->queue) && sum == (float)MANY;
}

/* A reduction of the shares' items by all devices, or of all items by that of rank 0. */
typedef struct large {
    const tester *t;
    tally_mpi *mpi;
    tally_mpi_args args;
    tally_buffer *out;
    bool good;
} large;

/* Times calls of the first device alone, then of all of them, in ms a call. */
static void time_round(large *l, int calls, double *alone, double *together) {
    float sum = 0;
    const double begun = MPI_Wtime();
    for (int i = 0; i < calls && l->t->rank == 0; i++)
        l->good = reduce_alone(l->t, tally_mpi_plan(l->mpi), l->args.in[0], l->out) && l->good;
    *alone = 1e3 * (MPI_Wtime() - begun) / calls;
    MPI_Barrier(MPI_COMM_WORLD);
    const double met = MPI_Wtime();
    for (int i = 0; i < calls; i++) l->good = !tally_mpi_allreduce(l->mpi, &l->args, &sum) && sum == (float)MANY && l->good;
    *together = 1e3 * (MPI_Wtime() - met) / calls;
}

/* The line with no number of calls is that of the bar (ci/ranks). */
static void measure(large *l, int calls) {
    double alone[FEW_ROUNDS], together[FEW_ROUNDS], first[2];
    char row[32] = "";
    time_round(l, calls, &first[0], &first[1]); /* warms up */
    for (int round = 0; round < FEW_ROUNDS && on_all(l->good); round++) time_round(l, calls, &alone[round], &together[round]);
    check(l->t, l->good, "a wrong sum, or %s", tally_last_error());
    if (l->t->rank || !l->good) return;
    const double one = median_of(alone, FEW_ROUNDS), all = median_of(together, FEW_ROUNDS);
    if (calls > 1) snprintf(row, sizeof(row), ", %d calls in a row", calls);
    printf("ms for 2^32 f32%s: one device %.3f, %d of them %.3f: %.2f x\n", row, one, l->t->size, all, one / all);
}

/* Rank 0 has all items, so that its device can reduce them alone; the others have their shares. */
void test_large_speed(const tester *t) {
    const tally_reduce_desc desc = {.size = sizeof(desc), .op = TALLY_SUM, .in = TALLY_F32, .max_n = MANY};
    large l = {.t = t, .args = {.size = sizeof(l.args), .queue = t->queue}};
    uint64_t first = 0;
    tally_buffer *in = NULL;
    tally_share(MANY, (uint64_t)t->size, (uint64_t)t->rank, &first, &l.args.n);
    const uint64_t n = t->rank ? l.args.n : MANY;
    l.good = !tally_buffer_create(t->context, n * sizeof(float), &in) && fill_ones(t, in, n) &&
             !tally_buffer_create(t->context, sizeof(float), &l.out);
    l.args.in[0] = in;
    if (!on_all(check(t, l.good, "%s", tally_last_error()))) return;
    if (on_all(check(t, !tally_mpi_create(MPI_COMM_WORLD, t->context, &desc, &l.mpi), "%s", tally_last_error()))) {
        measure(&l, 1);
        measure(&l, FEW_CALLS);
    }
    tally_mpi_destroy(l.mpi);
    tally_buffer_destroy(in);
    tally_buffer_destroy(l.out);
}
