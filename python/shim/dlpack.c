/* SPDX-License-Identifier: MIT */
/* dlpack.c: the contents of DLPack capsules that the package hands out. */
#ifndef Py_GIL_DISABLED
#ifndef Py_LIMITED_API
#define Py_LIMITED_API 0x03090000
#endif
#endif
#include <Python.h>

#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "shim.h"

static atomic_llong exports;

/* A capsule's content. Room for the tensor's extents and strides follows. */
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

/* ---- arrays in ------------------------------------------------------------------------------- */

/* Reads a tensor. strides may be NULL: C order. */
static tally_dl_status read_tensor(const tally_dl_tensor *from, tally_dl_read *to) {
    const int32_t axes = from->ndim;
    if (axes < 0 || axes > TALLY_DL_AXES) return TALLY_DL_TOO_MANY;
    to->data = (uintptr_t)from->data + (uintptr_t)from->byte_offset;
    to->device_type = from->device_type;
    to->device_id = from->device_id;
    to->code = from->code;
    to->bits = from->bits;
    to->lanes = from->lanes;
    to->ndim = axes;
    int64_t step = 1;
    for (int32_t i = axes - 1; i >= 0; i--) {
        to->numbers[i] = from->shape[i];
        to->numbers[axes + i] = from->strides ? from->strides[i] : step;
        step *= from->shape[i] > 1 ? from->shape[i] : 1;
    }
    return TALLY_DL_READ;
}

static tally_dl_status read_versioned(const tally_dl_versioned *from, tally_dl_read *to) {
    to->content = (uintptr_t)from;
    to->versioned = 1;
    to->major = from->major;
    to->minor = from->minor;
    if (from->major != 1) return TALLY_DL_VERSION;
    to->readonly = (from->flags & 1) != 0;
    return read_tensor(&from->tensor, to);
}

static tally_dl_status take(PyObject *capsule, tally_dl_read *to) {
    if (PyCapsule_IsValid(capsule, "dltensor_versioned")) {
        const tally_dl_versioned *from = PyCapsule_GetPointer(capsule, "dltensor_versioned");
        PyCapsule_SetName(capsule, "used_dltensor_versioned");
        return read_versioned(from, to);
    }
    if (!PyCapsule_IsValid(capsule, "dltensor")) return TALLY_DL_NO_CAPSULE;
    const tally_dl_managed *from = PyCapsule_GetPointer(capsule, "dltensor");
    PyCapsule_SetName(capsule, "used_dltensor");
    to->content = (uintptr_t)from;
    return read_tensor(&from->tensor, to);
}

tally_dl_status tally_python_dl_take(uintptr_t capsule, tally_dl_read *to) {
    memset(to, 0, offsetof(tally_dl_read, numbers));
    const PyGILState_STATE state = PyGILState_Ensure();
    const tally_dl_status status = take((PyObject *)capsule, to);
    PyGILState_Release(state);
    return status;
}

void tally_python_dl_end(tally_dl_read *of) {
    tally_dl_versioned *newer = (tally_dl_versioned *)of->content;
    tally_dl_managed *older = (tally_dl_managed *)of->content;
    if (!of->content) return;
    of->content = 0;
    const PyGILState_STATE state = PyGILState_Ensure();
    if (of->versioned && newer->deleter) newer->deleter(newer);
    if (!of->versioned && older->deleter) older->deleter(older);
    PyGILState_Release(state);
}

/* DLPack's numbers of devices, and its code of complex items. */
enum { CPU = 1, CUDA = 2, CUDA_MANAGED = 13, COMPLEX = 5 };

/* The layout of DLPack 1.3's table of exchange functions, up to the last one that is called. */
typedef struct exchange_header {
    uint32_t major, minor;
    struct exchange_header *older;
} exchange_header;

typedef struct exchange_table {
    exchange_header header;
    void (*allocate)(void);
    int (*managed_of)(void *object, tally_dl_versioned **out);
    int (*object_of)(tally_dl_versioned *tensor, void **out);
    int (*tensor_of)(void *object, tally_dl_tensor *out);
    int (*current_stream)(int device_type, int32_t device_id, void **out);
} exchange_table;

uintptr_t tally_python_dl_table(uintptr_t capsule) {
    PyObject *of = (PyObject *)capsule;
    const PyGILState_STATE state = PyGILState_Ensure();
    const exchange_header *header =
        PyCapsule_IsValid(of, "dlpack_exchange_api") ? PyCapsule_GetPointer(of, "dlpack_exchange_api") : NULL;
    PyGILState_Release(state);
    while (header && header->major > 1) header = header->older;
    const exchange_table *table = (const exchange_table *)header;
    return header && header->major == 1 && table->managed_of && table->current_stream ? (uintptr_t)table : 0;
}

