/* SPDX-License-Identifier: MIT */
/*
 * The CUDA kernels without a GPU: NVRTC compiles every program that a plan can ask for, (architecture, variant, op, dtype), to
 * machine code, as the backend does, and the compiler's report must show no local memory: no spills, no stack. Without NVRTC
 * the test is skipped (exit status 77) with the reason, unless TALLY_TEST_REQUIRE names nvrtc.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../backends/cuda/compiler.h"
#include "core.h"

#define SKIPPED_STATUS 77

extern const tally_backend tally_backend_cuda;

/* What is named in the README. One of them compiles everything: every variant, op and dtype, and groups other than the variant's; for
 * the others a part of the ladder, which differs by its stems, is enough. */
static const int archs[] = {75, 80, 86, 89, 90, 100, 120};
#define ARCHS TALLY_ARRAY_LENGTH(archs)
#define FULL_ARCH 90
static const uint32_t other_groups[] = {32, 1024};

#define ONE(...) +1
#define OPS (0 TALLY_OP_TABLE(ONE, ))
#define DTYPES (0 TALLY_DTYPE_TABLE(ONE))

/* A cell is FAILED until it has shown otherwise. */
typedef enum cell_state { CELL_FAILED, CELL_COMPILED, CELL_SKIPPED } cell_state;

static const char *const kernels[] = {"tally_partials", "tally_finish"};
#define KERNELS TALLY_ARRAY_LENGTH(kernels)

typedef struct cell {
    int arch;
    tally_spec spec;
    char name[96];
    cell_state state;
    int registers[KERNELS];
} cell;

static const tally_cuda_compiler *compiler;

static bool compiler_knows(int arch) {
    for (int i = 0; i < compiler->count; i++)
        if (compiler->archs[i] == arch) return true;
    return false;
}

static bool has_kernels(const tally_variant *variant) {
    return tally_backend_cuda.kernel_source(variant->info.stem) != NULL;
}

/* ---- the report of the compiler ------------------------------------------------------------------------------------- */

/* Reads ptxas's report of one kernel; its number of registers. Fails the test when it uses local memory, or is not there. */
static int check_kernel(const char *log, const char *kernel, const char *cell_name) {
    char entry[96];
    snprintf(entry, sizeof(entry), "Compiling entry function '%s'", kernel);
    const char *report = strstr(log, entry);
    if (!report) fail_msg("%s: the compiler reports nothing of %s: %s", cell_name, kernel, log);
    unsigned stack = 1, stores = 1, loads = 1;
    int registers = 0;
    const char *line = strstr(report, " bytes stack frame"); /* what stands before the number depends on the version */
    while (line && line > report && strchr("0123456789", line[-1])) line--;
    if (!line ||
        sscanf(line, "%u bytes stack frame, %u bytes spill stores, %u bytes spill loads", &stack, &stores, &loads) != 3)
        fail_msg("%s: %s: a report of another form: %s", cell_name, kernel, report);
    if (stack || stores || loads)
        fail_msg("%s: %s uses local memory: %u bytes of stack, %u and %u bytes of spills", cell_name, kernel, stack, stores,
                 loads);
    const char *used = strstr(line, "Used ");
    if (!used || sscanf(used, "Used %d registers", &registers) != 1)
        fail_msg("%s: %s: a report of another form: %s", cell_name, kernel, report);
    return registers;
}

static void test_cell(void **state) {
    cell *c = *state;
    if (!compiler_knows(c->arch)) {
        c->state = CELL_SKIPPED;
        return;
    }
    char *source;
    size_t bytes;
    if (tally_source_create(&tally_backend_cuda, &c->spec, &source, &bytes)) fail_msg("%s: %s", c->name, tally_last_error());
    tally_cuda_image image;
    const tally_status status = tally_cuda_compile(source, c->arch, "--ptxas-options=-v", &image);
    free(source);
    if (status) fail_msg("%s: %s", c->name, tally_last_error());
    for (size_t k = 0; k < KERNELS; k++) c->registers[k] = check_kernel(image.log, kernels[k], c->name);
    const bool elf = image.bytes > 4 && !memcmp(image.data, "\177ELF", 4);
    tally_cuda_image_free(&image);
    if (!elf) fail_msg("%s: the image is no cubin", c->name);
    c->state = CELL_COMPILED;
}

/* ---- the compiler's own behaviour ----------------------------------------------------------------------------------- */

