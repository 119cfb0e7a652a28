/* SPDX-License-Identifier: MIT */
/* Operators of two files, and custom ops. */
#include "cli.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N 1000

void test_pairs(void **unused) {
    (void)unused;
    float x[N], y[N];
    double dot = 0, distance = 0;
    char value[2][64];
    for (int i = 0; i < N; i++) {
        x[i] = (float)(i * 37 % 101 - 50);
        y[i] = (float)(i * 53 % 89 - 44);
        dot += (double)x[i] * (double)y[i];
        distance += ((double)x[i] - (double)y[i]) * ((double)x[i] - (double)y[i]);
    }
    snprintf(value[0], sizeof(value[0]), "%.1f", dot);
    snprintf(value[1], sizeof(value[1]), "%.1f", distance);
    need_device();
    write_npy("x.npy", 1, own_descr('f', 4), "(10, 100)", x, sizeof(x));
    write_npy("y.npy", 1, own_descr('f', 4), "(10, 100)", y, sizeof(y));
    result r = run(NULL, "reduce dot,dist2 --json x.npy y.npy y.npy y.npy");
    assert_int_equal(r.code, 0);
    assert_int_equal(count_lines(r.out), 4);
    static const char *const ops[2] = {"dot", "dist2"}, *const names[2] = {"x.npy", "y.npy"};
    for (unsigned i = 0; i < 4; i++) {
        json_object *o = parse_line(&r, i), *files = member(o, "file");
        assert_string_equal(text_member(o, "op"), ops[i % 2]);
        assert_int_equal(json_object_get_int(member(o, "n")), N);
        assert_int_equal(json_object_array_length(files), 2);
        assert_string_equal(json_object_get_string(json_object_array_get_idx(files, 0)), names[i / 2]);
        assert_string_equal(json_object_get_string(json_object_array_get_idx(files, 1)), "y.npy");
        if (i < 2) assert_string_equal(text_member(o, "value"), value[i]);
        json_object_put(o);
    }
    /* The program reads both inputs. */
    r = run(&(setup){.in_file = "y.npy"}, "reduce dot,dist2 x.npy -");
    snprintf(value[1], sizeof(value[1]), "%.0f  dot of 1000 f32 in x.npy and -\n", dot);
    if (strncmp(r.out, value[1], strlen(value[1]))) fail_msg("'%s' does not start with '%s'", r.out, value[1]);

    const float a[4] = {1, 2, 3, -4}, b[4] = {5, -1, 0.5f, 2};
    write_npy("cx.npy", 1, own_descr('c', 8), "(2,)", a, sizeof(a));
    write_npy("cy.npy", 1, own_descr('c', 8), "(2,)", b, sizeof(b));
    /* (1+2j)(5-j) + (3-4j)(0.5+2j), and the same with the first factors conjugated. */
    must_give(NULL, "reduce dot cx.npy cy.npy", "[ 16.5, 13.0 ]");
    must_give(NULL, "reduce dotc cx.npy cy.npy", "[ -3.5, -3.0 ]");

    const double p[3] = {1, 2, INFINITY}, q[3] = {1, 2.001, INFINITY};
    write_npy("p.npy", 1, own_descr('f', 8), "(3,)", p, sizeof(p));
    write_npy("q.npy", 1, own_descr('f', 8), "(3,)", q, sizeof(q));
    must_give(NULL, "reduce allclose p.npy q.npy", "false");
    must_give(NULL, "reduce allclose --param rtol=1e-2 p.npy q.npy", "true");
    must_give(NULL, "reduce allclose --param rtol=0 --param atol=0.01 p.npy q.npy", "true");
    must_give(NULL, "reduce allclose --param rtol=0 --param atol=0 p.npy q.npy", "false");
}

/* Pairs of several slices that end at different places: in place, swapped, misaligned and through a
 * pipe, with the same bits. */
