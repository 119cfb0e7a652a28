/* SPDX-License-Identifier: MIT */
/* Every operator of one input, several in one pass, their parameters and levels; the form of their
 * results. */
#include "cli.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N 1000

/* Whole numbers from -50 to 50. Every sum of them is exact. The extremes occur several times. */
static float item(int i) {
    return (float)(i * 37 % 101 - 50);
}

typedef struct row {
    const char *op;
    double value, tolerance; /* tolerance: relative */
} row;

/* Runs the rows' operators in one pass over the file and compares each line. */
static void expect_pass(const char *options, const char *file, const row *rows, unsigned count) {
    char words[512] = "reduce ";
    for (unsigned i = 0; i < count; i++) strcat(strcat(words, i ? "," : ""), rows[i].op);
    strcat(strcat(strcat(strcat(words, " --json "), options), *options ? " " : ""), file);
    const result r = run(NULL, words);
    if (r.code || *r.err) fail_msg("%s: exit code %d: %s", words, r.code, r.err);
    if (count_lines(r.out) != count) fail_msg("%s: %u lines: %s", words, count_lines(r.out), r.out);
    char *seconds = NULL;
    for (unsigned i = 0; i < count; i++) {
        json_object *o = parse_line(&r, i);
        const double value = json_object_get_double(member(o, "value"));
        assert_string_equal(text_member(o, "op"), rows[i].op);
        if (!(fabs(value - rows[i].value) <= rows[i].tolerance * fabs(rows[i].value)))
            fail_msg("%s: %s is %.17g, not %.17g", words, rows[i].op, value, rows[i].value);
        /* There is only one pass. */
        if (seconds) assert_string_equal(text_member(o, "seconds"), seconds);
        if (!seconds) seconds = strdup(text_member(o, "seconds"));
        json_object_put(o);
    }
    free(seconds);
}

void test_operators(void **unused) {
    (void)unused;
    float x[N], with_nan[3] = {2, NAN, -1};
    double sum = 0, magnitudes = 0, squares = 0, exponentials = 0, nonzero = 0;
    for (int i = 0; i < N; i++) {
        x[i] = item(i);
        sum += (double)x[i];
        magnitudes += fabs((double)x[i]);
        squares += (double)x[i] * (double)x[i];
        exponentials += exp((double)x[i] - 50);
        nonzero += x[i] != 0;
    }
    const double mean = sum / N, variance = squares / N - mean * mean;
    need_device();
    write_npy("x.npy", 1, own_descr('f', 4), "(1000,)", x, sizeof(x));
    expect_pass("", "x.npy",
                (const row[]){{"min", -50, 0}, {"max", 50, 0}, {"mean", mean, 1e-6}, {"std", sqrt(variance), 1e-6}}, 4);
    expect_pass("", "x.npy", (const row[]){{"asum", magnitudes, 0}, {"sumsq", squares, 0}, {"nrm2", sqrt(squares), 1e-6}}, 3);
    expect_pass("", "x.npy", (const row[]){{"amax", 50, 0}, {"count_nonzero", nonzero, 0}}, 2);
    expect_pass("", "x.npy", (const row[]){{"var", variance, 1e-6}}, 1);
    expect_pass("", "x.npy", (const row[]){{"logsumexp", 50 + log(exponentials), 1e-6}}, 1);
    /* The same operator twice is one op of the pass, and two lines. */
    expect_pass("", "x.npy", (const row[]){{"sum", sum, 0}, {"sum", sum, 0}}, 2);
    write_file("nan.raw", with_nan, sizeof(with_nan));
    expect_pass("--dtype f32", "nan.raw", (const row[]){{"nanmin", -1, 0}, {"nanmax", 2, 0}}, 2);
    const int32_t factors[4] = {3, -5, 7, 1 << 30};
    write_file("factors.raw", factors, sizeof(factors));
    expect_pass("--dtype i32", "factors.raw", (const row[]){{"prod", -105.0 * (1 << 30), 0}}, 1);
    const uint8_t bits[3] = {0x3c, 0x7e, 0x18};
    write_file("bits.raw", bits, sizeof(bits));
    expect_pass("--dtype u8", "bits.raw", (const row[]){{"band", 0x18, 0}, {"bor", 0x7e, 0}, {"bxor", 0x5a, 0}}, 3);
}

