/* SPDX-License-Identifier: MIT */
/* `tally scan`: the files that it writes. It leaves no file half-written. */
#include "cli.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BLOCK 131072

static void path_of(const char *name, char *path, size_t bytes) {
    snprintf(path, bytes, "%s/%s", folder_path(), name);
}

/* ---- what it writes -------------------------------------------------------------------------- */

void test_scan(void **unused) {
    (void)unused;
    const float x[6] = {1, 2, 3, -4, 5, 6}, sums[6] = {1, 3, 6, 2, 7, 13}, last[6] = {13, 12, 16, 14, 9, 6};
    const float from_ten[6] = {10, 11, 13, 16, 12, 17}, extremes[12] = {1, 1, 1, 2, 1, 3, -4, 3, -4, 5, -4, 6};
    const float f_extremes[12] = {1, 1, -4, 1, -4, 2, -4, 5, -4, 5, -4, 6};
    const double means[6] = {1, 1.5, 2, 0.5, 1.4, 13.0 / 6};
    const uint64_t places[6] = {UINT64_MAX, 0, 1, 2, 2, 4};
    need_compiler();
    write_npy("x.npy", 1, own_descr('f', 4), "(2, 3)", x, sizeof(x));
    /* In C order 1, -4, 2, 5, 3, 6. */
    write_npy_dictionary("f.npy", 1,
                         *own_descr('f', 4) == '<' ? "{'descr': '<f4', 'fortran_order': True, 'shape': (3, 2)}"
                                                   : "{'descr': '>f4', 'fortran_order': True, 'shape': (3, 2)}",
                         x, sizeof(x));
    write_file("x.raw", x, sizeof(x));
    must_run(NULL, "scan sum x.npy -o y.npy");
    must_hold("y.npy", own_descr('f', 4), "False", "(2, 3)", sums, sizeof(sums));
    must_run(NULL, "scan sum --reverse f.npy --output y.npy");
    must_hold("y.npy", own_descr('f', 4), "False", "(3, 2)", last, sizeof(last));
    must_run(NULL, "scan sum --exclusive --initial 10 --dtype f32 x.raw -o y.npy");
    must_hold("y.npy", own_descr('f', 4), "False", "(6,)", from_ten, sizeof(from_ten));
    must_run(NULL, "scan minmax x.npy -o y.npy");
    must_hold("y.npy", own_descr('f', 4), "False", "(2, 3, 2)", extremes, sizeof(extremes));
    must_run(NULL, "scan minmax f.npy -o y.npy");
    must_hold("y.npy", own_descr('f', 4), "False", "(3, 2, 2)", f_extremes, sizeof(f_extremes));
    must_run(NULL, "scan argmax --exclusive x.npy -o y.npy");
    must_hold("y.npy", own_descr('u', 8), "False", "(2, 3)", places, sizeof(places));
    must_run(&(setup){.in_file = "x.raw"}, "scan mean --acc f64 --dtype f32 - -o y.npy");
    must_hold("y.npy", own_descr('f', 8), "False", "(6,)", means, sizeof(means));
    /* The output may be the input. An existing file keeps its permissions. */
    char path[512];
    struct stat about;
    path_of("x.npy", path, sizeof(path));
    assert_int_equal(chmod(path, 0640), 0);
    must_run(NULL, "scan sum x.npy -o x.npy");
    must_hold("x.npy", own_descr('f', 4), "False", "(2, 3)", sums, sizeof(sums));
    assert_int_equal(stat(path, &about), 0);
    assert_int_equal(about.st_mode & 0777, 0640);
    write_file("none.raw", "", 0);
    must_run(NULL, "scan max --dtype i16 none.raw -o y.npy");
    must_hold("y.npy", own_descr('i', 2), "False", "(0,)", "", 0);
    /* The longest name of a file leaves no room for the temporary name's ending. */
    char longest[300];
    snprintf(longest, sizeof(longest), "scan sum x.npy -o %0*d.npy", NAME_MAX - 4, 0);
    must_run(NULL, longest);
}

