/* SPDX-License-Identifier: MIT */
/*
 * The CUDA kernels without a GPU. NVRTC compiles the programs of nvrtc_cells.h to machine code, as
 * the backend does. The compiler's report must show no local memory: no spills, no stack (but see
 * may_spill). Without NVRTC the test is skipped (exit status 77) with the reason, unless
 * TALLY_TEST_REQUIRE names nvrtc.
 */
#define _DEFAULT_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "backends/cuda/compiler.h"
#include "nvrtc_cells.h"
#include "report.h"

static const char *const kernels[] = {"tally_partials", "tally_finish"};
#define KERNELS TALLY_ARRAY_LENGTH(kernels)

/* A cell is FAILED until it has shown otherwise. SPILLED: it compiled and uses local memory, as it
 * may. */
typedef enum cell_state { CELL_FAILED, CELL_COMPILED, CELL_SKIPPED, CELL_SPILLED, CELL_STATES } cell_state;

/* The outcome of a cell, in memory that the compiling processes share. */
typedef struct outcome {
    cell_state state;
    int registers[KERNELS];
    char text[1000]; /* the reason of a failure */
} outcome;

static const tally_cuda_compiler *compiler;
static test_choice choice;

/*
 * 1,024 threads have 64 registers each. The loads in flight take half, so a wide accumulator may
 * spill. No variant has such groups by default.
 */
static bool may_spill(const cell *c) {
    return c->group_threads == 1024 && c->acc_bytes >= 16;
}

static bool compiler_knows(int arch) {
    for (int i = 0; i < compiler->count; i++)
        if (compiler->archs[i] == arch) return true;
    return false;
}

/* ---- compiling ------------------------------------------------------------------------------- */

/* Makes the source of the program that has kernel k. */
static tally_status source_of(const cell *c, size_t k, char **source) {
    const tally_device_info device = cell_device(c->arch);
    tally_reduce_desc desc = c->desc;
    tally_terms terms;
    tally_launch launch;
    size_t bytes;
    tally_status status = tally_reduce_resolve(&device, NULL, &desc, &terms, &launch);
    if (status) return status;
    const tally_recipe recipe = k ? tally_finish_recipe(&launch) : tally_launch_recipe(&launch);
    status = tally_source_create(&tally_backend_cuda, 1u << TALLY_FEATURE_ORDER, &terms, &recipe, source, &bytes);
    tally_terms_close(&terms);
    return status;
}

/* Compiles kernel k of a cell. Returns whether it is as it must be. */
static bool compile_kernel(const cell *c, size_t k, outcome *o) {
    char *source;
    tally_cuda_image image;
    tally_status status = source_of(c, k, &source);
    if (!status) {
        status = tally_cuda_compile(source, c->arch, "--ptxas-options=-v", &image);
        free(source);
    }
    if (status) {
        snprintf(o->text, sizeof(o->text), "%.900s", tally_last_error());
        return false;
    }
    bool good = image.bytes > 4 && !memcmp(image.data, "\177ELF", 4);
    if (!good) snprintf(o->text, sizeof(o->text), "the image is no cubin");
    if (good) o->registers[k] = nvrtc_read_report(image.log, kernels[k], o->text, sizeof(o->text));
    tally_cuda_image_free(&image);
    return good && (o->registers[k] >= 0 || (o->registers[k] == NVRTC_SPILLS && may_spill(c)));
}

static void compile_cell(const cell *c, outcome *o) {
    if (!compiler_knows(c->arch)) {
        o->state = CELL_SKIPPED;
        return;
    }
    for (size_t k = 0; k < KERNELS; k++)
        if (!compile_kernel(c, k, o)) return;
    o->state = CELL_COMPILED;
    for (size_t k = 0; k < KERNELS; k++)
        if (o->registers[k] == NVRTC_SPILLS) o->state = CELL_SPILLED;
}

/* As many processes as there are processors take the cells in turn, because NVRTC compiles one
 * program at a time. */
