/* SPDX-License-Identifier: MIT */
/* Plans of segments: the descriptor, the workspace, and creation. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "segments/segments.h"

/* ---- the descriptor -------------------------------------------------------------------------- */

tally_status tally_segments_copy_desc(const tally_segments_desc *given, tally_segments_desc *desc) {
    tally_status status = tally_check_pointer(given, "desc");
    if (status) return status;
    if (given->size < offsetof(tally_segments_desc, out) || given->size > sizeof(*given))
        return tally_fail(TALLY_E_ARGUMENT, "desc.size is %zu: sizeof(tally_segments_desc) is %zu", given->size,
                          sizeof(*given));
    *desc = (tally_segments_desc){0};
    memcpy(desc, given, given->size);
    return TALLY_OK;
}

static bool has_values(const tally_segments_desc *desc) {
    return desc->op || desc->custom || desc->term_count || desc->by != TALLY_BY_KEYS;
}

static tally_status check_desc(tally_segments_desc *desc) {
    const bool by_axes = desc->by == TALLY_BY_AXES, by_keys = desc->by == TALLY_BY_KEYS;
    const uint32_t known = TALLY_WHERE | TALLY_APART | (by_axes ? 0u : (uint32_t)TALLY_UNCHECKED);
    if (!by_axes && !by_keys && desc->by != TALLY_BY_OFFSETS)
        return tally_fail(TALLY_E_ARGUMENT, "desc.by is %d: no such way", (int)desc->by);
    if (desc->flags & ~known)
        return tally_fail(TALLY_E_ARGUMENT,
                          "desc.flags is %#x: there are TALLY_WHERE, TALLY_APART and, by offsets or keys, "
                          "TALLY_UNCHECKED",
                          desc->flags);
    if (desc->offsets && desc->by != TALLY_BY_OFFSETS)
        return tally_fail(TALLY_E_ARGUMENT, "desc.offsets is for segments by offsets");
    if (desc->max_length && by_axes)
        return tally_fail(TALLY_E_ARGUMENT, "desc.max_length is for segments by offsets and by keys");
    if (desc->key_bytes && !by_keys) return tally_fail(TALLY_E_ARGUMENT, "desc.key_bytes is for segments by keys");
    if (by_keys && (desc->key_bytes < 1 || desc->key_bytes > TALLY_MAX_KEY_BYTES))
        return tally_fail(TALLY_E_ARGUMENT, "desc.key_bytes is %u: 1 to %d", desc->key_bytes, TALLY_MAX_KEY_BYTES);
    if (!desc->offsets) desc->offsets = TALLY_U64;
    if (desc->offsets != TALLY_I32 && desc->offsets != TALLY_U32 && desc->offsets != TALLY_I64 && desc->offsets != TALLY_U64)
        return tally_fail(TALLY_E_ARGUMENT, "desc.offsets is %s: it must be i32, u32, i64 or u64",
                          tally_dtype_find(desc->offsets) ? tally_dtype_name(desc->offsets) : "no dtype");
    if (!has_values(desc) && (desc->flags & (TALLY_WHERE | TALLY_APART) || desc->initial))
        return tally_fail(TALLY_E_ARGUMENT, "desc.op is 0: runs without values have no mask, no outputs and no initial value");
    return TALLY_OK;
}

static tally_status check_initial(const tally_terms *terms, const void *initial) {
    for (uint32_t t = 0; t < terms->count; t++)
        if (!terms->list[t].initial)
            return tally_fail(TALLY_E_UNSUPPORTED,
                              "desc.initial: %s of %s takes none, as its accumulator is not made of its result",
                              terms->list[t].name, tally_dtype_name(terms->in));
    return tally_terms_check_initial(terms, initial);
}

const tally_segments_variant tally_segments_variants[TALLY_SEGMENTS_VARIANTS] = {
    {"teams", "segment_teams", true},
    {"blocks", "cpu_segments", false},
};

