/* SPDX-License-Identifier: MIT */
/* test_core: the core on a stub backend. */
#define _XOPEN_SOURCE 700
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core.h"
#include "tests/support/test_main.h"

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
    for (const char *c = tally_last_error(); *c; c++)
        if ((unsigned char)*c < ' ' || *c == 0x7f) {
            print_error("%s: the text is no single line of printable characters: %s\n", call, tally_last_error());
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

/* ---- descriptors resolved -------------------------------------------------------------------- */

const tally_device_info made_up_device = {.device_class = TALLY_CLASS_GPU,
                                          .name = "Made Up",
                                          .compute_units = 4,
                                          .max_group_threads = 1024,
                                          .memory_bytes = UINT64_C(1) << 30,
                                          .local_bytes = 1 << 20,
                                          .has_atomic64 = 1,
                                          .has_f64 = 1};

tally_status try_desc(const tally_device_info *on, tally_reduce_desc desc) {
    tally_terms terms;
    tally_launch launch;
    desc.size = sizeof desc;
    const tally_status status = tally_reduce_resolve(on, NULL, &desc, &terms, &launch);
    if (!status) tally_terms_close(&terms);
    return status;
}

tally_terms resolve_launch(const tally_device_info *on, tally_reduce_desc desc, tally_launch *launch) {
    tally_terms terms;
    desc.size = sizeof desc;
    MUST(tally_reduce_resolve(on, NULL, &desc, &terms, launch));
    return terms;
}

tally_terms resolve_desc(const tally_device_info *on, tally_reduce_desc desc) {
    tally_launch launch;
    return resolve_launch(on, desc, &launch);
}

void expect_type(const char *what, tally_op op, tally_dtype in, tally_dtype got, tally_dtype expected) {
    if (got != expected)
        fail_msg("%s of %s of %s: %s, should be %s", what, tally_op_name(op), tally_dtype_name(in),
                 got ? tally_dtype_name(got) : "none", expected ? tally_dtype_name(expected) : "none");
}

/* ---- the program ----------------------------------------------------------------------------- */

/* Every test begins with a fresh stub, without a cache on disk, and without a selection in the
 * environment. */
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

int main(int argc, char **argv) {
    static const core_test *const lists[] = {
        table_tests,         type_tests,           whole_tests,          spec_tests,
        selection_tests,     handle_tests,         argument_tests,       custom_tests,
        custom_text_tests,   custom_refused_tests, term_tests,           input_tests,
        input_refused_tests, empty_tests,          host_tests,           few_tests,
        host_device_tests,   failure_tests,        recovery_tests,       ladder_tests,
        feature_tests,       tuning_tests,         scan_tests,           scan_axis_tests,
        move_tests,          move_argument_tests,  memory_tests,         host_plan_tests,
        golden_tests,        cache_tests,          hint_tests,           kept_tests,
        program_tests,       segments_tests,       segments_whole_tests, segments_argument_tests,
        part_tests,          packet_tests,         devices_tests,        transpose_tests};
    static struct CMUnitTest tests[512];
    size_t count = 0;
    if (tally_backend_register(&stub_backend) != TALLY_OK) {
        fprintf(stderr, "the stub was not registered: %s\n", tally_last_error());
        return 1;
    }
    for (size_t l = 0; l < TALLY_ARRAY_LENGTH(lists); l++)
        for (const core_test *t = lists[l]; t->name && count < TALLY_ARRAY_LENGTH(tests); t++)
            tests[count++] = (struct CMUnitTest){t->name, t->run, begin, end, NULL};
    return test_main(argc, argv, "The core on a stub backend.", tests, count, NULL, NULL);
}
