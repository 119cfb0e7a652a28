/* SPDX-License-Identifier: MIT */
/*
 * tally_host_programs FOLDER DTYPE...: writes the built-in ops of these dtypes as C programs, which
 * become part of the library (cmake/host.cmake). Each is the CPU's kernel cpu_chunks for one op. It
 * also writes the table tally_host_functions and the combiners. It is linked from the library's own
 * objects, so these programs come from the same specialiser (src/program/source.c) as those of
 * every device.
 */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/cpu.h"
#include "host/host.h"

#ifdef TALLY_WITH_CUDA
#include "../../backends/cuda/prebuilt.h"
/* The core refers to it. */
const tally_cuda_archive_head tally_cuda_archive = {.count = 0};
#endif
const tally_host_function tally_host_functions[TALLY_OP_END][TALLY_DTYPE_END] = {{NULL}};
const tally_host_combiner tally_host_combiners[TALLY_ROW_LEVELS][TALLY_OP_END][TALLY_DTYPE_END] = {{{NULL}}};

const char *tally_kernel_source_host(const char *stem); /* embedded by the build */

static const tally_backend host = {.name = "host", .kernel_source = tally_kernel_source_host};

static void write_defaults(FILE *file, const tally_term *term) {
    fprintf(file, "\n#define DEFAULTS {{%s", term->param_count ? "" : "0");
    for (uint32_t i = 0; i < term->param_count; i++) fprintf(file, "%s%.17g", i ? ", " : "", term->params[i].value);
    fprintf(file, "}}\n");
}

static tally_status write_program(FILE *file, tally_op op, tally_dtype in) {
    tally_reduce_desc desc = {.size = sizeof(desc), .op = op, .in = in, .max_n = TALLY_CHUNK_ITEMS};
    tally_terms terms;
    tally_launch launch;
    char *text;
    size_t bytes;
    tally_status status = tally_reduce_resolve(&tally_host_cpu, NULL, &desc, &terms, &launch);
    if (status) return status;
    const tally_recipe recipe = tally_launch_recipe(&launch);
    status = tally_source_create(&host, 0, &terms, &recipe, &text, &bytes);
    if (!status) {
        fputs(text, file);
        write_defaults(file, &terms.list[0]);
        fprintf(file, "#define ENTRY tally_host_%s_%s\n%s", tally_op_name(op), tally_dtype_name(in),
                tally_kernel_source_host("entry"));
        free(text);
    }
    tally_terms_close(&terms);
    return status;
}

static bool is_program(tally_op op, tally_dtype in) {
    return tally_op_row_for(op, in, TALLY_ACCURACY_DEFAULT) && tally_op_inputs(op) <= 2;
}

/* Writes the program of an op and a dtype, or a typedef if there is none: the build has a file for
 * each pair, and ISO C wants a declaration in it. */
static tally_status write_file(FILE *file, tally_op op, tally_dtype in) {
    if (is_program(op, in)) return write_program(file, op, in);
    fprintf(file, "/* %s does not take %s. */\ntypedef int nothing;\n", tally_op_name(op), tally_dtype_name(in));
    return TALLY_OK;
}

static void each_function(FILE *file, const tally_dtype *dtypes, int count, void (*write)(FILE *, tally_op, tally_dtype)) {
    for (tally_op op = TALLY_OP_NONE + 1; op < TALLY_OP_END; op++)
        for (int d = 0; d < count; d++)
            if (is_program(op, dtypes[d])) write(file, op, dtypes[d]);
}

static void write_declaration(FILE *file, tally_op op, tally_dtype in) {
    fprintf(file, "size_t tally_host_%s_%s(const void *const *items, uint64_t n, void *result);\n", tally_op_name(op),
            tally_dtype_name(in));
}

static void write_row(FILE *file, tally_op op, tally_dtype in) {
    fprintf(file, "    [%d][%d] = tally_host_%s_%s,\n", (int)op, (int)in, tally_op_name(op), tally_dtype_name(in));
}

