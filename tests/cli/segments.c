/* SPDX-License-Identifier: MIT */
/* `tally reduce` of rows, columns, segments and keys: files in every form and what is printed. */
#include "cli.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* An array of (2, 3, 4): item (i, j, k) is 100 i + 10 j + k, negative where i + j + k is odd. */
enum { A = 2, B = 3, C = 4, N = A * B * C };
#define SHAPE "(2, 3, 4)"

static float item(int i, int j, int k) {
    const float x = (float)(100 * i + 10 * j + k);
    return (i + j + k) % 2 ? -x : x;
}

/* Writes the array in both orders, with the other byte order, and misaligned. */
static void write_forms(void) {
    float c[N], f[N];
    unsigned char swapped[sizeof(c)];
    for (int n = 0; n < N; n++) {
        c[n] = item(n / (B * C), n / C % B, n % C);
        f[n / (B * C) + A * (n / C % B) + A * B * (n % C)] = c[n];
    }
    for (size_t n = 0; n < sizeof(c); n++) swapped[n] = ((unsigned char *)f)[n / 4 * 4 + 3 - n % 4];
    write_array("c.npy", own_descr('f', 4), false, SHAPE, false, c, sizeof(c));
    write_array("f.npy", own_descr('f', 4), true, SHAPE, false, f, sizeof(f));
    write_array("odd.npy", own_descr('f', 4), true, SHAPE, true, f, sizeof(f));
    write_array("swapped.npy", *own_descr('f', 4) == '<' ? ">f4" : "<f4", true, SHAPE, false, swapped, sizeof(swapped));
}

/* ---- axes ------------------------------------------------------------------------------------ */

/* Sums along the axes whose bits are set, in C order of the others. */
static size_t sum_along(unsigned axes, float *sums) {
    const int lengths[3] = {A, B, C};
    size_t count = 1;
    for (int d = 0; d < 3; d++) count *= axes >> d & 1 ? 1 : (size_t)lengths[d];
    memset(sums, 0, count * sizeof(*sums));
    for (int n = 0; n < N; n++) {
        const int at[3] = {n / (B * C), n / C % B, n % C};
        size_t place = 0;
        for (int d = 0; d < 3; d++)
            if (!(axes >> d & 1)) place = place * (size_t)lengths[d] + (size_t)at[d];
        sums[place] += item(at[0], at[1], at[2]);
    }
    return count;
}

/* Every set of axes, of every form of the file. "-" is f.npy through a pipe. */
void test_axes(void **unused) {
    (void)unused;
    static const struct {
        const char *list;
        unsigned axes;
        const char *shape, *kept;
    } sets[] = {
        {"0", 1, "(3, 4)", "(1, 3, 4)"},  {"1", 2, "(2, 4)", "(2, 1, 4)"},  {"-1", 4, "(2, 3)", "(2, 3, 1)"},
        {"0,2", 5, "(3,)", "(1, 3, 1)"},  {"-2,0", 3, "(4,)", "(1, 1, 4)"}, {"2,1", 6, "(2,)", "(2, 1, 1)"},
        {"1,0,-1", 7, "()", "(1, 1, 1)"},
    };
    static const char *const files[] = {"c.npy", "f.npy", "odd.npy", "swapped.npy", "-"};
    float sums[N];
    char words[128];
    need_device();
    write_forms();
    for (size_t i = 0; i < COUNT(sets); i++)
        for (size_t f = 0; f < COUNT(files); f++) {
            const bool kept = (i + f) % 2;
            const size_t count = sum_along(sets[i].axes, sums);
            snprintf(words, sizeof(words), "reduce sum --axis %s%s %s -o out.npy", sets[i].list, kept ? " --keepdims" : "",
                     files[f]);
            must_run(&(setup){.in_file = "f.npy"}, words);
            must_hold("out.npy", own_descr('f', 4), "False", kept ? sets[i].kept : sets[i].shape, sums, count * sizeof(*sums));
        }
}

