/* SPDX-License-Identifier: MIT */
/* Errors. Each gives one line on stderr that names it, nothing on stdout, and the exit code 1, or 2
 * for wrong usage. */
#include "cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

void test_bad_usage(void **unused) {
    (void)unused;
    static const bad_row rows[] = {
        {"", {"no command", "devices, variants, ops, reduce, scan, check", "(see tally --help)\n"}, NULL, NULL},
        {"frobnicate", {"frobnicate", "devices, variants, ops, reduce, scan, check"}, NULL, NULL},
        {"--frobnicate", {"--frobnicate", "--backend, --json, --dtype"}, NULL, NULL},
        {"reduce sum x --frobnicate=3", {"--frobnicate=3", "--backend"}, NULL, NULL},
        {"reduce -q sum x", {"-q", "--backend"}, NULL, NULL},
        {"reduce", {"no operator", "sum, min, max, prod"}, NULL, NULL},
        {"frobnicate check", {"frobnicate", "(see tally --help)\n"}, NULL, NULL},
        {"reduce frob x", {"frob", "sum, min, max, prod", "(see tally reduce --help)\n"}, NULL, NULL},
        {"reduce SUM x", {"SUM", "sum, min, max, prod"}, NULL, NULL},
        {"reduce sum", {"no file", "standard input"}, NULL, NULL},
        {"reduce sum --dtype", {"--dtype needs an argument (see tally reduce --help)\n"}, NULL, NULL},
        {"reduce sum --axis 0 --axis 1 x", {"--axis is given twice"}, NULL, NULL},
        {"reduce sum --dtype f33 x", {"f33", "f32, f64, i32, u32", "c64, c128"}, NULL, NULL},
        {"reduce sum --variant fast x", {"fast", "auto, atomic_global"}, NULL, NULL},
        {"reduce sum --variant sequential x", {"--variant sequential", "canonical order", "study"}, NULL, NULL},
        {"reduce var --param ddof:f32=1 x", {"--param ddof:f32=1", "--load", "type"}, NULL, NULL},
        {"reduce --load x>p.t --combine a+b --identity 0 --param t:f16=1 x", {"--param t:f16=1", "f32, f64, i32"}, NULL, NULL},
        {"reduce --load x>p.t --combine a+b --identity 0 --param t:i64=9007199254740993 x",
         {"--param t:i64=9007199254740993", "would be 9007199254740992", "in the expression"},
         NULL,
         NULL},
        {"reduce --load x>p.t --combine a+b --identity 0 --param t:u64=18446744073709551615 x",
         {"would be 18446744073709551616"},
         NULL,
         NULL},
        {"reduce sum - -", {"standard input"}, NULL, NULL},
        {"reduce sum --json=yes x", {"--json takes no argument"}, NULL, NULL},
        {"devices everything", {"everything", "(see tally devices --help)\n"}, NULL, NULL},
        {"--json check this", {"this", "(see tally check --help)\n"}, NULL, NULL},
        {"devices --dtype f32", {"devices", "--dtype", "--backend, --json, --help"}, NULL, NULL},
        {"variants --variant auto", {"variants", "--variant"}, NULL, NULL},
        {"reduce sum --backend frob x", {"--backend", "frob", "there are"}, NULL, NULL},
        {"devices --backend frob", {"--backend", "frob", "there are"}, NULL, NULL},
        {"variants --backend frob", {"--backend", "frob", "there are"}, NULL, NULL},
        {"check --backend frob", {"--backend", "frob", "there are"}, NULL, NULL},
        {"reduce sum x", {"TALLY_BACKEND", "frob", "there are"}, "TALLY_BACKEND=frob", NULL},
        {"reduce sum --backend frob x", {"--backend", "frob", "there are"}, "TALLY_BACKEND=opencl", NULL},
    };
    must_refuse_rows(rows, COUNT(rows), 2);
}

