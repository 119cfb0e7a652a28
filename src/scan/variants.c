/* SPDX-License-Identifier: MIT */
/* The variants of scans: one row each. */
#include <stdio.h>
#include <string.h>

#include "base/did_you_mean.h"
#include "scan/scan.h"

#define ON(id) (1u << TALLY_CLASS_##id)
/* A warp has four rows of a tile. Without shuffles kernels/scan_groups.h needs this number. */
#define GROUP 256

static const tally_scan_variant variants[] = {
    {
        .info = {.name = "warp_carry",
                 .stem = "warp_carry",
                 .step = "an interval for each warp, 32 items at a time, then the carries",
                 .source = "001 inclusive scan",
                 .finish = "three launches",
                 .why = "the lecture's scan: in place, no group waits for another",
                 .group_threads = GROUP},
        .classes = ON(GPU) | ON(OTHER) | ON(CPU),
        .intervals = true,
    },
    {
        .info = {.name = "reduce_then_scan",
                 .stem = "reduce_then_scan",
                 .step = "tiles of 4,096 items: aggregates, exclusive prefixes, values",
                 .source = "",
                 .finish = "three launches",
                 .why = "the fallback where groups cannot see each other's words in order",
                 .group_threads = GROUP,
                 .canonical = 1},
        .classes = ON(GPU) | ON(OTHER) | ON(CPU),
    },
    {
        .info = {.name = "look_back",
                 .stem = "look_back",
                 .step = "one launch: each group looks back at what others have published",
                 .source = "",
                 .finish = "look-back",
                 .why = "memory speed on GPUs: every item is read once",
                 .group_threads = GROUP,
                 .canonical = 1},
        .classes = ON(GPU),
        .needs = 1u << TALLY_FEATURE_ORDER | 1u << TALLY_FEATURE_PTX,
        .uses = 1u << TALLY_FEATURE_BULK,
        .tiles = "look_back_tiles",
        .one_launch = true,
    },
    {
        .info = {.name = "cpu_scan",
                 .stem = "cpu_scan",
                 .step = "one launch: one thread per group, whose tiles stay in its core's cache",
                 .source = "",
                 .finish = "look-back",
                 .why = "memory speed on CPUs: every item is read from memory once",
                 .group_threads = 1,
                 .canonical = 1},
        .classes = ON(CPU),
        .needs = 1u << TALLY_FEATURE_ORDER,
        .one_launch = true,
    },
};
#define COUNT TALLY_ARRAY_LENGTH(variants)

/* Returns what the context's device lacks to run a variant, such as a feature's name; NULL if it
 * can run it. */
static const char *lacks(const tally_context *context, const tally_scan_variant *variant) {
    const size_t feature = tally_lacking_feature(context, variant->needs);
    if (feature < TALLY_FEATURE_END) return tally_features[feature].name;
    return tally_kernel_text(context->backend, variant->info.stem) ? NULL : "its kernels";
}

size_t tally_scan_variant_count(void) {
    return COUNT;
}

const tally_scan_variant *tally_scan_variant_row(size_t index) {
    return index < COUNT ? &variants[index] : NULL;
}

unsigned tally_scan_features(tally_device_class device_class) {
    unsigned features = 0;
    for (size_t i = 0; i < COUNT; i++)
        if (variants[i].classes & 1u << device_class) features |= variants[i].needs | variants[i].uses;
    return features;
}

tally_status tally_scan_variant_get(size_t index, tally_variant_info *out) {
    if (!out) return TALLY_NAMED(tally_fail(TALLY_E_ARGUMENT, "out is NULL"));
    if (index >= COUNT) return TALLY_NAMED(tally_fail(TALLY_E_ARGUMENT, "index %zu: there are %zu variants", index, COUNT));
    *out = variants[index].info;
    return TALLY_OK;
}

/* Finds the last row that the device can run. */
static tally_status find_default(const tally_context *context, const tally_scan_variant **out) {
    for (size_t i = COUNT; i-- > 0;)
        if (variants[i].classes & 1u << context->info.device_class && !lacks(context, &variants[i]))
            return *out = &variants[i], TALLY_OK;
    return tally_fail(TALLY_E_UNSUPPORTED, "%s has no scan", context->info.name);
}

tally_status tally_scan_variant_find(const char *name, const tally_context *context, const tally_scan_variant **out) {
    if (!name || !strcmp(name, "auto")) return find_default(context, out);
    char names[256] = "auto";
    for (size_t i = 0; i < COUNT; i++) {
        const tally_scan_variant *variant = &variants[i];
        const size_t used = strlen(names);
        snprintf(names + used, sizeof(names) - used, ", %s", variant->info.name);
        if (strcmp(name, variant->info.name)) continue;
        if (!(variant->classes & 1u << context->info.device_class))
            return tally_fail(TALLY_E_UNSUPPORTED, "variant %s is not for devices of class %s", name,
                              tally_device_class_name(context->info.device_class));
        const char *missing = lacks(context, variant);
        if (missing) return tally_fail(TALLY_E_UNSUPPORTED, "variant %s: %s lacks %s", name, context->info.name, missing);
        return *out = variant, TALLY_OK;
    }
    return tally_fail(TALLY_E_ARGUMENT, "unknown variant '%s': %sthere are %s", name,
                      tally_did_you_mean(name, strlen(name), names).text, names);
}
