/* SPDX-License-Identifier: MIT */
/* The types of every op and dtype, compared with tables written here, not made from the
 * library's. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <tally/backend.h>

#include "core.h"

/* ---- types ----------------------------------------------------------------------------------- */

#define COLUMNS "f16 bf16 f32 f64 i8 i16 i32 i64 u8 u16 u32 u64 bool c64 c128"
#define FLOATS_THEN(integers) "f32 f32 f32 f64 " integers " f32 f64"
#define NO_COMPLEX " - -"
#define NINE(type) type " " type " " type " " type " " type " " type " " type " " type " " type
#define THIRTEEN(type) NINE(type) " " type " " type " " type " " type
#define OWN "f16 bf16 f32 f64 i8 i16 i32 i64 u8 u16 u32 u64 bool"
#define ITEMS_AS "f32 f32 f32 f64 i32 i32 i32 i64 u32 u32 u32 u64 u32"
#define MAGNITUDES "f32 f32 f32 f64 u32 u32 u32 u64 u32 u32 u32 u64 u32"
#define WHOLES "u64 u64 u64 f64 u64 u64 u64 f64 u64"
#define REALS FLOATS_THEN(NINE("f64"))

/* A column for each dtype: the accumulator's type, and the result's. "-": the op does not take
 * it. */
typedef struct type_row {
    const char *ops, *value, *result;
} type_row;

static const type_row type_rows[] = {
    {"sum prod dot dotc", FLOATS_THEN(NINE("u64")), "f32 f32 f32 f64 i64 i64 i64 i64 u64 u64 u64 u64 i64 c64 c128"},
    {"asum sumsq", FLOATS_THEN(NINE("u64")), FLOATS_THEN(NINE("u64"))},
    {"dist2", "f32 f32 f32 f64 " NINE("u64") NO_COMPLEX, "f32 f32 f32 f64 " NINE("u64") NO_COMPLEX},
    {"min max nanmin nanmax minmax", ITEMS_AS NO_COMPLEX, OWN NO_COMPLEX},
    {"argmin argmax", ITEMS_AS NO_COMPLEX, THIRTEEN("u64") NO_COMPLEX},
    {"any all allclose", THIRTEEN("u32") NO_COMPLEX, THIRTEEN("bool") NO_COMPLEX},
    {"count_nonzero", THIRTEEN("u64") NO_COMPLEX, THIRTEEN("u64") NO_COMPLEX},
    {"band bor bxor", "- - - - i32 i32 i32 i64 u32 u32 u32 u64 u32 - -", "- - - - i8 i16 i32 i64 u8 u16 u32 u64 bool - -"},
    {"nrm2", FLOATS_THEN(WHOLES), REALS},
    {"mean", FLOATS_THEN(WHOLES), "f32 f32 f32 f64 " NINE("f64") " c64 c128"},
    {"var std", "f32 f32 f32 f64 " WHOLES NO_COMPLEX, "f32 f32 f32 f64 " NINE("f64") NO_COMPLEX},
    {"logsumexp", "f32 f32 f32 f64 " NINE("f64") NO_COMPLEX, "f32 f32 f32 f64 " NINE("f64") NO_COMPLEX},
    {"amax", MAGNITUDES NO_COMPLEX, "f16 bf16 f32 f64 u8 u16 u32 u64 u8 u16 u32 u64 bool" NO_COMPLEX},
    {"iamax", MAGNITUDES NO_COMPLEX, THIRTEEN("u64") NO_COMPLEX},
};

