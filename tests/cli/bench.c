/* SPDX-License-Identifier: MIT */
/* `tally bench`: its table, JSON and plot, and refusals. The figures themselves depend on the
 * machine. */
#include "cli.h"
#include "tests/support/sample.h"
#include "tests/support/test_main.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* If the benchmark is not built, tally names the program that it has not found, and there is
 * nothing else to test. */
static bool has_bench(void) {
    const result r = run(NULL, "bench --help");
    if (r.code == 0) {
        assert_non_null(strstr(r.out, "usage: tally_bench"));
        return true;
    }
    assert_int_equal(r.code, 1);
    assert_non_null(strstr(r.err, "tally bench is not installed here: tally_bench is neither in"));
    return false;
}

static void expect_engine(json_object *engine, double bytes) {
    const double seconds = json_object_get_double(member(engine, "seconds"));
    const double speed = json_object_get_double(member(engine, "bytes_per_second"));
    assert_true(seconds > 0 && speed > 0.99 * bytes / seconds && speed < 1.01 * bytes / seconds);
    assert_true(json_object_get_double(member(engine, "tally_is")) > 0);
}

void test_bench(void **unused) {
    (void)unused;
    need_device();
    if (!has_bench()) test_skip("tally_bench is not here");
    char words[256];
    snprintf(words, sizeof(words),
             "bench --backend %s --sizes 2^12,32K --ops sum,dot --cache warm,cold --blocks 7 --json --plot bench.svg", device);
    const result r = run(NULL, words);
    assert_string_equal(r.err, "");
    assert_int_equal(r.code, 0);
    /* 2^12 items cannot be cold. */
    assert_int_equal(count_lines(r.out), 6);
    for (unsigned line = 0; line < 6; line++) {
        json_object *o = parse_line(&r, line), *engines = member(o, "engines");
        const double n = line < 2 ? 4096 : 32768, inputs = line % 2 ? 2 : 1;
        assert_string_equal(text_member(o, "op"), line % 2 ? "dot" : "sum");
        assert_string_equal(text_member(o, "cache"), line < 4 ? "warm" : "cold");
        assert_true(json_object_get_double(member(o, "n")) == n);
        assert_string_equal(text_member(json_object_array_get_idx(engines, 0), "name"), "tally");
        for (size_t e = 0; e < json_object_array_length(engines); e++)
            expect_engine(json_object_array_get_idx(engines, e), 4 * n * inputs);
        json_object_put(o);
    }
    char path[512], text[4096] = "";
    snprintf(path, sizeof(path), "%s/bench.svg", folder_path());
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    assert_true(fread(text, 1, sizeof(text) - 1, f) > 0);
    fclose(f);
    assert_non_null(strstr(text, "<svg"));
    assert_non_null(strstr(text, "sum of f32, warm"));
}

/* Narrow types, sizes that are no powers of two, and the bits of rounded inputs, which cannot
 * differ on one device. */
void test_bench_bits(void **unused) {
    (void)unused;
    need_device();
    if (!has_bench()) test_skip("tally_bench is not here");
    char words[256];
    snprintf(
        words, sizeof(words),
        "bench --backend %s --sizes 3K,4096 --ops sum,argmax --dtypes f32,f16,bf16,i8 --blocks 7 --peers none --bits --json",
        device);
    const result r = run(NULL, words);
    assert_int_equal(r.code, 0);
    assert_non_null(strstr(r.err, "bits: nothing was compared: of 4 cases none ran on two devices\n"));
    /* Two operators and sizes for each type; for f32 the bits too. */
    assert_int_equal(count_lines(r.out), 20);
    for (unsigned line = 4; line < 8; line++) {
        json_object *o = parse_line(&r, line);
        assert_string_equal(text_member(o, "dtype"), "f32");
        assert_true(json_object_get_double(member(o, "n")) == (line < 6 ? 3072 : 4096));
        assert_int_equal(strlen(text_member(o, "bits")), line % 2 ? 16 : 8);
        json_object_put(o);
    }
}

