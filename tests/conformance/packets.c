/* SPDX-License-Identifier: MIT */
/*
 * Packets: folded by a kernel they give the bits of one reduction of all items, and of the host's
 * joining of the same parts' records, however the chunks are shared out. A packet that failed or
 * does not fit is named by the verdict, and the result is left alone.
 */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "direct.h"
#include "oracle/oracle.h"
#include "oracle/patterns.h"
#include "parts/parts.h"
#include "tests/support/own_ops.h"

#define MAX_N UINT64_C(70001)
#define MOST_PACKETS 40
#define MAX_RESULT 512
#define MAX_INPUTS 2
#define BEGIN_AT 16 /* the byte of a packet at which the chunk of its begin is; its end is the next word */

/* An input, what it is reduced with, and room for packets and records. */
typedef struct whole {
    tally_reduce_desc desc;
    tally_plan *plan;
    tally_queue *queue;
    tally_buffer *in[MAX_INPUTS], *packets, *records, *out;
    uint32_t inputs;
    uint64_t packet, record, bound, result; /* bytes */
    int by_host;                            /* the records are joined without a plan */
    uint64_t random;
} whole;

static uint64_t draw(whole *w, uint64_t below) {
    w->random = w->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (w->random >> 33) % below;
}

/* The input has max_n items, or MAX_N if the descriptor does not say. */
static void whole_open(whole *w, tally_context *context, const tally_reduce_desc *desc, uint32_t inputs, int pattern) {
    const tally_op op = desc->op ? desc->op : desc->term_count ? desc->terms[0].op : TALLY_SUM;
    const uint64_t n = desc->max_n ? desc->max_n : MAX_N;
    *w = (whole){.desc = *desc, .inputs = inputs, .by_host = 1, .random = 11};
    w->desc.size = sizeof w->desc;
    w->desc.max_n = n;
    MUST(tally_plan_create(context, &w->desc, &w->plan));
    MUST(tally_queue_create(context, &w->queue));
    MUST(tally_packet_bytes(w->plan, &w->packet));
    MUST(tally_part_bound(&w->desc, 0, 0, &w->bound));
    MUST(tally_part_bound(&w->desc, n, 1, &w->record));
    w->result = tally_plan_result_bytes(w->plan);
    assert_true(w->result <= MAX_RESULT && w->packet % 16 == 0);
    MUST(tally_buffer_create(context, (MOST_PACKETS + 1) * w->packet, &w->packets));
    MUST(tally_buffer_create(context, MOST_PACKETS * w->record, &w->records));
    MUST(tally_buffer_create(context, 4 * MAX_RESULT, &w->out));
    const uint64_t bytes = tally_dtype_bytes(desc->in) * n;
    char *items[MAX_INPUTS];
    for (uint32_t k = 0; k < MAX_INPUTS; k++) assert_non_null(items[k] = malloc(bytes));
    pattern_fill(pattern, desc->in, items[0], n);
    if (inputs > 1) pattern_fill_second(pattern, op, desc->in, items[0], items[1], n);
    for (uint32_t k = 0; k < inputs; k++) {
        MUST(tally_buffer_create(context, bytes, &w->in[k]));
        MUST(tally_buffer_write(w->queue, w->in[k], 0, items[k], bytes));
    }
    MUST(tally_queue_wait(w->queue));
    for (uint32_t k = 0; k < MAX_INPUTS; k++) free(items[k]);
}

static void whole_close(whole *w) {
    for (uint32_t k = 0; k < w->inputs; k++) tally_buffer_destroy(w->in[k]);
    tally_buffer_destroy(w->packets);
    tally_buffer_destroy(w->records);
    tally_buffer_destroy(w->out);
    tally_queue_destroy(w->queue);
    tally_plan_destroy(w->plan);
}

/* Enqueues the packet of items [first, first + n) as packet `number`, and their record. */
static tally_status make(whole *w, uint64_t first, uint64_t n, uint64_t total, uint64_t number) {
    tally_part_args args = {
        .size = sizeof args, .first = first, .n = n, .total = total, .out = w->packets, .out_offset = 8 + number * w->packet};
    for (uint32_t k = 0; k < w->inputs && n; k++) {
        args.in[k] = w->in[k];
        args.in_offset[k] = first;
    }
    const tally_status status = tally_packet_reduce(w->plan, w->queue, &args);
    args.out = w->records;
    args.out_offset = number * w->record;
    return status ? status : tally_reduce_part(w->plan, w->queue, &args);
}

