/* SPDX-License-Identifier: MIT */
/* programs.c: an op's program in C: the prelude, the specialised text, which is that of every
 * device (src/program/source.c), and entry.h. */
#include <stdlib.h>
#include <string.h>

#include "host/cpu.h"
#include "host/generate/generate.h"
#include "program/source.h"

bool generate_is_program(tally_op op, tally_dtype in, tally_accuracy accuracy) {
    return tally_op_row_for(op, in, accuracy) != NULL && (!accuracy || in == TALLY_F32 || in == TALLY_F64);
}

const char *generate_suffix(tally_accuracy accuracy) {
    return accuracy ? "_compensated" : "";
}

/* Writes the accumulator of an initial result, where the op takes one. */
static void write_initial(FILE *file, const tally_terms *terms) {
    if (!terms->list[0].initial) return;
    tally_source_initial(file, terms, 0);
    fprintf(file, "#define HAS_INITIAL 1\n#define op_initial t0_initial\n");
}

static void write_entry(FILE *file, tally_op op, tally_dtype in, tally_accuracy accuracy, const tally_term *term) {
    fprintf(file, "#define NAME tally_host_%s_%s%s\n#define DEFAULTS {{%s", tally_op_name(op), tally_dtype_name(in),
            generate_suffix(accuracy), term->param_count ? "" : "0");
    for (uint32_t i = 0; i < term->param_count; i++) fprintf(file, "%s%.17g", i ? ", " : "", term->params[i].value);
    fprintf(file, "}}\n%s#include \"host/entry.h\"\n", tally_op_inputs(op) == 1 && !accuracy ? "#define SCANS 1\n" : "");
}

tally_status generate_program(FILE *file, tally_op op, tally_dtype in, tally_accuracy accuracy) {
    tally_reduce_desc desc = {.size = sizeof(desc), .op = op, .in = in, .max_n = TALLY_CHUNK_ITEMS, .accuracy = accuracy};
    tally_terms terms;
    tally_launch launch;
    char *text;
    size_t bytes;
    if (!generate_is_program(op, in, accuracy)) return fprintf(file, "typedef int nothing;\n"), TALLY_OK;
    tally_status status = tally_reduce_resolve(&tally_host_cpu, NULL, &desc, &terms, &launch);
    if (status) return status;
    const tally_recipe recipe = tally_launch_recipe(&launch);
    status = tally_source_create(&tally_backend_host, 0, &terms, &recipe, &text, &bytes);
    if (!status) {
        if (terms.list[0].text && !strcmp(terms.list[0].text, "exponentials")) fprintf(file, "#define FUSES 1\n");
        if (tally_dtype_find(in)->kind == TALLY_KIND_COMPLEX) fprintf(file, "#define COMPLEX_ITEMS 1\n");
        fprintf(file, "#include \"host/prelude.h\"\n%s", text);
        write_initial(file, &terms);
        write_entry(file, op, in, accuracy, &terms.list[0]);
        free(text);
    }
    tally_terms_close(&terms);
    return status;
}

tally_status generate_table(FILE *file) {
    fprintf(file, "#include \"host/table.h\"\n\n");
    for (int rows = 0; rows < 2; rows++) {
        if (rows) fprintf(file, "static const tally_host_program *const programs[] = {\n");
        for (tally_accuracy accuracy = TALLY_ACCURACY_DEFAULT; accuracy < TALLY_ACCURACY_END; accuracy++)
            for (tally_op op = TALLY_OP_NONE + 1; op < TALLY_OP_END; op++)
                for (tally_dtype in = TALLY_DTYPE_DEFAULT + 1; in < TALLY_DTYPE_END; in++)
                    if (generate_is_program(op, in, accuracy))
                        fprintf(file, rows ? "    ROW(%s_%s%s)\n" : "DECLARE(%s_%s%s)\n", tally_op_name(op),
                                tally_dtype_name(in), generate_suffix(accuracy));
    }
    fprintf(file, "};\nCODE\n");
    return TALLY_OK;
}