/* Cases of segments, a line each. The program itself checks their results. */
void test_bench_segments(void **unused) {
    (void)unused;
    need_device();
    if (!has_bench()) test_skip("tally_bench is not here");
    if (!sample_has_turn(1)) test_skip("it has no turn in this sampled run");
    static const char *const groups[] = {"middle", "offsets", "keys"};
    unsigned of_group[COUNT(groups)] = {0};
    char words[256];
    snprintf(words, sizeof(words),
             "bench --backend %s --primitive segments --cases middle,offsets,keys --sizes 2^16 --blocks 7 --json", device);
    const result r = run(NULL, words);
    assert_string_equal(r.err, "");
    assert_int_equal(r.code, 0);
    for (unsigned line = 0; line < count_lines(r.out); line++) {
        json_object *o = parse_line(&r, line), *engines = member(o, "engines");
        assert_string_equal(text_member(o, "primitive"), "segments");
        assert_true(json_object_get_double(member(o, "bytes")) > 4 * json_object_get_double(member(o, "n")));
        assert_true(json_object_get_double(member(o, "count")) >= 1);
        assert_string_equal(text_member(json_object_array_get_idx(engines, 0), "name"), "tally");
        for (size_t g = 0; g < COUNT(groups); g++) of_group[g] += !strcmp(text_member(o, "group"), groups[g]);
        json_object_put(o);
    }
    /* Lengths of mean 2^24 need more items, and so do most middle axes. */
    assert_true(of_group[0] >= 1 && of_group[1] >= 9 && of_group[2] >= 7);
}

/* The other primitives. The program itself checks their results. */
void test_bench_primitives(void **unused) {
    (void)unused;
    need_device();
    if (!has_bench()) test_skip("tally_bench is not here");
    if (!sample_has_turn(1)) test_skip("it has no turn in this sampled run");
    static const struct {
        const char *primitive, *key, *with;
        double bytes; /* of an item */
    } rows[] = {{"scan", "op", "sum", 8},        {"scan", "op", "min", 8},           {"gather", "map", "identity", 12},
                {"gather", "map", "random", 12}, {"scatter", "map", "identity", 12}, {"scatter", "map", "random", 12}};
    char words[256];
    snprintf(words, sizeof(words),
             "bench --backend %s --primitive scan,gather,scatter --ops sum,min --sizes 3K --cache warm,cold --blocks 7 --json "
             "--plot moves.svg",
             device);
    const result r = run(NULL, words);
    assert_string_equal(r.err, "");
    assert_int_equal(r.code, 0);
    assert_int_equal(count_lines(r.out), COUNT(rows));
    for (unsigned line = 0; line < COUNT(rows); line++) {
        json_object *o = parse_line(&r, line), *engines = member(o, "engines");
        assert_string_equal(text_member(o, "primitive"), rows[line].primitive);
        assert_string_equal(text_member(o, rows[line].key), rows[line].with);
        for (size_t e = 0; e < json_object_array_length(engines); e++)
            expect_engine(json_object_array_get_idx(engines, e), 3072 * rows[line].bytes);
        /* The engine without checks stands beside the default. */
        if (rows[line].bytes > 8)
            assert_string_equal(text_member(json_object_array_get_idx(engines, 1), "name"), "tally-unchecked");
        json_object_put(o);
    }
}

/* A hash of the whole output. */
void test_bench_scan_bits(void **unused) {
    (void)unused;
    need_device();
    if (!has_bench()) test_skip("tally_bench is not here");
    char words[256];
    snprintf(words, sizeof(words), "bench --backend %s --primitive scan --sizes 2^12 --peers none --blocks 7 --bits --json",
             device);
    const result first = run(NULL, words), second = run(NULL, words);
    assert_int_equal(first.code, 0);
    assert_int_equal(count_lines(first.out), 2);
    json_object *a = parse_line(&first, 1), *b = parse_line(&second, 1);
    assert_string_equal(text_member(a, "primitive"), "scan");
    assert_int_equal(strlen(text_member(a, "bits")), 16);
    assert_string_equal(text_member(a, "bits"), text_member(b, "bits"));
    json_object_put(a);
    json_object_put(b);
}

/* Each bar must be reported. The machine decides if it is kept. */
void test_bench_bar(void **unused) {
    (void)unused;
    need_compiler();
    if (!has_bench()) test_skip("tally_bench is not here");
    char words[128];
    snprintf(words, sizeof(words), "bench --backend %s --bar --sizes 2^10 --json", device);
    const result r = run(NULL, words);
    assert_true(r.code == 0 || r.code == 1);
    unsigned bars = 0, told[3] = {0};
    for (unsigned line = 0; line < count_lines(r.out); line++) {
        json_object *o = parse_line(&r, line);
        if (json_object_object_get_ex(o, "bar", NULL)) {
            const char *const outcomes[] = {"passed", "FAILED", "not shown"};
            for (size_t i = 0; i < COUNT(outcomes); i++) told[i] += !strcmp(text_member(o, "outcome"), outcomes[i]);
            bars++;
        }
        json_object_put(o);
    }
    assert_true(bars > 10 && told[0] + told[1] + told[2] == bars);
    char summary[64];
    snprintf(summary, sizeof(summary), "bars: %u passed, %u FAILED, %u not shown", told[0], told[1], told[2]);
    assert_non_null(strstr(r.err, summary));
    assert_int_equal(r.code, told[1] || !told[0]);
    /* Bars whose other cases are left out are not shown, so none is passed. */
    const result some = run(NULL, "bench --backend host --bar --ops sum --dtypes f32 --sizes 2^10 --peers OpenMP");
    assert_non_null(strstr(some.out, "bars: 0 passed, "));
    assert_int_equal(some.code, 1);
}