/* Types with acc = f64. Columns: f16 bf16 f32 f64 c64 c128. */
static const type_row wide_rows[] = {
    {"sum prod dot dotc mean", "f64 f64 f64 f64 f64 f64", "f64 f64 f64 f64 c128 c128"},
    {"asum sumsq nrm2", "f64 f64 f64 f64 f64 f64", "f64 f64 f64 f64 f64 f64"},
    {"dist2 var std logsumexp", "f64 f64 f64 f64 - -", "f64 f64 f64 f64 - -"},
    {"min max nanmin nanmax minmax amax", "f64 f64 f64 f64 - -", "f16 bf16 f32 f64 - -"},
    {"argmin argmax iamax", "f64 f64 f64 f64 - -", "u64 u64 u64 u64 - -"},
    {"any all allclose", "u32 u32 u32 u32 - -", "bool bool bool bool - -"},
    {"count_nonzero", "u64 u64 u64 u64 - -", "u64 u64 u64 u64 - -"},
};

/* Copies the word at `index` of words that single spaces separate. */
static const char *word_at(const char *words, size_t index, char word[16]) {
    for (; index > 0; index--) {
        words = strchr(words, ' ');
        if (!words) return NULL;
        words++;
    }
    snprintf(word, 16, "%.*s", (int)strcspn(words, " "), words);
    return word;
}

/* "-": none. */
static tally_dtype type_of(const char *words, size_t index) {
    char word[16];
    tally_dtype type = TALLY_DTYPE_DEFAULT;
    assert_non_null(word_at(words, index, word));
    if (strcmp(word, "-") != 0) MUST(tally_dtype_from_name(word, &type));
    return type;
}

static bool is_complex(tally_dtype dtype) {
    return dtype == TALLY_C64 || dtype == TALLY_C128;
}

/* One cell of a table: the terms and the public functions must agree with it. */
static void expect_cell(tally_op op, tally_dtype in, tally_dtype acc, tally_dtype value, tally_dtype result, tally_dtype real) {
    if (!acc) {
        expect_type("the accumulator", op, in, tally_accumulator_dtype(op, in), value);
        expect_type("the result", op, in, tally_result_dtype(op, in), result);
        assert_int_equal(tally_result_count(op, in), !value ? 0 : op == TALLY_MINMAX ? 2 : 1);
    }
    if (!value) {
        REFUSED(try_desc(&made_up_device, (tally_reduce_desc){.op = op, .in = in, .acc = acc}), TALLY_E_UNSUPPORTED,
                tally_op_name(op), "does not take", tally_dtype_name(in));
        return;
    }
    tally_terms terms = resolve_desc(&made_up_device, (tally_reduce_desc){.op = op, .in = in, .acc = acc});
    const tally_term *term = &terms.list[0];
    tally_result_info info;
    assert_int_equal(terms.count, 1);
    expect_type("V", op, in, term->value, value);
    expect_type("R", op, in, term->real, real);
    assert_true(tally_terms_result(&terms, 0, &info));
    expect_type("value 0", op, in, info.dtype, result);
    assert_int_equal(info.offset, 0);
    assert_int_equal(info.term, 0);
    const bool two = op == TALLY_MINMAX;
    assert_int_equal(tally_terms_result(&terms, 1, &info), two);
    if (two) {
        expect_type("value 1", op, in, info.dtype, result);
        assert_int_equal(info.offset, tally_dtype_bytes(result));
    }
    assert_int_equal(terms.result.bytes, tally_dtype_bytes(result) * (two ? 2 : 1));
    assert_int_equal(term->result_count, two || is_complex(result) ? 2 : 1);
    assert_false(tally_terms_result(&terms, 2, &info));
    for (uint32_t p = 0; p < term->param_count; p++) expect_type("a parameter", op, in, term->params[p].type, real);
    tally_terms_close(&terms);
}

/* Returns the number of ops. */
static int expect_rows(const type_row *rows, size_t count, const char *columns, tally_dtype acc) {
    int ops = 0;
    for (size_t r = 0; r < count; r++) {
        char name[16], dtype[16];
        for (size_t o = 0; word_at(rows[r].ops, o, name); o++, ops++) {
            tally_op op;
            MUST(tally_op_from_name(name, &op));
            for (size_t c = 0; word_at(columns, c, dtype); c++) {
                const tally_dtype in = type_of(columns, c);
                const bool integers = c >= 4 && c <= 12 && !acc;
                const tally_dtype real = acc || integers || in == TALLY_F64 || in == TALLY_C128 ? TALLY_F64 : TALLY_F32;
                expect_cell(op, in, acc, type_of(rows[r].value, c), type_of(rows[r].result, c), real);
            }
        }
    }
    return ops;
}

