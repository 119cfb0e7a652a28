/* SPDX-License-Identifier: MIT */
/* Gather and scatter: their plans and the launches of a call. */
#include <stdio.h>
#include <string.h>

#include "move/move.h"

typedef struct move_plan {
    tally_plan base;
    tally_move_spec spec;
    uint64_t max_out;
    /* The last two are for TALLY_SCATTER_LAST. */
    void *move_kernel, *claim_kernel, *clear_kernel;
    tally_buffer *bad; /* lowest position out of bounds; all ones: none; NULL: unchecked */
    /* TALLY_SCATTER_LAST: for each item of `out`, 1 + the last position that names it, or 0. */
    tally_buffer *winners;
    bool bad_is_none; /* `bad` says "none" and no enqueued work can change it */
    /* Staging for `bad`. NVIDIA's OpenCL takes 100 us longer to other memory (H200, November
     * 2026). */
    tally_buffer *found;
    uint64_t position; /* the value of `bad`, or TALLY_NO_INDEX */
} move_plan;

static bool is_checked(const move_plan *plan) {
    return !(plan->spec.flags & TALLY_UNCHECKED);
}

/* ---- plans ----------------------------------------------------------------------------------- */

static const char *variant_name(const tally_plan *base) {
    (void)base;
    return TALLY_MOVE_STEM;
}

static uint64_t depth(const tally_plan *base, uint64_t n) {
    (void)base, (void)n;
    return 0;
}

static uint64_t workspace_bytes(const tally_plan *base) {
    const move_plan *plan = (const move_plan *)base;
    return tally_buffer_bytes(plan->bad) + tally_buffer_bytes(plan->winners);
}

static void close_plan(tally_plan *base) {
    move_plan *plan = (move_plan *)base;
    tally_buffer_destroy(plan->winners);
    tally_buffer_destroy(plan->bad);
    tally_buffer_destroy(plan->found);
    tally_kernel_close(base, plan->clear_kernel);
    tally_kernel_close(base, plan->claim_kernel);
    tally_kernel_close(base, plan->move_kernel);
}

static const tally_plan_kind gather_kind = {"a gather", variant_name, depth, workspace_bytes, close_plan};
static const tally_plan_kind scatter_kind = {"a scatter", variant_name, depth, workspace_bytes, close_plan};

static tally_status open_kernels(move_plan *plan) {
    const tally_plan *base = &plan->base;
    const tally_move_text defines = tally_move_defines(&plan->spec);
    const bool last = plan->spec.flags & TALLY_SCATTER_LAST;
    void *program = NULL;
    tally_status status =
        tally_program_of_stem(base->context, TALLY_MOVE_STEM, plan->spec.group_threads, defines.text, &program);
    if (!status) status = tally_kernel_open(base, program, "tally_move", &plan->move_kernel);
    if (!status && last) status = tally_kernel_open(base, program, "tally_claim", &plan->claim_kernel);
    if (!status && last) status = tally_kernel_open(base, program, "tally_clear", &plan->clear_kernel);
    return status;
}

static tally_status open_memory(move_plan *plan) {
    tally_context *context = plan->base.context;
    const uint64_t word = plan->spec.wide ? 8 : 4;
    tally_status status = TALLY_OK;
    if (is_checked(plan)) {
        status = tally_buffer_open(context, TALLY_MEM_DEVICE, NULL, word, &plan->bad);
        if (!status) status = tally_buffer_open(context, TALLY_MEM_STAGING, NULL, word, &plan->found);
    }
    if (!status && plan->spec.flags & TALLY_SCATTER_LAST)
        status = tally_buffer_open(context, TALLY_MEM_DEVICE, NULL, plan->max_out * word, &plan->winners);
    return status;
}

static tally_status create(tally_context *context, const tally_plan_kind *kind, const tally_move_desc *given,
                           tally_plan **out) {
    tally_move_desc desc;
    tally_move_spec spec;
    tally_plan *base = NULL;
    if (out) *out = NULL;
    tally_status status = tally_check_context(context);
    if (!status) status = tally_check_pointer(out, "out");
    if (!status) status = tally_move_resolve(&context->info, kind == &scatter_kind, given, &desc, &spec);
    if (!status) status = tally_plan_open(context, kind, sizeof(move_plan), NULL, desc.max_n, &base);
    if (status) return status;
    move_plan *plan = (move_plan *)base;
    plan->spec = spec;
    plan->max_out = desc.max_out;
    plan->position = TALLY_NO_INDEX;
    status = open_kernels(plan);
    if (!status) status = open_memory(plan);
    return tally_plan_give(base, status, out);
}

tally_status tally_gather_plan_create(tally_context *context, const tally_move_desc *desc, tally_plan **out) {
    return TALLY_NAMED(create(context, &gather_kind, desc, out));
}

