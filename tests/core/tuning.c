/* SPDX-License-Identifier: MIT */
/* Tunings: rows of text, the row that is taken, and the sources of a context's rows. */
#define _XOPEN_SOURCE 700
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core.h"
#include "tests/support/folders.h"

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
    expect_refused("* * * * * 32 8 - -\n* * means * * 32 8 - -", 2);
    expect_refused("* * * -4 * 32 8 - -", 1);
    expect_refused("* * * * 64k 32 8 - -", 1);
    expect_refused("* * * * 64KB 32 8 - -", 1);
    expect_refused("* * * * K 32 8 - -", 1);
    expect_refused("* * * * * 0 8 - -", 1);
    expect_refused("* * * * * 32 4294967296 - -", 1);
    expect_refused("* * * * * 32 3 - -", 1); /* would not divide a chunk's rows */
    expect_refused("* * * * * 32 64 - -", 1);
    expect_refused("* * * * 99999999999999999999 32 8 - -", 1);
    char line[1024];
    snprintf(line, sizeof line, "%0900d", 0);
    expect_refused(line, 1);
}

/* Returns the group of a sum (or dot) of so many bytes on a made-up device. */
static uint32_t group_of(const char *text, const char *name, tally_op op, tally_dtype in, uint64_t bytes) {
    tally_device_info device = made_up_device;
    tally_tunings rows;
    tally_terms terms;
    tally_launch launch;
    tally_reduce_desc desc = {.size = sizeof desc, .op = op, .in = in, .max_n = bytes / tally_dtype_bytes(in)};
    snprintf(device.backend, sizeof device.backend, "made");
    snprintf(device.name, sizeof device.name, "%s", name);
    assert_int_equal(tally_tunings_parse(text, &rows), 0);
    MUST(tally_reduce_resolve(&device, &rows, &desc, &terms, &launch));
    const uint32_t group = launch.group_threads;
    tally_terms_close(&terms);
    tally_tunings_free(&rows);
    return group;
}

static void test_choice(void **unused) {
    (void)unused;
    static const char rows[] = "other *          *      * *   1024 - - -\n"
                               "made  Fast_Chip* argmax * *   128  - - -\n"
                               "made  Fast_Chip* struct * *   32   - - -\n"
                               "made  Fast_Chip* pair   * *   64   - - -\n"
                               "made  Fast_Chip* *      8 *   128  - - -\n"
                               "made  Fast_Chip* *      * 64K 512  - - -\n"
                               "made  @gpu       *      * *   256  - - -\n";
    assert_int_equal(group_of(rows, "Fast Chip 9", TALLY_ARGMIN, TALLY_F32, 4096), 32);
    assert_int_equal(group_of(rows, "Fast Chip 9", TALLY_ARGMAX, TALLY_F32, 4096), 128);
    assert_int_equal(group_of(rows, "Fast Chip 9", TALLY_DOT, TALLY_F32, 4096), 64);
    assert_int_equal(group_of(rows, "Fast Chip 9", TALLY_SUM, TALLY_F64, 4096), 128);
    assert_int_equal(group_of(rows, "Fast Chip 9", TALLY_SUM, TALLY_F32, 65536), 512);
    assert_int_equal(group_of(rows, "Fast Chip 9", TALLY_SUM, TALLY_F32, 65540), 256);
    assert_int_equal(group_of(rows, "Slow Chip", TALLY_SUM, TALLY_F32, 65536), 256);
    /* A row that sets no field of the variant's shape is skipped. */
    assert_int_equal(group_of("* * * * * - - 4 2\n* * * * * 64 - - -", "x", TALLY_SUM, TALLY_F32, 65536), 64);
    /* A group that is no power of two, or out of range, is ignored. */
    assert_int_equal(group_of("* * * * * 100 - - -", "x", TALLY_SUM, TALLY_F32, 65536), 256);
    assert_int_equal(group_of("* * * * * 2048 - - -", "x", TALLY_SUM, TALLY_F32, 65536), 256);
    /* The descriptor comes first. */
    tally_launch launch;
    tally_terms terms =
        resolve_launch(&made_up_device, (tally_reduce_desc){.op = TALLY_SUM, .in = TALLY_F32, .group_threads = 32}, &launch);
    assert_int_equal(launch.group_threads, 32);
    tally_terms_close(&terms);
}

static void expect_described(tally_context *context, const char *tunings) {
    char text[4096], line[200];
    MUST(tally_context_describe(context, text, sizeof text));
    snprintf(line, sizeof line, "\ntunings: %s\n", tunings);
    if (!strstr(text, line)) fail_msg("there should be%sin:%s", line, text);
}

