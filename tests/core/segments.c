/* SPDX-License-Identifier: MIT */
/* Plans of segments that are wrong or that the device cannot serve, on the backend `host`. Each
 * gives its status and a text that names the culprit. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "segments.h"

const tally_term_desc two_terms[] = {{.op = TALLY_SUM}, {.op = TALLY_MAX}};

tally_segments_desc segments_desc(tally_segments_by by) {
    return (tally_segments_desc){.size = sizeof(tally_segments_desc),
                                 .by = by,
                                 .op = TALLY_SUM,
                                 .in = TALLY_F32,
                                 .max_n = SEGMENTS_MAX_N,
                                 .max_segments = SEGMENTS_MAX_SEGMENTS,
                                 .key_bytes = by == TALLY_BY_KEYS ? 4 : 0};
}

static void fill(segment_parts *p, tally_buffer *buffer, int byte) {
    const uint64_t bytes = tally_buffer_bytes(buffer);
    void *memory = malloc(bytes);
    assert_non_null(memory);
    memset(memory, byte, bytes);
    MUST(tally_buffer_write(p->queue, buffer, 0, memory, bytes));
    MUST(tally_queue_wait(p->queue));
    free(memory);
}

#define POISON 0x5a
static void expect_poison(segment_parts *p, tally_buffer *buffer) {
    unsigned char memory[SEGMENTS_RESULTS * 8];
    const uint64_t bytes = tally_buffer_bytes(buffer);
    assert_true(bytes <= sizeof memory);
    MUST(tally_buffer_read(p->queue, buffer, 0, memory, bytes));
    MUST(tally_queue_wait(p->queue));
    for (uint64_t b = 0; b < bytes; b++) assert_int_equal(memory[b], POISON);
}

static void open_plans(segment_parts *p) {
    tally_segments_desc desc = segments_desc(TALLY_BY_AXES);
    const tally_reduce_desc whole = {.size = sizeof whole, .op = TALLY_SUM, .in = TALLY_F32, .max_n = SEGMENTS_MAX_N};
    MUST(tally_plan_create(p->context, &whole, &p->whole));
    MUST(tally_segments_plan_create(p->context, &desc, &p->axes));
    desc.flags = TALLY_WHERE;
    MUST(tally_segments_plan_create(p->context, &desc, &p->masked));
    desc.flags = 0;
    desc.op = TALLY_DOT;
    MUST(tally_segments_plan_create(p->context, &desc, &p->pairs));
    desc.op = TALLY_OP_NONE;
    desc.terms = two_terms;
    desc.term_count = 2;
    desc.flags = TALLY_APART;
    MUST(tally_segments_plan_create(p->context, &desc, &p->apart));
    desc = segments_desc(TALLY_BY_OFFSETS);
    MUST(tally_segments_plan_create(p->context, &desc, &p->offsets));
    desc = segments_desc(TALLY_BY_KEYS);
    MUST(tally_segments_plan_create(p->context, &desc, &p->keys));
}

void segments_open(segment_parts *p) {
    MUST(tally_context_create("host", &p->context));
    MUST(tally_context_create("host", &p->other));
    MUST(tally_queue_create(p->context, &p->queue));
    MUST(tally_queue_create(p->other, &p->other_queue));
    open_plans(p);
    MUST(tally_buffer_create(p->context, SEGMENTS_ITEMS * sizeof(float), &p->in));
    MUST(tally_buffer_create(p->context, SEGMENTS_ITEMS, &p->where));
    MUST(tally_buffer_create(p->context, SEGMENTS_RESULTS * sizeof(float), &p->out));
    MUST(tally_buffer_create(p->context, SEGMENTS_RESULTS * sizeof(float), &p->out2));
    MUST(tally_buffer_create(p->context, SEGMENTS_RESULTS * sizeof(uint64_t), &p->begins));
    MUST(tally_buffer_create(p->context, SEGMENTS_RESULTS * sizeof(uint64_t), &p->lengths));
    MUST(tally_buffer_create(p->context, sizeof(uint64_t), &p->runs));
    MUST(tally_buffer_create(p->other, SEGMENTS_ITEMS * sizeof(float), &p->strange));
    tally_buffer *const zeros[] = {p->in, p->where, p->begins}, *const outputs[] = {p->out, p->out2, p->lengths, p->runs};
    for (size_t b = 0; b < TALLY_ARRAY_LENGTH(zeros); b++) fill(p, zeros[b], 0);
    for (size_t b = 0; b < TALLY_ARRAY_LENGTH(outputs); b++) fill(p, outputs[b], POISON);
}

void segments_close(segment_parts *p) {
    tally_plan *const plans[] = {p->axes, p->offsets, p->keys, p->masked, p->apart, p->pairs, p->whole};
    tally_buffer *const buffers[] = {p->in, p->where, p->out, p->out2, p->begins, p->lengths, p->runs, p->strange};
    for (size_t k = 0; k < TALLY_ARRAY_LENGTH(plans); k++) tally_plan_destroy(plans[k]);
    for (size_t b = 0; b < TALLY_ARRAY_LENGTH(buffers); b++) tally_buffer_destroy(buffers[b]);
    tally_queue_destroy(p->queue);
    tally_queue_destroy(p->other_queue);
    tally_context_destroy(p->context);
    tally_context_destroy(p->other);
}

void segments_untouched(segment_parts *p) {
    tally_buffer *const outputs[] = {p->out, p->out2, p->lengths, p->runs};
    for (size_t b = 0; b < TALLY_ARRAY_LENGTH(outputs); b++) expect_poison(p, outputs[b]);
}

/* ---- descriptors ----------------------------------------------------------------------------- */