tally_status tally_scatter_plan_create(tally_context *context, const tally_move_desc *desc, tally_plan **out) {
    return TALLY_NAMED(create(context, &scatter_kind, desc, out));
}

uint64_t tally_move_bad(const tally_plan *plan) {
    const bool is_move = plan && plan->tag == TALLY_TAG_PLAN && (plan->kind == &gather_kind || plan->kind == &scatter_kind);
    return is_move ? ((const move_plan *)plan)->position : TALLY_NO_INDEX;
}

/* ---- arguments ------------------------------------------------------------------------------- */

static tally_status check_buffers(const move_plan *plan, const tally_move_args *a) {
    const bool wanted = plan->spec.flags & TALLY_STENCIL;
    tally_status status = tally_check_buffer(a->map, plan->base.context, "map");
    if (!status) status = tally_check_buffer(a->in, plan->base.context, "in");
    if (!status) status = tally_check_buffer(a->out, plan->base.context, "out");
    if (!status && wanted) status = tally_check_buffer(a->stencil, plan->base.context, "stencil");
    if (!status && !wanted && a->stencil) status = tally_fail(TALLY_E_ARGUMENT, "a stencil for a plan without TALLY_STENCIL");
    return status;
}

static tally_status check_ranges(const move_plan *plan, const tally_move_args *a) {
    const uint64_t map_bytes = tally_dtype_bytes(plan->spec.map), bytes = plan->spec.item_bytes;
    const uint64_t in_items = plan->spec.scatter ? a->n : a->items, out_items = plan->spec.scatter ? a->items : a->n;
    const tally_range out = {a->out, a->out_offset * bytes, out_items * bytes, "out"};
    tally_status status = tally_check_items(a->map, a->map_offset, a->n, map_bytes, "map");
    if (!status) status = tally_check_items(a->in, a->in_offset, in_items, bytes, "in");
    if (!status) status = tally_check_items(a->out, a->out_offset, out_items, bytes, "out");
    if (!status) status = tally_check_apart((tally_range){a->map, a->map_offset * map_bytes, a->n * map_bytes, "map"}, out);
    if (!status) status = tally_check_apart((tally_range){a->in, a->in_offset * bytes, in_items * bytes, "in"}, out);
    if (status || !a->stencil) return status;
    status = tally_check_items(a->stencil, a->stencil_offset, a->n, 1, "stencil");
    return status ? status : tally_check_apart((tally_range){a->stencil, a->stencil_offset, a->n, "stencil"}, out);
}

static tally_status check_args(const move_plan *plan, const tally_queue *queue, const tally_move_args *a) {
    tally_status status = tally_check_queue(queue, plan->base.context);
    if (!status) status = tally_check_pointer(a, "args");
    if (!status && a->size != sizeof(*a))
        status = tally_fail(TALLY_E_ARGUMENT, "args.size is %zu: sizeof(tally_move_args) is %zu", a->size, sizeof(*a));
    if (!status) status = check_buffers(plan, a);
    if (!status) status = tally_check_n(&plan->base, a->n);
    if (!status && plan->winners && a->items > plan->max_out)
        status = tally_fail(TALLY_E_ARGUMENT, "items is %llu: the plan's max_out is %llu", (unsigned long long)a->items,
                            (unsigned long long)plan->max_out);
    return status ? status : check_ranges(plan, a);
}

/* ---- launches -------------------------------------------------------------------------------- */

/* CPUs: groups of one thread. Each core has several groups, so that all cores end together; a group
 * has a least number of entries. */
#define CPU_UNIT_GROUPS 16
#define CPU_LEAST_RUN 4096

/* Returns how many of `count` entries a group takes. */
static uint64_t run_of(const move_plan *plan, uint64_t count) {
    const tally_device_info *device = &plan->base.context->info;
    if (device->device_class != TALLY_CLASS_CPU) return (uint64_t)plan->spec.group_threads * plan->spec.flight;
    const uint64_t groups = CPU_UNIT_GROUPS * (uint64_t)(device->compute_units ? device->compute_units : 1);
    const uint64_t run = (count / groups / 64 + 1) * 64;
    return run < CPU_LEAST_RUN ? CPU_LEAST_RUN : run;
}

static tally_status launch(const move_plan *plan, void *queue, void *kernel, uint64_t count, uint64_t run, uint32_t arg_count,
                           const tally_arg *args) {
    const uint64_t groups = count / run + (count % run != 0);
    return plan->base.context->backend->launch(queue, kernel, groups, plan->spec.group_threads, arg_count, args);
}

/* Returns the bound: entries from it on are out of bounds. The kernels read an i32 entry as
 * unsigned, so for i32 the bound is 2^31 at most and no negative entry passes. */
