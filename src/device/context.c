/* SPDX-License-Identifier: MIT */
/* Contexts: a device is chosen and opened here, and described. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/device.h"

tally_status tally_check_context(const tally_context *context) {
    if (!context) return tally_fail(TALLY_E_ARGUMENT, "context is NULL");
    if (context->tag != TALLY_TAG_CONTEXT) return tally_fail(TALLY_E_ARGUMENT, "context is no context");
    return TALLY_OK;
}

void tally_context_retain(tally_context *context) {
    atomic_fetch_add(&context->references, 1);
}

tally_status tally_context_open(const tally_backend *backend, int index, void *native_context, void *native_device,
                                const char *chosen_by, const char *selection, tally_context **out) {
    tally_context *context = calloc(1, sizeof(*context));
    if (!context) return tally_fail(TALLY_E_MEMORY, "out of memory");
    context->tag = TALLY_TAG_CONTEXT;
    context->backend = backend;
    atomic_init(&context->references, 1);
    snprintf(context->chosen_by, sizeof(context->chosen_by), "%s", chosen_by);
    snprintf(context->selection, sizeof(context->selection), "%s", selection);
    const tally_status status = backend->device_open(index, native_context, native_device, &context->info, &context->device);
    if (status) {
        free(context);
        return status;
    }
    pthread_mutex_init(&context->lock, NULL);
    pthread_cond_init(&context->program_ready, NULL);
    context->cache =
        tally_cache_open(context->cache_dir, sizeof(context->cache_dir), context->cache_note, sizeof(context->cache_note));
    tally_tunings_load(context);
    *out = context;
    return TALLY_OK;
}

/* Returns the selection that decides and writes its origin to *by. NULL: the default. */
static const char *selection_in_force(const char *select, const char **by) {
    const char *environment = getenv("TALLY_BACKEND");
    if (select && select[0]) return *by = "argument", select;
    if (environment && environment[0]) return *by = "TALLY_BACKEND", environment;
    return *by = "default", NULL;
}

tally_status tally_context_create(const char *select, tally_context **out) {
    if (out) *out = NULL;
    tally_status status = tally_check_pointer(out, "out");
    if (status) return TALLY_NAMED(status);
    const char *by;
    const char *selection = selection_in_force(select, &by);
    char all[160] = "";
    if (!selection) {
        /* The default names only what is built in, so that no name of it is unknown. */
        size_t used = 0;
        for (size_t i = 0; tally_backend_at(i) && used < sizeof(all); i++)
            used += (size_t)snprintf(all + used, sizeof(all) - used, "%s%s", i ? "," : "", tally_backend_at(i)->name);
        if (!used) return TALLY_NAMED(tally_fail(TALLY_E_NO_DEVICE, "this library was built without any backend"));
        selection = all;
    }
    const tally_backend *backend = NULL;
    int device = 0;
    status = tally_select(selection, by, &backend, &device);
    return TALLY_NAMED(status ? status : tally_context_open(backend, device, NULL, NULL, by, selection, out));
}

static void release(tally_context *context) {
    if (atomic_fetch_sub(&context->references, 1) != 1) return;
    if (context->keeper) {
        /* The last kept object must not close the context again. */
        atomic_store(&context->references, 1);
        context->keeper->close(context);
    }
    for (tally_program *program = context->programs, *next; program; program = next) {
        next = program->next;
        context->backend->program_close(context->device, program->handle);
        free(program);
    }
    tally_cache_close(context->cache);
    tally_tunings_free(&context->tunings);
    context->backend->device_close(context->device);
    pthread_cond_destroy(&context->program_ready);
    pthread_mutex_destroy(&context->lock);
    context->tag = 0;
    free(context);
}

void tally_context_destroy(tally_context *context) {
    if (context && context->tag == TALLY_TAG_CONTEXT) release(context);
}

tally_status tally_context_get_info(tally_context *context, tally_context_info *out) {
    tally_status status = tally_check_context(context);
    if (!status) status = tally_check_pointer(out, "out");
    if (status) return TALLY_NAMED(status);
    *out = (tally_context_info){.device = context->info};
    memcpy(out->chosen_by, context->chosen_by, sizeof(out->chosen_by));
    memcpy(out->selection, context->selection, sizeof(out->selection));
    memcpy(out->cache_dir, context->cache_dir, sizeof(out->cache_dir));
    memcpy(out->cache_note, context->cache_note, sizeof(out->cache_note));
    pthread_mutex_lock(&context->lock);
    out->programs_built = context->built;
    out->programs_prebuilt = context->prebuilt;
    out->programs_from_disk = context->from_disk;
    out->programs_from_memory = context->from_memory;
    out->cache_entries_damaged = context->damaged;
    const tally_keeper *keeper = context->keeper;
    pthread_mutex_unlock(&context->lock);
    if (keeper) keeper->count(context, out);
    return TALLY_OK;
}