/* ---- files ----------------------------------------------------------------------------------- */

/* Writes them once: each of the tests that read them may be the only one that runs. */
static void write_bad_files(void) {
    static bool are_written;
    const double x[4] = {1, 2, 3, 4};
    char path[512], text[512];
    if (are_written) return;
    are_written = true;
    snprintf(path, sizeof(path), "%s/folder", folder_path());
    assert_int_equal(mkdir(path, 0700), 0);
    write_file("empty.npy", "", 0);
    write_file("magic.npy", "\x93NUM", 4);
    write_file("version.npy", "\x93NUMPY\x09\x00\x10\x00", 10);
    write_file("header.npy", "\x93NUMPY\x01\x00\xf6\x00{'descr': '<f8'", 25);
    write_file("long.npy", "\x93NUMPY\x02\x00\xff\xff\xff\xff{'descr': '<f8'", 27);
    write_file("text.npy", "1 2 3 4 5 6 7 8\n", 16);
    write_file("items.bin", x, sizeof(x));
    write_file("three.bin", "abc", 3);
    write_npy("good.npy", 1, "<f8", "(4,)", x, 32);
    write_npy("short.npy", 1, "<f8", "(4,)", x, 31);
    write_npy("none.npy", 1, "<f8", "(4,)", x, 0);
    write_npy("huge.npy", 1, "<f8", "(1000000, 1000000)", x, 32);
    write_npy("overflow.npy", 1, "<f8", "(4294967296, 4294967296)", x, 32);
    write_npy("bytes.npy", 1, "<f8", "(2305843009213693952,)", x, 32);
    write_npy("object.npy", 1, "|O", "(4,)", x, 32);
    write_npy("long_double.npy", 1, "<f16", "(2,)", x, 32);
    write_npy("date.npy", 1, "<M8[ns]", "(4,)", x, 32);
    write_npy("more.npy", 1, "<f8", "(3,)", x, 32);
    write_npy("many.npy", 1, "<f8", "(1,", x, 32);
    snprintf(text, sizeof(text), "{'descr': [('a', '<f8'), ('b', '<i4')], 'fortran_order': False, 'shape': (2,)}\n");
    write_npy_dictionary("record.npy", 1, text, x, 24);
    write_npy_dictionary("missing_key.npy", 1, "{'descr': '<f8', 'shape': (4,)}\n", x, 32);
}

