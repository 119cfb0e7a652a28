/* SPDX-License-Identifier: MIT */
/*
 * failing.c: calls of MPI and of libtally that fail when a test says so. They are defined in the
 * test program, so that libtally_mpi finds them before the libraries' own.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ranks.h"
#include "ranks/mpi/ranks.h"

/* The call that fails, and how many of it succeed before. Within a call that STARVES no memory is
 * left. */
static enum { NONE, IALLREDUCE, WAIT, VALUE, STARVES } failing;
static int good_before;

static bool fails(int call) {
    return (int)failing == call && good_before-- == 0;
}

/* libtally_mpi must find them: not every mpi.h makes them visible. */
#define EXPORT __attribute__((visibility("default")))

EXPORT int MPI_Iallreduce(const void *send, void *receive, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                          MPI_Request *request) {
    if (fails(IALLREDUCE)) return MPI_ERR_OTHER;
    return PMPI_Iallreduce(send, receive, count, type, op, comm, request);
}

/* Completes the request in any case. */
EXPORT int MPI_Wait(MPI_Request *request, MPI_Status *status) {
    const bool fail = fails(WAIT);
    const int code = PMPI_Wait(request, status);
    return fail ? MPI_ERR_OTHER : code;
}

/* The sanitizers have a malloc of their own. */
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && defined(__GLIBC__)
extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t count, size_t bytes);
static _Thread_local bool is_starving;

EXPORT void *malloc(size_t bytes) {
    return is_starving ? NULL : __libc_malloc(bytes);
}

EXPORT void *calloc(size_t count, size_t bytes) {
    return is_starving ? NULL : __libc_calloc(count, bytes);
}
#else
static bool is_starving;
#endif

tally_status tally_part_value(tally_plan *plan, const void *part, uint64_t bytes, void *result) {
    static tally_status (*own)(tally_plan *, const void *, uint64_t, void *);
    if (fails(VALUE)) return tally_fail(TALLY_E_MEMORY, "tally_part_value: no memory, says the test");
    if (!own) {
        void *address = dlsym(RTLD_NEXT, "tally_part_value");
        memcpy(&own, &address, sizeof(own));
    }
    is_starving = fails(STARVES);
    const tally_status status = own(plan, part, bytes, result);
    is_starving = false;
    return status;
}

#define ITEMS 1000

static float items[ITEMS];

/* Checks that the result is as it was before, and that nothing is under way. */
static void expect_nothing(const tester *t, tally_mpi *mpi, const float *result, const char *what) {
    const tally_status status = tally_mpi_wait(mpi);
    check(t, !status, "%s: a wait after it: %s", what, tally_last_error());
    check(t, *result == -1, "%s: a wait after it has written %g", what, (double)*result);
}

/* Checks that a call in the usual way gives the sum. */
static void expect_sound(const tester *t, tally_mpi *mpi, const char *what) {
    const tally_mpi_args args = {.size = sizeof(args), .n = ITEMS, .items = {items}};
    float result = -1;
    check(t, !tally_mpi_iallreduce(mpi, &args, &result) && !tally_mpi_wait(mpi), "after %s: %s", what, tally_last_error());
    check(t, result == (float)(ITEMS * t->size), "after %s: %g", what, (double)result);
}

/* A call that MPI has failed leaves nothing that a later wait would write. */
static void test_stale(const tester *t, tally_mpi *mpi) {
    static const char *const names[] = {"", "a failing MPI_Iallreduce", "a failing MPI_Wait"};
    const tally_mpi_args args = {.size = sizeof(args), .n = ITEMS, .items = {items}};
    for (int call = IALLREDUCE; call <= WAIT; call++) {
        float result = -1;
        expect_sound(t, mpi, names[call]); /* a record that is joined is there */
        failing = call;
        good_before = 0;
        tally_status status = tally_mpi_iallreduce(mpi, &args, &result);
        if (!status) status = tally_mpi_wait(mpi);
        failing = NONE;
        check(t, status == TALLY_E_DEVICE, "%s: status %d: %s", names[call], (int)status, tally_last_error());
        result = -1;
        expect_nothing(t, mpi, &result, names[call]);
        expect_sound(t, mpi, names[call]);
    }
}

