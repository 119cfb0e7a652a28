/* SPDX-License-Identifier: MIT */
/* programs.c: the programs of an op in C: the prelude, and for each type the specialised text,
 * which is that of every device (src/program/source.c), and entry.h. Ops whose texts differ in the
 * result alone, like var and std, stand in one file: the first has the functions of all. */
#define _POSIX_C_SOURCE 200809L
#include <stdlib.h>
#include <string.h>

#include "host/cpu.h"
#include "host/generate/generate.h"
#include "host/programs.h"
#include "program/source.h"

#define PRELUDE "#include \"host/prelude.h\"\n"

bool generate_is_program(tally_op op, tally_dtype in, tally_accuracy accuracy) {
    return tally_op_row_for(op, in, accuracy) != NULL && tally_op_alike(op, in, accuracy) == op &&
           (!accuracy || in == TALLY_F32 || in == TALLY_F64);
}

const char *generate_kind_name(generate_kind kind) {
    static const char *const names[GENERATE_KINDS] = {"wholes", "reals", "complexes"};
    return names[kind];
}

static generate_kind kind_of(tally_dtype in) {
    if (tally_dtype_find(in)->kind == TALLY_KIND_COMPLEX) return GENERATE_COMPLEXES;
    return tally_dtype_is_float(in) ? GENERATE_REALS : GENERATE_WHOLES;
}

/* Returns what the name of a program ends with. */
static const char *suffix(tally_accuracy accuracy) {
    return accuracy ? "_compensated" : "";
}

/* Writes the accumulator of an initial result, where the op takes one. */
static void write_initial(FILE *file, const tally_terms *terms) {
    if (!terms->list[0].initial) return;
    tally_source_initial(file, terms, 0);
    fprintf(file, "#define HAS_INITIAL 1\n#define op_initial t0_initial\n");
}

static void write_entry(FILE *file, tally_op op, tally_op first, tally_dtype in, tally_accuracy accuracy,
                        const tally_term *term) {
    if (first != op)
        fprintf(file, "#define OF_FIRST(name) %s_%s%s_##name\n", tally_op_name(first), tally_dtype_name(in), suffix(accuracy));
    fprintf(file, "#define IS_IDEMPOTENT %d\n", tally_op_row_for(op, in, accuracy)->exact == TALLY_IDEMPOTENT);
    fprintf(file, "#define NAME tally_host_%s_%s%s\n#define DEFAULTS {{%s", tally_op_name(op), tally_dtype_name(in),
            suffix(accuracy), term->param_count ? "" : "0");
    for (uint32_t i = 0; i < term->param_count; i++) fprintf(file, "%s%.17g", i ? ", " : "", term->params[i].value);
    fprintf(file, "}}\n#include \"host/entry.h\"\n");
}

/* Writes what the steps of scans need, where the op is for scans. */
static void write_scans(FILE *file, tally_op op, tally_accuracy accuracy, const tally_terms *terms) {
    const tally_term *term = &terms->list[0];
    if (tally_op_inputs(op) != 1 || accuracy) return;
    fprintf(file, "#define ACCS TALLY_HOST_PARTS\n");
    tally_source_arrays(file, terms);
    fprintf(file, "#define SCANS 1\n#define ACC_FIELDS {");
    for (uint32_t i = 0; i < term->field_count; i++) fprintf(file, "%zu, ", tally_dtype_bytes(term->fields[i].type));
    fprintf(file, term->field_count ? "}\n" : "%zu}\n", tally_dtype_bytes(term->value));
}

static tally_status resolve(tally_op op, tally_dtype in, tally_accuracy accuracy, tally_terms *terms, tally_launch *launch) {
    tally_reduce_desc desc = {.size = sizeof(desc), .op = op, .in = in, .max_n = TALLY_CHUNK_ITEMS, .accuracy = accuracy};
    return tally_reduce_resolve(&tally_host_cpu, NULL, &desc, terms, launch);
}

/* Makes the specialised text of a program. On success the caller frees it and closes the terms. */
static tally_status make_text(tally_op op, tally_dtype in, tally_accuracy accuracy, tally_terms *terms, char **text) {
    tally_launch launch;
    size_t bytes;
    tally_status status = resolve(op, in, accuracy, terms, &launch);
    if (status) return status;
    const tally_recipe recipe = tally_launch_recipe(&launch);
    status = tally_source_create(&tally_backend_host, 0, terms, &recipe, text, &bytes);
    if (status) tally_terms_close(terms);
    return status;
}

/* Returns a hash of a program's text without the op's name and result. If there is an error it
 * returns the op's number, which no other program has: so write_text is called for the op, and
 * reports the error. */
