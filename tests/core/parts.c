/* SPDX-License-Identifier: MIT */
/* Records of parts: their bytes, joins that are refused, damaged records, and failures of the
 * device. The values are tested by conformance (tests/conformance/parts.c). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core.h"
#include "oracle/oracle.h"
#include "oracle/patterns.h"
#include "parts/parts.h"
#include "tests/support/own_ops.h"

#define N UINT64_C(50021)
#define MOST 70000 /* bytes of a record here */

static float items[N];

/* A context, a plan and room for records. */
typedef struct setting {
    tally_context *context;
    tally_plan *plan;
} setting;

static setting open_setting(const char *select, const tally_reduce_desc *desc) {
    setting s;
    pattern_fill(PATTERN_WIDE, TALLY_F32, items, N);
    MUST(tally_context_create(select, &s.context));
    MUST(tally_plan_create(s.context, desc, &s.plan));
    return s;
}

static void close_setting(setting *s) {
    tally_plan_destroy(s->plan);
    tally_context_destroy(s->context);
}

static const tally_reduce_desc sum_f32 = {.size = sizeof(tally_reduce_desc), .op = TALLY_SUM, .in = TALLY_F32, .max_n = N};

typedef struct record {
    unsigned char *at;
    uint64_t bytes;
} record;

static record make(tally_plan *plan, uint64_t first, uint64_t n, uint64_t total) {
    record r;
    const tally_part_host_args args = {.size = sizeof args,
                                       .items = {items + first},
                                       .first = first,
                                       .n = n,
                                       .total = total,
                                       .out = r.at = malloc(MOST),
                                       .out_bytes = MOST};
    MUST(tally_reduce_part_host(plan, &args, &r.bytes));
    return r;
}

static tally_status join(tally_plan *plan, const record *a, const record *b, record *out) {
    return tally_part_join(plan, (const void *[]){a->at, b->at}, (uint64_t[]){a->bytes, b->bytes}, 2, out->at, MOST,
                           &out->bytes);
}

/* ---- shares ---------------------------------------------------------------------------------- */

static void test_shares(void **state) {
    (void)state;
    static const uint64_t lengths[] = {0, 1, 4095, 4096, 4097, 40960, 1000003, UINT64_C(1) << 40};
    static const uint64_t ranks[] = {1, 2, 3, 7, 64, 1000};
    for (size_t l = 0; l < TALLY_ARRAY_LENGTH(lengths); l++)
        for (size_t r = 0; r < TALLY_ARRAY_LENGTH(ranks); r++) {
            uint64_t end = 0, least = UINT64_MAX, most = 0;
            for (uint64_t rank = 0; rank < ranks[r]; rank++) {
                uint64_t first = 77, count = 77;
                MUST(tally_share(lengths[l], ranks[r], rank, &first, &count));
                assert_true(first == end && (first % TALLY_CHUNK == 0 || first == lengths[l]));
                end = first + count;
                const uint64_t chunks = (count + TALLY_CHUNK - 1) / TALLY_CHUNK;
                if (chunks < least) least = chunks;
                if (chunks > most) most = chunks;
            }
            const uint64_t even = (lengths[l] + TALLY_CHUNK - 1) / TALLY_CHUNK / ranks[r];
            assert_true(end == lengths[l] && most - least <= (even < 256 ? 1 : even / 64));
        }
    /* A power of two of chunks for each rank, and one item more. */
    const uint64_t each = (uint64_t)TALLY_CHUNK << 18;
    uint64_t at, count;
    MUST(tally_share(4 * each + 1, 4, 2, &at, &count));
    assert_true(at == 2 * each && count == each);
    MUST(tally_share(4 * each + 1, 4, 3, &at, &count));
    assert_true(at == 3 * each && count == each + 1);
    /* Few nodes: by cuts at chunks a share of a billion items has up to 16. */
    for (uint64_t rank = 0; rank < 4; rank++) {
        tally_part_shape shape;
        MUST(tally_share(1000000000, 4, rank, &at, &count));
        tally_part_shape_of(at, count, 1000000000, &shape);
        assert_true(shape.node_count <= 8);
    }
    BAD(tally_share(1, 0, 0, &at, &at), "rank is 0", "0 ranks");
    BAD(tally_share(1, 3, 3, &at, &at), "rank is 3", "3 ranks");
    BAD(tally_share(1, 1, 0, NULL, &at), "first");
    BAD(tally_share(1, 1, 0, &at, NULL), "count");
}

