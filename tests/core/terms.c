/* SPDX-License-Identifier: MIT */
/* Terms: several ops over one pass, built-in ones and one's own. The layout of results, the results
 * of each op beside others, refusals. */
#include <string.h>

#include "core.h"
#include "tests/support/own_ops.h"

/* ---- layouts --------------------------------------------------------------------------------- */

typedef struct fused_value {
    uint32_t term;
    tally_dtype dtype;
    size_t offset;
} fused_value;

static void expect_fused(tally_dtype in, const tally_term_desc *list, uint32_t term_count, const fused_value *values,
                         uint32_t count, size_t result_bytes, size_t acc_bytes, size_t acc_of_last) {
    tally_terms terms = resolve_desc(&made_up_device, (tally_reduce_desc){.in = in, .terms = list, .term_count = term_count});
    tally_result_info info;
    assert_int_equal(terms.count, term_count);
    for (uint32_t v = 0; v < count; v++) {
        if (!tally_terms_result(&terms, v, &info)) fail_msg("there are %u values, should be %u", v, count);
        assert_int_equal(info.term, values[v].term);
        if (info.dtype != values[v].dtype)
            fail_msg("value %u is %s, should be %s", v, tally_dtype_name(info.dtype), tally_dtype_name(values[v].dtype));
        assert_int_equal(info.offset, values[v].offset);
    }
    assert_false(tally_terms_result(&terms, count, &info));
    assert_int_equal(terms.result.bytes, result_bytes);
    assert_int_equal(terms.acc.bytes, acc_bytes);
    assert_int_equal(terms.list[term_count - 1].acc_offset, acc_of_last);
    tally_terms_close(&terms);
}

static void test_layout(void **unused) {
    (void)unused;
    typedef struct {
        uint16_t min, low, high;
        float sum;
        uint64_t argmax;
        uint8_t any;
        float mean;
    } f16_result;
    /* A struct of 8 bytes is aligned to 8, so that one atomic can take it. C would align it
     * to 4. */
    typedef struct {
        float min;
        _Alignas(8) struct { float low, high; } minmax;
        float sum;
        struct {
            float value;
            uint64_t index;
        } argmax;
        uint32_t any;
        float mean;
    } f16_acc;
    static const tally_term_desc f16_ops[] = {{.op = TALLY_MIN},    {.op = TALLY_MINMAX}, {.op = TALLY_SUM},
                                              {.op = TALLY_ARGMAX}, {.op = TALLY_ANY},    {.op = TALLY_MEAN}};
    static const fused_value f16_values[] = {
        {0, TALLY_F16, offsetof(f16_result, min)},    {1, TALLY_F16, offsetof(f16_result, low)},
        {1, TALLY_F16, offsetof(f16_result, high)},   {2, TALLY_F32, offsetof(f16_result, sum)},
        {3, TALLY_U64, offsetof(f16_result, argmax)}, {4, TALLY_BOOL, offsetof(f16_result, any)},
        {5, TALLY_F32, offsetof(f16_result, mean)},
    };
    expect_fused(TALLY_F16, f16_ops, 6, f16_values, 7, sizeof(f16_result), sizeof(f16_acc), offsetof(f16_acc, mean));
}

static void test_layout_of_integers(void **unused) {
    (void)unused;
    typedef struct {
        uint8_t any;
        int64_t sum;
        int8_t min;
        double std;
        uint8_t amax;
        uint64_t count;
    } i8_result;
    typedef struct {
        uint32_t any;
        uint64_t sum;
        int32_t min;
        struct {
            uint64_t sum[2], squares[2];
        } std;
        uint32_t amax;
        uint64_t count;
    } i8_acc;
    static const tally_term_desc i8_ops[] = {{.op = TALLY_ANY}, {.op = TALLY_SUM},  {.op = TALLY_MIN},
                                             {.op = TALLY_STD}, {.op = TALLY_AMAX}, {.op = TALLY_COUNT_NONZERO}};
    static const fused_value i8_values[] = {
        {0, TALLY_BOOL, offsetof(i8_result, any)}, {1, TALLY_I64, offsetof(i8_result, sum)},
        {2, TALLY_I8, offsetof(i8_result, min)},   {3, TALLY_F64, offsetof(i8_result, std)},
        {4, TALLY_U8, offsetof(i8_result, amax)},  {5, TALLY_U64, offsetof(i8_result, count)},
    };
    expect_fused(TALLY_I8, i8_ops, 6, i8_values, 6, sizeof(i8_result), sizeof(i8_acc), offsetof(i8_acc, count));
}

