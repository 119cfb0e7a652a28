/* SPDX-License-Identifier: MIT */
/* source_term.c: the specialised text of one term: its types and functions (source.c says
 * which). */
#include <stdio.h>
#include <string.h>

#include "program/source.h"

bool tally_source_is_float(tally_dtype value) {
    return value == TALLY_F32 || value == TALLY_F64;
}

/* The words of the rows: those that are f32_WORD or f64_WORD where V is a float, and the others. */
static const char *const typed[] = {"SMALL_LIMIT", "SMALL_SCALE",  "SMALL_SHARE", "BIG_LIMIT",  "BIG_SCALE",  "BIG_SHARE",
                                    "EXPONENT",    "SIGNIFICAND",  "TWO_TO",      "MOST_ABOVE", "LOG_OF_SUM", "IS_POWER",
                                    "RECIPROCAL",  "ADD_MODERATE", "QUOTIENT",    "ROOT"};
static const char *const untyped[] = {
    "V",         "R",         "ZERO",       "ONE",       "NEG_ZERO", "LOWEST",    "HIGHEST",           "MIN",          "MAX",
    "MAGNITUDE", "NO_INDEX",  "IN_LANE",    "MAKE",      "PRODUCTS", "BYTES",     "SUM_OF_MAGNITUDES", "NOT_A_NUMBER", "R_OF",
    "BYTES_MIN", "BYTES_MAX", "BYTES_AMAX", "BYTES_AND", "BYTES_OR", "BYTES_XOR", "PRODUCT_OF_WORD",   "ITEM_NUMBER"};

/* The type of the indices in an accumulator of all items, or of a chunk's. */
static const char *index_name(const char *type) {
    return strcmp(type, "LANE") ? "u64" : "u32";
}

/* The extremes are the item's, which V may be wider than: they are what the smallest of no items
 * is. */
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

/* Defines the words of the rows' expressions for V; undefine_words removes them. `type` is ACC, or
 * LANE, whose indices are u32. */
static void define_words(FILE *file, const tally_terms *terms, const tally_term *term, tally_dtype value, const char *type,
                         uint32_t t) {
    static const char *const constants[] = {"ZERO", "NEG_ZERO"};
    static const char *const of_words[] = {"PRODUCTS",   "BYTES",     "SUM_OF_MAGNITUDES", "BYTES_MIN", "BYTES_MAX",
                                           "BYTES_AMAX", "BYTES_AND", "BYTES_OR",          "BYTES_XOR", "PRODUCT_OF_WORD"};
    static const char *const magnitudes[] = {[TALLY_KIND_FLOAT] = "FLOAT",
                                             [TALLY_KIND_SIGNED] = "SIGNED",
                                             [TALLY_KIND_UNSIGNED] = "UNSIGNED",
                                             [TALLY_KIND_BOOL] = "UNSIGNED",
                                             [TALLY_KIND_COMPLEX] = "FLOAT"};
    const char *v = tally_dtype_name(value), *kind = tally_source_is_float(value) ? "FLOAT" : "INTEGER";
    fprintf(file, "#define V %s\n#define R %s\n#define MAKE make_%s_%u\n", v, tally_dtype_name(term->real), type, t);
    const bool is_long = tally_dtype_is_integer(terms->in) && tally_dtype_bytes(terms->in) == 8;
    if (is_long)
        fprintf(file, "#define R_OF(x) %s_OF_%s(x)\n", tally_dtype_name(term->real), tally_dtype_name(terms->in));
    else /* gcc 12 makes no vectors of truth values as floats */
        fprintf(file, "#define R_OF(x) %s\n", terms->in == TALLY_BOOL ? "((x) ? (R)1 : (R)0)" : "((R)(x))");
    fprintf(file, "#define IN_LANE(next, any) (any)\n#define NO_INDEX (~(%s)0)\n", index_name(type));
    for (size_t i = 0; i < TALLY_ARRAY_LENGTH(constants); i++)
        fprintf(file, "#define %s ((V)%s_%s)\n", constants[i], v, constants[i]);
    define_extremes(file, terms, value);
    fprintf(file, "#define ONE ((V)1)\n#define MIN(a, b) %s_MIN(a, b)\n#define MAX(a, b) %s_MAX(a, b)\n", kind, kind);
    fprintf(file, "#define MAGNITUDE(x) %s_MAGNITUDE(x)\n", magnitudes[tally_dtype_find(terms->in)->kind]);
    for (size_t i = 0; i < TALLY_ARRAY_LENGTH(of_words) && (term->lane.bytes || term->lane.table.number); i++)
        fprintf(file, "#define %s %s_%s\n", of_words[i], tally_dtype_name(terms->in), of_words[i]);
    if (!tally_source_is_float(value)) return;
    fprintf(file, "#define NOT_A_NUMBER ((V)NAN)\n");
    for (size_t i = 0; i < TALLY_ARRAY_LENGTH(typed); i++) fprintf(file, "#define %s %s_%s\n", typed[i], v, typed[i]);
}

