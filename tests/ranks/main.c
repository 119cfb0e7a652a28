/* SPDX-License-Identifier: MIT */
/*
 * main.c: the test program of libtally_mpi, started by mpiexec.
 *   PROGRAM SELECTION[,SELECTION...] [bits | faults | no-device | killed | speed | large-speed]
 * Rank i opens selection i modulo their number. The exit status is 1 if a check failed on any rank.
 */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ranks.h"
#include "speed.h"

static unsigned counted;
static int failures;
static uint64_t state = 1;

bool check(const tester *t, bool good, const char *format, ...) {
    counted++;
    if (good) return true;
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    if (failures++ < 10) printf("FAILED on rank %d of %d: %s\n", t->rank, t->size, text);
    fflush(stdout);
    return false;
}

int failed_checks(void) {
    return failures;
}

unsigned counted_checks(void) {
    return counted;
}

uint64_t draw(uint64_t below) {
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return below ? (state >> 33) % below : 0;
}

bool on_all(bool good) {
    int mine = good, all = 0;
    MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
    return all != 0;
}

/* Opens this rank's entry of the list. */
static tally_status open_device(tester *t, const char *list) {
    char *copy = strdup(list), *rest = copy, *entries[8], *entry;
    int count = 0;
    while (count < 8 && (entry = strsep(&rest, ",")) != NULL) entries[count++] = entry;
    const tally_status status = tally_context_create(entries[t->rank % count], &t->context);
    tally_context_info info;
    if (!status && tally_context_get_info(t->context, &info) == TALLY_OK)
        t->compiles = strcmp(info.device.backend, "host") != 0;
    free(copy);
    return status ? status : tally_queue_create(t->context, &t->queue);
}

static int run(tester *t, const char *list, const char *what) {
    const bool opened = open_device(t, list) == TALLY_OK;
    if (!opened) printf("rank %d: %s\n", t->rank, tally_last_error());
    if (!on_all(opened)) return 1;
    t->compiles = on_all(t->compiles);
    if (strcmp(what, "bits") == 0) {
        test_reductions(t);
        test_columns(t);
        test_scans(t);
        test_several(t);
    } else if (strcmp(what, "faults") == 0) {
        test_headers(t);
        test_faults(t);
        test_scan_faults(t);
        test_failing_calls(t);
    } else if (strcmp(what, "no-device") == 0) {
        test_no_device(t);
    } else if (strcmp(what, "killed") == 0) {
        test_killed(t);
    } else if (strcmp(what, "speed") == 0) {
        test_speed(t);
    } else if (strcmp(what, "large-speed") == 0) {
        test_large_speed(t);
    } else {
        return printf("there is no %s\n", what), 2;
    }
    tally_queue_destroy(t->queue);
    tally_context_destroy(t->context);
    if (t->rank == 0) printf("%d ranks, %s: %u checks on rank 0\n", t->size, list, counted);
    return !on_all(failures == 0 && counted > 0);
}

int main(int argc, char **argv) {
    tester t = {0};
    if (argc < 2) return fprintf(stderr, "usage: %s SELECTION[,SELECTION...] [WHAT]\n", argv[0]), 2;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &t.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &t.size);
    t.crowded = t.size > sysconf(_SC_NPROCESSORS_ONLN);
    const char *full = getenv("TALLY_TEST_FULL");
    t.full = full && *full && strcmp(full, "0") != 0;
    const int code = run(&t, argv[1], argc > 2 ? argv[2] : "bits");
    MPI_Finalize();
    test_finalised(&t);
    return code ? code : failed_checks() > 0;
}