static void test_layout_of_complex(void **unused) {
    (void)unused;
    typedef struct {
        float nrm2;
        struct {
            float re, im;
        } sum, mean;
    } c64_result;
    static const tally_term_desc c64_ops[] = {{.op = TALLY_NRM2}, {.op = TALLY_SUM}, {.op = TALLY_MEAN}};
    static const fused_value c64_values[] = {{0, TALLY_F32, offsetof(c64_result, nrm2)},
                                             {1, TALLY_C64, offsetof(c64_result, sum)},
                                             {2, TALLY_C64, offsetof(c64_result, mean)}};
    expect_fused(TALLY_C64, c64_ops, 3, c64_values, 3, sizeof(c64_result), 32, 24);

    /* The largest number of terms. Each has its own place. */
    tally_term_desc many[TALLY_MAX_TERMS];
    fused_value doubles[TALLY_MAX_TERMS];
    for (uint32_t i = 0; i < TALLY_MAX_TERMS; i++) {
        many[i] = (tally_term_desc){.op = i % 2 ? TALLY_STD : TALLY_MEAN};
        doubles[i] = (fused_value){i, TALLY_F64, 8 * (size_t)i};
    }
    expect_fused(TALLY_F64, many, TALLY_MAX_TERMS, doubles, TALLY_MAX_TERMS, 8 * TALLY_MAX_TERMS, 40 * TALLY_MAX_TERMS / 2,
                 40 * TALLY_MAX_TERMS / 2 - 32);
    /* One op in a list has the layout of the op alone. */
    static const fused_value alone[] = {{0, TALLY_F32, 0}};
    expect_fused(TALLY_F32, (const tally_term_desc[]){{.op = TALLY_SUM}}, 1, alone, 1, 4, 4, 0);
}

static tally_custom_op *make(const tally_op_desc *desc) {
    tally_custom_op *op;
    MUST(tally_op_create(desc, &op));
    return op;
}

/* The values of one op are a struct within the result. */
static void test_layout_of_own(void **unused) {
    (void)unused;
    typedef struct {
        uint8_t any;
        struct {
            uint8_t first;
            double second;
            uint16_t third;
        } own;
        float sum, alone;
    } result;
    typedef struct {
        uint32_t any;
        double own;
        float sum;
        double alone;
    } acc;
    static const tally_op_result values[] = {
        {"first", TALLY_U8, "1", NULL}, {"second", 0, "a", NULL}, {"third", TALLY_F16, "a", NULL}};
    tally_op_desc desc = {.size = sizeof desc,
                          .acc = TALLY_F64,
                          .identity = "0",
                          .load = "x",
                          .combine = "a + b",
                          .results = values,
                          .result_count = 3};
    tally_custom_op *several = make(&desc);
    desc.result_count = 1;
    tally_custom_op *single = make(&desc);
    const tally_term_desc list[] = {
        {.op = TALLY_ANY}, {.custom = several}, {.op = TALLY_SUM}, {.custom = single, .out = TALLY_F32}};
    static const fused_value known[] = {
        {0, TALLY_BOOL, offsetof(result, any)},       {1, TALLY_U8, offsetof(result, own.first)},
        {1, TALLY_F64, offsetof(result, own.second)}, {1, TALLY_F16, offsetof(result, own.third)},
        {2, TALLY_F32, offsetof(result, sum)},        {3, TALLY_F32, offsetof(result, alone)}};
    expect_fused(TALLY_F32, list, 4, known, 6, sizeof(result), sizeof(acc), offsetof(acc, alone));
    tally_op_destroy(several);
    tally_op_destroy(single);
}

