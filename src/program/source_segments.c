/* SPDX-License-Identifier: MIT */
/* source_segments.c: the specialised text of a plan of segments: its outputs, the form of its
 * segments, and the accumulator of an initial result. */
#include "program/source.h"

/* Writes `format` for each output, of results of all terms or (apart) of one: # becomes its type,
 * $ its number. */
static void each_output(FILE *file, const tally_terms *terms, bool apart, const char *format) {
    const uint32_t count = apart ? terms->count : 1;
    for (uint32_t t = 0; t < count; t++)
        for (const char *c = format; *c; c++) {
            if (*c == '$')
                fprintf(file, "%u", t);
            else if (*c == '#' && apart)
                fprintf(file, "RESULT_%u", t);
            else if (*c == '#')
                fputs("RESULT", file);
            else if (*c == '|')
                fputs(t + 1 < count ? "," : "", file); /* between outputs */
            else if (*c == '@' && apart && terms->count > 1)
                fprintf(file, ".t%u", t); /* of a RESULT */
            else if (*c != '@')
                fputc(*c, file);
        }
}

void tally_source_segments(FILE *file, const tally_terms *terms, const tally_segment_form *form) {
    fprintf(file, "#define AXES %u\n", form->axes);
    if (form->has_where) fprintf(file, "#define WHERE 1\n");
    if (form->offset_bytes) fprintf(file, "#define OFFSET u%u\n", 8 * form->offset_bytes);
    if (form->has_number) fprintf(file, "#define NUMBER 1\n");
    fprintf(file, "typedef struct {");
    each_output(file, terms, form->apart, " GLOBAL # *t$;");
    fprintf(file, " } OUTS;\n#define OUT_ARGS ");
    each_output(file, terms, form->apart, "GLOBAL # *out$, u64 out$_offset|");
    fprintf(file, "\n#define OUTS_OF_ARGS { ");
    each_output(file, terms, form->apart, "out$ + out$_offset|");
    fprintf(file, " }\nINLINE void put_result(OUTS out, i64 at, RESULT MADE) {\n");
    each_output(file, terms, form->apart, "    out.t$[at] = MADE@;\n");
    fprintf(file, "}\n");
    if (!form->has_initial) return;
    fprintf(file, "#define INITIAL 1\n");
    for (uint32_t t = 0; t < terms->count; t++) tally_source_initial(file, terms, t);
    fprintf(file, "INLINE ACC op_initial(RESULT r) {\n    ACC MADE;\n");
    for (uint32_t t = 0; t < terms->count && terms->count > 1; t++)
        fprintf(file, "    MADE.t%u = t%u_initial(r.t%u);\n", t, t, t);
    fprintf(file, "%s    return MADE;\n}\n", terms->count > 1 ? "" : "    MADE = t0_initial(r);\n");
}
