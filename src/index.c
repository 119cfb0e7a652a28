/* SPDX-License-Identifier: MIT */
/* Gather and scatter: their plans, and the launches of a call. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core.h"

struct tally_index_plan {
    tally_tag tag;
    tally_context *context;
    tally_index_spec spec;
    uint64_t max_n, max_out;
    void *move_kernel, *claim_kernel, *clear_kernel; /* the last two of TALLY_SCATTER_LAST */
    tally_buffer *bad;                               /* the lowest position out of bounds; all ones: none. NULL: unchecked */
    tally_buffer *winners; /* TALLY_SCATTER_LAST: of each item of `out` 1 + the last position that names it, or 0 */
    bool bad_is_none;      /* `bad` says so, and nothing is enqueued that could change it */
    tally_buffer *
        found; /* staging: what came back of `bad`. To other memory NVIDIA's OpenCL takes 100 us longer (H200, November 2026) */
    uint64_t position; /* the same, or TALLY_NO_INDEX */
};

static bool is_checked(const tally_index_plan *plan) {
    return !(plan->spec.flags & TALLY_UNCHECKED);
}

static const char *call_name(const tally_index_plan *plan) {
    return plan->spec.scatter ? "tally_scatter" : "tally_gather";
}

/* ---- plans -------------------------------------------------------------------------------------------------------- */

static tally_status create_kernels(tally_index_plan *plan) {
    tally_context *context = plan->context;
    const tally_backend *backend = context->backend;
    const tally_index_text defines = tally_index_defines(&plan->spec);
    const bool last = plan->spec.flags & TALLY_SCATTER_LAST;
    void *program;
    tally_status status = tally_program_of_stem(context, TALLY_INDEX_STEM, plan->spec.group_items, defines.text, &program);
    if (!status) status = backend->kernel_create(context->device, program, "tally_move", &plan->move_kernel);
    if (!status && last) status = backend->kernel_create(context->device, program, "tally_claim", &plan->claim_kernel);
    if (!status && last) status = backend->kernel_create(context->device, program, "tally_clear", &plan->clear_kernel);
    return status;
}

static tally_status create(tally_context *context, bool scatter, const char *call, const tally_index_desc *given,
                           tally_index_plan **out) {
    if (out) *out = NULL;
    tally_index_desc desc;
    tally_index_spec spec;
    tally_status status = tally_check_context(context, call);
    if (!status) status = tally_check_pointer(out, call, "out");
    if (!status) status = tally_index_resolve(&context->info, scatter, given, &desc, &spec);
    if (status) return status;
    tally_index_plan *plan = calloc(1, sizeof(*plan));
    if (!plan) return tally_fail(TALLY_E_MEMORY, "%s: out of memory", call);
    *plan = (tally_index_plan){.tag = TALLY_TAG_INDEX_PLAN,
                               .context = context,
                               .spec = spec,
                               .max_n = desc.max_n,
                               .max_out = desc.max_out,
                               .position = TALLY_NO_INDEX};
    tally_context_retain(context);
    const uint64_t word = spec.wide ? 8 : 4;
    status = create_kernels(plan);
    if (!status && is_checked(plan)) status = tally_buffer_open(context, TALLY_MEM_DEVICE, NULL, word, &plan->bad);
    if (!status && is_checked(plan)) status = tally_buffer_open(context, TALLY_MEM_STAGING, NULL, word, &plan->found);
    if (!status && spec.flags & TALLY_SCATTER_LAST)
        status = tally_buffer_open(context, TALLY_MEM_DEVICE, NULL, desc.max_out * word, &plan->winners);
    if (status)
        tally_index_plan_destroy(plan);
    else
        *out = plan;
    return status;
}

tally_status tally_gather_plan_create(tally_context *context, const tally_index_desc *desc, tally_index_plan **out) {
    return create(context, false, "tally_gather_plan_create", desc, out);
}

tally_status tally_scatter_plan_create(tally_context *context, const tally_index_desc *desc, tally_index_plan **out) {
    return create(context, true, "tally_scatter_plan_create", desc, out);
}

