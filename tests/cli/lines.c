/* SPDX-License-Identifier: MIT */
/* Every line of output has fewer than 100 columns, and the device is named once. */
#include "cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/sample.h"

char *read_output(const setup *how, const char *words, int *code) {
    setup to_file = how ? *how : (setup){0};
    char path[512];
    to_file.out = "lines.out";
    *code = run(&to_file, words).code;
    snprintf(path, sizeof(path), "%s/lines.out", folder_path());
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    char *text = calloc(1, 1 << 20);
    assert_non_null(text);
    assert_true(fread(text, 1, (1 << 20) - 1, f) < (1 << 20) - 1);
    fclose(f);
    return text;
}

static unsigned count_texts(const char *text, const char *part) {
    unsigned count = 0;
    for (; (text = strstr(text, part)) != NULL; text++) count++;
    return count;
}

/* The device's name. A line break may be within it. */
static void get_name(char *name, size_t bytes) {
    const result r = run(NULL, "devices --json");
    json_object *o = parse_line(&r, 0), *backends = member(o, "backends");
    name[0] = 0;
    for (size_t b = 0; b < json_object_array_length(backends); b++) {
        json_object *devices = member(json_object_array_get_idx(backends, b), "devices");
        for (size_t d = 0; d < json_object_array_length(devices); d++) {
            json_object *one = json_object_array_get_idx(devices, d);
            if (json_object_get_boolean(member(one, "chosen"))) snprintf(name, bytes, "%s", text_member(one, "name"));
        }
    }
    json_object_put(o);
}

/* Joins lines with single spaces, so that a broken name is found. */
static void join_lines(char *text) {
    char *to = text;
    for (const char *from = text; *from; from++) {
        const bool space = *from == ' ' || *from == '\n';
        if (space && to > text && to[-1] == ' ') continue;
        *to++ = space ? ' ' : *from;
    }
    *to = 0;
}

/* names: how often the output has the device's name; 0: any number. */
static void expect_lines(const setup *how, const char *words, unsigned names) {
    int code;
    char name[256];
    char *text = read_output(how, words, &code);
    if (code) fail_msg("%s: exit code %d", words, code);
    if (!*text) fail_msg("%s: it says nothing", words);
    for (const char *at = text; *at; at += strcspn(at, "\n") + (strchr(at, '\n') != NULL))
        if (strcspn(at, "\n") >= 100) fail_msg("%s: a line of %zu columns: %.200s", words, strcspn(at, "\n"), at);
    if (names) {
        get_name(name, sizeof(name));
        join_lines(name);
        join_lines(text);
        if (count_texts(text, name) != names)
            fail_msg("%s: %u times the device's name in: %s", words, count_texts(text, name), text);
    }
    free(text);
}

/* A file's name stays on its line whatever it is, and JSON stays UTF-8. */
void test_names(void **unused) {
    (void)unused;
    static const uint8_t x[3] = {1, 2, 3};
    need_device();
    write_file("a\nb\033\xff.raw", x, sizeof(x));
    const result r = run(NULL, "reduce sum --dtype u8 a\nb\033\xff.raw");
    assert_int_equal(r.code, 0);
    assert_ptr_equal(strstr(r.out, "6  sum of 3 u8 in a b\\x1b\\xff.raw\n"), r.out);
    const result again = run(NULL, "reduce sum --json --dtype u8 a\nb\033\xff.raw");
    json_object *o = parse_line(&again, 0);
    assert_string_equal(text_member(o, "file"), "a b\\x1b\\xff.raw");
    json_object_put(o);
}

void test_lines(void **unused) {
    (void)unused;
    static const char *const plain[] = {"devices", "variants", "ops", "help", "--help", "--version"};
    static const double x[4] = {-1.0 / 3, -2.0 / 3e-200, 1e300 / 3, 4.0 / 7};
    static const uint32_t map[4] = {3, 1, 0, 2};
    /* Each command's output names the device once, even in many lines. */
    static const char *const rows[] = {
        "reduce sum,argmax,minmax,var wide.npy wide.npy wide.npy",
        "reduce dot,allclose wide.npy wide.npy",
        "reduce --load x*x --combine a+b --identity 0 wide.npy",
        "reduce prod,sum --dtype c128 wide.raw",
        "reduce dotc --dtype c128 wide.raw wide.raw",
        "reduce sum,argmax,minmax,var,mean,std --axis 0 --keepdims square.npy square.npy",
        "reduce sum,prod,asum,sumsq,mean,var,std,nrm2,logsumexp,min,max,argmin,argmax --axis 0 square.npy",
        "reduce sum --axis 0 wide.npy -o sums.npy",
        "scan sum --exclusive --reverse wide.npy -o sums.npy",
        "gather wide.npy --index map.npy -o moved.npy",
        "scatter wide.npy --index map.npy -o moved.npy --size 1K",
        "study --n 2^12 --runs 7 --sweep --variant auto,coarsened,tree_global,sequential",
        "study --n 1e3 --runs 7 --primitive scan",
        "study --n 1e3 --runs 7 --primitive scatter",
        "tune --op sum --dtype f32 --n 2^12 --dry-run",
    };
    char words[512];
    for (size_t i = 0; i < COUNT(plain); i++) expect_lines(NULL, plain[i], 0);
    for (size_t i = 0; i < COMMANDS; i++) {
        if (!strcmp(all_commands[i], "bench")) continue; /* the bench may not be built: see below */
        snprintf(words, sizeof(words), "help %s", all_commands[i]);
        expect_lines(NULL, words, 0);
    }
    /* No device is here. The reasons are as long as the drivers' texts. */
    const setup none = {.env = {"OCL_ICD_VENDORS=/nonexistent", "CUDA_VISIBLE_DEVICES="}};
    expect_lines(&none, "devices", 0);
    expect_lines(&none, "variants", 0);
    need_compiler();
    write_npy("wide.npy", 1, own_descr('f', 8), "(4,)", x, sizeof(x));
    write_npy("square.npy", 1, own_descr('f', 8), "(2, 2)", x, sizeof(x));
    write_npy("map.npy", 1, own_descr('u', 4), "(4,)", map, sizeof(map));
    write_file("wide.raw", x, sizeof(x));
    for (size_t i = 0; i < COUNT(rows); i++)
        if (sample_has_turn(i)) expect_lines(NULL, rows[i], 1);
    snprintf(words, sizeof(words), "check --backend %s", device);
    if (sample_has_turn(1)) expect_lines(NULL, words, 1);
    snprintf(words, sizeof(words), "study --n 2^12 --runs 7 --variant auto,interleaved_strided --backend %s,%s,%s", device,
             device, device);
    if (sample_has_turn(2)) expect_lines(NULL, words, 3);
    if (run(NULL, "bench --help").code) return;
    expect_lines(NULL, "bench --help", 0);
    expect_lines(NULL, "help bench", 0);
    snprintf(words, sizeof(words), "bench --backend %s --sizes 3K --ops argmax --blocks 7 --bits", device);
    expect_lines(NULL, words, 1);
    snprintf(words, sizeof(words), "bench --backend %s --sizes 2^12 --primitive scatter --blocks 7", device);
    expect_lines(NULL, words, 1);
    snprintf(words, sizeof(words), "bench --backend %s --sizes 2^10 --bar", device);
    int code;
    char *bars = read_output(NULL, words, &code); /* the bars may be missed */
    for (const char *at = bars; *at; at += strcspn(at, "\n") + (strchr(at, '\n') != NULL))
        if (strcspn(at, "\n") >= 100) fail_msg("bench --bar: a line of %zu columns: %.200s", strcspn(at, "\n"), at);
    free(bars);
}
