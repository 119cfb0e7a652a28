/* SPDX-License-Identifier: MIT */
/*
 * The CUDA kernels of segments without a GPU: each op and dtype, with the forms of segments in
 * turn, compiled to machine code for one architecture, and a sum for each of the others. A counter
 * in registers must not end in local memory for the accumulators that most calls have. The programs
 * of a plan by axes are compiled apart too, as plans do: each has its kernels and no others.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/cuda/compiler.h"
#include "segments/segments.h"
#include "report.h"
#include "tests/support/sample.h"
#include "tests/support/test_main.h"

#define FULL_ARCH 90
#define GROUP_THREADS 256

extern const tally_backend tally_backend_cuda;

static const tally_cuda_compiler *compiler;

/* The forms: by axes, with a mask, by offsets of 4 bytes, by keys. */
static const tally_segment_form forms[] = {{.axes = TALLY_SHAPE_AXES},
                                           {.axes = TALLY_SHAPE_AXES, .has_where = 1, .apart = 1},
                                           {.axes = TALLY_SHAPE_AXES, .offset_bytes = 4},
                                           {.axes = TALLY_SHAPE_AXES, .offset_bytes = 8, .has_number = 1, .has_where = 1}};
#define FORMS TALLY_ARRAY_LENGTH(forms)

typedef struct cell {
    int arch;
    tally_op op;
    tally_dtype in;
    unsigned form;
    char name[96];
} cell;

#define MAX_CELLS 512
static cell cells[MAX_CELLS];
static size_t cell_count;
static test_choice choice;

/* Tells whether a kernel may use local memory: accumulators of more than two words need many
 * registers, the kernel of a work list has a counter of any length for its last resort, and masks
 * are read through a pointer to the shape. */
static bool may_spill(const cell *c, const tally_terms *terms, const char *kernel) {
    if (!strcmp(kernel, "tally_segments_long")) return false;
    if (!strcmp(kernel, "tally_segments_dense")) return terms->acc.bytes > 8;
    return terms->acc.bytes > 8 || tally_dtype_bytes(c->in) > 8 || strcmp(kernel, "tally_segments_teams") ||
           forms[c->form].offset_bytes;
}

/* Tells whether devices of the architecture have the feature BULK, and warps that stage rows. */
static bool stages(const cell *c) {
    return c->arch >= 90;
}

static void check_kernel(const cell *c, const tally_terms *terms, const char *log, const char *kernel) {
    char text[1000] = "";
    const int registers = nvrtc_read_report(log, kernel, text, sizeof(text));
    if (registers < 0 && !(registers == NVRTC_SPILLS && may_spill(c, terms, kernel)))
        fail_msg("%s: %s: %s", c->name, kernel, text);
}

static void test_cell(void **state) {
    static const char *const by_axes[] = {"tally_segments_teams", "tally_segments_threads", "tally_segments_fold",
                                          "tally_segments_fold_each"};
    static const char *const plain[] = {"tally_segments_short", "tally_segments_columns",     "tally_segments_planes",
                                        "tally_segments_quad",  "tally_segments_quad_chunks", "tally_segments_long"};
    static const char *const by_offsets[] = {"tally_segments_clear", "tally_segments_teams", "tally_segments_chunks",
                                             "tally_segments_fold"};
    const cell *c = *state;
    const tally_terms_desc desc = {.in = c->in, .single = {.op = c->op}};
    tally_segment_form form = forms[c->form];
    tally_terms terms;
    char *source;
    size_t bytes;
    tally_cuda_image image;
    assert_int_equal(tally_terms_resolve(&desc, &terms), TALLY_OK);
    form.inputs = terms.inputs;
    form.has_initial = terms.list[0].initial != NULL && ((unsigned)c->op + (unsigned)c->in) % 2;
    const tally_recipe recipe =
        tally_segments_recipe(&tally_segments_variants[TALLY_SEGMENTS_TEAMS], GROUP_THREADS, &form, TALLY_SEGMENT_ALL_PROGRAMS);
    const unsigned features = 1u << TALLY_FEATURE_ORDER | (unsigned)stages(c) << TALLY_FEATURE_BULK;
    assert_int_equal(tally_source_create(&tally_backend_cuda, features, &terms, &recipe, &source, &bytes), TALLY_OK);
    if (tally_cuda_compile(source, c->arch, "--ptxas-options=-v", &image)) fail_msg("%s: %s", c->name, tally_last_error());
    for (size_t k = 0; k < TALLY_ARRAY_LENGTH(by_axes); k++)
        check_kernel(c, &terms, image.log, form.offset_bytes ? by_offsets[k] : by_axes[k]);
    const bool is_plain = !form.has_where && !terms.list[0].lane.pivot.load;
    for (size_t k = 0; k < TALLY_ARRAY_LENGTH(plain) && !form.offset_bytes && is_plain; k++)
        check_kernel(c, &terms, image.log, plain[k]);
    if (!form.offset_bytes && !is_plain) check_kernel(c, &terms, image.log, "tally_segments_single");
    if (form.offset_bytes && !form.has_number) check_kernel(c, &terms, image.log, "tally_segments_alone");
    if (stages(c) && !form.offset_bytes && terms.inputs == 1 && (!is_plain || tally_dtype_bytes(c->in) <= 4))
        check_kernel(c, &terms, image.log, "tally_segments_dense");
    tally_cuda_image_free(&image);
    free(source);
    tally_terms_close(&terms);
}

