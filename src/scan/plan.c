/* SPDX-License-Identifier: MIT */
/* Plans of scans: the descriptor, the programs and the workspace. The launches are in scan.c. */
#include <string.h>

#include "scan/scan.h"

#define UNIT_INTERVAL_GROUPS 8

/* ---- geometry -------------------------------------------------------------------------------- */

tally_scan_geometry tally_scan_plan_geometry(const tally_scan_plan *plan, uint64_t n) {
    const tally_scan_variant *variant = plan->launch.variant;
    const uint64_t units = plan->base.context->info.compute_units, tiles = tally_ceil_div(n, TALLY_TILE_ITEMS);
    if (variant->intervals) {
        const uint64_t warps = UNIT_INTERVAL_GROUPS * units * (plan->launch.group_threads / TALLY_SCAN_WIDTH);
        const uint64_t run = tally_ceil_div(tally_ceil_div(n, warps), TALLY_SCAN_WIDTH) * TALLY_SCAN_WIDTH;
        return (tally_scan_geometry){.groups = tally_ceil_div(n, run * (plan->launch.group_threads / TALLY_SCAN_WIDTH)),
                                     .run = run};
    }
    return (tally_scan_geometry){.groups = tally_ceil_div(tiles, plan->launch.tiles), .run = 1};
}

static uint64_t depth(const tally_plan *base, uint64_t n) {
    const tally_scan_plan *plan = (const tally_scan_plan *)base;
    const uint64_t levels = 3 * 5;
    if (!plan->launch.variant->intervals) return TALLY_CELL_ITEMS - 1 + levels + 4 + tally_ceil_div(n, TALLY_SCAN_BLOCK);
    const tally_scan_geometry geometry = tally_scan_plan_geometry(plan, n ? n : 1);
    return tally_ceil_div(geometry.run, TALLY_SCAN_WIDTH) + tally_ceil_div(tally_ceil_div(n, geometry.run), TALLY_SCAN_WIDTH) +
           levels;
}

/* ---- the descriptor -------------------------------------------------------------------------- */

static tally_status copy_desc(const tally_scan_desc *given, tally_scan_desc *desc) {
    tally_status status = tally_check_pointer(given, "desc");
    if (status) return status;
    if (given->size < offsetof(tally_scan_desc, out) || given->size > sizeof(*given))
        return tally_fail(TALLY_E_ARGUMENT, "desc.size is %zu: sizeof(tally_scan_desc) is %zu", given->size, sizeof(*given));
    *desc = (tally_scan_desc){0};
    memcpy(desc, given, given->size);
    if (desc->flags & ~(uint32_t)(TALLY_EXCLUSIVE | TALLY_REVERSE | TALLY_ALONG_AXIS))
        return tally_fail(TALLY_E_ARGUMENT, "desc.flags is %#x: there are TALLY_EXCLUSIVE, TALLY_REVERSE and TALLY_ALONG_AXIS",
                          desc->flags);
    if ((unsigned)desc->segments > TALLY_SEGMENTS_OFFSETS)
        return tally_fail(TALLY_E_ARGUMENT, "desc.segments is %d: no such way", (int)desc->segments);
    if (desc->initial && !(desc->flags & TALLY_EXCLUSIVE))
        return tally_fail(TALLY_E_ARGUMENT, "desc.initial is for exclusive scans");
    return TALLY_OK;
}

static tally_status check(const tally_scan_desc *desc, const tally_terms *terms) {
    if (terms->inputs > 1)
        return tally_fail(TALLY_E_UNSUPPORTED, "%s has %u inputs: a scan has one", terms->list[0].name, terms->inputs);
    if (desc->initial && terms->list[0].is_index)
        return tally_fail(TALLY_E_UNSUPPORTED, "desc.initial: %s gives an index, and an initial item has none",
                          terms->list[0].name);
    if (desc->flags & TALLY_ALONG_AXIS && desc->segments)
        return tally_fail(TALLY_E_UNSUPPORTED, "desc.segments with TALLY_ALONG_AXIS: each list of items is a segment itself");
    return TALLY_OK;
}

/* Returns the launch's flags for a descriptor. */
static unsigned flags_of(const tally_scan_desc *desc) {
    return (desc->flags & TALLY_EXCLUSIVE ? TALLY_SCAN_IS_EXCLUSIVE : 0u) |
           (desc->flags & TALLY_REVERSE ? TALLY_SCAN_IS_REVERSE : 0u) | (desc->segments ? TALLY_SCAN_IS_SEGMENTED : 0u) |
           (desc->initial ? TALLY_SCAN_HAS_INITIAL : 0u);
}

