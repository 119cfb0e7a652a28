/* SPDX-License-Identifier: MIT */
/* The benchmark's parts that need no device: lists, items, outputs, bars. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/test_main.h"
#include "bench/bench.h"
#include "tools/print/units.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ---- lists ----------------------------------------------------------------------------------- */

/* The notation of counts, and counts that 64 bits cannot hold (n is UINT64_MAX here). */
static void test_counts(void **unused) {
    (void)unused;
    static const struct {
        const char *text;
        uint64_t n;
    } rows[] = {{"0", 0},
                {"1000", 1000},
                {"007", 7},
                {"1e6", 1000000},
                {"1E3", 1000},
                {"5e0", 5},
                {"0e99", UINT64_MAX},
                {"12M", 12u << 20},
                {"3K", 3072},
                {"1G", 1u << 30},
                {"2T", UINT64_C(2) << 40},
                {"2^20", 1 << 20},
                {"2^4K", 16384},
                {"7^0", 1},
                {"0^0", 1},
                {"0^9", 0},
                {"1^18446744073709551615", 1},
                {"3*2^22", 3 << 22},
                {"2*3*5K", 30720},
                {"2^63", UINT64_C(1) << 63},
                {"18446744073709551614", UINT64_MAX - 1},
                {"15*2^60", UINT64_C(15) << 60}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        uint64_t n = 12345;
        const bool taken = units_read_count(rows[i].text, strlen(rows[i].text), 0, UINT64_MAX - 1, &n);
        if (rows[i].n == UINT64_MAX ? taken : !taken || n != rows[i].n)
            fail_msg("\"%s\": %d, %llu", rows[i].text, taken, (unsigned long long)n);
    }
}

static void test_counts_refused(void **unused) {
    (void)unused;
    static const char *const wrong[] = {"",
                                        " 1",
                                        "1 ",
                                        "-1",
                                        "+1",
                                        "x",
                                        "1x",
                                        "K",
                                        "1KK",
                                        "12m",
                                        "1.5M",
                                        "1e",
                                        "e6",
                                        "1e-3",
                                        "2^",
                                        "^2",
                                        "2^-1",
                                        "2^2^2",
                                        "3*",
                                        "*3",
                                        "3**2",
                                        "0x10",
                                        "1e6e2",
                                        "1,000",
                                        "18446744073709551616",
                                        "2^64",
                                        "1e20",
                                        "16*2^60",
                                        "16777216T",
                                        "99999999999999999999999999",
                                        "2^18446744073709551615",
                                        "2^64*0"};
    for (size_t i = 0; i < COUNT(wrong); i++) {
        uint64_t n = 12345;
        if (units_read_count(wrong[i], strlen(wrong[i]), 0, UINT64_MAX, &n) || n != 12345)
            fail_msg("\"%s\" was taken", wrong[i]);
    }
}

/* Both limits are allowed. Text after the length is not read. */
static void test_count_limits(void **unused) {
    (void)unused;
    uint64_t n;
    assert_true(units_read_count("7", 1, 7, 9, &n) && units_read_count("9", 1, 7, 9, &n) &&
                units_read_count("8,x", 1, 7, 9, &n));
    assert_false(units_read_count("6", 1, 7, 9, &n) || units_read_count("10", 2, 7, 9, &n));
    assert_string_equal(units_needed(7, UINT64_C(1) << 40).text,
                        "a whole number from 7 to 2^40 is needed, written as " UNITS_NOTATION);
}

static void test_sizes(void **unused) {
    (void)unused;
    static const char *const wrong[] = {
        "",    "1",    "2^33", "2^64",  "K",   "0M",  "4097M", "4194305K", "12G", "12m",
        "-12", "12,,", "12,x", "12.5M", " 12", "12 ", ",12",   "12,",      "0",   "18446744073709551616"};
    bench_sizes sizes = {.count = 0};
    assert_int_equal(sizes_add(&sizes, "2^10,12M,3K,2^32,1M,2^20,4096M,1e6,20"), 0);
    static const uint64_t expected[] = {1024, 12u << 20, 3072, UINT64_C(1) << 32, 1 << 20, 1000000, 20};
    assert_int_equal(sizes.count, COUNT(expected));
    assert_memory_equal(sizes.n, expected, sizeof(expected));
    assert_true(sizes_have(&sizes, 3072) && !sizes_have(&sizes, 3073));
    for (size_t i = 0; i < COUNT(wrong); i++)
        if (!sizes_add(&(bench_sizes){.count = 0}, wrong[i])) fail_msg("\"%s\" was taken", wrong[i]);
}