/* Folds `count` packets, and reads result number 1 and the verdict, which lies behind it. */
static tally_packet_verdict fold(whole *w, uint64_t count, uint64_t total, unsigned char *result) {
    unsigned char all[3 * MAX_RESULT];
    tally_packet_verdict verdict;
    memset(all, 0xee, sizeof all);
    const uint64_t at = (2 * w->result + 7) / 4 * 4;
    const tally_packet_args args = {.size = sizeof args,
                                    .packets = w->packets,
                                    .packets_offset = 8,
                                    .count = count,
                                    .total = total,
                                    .out = w->out,
                                    .out_offset = 1,
                                    .verdict = w->out,
                                    .verdict_offset = at};
    MUST(tally_buffer_write(w->queue, w->out, 0, all, sizeof all));
    MUST(tally_packet_fold(w->plan, w->queue, &args));
    MUST(tally_buffer_read(w->queue, w->out, 0, all, sizeof all));
    MUST(tally_queue_wait(w->queue));
    memcpy(result, all + w->result, w->result);
    memcpy(&verdict, all + at, sizeof verdict);
    for (uint64_t i = 0; i < sizeof all; i++)
        if ((i < w->result || i >= 2 * w->result) && (i < at || i >= at + sizeof verdict)) assert_int_equal(all[i], 0xee);
    return verdict;
}

/* Joins the records on the host. */
static void join(whole *w, uint64_t count, unsigned char *result) {
    const void *parts[MOST_PACKETS];
    uint64_t bytes[MOST_PACKETS], joined;
    unsigned char *all = malloc(count * w->record), *out = malloc(w->bound);
    assert_true(all && out);
    MUST(tally_buffer_read(w->queue, w->records, 0, all, count * w->record));
    MUST(tally_queue_wait(w->queue));
    for (uint64_t r = 0; r < count; r++) {
        parts[r] = all + r * w->record;
        bytes[r] = w->record;
    }
    tally_plan *plan = w->by_host ? NULL : w->plan;
    MUST(tally_part_join(plan, parts, bytes, (uint32_t)count, out, w->bound, &joined));
    MUST(tally_part_value(plan, out, joined, result));
    free(out);
    free(all);
}

/* Makes packet `number` a record on the host. */
static tally_status record_of(whole *w, uint64_t first, uint64_t n, uint64_t total, uint64_t number, unsigned char *record,
                              uint64_t room, uint64_t *bytes) {
    const tally_part_host_args args = {
        .size = sizeof args, .first = first, .n = n, .total = total, .out = record, .out_bytes = room};
    unsigned char *packet = malloc(w->packet);
    assert_non_null(packet);
    MUST(tally_buffer_read(w->queue, w->packets, 8 + number * w->packet, packet, w->packet));
    MUST(tally_queue_wait(w->queue));
    const tally_status status = tally_packet_record(w->plan, packet, &args, bytes);
    free(packet);
    return status;
}

/* The record of a packet is the part's own. */
static void check_record(whole *w, uint64_t first, uint64_t n, uint64_t total, uint64_t number, const char *where) {
    unsigned char *made = malloc(w->record), *expected = malloc(w->record);
    uint64_t bytes = 0;
    assert_true(made && expected);
    MUST(record_of(w, first, n, total, number, made, w->record, &bytes));
    MUST(tally_buffer_read(w->queue, w->records, number * w->record, expected, bytes));
    MUST(tally_queue_wait(w->queue));
    if (memcmp(made, expected, bytes)) fail_msg("%s: packet %d has another record than its part", where, (int)number);
    free(made);
    free(expected);
}