/* The prelude and the self-test that each device must pass, as the core puts them together. */
static char *probe_source(void) {
    const char *texts[] = {"#define GROUP 1\n", tally_backend_cuda.kernel_source("prelude"),
                           tally_backend_cuda.kernel_source("probe")};
    size_t bytes = 1;
    for (size_t i = 0; i < TALLY_ARRAY_LENGTH(texts); i++) {
        assert_non_null(texts[i]);
        bytes += strlen(texts[i]);
    }
    char *source = calloc(1, bytes);
    assert_non_null(source);
    for (size_t i = 0; i < TALLY_ARRAY_LENGTH(texts); i++) strcat(source, texts[i]);
    return source;
}

static void test_probe(void **state) {
    (void)state;
    char *source = probe_source();
    for (size_t i = 0; i < ARCHS; i++) {
        tally_cuda_image image;
        if (!compiler_knows(archs[i])) continue;
        if (tally_cuda_compile(source, archs[i], "--ptxas-options=-v", &image))
            fail_msg("probe, sm_%d: %s", archs[i], tally_last_error());
        check_kernel(image.log, "tally_probe", "probe");
        tally_cuda_image_free(&image);
    }
    free(source);
}

/* A device newer than NVRTC gets PTX of the newest architecture; products and sums in it are told to round by themselves. */
static void test_newer_device(void **state) {
    (void)state;
    char *source = probe_source(), target[32];
    tally_cuda_image image;
    if (tally_cuda_compile(source, 9999, NULL, &image)) fail_msg("sm_9999: %s", tally_last_error());
    const char *ptx = image.data;
    assert_int_equal(strlen(ptx) + 1, image.bytes);
    snprintf(target, sizeof(target), ".target sm_%d", compiler->archs[compiler->count - 1]);
    assert_non_null(strstr(ptx, target));
    assert_non_null(strstr(ptx, "mul.rn.f32"));
    assert_non_null(strstr(ptx, "add.rn.f32"));
    assert_null(strstr(ptx, "fma.rn.f32"));
    tally_cuda_image_free(&image);
    free(source);
}

static void test_older_device(void **state) {
    (void)state;
    tally_cuda_image image;
    assert_int_equal(tally_cuda_compile("", 10, NULL, &image), TALLY_E_BUILD);
    assert_non_null(strstr(tally_last_error(), "the device is sm_10"));
}

/* The error's text starts with the first error, wherever it is in the log, and is of bounded length. */
static void test_broken_source(void **state) {
    (void)state;
    char source[16384] = "__global__ void k() { int warned; }\n";
    for (int i = 0; i < 200; i++) strcat(source, "__global__ void broken() { no_such_name(); }\n");
    tally_cuda_image image;
    assert_int_equal(tally_cuda_compile(source, compiler->archs[0], NULL, &image), TALLY_E_BUILD);
    const char *text = tally_last_error();
    assert_non_null(strstr(text, "tally.cu(2): error: identifier \"no_such_name\" is undefined"));
    assert_null(strstr(text, "warned"));
    assert_true(strlen(text) < 800);
}

static void test_build_options(void **state) {
    (void)state;
    tally_device_info info;
    tally_cuda_build_options(1200, info.build_options, sizeof(info.build_options));
    assert_non_null(strstr(info.build_options, "sm_1200"));
    assert_non_null(strstr(info.build_options, "--fmad=false"));
    assert_true(strlen(info.build_options) + 1 < sizeof(info.build_options)); /* not cut */
}

/* ---- the matrix ------------------------------------------------------------------------------------------------------ */

/* Canonical variants compile everything for every architecture, and other groups for one; the ladder sums of f32 and i64 and a minimum
 * of f32, which is a compare-and-swap, and for one architecture everything, and the two sums for other groups. */
static bool is_wanted(const tally_variant *variant, int arch, uint32_t group_items, tally_op op, tally_dtype in) {
    const bool own_group = group_items == variant->info.group_items;
    if (variant->info.canonical) return own_group || arch == FULL_ARCH;
    const bool sum = op == TALLY_SUM && (in == TALLY_F32 || in == TALLY_I64), min = op == TALLY_MIN && in == TALLY_F32;
    if (own_group) return arch == FULL_ARCH || sum || min;
    return arch == FULL_ARCH && sum;
}

/* Writes the cells of one variant, architecture and group, if `cells` is not NULL; returns how many. */
static size_t add_cells(cell *cells, const tally_variant *variant, int arch, uint32_t group_items) {
    size_t count = 0;
    for (tally_op op = TALLY_OP_NONE + 1; op < TALLY_OP_END; op++)
        for (tally_dtype in = TALLY_DTYPE_DEFAULT + 1; in < TALLY_DTYPE_END; in++) {
            if (!is_wanted(variant, arch, group_items, op, in)) continue;
            if (!cells) {
                count++;
                continue;
            }
            cell *c = &cells[count++];
            c->arch = arch;
            c->spec = (tally_spec){.op = op,
                                   .in = in,
                                   .out = tally_result_dtype(op, in),
                                   .variant = variant,
                                   .group_items = group_items,
                                   .factor = variant->info.factor};
            snprintf(c->name, sizeof(c->name), "sm_%d %s/%u %s %s", arch, variant->info.name, group_items, tally_op_name(op),
                     tally_dtype_name(in));
        }
    return count;
}