/* The array of the other tests: (2, 3). */
static void write_small(void) {
    static const double x[6] = {1, 5, 2, -7, 3, 3}, column[2] = {2, 10}, row[3] = {1, 2, 3}, three = 3;
    static const uint8_t mask[6] = {1, 0, 1, 1, 255, 0}, turned[6] = {1, 1, 0, 255, 1, 0}, first[3] = {1, 0, 0};
    write_npy("x.npy", 1, own_descr('f', 8), "(2, 3)", x, sizeof(x));
    write_npy("flat.npy", 1, own_descr('f', 8), "(6,)", x, sizeof(x));
    write_npy("none.npy", 1, own_descr('f', 8), "(2, 0)", x, 0);
    write_npy("column.npy", 1, own_descr('f', 8), "(2, 1)", column, sizeof(column));
    write_npy("row.npy", 1, own_descr('f', 8), "(3,)", row, sizeof(row));
    write_npy("three.npy", 1, own_descr('f', 8), "()", &three, sizeof(three));
    write_npy("mask.npy", 1, "|u1", "(2, 3)", mask, sizeof(mask));
    write_npy("flat_mask.npy", 1, "|b1", "(6,)", (const uint8_t[6]){1, 0, 1, 1, 1, 0}, 6);
    write_npy("first.npy", 1, "|i1", "(3,)", first, sizeof(first));
    write_array("x_f.npy", own_descr('f', 8), true, "(2, 3)", false, (const double[6]){1, -7, 5, 3, 2, 3}, sizeof(x));
    write_npy("none_mask.npy", 1, "|u1", "(2, 0)", mask, 0);
    write_array("mask_f.npy", "|u1", true, "(2, 3)", false, turned, sizeof(turned));
}

/* Runs `words` with -o and expects these values, of f64 or u64. */
static void must_write(const char *words, char letter, const char *shape, const void *values, size_t bytes) {
    char all[256];
    snprintf(all, sizeof(all), "reduce %s -o out.npy", words);
    must_run(&(setup){.in_file = "x.npy"}, all);
    void *got = must_read_npy("out.npy", own_descr(letter, 8), "False", shape, bytes);
    if (memcmp(got, values, bytes) != 0) fail_msg("%s: other values", all);
    free(got);
}

#define DOUBLES(words, shape, ...)                                                                                             \
    must_write(words, 'f', shape, (const double[]){__VA_ARGS__}, sizeof((const double[]){__VA_ARGS__}))
#define INDICES(words, shape, ...)                                                                                             \
    must_write(words, 'u', shape, (const uint64_t[]){__VA_ARGS__}, sizeof((const uint64_t[]){__VA_ARGS__}))

/* Rows that lie together beyond the device's largest buffer, and each within it. */
void test_many_rows(void **unused) {
    (void)unused;
    enum { ROWS = 6, ROW = 1 << 27 };
    const setup how = {.env = {"POCL_MEMORY_LIMIT=1"}};
    char path[600];
    need_device();
    write_npy("rows.npy", 1, "|u1", "(6, 134217728)", NULL, 0);
    snprintf(path, sizeof(path), "%s/rows.npy", folder_path());
    const int fd = open(path, O_RDWR);
    const off_t head = lseek(fd, 0, SEEK_END);
    for (off_t r = 0; r < ROWS; r++) {
        const unsigned char last = (unsigned char)(r + 1);
        assert_int_equal(pwrite(fd, &last, 1, head + (r + 1) * ROW - 1), 1);
    }
    close(fd);
    const result r = run(&how, "reduce sum --axis 1 --quiet rows.npy");
    assert_int_equal(r.code, 0);
    assert_string_equal(r.out, "1\n2\n3\n4\n5\n6\n");
    unlink(path);
}

