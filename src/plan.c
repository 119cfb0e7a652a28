/* SPDX-License-Identifier: MIT */
/* The planner of reductions: what is launched, with which geometry and how much workspace. The launches are in reduce.c. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core.h"
#include "did_you_mean.h"

static uint64_t ceil_div(uint64_t a, uint64_t b) {
    return a / b + (a % b != 0);
}

/* Items of a fixed grid for each unit: what the largest multiprocessors (of an H200, say) can hold at once; smaller ones take them in
 * turns. */
#define GRID_ITEMS_PER_UNIT 2048

static uint64_t grid_groups(const tally_plan *plan) {
    return ceil_div((uint64_t)GRID_ITEMS_PER_UNIT * plan->context->info.compute_units, plan->spec.group_items);
}

/* Items that a group of a fixed segment owns. */
static uint64_t segment_items(const tally_plan *plan) {
    const uint64_t factor = plan->spec.factor ? plan->spec.factor : 1;
    return factor * plan->spec.variant->items_per_item * plan->spec.group_items;
}

/* Of a canonical variant's partials, at a time. */
#define MOST_PARTIALS_BYTES (UINT64_C(2) << 20)

/* The most groups that take runs. */
static uint64_t run_groups(const tally_plan *plan) {
    const uint64_t tuned = plan->spec.tuning.unit_groups, most = MOST_PARTIALS_BYTES / plan->spec.acc.bytes;
    const uint64_t groups = (tuned ? tuned : 1) * plan->context->info.compute_units;
    return groups < most ? groups : most;
}

/* Items of a slice, where the partials of wide accumulators would take more than 4 MiB + max_n / 512 bytes; else 0. */
static uint64_t slice_items(const tally_plan *plan) {
    const uint64_t acc_bytes = plan->spec.acc.bytes, groups = tally_plan_geometry(plan, plan->max_n).groups;
    uint64_t most = 1;
    if (plan->spec.variant->shape != TALLY_SHAPE_CHUNKS || groups * acc_bytes <= MOST_PARTIALS_BYTES + plan->max_n / 512)
        return 0;
    while (2 * most * acc_bytes <= MOST_PARTIALS_BYTES) most *= 2;
    return most * plan->run * TALLY_CHUNK_ITEMS;
}

tally_geometry tally_plan_geometry(const tally_plan *plan, uint64_t n) {
    const uint64_t chunks = ceil_div(n, TALLY_CHUNK_ITEMS);
    uint64_t groups = 0, run = plan->run;
    switch (plan->spec.variant->shape) {
    case TALLY_SHAPE_SEGMENT:
        groups = ceil_div(n, segment_items(plan));
        break;
    case TALLY_SHAPE_GRID: {
        const uint64_t most = grid_groups(plan), wanted = ceil_div(n, plan->spec.group_items);
        groups = wanted < most ? wanted : most;
        break;
    }
    case TALLY_SHAPE_CHUNKS:
        groups = ceil_div(chunks, run);
        break;
    case TALLY_SHAPE_RUN:
        for (run = 1; run < plan->spec.tuning.least_run || ceil_div(chunks, run) > run_groups(plan);) run *= 2;
        groups = ceil_div(chunks, run);
        break;
    }
    return (tally_geometry){.groups = groups ? groups : 1, .run = run};
}

/* Accumulators of workspace for any n up to max_n. */
static uint64_t workspace_items(const tally_plan *plan) {
    const uint64_t groups = tally_plan_geometry(plan, plan->slice ? plan->slice : plan->max_n).groups;
    switch (plan->spec.variant->stage) {
    case TALLY_STAGE_ATOMIC:
        return 1;
    case TALLY_STAGE_SCRATCH:
        return groups + groups * segment_items(plan);
    default:
        break;
    }
    /* The groups of runs do not grow evenly with n. */
    return (plan->spec.variant->shape == TALLY_SHAPE_RUN && groups > 1 ? run_groups(plan) : groups) + plan->together;
}

static uint64_t log2_ceil(uint64_t n) {
    uint64_t k = 0;
    while (k < 64 && (UINT64_C(1) << k) < n) k++;
    return k;
}