static void write_table(FILE *file, const tally_dtype *dtypes, int count) {
    fprintf(file, "#include \"host/host.h\"\n\n");
    each_function(file, dtypes, count, write_declaration);
    fprintf(file, "\nconst tally_host_function tally_host_functions[TALLY_OP_END][TALLY_DTYPE_END] = {\n");
    each_function(file, dtypes, count, write_row);
    fprintf(file, "};\n");
}

/* ---- combiners ------------------------------------------------------------------------------- */

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
    if (!tally_op_row_for(op, in, accuracy) || tally_op_row_level(op, in, accuracy) != level) return false;
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

static tally_status write_combine_file(FILE *file) {
    fprintf(file, "#include \"host/combine.h\"\n\n");
    write_combiners(file, false);
    fprintf(file, "const tally_host_combiner tally_host_combiners[TALLY_ROW_LEVELS][TALLY_OP_END][TALLY_DTYPE_END] = {\n");
    write_combiners(file, true);
    fprintf(file, "};\n");
    return TALLY_OK;
}

/* ---- files ----------------------------------------------------------------------------------- */

/* Writes a file, unless it has the text already, so that nothing is rebuilt for it. */
static tally_status keep(const char *folder, const char *name, const char *text, size_t bytes) {
    char path[4096];
    snprintf(path, sizeof(path), "%s/%s.c", folder, name);
    char *old = malloc(bytes + 1);
    FILE *file = fopen(path, "rb");
    const bool same = old && file && fread(old, 1, bytes + 1, file) == bytes && !memcmp(old, text, bytes);
    if (file) fclose(file);
    free(old);
    if (same) return TALLY_OK;
    file = fopen(path, "wb");
    const bool written = file && fwrite(text, 1, bytes, file) == bytes;
    if (!file || fclose(file) || !written) return tally_fail(TALLY_E_INTERNAL, "%s cannot be written", path);
    return TALLY_OK;
}

/* Makes the file of a program; op TALLY_OP_NONE: of the table; TALLY_OP_END: of the combiners. */
static tally_status make_file(const char *folder, tally_op op, const tally_dtype *dtypes, int count) {
    char *text, name[64] = "table";
    size_t bytes;
    tally_status status = TALLY_OK;
    FILE *file = open_memstream(&text, &bytes);
    if (!file) return tally_fail(TALLY_E_MEMORY, "out of memory");
    fprintf(file, "/* Made by tally_host_programs. */\n");
    if (op == TALLY_OP_END) {
        snprintf(name, sizeof(name), "combine");
        status = write_combine_file(file);
    } else if (op) {
        snprintf(name, sizeof(name), "%s_%s", tally_op_name(op), tally_dtype_name(dtypes[0]));
        status = write_file(file, op, dtypes[0]);
    } else {
        write_table(file, dtypes, count);
    }
    if (fclose(file) && !status) status = tally_fail(TALLY_E_MEMORY, "out of memory");
    if (!status) status = keep(folder, name, text, bytes);
    free(text);
    return status;
}

static tally_status make(int count, char **arguments) {
    tally_dtype dtypes[TALLY_DTYPE_END];
    const int used = count - 2;
    tally_status status = TALLY_OK;
    if (used < 1 || used > TALLY_DTYPE_END) return tally_fail(TALLY_E_ARGUMENT, "usage: tally_host_programs FOLDER DTYPE...");
    for (int d = 0; d < used && !status; d++) status = tally_dtype_from_name(arguments[2 + d], &dtypes[d]);
    if (!status) status = make_file(arguments[1], TALLY_OP_NONE, dtypes, used);
    if (!status) status = make_file(arguments[1], TALLY_OP_END, dtypes, used);
    for (tally_op op = TALLY_OP_NONE + 1; op < TALLY_OP_END; op++)
        for (int d = 0; d < used && !status; d++) status = make_file(arguments[1], op, &dtypes[d], 1);
    return status;
}

int main(int count, char **arguments) {
    const tally_status status = make(count, arguments);
    if (status) fprintf(stderr, "tally_host_programs: %s\n", tally_last_error());
    return status != TALLY_OK;
}
