/* SPDX-License-Identifier: MIT */
/* Calls by axes, offsets and keys that are wrong. Each gives E_ARGUMENT and a text that names the
 * culprit, and writes nothing. Calls next to them are taken. */
#include "segments.h"

/* ---- by axes --------------------------------------------------------------------------------- */

/* A call that is right: 10 rows of 12 items, reduced along them. */
typedef struct axes_call {
    tally_axis axes[TALLY_MAX_AXES + 1];
    tally_axes_args args;
} axes_call;

static axes_call good_axes(const segment_parts *p) {
    return (axes_call){.axes = {{.extent = 10, .in_stride = {12, 12}, .where_stride = 12, .out_stride = 1},
                                {.extent = 12, .reduced = 1, .in_stride = {1, 1}, .where_stride = 1}},
                       .args = {.size = sizeof(tally_axes_args), .axis_count = 2, .in = {p->in}, .out = {p->out}}};
}

static tally_status run_axes(segment_parts *p, tally_plan *plan, axes_call *c) {
    if (!c->args.axes) c->args.axes = c->axes;
    return tally_reduce_axes(plan, p->queue, &c->args);
}

#define BAD_AXES(plan, change, ...)                                                                                            \
    do {                                                                                                                       \
        axes_call c = good_axes(&p);                                                                                           \
        change;                                                                                                                \
        BAD(run_axes(&p, plan, &c), "tally_reduce_axes", __VA_ARGS__);                                                         \
    } while (0)

static void test_axes_handles(void **unused) {
    (void)unused;
    segment_parts p;
    segments_open(&p);
    axes_call good = good_axes(&p);
    good.args.axes = good.axes;
    BAD(tally_reduce_axes(NULL, p.queue, &good.args), "tally_reduce_axes", "plan is NULL");
    BAD(tally_reduce_axes(p.axes, NULL, &good.args), "tally_reduce_axes", "queue is NULL");
    BAD(tally_reduce_axes(p.axes, p.queue, NULL), "tally_reduce_axes", "args is NULL");
    BAD(tally_reduce_axes(p.axes, p.other_queue, &good.args), "tally_reduce_axes", "queue belongs to another context");
    BAD(tally_reduce_axes((tally_plan *)(void *)p.queue, p.queue, &good.args), "plan is no plan");
    BAD_AXES(p.offsets, (void)0, "plan");
    BAD_AXES(p.keys, (void)0, "plan");
    BAD_AXES(p.whole, (void)0, "plan");
    BAD_AXES(p.axes, c.args.size = 8, "args.size");
    BAD_AXES(p.axes, c.args.size = sizeof c.args + 8, "args.size");
    BAD_AXES(p.axes, c.args.axis_count = TALLY_MAX_AXES + 1, "axis_count is 17");
    BAD_AXES(p.axes, c.args.in[0] = NULL, "in is NULL");
    BAD_AXES(p.axes, c.args.in[0] = p.strange, "in belongs to another context");
    BAD_AXES(p.axes, c.args.in[0] = (const tally_buffer *)(const void *)p.queue, "in is no buffer");
    BAD_AXES(p.axes, c.args.out[0] = NULL, "out is NULL");
    BAD_AXES(p.axes, c.args.out[0] = p.strange, "out belongs to another context");
    BAD_AXES(p.pairs, (void)0, "in[1] is NULL");
    BAD_AXES(p.apart, (void)0, "out[1] is NULL");
    BAD_AXES(p.masked, (void)0, "where is NULL");
    BAD_AXES(p.masked, c.args.where = p.strange, "where belongs to another context");
    BAD_AXES(p.axes, c.args.where = p.where, "where", "TALLY_WHERE");
    good.args.axes = NULL;
    BAD(tally_reduce_axes(p.axes, p.queue, &good.args), "tally_reduce_axes", "axes is NULL");
    segments_untouched(&p);
    segments_close(&p);
}