static void test_size_names(void **unused) {
    (void)unused;
    static const struct {
        uint64_t n;
        const char *text;
    } rows[] = {{1 << 20, "2^20"}, {12 << 20, "12M"}, {3 << 10, "3K"}, {1000, "1000"}, {UINT64_C(1) << 32, "2^32"}};
    for (size_t i = 0; i < COUNT(rows); i++) assert_string_equal(units_items(rows[i].n).text, rows[i].text);
}

static void test_names(void **unused) {
    (void)unused;
    assert_true(is_listed("sum,argmax", "argmax") && is_listed(NULL, "sum"));
    assert_false(is_listed("sum,argmax", "max") || is_listed("argmax", "arg") || is_listed("", "sum"));
}

static const bench_task *task_of(bench_primitive primitive, const char *with) {
    const bench_task *task = bench_tasks();
    while (task->primitive && (task->primitive != primitive || strcmp(task_with(task), with))) task++;
    if (!task->primitive) fail_msg("there is no such task: %s", with);
    return task;
}

static void test_tasks(void **unused) {
    (void)unused;
    static const struct {
        bench_primitive primitive;
        const char *with, *name;
        tally_dtype in;
        uint64_t bytes; /* of an item */
    } rows[] = {{BENCH_REDUCE, "dot", "dot", TALLY_F64, 16},
                {BENCH_SCAN, "sum", "scan sum", TALLY_F16, 4},
                {BENCH_GATHER, "random", "gather random", TALLY_F32, 12},
                {BENCH_SCATTER, "identity", "scatter identity", TALLY_F32, 12}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        const bench_task *task = task_of(rows[i].primitive, rows[i].with);
        assert_string_equal(task_name(task).text, rows[i].name);
        assert_int_equal(report_bytes(&(bench_input){.task = task, .in = rows[i].in, .n = 10}), 10 * rows[i].bytes);
    }
    /* The command line knows operators by their tasks of reductions. */
    for (const bench_task *task = bench_tasks(); task->primitive; task++)
        if (task->op) task_of(BENCH_REDUCE, task_with(task));
}

/* ---- items ----------------------------------------------------------------------------------- */

#define MOST 19000

static double item_at(const input_items *items, uint64_t i) {
    return input_value(items->in, (const char *)items->host[0] + i * tally_dtype_bytes(items->in));
}

/* input_expected gives what a loop over the items finds. Each extreme is in one place. */
static void expect_known(const input_items *items, uint64_t n) {
    double sum = 0, least = 1000, most = -1000, tolerance;
    uint64_t at_least = 0, at_most = 0, extremes = 0;
    for (uint64_t i = 0; i < n; i++) {
        const double x = item_at(items, i);
        sum += x;
        if (x < least) least = x, at_least = i;
        if (x > most) most = x, at_most = i;
    }
    for (uint64_t i = 0; i < n; i++) extremes += item_at(items, i) == least || item_at(items, i) == most;
    assert_int_equal(extremes, 2);
    assert_true(-least > most);
    const struct {
        const char *op;
        double value;
    } rows[] = {{"sum", sum},
                {"min", least},
                {"max", most},
                {"amax", -least},
                {"argmax", (double)at_most},
                {"argmin", (double)at_least},
                {"iamax", (double)at_least}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        const bench_input input = {.task = task_of(BENCH_REDUCE, rows[i].op), .in = items->in, .n = n, .copies = 1};
        const double expected = input_expected(&input, &tolerance);
        if (expected != rows[i].value || tolerance != 0)
            fail_msg("%s of %s, n = %s: %g expected, %g found", rows[i].op, tally_dtype_name(input.in), units_items(n).text,
                     expected, rows[i].value);
    }
}

static int is_known(tally_dtype in) {
    return input_is_known(&(bench_input){.task = task_of(BENCH_REDUCE, "sum"), .in = in});
}

