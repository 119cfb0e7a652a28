/* SPDX-License-Identifier: MIT */
/* The variants: their only list, and the default of each class of device. */
#include <stdio.h>
#include <string.h>

#include "base/did_you_mean.h"
#include "reduce/reduce.h"

#define ON(id) (1u << TALLY_CLASS_##id)
#define ON_ALL (ON(GPU) | ON(CPU) | ON(OTHER))

#define USES(id) (1u << TALLY_FEATURE_##id)

#define LADDER_GROUP 256 /* document 000's; 003 uses 512 on a GTX 680 */

/* A step of the ladder. `local` is the accumulators of local memory for each 32 threads. */
#define STEP(stem_, stage_, shape_, per_item, factor_, local, source_, step_, why_, features_)                                 \
    {                                                                                                                          \
        .info = {.name = #stem_,                                                                                               \
                 .stem = #stem_,                                                                                               \
                 .step = step_,                                                                                                \
                 .source = source_,                                                                                            \
                 .why = why_,                                                                                                  \
                 .group_threads = LADDER_GROUP,                                                                                \
                 .factor = factor_},                                                                                           \
        .shape = TALLY_SHAPE_##shape_, .stage = TALLY_STAGE_##stage_, .classes = ON_ALL, .min_group_threads = 32,              \
        .max_group_threads = 1024, .thread_items = per_item, .local_accumulators = local, .features = features_,               \
        .ladder = true                                                                                                         \
    }

static const tally_variant variants[] = {
    STEP(atomic_global, ATOMIC, TILE, 1, 0, 0, "003 #1", "an atomic on the result for every item",
         "the baseline: one word serialises everything", 0),
    STEP(atomic_local, ATOMIC, TILE, 1, 0, 1, "003 #2", "atomics in local memory, one on the result per group",
         "contention moves on chip", 0),
    STEP(tree_global, SCRATCH, TILE, 1, 0, 0, "002 globalReduceBlockSum", "a halving tree in global memory, on a scratch copy",
         "shows what local memory saves", 0),
    STEP(interleaved_modulo, ATOMIC, TILE, 1, 0, 32, "000 reduce0, 003 #3", "a tree in local memory, thread % 2s",
         "the first tree; warps diverge", 0),
    STEP(interleaved_strided, ATOMIC, TILE, 1, 0, 32, "000 version 1, 003 #4", "the same tree, strided index",
         "no divergence, bank conflicts", 0),
    STEP(sequential, ATOMIC, TILE, 1, 0, 32, "000 version 2, 001, 002 sharedReduceBlockSum, 003 #5", "strides halve",
         "no bank conflicts", 0),
    STEP(first_add, ATOMIC, TILE, 2, 0, 32, "000 version 3, 003 #6, 004 Fig. 10.13", "two items combined on load",
         "no item idle at the start", 0),
    STEP(unroll_last, ATOMIC, TILE, 2, 0, 32, "000 version 4, 003 #7", "the last warp unrolled",
         "no barrier where a warp works alone", 0),
    STEP(unroll_all, ATOMIC, TILE, 2, 0, 32, "000 version 5, 001, 003 #8", "the whole tree unrolled", "no loop left", 0),
    STEP(shuffle, ATOMIC, TILE, 2, 0, 32, "003 #9", "registers exchanged within a warp", "local memory only across warps",
         USES(SUBGROUPS)),
    STEP(coarsened, ATOMIC, TILE, 2, 8, 32, "004 Fig. 10.15", "2 x factor items in sequence before the tree",
         "fewer groups pay for the tree", 0),
    STEP(grid_stride, ATOMIC, GRID, 1, 0, 32, "000 version 6, 003 #10", "a fixed grid, a loop over many items",
         "trees do not grow with n", USES(SUBGROUPS)),
    STEP(vectorized, ATOMIC, GRID, 1, 0, 32, "001 vectorize", "grid_stride with 16-byte loads",
         "a quarter of the load instructions", USES(SUBGROUPS)),
    STEP(host_finish, HOST, TILE, 1, 0, 32, "001, 002", "one partial per group, finished on the host",
         "no atomic, no second launch; a wait instead", 0),
    {
        .info = {.name = "group_tree",
                 .stem = "group_tree",
                 .step = "chunk per 8 to 32 threads, 16-byte loads, tree per group, second stage",
                 .source = "",
                 .why = "memory speed on GPUs in the canonical order",
                 .group_threads = 256,
                 .canonical = 1},
        .shape = TALLY_SHAPE_CHUNKS,
        .stage = TALLY_STAGE_SECOND,
        .classes = ON_ALL,
        .min_group_threads = 32,
        .max_group_threads = 1024,
        .together = ON(GPU) | ON(OTHER),
        .overlaps = true,
        .features = USES(ORDER),
    },
    {
        .info = {.name = "cpu_chunks",
                 .stem = "cpu_chunks",
                 .step = "one thread per group, a run of chunks each, lanes in vector registers",
                 .source = "",
                 .why = "memory speed on CPUs in the canonical order",
                 .group_threads = 1,
                 .canonical = 1},
        .shape = TALLY_SHAPE_RUN,
        .stage = TALLY_STAGE_SECOND,
        .classes = ON(CPU),
        .min_group_threads = 1,
        .max_group_threads = 1,
        .together = ON(CPU),
        .features = USES(ORDER),
    },
};
/* The variant that "auto" means. */
static const char *const defaults[TALLY_CLASS_END] = {
    [TALLY_CLASS_GPU] = "group_tree",
    [TALLY_CLASS_CPU] = "cpu_chunks",
    [TALLY_CLASS_OTHER] = "group_tree",
};

const char *tally_stage_name(tally_stage stage) {
    static const char *const names[] = {[TALLY_STAGE_SECOND] = "second stage",
                                        [TALLY_STAGE_SCRATCH] = "second stage",
                                        [TALLY_STAGE_ATOMIC] = "atomic",
                                        [TALLY_STAGE_HOST] = "host"};
    return names[stage];
}

size_t tally_variant_count(void) {
    return TALLY_ARRAY_LENGTH(variants);
}

const tally_variant *tally_variant_row(size_t index) {
    return index < TALLY_ARRAY_LENGTH(variants) ? &variants[index] : NULL;
}

tally_status tally_variant_get(size_t index, tally_variant_info *out) {
    if (!out) return TALLY_NAMED(tally_fail(TALLY_E_ARGUMENT, "out is NULL"));
    const tally_variant *row = tally_variant_row(index);
    if (!row)
        return TALLY_NAMED(tally_fail(TALLY_E_ARGUMENT, "index %zu: there are %zu variants", index, tally_variant_count()));
    *out = row->info;
    out->finish = tally_stage_name(row->stage);
    return TALLY_OK;
}

tally_status tally_variant_find(const char *name, const tally_device_info *device, const tally_variant **out) {
    if (!name || !strcmp(name, "auto")) name = defaults[device->device_class];
    char names[512] = "auto";
    size_t used = strlen(names);
    for (size_t i = 0; i < TALLY_ARRAY_LENGTH(variants); i++) {
        if (!strcmp(name, variants[i].info.name)) return *out = &variants[i], TALLY_OK;
        if (used < sizeof(names)) used += (size_t)snprintf(names + used, sizeof(names) - used, ", %s", variants[i].info.name);
    }
    return tally_fail(TALLY_E_ARGUMENT, "unknown variant '%s': %sthere are %s", name,
                      tally_did_you_mean(name, strlen(name), names).text, names);
}