static void test_axes_sizes(void **unused) {
    (void)unused;
    segment_parts p;
    const uint64_t all = UINT64_MAX, wide = UINT64_C(1) << 33;
    segments_open(&p);
    /* The plan's limits. */
    BAD_AXES(p.axes, (c.axes[1].extent = 16, c.axes[0].in_stride[0] = 1), "160", "max_n is 150");
    BAD_AXES(p.axes, (c.axes[0].extent = 51, c.axes[1].extent = 1, c.axes[0].in_stride[0] = 1), "51", "max_segments is 50");
    BAD_AXES(p.axes, (c.axes[0].extent = 51, c.axes[1].extent = 0), "51", "max_segments is 50");
    /* Products beyond 64 bits. */
    BAD_AXES(p.axes, (c.axes[0] = (tally_axis){.extent = wide}, c.axes[1] = (tally_axis){.extent = wide, .reduced = 1}),
             "64 bits");
    BAD_AXES(p.axes, (c.axes[0] = c.axes[1] = (tally_axis){.extent = wide, .reduced = 1}), "64 bits");
    BAD_AXES(p.axes, (c.axes[0] = c.axes[1] = (tally_axis){.extent = wide}), "64 bits");
    /* Not those of an array without items. */
    axes_call empty = good_axes(&p);
    empty.axes[0] = (tally_axis){.extent = 0};
    empty.axes[1] = empty.axes[2] = (tally_axis){.extent = wide};
    empty.args.axis_count = 3;
    MUST(run_axes(&p, p.axes, &empty));
    /* Wherever the extent of 0 stands. Segments without items have a number that must fit too. */
    empty.axes[0].extent = wide;
    empty.axes[2].extent = 0;
    MUST(run_axes(&p, p.axes, &empty));
    BAD_AXES(p.axes,
             (c.axes[0] = c.axes[1] = (tally_axis){.extent = wide}, c.axes[2] = (tally_axis){.extent = 0, .reduced = 1},
              c.args.axis_count = 3),
             "64 bits");
    /* Items outside their buffer. */
    BAD_AXES(p.axes, c.args.in_offset[0] = 81, "in");
    BAD_AXES(p.axes, c.args.in_offset[0] = all, "in");
    BAD_AXES(p.axes, c.args.in_offset[0] = UINT64_C(1) << 62, "in");
    BAD_AXES(p.axes, c.axes[0].in_stride[0] = 21, "in");
    BAD_AXES(p.axes, c.axes[0].in_stride[0] = -12, "in");
    BAD_AXES(p.axes, (c.axes[0].in_stride[0] = -12, c.args.in_offset[0] = 107), "in");
    BAD_AXES(p.axes, (c.axes[0].in_stride[0] = -12, c.args.in_offset[0] = 189), "in");
    BAD_AXES(p.axes, c.axes[0].in_stride[0] = INT64_MAX, "in");
    BAD_AXES(p.axes, c.axes[0].in_stride[0] = INT64_MIN, "in");
    BAD_AXES(p.axes, c.axes[0].in_stride[0] = INT64_C(1) << 62, "in");
    BAD_AXES(p.pairs, (c.args.in[1] = p.in, c.axes[1].in_stride[1] = 9), "in[1]");
    BAD_AXES(p.masked, (c.args.where = p.where, c.args.where_offset = 81), "where");
    BAD_AXES(p.masked, (c.args.where = p.where, c.axes[0].where_stride = -1), "where");
    BAD_AXES(p.masked, (c.args.where = p.where, c.args.where_offset = all), "where");
    /* Results outside theirs. */
    BAD_AXES(p.axes, c.args.out_offset[0] = 51, "out");
    BAD_AXES(p.axes, c.args.out_offset[0] = all, "out");
    BAD_AXES(p.axes, c.args.out_offset[0] = UINT64_C(1) << 62, "out");
    BAD_AXES(p.axes, (c.args.out_strided = 1, c.axes[0].out_stride = 7), "out");
    BAD_AXES(p.axes, (c.args.out_strided = 1, c.axes[0].out_stride = -1), "out");
    BAD_AXES(p.axes, (c.args.out_strided = 1, c.axes[0].out_stride = INT64_MIN), "out");
    BAD_AXES(p.apart, (c.args.out[1] = p.out2, c.args.out_offset[1] = 51), "out[1]");
    segments_untouched(&p);
    segments_close(&p);
}