static tally_dl_status exchange(const exchange_table *table, void *object, tally_dl_read *to) {
    tally_dl_versioned *made = NULL;
    if (table->managed_of(object, &made) || !made) return TALLY_DL_REFUSED;
    const tally_dl_status status = read_versioned(made, to);
    if (status || (to->device_type != CUDA && to->device_type != CUDA_MANAGED)) return status;
    void *stream = NULL;
    if (!table->current_stream(CUDA, to->device_id, &stream)) {
        to->stream = (uintptr_t)stream;
        return TALLY_DL_READ;
    }
    if (made->deleter) made->deleter(made);
    to->content = 0;
    return TALLY_DL_REFUSED;
}

tally_dl_status tally_python_dl_exchange(uintptr_t table, uintptr_t object, tally_dl_read *to) {
    memset(to, 0, offsetof(tally_dl_read, numbers));
    const PyGILState_STATE state = PyGILState_Ensure();
    const tally_dl_status status = exchange((const exchange_table *)table, (void *)object, to);
    if (status == TALLY_DL_REFUSED) PyErr_Clear();
    PyGILState_Release(state);
    return status;
}

/* An array as a form knows it: two arrays of one form are the same bytes. */
typedef struct seen {
    uint64_t stream;
    int32_t device_type, device_id, ndim;
    uint8_t code, bits;
    uint16_t lanes;
    int64_t numbers[128]; /* the extents, then the strides in items */
} seen;

/* Names of methods, made with the first looker and kept. */
static PyObject *is_neg, *is_conj;

/* Asks an array a question, a method's name. Returns 1 unless the answer is no. */
static int may(PyObject *array, PyObject *question) {
    PyObject *answer = PyObject_CallMethodObjArgs(array, question, NULL);
    const int is_no = answer == Py_False;
    Py_XDECREF(answer);
    return !is_no;
}

static int see(const exchange_table *table, PyObject *array, seen *to, uintptr_t *data) {
    tally_dl_tensor of;
    void *stream = NULL;
    if (table->tensor_of(array, &of) || of.ndim < 0 || of.ndim > TALLY_DL_AXES || (of.ndim && !of.strides)) return 0;
    if (of.device_type != CPU && (of.device_type != CUDA || table->current_stream(CUDA, of.device_id, &stream))) return 0;
    if (may(array, is_neg) || (of.code == COMPLEX && may(array, is_conj))) return 0;
    const size_t bytes = (size_t)of.ndim * sizeof(int64_t);
    to->stream = (uintptr_t)stream;
    to->device_type = of.device_type;
    to->device_id = of.device_id;
    to->ndim = of.ndim;
    to->code = of.code;
    to->bits = of.bits;
    to->lanes = of.lanes;
    if (bytes) memcpy(to->numbers, of.shape, bytes);
    if (bytes) memcpy(to->numbers + of.ndim, of.strides, bytes);
    *data = (uintptr_t)of.data + (uintptr_t)of.byte_offset;
    return 1;
}

/* Makes a tuple of new references, of which it takes the ownership. */
static PyObject *four(PyObject *a, PyObject *b, PyObject *c, PyObject *d) {
    PyObject *made = a && b && c && d ? PyTuple_Pack(4, a, b, c, d) : NULL;
    Py_XDECREF(a);
    Py_XDECREF(b);
    Py_XDECREF(c);
    Py_XDECREF(d);
    return made;
}

static PyObject *none(void) {
    Py_INCREF(Py_None);
    return Py_None;
}

static PyObject *look(PyObject *capsule, PyObject *array) {
    seen of;
    uintptr_t data;
    if (!see(PyCapsule_GetPointer(capsule, NULL), array, &of, &data)) {
        PyErr_Clear();
        return four(none(), none(), none(), none());
    }
    const size_t bytes = offsetof(seen, numbers) + 2 * (size_t)of.ndim * sizeof(int64_t);
    return four(PyBytes_FromStringAndSize((char *)&of, (Py_ssize_t)bytes),
                of.device_type == CUDA ? PyLong_FromUnsignedLongLong(of.stream) : none(),
                of.device_type == CUDA ? PyLong_FromLong(of.device_id) : none(), PyLong_FromUnsignedLongLong(data));
}

uintptr_t tally_python_dl_looker(uintptr_t table) {
    static PyMethodDef method = {"look", look, METH_O, NULL};
    if (!table || !((const exchange_table *)table)->tensor_of) return 0;
    const PyGILState_STATE state = PyGILState_Ensure();
    if (!is_neg) is_neg = PyUnicode_InternFromString("is_neg");
    if (!is_conj) is_conj = PyUnicode_InternFromString("is_conj");
    PyObject *capsule = is_neg && is_conj ? PyCapsule_New((void *)table, NULL, NULL) : NULL;
    PyObject *made = capsule ? PyCFunction_NewEx(&method, capsule, NULL) : NULL;
    Py_XDECREF(capsule);
    if (!made) PyErr_Clear();
    PyGILState_Release(state);
    return (uintptr_t)made;
}

int64_t tally_python_exports(void) {
    return atomic_load(&exports);
}