/* Values of other types and of two numbers, a custom op, parameters, and arrays without items. */
void test_axes_of_ops(void **unused) {
    (void)unused;
    need_device();
    write_small();
    DOUBLES("mean --axis 1 x.npy", "(2,)", 8.0 / 3, -1.0 / 3);
    DOUBLES("minmax --axis 1 x.npy", "(2, 2)", 1, 5, -7, 3);
    DOUBLES("var --param ddof=1 --axis 0 x.npy", "(3,)", 32, 2, 0.5);
    DOUBLES("max --axis 0 --keepdims -", "(1, 3)", 1, 5, 3);
    INDICES("argmin --axis 0 x.npy", "(3,)", 1, 1, 0);
    INDICES("argmax --axis 1,0 x.npy", "()", 1);
    INDICES("argmax --axis 1 none.npy", "(2,)", UINT64_MAX, UINT64_MAX);
    must_run(NULL, "reduce sum --axis 0 none.npy -o out.npy");
    must_hold("out.npy", own_descr('f', 8), "False", "(0,)", "", 0);
}

void test_axes_of_own(void **unused) {
    (void)unused;
    need_compiler();
    write_small();
    DOUBLES("--load x*x --combine a+b --identity 0 --axis 0 x.npy", "(3,)", 50, 34, 13);
    DOUBLES("--load x>p.t?x:0 --param t=2 --combine a+b --identity 0 --axis 0 x.npy", "(3,)", 0, 8, 3);
}

/* Inputs of other shapes are repeated, as NumPy does. */
void test_axes_of_pairs(void **unused) {
    (void)unused;
    need_device();
    write_small();
    DOUBLES("dot --axis 0 x.npy column.npy", "(3,)", -68, 40, 34);
    DOUBLES("dot --axis 1 column.npy x.npy", "(2,)", 16, -10);
    DOUBLES("dot --axis 1 x.npy three.npy", "(2,)", 24, -3);
    DOUBLES("dot --axis 1 --keepdims - row.npy", "(2, 1)", 17, 8);
    DOUBLES("dot --axis 0 column.npy row.npy", "(3,)", 12, 24, 36);
    DOUBLES("dot --axis 0,1 three.npy x.npy", "()", 21);
}

/* A masked item is not there, but an index counts it. */
void test_where(void **unused) {
    (void)unused;
    static const char *const masks[] = {"mask.npy", "mask_f.npy"};
    char words[128];
    need_device();
    write_small();
    for (size_t m = 0; m < COUNT(masks); m++) {
        snprintf(words, sizeof(words), "sum --axis 1 --where %s x.npy", masks[m]);
        DOUBLES(words, "(2,)", 3, -4);
        snprintf(words, sizeof(words), "sum --axis 0 --where %s -", masks[m]);
        DOUBLES(words, "(3,)", -6, 3, 2);
    }
    DOUBLES("mean --axis 1 --where mask.npy x.npy", "(2,)", 1.5, -2);
    DOUBLES("sum --axis 0 --where first.npy x.npy", "(3,)", -6, 0, 0);
    INDICES("argmax --axis 1 --where mask.npy x.npy", "(2,)", 2, 1);
    must_give(NULL, "reduce sum --where mask.npy x.npy", "-1.0");
    must_give(NULL, "reduce mean --where flat_mask.npy --dtype f64 flat.npy", "-0.25");
    const result r = must_run(NULL, "reduce argmin --where mask.npy x.npy");
    static const char text[] = "3  argmin (-7) of 6 f64 in x.npy where mask.npy\non ";
    assert_int_equal(strncmp(r.out, text, sizeof(text) - 1), 0);
}

void test_initial(void **unused) {
    (void)unused;
    need_device();
    write_small();
    DOUBLES("sum --axis 1 --initial 100 x.npy", "(2,)", 108, 99);
    DOUBLES("max --axis 1 --initial 4 x.npy", "(2,)", 5, 4);
    DOUBLES("max --axis 1 --initial -4.5e0 none.npy", "(2,)", -4.5, -4.5);
    DOUBLES("minmax --axis 1 --initial 0,4 x.npy", "(2, 2)", 0, 5, -7, 4);
    must_give(NULL, "reduce sum --initial 0.5 x.npy", "7.5");
    must_give(NULL, "reduce all --initial false x.npy", "false");
    must_give(NULL, "reduce all --initial true x.npy", "true");
    const result r = must_run(NULL, "reduce sum,max --initial 1,6 --quiet x.npy");
    assert_string_equal(r.out, "8\n6\n");
}

