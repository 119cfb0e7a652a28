/* SPDX-License-Identifier: MIT */
/*
 * The source specialiser: prelude, the specialised text made from the plan's terms, then the stems. The same for every backend.
 *
 * The specialised text holds, for each op (term) k of the plan, types ACC_k, PARAMS_k and RESULT_k and functions tk_identity, tk_load,
 * tk_combine, tk_result and tk_empty; then the plan's own ACC, PARAMS and RESULT, structs of those where there are several, and the op_
 * functions that the stems call; likewise LANE_k, LANE and the lane_ functions for the lanes within a chunk, which may be narrower.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "program/program.h"

static const char *const input_names[TALLY_MAX_INPUTS] = {"x", "y", "z", "w"};

#define FOR_TERMS(terms, t) for (uint32_t t = 0; t < (terms)->count; t++)

static bool is_float(tally_dtype value) {
    return value == TALLY_F32 || value == TALLY_F64;
}

/* ---- inputs --------------------------------------------------------------------------------------------------------- */

/* `format` for each input, with its name in the place of each $. */
static void each_input(FILE *file, const tally_terms *terms, const char *format) {
    for (uint32_t k = 0; k < terms->inputs; k++)
        for (const char *c = format; *c; c++) {
            if (*c == '$')
                fputs(input_names[k], file);
            else
                fputc(*c, file);
        }
}

/* The items, in storage form; what op_load takes. */
static void write_items(FILE *file, const tally_terms *terms) {
    const char *in = tally_dtype_name(terms->in);
    fprintf(file, "typedef %s_ITEM ITEM;\ntypedef %s_VECTOR ITEM_VECTOR;\n", in, in);
    fprintf(file, "#define ITEM_BYTES %zu\n#define INPUTS %u\n#define EACH_INPUT(DO)", tally_dtype_bytes(terms->in),
            terms->inputs);
    each_input(file, terms, " DO($)");
    fprintf(file, "\ntypedef struct {\n");
    each_input(file, terms, "    ITEM $;\n");
    fprintf(file, "} ITEMS;\n");
}

/* Where they are, as the kernels are told and as they pass it on. */
static void write_inputs(FILE *file, const tally_terms *terms) {
    fprintf(file, "typedef struct {\n");
    each_input(file, terms, "    GLOBAL const ITEM *$;\n");
    fprintf(file, "    PARAMS p;\n} SOURCE;\n#define SOURCE_ARGS ");
    each_input(file, terms, "GLOBAL const ITEM *$, u64 $_offset, ");
    fprintf(file, "const PARAMS params\n#define SOURCE_OF_ARGS {");
    each_input(file, terms, "$ + $_offset, ");
    fprintf(file, "params}\nINLINE ITEMS items_at(SOURCE s, u64 at) {\n    ITEMS v;\n");
    each_input(file, terms, "    v.$ = s.$[at];\n");
    fprintf(file, "    return v;\n}\n");
}

/* ---- one term ------------------------------------------------------------------------------------------------------- */

static const char *const undefined[] = {"V",           "R",           "ZERO",      "ONE",       "NEG_ZERO", "LOWEST",
                                        "HIGHEST",     "MIN",         "MAX",       "MAGNITUDE", "NAN_ELSE", "NOT_A_NUMBER",
                                        "SMALL_LIMIT", "SMALL_SCALE", "BIG_LIMIT", "BIG_SCALE", "NO_INDEX", "IN_LANE",
                                        "MAKE"};

/* The type of the indices in an accumulator of all items, or of a chunk's. */
static const char *index_name(const char *type) {
    return strcmp(type, "LANE") ? "u64" : "u32";
}

/* The extremes are the item's, which V may be wider than: they are what the smallest of no items is. */
static void define_extremes(FILE *file, const tally_terms *terms, tally_dtype value) {
    const tally_dtype_row *in = tally_dtype_find(terms->in);
    const char *v = tally_dtype_name(value);
    const long long half = in->bytes < 4 ? 1LL << (8 * in->bytes - 1) : 0;
    if (in->bytes < 4 && value == in->compute && in->kind == TALLY_KIND_SIGNED)
        fprintf(file, "#define LOWEST ((V)(%lld))\n#define HIGHEST ((V)%lld)\n", -half, half - 1);
    else if (in->bytes < 4 && value == in->compute && in->kind == TALLY_KIND_UNSIGNED)
        fprintf(file, "#define LOWEST ((V)0)\n#define HIGHEST ((V)%lld)\n", 2 * half - 1);
    else
        fprintf(file, "#define LOWEST ((V)%s_LOWEST)\n#define HIGHEST ((V)%s_HIGHEST)\n", v, v);
}

