/* SPDX-License-Identifier: MIT */
/* Tunings: rows of text, which of them is taken, and where a context has them from. */
#define _XOPEN_SOURCE 700
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core_tests.h"
#include "folders.h"

static void expect_refused(const char *text, size_t line) {
    tally_tunings rows;
    if (tally_tunings_parse(text, &rows) != line) fail_msg("line %zu should be refused: %s", line, text);
    assert_int_equal(rows.count, 0);
    assert_null(rows.rows);
}

static void test_rows(void **unused) {
    (void)unused;
    tally_tunings rows;
    assert_int_equal(tally_tunings_parse("", &rows), 0);
    assert_int_equal(tally_tunings_parse("# nothing\n\n   \t\n  # 1 2 3", &rows), 0);
    assert_int_equal(rows.count, 0);
    assert_int_equal(tally_tunings_parse("* * * * * 32 8 - -\r\n#\n a b sum 4 64K - - 1 2", &rows), 0);
    assert_int_equal(rows.count, 2);
    tally_tunings_free(&rows);
    expect_refused("* * * * * 32 8 -", 1);     /* too few */
    expect_refused("* * * * * 32 8 - - -", 1); /* too many */
    expect_refused("* * * * * 32 8 - -\n* * mean * * 32 8 - -", 2);
    expect_refused("* * * -4 * 32 8 - -", 1);
    expect_refused("* * * * 64k 32 8 - -", 1);
    expect_refused("* * * * 64KB 32 8 - -", 1);
    expect_refused("* * * * K 32 8 - -", 1);
    expect_refused("* * * * * 0 8 - -", 1);
    expect_refused("* * * * * 32 4294967296 - -", 1);
    expect_refused("* * * * 99999999999999999999 32 8 - -", 1);
    char line[1024];
    snprintf(line, sizeof line, "%0900d", 0);
    expect_refused(line, 1);
}

/* The group that a sum (or dot) of so many bytes gets on a made-up device. */
static uint32_t group_of(const char *text, const char *name, tally_op op, tally_dtype in, uint64_t bytes) {
    tally_device_info device = made_up_device;
    tally_tunings rows;
    tally_spec spec;
    tally_reduce_desc whole;
    const tally_reduce_desc desc = {.size = sizeof desc, .op = op, .in = in, .max_n = bytes / tally_dtype_bytes(in)};
    snprintf(device.backend, sizeof device.backend, "made");
    snprintf(device.name, sizeof device.name, "%s", name);
    assert_int_equal(tally_tunings_parse(text, &rows), 0);
    MUST(tally_spec_resolve(&device, &rows, &desc, &whole, &spec));
    const uint32_t group = spec.group_items;
    tally_spec_free(&spec);
    tally_tunings_free(&rows);
    return group;
}

static void test_choice(void **unused) {
    (void)unused;
    static const char rows[] = "other *          *      * *   1024 - - -\n"
                               "made  Fast_Chip* struct * *   32   - - -\n"
                               "made  Fast_Chip* pair   * *   64   - - -\n"
                               "made  Fast_Chip* *      8 *   128  - - -\n"
                               "made  Fast_Chip* *      * 64K 512  - - -\n"
                               "made  @gpu       *      * *   256  - - -\n";
    assert_int_equal(group_of(rows, "Fast Chip 9", TALLY_ARGMIN, TALLY_F32, 4096), 32);
    assert_int_equal(group_of(rows, "Fast Chip 9", TALLY_DOT, TALLY_F32, 4096), 64);
    assert_int_equal(group_of(rows, "Fast Chip 9", TALLY_SUM, TALLY_F64, 4096), 128);
    assert_int_equal(group_of(rows, "Fast Chip 9", TALLY_SUM, TALLY_F32, 65536), 512);
    assert_int_equal(group_of(rows, "Fast Chip 9", TALLY_SUM, TALLY_F32, 65540), 256);
    assert_int_equal(group_of(rows, "Slow Chip", TALLY_SUM, TALLY_F32, 65536), 256);
    /* No power of two, or out of range: the variant's own. */
    assert_int_equal(group_of("* * * * * 100 - - -", "x", TALLY_SUM, TALLY_F32, 65536), 256);
    assert_int_equal(group_of("* * * * * 2048 - - -", "x", TALLY_SUM, TALLY_F32, 65536), 256);
    /* What the descriptor asks for comes first. */
    tally_spec spec = resolve_desc(&made_up_device, (tally_reduce_desc){.op = TALLY_SUM, .in = TALLY_F32, .group_items = 32});
    assert_int_equal(spec.group_items, 32);
    tally_spec_free(&spec);
}

/* Every plan of a context: first the library's rows, then others, then those of the file. */
static void test_context(void **unused) {
    (void)unused;
    char dir[256], file[300], text[4096];
    tally_context *context;
    folder_make(dir, sizeof dir);
    snprintf(file, sizeof file, "%s/tunings.txt", dir);
    setenv("TALLY_CACHE_DIR", dir, 1);
    MUST(tally_context_create("stub:alpha", &context));
    MUST(tally_context_describe(context, text, sizeof text));
    assert_non_null(strstr(text, "\ntunings: the library's own\n"));
    MUST(tally_context_set_tunings(context, "* * * * * 64 8 - -"));
    BAD(tally_context_set_tunings(context, "* * * * * 64 8 - -\nnonsense"), "tally_context_set_tunings", "line 2");
    MUST(tally_context_describe(context, text, sizeof text));
    assert_non_null(strstr(text, "\ntunings: 1 rows before the library's own\n"));
    BAD(tally_context_set_tunings(context, NULL), "rows is NULL");
    BAD(tally_context_set_tunings(NULL, ""), "context is NULL");
    tally_context_destroy(context);

    FILE *f = fopen(file, "w");
    assert_non_null(f);
    fputs("stub * * * * 32 8 - -\n* * * * * 64 8 - -\n", f);
    fclose(f);
    MUST(tally_context_create("stub:alpha", &context));
    MUST(tally_context_describe(context, text, sizeof text));
    assert_non_null(strstr(text, "\ntunings: 2 rows before the library's own\n"));
    tally_context_destroy(context);

    f = fopen(file, "a");
    assert_non_null(f);
    fputs("nonsense\n", f);
    fclose(f);
    MUST(tally_context_create("stub:alpha", &context));
    MUST(tally_context_describe(context, text, sizeof text));
    assert_non_null(strstr(text, "\ntunings: the library's own: line 3 of tunings.txt is no tuning\n"));
    tally_context_destroy(context);
    setenv("TALLY_CACHE_DIR", "off", 1);
    folder_remove(dir);
    SOUND();
}

const core_test tuning_tests[] = {
    {"rows of tunings", test_rows}, {"which tuning", test_choice}, {"a context's tunings", test_context}, {NULL, NULL}};
