/* SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700
#include "module.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/folders.h"

/* STUB_COMPILER, TALLY_TESTS_FOLDER: the compiler and the sources of the tests (CMakeLists.txt). */

const char stub_prelude[] = "#include \"" TALLY_TESTS_FOLDER "/stub/prelude.h\"\n";
static const char stub_entries[] = "\n#line 1 \"stub\"\n#include \"" TALLY_TESTS_FOLDER "/stub/entries.h\"\n";

extern char **environ;

typedef struct entry {
    struct entry *next;
    char *text;
    stub_module module;
} entry;

static entry *entries;
static char folder[256];

static void remove_folder(void) {
    folder_remove(folder);
}

const char *tally_kernel_source_core(const char *stem); /* defined by the core */

/* Returns the text without the lines that decide nothing here, so that a scan shares its
 * reduction's module. The text also leaves out a scan's kernels, as the stub has its own
 * (scan.c), those of segments, which it does not run, and arrays of accumulators. */
static char *essence(const char *whole) {
    static const char *const dropped[] = {"#define GROUP ",
                                          "#define FACTOR ",
                                          "#define ATOMIC_STAGE ",
                                          "#define FLIGHT_LOADS ",
                                          "#define TILES_EACH ",
                                          "#define ACCS ",
                                          "#undef INLINE",
                                          "#define INLINE static inline __attribute__((always",
                                          "#define EXCLUSIVE ",
                                          "#define REVERSE ",
                                          "#define SEGMENTED ",
                                          "#define INITIAL ",
                                          "#define STAGED ",
                                          "#define FINISHES ",
                                          "/* stub: "};
    static const char *const kernels[] = {"scanning", "segments"};
    char *text = malloc(strlen(whole) + 1), *cut = malloc(strlen(whole) + 1), *to = text, *source = cut;
    if (!text || !cut) abort();
    strcpy(cut, whole);
    for (size_t i = 0; i < sizeof kernels / sizeof kernels[0]; i++) {
        char *at = strstr(cut, tally_kernel_source_core(kernels[i]));
        if (at) *at = 0;
    }
    char *arrays = strstr(cut, "/* arrays */");
    if (arrays) *arrays = 0;
    while (*source) {
        const size_t bytes = strcspn(source, "\n") + (strchr(source, '\n') != NULL);
        int keep = 1;
        for (size_t i = 0; i < sizeof dropped / sizeof dropped[0]; i++)
            keep = keep && strncmp(source, dropped[i], strlen(dropped[i])) != 0;
        if (keep) memcpy(to, source, bytes), to += bytes;
        source += bytes;
    }
    *to = 0;
    free(cut);
    return text;
}

static void write_file(const char *path, const char *text) {
    FILE *file = fopen(path, "w");
    if (!file || fputs(text, file) < 0 || fputs(stub_entries, file) < 0 || fclose(file) != 0) abort();
}

/* Returns the first line with an error, or the first line of all. */
static void read_error(const char *path, char *error, size_t bytes) {
    char line[1024];
    FILE *file = fopen(path, "r");
    error[0] = 0;
    while (file && fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = 0;
        const int is_error = strstr(line, "error") != NULL;
        if (is_error || !error[0]) snprintf(error, bytes, "%.400s", line);
        if (is_error) break;
    }
    if (file) fclose(file);
}

/* Optimised, for the sums of large tests. -ffp-contract, because a * b + c rounds twice. */
static int compile(const char *in, const char *out, const char *log) {
    char *const arguments[] = {(char[]){STUB_COMPILER},
                               (char[]){"-std=gnu11"},
                               (char[]){"-O1"},
                               (char[]){"-ffp-contract=off"},
                               (char[]){"-w"},
                               (char[]){"-shared"},
                               (char[]){"-fPIC"},
                               (char[]){"-o"},
                               strdup(out),
                               strdup(in),
                               (char[]){"-lm"},
                               NULL};
    posix_spawn_file_actions_t actions;
    pid_t child;
    int status = -1;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, log, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (posix_spawnp(&child, STUB_COMPILER, &actions, NULL, arguments, environ) == 0) waitpid(child, &status, 0);
    posix_spawn_file_actions_destroy(&actions);
    free(arguments[8]);
    free(arguments[9]);
    return status == 0;
}

/* ISO C has no conversion from dlsym's object pointer to a function. */
static void find(void *library, const char *name, void *to) {
    void *symbol = dlsym(library, name);
    if (!symbol) abort();
    memcpy(to, &symbol, sizeof symbol);
}

static int open_module(const char *path, stub_module *m) {
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) return 0;
    find(library, "stub_sizes", &m->sizes);
    find(library, "stub_identity", &m->identity);
    find(library, "stub_combine", &m->combine);
    find(library, "stub_result", &m->result);
    find(library, "stub_chunk", &m->chunk);
    find(library, "stub_sequence", &m->sequence);
    return 1;
}

const stub_module *stub_module_get(const char *source, char *error, size_t error_bytes) {
    static unsigned made;
    char *text = essence(source);
    for (const entry *e = entries; e; e = e->next)
        if (strcmp(e->text, text) == 0) return free(text), &e->module;
    char in[300], out[300], log[300];
    if (!folder[0]) {
        folder_make(folder, sizeof folder);
        atexit(remove_folder);
    }
    snprintf(in, sizeof in, "%s/%u.c", folder, made);
    snprintf(out, sizeof out, "%s/%u.so", folder, made);
    snprintf(log, sizeof log, "%s/%u.log", folder, made++);
    write_file(in, text);
    entry *e = calloc(1, sizeof *e);
    if (!e) abort();
    const int compiled = compile(in, out, log);
    if (!compiled || !open_module(out, &e->module)) {
        if (compiled)
            snprintf(error, error_bytes, "error: %s", dlerror());
        else
            read_error(log, error, error_bytes);
        free(text);
        free(e);
        e = NULL;
    } else {
        *e = (entry){.next = entries, .text = text, .module = e->module};
        entries = e;
    }
    remove(in);
    remove(out);
    remove(log);
    return e ? &e->module : NULL;
}
