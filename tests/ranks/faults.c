/* SPDX-License-Identifier: MIT */
/* faults.c: one rank fails; all ranks return its status and the same text, which names it, and the
 * next call is sound. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ranks.h"
#include "ranks/mpi/ranks.h"

#define ITEMS 5000

static float items[ITEMS];

/* Checks that all ranks have the status, and one text: it begins with the rank and has `part`. */
static void check_agreed(const tester *t, const char *what, tally_status status, tally_status wanted, int rank,
                         const char *part) {
    char mine[512] = "", first[512], name[32];
    snprintf(mine, sizeof(mine), "%s", tally_last_error());
    memcpy(first, mine, sizeof(first));
    MPI_Bcast(first, (int)sizeof(first), MPI_CHAR, 0, MPI_COMM_WORLD);
    snprintf(name, sizeof(name), "rank %d: ", rank);
    check(t, status == wanted, "%s: status %d, not %d: %s", what, (int)status, (int)wanted, mine);
    check(t, strcmp(mine, first) == 0, "%s: '%s', and on rank 0 '%s'", what, mine, first);
    check(t, strncmp(mine, name, strlen(name)) == 0 && strstr(mine, part), "%s: '%s' has no '%s' or no '%s'", what, mine, name,
          part);
    if (t->rank == 0) printf("%s: %s\n", what, mine);
}

/* ---- calls with a wrong argument on the last rank -------------------------------------------- */

typedef enum fault { NO_ARGS, NO_ITEMS, NO_RESULT, SIZE, ROOT, NO_ROOT, MANY, BUFFER, PARAMETER, FAULTS } fault;

static const struct {
    const char *name, *part;
    tally_status status;
} fault_rows[FAULTS] = {
    [NO_ARGS] = {"no args", "args is NULL", TALLY_E_ARGUMENT},
    [NO_ITEMS] = {"no items", "NULL", TALLY_E_ARGUMENT},
    [NO_RESULT] = {"no result", "result is NULL", TALLY_E_ARGUMENT},
    [SIZE] = {"a wrong size", "args.size", TALLY_E_ARGUMENT},
    [ROOT] = {"another root", "for rank 0, and the ranks before it", TALLY_E_ARGUMENT},
    [NO_ROOT] = {"a root below 0", "root is -1 of", TALLY_E_ARGUMENT},
    [MANY] = {"too many items", "2^60", TALLY_E_ARGUMENT},
    [BUFFER] = {"a buffer that is too small", "", TALLY_E_ARGUMENT},
    [PARAMETER] = {"another parameter", "parameters", TALLY_E_ARGUMENT},
};

static tally_status call(const tester *t, tally_mpi *mpi, fault of, const tally_buffer *buffer, bool blocking) {
    const bool bad = t->rank == t->size - 1;
    tally_mpi_args args = {.size = sizeof(args), .n = ITEMS, .items = {items}};
    float result = 0;
    if (of == BUFFER) args = (tally_mpi_args){.size = sizeof(args), .n = 100, .in = {buffer}, .queue = t->queue};
    if (bad && of == NO_ITEMS) args.items[0] = NULL;
    if (bad && of == SIZE) args.size = 3;
    if (bad && of == MANY) args.n = (UINT64_C(1) << 60) + 1;
    if (bad && of == BUFFER) args.in_offset[0] = 1;
    if (of == ROOT) return tally_mpi_reduce(mpi, &args, bad ? 0 : t->size - 1, &result);
    if (of == NO_ROOT) return tally_mpi_reduce(mpi, &args, bad ? -1 : 0, &result);
    if (of == PARAMETER) tally_plan_set_param(tally_mpi_plan(mpi), "ddof", bad ? 1 : 0);
    tally_mpi_args *given = bad && of == NO_ARGS ? NULL : &args;
    float *to = bad && of == NO_RESULT ? NULL : &result;
    if (blocking) return tally_mpi_allreduce(mpi, given, to);
    const tally_status status = tally_mpi_iallreduce(mpi, given, to);
    return status ? status : tally_mpi_wait(mpi);
}

