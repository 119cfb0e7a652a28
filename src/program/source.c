/* SPDX-License-Identifier: MIT */
/*
 * The source specialiser: prelude, the specialised text made from the plan's terms, then the stems.
 * The same for every backend.
 *
 * The specialised text holds, for each op (term) k of the plan, types ACC_k, PARAMS_k and RESULT_k
 * and functions tk_identity, tk_load, tk_combine, tk_result and tk_empty; then the plan's own ACC,
 * PARAMS and RESULT, structs of those where there are several, and the op_ functions that the stems
 * call; likewise LANE_k, LANE and the lane_ functions for the lanes within a chunk, which may be
 * narrower. LANE_ARRAYS and, for the scans of CPUs, ACC_ARRAYS hold lanes and ACCs by their fields.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "program/source.h"

const char *const tally_source_inputs[TALLY_MAX_INPUTS] = {"x", "y", "z", "w"};

#define FOR_TERMS(terms, t) for (uint32_t t = 0; t < (terms)->count; t++)

/* ---- inputs ---------------------------------------------------------------------------------- */

/* `format` for each input, with its name in the place of each $. */
static void each_input(FILE *file, const tally_terms *terms, const char *format) {
    for (uint32_t k = 0; k < terms->inputs; k++)
        for (const char *c = format; *c; c++) {
            if (*c == '$')
                fputs(tally_source_inputs[k], file);
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
    const bool is_narrow = tally_dtype_is_narrow(terms->in), is_half = terms->in == TALLY_F16;
    const bool by_products = terms->in == TALLY_I8 && terms->count == 1 && terms->list[0].lane.of_magnitudes;
    if (is_half)
        fprintf(
            file,
            "\n#ifdef f16_LOADED\ntypedef f16_LOADED LOADED;\n#define LOAD_ITEM f16_VALUE\n#define LOADED_DIFFERS 1\n#else");
    if (is_narrow)
        fprintf(file,
                "\n#ifdef TAKES_BYTES\ntypedef %s LOADED;\n"
                "#define ITEM_OF_WORD %s_OF_WORD\n#define ITEM_OF_VECTOR %s_OF_%s\n#else",
                tally_dtype_name(tally_dtype_find(terms->in)->compute), in, in, by_products ? "VECTOR" : "WORD");
    fprintf(file, "\ntypedef ITEM LOADED;\n%s", is_narrow || is_half ? "#endif\n" : "");
    fprintf(file, "#ifndef LOAD_ITEM\n#define LOAD_ITEM(x) (x)\n#endif\ntypedef struct {\n");
    each_input(file, terms, "    LOADED $;\n");
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
    each_input(file, terms, "    v.$ = LOAD_ITEM(s.$[at]);\n");
    fprintf(file, "    return v;\n}\n");
}

/* ---- all terms ------------------------------------------------------------------------------- */

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

/* The padding of RESULT among its members, as write_result_members. */
static void write_results_members(FILE *file, const tally_terms *terms, bool set) {
    tally_layout layout = {0, 0};
    FOR_TERMS(terms, t) {
        const uint32_t end = layout.bytes, at = tally_layout_append(&layout, terms->list[t].result);
        tally_source_gap(file, t, at - end, set);
        if (!set) fprintf(file, " RESULT_%u t%u;", t, t);
    }
    tally_source_gap(file, terms->count, terms->result.bytes - layout.bytes, set);
}

static void write_results_type(FILE *file, const tally_terms *terms) {
    if (terms->count == 1) {
        write_type(file, terms, "RESULT", "");
        return;
    }
    fprintf(file, "typedef struct {");
    write_results_members(file, terms, false);
    fprintf(file, " } RESULT;\n");
}

/* A function of all terms: calls theirs, `arguments` with the term's number in the place of each
 * $. Pivots are of the terms that have one. */
static void write_function(FILE *file, const tally_terms *terms, const char *type, const char *signature, const char *call,
                           const char *arguments) {
    const bool single = terms->count == 1, is_pivot = !strcmp(type, "PIVOT");
    fprintf(file, "INLINE %s %s {\n    %s MADE;\n", type, signature, type);
    FOR_TERMS(terms, t) {
        const bool has_pivot = terms->list[t].lane.pivot.load;
        char member[16] = "";
        if (is_pivot && !has_pivot) continue;
        if (!single || is_pivot) snprintf(member, sizeof(member), ".t%u", t);
        fprintf(file, "    MADE%s = %c%u_%s(", member, call[0], t, call + 2);
        for (const char *c = arguments; *c; c++) {
            if (*c == '@')
                fputs(member, file); /* of an accumulator, or a pivot */
            else if (*c == '&')
                fputs(single ? "" : member, file); /* of a lane, beside pivots */
            else if (*c == '%' && has_pivot)
                fprintf(file, ", c.pivot.t%u", t);
            else if (*c == '%')
                continue;
            else if (*c == '$')
                fprintf(file, ".t%u", t); /* of the parameters, which are always a struct */
            else
                fputc(*c, file);
        }
        fprintf(file, ");\n");
    }
    if (!single && !strcmp(type, "RESULT")) write_results_members(file, terms, true);
    fprintf(file, "    return MADE;\n}\n");
}

/* Tells whether a term has a pivot. */
static bool have_pivots(const tally_terms *terms) {
    FOR_TERMS(terms, t) if (terms->list[t].lane.pivot.load) return true;
    return false;
}

/* Tells whether a chunk may have to be taken again. */
static bool pivots_may_miss(const tally_terms *terms) {
    FOR_TERMS(terms, t) if (terms->list[t].lane.pivot.holds) return true;
    return false;
}

/* The change to pivots of all items where the others are no good. */
static void write_second_pivots(FILE *file, const tally_terms *terms) {
    fprintf(file, "#define PIVOT_MAY_MISS 1\n");
    write_function(file, terms, "PIVOT", "pivot_of_lane(LANE a)", "p_of_lane", "a&");
    fprintf(file, "INLINE u32 pivot_changes(PIVOT *pivot, PIVOT all) {\n    u32 changes = 0;\n");
    FOR_TERMS(terms, t)
    if (terms->list[t].lane.pivot.holds)
        fprintf(file, "    if (p%u_misses(pivot->t%u, all.t%u)) pivot->t%u = all.t%u, changes = 1;\n", t, t, t, t, t);
    fprintf(file, "    return changes;\n}\n");
}

/* CHUNK, which all lanes of a chunk share: the index of its first item, the number of its items
 * and the terms' pivots. */
static void write_chunk(FILE *file, const tally_terms *terms) {
    const bool pivots = have_pivots(terms);
    if (pivots) {
        fprintf(file, "#define TAKES_PIVOT 1\ntypedef struct {");
        FOR_TERMS(terms, t) if (terms->list[t].lane.pivot.load) fprintf(file, " PIVOT_%u t%u;", t, t);
        fprintf(file, " } PIVOT;\n");
        write_function(file, terms, "PIVOT", "pivot_identity(void)", "p_identity", "");
        write_function(file, terms, "PIVOT", "pivot_load(ITEMS v)", "p_load", "v");
        write_function(file, terms, "PIVOT", "pivot_combine(PIVOT a, PIVOT b)", "p_combine", "a@, b@");
        write_function(file, terms, "PIVOT", "pivot_value(PIVOT a, u32 halvings)", "p_value", "a@, halvings");
        if (pivots_may_miss(terms)) write_second_pivots(file, terms);
    }
    fprintf(file, "typedef struct {\n    u64 index;\n    u32 count;\n%s} CHUNK;\n", pivots ? "    PIVOT pivot;\n" : "");
}

static void write_params(FILE *file, const tally_terms *terms) {
    fprintf(file, "typedef struct {");
    FOR_TERMS(terms, t) fprintf(file, " PARAMS_%u t%u;", t, t);
    fprintf(file, " } PARAMS;\n");
}

/* The fields of a term's accumulator or lane; a lone value is one field without a name. */
static const tally_op_field *fields_of(const tally_term *term, bool of_lanes, tally_op_field *lone, uint32_t *count) {
    const tally_op_field *fields = term->fields;
    *count = term->field_count;
    if (of_lanes) fields = tally_source_lane_fields(term, count);
    if (*count) return fields;
    *lone = (tally_op_field){.name = "", .type = of_lanes && term->lane.value ? term->lane.value : term->value};
    *count = 1;
    return lone;
}

/* Writes `format` for each field of the accumulator or lane: $ becomes its member's name, as in a$,
 * @ its array's, and # the type in an array. */
static void each_field(FILE *file, const tally_terms *terms, bool of_lanes, const char *format) {
    FOR_TERMS(terms, t) {
        tally_op_field lone;
        uint32_t count;
        const tally_op_field *fields = fields_of(&terms->list[t], of_lanes, &lone, &count);
        const tally_dtype item = of_lanes ? terms->list[t].lane_item : TALLY_DTYPE_DEFAULT;
        for (uint32_t i = 0; i < count; i++) {
            const char *name = fields[i].name;
            for (const char *c = format; *c; c++) {
                if (*c == '$' && terms->count > 1) fprintf(file, ".t%u", t);
                if (*c == '$')
                    fprintf(file, "%s%s", name[0] ? "." : "", name);
                else if (*c == '@')
                    fprintf(file, "t%u%s%s", t, name[0] ? "_" : "", name);
                else if (*c == '#')
                    fputs(tally_dtype_name(item ? item : fields[i].type), file);
                else
                    fputc(*c, file);
            }
        }
    }
}

/* Lanes as a structure of arrays, so that a CPU's compiler can keep them in vectors. lanes_get and
 * lanes_set read and write lane l; lanes_set_if writes it where `is` has all bits. */
static void write_lane_arrays(FILE *file, const tally_terms *terms) {
    fprintf(file, "typedef struct {\n");
    each_field(file, terms, true, "    # @[LANES];\n");
    fprintf(file, "} LANE_ARRAYS;\nINLINE LANE lanes_get(const LANE_ARRAYS *lanes, int l) {\n    LANE a;\n");
    each_field(file, terms, true, "    a$ = lanes->@[l];\n");
    fprintf(file, "    return a;\n}\nINLINE void lanes_set(LANE_ARRAYS *lanes, int l, LANE a) {\n");
    each_field(file, terms, true, "    lanes->@[l] = a$;\n");
    fprintf(file, "}\n#ifdef HOST\nINLINE void lanes_set_if(LANE_ARRAYS *lanes, int l, u32 is, LANE a) {\n");
    each_field(file, terms, true, "    lanes->@[l] = #_SELECT(is, a$, lanes->@[l]);\n");
    fprintf(file, "}\n#endif\n");
}

/* accs_choose returns a or b by their fields, because the choice of a whole struct would become no
 * vectors. RESULT_WORD and ITEM_WORD are the widest words that results and items are made of. */
void tally_source_arrays(FILE *file, const tally_terms *terms) {
    fprintf(file, "/* arrays */\ntypedef struct {\n");
    each_field(file, terms, false, "    # @[ACCS];\n");
    fprintf(file, "} ACC_ARRAYS;\nINLINE ACC accs_get(const ACC_ARRAYS *accs, int l) {\n    ACC a;\n");
    each_field(file, terms, false, "    a$ = accs->@[l];\n");
    fprintf(file, "    return a;\n}\nINLINE void accs_set(ACC_ARRAYS *accs, int l, ACC a) {\n");
    each_field(file, terms, false, "    accs->@[l] = a$;\n");
    fprintf(file, "}\nINLINE ACC accs_choose(u32 first, ACC a, ACC b) {\n");
    each_field(file, terms, false, "    b$ = first ? a$ : b$;\n");
    fprintf(file, "    return b;\n}\ntypedef u%u RESULT_WORD;\n", 8 * terms->result.align);
    const tally_dtype_row *in = tally_dtype_find(terms->in);
    fprintf(file, "typedef u%u ITEM_WORD;\n", 8 * in->bytes / (in->kind == TALLY_KIND_COMPLEX ? 2 : 1));
    tally_source_usual(file, terms);
}

/* Defines the device's features that the program uses: a feature that it does not use leaves its
 * text as it is everywhere. */
static void write_features(FILE *file, unsigned features, unsigned used) {
    for (size_t i = 0; i < TALLY_FEATURE_END; i++)
        if (features & 1u << i && (tally_features[i].always || used & 1u << i))
            fprintf(file, "#define %s 1\n", tally_features[i].name);
}

/* Tells whether combining is more than one operator of C: a comparison, a struct, several ops. */
static bool takes_long(const tally_terms *terms) {
    const tally_term *first = &terms->list[0];
    return terms->count > 1 || first->custom || first->field_count || strchr(first->combine, '(');
}

/* Tells whether a GPU takes longer to scan a row's cells again than to store and load their
 * accumulators: moments, exponentials, indices, twofold numbers, and more than 16 bytes. */
static bool takes_longest(const tally_terms *terms) {
    const tally_term *first = &terms->list[0];
    const bool has_exponentials = first->text && tally_source_is_float(first->value);
    return terms->acc.bytes > 16 || first->share || first->is_index || first->accuracy || has_exponentials;
}

/* Writes the texts that the terms' expressions need, each once for each type R. */
static void write_texts(FILE *file, const tally_terms *terms) {
    FOR_TERMS(terms, t) {
        const tally_term *term = &terms->list[t];
        bool is_there = !term->text;
        for (uint32_t e = 0; e < t && !is_there; e++) {
            const tally_term *earlier = &terms->list[e];
            is_there = earlier->text && !strcmp(earlier->text, term->text) && earlier->real == term->real;
        }
        if (is_there) continue;
        const char *real = tally_dtype_name(term->real);
        fprintf(file, "#define REAL %s\n#define OF(name) %s_##name\n%s#undef REAL\n#undef OF\n", real, real,
                tally_kernel_source_core(term->text));
    }
}

/* Tells whether items may be taken by a table. In larger groups a thread's lanes would not fit its
 * registers, nor the table, beside a tree, the local memory. */
static bool takes_table(const tally_terms *terms, const tally_recipe *recipe) {
    return recipe->has_teams && terms->count == 1 && terms->list[0].lane.table.number && recipe->group_threads <= 256;
}

static void write_specialised(FILE *file, unsigned features, const tally_terms *terms, const tally_recipe *recipe) {
    fprintf(file, "\n/* specialised:");
    FOR_TERMS(terms, t) fprintf(file, " %s", terms->list[t].row_name);
    fprintf(file, " of %s */\n", tally_dtype_name(terms->in));
    fprintf(file, "#define ACC_BYTES %u\n", terms->acc.bytes);
    fprintf(file, "#define LANES %d\n#define ROWS %d\n#define CHUNK_ITEMS %d\n", TALLY_LANES, TALLY_ROWS, TALLY_CHUNK_ITEMS);
    const tally_term *first = &terms->list[0];
    if (terms->count == 1 && first->additive && !first->field_count)
        fprintf(file, "#define NATIVE_%s_ADD 1\n", tally_source_is_float(first->value) ? "FLOAT" : "INTEGER");
    if (tally_terms_exact(terms)) fprintf(file, "#define ANY_ORDER 1\n");
    if (takes_long(terms)) fprintf(file, "#define TAKES_LONG 1\n");
    if (takes_longest(terms)) fprintf(file, "#define TAKES_LONGEST 1\n");
    if (tally_dtype_is_integer(terms->in)) fprintf(file, "#define WHOLE_ITEMS 1\n");
    write_features(file, features, recipe->features);
    fputs(tally_kernel_source_core("arithmetic"), file);
    write_texts(file, terms);
    if (recipe->has_arrays) fprintf(file, "#undef INLINE\n#define INLINE static inline __attribute__((always_inline))\n");
    write_items(file, terms);
    if (takes_table(terms, recipe)) fprintf(file, "#ifdef TAKES_BYTES\n#define TAKES_TABLE 1\n#endif\n");
    FOR_TERMS(terms, t) tally_source_term(file, terms, t);
    fprintf(file, "\n/* all */\n");
    write_type(file, terms, "ACC", terms->acc.bytes == 8 ? "ALIGN(8) " : "");
    write_results_type(file, terms);
    write_params(file, terms);
    write_function(file, terms, "ACC", "op_identity(void)", "t_identity", "");
    write_function(file, terms, "ACC", "op_load(ITEMS v, u64 i, PARAMS p)", "t_load", "v, i, p$");
    write_function(file, terms, "ACC", "op_combine(ACC a, ACC b)", "t_combine", "a@, b@");
    tally_source_join(file, terms);
    write_function(file, terms, "RESULT", "op_result(ACC a, u64 n, PARAMS p)", "t_result", "a@, n, p$");
    write_function(file, terms, "RESULT", "op_empty(PARAMS p)", "t_empty", "p$");
    fprintf(file, "#define IDENTITY op_identity()\n");
    write_type(file, terms, "LANE", "");
    write_function(file, terms, "LANE", "lane_identity(void)", "l_identity", "");
    write_chunk(file, terms);
    write_function(file, terms, "LANE", "lane_step(LANE a, ITEMS v, CHUNK c, u32 row, u32 l, PARAMS p)", "l_step",
                   "a@, v, c.index, row, l, p$%");
    write_function(file, terms, "LANE", "lane_combine(LANE a, LANE b)", "l_combine", "a@, b@");
    write_function(file, terms, "ACC", "lane_value(LANE a, CHUNK c)", "l_value", "a@, c.index, c.count%");
    if (terms->count == 1 && first->lane.bytes)
        fprintf(file, "#ifdef TAKES_BYTES\n#define lane_bytes l0_bytes\n#define BYTES_HOLD(p) (%s)\n%s#endif\n",
                first->lane.bytes_hold ? "l0_bytes_hold((p).t0)" : "1",
                tally_terms_pad_bytes(terms) ? "#define PADS_BYTES\n" : "");
    if (terms->count == 1 && first->lane.plain.step)
        fprintf(file,
                "#define lane_plain(a, v, c) l0_plain(a, v%s)\n#define IMMODERATE %s_IMMODERATE\n#define NOT_PLAIN(w) (%s)\n",
                first->lane.pivot.load ? ", (c).pivot.t0" : "", tally_dtype_name(terms->in), first->lane.plain.not_plain);
    write_lane_arrays(file, terms);
    write_inputs(file, terms);
    if (recipe->guesses) tally_source_guess(file, terms);
    if (recipe->has_teams && terms->count == 1 && first->guess.signs && terms->in == TALLY_F64) {
        tally_source_guess_combine(file, terms);
        fprintf(file, "#define ZERO_SIGNS(a, b) (%s)\n", first->guess.signs);
    }
    if (have_pivots(terms)) fputs(tally_kernel_source_core("pivots"), file);
    fputs(tally_kernel_source_core("vectors"), file);
    if (recipe->has_teams) fputs(tally_kernel_source_core("byte_table"), file);
    fprintf(file, "\n");
    if (recipe->has_arrays) tally_source_arrays(file, terms);
    if (recipe->segments) tally_source_segments(file, terms, recipe->segments);
}

/* ---- whole texts ----------------------------------------------------------------------------- */

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

/* A text that grows. open_memstream would lose what finds no memory, and report no error. */
typedef struct growing_text {
    char *at;
    size_t bytes, room;
    bool failed;
} growing_text;

static ssize_t grow(void *cookie, const char *from, size_t bytes) {
    growing_text *text = cookie;
    const size_t needed = text->bytes + bytes + 1;
    if (needed > text->room) {
        char *more = text->failed ? NULL : realloc(text->at, 2 * needed);
        text->failed = !more;
        if (!more) return 0;
        text->at = more;
        text->room = 2 * needed;
    }
    memcpy(text->at + text->bytes, from, bytes);
    text->bytes += bytes;
    text->at[text->bytes] = 0;
    return (ssize_t)bytes;
}

tally_status tally_source_create(const tally_backend *backend, unsigned features, const tally_terms *terms,
                                 const tally_recipe *recipe, char **text, size_t *bytes) {
    growing_text whole = {NULL};
    FILE *file = fopencookie(&whole, "w", (cookie_io_functions_t){.write = grow});
    if (!file) return tally_fail(TALLY_E_MEMORY, "out of memory");
    fprintf(file, "#define GROUP %u\n%s", recipe->group_threads, recipe->defines);
    tally_status status = write_stem(file, backend, recipe->variant, "prelude");
    if (!status) write_specialised(file, features, terms, recipe);
    for (size_t i = 0; i < recipe->stem_count && !status; i++)
        status = write_stem(file, backend, recipe->variant, recipe->stems[i]);
    if ((fclose(file) || whole.failed) && !status) status = tally_fail(TALLY_E_MEMORY, "out of memory");
    if (status) {
        free(whole.at);
        return status;
    }
    *text = whole.at;
    *bytes = whole.bytes;
    return TALLY_OK;
}

tally_status tally_source_of_stem(const tally_backend *backend, const char *stem, uint32_t group_threads, const char *defines,
                                  char **text) {
    const char *prelude = backend->kernel_source("prelude"), *source = tally_kernel_text(backend, stem);
    if (!prelude || !source) return tally_fail(TALLY_E_UNSUPPORTED, "backend %s has no kernels '%s'", backend->name, stem);
    if (asprintf(text, "#define GROUP %u\n%s%s%s", group_threads, defines, prelude, source) >= 0) return TALLY_OK;
    return tally_fail(TALLY_E_MEMORY, "out of memory");
}
