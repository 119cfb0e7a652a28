/* SPDX-License-Identifier: MIT */
/* Gathers and scatters that are wrong or that the device cannot serve. Each gives its status and a
 * text that names the culprit. */
#include "move.h"

static void test_descriptors(void **unused) {
    (void)unused;
    tally_context *context;
    tally_plan *plan;
    MUST(tally_context_create("stub:gamma", &context));
#define REFUSED_DESC(kind, change, ...)                                                                                        \
    do {                                                                                                                       \
        tally_move_desc desc = move_desc(0);                                                                                   \
        change;                                                                                                                \
        BAD(tally_##kind##_plan_create(context, &desc, &plan), "tally_" #kind "_plan_create", __VA_ARGS__);                    \
        assert_null(plan);                                                                                                     \
    } while (0)
    REFUSED_DESC(gather, desc.size = 8, "desc.size is 8");
    REFUSED_DESC(gather, desc.item_bytes = 0, "desc.item_bytes is 0", "1 to 16");
    REFUSED_DESC(scatter, desc.item_bytes = 17, "desc.item_bytes is 17");
    REFUSED_DESC(gather, desc.map = 0, "desc.map is no dtype", "i32, u32, i64 or u64");
    REFUSED_DESC(scatter, desc.map = TALLY_F32, "desc.map is f32");
    REFUSED_DESC(gather, desc.flags = TALLY_SCATTER_LAST, "desc.flags is 0x2", "there are TALLY_UNCHECKED, TALLY_STENCIL");
    REFUSED_DESC(scatter, desc.flags = 9, "desc.flags is 0x9", "TALLY_STENCIL and TALLY_SCATTER_LAST");
    REFUSED_DESC(scatter, (desc.flags = TALLY_SCATTER_LAST, desc.max_out = 0), "desc.max_out is 0");
    REFUSED_DESC(scatter, desc.max_n = UINT64_MAX, "desc.max_n is beyond any memory");
    REFUSED_DESC(scatter, (desc.flags = TALLY_SCATTER_LAST, desc.max_out = UINT64_MAX), "desc.max_out is beyond any memory");
    const tally_move_desc good = move_desc(0);
    BAD(tally_gather_plan_create(context, NULL, &plan), "tally_gather_plan_create", "desc is NULL");
    BAD(tally_gather_plan_create(NULL, &good, &plan), "tally_gather_plan_create", "context");
    BAD(tally_scatter_plan_create(context, &good, NULL), "tally_scatter_plan_create", "out");
    tally_context_destroy(context);
    SOUND();
}

/* Gamma has no 64-bit atomics. A plan without a limit gets as many items as 32 bits can number. */
static void test_wide(void **unused) {
    (void)unused;
    tally_context *context;
    tally_plan *plan;
    MUST(tally_context_create("stub:gamma", &context));
    tally_move_desc desc = move_desc(0);
    desc.max_n = UINT64_C(1) << 32;
    REFUSED(tally_gather_plan_create(context, &desc, &plan), TALLY_E_UNSUPPORTED, "max_n is 4294967296", "64-bit words",
            "Gamma");
    desc.flags = TALLY_UNCHECKED;
    MUST(tally_gather_plan_create(context, &desc, &plan));
    tally_plan_destroy(plan);
    desc.flags = TALLY_UNCHECKED | TALLY_SCATTER_LAST;
    REFUSED(tally_scatter_plan_create(context, &desc, &plan), TALLY_E_UNSUPPORTED, "64-bit words");
    desc.max_n = 0;
    MUST(tally_scatter_plan_create(context, &desc, &plan));
    tally_plan_destroy(plan);
    tally_context_destroy(context);
    MUST(tally_context_create("stub:alpha", &context));
    desc.max_n = UINT64_C(1) << 32;
    MUST(tally_scatter_plan_create(context, &desc, &plan));
    assert_int_equal(tally_plan_workspace_bytes(plan), 8 * MOVE_N);
    tally_plan_destroy(plan);
    tally_context_destroy(context);
    SOUND();
}

static void test_no_program(void **unused) {
    (void)unused;
    tally_context *context;
    tally_plan *plan;
    const tally_move_desc desc = move_desc(0);
    MUST(tally_context_create("stub", &context));
    stub.missing = "prelude";
    REFUSED(tally_gather_plan_create(context, &desc, &plan), TALLY_E_UNSUPPORTED, "no kernels 'move'");
    stub.missing = NULL;
    stub.defect = STUB_ENDS_LOOPS;
    REFUSED(tally_gather_plan_create(context, &desc, &plan), TALLY_E_UNSUPPORTED, "self-test", "ended early");
    tally_context_destroy(context);
    SOUND();
}

#define REFUSED_ARGS(change, ...)                                                                                              \
    do {                                                                                                                       \
        const tally_move_args kept = p.args;                                                                                   \
        change;                                                                                                                \
        BAD(move_run_one(&p, scatter), scatter ? "tally_scatter: " : "tally_gather: ", __VA_ARGS__);                           \
        p.args = kept;                                                                                                         \
    } while (0)

static void refuse_args(int scatter) {
    move_parts p, other;
    const uint64_t all = UINT64_MAX;
    MUST(move_open(&other, "stub:beta", scatter, 0));
    MUST(move_open(&p, "stub:alpha", scatter, TALLY_STENCIL | (scatter ? TALLY_SCATTER_LAST : 0)));
    const int launches = stub.launches;
    REFUSED_ARGS(p.args.size = 8, "args.size is 8");
    REFUSED_ARGS(p.args.map = NULL, "map is NULL");
    REFUSED_ARGS(p.args.in = NULL, "in is NULL");
    REFUSED_ARGS(p.args.out = NULL, "out is NULL");
    REFUSED_ARGS(p.args.stencil = NULL, "stencil is NULL");
    REFUSED_ARGS(p.args.map = other.map, "map belongs to another context");
    REFUSED_ARGS(p.args.stencil = other.stencil, "stencil belongs to another context");
    REFUSED_ARGS(p.args.in = (const tally_buffer *)(const void *)p.queue, "in is no buffer");
    REFUSED_ARGS(p.args.n = MOVE_N + 1, "n is 5001", "max_n is 5000");
    REFUSED_ARGS(p.args.map_offset = 1, "5000 items at offset 1: map holds 5000");
    REFUSED_ARGS(p.args.map_offset = all, "map holds 5000");
    REFUSED_ARGS(p.args.in_offset = 1, "5000 items at offset 1: in holds 5000");
    REFUSED_ARGS(p.args.out_offset = all / MOVE_BYTES + 1, "out holds 5000");
    REFUSED_ARGS(p.args.out_offset = 1, "out holds 5000");
    REFUSED_ARGS(p.args.stencil_offset = 1, "stencil holds 5000");
    REFUSED_ARGS(p.args.items = all, scatter ? "max_out is 5000" : "in holds 5000");
    REFUSED_ARGS(p.args.out = p.in, "in and out overlap");
    REFUSED_ARGS((p.args.out = p.map, p.args.n = p.args.items = MOVE_N), "map and out overlap");
    REFUSED_ARGS((p.args.out = p.stencil, p.args.n = p.args.items = 1000), "stencil and out overlap");
    BAD(scatter ? tally_scatter(NULL, p.queue, &p.args) : tally_gather(NULL, p.queue, &p.args), "plan is NULL");
    BAD(scatter ? tally_scatter(p.plan, NULL, &p.args) : tally_gather(p.plan, NULL, &p.args), "queue is NULL");
    BAD(scatter ? tally_scatter(p.plan, p.queue, NULL) : tally_gather(p.plan, p.queue, NULL), "args is NULL");
    BAD(scatter ? tally_scatter(p.plan, other.queue, &p.args) : tally_gather(p.plan, other.queue, &p.args), "queue belongs");
    BAD(scatter ? tally_gather(p.plan, p.queue, &p.args) : tally_scatter(p.plan, p.queue, &p.args), "plan is one of",
        scatter ? "one of a scatter" : "one of a gather");
    tally_plan *none = (tally_plan *)(void *)p.queue;
    BAD(scatter ? tally_scatter(none, p.queue, &p.args) : tally_gather(none, p.queue, &p.args), "plan is no plan");
    other.args.stencil = other.stencil;
    BAD(scatter ? tally_scatter(other.plan, other.queue, &other.args) : tally_gather(other.plan, other.queue, &other.args),
        "a stencil for a plan without TALLY_STENCIL");
    assert_int_equal(stub.launches, launches);
    assert_int_equal(tally_move_bad(NULL), TALLY_NO_INDEX);
    assert_int_equal(tally_plan_workspace_bytes(NULL), 0);
    tally_plan_destroy(NULL);
    move_close(&p);
    move_close(&other);
    SOUND();
}

static void test_arguments(void **unused) {
    (void)unused;
    refuse_args(0);
    refuse_args(1);
}

const core_test move_argument_tests[] = {
    {"move: descriptors", test_descriptors},
    {"move: positions of 8 bytes", test_wide},
    {"move: no program", test_no_program},
    {"move: arguments", test_arguments},
    {NULL, NULL},
};
