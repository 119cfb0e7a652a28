/* SPDX-License-Identifier: MIT */
/*
 * Custom ops on a real device: every type of parameters and of items, an operator that is not
 * commutative, four inputs, an operator destroyed before its plan; messages about wrong
 * expressions, and refusals.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "direct.h"
#include "tests/support/calls.h"
#include "tests/support/own_ops.h"
#include "oracle/patterns.h"

/* ---- types ----------------------------------------------------------------------------------- */

/* A parameter of each type arrives whole, beside the others. */
static void test_param_types(void **state) {
    tally_context *context = direct_context(state);
    const int wide = direct_has_f64(state);
    const tally_op_param params[] = {{"f", TALLY_F32, 0.5},  {"j", TALLY_I64, -3}, {"k", TALLY_I32, -5},
                                     {"m", TALLY_U64, 1e15}, {"l", TALLY_U32, 7},  {"d", TALLY_F64, 0x1p-40}};
    tally_custom_op *op = direct_op(&(tally_op_desc){
        .name = "types",
        .acc = TALLY_I64,
        .identity = "0",
        .combine = "a + b",
        .load =
            wide
                ? "(p.f == 0.5f) + 2 * (p.j == -3) + 4 * (p.k == -5) + 8 * (p.m == 1000000000000000) + 16 * (p.l == 7) + "
                  "32 * (p.d * 1099511627776.0 == 1) + 0 * x"
                : "(p.f == 0.5f) + 2 * (p.j == -3) + 4 * (p.k == -5) + 8 * (p.m == 1000000000000000) + 16 * (p.l == 7) + 0 * x",
        .params = params,
        .param_count = wide ? 6 : 5});
    const int32_t x[3] = {1, 2, 3};
    int64_t got;
    const tally_reduce_desc desc = direct_desc(op, TALLY_I32);
    direct_reduce(context, &desc, NULL, (const void *const[]){x}, 3, &got);
    assert_int_equal(got, 3 * (wide ? 63 : 31));
    tally_op_destroy(op);
}

/* ---- left and right -------------------------------------------------------------------------- */

/* The maps x -> scale * x + shift, modulo 2^32. Their composition is not commutative, so an
 * exchange of operands shows. */
typedef struct affine {
    uint32_t scale, shift;
} affine;

#define LOAD_AFFINE(name, type)                                                                                                \
    static void name(void *acc, const void *const *items, uint64_t i) {                                                        \
        const uint32_t x = ((const type *)items[0])[i];                                                                        \
        *(affine *)acc = (affine){2 * x + 1, x ^ 5};                                                                           \
    }
LOAD_AFFINE(load_affine_u8, uint8_t)
LOAD_AFFINE(load_affine_u16, uint16_t)
LOAD_AFFINE(load_affine_u32, uint32_t)

static void compose_affine(void *a, const void *b) {
    affine *left = a;
    const affine *right = b;
    left->shift += left->scale * right->shift;
    left->scale *= right->scale;
}

static const struct {
    tally_dtype in;
    void (*load)(void *, const void *const *, uint64_t);
} affine_items[] = {{TALLY_U32, load_affine_u32}, {TALLY_U16, load_affine_u16}, {TALLY_U8, load_affine_u8}};

/* The first item is no multiple of 16 bytes away from the buffer's beginning, for most offsets. */
static const uint64_t affine_offsets[] = {0, 1, 7, 13};
#define MOST_AFFINE_OFFSET 13