/* The object of a cell of 4096 items. */
static void expect_cell(json_object *o, const char *op, const char *dtype) {
    assert_string_equal(text_member(o, "op"), op);
    assert_string_equal(text_member(o, "dtype"), dtype);
    assert_true(json_object_get_double(member(o, "n")) == 4096);
    assert_true(json_object_get_double(member(o, "of_read")) > 0);
    assert_true(json_object_get_double(member(o, "read_bytes_per_second")) > 0);
    assert_true(json_object_get_double(member(o, "plan_seconds")) > 0);
    assert_true(json_object_get_double(member(o, "first_call_seconds")) > 0);
    json_object_put(o);
}

static void read_picture(const char *name, char *text, size_t room) {
    char path[512];
    snprintf(path, sizeof(path), "%s/%s", folder_path(), name);
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    text[fread(text, 1, room - 1, f)] = 0;
    fclose(f);
}

/* Cells in the order of types, then operators; those that are no operation are left out. The last
 * line tells of all, with the types in the order of the table. */
void test_bench_grid(void **unused) {
    (void)unused;
    need_device();
    if (!has_bench()) test_skip("tally_bench is not here");
    static const char *const cells[][2] = {{"sum", "f32"}, {"minmax", "f32"}, {"var", "f32"}, {"dot", "f32"},
                                           {"sum", "u8"},  {"minmax", "u8"},  {"band", "u8"}, {"var", "u8"},
                                           {"dot", "u8"},  {"sum", "c64"},    {"dot", "c64"}};
    char words[256], text[65536];
    snprintf(words, sizeof(words),
             "bench --backend %s --grid --ops sum,minmax,band,var,dot --dtypes c64,u8,f32 --sizes 2^12 --json --plot grid.svg",
             device);
    const result r = run(NULL, words);
    assert_string_equal(r.err, "");
    assert_int_equal(r.code, 0);
    assert_int_equal(count_lines(r.out), COUNT(cells) + 1);
    for (unsigned line = 0; line < COUNT(cells); line++) expect_cell(parse_line(&r, line), cells[line][0], cells[line][1]);
    json_object *o = parse_line(&r, COUNT(cells));
    assert_string_equal(text_member(o, "grid"), device);
    assert_int_equal(json_object_get_int(member(o, "cells")), COUNT(cells));
    assert_true(json_object_get_int(member(o, "below_bar")) <= (int)COUNT(cells));
    assert_true(json_object_get_int(member(o, "compile_threads")) > 0);
    assert_string_equal(json_object_get_string(member(o, "dtypes")), "[ \"f32\", \"c64\", \"u8\" ]");
    assert_string_equal(json_object_get_string(member(o, "ops")), "[ \"sum\", \"minmax\", \"band\", \"var\", \"dot\" ]");
    json_object_put(o);
    read_picture("grid.svg", text, sizeof(text));
    assert_non_null(strstr(text, ">minmax<"));
    assert_non_null(strstr(text, "of 11 cells are below 0.90"));
}

/* `all` alone asks for the grid. Its lines fit a terminal. */
void test_bench_grid_table(void **unused) {
    (void)unused;
    need_device();
    if (!has_bench()) test_skip("tally_bench is not here");
    static const char *const there[] = {"share of the speed of a kernel that only reads the same bytes; 64.0 KiB each input",
                                        " of 15 cells\n", "\nfloats          f16   bf16    f32    f64    c64   c128\nsum  ",
                                        "\nintegers         i8    i16    i32    i64     u8    u16    u32    u64   bool\nsum  ",
                                        "seconds of making the plan and of its first call, on "};
    char words[256];
    snprintf(words, sizeof(words), "bench --backend %s --dtypes all --ops sum --bytes 64K --peers none --compile", device);
    const result r = run(NULL, words);
    assert_string_equal(r.err, "");
    assert_int_equal(r.code, 0);
    for (size_t i = 0; i < COUNT(there); i++)
        if (!strstr(r.out, there[i])) fail_msg("\"%s\" is not in:\n%s", there[i], r.out);
    assert_null(strstr(r.out, "by the peer's"));
    size_t columns = 0;
    for (const char *c = r.out; *c; c++) {
        columns = *c == '\n' ? 0 : columns + 1;
        assert_true(columns <= 99);
    }
}