static void test_types(void **unused) {
    (void)unused;
    assert_int_equal(expect_rows(type_rows, TALLY_ARRAY_LENGTH(type_rows), COLUMNS, TALLY_DTYPE_DEFAULT), TALLY_OP_END - 1);
    expect_rows(wide_rows, TALLY_ARRAY_LENGTH(wide_rows), "f16 bf16 f32 f64 c64 c128", TALLY_F64);
    static const char two_inputs[] = "dot dotc dist2 allclose";
    int counted = 0;
    for (tally_op op = TALLY_OP_NONE + 1; op < TALLY_OP_END; op++) counted += tally_op_inputs(op) == 2;
    char name[16];
    for (size_t i = 0; word_at(two_inputs, i, name); i++, counted--) {
        tally_op op;
        MUST(tally_op_from_name(name, &op));
        assert_int_equal(tally_op_inputs(op), 2);
    }
    assert_int_equal(counted, 0);
}

/* The type of a lane of its own: 32 bits for sums of which 2^12 terms fit, and for those of 32-bit
 * items, which are two. */
static void test_lanes(void **unused) {
    (void)unused;
    static const type_row lanes[] = {
        {"sum asum", "- - - - i32 i32 u32 - u32 u32 u32 - u32", NULL},
        {"sumsq dot dotc dist2", "- - - - i32 - - - u32 - - - u32", NULL},
        {"count_nonzero", THIRTEEN("u32"), NULL},
        {"argmin argmax", ITEMS_AS, NULL}, /* indices within a chunk are narrower */
        {"iamax", MAGNITUDES, NULL},
        {"mean", "- - - - i32 i32 u32 - u32 u32 u32 - u32", NULL},
        {"nrm2", "f32 - - - i32 i64 u64 - u32 u64 u64 - u32", NULL},                /* of the squares */
        {"var std", "f32 f32 f32 f64 i32 i64 u64 f64 u32 u64 u64 f64 u32", NULL},   /* floats': two sums off a pivot */
        {"logsumexp", "f32 f32 f32 f64 f64 f64 f64 f64 f64 f64 f64 f64 u32", NULL}, /* a maximum, and a sum; a count */
        {"prod min max amax any all allclose", THIRTEEN("-"), NULL},
    };
    char name[16];
    for (size_t r = 0; r < TALLY_ARRAY_LENGTH(lanes); r++)
        for (size_t o = 0; word_at(lanes[r].ops, o, name); o++)
            for (size_t c = 0; c < 13; c++) {
                tally_op op;
                MUST(tally_op_from_name(name, &op));
                const tally_dtype in = type_of(COLUMNS, c);
                tally_terms terms = resolve_desc(&made_up_device, (tally_reduce_desc){.op = op, .in = in});
                expect_type("the lane", op, in, terms.list[0].lane.value, type_of(lanes[r].value, c));
                if (terms.list[0].is_index) /* narrow: a key of both */
                    assert_int_equal(terms.list[0].lane.field_count, tally_dtype_is_narrow(in) ? 0 : 2);
                tally_terms_close(&terms);
            }
}

