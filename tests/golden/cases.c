/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "tests/support/calls.h"
#include "host/host.h"
#include "golden.h"
#include "oracle/items.h"

const uint64_t golden_lengths[GOLDEN_LENGTHS] = {0, 1, 2, 31, 127, 128, 129, 4095, 4096, 4097, 100003, GOLDEN_ROOM};

/* ---- rows chosen by hand --------------------------------------------------------------------- */

/* Results of other types than the default. */
static const oracle_case outs[] = {
    {.op = TALLY_SUM, .in = TALLY_F16, .out = TALLY_F16},  {.op = TALLY_SUM, .in = TALLY_BF16, .out = TALLY_BF16},
    {.op = TALLY_SUM, .in = TALLY_I8, .out = TALLY_I8},    {.op = TALLY_SUM, .in = TALLY_U32, .out = TALLY_F32},
    {.op = TALLY_MIN, .in = TALLY_F32, .out = TALLY_F64},  {.op = TALLY_MEAN, .in = TALLY_I32, .out = TALLY_F32},
    {.op = TALLY_VAR, .in = TALLY_F16, .out = TALLY_F64},  {.op = TALLY_DOT, .in = TALLY_BF16, .out = TALLY_BF16},
    {.op = TALLY_SUM, .in = TALLY_C64, .out = TALLY_C128},
};

/* Parameters, in the op's order. */
static const struct {
    tally_op op;
    tally_dtype in;
    golden_items items;
    double values[2];
} params[] = {
    {TALLY_VAR, TALLY_F32, GOLDEN_SHIFTED, {1, 0}},
    {TALLY_VAR, TALLY_F64, GOLDEN_WIDE, {2.5, 0}},
    {TALLY_VAR, TALLY_I16, GOLDEN_WIDE, {1, 0}},
    {TALLY_STD, TALLY_F32, GOLDEN_WIDE, {1, 0}},
    {TALLY_STD, TALLY_BF16, GOLDEN_SHIFTED, {1, 0}},
    {TALLY_ALLCLOSE, TALLY_F32, GOLDEN_NEAR, {0, 0}},
    {TALLY_ALLCLOSE, TALLY_F32, GOLDEN_NEAR, {2, 0}},
    {TALLY_ALLCLOSE, TALLY_F64, GOLDEN_NEAR, {0, 0x1p-19}},
    {TALLY_ALLCLOSE, TALLY_F64, GOLDEN_NEAR, {0x1p-23, 0}},
};

#define OPS(...)                                                                                                               \
    sizeof((tally_op[]){__VA_ARGS__}) / sizeof(tally_op), {                                                                    \
        __VA_ARGS__                                                                                                            \
    }
static const golden_fusion fusions[] = {
    {TALLY_F32, OPS(TALLY_MIN, TALLY_MAX, TALLY_MEAN, TALLY_STD)},
    {TALLY_F64, OPS(TALLY_MINMAX, TALLY_MEAN, TALLY_VAR, TALLY_ARGMAX)},
    {TALLY_I8, OPS(TALLY_SUM, TALLY_MIN, TALLY_MEAN)},
    {TALLY_U8, OPS(TALLY_ANY, TALLY_ALL, TALLY_COUNT_NONZERO, TALLY_MAX)},
    {TALLY_U16, OPS(TALLY_BAND, TALLY_BXOR)},
    {TALLY_F16, OPS(TALLY_SUM, TALLY_NANMAX, TALLY_NRM2)},
    {TALLY_BOOL, OPS(TALLY_ANY, TALLY_SUM)},
    {TALLY_C64, OPS(TALLY_SUM, TALLY_ASUM, TALLY_NRM2, TALLY_PROD)},
    {TALLY_F32, OPS(TALLY_DOT, TALLY_DIST2, TALLY_ALLCLOSE)},
    {TALLY_F32, OPS(TALLY_SUM, TALLY_PROD, TALLY_MIN, TALLY_MAX, TALLY_NANMIN, TALLY_NANMAX, TALLY_ARGMIN, TALLY_ARGMAX,
                    TALLY_MINMAX, TALLY_ANY, TALLY_ALL, TALLY_COUNT_NONZERO, TALLY_ASUM, TALLY_NRM2, TALLY_MEAN, TALLY_VAR)},
};