/* Each form is a grid of its own, in the order of the table. */
void test_bench_grid_forms(void **unused) {
    (void)unused;
    need_device();
    if (!has_bench()) test_skip("tally_bench is not here");
    static const char *const cells[][3] = {{"rows-32", "sum", "f32"},        {"rows-32", "dot", "f32"},
                                           {"rows-32", "sum", "i8"},         {"rows-32", "dot", "i8"},
                                           {"masked-rows-32", "sum", "f32"}, {"masked-rows-32", "dot", "f32"},
                                           {"masked-rows-32", "sum", "i8"},  {"masked-rows-32", "dot", "i8"},
                                           {"scan", "sum", "f32"},           {"scan", "sum", "i8"}};
    static const char *const grids[] = {"rows-32", "masked-rows-32", "scan"};
    char words[256], text[65536];
    snprintf(words, sizeof(words),
             "bench --backend %s --forms scan,masked-rows-32,rows-32 --ops sum,dot --dtypes i8,f32 --bytes 64K --json "
             "--plot forms.svg",
             device);
    result r = run(NULL, words);
    assert_string_equal(r.err, "");
    assert_int_equal(r.code, 0);
    assert_int_equal(count_lines(r.out), COUNT(cells) + COUNT(grids));
    for (unsigned line = 0; line < COUNT(cells) + COUNT(grids); line++) {
        json_object *o = parse_line(&r, line);
        const int is_cell = line < COUNT(cells);
        assert_string_equal(text_member(o, "form"), is_cell ? cells[line][0] : grids[line - COUNT(cells)]);
        if (is_cell) assert_string_equal(text_member(o, "op"), cells[line][1]);
        if (is_cell) assert_string_equal(text_member(o, "dtype"), cells[line][2]);
        if (is_cell) assert_true(json_object_get_double(member(o, line < 8 ? "of_read" : "of_copy")) > 0);
        json_object_put(o);
    }
    read_picture("forms.svg", text, sizeof(text));
    assert_non_null(strstr(text, "rows of 32, with a mask. "));
    assert_non_null(strstr(text, "share of a copy"));
    snprintf(words, sizeof(words), "bench --backend %s --forms whole --ops sum --bytes 64K --dtypes f32 --peers none", device);
    r = run(NULL, words);
    assert_string_equal(r.err, "");
    assert_int_equal(r.code, 0);
    assert_non_null(strstr(r.out, " of 1 cells\n"));
}

/* The grid ends after its time, says so, and still writes the table and the picture. */
void test_bench_grid_ends(void **unused) {
    (void)unused;
    need_device();
    if (!has_bench()) test_skip("tally_bench is not here");
    char words[256], path[512];
    snprintf(words, sizeof(words),
             "bench --backend %s --ops all --dtypes all --bytes 64K --peers none --seconds 1 --progress --plot ended.svg",
             device);
    const result r = run(NULL, words);
    assert_int_equal(r.code, 1);
    assert_non_null(strstr(r.err, "tally_bench: out of time: "));
    assert_non_null(strstr(r.err, " cells are measured\n"));
    assert_non_null(strstr(r.err, "  plans made\n"));
    assert_null(strstr(r.err, "failed"));
    if (*r.out) assert_non_null(strstr(r.out, "\n? not measured: "));
    snprintf(path, sizeof(path), "%s/ended.svg", folder_path());
    /* A chart without a cell would take the place of an older one. */
    assert_int_equal(access(path, R_OK) == 0, !strstr(r.err, "out of time: 0 of "));
}

static result must_say(const char *words, const char *says, int code) {
    const result r = run(NULL, words);
    if (r.code != code || !strstr(r.err, says)) fail_msg("%s: exit code %d: %s", words, r.code, r.err);
    return r;
}

void test_bench_forms_usage(void **unused) {
    (void)unused;
    if (!has_bench()) test_skip("tally_bench is not here");
    must_say("bench --forms rows-33", "--forms rows-33: 'rows-33': did you mean rows-32? there are whole, rows-4, ", 2);
    must_say("bench --forms scan --sizes 2^10,2^11", "a grid has one size", 2);
    must_say("bench --forms scan --bar", "a grid has no --bar", 2);
    must_say("bench --maps random", "--maps is of --primitive gather and scatter", 2);
    must_say("bench --backend host --forms masked --ops sum --bytes 64K", "masked by host:0: no cell: too few", 1);
}