/* Reduces the first n items in `count` parts: as shares, or of any numbers of chunks. */
static void check(whole *w, uint64_t n, uint64_t count, int even, const char *what) {
    unsigned char expected[MAX_RESULT], result[MAX_RESULT], joined[MAX_RESULT];
    char where[160];
    uint64_t first = 0;
    snprintf(where, sizeof where, "%s: %s shares %d", what, even ? "even" : "random", (int)count);
    for (uint64_t r = 0; r < count; r++) {
        uint64_t items = n - first;
        if (even) MUST(tally_share(n, count, r, &first, &items));
        if (!even && r + 1 < count) {
            const uint64_t drawn = TALLY_CHUNK * draw(w, 5);
            items = drawn < items ? drawn : items;
        }
        MUST(make(w, first, items, n, r));
        if (r % 8 == n % 8) check_record(w, first, items, n, r, where);
        first += items;
    }
    const tally_packet_verdict verdict = fold(w, count, n, result);
    if (verdict.status || verdict.packet) fail_msg("%s: the verdict is %u of packet %u", where, verdict.status, verdict.packet);
    tally_reduce_args args = {.size = sizeof args, .n = n, .out = w->out};
    for (uint32_t k = 0; k < w->inputs; k++) args.in[k] = w->in[k];
    MUST(tally_reduce_with(w->plan, w->queue, &args));
    MUST(tally_buffer_read(w->queue, w->out, 0, expected, w->result));
    MUST(tally_queue_wait(w->queue));
    join(w, count, joined);
    for (uint64_t i = 0; i < w->result; i++)
        if (result[i] != expected[i] || joined[i] != expected[i])
            fail_msg("%s, %llu items: byte %llu of the value is 0x%02x, of the joined records' 0x%02x, should be 0x%02x", where,
                     (unsigned long long)n, (unsigned long long)i, result[i], joined[i], expected[i]);
}

static void check_all(whole *w, int turn, const char *what) {
    static const uint64_t lengths[] = {MAX_N, 0, 1, 4095, 4096, 8192, 12289, 40960, 65536, 4097, 28673};
    const int steps = quick() ? 4 : 12;
    for (int i = 0; i < steps; i++) {
        const size_t l = (size_t)(i ? i + turn : 0) % TALLY_ARRAY_LENGTH(lengths);
        check(w, lengths[l], 1 + draw(w, i % 2 ? MOST_PACKETS : 6), (i + turn) % 3 == 0, what);
    }
}

static void test_packet_ops(void **state) {
    const place *at = *state;
    tally_context *context = direct_context(state);
    int turn = 0;
    for (tally_op op = TALLY_OP_NONE + 1; op < TALLY_OP_END; op++)
        for (tally_dtype in = TALLY_DTYPE_DEFAULT + 1; in < TALLY_DTYPE_END; in++) {
            const oracle_case of = {.op = op, .in = in};
            if (!cells_want_pair(op, in) || cells_lack_f64(&of, &at->info) || !has_turn(at, op + in)) continue;
            const tally_reduce_desc desc = {.op = op, .in = in};
            char what[64];
            whole w;
            snprintf(what, sizeof what, "%s of %s", tally_op_name(op), tally_dtype_name(in));
            whole_open(&w, context, &desc, oracle_inputs(op), op == TALLY_PROD ? PATTERN_NEAR_ONE : PATTERN_WIDE);
            check_all(&w, turn++, what);
            whole_close(&w);
        }
}

/* Several ops of one and of two inputs; a parameter; custom ops. */
static void test_packet_fused(void **state) {
    static const tally_term_desc one[] = {{.op = TALLY_VAR}, {.op = TALLY_ARGMAX}, {.op = TALLY_LOGSUMEXP}, {.op = TALLY_ANY}};
    static const tally_term_desc two[] = {{.op = TALLY_DOT}, {.op = TALLY_DIST2}};
    static const tally_op_desc *const own[] = {&own_least, &own_twofold};
    const tally_reduce_desc fused = {.in = TALLY_F32, .terms = one, .term_count = 4};
    const tally_reduce_desc pairs = {.in = TALLY_F32, .terms = two, .term_count = 2};
    tally_context *context = direct_context(state);
    whole w;
    whole_open(&w, context, &fused, 1, PATTERN_WIDE);
    MUST(tally_plan_set_param(w.plan, "ddof", 1));
    check_all(&w, 0, "four ops");
    whole_close(&w);
    whole_open(&w, context, &pairs, 2, PATTERN_WIDE);
    check_all(&w, 1, "two ops of two inputs");
    whole_close(&w);
    for (size_t i = 0; i < TALLY_ARRAY_LENGTH(own) && has_compiler(*state); i++) {
        const tally_reduce_desc desc = {.in = TALLY_F32, .custom = direct_op(own[i])};
        whole_open(&w, context, &desc, 1, PATTERN_WIDE);
        w.by_host = 0;
        check_all(&w, (int)i, "an own operator");
        whole_close(&w);
        tally_op_destroy(desc.custom);
    }
}