/* Reduces n items from each offset on. */
static void expect_composed(tally_context *context, const tally_reduce_desc *desc, size_t type, uint64_t n) {
    static const affine same = {1, 0};
    const canonical_op reference = {sizeof(affine), &same, affine_items[type].load, compose_affine};
    const size_t item_bytes = tally_dtype_bytes(desc->in), bytes = (n + MOST_AFFINE_OFFSET) * item_bytes;
    unsigned char *x = malloc(bytes);
    tally_reduce_desc sized = *desc;
    tally_plan *plan;
    tally_queue *queue;
    tally_buffer *in, *out;
    sized.max_n = n;
    for (size_t b = 0; b < bytes; b++) x[b] = (unsigned char)(pattern_random(b) >> 32);
    MUST(tally_plan_create(context, &sized, &plan));
    MUST(tally_queue_create(context, &queue));
    MUST(tally_buffer_create(context, bytes, &in));
    MUST(tally_buffer_create(context, sizeof(uint32_t), &out));
    MUST(tally_buffer_write(queue, in, 0, x, bytes));
    for (size_t o = 0; o < TALLY_ARRAY_LENGTH(affine_offsets); o++) {
        const void *const items[] = {x + affine_offsets[o] * item_bytes};
        uint32_t got = 0;
        affine expected;
        MUST(reduce_at(plan, queue, in, affine_offsets[o], n, out, 0));
        MUST(tally_buffer_read(queue, out, 0, &got, sizeof got));
        MUST(tally_queue_wait(queue));
        canonical_reduce(&reference, items, n, &expected);
        direct_expect_bits(&got, &expected.shift, sizeof got, desc->variant, n);
    }
    tally_plan_destroy(plan);
    tally_buffer_destroy(in);
    tally_buffer_destroy(out);
    tally_queue_destroy(queue);
    free(x);
}

/* Checks all sizes by a variant, of each type. Returns false if the device does not have it. */
static bool expect_variant(tally_context *context, tally_custom_op *op, const char *variant, uint32_t group) {
    static const uint64_t sizes[] = {2, 129, 4096, 4097, 20000, 300007, 1000003};
    for (size_t t = 0; t < TALLY_ARRAY_LENGTH(affine_items); t++) {
        tally_reduce_desc desc = direct_desc(op, affine_items[t].in);
        tally_plan *plan = NULL;
        desc.variant = variant;
        desc.group_threads = group;
        const tally_status status = tally_plan_create(context, &desc, &plan);
        tally_plan_destroy(plan);
        /* the variant is not for this class of device, or has no such group */
        if (status == TALLY_E_UNSUPPORTED || (status == TALLY_E_ARGUMENT && group)) return false;
        MUST(status);
        for (size_t s = 0; s < TALLY_ARRAY_LENGTH(sizes); s++) expect_composed(context, &desc, t, sizes[s]);
    }
    return true;
}

/* Every canonical variant, with its own groups and with small ones, which make many partials: short
 * chunks, whole ones, trees of both. */
static void test_left_and_right(void **state) {
    static const uint32_t groups[] = {0, 32};
    static const tally_op_field fields[] = {{"scale", TALLY_U32, "1", "2 * x + 1", "a.scale * b.scale"},
                                            {"shift", TALLY_U32, "0", "x ^ 5", "a.shift + a.scale * b.shift"}};
    tally_context *context = direct_context(state);
    tally_custom_op *op = direct_op(
        &(tally_op_desc){.name = "affine", .fields = fields, .field_count = 2, .finish = "a.shift", .out = TALLY_U32});
    unsigned ran = 0;
    for (size_t v = 0; v < tally_variant_count(); v++)
        for (size_t g = 0; g < TALLY_ARRAY_LENGTH(groups); g++) {
            tally_variant_info info;
            MUST(tally_variant_get(v, &info));
            if (info.canonical && expect_variant(context, op, info.name, groups[g])) ran++;
        }
    assert_true(ran >= 2);
    tally_op_destroy(op);
}

/* ---- types of items -------------------------------------------------------------------------- */

typedef struct typed_case {
    tally_dtype in;
    const char *items, *load, *finish;
    tally_dtype acc, out; /* 0: the default */
    tally_dtype result;
    const char *expected;
} typed_case;

