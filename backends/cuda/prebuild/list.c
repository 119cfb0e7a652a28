/* SPDX-License-Identifier: MIT */
/* Lists the programs to prebuild. It asks the planner for them, so no second list of its geometries
 * is kept by hand. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "move/move.h"
#include "reduce/reduce.h"
#include "scan/scan.h"
#include "segments/segments.h"

#include "prebuild.h"

extern const tally_backend tally_backend_cuda;

/* The devices that src/device/tunings.txt tells apart. `arch` is the architecture of a device with
 * rows of its own. */
static const struct {
    const char *name;
    int arch;
} devices[] = {{"any CUDA device", 0}, {"NVIDIA H200", 90}};

/* Describes a device as the planner sees it: what every CUDA device answers. */
static tally_device_info describe(const char *name) {
    tally_device_info device = {.backend = "cuda",
                                .device_class = TALLY_CLASS_GPU,
                                .compute_units = 100,
                                .max_group_threads = 1024,
                                .memory_bytes = UINT64_C(1) << 40,
                                .max_buffer_bytes = UINT64_C(1) << 40,
                                .local_bytes = 48 << 10,
                                .has_atomic64 = 1,
                                .has_f64 = 1};
    snprintf(device.name, sizeof(device.name), "%s", name);
    return device;
}

/* Returns the features that are tried on GPUs. If a device fails a trial, its programs are compiled
 * at run time. */
static unsigned find_features(void) {
    unsigned features = 0;
    for (size_t i = 0; i < TALLY_FEATURE_END; i++)
        if ((tally_features[i].classes & 1u << TALLY_CLASS_GPU) && tally_backend_cuda.kernel_source(tally_features[i].stem))
            features |= 1u << i;
    return features;
}

/* Adds a program and takes its source. A source that is in the list already is freed. */
static tally_status add(prebuild_list *list, const char *kind, const char *name, int arch, char *source, size_t bytes) {
    tally_cuda_archive_row row = {0};
    tally_cuda_archive_key(source, bytes, &row);
    for (size_t i = 0; i < list->count; i++)
        if (!tally_cuda_archive_compare(&list->programs[i].row, &row)) return free(source), TALLY_OK;
    prebuild_program *more = realloc(list->programs, (list->count + 1) * sizeof(*more));
    if (!more) return free(source), tally_fail(TALLY_E_MEMORY, "tally_prebuild: out of memory");
    list->programs = more;
    prebuild_program *program = &more[list->count++];
    *program = (prebuild_program){.row = row, .kind = kind, .arch = arch, .source = source, .bytes = bytes};
    snprintf(program->name, sizeof(program->name), "%s", name);
    return TALLY_OK;
}

static tally_status add_stem(prebuild_list *list, const char *kind, const char *name, const char *stem, uint32_t group_threads,
                             const char *defines) {
    char *source;
    const tally_status status = tally_source_of_stem(&tally_backend_cuda, stem, group_threads, defines, &source);
    return status ? status : add(list, kind, name, 0, source, strlen(source));
}

/* Adds the self-test and the trials of features. */
static tally_status add_trials(prebuild_list *list, unsigned features) {
    tally_status status = add_stem(list, "trials", "probe", "probe", TALLY_PROBE_THREADS, "");
    for (size_t i = 0; i < TALLY_FEATURE_END && !status; i++) {
        const char *stem = tally_features[i].stem;
        if (features & 1u << i) status = add_stem(list, "trials", stem, stem, TALLY_TRIAL_THREADS, "");
    }
    return status;
}

/* ---- reductions ------------------------------------------------------------------------------ */

static tally_status add_reduction(prebuild_list *list, size_t device, tally_op op, tally_dtype in, uint64_t max_n) {
    const tally_device_info info = describe(devices[device].name);
    tally_reduce_desc desc = {.size = sizeof(desc), .op = op, .in = in, .max_n = max_n};
    tally_terms terms;
    tally_launch launch;
    char *source, name[64];
    size_t bytes;
    tally_status status = tally_reduce_resolve(&info, NULL, &desc, &terms, &launch);
    if (status) return status;
    const tally_recipe recipes[] = {tally_launch_recipe(&launch), tally_finish_recipe(&launch)};
    snprintf(name, sizeof(name), "%s %s, groups of %u", tally_op_name(op), tally_dtype_name(in), launch.group_threads);
    for (size_t i = 0; i < TALLY_ARRAY_LENGTH(recipes) && !status; i++) {
        status = tally_source_create(&tally_backend_cuda, find_features(), &terms, &recipes[i], &source, &bytes);
        if (!status) status = add(list, "reductions", name, devices[device].arch, source, bytes);
    }
    tally_terms_close(&terms);
    return status;
}