/* Two kept axes, of 3 and 4, with these strides of results. */
static tally_axis kept_axis(uint64_t extent, int64_t in_stride, int64_t out_stride) {
    return (tally_axis){.extent = extent, .in_stride = {in_stride}, .out_stride = out_stride};
}

static void strided(axes_call *c, int64_t first, int64_t second) {
    c->args.out_strided = 1;
    c->args.out_offset[0] = 25;
    c->axes[0] = kept_axis(3, 4, first);
    c->axes[1] = kept_axis(4, 1, second);
}

static void test_axes_overlap(void **unused) {
    (void)unused;
    segment_parts p;
    segments_open(&p);
    /* Results on each other. */
    BAD_AXES(p.axes, (c.args.out_strided = 1, c.axes[0].out_stride = 0), "out", "overlap");
    BAD_AXES(p.axes, strided(&c, 1, 1), "out", "overlap");
    BAD_AXES(p.axes, strided(&c, 3, 1), "out", "overlap");
    BAD_AXES(p.axes, strided(&c, -3, 1), "out", "overlap");
    BAD_AXES(p.axes, strided(&c, 2, 4), "out", "overlap");
    BAD_AXES(p.axes, strided(&c, 2, 3), "out", "overlap"); /* no two meet, but 3 does not pass over all of 0, 2, 4 */
    BAD_AXES(p.apart, c.args.out[1] = p.out, "out[1]", "overlap");
    BAD_AXES(p.apart, (c.args.out[1] = p.out, c.args.out_offset[1] = 9), "out[1]", "overlap");
    /* Results on items and on the mask. */
    BAD_AXES(p.axes, c.args.out[0] = p.in, "in and out overlap");
    BAD_AXES(p.axes, (c.args.out[0] = p.in, c.args.out_offset[0] = 119), "in and out overlap");
    BAD_AXES(p.masked, (c.args.where = p.where, c.args.out[0] = p.where), "where and out overlap");
    segments_untouched(&p);
    segments_close(&p);
}

#define GOOD_AXES(plan, change)                                                                                                \
    do {                                                                                                                       \
        axes_call c = good_axes(&p);                                                                                           \
        change;                                                                                                                \
        MUST(run_axes(&p, plan, &c));                                                                                          \
    } while (0)

/* Calls next to those that are refused. */
static void test_axes_taken(void **unused) {
    (void)unused;
    segment_parts p;
    segments_open(&p);
    GOOD_AXES(p.axes, c.args.in_offset[0] = 80);
    GOOD_AXES(p.axes, c.args.out_offset[0] = 50);
    GOOD_AXES(p.axes, (c.axes[0].in_stride[0] = -12, c.args.in_offset[0] = 108));
    GOOD_AXES(p.axes, (c.axes[0].in_stride[0] = -12, c.args.in_offset[0] = 188));
    GOOD_AXES(p.axes, c.axes[0].in_stride[0] = 20);
    GOOD_AXES(p.axes, c.axes[0].in_stride[0] = c.axes[1].in_stride[0] = 0);
    GOOD_AXES(p.axes, (c.axes[0].extent = 50, c.axes[1].extent = 3, c.axes[0].in_stride[0] = 3));
    GOOD_AXES(p.axes, (c.args.out[0] = p.in, c.args.out_offset[0] = 120));
    GOOD_AXES(p.axes, (c.args.out_strided = 1, c.axes[0].out_stride = 6));
    GOOD_AXES(p.axes, (c.args.out_strided = 1, c.axes[0].out_stride = -1, c.args.out_offset[0] = 9));
    GOOD_AXES(p.axes, strided(&c, 4, 1));
    GOOD_AXES(p.axes, strided(&c, 1, -3));
    GOOD_AXES(p.axes, strided(&c, -7, 2));
    GOOD_AXES(p.axes, (c.axes[0].extent = 1, c.args.out_strided = 1, c.axes[0].out_stride = 0));
    GOOD_AXES(p.axes, (c.axes[0].extent = 0, c.axes[0].in_stride[0] = INT64_MAX, c.args.out_offset[0] = 60));
    GOOD_AXES(p.axes, (c.axes[1].extent = 0, c.axes[1].in_stride[0] = INT64_MIN, c.args.in_offset[0] = 200));
    GOOD_AXES(p.axes, (c.axes[1].extent = 1, c.axes[1].in_stride[0] = INT64_MIN));
    GOOD_AXES(p.axes, (c.axes[0] = c.axes[1] = (tally_axis){.extent = UINT64_C(1) << 40, .reduced = 1},
                       c.axes[2] = (tally_axis){.extent = 0, .reduced = 1}, c.args.axis_count = 3));
    GOOD_AXES(p.axes, (c.args.axis_count = 0, c.args.in_offset[0] = 199, c.args.out_offset[0] = 59));
    GOOD_AXES(p.apart, (c.args.out[1] = p.out, c.args.out_offset[1] = 10));
    GOOD_AXES(p.pairs, (c.args.in[1] = p.in, c.axes[0].in_stride[1] = 0));
    GOOD_AXES(p.masked, c.args.where = p.where);
    MUST(tally_queue_wait(p.queue));
    segments_close(&p);
}