static void undefine_words(FILE *file) {
    for (size_t i = 0; i < TALLY_ARRAY_LENGTH(untyped); i++) fprintf(file, "#undef %s\n", untyped[i]);
    for (size_t i = 0; i < TALLY_ARRAY_LENGTH(typed); i++) fprintf(file, "#undef %s\n", typed[i]);
}

/*
 * An expression, converted to a type (NULL: as it is). A user's own is on a line by itself, under a
 * name that the compiler's messages then use: "PART of op NAME" or, with `of`, "PART of OF of op
 * NAME". What stands before it (told of, where the expression's type is wrong) and the end (where
 * it is cut short) are under that name too.
 */
static void write_expression(FILE *file, const tally_term *term, const char *part, const char *of, const char *type,
                             const char *text) {
    char cast[16] = "", name[224];
    if (type) snprintf(cast, sizeof(cast), "(%s)", type);
    if (!term->custom) {
        fprintf(file, "%s(%s)", cast, text);
        return;
    }
    snprintf(name, sizeof(name), "%s%s%s of op %s", part, of ? " of " : "", of ? of : "", term->name);
    fprintf(file, "\n#line 1 \"%s\"\n%s(\n#line 1 \"%s\"\n%s)\n#line 1 \"tally\"\n", name, cast, name, text);
}

/* Declares the temporaries of a part. */
static void write_lets(FILE *file, const tally_term *term, tally_op_part part) {
    for (uint32_t i = 0; term->custom && i < term->custom->desc.let_count; i++) {
        const tally_op_let *let = &term->custom->lets[i];
        const char *type = tally_dtype_name(let->type ? let->type : term->value);
        char name[96];
        if (let->part != part) continue;
        snprintf(name, sizeof(name), "temporary %s", let->name);
        fprintf(file, " const %s %s = ", type, let->name);
        write_expression(file, term, name, tally_op_part_names[part], type, let->value);
        fprintf(file, ";");
    }
}

static const char *text_of_field(const tally_op_field *field, tally_op_part part) {
    return part == TALLY_PART_LOAD ? field->load : part == TALLY_PART_COMBINE ? field->combine : field->identity;
}

/* Statements that give MADE its value: the accumulator, or with `is_lane` a lane. `whole`: the
 * expression of one that is not made field by field. */
static void write_accumulator(FILE *file, const tally_term *term, bool is_lane, tally_dtype value, tally_op_part part,
                              const char *whole) {
    const char *name = tally_op_part_names[part];
    uint32_t fields = term->field_count;
    if (is_lane) tally_source_lane_fields(term, &fields);
    write_lets(file, term, part);
    if (!term->custom || !term->field_count) {
        fprintf(file, " MADE = ");
        write_expression(file, term, name, NULL, fields ? NULL : tally_dtype_name(value), whole);
        fprintf(file, ";");
    }
    for (uint32_t i = 0; term->custom && i < term->field_count; i++) {
        const tally_op_field *field = &term->fields[i];
        char of[96];
        snprintf(of, sizeof(of), "field %s", field->name);
        fprintf(file, " MADE.%s = ", field->name);
        write_expression(file, term, name, of, tally_dtype_name(field->type), text_of_field(field, part));
        fprintf(file, ";");
    }
    fprintf(file, " return MADE; }\n");
}

