/* SPDX-License-Identifier: MIT */
/* Golden bits without a device: the file, host arrays, and the main cases on the stub,
 * which computes by the rows' expressions. */
#include "core.h"
#include "host/host.h"
#include "tests/golden/golden.h"
#include "tests/support/test_main.h"

static golden_file *file;

/* Computes the case on the stub's device, or on the host. */
static void expect_case(tally_context *context, const golden_case *c, int on_host) {
    golden_line line;
    if (on_host)
        golden_run_host(context, c, &line);
    else
        assert_true(golden_run(context, c, &line));
    golden_expect(file, c, &line);
}

static void test_file(void **unused) {
    (void)unused;
    file = golden_open(GOLDEN_BITS);
    golden_expect_whole(file);
    golden_close(file);
}

/* Every line that one of the library's own programs computes. Nothing is compiled. */
static void test_host(void **unused) {
    (void)unused;
    size_t count, ran = 0;
    const golden_case *cases = golden_cases(&count);
    tally_context *context;
    if (!tally_host_program_for(TALLY_SUM, TALLY_F32)) test_skip("the library was built for another machine");
    file = golden_open(GOLDEN_BITS);
    MUST(tally_context_create("stub:beta", &context));
    for (size_t c = 0; c < count; c++) {
        const oracle_case *what = &cases[c].what;
        const int is_plain = !what->acc && !what->accuracy && !what->out && !what->params;
        if (!is_plain || cases[c].is_scan || !tally_host_program_for(what->op, what->in)) continue;
        expect_case(context, &cases[c], 1);
        ran++;
    }
    assert_true(ran > 100);
    assert_int_equal(stub.launches, 0);
    tally_context_destroy(context);
    SOUND();
    golden_close(file);
}

/* The stub computes as a GPU and as a CPU would. Its scans have an order of their own. */
static void test_main_cases(void **unused) {
    (void)unused;
    static const char *const devices[] = {"stub:alpha", "stub:beta"};
    size_t count;
    const golden_case *cases = golden_cases(&count);
    file = golden_open(GOLDEN_BITS);
    for (size_t d = 0; d < TALLY_ARRAY_LENGTH(devices); d++)
        for (size_t c = 0; c < count; c++) {
            tally_context *context;
            if (!cases[c].is_main || (cases[c].is_scan && !oracle_is_exact(&cases[c].what))) continue;
            MUST(tally_context_create(devices[d], &context));
            expect_case(context, &cases[c], 0);
            tally_context_destroy(context);
            SOUND();
            stub_reset(); /* else it would keep every object */
        }
    golden_close(file);
}

const core_test golden_tests[] = {
    {"golden bits: the file", test_file},
    {"golden bits: on the host", test_host},
    {"golden bits: on the stub", test_main_cases},
    {NULL, NULL},
};