/* ---- by offsets ------------------------------------------------------------------------------ */

/* A call that is right: 20 empty segments of 100 items. */
static tally_offsets_args good_offsets(const segment_parts *p) {
    return (tally_offsets_args){
        .size = sizeof(tally_offsets_args), .count = 20, .begins = p->begins, .in = {p->in}, .n = 100, .out = {p->out}};
}

#define BAD_OFFSETS(plan, change, ...)                                                                                         \
    do {                                                                                                                       \
        tally_offsets_args c = good_offsets(&p);                                                                               \
        change;                                                                                                                \
        BAD(tally_reduce_offsets(plan, p.queue, &c), "tally_reduce_offsets", __VA_ARGS__);                                     \
    } while (0)
#define GOOD_OFFSETS(plan, change)                                                                                             \
    do {                                                                                                                       \
        tally_offsets_args c = good_offsets(&p);                                                                               \
        change;                                                                                                                \
        MUST(tally_reduce_offsets(plan, p.queue, &c));                                                                         \
    } while (0)

static void test_offsets(void **unused) {
    (void)unused;
    segment_parts p;
    const uint64_t all = UINT64_MAX;
    segments_open(&p);
    const tally_offsets_args good = good_offsets(&p);
    BAD(tally_reduce_offsets(NULL, p.queue, &good), "tally_reduce_offsets", "plan is NULL");
    BAD(tally_reduce_offsets(p.offsets, NULL, &good), "tally_reduce_offsets", "queue is NULL");
    BAD(tally_reduce_offsets(p.offsets, p.queue, NULL), "tally_reduce_offsets", "args is NULL");
    BAD(tally_reduce_offsets(p.offsets, p.other_queue, &good), "queue belongs to another context");
    BAD_OFFSETS(p.axes, (void)0, "plan");
    BAD_OFFSETS(p.keys, (void)0, "plan");
    BAD_OFFSETS(p.offsets, c.size = 8, "args.size");
    BAD_OFFSETS(p.offsets, c.begins = NULL, "begins is NULL");
    BAD_OFFSETS(p.offsets, c.begins = p.strange, "begins belongs to another context");
    BAD_OFFSETS(p.offsets, c.ends = p.strange, "ends belongs to another context");
    BAD_OFFSETS(p.offsets, c.in[0] = NULL, "in is NULL");
    BAD_OFFSETS(p.offsets, c.out[0] = NULL, "out is NULL");
    BAD_OFFSETS(p.offsets, c.where = p.where, "where", "TALLY_WHERE");
    BAD_OFFSETS(p.offsets, c.count = 51, "51", "max_segments is 50");
    BAD_OFFSETS(p.offsets, c.count = all, "max_segments is 50");
    BAD_OFFSETS(p.offsets, c.n = 151, "151", "max_n is 150");
    BAD_OFFSETS(p.offsets, c.n = all, "max_n is 150");
    BAD_OFFSETS(p.offsets, c.in_offset[0] = 101, "in");
    BAD_OFFSETS(p.offsets, c.in_offset[0] = all, "in");
    BAD_OFFSETS(p.offsets, c.begins_offset = 40, "begins"); /* 21 entries of 60 */
    BAD_OFFSETS(p.offsets, c.begins_offset = all, "begins");
    BAD_OFFSETS(p.offsets, (c.ends = p.lengths, c.begins_offset = 41), "begins");
    BAD_OFFSETS(p.offsets, (c.ends = p.lengths, c.ends_offset = 41), "ends");
    BAD_OFFSETS(p.offsets, c.out_offset[0] = 41, "out");
    BAD_OFFSETS(p.offsets, c.out_offset[0] = all, "out");
    BAD_OFFSETS(p.offsets, c.out[0] = p.in, "in and out overlap");
    BAD_OFFSETS(p.offsets, c.out[0] = p.begins, "begins and out overlap");
    BAD_OFFSETS(p.offsets, (c.begins = p.in, c.ends = p.begins, c.out[0] = p.begins), "ends and out overlap");
    segments_untouched(&p);
    GOOD_OFFSETS(p.offsets, c.begins_offset = 39);
    GOOD_OFFSETS(p.offsets, (c.ends = p.begins, c.begins_offset = c.ends_offset = 40));
    GOOD_OFFSETS(p.offsets, c.out_offset[0] = 40);
    GOOD_OFFSETS(p.offsets, c.in_offset[0] = 100);
    GOOD_OFFSETS(p.offsets, c.n = 0);
    GOOD_OFFSETS(p.offsets, c.count = 0);
    GOOD_OFFSETS(p.offsets, (c.out[0] = p.in, c.out_offset[0] = 100));
    MUST(tally_queue_wait(p.queue));
    segments_close(&p);
}