/* What the rows' expressions are written with, for V; taken back by undefine_words. `type`: ACC, or LANE, whose indices are u32. */
static void define_words(FILE *file, const tally_terms *terms, const tally_term *term, tally_dtype value, const char *type,
                         uint32_t t) {
    static const char *const constants[] = {"ZERO", "NEG_ZERO"};
    static const char *const limits[] = {"SMALL_LIMIT", "SMALL_SCALE", "BIG_LIMIT", "BIG_SCALE"};
    static const char *const magnitudes[] = {[TALLY_KIND_FLOAT] = "FLOAT",
                                             [TALLY_KIND_SIGNED] = "SIGNED",
                                             [TALLY_KIND_UNSIGNED] = "UNSIGNED",
                                             [TALLY_KIND_BOOL] = "UNSIGNED",
                                             [TALLY_KIND_COMPLEX] = "FLOAT"};
    const char *v = tally_dtype_name(value), *kind = is_float(value) ? "FLOAT" : "INTEGER";
    fprintf(file, "#define V %s\n#define R %s\n#define MAKE make_%s_%u\n", v, tally_dtype_name(term->real), type, t);
    fprintf(file, "#define IN_LANE(next, any) (any)\n#define NO_INDEX (~(%s)0)\n", index_name(type));
    for (size_t i = 0; i < TALLY_ARRAY_LENGTH(constants); i++)
        fprintf(file, "#define %s ((V)%s_%s)\n", constants[i], v, constants[i]);
    define_extremes(file, terms, value);
    fprintf(file, "#define ONE ((V)1)\n#define MIN(a, b) %s_MIN(a, b)\n#define MAX(a, b) %s_MAX(a, b)\n", kind, kind);
    fprintf(file, "#define MAGNITUDE(x) %s_MAGNITUDE(x)\n", magnitudes[tally_dtype_find(terms->in)->kind]);
    fprintf(file, "#define NAN_ELSE(other) %s\n", is_float(value) ? "((V)NAN)" : "(other)");
    if (!is_float(value)) return;
    fprintf(file, "#define NOT_A_NUMBER ((V)NAN)\n");
    for (size_t i = 0; i < TALLY_ARRAY_LENGTH(limits); i++) fprintf(file, "#define %s %s_%s\n", limits[i], v, limits[i]);
}

static void undefine_words(FILE *file) {
    for (size_t i = 0; i < TALLY_ARRAY_LENGTH(undefined); i++) fprintf(file, "#undef %s\n", undefined[i]);
}

/*
 * An expression, converted to a type (NULL: as it is). A user's own is on a line by itself, under a name that the compiler's messages then
 * use; so are what stands before it (told of, where the expression's type is wrong) and the end (where it is cut short).
 */
static void write_expression(FILE *file, const tally_term *term, const char *part, const char *field, const char *type,
                             const char *text) {
    char cast[16] = "", name[160];
    if (type) snprintf(cast, sizeof(cast), "(%s)", type);
    if (!term->is_custom) {
        fprintf(file, "%s(%s)", cast, text);
        return;
    }
    snprintf(name, sizeof(name), "%s%s%s of op %s", part, field ? " of field " : "", field ? field : "", term->name);
    fprintf(file, "\n#line 1 \"%s\"\n%s(\n#line 1 \"%s\"\n%s)\n#line 1 \"tally\"\n", name, cast, name, text);
}