/* Adds the programs of an op and dtype for every n and device. */
static tally_status add_reductions(prebuild_list *list, tally_op op, tally_dtype in) {
    tally_status status = TALLY_OK;
    for (size_t device = 0; device < TALLY_ARRAY_LENGTH(devices) && !status; device++) {
        /* The sizes in the tunings are powers of two, except one that lies between two of them. No
         * memory holds more than the largest here. */
        for (int power = 0; power <= 40 && !status; power++) {
            status = add_reduction(list, device, op, in, UINT64_C(1) << power);
            if (!status) status = add_reduction(list, device, op, in, UINT64_C(3) << power);
        }
        if (!status) status = add_reduction(list, device, op, in, 0);
    }
    return status;
}

static tally_context any_device(void) {
    return (tally_context){.backend = &tally_backend_cuda, .info = describe(devices[0].name), .features = find_features()};
}

/* ---- segments -------------------------------------------------------------------------------- */

/* Segments are prebuilt of these ops: by axes, by offsets of 4 bytes, and by keys. */
static const tally_op segment_ops[] = {TALLY_SUM, TALLY_MEAN, TALLY_MIN, TALLY_MAX, TALLY_ARGMAX, TALLY_VAR};

static tally_status add_segments_by(prebuild_list *list, tally_op op, tally_dtype in, const tally_segments_desc *desc) {
    static const char *const ways[] = {[TALLY_BY_AXES] = "axes", [TALLY_BY_OFFSETS] = "offsets", [TALLY_BY_KEYS] = "keys"};
    tally_context context = any_device();
    const tally_terms_desc what = {.in = in, .single = {.op = op}};
    tally_segments_plan plan = {.base = {.context = &context, .max_n = desc->max_n},
                                .variant = &tally_segments_variants[TALLY_SEGMENTS_TEAMS]};
    tally_program_slot *slots = NULL;
    uint32_t count = 0;
    char *source, name[64];
    size_t bytes;
    tally_status status = tally_terms_resolve(&what, &plan.base.terms);
    if (status) return status;
    tally_segments_choose_form(&plan, desc);
    status = tally_segments_choose_group(&plan);
    if (!status) status = tally_segments_choose_programs(&plan, &slots, &count);
    for (uint32_t i = 0; i < count && !status; i++) {
        snprintf(name, sizeof(name), "%s %s by %s, kernels %x", tally_op_name(op), tally_dtype_name(in), ways[desc->by],
                 slots[i].kernels);
        status =
            tally_source_create(&tally_backend_cuda, context.features, &plan.base.terms, &slots[i].recipe, &source, &bytes);
        if (!status) status = add(list, "segments", name, 0, source, bytes);
    }
    free(slots);
    tally_terms_close(&plan.base.terms);
    return status;
}

static tally_status add_segments(prebuild_list *list, tally_op op, tally_dtype in) {
    static const tally_segments_desc descs[] = {{.by = TALLY_BY_AXES, .max_n = UINT64_C(1) << 40},
                                                {.by = TALLY_BY_OFFSETS, .offsets = TALLY_I32},
                                                {.by = TALLY_BY_KEYS, .max_n = 1}};
    tally_status status = TALLY_OK;
    for (size_t i = 0; i < TALLY_ARRAY_LENGTH(segment_ops); i++)
        for (size_t d = 0; d < TALLY_ARRAY_LENGTH(descs) && op == segment_ops[i] && !status; d++)
            status = add_segments_by(list, op, in, &descs[d]);
    return status;
}

/* Adds what knows no op: the check of offsets, and the runs of keys of 4 and 8 bytes. */
static tally_status add_runs(prebuild_list *list) {
    const bool shuffles = find_features() & 1u << TALLY_FEATURE_PTX;
    tally_status status = TALLY_OK;
    for (unsigned form = 0; form < 4 && !status; form++) {
        const unsigned bytes = form & 1 ? 8 : 4, threads = form & 2 ? 128 : 256;
        char name[64];
        snprintf(name, sizeof(name), "offsets of %u bytes, groups of %u", bytes, threads);
        status = add_stem(list, "segments", name, "offsets", threads, tally_segments_offset_defines(bytes).text);
        snprintf(name, sizeof(name), "keys of %u bytes, groups of %u", bytes, threads);
        if (!status)
            status = add_stem(list, "segments", name, "keys", threads, tally_segments_key_defines(bytes, 4, shuffles).text);
    }
    return status;
}

/* ---- scans and moves ------------------------------------------------------------------------- */

/* Scans are prebuilt of these ops, inclusive and exclusive. */
static const tally_op scan_ops[] = {TALLY_SUM, TALLY_PROD, TALLY_MIN, TALLY_MAX};

