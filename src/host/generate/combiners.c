/* SPDX-License-Identifier: MIT */
/* combiners.c: functions that combine accumulators of the ops' rows on the host. */
#include <string.h>

#include "host/generate/generate.h"

static const char *c_type(tally_dtype value) {
    static const char *const names[TALLY_DTYPE_END] = {
        [TALLY_F32] = "float",    [TALLY_F64] = "double",  [TALLY_I32] = "int32_t",
        [TALLY_U32] = "uint32_t", [TALLY_I64] = "int64_t", [TALLY_U64] = "uint64_t"};
    return names[value];
}

/* Resolves the level's row of an op for items of a type. Returns false if there is none. On success
 * the caller closes the terms. */
static bool resolve(tally_row_level level, tally_op op, tally_dtype in, tally_dtype acc, tally_terms *terms) {
    const tally_accuracy accuracy = level == TALLY_ROW_COMPENSATED ? TALLY_ACCURACY_COMPENSATED : TALLY_ACCURACY_DEFAULT;
    const tally_terms_desc desc = {.in = in, .single = {.op = op, .acc = acc, .accuracy = accuracy}};
    if (!tally_op_row_for(op, in, accuracy) || tally_op_alike(op, in, accuracy) != op ||
        tally_op_row_level(op, in, accuracy) != level)
        return false;
    return tally_terms_resolve(&desc, terms) == TALLY_OK;
}

static void write_combiner(FILE *file, tally_row_level level, const tally_term *term) {
    fprintf(file, "static void combine_%d_%d_%d(void *left, const void *right) {\n    typedef %s V;\n", (int)level,
            (int)term->op, (int)term->value, c_type(term->value));
    if (!term->field_count) fprintf(file, "    typedef V SELF;\n");
    if (term->field_count) fprintf(file, "    typedef struct {");
    for (uint32_t i = 0; i < term->field_count; i++)
        fprintf(file, " %s %s;", c_type(term->fields[i].type), term->fields[i].name);
    if (term->field_count) fprintf(file, " } SELF;\n");
    fprintf(file, "    const SELF a = *(const SELF *)left, b = *(const SELF *)right;\n    *(SELF *)left = (%s);\n}\n\n",
            term->combine);
}

/* Writes a function for each row and value type; with `rows`, the table of them. */
static void write_combiners(FILE *file, bool rows) {
    static const tally_dtype accs[] = {TALLY_DTYPE_DEFAULT, TALLY_F64};
    bool written[TALLY_DTYPE_END];
    for (int level = 0; level < TALLY_ROW_LEVELS; level++)
        for (tally_op op = TALLY_OP_NONE + 1; op < TALLY_OP_END; op++) {
            memset(written, 0, sizeof(written));
            for (int i = 0; i < 2 * TALLY_DTYPE_END; i++) {
                tally_terms terms;
                const tally_dtype in = (tally_dtype)(i / 2);
                if (!resolve((tally_row_level)level, op, in, accs[i % 2], &terms)) continue;
                const tally_term *term = &terms.list[0];
                const int value = (int)term->value;
                if (!written[value] && !rows) write_combiner(file, (tally_row_level)level, term);
                if (!written[value] && rows)
                    fprintf(file, "    [%d][%d][%d] = combine_%d_%d_%d,\n", level, (int)op, value, level, (int)op, value);
                written[value] = true;
                tally_terms_close(&terms);
            }
        }
}

tally_status generate_combiners(FILE *file) {
    fprintf(file, "#include \"host/combine.h\"\n\n");
    write_combiners(file, false);
    fprintf(file, "const tally_host_combiner tally_host_combiners[TALLY_ROW_LEVELS][TALLY_OP_END][TALLY_DTYPE_END] = {\n");
    write_combiners(file, true);
    fprintf(file, "};\n");
    return TALLY_OK;
}