/* Statements that give the accumulator r its value. */
static void write_accumulator(FILE *file, const tally_term *term, tally_dtype value, const char *part, const char *whole,
                              size_t text_of_field) {
    if (!term->is_custom || !term->field_count) {
        fprintf(file, " r = ");
        write_expression(file, term, part, NULL, term->field_count ? NULL : tally_dtype_name(value), whole);
        fprintf(file, ";");
    }
    for (uint32_t i = 0; term->is_custom && i < term->field_count; i++) {
        const tally_op_field *field = &term->fields[i];
        const char *text;
        memcpy(&text, (const char *)field + text_of_field, sizeof(text));
        fprintf(file, " r.%s = ", field->name);
        write_expression(file, term, part, field->name, tally_dtype_name(field->type), text);
        fprintf(file, ";");
    }
    fprintf(file, " return r; }\n");
}

static const char *field_type(const tally_op_field *field, const tally_term *term, const char *type) {
    return term->is_custom || field->type != TALLY_U64 || strcmp(field->name, "index") ? tally_dtype_name(field->type)
                                                                                       : index_name(type);
}

/* The accumulator's type, and, of a row's struct, the function behind MAKE. */
static void write_accumulator_type(FILE *file, const tally_term *term, const char *type, uint32_t t) {
    if (!term->field_count) {
        fprintf(file, "typedef V %s_%u;\n", type, t);
        return;
    }
    fprintf(file, "typedef struct %s{", term->acc.bytes == 8 ? "ALIGN(8) " : "");
    for (uint32_t i = 0; i < term->field_count; i++)
        fprintf(file, " %s %s;", field_type(&term->fields[i], term, type), term->fields[i].name);
    fprintf(file, " } %s_%u;\n", type, t);
    if (term->is_custom) return;
    fprintf(file, "INLINE %s_%u make_%s_%u(", type, t, type, t);
    for (uint32_t i = 0; i < term->field_count; i++)
        fprintf(file, "%s%s %s", i ? ", " : "", field_type(&term->fields[i], term, type), term->fields[i].name);
    fprintf(file, ") { %s_%u r;", type, t);
    for (uint32_t i = 0; i < term->field_count; i++) fprintf(file, " r.%s = %s;", term->fields[i].name, term->fields[i].name);
    fprintf(file, " return r; }\n");
}

/* The functions that a chunk's lanes and the trees need: of prefix t and type ACC_k, or l and LANE_k, whose indices are the chunk's. */
static void write_combination(FILE *file, const tally_terms *terms, const tally_term *term, tally_dtype value, const char *type,
                              char prefix, uint32_t t) {
    const char *in = tally_dtype_name(terms->in), *x = tally_dtype_name(tally_dtype_find(terms->in)->compute);
    const bool is_complex = tally_dtype_find(terms->in)->kind == TALLY_KIND_COMPLEX;
    fprintf(file, "INLINE %s_%u %c%u_identity(void) { %s_%u r;", type, t, prefix, t, type, t);
    write_accumulator(file, term, value, "identity", term->identity, offsetof(tally_op_field, identity));
    fprintf(file, "INLINE %s_%u %c%u_load(ITEMS v, %s i, PARAMS_%u p) { %s_%u r;", type, t, prefix, t, index_name(type), t,
            type, t);
    /* Of complex items a row's parts are of type V; a user's are the items'. */
    const bool widens = is_complex && !term->is_custom && value != tally_dtype_find(terms->in)->compute;
    for (uint32_t k = 0; k < terms->inputs; k++) {
        const char *name = input_names[k];
        if (widens)
            fprintf(file, " c128_ITEM %s; %s.re = v.%s.re; %s.im = v.%s.im;", name, name, name, name, name);
        else
            fprintf(file, " const %s%s %s = %s_VALUE(v.%s);", is_complex ? in : x, is_complex ? "_ITEM" : "", name, in, name);
    }
    write_accumulator(file, term, value, "load", term->load, offsetof(tally_op_field, load));
    fprintf(file, "INLINE %s_%u %c%u_combine(%s_%u a, %s_%u b) { %s_%u r;", type, t, prefix, t, type, t, type, t, type, t);
    write_accumulator(file, term, value, "combine", term->combine, offsetof(tally_op_field, combine));
}