void tally_index_plan_destroy(tally_index_plan *plan) {
    if (!plan || plan->tag != TALLY_TAG_INDEX_PLAN) return;
    tally_context *context = plan->context;
    void *const kernels[] = {plan->clear_kernel, plan->claim_kernel, plan->move_kernel};
    tally_buffer_destroy(plan->winners);
    tally_buffer_destroy(plan->bad);
    tally_buffer_destroy(plan->found);
    for (size_t k = 0; k < TALLY_ARRAY_LENGTH(kernels); k++)
        if (kernels[k]) context->backend->kernel_close(context->device, kernels[k]);
    plan->tag = 0;
    free(plan);
    tally_context_destroy(context);
}

uint64_t tally_index_plan_workspace_bytes(const tally_index_plan *plan) {
    if (!plan || plan->tag != TALLY_TAG_INDEX_PLAN) return 0;
    return tally_buffer_bytes(plan->bad) + tally_buffer_bytes(plan->winners);
}

uint64_t tally_index_plan_bad(const tally_index_plan *plan) {
    return plan && plan->tag == TALLY_TAG_INDEX_PLAN ? plan->position : TALLY_NO_INDEX;
}

/* ---- arguments ---------------------------------------------------------------------------------------------------- */

static tally_status check_plan(const tally_index_plan *plan, bool scatter, const char *call) {
    if (!plan) return tally_fail(TALLY_E_ARGUMENT, "%s: plan is NULL", call);
    if (plan->tag != TALLY_TAG_INDEX_PLAN)
        return tally_fail(TALLY_E_ARGUMENT, "%s: plan is no plan of a gather or scatter", call);
    if (plan->spec.scatter != scatter) return tally_fail(TALLY_E_ARGUMENT, "%s: the plan is one for %s", call, call_name(plan));
    return TALLY_OK;
}

static tally_status check_buffers(const tally_index_plan *plan, const tally_index_args *a, const char *call) {
    const bool wanted = plan->spec.flags & TALLY_STENCIL;
    tally_status status = tally_check_buffer(a->map, plan->context, call, "map");
    if (!status) status = tally_check_buffer(a->in, plan->context, call, "in");
    if (!status) status = tally_check_buffer(a->out, plan->context, call, "out");
    if (!status && wanted) status = tally_check_buffer(a->stencil, plan->context, call, "stencil");
    if (!status && !wanted && a->stencil)
        status = tally_fail(TALLY_E_ARGUMENT, "%s: a stencil for a plan without TALLY_STENCIL", call);
    return status;
}

static tally_status check_ranges(const tally_index_plan *plan, const tally_index_args *a, const char *call) {
    const uint64_t map_bytes = tally_dtype_bytes(plan->spec.map), bytes = plan->spec.item_bytes;
    const uint64_t in_items = plan->spec.scatter ? a->n : a->items, out_items = plan->spec.scatter ? a->items : a->n;
    const uint64_t out_begin = a->out_offset * bytes, out_bytes = out_items * bytes;
    tally_status status = tally_check_items(a->map, a->map_offset, a->n, map_bytes, call, "map");
    if (!status) status = tally_check_items(a->in, a->in_offset, in_items, bytes, call, "in");
    if (!status) status = tally_check_items(a->out, a->out_offset, out_items, bytes, call, "out");
    if (!status)
        status =
            tally_check_apart(a->map, a->map_offset * map_bytes, a->n * map_bytes, a->out, out_begin, out_bytes, call, "map");
    if (!status)
        status = tally_check_apart(a->in, a->in_offset * bytes, in_items * bytes, a->out, out_begin, out_bytes, call, "in");
    if (status || !a->stencil) return status;
    status = tally_check_items(a->stencil, a->stencil_offset, a->n, 1, call, "stencil");
    return status ? status
                  : tally_check_apart(a->stencil, a->stencil_offset, a->n, a->out, out_begin, out_bytes, call, "stencil");
}

