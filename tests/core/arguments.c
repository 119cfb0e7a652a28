/* SPDX-License-Identifier: MIT */
/* Ranges, lengths and descriptors that are wrong or that the device cannot serve. Each gives its
 * status and a text that names the culprit. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/calls.h"
#include "core.h"

/* ---- ranges ---------------------------------------------------------------------------------- */

static void test_copy_ranges(void **unused) {
    (void)unused;
    side s;
    float x[SIDE_ITEMS] = {0};
    const uint64_t bytes = sizeof x, all = UINT64_MAX;
    open_side(&s, "stub");
    const int copies = stub.copies;
    const uint64_t ranges[][2] = {{0, bytes + 1},
                                  {bytes, 1},
                                  {bytes + 1, 0},
                                  {1, bytes},
                                  {all, 0},
                                  {all, 1},
                                  {8, all},
                                  {8, all - 7},
                                  {all, all},
                                  {all - 3, 8},
                                  {all / 2 + 1, all / 2 + 1}};
    for (size_t i = 0; i < TALLY_ARRAY_LENGTH(ranges); i++) {
        BAD(tally_buffer_write(s.queue, s.in, ranges[i][0], x, ranges[i][1]), "tally_buffer_write");
        BAD(tally_buffer_read(s.queue, s.in, ranges[i][0], x, ranges[i][1]), "tally_buffer_read");
    }
    assert_int_equal(stub.copies, copies);
    MUST(tally_buffer_write(s.queue, s.in, 0, x, bytes));
    MUST(tally_buffer_write(s.queue, s.in, bytes, x, 0));
    MUST(tally_queue_wait(s.queue));
    close_side(&s);
    SOUND();
}

static void test_reduce_ranges(void **unused) {
    (void)unused;
    side s;
    tally_plan *unlimited, *short_plan;
    tally_reduce_desc desc = side_desc;
    open_side(&s, "stub");
    desc.max_n = 0;
    MUST(tally_plan_create(s.context, &desc, &unlimited));
    desc.max_n = 50;
    MUST(tally_plan_create(s.context, &desc, &short_plan));
    const uint64_t all = UINT64_MAX, wraps = UINT64_C(1) << 62; /* `wraps` times 4 bytes is 0 */
    const int launches = stub.launches;
    BAD(tally_reduce(s.plan, s.queue, s.in, SIDE_ITEMS + 1, s.out), "tally_reduce", "in");
    BAD(tally_reduce(short_plan, s.queue, s.in, 51, s.out), "tally_reduce", "max_n", "51", "50");
    static const int plans = 2;
    for (int p = 0; p < plans; p++) {
        tally_plan *plan = p ? unlimited : s.plan;
        const uint64_t in_ranges[][2] = {{1, SIDE_ITEMS}, {SIDE_ITEMS, 1}, {SIDE_ITEMS + 1, 0},
                                         {all, 1},        {all, 0},        {wraps, 1},
                                         {wraps * 2, 1},  {wraps - 1, 1},  {all - SIDE_ITEMS + 2, SIDE_ITEMS}};
        for (size_t i = 0; i < TALLY_ARRAY_LENGTH(in_ranges); i++)
            BAD(reduce_at(plan, s.queue, s.in, in_ranges[i][0], in_ranges[i][1], s.out, 0), "tally_reduce", "in");
        const uint64_t out_offsets[] = {2, 3, wraps, wraps * 2, all};
        for (size_t i = 0; i < TALLY_ARRAY_LENGTH(out_offsets); i++)
            BAD(reduce_at(plan, s.queue, s.in, 0, 1, s.out, out_offsets[i]), "tally_reduce", "out");
    }
    assert_int_not_equal(tally_reduce(unlimited, s.queue, s.in, wraps, s.out), TALLY_OK);
    assert_int_not_equal(tally_reduce(unlimited, s.queue, s.in, all, s.out), TALLY_OK);
    assert_int_equal(stub.launches, launches);
    MUST(reduce_at(s.plan, s.queue, s.in, SIDE_ITEMS, 0, s.out, 1));
    MUST(reduce_at(s.plan, s.queue, s.in, 0, SIDE_ITEMS, s.out, 1));
    MUST(tally_queue_wait(s.queue));
    tally_plan_destroy(unlimited);
    tally_plan_destroy(short_plan);
    close_side(&s);
    SOUND();
}

/* The offset in `out` counts results. A result may have several values: pairs of minmax, structs of
 * several ops. */
