/* SPDX-License-Identifier: MIT */
/*
 * Combinations on the host: tally_host_combine of every row and value type, compared with the
 * combinations written out here. They compute in double and round after each operation. For f32
 * that gives the results of f32 arithmetic.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core.h"
#include "oracle/patterns.h"

#define COUNT 40

static tally_terms resolve(tally_reduce_desc desc) {
    desc.variant = "host_finish";
    return resolve_desc(&made_up_device, desc);
}

/* ---- accumulators as numbers ----------------------------------------------------------------- */

typedef struct number {
    double f;   /* floats */
    uint64_t u; /* integers: their bits, extended by their sign */
} number;

typedef struct accumulator {
    number field[4];
} accumulator;

static bool is_float(tally_dtype type) {
    return type == TALLY_F32 || type == TALLY_F64;
}

/* Type and place of a field. An accumulator without fields is its own field 0. */
static tally_dtype field_type(const tally_term *term, uint32_t field) {
    return term->field_count ? term->fields[field].type : term->value;
}

static uint32_t field_count(const tally_term *term) {
    return term->field_count ? term->field_count : 1;
}

static uint32_t field_offset(const tally_term *term, uint32_t field) {
    uint32_t at = 0;
    for (uint32_t k = 0; k <= field; k++) {
        const uint32_t bytes = (uint32_t)tally_dtype_bytes(field_type(term, k));
        at = (at + bytes - 1) / bytes * bytes;
        if (k < field) at += bytes;
    }
    return at;
}

static number rounded(tally_dtype type, double f) {
    return (number){.f = type == TALLY_F32 ? (double)(float)f : f};
}

static number cut(tally_dtype type, uint64_t u) {
    if (type == TALLY_I32) u = (uint64_t)(int64_t)(int32_t)(uint32_t)u;
    if (type == TALLY_U32) u = (uint32_t)u;
    return (number){.u = u};
}

static void store(tally_dtype type, number v, unsigned char *to) {
    const float f = (float)v.f;
    const uint32_t u = (uint32_t)v.u;
    if (type == TALLY_F32)
        memcpy(to, &f, 4);
    else if (type == TALLY_F64)
        memcpy(to, &v.f, 8);
    else if (tally_dtype_bytes(type) == 4)
        memcpy(to, &u, 4);
    else
        memcpy(to, &v.u, 8);
}

static number fetch(tally_dtype type, const unsigned char *from) {
    float f;
    double d;
    uint32_t u;
    uint64_t wide;
    memcpy(&f, from, 4);
    memcpy(&u, from, 4);
    if (type == TALLY_F32) return (number){.f = (double)f};
    if (tally_dtype_bytes(type) == 4) return cut(type, u);
    memcpy(&d, from, 8);
    memcpy(&wide, from, 8);
    return type == TALLY_F64 ? (number){.f = d} : (number){.u = wide};
}

/* ---- combinations, written out --------------------------------------------------------------- */

static number add(tally_dtype type, number a, number b) {
    return is_float(type) ? rounded(type, a.f + b.f) : cut(type, a.u + b.u);
}

static number multiply(tally_dtype type, number a, number b) {
    return is_float(type) ? rounded(type, a.f * b.f) : cut(type, a.u * b.u);
}

/* Returns -1, 0 or 1. For floats -0 may come before +0. */
static int compare(tally_dtype type, number a, number b, bool zeros_differ) {
    if (is_float(type)) {
        if (a.f == 0 && b.f == 0 && zeros_differ) return (signbit(b.f) != 0) - (signbit(a.f) != 0);
        return (a.f > b.f) - (a.f < b.f);
    }
    if (type == TALLY_I32 || type == TALLY_I64) return ((int64_t)a.u > (int64_t)b.u) - ((int64_t)a.u < (int64_t)b.u);
    return (a.u > b.u) - (a.u < b.u);
}

/* The smaller (sign 1) or the larger (-1) of two. A NaN wins or loses. */
static number extreme(tally_dtype type, number a, number b, int sign, bool nan_wins) {
    if (is_float(type) && (isnan(a.f) || isnan(b.f))) return isnan(a.f) == nan_wins ? a : b;
    return sign * compare(type, a, b, true) <= 0 ? a : b;
}