static void check_sound(const tester *t, tally_mpi *mpi, float expected) {
    const tally_mpi_args args = {.size = sizeof(args), .n = ITEMS, .items = {items}};
    float result = -1;
    tally_plan_set_param(tally_mpi_plan(mpi), "ddof", 0);
    check(t, !tally_mpi_allreduce(mpi, &args, &result), "after an error: %s", tally_last_error());
    check(t, result == expected, "after an error: %g instead of %g", (double)result, (double)expected);
}

static void test_calls(const tester *t) {
    const tally_reduce_desc desc = {.size = sizeof(desc), .op = TALLY_VAR, .in = TALLY_F32};
    tally_mpi *mpi = NULL;
    tally_buffer *buffer = NULL;
    for (int i = 0; i < ITEMS; i++) items[i] = (float)(i % 2 ? 1 : -1); /* their variance is 1 */
    bool good = !tally_mpi_create(MPI_COMM_WORLD, t->context, &desc, &mpi);
    good = good && !tally_buffer_create(t->context, 100 * sizeof(float), &buffer);
    good = good && !tally_buffer_write(t->queue, buffer, 0, items, 100 * sizeof(float)) && !tally_queue_wait(t->queue);
    if (on_all(check(t, good, "%s", tally_last_error()))) {
        check_sound(t, mpi, 1);
        for (fault of = 0; of < FAULTS; of++)
            for (int blocking = 0; blocking < 2; blocking++) {
                if (t->size == 1 && (of == PARAMETER || of == ROOT)) continue;
                const tally_status status = call(t, mpi, of, buffer, blocking);
                check_agreed(t, fault_rows[of].name, status, fault_rows[of].status, t->size - 1, fault_rows[of].part);
                check_sound(t, mpi, 1);
            }
    }
    tally_buffer_destroy(buffer);
    tally_mpi_destroy(mpi);
    check(t, tally_mpi_allreduce(NULL, NULL, NULL) == TALLY_E_ARGUMENT, "mpi NULL");
    check(t, tally_mpi_wait(NULL) == TALLY_E_ARGUMENT && !tally_mpi_plan(NULL), "mpi NULL");
    tally_mpi_destroy(NULL);
}

/* ---- creating -------------------------------------------------------------------------------- */

static void test_creating(const tester *t) {
    const bool bad = t->rank == t->size - 1;
    const tally_reduce_desc good = {.size = sizeof(good), .op = TALLY_SUM, .in = TALLY_F32};
    tally_reduce_desc desc = good;
    tally_mpi *mpi = NULL;
    if (bad) desc.size = sizeof(desc) + 8;
    tally_status status = tally_mpi_create(MPI_COMM_WORLD, t->context, &desc, &mpi);
    check_agreed(t, "a wrong descriptor", status, TALLY_E_ARGUMENT, t->size - 1, "size");
    status = tally_mpi_create(MPI_COMM_WORLD, t->context, bad ? NULL : &good, &mpi);
    check_agreed(t, "no descriptor", status, TALLY_E_ARGUMENT, t->size - 1, "NULL");
    status = tally_mpi_create(MPI_COMM_WORLD, t->context, &good, bad ? NULL : &mpi);
    check_agreed(t, "no out", status, TALLY_E_ARGUMENT, t->size - 1, "out is NULL");
    check(t, !mpi, "an object in spite of an error");
    if (t->size > 1) {
        desc = good;
        if (bad) desc.op = TALLY_NRM2;
        status = tally_mpi_create(MPI_COMM_WORLD, t->context, &desc, &mpi);
        check_agreed(t, "another op", status, TALLY_E_ARGUMENT, t->size - 1, "it reduces nrm2 of f32");
        desc = good;
        if (bad) desc.in = TALLY_F64;
        status = tally_mpi_create(MPI_COMM_WORLD, t->context, &desc, &mpi);
        check_agreed(t, "another type", status, TALLY_E_ARGUMENT, t->size - 1, "it reduces sum of f64");
    }
    if (t->compiles) {
        desc = good;
        if (bad) desc.variant = "tree_global";
        status = tally_mpi_create(MPI_COMM_WORLD, t->context, &desc, &mpi);
        check_agreed(t, "another order", status, TALLY_E_UNSUPPORTED, t->size - 1, "canonical");
    }
    check(t, tally_mpi_create(MPI_COMM_NULL, t->context, &good, &mpi) == TALLY_E_ARGUMENT, "no communicator");
}