static tally_status find_variant(const tally_context *context, const char *name, const tally_segments_variant **out) {
    *out = NULL;
    if (!name || !strcmp(name, "auto")) name = context->info.device_class == TALLY_CLASS_CPU ? "blocks" : "teams";
    for (size_t i = 0; i < TALLY_SEGMENTS_VARIANTS; i++)
        if (!strcmp(name, tally_segments_variants[i].name)) *out = &tally_segments_variants[i];
    if (!*out) return tally_fail(TALLY_E_ARGUMENT, "unknown variant '%s' of segments: there are teams, blocks", name);
    if (!(*out)->has_teams && context->info.device_class == TALLY_CLASS_GPU)
        return tally_fail(TALLY_E_UNSUPPORTED, "variant %s: one thread has arrays of its own: it is made for CPUs", name);
    if (tally_kernel_text(context->backend, (*out)->stem)) return TALLY_OK;
    return tally_fail(TALLY_E_UNSUPPORTED, "variant %s: backend %s has no kernels '%s'", name, context->backend->name,
                      (*out)->stem);
}

/* ---- the plan -------------------------------------------------------------------------------- */

static const char *variant_name(const tally_plan *base) {
    return ((const tally_segments_plan *)base)->variant->name;
}

static uint64_t depth(const tally_plan *base, uint64_t n) {
    (void)base;
    uint64_t levels = 0;
    while (tally_ceil_div(n, TALLY_CHUNK_ITEMS) > UINT64_C(1) << levels) levels++;
    return TALLY_ROWS + 7 + levels;
}

static uint64_t workspace_bytes(const tally_plan *base) {
    const tally_segments_plan *p = (const tally_segments_plan *)base;
    const tally_buffer *const buffers[] = {p->partials, p->counts, p->slices,      p->slice_counts, p->work,     p->bad,
                                           p->begins,   p->tiles,  p->kept.begins, p->kept.ends,    p->kept.work};
    uint64_t bytes = p->whole ? tally_reduce_kind.workspace_bytes(&p->whole->base) : 0;
    for (size_t i = 0; i < TALLY_ARRAY_LENGTH(buffers); i++) bytes += tally_buffer_bytes(buffers[i]);
    return bytes;
}

static void close_plan(tally_plan *base) {
    tally_segments_plan *p = (tally_segments_plan *)base;
    tally_buffer *const buffers[] = {p->partials, p->counts, p->slices, p->slice_counts, p->work,
                                     p->bad,      p->found,  p->begins, p->tiles};
    for (size_t i = 0; i < TALLY_ARRAY_LENGTH(p->kernels); i++) tally_kernel_close(base, p->kernels[i]);
    for (size_t i = 0; i < TALLY_ARRAY_LENGTH(buffers); i++) tally_buffer_destroy(buffers[i]);
    tally_kept_offsets_close(&p->kept);
    if (p->whole) tally_plan_destroy(&p->whole->base);
    free(p->initial);
}

const tally_plan_kind tally_segments_kind = {"segments", variant_name, depth, workspace_bytes, close_plan};

/* ---- the workspace --------------------------------------------------------------------------- */

/* Upper limit on the partials of a launch. A power of two, so that as many chunks are a subtree.
 * Fewer would cut arrays of more than 2^30 items between neighbouring columns. */
#define MOST_PARTIALS (UINT64_C(1) << 20)
/* Upper limit on the chunks of a work list. Segments that overlap could need any number. */
#define MOST_LISTED (UINT64_C(1) << 22)

/* Segments longer than a chunk have fewer than two chunks for each chunk's worth of items. */
static uint64_t capacity_of(const tally_segments_plan *plan, uint64_t max_length) {
    const uint64_t wanted = 2 * tally_ceil_div(plan->base.max_n, TALLY_CHUNK_ITEMS);
    uint64_t capacity = 1;
    if (plan->by != TALLY_BY_AXES && max_length && max_length <= TALLY_CHUNK_ITEMS) return 0;
    if (plan->by != TALLY_BY_AXES) return wanted < MOST_LISTED ? wanted : MOST_LISTED;
    while (capacity < wanted && capacity < MOST_PARTIALS) capacity *= 2;
    return capacity;
}

uint64_t tally_keys_run(const tally_segments_plan *plan) {
    return plan->group_threads > 1 ? 32 : 65536;
}

