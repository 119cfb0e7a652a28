/* SPDX-License-Identifier: MIT */
/*
 * The CUDA kernels of scans without a GPU, as nvrtc.c has those of reductions: compiled to machine
 * code, without local memory (but see may_spill). One architecture compiles every op, with a fifth
 * of its dtypes, in the plain form, and some in every form. The variants take these programs in
 * turn. The other architectures compile a sample. With TALLY_TEST_FULL=1 every architecture
 * compiles all of them by all variants.
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
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backends/cuda/compiler.h"
#include "scan/scan.h"
#include "report.h"
#include "tests/support/sample.h"
#include "tests/support/test_main.h"

#define FULL_ARCH 90

extern const tally_backend tally_backend_cuda;

static const char *const kernels[] = {"tally_scan_items", "tally_scan_totals", "tally_scan_tiles"};
static const char *const axis_kernels[] = {"tally_scan_axis_short", "tally_scan_axis_short_across", "tally_scan_axis_long",
                                           "tally_scan_axis_long_across"};
/* From sm_90 on look_back for many items is another program than for few. */
static const struct {
    const char *name;
    uint64_t max_n;
} variants[] = {{"look_back", 1}, {"look_back", UINT64_C(1) << 32}, {"reduce_then_scan", 1}, {"warp_carry", 1}};
#define VARIANTS TALLY_ARRAY_LENGTH(variants)
#define AXIS_TURN 2 /* all canonical variants have one program of scans along an axis */

static const tally_cuda_compiler *compiler;
static bool full; /* TALLY_TEST_FULL=1 */

typedef struct cell {
    int arch;
    const tally_scan_variant *variant;
    uint64_t max_n;
    tally_op op;
    tally_dtype in;
    unsigned flags; /* tally_scan_launch.flags */
    char name[96];
} cell;

/* The outcome of a cell, in memory that the compiling processes share. */
typedef struct outcome {
    bool done, spills;
    int registers;   /* the most of its kernels */
    char text[1000]; /* the reason of a failure */
} outcome;

#define MAX_CELLS 32768
static cell cells[MAX_CELLS];
static size_t cell_count;
static outcome *outcomes;
static test_choice choice;

static bool compiler_knows(int arch) {
    for (int i = 0; i < compiler->count; i++)
        if (compiler->archs[i] == arch) return true;
    return false;
}

/* Wide items with wide accumulators may spill, as registers hold eight of each. So may groups whose
 * items are in shared memory: a few spilled words cost less than fewer groups
 * (backends/cuda/kernels/look_back.cu), and some keep cells in local memory
 * (kernels/scan_groups.h). */
static bool may_spill(const cell *c, const tally_terms *terms, unsigned flags) {
    if (flags & TALLY_SCAN_IS_STAGED) return true;
    if ((c->op == TALLY_VAR && c->in == TALLY_F64) || (c->op == TALLY_PROD && c->in == TALLY_C128)) return false;
    return tally_dtype_bytes(c->in) > 8 || terms->acc.bytes > 16;
}

/* ---- compiling ------------------------------------------------------------------------------- */

static tally_status resolve(const cell *c, tally_terms *terms, tally_scan_launch *launch) {
    const tally_device_info device = {.backend = "cuda",
                                      .device_class = TALLY_CLASS_GPU,
                                      .compute_units = 100,
                                      .max_group_threads = 1024,
                                      .memory_bytes = UINT64_C(1) << 35,
                                      .max_buffer_bytes = UINT64_C(1) << 35,
                                      .local_bytes = 48 << 10,
                                      .has_atomic64 = 1,
                                      .has_f64 = 1};
    const tally_terms_desc desc = {.in = c->in, .single = {.op = c->op}};
    tally_status status = tally_terms_resolve(&desc, terms);
    if (status) return status;
    *launch = (tally_scan_launch){.variant = c->variant, .flags = c->flags & ~(unsigned)TALLY_SCAN_IS_AXIS};
    status = tally_scan_shape(launch, terms, &device, c->arch < 90 ? 0 : 1u << TALLY_FEATURE_BULK, c->max_n);
    if (!status && c->flags & TALLY_SCAN_IS_AXIS) status = tally_scan_shape_axis(launch, terms, &device);
    if (status) tally_terms_close(terms);
    return status;
}

