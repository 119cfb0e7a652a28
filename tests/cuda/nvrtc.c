/* SPDX-License-Identifier: MIT */
/*
 * The CUDA kernels without a GPU: NVRTC compiles programs that a plan can ask for, (architecture,
 * variant, group, ops, dtype, level), to machine code, as the backend does, and the compiler's
 * report must show no local memory: no spills, no stack (but see may_spill). One architecture
 * compiles everything of the canonical variant, the others and the ladder a part that has every
 * type of accumulator. With TALLY_TEST_FULL=1 every architecture compiles everything, which takes
 * hours. Without NVRTC the test is skipped (exit status 77) with the reason, unless
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
#include "reduce/reduce.h"
#include "report.h"
#include "tests/support/own_ops.h"
#include "tests/support/sample.h"
#include "tests/support/test_main.h"

extern const tally_backend tally_backend_cuda;

#define ARCHS TALLY_ARRAY_LENGTH(nvrtc_archs)
#define FULL_ARCH 90
static const uint32_t other_groups[] = {32, 1024};
static const uint64_t smaller[] = {1 << 12, 1 << 18, 1 << 24}; /* plans' max_n */

static const char *const kernels[] = {"tally_partials", "tally_finish"};
#define KERNELS TALLY_ARRAY_LENGTH(kernels)

typedef struct cell {
    int arch;
    tally_reduce_desc desc;
    uint32_t group_threads, acc_bytes;
    char name[96];
} cell;

/* A cell is FAILED until it has shown otherwise. SPILLED: it compiled, but uses local memory, which
 * this one may. */
typedef enum cell_state { CELL_FAILED, CELL_COMPILED, CELL_SKIPPED, CELL_SPILLED, CELL_STATES } cell_state;

/* Of a cell: in memory that the compiling processes share. */
typedef struct outcome {
    cell_state state;
    int registers[KERNELS];
    char text[1000]; /* why it failed */
} outcome;

static const tally_cuda_compiler *compiler;
static bool full; /* TALLY_TEST_FULL=1 */
static test_choice choice;

/*
 * 1,024 items leave each 64 registers, of which the loads in flight take half: a wide accumulator
 * may spill. No variant has such groups by itself; who asks for them gets what there is.
 */
static bool may_spill(const cell *c) {
    return c->group_threads == 1024 && c->acc_bytes >= 16;
}

static bool compiler_knows(int arch) {
    for (int i = 0; i < compiler->count; i++)
        if (compiler->archs[i] == arch) return true;
    return false;
}

static bool has_kernels(const tally_variant *variant) {
    return tally_kernel_text(&tally_backend_cuda, variant->info.stem) != NULL;
}

/* ---- compiling ------------------------------------------------------------------------------- */

static tally_device_info device_of(int arch) {
    tally_device_info device = {.backend = "cuda",
                                .device_class = TALLY_CLASS_GPU,
                                .compute_units = 100,
                                .max_group_threads = 1024,
                                .memory_bytes = UINT64_C(1) << 35,
                                .max_buffer_bytes = UINT64_C(1) << 35,
                                .local_bytes = 48 << 10,
                                .has_atomic64 = 1,
                                .has_f64 = 1};
    /* The device that the tunings know, of the architecture that compiles everything. */
    snprintf(device.name, sizeof(device.name), arch == FULL_ARCH ? "NVIDIA H200" : "sm_%d", arch);
    return device;
}

static tally_status source_of(const cell *c, char **source) {
    const tally_device_info device = device_of(c->arch);
    tally_reduce_desc desc = c->desc;
    tally_terms terms;
    tally_launch launch;
    size_t bytes;
    tally_status status = tally_reduce_resolve(&device, NULL, &desc, &terms, &launch);
    if (status) return status;
    const tally_recipe recipe = tally_launch_recipe(&launch);
    status = tally_source_create(&tally_backend_cuda, 0, &terms, &recipe, source, &bytes);
    tally_terms_close(&terms);
    return status;
}

static void compile_cell(const cell *c, outcome *o) {
    char *source;
    tally_cuda_image image;
    if (!compiler_knows(c->arch)) {
        o->state = CELL_SKIPPED;
        return;
    }
    tally_status status = source_of(c, &source);
    if (!status) {
        status = tally_cuda_compile(source, c->arch, "--ptxas-options=-v", &image);
        free(source);
    }
    if (status) {
        snprintf(o->text, sizeof(o->text), "%.900s", tally_last_error());
        return;
    }
    bool good = image.bytes > 4 && !memcmp(image.data, "\177ELF", 4);
    if (!good) snprintf(o->text, sizeof(o->text), "the image is no cubin");
    bool spills = false;
    for (size_t k = 0; k < KERNELS && good; k++) {
        o->registers[k] = nvrtc_read_report(image.log, kernels[k], o->text, sizeof(o->text));
        spills = spills || o->registers[k] == NVRTC_SPILLS;
        good = o->registers[k] >= 0 || (o->registers[k] == NVRTC_SPILLS && may_spill(c));
    }
    tally_cuda_image_free(&image);
    if (good) o->state = spills ? CELL_SPILLED : CELL_COMPILED;
}

