/* SPDX-License-Identifier: MIT */
/* The variants: the only list of them, and the defaults of each class of device. */
#include <stdio.h>
#include <string.h>

#include "core.h"

#define ON(id) (1u << TALLY_CLASS_##id)
#define ON_ALL (ON(GPU) | ON(CPU) | ON(OTHER))

static const tally_variant variants[] = {
    {
        .info = {.name = "group_tree",
                 .stem = "group_tree",
                 .step = "chunk per 32 items, 16-byte loads, tree per group, second stage",
                 .why = "memory speed on GPUs in the canonical order",
                 .group_items = 256, /* H200: docs/performance.md */
                 .canonical = 1},
        .shape = TALLY_SHAPE_GROUP,
        .classes = ON_ALL,
        .min_group_items = 32,
        .max_group_items = 1024,
        .local_accumulators = TALLY_LANES,
    },
    {
        .info = {.name = "cpu_chunks",
                 .stem = "cpu_chunks",
                 .step = "one item per group, a run of chunks each, lanes in vector registers",
                 .why = "memory speed on CPUs in the canonical order",
                 .group_items = 1,
                 .canonical = 1},
        .shape = TALLY_SHAPE_SINGLE,
        .classes = ON(CPU),
        .min_group_items = 1,
        .max_group_items = 1,
        .local_accumulators = 0,
    },
};

/* What "auto" means. */
static const char *const defaults[TALLY_CLASS_END] = {
    [TALLY_CLASS_GPU] = "group_tree",
    [TALLY_CLASS_CPU] = "cpu_chunks",
    [TALLY_CLASS_OTHER] = "group_tree",
};

size_t tally_variant_count(void) {
    return TALLY_ARRAY_LENGTH(variants);
}

const tally_variant *tally_variant_row(size_t index) {
    return index < TALLY_ARRAY_LENGTH(variants) ? &variants[index] : NULL;
}

tally_status tally_variant_get(size_t index, tally_variant_info *out) {
    if (!out) return tally_fail(TALLY_E_ARGUMENT, "tally_variant_get: out is NULL");
    const tally_variant *row = tally_variant_row(index);
    if (!row)
        return tally_fail(TALLY_E_ARGUMENT, "tally_variant_get: index %zu: there are %zu variants", index,
                          tally_variant_count());
    *out = row->info;
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
    return tally_fail(TALLY_E_ARGUMENT, "unknown variant '%s': there are %s", name, names);
}

tally_status tally_variant_check(const tally_variant *variant, const tally_device_info *device, tally_op op, tally_dtype in,
                                 uint32_t group_items) {
    const char *name = variant->info.name;
    if (group_items < variant->min_group_items || group_items > variant->max_group_items || (group_items & (group_items - 1)))
        return tally_fail(TALLY_E_ARGUMENT, "variant %s: group_items %u: a power of two from %u to %u", name, group_items,
                          variant->min_group_items, variant->max_group_items);
    if (!(variant->classes & (1u << device->device_class)))
        return tally_fail(TALLY_E_UNSUPPORTED, "variant %s is not for devices of class %s", name,
                          tally_device_class_name(device->device_class));
    const tally_dtype acc = tally_accumulator_dtype(op, in);
    if ((in == TALLY_F64 || acc == TALLY_F64) && !device->has_f64)
        return tally_fail(TALLY_E_UNSUPPORTED, "%s does not compute in f64", device->name);
    if (group_items > device->max_group_items)
        return tally_fail(TALLY_E_UNSUPPORTED, "variant %s: groups of %u items: %s has at most %u", name, group_items,
                          device->name, device->max_group_items);
    const uint64_t local = (uint64_t)(group_items / 32) * variant->local_accumulators * tally_dtype_bytes(acc);
    if (local > device->local_bytes)
        return tally_fail(TALLY_E_UNSUPPORTED, "variant %s: groups of %u items need %llu bytes of local memory: %s has %llu",
                          name, group_items, (unsigned long long)local, device->name, (unsigned long long)device->local_bytes);
    return TALLY_OK;
}