#define REFUSED_DESC(by_, status, change, ...)                                                                                 \
    do {                                                                                                                       \
        tally_segments_desc desc = segments_desc(by_);                                                                         \
        plan = NULL;                                                                                                           \
        change;                                                                                                                \
        REFUSED(tally_segments_plan_create(context, &desc, &plan), status, "tally_segments_plan_create", __VA_ARGS__);         \
        assert_null(plan);                                                                                                     \
    } while (0)
#define BAD_DESC(by, change, ...) REFUSED_DESC(by, TALLY_E_ARGUMENT, change, __VA_ARGS__)

static void test_descriptors(void **unused) {
    (void)unused;
    tally_context *context;
    tally_plan *plan;
    static const tally_term_desc mixed[] = {{.op = TALLY_SUM}, {.op = TALLY_DOT}};
    MUST(tally_context_create("host", &context));
    BAD_DESC(TALLY_BY_AXES, desc.size = 8, "desc.size");
    BAD_DESC(TALLY_BY_AXES, desc.size = sizeof desc + 8, "desc.size");
    BAD_DESC(0, desc.key_bytes = 0, "desc.by");
    BAD_DESC(9, desc.key_bytes = 0, "desc.by");
    BAD_DESC(TALLY_BY_AXES, desc.op = 0, "desc.op");
    BAD_DESC(TALLY_BY_OFFSETS, desc.op = 0, "desc.op");
    BAD_DESC(TALLY_BY_AXES, desc.op = TALLY_OP_END, "desc.op");
    BAD_DESC(TALLY_BY_AXES, desc.in = 0, "desc.in");
    BAD_DESC(TALLY_BY_AXES, desc.in = TALLY_DTYPE_END, "desc.in");
    BAD_DESC(TALLY_BY_AXES, desc.out = TALLY_DTYPE_END, "desc.out");
    BAD_DESC(TALLY_BY_AXES, (desc.terms = two_terms, desc.term_count = 2), "desc.terms", "desc.op");
    BAD_DESC(TALLY_BY_AXES, (desc.op = 0, desc.term_count = 2), "desc.terms is NULL");
    BAD_DESC(TALLY_BY_AXES, (desc.op = 0, desc.terms = mixed, desc.term_count = 2), "cannot share a pass");
    BAD_DESC(TALLY_BY_AXES, desc.flags = 64, "desc.flags");
    BAD_DESC(TALLY_BY_AXES, desc.flags = TALLY_UNCHECKED, "desc.flags");
    BAD_DESC(TALLY_BY_OFFSETS, desc.flags = 2, "desc.flags");
    BAD_DESC(TALLY_BY_AXES, desc.max_n = UINT64_MAX, "desc.max_n is beyond any memory");
    BAD_DESC(TALLY_BY_OFFSETS, desc.max_segments = UINT64_MAX, "desc.max_segments is beyond any memory");
    BAD_DESC(TALLY_BY_KEYS, desc.max_segments = UINT64_MAX, "desc.max_segments is beyond any memory");
    BAD_DESC(TALLY_BY_KEYS, desc.max_segments = UINT64_C(1) << 61, "desc.max_segments is beyond any memory");
    BAD_DESC(TALLY_BY_AXES, desc.max_length = 9, "desc.max_length is for segments by offsets and by keys");
    BAD_DESC(TALLY_BY_OFFSETS, desc.offsets = TALLY_F32, "desc.offsets is f32");
    BAD_DESC(TALLY_BY_OFFSETS, desc.offsets = TALLY_I16, "desc.offsets is i16");
    BAD_DESC(TALLY_BY_OFFSETS, desc.offsets = TALLY_DTYPE_END, "desc.offsets");
    BAD_DESC(TALLY_BY_KEYS, desc.key_bytes = 0, "desc.key_bytes is 0");
    BAD_DESC(TALLY_BY_KEYS, desc.key_bytes = 17, "desc.key_bytes is 17");
    REFUSED_DESC(TALLY_BY_AXES, TALLY_E_UNSUPPORTED, desc.op = TALLY_BAND, "band does not take f32");
    REFUSED_DESC(TALLY_BY_KEYS, TALLY_E_UNSUPPORTED, desc.op = TALLY_BAND, "band does not take f32");
    const tally_segments_desc good = segments_desc(TALLY_BY_AXES);
    BAD(tally_segments_plan_create(context, NULL, &plan), "tally_segments_plan_create", "desc is NULL");
    BAD(tally_segments_plan_create(NULL, &good, &plan), "tally_segments_plan_create", "context");
    BAD(tally_segments_plan_create(context, &good, NULL), "tally_segments_plan_create", "out");
    tally_context_destroy(context);
}

