/* SPDX-License-Identifier: MIT */
/* The hints of launches: what reductions say that they read. The backend is `host`, whose launches
 * are looked at on their way. */
#include "core.h"
#include "device/device.h"

extern const tally_backend tally_backend_host;

#define ITEMS 300
#define NONE UINT64_MAX

/* The hints of the last call's launches, by input: all launches must have the same. */
static struct {
    void *mem;
    uint64_t from, bytes;
} seen[TALLY_MAX_INPUTS];
static uint32_t inputs, launches;

static tally_status spy_launch(void *queue, void *kernel, uint64_t groups, uint32_t threads, uint32_t count,
                               const tally_arg *args) {
    for (uint32_t a = 0; a < count; a++) {
        const uint32_t k = a / 2;
        if (!args[a].read_bytes) continue;
        assert_true(args[a].mem && a % 2 == 0 && k < inputs); /* an input and its offset take turns */
        if (seen[k].mem) {
            assert_ptr_equal(seen[k].mem, args[a].mem);
            assert_int_equal(seen[k].from, args[a].read_from);
            assert_int_equal(seen[k].bytes, args[a].read_bytes);
        }
        seen[k].mem = args[a].mem;
        seen[k].from = args[a].read_from;
        seen[k].bytes = args[a].read_bytes;
    }
    launches++;
    return tally_backend_host.launch(queue, kernel, groups, threads, count, args);
}

static tally_backend spy;

typedef struct parts {
    tally_context *context;
    tally_queue *queue;
    tally_buffer *in[2], *out, *begins;
    tally_plan *plan;
} parts;

static void open_parts(parts *p) {
    static const float items[ITEMS];
    static const uint64_t begins[4] = {0, 100, 200, ITEMS};
    MUST(tally_context_create("host", &p->context));
    spy = tally_backend_host;
    spy.launch = spy_launch;
    p->context->backend = &spy;
    p->plan = NULL;
    MUST(tally_queue_create(p->context, &p->queue));
    for (int k = 0; k < 2; k++) {
        MUST(tally_buffer_create(p->context, sizeof items, &p->in[k]));
        MUST(tally_buffer_write(p->queue, p->in[k], 0, items, sizeof items));
    }
    MUST(tally_buffer_create(p->context, sizeof items, &p->out));
    MUST(tally_buffer_create(p->context, sizeof begins, &p->begins));
    MUST(tally_buffer_write(p->queue, p->begins, 0, begins, sizeof begins));
    MUST(tally_queue_wait(p->queue));
}

static void close_parts(parts *p) {
    tally_plan_destroy(p->plan);
    tally_buffer_destroy(p->in[0]);
    tally_buffer_destroy(p->in[1]);
    tally_buffer_destroy(p->out);
    tally_buffer_destroy(p->begins);
    tally_queue_destroy(p->queue);
    tally_context_destroy(p->context);
}

static void begin_call(uint32_t count) {
    for (uint32_t k = 0; k < TALLY_MAX_INPUTS; k++) seen[k].mem = NULL;
    inputs = count;
    launches = 0;
}

/* Checks the hint of input k; `from` is NONE if there must be none. */
static void expect_hint(const parts *p, uint32_t k, uint64_t from, uint64_t bytes) {
    MUST(tally_queue_wait(p->queue));
    assert_true(launches > 0);
    assert_ptr_equal(seen[k].mem, from == NONE ? NULL : p->in[k]->mem);
    if (from == NONE) return;
    assert_int_equal(seen[k].from, from);
    assert_int_equal(seen[k].bytes, bytes);
}

/* ---- whole inputs ---------------------------------------------------------------------------- */

static void test_whole(void **unused) {
    (void)unused;
    parts p;
    open_parts(&p);
    const tally_reduce_desc desc = {.size = sizeof desc, .op = TALLY_DOT, .in = TALLY_F32, .max_n = ITEMS};
    MUST(tally_plan_create(p.context, &desc, &p.plan));
    tally_reduce_args args = {.size = sizeof args, .in = {p.in[0], p.in[1]}, .in_offset = {3, 7}, .n = ITEMS - 7, .out = p.out};
    begin_call(2);
    MUST(tally_reduce_with(p.plan, p.queue, &args));
    expect_hint(&p, 0, 12, 4 * (ITEMS - 7));
    expect_hint(&p, 1, 28, 4 * (ITEMS - 7));
    args.n = 0;
    begin_call(2);
    MUST(tally_reduce_with(p.plan, p.queue, &args));
    expect_hint(&p, 0, NONE, 0);
    expect_hint(&p, 1, NONE, 0);
    close_parts(&p);
}

/* ---- segments -------------------------------------------------------------------------------- */

