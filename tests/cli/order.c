/* SPDX-License-Identifier: MIT */
/* The result depends on the array, not on its layout: Fortran order gives the result of C order.
 * Arrays of two files must have the same shape. */
#include "cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *read_all(const char *name, size_t *bytes) {
    enum { MOST = 64 << 20 };
    char path[512], *all = malloc(MOST);
    snprintf(path, sizeof(path), "%s/%s", folder_path(), name);
    FILE *f = fopen(path, "rb");
    assert_true(f && all);
    *bytes = fread(all, 1, MOST, f);
    fclose(f);
    return all;
}

static void must_be_same(const char *name, const char *other) {
    size_t bytes[2];
    char *const a = read_all(name, &bytes[0]), *const b = read_all(other, &bytes[1]);
    if (bytes[0] != bytes[1] || memcmp(a, b, bytes[0]) != 0) fail_msg("%s and %s differ", name, other);
    free(a);
    free(b);
}

/* ---- large arrays ---------------------------------------------------------------------------- */

/* Of 10 MB, which is more than a piece. */
enum { A = 2003, B = 40, C = 31, N = A * B * C };
#define SHAPE "(2003, 40, 31)"
static const size_t largest = (size_t)1234 * B * C + 17 * C + 5;

/* The same array: c.npy, and in Fortran order f.npy, swapped.npy and odd.npy. The sum's rounding
 * depends on the order. */
static void write_large(void) {
    float *c = malloc(N * sizeof(*c)), *f = malloc(N * sizeof(*f));
    assert_true(c && f);
    for (size_t i = 0; i < N; i++) c[i] = (float)((i * 2654435761u) % 1000003) * (i % 2 ? -0.001f : 0.0011f);
    c[largest] = 2000;
    for (size_t i = 0; i < N; i++) f[i / (B * C) + A * (i / C % B) + A * B * (i % C)] = c[i];
    write_array("c.npy", own_descr('f', 4), false, SHAPE, false, c, N * sizeof(*c));
    write_array("f.npy", own_descr('f', 4), true, SHAPE, false, f, N * sizeof(*f));
    write_array("odd.npy", own_descr('f', 4), true, SHAPE, true, f, N * sizeof(*f));
    unsigned char *swapped = (unsigned char *)c;
    for (size_t i = 0; i < N * 4; i++) swapped[i] = ((unsigned char *)f)[i / 4 * 4 + 3 - i % 4];
    write_array("swapped.npy", *own_descr('f', 4) == '<' ? ">f4" : "<f4", true, SHAPE, false, swapped, N * sizeof(*c));
    free(c);
    free(f);
}

/* Each command gives the same result for c.npy and for the others, to the bit. "-" is f.npy through
 * a pipe. */
static void test_large_reductions(void) {
    static const char *const files[] = {"c.npy", "f.npy", "odd.npy", "swapped.npy", "-"};
    enum { OPS = 6 };
    char words[128], wanted[OPS][64];
    for (size_t k = 0; k < COUNT(files); k++) {
        snprintf(words, sizeof(words), "reduce sum,var,nrm2,asum,argmax,prod --json %s", files[k]);
        const result r = run(&(setup){.in_file = "f.npy"}, words);
        if (r.code || *r.err) fail_msg("%s: exit code %d: %s", words, r.code, r.err);
        for (unsigned i = 0; i < OPS; i++) {
            json_object *o = parse_line(&r, i);
            const char *value = text_member(o, "value");
            assert_int_equal(json_object_get_int64(member(o, "n")), N);
            if (strcmp(text_member(o, "op"), "argmax") == 0)
                assert_int_equal(json_object_get_int64(member(o, "index")), largest);
            if (k == 0) snprintf(wanted[i], sizeof(wanted[i]), "%s", value);
            if (strcmp(value, wanted[i]) != 0) fail_msg("%s: value %u is %s, not %s", words, i, value, wanted[i]);
            json_object_put(o);
        }
    }
}