const tally_op_field *tally_source_lane_fields(const tally_term *term, uint32_t *count) {
    *count = term->lane.value ? term->lane.field_count : term->field_count;
    return term->lane.value ? term->lane.fields : term->fields;
}

/* The type of an accumulator or lane, and, of a row's struct, the function behind MAKE. */
static void write_accumulator_type(FILE *file, const tally_term *term, const char *type, uint32_t t) {
    uint32_t count = term->field_count;
    const tally_op_field *fields = strcmp(type, "LANE") ? term->fields : tally_source_lane_fields(term, &count);
    if (!count) {
        fprintf(file, "typedef V %s_%u;\n", type, t);
        return;
    }
    fprintf(file, "typedef struct %s{", term->acc.bytes == 8 ? "ALIGN(8) " : "");
    for (uint32_t i = 0; i < count; i++) fprintf(file, " %s %s;", tally_dtype_name(fields[i].type), fields[i].name);
    fprintf(file, " } %s_%u;\n", type, t);
    if (term->custom) return;
    fprintf(file, "INLINE %s_%u make_%s_%u(", type, t, type, t);
    for (uint32_t i = 0; i < count; i++)
        fprintf(file, "%s%s %s", i ? ", " : "", tally_dtype_name(fields[i].type), fields[i].name);
    fprintf(file, ") { %s_%u r;", type, t);
    for (uint32_t i = 0; i < count; i++) fprintf(file, " r.%s = %s;", fields[i].name, fields[i].name);
    fprintf(file, " return r; }\n");
}

/* Declares the items as the expressions of a load name them. Of complex items a row's parts are of
 * type V; a user's are the items'. */
static void write_given(FILE *file, const tally_terms *terms, const tally_term *term, tally_dtype value) {
    const tally_dtype_row *in = tally_dtype_find(terms->in);
    const bool is_complex = in->kind == TALLY_KIND_COMPLEX, widens = is_complex && !term->custom && value != in->compute;
    const char *type = is_complex ? in->name : tally_dtype_name(in->compute);
    for (uint32_t k = 0; k < terms->inputs; k++) {
        const char *name = tally_source_inputs[k];
        if (widens)
            fprintf(file, " c128_ITEM %s; %s.re = GIVEN.%s.re; %s.im = GIVEN.%s.im;", name, name, name, name, name);
        else
            fprintf(file, " const %s%s %s = %s_VALUE(GIVEN.%s);", type, is_complex ? "_ITEM" : "", name, in->name, name);
    }
}

/* The functions that a chunk's lanes and the trees need: of prefix t and type ACC_k, or l and
 * LANE_k, whose indices are the chunk's. */
static void write_combination(FILE *file, const tally_terms *terms, const tally_term *term, tally_dtype value, const char *type,
                              char prefix, uint32_t t) {
    const bool is_lane = prefix == 'l';
    fprintf(file, "INLINE %s_%u %c%u_identity(void) { %s_%u MADE;", type, t, prefix, t, type, t);
    write_accumulator(file, term, is_lane, value, TALLY_PART_NONE, is_lane ? term->lane.identity : term->identity);
    fprintf(file, "INLINE %s_%u %c%u_load(ITEMS GIVEN, %s i, PARAMS_%u p%s) { %s_%u MADE;", type, t, prefix, t,
            index_name(type), t, is_lane && term->lane.pivot.load ? ", V pivot" : "", type, t);
    write_given(file, terms, term, value);
    write_accumulator(file, term, is_lane, value, TALLY_PART_LOAD, is_lane ? term->lane.load : term->load);
    fprintf(file, "INLINE %s_%u %c%u_combine(%s_%u a, %s_%u b) { %s_%u MADE;", type, t, prefix, t, type, t, type, t, type, t);
    write_accumulator(file, term, is_lane, value, TALLY_PART_COMBINE, is_lane ? term->lane.combine : term->combine);
}

