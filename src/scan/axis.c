/* SPDX-License-Identifier: MIT */
/* Calls of scans along an axis. */
#include "axes/axes.h"
#include "scan/scan.h"

/* A call, checked. */
typedef struct axis_call {
    const tally_scan_axis_args *args;
    tally_array_shape shape; /* axis[0] is scanned */
} axis_call;

static const tally_shape_axis *scanned(const axis_call *call) {
    return &call->shape.axis[0];
}

/* Returns the axis along which lists are neighbours. */
static const tally_shape_axis *nearest(const axis_call *call) {
    return &call->shape.axis[call->shape.kept];
}

/* ---- checks ---------------------------------------------------------------------------------- */

/* Finds the range of a buffer that the axes reach. Errors: E_ARGUMENT for places beyond the
 * buffer. */
static tally_status find_range(const tally_array_shape *shape, size_t stride, const tally_buffer *buffer, uint64_t offset,
                               uint64_t bytes, const char *name, tally_range *range) {
    uint64_t low, high;
    if (!tally_shape_span(shape, stride, true, offset, &low, &high))
        return tally_fail(TALLY_E_ARGUMENT, "axes: strides of %s lead below place 0, or beyond any memory", name);
    if (high >= buffer->bytes / bytes)
        return tally_fail(TALLY_E_ARGUMENT, "places %llu to %llu of %s are needed: it holds %llu", (unsigned long long)low,
                          (unsigned long long)high, name, (unsigned long long)(buffer->bytes / bytes));
    *range = (tally_range){buffer, low * bytes, (high - low + 1) * bytes, name};
    return TALLY_OK;
}

/* Tells whether each value lies at its item's byte. */
static bool is_in_place(const axis_call *call, tally_range in, tally_range out, uint64_t in_bytes, uint64_t out_bytes) {
    bool is = in_bytes == out_bytes && tally_is_same_place(in.buffer, in.begin, out.buffer, out.begin);
    for (uint32_t a = 0; a <= call->shape.kept; a++) is = is && call->shape.axis[a].in[0] == call->shape.axis[a].out;
    return is;
}

static tally_status check_places(const tally_plan *base, const axis_call *call) {
    const tally_scan_axis_args *a = call->args;
    const uint64_t in_bytes = tally_dtype_bytes(base->terms.in), out_bytes = base->terms.result.bytes;
    tally_range in, out;
    if (!call->shape.n || !call->shape.count) return TALLY_OK;
    tally_status status = find_range(&call->shape, offsetof(tally_shape_axis, in), a->in, a->in_offset, in_bytes, "in", &in);
    if (!status)
        status = find_range(&call->shape, offsetof(tally_shape_axis, out), a->out, a->out_offset, out_bytes, "out", &out);
    if (status || is_in_place(call, in, out, in_bytes, out_bytes)) return status;
    return tally_check_apart(in, out);
}

static tally_status check(tally_plan *base, const tally_queue *queue, const tally_scan_axis_args *a, axis_call *call) {
    tally_status status = tally_check_plan(base, &tally_scan_kind);
    if (!status) status = tally_check_pointer(a, "args");
    if (!status && a->size != sizeof(*a))
        status = tally_fail(TALLY_E_ARGUMENT, "args.size is %zu: sizeof(tally_scan_axis_args) is %zu", a->size, sizeof(*a));
    if (!status && !((const tally_scan_plan *)base)->axis.variant)
        status = tally_fail(TALLY_E_ARGUMENT, "the plan lacks TALLY_ALONG_AXIS: it is for tally_scan");
    if (!status) status = tally_check_queue(queue, base->context);
    if (!status) status = tally_check_pointer(a->axes, "axes");
    if (!status) status = tally_check_buffer(a->in, base->context, "in");
    if (!status) status = tally_check_buffer(a->out, base->context, "out");
    if (!status) status = tally_shape_make_scan(a->axes, a->axis_count, a->axis, a->out_strided, &call->shape);
    if (!status) status = tally_check_n(base, call->shape.n * call->shape.count);
    if (status) return status;
    call->args = a;
    return check_places(base, call);
}

/* ---- few and long lists ---------------------------------------------------------------------- */

/*
 * Limits for long rows that are scanned one after the other, each by the whole device: the least
 * items of a row, and the most rows for each compute unit. One launch for all of them would leave
 * much of the device idle, because a row gets at most a group of a GPU, or a thread of a CPU.
 */
#define LONG_ITEMS 32768
#define UNIT_LONG_LISTS 1
#define CPU_UNIT_LONG_LISTS 4

static bool are_rows(const axis_call *call) {
    return scanned(call)->in[0] == 1 && scanned(call)->out == 1;
}

static bool are_one_by_one(const tally_scan_plan *plan, const axis_call *call) {
    const uint64_t each = plan->axis.group_threads == 1 ? CPU_UNIT_LONG_LISTS : UNIT_LONG_LISTS;
    return are_rows(call) && call->shape.n >= LONG_ITEMS && call->shape.count <= each * plan->base.context->info.compute_units;
}

