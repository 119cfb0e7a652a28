/* SPDX-License-Identifier: MIT */
/*
 * Runs a sequence of public calls again and again. The first time the stub's first call fails, the
 * second time its second, until the sequence succeeds without a failure. The status and the text
 * come through unmasked. Every open object is closed, once.
 */
#define _XOPEN_SOURCE 700
#include <stdlib.h>
#include <string.h>

#include "core.h"
#include "tests/support/folders.h"

/* A binary or a prebuilt program that the driver does not give or take costs time but no result. A
 * function without a status cannot report a failure. */
static int may_be_swallowed(void) {
    return stub.failed_in_void || strcmp(stub.failed, "program_binary") == 0 ||
           strcmp(stub.failed, "program_create from a binary") == 0 || strcmp(stub.failed, "program_create of a prebuilt") == 0;
}

static void check_failure(tally_status status, int k) {
    const tally_status wanted = stub.fail_with;
    if (status == TALLY_OK) {
        if (!may_be_swallowed()) fail_msg("%s, call %d, failed, and nobody said so", stub.failed, k);
    } else {
        if (status != wanted)
            fail_msg("%s, call %d, failed with %s; what came out is %s (%s)", stub.failed, k, tally_status_name(wanted),
                     tally_status_name(status), tally_last_error());
        if (!strstr(tally_last_error(), stub.text) && !(stub.lost && strstr(tally_last_error(), STUB_LOST)))
            fail_msg("%s, call %d, failed with the text \"%s\"; what came out is \"%s\"", stub.failed, k, stub.text,
                     tally_last_error());
        if (may_be_swallowed() && !stub.lost) fail_msg("%s, call %d, failed, which should only cost time", stub.failed, k);
    }
    if (stub.misuse[0]) fail_msg("after %s, call %d, failed: %s", stub.failed, k, stub.misuse);
}

void fail_each_call(sequence run, cache_mode mode, int lost) {
    static const tally_status statuses[] = {TALLY_E_DEVICE, TALLY_E_MEMORY, TALLY_E_UNSUPPORTED, TALLY_E_BUILD,
                                            TALLY_E_INTERNAL};
    char dir[512];
    if (mode != CACHE_OFF) {
        folder_make(dir, sizeof dir);
        setenv("TALLY_CACHE_DIR", dir, 1);
        stub_reset();
        if (mode == CACHE_WARM) MUST(run());
    }
    int k = 1, done = 0;
    for (; !done; k++) {
        if (mode == CACHE_COLD) {
            folder_remove(dir);
            folder_make(dir, sizeof dir);
            setenv("TALLY_CACHE_DIR", dir, 1);
        }
        stub_reset();
        stub.fail_at = k;
        stub.lost = lost;
        stub.fail_with = statuses[k % (int)TALLY_ARRAY_LENGTH(statuses)];
        const tally_status status = run();
        if (stub.failed[0])
            check_failure(status, k);
        else
            done = 1, MUST(status);
        SOUND();
        if (mode == CACHE_WARM && done) assert_int_equal(stub.sources, 0);
    }
    assert_true(k > 2); /* the sequence made calls that could fail */
    if (mode != CACHE_OFF) folder_remove(dir);
    setenv("TALLY_CACHE_DIR", "off", 1);
}