static void test_compensated(void **unused) {
    (void)unused;
    static const char ops[] = "sum asum sumsq mean dot";
    int served = 0;
    for (tally_op op = TALLY_OP_NONE + 1; op < TALLY_OP_END; op++)
        for (size_t c = 0; c < 15; c++)
            for (int wide = 0; wide < 2; wide++) {
                const tally_dtype in = type_of(COLUMNS, c);
                const tally_reduce_desc desc = {
                    .op = op, .in = in, .acc = wide ? TALLY_F64 : 0, .accuracy = TALLY_ACCURACY_COMPENSATED};
                char name[16];
                bool known = false;
                for (size_t o = 0; word_at(ops, o, name); o++) known = known || strcmp(name, tally_op_name(op)) == 0;
                if (!known || c >= 4) {
                    const bool taken = tally_result_dtype(op, in) != TALLY_DTYPE_DEFAULT;
                    REFUSED(try_desc(&made_up_device, desc), TALLY_E_UNSUPPORTED, tally_op_name(op), tally_dtype_name(in),
                            taken ? "no level 'compensated'" : "does not take");
                    continue;
                }
                tally_terms terms = resolve_desc(&made_up_device, desc);
                const tally_term *term = &terms.list[0];
                const tally_dtype value = wide || in == TALLY_F64 ? TALLY_F64 : TALLY_F32;
                expect_type("V", op, in, term->value, value);
                expect_type("the result", op, in, term->results[0].out, value);
                assert_int_equal(term->field_count, 2);
                assert_string_equal(term->fields[0].name, "high");
                assert_string_equal(term->fields[1].name, "low");
                assert_int_equal(terms.acc.bytes, 2 * tally_dtype_bytes(value));
                assert_int_equal(term->exact, 0);
                tally_terms_close(&terms);
                served++;
            }
    assert_int_equal(served, 5 * 4 * 2);
}

/* Ops that give the same bits in any order, for f16 and for i16 items. */
static void test_exactness(void **unused) {
    (void)unused;
    static const struct {
        tally_op op;
        bool floats, integers;
    } known[] = {{TALLY_SUM, false, true},     {TALLY_PROD, false, true}, {TALLY_MIN, true, true},
                 {TALLY_ARGMIN, true, true},   {TALLY_ANY, true, true},   {TALLY_MEAN, false, true},
                 {TALLY_VAR, false, true},     {TALLY_DOT, false, true},  {TALLY_DIST2, false, true},
                 {TALLY_ALLCLOSE, true, true}, {TALLY_AMAX, true, true},  {TALLY_NRM2, false, true},
                 {TALLY_MINMAX, true, true},   {TALLY_ASUM, false, true}, {TALLY_LOGSUMEXP, false, false}};
    for (size_t i = 0; i < TALLY_ARRAY_LENGTH(known); i++)
        for (int integers = 0; integers < 2; integers++) {
            tally_terms terms =
                resolve_desc(&made_up_device, (tally_reduce_desc){.op = known[i].op, .in = integers ? TALLY_I16 : TALLY_F16});
            if (tally_terms_exact(&terms) != (integers ? known[i].integers : known[i].floats))
                fail_msg("%s of %s: exact is %d", tally_op_name(known[i].op), integers ? "i16" : "f16",
                         tally_terms_exact(&terms));
            tally_terms_close(&terms);
        }
    /* Integers of 64 bits are rounded to f64. */
    const tally_op rounded[] = {TALLY_MEAN, TALLY_VAR, TALLY_STD, TALLY_NRM2};
    for (size_t i = 0; i < TALLY_ARRAY_LENGTH(rounded); i++)
        for (tally_dtype in = TALLY_I64; in <= TALLY_U64; in += TALLY_U64 - TALLY_I64) {
            tally_terms terms = resolve_desc(&made_up_device, (tally_reduce_desc){.op = rounded[i], .in = in});
            assert_false(tally_terms_exact(&terms));
            tally_terms_close(&terms);
        }
    tally_term_desc ops[] = {{.op = TALLY_MIN}, {.op = TALLY_MAX}, {.op = TALLY_SUM}};
    tally_terms terms = resolve_desc(&made_up_device, (tally_reduce_desc){.terms = ops, .term_count = 2, .in = TALLY_F32});
    assert_true(tally_terms_exact(&terms));
    tally_terms_close(&terms);
    terms = resolve_desc(&made_up_device, (tally_reduce_desc){.terms = ops, .term_count = 3, .in = TALLY_F32});
    assert_false(tally_terms_exact(&terms));
    tally_terms_close(&terms);
}