/* ---- offsets of the plan's own --------------------------------------------------------------- */

#define BAD_KEEP(plan, change, ...)                                                                                            \
    do {                                                                                                                       \
        tally_offsets_args c = good_offsets(&p);                                                                               \
        change;                                                                                                                \
        BAD(tally_plan_keep_offsets(plan, p.queue, &c), "tally_plan_keep_offsets", __VA_ARGS__);                               \
    } while (0)

static void test_keep(void **unused) {
    (void)unused;
    uint64_t offsets[21];
    segment_parts p;
    segments_open(&p);
    const tally_offsets_args good = good_offsets(&p);
    BAD(tally_plan_keep_offsets(NULL, p.queue, &good), "tally_plan_keep_offsets", "plan is NULL");
    BAD(tally_plan_keep_offsets(p.offsets, NULL, &good), "tally_plan_keep_offsets", "queue is NULL");
    BAD(tally_plan_keep_offsets(p.offsets, p.queue, NULL), "tally_plan_keep_offsets", "args is NULL");
    BAD(tally_plan_keep_offsets(p.offsets, p.other_queue, &good), "queue belongs to another context");
    BAD_KEEP(p.axes, (void)0, "plan is of segments by axes, not by offsets");
    BAD_KEEP(p.offsets, c.size = 8, "args.size");
    BAD_KEEP(p.offsets, c.begins = NULL, "begins is NULL");
    BAD_KEEP(p.offsets, c.begins = p.strange, "begins belongs to another context");
    BAD_KEEP(p.offsets, c.count = 51, "51", "max_segments is 50");
    BAD_KEEP(p.offsets, c.n = 151, "151", "max_n is 150");
    BAD_KEEP(p.offsets, c.begins_offset = 40, "begins");
    for (uint64_t s = 0; s <= 20; s++) offsets[s] = 5 * s;
    offsets[7] = 101;
    MUST(tally_buffer_write(p.queue, p.begins, 0, offsets, sizeof(offsets)));
    BAD_KEEP(p.offsets, (void)0, "offset 7 is 101: segment 6 ends beyond the input's 100 items");
    BAD_OFFSETS(p.offsets, c.begins = NULL, "begins is NULL", "tally_plan_keep_offsets");
    offsets[7] = 35;
    const uint64_t before = tally_plan_workspace_bytes(p.offsets);
    MUST(tally_buffer_write(p.queue, p.begins, 0, offsets, sizeof(offsets)));
    MUST(tally_plan_keep_offsets(p.offsets, p.queue, &good));
    assert_true(tally_plan_workspace_bytes(p.offsets) >= before + sizeof(offsets));
    GOOD_OFFSETS(p.offsets, c.begins = NULL);
    BAD_OFFSETS(p.offsets, (c.begins = NULL, c.count = 19), "count is 19", "20 segments");
    BAD_OFFSETS(p.offsets, (c.begins = NULL, c.n = 99), "n 99", "100 items");
    BAD_OFFSETS(p.offsets, (c.begins = NULL, c.ends = p.lengths), "begins is NULL");
    offsets[3] = 1;
    MUST(tally_buffer_write(p.queue, p.begins, 0, offsets, sizeof(offsets)));
    BAD_KEEP(p.offsets, (void)0, "offset 3 is 1: segment 2 ends before it begins, at 10");
    GOOD_OFFSETS(p.offsets, c.begins = NULL); /* the earlier ones stay */
    MUST(tally_queue_wait(p.queue));
    segments_close(&p);
}