/* ---- sizes and bytes ------------------------------------------------------------------------- */

/* The record has the bytes that tally_part_bytes says, within tally_part_bound. */
static void test_sizes(void **state) {
    (void)state;
    setting s = open_setting("host", &sum_f32);
    static const uint64_t ranges[][3] = {{0, 0, 0},        {0, N, N},        {0, N, 0},         {1, 100, 0}, {4095, 2, 0},
                                         {4096, 40000, N}, {4097, 40000, N}, {100, N - 100, N}, {N, 0, N},   {12288, 4096, 0}};
    for (size_t i = 0; i < TALLY_ARRAY_LENGTH(ranges); i++) {
        uint64_t bytes, most;
        tally_part_info info;
        const record r = make(s.plan, ranges[i][0], ranges[i][1], ranges[i][2]);
        MUST(tally_part_bytes(&sum_f32, ranges[i][0], ranges[i][1], ranges[i][2], &bytes));
        assert_int_equal(bytes, r.bytes);
        MUST(tally_part_bound(&sum_f32, N, 0, &most));
        assert_true(bytes <= most && most <= MOST);
        MUST(tally_part_describe(r.at, r.bytes, &info));
        assert_true(info.bytes == bytes && info.first == ranges[i][0] && info.n == ranges[i][1] && info.total == ranges[i][2]);
        assert_true(info.order == 1 && info.term_count == 1 && info.terms[0].op == TALLY_SUM && info.in == TALLY_F32);
        MUST(tally_part_bound(&sum_f32, N, 1, &most));
        if (!info.head_items && !info.tail_items) assert_true(bytes <= most);
        free(r.at);
    }
    uint64_t bytes;
    BAD(tally_part_bytes(&sum_f32, 5, 6, 10, &bytes), "ends at item 11", "total is 10");
    BAD(tally_part_bytes(&sum_f32, UINT64_MAX, 6, 0, &bytes), "beyond any memory");
    BAD(tally_part_bytes(&sum_f32, 5, 6, 0, NULL), "bytes");
    BAD(tally_part_bytes(NULL, 5, 6, 0, &bytes), "desc");
    close_setting(&s);
}

static uint64_t word_at(const record *r, uint32_t at, uint32_t bytes) {
    uint64_t word = 0;
    memcpy(&word, r->at + at, bytes);
    return word;
}

/* The format of docs/parts.md, byte by byte: 4,100 items from item 4,095 on are an item, a chunk
 * and three items. */
static void test_format(void **state) {
    (void)state;
    setting s = open_setting("host", &sum_f32);
    const record r = make(s.plan, 4095, 4100, 0);
    static const uint32_t fields[] = {TALLY_F32, 1, 1, 4, 4, 4, 1, 1, 3, 0};
    static const uint32_t term[] = {TALLY_SUM, TALLY_F32, TALLY_F32, 0};
    float expected;
    assert_memory_equal(r.at, "TALLYPRT", 8);
    assert_true(word_at(&r, 8, 4) == 1 && word_at(&r, 12, 4) == 1 && word_at(&r, 16, 8) == r.bytes);
    assert_true(word_at(&r, 32, 8) == 4095 && word_at(&r, 40, 8) == 4100 && word_at(&r, 48, 8) == 0);
    for (uint32_t i = 0; i < 10; i++) assert_int_equal(word_at(&r, 56 + 4 * i, 4), fields[i]);
    for (uint32_t i = 0; i < 4; i++) assert_int_equal(word_at(&r, 96 + 4 * i, 4), term[i]);
    assert_true(word_at(&r, 112, 8) == 0 && word_at(&r, 120, 8) == 0); /* no own operator, no parameter */
    oracle_reduce(TALLY_SUM, TALLY_F32, items + 4096, 4096, &expected);
    assert_memory_equal(r.at + 128, &expected, 4);
    assert_memory_equal(r.at + 136, items + 4095, 4);
    assert_memory_equal(r.at + 144, items + 8192, 12);
    assert_true(r.bytes == 160 && word_at(&r, 132, 4) == 0 && word_at(&r, 140, 4) == 0 && word_at(&r, 156, 4) == 0);
    free(r.at);
    close_setting(&s);
}