static number extreme_of(tally_op op, tally_dtype type, number a, number b) {
    const int sign = op == TALLY_MIN || op == TALLY_NANMIN ? 1 : -1;
    return extreme(type, a, b, sign, op != TALLY_NANMIN && op != TALLY_NANMAX);
}

/* Field 0 is the more extreme value, field 1 its index. Equal values keep the lower index. */
static accumulator first_extreme(tally_dtype type, accumulator a, accumulator b, int sign) {
    const bool a_nan = is_float(type) && isnan(a.field[0].f), b_nan = is_float(type) && isnan(b.field[0].f);
    if (a_nan != b_nan) return a_nan ? a : b;
    const int order = a_nan ? 0 : sign * compare(type, a.field[0], b.field[0], false);
    return order < 0 ? a : order > 0 ? b : a.field[1].u <= b.field[1].u ? a : b;
}

#define RND(v) rounded(type, v).f

static accumulator merge_moments(tally_dtype type, accumulator a, accumulator b) {
    if (b.field[0].f == 0) return a;
    if (a.field[0].f == 0) return b;
    const double n = RND(a.field[0].f + b.field[0].f), t = RND(b.field[0].f / n), mean = a.field[1].f;
    const double high = RND(b.field[1].f - mean), d = RND(high + RND(b.field[2].f - a.field[2].f));
    const double between = RND(RND(d * d) * RND(a.field[0].f * t));
    const double step = RND(a.field[2].f + RND(d * t)), sum = RND(mean + step), taken = RND(sum - mean);
    const double low = RND(RND(mean - RND(sum - taken)) + RND(step - taken));
    return (accumulator){{{.f = n}, {.f = sum}, {.f = low}, rounded(type, RND(a.field[3].f + b.field[3].f) + between)}};
}

static accumulator merge_complex_products(tally_dtype type, accumulator a, accumulator b) {
    if (b.field[2].f == 0) return a;
    if (a.field[2].f == 0) return b;
    const double ar = a.field[0].f, ai = a.field[1].f, br = b.field[0].f, bi = b.field[1].f;
    return (accumulator){{rounded(type, RND(ar * br) - RND(ai * bi)), rounded(type, RND(ar * bi) + RND(ai * br)), a.field[2]}};
}

static accumulator merge_exponentials(tally_dtype type, accumulator a, accumulator b) {
    const accumulator large = a.field[0].f > b.field[0].f ? a : b, small = a.field[0].f > b.field[0].f ? b : a;
    const double log2_e = 1.4426950408889634, apart = rint(large.field[0].f * log2_e) - rint(small.field[0].f * log2_e);
    return (accumulator){{large.field[0], rounded(type, large.field[1].f + ldexp(small.field[1].f, -(int)apart))}};
}

/* Knuth's exact sum of the high parts, plus the low parts, split exactly once more. There is no
 * error term unless the sum is finite. */
static accumulator add_twofold(tally_dtype type, accumulator a, accumulator b) {
    const double x = a.field[0].f, y = b.field[0].f, s = RND(x + y), part = RND(s - x);
    const double error = RND(RND(x - RND(s - part)) + RND(y - part));
    const double rest = isfinite(s) ? RND(error + RND(a.field[1].f + b.field[1].f)) : 0, high = RND(s + rest);
    return (accumulator){{{.f = high}, rounded(type, isfinite(high) ? rest - RND(high - s) : 0)}};
}

/* Sums of two words, the lower one first. */
static accumulator add_words(const tally_term *term, accumulator a, accumulator b) {
    for (uint32_t k = 0; k < field_count(term); k += 2) {
        const uint64_t half = (a.field[k].u >> 1) + (b.field[k].u >> 1) + (a.field[k].u & b.field[k].u & 1);
        a.field[k].u += b.field[k].u;
        a.field[k + 1].u += b.field[k + 1].u + (half >> 63);
    }
    return a;
}

/* Each field by itself; of integers a struct's fields are sums of two words. */
static accumulator add_fields(const tally_term *term, accumulator a, accumulator b) {
    if (term->field_count && !is_float(term->value)) return add_words(term, a, b);
    for (uint32_t k = 0; k < field_count(term); k++) a.field[k] = add(field_type(term, k), a.field[k], b.field[k]);
    return a;
}

