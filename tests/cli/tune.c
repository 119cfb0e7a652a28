/* SPDX-License-Identifier: MIT */
/* `tally tune`: rows that it replaces and rows that it leaves alone; refusals. The shapes
 * themselves depend on the machine. */
#include "cli.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static const char kept[] = "other chip * * * 64 8 - -\n", spoilt[] = "no row\nother chip * * * 64 8 - -\n";

static void put_text(const char *path, const char *text) {
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static void get_text(const char *path, char *text, size_t bytes) {
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    text[fread(text, 1, bytes - 1, f)] = 0;
    fclose(f);
}

static unsigned count_rows(const char *text, const char *words) {
    unsigned count = 0;
    while ((text = strstr(text, words)) != NULL) text++, count++;
    return count;
}

void test_tune(void **unused) {
    (void)unused;
    need_device();
    char path[512], dir[600], words[256], text[8192], again[8192];
    snprintf(path, sizeof(path), "%s/tunings.txt", folder_path());
    snprintf(dir, sizeof(dir), "TALLY_CACHE_DIR=%s", folder_path());
    const setup how = {.env = {dir}};
    snprintf(words, sizeof(words), "tune --backend %s --op sum --dtype f32 --n 2^13", device);
    /* 2^11, 2^12 and 2^13 items: a line for each, and rows in the file beside those of other
     * devices. */
    put_text(path, spoilt);
    result r = run(&how, words);
    assert_string_equal(r.err, "");
    assert_int_equal(r.code, 0);
    assert_int_equal(count_lines(r.out), 2 + 3 + 1);
    assert_non_null(strstr(r.out, path));
    get_text(path, text, sizeof(text));
    assert_non_null(strstr(text, kept));
    assert_null(strstr(text, "no row"));
    assert_non_null(strstr(text, " sum 4 32K"));
    assert_null(strstr(text, " sum 4 *")); /* larger inputs are not measured */
    /* Programs use the rows. Another run replaces them. */
    char reduce[600];
    snprintf(reduce, sizeof(reduce), "reduce sum %s", nile);
    r = run(&how, reduce);
    assert_int_equal(r.code, 0);
    r = run(&how, words);
    assert_int_equal(r.code, 0);
    get_text(path, again, sizeof(again));
    assert_int_equal(count_rows(again, " sum 4 32K"), 1);
    /* A run of few items leaves the rows of larger inputs alone. */
    snprintf(words, sizeof(words), "tune --backend %s --op sum --dtype f32 --n 5", device);
    r = run(&how, words);
    assert_int_equal(r.code, 0);
    assert_int_equal(count_lines(r.out), 2 + 1 + 1);
    get_text(path, again, sizeof(again));
    assert_int_equal(count_rows(again, " sum 4 8K"), 1);
    assert_int_equal(count_rows(again, " sum 4 32K"), 1);
    assert_int_equal(count_rows(again, " sum 4 *"), 0);
    /* A dry run leaves the file as it is. */
    snprintf(words, sizeof(words), "tune --backend %s --op sum --dtype f32 --n 2^11 --dry-run", device);
    r = run(&how, words);
    assert_int_equal(r.code, 0);
    assert_int_equal(count_lines(r.out), 2 + 1 + 1);
    snprintf(words, sizeof(words), "tune --backend %s --op sum --dtype f32 --n 2^11 --json", device);
    r = run(&how, words);
    assert_int_equal(r.code, 0);
    assert_int_equal(count_lines(r.out), 1); /* objects alone */
    json_object *o = parse_line(&r, 0);
    assert_true(json_object_get_double(member(o, "microseconds")) > 0);
    json_object_put(o);
    /* A pipe in the file's place is not waited for. The file replaces it. */
    remove(path);
    assert_int_equal(mkfifo(path, 0600), 0);
    r = run(&how, words);
    assert_int_equal(r.code, 0);
    get_text(path, again, sizeof(again));
    assert_non_null(strstr(again, " sum 4 8K"));
    remove(path);
}

void test_tune_refused(void **unused) {
    (void)unused;
    static const struct {
        const char *words, *says;
        int code;
    } rows[] = {
        {"tune --op mean", "--op sum, argmax or dot", 2},
        {"tune --dtype c64", "--op sum, argmax or dot", 2},
        {"tune --n many", "--n many", 2},
        {"tune --runs 7", "tune takes no option --runs", 2},
        {"tune fast", "unexpected argument fast", 2},
        {"tune --backend vulkan", "vulkan", 2},
    };
    need_device();
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const result r = run(NULL, rows[i].words);
        if (r.code != rows[i].code || !strstr(r.err, rows[i].says))
            fail_msg("%s: exit code %d: %s", rows[i].words, r.code, r.err);
    }
    const result r = run(&(setup){.env = {"TALLY_CACHE_DIR=off"}}, "tune --n 2^11");
    assert_int_equal(r.code, 1);
    assert_non_null(strstr(r.err, "--dry-run"));
}
