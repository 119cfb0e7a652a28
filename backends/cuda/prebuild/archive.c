/* SPDX-License-Identifier: MIT */
/* Writes the archive of prebuilt programs, and checks one. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "prebuild.h"

/* Offset of the first byte that the checksum covers. */
#define CHECKED offsetof(tally_cuda_archive_head, bytes)

static uint64_t align_up(uint64_t bytes) {
    return (bytes + TALLY_CUDA_ARCHIVE_ALIGN - 1) / TALLY_CUDA_ARCHIVE_ALIGN * TALLY_CUDA_ARCHIVE_ALIGN;
}

tally_status prebuild_read_file(const char *path, void **out, size_t *out_bytes) {
    FILE *file = fopen(path, "rb");
    if (!file) return tally_fail(TALLY_E_INTERNAL, "%s: %s", path, strerror(errno));
    tally_status status = TALLY_OK;
    char *data = NULL;
    long bytes = -1;
    if (!fseek(file, 0, SEEK_END)) bytes = ftell(file);
    if (bytes > 0) data = malloc((size_t)bytes);
    if (!data || fseek(file, 0, SEEK_SET) || fread(data, (size_t)bytes, 1, file) != 1)
        status = tally_fail(TALLY_E_INTERNAL, "%s: cannot be read, or is empty", path);
    fclose(file);
    if (status) return free(data), status;
    *out = data;
    *out_bytes = (size_t)bytes;
    return TALLY_OK;
}

tally_status prebuild_write_file(const char *path, const void *data, size_t bytes) {
    FILE *file = fopen(path, "wb");
    bool good = file && fwrite(data, bytes, 1, file) == 1;
    if (file) good = !fclose(file) && good;
    return good ? TALLY_OK : tally_fail(TALLY_E_INTERNAL, "%s: %s", path, strerror(errno));
}

const char *prebuild_archive_check(const void *data, size_t bytes) {
    const tally_cuda_archive_head *head = data;
    if (bytes < sizeof(*head) || memcmp(head->magic, TALLY_CUDA_ARCHIVE_MAGIC, sizeof(head->magic))) return "is no archive";
    if (head->bytes != bytes) return "is cut short, or has too much";
    if (XXH3_64bits((const char *)data + CHECKED, bytes - CHECKED) != head->checksum) return "is damaged";
    return NULL;
}

void prebuild_fatbin_path(const char *folder, size_t i, char *path, size_t bytes) {
    snprintf(path, bytes, "%s/%zu.fatbin", folder, i);
}

/* Appends a fat binary and sets its row's offset. Texts that differ in their op's name alone (dot
 * and dotc of reals) share one. */
static tally_status append(char **archive, size_t *used, const void *data, const prebuild_list *list, size_t i) {
    tally_cuda_archive_row *row = &list->programs[i].row;
    for (size_t e = 0; e < i; e++) {
        const tally_cuda_archive_row *other = &list->programs[e].row;
        if (other->bytes != row->bytes || memcmp(*archive + other->offset, data, row->bytes)) continue;
        row->offset = other->offset;
        return TALLY_OK;
    }
    const size_t end = align_up(*used + row->bytes);
    char *grown = realloc(*archive, end);
    if (!grown) return tally_fail(TALLY_E_MEMORY, "tally_prebuild: out of memory");
    memset(grown + *used, 0, end - *used);
    memcpy(grown + *used, data, row->bytes);
    row->offset = *used;
    *archive = grown;
    *used = end;
    return TALLY_OK;
}

static void finish(char *archive, size_t bytes, const prebuild_list *list) {
    tally_cuda_archive_head *head = (tally_cuda_archive_head *)(void *)archive;
    *head = (tally_cuda_archive_head){.magic = TALLY_CUDA_ARCHIVE_MAGIC, .bytes = bytes, .count = list->count};
    for (size_t i = 0; i < list->count; i++) head->rows[i] = list->programs[i].row;
    head->checksum = XXH3_64bits(archive + CHECKED, bytes - CHECKED);
}

/* Writes the archive under another name, reads it again, checks and renames it. A build that went
 * on with a damaged archive would give a library that fails later. */
static tally_status store(const char *path, const char *archive, size_t bytes) {
    char temporary[600];
    void *kept = NULL;
    size_t kept_bytes = 0;
    snprintf(temporary, sizeof(temporary), "%s.new", path);
    tally_status status = prebuild_write_file(temporary, archive, bytes);
    if (!status) status = prebuild_read_file(temporary, &kept, &kept_bytes);
    const char *wrong = status ? NULL : prebuild_archive_check(kept, kept_bytes);
    if (wrong) status = tally_fail(TALLY_E_INTERNAL, "%s %s", temporary, wrong);
    free(kept);
    if (!status && rename(temporary, path)) status = tally_fail(TALLY_E_INTERNAL, "%s: %s", path, strerror(errno));
    return status;
}

tally_status prebuild_archive_write(const prebuild_list *list, const char *folder, const char *path, size_t *bytes) {
    size_t used = align_up(sizeof(tally_cuda_archive_head) + list->count * sizeof(tally_cuda_archive_row));
    char *archive = calloc(1, used), file[600];
    tally_status status = archive ? TALLY_OK : tally_fail(TALLY_E_MEMORY, "tally_prebuild: out of memory");
    for (size_t i = 0; i < list->count && !status; i++) {
        prebuild_fatbin_path(folder, i, file, sizeof(file));
        void *data = NULL;
        size_t own = 0;
        status = prebuild_read_file(file, &data, &own);
        list->programs[i].row.bytes = own;
        if (!status) status = append(&archive, &used, data, list, i);
        free(data);
    }
    if (!status) {
        finish(archive, used, list);
        status = store(path, archive, used);
    }
    free(archive);
    *bytes = used;
    return status;
}