/* A call that blocks finishes the joined record without memory. So no rank fails alone there. */
static void test_starving(const tester *t, tally_mpi *mpi) {
    const tally_mpi_args args = {.size = sizeof(args), .n = ITEMS, .items = {items}}, none = {.size = sizeof(none)};
    static const char *const names[] = {"a value", "a value of the root", "a value of no items"};
    for (int i = 0; i < 3; i++) {
        const bool wanted = i != 1 || t->rank == t->size - 1;
        const float sum = i == 2 ? 0 : (float)(ITEMS * t->size);
        float result = -1;
        failing = STARVES;
        good_before = 0;
        const tally_status status = i == 1 ? tally_mpi_reduce(mpi, &args, t->size - 1, &result)
                                           : tally_mpi_allreduce(mpi, i == 2 ? &none : &args, &result);
        check(t, good_before < 0, "%s: has not been computed", names[i]);
        failing = NONE;
        check(t, !status, "%s, without memory: %s", names[i], tally_last_error());
        check(t, result == (wanted ? sum : -1), "%s, without memory: %g", names[i], (double)result);
    }
}

/* The value of a call that does not block fails on the last rank. Nobody waits for the others. */
static void test_value_not_blocking(const tester *t, tally_mpi *mpi) {
    const tally_mpi_args args = {.size = sizeof(args), .n = ITEMS, .items = {items}};
    const bool bad = t->rank == t->size - 1;
    float result;
    if (bad) failing = VALUE;
    good_before = 0;
    tally_status status = tally_mpi_iallreduce(mpi, &args, &result);
    if (!status) status = tally_mpi_wait(mpi);
    failing = NONE;
    check(t, status == (bad ? TALLY_E_MEMORY : TALLY_OK), "a value, not blocking: status %d", (int)status);
    check(t, bad || result == (float)(ITEMS * t->size), "a value, not blocking: %g", (double)result);
}

/* The value of a column fails on the last rank: all say so. */
static void test_columns_value(const tester *t, tally_mpi *mpi) {
    const tally_mpi_columns_args columns = {.size = sizeof(columns), .n = ITEMS / 10, .columns = 10, .items = {items}};
    float results[10];
    char text[64];
    if (t->rank == t->size - 1) failing = VALUE;
    good_before = 3;
    const tally_status status = tally_mpi_allreduce_columns(mpi, &columns, results);
    failing = NONE;
    snprintf(text, sizeof(text), "rank %d: tally_part_value: no memory", t->size - 1);
    check(t, status == TALLY_E_MEMORY, "the value of a column: status %d: %s", (int)status, tally_last_error());
    check(t, strstr(tally_last_error(), text) != NULL, "the value of a column: '%s' has no '%s'", tally_last_error(), text);
    expect_sound(t, mpi, "failing values");
}

/* MPI fails the exchange of an earlier call, which a wait for a later one begins. */
static void test_earlier(const tester *t, tally_mpi *earlier, tally_mpi *later, const tally_buffer *buffer) {
    const tally_mpi_args args = {.size = sizeof(args), .n = ITEMS, .queue = t->queue, .in = {buffer}};
    float first = -1, second = -1;
    check(t, !tally_mpi_iallreduce(earlier, &args, &first), "begin: %s", tally_last_error());
    check(t, !tally_mpi_iallreduce(later, &args, &second), "begin: %s", tally_last_error());
    failing = IALLREDUCE;
    good_before = 0;
    tally_status status = tally_mpi_wait(later);
    failing = NONE;
    check(t, !status && second == (float)(ITEMS * t->size), "after a failing earlier call: status %d, %g", (int)status,
          (double)second);
    status = tally_mpi_wait(earlier);
    check(t, status == TALLY_E_DEVICE && first == -1, "a failing earlier call: status %d, %g", (int)status, (double)first);
    expect_nothing(t, earlier, &first, "a failing earlier call");
    expect_sound(t, earlier, "a failing earlier call");
}

void test_failing_calls(const tester *t) {
    const tally_reduce_desc desc = {.size = sizeof(desc), .op = TALLY_SUM, .in = TALLY_F32};
    tally_mpi *mpi = NULL, *later = NULL;
    tally_buffer *buffer = NULL;
    for (int i = 0; i < ITEMS; i++) items[i] = 1;
    tally_status status = tally_mpi_create(MPI_COMM_WORLD, t->context, &desc, &mpi);
    if (!status) status = tally_mpi_create(MPI_COMM_WORLD, t->context, &desc, &later);
    if (!status) status = tally_buffer_create(t->context, sizeof(items), &buffer);
    if (!status) status = tally_buffer_write(t->queue, buffer, 0, items, sizeof(items));
    if (!status) status = tally_queue_wait(t->queue);
    if (on_all(check(t, !status, "%s", tally_last_error()))) {
        test_stale(t, mpi);
        test_starving(t, mpi);
        test_value_not_blocking(t, mpi);
        test_columns_value(t, mpi);
        test_earlier(t, mpi, later, buffer);
    }
    tally_buffer_destroy(buffer);
    tally_mpi_destroy(later);
    tally_mpi_destroy(mpi);
}