/* ---- by keys --------------------------------------------------------------------------------- */

/* A call that is right: 100 keys, of one run, and room for 20. */
static tally_keys_args good_keys(const segment_parts *p) {
    return (tally_keys_args){.size = sizeof(tally_keys_args),
                             .keys = p->begins,
                             .in = {p->in},
                             .n = 100,
                             .capacity = 20,
                             .out_keys = p->out2,
                             .out = {p->out},
                             .lengths = p->lengths,
                             .runs = p->runs};
}

#define BAD_KEYS(plan, change, ...)                                                                                            \
    do {                                                                                                                       \
        tally_keys_args c = good_keys(&p);                                                                                     \
        change;                                                                                                                \
        BAD(tally_reduce_keys(plan, p.queue, &c), "tally_reduce_keys", __VA_ARGS__);                                           \
    } while (0)
#define GOOD_KEYS(plan, change)                                                                                                \
    do {                                                                                                                       \
        tally_keys_args c = good_keys(&p);                                                                                     \
        change;                                                                                                                \
        MUST(tally_reduce_keys(plan, p.queue, &c));                                                                            \
    } while (0)

/* Each output must be apart from the mask too. */
static void test_keys_mask(segment_parts *parts) {
    segment_parts p = *parts;
    tally_segments_desc desc = segments_desc(TALLY_BY_KEYS);
    tally_plan *masked;
    desc.flags = TALLY_WHERE;
    MUST(tally_segments_plan_create(p.context, &desc, &masked));
    BAD_KEYS(masked, (void)0, "where is NULL");
    BAD_KEYS(masked, (c.where = p.where, c.out[0] = p.where), "where and out overlap");
    BAD_KEYS(masked, (c.where = p.where, c.out_keys = p.where), "where and out_keys overlap");
    BAD_KEYS(masked, (c.where = p.where, c.lengths = p.where), "where and lengths overlap");
    BAD_KEYS(masked, (c.where = p.where, c.runs = p.where, c.runs_offset = 12), "where and runs overlap");
    segments_untouched(&p);
    GOOD_KEYS(masked, (c.where = p.where, c.runs = p.where, c.runs_offset = 13));
    MUST(tally_queue_wait(p.queue));
    tally_plan_destroy(masked);
}