void test_scan_options(void **unused) {
    (void)unused;
    const int64_t x[3] = {1, INT64_C(9007199254740993), -5};
    const int64_t from[3] = {INT64_C(-9007199254740993), INT64_C(-9007199254740992), 1};
    const int64_t from_power[3] = {from[1], from[1] + 1, 2};
    const int64_t from_lowest[3] = {INT64_MIN, INT64_MIN + 1, INT64_MIN + 1 + x[1]};
    const uint8_t bytes[3] = {200, 100, 1}, wrapped[3] = {200, 44, 45};
    const float z[4] = {1, 2, 3, -4}, products[4] = {0, 1, -2, 1}; /* j, j(1+2j) */
    const double y[3] = {1, 3, 5}, variances[3] = {0, 2, 4};
    need_compiler();
    write_npy("i.npy", 1, own_descr('i', 8), "(3,)", x, sizeof(x));
    write_npy("u.npy", 1, "|u1", "(3,)", bytes, sizeof(bytes));
    write_npy("z.npy", 1, own_descr('c', 8), "(2,)", z, sizeof(z));
    write_npy("d.npy", 1, own_descr('f', 8), "(3,)", y, sizeof(y));
    must_run(NULL, "scan sum --exclusive --initial -9007199254740993 i.npy -o y.npy");
    must_hold("y.npy", own_descr('i', 8), "False", "(3,)", from, sizeof(from));
    must_run(NULL, "scan sum --exclusive --initial -2^53 i.npy -o y.npy");
    must_hold("y.npy", own_descr('i', 8), "False", "(3,)", from_power, sizeof(from_power));
    must_run(NULL, "scan sum --exclusive --initial -9223372036854775808 i.npy -o y.npy");
    must_hold("y.npy", own_descr('i', 8), "False", "(3,)", from_lowest, sizeof(from_lowest));
    must_run(NULL, "scan sum --out u8 u.npy -o y.npy");
    must_hold("y.npy", "|u1", "False", "(3,)", wrapped, sizeof(wrapped));
    must_run(NULL, "scan prod --exclusive --initial 0+1j z.npy -o y.npy");
    must_hold("y.npy", own_descr('c', 8), "False", "(2,)", products, sizeof(products));
    must_run(NULL, "scan var --param ddof=1 --reverse d.npy -o y.npy");
    double *got = must_read_npy("y.npy", own_descr('f', 8), "False", "(3,)", sizeof(variances));
    assert_true(got[0] == 4 && got[1] == 2 && got[2] != got[2]);
    free(got);
    result r = must_run(NULL, "scan sum --exclusive d.npy -o y.npy --json");
    json_object *o = parse_line(&r, 0);
    assert_string_equal(text_member(o, "op"), "sum");
    assert_string_equal(text_member(o, "dtype"), "f64");
    assert_string_equal(text_member(o, "result_dtype"), "f64");
    assert_int_equal(json_object_get_int64(member(o, "n")), 3);
    assert_true(json_object_get_boolean(member(o, "exclusive")) && !json_object_get_boolean(member(o, "reverse")));
    assert_string_equal(text_member(o, "file"), "d.npy");
    assert_string_equal(text_member(o, "output"), "y.npy");
    assert_true(json_object_get_double(member(o, "seconds")) > 0);
    char words[256];
    snprintf(words, sizeof(words), "scan sum --exclusive --variant %s d.npy -o y.npy", text_member(o, "variant"));
    json_object_put(o);
    r = must_run(NULL, words);
    assert_non_null(strstr(r.out, "y.npy: f64, the exclusive scan by sum of 3 f64 in d.npy\nby "));
}