tally_status tally_scan_resolve(const tally_context *context, tally_scan_desc *desc, tally_terms *terms,
                                tally_scan_launch *launch) {
    const tally_terms_desc what = {
        .in = desc->in,
        .single = {.op = desc->op, .out = desc->out, .acc = desc->acc, .accuracy = desc->accuracy, .custom = desc->custom}};
    tally_status status = tally_terms_resolve(&what, terms);
    if (status) return status;
    launch->flags |= flags_of(desc);
    if (!desc->max_n) desc->max_n = context->info.memory_bytes / tally_dtype_bytes(desc->in);
    status = check(desc, terms);
    if (!status && desc->max_n > UINT64_MAX / 16) status = tally_fail(TALLY_E_ARGUMENT, "desc.max_n is beyond any memory");
    if (!status) status = tally_scan_variant_find(desc->variant, context, &launch->variant);
    if (!status) status = tally_scan_shape(launch, terms, &context->info, context->features, desc->max_n);
    if (status) tally_terms_close(terms);
    return status;
}

/* ---- the plan -------------------------------------------------------------------------------- */

static const char *variant_name(const tally_plan *base) {
    return ((const tally_scan_plan *)base)->launch.variant->info.name;
}

static uint64_t workspace_bytes(const tally_plan *base) {
    const tally_scan_plan *plan = (const tally_scan_plan *)base;
    return tally_buffer_bytes(plan->words) + tally_buffer_bytes(plan->values) + tally_buffer_bytes(plan->heads);
}

static void close_plan(tally_plan *base) {
    tally_scan_plan *plan = (tally_scan_plan *)base;
    void *const kernels[] = {plan->items_kernel, plan->totals_kernel, plan->tiles_kernel, plan->clear_kernel, plan->set_kernel};
    tally_buffer_destroy(plan->words);
    tally_buffer_destroy(plan->values);
    tally_buffer_destroy(plan->heads);
    for (size_t i = 0; i < TALLY_ARRAY_LENGTH(kernels); i++) tally_kernel_close(base, kernels[i]);
    for (size_t i = 0; i < TALLY_SCAN_AXIS_KERNELS; i++) tally_kernel_close(base, plan->axis_kernels[i]);
}

const tally_plan_kind tally_scan_kind = {"a scan", variant_name, depth, workspace_bytes, close_plan};

static tally_status open_kernels(tally_scan_plan *plan) {
    const tally_plan *base = &plan->base;
    const tally_recipe recipe = tally_scan_recipe(&plan->launch);
    void *program = NULL;
    tally_status status = tally_program_get(base->context, &base->terms, &recipe, &program);
    if (!status) status = tally_kernel_open(base, program, "tally_scan_items", &plan->items_kernel);
    if (!plan->launch.variant->one_launch) {
        if (!status) status = tally_kernel_open(base, program, "tally_scan_totals", &plan->totals_kernel);
        if (!status) status = tally_kernel_open(base, program, "tally_scan_tiles", &plan->tiles_kernel);
    }
    if (plan->segments != TALLY_SEGMENTS_OFFSETS) return status;
    if (!status) status = tally_program_of_stem(base->context, "heads", plan->launch.group_threads, "", &program);
    if (!status) status = tally_kernel_open(base, program, "tally_heads_clear", &plan->clear_kernel);
    if (!status) status = tally_kernel_open(base, program, "tally_heads_set", &plan->set_kernel);
    return status;
}

/* Opens the kernels of scans along an axis, if the plan is for them. */
static tally_status open_axis_kernels(tally_scan_plan *plan) {
    static const char *const cpu_names[] = {
        [TALLY_SCAN_AXIS_LISTS] = "tally_scan_axis_lists", [TALLY_SCAN_AXIS_ROWS] = "tally_scan_axis_rows"};
    static const char *const group_names[] = {[TALLY_SCAN_AXIS_SHORT] = "tally_scan_axis_short",
                                              [TALLY_SCAN_AXIS_SHORT_ACROSS] = "tally_scan_axis_short_across",
                                              [TALLY_SCAN_AXIS_LONG] = "tally_scan_axis_long",
                                              [TALLY_SCAN_AXIS_LONG_ACROSS] = "tally_scan_axis_long_across"};
    const tally_plan *base = &plan->base;
    if (!plan->axis.variant) return TALLY_OK;
    const bool on_cpu = plan->axis.group_threads == 1;
    const char *const *names = on_cpu ? cpu_names : group_names;
    const size_t count = on_cpu ? TALLY_SCAN_AXIS_CPU_KERNELS : TALLY_SCAN_AXIS_KERNELS;
    const tally_recipe recipe = tally_scan_recipe(&plan->axis);
    void *program = NULL;
    tally_status status = tally_program_get(base->context, &base->terms, &recipe, &program);
    for (size_t i = 0; i < count && !status; i++) status = tally_kernel_open(base, program, names[i], &plan->axis_kernels[i]);
    return status;
}

#define LINE 16 /* 64-bit words in 128 bytes */

/* Returns the words of a look-back's workspace (kernels/published.h). */
static uint64_t look_back_words(const tally_scan_plan *plan) {
    const uint64_t parts = tally_ceil_div(tally_scan_bytes(&plan->base.terms, plan->launch.flags), 4), tiles = plan->capacity;
    return 2 * LINE + tally_ceil_div(tiles, TALLY_SCAN_WIDTH) * (tally_ceil_div(parts, LINE) * LINE + LINE) + tiles * parts;
}

/* The bytes of a plan's buffers. */
typedef struct scan_memory {
    uint64_t words, values, heads;
} scan_memory;

