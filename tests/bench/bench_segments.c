/* SPDX-License-Identifier: MIT */
/* The benchmark's cases of segments, without a device: shapes, lengths, expected values. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bench/segments.h"
#include "tests/support/test_main.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Every group has cases, every case a name of its own in it, and a shape that fits. */
static void test_cases(void **unused) {
    (void)unused;
    const uint64_t items = UINT64_C(1) << 28;
    bench_segments s, all[256];
    size_t count = 0, groups = 0;
    for (size_t i = 0; segments_case(i, items, NULL, &s) >= 0; i++) {
        if (!segments_case(i, items, NULL, &s)) continue;
        assert_true(s.n && (s.n + s.first) * tally_dtype_bytes(s.in) <= items * sizeof(float));
        assert_true(s.by != TALLY_BY_AXES || (s.outer * s.length * s.inner == s.n && s.count && s.n % s.count == 0));
        for (size_t k = 0; k < count; k++)
            if (!strcmp(all[k].name, s.name) && !strcmp(all[k].group, s.group) && all[k].in == s.in && all[k].op == s.op)
                fail_msg("%s: %s is there twice", s.group, s.name);
        assert_true(count < COUNT(all));
        all[count++] = s;
    }
    for (const char *group; (group = segments_group(groups)); groups++) {
        size_t of_group = 0;
        for (size_t i = 0; segments_case(i, items, group, &s) >= 0; i++) of_group += segments_case(i, items, group, &s) > 0;
        assert_true(of_group > 0);
        count -= of_group;
    }
    assert_int_equal(count, 0);
    assert_true(groups > 8);
}

/* Finds the case of that name. */
static bench_segments find(const char *group, const char *name, uint64_t items) {
    bench_segments s;
    for (size_t i = 0; segments_case(i, items, group, &s) >= 0; i++)
        if (segments_case(i, items, group, &s) && !strcmp(s.name, name)) return s;
    fail_msg("%s: no case %s", group, name);
    return s;
}

static void test_shapes(void **unused) {
    (void)unused;
    const uint64_t items = UINT64_C(1) << 28;
    static const struct {
        const char *group, *name;
        uint64_t outer, length, inner, count;
    } rows[] = {{"rows", "rows of 1024", 1 << 18, 1024, 1, 1 << 18},
                {"odd", "rows of 7, unaligned", 38347922, 7, 1, 38347922},
                {"columns", "columns of height 16", 1, 16, 1 << 24, 1 << 24},
                {"widths", "columns, 1000 wide", 1, 268435, 1000, 1000},
                {"middle", "axis 1 of (64, 512, 8192)", 64, 512, 8192, 64 * 8192},
                {"middle", "axis 1 of (8192, 512, 64)", 8192, 512, 64, 64 * 8192},
                {"middle", "axis 1 of (16384, 4096, 4)", 16384, 4096, 4, 4 * 16384},
                {"middle", "axis 1 of (16, 1048576, 16)", 16, 1 << 20, 16, 256},
                {"middle", "axes 0, 2 of (21399, 256, 49)", 21399, 256, 49, 256},
                {"long", "3 rows of 151936", 3, 151936, 1, 3},
                {"small", "rows of 32", 1 << 15, 32, 1, 1 << 15}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        const bench_segments s = find(rows[i].group, rows[i].name, items);
        assert_true(s.outer == rows[i].outer && s.length == rows[i].length && s.inner == rows[i].inner);
        assert_true(s.count == rows[i].count);
    }
    /* Fewer items have fewer cases: of 2^20, 3 rows of 2^24 are none. */
    bench_segments s;
    for (size_t i = 0; segments_case(i, 1 << 20, "long", &s) >= 0; i++)
        if (segments_case(i, 1 << 20, "long", &s)) assert_true(s.n <= 1 << 20);
}

/* ---- lengths --------------------------------------------------------------------------------- */

#define N (UINT64_C(1) << 20)
static uint64_t offsets[N + 2];

static void test_lengths(void **unused) {
    (void)unused;
    bench_segments s;
    for (size_t i = 0; segments_case(i, N, "offsets,keys", &s) >= 0; i++) {
        if (!segments_case(i, N, "offsets,keys", &s)) continue;
        assert_int_equal(segments_cut_items(&s, offsets, N + 2), 0);
        assert_true(s.offsets == offsets && offsets[0] == 0 && offsets[s.count] == N);
        for (uint64_t k = 0; k < s.count; k++) assert_true(offsets[k] < offsets[k + 1]);
        const double mean = (double)N / (double)s.count;
        const int has_mean = s.cut == CUT_LENGTHS && s.size <= 1024;
        if (has_mean && (mean < 0.9 * (double)s.size || mean > 1.1 * (double)s.size)) fail_msg("%s: %g", s.name, mean);
        if (s.cut == CUT_HALF) assert_true(offsets[s.count - 1] == N / 2 && offsets[1] == 32);
        if (s.cut == CUT_POWER) assert_true(s.count > N / 64 && s.count < N);
    }
    s = find("offsets", "lengths of mean 1", N);
    assert_int_equal(segments_cut_items(&s, offsets, N), 1);
}

