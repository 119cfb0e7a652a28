/* SPDX-License-Identifier: MIT */
/* The checks that calls of all kinds of segments share. */
#include "segments/segments.h"

tally_status tally_segments_check(const tally_plan *base, const tally_queue *queue, tally_segments_by by, size_t size,
                                  size_t wanted, const char *type) {
    static const char *const ways[] = {
        [TALLY_BY_AXES] = "by axes", [TALLY_BY_OFFSETS] = "by offsets", [TALLY_BY_KEYS] = "by keys"};
    tally_status status = tally_check_plan(base, &tally_segments_kind);
    if (status) return status;
    const tally_segments_plan *plan = (const tally_segments_plan *)base;
    if (plan->by != by) return tally_fail(TALLY_E_ARGUMENT, "plan is of segments %s, not %s", ways[plan->by], ways[by]);
    if (size != wanted) return tally_fail(TALLY_E_ARGUMENT, "args.size is %zu: sizeof(%s) is %zu", size, type, wanted);
    return tally_check_queue(queue, base->context);
}

/* Checks that places low to high are in the buffer. */
static tally_status check_places(const tally_buffer *buffer, uint64_t low, uint64_t high, uint64_t bytes,
                                 const char *argument) {
    const uint64_t places = tally_buffer_bytes(buffer) / bytes;
    if (high < places) return TALLY_OK;
    return tally_fail(TALLY_E_ARGUMENT, "places %llu to %llu of %s are needed: it holds %llu", (unsigned long long)low,
                      (unsigned long long)high, argument, (unsigned long long)places);
}

tally_status tally_segments_check_apart(const tally_segments_plan *plan, const tally_buffer *buffer, uint64_t begin,
                                        uint64_t bytes, const tally_segments_given *given, const tally_segments_spans *spans,
                                        const char *argument) {
    tally_status status = TALLY_OK;
    for (uint32_t t = 0; t < plan->outs && spans->results && !status; t++) {
        const uint64_t each = plan->out[t].bytes;
        status = tally_check_apart(buffer, begin, bytes, given->out[t], spans->out_low[t] * each,
                                   (spans->out_high[t] - spans->out_low[t] + 1) * each, argument);
    }
    return status;
}

static tally_status check_output(const tally_segments_plan *plan, const tally_segments_given *given,
                                 const tally_segments_spans *spans, uint32_t t) {
    const uint64_t each = plan->out[t].bytes;
    tally_status status = tally_check_buffer(given->out[t], plan->base.context, plan->outs > 1 ? "out[]" : "out");
    if (!status && spans->results) status = check_places(given->out[t], spans->out_low[t], spans->out_high[t], each, "out");
    for (uint32_t u = 0; u < t && spans->results && !status; u++)
        status = tally_check_apart(given->out[u], spans->out_low[u] * plan->out[u].bytes,
                                   (spans->out_high[u] - spans->out_low[u] + 1) * plan->out[u].bytes, given->out[t],
                                   spans->out_low[t] * each, (spans->out_high[t] - spans->out_low[t] + 1) * each, "out[]");
    return status;
}

/* Checks an input, or the mask, whose items have `each` bytes. */
static tally_status check_input(const tally_segments_plan *plan, const tally_buffer *buffer, uint64_t low, uint64_t high,
                                uint64_t each, const tally_segments_given *given, const tally_segments_spans *spans,
                                const char *argument) {
    tally_status status = tally_check_buffer(buffer, plan->base.context, argument);
    if (status || !spans->items) return status;
    status = check_places(buffer, low, high, each, argument);
    return status ? status
                  : tally_segments_check_apart(plan, buffer, low * each, (high - low + 1) * each, given, spans, argument);
}

tally_status tally_segments_open_call(const tally_segments_plan *plan, const tally_segments_given *given,
                                      const tally_segments_spans *spans, tally_segments_call *call) {
    static const char *const names[TALLY_MAX_INPUTS] = {"in[0]", "in[1]", "in[2]", "in[3]"};
    const tally_terms *terms = &plan->base.terms;
    const bool where = plan->flags & TALLY_WHERE;
    tally_status status = TALLY_OK;
    for (uint32_t t = 0; t < plan->outs && !status; t++) status = check_output(plan, given, spans, t);
    for (uint32_t k = 0; k < terms->inputs && !status; k++)
        status = check_input(plan, given->in[k], spans->low[k], spans->high[k], tally_dtype_bytes(terms->in), given, spans,
                             terms->inputs > 1 ? names[k] : "in");
    if (!status && where)
        status = check_input(plan, given->where, spans->where_low, spans->where_high, 1, given, spans, "where");
    if (!status && !where && given->where) status = tally_fail(TALLY_E_ARGUMENT, "where is for a plan with TALLY_WHERE");
    if (status) return status;
    for (uint32_t k = 0; k < terms->inputs; k++) {
        call->in[k] = given->in[k]->mem;
        call->in_offset[k] = given->in_offset[k];
    }
    for (uint32_t t = 0; t < plan->outs; t++) {
        call->out[t] = given->out[t]->mem;
        call->out_offset[t] = given->out_offset[t];
    }
    call->where = where ? given->where->mem : NULL;
    call->where_offset = given->where_offset;
    return TALLY_OK;
}