/* A record that was written on 2026-11-23: the sum of the i32 7, -3, 2^31 - 1, 0, 5, items 4,096 to
 * 4,100 of 4,101. Later libraries read it. */
static void test_old_record(void **state) {
    (void)state;
    static const unsigned char old[] = {
        0x54, 0x41, 0x4c, 0x4c, 0x59, 0x50, 0x52, 0x54, 0x01, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x88, 0x00, 0x00, 0x00,
        0x00, 0x00, 0x00, 0x00, 0x66, 0xb9, 0x20, 0xe5, 0x0c, 0x18, 0x00, 0x1b, 0x00, 0x10, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
        0x05, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x05, 0x10, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x03, 0x00, 0x00, 0x00,
        0x01, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x08, 0x00, 0x00, 0x00, 0x04, 0x00, 0x00, 0x00, 0x08, 0x00, 0x00, 0x00,
        0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00,
        0x05, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
        0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x08, 0x00, 0x00, 0x80, 0x00, 0x00, 0x00, 0x00};
    static const tally_reduce_desc sum_i32 = {.size = sizeof sum_i32, .op = TALLY_SUM, .in = TALLY_I32, .max_n = N};
    static int32_t before[4096];
    setting s = open_setting("host", &sum_i32);
    record first = {.at = malloc(MOST)}, all = {.at = malloc(MOST)};
    int64_t result;
    const tally_part_host_args args = {
        .size = sizeof args, .items = {before}, .n = 4096, .total = 4101, .out = first.at, .out_bytes = MOST};
    before[17] = 100;
    MUST(tally_reduce_part_host(s.plan, &args, &first.bytes));
    MUST(tally_part_join(NULL, (const void *[]){first.at, old}, (uint64_t[]){first.bytes, sizeof old}, 2, all.at, MOST,
                         &all.bytes));
    MUST(tally_part_value(NULL, all.at, all.bytes, &result));
    assert_true(result == INT64_C(100) + 7 - 3 + INT32_MAX + 5);
    free(first.at);
    free(all.at);
    close_setting(&s);
}

/* ---- joins that are refused ------------------------------------------------------------------ */

static void test_refused_joins(void **state) {
    (void)state;
    setting s = open_setting("host", &sum_f32);
    const tally_reduce_desc others[] = {{.size = sizeof others[0], .op = TALLY_MAX, .in = TALLY_F32, .max_n = N},
                                        {.size = sizeof others[0], .op = TALLY_SUM, .in = TALLY_I32, .max_n = N},
                                        {.size = sizeof others[0], .op = TALLY_VAR, .in = TALLY_F32, .max_n = N}};
    const record a = make(s.plan, 0, 5000, 0), b = make(s.plan, 5001, 100, 0), of = make(s.plan, 5000, 100, N),
                 other_total = make(s.plan, 5100, 100, N + 1);
    record out = {.at = malloc(MOST)};
    BAD(join(NULL, &a, &b, &out), "parts[1] begins at item 5001", "ends at 5000");
    BAD(join(NULL, &b, &a, &out), "parts[1] begins at item 0", "ends at 5101");
    BAD(join(NULL, &of, &other_total, &out), "50022 items in all", "50021");
    for (size_t i = 0; i < TALLY_ARRAY_LENGTH(others); i++) {
        tally_plan *plan;
        MUST(tally_plan_create(s.context, &others[i], &plan));
        const record c = make(plan, 5000, 100, 0);
        BAD(join(NULL, &a, &c, &out), "parts[1] is", "parts[0] is sum of f32", tally_op_name(others[i].op));
        BAD(join(plan, &a, &c, &out), "parts[0] is not of the plan's ops");
        free(c.at);
        tally_plan_destroy(plan);
    }
    const void *const parts[] = {a.at, of.at};
    const uint64_t bytes[] = {a.bytes, of.bytes};
    uint64_t joined = 0;
    BAD(tally_part_join(NULL, parts, bytes, 2, out.at, 64, &joined), "out_bytes is 64");
    assert_true(joined > 64);
    BAD(tally_part_join(NULL, parts, bytes, 0, out.at, MOST, NULL), "count is 0");
    BAD(tally_part_join(NULL, NULL, bytes, 2, out.at, MOST, NULL), "parts");
    BAD(tally_part_join(NULL, parts, NULL, 2, out.at, MOST, NULL), "bytes");
    BAD(tally_part_join(NULL, parts, bytes, 2, NULL, MOST, NULL), "out");
    BAD(tally_part_join(NULL, (const void *const[]){a.at, NULL}, bytes, 2, out.at, MOST, NULL), "parts[1]");
    BAD(tally_part_value(NULL, of.at, of.bytes, out.at), "100 items from item 5000 on of 50021, not the whole");
    BAD(tally_part_value(NULL, b.at, b.bytes, out.at), "100 items from item 5001 on, not the whole");
    BAD(tally_part_value(NULL, a.at, a.bytes, NULL), "result");
    MUST(join(NULL, &a, &of, &out));
    BAD(tally_part_value(NULL, out.at, out.bytes, items), "not the whole");
    free(out.at);
    free(a.at);
    free(b.at);
    free(of.at);
    free(other_total.at);
    close_setting(&s);
}

