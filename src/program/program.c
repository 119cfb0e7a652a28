/* SPDX-License-Identifier: MIT */
/* Programs. A program is found in the context's memory, among the prebuilt ones or in the cache
 * on disk, or it is compiled. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/pool.h"
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

void *tally_program_prebuilt(const tally_context *context, const tally_program_desc *source) {
    void *handle = NULL;
    return create(context, TALLY_PROGRAM_PREBUILT, source, NULL, 0, &handle) ? NULL : handle;
}

tally_status tally_program_make(const tally_context *context, const tally_program_desc *source, void **out) {
    *out = tally_program_prebuilt(context, source);
    return *out ? TALLY_OK : create(context, TALLY_PROGRAM_SOURCE, source, NULL, 0, out);
}

/* How a program was come by, for the context's counters. */
typedef struct origin {
    bool prebuilt, from_disk, built, damaged;
} origin;

/* Loads a program from the disk; NULL if there is none. Drops an entry that fails its check or that
 * the driver refuses. */
static void *load(const tally_context *context, tally_key key, const tally_program_desc *source, origin *by) {
    size_t bytes = 0;
    void *handle = NULL;
    void *data = tally_cache_load(context->cache, key, &bytes, &by->damaged);
    if (data && create(context, TALLY_PROGRAM_BINARY, source, data, bytes, &handle)) {
        tally_cache_drop(context->cache, key);
        by->damaged = true;
        handle = NULL;
    }
    free(data);
    by->from_disk = handle != NULL;
    return handle;
}

static tally_status build(const tally_context *context, tally_key key, const tally_program_desc *source, void **handle) {
    const tally_backend *backend = context->backend;
    const tally_status status = create(context, TALLY_PROGRAM_SOURCE, source, NULL, 0, handle);
    if (status) return status;
    void *binary = NULL;
    size_t bytes = 0;
    /* A driver may refuse to give its binary. That costs time later, not the result. */
    if (!context->cache || backend->program_binary(context->device, *handle, &binary, &bytes)) return TALLY_OK;
    tally_cache_store(context->cache, key, binary, bytes);
    free(binary);
    return TALLY_OK;
}

/* Takes a prebuilt program, loads one or builds one. The caller does not hold the lock, so that
 * threads that want other programs are not kept waiting. */
static tally_status come_by(const tally_context *context, tally_key key, const tally_program_desc *source, void **handle,
                            origin *by) {
    *handle = tally_program_prebuilt(context, source);
    by->prebuilt = *handle != NULL;
    if (!*handle) *handle = load(context, key, source, by);
    if (*handle) return TALLY_OK;
    const tally_status status = build(context, key, source, handle);
    by->built = !status;
    return status;
}

/* Returns the place of the link to the program with this key, or of the last link, which is
 * NULL. */
static tally_program **place_of(tally_context *context, tally_key key) {
    tally_program **at = &context->programs;
    while (*at && ((*at)->key.low != key.low || (*at)->key.high != key.high)) at = &(*at)->next;
    return at;
}

/* Makes a program that the context does not have and keeps it. The caller holds the lock, which is
 * free meanwhile. */
static tally_status add(tally_context *context, tally_key key, const tally_program_desc *source, void **out) {
    origin by = {0};
    tally_program *program = calloc(1, sizeof(*program));
    if (!program) return tally_fail(TALLY_E_MEMORY, "out of memory");
    *program = (tally_program){.next = context->programs, .key = key, .in_work = true};
    context->programs = program;
    pthread_mutex_unlock(&context->lock);
    const tally_status status = come_by(context, key, source, out, &by);
    pthread_mutex_lock(&context->lock);
    context->prebuilt += by.prebuilt;
    context->from_disk += by.from_disk;
    context->built += by.built;
    context->damaged += by.damaged;
    program->handle = *out;
    program->in_work = false;
    if (status) {
        *place_of(context, key) = program->next;
        free(program);
    }
    pthread_cond_broadcast(&context->program_ready);
    return status;
}

/* Finds a program in memory, or makes it. Waits while another thread makes the same one; if that
 * fails, this thread tries too, and has the error's text. The caller holds the lock. */
static tally_status find(tally_context *context, const tally_program_desc *source, void **out) {
    const tally_key key = tally_cache_key(&context->info, source->data, source->bytes);
    const tally_program *program;
    while ((program = *place_of(context, key)) && program->in_work) pthread_cond_wait(&context->program_ready, &context->lock);
    if (!program) return add(context, key, source, out);
    context->from_memory++;
    *out = program->handle;
    return TALLY_OK;
}

/* See tally_context_probe. The caller holds the lock. */
static tally_status probe(tally_context *context, unsigned features) {
    const tally_status status = context->probed ? TALLY_OK : tally_probe(context, features);
    context->probed = !status;
    return status ? status : tally_try_features(context, features);
}

