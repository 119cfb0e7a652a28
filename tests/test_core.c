/* SPDX-License-Identifier: MIT */
/* test_core: the core on a stub backend. */
#define _XOPEN_SOURCE 700
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core_tests.h"

void must(tally_status status, const char *call, const char *file, int line) {
    if (status == TALLY_OK) return;
    print_error("%s: %s: %s\n", call, tally_status_name(status), tally_last_error());
    _fail(file, line);
}

void refused(tally_status got, tally_status expected, const char *call, const char *file, int line, const char *const *words) {
    if (got != expected) {
        print_error("%s: %s, should be %s; the text: %s\n", call, tally_status_name(got), tally_status_name(expected),
                    got ? tally_last_error() : "");
        _fail(file, line);
    }
    for (; *words; words++)
        if (!strstr(tally_last_error(), *words)) {
            print_error("%s: the text should have \"%s\": %s\n", call, *words, tally_last_error());
            _fail(file, line);
        }
    if (strchr(tally_last_error(), '\n')) {
        print_error("%s: the text is no single line: %s\n", call, tally_last_error());
        _fail(file, line);
    }
}

void sound(const char *file, int line) {
#define STUB_KIND(kind) #kind,
    static const char *const kinds[] = {STUB_KINDS(STUB_KIND)};
#undef STUB_KIND
    int good = !stub.misuse[0];
    if (!good) print_error("the vtable's rules: %s\n", stub.misuse);
    for (int k = 0; k < STUB_KIND_COUNT; k++)
        if (stub.open[k] != 0) {
            print_error("%d of %d %s objects were not closed\n", stub.open[k], stub.opened[k], kinds[k]);
            good = 0;
        }
    if (!good) _fail(file, line);
}

const tally_reduce_desc side_desc = {.size = sizeof(tally_reduce_desc), .op = TALLY_SUM, .in = TALLY_F32, .max_n = SIDE_MAX_N};

void open_side(side *s, const char *select) {
    MUST(tally_context_create(select, &s->context));
    MUST(tally_queue_create(s->context, &s->queue));
    MUST(tally_buffer_create(s->context, SIDE_ITEMS * sizeof(float), &s->in));
    MUST(tally_buffer_create(s->context, 2 * sizeof(float), &s->out));
    MUST(tally_plan_create(s->context, &side_desc, &s->plan));
    MUST(tally_feed_create(s->context, &side_desc, &s->feed));
}

void close_side(side *s) {
    tally_context_destroy(s->context);
    tally_queue_destroy(s->queue);
    tally_buffer_destroy(s->in);
    tally_buffer_destroy(s->out);
    tally_plan_destroy(s->plan);
    tally_feed_destroy(s->feed);
}

/* Every test starts with a fresh stub, no cache on disk and no selection in the environment. */
static int begin(void **state) {
    (void)state;
    stub_reset();
    setenv("TALLY_CACHE_DIR", "off", 1);
    unsetenv("TALLY_BACKEND");
    return 0;
}

static int end(void **state) {
    (void)state;
    stub_reset();
    return 0;
}

int main(void) {
    static const core_test *const lists[] = {table_tests,    selection_tests, handle_tests,
                                             argument_tests, failure_tests,   ladder_tests};
    static struct CMUnitTest tests[128];
    size_t count = 0;
    if (tally_backend_register(&stub_backend) != TALLY_OK) {
        fprintf(stderr, "the stub was not registered: %s\n", tally_last_error());
        return 1;
    }
    for (size_t l = 0; l < TALLY_ARRAY_LENGTH(lists); l++)
        for (const core_test *t = lists[l]; t->name && count < TALLY_ARRAY_LENGTH(tests); t++)
            tests[count++] = (struct CMUnitTest){t->name, t->run, begin, end, NULL};
    return _cmocka_run_group_tests("core", tests, count, NULL, NULL) != 0;
}