void test_bad_files(void **unused) {
    (void)unused;
    static const bad_row rows[] = {
        {"reduce sum absent.npy", {"absent.npy", "No such file"}, NULL, NULL},
        {"reduce sum --json absent.npy", {"absent.npy", "No such file"}, NULL, NULL},
        {"reduce sum good.npy/x", {"good.npy/x", "Not a directory"}, NULL, NULL},
        {"reduce sum folder", {"folder", "Is a directory"}, NULL, NULL},
        {"reduce sum --dtype f32 folder", {"folder", "Is a directory"}, NULL, NULL},
        {"reduce sum empty.npy", {"empty.npy", "truncated"}, NULL, NULL},
        {"reduce sum --dtype f64 empty.npy", {"empty.npy", "truncated"}, NULL, NULL},
        {"reduce sum magic.npy", {"magic.npy", "truncated"}, NULL, NULL},
        {"reduce sum --dtype f32 magic.npy", {"magic.npy", "truncated"}, NULL, NULL},
        {"reduce sum version.npy", {"version.npy", "version 9.0", "1.0, 2.0, 3.0"}, NULL, NULL},
        {"reduce sum header.npy", {"header.npy", "truncated"}, NULL, NULL},
        {"reduce sum long.npy", {"long.npy", "4294967295 bytes"}, NULL, NULL},
        {"reduce sum text.npy", {"text.npy", "not a .npy file"}, NULL, NULL},
        {"reduce sum --dtype f64 text.npy", {"text.npy", "not a .npy file"}, NULL, NULL},
        {"reduce sum items.bin", {"items.bin", "--dtype", "f32, f64, i32"}, NULL, NULL},
        {"reduce sum --dtype f32 three.bin", {"three.bin", "3 bytes", "multiple of 4"}, NULL, NULL},
        {"reduce sum --dtype f32 good.npy", {"good.npy", "--dtype f32", "f64"}, NULL, NULL},
        {"reduce sum short.npy", {"short.npy", "truncated", "32 bytes of data, there are 31"}, NULL, NULL},
        {"reduce sum none.npy", {"none.npy", "truncated", "there are 0"}, NULL, NULL},
        {"reduce sum huge.npy", {"huge.npy", "8000000000000 bytes of data, there are 32"}, NULL, NULL},
        {"reduce sum overflow.npy", {"overflow.npy", "overflow", "64 bits"}, NULL, NULL},
        {"reduce sum bytes.npy", {"bytes.npy", "overflow", "64 bits"}, NULL, NULL},
        {"reduce sum object.npy", {"object.npy", "Python objects"}, NULL, NULL},
        {"reduce sum record.npy", {"record.npy", "structured"}, NULL, NULL},
        {"reduce sum long_double.npy", {"long_double.npy", "<f16", "f32, f64, i32, u32, i64, u64, f16, i8"}, NULL, NULL},
        {"reduce sum date.npy", {"date.npy", "<M8[ns]", "bool, c64, c128"}, NULL, NULL},
        {"reduce sum --dtype bf16 good.npy", {"good.npy", "--dtype bf16", "f64"}, NULL, NULL},
        {"reduce sum --dtype c128 three.bin", {"three.bin", "3 bytes", "multiple of 16"}, NULL, NULL},
        {"reduce sum more.npy", {"more.npy", "more follows"}, NULL, NULL},
        {"reduce sum many.npy", {"many.npy", "header"}, NULL, NULL},
        {"reduce sum missing_key.npy", {"missing_key.npy", "fortran_order"}, NULL, NULL},
    };
    write_bad_files();
    need_device();
    must_refuse_rows(rows, COUNT(rows), 1);
}

/* The same files through a pipe. */
void test_bad_streams(void **unused) {
    (void)unused;
    static const bad_row rows[] = {
        {"reduce sum -", {"-: empty", "--dtype"}, NULL, NULL},
        {"reduce sum --dtype f32 -", {"-: --dtype f32 contradicts the .npy header"}, NULL, "good.npy"},
        {"reduce sum -", {"-: truncated"}, NULL, "magic.npy"},
        {"reduce sum -", {"-: truncated"}, NULL, "header.npy"},
        {"reduce sum -", {"-: ", "4294967295 bytes"}, NULL, "long.npy"},
        {"reduce sum -", {"-: not a .npy file"}, NULL, "items.bin"},
        {"reduce sum -", {"-: truncated", "32 bytes of data, there are 31"}, NULL, "short.npy"},
        {"reduce sum -", {"-: truncated", "there are 32"}, NULL, "huge.npy"},
        {"reduce sum -", {"-: more follows"}, NULL, "more.npy"},
        {"reduce sum -", {"-: ", "Python objects"}, NULL, "object.npy"},
        {"reduce sum --dtype f32 -", {"-: ", "3 bytes", "multiple of 4"}, NULL, "three.bin"},
        {"reduce sum --dtype f64 -", {"-: ", "multiple of 8"}, NULL, "three.bin"},
        {"reduce sum --dtype f64 -", {"-: truncated: the file ends within"}, NULL, "header.npy"},
    };
    write_bad_files();
    need_device();
    must_refuse_rows(rows, COUNT(rows), 1);
}

