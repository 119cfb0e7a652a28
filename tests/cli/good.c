/* SPDX-License-Identifier: MIT */
/* Good files of every form, and the form of values. */
#include "cli.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void test_nile(void **unused) {
    (void)unused;
    char words[1024];
    need_device();
    snprintf(words, sizeof(words), "reduce sum %s", nile);
    must_give(NULL, words, "91935.0");
    snprintf(words, sizeof(words), "reduce min %s", nile);
    must_give(NULL, words, "456.0");
    snprintf(words, sizeof(words), "reduce max %s", nile);
    must_give(NULL, words, "1370.0");

    snprintf(words, sizeof(words), "reduce sum %s --json", nile);
    result r = run(NULL, words);
    json_object *o = parse_line(&r, 0);
    assert_string_equal(text_member(o, "op"), "sum");
    assert_string_equal(text_member(o, "dtype"), "f64");
    assert_int_equal(json_object_get_int64(member(o, "n")), 100);
    assert_true(json_object_is_type(member(o, "value"), json_type_double));
    assert_int_equal(strncmp(device, text_member(o, "backend"), strlen(text_member(o, "backend"))), 0);
    assert_true(strlen(text_member(o, "device")) > 0);
    assert_true(strlen(text_member(o, "variant")) > 0 && strcmp(text_member(o, "variant"), "auto"));
    assert_true(json_object_get_double(member(o, "seconds")) > 0);
    assert_true(json_object_get_double(member(o, "bytes_per_second")) > 0);
    assert_string_equal(text_member(o, "file"), nile);
    json_object_put(o);

    /* For people and for `cut` the value comes first. */
    snprintf(words, sizeof(words), "reduce sum %s", nile);
    r = run(NULL, words);
    assert_int_equal(r.code, 0);
    assert_int_equal(strncmp(r.out, "91935  sum of 100 f64 in ", 25), 0);
    assert_non_null(strstr(r.out, device));
    assert_non_null(strstr(r.out, "GB/s"));
}

/* The same six items in every form. `swapped` has the other byte order. */
typedef struct forms {
    const char *name, *letter; /* letter: NULL if there is no .npy form */
    const char *ops, *values[3];
    size_t item_bytes, part_bytes;
    unsigned char native[96], swapped[96];
} forms;

static const char *native_mark(void) {
    const uint16_t one = 1;
    return *(const unsigned char *)&one ? "<" : ">";
}

static void expect_all(const char *rest, const forms *f) {
    char words[256];
    snprintf(words, sizeof(words), "reduce %s --json %s", f->ops, rest);
    const result r = run(NULL, words);
    if (r.code || *r.err) fail_msg("%s: exit code %d: %s", words, r.code, r.err);
    for (unsigned i = 0; i < COUNT(f->values) && f->values[i]; i++) {
        json_object *o = parse_line(&r, i);
        if (strcmp(text_member(o, "value"), f->values[i]))
            fail_msg("%s: value %u is %s, not %s", words, i, text_member(o, "value"), f->values[i]);
        assert_string_equal(text_member(o, "dtype"), f->name);
        assert_non_null(text_member(o, "result_dtype"));
        json_object_put(o);
    }
}

static void try_npy(const forms *f) {
    const size_t bytes = 6 * f->item_bytes;
    char descr[16], dictionary[128];
    snprintf(descr, sizeof(descr), "%s%s%zu", *native_mark() == '<' ? ">" : "<", f->letter, f->item_bytes);
    write_npy("swapped.npy", 1, descr, "(6,)", f->swapped, bytes);
    expect_all("swapped.npy", f);
    snprintf(descr, sizeof(descr), "%s%s%zu", f->item_bytes > 1 ? native_mark() : "|", f->letter, f->item_bytes);
    write_npy("native.npy", 1, descr, "(2, 3)", f->native, bytes);
    expect_all("native.npy", f);
    /* An odd number of header bytes misaligns the items. */
    for (size_t spaces = 0; spaces < 3 && f->item_bytes > 1; spaces++) {
        snprintf(dictionary, sizeof(dictionary), "{'descr': '%s', 'fortran_order': True, 'shape': (3, 2)}%.*s", descr,
                 (int)spaces, "   ");
        write_npy_dictionary("odd.npy", 1, dictionary, f->native, bytes);
        expect_all("odd.npy", f);
    }
}