/* As many processes as there are processors compile what nobody has taken yet: NVRTC itself
 * compiles one program at a time. */
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
        /* No longer than there is someone to tell. */
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

/* The prelude and the self-test that each device must pass, as the core puts them together. */
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

/* A device newer than NVRTC gets PTX of the newest architecture; products and sums in it are told
 * to round by themselves. */
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

/* The error's text starts with the first error, wherever it is in the log, and is of bounded
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

/* The longest and the deepest expressions that tally_op_create takes compile, within 2 minutes. */
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
        if (!compiler_knows(c.arch)) skip();
        if (source_of(&c, &source)) fail_msg("%s...: %s", repeated[i], tally_last_error());
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

/* ---- the matrix ------------------------------------------------------------------------------ */

typedef struct matrix {
    cell *cells; /* NULL: only counts */
    size_t count;
} matrix;

/* Adds a cell, unless no device can run it (an accumulator too wide for an atomic, lanes too many
 * for the local memory). */
static void add_cell(matrix *m, int arch, const tally_variant *variant, uint32_t group, tally_reduce_desc desc) {
    const tally_device_info device = device_of(arch);
    tally_terms terms;
    tally_launch launch;
    desc.size = sizeof(desc);
    desc.variant = variant->info.name;
    desc.group_threads = group;
    tally_reduce_desc resolved = desc;
    if (tally_reduce_resolve(&device, NULL, &resolved, &terms, &launch)) return;
    cell c = {.arch = arch, .desc = desc, .group_threads = launch.group_threads, .acc_bytes = terms.acc.bytes};
    int used = snprintf(c.name, sizeof(c.name), "sm_%d %s/%u", arch, variant->info.name, launch.group_threads);
    if (variant->shape == TALLY_SHAPE_CHUNKS)
        used += snprintf(c.name + used, sizeof(c.name) - (size_t)used, "x%u", launch.tuning.loads);
    for (uint32_t t = 0; t < terms.count; t++)
        used += snprintf(c.name + used, sizeof(c.name) - (size_t)used, " %.12s", terms.list[t].name);
    snprintf(c.name + used, sizeof(c.name) - (size_t)used, " %s%s%s", tally_dtype_name(desc.in), desc.acc ? " in f64" : "",
             desc.accuracy ? " compensated" : "");
    tally_terms_close(&terms);
    /* Every run, a sampled one too, compiles the canonical sum of f32 for each architecture. */
    const bool is_main = variant->info.canonical && !group && !desc.max_n && desc.op == TALLY_SUM && desc.in == TALLY_F32;
    if (!test_is_chosen(&choice, c.name) || (!is_main && !sample_takes(c.name))) return;
    if (m->cells) m->cells[m->count] = c;
    m->count++;
}

/* What a program's registers and local memory depend on: the accumulator's fields, and what a lane
 * computes in. */
typedef struct shape {
    tally_dtype value, lane, fields[TALLY_ROW_FIELDS];
} shape;

static shape shape_of(const tally_reduce_desc *given) {
    const tally_device_info device = device_of(FULL_ARCH);
    tally_reduce_desc desc = *given;
    tally_terms terms;
    tally_launch launch;
    shape s = {0};
    desc.size = sizeof(desc);
    if (tally_reduce_resolve(&device, NULL, &desc, &terms, &launch)) return s;
    const tally_term *term = &terms.list[0];
    s.value = term->value;
    s.lane = term->lane;
    for (uint32_t i = 0; i < term->field_count && i < TALLY_ROW_FIELDS; i++) s.fields[i] = term->fields[i].type;
    tally_terms_close(&terms);
    return s;
}

typedef enum part {
    PART_LEAST,  /* a sum and a minimum of f32: an atomic, and a compare-and-swap */
    PART_FEW,    /* those, and what is a word in other ways */
    PART_SHAPES, /* each shape once, and each dtype */
    PART_ROWS,   /* every op and dtype, compensated too; of those in f64 two dtypes */
    PART_ALL     /* every op, dtype and level */
} part;

static bool is_least(const tally_reduce_desc *desc) {
    return !desc->acc && !desc->accuracy && desc->in == TALLY_F32 && (desc->op == TALLY_SUM || desc->op == TALLY_MIN);
}