/* A lane within a chunk that begins at `index`: its type, its next item (of the chunk's `row`), and what it is to the rest. */
static void write_lane(FILE *file, const tally_terms *terms, const tally_term *term, uint32_t t) {
    const tally_dtype value = term->lane ? term->lane : term->value;
    const char *type = term->lane ? "LANE" : "ACC";
    const char prefix = term->lane ? 'l' : 't';
    define_words(file, terms, term, value, type, t);
    if (term->lane) {
        write_accumulator_type(file, term, type, t);
        write_combination(file, terms, term, value, type, prefix, t);
    } else {
        fprintf(file, "typedef ACC_%u LANE_%u;\n#define l%u_identity t%u_identity\n#define l%u_combine t%u_combine\n", t, t, t,
                t, t, t);
    }
    fprintf(file, "INLINE LANE_%u l%u_step(LANE_%u a, ITEMS v, u64 index, u32 row, u32 l, PARAMS_%u p) {\n", t, t, t, t);
    fprintf(file, "    const LANE_%u b = %c%u_load(v, %srow * LANES + l, p);", t, prefix, t, term->lane ? "" : "index + ");
    if (term->is_custom) {
        fprintf(file, " return %c%u_combine(a, b); }\n", prefix, t);
    } else {
        fprintf(file, " LANE_%u r;\n#undef IN_LANE\n#define IN_LANE(next, any) (next)\n", t);
        write_accumulator(file, term, value, "combine", term->combine, 0);
    }
    fprintf(file, "INLINE ACC_%u l%u_value(LANE_%u a, u64 index) { ", t, t, t);
    if (!term->lane)
        fprintf(file, "return a; }\n");
    else if (term->field_count)
        fprintf(file, "return make_ACC_%u(a.value, a.index == NO_INDEX ? ~(u64)0 : index + a.index); }\n", t);
    else
        fprintf(file, "return (ACC_%u)a; }\n", t);
    undefine_words(file);
}

/* One value of the result: the expression, in the result's natural type, stored as `out`. An integer
 * narrower than V is cut to its own width first: all ones of u8 are 255, however wide `out` is. */
static void write_value(FILE *file, const tally_term *term, const char *to, const char *part, const char *text) {
    const tally_dtype_row *natural = tally_dtype_find(term->natural);
    const char *type = tally_dtype_name(natural->compute);
    const bool truth = term->natural == TALLY_BOOL;
    const bool is_narrow = natural->bytes < 4 && (natural->kind == TALLY_KIND_SIGNED || natural->kind == TALLY_KIND_UNSIGNED);
    char cut[16] = "";
    if (is_narrow) snprintf(cut, sizeof(cut), "(%s)", natural->name);
    /* A value of its own: no macro may have #line among its arguments. */
    fprintf(file, " { const %s value = ", truth ? "i32" : type);
    write_expression(file, term, part, NULL, truth ? NULL : type, text);
    fprintf(file, "%s; %s = %s_STORE(%svalue); }", truth ? " != 0" : "", to, tally_dtype_name(term->out), cut);
}

static void write_result(FILE *file, const tally_term *term, const char *first, const char *second, const char *part) {
    if (term->out_count == 1) {
        write_value(file, term, "r", part, first);
    } else {
        write_value(file, term, "r.first", part, first);
        write_value(file, term, "r.second", part, second);
    }
    fprintf(file, " return r; }\n");
}

static void write_term(FILE *file, const tally_terms *terms, uint32_t t) {
    const tally_term *term = &terms->list[t];
    const char *out = tally_dtype_name(term->out);
    fprintf(file, "\n/* op %u: %s */\n", t, term->name);
    define_words(file, terms, term, term->value, "ACC", t);
    write_accumulator_type(file, term, "ACC", t);
    fprintf(file, "typedef struct {%s", term->param_count ? "" : " u32 none;");
    for (uint32_t i = 0; i < term->param_count; i++)
        fprintf(file, " %s %s;", tally_dtype_name(term->params[i].type), term->params[i].name);
    fprintf(file, " } PARAMS_%u;\n", t);
    if (term->out_count == 1)
        fprintf(file, "typedef %s_ITEM RESULT_%u;\n", out, t);
    else
        fprintf(file, "typedef struct { %s_ITEM first, second; } RESULT_%u;\n", out, t);
    write_combination(file, terms, term, term->value, "ACC", 't', t);
    fprintf(file, "INLINE RESULT_%u t%u_result(ACC_%u a, u64 n, PARAMS_%u p) { RESULT_%u r;", t, t, t, t, t);
    write_result(file, term, term->first, term->second, "finish");
    fprintf(file, "INLINE RESULT_%u t%u_empty(PARAMS_%u p) {", t, t, t);
    if (term->empty) {
        fprintf(file, " RESULT_%u r; const ACC_%u a = t%u_identity(); const u64 n = 0;", t, t, t);
        write_result(file, term, term->empty, term->second_empty, "empty");
    } else {
        fprintf(file, " return t%u_result(t%u_identity(), 0, p); }\n", t, t);
    }
    undefine_words(file);
    write_lane(file, terms, term, t);
}

