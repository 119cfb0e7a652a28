/* SPDX-License-Identifier: MIT */
/* The program cache on disk: a warm cache saves every build, a damaged entry is noticed, and a
 * missing folder is no obstacle. */
#define _XOPEN_SOURCE 700
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "conformance.h"
#include "oracle/oracle.h"
#include "oracle/patterns.h"

extern char **environ;

static const tally_op ops[] = {TALLY_SUM, TALLY_MIN};
#define DTYPE TALLY_U32 /* no library has prebuilt programs of it */

/* Does not use cmocka, as the second process runs this without it. */
int expect_fresh_context(const char *select, tally_context_info *info) {
    uint32_t items[9001];
    tally_context *context;
    if (tally_context_create(select, &context) != TALLY_OK) {
        fprintf(stderr, "%s: %s\n", select, tally_last_error());
        return 0;
    }
    pattern_fill(PATTERN_WIDE, DTYPE, items, 9001);
    int good = 1;
    for (size_t i = 0; good && i < TALLY_ARRAY_LENGTH(ops); i++) {
        uint64_t result = 0, expected = 0;
        oracle_reduce(ops[i], DTYPE, items, 9001, &expected);
        const tally_reduce_desc desc = {.size = sizeof desc, .op = ops[i], .in = DTYPE, .variant = "auto"};
        good = tally_reduce_host_inputs(context, &desc, (const void *[]){items}, 9001, &result) == TALLY_OK;
        if (!good) fprintf(stderr, "%s: %s\n", select, tally_last_error());
        if (good && result != expected) {
            fprintf(stderr, "%s of %s is %llx, should be %llx\n", tally_op_name(ops[i]), tally_dtype_name(DTYPE),
                    (unsigned long long)result, (unsigned long long)expected);
            good = 0;
        }
    }
    good = tally_context_get_info(context, info) == TALLY_OK && good;
    tally_context_destroy(context);
    return good ? (int)TALLY_ARRAY_LENGTH(ops) : 0;
}

/* A cache folder of the test's own, and the variable's value before the test. */
enum { CACHE_DIR, XDG, HOME, VARIABLES };
static const char *const variables[VARIABLES] = {"TALLY_CACHE_DIR", "XDG_CACHE_HOME", "HOME"};

typedef struct own_cache {
    char parent[256], dir[300];
    char *before[VARIABLES];
} own_cache;

static void set_variable(const char *name, const char *value) {
    if (value)
        setenv(name, value, 1);
    else
        unsetenv(name);
}

static void own_cache_open(own_cache *own) {
    for (int v = 0; v < VARIABLES; v++) own->before[v] = getenv(variables[v]) ? strdup(getenv(variables[v])) : NULL;
    folder_make(own->parent, sizeof own->parent);
    snprintf(own->dir, sizeof own->dir, "%s/programs", own->parent);
    set_variable("TALLY_CACHE_DIR", own->dir);
}

static void own_cache_close(own_cache *own) {
    for (int v = 0; v < VARIABLES; v++) {
        set_variable(variables[v], own->before[v]);
        free(own->before[v]);
    }
    folder_remove(own->parent);
}

static void expect_counts(void **state, uint64_t built, uint64_t from_disk, uint64_t damaged, const char *what) {
    const place *at = *state;
    tally_context_info info;
    if (expect_fresh_context(at->select, &info) == 0) fail_msg("%s: wrong", what);
    if (info.programs_built != built || info.programs_from_disk != from_disk || info.cache_entries_damaged != damaged)
        fail_msg("%s: %llu built, %llu from disk, %llu damaged; should be %llu, %llu, %llu (note: \"%s\")", what,
                 (unsigned long long)info.programs_built, (unsigned long long)info.programs_from_disk,
                 (unsigned long long)info.cache_entries_damaged, (unsigned long long)built, (unsigned long long)from_disk,
                 (unsigned long long)damaged, info.cache_note);
}

/* ---- warm and damaged ------------------------------------------------------------------------ */