static void expect_index(const json_object *object, const char *op, const char *value, const char *index) {
    json_object *o = (json_object *)(uintptr_t)object;
    assert_string_equal(text_member(o, "op"), op);
    if (strcmp(text_member(o, "value"), value) || strcmp(text_member(o, "index"), index))
        fail_msg("%s: value %s at %s, not %s at %s", op, text_member(o, "value"), text_member(o, "index"), value, index);
}

/* Runs `words` and compares the value and index of each line. `wanted` is op, value, index, ... */
static void expect_indices(const char *words, const char *const *wanted, unsigned count) {
    const result r = run(NULL, words);
    if (r.code || *r.err) fail_msg("%s: exit code %d: %s", words, r.code, r.err);
    for (unsigned i = 0; i < count; i++) {
        json_object *o = parse_line(&r, i);
        expect_index(o, wanted[3 * i], wanted[3 * i + 1], wanted[3 * i + 2]);
        json_object_put(o);
    }
}

/* The index, and the item at that index, from the same pass. */
void test_indices(void **unused) {
    (void)unused;
    const float x[6] = {3, -7.5f, 8, -7.5f, 8, 1}, with_nan[4] = {3, NAN, 9, NAN};
    const int8_t extremes[4] = {127, -3, -128, 5};
    need_device();
    write_file("x.raw", x, sizeof(x));
    expect_indices("reduce argmin,argmax --json --dtype f32 x.raw",
                   (const char *const[]){"argmin", "-7.5", "1", "argmax", "8.0", "2"}, 2);
    result r = run(NULL, "reduce argmin,argmax --dtype f32 x.raw");
    assert_int_equal(r.code, 0);
    assert_int_equal(strncmp(r.out, "1  argmin (-7.5) of 6 f32 in x.raw\n2  argmax (8) of 6 f32 in x.raw\nby ", 70), 0);
    write_file("nan.raw", with_nan, sizeof(with_nan));
    expect_indices("reduce argmin,argmax --json --dtype f32 nan.raw",
                   (const char *const[]){"argmin", "nan", "1", "argmax", "nan", "1"}, 2);
    write_file("none.raw", "", 0);
    expect_indices("reduce argmin,argmax --json --dtype f32 none.raw",
                   (const char *const[]){"argmin", "null", "null", "argmax", "null", "null"}, 2);
    r = run(NULL, "reduce argmin,argmax --dtype f32 none.raw");
    assert_int_equal(strncmp(r.out, "none  argmin of 0 f32 in none.raw\n", 34), 0);
    write_file("extremes.raw", extremes, sizeof(extremes));
    expect_indices("reduce iamax --json --dtype i8 extremes.raw", (const char *const[]){"iamax", "128", "2"}, 1);
}

/* Runs `words` without --json and compares the beginning of each line. */
static void expect_text(const char *words, const char *first) {
    const result r = run(NULL, words);
    if (r.code || *r.err) fail_msg("%s: exit code %d: %s", words, r.code, r.err);
    if (strncmp(r.out, first, strlen(first))) fail_msg("%s: '%s' does not start with '%s'", words, r.out, first);
}