/* Appends "PTX, SUBGROUPS" after `before`, or nothing if there are no features. */
static size_t add_features(char *text, size_t size, size_t used, const char *before, unsigned features) {
    for (size_t i = 0; i < TALLY_FEATURE_END && used < size; i++) {
        if (!(features & 1u << i)) continue;
        used += (size_t)snprintf(text + used, size - used, "%s%s", before, tally_features[i].name);
        before = ", ";
    }
    return used;
}

/* Writes "ORDER; not tried: SUBGROUPS". A feature is tried before the first program that uses
 * it. */
static void list_features(tally_context *context, char *text, size_t size) {
    pthread_mutex_lock(&context->lock);
    const unsigned tried = context->tried, features = context->features;
    pthread_mutex_unlock(&context->lock);
    unsigned others = 0;
    for (size_t i = 0; i < TALLY_FEATURE_END; i++)
        if (tally_features[i].classes & 1u << context->info.device_class &&
            context->backend->kernel_source(tally_features[i].stem))
            others |= 1u << i & ~tried;
    size_t used = (size_t)snprintf(text, size, "%s", features || (others && !tried) ? "" : "none");
    used = add_features(text, size, used, "", features);
    add_features(text, size, used, used ? "; not tried: " : "not tried: ", others);
}

static void describe_tunings(tally_context *context, char *text, size_t size) {
    pthread_mutex_lock(&context->lock);
    if (context->tunings.count)
        snprintf(text, size, "%zu rows before the library's own", context->tunings.count);
    else
        snprintf(text, size, "the library's own%s%s", context->tunings_note[0] ? ": " : "", context->tunings_note);
    pthread_mutex_unlock(&context->lock);
}

tally_status tally_context_describe(tally_context *context, char *text, size_t size) {
    tally_context_info info;
    tally_status status = tally_check_context(context);
    if (!status) status = tally_check_pointer(text, "text");
    if (status) return TALLY_NAMED(status);
    if (!size) return TALLY_NAMED(tally_fail(TALLY_E_ARGUMENT, "size is 0"));
    status = tally_context_get_info(context, &info);
    if (status) return TALLY_NAMED(status);
    const tally_device_info *device = &info.device;
    char features[64], tunings[192], selection[4 * sizeof(info.selection)], cache[4 * sizeof(info.cache_dir)];
    list_features(context, features, sizeof(features));
    describe_tunings(context, tunings, sizeof(tunings));
    tally_text_print(selection, sizeof(selection), info.selection);
    tally_text_print(cache, sizeof(cache), info.cache_dir[0] ? info.cache_dir : info.cache_note);
    const char *const bracket[] = {info.cache_dir[0] ? "" : "none (", info.cache_dir[0] ? "" : ")"};
    snprintf(text, size,
             "backend: %s\n"
             "device: %d, %s (%s)\n"
             "platform: %s\n"
             "driver: %s\n"
             "chosen by: %s '%s'\n"
             "compute units: %u\n"
             "memory: %.1f GiB\n"
             "host memory in place: %s\n"
             "features: %s\n"
             "cache: %s%s%s\n"
             "tunings: %s\n"
             "programs: %llu built, %llu prebuilt, %llu from disk, %llu from memory, %llu damaged entries\n"
             "host calls: %llu plans kept, %llu reused, %.1f MiB\n",
             device->backend, device->index, device->name, tally_device_class_name(device->device_class), device->platform,
             device->driver, info.chosen_by, selection, device->compute_units, (double)device->memory_bytes / (1 << 30),
             device->host_memory ? "yes" : "no", features, bracket[0], cache, bracket[1], tunings,
             (unsigned long long)info.programs_built, (unsigned long long)info.programs_prebuilt,
             (unsigned long long)info.programs_from_disk, (unsigned long long)info.programs_from_memory,
             (unsigned long long)info.cache_entries_damaged, (unsigned long long)info.host_plans_kept,
             (unsigned long long)info.host_plans_reused, (double)info.host_bytes_kept / (1 << 20));
    return TALLY_OK;
}