/* ---- each op gives what it gives alone ------------------------------------------------------- */

#define ITEMS 100001u

void expect_zero_gaps(const tally_plan *plan, const unsigned char *all, const char *where) {
    unsigned char gaps[512];
    const uint64_t bytes = tally_plan_result_bytes(plan);
    tally_result_info info;
    assert_true(bytes <= sizeof gaps);
    memcpy(gaps, all, bytes);
    for (uint32_t i = 0; tally_plan_result(plan, i, &info); i++) memset(gaps + info.offset, 0, tally_dtype_bytes(info.dtype));
    for (uint64_t i = 0; i < bytes; i++)
        if (gaps[i]) fail_msg("%s: byte %llu, which is padding, is 0x%02x", where, (unsigned long long)i, gaps[i]);
}

static void expect_as_alone(tally_context *context, const tally_term_desc *terms, uint32_t count, const float *x, uint64_t n) {
    unsigned char all[512], alone[64];
    tally_plan *plan, *single;
    tally_result_info info, own;
    const tally_reduce_desc desc = {.size = sizeof desc, .in = TALLY_F32, .terms = terms, .term_count = count, .max_n = ITEMS};
    MUST(tally_plan_create(context, &desc, &plan));
    assert_true(tally_plan_result_bytes(plan) <= sizeof all);
    memset(all, 0x5a, sizeof all);
    MUST(tally_reduce_host_inputs(context, &desc, (const void *const[]){x}, n, all));
    expect_zero_gaps(plan, all, "one's own beside the library's");
    uint32_t value = 0;
    for (uint32_t t = 0; t < count; t++) {
        const tally_reduce_desc one = {.size = sizeof one,
                                       .in = TALLY_F32,
                                       .op = terms[t].op,
                                       .out = terms[t].out,
                                       .acc = terms[t].acc,
                                       .accuracy = terms[t].accuracy,
                                       .custom = terms[t].custom,
                                       .variant = "auto"};
        MUST(tally_plan_create(context, &one, &single));
        assert_true(tally_plan_result_bytes(single) <= sizeof alone);
        MUST(tally_reduce_host_inputs(context, &one, (const void *const[]){x}, n, alone));
        for (uint32_t k = 0; tally_plan_result(single, k, &own); k++, value++) {
            assert_true(tally_plan_result(plan, value, &info));
            assert_true(info.term == t && info.dtype == own.dtype);
            if (memcmp(all + info.offset, alone + own.offset, tally_dtype_bytes(own.dtype)) != 0)
                fail_msg("term %u of %llu items, value %u: not as alone", t, (unsigned long long)n, k);
        }
        tally_plan_destroy(single);
    }
    assert_false(tally_plan_result(plan, value, &info));
    tally_plan_destroy(plan);
}

static void test_mixed(void **unused) {
    (void)unused;
    static const uint64_t sizes[] = {0, 1, 4097, ITEMS};
    static float x[ITEMS];
    tally_custom_op *least = make(&own_least), *twofold = make(&own_twofold);
    const tally_term_desc terms[] = {{.op = TALLY_MEAN, .accuracy = TALLY_ACCURACY_COMPENSATED},
                                     {.custom = least},
                                     {.op = TALLY_ANY, .out = TALLY_U64},
                                     {.custom = twofold, .out = TALLY_F16},
                                     {.op = TALLY_SUM, .acc = TALLY_F64},
                                     {.op = TALLY_SUM},
                                     {.custom = least},
                                     {.op = TALLY_MINMAX, .out = TALLY_F64}};
    for (uint32_t i = 0; i < ITEMS; i++) x[i] = (float)(int32_t)(i * 2654435761u) * 0x1p-24f;
    for (size_t s = 0; s < 2; s++) {
        tally_context *context;
        MUST(tally_context_create(s ? "stub:beta" : "stub:alpha", &context));
        for (size_t n = 0; n < TALLY_ARRAY_LENGTH(sizes); n++)
            expect_as_alone(context, terms, TALLY_ARRAY_LENGTH(terms), x, sizes[n]);
        tally_context_destroy(context);
    }
    tally_op_destroy(least);
    tally_op_destroy(twofold);
    SOUND();
}