static accumulator combine(const tally_term *term, accumulator a, accumulator b) {
    const tally_dtype type = term->value;
    accumulator r = a;
    if (term->accuracy == TALLY_ACCURACY_COMPENSATED) return add_twofold(type, a, b);
    switch (term->op) {
    case TALLY_SUM:
    case TALLY_ASUM:
    case TALLY_SUMSQ:
    case TALLY_NRM2:
    case TALLY_MEAN:
    case TALLY_DOT:
    case TALLY_DOTC:
    case TALLY_DIST2:
    case TALLY_COUNT_NONZERO:
        return add_fields(term, a, b);
    case TALLY_PROD:
        if (term->field_count) return merge_complex_products(type, a, b);
        r.field[0] = multiply(type, a.field[0], b.field[0]);
        return r;
    case TALLY_MIN:
    case TALLY_MAX:
    case TALLY_AMAX:
    case TALLY_NANMIN:
    case TALLY_NANMAX:
        r.field[0] = extreme_of(term->op, type, a.field[0], b.field[0]);
        return r;
    case TALLY_MINMAX:
        r.field[0] = extreme(type, a.field[0], b.field[0], 1, true);
        r.field[1] = extreme(type, a.field[1], b.field[1], -1, true);
        return r;
    case TALLY_ARGMIN:
        return first_extreme(type, a, b, 1);
    case TALLY_ARGMAX:
    case TALLY_IAMAX:
        return first_extreme(type, a, b, -1);
    case TALLY_ANY:
    case TALLY_BOR:
        r.field[0] = cut(type, a.field[0].u | b.field[0].u);
        return r;
    case TALLY_ALL:
    case TALLY_ALLCLOSE:
    case TALLY_BAND:
        r.field[0] = cut(type, a.field[0].u & b.field[0].u);
        return r;
    case TALLY_BXOR:
        r.field[0] = cut(type, a.field[0].u ^ b.field[0].u);
        return r;
    case TALLY_VAR:
    case TALLY_STD:
        return is_float(type) ? merge_moments(type, a, b) : add_words(term, a, b);
    case TALLY_LOGSUMEXP:
        return merge_exponentials(type, a, b);
    default:
        fail_msg("a new op, %s, needs its combination here", term->name);
        return r;
    }
}

/* ---- the test -------------------------------------------------------------------------------- */

/* Floats are special values or moderate numbers of both signs. Moments and exponentials get values
 * that they can have. */
static accumulator make(const tally_term *term, uint64_t i) {
    static const double special[] = {0.0, -0.0, (double)INFINITY, (double)-INFINITY, (double)NAN, 1, -1};
    const bool counted = term->op == TALLY_VAR || term->op == TALLY_STD, logs = term->op == TALLY_LOGSUMEXP;
    accumulator a = {{{0}}};
    for (uint32_t k = 0; k < field_count(term); k++) {
        const uint64_t bits = pattern_random(i * 4 + k + 1000 * (uint64_t)term->op);
        const tally_dtype type = field_type(term, k);
        if (!is_float(type)) {
            a.field[k] = cut(type, bits % 5 ? bits : bits % 3);
            continue;
        }
        const double some = ((double)(bits >> 40) - 0x1p23) * 0x1p-20;
        a.field[k] = rounded(type, bits % 4 || counted || logs ? some : special[bits / 4 % TALLY_ARRAY_LENGTH(special)]);
        if (counted && k == 0) a.field[k].f = (double)(bits % 4);
        if (counted && a.field[0].f == 0) a.field[k].f = 0;
        if (logs && k == 1) a.field[k].f = fabs(a.field[k].f) + 1;
        if (term->op == TALLY_PROD && term->field_count && k == 2) a.field[k].f = (double)(bits % 2);
    }
    return a;
}

static bool is_same(tally_dtype type, number a, number b) {
    if (!is_float(type)) return a.u == b.u;
    if (isnan(a.f) || isnan(b.f)) return isnan(a.f) && isnan(b.f);
    return a.f == b.f && !signbit(a.f) == !signbit(b.f);
}

static void put(const tally_term *term, const accumulator *a, unsigned char *to) {
    for (uint32_t k = 0; k < field_count(term); k++) store(field_type(term, k), a->field[k], to + field_offset(term, k));
}

