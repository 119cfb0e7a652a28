/* SPDX-License-Identifier: MIT */
/*
 * test_main.h: the command line of every test program, and how its tests run.
 *   PROGRAM            all tests
 *   PROGRAM PATTERN    the tests whose whole names match; * and ? stand for other characters. A
 *                      pattern without these chooses the tests whose names contain it.
 *   PROGRAM --last-op  the tests whose names have the operator with the highest value: the newest
 *   PROGRAM --list     the names of the tests that the other arguments choose
 *   PROGRAM --help
 * The exit status is 0, 1 if a test failed, or 2 if an argument is wrong or the pattern chooses
 * nothing.
 */
#ifndef TALLY_TESTS_TEST_MAIN_H
#define TALLY_TESTS_TEST_MAIN_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Exit statuses. */
#define TEST_WRONG_USAGE 2
#define TEST_SKIPPED 77 /* --last-op chooses nothing: an operator of two inputs has no scans */

typedef struct test_choice {
    const char *program, *pattern; /* pattern: NULL for all tests */
    bool list;                     /* only their names */
    bool may_be_none;
} test_choice;

/* Reads the arguments. Returns -1, or the exit status. --help prints `about`. */
int test_choose(int argc, char **argv, const char *about, test_choice *out);
bool test_is_chosen(const test_choice *choice, const char *name);
/* Reports that the pattern chooses nothing. Returns the exit status. */
int test_none_chosen(const test_choice *choice);
/* Runs or lists the chosen tests. Returns the exit status. `begin` and `end` run before and after
 * all tests, or are NULL. */
int test_run(const test_choice *choice, const struct CMUnitTest *tests, size_t count, CMFixtureFunction begin,
             CMFixtureFunction end);
/* The calls above in one, for programs whose tests are known before they run. */
int test_main(int argc, char **argv, const char *about, const struct CMUnitTest *tests, size_t count, CMFixtureFunction begin,
              CMFixtureFunction end);

/* For programs that take numbers and no pattern: the argument at `at`, or `otherwise` if there are
 * fewer. Ends the program if an argument from there on is no number in digits, or is one too many
 * (`most` are taken), with `usage` and the status 2; at --help with the status 0. */
uint64_t test_number(int argc, char **argv, int at, int most, uint64_t otherwise, const char *usage);

/* Skips the running test. Its line has the cause. */
void test_skip(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

#endif