static void test_refused_calls(void **state) {
    (void)state;
    tally_reduce_desc steps = sum_f32;
    steps.variant = "sequential";
    setting s = open_setting("stub:alpha", &sum_f32);
    tally_plan *ladder;
    tally_queue *queue;
    tally_buffer *in, *out;
    uint64_t bytes;
    MUST(tally_plan_create(s.context, &steps, &ladder));
    MUST(tally_queue_create(s.context, &queue));
    MUST(tally_buffer_create(s.context, N * sizeof(float), &in));
    MUST(tally_buffer_create(s.context, MOST, &out));
    MUST(tally_part_bytes(&sum_f32, 4096, 5000, 0, &bytes));
    const tally_part_args good = {.size = sizeof good, .in = {in}, .first = 4096, .n = 5000, .out = out};
    tally_part_args bad = good;
#define BAD_WITH(member, value, ...)                                                                                           \
    bad = good;                                                                                                                \
    bad.member = value;                                                                                                        \
    BAD(tally_reduce_part(s.plan, queue, &bad), __VA_ARGS__)
    BAD_WITH(size, 8, "args.size is 8");
    BAD_WITH(in[0], NULL, "in[0]");
    BAD_WITH(out, NULL, "out");
    BAD_WITH(out, in, "overlap");
    BAD_WITH(out_offset, 4, "out_offset is 4", "multiple of 8");
    BAD_WITH(out_offset, (MOST - bytes + 8) / 8 * 8, "out");
    BAD_WITH(total, 9095, "ends at item 9096", "total is 9095");
    BAD_WITH(n, N + 1, "max_n is 50021");
    BAD_WITH(in_offset[0], N - 4999, "in[0]");
    BAD(tally_reduce_part(NULL, queue, &good), "plan is NULL");
    BAD(tally_reduce_part(s.plan, NULL, &good), "queue");
    BAD(tally_reduce_part(s.plan, queue, NULL), "args");
    REFUSED(tally_reduce_part(ladder, queue, &good), TALLY_E_UNSUPPORTED, "sequential", "canonical order");
    tally_part_host_args host = {.size = 4, .items = {items}, .n = 10, .out = items + 100, .out_bytes = 8};
    BAD(tally_reduce_part_host(s.plan, &host, NULL), "args.size is 4");
    host.size = sizeof host;
    BAD(tally_reduce_part_host(s.plan, &host, NULL), "out_bytes is 8");
    host.items[0] = NULL;
    BAD(tally_reduce_part_host(s.plan, &host, NULL), "items is NULL");
    REFUSED(tally_reduce_part_host(ladder, &host, NULL), TALLY_E_UNSUPPORTED, "sequential");
    MUST(tally_reduce_part(s.plan, queue, &good));
    MUST(tally_queue_wait(queue));
    tally_buffer_destroy(in);
    tally_buffer_destroy(out);
    tally_queue_destroy(queue);
    tally_plan_destroy(ladder);
    close_setting(&s);
    SOUND();
}

/* ---- damaged records ------------------------------------------------------------------------- */

static void reseal(unsigned char *at, uint64_t bytes) {
    const uint64_t sum = tally_part_sum(at, bytes / 8 * 8);
    memcpy(at + 24, &sum, 8);
}

