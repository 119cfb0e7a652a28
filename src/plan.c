/* SPDX-License-Identifier: MIT */
/* The planner of reductions: what is launched, with which geometry and how much workspace; and the launches themselves. */
#include <stdlib.h>
#include <string.h>

#include "core.h"

/* Groups for each core of a CPU: enough for the threads to even out, few enough to cost nothing. 2 cores, POCL 3.1, f32 at 2^24 to
 * 2^28, November 2026: 4 to 128 groups a core are equal within the noise. A group of fewer than 8 chunks (128 KiB of f32) would
 * cost more to start than to run. */
#define CPU_GROUPS_PER_UNIT 16
#define CPU_MIN_RUN 8

static uint64_t ceil_div(uint64_t a, uint64_t b) {
    return a / b + (a % b != 0);
}

tally_geometry tally_plan_geometry(const tally_plan *plan, uint64_t n) {
    const uint64_t chunks = ceil_div(n, TALLY_CHUNK_ITEMS);
    uint64_t run = plan->run;
    if (!run) {
        const uint64_t most = (uint64_t)CPU_GROUPS_PER_UNIT * plan->context->info.compute_units;
        for (run = CPU_MIN_RUN; ceil_div(chunks, run) > most;) run *= 2;
    }
    const uint64_t groups = ceil_div(chunks, run);
    return (tally_geometry){.groups = groups ? groups : 1, .run = run};
}

/* The most groups that any n up to max_n takes. */
static uint64_t most_groups(const tally_plan *plan) {
    const uint64_t groups = tally_plan_geometry(plan, plan->max_n).groups;
    const uint64_t most = (uint64_t)CPU_GROUPS_PER_UNIT * plan->context->info.compute_units;
    return !plan->run && groups > 1 ? most : groups;
}

static tally_status check_desc(const tally_context *context, const tally_reduce_desc *given, tally_reduce_desc *desc,
                               tally_spec *spec) {
    const char *call = "tally_plan_create";
    if (!given) return tally_fail(TALLY_E_ARGUMENT, "%s: desc is NULL", call);
    if (given->size < offsetof(tally_reduce_desc, out) || given->size > sizeof(*given))
        return tally_fail(TALLY_E_ARGUMENT, "%s: desc.size is %zu: sizeof(tally_reduce_desc) is %zu", call, given->size,
                          sizeof(*given));
    *desc = (tally_reduce_desc){0};
    memcpy(desc, given, given->size);
    if (!tally_op_find(desc->op)) return tally_fail(TALLY_E_ARGUMENT, "%s: desc.op is %d: no such op", call, (int)desc->op);
    if (!tally_dtype_find(desc->in))
        return tally_fail(TALLY_E_ARGUMENT, "%s: desc.in is %d: no such dtype", call, (int)desc->in);
    const tally_dtype result = tally_result_dtype(desc->op, desc->in);
    if (desc->out && !tally_dtype_find(desc->out))
        return tally_fail(TALLY_E_ARGUMENT, "%s: desc.out is %d: no such dtype", call, (int)desc->out);
    if (desc->out && desc->out != result)
        return tally_fail(TALLY_E_UNSUPPORTED, "%s: %s of %s gives %s, not %s", call, tally_op_name(desc->op),
                          tally_dtype_name(desc->in), tally_dtype_name(result), tally_dtype_name(desc->out));
    const tally_variant *variant;
    tally_status status = tally_variant_find(desc->variant, &context->info, &variant);
    if (status) return status;
    if (!desc->group_items) desc->group_items = variant->info.group_items;
    if (!desc->max_n) desc->max_n = context->info.memory_bytes / tally_dtype_bytes(desc->in);
    if (desc->max_n > UINT64_MAX / 16) return tally_fail(TALLY_E_ARGUMENT, "%s: desc.max_n is beyond any memory", call);
    status = tally_variant_check(variant, &context->info, desc->op, desc->in, desc->group_items);
    if (status) return status;
    *spec = (tally_spec){.op = desc->op, .in = desc->in, .out = result, .variant = variant, .group_items = desc->group_items};
    return TALLY_OK;
}

