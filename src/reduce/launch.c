/* SPDX-License-Identifier: MIT */
/* The launch of a reduction: its variant, the threads of its groups, its tuning and its
 * program's recipe. */
#include <string.h>

#include "reduce/reduce.h"

#define MAX_FACTOR 65536
/* Most bytes of lane accumulators that a thread may hold in groups above 256 threads; more would
 * spill. i8 nrm2 (384 bytes), 4 GiB on an H200, November 2026: 4.8 ms in groups of 256, 14.5 ms in
 * groups of 512. */
#define MAX_LANES_BYTES 192
#define DEFAULT_LOADS 8

/* ---- the group ------------------------------------------------------------------------------- */

/* Returns the local memory of a group. Each thread of group_tree exchanges one lane at a time, or
 * four small ones (kernels_cl/group_tree.cl). */
static uint64_t local_bytes(const tally_terms *terms, const tally_launch *launch) {
    if (launch->variant->shape != TALLY_SHAPE_CHUNKS)
        return (uint64_t)(launch->group_threads / 32) * launch->variant->local_accumulators * terms->acc.bytes;
    const bool small = (uint64_t)terms->acc.bytes * launch->group_threads <= 8192 && tally_dtype_bytes(terms->in) <= 4;
    return (uint64_t)launch->group_threads * (small ? 4 : 1) * terms->acc.bytes;
}

tally_status tally_launch_check(const tally_device_info *device, const tally_terms *terms, const tally_launch *launch) {
    const tally_variant *variant = launch->variant;
    const char *name = variant->info.name;
    const uint32_t group_threads = launch->group_threads, acc_bytes = terms->acc.bytes;
    if (group_threads < variant->min_group_threads || group_threads > variant->max_group_threads ||
        (group_threads & (group_threads - 1)))
        return tally_fail(TALLY_E_ARGUMENT, "variant %s: group_threads %u: a power of two from %u to %u", name, group_threads,
                          variant->min_group_threads, variant->max_group_threads);
    if (!(variant->classes & (1u << device->device_class)))
        return tally_fail(TALLY_E_UNSUPPORTED, "variant %s is not for devices of class %s", name,
                          tally_device_class_name(device->device_class));
    const tally_status status = tally_terms_check(terms, device);
    if (status) return status;
    if (variant->stage == TALLY_STAGE_ATOMIC) {
        if (acc_bytes != 4 && acc_bytes != 8)
            return tally_fail(TALLY_E_UNSUPPORTED, "variant %s: no atomic is as wide as an accumulator of %u bytes", name,
                              acc_bytes);
        if (acc_bytes == 8 && !device->has_atomic64)
            return tally_fail(TALLY_E_UNSUPPORTED, "variant %s: %s has no 64-bit atomics", name, device->name);
    }
    if (variant->stage == TALLY_STAGE_HOST && !tally_host_can_combine(terms))
        return tally_fail(TALLY_E_UNSUPPORTED, "variant %s: %s op is not compiled for the host", name,
                          tally_terms_are_custom(terms) ? "a custom" : "the");
    if (group_threads > device->max_group_threads)
        return tally_fail(TALLY_E_UNSUPPORTED, "variant %s: groups of %u threads: %s has at most %u", name, group_threads,
                          device->name, device->max_group_threads);
    const uint64_t local = local_bytes(terms, launch);
    if (local > device->local_bytes)
        return tally_fail(TALLY_E_UNSUPPORTED, "variant %s: groups of %u threads need %llu bytes of local memory: %s has %llu",
                          name, group_threads, (unsigned long long)local, device->name,
                          (unsigned long long)device->local_bytes);
    return TALLY_OK;
}

uint32_t tally_chunk_team(size_t item_bytes) {
    const size_t team = TALLY_LANES * item_bytes / 16;
    return team < 32 ? (uint32_t)team : 32;
}

static bool is_group(const tally_variant *variant, uint32_t threads) {
    return threads >= variant->min_group_threads && threads <= variant->max_group_threads && !(threads & (threads - 1));
}

/* Returns the threads of a group when the descriptor does not say. It is the tuning's number, or
 * less where a thread's lanes would spill (backends/cuda/kernels/group_tree.cu); without one, the
 * variant's. */
static uint32_t tuned_group(const tally_terms *terms, const tally_launch *launch) {
    const tally_variant *variant = launch->variant;
    const uint32_t lanes_bytes = TALLY_LANES / tally_chunk_team(tally_dtype_bytes(terms->in)) * terms->acc.bytes;
    uint32_t tuned = variant->shape == TALLY_SHAPE_CHUNKS ? launch->tuning.group_threads : 0;
    if (tuned > 256 && lanes_bytes > MAX_LANES_BYTES) tuned = 256;
    return tuned && is_group(variant, tuned) ? tuned : variant->info.group_threads;
}

/* Chooses the threads of a group. Where the accumulators of tuned_group() do not fit the local
 * memory, it takes the largest group that does. */
static tally_status choose_group(const tally_device_info *device, const tally_reduce_desc *desc, const tally_terms *terms,
                                 tally_launch *launch) {
    const uint32_t own = tuned_group(terms, launch);
    launch->group_threads = desc->group_threads ? desc->group_threads : own;
    tally_status status = tally_launch_check(device, terms, launch);
    while (status == TALLY_E_UNSUPPORTED && !desc->group_threads &&
           launch->group_threads / 2 >= launch->variant->min_group_threads) {
        launch->group_threads /= 2;
        status = tally_launch_check(device, terms, launch);
    }
    if (!status || desc->group_threads) return status;
    launch->group_threads = own;
    return tally_launch_check(device, terms, launch);
}