/* The backend compiles nothing. */
static void test_host_lacks(void **unused) {
    (void)unused;
    tally_context *context;
    tally_plan *plan;
    tally_custom_op *own;
    const tally_op_desc sum = {.size = sizeof sum, .name = "own", .identity = "0", .load = "x", .combine = "a + b"};
    MUST(tally_context_create("host", &context));
    MUST(tally_op_create(&sum, &own));
    REFUSED_DESC(TALLY_BY_AXES, TALLY_E_UNSUPPORTED, (desc.op = 0, desc.custom = own), "host");
    REFUSED_DESC(TALLY_BY_AXES, TALLY_E_UNSUPPORTED, desc.acc = TALLY_F64, "host");
    REFUSED_DESC(TALLY_BY_OFFSETS, TALLY_E_UNSUPPORTED, (desc.in = TALLY_F16, desc.accuracy = TALLY_ACCURACY_COMPENSATED),
                 "host");
    REFUSED_DESC(TALLY_BY_KEYS, TALLY_E_UNSUPPORTED, desc.out = TALLY_F16, "host");
    tally_op_destroy(own);
    tally_context_destroy(context);
}

/* Ops whose accumulator is not made of a result. */
static void test_initial(void **unused) {
    (void)unused;
    static const struct {
        tally_op op;
        tally_dtype in;
    } lacking[] = {{TALLY_MEAN, TALLY_F32},   {TALLY_VAR, TALLY_F32},   {TALLY_STD, TALLY_I8},  {TALLY_ARGMIN, TALLY_F32},
                   {TALLY_ARGMAX, TALLY_I16}, {TALLY_IAMAX, TALLY_F32}, {TALLY_NRM2, TALLY_U8}, {TALLY_NRM2, TALLY_I32}};
    static const uint64_t initial[8];
    tally_context *context;
    tally_plan *plan;
    MUST(tally_context_create("host", &context));
    for (tally_segments_by by = TALLY_BY_AXES; by <= TALLY_BY_KEYS; by++)
        for (size_t r = 0; r < TALLY_ARRAY_LENGTH(lacking); r++) {
            const tally_term_desc terms[] = {{.op = TALLY_SUM}, {.op = lacking[r].op}};
            REFUSED_DESC(by, TALLY_E_UNSUPPORTED, (desc.op = lacking[r].op, desc.in = lacking[r].in, desc.initial = initial),
                         "initial", tally_op_name(lacking[r].op));
            REFUSED_DESC(
                by, TALLY_E_UNSUPPORTED,
                (desc.op = 0, desc.terms = terms, desc.term_count = 2, desc.in = lacking[r].in, desc.initial = initial),
                "initial", tally_op_name(lacking[r].op));
        }
    tally_context_destroy(context);
}