static void test_large_pairs(void) {
    static const char *const files[] = {"c.npy", "f.npy", "odd.npy", "swapped.npy", "-"};
    char words[128], dot[64];
    result r = run(NULL, "reduce dot --json c.npy c.npy");
    json_object *o = parse_line(&r, 0);
    snprintf(dot, sizeof(dot), "%s", text_member(o, "value"));
    json_object_put(o);
    for (size_t k = 1; k < COUNT(files); k++) {
        const setup how = {.in_file = "f.npy"};
        snprintf(words, sizeof(words), "reduce allclose --param rtol=0 --param atol=0 c.npy %s", files[k]);
        must_give(&how, words, "true");
        snprintf(words, sizeof(words), "reduce dist2 %s c.npy", files[k]);
        must_give(&how, words, "0.0");
        snprintf(words, sizeof(words), "reduce dot c.npy %s", files[k]);
        must_give(&how, words, dot);
    }
}

static void test_large_scans(void) {
    static const char *const files[] = {"f.npy", "odd.npy", "swapped.npy", "-"};
    static const char *const ways[] = {"sum", "minmax --reverse", "mean --exclusive"};
    char words[128];
    for (size_t w = 0; w < COUNT(ways); w++) {
        snprintf(words, sizeof(words), "scan %s c.npy -o c_out.npy", ways[w]);
        must_run(NULL, words);
        for (size_t k = 0; k < COUNT(files); k++) {
            if (is_quick() && k != w) continue;
            snprintf(words, sizeof(words), "scan %s %s -o f_out.npy", ways[w], files[k]);
            must_run(&(setup){.in_file = "f.npy", .env = {"TALLY_TEST_SCAN_PIECE=131072"}}, words);
            must_be_same("f_out.npy", "c_out.npy");
        }
    }
}

/* Along every kind of axis; and one segment's items alone give the bits that they give among
 * others. */
static void test_large_segments(void) {
    static const char *const files[] = {"f.npy", "odd.npy", "swapped.npy", "-"};
    static const char *const ways[] = {"sum --axis 0", "sum --axis 1,2", "var --axis 0,2", "argmax --axis -1"};
    char words[128];
    for (size_t w = 0; w < COUNT(ways); w++) {
        snprintf(words, sizeof(words), "reduce %s c.npy -o c_out.npy", ways[w]);
        must_run(NULL, words);
        for (size_t k = 0; k < COUNT(files); k++) {
            if (is_quick() && k != w) continue;
            snprintf(words, sizeof(words), "reduce %s %s -o f_out.npy", ways[w], files[k]);
            must_run(&(setup){.in_file = "f.npy"}, words);
            must_be_same("f_out.npy", "c_out.npy");
        }
    }
    must_run(NULL, "reduce sum --axis 1,2 f.npy -o sums.npy");
    float *sums = must_read_npy("sums.npy", own_descr('f', 4), "False", "(2003,)", A * sizeof(*sums));
    size_t bytes;
    char *const c = read_all("c.npy", &bytes);
    for (size_t a = 1; a < A; a += 500) {
        write_npy("alone.npy", 1, own_descr('f', 4), "(40, 31)", c + bytes - (A - a) * B * C * 4, (size_t)B * C * 4);
        const result r = must_run(NULL, "reduce sum --quiet alone.npy");
        if (strtof(r.out, NULL) != sums[a]) fail_msg("row %zu: %s alone, %.9g among others", a, r.out, (double)sums[a]);
    }
    free(c);
    free(sums);
}

void test_orders(void **unused) {
    (void)unused;
    need_device();
    write_large();
    test_large_reductions();
    test_large_pairs();
    test_large_scans();
    test_large_segments();
}

/* ---- small arrays ---------------------------------------------------------------------------- */