static uint64_t hash_without_result(tally_op op, tally_dtype in, tally_accuracy accuracy) {
    tally_terms terms;
    char *text, *rest;
    if (make_text(op, in, accuracy, &terms, &text)) return (uint64_t)op;
    tally_terms_close(&terms);
    uint64_t hash = 0;
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
        if (!strstr(line, "RESULT_0") && strncmp(line, "/* ", 3)) hash = 31 * hash + tally_host_hash(line, strlen(line));
    free(text);
    return hash;
}

/* Returns the first op whose program has all functions of this one but for the result's. */
static tally_op first_of(tally_op op, tally_dtype in, tally_accuracy accuracy) {
    static uint64_t hashes[TALLY_ACCURACY_END][TALLY_OP_END][TALLY_DTYPE_END];
    for (tally_op first = TALLY_OP_NONE + 1; first <= op; first++) {
        uint64_t *hash = &hashes[accuracy][first][in];
        if (!*hash && generate_is_program(first, in, accuracy)) *hash = hash_without_result(first, in, accuracy);
    }
    tally_op first = TALLY_OP_NONE + 1;
    while (hashes[accuracy][first][in] != hashes[accuracy][op][in]) first++;
    return first;
}

/* Writes a program as it would stand in a file of its own, behind the prelude. */
static tally_status write_text(FILE *file, tally_op op, tally_dtype in, tally_accuracy accuracy) {
    tally_terms terms;
    char *text;
    const tally_status status = make_text(op, in, accuracy, &terms, &text);
    if (status) return status;
    fputs(text, file);
    free(text);
    write_initial(file, &terms);
    write_scans(file, op, accuracy, &terms);
    write_entry(file, op, first_of(op, in, accuracy), in, accuracy, &terms.list[0]);
    tally_terms_close(&terms);
    return TALLY_OK;
}

/* Writes a program among others. */
static tally_status write_program(FILE *file, const char *source, const generate_names *prelude, tally_op op, tally_dtype in,
                                  tally_accuracy accuracy) {
    char name[64], *text = NULL;
    size_t bytes;
    FILE *own = open_memstream(&text, &bytes);
    if (!own) return tally_fail(TALLY_E_MEMORY, "out of memory");
    tally_status status = write_text(own, op, in, accuracy);
    if (fclose(own) && !status) status = tally_fail(TALLY_E_MEMORY, "out of memory");
    generate_names *names = status ? NULL : generate_names_of(source, text);
    if (!status && !names) status = TALLY_E_INTERNAL;
    if (!status) {
        snprintf(name, sizeof(name), "%s_%s%s", tally_op_name(op), tally_dtype_name(in), suffix(accuracy));
        generate_names_begin(file, names, name);
        fputs(text, file);
        generate_names_end(file, names, prelude);
    }
    generate_names_close(names);
    free(text);
    return status;
}

/* Writes the beginning of a file: what the prelude asks for, and the prelude. All programs of an op
 * have the same text. */
static tally_status write_prelude(FILE *file, tally_op op, tally_dtype in) {
    tally_terms terms;
    tally_launch launch;
    const tally_status status = resolve(op, in, TALLY_ACCURACY_DEFAULT, &terms, &launch);
    if (status) return status;
    if (terms.list[0].text) fprintf(file, "#define FUSES 1\n");
    if (kind_of(in) == GENERATE_COMPLEXES) fprintf(file, "#define COMPLEX_ITEMS 1\n");
    fputs(PRELUDE, file);
    tally_terms_close(&terms);
    return TALLY_OK;
}

/* Writes the programs of a type that have this one's functions. */
static tally_status write_alike(FILE *file, const char *source, const generate_names *prelude, tally_op first, tally_dtype in,
                                tally_accuracy accuracy) {
    tally_status status = TALLY_OK;
    for (tally_op op = first; op < TALLY_OP_END && !status; op++)
        if (generate_is_program(op, in, accuracy) && first_of(op, in, accuracy) == first)
            status = write_program(file, source, prelude, op, in, accuracy);
    return status;
}

tally_status generate_programs(FILE *file, const char *source, tally_op op, generate_kind kind) {
    generate_names *prelude = generate_names_of(source, PRELUDE);
    tally_status status = prelude ? TALLY_OK : TALLY_E_INTERNAL;
    bool any = false;
    for (tally_accuracy accuracy = TALLY_ACCURACY_DEFAULT; accuracy < TALLY_ACCURACY_END; accuracy++)
        for (tally_dtype in = TALLY_DTYPE_DEFAULT + 1; in < TALLY_DTYPE_END && !status; in++) {
            if (kind_of(in) != kind || !generate_is_program(op, in, accuracy) || first_of(op, in, accuracy) != op) continue;
            if (!any) status = write_prelude(file, op, in);
            any = true;
            if (!status) status = write_alike(file, source, prelude, op, in, accuracy);
        }
    if (!any) fprintf(file, "typedef int nothing;\n");
    generate_names_close(prelude);
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
                                tally_dtype_name(in), suffix(accuracy));
    }
    fprintf(file, "};\nCODE\n");
    return TALLY_OK;
}
