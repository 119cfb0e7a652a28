/* SPDX-License-Identifier: MIT */
/* outcomes: a test of each outcome, for arguments.cmake. */
#include "test_main.h"

static void test_good(void **unused) {
    (void)unused;
}

static void test_bad(void **unused) {
    (void)unused;
    fail();
}

static void test_absent(void **unused) {
    (void)unused;
    test_skip("there is no %s", "unicorn");
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_good), cmocka_unit_test(test_bad), cmocka_unit_test(test_absent)};
    return test_main(argc, argv, "A test of each outcome.", tests, sizeof tests / sizeof tests[0], NULL, NULL);
}