/* In C order: 0 to 5 tens, and maps of them. */
static void write_small(void) {
    static const int32_t c[6] = {0, 10, 20, 30, 40, 50}, f[6] = {0, 30, 10, 40, 20, 50};
    static const int32_t map[6] = {5, 0, 4, 1, 3, 2}, map_f[6] = {5, 1, 0, 3, 4, 2};
    static const uint8_t stencil[6] = {1, 0, 0, 1, 1, 0}, stencil_f[6] = {1, 1, 0, 1, 0, 0};
    static const int32_t into_f[6] = {-1, -4, -2, -5, -3, -6}, seven = 7;
    const char *i4 = own_descr('i', 4);
    write_array("c.npy", i4, false, "(2, 3)", false, c, sizeof(c));
    write_array("f.npy", i4, true, "(2, 3)", false, f, sizeof(f));
    write_array("map.npy", i4, false, "(2, 3)", false, map, sizeof(map));
    write_array("map_f.npy", i4, true, "(2, 3)", false, map_f, sizeof(map_f));
    write_array("into_f.npy", i4, true, "(2, 3)", false, into_f, sizeof(into_f));
    write_array("flat.npy", i4, false, "(6,)", false, c, sizeof(c));
    write_array("turned.npy", i4, false, "(3, 2)", false, map, sizeof(map));
    write_array("stencil.npy", "|u1", false, "(2, 3)", false, stencil, sizeof(stencil));
    write_array("flat_stencil.npy", "|u1", false, "(6,)", false, stencil, sizeof(stencil));
    write_array("one.npy", "|u1", false, "()", false, stencil, 1);
    write_array("seven.npy", i4, false, "()", false, &seven, sizeof(seven));
    write_file("raw.bin", c, sizeof(c));
    write_array("stencil_f.npy", "|u1", true, "(2, 3)", false, stencil_f, sizeof(stencil_f));
}

/* numpy.take and numpy.put of flattened arrays. `shape` is that of the file that is written. */
static void must_move(const char *words, const char *shape, const int32_t *wanted) {
    size_t bytes;
    must_run(&(setup){.in_file = "f.npy"}, words);
    char *all = read_all("out.npy", &bytes);
    assert_int_equal(bytes, 128 + 6 * sizeof(*wanted));
    all[127] = '\0';
    if (!strstr(all + 10, shape)) fail_msg("%s: %s instead of %s", words, all + 10, shape);
    if (memcmp(all + 128, wanted, 6 * sizeof(*wanted)) != 0) fail_msg("%s: other items", words);
    free(all);
}

#define MUST_MOVE(words, shape, ...) must_move(words, "'shape': " shape, (const int32_t[6]){__VA_ARGS__})

void test_moves_of_orders(void **unused) {
    (void)unused;
    static const bad_row rows[] = {
        {"gather c.npy --index map.npy --into turned.npy -o out.npy",
         {"turned.npy and map.npy: their shapes differ: (3, 2) and (2, 3)"},
         NULL,
         NULL},
        {"scatter c.npy --index turned.npy -o out.npy", {"turned.npy and c.npy", "(3, 2) and (2, 3)"}, NULL, NULL},
        {"scatter flat.npy --index map.npy -o out.npy",
         {"map.npy and flat.npy: their shapes differ: (2, 3) and (6,)"},
         NULL,
         NULL},
        {"scatter raw.bin --dtype i16 --index map.npy -o out.npy", {"map.npy has 6 items, but raw.bin 12"}, NULL, NULL},
        {"gather c.npy --index map.npy --stencil flat_stencil.npy -o out.npy", {"(6,) and (2, 3)"}, NULL, NULL},
        {"scatter turned.npy --index turned.npy --stencil stencil.npy -o out.npy",
         {"stencil.npy and turned.npy", "(2, 3) and (3, 2)"},
         NULL,
         NULL},
    };
    need_device();
    write_small();
    MUST_MOVE("gather f.npy --index map.npy -o out.npy", "(2, 3)", 50, 0, 40, 10, 30, 20);
    MUST_MOVE("gather c.npy --index map_f.npy -o out.npy", "(2, 3)", 50, 0, 40, 10, 30, 20);
    MUST_MOVE("gather - --index map_f.npy -o out.npy", "(2, 3)", 50, 0, 40, 10, 30, 20);
    MUST_MOVE("gather f.npy --index map.npy --stencil stencil_f.npy -o out.npy", "(2, 3)", 50, 0, 0, 10, 30, 0);
    MUST_MOVE("gather c.npy --index map.npy --stencil stencil.npy --into into_f.npy -o out.npy", "(2, 3)", 50, -2, -3, 10, 30,
              -6);
    MUST_MOVE("scatter f.npy --index map.npy -o out.npy", "(2, 3)", 10, 30, 50, 40, 20, 0);
    MUST_MOVE("scatter f.npy --index map.npy --size 6 -o out.npy", "(6,)", 10, 30, 50, 40, 20, 0);
    MUST_MOVE("gather flat.npy --index map_f.npy -o out.npy", "(2, 3)", 50, 0, 40, 10, 30, 20);
    MUST_MOVE("scatter raw.bin --dtype i32 --index map_f.npy --into into_f.npy -o out.npy", "(2, 3)", 10, 30, 50, 40, 20, 0);
    MUST_MOVE("scatter seven.npy --index map.npy --stencil stencil.npy -o out.npy", "(2, 3)", 0, 7, 0, 7, 0, 7);
    MUST_MOVE("gather c.npy --index map.npy --stencil one.npy -o out.npy", "(2, 3)", 50, 0, 40, 10, 30, 20);
    MUST_MOVE("scatter - --index map_f.npy --stencil stencil_f.npy --into into_f.npy -o out.npy", "(2, 3)", -1, 30, -3, 40, -5,
              0);
    must_refuse_rows(rows, COUNT(rows), 1);
    /* Indices count in C order. */
    must_give(NULL, "reduce argmin f.npy", "0");
    const result r = run(NULL, "reduce iamax --json into_f.npy map_f.npy");
    static const int64_t places[] = {5, 0};
    for (unsigned i = 0; i < 2; i++) {
        json_object *o = parse_line(&r, i);
        assert_int_equal(json_object_get_int64(member(o, "index")), places[i]);
        json_object_put(o);
    }
}

