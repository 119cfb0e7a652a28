/* SPDX-License-Identifier: MIT */
/* `tally gather` and `tally scatter`: their files, their output, and refusals, which leave no
 * file. */
#include "cli.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- files ----------------------------------------------------------------------------------- */

/* Compares a file that the program wrote: its header and its items. */
static void expect_npy(const char *name, const char *header, const void *items, size_t bytes) {
    char path[512];
    unsigned char got[4096];
    snprintf(path, sizeof(path), "%s/%s", folder_path(), name);
    FILE *f = fopen(path, "rb");
    if (!f) fail_msg("%s is not there", name);
    const size_t size = fread(got, 1, sizeof(got), f);
    fclose(f);
    assert_int_equal(size, 128 + bytes);
    assert_memory_equal(got, "\x93NUMPY\x01\x00\x76\x00", 10);
    if (memcmp(got + 10, header, strlen(header)) != 0)
        fail_msg("%s: the header is %.60s, not %s", name, (char *)got + 10, header);
    for (size_t i = 10 + strlen(header); i < 127; i++) assert_int_equal(got[i], ' ');
    assert_int_equal(got[127], '\n');
    assert_memory_equal(got + 128, items, bytes);
}

/* Counts the files of the folder whose name begins so. */
static unsigned count_files(const char *start) {
    unsigned count = 0;
    DIR *folder = opendir(folder_path());
    assert_non_null(folder);
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) count += strncmp(entry->d_name, start, strlen(start)) == 0;
    closedir(folder);
    return count;
}

static const int32_t numbers[5] = {10, 11, 12, 13, 14};

static void write_files(void) {
    static const int32_t i32[4] = {4, 0, 0, 3}, fives[5] = {2, 0, 2, 4, 1}, bad[4] = {1, -1, 5, 0};
    static const uint32_t u32[4] = {4, 0, 0, 3}, far[4] = {0, 4000000000U, 1, 5};
    static const int64_t i64[4] = {4, 0, 0, 3};
    static const uint64_t u64[4] = {4, 0, 0, 3};
    static const uint8_t stencil[4] = {1, 0, 255, 0}, five_stencil[5] = {1, 1, 0, 1, 1};
    static const double doubles[4] = {4, 0, 0, 3};
    static const int32_t four[4] = {-1, -2, -3, -4};
    write_npy("numbers.npy", 1, own_descr('i', 4), "(5,)", numbers, sizeof(numbers));
    write_npy("i32.npy", 1, own_descr('i', 4), "(4,)", i32, sizeof(i32));
    write_npy("u32.npy", 1, own_descr('u', 4), "(4,)", u32, sizeof(u32));
    write_npy("i64.npy", 1, own_descr('i', 8), "(4,)", i64, sizeof(i64));
    write_npy("u64.npy", 1, own_descr('u', 8), "(4,)", u64, sizeof(u64));
    write_npy("fives.npy", 1, own_descr('i', 4), "(5,)", fives, sizeof(fives));
    write_npy("bad.npy", 1, own_descr('i', 4), "(4,)", bad, sizeof(bad));
    write_npy("far.npy", 1, own_descr('u', 4), "(4,)", far, sizeof(far));
    write_npy("doubles.npy", 1, own_descr('f', 8), "(4,)", doubles, sizeof(doubles));
    write_npy("stencil.npy", 1, "|b1", "(4,)", stencil, sizeof(stencil));
    write_npy("five_stencil.npy", 1, "|u1", "(5,)", five_stencil, sizeof(five_stencil));
    write_npy("four.npy", 1, own_descr('i', 4), "(4,)", four, sizeof(four));
    write_npy("none.npy", 1, own_descr('i', 4), "(0,)", "", 0);
    write_file("numbers.raw", numbers, sizeof(numbers));
}

/* Runs `words` and expects the file out.npy with these i32s. */
static void must_write(const char *words, const int32_t *items, int n) {
    char header[80], all[512];
    const result r = run(NULL, words);
    snprintf(header, sizeof(header), "{'descr': '%s', 'fortran_order': False, 'shape': (%d,), }", own_descr('i', 4), n);
    if (r.code || *r.err) fail_msg("%s: exit code %d: %s", words, r.code, r.err);
    snprintf(all, sizeof(all), "out.npy  %.*s of ", (int)strcspn(words, " "), words);
    if (strncmp(r.out, all, strlen(all)) != 0 || !strstr(r.out, " items\non ")) fail_msg("%s: it said %s", words, r.out);
    expect_npy("out.npy", header, items, (size_t)n * sizeof(*items));
    assert_int_equal(count_files("out.npy"), 1);
}

