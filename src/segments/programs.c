/* SPDX-License-Identifier: MIT */
/* Programs of plans of segments: their texts, and which of their kernels a plan has. */
#include <stdio.h>
#include <stdlib.h>

#include "reduce/reduce.h"
#include "segments/segments.h"

/* ---- what they depend on --------------------------------------------------------------------- */

void tally_segments_choose_form(tally_segments_plan *plan, const tally_segments_desc *desc) {
    plan->by = desc->by;
    plan->flags = desc->flags;
    plan->key_bytes = desc->key_bytes;
    plan->offset_bytes = (uint32_t)tally_dtype_bytes(desc->offsets);
    /* Runs of keys begin at offsets of the plan's own: on GPUs narrow ones where they fit. */
    if (desc->by == TALLY_BY_KEYS) plan->offset_bytes = plan->variant->has_teams && desc->max_n <= UINT32_MAX ? 4 : 8;
    plan->form = (tally_segment_form){.offset_bytes = desc->by == TALLY_BY_AXES ? 0 : plan->offset_bytes,
                                      .has_number = desc->by == TALLY_BY_KEYS,
                                      .has_where = (desc->flags & TALLY_WHERE) != 0,
                                      .has_initial = desc->initial != NULL,
                                      .apart = (desc->flags & TALLY_APART) != 0,
                                      .axes = TALLY_SHAPE_AXES,
                                      .inputs = plan->base.terms.inputs};
}

#define MOST_GROUP_THREADS 256
#define MOST_LOCAL_BYTES 16384
#define LEAST_GROUP_THREADS 32

tally_status tally_segments_choose_group(tally_segments_plan *plan) {
    const tally_device_info *info = &plan->base.context->info;
    const uint64_t bytes = 2 * (uint64_t)plan->base.terms.acc.bytes + 48;
    const uint64_t local = info->local_bytes < MOST_LOCAL_BYTES ? info->local_bytes : MOST_LOCAL_BYTES;
    plan->group_threads = 1;
    if (!plan->variant->has_teams) return TALLY_OK;
    plan->group_threads = MOST_GROUP_THREADS;
    while (plan->group_threads > LEAST_GROUP_THREADS &&
           (plan->group_threads > info->max_group_threads || plan->group_threads * bytes > local))
        plan->group_threads /= 2;
    if (plan->group_threads <= info->max_group_threads && plan->group_threads * bytes <= info->local_bytes) return TALLY_OK;
    return tally_fail(TALLY_E_UNSUPPORTED,
                      "variant %s: groups of %u threads with %llu bytes of local memory are too large for %s",
                      plan->variant->name, plan->group_threads, (unsigned long long)(plan->group_threads * bytes), info->name);
}

/* ---- texts ----------------------------------------------------------------------------------- */

static const struct {
    const char *entry;
    unsigned programs; /* a bit */
    unsigned when;
} kernel_rows[] = {
#define ROW(member, entry, program, when) {entry, 1u << TALLY_SEGMENT_IN_##program, when},
    TALLY_SEGMENT_KERNELS(ROW)
#undef ROW
};

/* Opens the kernels of a program, those for one of the bits of `when`. */
static tally_status open_kernels(tally_segments_plan *plan, void *program, unsigned programs, unsigned when) {
    tally_status status = TALLY_OK;
    for (size_t i = 0; i < TALLY_SEGMENT_KERNEL_END && !status; i++)
        if (kernel_rows[i].programs & programs && kernel_rows[i].when & when)
            status = tally_kernel_open(&plan->base, program, kernel_rows[i].entry, &plan->kernels[i]);
    return status;
}

/* Makes the recipe of the ops' plain reductions. A backend may put the program together from it. */
static tally_status parts_recipe(const tally_segments_plan *plan, const tally_segments_desc *given, tally_recipe *recipe) {
    tally_reduce_desc desc = tally_segments_whole_desc(given);
    tally_terms terms;
    tally_launch launch;
    const tally_status status = tally_reduce_resolve(&plan->base.context->info, NULL, &desc, &terms, &launch);
    if (status) return status;
    tally_terms_close(&terms);
    *recipe = tally_launch_recipe(&launch);
    return TALLY_OK;
}

