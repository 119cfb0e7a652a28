/* SPDX-License-Identifier: MIT */
/* keys.c: the texts that the specialiser writes for the backend `host`, as hashes. It asks the
 * planners for them. */
#include <stdlib.h>
#include <string.h>

#include "host/cpu.h"
#include "host/generate/generate.h"
#include "host/programs.h"
#include "move/move.h"
#include "scan/scan.h"
#include "segments/segments.h"

typedef struct key_list {
    tally_host_key *keys;
    size_t count;
} key_list;

/* Adds a text and frees it. */
static tally_status add(key_list *list, char *text, unsigned program, unsigned form) {
    if (!(list->count & (list->count - 1))) {
        tally_host_key *more = realloc(list->keys, (list->count ? 2 * list->count : 1) * sizeof(*more));
        if (!more) return free(text), tally_fail(TALLY_E_MEMORY, "out of memory");
        list->keys = more;
    }
    list->keys[list->count++] = (tally_host_key){tally_host_hash(text, strlen(text)), (uint16_t)program, (uint16_t)form};
    free(text);
    return TALLY_OK;
}

static tally_status add_stem(key_list *list, const char *stem, uint32_t group_threads, const char *defines, unsigned program,
                             unsigned form) {
    char *text;
    const tally_status status = tally_source_of_stem(&tally_backend_host, stem, group_threads, defines, &text);
    return status ? status : add(list, text, program, form);
}

/* ---- reductions and scans -------------------------------------------------------------------- */

static tally_status add_reduction(key_list *list, tally_op op, tally_dtype in, tally_accuracy accuracy, unsigned program) {
    tally_reduce_desc desc = {.size = sizeof(desc), .op = op, .in = in, .max_n = 1, .accuracy = accuracy};
    tally_terms terms;
    tally_launch launch;
    char *text;
    size_t bytes;
    tally_status status = tally_reduce_resolve(&tally_host_cpu, NULL, &desc, &terms, &launch);
    if (status) return status;
    const tally_recipe recipes[] = {tally_launch_recipe(&launch), tally_finish_recipe(&launch)};
    for (size_t i = 0; i < TALLY_ARRAY_LENGTH(recipes) && !status; i++) {
        status = tally_source_create(&tally_backend_host, TALLY_HOST_FEATURES, &terms, &recipes[i], &text, &bytes);
        if (!status) status = add(list, text, program, 0);
    }
    tally_terms_close(&terms);
    return status;
}

/* Adds a scan for at most max_n items. */
static tally_status add_scan(key_list *list, tally_scan_desc desc, unsigned program) {
    const tally_context context = {.backend = &tally_backend_host, .info = tally_host_cpu, .features = TALLY_HOST_FEATURES};
    tally_scan_launch launch = {0};
    tally_terms terms;
    char *text;
    size_t bytes;
    tally_status status = tally_scan_resolve(&context, &desc, &terms, &launch);
    if (status) return status;
    if (desc.flags & TALLY_ALONG_AXIS) status = tally_scan_shape_axis(&launch, &terms, &tally_host_cpu);
    const tally_recipe recipe = tally_scan_recipe(&launch);
    if (!status) status = tally_source_create(&tally_backend_host, TALLY_HOST_FEATURES, &terms, &recipe, &text, &bytes);
    tally_terms_close(&terms);
    return status ? status : add(list, text, program, TALLY_HOST_SCAN_FORM(launch.flags, launch.tiles));
}

