/* SPDX-License-Identifier: MIT */
/* dlpack.c: the contents of DLPack capsules that the package hands out. */
#ifndef Py_GIL_DISABLED
#ifndef Py_LIMITED_API
#define Py_LIMITED_API 0x03090000
#endif
#endif
#include <Python.h>

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "shim.h"

static atomic_llong exports;

/* A content, with room for the extents and strides behind it. */
typedef struct content {
    union {
        tally_dl_managed managed;
        tally_dl_versioned versioned;
    } as;
    int64_t numbers[];
} content;

static void free_content(void *self, tally_buffer *buffer) {
    tally_buffer_destroy(buffer);
    free(self);
    atomic_fetch_sub(&exports, 1);
}

static void delete_managed(tally_dl_managed *self) {
    free_content(self, self->manager);
}

static void delete_versioned(tally_dl_versioned *self) {
    free_content(self, self->manager);
}

void *tally_python_export(tally_buffer *buffer, const tally_dl_tensor *tensor, int versioned) {
    const size_t axes = (size_t)tensor->ndim;
    content *made = calloc(1, sizeof(*made) + 2 * axes * sizeof(int64_t));
    if (!made) return NULL;
    tally_dl_tensor *to = versioned ? &made->as.versioned.tensor : &made->as.managed.tensor;
    *to = *tensor;
    to->shape = made->numbers;
    to->strides = made->numbers + axes;
    if (axes) memcpy(to->shape, tensor->shape, axes * sizeof(int64_t));
    if (axes) memcpy(to->strides, tensor->strides, axes * sizeof(int64_t));
    if (versioned) {
        made->as.versioned.major = 1;
        made->as.versioned.minor = 0;
        made->as.versioned.manager = buffer;
        made->as.versioned.deleter = delete_versioned;
    } else {
        made->as.managed.manager = buffer;
        made->as.managed.deleter = delete_managed;
    }
    atomic_fetch_add(&exports, 1);
    return made;
}

void tally_python_capsule_end(void *capsule) {
    PyObject *of = capsule;
    if (PyCapsule_IsValid(of, "dltensor_versioned")) {
        tally_dl_versioned *self = PyCapsule_GetPointer(of, "dltensor_versioned");
        self->deleter(self);
    } else if (PyCapsule_IsValid(of, "dltensor")) {
        tally_dl_managed *self = PyCapsule_GetPointer(of, "dltensor");
        self->deleter(self);
    }
}

int64_t tally_python_exports(void) {
    return atomic_load(&exports);
}