static void define_programs(tally_recipe *recipe, unsigned programs) {
#define DEFINE(name)                                                                                                           \
    if (programs & 1u << TALLY_SEGMENT_IN_##name) tally_recipe_define(recipe, "HAS_" #name, 1);
    TALLY_SEGMENT_PROGRAMS(DEFINE)
#undef DEFINE
}

tally_recipe tally_segments_recipe(const tally_segments_variant *variant, uint32_t group_threads,
                                   const tally_segment_form *form, unsigned programs) {
    const unsigned columns = 1u << TALLY_SEGMENT_IN_COLUMNS | 1u << TALLY_SEGMENT_IN_LOW, tiles = 1u << TALLY_SEGMENT_IN_TILES;
    const bool has_teams = variant->has_teams, by_axes = has_teams && !form->offset_bytes, plain = by_axes && !form->has_where;
    tally_recipe recipe = {
        .variant = variant->name, .group_threads = group_threads, .features = 1u << TALLY_FEATURE_PTX, .segments = form};
    tally_recipe_define(&recipe, "ALONE", TALLY_LAST_ALONE);
    tally_recipe_define(&recipe, "TOGETHER", TALLY_LAST_TOGETHER);
    tally_recipe_add(&recipe, "outcome");
    tally_recipe_add(&recipe, "warp_tree");
    tally_recipe_add(&recipe, "finish");
    if (!has_teams) {
        recipe.has_arrays = true; /* for functions that are inlined in loops */
        recipe.guesses = true;
        tally_recipe_define(&recipe, "ACCS", 1);
        tally_recipe_add(&recipe, "cpu_chunks");
    }
    tally_recipe_add(&recipe, "segments");
    if (!has_teams) {
        tally_recipe_add(&recipe, "cpu_segment_rows");
        tally_recipe_add(&recipe, "cpu_segment_blocks");
        tally_recipe_add(&recipe, "cpu_segment_flat");
    } else {
        tally_recipe_add(&recipe, "segment_exchange");
        tally_recipe_add(&recipe, "segment_pivots");
    }
    tally_recipe_add(&recipe, variant->stem);
    if (has_teams && form->offset_bytes) {
        recipe.features |= 1u << TALLY_FEATURE_BULK; /* OpenCL's compiler then takes the copies of segment_stage */
        tally_recipe_define(&recipe, "BATCH_BYTES", TALLY_BATCH_BYTES(group_threads));
        tally_recipe_define(&recipe, "LEAST_BATCH", TALLY_LEAST_BATCH);
        tally_recipe_add(&recipe, "segment_work");
        tally_recipe_add(&recipe, "staging");
        tally_recipe_add(&recipe, "segment_tile");
        tally_recipe_add(&recipe, "segment_batch");
        tally_recipe_add(&recipe, "segment_stage");
    }
    if (by_axes) {
        recipe.overlaps = true;
        define_programs(&recipe, programs);
        tally_recipe_add(&recipe, "segment_quads");
        tally_recipe_add(&recipe, "segment_arrays");
    }
    if (plain) recipe.features |= 1u << TALLY_FEATURE_ORDER;
    if (plain && programs & columns) {
        tally_recipe_define(&recipe, "FLAT_BYTES", TALLY_FLAT_BYTES);
        tally_recipe_add(&recipe, "segment_columns");
        tally_recipe_add(&recipe, "segment_flat");
    }
    if (by_axes && programs & tiles) {
        recipe.features |= 1u << TALLY_FEATURE_BULK;
        tally_recipe_define(&recipe, "DENSE_BYTES", TALLY_DENSE_BYTES);
        tally_recipe_add(&recipe, "segment_long");
        tally_recipe_add(&recipe, "staging");
        tally_recipe_add(&recipe, "segment_tile");
        tally_recipe_add(&recipe, "segment_dense");
    }
    return recipe;
}

uint64_t tally_segments_flight(const tally_terms *terms) {
    const uint64_t bytes = terms->inputs * tally_dtype_bytes(terms->in);
    return bytes <= 4 ? 4 : bytes <= 8 ? 2 : 1;
}

bool tally_segments_take_pivot(const tally_segments_plan *plan) {
    const tally_terms *terms = &plan->base.terms;
    for (uint32_t t = 0; t < terms->count; t++)
        if (terms->list[t].lane.pivot.load) return true;
    return false;
}

bool tally_segments_are_plain(const tally_segments_plan *plan) {
    return !tally_segments_take_pivot(plan) && !(plan->flags & TALLY_WHERE);
}

bool tally_segments_take_long(const tally_segments_plan *plan) {
    return plan->by == TALLY_BY_AXES && plan->variant->has_teams && plan->group_threads >= TALLY_LANES &&
           plan->base.max_n > TALLY_CHUNK_ITEMS && tally_segments_are_plain(plan);
}

/* Tells whether warps stage rows. Plain rows of items of 8 bytes reach memory speed without: `sum`
 * of rows of 4, 32 and 1,000 f64 (H200, December 2026). */
static bool takes_dense(const tally_segments_plan *plan) {
    const tally_context *context = plan->base.context;
    const unsigned features = 1u << TALLY_FEATURE_PTX | 1u << TALLY_FEATURE_BULK;
    if (plan->base.terms.inputs > 1 || tally_lacking_feature(context, features) != TALLY_FEATURE_END) return false;
    return tally_dtype_bytes(plan->base.terms.in) <= 4 || !tally_segments_are_plain(plan);
}

/* Returns when the plan has kernels of its ops: bits TALLY_SEGMENT_. */
static unsigned when_by_ops(const tally_segments_plan *plan) {
    const tally_context *context = plan->base.context;
    const tally_terms *terms = &plan->base.terms;
    const uint64_t flight = tally_segments_flight(terms);
    unsigned when = TALLY_SEGMENT_BY_AXES;
    const bool shuffles =
        plan->variant->has_teams && tally_lacking_feature(context, 1u << TALLY_FEATURE_PTX) == TALLY_FEATURE_END;
    if (plan->by == TALLY_BY_OFFSETS && shuffles) return TALLY_SEGMENT_BY_RUNS | TALLY_SEGMENT_ALONE;
    if (plan->by != TALLY_BY_AXES) return TALLY_SEGMENT_BY_RUNS;
    if (!plan->variant->has_teams) return when;
    if (takes_dense(plan)) when |= TALLY_SEGMENT_TILES;
    if (!tally_segments_are_plain(plan)) return when | TALLY_SEGMENT_NOT_PLAIN;
    when |= TALLY_SEGMENT_PLAIN;
    if (flight >= 2) when |= TALLY_SEGMENT_ROWS_2;
    if (flight >= 4) when |= TALLY_SEGMENT_ROWS_4;
    if (tally_segments_take_long(plan)) when |= TALLY_SEGMENT_LONG;
    if (!shuffles) return when;
    when |= TALLY_SEGMENT_SHUFFLES;
    if (flight >= 2) when |= TALLY_SEGMENT_SHUFFLES_2;
    return terms->inputs > 1 ? when : when | TALLY_SEGMENT_FLAT;
}

tally_status tally_segments_choose_programs(const tally_segments_plan *plan, tally_program_slot **out, uint32_t *count) {
    const tally_context *context = plan->base.context;
    const bool apart = plan->by == TALLY_BY_AXES && context->info.device_class == TALLY_CLASS_GPU;
    const unsigned when = when_by_ops(plan);
    unsigned needed = 0;
    *count = 0;
    *out = calloc(TALLY_SEGMENT_PROGRAM_END, sizeof(**out));
    if (!*out) return tally_fail(TALLY_E_MEMORY, "out of memory");
    for (size_t i = 0; i < TALLY_SEGMENT_KERNEL_END; i++)
        if (kernel_rows[i].when & when) needed |= kernel_rows[i].programs;
    for (unsigned left = apart ? needed : TALLY_SEGMENT_ALL_PROGRAMS; left;) {
        const unsigned programs = apart ? left & (0 - left) : left;
        tally_program_slot *slot = &(*out)[(*count)++];
        slot->recipe = tally_segments_recipe(plan->variant, plan->group_threads, &plan->form, programs);
        slot->kernels = programs;
        left &= ~programs;
    }
    return TALLY_OK;
}

/* Opens the programs of the plan's ops and their kernels. */
static tally_status open_programs(tally_segments_plan *plan, const tally_segments_desc *desc) {
    const tally_recipe all = tally_segments_recipe(plan->variant, plan->group_threads, &plan->form, TALLY_SEGMENT_ALL_PROGRAMS);
    tally_program_slot *slots = NULL;
    tally_recipe parts;
    uint32_t count = 0;
    tally_status status = tally_context_probe(plan->base.context, all.features);
    if (!status) status = tally_segments_choose_programs(plan, &slots, &count);
    if (!status && !plan->variant->has_teams) {
        status = parts_recipe(plan, desc, &parts);
        slots[0].recipe.parts = &parts;
    }
    if (!status) status = tally_programs_get(plan->base.context, &plan->base.terms, slots, count);
    for (uint32_t i = 0; i < count && !status; i++)
        status = open_kernels(plan, slots[i].program, slots[i].kernels, when_by_ops(plan));
    free(slots);
    return status;
}

static tally_status open_stem(tally_segments_plan *plan, const char *stem, const char *defines, unsigned when) {
    void *program = NULL;
    const tally_status status = tally_program_of_stem(plan->base.context, stem, plan->group_threads, defines, &program);
    return status ? status : open_kernels(plan, program, TALLY_SEGMENT_ALL_PROGRAMS, when);
}

tally_segments_defines tally_segments_offset_defines(uint32_t bytes) {
    tally_segments_defines defines;
    snprintf(defines.text, sizeof(defines.text), "#define OFFSET_BITS %u\n", 8 * bytes);
    return defines;
}

tally_segments_defines tally_segments_key_defines(uint32_t bytes, uint32_t begin_bytes, bool shuffles) {
    tally_segments_defines defines;
    uint32_t word = 8;
    while (bytes % word) word /= 2;
    snprintf(defines.text, sizeof(defines.text),
             "#define KEY_BYTES %u\n#define WORD_BYTES %u\n#define BEGIN u%u\n#define EACH %d\n%s", bytes, word,
             8 * begin_bytes, TALLY_PLACED_TILES, shuffles ? "#define SHUFFLES 1\n" : "");
    return defines;
}

/* Opens the programs that know no op: the check of offsets, and the runs of keys. */
static tally_status open_stems(tally_segments_plan *plan) {
    const bool shuffles = plan->variant->has_teams && plan->base.context->features & 1u << TALLY_FEATURE_PTX;
    const tally_segments_defines defines = plan->by == TALLY_BY_KEYS
                                               ? tally_segments_key_defines(plan->key_bytes, plan->offset_bytes, shuffles)
                                               : tally_segments_offset_defines(plan->offset_bytes);
    if (plan->by == TALLY_BY_KEYS) return open_stem(plan, "keys", defines.text, TALLY_SEGMENT_KEYS);
    if (plan->by != TALLY_BY_OFFSETS || plan->flags & TALLY_UNCHECKED) return TALLY_OK;
    return open_stem(plan, "offsets", defines.text, TALLY_SEGMENT_CHECK);
}

tally_status tally_segments_open_programs(tally_segments_plan *plan, const tally_segments_desc *desc) {
    const tally_status status = plan->base.terms.count ? open_programs(plan, desc) : TALLY_OK;
    return status ? status : open_stems(plan);
}
