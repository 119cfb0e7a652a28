/* SPDX-License-Identifier: MIT */
/*
 * The CUDA kernels of gather and scatter, of records of parts and of runs of keys, without a GPU,
 * as nvrtc.c has those of reductions: compiled to machine code, without local memory. One
 * architecture compiles every size of items, and every type of map, stencil and bounds. The others
 * compile some.
 */
#define _DEFAULT_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/cuda/compiler.h"
#include "move/move.h"
#include "report.h"
#include "segments/segments.h"
#include "tests/support/sample.h"
#include "tests/support/test_main.h"

#define FULL_ARCH 90

extern const tally_backend tally_backend_cuda;

static const tally_cuda_compiler *compiler;
static int programs, most_registers;

static bool compiler_knows(int arch) {
    for (int i = 0; i < compiler->count; i++)
        if (compiler->archs[i] == arch) return true;
    return false;
}

static char *source_of(bool scatter, const tally_move_desc *given) {
    const tally_device_info device = {.backend = "cuda",
                                      .device_class = TALLY_CLASS_GPU,
                                      .compute_units = 100,
                                      .max_group_threads = 1024,
                                      .memory_bytes = UINT64_C(1) << 35,
                                      .has_atomic64 = 1};
    tally_move_desc desc;
    tally_move_spec spec;
    char *source;
    if (tally_move_resolve(&device, scatter, given, &desc, &spec)) fail_msg("%s", tally_last_error());
    const tally_move_text defines = tally_move_defines(&spec);
    if (tally_source_of_stem(&tally_backend_cuda, TALLY_MOVE_STEM, spec.group_threads, defines.text, &source))
        fail_msg("%s", tally_last_error());
    return source;
}

static void compile(int arch, int kind, uint32_t item_bytes, tally_dtype map, uint32_t flags, uint64_t max_n) {
    static const char *const kernels[] = {"tally_move", "tally_claim", "tally_clear"};
    const tally_move_desc desc = {.size = sizeof desc,
                                  .item_bytes = item_bytes,
                                  .map = map,
                                  .flags = flags | (kind == 2 ? TALLY_SCATTER_LAST : 0u),
                                  .max_n = max_n,
                                  .max_out = 1000};
    char *source = source_of(kind > 0, &desc), name[96], text[1000];
    tally_cuda_image image;
    snprintf(name, sizeof name, "sm_%d %s of %u bytes, map %s, flags %u", arch, kind ? "scatter" : "gather", item_bytes,
             tally_dtype_name(map), desc.flags);
    if (tally_cuda_compile(source, arch, "--ptxas-options=-v", &image)) fail_msg("%s: %s", name, tally_last_error());
    for (int k = 0; k < (kind == 2 ? 3 : 1); k++) {
        const int registers = nvrtc_read_report(image.log, kernels[k], text, sizeof text);
        if (registers < 0) fail_msg("%s: %s", name, text);
        if (registers > most_registers) most_registers = registers;
    }
    tally_cuda_image_free(&image);
    free(source);
    programs++;
}

static void test_sizes(void **state) {
    (void)state;
    static const tally_dtype maps[] = {TALLY_I32, TALLY_U32, TALLY_I64, TALLY_U64};
    for (int kind = 0; kind < 3; kind++)
        for (uint32_t bytes = 1; bytes <= 16; bytes++)
            if (sample_has_turn(bytes)) compile(FULL_ARCH, kind, bytes, maps[bytes % 4], 0, 1000);
}

static void test_kinds(void **state) {
    (void)state;
    static const tally_dtype maps[] = {TALLY_I32, TALLY_U32, TALLY_I64, TALLY_U64};
    for (int kind = 0; kind < 3; kind++)
        for (size_t m = 0; m < TALLY_ARRAY_LENGTH(maps); m++)
            for (int more = 0; more < 8; more++)
                if (sample_has_turn(m + (size_t)more))
                    compile(FULL_ARCH, kind, 4, maps[m], (more & 1 ? TALLY_UNCHECKED : 0u) | (more & 2 ? TALLY_STENCIL : 0u),
                            more & 4 ? UINT64_C(1) << 33 : 1000);
}

static void test_architectures(void **state) {
    (void)state;
    static const uint32_t some[] = {4, 15, 16};
    for (size_t a = 0; a < TALLY_ARRAY_LENGTH(nvrtc_archs); a++) {
        if (!compiler_knows(nvrtc_archs[a])) {
            printf("sm_%d skipped: this NVRTC does not know it\n", nvrtc_archs[a]);
            continue;
        }
        for (int kind = 0; kind < 3; kind++)
            for (size_t s = 0; s < TALLY_ARRAY_LENGTH(some); s++) compile(nvrtc_archs[a], kind, some[s], TALLY_I64, 0, 0);
    }
}

/* Compiles a stem for each architecture. None of its kernels, up to NULL, may use local memory. */
static void compile_stem(const char *stem, const char *defines, const char *const *kernels) {
    char *source, text[1000];
    if (tally_source_of_stem(&tally_backend_cuda, stem, 256, defines, &source)) fail_msg("%s", tally_last_error());
    for (size_t a = 0; a < TALLY_ARRAY_LENGTH(nvrtc_archs); a++) {
        tally_cuda_image image;
        if (!compiler_knows(nvrtc_archs[a])) continue;
        if (tally_cuda_compile(source, nvrtc_archs[a], "--ptxas-options=-v", &image)) fail_msg("%s", tally_last_error());
        for (size_t k = 0; kernels[k]; k++)
            if (nvrtc_read_report(image.log, kernels[k], text, sizeof text) < 0)
                fail_msg("sm_%d: %s: %s", nvrtc_archs[a], kernels[k], text);
        tally_cuda_image_free(&image);
        programs++;
    }
    free(source);
}

/* The kernels of records of parts (kernels/part.h). */
static void test_records(void **state) {
    (void)state;
    static const char *const kernels[] = {"tally_part_items", "tally_part_seal", NULL};
    compile_stem("part", "", kernels);
}

/* The kernels that find runs of keys (kernels/keys.h). */
static void test_keys(void **state) {
    (void)state;
    static const char *const kernels[] = {"tally_keys_count", "tally_keys_place", "tally_keys_write", "tally_keys_lengths",
                                          NULL};
    static const uint32_t bytes[] = {1, 4, 6, 16};
    for (size_t b = 0; b < TALLY_ARRAY_LENGTH(bytes); b++)
        if (sample_has_turn(b)) compile_stem("keys", tally_segments_key_defines(bytes[b], b % 2 ? 4 : 8, false).text, kernels);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_sizes), cmocka_unit_test(test_kinds),
                                       cmocka_unit_test(test_architectures), cmocka_unit_test(test_records),
                                       cmocka_unit_test(test_keys)};
    test_choice choice;
    int status = test_choose(argc, argv, "The CUDA kernels of gather and scatter, compiled without a GPU.", &choice);
    if (status < 0) status = nvrtc_open(&compiler);
    if (status >= 0) return status;
    const int failed = test_run(&choice, tests, TALLY_ARRAY_LENGTH(tests), NULL, NULL);
    if (!choice.list) printf("%d programs, %d registers at most\n", programs, most_registers);
    return failed;
}
