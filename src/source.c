/* SPDX-License-Identifier: MIT */
/* The source specialiser: prelude, the specialised text made from the tables' rows, then the stems. The same for every backend. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>

#include "core.h"

/* The constants and operators of the accumulator's type that an op's expressions use; the preludes define them per type. */
static const char *const constants[] = {"ZERO", "NEG_ZERO", "LOWEST", "HIGHEST"};
static const char *const operators[] = {"MIN", "MAX"};

static void write_spec(FILE *file, const tally_spec *spec) {
    const tally_op_row *op = tally_op_find(spec->op);
    const char *in = tally_dtype_name(spec->in), *out = tally_dtype_name(spec->out);
    const char *acc = tally_dtype_name(tally_accumulator_dtype(spec->op, spec->in));
    fprintf(file, "\n/* specialised: %s of %s */\n", op->name, in);
    fprintf(file, "typedef %s ITEM;\ntypedef %s_VECTOR ITEM_VECTOR;\ntypedef %s ACC;\ntypedef %s RESULT;\n", in, in, acc, out);
    fprintf(file, "#define ITEM_BYTES %zu\n#define GROUP %u\n", tally_dtype_bytes(spec->in), spec->group_items);
    fprintf(file, "#define ACC_BYTES %zu\n#define FACTOR %u\n", tally_dtype_bytes(tally_accumulator_dtype(spec->op, spec->in)),
            spec->factor);
    const bool integer = tally_dtype_find(tally_accumulator_dtype(spec->op, spec->in))->kind != TALLY_KIND_FLOAT;
    if (op->atomic == TALLY_ATOMIC_ADD) fprintf(file, "#define NATIVE_%s_ADD 1\n", integer ? "INTEGER" : "FLOAT");
    if (spec->variant->stage == TALLY_STAGE_ATOMIC) fprintf(file, "#define ATOMIC_STAGE 1\n");
    for (size_t i = 0; tally_features[i].name; i++)
        if (spec->features & (1u << i)) fprintf(file, "#define %s 1\n", tally_features[i].name);
    fprintf(file, "#define LANES %d\n#define ROWS %d\n#define CHUNK_ITEMS %d\n", TALLY_LANES, TALLY_ROWS, TALLY_CHUNK_ITEMS);
    for (size_t i = 0; i < TALLY_ARRAY_LENGTH(constants); i++)
        fprintf(file, "#define ACC_%s ((ACC)%s_%s)\n", constants[i], acc, constants[i]);
    for (size_t i = 0; i < TALLY_ARRAY_LENGTH(operators); i++)
        fprintf(file, "#define ACC_%s(a, b) %s_%s(a, b)\n", operators[i], acc, operators[i]);
    fprintf(file, "#define IDENTITY (%s)\n", op->identity);
    fprintf(file, "INLINE ACC op_load(ITEM x, u64 i) { return (ACC)(%s); }\n", op->load);
    fprintf(file, "INLINE ACC op_combine(ACC a, ACC b) { return %s; }\n", op->combine);
    fprintf(file, "INLINE RESULT op_result(ACC a) { RESULT r = (RESULT)(%s); return %s_CANONICAL(r); }\n", op->finish, out);
    fprintf(file, "INLINE RESULT op_empty(void) { return (RESULT)(%s); }\n\n", op->empty);
}

tally_status tally_source_create(const tally_backend *backend, const tally_spec *spec, char **text, size_t *bytes) {
    const char *stems[] = {"prelude", "finish", spec->variant->ladder ? "ladder" : NULL, spec->variant->info.stem};
    FILE *file = open_memstream(text, bytes);
    if (!file) return tally_fail(TALLY_E_MEMORY, "tally_source_create: out of memory");
    for (size_t i = 0; i < TALLY_ARRAY_LENGTH(stems); i++) {
        if (!stems[i]) continue;
        const char *source = backend->kernel_source(stems[i]);
        if (!source) {
            fclose(file);
            free(*text);
            *text = NULL;
            return tally_fail(TALLY_E_UNSUPPORTED, "variant %s: backend %s has no kernels '%s'", spec->variant->info.name,
                              backend->name, stems[i]);
        }
        fputs(source, file);
        if (i == 0) write_spec(file, spec);
    }
    const bool failed = ferror(file);
    if (fclose(file) || failed) {
        free(*text);
        *text = NULL;
        return tally_fail(TALLY_E_MEMORY, "tally_source_create: out of memory");
    }
    return TALLY_OK;
}

tally_status tally_source_of_stem(const tally_backend *backend, const char *stem, uint32_t group_items, char **text) {
    const char *prelude = backend->kernel_source("prelude"), *source = backend->kernel_source(stem);
    if (!prelude || !source) return tally_fail(TALLY_E_UNSUPPORTED, "backend %s has no kernels '%s'", backend->name, stem);
    if (asprintf(text, "#define GROUP %u\n%s%s", group_items, prelude, source) >= 0) return TALLY_OK;
    return tally_fail(TALLY_E_MEMORY, "tally_source_of_stem: out of memory");
}
