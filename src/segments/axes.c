/* SPDX-License-Identifier: MIT */
/* Calls of segments by axes. */
#include "segments/segments.h"

/* Finds the spans of the inputs, the mask and the results. Errors: E_ARGUMENT for places below 0 or
 * beyond any memory. */
static tally_status find_spans(const tally_segments_plan *plan, const tally_axes_args *a, const tally_array_shape *shape,
                               tally_segments_spans *spans) {
    bool fits = true;
    spans->results = shape->count > 0;
    spans->items = spans->results && shape->n > 0;
    for (uint32_t k = 0; k < plan->base.terms.inputs && spans->items; k++)
        fits &=
            tally_shape_span(shape, offsetof(tally_shape_axis, in[k]), true, a->in_offset[k], &spans->low[k], &spans->high[k]);
    if (spans->items && plan->flags & TALLY_WHERE)
        fits &= tally_shape_span(shape, offsetof(tally_shape_axis, where), true, a->where_offset, &spans->where_low,
                                 &spans->where_high);
    for (uint32_t t = 0; t < plan->outs && spans->results; t++)
        fits &= tally_shape_span(shape, offsetof(tally_shape_axis, out), false, a->out_offset[t], &spans->out_low[t],
                                 &spans->out_high[t]);
    return fits ? TALLY_OK : tally_fail(TALLY_E_ARGUMENT, "axes: strides lead below place 0, or beyond any memory");
}

static tally_status check_size(const tally_plan *base, const tally_array_shape *shape) {
    const tally_segments_plan *plan = (const tally_segments_plan *)base;
    if (shape->count > plan->max_segments)
        return tally_fail(TALLY_E_ARGUMENT, "%llu segments: the plan's max_segments is %llu", (unsigned long long)shape->count,
                          (unsigned long long)plan->max_segments);
    return tally_check_n(base, shape->n * shape->count);
}

static tally_status reduce_axes(tally_plan *base, tally_queue *queue, const tally_axes_args *a) {
    tally_array_shape shape;
    tally_segments_spans spans = {false, false, {0}, {0}, 0, 0, {0}, {0}};
    tally_segments_call call = {.n = 0};
    tally_status status = tally_check_pointer(a, "args");
    if (!status) status = tally_segments_check(base, queue, TALLY_BY_AXES, a->size, sizeof(*a), "tally_axes_args");
    if (!status && a->axis_count) status = tally_check_pointer(a->axes, "axes");
    if (status) return status;
    tally_segments_plan *plan = (tally_segments_plan *)base;
    status = tally_shape_make(a->axes, a->axis_count, base->terms.inputs, plan->flags & TALLY_WHERE, a->out_strided, &shape);
    if (!status) status = check_size(base, &shape);
    if (!status) status = find_spans(plan, a, &shape, &spans);
    const tally_segments_given given = {.in = a->in,
                                        .in_offset = a->in_offset,
                                        .where = a->where,
                                        .where_offset = a->where_offset,
                                        .out = a->out,
                                        .out_offset = a->out_offset};
    if (!status) status = tally_segments_open_call(plan, &given, &spans, &call);
    return status ? status : tally_segments_launch_axes(plan, queue->handle, &call, &shape);
}

tally_status tally_reduce_axes(tally_plan *plan, tally_queue *queue, const tally_axes_args *args) {
    return TALLY_NAMED(reduce_axes(plan, queue, args));
}