/* ---- offsets and keys ------------------------------------------------------------------------ */

void test_offsets(void **unused) {
    (void)unused;
    static const int32_t narrow[4] = {0, 2, 2, 6};
    static const uint64_t wide[3] = {1, 4, 5};
    need_device();
    write_small();
    write_npy("narrow.npy", 1, own_descr('i', 4), "(4,)", narrow, sizeof(narrow));
    write_npy("wide.npy", 1, own_descr('u', 8), "(3,)", wide, sizeof(wide));
    write_npy("one.npy", 1, own_descr('u', 8), "(1,)", wide, 8);
    DOUBLES("sum --offsets narrow.npy flat.npy", "(3,)", 6, 0, 1);
    DOUBLES("sum --offsets wide.npy flat.npy", "(2,)", 0, 3);
    DOUBLES("sum --offsets narrow.npy --where flat_mask.npy flat.npy", "(3,)", 1, 0, -2);
    DOUBLES("max --offsets narrow.npy --initial 2 x.npy", "(3,)", 5, 2, 3);
    DOUBLES("sum --offsets narrow.npy --where mask_f.npy x_f.npy", "(3,)", 1, 0, -2);
    DOUBLES("dot --offsets narrow.npy flat.npy flat.npy", "(3,)", 26, 0, 71);
    INDICES("argmin --offsets narrow.npy flat.npy", "(3,)", 0, UINT64_MAX, 1);
    must_run(NULL, "reduce sum --offsets one.npy flat.npy -o out.npy");
    must_hold("out.npy", own_descr('f', 8), "False", "(0,)", "", 0);
}

/* Keys of 1 to 16 bytes; equal ones are the same bytes. */
void test_keys(void **unused) {
    (void)unused;
    static const uint8_t narrow[6] = {7, 7, 9, 9, 9, 1}, wanted[3] = {7, 9, 1}, again[6] = {1, 1, 2, 1, 1, 1};
    static const double wide[12] = {0, 1, 0, 1, 1, 0, 1, 0, 1, 0, 0, 0}, wide_wanted[6] = {0, 1, 1, 0, 0, 0};
    need_device();
    write_small();
    write_npy("narrow.npy", 1, "|u1", "(6,)", narrow, sizeof(narrow));
    write_npy("again.npy", 1, "|i1", "(6,)", again, sizeof(again));
    write_array("square.npy", "|b1", true, "(2, 3)", false, (const uint8_t[6]){1, 0, 1, 0, 0, 0}, 6);
    write_npy("wide.npy", 1, own_descr('c', 16), "(6,)", wide, sizeof(wide));
    write_npy("no_keys.npy", 1, own_descr('i', 4), "(2, 0)", wide, 0);
    DOUBLES("sum --by narrow.npy --keys-out keys.npy flat.npy", "(3,)", 6, -2, 3);
    must_hold("keys.npy", "|u1", "False", "(3,)", wanted, sizeof(wanted));
    DOUBLES("sum --by wide.npy --keys-out keys.npy flat.npy", "(3,)", 6, -2, 3);
    must_hold("keys.npy", own_descr('c', 16), "False", "(3,)", wide_wanted, sizeof(wide_wanted));
    DOUBLES("sum --by again.npy --each-run --keys-out keys.npy flat.npy", "(3,)", 6, 2, -1);
    must_hold("keys.npy", "|i1", "False", "(3,)", (const uint8_t[3]){1, 2, 1}, 3);
    DOUBLES("sum --by narrow.npy --where flat_mask.npy flat.npy", "(3,)", 1, -2, 0);
    DOUBLES("sum --by square.npy x_f.npy", "(2,)", 6, 1);
    DOUBLES("minmax --by narrow.npy flat.npy", "(3, 2)", 1, 5, -7, 3, 3, 3);
    must_run(NULL, "reduce sum --by no_keys.npy none.npy -o out.npy");
    must_hold("out.npy", own_descr('f', 8), "False", "(0,)", "", 0);
}

