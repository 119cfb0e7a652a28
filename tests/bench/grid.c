/* SPDX-License-Identifier: MIT */
/* The benchmark's grid of operators and item types, without a device: its items, its expected
 * results, its tables and its picture. */
#define _XOPEN_SOURCE 700
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "bench/forms.h"
#include "bench/grid.h"
#include "oracle/oracle.h"
#include "tests/support/test_main.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define ITEMS 9000

static const tally_device_info device = {.backend = "opencl", .index = 1, .name = "Device", .driver = "1.0"};

static const grid_key whole = {&device, NULL};

static const bench_task *task_of(tally_op op) {
    const bench_task *task = bench_tasks();
    while (task->op != op) task++;
    assert_int_equal(task->primitive, BENCH_REDUCE);
    return task;
}

/* ---- expected results ------------------------------------------------------------------------ */

/* The input's own formula and the oracle agree. */
static void expect_agreement(const bench_input *input, const oracle_case *what, const oracle_result *result) {
    double tolerance;
    const double expected = input_expected(input, &tolerance), found = input_value(oracle_result_dtype(what), result);
    if (!(found - expected <= tolerance && expected - found <= tolerance))
        fail_msg("%s of %s: %g by the formula, %g by the oracle", task_name(input->task).text, tally_dtype_name(input->in),
                 expected, found);
}

/* The right result passes, any other does not. */
static void expect_result(const bench_input *input) {
    const oracle_case what = {.op = input->task->op, .in = input->in};
    const size_t bytes = oracle_result_bytes(&what);
    const tally_dtype type = oracle_result_dtype(&what);
    const tally_dtype part = type == TALLY_C64 ? TALLY_F32 : type == TALLY_C128 ? TALLY_F64 : type;
    oracle_result result = {{0}};
    oracle_reduce_inputs(&what, (const void *const *)input->host, ITEMS, &result);
    if (input_is_known(input)) expect_agreement(input, &what, &result);
    assert_int_equal(is_expected(input, "test", &result, bytes), 1);
    assert_int_equal(is_expected(input, "test", &result, bytes - 1), 0);
    for (size_t at = 0; at < bytes; at += tally_dtype_bytes(part))
        for (size_t i = 0; i < tally_dtype_bytes(part); i++) {
            oracle_result other = result;
            other.bytes[at + i] ^= 0x80;
            /* In a rounded result only the highest bit, the sign, must be right. Zero has none. */
            if (!oracle_is_exact(&what) && (i + 1 < tally_dtype_bytes(part) || !input_value(part, result.bytes + at))) continue;
            if (is_expected(input, "test", &other, bytes))
                fail_msg("%s of %s: a wrong byte %zu was taken", task_name(input->task).text, tally_dtype_name(input->in),
                         at + i);
        }
}

static void test_expected(void **unused) {
    (void)unused;
    input_items items;
    int count = 0;
    assert_int_equal(input_open(&items, ITEMS * 16), 0);
    for (tally_dtype in = TALLY_DTYPE_DEFAULT + 1; in < TALLY_DTYPE_END; in++) {
        input_fill(&items, INPUT_WHOLE, in, ITEMS, 1, 2);
        for (tally_op op = TALLY_OP_NONE + 1; op < TALLY_OP_END; op++) {
            bench_input input = {.device = &device, .task = task_of(op), .in = in, .n = ITEMS, .copies = 1};
            memcpy(input.host, items.host, sizeof(input.host));
            assert_int_equal(task_takes(input.task, in), tally_result_dtype(op, in) != TALLY_DTYPE_DEFAULT);
            if (!task_takes(input.task, in)) continue;
            expect_result(&input);
            count++;
        }
    }
    input_close(&items);
    assert_true(count > 300);
}

/* Blocks of equal items are reduced once: two blocks in turn, one of its own, and items after the
 * last whole block. Their results are those of all items, to the bit. One block differs in one item
 * of one input alone. */