static void test_out_offsets(void **unused) {
    (void)unused;
    static const tally_term_desc several[] = {{.op = TALLY_ANY}, {.op = TALLY_SUM}, {.op = TALLY_MIN}};
    const struct {
        tally_reduce_desc desc;
        uint64_t bytes;
    } cases[] = {{{.op = TALLY_SUM, .in = TALLY_F32}, 4},
                 {{.op = TALLY_MINMAX, .in = TALLY_F32}, 8},
                 {{.op = TALLY_MINMAX, .in = TALLY_F32, .out = TALLY_F64}, 16},
                 {{.op = TALLY_SUM, .in = TALLY_C64}, 8},
                 {{.terms = several, .term_count = 3, .in = TALLY_F32}, 12}};
    enum { ROOM = 5 };
    for (size_t c = 0; c < TALLY_ARRAY_LENGTH(cases); c++) {
        side s;
        tally_plan *plan;
        tally_buffer *out;
        const uint64_t bytes = cases[c].bytes;
        float x[2 * SIDE_ITEMS];
        unsigned char before[ROOM * 16], after[ROOM * 16];
        tally_reduce_desc desc = cases[c].desc;
        desc.size = sizeof desc;
        desc.max_n = SIDE_ITEMS;
        open_side(&s, "stub");
        for (int i = 0; i < 2 * SIDE_ITEMS; i++) x[i] = (float)(i + 1);
        memset(before, 0x5a, sizeof before);
        MUST(tally_plan_create(s.context, &desc, &plan));
        assert_int_equal(tally_plan_result_bytes(plan), bytes);
        MUST(tally_buffer_create(s.context, ROOM * bytes + bytes - 1, &out)); /* the buffer ends within a result */
        MUST(tally_buffer_write(s.queue, out, 0, before, ROOM * bytes));
        MUST(tally_buffer_write(s.queue, s.in, 0, x, SIDE_ITEMS * sizeof x[0]));
        MUST(reduce_at(plan, s.queue, s.in, 0, 2, out, ROOM - 1));
        MUST(tally_buffer_read(s.queue, out, 0, after, ROOM * bytes));
        MUST(tally_queue_wait(s.queue));
        assert_memory_equal(before, after, (ROOM - 1) * bytes);
        assert_memory_not_equal(before, after + (ROOM - 1) * bytes, bytes);
        BAD(reduce_at(plan, s.queue, s.in, 0, 2, out, ROOM), "1 items at offset 5", "out holds 5");
        tally_buffer_destroy(out);
        tally_plan_destroy(plan);
        close_side(&s);
        SOUND();
        stub_reset();
    }
}

static void test_overlap(void **unused) {
    (void)unused;
    side s;
    open_side(&s, "stub");
    const int launches = stub.launches;
    BAD(tally_reduce(s.plan, s.queue, s.in, 1, s.in), "tally_reduce", "overlap");
    BAD(reduce_at(s.plan, s.queue, s.in, 0, SIDE_ITEMS, s.in, 50), "tally_reduce", "overlap");
    BAD(reduce_at(s.plan, s.queue, s.in, 10, 10, s.in, 10), "tally_reduce", "overlap");
    BAD(reduce_at(s.plan, s.queue, s.in, 10, 10, s.in, 19), "tally_reduce", "overlap");
    /* These offsets times 4 bytes wrap to items 0 to 99. They are beyond `out`, not an overlap. */
    for (uint64_t k = 0; k < SIDE_ITEMS; k += 33)
        BAD(reduce_at(s.plan, s.queue, s.in, 0, SIDE_ITEMS, s.in, (UINT64_C(1) << 62) + k), "tally_reduce", "out holds 100");
    assert_int_equal(stub.launches, launches);
    MUST(reduce_at(s.plan, s.queue, s.in, 10, 10, s.in, 9));
    MUST(reduce_at(s.plan, s.queue, s.in, 10, 10, s.in, 20));
    MUST(reduce_at(s.plan, s.queue, s.in, 10, 0, s.in, 10));
    MUST(tally_queue_wait(s.queue));
    close_side(&s);
    SOUND();
}

static void test_too_many_items(void **unused) {
    (void)unused;
    side s;
    double x = 1, result;
    open_side(&s, "stub");
    BAD(tally_reduce_host(s.context, TALLY_SUM, TALLY_F64, &x, UINT64_MAX, &result), "tally_reduce_host", "n");
    BAD(tally_reduce_host(s.context, TALLY_SUM, TALLY_F64, &x, UINT64_C(1) << 61, &result), "tally_reduce_host", "n");
    BAD(tally_feed_push(s.feed, &x, UINT64_MAX), "tally_feed_push", "n");
    BAD(tally_feed_finish(s.feed, &x, UINT64_C(1) << 62, &result), "tally_feed_finish", "n");
    tally_buffer *buffer = NULL;
    REFUSED(tally_buffer_create(s.context, UINT64_MAX, &buffer), TALLY_E_MEMORY, "");
    assert_null(buffer);
    close_side(&s);
    SOUND();
}