/* `items` has six items, whose parts are in this machine's byte order. */
static void try_forms(forms f, const void *items) {
    const size_t bytes = 6 * f.item_bytes;
    char words[64];
    memcpy(f.native, items, bytes);
    for (size_t i = 0; i < bytes; i++)
        f.swapped[i] = f.native[i / f.part_bytes * f.part_bytes + f.part_bytes - 1 - i % f.part_bytes];
    if (f.letter) try_npy(&f);
    write_file("items.raw", f.native, bytes);
    snprintf(words, sizeof(words), "--dtype %s items.raw", f.name);
    expect_all(words, &f);
}

#define FORMS(type, name, letter, sum, min, max, ...)                                                                          \
    try_forms((forms){name, letter, "sum,min,max", {sum, min, max}, sizeof(type), sizeof(type), {0}, {0}},                     \
              (const type[6]){__VA_ARGS__})
/* Each part of a complex item has the other byte order. */
#define COMPLEX_FORMS(type, name, sum, asum, ...)                                                                              \
    try_forms((forms){name, "c", "sum,asum", {sum, asum}, 2 * sizeof(type), sizeof(type), {0}, {0}},                           \
              (const type[12]){__VA_ARGS__})

void test_formats(void **unused) {
    (void)unused;
    need_device();
    FORMS(float, "f32", "f", "3.5", "-8.0", "6.25", 1.5f, -8.0f, 6.25f, 0.25f, 4.5f, -1.0f);
    FORMS(uint16_t, "f16", "f", "3.5", "-8.0", "6.25", 0x3e00, 0xc800, 0x4640, 0x3400, 0x4480, 0xbc00);
    FORMS(uint16_t, "bf16", NULL, "3.5", "-8.0", "6.25", 0x3fc0, 0xc100, 0x40c8, 0x3e80, 0x4090, 0xbf80);
    FORMS(int8_t, "i8", "i", "-249", "-128", "7", 1, -128, 3, -128, -4, 7);
    FORMS(int64_t, "i64", "i", "9223372036854775800", "-9", "9223372036854775807", INT64_MAX, 0, 1, -9, 0, 1);
    FORMS(uint16_t, "u16", "u", "131077", "1", "65535", 1, UINT16_MAX, 3, UINT16_MAX, 2, 1);
    FORMS(uint8_t, "bool", "b", "3", "false", "true", 0, 1, 0, 1, 1, 0);
    COMPLEX_FORMS(float, "c64", "[ 3.5, -2.0 ]", "37.5", 1.5f, 1, -8, 2, 6.25f, -3, 0.25f, 4, 4.5f, -4, -1, -2);
    if (is_quick()) return;
    FORMS(double, "f64", "f", "3.5", "-8.0", "6.25", 1.5, -8.0, 6.25, 0.25, 4.5, -1.0);
    FORMS(int16_t, "i16", "i", "-65529", "-32768", "7", 1, INT16_MIN, 3, INT16_MIN, -4, 7);
    FORMS(int32_t, "i32", "i", "-4294967291", "-2147483648", "3", 1, INT32_MIN, 3, INT32_MIN, -1, 2);
    FORMS(uint8_t, "u8", "u", "517", "1", "255", 1, UINT8_MAX, 3, UINT8_MAX, 2, 1);
    FORMS(uint32_t, "u32", "u", "8589934597", "1", "4294967295", 1, UINT32_MAX, 3, UINT32_MAX, 2, 1);
    FORMS(uint64_t, "u64", "u", "4", "1", "18446744073709551615", UINT64_MAX, 1, 1, 1, 1, 1);
    COMPLEX_FORMS(double, "c128", "[ 3.5, -2.0 ]", "37.5", 1.5, 1, -8, 2, 6.25, -3, 0.25, 4, 4.5, -4, -1, -2);
}

