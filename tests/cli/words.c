/* SPDX-License-Identifier: MIT */
/* The program's words: numbers in one notation, guesses at mistyped names, lists and help. */
#include "cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tally/tally.h>

const char *const all_commands[COMMANDS] = {"devices", "variants", "ops",   "reduce", "scan",  "check",
                                            "gather",  "scatter",  "study", "tune",   "bench", "help"};

/* ---- numbers --------------------------------------------------------------------------------- */

static void expect_size(const char *number, uint64_t n) {
    char words[256];
    snprintf(words, sizeof(words), "scatter two.npy --index map.npy -o out.npy --json --size %s", number);
    const result r = run(NULL, words);
    if (r.code) fail_msg("%s: exit code %d: %s", words, r.code, r.err);
    json_object *o = parse_line(&r, 0);
    if (json_object_get_uint64(member(o, "out_n")) != n) fail_msg("%s: out_n is %s", words, text_member(o, "out_n"));
    json_object_put(o);
}

/* Every option that takes a count accepts one notation, and refuses everything else in the same
 * words. */
void test_numbers(void **unused) {
    (void)unused;
    static const struct {
        const char *words, *limits; /* words: up to the number */
        const char *beyond;         /* a number that is too large for the option */
    } options[] = {
        {"study --n ", "1 to 2^40", "2T"},
        {"study --group ", "32 to 1024", "2K"},
        {"study --factor ", "1 to 65536", "1e5"},
        {"study --runs ", "7 to 1000", "1e4"},
        {"tune --n ", "1 to 2^63", "9e30"},
        {"scatter a --index m -o o --size ", "0 to 2^63", "2^64"},
        {"reduce --load x --combine a+b --identity 0 a --inputs ", "1 to 4", "5"},
    };
    static const char *const bad[] = {
        "x", "-1", "12m", "1.5M", "1e", "2^", "3*", "0x20", "1,000", "2^64", "18446744073709551616", "1e99"};
    char words[256];
    for (size_t o = 0; o < COUNT(options); o++)
        for (size_t i = 0; i <= COUNT(bad); i++) {
            const char *const number = i < COUNT(bad) ? bad[i] : options[o].beyond;
            const char *const says[] = {number, options[o].limits, "1000, 1e6, 12M, 2^20 or 3*2^22"};
            snprintf(words, sizeof(words), "%s%s", options[o].words, number);
            must_refuse(NULL, words, 2, says, COUNT(says));
        }
    need_compiler();
    const float x[2] = {1, 2};
    const uint32_t map[2] = {0, 1};
    write_file("two.raw", x, sizeof(x));
    write_npy("two.npy", 1, own_descr('f', 4), "(2,)", x, sizeof(x));
    write_npy("map.npy", 1, own_descr('u', 4), "(2,)", map, sizeof(map));
    expect_size("1000", 1000);
    expect_size("1e3", 1000);
    expect_size("2K", 2048);
    expect_size("2^10", 1024);
    expect_size("3*2^9", 1536);
    /* Other options take it too. */
    result r = run(NULL, "study --n 1e3 --runs 1e1 --group 2^6 --factor 1*2 --variant coarsened --json");
    assert_int_equal(r.code, 0);
    json_object *o = parse_line(&r, 0), *row = json_object_array_get_idx(member(o, "rows"), 0);
    assert_int_equal(json_object_get_int(member(row, "group_threads")), 64);
    assert_int_equal(json_object_get_int(member(row, "factor")), 2);
    assert_int_equal(json_object_get_int(member(row, "runs")), 10);
    json_object_put(o);
    must_give(NULL, "reduce --load x*y --combine a+b --identity 0 --inputs 2^1 --dtype f32 two.raw two.raw", "5.0");
}

/* ---- guesses --------------------------------------------------------------------------------- */