/* A value with its place. Of the largest the first counts. */
#define LARGER "b.value > a.value || (b.value == a.value && b.index < a.index) ? b."
static const tally_op_field place_of_f64[] = {
    {.name = "value", .type = TALLY_F64, .identity = "-INFINITY", .load = "x", .combine = LARGER "value : a.value"},
    {.name = "index", .type = TALLY_U64, .identity = "~(u64)0", .load = "i", .combine = LARGER "index : a.index"}};
static const tally_op_field place_of_i32[] = {
    {.name = "value", .type = TALLY_I64, .identity = "-((i64)1 << 40)", .load = "x", .combine = LARGER "value : a.value"},
    {.name = "index", .type = TALLY_U64, .identity = "~(u64)0", .load = "i", .combine = LARGER "index : a.index"}};
static const tally_op_field sum_and_count[] = {{.name = "sum", .identity = "-0.0f", .load = "x", .combine = "a.sum + b.sum"},
                                               {.name = "count", .identity = "0", .load = "1", .combine = "a.count + b.count"}};
static const tally_op_param threshold = {"threshold", TALLY_F32, 1};

static const golden_custom customs[] = {
    {TALLY_F32, TALLY_SUMSQ, {.name = "squares", .identity = "-0.0f", .load = "x * x", .combine = "a + b", .empty = "0"}},
    {TALLY_F16, TALLY_SUM, {.name = "items", .identity = "-0.0f", .load = "x", .combine = "a + b", .empty = "0"}},
    {TALLY_F32,
     TALLY_DOT,
     {.name = "products", .inputs = 2, .identity = "-0.0f", .load = "x * y", .combine = "a + b", .empty = "0"}},
    {TALLY_F32,
     TALLY_MEAN,
     {.name = "quotient", .fields = sum_and_count, .field_count = 2, .finish = "a.sum / a.count", .empty = "NAN"}},
    {TALLY_F64,
     TALLY_ARGMAX,
     {.name = "place", .fields = place_of_f64, .field_count = 2, .finish = "a.index", .out = TALLY_U64, .exact = 1}},
    {TALLY_I32,
     TALLY_ARGMAX,
     {.name = "place", .fields = place_of_i32, .field_count = 2, .finish = "a.index", .out = TALLY_U64, .exact = 1}},
    {TALLY_F32,
     TALLY_OP_NONE,
     {.name = "above",
      .identity = "-0.0f",
      .load = "x > p.threshold ? x * x : 0",
      .combine = "a + b",
      .params = &threshold,
      .param_count = 1}},
    {TALLY_U16, TALLY_OP_NONE, {.name = "weighted", .identity = "0", .load = "(u64)x * (i % 5)", .combine = "a + b"}},
};

enum { E = TALLY_EXCLUSIVE, R = TALLY_REVERSE };
/* The ops that are scanned in every form. */
static const oracle_case formed[] = {{.op = TALLY_SUM, .in = TALLY_F32},
                                     {.op = TALLY_SUM, .in = TALLY_I32},
                                     {.op = TALLY_MAX, .in = TALLY_F64},
                                     {.op = TALLY_ARGMIN, .in = TALLY_I16},
                                     {.op = TALLY_PROD, .in = TALLY_C64}};
static const struct {
    uint32_t flags;
    tally_segments segments;
    int has_initial;
} forms[] = {{E, 0, 0},
             {R, 0, 0},
             {E | R, 0, 0},
             {E, 0, 1},
             {0, TALLY_SEGMENTS_FLAGS, 0},
             {E | R, TALLY_SEGMENTS_FLAGS, 0},
             {R, TALLY_SEGMENTS_OFFSETS, 0},
             {E, TALLY_SEGMENTS_OFFSETS, 1}};

/* ---- the list -------------------------------------------------------------------------------- */

typedef struct list {
    golden_case *cases;
    size_t count, capacity, programs;
    char program[144]; /* the name of the last program */
} list;

const char *golden_param(tally_op op, uint32_t number) {
    static const char *const of_moments[] = {"ddof", NULL}, *const of_closeness[] = {"rtol", "atol"};
    if (number > 1) return NULL;
    return op == TALLY_VAR || op == TALLY_STD ? of_moments[number] : op == TALLY_ALLCLOSE ? of_closeness[number] : NULL;
}

static void append(char *text, size_t bytes, const char *more) {
    snprintf(text + strlen(text), bytes - strlen(text), "%s", more);
}

