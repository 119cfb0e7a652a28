/* SPDX-License-Identifier: MIT */
/* Programs. A program is found in the context's memory, among the prebuilt ones or in the cache
 * on disk, or it is compiled. */
#include <stdlib.h>
#include <string.h>

#include "program/program.h"

/* Creates the program of `source` in another form; `data`: its bytes, NULL for the source's own. */
static tally_status create(const tally_context *context, tally_program_form form, const tally_program_desc *source, void *data,
                           size_t bytes, void **handle) {
    tally_program_desc desc = *source;
    desc.form = form;
    if (data) {
        desc.data = data;
        desc.bytes = bytes;
    }
    return context->backend->program_create(context->device, &desc, handle);
}

/* Finds a program that was compiled with the library. NULL: there is none, or the driver is too
 * old for it. */
static void *find_prebuilt(const tally_context *context, const tally_program_desc *source) {
    void *handle = NULL;
    return create(context, TALLY_PROGRAM_PREBUILT, source, NULL, 0, &handle) ? NULL : handle;
}

tally_status tally_program_make(const tally_context *context, const tally_program_desc *source, void **out) {
    *out = find_prebuilt(context, source);
    return *out ? TALLY_OK : create(context, TALLY_PROGRAM_SOURCE, source, NULL, 0, out);
}

/* Loads a program from the disk; NULL if there is none. Drops an entry that fails its check or that
 * the driver refuses. The caller holds the lock. */
static void *load(tally_context *context, tally_key key, const tally_program_desc *source) {
    size_t bytes = 0;
    bool damaged = false;
    void *handle = NULL;
    void *data = tally_cache_load(context->cache, key, &bytes, &damaged);
    if (data && create(context, TALLY_PROGRAM_BINARY, source, data, bytes, &handle)) {
        tally_cache_drop(context->cache, key);
        damaged = true;
        handle = NULL;
    }
    free(data);
    context->damaged += damaged;
    context->from_disk += handle != NULL;
    return handle;
}

static tally_status build(tally_context *context, tally_key key, const tally_program_desc *source, void **handle) {
    const tally_backend *backend = context->backend;
    const tally_status status = create(context, TALLY_PROGRAM_SOURCE, source, NULL, 0, handle);
    if (status) return status;
    context->built++;
    void *binary = NULL;
    size_t binary_bytes = 0;
    /* A driver may refuse to give its binary. That costs time later, not the result. */
    if (context->cache && !backend->program_binary(context->device, *handle, &binary, &binary_bytes)) {
        tally_cache_store(context->cache, key, binary, binary_bytes);
        free(binary);
    }
    return TALLY_OK;
}

/* Finds a program in memory. Otherwise takes a prebuilt one, loads one or builds one, and keeps
 * it. The caller holds the lock. */
static tally_status find(tally_context *context, const tally_program_desc *source, void **out) {
    const tally_key key = tally_cache_key(&context->info, source->data, source->bytes);
    tally_program *program = context->programs;
    while (program && (program->key.low != key.low || program->key.high != key.high)) program = program->next;
    if (program) {
        context->from_memory++;
        return *out = program->handle, TALLY_OK;
    }
    program = calloc(1, sizeof(*program));
    if (!program) return tally_fail(TALLY_E_MEMORY, "out of memory");
    program->key = key;
    program->handle = find_prebuilt(context, source);
    context->prebuilt += program->handle != NULL;
    if (!program->handle) program->handle = load(context, key, source);
    if (!program->handle) {
        const tally_status status = build(context, key, source, &program->handle);
        if (status) return free(program), status;
    }
    program->next = context->programs;
    context->programs = program;
    *out = program->handle;
    return TALLY_OK;
}

/* Tests the device before anything is compiled for it, and finds its features. The caller holds the
 * lock. */
static tally_status probe_once(tally_context *context) {
    if (context->probed) return TALLY_OK;
    const tally_status status = tally_probe(context);
    if (!status) tally_find_features(context);
    context->probed = !status;
    return status;
}

tally_status tally_context_probe(tally_context *context) {
    pthread_mutex_lock(&context->lock);
    const tally_status status = probe_once(context);
    pthread_mutex_unlock(&context->lock);
    return status;
}

/* The lock is held during the compilation, so that two threads that want one program share it. */
tally_status tally_program_get(tally_context *context, const tally_terms *terms, const tally_recipe *recipe, void **out) {
    char *source = NULL;
    size_t bytes = 0;
    pthread_mutex_lock(&context->lock);
    tally_status status = probe_once(context);
    if (!status) status = tally_source_create(context->backend, context->features, terms, recipe, &source, &bytes);
    const unsigned used = context->features & recipe->features;
    const tally_program_desc desc = {.form = TALLY_PROGRAM_SOURCE,
                                     .data = source,
                                     .bytes = bytes,
                                     .sub_groups = (used >> TALLY_FEATURE_SUBGROUPS) & 1,
                                     .overlaps = recipe->overlaps};
    if (!status) status = find(context, &desc, out);
    pthread_mutex_unlock(&context->lock);
    free(source);
    return status;
}

tally_status tally_program_of_stem(tally_context *context, const char *stem, uint32_t group_threads, const char *defines,
                                   void **out) {
    char *source;
    tally_status status = tally_source_of_stem(context->backend, stem, group_threads, defines, &source);
    if (status) return status;
    pthread_mutex_lock(&context->lock);
    status = probe_once(context);
    if (!status)
        status =
            find(context, &(tally_program_desc){.form = TALLY_PROGRAM_SOURCE, .data = source, .bytes = strlen(source)}, out);
    pthread_mutex_unlock(&context->lock);
    free(source);
    return status;
}
