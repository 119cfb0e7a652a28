/* SPDX-License-Identifier: MIT */
/* Makes a fat binary of a program. NVRTC compiles it, and the toolkit's program fatbinary
 * compresses and packs the images. */
#define _POSIX_C_SOURCE 200809L
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../compiler.h"
#include "prebuild.h"

extern char **environ;

#define PATH_BYTES 600
#define IMAGES (PREBUILD_ARCHS + 1) /* one for each architecture, and the PTX */

/* option[i] is fatbinary's option for image i; path[i] points to the file's path in it. */
typedef struct images {
    char option[IMAGES][PATH_BYTES + 64];
    const char *path[IMAGES];
    int count;
} images;

static tally_status add_image(images *all, const prebuild_program *program, int arch, bool ptx, const char *path) {
    tally_cuda_image image;
    tally_status status =
        ptx ? tally_cuda_compile_ptx(program->source, arch, &image) : tally_cuda_compile(program->source, arch, NULL, &image);
    if (status) return status;
    char *option = all->option[all->count];
    const size_t bytes = sizeof(all->option[0]);
    const int at = snprintf(option, bytes, "--image3=kind=%s,sm=%d,file=", ptx ? "ptx" : "elf", arch);
    snprintf(option + at, bytes - (size_t)at, "%s.%d.%s", path, arch, ptx ? "ptx" : "cubin");
    all->path[all->count++] = option + at;
    status = prebuild_write_file(option + at, image.data, ptx ? image.bytes - 1 : image.bytes);
    tally_cuda_image_free(&image);
    return status;
}

static tally_status run(const char *const *arguments) {
    pid_t child;
    int status = -1;
    const int error = posix_spawn(&child, arguments[0], NULL, NULL, (char *const *)(uintptr_t)arguments, environ);
    if (error) return tally_fail(TALLY_E_INTERNAL, "%s: %s", arguments[0], strerror(error));
    if (waitpid(child, &status, 0) == child && WIFEXITED(status) && !WEXITSTATUS(status)) return TALLY_OK;
    return tally_fail(TALLY_E_BUILD, "%s failed (status %d)", arguments[0], status);
}

tally_status prebuild_pack(const prebuild_program *program, const prebuild_target *target, const char *path) {
    images all = {.count = 0};
    char create[PATH_BYTES + 16];
    const char *arguments[IMAGES + 5] = {target->fatbinary, "-64", "--compress-mode=size", create};
    tally_status status = TALLY_OK;
    snprintf(create, sizeof(create), "--create=%s", path);
    for (int i = 0; i < target->count && !status; i++)
        if (!program->arch || program->arch == target->archs[i])
            status = add_image(&all, program, target->archs[i], false, path);
    /* PTX serves all other architectures. A program for one architecture alone needs it only if it
     * has no machine code. */
    if (!status && (!program->arch || !all.count)) status = add_image(&all, program, target->archs[0], true, path);
    for (int i = 0; i < all.count; i++) arguments[4 + i] = all.option[i];
    if (!status) status = run(arguments);
    for (int i = 0; i < all.count; i++) unlink(all.path[i]);
    return status;
}