static const typed_case typed_cases[] = {
    {TALLY_F16, "1.5 -2 0.25", "x * x", NULL, 0, 0, TALLY_F32, "6.3125"},
    {TALLY_F16, "60000 60000", "x", NULL, 0, TALLY_F16, TALLY_F16, "inf"},
    {TALLY_BF16, "1.5 -2 0.25", "x * x", NULL, 0, 0, TALLY_F32, "6.3125"},
    {TALLY_F32, "1.5 -2", "x + (f32)i", NULL, 0, 0, TALLY_F32, "0.5"},
    {TALLY_F64, "0x1p-600 1", "x", NULL, 0, 0, TALLY_F64, "1"},
    {TALLY_I8, "-128 127 5", "x * x", NULL, 0, 0, TALLY_I64, "32538"},
    {TALLY_I8, "-128 127 5", "x * x", NULL, 0, TALLY_U8, TALLY_U8, "26"}, /* 32538 modulo 256 */
    {TALLY_I16, "-32768 2", "x", "a / 2", 0, 0, TALLY_I64, "-16383"},
    {TALLY_I32, "-2147483648 -1", "x", NULL, 0, 0, TALLY_I64, "-2147483649"},
    {TALLY_I64, "-4 9", "x < 0", NULL, TALLY_U32, 0, TALLY_U32, "1"},
    {TALLY_U8, "200 100", "x", NULL, 0, 0, TALLY_U64, "300"},
    {TALLY_U16, "65535 1", "x * x", NULL, 0, 0, TALLY_U64, "4294836226"},
    {TALLY_U32, "4294967295 1", "x", NULL, 0, 0, TALLY_U64, "4294967296"},
    {TALLY_U64, "18446744073709551615 2", "x", NULL, 0, 0, TALLY_U64, "1"},
    {TALLY_BOOL, "0 1 7 255", "x", NULL, 0, 0, TALLY_I64, "3"}, /* any nonzero byte is true, and true is 1 */
    {TALLY_C64, "3 4 -1 2", "x.re * x.re + x.im * x.im", "sqrt(a)", 0, 0, TALLY_F32, "0x1.5e8add236a58fp2"},
    {TALLY_C128, "3 4 -1 2", "x.re - x.im", NULL, 0, 0, TALLY_F64, "-4"},
};

static void test_types(void **state) {
    tally_context *context = direct_context(state);
    for (size_t c = 0; c < TALLY_ARRAY_LENGTH(typed_cases); c++) {
        const typed_case *t = &typed_cases[c];
        uint64_t items[2 * DIRECT_MAX_ITEMS], expected[2], got[2];
        if (!direct_has_f64(state) && (t->in == TALLY_F64 || t->in == TALLY_C128)) continue;
        tally_custom_op *op = direct_op(&(tally_op_desc){.name = "typed",
                                                         .acc = t->acc,
                                                         .identity = "0",
                                                         .load = t->load,
                                                         .combine = "a + b",
                                                         .finish = t->finish,
                                                         .out = t->out});
        const tally_reduce_desc desc = direct_desc(op, t->in);
        const uint64_t n = direct_parse(t->in, t->items, items);
        char what[96];
        snprintf(what, sizeof what, "the sum of %s over %s", t->load, tally_dtype_name(t->in));
        if (t->in == TALLY_C64) { /* the root is no f32, so it is rounded */
            const float root = sqrtf(30);
            memcpy(expected, &root, sizeof root);
        } else {
            direct_parse(t->result, t->expected, expected);
        }
        direct_reduce(context, &desc, NULL, (const void *const[]){items}, n, got);
        direct_expect_bits(got, expected, tally_dtype_bytes(t->result), what, n);
        tally_op_destroy(op);
    }
}

/* ---- inputs, lives --------------------------------------------------------------------------- */

/* Four inputs. None may be taken for another. */
static void test_four_inputs(void **state) {
    tally_context *context = direct_context(state);
    enum { FOUR_N = 9001 };
    static int32_t x[4][FOUR_N];
    const void *const items[] = {x[0], x[1], x[2], x[3]};
    int64_t got, expected = 0;
    tally_custom_op *op = direct_op(&(tally_op_desc){.inputs = 4,
                                                     .identity = "0",
                                                     .load = "(i64)x - 2 * (i64)y + 3 * (i64)z * (i64)(i % 5) - 5 * (i64)w",
                                                     .combine = "a + b",
                                                     .exact = 1});
    const tally_reduce_desc desc = direct_desc(op, TALLY_I32);
    for (int k = 0; k < 4; k++)
        for (int i = 0; i < FOUR_N; i++) x[k][i] = (i * 7919 + k * 104729) % 1000 - 300;
    for (int i = 0; i < FOUR_N; i++) expected += x[0][i] - 2 * x[1][i] + 3 * x[2][i] * (i % 5) - 5 * x[3][i];
    direct_reduce(context, &desc, NULL, items, FOUR_N, &got);
    assert_int_equal(got, expected);
    MUST(tally_reduce_host_inputs(context, &desc, items, FOUR_N, &got));
    assert_int_equal(got, expected);
    tally_op_destroy(op);
}