static void test_equal_blocks(void **unused) {
    (void)unused;
    enum { BLOCK = 65536, BLOCKS = 7, REST = 5000, N = BLOCKS * BLOCK + REST };
    static const tally_dtype types[] = {TALLY_F32, TALLY_I8, TALLY_U64, TALLY_C64};
    input_items items;
    assert_int_equal(input_open(&items, (uint64_t)N * 8), 0);
    for (size_t t = 0; t < COUNT(types); t++) {
        const size_t bytes = BLOCK * tally_dtype_bytes(types[t]);
        const bench_task *tasks[TALLY_OP_END];
        bench_input input = {.device = &device, .in = types[t], .n = N, .copies = 1};
        int count = 0;
        memcpy(input.host, items.host, sizeof(input.host));
        input_fill(&items, INPUT_WHOLE, types[t], N, 1, 2);
        for (int k = 0; k < 2; k++)
            for (int b = 2; b < BLOCKS - 1; b++)
                memcpy((char *)items.host[k] + b * bytes, (char *)items.host[k] + b % 2 * bytes, bytes);
        ((unsigned char *)items.host[1])[5 * bytes - 1] ^= 1;
        for (tally_op op = TALLY_OP_NONE + 1; op < TALLY_OP_END; op++)
            if (task_takes(task_of(op), types[t])) tasks[count++] = task_of(op);
        assert_int_equal(expect_all(&input, tasks, count), 0);
        for (int i = 0; i < count; i++) {
            const oracle_case what = {.op = tasks[i]->op, .in = types[t]};
            oracle_result result = {{0}};
            oracle_reduce_inputs(&what, (const void *const *)items.host, N, &result);
            input.task = tasks[i];
            if (memcmp(&result, expect_result_of(input.task), sizeof(result)))
                fail_msg("%s of %s is not the oracle's", task_name(input.task).text, tally_dtype_name(types[t]));
        }
        items.version++;
        items.kind = INPUT_WALK; /* so that they are made anew */
    }
    input_close(&items);
}

static int is_same_block(const uint8_t *x, const uint8_t *y, uint64_t a, uint64_t b) {
    const uint64_t bytes = 65536;
    return !memcmp(x + a * bytes, x + b * bytes, bytes) && !memcmp(y + a * bytes, y + b * bytes, bytes);
}

/* There are 64 blocks, one more for each of the 12 that have extremes, and the 4 that have extremes
 * after 2^22. Copies that are a power of two apart differ. */
static void test_repeats(void **unused) {
    (void)unused;
    enum { N = 1 << 24, BLOCKS = N >> 16 };
    input_items items;
    int different = 0;
    assert_int_equal(input_open(&items, N), 0);
    input_fill(&items, INPUT_WHOLE, TALLY_I8, N, 1, 2);
    for (uint64_t b = 0; b < BLOCKS; b++) {
        int is_repeated = 0;
        for (uint64_t a = 0; a < b; a++) is_repeated |= is_same_block(items.host[0], items.host[1], a, b);
        different += !is_repeated;
        for (uint64_t apart = 1; 64 + apart <= b; apart *= 2)
            assert_int_equal(is_same_block(items.host[0], items.host[1], b - apart, b), 0);
    }
    assert_int_equal(different, 64 + 12 + 4);
    input_close(&items);
}

/* Unsigned items are small and differ; the parts of complex items are two numbers. */
static void test_items(void **unused) {
    (void)unused;
    input_items items;
    int differ = 0, seen[256] = {0}, values = 0;
    assert_int_equal(input_open(&items, ITEMS * 16), 0);
    input_fill(&items, INPUT_WHOLE, TALLY_U8, ITEMS, 1, 1);
    for (int i = 0; i < ITEMS; i++) seen[((const uint8_t *)items.host[0])[i]] = 1;
    for (int v = 0; v < 256; v++) values += seen[v];
    assert_true(values > 17 && !seen[255] && !seen[0]);
    input_fill(&items, INPUT_WHOLE, TALLY_C64, ITEMS, 1, 1);
    for (int i = 0; i < ITEMS; i++)
        differ += ((const float *)items.host[0])[2 * i] != ((const float *)items.host[0])[2 * i + 1];
    assert_true(differ > ITEMS / 2);
    input_close(&items);
}

/* ---- tables ---------------------------------------------------------------------------------- */

/* A report of n = 1024 items whose share is `share`. */
static bench_report report_of(tally_op op, tally_dtype in, double share, const char *peer, double peers) {
    const bench_input input = {.device = &device, .task = task_of(op), .in = in, .n = 1024, .copies = 1};
    const double seconds = 1e-6;
    return (bench_report){.input = input,
                          .names = {"tally", peer},
                          .timings = {{seconds, 0}, {peers * seconds, 0}},
                          .count = peer ? 2 : 1,
                          .ceiling = (double)report_bytes(&input) / seconds / share};
}

#define REPORTS 6
typedef struct made_up {
    bench_report reports[REPORTS];
    bench_compile compiles[1];
    bench_results results;
} made_up;

