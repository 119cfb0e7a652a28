/* SPDX-License-Identifier: MIT */
/* Packets on the stub: failures of the device, and the number of launches. The values are tested by
 * conformance (tests/conformance/packets.c). */
#include "core.h"
#include "oracle/oracle.h"
#include "oracle/patterns.h"
#include "tests/support/own_ops.h"

#define N 22000

static float items[N];
static const char *failing_device;
static const tally_op_desc *failing_op;

#define TRY(call)                                                                                                              \
    if (!status) status = (call)

/* Makes two packets and folds them. */
static tally_status use_packets(void) {
    tally_context *context = NULL;
    tally_custom_op *op = NULL;
    tally_plan *plan = NULL;
    tally_queue *queue = NULL;
    tally_buffer *in = NULL, *packets = NULL, *out = NULL;
    uint64_t bytes = 0;
    struct {
        tally_packet_verdict verdict;
        float value[14];
    } got;
    tally_status status = tally_context_create(failing_device, &context);
    if (failing_op) TRY(tally_op_create(failing_op, &op));
    const tally_reduce_desc desc = {
        .size = sizeof desc, .op = op ? TALLY_OP_NONE : TALLY_SUM, .in = TALLY_F32, .max_n = N, .custom = op};
    TRY(tally_plan_create(context, &desc, &plan));
    TRY(tally_packet_bytes(plan, &bytes));
    TRY(tally_queue_create(context, &queue));
    TRY(tally_buffer_create(context, sizeof items, &in));
    TRY(tally_buffer_create(context, 2 * bytes, &packets));
    TRY(tally_buffer_create(context, sizeof got, &out));
    TRY(tally_buffer_write(queue, in, 0, items, sizeof items));
    tally_part_args args = {.size = sizeof args, .in = {in}, .n = 12288, .total = N, .out = packets};
    TRY(tally_packet_reduce(plan, queue, &args));
    args.first = args.in_offset[0] = 12288;
    args.n = N - 12288;
    args.out_offset = bytes;
    TRY(tally_packet_fail(plan, queue, TALLY_E_MEMORY, packets, bytes));
    TRY(tally_packet_reduce(plan, queue, &args));
    const tally_packet_args all = {
        .size = sizeof all, .packets = packets, .count = 2, .total = N, .out = out, .out_offset = 2, .verdict = out};
    TRY(tally_packet_fold(plan, queue, &all));
    TRY(tally_buffer_read(queue, out, 0, &got, sizeof got));
    const tally_status waited = queue ? tally_queue_wait(queue) : TALLY_OK;
    TRY(waited);
    if (!status && !op) {
        float expected;
        oracle_reduce(TALLY_SUM, TALLY_F32, items, N, &expected);
        assert_int_equal(got.verdict.status, TALLY_OK);
        assert_memory_equal(got.value, &expected, sizeof expected);
    }
    tally_buffer_destroy(in);
    tally_buffer_destroy(packets);
    tally_buffer_destroy(out);
    tally_queue_destroy(queue);
    tally_plan_destroy(plan);
    tally_op_destroy(op);
    tally_context_destroy(context);
    return status;
}

static void test_failures(void **state) {
    static const char *const devices[] = {"stub:alpha", "stub:beta"};
    (void)state;
    pattern_fill(PATTERN_WIDE, TALLY_F32, items, N);
    for (int i = 0; i < 8; i++) {
        failing_device = devices[i & 1];
        failing_op = i & 2 ? &own_least : NULL;
        fail_each_call(use_packets, CACHE_OFF, i & 4);
    }
}

/* Where memory is ordered between groups, each node of a part is one launch, and so is the fold: a
 * captured call of libtally_nccl has two launches beside NCCL's. */
static void expect_launches(const char *select) {
    enum { ITEMS = 64 * TALLY_CHUNK };
    static const struct {
        uint64_t first, n;
        int nodes;
    } parts[] = {
        {0, 32 * TALLY_CHUNK, 1}, {32 * TALLY_CHUNK, 32 * TALLY_CHUNK, 1}, {3 * TALLY_CHUNK, 8 * TALLY_CHUNK, 4}, {0, 0, 0}};
    const tally_reduce_desc desc = {.size = sizeof desc, .op = TALLY_SUM, .in = TALLY_F32, .max_n = ITEMS};
    static float many[ITEMS];
    float verdicts[64], expected, got[4];
    tally_context *context;
    tally_queue *queue;
    tally_plan *plan;
    tally_buffer *in, *packets, *out;
    uint64_t bytes;
    for (int i = 0; i < 64; i++) verdicts[i] = 1;
    stub.verdicts = verdicts;
    pattern_fill(PATTERN_WIDE, TALLY_F32, many, ITEMS);
    MUST(tally_context_create(select, &context));
    MUST(tally_queue_create(context, &queue));
    MUST(tally_plan_create(context, &desc, &plan));
    MUST(tally_packet_bytes(plan, &bytes));
    assert_int_equal(bytes, 432); /* docs/parts.md has it */
    MUST(tally_buffer_create(context, sizeof many, &in));
    MUST(tally_buffer_create(context, 2 * bytes, &packets));
    MUST(tally_buffer_create(context, sizeof got, &out));
    MUST(tally_buffer_write(queue, in, 0, many, sizeof many));
    for (size_t i = TALLY_ARRAY_LENGTH(parts); i-- > 0;) {
        tally_part_args args = {.size = sizeof args, .in = {in}, .in_offset = {parts[i].first}, .first = parts[i].first};
        args.n = parts[i].n;
        args.total = ITEMS;
        args.out = packets;
        args.out_offset = i % 2 * bytes;
        const int calls = stub.calls;
        MUST(tally_packet_reduce(plan, queue, &args));
        assert_int_equal(stub.calls - calls, parts[i].nodes ? parts[i].nodes : 1);
    }
    tally_packet_args all = {.size = sizeof all, .packets = packets, .count = 2, .total = ITEMS, .out = out, .verdict = out};
    all.verdict_offset = 8;
    MUST(tally_packet_fold(plan, queue, &all)); /* opens what it needs */
    const int calls = stub.calls;
    MUST(tally_packet_fold(plan, queue, &all));
    assert_int_equal(stub.calls - calls, 1);
    MUST(tally_buffer_read(queue, out, 0, got, sizeof got));
    MUST(tally_queue_wait(queue));
    oracle_reduce(TALLY_SUM, TALLY_F32, many, ITEMS, &expected);
    assert_memory_equal(got, &expected, sizeof expected);
    tally_buffer_destroy(in);
    tally_buffer_destroy(packets);
    tally_buffer_destroy(out);
    tally_plan_destroy(plan);
    tally_queue_destroy(queue);
    tally_context_destroy(context);
    stub.verdicts = NULL;
    SOUND();
}

static void test_launches(void **state) {
    (void)state;
    expect_launches("stub:alpha"); /* a GPU */
    expect_launches("stub:beta");  /* a CPU */
}

const core_test packet_tests[] = {
    {"packets: failures of the device", test_failures}, {"packets: launches", test_launches}, {NULL, NULL}};