static tally_status add_scan(prebuild_list *list, tally_op op, tally_dtype in, uint32_t flags, uint64_t max_n) {
    const tally_context context = any_device();
    tally_scan_desc desc = {.size = sizeof(desc), .op = op, .in = in, .flags = flags, .max_n = max_n};
    tally_scan_launch launch = {0};
    tally_terms terms;
    char *source, name[64];
    size_t bytes;
    tally_status status = tally_scan_resolve(&context, &desc, &terms, &launch);
    if (status) return status;
    const tally_recipe recipe = tally_scan_recipe(&launch);
    status = tally_source_create(&tally_backend_cuda, context.features, &terms, &recipe, &source, &bytes);
    snprintf(name, sizeof(name), "scan %s %s, %u tiles", tally_op_name(op), tally_dtype_name(in), launch.tiles);
    tally_terms_close(&terms);
    return status ? status : add(list, "scans", name, 0, source, bytes);
}

/* Adds the scans of an op and dtype, for few items and for many. */
static tally_status add_scans(prebuild_list *list, tally_op op, tally_dtype in) {
    static const uint32_t flags[] = {0, TALLY_EXCLUSIVE};
    tally_status status = TALLY_OK;
    for (size_t i = 0; i < TALLY_ARRAY_LENGTH(scan_ops); i++)
        for (size_t f = 0; f < TALLY_ARRAY_LENGTH(flags) && op == scan_ops[i] && !status; f++) {
            status = add_scan(list, op, in, flags[f], 1);
            if (!status) status = add_scan(list, op, in, flags[f], 0);
        }
    return status;
}

static tally_status add_move(prebuild_list *list, bool scatter, const tally_move_desc *given) {
    const tally_device_info info = describe(devices[0].name);
    tally_move_desc desc;
    tally_move_spec spec;
    char name[64];
    const tally_status status = tally_move_resolve(&info, scatter, given, &desc, &spec);
    if (status) return status;
    const tally_move_text defines = tally_move_defines(&spec);
    snprintf(name, sizeof(name), "%s of %u bytes by %s", scatter ? "scatter" : "gather", desc.item_bytes,
             tally_dtype_name(desc.map));
    return add_stem(list, "moves", name, TALLY_MOVE_STEM, spec.group_threads, defines.text);
}

/* Adds the gathers and scatters of items of 4 and 8 bytes by every type of map, checked and not. */
static tally_status add_moves(prebuild_list *list) {
    static const tally_dtype maps[] = {TALLY_I32, TALLY_U32, TALLY_I64, TALLY_U64};
    tally_status status = TALLY_OK;
    for (size_t m = 0; m < TALLY_ARRAY_LENGTH(maps); m++)
        for (unsigned form = 0; form < 16 && !status; form++) {
            const tally_move_desc desc = {.size = sizeof(desc),
                                          .item_bytes = form & 1 ? 8 : 4,
                                          .map = maps[m],
                                          .flags = form & 2 ? TALLY_UNCHECKED : 0,
                                          .max_n = form & 4 ? 1 : 0};
            status = add_move(list, form & 8, &desc);
        }
    return status;
}

/* ---- the list -------------------------------------------------------------------------------- */

static int compare(const void *a, const void *b) {
    return tally_cuda_archive_compare(&((const prebuild_program *)a)->row, &((const prebuild_program *)b)->row);
}

tally_status prebuild_list_make(uint64_t ops, uint64_t dtypes, prebuild_list *list) {
    *list = (prebuild_list){0};
    tally_status status = add_trials(list, find_features());
    for (tally_op op = TALLY_OP_NONE + 1; op < TALLY_OP_END; op++)
        for (tally_dtype in = TALLY_DTYPE_DEFAULT + 1; in < TALLY_DTYPE_END; in++) {
            if (!(ops >> op & 1 && dtypes >> in & 1 && tally_op_row_for(op, in, TALLY_ACCURACY_DEFAULT))) continue;
            if (!status) status = add_reductions(list, op, in);
            if (!status) status = add_scans(list, op, in);
            if (!status) status = add_segments(list, op, in);
        }
    const bool all = ops == UINT64_MAX;
    if (!status && all) status = add_moves(list); /* of no op */
    if (!status && all) status = add_runs(list);
    if (list->count) qsort(list->programs, list->count, sizeof(*list->programs), compare);
    return status;
}

void prebuild_list_print(const prebuild_list *list, size_t archive_bytes) {
    static const char *const kinds[] = {"trials", "reductions", "segments", "scans", "moves"};
    for (size_t k = 0; k < TALLY_ARRAY_LENGTH(kinds); k++) {
        size_t count = 0, bytes = 0;
        for (size_t i = 0; i < list->count; i++) {
            if (strcmp(list->programs[i].kind, kinds[k]) != 0) continue;
            count++;
            bytes += list->programs[i].row.bytes;
        }
        printf("tally_prebuild: %-10s %4zu programs, %6.2f MB\n", kinds[k], count, (double)bytes / 1e6);
    }
    printf("tally_prebuild: %-10s %4zu programs, %6.2f MB, equal ones stored once\n", "archive", list->count,
           (double)archive_bytes / 1e6);
}

void prebuild_list_free(prebuild_list *list) {
    for (size_t i = 0; i < list->count; i++) free(list->programs[i].source);
    free(list->programs);
    *list = (prebuild_list){0};
}