static void test_items(void **unused) {
    (void)unused;
    static const uint64_t sizes[] = {4, 1024, 1536, 16384, MOST};
    input_items items;
    assert_int_equal(input_open(&items, MOST * sizeof(double)), 0);
    for (tally_dtype in = TALLY_DTYPE_DEFAULT + 1; in < TALLY_DTYPE_END; in++)
        for (size_t i = 0; i < COUNT(sizes) && is_known(in); i++) {
            input_fill(&items, INPUT_WHOLE, in, sizes[i], 1, 2);
            expect_known(&items, sizes[i]);
        }
    input_close(&items);
}

static void test_copies(void **unused) {
    (void)unused;
    input_items items;
    assert_int_equal(input_open(&items, MOST * sizeof(double)), 0);
    input_fill(&items, INPUT_WHOLE, TALLY_I32, MOST, 1, 1);
    const unsigned version = items.version;
    input_fill(&items, INPUT_WHOLE, TALLY_I32, 100, 1, 1);
    assert_int_equal(items.version, version);
    const double first[] = {item_at(&items, 0), item_at(&items, 99)};
    input_fill(&items, INPUT_WHOLE, TALLY_I32, 100, 3, 1);
    assert_int_not_equal(items.version, version);
    for (int copy = 0; copy < 3; copy++) {
        assert_true(item_at(&items, (uint64_t)copy * 100) == first[0] &&
                    item_at(&items, (uint64_t)copy * 100 + 99) == first[1]);
        assert_memory_equal((int32_t *)items.host[0] + copy * 100, items.host[0], 100 * sizeof(int32_t));
    }
    expect_known(&items, 100);
    input_close(&items);
}

static void test_rounded(void **unused) {
    (void)unused;
    input_items items;
    assert_int_equal(input_open(&items, MOST * sizeof(double)), 0);
    for (int type = 0; type < 2; type++) {
        double forwards = 0, backwards = 0;
        float forwards_f32 = 0, backwards_f32 = 0;
        input_fill(&items, INPUT_ROUNDED, type ? TALLY_F64 : TALLY_F32, MOST, 1, 1);
        for (uint64_t i = 0; i < MOST; i++) {
            const double x = item_at(&items, i), y = item_at(&items, MOST - 1 - i);
            assert_true(x >= -1 && x < 1);
            forwards += x, backwards += y;
            forwards_f32 += (float)x, backwards_f32 += (float)y;
        }
        assert_true(type ? forwards != backwards : forwards_f32 != backwards_f32);
    }
    input_close(&items);
}

/* Running sums are exact in every type, even i8. Running extremes still change far from the
 * beginning. */
static void test_walk(void **unused) {
    (void)unused;
    input_items items;
    assert_int_equal(input_open(&items, MOST * sizeof(double)), 0);
    for (tally_dtype in = TALLY_DTYPE_DEFAULT + 1; in < TALLY_DTYPE_END; in++) {
        double sum = 0, least = 0, most = 0;
        uint64_t at_least = 0, at_most = 0;
        if (!task_takes(task_of(BENCH_SCAN, "sum"), in)) continue;
        input_fill(&items, INPUT_WALK, in, 5000, 1, 1);
        input_fill(&items, INPUT_WALK, in, MOST, 1, 1);
        for (uint64_t i = 0; i < MOST; i++) {
            const double x = item_at(&items, i);
            sum += x;
            if (sum <= -64 || sum >= 64 || x <= -64 || x >= 64) fail_msg("item %d: %g, sum %g", (int)i, x, sum);
            if (x < least) least = x, at_least = i;
            if (x > most) most = x, at_most = i;
        }
        assert_true(at_least > MOST / 16 && at_most > MOST / 16);
    }
    input_close(&items);
}

/* A map names each number below n once. A random map has no runs. */
static void test_maps(void **unused) {
    (void)unused;
    static const uint64_t sizes[] = {4, 5, 1024, 3072, MOST};
    static unsigned char seen[MOST];
    input_items items;
    assert_int_equal(input_open(&items, MOST * sizeof(uint32_t)), 0);
    const uint32_t *map = items.host[ARRAY_MAP];
    for (size_t s = 0; s < COUNT(sizes); s++) {
        uint64_t near = 0;
        input_fill_map(&items, MAP_IDENTITY, sizes[s]);
        for (uint64_t i = 0; i < sizes[s]; i++) assert_int_equal(map[i], i);
        input_fill_map(&items, MAP_RANDOM, sizes[s]);
        memset(seen, 0, sizeof(seen));
        for (uint64_t i = 0; i < sizes[s]; i++) {
            assert_true(map[i] < sizes[s] && !seen[map[i]]++);
            near += i && map[i] - map[i - 1] + 16 <= 32;
        }
        if (sizes[s] > 1000) assert_true(near < sizes[s] / 20);
    }
    input_close(&items);
}