/* Rows and columns of an array in C order and in Fortran order, whose values are the same. */
void test_scan_axis(void **unused) {
    (void)unused;
    const float x[6] = {1, 2, 3, -4, 5, 6}, transposed[6] = {1, -4, 2, 5, 3, 6};
    const float rows[6] = {1, 3, 6, -4, 1, 7}, columns[6] = {1, 2, 3, -3, 7, 9}, below[6] = {-4, 5, 6, 0, 0, 0};
    const float extremes[12] = {1, 1, 2, 2, 3, 3, -4, 1, 2, 5, 3, 6};
    const uint64_t places[6] = {0, 1, 2, 0, 1, 2};
    need_device();
    write_npy("x.npy", 1, own_descr('f', 4), "(2, 3)", x, sizeof(x));
    write_npy_dictionary("f.npy", 1,
                         *own_descr('f', 4) == '<' ? "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3)}"
                                                   : "{'descr': '>f4', 'fortran_order': True, 'shape': (2, 3)}",
                         transposed, sizeof(transposed));
    static const char *const files[] = {"x.npy", "f.npy"};
    for (int f = 0; f < 2; f++) {
        char words[128];
        snprintf(words, sizeof(words), "scan sum --axis 1 %s -o y.npy", files[f]);
        result r = must_run(NULL, words);
        must_hold("y.npy", own_descr('f', 4), "False", "(2, 3)", rows, sizeof(rows));
        snprintf(words, sizeof(words), "y.npy: f32, the scan by sum along axis 1 of 6 f32 in %s\nby ", files[f]);
        assert_non_null(strstr(r.out, words));
        snprintf(words, sizeof(words), "scan sum --axis=-2 %s -o y.npy", files[f]);
        r = must_run(NULL, words);
        assert_non_null(strstr(r.out, "along axis 0 of 6"));
        must_hold("y.npy", own_descr('f', 4), "False", "(2, 3)", columns, sizeof(columns));
        snprintf(words, sizeof(words), "scan sum --axis 0 --reverse --exclusive %s -o y.npy", files[f]);
        must_run(NULL, words);
        must_hold("y.npy", own_descr('f', 4), "False", "(2, 3)", below, sizeof(below));
        snprintf(words, sizeof(words), "scan minmax --axis 0 %s -o y.npy", files[f]);
        must_run(NULL, words);
        must_hold("y.npy", own_descr('f', 4), "False", "(2, 3, 2)", extremes, sizeof(extremes));
    }
    write_npy("ramp.npy", 1, own_descr('u', 8), "(2, 3)", places, sizeof(places));
    result r = must_run(NULL, "scan argmax --axis 1 ramp.npy -o y.npy --json");
    must_hold("y.npy", own_descr('u', 8), "False", "(2, 3)", places, sizeof(places));
    json_object *o = parse_line(&r, 0);
    assert_int_equal(json_object_get_int64(member(o, "axis")), 1);
    assert_int_equal(json_object_get_int64(member(o, "n")), 6);
    json_object_put(o);
    write_npy("none.npy", 1, own_descr('f', 4), "(3, 0)", "", 0);
    must_run(NULL, "scan sum --axis 0 none.npy -o y.npy");
    must_hold("y.npy", own_descr('f', 4), "False", "(3, 0)", "", 0);
}

/* Pieces of a block through a pipe and from a file give the bytes that one piece gives. A reverse
 * scan takes all at once. */
void test_scan_pieces(void **unused) {
    (void)unused;
    enum { N = 3 * BLOCK + 777 };
    static const char *const routes[] = {"big.npy", "-", "--dtype f32 - "};
    const setup hows[] = {{.env = {"TALLY_TEST_SCAN_PIECE=131072"}, .in_file = "big.npy"},
                          {.env = {"TALLY_TEST_SCAN_PIECE=131072"}, .in_file = "big.npy"},
                          {.env = {"TALLY_TEST_SCAN_PIECE=2*131072"}, .in_file = "big.raw"}};
    char words[128], shape[32];
    float *x = malloc(N * sizeof(*x));
    need_device();
    assert_non_null(x);
    for (size_t i = 0; i < N; i++) x[i] = (float)((i * 2654435761u) % 1000003) * (i % 2 ? -0.001f : 0.0011f);
    snprintf(shape, sizeof(shape), "(%d,)", N);
    write_npy("big.npy", 1, own_descr('f', 4), shape, x, N * sizeof(*x));
    write_file("big.raw", x, N * sizeof(*x));
    must_run(NULL, "scan sum big.npy -o whole.npy");
    float *whole = must_read_npy("whole.npy", own_descr('f', 4), "False", shape, N * sizeof(*whole));
    assert_true(whole[0] == x[0] && whole[1] == x[0] + x[1] && whole[N - 1] != whole[BLOCK]);
    for (size_t i = 0; i < COUNT(routes); i++) {
        snprintf(words, sizeof(words), "scan sum -o pieces.npy %s", routes[i]);
        must_run(&hows[i], words);
        must_hold("pieces.npy", own_descr('f', 4), "False", shape, whole, N * sizeof(*whole));
    }
    /* From the last to the first: the differences of n - 1 sums of the items in reverse. */
    for (size_t i = 0; i < N; i++) x[i] = (float)(i % 7);
    write_file("big.raw", x, N * sizeof(*x));
    must_run(&(setup){.env = {"TALLY_TEST_SCAN_PIECE=131072"}, .in_file = "big.raw"},
             "scan max --reverse --dtype f32 - -o back.npy");
    float *back = must_read_npy("back.npy", own_descr('f', 4), "False", shape, N * sizeof(*back));
    assert_true(back[0] == 6 && back[N - 1] == x[N - 1]);
    free(back);
    free(whole);
    free(x);
}

