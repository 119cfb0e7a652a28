/* SPDX-License-Identifier: MIT */
/*
 * conformance: every device must pass the same tests. The program builds the array of tests when it
 * runs: the matrix of cells (cells.h) and the tests of conformance.h, on every device of every
 * backend. places.h describes the environment and test_main.h the arguments.
 */
#define _XOPEN_SOURCE 700
#include "tests/support/calls.h"
#include "conformance.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "oracle/bound.h"
#include "oracle/oracle.h"
#include "tests/support/test_main.h"

void expect_result_inputs(const oracle_case *of, const void *const inputs[], uint64_t n, const void *result, const char *what) {
    oracle_result expected = {{0}}, got = {{0}};
    char texts[2][80];
    const oracle_result *const values[2] = {&got, &expected};
    const size_t bytes = oracle_result_bytes(of);
    memcpy(&got, result, bytes);
    oracle_reduce_inputs(of, inputs, n, &expected);
    if (memcmp(&got, &expected, bytes) == 0) return;
    for (int v = 0; v < 2; v++) {
        size_t used = 0;
        for (size_t byte = bytes; byte-- > 0;)
            used += (size_t)snprintf(texts[v] + used, sizeof texts[v] - used, "%02x%s", values[v]->bytes[byte],
                                     byte && byte % 8 == 0 ? " " : "");
    }
    fail_msg("%s: %s of %llu %s is 0x%s, should be 0x%s", what, tally_op_name(of->op), (unsigned long long)n,
             tally_dtype_name(of->in), texts[0], texts[1]);
}

void expect_result(tally_op op, tally_dtype in, const void *items, uint64_t n, const void *result, const char *what) {
    const oracle_case of = {.op = op, .in = in};
    expect_result_inputs(&of, &items, n, result, what);
}

/* cache.c starts this program twice at once on one empty cache. */
static int only_use_cache(const char *select) {
    tally_context_info info;
    return expect_fresh_context(select, &info) > 0 ? 0 : 1;
}

/* ---- POCL's other way to make loops of work-groups ------------------------------------------- */

#define METHOD "POCL_WORK_GROUP_METHOD"
#define SKIPPED_STATUS 77

/* Finds POCL's selection and the first number of its version, or 0 if there is no POCL. */
static int find_pocl(char *select, size_t bytes) {
    tally_device_info info;
    for (int d = 0; tally_device_get("opencl", d, &info) == TALLY_OK; d++) {
        const char *version = strstr(info.platform, "PoCL ");
        snprintf(select, bytes, "opencl:%d", d);
        if (version) return atoi(version + strlen("PoCL "));
    }
    return 0;
}

/* "cbs" chooses the method that this POCL has besides its default. Before version 4 that is not cbs
 * but loops that are vectorised in another way. POCL reads the variable when it starts, so the
 * program starts again. */
static void choose_method(char **argv) {
    const char *method = getenv(METHOD);
    char select[32];
    if (!method || strcmp(method, "cbs") != 0) return;
    const int version = find_pocl(select, sizeof select);
    if (version == 0) {
        printf("skipped: " METHOD "=cbs, but there is no POCL here\n");
        exit(SKIPPED_STATUS);
    }
    if (version >= 4) return;
    printf("POCL %d does not know " METHOD "=cbs: its other method is workitemloops\n", version);
    fflush(stdout);
    setenv(METHOD, "workitemloops", 1);
    execv("/proc/self/exe", argv);
    perror("execv");
    exit(1);
}

/* The ctest fails if POCL complains about the method. */
static int only_method(void) {
    char select[32];
    tally_context_info info;
    const int version = find_pocl(select, sizeof select);
    const char *method = getenv(METHOD), *wanted = version < 4 ? "workitemloops" : "cbs";
    if (version == 0 || expect_fresh_context(select, &info) <= 0) return 1;
    printf("%s, %s: " METHOD "=%s\n", select, info.device.platform, method ? method : "");
    return !method || strcmp(method, wanted) != 0;
}

typedef struct suite {
    struct CMUnitTest *tests;
    size_t count, capacity;
} suite;