/* Every canonical variant: those of many threads fold in a group of many threads. */
static void test_packet_variants(void **state) {
    static const tally_op ops[] = {TALLY_SUM, TALLY_VAR, TALLY_ARGMIN};
    tally_context *context = direct_context(state);
    for (size_t v = 0; v < tally_variant_count(); v++)
        for (size_t o = 0; o < TALLY_ARRAY_LENGTH(ops); o++) {
            tally_variant_info info;
            tally_plan *plan;
            whole w;
            MUST(tally_variant_get(v, &info));
            const tally_reduce_desc desc = {
                .size = sizeof desc, .op = ops[o], .in = TALLY_F32, .variant = info.name, .max_n = MAX_N};
            if (!info.canonical || tally_plan_create(context, &desc, &plan)) continue;
            tally_plan_destroy(plan);
            whole_open(&w, context, &desc, 1, PATTERN_WIDE);
            check_all(&w, (int)o, info.name);
            whole_close(&w);
        }
}

/* Packets of many nodes, and those of one: 7 chunks from an odd one on are three nodes; shares of 8
 * chunks are one each, the last of 7, or 1 each and some of none. */
static void test_packet_nodes(void **state) {
    static const tally_op ops[] = {TALLY_SUM, TALLY_VAR};
    static const char *const variants[] = {"auto", "group_tree"};
    const uint64_t n = 30 * 7 * TALLY_CHUNK - 5;
    tally_context *context = direct_context(state);
    for (size_t i = 0; i < TALLY_ARRAY_LENGTH(ops) * TALLY_ARRAY_LENGTH(variants); i++) {
        const tally_reduce_desc desc = {.op = ops[i / 2], .in = TALLY_F32, .variant = variants[i % 2], .max_n = n};
        tally_plan *plan;
        whole w;
        tally_reduce_desc own = desc;
        own.size = sizeof own;
        if (!has_turn(*state, i) || tally_plan_create(context, &own, &plan)) continue;
        tally_plan_destroy(plan);
        whole_open(&w, context, &desc, 1, PATTERN_WIDE);
        check(&w, n, 30, 1, variants[i % 2]);
        check(&w, n, 3, 1, variants[i % 2]);
        check(&w, 16 * 8 * TALLY_CHUNK - 5, 16, 1, variants[i % 2]);
        check(&w, 15 * TALLY_CHUNK - 5, 2, 1, variants[i % 2]);
        check(&w, 5 * TALLY_CHUNK - 5, 7, 1, variants[i % 2]);
        whole_close(&w);
    }
}

/* Packets of a few chunks and one of all others, which has nodes of up to 1,024 chunks. A GPU may
 * take a node's items while the launch of the node before ends. */
static void test_packet_long_nodes(void **state) {
    static const tally_op ops[] = {TALLY_SUM, TALLY_ARGMAX, TALLY_VAR, TALLY_LOGSUMEXP};
    const uint64_t n = 1501 * TALLY_CHUNK - 5;
    tally_context *context = direct_context(state);
    for (size_t o = 0; o < TALLY_ARRAY_LENGTH(ops); o++) {
        const tally_reduce_desc desc = {.op = ops[o], .in = TALLY_F32, .max_n = n};
        whole w;
        if (!has_turn(*state, (int)o)) continue;
        whole_open(&w, context, &desc, 1, PATTERN_WIDE);
        for (int i = 0; i < (quick() ? 2 : 20); i++) {
            const uint64_t count = 3 + draw(&w, 5);
            check(&w, n - TALLY_CHUNK * draw(&w, 500), count, 0, tally_op_name(ops[o]));
        }
        whole_close(&w);
    }
}