uint64_t tally_plan_depth(const tally_plan *plan, uint64_t n) {
    if (!plan || plan->tag != TALLY_TAG_PLAN) return 0;
    if (plan->scan.variant) return tally_scan_depth(plan, n);
    const tally_variant *variant = plan->spec.variant;
    if (variant->info.canonical) return TALLY_ROWS + log2_ceil(TALLY_LANES) + log2_ceil(ceil_div(n, TALLY_CHUNK_ITEMS));
    const uint64_t groups = tally_plan_geometry(plan, n).groups;
    /* Without local memory every item is an atomic on the one word. Else, within a group: as many atomics as it has items, or in
     * sequence before the tree and then the tree. */
    if (variant->stage == TALLY_STAGE_ATOMIC && !variant->local_accumulators) return n;
    const uint64_t items = variant->shape == TALLY_SHAPE_GRID ? ceil_div(n, groups) : segment_items(plan);
    const bool tree = variant->local_accumulators == 32 || variant->stage == TALLY_STAGE_SCRATCH;
    /* Items that an item combines in sequence; of a grid, also what vectors and the ends of a misaligned input add. */
    const uint64_t ends = variant->shape == TALLY_SHAPE_GRID ? 16 / tally_dtype_bytes(plan->spec.in) + 2 : 0;
    const uint64_t sequence = ceil_div(items, plan->spec.group_items) + ends;
    const uint64_t within = tree ? sequence + log2_ceil(plan->spec.group_items) : items;
    const uint64_t across =
        variant->stage == TALLY_STAGE_ATOMIC || variant->stage == TALLY_STAGE_HOST ? groups : log2_ceil(groups);
    return within + across;
}

tally_status tally_plan_create(tally_context *context, const tally_reduce_desc *given, tally_plan **out) {
    if (out) *out = NULL;
    tally_reduce_desc desc;
    tally_spec spec;
    void *program;
    tally_status status = tally_check_context(context, "tally_plan_create");
    if (!status) status = tally_check_pointer(out, "tally_plan_create", "out");
    if (status) return status;
    pthread_mutex_lock(&context->lock);
    status = tally_spec_resolve(&context->info, &context->tunings, given, &desc, &spec);
    pthread_mutex_unlock(&context->lock);
    if (status) return status;

    tally_plan *plan = calloc(1, sizeof(*plan));
    if (!plan) return tally_spec_free(&spec), tally_fail(TALLY_E_MEMORY, "tally_plan_create: out of memory");
    const uint32_t team = tally_chunk_team(tally_dtype_bytes(spec.in));
    *plan = (tally_plan){.tag = TALLY_TAG_PLAN,
                         .context = context,
                         .spec = spec,
                         .max_n = desc.max_n,
                         .run = spec.variant->shape == TALLY_SHAPE_CHUNKS ? spec.group_items / team : 0};
    tally_context_retain(context);
    const tally_backend *backend = context->backend;
    plan->params = malloc(spec.param.bytes);
    if (plan->params)
        tally_spec_pack_params(&spec, plan->params);
    else
        status = tally_fail(TALLY_E_MEMORY, "tally_plan_create: out of memory");
    if (!status) status = tally_program_get(context, &spec, &program);
    if (!status) status = backend->kernel_create(context->device, program, "tally_partials", &plan->partials_kernel);
    if (!status) status = backend->kernel_create(context->device, program, "tally_finish", &plan->finish_kernel);
    if (!status && spec.variant->stage == TALLY_STAGE_ATOMIC)
        status = backend->kernel_create(context->device, program, "tally_init", &plan->init_kernel);
    plan->slice = slice_items(plan);
    /* A single group needs none of that; and slices write where the count would be. */
    plan->together = (spec.variant->together & 1u << context->info.device_class) &&
                     (context->features & 1u << TALLY_FEATURE_ORDER) && !plan->slice &&
                     tally_plan_geometry(plan, plan->max_n).groups > 1;
    const uint64_t workspace_bytes = workspace_items(plan) * spec.acc.bytes;
    const uint64_t slices_bytes = plan->slice ? ceil_div(plan->max_n, plan->slice) * spec.acc.bytes : 0;
    if (!status) status = tally_buffer_open(context, TALLY_MEM_DEVICE, NULL, workspace_bytes, &plan->workspace);
    if (!status && slices_bytes) status = tally_buffer_open(context, TALLY_MEM_DEVICE, NULL, slices_bytes, &plan->slices);
    /* The count of groups that are done, which the last of them clears again. */
    if (!status && plan->together) status = tally_buffer_clear(plan->workspace, sizeof(uint32_t));
    if (!status && spec.variant->stage == TALLY_STAGE_HOST && !(plan->host = malloc(workspace_bytes)))
        status = tally_fail(TALLY_E_MEMORY, "tally_plan_create: out of memory");
    if (status)
        tally_plan_destroy(plan);
    else
        *out = plan;
    return status;
}

