/* SPDX-License-Identifier: MIT */
/* The planner of reductions: geometry and workspace of the launches. The launches are in
 * reduce.c. */
#include <stdlib.h>

#include "reduce/reduce.h"

/* Threads of a fixed grid for each unit. The largest multiprocessors (an H200's, say) hold as many
 * at once; smaller ones take them in turns. */
#define GRID_THREADS_PER_UNIT 2048

static uint64_t grid_groups(const tally_reduce_plan *plan) {
    return tally_ceil_div((uint64_t)GRID_THREADS_PER_UNIT * plan->base.context->info.compute_units, plan->launch.group_threads);
}

/* Returns the items of a group's tile (TALLY_SHAPE_TILE). */
static uint64_t tile_items(const tally_reduce_plan *plan) {
    const uint64_t factor = plan->launch.factor ? plan->launch.factor : 1;
    return factor * plan->launch.variant->thread_items * plan->launch.group_threads;
}

/* Upper limit on the bytes of partials that a canonical variant holds at once. */
#define MOST_PARTIALS_BYTES (UINT64_C(2) << 20)

/* Returns the most groups that take runs. */
static uint64_t run_groups(const tally_reduce_plan *plan) {
    const uint64_t tuned = plan->launch.tuning.unit_groups, most = MOST_PARTIALS_BYTES / plan->base.terms.acc.bytes;
    const uint64_t groups = (tuned ? tuned : 1) * plan->base.context->info.compute_units;
    return groups < most ? groups : most;
}

/* Returns the items of a slice; 0 without slices. Slices keep the partials of wide accumulators
 * within 4 MiB + max_n / 512 bytes. */
static uint64_t slice_items(const tally_reduce_plan *plan) {
    const uint64_t acc_bytes = plan->base.terms.acc.bytes, groups = tally_reduce_geometry(plan, plan->base.max_n).groups;
    uint64_t most = 1;
    if (plan->launch.variant->shape != TALLY_SHAPE_CHUNKS || groups * acc_bytes <= MOST_PARTIALS_BYTES + plan->base.max_n / 512)
        return 0;
    while (2 * most * acc_bytes <= MOST_PARTIALS_BYTES) most *= 2;
    return most * plan->run * TALLY_CHUNK_ITEMS;
}

tally_geometry tally_reduce_geometry(const tally_reduce_plan *plan, uint64_t n) {
    const uint64_t chunks = tally_ceil_div(n, TALLY_CHUNK_ITEMS);
    uint64_t groups = 0, run = plan->run;
    switch (plan->launch.variant->shape) {
    case TALLY_SHAPE_TILE:
        groups = tally_ceil_div(n, tile_items(plan));
        break;
    case TALLY_SHAPE_GRID: {
        const uint64_t most = grid_groups(plan), wanted = tally_ceil_div(n, plan->launch.group_threads);
        groups = wanted < most ? wanted : most;
        break;
    }
    case TALLY_SHAPE_CHUNKS:
        groups = tally_ceil_div(chunks, run);
        break;
    case TALLY_SHAPE_RUN:
        for (run = 1; run < plan->launch.tuning.least_run || tally_ceil_div(chunks, run) > run_groups(plan);) run *= 2;
        groups = tally_ceil_div(chunks, run);
        break;
    }
    return (tally_geometry){.groups = groups ? groups : 1, .run = run};
}

/* Returns the accumulators of workspace that suffice for any n up to max_n. */
static uint64_t workspace_items(const tally_reduce_plan *plan) {
    const uint64_t groups = tally_reduce_geometry(plan, plan->slice ? plan->slice : plan->base.max_n).groups;
    switch (plan->launch.variant->stage) {
    case TALLY_STAGE_ATOMIC:
        return 1;
    case TALLY_STAGE_SCRATCH:
        return groups + groups * tile_items(plan);
    default:
        break;
    }
    /* The number of run groups does not grow evenly with n, so the upper limit counts. */
    return (plan->launch.variant->shape == TALLY_SHAPE_RUN && groups > 1 ? run_groups(plan) : groups) + plan->counter_slots;
}

static uint64_t log2_ceil(uint64_t n) {
    uint64_t k = 0;
    while (k < 64 && (UINT64_C(1) << k) < n) k++;
    return k;
}