void test_bench_usage(void **unused) {
    (void)unused;
    static const struct {
        const char *words, *says;
        int code;
    } rows[] = {
        {"bench --backend host,vulkan", "--backend vulkan: unknown backend", 2},
        {"bench --backend host:9", "--backend host:9: no such device", 1},
        {"bench --ops sum,max,mim", "--ops sum,max,mim: 'mim': did you mean min? there are sum, ", 2},
        {"bench --primitive scan,sort", "--primitive scan,sort", 2},
        {"bench --primitive gahter", "did you mean gather?", 2},
        {"bench --primitive scan --maps reverse", "--maps reverse", 2},
        {"bench --primitive gather --maps radnom", "did you mean random?", 2},
        {"bench --dtypes f8", "--dtypes f8", 2},
        {"bench --sizes 2^33", "4 to 2^32", 2},
        {"bench --sizes 1", "4 to 2^32", 2},
        {"bench --sizes 0M", "--sizes 0M", 2},
        {"bench --sizes 4097M", "4 to 2^32", 2},
        {"bench --sizes 2^64", "4 to 2^32", 2},
        {"bench --sizes 12m", "1000, 1e6, 12M, 2^20 or 3*2^22", 2},
        {"bench --sizes -12", "--sizes -12", 2},
        {"bench --sizes 12,,13", "--sizes 12,,13", 2},
        {"bench --sizes", "--sizes needs an argument", 2},
        {"bench --blocks 6", "7 to 101", 2},
        {"bench --blocks 1e3", "7 to 101", 2},
        {"bench --cache hot", "--cache hot", 2},
        {"bench --primitive segments --cases rwos", "did you mean rows?", 2},
        {"bench --cases rows", "--cases is of --primitive segments", 2},
        {"bench --primitive reduce,segments --bar", "segments have no --bar", 2},
        {"bench --peers OpenMP,cubb", "did you mean CUB?", 2},
        {"bench --cache warm,warm", "--cache warm,warm", 2},
        {"bench --siezs 2^10", "did you mean --sizes?", 2},
        {"bench --json=x", "takes no argument", 2},
        {"bench -x", "unknown option -x", 2},
        {"bench sum", "unexpected argument sum", 2},
        {"bench --grid --ops sum,vra", "did you mean var?", 2},
        {"bench --ops all --dtypes f31", "'f31': did you mean f32?", 2},
        {"bench --grid --sizes 2^10,2^11", "a grid has one size", 2},
        {"bench --grid --sizes 2^10 --bytes 1M", "a grid has one size", 2},
        {"bench --grid --bytes 63", "64 to 2^32", 2},
        {"bench --grid --bytes", "--bytes needs an argument", 2},
        {"bench --bytes 1M", "of --grid", 2},
        {"bench --compile", "of --grid", 2},
        {"bench --seconds 5", "of --grid", 2},
        {"bench --grid --seconds 0", "1 to 86400", 2},
        {"bench --grid --seconds soon", "--seconds soon", 2},
        {"bench --ops all --bar", "a grid has no --bar", 2},
        {"bench --plot x.png", "--plot x.png: the plot is an SVG file", 2},
        {"bench --dtypes all --primitive scan", "a grid has no --bar", 2},
        {"bench --grid --cache cold", "a grid has no --bar", 2},
    };
    if (!has_bench()) test_skip("tally_bench is not here");
    for (size_t i = 0; i < COUNT(rows); i++) {
        const result r = must_say(rows[i].words, rows[i].says, rows[i].code);
        if (r.code == 2 && count_lines(r.err) != 1) fail_msg("%s: not one line: %s", rows[i].words, r.err);
    }
    const result unwritten = must_say("bench --peers none --sizes 2^10 --plot no/x.svg", "no/x.svg", 1);
    assert_string_equal(unwritten.out, ""); /* before anything is measured */
    if (*device) must_say("bench --peers none --primitive scan --ops mean --sizes 2^10", "no case fits these options", 1);
}

void test_bench_output(void **unused) {
    (void)unused;
    if (!has_bench()) test_skip("tally_bench is not here");
    const result r = run(&(setup){.out = "/dev/full"}, "bench --help");
    assert_int_equal(r.code, 1);
    assert_string_equal(r.err, "tally_bench: standard output: No space left on device\n");
}