static size_t make_cells(cell *cells) {
    size_t count = 0;
    for (size_t v = 0; v < tally_variant_count(); v++) {
        const tally_variant *variant = tally_variant_row(v);
        if (!has_kernels(variant)) continue;
        for (size_t a = 0; a < ARCHS; a++)
            count += add_cells(cells ? cells + count : NULL, variant, archs[a], variant->info.group_items);
        for (size_t g = 0; g < TALLY_ARRAY_LENGTH(other_groups); g++) {
            const uint32_t group = other_groups[g];
            if (group == variant->info.group_items || group < variant->min_group_items || group > variant->max_group_items)
                continue;
            count += add_cells(cells ? cells + count : NULL, variant, FULL_ARCH, group);
        }
    }
    return count;
}

/* The fewest programs that an architecture must have compiled, from the tables alone. */
static size_t floor_of(int arch) {
    size_t canonical = 0, steps = 0;
    for (size_t v = 0; v < tally_variant_count(); v++) {
        const tally_variant *variant = tally_variant_row(v);
        if (has_kernels(variant)) *(variant->info.canonical ? &canonical : &steps) += 1;
    }
    return canonical * OPS * DTYPES + steps * (arch == FULL_ARCH ? OPS * DTYPES : 3);
}

/* Prints the table; returns whether every known architecture compiled what it must. */
static bool report(const cell *cells, size_t count) {
    size_t known = 0;
    bool enough = true;
    for (size_t a = 0; a < ARCHS; a++)
        if (!compiler_knows(archs[a]))
            printf("sm_%d skipped: NVRTC %d.%d does not know it\n", archs[a], compiler->version / 1000,
                   compiler->version % 1000 / 10);
    printf("%-8s %8s %8s %8s   most registers: %s, %s\n", "arch", "compiled", "skipped", "failed", kernels[0], kernels[1]);
    for (size_t a = 0; a < ARCHS; a++) {
        size_t states[3] = {0};
        int most[KERNELS] = {0};
        for (size_t i = 0; i < count; i++) {
            if (cells[i].arch != archs[a]) continue;
            states[cells[i].state]++;
            for (size_t k = 0; k < KERNELS; k++)
                if (cells[i].registers[k] > most[k]) most[k] = cells[i].registers[k];
        }
        printf("sm_%-5d %8zu %8zu %8zu   %d, %d\n", archs[a], states[CELL_COMPILED], states[CELL_SKIPPED], states[CELL_FAILED],
               most[0], most[1]);
        if (!compiler_knows(archs[a])) continue;
        known++;
        enough = enough && floor_of(archs[a]) && states[CELL_COMPILED] >= floor_of(archs[a]);
    }
    return enough && known && compiler_knows(FULL_ARCH);
}

static int run(void) {
    const size_t count = make_cells(NULL);
    cell *cells = calloc(count + 1, sizeof(*cells));
    struct CMUnitTest *tests = calloc(count + 1, sizeof(*tests));
    if (!cells || !tests) return fputs("out of memory\n", stderr), 1;
    make_cells(cells);
    for (size_t i = 0; i < count; i++)
        tests[i] = (struct CMUnitTest){.name = cells[i].name, .test_func = test_cell, .initial_state = &cells[i]};
    const struct CMUnitTest behaviour[] = {cmocka_unit_test(test_probe), cmocka_unit_test(test_newer_device),
                                           cmocka_unit_test(test_older_device), cmocka_unit_test(test_broken_source),
                                           cmocka_unit_test(test_build_options)};
    int failed = cmocka_run_group_tests_name("NVRTC", behaviour, NULL, NULL);
    failed |= _cmocka_run_group_tests("kernels", tests, count, NULL, NULL);
    if (!report(cells, count)) {
        failed = 1;
        fputs("fewer programs compiled than the tables' rows ask for\n", stderr);
    }
    free(tests);
    free(cells);
    return failed != 0;
}

int main(void) {
    setvbuf(stdout, NULL, _IOLBF, 0);
    const char *require = getenv("TALLY_TEST_REQUIRE");
    if (!tally_cuda_compiler_get(&compiler)) return run();
    if (require && strstr(require, "nvrtc"))
        return printf("failed: TALLY_TEST_REQUIRE=%s: %s\n", require, tally_last_error()), 1;
    printf("skipped: %s\n", tally_last_error());
    return SKIPPED_STATUS;
}