static void add(suite *s, const char *name, CMUnitTestFunction run, void *state) {
    if (s->count == s->capacity) {
        s->capacity = s->capacity ? 2 * s->capacity : 256;
        s->tests = realloc(s->tests, s->capacity * sizeof *s->tests);
        if (!s->tests) abort();
    }
    s->tests[s->count++] = (struct CMUnitTest){name, run, NULL, NULL, state};
}

/* Tests of compilation: of the cache, of the compiler's arithmetic and words, of custom ops
 *. */
static const device_test *const compiler_lists[] = {cache_tests, arithmetic_tests, custom_example_tests, custom_tests};
static const device_test *const lists[] = {
    api_tests,           host_tests,          feed_tests,         part_tests,     packet_tests,     devices_tests,
    thread_tests,        semantics_tests,     fused_tests,        accuracy_tests, moment_tests,     pivot_tests,
    enqueue_tests,       tuning_tests,        scan_tests,         scan_use_tests, scan_block_tests, scan_axis_tests,
    move_tests,          memory_tests,        wrapped_tests,      empty_tests,    golden_tests,     segments_tests,
    segments_form_tests, segments_list_tests, segments_same_tests};

static void add_list(suite *s, place *at, const device_test *list, char (*names)[96], size_t *used) {
    for (const device_test *t = list; t->name; t++) {
        char *name = names[*used];
        snprintf(name, sizeof names[0], "%s %s", at->select, t->name);
        if (cells_share_has((*used)++)) add(s, name, t->run, at);
    }
}

static void add_device_tests(suite *s, place *at, char (*names)[96], size_t *used) {
    const int compiles = strcmp(at->info.backend, "host") != 0; /* as need_compiler */
    for (size_t l = 0; l < TALLY_ARRAY_LENGTH(lists); l++) add_list(s, at, lists[l], names, used);
    for (size_t l = 0; compiles && l < TALLY_ARRAY_LENGTH(compiler_lists); l++) add_list(s, at, compiler_lists[l], names, used);
}

/* Compiles the cells' programs into TALLY_CACHE_DIR. Returns the exit status. */
static int compile_chosen(const test_choice *choice, const cell *cells, size_t count) {
    size_t chosen = 0;
    for (size_t c = 0; c < count; c++) {
        if (!test_is_chosen(choice, cells[c].name)) continue;
        cell_compile(&cells[c]);
        chosen++;
    }
    return chosen || !choice->pattern ? 0 : test_none_chosen(choice);
}

static const char about[] =
    "Every device must pass these tests.\n"
    "--only-compile [PATTERN] runs nothing, but fills TALLY_CACHE_DIR for a run to come; many programs can do "
    "that at a time.";

int main(int argc, char **argv) {
    choose_method(argv);
    if (argc == 3 && strcmp(argv[1], "--only-use-cache") == 0) return only_use_cache(argv[2]);
    if (argc == 2 && strcmp(argv[1], "--only-method") == 0) return only_method();
    const int only_compile = argc > 1 && strcmp(argv[1], "--only-compile") == 0;
    const int records = argc == 3 && strcmp(argv[1], "--record-golden") == 0;
    test_choice choice;
    const int status = records ? -1 : test_choose(argc - only_compile, argv + only_compile, about, &choice);
    if (status >= 0) return status;
    static place places[MAX_PLACES];
    static char names[MAX_PLACES * 256][96];
    size_t used = 0, count;
    const int place_count = places_open(places);
    if (place_count < 0) return 1;
    if (records) return place_count == 0 || golden_record(&places[0], argv[2]);
    cell *cells = cells_create(places, place_count, &count);
    if (only_compile) return compile_chosen(&choice, cells, count);
    suite s = {0};
    for (int p = 0; p < place_count; p++) add_device_tests(&s, &places[p], names, &used);
    for (size_t c = 0; c < count; c++) add(&s, cells[c].name, cell_test, &cells[c]);
    const int failed = s.count || choice.pattern ? test_run(&choice, s.tests, s.count, NULL, NULL) : 0;
    const int too_few = choice.pattern || choice.list ? 0 : cells_report(cells, count, places, place_count);
    places_close(places, place_count);
    free(cells);
    free(s.tests);
    return failed ? failed : too_few;
}