void tally_plan_destroy(tally_plan *plan) {
    if (!plan || plan->tag != TALLY_TAG_PLAN) return;
    tally_context *context = plan->context;
    if (plan->scan.variant) tally_scan_close(plan);
    tally_buffer_destroy(plan->workspace);
    tally_buffer_destroy(plan->slices);
    free(plan->host);
    free(plan->params);
    if (plan->init_kernel) context->backend->kernel_close(context->device, plan->init_kernel);
    if (plan->finish_kernel) context->backend->kernel_close(context->device, plan->finish_kernel);
    if (plan->partials_kernel) context->backend->kernel_close(context->device, plan->partials_kernel);
    tally_spec_free(&plan->spec);
    plan->tag = 0;
    free(plan);
    tally_context_destroy(context);
}

tally_status tally_check_plan(const tally_plan *plan, const char *call) {
    if (!plan) return tally_fail(TALLY_E_ARGUMENT, "%s: plan is NULL", call);
    if (plan->tag != TALLY_TAG_PLAN) return tally_fail(TALLY_E_ARGUMENT, "%s: plan is no plan", call);
    return TALLY_OK;
}

uint64_t tally_plan_result_bytes(const tally_plan *plan) {
    return plan && plan->tag == TALLY_TAG_PLAN ? plan->spec.result.bytes : 0;
}

int tally_plan_result(const tally_plan *plan, uint32_t index, tally_result_info *result) {
    return plan && plan->tag == TALLY_TAG_PLAN && result && tally_spec_result(&plan->spec, index, result);
}

/* Whether a term before t has the parameter too. */
static bool is_repeated(const tally_spec *spec, uint32_t t, const char *name) {
    for (uint32_t e = 0; e < t; e++)
        for (uint32_t i = 0; i < spec->terms[e].param_count; i++)
            if (!strcmp(spec->terms[e].params[i].name, name)) return true;
    return false;
}

static tally_status unknown_param(const tally_spec *spec, const char *name) {
    char names[256] = "";
    size_t used = 0;
    for (uint32_t t = 0; t < spec->term_count; t++)
        for (uint32_t i = 0; i < spec->terms[t].param_count; i++) {
            const char *own = spec->terms[t].params[i].name;
            if (used < sizeof(names) && !is_repeated(spec, t, own))
                used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s", used ? ", " : "", own);
        }
    return tally_fail(TALLY_E_ARGUMENT, "tally_plan_set_param: unknown parameter '%s': %sthere %s %s", name,
                      tally_did_you_mean(name, strlen(name), names).text, strchr(names, ',') ? "are" : "is",
                      used ? names : "none");
}

tally_status tally_plan_set_param(tally_plan *plan, const char *name, double value) {
    tally_status status = tally_check_plan(plan, "tally_plan_set_param");
    if (!status) status = tally_check_pointer(name, "tally_plan_set_param", "name");
    if (status) return status;
    bool found = false;
    for (uint32_t t = 0; t < plan->spec.term_count; t++)
        for (uint32_t i = 0; i < plan->spec.terms[t].param_count; i++) {
            tally_op_param *param = &plan->spec.terms[t].params[i];
            if (strcmp(param->name, name)) continue;
            status = tally_check_param("tally_plan_set_param", plan->spec.terms[t].name, param, value);
            if (status) return status; /* and nothing is set: what several ops share is of rows, whose parameters are floats */
            param->value = value;
            found = true;
        }
    if (!found) return unknown_param(&plan->spec, name);
    tally_spec_pack_params(&plan->spec, plan->params);
    return TALLY_OK;
}

const char *tally_plan_variant(const tally_plan *plan) {
    if (!plan || plan->tag != TALLY_TAG_PLAN) return NULL;
    return plan->scan.variant ? plan->scan.variant->info.name : plan->spec.variant->info.name;
}

uint64_t tally_plan_workspace_bytes(const tally_plan *plan) {
    if (!plan || plan->tag != TALLY_TAG_PLAN) return 0;
    if (plan->scan.variant) return tally_scan_workspace_bytes(plan);
    return plan->workspace->bytes + (plan->slices ? plan->slices->bytes : 0);
}