/* Computes each task's output by plain loops. */
static void write_output(const bench_task *task, const float *x, const uint32_t *map, float *out) {
    float r = x[0];
    for (uint64_t i = 0; i < MOST; i++) {
        const float combined = task->op == TALLY_SUM ? r + x[i] : (x[i] < r) == (task->op == TALLY_MIN) ? x[i] : r;
        r = i ? combined : x[0];
        if (task->primitive == BENCH_SCAN) out[i] = r;
        if (task->primitive == BENCH_GATHER) out[i] = x[map[i]];
        if (task->primitive == BENCH_SCATTER) out[map[i]] = x[i];
    }
}

/* A wrong item is found wherever it is, and changes the hash. Two exchanged items change the hash
 * too. */
static void expect_output(const bench_input *input, int is_copy) {
    static const uint64_t places[] = {0, 1, 17, MOST / 2, MOST - 1};
    float *out = input->host[ARRAY_OUT];
    uint64_t hash, other;
    assert_true(output_wrong(input, is_copy) == UINT64_MAX);
    assert_int_equal(output_hash(input, &hash), 0);
    for (size_t p = 0; p < COUNT(places); p++) {
        const float kept = out[places[p]];
        out[places[p]] += 1;
        assert_int_equal(output_wrong(input, is_copy), places[p]);
        assert_int_equal(output_hash(input, &other), 0);
        assert_true(hash != other);
        out[places[p]] = kept;
    }
    uint64_t i = 0;
    while (out[i] == out[i + 1]) i++;
    const float kept = out[i];
    out[i] = out[i + 1], out[i + 1] = kept;
    assert_int_equal(output_hash(input, &other), 0);
    assert_true(hash != other);
}

static void test_outputs(void **unused) {
    (void)unused;
    static const tally_device_info cpu = {.backend = "opencl", .host_memory = 1};
    input_items items;
    assert_int_equal(input_open(&items, MOST * sizeof(float)), 0);
    for (const bench_task *task = bench_tasks(); task->primitive; task++) {
        if (task->primitive == BENCH_REDUCE) continue;
        bench_input input = {.device = &cpu, .task = task, .in = TALLY_F32, .n = MOST, .copies = 1};
        memcpy(input.host, items.host, sizeof(input.host));
        input_fill(&items, bench_primitives[task->primitive].kind, TALLY_F32, MOST, 1, 1);
        input_fill_map(&items, task->map ? task->map : MAP_IDENTITY, MOST);
        assert_int_equal(output_poison(&input), 0);
        assert_int_equal(output_wrong(&input, 0), 0);
        write_output(task, items.host[ARRAY_X], items.host[ARRAY_MAP], items.host[ARRAY_OUT]);
        expect_output(&input, 0);
        memcpy(items.host[ARRAY_OUT], items.host[ARRAY_X], MOST * sizeof(float));
        expect_output(&input, 1);
    }
    input_close(&items);
}

/* ---- bars ------------------------------------------------------------------------------------ */

static const tally_device_info cuda = {
    .backend = "cuda", .name = "NVIDIA H200", .platform = "NVIDIA CUDA", .compute_units = 132};
static const tally_device_info opencl = {.backend = "opencl", .name = "NVIDIA H200", .compute_units = 132};
static const tally_device_info *const both[] = {&cuda, &opencl};

static bench_report report_of(const tally_device_info *device, double ours, const char *peer, double peers) {
    const bench_input input = {
        .device = device, .task = task_of(BENCH_REDUCE, "sum"), .in = TALLY_F32, .n = 1 << 20, .copies = 1};
    return (bench_report){.input = input,
                          .names = {"tally", peer},
                          .timings = {{ours, ours / 2}, {peers, peers / 3}},
                          .count = peer ? 2 : 1,
                          .ceiling = 4e12};
}

