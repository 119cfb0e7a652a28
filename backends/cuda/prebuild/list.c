/* SPDX-License-Identifier: MIT */
/* Lists the programs to prebuild. It asks the planner for them, so no second list of its geometries
 * is kept by hand. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reduce/reduce.h"

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
static tally_status add(prebuild_list *list, const char *name, int arch, char *source, size_t bytes) {
    tally_cuda_archive_row row = {0};
    tally_cuda_archive_key(source, bytes, &row);
    for (size_t i = 0; i < list->count; i++)
        if (!tally_cuda_archive_compare(&list->programs[i].row, &row)) return free(source), TALLY_OK;
    prebuild_program *more = realloc(list->programs, (list->count + 1) * sizeof(*more));
    if (!more) return free(source), tally_fail(TALLY_E_MEMORY, "tally_prebuild: out of memory");
    list->programs = more;
    prebuild_program *program = &more[list->count++];
    *program = (prebuild_program){.row = row, .arch = arch, .source = source, .bytes = bytes};
    snprintf(program->name, sizeof(program->name), "%s", name);
    return TALLY_OK;
}

static tally_status add_stem(prebuild_list *list, const char *stem, uint32_t group_threads) {
    char *source;
    const tally_status status = tally_source_of_stem(&tally_backend_cuda, stem, group_threads, "", &source);
    return status ? status : add(list, stem, 0, source, strlen(source));
}

static tally_status add_plan(prebuild_list *list, size_t device, tally_op op, tally_dtype in, uint64_t max_n) {
    const tally_device_info info = describe(devices[device].name);
    tally_reduce_desc desc = {.size = sizeof(desc), .op = op, .in = in, .max_n = max_n};
    tally_terms terms;
    tally_launch launch;
    char *source, name[64];
    size_t bytes;
    tally_status status = tally_reduce_resolve(&info, NULL, &desc, &terms, &launch);
    if (status) return status;
    const tally_recipe recipe = tally_launch_recipe(&launch);
    status = tally_source_create(&tally_backend_cuda, find_features(), &terms, &recipe, &source, &bytes);
    snprintf(name, sizeof(name), "%s %s, groups of %u", tally_op_name(op), tally_dtype_name(in), launch.group_threads);
    tally_terms_close(&terms);
    return status ? status : add(list, name, devices[device].arch, source, bytes);
}

static int compare(const void *a, const void *b) {
    return tally_cuda_archive_compare(&((const prebuild_program *)a)->row, &((const prebuild_program *)b)->row);
}

tally_status prebuild_list_make(uint64_t ops, uint64_t dtypes, prebuild_list *list) {
    const unsigned features = find_features();
    *list = (prebuild_list){0};
    tally_status status = add_stem(list, "probe", TALLY_PROBE_THREADS);
    for (size_t i = 0; i < TALLY_FEATURE_END && !status; i++)
        if (features & 1u << i) status = add_stem(list, tally_features[i].stem, TALLY_TRIAL_THREADS);
    for (tally_op op = TALLY_OP_NONE + 1; op < TALLY_OP_END; op++)
        for (tally_dtype in = TALLY_DTYPE_DEFAULT + 1; in < TALLY_DTYPE_END; in++) {
            const bool wanted = ops >> op & 1 && dtypes >> in & 1 && tally_op_row_for(op, in, TALLY_ACCURACY_DEFAULT);
            for (size_t device = 0; device < TALLY_ARRAY_LENGTH(devices) && wanted && !status; device++) {
                /* The sizes in the tunings are powers of two, except one that lies between two of
                 * them. No memory holds more than the largest here. */
                for (int power = 0; power <= 40 && !status; power++) {
                    status = add_plan(list, device, op, in, UINT64_C(1) << power);
                    if (!status) status = add_plan(list, device, op, in, UINT64_C(3) << power);
                }
                if (!status) status = add_plan(list, device, op, in, 0);
            }
        }
    if (list->count) qsort(list->programs, list->count, sizeof(*list->programs), compare);
    return status;
}

void prebuild_list_free(prebuild_list *list) {
    for (size_t i = 0; i < list->count; i++) free(list->programs[i].source);
    free(list->programs);
    *list = (prebuild_list){0};
}
