/* SPDX-License-Identifier: MIT */
/* A plan's kit for parts: kernels, memory, and for host memory a feed that uses the plan. */
#include <stdlib.h>

#include "parts/parts.h"

#define GPU_THREADS 256

tally_status tally_part_check_plan(const tally_plan *base) {
    const tally_status status = tally_check_plan(base, &tally_reduce_kind);
    if (status) return status;
    const tally_variant_info *info = &((const tally_reduce_plan *)base)->launch.variant->info;
    if (info->canonical) return TALLY_OK;
    return tally_fail(TALLY_E_UNSUPPORTED, "variant %s does not combine in the canonical order: its parts have no partials",
                      info->name);
}

static void close_kit(tally_reduce_plan *plan) {
    tally_part_kit *kit = plan->kit;
    tally_feed_destroy(kit->feed);
    tally_queue_destroy(kit->queue);
    tally_buffer_destroy(kit->result);
    tally_buffer_destroy(kit->few);
    tally_buffer_destroy(kit->fold_accs);
    tally_buffer_destroy(kit->fold_nodes);
    tally_kernel_close(&plan->base, kit->fold_kernel);
    tally_kernel_close(&plan->base, kit->seal_kernel);
    tally_kernel_close(&plan->base, kit->items_kernel);
    free(kit);
    plan->kit = NULL;
}

static tally_status open_kit(tally_reduce_plan *plan) {
    if (plan->kit) return TALLY_OK;
    plan->kit = calloc(1, sizeof(*plan->kit));
    plan->close_kit = close_kit;
    return plan->kit ? TALLY_OK : tally_fail(TALLY_E_MEMORY, "out of memory");
}

/* Opens a buffer, unless there is one. */
static tally_status open_buffer(tally_reduce_plan *plan, uint64_t bytes, tally_buffer **out) {
    if (*out) return TALLY_OK;
    const tally_status status = tally_buffer_open(plan->base.context, TALLY_MEM_DEVICE, NULL, bytes, out);
    if (!status) plan->kit_bytes += bytes;
    return status;
}

/* Opens the feed, which uses the plan's workspace, unless there is one. */
static tally_status open_feed(tally_reduce_plan *plan) {
    uint32_t references;
    uint64_t bytes;
    if (plan->kit->feed) return TALLY_OK;
    const tally_status status = tally_feed_open(plan, plan->base.max_n, &plan->kit->feed);
    if (status) return status;
    tally_feed_measure(plan->kit->feed, &references, &bytes);
    plan->kit_bytes += bytes - tally_buffer_bytes(plan->workspace) - tally_buffer_bytes(plan->slices);
    return TALLY_OK;
}

tally_status tally_part_kit_device(tally_reduce_plan *plan, tally_part_kit **out) {
    const tally_device_info *device = &plan->base.context->info;
    tally_status status = open_kit(plan);
    if (status) return status;
    tally_part_kit *kit = *out = plan->kit;
    kit->threads = device->device_class == TALLY_CLASS_CPU   ? 1
                   : GPU_THREADS < device->max_group_threads ? GPU_THREADS
                                                             : device->max_group_threads;
    void *program = NULL;
    if (!kit->seal_kernel) status = tally_program_of_stem(plan->base.context, "part", kit->threads, "", &program);
    if (!status && !kit->items_kernel) status = tally_kernel_open(&plan->base, program, "tally_part_items", &kit->items_kernel);
    if (!status && !kit->seal_kernel) status = tally_kernel_open(&plan->base, program, "tally_part_seal", &kit->seal_kernel);
    return status;
}

tally_status tally_part_kit_host(tally_reduce_plan *plan, tally_part_kit **out) {
    tally_status status = open_kit(plan);
    if (status) return status;
    tally_part_kit *kit = *out = plan->kit;
    if (!kit->queue) status = tally_queue_open(plan->base.context, 0, NULL, &kit->queue);
    if (!status) status = open_buffer(plan, 3 * plan->base.terms.acc.bytes, &kit->few);
    if (!status) status = open_buffer(plan, plan->base.terms.result.bytes, &kit->result);
    return status ? status : open_feed(plan);
}

/* Opens a buffer of at least `bytes` bytes in the place of a smaller one. */
static tally_status grow_buffer(tally_reduce_plan *plan, uint64_t bytes, tally_buffer **out) {
    if (tally_buffer_bytes(*out) >= bytes) return TALLY_OK;
    plan->kit_bytes -= tally_buffer_bytes(*out);
    tally_buffer_destroy(*out);
    *out = NULL;
    return open_buffer(plan, bytes, out);
}

tally_recipe tally_fold_recipe(const tally_recipe *own, uint32_t group_threads) {
    tally_recipe recipe = {.variant = own->variant, .group_threads = group_threads, .overlaps = true, .parts = own};
    tally_recipe_define(&recipe, "MOST_NODES", TALLY_PART_MOST_NODES);
    tally_recipe_define(&recipe, "REFUSED", TALLY_E_ARGUMENT);
    tally_recipe_define(&recipe, "NO_STATUS", TALLY_STATUS_END);
    tally_recipe_add(&recipe, "fold");
    return recipe;
}

/* Opens the kernel of the stem "fold" for `count` packets, unless there is one. */
static tally_status open_fold(tally_reduce_plan *plan, tally_part_kit *kit, uint64_t count) {
    const tally_device_info *device = &plan->base.context->info;
    const tally_recipe own = tally_launch_recipe(&plan->launch);
    const bool alone = device->device_class == TALLY_CLASS_CPU && plan->launch.group_threads == 1;
    const uint32_t wanted = alone ? 1 : count > TALLY_FOLD_THREADS ? TALLY_FOLD_MANY_THREADS : TALLY_FOLD_THREADS;
    const uint32_t threads = wanted < device->max_group_threads ? wanted : device->max_group_threads;
    if (threads <= kit->fold_threads) return TALLY_OK;
    const tally_recipe recipe = tally_fold_recipe(&own, threads);
    void *program = NULL, *kernel = NULL;
    tally_status status = tally_program_get(plan->base.context, &plan->base.terms, &recipe, &program);
    if (!status) status = tally_kernel_open(&plan->base, program, "tally_fold", &kernel);
    if (status) return status;
    tally_kernel_close(&plan->base, kit->fold_kernel);
    kit->fold_kernel = kernel;
    kit->fold_threads = threads;
    return TALLY_OK;
}

tally_status tally_part_kit_fold(tally_reduce_plan *plan, uint64_t count, tally_part_kit **out) {
    const uint64_t nodes = count * TALLY_PART_MOST_NODES;
    tally_status status = open_kit(plan);
    if (status) return status;
    tally_part_kit *kit = *out = plan->kit;
    status = open_fold(plan, kit, count);
    if (!status) status = grow_buffer(plan, nodes * TALLY_FOLD_NODE_BYTES, &kit->fold_nodes);
    return status ? status : grow_buffer(plan, nodes * plan->base.terms.acc.bytes, &kit->fold_accs);
}