/* ---- what is printed ------------------------------------------------------------------------- */

static void expect_start(const char *words, const char *start) {
    const result r = must_run(NULL, words);
    if (strncmp(r.out, start, strlen(start)) != 0) fail_msg("%s: '%s' does not start with '%s'", words, r.out, start);
}

void test_tables(void **unused) {
    (void)unused;
    static const uint8_t keys[6] = {7, 7, 9, 9, 9, 1};
    static const uint32_t offsets[4] = {0, 2, 2, 6};
    double many[100];
    need_device();
    write_small();
    for (int i = 0; i < 100; i++) many[i] = i;
    write_npy("many.npy", 1, own_descr('f', 8), "(50, 1, 2)", many, sizeof(many));
    write_npy("keys.npy", 1, "|u1", "(6,)", keys, sizeof(keys));
    write_npy("offsets.npy", 1, own_descr('u', 4), "(4,)", offsets, sizeof(offsets));
    expect_start("reduce sum,argmax --axis 1 x.npy", "sum, argmax along axis 1 of (2, 3) f64 in x.npy\n"
                                                     "  axis 0  sum  argmax\n"
                                                     "       0    8       1\n"
                                                     "       1   -1       1\non ");
    expect_start("reduce sum --axis -1,0 x.npy", "sum along axes 0, 1 of (2, 3) f64 in x.npy\n  sum\n    7\non ");
    expect_start("reduce sum,max --by keys.npy flat.npy", "sum, max by the 3 keys in keys.npy of (6,) f64 in flat.npy\n"
                                                          "  key  sum  max\n"
                                                          "    7    6    5\n"
                                                          "    9   -2    3\n"
                                                          "    1    3    3\non ");
    expect_start("reduce argmin --offsets offsets.npy flat.npy",
                 "argmin by the 3 segments in offsets.npy of (6,) f64 in flat.npy\n"
                 "  segment  argmin\n"
                 "        0       0\n"
                 "        1    none\n"
                 "        2       1\non ");
    expect_start("reduce sum --axis 0 --keepdims x.npy -o out.npy",
                 "out.npy: f64 (1, 3), sum along axis 0 of (2, 3) f64 in x.npy\non ");
    expect_start("reduce minmax --by keys.npy --where flat_mask.npy flat.npy -o out.npy --keys-out out_keys.npy",
                 "out.npy: f64 (3, 2), keys in out_keys.npy, minmax by the 3 keys in keys.npy of (6,) f64 in flat.npy\n"
                 "    where flat_mask.npy\non ");
    /* A long table: its middle is left out. */
    result r = must_run(NULL, "reduce sum --axis 1 many.npy");
    assert_int_equal(count_lines(r.out), 2 + 12 + 1 + 12 + 1);
    assert_non_null(strstr(r.out, "  axis 0  axis 2  sum\n       0       0    0\n       0       1    1\n"));
    assert_non_null(strstr(r.out, "       5       1   11\n... 76 more ...\n      44       0   88\n"));
    assert_non_null(strstr(r.out, "      49       1   99\non "));
    r = must_run(NULL, "reduce sum,max --axis 1 --quiet many.npy");
    assert_int_equal(count_lines(r.out), 100);
    assert_int_equal(strncmp(r.out, "0 0\n1 1\n2 2\n", 12), 0);
    r = must_run(NULL, "reduce sum --axis 1 --quiet x.npy x.npy");
    assert_string_equal(r.out, "8\n-1\n8\n-1\n");
    r = must_run(NULL, "reduce sum --axis 1 --quiet x.npy -o out.npy");
    assert_string_equal(r.out, "");
}