static tally_status check_args(const tally_index_plan *plan, const tally_queue *queue, const tally_index_args *a,
                               const char *call) {
    tally_status status = tally_check_queue(queue, plan->context, call);
    if (!status) status = tally_check_pointer(a, call, "args");
    if (!status && a->size != sizeof(*a))
        status =
            tally_fail(TALLY_E_ARGUMENT, "%s: args.size is %zu: sizeof(tally_index_args) is %zu", call, a->size, sizeof(*a));
    if (!status) status = check_buffers(plan, a, call);
    if (!status && a->n > plan->max_n)
        status = tally_fail(TALLY_E_ARGUMENT, "%s: n is %llu: the plan's max_n is %llu", call, (unsigned long long)a->n,
                            (unsigned long long)plan->max_n);
    if (!status && plan->winners && a->items > plan->max_out)
        status = tally_fail(TALLY_E_ARGUMENT, "%s: items is %llu: the plan's max_out is %llu", call,
                            (unsigned long long)a->items, (unsigned long long)plan->max_out);
    return status ? status : check_ranges(plan, a, call);
}

/* ---- launches ----------------------------------------------------------------------------------------------------- */

#define MEM(object) ((tally_arg){.mem = (object)})
#define VALUE(variable) ((tally_arg){.value = &(variable), .bytes = sizeof(variable)})

/* Of a CPU device: groups of one item, so many for each core, that they end together; each has at least so much to do. */
#define CPU_UNIT_GROUPS 16
#define CPU_LEAST_RUN 4096

/* What a group takes of `count` entries. */
static uint64_t run_of(const tally_index_plan *plan, uint64_t count) {
    const tally_device_info *device = &plan->context->info;
    if (device->device_class != TALLY_CLASS_CPU) return (uint64_t)plan->spec.group_items * plan->spec.flight;
    const uint64_t groups = CPU_UNIT_GROUPS * (uint64_t)(device->compute_units ? device->compute_units : 1);
    const uint64_t run = (count / groups / 64 + 1) * 64;
    return run < CPU_LEAST_RUN ? CPU_LEAST_RUN : run;
}

static tally_status launch(const tally_index_plan *plan, void *queue, void *kernel, uint64_t count, uint64_t run,
                           uint32_t arg_count, const tally_arg *args) {
    const uint64_t groups = count / run + (count % run != 0);
    return plan->context->backend->launch(queue, kernel, groups, plan->spec.group_items, arg_count, args);
}

/* The entries from which on they are out of bounds. The kernels take one of i32 as it is without its sign: no negative one may pass. */
static uint64_t bound_of(const tally_index_plan *plan, const tally_index_args *a) {
    const uint64_t most = plan->spec.map == TALLY_I32 ? UINT64_C(1) << 31 : UINT64_MAX;
    return a->items < most ? a->items : most;
}

/* TALLY_SCATTER_LAST: who wins each item of `out`. */
static tally_status enqueue_claims(const tally_index_plan *plan, void *queue, const tally_index_args *a) {
    const tally_buffer *stencil = a->stencil ? a->stencil : a->map;
    const uint64_t clear_run = run_of(plan, a->items), run = run_of(plan, a->n), bound = bound_of(plan, a);
    const tally_arg clear[] = {MEM(plan->winners->mem), VALUE(a->items), VALUE(clear_run)};
    const tally_arg claim[] = {
        MEM(a->map->mem),         VALUE(a->map_offset),   VALUE(a->n), VALUE(run), VALUE(bound), MEM(stencil->mem),
        VALUE(a->stencil_offset), MEM(plan->winners->mem)};
    if (!a->items) return TALLY_OK; /* no entry is in bounds */
    const tally_status status = launch(plan, queue, plan->clear_kernel, a->items, clear_run, TALLY_ARRAY_LENGTH(clear), clear);
    return status ? status : launch(plan, queue, plan->claim_kernel, a->n, run, TALLY_ARRAY_LENGTH(claim), claim);
}