/* The part of the key that names the program. */
static void name_program(const golden_case *c, char *text, size_t bytes) {
    static const char *const segments[] = {"", " flags", " offsets"};
    snprintf(text, bytes, "%s%s", c->is_scan ? "scan " : "", c->custom ? "custom " : c->fusion ? "fused " : "");
    for (uint32_t o = 0; c->fusion && o < c->fusion->count; o++) {
        append(text, bytes, o ? "+" : "");
        append(text, bytes, tally_op_name(c->fusion->ops[o]));
    }
    if (!c->fusion) append(text, bytes, c->custom ? c->custom->desc.name : tally_op_name(c->what.op));
    append(text, bytes, " ");
    append(text, bytes, tally_dtype_name(c->what.in));
    append(text, bytes, c->what.acc ? " in f64" : "");
    append(text, bytes, c->what.accuracy ? " compensated" : "");
    if (c->what.out) append(text, bytes, " to "), append(text, bytes, tally_dtype_name(c->what.out));
    append(text, bytes, c->flags & TALLY_EXCLUSIVE ? " exclusive" : "");
    append(text, bytes, c->flags & TALLY_REVERSE ? " reverse" : "");
    append(text, bytes, segments[c->segments]);
    append(text, bytes, c->has_initial ? " initial" : "");
}

static void add(list *l, const golden_case *given, golden_items items) {
    golden_case c = *given;
    char program[sizeof l->program];
    name_program(&c, program, sizeof program);
    if (strcmp(program, l->program) != 0) l->programs++;
    strcpy(l->program, program);
    c.items = items;
    c.program = l->programs;
    snprintf(c.key, sizeof c.key, "%s", program);
    for (uint32_t p = 0; c.what.params && golden_param(c.what.op, p); p++) {
        char text[32];
        snprintf(text, sizeof text, " %s=%g", golden_param(c.what.op, p), c.what.params[p]);
        append(c.key, sizeof c.key, text);
    }
    append(c.key, sizeof c.key, ", ");
    append(c.key, sizeof c.key, golden_items_name(items));
    if (l->count == l->capacity) {
        l->capacity = l->capacity ? 2 * l->capacity : 256;
        l->cases = realloc(l->cases, l->capacity * sizeof *l->cases);
        if (!l->cases) abort();
    }
    l->cases[l->count++] = c;
}

static int is_float(tally_dtype in) {
    return item_kind_of(in) == ITEM_FLOAT || item_kind_of(in) == ITEM_COMPLEX;
}

/* The kinds of items for an op. None of them makes every result overflow. */
static void add_items(list *l, const golden_case *c) {
    const tally_op op = c->what.op;
    const int is_product = op == TALLY_PROD || op == TALLY_LOGSUMEXP || op == TALLY_ALLCLOSE;
    const int is_of_bits =
        op == TALLY_ANY || op == TALLY_ALL || op == TALLY_COUNT_NONZERO || op == TALLY_BAND || op == TALLY_BOR;
    add(l, c, is_product ? GOLDEN_NEAR : GOLDEN_WIDE);
    if (is_of_bits) add(l, c, GOLDEN_FEW), add(l, c, GOLDEN_LACKING);
    if (op == TALLY_VAR || op == TALLY_STD) add(l, c, GOLDEN_SHIFTED);
    if (op == TALLY_NRM2 && is_float(c->what.in)) add(l, c, GOLDEN_MAGNITUDES);
    if (is_float(c->what.in)) add(l, c, GOLDEN_SPECIAL);
}

static void add_op(list *l, const oracle_case *what) {
    golden_case c = {.what = *what};
    const int is_plain = !what->acc && !what->accuracy && !what->out;
    const int is_main_op = what->op == TALLY_SUM || what->op == TALLY_MIN || what->op == TALLY_MAX || what->op == TALLY_ARGMAX;
    if (!oracle_takes(what)) return;
    c.is_main = is_plain && is_main_op && (what->in == TALLY_F32 || what->in == TALLY_F64 || what->in == TALLY_I32);
    add_items(l, &c);
    for (size_t p = 0; is_plain && p < TALLY_ARRAY_LENGTH(params); p++) {
        if (params[p].op != what->op || params[p].in != what->in) continue;
        c.what.params = params[p].values;
        add(l, &c, params[p].items);
    }
}