/* Adds the scans of an op in every form, for few items and for many, and along an axis. */
static tally_status add_scans(key_list *list, tally_op op, tally_dtype in, unsigned program) {
    static const unsigned char item[16];
    tally_status status = TALLY_OK;
    for (unsigned form = 0; form < 64 && !status; form++) {
        const tally_scan_desc desc = {.size = sizeof(desc),
                                      .op = op,
                                      .in = in,
                                      .flags = (form & 1 ? TALLY_EXCLUSIVE : 0) | (form & 2 ? TALLY_REVERSE : 0) |
                                               (form & 32 ? TALLY_ALONG_AXIS : 0),
                                      .segments = form & 4 ? TALLY_SEGMENTS_FLAGS : TALLY_SEGMENTS_NONE,
                                      .initial = form & 8 ? item : NULL,
                                      .max_n = form & 16 ? 1 : 0};
        if (form & 8 && !(form & 1)) continue;
        if (form & 32 && form & (4 | 16)) continue; /* without segments, and one text for all sizes */
        status = add_scan(list, desc, program);
        if (form & 8 && status == TALLY_E_UNSUPPORTED) status = TALLY_OK; /* an index has no initial item */
    }
    return status;
}

/* ---- moves and the other stems --------------------------------------------------------------- */

static tally_status add_move(key_list *list, bool scatter, const tally_move_desc *given) {
    tally_move_desc desc;
    tally_move_spec spec;
    const tally_status status = tally_move_resolve(&tally_host_cpu, scatter, given, &desc, &spec);
    if (status) return status;
    const tally_move_text defines = tally_move_defines(&spec);
    const unsigned form = (spec.item_bytes - 1) | (tally_dtype_bytes(spec.map) == 8 ? TALLY_HOST_MAP_IS_WIDE : 0) |
                          (scatter ? TALLY_HOST_SCATTERS : 0) | (spec.flags & TALLY_STENCIL ? TALLY_HOST_HAS_STENCIL : 0) |
                          (spec.flags & TALLY_UNCHECKED ? 0 : TALLY_HOST_CHECKS) |
                          (spec.flags & TALLY_SCATTER_LAST ? TALLY_HOST_LAST_WINS : 0) |
                          (spec.wide ? TALLY_HOST_POSITION_IS_WIDE : 0);
    return add_stem(list, TALLY_MOVE_STEM, spec.group_threads, defines.text, TALLY_HOST_MOVE, form);
}

static tally_status add_moves(key_list *list) {
    static const tally_dtype maps[] = {TALLY_I32, TALLY_U32, TALLY_I64, TALLY_U64};
    tally_status status = TALLY_OK;
    for (uint32_t bytes = 1; bytes <= 16; bytes++)
        for (size_t m = 0; m < TALLY_ARRAY_LENGTH(maps); m++)
            for (unsigned form = 0; form < 32 && !status; form++) {
                const bool scatter = form & 1, last = form & 2;
                const tally_move_desc desc = {.size = sizeof(desc),
                                              .item_bytes = bytes,
                                              .map = maps[m],
                                              .flags = (last ? TALLY_SCATTER_LAST : 0) | (form & 4 ? TALLY_STENCIL : 0) |
                                                       (form & 8 ? TALLY_UNCHECKED : 0),
                                              .max_n = form & 16 ? 1 : UINT64_C(1) << 40,
                                              .max_out = last};
                if (scatter || !last) status = add_move(list, scatter, &desc);
            }
    return status;
}

/* The stems of segments: for each size of an offset, and of a key. */
static tally_status add_segment_stems(key_list *list) {
    tally_status status = TALLY_OK;
    for (unsigned bytes = 4; bytes <= 8 && !status; bytes += 4)
        status = add_stem(list, "offsets", 1, tally_segments_offset_defines(bytes).text, TALLY_HOST_OFFSETS, bytes);
    for (unsigned bytes = 1; bytes <= TALLY_MAX_KEY_BYTES && !status; bytes++)
        status = add_stem(list, "keys", 1, tally_segments_key_defines(bytes, 8, false).text, TALLY_HOST_KEYS, bytes);
    return status;
}

static tally_status add_stems(key_list *list) {
    tally_status status = add_stem(list, "probe", TALLY_PROBE_THREADS, "", TALLY_HOST_PROBE, 0);
    const char *order = tally_features[TALLY_FEATURE_ORDER].stem;
    if (!status) status = add_stem(list, order, TALLY_TRIAL_THREADS, "", TALLY_HOST_TRIAL, 0);
    static const char *const stems[] = {"heads", "read", "copy", "part"};
    for (size_t i = 0; i < TALLY_ARRAY_LENGTH(stems) && !status; i++)
        status = add_stem(list, stems[i], 1, "", TALLY_HOST_STEM, 0);
    return status ? status : add_segment_stems(list);
}