static void read_kernels(const cell *c, const char *log, bool may, outcome *o) {
    const bool is_axis = c->flags & TALLY_SCAN_IS_AXIS;
    const size_t count = is_axis ? TALLY_ARRAY_LENGTH(axis_kernels) : c->variant->one_launch ? 1 : TALLY_ARRAY_LENGTH(kernels);
    o->done = true;
    for (size_t k = 0; k < count && o->done; k++) {
        const int registers = nvrtc_read_report(log, is_axis ? axis_kernels[k] : kernels[k], o->text, sizeof(o->text));
        if (registers > o->registers) o->registers = registers;
        o->spills = o->spills || registers == NVRTC_SPILLS;
        o->done = registers >= 0 || (registers == NVRTC_SPILLS && may);
    }
}

static void compile(const cell *c, outcome *o) {
    tally_terms terms;
    tally_scan_launch launch;
    char *source = NULL;
    size_t bytes;
    tally_cuda_image image;
    tally_status status = resolve(c, &terms, &launch);
    if (!status) {
        const bool may = may_spill(c, &terms, launch.flags);
        const tally_recipe recipe = tally_scan_recipe(&launch);
        status = tally_source_create(&tally_backend_cuda, c->arch < 90 ? 0 : 1u << TALLY_FEATURE_BULK, &terms, &recipe, &source,
                                     &bytes);
        if (!status) status = tally_cuda_compile(source, c->arch, "--ptxas-options=-v", &image);
        if (!status) {
            read_kernels(c, image.log, may, o);
            tally_cuda_image_free(&image);
        }
        free(source);
        tally_terms_close(&terms);
    }
    if (status) snprintf(o->text, sizeof(o->text), "%.900s", tally_last_error());
}

/* As many processes as there are processors take the cells in turn, because NVRTC compiles one
 * program at a time. */
static bool compile_all(void) {
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);
    const size_t workers = processors < 1 ? 1 : processors > 16 ? 16 : (size_t)processors;
    const pid_t parent = getpid();
    pid_t children[16];
    bool good = true;
    printf("%zu programs, %zu processes\n", cell_count, workers);
    fflush(NULL);
    for (size_t w = 0; w < workers; w++) {
        children[w] = fork();
        if (children[w] != 0) continue;
        /* A process ends when its parent has gone. */
        for (size_t i = w; i < cell_count && getppid() == parent; i += workers) compile(&cells[i], &outcomes[i]);
        _exit(0);
    }
    for (size_t w = 0; w < workers; w++) {
        int status = -1;
        good = children[w] > 0 && waitpid(children[w], &status, 0) == children[w] && status == 0 && good;
    }
    return good;
}

/* ---- the matrix ------------------------------------------------------------------------------ */

static const tally_scan_variant *find_variant(const char *name) {
    static tally_context context; /* a device without trials; CUDA's has none either */
    const tally_scan_variant *variant;
    context.backend = &tally_backend_cuda;
    context.info.device_class = TALLY_CLASS_GPU;
    context.features = ~0U;
    if (tally_scan_variant_find(name, &context, &variant)) {
        printf("FAILED: %s\n", tally_last_error());
        exit(1);
    }
    return variant;
}

/* Adds a program by all variants, or by the one whose turn it is. */
static void add(int arch, tally_op op, tally_dtype in, unsigned flags, size_t turn, bool all) {
    for (size_t v = 0; v < VARIANTS; v++) {
        if (!all && (!full || flags & TALLY_SCAN_IS_AXIS) && v != turn % VARIANTS) continue;
        if (cell_count == MAX_CELLS) abort();
        cell *c = &cells[cell_count];
        *c = (cell){.arch = arch,
                    .variant = find_variant(variants[v].name),
                    .max_n = variants[v].max_n,
                    .op = op,
                    .in = in,
                    .flags = flags};
        snprintf(c->name, sizeof(c->name), "sm_%d %s%s %s %s, flags %#x", arch, variants[v].name,
                 variants[v].max_n > 1 ? " large" : "", tally_op_name(op), tally_dtype_name(in), flags);
        cell_count += test_is_chosen(&choice, c->name) && (all || sample_takes(c->name));
    }
}

#define OPS_SHARE 3 /* one in so many of all ops and dtypes; all take four minutes of 2 cores, and all fit (November 2026) */
#define AXIS_SHARE 7

static void add_ops(int arch) {
    size_t turn = 0;
    for (tally_op op = TALLY_OP_NONE + 1; op < TALLY_OP_END; op++)
        for (tally_dtype in = TALLY_DTYPE_DEFAULT + 1; in < TALLY_DTYPE_END; in++)
            if (tally_op_inputs(op) == 1 && tally_op_row_for(op, in, TALLY_ACCURACY_DEFAULT)) {
                if (full || ((int)op + (int)in) % OPS_SHARE == 0) add(arch, op, in, 0, turn++, false);
                if (full || ((int)op + 2 * (int)in) % AXIS_SHARE == 0) add(arch, op, in, TALLY_SCAN_IS_AXIS, AXIS_TURN, false);
            }
}

