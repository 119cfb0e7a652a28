/* SPDX-License-Identifier: MIT */
/*
 * tally_prebuild: compiles the programs of the built-in ops for the architectures that a build
 * names, and writes the archive of them that becomes part of the library. It needs NVRTC and the
 * toolkit's program fatbinary, and no GPU.
 */
#define _DEFAULT_SOURCE
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../compiler.h"
#include "prebuild.h"

static const char usage[] =
    "usage: tally_prebuild --archs 75,90 --fatbinary PROGRAM --output FILE [--ops sum,max] [--dtypes f32,f64]\n"
    "Compiles the programs that plans of these ops (all) and dtypes (f32, f64, i32, i64) ask for, into one archive.\n";

/* The core refers to an archive. This program makes the first one, so its own is empty. */
const tally_cuda_archive_head tally_cuda_archive = {.count = 0};

typedef struct request {
    prebuild_target target;
    uint64_t ops, dtypes;
    const char *output;
} request;

/* ---- arguments ------------------------------------------------------------------------------- */

static tally_status add_arch(const char *text, request *r) {
    char *end;
    const long arch = strtol(text, &end, 10);
    const tally_cuda_compiler *compiler;
    int *archs = r->target.archs, at = r->target.count;
    if (*end || arch < 1 || arch > 9999) return tally_fail(TALLY_E_ARGUMENT, "'%s' is no architecture: 90 is sm_90", text);
    const tally_status status = tally_cuda_compiler_get(&compiler);
    if (status) return status;
    bool known = false;
    for (int i = 0; i < compiler->count; i++) known = known || compiler->archs[i] == arch;
    if (!known)
        return tally_fail(TALLY_E_ARGUMENT, "NVRTC %d.%d does not compile for sm_%ld", compiler->version / 1000,
                          compiler->version % 1000 / 10, arch);
    if (at == PREBUILD_ARCHS) return tally_fail(TALLY_E_ARGUMENT, "%d architectures at most", PREBUILD_ARCHS);
    for (; at && archs[at - 1] > arch; at--) archs[at] = archs[at - 1];
    archs[at] = (int)arch;
    r->target.count++;
    return TALLY_OK;
}

static tally_status add_op(const char *text, request *r) {
    tally_op op;
    const tally_status status = tally_op_from_name(text, &op);
    if (!status) r->ops |= UINT64_C(1) << op;
    return status;
}

static tally_status add_dtype(const char *text, request *r) {
    tally_dtype dtype;
    const tally_status status = tally_dtype_from_name(text, &dtype);
    if (!status) r->dtypes |= UINT64_C(1) << dtype;
    return status;
}

/* Calls `add` with each word of a list. The list is changed. */
static tally_status each(char *list, tally_status (*add)(const char *, request *), request *r) {
    tally_status status = TALLY_OK;
    for (char *word = strtok(list, ","); word && !status; word = strtok(NULL, ",")) status = add(word, r);
    return status;
}

static tally_status read_option(const char *name, char *value, request *r) {
    if (!strcmp(name, "--archs")) return each(value, add_arch, r);
    if (!strcmp(name, "--ops")) return each(value, add_op, r);
    if (!strcmp(name, "--dtypes")) return each(value, add_dtype, r);
    if (!strcmp(name, "--fatbinary")) return r->target.fatbinary = value, TALLY_OK;
    if (!strcmp(name, "--output")) return r->output = value, TALLY_OK;
    return tally_fail(TALLY_E_ARGUMENT, "unknown option %s", name);
}

static tally_status read_arguments(int count, char **arguments, request *r) {
    tally_status status = TALLY_OK;
    for (int i = 1; i < count && !status; i += 2)
        status = i + 1 < count ? read_option(arguments[i], arguments[i + 1], r)
                               : tally_fail(TALLY_E_ARGUMENT, "%s wants a value", arguments[i]);
    if (!r->ops) r->ops = UINT64_MAX;
    if (!r->dtypes) r->dtypes = 1 << TALLY_F32 | 1 << TALLY_F64 | 1 << TALLY_I32 | 1 << TALLY_I64;
    if (!status && (!r->target.count || !r->target.fatbinary || !r->output))
        status = tally_fail(TALLY_E_ARGUMENT, "--archs, --fatbinary and --output are needed");
    return status;
}