static uint64_t depth(const tally_plan *base, uint64_t n) {
    const tally_reduce_plan *plan = (const tally_reduce_plan *)base;
    const tally_variant *variant = plan->launch.variant;
    if (variant->info.canonical) return TALLY_ROWS + log2_ceil(TALLY_LANES) + log2_ceil(tally_ceil_div(n, TALLY_CHUNK_ITEMS));
    const uint64_t groups = tally_reduce_geometry(plan, n).groups;
    /* Without local memory every item is an atomic on one word. Otherwise a group makes an atomic
     * for each of its items, or combines some in sequence and then in a tree. */
    if (variant->stage == TALLY_STAGE_ATOMIC && !variant->local_accumulators) return n;
    const uint64_t items = variant->shape == TALLY_SHAPE_GRID ? tally_ceil_div(n, groups) : tile_items(plan);
    const bool tree = variant->local_accumulators == 32 || variant->stage == TALLY_STAGE_SCRATCH;
    /* Items that a thread combines in sequence. In a grid, vectors and the ends of a misaligned
     * input add some. */
    const uint64_t ends = variant->shape == TALLY_SHAPE_GRID ? 16 / tally_dtype_bytes(plan->base.terms.in) + 2 : 0;
    const uint64_t sequence = tally_ceil_div(items, plan->launch.group_threads) + ends;
    const uint64_t within = tree ? sequence + log2_ceil(plan->launch.group_threads) : items;
    const uint64_t across =
        variant->stage == TALLY_STAGE_ATOMIC || variant->stage == TALLY_STAGE_HOST ? groups : log2_ceil(groups);
    return within + across;
}

/* ---- the plan -------------------------------------------------------------------------------- */

static const char *variant_name(const tally_plan *base) {
    return ((const tally_reduce_plan *)base)->launch.variant->info.name;
}

static uint64_t held_bytes(const tally_plan *base) {
    const tally_reduce_plan *plan = (const tally_reduce_plan *)base;
    return tally_buffer_bytes(plan->workspace) + tally_buffer_bytes(plan->slices) + plan->kit_bytes;
}

static void close_plan(tally_plan *base) {
    tally_reduce_plan *plan = (tally_reduce_plan *)base;
    if (plan->kit) plan->close_kit(plan);
    tally_buffer_destroy(plan->workspace);
    tally_buffer_destroy(plan->slices);
    free(plan->host);
    tally_kernel_close(base, plan->init_kernel);
    tally_kernel_close(base, plan->finish_kernel);
    tally_kernel_close(base, plan->partials_kernel);
}

const tally_plan_kind tally_reduce_kind = {"a reduction", variant_name, depth, held_bytes, close_plan};

static tally_status open_kernels(tally_reduce_plan *plan) {
    const tally_recipe recipe = tally_launch_recipe(&plan->launch);
    const bool by_atomics = plan->launch.variant->stage == TALLY_STAGE_ATOMIC;
    void *program = NULL;
    tally_status status = tally_program_get(plan->base.context, &plan->base.terms, &recipe, &program);
    if (!status) status = tally_kernel_open(&plan->base, program, "tally_partials", &plan->partials_kernel);
    if (!status && by_atomics) status = tally_kernel_open(&plan->base, program, "tally_init", &plan->init_kernel);
    return status;
}

tally_status tally_reduce_open_finish(tally_reduce_plan *plan) {
    if (plan->finish_kernel) return TALLY_OK;
    const tally_recipe recipe = tally_finish_recipe(&plan->launch);
    void *program = NULL;
    const tally_status status = tally_program_get(plan->base.context, &plan->base.terms, &recipe, &program);
    return status ? status : tally_kernel_open(&plan->base, program, "tally_finish", &plan->finish_kernel);
}

/* Tells whether calls of the plan launch tally_finish, which then must not wait for a compiler. */
static bool finishes(const tally_reduce_plan *plan) {
    switch (plan->launch.variant->stage) {
    case TALLY_STAGE_SECOND:
        return !plan->counter_slots && tally_reduce_geometry(plan, plan->base.max_n).groups > 1;
    case TALLY_STAGE_SCRATCH:
        return !plan->counter_slots;
    default:
        return true;
    }
}

static uint64_t workspace_bytes(const tally_reduce_plan *plan) {
    const uint64_t items = workspace_items(plan), acc_bytes = plan->base.terms.acc.bytes;
    return items > UINT64_MAX / acc_bytes ? UINT64_MAX : items * acc_bytes;
}

static uint64_t slices_bytes(const tally_reduce_plan *plan) {
    return plan->slice ? tally_ceil_div(plan->base.max_n, plan->slice) * plan->base.terms.acc.bytes : 0;
}