static bool compile_all(const cell *cells, outcome *outcomes, size_t count) {
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);
    const int workers = processors < 1 ? 1 : processors > 16 ? 16 : (int)processors;
    atomic_size_t *next = mmap(NULL, sizeof(*next), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (next == MAP_FAILED) return false;
    printf("%zu programs, %d processes\n", count, workers);
    fflush(NULL);
    atomic_init(next, 0);
    const pid_t parent = getpid();
    pid_t children[16];
    bool good = true;
    for (int w = 0; w < workers; w++) {
        children[w] = fork();
        if (children[w] != 0) continue;
        /* A process ends when its parent has gone. */
        for (size_t i; getppid() == parent && (i = atomic_fetch_add(next, 1)) < count;) compile_cell(&cells[i], &outcomes[i]);
        _exit(0);
    }
    for (int w = 0; w < workers; w++) {
        int status = -1;
        good = children[w] > 0 && waitpid(children[w], &status, 0) == children[w] && status == 0 && good;
    }
    munmap(next, sizeof(*next));
    return good;
}

typedef struct test_state {
    const cell *cell;
    const outcome *outcome;
} test_state;

static void test_cell(void **state) {
    const test_state *t = *state;
    if (t->outcome->state == CELL_FAILED) fail_msg("%s: %s", t->cell->name, t->outcome->text);
}

/* ---- the compiler's own behaviour ------------------------------------------------------------ */

/* Returns the prelude and the self-test, put together as in the core. */
static char *probe_source(void) {
    const char *texts[] = {"#define GROUP 1\n", tally_backend_cuda.kernel_source("prelude"),
                           tally_kernel_text(&tally_backend_cuda, "probe")};
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
        if (!compiler_knows(nvrtc_archs[i])) continue;
        if (tally_cuda_compile(source, nvrtc_archs[i], "--ptxas-options=-v", &image))
            fail_msg("probe, sm_%d: %s", nvrtc_archs[i], tally_last_error());
        char text[1000];
        if (nvrtc_read_report(image.log, "tally_probe", text, sizeof(text)) < 0)
            fail_msg("probe, sm_%d: %s", nvrtc_archs[i], text);
        tally_cuda_image_free(&image);
    }
    free(source);
}

/* A device newer than NVRTC gets PTX of the newest architecture. Its products and sums round by
 * themselves: the only fma is the one that is written in the self-test. */
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
    const char *fused = strstr(ptx, "fma.rn.f32");
    assert_non_null(fused);
    assert_null(strstr(fused + 1, "fma.rn.f32"));
    tally_cuda_image_free(&image);
    free(source);
}

static void test_older_device(void **state) {
    (void)state;
    tally_cuda_image image;
    assert_int_equal(tally_cuda_compile("", 10, NULL, &image), TALLY_E_BUILD);
    assert_non_null(strstr(tally_last_error(), "the device is sm_10"));
}

/* The error's text begins with the first error, wherever it is in the log, and has a bounded
 * length. */
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

/* The longest and the deepest expressions that tally_op_create accepts compile within 2 minutes. */
static void test_limits(void **state) {
    (void)state;
    static const char *const repeated[] = {"x+", "x>1?x:", "- "};
    static const int counts[] = {4095, 200, 200};
    for (size_t i = 0; i < TALLY_ARRAY_LENGTH(counts); i++) {
        char load[8193] = "", *source;
        size_t used = 0;
        for (int k = 0; k < counts[i]; k++) used += (size_t)snprintf(load + used, sizeof(load) - used, "%s", repeated[i]);
        snprintf(load + used, sizeof(load) - used, "x");
        const tally_op_desc desc = {.size = sizeof(desc), .acc = TALLY_F32, .identity = "0", .load = load, .combine = "a + b"};
        tally_custom_op *op;
        tally_cuda_image image;
        if (tally_op_create(&desc, &op)) fail_msg("%s...: %s", repeated[i], tally_last_error());
        const cell c = {.arch = FULL_ARCH, .desc = {.size = sizeof(c.desc), .in = TALLY_F32, .custom = op}};
        if (!compiler_knows(c.arch)) test_skip("this NVRTC does not know sm_%d", c.arch);
        if (source_of(&c, 0, &source)) fail_msg("%s...: %s", repeated[i], tally_last_error());
        const time_t begin = time(NULL);
        if (tally_cuda_compile(source, c.arch, NULL, &image)) fail_msg("%s...: %s", repeated[i], tally_last_error());
        if (time(NULL) - begin > 120) fail_msg("%s... took %d s", repeated[i], (int)(time(NULL) - begin));
        tally_cuda_image_free(&image);
        free(source);
        tally_op_destroy(op);
    }
}

