/* SPDX-License-Identifier: MIT */
/* The cache's folder: other things than regular files in their places, and files that may not be
 * written. */
#define _XOPEN_SOURCE 700
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core.h"
#include "tests/support/folders.h"

#define ENTRIES 2   /* the program of a sum, and the verdict of the self-test */
#define PATIENCE 20 /* seconds, after which SIGALRM ends a test that hangs */

typedef struct places {
    int count;
    char paths[ENTRIES][600];
} places;

static void note_place(const char *file, void *data) {
    places *at = data;
    assert_true(at->count < ENTRIES);
    snprintf(at->paths[at->count++], sizeof at->paths[0], "%s", file);
}

static places find_places(const char *dir) {
    places at = {0};
    folder_walk(dir, note_place, &at);
    return at;
}

static tally_context_info sum_on_fresh_context(void) {
    tally_context *context;
    tally_context_info info;
    float items[100], sum = 0;
    for (int i = 0; i < 100; i++) items[i] = (float)i;
    stub_reset();
    MUST(tally_context_create("stub:alpha", &context));
    MUST(tally_reduce_host(context, TALLY_SUM, TALLY_F32, items, 100, &sum));
    assert_true(sum == 4950);
    MUST(tally_context_get_info(context, &info));
    tally_context_destroy(context);
    return info;
}

/* ---- no regular file ------------------------------------------------------------------------- */

static void put_pipe(const char *path) {
    assert_int_equal(mkfifo(path, 0600), 0);
}

static void put_socket(const char *path) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_true(fd >= 0 && strlen(path) < sizeof address.sun_path);
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    close(fd);
}

static void put_folder(const char *path) {
    assert_int_equal(mkdir(path, 0700), 0);
}

static void put_device(const char *path) {
    assert_int_equal(symlink("/dev/zero", path), 0);
}

static const struct {
    void (*put)(const char *path);
    const char *name;
} others[] = {{put_pipe, "a pipe"}, {put_socket, "a socket"}, {put_folder, "a folder"}, {put_device, "a device"}};

static void make_cache(char dir[256]) {
    folder_make(dir, 256);
    setenv("TALLY_CACHE_DIR", dir, 1);
}

static void drop_cache(const char *dir) {
    folder_remove(dir);
    setenv("TALLY_CACHE_DIR", "off", 1);
}

/* Each such place counts as a damaged entry, and the next entry replaces it. */
static void test_entries(void **unused) {
    (void)unused;
    char dir[256];
    make_cache(dir);
    alarm(PATIENCE);
    assert_int_equal(sum_on_fresh_context().programs_built, 1);
    for (size_t i = 0; i < TALLY_ARRAY_LENGTH(others); i++) {
        const places at = find_places(dir);
        assert_int_equal(at.count, ENTRIES);
        for (int k = 0; k < ENTRIES; k++) {
            assert_int_equal(unlink(at.paths[k]), 0);
            others[i].put(at.paths[k]);
        }
        for (int round = 0; round < 2; round++) {
            const tally_context_info info = sum_on_fresh_context();
            if (info.programs_built != (round == 0) || info.cache_entries_damaged != (round == 0 ? ENTRIES : 0))
                fail_msg("%s, use %d: %d built, %d damaged", others[i].name, round, (int)info.programs_built,
                         (int)info.cache_entries_damaged);
        }
    }
    /* A folder with something in it stays. Nothing is cached in its place. */
    const places at = find_places(dir);
    for (int k = 0; k < at.count; k++) {
        char inner[640];
        snprintf(inner, sizeof inner, "%s/own", at.paths[k]);
        assert_int_equal(unlink(at.paths[k]), 0);
        put_folder(at.paths[k]);
        put_folder(inner);
    }
    for (int round = 0; round < 2; round++) assert_int_equal(sum_on_fresh_context().programs_built, 1);
    alarm(0);
    assert_int_equal(folder_walk(dir, NULL, NULL), 0); /* no temporary files either */
    drop_cache(dir);
    SOUND();
}

