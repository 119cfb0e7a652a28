/* SPDX-License-Identifier: MIT */
/*
 * tally_host_programs FOLDER SOURCE: writes the programs of the backend `host` as C, which become
 * part of the library (cmake/host.cmake): files for each built-in op, table.c with the table of the
 * programs, and keys.c with the keys of their texts. SOURCE is tally's own folder. The
 * program is linked from the library's own objects, so the specialiser and the planners are those
 * of every device.
 */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/generate/generate.h"
#include "host/host.h"

/* The core refers to what the build makes with this program. */
#ifdef TALLY_WITH_CUDA
#include "../../../backends/cuda/prebuilt.h"
const tally_cuda_archive_head tally_cuda_archive = {.count = 0};
#endif
const tally_host_key tally_host_keys[1];
const size_t tally_host_key_count = 0;
const uint16_t tally_host_numbers[TALLY_OP_END][TALLY_DTYPE_END] = {{0}};
const uint16_t tally_host_compensated[TALLY_OP_END][TALLY_DTYPE_END] = {{0}};
const tally_host_code tally_host_code_base = {0}, tally_host_code_v3 = {0}, tally_host_code_v4 = {0};

/* Writes a file, unless it has the text already, so that nothing is rebuilt for it. */
static tally_status keep(const char *folder, const char *name, const char *text, size_t bytes) {
    char path[4096];
    snprintf(path, sizeof(path), "%s/%s.c", folder, name);
    char *old = malloc(bytes + 1);
    FILE *file = fopen(path, "rb");
    const bool same = old && file && fread(old, 1, bytes + 1, file) == bytes && !memcmp(old, text, bytes);
    if (file) fclose(file);
    free(old);
    if (same) return TALLY_OK;
    file = fopen(path, "wb");
    const bool written = file && fwrite(text, 1, bytes, file) == bytes;
    if (!file || fclose(file) || !written) return tally_fail(TALLY_E_INTERNAL, "%s cannot be written", path);
    return TALLY_OK;
}

/* A file to make: the programs of an op, or what `write` writes. */
typedef struct made_file {
    const char *name;
    tally_status (*write)(FILE *file);
    tally_op op;
    generate_kind kind;
} made_file;

static tally_status make_file(const char *folder, const char *source, const made_file *made) {
    char *text;
    size_t bytes;
    FILE *file = open_memstream(&text, &bytes);
    if (!file) return tally_fail(TALLY_E_MEMORY, "out of memory");
    fprintf(file, "/* Made by tally_host_programs. */\n");
    tally_status status = made->write ? made->write(file) : generate_programs(file, source, made->op, made->kind);
    if (fclose(file) && !status) status = tally_fail(TALLY_E_MEMORY, "out of memory");
    if (!status) status = keep(folder, made->name, text, bytes);
    free(text);
    return status;
}

static tally_status make(int count, char **arguments) {
    static const made_file files[] = {{.name = "table", .write = generate_table}, {.name = "keys", .write = generate_keys}};
    tally_status status = TALLY_OK;
    if (count != 3) return tally_fail(TALLY_E_ARGUMENT, "usage: tally_host_programs FOLDER SOURCE");
    for (size_t i = 0; i < TALLY_ARRAY_LENGTH(files) && !status; i++) status = make_file(arguments[1], arguments[2], &files[i]);
    for (tally_op op = TALLY_OP_NONE + 1; op < TALLY_OP_END; op++)
        for (generate_kind kind = 0; kind < GENERATE_KINDS && !status; kind++) {
            char name[64];
            snprintf(name, sizeof(name), "%s_%s", tally_op_name(op), generate_kind_name(kind));
            status = make_file(arguments[1], arguments[2], &(made_file){.name = name, .op = op, .kind = kind});
        }
    return status;
}

int main(int count, char **arguments) {
    const tally_status status = make(count, arguments);
    if (status) fprintf(stderr, "tally_host_programs: %s\n", tally_last_error());
    return status != TALLY_OK;
}
