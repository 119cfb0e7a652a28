/* SPDX-License-Identifier: MIT */
/*
 * several.c: reductions that are under way at the same time, ended in another order on each rank.
 * Shares are in host memory, in buffers, or in both. A custom op is gathered, in two exchanges.
 */
#include <stdlib.h>
#include <string.h>

#include "ranks.h"

#define COUNT 4
#define ITEMS 9000

typedef struct several {
    tally_mpi *mpi[COUNT];
    double result[COUNT], expected[COUNT];
    double *items;
    tally_buffer *buffer; /* the items */
    tally_custom_op *own;
} several;

/* Where the shares are. */
typedef enum place { HOST, BUFFERS, BOTH, PLACES } place;

/* How a rank ends its calls: by waits; by a test of each in turn; by tests of one until its end. */
typedef enum way { WAITS, TURNS, LOOPS, WAYS } way;

static const char *const place_names[PLACES] = {"host", "buffers", "both"}, *const way_names[WAYS] = {"waits", "turns",
                                                                                                      "loops"};

static bool begin_all(const tester *t, several *s, place where) {
    for (int i = 0; i < COUNT; i++) {
        const uint64_t n = (uint64_t)(ITEMS - t->rank * 100 - i);
        tally_mpi_args args = {.size = sizeof(args), .n = n, .items = {s->items}};
        if (where == BUFFERS || (where == BOTH && (i + t->rank) % 2))
            args = (tally_mpi_args){.size = sizeof(args), .n = n, .queue = t->queue, .in = {s->buffer}};
        s->result[i] = -1;
        if (!check(t, !tally_mpi_iallreduce(s->mpi[i], &args, &s->result[i]), "begin: %s", tally_last_error())) return false;
    }
    return true;
}

/* Ends the calls, from another one on each rank. */
static void end_all(const tester *t, several *s, place where, way by) {
    int open = (1 << COUNT) - 1;
    while (open)
        for (int k = 0; k < COUNT; k++) {
            const int i = (k + t->rank) % COUNT;
            if (!(open & 1 << i)) continue;
            int done = 1;
            tally_status status;
            do status = by == WAITS ? tally_mpi_wait(s->mpi[i]) : tally_mpi_test(s->mpi[i], &done);
            while (by == LOOPS && !done);
            check(t, !status, "end: %s", tally_last_error());
            if (done) open &= ~(1 << i);
        }
    for (int i = 0; i < COUNT; i++)
        check(t, s->result[i] == s->expected[i], "%s, %s, reduction %d: %.17g instead of %.17g", place_names[where],
              way_names[by], i, s->result[i], s->expected[i]);
}

/* A call that fails ends with its own status, also where the one after it is ended first. */
static void test_failing(const tester *t, several *s) {
    const bool bad = t->rank == t->size - 1;
    tally_mpi_args args = {.size = sizeof(args), .n = ITEMS, .queue = t->queue, .in = {s->buffer}, .in_offset = {bad ? 1 : 0}};
    for (int early = 0; early < 2; early++) {
        double first = -1, second = -1;
        args.in_offset[0] = bad;
        check(t, !tally_mpi_iallreduce(s->mpi[0], &args, &first), "begin: %s", tally_last_error());
        args.in_offset[0] = 0;
        check(t, !tally_mpi_iallreduce(s->mpi[1], &args, &second), "begin: %s", tally_last_error());
        const bool in_order = early && t->rank % 2;
        tally_status status = in_order ? tally_mpi_wait(s->mpi[0]) : tally_mpi_wait(s->mpi[1]);
        if (!in_order) {
            check(t, !status, "the call after a failing one: %s", tally_last_error());
            status = tally_mpi_wait(s->mpi[0]);
        }
        check(t, status == TALLY_E_ARGUMENT && strncmp(tally_last_error(), "rank ", 5) == 0, "a failing call: status %d: %s",
              (int)status, tally_last_error());
        if (in_order) check(t, !tally_mpi_wait(s->mpi[1]), "the call after a failing one: %s", tally_last_error());
        check(t, first == -1 && second == (double)t->size * ITEMS * (ITEMS + 1) / 2, "%g and %g", first, second);
        check(t, !tally_mpi_wait(s->mpi[0]), "a wait after a failure: %s", tally_last_error());
    }
}

