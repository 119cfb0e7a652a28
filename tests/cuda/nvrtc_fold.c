/* SPDX-License-Identifier: MIT */
/*
 * The CUDA kernel that folds packets (kernels/fold.h) without a GPU, as nvrtc.c has those of
 * reductions: compiled to machine code, without local memory. One architecture compiles a program
 * for every shape of accumulator, the others for one op.
 */
#define _DEFAULT_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>

#include "backends/cuda/compiler.h"
#include "parts/parts.h"
#include "report.h"
#include "tests/support/own_ops.h"
#include "tests/support/sample.h"
#include "tests/support/test_main.h"

#define FULL_ARCH 90

extern const tally_backend tally_backend_cuda;

static const tally_cuda_compiler *compiler;
static int programs;

static bool compiler_knows(int arch) {
    for (int i = 0; i < compiler->count; i++)
        if (compiler->archs[i] == arch) return true;
    return false;
}

static char *source_of(const tally_reduce_desc *given, uint32_t threads) {
    const tally_device_info device = {.backend = "cuda",
                                      .device_class = TALLY_CLASS_GPU,
                                      .compute_units = 100,
                                      .max_group_threads = 1024,
                                      .memory_bytes = UINT64_C(1) << 35,
                                      .max_buffer_bytes = UINT64_C(1) << 35,
                                      .local_bytes = 48 << 10,
                                      .has_atomic64 = 1,
                                      .has_f64 = 1};
    tally_reduce_desc desc = *given;
    tally_terms terms;
    tally_launch launch;
    char *source;
    size_t bytes;
    desc.size = sizeof(desc);
    desc.max_n = 1 << 20;
    if (tally_reduce_resolve(&device, NULL, &desc, &terms, &launch)) fail_msg("%s", tally_last_error());
    const tally_recipe own = tally_launch_recipe(&launch), recipe = tally_fold_recipe(&own, threads);
    if (tally_source_create(&tally_backend_cuda, 0, &terms, &recipe, &source, &bytes)) fail_msg("%s", tally_last_error());
    tally_terms_close(&terms);
    return source;
}

static void compile_for(int arch, const tally_reduce_desc *desc, const char *name, uint32_t threads) {
    tally_cuda_image image;
    char text[1000], *source = source_of(desc, threads);
    if (tally_cuda_compile(source, arch, "--ptxas-options=-v", &image)) fail_msg("%s: %s", name, tally_last_error());
    if (nvrtc_read_report(image.log, "tally_fold", text, sizeof(text)) < 0) fail_msg("sm_%d: %s: %s", arch, name, text);
    tally_cuda_image_free(&image);
    free(source);
    programs++;
}

static void compile(int arch, const tally_reduce_desc *desc, const char *name) {
    compile_for(arch, desc, name, TALLY_FOLD_THREADS);
    compile_for(arch, desc, name, TALLY_FOLD_MANY_THREADS);
}

static void test_ops(void **state) {
    static const tally_dtype types[] = {TALLY_F32, TALLY_F64, TALLY_I8, TALLY_C128};
    (void)state;
    if (!compiler_knows(FULL_ARCH)) test_skip("this NVRTC does not know sm_%d", FULL_ARCH);
    for (tally_op op = TALLY_OP_NONE + 1; op < TALLY_OP_END; op++)
        for (size_t t = 0; t < TALLY_ARRAY_LENGTH(types); t++) {
            const tally_reduce_desc desc = {.op = op, .in = types[t]};
            if (sample_has_turn(op + t) && tally_result_dtype(op, types[t])) compile(FULL_ARCH, &desc, tally_op_name(op));
        }
}

static void test_several(void **state) {
    static const tally_term_desc terms[] = {
        {.op = TALLY_VAR}, {.op = TALLY_ARGMAX}, {.op = TALLY_LOGSUMEXP}, {.op = TALLY_ANY}};
    const tally_reduce_desc fused = {.in = TALLY_F32, .terms = terms, .term_count = 4};
    tally_reduce_desc own = {.in = TALLY_F32};
    tally_op_desc desc = own_twofold;
    (void)state;
    if (!compiler_knows(FULL_ARCH)) test_skip("this NVRTC does not know sm_%d", FULL_ARCH);
    compile(FULL_ARCH, &fused, "four ops");
    desc.size = sizeof(desc);
    tally_custom_op *op;
    if (tally_op_create(&desc, &op)) fail_msg("%s", tally_last_error());
    own.custom = op;
    compile(FULL_ARCH, &own, "an own operator");
    tally_op_destroy(op);
}

static void test_architectures(void **state) {
    const tally_reduce_desc var = {.op = TALLY_VAR, .in = TALLY_F32};
    (void)state;
    for (size_t a = 0; a < TALLY_ARRAY_LENGTH(nvrtc_archs); a++)
        if (compiler_knows(nvrtc_archs[a])) compile(nvrtc_archs[a], &var, "var");
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_ops), cmocka_unit_test(test_several),
                                       cmocka_unit_test(test_architectures)};
    test_choice choice;
    int status = test_choose(argc, argv, "The CUDA kernel that folds packets, compiled without a GPU.", &choice);
    if (status < 0) status = nvrtc_open(&compiler);
    if (status >= 0) return status;
    const int failed = test_run(&choice, tests, TALLY_ARRAY_LENGTH(tests), NULL, NULL);
    if (!choice.list) printf("%d programs\n", programs);
    return failed;
}
