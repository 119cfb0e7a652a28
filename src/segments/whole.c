/* SPDX-License-Identifier: MIT */
/* The reduction of whole inputs that a plan of one segment by axes has besides its own kernels. It
 * loads 16 bytes at a time and takes one launch. Calls whose items are side by side take it. */
#include <string.h>

#include "segments/segments.h"

tally_reduce_desc tally_segments_whole_desc(const tally_segments_desc *given) {
    return (tally_reduce_desc){.size = sizeof(tally_reduce_desc),
                               .op = given->op,
                               .in = given->in,
                               .out = given->out,
                               .acc = given->acc,
                               .accuracy = given->accuracy,
                               .custom = given->custom,
                               .terms = given->terms,
                               .term_count = given->term_count,
                               .max_n = 1};
}

/* Kernels of CPUs take a row of any length as they take a whole input. */
static bool wants_whole(const tally_segments_plan *plan) {
    return plan->by == TALLY_BY_AXES && plan->variant->has_teams && plan->max_segments == 1 && plan->base.max_n > 1 &&
           !(plan->flags & (TALLY_WHERE | TALLY_APART)) && !plan->form.has_initial;
}

tally_status tally_segments_open_whole(tally_segments_plan *plan, const tally_segments_desc *given) {
    tally_context *context = plan->base.context;
    tally_reduce_desc desc = tally_segments_whole_desc(given);
    tally_terms terms;
    tally_launch launch;
    tally_plan *whole = NULL;
    if (!wants_whole(plan)) return TALLY_OK;
    tally_status status = tally_reduce_resolve(&context->info, NULL, &desc, &terms, &launch);
    /* The plan's own kernels serve a device whose local memory is too small for group_tree. */
    if (status) return status == TALLY_E_UNSUPPORTED ? TALLY_OK : status;
    tally_terms_close(&terms);
    /* Items that are side by side fit the memory, so a workspace for more is never used. */
    desc.max_n = context->info.memory_bytes / tally_dtype_bytes(given->in);
    if (desc.max_n > plan->base.max_n) desc.max_n = plan->base.max_n;
    status = tally_reduce_plan_create(context, &desc, &whole);
    plan->whole = (tally_reduce_plan *)whole;
    return status;
}

/* group_tree loads item by item where an input is not aligned to its vectors of 16 bytes; the
 * plan's own kernels do not. */
#define VECTOR_BYTES 16

bool tally_segments_is_whole(const tally_segments_plan *plan, const tally_segments_call *call, const tally_array_shape *shape) {
    const uint64_t bytes = tally_dtype_bytes(plan->base.terms.in);
    if (!plan->whole || shape->count != 1 || !shape->n || shape->n > plan->whole->base.max_n || shape->reduced != 1)
        return false;
    for (uint32_t k = 0; k < plan->base.terms.inputs; k++)
        if ((shape->n > 1 && shape->axis[0].in[k] != 1) || call->in_offset[k] * bytes % VECTOR_BYTES) return false;
    return true;
}

tally_status tally_segments_launch_whole(tally_segments_plan *plan, void *queue, const tally_segments_call *call, uint64_t n) {
    const tally_plan *base = &plan->base;
    const tally_target result = {.mem = call->out[0], .offset = call->out_offset[0], .result = true};
    tally_source source = {.base = 0};
    for (uint32_t k = 0; k < base->terms.inputs; k++) {
        source.mem[k] = call->in[k];
        source.offset[k] = call->in_offset[k];
    }
    /* Both plans have the same terms. tally_plan_set_param has set those of this one. */
    memcpy(plan->whole->base.params, base->params, base->terms.param.bytes);
    return tally_reduce_enqueue(plan->whole, queue, &source, n, result);
}