/* ---- the file -------------------------------------------------------------------------------- */

static int compare(const void *first, const void *second) {
    const tally_host_key *a = first, *b = second;
    if (a->hash != b->hash) return a->hash < b->hash ? -1 : 1;
    if (a->program != b->program) return a->program < b->program ? -1 : 1;
    return (a->form > b->form) - (a->form < b->form);
}

/* Different forms may have one text; their keys are equal then. */
static tally_status write_keys(FILE *file, const key_list *list) {
    size_t count = 0;
    fprintf(file, "#include \"host/host.h\"\n\nconst tally_host_key tally_host_keys[] = {\n");
    for (size_t i = 0; i < list->count; i++) {
        const tally_host_key *key = &list->keys[i];
        if (i && !compare(key, key - 1)) continue;
        if (i && key->hash == key[-1].hash) return tally_fail(TALLY_E_INTERNAL, "two programs have the same key");
        fprintf(file, "    {0x%016llxU, %u, %u},\n", (unsigned long long)key->hash, key->program, key->form);
        count++;
    }
    fprintf(file, "};\nconst size_t tally_host_key_count = %zu;\n", count);
    return TALLY_OK;
}

/* Writes the numbers of the programs, which are those of the table. Ops that are alike have the
 * same program. */
static void write_numbers(FILE *file) {
    static const char *const names[TALLY_ACCURACY_END] = {"tally_host_numbers", "tally_host_compensated"};
    unsigned numbers[TALLY_OP_END][TALLY_DTYPE_END], number = 0;
    for (tally_accuracy accuracy = TALLY_ACCURACY_DEFAULT; accuracy < TALLY_ACCURACY_END; accuracy++) {
        fprintf(file, "const uint16_t %s[TALLY_OP_END][TALLY_DTYPE_END] = {\n", names[accuracy]);
        for (tally_op op = TALLY_OP_NONE + 1; op < TALLY_OP_END; op++)
            for (tally_dtype in = TALLY_DTYPE_DEFAULT + 1; in < TALLY_DTYPE_END; in++)
                numbers[op][in] = generate_is_program(op, in, accuracy) ? ++number : 0;
        for (tally_op op = TALLY_OP_NONE + 1; op < TALLY_OP_END; op++)
            for (tally_dtype in = TALLY_DTYPE_DEFAULT + 1; in < TALLY_DTYPE_END; in++) {
                const unsigned program = numbers[tally_op_alike(op, in, accuracy)][in];
                if (program) fprintf(file, "    [%d][%d] = %u,\n", (int)op, (int)in, program);
            }
        fprintf(file, "};\n");
    }
}

tally_status generate_keys(FILE *file) {
    key_list list = {NULL, 0};
    unsigned program = 0;
    tally_status status = add_stems(&list);
    for (tally_accuracy accuracy = TALLY_ACCURACY_DEFAULT; accuracy < TALLY_ACCURACY_END; accuracy++)
        for (tally_op op = TALLY_OP_NONE + 1; op < TALLY_OP_END; op++)
            for (tally_dtype in = TALLY_DTYPE_DEFAULT + 1; in < TALLY_DTYPE_END && !status; in++) {
                if (!generate_is_program(op, in, accuracy)) continue;
                status = add_reduction(&list, op, in, accuracy, program);
                if (!status && !accuracy && tally_op_inputs(op) == 1) status = add_scans(&list, op, in, program);
                program++;
            }
    if (!status) status = add_moves(&list);
    if (!status) qsort(list.keys, list.count, sizeof(list.keys[0]), compare);
    if (!status) status = write_keys(file, &list);
    if (!status) write_numbers(file);
    free(list.keys);
    return status;
}