/* ---- the descriptor -------------------------------------------------------------------------- */

tally_status tally_reduce_desc_copy(const tally_reduce_desc *given, tally_reduce_desc *desc) {
    if (!given) return tally_fail(TALLY_E_ARGUMENT, "desc is NULL");
    if (given->size < offsetof(tally_reduce_desc, out) || given->size > sizeof(*given))
        return tally_fail(TALLY_E_ARGUMENT, "desc.size is %zu: sizeof(tally_reduce_desc) is %zu", given->size, sizeof(*given));
    *desc = (tally_reduce_desc){0};
    memcpy(desc, given, given->size);
    return TALLY_OK;
}

static tally_status resolve_variant(const tally_device_info *device, tally_reduce_desc *desc, tally_launch *launch) {
    const tally_status status = tally_variant_find(desc->variant, device, &launch->variant);
    if (status) return status;
    const tally_variant_info *info = &launch->variant->info;
    if (desc->factor && !info->factor)
        return tally_fail(TALLY_E_ARGUMENT, "desc.factor is %u: variant %s has no factor", desc->factor, info->name);
    if (desc->factor > MAX_FACTOR)
        return tally_fail(TALLY_E_ARGUMENT, "desc.factor is %u: at most %d", desc->factor, MAX_FACTOR);
    launch->factor = desc->factor ? desc->factor : info->factor;
    if (!desc->max_n) desc->max_n = device->memory_bytes / tally_dtype_bytes(desc->in);
    if (desc->max_n > UINT64_MAX / 16) return tally_fail(TALLY_E_ARGUMENT, "desc.max_n is beyond any memory");
    return TALLY_OK;
}

static const char *tuning_ops(const tally_terms *terms) {
    return terms->inputs > 1 ? "pair" : terms->acc.bytes > 8 ? "struct" : "sum";
}

tally_status tally_reduce_resolve(const tally_device_info *device, const tally_tunings *tunings, tally_reduce_desc *desc,
                                  tally_terms *terms, tally_launch *launch) {
    const tally_terms_desc what = {
        .in = desc->in,
        .single = {.op = desc->op, .out = desc->out, .acc = desc->acc, .accuracy = desc->accuracy, .custom = desc->custom},
        .list = desc->terms,
        .count = desc->term_count};
    *launch = (tally_launch){0};
    tally_status status = tally_terms_resolve(&what, terms);
    if (status) return status;
    status = resolve_variant(device, desc, launch);
    if (!status) {
        const uint64_t item_bytes = tally_dtype_bytes(terms->in);
        const char *op = terms->count == 1 ? tally_op_name(terms->list[0].op) : NULL;
        const tally_tuning_query query = {.ops = tuning_ops(terms),
                                          .op = op ? op : "",
                                          .item_bytes = item_bytes,
                                          .bytes = desc->max_n * item_bytes,
                                          .runs = launch->variant->shape == TALLY_SHAPE_RUN};
        const bool tuned = query.runs || launch->variant->shape == TALLY_SHAPE_CHUNKS;
        if (tuned) launch->tuning = tally_tuning_find(tunings, device, &query);
        if (!launch->tuning.loads) launch->tuning.loads = DEFAULT_LOADS;
        status = choose_group(device, desc, terms, launch);
    }
    if (status) tally_terms_close(terms);
    return status;
}

/* ---- the program ----------------------------------------------------------------------------- */

/* Begins a recipe: what both kernels of a reduction need. */
static tally_recipe begin_recipe(const tally_launch *launch) {
    return (tally_recipe){.variant = launch->variant->info.name,
                          .group_threads = launch->group_threads,
                          .features = launch->variant->features,
                          .overlaps = launch->variant->overlaps};
}

static void add_trees(tally_recipe *recipe) {
    tally_recipe_add(recipe, "outcome");
    tally_recipe_add(recipe, "warp_tree");
    tally_recipe_add(recipe, "finish");
}

tally_recipe tally_launch_recipe(const tally_launch *launch) {
    const tally_variant *variant = launch->variant;
    tally_recipe recipe = begin_recipe(launch);
    recipe.has_teams = variant->shape == TALLY_SHAPE_CHUNKS;
    recipe.guesses = variant->shape == TALLY_SHAPE_RUN;
    tally_recipe_define(&recipe, "FACTOR", launch->factor);
    if (variant->shape == TALLY_SHAPE_CHUNKS) {
        tally_recipe_define(&recipe, "FLIGHT_LOADS", launch->tuning.loads);
        tally_recipe_define(&recipe, "TREE_MANY", TALLY_TREE_MANY);
        tally_recipe_define(&recipe, "TREE_BLOCK", TALLY_TREE_BLOCK);
    }
    if (variant->stage == TALLY_STAGE_ATOMIC) tally_recipe_define(&recipe, "ATOMIC_STAGE", 1);
    tally_recipe_define(&recipe, "ALONE", TALLY_LAST_ALONE);
    tally_recipe_define(&recipe, "TOGETHER", TALLY_LAST_TOGETHER);
    add_trees(&recipe);
    if (variant->ladder) tally_recipe_add(&recipe, "ladder");
    if (recipe.has_teams) tally_recipe_add(&recipe, "team_rows");
    tally_recipe_add(&recipe, variant->info.stem);
    return recipe;
}

tally_recipe tally_finish_recipe(const tally_launch *launch) {
    tally_recipe recipe = begin_recipe(launch);
    tally_recipe_define(&recipe, "FINISHES", 1);
    add_trees(&recipe);
    return recipe;
}