/* Each bit of a record counts, and each byte of its length. */
static void test_damage(void **state) {
    (void)state;
    setting s = open_setting("host", &sum_f32);
    const record r = make(s.plan, 4095, 4100, N);
    for (uint64_t bit = 0; bit < 8 * r.bytes; bit++) {
        r.at[bit / 8] = (unsigned char)(r.at[bit / 8] ^ 1 << bit % 8);
        assert_int_not_equal(tally_part_check(r.at, r.bytes), TALLY_OK);
        assert_non_null(strstr(tally_last_error(), "part"));
        r.at[bit / 8] = (unsigned char)(r.at[bit / 8] ^ 1 << bit % 8);
    }
    for (uint64_t bytes = 0; bytes < r.bytes; bytes++) BAD(tally_part_check(r.at, bytes), "part");
    BAD(tally_part_check(r.at, r.bytes - 1), "truncated");
    BAD(tally_part_check(NULL, r.bytes), "part");
    MUST(tally_part_check(r.at, r.bytes + 5)); /* what follows is not the record's */
    free(r.at);
    close_setting(&s);
}

/* A record with another field, and a checksum that fits. */
static void test_other_fields(void **state) {
    (void)state;
    setting s = open_setting("host", &sum_f32);
    static const struct {
        uint32_t at;
        uint32_t value;
        tally_status status;
        const char *text;
    } fields[] = {{0, 0, TALLY_E_ARGUMENT, "TALLYPRT"},
                  {8, 2, TALLY_E_UNSUPPORTED, "format 2"},
                  {12, 2, TALLY_E_UNSUPPORTED, "order v2"},
                  {16, 152, TALLY_E_ARGUMENT, "length"},
                  {32, 4096, TALLY_E_ARGUMENT, "range"},
                  {40, 1, TALLY_E_ARGUMENT, "range"},
                  {36, 1u << 30, TALLY_E_ARGUMENT, "beyond any memory"},
                  {48, 5000, TALLY_E_ARGUMENT, "total is 5000"},
                  {56, 99, TALLY_E_ARGUMENT, "no type"},
                  {56, TALLY_I32, TALLY_E_ARGUMENT, "ops"},
                  {60, 5, TALLY_E_ARGUMENT, "inputs"},
                  {60, 2, TALLY_E_ARGUMENT, "length"},
                  {64, 0, TALLY_E_ARGUMENT, "number of ops"},
                  {64, 17, TALLY_E_ARGUMENT, "number of ops"},
                  {68, 2, TALLY_E_ARGUMENT, "accumulators"},
                  {68, 8, TALLY_E_ARGUMENT, "sizes"},
                  {72, 1u << 20, TALLY_E_ARGUMENT, "parameters"},
                  {76, 8, TALLY_E_ARGUMENT, "sizes"},
                  {80, 2, TALLY_E_ARGUMENT, "range"},
                  {84, 2, TALLY_E_ARGUMENT, "range"},
                  {88, 2, TALLY_E_ARGUMENT, "range"},
                  {92, 1, TALLY_E_ARGUMENT, "reserved"},
                  {96, 99, TALLY_E_ARGUMENT, "op 0"},
                  {96, 0, TALLY_E_ARGUMENT, "op 0"},
                  {96, TALLY_BAND, TALLY_E_ARGUMENT, "ops"},
                  {100, TALLY_I8, TALLY_E_ARGUMENT, "ops"},
                  {104, TALLY_F16, TALLY_E_ARGUMENT, "ops"},
                  {108, 9, TALLY_E_ARGUMENT, "ops"},
                  {112, 1, TALLY_E_ARGUMENT, "op 0"}};
    const record r = make(s.plan, 4095, 4100, 0);
    unsigned char changed[MOST];
    for (size_t i = 0; i < TALLY_ARRAY_LENGTH(fields); i++) {
        memcpy(changed, r.at, r.bytes);
        memcpy(changed + fields[i].at, &fields[i].value, 4);
        reseal(changed, r.bytes);
        REFUSED(tally_part_check(changed, r.bytes), fields[i].status, fields[i].text);
    }
    /* A partial may have any bits. */
    memset(changed, 0, sizeof changed);
    memcpy(changed, r.at, r.bytes);
    changed[128] ^= 1;
    reseal(changed, r.bytes);
    MUST(tally_part_check(changed, r.bytes));
    free(r.at);
    close_setting(&s);
}

/* ---- failures of the device ------------------------------------------------------------------ */

#define TRY(call)                                                                                                              \
    if (!status) status = (call)

static const char *failing_device;
static const tally_op_desc *failing_op;

