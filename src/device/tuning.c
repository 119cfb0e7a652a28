/* SPDX-License-Identifier: MIT */
/* Tunings: rows of text with the shapes of launches. The built-in rows are in tunings.txt;
 * `tally tune` writes those of a device. */
#define _GNU_SOURCE
#include <errno.h>
#include <fnmatch.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/device.h"

#define MAX_ROWS 1024
#define MAX_FILE_BYTES (1 << 20)

struct tally_tuning_row {
    char backend[16], device[128], ops[16];
    uint64_t item_bytes, up_to; /* 0: any */
    tally_tuning tuning;
};

/* ---- rows of text ---------------------------------------------------------------------------- */

/* Reads "64K"; "-" and "*" give 0. */
static bool read_number(const char *text, uint64_t *out) {
    static const char suffixes[] = "KMG";
    if (!strcmp(text, "-") || !strcmp(text, "*")) return *out = 0, true;
    char *end;
    errno = 0;
    const unsigned long long value = strtoull(text, &end, 10);
    if (end == text || text[0] == '-' || errno || value > UINT64_MAX >> 30) return false;
    const char *suffix = *end ? strchr(suffixes, *end) : NULL;
    if (*end && (!suffix || end[1])) return false;
    *out = value << (suffix ? 10 * (suffix - suffixes + 1) : 0);
    return value > 0;
}

/* "sum" is a class here, which the op of that name is in. */
static bool is_ops(const char *name) {
    bool is = !strcmp(name, "*") || !strcmp(name, "struct") || !strcmp(name, "pair");
    for (int op = TALLY_OP_NONE + 1; op < TALLY_OP_END && !is; op++) is = !strcmp(name, tally_op_name((tally_op)op));
    return is;
}

static bool read_row(const char *line, tally_tuning_row *row) {
    char texts[6][24], rest[2];
    uint64_t numbers[6];
    if (sscanf(line, "%15s %127s %15s %23s %23s %23s %23s %23s %23s %1s", row->backend, row->device, row->ops, texts[0],
               texts[1], texts[2], texts[3], texts[4], texts[5], rest) != 9)
        return false;
    for (int i = 0; i < 6; i++)
        if (!read_number(texts[i], &numbers[i]) || (i != 1 && numbers[i] > UINT32_MAX)) return false;
    /* The loads in flight divide the 32 rows of a chunk. */
    if (numbers[3] > TALLY_ROWS || (numbers[3] & (numbers[3] - 1))) return false;
    row->item_bytes = numbers[0];
    row->up_to = numbers[1];
    row->tuning = (tally_tuning){(uint32_t)numbers[2], (uint32_t)numbers[3], (uint32_t)numbers[4], (uint32_t)numbers[5]};
    return is_ops(row->ops);
}

size_t tally_tunings_parse(const char *text, tally_tunings *out) {
    *out = (tally_tunings){0};
    size_t number = 1;
    for (const char *next; *text; text = next, number++) {
        char line[512];
        const size_t length = strcspn(text, "\n"), skipped = strspn(text, " \t\r");
        next = text + length + (text[length] == '\n');
        if (skipped >= length || text[skipped] == '#') continue;
        if (length >= sizeof(line) || out->count == MAX_ROWS) return tally_tunings_free(out), number;
        tally_tuning_row *rows = realloc(out->rows, (out->count + 1) * sizeof(*rows));
        if (!rows) return tally_tunings_free(out), TALLY_NO_MEMORY;
        out->rows = rows;
        snprintf(line, sizeof(line), "%.*s", (int)length, text);
        if (!read_row(line, &rows[out->count])) return tally_tunings_free(out), number;
        out->count++;
    }
    return 0;
}

void tally_tunings_free(tally_tunings *tunings) {
    free(tunings->rows);
    *tunings = (tally_tunings){0};
}

/* ---- finding one ----------------------------------------------------------------------------- */

/* Has the text of tunings.txt, embedded by the build. */
const char *tally_kernel_source_core(const char *stem);

static tally_tunings built_in;

static void read_built_in(void) {
    tally_tunings_parse(tally_kernel_source_core("tunings"), &built_in);
}

/* Tells whether the row sets a field that the query's variant uses. */
static bool concerns(const tally_tuning *tuning, bool runs) {
    return runs ? tuning->unit_groups || tuning->least_run : tuning->group_threads || tuning->loads;
}