/* ---- the result's type ----------------------------------------------------------------------- */

/* The dtypes that the result of an op and dtype may be converted to. */
static void test_conversions(void **unused) {
    (void)unused;
    static const struct {
        tally_op op;
        tally_dtype in;
        const char *may;
    } known[] = {
        {TALLY_SUM, TALLY_F32, "f16 bf16 f32 f64"},
        {TALLY_SUM, TALLY_F64, "f16 bf16 f32 f64"},
        {TALLY_MIN, TALLY_F16, "f16 bf16 f32 f64"},
        {TALLY_SUM, TALLY_I32, "f32 f64 i8 i16 i32 i64 u8 u16 u32 u64"},
        {TALLY_MIN, TALLY_U8, "f32 f64 i8 i16 i32 i64 u8 u16 u32 u64"},
        {TALLY_MINMAX, TALLY_I8, "f32 f64 i8 i16 i32 i64 u8 u16 u32 u64"},
        {TALLY_COUNT_NONZERO, TALLY_F32, "f32 f64 i8 i16 i32 i64 u8 u16 u32 u64"},
        {TALLY_ANY, TALLY_F32, "i8 i16 i32 i64 u8 u16 u32 u64 bool"},
        {TALLY_MIN, TALLY_BOOL, "i8 i16 i32 i64 u8 u16 u32 u64 bool"},
        {TALLY_ARGMIN, TALLY_F32, "i64 u64"},
        {TALLY_IAMAX, TALLY_I8, "i64 u64"},
        {TALLY_MEAN, TALLY_I32, "f16 bf16 f32 f64"},
        {TALLY_SUM, TALLY_C64, "c64 c128"},
        {TALLY_MEAN, TALLY_C128, "c64 c128"},
        {TALLY_NRM2, TALLY_C64, "f16 bf16 f32 f64"},
    };
    for (size_t i = 0; i < TALLY_ARRAY_LENGTH(known); i++)
        for (tally_dtype out = TALLY_DTYPE_DEFAULT + 1; out < TALLY_DTYPE_END; out++) {
            const tally_reduce_desc desc = {.op = known[i].op, .in = known[i].in, .out = out};
            const char *name = tally_dtype_name(out);
            char word[16];
            bool may = false;
            for (size_t w = 0; word_at(known[i].may, w, word); w++) may = may || strcmp(word, name) == 0;
            if (!may) {
                REFUSED(try_desc(&made_up_device, desc), TALLY_E_ARGUMENT, "desc.out", name, tally_op_name(desc.op),
                        tally_dtype_name(tally_result_dtype(desc.op, desc.in)));
                continue;
            }
            tally_terms terms = resolve_desc(&made_up_device, desc);
            tally_result_info info;
            assert_true(tally_terms_result(&terms, 0, &info));
            expect_type("the result", desc.op, desc.in, info.dtype, out);
            assert_int_equal(terms.result.bytes, tally_dtype_bytes(out) * (desc.op == TALLY_MINMAX ? 2 : 1));
            tally_terms_close(&terms);
        }
}

static uint64_t converted(tally_dtype from, uint64_t bits, tally_dtype to) {
    uint64_t out = 0;
    MUST(tally_value_convert(from, &bits, to, &out));
    return out;
}