/* A stream in Fortran order, too: one that ends too early, one that ends too late, and no room for
 * its copy. */
void test_streams_of_orders(void **unused) {
    (void)unused;
    static const double x[7] = {1, 2, 3, 4, 5, 6, 7};
    static const bad_row rows[] = {
        {"reduce sum -", {"-: truncated", "48 bytes of data, there are 47"}, NULL, "short.npy"},
        {"reduce sum -", {"-: more follows the 48 bytes"}, NULL, "long.npy"},
        {"reduce sum -", {"-: truncated", "8000000000000 bytes"}, NULL, "huge.npy"},
        {"reduce sum -", {"-: its Fortran order", "/dev/null", "Not a directory"}, "TMPDIR=/dev/null", "f.npy"},
        {"reduce sum short.npy", {"short.npy: truncated"}, NULL, NULL},
    };
    need_device();
    write_array("f.npy", own_descr('f', 8), true, "(2, 3)", false, x, 48);
    write_array("short.npy", own_descr('f', 8), true, "(2, 3)", false, x, 47);
    write_array("long.npy", own_descr('f', 8), true, "(2, 3)", false, x, 56);
    write_array("huge.npy", own_descr('f', 8), true, "(1000000, 1000000)", false, x, 56);
    write_array("none.npy", own_descr('f', 8), true, "(3, 0)", false, x, 0);
    must_refuse_rows(rows, COUNT(rows), 1);
    char folder[300];
    snprintf(folder, sizeof(folder), "TMPDIR=%s", folder_path());
    must_give(&(setup){.in_file = "f.npy", .in_piece = 5, .in_pause = 1, .env = {folder}}, "reduce sum -", "21.0");
    must_give(&(setup){.in_file = "none.npy"}, "reduce sum -", "0.0");
    must_give(&(setup){.in_file = "f.npy"}, "reduce sum --dtype f64 /dev/stdin", "21.0");
}

/* ---- shapes ---------------------------------------------------------------------------------- */