static void expect_combination(const tally_terms *terms, uint64_t count) {
    static unsigned char memory[COUNT * 512], before[COUNT * 512];
    const uint32_t bytes = terms->acc.bytes;
    accumulator expected[TALLY_MAX_TERMS];
    assert_true(bytes <= 512);
    memset(memory, 0xa5, sizeof memory);
    for (uint32_t t = 0; t < terms->count; t++)
        for (uint64_t i = 0; i < count; i++) {
            const tally_term *term = &terms->list[t];
            const accumulator a = make(term, i);
            put(term, &a, memory + i * bytes + term->acc_offset);
            expected[t] = i ? combine(term, expected[t], a) : a;
        }
    memcpy(before, memory, sizeof memory);
    tally_host_combine(terms, memory, count);
    for (uint32_t t = 0; t < terms->count; t++) {
        const tally_term *term = &terms->list[t];
        for (uint32_t k = 0; k < field_count(term); k++) {
            const tally_dtype type = field_type(term, k);
            const number got = fetch(type, memory + term->acc_offset + field_offset(term, k));
            if (!is_same(type, got, expected[t].field[k]))
                fail_msg("%s of %s in %s, field %u, %llu accumulators: %a or %llx, should be %a or %llx", term->name,
                         tally_dtype_name(terms->in), tally_dtype_name(term->value), k, (unsigned long long)count, got.f,
                         (unsigned long long)got.u, expected[t].field[k].f, (unsigned long long)expected[t].field[k].u);
        }
    }
    if (memcmp(memory + bytes, before + bytes, sizeof memory - bytes) != 0)
        fail_msg("%s changed another than the first", terms->list[0].name);
}

static void test_rows(void **unused) {
    (void)unused;
    int rows = 0;
    for (tally_op op = TALLY_OP_NONE + 1; op < TALLY_OP_END; op++)
        for (tally_dtype in = TALLY_DTYPE_DEFAULT + 1; in < TALLY_DTYPE_END; in++)
            for (int how = 0; how < 4; how++) {
                const tally_accuracy accuracy = how & 1 ? TALLY_ACCURACY_COMPENSATED : TALLY_ACCURACY_DEFAULT;
                const tally_kind kind = tally_dtype_find(in)->kind;
                if (!tally_op_row_for(op, in, accuracy)) continue;
                if (how & 2 && kind != TALLY_KIND_FLOAT && kind != TALLY_KIND_COMPLEX) continue;
                tally_terms terms = resolve((tally_reduce_desc){
                    .op = op, .in = in, .accuracy = accuracy, .acc = how & 2 ? TALLY_F64 : TALLY_DTYPE_DEFAULT});
                for (uint64_t count = 1; count <= COUNT; count++, rows++) expect_combination(&terms, count);
                tally_terms_close(&terms);
            }
    assert_true(rows > 400 * COUNT);
}

static void test_several(void **unused) {
    (void)unused;
    static const tally_term_desc reals[] = {{.op = TALLY_MIN}, {.op = TALLY_MINMAX}, {.op = TALLY_ARGMAX}, {.op = TALLY_SUM},
                                            {.op = TALLY_STD}, {.op = TALLY_ANY},    {.op = TALLY_AMAX}};
    /* The level of accuracy belongs to the term. */
    static const tally_term_desc sums[] = {{.op = TALLY_SUM, .accuracy = TALLY_ACCURACY_COMPENSATED},
                                           {.op = TALLY_MIN},
                                           {.op = TALLY_SUM},
                                           {.op = TALLY_MEAN, .accuracy = TALLY_ACCURACY_COMPENSATED, .acc = TALLY_F64}};
    static const tally_term_desc complexes[] = {{.op = TALLY_NRM2}, {.op = TALLY_PROD}, {.op = TALLY_SUM}};
    const tally_reduce_desc descs[] = {{.terms = reals, .term_count = 7, .in = TALLY_F32},
                                       {.terms = reals, .term_count = 7, .in = TALLY_I8},
                                       {.terms = reals, .term_count = 7, .in = TALLY_U64},
                                       {.terms = sums, .term_count = 4, .in = TALLY_F32},
                                       {.terms = complexes, .term_count = 3, .in = TALLY_C64}};
    for (size_t i = 0; i < TALLY_ARRAY_LENGTH(descs); i++) {
        tally_terms terms = resolve(descs[i]);
        for (uint64_t count = 1; count <= COUNT; count++) expect_combination(&terms, count);
        tally_terms_close(&terms);
    }
}

const core_test host_tests[] = {
    {"the host's operators", test_rows},
    {"the host's operators: several", test_several},
    {NULL, NULL},
};
