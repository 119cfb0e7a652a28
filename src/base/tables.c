/* SPDX-License-Identifier: MIT */
/* The rows of statuses, types, accuracies and device classes, looked up by value and by name. */
#include <stdio.h>
#include <string.h>

#include "base/base.h"

#define DTYPE_ROW(id, value, name, bytes, kind, compute, summary)                                                              \
    [TALLY_##id] = {name, bytes, TALLY_KIND_##kind, TALLY_##compute, summary},
static const tally_dtype_row dtypes[TALLY_DTYPE_END] = {TALLY_DTYPE_TABLE(DTYPE_ROW)};

#define ACCURACY_NAME(id, value, name, summary) [TALLY_ACCURACY_##id] = name,
static const char *const accuracy_names[TALLY_ACCURACY_END] = {TALLY_ACCURACY_TABLE(ACCURACY_NAME)};

#define STATUS_NAME(id, value, text) [TALLY_##id] = "TALLY_" #id,
static const char *const status_names[TALLY_STATUS_END] = {TALLY_STATUS_TABLE(STATUS_NAME)};

#define STATUS_TEXT(id, value, text) [TALLY_##id] = text,
static const char *const status_texts[TALLY_STATUS_END] = {TALLY_STATUS_TABLE(STATUS_TEXT)};

#define CLASS_NAME(id, value, name, summary) [TALLY_CLASS_##id] = name,
static const char *const class_names[TALLY_CLASS_END] = {TALLY_DEVICE_CLASS_TABLE(CLASS_NAME)};

/* Values come from callers, who can put any number into an enum: compare as unsigned. */
#define IN_TABLE(value, end) ((unsigned)(value) < (unsigned)(end))

const tally_dtype_row *tally_dtype_find(tally_dtype dtype) {
    return IN_TABLE(dtype, TALLY_DTYPE_END) && dtypes[dtype].name ? &dtypes[dtype] : NULL;
}

bool tally_dtype_is_integer(tally_dtype dtype) {
    const tally_kind kind = tally_dtype_find(dtype)->kind;
    return kind == TALLY_KIND_SIGNED || kind == TALLY_KIND_UNSIGNED;
}

bool tally_dtype_is_float(tally_dtype dtype) {
    const tally_kind kind = tally_dtype_find(dtype)->kind;
    return kind == TALLY_KIND_FLOAT || kind == TALLY_KIND_COMPLEX;
}

bool tally_dtype_is_value(tally_dtype dtype) {
#define CASE(id, name, kind, c_type) case TALLY_##id:
    switch ((int)dtype) {
        TALLY_VALUE_TABLE(CASE)
        return true;
    }
#undef CASE
    return false;
}

const char *tally_version(void) {
    return TALLY_VERSION;
}

const char *tally_status_name(tally_status status) {
    return IN_TABLE(status, TALLY_STATUS_END) ? status_names[status] : NULL;
}

const char *tally_status_text(tally_status status) {
    return IN_TABLE(status, TALLY_STATUS_END) ? status_texts[status] : NULL;
}

const char *tally_device_class_name(tally_device_class device_class) {
    return IN_TABLE(device_class, TALLY_CLASS_END) ? class_names[device_class] : NULL;
}

const char *tally_dtype_name(tally_dtype dtype) {
    const tally_dtype_row *row = tally_dtype_find(dtype);
    return row ? row->name : NULL;
}

size_t tally_dtype_bytes(tally_dtype dtype) {
    const tally_dtype_row *row = tally_dtype_find(dtype);
    return row ? row->bytes : 0;
}

const char *tally_accuracy_name(tally_accuracy accuracy) {
    return IN_TABLE(accuracy, TALLY_ACCURACY_END) ? accuracy_names[accuracy] : NULL;
}

/* The names of a table's rows (any struct whose first member is its name), "sum, min, max", for error texts. */
void tally_list_names(const void *rows, size_t row_bytes, size_t count, char *text, size_t bytes) {
    size_t used = 0;
    text[0] = 0;
    for (size_t i = 0; i < count && used < bytes; i++) {
        const char *name;
        memcpy(&name, (const char *)rows + i * row_bytes, sizeof(name));
        if (name) used += (size_t)snprintf(text + used, bytes - used, "%s%s", used ? ", " : "", name);
    }
}

tally_status tally_dtype_from_name(const char *name, tally_dtype *out) {
    if (!name || !out) return TALLY_NAMED(tally_fail(TALLY_E_ARGUMENT, "%s is NULL", name ? "out" : "name"));
    for (int i = 0; i < TALLY_DTYPE_END; i++)
        if (dtypes[i].name && !strcmp(name, dtypes[i].name)) return *out = (tally_dtype)i, TALLY_OK;
    char names[512];
    tally_list_names(dtypes, sizeof(dtypes[0]), TALLY_DTYPE_END, names, sizeof(names));
    return tally_fail(TALLY_E_ARGUMENT, "unknown dtype '%s': there are %s", name, names);
}