static void test_bars_are_sound(void **unused) {
    (void)unused;
    for (const bench_bar *bar = bench_bars; bar->ops; bar++) {
        bench_sizes sizes = {.count = 0};
        assert_int_equal(sizes_add(&sizes, bar->sizes), 0);
        const bar_verdict v = bars_judge(bar, &(const tally_device_info *){&cuda}, 1, &(bench_results){0}, NULL);
        assert_int_equal(v.shown, 0);
        size_t names[2] = {1, 1}, known[2] = {0, 0};
        for (const char *c = bar->ops; *c; c++) names[0] += *c == ',';
        for (const char *c = bar->types; *c; c++) names[1] += *c == ',';
        for (const bench_task *task = bench_tasks(); task->primitive; task++)
            known[0] += (size_t)(task->primitive == bar->primitive && is_listed(bar->ops, task_with(task)));
        for (tally_dtype in = TALLY_DTYPE_DEFAULT + 1; in < TALLY_DTYPE_END; in++)
            known[1] += (size_t)is_listed(bar->types, tally_dtype_name(in));
        assert_memory_equal(names, known, sizeof(names));
        assert_true((bar->kind == BAR_TIMES || bar->kind == BAR_WITHIN) == (bar->peer != NULL));
    }
    bench_sizes all = {.count = 0};
    bars_sizes(&all);
    for (int i = 1; i < all.count; i++) assert_true(all.n[i - 1] < all.n[i]);
}

static void test_needs(void **unused) {
    (void)unused;
    assert_true(bars_need(&cuda, 0, task_of(BENCH_REDUCE, "sum"), TALLY_F32, 12 << 20));
    assert_true(bars_need(&cuda, 0, task_of(BENCH_REDUCE, "sum"), TALLY_I8, UINT64_C(1) << 32));
    assert_true(bars_need(&opencl, 1, task_of(BENCH_REDUCE, "dot"), TALLY_F64, 1 << 10));
    assert_false(bars_need(&opencl, 0, task_of(BENCH_REDUCE, "dot"), TALLY_F64, 1 << 10));
    assert_false(bars_need(&opencl, 0, task_of(BENCH_REDUCE, "min"), TALLY_F32, 1 << 20));
    tally_device_info pocl = {.backend = "opencl", .platform = "Portable Computing Language", .compute_units = 2};
    assert_true(bars_need(&pocl, 0, task_of(BENCH_REDUCE, "sum"), TALLY_F32, 1 << 19));
    pocl.compute_units = 16;
    assert_false(bars_need(&pocl, 0, task_of(BENCH_REDUCE, "sum"), TALLY_F32, 1 << 19));
    assert_true(bars_need(&cuda, 0, task_of(BENCH_SCAN, "sum"), TALLY_F16, 1 << 28));
    assert_true(bars_need(&opencl, 1, task_of(BENCH_SCAN, "sum"), TALLY_F64, 1 << 20));
    assert_false(bars_need(&cuda, 0, task_of(BENCH_SCAN, "sum"), TALLY_F32, 1 << 12));
    assert_true(bars_need(&cuda, 0, task_of(BENCH_GATHER, "random"), TALLY_F32, 1 << 26)); /* OpenCL is compared with it */
    const bench_input input = {.device = &cuda, .task = task_of(BENCH_REDUCE, "dot"), .in = TALLY_F32, .n = 1 << 28};
    assert_true(bars_need_peer(&input, "cuBLAS") && !bars_need_peer(&input, "CUB"));
}