/* Opens a context that finds this file. Whatever is in the file, no error text is left behind. */
static void expect_file(const char *file, const char *rows, const char *tunings) {
    tally_context *context;
    FILE *f = fopen(file, "w");
    assert_non_null(f);
    fputs(rows, f);
    fclose(f);
    BAD(tally_context_create("stub:alpha", NULL), "out is NULL");
    MUST(tally_context_create("stub:alpha", &context));
    assert_non_null(strstr(tally_last_error(), "out is NULL"));
    expect_described(context, tunings);
    tally_context_destroy(context);
}

/* The tunings of a context: the library's rows, added rows before them, rows of a file before
 * them. */
static void test_context(void **unused) {
    (void)unused;
    char dir[256], file[300];
    tally_context *context;
    folder_make(dir, sizeof dir);
    snprintf(file, sizeof file, "%s/tunings.txt", dir);
    setenv("TALLY_CACHE_DIR", dir, 1);
    MUST(tally_context_create("stub:alpha", &context));
    expect_described(context, "the library's own");
    MUST(tally_context_set_tunings(context, "* * * * * 64 8 - -"));
    BAD(tally_context_set_tunings(context, "* * * * * 64 8 - -\nnonsense"), "tally_context_set_tunings", "line 2");
    expect_described(context, "1 rows before the library's own");
    BAD(tally_context_set_tunings(context, NULL), "rows is NULL");
    BAD(tally_context_set_tunings(NULL, ""), "context is NULL");
    tally_context_destroy(context);
    expect_file(file, "stub * * * * 32 8 - -\n* * * * * 64 8 - -\n", "2 rows before the library's own");
    expect_file(file, "stub * * * * 32 8 - -\n* * * * * 64 8 - -\nnonsense\n",
                "the library's own: line 3 of tunings.txt is no tuning");
    setenv("TALLY_CACHE_DIR", "off", 1);
    folder_remove(dir);
    SOUND();
}

/* Accumulators of 512 bytes. Their partials would be too large, so the items are reduced in slices,
 * with the same bits. */
static void test_slices(void **unused) {
    (void)unused;
    enum { OPS = 16, RESULT = OPS * sizeof(double) };
    static const uint64_t n = 20000003;
    tally_term_desc terms[OPS];
    tally_context *context;
    tally_queue *queue;
    tally_buffer *in, *out;
    unsigned char results[2][2][RESULT];
    float verdicts[64], *items = malloc(n * sizeof *items);
    assert_non_null(items);
    for (int i = 0; i < 64; i++) verdicts[i] = 1;
    stub.verdicts = verdicts; /* the last group could finish, if there were no slices */
    for (int i = 0; i < OPS; i++)
        terms[i] = (tally_term_desc){.op = i ? TALLY_VAR : TALLY_SUM,
                                     .acc = TALLY_F64}; /* the low bits of a sum are not 0; those of a count are */
    for (uint64_t i = 0; i < n; i++) items[i] = (float)(int32_t)((uint32_t)i * 2654435761u);
    MUST(tally_context_create("stub:alpha", &context));
    MUST(tally_queue_create(context, &queue));
    MUST(tally_buffer_create(context, n * sizeof *items, &in));
    MUST(tally_buffer_create(context, RESULT, &out));
    MUST(tally_buffer_write(queue, in, 0, items, n * sizeof *items));
    for (int k = 0; k < 2; k++) {
        tally_plan *plan;
        const tally_reduce_desc desc = {
            .size = sizeof desc, .terms = terms, .term_count = OPS, .in = TALLY_F32, .max_n = n, .group_threads = k ? 64 : 32};
        MUST(tally_plan_create(context, &desc, &plan));
        assert_true(tally_plan_workspace_bytes(plan) <= (UINT64_C(4) << 20) + n / 512);
        assert_int_equal(((const tally_reduce_plan *)plan)->slice != 0, k == 0);
        const int calls = stub.calls;
        MUST(tally_reduce(plan, queue, in, n, out));
        assert_int_equal(stub.calls - calls, k ? 1 : 5); /* the partials and the finish of two slices, and the finish of both */
        MUST(tally_buffer_read(queue, out, 0, results[k][0], RESULT));
        /* Fewer items make no slice. */
        MUST(tally_reduce(plan, queue, in, 100003, out));
        MUST(tally_buffer_read(queue, out, 0, results[k][1], RESULT));
        MUST(tally_queue_wait(queue));
        tally_plan_destroy(plan);
    }
    assert_memory_equal(results[0], results[1], sizeof results[0]);
    stub.verdicts = NULL;
    free(items);
    tally_buffer_destroy(in);
    tally_buffer_destroy(out);
    tally_queue_destroy(queue);
    tally_context_destroy(context);
    SOUND();
}

const core_test tuning_tests[] = {{"rows of tunings", test_rows},
                                  {"choice of a tuning", test_choice},
                                  {"a context's tunings", test_context},
                                  {"slices", test_slices},
                                  {NULL, NULL}};
