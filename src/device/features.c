/* SPDX-License-Identifier: MIT */
/* The features: what some devices have beyond the standard. */
#include "device/device.h"

#define ON(id) (1u << TALLY_CLASS_##id)

const tally_feature tally_features[TALLY_FEATURE_END] = {
    /* Inline assembly of NVIDIA's in OpenCL: shuffles, barriers of a warp, atomics on floats. It is
     * not tried on CPUs, which have none: POCL would print the compiler's complaint. */
    [TALLY_FEATURE_PTX] = {"PTX", "feature_ptx", ON(GPU) | ON(OTHER), true},
    /* Registers exchanged within an OpenCL sub-group. */
    [TALLY_FEATURE_SUBGROUPS] = {"SUBGROUPS", "feature_subgroups", ON(GPU) | ON(OTHER) | ON(CPU), false},
    /* Memory that is ordered between the groups of a launch. */
    [TALLY_FEATURE_ORDER] = {"ORDER", "feature_order", ON(GPU) | ON(OTHER) | ON(CPU), false},
    /* Copies to local memory by the device's copy engine; in OpenCL by NVIDIA's inline assembly. */
    [TALLY_FEATURE_BULK] = {"BULK", "feature_bulk", ON(GPU) | ON(OTHER), false},
    /* Minima and maxima that a NaN wins, by NVIDIA's inline assembly in OpenCL, from sm_80 on. */
    [TALLY_FEATURE_MAX_NAN] = {"MAX_NAN", "feature_max_nan", ON(GPU) | ON(OTHER), true},
};

size_t tally_lacking_feature(const tally_context *context, unsigned needs) {
    size_t i = 0;
    while (i < TALLY_FEATURE_END &&
           !(needs & ~context->features & 1u << i && context->backend->kernel_source(tally_features[i].stem)))
        i++;
    return i;
}