static bool is_few(const tally_reduce_desc *desc) {
    if (desc->acc || desc->accuracy) return false;
    if (desc->op == TALLY_SUM) return desc->in == TALLY_F32 || desc->in == TALLY_I64 || desc->in == TALLY_C64;
    return (desc->op == TALLY_MIN && desc->in == TALLY_F32) || (desc->op == TALLY_MINMAX && desc->in == TALLY_F16);
}

typedef struct shapes {
    shape seen[64];
    size_t count;
} shapes;

/* Whether the shape is a new one; notes it. */
static bool is_new(shapes *known, const tally_reduce_desc *desc) {
    const shape s = shape_of(desc);
    for (size_t k = 0; k < known->count; k++)
        if (!memcmp(&known->seen[k], &s, sizeof(s))) return false;
    if (known->count == TALLY_ARRAY_LENGTH(known->seen)) abort();
    known->seen[known->count++] = s;
    return true;
}

static bool is_wanted(part what, const tally_reduce_desc *desc, shapes *known) {
    switch (what) {
    case PART_LEAST:
        return is_least(desc);
    case PART_FEW:
        return is_few(desc);
    case PART_SHAPES:
        return is_new(known, desc) || (desc->op == TALLY_SUM && !desc->acc && !desc->accuracy);
    case PART_ROWS:
        return !desc->acc || (!desc->accuracy && (desc->in == TALLY_F32 || desc->in == TALLY_C64));
    default:
        return true;
    }
}

/* Adds one variant's programs of one op each. */
static void add_ops(matrix *m, int arch, const tally_variant *variant, uint32_t group, part what, uint64_t max_n) {
    shapes known = {.count = 0};
    for (tally_op op = TALLY_OP_NONE + 1; op < TALLY_OP_END; op++)
        for (tally_dtype in = TALLY_DTYPE_DEFAULT + 1; in < TALLY_DTYPE_END; in++)
            for (int level = 0; level < 4; level++) {
                const tally_reduce_desc desc = {.op = op,
                                                .in = in,
                                                .max_n = max_n,
                                                .acc = level & 1 ? TALLY_F64 : TALLY_DTYPE_DEFAULT,
                                                .accuracy = level & 2 ? TALLY_ACCURACY_COMPENSATED : TALLY_ACCURACY_DEFAULT};
                if (tally_op_row_for(op, in, desc.accuracy) && is_wanted(what, &desc, &known))
                    add_cell(m, arch, variant, group, desc);
            }
}

/* Several ops over one pass, and ops of one's own. */
#define CUSTOMS 4
static void add_others(matrix *m, int arch, const tally_variant *variant, uint32_t group,
                       tally_custom_op *const custom[CUSTOMS]) {
    static const tally_term_desc summary[] = {{.op = TALLY_MIN}, {.op = TALLY_MAX}, {.op = TALLY_MEAN}, {.op = TALLY_STD}};
    static const tally_term_desc pairs[] = {{.op = TALLY_DOT}, {.op = TALLY_DIST2}};
    static const tally_dtype dtypes[] = {TALLY_F32, TALLY_F64, TALLY_F16, TALLY_I8};
    for (size_t i = 0; i < TALLY_ARRAY_LENGTH(dtypes); i++)
        add_cell(m, arch, variant, group, (tally_reduce_desc){.terms = summary, .term_count = 4, .in = dtypes[i]});
    add_cell(m, arch, variant, group, (tally_reduce_desc){.terms = pairs, .term_count = 2, .in = TALLY_F32});
    for (int i = 0; i < CUSTOMS; i++)
        add_cell(m, arch, variant, group, (tally_reduce_desc){.custom = custom[i], .in = TALLY_F32});
    static tally_term_desc mixed[] = {{.op = TALLY_SUM}, {.op = TALLY_OP_NONE}}; /* cells point to it */
    mixed[1].custom = custom[CUSTOMS - 1];
    add_cell(m, arch, variant, group, (tally_reduce_desc){.terms = mixed, .term_count = 2, .in = TALLY_F32});
}

/* What a variant compiles for an architecture, in its own group. */
static part part_of(const tally_variant *variant, int arch) {
    if (full) return PART_ALL;
    if (variant->info.canonical) return arch == FULL_ARCH ? PART_ROWS : PART_SHAPES;
    if (arch != FULL_ARCH) return PART_LEAST;
    /* Accumulators that no atomic takes. */
    return variant->stage == TALLY_STAGE_ATOMIC ? PART_FEW : PART_SHAPES;
}

