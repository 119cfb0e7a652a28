/* SPDX-License-Identifier: MIT */
/*
 * cmocka 1.1.5 takes a filter but accepts one that matches no test, and prints no cause for skipped
 * tests. So tests are chosen here. A skipped test gets its cause as a part of its name, which
 * cmocka prints.
 */
#define _XOPEN_SOURCE 700
#include "test_main.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tally/tally.h>

/* A test for cmocka. Its name has room for a cause. */
typedef struct entry {
    const struct CMUnitTest *of;
    void *state; /* the test's own state */
    char name[512];
} entry;

static entry *running;

/* ---- arguments ------------------------------------------------------------------------------- */

static const char *name_of(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static void print_help(const char *program, const char *about) {
    printf("usage: %s [--list] [PATTERN | --last-op]\n%s\n"
           "PATTERN chooses tests by their names: * and ? stand for other characters; without them it is a part of the name.\n"
           "--last-op in its place chooses the tests of the operator that was added last.\n"
           "--list prints the names. The exit status is 1 when a test fails, 2 when nothing is chosen.\n",
           program, about);
}

int test_choose(int argc, char **argv, const char *about, test_choice *out) {
    *out = (test_choice){.program = name_of(argv[0])};
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0) {
            print_help(out->program, about);
            return 0;
        }
        if (strcmp(argv[i], "--list") == 0) {
            out->list = true;
        } else if (strcmp(argv[i], "--last-op") == 0 && !out->pattern) {
            static char last[64];
            snprintf(last, sizeof(last), " %s ", tally_op_name(TALLY_OP_END - 1));
            out->pattern = last;
            out->may_be_none = true;
        } else if (argv[i][0] == '-' || !argv[i][0] || out->pattern) {
            fprintf(stderr, "%s: %s '%s'; see --help\n", out->program,
                    out->pattern ? "a second pattern," : "there is no option", argv[i]);
            return TEST_WRONG_USAGE;
        } else {
            out->pattern = argv[i];
        }
    }
    return -1;
}

bool test_is_chosen(const test_choice *choice, const char *name) {
    if (!choice->pattern) return true;
    return strpbrk(choice->pattern, "*?[") ? fnmatch(choice->pattern, name, 0) == 0 : strstr(name, choice->pattern) != NULL;
}

int test_none_chosen(const test_choice *choice) {
    if (choice->may_be_none) {
        printf("skipped: no test has the operator%sin its name\n", choice->pattern);
        return TEST_SKIPPED;
    }
    fprintf(stderr, "%s: no test is called '%s'; --list prints the names\n", choice->program,
            choice->pattern ? choice->pattern : "");
    return TEST_WRONG_USAGE;
}

uint64_t test_number(int argc, char **argv, int at, int most, uint64_t otherwise, const char *usage) {
    const bool help = argc == 2 && strcmp(argv[1], "--help") == 0;
    const char *text = at < argc ? argv[at] : "0";
    /* 19 digits fit 64 bits. */
    const bool is_number = *text && strlen(text) < 20 && !text[strspn(text, "0123456789")];
    if (help || argc - 1 > most || !is_number) {
        fprintf(help ? stdout : stderr, "usage: %s %s\n", name_of(argv[0]), usage);
        exit(help ? 0 : TEST_WRONG_USAGE);
    }
    return at < argc ? strtoull(text, NULL, 10) : otherwise;
}

/* ---- running --------------------------------------------------------------------------------- */

static int begin_entry(void **state) {
    running = *state;
    running->state = running->of->initial_state;
    return running->of->setup_func ? running->of->setup_func(&running->state) : 0;
}

static void run_entry(void **state) {
    entry *e = *state;
    e->of->test_func(&e->state);
}

static int end_entry(void **state) {
    entry *e = *state;
    return e->of->teardown_func ? e->of->teardown_func(&e->state) : 0;
}

void test_skip(const char *format, ...) {
    const size_t used = strlen(running->name);
    char *cause = running->name + used;
    va_list arguments;
    va_start(arguments, format);
    if (used + 3 < sizeof(running->name)) {
        strcpy(cause, ": ");
        vsnprintf(cause + 2, sizeof(running->name) - used - 2, format, arguments);
    }
    va_end(arguments);
    skip();
    abort(); /* skip() does not return */
}

int test_run(const test_choice *choice, const struct CMUnitTest *tests, size_t count, CMFixtureFunction begin,
             CMFixtureFunction end) {
    entry *entries = calloc(count + 1, sizeof(*entries));
    struct CMUnitTest *chosen = calloc(count + 1, sizeof(*chosen));
    size_t used = 0;
    if (!entries || !chosen) abort();
    for (size_t i = 0; i < count; i++) {
        if (!test_is_chosen(choice, tests[i].name)) continue;
        entry *e = &entries[used];
        e->of = &tests[i];
        snprintf(e->name, sizeof(e->name), "%s", tests[i].name);
        chosen[used++] = (struct CMUnitTest){e->name, run_entry, begin_entry, end_entry, e};
        if (choice->list) printf("%s\n", e->name);
    }
    int status = used ? 0 : test_none_chosen(choice);
    /* The number of failures: as an exit status, 256 would be 0. */
    if (used && !choice->list) status = _cmocka_run_group_tests(choice->program, chosen, used, begin, end) != 0;
    free(entries);
    free(chosen);
    return status;
}

int test_main(int argc, char **argv, const char *about, const struct CMUnitTest *tests, size_t count, CMFixtureFunction begin,
              CMFixtureFunction end) {
    test_choice choice;
    const int status = test_choose(argc, argv, about, &choice);
    return status >= 0 ? status : test_run(&choice, tests, count, begin, end);
}