static void expect_member(json_object *o, const char *name, const char *text) {
    if (strcmp(text_member(o, name), text) != 0) fail_msg("%s is %s, not %s", name, text_member(o, name), text);
}

void test_segments_json(void **unused) {
    (void)unused;
    need_device();
    write_small();
    write_npy("keys.npy", 1, own_descr('i', 2), "(6,)", (const int16_t[6]){-7, -7, 9, 9, 9, 1}, 12);
    result r = must_run(NULL, "reduce minmax,argmax --axis 1 --json none.npy --keepdims --where none_mask.npy");
    assert_int_equal(count_lines(r.out), 2);
    json_object *o = parse_line(&r, 0);
    expect_member(o, "op", "minmax");
    expect_member(o, "dtype", "f64");
    expect_member(o, "result_dtype", "f64");
    expect_member(o, "n", "0");
    expect_member(o, "shape", "[ 2, 1 ]");
    expect_member(o, "values", "[ [ \"inf\", \"-inf\" ], [ \"inf\", \"-inf\" ] ]");
    expect_member(o, "file", "none.npy");
    expect_member(o, "where", "none_mask.npy");
    expect_member(o, "output", "null");
    assert_true(json_object_get_double(member(o, "seconds")) > 0);
    json_object_put(o);
    o = parse_line(&r, 1);
    expect_member(o, "op", "argmax");
    expect_member(o, "values", "[ null, null ]");
    json_object_put(o);
    /* n counts the items that a mask leaves out. */
    r = must_run(NULL, "reduce count_nonzero,mean --where flat_mask.npy --json flat.npy");
    o = parse_line(&r, 1);
    expect_member(o, "n", "6");
    expect_member(o, "where", "flat_mask.npy");
    json_object_put(o);
    r = must_run(NULL, "reduce sum --by keys.npy --json flat.npy");
    o = parse_line(&r, 0);
    expect_member(o, "keys", "[ -7, 9, 1 ]");
    expect_member(o, "values", "[ 6.0, -2.0, 3.0 ]");
    json_object_put(o);
    r = must_run(NULL, "reduce dot --axis 0 --json x.npy three.npy -o out.npy");
    o = parse_line(&r, 0);
    expect_member(o, "shape", "[ 3 ]");
    expect_member(o, "values", "null");
    expect_member(o, "file", "[ \"x.npy\", \"three.npy\" ]");
    expect_member(o, "output", "out.npy");
    json_object_put(o);
    /* Too many values for an object. */
    double *many = calloc(65537, sizeof(*many));
    assert_non_null(many);
    write_npy("many.npy", 1, own_descr('f', 8), "(65537, 1)", many, 65537 * sizeof(*many));
    free(many);
    r = must_run(NULL, "reduce sum --axis 1 --json many.npy");
    o = parse_line(&r, 0);
    expect_member(o, "shape", "[ 65537 ]");
    expect_member(o, "values", "null");
    json_object_put(o);
}

/* ---- refusals -------------------------------------------------------------------------------- */

