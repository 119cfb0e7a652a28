/* SPDX-License-Identifier: MIT */
/* The checks that calls of all kinds of segments share. */
#include "segments/segments.h"

const char *tally_segments_in_name(const tally_segments_plan *plan, uint32_t input) {
    static const char *const names[TALLY_MAX_INPUTS] = {"in[0]", "in[1]", "in[2]", "in[3]"};
    return plan->base.terms.inputs > 1 ? names[input] : "in";
}

const char *tally_segments_out_name(const tally_segments_plan *plan, uint32_t output) {
    static const char *const names[TALLY_MAX_TERMS] = {"out[0]",  "out[1]",  "out[2]",  "out[3]", "out[4]",  "out[5]",
                                                       "out[6]",  "out[7]",  "out[8]",  "out[9]", "out[10]", "out[11]",
                                                       "out[12]", "out[13]", "out[14]", "out[15]"};
    return plan->outs > 1 ? names[output] : "out";
}

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

/* ---- places ---------------------------------------------------------------------------------- */

static tally_status line_up(uint64_t offset, uint64_t count, tally_places *places, const char *name) {
    *places = (tally_places){.any = count > 0, .low = offset, .high = offset + count - 1};
    if (offset <= UINT64_MAX / 32 && count <= UINT64_MAX / 32) return TALLY_OK;
    return tally_fail(TALLY_E_ARGUMENT, "%llu places of %s from place %llu on are beyond any memory", (unsigned long long)count,
                      name, (unsigned long long)offset);
}

tally_status tally_segments_line_up(const tally_segments_plan *plan, const tally_segments_given *given, uint64_t n,
                                    uint64_t count, tally_segments_places *places) {
    tally_status status = line_up(given->where_offset, n, &places->where, "where");
    for (uint32_t k = 0; k < plan->base.terms.inputs && !status; k++)
        status = line_up(given->in_offset[k], n, &places->in[k], tally_segments_in_name(plan, k));
    for (uint32_t t = 0; t < plan->outs && !status; t++)
        status = line_up(given->out_offset[t], count, &places->out[t], tally_segments_out_name(plan, t));
    return status;
}

/* Makes the range of places of `bytes` bytes. */
static tally_range range_of(const tally_buffer *buffer, tally_places places, uint64_t bytes, const char *name) {
    return (tally_range){buffer, places.low * bytes, places.any ? (places.high - places.low + 1) * bytes : 0, name};
}

static tally_range range_of_output(const tally_segments_plan *plan, const tally_segments_given *given,
                                   const tally_segments_places *places, uint32_t t) {
    return range_of(given->out[t], places->out[t], plan->out[t].bytes, tally_segments_out_name(plan, t));
}

/* Checks a buffer, and that it holds the places. */
static tally_status check_places(const tally_segments_plan *plan, const tally_buffer *buffer, tally_places places,
                                 uint64_t bytes, const char *name) {
    tally_status status = tally_check_buffer(buffer, plan->base.context, name);
    if (status || !places.any || places.high < buffer->bytes / bytes) return status;
    return tally_fail(TALLY_E_ARGUMENT, "places %llu to %llu of %s are needed: it holds %llu", (unsigned long long)places.low,
                      (unsigned long long)places.high, name, (unsigned long long)(buffer->bytes / bytes));
}

tally_status tally_segments_check_apart(const tally_segments_plan *plan, tally_range range, const tally_segments_given *given,
                                        const tally_segments_places *places) {
    tally_status status = TALLY_OK;
    for (uint32_t t = 0; t < plan->outs && !status; t++)
        status = tally_check_apart(range, range_of_output(plan, given, places, t));
    return status;
}

/* ---- the call -------------------------------------------------------------------------------- */

static tally_status check_output(const tally_segments_plan *plan, const tally_segments_given *given,
                                 const tally_segments_places *places, uint32_t t) {
    tally_status status =
        check_places(plan, given->out[t], places->out[t], plan->out[t].bytes, tally_segments_out_name(plan, t));
    for (uint32_t u = 0; u < t && !status; u++)
        status = tally_check_apart(range_of_output(plan, given, places, u), range_of_output(plan, given, places, t));
    return status;
}

/* Checks an input, or the mask, whose items have `bytes` bytes. */
static tally_status check_input(const tally_segments_plan *plan, const tally_buffer *buffer, tally_places own, uint64_t bytes,
                                const char *name, const tally_segments_given *given, const tally_segments_places *places) {
    const tally_status status = check_places(plan, buffer, own, bytes, name);
    return status ? status : tally_segments_check_apart(plan, range_of(buffer, own, bytes, name), given, places);
}

tally_status tally_segments_open_call(const tally_segments_plan *plan, const tally_segments_given *given,
                                      const tally_segments_places *places, tally_segments_call *call) {
    const tally_terms *terms = &plan->base.terms;
    const bool where = plan->flags & TALLY_WHERE;
    tally_status status = TALLY_OK;
    for (uint32_t t = 0; t < plan->outs && !status; t++) status = check_output(plan, given, places, t);
    for (uint32_t k = 0; k < terms->inputs && !status; k++)
        status = check_input(plan, given->in[k], places->in[k], tally_dtype_bytes(terms->in), tally_segments_in_name(plan, k),
                             given, places);
    if (!status && where) status = check_input(plan, given->where, places->where, 1, "where", given, places);
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