void test_slices_of_pairs(void **unused) {
    (void)unused;
    static const char *const routes[] = {"big.npy big.npy", "big.npy swapped.npy", "swapped.npy odd.npy", "odd.npy -",
                                         "- swapped.npy"};
    const size_t n = 4500001; /* 18 MB, over two buffers */
    char dictionary[128], words[128], *first = NULL;
    float *x = malloc(n * sizeof(*x));
    unsigned char *swapped = malloc(n * sizeof(*x));
    need_device();
    assert_true(x && swapped);
    for (size_t i = 0; i < n; i++) x[i] = (float)((i * 2654435761u) % 1000003) * (i % 2 ? -0.001f : 0.001f);
    for (size_t i = 0; i < n * 4; i++) swapped[i] = ((unsigned char *)x)[i / 4 * 4 + 3 - i % 4];
    snprintf(dictionary, sizeof(dictionary), "{'descr': '%s', 'fortran_order': False, 'shape': (%zu,)}", own_descr('f', 4), n);
    if ((10 + strlen(dictionary)) % 4 == 0) strcat(dictionary, " ");
    write_npy_dictionary("odd.npy", 1, dictionary, x, n * 4);
    snprintf(dictionary, sizeof(dictionary), "(%zu,)", n);
    write_npy("big.npy", 1, own_descr('f', 4), dictionary, x, n * 4);
    write_npy("swapped.npy", 1, *own_descr('f', 4) == '<' ? ">f4" : "<f4", dictionary, swapped, n * 4);
    free(x);
    free(swapped);
    for (size_t i = 0; i < COUNT(routes); i++) {
        snprintf(words, sizeof(words), "reduce dot --json %s", routes[i]);
        const result r = run(&(setup){.in_file = "big.npy"}, words);
        if (r.code) fail_msg("%s: exit code %d: %s", words, r.code, r.err);
        json_object *o = parse_line(&r, 0);
        assert_int_equal(json_object_get_int64(member(o, "n")), n);
        if (!first) first = strdup(text_member(o, "value"));
        if (strcmp(text_member(o, "value"), first)) fail_msg("%s: %s, not %s", words, text_member(o, "value"), first);
        json_object_put(o);
    }
    free(first);
}

#define SUM_OF(load) "reduce --dtype f32 --load " load " --combine a+b --identity 0 "

void test_own_operators(void **unused) {
    (void)unused;
    const float x[5] = {1, -2, 0.25f, 4, -8}, y[5] = {2, 1, 4, 0.5f, 1};
    need_compiler();
    write_file("x.raw", x, sizeof(x));
    write_file("y.raw", y, sizeof(y));
    must_give(NULL, SUM_OF("x*x") "x.raw", "85.0625");
    result r = run(NULL, SUM_OF("x*x") "--json x.raw y.raw");
    assert_int_equal(count_lines(r.out), 2);
    json_object *o = parse_line(&r, 1);
    assert_string_equal(text_member(o, "op"), "custom");
    assert_string_equal(text_member(o, "value"), "22.25");
    json_object_put(o);
    r = run(NULL, SUM_OF("x*x") "x.raw");
    assert_int_equal(strncmp(r.out, "85.0625  custom of 5 f32 in x.raw\nby ", 37), 0);
    /* A parameter. Another value of it does not compile anew. */
    must_give(NULL, SUM_OF("x>p.least?x:0") "--param least=0.5 x.raw", "5.0");
    must_give(NULL, SUM_OF("x>p.least?x:0") "--param least=2 x.raw", "4.0");
    /* One of an integer type, with all digits that an f64 has. */
    must_give(NULL, "reduce --dtype f32 --load p.t --combine a|b --identity 0 --acc i64 --param t:i64=-9007199254740992 x.raw",
              "-9007199254740992");
    must_give(NULL, "reduce --dtype f32 --load p.t --combine a|b --identity 0 --acc i64 --param t:i64=2.75 x.raw", "2");
    /* A weighted mean of two inputs; the index of the last item above 0; an accumulator and a
     * result of other types. */
    must_give(NULL, SUM_OF("x*y") "--inputs 2 --finish a/n x.raw y.raw", "-1.0");
    must_give(NULL, "reduce --dtype f32 --load x>0?i:0 --combine a>b?a:b --identity 0 --acc u64 x.raw", "3");
    must_give(NULL, SUM_OF("x*x") "--finish a>85 --out bool x.raw", "true");
    must_give(NULL, "reduce --dtype f32 --load x --combine fmax(a,b) --identity -INFINITY --acc f64 --finish sqrt(a) x.raw",
              "2.0");
    write_file("none.raw", "", 0);
    must_give(NULL, SUM_OF("x*x") "none.raw", "0.0");
}
