/* SPDX-License-Identifier: MIT */
/* The planner of scans: what is compiled, how much workspace. The launches are in scan.c. */
#include <stdlib.h>
#include <string.h>

#include "core.h"

#define CALL "tally_scan_plan_create"
#define UNIT_INTERVAL_GROUPS 8

static uint64_t ceil_div(uint64_t a, uint64_t b) {
    return a / b + (a % b != 0);
}

/* ---- geometry --------------------------------------------------------------------------------------------------------- */

/* A SCAN: the accumulator, of segments with a count of 8 bytes behind it. */
static uint32_t scan_bytes(const tally_spec *spec) {
    return spec->scan_flags & TALLY_SCAN_IS_SEGMENTED ? (spec->acc.bytes + 7) / 8 * 8 + 8 : spec->acc.bytes;
}

/*
 * Groups that look back. Many items: 256 with as many tiles as are 32 KiB, which wait in shared memory, where the device copies to it by itself: the more
 * tiles a group has, the fewer groups look and are looked at. Else a tile for each group; where an item's cells are small, eight of them, of a half-sized
 * group. 2^28 items, H200, CUDA, November 2026, from shared memory: f32, one tile 642 us, two 617; f16, two 419, four 342. 2^20 f32: 6.4 us, the other
 * way 5.5; 2^24 46.1 and 52.4.
 */
#define MANY_TILES 16 /* for each unit */
#define MOST_TILES 4
#define STAGED_BYTES (UINT32_C(32) << 10)
#define ROWS_BYTES (UINT32_C(12) << 10) /* of what rows come to, beside those */
#define SMALL_CELL_BYTES 40

/* On a CPU, what cells and rows come to, of the tiles that a group looks at twice: so that its core's caches have them, and the items. 2^26 f32, POCL
 * 3.1, 2 cores, November 2026: one tile 38 ms, two 38, four 35, eight 35. */
#define KEPT_BYTES (UINT32_C(64) << 10)

static bool fits(const tally_spec *spec, uint32_t tiles) {
    const uint32_t width = TALLY_SCAN_WIDTH;
    if (spec->group_items == 1) return tiles * (width + 1) * width * scan_bytes(spec) <= KEPT_BYTES;
    return tiles * TALLY_TILE_ITEMS * tally_dtype_bytes(spec->in) <= STAGED_BYTES &&
           tiles * (width + 2) * scan_bytes(spec) <= ROWS_BYTES;
}

void tally_scan_shape(tally_spec *spec, unsigned features, uint64_t max_n, uint32_t units) {
    const tally_scan_variant *variant = spec->scan;
    const bool many = ceil_div(max_n, TALLY_TILE_ITEMS) >= MANY_TILES * (uint64_t)units;
    const bool on_cpu = variant->info.group_items == 1, bulk = features & 1u << TALLY_FEATURE_BULK;
    spec->group_items = variant->info.group_items;
    uint32_t tiles = variant->one_launch && many && (on_cpu || bulk) ? MOST_TILES : 0;
    while (tiles && !fits(spec, tiles)) tiles /= 2;
    spec->scan_tiles = tiles ? tiles : 1;
    if (tiles && !on_cpu) spec->scan_flags |= TALLY_SCAN_IS_STAGED;
    if (variant->one_launch && !on_cpu && !tiles &&
        TALLY_CELL_ITEMS * (uint32_t)tally_dtype_bytes(spec->in) + scan_bytes(spec) <= SMALL_CELL_BYTES)
        spec->group_items /= 2;
}

tally_geometry tally_scan_geometry(const tally_plan *plan, uint64_t n) {
    const tally_scan_variant *variant = plan->scan.variant;
    const uint64_t units = plan->context->info.compute_units, tiles = ceil_div(n, TALLY_TILE_ITEMS);
    if (variant->intervals) {
        const uint64_t warps = UNIT_INTERVAL_GROUPS * units * (plan->spec.group_items / TALLY_SCAN_WIDTH);
        const uint64_t run = ceil_div(ceil_div(n, warps), TALLY_SCAN_WIDTH) * TALLY_SCAN_WIDTH;
        return (tally_geometry){.groups = ceil_div(n, run * (plan->spec.group_items / TALLY_SCAN_WIDTH)), .run = run};
    }
    return (tally_geometry){.groups = ceil_div(tiles, plan->spec.scan_tiles), .run = 1};
}