tally_status tally_plan_create(tally_context *context, const tally_reduce_desc *given, tally_plan **out) {
    tally_reduce_desc desc;
    tally_spec spec;
    void *program;
    tally_status status = tally_check_context(context, "tally_plan_create");
    if (!status) status = tally_check_pointer(out, "tally_plan_create", "out");
    if (!status) status = check_desc(context, given, &desc, &spec);
    if (!status) status = tally_program_get(context, &spec, &program);
    if (status) return status;

    tally_plan *plan = calloc(1, sizeof(*plan));
    if (!plan) return tally_fail(TALLY_E_MEMORY, "tally_plan_create: out of memory");
    *plan = (tally_plan){.tag = TALLY_TAG_PLAN,
                         .context = context,
                         .spec = spec,
                         .acc = tally_accumulator_dtype(spec.op, spec.in),
                         .max_n = desc.max_n,
                         .run = spec.variant->shape == TALLY_SHAPE_GROUP ? spec.group_items / 32 : 0};
    tally_context_retain(context);
    const tally_backend *backend = context->backend;
    status = backend->kernel_create(context->device, program, "tally_partials", &plan->partials_kernel);
    if (!status) status = backend->kernel_create(context->device, program, "tally_finish", &plan->finish_kernel);
    if (!status)
        status = tally_buffer_open(context, TALLY_MEM_DEVICE, NULL, most_groups(plan) * tally_dtype_bytes(plan->acc),
                                   &plan->workspace);
    if (status)
        tally_plan_destroy(plan);
    else
        *out = plan;
    return status;
}

void tally_plan_destroy(tally_plan *plan) {
    if (!plan || plan->tag != TALLY_TAG_PLAN) return;
    tally_context *context = plan->context;
    tally_buffer_destroy(plan->workspace);
    if (plan->finish_kernel) context->backend->kernel_close(context->device, plan->finish_kernel);
    if (plan->partials_kernel) context->backend->kernel_close(context->device, plan->partials_kernel);
    plan->tag = 0;
    free(plan);
    tally_context_destroy(context);
}

const char *tally_plan_variant(const tally_plan *plan) {
    return plan && plan->tag == TALLY_TAG_PLAN ? plan->spec.variant->info.name : NULL;
}

uint64_t tally_plan_workspace_bytes(const tally_plan *plan) {
    return plan && plan->tag == TALLY_TAG_PLAN ? plan->workspace->bytes : 0;
}

/* ---- launches ----------------------------------------------------------------------------------------------------- */

#define MEM(object) ((tally_arg){.mem = (object)})
#define VALUE(variable) ((tally_arg){.value = &(variable), .bytes = sizeof(variable)})

/* Both kernels take an accumulator slot and a result; the one that `last` rules out is never touched, so any memory will do. */

tally_status tally_plan_partials(tally_plan *plan, void *queue, void *in, uint64_t in_offset, uint64_t n,
                                 tally_geometry geometry, tally_target to) {
    const uint64_t first = to.result ? 0 : to.offset, out_offset = to.result ? to.offset : 0;
    const uint32_t last = to.result;
    const tally_arg args[] = {MEM(in),      VALUE(in_offset), VALUE(n),          VALUE(geometry.run), MEM(to.mem),
                              VALUE(first), MEM(to.mem),      VALUE(out_offset), VALUE(last)};
    return plan->context->backend->launch(queue, plan->partials_kernel, geometry.groups, plan->spec.group_items,
                                          TALLY_ARRAY_LENGTH(args), args);
}

