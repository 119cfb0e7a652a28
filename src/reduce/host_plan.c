/* SPDX-License-Identifier: MIT */
/* Host arrays by a variant that is not canonical. Reduced in pieces, an input would give other
 * bits than in one, so no feed takes it. The whole input goes to the device's memory. */
#include "reduce/reduce.h"

bool tally_host_needs_plan(const tally_context *context, const tally_reduce_desc *desc) {
    const tally_variant *variant = NULL;
    return desc->variant && !tally_variant_find(desc->variant, &context->info, &variant) && !variant->info.canonical;
}

/* A reduction under way, with its inputs and its result in the device's memory. */
typedef struct run {
    tally_plan *plan;
    tally_queue *queue;
    tally_buffer *in[TALLY_MAX_INPUTS], *out;
} run;

static tally_status check(const run *r, const void *const *items, uint64_t n) {
    const tally_device_info *info = &r->plan->context->info;
    const tally_terms *terms = &r->plan->terms;
    const uint64_t item_bytes = tally_dtype_bytes(terms->in), inputs = terms->inputs;
    tally_status status = n ? tally_check_pointer(items, "items") : TALLY_OK;
    for (uint32_t k = 0; n && k < inputs && !status; k++) status = tally_check_pointer(items[k], "items");
    if (status || n <= info->memory_bytes / item_bytes / inputs) return status;
    return tally_fail(TALLY_E_MEMORY,
                      "variant %s takes no input in pieces, as it does not combine in the canonical order: %llu items "
                      "of %llu bytes do not fit %s, which has %llu",
                      tally_plan_variant(r->plan), (unsigned long long)n, (unsigned long long)(item_bytes * inputs), info->name,
                      (unsigned long long)info->memory_bytes);
}

static tally_status send(run *r, tally_context *context, const void *const *items, uint64_t n) {
    const tally_terms *terms = &r->plan->terms;
    const uint64_t bytes = n * tally_dtype_bytes(terms->in);
    tally_status status = tally_queue_open(context, 0, NULL, &r->queue);
    if (!status) status = tally_buffer_open(context, TALLY_MEM_DEVICE, NULL, terms->result.bytes, &r->out);
    for (uint32_t k = 0; k < terms->inputs && !status; k++) {
        status = tally_buffer_open(context, TALLY_MEM_DEVICE, NULL, bytes, &r->in[k]);
        if (!status && n) status = tally_buffer_write(r->queue, r->in[k], 0, items[k], bytes);
    }
    return status;
}

tally_status tally_host_by_plan(tally_context *context, const tally_reduce_desc *desc, const void *const *items, uint64_t n,
                                void *result) {
    run r = {NULL};
    tally_reduce_desc sized = *desc;
    sized.max_n = n + !n; /* 0 would be the default */
    tally_status status = tally_reduce_plan_create(context, &sized, &r.plan);
    if (!status) status = check(&r, items, n);
    if (!status) status = send(&r, context, items, n);
    tally_reduce_args args = {.size = sizeof(args), .n = n, .out = r.out};
    for (int k = 0; k < TALLY_MAX_INPUTS; k++) args.in[k] = r.in[k];
    if (!status) status = tally_reduce_with(r.plan, r.queue, &args);
    if (!status) status = tally_buffer_read(r.queue, r.out, 0, result, r.plan->terms.result.bytes);
    /* After a failure too: enqueued work may still read the caller's items. */
    const tally_status waited = r.queue ? tally_queue_wait(r.queue) : TALLY_OK;
    if (!status) status = waited;
    for (int k = 0; k < TALLY_MAX_INPUTS; k++) tally_buffer_destroy(r.in[k]);
    tally_buffer_destroy(r.out);
    tally_queue_destroy(r.queue);
    tally_plan_destroy(r.plan);
    return status;
}