/* ---- descriptors ----------------------------------------------------------------------------- */

typedef struct desc_case {
    tally_reduce_desc desc;
    tally_status status;
    const char *words[3];
} desc_case;

/* Wrong descriptors. A plan and a feed give the same answer. */
static void test_descriptors(void **unused) {
    (void)unused;
    const size_t size = sizeof(tally_reduce_desc);
    const desc_case cases[] = {
        {{.op = TALLY_SUM, .in = TALLY_F32}, TALLY_E_ARGUMENT, {"size"}},
        {{.size = size + 8, .op = TALLY_SUM, .in = TALLY_F32}, TALLY_E_ARGUMENT, {"size"}},
        {{.size = SIZE_MAX, .op = TALLY_SUM, .in = TALLY_F32}, TALLY_E_ARGUMENT, {"size"}},
        {{.size = size, .op = TALLY_OP_NONE, .in = TALLY_F32}, TALLY_E_ARGUMENT, {"op"}},
        {{.size = size, .op = TALLY_OP_END, .in = TALLY_F32}, TALLY_E_ARGUMENT, {"op"}},
        {{.size = size, .op = (tally_op)-1, .in = TALLY_F32}, TALLY_E_ARGUMENT, {"op"}},
        {{.size = size, .op = TALLY_SUM}, TALLY_E_ARGUMENT, {"in"}},
        {{.size = size, .op = TALLY_SUM, .in = TALLY_DTYPE_END}, TALLY_E_ARGUMENT, {"in"}},
        {{.size = size, .op = TALLY_SUM, .in = (tally_dtype)-1}, TALLY_E_ARGUMENT, {"in"}},
        {{.size = size, .op = TALLY_SUM, .in = TALLY_F32, .out = TALLY_DTYPE_END}, TALLY_E_ARGUMENT, {"out"}},
        {{.size = size, .op = TALLY_SUM, .in = TALLY_F32, .variant = "nonsense"},
         TALLY_E_ARGUMENT,
         {"nonsense", "group_tree", "cpu_chunks"}},
        {{.size = size, .op = TALLY_SUM, .in = TALLY_F32, .variant = "group_tre"},
         TALLY_E_ARGUMENT,
         {"did you mean group_tree?"}},
        {{.size = size, .op = TALLY_SUM, .in = TALLY_F32, .group_threads = 3}, TALLY_E_ARGUMENT, {"group_threads"}},
        {{.size = size, .op = TALLY_SUM, .in = TALLY_F32, .group_threads = 96}, TALLY_E_ARGUMENT, {"group_threads", "96"}},
        {{.size = size, .op = TALLY_SUM, .in = TALLY_F32, .group_threads = UINT32_MAX}, TALLY_E_ARGUMENT, {"group_threads"}},
    };
    tally_context *context;
    MUST(tally_context_create("stub", &context));
    for (size_t i = 0; i < TALLY_ARRAY_LENGTH(cases); i++) {
        const desc_case *c = &cases[i];
        tally_plan *plan = NULL;
        tally_feed *feed = NULL;
        const char *words[] = {c->words[0], c->words[1], c->words[2], NULL};
        char what[64];
        snprintf(what, sizeof what, "descriptor %zu: tally_plan_create", i);
        refused(tally_plan_create(context, &c->desc, &plan), c->status, what, __FILE__, __LINE__, words);
        snprintf(what, sizeof what, "descriptor %zu: tally_feed_create", i);
        refused(tally_feed_create(context, &c->desc, &feed), c->status, what, __FILE__, __LINE__, words);
        assert_true(!plan && !feed);
    }
    /* Group sizes that the variant's kernels do not have, and result types without kernels. */
    tally_plan *plan = NULL;
    static const uint32_t groups[] = {1, 2, 16, 2048, UINT32_C(1) << 31};
    for (size_t i = 0; i < TALLY_ARRAY_LENGTH(groups); i++) {
        const tally_reduce_desc desc = {
            .size = size, .op = TALLY_SUM, .in = TALLY_F32, .variant = "group_tree", .group_threads = groups[i]};
        REFUSED_EITHER(tally_plan_create(context, &desc, &plan), "group");
    }
    const tally_reduce_desc other_result = {.size = size, .op = TALLY_SUM, .in = TALLY_F32, .out = TALLY_I64};
    BAD(tally_plan_create(context, &other_result, &plan), "f32", "i64");
    assert_null(plan);
    tally_context_destroy(context);
    SOUND();
}