/* A lane after the four items of a word, where the device has instructions for bytes. */
static void write_bytes(FILE *file, const tally_terms *terms, const tally_term *term, uint32_t t) {
    fprintf(file, "#ifdef TAKES_BYTES\nINLINE LANE_%u l%u_bytes(LANE_%u a, u32 w%s) {\n    return %s;\n}\n", t, t, t,
            terms->inputs > 1 ? ", u32 v" : "", term->lane.bytes);
    if (term->lane.bytes_hold)
        fprintf(file, "INLINE u32 l%u_bytes_hold(PARAMS_%u p) { return %s; }\n", t, t, term->lane.bytes_hold);
    fprintf(file, "#endif\n");
}

/* ITEM_NUMBER, that of the item x, for a load. */
static void write_number(FILE *file, const tally_terms *terms, const tally_term *term, uint32_t t) {
    const tally_dtype_row *in = tally_dtype_find(terms->in);
    fprintf(file, "INLINE f64 l%u_number(%s x) { return %s; }\n#define ITEM_NUMBER l%u_number(x)\n", t,
            tally_dtype_name(in->compute), term->lane.table.number, t);
}

/* The functions that byte_table.h needs: an item's number, a lane after one and after a word. */
static void write_table(FILE *file, const tally_terms *terms, const tally_term *term, uint32_t t) {
    fprintf(file, "#ifdef TAKES_TABLE\n#define TABLE_FIRST %s\n#define table_number l%u_number\n",
            tally_dtype_find(terms->in)->kind == TALLY_KIND_SIGNED ? "(-128)" : "0", t);
    fprintf(file, "INLINE LANE_%u take_number(LANE_%u a, f64 number) { return %s; }\n", t, t, term->lane.table.take);
    fprintf(file, "INLINE LANE_%u take_word(LANE_%u a, u32 w) { return %s; }\n#endif\n", t, t, term->lane.table.take_word);
}

/* The pivot of a chunk, from the items of its first row on. */
static void write_pivot(FILE *file, const tally_terms *terms, const tally_term *term, uint32_t t) {
    const tally_pivot_row *pivot = &term->lane.pivot;
    fprintf(file, "typedef V PIVOT_%u;\nINLINE V p%u_identity(void) { return %s; }\n", t, t, pivot->identity);
    fprintf(file, "INLINE V p%u_load(ITEMS GIVEN) {", t);
    write_given(file, terms, term, term->lane.value);
    fprintf(file, " return %s; }\nINLINE V p%u_combine(V a, V b) { return %s; }\n", pivot->load, t, pivot->combine);
    fprintf(file, "INLINE V p%u_value(V a, u32 halvings) { return %s; }\n", t, pivot->finish);
    fprintf(file, "INLINE V p%u_of_lane(LANE_%u a) { return %s; }\n", t, t, pivot->of_lane ? pivot->of_lane : pivot->identity);
    fprintf(file, "INLINE u32 p%u_misses(V pivot, V all) { return !(%s); }\n", t, pivot->holds ? pivot->holds : "1");
}

/* A lane within a chunk that begins at `index`: its type, its next item (of the chunk's `row`), and
 * what it is to the rest. */