/* Plans keep their operator, and the texts that it was made of. */
static void test_op_destroyed_first(void **state) {
    tally_context *context = direct_context(state);
    char load[] = "x * p.scale", name[] = "scale";
    const float x[3] = {1, 2, 4};
    float got = 0;
    tally_op_param param = {name, TALLY_F32, 10};
    tally_custom_op *op =
        direct_op(&(tally_op_desc){.identity = "0", .load = load, .combine = "a + b", .params = &param, .param_count = 1});
    memset(load, '?', sizeof load - 1);
    memset(name, '?', sizeof name - 1);
    tally_reduce_desc desc = direct_desc(op, TALLY_F32);
    tally_plan *plan;
    tally_queue *queue;
    tally_buffer *in, *out;
    MUST(tally_plan_create(context, &desc, &plan));
    tally_op_destroy(op);
    MUST(tally_queue_create(context, &queue));
    MUST(tally_buffer_create(context, sizeof x, &in));
    MUST(tally_buffer_create(context, sizeof got, &out));
    MUST(tally_buffer_write(queue, in, 0, x, sizeof x));
    MUST(tally_plan_set_param(plan, "scale", 100));
    MUST(tally_reduce(plan, queue, in, 3, out));
    MUST(tally_buffer_read(queue, out, 0, &got, sizeof got));
    MUST(tally_queue_wait(queue));
    assert_true(got == 700);
    tally_plan_destroy(plan);
    tally_buffer_destroy(in);
    tally_buffer_destroy(out);
    tally_queue_destroy(queue);
}

/* ---- several results, temporaries ------------------------------------------------------------ */

/* A minimum with its place. The bytes between the two are zeros. */
static void test_least(void **state) {
    enum { LEAST_N = 70001 };
    static const uint64_t sizes[] = {1, 2, 129, 4097, LEAST_N};
    static float x[LEAST_N];
    tally_context *context = direct_context(state);
    tally_custom_op *op = direct_op(&own_least);
    const tally_reduce_desc desc = direct_desc(op, TALLY_F32);
    for (uint32_t i = 0; i < LEAST_N; i++) x[i] = (float)(i * 2654435761u >> 12 & 4095); /* each value some 17 times */
    for (size_t s = 0; s < TALLY_ARRAY_LENGTH(sizes); s++) {
        own_least_result got, expected;
        memset(&got, 0x5a, sizeof got);
        memset(&expected, 0, sizeof expected);
        expected.value = INFINITY;
        for (uint64_t i = 0; i < sizes[s]; i++)
            if (x[i] < expected.value) expected.value = x[i], expected.place = i;
        direct_reduce(context, &desc, NULL, (const void *const[]){x}, sizes[s], &got);
        if (memcmp(&got, &expected, sizeof got) != 0)
            fail_msg("the least of %llu is %g at %llu, should be %g at %llu (or a hole is not zero)",
                     (unsigned long long)sizes[s], (double)got.value, (unsigned long long)got.place, (double)expected.value,
                     (unsigned long long)expected.place);
    }
    own_least_result none;
    direct_reduce(context, &desc, NULL, (const void *const[]){x}, 0, &none);
    assert_true(isnan(none.value) && none.place == UINT64_MAX);
    tally_op_destroy(op);
}

/* A TwoSum that is written once gives the bits of the library's level `compensated`. */
static void test_twofold(void **state) {
    enum { TWOFOLD_N = 100003 };
    static const uint64_t sizes[] = {0, 1, 2, 4097, TWOFOLD_N};
    static float x[TWOFOLD_N];
    static double wide[TWOFOLD_N];
    tally_context *context = direct_context(state);
    tally_custom_op *op = direct_op(&own_twofold);
    for (uint32_t i = 0; i < TWOFOLD_N; i++) wide[i] = x[i] = ldexpf((float)(int32_t)(i * 2654435761u), (int)(i % 60) - 30);
    for (int is_wide = 0; is_wide <= direct_has_f64(state); is_wide++)
        for (size_t s = 0; s < TALLY_ARRAY_LENGTH(sizes); s++) {
            const tally_dtype in = is_wide ? TALLY_F64 : TALLY_F32;
            const void *const items[] = {is_wide ? (const void *)wide : x};
            const tally_reduce_desc own = direct_desc(op, in);
            const tally_reduce_desc library = {.op = TALLY_SUM, .in = in, .accuracy = TALLY_ACCURACY_COMPENSATED};
            uint64_t got = 1, expected = 2;
            direct_reduce(context, &own, NULL, items, sizes[s], &got);
            direct_reduce(context, &library, NULL, items, sizes[s], &expected);
            direct_expect_bits(&got, &expected, tally_dtype_bytes(in), "a TwoSum", sizes[s]);
        }
    tally_op_destroy(op);
}