static uint64_t bound_of(const move_plan *plan, const tally_move_args *a) {
    const uint64_t most = plan->spec.map == TALLY_I32 ? UINT64_C(1) << 31 : UINT64_MAX;
    return a->items < most ? a->items : most;
}

/* Enqueues the kernels that find the winner of each item of `out` (TALLY_SCATTER_LAST). */
static tally_status enqueue_claims(const move_plan *plan, void *queue, const tally_move_args *a) {
    const tally_buffer *stencil = a->stencil ? a->stencil : a->map;
    const uint64_t clear_run = run_of(plan, a->items), run = run_of(plan, a->n), bound = bound_of(plan, a);
    const tally_arg clear[] = {TALLY_MEM(plan->winners->mem), TALLY_VALUE(a->items), TALLY_VALUE(clear_run)};
    const tally_arg claim[] = {TALLY_MEM(a->map->mem),
                               TALLY_VALUE(a->map_offset),
                               TALLY_VALUE(a->n),
                               TALLY_VALUE(run),
                               TALLY_VALUE(bound),
                               TALLY_MEM(stencil->mem),
                               TALLY_VALUE(a->stencil_offset),
                               TALLY_MEM(plan->winners->mem)};
    if (!a->items) return TALLY_OK; /* no entry is in bounds */
    const tally_status status = launch(plan, queue, plan->clear_kernel, a->items, clear_run, TALLY_ARRAY_LENGTH(clear), clear);
    return status ? status : launch(plan, queue, plan->claim_kernel, a->n, run, TALLY_ARRAY_LENGTH(claim), claim);
}

/* Enqueues a move. An argument that the program does not touch may be any memory. */
static tally_status enqueue(const move_plan *plan, void *queue, const tally_move_args *a) {
    const tally_buffer *any = a->map, *stencil = a->stencil ? a->stencil : any, *bad = plan->bad ? plan->bad : any;
    const tally_buffer *winners = plan->winners ? plan->winners : any;
    const uint64_t run = run_of(plan, a->n), bound = bound_of(plan, a);
    const tally_arg args[] = {TALLY_MEM(a->map->mem), TALLY_VALUE(a->map_offset), TALLY_VALUE(a->n),
                              TALLY_VALUE(run),       TALLY_MEM(a->in->mem),      TALLY_VALUE(a->in_offset),
                              TALLY_VALUE(bound),     TALLY_MEM(stencil->mem),    TALLY_VALUE(a->stencil_offset),
                              TALLY_MEM(a->out->mem), TALLY_VALUE(a->out_offset), TALLY_MEM(bad->mem),
                              TALLY_MEM(winners->mem)};
    const tally_status status = plan->winners ? enqueue_claims(plan, queue, a) : TALLY_OK;
    return status ? status : launch(plan, queue, plan->move_kernel, a->n, run, TALLY_ARRAY_LENGTH(args), args);
}

/* ---- checked calls --------------------------------------------------------------------------- */

/* Fails with the text on the entry out of bounds, which it reads from the map. The queue is
 * idle. */
static tally_status out_of_bounds(const move_plan *plan, void *queue, const tally_move_args *a) {
    const tally_backend *backend = plan->base.context->backend;
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
    return tally_fail(TALLY_E_ARGUMENT, "map[%llu] is %s: %s has %llu item%s", (unsigned long long)plan->position, text,
                      plan->spec.scatter ? "out" : "in", (unsigned long long)a->items, a->items == 1 ? "" : "s");
}

/* Runs a checked move and waits for it. It resets `bad` only if the last call has changed it, so
 * mostly there is one launch and one copy. */
static tally_status run_checked(move_plan *plan, void *queue, const tally_move_args *a) {
    static const uint64_t none = UINT64_MAX;
    const tally_backend *backend = plan->base.context->backend;
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
    return out_of_bounds(plan, queue, a);
}

static tally_status move(tally_plan *base, const tally_plan_kind *kind, tally_queue *queue, const tally_move_args *args) {
    move_plan *plan = (move_plan *)base;
    tally_status status = tally_check_plan(base, kind);
    if (!status) status = check_args(plan, queue, args);
    if (status) return status;
    plan->position = TALLY_NO_INDEX;
    if (!args->n) return TALLY_OK;
    return is_checked(plan) ? run_checked(plan, queue->handle, args) : enqueue(plan, queue->handle, args);
}

tally_status tally_gather(tally_plan *plan, tally_queue *queue, const tally_move_args *args) {
    return TALLY_NAMED(move(plan, &gather_kind, queue, args));
}

tally_status tally_scatter(tally_plan *plan, tally_queue *queue, const tally_move_args *args) {
    return TALLY_NAMED(move(plan, &scatter_kind, queue, args));
}
