/* SPDX-License-Identifier: MIT */
/* The launch of a scan: the threads and tiles of its groups, and its program's recipe. */
#include "axes/axes.h"
#include "scan/scan.h"

uint32_t tally_scan_bytes(const tally_terms *terms, unsigned flags) {
    return flags & TALLY_SCAN_IS_SEGMENTED ? (terms->acc.bytes + 7) / 8 * 8 + 8 : terms->acc.bytes;
}

/*
 * Tiles and threads of a group that looks back. If there are many items and the device has a copy
 * engine, a group has 256 threads, and as many tiles as fit 32 KiB of local memory: fewer groups
 * look back then. Otherwise a group has one tile. It has half the threads if its cells are small: a
 * thread takes eight of them.
 *
 * H200, CUDA, November 2026. 2^28 items in local memory: f32 642 us with one tile, 617 with two;
 * f16 419 with two, 342 with four. With and without local memory: 2^20 f32 6.4 and 5.5 us, 2^24 f32
 * 46.1 and 52.4.
 */
#define MANY_TILES 16 /* tiles for each unit */
#define MOST_TILES 4
#define STAGED_BYTES (UINT32_C(32) << 10)
#define ROWS_BYTES (UINT32_C(12) << 10) /* local memory of the rows' aggregates */
#define SMALL_CELL_BYTES 40

/* Places for a row's cells, or for a tile's rows, on CPUs (kernels_cl/cpu_rows.cl). */
#define ROW_PLACES (TALLY_SCAN_WIDTH + 8)
/* Most bytes for the aggregates of the cells and rows of a group's tiles, on CPUs. The group reads
 * its tiles twice, so its core's caches must hold these aggregates and the items. 2^26 f32, POCL
 * 3.1, 2 cores, November 2026: 38 ms with one tile, 38 with two, 35 with four, 35 with eight. */
#define KEPT_BYTES (UINT32_C(64) << 10)

/* Accumulators in local memory: for each tile in one launch, for the whole group in three. */
#define TILE_ACCUMULATORS (TALLY_SCAN_WIDTH + 3)
#define GROUP_ACCUMULATORS 291

static bool fits(const tally_scan_launch *launch, const tally_terms *terms, uint32_t tiles) {
    const uint32_t width = TALLY_SCAN_WIDTH, scan_bytes = tally_scan_bytes(terms, launch->flags);
    if (launch->group_threads == 1) return tiles * (width + 1) * ROW_PLACES * scan_bytes <= KEPT_BYTES;
    return tiles * TALLY_TILE_ITEMS * tally_dtype_bytes(terms->in) <= STAGED_BYTES &&
           tiles * (width + 2) * scan_bytes <= ROWS_BYTES;
}

static uint64_t local_bytes(const tally_scan_launch *launch, const tally_terms *terms) {
    const uint64_t scan_bytes = tally_scan_bytes(terms, launch->flags);
    if (launch->group_threads == 1) return 0;
    if (!launch->variant->one_launch) return GROUP_ACCUMULATORS * scan_bytes;
    const uint64_t staged =
        launch->flags & TALLY_SCAN_IS_STAGED ? TALLY_TILE_ITEMS * (uint64_t)tally_dtype_bytes(terms->in) : 0;
    return launch->tiles * (TILE_ACCUMULATORS * scan_bytes + staged);
}

static tally_status check(const tally_scan_launch *launch, const tally_terms *terms, const tally_device_info *device) {
    const char *name = launch->variant->info.name;
    const uint64_t local = local_bytes(launch, terms);
    if (launch->group_threads > device->max_group_threads)
        return tally_fail(TALLY_E_UNSUPPORTED, "variant %s: groups of %u threads: %s has at most %u", name,
                          launch->group_threads, device->name, device->max_group_threads);
    if (local > device->local_bytes)
        return tally_fail(TALLY_E_UNSUPPORTED, "variant %s: groups of %u threads need %llu bytes of local memory: %s has %llu",
                          name, launch->group_threads, (unsigned long long)local, device->name,
                          (unsigned long long)device->local_bytes);
    return tally_terms_check(terms, device);
}

tally_status tally_scan_shape(tally_scan_launch *launch, const tally_terms *terms, const tally_device_info *device,
                              unsigned features, uint64_t max_n) {
    const tally_scan_variant *variant = launch->variant;
    const bool many = tally_ceil_div(max_n, TALLY_TILE_ITEMS) >= MANY_TILES * (uint64_t)device->compute_units;
    const bool on_cpu = variant->info.group_threads == 1, bulk = features & 1u << TALLY_FEATURE_BULK;
    launch->group_threads = variant->info.group_threads;
    uint32_t tiles = variant->one_launch && many && (on_cpu || bulk) ? MOST_TILES : 0;
    while (tiles && !fits(launch, terms, tiles)) tiles /= 2;
    launch->tiles = tiles ? tiles : 1;
    if (tiles && !on_cpu) launch->flags |= TALLY_SCAN_IS_STAGED;
    const uint32_t cell_bytes = TALLY_CELL_ITEMS * (uint32_t)tally_dtype_bytes(terms->in);
    const bool small = cell_bytes + tally_scan_bytes(terms, launch->flags) <= SMALL_CELL_BYTES;
    if (variant->one_launch && !on_cpu && !tiles && small) launch->group_threads /= 2;
    return check(launch, terms, device);
}