/* A name that several ops share is one parameter. Each op has it in its own type. A value that one
 * type cannot hold changes none. */
static void test_shared_params(void **unused) {
    (void)unused;
    static const tally_op_param real[] = {{"k", TALLY_F32, 1}}, whole[] = {{"k", TALLY_I32, 1}};
    tally_op_desc desc = {.size = sizeof desc,
                          .name = "scaled",
                          .identity = "0",
                          .load = "x * p.k",
                          .combine = "a + b",
                          .params = real,
                          .param_count = 1};
    tally_custom_op *scaled = make(&desc);
    desc.name = "counted";
    desc.params = whole;
    tally_custom_op *counted = make(&desc);
    const tally_term_desc terms[] = {{.custom = scaled}, {.op = TALLY_SUM}, {.custom = counted}, {.op = TALLY_VAR}};
    const tally_reduce_desc what = {.size = sizeof what, .in = TALLY_F32, .terms = terms, .term_count = 4, .max_n = 4};
    static const float x[] = {1, 2, 3, 4};
    float got[4];
    tally_context *context;
    tally_feed *feed;
    MUST(tally_context_create("stub:alpha", &context));
    MUST(tally_feed_create(context, &what, &feed));
    tally_op_destroy(scaled);
    tally_op_destroy(counted);
    tally_plan *plan = tally_feed_plan(feed);
    MUST(tally_plan_set_param(plan, "k", 2.5));
    for (int again = 0; again < 2; again++) {
        MUST(tally_feed_finish(feed, x, 4, got));
        assert_true(got[0] == 25 && got[1] == 10 && got[2] == 20 && got[3] == (again ? 5.0f / 3 : 1.25f));
        BAD(tally_plan_set_param(plan, "k", 3e9), "op counted", "parameter k", "i32");
        MUST(tally_plan_set_param(plan, "ddof", 1));
    }
    BAD(tally_plan_set_param(plan, "j", 1), "there are k, ddof");
    tally_feed_destroy(feed);
    tally_context_destroy(context);
    SOUND();
}

/* ---- refused --------------------------------------------------------------------------------- */