static tally_status launch_one_by_one(tally_scan_plan *plan, void *queue, const axis_call *call) {
    const tally_array_shape *shape = &call->shape;
    tally_status status = TALLY_OK;
    for (uint64_t s = 0; s < shape->count && !status; s++) {
        int64_t in = 0, out = 0;
        uint64_t rest = s;
        for (uint32_t a = shape->kept; a > 0; a--) {
            const int64_t i = (int64_t)(rest % shape->axis[a].extent);
            in += i * shape->axis[a].in[0];
            out += i * shape->axis[a].out;
            rest /= shape->axis[a].extent;
        }
        const tally_scan_args args = {.size = sizeof(args),
                                      .in = call->args->in,
                                      .in_offset = call->args->in_offset + (uint64_t)in,
                                      .n = shape->n,
                                      .out = call->args->out,
                                      .out_offset = call->args->out_offset + (uint64_t)out};
        status = tally_scan_launch_all(plan, queue, &args, false);
    }
    return status;
}

/* ---- all lists at once ----------------------------------------------------------------------- */

/* Limits for each compute unit: the most groups of a launch, and the warps that keep a unit
 * busy. */
#define UNIT_GROUPS 64
#define UNIT_WARPS 32
/* Least items of a row that a CPU scans by vectors along the row. Shorter rows are scanned by
 * vectors across several rows. */
#define CPU_ROW_ITEMS 512

typedef struct axis_launch {
    uint32_t kernel, team;
    uint64_t groups;
} axis_launch;

/* Chooses the kernel, the threads of a list and the groups. */
static axis_launch choose(const tally_scan_plan *plan, const axis_call *call) {
    const uint64_t n = call->shape.n, count = call->shape.count, units = plan->base.context->info.compute_units;
    const uint32_t threads = plan->axis.group_threads;
    if (threads == 1) {
        const bool rows = are_rows(call) && n >= CPU_ROW_ITEMS;
        return (axis_launch){.kernel = rows ? TALLY_SCAN_AXIS_ROWS : TALLY_SCAN_AXIS_LISTS,
                             .team = plan->base.terms.list[0].is_index ? TALLY_SCAN_WIDTH : 1,
                             .groups = tally_ceil_div(count, rows ? 1 : TALLY_SCAN_LISTS)};
    }
    const bool is_short = n <= TALLY_ROW_ITEMS;
    const bool is_across =
        nearest(call)->extent > 1 && tally_magnitude(nearest(call)->in[0]) < tally_magnitude(scanned(call)->in[0]);
    axis_launch l = {.team = 1};
    while (l.team < TALLY_SCAN_WIDTH && l.team * TALLY_CELL_ITEMS < n) l.team *= 2;
    while (!is_short && !is_across && l.team < threads && count * l.team / TALLY_SCAN_WIDTH < units * UNIT_WARPS) l.team *= 2;
    l.kernel = is_short ? (is_across ? TALLY_SCAN_AXIS_SHORT_ACROSS : TALLY_SCAN_AXIS_SHORT)
                        : (is_across ? TALLY_SCAN_AXIS_LONG_ACROSS : TALLY_SCAN_AXIS_LONG);
    l.groups = tally_ceil_div(count, threads / l.team);
    return l;
}

static tally_status launch(tally_scan_plan *plan, void *queue, const axis_call *call) {
    const tally_context *context = plan->base.context;
    axis_launch l = choose(plan, call);
    const uint64_t most = UNIT_GROUPS * (uint64_t)context->info.compute_units;
    unsigned char shape[TALLY_SHAPE_MOST_BYTES];
    tally_shape_pack(&call->shape, 1, shape);
    if (l.groups > most) l.groups = most;
    const tally_arg args[TALLY_AXIS_ARGS] = {
        [TALLY_AXIS_ARG_IN] = TALLY_MEM(call->args->in->mem),
        [TALLY_AXIS_ARG_IN_OFFSET] = TALLY_VALUE(call->args->in_offset),
        [TALLY_AXIS_ARG_PARAMS] = {.value = plan->base.params, .bytes = plan->base.terms.param.bytes},
        [TALLY_AXIS_ARG_SHAPE] = {.value = shape, .bytes = tally_shape_bytes(1)},
        [TALLY_AXIS_ARG_COUNT] = TALLY_VALUE(call->shape.count),
        [TALLY_AXIS_ARG_TEAM] = TALLY_VALUE(l.team),
        [TALLY_AXIS_ARG_OUT] = TALLY_MEM(call->args->out->mem),
        [TALLY_AXIS_ARG_OUT_OFFSET] = TALLY_VALUE(call->args->out_offset),
        [TALLY_AXIS_ARG_INITIAL] = {.value = plan->initial, .bytes = tally_dtype_bytes(plan->base.terms.in)}};
    return context->backend->launch(queue, plan->axis_kernels[l.kernel], l.groups, plan->axis.group_threads,
                                    TALLY_ARRAY_LENGTH(args), args);
}

static tally_status scan_axis(tally_plan *base, tally_queue *queue, const tally_scan_axis_args *args) {
    axis_call call;
    const tally_status status = check(base, queue, args, &call);
    tally_scan_plan *plan = (tally_scan_plan *)base;
    if (status || !call.shape.n || !call.shape.count) return status;
    return are_one_by_one(plan, &call) ? launch_one_by_one(plan, queue->handle, &call) : launch(plan, queue->handle, &call);
}

tally_status tally_scan_axis(tally_plan *plan, tally_queue *queue, const tally_scan_axis_args *args) {
    return TALLY_NAMED(scan_axis(plan, queue, args));
}