static void write_lane(FILE *file, const tally_terms *terms, const tally_term *term, uint32_t t) {
    const bool is_own = term->lane.value;
    const tally_dtype value = is_own ? term->lane.value : term->value;
    const char *type = is_own ? "LANE" : "ACC";
    const char prefix = is_own ? 'l' : 't';
    const bool has_pivot = term->lane.pivot.load;
    char parameter[24] = "";
    if (has_pivot) snprintf(parameter, sizeof(parameter), ", PIVOT_%u pivot", t);
    define_words(file, terms, term, value, type, t);
    if (is_own) {
        write_accumulator_type(file, term, type, t);
        if (has_pivot) write_pivot(file, terms, term, t);
        if (term->lane.table.number) write_number(file, terms, term, t);
        write_combination(file, terms, term, value, type, prefix, t);
        if (term->lane.table.number) write_table(file, terms, term, t);
    } else {
        fprintf(file, "typedef ACC_%u LANE_%u;\n#define l%u_identity t%u_identity\n#define l%u_combine t%u_combine\n", t, t, t,
                t, t, t);
    }
    fprintf(file, "INLINE LANE_%u l%u_step(LANE_%u a, ITEMS v, u64 index, u32 row, u32 l, PARAMS_%u p%s) {\n", t, t, t, t,
            parameter);
    fprintf(file, "    const LANE_%u b = %c%u_load(v, %s(row * LANES + l), p%s);", t, prefix, t, is_own ? "" : "index + ",
            has_pivot ? ", pivot" : "");
    if (term->custom) {
        fprintf(file, " return %c%u_combine(a, b); }\n", prefix, t);
    } else {
        fprintf(file, " LANE_%u MADE;\n#undef IN_LANE\n#define IN_LANE(next, any) (next)\n", t);
        write_accumulator(file, term, is_own, value, TALLY_PART_COMBINE, is_own ? term->lane.combine : term->combine);
    }
    if (term->lane.bytes) write_bytes(file, terms, term, t);
    if (term->lane.plain.step) {
        fprintf(file, "INLINE LANE_%u l%u_plain(LANE_%u a, ITEMS GIVEN%s) { LANE_%u MADE;", t, t, t, parameter, t);
        write_given(file, terms, term, value);
        write_accumulator(file, term, is_own, value, TALLY_PART_LOAD, term->lane.plain.step);
    }
    if (is_own) {
        undefine_words(file);
        define_words(file, terms, term, term->value, "ACC", t);
    }
    fprintf(file, "INLINE ACC_%u l%u_value(LANE_%u a, u64 index, u32 count%s) { return %s; }\n", t, t, t, parameter,
            is_own ? term->lane.widen : "a");
    undefine_words(file);
}

/* Names the members of a struct that stand for its padding, which is written as zeros: a copy of a
 * struct may leave bytes that are no member as they were. `gap`: bytes of padding before member
 * `at`, or behind the last. */
void tally_source_gap(FILE *file, uint32_t at, uint32_t gap, bool set) {
    if (gap && !set) fprintf(file, " u8 GAP%u[%u];", at, gap);
    for (uint32_t i = 0; set && i < gap; i++) fprintf(file, " MADE.GAP%u[%u] = 0;", at, i);
}

/* The padding's members of RESULT_k, in their places among the members of its values, or (set) the
 * statements that write them. */
static void write_result_members(FILE *file, const tally_term *term, bool set) {
    tally_layout layout = {0, 0};
    for (uint32_t i = 0; i < term->result_count; i++) {
        const uint32_t end = layout.bytes;
        const uint32_t at = tally_layout_append(&layout, tally_layout_of(term->results[i].out));
        tally_source_gap(file, i, at - end, set);
        if (!set) fprintf(file, " %s_ITEM %s;", tally_dtype_name(term->results[i].out), term->results[i].name);
    }
    tally_source_gap(file, term->result_count, term->result.bytes - layout.bytes, set);
}

static void write_result_type(FILE *file, const tally_term *term, uint32_t t) {
    if (term->result_count == 1) {
        fprintf(file, "typedef %s_ITEM RESULT_%u;\n", tally_dtype_name(term->results[0].out), t);
        return;
    }
    fprintf(file, "typedef struct {");
    write_result_members(file, term, false);
    fprintf(file, " } RESULT_%u;\n", t);
}

/* One value of the result: its finish or empty, in its natural type, stored as `out`. An integer
 * narrower than V is cut to its own width first: all ones of u8 are 255, however wide `out` is. */