/* Values of one type as those of another. */
static void test_values(void **unused) {
    (void)unused;
    static const struct {
        tally_dtype from;
        uint64_t bits;
        tally_dtype to;
        uint64_t expected;
    } known[] = {
        {TALLY_F64, 0x3ff0000010000000, TALLY_F32, 0x3f800000}, /* 1 + 2^-24, halfway */
        {TALLY_F64, 0x3ff0000010000001, TALLY_F32, 0x3f800001},
        {TALLY_F64, 0x3ff0020000000001, TALLY_F16, 0x3c01}, /* above 1 + 2^-11, halfway; in f32 it is halfway */
        {TALLY_F64, 0x40effdffffffffff, TALLY_F16, 0x7bff}, /* below 65,520 */
        {TALLY_F64, 0xc0effe0000000000, TALLY_F16, 0xfc00},
        {TALLY_F64, 0x3e60000000000000, TALLY_F16, 0x0000}, /* 2^-25: half the least subnormal */
        {TALLY_F64, 0xbe60000000000001, TALLY_F16, 0x8001},
        {TALLY_F64, 0x3ff0100000000001, TALLY_BF16, 0x3f81},
        {TALLY_F64, 0xfff0000000000123, TALLY_F32, 0x7fc00000},
        {TALLY_BF16, 0xffc1, TALLY_F64, 0x7ff8000000000000},
        {TALLY_BF16, 0xffc1, TALLY_BF16, 0xffc1}, /* of the same type: a copy */
        {TALLY_I64, 0x8000000000000000, TALLY_F32, 0xdf000000},
        {TALLY_I64, 0x0100000100000001, TALLY_F32, 0x5b800001}, /* in f64 it is halfway */
        {TALLY_U64, 0x8080000000000001, TALLY_BF16, 0x5f01},    /* in f64 it is halfway */
        {TALLY_U64, UINT64_MAX, TALLY_F64, 0x43f0000000000000},
        {TALLY_I8, 0x80, TALLY_I64, 0xffffffffffffff80},
        {TALLY_I64, 0x1234567890abcdef, TALLY_U16, 0xcdef},
        {TALLY_BOOL, 7, TALLY_I32, 1},
        {TALLY_F32, 0x80000000, TALLY_BOOL, 0},
        {TALLY_F64, 0xc06fffffffffffff, TALLY_I16, 0xff01}, /* -255.99 */
        {TALLY_F64, 0xbfefffffffffffff, TALLY_U8, 0},       /* above -1 */
        {TALLY_F64, 0x43dfffffffffffff, TALLY_I64, 0x7ffffffffffffc00},
    };
    static const double beyond[] = {-1, 256, INFINITY, NAN};
    for (size_t i = 0; i < TALLY_ARRAY_LENGTH(known); i++) {
        const uint64_t got = converted(known[i].from, known[i].bits, known[i].to);
        if (got != known[i].expected)
            fail_msg("%s 0x%llx to %s is 0x%llx, should be 0x%llx", tally_dtype_name(known[i].from),
                     (unsigned long long)known[i].bits, tally_dtype_name(known[i].to), (unsigned long long)got,
                     (unsigned long long)known[i].expected);
    }
    for (uint64_t bits = 0; bits < 65536; bits++)
        for (tally_dtype type = TALLY_F16; type <= TALLY_BF16; type++) {
            const uint64_t wide = converted(type, bits, TALLY_F64), exponent = type == TALLY_F16 ? 0x7c00 : 0x7f80;
            const bool is_nan = (bits & 0x7fff) > exponent;
            assert_int_equal(converted(TALLY_F64, wide, type), is_nan ? (type == TALLY_F16 ? 0x7e00U : 0x7fc0U) : bits);
        }
    uint8_t byte = 99;
    for (size_t i = 0; i < TALLY_ARRAY_LENGTH(beyond); i++)
        REFUSED(tally_value_convert(TALLY_F64, &beyond[i], TALLY_U8, &byte), TALLY_E_ARGUMENT, "beyond the range of u8");
    assert_int_equal(byte, 99);
    REFUSED(tally_value_convert(TALLY_C64, beyond, TALLY_F32, &byte), TALLY_E_ARGUMENT, "real types only");
}

const core_test type_tests[] = {
    {"types of every op and dtype", test_types},
    {"types of lanes", test_lanes},
    {"the level compensated", test_compensated},
    {"exactness", test_exactness},
    {"conversions of results", test_conversions},
    {"conversions of values", test_values},
    {NULL, NULL},
};