static void test_keys(void **unused) {
    (void)unused;
    segment_parts p;
    const uint64_t all = UINT64_MAX;
    segments_open(&p);
    const tally_keys_args good = good_keys(&p);
    BAD(tally_reduce_keys(NULL, p.queue, &good), "tally_reduce_keys", "plan is NULL");
    BAD(tally_reduce_keys(p.keys, NULL, &good), "tally_reduce_keys", "queue is NULL");
    BAD(tally_reduce_keys(p.keys, p.queue, NULL), "tally_reduce_keys", "args is NULL");
    BAD(tally_reduce_keys(p.keys, p.other_queue, &good), "queue belongs to another context");
    BAD_KEYS(p.axes, (void)0, "plan");
    BAD_KEYS(p.offsets, (void)0, "plan");
    BAD_KEYS(p.keys, c.size = 8, "args.size");
    BAD_KEYS(p.keys, c.keys = NULL, "keys is NULL");
    BAD_KEYS(p.keys, c.in[0] = NULL, "in is NULL");
    BAD_KEYS(p.keys, c.out[0] = NULL, "out is NULL");
    BAD_KEYS(p.keys, c.runs = NULL, "runs is NULL");
    BAD_KEYS(p.keys, c.keys = p.strange, "keys belongs to another context");
    BAD_KEYS(p.keys, c.lengths = p.strange, "lengths belongs to another context");
    BAD_KEYS(p.keys, c.where = p.where, "where", "TALLY_WHERE");
    BAD_KEYS(p.keys, c.n = 151, "151", "max_n is 150");
    BAD_KEYS(p.keys, c.n = all, "max_n is 150");
    BAD_KEYS(p.keys, c.capacity = 51, "51", "max_segments is 50");
    BAD_KEYS(p.keys, c.capacity = all, "max_segments is 50");
    BAD_KEYS(p.keys, c.keys_offset = 21, "keys"); /* 120 keys of 4 bytes */
    BAD_KEYS(p.keys, c.keys_offset = all, "keys");
    BAD_KEYS(p.keys, c.in_offset[0] = 101, "in");
    BAD_KEYS(p.keys, c.out_offset[0] = 41, "out");
    BAD_KEYS(p.keys, c.out_keys_offset = 41, "out_keys");
    BAD_KEYS(p.keys, c.lengths_offset = 41, "lengths");
    BAD_KEYS(p.keys, c.runs_offset = 1, "runs");
    BAD_KEYS(p.keys, c.runs_offset = all, "runs");
    BAD_KEYS(p.keys, c.out[0] = p.in, "in and out overlap");
    BAD_KEYS(p.keys, c.out[0] = p.begins, "keys and out overlap");
    BAD_KEYS(p.keys, c.out_keys = p.begins, "keys and out_keys overlap");
    BAD_KEYS(p.keys, c.lengths = p.begins, "keys and lengths overlap");
    BAD_KEYS(p.keys, c.runs = p.begins, "keys and runs overlap");
    BAD_KEYS(p.keys, c.lengths = p.in, "in and lengths overlap");
    BAD_KEYS(p.keys, c.out_keys = p.out, "overlap");
    BAD_KEYS(p.keys, (c.lengths = p.runs, c.capacity = 1), "overlap");
    segments_untouched(&p);
    test_keys_mask(&p);
    GOOD_KEYS(p.keys, c.keys_offset = 20);
    GOOD_KEYS(p.keys, (c.out_keys = NULL, c.lengths = NULL));
    GOOD_KEYS(p.keys, (c.out_offset[0] = c.out_keys_offset = c.lengths_offset = 40));
    GOOD_KEYS(p.keys, (c.n = 0, c.capacity = 0));
    GOOD_KEYS(p.keys, (c.out_keys = p.out, c.out_keys_offset = 20));
    MUST(tally_queue_wait(p.queue));
    segments_close(&p);
}

/* ---- host arrays ----------------------------------------------------------------------------- */