void test_streams(void **unused) {
    (void)unused;
    const double x[6] = {1, 2, 3, 4, 5, -6};
    need_device();
    for (unsigned major = 1; major <= 3; major++) {
        write_npy("version.npy", major, native_mark()[0] == '<' ? "<f8" : ">f8", "(6,)", x, sizeof(x));
        must_give(NULL, "reduce sum version.npy", "9.0");
        must_give(&(setup){.in_file = "version.npy"}, "reduce sum -", "9.0");
        /* The file is cut within the magic, the header and the items. */
        must_give(&(setup){.in_file = "version.npy", .in_piece = 5, .in_pause = 1}, "reduce sum -", "9.0");
    }
    write_file("items.raw", x, sizeof(x));
    must_give(&(setup){.in_file = "items.raw", .in_piece = 7, .in_pause = 1}, "reduce sum --dtype f64 -", "9.0");
    must_give(&(setup){.in_file = "items.raw"}, "reduce sum --dtype f64 /dev/stdin", "9.0");
    must_give(NULL, "reduce sum --dtype f64 -", "0.0");
    /* A header counts, with --dtype too. */
    must_give(&(setup){.in_file = "version.npy"}, "reduce sum --dtype f64 -", "9.0");
    /* What is too short for a header is raw. */
    write_file("magic.raw", "\x93NUMP", 5);
    must_give(&(setup){.in_file = "magic.raw"}, "reduce sum --dtype u8 -", "467");
}

void test_values(void **unused) {
    (void)unused;
    const bool little = *native_mark() == '<';
    const double one = 0.1, zeros[2] = {-0.0, -0.0}, limits[3] = {INFINITY, 1, -INFINITY}, not_number[2] = {1, NAN};
    const float single = 0.1f;
    need_device();
    write_npy("scalar.npy", 1, little ? "<f8" : ">f8", "()", &one, 8);
    must_give(NULL, "reduce sum scalar.npy", "0.10000000000000001");
    must_give(NULL, "reduce sum --dtype f64 scalar.npy", "0.10000000000000001"); /* --dtype agrees with the header */
    write_file("single.raw", &single, 4);
    must_give(NULL, "reduce sum --dtype f32 single.raw", "0.100000001");
    const result r = run(NULL, "reduce sum --dtype f32 single.raw");
    assert_int_equal(strncmp(r.out, "0.1  ", 5), 0);
    write_npy("zeros.npy", 1, little ? "<f8" : ">f8", "(2,)", zeros, sizeof(zeros));
    must_give(NULL, "reduce sum zeros.npy", "-0.0");
    write_npy("limits.npy", 1, little ? "<f8" : ">f8", "(3,)", limits, sizeof(limits));
    must_give(NULL, "reduce sum limits.npy", "nan");
    must_give(NULL, "reduce min limits.npy", "-inf");
    must_give(NULL, "reduce max limits.npy", "inf");
    write_npy("nan.npy", 1, little ? "<f8" : ">f8", "(2,)", not_number, sizeof(not_number));
    must_give(NULL, "reduce max nan.npy", "nan");
    /* No items. */
    write_npy("none.npy", 1, "<i4", "(3, 0, 5)", "", 0);
    must_give(NULL, "reduce sum none.npy", "0");
    must_give(NULL, "reduce min none.npy", "2147483647");
    write_file("none.raw", "", 0);
    must_give(NULL, "reduce sum --dtype f32 none.raw", "0.0");
    must_give(NULL, "reduce max --dtype f64 none.raw", "-inf");
    must_give(NULL, "reduce max --dtype u64 none.raw", "0");
}

/* Files of several slices, with items across their ends: in place, swapped, misaligned and through
 * a pipe, with the same bits. */