static void write_value(FILE *file, const tally_term *term, const tally_term_result *result, bool is_empty) {
    const tally_dtype_row *natural = tally_dtype_find(result->natural);
    const char *type = tally_dtype_name(natural->compute);
    const bool truth = result->natural == TALLY_BOOL;
    const bool is_narrow = natural->bytes < 4 && (natural->kind == TALLY_KIND_SIGNED || natural->kind == TALLY_KIND_UNSIGNED);
    char of[96], cut[16] = "";
    if (is_narrow) snprintf(cut, sizeof(cut), "(%s)", natural->name);
    snprintf(of, sizeof(of), "result %s", result->name ? result->name : "");
    /* A value of its own: no macro may have #line among its arguments. */
    fprintf(file, " { const %s VALUE = ", truth ? "i32" : type);
    write_expression(file, term, is_empty ? "empty" : "finish", result->name ? of : NULL, truth ? NULL : type,
                     is_empty ? result->empty : result->finish);
    fprintf(file, "%s; MADE%s%s = %s_STORE(%sVALUE); }", truth ? " != 0" : "", result->name ? "." : "",
            result->name ? result->name : "", tally_dtype_name(result->out), cut);
}

/* The values that have an `empty`, or those that have none, by finish; finish: all of them. */
static void write_values(FILE *file, const tally_term *term, bool is_empty, bool all) {
    fprintf(file, " {");
    if (!is_empty) write_lets(file, term, TALLY_PART_FINISH);
    for (uint32_t i = 0; i < term->result_count; i++)
        if (all || is_empty == (term->results[i].empty != NULL)) write_value(file, term, &term->results[i], is_empty);
    fprintf(file, " }");
}

static void write_result(FILE *file, const tally_term *term, uint32_t t) {
    uint32_t empties = 0;
    for (uint32_t i = 0; i < term->result_count; i++) empties += term->results[i].empty != NULL;
    fprintf(file, "INLINE RESULT_%u t%u_result(ACC_%u a, u64 n, PARAMS_%u p) { RESULT_%u MADE;", t, t, t, t, t);
    write_values(file, term, false, true);
    if (term->result_count > 1) write_result_members(file, term, true);
    fprintf(file, " return MADE; }\nINLINE RESULT_%u t%u_empty(PARAMS_%u p) {", t, t, t);
    if (!empties) {
        fprintf(file, " return t%u_result(t%u_identity(), 0, p); }\n", t, t);
        return;
    }
    fprintf(file, " RESULT_%u MADE; const ACC_%u a = t%u_identity(); const u64 n = 0;", t, t, t);
    write_values(file, term, true, false);
    if (empties < term->result_count) write_values(file, term, false, false);
    if (term->result_count > 1) write_result_members(file, term, true);
    fprintf(file, " return MADE; }\n");
}

void tally_source_usual(FILE *file, const tally_terms *terms) {
    const tally_term *term = &terms->list[0];
    if (terms->count > 1 || !term->usual) return;
    tally_term_result usually = term->results[0];
    usually.finish = term->usually;
    define_words(file, terms, term, term->value, "ACC", 0);
    fprintf(
        file,
        "#define USUAL 1\nINLINE u32 op_is_usual(ACC a, ACC f, u64 n, PARAMS all) { const PARAMS_0 p = all.t0; return %s; }\n",
        term->usual);
    fprintf(file, "INLINE RESULT op_usual(ACC a, ACC f, u64 n, PARAMS all) { const PARAMS_0 p = all.t0; RESULT MADE;");
    write_value(file, term, &usually, false);
    fprintf(file, " return MADE; }\n");
    undefine_words(file);
}