static void test_tunings(void **unused) {
    (void)unused;
    char dir[256], path[300], text[4096];
    make_cache(dir);
    snprintf(path, sizeof path, "%s/" TALLY_TUNINGS_FILE, dir);
    alarm(PATIENCE);
    for (size_t i = 0; i < TALLY_ARRAY_LENGTH(others); i++) {
        tally_context *context;
        others[i].put(path);
        MUST(tally_context_create("stub:alpha", &context));
        MUST(tally_context_describe(context, text, sizeof text));
        if (!strstr(text, "\ntunings: the library's own: tunings.txt is no regular file\n"))
            fail_msg("%s: %s", others[i].name, text);
        tally_context_destroy(context);
        assert_int_equal(remove(path), 0);
    }
    alarm(0);
    drop_cache(dir);
    SOUND();
}

/* A folder whose name has terminal commands is used under its name and printed escaped. */
static void test_name(void **unused) {
    (void)unused;
    char dir[256], own[300], text[4096];
    tally_context *context;
    tally_context_info info;
    make_cache(dir);
    snprintf(own, sizeof own, "%s/\x1b[31m", dir);
    setenv("TALLY_CACHE_DIR", own, 1);
    MUST(tally_context_create("stub:alpha", &context));
    MUST(tally_context_get_info(context, &info));
    MUST(tally_context_describe(context, text, sizeof text));
    tally_context_destroy(context);
    assert_string_equal(info.cache_dir, own);
    if (strchr(text, '\x1b') || !strstr(text, "/\\x1b[31m\n")) fail_msg("%s", text);
    drop_cache(dir);
    SOUND();
}

/* ---- ulimit -f ------------------------------------------------------------------------------- */

/* The limits are 0 and too few bytes for a program. A process of its own sets them, as they cannot
 * be raised again. */
static void test_limit(void **unused) {
    (void)unused;
    char dir[256];
    sum_on_fresh_context(); /* the stub's compiler writes files too; its module is kept from here on */
    make_cache(dir);
    for (rlim_t bytes = 0; bytes <= 41; bytes += 41) {
        const pid_t child = fork();
        assert_true(child >= 0);
        if (!child) {
            const struct rlimit limit = {bytes, bytes};
            signal(SIGXFSZ, SIG_DFL);
            if (setrlimit(RLIMIT_FSIZE, &limit)) _exit(2);
            _exit(sum_on_fresh_context().programs_built == 1 ? 0 : 1);
        }
        int status = -1;
        assert_int_equal(waitpid(child, &status, 0), child);
        if (WIFSIGNALED(status)) fail_msg("%d bytes: ended by signal %d", (int)bytes, WTERMSIG(status));
        assert_int_equal(status, 0);
        if (bytes == 0) assert_int_equal(folder_walk(dir, NULL, NULL), 0);
    }
    drop_cache(dir);
    SOUND();
}

/* A path without a root is of the directory where the context was made. */
static void test_relative(void **unused) {
    (void)unused;
    char before[400], here[400], dir[800];
    tally_context *context;
    tally_plan *plan;
    assert_non_null(getcwd(before, sizeof before));
    folder_make(here, sizeof here);
    setenv("TALLY_CACHE_DIR", "own", 1);
    assert_int_equal(chdir(here), 0);
    MUST(tally_context_create("stub:alpha", &context));
    assert_int_equal(chdir(before), 0);
    MUST(tally_plan_create(context, &side_desc, &plan));
    snprintf(dir, sizeof dir, "%s/own", here);
    assert_string_equal(context->cache_dir, dir);
    assert_int_equal(find_places(dir).count, ENTRIES);
    tally_plan_destroy(plan);
    tally_context_destroy(context);
    setenv("TALLY_CACHE_DIR", "off", 1);
    folder_remove(here);
}

const core_test cache_tests[] = {{"cache: no regular file in an entry's place", test_entries},
                                 {"cache: no regular file in the tunings' place", test_tunings},
                                 {"cache: a folder of an odd name", test_name},
                                 {"cache: a relative path", test_relative},
                                 {"cache: files that may not be written", test_limit},
                                 {NULL, NULL}};