/* A float from which an integer is made must be one: 0.5 became 0, and infinity anything. */
static void test_initial_integers(void **unused) {
    (void)unused;
    static const double values[] = {0.5, -1, INFINITY, NAN, 18446744073709551616.0};
    static const float narrow = -129;
    const tally_term_desc terms[] = {{.op = TALLY_MIN}, {.op = TALLY_COUNT_NONZERO, .out = TALLY_F64}};
    const struct {
        int8_t min;
        double count;
    } both = {-1, -1};
    tally_context *context;
    tally_plan *plan;
    MUST(tally_context_create("host", &context));
    for (tally_segments_by by = TALLY_BY_AXES; by <= TALLY_BY_KEYS; by++) {
        for (size_t v = 0; v < TALLY_ARRAY_LENGTH(values); v++)
            REFUSED_DESC(by, TALLY_E_ARGUMENT, (desc.in = TALLY_U8, desc.out = TALLY_F64, desc.initial = &values[v]),
                         "desc.initial", "sum of u8", "no u64");
        REFUSED_DESC(by, TALLY_E_ARGUMENT,
                     (desc.op = TALLY_MIN, desc.in = TALLY_I8, desc.out = TALLY_F32, desc.initial = &narrow), "desc.initial",
                     "min of i8", "-129 is no i8");
        REFUSED_DESC(by, TALLY_E_ARGUMENT,
                     (desc.op = 0, desc.terms = terms, desc.term_count = 2, desc.in = TALLY_I8, desc.initial = &both),
                     "desc.initial", "count_nonzero of i8", "-1 is no u64");
        static const float below[] = {-3, -0.0F};
        for (size_t v = 0; v < 2; v++)
            for (int is_norm = 0; is_norm < 2; is_norm++)
                REFUSED_DESC(by, TALLY_E_ARGUMENT,
                             (desc.op = is_norm ? TALLY_NRM2 : TALLY_AMAX, desc.in = TALLY_F32, desc.initial = &below[v]),
                             "desc.initial", is_norm ? "nrm2 is no negative number" : "amax is no negative number");
        /* Next to it: the backend is asked, which has no such results. */
        REFUSED_DESC(by, TALLY_E_UNSUPPORTED, (desc.in = TALLY_I8, desc.out = TALLY_F64, desc.initial = &values[1]), "host");
    }
    tally_context_destroy(context);
}

/* An own op is refused for its form before the backend is asked for its program. */
static void test_initial_own(void **unused) {
    (void)unused;
    static const tally_op_field fields[] = {{.name = "s", .identity = "0", .load = "x", .combine = "a.s + b.s"}};
    const tally_op_desc by_fields = {
        .size = sizeof by_fields, .name = "own", .fields = fields, .field_count = 1, .finish = "a.s"};
    const tally_op_desc finished = {
        .size = sizeof finished, .name = "own", .identity = "0", .load = "x", .combine = "a + b", .finish = "a / 2"};
    const tally_op_desc *const descs[] = {&by_fields, &finished};
    static const float initial = 1;
    tally_context *context;
    tally_plan *plan;
    MUST(tally_context_create("host", &context));
    for (size_t d = 0; d < TALLY_ARRAY_LENGTH(descs); d++) {
        tally_custom_op *own;
        MUST(tally_op_create(descs[d], &own));
        REFUSED_DESC(TALLY_BY_AXES, TALLY_E_UNSUPPORTED, (desc.op = 0, desc.custom = own, desc.initial = &initial), "initial");
        tally_op_destroy(own);
    }
    /* The initial result of an f16 has two bytes, though the op computes in integers. */
    static const tally_op_desc total = {
        .size = sizeof total, .name = "total", .out = TALLY_F16, .identity = "0", .load = "x", .combine = "a + b"};
    static const uint16_t halves[] = {0x3e00, 0x4000}; /* 1.5, 2 */
    tally_custom_op *own;
    MUST(tally_op_create(&total, &own));
#define OF_HALF(half) (desc.op = 0, desc.custom = own, desc.in = TALLY_I32, desc.initial = &halves[half])
    REFUSED_DESC(TALLY_BY_AXES, TALLY_E_ARGUMENT, OF_HALF(0), "desc.initial", "1.5 is no i64");
    REFUSED_DESC(TALLY_BY_AXES, TALLY_E_UNSUPPORTED, OF_HALF(1), "host");
    tally_op_destroy(own);
    tally_context_destroy(context);
}

/* The calls that take a plan of any kind, and those that take one of another kind. */
static void test_plans(void **unused) {
    (void)unused;
    segment_parts p;
    tally_result_info info;
    segments_open(&p);
    assert_int_equal(tally_plan_result_bytes(p.axes), sizeof(float));
    assert_true(tally_plan_result(p.axes, 0, &info));
    assert_int_equal(info.dtype, TALLY_F32);
    assert_false(tally_plan_result(p.axes, 1, &info));
    assert_int_equal(tally_plan_depth(p.axes, 100), tally_plan_depth(p.whole, 100));
    BAD(tally_plan_set_param(p.axes, "ddof", 1), "ddof");
    BAD(tally_reduce(p.axes, p.queue, p.in, 1, p.out), "tally_reduce", "plan");
    BAD(tally_scan(p.offsets, p.queue, p.in, 1, p.out), "tally_scan", "plan");
    segments_close(&p);
}

const core_test segments_tests[] = {
    {"segments: descriptors", test_descriptors},
    {"segments: what the host lacks", test_host_lacks},
    {"segments: initial", test_initial},
    {"segments: initial of integers", test_initial_integers},
    {"segments: initial of own ops", test_initial_own},
    {"segments: plans", test_plans},
    {NULL, NULL},
};