/* Makes two records, in device and in host memory, joins them by the plan, and finishes. */
static tally_status use_parts(void) {
    tally_context *context = NULL;
    tally_custom_op *op = NULL;
    tally_plan *plan = NULL;
    tally_queue *queue = NULL;
    tally_buffer *in = NULL, *out = NULL;
    static unsigned char records[2][MOST];
    unsigned char result[64];
    uint64_t bytes[2] = {0};
    tally_status status = tally_context_create(failing_device, &context);
    if (failing_op) TRY(tally_op_create(failing_op, &op));
    const tally_reduce_desc desc = {
        .size = sizeof desc, .op = op ? TALLY_OP_NONE : TALLY_SUM, .in = TALLY_F32, .max_n = N, .custom = op};
    TRY(tally_plan_create(context, &desc, &plan));
    TRY(tally_queue_create(context, &queue));
    TRY(tally_buffer_create(context, N * sizeof(float), &in));
    TRY(tally_buffer_create(context, MOST, &out));
    TRY(tally_buffer_write(queue, in, 0, items, N * sizeof(float)));
    TRY(tally_part_bytes(&desc, 0, 13000, 0, &bytes[0]));
    const tally_part_args args = {.size = sizeof args, .in = {in}, .n = 13000, .out = out};
    TRY(tally_reduce_part(plan, queue, &args));
    TRY(tally_buffer_read(queue, out, 0, records[0], bytes[0]));
    const tally_status waited = queue ? tally_queue_wait(queue) : TALLY_OK;
    TRY(waited);
    const tally_part_host_args host = {
        .size = sizeof host, .items = {items + 13000}, .first = 13000, .n = 9000, .out = records[1], .out_bytes = MOST};
    TRY(tally_reduce_part_host(plan, &host, &bytes[1]));
    TRY(tally_part_join(plan, (const void *[]){records[0], records[1]}, bytes, 2, records[0], MOST, &bytes[0]));
    TRY(tally_part_value(plan, records[0], bytes[0], result));
    if (!status && !op) {
        float expected;
        oracle_reduce(TALLY_SUM, TALLY_F32, items, 22000, &expected);
        assert_memory_equal(result, &expected, sizeof expected);
    }
    tally_buffer_destroy(in);
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
        fail_each_call(use_parts, CACHE_OFF, i & 4);
    }
}

/* An own operator is its texts, whatever its name. */
static void test_own_ops(void **state) {
    (void)state;
    tally_op_desc renamed = own_twofold, changed = own_twofold;
    tally_custom_op *ops[3];
    tally_plan *plans[3];
    tally_context *context;
    record records[3], out = {.at = malloc(MOST)};
    renamed.name = "another name";
    changed.finish = "a.high";
    MUST(tally_context_create("stub:alpha", &context));
    const tally_op_desc *const descs[] = {&own_twofold, &renamed, &changed};
    for (int i = 0; i < 3; i++) {
        MUST(tally_op_create(descs[i], &ops[i]));
        const tally_reduce_desc desc = {.size = sizeof desc, .in = TALLY_F32, .max_n = N, .custom = ops[i]};
        MUST(tally_plan_create(context, &desc, &plans[i]));
        records[i] = make(plans[i], i ? 5000 : 0, 5000, 0);
        MUST(tally_part_check(records[i].at, records[i].bytes));
    }
    MUST(join(plans[0], &records[0], &records[1], &out));
    BAD(join(plans[0], &records[0], &records[2], &out), "other types, accuracy or texts");
    BAD(join(plans[2], &records[0], &records[1], &out), "not of the plan's ops");
    BAD(join(NULL, &records[0], &records[1], &out), "custom op", "plan");
    for (int i = 0; i < 3; i++) {
        free(records[i].at);
        tally_plan_destroy(plans[i]);
        tally_op_destroy(ops[i]);
    }
    free(out.at);
    tally_context_destroy(context);
    SOUND();
}

const core_test part_tests[] = {{"part: shares", test_shares},
                                {"part: sizes of records", test_sizes},
                                {"part: the format", test_format},
                                {"part: a record of format 1", test_old_record},
                                {"part: joins that are refused", test_refused_joins},
                                {"part: calls that are refused", test_refused_calls},
                                {"part: damaged records", test_damage},
                                {"part: records with other fields", test_other_fields},
                                {"part: failures of the device", test_failures},
                                {"part: own operators", test_own_ops},
                                {NULL, NULL}};