static void test_warm(void **state) {
    const place *at = *state;
    own_cache own;
    own_cache_open(&own);
    expect_counts(state, 2, 0, 0, "a cold cache");
    struct stat info;
    assert_int_equal(stat(own.dir, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0700);
    assert_true(folder_walk(own.dir, NULL, NULL) >= 2);
    expect_counts(state, 0, 2, 0, "a warm cache");

    tally_context *context;
    tally_context_info context_info;
    MUST(tally_context_create(at->select, &context));
    MUST(tally_context_get_info(context, &context_info));
    tally_context_destroy(context);
    assert_string_equal(context_info.cache_dir, own.dir);
    assert_string_equal(context_info.cache_note, "");
    own_cache_close(&own);
}

static long file_bytes(const char *file) {
    struct stat info;
    assert_int_equal(stat(file, &info), 0);
    return (long)info.st_size;
}

/* Inverts one byte at a tenth of the file's length, which *data gives. */
static void flip_byte(const char *file, void *data) {
    const long at = (file_bytes(file) - 1) * *(const int *)data / 10;
    FILE *stream = fopen(file, "r+b");
    assert_non_null(stream);
    fseek(stream, at, SEEK_SET);
    const int byte = fgetc(stream);
    fseek(stream, at, SEEK_SET);
    fputc(~byte & 0xff, stream);
    assert_int_equal(fclose(stream), 0);
}

static void truncate_to_half(const char *file, void *data) {
    (void)data;
    assert_int_equal(truncate(file, file_bytes(file) / 2), 0);
}

static void truncate_by_one(const char *file, void *data) {
    (void)data;
    assert_int_equal(truncate(file, file_bytes(file) - 1), 0);
}

static void empty_file(const char *file, void *data) {
    (void)data;
    assert_int_equal(truncate(file, 0), 0);
}

static void grow_file(const char *file, void *data) {
    (void)data;
    FILE *stream = fopen(file, "ab");
    assert_non_null(stream);
    fputs("more", stream);
    assert_int_equal(fclose(stream), 0);
}

static void fill_with_text(const char *file, void *data) {
    (void)data;
    const long bytes = file_bytes(file);
    FILE *stream = fopen(file, "wb");
    assert_non_null(stream);
    for (long i = 0; i < bytes; i++) fputc("tally "[i % 6], stream);
    assert_int_equal(fclose(stream), 0);
}

/* Everything in the cache is damaged. All damage is noticed, and the programs are built again. */
static void expect_rebuilt(void **state, const own_cache *own, void (*damage)(const char *, void *), void *data,
                           const char *what) {
    const int entries = folder_walk(own->dir, damage, data);
    assert_true(entries >= 2);
    expect_counts(state, 2, 0, (uint64_t)entries, what);
    expect_counts(state, 0, 2, 0, "mended");
}

typedef struct entry_names {
    int count;
    char files[8][600];
} entry_names;

static void note_entry(const char *file, void *data) {
    entry_names *names = data;
    assert_true(names->count < 8);
    snprintf(names->files[names->count++], sizeof names->files[0], "%s", file);
}

/* A sound entry under another entry's name is as wrong as a damaged one. Each entry takes the next
 * one's place. */
static void expect_swap_noticed(void **state, const own_cache *own) {
    char aside[400];
    entry_names names = {0};
    folder_walk(own->dir, note_entry, &names);
    assert_true(names.count >= 2);
    snprintf(aside, sizeof aside, "%s/aside", own->parent);
    assert_int_equal(rename(names.files[0], aside), 0);
    for (int i = 1; i < names.count; i++) assert_int_equal(rename(names.files[i], names.files[i - 1]), 0);
    assert_int_equal(rename(aside, names.files[names.count - 1]), 0);
    expect_counts(state, 2, 0, (uint64_t)names.count, "entries that changed places");
}

static void test_damaged(void **state) {
    own_cache own;
    own_cache_open(&own);
    expect_counts(state, 2, 0, 0, "a cold cache");
    for (int tenth = 0; tenth <= 10; tenth++) {
        char what[64];
        snprintf(what, sizeof what, "a byte inverted at %d tenths", tenth);
        expect_rebuilt(state, &own, flip_byte, &tenth, what);
    }
    expect_rebuilt(state, &own, truncate_to_half, NULL, "entries cut in half");
    expect_rebuilt(state, &own, truncate_by_one, NULL, "entries one byte short");
    expect_rebuilt(state, &own, empty_file, NULL, "empty entries");
    expect_rebuilt(state, &own, grow_file, NULL, "entries with more behind");
    expect_rebuilt(state, &own, fill_with_text, NULL, "entries of text");
    expect_swap_noticed(state, &own);
    own_cache_close(&own);
}

/* ---- no folder ------------------------------------------------------------------------------- */

static void expect_no_cache(void **state, const char *dir, const char *said) {
    const place *at = *state;
    tally_context_info info;
    set_variable("TALLY_CACHE_DIR", dir);
    if (expect_fresh_context(at->select, &info) == 0) fail_msg("with TALLY_CACHE_DIR=%s: wrong", dir);
    assert_int_equal(info.programs_built, 2);
    assert_int_equal(info.programs_from_disk, 0);
    assert_string_equal(info.cache_dir, "");
    if (!info.cache_note[0] || !strstr(info.cache_note, said))
        fail_msg("TALLY_CACHE_DIR=%s: the note is \"%s\" and should speak of \"%s\"", dir, info.cache_note, said);
}

static void test_no_directory(void **state) {
    own_cache own;
    char file[320], below[340];
    own_cache_open(&own);
    expect_no_cache(state, "off", "TALLY_CACHE_DIR");
    expect_no_cache(state, "", "TALLY_CACHE_DIR");
    assert_int_equal(folder_walk(own.parent, NULL, NULL), 0);

    /* A file in the folder's place, and a folder below a file. They stop even root, whom no
     * permission stops. */
    snprintf(file, sizeof file, "%s/file", own.parent);
    snprintf(below, sizeof below, "%s/below", file);
    FILE *stream = fopen(file, "w");
    assert_non_null(stream);
    fclose(stream);
    expect_no_cache(state, file, file);
    expect_no_cache(state, below, below);
    expect_no_cache(state, "/proc/no/such/directory", "/proc/no/such/directory");

    if (geteuid() != 0) {
        snprintf(below, sizeof below, "%s/closed", own.parent);
        assert_int_equal(mkdir(below, 0500), 0);
        expect_no_cache(state, below, below);
    }
    own_cache_close(&own);
}

/* Other users could put programs into a folder that they can write to. */
static void test_open_to_others(void **state) {
    const place *at = *state;
    own_cache own;
    own_cache_open(&own);
    assert_int_equal(mkdir(own.dir, 0777), 0);
    assert_int_equal(chmod(own.dir, 0777), 0);
    tally_context_info info;
    assert_int_not_equal(expect_fresh_context(at->select, &info), 0);
    struct stat now;
    assert_int_equal(stat(own.dir, &now), 0);
    if ((now.st_mode & 0022) != 0 && (info.cache_dir[0] || !info.cache_note[0]))
        fail_msg("a directory that others can write to is used: \"%s\"", info.cache_dir);
    own_cache_close(&own);
}

/* The folder is $XDG_CACHE_HOME/tally, else $HOME/.cache/tally. It is made if it is not there. */
static void test_default_directory(void **state) {
    const place *at = *state;
    own_cache own;
    own_cache_open(&own);
    for (int use_xdg = 0; use_xdg < 2; use_xdg++) {
        tally_context *context;
        tally_context_info info;
        char xdg[300], expected[400];
        snprintf(xdg, sizeof xdg, "%s/xdg", own.parent);
        snprintf(expected, sizeof expected, "%s/%s/tally", own.parent, use_xdg ? "xdg" : ".cache");
        set_variable("TALLY_CACHE_DIR", NULL);
        set_variable("HOME", own.parent);
        set_variable("XDG_CACHE_HOME", use_xdg ? xdg : NULL);
        MUST(tally_context_create(at->select, &context));
        MUST(tally_context_get_info(context, &info));
        tally_context_destroy(context);
        assert_string_equal(info.cache_dir, expected);
    }
    own_cache_close(&own);
}

/* ---- two processes --------------------------------------------------------------------------- */

static void test_two_processes(void **state) {
    const place *at = *state;
    own_cache own;
    own_cache_open(&own);
    char option[] = "--only-use-cache", program[] = "/proc/self/exe", select[32];
    snprintf(select, sizeof select, "%s", at->select);
    char *const arguments[] = {program, option, select, NULL};
    pid_t children[2];
    for (int c = 0; c < 2; c++) assert_int_equal(posix_spawn(&children[c], program, NULL, NULL, arguments, environ), 0);
    for (int c = 0; c < 2; c++) {
        int status = -1;
        assert_int_equal(waitpid(children[c], &status, 0), children[c]);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
    }
    expect_counts(state, 0, 2, 0, "a cache that two processes filled at once");
    own_cache_close(&own);
}

const device_test cache_tests[] = {
    {"cache: warm", test_warm},
    {"cache: damaged", test_damaged},
    {"cache: no folder", test_no_directory},
    {"cache: a folder open to others", test_open_to_others},
    {"cache: default folder", test_default_directory},
    {"cache: two processes", test_two_processes},
    {NULL, NULL},
};