/* ---- all terms ------------------------------------------------------------------------------------------------------ */

/* A type of all terms: that of the one there is, or a struct with members t0, t1, ... */
static void write_type(FILE *file, const tally_terms *terms, const char *type, const char *attribute) {
    if (terms->count == 1) {
        fprintf(file, "typedef %s_0 %s;\n", type, type);
        return;
    }
    fprintf(file, "typedef struct %s{", attribute);
    FOR_TERMS(terms, t) fprintf(file, " %s_%u t%u;", type, t, t);
    fprintf(file, " } %s;\n", type);
}

/* Bytes of padding before the result of term t, or, of the number of terms, at the end. */
static uint32_t gap_before(const tally_terms *terms, uint32_t t) {
    uint32_t end = 0;
    for (uint32_t i = 0; i < t; i++) {
        const tally_layout result = terms->list[i].result;
        end = (end + result.align - 1) / result.align * result.align + result.bytes;
    }
    const uint32_t align = t < terms->count ? terms->list[t].result.align : terms->result.align;
    return (align - end % align) % align;
}

/* The type of all results. Padding is members gap0, gap1, ..., which op_result and op_empty set to
 * zeros: a copy of a struct may leave bytes that are no member as they were. */
static void write_result_type(FILE *file, const tally_terms *terms) {
    if (terms->count == 1) {
        write_type(file, terms, "RESULT", "");
        return;
    }
    fprintf(file, "typedef struct {");
    for (uint32_t t = 0; t <= terms->count; t++) {
        if (gap_before(terms, t)) fprintf(file, " u8 gap%u[%u];", t, gap_before(terms, t));
        if (t < terms->count) fprintf(file, " RESULT_%u t%u;", t, t);
    }
    fprintf(file, " } RESULT;\n");
}

static void write_zero_gaps(FILE *file, const tally_terms *terms) {
    for (uint32_t t = 0; t <= terms->count; t++)
        if (gap_before(terms, t)) fprintf(file, "    for (int i = 0; i < %u; i++) r.gap%u[i] = 0;\n", gap_before(terms, t), t);
}

/* A function of all terms: calls theirs, `arguments` with the term's number in the place of each $. */
static void write_function(FILE *file, const tally_terms *terms, const char *type, const char *signature, const char *call,
                           const char *arguments) {
    const bool single = terms->count == 1;
    fprintf(file, "INLINE %s %s {\n    %s r;\n", type, signature, type);
    FOR_TERMS(terms, t) {
        char member[16] = "";
        if (!single) snprintf(member, sizeof(member), ".t%u", t);
        fprintf(file, "    r%s = %c%u_%s(", member, call[0], t, call + 2);
        for (const char *c = arguments; *c; c++) {
            if (*c == '@')
                fputs(member, file); /* of an accumulator */
            else if (*c == '$')
                fprintf(file, ".t%u", t); /* of the parameters, which are always a struct */
            else
                fputc(*c, file);
        }
        fprintf(file, ");\n");
    }
    if (!strcmp(type, "RESULT")) write_zero_gaps(file, terms);
    fprintf(file, "    return r;\n}\n");
}

static void write_params(FILE *file, const tally_terms *terms) {
    fprintf(file, "typedef struct {");
    FOR_TERMS(terms, t) fprintf(file, " PARAMS_%u t%u;", t, t);
    fprintf(file, " } PARAMS;\n");
}