uint64_t tally_scan_depth(const tally_plan *plan, uint64_t n) {
    const uint64_t levels = 3 * 5;
    if (!plan->scan.variant->intervals) return TALLY_CELL_ITEMS - 1 + levels + 4 + ceil_div(n, TALLY_SCAN_BLOCK);
    const tally_geometry geometry = tally_scan_geometry(plan, n ? n : 1);
    return ceil_div(geometry.run, TALLY_SCAN_WIDTH) + ceil_div(ceil_div(n, geometry.run), TALLY_SCAN_WIDTH) + levels;
}

/* ---- the descriptor ----------------------------------------------------------------------------------------------------- */

static tally_status copy_desc(const tally_scan_desc *given, tally_scan_desc *desc) {
    tally_status status = tally_check_pointer(given, CALL, "desc");
    if (status) return status;
    if (given->size < offsetof(tally_scan_desc, out) || given->size > sizeof(*given))
        return tally_fail(TALLY_E_ARGUMENT, CALL ": desc.size is %zu: sizeof(tally_scan_desc) is %zu", given->size,
                          sizeof(*given));
    *desc = (tally_scan_desc){0};
    memcpy(desc, given, given->size);
    if (desc->flags & ~(uint32_t)(TALLY_EXCLUSIVE | TALLY_REVERSE))
        return tally_fail(TALLY_E_ARGUMENT, CALL ": desc.flags is %#x: there are TALLY_EXCLUSIVE and TALLY_REVERSE",
                          desc->flags);
    if ((unsigned)desc->segments > TALLY_SEGMENTS_OFFSETS)
        return tally_fail(TALLY_E_ARGUMENT, CALL ": desc.segments is %d: no such way", (int)desc->segments);
    if (desc->initial && !(desc->flags & TALLY_EXCLUSIVE))
        return tally_fail(TALLY_E_ARGUMENT, CALL ": desc.initial is for exclusive scans");
    return TALLY_OK;
}

/* What a reduction of the same items by the same op is: types, rows, layouts. Its texts begin with its own call's name. */
static tally_status resolve(const tally_context *context, const tally_scan_desc *desc, uint64_t *max_n, tally_spec *spec) {
    const tally_reduce_desc as = {.size = sizeof(as),
                                  .op = desc->op,
                                  .in = desc->in,
                                  .out = desc->out,
                                  .max_n = desc->max_n,
                                  .acc = desc->acc,
                                  .accuracy = desc->accuracy,
                                  .custom = desc->custom};
    tally_reduce_desc whole;
    const tally_status status = tally_spec_resolve(&context->info, NULL, &as, &whole, spec);
    if (status) {
        const char *rest = strchr(tally_last_error(), ':');
        char text[512] = "";
        if (rest) strncat(text, rest, sizeof(text) - 1);
        return tally_fail(status, CALL "%s", text);
    }
    *max_n = whole.max_n;
    return TALLY_OK;
}

static tally_status check(const tally_scan_desc *desc, const tally_spec *spec) {
    const tally_op_row *row = desc->custom ? NULL : tally_op_row_for(desc->op, desc->in, desc->accuracy);
    if (spec->inputs > 1)
        return tally_fail(TALLY_E_UNSUPPORTED, CALL ": %s has %u inputs: a scan has one", spec->terms[0].name, spec->inputs);
    if (desc->initial && row && row->gives == TALLY_GIVES_INDEX)
        return tally_fail(TALLY_E_UNSUPPORTED, CALL ": %s gives an index: desc.initial has none", row->name);
    return TALLY_OK;
}