/* ---- wrong expressions ----------------------------------------------------------------------- */

static const tally_op_field wrong_fields[] = {
    {.name = "low", .identity = "0", .load = "x", .combine = "a.low + b.low"},
    {.name = "high", .identity = "0", .load = "x", .combine = "a.low + b.hihg"},
};

static const tally_op_let wrong_lets[] = {{"once", TALLY_PART_COMBINE, 0, "a + b"},
                                          {"twice", TALLY_PART_COMBINE, 0, "onze + b"}};
static const tally_op_result wrong_results[] = {{"first", 0, "a", NULL}, {"second", 0, "a * scael", NULL}};

static const struct {
    tally_op_desc desc;
    const char *part,
        *word; /* words of the message: the part's name, and a word of the user's text, or "" if the compiler may leave it out */
} wrong[] = {
    {{.name = "one", .identity = "0", .load = "x * sqare", .combine = "a + b"}, "load of op one", "sqare"},
    {{.name = "two", .identity = "nought", .load = "x", .combine = "a + b"}, "identity of op two", "nought"},
    {{.name = "three", .identity = "0", .load = "x", .combine = "a + c"}, "combine of op three", ""},
    {{.name = "four", .identity = "0", .load = "x", .combine = "a + b", .finish = "a / sicma"}, "finish of op four", "sicma"},
    {{.name = "five", .identity = "0", .load = "x", .combine = "a + b", .empty = "nothing"}, "empty of op five", "nothing"},
    {{.name = "six", .fields = wrong_fields, .field_count = 2, .finish = "a.low"}, "combine of field high of op six", "hihg"},
    {{.name = "seven", .identity = "0", .load = "x *", .combine = "a + b"}, "load of op seven", ""},
    {{.name = "eight", .identity = "0", .load = "x + p.scale", .combine = "a + b"}, "load of op eight", "scale"},
    {{.name = "nine", .identity = "0", .load = "x + y", .combine = "a + b"}, "load of op nine", ""}, /* there is one input */
    {{.name = "ten", .fields = wrong_fields, .field_count = 1, .finish = "a"}, "finish of op ten", ""},
    {{.name = "eleven", .identity = "0", .load = "x", .combine = "(a b)"}, "combine of op eleven", ""},
    {{.name = "twelve", .identity = "0", .load = "x", .combine = "twice", .lets = wrong_lets, .let_count = 2},
     "temporary twice of combine of op twelve",
     "onze"},
    {{.name = "thirteen", .identity = "0", .load = "once", .combine = "once", .lets = wrong_lets, .let_count = 1},
     "load of op thirteen", /* the temporaries belong to another part */
     "once"},
    {{.name = "fourteen", .identity = "0", .load = "x", .combine = "a + b", .results = wrong_results, .result_count = 2},
     "finish of result second of op fourteen",
     "scael"},
};

/* The message has the compiler's words about the user's expression, and none about the generated
 * text. */
static void test_wrong_expressions(void **state) {
    tally_context *context = direct_context(state);
    static const char *const ours[] = {"INLINE", "MADE", "t0_load", "tempfile", "tally:"};
    for (size_t w = 0; w < TALLY_ARRAY_LENGTH(wrong); w++) {
        tally_custom_op *op = direct_op(&wrong[w].desc);
        const tally_reduce_desc desc = direct_desc(op, TALLY_F32);
        tally_plan *plan = NULL;
        const tally_status status = tally_plan_create(context, &desc, &plan);
        const char *text = tally_last_error();
        if (status != TALLY_E_BUILD || plan) fail_msg("op %s: %s", wrong[w].desc.name, tally_status_name(status));
        if (!strstr(text, wrong[w].part) || !strstr(text, wrong[w].word) || strchr(text, '\n'))
            fail_msg("\"%s\" and \"%s\" are not in one line: %s", wrong[w].part, wrong[w].word, text);
        for (size_t o = 0; o < TALLY_ARRAY_LENGTH(ours); o++)
            if (strstr(text, ours[o])) fail_msg("\"%s\" is no word of the user's: %s", ours[o], text);
        tally_op_destroy(op);
    }
}