void test_faults(const tester *t) {
    test_calls(t);
    test_creating(t);
}

void test_finalised(const tester *t) {
    tally_mpi *mpi = NULL;
    check(t, tally_mpi_create(MPI_COMM_WORLD, NULL, NULL, &mpi) == TALLY_E_ARGUMENT, "after MPI_Finalize");
    check(t, strstr(tally_last_error(), "finalised") != NULL, "after MPI_Finalize: %s", tally_last_error());
}

void test_no_device(const tester *t) {
    const tally_reduce_desc desc = {.size = sizeof(desc), .op = TALLY_SUM, .in = TALLY_F32};
    const bool bad = t->rank == t->size - 1;
    tally_context *context = NULL;
    if (bad) check(t, tally_context_create("opencl:99", &context) == TALLY_E_NO_DEVICE, "there is an opencl:99");
    tally_mpi *mpi = NULL;
    const tally_status status = tally_mpi_create(MPI_COMM_WORLD, bad ? context : t->context, &desc, &mpi);
    check_agreed(t, "no device", status, TALLY_E_NO_DEVICE, t->size - 1, "opencl:99");
}

void test_killed(const tester *t) {
    const tally_reduce_desc desc = {.size = sizeof(desc), .op = TALLY_SUM, .in = TALLY_F32};
    const tally_mpi_args args = {.size = sizeof(args), .n = ITEMS, .items = {items}};
    tally_mpi *mpi = NULL;
    float sum;
    if (!check(t, !tally_mpi_create(MPI_COMM_WORLD, t->context, &desc, &mpi), "%s", tally_last_error())) return;
    for (int i = 0; i < 100; i++) {
        if (i == 50 && t->rank == t->size - 1) raise(SIGKILL);
        if (!check(t, !tally_mpi_allreduce(mpi, &args, &sum), "%s", tally_last_error())) break;
    }
    printf("survived on rank %d\n", t->rank);
}

/* ---- headers --------------------------------------------------------------------------------- */

static ranks_header join(const ranks_header *list, int from, int to, uint64_t way) {
    if (to - from == 1) return list[from];
    const int middle = from + 1 + (int)(way % (uint64_t)(to - from - 1));
    ranks_header a = join(list, from, middle, way * 7 + 3), b = join(list, middle, to, way * 5 + 1);
    int one = 1;
    ranks_join_headers(&a, &b, &one, NULL);
    return b;
}

/* Headers with failures, other ops and other versions give one outcome in every association. */
void test_headers(const tester *t) {
    for (int round = 0; round < 2000; round++) {
        enum { RANKS = 9 };
        ranks_header list[RANKS];
        int expected = -1;
        for (int r = 0; r < RANKS; r++) {
            const uint64_t kind = draw(12), n = draw(3) * 4096 + (draw(9) == 0 ? draw(99) : 0);
            list[r] = (ranks_header){.version = "1.2.3", .identity = 7, .n = n, .first = r, .aligned = 1, .words = "sum"};
            if (kind == 1) list[r].identity = 8, strcpy(list[r].words, "nrm2");
            if (kind == 2) strcpy(list[r].version, "1.2.4");
            if (kind == 3) list[r].identity = 0, list[r].status = TALLY_E_MEMORY, list[r].failed = r, strcpy(list[r].text, "m");
            const bool other = memcmp(list[r].version, list[0].version, 16) != 0 || list[r].identity != list[0].identity;
            if (expected < 0 && (list[r].status || (r && other))) expected = r;
        }
        const ranks_header line = join(list, 0, RANKS, 0);
        uint64_t n = 0, aligned = 1;
        for (int r = 0; r < RANKS; r++) {
            if (list[r].n && n % TALLY_CHUNK) aligned = 0;
            n += list[r].n;
        }
        check(t, line.n == n && line.aligned == aligned, "items of headers");
        check(t, expected < 0 ? !line.status : line.status && line.failed == expected, "rank %d failed, not %d", expected,
              line.failed);
        for (uint64_t way = 1; way < 6; way++) {
            const ranks_header other = join(list, 0, RANKS, draw(1000) + way);
            check(t, memcmp(&line, &other, sizeof(line)) == 0, "headers depend on the association: '%s', '%s'", line.text,
                  other.text);
        }
    }
}
