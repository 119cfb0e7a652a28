/* SPDX-License-Identifier: MIT */
/* Calls of segments by axes. */
#include "segments/segments.h"

/* Finds the places that strides lead to. Errors: E_ARGUMENT for places below 0 or beyond any
 * memory. */
static tally_status find_places(const tally_array_shape *shape, size_t stride, uint64_t offset, bool with_reduced,
                                tally_places *places, const char *name) {
    places->any = shape->count && (!with_reduced || shape->n);
    if (!places->any || tally_shape_span(shape, stride, with_reduced, offset, &places->low, &places->high)) return TALLY_OK;
    return tally_fail(TALLY_E_ARGUMENT, "axes: strides of %s lead below place 0, or beyond any memory", name);
}

static tally_status find_all_places(const tally_segments_plan *plan, const tally_axes_args *a, const tally_array_shape *shape,
                                    tally_segments_places *places) {
    tally_status status = TALLY_OK;
    for (uint32_t k = 0; k < plan->base.terms.inputs && !status; k++)
        status = find_places(shape, offsetof(tally_shape_axis, in) + k * sizeof(int64_t), a->in_offset[k], true, &places->in[k],
                             tally_segments_in_name(plan, k));
    if (!status && plan->flags & TALLY_WHERE)
        status = find_places(shape, offsetof(tally_shape_axis, where), a->where_offset, true, &places->where, "where");
    for (uint32_t t = 0; t < plan->outs && !status; t++)
        status = find_places(shape, offsetof(tally_shape_axis, out), a->out_offset[t], false, &places->out[t],
                             tally_segments_out_name(plan, t));
    return status;
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
    tally_segments_places places = {.where = {.any = false}};
    tally_segments_call call = {.n = 0};
    tally_status status = tally_check_pointer(a, "args");
    if (!status) status = tally_segments_check(base, queue, TALLY_BY_AXES, a->size, sizeof(*a), "tally_axes_args");
    if (!status && a->axis_count) status = tally_check_pointer(a->axes, "axes");
    if (status) return status;
    tally_segments_plan *plan = (tally_segments_plan *)base;
    status = tally_shape_make(a->axes, a->axis_count, base->terms.inputs, plan->flags & TALLY_WHERE, a->out_strided, &shape);
    if (!status) status = check_size(base, &shape);
    if (!status) status = find_all_places(plan, a, &shape, &places);
    const tally_segments_given given = TALLY_SEGMENTS_GIVEN(a);
    if (!status) status = tally_segments_open_call(plan, &given, &places, &call);
    if (status) return status;
    return tally_segments_is_whole(plan, &call, &shape) ? tally_segments_launch_whole(plan, queue->handle, &call, shape.n)
                                                        : tally_segments_launch_axes(plan, queue->handle, &call, &shape);
}

tally_status tally_reduce_axes(tally_plan *plan, tally_queue *queue, const tally_axes_args *args) {
    return TALLY_NAMED(reduce_axes(plan, queue, args));
}
