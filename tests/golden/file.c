/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>

#include <cmocka.h>

#include "golden.h"

/* A line `key: text text ...`. */
typedef struct record {
    const char *section, *key;
    const char *values[GOLDEN_LENGTHS];
    int line;
} record;

struct golden_file {
    char *text; /* the texts, cut into words in place */
    char path[512];
    record *records;
    size_t count, capacity;
};

#define EVERY_DEVICE "every device"

void golden_section(const tally_device_info *device, char *name, size_t bytes) {
    snprintf(name, bytes, "%s: %s, %s, %s", device->backend, device->name, device->platform, device->driver);
}

/* ---- reading --------------------------------------------------------------------------------- */

static char *read_text(const char *path) {
    FILE *from = fopen(path, "rb");
    size_t used = 0, room = 1 << 20;
    char *text = malloc(room);
    if (!text) abort();
    if (!from) {
        free(text);
        return NULL;
    }
    for (size_t got; (got = fread(text + used, 1, room - used - 1, from)) > 0;) {
        used += got;
        if (used + 1 == room) text = realloc(text, room *= 2);
        if (!text) abort();
    }
    text[used] = 0;
    fclose(from);
    return text;
}

/* A key ends at the last colon, as a device's name may have one. */
static void read_record(golden_file *file, const char *section, char *line, int number) {
    record r = {.section = section, .key = line, .line = number};
    char *colon = strrchr(line, ':');
    size_t count = 0;
    if (!section || !colon) fail_msg("%s:%d: no section before it, or no colon", file->path, number);
    *colon = 0;
    for (char *next = colon + 1, *word; (word = strtok(next, " ")) != NULL; next = NULL, count++)
        if (count < GOLDEN_LENGTHS) r.values[count] = word;
    if (count != GOLDEN_LENGTHS) fail_msg("%s:%d: %zu values, should be %d", file->path, number, count, GOLDEN_LENGTHS);
    if (file->count == file->capacity) {
        file->capacity = file->capacity ? 2 * file->capacity : 1024;
        file->records = realloc(file->records, file->capacity * sizeof *file->records);
        if (!file->records) abort();
    }
    file->records[file->count++] = r;
}

/* Empty lines and lines that begin with # are skipped. [SECTION] holds for the lines below it. */
golden_file *golden_open(const char *path) {
    golden_file *file = calloc(1, sizeof *file);
    if (!file) abort();
    snprintf(file->path, sizeof file->path, "%s", path);
    file->text = read_text(path);
    if (!file->text) fail_msg("%s is not here", path);
    const char *section = NULL;
    int number = 1;
    for (char *line = file->text, *end; *line; line = end + 1, number++) {
        end = strchr(line, '\n');
        if (!end) fail_msg("%s:%d: the last line has no end", path, number);
        *end = 0;
        if (*line == '[' && end[-1] == ']')
            end[-1] = 0, section = line + 1;
        else if (*line && *line != '#')
            read_record(file, section, line, number);
    }
    return file;
}

void golden_close(golden_file *file) {
    free(file->text);
    free(file->records);
    free(file);
}

/* ---- comparing ------------------------------------------------------------------------------- */

static const record *find(const golden_file *file, const char *section, const char *key) {
    for (size_t r = 0; r < file->count; r++)
        if (strcmp(file->records[r].key, key) == 0 && strcmp(file->records[r].section, section) == 0) return &file->records[r];
    return NULL;
}

static int has_section(const golden_file *file, const char *section) {
    for (size_t r = 0; r < file->count; r++)
        if (strcmp(file->records[r].section, section) == 0) return 1;
    return 0;
}

int golden_expect(const golden_file *file, const tally_device_info *device, const golden_case *c, const golden_line *line) {
    char section[512] = EVERY_DEVICE;
    if (c->is_of_device) golden_section(device, section, sizeof section);
    const record *r = find(file, section, c->key);
    if (!r && c->is_of_device && !has_section(file, section)) return 0;
    if (!r) fail_msg("golden bits: %s has no line \"%s\" in [%s]", file->path, c->key, section);
    for (size_t l = 0; r && l < GOLDEN_LENGTHS; l++)
        if (line->values[l][0] && strcmp(line->values[l], r->values[l]) != 0)
            fail_msg("golden bits: %s, n=%llu: got %s, expected %s (%s:%d)", c->key, (unsigned long long)golden_lengths[l],
                     line->values[l], r->values[l], file->path, r->line);
    return 1;
}

static int is_of_every_device(const record *r) {
    return strcmp(r->section, EVERY_DEVICE) == 0;
}

static void expect_all_cases(const golden_file *file, const record *first) {
    size_t count;
    const golden_case *cases = golden_cases(&count);
    for (size_t c = 0; c < count; c++)
        if (cases[c].is_of_device != is_of_every_device(first) && !find(file, first->section, cases[c].key))
            fail_msg("golden bits: %s has no line \"%s\" in [%s]", file->path, cases[c].key, first->section);
}

static int is_case(const record *r) {
    size_t count;
    const golden_case *cases = golden_cases(&count);
    for (size_t c = 0; c < count; c++)
        if (cases[c].is_of_device != is_of_every_device(r) && strcmp(cases[c].key, r->key) == 0) return 1;
    return 0;
}

void golden_expect_whole(const golden_file *file) {
    if (!has_section(file, EVERY_DEVICE)) fail_msg("golden bits: %s has no [" EVERY_DEVICE "]", file->path);
    for (size_t r = 0; r < file->count; r++) {
        const record *at = &file->records[r];
        if (!is_case(at)) fail_msg("%s:%d: \"%s\" is no case of [%s]", file->path, at->line, at->key, at->section);
        if (find(file, at->section, at->key) != at) fail_msg("%s:%d: \"%s\" stands twice", file->path, at->line, at->key);
        if (r == 0 || strcmp(at->section, at[-1].section) != 0) expect_all_cases(file, at);
    }
}

void golden_write_others(const golden_file *file, const tally_device_info *device, FILE *to) {
    const char *section = EVERY_DEVICE;
    char own[512];
    golden_section(device, own, sizeof own);
    for (size_t r = 0; r < file->count; r++) {
        const record *at = &file->records[r];
        if (is_of_every_device(at) || strcmp(at->section, own) == 0) continue;
        if (strcmp(at->section, section) != 0) fprintf(to, "\n[%s]\n", section = at->section);
        fprintf(to, "%s:", at->key);
        for (size_t l = 0; l < GOLDEN_LENGTHS; l++) fprintf(to, " %s", at->values[l]);
        fprintf(to, "\n");
    }
}
