/* SPDX-License-Identifier: MIT */
/*
 * Resolved descriptors: the layouts of accumulators, results and parameters, compared with C
 * structs; refused descriptors; limits of a device.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core.h"

/* ---- layouts --------------------------------------------------------------------------------- */

#define EXPECT_ACC(op_, in_, ...)                                                                                              \
    do {                                                                                                                       \
        typedef __VA_ARGS__ expected;                                                                                          \
        tally_terms terms = resolve_desc(&made_up_device, (tally_reduce_desc){.op = TALLY_##op_, .in = TALLY_##in_});          \
        assert_int_equal(terms.acc.bytes, sizeof(expected));                                                                   \
        tally_terms_close(&terms);                                                                                             \
    } while (0)

static void test_accumulators(void **unused) {
    (void)unused;
    EXPECT_ACC(SUM, F16, float);
    EXPECT_ACC(SUM, I8, uint64_t);
    EXPECT_ACC(MIN, I16, int32_t);
    EXPECT_ACC(ANY, F64, uint32_t);
    EXPECT_ACC(
        ARGMIN, F32, struct {
            float value;
            uint64_t index;
        });
    EXPECT_ACC(
        IAMAX, F64, struct {
            double value;
            uint64_t index;
        });
    EXPECT_ACC(
        MINMAX, U8, struct { uint32_t low, high; });
    EXPECT_ACC(
        MINMAX, U64, struct { uint64_t low, high; });
    EXPECT_ACC(
        VAR, F32, struct { float count, mean, rest, squares; });
    EXPECT_ACC(
        STD, F64, struct { double count, mean, rest, squares; });
    EXPECT_ACC(
        STD, I8, struct { uint64_t sum[2], squares[2]; });
    EXPECT_ACC(
        NRM2, U32, struct { uint64_t squares[2]; });
    EXPECT_ACC(
        NRM2, I64, struct { double small, medium, big; });
    EXPECT_ACC(
        MEAN, U32, struct { uint64_t sum[2]; });
    EXPECT_ACC(MEAN, I16, uint64_t);
    EXPECT_ACC(MEAN, U64, double);
    EXPECT_ACC(
        NRM2, F16, struct { float small, medium, big; });
    EXPECT_ACC(
        LOGSUMEXP, F32, struct { float top, sum; });
    EXPECT_ACC(
        SUM, C64, struct { float re, im; });
    EXPECT_ACC(
        PROD, C64, struct { float re, im, count; });
    EXPECT_ACC(
        PROD, C128, struct { double re, im, count; });
}

/* ---- parameters ------------------------------------------------------------------------------ */

static void test_packing(void **unused) {
    (void)unused;
    const tally_term_desc ops[] = {{.op = TALLY_VAR}, {.op = TALLY_SUM}, {.op = TALLY_STD}};
    struct {
        struct {
            float ddof;
        } var;
        uint32_t none;
        struct {
            float ddof;
        } std;
    } f32 = {0};
    tally_terms terms = resolve_desc(&made_up_device, (tally_reduce_desc){.in = TALLY_F32, .terms = ops, .term_count = 3});
    terms.list[0].params[0].value = 0.1;
    terms.list[2].params[0].value = 3;
    f32.var.ddof = 0.1f;
    f32.std.ddof = 3;
    unsigned char packed[64];
    assert_int_equal(terms.param.bytes, sizeof f32);
    memset(packed, 0xee, sizeof packed);
    tally_terms_pack_params(&terms, packed);
    assert_memory_equal(packed, &f32, sizeof f32);
    assert_int_equal(packed[sizeof f32], 0xee);
    tally_terms_close(&terms);

    struct {
        double rtol, atol;
    } close = {1e-5, 1e-8};
    terms = resolve_desc(&made_up_device, (tally_reduce_desc){.op = TALLY_ALLCLOSE, .in = TALLY_I32});
    assert_int_equal(terms.param.bytes, sizeof close);
    tally_terms_pack_params(&terms, packed);
    assert_memory_equal(packed, &close, sizeof close);
    tally_terms_close(&terms);
}

/* Parameters of every type, in an order that leaves gaps. Gaps are 0. */
static void test_packing_of_types(void **unused) {
    (void)unused;
    static const tally_op_param params[] = {{"a", TALLY_I32, -7},     {"b", TALLY_U64, 0x1p40}, {"c", TALLY_F32, 0.1},
                                            {"d", TALLY_F64, 0.1},    {"e", TALLY_U32, 4e9},    {"f", TALLY_I64, -0x1p40},
                                            {"g", 0 /* f64 */, 1e300}};
    struct {
        int32_t a;
        uint64_t b;
        float c;
        double d;
        uint32_t e;
        int64_t f;
        double g;
    } own;
    memset(&own, 0, sizeof own);
    own.a = -7;
    own.b = UINT64_C(1) << 40;
    own.c = 0.1f;
    own.d = 0.1;
    own.e = 4000000000u;
    own.f = -(INT64_C(1) << 40);
    own.g = 1e300;
    tally_custom_op *custom;
    MUST(tally_op_create(&(tally_op_desc){.size = sizeof(tally_op_desc),
                                          .identity = "0",
                                          .load = "x",
                                          .combine = "a + b",
                                          .params = params,
                                          .param_count = TALLY_ARRAY_LENGTH(params)},
                         &custom));
    unsigned char packed[64];
    tally_terms terms = resolve_desc(&made_up_device, (tally_reduce_desc){.custom = custom, .in = TALLY_F32});
    assert_int_equal(terms.param.bytes, sizeof own);
    memset(packed, 0xee, sizeof packed);
    tally_terms_pack_params(&terms, packed);
    assert_memory_equal(packed, &own, sizeof own);
    assert_int_equal(packed[sizeof own], 0xee);
    tally_terms_close(&terms);
    tally_op_destroy(custom);
}

typedef struct param_case {
    tally_dtype type;
    double value;
    const char *text; /* in the error; NULL: the value fits */
} param_case;

/* Sets the parameter of a plan, then creates an op with it. A refused value leaves the plan as it
 * was. */
static void expect_param(const param_case *c) {
    const char *type = tally_dtype_name(c->type), *text = c->text;
    tally_op_param param = {"least", c->type, 1};
    const tally_op_desc desc = {.size = sizeof desc,
                                .name = "above",
                                .identity = "0",
                                .load = "x",
                                .combine = "a + b",
                                .params = &param,
                                .param_count = 1};
    tally_custom_op *op;
    MUST(tally_op_create(&desc, &op));
    tally_plan plan = {.tag = TALLY_TAG_PLAN};
    plan.terms = resolve_desc(&made_up_device, (tally_reduce_desc){.custom = op, .in = TALLY_F32});
    unsigned char packed[8], before[8] = {0};
    plan.params = packed;
    tally_terms_pack_params(&plan.terms, packed);
    memcpy(before, packed, plan.terms.param.bytes);
    if (text)
        BAD(tally_plan_set_param(&plan, "least", c->value), "tally_plan_set_param", "op above", "parameter least", text, type);
    else
        MUST(tally_plan_set_param(&plan, "least", c->value));
    assert_int_equal(!memcmp(packed, before, plan.terms.param.bytes), text != NULL);
    assert_int_equal(plan.terms.list[0].params[0].value == 1, text != NULL);
    tally_terms_close(&plan.terms);
    tally_op_destroy(op);
    param.value = c->value;
    if (text)
        BAD(tally_op_create(&desc, &op), "tally_op_create", "op above", "parameter least", text, type);
    else
        MUST(tally_op_create(&desc, &op)), tally_op_destroy(op);
}

static void test_param_ranges(void **unused) {
    (void)unused;
    static const param_case cases[] = {
        {TALLY_I32, 2147483647.5, NULL},
        {TALLY_I32, 0x1p31, "2147483648"},
        {TALLY_I32, -2147483648.5, NULL},
        {TALLY_I32, -2147483649.0, "-2147483649"},
        {TALLY_U32, 4294967295.5, NULL},
        {TALLY_U32, 0x1p32, "4294967296"},
        {TALLY_U32, -0.5, NULL},
        {TALLY_U32, -1, "-1"},
        {TALLY_I64, 0x1.fffffep62, NULL},
        {TALLY_I64, 0x1p63, "9.2233720368547758e+18"},
        {TALLY_I64, -0x1p63, NULL},
        {TALLY_I64, -1e300, "-1.0000000000000001e+300"},
        {TALLY_U64, 0x1.fffffep63, NULL},
        {TALLY_U64, 0x1p64, "1.8446744073709552e+19"},
        {TALLY_U64, (double)-0.0f, NULL},
        {TALLY_U64, (double)INFINITY, "inf"},
        {TALLY_I64, (double)NAN, "nan"},
        {TALLY_I32, (double)-INFINITY, "-inf"},
        {TALLY_F32, 1e300, NULL},
        {TALLY_F32, (double)NAN, NULL},
        {TALLY_F64, (double)INFINITY, NULL},
        {0, (double)NAN, NULL},
    };
    for (size_t c = 0; c < TALLY_ARRAY_LENGTH(cases); c++) expect_param(&cases[c]);
}

/* ---- descriptors that are refused ----------------------------------------------------------- */

typedef struct refused_case {
    tally_reduce_desc desc;
    tally_status status;
    const char *words[4];
} refused_case;

static void expect_refused(const refused_case *cases, size_t count) {
    for (size_t i = 0; i < count; i++) {
        const char *const *w = cases[i].words;
        const char *words[] = {w[0], w[1], w[2], w[3], NULL};
        char what[32];
        snprintf(what, sizeof what, "descriptor %zu", i);
        refused(try_desc(&made_up_device, cases[i].desc), cases[i].status, what, __FILE__, __LINE__, words);
    }
}

static void test_refused(void **unused) {
    (void)unused;
    static const tally_term_desc sums[] = {{.op = TALLY_SUM}, {.op = TALLY_MIN}},
                                 mixed[] = {{.op = TALLY_SUM}, {.op = TALLY_DOT}};
    static const tally_term_desc wrong[] = {{.op = TALLY_SUM}, {.op = 1000}}, bits[] = {{.op = TALLY_MIN}, {.op = TALLY_BAND}};
    static uint64_t garbage[64];
    tally_custom_op *no_op = (tally_custom_op *)(void *)garbage;
    const refused_case cases[] = {
        {{.in = TALLY_F32}, TALLY_E_ARGUMENT, {"desc.op is 0"}},
        {{.in = TALLY_F32, .op = TALLY_SUM, .terms = sums, .term_count = 2},
         TALLY_E_ARGUMENT,
         {"desc.terms and desc.op: give one of them"}},
        {{.in = TALLY_F32, .terms = sums, .term_count = TALLY_MAX_TERMS + 1},
         TALLY_E_ARGUMENT,
         {"desc.term_count", "17", "16"}},
        {{.in = TALLY_F32, .term_count = 2}, TALLY_E_ARGUMENT, {"desc.terms is NULL"}},
        {{.in = TALLY_F32, .terms = wrong, .term_count = 2}, TALLY_E_ARGUMENT, {"desc.terms[1].op", "1000", "no such op"}},
        {{.in = TALLY_F32, .terms = sums, .term_count = 2, .out = TALLY_F64}, TALLY_E_ARGUMENT, {"desc.terms and desc.out"}},
        {{.in = TALLY_F32, .terms = mixed, .term_count = 2},
         TALLY_E_ARGUMENT,
         {"dot has 2 inputs", "sum has 1", "share a pass"}},
        {{.in = TALLY_F32, .terms = bits, .term_count = 2}, TALLY_E_UNSUPPORTED, {"band", "does not take", "f32"}},
        {{.in = TALLY_F32, .custom = no_op}, TALLY_E_ARGUMENT, {"desc.custom"}},
        {{.in = TALLY_F32, .op = TALLY_BAND}, TALLY_E_UNSUPPORTED, {"band", "does not take", "f32"}},
        {{.in = TALLY_C64, .op = TALLY_MIN}, TALLY_E_UNSUPPORTED, {"min", "does not take", "c64"}},
        {{.in = TALLY_F32, .terms = sums, .term_count = 2, .accuracy = 1}, TALLY_E_ARGUMENT, {"desc.terms and desc.accuracy"}},
    };
    expect_refused(cases, TALLY_ARRAY_LENGTH(cases));
}

static void test_refused_types(void **unused) {
    (void)unused;
    static const refused_case cases[] = {
        {{.in = TALLY_F32, .op = TALLY_SUM, .out = TALLY_I32}, TALLY_E_ARGUMENT, {"desc.out is i32", "sum is f32", "a float"}},
        {{.in = TALLY_C64, .op = TALLY_SUM, .out = TALLY_F32}, TALLY_E_ARGUMENT, {"desc.out is f32", "sum is c64", "complex"}},
        {{.in = TALLY_F32, .op = TALLY_SUM, .out = TALLY_C64}, TALLY_E_ARGUMENT, {"desc.out is c64", "sum is f32"}},
        {{.in = TALLY_F32, .op = TALLY_ARGMIN, .out = TALLY_U32}, TALLY_E_ARGUMENT, {"desc.out is u32", "argmin", "an index"}},
        {{.in = TALLY_F32, .op = TALLY_ANY, .out = TALLY_F32}, TALLY_E_ARGUMENT, {"desc.out is f32", "any", "a truth value"}},
        {{.in = TALLY_I32, .op = TALLY_SUM, .acc = TALLY_F64}, TALLY_E_ARGUMENT, {"desc.acc is f64", "sum of i32"}},
        {{.in = TALLY_I32, .op = TALLY_SUM, .acc = TALLY_I32}, TALLY_E_ARGUMENT, {"desc.acc is i32", "sum of i32"}},
        {{.in = TALLY_F64, .op = TALLY_SUM, .acc = TALLY_F32},
         TALLY_E_ARGUMENT,
         {"desc.acc is f32", "sum of f64 accumulates in f64"}},
        {{.in = TALLY_F32, .op = TALLY_SUM, .acc = TALLY_I64}, TALLY_E_ARGUMENT, {"desc.acc is i64", "sum of f32"}},
        {{.in = TALLY_F32, .op = TALLY_SUM, .acc = TALLY_F16}, TALLY_E_ARGUMENT, {"desc.acc", "no type to accumulate in"}},
        {{.in = TALLY_F32, .op = TALLY_SUM, .acc = (tally_dtype)99}, TALLY_E_ARGUMENT, {"desc.acc", "99"}},
        {{.in = TALLY_F32, .op = TALLY_SUM, .accuracy = TALLY_ACCURACY_END}, TALLY_E_ARGUMENT, {"desc.accuracy"}},
        {{.in = TALLY_F32, .op = TALLY_SUM, .accuracy = (tally_accuracy)-1}, TALLY_E_ARGUMENT, {"desc.accuracy"}},
        {{.in = TALLY_I32, .op = TALLY_SUM, .accuracy = 1}, TALLY_E_UNSUPPORTED, {"sum of i32", "no level 'compensated'"}},
        {{.in = TALLY_F32, .op = TALLY_MIN, .accuracy = 1}, TALLY_E_UNSUPPORTED, {"min of f32", "no level 'compensated'"}},
        {{.in = TALLY_C64, .op = TALLY_SUM, .accuracy = 1}, TALLY_E_UNSUPPORTED, {"sum of c64", "no level 'compensated'"}},
    };
    expect_refused(cases, TALLY_ARRAY_LENGTH(cases));
}

static void test_refused_custom(void **unused) {
    (void)unused;
    static const tally_term_desc sums[] = {{.op = TALLY_SUM}, {.op = TALLY_MIN}};
    tally_custom_op *custom;
    const tally_op_desc own = {.size = sizeof own,
                               .name = "mine",
                               .identity = "0",
                               .load = "x",
                               .combine = "a + b",
                               .out = TALLY_F64,
                               .acc = TALLY_F64};
    MUST(tally_op_create(&own, &custom));
    const refused_case cases[] = {
        {{.in = TALLY_F32, .op = TALLY_SUM, .custom = custom}, TALLY_E_ARGUMENT, {"give one of them"}},
        {{.in = TALLY_F32, .terms = sums, .term_count = 2, .custom = custom}, TALLY_E_ARGUMENT, {"give one of them"}},
        {{.in = TALLY_F32, .custom = custom, .accuracy = 1}, TALLY_E_UNSUPPORTED, {"op mine", "no level 'compensated'"}},
        {{.in = TALLY_F32, .custom = custom, .acc = TALLY_F64}, TALLY_E_ARGUMENT, {"desc.acc is f64", "custom"}},
        {{.in = TALLY_F32, .custom = custom, .out = TALLY_I32}, TALLY_E_ARGUMENT, {"desc.out is i32", "mine", "f64"}},
    };
    expect_refused(cases, TALLY_ARRAY_LENGTH(cases));
    tally_op_destroy(custom);
}

/* ---- limits of a device ---------------------------------------------------------------------- */

/* f64 in any role: items, accumulator, field, result, parameter. */
static void test_no_f64(void **unused) {
    (void)unused;
    tally_device_info narrow = made_up_device;
    narrow.has_f64 = 0;
    static const tally_term_desc fused[] = {{.op = TALLY_SUM}, {.op = TALLY_MEAN}};
    static const tally_op_field field[] = {{"s", TALLY_F32, "0", "x", "a.s + b.s"}, {"t", TALLY_F64, "0", "x", "a.t + b.t"}};
    static const tally_op_param param[] = {{"k", 0, 1}};
    const tally_op_desc plain = {.size = sizeof plain, .identity = "0", .load = "x", .combine = "a + b", .acc = TALLY_F32};
    tally_op_desc descs[4] = {plain, plain, plain, plain};
    tally_custom_op *custom[4];
    descs[1].out = TALLY_F64;
    descs[2].params = param;
    descs[2].param_count = 1;
    descs[3] = (tally_op_desc){.size = sizeof plain, .fields = field, .field_count = 2, .finish = "a.s", .out = TALLY_F32};
    for (int i = 0; i < 4; i++) MUST(tally_op_create(&descs[i], &custom[i]));
    const tally_reduce_desc refused_descs[] = {
        {.in = TALLY_F64, .op = TALLY_SUM},
        {.in = TALLY_F64, .op = TALLY_ANY},
        {.in = TALLY_C128, .op = TALLY_SUM},
        {.in = TALLY_F32, .op = TALLY_SUM, .acc = TALLY_F64},
        {.in = TALLY_F32, .op = TALLY_MIN, .acc = TALLY_F64},
        {.in = TALLY_F32, .op = TALLY_SUM, .out = TALLY_F64},
        {.in = TALLY_I32, .op = TALLY_MEAN},
        {.in = TALLY_I32, .op = TALLY_NRM2},
        {.in = TALLY_I32, .op = TALLY_SUM, .out = TALLY_F64},
        {.in = TALLY_I32, .op = TALLY_ALLCLOSE},
        {.in = TALLY_C64, .op = TALLY_SUM, .out = TALLY_C128},
        {.in = TALLY_I32, .terms = fused, .term_count = 2},
        {.in = TALLY_F32, .custom = custom[1]},
        {.in = TALLY_F32, .custom = custom[2]},
        {.in = TALLY_F32, .custom = custom[3]},
    };
    for (size_t i = 0; i < TALLY_ARRAY_LENGTH(refused_descs); i++) {
        REFUSED(try_desc(&narrow, refused_descs[i]), TALLY_E_UNSUPPORTED, "Made Up", "f64");
        MUST(try_desc(&made_up_device, refused_descs[i]));
    }
    const tally_reduce_desc served[] = {
        {.in = TALLY_F32, .op = TALLY_SUM},  {.in = TALLY_F16, .op = TALLY_VAR},      {.in = TALLY_I64, .op = TALLY_SUM},
        {.in = TALLY_U8, .op = TALLY_AMAX},  {.in = TALLY_BF16, .op = TALLY_NRM2},    {.in = TALLY_I32, .op = TALLY_ARGMIN},
        {.in = TALLY_C64, .op = TALLY_NRM2}, {.in = TALLY_F32, .op = TALLY_ALLCLOSE}, {.in = TALLY_F32, .custom = custom[0]},
    };
    for (size_t i = 0; i < TALLY_ARRAY_LENGTH(served); i++) MUST(try_desc(&narrow, served[i]));
    for (int i = 0; i < 4; i++) tally_op_destroy(custom[i]);
}

/* The group is the variant's, or the largest whose lanes fit the local memory. A group size in the
 * descriptor stays as it is. */
static void test_groups(void **unused) {
    (void)unused;
    static const tally_term_desc fused[] = {{.op = TALLY_MIN}, {.op = TALLY_MAX}, {.op = TALLY_SUM}, {.op = TALLY_STD}};
    const struct {
        tally_dtype in;
        tally_op op;
        uint64_t local_bytes;
        uint32_t max_items, group;
    } known[] = {
        /* group_tree exchanges one lane of each thread at a time, or four if accumulators have at
         * most 8 bytes and items at most 4. */
        {TALLY_F32, TALLY_SUM, 1 << 20, 1024, 256}, {TALLY_F32, TALLY_SUM, 4096, 1024, 256},
        {TALLY_F32, TALLY_SUM, 4095, 1024, 128},    {TALLY_F32, TALLY_SUM, 512, 1024, 32},
        {TALLY_F32, TALLY_SUM, 511, 1024, 0},       {TALLY_F16, TALLY_SUM, 4096, 1024, 256},
        {TALLY_F16, TALLY_SUM, 4095, 1024, 128},    {TALLY_I8, TALLY_SUM, 8192, 1024, 256},
        {TALLY_I8, TALLY_SUM, 8191, 1024, 128},     {TALLY_I8, TALLY_MIN, 4096, 1024, 256},
        {TALLY_F64, TALLY_VAR, 8191, 1024, 128},    {TALLY_F64, TALLY_VAR, 8192, 1024, 256},
        {TALLY_F32, TALLY_SUM, 1 << 20, 128, 128},  {TALLY_F32, TALLY_SUM, 1 << 20, 16, 0},
        {TALLY_F64, TALLY_OP_NONE, 1792, 1024, 32}, {TALLY_F64, TALLY_OP_NONE, 1791, 1024, 0},
    };
    for (size_t i = 0; i < TALLY_ARRAY_LENGTH(known); i++) {
        tally_device_info small = made_up_device;
        small.local_bytes = known[i].local_bytes;
        small.max_group_threads = known[i].max_items;
        tally_reduce_desc desc = {.in = known[i].in, .op = known[i].op};
        if (!desc.op) desc.terms = fused, desc.term_count = 4;
        if (!known[i].group) {
            REFUSED(try_desc(&small, desc), TALLY_E_UNSUPPORTED, "group_tree", "Made Up",
                    known[i].max_items < 32 ? "at most" : "local memory");
            continue;
        }
        tally_launch launch;
        tally_terms terms = resolve_launch(&small, desc, &launch);
        if (launch.group_threads != known[i].group)
            fail_msg("case %zu: a group of %u, should be %u", i, launch.group_threads, known[i].group);
        tally_terms_close(&terms);
        desc.group_threads = known[i].group;
        MUST(try_desc(&small, desc));
        desc.group_threads = 512;
        if (known[i].group < 256) REFUSED(try_desc(&small, desc), TALLY_E_UNSUPPORTED, "512");
    }
    assert_int_equal(tally_chunk_team(1), 8);
    assert_int_equal(tally_chunk_team(2), 16);
    for (size_t bytes = 4; bytes <= 16; bytes *= 2) assert_int_equal(tally_chunk_team(bytes), 32);
}

/* Refused steps of the ladder: accumulators too wide for an atomic, ops that the host cannot
 * combine. */
static void test_steps(void **unused) {
    (void)unused;
    const tally_term_desc fused[] = {{.op = TALLY_SUM}, {.op = TALLY_MIN}};
    tally_custom_op *custom;
    const tally_op_desc own = {.size = sizeof own, .identity = "0", .load = "x", .combine = "a + b"};
    MUST(tally_op_create(&own, &custom));
    const tally_reduce_desc wide[] = {{.in = TALLY_F32, .op = TALLY_VAR},
                                      {.in = TALLY_F32, .op = TALLY_ARGMIN},
                                      {.in = TALLY_C128, .op = TALLY_SUM},
                                      {.in = TALLY_F64, .op = TALLY_MINMAX}};
    const tally_reduce_desc fit[] = {{.in = TALLY_C64, .op = TALLY_SUM},
                                     {.in = TALLY_F32, .op = TALLY_MINMAX},
                                     {.in = TALLY_F32, .terms = fused, .term_count = 2},
                                     {.in = TALLY_F64, .op = TALLY_SUM},
                                     {.in = TALLY_F32, .custom = custom}};
    static const char *const atomics[] = {"atomic_global", "sequential", "shuffle", "vectorized"};
    for (size_t v = 0; v < TALLY_ARRAY_LENGTH(atomics); v++) {
        for (size_t i = 0; i < TALLY_ARRAY_LENGTH(wide); i++) {
            tally_reduce_desc desc = wide[i];
            desc.variant = atomics[v];
            REFUSED(try_desc(&made_up_device, desc), TALLY_E_UNSUPPORTED, atomics[v], "no atomic is as wide", "bytes");
            desc.variant = "tree_global";
            MUST(try_desc(&made_up_device, desc));
        }
        for (size_t i = 0; i < TALLY_ARRAY_LENGTH(fit); i++) {
            tally_reduce_desc desc = fit[i];
            desc.variant = atomics[v];
            MUST(try_desc(&made_up_device, desc));
        }
    }
    REFUSED(try_desc(&made_up_device, (tally_reduce_desc){.in = TALLY_F32, .custom = custom, .variant = "host_finish"}),
            TALLY_E_UNSUPPORTED, "host_finish", "custom op");
    tally_op_destroy(custom);
}

const core_test spec_tests[] = {
    {"layouts of accumulators", test_accumulators},
    {"packing of parameters", test_packing},
    {"packing of parameters of every type", test_packing_of_types},
    {"ranges of parameters", test_param_ranges},
    {"descriptors of ops refused", test_refused},
    {"descriptors refused for a type or a level", test_refused_types},
    {"descriptors of an op of one's own refused", test_refused_custom},
    {"a device without f64", test_no_f64},
    {"groups by local memory", test_groups},
    {"steps and their ops", test_steps},
    {NULL, NULL},
};