/* ---- values ---------------------------------------------------------------------------------- */

#define ITEMS 24000
static const tally_device_info device = {
    .backend = "opencl", .name = "Device", .device_class = TALLY_CLASS_CPU, .host_memory = 1};

/* Returns the segment of the item at `at`. */
static uint64_t segment_of(const bench_segments *s, uint64_t at) {
    uint64_t i = 0;
    if (s->cut == CUT_CHANNELS) return at / s->inner % s->length;
    if (s->by == TALLY_BY_AXES) return at / (s->length * s->inner) * s->inner + at % s->inner;
    while (s->offsets[i + 1] <= at) i++;
    return i;
}

/* Sums, and the places of the largest items, item by item. */
static void reduce_by_hand(const bench_segments *s, const float *x, float *sums, uint64_t *places) {
    static float largest[ITEMS];
    static uint64_t lengths[ITEMS];
    for (uint64_t i = 0; i < s->count; i++) sums[i] = 0, lengths[i] = 0;
    for (uint64_t at = 0; at < s->n; at++) {
        const uint64_t i = segment_of(s, at), j = lengths[i]++;
        sums[i] += x[at];
        if (!j || x[at] > largest[i]) largest[i] = x[at], places[i] = j;
    }
}

static void expect_checked(const bench_input *input, const segments_result *result, const double *expected) {
    unsigned char *out = input->host[ARRAY_OUT];
    const uint64_t last = (input->segments->count - 1) * result->bytes;
    assert_int_equal(segments_check(input, "test", result, expected), 0);
    out[last] ^= 1;
    assert_int_equal(segments_check(input, "test", result, expected), 1);
    segments_poison(input, result);
    assert_int_equal(segments_check(input, "test", result, expected), 1);
}

/* The check takes right values and refuses a wrong bit. */
static void test_values(void **unused) {
    (void)unused;
    static const struct {
        const char *group, *name;
    } rows[] = {{"rows", "rows of 64"},
                {"columns", "columns of height 8"},
                {"widths", "columns, 100 wide"},
                {"offsets", "lengths of mean 32"},
                {"middle", "axis 1 of (16, 93, 16)"},
                {"middle", "axes 0, 2 of (1, 256, 49)"}};
    static float sums[ITEMS];
    static uint64_t places[ITEMS];
    input_items items;
    assert_int_equal(input_open(&items, ITEMS * sizeof(uint64_t)), 0);
    input_fill(&items, INPUT_WHOLE, TALLY_F32, ITEMS, 1, 1);
    double *expected = malloc(2 * ITEMS * sizeof(*expected));
    for (size_t r = 0; r < COUNT(rows); r++) {
        bench_segments s = find(rows[r].group, rows[r].name, ITEMS);
        bench_input input = {.device = &device, .in = TALLY_F32, .segments = &s};
        if (s.by == TALLY_BY_OFFSETS) assert_int_equal(segments_cut_items(&s, offsets, N), 0);
        for (int a = 0; a < ARRAYS; a++) input.host[a] = items.host[a];
        reduce_by_hand(&s, items.host[ARRAY_X], sums, places);
        segments_expect(&input, expected);
        memcpy(items.host[ARRAY_OUT], sums, s.count * sizeof(*sums));
        expect_checked(&input, &(segments_result){sizeof(float), {{.dtype = TALLY_F32}}}, expected);
        s.op = TALLY_ARGMAX;
        segments_expect(&input, expected);
        memcpy(items.host[ARRAY_OUT], places, s.count * sizeof(*places));
        expect_checked(&input, &(segments_result){sizeof(uint64_t), {{.dtype = TALLY_U64}}}, expected);
    }
    free(expected);
    input_close(&items);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_cases), cmocka_unit_test(test_shapes),
                                       cmocka_unit_test(test_lengths), cmocka_unit_test(test_values)};
    return test_main(argc, argv, "The cases of segments of tally_bench, without a device.", tests, COUNT(tests), NULL, NULL);
}
