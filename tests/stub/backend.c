/* SPDX-License-Identifier: MIT */
#include "objects.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- devices --------------------------------------------------------------------------------- */

static const tally_device_info infos[STUB_DEVICES] = {
    {.backend = "stub",
     .index = STUB_ALPHA,
     .device_class = TALLY_CLASS_GPU,
     .name = "Alpha One",
     .platform = "Stub Works",
     .driver = "1.0",
     .compute_units = 4,
     .max_group_threads = 1024,
     .memory_bytes = UINT64_C(1) << 28,
     .max_buffer_bytes = UINT64_C(1) << 26,
     .local_bytes = 48 * 1024,
     .has_atomic64 = 1,
     .has_f64 = 1},
    {.backend = "stub",
     .index = STUB_BETA,
     .device_class = TALLY_CLASS_CPU,
     .name = "Beta Two",
     .platform = "Stub Works",
     .driver = "1.0",
     .compute_units = 2,
     .max_group_threads = 64,
     .memory_bytes = UINT64_C(1) << 28,
     .max_buffer_bytes = UINT64_C(1) << 26,
     .local_bytes = 64 * 1024,
     .has_atomic64 = 1,
     .has_f64 = 1,
     .host_memory = 1},
    {.backend = "stub",
     .index = STUB_GAMMA,
     .device_class = TALLY_CLASS_GPU,
     .name = "Gamma Three",
     .platform = "Stub Outlet",
     .driver = "0.9",
     .compute_units = 1,
     .max_group_threads = 256,
     .memory_bytes = UINT64_C(1) << 28,
     .max_buffer_bytes = UINT64_C(1) << 26,
     .local_bytes = 2 * 1024},
};

static tally_status device_count(int *count, char *reason, size_t reason_bytes) {
    CALL("device_count");
    *count = stub.devices;
    snprintf(reason, reason_bytes, "%s", stub.devices ? "" : STUB_NO_DEVICE_REASON);
    return TALLY_OK;
}

static tally_status device_info(int index, tally_device_info *info) {
    CALL("device_info");
    if (index < 0 || index >= stub.devices) return tally_fail(TALLY_E_INTERNAL, "stub: device_info(%d)", index);
    *info = infos[index];
    return TALLY_OK;
}

static tally_status device_open(int index, void *native_context, void *native_device, tally_device_info *info, void **device) {
    CALL("device_open");
    if (native_context || native_device) stub_misuse("device_open: native handles that nobody gave");
    if (index < 0 || index >= stub.devices) return tally_fail(TALLY_E_INTERNAL, "stub: device_open(%d)", index);
    object *o = stub_open(STUB_DEVICE, NULL);
    o->index = index;
    *info = infos[index];
    *device = o;
    return TALLY_OK;
}

static void device_close(void *device) {
    stub_close(device, STUB_DEVICE, NULL, "device_close");
}

/* ---- memory ---------------------------------------------------------------------------------- */

static tally_status mem_open(void *device, tally_mem_kind kind, void *handle, uint64_t *bytes, void **mem) {
    CALL("mem_open");
    object *d = stub_object(device, STUB_DEVICE, NULL, "mem_open");
    if (!d) return tally_fail(TALLY_E_INTERNAL, "stub: mem_open");
    if (*bytes > infos[d->index].memory_bytes && kind != TALLY_MEM_HOST)
        return tally_fail(TALLY_E_MEMORY, "stub: no memory for %llu bytes", (unsigned long long)*bytes);
    if (kind == TALLY_MEM_HOST && !infos[d->index].host_memory) stub_misuse("mem_open: host memory on this device");
    object *o = stub_open(STUB_MEMORY, d);
    o->own_memory = kind == TALLY_MEM_DEVICE || kind == TALLY_MEM_STAGING;
    static unsigned char nothing; /* stands for an empty array without an address */
    o->memory.bytes = o->own_memory ? malloc(*bytes ? *bytes : 1) : handle ? handle : &nothing;
    if (o->own_memory && !o->memory.bytes) abort();
    if (o->own_memory) memset(o->memory.bytes, 0xdb, *bytes);
    o->memory.size = *bytes;
    *mem = o;
    return TALLY_OK;
}

static void mem_close(void *device, void *mem) {
    stub_close(mem, STUB_MEMORY, device, "mem_close");
}

