/* SPDX-License-Identifier: MIT */
/* objects.h: the stub's objects, which every handle is checked against, and its calls, which can be
 * made to fail. */
#ifndef TALLY_TESTS_STUB_OBJECTS_H
#define TALLY_TESTS_STUB_OBJECTS_H

#include "backend.h"
#include "module.h"

#define STUB_MAX_OPERATIONS 4096

typedef struct operation {
    enum { COPY_IN, COPY_OUT, LAUNCH } what;
    stub_memory *mem;
    uint64_t offset, bytes;
    const void *from;
    void *to;
    stub_launch launch;
} operation;

/* An object of any kind. A closed object is kept until stub_reset, so that a second close is
 * detected. */
typedef struct object {
    struct object *next;
    stub_kind kind;
    int live;
    struct object *device; /* NULL: a device itself */
    int index;             /* device */
    stub_memory memory;
    int own_memory;
    char *text;                /* program: its source; kernel: its entry */
    const stub_module *module; /* program of a reduction */
    struct object *program;
    operation *operations; /* queue: those that have not happened yet */
    int pending;           /* queue: the number of operations; event: 0, or 1 + the launches before its mark */
    int native;
    void *handle;
} object;

object *stub_open(stub_kind kind, object *device);
/* The handle as an open object of this kind, and of this device unless that is NULL. Returns NULL
 * and notes a breach of the rules if it is none. */
object *stub_object(void *handle, stub_kind kind, const void *device, const char *slot);
void stub_close(void *handle, stub_kind kind, void *device, const char *slot);

/* A new operation of the queue, zeroed. */
operation *stub_enqueue(void *queue, const char *slot);
/* Drops the operations of a queue. */
void stub_forget(object *queue);

/* Counts a call. The call that is to fail fails with its text, and so does each call after it if
 * the device is lost. */
tally_status stub_call(const char *slot);

#define CALL(slot)                                                                                                             \
    do {                                                                                                                       \
        const tally_status call_status = stub_call(slot);                                                                      \
        if (call_status) return call_status;                                                                                   \
    } while (0)

#endif