void tally_source_join(FILE *file, const tally_terms *terms) {
    const tally_term *term = &terms->list[0];
    if (terms->count > 1 || !term->by_share) {
        fprintf(file, "typedef u32 SHARE;\n#define SHARE_OF(part, all) 0U\n#define op_join(a, b) op_combine(a, b)\n"
                      "#define op_join_by(share, a, b) op_combine(a, b)\n");
        return;
    }
    const char *type = tally_dtype_name(term->value);
    define_words(file, terms, term, term->value, "ACC", 0);
    fprintf(file,
            "#define HAS_SHARE 1\ntypedef %s SHARE;\n#define SHARE_OF(part, all) %s_QUOTIENT((SHARE)(part), (SHARE)(all))\n",
            type, type);
    fprintf(file, "INLINE ACC op_join_by(SHARE share, ACC a, ACC b) { ACC MADE;");
    write_accumulator(file, term, false, term->value, TALLY_PART_COMBINE, term->by_share);
    fprintf(file, "INLINE ACC op_join(ACC a, ACC b) { return op_join_by(%s, a, b); }\n", term->share);
    undefine_words(file);
}

/* Tells whether some lanes of a chunk may be taken before others, and are faster so. */
static bool holds_lanes(const tally_terms *terms) {
    const tally_term *term = &terms->list[0];
    uint32_t fields;
    tally_source_lane_fields(term, &fields);
    return !term->is_index && !term->decided && (tally_terms_exact(terms) || fields == 0);
}

/* Writes the load of a narrow item as a term of 16 bits, where a lane adds up terms, and those of a
 * block of rows fit 16 bits. */
static void write_short_load(FILE *file, const tally_terms *terms) {
    const tally_term *term = &terms->list[0];
    const tally_op_row *row = term->op ? tally_op_row_for(term->op, terms->in, TALLY_ACCURACY_DEFAULT) : NULL;
    const bool fits = row && (row->additive == TALLY_ADDITIVE_UNIT ||
                              (row->additive == TALLY_ADDITIVE_LINEAR && tally_dtype_bytes(terms->in) == 1));
    if (!fits || !tally_dtype_is_narrow(terms->in) || tally_dtype_bytes(term->lane.value) != 4) return;
    const tally_dtype type = term->lane.value == TALLY_I32 ? TALLY_I16 : TALLY_U16;
    define_words(file, terms, term, type, "LANE", 0);
    fprintf(file, "typedef %s SHORT_SUM;\n#define SHORT_SUMS 1\nINLINE SHORT_SUM short_load(ITEMS GIVEN) {",
            tally_dtype_name(type));
    write_given(file, terms, term, type);
    fprintf(file, " return (SHORT_SUM)(%s); }\n", term->lane.load);
    undefine_words(file);
}

static bool has_field(const tally_term_lane *lane, const char *name) {
    for (uint32_t f = 0; f < lane->field_count; f++)
        if (!strcmp(lane->fields[f].name, name)) return true;
    return false;
}

/* Says what lanes of 32-bit integers add up, for vectors that multiply every other item
 * (src/host/products.h): products, or squares and their upper halves, and with them the items by
 * halves. */
static void write_products(FILE *file, const tally_terms *terms) {
    const tally_term *term = &terms->list[0];
    const tally_op_row *row = term->op ? tally_op_row_for(term->op, terms->in, TALLY_ACCURACY_DEFAULT) : NULL;
    if (!row || (terms->in != TALLY_I32 && terms->in != TALLY_U32)) return;
    if (row->adds_products && !term->lane.field_count && tally_dtype_bytes(term->value) == 8 &&
        !tally_dtype_is_float(term->value))
        fprintf(file, "#define ADDS_PRODUCTS 1\n");
    if (!has_field(&term->lane, "squares")) return;
    fprintf(file, "#define ADDS_SQUARES 1\n");
    if (has_field(&term->lane, "low")) fprintf(file, "#define ADDS_HALVES 1\n");
}