static void *mem_pointer(void *mem) {
    const object *o = stub_object(mem, STUB_MEMORY, NULL, "mem_pointer");
    return o ? o->memory.bytes : NULL;
}

static tally_mem_place mem_place(void *mem) {
    return (tally_mem_place){NULL, (uintptr_t)mem_pointer(mem)};
}

/* ---- queues: enqueued work happens at the wait ----------------------------------------------- */

static tally_status queue_open(void *device, int wrap, void *native, void **queue) {
    CALL("queue_open");
    object *d = stub_object(device, STUB_DEVICE, NULL, "queue_open");
    object *o = stub_open(STUB_QUEUE, d);
    o->native = wrap;
    o->handle = native;
    o->operations = calloc(STUB_MAX_OPERATIONS, sizeof *o->operations);
    if (!o->operations) abort();
    *queue = o;
    return TALLY_OK;
}

static void queue_close(void *device, void *queue) {
    stub_close(queue, STUB_QUEUE, device, "queue_close");
}

static void run(const operation *op) {
    if (op->what == COPY_IN) memcpy(op->mem->bytes + op->offset, op->from, op->bytes);
    if (op->what == COPY_OUT) memcpy(op->to, op->mem->bytes + op->offset, op->bytes);
    if (op->what == LAUNCH) stub_run(&op->launch);
}

static tally_status queue_wait(void *queue) {
    object *o = stub_object(queue, STUB_QUEUE, NULL, "queue_wait");
    /* A wait for nothing cannot fail. */
    const tally_status status = o && o->pending ? stub_call("queue_wait") : TALLY_OK;
    stub.waits++;
    for (int i = 0; o && i < o->pending; i++)
        if (!status) run(&o->operations[i]);
    if (o) stub_forget(o);
    return status;
}

static void *queue_native(void *queue) {
    const object *o = stub_object(queue, STUB_QUEUE, NULL, "queue_native");
    return o ? o->handle : NULL;
}

static tally_status copy(const char *slot, void *queue, void *mem, const operation *what) {
    CALL(slot);
    object *m = stub_object(mem, STUB_MEMORY, NULL, slot);
    if (!m) return tally_fail(TALLY_E_INTERNAL, "stub: %s", slot);
    if (what->offset > m->memory.size || what->bytes > m->memory.size - what->offset) {
        stub_misuse("%s: %llu bytes at %llu of %llu", slot, (unsigned long long)what->bytes, (unsigned long long)what->offset,
                    (unsigned long long)m->memory.size);
        return tally_fail(TALLY_E_INTERNAL, "stub: %s", slot);
    }
    stub.copies++;
    operation *op = stub_enqueue(queue, slot);
    *op = *what;
    op->mem = &m->memory;
    return TALLY_OK;
}

static tally_status copy_in(void *queue, void *mem, uint64_t offset, const void *host, uint64_t bytes) {
    return copy("copy_in", queue, mem, &(operation){.what = COPY_IN, .offset = offset, .bytes = bytes, .from = host});
}

static tally_status copy_out(void *queue, void *mem, uint64_t offset, void *host, uint64_t bytes) {
    return copy("copy_out", queue, mem, &(operation){.what = COPY_OUT, .offset = offset, .bytes = bytes, .to = host});
}

/* ---- programs and kernels -------------------------------------------------------------------- */

/* Returns the text of a stem, which names the stem, or NULL if there is no such stem. */
static const char *kernel_source(const char *stem) {
    static const char *const shared[] = {"probe", "finish",   "ladder",    "scan",          "heads",   "move",     "part",
                                         "fold",  "cpu_rows", "cpu_tiles", "cpu_scan_axis", "outcome", "team_rows"};
    static char texts[64][64];
    static size_t made;
    size_t known = 0;
    if (stub.missing && strcmp(stem, stub.missing) == 0) return NULL;
    if (strcmp(stem, "prelude") == 0) return stub_prelude;
    for (size_t i = 0; i < sizeof shared / sizeof shared[0]; i++) known += strcmp(stem, shared[i]) == 0;
    known += stub.verdicts && (strcmp(stem, "feature_subgroups") == 0 || strcmp(stem, "feature_order") == 0);
    for (size_t v = 0; v < tally_variant_count(); v++) {
        tally_variant_info info;
        known += tally_variant_get(v, &info) == TALLY_OK && strcmp(stem, info.stem) == 0;
    }
    for (size_t v = 0; v < tally_scan_variant_count(); v++) {
        tally_variant_info info;
        known += tally_scan_variant_get(v, &info) == TALLY_OK && strcmp(stem, info.stem) == 0;
    }
    if (!known) return NULL;
    char text[64];
    snprintf(text, sizeof text, "/* stub: %s */\n", stem);
    for (size_t i = 0; i < made; i++)
        if (strcmp(text, texts[i]) == 0) return texts[i];
    if (made == sizeof texts / sizeof texts[0]) abort();
    return strcpy(texts[made++], text);
}