/* ---- refusals -------------------------------------------------------------------------------- */

void test_scan_usage(void **unused) {
    (void)unused;
    static const bad_row rows[] = {
        {"scan", {"no operator", "sum, min, max, prod"}, NULL, NULL},
        {"scan frob x -o y.npy", {"frob", "sum, min, max, prod"}, NULL, NULL},
        {"scan dot x -o y.npy", {"scan dot", "2 files", "sum, min"}, NULL, NULL},
        {"scan sum,max x -o y.npy", {"sum,max"}, NULL, NULL},
        {"scan sum", {"no file", "standard input"}, NULL, NULL},
        {"scan sum a b -o y.npy", {"one file", "2 are named"}, NULL, NULL},
        {"scan sum x", {"-o OUT.npy"}, NULL, NULL},
        {"scan sum x -o", {"-o needs an argument"}, NULL, NULL},
        {"scan sum x -o -", {"-o -", "a file must be named"}, NULL, NULL},
        {"scan sum x --output", {"--output needs an argument"}, NULL, NULL},
        {"scan sum x -o y.npy --initial 3", {"--initial 3", "--exclusive"}, NULL, NULL},
        {"scan sum x -o y.npy --axis 0,1", {"--axis 0,1", "one axis"}, NULL, NULL},
        {"scan sum x -o y.npy --axis first", {"--axis first", "one axis"}, NULL, NULL},
        {"scan sum x -o y.npy --variant fast", {"fast", "auto, warp_carry"}, NULL, NULL},
        {"scan sum x -o y.npy --variant warp_carry", {"warp_carry", "canonical order"}, NULL, NULL},
        {"scan sum x -o y.npy --param ddof=1", {"ddof", "sum"}, NULL, NULL},
        {"scan sum x -o y.npy --dtype f33", {"f33", "f32, f64, i32"}, NULL, NULL},
        {"scan sum x -o y.npy --load x", {"scan", "--load", "--exclusive"}, NULL, NULL},
        {"reduce sum x -o y.npy", {"reduce", "--output"}, NULL, NULL},
    };
    must_refuse_rows(rows, COUNT(rows), 2);
    expect_no_rest("bad usage");
}

/* The output may be an input, also through a link: it takes the file's place when it is whole. */
void test_output_is_input(void **unused) {
    (void)unused;
    enum { N = 1 << 18 }; /* of several pieces */
    static double ones[N], sums[N];
    static uint32_t turned[N];
    char path[512];
    need_device();
    for (uint32_t i = 0; i < N; i++) ones[i] = 1, sums[i] = i + 1, turned[i] = N - 1 - i;
    write_npy("own.npy", 1, own_descr('f', 8), "(262144,)", ones, sizeof(ones));
    must_run(NULL, "scan sum own.npy -o own.npy");
    must_hold("own.npy", own_descr('f', 8), "False", "(262144,)", sums, sizeof(sums));
    write_npy("own.npy", 1, own_descr('f', 8), "(262144,)", ones, sizeof(ones));
    path_of("link.npy", path, sizeof(path));
    assert_true(symlink("own.npy", path) == 0 || errno == EEXIST);
    must_run(NULL, "scan sum --reverse own.npy -o link.npy");
    for (uint32_t i = 0; i < N; i++) sums[i] = N - i;
    must_hold("own.npy", own_descr('f', 8), "False", "(262144,)", sums, sizeof(sums));
    write_npy("map.npy", 1, own_descr('u', 4), "(262144,)", turned, sizeof(turned));
    must_run(NULL, "gather own.npy --index map.npy -o own.npy");
    for (uint32_t i = 0; i < N; i++) sums[i] = i + 1;
    must_hold("own.npy", own_descr('f', 8), "False", "(262144,)", sums, sizeof(sums));
    must_run(NULL, "scatter map.npy --index map.npy -o map.npy");
    for (uint32_t i = 0; i < N; i++) turned[i] = i;
    must_hold("map.npy", own_descr('u', 4), "False", "(262144,)", turned, sizeof(turned));
    const double sum = 0.5 * N * (N + 1.0);
    must_run(NULL, "reduce sum --axis 0 own.npy -o own.npy");
    must_hold("own.npy", own_descr('f', 8), "False", "()", &sum, sizeof(sum));
}