/* ---- limits ---------------------------------------------------------------------------------- */

/* A compiler accepts all that tally_op_create accepts: the longest expression, the deepest of each
 * kind. */
static void test_limits(void **state) {
    static const struct {
        const char *open, *close;
        int count;
        float value;
    } rows[] = {{"x+", "", 4095, 4096}, {"(", ")", 200, 1},     {"- ", "", 200, 1},     {"fabs(", ")", 200, 1},
                {"x>1?x:", "", 200, 1}, {"x>0?", ":x", 200, 1}, {"(f32)-", "", 100, 1}, {"(f32)", "", 199, 1}};
    tally_context *context = direct_context(state);
    const float x[3] = {1, 1, 1};
    for (size_t i = 0; i < TALLY_ARRAY_LENGTH(rows); i++) {
        char load[8193] = "";
        size_t used = 0;
        float got;
        for (int k = 0; k < rows[i].count; k++) used += (size_t)snprintf(load + used, sizeof load - used, "%s", rows[i].open);
        used += (size_t)snprintf(load + used, sizeof load - used, "x");
        for (int k = 0; k < rows[i].count; k++) used += (size_t)snprintf(load + used, sizeof load - used, "%s", rows[i].close);
        assert_true(used < sizeof load);
        tally_custom_op *op =
            direct_op(&(tally_op_desc){.name = "limit", .acc = TALLY_F32, .identity = "0", .load = load, .combine = "a + b"});
        const tally_reduce_desc desc = direct_desc(op, TALLY_F32);
        direct_reduce(context, &desc, NULL, (const void *const[]){x}, 3, &got);
        if (got != 3 * rows[i].value) fail_msg("%.40s...: %g", load, (double)got);
        tally_op_destroy(op);
    }
}

/* Requests that a custom op cannot serve. */
static void test_refused(void **state) {
    tally_context *context = direct_context(state);
    tally_custom_op *op = direct_op(&(tally_op_desc){.name = "sum", .identity = "-0.0f", .load = "x", .combine = "a + b"});
    const tally_term_desc sum = {.op = TALLY_SUM};
    const struct {
        tally_reduce_desc desc;
        tally_status status;
        const char *word;
    } refused[] = {
        {{.custom = op, .in = TALLY_F32, .op = TALLY_SUM}, TALLY_E_ARGUMENT, "give one of them"},
        {{.custom = op, .in = TALLY_F32, .terms = &sum, .term_count = 1}, TALLY_E_ARGUMENT, "desc.terms and desc.custom"},
        {{.custom = op, .in = TALLY_F32, .acc = TALLY_F64}, TALLY_E_ARGUMENT, "names its own"},
        {{.custom = op, .in = TALLY_F32, .accuracy = TALLY_ACCURACY_COMPENSATED}, TALLY_E_UNSUPPORTED, "compensated"},
        {{.custom = op, .in = TALLY_F32, .out = TALLY_I32}, TALLY_E_ARGUMENT, "desc.out"},
        {{.custom = op, .in = TALLY_F32, .variant = "host_finish"}, TALLY_E_UNSUPPORTED, "custom op"},
    };
    for (size_t r = 0; r < TALLY_ARRAY_LENGTH(refused); r++) {
        tally_reduce_desc desc = refused[r].desc;
        tally_plan *plan = NULL;
        desc.size = sizeof desc;
        const tally_status status = tally_plan_create(context, &desc, &plan);
        if (status != refused[r].status || plan || !strstr(tally_last_error(), refused[r].word))
            fail_msg("row %zu: %s: %s", r, tally_status_name(status), tally_last_error());
    }
    tally_op_destroy(op);
}

const device_test custom_tests[] = {
    {"custom: types of parameters", test_param_types},
    {"custom: a combination that is not commutative", test_left_and_right},
    {"custom: types of items", test_types},
    {"custom: four inputs", test_four_inputs},
    {"custom: a minimum with its place", test_least},
    {"custom: a TwoSum", test_twofold},
    {"custom: destroyed first", test_op_destroyed_first},
    {"custom: wrong expressions", test_wrong_expressions},
    {"custom: limits", test_limits},
    {"custom: refused", test_refused},
    {NULL, NULL},
};