static const struct {
    const char *entry;
    unsigned program, when;
} kernel_rows[] = {
#define ROW(member, entry, program, when) {entry, TALLY_SEGMENT_IN_##program, when},
    TALLY_SEGMENT_KERNELS(ROW)
#undef ROW
};

/* The kernels of a plan by axes of one input of f32, and of one with a mask. */
#define OF_PLAIN                                                                                                               \
    (TALLY_SEGMENT_BY_AXES | TALLY_SEGMENT_PLAIN | TALLY_SEGMENT_ROWS_2 | TALLY_SEGMENT_ROWS_4 | TALLY_SEGMENT_SHUFFLES |      \
     TALLY_SEGMENT_SHUFFLES_2 | TALLY_SEGMENT_TILES | TALLY_SEGMENT_FLAT | TALLY_SEGMENT_LONG)
#define OF_MASKED (TALLY_SEGMENT_BY_AXES | TALLY_SEGMENT_NOT_PLAIN | TALLY_SEGMENT_TILES)

static void compile_program(const tally_segment_form *form, unsigned program, unsigned when) {
    const tally_terms_desc desc = {.in = TALLY_F32, .single = {.op = TALLY_SUM}};
    const unsigned features = 1u << TALLY_FEATURE_ORDER | 1u << TALLY_FEATURE_BULK;
    const tally_recipe recipe =
        tally_segments_recipe(&tally_segments_variants[TALLY_SEGMENTS_TEAMS], GROUP_THREADS, form, 1u << program);
    tally_terms terms;
    char *source, text[1000];
    size_t bytes;
    tally_cuda_image image;
    assert_int_equal(tally_terms_resolve(&desc, &terms), TALLY_OK);
    assert_int_equal(tally_source_create(&tally_backend_cuda, features, &terms, &recipe, &source, &bytes), TALLY_OK);
    if (tally_cuda_compile(source, FULL_ARCH, "--ptxas-options=-v", &image))
        fail_msg("program %u: %s", program, tally_last_error());
    for (size_t k = 0; k < TALLY_ARRAY_LENGTH(kernel_rows); k++) {
        const bool is_wanted = kernel_rows[k].program == program && kernel_rows[k].when & when;
        const int registers = nvrtc_read_report(image.log, kernel_rows[k].entry, text, sizeof(text));
        if (is_wanted != (registers >= 0 || registers == NVRTC_SPILLS))
            fail_msg("program %u, %s: %s", program, kernel_rows[k].entry, is_wanted ? text : "it is there");
    }
    tally_cuda_image_free(&image);
    free(source);
    tally_terms_close(&terms);
}

static void test_programs(void **unused) {
    (void)unused;
    tally_segment_form form = {.axes = TALLY_SHAPE_AXES, .inputs = 1};
    for (unsigned p = 0; p < TALLY_SEGMENT_PROGRAM_END; p++) compile_program(&form, p, OF_PLAIN);
    form.has_where = 1;
    compile_program(&form, TALLY_SEGMENT_IN_TEAMS, OF_MASKED);
    compile_program(&form, TALLY_SEGMENT_IN_THREADS, OF_MASKED);
    compile_program(&form, TALLY_SEGMENT_IN_TILES, OF_MASKED);
}

static void add(int arch, tally_op op, tally_dtype in, unsigned form) {
    cell *c = &cells[cell_count];
    *c = (cell){arch, op, in, form, ""};
    snprintf(c->name, sizeof(c->name), "sm_%d %s %s, form %u", arch, tally_op_name(op), tally_dtype_name(in), form);
    if (test_is_chosen(&choice, c->name) && sample_takes(c->name)) cell_count++;
}

static void make_cells(void) {
    unsigned turn = 0;
    for (size_t a = 0; a < TALLY_ARRAY_LENGTH(nvrtc_archs); a++)
        for (int i = 0; i < compiler->count; i++)
            if (compiler->archs[i] == nvrtc_archs[a]) add(nvrtc_archs[a], TALLY_SUM, TALLY_F32, turn++ % FORMS);
    for (tally_op op = TALLY_OP_NONE + 1; op < TALLY_OP_END; op++)
        for (tally_dtype in = TALLY_DTYPE_DEFAULT + 1; in < TALLY_DTYPE_END; in++)
            if (tally_op_row_for(op, in, TALLY_ACCURACY_DEFAULT)) add(FULL_ARCH, op, in, turn++ % FORMS);
}

int main(int argc, char **argv) {
    static struct CMUnitTest tests[MAX_CELLS + 1];
    static const char programs[] = "programs apart";
    int status = test_choose(argc, argv, "The CUDA kernels of segments, compiled without a GPU.", &choice);
    if (status < 0) status = nvrtc_open(&compiler);
    if (status >= 0) return status;
    make_cells();
    for (size_t i = 0; i < cell_count; i++)
        tests[i] = (struct CMUnitTest){.name = cells[i].name, .test_func = test_cell, .initial_state = &cells[i]};
    size_t count = cell_count;
    if (test_is_chosen(&choice, programs)) tests[count++] = (struct CMUnitTest){.name = programs, .test_func = test_programs};
    return test_run(&choice, tests, count, NULL, NULL);
}