static void expect_verdict(whole *w, uint64_t count, uint64_t total, tally_status status, uint32_t packet) {
    unsigned char result[MAX_RESULT];
    const tally_packet_verdict verdict = fold(w, count, total, result);
    if (verdict.status != (uint32_t)status || verdict.packet != packet)
        fail_msg("the verdict is %u of packet %u, should be %d of packet %u", verdict.status, verdict.packet, (int)status,
                 packet);
    if (status)
        for (uint64_t i = 0; i < w->result; i++) assert_int_equal(result[i], 0xee);
}

static void expect_refused(tally_status got, tally_status wanted, const char *text) {
    assert_int_equal(got, wanted);
    if (!strstr(tally_last_error(), text)) fail_msg("the text is \"%s\", without \"%s\"", tally_last_error(), text);
}

/* The packet has TALLY_CHUNK items. */
static void expect_no_record(whole *w, uint64_t first, uint64_t total, uint64_t number, uint64_t room, tally_status wanted,
                             const char *text) {
    unsigned char *record = malloc(w->record);
    assert_non_null(record);
    expect_refused(record_of(w, first, TALLY_CHUNK, total, number, record, room, NULL), wanted, text);
    free(record);
}

/* The lowest failure counts; packets that do not fit are refused. */
static void test_packet_verdicts(void **state) {
    const tally_reduce_desc desc = {.op = TALLY_VAR, .in = TALLY_F32};
    tally_context *context = direct_context(state);
    whole w;
    whole_open(&w, context, &desc, 1, PATTERN_WIDE);
    const uint64_t n = 3 * TALLY_CHUNK;
    for (uint64_t r = 0; r < 3; r++) MUST(make(&w, r * TALLY_CHUNK, TALLY_CHUNK, n, r));
    expect_verdict(&w, 3, n, TALLY_OK, 0);
    expect_verdict(&w, 2, n, TALLY_E_ARGUMENT, 1);     /* the last one does not end with the whole */
    expect_verdict(&w, 3, n + 1, TALLY_E_ARGUMENT, 0); /* another whole */
    MUST(tally_packet_fail(w.plan, w.queue, TALLY_E_MEMORY, w.packets, 8 + 2 * w.packet));
    expect_verdict(&w, 3, n, TALLY_E_MEMORY, 2);
    expect_no_record(&w, TALLY_CHUNK, n, 2, w.record, TALLY_E_MEMORY, "the packet's part has failed");
    expect_no_record(&w, TALLY_CHUNK, n, 0, w.record, TALLY_E_ARGUMENT, "not that of items 4096 to 8192 of 12288");
    expect_no_record(&w, TALLY_CHUNK, n + 1, 1, w.record, TALLY_E_ARGUMENT, "not that of items 4096 to 8192 of 12289");
    expect_no_record(&w, TALLY_CHUNK + 1, n, 1, w.record, TALLY_E_UNSUPPORTED, "begins at item 4097");
    expect_no_record(&w, TALLY_CHUNK, n, 1, 64, TALLY_E_ARGUMENT, "out_bytes is 64");
    /* A packet whose first word is no status. */
    static const uint64_t no_status[] = {UINT64_C(1) << 32, UINT64_C(1) << 32 | TALLY_E_MEMORY, 77, UINT64_MAX};
    for (size_t i = 0; i < TALLY_ARRAY_LENGTH(no_status); i++) {
        MUST(tally_buffer_write(w.queue, w.packets, 8 + w.packet, &no_status[i], 8));
        expect_no_record(&w, TALLY_CHUNK, n, 1, w.record, TALLY_E_ARGUMENT, "not that of items 4096 to 8192 of 12288");
        expect_verdict(&w, 3, n, TALLY_E_ARGUMENT, 1);
    }
    MUST(tally_packet_fail(w.plan, w.queue, TALLY_E_NO_DEVICE, w.packets, 8 + w.packet));
    expect_verdict(&w, 3, n, TALLY_E_NO_DEVICE, 1);
    for (uint64_t r = 0; r < 3; r++) MUST(make(&w, r * TALLY_CHUNK, TALLY_CHUNK, n, r));
    MUST(make(&w, 0, TALLY_CHUNK, n, 1)); /* twice the same */
    expect_verdict(&w, 3, n, TALLY_E_ARGUMENT, 1);
    MUST(tally_plan_set_param(w.plan, "ddof", 1));
    expect_no_record(&w, 0, n, 0, w.record, TALLY_E_ARGUMENT, "by this plan");
    MUST(make(&w, TALLY_CHUNK, TALLY_CHUNK, n, 1)); /* other parameters than packets 0 and 2 */
    MUST(make(&w, 0, TALLY_CHUNK, n, 0));
    expect_verdict(&w, 3, n, TALLY_E_ARGUMENT, 2);
    MUST(make(&w, 2 * TALLY_CHUNK, TALLY_CHUNK, n, 2));
    expect_verdict(&w, 3, n, TALLY_OK, 0);
    /* Packets that say they have other chunks than their own, 1 and 2. */
    static const uint64_t wrong[][2] = {{1, UINT64_MAX}, {1, 1}, {0, 3}, {3, 3}, {1, 0}, {UINT64_MAX, 3}, {1, 4}};
    for (size_t i = 0; i < TALLY_ARRAY_LENGTH(wrong); i++) {
        MUST(make(&w, 0, TALLY_CHUNK, n, 0));
        MUST(make(&w, TALLY_CHUNK, n - TALLY_CHUNK, n, 1));
        expect_verdict(&w, 2, n, TALLY_OK, 0);
        MUST(tally_buffer_write(w.queue, w.packets, 8 + w.packet + BEGIN_AT, wrong[i], sizeof wrong[i]));
        expect_verdict(&w, 2, n, TALLY_E_ARGUMENT, 1);
    }
    whole_close(&w);
}

