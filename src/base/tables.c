/* SPDX-License-Identifier: MIT */
/* The rows of statuses, types, accuracies and device classes, found by value or by name. */
#include <stdio.h>
#include <string.h>

#include "base/did_you_mean.h"
#include "base/base.h"

static const tally_dtype_row dtypes[TALLY_DTYPE_END] = {
    [TALLY_F32] = {"f32", 4, TALLY_KIND_FLOAT, TALLY_F32, "IEEE 754 binary32"},
    [TALLY_F64] = {"f64", 8, TALLY_KIND_FLOAT, TALLY_F64, "IEEE 754 binary64"},
    [TALLY_I32] = {"i32", 4, TALLY_KIND_SIGNED, TALLY_I32, "signed 32-bit integer"},
    [TALLY_U32] = {"u32", 4, TALLY_KIND_UNSIGNED, TALLY_U32, "unsigned 32-bit integer"},
    [TALLY_I64] = {"i64", 8, TALLY_KIND_SIGNED, TALLY_I64, "signed 64-bit integer"},
    [TALLY_U64] = {"u64", 8, TALLY_KIND_UNSIGNED, TALLY_U64, "unsigned 64-bit integer"},
    [TALLY_F16] = {"f16", 2, TALLY_KIND_FLOAT, TALLY_F32, "IEEE 754 binary16"},
    [TALLY_BF16] = {"bf16", 2, TALLY_KIND_FLOAT, TALLY_F32, "bfloat16: the upper half of an f32"},
    [TALLY_I8] = {"i8", 1, TALLY_KIND_SIGNED, TALLY_I32, "signed 8-bit integer"},
    [TALLY_I16] = {"i16", 2, TALLY_KIND_SIGNED, TALLY_I32, "signed 16-bit integer"},
    [TALLY_U8] = {"u8", 1, TALLY_KIND_UNSIGNED, TALLY_U32, "unsigned 8-bit integer"},
    [TALLY_U16] = {"u16", 2, TALLY_KIND_UNSIGNED, TALLY_U32, "unsigned 16-bit integer"},
    [TALLY_BOOL] = {"bool", 1, TALLY_KIND_BOOL, TALLY_U32, "a byte: 0 is false, everything else true"},
    [TALLY_C64] = {"c64", 8, TALLY_KIND_COMPLEX, TALLY_F32, "complex: two f32, real part first"},
    [TALLY_C128] = {"c128", 16, TALLY_KIND_COMPLEX, TALLY_F64, "complex: two f64, real part first"},
};

/* A row of the other enums: the value's name and a text. */
typedef struct word {
    const char *name, *text;
} word;

static const word accuracies[TALLY_ACCURACY_END] = {
    [TALLY_ACCURACY_DEFAULT] = {"default", "the canonical order: an error that grows with log n"},
    [TALLY_ACCURACY_COMPENSATED] = {"compensated",
                                    "twofold accumulators: the rounding error of each addition is kept; independent of n"},
};

static const word statuses[TALLY_STATUS_END] = {
    [TALLY_OK] = {"TALLY_OK", "done"},
    [TALLY_E_ARGUMENT] = {"TALLY_E_ARGUMENT", "an argument is wrong: NULL, out of range, of another context, of no known name"},
    [TALLY_E_NO_DEVICE] = {"TALLY_E_NO_DEVICE", "the backend or device asked for is not here"},
    [TALLY_E_UNSUPPORTED] = {"TALLY_E_UNSUPPORTED", "a sound request that this device or this build cannot serve"},
    [TALLY_E_MEMORY] = {"TALLY_E_MEMORY", "host or device memory ran out"},
    [TALLY_E_BUILD] = {"TALLY_E_BUILD", "a kernel did not compile"},
    [TALLY_E_DEVICE] = {"TALLY_E_DEVICE", "a driver call failed"},
    [TALLY_E_INTERNAL] = {"TALLY_E_INTERNAL", "a defect of tally"},
};