/* ---- the plan ----------------------------------------------------------------------------------------------------------- */

static tally_status open_kernels(tally_plan *plan) {
    const tally_backend *backend = plan->context->backend;
    void *device = plan->context->device, *program;
    tally_scan_state *scan = &plan->scan;
    tally_status status = tally_program_get(plan->context, &plan->spec, &program);
    if (!status) status = backend->kernel_create(device, program, "tally_scan_items", &scan->items_kernel);
    if (!scan->variant->one_launch) {
        if (!status) status = backend->kernel_create(device, program, "tally_scan_totals", &scan->totals_kernel);
        if (!status) status = backend->kernel_create(device, program, "tally_scan_tiles", &scan->tiles_kernel);
    }
    if (scan->segments != TALLY_SEGMENTS_OFFSETS) return status;
    if (!status) status = tally_program_of_stem(plan->context, "heads", plan->spec.group_items, "", &program);
    if (!status) status = backend->kernel_create(device, program, "tally_heads_clear", &scan->clear_kernel);
    if (!status) status = backend->kernel_create(device, program, "tally_heads_set", &scan->set_kernel);
    return status;
}

#define LINE 16 /* words: 128 bytes */

/* The words of a look-back (src/look_back.h). */
static uint64_t look_back_words(const tally_plan *plan) {
    const uint64_t parts = ceil_div(scan_bytes(&plan->spec), 4), tiles = plan->scan.capacity;
    return 2 * LINE + ceil_div(tiles, TALLY_SCAN_WIDTH) * (ceil_div(parts, LINE) * LINE + LINE) + tiles * parts;
}

/* Bytes of a plan's buffers. */
typedef struct scan_memory {
    uint64_t words, values, heads;
} scan_memory;

static scan_memory memory_of(const tally_plan *plan) {
    const tally_scan_state *scan = &plan->scan;
    const uint64_t blocks = ceil_div(scan->capacity, TALLY_SCAN_WIDTH);
    const uint64_t words = scan->variant->one_launch ? look_back_words(plan) : 1;
    const uint64_t values = scan->variant->one_launch ? 2 : 3 + 2 * scan->capacity + 2 * blocks;
    return (scan_memory){.words = words * sizeof(uint64_t),
                         .values = values * scan_bytes(&plan->spec),
                         .heads = scan->segments == TALLY_SEGMENTS_OFFSETS ? plan->max_n : 0};
}

static tally_status open_memory(tally_plan *plan) {
    tally_context *context = plan->context;
    tally_scan_state *scan = &plan->scan;
    const scan_memory bytes = memory_of(plan);
    tally_status status = tally_buffer_open(context, TALLY_MEM_DEVICE, NULL, bytes.words, &scan->words);
    if (!status) status = tally_buffer_open(context, TALLY_MEM_DEVICE, NULL, bytes.values, &scan->values);
    if (!status && scan->segments == TALLY_SEGMENTS_OFFSETS)
        status = tally_buffer_open(context, TALLY_MEM_DEVICE, NULL, bytes.heads, &scan->heads);
    /* Nothing is published before the first call; the carry that it does not use is read. */
    if (!status && scan->variant->one_launch) status = tally_buffer_clear(scan->words, scan->words->bytes);
    if (!status && scan->variant->one_launch) status = tally_buffer_clear(scan->values, scan->values->bytes);
    return status;
}

/* Tiles, or intervals. */
static uint64_t capacity_of(const tally_plan *plan) {
    const uint64_t each = plan->spec.scan_tiles, tiles = ceil_div(ceil_div(plan->max_n, TALLY_TILE_ITEMS), each) * each;
    const uint64_t warps =
        (uint64_t)UNIT_INTERVAL_GROUPS * plan->context->info.compute_units * (plan->spec.group_items / TALLY_SCAN_WIDTH);
    const uint64_t least = plan->scan.variant->intervals ? warps + plan->spec.group_items / TALLY_SCAN_WIDTH : 1;
    return tiles > least ? tiles : least;
}