static void test_packet_arguments(void **state) {
    const tally_reduce_desc desc = {.op = TALLY_SUM, .in = TALLY_F32};
    tally_context *context = direct_context(state);
    whole w;
    whole_open(&w, context, &desc, 1, PATTERN_WIDE);
    expect_refused(make(&w, 1, 4095, MAX_N, 0), TALLY_E_UNSUPPORTED, "begins at item 1: packets begin at multiples of 4096");
    expect_refused(make(&w, 0, 4095, MAX_N, 0), TALLY_E_UNSUPPORTED, "ends at item 4095: packets end at multiples of 4096");
    expect_refused(make(&w, 5, 0, MAX_N, 0), TALLY_E_UNSUPPORTED, "begins at item 5");
    expect_refused(make(&w, 0, 4096, 0, 0), TALLY_E_ARGUMENT, "total is 0");
    expect_refused(make(&w, 0, 4096, 4096, MOST_PACKETS + 1), TALLY_E_ARGUMENT, "out");
    static const int no_failures[] = {TALLY_OK, -1, TALLY_STATUS_END, 99};
    for (size_t i = 0; i < TALLY_ARRAY_LENGTH(no_failures); i++)
        expect_refused(tally_packet_fail(w.plan, w.queue, (tally_status)no_failures[i], w.packets, 0), TALLY_E_ARGUMENT,
                       "no status of a failure");
    expect_refused(tally_packet_fail(w.plan, w.queue, TALLY_E_MEMORY, w.packets, 4), TALLY_E_ARGUMENT, "a multiple of 8");
    tally_packet_args args = {.size = sizeof args, .packets = w.packets, .count = 0, .out = w.out, .verdict = w.out};
    expect_refused(tally_packet_fold(w.plan, w.queue, &args), TALLY_E_ARGUMENT, "count is 0");
    args.count = 1;
    expect_refused(tally_packet_fold(w.plan, w.queue, &args), TALLY_E_ARGUMENT, "verdict");
    args.verdict_offset = 8;
    args.count = MOST_PACKETS + 2;
    expect_refused(tally_packet_fold(w.plan, w.queue, &args), TALLY_E_ARGUMENT, "packets");
    args.size = 3;
    expect_refused(tally_packet_fold(w.plan, w.queue, &args), TALLY_E_ARGUMENT, "args.size is 3");
    expect_refused(tally_packet_fold(w.plan, w.queue, NULL), TALLY_E_ARGUMENT, "args is NULL");
    whole_close(&w);
}

const device_test packet_tests[] = {
    {"packets: every op and type", test_packet_ops}, {"packets: several ops, and own ones", test_packet_fused},
    {"packets: variants", test_packet_variants},     {"packets: many nodes", test_packet_nodes},
    {"packets: long nodes", test_packet_long_nodes}, {"packets: verdicts", test_packet_verdicts},
    {"packets: arguments", test_packet_arguments},   {NULL, NULL}};