static bool fits_ops(const char *ops, const tally_tuning_query *query) {
    return !strcmp(ops, "*") || !strcmp(ops, query->ops) || (strcmp(ops, "sum") && !strcmp(ops, query->op));
}

static bool fits(const tally_tuning_row *row, const tally_device_info *device, const char *name,
                 const tally_tuning_query *query) {
    if (!concerns(&row->tuning, query->runs) || fnmatch(row->backend, device->backend, 0)) return false;
    if (row->device[0] == '@' ? strcmp(row->device + 1, tally_device_class_name(device->device_class))
                              : fnmatch(row->device, name, 0))
        return false;
    if (!fits_ops(row->ops, query)) return false;
    if (row->item_bytes && row->item_bytes != query->item_bytes) return false;
    return !row->up_to || query->bytes <= row->up_to;
}

tally_tuning tally_tuning_find(const tally_tunings *own, const tally_device_info *device, const tally_tuning_query *query) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, read_built_in);
    char name[sizeof(device->name)];
    tally_tuning_device(device, name, sizeof(name));
    const tally_tunings *lists[] = {own, &built_in};
    for (size_t k = 0; k < TALLY_ARRAY_LENGTH(lists); k++)
        for (size_t i = 0; lists[k] && i < lists[k]->count; i++)
            if (fits(&lists[k]->rows[i], device, name, query)) return lists[k]->rows[i].tuning;
    return (tally_tuning){0};
}

/* ---- a context's own ------------------------------------------------------------------------- */

tally_status tally_context_set_tunings(tally_context *context, const char *rows) {
    tally_status status = tally_check_context(context);
    if (!status) status = tally_check_pointer(rows, "rows");
    if (status) return TALLY_NAMED(status);
    tally_tunings parsed;
    const size_t wrong = tally_tunings_parse(rows, &parsed);
    if (wrong == TALLY_NO_MEMORY) return TALLY_NAMED(tally_fail(TALLY_E_MEMORY, "out of memory"));
    if (wrong) return TALLY_NAMED(tally_fail(TALLY_E_ARGUMENT, "line %zu of rows is no tuning", wrong));
    pthread_mutex_lock(&context->lock);
    tally_tunings_free(&context->tunings);
    context->tunings = parsed;
    context->tunings_note[0] = 0;
    const tally_keeper *keeper = context->keeper;
    pthread_mutex_unlock(&context->lock);
    if (keeper) keeper->renew(context);
    return TALLY_OK;
}

void tally_tunings_load(tally_context *context) {
    char path[sizeof(context->cache_dir) + sizeof(TALLY_TUNINGS_FILE) + 1];
    if (!context->cache_dir[0]) return;
    snprintf(path, sizeof(path), "%s/%s", context->cache_dir, TALLY_TUNINGS_FILE);
    FILE *file = tally_file_open(path);
    if (!file && errno != ENOENT)
        snprintf(context->tunings_note, sizeof(context->tunings_note), "%s %s", TALLY_TUNINGS_FILE,
                 errno == ENXIO ? "is no regular file" : "cannot be read");
    if (!file) return;
    char *text = calloc(1, MAX_FILE_BYTES + 1);
    const size_t bytes = text ? fread(text, 1, MAX_FILE_BYTES + 1, file) : 0;
    fclose(file);
    /* A bad file is no failure, so it sets a note and no error text. */
    const size_t wrong = !text ? TALLY_NO_MEMORY : bytes <= MAX_FILE_BYTES ? tally_tunings_parse(text, &context->tunings) : 0;
    if (wrong == TALLY_NO_MEMORY)
        snprintf(context->tunings_note, sizeof(context->tunings_note), "no memory for %s", TALLY_TUNINGS_FILE);
    else if (wrong || bytes > MAX_FILE_BYTES)
        snprintf(context->tunings_note, sizeof(context->tunings_note),
                 wrong ? "line %zu of %s is no tuning" : "%zu bytes of %s are too many", wrong ? wrong : bytes,
                 TALLY_TUNINGS_FILE);
    free(text);
}

void tally_tuning_device(const tally_device_info *device, char *name, size_t bytes) {
    snprintf(name, bytes, "%s", device->name);
    for (char *c = name; *c; c++)
        if (strchr(" \t#*?[\\", *c)) *c = '_';
}