tally_status tally_segments_open_buffer(const tally_segments_plan *plan, uint64_t bytes, tally_buffer **out) {
    return tally_buffer_open(plan->base.context, TALLY_MEM_DEVICE, NULL, bytes ? bytes : 8, out);
}

/* Upper limit on the segments that one launch counts the groups of. */
#define MOST_COUNTERS 8192

/* Opens the counters of segments that several groups share. Each has more than a group's run of
 * chunks. */
static tally_status open_counters(tally_segments_plan *plan) {
    uint64_t counters = plan->base.max_n / ((uint64_t)plan->group_threads / TALLY_LANES * TALLY_CHUNK_ITEMS);
    if (counters > plan->max_segments) counters = plan->max_segments;
    if (counters > MOST_COUNTERS) counters = MOST_COUNTERS;
    if (!counters || !(plan->base.context->features & 1u << TALLY_FEATURE_ORDER)) return TALLY_OK;
    const tally_status status = tally_segments_open_buffer(plan, counters * sizeof(uint32_t), &plan->work);
    return status ? status : tally_buffer_clear(plan->work, counters * sizeof(uint32_t));
}

static tally_status open_partials(tally_segments_plan *plan) {
    const uint64_t acc = plan->base.terms.acc.bytes;
    const bool by_axes = plan->by == TALLY_BY_AXES, counts = plan->flags & TALLY_WHERE;
    const uint64_t chunks = tally_ceil_div(plan->base.max_n, TALLY_CHUNK_ITEMS);
    /* Slices are of one long segment, or of the runs of partials that a fold of several takes. */
    const uint64_t slices = by_axes ? tally_ceil_div(chunks, plan->capacity) + 1 + plan->capacity / 512 : 0;
    tally_status status = tally_segments_open_buffer(plan, plan->capacity * acc, &plan->partials);
    if (!status && counts) status = tally_segments_open_buffer(plan, plan->capacity * 8, &plan->counts);
    if (!status && by_axes) status = tally_segments_open_buffer(plan, slices * acc, &plan->slices);
    if (!status && by_axes && counts) status = tally_segments_open_buffer(plan, slices * 8, &plan->slice_counts);
    if (!status && !by_axes) status = tally_segments_open_buffer(plan, TALLY_LIST_BYTES(plan->capacity), &plan->work);
    if (!status && tally_segments_take_long(plan)) status = open_counters(plan);
    return status;
}

static tally_status open_memory(tally_segments_plan *plan) {
    tally_status status = plan->base.terms.count ? open_partials(plan) : TALLY_OK;
    const bool is_checked = !(plan->flags & TALLY_UNCHECKED);
    if (plan->by == TALLY_BY_KEYS) {
        const uint64_t tile = tally_keys_run(plan) * plan->group_threads, tiles = tally_ceil_div(plan->base.max_n, tile);
        const uint64_t bits = plan->group_threads > 1 ? tiles * tile / 8 : 0;
        if (!status) status = tally_segments_open_buffer(plan, plan->offset_bytes * (plan->max_segments + 1), &plan->begins);
        if (!status) status = tally_segments_open_buffer(plan, 8 * (tiles + 1) + 4 * tiles + bits, &plan->tiles);
    }
    if (plan->by == TALLY_BY_OFFSETS && is_checked && !status)
        status = tally_segments_open_buffer(plan, 8 * TALLY_CHECK_GROUPS, &plan->bad);
    if (plan->by != TALLY_BY_AXES && is_checked && !status)
        status = tally_buffer_open(plan->base.context, TALLY_MEM_STAGING, NULL, 8 * TALLY_CHECK_GROUPS, &plan->found);
    return status;
}

/* ---- creation -------------------------------------------------------------------------------- */

static tally_status resolve(const tally_context *context, tally_segments_desc *desc, tally_terms *terms) {
    const tally_terms_desc what = {
        .in = desc->in,
        .single = {.op = desc->op, .out = desc->out, .acc = desc->acc, .accuracy = desc->accuracy, .custom = desc->custom},
        .list = desc->terms,
        .count = desc->term_count};
    if (!has_values(desc)) return TALLY_OK;
    tally_status status = tally_terms_resolve(&what, terms);
    if (status) return status;
    status = tally_terms_check(terms, &context->info);
    if (!status && desc->initial) status = check_initial(terms, desc->initial);
    if (status) tally_terms_close(terms);
    return status;
}

