/* SPDX-License-Identifier: MIT */
#include "objects.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

stub_state stub = {.devices = STUB_DEVICES};

static object *objects;
static int pending; /* operations of all queues */

static const char *kind_name(stub_kind kind) {
#define STUB_KIND(name) #name,
    static const char *const names[] = {STUB_KINDS(STUB_KIND)};
#undef STUB_KIND
    return names[kind];
}

void stub_misuse(const char *format, ...) {
    if (stub.misuse[0]) return;
    va_list rest;
    va_start(rest, format);
    vsnprintf(stub.misuse, sizeof stub.misuse, format, rest);
    va_end(rest);
}

object *stub_open(stub_kind kind, object *device) {
    object *o = calloc(1, sizeof *o);
    if (!o) abort();
    *o = (object){.next = objects, .kind = kind, .live = 1, .device = device};
    objects = o;
    stub.open[kind]++;
    stub.opened[kind]++;
    return o;
}

object *stub_object(void *handle, stub_kind kind, const void *device, const char *slot) {
    object *o = objects;
    while (o && o != handle) o = o->next;
    if (!o || o->kind != kind || !o->live)
        stub_misuse("%s: %s", slot, !o ? "no handle of the stub" : o->live ? "a handle of another kind" : "a closed handle");
    else if (device && o->device != device)
        stub_misuse("%s: a %s of another device", slot, kind_name(kind));
    return o && o->kind == kind && o->live ? o : NULL;
}

static int is_pending(const object *mem) {
    for (const object *q = pending ? objects : NULL; q; q = q->next)
        for (int i = 0; q->live && q->kind == STUB_QUEUE && i < q->pending; i++) {
            const operation *op = &q->operations[i];
            if (op->mem == &mem->memory) return 1;
            for (uint32_t a = 0; op->what == LAUNCH && a < op->launch.count; a++)
                if (op->launch.mem[a] == &mem->memory) return 1;
        }
    return 0;
}

/* Frees the memory that an object holds. The object itself stays, so that it is recognised. */
static void release(object *o) {
    if (o->own_memory) free(o->memory.bytes);
    free(o->text);
    free(o->operations);
    o->own_memory = 0;
    o->memory.bytes = NULL;
    o->text = NULL;
    o->operations = NULL;
}

void stub_close(void *handle, stub_kind kind, void *device, const char *slot) {
    object *o = stub_object(handle, kind, device, slot);
    if (!o) return;
    if (kind == STUB_MEMORY && is_pending(o)) stub_misuse("mem_close: what is enqueued still needs it");
    if (kind == STUB_QUEUE && o->pending) stub_misuse("queue_close: %d operations were not waited for", o->pending);
    for (const object *other = objects; kind == STUB_DEVICE && other; other = other->next)
        if (other->live && other->device == o) stub_misuse("device_close: a %s is open", kind_name(other->kind));
    o->live = 0;
    stub.open[kind]--;
    /* Operations that still need the memory find it as it was. */
    if (kind == STUB_MEMORY && !is_pending(o)) release(o);
    if (kind == STUB_QUEUE) pending -= o->pending, release(o);
}

void stub_reset(void) {
    while (objects) {
        object *o = objects;
        objects = o->next;
        release(o);
        free(o);
    }
    pending = 0;
    stub = (stub_state){.devices = STUB_DEVICES};
}

tally_status stub_call(const char *slot) {
    const int here = ++stub.calls == stub.fail_at;
    if (!here && !(stub.lost && stub.failed[0])) return TALLY_OK;
    if (here) {
        snprintf(stub.failed, sizeof stub.failed, "%s", slot);
        snprintf(stub.text, sizeof stub.text, "stub: %s failed, as call %d was to", slot, stub.calls);
        stub.failed_in_void = stub.in_void;
    }
    return tally_fail(stub.fail_with, "%s", here ? stub.text : STUB_LOST);
}

operation *stub_enqueue(void *queue, const char *slot) {
    static operation nowhere;
    object *o = stub_object(queue, STUB_QUEUE, NULL, slot);
    if (o && o->pending == STUB_MAX_OPERATIONS) stub_misuse("%s: too many operations for the stub", slot);
    const int fits = o && o->pending < STUB_MAX_OPERATIONS;
    operation *op = fits ? &o->operations[o->pending++] : &nowhere;
    pending += fits;
    memset(op, 0, sizeof *op);
    return op;
}

void stub_forget(object *queue) {
    pending -= queue->pending;
    queue->pending = 0;
}