static void write_inputs(void) {
    static const double x[4] = {1, 2, 3, 4};
    char path[512];
    write_npy("x.npy", 1, own_descr('f', 8), "(4,)", x, sizeof(x));
    write_npy("short.npy", 1, own_descr('f', 8), "(5,)", x, sizeof(x));
    write_npy("old.npy", 1, own_descr('f', 8), "(4,)", x, sizeof(x));
    write_file("x.raw", x, sizeof(x));
    write_file("odd.raw", x, 31);
    path_of("a_folder", path, sizeof(path));
    mkdir(path, 0700);
    path_of("dangling.npy", path, sizeof(path));
    assert_true(symlink("a_folder/nothing.npy", path) == 0 || errno == EEXIST);
    /* More items than any machine holds at once, in a sparse file. */
    path_of("endless.raw", path, sizeof(path));
    const int fd = open(path, O_WRONLY | O_CREAT, 0600);
    assert_true(fd >= 0 && ftruncate(fd, (off_t)1 << 43) == 0 && close(fd) == 0);
}

void test_scan_refused(void **unused) {
    (void)unused;
    static const bad_row rows[] = {
        {"scan sum missing.npy -o y.npy", {"missing.npy", "No such file"}, NULL, NULL},
        {"scan sum x.npy -o nowhere/y.npy", {"nowhere/y.npy", "No such file"}, NULL, NULL},
        {"scan sum x.npy --output=", {"'': No such file"}, NULL, NULL},
        {"scan sum x.npy -o a_folder", {"a_folder", "directory"}, NULL, NULL},
        {"scan sum x.npy -o /dev/null", {"/dev/null", "no regular file"}, NULL, NULL},
        {"scan sum x.npy -o dangling.npy", {"dangling.npy", "a link to a file that is not there"}, NULL, NULL},
        {"scan sum --exclusive --initial 1e400 x.npy -o old.npy", {"--initial 1e400", "f64"}, NULL, NULL},
        {"scan max --dtype bf16 x.raw -o old.npy", {"old.npy", "bf16"}, NULL, NULL},
        {"scan band x.npy -o old.npy", {"x.npy", "band"}, NULL, NULL},
        {"scan sum --exclusive --initial 1e39 --dtype f32 x.raw -o old.npy", {"--initial 1e39", "f32"}, NULL, NULL},
        {"scan sum --exclusive --initial 0-1e39j --dtype c64 x.raw -o old.npy", {"--initial 0-1e39j", "c64"}, NULL, NULL},
        {"scan sum --exclusive --initial 7e4 --dtype f16 x.raw -o old.npy", {"--initial 7e4", "f16"}, NULL, NULL},
        {"scan sum --exclusive --initial 1.5x x.npy -o old.npy", {"--initial 1.5x", "f64"}, NULL, NULL},
        {"scan sum --exclusive --initial 1.5 --dtype i32 x.raw -o old.npy", {"--initial 1.5", "i32"}, NULL, NULL},
        {"scan sum --exclusive --initial 128 --dtype i8 x.raw -o old.npy",
         {"--initial 128: this is no i8, the type of the items in x.raw: a whole number from -128 to 127"},
         NULL,
         NULL},
        {"scan sum --exclusive --initial -129 --dtype i8 x.raw -o old.npy", {"--initial -129", "i8"}, NULL, NULL},
        {"scan sum --exclusive --initial 2^63 --dtype i64 x.raw -o old.npy", {"--initial 2^63", "i64"}, NULL, NULL},
        {"scan sum --exclusive --initial -1 --dtype u64 x.raw -o old.npy", {"--initial -1", "u64"}, NULL, NULL},
        {"scan sum --axis 1 x.npy -o old.npy", {"x.npy", "--axis 1", "1 axis"}, NULL, NULL},
        {"scan sum --axis -2 x.npy -o old.npy", {"x.npy", "--axis -2", "1 axis"}, NULL, NULL},
        {"scan sum --axis 0 missing.npy -o old.npy", {"missing.npy", "No such file"}, NULL, NULL},
        {"scan argmax --exclusive --initial 1 x.npy -o old.npy", {"x.npy", "argmax"}, NULL, NULL},
        {"scan sum short.npy -o old.npy", {"short.npy", "truncated"}, NULL, NULL},
        {"scan sum - -o old.npy", {"-: truncated"}, NULL, "short.npy"},
        {"scan sum --reverse - -o old.npy", {"-: truncated"}, NULL, "short.npy"},
        {"scan sum --dtype f64 - -o old.npy", {"-:", "31 bytes"}, NULL, "odd.raw"},
        {"scan sum --reverse --dtype f32 endless.raw -o old.npy", {"endless.raw", "reverse", "memory"}, NULL, NULL},
    };
    const double x[4] = {1, 2, 3, 4};
    need_device();
    write_inputs();
    must_refuse_rows(rows, COUNT(rows), 1);
    expect_no_rest("a failure");
    must_hold("old.npy", own_descr('f', 8), "False", "(4,)", x, sizeof(x));
    char path[512];
    path_of("endless.raw", path, sizeof(path));
    unlink(path);
}