/* The lanes of a chunk as a structure of arrays, so that a CPU's compiler can keep them in vectors. */
static void write_lane_arrays(FILE *file, const tally_terms *terms) {
    fprintf(file, "typedef struct {\n");
    FOR_TERMS(terms, t) {
        const tally_term *term = &terms->list[t];
        if (!term->field_count)
            fprintf(file, "    %s t%u[LANES];\n", tally_dtype_name(term->lane ? term->lane : term->value), t);
        for (uint32_t i = 0; i < term->field_count; i++)
            fprintf(file, "    %s t%u_%s[LANES];\n", field_type(&term->fields[i], term, term->lane ? "LANE" : "ACC"), t,
                    term->fields[i].name);
    }
    fprintf(file, "} LANE_ARRAYS;\n");
    for (int set = 0; set < 2; set++) {
        fprintf(file, set ? "INLINE void lanes_set(LANE_ARRAYS *lanes, int l, LANE a) {\n"
                          : "INLINE LANE lanes_get(const LANE_ARRAYS *lanes, int l) {\n    LANE a;\n");
        FOR_TERMS(terms, t) {
            const tally_term *term = &terms->list[t];
            char member[16] = "";
            if (terms->count > 1) snprintf(member, sizeof(member), ".t%u", t);
            for (uint32_t i = 0; i < term->field_count || (i == 0 && !term->field_count); i++) {
                char lane[96], array[96];
                const char *name = term->field_count ? term->fields[i].name : "";
                snprintf(lane, sizeof(lane), "a%s%s%s", member, name[0] ? "." : "", name);
                snprintf(array, sizeof(array), "lanes->t%u%s%s[l]", t, name[0] ? "_" : "", name);
                fprintf(file, "    %s = %s;\n", set ? array : lane, set ? lane : array);
            }
        }
        fprintf(file, set ? "}\n" : "    return a;\n}\n");
    }
}

/* Defines the device's features that the program uses: a feature that it does not use leaves its text as it is everywhere. */
static void write_features(FILE *file, unsigned features, unsigned used) {
    for (size_t i = 0; i < TALLY_FEATURE_END; i++)
        if (features & 1u << i && (tally_features[i].always || used & 1u << i))
            fprintf(file, "#define %s 1\n", tally_features[i].name);
}

/* A sum of bytes alone: devices have an instruction that adds four to an accumulator, in any order. */
static void write_bytes_sum(FILE *file, const tally_terms *terms) {
    const bool is_sum = terms->count == 1 && terms->list[0].op == TALLY_SUM;
    if (is_sum && (terms->in == TALLY_I8 || terms->in == TALLY_U8))
        fprintf(file, "#define SUM_OF_BYTES 1\n#define BYTE_SIGN \"%s\"\n", terms->in == TALLY_I8 ? "s32" : "u32");
}

/* Whether combining is more than an operator of C: comparisons, struct accumulators, several ops. */
static bool takes_long(const tally_terms *terms) {
    const tally_term *first = &terms->list[0];
    return terms->count > 1 || first->field_count || strchr(first->combine, '(');
}