/* Most threads of a group that scans along an axis, and their local memory: two SCANs each. */
#define AXIS_THREADS 256
#define AXIS_BYTES(threads, terms) (2 * (uint64_t)(threads) * (terms)->acc.bytes)

tally_status tally_scan_shape_axis(tally_scan_launch *launch, const tally_terms *terms, const tally_device_info *device) {
    const char *name = launch->variant->info.name;
    if (!launch->variant->info.canonical)
        return tally_fail(TALLY_E_UNSUPPORTED, "variant %s: its order is not the canonical one, which TALLY_ALONG_AXIS needs",
                          name);
    launch->flags =
        (launch->flags & (TALLY_SCAN_IS_EXCLUSIVE | TALLY_SCAN_IS_REVERSE | TALLY_SCAN_HAS_INITIAL)) | TALLY_SCAN_IS_AXIS;
    launch->tiles = 1;
    if (launch->variant->info.group_threads == 1) return TALLY_OK;
    launch->group_threads = AXIS_THREADS;
    while (launch->group_threads > TALLY_SCAN_WIDTH && (launch->group_threads > device->max_group_threads ||
                                                        AXIS_BYTES(launch->group_threads, terms) > device->local_bytes))
        launch->group_threads /= 2;
    if (AXIS_BYTES(launch->group_threads, terms) <= device->local_bytes) return TALLY_OK;
    return tally_fail(TALLY_E_UNSUPPORTED, "variant %s: scans along an axis need %llu bytes of local memory: %s has %llu", name,
                      (unsigned long long)AXIS_BYTES(launch->group_threads, terms), device->name,
                      (unsigned long long)device->local_bytes);
}

/* Adds the stems of scans along an axis. */
static void add_axis(tally_recipe *recipe, bool on_cpu) {
    tally_recipe_define(recipe, "SHAPE_AXES", TALLY_SHAPE_AXES);
    recipe->features = 0;
    recipe->has_arrays = on_cpu;
    tally_recipe_add(recipe, "scanning");
    if (on_cpu) {
        tally_recipe_define(recipe, "ACCS", ROW_PLACES);
        tally_recipe_define(recipe, "LISTS", TALLY_SCAN_LISTS);
        tally_recipe_add(recipe, "cpu_rows");
        tally_recipe_add(recipe, "cpu_tiles");
    } else {
        tally_recipe_add(recipe, "scan");
    }
    tally_recipe_add(recipe, "scan_lists");
    tally_recipe_add(recipe, on_cpu ? "cpu_scan_axis" : "scan_axis");
}

tally_recipe tally_scan_recipe(const tally_scan_launch *launch) {
    static const char *const names[] = {"EXCLUSIVE", "REVERSE", "SEGMENTED", "INITIAL", "STAGED", "HOLD_BACK", "ALONG_AXIS"};
    const tally_scan_variant *variant = launch->variant;
    const char *stem = variant->info.stem;
    tally_recipe recipe = {.variant = variant->info.name, .group_threads = launch->group_threads, .features = variant->uses};
    for (size_t i = 0; i < TALLY_ARRAY_LENGTH(names); i++)
        if (launch->flags & 1u << i) tally_recipe_define(&recipe, names[i], 1);
    if (launch->flags & TALLY_SCAN_IS_AXIS) {
        add_axis(&recipe, launch->group_threads == 1);
        return recipe;
    }
    if (launch->flags & TALLY_SCAN_HOLDS_BACK) tally_recipe_define(&recipe, "SPINS", 32);
    if (variant->one_launch) tally_recipe_define(&recipe, "TILES_EACH", launch->tiles);
    if (launch->group_threads == 1) {
        recipe.has_arrays = true;
        tally_recipe_define(&recipe, "ACCS", ROW_PLACES);
    }
    tally_recipe_add(&recipe, "scanning");
    if (launch->group_threads > 1) {
        tally_recipe_add(&recipe, "scan");
        tally_recipe_add(&recipe, "scan_groups");
    }
    if (variant->one_launch) tally_recipe_add(&recipe, "published");
    if (launch->group_threads == 1) {
        tally_recipe_add(&recipe, "cpu_rows");
        tally_recipe_add(&recipe, "cpu_tiles");
    }
    tally_recipe_add(&recipe, stem);
    if (variant->tiles) tally_recipe_add(&recipe, variant->tiles);
    return recipe;
}