#define MUST_WRITE(words, ...)                                                                                                 \
    must_write(words, (const int32_t[]){__VA_ARGS__}, (int)(sizeof((const int32_t[]){__VA_ARGS__}) / sizeof(int32_t)))

/* ---- good calls ------------------------------------------------------------------------------ */

void test_gather(void **unused) {
    (void)unused;
    static const char *const maps[] = {"i32", "u32", "i64", "u64"};
    char words[128];
    need_device();
    write_files();
    for (size_t m = 0; m < COUNT(maps); m++) {
        snprintf(words, sizeof(words), "gather numbers.npy --index %s.npy -o out.npy", maps[m]);
        MUST_WRITE(words, 14, 10, 10, 13);
    }
    MUST_WRITE("gather --dtype i32 numbers.raw --output out.npy --index u32.npy", 14, 10, 10, 13);
    MUST_WRITE("gather numbers.npy --index i32.npy -o out.npy --stencil stencil.npy", 14, 0, 10, 0);
    MUST_WRITE("gather numbers.npy --index i32.npy -oout.npy --stencil stencil.npy --into four.npy", 14, -2, 10, -4);
    must_write("gather numbers.npy --index none.npy -o out.npy", numbers, 0);
    const result r = run(&(setup){.in_file = "i64.npy"}, "gather numbers.npy --index - -o out.npy --json");
    assert_int_equal(r.code, 0);
    json_object *o = parse_line(&r, 0);
    assert_string_equal(text_member(o, "command"), "gather");
    assert_string_equal(text_member(o, "dtype"), "i32");
    assert_string_equal(text_member(o, "map_dtype"), "i64");
    assert_string_equal(text_member(o, "file"), "numbers.npy");
    assert_string_equal(text_member(o, "index"), "-");
    assert_string_equal(text_member(o, "output"), "out.npy");
    assert_int_equal(json_object_get_int(member(o, "n")), 4);
    assert_int_equal(json_object_get_int(member(o, "out_n")), 4);
    assert_true(json_object_get_double(member(o, "seconds")) > 0);
    json_object_put(o);
    /* Items of every width that NumPy has. */
    static const double items[] = {1.5, -2.5, 3, 4, 5, 6, 7, 8, 9, 10};
    write_npy("wide.npy", 1, own_descr('c', 16), "(5,)", items, sizeof(items));
    assert_int_equal(run(NULL, "gather wide.npy --index i32.npy -o wide_out.npy").code, 0);
    char header[80];
    snprintf(header, sizeof(header), "{'descr': '%s', 'fortran_order': False, 'shape': (4,), }", own_descr('c', 16));
    static const double moved[] = {9, 10, 1.5, -2.5, 1.5, -2.5, 7, 8};
    expect_npy("wide_out.npy", header, moved, sizeof(moved));
}

void test_scatter(void **unused) {
    (void)unused;
    need_device();
    write_files();
    MUST_WRITE("scatter numbers.npy --index fives.npy -o out.npy --last", 11, 14, 12, 0, 13);
    MUST_WRITE("scatter numbers.npy --index fives.npy -o out.npy --last --size 7", 11, 14, 12, 0, 13, 0, 0);
    MUST_WRITE("scatter four.npy --index i32.npy -o out.npy --last --into numbers.npy", -3, 11, 12, -4, -1);
    MUST_WRITE("scatter four.npy --index i32.npy -o out.npy --stencil stencil.npy --size 5", -3, 0, 0, 0, -1);
    MUST_WRITE("scatter numbers.npy --index fives.npy -o out.npy --stencil five_stencil.npy", 11, 14, 10, 0, 13);
}

/* ---- bad calls ------------------------------------------------------------------------------- */