static const char magic[] = "stub binary:";

/* Programs of one plan may be made by several threads at once. The stub makes one after another. */
static pthread_mutex_t making = PTHREAD_MUTEX_INITIALIZER;

static tally_status make_program(void *device, const tally_program_desc *desc, void **program) {
    const tally_program_form form = desc->form;
    const void *data = desc->data;
    const size_t bytes = desc->bytes;
    static const char *const names[] = {[TALLY_PROGRAM_SOURCE] = "program_create",
                                        [TALLY_PROGRAM_BINARY] = "program_create from a binary",
                                        [TALLY_PROGRAM_PREBUILT] = "program_create of a prebuilt"};
    const size_t skip = form == TALLY_PROGRAM_BINARY ? sizeof magic : 0;
    CALL(names[form]);
    if (skip && (bytes < skip || memcmp(data, magic, skip) != 0 || stub.refuse_binaries))
        return tally_fail(TALLY_E_BUILD, "stub: no binary of this driver");
    char *text = calloc(1, bytes - skip + 1), error[512];
    if (!text) abort();
    memcpy(text, (const char *)data + skip, bytes - skip);
    const stub_module *module = NULL;
    if (strstr(text, STUB_SPECIALISED) && !(module = stub_module_get(text, error, sizeof error)))
        return free(text), tally_fail(TALLY_E_BUILD, "stub: %s", error);
    object *o = stub_open(STUB_PROGRAM, stub_object(device, STUB_DEVICE, NULL, "program_create"));
    o->text = text;
    o->module = module;
    *(form == TALLY_PROGRAM_SOURCE ? &stub.sources : form == TALLY_PROGRAM_BINARY ? &stub.binaries : &stub.prebuilt) += 1;
    *program = o;
    return TALLY_OK;
}

static tally_status program_create(void *device, const tally_program_desc *desc, void **program) {
    if (desc->form == TALLY_PROGRAM_PREBUILT && !stub.has_prebuilt) return TALLY_E_UNSUPPORTED;
    if (desc->form == TALLY_PROGRAM_SOURCE && stub.building) stub.building();
    pthread_mutex_lock(&making);
    const tally_status status = make_program(device, desc, program);
    pthread_mutex_unlock(&making);
    return status;
}

static tally_status copy_binary(void *device, void *program, void **data, size_t *bytes) {
    CALL("program_binary");
    const object *o = stub_object(program, STUB_PROGRAM, device, "program_binary");
    if (!o) return tally_fail(TALLY_E_INTERNAL, "stub: program_binary");
    *bytes = sizeof magic + strlen(o->text);
    char *copied = malloc(*bytes);
    if (!copied) abort();
    memcpy(copied, magic, sizeof magic);
    memcpy(copied + sizeof magic, o->text, *bytes - sizeof magic);
    *data = copied;
    return TALLY_OK;
}

static tally_status program_binary(void *device, void *program, void **data, size_t *bytes) {
    pthread_mutex_lock(&making);
    const tally_status status = copy_binary(device, program, data, bytes);
    pthread_mutex_unlock(&making);
    return status;
}

static void program_close(void *device, void *program) {
    stub_close(program, STUB_PROGRAM, device, "program_close");
}

static tally_status kernel_create(void *device, void *program, const char *entry, void **kernel) {
    CALL("kernel_create");
    object *p = stub_object(program, STUB_PROGRAM, device, "kernel_create");
    if (!p) return tally_fail(TALLY_E_INTERNAL, "stub: kernel_create");
    object *o = stub_open(STUB_KERNEL, p->device);
    o->program = p;
    o->text = calloc(1, strlen(entry) + 1);
    if (!o->text) abort();
    strcpy(o->text, entry);
    *kernel = o;
    return TALLY_OK;
}

