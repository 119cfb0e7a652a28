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
    const char *key;
    const char *values[GOLDEN_LENGTHS];
    int line;
} record;

struct golden_file {
    char *text; /* the texts, cut into words in place */
    char path[512];
    record *records;
    size_t count, capacity;
};

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

static void read_record(golden_file *file, char *line, int number) {
    record r = {.key = line, .line = number};
    char *colon = strchr(line, ':');
    size_t count = 0;
    if (!colon) fail_msg("%s:%d: no colon", file->path, number);
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

/* Empty lines and lines that begin with # are skipped. */
golden_file *golden_open(const char *path) {
    golden_file *file = calloc(1, sizeof *file);
    if (!file) abort();
    snprintf(file->path, sizeof file->path, "%s", path);
    file->text = read_text(path);
    if (!file->text) fail_msg("%s is not here", path);
    int number = 1;
    for (char *line = file->text, *end; *line; line = end + 1, number++) {
        end = strchr(line, '\n');
        if (!end) fail_msg("%s:%d: the last line has no end", path, number);
        *end = 0;
        if (*line && *line != '#') read_record(file, line, number);
    }
    return file;
}

void golden_close(golden_file *file) {
    free(file->text);
    free(file->records);
    free(file);
}

/* ---- comparing ------------------------------------------------------------------------------- */

static const record *find(const golden_file *file, const char *key) {
    for (size_t r = 0; r < file->count; r++)
        if (strcmp(file->records[r].key, key) == 0) return &file->records[r];
    return NULL;
}

void golden_expect(const golden_file *file, const golden_case *c, const golden_line *line) {
    const record *r = find(file, c->key);
    if (!r) fail_msg("golden bits: %s has no line \"%s\"", file->path, c->key);
    for (size_t l = 0; r && l < GOLDEN_LENGTHS; l++)
        if (line->values[l][0] && strcmp(line->values[l], r->values[l]) != 0)
            fail_msg("golden bits: %s, n=%llu: got %s, expected %s (%s:%d)", c->key, (unsigned long long)golden_lengths[l],
                     line->values[l], r->values[l], file->path, r->line);
}

void golden_expect_whole(const golden_file *file) {
    size_t count;
    const golden_case *cases = golden_cases(&count);
    for (size_t c = 0; c < count; c++)
        if (!find(file, cases[c].key)) fail_msg("golden bits: %s has no line \"%s\"", file->path, cases[c].key);
    for (size_t r = 0; r < file->count; r++) {
        const record *at = &file->records[r];
        if (find(file, at->key) != at) fail_msg("%s:%d: \"%s\" stands twice", file->path, at->line, at->key);
    }
    if (file->count != count) fail_msg("%s: %zu lines for %zu cases", file->path, file->count, count);
}