static void write_foreign_files(void) {
    static const char gz[] = "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\x4b\x4c\x4a\x06\x00\xc2";
    static const char csv[] = "1,2,3,4\n5,6,7,8\n";
    write_file("data.npy.gz", gz, 16);
    write_file("data.bin", gz, 16);
    write_file("packed.npy", gz, 16);
    write_file("data.xz",
               "\xfd"
               "7zXZ\0rest",
               10);
    write_file("data.zst", "\x28\xb5\x2f\xfdrest", 8);
    write_file("a'b.bz2", "BZh91AY", 7);
    write_file("archive.npz", "PK\3\4rest of it", 14);
    write_file("data.csv", csv, sizeof(csv) - 1);
    write_file("heading.csv", "speed;time\r\n1;2\r\n", 17);
    write_file("quoted.csv", "\"1\",\"2\"\n", 8);
    write_file("marked.csv", "\xef\xbb\xbf\"a\",\"b\"\n1,2\n", 15);
    write_file("lines", "1.5\n-2e3\n", 9);
    write_file("lines.txt", "1.5 2\t3\n", 8);
}

/* A compressed file, an archive or a text gets advice. Raw items that look like one are read. */
void test_foreign_files(void **unused) {
    (void)unused;
    static const float x[4] = {1, 2, 3, 4};
    static const bad_row rows[] = {
        {"reduce sum data.npy.gz", {"data.npy.gz: compressed by gzip: zcat data.npy.gz | tally ... -"}, NULL, NULL},
        {"reduce sum data.bin", {"data.bin: compressed by gzip: zcat data.bin | tally ... -"}, NULL, NULL},
        {"reduce sum -", {"-: compressed by gzip: zcat FILE | tally ... -"}, NULL, "data.npy.gz"},
        {"reduce sum --dtype u8 data.npy.gz", {"gzip: zcat data.npy.gz | tally ... --dtype u8 -"}, NULL, NULL},
        {"scan sum --dtype u16 data.npy.gz -o out.npy", {"zcat data.npy.gz | tally ... --dtype u16 -"}, NULL, NULL},
        {"gather data.npy.gz --index data.npy.gz -o out.npy", {"data.npy.gz: compressed by gzip"}, NULL, NULL},
        {"reduce sum packed.npy", {"packed.npy: compressed by gzip: zcat packed.npy | tally ... -"}, NULL, NULL},
        {"reduce sum --dtype f32 packed.npy", {"packed.npy: compressed by gzip: zcat packed.npy | tally ... -"}, NULL, NULL},
        {"reduce dot x.npy data.npy.gz", {"data.npy.gz: compressed by gzip"}, NULL, NULL},
        {"reduce sum data.xz", {"compressed by xz: xzcat data.xz | tally"}, NULL, NULL},
        {"reduce sum --dtype f32 data.zst", {"compressed by zstd: zstdcat data.zst | tally ... --dtype f32 -"}, NULL, NULL},
        {"reduce sum a'b.bz2", {"a'b.bz2: compressed by bzip2: bzcat FILE |"}, NULL, NULL},
        {"reduce sum archive.npz", {"archive.npz", "zip"}, NULL, NULL},
        {"reduce sum --dtype u8 archive.npz", {"archive.npz", "zip"}, NULL, NULL},
        {"reduce sum data.csv",
         {"data.csv: looks like text (CSV): convert it", "n.loadtxt('data.csv', delimiter=','))"},
         NULL,
         NULL},
        {"reduce sum --dtype f64 data.csv", {"data.csv: looks like text (CSV)", "n.save('out.npy', n.loadtxt"}, NULL, NULL},
        {"reduce sum -", {"-: looks like text (CSV)", "n.loadtxt('FILE', delimiter=',')"}, NULL, "data.csv"},
        {"reduce sum heading.csv", {"n.loadtxt('heading.csv', delimiter=';', skiprows=1)"}, NULL, NULL},
        {"reduce sum quoted.csv", {"n.loadtxt('quoted.csv', delimiter=',', quotechar=chr(34)))"}, NULL, NULL},
        {"reduce sum marked.csv",
         {"n.loadtxt('marked.csv', delimiter=',', quotechar=chr(34), skiprows=1, encoding='utf-8-sig'))"},
         NULL,
         NULL},
        {"reduce sum lines", {"lines: looks like text: convert it", "n.loadtxt('lines'))"}, NULL, NULL},
        {"reduce sum --dtype i8 lines.txt", {"lines.txt: looks like text", "n.loadtxt('lines.txt'))"}, NULL, NULL},
    };
    need_device();
    write_npy("x.npy", 1, own_descr('f', 4), "(4,)", x, sizeof(x));
    write_foreign_files();
    must_refuse_rows(rows, COUNT(rows), 1);
    /* Raw items may begin with any bytes. */
    must_give(NULL, "reduce count_nonzero --dtype u8 data.bin", "9");
    must_give(&(setup){.in_file = "data.npy.gz"}, "reduce max --dtype u8 -", "194");
    must_give(&(setup){.in_file = "data.csv"}, "reduce min --dtype u8 -", "10");
    must_give(NULL, "reduce max --dtype i8 lines", "101");
    write_file("raw.csv", x, sizeof(x));
    write_file("raw.gz", x, sizeof(x));
    must_give(NULL, "reduce sum --dtype f32 raw.csv", "10.0");
    must_give(NULL, "reduce sum --dtype f32 raw.gz", "10.0");
    write_file("none.csv", "", 0);
    must_give(NULL, "reduce sum --dtype f32 none.csv", "0.0");
}