static void make_cells(matrix *m, tally_custom_op *const custom[CUSTOMS]) {
    for (size_t v = 0; v < tally_variant_count(); v++) {
        const tally_variant *variant = tally_variant_row(v);
        const bool canonical = variant->info.canonical;
        if (!has_kernels(variant)) continue;
        for (size_t a = 0; a < ARCHS; a++) {
            add_ops(m, nvrtc_archs[a], variant, 0, part_of(variant, nvrtc_archs[a]), 0);
            if (canonical) add_others(m, nvrtc_archs[a], variant, 0, custom);
        }
        /* The shapes of launches for fewer items. */
        for (size_t s = 0; s < TALLY_ARRAY_LENGTH(smaller) && canonical; s++)
            add_ops(m, FULL_ARCH, variant, 0, full ? PART_ALL : PART_SHAPES, smaller[s]);
        for (size_t g = 0; g < TALLY_ARRAY_LENGTH(other_groups); g++) {
            const uint32_t group = other_groups[g];
            if (group == variant->info.group_threads || group < variant->min_group_threads ||
                group > variant->max_group_threads)
                continue;
            add_ops(m, FULL_ARCH, variant, group, full ? PART_ALL : canonical ? PART_SHAPES : PART_LEAST, 0);
            if (canonical) add_others(m, FULL_ARCH, variant, group, custom);
        }
    }
}

/* Pairs of a row and a dtype that it takes, at every level; (rows 0) dtypes. */
static size_t count_rows(bool rows) {
    size_t count = 0;
    for (tally_dtype in = 1; in < TALLY_DTYPE_END; in++)
        for (tally_op op = 1; rows ? op < TALLY_OP_END : op == 1; op++)
            for (int level = 0; level < TALLY_ACCURACY_END; level++)
                count += rows ? tally_op_row_for(op, in, (tally_accuracy)level) != NULL : level == 0;
    return count;
}

/* The fewest programs that an architecture must have compiled. A sampled run must have a quarter of
 * its share, and the main program at least. */
static size_t floor_of(int arch) {
    size_t canonical = 0, steps = 0;
    for (size_t v = 0; v < tally_variant_count(); v++) {
        const tally_variant *variant = tally_variant_row(v);
        if (has_kernels(variant)) *(variant->info.canonical ? &canonical : &steps) += 1;
    }
    const size_t all = canonical * count_rows(arch == FULL_ARCH || full) + steps * 2, parts = sample_parts();
    return parts == 1 ? all : all / (4 * parts) + 1;
}

/* Prints the table; returns whether every known architecture compiled what it must. */
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
        enough = enough && floor_of(nvrtc_archs[a]) && states[CELL_COMPILED] >= floor_of(nvrtc_archs[a]);
    }
    return enough && known && compiler_knows(FULL_ARCH);
}

/* A weighted mean of two inputs, an argmax of magnitudes with a parameter, and those of several
 * tests. */
static void make_custom(tally_custom_op *custom[CUSTOMS]) {
    static const tally_op_field mean[] = {{"s", TALLY_F64, "0", "(f64)x * y", "a.s + b.s"},
                                          {"w", TALLY_F64, "0", "y", "a.w + b.w"}};
    static const tally_op_field argmax[] = {{"v", TALLY_F32, "-1", "fabs(x - p.origin)", "b.v > a.v ? b.v : a.v"},
                                            {"at", TALLY_U64, "~(u64)0", "i", "b.v > a.v ? b.at : a.at"}};
    static const tally_op_param origin[] = {{"origin", TALLY_F32, 0}};
    const tally_op_desc descs[CUSTOMS] = {
        {.size = sizeof(descs[0]), .inputs = 2, .fields = mean, .field_count = 2, .finish = "a.s / a.w", .out = TALLY_F64},
        {.size = sizeof(descs[0]),
         .fields = argmax,
         .field_count = 2,
         .params = origin,
         .param_count = 1,
         .finish = "a.at",
         .out = TALLY_U64},
        own_twofold,
        own_least};
    for (int i = 0; i < CUSTOMS; i++)
        if (tally_op_create(&descs[i], &custom[i])) fprintf(stderr, "%s\n", tally_last_error()), abort();
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
    const char *all = getenv("TALLY_TEST_FULL");
    tally_custom_op *custom[CUSTOMS];
    matrix m = {0};
    int status = test_choose(argc, argv, "The CUDA kernels of reductions, compiled without a GPU.", &choice);
    if (status < 0) status = nvrtc_open(&compiler);
    if (status >= 0) return status;
    full = all && strcmp(all, "1") == 0;
    make_custom(custom);
    make_cells(&m, custom);
    m.cells = calloc(m.count + 1, sizeof(*m.cells));
    if (!m.cells) return fputs("out of memory\n", stderr), 1;
    m.count = 0;
    make_cells(&m, custom);
    status = run(m.cells, m.count);
    free(m.cells);
    for (int i = 0; i < CUSTOMS; i++) tally_op_destroy(custom[i]);
    return status;
}