static void test_axes(void **unused) {
    (void)unused;
    /* Two axes, one of them reduced; the hint begins at byte `from`. */
    static const struct {
        uint64_t extents[2];
        int64_t strides[2];
        int reduced;
        uint64_t offset, from;
    } rows[] = {{{20, 10}, {10, 1}, 1, 5, 20},    {{20, 10}, {10, 1}, 0, 5, 20},   {{10, 20}, {1, 10}, 1, 0, 0},
                {{20, 10}, {-10, 1}, 1, 195, 20}, {{20, 10}, {10, -1}, 0, 9, 0},   {{20, 10}, {12, 1}, 1, 5, NONE},
                {{20, 10}, {0, 1}, 1, 5, NONE},   {{20, 10}, {10, 0}, 1, 5, NONE}, {{20, 10}, {1, 1}, 1, 5, NONE},
                {{3, 3}, {2, 2}, 1, 5, NONE},     {{10, 10}, {0, 11}, 1, 0, NONE}, {{0, 10}, {10, 1}, 0, 5, NONE}};
    parts p;
    open_parts(&p);
    const tally_segments_desc desc = {
        .size = sizeof desc, .by = TALLY_BY_AXES, .op = TALLY_SUM, .in = TALLY_F32, .max_n = ITEMS, .max_segments = ITEMS};
    MUST(tally_segments_plan_create(p.context, &desc, &p.plan));
    for (size_t r = 0; r < TALLY_ARRAY_LENGTH(rows); r++) {
        const tally_axis axes[] = {
            {.extent = rows[r].extents[0], .reduced = rows[r].reduced == 0, .in_stride = {rows[r].strides[0]}},
            {.extent = rows[r].extents[1], .reduced = rows[r].reduced == 1, .in_stride = {rows[r].strides[1]}}};
        const tally_axes_args args = {
            .size = sizeof args, .axes = axes, .axis_count = 2, .in = {p.in[0]}, .in_offset = {rows[r].offset}, .out = {p.out}};
        begin_call(1);
        MUST(tally_reduce_axes(p.plan, p.queue, &args));
        expect_hint(&p, 0, rows[r].from, 4 * 20 * 10);
    }
    close_parts(&p);
}

static void test_offsets(void **unused) {
    (void)unused;
    parts p;
    open_parts(&p);
    const tally_segments_desc desc = {
        .size = sizeof desc, .by = TALLY_BY_OFFSETS, .op = TALLY_DOT, .in = TALLY_F32, .max_n = ITEMS, .max_segments = 3};
    MUST(tally_segments_plan_create(p.context, &desc, &p.plan));
    tally_offsets_args args = {.size = sizeof args,
                               .count = 2,
                               .begins = p.begins,
                               .in = {p.in[0], p.in[1]},
                               .in_offset = {8, 2},
                               .n = 200,
                               .out = {p.out}};
    begin_call(2);
    MUST(tally_reduce_offsets(p.plan, p.queue, &args));
    expect_hint(&p, 0, 32, 800);
    expect_hint(&p, 1, 8, 800);
    args.ends = p.begins; /* empty segments, or any others: nothing says what lies between them */
    begin_call(2);
    MUST(tally_reduce_offsets(p.plan, p.queue, &args));
    expect_hint(&p, 0, NONE, 0);
    close_parts(&p);
}

/* A mask is read too. */
static void test_mask(void **unused) {
    (void)unused;
    parts p;
    open_parts(&p);
    const tally_segments_desc desc = {.size = sizeof desc,
                                      .by = TALLY_BY_AXES,
                                      .op = TALLY_SUM,
                                      .in = TALLY_F32,
                                      .flags = TALLY_WHERE,
                                      .max_n = ITEMS,
                                      .max_segments = 1};
    MUST(tally_segments_plan_create(p.context, &desc, &p.plan));
    const tally_axis axis = {.extent = ITEMS, .reduced = 1, .in_stride = {1}, .where_stride = 1};
    const tally_axes_args args = {
        .size = sizeof args, .axes = &axis, .axis_count = 1, .in = {p.in[0]}, .where = p.in[1], .out = {p.out}};
    begin_call(1);
    MUST(tally_reduce_axes(p.plan, p.queue, &args));
    expect_hint(&p, 0, NONE, 0);
    close_parts(&p);
}

/* The keys are equal: one run. */
static void test_keys(void **unused) {
    (void)unused;
    parts p;
    open_parts(&p);
    const tally_segments_desc desc = {.size = sizeof desc,
                                      .by = TALLY_BY_KEYS,
                                      .op = TALLY_SUM,
                                      .in = TALLY_F32,
                                      .key_bytes = 4,
                                      .max_n = ITEMS,
                                      .max_segments = 3};
    MUST(tally_segments_plan_create(p.context, &desc, &p.plan));
    const tally_keys_args args = {
        .size = sizeof args, .keys = p.in[1], .in = {p.in[0]}, .n = ITEMS, .capacity = 3, .out = {p.out}, .runs = p.begins};
    begin_call(1);
    MUST(tally_reduce_keys(p.plan, p.queue, &args));
    expect_hint(&p, 0, NONE, 0);
    close_parts(&p);
}

const core_test hint_tests[] = {{"hints of whole inputs", test_whole},          {"hints of segments by axes", test_axes},
                                {"hints of segments by offsets", test_offsets}, {"no hints with a mask", test_mask},
                                {"no hints of segments by keys", test_keys},    {0}};
