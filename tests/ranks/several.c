/* SPDX-License-Identifier: MIT */
/* several.c: reductions that are under way at the same time, ended in another order on each rank,
 * by waits and by tests. Shares are in host memory; those in buffers are ended by tests. */
#include <stdlib.h>

#include "ranks.h"

#define COUNT 3
#define ITEMS 9000

typedef struct several {
    tally_mpi *mpi[COUNT];
    double result[COUNT], expected[COUNT];
    double *items;
    tally_buffer *buffer; /* the items */
} several;

static bool begin_all(const tester *t, several *s, bool buffers) {
    for (int i = 0; i < COUNT; i++) {
        const uint64_t n = (uint64_t)(ITEMS - t->rank * 100 - i);
        tally_mpi_args args = {.size = sizeof(args), .n = n, .items = {s->items}};
        if (buffers) args = (tally_mpi_args){.size = sizeof(args), .n = n, .queue = t->queue, .in = {s->buffer}};
        s->result[i] = -1;
        if (!check(t, !tally_mpi_iallreduce(s->mpi[i], &args, &s->result[i]), "begin: %s", tally_last_error())) return false;
    }
    return true;
}

static void end_all(const tester *t, several *s, bool by_tests) {
    int open = (1 << COUNT) - 1;
    while (open)
        for (int k = 0; k < COUNT; k++) {
            const int i = (k + t->rank) % COUNT;
            if (!(open & 1 << i)) continue;
            int done = 1;
            const tally_status status = by_tests ? tally_mpi_test(s->mpi[i], &done) : tally_mpi_wait(s->mpi[i]);
            if (status && !check(t, false, "end: %s", tally_last_error())) return;
            if (done) open &= ~(1 << i);
        }
    for (int i = 0; i < COUNT; i++)
        check(t, s->result[i] == s->expected[i], "reduction %d: %.17g instead of %.17g", i, s->result[i], s->expected[i]);
}

static tally_status open_buffer(const tester *t, several *s) {
    tally_status status = tally_buffer_create(t->context, ITEMS * sizeof(double), &s->buffer);
    if (!status) status = tally_buffer_write(t->queue, s->buffer, 0, s->items, ITEMS * sizeof(double));
    return status ? status : tally_queue_wait(t->queue);
}

void test_several(const tester *t) {
    const tally_reduce_desc desc = {.size = sizeof(desc), .op = TALLY_SUM, .in = TALLY_F64};
    several s = {.items = malloc(ITEMS * sizeof(double))};
    bool good = s.items != NULL;
    for (int k = 0; k < ITEMS; k++) s.items[k] = k + 1; /* sums are exact */
    for (int i = 0; i < COUNT; i++) {
        good = check(t, !tally_mpi_create(MPI_COMM_WORLD, t->context, &desc, &s.mpi[i]), "%s", tally_last_error()) && good;
        for (int r = 0; r < t->size; r++) {
            const double n = ITEMS - r * 100 - i;
            s.expected[i] += n * (n + 1) / 2;
        }
    }
    if (good) good = check(t, !open_buffer(t, &s), "%s", tally_last_error());
    for (int form = 0; form < 3 && on_all(good); form++)
        if ((good = begin_all(t, &s, form == 2))) end_all(t, &s, form > 0);
    /* A second call ends the one that is under way. */
    if (on_all(good)) {
        const tally_mpi_args args = {.size = sizeof(args), .n = 1, .items = {s.items}};
        double first = 0, second = 0;
        check(t, !tally_mpi_iallreduce(s.mpi[0], &args, &first), "%s", tally_last_error());
        check(t, !tally_mpi_iallreduce(s.mpi[0], &args, &second), "%s", tally_last_error());
        check(t, first == t->size, "the first was not ended by the second: %g", first);
        check(t, !tally_mpi_wait(s.mpi[0]) && second == t->size, "the second: %g", second);
        check(t, !tally_mpi_wait(s.mpi[0]), "a wait for nothing: %s", tally_last_error());
    }
    for (int i = 0; i < COUNT; i++) tally_mpi_destroy(s.mpi[i]);
    tally_buffer_destroy(s.buffer);
    free(s.items);
}