/* Makes the plan one for up to n items. */
static void set_max_n(tally_plan *plan, uint64_t n) {
    plan->max_n = n;
    plan->scan.capacity = capacity_of(plan);
}

/* Whether the device's memory holds the items beside the workspace, and one buffer the flags that offsets become. */
static bool fits_memory(const tally_plan *plan) {
    const tally_device_info *info = &plan->context->info;
    const scan_memory bytes = memory_of(plan);
    const uint64_t items = plan->max_n * tally_dtype_bytes(plan->spec.in);
    return bytes.heads <= info->max_buffer_bytes && items + bytes.words + bytes.values + bytes.heads <= info->memory_bytes;
}

tally_status tally_scan_plan_create(tally_context *context, const tally_scan_desc *given, tally_plan **out) {
    if (out) *out = NULL;
    tally_scan_desc desc;
    const tally_scan_variant *variant = NULL;
    uint64_t max_n = 0;
    tally_spec spec;
    tally_status status = tally_check_context(context, CALL);
    if (!status) status = tally_check_pointer(out, CALL, "out");
    if (!status) status = copy_desc(given, &desc);
    if (!status) status = tally_context_probe(context);
    if (!status) status = tally_scan_variant_find(desc.variant, context, &variant);
    if (!status) status = resolve(context, &desc, &max_n, &spec);
    if (status) return status;
    status = check(&desc, &spec);
    tally_plan *plan = status ? NULL : calloc(1, sizeof(*plan));
    if (!status && !plan) status = tally_fail(TALLY_E_MEMORY, CALL ": out of memory");
    if (status) return tally_spec_free(&spec), status;
    spec.scan = variant;
    spec.scan_flags = (desc.flags & TALLY_EXCLUSIVE ? TALLY_SCAN_IS_EXCLUSIVE : 0) |
                      (desc.flags & TALLY_REVERSE ? TALLY_SCAN_IS_REVERSE : 0) | (desc.segments ? TALLY_SCAN_IS_SEGMENTED : 0) |
                      (desc.initial ? TALLY_SCAN_HAS_INITIAL : 0);
    tally_scan_shape(&spec, context->features, max_n, context->info.compute_units);
    *plan = (tally_plan){
        .tag = TALLY_TAG_PLAN, .context = context, .spec = spec, .scan = {.variant = variant, .segments = desc.segments}};
    tally_context_retain(context);
    if (desc.initial) memcpy(plan->scan.initial, desc.initial, tally_dtype_bytes(desc.in));
    if (desc.max_n)
        set_max_n(plan, max_n);
    else
        tally_plan_fit(plan, max_n, set_max_n, fits_memory);
    plan->params = malloc(spec.param.bytes);
    if (plan->params)
        tally_spec_pack_params(&spec, plan->params);
    else
        status = tally_fail(TALLY_E_MEMORY, CALL ": out of memory");
    if (!status) status = open_kernels(plan);
    if (!status) status = open_memory(plan);
    if (status)
        tally_plan_destroy(plan);
    else
        *out = plan;
    return status;
}

void tally_scan_close(tally_plan *plan) {
    tally_scan_state *scan = &plan->scan;
    void *const kernels[] = {scan->items_kernel, scan->totals_kernel, scan->tiles_kernel, scan->clear_kernel, scan->set_kernel};
    tally_buffer_destroy(scan->words);
    tally_buffer_destroy(scan->values);
    tally_buffer_destroy(scan->heads);
    for (size_t i = 0; i < TALLY_ARRAY_LENGTH(kernels); i++)
        if (kernels[i]) plan->context->backend->kernel_close(plan->context->device, kernels[i]);
}

uint64_t tally_scan_workspace_bytes(const tally_plan *plan) {
    const tally_scan_state *scan = &plan->scan;
    return scan->words->bytes + scan->values->bytes + (scan->heads ? scan->heads->bytes : 0);
}