/* ---- output and machine ---------------------------------------------------------------------- */

void test_bad_output(void **unused) {
    (void)unused;
    static const char *const full[] = {"standard output", "No space left"};
    static const char *const closed[] = {"standard output", "Bad file descriptor"};
    static const char *const commands[] = {
        "devices", "variants", "--help", "--version", "devices --json", "reduce sum good.npy", "reduce sum good.npy good.npy"};
    write_bad_files();
    for (size_t i = 0; i < COUNT(commands); i++) {
        if (strncmp(commands[i], "reduce", 6) == 0) need_device();
        must_refuse(&(setup){.out = "/dev/full"}, commands[i], 1, full, COUNT(full));
        must_refuse(&(setup){.out = "-"}, commands[i], 1, closed, COUNT(closed));
    }
}

/* Without a driver there is the backend `host`, unless others are asked for. */
void test_no_device(void **unused) {
    (void)unused;
    const setup nothing = {.env = {"OCL_ICD_VENDORS=/nonexistent", "CUDA_VISIBLE_DEVICES=", "TALLY_BACKEND"}};
    const setup asked = {.env = {"OCL_ICD_VENDORS=/nonexistent", "CUDA_VISIBLE_DEVICES=", "TALLY_BACKEND=cuda,opencl"}};
    static const char *const says[] = {"no such device here"};
    result r = run(&nothing, "devices");
    assert_int_equal(r.code, 0);
    assert_string_equal(r.err, "");
    const bool says_none = strstr(r.out, "none") != NULL;
    assert_non_null(strstr(r.out, "\n* host:0"));
    r = run(&nothing, "devices --json");
    assert_int_equal(r.code, 0);
    json_object *o = parse_line(&r, 0);
    assert_string_equal(text_member(o, "chosen"), "host:0");
    json_object *backends = member(o, "backends");
    assert_int_equal(says_none, json_object_array_length(backends) > 1); /* a build may have `host` alone */
    for (size_t i = 0; i < json_object_array_length(backends); i++) {
        json_object *backend = json_object_array_get_idx(backends, i);
        const int is_host = strcmp(text_member(backend, "backend"), "host") == 0;
        assert_int_equal(json_object_array_length(member(backend, "devices")), is_host);
        if (!is_host) assert_true(strlen(text_member(backend, "reason")) > 4);
    }
    json_object_put(o);
    r = run(&nothing, "variants");
    assert_int_equal(r.code, 0);
    assert_non_null(strstr(r.out, "group_tree"));
    write_npy("four.npy", 1, "<f8", "(4,)", (const double[]){1, 2, 3, 4}, 32);
    r = run(&nothing, "reduce sum,max four.npy");
    assert_int_equal(r.code, 0);
    assert_non_null(strstr(r.out, "host:0"));
    must_refuse(&asked, "reduce sum x.npy", 1, says, COUNT(says));
}