static void test_descriptors_of_other_sizes(void **unused) {
    (void)unused;
    tally_context *context;
    tally_plan *plan;
    MUST(tally_context_create("stub", &context));
    /* An application built when the descriptor ended after `in`. The bytes behind it are not
     * read. */
    tally_reduce_desc old;
    memset(&old, 0x5a, sizeof old);
    old.size = offsetof(tally_reduce_desc, out);
    old.op = TALLY_SUM;
    old.in = TALLY_F32;
    MUST(tally_plan_create(context, &old, &plan));
    assert_string_equal(tally_plan_variant(plan), "group_tree");
    tally_plan_destroy(plan);
    old.size = offsetof(tally_reduce_desc, in);
    BAD(tally_plan_create(context, &old, &plan), "tally_plan_create", "desc.size");

    /* A descriptor may name the type that the result has anyway. */
    tally_reduce_desc named = side_desc;
    named.in = TALLY_I32;
    named.out = TALLY_I64;
    MUST(tally_plan_create(context, &named, &plan));
    tally_plan_destroy(plan);
    /* There is no memory for so many partials, and their bytes do not overflow. */
    plan = NULL;
    named.max_n = UINT64_C(1) << 50;
    REFUSED(tally_plan_create(context, &named, &plan), TALLY_E_MEMORY, "");
    named.max_n = UINT64_MAX;
    BAD(tally_plan_create(context, &named, &plan), "max_n");
    assert_null(plan);
    tally_context_destroy(context);
    SOUND();
}

static void test_what_the_device_cannot(void **unused) {
    (void)unused;
    const size_t size = sizeof(tally_reduce_desc);
    static const struct {
        const char *select;
        tally_reduce_desc desc;
        const char *word;
    } cases[] = {
        {"stub:gamma", {.op = TALLY_SUM, .in = TALLY_F64, .group_threads = 64}, "f64"},
        {"stub:gamma", {.op = TALLY_MIN, .in = TALLY_F64, .group_threads = 32}, "f64"},
        {"stub:gamma", {.op = TALLY_MIN, .in = TALLY_F32, .variant = "cpu_chunks"}, "cpu_chunks"},
        {"stub:gamma", {.op = TALLY_SUM, .in = TALLY_F32, .group_threads = 512}, "512"},
        {"stub:gamma", {.op = TALLY_SUM, .in = TALLY_F32, .group_threads = 256}, "local"},
        {"stub:beta", {.op = TALLY_SUM, .in = TALLY_F32, .variant = "group_tree", .group_threads = 256}, "256"},
    };
    for (size_t i = 0; i < TALLY_ARRAY_LENGTH(cases); i++) {
        tally_context *context;
        tally_plan *plan = NULL;
        tally_reduce_desc desc = cases[i].desc;
        desc.size = size;
        MUST(tally_context_create(cases[i].select, &context));
        REFUSED(tally_plan_create(context, &desc, &plan), TALLY_E_UNSUPPORTED, cases[i].word);
        assert_null(plan);
        tally_context_destroy(context);
    }
    /* A group size that the descriptor leaves open is made to fit. The results stay the same. */
    static const char *const small[] = {"stub:gamma", "stub:beta"};
    for (size_t i = 0; i < TALLY_ARRAY_LENGTH(small); i++) {
        tally_context *context;
        tally_plan *plan;
        const tally_reduce_desc desc = {.size = size, .op = TALLY_SUM, .in = TALLY_F32, .variant = "group_tree", .max_n = 100};
        MUST(tally_context_create(small[i], &context));
        MUST(tally_plan_create(context, &desc, &plan));
        assert_int_equal(((const tally_reduce_plan *)plan)->launch.group_threads, i ? 64 : 128);
        tally_plan_destroy(plan);
        tally_context_destroy(context);
    }
    tally_context *context;
    tally_plan *plan = NULL;
    tally_buffer *buffer = NULL;
    float x[4];
    MUST(tally_context_create("stub:alpha", &context));
    REFUSED(tally_buffer_wrap_host(context, x, sizeof x, &buffer), TALLY_E_UNSUPPORTED, "tally_buffer_wrap_host");
    stub.missing = "group_tree";
    REFUSED(tally_plan_create(context, &side_desc, &plan), TALLY_E_UNSUPPORTED, "group_tree", "stub");
    assert_true(!plan && !buffer);
    tally_context_destroy(context);
    SOUND();
}

const core_test argument_tests[] = {
    {"ranges of copies", test_copy_ranges},
    {"ranges of reductions", test_reduce_ranges},
    {"offsets of results", test_out_offsets},
    {"overlap", test_overlap},
    {"too many items", test_too_many_items},
    {"descriptors", test_descriptors},
    {"descriptors of other sizes", test_descriptors_of_other_sizes},
    {"limits of a device", test_what_the_device_cannot},
    {NULL, NULL},
};