#define BAD_HOST(status, change, ...)                                                                                          \
    do {                                                                                                                       \
        tally_segments_desc desc = segments_desc(TALLY_BY_AXES);                                                               \
        axes_call c = good_axes(&p);                                                                                           \
        tally_host_axes array = {.size = sizeof array, .axes = c.axes, .axis_count = 2, .in = {items}, .out = {results}};      \
        change;                                                                                                                \
        REFUSED(tally_reduce_host_axes(p.context, &desc, &array), status, "tally_reduce_host_axes", __VA_ARGS__);              \
    } while (0)

static void test_host_arrays(void **unused) {
    (void)unused;
    static float items[120], results[10];
    static const uint8_t where[120];
    const uint64_t wide = UINT64_C(1) << 33;
    segment_parts p;
    segments_open(&p);
    for (int r = 0; r < 10; r++) results[r] = 77;
    BAD_HOST(TALLY_E_ARGUMENT, desc.size = 8, "desc.size");
    BAD_HOST(TALLY_E_ARGUMENT, desc.by = TALLY_BY_OFFSETS, "desc.by");
    BAD_HOST(TALLY_E_ARGUMENT, desc.op = 0, "desc.op");
    BAD_HOST(TALLY_E_UNSUPPORTED, desc.op = TALLY_BAND, "band does not take f32");
    BAD_HOST(TALLY_E_ARGUMENT, array.size = 8, "array.size");
    BAD_HOST(TALLY_E_ARGUMENT, array.axes = NULL, "axes is NULL");
    BAD_HOST(TALLY_E_ARGUMENT, array.axis_count = 17, "axis_count is 17");
    BAD_HOST(TALLY_E_ARGUMENT, array.in[0] = NULL, "in is NULL");
    BAD_HOST(TALLY_E_ARGUMENT, array.out[0] = NULL, "out is NULL");
    BAD_HOST(TALLY_E_ARGUMENT, array.where = where, "where", "TALLY_WHERE");
    BAD_HOST(TALLY_E_ARGUMENT, desc.flags = TALLY_WHERE, "where is NULL");
    BAD_HOST(TALLY_E_ARGUMENT, (c.axes[0].extent = c.axes[1].extent = wide), "64 bits");
    BAD_HOST(TALLY_E_ARGUMENT, (array.out_strided = 1, c.axes[0].out_stride = 0), "out", "overlap");
    BAD_HOST(TALLY_E_ARGUMENT, (array.out_strided = 1, c.axes[0].out_stride = INT64_C(1) << 59), "beyond any memory");
    BAD_HOST(TALLY_E_ARGUMENT, (array.out_strided = 1, c.axes[0].out_stride = INT64_C(1) << 62), "beyond any memory");
    BAD_HOST(TALLY_E_ARGUMENT, array.out[0] = items, "in and out overlap");
    tally_segments_desc desc = segments_desc(0);
    axes_call c = good_axes(&p);
    tally_host_axes array = {.size = sizeof array, .axes = c.axes, .axis_count = 2, .in = {items}, .out = {results}};
    BAD(tally_reduce_host_axes(p.context, NULL, &array), "tally_reduce_host_axes", "desc is NULL");
    BAD(tally_reduce_host_axes(p.context, &desc, NULL), "tally_reduce_host_axes", "array is NULL");
    BAD(tally_reduce_host_axes(NULL, &desc, &array), "tally_reduce_host_axes", "context");
    for (int r = 0; r < 10; r++) assert_true(results[r] == 77);
    desc.max_n = desc.max_segments = 1; /* ignored, as is by = 0 */
    MUST(tally_reduce_host_axes(p.context, &desc, &array));
    for (int r = 0; r < 10; r++) assert_true(results[r] == 0);
    segments_close(&p);
}

const core_test segments_argument_tests[] = {
    {"segments: axes, handles", test_axes_handles},
    {"segments: axes, sizes", test_axes_sizes},
    {"segments: axes, overlap", test_axes_overlap},
    {"segments: axes that are taken", test_axes_taken},
    {"segments: offsets, arguments", test_offsets},
    {"segments: offsets, kept", test_keep},
    {"segments: keys, arguments", test_keys},
    {"segments: host arrays, arguments", test_host_arrays},
    {NULL, NULL},
};