static void test_refused(void **unused) {
    (void)unused;
    static uint64_t garbage[64];
    tally_op_desc pair_desc = own_twofold;
    pair_desc.inputs = 2;
    tally_custom_op *least = make(&own_least), *twofold = make(&own_twofold), *pairs = make(&pair_desc);
    const struct {
        tally_term_desc second;
        tally_status status;
        const char *words[3];
    } cases[] = {
        {{.op = TALLY_OP_NONE}, TALLY_E_ARGUMENT, {"desc.terms[1].op is 0: no such op"}},
        {{.op = TALLY_SUM, .custom = least}, TALLY_E_ARGUMENT, {"desc.terms[1].op and .custom: give one of them"}},
        {{.custom = (tally_custom_op *)(void *)garbage}, TALLY_E_ARGUMENT, {"desc.terms[1].custom is no op"}},
        {{.custom = least, .out = TALLY_F64}, TALLY_E_ARGUMENT, {"desc.terms[1].out is f64", "2 results of op least"}},
        {{.custom = twofold, .out = TALLY_I32}, TALLY_E_ARGUMENT, {"desc.terms[1].out is i32", "twofold is f32"}},
        {{.custom = twofold, .out = (tally_dtype)99}, TALLY_E_ARGUMENT, {"desc.terms[1].out is 99"}},
        {{.custom = twofold, .acc = TALLY_F64}, TALLY_E_ARGUMENT, {"desc.terms[1].acc is f64"}},
        {{.op = TALLY_MIN, .acc = TALLY_I8}, TALLY_E_ARGUMENT, {"desc.terms[1].acc is", "no type to accumulate in"}},
        {{.op = TALLY_SUM, .accuracy = TALLY_ACCURACY_END}, TALLY_E_ARGUMENT, {"desc.terms[1].accuracy is 2"}},
        {{.custom = least, .accuracy = 1}, TALLY_E_UNSUPPORTED, {"op least", "no level 'compensated'"}},
        {{.custom = pairs}, TALLY_E_ARGUMENT, {"twofold has 2 inputs", "sum has 1", "share a pass"}},
    };
    for (size_t i = 0; i < TALLY_ARRAY_LENGTH(cases); i++) {
        const tally_term_desc terms[] = {{.op = TALLY_SUM}, cases[i].second};
        const char *const words[] = {cases[i].words[0], cases[i].words[1], cases[i].words[2], NULL};
        refused(try_desc(&made_up_device, (tally_reduce_desc){.in = TALLY_F32, .terms = terms, .term_count = 2}),
                cases[i].status, "a second term", __FILE__, __LINE__, words);
    }
    BAD(try_desc(&made_up_device, (tally_reduce_desc){.in = TALLY_F32, .custom = least, .out = TALLY_F64}), "desc.out is f64",
        "2 results of op least");
    const tally_term_desc mixed[] = {{.op = TALLY_SUM}, {.custom = least}};
    REFUSED(try_desc(&made_up_device,
                     (tally_reduce_desc){.in = TALLY_F32, .terms = mixed, .term_count = 2, .variant = "host_finish"}),
            TALLY_E_UNSUPPORTED, "host_finish", "a custom op");
    tally_op_destroy(least);
    tally_op_destroy(twofold);
    tally_op_destroy(pairs);
}

/* A temporary or a result of f64 is refused on a device without f64. */
static void test_no_f64(void **unused) {
    (void)unused;
    tally_device_info narrow = made_up_device;
    narrow.has_f64 = 0;
    for (int part = 0; part < 3; part++) {
        tally_op_let lets[TALLY_ARRAY_LENGTH(own_least_lets)];
        tally_op_result results[2];
        tally_op_desc desc = own_least;
        memcpy(lets, own_least_lets, sizeof lets);
        memcpy(results, own_least_results, sizeof results);
        if (part == 1) lets[0].type = TALLY_F64;
        if (part == 2) results[1].type = TALLY_F64;
        desc.lets = lets;
        desc.results = results;
        desc.acc = TALLY_F32;
        tally_custom_op *op = make(&desc);
        const tally_term_desc terms[] = {{.op = TALLY_SUM}, {.custom = op}};
        const tally_reduce_desc what = {.in = TALLY_F32, .terms = terms, .term_count = 2};
        if (part)
            REFUSED(try_desc(&narrow, what), TALLY_E_UNSUPPORTED, "Made Up", "f64");
        else
            MUST(try_desc(&narrow, what));
        tally_op_destroy(op);
    }
}

const core_test term_tests[] = {
    {"terms: layouts of results", test_layout},
    {"terms: layouts of integers' results", test_layout_of_integers},
    {"terms: layouts of complex results, and of many", test_layout_of_complex},
    {"terms: layouts of one's own results", test_layout_of_own},
    {"terms: one's own beside the library's", test_mixed},
    {"terms: shared parameters", test_shared_params},
    {"terms: refused", test_refused},
    {"terms: a device without f64", test_no_f64},
    {NULL, NULL},
};
