/* SPDX-License-Identifier: MIT */
/*
 * Golden bits on a real device: golden/bits.txt is computed again and compared. Every run replays
 * the sums and extremes of the main types, and one of PARTS parts of the other programs, in turn
 * (TALLY_TEST_SEED). TALLY_TEST_FULL replays all. tests/core/golden.c replays the lines that need
 * no device.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "direct.h"
#include "tests/golden/golden.h"
#include "tests/support/sample.h"

#define PARTS 20

typedef enum group { REDUCTIONS, FUSED_AND_CUSTOM, SCANS } group;

static group group_of(const golden_case *c) {
    return c->is_scan ? SCANS : c->fusion || c->custom ? FUSED_AND_CUSTOM : REDUCTIONS;
}

/* POCL's other method compiles everything anew. */
static int is_wanted(const golden_case *c) {
    const int is_usual_run = !quick() && !getenv("POCL_WORK_GROUP_METHOD");
    return c->is_main || full() || (is_usual_run && c->program % PARTS == sample_seed() % PARTS);
}

static void replay(void **state, group wanted) {
    tally_context *context = direct_context(state);
    golden_file *file = golden_open(GOLDEN_BITS);
    size_t count, ran = 0, programs = 0, last = 0;
    const golden_case *cases = golden_cases(&count);
    for (size_t c = 0; c < count; c++) {
        golden_line line;
        if (group_of(&cases[c]) != wanted || !is_wanted(&cases[c]) || !golden_run(context, &cases[c], &line)) continue;
        programs += cases[c].program != last;
        last = cases[c].program;
        golden_expect(file, &cases[c], &line);
        ran++;
    }
    printf("golden bits: %zu lines by %zu programs; TALLY_TEST_SEED=%llu%s\n", ran, programs, (unsigned long long)sample_seed(),
           full() ? ", TALLY_TEST_FULL" : "");
    golden_close(file);
    if (full() || wanted != FUSED_AND_CUSTOM) assert_true(ran > 0);
}

static void test_reductions(void **state) {
    replay(state, REDUCTIONS);
}

static void test_fused_and_custom(void **state) {
    replay(state, FUSED_AND_CUSTOM);
}

static void test_scans(void **state) {
    replay(state, SCANS);
}

const device_test golden_tests[] = {
    {"golden: reductions", test_reductions},
    {"golden: fused and custom", test_fused_and_custom},
    {"golden: scans", test_scans},
    {NULL, NULL},
};

/* ---- recording ------------------------------------------------------------------------------- */

static void write_head(FILE *to) {
    fprintf(
        to,
        "# Golden bits: results as they were recorded, which the tests compute again. tests/golden/golden.h has the form, the "
        "items "
        "and the\n"
        "# texts; docs/numerics.md and CONTRIBUTING.md say when they may change. Written by `conformance --record-golden`.\n"
        "# A line: CASE, ITEMS: one text for each of these lengths:\n#");
    for (size_t l = 0; l < GOLDEN_LENGTHS; l++) fprintf(to, " %llu", (unsigned long long)golden_lengths[l]);
    fprintf(to, "\n\n");
}

/* Returns 0 if the device cannot compute the case, or if the oracle disagrees. */
static int record_case(const place *at, const golden_case *c, FILE *to) {
    golden_line got, right;
    int good = golden_run(at->context, c, &got);
    if (!good) fprintf(stderr, "%s cannot compute %s: record on another device\n", at->info.name, c->key);
    const int is_known = good && golden_oracle(c, &right);
    for (size_t l = 0; is_known && l < GOLDEN_LENGTHS; l++) {
        if (strcmp(got.values[l], right.values[l]) == 0) continue;
        fprintf(stderr, "%s, n=%llu: got %s, the oracle has %s\n", c->key, (unsigned long long)golden_lengths[l], got.values[l],
                right.values[l]);
        good = 0;
    }
    fprintf(to, "%s:", c->key);
    for (size_t l = 0; good && l < GOLDEN_LENGTHS; l++) fprintf(to, " %s", got.values[l]);
    fprintf(to, "\n");
    return good;
}

int golden_record(const place *at, const char *path) {
    char fresh[512];
    size_t count;
    const golden_case *cases = golden_cases(&count);
    snprintf(fresh, sizeof fresh, "%s.new", path);
    FILE *to = fopen(fresh, "w");
    if (!to || !at->context) return fprintf(stderr, "%s: cannot be written, or no device\n", fresh), 1;
    int good = 1;
    write_head(to);
    for (size_t c = 0; c < count; c++) good &= record_case(at, &cases[c], to);
    good &= fclose(to) == 0;
    if (good && rename(fresh, path) == 0) return printf("%s is recorded\n", path), 0;
    return fprintf(stderr, "%s is as it was; what was computed is in %s\n", path, fresh), 1;
}