/* Memory that the program does not touch may be any. */
static tally_status enqueue(const tally_index_plan *plan, void *queue, const tally_index_args *a) {
    const tally_buffer *any = a->map, *stencil = a->stencil ? a->stencil : any, *bad = plan->bad ? plan->bad : any;
    const tally_buffer *winners = plan->winners ? plan->winners : any;
    const uint64_t run = run_of(plan, a->n), bound = bound_of(plan, a);
    const tally_arg args[] = {MEM(a->map->mem),         VALUE(a->map_offset), VALUE(a->n),          VALUE(run),
                              MEM(a->in->mem),          VALUE(a->in_offset),  VALUE(bound),         MEM(stencil->mem),
                              VALUE(a->stencil_offset), MEM(a->out->mem),     VALUE(a->out_offset), MEM(bad->mem),
                              MEM(winners->mem)};
    const tally_status status = plan->winners ? enqueue_claims(plan, queue, a) : TALLY_OK;
    return status ? status : launch(plan, queue, plan->move_kernel, a->n, run, TALLY_ARRAY_LENGTH(args), args);
}

/* ---- checked calls ------------------------------------------------------------------------------------------------ */

/* The error, with the entry, which is fetched: the queue is idle. */
static tally_status out_of_bounds(const tally_index_plan *plan, void *queue, const tally_index_args *a, const char *call) {
    const tally_backend *backend = plan->context->backend;
    const size_t bytes = tally_dtype_bytes(plan->spec.map);
    union {
        int32_t i32;
        uint32_t u32;
        int64_t i64;
        uint64_t u64;
    } entry = {0};
    char text[32];
    tally_status status = backend->copy_out(queue, a->map->mem, (a->map_offset + plan->position) * bytes, &entry, bytes);
    const tally_status waited = backend->queue_wait(queue);
    if (!status) status = waited;
    if (status) return status;
    if (plan->spec.map == TALLY_U32 || plan->spec.map == TALLY_U64)
        snprintf(text, sizeof(text), "%llu", (unsigned long long)(bytes == 4 ? entry.u32 : entry.u64));
    else
        snprintf(text, sizeof(text), "%lld", (long long)(bytes == 4 ? entry.i32 : entry.i64));
    return tally_fail(TALLY_E_ARGUMENT, "%s: map[%llu] is %s: %s has %llu item%s", call, (unsigned long long)plan->position,
                      text, plan->spec.scatter ? "out" : "in", (unsigned long long)a->items, a->items == 1 ? "" : "s");
}

/* The word is made anew only where the last call has left it otherwise: mostly there is one launch and one copy. */
static tally_status run_checked(tally_index_plan *plan, void *queue, const tally_index_args *a, const char *call) {
    static const uint64_t none = UINT64_MAX;
    const tally_backend *backend = plan->context->backend;
    const uint64_t bytes = plan->bad->bytes;
    tally_status status = plan->bad_is_none ? TALLY_OK : backend->copy_in(queue, plan->bad->mem, 0, &none, bytes);
    plan->bad_is_none = false;
    if (!status) status = enqueue(plan, queue, a);
    if (!status) status = backend->copy_out(queue, plan->bad->mem, 0, plan->found->host, bytes);
    const tally_status waited = backend->queue_wait(queue);
    if (!status) status = waited;
    if (status) return status;
    plan->bad_is_none = memcmp(plan->found->host, &none, bytes) == 0;
    if (plan->bad_is_none) return TALLY_OK;
    plan->position = plan->spec.wide ? *(const uint64_t *)plan->found->host : *(const uint32_t *)plan->found->host;
    return out_of_bounds(plan, queue, a, call);
}

static tally_status move(tally_index_plan *plan, bool scatter, tally_queue *queue, const tally_index_args *args) {
    const char *call = scatter ? "tally_scatter" : "tally_gather";
    tally_status status = check_plan(plan, scatter, call);
    if (!status) status = check_args(plan, queue, args, call);
    if (status) return status;
    plan->position = TALLY_NO_INDEX;
    if (!args->n) return TALLY_OK;
    return is_checked(plan) ? run_checked(plan, queue->handle, args, call) : enqueue(plan, queue->handle, args);
}

tally_status tally_gather(tally_index_plan *plan, tally_queue *queue, const tally_index_args *args) {
    return move(plan, false, queue, args);
}

tally_status tally_scatter(tally_index_plan *plan, tally_queue *queue, const tally_index_args *args) {
    return move(plan, true, queue, args);
}