/* Accumulators of f64, for ops whose order of combination shows in the bits. */
static void add_reductions(list *l) {
    oracle_case what = {0};
    for (what.op = TALLY_OP_NONE + 1; what.op < TALLY_OP_END; what.op++)
        for (what.in = TALLY_DTYPE_DEFAULT + 1; what.in < TALLY_DTYPE_END; what.in++)
            for (what.accuracy = 0; what.accuracy < TALLY_ACCURACY_END; what.accuracy++) {
                what.acc = TALLY_DTYPE_DEFAULT;
                add_op(l, &what);
                what.acc = TALLY_F64;
                if (what.in != TALLY_F64 && what.in != TALLY_C128 && oracle_takes(&what) && !oracle_is_exact(&what))
                    add_op(l, &what);
            }
    for (size_t o = 0; o < TALLY_ARRAY_LENGTH(outs); o++) add_op(l, &outs[o]);
}

static void add_others(list *l) {
    for (size_t f = 0; f < TALLY_ARRAY_LENGTH(fusions); f++) {
        const golden_case c = {.fusion = &fusions[f], .what = {.in = fusions[f].in}};
        add(l, &c, GOLDEN_WIDE);
        if (is_float(c.what.in)) add(l, &c, GOLDEN_SPECIAL);
    }
    for (size_t o = 0; o < TALLY_ARRAY_LENGTH(customs); o++)
        add(l, &(golden_case){.custom = &customs[o], .what = {.in = customs[o].in}}, GOLDEN_WIDE);
}

/* Every op of one input with one type, every type with sum and max; some in every form. */
static void add_scans(list *l) {
    oracle_case what = {0};
    for (what.op = TALLY_OP_NONE + 1; what.op < TALLY_OP_END; what.op++)
        for (what.in = TALLY_DTYPE_DEFAULT + 1; what.in < TALLY_DTYPE_END; what.in++) {
            const oracle_case of_float = {.op = what.op, .in = TALLY_F32};
            const tally_dtype usual = oracle_takes(&of_float) ? TALLY_F32 : TALLY_U8;
            const int is_wanted = what.in == usual || what.op == TALLY_SUM || what.op == TALLY_MAX;
            if (!is_wanted || !oracle_takes(&what) || oracle_inputs(what.op) != 1) continue;
            golden_case c = {.what = what, .is_scan = 1};
            c.is_main = what.op == TALLY_SUM && (what.in == TALLY_F32 || what.in == TALLY_I32);
            add_items(l, &c);
        }
    const oracle_case levels[] = {{.op = TALLY_SUM, .in = TALLY_F32, .acc = TALLY_F64},
                                  {.op = TALLY_SUM, .in = TALLY_F32, .accuracy = TALLY_ACCURACY_COMPENSATED},
                                  {.op = TALLY_MEAN, .in = TALLY_BF16, .accuracy = TALLY_ACCURACY_COMPENSATED}};
    for (size_t o = 0; o < TALLY_ARRAY_LENGTH(levels); o++)
        add(l, &(golden_case){.what = levels[o], .is_scan = 1}, GOLDEN_WIDE);
    for (size_t o = 0; o < TALLY_ARRAY_LENGTH(formed); o++)
        for (size_t f = 0; f < TALLY_ARRAY_LENGTH(forms); f++) {
            const golden_case c = {.what = formed[o],
                                   .is_scan = 1,
                                   .flags = forms[f].flags,
                                   .segments = forms[f].segments,
                                   .has_initial = forms[f].has_initial};
            if (c.has_initial && c.what.op == TALLY_ARGMIN) continue;
            add(l, &c, c.what.op == TALLY_PROD ? GOLDEN_NEAR : GOLDEN_WIDE);
        }
    add(l, &(golden_case){.custom = &customs[0], .what = {.in = customs[0].in}, .is_scan = 1}, GOLDEN_WIDE);
    add(l, &(golden_case){.custom = &customs[4], .what = {.in = customs[4].in}, .is_scan = 1}, GOLDEN_WIDE);
}

const golden_case *golden_cases(size_t *count) {
    static list l;
    if (!l.count) {
        add_reductions(&l);
        add_others(&l);
        add_scans(&l);
    }
    *count = l.count;
    return l.cases;
}

uint32_t golden_inputs(const golden_case *c) {
    if (c->custom) return c->custom->desc.inputs ? c->custom->desc.inputs : 1;
    return oracle_inputs(c->fusion ? c->fusion->ops[0] : c->what.op);
}