/* Waits until a scan into this file is under way. */
static void await_scan(const char *name) {
    bool is_under_way = false;
    char begin[64];
    snprintf(begin, sizeof(begin), "%s.tally-", name);
    for (int tries = 0; tries < 200 && !is_under_way; tries++) {
        DIR *folder = opendir(folder_path());
        for (const struct dirent *d; (d = readdir(folder)) != NULL;) is_under_way = is_under_way || strstr(d->d_name, begin);
        closedir(folder);
        usleep(20000);
    }
    assert_true(is_under_way);
}

/* Interrupted while it reads a slow pipe. The unfinished file is removed, and the existing file
 * stays. */
void test_scan_interrupted(void **unused) {
    (void)unused;
    static const int numbers[] = {SIGINT, SIGTERM, SIGQUIT, SIGPIPE, SIGXCPU};
    static const float x[BLOCK];
    const double old[2] = {1, 2};
    need_device();
    write_file("slow.raw", x, sizeof(x));
    write_npy("slow.npy", 1, own_descr('f', 8), "(2,)", old, sizeof(old));
    for (size_t i = 0; i < COUNT(numbers); i++) {
        result r;
        const setup how = {.in_file = "slow.raw", .in_piece = 8192, .in_pause = 200}; /* 13 s */
        const pid_t pid = start(&how, "scan sum --dtype f32 - -o slow.npy");
        await_scan("slow.npy");
        kill(pid, numbers[i]);
        finish(pid, &r);
        assert_int_equal(r.code, 1000 + numbers[i]);
        expect_no_rest("an interrupted scan");
        must_hold("slow.npy", own_descr('f', 8), "False", "(2,)", old, sizeof(old));
    }
}

/* A signal that is ignored from the start, as nohup does it, changes nothing. */
void test_scan_ignores(void **unused) {
    (void)unused;
    static const float x[BLOCK];
    result r;
    need_device();
    write_file("slow.raw", x, sizeof(x));
    const setup how = {.in_file = "slow.raw", .in_piece = 65536, .in_pause = 200}; /* 2 s */
    signal(SIGHUP, SIG_IGN);
    const pid_t pid = start(&how, "scan sum --dtype f32 - -o kept.npy");
    signal(SIGHUP, SIG_DFL);
    await_scan("kept.npy");
    kill(pid, SIGHUP);
    finish(pid, &r);
    assert_int_equal(r.code, 0);
    expect_no_rest("a scan that ignores a signal");
    char shape[32];
    snprintf(shape, sizeof(shape), "(%d,)", BLOCK);
    must_hold("kept.npy", own_descr('f', 4), "False", shape, x, sizeof(x));
}