/* Chooses the largest sizes where the descriptor has none. */
static tally_status choose_sizes(const tally_context *context, tally_segments_desc *desc) {
    const uint64_t bytes = has_values(desc) ? tally_dtype_bytes(desc->in) : desc->key_bytes;
    const bool is_sized = desc->max_n, is_given = desc->max_segments;
    if (!is_sized) desc->max_n = context->info.memory_bytes / bytes;
    if (desc->max_n > UINT64_MAX / 16) return tally_fail(TALLY_E_ARGUMENT, "desc.max_n is beyond any memory");
    if (desc->max_segments > UINT64_MAX / 16) return tally_fail(TALLY_E_ARGUMENT, "desc.max_segments is beyond any memory");
    if (!desc->max_segments) desc->max_segments = desc->max_n;
    /* A plan for any number of runs leaves room for the keys and the values. Its list of runs, 8
     * bytes each and one more, is one buffer. */
    if (!is_sized && !is_given && desc->by == TALLY_BY_KEYS) {
        const uint64_t eighth = context->info.memory_bytes / 8, buffer = context->info.max_buffer_bytes;
        const uint64_t words = (eighth < buffer ? eighth : buffer) / 8, listed = words ? words - 1 : 0, some = desc->max_n / 16;
        desc->max_segments = listed < some ? listed : some;
    }
    return TALLY_OK;
}

/* Copies what the plan keeps of a descriptor. */
static tally_status keep(tally_segments_plan *plan, const tally_segments_desc *desc) {
    const tally_terms *terms = &plan->base.terms;
    const bool apart = desc->flags & TALLY_APART;
    tally_segments_choose_form(plan, desc);
    plan->last_offset = desc->offsets == TALLY_I32 ? INT32_MAX : UINT64_MAX;
    plan->has_signed_offsets = desc->offsets == TALLY_I32 || desc->offsets == TALLY_I64;
    plan->max_segments = desc->max_segments;
    plan->outs = terms->count && !apart ? 1 : terms->count;
    for (uint32_t t = 0; t < plan->outs; t++) plan->out[t] = apart ? terms->list[t].result : terms->result;
    plan->capacity = capacity_of(plan, desc->max_length);
    if (!terms->count) return TALLY_OK;
    plan->initial = calloc(1, terms->result.bytes);
    if (!plan->initial) return tally_fail(TALLY_E_MEMORY, "out of memory");
    if (desc->initial) memcpy(plan->initial, desc->initial, terms->result.bytes);
    return TALLY_OK;
}

static tally_status create(tally_context *context, const tally_segments_desc *given, tally_plan **out) {
    tally_segments_desc desc;
    tally_terms terms = {.count = 0};
    tally_plan *base = NULL;
    const tally_segments_variant *variant;
    tally_status status = tally_segments_copy_desc(given, &desc);
    if (!status) status = check_desc(&desc);
    if (!status) status = tally_context_probe(context, 0);
    if (!status) status = find_variant(context, desc.variant, &variant);
    if (!status) status = resolve(context, &desc, &terms);
    if (status) return status;
    status = choose_sizes(context, &desc);
    if (status) return tally_terms_close(&terms), status;
    status = tally_plan_open(context, &tally_segments_kind, sizeof(tally_segments_plan), terms.count ? &terms : NULL,
                             desc.max_n, &base);
    if (status) return status;
    tally_segments_plan *plan = (tally_segments_plan *)base;
    plan->variant = variant;
    status = keep(plan, &desc);
    if (!status) status = tally_segments_choose_group(plan);
    if (!status) status = tally_segments_open_programs(plan, &desc);
    if (!status) status = open_memory(plan);
    if (!status) status = tally_segments_open_whole(plan, &desc);
    return tally_plan_give(base, status, out);
}

tally_status tally_segments_plan_create(tally_context *context, const tally_segments_desc *desc, tally_plan **out) {
    if (out) *out = NULL;
    tally_status status = tally_check_context(context);
    if (!status) status = tally_check_pointer(out, "out");
    return TALLY_NAMED(status ? status : create(context, desc, out));
}