static scan_memory memory_of(const tally_scan_plan *plan) {
    const bool one_launch = plan->launch.variant->one_launch;
    const uint64_t blocks = tally_ceil_div(plan->capacity, TALLY_SCAN_WIDTH);
    const uint64_t words = one_launch ? look_back_words(plan) : 1;
    const uint64_t values = one_launch ? 2 : 3 + 2 * plan->capacity + 2 * blocks;
    return (scan_memory){.words = words * sizeof(uint64_t),
                         .values = values * tally_scan_bytes(&plan->base.terms, plan->launch.flags),
                         .heads = plan->segments == TALLY_SEGMENTS_OFFSETS ? plan->base.max_n : 0};
}

static tally_status open_memory(tally_scan_plan *plan) {
    tally_context *context = plan->base.context;
    const bool one_launch = plan->launch.variant->one_launch;
    const scan_memory bytes = memory_of(plan);
    tally_status status = tally_buffer_open(context, TALLY_MEM_DEVICE, NULL, bytes.words, &plan->words);
    if (!status) status = tally_buffer_open(context, TALLY_MEM_DEVICE, NULL, bytes.values, &plan->values);
    if (!status && plan->segments == TALLY_SEGMENTS_OFFSETS)
        status = tally_buffer_open(context, TALLY_MEM_DEVICE, NULL, bytes.heads, &plan->heads);
    /* Zeros say that nothing is published. The first call also reads a carry that no call has
     * written, so `values` is cleared too. */
    if (!status && one_launch) status = tally_buffer_clear(plan->words, plan->words->bytes);
    if (!status && one_launch) status = tally_buffer_clear(plan->values, plan->values->bytes);
    return status;
}

/* Returns the tiles, or the intervals, that the workspace must hold. */
static uint64_t capacity_of(const tally_scan_plan *plan) {
    const uint64_t each = plan->launch.tiles;
    const uint64_t tiles = tally_ceil_div(tally_ceil_div(plan->base.max_n, TALLY_TILE_ITEMS), each) * each;
    const uint64_t group_warps = plan->launch.group_threads / TALLY_SCAN_WIDTH;
    const uint64_t warps = (uint64_t)UNIT_INTERVAL_GROUPS * plan->base.context->info.compute_units * group_warps;
    const uint64_t least = plan->launch.variant->intervals ? warps + group_warps : 1;
    return tiles > least ? tiles : least;
}

/* Sets the most items of a call, and the capacity that they need. */
static void set_max_n(tally_plan *base, uint64_t n) {
    tally_scan_plan *plan = (tally_scan_plan *)base;
    base->max_n = n;
    plan->capacity = capacity_of(plan);
}

/* Tells whether the items and the workspace fit the memory, and the flags made of offsets one
 * buffer. */
static bool fits_memory(const tally_plan *base) {
    const tally_device_info *info = &base->context->info;
    const scan_memory bytes = memory_of((const tally_scan_plan *)base);
    const uint64_t items = base->max_n * tally_dtype_bytes(base->terms.in);
    return bytes.heads <= info->max_buffer_bytes && items + bytes.words + bytes.values + bytes.heads <= info->memory_bytes;
}

tally_status tally_scan_plan_make(tally_context *context, const tally_scan_desc *given, unsigned extra, tally_plan **out) {
    tally_scan_desc desc;
    tally_terms terms;
    tally_plan *base = NULL;
    *out = NULL;
    tally_status status = copy_desc(given, &desc);
    if (!status) status = tally_context_probe(context, tally_scan_features(context->info.device_class));
    if (status) return status;
    const bool is_sized = desc.max_n != 0;
    tally_scan_launch launch = {.flags = extra};
    status = tally_scan_resolve(context, &desc, &terms, &launch);
    if (!status) status = tally_plan_open(context, &tally_scan_kind, sizeof(tally_scan_plan), &terms, desc.max_n, &base);
    if (status) return status;
    tally_scan_plan *plan = (tally_scan_plan *)base;
    plan->launch = launch;
    plan->segments = desc.segments;
    if (desc.flags & TALLY_ALONG_AXIS) {
        plan->axis = launch;
        status = tally_scan_shape_axis(&plan->axis, &base->terms, &context->info);
    }
    if (desc.initial) memcpy(plan->initial, desc.initial, tally_dtype_bytes(desc.in));
    if (is_sized)
        set_max_n(base, desc.max_n);
    else
        tally_plan_fit(base, desc.max_n, set_max_n, fits_memory);
    if (!status) status = open_kernels(plan);
    if (!status) status = open_axis_kernels(plan);
    if (!status) status = open_memory(plan);
    return tally_plan_give(base, status, out);
}

tally_status tally_scan_plan_create(tally_context *context, const tally_scan_desc *desc, tally_plan **out) {
    if (out) *out = NULL;
    tally_status status = tally_check_context(context);
    if (!status) status = tally_check_pointer(out, "out");
    if (!status) status = tally_scan_plan_make(context, desc, 0, out);
    return TALLY_NAMED(status);
}