/* Results of every kind, for people and as JSON. */
void test_texts(void **unused) {
    (void)unused;
    const float pairs[4] = {1.5f, -2, 0.25f, -0.5f}, odd[2] = {INFINITY, NAN};
    const double x[3] = {0.1, NAN, 0};
    const uint16_t halves[2] = {0x2e66, 0x3555}; /* 0.1 and 1/3, rounded */
    need_device();
    write_file("complex.raw", pairs, sizeof(pairs));
    expect_text("reduce sum,asum --dtype c64 complex.raw", "1.75-2.5j  sum of 2 c64 in ");
    write_file("odd.raw", odd, sizeof(odd));
    must_give(NULL, "reduce sum --dtype c64 odd.raw", "[ \"inf\", \"nan\" ]");
    expect_text("reduce sum --dtype c64 odd.raw", "inf+nanj  sum of 1 c64 in ");
    write_file("x.raw", x, sizeof(x));
    must_give(NULL, "reduce any --dtype f64 x.raw", "true");
    must_give(NULL, "reduce all --dtype f64 x.raw", "false");
    expect_text("reduce all --dtype f64 x.raw", "false  all of 3 f64 in ");
    write_file("halves.raw", halves, sizeof(halves));
    must_give(NULL, "reduce minmax --dtype f16 halves.raw", "[ 0.0999755859, 0.333251953 ]");
    expect_text("reduce minmax --dtype f16 halves.raw", "0.1 0.3333  minmax of 2 f16 in ");
    must_give(NULL, "reduce minmax --dtype bf16 halves.raw", "[ 5.22959454e-11, 7.93486834e-07 ]");
    must_give(NULL, "reduce minmax --dtype i8 halves.raw", "[ 46, 102 ]");
    must_give(NULL, "reduce minmax --dtype bool halves.raw", "[ true, true ]");
    const result r = run(NULL, "reduce minmax --dtype bool halves.raw --json");
    json_object *o = parse_line(&r, 0);
    assert_true(json_object_is_type(json_object_array_get_idx(member(o, "value"), 0), json_type_boolean));
    json_object_put(o);
}

void test_parameters(void **unused) {
    (void)unused;
    const float x[4] = {1, 2, 3, 6};
    need_compiler();
    write_file("four.raw", x, sizeof(x));
    must_give(NULL, "reduce var --dtype f32 four.raw", "3.5");
    must_give(NULL, "reduce var --dtype f32 --param ddof=1 four.raw", "4.66666651");
    must_give(NULL, "reduce var --dtype f32 --param ddof=4 four.raw", "inf");
    must_give(NULL, "reduce var --dtype f32 --param ddof=nan four.raw", "nan");
    must_give(NULL, "reduce --load x>p.t --combine a+b --identity 0 --param t:i32=2 --dtype f32 four.raw", "2.0");
    const result r = run(NULL, "reduce mean,var --json --dtype f32 --param ddof=2e0 four.raw");
    json_object *o = parse_line(&r, 1);
    assert_string_equal(text_member(o, "value"), "7.0");
    json_object_put(o);
}

/* 1 is lost beside 1e8 in f32, where they meet in one lane. */
void test_accuracy(void **unused) {
    (void)unused;
    static float x[4096];
    const int32_t whole[2] = {300, 212};
    for (int i = 0; i < 4096; i++) x[i] = i == 0 ? 1e8f : i == 4095 ? -1e8f : 1;
    need_compiler();
    write_file("lossy.raw", x, sizeof(x));
    const result r = run(NULL, "reduce sum --json --dtype f32 lossy.raw");
    json_object *o = parse_line(&r, 0);
    assert_true(json_object_get_double(member(o, "value")) != 4094);
    json_object_put(o);
    must_give(NULL, "reduce sum --dtype f32 --accuracy default --acc f64 lossy.raw", "4094.0");
    must_give(NULL, "reduce sum --dtype f32 --accuracy compensated lossy.raw", "4094.0");
    expect_pass("--dtype f32 --accuracy compensated", "lossy.raw",
                (const row[]){{"sum", 4094, 0}, {"mean", 4094.0 / 4096, 1e-7}}, 2);
    must_give(NULL, "reduce max --dtype f32 --out f16 lossy.raw", "inf");
    must_give(NULL, "reduce sum --dtype f32 --acc f64 --out bf16 lossy.raw", "4096.0");
    write_file("whole.raw", whole, sizeof(whole));
    must_give(NULL, "reduce sum --dtype i32 --out i8 whole.raw", "0");
    must_give(NULL, "reduce sum --dtype i32 --out f32 whole.raw", "512.0");
}