tally_status tally_plan_finish(tally_plan *plan, void *queue, void *partials, uint64_t count, tally_target to) {
    const uint64_t slot = to.result ? 0 : to.offset, out_offset = to.result ? to.offset : 0;
    const uint32_t last = to.result;
    const tally_arg args[] = {MEM(partials), VALUE(count),      MEM(to.mem), VALUE(slot),
                              MEM(to.mem),   VALUE(out_offset), VALUE(last)};
    return plan->context->backend->launch(queue, plan->finish_kernel, 1, plan->spec.group_items, TALLY_ARRAY_LENGTH(args),
                                          args);
}

/* ---- tally_reduce ------------------------------------------------------------------------------------------------- */

static tally_status check_range(const tally_buffer *buffer, uint64_t offset, uint64_t n, size_t bytes, const char *argument) {
    const uint64_t items = buffer->bytes / bytes;
    if (offset > items || n > items - offset)
        return tally_fail(TALLY_E_ARGUMENT, "tally_reduce: %llu items at offset %llu: %s holds %llu", (unsigned long long)n,
                          (unsigned long long)offset, argument, (unsigned long long)items);
    return TALLY_OK;
}

static tally_status check_overlap(const tally_plan *plan, const tally_buffer *in, uint64_t in_begin, uint64_t in_bytes,
                                  const tally_buffer *out, uint64_t out_begin, uint64_t out_bytes) {
    const tally_backend *backend = plan->context->backend;
    if (in != out && backend->mem_pointer(in->mem) != backend->mem_pointer(out->mem)) return TALLY_OK;
    if (in_begin + in_bytes <= out_begin || out_begin + out_bytes <= in_begin) return TALLY_OK;
    return tally_fail(TALLY_E_ARGUMENT, "tally_reduce: in and out overlap");
}

tally_status tally_reduce_at(tally_plan *plan, tally_queue *queue, const tally_buffer *in, uint64_t in_offset, uint64_t n,
                             tally_buffer *out, uint64_t out_offset) {
    if (!plan) return tally_fail(TALLY_E_ARGUMENT, "tally_reduce: plan is NULL");
    if (plan->tag != TALLY_TAG_PLAN) return tally_fail(TALLY_E_ARGUMENT, "tally_reduce: plan is no plan");
    const size_t in_bytes = tally_dtype_bytes(plan->spec.in), out_bytes = tally_dtype_bytes(plan->spec.out);
    tally_status status = tally_check_queue(queue, plan->context, "tally_reduce");
    if (!status) status = tally_check_buffer(in, plan->context, "tally_reduce", "in");
    if (!status) status = tally_check_buffer(out, plan->context, "tally_reduce", "out");
    if (!status) status = check_range(in, in_offset, n, in_bytes, "in");
    if (!status) status = check_range(out, out_offset, 1, out_bytes, "out");
    if (!status && n > plan->max_n)
        status = tally_fail(TALLY_E_ARGUMENT, "tally_reduce: n is %llu: the plan's max_n is %llu", (unsigned long long)n,
                            (unsigned long long)plan->max_n);
    if (!status) status = check_overlap(plan, in, in_offset * in_bytes, n * in_bytes, out, out_offset * out_bytes, out_bytes);
    if (status) return status;

    const tally_geometry geometry = tally_plan_geometry(plan, n);
    const tally_target result = {.mem = out->mem, .offset = out_offset, .result = true};
    if (geometry.groups == 1) return tally_plan_partials(plan, queue->handle, in->mem, in_offset, n, geometry, result);
    void *partials = plan->workspace->mem;
    status = tally_plan_partials(plan, queue->handle, in->mem, in_offset, n, geometry, (tally_target){.mem = partials});
    return status ? status : tally_plan_finish(plan, queue->handle, partials, geometry.groups, result);
}

tally_status tally_reduce(tally_plan *plan, tally_queue *queue, const tally_buffer *in, uint64_t n, tally_buffer *out) {
    return tally_reduce_at(plan, queue, in, 0, n, out, 0);
}