static const word classes[TALLY_CLASS_END] = {
    [TALLY_CLASS_GPU] = {"gpu", "many groups of many threads; local memory"},
    [TALLY_CLASS_CPU] = {"cpu", "few groups of one thread; wide vectors; host memory used in place"},
    [TALLY_CLASS_OTHER] = {"other", "accelerators; served with the GPU's kernels"},
};

/* A caller can put any number into an enum, so values are compared as unsigned. */
#define IN_TABLE(value, end) ((unsigned)(value) < (unsigned)(end))

const tally_dtype_row *tally_dtype_find(tally_dtype dtype) {
    return IN_TABLE(dtype, TALLY_DTYPE_END) && dtypes[dtype].name ? &dtypes[dtype] : NULL;
}

bool tally_dtype_is_integer(tally_dtype dtype) {
    const tally_kind kind = tally_dtype_find(dtype)->kind;
    return kind == TALLY_KIND_SIGNED || kind == TALLY_KIND_UNSIGNED;
}

bool tally_dtype_is_narrow(tally_dtype dtype) {
    return tally_dtype_bytes(dtype) <= 2 && tally_dtype_find(dtype)->kind != TALLY_KIND_FLOAT;
}

bool tally_dtype_is_float(tally_dtype dtype) {
    const tally_kind kind = tally_dtype_find(dtype)->kind;
    return kind == TALLY_KIND_FLOAT || kind == TALLY_KIND_COMPLEX;
}

bool tally_dtype_is_value(tally_dtype dtype) {
    const tally_dtype_row *row = tally_dtype_find(dtype);
    return row && row->compute == dtype && row->kind != TALLY_KIND_COMPLEX;
}

const char *tally_version(void) {
    return TALLY_VERSION;
}

const char *tally_status_name(tally_status status) {
    return IN_TABLE(status, TALLY_STATUS_END) ? statuses[status].name : NULL;
}

const char *tally_status_text(tally_status status) {
    return IN_TABLE(status, TALLY_STATUS_END) ? statuses[status].text : NULL;
}

const char *tally_device_class_name(tally_device_class device_class) {
    return IN_TABLE(device_class, TALLY_CLASS_END) ? classes[device_class].name : NULL;
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
    return IN_TABLE(accuracy, TALLY_ACCURACY_END) ? accuracies[accuracy].name : NULL;
}

void tally_list_names(const void *rows, size_t row_bytes, size_t count, char *text, size_t bytes) {
    size_t used = 0;
    text[0] = 0;
    for (size_t i = 0; i < count && used < bytes; i++) {
        const char *name;
        memcpy(&name, (const char *)rows + i * row_bytes, sizeof(name));
        if (name) used += (size_t)snprintf(text + used, bytes - used, "%s%s", used ? ", " : "", name);
    }
}

const char *tally_accuracy_summary(tally_accuracy accuracy) {
    return IN_TABLE(accuracy, TALLY_ACCURACY_END) ? accuracies[accuracy].text : NULL;
}

const char *tally_device_class_summary(tally_device_class device_class) {
    return IN_TABLE(device_class, TALLY_CLASS_END) ? classes[device_class].text : NULL;
}

tally_kind tally_dtype_kind(tally_dtype dtype) {
    const tally_dtype_row *row = tally_dtype_find(dtype);
    return row ? row->kind : TALLY_KIND_FLOAT;
}

tally_status tally_dtype_from_name(const char *name, tally_dtype *out) {
    if (!name || !out) return TALLY_NAMED(tally_fail(TALLY_E_ARGUMENT, "%s is NULL", name ? "out" : "name"));
    for (int i = 0; i < TALLY_DTYPE_END; i++)
        if (dtypes[i].name && !strcmp(name, dtypes[i].name)) return *out = (tally_dtype)i, TALLY_OK;
    char names[512];
    tally_list_names(dtypes, sizeof(dtypes[0]), TALLY_DTYPE_END, names, sizeof(names));
    return TALLY_NAMED(tally_fail(TALLY_E_ARGUMENT, "unknown dtype '%s': %sthere are %s", name,
                                  tally_did_you_mean(name, strlen(name), names).text, names));
}