void test_slices(void **unused) {
    (void)unused;
    const size_t n = 24000003; /* 96 MB */
    char dictionary[128], *values[5] = {NULL};
    const char *const routes[5] = {"reduce sum --dtype f32 big.raw", "reduce sum swapped.npy", "reduce sum odd.npy",
                                   "reduce sum --dtype f32 -", "reduce sum -"};
    const char *const inputs[5] = {NULL, NULL, NULL, "big.raw", "swapped.npy"};
    float *x = malloc(n * sizeof(*x));
    unsigned char *swapped = malloc(n * sizeof(*x));
    need_device();
    assert_true(x && swapped);
    for (size_t i = 0; i < n; i++) x[i] = (float)((i * 2654435761u) % 1000003) * (i % 2 ? -0.001f : 0.001f);
    for (size_t i = 0; i < n * 4; i++) swapped[i] = ((unsigned char *)x)[i / 4 * 4 + 3 - i % 4];
    snprintf(dictionary, sizeof(dictionary), "{'descr': '%sf4', 'fortran_order': False, 'shape': (%zu,)}", native_mark(), n);
    if ((10 + strlen(dictionary)) % 4 == 0) strcat(dictionary, " ");
    write_file("big.raw", x, n * 4);
    write_npy_dictionary("odd.npy", 1, dictionary, x, n * 4);
    snprintf(dictionary, sizeof(dictionary), "(%zu,)", n);
    write_npy("swapped.npy", 1, *native_mark() == '<' ? ">f4" : "<f4", dictionary, swapped, n * 4);
    free(x);
    free(swapped);
    for (int i = 0; i < 5; i++) {
        char words[128];
        snprintf(words, sizeof(words), "%s --json", routes[i]);
        const result r = run(&(setup){.in_file = inputs[i]}, words);
        if (r.code) fail_msg("%s: exit code %d: %s", routes[i], r.code, r.err);
        json_object *o = parse_line(&r, 0);
        assert_int_equal(json_object_get_int64(member(o, "n")), n);
        values[i] = strdup(text_member(o, "value"));
        json_object_put(o);
        if (strcmp(values[i], values[0])) fail_msg("%s: %s, not %s", routes[i], values[i], values[0]);
    }
    for (int i = 0; i < 5; i++) free(values[i]);
}

void test_several_files(void **unused) {
    (void)unused;
    const int32_t x[3] = {1, 2, 3};
    need_device();
    write_npy("a.npy", 1, *native_mark() == '<' ? "<i4" : ">i4", "(3,)", x, sizeof(x));
    write_npy("bad.npy", 1, "<i4", "(4,)", x, sizeof(x));
    result r = run(&(setup){.in_file = "a.npy"}, "reduce sum a.npy - --json");
    assert_int_equal(r.code, 0);
    assert_int_equal(count_lines(r.out), 2);
    /* A bad file is reported. The other files are reduced all the same. */
    r = run(&(setup){.in_file = "a.npy"}, "reduce sum --json a.npy bad.npy absent.npy -");
    assert_int_equal(r.code, 1);
    assert_int_equal(count_lines(r.out), 2);
    assert_int_equal(count_lines(r.err), 2);
    assert_non_null(strstr(r.err, "tally: bad.npy: truncated"));
    assert_non_null(strstr(r.err, "tally: absent.npy: "));
    for (unsigned i = 0; i < 2; i++) {
        json_object *o = parse_line(&r, i);
        assert_string_equal(text_member(o, "value"), "6");
        assert_string_equal(text_member(o, "file"), i ? "-" : "a.npy");
        json_object_put(o);
    }
    /* A name that begins with a dash, after --. */
    write_npy("-x.npy", 1, *native_mark() == '<' ? "<i4" : ">i4", "(3,)", x, sizeof(x));
    r = run(&(setup){.env = {"POSIXLY_CORRECT=1"}}, "reduce sum --json -- -x.npy");
    assert_int_equal(r.code, 0);
    r = run(&(setup){.env = {"POSIXLY_CORRECT=1"}}, "reduce sum a.npy --json");
    assert_int_equal(r.code, 0);
    assert_int_equal(r.out[0], '{');
}