void test_bad_moves(void **unused) {
    (void)unused;
    static const bad_row usage[] = {
        {"gather", {"gather: no file"}, NULL, NULL},
        {"gather a b --index m -o o", {"unexpected argument b"}, NULL, NULL},
        {"gather a -o o", {"--index MAP is missing"}, NULL, NULL},
        {"scatter a --index m", {"-o OUT.npy is missing"}, NULL, NULL},
        {"scatter a --index m -o", {"-o needs an argument"}, NULL, NULL},
        {"scatter a --index m -o -", {"-o -"}, NULL, NULL},
        {"gather a --index m -o o --last", {"gather takes no option --last", "--index"}, NULL, NULL},
        {"reduce sum a -o o", {"reduce: --output belongs to --axis"}, NULL, NULL},
        {"scatter a --index m -o o --size 5x", {"--size 5x"}, NULL, NULL},
        {"scatter a --index m -o o --size 5 --into b", {"--size 5", "--into"}, NULL, NULL},
        {"gather - --index - -o o", {"standard input"}, NULL, NULL},
        {"gather a --index m -o o --dtype f33", {"f33", "f32"}, NULL, NULL},
    };
    static const bad_row files[] = {
        {"gather absent.npy --index i32.npy -o out.npy", {"absent.npy", "No such file"}, NULL, NULL},
        {"gather numbers.npy --index numbers.raw -o out.npy", {"numbers.raw: not a .npy file\n"}, NULL, NULL},
        {"gather numbers.npy --index absent.npy -o out.npy", {"absent.npy", "No such file"}, NULL, NULL},
        {"gather numbers.npy --index doubles.npy -o out.npy", {"doubles.npy", "f64", "i32, u32, i64 or u64"}, NULL, NULL},
        {"gather numbers.npy --index bad.npy -o out.npy", {"bad.npy: map[1] is -1: in has 5 items"}, NULL, NULL},
        {"gather numbers.npy --index far.npy -o out.npy", {"far.npy: map[1] is 4000000000: in has 5"}, NULL, NULL},
        {"scatter four.npy --index bad.npy -o out.npy --size 9", {"bad.npy: map[1] is -1: out has 9 items"}, NULL, NULL},
        {"scatter four.npy --index i32.npy -o out.npy", {"i32.npy: map[0] is 4: out has 4 items"}, NULL, NULL},
        {"scatter numbers.npy --index i32.npy -o out.npy", {"i32.npy and numbers.npy", "(4,) and (5,)"}, NULL, NULL},
        {"gather numbers.npy --index i32.npy -o out.npy --stencil four.npy", {"four.npy", "i32", "bool"}, NULL, NULL},
        {"gather numbers.npy --index i32.npy -o out.npy --stencil five_stencil.npy",
         {"five_stencil.npy and i32.npy", "(5,) and (4,)"},
         NULL,
         NULL},
        {"gather numbers.npy --index i32.npy -o out.npy --into doubles.npy", {"doubles.npy", "f64", "i32"}, NULL, NULL},
        {"gather numbers.npy --index i32.npy -o out.npy --into numbers.npy",
         {"numbers.npy and i32.npy", "(5,) and (4,)"},
         NULL,
         NULL},
        {"gather --dtype bf16 numbers.raw --index i32.npy -o out.npy", {"out.npy", "bf16"}, NULL, NULL},
        {"gather numbers.npy --index i32.npy -o nowhere/out.npy", {"nowhere/out.npy", "No such file"}, NULL, NULL},
        {"gather numbers.npy --index i32.npy -o numbers.npy/x", {"numbers.npy/x", "Not a directory"}, NULL, NULL},
        {"gather numbers.npy --index i32.npy -o .", {".: Is a directory"}, NULL, NULL},
        {"gather numbers.npy --index i32.npy -o /dev/null", {"/dev/null", "no regular file"}, NULL, NULL},
    };
    must_refuse_rows(usage, COUNT(usage), 2);
    need_device();
    write_files();
    /* Existing files stay as they are, and no other file remains. */
    write_file("out.npy", "kept", 4);
    must_refuse_rows(files, COUNT(files), 1);
    char path[512], kept[8] = "";
    snprintf(path, sizeof(path), "%s/out.npy", folder_path());
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    assert_int_equal(fread(kept, 1, sizeof(kept), f), 4);
    fclose(f);
    assert_string_equal(kept, "kept");
    assert_int_equal(count_files("out.npy"), 1);
    assert_int_equal(count_files("numbers.npy"), 1);
}