/* Narrow and wide items and accumulators, scalars and structs. */
static void add_forms(int arch) {
    static const struct {
        tally_op op;
        tally_dtype in;
    } some[] = {{TALLY_SUM, TALLY_F32},    {TALLY_SUM, TALLY_F16},    {TALLY_SUM, TALLY_I8},  {TALLY_SUM, TALLY_F64},
                {TALLY_SUM, TALLY_C128},   {TALLY_ARGMAX, TALLY_F64}, {TALLY_VAR, TALLY_F64}, {TALLY_PROD, TALLY_C128},
                {TALLY_MINMAX, TALLY_I64}, {TALLY_MAX, TALLY_U64}};
    for (size_t s = 0; s < TALLY_ARRAY_LENGTH(some); s++)
        for (unsigned flags = 0, turn = 0; flags < 16; flags++) {
            const tally_op_row *row = tally_op_row_for(some[s].op, some[s].in, TALLY_ACCURACY_DEFAULT);
            const bool initial = flags & TALLY_SCAN_HAS_INITIAL;
            if (initial && (!(flags & TALLY_SCAN_IS_EXCLUSIVE) || row->gives == TALLY_GIVES_INDEX)) continue;
            add(arch, some[s].op, some[s].in, flags, s + turn++, false);
            if (!(flags & TALLY_SCAN_IS_SEGMENTED) && (full || (s + flags) % 3 == 0))
                add(arch, some[s].op, some[s].in, flags | TALLY_SCAN_IS_AXIS, AXIS_TURN, false);
        }
}

static void add_sample(int arch) {
    add(arch, TALLY_SUM, TALLY_F32, 0, 0, true);
    add(arch, TALLY_SUM, TALLY_I8, TALLY_SCAN_IS_EXCLUSIVE | TALLY_SCAN_IS_SEGMENTED, (size_t)arch, false);
    add(arch, TALLY_ARGMAX, TALLY_F64, TALLY_SCAN_IS_REVERSE, (size_t)arch + 1, false);
    add(arch, TALLY_SUM, TALLY_F32, TALLY_SCAN_IS_AXIS, AXIS_TURN, false);
}

static void make_cells(void) {
    for (size_t a = 0; a < TALLY_ARRAY_LENGTH(nvrtc_archs); a++) {
        const int arch = nvrtc_archs[a];
        if (!compiler_knows(arch)) {
            printf("sm_%d skipped: this NVRTC does not know it\n", arch);
            continue;
        }
        if (arch == FULL_ARCH || full) {
            add_ops(arch);
            add_forms(arch);
        }
        add_sample(arch);
    }
}

static void test_cell(void **state) {
    const size_t i = (size_t)((const cell *)*state - cells);
    const outcome *o = &outcomes[i];
    if (!o->done) fail_msg("%s: %s", cells[i].name, o->text[0] ? o->text : "not compiled");
}

static void report(void) {
    size_t spilled = 0;
    int most = 0;
    for (size_t i = 0; i < cell_count; i++) {
        spilled += outcomes[i].spills;
        if (outcomes[i].registers > most) most = outcomes[i].registers;
    }
    printf("%zu programs, of which %zu use local memory, as they may; %d registers at most\n", cell_count, spilled, most);
}

int main(int argc, char **argv) {
    static struct CMUnitTest tests[MAX_CELLS];
    const char *wants = getenv("TALLY_TEST_FULL");
    int status = test_choose(argc, argv, "The CUDA kernels of scans, compiled without a GPU.", &choice);
    if (status < 0) status = nvrtc_open(&compiler);
    if (status >= 0) return status;
    full = wants && strcmp(wants, "1") == 0;
    outcomes = mmap(NULL, MAX_CELLS * sizeof(*outcomes), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (outcomes == MAP_FAILED) return 1;
    make_cells();
    if (!choice.list && !compile_all()) printf("a process that compiles ended early\n");
    for (size_t i = 0; i < cell_count; i++)
        tests[i] = (struct CMUnitTest){.name = cells[i].name, .test_func = test_cell, .initial_state = &cells[i]};
    status = test_run(&choice, tests, cell_count, NULL, NULL);
    if (choice.list) return status;
    report();
    /* The list has over 200 programs. A sampled run has the variants' sums of f32 for each
     * architecture at least. */
    const size_t too_few = sample_parts() == 1 ? 100 : 20;
    return status ? status : !choice.pattern && cell_count <= too_few;
}