/* Returns the slots that hold the counters of a launch's groups: of all, and of each block. */
static uint64_t counter_slots(const tally_reduce_plan *plan, uint64_t groups) {
    const uint64_t acc_bytes = plan->base.terms.acc.bytes;
    const bool by_blocks = plan->launch.variant->shape == TALLY_SHAPE_CHUNKS && acc_bytes > 8 && groups > TALLY_TREE_MANY;
    const uint64_t counters = 1 + (by_blocks ? tally_ceil_div(groups, TALLY_TREE_BLOCK) : 0);
    return tally_ceil_div(counters * sizeof(uint32_t), acc_bytes);
}

/* Makes the plan one for up to n items. */
static void set_max_n(tally_plan *base, uint64_t n) {
    tally_reduce_plan *plan = (tally_reduce_plan *)base;
    const tally_context *context = base->context;
    base->max_n = n;
    plan->slice = slice_items(plan);
    /* The last group finishes if memory is ordered between groups. Not with one group, which
     * writes the result itself; not with slices, which would overwrite the counters. */
    const bool together = (plan->launch.variant->together & 1u << context->info.device_class) &&
                          (context->features & 1u << TALLY_FEATURE_ORDER) && !plan->slice;
    const uint64_t groups = tally_reduce_geometry(plan, n).groups;
    plan->counter_slots = together && groups > 1 ? counter_slots(plan, groups) : 0;
}

/* Tells whether the memory holds one input, the workspace and the slices, and one buffer the
 * workspace. */
static bool fits_memory(const tally_plan *base) {
    const tally_reduce_plan *plan = (const tally_reduce_plan *)base;
    const tally_device_info *info = &base->context->info;
    const uint64_t items = base->max_n * tally_dtype_bytes(base->terms.in), workspace = workspace_bytes(plan);
    if (items > info->memory_bytes || workspace > info->max_buffer_bytes) return false;
    return workspace <= info->memory_bytes - items && slices_bytes(plan) <= info->memory_bytes - items - workspace;
}

static tally_status open_memory(tally_reduce_plan *plan) {
    tally_context *context = plan->base.context;
    const uint64_t bytes = workspace_bytes(plan), of_slices = slices_bytes(plan);
    tally_status status = tally_buffer_open(context, TALLY_MEM_DEVICE, NULL, bytes, &plan->workspace);
    if (!status && of_slices) status = tally_buffer_open(context, TALLY_MEM_DEVICE, NULL, of_slices, &plan->slices);
    const uint64_t counter_bytes = plan->counter_slots * plan->base.terms.acc.bytes;
    if (!status && counter_bytes) status = tally_buffer_clear(plan->workspace, counter_bytes);
    if (!status && plan->launch.variant->stage == TALLY_STAGE_HOST && !(plan->host = malloc(bytes)))
        status = tally_fail(TALLY_E_MEMORY, "out of memory");
    return status;
}

tally_status tally_reduce_plan_create(tally_context *context, const tally_reduce_desc *given, tally_plan **out) {
    tally_reduce_desc desc;
    tally_terms terms;
    tally_launch launch;
    tally_plan *base = NULL;
    *out = NULL;
    tally_status status = tally_reduce_desc_copy(given, &desc);
    if (status) return status;
    pthread_mutex_lock(&context->lock);
    status = tally_reduce_resolve(&context->info, &context->tunings, &desc, &terms, &launch);
    pthread_mutex_unlock(&context->lock);
    if (status) return status;
    status = tally_plan_open(context, &tally_reduce_kind, sizeof(tally_reduce_plan), &terms, desc.max_n, &base);
    if (status) return status;
    tally_reduce_plan *plan = (tally_reduce_plan *)base;
    plan->launch = launch;
    if (launch.variant->shape == TALLY_SHAPE_CHUNKS)
        plan->run = launch.group_threads / tally_chunk_team(tally_dtype_bytes(desc.in));
    status = open_kernels(plan);
    if (given->size > offsetof(tally_reduce_desc, max_n) && given->max_n)
        set_max_n(base, desc.max_n);
    else
        tally_plan_fit(base, desc.max_n, set_max_n, fits_memory);
    if (!status && finishes(plan)) status = tally_reduce_open_finish(plan);
    if (!status) status = open_memory(plan);
    return tally_plan_give(base, status, out);
}

tally_status tally_plan_create(tally_context *context, const tally_reduce_desc *desc, tally_plan **out) {
    if (out) *out = NULL;
    tally_status status = tally_check_context(context);
    if (!status) status = tally_check_pointer(out, "out");
    if (!status) status = tally_reduce_plan_create(context, desc, out);
    return TALLY_NAMED(status);
}