static void kernel_close(void *device, void *kernel) {
    stub_close(kernel, STUB_KERNEL, device, "kernel_close");
}

static tally_status launch(void *queue, void *kernel, uint64_t groups, uint32_t threads, uint32_t count,
                           const tally_arg *args) {
    CALL("launch");
    const object *k = stub_object(kernel, STUB_KERNEL, NULL, "launch");
    if (!k || count > STUB_MAX_ARGS) return tally_fail(TALLY_E_INTERNAL, "stub: launch");
    if (groups == 0 || threads == 0) stub_misuse("launch: %llu groups of %u threads", (unsigned long long)groups, threads);
    stub.launches++;
    stub_launch l = {
        .source = k->program->text, .module = k->program->module, .groups = groups, .threads = threads, .count = count};
    snprintf(l.entry, sizeof l.entry, "%s", k->text);
    uint32_t used = 0;
    for (uint32_t a = 0; a < count; a++) {
        object *mem = args[a].mem ? stub_object(args[a].mem, STUB_MEMORY, k->device, "launch") : NULL;
        if (mem) l.mem[a] = &mem->memory;
        const uint64_t size = mem ? mem->memory.size : 0, from = args[a].read_from, read = args[a].read_bytes;
        if (read && (from > size || read > size - from))
            stub_misuse("launch: argument %u is read beyond its memory's %llu bytes", a, (unsigned long long)size);
        if (args[a].mem) continue;
        if (!args[a].value || args[a].bytes == 0 || args[a].bytes > sizeof l.values - used) {
            stub_misuse("launch: argument %u is a value of %zu bytes", a, args[a].bytes);
            return tally_fail(TALLY_E_INTERNAL, "stub: launch");
        }
        memcpy(l.values + used, args[a].value, args[a].bytes);
        l.at[a] = used;
        l.bytes[a] = (uint32_t)args[a].bytes;
        used += l.bytes[a];
    }
    operation *op = stub_enqueue(queue, "launch");
    op->what = LAUNCH;
    op->launch = l;
    return TALLY_OK;
}

/* ---- time: a tick for each enqueued launch --------------------------------------------------- */

static tally_status event_create(void *device, void **event) {
    CALL("event_create");
    *event = stub_open(STUB_EVENT, stub_object(device, STUB_DEVICE, NULL, "event_create"));
    return TALLY_OK;
}

static void event_close(void *device, void *event) {
    stub_close(event, STUB_EVENT, device, "event_close");
}

static tally_status event_record(void *queue, void *event) {
    CALL("event_record");
    const object *q = stub_object(queue, STUB_QUEUE, NULL, "event_record");
    object *o = stub_object(event, STUB_EVENT, q ? q->device : NULL, "event_record");
    if (o) o->pending = 1 + stub.launches;
    return TALLY_OK;
}

static tally_status event_seconds(void *from, void *to, double *seconds) {
    CALL("event_seconds");
    const object *first = stub_object(from, STUB_EVENT, NULL, "event_seconds");
    const object *second = stub_object(to, STUB_EVENT, first ? first->device : NULL, "event_seconds");
    if (!first || !second) return tally_fail(TALLY_E_INTERNAL, "stub: event_seconds");
    if (!first->pending || !second->pending) stub_misuse("event_seconds: an event was not recorded");
    *seconds = 1e-3 * (second->pending - first->pending);
    return TALLY_OK;
}

const tally_backend stub_backend = {
    .abi = TALLY_BACKEND_ABI,
    .name = "stub",
    .device_count = device_count,
    .device_info = device_info,
    .device_open = device_open,
    .device_close = device_close,
    .mem_open = mem_open,
    .mem_close = mem_close,
    .mem_pointer = mem_pointer,
    .mem_place = mem_place,
    .queue_open = queue_open,
    .queue_close = queue_close,
    .queue_wait = queue_wait,
    .queue_native = queue_native,
    .copy_in = copy_in,
    .copy_out = copy_out,
    .kernel_source = kernel_source,
    .program_create = program_create,
    .program_binary = program_binary,
    .program_close = program_close,
    .kernel_create = kernel_create,
    .kernel_close = kernel_close,
    .launch = launch,
    .event_create = event_create,
    .event_close = event_close,
    .event_record = event_record,
    .event_seconds = event_seconds,
};