static void write_specialised(FILE *file, unsigned features, const tally_terms *terms, const tally_recipe *recipe) {
    fprintf(file, "\n/* specialised:");
    FOR_TERMS(terms, t) fprintf(file, " %s", terms->list[t].name);
    fprintf(file, " of %s */\n", tally_dtype_name(terms->in));
    fprintf(file, "#define GROUP %u\n#define ACC_BYTES %u\n%s", recipe->group_items, terms->acc.bytes, recipe->defines);
    fprintf(file, "#define LANES %d\n#define ROWS %d\n#define CHUNK_ITEMS %d\n", TALLY_LANES, TALLY_ROWS, TALLY_CHUNK_ITEMS);
    const tally_term *first = &terms->list[0];
    if (terms->count == 1 && first->additive && !first->field_count)
        fprintf(file, "#define NATIVE_%s_ADD 1\n", is_float(first->value) ? "FLOAT" : "INTEGER");
    if (tally_terms_exact(terms)) fprintf(file, "#define ANY_ORDER 1\n");
    if (takes_long(terms)) fprintf(file, "#define TAKES_LONG 1\n");
    write_features(file, features, recipe->features);
    fputs(tally_kernel_source_core("arithmetic"), file);
    write_items(file, terms);
    FOR_TERMS(terms, t) write_term(file, terms, t);
    fprintf(file, "\n/* all */\n");
    write_type(file, terms, "ACC", terms->acc.bytes == 8 ? "ALIGN(8) " : "");
    write_result_type(file, terms);
    write_params(file, terms);
    write_function(file, terms, "ACC", "op_identity(void)", "t_identity", "");
    write_function(file, terms, "ACC", "op_load(ITEMS v, u64 i, PARAMS p)", "t_load", "v, i, p$");
    write_function(file, terms, "ACC", "op_combine(ACC a, ACC b)", "t_combine", "a@, b@");
    write_function(file, terms, "RESULT", "op_result(ACC a, u64 n, PARAMS p)", "t_result", "a@, n, p$");
    write_function(file, terms, "RESULT", "op_empty(PARAMS p)", "t_empty", "p$");
    fprintf(file, "#define IDENTITY op_identity()\n");
    write_type(file, terms, "LANE", "");
    write_function(file, terms, "LANE", "lane_identity(void)", "l_identity", "");
    write_function(file, terms, "LANE", "lane_step(LANE a, ITEMS v, u64 index, u32 row, u32 l, PARAMS p)", "l_step",
                   "a@, v, index, row, l, p$");
    write_function(file, terms, "LANE", "lane_combine(LANE a, LANE b)", "l_combine", "a@, b@");
    write_function(file, terms, "ACC", "lane_value(LANE a, u64 index)", "l_value", "a@, index");
    write_bytes_sum(file, terms);
    write_lane_arrays(file, terms);
    write_inputs(file, terms);
    fputs(tally_kernel_source_core("vectors"), file);
    fprintf(file, "\n");
}

/* ---- whole texts ---------------------------------------------------------------------------------------------------- */

void tally_recipe_define(tally_recipe *recipe, const char *name, unsigned value) {
    const size_t used = strlen(recipe->defines);
    snprintf(recipe->defines + used, sizeof(recipe->defines) - used, "#define %s %u\n", name, value);
}

void tally_recipe_add(tally_recipe *recipe, const char *stem) {
    recipe->stems[recipe->stem_count++] = stem;
}

const char *tally_kernel_text(const tally_backend *backend, const char *stem) {
    const char *own = backend->kernel_source(stem);
    return own ? own : tally_kernel_source_core(stem);
}

/* Errors: E_UNSUPPORTED where the text is missing. */
static tally_status write_stem(FILE *file, const tally_backend *backend, const char *variant, const char *stem) {
    const char *text = tally_kernel_text(backend, stem);
    if (!text)
        return tally_fail(TALLY_E_UNSUPPORTED, "variant %s: backend %s has no kernels '%s'", variant, backend->name, stem);
    fputs(text, file);
    return TALLY_OK;
}

tally_status tally_source_create(const tally_backend *backend, unsigned features, const tally_terms *terms,
                                 const tally_recipe *recipe, char **text, size_t *bytes) {
    FILE *file = open_memstream(text, bytes);
    if (!file) return tally_fail(TALLY_E_MEMORY, "out of memory");
    tally_status status = write_stem(file, backend, recipe->variant, "prelude");
    if (!status) write_specialised(file, features, terms, recipe);
    for (size_t i = 0; i < recipe->stem_count && !status; i++)
        status = write_stem(file, backend, recipe->variant, recipe->stems[i]);
    const bool failed = ferror(file);
    if ((fclose(file) || failed) && !status) status = tally_fail(TALLY_E_MEMORY, "out of memory");
    if (!status) return TALLY_OK;
    free(*text);
    *text = NULL;
    return status;
}

tally_status tally_source_of_stem(const tally_backend *backend, const char *stem, uint32_t group_items, const char *defines,
                                  char **text) {
    const char *prelude = backend->kernel_source("prelude"), *source = tally_kernel_text(backend, stem);
    if (!prelude || !source) return tally_fail(TALLY_E_UNSUPPORTED, "backend %s has no kernels '%s'", backend->name, stem);
    if (asprintf(text, "#define GROUP %u\n%s%s%s", group_items, defines, prelude, source) >= 0) return TALLY_OK;
    return tally_fail(TALLY_E_MEMORY, "out of memory");
}