void tally_source_guess_combine(FILE *file, const tally_terms *terms) {
    const tally_term *term = &terms->list[0];
    define_words(file, terms, term, term->value, term->is_index ? "LANE" : "ACC", 0);
    fprintf(file, "#define GUESSES_COMBINE 1\nINLINE u32 guess_holds(LANE a) { return %s; }\n", term->guess.holds);
    fprintf(file, "typedef u%u NAN_WORD;\n", 8 * (unsigned)tally_dtype_bytes(term->value));
    fprintf(file, "INLINE LANE guess_combine(LANE a, LANE b) { LANE MADE;");
    write_accumulator(file, term, true, term->value, TALLY_PART_COMBINE, term->guess.combine);
    fprintf(file, "INLINE V guess_value(ITEMS GIVEN) {");
    write_given(file, terms, term, term->value);
    fprintf(file, " return x; }\n");
    if (term->is_index) fprintf(file, "#define GUESSES_INDEX 1\n#define guess_at(v, i, p) l0_load(v, i, (p).t0)\n");
    undefine_words(file);
}

void tally_source_guess(FILE *file, const tally_terms *terms) {
    const tally_term *term = &terms->list[0];
    const tally_guess_row *guess = &term->guess;
    if (terms->count > 1) return;
    write_short_load(file, terms);
    write_products(file, terms);
    if (holds_lanes(terms)) fprintf(file, "#define HOLDS 1\n");
    if (term->decided) fprintf(file, "#define DECIDES 1\nINLINE u32 lane_decides(LANE a) { return %s; }\n", term->decided);
    if (!guess->holds) return;
    if (guess->combine) {
        tally_source_guess_combine(file, terms);
        return;
    }
    define_words(file, terms, term, term->value, "ACC", 0);
    fprintf(file, "#define GUESSES_LOAD 1\nINLINE u32 guess_holds(LANE a) { return %s; }\n", guess->holds);
    if (guess->field) fprintf(file, "#define PLAIN_FIELD %s\n#define PLAIN_ARRAY t0_%s\n", guess->field, guess->field);
    fprintf(file, "INLINE LANE guess_load(ITEMS GIVEN) { LANE MADE;");
    write_given(file, terms, term, term->value);
    write_accumulator(file, term, true, term->value, TALLY_PART_LOAD, guess->load);
    undefine_words(file);
}

void tally_source_initial(FILE *file, const tally_terms *terms, uint32_t t) {
    static const char *const names[] = {"x", "y"};
    const tally_term *term = &terms->list[t];
    define_words(file, terms, term, term->value, "ACC", t);
    fprintf(file, "INLINE ACC_%u t%u_initial(RESULT_%u GIVEN) {", t, t, t);
    for (uint32_t i = 0; i < term->result_count; i++) {
        const tally_term_result *result = &term->results[i];
        /* The cast to the signed type comes first: V may be the unsigned one. */
        const tally_dtype integer = tally_term_initial_integer(term, i), type = integer ? integer : result->out;
        const char *name = tally_dtype_name(tally_dtype_find(type)->compute);
        fprintf(file, " const %s %s = ", name, names[i]);
        if (integer) fprintf(file, "(%s)", name);
        fprintf(file, "%s_VALUE(GIVEN%s%s);", tally_dtype_name(result->out), result->name ? "." : "",
                result->name ? result->name : "");
    }
    fprintf(file, " return %s; }\n", term->initial);
    undefine_words(file);
}

void tally_source_term(FILE *file, const tally_terms *terms, uint32_t t) {
    const tally_term *term = &terms->list[t];
    fprintf(file, "\n/* op %u: %s */\n", t, term->row_name);
    define_words(file, terms, term, term->value, "ACC", t);
    write_accumulator_type(file, term, "ACC", t);
    fprintf(file, "typedef struct {%s", term->param_count ? "" : " u32 none;");
    for (uint32_t i = 0; i < term->param_count; i++)
        fprintf(file, " %s %s;", tally_dtype_name(term->params[i].type), term->params[i].name);
    fprintf(file, " } PARAMS_%u;\n", t);
    write_result_type(file, term, t);
    write_combination(file, terms, term, term->value, "ACC", 't', t);
    write_result(file, term, t);
    undefine_words(file);
    write_lane(file, terms, term, t);
}