/* A second call ends the one that is under way. */
static void test_second(const tester *t, several *s) {
    const tally_mpi_args args = {.size = sizeof(args), .n = 1, .items = {s->items}};
    double first = 0, second = 0;
    check(t, !tally_mpi_iallreduce(s->mpi[0], &args, &first), "%s", tally_last_error());
    check(t, !tally_mpi_iallreduce(s->mpi[0], &args, &second), "%s", tally_last_error());
    check(t, first == t->size, "the first was not ended by the second: %g", first);
    check(t, !tally_mpi_wait(s->mpi[0]) && second == t->size, "the second: %g", second);
    check(t, !tally_mpi_wait(s->mpi[0]), "a wait for nothing: %s", tally_last_error());
}

/* A call takes the parameters that its plan had when it began. */
static void test_parameter(const tester *t, const several *s) {
    const tally_reduce_desc desc = {.size = sizeof(desc), .op = TALLY_VAR, .in = TALLY_F64};
    const tally_mpi_args args = {.size = sizeof(args), .n = TALLY_CHUNK, .queue = t->queue, .in = {s->buffer}};
    double expected = 0, result = 0, other = 0;
    tally_mpi *mpi = NULL;
    if (!on_all(check(t, !tally_mpi_create(MPI_COMM_WORLD, t->context, &desc, &mpi), "%s", tally_last_error()))) return;
    check(t, !tally_mpi_allreduce(mpi, &args, &expected), "%s", tally_last_error());
    check(t, !tally_mpi_iallreduce(mpi, &args, &result), "%s", tally_last_error());
    tally_plan_set_param(tally_mpi_plan(mpi), "ddof", 1);
    check(t, !tally_mpi_wait(mpi) && result == expected, "%s: %g instead of %g", tally_last_error(), result, expected);
    check(t, !tally_mpi_allreduce(mpi, &args, &other) && other > expected, "%s: %g", tally_last_error(), other);
    tally_mpi_destroy(mpi);
}

static tally_status open_buffer(const tester *t, several *s) {
    tally_status status = tally_buffer_create(t->context, ITEMS * sizeof(double), &s->buffer);
    if (!status) status = tally_buffer_write(t->queue, s->buffer, 0, s->items, ITEMS * sizeof(double));
    return status ? status : tally_queue_wait(t->queue);
}

/* Makes the reductions. On devices that compile, the second one has a custom op. */
static bool open_all(const tester *t, several *s) {
    static const tally_op_desc own = {
        .size = sizeof(own), .name = "own_sum", .identity = "-0.0", .load = "x", .combine = "a + b"};
    bool good = s->items != NULL;
    for (int k = 0; k < ITEMS && good; k++) s->items[k] = k + 1; /* sums are exact */
    if (t->compiles) good = check(t, !tally_op_create(&own, &s->own), "%s", tally_last_error()) && good;
    for (int i = 0; i < COUNT; i++) {
        tally_reduce_desc desc = {.size = sizeof(desc), .op = TALLY_SUM, .in = TALLY_F64};
        if (s->own && i == 1) desc = (tally_reduce_desc){.size = sizeof(desc), .custom = s->own, .in = TALLY_F64};
        good = check(t, !tally_mpi_create(MPI_COMM_WORLD, t->context, &desc, &s->mpi[i]), "%s", tally_last_error()) && good;
        for (int r = 0; r < t->size; r++) {
            const double n = ITEMS - r * 100 - i;
            s->expected[i] += n * (n + 1) / 2;
        }
    }
    return good && check(t, !open_buffer(t, s), "%s", tally_last_error());
}

void test_several(const tester *t) {
    several s = {.items = malloc(ITEMS * sizeof(double))};
    bool good = open_all(t, &s);
    for (place where = 0; where < PLACES; where++)
        for (way by = 0; by < WAYS && on_all(good); by++)
            if ((good = begin_all(t, &s, where))) end_all(t, &s, where, by);
    if (on_all(good)) {
        test_failing(t, &s);
        test_second(t, &s);
        test_parameter(t, &s);
        /* Calls that nobody waits for, ended by that of another and by their end. */
        good = begin_all(t, &s, BUFFERS);
        check(t, !tally_mpi_wait(s.mpi[COUNT - 2]), "%s", tally_last_error());
    }
    for (int i = 0; i < COUNT; i++) tally_mpi_destroy(s.mpi[i]);
    tally_op_destroy(s.own);
    tally_buffer_destroy(s.buffer);
    free(s.items);
}