static void test_build_options(void **state) {
    (void)state;
    tally_device_info info;
    tally_cuda_build_options(1200, info.build_options, sizeof(info.build_options));
    assert_non_null(strstr(info.build_options, "sm_1200"));
    assert_non_null(strstr(info.build_options, "--fmad=false"));
    assert_true(strlen(info.build_options) + 1 < sizeof(info.build_options)); /* not cut */
}

/* ---- the program ----------------------------------------------------------------------------- */

/* Prints the table. Returns whether every known architecture compiled what it must. */
static bool report(const cell *cells, const outcome *outcomes, size_t count) {
    size_t known = 0;
    bool enough = true;
    for (size_t a = 0; a < ARCHS; a++)
        if (!compiler_knows(nvrtc_archs[a]))
            printf("sm_%d skipped: NVRTC %d.%d does not know it\n", nvrtc_archs[a], compiler->version / 1000,
                   compiler->version % 1000 / 10);
    for (size_t i = 0; i < count; i++)
        if (outcomes[i].state == CELL_SPILLED) printf("%s: %s\n", cells[i].name, outcomes[i].text);
    printf("%-8s %8s %8s %8s %8s   most registers: %s, %s\n", "arch", "compiled", "spilled", "skipped", "failed", kernels[0],
           kernels[1]);
    for (size_t a = 0; a < ARCHS; a++) {
        size_t states[CELL_STATES] = {0};
        int most[KERNELS] = {0};
        for (size_t i = 0; i < count; i++) {
            if (cells[i].arch != nvrtc_archs[a]) continue;
            states[outcomes[i].state]++;
            for (size_t k = 0; k < KERNELS; k++)
                if (outcomes[i].registers[k] > most[k]) most[k] = outcomes[i].registers[k];
        }
        printf("sm_%-5d %8zu %8zu %8zu %8zu   %d, %d\n", nvrtc_archs[a], states[CELL_COMPILED], states[CELL_SPILLED],
               states[CELL_SKIPPED], states[CELL_FAILED], most[0], most[1]);
        if (!compiler_knows(nvrtc_archs[a])) continue;
        known++;
        enough = enough && cells_floor(nvrtc_archs[a]) && states[CELL_COMPILED] >= cells_floor(nvrtc_archs[a]);
    }
    return enough && known && compiler_knows(FULL_ARCH);
}

static const struct CMUnitTest behaviour[] = {cmocka_unit_test(test_probe),         cmocka_unit_test(test_newer_device),
                                              cmocka_unit_test(test_older_device),  cmocka_unit_test(test_broken_source),
                                              cmocka_unit_test(test_build_options), cmocka_unit_test(test_limits)};
#define BEHAVIOUR TALLY_ARRAY_LENGTH(behaviour)

static int run(const cell *cells, size_t count) {
    outcome *outcomes = mmap(NULL, (count + 1) * sizeof(*outcomes), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    struct CMUnitTest *tests = calloc(BEHAVIOUR + count, sizeof(*tests));
    test_state *states = calloc(count + 1, sizeof(*states));
    if (outcomes == MAP_FAILED || !tests || !states) return fputs("out of memory\n", stderr), 1;
    const bool is_cut_short = !choice.list && !compile_all(cells, outcomes, count);
    memcpy(tests, behaviour, sizeof(behaviour));
    for (size_t i = 0; i < count; i++) {
        states[i] = (test_state){&cells[i], &outcomes[i]};
        tests[BEHAVIOUR + i] = (struct CMUnitTest){.name = cells[i].name, .test_func = test_cell, .initial_state = &states[i]};
    }
    int status = test_run(&choice, tests, BEHAVIOUR + count, NULL, NULL);
    if (!choice.list && !report(cells, outcomes, count) && !choice.pattern) {
        status = 1;
        fputs("fewer programs compiled than the tables' rows ask for\n", stderr);
    }
    munmap(outcomes, (count + 1) * sizeof(*outcomes));
    free(tests);
    free(states);
    return status ? status : is_cut_short;
}

int main(int argc, char **argv) {
    size_t count;
    int status = test_choose(argc, argv, "The CUDA kernels of reductions, compiled without a GPU.", &choice);
    if (status < 0) status = nvrtc_open(&compiler);
    if (status >= 0) return status;
    cell *cells = cells_create(&choice, &count);
    if (!cells) return fputs("out of memory\n", stderr), 1;
    status = run(cells, count);
    cells_destroy(cells);
    return status;
}
