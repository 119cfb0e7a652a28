/* SPDX-License-Identifier: MIT */
/* The public tables' rows, looked up by value and by name. */
#include <stdio.h>
#include <string.h>

#include "core.h"
#include "did_you_mean.h"

#define DTYPE_ROW(id, value, name, bytes, kind, compute, summary)                                                              \
    [TALLY_##id] = {name, bytes, TALLY_KIND_##kind, TALLY_##compute, summary},
static const tally_dtype_row dtypes[TALLY_DTYPE_END] = {TALLY_DTYPE_TABLE(DTYPE_ROW)};

/* The columns that are lists: fields and parameters, each with an end. */
#define SCALAR
#define NONE
#define F(type, name) {FIELD_##type, #name},
#define P(name, value) {#name, value},
#define FIELD_V TALLY_DTYPE_DEFAULT
#define FIELD_u64 TALLY_U64
#define OP_ROW(extra, id, value, name, takes, inputs, accumulate, gives, acc, identity, load, combine, first, second, empty,   \
               second_empty, exact, additive, params, summary)                                                                 \
    [TALLY_##id] = {name,                                                                                                      \
                    TALLY_TAKES_##takes,                                                                                       \
                    inputs,                                                                                                    \
                    TALLY_ACCUMULATE_##accumulate,                                                                             \
                    TALLY_GIVES_##gives,                                                                                       \
                    {acc{TALLY_DTYPE_DEFAULT, NULL}},                                                                          \
                    #identity,                                                                                                 \
                    #load,                                                                                                     \
                    #combine,                                                                                                  \
                    #first,                                                                                                    \
                    #second,                                                                                                   \
                    #empty,                                                                                                    \
                    #second_empty,                                                                                             \
                    exact,                                                                                                     \
                    TALLY_ADDITIVE_##additive,                                                                                 \
                    {params{NULL, 0}},                                                                                         \
                    summary},
static const tally_op_row ops[TALLY_OP_END] = {TALLY_OP_TABLE(OP_ROW, )};
static const tally_op_row complex_ops[TALLY_OP_END] = {TALLY_COMPLEX_OP_TABLE(OP_ROW, )};
static const tally_op_row compensated_ops[TALLY_OP_END] = {TALLY_COMPENSATED_OP_TABLE(OP_ROW, )};

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

bool tally_dtype_is_value(tally_dtype dtype) {
#define CASE(id, name, kind, c_type) case TALLY_##id:
    switch ((int)dtype) {
        TALLY_VALUE_TABLE(CASE)
        return true;
    }
#undef CASE
    return false;
}

const tally_op_row *tally_op_find(tally_op op) {
    return IN_TABLE(op, TALLY_OP_END) && ops[op].name ? &ops[op] : NULL;
}

const tally_op_row *tally_op_row_for(tally_op op, tally_dtype in, tally_accuracy accuracy) {
    const tally_dtype_row *type = tally_dtype_find(in);
    if (!tally_op_find(op) || !type) return NULL;
    const tally_op_row *row = accuracy == TALLY_ACCURACY_COMPENSATED ? &compensated_ops[op]
                              : type->kind == TALLY_KIND_COMPLEX     ? &complex_ops[op]
                                                                     : &ops[op];
    return row->name && row->takes & 1u << type->kind ? row : NULL;
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

const char *tally_op_name(tally_op op) {
    const tally_op_row *row = tally_op_find(op);
    return row ? row->name : NULL;
}

const char *tally_op_summary(tally_op op) {
    const tally_op_row *row = tally_op_find(op);
    return row ? row->summary : NULL;
}

/* The names of a table's rows (any struct whose first member is its name), "sum, min, max", for error texts. */
static void list_names(const void *rows, size_t row_bytes, size_t end, char *text, size_t bytes) {
    size_t used = 0;
    text[0] = 0;
    for (size_t i = 0; i < end && used < bytes; i++) {
        const char *name;
        memcpy(&name, (const char *)rows + i * row_bytes, sizeof(name));
        if (name) used += (size_t)snprintf(text + used, bytes - used, "%s%s", used ? ", " : "", name);
    }
}

tally_status tally_dtype_from_name(const char *name, tally_dtype *out) {
    if (!name || !out) return tally_fail(TALLY_E_ARGUMENT, "tally_dtype_from_name: %s is NULL", name ? "out" : "name");
    for (int i = 0; i < TALLY_DTYPE_END; i++)
        if (dtypes[i].name && !strcmp(name, dtypes[i].name)) return *out = (tally_dtype)i, TALLY_OK;
    char names[512];
    list_names(dtypes, sizeof(dtypes[0]), TALLY_DTYPE_END, names, sizeof(names));
    return tally_fail(TALLY_E_ARGUMENT, "unknown dtype '%s': %sthere are %s", name,
                      tally_did_you_mean(name, strlen(name), names).text, names);
}

tally_status tally_op_from_name(const char *name, tally_op *out) {
    if (!name || !out) return tally_fail(TALLY_E_ARGUMENT, "tally_op_from_name: %s is NULL", name ? "out" : "name");
    for (int i = 0; i < TALLY_OP_END; i++)
        if (ops[i].name && !strcmp(name, ops[i].name)) return *out = (tally_op)i, TALLY_OK;
    char names[512];
    list_names(ops, sizeof(ops[0]), TALLY_OP_END, names, sizeof(names));
    return tally_fail(TALLY_E_ARGUMENT, "unknown op '%s': %sthere are %s", name,
                      tally_did_you_mean(name, strlen(name), names).text, names);
}

uint32_t tally_op_inputs(tally_op op) {
    const tally_op_row *row = tally_op_find(op);
    return row ? row->inputs : 0;
}

const char *tally_op_param_name(tally_op op, uint32_t index, double *value) {
    const tally_op_row *row = tally_op_find(op);
    for (uint32_t i = 0; row && row->params[i].name; i++) {
        if (i < index) continue;
        if (value) *value = row->params[i].value;
        return row->params[i].name;
    }
    return NULL;
}
