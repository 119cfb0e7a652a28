/* SPDX-License-Identifier: MIT */
#include "nvrtc_cells.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/own_ops.h"
#include "tests/support/sample.h"

static const uint32_t other_groups[] = {32, 1024};
static const uint64_t smaller[] = {1 << 12, 1 << 18, 1 << 24}; /* plans' max_n */

static bool full; /* TALLY_TEST_FULL=1 */

#define CUSTOMS 4
static tally_custom_op *custom[CUSTOMS];

static bool has_kernels(const tally_variant *variant) {
    return tally_kernel_text(&tally_backend_cuda, variant->info.stem) != NULL;
}

tally_device_info cell_device(int arch) {
    tally_device_info device = {.backend = "cuda",
                                .device_class = TALLY_CLASS_GPU,
                                .compute_units = 100,
                                .max_group_threads = 1024,
                                .memory_bytes = UINT64_C(1) << 35,
                                .max_buffer_bytes = UINT64_C(1) << 35,
                                .local_bytes = 48 << 10,
                                .has_atomic64 = 1,
                                .has_f64 = 1};
    /* FULL_ARCH takes the name of the device that the tunings know. */
    snprintf(device.name, sizeof(device.name), arch == FULL_ARCH ? "NVIDIA H200" : "sm_%d", arch);
    return device;
}

typedef struct matrix {
    const test_choice *choice;
    cell *cells; /* NULL: only counts */
    size_t count;
} matrix;

/* Adds a cell, unless no device can run it: the accumulator is too wide for an atomic, or the lanes
 * need too much local memory. */
static void add_cell(matrix *m, int arch, const tally_variant *variant, uint32_t group, tally_reduce_desc desc) {
    const tally_device_info device = cell_device(arch);
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
    if (!test_is_chosen(m->choice, c.name) || (!is_main && !sample_takes(c.name))) return;
    if (m->cells) m->cells[m->count] = c;
    m->count++;
}

/* The types that a program's registers and local memory depend on: the accumulator's fields, and
 * the type that a lane computes in. */
typedef struct shape {
    tally_dtype value, lane, fields[TALLY_ROW_FIELDS];
} shape;

static shape shape_of(const tally_reduce_desc *given) {
    const tally_device_info device = cell_device(FULL_ARCH);
    tally_reduce_desc desc = *given;
    tally_terms terms;
    tally_launch launch;
    shape s = {0};
    desc.size = sizeof(desc);
    if (tally_reduce_resolve(&device, NULL, &desc, &terms, &launch)) return s;
    const tally_term *term = &terms.list[0];
    s.value = term->value;
    s.lane = term->lane.value;
    for (uint32_t i = 0; i < term->field_count && i < TALLY_ROW_FIELDS; i++) s.fields[i] = term->fields[i].type;
    tally_terms_close(&terms);
    return s;
}

typedef enum part {
    PART_LEAST,  /* a sum and a minimum of f32: an atomic, and a compare-and-swap */
    PART_FEW,    /* those, and other accumulators of one word */
    PART_SHAPES, /* each shape once, and each dtype */
    PART_ROWS,   /* every op and dtype, compensated too; two dtypes in f64 */
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

/* Returns whether the shape is new, and notes it. */
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

/* Adds the programs of one variant with one op each. */
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

/* Adds several ops over one pass, and ops of one's own. */
static void add_others(matrix *m, int arch, const tally_variant *variant, uint32_t group) {
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

/* The part that a variant compiles for an architecture, in the variant's own group. */
static part part_of(const tally_variant *variant, int arch) {
    if (full) return PART_ALL;
    if (variant->info.canonical) return arch == FULL_ARCH ? PART_ROWS : PART_SHAPES;
    if (arch != FULL_ARCH) return PART_LEAST;
    /* No atomic takes the wide accumulators. */
    return variant->stage == TALLY_STAGE_ATOMIC ? PART_FEW : PART_SHAPES;
}

static void make_cells(matrix *m) {
    for (size_t v = 0; v < tally_variant_count(); v++) {
        const tally_variant *variant = tally_variant_row(v);
        const bool canonical = variant->info.canonical;
        if (!has_kernels(variant)) continue;
        for (size_t a = 0; a < ARCHS; a++) {
            add_ops(m, nvrtc_archs[a], variant, 0, part_of(variant, nvrtc_archs[a]), 0);
            if (canonical) add_others(m, nvrtc_archs[a], variant, 0);
        }
        /* Launches for fewer items have other shapes. */
        for (size_t s = 0; s < TALLY_ARRAY_LENGTH(smaller) && canonical; s++)
            add_ops(m, FULL_ARCH, variant, 0, full ? PART_ALL : PART_SHAPES, smaller[s]);
        for (size_t g = 0; g < TALLY_ARRAY_LENGTH(other_groups); g++) {
            const uint32_t group = other_groups[g];
            if (group == variant->info.group_threads || group < variant->min_group_threads ||
                group > variant->max_group_threads)
                continue;
            add_ops(m, FULL_ARCH, variant, group, full ? PART_ALL : canonical ? PART_SHAPES : PART_LEAST, 0);
            if (canonical) add_others(m, FULL_ARCH, variant, group);
        }
    }
}

/* The number of dtypes, or (rows) of the rows' dtypes and levels. */
static size_t count_rows(bool rows) {
    size_t count = 0;
    for (tally_dtype in = 1; in < TALLY_DTYPE_END; in++)
        for (tally_op op = 1; rows ? op < TALLY_OP_END : op == 1; op++)
            for (int level = 0; level < TALLY_ACCURACY_END; level++)
                count += rows ? tally_op_row_for(op, in, (tally_accuracy)level) != NULL : level == 0;
    return count;
}

size_t cells_floor(int arch) {
    size_t canonical = 0, steps = 0;
    for (size_t v = 0; v < tally_variant_count(); v++) {
        const tally_variant *variant = tally_variant_row(v);
        if (has_kernels(variant)) *(variant->info.canonical ? &canonical : &steps) += 1;
    }
    const size_t all = canonical * count_rows(arch == FULL_ARCH || full) + steps * 2, parts = sample_parts();
    return parts == 1 ? all : all / (4 * parts) + 1;
}

/* A weighted mean of two inputs, an argmax of magnitudes with a parameter, and the ops of
 * own_ops.h. */
static void make_custom(void) {
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

cell *cells_create(const test_choice *choice, size_t *count) {
    const char *all = getenv("TALLY_TEST_FULL");
    matrix m = {.choice = choice};
    full = all && strcmp(all, "1") == 0;
    make_custom();
    make_cells(&m);
    m.cells = calloc(m.count + 1, sizeof(*m.cells));
    m.count = 0;
    if (m.cells) make_cells(&m);
    *count = m.count;
    return m.cells;
}

void cells_destroy(cell *cells) {
    free(cells);
    for (int i = 0; i < CUSTOMS; i++) tally_op_destroy(custom[i]);
}