void test_segments_usage(void **unused) {
    (void)unused;
    static const bad_row rows[] = {
        {"reduce sum --axis x x.npy", {"--axis x", "0, -1, or 0,2"}, NULL, NULL},
        {"reduce sum --axis 0, x.npy", {"--axis 0,", "0, -1, or 0,2"}, NULL, NULL},
        {"reduce sum --axis 1e9 x.npy", {"--axis 1e9"}, NULL, NULL},
        {"reduce sum --axis 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16 x.npy", {"at most 16 axes"}, NULL, NULL},
        {"reduce sum --axis 0 --by k.npy x.npy", {"--axis and --by exclude each other"}, NULL, NULL},
        {"reduce sum --offsets o.npy --by k.npy x.npy", {"--offsets and --by exclude each other"}, NULL, NULL},
        {"reduce sum --keepdims x.npy", {"--keepdims belongs to --axis"}, NULL, NULL},
        {"reduce sum --keepdims --by k.npy x.npy", {"--keepdims belongs to --axis"}, NULL, NULL},
        {"reduce sum --each-run --axis 0 x.npy", {"--each-run belongs to --by"}, NULL, NULL},
        {"reduce sum --keys-out k.npy -o o.npy --offsets o.npy x.npy", {"--keys-out belongs to --by"}, NULL, NULL},
        {"reduce sum --keys-out o.npy --by k.npy x.npy", {"--keys-out o.npy", "-o OUT.npy is missing"}, NULL, NULL},
        {"reduce sum --keys-out o.npy -o o.npy --by k.npy x.npy", {"--keys-out o.npy", "need another"}, NULL, NULL},
        {"reduce sum --keys-out ./o.npy -o o.npy --by k.npy x.npy", {"--keys-out ./o.npy", "need another"}, NULL, NULL},
        {"reduce sum x.npy -o y.npy", {"reduce: --output belongs to --axis, --offsets or --by"}, NULL, NULL},
        {"reduce sum --where m.npy x.npy -o y.npy", {"--output belongs to --axis, --offsets or --by"}, NULL, NULL},
        {"reduce sum --axis 0 x.npy -o -", {"- is no file"}, NULL, NULL},
        {"reduce sum,max --axis 0 x.npy -o y.npy", {"--output y.npy", "one operator"}, NULL, NULL},
        {"reduce sum --axis 0 x.npy x.npy -o y.npy", {"--output y.npy", "one result", "2 are asked for"}, NULL, NULL},
        {"reduce sum --axis 0 --variant auto x.npy", {"--variant belongs to whole files"}, NULL, NULL},
        {"reduce sum --initial 1 --variant auto x.npy", {"--variant belongs to whole files"}, NULL, NULL},
        {"reduce argmax --axis 0 --out i32 x.npy", {"--out i32", "argmax gives an index"}, NULL, NULL},
        {"reduce sum --by - -", {"standard input"}, NULL, NULL},
        {"reduce sum --where - --axis 0 -", {"standard input"}, NULL, NULL},
        {"reduce sum --axs 0 x.npy", {"--axs", "did you mean --axis? there are"}, NULL, NULL},
        {"scan sum --keepdims x.npy -o o.npy", {"scan takes no option --keepdims"}, NULL, NULL},
    };
    must_refuse_rows(rows, COUNT(rows), 2);
}

static void write_bad(void) {
    static const int32_t keys[6] = {2, 2, 3, 3, 2, 2}, offsets[2] = {0, 3};
    static const double two[2] = {1, 2};
    write_small();
    write_npy("short.npy", 1, own_descr('f', 8), "(2, 2)", two, sizeof(two));
    write_npy("deep.npy", 1, own_descr('f', 8), "(1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2)", two, sizeof(two));
    write_npy("keys.npy", 1, own_descr('i', 4), "(6,)", (const int32_t[6]){1, 1, 1, 2, 2, 2}, 24);
    write_npy("again.npy", 1, own_descr('i', 4), "(6,)", keys, sizeof(keys));
    write_npy("square.npy", 1, own_descr('i', 4), "(2, 2)", keys, 16);
    write_npy("empty.npy", 1, own_descr('i', 4), "(0,)", keys, 0);
    write_npy("offsets.npy", 1, own_descr('i', 4), "(2,)", offsets, sizeof(offsets));
    write_file("raw.bin", two, sizeof(two));
}