static void make_up(made_up *m) {
    m->reports[0] = report_of(TALLY_SUM, TALLY_F32, 0.98, "CUB", 1.25);
    m->reports[1] = report_of(TALLY_SUM, TALLY_I8, 0.4, NULL, 0);
    m->reports[2] = report_of(TALLY_VAR, TALLY_F32, 0.8949, NULL, 0);
    m->reports[3] = report_of(TALLY_SUM, TALLY_F16, 0.8951, NULL, 0);
    m->reports[4] = report_of(TALLY_DOT, TALLY_C64, 1, "OpenMP", 0.5);
    m->reports[5] = report_of(TALLY_SUM, TALLY_BOOL, 1.234, NULL, 0);
    m->compiles[0] = (bench_compile){
        .device = &device, .task = task_of(TALLY_VAR), .in = TALLY_F32, .n = 1024, .plan_seconds = 0.25, .call_seconds = 0.5};
    m->results = (bench_results){.reports = m->reports,
                                 .report_count = REPORTS,
                                 .compiles = m->compiles,
                                 .compile_count = 1,
                                 .compile_seconds = 2,
                                 .compile_threads = 3};
}

static void expect_grid(const bench_options *options, const bench_results *results, const grid_key *key, const char *expected) {
    char text[4096] = "";
    FILE *file = tmpfile();
    assert_non_null(file);
    grid_print(file, options, results, key);
    rewind(file);
    assert_true(fread(text, 1, sizeof text - 1, file) > 0);
    fclose(file);
    assert_string_equal(text, expected);
}

static void expect_printed(const bench_options *options, const bench_results *results, const char *expected) {
    expect_grid(options, results, &whole, expected);
}

#define SHARES                                                                                                                 \
    "opencl:1: Device, 1.0\n"                                                                                                  \
    "share of the speed of a kernel that only reads the same bytes; 2^10 items; medians of 7 blocks\n"                         \
    "* below 0.90: 2 of 6 cells\n"                                                                                             \
    "\n"                                                                                                                       \
    "floats          f16    f32    c64\n"                                                                                      \
    "sum            0.90   0.98      -\n"                                                                                      \
    "var               -   0.89*     -\n"                                                                                      \
    "dot               -      -   1.00\n"                                                                                      \
    "\n"                                                                                                                       \
    "integers         i8   bool\n"                                                                                             \
    "sum            0.40*  1.23\n"                                                                                             \
    "\n"                                                                                                                       \
    "tally's speed by the peer's\n"                                                                                            \
    "sum             f32  CUB 1.25\n"                                                                                          \
    "dot             c64  OpenMP 0.50\n"                                                                                       \
    "\n"

static void test_tables(void **unused) {
    (void)unused;
    made_up m;
    make_up(&m);
    bench_options options = {.grid = 1, .blocks = 7, .sizes = {.n = {1024}, .count = 1}};
    expect_printed(&options, &m.results, SHARES);
    options.compile = 1;
    m.results.report_count = 3;
    m.reports[0] = m.reports[2];
    m.results.report_count = 1;
    options.sizes.count = 0;
    expect_printed(&options, &m.results,
                   "opencl:1: Device, 1.0\n"
                   "share of the speed of a kernel that only reads the same bytes; 4.0 KiB each input; medians of 7\n"
                   "    blocks\n"
                   "* below 0.90: 1 of 1 cells\n"
                   "\n"
                   "floats          f32\n"
                   "var            0.89*\n"
                   "\n"
                   "seconds of making the plan and of its first call, on 3 threads at once (all devices: 2.0 s)\n"
                   "floats          f32\n"
                   "var            0.75\n"
                   "\n");
}

/* A cell of the run without a report is missing; no operation is none. */
static void test_missing(void **unused) {
    (void)unused;
    made_up m;
    make_up(&m);
    bench_compile compiles[3] = {m.compiles[0], m.compiles[0], m.compiles[0]};
    const bench_options options = {.grid = 1, .blocks = 7, .sizes = {.n = {1024}, .count = 1}};
    compiles[1].task = task_of(TALLY_SUM);
    compiles[1].in = TALLY_F64;
    compiles[2].task = task_of(TALLY_VAR);
    compiles[2].in = TALLY_I8;
    compiles[2].status = TALLY_E_UNSUPPORTED;
    m.reports[0] = m.reports[2];
    m.results.report_count = 1;
    m.results.compiles = compiles;
    m.results.compile_count = 3;
    expect_printed(&options, &m.results,
                   "opencl:1: Device, 1.0\n"
                   "share of the speed of a kernel that only reads the same bytes; 2^10 items; medians of 7 blocks\n"
                   "* below 0.90: 1 of 1 cells\n"
                   "? not measured: 1 cells\n"
                   "\n"
                   "floats          f32    f64\n"
                   "sum               -      ?\n"
                   "var            0.89*     -\n"
                   "\n");
}