/* One case for each kind of bar. */
static void test_verdicts(void **unused) {
    (void)unused;
    static const struct {
        const char *backend;
        bar_kind kind;
        double limit;
        const char *peer;
        int gpu, shown, failed;
        double worst;
    } rows[] = {
        {"cuda", BAR_TIMES, 2, "CUB", 0, 1, 0, 2},
        {"cuda", BAR_TIMES, 2, "CUB", 1, 1, 1, 4.0 / 3}, /* by the other clock */
        {"cuda", BAR_TIMES, 2, "Thrust", 0, 0, 0, 0},
        {"cuda", BAR_SECONDS, 4e-6, NULL, 0, 1, 0, 4e-6},
        {"cuda", BAR_SECONDS, 3e-6, NULL, 0, 1, 1, 4e-6},
        {"cuda", BAR_WITHIN, -5e-6, "CUB", 0, 1, 1, -4e-6},
        {"cuda", BAR_TIMES, 0.5, PEER_READ, 1, 1, 0, 4 * (1 << 20) / 4e12 / 2e-6},
        {"opencl", BAR_TIMES, 0.97, PEER_OURS, 0, 1, 1, 0.8},
        {"opencl", BAR_WITHIN, 2e-6, PEER_OURS, 0, 1, 0, 1e-6},
    };
    bench_report reports[] = {report_of(&cuda, 4e-6, "CUB", 8e-6), report_of(&opencl, 5e-6, NULL, 0)};
    const bench_results results = {.reports = reports, .report_count = COUNT(reports)};
    for (size_t i = 0; i < COUNT(rows); i++) {
        const bench_bar bar = {"H200",       rows[i].backend, BENCH_REDUCE, "sum",       "f32", "2^20",
                               rows[i].kind, rows[i].limit,   rows[i].peer, rows[i].gpu, 0};
        const bar_verdict v = bars_judge(&bar, both, 2, &results, NULL);
        const double error = v.worst - rows[i].worst;
        if (v.wanted != 1 || v.shown != rows[i].shown || v.failed != rows[i].failed || error > 1e-9 || error < -1e-9)
            fail_msg("row %zu: wanted %d, shown %d, failed %d, worst %g", i, v.wanted, v.shown, v.failed, v.worst);
    }
    const bench_bar two = {"H200", "cuda", BENCH_REDUCE, "sum", "f32", "2^20,2^21", BAR_TIMES, 1, "CUB", 0, 0};
    const bar_verdict v = bars_judge(&two, both, 2, &results, NULL);
    assert_true(v.wanted == 2 && v.shown == 1 && v.failed == 0);
    const bench_bar elsewhere = {"H100", "cuda", BENCH_REDUCE, "sum", "f32", "2^20", BAR_TIMES, 1, "CUB", 0, 0};
    assert_int_equal(bars_judge(&elsewhere, both, 2, &results, NULL).wanted, 0);
}

static void test_bits(void **unused) {
    (void)unused;
    const bench_bar bar = {NULL, NULL, BENCH_REDUCE, "sum", "f32,f64", "2^10", BAR_BITS, 1, NULL, 0, 0};
    const bench_task *const sum = task_of(BENCH_REDUCE, "sum");
    bench_result rows[] = {
        {&cuda, sum, TALLY_F32, 1024, 4, {1, 2, 3, 4}},
        {&opencl, sum, TALLY_F32, 1024, 4, {1, 2, 3, 4}},
        {&cuda, sum, TALLY_F64, 1024, 8, {1, 2, 3, 4, 5, 6, 7, 8}},
        {&opencl, sum, TALLY_F64, 1024, 8, {1, 2, 3, 4, 5, 6, 7, 8}},
    };
    FILE *nowhere = tmpfile();
    assert_non_null(nowhere);
    bench_results results = {.results = rows, .result_count = COUNT(rows)};
    bar_verdict v = bars_judge(&bar, both, 2, &results, NULL);
    assert_true(v.wanted == 2 && v.shown == 2 && v.failed == 0 && v.devices == 2);
    assert_int_equal(bits_print(&results, nowhere), 0);
    rows[3].value[7] ^= 1;
    v = bars_judge(&bar, both, 2, &results, NULL);
    assert_true(v.shown == 2 && v.failed == 1 && v.in == TALLY_F64);
    assert_int_equal(bits_print(&results, nowhere), 1);
    results.result_count = 1; /* one device alone shows nothing */
    v = bars_judge(&bar, both, 2, &results, NULL);
    assert_true(v.wanted == 2 && v.shown == 0);
    fclose(nowhere);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counts),   cmocka_unit_test(test_counts_refused), cmocka_unit_test(test_count_limits),
        cmocka_unit_test(test_sizes),    cmocka_unit_test(test_size_names),     cmocka_unit_test(test_names),
        cmocka_unit_test(test_tasks),    cmocka_unit_test(test_items),          cmocka_unit_test(test_copies),
        cmocka_unit_test(test_rounded),  cmocka_unit_test(test_walk),           cmocka_unit_test(test_maps),
        cmocka_unit_test(test_outputs),  cmocka_unit_test(test_needs),          cmocka_unit_test(test_bars_are_sound),
        cmocka_unit_test(test_verdicts), cmocka_unit_test(test_bits),
    };
    return test_main(argc, argv, "The parts of tally_bench that need no device.", tests, sizeof tests / sizeof tests[0], NULL,
                     NULL);
}
