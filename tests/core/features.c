/* SPDX-License-Identifier: MIT */
/* The features: tried when a program uses them, and done without where a trial fails. */
#include <stdio.h>
#include <string.h>

#include "tests/support/calls.h"
#include "core.h"

/* Expects a line before the first plan, after a plan that uses ORDER, and after one that uses
 * SUBGROUPS. */
static void expect_features(const char *select, const char *const lines[3]) {
    static const char *const variants[] = {NULL, "auto", "shuffle"};
    tally_context *context;
    MUST(tally_context_create(select, &context));
    for (size_t i = 0; i < TALLY_ARRAY_LENGTH(variants); i++) {
        tally_plan *plan = NULL;
        char text[4096], line[128];
        const tally_reduce_desc desc = {
            .size = sizeof desc, .op = TALLY_SUM, .in = TALLY_F32, .max_n = 100, .variant = variants[i]};
        if (variants[i]) MUST(tally_plan_create(context, &desc, &plan));
        MUST(tally_context_describe(context, text, sizeof text));
        snprintf(line, sizeof line, "\nfeatures: %s\n", lines[i]);
        if (!strstr(text, line)) fail_msg("\"%s\" is not in the description:\n%s", line, text);
        tally_plan_destroy(plan);
    }
    tally_context_destroy(context);
    stub.fail_at = 0;
}

/* Lets each call of a plan's creation fail in turn. Where there is a plan nevertheless, the call
 * was one of a trial. Returns which slots failed so: bit i for slots[i]. */
static unsigned fail_trials(bool is_tested, const char *variant, const char *feature, tally_status fail_with) {
    static const char *const slots[] = {"program_create", "kernel_create", "queue_open", "mem_open",
                                        "copy_in",        "launch",        "copy_out",   "queue_wait"};
    unsigned failed = 0;
    for (int call = 1; call < 100; call++) {
        tally_context *context;
        tally_plan *plan = NULL;
        char text[4096] = "";
        tally_reduce_desc desc = {.size = sizeof desc, .op = TALLY_SUM, .in = TALLY_F32, .max_n = 100};
        MUST(tally_context_create("stub:alpha", &context));
        if (is_tested) MUST(tally_plan_create(context, &desc, &plan));
        tally_plan_destroy(plan);
        desc.variant = variant;
        stub.calls = 0;
        stub.failed[0] = 0;
        stub.fail_at = call;
        stub.fail_with = fail_with;
        const tally_status status = tally_plan_create(context, &desc, &plan);
        stub.fail_at = 0;
        if (!status) MUST(tally_context_describe(context, text, sizeof text));
        for (unsigned s = 0; s < TALLY_ARRAY_LENGTH(slots); s++)
            if (!status && strcmp(stub.failed, slots[s]) == 0 && !strstr(text, feature)) failed |= 1u << s;
        tally_plan_destroy(plan);
        tally_context_destroy(context);
    }
    return failed;
}

static void test_features(void **unused) {
    (void)unused;
    static const char *const none[] = {"none", "none", "none"};
    static const char *const all[] = {"not tried: SUBGROUPS, ORDER", "ORDER; not tried: SUBGROUPS", "SUBGROUPS, ORDER"};
    static const char *const fail[] = {"not tried: SUBGROUPS, ORDER", "none; not tried: SUBGROUPS", "none"};
    float verdicts[64];
    for (int i = 0; i < 64; i++) verdicts[i] = 1;
    expect_features("stub:alpha", none); /* the backend has no such stem */
    stub.verdicts = verdicts;
    expect_features("stub:alpha", all);
    expect_features("stub:beta", all);
    verdicts[63] = 0;
    expect_features("stub:alpha", fail); /* one thread found an error */
    verdicts[63] = 1;
    /* A call that fails in a trial is no error. The device goes without the feature. If the program
     * of the self-test and of ORDER's trial fails, each gets a program of its own. */
    assert_int_equal(fail_trials(true, "shuffle", "\nfeatures: SUBGROUPS", TALLY_E_DEVICE), 0xff);
    assert_int_equal(fail_trials(false, "auto", "\nfeatures: ORDER", TALLY_E_DEVICE), 0xfe);
    /* Lack of memory fails the plan, but from the launch on, where drivers mean other resources. */
    assert_int_equal(fail_trials(true, "shuffle", "\nfeatures: SUBGROUPS", TALLY_E_MEMORY), 0xe0);
    stub.verdicts = NULL;
    SOUND();
}

const core_test feature_tests[] = {{"features", test_features}, {NULL, NULL}};