/* A form's cells are a grid of their own. */
static void test_forms(void **unused) {
    (void)unused;
    made_up m;
    make_up(&m);
    const bench_form *scan = bench_forms;
    while (strcmp(scan->name, "scan")) scan++;
    const grid_key key = {&device, scan};
    const bench_options options = {.grid = 1, .blocks = 7};
    m.reports[2].input.bytes = report_bytes(&m.reports[2].input);
    m.reports[2].input.form = scan;
    m.reports[2].input.task = form_task(scan, TALLY_VAR);
    assert_null(grid_cell(&m.results, &whole, TALLY_VAR, TALLY_F32));
    assert_null(grid_cell(&m.results, &key, TALLY_SUM, TALLY_F32));
    expect_grid(&options, &m.results, &key,
                "opencl:1: Device, 1.0\n"
                "scan: scans of the whole array\n"
                "share of the speed of a copy of as many bytes; arrays of up to 256.0 MiB; medians of 7 blocks\n"
                "* below 0.90: 1 of 1 cells\n"
                "\n"
                "floats          f32\n"
                "var            0.89*\n"
                "\n");
}

/* A signal and the end of the time are reasons to stop, and no plan is begun after that. */
static void test_stop(void **unused) {
    (void)unused;
    made_up m;
    make_up(&m);
    stop_prepare(0);
    assert_null(stop_reason());
    raise(SIGTERM);
    assert_string_equal(stop_reason(), "terminated");
    m.compiles[0].status = TALLY_E_INTERNAL;
    assert_int_equal(compile_all(&m.results, 2), 0);
    assert_int_equal(m.compiles[0].status, TALLY_E_INTERNAL);
    /* The second one would end this program. */
    struct sigaction now;
    assert_int_equal(sigaction(SIGTERM, NULL, &now), 0);
    assert_true(now.sa_handler == SIG_DFL);
}

/* By the GPU's clock where it is there. Of peers the fastest counts. */
static void test_ratios(void **unused) {
    (void)unused;
    bench_report r = report_of(TALLY_SUM, TALLY_F32, 0.5, "CUB", 2);
    int which = 0;
    double share = grid_share(&r);
    assert_true(share > 0.4999 && share < 0.5001);
    r.timings[0].gpu_seconds = r.timings[0].seconds / 2;
    share = grid_share(&r);
    assert_true(share > 0.9999 && share < 1.0001);
    r.names[2] = "Thrust";
    r.timings[2] = (bench_timing){1.5e-6, 0};
    r.names[3] = "OpenMP";
    r.timings[3] = (bench_timing){3e-6, 0};
    r.count = 4;
    const double ratio = grid_peer(&r, &which);
    assert_true(which == 2 && ratio > 1.4999 && ratio < 1.5001);
    r.count = 1;
    assert_true(grid_peer(&r, &which) == 0);
}

/* ---- the picture ----------------------------------------------------------------------------- */

static void test_figure(void **unused) {
    (void)unused;
    static const char *const there[] = {"<svg",   ">sum<",        ">c64<",      ">0.98<",     ">0.89<", ">1.25x<",
                                        ">1.23<", "2 of 6 cells", "below 0.25", "2^10 items", "</svg>"};
    const bench_options options = {.grid = 1, .blocks = 7, .sizes = {.n = {1024}, .count = 1}};
    char path[] = "/tmp/tally-grid-XXXXXX", text[16384] = "";
    made_up m;
    make_up(&m);
    const int handle = mkstemp(path);
    assert_true(handle >= 0);
    close(handle);
    assert_int_equal(grid_figure(path, &options, &m.results, &whole, 1), 0);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_true(fread(text, 1, sizeof text - 1, file) > 0);
    fclose(file);
    unlink(path);
    for (size_t i = 0; i < COUNT(there); i++)
        if (!strstr(text, there[i])) fail_msg("%s is not in %s", there[i], text);
    assert_int_equal(grid_figure("/dev/null/x.svg", &options, &m.results, &whole, 1), 1);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_expected), cmocka_unit_test(test_equal_blocks),
                                       cmocka_unit_test(test_repeats),  cmocka_unit_test(test_items),
                                       cmocka_unit_test(test_tables),   cmocka_unit_test(test_missing),
                                       cmocka_unit_test(test_forms),    cmocka_unit_test(test_ratios),
                                       cmocka_unit_test(test_figure),   cmocka_unit_test(test_stop)};
    return test_main(argc, argv, "The grid of tally_bench, without a device.", tests, sizeof tests / sizeof tests[0], NULL,
                     NULL);
}