void test_guesses(void **unused) {
    (void)unused;
    static const bad_row rows[] = {
        {"reduec sum x", {"reduec", "did you mean reduce? there are devices, variants, "}, NULL, NULL},
        {"help stduy", {"stduy", "did you mean study? there are devices, "}, NULL, NULL},
        {"--jsno", {"--jsno", "did you mean --json? there are --backend, "}, NULL, NULL},
        {"gather x --in=m", {"--in starts several options: --initial, --inputs, --index, --into"}, NULL, NULL},
        {"reduce sum x --dytpe=f32", {"--dytpe=f32", "did you mean --dtype? there are "}, NULL, NULL},
        {"reduce summ x", {"summ", "did you mean sum? there are sum, min"}, NULL, NULL},
        {"reduce SUM x", {"SUM", "did you mean sum? there are sum, min"}, NULL, NULL},
        {"reduce sum,count x", {"operator count", "did you mean count_nonzero? "}, NULL, NULL},
        {"reduce var --param dof=1 x", {"--param dof", "did you mean ddof? there is ddof"}, NULL, NULL},
        {"reduce sum --dtype f23 x", {"f23", "did you mean f32? there are f32"}, NULL, NULL},
        {"reduce sum --out i644 x", {"i644", "did you mean i64? there are"}, NULL, NULL},
        {"reduce sum --acc f46 x", {"f46", "did you mean f64? there are"}, NULL, NULL},
        {"reduce sum --accuracy compensate x", {"did you mean compensated? there are"}, NULL, NULL},
        {"devices --backend hsot:0", {"'hsot': did you mean host? there are"}, NULL, NULL},
        {"reduce sum --backend cuda,hots x", {"'hots': did you mean host? there are"}, NULL, NULL},
        {"reduce sum --variant group_tre x", {"group_tre", "did you mean group_tree? there are auto"}, NULL, NULL},
        {"scan sm x -o o.npy", {"operator sm", "did you mean sum? there are sum"}, NULL, NULL},
        {"scan sum --variant wrap_carry x -o o.npy", {"did you mean warp_carry? there are auto"}, NULL, NULL},
        {"gather x --index m -o o.npy --dtype u61", {"u61", "did you mean u64? there are"}, NULL, NULL},
        {"study --op maxx", {"maxx", "did you mean max? there are sum"}, NULL, NULL},
        {"study --dtype f34", {"f34", "did you mean f32? there are"}, NULL, NULL},
        {"study --variant sequental", {"sequental", "did you mean sequential? there are auto"}, NULL, NULL},
        {"study --variant auto,shufle", {"shufle", "did you mean shuffle? there are auto"}, NULL, NULL},
        {"study --primitive gather --variant radnom", {"radnom", "did you mean random? there are identity"}, NULL, NULL},
        {"study --primitive sacn", {"sacn", "did you mean scan? there are reduce"}, NULL, NULL},
    };
    must_refuse_rows(rows, COUNT(rows), 2);
    /* No name is near, so there is no guess. */
    const result r = run(NULL, "reduce histogram x");
    assert_int_equal(r.code, 2);
    assert_null(strstr(r.err, "did you mean"));
}

/* ---- help and lists -------------------------------------------------------------------------- */

void test_help_command(void **unused) {
    (void)unused;
    char words[64];
    const result all = run(NULL, "--help");
    static char text[sizeof(all.out)];
    snprintf(text, sizeof(text), "%s", all.out);
    result r = run(NULL, "help");
    assert_int_equal(r.code, 0);
    assert_string_equal(r.out, text);
    assert_non_null(strstr(text, "1000, 1e6, 12M, 2^20 or 3*2^22"));
    for (size_t i = 0; i < COMMANDS; i++) {
        if (!strstr(text, all_commands[i])) fail_msg("the help does not name %s", all_commands[i]);
        if (!strcmp(all_commands[i], "bench")) continue;
        snprintf(words, sizeof(words), "%s --help", all_commands[i]);
        char one[sizeof(text)];
        snprintf(one, sizeof(one), "%s", run(NULL, words).out);
        snprintf(words, sizeof(words), "help %s", all_commands[i]);
        r = run(NULL, words);
        assert_int_equal(r.code, 0);
        assert_string_equal(r.err, "");
        assert_string_equal(r.out, one);
        snprintf(words, sizeof(words), "tally %s", all_commands[i]);
        assert_non_null(strstr(r.out, words));
    }
    static const bad_row rows[] = {
        {"help frobnicate", {"help frobnicate", "there are devices"}, NULL, NULL},
        {"help reduce scan", {"unexpected argument scan"}, NULL, NULL},
        {"help --json", {"help takes no option --json"}, NULL, NULL},
        {"ops sum", {"unexpected argument sum"}, NULL, NULL},
        {"ops --backend opencl", {"ops takes no option --backend"}, NULL, NULL},
    };
    must_refuse_rows(rows, COUNT(rows), 2);
}