/* ---- compiling ------------------------------------------------------------------------------- */

/* The state that the compiling processes share, in shared memory. */
typedef struct progress {
    atomic_size_t next, done;
    atomic_bool has_failed;
    char error[1000]; /* of the first process that failed */
} progress;

static void compile(const request *r, const prebuild_list *list, const char *folder, progress *p) {
    char path[560];
    for (size_t i; !atomic_load(&p->has_failed) && (i = atomic_fetch_add(&p->next, 1)) < list->count;) {
        prebuild_fatbin_path(folder, i, path, sizeof(path));
        if (prebuild_pack(&list->programs[i], &r->target, path)) {
            if (!atomic_exchange(&p->has_failed, true))
                snprintf(p->error, sizeof(p->error), "%s: %s", list->programs[i].name, tally_last_error());
            return;
        }
        const size_t done = atomic_fetch_add(&p->done, 1) + 1;
        if (done % 10 == 0 || done == list->count) printf("tally_prebuild: %zu of %zu programs\n", done, list->count);
        fflush(stdout);
    }
}

/* Compiles in as many processes as there are processors, because NVRTC compiles one program at a
 * time in a process. Each takes the next program that nobody has taken. */
static tally_status compile_all(const request *r, const prebuild_list *list, const char *folder) {
    enum { MOST = 64 };
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);
    const int workers = processors < 1 ? 1 : processors > MOST ? MOST : (int)processors;
    progress *p = mmap(NULL, sizeof(*p), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) return tally_fail(TALLY_E_MEMORY, "mmap: %s", strerror(errno));
    pid_t children[MOST];
    for (int w = 0; w < workers; w++) {
        children[w] = fork();
        if (children[w]) continue;
        compile(r, list, folder, p);
        _exit(0);
    }
    for (int w = 0; w < workers; w++)
        if (children[w] > 0) waitpid(children[w], NULL, 0);
    tally_status status = TALLY_OK;
    if (atomic_load(&p->has_failed))
        status = tally_fail(TALLY_E_BUILD, "%s", p->error);
    else if (atomic_load(&p->done) < list->count)
        status = tally_fail(TALLY_E_INTERNAL, "a compiling process was ended, or could not start");
    munmap(p, sizeof(*p));
    return status;
}

static void remove_parts(const char *folder, size_t count) {
    char path[560];
    for (size_t i = 0; i < count; i++) {
        prebuild_fatbin_path(folder, i, path, sizeof(path));
        unlink(path);
    }
    rmdir(folder);
}

static tally_status make(const request *r) {
    char folder[500];
    size_t bytes = 0;
    prebuild_list list;
    tally_status status = prebuild_list_make(r->ops, r->dtypes, &list);
    snprintf(folder, sizeof(folder), "%s.parts", r->output);
    if (!status && mkdir(folder, 0777) && errno != EEXIST)
        status = tally_fail(TALLY_E_INTERNAL, "%s: %s", folder, strerror(errno));
    if (!status) {
        status = compile_all(r, &list, folder);
        if (!status) status = prebuild_archive_write(&list, folder, r->output, &bytes);
        if (!status) prebuild_list_print(&list, bytes);
        remove_parts(folder, list.count);
    }
    prebuild_list_free(&list);
    return status;
}

int main(int count, char **arguments) {
    request r = {.ops = 0};
    tally_status status = read_arguments(count, arguments, &r);
    const bool misused = status == TALLY_E_ARGUMENT;
    if (!status) status = make(&r);
    if (status) fprintf(stderr, "tally_prebuild: %s\n%s", tally_last_error(), misused ? usage : "");
    return misused ? 2 : status ? 1 : 0;
}