/* Returns whether the process has mapped the file, by Linux's account. */
static bool has_mapped(pid_t pid, const char *name) {
    char path[64], line[1024];
    bool found = false;
    snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
    FILE *maps = fopen(path, "r");
    while (maps && !found && fgets(line, sizeof(line), maps)) found = strstr(line, name) != NULL;
    if (maps) fclose(maps);
    return found;
}

/* ulimit -f: the program reports that the file is too large, and leaves none. */
void test_file_limit(void **unused) {
    (void)unused;
    enum { N = 1 << 21 }; /* the limit leaves room for the files of a device's compiler */
    static const char *const out[] = {"standard output", "File too large"};
    static const char *const npy[] = {"large.npy", "File too large"};
    static uint64_t items[N];
    static uint32_t map[N];
    struct rlimit before, limit;
    char path[512];
    result r;
    for (uint32_t i = 0; i < N; i++) map[i] = i;
    write_npy("words.npy", 1, own_descr('u', 8), "(2097152,)", items, sizeof(items));
    write_npy("map.npy", 1, own_descr('u', 4), "(2097152,)", map, sizeof(map));
    write_file("text", "", 0);
    snprintf(path, sizeof(path), "%s/text", folder_path());
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    limit = before;
    limit.rlim_cur = 1024; /* stderr is a file here too */
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    must_refuse(&(setup){.out = path}, "variants", 1, out, COUNT(out));
    limit.rlim_cur = sizeof(items) / 2;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    r = run(NULL, "gather words.npy --index map.npy -o large.npy");
    setrlimit(RLIMIT_FSIZE, &before);
    need_device();
    assert_int_equal(r.code, 1);
    for (size_t i = 0; i < COUNT(npy); i++)
        if (!strstr(r.err, npy[i])) fail_msg("%s is not said: %s", npy[i], r.err);
    snprintf(path, sizeof(path), "%s/large.npy", folder_path());
    assert_int_not_equal(access(path, F_OK), 0);
}

/* A mapped file that is cut short ends the program with a message. The file is cut while the
 * kernels are compiled, so there is no cache. */
void test_shrinking_file(void **unused) {
    (void)unused;
    need_device();
    char path[512], pocl[512];
    const size_t bytes = (size_t)512 << 20; /* of a sparse file */
    snprintf(path, sizeof(path), "%s/shrinking.bin", folder_path());
    snprintf(pocl, sizeof(pocl), "POCL_CACHE_DIR=%s/pocl", folder_path());
    assert_int_equal(mkdir(strchr(pocl, '=') + 1, 0700), 0);
    write_file("shrinking.bin", "", 0);
    assert_int_equal(truncate(path, (off_t)bytes), 0);
    const setup how = {.env = {"TALLY_CACHE_DIR=off", pocl}};
    const struct timespec wait = {.tv_nsec = 1000000};
    result r;
    const pid_t pid = start(&how, "reduce sum --dtype f32 shrinking.bin");
    for (int i = 0; i < 60000 && !has_mapped(pid, "shrinking.bin"); i++) nanosleep(&wait, NULL);
    assert_int_equal(truncate(path, 4096), 0);
    finish(pid, &r);
    if (r.code != 1) fail_msg("exit code %d: %s", r.code, r.err);
    assert_string_equal(r.out, "");
    assert_string_equal(r.err, "tally: shrinking.bin: the file shrank, or its disk failed, while it was being read\n");
}