void test_segments_refused(void **unused) {
    (void)unused;
    static const bad_row rows[] = {
        {"reduce sum --axis 2 x.npy -o old.npy", {"x.npy: --axis 2: its shape (2, 3) has 2 axes"}, NULL, NULL},
        {"reduce sum --axis -3 x.npy", {"x.npy: --axis -3: its shape (2, 3) has 2 axes"}, NULL, NULL},
        {"reduce sum --axis 0 three.npy", {"three.npy: --axis 0: its shape () has 0 axes"}, NULL, NULL},
        {"reduce sum --axis 1,-1 x.npy", {"x.npy", "axis 1 is named twice"}, NULL, NULL},
        {"reduce sum --axis 0 deep.npy", {"deep.npy", "17 axes", "at most 16"}, NULL, NULL},
        {"reduce dot --axis 0 x.npy flat.npy", {"x.npy and flat.npy: their shapes differ: (2, 3) and (6,)"}, NULL, NULL},
        {"reduce dot --axis 0 x.npy mask.npy", {"x.npy and mask.npy: their item types differ: f64 and u8"}, NULL, NULL},
        {"reduce sum --axis 0 --where flat_mask.npy x.npy",
         {"x.npy and flat_mask.npy: their shapes differ: (2, 3) and (6,)"},
         NULL,
         NULL},
        {"reduce sum --axis 0 --where mask.npy row.npy",
         {"row.npy and mask.npy: their shapes differ: (3,) and (2, 3)"},
         NULL,
         NULL},
        {"reduce sum --axis 0 --where x.npy x.npy", {"x.npy: its items are f64: a mask has bool, u8 or i8"}, NULL, NULL},
        {"reduce sum --axis 0 --where absent.npy x.npy", {"absent.npy", "No such file"}, NULL, NULL},
        {"reduce sum --axis 0 --where raw.bin x.npy", {"raw.bin: not a .npy file\n"}, NULL, NULL},
        {"reduce sum --by keys.npy x.npy", {"x.npy and keys.npy: their shapes differ: (2, 3) and (6,)"}, NULL, NULL},
        {"reduce sum --by again.npy flat.npy -o old.npy --keys-out each.npy",
         {"again.npy: the key 2 comes again at item 4", "sort", "--each-run"},
         NULL,
         NULL},
        {"reduce sum --by keys.npy flat.npy -o old.npy --keys-out nowhere/k.npy",
         {"nowhere/k.npy", "No such file"},
         NULL,
         NULL},
        {"reduce sum --offsets x.npy flat.npy", {"x.npy: its items are f64: offsets are i32, u32"}, NULL, NULL},
        {"reduce sum --offsets square.npy flat.npy", {"square.npy: its shape is (2, 2)"}, NULL, NULL},
        {"reduce sum --offsets empty.npy flat.npy", {"empty.npy: its shape is (0,)"}, NULL, NULL},
        {"reduce dot --offsets offsets.npy flat.npy three.npy",
         {"flat.npy and three.npy: their shapes differ: (6,) and ()"},
         NULL,
         NULL},
        {"reduce sum --axis 0 --initial 1,2 x.npy", {"--initial 1,2", "1 value"}, NULL, NULL},
        {"reduce minmax --axis 0 --initial 1 x.npy", {"--initial 1", "2 values"}, NULL, NULL},
        {"reduce mean --axis 0 --initial 1 x.npy", {"x.npy", "initial", "mean"}, NULL, NULL},
        {"reduce band --axis 0 x.npy -o old.npy", {"x.npy", "band"}, NULL, NULL},
        {"reduce sum --axis 0 - -o old.npy", {"-: truncated"}, NULL, "short.npy"},
        {"reduce sum --axis 0 x.npy -o nowhere/y.npy", {"nowhere/y.npy", "No such file"}, NULL, NULL},
        {"reduce max --axis 0 --dtype bf16 raw.bin -o old.npy", {"old.npy", "bf16"}, NULL, NULL},
    };
    const double old[2] = {1, 2};
    need_device();
    write_bad();
    write_npy("old.npy", 1, own_descr('f', 8), "(2,)", old, sizeof(old));
    must_refuse_rows(rows, COUNT(rows), 1);
    expect_no_rest("a failure");
    must_hold("old.npy", own_descr('f', 8), "False", "(2,)", old, sizeof(old));
}
