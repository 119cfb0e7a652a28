/* SPDX-License-Identifier: MIT */
/* Reductions of host arrays. The calling thread reduces few items; feeds that the context keeps
 * (kept.c) reduce all others. */
#include <string.h>

#include "reduce/reduce.h"

/* Returns the max_n of a feed for n items. It is a power of two, so that calls share feeds, and no
 * more than the staging holds where items are staged. */
static uint64_t size_for(const tally_context *context, tally_dtype in, uint64_t n) {
    const uint64_t bytes = tally_dtype_bytes(in);
    const uint64_t most = context->info.host_memory ? TALLY_FEED_ITEMS : bytes ? TALLY_FEED_STAGING_BYTES / bytes : 1;
    uint64_t size = TALLY_CHUNK_ITEMS;
    while (size < n && size < most) size *= 2;
    return size < most ? size : most;
}

static tally_status reduce_host(tally_context *context, const tally_reduce_desc *given, const void *const *items, uint64_t n,
                                void *result) {
    tally_status status = TALLY_OK;
    if (n > TALLY_FEED_ITEMS) status = tally_fail(TALLY_E_ARGUMENT, "n is beyond any memory");
    if (!status) status = tally_check_pointer(result, "result");
    if (status) return status;
    tally_reduce_desc desc = {0};
    memcpy(&desc, given, given->size < sizeof(desc) ? given->size : sizeof(desc));
    if (tally_host_reduce(context, &desc, items, n, result)) return TALLY_OK;
    if (tally_host_needs_plan(context, &desc)) return tally_host_by_plan(context, &desc, items, n, result);
    desc.max_n = size_for(context, desc.in, n);
    tally_kept kept;
    status = tally_kept_take(context, &desc, &kept);
    if (status) return status;
    status = tally_feed_finish_inputs(kept.feed, items, n, result);
    tally_kept_give(context, &kept, status == TALLY_OK);
    return status;
}

tally_status tally_reduce_host(tally_context *context, tally_op op, tally_dtype dtype, const void *items, uint64_t n,
                               void *result) {
    tally_status status = tally_check_context(context);
    if (!status && n && n <= TALLY_FEED_ITEMS) status = tally_check_pointer(items, "items");
    if (!status && tally_op_inputs(op) > 1)
        status = tally_fail(TALLY_E_ARGUMENT, "%s has %u inputs: tally_reduce_host_inputs takes them", tally_op_name(op),
                            tally_op_inputs(op));
    if (status) return TALLY_NAMED(status);
    const tally_reduce_desc desc = {.size = sizeof(desc), .op = op, .in = dtype};
    return TALLY_NAMED(reduce_host(context, &desc, &items, n, result));
}

tally_status tally_reduce_host_inputs(tally_context *context, const tally_reduce_desc *desc, const void *const *items,
                                      uint64_t n, void *result) {
    tally_status status = tally_check_context(context);
    if (!status) status = tally_check_pointer(desc, "desc");
    return TALLY_NAMED(status ? status : reduce_host(context, desc, items, n, result));
}