tally_status tally_context_probe(tally_context *context, unsigned features) {
    pthread_mutex_lock(&context->lock);
    const tally_status status = probe(context, features);
    pthread_mutex_unlock(&context->lock);
    return status;
}

/* ---- programs of several ops ----------------------------------------------------------------- */

/* Makes the text that term t would have alone. */
static tally_status make_part(const tally_context *context, const tally_terms *terms, uint32_t t, const tally_recipe *recipe,
                              tally_program_part *part) {
    const tally_term *term = &terms->list[t];
    char *text = NULL;
    tally_term alone = *term;
    alone.acc_offset = 0;
    const tally_terms one = {.in = terms->in,
                             .inputs = term->op ? tally_op_inputs(term->op) : terms->inputs,
                             .count = 1,
                             .list = &alone,
                             .acc = term->acc,
                             .result = term->result,
                             .param = term->param};
    const tally_recipe *own = recipe->parts ? recipe->parts : recipe;
    const tally_status status = tally_source_create(context->backend, context->features, &one, own, &text, &part->bytes);
    part->text = text;
    return status;
}

/* Makes the parts of a program of several terms, and describes them in `desc`. The caller frees
 * their texts, on failure too. */
static tally_status make_parts(const tally_context *context, const tally_terms *terms, const tally_recipe *recipe,
                               tally_program_part *parts, tally_program_desc *desc) {
    tally_layout result = {0, 0}, param = {0, 0};
    tally_status status = TALLY_OK;
    for (uint32_t t = 0; t < terms->count && !status; t++) {
        parts[t].acc_offset = terms->list[t].acc_offset;
        parts[t].result_offset = tally_layout_append(&result, terms->list[t].result);
        parts[t].param_offset = tally_layout_append(&param, terms->list[t].param);
        status = make_part(context, terms, t, recipe, &parts[t]);
    }
    desc->parts = parts;
    desc->part_count = terms->count;
    desc->acc_bytes = terms->acc.bytes;
    desc->result_bytes = terms->result.bytes;
    return status;
}

tally_status tally_program_get(tally_context *context, const tally_terms *terms, const tally_recipe *recipe, void **out) {
    char *source = NULL;
    size_t bytes = 0;
    pthread_mutex_lock(&context->lock);
    tally_status status = probe(context, recipe->features | (recipe->parts ? recipe->parts->features : 0));
    if (!status) status = tally_source_create(context->backend, context->features, terms, recipe, &source, &bytes);
    const unsigned used = context->features & recipe->features;
    tally_program_part parts[TALLY_MAX_TERMS] = {{NULL}};
    tally_program_desc desc = {.form = TALLY_PROGRAM_SOURCE,
                               .data = source,
                               .bytes = bytes,
                               .sub_groups = (used >> TALLY_FEATURE_SUBGROUPS) & 1,
                               .overlaps = recipe->overlaps,
                               .segments = recipe->segments};
    if (!status && (terms->count > 1 || recipe->parts)) status = make_parts(context, terms, recipe, parts, &desc);
    if (!status) status = find(context, &desc, out);
    pthread_mutex_unlock(&context->lock);
    for (uint32_t t = 0; t < TALLY_MAX_TERMS; t++) free((char *)(uintptr_t)parts[t].text);
    free(source);
    return status;
}

/* ---- several programs ------------------------------------------------------------------------ */

typedef struct several {
    tally_context *context;
    const tally_terms *terms;
    tally_program_slot *slots;
} several;

static void get_one(void *job, uint64_t i, uint32_t worker) {
    const several *s = job;
    tally_program_slot *slot = &s->slots[i];
    (void)worker;
    slot->status = tally_program_get(s->context, s->terms, &slot->recipe, &slot->program);
    if (slot->status) snprintf(slot->error, sizeof(slot->error), "%s", tally_last_error()); /* the text is the thread's */
}

tally_status tally_programs_get(tally_context *context, const tally_terms *terms, tally_program_slot *slots, uint32_t count) {
    several job = {context, terms, slots};
    uint32_t threads;
    if (tally_pool_threads(&threads)) threads = 1; /* a wrong TALLY_THREADS is the backend host's to report */
    tally_pool_run(threads, count, get_one, &job);
    for (uint32_t i = 0; i < count; i++)
        if (slots[i].status) return tally_fail(slots[i].status, "%s", slots[i].error);
    return TALLY_OK;
}

tally_status tally_program_of_stem(tally_context *context, const char *stem, uint32_t group_threads, const char *defines,
                                   void **out) {
    char *source;
    tally_status status = tally_source_of_stem(context->backend, stem, group_threads, defines, &source);
    if (status) return status;
    pthread_mutex_lock(&context->lock);
    status = probe(context, 0);
    if (!status)
        status =
            find(context, &(tally_program_desc){.form = TALLY_PROGRAM_SOURCE, .data = source, .bytes = strlen(source)}, out);
    pthread_mutex_unlock(&context->lock);
    free(source);
    return status;
}