/* Each operator once, with its summary and the library's types. No device is needed. */
void test_ops_list(void **unused) {
    (void)unused;
    const setup none = {.env = {"OCL_ICD_VENDORS=/nonexistent", "CUDA_VISIBLE_DEVICES="}};
    int code;
    char *text = read_output(&none, "ops --json", &code), *table = read_output(&none, "ops", &code);
    json_object *all = json_tokener_parse(text);
    assert_non_null(all);
    json_object *rows = member(all, "ops");
    size_t count = 0;
    for (int op = 0; op < TALLY_OP_END; op++) {
        const char *name = tally_op_name((tally_op)op);
        char line[64];
        if (!name) continue;
        json_object *row = NULL;
        for (size_t i = 0; i < json_object_array_length(rows); i++)
            if (!strcmp(text_member(json_object_array_get_idx(rows, i), "name"), name))
                row = json_object_array_get_idx(rows, i);
        if (!row) fail_msg("%s is not listed", name);
        count++;
        assert_string_equal(text_member(row, "summary"), tally_op_summary((tally_op)op));
        assert_int_equal(json_object_get_int(member(row, "inputs")), tally_op_inputs((tally_op)op));
        for (int in = 0; in < TALLY_DTYPE_END; in++) {
            const char *type = tally_dtype_name((tally_dtype)in);
            const char *gives = tally_dtype_name(tally_result_dtype((tally_op)op, (tally_dtype)in));
            if (type) assert_string_equal(text_member(member(row, "result_dtypes"), type), gives ? gives : "null");
        }
        snprintf(line, sizeof(line), "\n%s ", name);
        if (!strstr(table, line)) fail_msg("%s is not in the table: %s", name, table);
    }
    assert_int_equal(json_object_array_length(rows), count);
    assert_non_null(strstr(table, "ddof=0"));
    json_object_put(all);
    free(text);
    free(table);
}

/* The value alone, a line for each. Nothing about the device. */
void test_quiet(void **unused) {
    (void)unused;
    const float x[3] = {3, 8.5f, -1};
    const char *const both[] = {"--json", "--quiet"};
    must_refuse(NULL, "reduce sum --quiet --json x", 2, both, COUNT(both));
    const char *const other[] = {"devices takes no option --quiet"};
    must_refuse(NULL, "devices --quiet", 2, other, COUNT(other));
    need_compiler();
    write_npy("three.npy", 1, own_descr('f', 4), "(3,)", x, sizeof(x));
    write_npy("empty.npy", 1, own_descr('f', 4), "(0,)", x, 0);
    result r = run(NULL, "reduce sum,argmax,minmax,count_nonzero --quiet three.npy");
    assert_int_equal(r.code, 0);
    assert_string_equal(r.err, "");
    assert_string_equal(r.out, "10.5\n1\n-1 8.5\n3\n");
    r = run(NULL, "reduce sum,argmin three.npy empty.npy --quiet");
    assert_string_equal(r.out, "10.5\n2\n0\nnone\n");
    r = run(NULL, "reduce --load x*x --combine a+b --identity 0 --quiet three.npy");
    assert_string_equal(r.out, "82.25\n");
}