void test_shapes(void **unused) {
    (void)unused;
    static const bad_row rows[] = {
        {"reduce allclose column.npy row.npy", {"column.npy and row.npy: their shapes differ: (5, 1) and (1, 5)"}, NULL, NULL},
        {"reduce dot flat.npy row.npy", {"flat.npy and row.npy: their shapes differ: (5,) and (1, 5)"}, NULL, NULL},
        {"reduce dot row.npy -", {"row.npy and -: their shapes differ: (1, 5) and (5, 1)"}, NULL, "column.npy"},
        {"reduce dot one.npy flat.npy", {"one.npy and flat.npy: their shapes differ: (1,) and (5,)"}, NULL, NULL},
        {"reduce dot scalar.npy integer.npy", {"scalar.npy and integer.npy: their item types differ: f32 and i32"}, NULL, NULL},
        {"reduce dot flat.npy -", {"-: truncated"}, NULL, "cut.npy"},
        {"reduce --dtype f32 --load x+y*z --combine a+b --identity 0 --inputs 3 items.raw column.npy row.npy",
         {"column.npy and row.npy: their shapes differ: (5, 1) and (1, 5)"},
         NULL,
         NULL},
        {"reduce dot --dtype f32 column.npy four.raw",
         {"column.npy and four.raw: their lengths differ: 5 items and 4"},
         NULL,
         NULL},
    };
    static const float x[5] = {1, 2, 3, 4, 5}, two = 2;
    const char *f4 = own_descr('f', 4);
    need_device();
    write_npy("column.npy", 1, f4, "(5, 1)", x, sizeof(x));
    write_npy("row.npy", 1, f4, "(1, 5)", x, sizeof(x));
    write_npy("flat.npy", 1, f4, "(5,)", x, sizeof(x));
    write_npy("one.npy", 1, f4, "(1,)", &two, sizeof(two));
    write_npy("scalar.npy", 1, f4, "()", &two, sizeof(two));
    write_npy("cut.npy", 1, f4, "()", &two, 3);
    write_file("items.raw", x, sizeof(x));
    write_file("four.raw", x, 16);
    write_npy("integer.npy", 1, own_descr('i', 4), "()", x, 4);
    must_refuse_rows(rows, COUNT(rows), 1);
    /* Raw items have no shape. */
    must_give(NULL, "reduce dot --dtype f32 items.raw column.npy", "55.0");
    must_give(NULL, "reduce dot --dtype f32 row.npy items.raw", "55.0");
    must_give(NULL, "reduce dot one.npy one.npy", "4.0");
}

/* A scalar is paired with each of the items. */
void test_scalars(void **unused) {
    (void)unused;
    enum { MANY = 600001 }; /* more than the slice of a scalar holds */
    const char *f4 = own_descr('f', 4);
    const float two = 2;
    float *x = malloc(MANY * sizeof(*x));
    need_compiler();
    assert_non_null(x);
    for (size_t i = 0; i < MANY; i++) x[i] = (float)(i % 3);
    char shape[32];
    snprintf(shape, sizeof(shape), "(%d,)", MANY);
    write_npy("scalar.npy", 1, f4, "()", &two, sizeof(two));
    write_npy("many.npy", 1, f4, shape, x, MANY * sizeof(*x));
    write_file("many.raw", x, MANY * sizeof(*x));
    write_npy("none.npy", 1, f4, "(0,)", x, 0);
    free(x);
    const result r = run(NULL, "reduce dot --json scalar.npy many.npy");
    json_object *o = parse_line(&r, 0);
    assert_int_equal(json_object_get_int64(member(o, "n")), MANY);
    assert_string_equal(text_member(o, "value"), "1200000.0");
    json_object_put(o);
    must_give(NULL, "reduce dot many.npy scalar.npy", "1200000.0");
    must_give(&(setup){.in_file = "scalar.npy"}, "reduce dot many.npy -", "1200000.0");
    must_give(&(setup){.in_file = "many.npy"}, "reduce dot scalar.npy -", "1200000.0");
    must_give(&(setup){.in_file = "many.raw"}, "reduce dot --dtype f32 scalar.npy -", "1200000.0");
    must_give(NULL, "reduce allclose --param atol=2 many.npy scalar.npy", "true");
    must_give(NULL, "reduce allclose --param atol=0.5 scalar.npy many.npy", "false");
    must_give(NULL, "reduce dot scalar.npy scalar.npy", "4.0");
    must_give(NULL, "reduce dot none.npy scalar.npy", "0.0");
    must_give(NULL, "reduce --load x+y*z --combine a+b --identity 0 --inputs 3 scalar.npy many.npy scalar.npy", "2400002.0");
}
